"""Receipts that were written once and are never written again (``tests/receipts/v1``, ``v2``, ``v3``), read with the present engine."""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.persons.registry import Registry
from core.rounds.folder import Round
from core.signing.export import Export, read_export
from core.signing.grids import AcceptedGrids
from core.signing.ledger import Ledger, LedgerView
from core.signing.statement import Statement
from core.signing.verify import Verification, verify_export


@dataclass(frozen=True)
class Frozen:
    """One such folder: exports, the rounds they are about, the registry, the accepted grids and the ledger of their time."""

    folder: Path

    @property
    def registry(self) -> Registry:
        return Registry.load(self.folder / "reviewers.toml")

    @property
    def ledger(self) -> LedgerView:
        return Ledger(self.folder / "ledger" / "receipts.jsonl").read()

    def export(self, name: str) -> Export:
        return read_export(self.folder / f"{name}.zip")

    def decision(self, name: str) -> Statement:
        return self.export(name).decision_statement

    def verified(self, name: str) -> Verification:
        export = self.export(name)
        predicate = export.decision_statement.predicate
        source = Round.open(self.folder / "rounds" / predicate["round_digest"])
        accepted = AcceptedGrids.load(self.folder / "grids.json", self.folder / "grids")
        return verify_export(export, self.registry, source, self.ledger, accepted, grid=accepted.grid(predicate["grid_digest"]))
