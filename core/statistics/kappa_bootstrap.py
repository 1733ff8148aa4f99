"""The bootstrap of Cohen's kappa of a 2x2 table, without random numbers.

A resample of a 2x2 table is a multinomial draw, so there are at most C(n+3, 3) different ones. Up to n = 200 they are
enumerated with their probabilities: no seed, the same answer everywhere. Above that tables are drawn when a seed is
named, and otherwise the asymptotic interval has to do.

Conventions that matter: a quantile is the smallest value t with F(t) >= p; ties count half in the bias correction; the
acceleration comes from the leave-one-out kappas, grouped by cell; resamples (and leave-one-out tables) whose kappa is
undefined are left out, and the probability of such resamples is reported.
"""
from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from core.settings import SETTINGS
from core.statistics.agreement import Confusion, cohen_kappa
from core.statistics.inputs import CONFIDENCE, Level, level_of
from core.statistics.mean_bootstrap import adjusted_levels
from core.statistics.result import NO_WIDTH, Interval, Result, no_interval

PERCENTILE, BCA = "bootstrap percentile", "bootstrap BCa"
ONE_SIDED_RESAMPLES = "every resample lies on one side of kappa"
TOO_SKEWED = "too skewed: the corrected levels run the wrong way"
_ENUMERATED_TO: int = SETTINGS["statistics"]["kappa_enumerated_to"]
_RESAMPLES: int = SETTINGS["statistics"]["resamples"]
_TIE = 1e-12
"""Cumulated probabilities this near a level count as having reached it."""
_CELLS = ("tp", "fp", "fn", "tn")
_NORMAL = NormalDist()


def _compositions(n: int, parts: int) -> NDArray[np.int64]:
    """All ways to write n as a sum of ``parts`` counts, one a row."""
    rows, left = np.zeros((1, 0), dtype=np.int64), np.array([n], dtype=np.int64)
    for _ in range(parts - 1):
        choices = left + 1
        starts = np.cumsum(choices) - choices
        value = np.arange(int(choices.sum()), dtype=np.int64) - np.repeat(starts, choices)
        rows = np.column_stack([np.repeat(rows, choices, axis=0), value])
        left = np.repeat(left, choices) - value
    return np.column_stack([rows, left])


def _enumerated(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Every resample of a table (four counts a row) and its multinomial probability."""
    n, filled = int(counts.sum()), np.flatnonzero(counts)
    drawn = _compositions(n, len(filled))
    log_factorial = np.array([math.lgamma(i + 1) for i in range(n + 1)])
    log_weight = log_factorial[n] - log_factorial[drawn].sum(axis=1) + drawn @ np.log(counts[filled] / n)
    tables = np.zeros((len(drawn), len(counts)), dtype=np.int64)
    tables[:, filled] = drawn
    return tables, np.exp(log_weight)


@dataclass(frozen=True, slots=True)
class _Distribution:
    """Attained kappas in ascending order with their probabilities (summing to 1), and what was left out."""

    values: NDArray[np.float64]
    exact: tuple[tuple[int, int], ...]
    mass: NDArray[np.float64]
    undefined: float
    tables: int

    def quantile(self, level: float) -> Fraction:
        """Smallest attained value t with F(t) >= level."""
        place = int(np.searchsorted(np.cumsum(self.mass), level - _TIE))
        return Fraction(*self.exact[min(place, len(self.exact) - 1)])

    def bias(self, kappa: float) -> float | None:
        """z0: the normal quantile of the mass below kappa plus half of the mass on it; None at 0 or 1."""
        share = float(self.mass[self.values < kappa].sum()) + float(self.mass[self.values == kappa].sum()) / 2
        return _NORMAL.inv_cdf(share) if 0 < share < 1 else None

    def deviation(self) -> float:
        """Standard deviation over the resamples."""
        mean = float(self.mass @ self.values)
        return math.sqrt(max(0.0, float(self.mass @ (self.values - mean) ** 2)))


def _distribution(tables: NDArray[np.int64], weight: NDArray[np.float64]) -> _Distribution:
    tp, fp, fn, tn = tables.T
    over, under = 2 * (tp * tn - fp * fn), (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    defined = under > 0
    over, under, kept = over[defined], under[defined], weight[defined]
    # a quotient of two integers is correctly rounded: equal rationals give equal doubles, and these are far enough apart
    values, first, group = np.unique(over / under, return_index=True, return_inverse=True)
    mass = np.bincount(group, weights=kept)
    exact = tuple(zip(over[first].tolist(), under[first].tolist(), strict=True))
    return _Distribution(values, exact, mass / mass.sum(), float(weight[~defined].sum() / weight.sum()), len(tables))


def _acceleration(table: Confusion) -> float:
    """Skewness of the leave-one-out kappas: sum(d^3) / (6 sum(d^2)^(3/2)), d = their mean minus each. 0 without spread."""
    counts = {cell: getattr(table, cell) for cell in _CELLS}
    left_out = [
        (count, kappa) for cell, count in counts.items()
        if count and (kappa := cohen_kappa(Confusion(**{**counts, cell: count - 1})).value) is not None
    ]
    total = sum(count for count, _ in left_out)
    if not total:
        return 0.0
    mean = sum((count * kappa for count, kappa in left_out), Fraction(0)) / total
    squares = sum((count * (mean - kappa) ** 2 for count, kappa in left_out), Fraction(0))
    cubes = sum((count * (mean - kappa) ** 3 for count, kappa in left_out), Fraction(0))
    return 0.0 if squares == 0 else float(cubes) / (6 * float(squares) ** 1.5)


@dataclass(frozen=True, slots=True)
class KappaBootstrap(Result):
    """Resampling distribution of kappa of one table.

    ``resamples``: different tables enumerated, or draws where ``seed`` is given; ``distinct``: different kappas among
    them; ``undefined_mass``: share of resamples without a kappa, left out; ``bias`` is z0; ``levels`` are the cumulated
    probabilities that BCa reads; ``undefined``: why there is no bootstrap at all.
    """

    table: Confusion
    n: int
    method: str
    resamples: int
    seed: int | None
    distinct: int
    undefined_mass: float | None
    deviation: float | None
    bias: float | None
    acceleration: float | None
    levels: tuple[float, float] | None
    percentile: Interval
    bca: Interval
    undefined: str | None = None

    @property
    def shown(self) -> KappaBootstrap:
        """This one, with reasons in place of intervals where all resamples have the same kappa (known case 25)."""
        if self.distinct != 1:
            return self
        ends = (no_interval(self.percentile.confidence, name, NO_WIDTH) for name in (PERCENTILE, BCA))
        return replace(self, percentile=next(ends), bca=next(ends), undefined=NO_WIDTH)


def kappa_bootstrap(table: Confusion, confidence: Level = CONFIDENCE, *, seed: int | None = None, resamples: int = _RESAMPLES) -> KappaBootstrap:
    """Percentile and BCa intervals of kappa.

    Up to n = 200 all resamples are enumerated and ``seed`` is not used. Above that ``resamples`` tables are drawn with
    ``seed``; without one there is no bootstrap, and the reason says so. Raises GridError for a confidence outside 0 to 1.
    Source: Efron 1987, JASA 82:171-185.

    >>> kappa_bootstrap(Confusion(tp=4, fp=0, fn=1, tn=3)).percentile.lower
    Fraction(3, 19)
    """
    level, kappa = level_of(confidence), cohen_kappa(table)
    if kappa.value is None:
        return _no_bootstrap(table, level, str(kappa.undefined))
    if table.n <= _ENUMERATED_TO:
        found = _distribution(*_enumerated(_counts(table)))
        return _intervals(table, kappa.value, found, level, f"all {found.tables:,} resamples enumerated", None)
    if seed is None:
        return _no_bootstrap(table, level, f"{table.n:,} cases are too many to enumerate (at most {_ENUMERATED_TO})")
    drawn = np.random.default_rng(seed).multinomial(table.n, _counts(table) / table.n, size=resamples).astype(np.int64)
    found = _distribution(drawn, np.full(resamples, 1 / resamples))
    return _intervals(table, kappa.value, found, level, f"{resamples:,} resamples drawn with seed {seed}", seed)


def _counts(table: Confusion) -> NDArray[np.int64]:
    return np.array([getattr(table, cell) for cell in _CELLS], dtype=np.int64)


def _no_bootstrap(table: Confusion, level: Fraction, reason: str) -> KappaBootstrap:
    ends = no_interval(level, PERCENTILE, reason), no_interval(level, BCA, reason)
    return KappaBootstrap(table, table.n, "none", 0, None, 0, None, None, None, None, None, *ends, reason)


def _intervals(table: Confusion, kappa: Fraction, found: _Distribution, level: Fraction, how: str, seed: int | None) -> KappaBootstrap:
    tails = float((1 - level) / 2), float((1 + level) / 2)
    percentile = Interval(found.quantile(tails[0]), found.quantile(tails[1]), level, f"{PERCENTILE}, {how}", None, seed)
    bias, acceleration = found.bias(float(kappa)), _acceleration(table)
    levels = None if bias is None else adjusted_levels(tails, bias, acceleration)
    if levels is None:
        bca = no_interval(level, f"{BCA}, {how}", ONE_SIDED_RESAMPLES if bias is None else TOO_SKEWED)
    else:
        bca = Interval(found.quantile(levels[0]), found.quantile(levels[1]), level, f"{BCA}, {how}", None, seed)
    return KappaBootstrap(
        table, table.n, how, found.tables, seed, len(found.values), found.undefined, found.deviation(), bias, acceleration, levels, percentile, bca,
    )
