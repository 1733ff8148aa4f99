"""What the machine refuses (no room, no permission, too many open files) is no fault of the program: said to whoever runs it, with the file."""
from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.cli import pairs as pairs_module
from core.cli.main import run
from core.errors import EXIT
from core.machine import TROUBLES, machine_error

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "core.cli.main"]
NUMBERS = [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.EIO]


@pytest.fixture
def rollouts(tmp_path: Path) -> Path:
    """Forty tasks with a pass and a fail of 2,000 characters: 160 KB of pairs."""
    rows = [
        {"task_id": f"t{task}", "rollout": run_, "prompt": "Q?", "response": f"{task} {'word ' * 400}{'no' * run_}", "reward": 1 - run_}
        for task in range(40) for run_ in range(2)
    ]
    path = tmp_path / "rollouts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_each_error_number_has_its_entry() -> None:
    assert sorted(TROUBLES) == sorted(NUMBERS)
    assert machine_error(FileNotFoundError(errno.ENOENT, "No such file or directory", "x")) is None and machine_error(OSError("no number")) is None


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("as_json", [False, True])
def test_the_command_line_says_who_must_do_what(
    number: int, as_json: bool, rollouts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:
    def failing(*given: object, **named: object) -> None:
        raise OSError(number, os.strerror(number), "evil\x1b[2Jname\u202e.jsonl")

    monkeypatch.setattr(pairs_module, "pair_rollouts", failing)
    assert run(["pairs", str(rollouts), "--out", str(tmp_path / "out.jsonl"), *(["--json"] if as_json else [])]) == EXIT["usage"] == 2
    shown = capsys.readouterr()
    if as_json:
        document = json.loads(shown.out)
        assert (document["error"], document["who"], document["exit_code"]) == (TROUBLES[number].code, "whoever runs this", 2)
        assert document["file"] == "evil␛[2Jname⟦U+202E⟧.jsonl"
        return
    said = " ".join(shown.err.split())
    assert said.startswith(f"[{TROUBLES[number].code}] evil␛[2Jname⟦U+202E⟧.jsonl: expected ") and "To do (whoever runs this): " in said
    assert "fault" not in said and "\x1b" not in said and not (tmp_path / "out.jsonl").exists()


def test_an_error_of_the_program_is_still_one(
    rollouts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:
    def failing(*given: object, **named: object) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr(pairs_module, "pair_rollouts", failing)
    assert run(["pairs", str(rollouts), "--out", str(tmp_path / "out.jsonl")]) == EXIT["fault"] == 1
    assert capsys.readouterr().err.startswith("[fault] OSError: ")


def limited(arguments: list[str], least: Callable[[], None]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, preexec_fn=least, cwd=ROOT)


def small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))


def test_a_file_that_may_not_grow_leaves_nothing_behind(rollouts: Path, tmp_path: Path) -> None:
    out = tmp_path / "kept" / "pairs.jsonl"
    out.parent.mkdir()
    done = limited(["pairs", str(rollouts), "--out", str(out)], small_files)
    assert done.returncode == 2 and done.stderr.startswith(f"[file_too_large] {out}: expected a file of this size to be allowed; got file too large.")
    assert list(out.parent.iterdir()) == []


def test_an_ingest_without_room_leaves_no_round(rollouts: Path, tmp_path: Path) -> None:
    """Half a megabyte of numbers, which no packing makes small."""
    folder, workspace = tmp_path / "round", tmp_path / "workspace"
    folder.mkdir()
    rows = [{"pair_id": f"p{n}", "prompt": os.urandom(1500).hex(), "chosen": os.urandom(1500).hex(), "rejected": "no"} for n in range(80)]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (folder / "round.json").write_text(json.dumps({"schema_version": 1, "round_id": "r", "proposers": ["ana"]}), "utf-8")
    done = limited(["ingest", str(folder), "--workspace", str(workspace)], small_files)
    assert done.returncode == 2 and done.stderr.startswith(f"[file_too_large] {workspace}: expected ")
    assert [path for path in workspace.rglob("*") if path.is_file()] == [] and list((workspace / "rounds").iterdir()) == []


def test_without_a_folder_for_passing_files() -> None:
    found = machine_error(FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp', '/work']"))
    assert found is not None and found.code == "no_temporary_folder" and "set TMPDIR" in str(found)
