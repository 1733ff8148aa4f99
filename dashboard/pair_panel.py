"""One pair in full, as blocks: figures against their bounds, every reason, what it collides with, its texts. Pure."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from core.grid import Grid
from core.pairs.scripts import mixed_script_words
from core.pairs.word_diff import Piece, WordDiff, differ_in_white_space_only, word_differences
from core.schemas import DUPLICATE_COLUMNS
from core.settings import SETTINGS
from core.statistics.ratio import decimal_text
from dashboard import blocks, words
from dashboard.blocks import Block, Span, badge, mono, muted, strong, text
from dashboard.chart_words import fixed
from dashboard.pair_words import INVALID_TITLES, KEY_TITLES, STATE_BADGES, STATE_TITLES, flag_words

Pair = Mapping[str, Any]
_NAMED: Final[int] = SETTINGS["display"]["named_ids"]
_WIDTH: Final[str] = SETTINGS["dashboard"]["figure_width"]


def head(pair: Pair, verification: str) -> list[Block]:
    """Which pair it is and where it ended. ``verification``: who set the verifier's flags, as the round states it."""
    tone, icon = STATE_BADGES[pair["state"]]
    spans: list[Span] = [mono(pair["pair_id"]), text("  "), badge(STATE_TITLES[pair["state"]].lower(), tone, icon)]
    if pair["primary_reason"]:
        spans += [text(" "), badge(words.REASON_TITLES[pair["primary_reason"]].lower(), "bad", "cross")]
    if pair["state"] == "held":
        spans += [text(" "), badge(f"by {words.check_title(pair['held_check'])}", "off", "question")]
    if pair["rank"] is not None:
        spans.append(muted(f"  rank {words.count(pair['rank'] + 1)}"))
    return [blocks.heading(*spans, level="h3"), blocks.line(*_origin(pair, verification))]


def _origin(pair: Pair, verification: str) -> list[list[Span]]:
    groups = [[muted("origin "), text(pair["origin"])]]
    if pair["judge_id"] is not None:
        groups.append([muted("judge "), blocks.link(pair["judge_id"], "judges", judge=pair["judge_id"])])
    who = "data set's label" if verification == "dataset_label" else "verifier"
    groups.append([muted(f"{who} "), text(flag_words(pair), *(["bad"] if "unverified" in pair["reasons"] else []))])
    place = ", ".join([pair["file"] or "", f"line {words.count(pair['line'])}"] if pair["line"] is not None else [])
    groups += [[muted(place)]] if place else []
    return groups


def figures_table(pair: Pair, grid: Grid) -> Block:
    """Each figure against its bound, with the distance. Which side it lies on is the engine's exact finding."""
    rows = [_figure_row(*row) for row in _figures(pair, grid)]
    columns = [
        blocks.column("Figure", head=True, width=_WIDTH), blocks.column("Observed", align="right"), blocks.column("Bound"), blocks.column("Distance"),
    ]
    return blocks.table("figures", columns, rows, label="Figures of this pair against their bounds")


def _figures(pair: Pair, grid: Grid) -> list[tuple[str, str, Fraction | None, Fraction | None, str, bool]]:
    """(title, unit, observed, bound, how the bound is written, outside)."""
    nc, nr = pair["chosen_token_count"], pair["rejected_token_count"]
    ratio = Fraction(max(nc, nr), min(nc, nr)) if pair["length_ratio"] is not None else None
    longer = "equal lengths" if nc == nr else f"{'chosen' if (nc or 0) > (nr or 0) else 'rejected'} is longer"
    reasons = pair["reasons"]
    return [
        ("Chosen drift", "nats/token", _exact(pair["drift"]), grid.fraction("min_chosen_logp_drift_per_token"), "≥", "logp_collapse" in reasons),
        ("Margin", "nats", _exact(pair["margin"]), grid.fraction("min_dpo_margin"), ">", "non_positive_margin" in reasons),
        ("Length ratio", longer if ratio is not None else "", ratio, grid.fraction("max_length_ratio"), "≤", "length_bias" in reasons),
        ("RPO loss", "nats", _exact(pair["rpo_loss"]), None, "", False),
    ]


def _exact(value: float | None) -> Fraction | None:
    return None if value is None else Fraction(repr(value))


def _figure_row(title: str, unit: str, observed: Fraction | None, bound: Fraction | None, sign: str, outside: bool) -> dict[str, Any]:
    name = blocks.cell(text(f"{title} "), muted(unit, blocks.SMALL))
    limit = blocks.cell(muted("ranking only") if bound is None else text(f"{sign} {decimal_text(bound)}"))
    if observed is None:
        return blocks.row(name, blocks.cell(muted("none")), limit, blocks.cell(), tone="quiet")
    if bound is None:
        return blocks.row(name, blocks.cell(decimal_text(observed)), limit, blocks.cell())
    return blocks.row(
        name, blocks.cell(decimal_text(observed, against=bound)), limit,
        blocks.cell(badge(distance_words(observed, bound, outside=outside), "bad" if outside else "ok", "cross" if outside else "check")),
        tone="bad" if outside else None,
    )


def distance_words(observed: Fraction, bound: Fraction, *, outside: bool) -> str:
    """``0.012 inside``; on the bound itself in words, as the rule settles it."""
    side = "outside" if outside else "inside"
    away = abs(observed - bound)
    return f"on the bound, {side}" if not away else f"{decimal_text(away, against=Fraction(0))} {side}"


def reasons_blocks(pair: Pair) -> list[Block]:
    """Every reason that applies, in the order that decides the first; the sub-codes of an invalid record; why a pair is held."""
    found: list[Block] = []
    if pair["sub_codes"]:
        found.append(blocks.bullets(*([text(INVALID_TITLES[code]), muted(f"  {code}")] for code in pair["sub_codes"])))
    later = [reason for reason in pair["reasons"] if reason != pair["primary_reason"]]
    if later and pair["state"] == "rejected":
        found.append(blocks.paragraph(muted("Also: "), text(", ".join(words.REASON_TITLES[reason].lower() for reason in later))))
    if pair["state"] == "held":
        held = [muted("Held because the gate of its judge is closed: "), strong(words.check_title(pair["held_check"])), text(".")]
        named = ", ".join(words.REASON_TITLES[reason].lower() for reason in later)
        would = [text(f" Apart from that it would be rejected: {named}.")]
        found.append(blocks.paragraph(*held, *(would if later else [])))
    return found


def collisions(pair: Pair) -> list[tuple[str, list[str]]]:
    """The admitted pairs that hold a key of this one, each with the titles of the keys that matched."""
    found: dict[str, list[str]] = {}
    for key, column in DUPLICATE_COLUMNS.items():
        other = pair[column]
        if other is not None:
            found.setdefault(other, []).append(KEY_TITLES[key])
    return list(found.items())


def collision_blocks(pair: Pair) -> list[Block]:
    """Which admitted pair it collides with, and on which key."""
    lines = [
        [text("Same "), strong(" and ".join(keys)), text(" as the admitted pair "), mono(other), text("  "),
         blocks.link("open it", "rejected", state="admitted", pair=other)]
        for other, keys in collisions(pair)
    ]
    return [blocks.notice("copy", "off", *lines)] if lines else []


def log_prob_words(pair: Pair, side: str) -> str:
    """``16 tokens, log-prob −86.0, was −41.2``: under the policy, and under the reference."""
    figures = [pair[f"{model}_logp_{side}"] for model in ("policy", "ref")]
    policy, reference = (fixed(value, 1) for value in figures)
    count = pair[f"{side}_token_count"]
    return f"{'no token count' if count is None else words.plural(count, 'token')} · log-prob {policy}, reference {reference}"


def side_blocks(title: str, value: str, pieces: Sequence[Piece], said: str) -> list[Block]:
    """One text with its caption: length, tokens, log-probs; words that the other side lacks are marked."""
    shown = blocks.marked_text(pieces) if value else blocks.paragraph(muted("empty"))
    caption = " · ".join(filter(None, [words.plural(len(value), "character"), said]))
    return [blocks.paragraph(strong(title), muted(f"  {caption}", blocks.SMALL)), shown]


def difference_words(chosen: str, rejected: str, found: WordDiff) -> str:
    """What the marks say, in one line."""
    if chosen == rejected:
        return "The two answers are the same, character for character."
    if differ_in_white_space_only(chosen, rejected):
        return "The two answers differ in white space only."
    if not found.compared:
        return "The answers are too long to be compared word by word; nothing is marked."
    return (
        f"{words.plural(found.chosen_only, 'passage')} only in the chosen answer (underlined), "
        f"{words.count(found.rejected_only)} only in the rejected one (dashed)."
    )


def text_columns(pair: Pair, texts: Mapping[str, Any]) -> tuple[list[Block], list[Block], list[Block]]:
    """Blocks of the prompt, the chosen and the rejected answer."""
    prompt, chosen, rejected = (texts[name] or "" for name in ("prompt", "chosen", "rejected"))
    found = word_differences(chosen, rejected)
    above = side_blocks("Prompt", prompt, [("same", prompt)], "")
    if any(texts[f"{name}_messages"] for name in ("prompt", "chosen", "rejected")):
        above.append(blocks.paragraph(muted("Given as messages; shown as the text that is compared: role, content, tool calls.", blocks.SMALL)))
    for name, value in (("prompt", prompt), ("chosen answer", chosen), ("rejected answer", rejected)):
        above += confusable(name, value)
    above.append(blocks.paragraph(muted(difference_words(chosen, rejected, found), blocks.SMALL)))
    return above, side_blocks("Chosen", chosen, found.chosen, log_prob_words(pair, "chosen")), side_blocks(
        "Rejected", rejected, found.rejected, log_prob_words(pair, "rejected"),
    )


def confusable(name: str, value: str) -> list[Block]:
    """A warning where a word mixes scripts: it may look like another word and is never merged with it."""
    found = mixed_script_words(value)
    if not found:
        return []
    named = [span for word in found[:_NAMED] for span in (mono(word), text(" "))]
    more = [muted(f"and {words.count(len(found) - _NAMED)} more")] if len(found) > _NAMED else []
    return [blocks.notice("warning", "off", [text(f"Words of the {name} mix scripts and may look like others: "), *named, *more])]


def keys_blocks(pair: Pair) -> list[Block]:
    """The structural keys, for a pair that got as far as having them."""
    rows = [(KEY_TITLES[key].capitalize(), [blocks.digest(pair[key], f"the key {key}")]) for key in DUPLICATE_COLUMNS if pair[key]]
    return [blocks.facts(rows)] if rows else []
