"""The reviewer's side, in two steps: what was shown is what is signed.

*Prepare* settles decision, comment, nonce and times, makes the statement's bytes once and stores them under their
digest. *Sign* takes that digest, reads exactly those bytes, checks again that nothing they rest on has changed, and
signs them. Whatever changed since (round, grid, engine, registry, a decision that closed the round, time) means: prepare
again. Every refusal comes before anything is written; a double click signs once.
"""
from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NoReturn

from core.canonical import canonical_bytes, sha256_hex
from core.errors import EngineRefusal, IdentityError, LedgerError, ReceiptError, RecomputationError, Where
from core.files import locked, sync_folder, write_new
from core.gates.assessment import Assessment, Progress
from core.gates.confirmed import confirmed_assessment
from core.gates.receipt import Decision, decide
from core.literals import code_digest
from core.persons.authority import authorised_person
from core.persons.identity import canonical_id
from core.persons.person import Person
from core.persons.registry import Registry, same_person
from core.persons.times import parse_z_time
from core.rounds.folder import Round
from core.rounds.manifest import is_digest
from core.rounds.workspace import Workspace
from core.settings import SETTINGS
from core.signing.admission import (
    Rules,
    admit,
    check_independent,
    check_open,
    check_proposed,
    check_statement,
    check_undecided,
    sound_view,
    status_of,
)
from core.signing.coverage import Opened, coverage_of
from core.signing.dsse import Envelope, Signer, seal
from core.signing.evidence import Evidence, EvidenceStore, check_evidence, named_evidence
from core.signing.grids import AcceptedGrids
from core.signing.ledger import Ledger, LedgerEntry, LedgerView, read_receipt
from core.signing.lost_looks import lost_looks
from core.signing.propose import common_members, round_members
from core.signing.statement import (
    ADMITTED_SUBJECT,
    PAYLOAD_TYPE,
    RECEIPT_SUBJECT,
    REFUSAL_SUBJECT,
    SIGNED_RECEIPT_FIELDS,
    Statement,
    build_statement,
    parse_statement,
)
from core.signing.status import earlier_decisions, reference, round_identity, witness_of
from core.signing.words import grid_warning, sentences, warnings
from core.version import ENGINE_VERSION

Choice = Literal["approve", "reject"]
STATEMENT_FILE = "statement.json"
_LOCK_FILE = "sign.lock"


@dataclass(frozen=True)
class Prepared:
    """A statement that waits for its signature. ``digest``: SHA-256 of its bytes, under which it is stored in ``folder``;
    ``sentences`` and ``warnings``: for the page, untrusted text included."""

    statement: Statement
    folder: Path
    warnings: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        return self.statement.digest

    @property
    def payload(self) -> bytes:
        """The exact bytes to show and to sign."""
        return self.statement.payload

    @property
    def reviewer(self) -> str:
        return self.statement.signer

    @property
    def sentences(self) -> tuple[str, ...]:
        return sentences(self.statement)

    @property
    def expires_at(self) -> datetime:
        moment = parse_z_time(self.statement.predicate["expiresAt"])
        assert moment is not None  # the schema took it
        return moment


@dataclass(frozen=True)
class SignedReceipt:
    """A decision in the ledger. ``repeated``: it was there already, as after a double click."""

    entry: LedgerEntry
    repeated: bool = False


def _again(code: str, expected: str, got: str) -> NoReturn:
    raise LedgerError(code, expected=expected, got=got, remedy="prepare the statement again")


def check_comment(comment: object) -> str:
    """A comment as it may be signed: text within the cap, valid Unicode. Raises ReceiptError."""
    limit = SETTINGS["signing"]["comment_characters"]
    if not isinstance(comment, str) or len(comment) > limit:
        got = f"{len(comment)} characters" if isinstance(comment, str) else type(comment).__name__
        raise ReceiptError("bad_comment", expected=f"text of at most {limit} characters", got=got, remedy="shorten it", where=Where(field="comment"))
    if any(unicodedata.category(character) == "Cs" for character in comment):
        raise ReceiptError("bad_comment", expected="valid Unicode text", got="a lone surrogate", remedy="type it again", where=Where(field="comment"))
    return comment


def _reviewer(source: Round, reviewer_id: str, view: LedgerView, rules: Rules) -> Person:
    """The enrolled reviewer, who is the one the round names (if it names one) and none of its proposers."""
    named = source.manifest.reviewer
    check_independent(canonical_id(reviewer_id), [canonical_id(proposer) for proposer in source.manifest.proposers], rules.registry)
    person = authorised_person(rules.registry, reviewer_id, "reviewer", at=rules.now, index=view.size)
    if named is not None and not same_person(named, person.id, rules.registry):
        raise IdentityError(
            "another_reviewer_named", expected=f"{canonical_id(named)}, whom the round names as its reviewer", got=person.id,
            remedy="let that person sign, or propose the round without naming a reviewer",
        )
    return person


def _engine_decision(assessment: Assessment, person: Person, choice: Choice, registry: Registry) -> Decision:
    decision = decide(assessment, person.id, registry)
    if choice == "approve" and not decision.promote:
        _refuse_approval(assessment, decision)
    return decision


def _refuse_approval(assessment: Assessment, decision: Decision) -> NoReturn:
    failing = [str(check["name"]) for check in assessment.checks if check["decides"] and check["state"] in ("fails", "undefined")]
    reasons = [item["code"] for item in (decision.refusal or {"reasons": []})["reasons"]]
    raise EngineRefusal(
        "engine_refuses", expected="a round that the engine would promote", got=f"a refusal: {', '.join(reasons or failing) or 'see the checks'}",
        remedy="reject it, or wait for a round that holds; a refusal cannot be overridden",
    )


def _predicate(assessment: Assessment, decision: Decision, proposal: LedgerEntry, view: LedgerView) -> dict[str, Any]:
    """Members of the decision that come from the engine and the ledger."""
    witness = witness_of(view, proposal.statement.predicate["holdout_digest"], proposal.index)
    return {
        "proposal_sha256": proposal.digest, "holdout_witness": None if witness is None else reference(witness),
        **_engine_members(assessment, decision),
    }


def _engine_members(assessment: Assessment, decision: Decision) -> dict[str, Any]:
    """Members of the decision that are functions of round, grid, code and reviewer."""
    receipt, document = decision.receipt, assessment.document
    return {
        "engine_version": document["engine_version"], "code_digest": assessment.code_digest, "literal_gate": dict(assessment.literal_gate),
        "receipt_sha256": None if receipt is None else sha256_hex(decision.receipt_bytes),
        "receipt": None if receipt is None else {name: receipt[name] for name in SIGNED_RECEIPT_FIELDS},
        "refusal": None if decision.refusal is None else dict(decision.refusal),
        "admitted_pairs_sha256": sha256_hex(assessment.admitted_pairs_bytes()), "reason_table": dict(assessment.reason_table),
        "strength": dict(assessment.strength),
    }


def prepare(
    workspace: Workspace, source: Round, assessment: Assessment, reviewer_id: str, choice: Choice, comment: str, registry: Registry, now: datetime,
    nonce: str | None = None, opened: Opened | None = None, progress: Progress | None = None,
) -> Prepared:
    """Step one: check everything, compute the decision again from the round, make the statement, store it under its digest.

    ``assessment``: what was shown; the statement is made of the figures that are computed here, and only where both are the same.

    ``nonce``: hex; random when None. ``opened``: what the reviewer's session had opened, where there is one. Raises
    IdentityError (own round, not enrolled, ...), EngineRefusal for an approval of what the engine refuses, LedgerError (not
    proposed, closed, decided already), GridNotAccepted, DigestMismatch."""
    rules, view = Rules(registry, AcceptedGrids.of(workspace), now), Ledger(workspace.ledger_file).read()
    person = _reviewer(source, reviewer_id, view, rules)
    status = status_of(view, source.digest, rules)
    check_undecided(view, source.digest, person, registry)
    check_open(status, registry)
    proposal = check_proposed(status)
    grid = rules.grids.grid(proposal.statement.predicate["grid_digest"])
    if (assessment.round_digest, assessment.grid_digest) != (source.digest, grid.digest):
        _again("assessment_differs", f"an assessment of this round under the proposal's grid {grid.digest}", "another assessment")
    shown, assessment = assessment, confirmed_assessment(workspace, source, grid, progress)
    if canonical_bytes(dict(shown.document)) != canonical_bytes(dict(assessment.document)):
        _again("assessment_differs", "the figures that were shown to be those that the engine computes from the round", "other figures")
    decision, sound = _engine_decision(assessment, person, choice, registry), sound_view(view, registry)
    statement = build_statement("decision", {
        **common_members(view, registry, now, nonce), **round_members(source, grid), **_predicate(assessment, decision, proposal, sound),
        "coverage": coverage_of(workspace, source, assessment, grid, person.id, opened), "decision": choice, "reviewer": person.id,
        "identified_by": "registered_key", "comment": check_comment(comment),
    })
    check_statement(view, statement, rules)
    first = REFUSAL_SUBJECT if decision.receipt is None else RECEIPT_SUBJECT
    evidence = {first: decision.receipt_bytes, ADMITTED_SUBJECT: assessment.admitted_pairs_bytes()}
    check_evidence(statement, evidence)
    _drop_expired(workspace, now)
    folder = _store(workspace, statement, evidence)
    known = (*grid_warning(grid), *warnings(statement, earlier_decisions(sound, round_identity(source))), *lost_looks(workspace, view))
    return Prepared(statement, folder, known)


def _store(workspace: Workspace, statement: Statement, evidence: Evidence) -> Path:
    folder = workspace.prepared_dir / statement.digest
    if not folder.exists():
        with workspace.temporary("prepare-") as temporary:
            for name, data in {STATEMENT_FILE: statement.payload, **evidence}.items():
                write_new(temporary / name, data)
            workspace.prepared_dir.mkdir(mode=SETTINGS["storage"]["directory_mode"], parents=True, exist_ok=True)
            temporary.rename(folder)
        sync_folder(workspace.prepared_dir)
    return folder


def _drop_expired(workspace: Workspace, now: datetime) -> None:
    """Statements that nobody signed in time can never be appended; their evidence may be large."""
    for file in workspace.prepared_dir.glob(f"*/{STATEMENT_FILE}"):
        try:
            expired = Prepared(parse_statement(file.read_bytes()), file.parent).expires_at < now
        except (ReceiptError, FileNotFoundError):
            continue
        if expired:
            shutil.rmtree(file.parent, ignore_errors=True)


def open_prepared(workspace: Workspace, digest: str) -> Prepared:
    """A prepared statement by its digest. Raises LedgerError ``not_prepared`` when there is none of that digest."""
    folder = workspace.prepared_dir / digest
    if not is_digest(digest) or not (folder / STATEMENT_FILE).is_file():
        _again("not_prepared", "a statement that was prepared here", "none of that digest")
    payload = (folder / STATEMENT_FILE).read_bytes()
    if sha256_hex(payload) != digest:
        _again("not_prepared", f"the statement of SHA-256 {digest}", "other bytes in its place")
    return Prepared(parse_statement(payload), folder)


def sign_and_append(workspace: Workspace, prepared_digest: str, signer: Signer, registry: Registry, now: datetime) -> SignedReceipt:
    """Step two: sign exactly the prepared bytes and append the receipt. A second call with the same digest, at the same
    time or later, returns the receipt that the first one made.

    Raises what :func:`prepare` raises, LedgerError ``statement_expired`` and the like, and what the signer raises."""
    return _append(workspace, prepared_digest, lambda payload: seal(PAYLOAD_TYPE, payload, signer), registry, now)


def append_signed(workspace: Workspace, receipt: bytes, registry: Registry, now: datetime) -> SignedReceipt:
    """Append a receipt that was signed elsewhere (``countersign sign STATEMENT``) over a statement prepared here."""
    envelope, statement = read_receipt(receipt)
    return _append(workspace, statement.digest, lambda payload: envelope, registry, now)


def _append(workspace: Workspace, digest: str, sealed: Callable[[bytes], Envelope], registry: Registry, now: datetime) -> SignedReceipt:
    ledger, rules = Ledger(workspace.ledger_file), Rules(registry, AcceptedGrids.of(workspace), now)
    view = ledger.read()
    present = view.with_payload(digest)
    if present is not None:
        return SignedReceipt(present, repeated=True)
    prepared = open_prepared(workspace, digest)
    check_statement(view, prepared.statement, rules)
    evidence = _unchanged(workspace, prepared)
    check_figures(workspace, prepared.statement, rules)

    def accept(view: LedgerView) -> None:
        admit(view, envelope, prepared.statement, rules)
        EvidenceStore.beside(ledger.file).put(evidence)

    # whoever clicks twice waits here, and then finds the receipt of the first click
    with locked(prepared.folder / _LOCK_FILE):
        present = ledger.read().with_payload(digest)
        if present is not None:
            return SignedReceipt(present, repeated=True)
        envelope = sealed(prepared.payload)
        return SignedReceipt(ledger.append(envelope, accept))


def _unchanged(workspace: Workspace, prepared: Prepared) -> Evidence:
    """Engine and evidence are what they were when the statement was prepared. Returns the evidence."""
    predicate = prepared.statement.predicate
    if (predicate["engine_version"], predicate["code_digest"]) != (ENGINE_VERSION, code_digest()):
        _again("engine_changed", f"the engine that the statement names ({predicate['engine_version']}, code {predicate['code_digest']})",
               f"{ENGINE_VERSION}, code {code_digest()}")
    evidence = {}
    for name in named_evidence(prepared.statement):
        try:
            evidence[name] = (prepared.folder / name).read_bytes()
        except OSError:
            _again("not_prepared", f"the prepared statement's {name}", "none that can be read")
    check_evidence(prepared.statement, evidence)
    return evidence


def check_figures(workspace: Workspace, statement: Statement, rules: Rules) -> None:
    """Every figure that a decision states is the one that the engine computes from its round now, whoever wrote the statement.
    Raises RecomputationError, EngineRefusal, DigestMismatch where the round changed."""
    stated = statement.predicate
    grid = rules.grids.grid(stated["grid_digest"])
    assessment = confirmed_assessment(workspace, workspace.round(stated["round_digest"]), grid)
    decision = decide(assessment, stated["reviewer"], rules.registry)
    if stated["decision"] == "approve" and not decision.promote:
        _refuse_approval(assessment, decision)
    computed = _engine_members(assessment, decision)
    wrong = [name for name in computed if canonical_bytes(stated[name]) != canonical_bytes(computed[name])]
    if wrong:
        raise RecomputationError(
            "recomputed_differently", expected="the figures that the engine computes from the round", got=f"another {', '.join(wrong)}",
            remedy="prepare the statement again, and find out who wrote this one", where=Where(field=wrong[0]),
        )
