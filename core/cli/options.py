"""Options that many commands share."""
from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from core.grid import Grid, load_grid
from core.rounds.folder import Round
from core.rounds.workspace import Workspace
from core.signing.round_grid import grid_of_round

DEFAULT_WORKSPACE: Final = Path("data/workspace")

WorkspaceOption = Annotated[
    Path, typer.Option("--workspace", envvar="COUNTERSIGN_WORKSPACE", help="The workspace folder.", file_okay=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
RoundArgument = Annotated[str, typer.Argument(metavar="ROUND", help="A round's digest, a prefix of it, or its round id.")]
GridOption = Annotated[
    Path | None, typer.Option("--grid", help="A grid file; otherwise the grid of the round's proposal, or the default grid."),
]


def grid_for(place: Workspace, source: Round, file: Path | None) -> Grid:
    """The grid of a file, else of the round's proposal, else the default grid."""
    return grid_of_round(place, source) if file is None else load_grid(file)
