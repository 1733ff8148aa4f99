"""Exports and their verification: what is signed comes back, and whatever is changed is named with its exit code."""
from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support_desk import Desk, desk
from support_signing import NOW, Actor, append, registry_of, rules_of, seal_document, sha

from core.canonical import sha256_hex
from core.errors import CountersignError, DigestMismatch
from core.gates.assessment import Assessment, recompute
from core.grid import default_grid, grid_from_document
from core.persons.registry import Registry
from core.rounds.folder import Round
from core.signing.evidence import EvidenceStore
from core.signing.export import Export, make_export, parse_export, read_export, write_folder
from core.signing.grids import AcceptedGrids, accept_grid
from core.signing.ledger import LedgerEntry, LedgerView
from core.signing.signoff import prepare
from core.signing.statement import build_statement
from core.signing.verify import Verification, verify_export


@dataclass
class Case:
    """A decided round with its export."""

    desk: Desk
    source: Round
    export: Export

    @property
    def view(self) -> LedgerView:
        return self.desk.ledger.read()

    def verify(self, **changes: Any) -> Verification:
        given: dict[str, Any] = {
            "export": self.export, "registry": self.desk.registry, "source": self.source, "view": self.view,
            "grids": AcceptedGrids.of(self.desk.workspace),
        } | changes
        return verify_export(given.pop("export"), given.pop("registry"), given.pop("source"), given.pop("view"), given.pop("grids"), **given)


def decided(folder: Path, choice: Any = "approve", **changes: Any) -> Case:
    d = desk(folder)
    source = d.round(**changes)
    d.propose(source)
    entry = d.sign(d.prepare(source, choice=choice, comment="read")).entry
    return Case(d, source, make_export(d.ledger.read(), entry, EvidenceStore.beside(d.workspace.ledger_file)))


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return decided(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """For tests that change nothing on disk."""
    return decided(tmp_path_factory.mktemp("verify"))


def failure(code: str, exit_code: int, act: Callable[[], Any]) -> CountersignError:
    with pytest.raises(CountersignError) as caught:
        act()
    assert (caught.value.code, caught.value.exit_code) == (code, exit_code), str(caught.value)
    return caught.value


def test_an_approval_verifies_and_recomputes(shared: Case) -> None:
    result = shared.verify()
    assert (result.outcome, result.exit_code) == ("APPROVED", 0)
    assert [name for name, _ in result.checks] == ["ledger", "decision", "proposal", "grid", "files", "recomputed"]
    lines = result.lines()
    assert lines[-1] == "APPROVED"
    assert any(shared.desk.registry.digest in line for line in lines)
    assert any(shared.view.root in line and "later revocations are unknown" in line for line in lines)
    assert result.as_dict()["reviewer"] == "worker-verifier-02"


def test_a_verified_rejection_never_exits_0(tmp_path: Path) -> None:
    result = decided(tmp_path, "reject").verify()
    assert (result.outcome, result.exit_code) == ("REJECTED", 3)


def test_a_rejected_refusal_record(tmp_path: Path) -> None:
    case = decided(tmp_path, "reject", sanity_outcomes={})
    assert "refusal.json" in case.export.evidence and "receipt.json" not in case.export.evidence
    assert (case.verify().outcome, case.verify().exit_code) == ("REJECTED", 3)
    assert parse_export(case.export.zip_bytes()) == case.export


def test_a_receipt_that_says_refuse_can_be_rejected_and_verifies(tmp_path: Path) -> None:
    case = decided(tmp_path, "reject", preregistered_holdout_sha256="0" * 64)
    assert case.export.decision_statement.predicate["receipt"]["promote_round"] is False
    assert case.verify().exit_code == 3


def test_signature_only_says_so_first_and_last(shared: Case) -> None:
    result = shared.verify(source=None, view=None, signature_only=True)
    lines = result.lines()
    assert result.exit_code == 3
    assert lines[0].startswith("SIGNATURE ONLY") and lines[-1] == "SIGNATURE ONLY"
    assert not any(word in " ".join(lines) for word in ("VALID", "APPROVED"))


def test_without_ledger_or_round_nothing_is_verified(shared: Case) -> None:
    failure("cannot_verify", 4, lambda: shared.verify(view=None))
    failure("cannot_verify", 4, lambda: shared.verify(source=None))


def test_round_trip_as_zip_and_folder(shared: Case, tmp_path: Path) -> None:
    data = shared.export.zip_bytes()
    assert parse_export(data) == shared.export and parse_export(data).zip_bytes() == data
    (tmp_path / "x.zip").write_bytes(data)
    write_folder(shared.export, tmp_path / "folder")
    assert read_export(tmp_path / "x.zip") == read_export(tmp_path / "folder") == shared.export
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == ["decision.json", "proposal.json", "receipt.json", "admitted_pairs.json", "export.json"]
        assert archive.testzip() is None
    assert set(shared.export.file_name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")
    assert shared.export.file_name.startswith("worked-example-approve-")
    failure("export_unreadable", 4, lambda: read_export(tmp_path / "absent.zip"))


def test_one_flipped_bit_anywhere_in_the_export_is_named(shared: Case) -> None:
    """Every byte of the zip, one random bit each: never an approval."""
    good, picker = shared.export.zip_bytes(), random.Random(8)
    registry, view, seen = shared.desk.registry, shared.view, set()
    for place in range(len(good)):
        data = bytearray(good)
        data[place] ^= 1 << picker.randrange(8)
        with pytest.raises(CountersignError) as caught:
            verify_export(parse_export(bytes(data)), registry, shared.source, view)
        assert caught.value.exit_code in (4, 5, 6)
        seen.add(caught.value.code)
    assert "not_canonical" in seen or "not_an_export" in seen


def flipped(data: bytes, place: int, bit: int) -> bytes:
    changed = bytearray(data)
    changed[place] ^= 1 << bit
    return bytes(changed)


def test_one_flipped_bit_in_each_file_of_the_folder_is_named(shared: Case, tmp_path: Path) -> None:
    picker = random.Random(9)
    write_folder(shared.export, tmp_path / "folder")
    codes: dict[str, set[int]] = {}
    for name, data in shared.export.files().items():
        file = tmp_path / "folder" / name
        file.chmod(0o644)
        for place in range(0, len(data), 11):
            file.write_bytes(flipped(data, place, picker.randrange(8)))
            with pytest.raises(CountersignError) as caught:
                shared.verify(export=read_export(tmp_path / "folder"))
            codes.setdefault(name, set()).add(caught.value.exit_code)
        file.write_bytes(data)
    assert shared.verify(export=read_export(tmp_path / "folder")).exit_code == 0
    assert codes["decision.json"] <= {4, 5} and codes["proposal.json"] <= {4, 5}
    assert codes["receipt.json"] == {4, 6} and codes["admitted_pairs.json"] == {4, 6}


def test_a_changed_receipt_file_is_named(shared: Case) -> None:
    receipt = shared.export.evidence["receipt.json"]
    assert b'"mean_dpo_margin":0.925' in receipt
    changed = replace(shared.export, evidence={**shared.export.evidence, "receipt.json": receipt.replace(b"0.925", b"9.925")})
    error = failure("file_changed", 6, lambda: shared.verify(export=changed))
    assert error.where is not None and error.where.file == "receipt.json"


@pytest.mark.parametrize(
    "change",
    [lambda files: files.pop("export.json"), lambda files: files.update(more=b"{}"),
     lambda files: files.update({"refusal.json": files.pop("receipt.json")}),
     lambda files: files.update({"receipt.json": b"{}"}), lambda files: files.update({"admitted_pairs.json": b'["a"]'}),
     lambda files: files.update({"admitted_pairs.json": b"{}"}), lambda files: files.update({"decision.json": files["proposal.json"]}),
     lambda files: files.update({"proposal.json": files["decision.json"]}), lambda files: files.update({"export.json": b'{"export_version":2}'})],
)
def test_other_files_are_no_export(shared: Case, tmp_path: Path, change: Callable[[dict[str, bytes]], Any]) -> None:
    files = shared.export.files()
    change(files)
    (tmp_path / "folder").mkdir()
    for name, data in files.items():
        (tmp_path / "folder" / name).write_bytes(data)
    with pytest.raises(CountersignError) as caught:
        read_export(tmp_path / "folder")
    assert caught.value.exit_code == 4


def test_a_folder_in_the_folder_is_no_file(shared: Case, tmp_path: Path) -> None:
    write_folder(shared.export, tmp_path / "folder")
    (tmp_path / "folder" / "more").mkdir()
    failure("wrong_files", 4, lambda: read_export(tmp_path / "folder"))


def test_other_zip_files_are_no_export(shared: Case) -> None:
    def packed(files: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", how) as archive:
            for name, data in files.items():
                archive.writestr(name, data)          # the time of writing is now, not 1980
        return buffer.getvalue()

    files = shared.export.files()
    for data in (b"", b"PK", packed(files), packed(files, zipfile.ZIP_DEFLATED), packed({"../x": b""}), shared.export.zip_bytes() + b"\0",
                 b"\0" + shared.export.zip_bytes(), packed({"bomb": b"\0" * 10_000_000}, zipfile.ZIP_DEFLATED)):
        with pytest.raises(CountersignError) as caught:
            parse_export(data)
        assert caught.value.exit_code == 4


def test_a_registry_that_no_longer_carries_the_signer(shared: Case) -> None:
    d = shared.desk
    error = failure("unknown_person", 5, lambda: shared.verify(registry=registry_of(d.curator, d.ben)))
    assert "worker-verifier-02" in str(error) and "decision.json" in str(error)
    error = failure("proposer_not_enrolled", 5, lambda: shared.verify(registry=registry_of(d.verifier, d.ben)))
    assert "worker-curator-01" in str(error)
    other_key = Actor("worker-verifier-02", roles=("reviewer",))
    failure("unknown_key", 5, lambda: shared.verify(registry=registry_of(d.curator, other_key)))
    weaker = Actor("worker-verifier-02", roles=("proposer",), private=d.verifier.private)
    failure("wrong_role", 5, lambda: shared.verify(registry=registry_of(d.curator, weaker)))
    failure("unknown_person", 5, lambda: shared.verify(registry=registry_of(d.curator), source=None, view=None, signature_only=True))


def test_aliases_and_owners_known_to_the_verifier_make_them_one_person(shared: Case) -> None:
    d = shared.desk
    both = Actor("worker-curator-01", aliases=("worker-verifier-02",), private=d.curator.private)
    failure("own_round", 5, lambda: shared.verify(registry=registry_of(both)))
    agent = Actor("worker-curator-01", owner="worker-verifier-02", private=d.curator.private)
    failure("own_round", 5, lambda: shared.verify(registry=registry_of(agent, d.verifier)))


def test_expiry_is_compared_with_the_time_of_issue_and_revocation_with_the_index(shared: Case) -> None:
    d = shared.desk

    def verifier(extra: str) -> Registry:
        return registry_of(d.curator, Actor("worker-verifier-02", roles=("reviewer",), extra=extra, private=d.verifier.private))

    assert shared.verify(registry=verifier('expires = "2026-03-01T12:00:01Z"')).exit_code == 0      # issued one second before
    failure("expired", 5, lambda: shared.verify(registry=verifier('expires = "2026-03-01T12:00:00Z"')))
    assert shared.verify(registry=verifier("revoked_from_index = 2")).exit_code == 0                # the decision is entry 1
    failure("revoked", 5, lambda: shared.verify(registry=verifier("revoked_from_index = 1")))


def test_another_registry_is_a_note_not_a_failure(shared: Case) -> None:
    d = shared.desk
    result = shared.verify(registry=registry_of(d.curator, d.verifier))
    assert result.exit_code == 0
    assert any("registry is another version" in note for note in result.notes)


def test_the_ledger_must_hold_it(shared: Case, tmp_path: Path) -> None:
    view = shared.view
    failure("ledger_truncated", 5, lambda: shared.verify(view=LedgerView(view.origin, view.entries[:1])))
    failure("another_ledger", 5, lambda: shared.verify(view=LedgerView("countersign/other", ())))
    older = replace(shared.export, head=LedgerView(view.origin, view.entries[:1]).head)
    failure("not_in_ledger", 5, lambda: shared.verify(export=older, view=LedgerView(view.origin, view.entries[:1])))
    failure("wrong_index", 4, lambda: shared.verify(export=replace(shared.export, index=0)))


def test_a_changed_round(case: Case, tmp_path: Path) -> None:
    error = failure("another_round", 6, lambda: case.verify(source=case.desk.round("another")))
    assert case.source.digest in str(error)
    file = case.source.path / "pairs.parquet"
    file.chmod(0o644)
    file.write_bytes(flipped(file.read_bytes(), 100, 0))
    error = failure("file_changed", 6, lambda: case.verify())
    assert error.where is not None and error.where.file == "pairs.parquet"
    renamed = DigestMismatch("file_changed", expected="a", got="b", remedy="c")
    failure("file_changed", 6, lambda: case.verify(source=renamed))
    # signature and person come first, whatever the round
    failure("unknown_person", 5, lambda: case.verify(source=renamed, registry=registry_of(case.desk.curator)))


def strict(version: int = 1) -> Any:
    document = json.loads(default_grid().canonical)
    document |= {"name": "strict", "version": version, "author": "eva", "reason": "try"}
    return grid_from_document(document)


def test_a_changed_or_missing_or_unaccepted_grid(tmp_path: Path) -> None:
    d, grid = desk(tmp_path), strict()
    accept_grid(d.workspace, grid, "eva@example.org", d.registry, now=NOW)
    source = d.round()
    d.propose(source, grid=grid)
    prepared = prepare(d.workspace, source, d.assess(source, grid), d.verifier.id, "approve", "", d.registry, NOW)
    entry = d.sign(prepared).entry
    case = Case(d, source, make_export(d.ledger.read(), entry, EvidenceStore.beside(d.workspace.ledger_file)))
    assert case.verify().exit_code == 0
    assert case.verify(grid=grid).exit_code == 0
    failure("grid_changed", 6, lambda: case.verify(grid=default_grid()))
    failure("grid_not_accepted", 5, lambda: case.verify(grids=AcceptedGrids({}), grid=grid))
    failure("grid_missing", 6, lambda: case.verify(grids=None))
    result = case.verify(grids=None, grid=grid)
    assert result.exit_code == 0 and any("--grids" in note for note in result.notes)
    file = d.workspace.grids_dir / f"{grid.digest}.json"
    file.chmod(0o644)
    file.write_bytes(strict(2).canonical)
    failure("grid_changed", 6, lambda: case.verify())


def test_figures_that_no_engine_computed(case: Case) -> None:
    """A reviewer's valid signature over other figures, appended by somebody who skipped prepare."""
    d, honest = case.desk, case.export.decision_statement.predicate
    other = d.round("other")
    proposed = d.propose(other)
    prepared = d.prepare(other)
    for changes, named in [
        ({"receipt": {**honest["receipt"], "mean_dpo_margin": 1.925}}, "receipt"),
        ({"reason_table": {**honest["reason_table"], "in": 6, "held": 1}}, "reason_table"),
        ({"holdout_witness": {"index": 0, "envelope_sha256": sha("x")}}, "holdout_witness"),
    ]:
        forged = build_statement("decision", {**prepared.statement.predicate, **changes})
        envelope = seal_document(forged, d.verifier)
        view = d.ledger.read()
        entry = LedgerEntry(view.size, envelope, forged)
        ledger = LedgerView(view.origin, (*view.entries, entry))
        evidence = {name: (prepared.folder / name).read_bytes() for name in ("receipt.json", "admitted_pairs.json")}
        export = Export(envelope, forged, proposed.envelope, proposed.statement, evidence, entry.index, ledger.head)
        error = failure("recomputed_differently", 7, lambda export=export, ledger=ledger: case.verify(export=export, source=other, view=ledger))
        assert error.where is not None and error.where.field == named


def test_a_receipt_file_that_no_engine_computed(case: Case) -> None:
    """Statement, receipt file and signatures agree with each other, and not with the round."""
    d = case.desk
    other = d.round("other")
    proposed, prepared = d.propose(other), d.prepare(other)
    receipt = (prepared.folder / "receipt.json").read_bytes().replace(b'"net_holdout_gain":0.2', b'"net_holdout_gain":0.4')
    predicate = prepared.statement.predicate
    forged = build_statement("decision", {
        **predicate, "receipt_sha256": sha256_hex(receipt), "receipt": {**predicate["receipt"], "net_holdout_gain": 0.4},
    })
    envelope, view = seal_document(forged, d.verifier), d.ledger.read()
    ledger = LedgerView(view.origin, (*view.entries, LedgerEntry(view.size, envelope, forged)))
    evidence = {"receipt.json": receipt, "admitted_pairs.json": (prepared.folder / "admitted_pairs.json").read_bytes()}
    export = Export(envelope, forged, proposed.envelope, proposed.statement, evidence, view.size, ledger.head)
    error = failure("recomputed_differently", 7, lambda: case.verify(export=export, source=other, view=ledger))
    assert "net_holdout_gain" in str(error)


def test_recomputation_is_a_seam_and_gets_the_statements_own_gate_and_code(shared: Case) -> None:
    calls: list[tuple[Any, ...]] = []

    def spy(source: Round, grid: Any, gate: Any, code: str, folder: Path) -> Assessment:
        calls.append((source.digest, grid.digest, gate, code, list(folder.iterdir())))
        return recompute(source, grid, gate, code, folder)

    assert shared.verify(recompute=spy).exit_code == 0
    predicate = shared.export.decision_statement.predicate
    assert calls == [(shared.source.digest, default_grid().digest, predicate["literal_gate"], predicate["code_digest"], [])]


def test_another_engine_is_a_note(shared: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.signing.verify.code_digest", lambda: sha("another"))
    result = shared.verify()
    assert result.exit_code == 0
    assert any("engine here is another version" in note for note in result.notes)


def test_the_reviewer_whom_the_round_names(case: Case) -> None:
    """Ben's valid signature on a round that names another reviewer, appended by somebody who skipped prepare."""
    d = case.desk
    source = d.round("two")
    proposed, prepared = d.propose(source), d.prepare(source)
    forged = build_statement("decision", {**prepared.statement.predicate, "reviewer": "ben@example.org"})
    envelope, view = seal_document(forged, d.ben), d.ledger.read()
    ledger = LedgerView(view.origin, (*view.entries, LedgerEntry(view.size, envelope, forged)))
    evidence = {name: (prepared.folder / name).read_bytes() for name in ("receipt.json", "admitted_pairs.json")}
    export = Export(envelope, forged, proposed.envelope, proposed.statement, evidence, view.size, ledger.head)
    failure("another_reviewer_named", 5, lambda: case.verify(export=export, source=source, view=ledger))


def after_a_rejection(case: Case) -> tuple[Round, Export, LedgerView]:
    """A ledger that somebody extended by hand: Ben rejects round two, then Eva's approval follows all the same."""
    d = case.desk
    source = d.round("two", reviewer_id=...)
    proposed = d.propose(source)
    approval, rejection = d.prepare(source, d.eva), d.prepare(source, d.ben, choice="reject")
    view = d.ledger.read()
    entries = list(view.entries)
    for prepared, actor in ((rejection, d.ben), (approval, d.eva)):
        entries.append(LedgerEntry(len(entries), seal_document(prepared.statement, actor), prepared.statement))
    ledger = LedgerView(view.origin, tuple(entries))
    evidence = {name: (approval.folder / name).read_bytes() for name in ("receipt.json", "admitted_pairs.json")}
    export = Export(entries[-1].envelope, approval.statement, proposed.envelope, proposed.statement, evidence, entries[-1].index, ledger.head)
    return source, export, ledger


def test_an_approval_appended_after_the_closing_rejection(case: Case) -> None:
    source, export, ledger = after_a_rejection(case)
    failure("after_closing", 5, lambda: case.verify(export=export, source=source, view=ledger))


def test_a_decision_of_somebody_unknown_is_noted_and_closes_nothing(case: Case) -> None:
    source, export, ledger = after_a_rejection(case)
    result = case.verify(export=export, source=source, view=ledger, registry=registry_of(case.desk.curator, case.desk.eva))
    assert (result.outcome, result.exit_code) == ("APPROVED", 0)
    assert any("decision by ben@example.org" in note and "does not count" in note for note in result.notes)


def test_a_torn_ledger_is_noted(case: Case) -> None:
    with case.desk.ledger.file.open("ab") as file:
        file.write(b'{"torn')
    result = case.verify()
    assert result.exit_code == 0 and any("torn line of 6 bytes" in note for note in result.notes)


def test_old_receipts_do_not_expire(case: Case) -> None:
    """expiresAt limits the time to the append only."""
    case.desk.propose(case.desk.round("much later"), now=NOW + timedelta(days=400))
    assert case.verify().exit_code == 0


def test_only_decisions_are_exported(case: Case) -> None:
    failure("not_a_decision", 5, lambda: make_export(case.view, case.view.entries[0], EvidenceStore.beside(case.desk.workspace.ledger_file)))
    store = EvidenceStore(case.desk.workspace.root / "nowhere")
    failure("file_missing", 6, lambda: make_export(case.view, case.view.entries[1], store))


def test_append_needs_the_rules_too(case: Case) -> None:
    """The helper that other tests append with runs the real admission."""
    d = case.desk
    failure("already_appended", 5, lambda: append(d.ledger, case.view.entries[1].statement, d.verifier, rules_of(d.registry)))
