"""``countersign ingest``: files into an immutable round."""
from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from core.cli import output
from core.cli.options import DEFAULT_WORKSPACE, JsonOption, WorkspaceOption
from core.rounds.ingest import IngestReport, ingest
from core.rounds.notes import Note
from core.rounds.workspace import Workspace


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ingest")(ingest_command)


def ingest_command(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A one-file bundle (.json), or a folder of tables with a round.json.")],
    round_id: Annotated[str | None, typer.Option("--round-id", help="Id of the round; a bundle takes its file's stem otherwise.")] = None,
    created_at: Annotated[
        str | None, typer.Option("--created-at", help="Time in UTC, 2026-01-05T12:00:00Z: makes a repeat the same round."),
    ] = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """Read a proposer's files into an immutable round. Pair rows that cannot be typed are quarantined; anything else refuses."""
    place = Workspace.open(workspace, create=True)
    with output.progress(quiet=as_json) as progress:
        report = ingest(source, place, round_id=round_id, created_at=created_at, now=datetime.now(UTC), progress=progress)
    output.document(report.document()) if as_json else _print(report)


def _print(report: IngestReport) -> None:
    output.line(f"Round {report.round_id} {'was there already' if report.already_present else 'ingested'}.", "strong")
    output.facts([("digest", report.digest), ("folder", str(report.path))])
    rows = [(part.replace("_", " "), count) for part, count in report.counts.items()]
    output.table(("part", "rows"), [*rows, ("quarantined pair rows", report.quarantined)], right=("rows",))
    print_notes(report.notes)


def print_notes(notes: tuple[Note, ...] | list[Note]) -> None:
    """Notes, one a line, warnings by name."""
    for note in notes:
        output.line(f"{note.severity} [{note.code}] {note.text}", "held" if note.severity == "warning" else None)
