"""The report on a round's rollouts as sentences and figures, from its document: the command line and the dashboard say the same."""
from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from core.pairs.given_pairs import CHANGED, KINDS, LACKING, NOT_MADE, SAME, SWAPPED, WHY
from core.pairs.pairing_report import reason_text
from core.rounds.rollout_faults import REASONS as FAULTS
from core.settings import SETTINGS
from core.statistics.ratio import decimal_text, percent_text
from core.text import capital, count_of

Document = Mapping[str, Any]
_DECIMALS: Final[int] = SETTINGS["reports"]["length_decimals"]
FIELD_WORDS: Final[Mapping[str, str]] = {"prompt": "prompt", "chosen": "chosen reply", "rejected": "rejected reply", "task": "task id"}
KIND_TITLES: Final[Mapping[str, str]] = {
    SAME: "Made by the rule", CHANGED: "Changed after pairing", SWAPPED: "Sides exchanged", NOT_MADE: "Not made by the rule",
    LACKING: "Lacking in the round",
}


def headline(document: Document) -> str:
    """Whether the round's pairs are what the rule makes of its rollouts, in one sentence."""
    found, made = document["comparison"], count_of(document["pairs"], "pair")
    rule = f"the rule makes {made} of {count_of(document['rows'], 'rollout')}"
    if found is None:
        return f"{capital(rule)}; the round has no pairs to compare"
    given, same = found["pairs"], found[SAME]
    if not given:
        return f"The round has no pair, and {rule}"
    if same == given and not found[LACKING]:
        return f"{'The only pair is' if given == 1 else f'All {given:,} pairs are'} what the rule makes of {count_of(document['rows'], 'rollout')}"
    others = [
        f"{found[kind]:,} {words}" for kind, words in (
            (CHANGED, "changed after pairing"), (SWAPPED, "with its sides exchanged" if found[SWAPPED] == 1 else "with their sides exchanged"),
            (NOT_MADE, "not made by it"),
        ) if found[kind]
    ]
    lacks = f"; it makes {found[LACKING]:,} that the round lacks" if found[LACKING] else ""
    verb = "is" if same == 1 else "are"
    said = f" ({', '.join(others)})" if others else ""
    return f"{same:,} of {count_of(given, 'pair')} {verb} what the rule makes of the rollouts{said}{lacks}"


def where_they_went(document: Document) -> list[tuple[str, int]]:
    """Rollouts by what became of them; they add up to all rows."""
    unused = document["rows_unused"]
    return [("in a pair", document["rows_in_pairs"]), *((reason_text(code, FAULTS), count) for code, count in unused.items())]


def figures(document: Document) -> list[tuple[str, str]]:
    """What a reviewer reads about the rule's pairs: label and figure."""
    length, pairs = document["length"], document["pairs"]
    graders = ", ".join(f"{name} ({count:,})" for name, count in document["graders"].items())
    tasks = [
        ("tasks seen", f"{document['tasks_seen']:,}"),
        ("tasks with contrast", f"{document['tasks_with_contrast']:,} (a pass and a fail far enough apart)"),
    ]
    if not pairs:
        return [*tasks, ("pairs made", f"none: {document['why_no_pairs']}"), ("graders named", graders or "none")]
    return [
        *tasks, ("pairs made", f"{pairs:,}"),
        ("chosen is longer", _share(length["chosen_longer"], pairs)), ("longer either way", length["direction"]["words"]),
        ("median difference", f"{_characters(length['median'])}, chosen less rejected"), ("mean difference", _characters(length["mean"])),
        ("mean reward gap", exact_text(document["mean_margin"])), *_policies(document),
        ("first turns differ", _share(document["trainer_pairs"], pairs)), ("graders named", graders or "none"),
    ]


def _policies(document: Document) -> list[tuple[str, str]]:
    same, mixed, pairs = document["same_policy_pairs"], document["mixed_policy_pairs"], document["pairs"]
    if not same + mixed:
        return [("policies", "no pair whose sides both name one")]
    return [("of one policy", _share(same, pairs)), *([("of two policies", _share(mixed, pairs))] if mixed else [])]


def _characters(value: Mapping[str, Any]) -> str:
    return f"{decimal_text(Fraction(value['exact']), _DECIMALS)} characters"


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,}, {percent_text(Fraction(part, whole))}"


def exact_text(value: Mapping[str, Any]) -> str:
    """A stored rational as a decimal."""
    return decimal_text(Fraction(value["exact"]))


def rule_words(document: Document) -> str:
    """The rule in one line."""
    rules, policy = document["rules"], document["policy"]
    return (
        f"a rollout passes from {exact_text(rules['pair_pass_reward'])} on, a pair is {exact_text(rules['min_reward_margin'])} or more apart, "
        f"{count_of(rules['max_pairs_per_task'], 'pair')} a task at most, matched in length; "
        f"{'every policy' if policy is None else f'the policy {policy} alone'}"
    )


def holdout_words(document: Document) -> str:
    """What counts as the holdout's."""
    holdout, graders = document["holdout"], document["holdout_graders"]
    held = "no locked item"
    if holdout is not None:
        held = f"task ids and prompts of {count_of(holdout['items'], 'locked item')}"
        unsure = holdout["not_judged"]["items"]
        held += f" ({unsure:,} of them cannot be judged by the ids of these rollouts)" if unsure else ""
    named = f"graders or sources {', '.join(graders)}" if graders else "no grader declared"
    return f"{held}; {named}"


def eval_words(document: Document) -> str | None:
    """The sentence about pairs of the round with a reward of the holdout; None where there is none."""
    found = document["comparison"]
    if found is None or not found["eval_sourced"]:
        return None
    count, verb = found["eval_sourced"], "has" if found["eval_sourced"] == 1 else "have"
    return (
        f"{count:,} of {count_of(found['pairs'], 'pair')} of this round {verb} a rollout whose task, prompt or grade belongs to the holdout: "
        "the held-out scorer becomes the reward, and the holdout measures nothing any more"
    )


def comparison_rows(document: Document) -> list[tuple[str, int, str]]:
    """Kind of pair, how many, and how they come about; nothing for a kind that does not occur, but for the first."""
    found = document["comparison"]
    if found is None:
        return []
    reasons = {
        SAME: f"equal to the letter{_under_another_id(found)}" if found[SAME] else "",
        CHANGED: ", ".join(f"{FIELD_WORDS[name]} ({count:,})" for name, count in found["changed_fields"].items()),
        SWAPPED: "chosen and rejected are the other way round",
        NOT_MADE: "; ".join(f"{WHY[why]} ({count:,})" for why, count in found["not_made_why"].items()),
        LACKING: "; ".join(f"{WHY[why]} ({count:,})" for why, count in found["lacking_why"].items()),
    }
    return [(kind, found[kind], reasons[kind]) for kind in KINDS if found[kind] or kind == SAME]


def _under_another_id(found: Mapping[str, Any]) -> str:
    return f", {found['same_under_another_id']:,} under another id" if found["same_under_another_id"] else ""


def reason_of(row: Mapping[str, Any]) -> str:
    """Why one pair of compared.parquet is there."""
    said = []
    if row["fields"]:
        said.append(f"{', '.join(FIELD_WORDS[name] for name in row['fields'])} changed")
    elif row["kind"] == SWAPPED:
        said.append(KINDS[SWAPPED])
    if row["why"]:
        said.append(WHY[row["why"]] + (f" ({reason_text(row['detail'], FAULTS)})" if row["detail"] else ""))
    if row["held_out"]:
        said.append("has a reward of the holdout")
    if row["kind"] != SAME and row["made_id"] not in (None, row["pair_id"]):
        said.append(f"the rule calls it {row['made_id']}")
    return "; ".join(said)
