"""A line that somebody wrote into the ledger file by hand decides nothing on any page, and each page says that it is there."""
from __future__ import annotations

from pathlib import Path

import pytest
from support_forgery import append_by_hand, unsigned
from support_sheets import links, open_page, said, sheets, table
from support_sign_off import Room, make_desk, room_of

from core.errors import LedgerError
from core.rounds.folder import Round


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    return room_of(make_desk(tmp_path / "made"), tmp_path / "copy", monkeypatch)


@pytest.fixture
def source(room: Room) -> Round:
    """The worked example, proposed, with an approval of it prepared and never signed."""
    source = room.desk.round()
    room.desk.propose(source)
    room.desk.assess(source)
    return source


def texts(room: Room, source: Round) -> dict[str, str]:
    pages = {"rounds": open_page("rounds.py"), "overview": open_page("overview.py", round=source.digest), "sign_off": room.open(source)}
    assert not any(at.exception for at in pages.values())
    return {name: said(at).lower() for name, at in pages.items()}


def test_an_unsigned_approval_changes_nothing_that_the_pages_say(room: Room, source: Round) -> None:
    before = texts(room, source)
    prepared = room.desk.prepare(source)
    assert append_by_hand(room.desk.ledger, unsigned(prepared.statement, room.desk.verifier)).size == 2
    after = texts(room, source)
    assert before["overview"] == after["overview"]
    assert before["rounds"] == after["rounds"].replace(" left out: entry 1 , which counts for nothing", "") != after["rounds"]
    assert "awaits a reviewer's decision" in before["sign_off"] and "awaits a reviewer's decision" in after["sign_off"]


def test_the_same_approval_signed_is_shown(room: Room, source: Round) -> None:
    room.desk.sign(room.desk.prepare(source))
    shown = texts(room, source)
    assert "approved" in shown["rounds"] and "awaits a reviewer's decision" not in shown["sign_off"]


def test_the_ledger_shows_it_as_counting_for_nothing(room: Room, source: Round) -> None:
    prepared = room.desk.prepare(source, comment="looks fine")
    append_by_hand(room.desk.ledger, unsigned(prepared.statement, room.desk.verifier))
    at = open_page("ledger.py")
    assert not at.exception
    assert said(at, "headline-ledger") == "2 entries on record, 0 decisions among them; 1 counts for nothing"
    notice = said(at, "left-out")
    assert "1 entry counts for nothing: entry 1 ." in notice and "decides nothing" in notice
    assert links(at, "left-out") == {"entry 1": ("ledger", {"entry": "1"})}
    forged, genuine = table(at, "section-chain")
    assert forged[:4] == ["1", "counts for nothing", "worked-example", room.desk.verifier.id] and genuine[1] == "proposal"
    block = next(block for block in sheets(at)["section-chain"] if block["k"] == "table")
    assert [row["c"] for row in block["rows"]] == [["bad"], []]
    reason = " ".join(span["t"] for span in block["rows"][0]["detail"])
    assert f"Claims an approval by {room.desk.verifier.id}." in reason and "bad_signature" in reason
    assert "find out who wrote it, and restore the ledger from a copy" in reason


def test_an_opened_line_says_what_it_claims_and_why_it_does_not_hold(room: Room, source: Round) -> None:
    append_by_hand(room.desk.ledger, unsigned(room.desk.prepare(source).statement, room.desk.verifier))
    at = open_page("ledger.py", entry="1")
    assert not at.exception
    assert "counts for nothing" in said(at, "headline-entry-1") and "It claims:" in said(at, "headline-entry-1")
    assert "This entry counts for nothing" in said(at, "section-entry-1-signature")
    assert not at.get("download_button") or [button.label for button in at.get("download_button")] == ["Download the envelope"]


def test_sign_off_says_that_it_was_left_out_and_stands_in_the_way(room: Room, source: Round) -> None:
    append_by_hand(room.desk.ledger, unsigned(room.desk.prepare(source).statement, room.desk.verifier))
    notice = said(room.open(source), "left-out")
    assert "1 line of the ledger about this round was left out" in notice and "entry 1 claims an approval by worker-verifier-02." in notice
    # appending reads the whole chain, and refuses a second decision of one person and any after an approval
    assert "Until then nobody can sign or propose here." in notice
    with pytest.raises(LedgerError):
        room.desk.prepare(source)


def test_a_line_about_another_round_is_not_shown_here(room: Room, source: Round) -> None:
    other = room.desk.round("another")
    room.desk.propose(other)
    append_by_hand(room.desk.ledger, unsigned(room.desk.prepare(other).statement, room.desk.verifier))
    assert "left-out" not in sheets(room.open(source)) and "left-out" in sheets(room.open(other))


def test_a_rejection_of_the_same_pairs_that_nobody_signed_is_no_earlier_rejection(room: Room, source: Round) -> None:
    again = room.desk.round("again")
    room.desk.propose(again)
    prepared = room.desk.prepare(source, choice="reject", comment="bad pairs")
    append_by_hand(room.desk.ledger, unsigned(prepared.statement, room.desk.verifier))
    for page in ("rounds.py", "overview.py"):
        assert "rejected before" not in said(open_page(page, round=again.digest))


def test_a_line_of_somebody_who_may_not_is_named_too(room: Room, source: Round) -> None:
    """A real signature, by a person whose registry entry has gone since."""
    room.desk.sign(room.desk.prepare(source))
    room.desk.write_registry(room.desk.curator, room.desk.ben)
    at = open_page("ledger.py")
    assert "1 counts for nothing" in said(at, "headline-ledger")
    block = next(block for block in sheets(at)["section-chain"] if block["k"] == "table")
    reason = " ".join(span["t"] for span in block["rows"][0]["detail"])
    assert "an enrolled person" in reason and "restore the ledger" not in reason and "To do (" in reason
    assert "awaits a reviewer's decision" in said(room.open(source)).lower() and "left-out" in sheets(room.open(source))


def test_without_a_registry_nobody_can_tell(room: Room, source: Round) -> None:
    room.desk.workspace.registry_file.unlink()
    at = open_page("ledger.py")
    assert not at.exception and "left-out" not in sheets(at)
