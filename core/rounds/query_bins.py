"""Bins of the four curation charts, numbered from the grid's bound so that no bar straddles it.

A bin ``k`` of a measure covers the figures from ``anchor + k * step`` to ``anchor + (k + 1) * step``. The anchor is the
bound, so a figure equal to the bound falls on the side the rule gives it: see ``Measure.closed``. Length ratios are
binned as the base-2 logarithm of chosen : rejected tokens. Bin 0 lies around 1 : 1, from ``-anchor`` to ``anchor``, and
the others follow on both sides, so that equally long answers stand in the middle and both bounds (1 : r, r : 1) are edges.

The span comes from the round's own quantiles; everything beyond is counted in an under- or overflow bin. Nothing here
decides anything: the side of the bound a pair lies on is read from the engine's exact reasons.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from core.grid import Grid
from core.settings import SETTINGS

_CHARTS: Final = SETTINGS["charts"]

Closed = Literal["left", "right", "mirrored"]


@dataclass(frozen=True, slots=True)
class Measure:
    """One charted figure of a pair.

    ``closed``: which edge belongs to a bin. ``left``: the bound itself holds and lies right of it (drift); ``right``: the
    bound itself fails (margin, a strict bound); ``mirrored``: both bounds hold (length ratio). ``reason`` is the reason
    code of a pair outside the bound and ``grid_key`` the bound; both None where there is no bound.
    """

    name: str
    closed: Closed
    reason: str | None
    grid_key: str | None


MEASURES: Final = (
    Measure("margin", "right", "non_positive_margin", "min_dpo_margin"),
    Measure("ratio", "mirrored", "length_bias", "max_length_ratio"),
    Measure("drift", "left", "logp_collapse", "min_chosen_logp_drift_per_token"),
    Measure("loss", "left", None, None),
)
MEASURE_NAMES: Final = tuple(measure.name for measure in MEASURES)


@dataclass(frozen=True, slots=True)
class BinPlan:
    """Bins ``first`` to ``last`` of one measure, each ``step`` wide (see the module); ``pairs`` have the figure, which runs
    from ``lowest`` to ``highest`` over the whole round.

    ``bound`` is the grid's bound in the measure's own unit (for ratio the plain ratio, not its logarithm), or None.
    """

    measure: Measure
    anchor: float
    step: float
    first: int
    last: int
    pairs: int
    bound: float | None
    lowest: float
    highest: float

    @property
    def tails(self) -> tuple[int, ...]:
        """The under- and overflow bins that any pair of the round falls in."""
        low = (self.below,) if _bin_of(self.measure.closed, self.lowest, self.anchor, self.step) < self.first else ()
        high = (self.above,) if _bin_of(self.measure.closed, self.highest, self.anchor, self.step) > self.last else ()
        return low + high

    @property
    def below(self) -> int:
        """The underflow bin."""
        return self.first - 1

    @property
    def above(self) -> int:
        """The overflow bin."""
        return self.last + 1

    def edge(self, index: int) -> float:
        """The left edge of bin ``index``."""
        if self.measure.closed == "mirrored" and index <= 0:
            return index * self.step - self.anchor
        return self.anchor + (index - 1 if self.measure.closed == "mirrored" else index) * self.step

    def lines(self) -> list[float]:
        """Where the bound is drawn, inside the drawn span only: none, one, or both sides of a length ratio."""
        return [line for line in _bound_lines(self.measure, self.bound) if self.edge(self.first) <= line <= self.edge(self.last + 1)]

    def edge_at(self, value: float) -> int:
        """The edge nearest to ``value``, as the number of the bin right of it."""
        offset = self.anchor if self.measure.closed == "mirrored" else -self.anchor
        return round((value + offset) / self.step)


@dataclass(frozen=True, slots=True)
class BinRange:
    """Chosen bins of one measure, both ends included; None = open, so that the under- or overflow bin is in it."""

    measure: str
    first: int | None
    last: int | None


def range_between(plan: BinPlan, low: float | None, high: float | None) -> BinRange | None:
    """The bins between two values, snapped to edges. None when nothing is left out or nothing would be left in.

    An end at or beyond the first or last edge stays a closed end: the under- and overflow bins are chosen only by an
    open end (None).
    """
    first = None if low is None else _kept(plan, plan.edge_at(low))
    last = None if high is None else _kept(plan, plan.edge_at(high)) - 1
    if first is None and last is None:
        return None
    if first is not None and last is not None and last < first:
        return None
    if (first is not None and first > plan.last) or (last is not None and last < plan.first):
        return None
    return BinRange(plan.measure.name, first, last)


def _kept(plan: BinPlan, edge: int) -> int:
    return max(plan.first, min(plan.last + 1, edge))


def bounds_of(grid: Grid) -> dict[str, float | None]:
    """The bound of each measure as a double, for drawing. Gates compare exact rationals; nothing here decides."""
    return {measure.name: None if measure.grid_key is None else float(grid.fraction(measure.grid_key)) for measure in MEASURES}


def plan_bins(spread: Mapping[str, Any], bounds: Mapping[str, float | None]) -> dict[str, BinPlan]:
    """Bins of every measure that at least one pair has. ``spread`` is the row of ``figure_spread.sql``."""
    plans = {}
    for measure in MEASURES:
        pairs, low, high, lowest, highest = (spread[f"{part}_{measure.name}"] for part in ("n", "low", "high", "min", "max"))
        if pairs:
            first = _plan(measure, low, high, bounds[measure.name])
            plans[measure.name] = replace(first, pairs=pairs, lowest=lowest, highest=highest)
    return plans


def _bin_of(closed: Closed, value: float, anchor: float, step: float) -> int:
    """The bin a value falls in: the same rule as the macros of ``sql/views.sql``, without the clamp."""
    if closed == "left":
        return math.floor((value - anchor) / step)
    if closed == "right":
        return math.ceil((value - anchor) / step) - 1
    distance = max(math.ceil((abs(value) - anchor) / step), 0)
    return distance if value >= 0 else -distance


def _plan(measure: Measure, low: float, high: float, bound: float | None) -> BinPlan:
    lines = _bound_lines(measure, bound)
    reach = max(high - low, _CHARTS["bound_reach"])
    shown = [line for line in lines if low - reach <= line <= high + reach]
    low, high = min([low, *shown]), max([high, *shown])
    if measure.closed == "mirrored":
        anchor, step = _ratio_bins(high - low, max(lines, default=0.0))
    else:
        anchor, step = (lines[0] if lines else 0.0), _step(high - low)
    first, last = (_bin_of(measure.closed, value, anchor, step) for value in (low, high))
    plan = BinPlan(measure, anchor, step, first, last, 0, bound, low, high)
    for line in shown:  # a bar, be it an empty one, on each side of a bound that is drawn
        edge = plan.edge_at(line)
        plan = replace(plan, first=min(plan.first, edge - 1), last=max(plan.last, edge))
    return plan


def _bound_lines(measure: Measure, bound: float | None) -> list[float]:
    """Where the bound is drawn on the measure's axis: once, or for the length ratio on both sides of 0."""
    if bound is None:
        return []
    return [bound] if measure.closed != "mirrored" else [-math.log2(bound), math.log2(bound)]


def _step(span: float) -> float:
    """The smallest round step that covers ``span`` with at most the set number of bins."""
    if not math.isfinite(span) or span <= 0:
        return float(_CHARTS["step_without_span"])
    raw = span / SETTINGS["display"]["histogram_bins"]
    power = float(_CHARTS["step_base"]) ** math.floor(math.log(raw, _CHARTS["step_base"]))
    return float(next((factor * power for factor in _CHARTS["steps"] if factor * power >= raw), power * _CHARTS["step_base"]))


def _ratio_bins(span: float, limit: float) -> tuple[float, float]:
    """Anchor and step of the length ratio. ``limit``: logarithm of the bound, which lies a whole number of steps beyond the
    anchor; that number is a power of two, so ``limit - anchor`` over ``step`` is that number exactly, in doubles too."""
    raw = span / SETTINGS["display"]["histogram_bins"]
    for parts in _CHARTS["ratio_parts"]:
        step = limit / (parts + _CHARTS["centre"])
        if step >= raw > 0:
            return limit - parts * step, step
    step = _step(span)
    return step * _CHARTS["centre"], step


def bin_parameters(plans: Mapping[str, BinPlan], ranges: tuple[BinRange, ...] = ()) -> dict[str, float | int | None]:
    """Bound parameters of the binned queries. A measure without a plan has no figures: any bins will do for it."""
    chosen = {item.measure: item for item in ranges}
    values: dict[str, float | int | None] = {}
    for measure in MEASURES:
        name, plan, wanted = measure.name, plans.get(measure.name), chosen.get(measure.name)
        values[f"{name}_anchor"], values[f"{name}_step"] = (plan.anchor, plan.step) if plan else (0.0, 1.0)
        values[f"{name}_first"], values[f"{name}_last"] = (plan.first, plan.last) if plan else (0, 0)
        values[f"{name}_from"], values[f"{name}_to"] = (wanted.first, wanted.last) if wanted else (None, None)
    return values
