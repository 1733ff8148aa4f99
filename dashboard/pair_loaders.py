"""What the two pair pages ask, cached by round, assessment and question: aggregates and single pages of rows, never a table.

An assessment's folder name holds the digests of grid and code, so a cached answer can never be about other figures.
"""
from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import streamlit as st

from core.rounds.queries import PairFilter, RoundQueries, StateCounts, Trap
from core.rounds.query_bins import BinPlan, BinRange, bounds_of
from core.settings import SETTINGS
from dashboard.frame import View

_LIMITS: Final = SETTINGS["dashboard"]
Rows = list[dict[str, Any]]


def _key(view: View) -> tuple[str, str]:
    return view.round.digest, view.computed.folder.name


@st.cache_data(max_entries=_LIMITS["cached_pages"], show_spinner=False)
def _plans(key: tuple[str, str], _queries: RoundQueries, _bounds: dict[str, float | None]) -> dict[str, BinPlan]:
    return _queries.bin_plans(_bounds)


def plans(view: View) -> dict[str, BinPlan]:
    """The bins of the four charts of this round under this grid."""
    return _plans(_key(view), view.queries(), bounds_of(view.grid))


@st.cache_data(max_entries=_LIMITS["cached_pages"], show_spinner=False)
def _totals(key: tuple[str, str], _queries: RoundQueries) -> dict[str, Any]:
    return {
        "counts": _queries.state_counts(), "reasons": _queries.reason_counts().to_pylist(), "trap": _queries.trap(),
        "means": _queries.group_means().to_pylist(), "nearest": _queries.nearest(), "held": _queries.held_counts().to_pylist(),
        "invalid": _queries.invalid_counts().to_pylist(),
    }


def counts(view: View) -> StateCounts:
    """Where every input row ended."""
    found: StateCounts = _totals(_key(view), view.queries())["counts"]
    return found


def reasons(view: View) -> Rows:
    """Pairs by reason: rows of ``reason_counts.sql``."""
    found: Rows = _totals(_key(view), view.queries())["reasons"]
    return found


def trap(view: View) -> Trap:
    """The pairs that look good by margin while their chosen answer became less likely."""
    found: Trap = _totals(_key(view), view.queries())["trap"]
    return found


def means(view: View) -> Rows:
    """Means by state: rows of ``group_means.sql``."""
    found: Rows = _totals(_key(view), view.queries())["means"]
    return found


def nearest(view: View) -> dict[str, float | None]:
    """The figure nearest to each bound on either side."""
    found: dict[str, float | None] = _totals(_key(view), view.queries())["nearest"]
    return found


def held(view: View) -> Rows:
    """Held pairs by judge and failing check."""
    found: Rows = _totals(_key(view), view.queries())["held"]
    return found


def invalid(view: View) -> Rows:
    """Invalid records by what is wrong with them."""
    found: Rows = _totals(_key(view), view.queries())["invalid"]
    return found


@st.cache_data(max_entries=_LIMITS["cached_pages"], show_spinner=False)
def _histograms(
    key: tuple[str, str], ranges: tuple[tuple[str, int | None, int | None], ...], judge: str | None, _queries: RoundQueries,
    _plans: dict[str, BinPlan],
) -> pa.Table:
    return _queries.histograms(_plans, tuple(BinRange(*item) for item in ranges), judge_id=judge)


def histograms(view: View, ranges: tuple[BinRange, ...], judge: str | None) -> pa.Table:
    """The bars of the four charts: rows of ``histograms.sql``."""
    return _histograms(_key(view), _plain(ranges), judge, view.queries(), plans(view))


def _plain(ranges: tuple[BinRange, ...]) -> tuple[tuple[str, int | None, int | None], ...]:
    return tuple(sorted((item.measure, item.first, item.last) for item in ranges))


@st.cache_data(max_entries=_LIMITS["cached_pages"], show_spinner=False)
def _pair_page(key: tuple[str, str], question: tuple[Any, ...], sort: str, page: int, _chosen: PairFilter, _queries: RoundQueries,
               _plans: dict[str, BinPlan]) -> Rows:
    rows: Rows = _queries.pair_page(_chosen, _plans, sort=sort, page=page).to_pylist()
    return rows


def pair_page(view: View, chosen: PairFilter, *, sort: str, page: int) -> Rows:
    """One page of pairs: rows of ``pair_page.sql``."""
    question = (chosen.state, chosen.reason, chosen.any_reason, chosen.origin, chosen.judge_id, chosen.search, chosen.pair_id, _plain(chosen.ranges))
    return _pair_page(_key(view), question, sort, page, chosen, view.queries(), plans(view))


@st.cache_data(max_entries=_LIMITS["cached_pages"], show_spinner=False)
def _pair(key: tuple[str, str], pair_id: str, _queries: RoundQueries) -> Rows:
    return _queries.pair(pair_id)


def pair(view: View, pair_id: str) -> Rows:
    """The scored rows that carry an id; more than one only where the id is shared."""
    return _pair(_key(view), pair_id, view.queries())


def texts(view: View, ordinal: int) -> dict[str, Any] | None:
    """Prompt and answers of one pair. Not cached: texts may be long, and one is read at a time."""
    return view.queries().pair_text(ordinal)


@st.cache_data(max_entries=_LIMITS["cached_pages"], show_spinner=False)
def _judges(key: tuple[str, str], state: str, _queries: RoundQueries) -> list[str]:
    return sorted({row["judge_id"] for row in _queries.facets(state).to_pylist() if row["judge_id"] is not None})


def judges(view: View, state: str) -> list[str]:
    """The judges that pairs of this state name."""
    return _judges(_key(view), state, view.queries())


@st.cache_data(max_entries=_LIMITS["cached_pages"], show_spinner=False)
def _quarantined(digest: str, search: str | None, page: int, _queries: RoundQueries) -> Rows:
    rows: Rows = _queries.quarantined(search=search, page=page).to_pylist()
    return rows


def quarantined(view: View, *, search: str | None, page: int) -> Rows:
    """One page of the rows that ingest could not type."""
    return _quarantined(view.round.digest, search, page, view.queries())
