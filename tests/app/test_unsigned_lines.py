"""A line that somebody wrote into the ledger file by hand decides nothing on any page."""
from __future__ import annotations

from pathlib import Path

import pytest
from support_forgery import append_by_hand, unsigned
from support_sheets import open_page, said
from support_sign_off import Room, make_desk, room_of

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
    assert before["rounds"] == after["rounds"] and before["overview"] == after["overview"]
    assert "awaits a reviewer's decision" in before["sign_off"] and "awaits a reviewer's decision" in after["sign_off"]


def test_the_same_approval_signed_is_shown(room: Room, source: Round) -> None:
    room.desk.sign(room.desk.prepare(source))
    shown = texts(room, source)
    assert "approved" in shown["rounds"] and "awaits a reviewer's decision" not in shown["sign_off"]
