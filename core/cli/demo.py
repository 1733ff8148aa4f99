"""``countersign demo``: an embedded workspace with the demo rounds and two demo identities, and the dashboard over it."""
from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from core.cli import output
from core.cli.demo_workspace import DEMO_FILE, DemoIdentity, DemoRound, load_demo
from core.cli.options import DEFAULT_WORKSPACE, WorkspaceOption
from core.cli.serve import DEFAULT_PORT, BrowserOption, PortOption, check_port, serve
from core.gates.assessment import headline
from core.rounds.workspace import Workspace


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo_command)


def demo_command(
    port: PortOption = DEFAULT_PORT,
    browser: BrowserOption = True,
    load_only: Annotated[bool, typer.Option("--load-only", help="Load rounds and identities, print them, and stop.")] = False,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> None:
    """Load the demo rounds and two demo identities into a workspace of their own, and serve the dashboard on this machine only."""
    if not load_only:
        check_port(port)
    place = Workspace.open(workspace, create=True)
    with output.progress() as progress:
        rounds, identities = load_demo(place, datetime.now(UTC), progress)
    _print(place, rounds, identities)
    if not load_only:
        raise typer.Exit(serve(place, port, browser=browser))


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
