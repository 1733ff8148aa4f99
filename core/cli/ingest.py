"""``countersign ingest``: files into an immutable round."""
from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from core.cli import output
from core.cli.options import DEFAULT_WORKSPACE, JsonOption, WorkspaceOption
from core.pairs.cutoff import COUNTS, KEEPS, START, CutOff
from core.rounds.ingest import IngestReport, ingest
from core.rounds.note import Note
from core.rounds.readers.format import Option
from core.rounds.readers.formats import FORMATS
from core.rounds.readers.single import ForeignFile
from core.rounds.strict import Reader
from core.rounds.training_cutoff import KEY, read_cutoff
from core.rounds.workspace import Workspace
from core.settings import SETTINGS
from core.text import count_of

_SHOWN: Final[int] = SETTINGS["display"]["digest_characters"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ingest")(ingest_command)


def _list_formats(wanted: bool) -> None:
    if not wanted:
        return
    for part in dict.fromkeys(item.part for item in FORMATS.values()):
        found = [item for item in FORMATS.values() if item.part == part]
        common = found[0].options.items() if found[1:] else ()
        shared = {name: option for name, option in common if all(item.options.get(name) == option for item in found)}
        own = [(f"{item.name}  ({part})  {item.title}", {name: option for name, option in item.options.items() if name not in shared})
               for item in found]
        also = [(f"every format of {part.replace('_', ' ')} also takes", shared)] if shared else []
        for title, options in (*own, *also):
            output.line(title, "strong")
            output.facts((f"  {name}", _option_words(option)) for name, option in options.items())
        output.line()
    raise typer.Exit


def _option_words(option: Option) -> str:
    choices = f": {' or '.join(option.choices)}" if option.choices else ""
    return f"{option.meaning}{choices}{' (required)' if option.required else ''}"


def ingest_command(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="A one-file bundle (.json), a folder of tables with a round.json, or a file with --format."),
    ],
    round_id: Annotated[str | None, typer.Option("--round-id", help="Id of the round; a file takes its stem otherwise.")] = None,
    created_at: Annotated[
        str | None, typer.Option("--created-at", help="Time in UTC, 2026-01-05T12:00:00Z: makes a repeat the same round."),
    ] = None,
    format_name: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="The format of a foreign file, or auto: told from its rows, and said why."),
    ] = None,
    proposers: Annotated[
        list[str] | None, typer.Option("--proposer", metavar="ID", help="Who proposes a foreign file's round; may be given more than once."),
    ] = None,
    options: Annotated[
        list[str] | None, typer.Option("--option", metavar="KEY=VALUE", help="An option of the format; may be given more than once."),
    ] = None,
    cutoff: Annotated[
        int | None, typer.Option("--cutoff", metavar="LENGTH", help="The training cut-off: how many tokens or characters the trainer keeps."),
    ] = None,
    cutoff_counts: Annotated[
        str | None, typer.Option("--cutoff-counts", metavar="WHAT", help=f"What the cut-off counts: {', '.join(COUNTS)}."),
    ] = None,
    cutoff_keeps: Annotated[
        str | None, typer.Option("--cutoff-keeps", metavar="END", help=f"Which end is kept: {' or '.join(KEEPS)}; {START} where it is not said."),
    ] = None,
    formats: Annotated[
        bool, typer.Option("--formats", callback=_list_formats, is_eager=True, help="List the formats with their options, and stop."),
    ] = False,
    keep_unusable: Annotated[
        bool, typer.Option("--keep-unusable", help="Store the round though none of its pair rows could be typed, so that they can be listed."),
    ] = False,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """Read a proposer's files into an immutable round. Pair rows that cannot be typed are quarantined; anything else refuses, and so do
    pairs of which no row can be typed."""
    foreign, cut = _foreign(format_name, proposers or [], options or []), _cutoff(cutoff, cutoff_counts, cutoff_keeps)
    place = Workspace.open(workspace, create=True)
    with output.progress(quiet=as_json) as progress:
        report = ingest(
            source, place, round_id=round_id, created_at=created_at, now=datetime.now(UTC), progress=progress, foreign=foreign,
            keep_unusable=keep_unusable, cutoff=cut,
        )
    output.document(report.document()) if as_json else _print(report, workspace)


def _foreign(format_name: str | None, proposers: list[str], options: list[str]) -> ForeignFile | None:
    if format_name is None:
        if proposers or options:
            raise typer.BadParameter("goes with --format; a bundle or a folder says these things itself", param_hint="--proposer, --option")
        return None
    if not proposers:
        raise typer.BadParameter("is needed with --format: a foreign file does not say who proposes it", param_hint="--proposer")
    pairs = [text.partition("=") for text in options]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise typer.BadParameter(f"{name!r} is not KEY=VALUE", param_hint="--option")
    declared = {name: value for name, _, value in pairs}
    if len(declared) < len(pairs):
        raise typer.BadParameter("the same key twice", param_hint="--option")
    return ForeignFile(format_name, tuple(proposers), declared)


def _cutoff(length: int | None, counts: str | None, keeps: str | None) -> CutOff | None:
    """The cut-off that the options declare, read by the rules of round.json."""
    if length is None and counts is None and keeps is None:
        return None
    if length is None or counts is None:
        lacking = "--cutoff" if length is None else "--cutoff-counts"
        raise typer.BadParameter("a cut-off is a length and what it counts", param_hint=lacking)
    declared = {"length": length, "counts": counts} | ({} if keeps is None else {"keeps": keeps})
    return read_cutoff(Reader({KEY: declared}, "", "--cutoff"), stored=False)


def _print(report: IngestReport, workspace: Path) -> None:
    output.line(f"Round {report.round_id} {'was there already' if report.already_present else 'ingested'}.", "strong")
    output.facts([("digest", report.digest), ("folder", str(report.path))])
    rows = [(part.replace("_", " "), count) for part, count in report.counts.items()]
    output.table(("part", "rows"), [*rows, ("quarantined pair rows", report.quarantined)], right=("rows",))
    if report.quarantined:
        _print_quarantine(report, workspace)
    print_notes([note for note in report.notes if note.code != "quarantined_rows"])


def _print_quarantine(report: IngestReport, workspace: Path) -> None:
    """Why rows are quarantined, where the first of each reason stands, and the command that lists them all."""
    kept = report.counts["pairs"]
    output.line(f"{count_of(kept + report.quarantined, 'pair row')} read = {kept} kept + {report.quarantined} quarantined", "strong")
    rows = [
        (reason.code, reason.rows, reason.first.file or "", reason.first.line or "", reason.first.field or "", reason.expected)
        for reason in report.reasons
    ]
    output.table(("reason", "quarantined", "first in", "line", "field", "expected"), rows, right=("quarantined", "line"))
    place = "" if workspace == DEFAULT_WORKSPACE else f" --workspace {shlex.quote(str(workspace))}"
    output.line(f"List them all: countersign round show {report.digest[:_SHOWN]} --limit {report.quarantined}{place}")


def print_notes(notes: tuple[Note, ...] | list[Note]) -> None:
    """Notes, one a line, warnings by name."""
    for note in notes:
        output.line(f"{note.severity} [{note.code}] {note.text}", "held" if note.severity == "warning" else None)
