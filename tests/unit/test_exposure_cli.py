"""``countersign exposure``: what it prints, and that asking is no look."""
from __future__ import annotations

import json
from pathlib import Path

import pytest
from support_desk import Desk, desk

from core.cli.main import run
from core.gates.exposure_file import EXPOSURE_FILE
from core.grid import default_grid, shipped_grids


@pytest.fixture
def d(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    made = desk(tmp_path)
    monkeypatch.setenv("COUNTERSIGN_WORKSPACE", str(made.workspace.root))
    return made


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["exposure", *arguments]) == 0
    return capsys.readouterr().out


def test_what_it_says_of_a_second_look(d: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("first", "second", "third"):
        d.assess(d.round(name))
    before = (d.workspace.root / EXPOSURE_FILE).read_bytes()
    out = printed(capsys, "second")
    assert out.startswith("1 earlier round looked at these holdout items (at up to 5 of the 5 at once; none is fresh): this is look 2.\n")
    assert "Error budget: this look may use 0.0025; with it 0.005 of 0.05 is spent (look 2 of 20 planned)." in out
    assert "first" in out and d.round("first").digest in out and "Looked at since by later rounds: 1." in out
    assert (d.workspace.root / EXPOSURE_FILE).read_bytes() == before


def test_as_a_document(d: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    d.assess(d.round())
    document = json.loads(printed(capsys, "worked-example", "--json"))
    assert (document["look"], document["items"], document["lost"], document["grid_digest"]) == (1, 5, [], default_grid().digest)
    assert document["record"]["lines"] == 1 and document["budget"]["planned"] == 20


def test_the_grid_is_that_of_the_proposal_unless_another_is_named(d: Desk, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first = next(grid for grid in shipped_grids().values() if grid.schema_version == 1)
    source = d.round()
    d.propose(source, grid=first)
    assert "Error budget: the grid sets no look_alpha." in printed(capsys, "worked-example")
    (tmp_path / "grid.json").write_bytes(default_grid().canonical)
    assert "(look 1 of 20 planned)" in printed(capsys, "worked-example", "--grid", str(tmp_path / "grid.json"))


def test_looks_that_were_removed_after_a_signature_are_named(d: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    source = d.round()
    d.propose(source)
    d.sign(d.prepare(source))
    assert "Warning" not in printed(capsys, "worked-example")
    (d.workspace.root / EXPOSURE_FILE).unlink()
    assert "Warning: the record of looks at holdouts is not the one that ledger entry 1 was signed against (1 lines then, 0 now)" in printed(
        capsys, "worked-example")


def test_a_broken_record_is_bad_input(d: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    d.assess(d.round())
    (d.workspace.root / EXPOSURE_FILE).write_bytes(b"{}\n")
    assert run(["exposure", "worked-example"]) == 4
    assert "[broken_line] exposure.jsonl, line 1" in capsys.readouterr().err
