"""Canonical bytes on standard output: as they are where they are piped, and without hidden characters on a terminal."""
from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support_desk import bundle

from core.cli import output

HIDDEN = "pair-\u202egnp.exe"
"""A right-to-left override: a terminal would show the rest of the line backwards."""


def with_hidden_id() -> bytes:
    document = json.loads(bundle())
    document["verified_candidates"][0]["pair_id"] = HIDDEN
    return json.dumps(document, ensure_ascii=False).encode()


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("terminal", "shown"), [(True, "a⟦U+202E⟧b\n"), (False, "a\u202eb\n")])
def test_hidden_characters_become_marks_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: bool, shown: str,
) -> None:
    stream = (Terminal if terminal else io.TextIOWrapper)(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", stream)
    output.raw("a\u202eb\n".encode())
    assert stream.buffer.getvalue().decode() == shown  # type: ignore[attr-defined]
    assert ("pipe the output for the exact bytes" in capsys.readouterr().err) is terminal


def test_plain_bytes_stay_plain_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    stream = Terminal(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", stream)
    output.raw('{"a":"é"}\n'.encode())
    assert stream.buffer.getvalue().decode() == '{"a":"é"}\n'  # type: ignore[attr-defined]
    assert capsys.readouterr().err == ""


def test_decide_canonical_on_a_real_terminal(tmp_path: Path) -> None:
    """The command itself, once into a pseudo terminal and once into a pipe."""
    file = tmp_path / "bundle.json"
    file.write_bytes(with_hidden_id())
    command = [sys.executable, "-m", "core.cli.main", "decide", str(file), "--canonical"]
    piped = subprocess.run(command, capture_output=True, check=False)
    assert "\u202e" in piped.stdout.decode()
    master, slave = os.openpty()
    with os.fdopen(master, "rb", buffering=0) as reading:
        done = subprocess.Popen(command, stdout=slave, stderr=subprocess.PIPE)
        os.close(slave)
        shown = b""
        while chunk := _read(reading):
            shown += chunk
        _, said = done.communicate()
    assert done.returncode == piped.returncode
    text = shown.decode().replace("\r\n", "\n")
    assert "\u202e" not in text and text == piped.stdout.decode().replace("\u202e", "⟦U+202E⟧")
    assert "exact bytes" in said.decode()


def _read(stream: io.FileIO) -> bytes:
    try:
        return stream.read(4096) or b""
    except OSError:                     # Linux: the other end is closed
        return b""
