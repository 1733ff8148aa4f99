"""The behaviours that a round was supplied with: baseline against candidate on each, and each over the versions.

The baseline is the served version, the candidate the one put forward, by the names that round.json gives them. A judge that
graded is known by its records in the same round: agreement with the verifier over its usable cases. The round's one claim
that was fixed beforehand is the gain on the locked holdout, so no behaviour is tested without a correction unless somebody
names it: all count as guarded (Holm). Nothing here decides, and nothing here promotes a version.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from core.gates.behaviour_file import claim_policy, known_name
from core.gates.behaviour_versions import HistoryPoint, VersionComparison, behaviour_history, compare_versions, measurements_of
from core.gates.behaviours import Grader
from core.gates.judge_cases import cases_of, judge_figures
from core.gates.judge_parts import Part
from core.gates.strength_rules import NO_CONFIDENCE, Levels
from core.grid import Grid
from core.rounds.folder import Round
from core.statistics.ratio import Ratio
from core.statistics.result import Result

NOT_SUPPLIED: Final = "not supplied: needs the part behaviours (behaviour, version, test_version, item_id, passed)"
CLOSING: Final = "This promotes nothing: promotion of a version goes through a round's gates and a second person's signature, never around them."


@dataclass(frozen=True, slots=True)
class BehaviourReport(Result):
    """``comparison``: baseline against candidate; ``history``: each behaviour over ``versions``, in the order in which the round
    names them."""

    versions: tuple[str, ...]
    comparison: VersionComparison
    history: Mapping[str, tuple[HistoryPoint, ...]]


def behaviour_report(
    source: Round, grid: Grid, *, served: str | None = None, candidate: str | None = None, primary: str | None = None, guarded: Sequence[str] = (),
) -> Part[BehaviourReport]:
    """What the behaviours of a round show; without them, or under a grid of schema 1, the reason why nothing is said.

    ``served`` and ``candidate``: other versions than the round's baseline and candidate. ``primary``: tested as it is, when it was
    named beforehand; then ``guarded`` are corrected by Holm and the rest is explored. Raises RoundError for a name that the round
    does not have, and for measurements between which nothing may be guessed.
    """
    reason = _why_not(source, grid)
    if reason is not None:
        return Part(None, reason)
    rows, policy = source.table("behaviours"), claim_policy(grid)
    versions, names = _in_order(rows, "version"), _in_order(rows, "behaviour")
    for option, name in (("--served", served), ("--candidate", candidate)):
        if name is not None:
            known_name(option, name, versions, "version")
    for option, name in (("--primary", primary), *(("--guard", one) for one in guarded)):
        if name is not None:
            known_name(option, name, names, "behaviour")
    measured = measurements_of(rows, graders=_graders(source, rows))
    held = guarded if guarded or primary is not None else names
    compared = compare_versions(
        measured, served or source.manifest.baseline.name, candidate or source.manifest.candidate.name, primary=primary, guarded=held, policy=policy,
    )
    return Part(BehaviourReport(versions, compared, {name: behaviour_history(measured, name, versions, policy) for name in names}))


def behaviour_comparison(source: Round, grid: Grid) -> Part[VersionComparison]:
    """Baseline against candidate alone, as a statement keeps it. Raises RoundError like :func:`behaviour_report`."""
    reason = _why_not(source, grid)
    if reason is not None:
        return Part(None, reason)
    rows = source.table("behaviours")
    measured, names = measurements_of(rows, graders=_graders(source, rows)), _in_order(rows, "behaviour")
    return Part(compare_versions(
        measured, source.manifest.baseline.name, source.manifest.candidate.name, primary=None, guarded=names, policy=claim_policy(grid),
    ))


def _why_not(source: Round, grid: Grid) -> str | None:
    if not source.has("behaviours"):
        return NOT_SUPPLIED
    return f"not compared: {NO_CONFIDENCE}" if Levels.of(grid) is None else None


def _in_order(rows: pa.Table, name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(rows[name].to_pylist()))


def _graders(source: Round, rows: pa.Table) -> dict[str, Grader]:
    """What the round's own judge records say about each judge that graded; one without records stays unmeasured."""
    graded = {name for name in rows["judge_id"].to_pylist() if name is not None}
    if not graded or not source.has("judge_records"):
        return {}
    records = judge_figures(source)
    tables = {name: cases_of(records, name).table for name in graded}
    return {name: Grader("model", name, Ratio(table.tp + table.tn, table.n) if table.n else None) for name, table in tables.items()}
