"""``countersign rollouts``: what the pairing rule makes of a round's rollouts, and whether the round's pairs are that."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import typer

from core.cli import output
from core.cli.contamination import print_gaps
from core.cli.options import DEFAULT_WORKSPACE, GridOption, JsonOption, RoundArgument, WorkspaceOption, grid_for
from core.gates import rollout_words
from core.gates.rollout_report import rollouts_of
from core.rounds.workspace import Workspace
from core.settings import SETTINGS
from core.text import count_of

_SHOWN: Final[int] = SETTINGS["rollouts"]["shown"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("rollouts")(rollouts_command)


def rollouts_command(
    selector: RoundArgument, grid: GridOption = None, workspace: WorkspaceOption = DEFAULT_WORKSPACE, as_json: JsonOption = False,
) -> None:
    """Pair a round's rollouts by the rule, under the round's grid, and hold its pairs against the result. It decides nothing."""
    place = Workspace.open(workspace)
    source = place.round(selector)
    with output.progress(quiet=as_json) as progress:
        report = rollouts_of(place, source, grid_for(place, source, grid), progress=lambda done, total: progress("rows", done, total))
    if as_json:
        output.document(dict(report.document))
    else:
        _print(report.document)


def _print(found: Mapping[str, Any]) -> None:
    compared = found["comparison"]
    differs = compared is not None and not compared["same"] == compared["pairs"] == found["pairs"]
    output.line(f"{rollout_words.headline(found)}.", "held" if differs else "strong")
    held = rollout_words.eval_words(found)
    if held is not None:
        output.line(f"warning [eval_sourced] {held}.", "refuse")
    output.line()
    rows: list[tuple[output.Cell, ...]] = [*rollout_words.where_they_went(found), ("in all", found["rows"])]
    output.table(("where the rollouts went", "rollouts"), rows, right=("rollouts",))
    output.line()
    output.facts([
        ("rule", rollout_words.rule_words(found)), ("of the holdout", rollout_words.holdout_words(found)), *rollout_words.figures(found),
    ])
    if found["holdout"] is not None:
        print_gaps(found["holdout"]["not_judged"], found["holdout"]["not_looked_for"])
    for one in found["warnings"]:
        output.line(f"warning [{one['code']}] of the rule's pairs: {one['text']}", "held")
    if compared is not None:
        _print_comparison(found)


def _print_comparison(found: Mapping[str, Any]) -> None:
    output.line()
    rows = [(rollout_words.KIND_TITLES[kind], count, why) for kind, count, why in rollout_words.comparison_rows(found)]
    output.table(("the round's pairs", "pairs", "of them"), rows, right=("pairs",))
    if found["comparison"]["quarantined"]:
        output.line(f"Not compared: {count_of(found['comparison']['quarantined'], 'quarantined pair row')}.")
    listed = found["listed"][:_SHOWN]
    if listed:
        output.line()
        output.table(
            ("pair", "task", "it is", "why"),
            [(row["pair_id"], row["task"] or "-", rollout_words.KIND_TITLES[row["kind"]].lower(), rollout_words.reason_of(row)) for row in listed],
            title=f"The first {len(listed):,} pairs that differ, or have a reward of the holdout",
        )
