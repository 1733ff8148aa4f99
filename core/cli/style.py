"""``countersign style``: what each side of the pairs sounds like, and whether the reward goes with it."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import typer

from core.cli import output
from core.cli.ingest import print_notes
from core.cli.options import DEFAULT_WORKSPACE, JsonOption, WorkspaceOption
from core.cli.pairs import read_options, stated_grid, streamed
from core.files import is_file
from core.gates.assessment import load_or_assess
from core.gates.style_report import StyleReport, pair_style, reply_style, report_of_pairs
from core.gates.style_words import correlation_text, p_text, says, sentences
from core.grid import Grid
from core.pairs.columns import Flags, flags
from core.pairs.phrases import phrase_table
from core.pairs.style import PairStyle
from core.rounds.columns import PAIR_COLUMNS
from core.rounds.notes import Note
from core.rounds.readers import READERS, json_list, jsonl
from core.rounds.workspace import Workspace

Progress = Any


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("style")(style_command)


def style_command(
    source: Annotated[
        str, typer.Argument(metavar="ROUND_OR_FILE", help="A round of the workspace (digest, prefix or id), or a file of rollouts or of pairs."),
    ],
    admitted: Annotated[bool, typer.Option("--admitted", help="Of a round: only the pairs that the engine admits.")] = False,
    policy: Annotated[str | None, typer.Option("--policy", metavar="NAME", help="Of rollouts: those of this policy only.")] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="Of rollouts: how the file is to be read, reward=strict for one."),
    ] = None,
    grid: Annotated[Path | None, typer.Option("--grid", metavar="FILE", help="A grid file instead of the default grid.")] = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """Stock phrases, hedging, apologies, flattery, refusals and cut-off answers on each side, and whether the reward goes with them. It
    decides nothing."""
    rules, notes = stated_grid(grid), list[Note]()
    with output.progress(quiet=as_json) as progress:
        if is_file(Path(source)):
            report = _of_file(Path(source), rules, policy, read_options(option or []), notes, progress)
        else:
            report = _of_round(Workspace.open(workspace), source, rules, admitted, progress)
    if as_json:
        output.document({**report.as_dict(), "grid_digest": rules.digest, "notes": [note.document() for note in notes]})
        return
    _print(report)
    print_notes(notes)


def _of_round(place: Workspace, selector: str, grid: Grid, admitted: bool, progress: Progress) -> StyleReport:
    source = place.round(selector)
    only: Flags | None = None
    if admitted:
        assessment = load_or_assess(place, source, grid, lambda done, total: progress("pairs scored", done, total))
        only = np.zeros(source.pair_count, dtype=np.bool_)
        if source.has("pairs"):
            scored = pq.read_table(assessment.scored_path, columns=["ordinal", "state"])
            only[scored["ordinal"].to_numpy()] = flags(pc.equal(scored["state"].combine_chunks(), "admitted"))
    return pair_style(source, grid, only=only, progress=lambda done, total: progress("pairs read", done, total))


def _of_file(path: Path, grid: Grid, policy: str | None, options: dict[str, Any], notes: list[Note], progress: Progress) -> StyleReport:
    if path.suffix in READERS and not options and _holds_pairs(path):
        return _of_pairs(path, grid, notes)
    replies = streamed(path, options, notes)
    return reply_style(replies, grid, policy=policy, progress=lambda done, _: progress("rollouts", done, None))


def _holds_pairs(path: Path) -> bool:
    """Whether a table's first row has two sides."""
    if path.suffix == ".parquet":
        names: Sequence[str] = pq.read_schema(path).names
        return {"chosen", "rejected"} <= set(names)
    rows = json_list.raw_rows(json_list.read_text(path, path.name), path.name) if path.suffix == ".json" else jsonl.raw_rows(path, path.name, [])
    first = next(rows, None)
    return first is not None and isinstance(first.value, dict) and {"chosen", "rejected"} <= set(first.value)


def _of_pairs(path: Path, grid: Grid, notes: list[Note]) -> StyleReport:
    style, faults = PairStyle(phrase_table()), 0
    for batch in READERS[path.suffix].typed(path, path.name, PAIR_COLUMNS, notes):
        style.add(batch.rows)
        faults += len(batch.faults)
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
