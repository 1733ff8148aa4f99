"""``countersign demo``: an embedded workspace with the demo rounds and two demo identities, and the dashboard over it."""
from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Annotated, Final, NoReturn

import typer

import core
from core.cli import output
from core.cli.demo_workspace import DEMO_FILE, DemoIdentity, DemoRound, load_demo
from core.cli.options import DEFAULT_WORKSPACE, WorkspaceOption
from core.errors import EXIT, WorkspaceError
from core.gates.assessment import headline
from core.rounds.workspace import Workspace
from core.settings import SETTINGS

_SERVER: Final = SETTINGS["server"]
_DEMO: Final = SETTINGS["demo"]
_IMPORT_ROOT: Final = Path(core.__file__).resolve().parent.parent


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo_command)


def demo_command(
    port: Annotated[int, typer.Option("--port", min=1, max=_DEMO["max_port"], help="TCP port of the dashboard.")] = _SERVER["port"],
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the dashboard in a browser where there is a desktop.")] = True,
    load_only: Annotated[bool, typer.Option("--load-only", help="Load rounds and identities, print them, and stop.")] = False,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> None:
    """Load the demo rounds and two demo identities into a workspace of their own, and serve the dashboard on this machine only."""
    if not load_only:
        _check_port(port)
    place = Workspace.open(workspace, create=True)
    with output.progress() as progress:
        rounds, identities = load_demo(place, datetime.now(UTC), progress)
    _print(place, rounds, identities)
    if not load_only:
        raise typer.Exit(_serve(place, port, browser))


def _print(workspace: Workspace, rounds: Sequence[DemoRound], identities: Sequence[DemoIdentity]) -> None:
    rows = [
        (one.source.manifest.round_id, one.state.value, one.source.manifest.label or "", headline(one.assessment.document)) for one in rounds
    ]
    output.table(("round", "state", "label", "engine"), rows, title=f"{len(rounds)} demo rounds in {workspace.root}")
    output.line()
    people = [(one.id, one.role, one.passphrase, str(one.key_file)) for one in identities]
    title = "DEMO identities, made in this workspace for looking around: never use them for real"
    output.table(("person", "role", "passphrase", "key"), people, title=title)
    output.line(f"The passphrases also stand in {workspace.root / DEMO_FILE} and on the sign-off page. The round to sign is ifeval-4o.")


def _check_port(port: int) -> None:
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


def _serve(workspace: Workspace, port: int, browser: bool) -> int:
    """Run the dashboard until it is stopped; returns the exit code. Loopback only, whatever the configuration says."""
    url = f"http://{_SERVER['address']}:{port}"
    command = [
        sys.executable, "-m", "dashboard.server", "--workspace", str(workspace.root.resolve()), "--address", _SERVER["address"], "--port", str(port),
    ]
    # from the folder that the package was imported from: no module of the caller's folder can take the dashboard's place;
    # in a session of its own: Ctrl-C reaches this process alone, which then stops the server in order
    with _stopped_at_the_end(subprocess.Popen(command, cwd=_IMPORT_ROOT, start_new_session=True)) as server:
        if _ready(server, port):
            output.line(f"Dashboard: {url}", "strong")
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
                server.wait(_DEMO["stop_timeout_s"])
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
            probe.settimeout(_DEMO["poll_s"])
            if probe.connect_ex((_SERVER["address"], port)) == 0:
                return True
        time.sleep(_DEMO["poll_s"])
    return False


def _has_desktop() -> bool:
    # without one, webbrowser would start a text browser inside this terminal
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
