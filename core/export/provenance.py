"""What stands behind an exported dataset: the approval that closed the round, verified and recomputed here and now, or none.

Fail closed: without ``unsigned`` there is a dataset only when ``verify`` would exit 0. Everything that is written beside the data
follows from the round, the grid and the decision, so that the same receipt gives the same bytes: the ledger's head is the one
right after the decision, not the present one.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NoReturn

from core.canonical import sha256_hex
from core.errors import NotApproved
from core.gates.assessment import Assessment, headline
from core.gates.confirmed import confirmed_assessment
from core.gates.receipt import PROMOTE_AWAITING
from core.grid import Grid
from core.persons.registry import Registry
from core.rounds.folder import Round
from core.rounds.workspace import Workspace
from core.signing.admission import Rules, sound_status
from core.signing.evidence import EvidenceStore
from core.signing.export import Export, make_export
from core.signing.grids import AcceptedGrids
from core.signing.ledger import Ledger, LedgerEntry, LedgerView
from core.signing.round_grid import grid_of_round
from core.signing.statement import ADMITTED_SUBJECT
from core.signing.status import State
from core.signing.verify import verify_export

UNSIGNED: Final = "Unsigned: no person approved these pairs."
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Approval:
    """One signed approval that counts: who, with which key, when, and the digest of the envelope."""

    reviewer: str
    keyid: str
    issued_at: str
    envelope_sha256: str
    comment: str

    @classmethod
    def of(cls, entry: LedgerEntry) -> Approval:
        predicate = entry.statement.predicate
        return cls(entry.statement.signer, entry.envelope.signature.keyid, predicate["issuedAt"], entry.digest, predicate["comment"])


@dataclass(frozen=True)
class Provenance:
    """What a dataset's card says, and the list of pairs that it holds. ``bundle``: the signed evidence of the closing decision;
    None where the export is unsigned, whatever the ledger holds."""

    source: Round
    grid: Grid
    admitted: bytes
    reason_table: Mapping[str, Any]
    verdict: str
    engine: tuple[str, str]
    approvals: tuple[Approval, ...] = ()
    bundle: Export | None = None

    @property
    def signed(self) -> bool:
        return self.bundle is not None

    @property
    def admitted_sha256(self) -> str:
        """SHA-256 of the list of admitted pairs."""
        return sha256_hex(self.admitted)

    @property
    def decision(self) -> Mapping[str, Any] | None:
        """The predicate of the decision that closed the round."""
        return None if self.bundle is None else self.bundle.decision_statement.predicate

    @property
    def standing(self) -> dict[str, Any]:
        """Whether anybody approved the pairs, and what they are, by digests: said in every file that a program reads."""
        decision = self.decision
        return {
            "signed": self.signed, "statement": UNSIGNED if decision is None else "approved",
            "receipt_sha256": None if decision is None else decision["receipt_sha256"], "round_digest": self.source.digest,
            "admitted_pairs_sha256": self.admitted_sha256,
        }


def signed_provenance(workspace: Workspace, source: Round, now: datetime) -> Provenance:
    """The approval of a promoted round, from the workspace's ledger under its registry and accepted grids.

    Raises NotApproved where there is none (exit 3), and whatever ``verify`` raises where it does not hold (4 to 7)."""
    view = Ledger(workspace.ledger_file).read()
    if not workspace.registry_file.is_file():
        _refuse("nobody is enrolled in this workspace")
    registry, grids = Registry.load(workspace.registry_file), AcceptedGrids.of(workspace)
    status = sound_status(view, source.digest, Rules(registry, grids, now))
    if status.state is not State.APPROVED or status.closing is None:
        _refuse(f"a round that is {status.words}")
    seen = LedgerView(view.origin, view.entries[:status.closing.index + 1])
    bundle = make_export(seen, status.closing, EvidenceStore.beside(workspace.ledger_file))
    found = verify_export(bundle, registry, source, view, grids)
    if found.exit_code:
        _refuse(f"a decision that verifies as {found.outcome}")
    predicate = bundle.decision_statement.predicate
    return Provenance(
        source, grids.grid(predicate["grid_digest"]), bundle.evidence[ADMITTED_SUBJECT], predicate["reason_table"], PROMOTE_AWAITING,
        (predicate["engine_version"], predicate["code_digest"]),
        # what was appended behind the closing decision counts for nobody's approval (it may be a rejection)
        tuple(Approval.of(entry) for entry in status.decisions if entry.index <= status.closing.index), bundle,
    )


def _refuse(got: str) -> NoReturn:
    raise NotApproved(
        "not_approved", expected="a promoted round with an approval in the ledger that verifies", got=got,
        remedy="let a reviewer sign it, or export with --unsigned, which the card will say",
    )


def unsigned_provenance(workspace: Workspace, source: Round, grid: Grid | None, progress: Progress | None = None) -> Provenance:
    """What the engine admits, whatever anybody decided. ``grid``: the one to use; otherwise that of the round's proposal, or the
    default grid. The round's files are compared with their digests, and the stored assessment with what this process computes."""
    rules = grid_of_round(workspace, source) if grid is None else grid
    return _from_assessment(source, rules, confirmed_assessment(workspace, source, rules, progress))


def _from_assessment(source: Round, grid: Grid, assessment: Assessment) -> Provenance:
    document = assessment.document
    return Provenance(
        source, grid, assessment.admitted_pairs_bytes(), assessment.reason_table, headline(document),
        (document["engine_version"], document["code_digest"]),
    )
