"""``countersign behaviours``: named behaviours over model versions, each claim with every gap that leaves it unproven."""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from core.cli import output
from core.cli.options import DEFAULT_WORKSPACE, GridOption, JsonOption, WorkspaceOption, grid_for
from core.cli.output import Cell, Styled
from core.gates.behaviour_file import About, claim_policy, compare, read_about, read_behaviours
from core.gates.behaviour_round import CLOSING, behaviour_report
from core.gates.behaviour_versions import BehaviourRow, HistoryPoint, VersionComparison
from core.grid import Grid, default_grid, load_grid
from core.rounds.folder import Round
from core.rounds.workspace import Workspace
from core.statistics import result
from core.statistics.probability import counted
from core.statistics.ratio import fraction_text
from core.statistics.verdict import Standing, points_text

History = Mapping[str, tuple[HistoryPoint, ...]]
_STYLES: Final = {Standing.BETTER: "pass", Standing.WORSE: "refuse", Standing.NOT_SHOWN: "held"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("behaviours")(behaviours_command)


def behaviours_command(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A round, or a file of outcomes: .jsonl, .json (a list) or .parquet.")],
    served: Annotated[str | None, typer.Option("--served", metavar="VERSION", help="The version that is served now.")] = None,
    candidate: Annotated[str | None, typer.Option("--candidate", metavar="VERSION", help="The version that is put forward.")] = None,
    primary: Annotated[str | None, typer.Option("--primary", metavar="BEHAVIOUR", help="What the claim is about; tested as it is.")] = None,
    guard: Annotated[list[str] | None, typer.Option("--guard", metavar="BEHAVIOUR", help="Must not regress; may be given more than once.")] = None,
    about: Annotated[
        Path | None, typer.Option("--about", metavar="FILE", help="With a file: what is known of judges and contamination.", exists=True,
                                  dir_okay=False),
    ] = None,
    grid: GridOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """Compare two versions of a model on named behaviours: those of a round, or of a file. It decides nothing."""
    path = Path(source)
    if path.is_file():
        if served is None or candidate is None:
            raise typer.BadParameter("a file needs --served VERSION and --candidate VERSION")
        rules = default_grid() if grid is None else load_grid(grid)
        table = read_behaviours(path, About() if about is None else read_about(about))
        found, history = compare(table, served, candidate, primary=primary, guarded=tuple(guard or ()), policy=claim_policy(rules))
        _show(rules, found, history, as_json=as_json)
        return
    if about is not None:
        raise typer.BadParameter("--about goes with a file; a round says itself what is known")
    place = Workspace.open(workspace)
    opened = place.round(source)
    _of_round(opened, grid_for(place, opened, grid), served, candidate, primary, tuple(guard or ()), as_json=as_json)


def _of_round(
    source: Round, rules: Grid, served: str | None, candidate: str | None, primary: str | None, guard: tuple[str, ...], *, as_json: bool,
) -> None:
    found = behaviour_report(source, rules, served=served, candidate=candidate, primary=primary, guarded=guard)
    if found.value is not None:
        _show(rules, found.value.comparison, found.value.history, as_json=as_json, round_digest=source.digest)
    elif as_json:
        output.document({"round_digest": source.digest, "grid_digest": rules.digest, "undefined": found.reason})
    else:
        output.line(f"No behaviours: {found.reason}.", "held")


def _show(rules: Grid, found: VersionComparison, history: History, *, as_json: bool, round_digest: str | None = None) -> None:
    if as_json:
        named = {} if round_digest is None else {"round_digest": round_digest, "undefined": None}
        output.document({**named, "grid_digest": rules.digest, "comparison": found.as_dict(), "history": result.as_json(history)})
        return
    first = found.rows[0]
    style = _STYLES[first.standing] if first.role == "primary" else "strong"
    output.line(found.sentence, style)
    names = ("behaviour", "role", "state", "gain", "p", "corrected", "standing")
    output.table(names, [_row(row) for row in found.rows], right=("gain", "p", "corrected"))
    for row in found.rows if first.role != "primary" else found.rows[1:]:
        output.line(row.sentence)
    for name, points in history.items():
        columns = ("version", "test", "passed", "graded", "contamination", "change")
        output.table(columns, [_point(point) for point in points], title=f"{name}, over versions")
    output.line(CLOSING, "dim")


def _row(row: BehaviourRow) -> tuple[Cell, ...]:
    gain = row.claim.gain
    p, adjusted = (None if row.p is None else row.p.text()), (None if row.adjusted is None else counted(row.adjusted).text())
    return (
        row.claim.behaviour, row.role, row.claim.state.value, "" if gain is None else points_text(gain, sign=True), p or "not tested", adjusted or "",
        Styled(row.standing.value, _STYLES[row.standing]),
    )


def _point(point: HistoryPoint) -> tuple[Cell, ...]:
    found = "not looked for" if point.contamination is None else f"{point.contamination:,}"
    change = "" if point.change is None else point.change.sentence
    return (point.version, point.test_version, fraction_text(point.estimate.rate), point.graded_by, found, change)
