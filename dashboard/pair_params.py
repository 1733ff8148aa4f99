"""A view of pairs as it stands in the URL: state, reason, ranges, order, page, open pair. Read strictly, written canonically.

Anything in a URL that means nothing is left out, as if it were not there: a view is never an error. Ranges are written
as values (``margin=0:2.4``, ``drift=:-0.1``, length ratios as chosen over rejected) and snapped to the bins of the charts.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from core.rounds.queries import SORTS, PairFilter
from core.rounds.query_bins import MEASURE_NAMES, BinPlan, BinRange, range_between
from core.schemas import REASONS
from core.settings import SETTINGS

QUARANTINED: Final = "quarantined"
LISTS: Final = ("rejected", "admitted", "held", QUARANTINED)
"""What the browser can list: the three states of a pair, and the rows that ingest could not type."""
ORIGINS: Final = ("verified", "synthetic")
DEFAULT_ORDER: Final[Mapping[str, str]] = {"rejected": "drift", "admitted": "rank", "held": "drift"}
RANGE_KEYS: Final[Mapping[str, str]] = {name: "length_ratio" if name == "ratio" else name for name in MEASURE_NAMES}
"""Measure -> its name in the URL."""
_ANY: Final = "any-"
_FIGURES: Final[int] = SETTINGS["charts"]["figures"]


@dataclass(frozen=True, slots=True)
class PairView:
    """What the browser of pairs shows. ``any_reason``: pairs that carry ``reason`` at all, not as their first."""

    state: str = LISTS[0]
    reason: str | None = None
    any_reason: bool = False
    origin: str | None = None
    judge: str | None = None
    search: str | None = None
    order: str | None = None
    page: int = 1
    pair: str | None = None
    ranges: tuple[BinRange, ...] = ()

    @property
    def sort(self) -> str:
        """The order in force."""
        return self.order or DEFAULT_ORDER.get(self.state, "input")

    def filter(self) -> PairFilter:
        """What the query is asked for."""
        return PairFilter(self.state, self.reason, self.any_reason, self.origin, self.judge, self.search, self.ranges)

    def but(self, **changes: object) -> PairView:
        """The same view with something changed: back on the first page, nothing open, unless named."""
        return replace(self, **({"page": 1, "pair": None} | changes))  # type: ignore[arg-type]

    def params(self, plans: Mapping[str, BinPlan]) -> dict[str, str]:
        """The view as query parameters; what is at its default is left out."""
        reason = self.reason and (f"{_ANY}{self.reason}" if self.any_reason else self.reason)
        given = {
            "state": self.state if self.state != LISTS[0] else None, "reason": reason, "origin": self.origin, "judge": self.judge,
            "search": self.search, "order": self.order, "pairs_page": str(self.page) if self.page != 1 else None, "pair": self.pair,
        }
        return {name: value for name, value in given.items() if value} | range_params(self.ranges, plans)


def pair_view(params: Mapping[str, str], plans: Mapping[str, BinPlan]) -> PairView:
    """Read a view from query parameters."""
    state = params.get("state", "")
    reason = params.get("reason", "")
    order = params.get("order", "")
    page = params.get("pairs_page", "")
    named = reason.removeprefix(_ANY)
    return PairView(
        state=state if state in LISTS else LISTS[0], reason=named if named in REASONS else None, any_reason=named in REASONS and named != reason,
        origin=params.get("origin") if params.get("origin") in ORIGINS else None, judge=params.get("judge") or None,
        search=params.get("search", "").strip() or None, order=order if order in SORTS else None,
        page=max(int(page), 1) if page.isascii() and page.isdigit() and len(page) < SETTINGS["text"]["label_characters"] else 1,
        pair=params.get("pair") or None, ranges=ranges_of(params, plans),
    )


def ranges_of(params: Mapping[str, str], plans: Mapping[str, BinPlan]) -> tuple[BinRange, ...]:
    """The ranges of the URL, snapped to bins; a range that means nothing is left out."""
    found = (_range(params.get(key, ""), plans[name]) for name, key in RANGE_KEYS.items() if name in plans)
    return tuple(item for item in found if item is not None)


def _range(text: str, plan: BinPlan) -> BinRange | None:
    low, colon, high = text.partition(":")
    if not colon:
        return None
    try:
        ends = [None if not end.strip() else _axis_value(float(end), plan) for end in (low, high)]
    except (ValueError, OverflowError):
        return None
    return range_between(plan, *ends)


def _axis_value(value: float, plan: BinPlan) -> float:
    """A value of the URL on the measure's axis. Raises ValueError for what no axis has."""
    if plan.measure.closed == "mirrored":
        return math.log2(value)
    if not math.isfinite(value):
        raise ValueError(value)
    return value


def range_params(ranges: tuple[BinRange, ...], plans: Mapping[str, BinPlan]) -> dict[str, str]:
    """Ranges as query parameters."""
    return {RANGE_KEYS[item.measure]: range_param(item, plans[item.measure]) for item in ranges}


def range_param(chosen: BinRange, plan: BinPlan) -> str:
    """One range as ``low:high``, an open end left empty."""
    ends = [None if chosen.first is None else plan.edge(chosen.first), None if chosen.last is None else plan.edge(chosen.last + 1)]
    written = ["" if end is None else f"{math.exp2(end) if plan.measure.closed == 'mirrored' else end:.{_FIGURES}g}" for end in ends]
    return ":".join(written)


def without(ranges: tuple[BinRange, ...], measure: str) -> tuple[BinRange, ...]:
    """The ranges but that of one measure."""
    return tuple(item for item in ranges if item.measure != measure)


def brushed(plan: BinPlan, ends: tuple[float, float]) -> BinRange | None:
    """The range that a brush over a chart chooses. A brush that reaches into the bar beyond the range takes the tail with it."""
    low, high = min(ends), max(ends)
    first, last = plan.edge(plan.first), plan.edge(plan.above)
    half = plan.step * SETTINGS["charts"]["centre"]
    return range_between(plan, None if low < first - half else low, None if high > last + half else high)
