"""The dashboard's server as a process of its own: how it ends, and what it prints."""
from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from support_browser import ROOT, free_port, healthy
from support_processes import interruptible


def interrupted(command: list[str], port: int, folder: Path) -> tuple[int, str]:
    """Start, wait until it answers, press Ctrl-C; the exit code and everything that it printed."""
    with (folder / "out").open("w+b") as out:
        process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, preexec_fn=interruptible)
        try:
            end = time.monotonic() + 60
            while not healthy(port) and time.monotonic() < end:
                assert process.poll() is None
                time.sleep(0.1)
            if "core.cli.main" in command:
                while b"Dashboard" not in (folder / "out").read_bytes() and time.monotonic() < end:
                    time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            code = process.wait(30)
        finally:
            # SIGTERM, so that a server that it started ends with it
            process.terminate()
            process.wait(30)
    return code, (folder / "out").read_text("utf-8")


def test_ctrl_c_ends_the_server_without_a_traceback(tmp_path: Path) -> None:
    port = free_port()
    code, said = interrupted([sys.executable, "-m", "dashboard.server", "--workspace", str(tmp_path / "w"), "--port", str(port)], port, tmp_path)
    assert (code, said.count("http://")) == (0, 1), said
    assert "Traceback" not in said and "KeyboardInterrupt" not in said


def test_serve_prints_its_address_once(tmp_path: Path) -> None:
    port, workspace = free_port(), tmp_path / "w"
    (workspace / "rounds").mkdir(parents=True)
    command = [sys.executable, "-m", "core.cli.main", "serve", "--no-browser", "--port", str(port), "--workspace", str(workspace)]
    code, said = interrupted(command, port, tmp_path)
    assert (code, said.count("http://")) == (0, 1), said
    assert f"Dashboard: http://localhost:{port}" in said and "Traceback" not in said
