"""What the pages say of a declared training cut-off: of the round on Curation, of one pair where it is open. Pure."""
from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from core.gates.cutoff import KEPT, equal_words, finding, not_known
from core.pairs.cutoff import CutOff, answers_of, equal_under
from core.settings import SETTINGS
from core.statistics.ratio import decimal_text, rounded_decimal
from dashboard import blocks, words
from dashboard.blocks import Block, Span, muted, strong, text

_ROWS: Final[int] = SETTINGS["display"]["page_rows"]
_DECIMALS: Final[int] = SETTINGS["cutoff"]["token_decimals"]
_NEXT: Final = "Next: a longer cut-off, or have them left out."
_BASIS_TONES: Final[Mapping[str, tuple[words.Tone, str]]] = {
    "exact": ("bad", "warning"), "proved": ("bad", "warning"), "estimated": ("off", "question"),
}
"""How a pair is known to be equal -> (tone, icon)."""
CutMember = Mapping[str, Any]
"""The member ``cutoff`` of an assessment."""


def lead_spans(cut: CutMember | None) -> list[Span]:
    """Below the headline of Curation: how many of the admitted pairs would train nothing; nothing where none is known to."""
    if cut is None or not cut["equal"]["total"]:
        return []
    total = cut["equal"]["total"]
    said = " of them is equal once training cuts it, and would train nothing. " if total == 1 else (
        " of them are equal once training cuts them, and would train nothing. ")
    return [strong(words.count(total)), text(said)]


def found_blocks(cut: CutMember) -> list[Block]:
    """What the cut-off makes of the admitted pairs, and what it cuts."""
    said = f"{finding(cut)}."
    _, *more = cut["sentences"]
    if cut["equal"]["total"]:
        told = blocks.notice("warning", "off", [strong(said)], [f"{KEPT} {_NEXT}"])
    else:
        told = blocks.notice("check", "ok", [strong(said)])
    return [told, blocks.bullets(*([text(line)] for line in more))]


def warning_block(cut: CutMember, link: Span) -> Block:
    """The same above a decision."""
    return blocks.notice("warning", "off", [strong(f"{finding(cut)}.")], [f"The first is pair {cut['listed'][0]['pair_id']}. {KEPT} ", link])


def shown_pairs(cut: CutMember) -> list[Mapping[str, Any]]:
    """The pairs that the table shows."""
    return list(cut["listed"][:_ROWS])


def pairs_table(cut: CutMember) -> Block:
    """The first of the pairs that become equal: what the kept parts share, and what the prompt leaves for the answers."""
    shown, prompted = shown_pairs(cut), cut["declared"]["counts"] == "sequence_tokens"
    tokens, prompt = (any(item[name] is not None for item in shown) for name in ("shared_tokens_estimated", "prompt_tokens_estimated"))
    columns = [
        blocks.column("Pair", head=True), blocks.column("Known how"),
        blocks.column(f"Same characters at the {cut['declared']['keeps']}", align="right"),
        *([blocks.column("In tokens", align="right")] if tokens else []),
        *([blocks.column("Prompt, about", align="right"), blocks.column("Left for the answers", align="right")] if prompt and prompted else []),
    ]
    rows = [_row(item, cut["declared"]["length"], tokens=tokens, prompt=prompt and prompted) for item in shown]
    return blocks.table("cutoff-pairs", columns, rows, label="Admitted pairs that the cut-off makes equal")


def _row(item: Mapping[str, Any], length: int, *, tokens: bool, prompt: bool) -> dict[str, Any]:
    name = blocks.link(item["pair_id"], "rejected", state="admitted", pair=item["pair_id"])
    cells = [blocks.id_cell(name), blocks.cell(blocks.badge(item["basis"], *_BASIS_TONES[item["basis"]])),
             blocks.cell(words.count(item["shared_characters"]))]
    if tokens:
        cells.append(blocks.cell(text(_tokens(item))))
    if prompt:
        cells += _prompt_cells(item, length)
    return blocks.row(*cells)


def _tokens(item: Mapping[str, Any]) -> str:
    """``at least 1,022``, ``about 0.2 to 18.1``."""
    if item["shared_tokens_at_least"] is not None:
        return f"at least {words.count(item['shared_tokens_at_least'])}"
    if item["shared_tokens_estimated"] is None:
        return ""
    low, high = (decimal_text(value, _DECIMALS) for value in sorted(map(_fraction, item["shared_tokens_estimated"].values())))
    return f"about {low}" if low == high else f"about {low} to {high}"


def _prompt_cells(item: Mapping[str, Any], length: int) -> list[dict[str, Any]]:
    if item["prompt_tokens_estimated"] is None:
        return [blocks.cell(""), blocks.cell("")]
    taken = _fraction(item["prompt_tokens_estimated"])
    left = muted("nothing") if item["nothing_left"] else text(_figure(length - taken))
    return [blocks.cell(_figure(taken)), blocks.cell(left)]


def _figure(value: Fraction) -> str:
    return f"{rounded_decimal(value, _DECIMALS):,}"


def _fraction(value: Mapping[str, Any]) -> Fraction:
    return Fraction(int(value["numerator"]), int(value["denominator"]))


def rest_blocks(cut: CutMember) -> list[Block]:
    """Below the table: how many pairs are not in it, and what nobody can say."""
    more, named = cut["equal"]["total"] - len(shown_pairs(cut)), words.count(len(cut["listed"]))
    left = [f"And {words.plural(more, 'more pair')}: countersign decide names the first {named}."] if more else []
    return [blocks.paragraph(muted(" ".join([*left, *cut["not_known"]]), blocks.SMALL))] if left or cut["not_known"] else []


def pair_blocks(cutoff: CutOff | None, pair: Mapping[str, Any], texts: Mapping[str, Any]) -> list[Block]:
    """That the declared cut-off makes the answers of this pair equal, and how that is known; nothing where it does not."""
    if cutoff is None:
        return []
    counts = pair["chosen_token_count"] or 0, pair["rejected_token_count"] or 0
    found = equal_under(cutoff, answers_of(texts, *counts, prompt=len(texts["prompt"] or "")))
    if found is None:
        return []
    line = [strong("Equal once it is cut. "), text(equal_words(cutoff, found))]
    unknown = not_known(cutoff)
    return [blocks.notice("warning", "off", line, *([[muted(" ".join(unknown), blocks.SMALL)]] if unknown else []))]
