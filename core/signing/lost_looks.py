"""Signed decisions remember the record of looks: a record that no longer begins as one of them saw it was shortened or edited."""
from __future__ import annotations

from core.gates.exposure_file import read_looks
from core.rounds.workspace import Workspace
from core.signing.ledger import LedgerView


def lost_looks(workspace: Workspace, view: LedgerView) -> list[str]:
    """Decisions whose ``coverage`` names a record of looks that the present one does not extend, one sentence each."""
    book = read_looks(workspace)
    found = []
    for entry in view.entries:
        coverage = entry.statement.predicate.get("coverage") or {}
        seen = (coverage.get("exposure") or {}).get("record")
        if seen is not None and not book.extends(seen["lines"], seen["sha256"]):
            found.append(
                f"the record of looks at holdouts is not the one that ledger entry {entry.index} was signed against "
                f"({seen['lines']:,} lines then, {book.size:,} now): looks were removed or changed",
            )
    return found
