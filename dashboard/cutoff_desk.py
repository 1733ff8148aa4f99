"""The section of Curation about a declared training cut-off."""
from __future__ import annotations

from dashboard import components, cutoff_view
from dashboard.contamination_desk import list_box
from dashboard.frame import View


def section(view: View) -> None:
    """What the cut-off makes of the admitted pairs, and those that it makes equal; nothing where none is declared."""
    cut = view.document.get("cutoff")
    if cut is None:
        return
    components.section("cutoff", "The training cut-off", *cutoff_view.found_blocks(cut))
    if not cut["listed"]:
        return
    with list_box(len(cutoff_view.shown_pairs(cut)), "cutoff_list"):
        components.sheet("cutoff-pairs", cutoff_view.pairs_table(cut))
    rest = cutoff_view.rest_blocks(cut)
    if rest:
        components.sheet("cutoff-rest", *rest)
