"""Sign-off without Streamlit: who may sign, what keeps a button disabled (in words), and the two core calls behind it.

Nothing here grants anything. Core checks all of it again when a statement is prepared, signed and appended.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from core.errors import CountersignError, LedgerError, ReceiptError, SignatureError
from core.gates.assessment import Assessment
from core.gates.receipt import PROMOTE_AWAITING
from core.grid import Grid
from core.persons.authority import authorised_person
from core.persons.person import Person
from core.persons.registry import Registry, same_person, self_review
from core.rounds.manifest import RoundManifest
from core.rounds.workspace import Workspace
from core.signing.admission import Rules, check_statement, check_undecided
from core.signing.dsse import Signature
from core.signing.grids import AcceptedGrids
from core.signing.keys import FileSigner
from core.signing.ledger import LedgerView, read_receipt
from core.signing.signoff import STATEMENT_FILE, Prepared, SignedReceipt, append_signed, open_prepared, sign_and_append
from core.signing.status import RoundStatus
from core.text import sentence
from dashboard.loaders import Desk


def now() -> datetime:
    """The clock of the page, passed into core."""
    return datetime.now(UTC)


def reviewers(registry: Registry) -> list[Person]:
    """Whoever the registry lets review, in its order."""
    return [person for person in registry.persons if "reviewer" in person.roles]


def in_words(error: CountersignError) -> str:
    """An error as the reason beside a disabled button."""
    return f"It needs {error.expected}; this is {error.got}. {sentence(error.remedy)}"


def why_not_this_person(manifest: RoundManifest, desk: Desk, digest: str, person_id: str | None) -> str | None:
    """Why this person cannot decide the round, or None."""
    if person_id is None:
        return "Choose who signs."
    registry, ledger = desk.registry, desk.ledger
    assert registry is not None and ledger is not None  # the page stops before this without them
    try:
        proposer = self_review(person_id, manifest.proposers, registry)
        if proposer is not None:
            return f"{person_id} is, or answers for, {proposer}, who proposed this round: nobody approves their own round."
        person = authorised_person(registry, person_id, "reviewer", at=now(), index=ledger.size)
        if manifest.reviewer is not None and not same_person(manifest.reviewer, person.id, registry):
            return f"The round names {manifest.reviewer} as its reviewer, so only that person can sign it."
        check_undecided(ledger, digest, person, registry)
    except CountersignError as error:
        return in_words(error)
    return None


def engine_allows(computed: Assessment) -> bool:
    """Whether this round can be approved at all: a refusal of the engine cannot be overridden, only recorded as a rejection."""
    return computed.verdict == PROMOTE_AWAITING


def why_not_prepare(manifest: RoundManifest, desk: Desk, digest: str, person_id: str | None, choice: str | None) -> str | None:
    """The first reason why a statement cannot be prepared yet, or None."""
    return why_not_this_person(manifest, desk, digest, person_id) or (None if choice else "Choose to approve or to reject.")


def decided_by(status: RoundStatus, person_id: str | None, registry: Registry) -> bool:
    """Whether this person has decided the round."""
    return person_id is not None and any(same_person(person_id, entry.statement.signer, registry) for entry in status.decisions)


@dataclass(frozen=True)
class EarlierGrid:
    """The grid that the round before this one was proposed under. ``grid`` None: it is not at hand."""

    round_id: str
    digest: str
    grid: Grid | None


def previous_grid(ledger: LedgerView, grids: AcceptedGrids, status: RoundStatus, receipt_sha256: str | None) -> EarlierGrid | None:
    """Grid of the previous round: the one whose receipt this round names, else the one proposed last before it; None: no such round."""
    # by index, not by position: unsigned lines may be left out of the view
    before = [entry for entry in ledger.entries if status.proposal is None or entry.index < status.proposal.index]
    others = [entry for entry in before if entry.kind != "registration" and entry.statement.round_digest != status.round_digest]
    named = [entry for entry in others if receipt_sha256 is not None and entry.statement.predicate.get("receipt_sha256") == receipt_sha256]
    if not others:
        return None
    predicate = (named or others)[-1].statement.predicate
    try:
        return EarlierGrid(predicate["round_id"], predicate["grid_digest"], grids.grid(predicate["grid_digest"]))
    except CountersignError:
        return EarlierGrid(predicate["round_id"], predicate["grid_digest"], None)


def still_open(workspace: Workspace, ledger: LedgerView, digest: str, person_id: str | None) -> Prepared | None:
    """The newest statement that this person prepared about the round and can still sign: a reload of the page loses nothing."""
    found = []
    for file in workspace.prepared_dir.glob(f"*/{STATEMENT_FILE}"):
        try:
            prepared = open_prepared(workspace, file.parent.name)
        except (LedgerError, ReceiptError, OSError):
            continue
        mine = prepared.reviewer == person_id and prepared.statement.round_digest == digest
        if mine and prepared.expires_at > now() and ledger.with_payload(prepared.digest) is None:
            found.append(prepared)
    return max(found, key=lambda one: one.expires_at, default=None)


def why_prepare_again(ledger: LedgerView, registry: Registry, grids: AcceptedGrids, prepared: Prepared) -> CountersignError | None:
    """What changed since a statement was prepared, or None while it can be signed."""
    try:
        check_statement(ledger, prepared.statement, Rules(registry, grids, now()))
    except CountersignError as error:
        return error
    return None


def must_prepare_again(error: CountersignError) -> bool:
    """Whether an error ends a prepared statement; a mistyped passphrase or a wrong upload leaves it as it is."""
    return not isinstance(error, (SignatureError, ReceiptError))


@dataclass(frozen=True)
class UnlockLater:
    """A signer that decrypts the key file when, and only when, a signature is really made.

    So a second click, whose form is empty already, finds the first one's receipt instead of asking for a passphrase.
    """

    path: Path
    passphrase: str = field(repr=False)

    def sign(self, message: bytes) -> Signature:
        """A signature over exactly these bytes. Raises SignatureError."""
        return FileSigner.open(self.path, self.passphrase).sign(message)


def sign(workspace: Workspace, prepared_digest: str, key_file: Path, passphrase: str) -> SignedReceipt:
    """The one core call of the sign button. Twice with one digest appends once. Raises what ``sign_and_append`` raises."""
    return sign_and_append(workspace, prepared_digest, UnlockLater(key_file, passphrase), Registry.load(workspace.registry_file), now())


def append_upload(workspace: Workspace, prepared_digest: str, data: bytes) -> SignedReceipt:
    """Append a receipt that was signed elsewhere over exactly the statement shown. Raises ReceiptError ``another_statement``."""
    _, statement = read_receipt(data)
    if statement.digest != prepared_digest:
        raise ReceiptError(
            "another_statement", expected=f"a signature over the statement shown here ({prepared_digest})", got=f"one over {statement.digest}",
            remedy="sign the file that this page offers for download, untouched",
        )
    return append_signed(workspace, data, Registry.load(workspace.registry_file), now())
