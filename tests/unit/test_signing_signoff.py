"""Propose, prepare, sign: the worked example's round, end to end, and every way in which it must not go through."""
from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support_desk import Desk, bundle, desk
from support_signing import NOW, Actor, seal_document, sha

from core.canonical import canonical_bytes, sha256_hex
from core.errors import CountersignError
from core.grid import default_grid, grid_from_document
from core.signing.evidence import EvidenceStore
from core.signing.grids import accept_grid
from core.signing.propose import lock_holdout, propose
from core.signing.signoff import append_signed, open_prepared, prepare, sign_and_append
from core.signing.statement import build_statement
from core.signing.status import lock_words, round_status

RECEIPT = Path(__file__).parents[1] / "fixtures" / "worked_example" / "receipt.json"


@pytest.fixture
def d(tmp_path: Path) -> Desk:
    return desk(tmp_path)


def refused(d: Desk, code: str, act: Callable[[], Any], exit_code: int = 5) -> CountersignError:
    """Refused with this code and exit code, before anything is written."""
    before = d.tree()
    with pytest.raises(CountersignError) as caught:
        act()
    assert (caught.value.code, caught.value.exit_code) == (code, exit_code)
    assert d.tree() == before
    return caught.value


def test_the_worked_example_from_bundle_to_receipt(d: Desk) -> None:
    source = d.round()
    proposed = d.propose(source)
    assert proposed.statement.predicate["proposers"] == ["worker-curator-01"]
    assert round_status(d.ledger.read(), source.digest).words == "OPEN (0 of 1 approvals)"
    prepared = d.prepare(source, comment="both admitted pairs read")
    signed = d.sign(prepared)
    assert not signed.repeated
    assert signed.entry.statement.payload == prepared.payload                       # what was shown is what was signed
    assert (d.workspace.prepared_dir / prepared.digest / "statement.json").read_bytes() == prepared.payload
    assert sha256_hex(prepared.payload) == prepared.digest
    evidence = EvidenceStore.beside(d.workspace.ledger_file).get(signed.entry.statement)
    assert evidence["receipt.json"] == canonical_bytes(json.loads(RECEIPT.read_bytes()))
    assert [pair["pair_id"] for pair in json.loads(evidence["admitted_pairs.json"])] == ["pair-synth-calibrated-1", "pair-rpo-clean-1"]
    predicate = signed.entry.statement.predicate
    assert predicate["receipt_sha256"] == sha256_hex(evidence["receipt.json"])
    # by hand from the bundle: 5 candidates in 2 lists; 2 admitted, 3 rejected (length bias, collapse, duplicate)
    assert predicate["reason_table"]["in"] == 5 and predicate["reason_table"]["admitted"] == 2 and predicate["reason_table"]["rejected"] == 3
    assert round_status(d.ledger.read(), source.digest).words == "APPROVED"


def test_a_signed_rejection(d: Desk) -> None:
    source = d.round()
    d.propose(source)
    d.sign(d.prepare(source, choice="reject", comment="five items prove nothing"))
    assert round_status(d.ledger.read(), source.digest).words == "REJECTED"
    assert any("rejected before by worker-verifier-02: five items prove nothing" in line for line in _warnings_of_a_second_try(d))


def _warnings_of_a_second_try(d: Desk) -> tuple[str, ...]:
    again = d.round("worked-example-2")         # the same pairs in another round
    d.propose(again)
    return d.prepare(again).warnings


def test_self_review_in_every_disguise_is_refused_before_anything_is_written(d: Desk) -> None:
    source = d.round(reviewer_id=...)
    d.propose(source)
    for written in ("worker-curator-01", "Worker-Curator-01", " worker-curator-01 ", "ｗｏｒｋｅｒ-curator-01", "worker-curator-01+review",
                    "curator-a", "CURATOR-A+x"):
        refused(d, "own_round", lambda written=written: d.prepare(source, reviewer=written))
    for written, code in [("w\u043erker-curator-01", "id_grammar"), ("worker-\u200bcurator-01", "id_hidden_character"),
                          ("\u202eworker-curator-01", "id_hidden_character"), ("Worker <worker-curator-01>", "id_grammar"), ("", "id_empty"),
                          ("worker-curator-01.", "id_grammar"), (None, "id_not_text"), (["worker-curator-01"], "id_not_text")]:
        refused(d, code, lambda written=written: d.prepare(source, reviewer=written))


def test_self_review_by_the_bundles_own_word(d: Desk) -> None:
    """A bundle that names its proposer as reviewer, in capitals."""
    source = d.round(reviewer_id="WORKER-CURATOR-01")
    d.propose(source)
    refused(d, "own_round", lambda: d.prepare(source, d.curator))


def test_a_trailing_dot_is_no_other_person(d: Desk) -> None:
    d.curator = Actor("ana@example.org")
    d.write_registry()
    source = d.round(proposer_id="ana@example.org.", reviewer_id=...)
    d.propose(source)
    refused(d, "own_round", lambda: d.prepare(source, reviewer="Ana@Example.org"))


def test_the_reviewer_whom_the_bundle_names_is_the_only_one(d: Desk) -> None:
    source = d.round()
    d.propose(source)
    error = refused(d, "another_reviewer_named", lambda: d.prepare(source, d.ben))
    assert "worker-verifier-02" in str(error)


def test_another_persons_key_cannot_sign_a_prepared_statement(d: Desk) -> None:
    source = d.round()
    d.propose(source)
    prepared = d.prepare(source)
    refused(d, "anothers_key", lambda: d.sign(prepared, d.ben))
    refused(d, "unknown_key", lambda: d.sign(prepared, Actor("worker-verifier-02")))
    assert d.sign(prepared).entry.index == 1


def test_an_engine_refusal_cannot_be_approved_but_rejected(d: Desk) -> None:
    source = d.round(preregistered_holdout_sha256="0" * 64)
    d.propose(source)
    refused(d, "engine_refuses", lambda: d.prepare(source), exit_code=3)
    signed = d.sign(d.prepare(source, choice="reject"))
    assert signed.entry.statement.predicate["decision"] == "reject"


def test_not_proposed(d: Desk) -> None:
    source = d.round()
    refused(d, "not_proposed", lambda: d.prepare(source))


def test_proposing_needs_an_enrolled_proposer_of_the_round(d: Desk) -> None:
    source = d.round()
    refused(d, "wrong_role", lambda: d.propose(source, d.ben))
    refused(d, "not_a_proposer", lambda: d.propose(source, d.eva))
    refused(d, "anothers_key", lambda: propose(d.workspace, source, default_grid(), "worker-curator-01", d.eva, d.registry, NOW))
    refused(d, "unknown_person", lambda: d.propose(source, Actor("nobody")))
    stranger = d.round("r2", proposer_id="somebody-else")
    refused(d, "proposer_not_enrolled", lambda: d.propose(stranger))
    d.propose(source)
    refused(d, "already_proposed", lambda: d.propose(source))


def test_a_double_click_signs_once(d: Desk) -> None:
    source = d.round()
    d.propose(source)
    prepared = d.prepare(source)
    results: list[Any] = []
    barrier = threading.Barrier(6)

    def click() -> None:
        barrier.wait()
        results.append(d.sign(prepared))

    threads = [threading.Thread(target=click) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    assert {result.entry.digest for result in results} == {d.ledger.read().entries[1].digest}
    assert sorted(result.repeated for result in results) == [False] + [True] * 5
    assert d.ledger.read().size == 2
    assert d.sign(prepared, now=NOW + timedelta(days=1)).repeated


def test_a_failed_signature_can_be_tried_again(d: Desk) -> None:
    source = d.round()
    d.propose(source)
    prepared = d.prepare(source)
    refused(d, "anothers_key", lambda: d.sign(prepared, d.eva))
    assert d.sign(prepared).entry.index == 1


def test_whatever_changed_since_says_prepare_again(d: Desk) -> None:
    source = d.round()
    d.propose(source)
    prepared = d.prepare(source)
    for code, act in [
        ("statement_expired", lambda: d.sign(prepared, now=NOW + timedelta(seconds=901))),
        ("not_prepared", lambda: sign_and_append(d.workspace, sha("nothing"), d.verifier, d.registry, NOW)),
        ("not_prepared", lambda: sign_and_append(d.workspace, "../../rounds", d.verifier, d.registry, NOW)),
    ]:
        assert "prepare the statement again" in str(refused(d, code, act))
    d.write_registry(d.curator, d.verifier, d.ben)
    assert "prepare the statement again" in str(refused(d, "registry_changed", lambda: d.sign(prepared)))
    d.write_registry()
    assert d.sign(prepared).entry.index == 1


def test_a_closed_round_and_a_changed_engine_make_it_stale(d: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    source = d.round(reviewer_id=...)
    d.propose(source)
    first, second = d.prepare(source, d.ben), d.prepare(source, d.eva)
    monkeypatch.setattr("core.signing.signoff.code_digest", lambda: sha("another engine"))
    refused(d, "engine_changed", lambda: d.sign(first, d.ben))
    monkeypatch.undo()
    d.sign(first, d.ben)
    error = refused(d, "round_closed", lambda: d.sign(second, d.eva))
    assert "ben@example.org" in str(error)
    refused(d, "already_decided", lambda: d.prepare(source, d.ben))
    refused(d, "round_closed", lambda: d.prepare(source, d.eva))


def test_a_round_whose_files_changed_is_not_signed(d: Desk) -> None:
    source = d.round()
    d.propose(source)
    prepared = d.prepare(source)
    file = source.path / "outcomes.parquet"
    good = file.read_bytes()
    file.chmod(0o644)
    file.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    refused(d, "file_changed", lambda: d.sign(prepared), exit_code=6)
    refused(d, "file_changed", lambda: d.prepare(source), exit_code=6)
    second = d.round("r2")
    (second.path / "outcomes.parquet").chmod(0o644)
    (second.path / "outcomes.parquet").write_bytes(b"")
    refused(d, "file_changed", lambda: d.propose(second), exit_code=6)
    file.write_bytes(good)
    assert d.sign(prepared).entry.index == 1


def test_prepared_files_are_checked_before_they_are_signed(d: Desk) -> None:
    source = d.round()
    d.propose(source)
    prepared = d.prepare(source)
    receipt = prepared.folder / "receipt.json"
    receipt.chmod(0o644)
    receipt.write_bytes(receipt.read_bytes().replace(b"0.925", b"0.926"))
    refused(d, "file_changed", lambda: d.sign(prepared), exit_code=6)
    statement = prepared.folder / "statement.json"
    statement.chmod(0o644)
    statement.write_bytes(statement.read_bytes().replace(b'"approve"', b'"reject"'))
    refused(d, "not_prepared", lambda: d.sign(prepared))


def test_an_assessment_of_another_round_or_grid_is_refused(d: Desk) -> None:
    one, other = d.round(), d.round("r2")
    d.propose(one)
    refused(d, "assessment_differs", lambda: prepare(d.workspace, one, d.assess(other), d.verifier.id, "approve", "", d.registry, NOW))


def test_comments(d: Desk) -> None:
    source = d.round()
    d.propose(source)
    for comment in ("x" * 4001, "\ud800", 7, None):
        refused(d, "bad_comment", lambda comment=comment: d.prepare(source, comment=comment), exit_code=4)
    assert d.prepare(source, comment="x" * 4000).statement.predicate["comment"] == "x" * 4000


def test_signed_elsewhere(d: Desk) -> None:
    source = d.round()
    d.propose(source)
    prepared = d.prepare(source)
    carried = seal_document(prepared.statement, d.verifier).encoded
    assert append_signed(d.workspace, carried, d.registry, NOW).entry.line == carried
    assert append_signed(d.workspace, carried, d.registry, NOW).repeated


def test_a_statement_that_was_not_prepared_here_is_not_appended(d: Desk) -> None:
    """Otherwise a reviewer could sign figures that no engine computed."""
    source = d.round()
    d.propose(source)
    prepared = d.prepare(source)
    invented = build_statement("decision", {**prepared.statement.predicate, "comment": "invented"})
    refused(d, "not_prepared", lambda: append_signed(d.workspace, seal_document(invented, d.verifier).encoded, d.registry, NOW))


def test_sentences_and_warnings(d: Desk) -> None:
    source = d.round()
    d.propose(source)
    prepared = d.prepare(source, comment="fine")
    text = " ".join(prepared.sentences)
    assert "You, worker-verifier-02, approve round worked-example, proposed by worker-curator-01." in prepared.sentences
    assert "The 2 admitted pairs may train the next generation." in prepared.sentences
    assert "One signature approves both, and neither alone." in prepared.sentences
    assert "5 in = 2 admitted + 3 rejected + 0 held + 0 quarantined" in text
    assert "stated by the proposer only" in text
    # a bundle states no digest of its candidate
    assert prepared.warnings == ("The approval names a model, candidate, without identifying its bytes: the round states no digest of it.",)
    assert prepared.expires_at == NOW + timedelta(minutes=15)
    assert "Neither may its pairs" in " ".join(d.prepare(source, choice="reject").sentences)


def test_expired_statements_are_dropped_by_the_next_prepare(d: Desk) -> None:
    source = d.round(reviewer_id=...)
    d.propose(source)
    old = d.prepare(source, d.ben)
    d.prepare(source, d.eva, now=NOW + timedelta(hours=1))
    assert not old.folder.exists()
    refused(d, "not_prepared", lambda: open_prepared(d.workspace, old.digest))


def test_lock_then_propose_is_witnessed(d: Desk) -> None:
    holdout = json.dumps(json.loads(bundle())["holdout_suite"]).encode()
    entry = lock_holdout(d.workspace, holdout, d.eva.id, d.eva, d.registry, NOW)
    source = d.round()
    assert entry.statement.predicate["holdout_sha256"] == source.holdout_digest
    assert lock_words(d.ledger.read(), source.holdout_digest, None) == "witnessed: ledger entry 0, not proposed yet"
    d.propose(source)
    prepared = d.prepare(source)
    assert prepared.statement.predicate["holdout_witness"] == {"index": 0, "envelope_sha256": entry.digest}
    assert "The holdout was witnessed: ledger entry 0, before this proposal." in prepared.sentences


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"", "not_json"), (b"[]", "empty_holdout"), (b"{}", "empty_holdout"),
     (b'[{"id":"a","prompt":"x"},{"id":"a","prompt":"x"}]', "duplicate_holdout_id"),
     (b'[{"id":"a"}]', "missing_field"), (b'[{"id":"a","prompt":7}]', "wrong_type"), (b'[{"id":"' + b"a" * 257 + b'","prompt":"x"}]', "wrong_type"),
     (b'[{"id":1}]', "wrong_type"), (b'["a"]', "wrong_type"), (b'[{"id":""}]', "wrong_type"), (b'[{"id":"a","x":1.0}]', "ambiguous_number"),
     (b"\xef\xbb\xbf[]", "byte_order_mark")],
)
def test_a_holdout_that_no_round_would_take_is_not_locked(d: Desk, data: bytes, code: str) -> None:
    refused(d, code, lambda: lock_holdout(d.workspace, data, d.eva.id, d.eva, d.registry, NOW), exit_code=4)


def other_grid(**changes: Any) -> Any:
    document = json.loads(default_grid().canonical)
    document |= {"name": "strict", "version": 1, "author": "eva@example.org", "reason": "try"} | changes
    document["keys"]["min_cohens_kappa"]["value"] = "0.7"
    return grid_from_document(document)


def test_grids_decide_once_somebody_else_accepted_them(d: Desk) -> None:
    source, grid = d.round(), other_grid()
    refused(d, "grid_not_accepted", lambda: d.propose(source, grid=grid))
    accept_grid(d.workspace, grid, "worker-curator-01", d.registry, now=NOW)
    error = refused(d, "grid_not_accepted", lambda: d.propose(source, grid=grid))
    assert "worker-curator-01 alone" in str(error)
    entry = accept_grid(d.workspace, grid, "eva@example.org", d.registry, now=NOW)
    assert entry.accepted_by == ("worker-curator-01", "eva@example.org")
    assert d.propose(source, grid=grid).statement.predicate["grid_digest"] == grid.digest
    # the default grid's assessment is of another grid now; the statement follows the proposal
    refused(d, "assessment_differs", lambda: d.prepare(source))
    # and an acceptance that is gone makes a prepared statement stale
    prepared = prepare(d.workspace, source, d.assess(source, grid), d.verifier.id, "approve", "", d.registry, NOW)
    d.workspace.grids_file.unlink()
    refused(d, "grid_not_accepted", lambda: d.sign(prepared))


def test_accepting_a_grid(d: Desk) -> None:
    grid = other_grid()
    refused(d, "unknown_person", lambda: accept_grid(d.workspace, grid, "nobody", d.registry, now=NOW))
    accept_grid(d.workspace, grid, "eva@example.org", d.registry, now=NOW)
    assert accept_grid(d.workspace, grid, "Eva@Example.org", d.registry, now=NOW).accepted_by == ("eva@example.org",)
    assert (d.workspace.grids_dir / f"{grid.digest}.json").read_bytes() == grid.canonical
    # a published grid is never edited: the same name and version with other content
    refused(d, "grid_version_exists", lambda: accept_grid(d.workspace, other_grid(reason="another"), "eva@example.org", d.registry, now=NOW), 4)
    edited = other_grid(name="Default", reason="quietly")
    refused(d, "grid_version_exists", lambda: accept_grid(d.workspace, edited, "eva@example.org", d.registry, now=NOW), 4)


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b'{"grids_version":2,"accepted":[]}', b'{"grids_version":1,"accepted":[{"digest":"x"}]}',
     b'{"grids_version":true,"accepted":[]}'],
)
def test_a_broken_grids_file_is_bad_input(d: Desk, data: bytes) -> None:
    source = d.round()
    d.workspace.grids_file.write_bytes(data)
    with pytest.raises(CountersignError) as caught:
        d.propose(source)
    assert caught.value.exit_code == 4 and caught.value.where is not None and caught.value.where.file == "grids.json"
