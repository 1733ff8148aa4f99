"""``countersign grid list|accept``: which grids may decide in a workspace."""
from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from core.cli import output
from core.cli.options import DEFAULT_WORKSPACE, JsonOption, WorkspaceOption
from core.errors import CountersignError
from core.grid import default_grid, load_grid, shipped_grids
from core.persons.registry import Registry
from core.rounds.workspace import Workspace
from core.settings import SETTINGS
from core.signing.grids import AcceptedGrids, accept_grid

_SHOWN: Final[int] = SETTINGS["display"]["digest_characters"]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="The grids that may decide in a workspace.", no_args_is_help=True)
    group.command("list")(list_command)
    group.command("accept")(accept_command)
    app.add_typer(group, name="grid")


def list_command(workspace: WorkspaceOption = DEFAULT_WORKSPACE, as_json: JsonOption = False) -> None:
    """List the accepted grids; those that ship with the engine are accepted from the start."""
    accepted, shipped = AcceptedGrids.of(Workspace.open(workspace)), shipped_grids()
    if as_json:
        document = {"default": default_grid().digest, "shipped": list(shipped), "accepted": [entry.as_dict() for entry in accepted.entries.values()]}
        output.document(document)
        return
    rows: list[tuple[output.Cell, ...]] = [
        (grid.name, grid.version, grid.digest[:_SHOWN], grid.author, "ships with the engine", grid.reason) for grid in shipped.values()
    ]
    for digest, entry in accepted.entries.items():
        rows.append((*_named(accepted, digest), digest[:_SHOWN], entry.author, ", ".join(entry.accepted_by), entry.reason))
    output.table(("grid", "version", "digest", "author", "accepted by", "reason"), rows, right=("version",))


def _named(accepted: AcceptedGrids, digest: str) -> tuple[output.Cell, output.Cell]:
    try:
        grid = accepted.grid(digest)
    except CountersignError as problem:
        return output.Styled(problem.code, "refuse"), ""
    return grid.name, grid.version


def accept_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The grid file.")],
    by: Annotated[str, typer.Option("--by", metavar="ID", help="Your id. A grid whose acceptors all propose a round may not decide it.")],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE, as_json: JsonOption = False,
) -> None:
    """Accept a grid, so that rounds may be proposed and decided under it."""
    place, grid = Workspace.open(workspace, create=True), load_grid(file)
    entry = accept_grid(place, grid, by, Registry.load(place.registry_file), now=datetime.now(UTC))
    if as_json:
        output.document(entry.as_dict())
        return
    output.line(f"Grid {grid.name} version {grid.version} is accepted by {', '.join(entry.accepted_by)}.", "strong")
    output.facts([("digest", grid.digest), ("author", grid.author), ("reason", grid.reason)])
    changed = [(key, here, there) for key, here, there in grid.differences(default_grid())]
    if changed:
        output.table(("key", "this grid", "default grid"), changed)
