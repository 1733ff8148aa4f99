"""``countersign style``: what each side of the pairs sounds like, and whether the reward goes with it."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import typer

from core.cli import output
from core.cli.ingest import print_notes
from core.cli.options import DEFAULT_WORKSPACE, GridOption, JsonOption, WorkspaceOption, grid_for
from core.cli.pairs import read_options, stated_grid, streamed
from core.errors import RoundError, Where
from core.files import is_file
from core.gates.assessment import load_or_assess
from core.gates.style_kept import admitted_only, keep_style
from core.gates.style_report import StyleReport, pair_style, reply_style, report_of_pairs
from core.gates.style_words import correlation_text, p_text, says, sentences
from core.grid import Grid
from core.pairs.columns import Flags
from core.pairs.pairing import REASONS
from core.pairs.phrases import phrase_table
from core.pairs.style import PairStyle
from core.rounds.columns import PAIR_COLUMNS, Kind
from core.rounds.folder import Round
from core.rounds.note import Note
from core.rounds.readers.containers import SUFFIXES, first_values, raw_rows
from core.rounds.readers.contents import name_parts
from core.rounds.readers.format import COLUMN, Declared
from core.rounds.readers.formats import AUTO, checked_options, detect, format_named
from core.rounds.readers.rollout_gaps import nothing_usable
from core.rounds.rollout_faults import REASONS as FAULTS
from core.rounds.typing_rows import RawRow, type_rows
from core.rounds.workspace import Workspace

Progress = Callable[[str, int, int | None], None]
_PART: Final = "pairs"
_UNUSED: Final = (("ids", "pair_id", "line"), ("origin", "origin", "verified"))
"""(option, column, value): what a file of pairs has to say for a round and a style has no use for, so that nobody has to declare it."""
_SIDES: Final = tuple(column for column in PAIR_COLUMNS if column.kind is Kind.SIDE)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("style")(style_command)


def style_command(
    source: Annotated[
        str, typer.Argument(metavar="ROUND_OR_FILE", help="A round of the workspace (digest, prefix or id), or a file of rollouts or of pairs."),
    ],
    admitted: Annotated[bool, typer.Option("--admitted", help="Of a round: only the pairs that the engine admits.")] = False,
    policy: Annotated[str | None, typer.Option("--policy", metavar="NAME", help="Of rollouts: those of this policy only.")] = None,
    format_name: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="The format of a foreign file of pairs, or auto (countersign ingest --formats)."),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="KEY=VALUE", help="How a file is to be read, reward=strict for one; may be given more than once."),
    ] = None,
    grid: GridOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """Stock phrases, hedging, apologies, flattery, refusals and cut-off answers on each side, and whether the reward goes with them. It
    decides nothing."""
    notes = list[Note]()
    _check_use(source, admitted=admitted, policy=policy, format_name=format_name, options=options)
    with output.progress(quiet=as_json) as progress:
        if is_file(Path(source)):
            rules = stated_grid(grid)
            report = _of_file(Path(source), rules, policy, format_name, read_options(options or []), notes, progress)
        else:
            place = Workspace.open(workspace)
            opened = place.round(source)
            rules = grid_for(place, opened, grid)
            report = _of_round(place, opened, rules, admitted, progress)
    if as_json:
        output.document({**report.as_dict(), "grid_digest": rules.digest, "notes": [note.document() for note in notes]})
        return
    _print(report)
    print_notes(notes)


def _check_use(source: str, *, admitted: bool, policy: str | None, format_name: str | None, options: list[str] | None) -> None:
    """Refuse an option that would change nothing here: a report that ignored it would be read as an answer to it."""
    path = Path(source)
    if is_file(path):
        of_pairs = format_name is not None or (not options and holds_pairs(path))
        unused = [("--admitted", admitted, "a round"), ("--policy", of_pairs and policy is not None, "rollouts")]
    elif name_parts(path.name).suffix in SUFFIXES:
        raise RoundError(
            "cannot_read", expected="a file that is there, or a round of the workspace", got="neither", remedy="check the path", where=Where(source),
        )
    else:
        unused = [("--policy", policy is not None, "rollouts"), ("--format", format_name is not None, "a file")]
        unused.append(("--option", bool(options), "a file"))
    for name, given, what in unused:
        if given:
            raise typer.BadParameter(f"it is for {what}, which {source} is not", param_hint=name)


def _of_round(place: Workspace, source: Round, grid: Grid, admitted: bool, progress: Progress) -> StyleReport:
    only: Flags | None = None
    if admitted:
        assessment = load_or_assess(place, source, grid, lambda done, total: progress("pairs scored", done, total))
        only = admitted_only(source, assessment) if source.has("pairs") else np.zeros(source.pair_count, dtype=np.bool_)
    report = pair_style(source, grid, only=only, progress=lambda done, total: progress("pairs read", done, total))
    keep_style(place, source, grid, report, admitted=admitted)
    return report


def _of_file(
    path: Path, grid: Grid, policy: str | None, format_name: str | None, options: dict[str, str], notes: list[Note], progress: Progress,
) -> StyleReport:
    if format_name is not None:
        return _of_pairs(path, grid, foreign_rows(path, format_name, options, notes), progress)
    if not options and holds_pairs(path):
        return _of_pairs(path, grid, raw_rows(path, path.name, notes), progress)
    report = reply_style(streamed(path, options, notes), grid, policy=policy, progress=lambda done, _: progress("rollouts", done, None))
    if not report.scope["replies"]:
        left_out = report.scope["left_out"]
        raise nothing_usable(Declared(path, path.name, options, []), sum(left_out.values()), left_out, {**REASONS, **FAULTS}, policy)
    return report


def holds_pairs(path: Path) -> bool:
    """Whether the first row of a file has two sides."""
    first = first_values(path, path.name)[:1]
    return bool(first) and isinstance(first[0], dict) and {"chosen", "rejected"} <= set(first[0])


def foreign_rows(path: Path, format_name: str, options: dict[str, str], notes: list[Note]) -> Iterator[RawRow]:
    """The rows of a foreign file of pairs, under our column names."""
    chosen = detect(path, path.name, part=_PART)[0] if format_name == AUTO else format_named(format_name, Where(field="--format"))
    if chosen.part != _PART:
        raise typer.BadParameter(f"{chosen.name} holds {chosen.part}, not pairs", param_hint="--format")
    first = next(iter(first_values(path, path.name)), None)
    given = set(first if isinstance(first, dict) else ()) | {name.removeprefix(COLUMN) for name in options}
    unused = {option: value for option, column, value in _UNUSED if option in chosen.options and column not in given}
    return chosen.rows(Declared(path, path.name, checked_options(chosen, unused | options, Where(field="--option")), notes))


def _of_pairs(path: Path, grid: Grid, rows: Iterable[RawRow], progress: Progress) -> StyleReport:
    """Only the sides are typed: a style needs no flags and no log-probs."""
    style, faults, first = PairStyle(phrase_table()), 0, ""
    for batch in type_rows(path.name, _SIDES, rows):
        style.add(batch.rows)
        faults += len(batch.faults)
        first = first or next((f"; in line {one.line}, {one.field}: {one.got} where {one.expected} belongs" for one in batch.faults), "")
        progress("pairs read", style.pairs, None)
    if not style.pairs:
        raise RoundError(
            "no_usable_pair", expected="a row whose two sides can be read", got=f"none of {faults:,}{first}", where=Where(path.name),
            remedy="name a file of pairs, or its format with --format",
        )
    return report_of_pairs(style, grid, {"file": path.name, "rows_that_cannot_be_typed": faults})


def _print(report: StyleReport) -> None:
    first, *others = sentences(report)
    output.line(first, "strong")
    for sentence in others:
        output.line(sentence)
    counts = ("chosen only", "rejected only", "both", "neither") if report.subject == "pairs" else ("marked", "judged")
    rows = [
        (
            finding.title, *(finding.counts[name.replace(" ", "_")] for name in counts), correlation_text(finding), p_text(finding),
            output.Styled(says(finding, report.subject), "held") if finding.flagged or finding.shown else says(finding, report.subject),
        ) for finding in report.findings
    ]
    output.table(("marker", *counts, "correlation", "corrected p", "it says"), rows, right=counts)
    phrases = [
        (finding.title, side, ", ".join(f"{phrase} ({count:,})" for phrase, count in items))
        for finding in report.findings for side, items in finding.phrases.items() if items
    ]
    if phrases:
        output.line()
        output.table(("marker", "in", "phrases found first"), phrases)
