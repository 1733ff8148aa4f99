"""Which keys of a round's grid differ from the default grid and from the previous round's: on the Overview and at sign-off."""
from __future__ import annotations

from core.grid import default_grid
from dashboard import blocks, signing_rules, signing_words
from dashboard.blocks import Block, muted
from dashboard.frame import View


def comparison(view: View) -> list[Block]:
    """Both comparisons, each as a table or as a sentence that says there is no difference, or nothing to compare with."""
    changed = signing_words.grid_table("grid-default", view.grid, default_grid(), "Default grid")
    return [changed or blocks.paragraph(muted("Every key has the value of the default grid.")), _previous(view)]


def _previous(view: View) -> Block:
    ledger, status = view.desk.signed, view.status
    if ledger is None or status is None:
        return blocks.paragraph(muted("The previous round's grid is not known: the ledger cannot be read."))
    earlier = signing_rules.previous_grid(ledger, view.desk.grids, status, view.manifest.previous_receipt_sha256)
    if earlier is None:
        return blocks.paragraph(muted("There is no earlier round in the ledger to compare with."))
    if earlier.grid is None:
        unknown = f"The previous round, {earlier.round_id}, was proposed under another grid that is not at hand: "
        return blocks.paragraph(unknown, blocks.digest(earlier.digest, "the grid digest"))
    moved = signing_words.grid_table("grid-previous", view.grid, earlier.grid, f"Round {earlier.round_id}")
    return moved or blocks.paragraph(muted(f"Every key has the value that the previous round, {earlier.round_id}, was proposed under."))
