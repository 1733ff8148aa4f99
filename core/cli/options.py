"""Options that many commands share."""
from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

DEFAULT_WORKSPACE: Final = Path("data/workspace")

WorkspaceOption = Annotated[
    Path, typer.Option("--workspace", envvar="COUNTERSIGN_WORKSPACE", help="The workspace folder.", file_okay=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
RoundArgument = Annotated[str, typer.Argument(metavar="ROUND", help="A round's digest, a prefix of it, or its round id.")]
