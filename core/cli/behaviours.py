"""``countersign behaviours``: named behaviours over model versions, each claim with every gap that leaves it unproven."""
from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from core.cli import output
from core.cli.options import JsonOption
from core.cli.output import Cell, Styled
from core.gates.behaviour_file import About, claim_policy, compare, read_about, read_behaviours
from core.gates.behaviour_versions import BehaviourRow, HistoryPoint
from core.grid import default_grid, load_grid
from core.statistics import result
from core.statistics.probability import counted
from core.statistics.ratio import fraction_text
from core.statistics.verdict import Standing, points_text

_STYLES: Final = {Standing.BETTER: "pass", Standing.WORSE: "refuse", Standing.NOT_SHOWN: "held"}
_CLOSING: Final = "This promotes nothing: a version is promoted by a round, its gates and a second person."


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("behaviours")(behaviours_command)


def behaviours_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Outcomes of behaviours: .jsonl, .json (a list) or .parquet.", exists=True, dir_okay=False),
    ],
    served: Annotated[str, typer.Option("--served", metavar="VERSION", help="The version that is served now.")],
    candidate: Annotated[str, typer.Option("--candidate", metavar="VERSION", help="The version that is put forward.")],
    primary: Annotated[str | None, typer.Option("--primary", metavar="BEHAVIOUR", help="What the claim is about; tested as it is.")] = None,
    guard: Annotated[list[str] | None, typer.Option("--guard", metavar="BEHAVIOUR", help="Must not regress; may be given more than once.")] = None,
    about: Annotated[
        Path | None, typer.Option("--about", metavar="FILE", help="What is known of judges and contamination.", exists=True, dir_okay=False),
    ] = None,
    grid: Annotated[Path | None, typer.Option("--grid", metavar="FILE", help="A grid file instead of the default grid.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two versions of a model on named behaviours. It decides nothing."""
    rules = default_grid() if grid is None else load_grid(grid)
    policy = claim_policy(rules)
    table = read_behaviours(file, About() if about is None else read_about(about))
    found, history = compare(table, served, candidate, primary=primary, guarded=tuple(guard or ()), policy=policy)
    if as_json:
        output.document({"grid_digest": rules.digest, "comparison": found.as_dict(), "history": result.as_json(history)})
        return
    output.line(found.sentence, _STYLES[found.rows[0].standing])
    names = ("behaviour", "role", "state", "gain", "p", "corrected", "standing")
    output.table(names, [_row(row) for row in found.rows], right=("gain", "p", "corrected"))
    for row in found.rows[1:]:
        output.line(row.claim.sentence)
    for name, points in history.items():
        columns = ("version", "test", "passed", "graded", "contamination", "change")
        output.table(columns, [_point(point) for point in points], title=f"{name}, over versions")
    output.line(_CLOSING, "dim")


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
