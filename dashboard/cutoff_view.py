"""What the pages say of a declared training cut-off: of the round on Curation, of one pair where it is open. Pure."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from core.gates.cutoff import equal_words, not_known
from core.pairs.cutoff import CutOff, answers_of, equal_under
from core.settings import SETTINGS
from dashboard import blocks, words
from dashboard.blocks import Block, muted, strong, text

_ROWS: Final[int] = SETTINGS["reports"]["list_rows"]
_BASIS_TONES: Final[Mapping[str, tuple[words.Tone, str]]] = {
    "exact": ("bad", "warning"), "proved": ("bad", "warning"), "estimated": ("off", "question"),
}
"""How a pair is known to be equal -> (tone, icon)."""


def round_blocks(document: Mapping[str, Any]) -> list[Block]:
    """The member ``cutoff`` of an assessment: its sentences, and the first of the pairs. Nothing where no cut-off is declared."""
    cut = document.get("cutoff")
    if cut is None:
        return []
    said = blocks.bullets(*([text(line)] for line in cut["sentences"]))
    shown = cut["listed"][:_ROWS]
    if not shown:
        return [said]
    rows = [
        blocks.row(blocks.cell(blocks.link(item["pair_id"], "rejected", state="admitted", pair=item["pair_id"])),
                   blocks.cell(blocks.badge(item["basis"], *_BASIS_TONES[item["basis"]])), blocks.cell(text(item["text"])))
        for item in shown
    ]
    columns = [blocks.column("Pair", head=True, width=SETTINGS["dashboard"]["id_width"]), blocks.column("Known how"), blocks.column("Why")]
    more = cut["equal"]["total"] - len(shown)
    said_more = f"And {words.plural(more, 'more pair')}: countersign decide names the first {words.count(len(cut['listed']))}."
    left = [blocks.paragraph(muted(said_more, blocks.SMALL))] if more else []
    table = blocks.table("cutoff-pairs", columns, rows, label="Admitted pairs that the cut-off makes equal")
    return [said, table, *left, blocks.paragraph(muted(" ".join(cut["not_known"]), blocks.SMALL))]


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
