"""What the ledger says about a round: proposed, approved, rejected, by whom; and what was decided earlier about the same
thing. A round is its digest."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core.canonical import canonical_digest
from core.errors import IdentityError
from core.persons.registry import Registry, answerable
from core.rounds.folder import PAIRS_FILE, TEXT_FILE, Round
from core.signing.ledger import LedgerEntry, LedgerView


class State(StrEnum):
    """Where a round stands. A withdrawn approval will be ``retracted``."""

    NOT_PROPOSED = "not proposed"
    PROPOSED = "proposed"
    APPROVED = "approved"
    REJECTED = "rejected"


@dataclass(frozen=True)
class RoundStatus:
    """State of one round. ``proposal``: the one in force; ``decisions``: on it, in ledger order; ``required``: approvals
    by distinct persons that close the round; ``approvals``: how many there are; ``closing``: the decision that closed it."""

    round_digest: str
    state: State
    required: int
    approvals: int
    proposal: LedgerEntry | None = None
    decisions: tuple[LedgerEntry, ...] = ()
    closing: LedgerEntry | None = None

    @property
    def closed(self) -> bool:
        return self.closing is not None

    @property
    def words(self) -> str:
        """``APPROVED``, ``REJECTED``, ``OPEN (1 of 2 approvals)`` or ``NOT PROPOSED``: the last line of verify."""
        if self.state is State.PROPOSED:
            return f"OPEN ({self.approvals} of {self.required} approvals)"
        return self.state.value.upper()

    def as_dict(self) -> dict[str, Any]:
        return {
            "round_digest": self.round_digest, "state": self.state.value, "approvals": self.approvals, "required": self.required,
            "proposal": None if self.proposal is None else describe(self.proposal),
            "decisions": [describe(entry) for entry in self.decisions],
            "closed_by": None if self.closing is None else self.closing.statement.signer,
        }


def describe(entry: LedgerEntry) -> dict[str, Any]:
    """An entry in short, for lists and ``--json``."""
    predicate = entry.statement.predicate
    return {
        "index": entry.index, "kind": entry.kind, "by": entry.statement.signer, "at": predicate["issuedAt"], "envelope_sha256": entry.digest,
        "keyid": entry.envelope.signature.keyid, "round_id": predicate.get("round_id"), "round_digest": predicate.get("round_digest"),
        "decision": predicate.get("decision"), "comment": predicate.get("comment"), "holdout_sha256": predicate.get("holdout_sha256"),
        "supersedes": predicate.get("supersedes"),
    }


def round_status(view: LedgerView, round_digest: str, required: int = 1, registry: Registry | None = None) -> RoundStatus:
    """The state of a round. ``required``: ``required_approvals`` of its grid; ``registry``: so that two ids of one person
    count once (the ledger already refuses a second decision of one person)."""
    proposal, decisions = _in_force(view, round_digest)
    if proposal is None:
        return RoundStatus(round_digest, State.NOT_PROPOSED, required, 0)
    approvers, approvals = set[str](), 0
    for entry in decisions:
        if not entry.statement.approves:
            return RoundStatus(round_digest, State.REJECTED, required, approvals, proposal, decisions, entry)
        keys = _persons(entry.statement.signer, registry)
        if approvers.isdisjoint(keys):
            approvals += 1
        approvers |= keys
        if approvals >= required:
            return RoundStatus(round_digest, State.APPROVED, required, approvals, proposal, decisions, entry)
    return RoundStatus(round_digest, State.PROPOSED, required, approvals, proposal, decisions)


def _persons(signer: str, registry: Registry | None) -> frozenset[str]:
    """Who answers for an approval; an id that is none stands for itself (such a line holds nowhere, and must not stop a page)."""
    try:
        return frozenset({signer}) if registry is None else answerable(signer, registry)
    except IdentityError:
        return frozenset({signer})


def _in_force(view: LedgerView, round_digest: str) -> tuple[LedgerEntry | None, tuple[LedgerEntry, ...]]:
    """The proposal in force and the decisions on it. A later proposal takes its place only while nobody has decided: one
    that somebody appends behind a decision would open a closed round again, so it counts for nothing."""
    proposal: LedgerEntry | None = None
    decisions: list[LedgerEntry] = []
    for entry in view.entries:
        if entry.statement.round_digest != round_digest:
            continue
        if entry.kind == "proposal" and not decisions:
            proposal = entry
        elif entry.kind == "decision" and proposal is not None and entry.statement.predicate["proposal_sha256"] == proposal.digest:
            decisions.append(entry)
    return proposal, tuple(decisions)


def pairs_digest(source: Round) -> str | None:
    """One digest of a round's pairs, numbers and texts; None for a round without pairs."""
    files = source.manifest.files
    return canonical_digest({name: files[name].sha256 for name in (PAIRS_FILE, TEXT_FILE)}) if source.has("pairs") else None


def round_identity(source: Round) -> dict[str, str | None]:
    """What makes a later round "the same thing again": its id, candidate and pairs, beside its digest."""
    manifest = source.manifest
    return {
        "round_digest": source.digest, "round_id": manifest.round_id, "candidate_digest": manifest.candidate.digest,
        "pairs_digest": pairs_digest(source),
    }


def earlier_decisions(view: LedgerView, identity: Mapping[str, Any]) -> tuple[LedgerEntry, ...]:
    """Decisions on *other* rounds with the same round_id, candidate digest or pairs digest, in ledger order.

    ``identity``: what :func:`round_identity` gives, or the predicate of a proposal."""
    proposals = {entry.digest: entry.statement.predicate for entry in view.entries if entry.kind == "proposal"}
    found = []
    for entry in view.entries:
        if entry.kind != "decision" or entry.statement.round_digest == identity["round_digest"]:
            continue
        earlier = proposals.get(entry.statement.predicate["proposal_sha256"], {})
        if any(identity[name] is not None and identity[name] == earlier.get(name) for name in ("round_id", "candidate_digest", "pairs_digest")):
            found.append(entry)
    return tuple(found)


def reference(entry: LedgerEntry) -> dict[str, Any]:
    """An entry as statements refer to it: by index and digest."""
    return {"index": entry.index, "envelope_sha256": entry.digest}


def witness_of(view: LedgerView, holdout_digest: str | None, before_index: int | None = None) -> LedgerEntry | None:
    """The first registration of this holdout, before entry ``before_index`` (the proposal); None: stated by the proposer only.
    ``view``: the entries that hold (``admission.sound_view``), since a line that nobody signed witnesses nothing."""
    return next(iter(registrations_of(view, holdout_digest, before_index)), None)


def registrations_of(view: LedgerView, holdout_digest: str | None, before_index: int | None = None) -> tuple[LedgerEntry, ...]:
    """Every registration of this holdout before entry ``before_index``. ``view`` may be a part of a ledger: entries keep their index."""
    return tuple(
        entry for entry in view.entries
        if entry.kind == "registration" and entry.statement.predicate["holdout_sha256"] == holdout_digest
        and (before_index is None or entry.index < before_index)
    )


def lock_words(view: LedgerView, holdout_digest: str | None, before_index: int | None) -> str:
    """*witnessed: ledger entry 12, before this proposal*, or *stated by the proposer only*."""
    witness = witness_of(view, holdout_digest, before_index)
    if witness is None:
        return "stated by the proposer only"
    return f"witnessed: ledger entry {witness.index}, {'before this proposal' if before_index is not None else 'not proposed yet'}"
