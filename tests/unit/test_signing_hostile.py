"""Somebody with write access to the files of a workspace: lines appended by hand, stored figures edited, exports swapped.

The command line and the dashboard never write such lines; a shared volume cannot keep them out. What they claim must count
for nothing: in what a reviewer is shown, in ``decide --require-approved``, and in ``verify``.
"""
from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support_desk import CREATED, Desk, desk
from support_forgery import append_by_hand, unsigned
from support_rounds import bundle, folder_of, round_of, tables_of
from support_signing import NOW, Actor, Court, append, court, decision, proposal, registry_of, rules_of, seal_document

from core.canonical import canonical_bytes, sha256_hex
from core.cli.main import run
from core.errors import CountersignError
from core.gates.assessment import Assessment
from core.gates.receipt import PROMOTE_AWAITING
from core.grid import default_grid, grid_from_document
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.signing import signoff
from core.signing.admission import sound_status
from core.signing.dsse import Signature
from core.signing.evidence import EvidenceStore
from core.signing.export import Export, make_export, parse_export, read_export, write_folder
from core.signing.grids import AcceptedGrids, accept_grid
from core.signing.ledger import LedgerEntry, LedgerView
from core.signing.propose import common_members, lock_holdout, round_members
from core.signing.round_grid import grid_of_round
from core.signing.signoff import prepare
from core.signing.statement import Statement, build_statement, parse_statement
from core.signing.status import RoundStatus, earlier_decisions, pairs_digest, reference, round_identity, round_status
from core.signing.verify import Verification, verify_export
from core.signing.words import sentences


@pytest.fixture
def d(tmp_path: Path) -> Desk:
    return desk(tmp_path)


def refused(code: str, exit_code: int, act: Callable[[], Any]) -> CountersignError:
    with pytest.raises(CountersignError) as caught:
        act()
    assert (caught.value.code, caught.value.exit_code) == (code, exit_code), str(caught.value)
    return caught.value


def proposal_of(d: Desk, source: Round, grid: Any = None) -> Statement:
    view = d.ledger.read()
    return build_statement("proposal", {
        **common_members(view, d.registry, NOW), **round_members(source, grid or default_grid()), "proposer": d.curator.id,
        "pairs_digest": pairs_digest(source), "supersedes": [reference(entry) for entry in earlier_decisions(view, round_identity(source))],
    })


def verified(d: Desk, source: Round, index: int, **changes: Any) -> Verification:
    view = d.ledger.read()
    export = make_export(view, view.entries[index], EvidenceStore.beside(d.workspace.ledger_file))
    given: dict[str, Any] = {"registry": d.registry, "source": source, "view": view, "grids": AcceptedGrids.of(d.workspace)} | changes
    return verify_export(export, given.pop("registry"), given.pop("source"), given.pop("view"), given.pop("grids"), **given)


# proposals


def test_a_proposal_that_nobody_signed_is_not_decided_on(d: Desk) -> None:
    """Otherwise a proposer writes somebody else's name into a proposal and approves it under their own."""
    source = d.round()
    append_by_hand(d.ledger, unsigned(proposal_of(d, source), d.curator))
    error = refused("bad_signature", 5, lambda: d.prepare(source))
    assert d.curator.public.keyid in str(error)
    assert d.ledger.read().size == 1 and not list(d.workspace.prepared_dir.iterdir())


def test_a_proposal_signed_with_anothers_key_is_not_decided_on(d: Desk) -> None:
    source = d.round()
    append_by_hand(d.ledger, seal_document(proposal_of(d, source), d.eva))
    refused("anothers_key", 5, lambda: d.prepare(source))


@pytest.mark.parametrize("signed", [True, False])
def test_a_rejected_round_is_not_opened_again_by_a_later_proposal(d: Desk, signed: bool) -> None:
    source = d.round(reviewer_id=...)
    d.propose(source)
    d.sign(d.prepare(source, d.ben, choice="reject"), d.ben)
    again = proposal_of(d, source)
    append_by_hand(d.ledger, seal_document(again, d.curator) if signed else unsigned(again, d.curator))
    assert round_status(d.ledger.read(), source.digest).words == "REJECTED"
    refused("round_closed", 5, lambda: d.prepare(source, d.eva))
    assert (verified(d, source, 1).outcome, verified(d, source, 1).exit_code) == ("REJECTED", 3)


def test_an_approval_under_such_a_proposal_does_not_verify(d: Desk) -> None:
    """The reviewer, too, works around the rules: statement and signature are sound, and the round was closed before."""
    source = d.round(reviewer_id=...)
    d.propose(source)
    waiting = d.prepare(source, d.eva)
    d.sign(d.prepare(source, d.ben, choice="reject"), d.ben)
    view = append_by_hand(d.ledger, seal_document(proposal_of(d, source), d.curator))
    approval = build_statement("decision", {**waiting.statement.predicate, "proposal_sha256": view.entries[2].digest, "ledger": view.head.as_dict()})
    view = append_by_hand(d.ledger, seal_document(approval, d.eva))
    evidence = {name: (waiting.folder / name).read_bytes() for name in ("receipt.json", "admitted_pairs.json")}
    export = Export(view.entries[3].envelope, approval, view.entries[2].envelope, view.entries[2].statement, evidence, 3, view.head)
    refused("after_closing", 5, lambda: verify_export(export, d.registry, source, view, AcceptedGrids.of(d.workspace)))


def test_a_statement_made_for_another_ledger_is_not_taken_by_this_one(d: Desk) -> None:
    """Before any line every ledger has the same root: its name alone tells them apart."""
    source = d.round()
    elsewhere = proposal_of(d, source)                      # against an empty ledger, which had another name
    d.propose(d.round("first"))
    refused("ledger_changed", 5, lambda: append(d.ledger, elsewhere, d.curator, rules_of(d.registry)))
    view = d.ledger.read()
    lines = b"".join(entry.line + b"\n" for entry in view.entries) + seal_document(elsewhere, d.curator).encoded + b"\n"
    refused("chain_broken", 5, lambda: LedgerView.from_bytes(lines))
    refused("chain_broken", 5, lambda: LedgerView.from_bytes(lines, origin=view.origin))


def test_a_proposal_that_hides_an_earlier_rejection_does_not_verify(d: Desk) -> None:
    """The same pairs were rejected as another round; the new proposal, appended by hand, does not say so. The reviewer is told
    all the same, and whoever verifies the approval is told as well."""
    first = d.round("first", reviewer_id=...)
    d.propose(first)
    d.sign(d.prepare(first, d.ben, choice="reject", comment="too few items"), d.ben)
    second = d.round("second")
    honest = proposal_of(d, second)
    assert len(honest.predicate["supersedes"]) == 1
    append_by_hand(d.ledger, seal_document(build_statement("proposal", {**honest.predicate, "supersedes": []}), d.curator))
    prepared = d.prepare(second)
    assert any("rejected before by ben@example.org: too few items" in line for line in prepared.warnings)
    d.sign(prepared)
    error = refused("supersedes_changed", 5, lambda: verified(d, second, 3))
    assert error.where is not None and error.where.file == "proposal.json"


def test_before_any_decision_a_later_proposal_takes_its_place(tmp_path: Path) -> None:
    c = court(tmp_path)
    first = c.propose()
    view = c.ledger.read()
    other = LedgerEntry(view.size, seal_document(proposal(view, c.registry, c.ana.id, grid_digest="0" * 64), c.ana),
                        proposal(view, c.registry, c.ana.id, grid_digest="0" * 64))
    extended = LedgerView(view.origin, (*view.entries, other))
    assert round_status(view, first.statement.round_digest or "").proposal == first
    assert round_status(extended, first.statement.round_digest or "").proposal == other


def test_behind_a_first_approval_no_other_proposal_takes_its_place(tmp_path: Path) -> None:
    """Two approvals are asked for and one is given: a proposal appended by hand would leave it standing under other terms."""
    c = court(tmp_path)
    proposed = c.propose()
    entries = [proposed, c.decide(proposed, c.ben)]
    view = c.ledger.read()
    later = proposal(view, c.registry, c.ana.id, grid_digest="0" * 64)
    entries.append(LedgerEntry(2, seal_document(later, c.ana), later))
    second = decision(view, c.registry, c.eva.id, proposed)
    entries.append(LedgerEntry(3, seal_document(second, c.eva), second))

    def status(lines: int) -> RoundStatus:
        return round_status(LedgerView(view.origin, tuple(entries[:lines])), proposed.statement.round_digest or "", 2, c.registry)

    assert [(status(lines).proposal, status(lines).words) for lines in (2, 3, 4)] == [
        (proposed, "OPEN (1 of 2 approvals)"), (proposed, "OPEN (1 of 2 approvals)"), (proposed, "APPROVED")]


def test_an_agent_and_its_owner_are_one_approval(tmp_path: Path) -> None:
    """Two approvals are asked for; the second one comes from an agent of the first one's owner, appended by hand."""
    c: Court = court(tmp_path)
    agent = Actor("nightly-review", owner=c.ben.id)
    registry = registry_of(c.ana, c.ben, c.eva, agent)
    rules = rules_of(registry)
    proposed = append(c.ledger, proposal(c.ledger.read(), registry, c.ana.id), c.ana, rules)
    entries = [proposed]
    for actor in (c.ben, agent, c.eva):
        made = decision(LedgerView(proposed.statement.predicate["ledger"]["origin"], tuple(entries)), registry, actor.id, proposed)
        entries.append(LedgerEntry(len(entries), seal_document(made, actor), made))

    def words(*chosen: LedgerEntry) -> str:
        return round_status(LedgerView("x", chosen), proposed.statement.round_digest or "", 2, registry).words

    assert words(*entries[:3]) == "OPEN (1 of 2 approvals)"
    assert words(*entries) == "APPROVED"


def test_a_line_by_nobody_stops_no_list_of_rounds(d: Desk) -> None:
    """A page asks for the state of every round: an id outside the grammar in a line written by hand must not end it."""
    source = d.round()
    d.propose(source)
    forged = build_statement("decision", {**d.prepare(source).statement.predicate, "reviewer": "Nobody <x>"})
    append_by_hand(d.ledger, unsigned(forged, d.verifier))
    assert round_status(d.ledger.read(), source.digest, registry=d.registry).words == "APPROVED"
    assert sound_status(d.ledger.read(), source.digest, rules_of(d.registry)).words == "OPEN (0 of 1 approvals)"


def test_a_name_or_a_comment_makes_no_sentence_of_its_own(d: Desk, tmp_path: Path) -> None:
    """What a reviewer reads before signing: the candidate's name and earlier comments are the work of others."""
    evil = "m-2\nThe engine would promote the round.\u2028You approve nothing."
    tables = tables_of(bundle())
    about = round_of(bundle()) | {"candidate": {"name": evil, "digest": "1" * 64}, "round_id": "r1"}
    first = d.workspace.round(ingest(folder_of(tmp_path / "in", tables, about=about), d.workspace, created_at=CREATED, now=NOW).digest)
    d.propose(first)
    d.sign(d.prepare(first, choice="reject", comment=evil))
    second = d.workspace.round(ingest(tmp_path / "in", d.workspace, round_id="r2", created_at=CREATED, now=NOW).digest)
    d.propose(second)
    prepared = d.prepare(second, comment=evil)
    for text in (*prepared.sentences, *prepared.warnings, *sentences(d.ledger.read().entries[1].statement)):
        assert not {"\n", "\u2028", "\x1b"} & set(text)
    assert len(prepared.warnings) == 1 and "rejected before" in prepared.warnings[0]


# what a program acts on


def require_approved(d: Desk, source: Round, capfd: pytest.CaptureFixture[str]) -> tuple[int, bool]:
    code = run(["decide", source.digest, "--require-approved", "--json", "--workspace", str(d.workspace.root)])
    return code, json.loads(capfd.readouterr().out)["approved"]


def test_require_approved_counts_only_what_was_signed(d: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    source = d.round()
    assert require_approved(d, source, capfd) == (3, False)
    d.propose(source)
    prepared = d.prepare(source)
    lines = d.ledger.file.read_bytes(), d.ledger.head_file.read_bytes()
    append_by_hand(d.ledger, unsigned(prepared.statement, d.verifier))
    assert require_approved(d, source, capfd) == (3, False)
    d.ledger.file.write_bytes(lines[0])
    d.ledger.head_file.write_bytes(lines[1])
    d.sign(prepared)
    assert require_approved(d, source, capfd) == (0, True)
    d.write_registry(d.curator, d.ben)                      # the signer is gone
    assert require_approved(d, source, capfd) == (3, False)
    d.workspace.registry_file.unlink()
    assert require_approved(d, source, capfd) == (3, False)


def test_require_approved_needs_a_grid_that_somebody_else_accepted(d: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    document = json.loads(default_grid().canonical) | {"name": "strict", "author": "eva", "reason": "try"}
    grid, source = grid_from_document(document), d.round()
    accept_grid(d.workspace, grid, d.eva.id, d.registry, now=NOW)
    d.propose(source, grid=grid)
    d.sign(prepare(d.workspace, source, d.assess(source, grid), d.verifier.id, "approve", "", d.registry, NOW))
    assert require_approved(d, source, capfd) == (0, True)
    d.workspace.grids_file.unlink()
    assert require_approved(d, source, capfd) == (3, False)


# stored figures


def rewritten(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    document = json.loads(path.read_bytes())
    change(document)
    path.chmod(0o644)
    path.write_bytes(canonical_bytes(document))


def test_a_prepared_statement_whose_evidence_is_gone_is_prepared_again(d: Desk) -> None:
    source = d.round()
    d.propose(source)
    prepared = d.prepare(source)
    (prepared.folder / "receipt.json").unlink()
    assert "prepare the statement again" in str(refused("not_prepared", 5, lambda: d.sign(prepared)))


def test_the_list_of_admitted_pairs_is_the_one_that_the_engine_wrote(d: Desk) -> None:
    source = d.round()
    d.propose(source)
    file = d.assess(source).folder / "admitted_pairs.json"
    file.chmod(0o644)
    file.write_bytes(b"[]")
    error = refused("assessment_changed", 6, lambda: d.prepare(source))
    assert error.where is not None and error.where.file == "admitted_pairs.json"
    file.unlink()
    refused("assessment_changed", 6, lambda: d.prepare(source))
    assert not list(d.workspace.prepared_dir.iterdir())


def test_an_edited_assessment_does_not_survive_verification(d: Desk) -> None:
    """The lock does not hold, somebody edited the stored verdict, and an engine that believes it let a reviewer sign: what was
    signed recomputes differently."""
    source = d.round(preregistered_holdout_sha256="0" * 64)
    d.propose(source)
    stored = d.assess(source)
    rewritten(stored.folder / "assessment.json", lambda document: (
        document.update(verdict=PROMOTE_AWAITING), document["receipt"].update(holdout_lock_valid=True)))
    believed = Assessment(json.loads((stored.folder / "assessment.json").read_bytes()), stored.folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(signoff, "confirmed_assessment", lambda *_: believed)
        d.sign(prepare(d.workspace, source, believed, d.verifier.id, "approve", "", d.registry, NOW))
    error = refused("recomputed_differently", 7, lambda: verified(d, source, 1))
    assert "holdout_lock_valid" in str(error)


# the literal gate


def with_gate(d: Desk, source: Round, **gate: Any) -> dict[str, Any]:
    stated = d.prepare(source).statement.predicate
    return {**stated, "literal_gate": {**stated["literal_gate"], **gate}}


VIOLATION = {"path": "core/x.py", "line": 1, "column": 1, "literal": "0.05", "enclosing": "<module>", "reason": "a number"}


@pytest.mark.parametrize("gate", [{"passed": False}, {"files": 0}, {"violations": [VIOLATION]}, {"passed": False, "files": 3}])
def test_a_literal_gate_that_contradicts_itself_is_no_statement(d: Desk, gate: dict[str, Any]) -> None:
    source = d.round()
    d.propose(source)
    error = refused("inconsistent_statement", 4, lambda: build_statement("decision", with_gate(d, source, **gate)))
    assert error.where is not None and error.where.field == "predicate.literal_gate.passed"


@pytest.mark.parametrize("gate", [{"passed": False, "files": 0}, {"passed": False, "violations": [VIOLATION]}])
def test_an_approval_under_a_literal_gate_that_failed_does_not_verify(d: Desk, gate: dict[str, Any]) -> None:
    source = d.round()
    d.propose(source)
    forged = build_statement("decision", with_gate(d, source, **gate))
    prepared = d.prepare(source)
    evidence = {name: (prepared.folder / name).read_bytes() for name in ("receipt.json", "admitted_pairs.json")}
    view = append_by_hand(d.ledger, seal_document(forged, d.verifier))
    export = Export(view.entries[1].envelope, forged, view.entries[0].envelope, view.entries[0].statement, evidence, 1, view.head)
    refused("recomputed_differently", 7, lambda: verify_export(export, d.registry, source, view, AcceptedGrids.of(d.workspace)))


# exports and what verify reads


def test_an_export_with_another_proposal_than_the_decisions(d: Desk) -> None:
    """Both are sound and in the ledger, and say the same of the round; the decision names one of them."""
    source = d.round()
    first = d.propose(source)
    append_by_hand(d.ledger, seal_document(proposal_of(d, source), d.curator))
    entry = d.sign(d.prepare(source)).entry
    view = d.ledger.read()
    export = make_export(view, entry, EvidenceStore.beside(d.workspace.ledger_file))
    swapped = replace(export, proposal=first.envelope, proposal_statement=first.statement)
    given: dict[str, Any] = {"registry": d.registry, "source": source, "view": view, "grids": AcceptedGrids.of(d.workspace)}
    assert verify_export(export, **given).exit_code == 0
    refused("proposal_changed", 5, lambda: verify_export(swapped, **given))
    refused("proposal_changed", 5, lambda: verify_export(swapped, d.registry, None, None, signature_only=True))


@pytest.mark.parametrize("change", [
    lambda subject: subject[0]["digest"].update(sha256="0" * 64), lambda subject: subject.pop(), lambda subject: subject.reverse(),
    lambda subject: subject.append({"name": "model.safetensors", "digest": {"sha256": "0" * 64}}), lambda subject: subject[1].update(name="x"),
    lambda subject: subject.append(subject[0]),
])
def test_subjects_are_those_that_the_predicate_names(d: Desk, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    """A tool that reads subjects alone (as in-toto tools do) must not be told of another artefact than the predicate approves."""
    source = d.round()
    d.propose(source)
    document = json.loads(d.prepare(source).payload)
    assert [item["name"] for item in document["subject"]] == ["receipt.json", "admitted_pairs.json"]
    parse_statement(canonical_bytes(document))
    change(document["subject"])
    error = refused("inconsistent_statement", 4, lambda: parse_statement(canonical_bytes(document)))
    assert error.where is not None and error.where.field == "subject"


def test_signature_only_still_holds_the_files_against_their_digests(d: Desk) -> None:
    _, export = decided(d)
    receipt = export.evidence["receipt.json"].replace(b"0.925", b"9.925")
    changed = replace(export, evidence={**export.evidence, "receipt.json": receipt})
    refused("file_changed", 6, lambda: verify_export(changed, d.registry, None, None, signature_only=True))


def test_an_export_whose_proposal_came_after_the_decision(d: Desk) -> None:
    source, export = decided(d)
    view = append_by_hand(d.ledger, seal_document(proposal_of(d, source), d.curator))
    swapped = replace(export, proposal=view.entries[2].envelope, proposal_statement=view.entries[2].statement)
    refused("proposal_after_decision", 5, lambda: verify_export(swapped, d.registry, source, view, AcceptedGrids.of(d.workspace)))


@pytest.mark.parametrize("changed", [
    {"round_id": "other"}, {"round_digest": "0" * 64}, {"grid_digest": "0" * 64}, {"holdout_digest": "0" * 64}, {"candidate_digest": "0" * 64},
    {"proposers": ["worker-curator-01", "eva@example.org"]},
])
def test_a_decision_that_says_other_than_its_proposal(d: Desk, changed: dict[str, Any]) -> None:
    """Both are signed by the right persons: without a round at hand only the two can be held against each other."""
    _, export = decided(d)
    forged = build_statement("decision", {**export.decision_statement.predicate, **changed})
    swapped = replace(export, decision=seal_document(forged, d.verifier), decision_statement=forged)
    error = refused("differs_from_proposal", 5, lambda: verify_export(swapped, d.registry, None, None, signature_only=True))
    assert error.where is not None and error.where.field == next(iter(changed))


def test_a_round_that_lacks_approvals_is_open_and_exits_3(d: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid that asks for two approvals, with one of them given."""
    source, _ = decided(d)
    monkeypatch.setattr("core.signing.verify.required_approvals", lambda grid: 2)
    result = verified(d, source, 1)
    assert (result.outcome, result.exit_code, result.lines()[-1]) == ("OPEN (1 of 2 approvals)", 3, "OPEN (1 of 2 approvals)")


def decided(d: Desk, **changes: Any) -> tuple[Round, Export]:
    source = d.round(**changes)
    d.propose(source)
    entry = d.sign(d.prepare(source)).entry
    return source, make_export(d.ledger.read(), entry, EvidenceStore.beside(d.workspace.ledger_file))


def test_a_grid_that_cannot_be_read_is_bad_input_before_anything_else(d: Desk) -> None:
    document = json.loads(default_grid().canonical) | {"name": "strict", "author": "eva", "reason": "try"}
    grid, source = grid_from_document(document), d.round()
    accept_grid(d.workspace, grid, d.eva.id, d.registry, now=NOW)
    d.propose(source, grid=grid)
    d.sign(prepare(d.workspace, source, d.assess(source, grid), d.verifier.id, "approve", "", d.registry, NOW))
    file = d.workspace.grids_dir / f"{grid.digest}.json"
    file.chmod(0o644)
    file.write_bytes(b"{")
    refused("not_json", 4, lambda: verified(d, source, 1))
    refused("not_json", 4, lambda: verified(d, source, 1, registry=registry_of(d.ben)))         # 4 comes before 5
    file.unlink()
    refused("unknown_person", 5, lambda: verified(d, source, 1, registry=registry_of(d.ben)))   # 5 comes before 6
    refused("grid_missing", 6, lambda: verified(d, source, 1))


def forged_registration(d: Desk) -> LedgerEntry:
    """A registration of the worked example's holdout in eva's name, written into the ledger by somebody who has no key of hers."""
    lock_holdout(d.workspace, b'[{"id": "x", "prompt": "another holdout"}]', d.eva.id, d.eva, d.registry, NOW)
    statement = build_statement("registration", {
        **common_members(d.ledger.read(), d.registry, NOW, None), "holdout_sha256": d.round("for-its-holdout").holdout_digest, "items": 5,
        "registered_by": d.eva.id,
    })
    return append_by_hand(d.ledger, unsigned(statement, d.eva)).entries[-1]


def test_a_registration_that_nobody_signed_witnesses_nothing(d: Desk) -> None:
    forged = forged_registration(d)
    source = d.round()
    entry = d.propose(source)
    assert entry.index > forged.index
    prepared = d.prepare(source)
    assert prepared.statement.predicate["holdout_witness"] is None
    assert "The holdout was stated by the proposer only." in prepared.sentences
    d.sign(prepared)
    # the forged line is there all the same; an honest decision made beside it verifies
    assert verified(d, source, entry.index + 1).exit_code == 0
    # a real registration behind the forged one is the witness of what is proposed after it
    holdout = json.dumps(source.holdout_items()).encode()
    real = lock_holdout(d.workspace, holdout, d.eva.id, d.eva, d.registry, NOW)
    later = d.round("later", proposer_id="worker-curator-01", sanity_outcomes={"s-01": True})
    d.propose(later)
    assert d.prepare(later).statement.predicate["holdout_witness"] == reference(real)


def test_a_decision_that_names_a_witness_who_did_not_sign_is_refused(d: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    forged = forged_registration(d)
    source = d.round()
    entry = d.propose(source)
    monkeypatch.setattr(signoff, "sound_view", lambda view, registry: view)  # a reviewer's tool that takes any line for a witness
    prepared = d.prepare(source)
    assert prepared.statement.predicate["holdout_witness"] == reference(forged)
    d.sign(prepared)
    error = refused("bad_signature", 5, lambda: verified(d, source, entry.index + 1))
    assert error.where is not None and error.where.field == "holdout_witness"


def test_a_decision_that_nobody_signed_stands_in_the_way_and_says_what_to_do(d: Desk) -> None:
    source = d.round(reviewer_id=...)
    d.propose(source)
    append_by_hand(d.ledger, unsigned(d.prepare(source).statement, d.verifier))
    for actor, code in ((d.verifier, "already_decided"), (d.ben, "round_closed")):
        error = refused(code, 5, lambda actor=actor: d.prepare(source, actor))
        assert "entry 1 does not hold (bad_signature)" in error.remedy and "created_at" in error.remedy


def test_a_proposal_that_nobody_signed_chooses_no_grid(d: Desk) -> None:
    """Reports are computed under the grid of a round's proposal: of one that holds."""
    document = json.loads(default_grid().canonical) | {"name": "lax", "version": 7, "author": "eva", "reason": "try"}
    grid = grid_from_document(document)
    accept_grid(d.workspace, grid, d.eva.id, d.registry, now=NOW)
    source, other = d.round(), d.round("other", sanity_outcomes={"s-01": True})
    assert grid_of_round(d.workspace, source) == default_grid()          # nothing is proposed, and there is no ledger
    d.propose(other, grid=grid)
    assert grid_of_round(d.workspace, other).digest == grid.digest
    members = {**common_members(d.ledger.read(), d.registry, NOW, None), **round_members(source, grid), "proposer": d.curator.id,
               "pairs_digest": pairs_digest(source), "supersedes": []}
    append_by_hand(d.ledger, unsigned(build_statement("proposal", members), d.curator))
    assert grid_of_round(d.workspace, source) == default_grid()


def test_earlier_decisions_that_nobody_signed_are_no_warning(d: Desk) -> None:
    first = d.round()
    d.propose(first)
    stated = d.prepare(first, choice="reject", comment="never said").statement
    append_by_hand(d.ledger, unsigned(stated, d.verifier))
    again = d.round("again", sanity_outcomes={"s-01": True})
    d.propose(again)
    assert not any("never said" in line for line in d.prepare(again).warnings)


def test_a_grid_that_does_not_ship_is_named_before_it_is_signed_under(d: Desk) -> None:
    document = json.loads(default_grid().canonical)
    document |= {"name": "lax", "version": 7, "author": "eva", "reason": "try"}
    document["keys"]["max_regression_rate"]["value"] = "0.5"
    grid = grid_from_document(document)
    accept_grid(d.workspace, grid, d.eva.id, d.registry, now=NOW)
    source = d.round()
    d.propose(source, grid=grid)
    prepared = prepare(d.workspace, source, d.assess(source, grid), d.verifier.id, "approve", "", d.registry, NOW)
    assert prepared.warnings[0] == (
        "The grid lax, version 7, is not one that ships with the engine: max_regression_rate 0.5 (default 0.05)."
    )
    shipped = d.round("shipped", sanity_outcomes={"s-01": True})
    d.propose(shipped)
    assert not any("ships with the engine" in line for line in d.prepare(shipped).warnings)


def test_a_witness_whose_signature_does_not_hold_is_noted(d: Desk) -> None:
    holdout = json.loads((Path(__file__).parents[1] / "fixtures/worked_example/bundle.json").read_bytes())["holdout_suite"]
    lock_holdout(d.workspace, json.dumps(holdout).encode(), d.eva.id, d.eva, d.registry, NOW)
    source, _ = decided(d)
    assert not any("entry 0" in note for note in verified(d, source, 2).notes)
    result = verified(d, source, 2, registry=registry_of(d.curator, d.verifier))
    assert result.exit_code == 0                            # the witness decides nothing under the default grid
    assert any("entry 0 (registration by eva@example.org) does not count" in note for note in result.notes)


def test_no_file_of_an_export_is_read_beyond_its_limit(d: Desk, tmp_path: Path) -> None:
    _, export = decided(d)
    write_folder(export, tmp_path / "folder")
    file = tmp_path / "folder" / "receipt.json"
    file.chmod(0o644)
    with file.open("r+b") as handle:
        handle.truncate(2**40)                              # a hole: it takes no room on the disk, and would take all memory
    error = refused("too_large", 4, lambda: read_export(tmp_path / "folder"))
    assert error.where is not None and error.where.file == "receipt.json"
    with (tmp_path / "huge.zip").open("wb") as handle:
        handle.truncate(2**40)
    refused("too_large", 4, lambda: read_export(tmp_path / "huge.zip"))


def test_a_zip_whose_entries_share_their_bytes_is_not_unpacked(d: Desk) -> None:
    """One stored megabyte, named a thousand times by the directory of the zip: a gigabyte to whoever reads entry by entry."""
    buffer, many = io.BytesIO(), 1000
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("receipt.json"), b"\0" * 1_000_000)
    data = buffer.getvalue()
    size, start = struct.unpack("<II", data[-10:-2])        # of the central directory, from the record at the end
    directory = data[start:start + size] * many
    end = data[-22:-14] + struct.pack("<HHIIH", many, many, len(directory), start, 0)
    error = refused("not_an_export", 4, lambda: parse_export(data[:start] + directory + end))
    assert "without compression" in str(error)


def test_a_pipe_or_a_link_to_a_device_is_no_file_of_an_export(d: Desk, tmp_path: Path) -> None:
    _, export = decided(d)
    write_folder(export, tmp_path / "folder")
    file = tmp_path / "folder" / "receipt.json"
    file.unlink()
    os.mkfifo(file)
    refused("wrong_files", 4, lambda: read_export(tmp_path / "folder"))
    file.unlink()
    file.symlink_to("/dev/zero")
    refused("wrong_files", 4, lambda: read_export(tmp_path / "folder"))


def test_a_folder_of_very_many_files_is_not_read(d: Desk, tmp_path: Path) -> None:
    _, export = decided(d)
    write_folder(export, tmp_path / "folder")
    for number in range(50):
        (tmp_path / "folder" / f"a{number}").symlink_to(tmp_path / "folder" / "receipt.json")
    refused("wrong_files", 4, lambda: read_export(tmp_path / "folder"))


# both persons sign what is not so


def signed_by_both(d: Desk, source: Round, changed: dict[str, Any], *, proposal_only: bool = False) -> tuple[Export, LedgerView]:
    """Proposer and reviewer sign statements that agree with each other and say ``changed`` of the round."""
    made = proposal_of(d, source)
    stated = build_statement("proposal", {**made.predicate, **changed})
    view = append_by_hand(d.ledger, seal_document(stated, d.curator))
    other = d.round("another")
    d.propose(other)
    honest = d.prepare(other)                               # the engine's own figures: the rounds differ in their id alone
    predicate = {**honest.statement.predicate, **round_members(source, default_grid()), "proposal_sha256": view.entries[0].digest}
    approval = build_statement("decision", predicate | ({} if proposal_only else changed))
    view = append_by_hand(d.ledger, seal_document(approval, d.verifier))
    evidence = {name: (honest.folder / name).read_bytes() for name in ("receipt.json", "admitted_pairs.json")}
    index = view.size - 1
    return Export(view.entries[index].envelope, approval, view.entries[0].envelope, stated, evidence, index, view.head), view


@pytest.mark.parametrize(("changed", "proposal_only", "field"), [
    ({"candidate_name": "another-model"}, False, "candidate_name"), ({"candidate_digest": "0" * 64}, False, "candidate_digest"),
    ({"baseline_digest": "0" * 64}, False, "baseline_digest"), ({"holdout_lock": None}, False, "holdout_lock"),
    ({"round_id": "another-name"}, False, "round_id"), ({"pairs_digest": "0" * 64}, True, "pairs_digest"),
    ({"pairs_digest": None}, True, "pairs_digest"),
])
def test_what_both_statements_say_of_a_round_is_compared_with_the_round(
    d: Desk, changed: dict[str, Any], proposal_only: bool, field: str,
) -> None:
    source = d.round()
    export, view = signed_by_both(d, source, changed, proposal_only=proposal_only)
    error = refused("recomputed_differently", 7, lambda: verify_export(export, d.registry, source, view, AcceptedGrids.of(d.workspace)))
    assert error.where is not None and error.where.field == field


def test_a_list_of_admitted_pairs_that_no_engine_computed(d: Desk) -> None:
    """Statement and file agree on a list with a pair more than the receipt says."""
    source = d.round()
    proposed, prepared = d.propose(source), d.prepare(source)
    receipt, admitted = ((prepared.folder / name).read_bytes() for name in ("receipt.json", "admitted_pairs.json"))
    rows = [*json.loads(admitted), {"pair_id": "pair-collapse-trap", "joint_transition_pair_sha256": "0" * 64}]
    forged = build_statement("decision", {**prepared.statement.predicate, "admitted_pairs_sha256": sha256_hex(canonical_bytes(rows))})
    view = append_by_hand(d.ledger, seal_document(forged, d.verifier))
    evidence = {"receipt.json": receipt, "admitted_pairs.json": canonical_bytes(rows)}
    export = Export(view.entries[1].envelope, forged, proposed.envelope, proposed.statement, evidence, 1, view.head)
    error = refused("recomputed_differently", 7, lambda: verify_export(export, d.registry, source, view, AcceptedGrids.of(d.workspace)))
    assert error.where is not None and error.where.field == "admitted_pairs.json"


# two processes


SIGNER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
sys.path[:0] = [{root!r}, {tests!r}]
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support_signing import NOW, Actor
from core.errors import CountersignError
from core.persons.registry import Registry
from core.rounds.workspace import Workspace
from core.signing.signoff import sign_and_append
workspace = Workspace.open(Path(sys.argv[1]))
actor = Actor(sys.argv[3], private=Ed25519PrivateKey.from_private_bytes(bytes.fromhex(sys.argv[4])))
sys.stdin.readline()
try:
    print("signed", sign_and_append(workspace, sys.argv[2], actor, Registry.load(workspace.registry_file), NOW).entry.index)
except CountersignError as error:
    print(error.code)
"""


PROPOSER = """
import sys
from pathlib import Path
sys.path[:0] = [{root!r}, {tests!r}]
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support_signing import NOW, Actor
from core.errors import CountersignError
from core.grid import default_grid
from core.persons.registry import Registry
from core.rounds.workspace import Workspace
from core.signing.propose import propose
workspace = Workspace.open(Path(sys.argv[1]))
actor = Actor(sys.argv[3], private=Ed25519PrivateKey.from_private_bytes(bytes.fromhex(sys.argv[4])))
source = workspace.round(sys.argv[2])
sys.stdin.readline()
try:
    print("proposed", propose(workspace, source, default_grid(), actor.id, actor, Registry.load(workspace.registry_file), NOW).index)
except CountersignError as error:
    print(error.code)
"""


def at_once(code: str, arguments: list[list[str]]) -> list[str]:
    """What processes say that all begin at the same moment."""
    code = code.format(root=str(Path(__file__).parents[2]), tests=str(Path(__file__).parents[1]))
    command, pipes = [sys.executable, "-c", code], {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    processes = [subprocess.Popen([*command, *each], text=True, **pipes) for each in arguments]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return sorted(process.communicate()[0].strip() for process in processes)


def test_processes_that_propose_at_once_propose_once(d: Desk) -> None:
    source = d.round()
    each = [str(d.workspace.root), source.digest, d.curator.id, d.curator.private.private_bytes_raw().hex()]
    said = at_once(PROPOSER, [each] * 3)
    # who comes late hears that it is proposed, or, having read the ledger while it was empty and had no name yet, that it changed
    assert said.count("proposed 0") == 1 and set(said) <= {"proposed 0", "already_proposed", "ledger_changed"}
    assert d.ledger.read().size == 1


def test_processes_that_propose_different_rounds_on_a_new_ledger_all_succeed(d: Desk) -> None:
    """Whoever comes first names the ledger; the others' statements are made anew, and nobody is asked to try again."""
    who = [d.curator.id, d.curator.private.private_bytes_raw().hex()]
    sources = [d.round(f"round-{number}") for number in range(3)]
    assert at_once(PROPOSER, [[str(d.workspace.root), source.digest, *who] for source in sources]) == ["proposed 0", "proposed 1", "proposed 2"]


def test_a_first_line_that_came_between_is_no_refusal(d: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same without luck: while the proposal of one round is signed on an empty ledger, that of another is appended."""
    source, other = d.round(), d.round("other")
    signed: list[bytes] = []

    class Slow(Actor):
        def sign(self, message: bytes) -> Signature:
            if not signed:
                d.propose(other)
            signed.append(message)
            return Actor.sign(self, message)

    slow = Slow(d.curator.id, private=d.curator.private)
    assert d.propose(source, slow).index == 1 and len(signed) == 2
    assert d.ledger.read().size == 2


def test_processes_that_sign_at_once_close_the_round_once(d: Desk) -> None:
    source = d.round(reviewer_id=...)
    d.propose(source)
    choices: list[tuple[Actor, Any]] = [(d.ben, "approve"), (d.eva, "reject"), (d.verifier, "approve")]
    prepared = [(d.prepare(source, actor, choice=choice), actor) for actor, choice in choices]
    said = at_once(SIGNER, [[str(d.workspace.root), item.digest, actor.id, actor.private.private_bytes_raw().hex()] for item, actor in prepared])
    assert said == ["round_closed", "round_closed", "signed 1"]
    assert d.ledger.read().size == 2
    assert len(list((d.workspace.ledger_file.parent / "evidence").iterdir())) == 2
