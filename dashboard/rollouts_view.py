"""The report on a round's rollouts as blocks: where they went, the rule's pairs, and the round's pairs held against them. Pure."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from core.gates import rollout_words
from core.gates.compared_list import FILTERS, HELD_OUT
from core.pairs.given_pairs import LACKING, SAME
from core.settings import SETTINGS
from core.text import capital
from dashboard import blocks, words
from dashboard.blocks import Block, Span, mono, muted, strong, text
from dashboard.contamination_view import PAGE, state_badge, state_words
from dashboard.leakage_params import ROLLOUTS, of_others

Document = Mapping[str, Any]
NO_ROLLOUTS: Final = "This round carries no rollouts: what its pairs were made of cannot be checked here."
_WIDTH: Final[str] = SETTINGS["rollouts"]["kind_width"]


@dataclass(frozen=True, slots=True)
class Listed:
    """What the URL asks of the list: a filter (of ``FILTERS``), and a page."""

    chosen: str | None = None
    page: int = 1
    others: tuple[tuple[str, str], ...] = ()

    def params(self, chosen: str | None) -> dict[str, str]:
        """The first page of another filter, as query parameters."""
        return {**dict(self.others), **({} if chosen is None else {"made": chosen})}


def listed_of(params: Mapping[str, str], page: int) -> Listed:
    """A view of the list from query parameters; what means nothing there is left out."""
    return Listed(params["made"] if params.get("made") in FILTERS else None, page, of_others(ROLLOUTS, params))


def held_out_block(document: Document, pairs: Mapping[str, int], shown: Listed) -> Block | None:
    """That pairs of this round have a reward of the holdout; None where none has."""
    said = rollout_words.eval_words(document)
    if said is None:
        return None
    first, _, rest = said.partition(": ")
    return blocks.notice(
        "warning", "bad", [strong(f"{first}: {state_words(pairs)}.")],
        [text(f"{capital(rest)}. Next: have these rollouts left out, and the pairs made again. "),
         blocks.link("See these pairs", PAGE, **shown.params(HELD_OUT))],
    )


def sign_off_blocks(held_out: int, differ: int, link: Span) -> list[tuple[str, Block]]:
    """Lines above a decision: admitted pairs with a reward of the holdout, and admitted pairs that the rule does not make."""
    found = []
    if held_out:
        verb = "has" if held_out == 1 else "have"
        found.append(("eval-sourced", blocks.notice(
            "warning", "off", [strong(f"{words.plural(held_out, 'admitted pair')} {verb} a reward of the holdout.")],
            ["Approving lets the next generation train on what scores it; no check of this grid stops that. ", link],
        )))
    if differ:
        verb = "is" if differ == 1 else "are"
        found.append(("rollouts", blocks.notice(
            "note", "off", [strong(f"{words.plural(differ, 'admitted pair')} {verb} not what the pairing rule makes of the rollouts.")],
            ["Each is listed with what was changed, or why the rule does not make it. ", link],
        )))
    return found


def verdict_block(document: Document) -> Block:
    """Whether the round's pairs are what the rule makes of its rollouts."""
    found, said = document["comparison"], f"{rollout_words.headline(document)}."
    if found is None:
        return blocks.notice("note", "off", [strong(said)])
    if found[SAME] == found["pairs"] == document["pairs"]:
        return blocks.notice("check", "ok", [strong(said), text(" Prompt, replies and order are equal to the letter.")])
    return blocks.notice(
        "warning", "off", [strong(said)],
        ["A pair may differ for a good reason: another rule, a filter, a later edit. These rollouts do not show it, so ask the proposer."],
    )


def where_table(document: Document) -> Block:
    """Where the rollouts went; the last row is the sum."""
    columns = [blocks.column("Rollouts", head=True), blocks.column("How many", align="right")]
    rows = [blocks.row(blocks.cell(capital(what)), blocks.cell(words.count(count))) for what, count in rollout_words.where_they_went(document)]
    return blocks.table(
        "rollouts-where", columns, [*rows, blocks.row(blocks.cell(strong("In all")), blocks.cell(strong(words.count(document["rows"]))))],
        label="Where the rollouts went",
    )


def facts_block(document: Document, grid_words: str) -> Block:
    """The rule, and what belongs to the holdout."""
    return blocks.facts([
        ("Rule", [text(f"{rollout_words.rule_words(document)}  "), muted(grid_words)]),
        ("Of the holdout", [text(rollout_words.holdout_words(document))]),
    ])


def figures_block(document: Document) -> Block:
    """The figures of the rule's pairs."""
    return blocks.facts([(capital(label), [text(value)]) for label, value in rollout_words.figures(document)])


def warnings_block(document: Document) -> Block | None:
    """Warnings about the rule's pairs, without the one that stands above; None where there is none."""
    found = [one for one in document["warnings"] if one["code"] != "eval_sourced" or document["comparison"] is None]
    return blocks.bullets(*([text(f"{capital(one['text'])} "), mono(one["code"], blocks.MUTED)] for one in found)) if found else None


def comparison_table(document: Document, shown: Listed) -> Block | None:
    """The round's pairs against the rule's, each count a way to its list; None where the round has no pairs."""
    rows = rollout_words.comparison_rows(document)
    if not rows:
        return None
    columns = [
        blocks.column("The round's pairs", head=True, width=_WIDTH), blocks.column("How many", align="right"), blocks.column("Of them"),
    ]
    body = []
    for kind, count, why in rows:
        number = blocks.link(words.count(count), PAGE, **shown.params(kind)) if kind != SAME else text(words.count(count))
        body.append(blocks.row(
            blocks.cell(rollout_words.KIND_TITLES[kind]), blocks.cell(number), blocks.cell(why),
            tone=None if kind == SAME else "off",
        ))
    return blocks.table("compared", columns, body, label="Pairs of the round against those of the rule")


def filter_line(shown: Listed, total: int) -> Block:
    """How many pairs are listed, and the way back to all."""
    if shown.chosen is None:
        return blocks.line([strong(f"{words.plural(total, 'pair')} that differ, or have a reward of the holdout")])
    name = "with a reward of the holdout" if shown.chosen == HELD_OUT else rollout_words.KIND_TITLES[shown.chosen].lower()
    return blocks.line([strong(f"{words.plural(total, 'pair')}: {name}")], [blocks.link("all that differ", PAGE, **shown.params(None))])


def list_table(rows: Sequence[Mapping[str, Any]]) -> Block:
    """One page of the list; a pair of the round is a way to its texts."""
    tasks = any(row["task"] not in (None, row["pair_id"].split("/")[0]) for row in rows)
    columns = [
        blocks.column("Pair", head=True), blocks.column("State"), *([blocks.column("Task")] if tasks else []), blocks.column("It is"),
        blocks.column("Why"),
    ]
    return blocks.table("compared-list", columns, [_row(row, tasks=tasks) for row in rows], label="Pairs that differ from the rule's")


def _row(row: Mapping[str, Any], *, tasks: bool) -> dict[str, Any]:
    """``tasks``: with the task, which is left out where every id of the page begins with it."""
    lacking = row["kind"] == LACKING
    name = mono(row["pair_id"]) if lacking else blocks.link(row["pair_id"], "rejected", state=row["state"], pair=row["pair_id"])
    task = [blocks.id_cell(mono(row["task"]) if row["task"] else muted("none"))] if tasks else []
    return blocks.row(
        blocks.id_cell(name), blocks.cell(muted("not in the round") if lacking else state_badge(row["state"])),
        *task, blocks.cell(rollout_words.KIND_TITLES[row["kind"]], tone="id"),
        blocks.cell(capital(rollout_words.reason_of(row))), tone="bad" if row["held_out"] and not lacking else None,
    )
