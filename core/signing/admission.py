"""What may enter the ledger. Checked when a statement is prepared, when it is signed, and again under the ledger's lock.

For every statement: its time is not over, it was written against a prefix of this ledger and under this registry, and
it was not appended before. Then, by kind:

- a registration is signed by an enrolled person;
- a proposal is signed by one of the round's proposers, all of whom are enrolled, under an accepted grid, for a round that
  nobody has decided on, and names what was decided earlier about the same thing;
- a decision is about the proposal in force, whose own signature holds, by a reviewer who is none of its proposers and has not decided the round
  before, while the round is open.

A signature is checked last, by a key of the very person whom the statement names. Every refusal happens before anything
is written.
"""
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn

from core.errors import CountersignError, IdentityError, LedgerError
from core.persons.authority import authorised_key, authorised_person
from core.persons.identity import canonical_id
from core.persons.person import Person
from core.persons.registry import Registry, same_person, self_review
from core.persons.times import parse_z_time, z_time
from core.signing.dsse import Envelope
from core.signing.grids import AcceptedGrids, required_approvals
from core.signing.ledger import Head, LedgerEntry, LedgerView
from core.signing.statement import Statement
from core.signing.status import RoundStatus, earlier_decisions, reference, round_status

_AGAIN = "prepare the statement again"


@dataclass(frozen=True)
class Rules:
    """What admission is decided by: the registry, the accepted grids, and the time now."""

    registry: Registry
    grids: AcceptedGrids
    now: datetime


def _refuse(code: str, expected: str, got: str, remedy: str = _AGAIN) -> NoReturn:
    raise LedgerError(code, expected=expected, got=got, remedy=remedy)


def entry_faults(view: LedgerView, registry: Registry) -> dict[int, CountersignError]:
    """Why an entry does not hold under the registry (person, role, signature), by index; one that holds may be shown as
    somebody's word. A line that nobody signed stays in the chain and counts for nothing."""
    faults = {}
    for entry in view.entries:
        try:
            check_entry(entry, registry)
        except CountersignError as fault:
            faults[entry.index] = fault
    return faults


def sound_view(view: LedgerView, registry: Registry) -> LedgerView:
    """The entries that hold under the registry, with the indices that they have in the ledger."""
    faults = entry_faults(view, registry)
    return LedgerView(view.origin, tuple(entry for entry in view.entries if entry.index not in faults))


def status_of(view: LedgerView, round_digest: str, rules: Rules) -> RoundStatus:
    """The state of a round under the approvals that its proposal's grid asks for."""
    status = round_status(view, round_digest, registry=rules.registry)
    if status.proposal is None:
        return status
    grid = rules.grids.grid(status.proposal.statement.predicate["grid_digest"])
    return round_status(view, round_digest, required_approvals(grid), rules.registry)


def sound_status(view: LedgerView, round_digest: str, rules: Rules) -> RoundStatus:
    """The state of a round from those of its entries alone that hold under the registry, under a grid that is accepted:
    what a program may act on. A line that nobody signed, or that names a grid nobody accepted, counts for nothing."""
    held = tuple(entry for entry in view.entries if entry.statement.round_digest == round_digest and _holds(entry, rules))
    return status_of(LedgerView(view.origin, held), round_digest, rules)


def _holds(entry: LedgerEntry, rules: Rules) -> bool:
    predicate = entry.statement.predicate
    try:
        person = check_entry(entry, rules.registry)
        rules.grids.check(predicate["grid_digest"], [*predicate["proposers"], *([person.id] if entry.kind == "proposal" else [])], rules.registry)
    except CountersignError:
        return False
    return True


def check_statement(view: LedgerView, statement: Statement, rules: Rules) -> Person:
    """Everything but the signature. Returns the person who has to sign. Raises IdentityError, LedgerError, GridError."""
    person = check_person(statement, rules.registry, at=rules.now, index=view.size)
    _check_current(view, statement, rules)
    if statement.kind == "proposal":
        _check_proposal(view, statement.predicate, rules)
    elif statement.kind == "decision":
        _check_decision(view, statement.predicate, person, rules)
    return person


def check_signature(envelope: Envelope, person: Person, registry: Registry, *, at: datetime, index: int) -> None:
    """The signature is by a key of this person that is neither expired nor revoked. Raises SignatureError, IdentityError."""
    envelope.verify(authorised_key(registry, envelope.signature.keyid, person, at=at, index=index).public)


def check_entry(entry: LedgerEntry, registry: Registry) -> Person:
    """An entry of the ledger holds under this registry: person, role and signature, at its time of issue and its place.
    Returns who signed it. Raises IdentityError, SignatureError."""
    issued = parse_z_time(entry.statement.predicate["issuedAt"])
    assert issued is not None  # the schema took it
    person = check_person(entry.statement, registry, at=issued, index=entry.index)
    check_signature(entry.envelope, person, registry, at=issued, index=entry.index)
    return person


def admit(view: LedgerView, envelope: Envelope, statement: Statement, rules: Rules) -> None:
    """Return when the envelope may be appended to this ledger now."""
    person = check_statement(view, statement, rules)
    check_signature(envelope, person, rules.registry, at=rules.now, index=view.size)


def check_person(statement: Statement, registry: Registry, *, at: datetime, index: int) -> Person:
    """The person whom a statement names as its signer, enrolled in the role it needs, and independent of the proposers."""
    predicate = statement.predicate
    for identifier in (statement.signer, *predicate.get("proposers", ())):
        if canonical_id(identifier) != identifier:
            raise IdentityError(
                "id_not_canonical", expected="ids in canonical form", got=repr(identifier), remedy=f"write {canonical_id(identifier)}",
            )
    person = authorised_person(registry, statement.signer, statement.role, at=at, index=index)
    for identifier in predicate.get("proposers", ()):
        if registry.find(identifier) is None:
            raise IdentityError(
                "proposer_not_enrolled", expected="every proposer to be enrolled", got=f"{identifier}, whom the registry does not name",
                remedy="enrol the proposer, so that it is known who that is",
            )
    if statement.kind == "proposal":
        check_named(person.id, predicate["proposers"], registry)
    elif statement.kind == "decision":
        check_independent(person.id, predicate["proposers"], registry)
    return person


def check_named(person: str, proposers: list[str], registry: Registry) -> None:
    """The signer of a proposal is one of the round's proposers, or answers for an agent among them."""
    if not any(same_person(person, proposer, registry) for proposer in proposers):
        raise IdentityError(
            "not_a_proposer", expected=f"one of the round's proposers ({', '.join(proposers)})", got=person,
            remedy="let a proposer of the round propose it",
        )


def check_independent(reviewer: str, proposers: list[str], registry: Registry) -> None:
    """Nobody approves their own round."""
    proposer = self_review(reviewer, proposers, registry)
    if proposer is not None:
        raise IdentityError(
            "own_round", expected="a reviewer who is none of the proposers", got=f"{reviewer}, who is {proposer} or answers with them",
            remedy="let another person review this round",
        )


def _check_current(view: LedgerView, statement: Statement, rules: Rules) -> None:
    predicate, now = statement.predicate, z_time(rules.now)
    if now > predicate["expiresAt"]:
        _refuse("statement_expired", f"an append by {predicate['expiresAt']}", f"one at {now}")
    if now < predicate["issuedAt"]:
        _refuse("statement_from_the_future", f"an append from {predicate['issuedAt']} on", f"one at {now}", "set the clocks right")
    if not view.extends(Head.from_document(predicate["ledger"])):
        _refuse("ledger_changed", "a ledger that begins as the statement saw it", "another one")
    if predicate["registry_digest"] != rules.registry.digest:
        _refuse("registry_changed", f"the registry that the statement names ({predicate['registry_digest']})", rules.registry.digest)
    appended = view.with_payload(statement.digest)
    if appended is not None:
        _refuse("already_appended", "a statement that is new", f"one that is entry {appended.index}", "nothing: it is recorded")


def check_open(status: RoundStatus, registry: Registry) -> None:
    """The round is not closed. Raises LedgerError ``round_closed`` naming who closed it, and whether that entry holds."""
    if status.closing is not None:
        predicate, remedy = status.closing.statement.predicate, _void(status.closing, registry) or "make a new round if something changed"
        _refuse("round_closed", "a round that is open", f"one that {predicate['reviewer']} closed by a decision to {predicate['decision']} "
                f"(entry {status.closing.index}, {predicate['issuedAt']})", remedy)


def _void(entry: LedgerEntry, registry: Registry) -> str | None:
    """What to do about an entry that stands in the way though it does not hold (revoked, or signed by nobody); None for one that holds."""
    try:
        check_entry(entry, registry)
    except CountersignError as fault:
        return (
            f"entry {entry.index} does not hold ({fault.code}) and approves nothing, but a round is decided once: ingest it again under another "
            "created_at, and propose that"
        )
    return None


def _check_proposal(view: LedgerView, predicate: Any, rules: Rules) -> None:
    rules.grids.check(predicate["grid_digest"], [predicate["proposer"], *predicate["proposers"]], rules.registry)
    status = status_of(view, predicate["round_digest"], rules)
    check_open(status, rules.registry)
    if status.proposal is not None and (status.decisions or status.proposal.statement.predicate["grid_digest"] == predicate["grid_digest"]):
        _refuse("already_proposed", "a round that is not proposed yet", f"one that entry {status.proposal.index} proposes",
                "nothing: it awaits its reviewers" if not status.decisions else "make a new round: somebody has decided on this one")
    if predicate["supersedes"] != [reference(entry) for entry in earlier_decisions(view, predicate)]:
        _refuse("supersedes_changed", "every earlier decision about this round id, candidate or pairs", "another list")


def _check_decision(view: LedgerView, predicate: Any, person: Person, rules: Rules) -> None:
    status = status_of(view, predicate["round_digest"], rules)
    check_undecided(view, predicate["round_digest"], person, rules.registry)
    check_open(status, rules.registry)
    proposal = check_proposed(status)
    named = proposal.statement.predicate
    # a line that somebody wrote into the file by hand is no proposal: whoever it names has to have signed it
    check_entry(proposal, rules.registry)
    if predicate["proposal_sha256"] != proposal.digest:
        _refuse("proposal_changed", f"the proposal in force (entry {proposal.index})", "another one")
    shared = ("round_id", "grid_digest", "proposers", "holdout_lock", "holdout_digest", "candidate_name", "candidate_digest", "baseline_name",
              "baseline_digest")
    for name in shared:
        if predicate[name] != named[name]:
            _refuse("differs_from_proposal", f"the proposal's {name}", "another one")
    check_independent(person.id, [named["proposer"]], rules.registry)
    rules.grids.check(predicate["grid_digest"], [named["proposer"], *named["proposers"]], rules.registry)


def check_proposed(status: RoundStatus) -> LedgerEntry:
    """The proposal in force. Raises LedgerError ``not_proposed``."""
    if status.proposal is None:
        _refuse("not_proposed", "a round that one of its proposers proposed", "none", "let a proposer run countersign propose")
    return status.proposal


def check_undecided(view: LedgerView, round_digest: str, person: Person, registry: Registry) -> None:
    """Exactly one decision for each (round, person). Raises LedgerError ``already_decided``."""
    for entry in view.entries:
        if entry.kind != "decision" or entry.statement.round_digest != round_digest or not same_person(entry.statement.signer, person.id, registry):
            continue
        got = f"a decision to {entry.statement.predicate['decision']} (entry {entry.index})"
        remedy = _void(entry, registry) or "nothing: a person decides a round once"
        _refuse("already_decided", f"no decision of {person.id} on this round yet", got, remedy)
