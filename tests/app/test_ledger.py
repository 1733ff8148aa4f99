"""The ledger page: the chain, an opened entry, the verification of an uploaded export, and the states without a ledger."""
from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from support_desk import Desk
from support_sheets import links, open_page, table
from support_sign_off import Room, make_desk, read, room_of
from support_signing import Actor

from core.rounds.folder import Round
from core.signing.evidence import EvidenceStore
from core.signing.export import make_export
from core.signing.propose import lock_holdout
from dashboard import signing_ledger
from dashboard.server import WORKSPACE_VARIABLE


@pytest.fixture(scope="module")
def approved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Round]:
    """A registration, a proposal, an approval."""
    made = make_desk(tmp_path_factory.mktemp("approved"))
    source = made.round()
    lock_holdout(made.workspace, b'[{"id":"h-1","prompt":"x"},{"id":"h-2","prompt":"y"}]', "ben@example.org", made.ben, made.registry, Room(made).now)
    made.propose(source)
    made.sign(made.prepare(source, comment="both pairs read"))
    return made, source


@pytest.fixture
def room(approved: tuple[Desk, Round], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    return room_of(approved[0], tmp_path, monkeypatch)


def export_bytes(room: Room) -> bytes:
    view = room.desk.ledger.read()
    return make_export(view, view.entries[-1], EvidenceStore.beside(room.desk.workspace.ledger_file)).zip_bytes()


def verify(at: AppTest, data: bytes, name: str = "export.zip") -> AppTest:
    return at.file_uploader(key="uploaded_export").upload(name, data, "application/zip").run()


def test_the_chain(room: Room) -> None:
    at = open_page("ledger.py")
    assert not at.exception
    assert read(at, "headline-ledger") == "3 entries on record, 1 decision among them"
    view = room.desk.ledger.read()
    assert "3 entries" in read(at, "head") and view.root[:12] in read(at, "head") and str(view.origin) in read(at, "head")
    rows = table(at, "section-chain")
    assert [row[:4] for row in rows] == [
        ["2", "approved", "worked-example", "worker-verifier-02"], ["1", "proposal", "worked-example", "worker-curator-01"],
        ["0", "registration", f"holdout {view.entries[0].statement.predicate['holdout_sha256'][:12]} the holdout digest", "ben@example.org"],
    ]
    assert rows[0][4:6] == ["2026-03-01 12:00 UTC", "both pairs read"] and rows[1][5] == ""
    assert links(at, "section-chain")["2"] == ("ledger", {"entry": "2"})


def test_a_decision_opens_with_signature_verification_and_export(room: Room, approved: tuple[Desk, Round]) -> None:
    at = open_page("ledger.py", entry="2")
    assert not at.exception
    entry = room.entries()[2]
    assert "worker-verifier-02 approved round worked-example, proposed by worker-curator-01." in read(at, "headline-entry-2")
    assert "The signature holds by worker-verifier-02" in read(at, "section-entry-2-signature")
    assert "both pairs read" in read(at, "section-entry-2-signature")
    result = read(at, f"section-verification-{entry.digest}")
    assert "APPROVED Verified and recomputed" in result
    assert [button.label for button in at.get("download_button")] == ["Download the receipt", "Download the envelope"]
    assert at.code[0].value.startswith("countersign verify worked-example-approve-")
    assert at.code[1].value.encode() == entry.statement.payload
    assert approved[1].digest[:12] in read(at, "section-entry-2-bound")
    assert links(at, "headline-entry-2") == {"All entries": ("ledger", {}), "Older": ("ledger", {"entry": "1"})}


@pytest.mark.parametrize(("index", "word", "fact"), [
    ("0", "ben@example.org registered a holdout of 2 items", "2 items"),
    ("1", "worker-curator-01 proposed round worked-example", "no earlier decision"),
])
def test_other_entries(room: Room, index: str, word: str, fact: str) -> None:
    at = open_page("ledger.py", entry=index)
    assert not at.exception and word in read(at, f"headline-entry-{index}") and fact in read(at, f"section-entry-{index}-bound")
    assert "The signature holds" in read(at, f"section-entry-{index}-signature")
    assert at.code[0].value.encode() == room.entries()[int(index)].statement.payload


def test_verify_again_looks_again(room: Room, approved: tuple[Desk, Round]) -> None:
    """A file that changed after the first look is found by the second; the first says when it was made."""
    at = open_page("ledger.py", entry="2")
    key = room.entries()[2].digest
    assert "at 2026-03-01 12:00:00 UTC" in read(at, f"section-verification-{key}")
    file = room.desk.workspace.round_path(approved[1].digest) / "outcomes.parquet"
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    room.wait(5)
    at.button(key=f"again-{key}").click().run()
    result = read(at, f"section-verification-{key}")
    assert "Not valid" in result and "outcomes.parquet" in result and "exit code 6" in result and "at 2026-03-01 12:00:05 UTC" in result


def test_a_registry_without_the_signer(room: Room) -> None:
    room.desk.write_registry(room.desk.curator, room.desk.ben)
    at = open_page("ledger.py", entry="2")
    assert "It does not hold under this registry." in read(at, "section-entry-2-signature")
    assert "unknown_person" in read(at, "section-entry-2-signature")
    result = read(at, f"section-verification-{room.entries()[2].digest}")
    assert "Not valid" in result and "exit code 5" in result and "Verified" not in result


def test_a_revoked_signer(room: Room) -> None:
    verifier = Actor("worker-verifier-02", roles=("reviewer",), extra="revoked_from_index = 2", private=room.desk.verifier.private)
    room.desk.write_registry(room.desk.curator, verifier, room.desk.ben)
    assert "revoked" in read(open_page("ledger.py", entry="2"), "section-entry-2-signature")


def test_an_upload_verifies(room: Room) -> None:
    at = verify(open_page("ledger.py"), export_bytes(room), name="../../etc/\u202epasswd.zip")
    assert not at.exception
    assert "The file says: worker-verifier-02 approved round worked-example" in read(at, "verify-what")
    assert "APPROVED Verified and recomputed" in read(at, "verify-result")
    assert "passwd" not in read(at)                                            # the file's own name is never used


def test_a_flipped_byte_anywhere_is_never_valid(room: Room) -> None:
    data = export_bytes(room)
    at = open_page("ledger.py")
    for place in range(10, len(data), len(data) // 7):
        verify(at, data[:place] + bytes([data[place] ^ 1]) + data[place + 1:])
        text = read(at)
        assert "Not valid" in text and "Verified and recomputed" not in text and not at.exception


def test_without_the_round_only_the_signature_is_checked(room: Room, approved: tuple[Desk, Round]) -> None:
    data, folder = export_bytes(room), room.desk.workspace.round_path(approved[1].digest)
    folder.rename(folder.with_name("elsewhere-" + folder.name[:8]))
    at = verify(open_page("ledger.py"), data)
    result = read(at, "verify-result")
    assert "SIGNATURE ONLY Only the signatures were checked" in result
    for claim in ("Verified", "APPROVED", "VALID"):
        assert claim not in result
    # the opened entry says the same, and never more
    opened = read(open_page("ledger.py", entry="2"), f"section-verification-{room.entries()[2].digest}")
    assert "SIGNATURE ONLY" in opened and "APPROVED" not in opened


def test_a_receipt_of_another_ledger(room: Room, tmp_path: Path) -> None:
    other = make_desk(tmp_path / "other")
    other.verifier, other.curator, other.ben, other.eva = room.desk.verifier, room.desk.curator, room.desk.ben, room.desk.eva
    other.write_registry()
    source = other.round()
    other.propose(source)
    other.sign(other.prepare(source))
    at = verify(open_page("ledger.py"), export_bytes(Room(other)))
    assert "Not valid" in read(at, "verify-result") and "another_ledger" in read(at, "verify-result")


def test_lost_evidence_is_said(room: Room) -> None:
    for file in EvidenceStore.beside(room.desk.workspace.ledger_file).folder.iterdir():
        file.unlink()
    at = open_page("ledger.py", entry="2")
    assert "file_missing" in read(at, f"error-export-{room.entries()[2].digest}")
    assert [button.label for button in at.get("download_button")] == ["Download the envelope"]


@pytest.mark.parametrize("named", ["3", "99999999999999999999", "-1", "٣", "x", "1.0"])
def test_an_entry_that_is_not_there(room: Room, named: str) -> None:
    at = open_page("ledger.py", entry=named)
    assert not at.exception and f"The ledger has no entry {named}." in read(at, "state-unknown-entry")
    assert len(table(at, "section-chain")) == 3


def test_a_long_ledger_comes_in_pages(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing_ledger, "_ROWS", 2)
    assert [row[0] for row in table(open_page("ledger.py"), "section-chain")] == ["2", "1"]
    assert [row[0] for row in table(open_page("ledger.py", entries_page="2"), "section-chain")] == ["0"]


def test_a_torn_end_is_reported(room: Room) -> None:
    with room.desk.workspace.ledger_file.open("ab") as file:
        file.write(b'{"half')
    at = open_page("ledger.py")
    assert "6 bytes after the last line" in read(at, "head") and len(table(at, "section-chain")) == 3


def test_an_edited_line_breaks_the_page_loudly(room: Room) -> None:
    file = room.desk.workspace.ledger_file
    lines = file.read_bytes().split(b"\n")
    file.write_bytes(b"\n".join([lines[1], lines[0], *lines[2:]]))
    at = open_page("ledger.py")
    assert not at.exception and read(at, "headline-ledger") == "The ledger cannot be trusted"
    assert "keeper of the ledger" in read(at, "error-ledger") and not at.get("download_button")


def test_a_dropped_tail_breaks_the_page_loudly(room: Room) -> None:
    file = room.desk.workspace.ledger_file
    file.write_bytes(b"\n".join(file.read_bytes().split(b"\n")[:2]) + b"\n")
    at = open_page("ledger.py")
    assert "ledger_truncated" in read(at, "error-ledger")


def test_no_ledger_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room_of(make_desk(tmp_path / "first"), tmp_path / "copy", monkeypatch)
    at = open_page("ledger.py")
    assert not at.exception and read(at, "headline-ledger") == "The ledger is empty"
    assert "countersign propose" in read(at, "state-empty")


def test_nobody_enrolled(room: Room) -> None:
    data = export_bytes(room)
    room.desk.workspace.registry_file.unlink()
    at = open_page("ledger.py", entry="2")
    assert not at.exception and "Not checked." in read(at, "section-entry-2-signature")
    assert "Nobody is enrolled" in read(at, "state-verify")
    assert "Nobody is enrolled" in read(verify(open_page("ledger.py"), data), "state-no-registry")


def test_no_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKSPACE_VARIABLE, str(tmp_path / "nowhere"))
    at = open_page("ledger.py")
    assert not at.exception and "No round yet" in read(at)


def test_revocations_and_expiries_of_the_registry(room: Room) -> None:
    assert "No person and no key in it is revoked or expires." in read(open_page("ledger.py"), "section-revocations")
    gone = Actor("gone@example.org", extra='revoked_from_index = 2\nexpires = "2027-01-31T00:00:00Z"')
    room.desk.write_registry(room.desk.curator, room.desk.verifier, room.desk.ben, gone)
    at = open_page("ledger.py")
    assert not at.exception
    assert table(at, "section-revocations") == [["gone@example.org", "from entry 2 on", "2027-01-31 00:00 UTC"]]
    assert room.desk.registry.digest[:12] in read(at, "section-revocations")
