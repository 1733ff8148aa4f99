"""The Overview names each grid key that differs from the default grid, and from the grid of the previous round."""
from __future__ import annotations

import json
from pathlib import Path

import pytest
from support_sheets import open_page, said
from support_sign_off import Room, make_desk, room_of
from support_signing import NOW

from core.grid import default_grid, grid_from_document
from core.signing.grids import accept_grid


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    return room_of(make_desk(tmp_path / "made"), tmp_path / "copy", monkeypatch)


def test_a_first_round_under_the_default_grid_has_no_difference(room: Room) -> None:
    source = room.desk.round()
    room.desk.propose(source)
    room.desk.assess(source)
    told = said(open_page("overview.py", round=source.digest), "section-grid")
    assert "Every key has the value of the default grid." in told and "no earlier round" in told


def test_a_key_that_moved_since_the_previous_round_is_named_with_both_values(room: Room) -> None:
    document = json.loads(default_grid().canonical) | {"name": "wide", "author": "eva", "reason": "try"}
    document["keys"]["max_regression_rate"]["value"] = "0.10"
    grid = grid_from_document(document)
    accept_grid(room.desk.workspace, grid, room.desk.eva.id, room.desk.registry, now=NOW)
    first, second = room.desk.round("first"), room.desk.round("second")
    room.desk.propose(first, grid=grid)
    room.desk.propose(second)
    room.desk.assess(second)
    told = said(open_page("overview.py", round=second.digest), "section-grid")
    assert "Every key has the value of the default grid." in told
    assert "Round first" in told and "max_regression_rate" in told and "0.05" in told and "0.10" in told
