"""What the leakage page reads: reports that are stored, or computed now where that is quick or asked for. Never in silence."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import streamlit as st

from core.gates.cluster_list import ClusterList
from core.gates.compared_list import ComparedList
from core.gates.contamination import ContaminationReport, contamination_of, stored_contamination
from core.gates.finding_list import FindingList
from core.gates.near_duplicates import NearDuplicateReport, near_duplicates_of, stored_near_duplicates
from core.gates.rollout_report import RolloutReport, rollouts_of, stored_rollout_report
from core.gates.style_kept import stored_style, style_of
from core.grid import Grid
from core.rounds.rollout_faults import rollout_count
from core.settings import SETTINGS
from dashboard import blocks, components
from dashboard.frame import View

_AT_ONCE: Final[int] = SETTINGS["reports"]["at_once_pairs"]
_ROLLOUTS_AT_ONCE: Final[int] = SETTINGS["rollouts"]["at_once"]
Report = TypeVar("Report")
Progress = Callable[[int, int], None]


def is_quick(view: View) -> bool:
    """Whether a page may compute a report of this round by itself."""
    return view.round.pair_count <= _AT_ONCE


def few_rollouts(view: View) -> bool:
    """Whether a page may pair this round's rollouts by itself."""
    return rollout_count(view.round) <= _ROLLOUTS_AT_ONCE and is_quick(view)


def lacking(grid: Grid, keys: Sequence[str]) -> list[str]:
    """The keys that a report needs and this grid does not set."""
    return [key for key in keys if key not in grid]


def with_progress(what: str, compute: Callable[[Progress], Report]) -> Report:
    """Run a computation under a line that says what is going on, and a bar."""
    place = st.empty()
    with place.container():
        components.sheet(f"busy-{what}", blocks.paragraph(blocks.muted(f"{what}. This is done once; the report is kept.")))
        bar = st.progress(0)
    try:
        return compute(lambda done, total: _advance(bar, done, total))
    finally:
        place.empty()


def _advance(bar: Any, done: int, total: int) -> None:
    bar.progress(min(done / max(total, 1), 1))


def rollouts(view: View, *, now: bool) -> RolloutReport | None:
    """The report on the round's rollouts; None where it is not stored and ``now`` is false."""
    found = stored_rollout_report(view.workspace, view.round, view.grid)
    if found is not None or not now:
        return found
    return with_progress("Pairing the rollouts by the rule", lambda progress: rollouts_of(view.workspace, view.round, view.grid, progress=progress))


def contamination(view: View, *, now: bool) -> ContaminationReport | None:
    """The report against the round's holdout; None where it is not stored and ``now`` is false."""
    found = stored_contamination(view.workspace, view.round, view.grid)
    if found is not None or not now:
        return found
    return with_progress("Looking for the holdout in the pairs", lambda progress: contamination_of(
        view.workspace, view.round, view.grid, progress=progress,
    ))


def near_duplicates(view: View, field: str, *, now: bool) -> NearDuplicateReport | None:
    """The report about one field; None where it is not stored and ``now`` is false."""
    found = stored_near_duplicates(view.workspace, view.round, view.grid, field)
    if found is not None or not now:
        return found
    # the texts are read several times, each with a bar of its own
    return with_progress("Comparing the texts with each other", lambda progress: near_duplicates_of(
        view.workspace, view.round, view.grid, field, progress=lambda _, done, total: progress(done, total),
    ))


def style(view: View, *, admitted: bool, now: bool) -> Mapping[str, Any] | None:
    """The style report of all pairs or of the admitted ones; None where it is not stored and ``now`` is false."""
    found = stored_style(view.workspace, view.round, view.grid, admitted=admitted)
    if found is not None or not now:
        return found
    return with_progress("Reading what each side sounds like", lambda progress: style_of(
        view.workspace, view.round, view.computed, view.grid, admitted=admitted, progress=progress,
    ))


@st.cache_resource(max_entries=SETTINGS["dashboard"]["open_databases"], show_spinner=False)
def _findings(findings: str, scored: str) -> FindingList:
    return FindingList(Path(findings), Path(scored))


def findings(view: View, report: ContaminationReport) -> FindingList:
    """The findings beside what became of their pairs."""
    return _findings(str(report.findings_path), str(view.computed.scored_path))


@st.cache_resource(max_entries=SETTINGS["dashboard"]["open_databases"], show_spinner=False)
def _clusters(clusters: str, scored: str) -> ClusterList:
    return ClusterList(Path(clusters), Path(scored))


def clusters(view: View, report: NearDuplicateReport) -> ClusterList:
    """The clusters beside what became of their pairs."""
    return _clusters(str(report.clusters_path), str(view.computed.scored_path))


@st.cache_resource(max_entries=SETTINGS["dashboard"]["open_databases"], show_spinner=False)
def _compared(compared: str, scored: str) -> ComparedList:
    return ComparedList(Path(compared), Path(scored))


def compared(view: View, report: RolloutReport) -> ComparedList:
    """The pairs that differ from the rule's, beside what became of them."""
    return _compared(str(report.compared_path), str(view.computed.scored_path))


@st.cache_data(max_entries=SETTINGS["dashboard"]["open_databases"], show_spinner=False)
def _items(digest: str, _view: View) -> list[dict[str, Any]]:
    return _view.round.holdout_items()


def items(view: View) -> list[dict[str, Any]]:
    """The holdout, in its order."""
    return _items(view.round.digest, view)
