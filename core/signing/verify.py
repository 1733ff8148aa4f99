"""Verifying a decision, offline, as anybody may: first what it is, then who signed, then the files, then the decision again.

The order is that of the exit codes, and the first that applies is reported:

4  something cannot be read as what it claims to be (export, registry, ledger, grid, round)
5  a signature, key, person, grid or the ledger's chain is refused *under the verifier's own registry*
6  a file differs from the digest that the statement names
7  the decision, computed again from the round under the grid, differs byte for byte

What is left is the state of the round in the ledger, which is the last line: only ``APPROVED`` exits 0. Revocation, one
decision a person and the number of approvals cannot be told without the ledger; without it (``signature_only``) nothing
but signatures is checked, and the result says so.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from core.errors import EXIT, CountersignError, DigestMismatch, IdentityError, LedgerError, ReceiptError, SignatureError, Where
from core.gates.assessment import recompute as recompute_assessment
from core.grid import Grid
from core.literals import code_digest, run_literal_gate
from core.persons.registry import Registry, same_person
from core.rounds.folder import Round
from core.signing.admission import check_entry, check_independent
from core.signing.dsse import Envelope
from core.signing.evidence import check_evidence
from core.signing.export import DECISION_FILE, EXPORT_FILE, PROPOSAL_FILE, Export
from core.signing.grids import AcceptedGrids, required_approvals
from core.signing.ledger import Head, LedgerEntry, LedgerView
from core.signing.recomputation import Recompute, check_again, check_files
from core.signing.statement import Statement
from core.signing.status import RoundStatus, State, earlier_decisions, reference, round_status
from core.signing.words import disputes_sentence
from core.text import visible_line

SIGNATURE_ONLY: Final = "SIGNATURE ONLY"


@dataclass(frozen=True)
class Verification:
    """What was checked, in the order it was, and what came out. ``outcome`` is the last line; ``head``: the ledger used."""

    statement: Statement
    outcome: str
    exit_code: int
    registry_digest: str
    head: Head | None
    checks: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()

    @property
    def signature_only(self) -> bool:
        return self.head is None

    def lines(self) -> list[str]:
        """The report as text; without the ledger its first line says that only signatures were checked."""
        first = [f"{SIGNATURE_ONLY}: no ledger, no round and no grid was looked at, and nothing was computed again."] if self.signature_only else []
        used = [f"registry {self.registry_digest}"]
        if self.head is not None:
            used.append(f"ledger {self.head.origin}, {self.head.size} entries, root {self.head.root}; later revocations are unknown")
        return [*first, *(f"{name}: {text}" for name, text in self.checks), *used, *(f"note: {note}" for note in self.notes), self.outcome]

    def as_dict(self) -> dict[str, Any]:
        predicate = self.statement.predicate
        return {
            "outcome": self.outcome, "exit_code": self.exit_code, "signature_only": self.signature_only, "decision": predicate["decision"],
            "round_id": predicate["round_id"], "round_digest": predicate["round_digest"], "reviewer": predicate["reviewer"],
            "proposers": predicate["proposers"], "registry_digest": self.registry_digest,
            "ledger": None if self.head is None else self.head.as_dict(),
            "checks": [{"name": name, "text": text} for name, text in self.checks], "notes": list(self.notes),
        }


@dataclass
class _Report:
    checks: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def held(self, name: str, text: str) -> None:
        self.checks.append((name, text))


def _check_signed(envelope: Envelope, statement: Statement, registry: Registry, index: int, file: str) -> str:
    """Signature, key, person and role at the time of issue and this place of the ledger. Returns what held, in words."""
    try:
        person = check_entry(LedgerEntry(index, envelope, statement), registry)
    except CountersignError as problem:
        problem.where = problem.where or Where(file)
        raise
    return f"signed by {person.id} with {envelope.signature.keyid} on {statement.predicate['issuedAt']}"


def _check_pair(export: Export, registry: Registry) -> None:
    """Decision and proposal belong together, and the reviewer is none of the proposal's persons."""
    decision, proposal = export.decision_statement.predicate, export.proposal_statement.predicate
    if decision["proposal_sha256"] != export.proposal.digest:
        raise LedgerError("proposal_changed", expected=f"the proposal {decision['proposal_sha256']}", got=export.proposal.digest,
                          remedy="export the decision again", where=Where(PROPOSAL_FILE))
    for name in ("round_id", "round_digest", "grid_digest", "proposers", "holdout_digest", "candidate_digest"):
        if decision[name] != proposal[name]:
            raise LedgerError("differs_from_proposal", expected=f"the proposal's {name}", got="another one", remedy="do not rely on this receipt",
                              where=Where(DECISION_FILE, field=name))
    check_independent(decision["reviewer"], [proposal["proposer"], *proposal["proposers"]], registry)


def verify_export(
    export: Export, registry: Registry, source: Round | DigestMismatch | None, view: LedgerView | None, grids: AcceptedGrids | None = None, *,
    grid: Grid | None = None, signature_only: bool = False, recompute: Recompute = recompute_assessment,
) -> Verification:
    """Verify an export under this registry. Returns what held; raises the first of ReceiptError and the like (4),
    IdentityError, SignatureError, LedgerError, GridNotAccepted (5), DigestMismatch (6), RecomputationError (7).

    ``source``: the round, or why it could not be opened as the one its folder names (raised in its turn); ``view``: the
    ledger; ``grids``: accepted grids, None: acceptance is not checked; ``grid``: the grid itself where it is
    neither the default nor in the folder of ``grids``. ``signature_only`` needs neither round nor ledger."""
    report = _Report()
    if signature_only:
        return _signatures(export, registry, report)
    if source is None or view is None:
        raise ReceiptError("cannot_verify", expected="the round and the ledger", got="only the export",
                           remedy="hand over both, or ask for the signature alone: --signature-only")
    rules = _grid(export, grids, grid)
    entry = _place_in_ledger(export, view, report)
    _check_persons(export, entry, registry, view, report)
    _check_named_reviewer(export, source, registry)
    _check_witness(export, registry, view)
    status = _state(view, export, registry, grids, rules, report)
    for found in (source, rules):
        if isinstance(found, DigestMismatch):
            raise found
    assert isinstance(source, Round) and isinstance(rules, Grid)
    report.held("files", check_files(export, source))
    report.held("recomputed", check_again(export, source, rules, view, registry, recompute))
    _note_disputes(export, report)
    _note_differences(export, registry, view, report)
    code = EXIT["done"] if status.state is State.APPROVED and export.decision_statement.approves else EXIT["refused"]
    return Verification(export.decision_statement, status.words, code, registry.digest, view.head, tuple(report.checks), tuple(report.notes))


def _note_disputes(export: Export, report: _Report) -> None:
    """A reader of the outcome alone would miss that its reviewer disagrees with the engine on some pairs."""
    disputes = export.decision_statement.predicate["coverage"].get("disputes")
    if disputes is not None and disputes["count"]:
        report.notes.append(visible_line(f"as signed, not computed again: {disputes_sentence(disputes)}"))


def _signatures(export: Export, registry: Registry, report: _Report) -> Verification:
    report.held("decision", _check_signed(export.decision, export.decision_statement, registry, export.index, DECISION_FILE))
    report.held("proposal", _check_signed(export.proposal, export.proposal_statement, registry, 0, PROPOSAL_FILE))
    _check_pair(export, registry)
    check_evidence(export.decision_statement, export.evidence)
    report.notes.append(f"the decision says {export.decision_statement.predicate['decision']}; whether it stands, only the ledger can tell")
    _note_disputes(export, report)
    return Verification(export.decision_statement, SIGNATURE_ONLY, EXIT["refused"], registry.digest, None, tuple(report.checks), tuple(report.notes))


def _place_in_ledger(export: Export, view: LedgerView, report: _Report) -> LedgerEntry:
    entry, proposal = view.find(export.decision.digest), view.find(export.proposal.digest)
    if entry is not None and entry.index != export.index:
        raise ReceiptError("wrong_index", expected=f"index {entry.index}", got=f"{export.index}", remedy="export the decision again",
                           where=Where(EXPORT_FILE))
    view.check_against(export.head, "the export")
    for name, found in ((DECISION_FILE, entry), (PROPOSAL_FILE, proposal)):
        if found is None:
            raise LedgerError("not_in_ledger", expected="an entry of this ledger", got="a receipt that it does not hold",
                              remedy="use the ledger that the receipt was appended to", where=Where(name))
    assert entry is not None and proposal is not None
    if proposal.index > entry.index:
        raise LedgerError("proposal_after_decision", expected="the proposal before the decision", got="after it",
                          remedy="do not rely on this receipt")
    report.held("ledger", f"entry {entry.index} of {view.size}; its proposal is entry {proposal.index}")
    return entry


def _check_persons(export: Export, entry: LedgerEntry, registry: Registry, view: LedgerView, report: _Report) -> None:
    proposal = view.find(export.proposal.digest)
    assert proposal is not None
    report.held("decision", _check_signed(export.decision, export.decision_statement, registry, entry.index, DECISION_FILE))
    report.held("proposal", _check_signed(export.proposal, export.proposal_statement, registry, proposal.index, PROPOSAL_FILE))
    _check_pair(export, registry)
    named = export.proposal_statement.predicate["supersedes"]
    before = LedgerView(view.origin, view.entries[:proposal.index])
    if named != [reference(item) for item in earlier_decisions(before, export.proposal_statement.predicate)]:
        raise LedgerError("supersedes_changed", expected="every earlier decision about this round id, candidate or pairs", got="another list",
                          remedy="do not rely on this receipt", where=Where(PROPOSAL_FILE))


def _check_witness(export: Export, registry: Registry, view: LedgerView) -> None:
    """Refuse a witness whose signature is not the one of the person it names; one whom this registry does not know is noted later."""
    stated = export.decision_statement.predicate["holdout_witness"]
    entry = None if stated is None else view.find(stated["envelope_sha256"])
    if entry is None:
        return
    try:
        _check_signed(entry.envelope, entry.statement, registry, entry.index, "")
    except SignatureError as problem:
        raise SignatureError(
            problem.code, expected=f"ledger entry {entry.index}, the holdout's witness, to be signed by {entry.statement.signer}", got=problem.got,
            remedy="do not rely on this receipt", where=Where(DECISION_FILE, field="holdout_witness"),
        ) from problem
    except CountersignError:
        return


def _check_named_reviewer(export: Export, source: Round | DigestMismatch, registry: Registry) -> None:
    """A round that names its reviewer is signed by that person. Another round than the one signed is reported later."""
    predicate = export.decision_statement.predicate
    if isinstance(source, DigestMismatch) or source.digest != predicate["round_digest"] or source.manifest.reviewer is None:
        return
    if not same_person(source.manifest.reviewer, predicate["reviewer"], registry):
        raise IdentityError(
            "another_reviewer_named", expected=f"{source.manifest.reviewer}, whom the round names as its reviewer", got=predicate["reviewer"],
            remedy="do not rely on this receipt", where=Where(DECISION_FILE, field="reviewer"),
        )


def _state(
    view: LedgerView, export: Export, registry: Registry, grids: AcceptedGrids | None, grid: Grid | DigestMismatch, report: _Report,
) -> RoundStatus:
    """The state of the round from those of its entries that hold under this registry; the grid's acceptance."""
    predicate = export.decision_statement.predicate
    if grids is not None:
        grids.check(predicate["grid_digest"], [export.proposal_statement.signer, *predicate["proposers"]], registry)
        report.held("grid", f"{predicate['grid_digest']} is accepted")
    else:
        report.notes.append("no --grids given: whether somebody accepted the grid was not checked")
    counted = tuple(entry for entry in view.entries if entry.statement.round_digest != predicate["round_digest"] or _counts(entry, registry, report))
    # a missing or changed grid is reported in its turn, after the persons
    required = required_approvals(grid) if isinstance(grid, Grid) else 1
    status = round_status(LedgerView(view.origin, counted), predicate["round_digest"], required, registry)
    entry = view.find(export.decision.digest)
    if entry is None or (status.closing is not None and entry.index > status.closing.index):
        raise LedgerError("after_closing", expected="a decision made while the round was open", got="one appended after it was closed",
                          remedy="do not rely on this receipt", where=Where(DECISION_FILE))
    return status


def _counts(entry: LedgerEntry, registry: Registry, report: _Report) -> bool:
    try:
        _check_signed(entry.envelope, entry.statement, registry, entry.index, "")
    except CountersignError as problem:
        report.notes.append(f"entry {entry.index} ({entry.kind} by {entry.statement.signer}) does not count under this registry: {problem.code}")
        return False
    return True


def _grid(export: Export, grids: AcceptedGrids | None, grid: Grid | None) -> Grid | DigestMismatch:
    """The grid that was signed, or why it is not at hand. Raises GridError for one that cannot be read."""
    digest = export.decision_statement.predicate["grid_digest"]
    if grid is not None and grid.digest != digest:
        return DigestMismatch("grid_changed", expected=f"the grid {digest} that was signed", got=grid.digest, remedy="hand over that grid")
    try:
        return (AcceptedGrids({}) if grids is None else grids).grid(digest) if grid is None else grid
    except DigestMismatch as problem:
        return problem


def _note_differences(export: Export, registry: Registry, view: LedgerView, report: _Report) -> None:
    predicate = export.decision_statement.predicate
    if predicate["registry_digest"] != registry.digest:
        report.notes.append(f"the registry is another version than the one signed under ({predicate['registry_digest']})")
    if predicate["code_digest"] != code_digest():
        decided = f"{predicate['engine_version']}, code {predicate['code_digest']}"
        report.notes.append(f"the engine here is another version than the one that decided ({decided})")
    if run_literal_gate().as_dict() != predicate["literal_gate"]:
        report.notes.append("the literal gate's result here is another than the one signed")
    witness = predicate["holdout_witness"]
    if witness is not None and (named := view.find(witness["envelope_sha256"])) is not None:
        _counts(named, registry, report)
    if view.torn:
        report.notes.append(f"the ledger ends in a torn line of {view.torn} bytes, which counts for nothing")
