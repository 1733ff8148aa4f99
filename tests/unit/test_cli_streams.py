"""Standard output that nobody reads, that is closed, or that takes no more: never an internal fault, never a traceback."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support_desk import bundle

from core.settings import SETTINGS

GONE = 128 + 13
"""What a shell says of a command that SIGPIPE (13) stopped."""
COMMAND = [sys.executable, "-m", "core.cli.main"]


def with_closed_pipe(command: list[str], stream: str = "stdout") -> tuple[int, bytes]:
    """The exit code of a command whose reader has gone before it prints, and what it said on the other stream."""
    reading, writing = os.pipe()
    os.close(reading)
    other = "stderr" if stream == "stdout" else "stdout"
    try:
        done = subprocess.run(command, check=False, **{stream: writing, other: subprocess.PIPE})  # type: ignore[call-overload]
    finally:
        os.close(writing)
    return done.returncode, getattr(done, other)


def test_the_code_is_that_of_the_shells() -> None:
    assert SETTINGS["cli"]["reader_gone"] == GONE == 141


@pytest.mark.parametrize("arguments", [
    ["--version"],                                    # less than a buffer: met at the end
    ["ingest", "--formats"],                          # a table, line by line
    ["decide", "none.json", "--json"],                # an error, as a document
], ids=" ".join)
def test_a_reader_who_has_gone_is_no_fault(arguments: list[str]) -> None:
    assert with_closed_pipe([*COMMAND, *arguments]) == (GONE, b"")


def test_canonical_bytes_into_a_closed_pipe(tmp_path: Path) -> None:
    file = tmp_path / "bundle.json"
    file.write_bytes(bundle())
    assert with_closed_pipe([*COMMAND, "decide", str(file), "--canonical"]) == (GONE, b"")
    assert with_closed_pipe([sys.executable, "-m", "iterative_rpo_flywheel", "--bundle", str(file)]) == (GONE, b"")


def test_remarks_that_nobody_reads() -> None:
    assert with_closed_pipe([*COMMAND, "decide", "none.json"], "stderr") == (GONE, b"")


def test_in_a_shell_with_head() -> None:
    line = f"set -o pipefail; {' '.join(COMMAND)} ingest --formats --json | head -n 1 > /dev/null; echo ${{PIPESTATUS[@]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"{GONE} 0\n", "")


@pytest.mark.parametrize("closing", [">&-", ">&- 2>&- <&-"])
def test_streams_that_were_closed_beforehand(closing: str, tmp_path: Path) -> None:
    file = tmp_path / "bundle.json"
    file.write_bytes(bundle())
    done = subprocess.run(["bash", "-c", f"{' '.join(COMMAND)} decide {file} {closing}"], capture_output=True, text=True, check=False)
    # the example bundle would be promoted: engine rules, worked example
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_behind_standard_output_is_said() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*COMMAND, "--version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2 and done.stderr.startswith("[no_space] standard output: expected room on the disk; got no space left on device. ")
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
