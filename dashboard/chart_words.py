"""What the charts say: names, units and bounds of the four figures, numbers on axes, a sentence for each chart. Pure."""
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import pyarrow as pa

from core.rounds.query_bins import BinPlan, BinRange
from core.settings import SETTINGS
from core.statistics.ratio import MINUS, rounded_decimal
from dashboard import words

_FIGURES: Final[int] = SETTINGS["charts"]["figures"]


@dataclass(frozen=True, slots=True)
class MeasureWords:
    """Names of one charted figure. ``sign`` and ``rule`` write its bound, ``holds`` and ``fails`` name the two sides of it;
    "" where it has none."""

    title: str
    axis: str
    unit: str
    sign: str = ""
    rule: str = ""
    fails: str = ""
    holds: str = ""


MEASURE_WORDS: Final[Mapping[str, MeasureWords]] = {
    "margin": MeasureWords(
        "DPO margin", "β · (log-ratio of chosen − log-ratio of rejected), nats", "nats", ">", "above {}", "at or below", "above",
    ),
    "ratio": MeasureWords(
        "Length ratio", "tokens, chosen : rejected, log axis", "chosen : rejected", "≤", "at most {} either way", "outside", "inside",
    ),
    "drift": MeasureWords(
        "Chosen drift", "log-prob of chosen, policy − reference, nats per token", "nats per token", "≥", "at least {}", "below", "at or above",
    ),
    "loss": MeasureWords("RPO loss", "softplus(−margin) + α · NLL of chosen per token, nats", "nats"),
}


def number(value: float) -> str:
    """A number on an axis or in a sentence: six figures at most, true minus sign, no exponent for everyday sizes."""
    text = f"{value:.{_FIGURES}g}"
    return "0" if float(text) == 0 else text.replace("-", MINUS)


def ratio_text(logarithm: float) -> str:
    """A length ratio as ``1.8 : 1`` (chosen is longer) or ``1 : 1.8``, from its base-2 logarithm."""
    longer = f"{math.exp2(abs(logarithm)):.{SETTINGS['charts']['ratio_figures']}g}"
    return "1 : 1" if longer == "1" else f"{longer} : 1" if logarithm > 0 else f"1 : {longer}"


def value_text(plan: BinPlan, value: float) -> str:
    """A value on the measure's axis, in the words of that axis."""
    return ratio_text(value) if plan.measure.closed == "mirrored" else number(value)


def bin_text(plan: BinPlan, index: int) -> str:
    """What a bar holds, its ends and which of them belongs to it: ``above 0, to 0.2``; ``below −2`` for an underflow bar."""
    low, high = (value_text(plan, plan.edge(edge)) for edge in (index, index + 1))
    includes_low = plan.measure.closed == "left" or (plan.measure.closed == "mirrored" and index < 0)
    if index < plan.first:
        return f"below {high}" if includes_low or plan.measure.closed == "mirrored" else f"{high} or below"
    if index > plan.last:
        return f"{low} or above" if includes_low else f"above {low}"
    if plan.measure.closed == "mirrored" and index == 0:
        return f"{low} to {high}"
    return f"from {low}, below {high}" if includes_low else f"above {low}, to {high}"


def range_text(plan: BinPlan, chosen: BinRange) -> str:
    """A chosen range in words: ``DPO margin 0 to 2.4``."""
    title = MEASURE_WORDS[plan.measure.name].title
    low = None if chosen.first is None else value_text(plan, plan.edge(chosen.first))
    high = None if chosen.last is None else value_text(plan, plan.edge(chosen.last + 1))
    if low is None or high is None:
        return f"{title} up to {high}" if low is None else f"{title} from {low}"
    return f"{title} {low} to {high}"


def bound_text(plan: BinPlan) -> str:
    """The rule of the bound: ``at least −0.1``; "" where there is none."""
    return "" if plan.bound is None else MEASURE_WORDS[plan.measure.name].rule.format(number(plan.bound))


def bound_sign(plan: BinPlan) -> str:
    """The bound in figures: ``≥ −0.1``; "" where there is none."""
    return "" if plan.bound is None else f"{MEASURE_WORDS[plan.measure.name].sign} {number(plan.bound)}"


def fixed(value: float | None, decimals: int) -> str:
    """A measured double with all its decimals, for columns; half to even, true minus sign, never −0; ``none`` for None."""
    return "none" if value is None else format(rounded_decimal(Fraction(repr(value)), decimals), "f").replace("-", MINUS)


@dataclass(frozen=True, slots=True)
class Sides:
    """How many pairs of a chart lie on which side, from the engine's reasons. ``low``: outside below (margin, drift, or the
    rejected answer is longer); ``high``: outside above (the chosen answer is longer)."""

    low: int
    inside: int
    high: int

    @property
    def total(self) -> int:
        """All pairs of the chart."""
        return self.low + self.inside + self.high

    @property
    def outside(self) -> int:
        """Pairs that fail the bound."""
        return self.low + self.high


def bars_of(rows: pa.Table, measure: str) -> list[dict[str, Any]]:
    """The rows of one chart (columns of ``histograms.sql``) that have the figure."""
    return [row for row in rows.to_pylist() if row["measure"] == measure and row["bin"] is not None]


def sides_of(bars: Iterable[Mapping[str, Any]], plan: BinPlan) -> Sides:
    """Pairs on each side of the bound. A figure without a bound has one side."""
    low = inside = high = 0
    for row in bars:
        if row["side"] == 0:
            inside += row["pairs"]
        elif row["side"] > 0 and plan.measure.closed == "mirrored":
            high += row["pairs"]
        else:
            low += row["pairs"]
    return Sides(low, inside, high)


def chart_sentence(bars: list[dict[str, Any]], plan: BinPlan) -> str:
    """The chart in words, for those who do not see it: where the pairs lie, on which side of the bound, what is cut off."""
    said, sides = MEASURE_WORDS[plan.measure.name], sides_of(bars, plan)
    if not sides.total:
        return f"{said.title}: no pair in this view."
    totals: dict[int, int] = {}
    for row in bars:
        totals[row["bin"]] = totals.get(row["bin"], 0) + row["pairs"]
    parts = [f"{said.title} of {words.plural(sides.total, 'pair')}", *_side_words(sides, plan)]
    fullest = max(totals, key=lambda index: (totals[index], -index))
    parts.append(f"fullest bar {words.count(totals[fullest])} ({bin_text(plan, fullest)})")
    tails = [f"{words.count(totals[index])} ({bin_text(plan, index)})" for index in plan.tails if index in totals]
    parts += [f"beyond the drawn range: {', '.join(tails)}"] if tails else []
    return f"{parts[0]}: {'; '.join(parts[1:])}."


def _side_words(sides: Sides, plan: BinPlan) -> list[str]:
    if plan.bound is None:
        return []
    said, bound = MEASURE_WORDS[plan.measure.name], number(plan.bound)
    if plan.measure.closed != "mirrored":
        return [f"{words.count(sides.low)} {said.fails} the bound {bound} {said.unit}, {words.count(sides.inside)} {said.holds} it"]
    return [f"{words.count(sides.inside)} within the bound {bound} on either side, {words.count(sides.high)} with a longer chosen answer outside it, "
            f"{words.count(sides.low)} with a longer rejected one"]
