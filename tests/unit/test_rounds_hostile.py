"""Input made to hurt: lines without end, names that lead elsewhere, nesting, pipes, round folders that are not what ingest wrote."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support_rounds import (
    NOW,
    ROUND,
    STATED,
    bundle,
    bundle_file,
    folder_of,
    ingested,
    nothing_written,
    pair,
    pairs_round,
    round_of,
    tables_of,
    workspace_at,
    write_jsonl,
    write_parquet,
)

from core.canonical import canonical_bytes, sha256_hex
from core.cli.main import run
from core.errors import CountersignError
from core.rounds.folder import Round
from core.rounds.form import check_form
from core.rounds.ingest import ingest, ingest_bundle_bytes
from core.rounds.readers import jsonl
from core.settings import SETTINGS


def refused(code: str, exit_code: int, act: Callable[[], Any]) -> CountersignError:
    with pytest.raises(CountersignError) as caught:
        act()
    assert (caught.value.code, caught.value.exit_code) == (code, exit_code), str(caught.value)
    return caught.value


# lines and documents


def test_a_line_longer_than_any_row_is_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line beyond the limit is one bad row, and the lines behind it keep their numbers: 3 in = 2 typed + 1 quarantined."""
    limit = 1000
    monkeypatch.setattr(jsonl, "_LIMIT", limit)
    monkeypatch.setattr("core.canonical._LIMITS", {**SETTINGS["json"], "max_bytes": limit})
    folder = folder_of(tmp_path / "input", {})
    rows = [pair(pair_id="p-1"), pair(pair_id="p-2", prompt="x" * 5 * limit), pair(pair_id="p-3")]
    write_jsonl(folder, "pairs", rows)
    source, report = ingested(tmp_path, folder)
    assert (source.pair_count, report.quarantined) == (2, 1)
    assert source.narrow(["line"])["line"].to_pylist() == [1, 3]
    found = source.table("quarantine").to_pylist()
    assert [(row["line"], row["code"]) for row in found] == [(2, "too_large")]


def test_a_line_of_exactly_the_limit_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = 5000
    monkeypatch.setattr(jsonl, "_LIMIT", limit)
    monkeypatch.setattr("core.canonical._LIMITS", {**SETTINGS["json"], "max_bytes": limit})
    long = "x" * (limit - len(json.dumps(pair(prompt=""))))
    source, report = pairs_round(tmp_path, [pair(prompt=long), pair(pair_id="p-2", prompt=long)])
    assert (source.pair_count, report.quarantined) == (2, 0)


def test_a_document_beyond_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as handle:
        handle.truncate(2**40)                      # a hole: no room on the disk, and all memory if it were read
    refused("too_large", 4, lambda: ingest(path, workspace_at(tmp_path), now=NOW))
    folder = folder_of(tmp_path / "input", {})
    path.rename(folder / "pairs.json")
    refused("too_large", 4, lambda: ingest(folder, workspace_at(tmp_path), now=NOW))
    (folder / "pairs.json").rename(folder / "round.json")
    refused("too_large", 4, lambda: ingest(folder, workspace_at(tmp_path), now=NOW))
    assert nothing_written(tmp_path)


@pytest.mark.parametrize("data", [b"[" * 200_000, b'{"a":' * 200_000, b"[" * 200_000 + b"]" * 200_000, b"{" + b'"a":{' * 70 + b"}" * 71])
def test_nesting_without_end_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "deep.json"
    path.write_bytes(data)
    error = refused("nested_too_deeply", 4, lambda: ingest(path, workspace_at(tmp_path), now=NOW))
    assert "64 levels" in str(error) and nothing_written(tmp_path)


def test_nesting_in_a_line_quarantines_the_line(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "input", {"pairs": [pair()]})
    with (folder / "pairs.jsonl").open("ab") as handle:
        handle.write(b'{"pair_id":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n")
    source, report = ingested(tmp_path, folder)
    assert (source.pair_count, report.quarantined) == (1, 1)
    assert source.table("quarantine")["code"].to_pylist() == ["nested_too_deeply"]


def test_a_number_of_a_million_digits_takes_no_time(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "input", {"pairs": [pair()]})
    with (folder / "pairs.jsonl").open("ab") as handle:
        handle.write(b'{"pair_id":' + b"9" * 1_000_000 + b"}\n")
    source, report = ingested(tmp_path, folder)
    assert report.quarantined == 1
    assert source.table("quarantine")["code"].to_pylist() == ["integer_out_of_range"]
    assert len(source.table("quarantine")["raw"][0].as_py()) < 2 * SETTINGS["text"]["raw_characters"]


@pytest.mark.parametrize("place", ["key", "value", "row", "id"])
def test_an_error_about_a_huge_text_is_short(tmp_path: Path, place: str, capfd: pytest.CaptureFixture[str]) -> None:
    huge, document = "x" * 1_000_000, bundle()
    if place == "key":
        document[huge] = 1
    elif place == "row":
        document["verified_candidates"][0][huge] = 1
    elif place == "value":
        document["sanity_outcomes"][huge] = "n/a"
    else:
        document["proposer_id"] = huge
    file = bundle_file(tmp_path / "input", document)
    for more in ([], ["--json"]):
        assert run(["ingest", str(file), "--workspace", str(tmp_path / "workspace"), *more]) == 4
        printed = capfd.readouterr()
        assert 0 < len(printed.out + printed.err) < 10_000


# records


@pytest.mark.parametrize("scores", [(float("nan"), float("nan")), (0.0, -0.0), (None, None)])
def test_a_record_said_twice_counts_once_whatever_number_it_holds(tmp_path: Path, scores: tuple[float | None, float | None]) -> None:
    """NaN differs from NaN for a computer, and says the same to a reader."""
    rows = [{"judge_id": "j", "case_id": "c", "rubric_approved": True, "verifier_passed": True, "rubric_score": score} for score in scores]
    source, report = ingested(tmp_path, folder_of(tmp_path / "input", {"judge_records": rows}, form="parquet"))
    assert source.table("judge_records").num_rows == 1
    assert "repeated_record" in [note.code for note in report.notes]


def test_records_that_differ_in_a_column_nobody_knows_conflict(tmp_path: Path) -> None:
    rows = [{"judge_id": "j", "case_id": "c", "rubric_approved": True, "verifier_passed": True, "temperature": heat} for heat in (0, 1)]
    folder = folder_of(tmp_path / "input", {"judge_records": rows})
    refused("conflicting_case", 4, lambda: ingest(folder, workspace_at(tmp_path), now=NOW))


# names and places


@pytest.mark.parametrize(("name", "hint"), [("pairs.jsonl.bz2", "pairs.jsonl"), ("pairs.csv", "pairs.jsonl"), ("pair.jsonl", "pairs.jsonl")])
def test_a_form_that_is_not_read_is_named_with_the_ones_that_are(tmp_path: Path, name: str, hint: str) -> None:
    folder = folder_of(tmp_path / "input", {})
    (folder / name).write_bytes(b"x")
    with pytest.raises(CountersignError) as caught:
        ingest(folder, workspace_at(tmp_path), now=NOW)
    assert caught.value.exit_code == 4 and name in str(caught.value) and hint in caught.value.remedy and ".gz" not in caught.value.remedy


def test_a_pipe_is_no_file_of_a_part(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "input", {})
    os.mkfifo(folder / "pairs.jsonl")
    refused("unknown_form", 4, lambda: ingest(folder, workspace_at(tmp_path), now=NOW))


@pytest.mark.parametrize("name", ["../../../etc/cron.d/x.json", "..\\..\\x.json", "/etc/x.json", "....json", "%2e%2e%2fx.json", "x\x00.json"])
def test_no_name_of_an_upload_leads_out_of_the_workspace(tmp_path: Path, name: str) -> None:
    workspace = workspace_at(tmp_path)
    try:
        report = ingest_bundle_bytes(json.dumps(bundle()).encode(), name, workspace, created_at=STATED, now=NOW)
    except CountersignError as problem:
        assert problem.code == "bad_round_id"
    else:
        assert report.path.parent == workspace.rounds_dir and "/" not in report.round_id and "\\" not in report.round_id
    assert {path.name for path in tmp_path.iterdir()} == {"workspace"}


@pytest.mark.parametrize("selector", ["..", "../rounds", ".", "/", "", "*", "../" * 9 + "etc", "\x00", "a" * 5000, "\u202e"])
def test_a_selector_is_never_a_path(tmp_path: Path, selector: str) -> None:
    ingested(tmp_path, bundle_file(tmp_path / "input", bundle()))
    refused("unknown_round", 4, lambda: workspace_at(tmp_path).round(selector))


def test_a_linked_round_folder_is_its_content(tmp_path: Path) -> None:
    """A link in rounds/ is followed; what it leads to has to be the round that its name says."""
    source, _ = ingested(tmp_path / "a", bundle_file(tmp_path / "input", bundle()))
    workspace = workspace_at(tmp_path / "b")
    (workspace.rounds_dir / source.digest).symlink_to(source.path)
    linked = workspace.round(source.digest)
    linked.verify_files()
    (workspace.rounds_dir / source.digest).unlink()
    (workspace.rounds_dir / ("0" * 64)).symlink_to(source.path)
    refused("file_changed", 6, lambda: workspace.round("0" * 64))
    assert [item.name for item in workspace.listing()[1]] == ["0" * 64]
    loop = workspace.rounds_dir / ("1" * 64)
    loop.symlink_to(loop)
    assert [item.name for item in workspace.listing()[1]] == ["0" * 64, "1" * 64]


def test_a_terminal_sees_marks_and_no_sequences(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Ids, notes, names and quarantined rows that hold escape sequences, in every command that prints them."""
    evil = "\x1b]0;owned\x07\x1b[2J\u202e\u200b\x9b31m"
    document = bundle()
    document["verified_candidates"][0]["pair_id"] += evil
    document["calibrated_judge_records"][0]["case_id"] += evil
    parts = tables_of(document)
    parts["pairs"].append(pair(pair_id=7, prompt=evil))
    about = round_of(document) | {
        "note": evil, "candidate": {"name": evil}, "receipt_judges": {"calibrated": "calibrated", "uncalibrated": "uncalibrated"},
        "judges": {evil: {"name": evil, "rubric": evil}}, "holdout_lock": {"sha256": document["preregistered_holdout_sha256"], "registered_by": evil},
    }
    folder = folder_of(tmp_path / "input", parts, about=about)
    place = str(tmp_path / "workspace")
    for command in (["ingest", str(folder)], ["round", "list"], ["round", "show", "round-07"], ["round", "check", "round-07"],
                    ["decide", "round-07"], ["round", "show", "round-07", "--json"], ["decide", "round-07", "--json"]):
        assert run([*command, "--workspace", place]) in (0, 3), command
        printed = "".join(capfd.readouterr())
        assert printed and not {"\x1b", "\x07", "\x9b", "\u202e", "\u200b"} & set(printed), command
    (folder / f"{evil}.jsonl").write_text("x")
    assert run(["ingest", str(folder), "--workspace", place]) == 4
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u200b"} & set("".join(capfd.readouterr()))


def test_no_name_of_theirs_is_a_line_of_ours(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A key, a column, an id or a note with a line feed in it must not print a line that reads like the program's own."""
    ours = "All 7 files match the digests of round.json"
    evil = f"x\n{ours}"
    document = bundle()
    place = ["--workspace", str(tmp_path / "workspace")]
    assert run(["ingest", str(bundle_file(tmp_path, document | {evil: 1})), *place]) == 4
    parts = tables_of(document)
    parts["pairs"][0] |= {evil: 1, "task_id": evil}
    parts["judge_records"][0]["case_id"] = evil
    about = round_of(document) | {"note": evil, "candidate": {"name": evil}, "judges": {evil: {"name": evil}}}
    folder = folder_of(tmp_path / "input", parts, about=about)
    assert run(["ingest", str(folder), *place]) == 0
    (folder / f"{evil}.jsonl").write_text("x")
    assert run(["ingest", str(folder), *place]) == 4
    for command in (["round", "list"], ["round", "show", "round-07"], ["decide", "round-07"], ["round", "show", evil], ["decide", evil]):
        run([*command, *place])
    assert not any(line.startswith(ours) for line in "".join(capfd.readouterr()).splitlines())


# a folder that somebody wrote by hand: the digests fit, the content is not what ingest would have written


def by_hand(tmp_path: Path, change: Callable[[Path, dict[str, Any]], Any]) -> Path:
    source, _ = ingested(tmp_path, bundle_file(tmp_path / "input", bundle()))
    folder = tmp_path / "hand"
    folder.mkdir()
    for path in source.path.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    document = json.loads((folder / "round.json").read_bytes())
    change(folder, document)
    for name, entry in document["files"].items():
        if (folder / name).is_file():
            entry["sha256"] = sha256_hex((folder / name).read_bytes())
    (folder / "round.json").write_bytes(canonical_bytes(document))
    return folder


def holdout_twice(folder: Path, document: dict[str, Any]) -> None:
    items = json.loads((folder / "holdout.json").read_bytes()) * 2
    (folder / "holdout.json").write_bytes(canonical_bytes(items))
    document["files"]["holdout.json"]["rows"] = len(items)
    document["holdout_lock"]["sha256"] = sha256_hex(canonical_bytes(items))


def holdout_empty(folder: Path, document: dict[str, Any]) -> None:
    (folder / "holdout.json").write_bytes(b"[]")
    document["files"]["holdout.json"]["rows"] = 0
    document["holdout_lock"]["sha256"] = sha256_hex(b"[]")


def holdout_spaced(folder: Path, document: dict[str, Any]) -> None:
    (folder / "holdout.json").write_bytes(json.dumps(json.loads((folder / "holdout.json").read_bytes())).encode())


def rows_misstated(folder: Path, document: dict[str, Any]) -> None:
    document["files"]["quarantine.parquet"]["rows"] = 7


def pairs_misstated(folder: Path, document: dict[str, Any]) -> None:
    for name in ("pairs.parquet", "text.parquet"):
        document["files"][name]["rows"] = 1


def another_arm(folder: Path, document: dict[str, Any]) -> None:
    rewritten(folder / "outcomes.parquet", lambda table: table.set_column(1, table.schema.field("arm"), pa.array(["other"] * table.num_rows)))


def ordinals_moved(folder: Path, document: dict[str, Any]) -> None:
    for name in ("pairs.parquet", "text.parquet"):
        rewritten(folder / name, lambda table: table.set_column(0, table.schema.field("ordinal"), pa.array(range(1, table.num_rows + 1))))


def rewritten(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    table = pq.read_table(path)
    pq.write_table(change(table).cast(table.schema), path)


def canary_twice(folder: Path, document: dict[str, Any]) -> None:
    rewritten(folder / "sanity.parquet", lambda table: pa.concat_tables([table, table]))
    document["files"]["sanity.parquet"]["rows"] *= 2


def record_twice(folder: Path, document: dict[str, Any]) -> None:
    rewritten(folder / "judge_records.parquet", lambda table: pa.concat_tables([table, table]))
    document["files"]["judge_records.parquet"]["rows"] *= 2


@pytest.mark.parametrize(
    "change",
    [holdout_twice, holdout_empty, holdout_spaced, rows_misstated, pairs_misstated, canary_twice, record_twice, another_arm, ordinals_moved],
)
def test_a_round_that_no_ingest_wrote_is_not_decided(
    tmp_path: Path, change: Callable[[Path, dict[str, Any]], Any], capfd: pytest.CaptureFixture[str],
) -> None:
    """Items twice dilute the regression rate, records twice raise n: the gates rely on what ingest guarantees."""
    folder = by_hand(tmp_path, change)
    Round.open(folder).verify_files()                       # the digests fit
    assert run(["decide", str(folder), "--reviewer", "worker-verifier-02"]) == 4
    printed = capfd.readouterr()
    assert printed.out == "" and any(code in printed.err for code in ("not_as_ingested", "duplicate_holdout_id", "empty_holdout", "not_canonical"))
    with pytest.raises(CountersignError):
        check_form(Round.open(folder))


def test_a_folder_that_was_copied_is_what_ingest_wrote(tmp_path: Path) -> None:
    check_form(Round.open(by_hand(tmp_path, lambda folder, document: None)))


# processes


INGEST = """
import sys
from datetime import UTC, datetime
from pathlib import Path
sys.path.insert(0, {root!r})
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace
sys.stdin.readline()
report = ingest(Path(sys.argv[1]), Workspace.open(Path(sys.argv[2]), create=True), created_at="2026-01-05T12:00:00Z", now=datetime.now(UTC))
print(report.digest, report.already_present)
"""


def test_processes_that_ingest_at_once_make_one_round(tmp_path: Path) -> None:
    file = bundle_file(tmp_path / "input", bundle())
    command = [sys.executable, "-c", INGEST.format(root=str(Path(__file__).parents[2])), str(file), str(tmp_path / "workspace")]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate()[0].split() for process in processes]
    workspace = workspace_at(tmp_path)
    assert len({digest for digest, _ in said}) == 1 and [known for _, known in said].count("False") == 1
    assert len(workspace.rounds()) == 1 and not list(workspace.tmp_dir.iterdir())


def test_parquet_and_jsonl_refuse_the_same_part_twice(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "input", {"pairs": [pair()]}, about=ROUND)
    write_parquet(folder, "pairs", [pair()])
    refused("part_given_twice", 4, lambda: ingest(folder, workspace_at(tmp_path), now=NOW))
