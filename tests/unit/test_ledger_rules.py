"""What may enter the ledger: two persons, once each, while the round is open, under this registry, grid and ledger."""
from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support_signing import (
    NOW,
    Actor,
    Court,
    append,
    court,
    decision,
    proposal,
    registration,
    registry_bytes,
    registry_of,
    round_part,
    rules_of,
    seal_document,
    sha,
)

from core.errors import CountersignError, LedgerError
from core.persons.registry import Registry
from core.signing.admission import Rules, admit, status_of
from core.signing.ledger import Ledger, LedgerEntry, LedgerView
from core.signing.status import earlier_decisions, lock_words, reference, round_status, witness_of


@pytest.fixture
def c(tmp_path: Path) -> Court:
    return court(tmp_path)


def refused(c: Court, code: str, act: Callable[[], Any]) -> CountersignError:
    """The act is refused with this code and exit 5, and leaves the ledger's bytes as they were."""
    before = c.ledger.file.read_bytes() if c.ledger.file.exists() else None
    head = c.ledger.head_file.read_bytes() if c.ledger.head_file.exists() else None
    with pytest.raises(CountersignError) as caught:
        act()
    assert caught.value.code == code
    assert caught.value.exit_code == 5
    assert (c.ledger.file.read_bytes() if c.ledger.file.exists() else None) == before
    assert (c.ledger.head_file.read_bytes() if c.ledger.head_file.exists() else None) == head
    return caught.value


def state(c: Court, name: str = "r1") -> str:
    return status_of(c.ledger.read(), sha(name), c.rules).state.value


def test_from_nothing_to_approved(c: Court) -> None:
    assert state(c) == "not proposed"
    proposed = c.propose()
    assert (proposed.index, state(c)) == (0, "proposed")
    decided = c.decide(proposed, comment="looked at all flips")
    status = status_of(c.ledger.read(), sha("r1"), c.rules)
    assert (decided.index, status.state.value, status.words, status.approvals) == (1, "approved", "APPROVED", 1)
    assert status.closing is not None and status.closing.statement.predicate["comment"] == "looked at all flips"
    assert status.as_dict()["closed_by"] == "ben@example.org"


def test_a_rejection_is_appended_like_an_approval_and_closes(c: Court) -> None:
    proposed = c.propose()
    c.decide(proposed, decision="reject", comment="holdout too small")
    assert state(c) == "rejected"
    error = refused(c, "round_closed", lambda: c.decide(proposed, c.eva))
    assert "ben@example.org" in str(error) and "reject" in str(error) and "entry 1" in str(error)


def test_a_person_decides_a_round_once(c: Court) -> None:
    proposed = c.propose()
    c.decide(proposed)
    for choice in ("approve", "reject"):
        assert "entry 1" in str(refused(c, "already_decided", lambda choice=choice: c.decide(proposed, decision=choice)))


def test_none_after_the_round_is_closed(c: Court) -> None:
    proposed = c.propose()
    c.decide(proposed)
    refused(c, "round_closed", lambda: c.decide(proposed, c.eva))
    refused(c, "round_closed", lambda: c.propose())


def test_two_statements_prepared_at_once_the_second_is_told(c: Court) -> None:
    proposed = c.propose()
    view = c.ledger.read()
    first, second = (decision(view, c.registry, who.id, proposed) for who in (c.ben, c.eva))
    append(c.ledger, first, c.ben, c.rules)
    refused(c, "round_closed", lambda: append(c.ledger, second, c.eva, c.rules))


def test_another_rounds_line_does_not_make_a_statement_stale(c: Court) -> None:
    proposed = c.propose()
    prepared = decision(c.ledger.read(), c.registry, c.ben.id, proposed)
    c.propose("r2")
    c.register()
    assert append(c.ledger, prepared, c.ben, c.rules).index == 3


@pytest.mark.parametrize("written", ["ana@example.org", "curator-a"])
def test_nobody_approves_their_own_round(c: Court, written: str) -> None:
    proposed = c.propose()
    refused(c, "own_round", lambda: append(c.ledger, decision(c.ledger.read(), c.registry, written, proposed), c.ana, c.rules))
    refused(c, "own_round", lambda: append(c.ledger, decision(c.ledger.read(), c.registry, written, proposed, decision="reject"), c.ana, c.rules))


@pytest.mark.parametrize(
    ("written", "code"),
    [("Ana@example.org", "id_not_canonical"), (" ana@example.org", "id_not_canonical"), ("ana@example.org.", "id_not_canonical"),
     ("ａｎａ@example.org", "id_not_canonical"), ("ana+x@example.org", "own_round"), ("\u0430na@example.org", "id_grammar"),
     ("an\u200ba@example.org", "id_hidden_character"), ("\u202eana@example.org", "id_hidden_character"), ("Ana <ana@example.org>", "id_grammar"),
     ("nobody", "unknown_person")],
)
def test_self_review_in_disguise(c: Court, written: str, code: str) -> None:
    proposed = c.propose()
    refused(c, code, lambda: append(c.ledger, decision(c.ledger.read(), c.registry, written, proposed), c.ana, c.rules))


def test_a_co_proposer_cannot_review(c: Court) -> None:
    together = proposal(c.ledger.read(), c.registry, c.ana.id, proposers=[c.ana.id, c.ben.id])
    proposed = append(c.ledger, together, c.ana, c.rules)
    refused(c, "own_round", lambda: c.decide(proposed, c.ben))
    assert c.decide(proposed, c.eva).index == 1


def test_a_decision_cannot_shorten_the_list_of_proposers(c: Court) -> None:
    together = proposal(c.ledger.read(), c.registry, c.ana.id, proposers=[c.ana.id, c.ben.id])
    proposed = append(c.ledger, together, c.ana, c.rules)
    refused(c, "differs_from_proposal", lambda: c.decide(proposed, c.ben, proposers=[c.ana.id]))


def test_the_owner_of_a_proposing_agent_cannot_review_and_may_propose_for_it(tmp_path: Path) -> None:
    ana, ben, bot = Actor("ana"), Actor("ben"), Actor("bot", owner="ana", roles=("proposer",))
    registry = registry_of(ana, ben, bot)
    c = Court(Ledger(tmp_path / "l" / "receipts.jsonl"), ana, ben, bot, registry, rules_of(registry))
    proposed = append(c.ledger, proposal(c.ledger.read(), registry, "bot"), bot, c.rules)
    refused(c, "own_round", lambda: c.decide(proposed, ana))
    for_it = proposal(c.ledger.read(), registry, "ana", "r2", proposers=["bot"])
    second = append(c.ledger, for_it, ana, c.rules)
    refused(c, "own_round", lambda: c.decide(second, ana))
    assert c.decide(second, ben).kind == "decision"


def test_only_a_proposer_of_the_round_proposes_it(c: Court) -> None:
    other = proposal(c.ledger.read(), c.registry, c.ben.id, proposers=[c.ana.id])
    refused(c, "not_a_proposer", lambda: append(c.ledger, other, c.ben, c.rules))
    stranger = proposal(c.ledger.read(), c.registry, c.ana.id, proposers=[c.ana.id, "stranger"])
    refused(c, "proposer_not_enrolled", lambda: append(c.ledger, stranger, c.ana, c.rules))
    unknown = proposal(c.ledger.read(), c.registry, "stranger")
    refused(c, "unknown_person", lambda: append(c.ledger, unknown, c.ana, c.rules))


def test_a_proposer_cannot_sign_under_anothers_name(c: Court) -> None:
    """The hole that the signed proposal closes: Ana writes Eva as proposer, to review the round herself."""
    forged = proposal(c.ledger.read(), c.registry, c.eva.id)
    refused(c, "anothers_key", lambda: append(c.ledger, forged, c.ana, c.rules))


def test_roles_and_keys(tmp_path: Path) -> None:
    ana, ben, cy, dan, eve = (
        Actor("ana", roles=("proposer",)), Actor("ben", roles=("reviewer",)),
        Actor("cy", roles=("reviewer",), extra='expires = "2026-03-01T12:00:00Z"'),
        Actor("dan", roles=("reviewer",), extra="revoked_from_index = 1"), Actor("eve", roles=("reviewer",)),
    )
    registry = registry_of(ana, ben, cy, dan)
    c = Court(Ledger(tmp_path / "l" / "receipts.jsonl"), ana, ben, cy, registry, rules_of(registry))
    refused(c, "wrong_role", lambda: append(c.ledger, proposal(c.ledger.read(), registry, "ben"), ben, c.rules))
    proposed = c.propose()
    refused(c, "expired", lambda: c.decide(proposed, cy))
    refused(c, "revoked", lambda: c.decide(proposed, dan))
    refused(c, "unknown_person", lambda: c.decide(proposed, eve))
    by_eve = decision(c.ledger.read(), registry, "ben", proposed)
    refused(c, "unknown_key", lambda: append(c.ledger, by_eve, eve, c.rules))
    refused(c, "anothers_key", lambda: append(c.ledger, by_eve, ana, c.rules))
    envelope = seal_document(by_eve, ben)
    broken = type(envelope)(envelope.payload_type, envelope.payload, type(envelope.signature)(ben.public.keyid, bytes(64)))
    refused(c, "bad_signature", lambda: c.ledger.append(broken, lambda view: admit(view, broken, by_eve, c.rules)))
    assert c.decide(proposed).index == 1


def test_times(c: Court) -> None:
    proposed = c.propose()
    prepared = decision(c.ledger.read(), c.registry, c.ben.id, proposed)
    late, early = (rules_of(c.registry, NOW + timedelta(seconds=seconds)) for seconds in (901, -1))
    refused(c, "statement_expired", lambda: append(c.ledger, prepared, c.ben, late))
    refused(c, "statement_from_the_future", lambda: append(c.ledger, prepared, c.ben, early))
    last = rules_of(c.registry, NOW + timedelta(seconds=900))          # statement_ttl_s: 15 minutes, inclusive
    assert append(c.ledger, prepared, c.ben, last).index == 1


def test_changed_registry_grid_and_ledger(c: Court, tmp_path: Path) -> None:
    proposed = c.propose()
    prepared = decision(c.ledger.read(), c.registry, c.ben.id, proposed)
    edited = Registry.from_bytes(registry_bytes(c.ana, c.ben, c.eva) + b"# a comment\n")
    refused(c, "registry_changed", lambda: append(c.ledger, prepared, c.ben, rules_of(edited)))
    refused(c, "grid_not_accepted", lambda: c.propose("r2", grid_digest=sha("grid")))
    refused(c, "differs_from_proposal", lambda: c.decide(proposed, grid_digest=sha("grid")))
    elsewhere = court(tmp_path / "other")
    elsewhere.register()
    foreign = decision(elsewhere.ledger.read(), c.registry, c.ben.id, proposed)
    refused(c, "ledger_changed", lambda: append(c.ledger, foreign, c.ben, c.rules))


def test_a_statement_is_for_one_round(c: Court) -> None:
    first, second = c.propose("r1"), c.propose("r2")
    mixed = decision(c.ledger.read(), c.registry, c.ben.id, first, round_digest=sha("r2"), round_id="r2")
    refused(c, "proposal_changed", lambda: append(c.ledger, mixed, c.ben, c.rules))
    renamed = decision(c.ledger.read(), c.registry, c.ben.id, second, round_id="r1")
    refused(c, "differs_from_proposal", lambda: append(c.ledger, renamed, c.ben, c.rules))
    lonely = decision(c.ledger.read(), c.registry, c.ben.id, first, round_digest=sha("r3"))
    refused(c, "not_proposed", lambda: append(c.ledger, lonely, c.ben, c.rules))


def test_a_replayed_line_is_refused(c: Court) -> None:
    statement = registration(c.ledger.read(), c.registry, c.eva.id)
    append(c.ledger, statement, c.eva, c.rules)
    refused(c, "already_appended", lambda: append(c.ledger, statement, c.eva, c.rules))


def test_a_round_is_proposed_once_under_a_grid(c: Court) -> None:
    c.propose()
    refused(c, "already_proposed", lambda: c.propose())


def test_supersedes_names_what_was_decided_earlier(c: Court) -> None:
    rejected = c.decide(c.propose("r1"), decision="reject", comment="collapsed")
    unrelated = c.propose("other")
    assert unrelated.statement.predicate["supersedes"] == []
    for number, (name, change) in enumerate([
        ("same-id", {"round_id": "r1"}), ("same-candidate", {"candidate_digest": sha("candidate of r1")}),
        ("same-pairs", {"pairs_digest": sha("pairs of r1")}),
    ]):
        refused(c, "supersedes_changed", lambda name=name, change=change: c.propose(name, supersedes=[], **change))
        again = c.propose(name, **change)
        assert again.statement.predicate["supersedes"] == [reference(rejected)]
        assert again.index == rejected.index + 2 + number
    identity = {**round_part("r1", []), "round_digest": sha("yet another"), "pairs_digest": None, "candidate_digest": None}
    assert [entry.statement.predicate["comment"] for entry in earlier_decisions(c.ledger.read(), identity)] == ["collapsed"]


def test_a_missing_candidate_digest_is_not_the_same_candidate(c: Court) -> None:
    c.decide(c.propose("r1", candidate_digest=None))
    assert c.propose("r2", candidate_digest=None).statement.predicate["supersedes"] == []


def test_the_witness_of_a_holdout(c: Court) -> None:
    proposed = c.propose()
    view = c.ledger.read()
    assert witness_of(view, sha("holdout"), proposed.index) is None
    assert lock_words(view, sha("holdout"), proposed.index) == "stated by the proposer only"
    registered = c.register("holdout 2")
    c.register("holdout 2", c.ben)
    later = c.propose("r2", holdout_digest=sha("holdout 2"))
    view = c.ledger.read()
    assert witness_of(view, sha("holdout 2"), later.index) == registered
    assert lock_words(view, sha("holdout 2"), later.index) == "witnessed: ledger entry 1, before this proposal"
    assert witness_of(view, sha("holdout 2"), registered.index) is None       # a registration after the proposal is none
    assert lock_words(view, sha("holdout 2"), None) == "witnessed: ledger entry 1, not proposed yet"


def test_m_approvals_by_distinct_persons(c: Court) -> None:
    """The seam for several approvals: two needed, one given, is open; two close; a rejection closes at once."""
    proposed = c.propose()
    first = c.decide(proposed)
    view = c.ledger.read()
    status = round_status(view, sha("r1"), 2, c.registry)
    assert (status.words, status.closed) == ("OPEN (1 of 2 approvals)", False)
    assert round_status(view, sha("r1"), 1).words == "APPROVED"
    assert round_status(view, sha("nothing")).words == "NOT PROPOSED"

    def with_second(who: Actor, **changes: Any) -> str:
        statement = decision(view, c.registry, who.id, proposed, **changes)
        second = LedgerEntry(2, seal_document(statement, who), statement)
        return round_status(LedgerView(view.origin, (proposed, first, second)), sha("r1"), 2, c.registry).words

    assert with_second(c.eva) == "APPROVED"
    assert with_second(c.eva, decision="reject") == "REJECTED"
    assert with_second(c.ben) == "OPEN (1 of 2 approvals)"        # the same person twice is one person


def test_errors_say_prepare_again(c: Court) -> None:
    proposed = c.propose()
    prepared = decision(c.ledger.read(), c.registry, c.ben.id, proposed)
    late = Rules(c.registry, c.rules.grids, NOW + timedelta(hours=1))
    with pytest.raises(LedgerError) as caught:
        append(c.ledger, prepared, c.ben, late)
    assert "prepare the statement again" in str(caught.value)
