"""Somebody who may write the workspace edits what was computed and stored: nothing that they write leads to a signature, and a
program that asks for an approval does not act on it."""
from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support_desk import Desk, desk
from support_signing import NOW, seal_document

from core.canonical import canonical_bytes, sha256_hex
from core.cli.main import run
from core.errors import CountersignError, DigestMismatch, EngineRefusal, LedgerError, RecomputationError
from core.files import write_new
from core.gates import computed_here
from core.gates import confirmed as confirmed_module
from core.gates.assessment import ASSESSMENT_FILE, DIGEST_FILE, Assessment, assess, load_or_assess
from core.gates.confirmed import confirmed_assessment
from core.gates.receipt import PROMOTE_AWAITING
from core.grid import default_grid
from core.rounds.folder import Round
from core.signing.signoff import Choice, append_signed, open_prepared, prepare, sign_and_append
from core.signing.statement import build_statement

Change = Callable[[dict[str, Any]], Any]

# a round whose lock does not hold: the engine refuses it
REFUSED: dict[str, Any] = {"preregistered_holdout_sha256": "0" * 64}


@pytest.fixture(autouse=True)
def _nothing_computed_here() -> None:
    computed_here.forget()


@pytest.fixture
def d(tmp_path: Path) -> Desk:
    return desk(tmp_path)


def proposed(d: Desk, **changes: Any) -> Round:
    source = d.round(**changes)
    d.propose(source)
    return source


def edited(stored: Assessment, change: Change) -> Assessment:
    """What an attacker makes of a stored assessment: another document, with the digest beside it made to fit."""
    document = json.loads((stored.folder / ASSESSMENT_FILE).read_bytes())
    change(document)
    data = canonical_bytes(document)
    for name, content in ((ASSESSMENT_FILE, data), (DIGEST_FILE, f"{sha256_hex(data)}  {ASSESSMENT_FILE}\n".encode())):
        (stored.folder / name).unlink()
        write_new(stored.folder / name, content)
    return Assessment(document, stored.folder)


def promoted(document: dict[str, Any]) -> None:
    document["verdict"] = PROMOTE_AWAITING
    for check in document["checks"]:
        check["state"] = "holds" if check["state"] in ("fails", "undefined") else check["state"]
    if document["receipt"] is not None:
        document["receipt"]["holdout_lock_valid"] = True


EDITS: dict[str, Change] = {
    "verdict": promoted,
    "a count": lambda document: document["reason_table"].update(admitted=document["reason_table"]["admitted"] + 1),
    "a check": lambda document: document["checks"][0].update(state="holds" if document["checks"][0]["state"] == "fails" else "fails"),
    "a figure of the receipt": lambda document: document["receipt"].update(net_holdout_gain=0.9),
    "what the evidence proves": lambda document: document["strength"]["checks"][0].update(text="proven"),
    "a judge": lambda document: next(iter(document["judges"].values())).update(n=10_000),
    "a member more": lambda document: document.update(approved=True),
}


@pytest.mark.parametrize("choice", ["approve", "reject"])
@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_assessment_leads_to_no_statement(d: Desk, edit: str, choice: Choice) -> None:
    source = proposed(d, **(REFUSED if edit == "verdict" else {}))
    forged = edited(d.assess(source), EDITS[edit])
    assert load_or_assess(d.workspace, source, default_grid()).document == forged.document          # shown, as it cannot be told here
    computed_here.forget()                                                                          # another process prepares
    with pytest.raises(DigestMismatch) as caught:
        prepare(d.workspace, source, forged, d.verifier.id, choice, "", d.registry, NOW)
    assert (caught.value.code, caught.value.exit_code) == ("assessment_changed", 6)
    assert not list(d.workspace.prepared_dir.glob("*")) and d.ledger.read().size == 1


def test_the_error_names_what_differs(d: Desk) -> None:
    source = proposed(d)
    edited(d.assess(source), lambda document: document.update(verdict="REFUSE", receipt=None))
    with pytest.raises(DigestMismatch, match="another receipt, verdict"):
        confirmed_assessment(d.workspace, source, default_grid())


def test_the_process_that_computed_it_notices_too(d: Desk) -> None:
    """Without computing again: what this process computed is in its memory, where no file reaches."""
    source = proposed(d)
    forged = edited(d.assess(source), EDITS["a count"])
    with pytest.raises(DigestMismatch), pytest.MonkeyPatch.context() as patched:
        patched.setattr(confirmed_module, "assess", lambda *_, **__: pytest.fail("computed again"))
        prepare(d.workspace, source, forged, d.verifier.id, "reject", "", d.registry, NOW)


def test_what_was_shown_has_to_be_what_is_signed(d: Desk) -> None:
    """The files are right again, but the page still holds the edited figures."""
    source = proposed(d)
    stored = d.assess(source)
    shown = Assessment({**stored.document, "verdict": "REFUSE"}, stored.folder)
    with pytest.raises(LedgerError) as caught:
        prepare(d.workspace, source, shown, d.verifier.id, "approve", "", d.registry, NOW)
    assert caught.value.code == "assessment_differs" and "prepare the statement again" in str(caught.value)


@pytest.mark.parametrize("name", ["scored.parquet", "admitted_pairs.json"])
def test_the_files_beside_it_count_too(d: Desk, name: str) -> None:
    source = proposed(d)
    stored = d.assess(source)
    data = (stored.folder / name).read_bytes()
    (stored.folder / name).unlink()
    write_new(stored.folder / name, data + b" ")
    with pytest.raises(DigestMismatch) as caught:
        d.prepare(source)
    assert caught.value.code == "assessment_changed" and caught.value.where is not None and caught.value.where.file == name


def test_an_edit_by_accident_shows_when_it_is_loaded(d: Desk) -> None:
    source = d.round()
    stored = d.assess(source)
    file = stored.folder / ASSESSMENT_FILE
    document = json.loads(file.read_bytes()) | {"verdict": "REFUSE"}
    file.unlink()
    write_new(file, canonical_bytes(document))
    with pytest.raises(DigestMismatch) as caught:
        d.assess(source)
    assert caught.value.code == "assessment_changed" and "remove the folder" in caught.value.remedy
    (stored.folder / DIGEST_FILE).unlink()
    with pytest.raises(DigestMismatch):
        d.assess(source)
    shutil.rmtree(stored.folder)
    assert d.assess(source).verdict == PROMOTE_AWAITING                      # the remedy works


def test_the_digest_is_the_one_that_sha256sum_checks(d: Desk) -> None:
    stored = d.assess(d.round())
    line = (stored.folder / DIGEST_FILE).read_text()
    assert line == f"{sha256_hex((stored.folder / ASSESSMENT_FILE).read_bytes())}  assessment.json\n"


def forged_statement(d: Desk, source: Round, **changes: Any) -> str:
    """A prepared statement that no engine made, put where prepared statements lie, evidence and digests made to fit."""
    honest = d.prepare(source)
    forged = build_statement("decision", {**honest.statement.predicate, **changes})
    folder = d.workspace.prepared_dir / forged.digest
    shutil.copytree(honest.folder, folder)
    (folder / "statement.json").unlink()
    write_new(folder / "statement.json", forged.payload)
    assert open_prepared(d.workspace, forged.digest).payload == forged.payload
    return forged.digest


def test_a_statement_with_another_figure_is_not_signed(d: Desk) -> None:
    source = proposed(d)
    table = dict(d.prepare(source).statement.predicate["reason_table"])
    reasons = dict(table["reasons"])
    reasons["length_bias"], reasons["duplicate"] = reasons["length_bias"] - 1, reasons["duplicate"] + 1
    digest = forged_statement(d, source, reason_table={**table, "reasons": reasons})
    with pytest.raises(RecomputationError, match="another reason_table") as caught:
        sign_and_append(d.workspace, digest, d.verifier, d.registry, NOW)
    assert caught.value.exit_code == 7 and d.ledger.read().size == 1
    receipt = seal_document(open_prepared(d.workspace, digest).statement, d.verifier)
    with pytest.raises(RecomputationError):                                   # nor recorded when it was signed elsewhere
        append_signed(d.workspace, receipt.encoded, d.registry, NOW)
    assert d.ledger.read().size == 1


def test_a_rejection_turned_into_an_approval_is_not_signed(d: Desk) -> None:
    source = proposed(d, **REFUSED)
    honest = d.prepare(source, choice="reject")
    changed: dict[str, Any] = {"decision": "approve"}
    with pytest.raises(CountersignError):
        changed["receipt"] = {**honest.statement.predicate["receipt"], "holdout_lock_valid": True, "promote_round": True}
        forged = build_statement("decision", {**honest.statement.predicate, **changed})
        folder = d.workspace.prepared_dir / forged.digest
        shutil.copytree(honest.folder, folder)
        (folder / "statement.json").unlink()
        write_new(folder / "statement.json", forged.payload)
        sign_and_append(d.workspace, forged.digest, d.verifier, d.registry, NOW)
    assert d.ledger.read().size == 1


def test_the_honest_way_still_signs(d: Desk) -> None:
    source = proposed(d)
    prepared = d.prepare(source)
    computed_here.forget()
    assert d.sign(prepared).entry.statement.approves


def test_an_approval_of_what_the_engine_refuses_names_the_refusal(d: Desk) -> None:
    source = proposed(d, **REFUSED)
    with pytest.raises(EngineRefusal):
        d.prepare(source)


def decide(d: Desk, source: Round, *options: str) -> int:
    return run(["decide", source.digest, "--json", *options, "--workspace", str(d.workspace.root)])


def test_decide_for_programs_does_not_take_the_stored_figures(d: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    refused, source = d.round("refused", **REFUSED), proposed(d)
    d.sign(d.prepare(source))
    for one in (refused, source):
        assert decide(d, one, "--fresh") == (3 if one is refused else 0)
    assert decide(d, source, "--require-approved") == 0
    capfd.readouterr()
    edited(d.assess(refused), promoted)
    edited(d.assess(source), EDITS["a count"])
    computed_here.forget()
    place = ["--workspace", str(d.workspace.root)]
    assert run(["decide", refused.digest, *place]) == 0                      # what a page shows, and nothing acts on
    assert PROMOTE_AWAITING.capitalize() in capfd.readouterr().out
    for one, options in ((refused, ["--json"]), (source, ["--json"]), (source, ["--json", "--require-approved"]), (refused, ["--fresh"]),
                         (refused, ["--canonical", "--reviewer", d.verifier.id]), (source, ["--require-approved"])):
        computed_here.forget()
        assert run(["decide", one.digest, *options, *place]) == 6
        out, error = capfd.readouterr()
        assert "assessment_changed" in out + error and '"verdict"' not in out and "promote_round" not in out


def test_the_command_line_prepares_nothing_of_it(d: Desk, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = proposed(d, **REFUSED)
    edited(d.assess(source), promoted)
    computed_here.forget()
    out = tmp_path / "statement.json"
    options = ["--approve", "--as", d.verifier.id, "--prepare-only", "--out", str(out), "--workspace", str(d.workspace.root)]
    assert run(["sign", "--round", source.digest, *options]) == 6
    assert "assessment_changed" in capfd.readouterr().err and not out.exists()


def test_confirmed_stores_what_is_not_stored_yet(d: Desk) -> None:
    source = d.round()
    found = confirmed_assessment(d.workspace, source, default_grid())
    assert load_or_assess(d.workspace, source, default_grid()).document == found.document
    assert (found.folder / ASSESSMENT_FILE).is_file()


def test_a_changed_round_is_noticed_before_anything_is_computed(d: Desk) -> None:
    source = proposed(d)
    d.assess(source)
    file = source.path / "pairs.parquet"
    data = file.read_bytes()
    file.unlink()
    write_new(file, data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(DigestMismatch) as caught:
        confirmed_assessment(d.workspace, source, default_grid())
    assert caught.value.where is not None and "pairs.parquet" in str(caught.value.where)


def test_only_the_last_documents_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computed_here, "_LIMIT", 2)
    for name in "abc":
        computed_here.remember((name, "g", "c"), name.encode())
    assert [computed_here.recall((name, "g", "c")) for name in "abc"] == [None, b"b", b"c"]


def test_computing_twice_gives_the_same_bytes(d: Desk, tmp_path: Path) -> None:
    source = d.round()
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
        assess(source, default_grid(), folder)
    for name in (ASSESSMENT_FILE, DIGEST_FILE, "scored.parquet", "admitted_pairs.json"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()
