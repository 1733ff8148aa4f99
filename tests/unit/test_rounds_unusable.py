"""Pairs of which no row can be used are bad input; where some can, the reasons of the others are counted, placed, and can be listed."""
from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from support_rounds import NOW, folder_of, nothing_written, pair, pairs_round, without, workspace_at

from core.cli.main import run
from core.errors import RoundError
from core.rounds.ingest import ingest
from core.rounds.quarantine import in_words, stored_reasons

# line by line: two ids that are numbers, one row without an id, one that is no object
BAD: tuple[Any, ...] = (pair(pair_id=1), without(pair(), "pair_id"), pair(pair_id=3), [])
CLI: tuple[str, ...] = ("--format", "trl", "--proposer", "ana", "--option", "origin=synthetic", "--option", "logps=sums")


def test_pairs_of_which_no_row_is_usable_are_refused_by_reason_and_place(tmp_path: Path) -> None:
    with pytest.raises(RoundError) as caught:
        ingest(folder_of(tmp_path / "input", {"pairs": BAD}), workspace_at(tmp_path), now=NOW)
    error = caught.value
    # 1, 3 and 4 have a wrong type, and 2 lacks a field
    assert (error.code, error.exit_code, str(error.where)) == ("no_usable_row", 4, "pairs.jsonl, line 1, field pair_id")
    assert error.got == (
        "none of 4: 3 wrong_type, the first at pairs.jsonl, line 1, field pair_id; 1 missing_field, the first at pairs.jsonl, line 2, field pair_id"
    )
    assert "got 1" in error.remedy
    assert nothing_written(tmp_path)


def test_other_parts_do_not_make_up_for_pairs_without_a_usable_row(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "input", {"pairs": BAD, "sanity": [{"id": "s", "passed": True}]})
    with pytest.raises(RoundError, match="no_usable_row"):
        ingest(folder, workspace_at(tmp_path), now=NOW)


def test_one_usable_row_is_enough_and_so_is_an_empty_list(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "input", {"pairs": [*BAD, pair()]})
    report = ingest(folder, workspace_at(tmp_path), now=NOW)
    assert (report.counts["pairs"], report.quarantined) == (1, 4)
    empty = ingest(folder_of(tmp_path / "empty", {"pairs": []}), workspace_at(tmp_path), now=NOW)
    assert (empty.counts["pairs"], empty.quarantined, empty.reasons) == (0, 0, ())


def test_what_is_counted_while_reading_is_what_is_stored(tmp_path: Path) -> None:
    """A repeat of a whole row is a reason like any other; the most frequent comes first, then by name."""
    source, report = pairs_round(tmp_path, [*BAD, pair(), pair(), pair(pair_id="p-2")])
    assert [(reason.code, reason.rows, str(reason.first)) for reason in report.reasons] == [
        ("wrong_type", 3, "pairs.jsonl, line 1, field pair_id"), ("missing_field", 1, "pairs.jsonl, line 2, field pair_id"),
        ("repeated_row", 1, "pairs.jsonl, line 6"),
    ]
    assert [reason.document() for reason in stored_reasons(source)] == [reason.document() for reason in report.reasons]
    assert sum(reason.rows for reason in report.reasons) + report.counts["pairs"] == 7
    (note,) = [note for note in report.notes if note.code == "quarantined_rows"]
    assert in_words(stored_reasons(source)) in note.text


def written(place: Path, rows: list[Any]) -> Path:
    """Rows of a foreign file: their origin is declared on the command line."""
    path = place / "rows.jsonl"
    path.write_text("".join(json.dumps(without(row, "origin") if isinstance(row, dict) else row) + "\n" for row in rows), "utf-8")
    return path


def test_the_command_line_names_the_command_that_lists_them_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, place = written(tmp_path, [*BAD, pair()]), str(tmp_path / "a workspace")
    assert run(["ingest", str(path), *CLI, "--workspace", place]) == 0
    out = capsys.readouterr().out
    assert "5 pair rows read = 1 kept + 4 quarantined" in out
    assert re.search(r"wrong_type +3 +rows\.jsonl +1 +pair_id +text", out)
    command = next(line for line in out.splitlines() if line.startswith("List them all: ")).partition(": countersign ")[2]
    assert run(shlex.split(command)) == 0
    shown = capsys.readouterr().out
    assert "Quarantined: 4 of 4" in shown
    assert [line.split()[1] for line in shown.splitlines() if line.startswith("rows.jsonl")] == ["1", "2", "3", "4"]


def test_the_command_line_refuses_unless_it_is_told_to_keep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["ingest", str(written(tmp_path, list(BAD))), *CLI, "--workspace", str(tmp_path / "workspace"), "--json"]
    assert run(command) == 4
    error = json.loads(capsys.readouterr().out)
    assert (error["error"], error["file"], error["line"], error["field"]) == ("no_usable_row", "rows.jsonl", 1, "pair_id")
    assert nothing_written(tmp_path)
    assert run([*command, "--keep-unusable"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["counts"]["pairs"], report["quarantined"]) == (0, 4)
    assert [(reason["code"], reason["rows"], reason["line"]) for reason in report["quarantine_reasons"]] == [
        ("wrong_type", 3, 1), ("missing_field", 1, 2),
    ]
