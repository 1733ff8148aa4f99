"""``countersign serve``: the dashboard over a workspace, on this machine only."""
from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Final, NoReturn

import typer

import core
from core.cli import output
from core.cli.options import DEFAULT_WORKSPACE, WorkspaceOption
from core.errors import EXIT, WorkspaceError
from core.rounds.workspace import Workspace
from core.settings import SETTINGS

_SERVER: Final = SETTINGS["server"]
_IMPORT_ROOT: Final = Path(core.__file__).resolve().parent.parent
DEFAULT_PORT: Final[int] = _SERVER["port"]

PortOption = Annotated[int, typer.Option("--port", min=1, max=_SERVER["max_port"], help="TCP port of the dashboard.")]
BrowserOption = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the dashboard in a browser where there is a desktop.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve")(serve_command)


def serve_command(port: PortOption = DEFAULT_PORT, browser: BrowserOption = True, workspace: WorkspaceOption = DEFAULT_WORKSPACE) -> None:
    """Serve the dashboard over a workspace, on this machine only, until it is stopped."""
    check_port(port)
    raise typer.Exit(serve(Workspace.open(workspace), port, browser=browser))


def check_port(port: int) -> None:
    """Return when the port is free on this machine. Raises WorkspaceError ``port_in_use``."""
    with socket.socket() as probe:
        # a listener refuses this even so; connections that are only closing do not
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_SERVER["address"], port))
        except OSError as problem:
            raise WorkspaceError(
                "port_in_use", expected=f"port {port} to be free on this machine", got=problem.strerror or "an error",
                remedy="stop what listens there, or choose another with --port",
            ) from problem


def serve(workspace: Workspace, port: int, *, browser: bool) -> int:
    """Run the dashboard until it is stopped; returns the exit code. Loopback only, whatever the configuration says."""
    url = f"http://{_SERVER['address']}:{port}"
    command = [
        sys.executable, "-m", "dashboard.server", "--workspace", str(workspace.root.resolve()), "--address", _SERVER["address"], "--port", str(port),
        "--quiet",
    ]
    # from the folder that the package was imported from: no module of the caller's folder can take the dashboard's place;
    # in a session of its own: Ctrl-C reaches this process alone, which then stops the server in order
    with _stopped_at_the_end(subprocess.Popen(command, cwd=_IMPORT_ROOT, start_new_session=True)) as server:
        if _ready(server, port):
            output.line(f"Dashboard: {url}", "strong")
            output.line("Stop it with Ctrl-C.")
            if browser and _has_desktop():
                webbrowser.open(url)
        try:
            return server.wait()
        except KeyboardInterrupt:
            return EXIT["done"]


@contextmanager
def _stopped_at_the_end(server: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    previous = {number: signal.signal(number, _leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield server
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        if server.poll() is None:
            server.terminate()
            try:
                server.wait(_SERVER["stop_timeout_s"])
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(EXIT["done"])


def _ready(server: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until the server accepts connections; False when it ended or took too long."""
    end = time.monotonic() + _SERVER["start_timeout_s"]
    while server.poll() is None and time.monotonic() < end:
        with socket.socket() as probe:
            probe.settimeout(_SERVER["poll_s"])
            if probe.connect_ex((_SERVER["address"], port)) == 0:
                return True
        time.sleep(_SERVER["poll_s"])
    return False


def _has_desktop() -> bool:
    # without one, webbrowser would start a text browser inside this terminal
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
