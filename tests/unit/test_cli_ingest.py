"""The command line for rounds: exit codes, one JSON document, and no raw control character from a round on the terminal."""
from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support_cli import Runner
from support_rounds import ROUND, STATED, WORKED_EXAMPLE, bundle, bundle_file, folder_of, pair, without

from core.cli import output
from core.cli.main import run

HOSTILE = "\x1b[31mred\u202e"



@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    return Runner(tmp_path / "workspace", capsys, monkeypatch)


def test_ingest_prints_the_round(cli: Runner) -> None:
    code, out, err = cli("ingest", WORKED_EXAMPLE, "--created-at", STATED, "--round-id", "r-1")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "Round r-1 ingested."
    assert [line.split() for line in out.splitlines()[3:]] == [
        ["part", "rows"], ["judge", "records", "14"], ["pairs", "5"], ["holdout", "5"], ["outcomes", "10"], ["sanity", "4"],
        ["quarantined", "pair", "rows", "0"],
    ]
    code, out, _ = cli("ingest", WORKED_EXAMPLE, "--created-at", STATED, "--round-id", "r-1")
    assert (code, out.splitlines()[0]) == (0, "Round r-1 was there already.")


def test_ingest_json_is_one_document(cli: Runner) -> None:
    code, report = cli.document("ingest", WORKED_EXAMPLE, "--created-at", STATED)
    assert code == 0
    assert report["counts"] == {"judge_records": 14, "pairs": 5, "holdout": 5, "outcomes": 10, "sanity": 4}
    assert (report["round_id"], report["quarantined"], report["notes"], report["already_present"]) == ("bundle", 0, [], False)
    assert Path(report["path"]).name == report["round_digest"]


def test_a_malformed_bundle_exits_4_and_writes_nothing(cli: Runner, tmp_path: Path) -> None:
    document = bundle()
    document["verified_candidates"][2]["ref_logp_chosen"] = "n/a"
    path = bundle_file(tmp_path, document)
    code, out, err = cli("ingest", path)
    assert (code, out) == (4, "")
    assert 'round-07.json, field verified_candidates[2].ref_logp_chosen: expected a number; got "n/a"' in err
    code, error = cli.document("ingest", path)
    assert code == error["exit_code"] == 4
    assert (error["error"], error["file"], error["field"]) == ("wrong_type", "round-07.json", "verified_candidates[2].ref_logp_chosen")
    assert list((cli.workspace / "rounds").iterdir()) == []


@pytest.mark.parametrize(("edit", "code"), [
    (lambda text: text.replace("-4.2,", "NaN,"), "non_finite_number"),
    (lambda text: text.replace('"h-02": true', '"h-01": true', 1), "duplicate_json_key"),
    (lambda text: text[:-300], "not_json"),
    (lambda text: "\ufeff" + text, "byte_order_mark"),
])
def test_broken_documents_exit_4(cli: Runner, tmp_path: Path, edit: Any, code: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(edit(WORKED_EXAMPLE.read_text("utf-8")), "utf-8")
    exit_code, error = cli.document("ingest", path)
    assert (exit_code, error["error"], error["file"]) == (4, code, "b.json")
    assert list((cli.workspace / "rounds").iterdir()) == []


def test_quarantined_rows_are_shown_with_file_line_and_field(cli: Runner, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "input", {"pairs": [pair(), pair(pair_id=2, prompt=HOSTILE)]})
    code, out, _ = cli("ingest", folder)
    assert code == 0
    assert "quarantined pair rows     1" in out
    code, out, _ = cli("round", "show", "round-07")
    assert code == 0
    assert "Quarantined: 1 of 1" in out
    row = next(line for line in out.splitlines() if line.startswith("pairs.jsonl"))
    assert row.split()[:4] == ["pairs.jsonl", "2", "pair_id", "wrong_type"]
    _, shown = cli.document("round", "show", "round-07")
    assert (shown["counts"], shown["quarantined"]) == ({"judge_records": None, "pairs": 1, "holdout": None, "outcomes": None, "sanity": None}, 1)
    assert shown["quarantine"][0]["field"] == "pair_id"
    _, short = cli.document("round", "show", "round-07", "--limit", "0")
    assert (short["quarantine"], short["quarantined"]) == ([], 1)


def test_untrusted_text_cannot_touch_the_terminal(cli: Runner, tmp_path: Path) -> None:
    about = ROUND | {"note": f"see {HOSTILE}[bold]x[/bold]", "label": HOSTILE, "baseline": {"name": HOSTILE}}
    folder = folder_of(tmp_path / "input", {"pairs": [pair(prompt=HOSTILE, **{HOSTILE: 1}), pair(pair_id=HOSTILE, origin=HOSTILE)]}, about=about)
    assert cli("ingest", folder)[0] == 0
    for command in (("list",), ("show", "round-07"), ("check", "round-07")):
        _, out, err = cli("round", *command)
        assert "\x1b" not in out + err
        assert "\u202e" not in out + err
        assert "␛[31mred⟦U+202E⟧" in out
    assert "[bold]x[/bold]" in cli("round", "show", "round-07")[1]
    code, out, err = cli("ingest", tmp_path / f"{HOSTILE}.json")
    assert (code, out, "\x1b" in err) == (4, "", False)


def test_list_newest_first_and_broken_folders_named(cli: Runner) -> None:
    code, out, _ = cli("ingest", WORKED_EXAMPLE, "--round-id", "old", "--created-at", "2025-01-01T00:00:00Z")
    code, out, _ = cli("ingest", WORKED_EXAMPLE, "--round-id", "new", "--created-at", "2026-01-01T00:00:00Z")
    (cli.workspace / "rounds" / "junk").mkdir()
    code, out, err = cli("round", "list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["round", "new", "old"]
    assert "broken: junk" in err
    _, listed = cli.document("round", "list")
    assert [item["round_id"] for item in listed["rounds"]] == ["new", "old"]
    assert [item["name"] for item in listed["broken"]] == ["junk"]


def test_an_empty_workspace_says_what_to_do(cli: Runner) -> None:
    code, _, err = cli("round", "list")
    assert (code, "countersign ingest" in err) == (2, True)
    (cli.workspace / "rounds").mkdir(parents=True)
    code, out, _ = cli("round", "list")
    assert (code, out) == (0, "No rounds yet. Ingest one: countersign ingest SOURCE\n")


def test_check_compares_digests_and_lists_second_looks(cli: Runner, tmp_path: Path) -> None:
    about = ROUND | {"baseline": {"name": "b", "digest": "1" * 64}, "reference": {"name": "r", "digest": "2" * 64}}
    rows = [pair(seed=1), pair(pair_id="p-1 ", prompt="\u0421afe menu")]
    _, report = cli.document("ingest", folder_of(tmp_path / "input", {"pairs": rows}, about=about))
    code, out, _ = cli("round", "check", "round-07")
    assert code == 0
    assert out.startswith("All 3 files match the digests of round.json")
    second_looks = ("[extra_columns] pairs: kept in extra, used by no gate: seed", "[mixed_scripts] 1 prompts", "[look_alike_ids] pairs")
    for part in (*second_looks, "[reference_is_not_baseline]"):
        assert part in out
    assert "[repeated_prompts]" not in out and "[identical]" not in out
    _, checked = cli.document("round", "check", "round-07")
    assert checked["same_texts"]["identical"] == checked["same_texts"]["repeated_prompts"] == 0
    assert (checked["files"], checked["extra_columns"], checked["mixed_script_prompts"]) == (3, {"pairs": ["seed"]}, 1)
    changed = Path(report["path"]) / "text.parquet"
    changed.chmod(0o644)
    changed.write_bytes(changed.read_bytes()[:-1] + b"X")
    code, out, err = cli("round", "check", "round-07")
    assert (code, out) == (6, "")
    assert "[file_changed] text.parquet" in err
    code, error = cli.document("round", "check", report["round_digest"])
    assert (code, error["error"], error["file"]) == (6, "file_changed", "text.parquet")


@pytest.mark.parametrize("arguments", [
    ["ingest"], ["ingest", "a.json", "--no-such-option"], ["no-such-command"], ["round"], ["round", "show"], ["round", "show", "x", "--limit", "-1"],
])
def test_usage_errors_exit_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Usage: countersign" in captured.err
    assert run([*arguments, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"] == "usage"


def test_help_and_version_exit_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("countersign ")
    assert run(["--help"]) == 0
    listed = capsys.readouterr().out
    assert all(f"\n  {command} " in listed for command in ("ingest", "round", "decide"))
    assert run(["ingest", "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(option in shown for option in ("--round-id", "--created-at", "--workspace", "--json"))


def test_unknown_and_ambiguous_rounds_exit_4(cli: Runner) -> None:
    for year in ("2025", "2026"):
        cli("ingest", WORKED_EXAMPLE, "--created-at", f"{year}-01-01T00:00:00Z")
    for selector, name in (("nothing", "unknown_round"), ("bundle", "ambiguous_round")):
        code, error = cli.document("round", "show", selector)
        assert (code, error["error"]) == (4, name)


def test_options_that_are_no_time_or_id_exit_4(cli: Runner) -> None:
    for option, value, name in (("--created-at", "today", "bad_time"), ("--round-id", " ", "bad_round_id")):
        code, error = cli.document("ingest", WORKED_EXAMPLE, option, value)
        assert (code, error["error"], error["field"]) == (4, name, option)


def test_the_workspace_comes_from_the_environment_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COUNTERSIGN_WORKSPACE", str(tmp_path / "named"))
    assert run(["ingest", str(WORKED_EXAMPLE)]) == 0
    assert len(list((tmp_path / "named" / "rounds").iterdir())) == 1
    capsys.readouterr()


def test_a_fault_of_the_program_exits_1_without_a_traceback(cli: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by \x1b zero")

    monkeypatch.setattr("core.cli.ingest.ingest", broken)
    code, out, err = cli("ingest", WORKED_EXAMPLE)
    assert (code, out) == (1, "")
    assert "ZeroDivisionError" in err
    assert "Traceback" not in err
    assert "\x1b" not in err
    code, error = cli.document("ingest", WORKED_EXAMPLE)
    assert (code, error["error"], error["exit_code"]) == (1, "fault", 1)
    monkeypatch.setenv("COUNTERSIGN_DEBUG", "1")
    assert "Traceback" in cli("ingest", WORKED_EXAMPLE)[2]


def test_an_interruption_is_told(cli: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("core.cli.ingest.ingest", interrupted)
    code, _, err = cli("ingest", WORKED_EXAMPLE)
    assert (code, err) == (130, "Interrupted; nothing was left half done.\n")


def test_piped_output_is_neither_cut_nor_coloured(cli: Runner, tmp_path: Path) -> None:
    label = "x" * 80
    cli("ingest", folder_of(tmp_path / "input", {"pairs": [pair()]}, about=ROUND | {"label": label}))
    _, out, _ = cli("round", "list")
    assert out.splitlines()[1].endswith(label)
    assert "\x1b" not in out


def test_a_terminal_gets_a_drawn_table(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=60, markup=False, color_system="standard")
    monkeypatch.setattr(output, "_console", lambda *, error=False: terminal)
    output.table(("name", "n"), [(HOSTILE, 5), (output.Styled("ok", "pass"), 12)], right=("n",))
    drawn = screen.getvalue()
    assert "␛[31mred⟦U+202E⟧" in drawn
    assert HOSTILE not in drawn
    assert "\x1b[32mok" in drawn  # the style of the state, from us
    screen.truncate(0)
    output.facts([("digest", HOSTILE)])
    assert "␛[31mred" in screen.getvalue()


def test_a_terminal_without_unicode_gets_escapes() -> None:
    script = "from core.cli import output; output.prepare_streams(); output.line('\\u202e é')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}, check=True)
    assert done.stdout == b"\\u27e6U+202E\\u27e7 \\xe9\n"


def test_the_console_script_sets_the_exit_code(tmp_path: Path) -> None:
    path = bundle_file(tmp_path, without(bundle(), "proposer_id"))
    arguments = [sys.executable, "-m", "core.cli.main", "ingest", str(path), "--workspace", str(tmp_path / "w")]
    done = subprocess.run(arguments, capture_output=True, check=False)
    assert done.returncode == 4
    assert b"field proposer_id" in done.stderr
