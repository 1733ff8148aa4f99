"""Marks on pairs: one file a person, append-only, by pair id, and they survive a restart, a torn write and two tabs."""
from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from support_signing import NOW

from core.canonical import parse_canonical, sha256_hex
from core.errors import IdentityError, SamplingError
from core.rounds.workspace import Workspace
from core.sampling.marks import Marked, Marks

DIGEST = "ab" * 32


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.open(tmp_path / "workspace", create=True)


def marks(workspace: Workspace, person: str = "ben@example.org") -> Marks:
    return Marks(workspace, DIGEST, person)


def test_marks_are_kept_in_the_order_they_were_made(workspace: Workspace) -> None:
    assert marks(workspace).read() == Marked()
    for kind, pair in (("seen", "p-17"), ("disputed", "p-17"), ("seen", "p-2"), ("disputed", "p-2"), ("undisputed", "p-17")):
        last = marks(workspace).put(kind, pair, NOW)                          # a new object each time: as after a restart
    assert last == marks(workspace).read() == Marked(("p-17", "p-2"), ("p-2",))
    lines = [parse_canonical(line) for line in marks(workspace).file.read_bytes().splitlines()]
    assert lines[1] == {"at": "2026-03-01T12:00:00Z", "kind": "disputed", "pair_id": "p-17"} and len(lines) == 5


def test_a_mark_that_stands_adds_no_line(workspace: Workspace) -> None:
    for _ in range(3):
        marks(workspace).put("disputed", "p-17", NOW + timedelta(seconds=1))
    marks(workspace).put("undisputed", "p-99", NOW)
    assert len(marks(workspace).file.read_bytes().splitlines()) == 1


def test_a_dispute_that_was_taken_back_can_be_made_again(workspace: Workspace) -> None:
    for kind in ("disputed", "undisputed", "disputed"):
        marks(workspace).put(kind, "p-17", NOW)
    assert marks(workspace).read().disputed == ("p-17",)


def test_each_person_and_round_has_a_file_of_its_own(workspace: Workspace) -> None:
    marks(workspace).put("seen", "p-1", NOW)
    assert marks(workspace, "eva@example.org").read() == Marked() and Marks(workspace, "cd" * 32, "ben@example.org").read() == Marked()
    # one person in two spellings
    assert marks(workspace, " Ben@Example.org ").read().seen == ("p-1",)
    assert marks(workspace).file.name == f"{sha256_hex(b'ben@example.org')}.jsonl"


@pytest.mark.parametrize("pair", ["1", "1 ", "é", "e\u0301", "../../etc", "\u202e", "line\nfeed", ""])
def test_ids_are_taken_to_the_letter(workspace: Workspace, pair: str) -> None:
    assert marks(workspace).put("disputed", pair, NOW).disputed == (pair,)
    assert marks(workspace).read().disputed == (pair,)
    assert [path.name for path in (workspace.root / "marks").iterdir()] == [DIGEST]


def test_a_torn_last_line_counts_for_nothing_and_is_cut(workspace: Workspace) -> None:
    marks(workspace).put("seen", "p-1", NOW)
    whole = marks(workspace).file.read_bytes()
    marks(workspace).file.write_bytes(whole + b'{"at":"2026')
    assert marks(workspace).read().seen == ("p-1",)
    marks(workspace).put("seen", "p-2", NOW)
    assert marks(workspace).read().seen == ("p-1", "p-2") and b'{"at":"2026{' not in marks(workspace).file.read_bytes()


@pytest.mark.parametrize("line", [
    b'{"kind":"seen","pair_id":"p"}', b'{"at":"x","kind":"approved","pair_id":"p"}', b'{"at":"x","kind":"seen","pair_id":1}', b"[]",
    b'{"at":"x","kind":"seen","more":1,"pair_id":"p"}', b"not json",
])
def test_a_line_that_this_engine_did_not_write_is_refused_by_its_number(workspace: Workspace, line: bytes) -> None:
    marks(workspace).put("seen", "p-1", NOW)
    with marks(workspace).file.open("ab") as file:
        file.write(line + b"\n")
    with pytest.raises(SamplingError) as caught:
        marks(workspace).read()
    assert caught.value.where is not None and caught.value.where.line == 2
    with pytest.raises(SamplingError):
        marks(workspace).put("seen", "p-2", NOW)


def test_who_and_what_round_have_to_be_named(workspace: Workspace) -> None:
    with pytest.raises(SamplingError):
        Marks(workspace, "../x", "ben@example.org")
    with pytest.raises(IdentityError):
        marks(workspace, "b\u0435n@example.org")                              # a Cyrillic letter
