"""A workspace with the worked example's round, its proposer and its reviewer enrolled: for tests of the whole path."""
from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from support_signing import NOW, Actor, registry_bytes

from core.gates.assessment import Assessment, load_or_assess
from core.gates.exposure_file import EXPOSURE_FILE
from core.grid import Grid, default_grid
from core.persons.registry import Registry
from core.rounds.folder import Round
from core.rounds.ingest import ingest_bundle_bytes
from core.rounds.workspace import Workspace
from core.signing.ledger import Ledger, LedgerEntry
from core.signing.propose import propose
from core.signing.signoff import Choice, Prepared, SignedReceipt, prepare, sign_and_append

BUNDLE = Path(__file__).parent / "fixtures" / "worked_example" / "bundle.json"
CREATED = "2026-01-05T12:00:00Z"


def bundle(**changes: Any) -> bytes:
    document = json.loads(BUNDLE.read_bytes()) | changes
    return json.dumps({name: value for name, value in document.items() if value is not ...}).encode()


@dataclass
class Desk:
    """A workspace and its people: curator (proposes), verifier (named as reviewer by the bundle), ben and eva (reviewers)."""

    workspace: Workspace
    curator: Actor
    verifier: Actor
    ben: Actor
    eva: Actor

    @property
    def registry(self) -> Registry:
        return Registry.load(self.workspace.registry_file)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.workspace.ledger_file)

    def write_registry(self, *actors: Actor) -> Registry:
        self.workspace.registry_file.write_bytes(registry_bytes(*(actors or (self.curator, self.verifier, self.ben, self.eva))))
        return self.registry

    def round(self, name: str = "worked-example", **changes: Any) -> Round:
        report = ingest_bundle_bytes(bundle(**changes), "bundle.json", self.workspace, round_id=name, created_at=CREATED, now=NOW)
        return self.workspace.round(report.digest)

    def assess(self, source: Round, grid: Grid | None = None) -> Assessment:
        return load_or_assess(self.workspace, source, grid or default_grid())

    def propose(self, source: Round, actor: Actor | None = None, grid: Grid | None = None, now: datetime = NOW) -> LedgerEntry:
        who = actor or self.curator
        return propose(self.workspace, source, grid or default_grid(), who.id, who, self.registry, now)

    def prepare(
        self, source: Round, actor: Actor | None = None, choice: Choice = "approve", comment: str = "", now: datetime = NOW, **more: Any,
    ) -> Prepared:
        who = actor or self.verifier
        return prepare(self.workspace, source, self.assess(source), more.pop("reviewer", who.id), choice, comment, self.registry, now, **more)

    def sign(self, prepared: Prepared, actor: Actor | None = None, now: datetime = NOW) -> SignedReceipt:
        return sign_and_append(self.workspace, prepared.digest, actor or self.verifier, self.registry, now)

    def tree(self) -> dict[str, bytes]:
        """Every file that a refusal to sign must leave as it was (locks hold nothing; computing the figures is a look, signed or not)."""
        root = self.workspace.root
        return {
            str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*"))
            if path.is_file() and path.suffix != ".lock" and path.name != EXPOSURE_FILE and "assessments" not in path.parts
        }


def desk(folder: Path) -> Desk:
    made = Desk(
        Workspace.open(folder / "workspace", create=True), Actor("worker-curator-01", roles=("proposer", "reviewer"), aliases=("curator-a",)),
        Actor("worker-verifier-02", roles=("reviewer",)), Actor("ben@example.org", roles=("reviewer",)), Actor("eva@example.org"),
    )
    made.write_registry()
    return made
