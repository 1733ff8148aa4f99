"""The bootstrap of a mean without random numbers, where the values lie on a lattice.

A resample of n values is a draw of n from the sample with replacement; its sum has the n-fold convolution of the
sample's own distribution. That is the n-th power of a polynomial: counted in integers for small samples, in doubles by
Fourier inversion for large ones. Values on no usable grid are drawn with a stated seed.

Conventions that matter: a quantile is the smallest attained mean t with F(t) >= p; ties count half in the bias
correction; a sample without variation gives an interval of no width, which is a warning and never a result.

For pass or fail on few items this is no substitute for Tango's or Newcombe's interval: it leaves out 0 far too often.
"""
from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.settings import SETTINGS
from core.statistics.inputs import CONFIDENCE, Level, Score, level_of
from core.statistics.lattice import Lattice, fast_length, lattice_of
from core.statistics.paired import FlipTable
from core.statistics.result import Interval, Result, no_interval

PERCENTILE, BCA = "bootstrap percentile", "bootstrap BCa"
ZERO_WIDTH: Final = "zero width: no variation in the sample; Tango's and Newcombe's intervals keep a width"
TOO_SKEWED: Final = "too skewed: the corrected levels run the wrong way"
_CELLS: int = SETTINGS["statistics"]["lattice_cells"]
_BITS: int = SETTINGS["statistics"]["counted_bits"]
_RESAMPLES: int = SETTINGS["statistics"]["resamples"]
_DRAWS, _FEWEST, _CHUNK = 2 * 10**7, 1000, 2**20
_TIE: Final = 1e-12
"""Cumulated doubles this near a level count as having reached it."""
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class MeanBootstrap(Result):
    """Resampling distribution of the mean of n values.

    ``method`` says how it was made and ``seed`` is None unless it was drawn; ``bias`` is z0, ``levels`` the cumulated
    probabilities that BCa reads; ``warning`` is set where the interval has no width.
    """

    n: int
    mean: Fraction
    method: str
    seed: int | None
    bias: float
    acceleration: float
    levels: tuple[float, float] | None
    percentile: Interval
    bca: Interval
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class _Sums:
    """Attained sums ``first + step`` for step 0, 1, ... with cumulated weights out of ``whole`` (integers, or doubles and 1)."""

    first: int
    cumulated: Any
    whole: Any
    scale: int
    sums: Sequence[int] | None = None

    def quantile(self, level: Fraction) -> Fraction:
        """Smallest attained value t with F(t) >= level."""
        if isinstance(self.whole, int):
            place = bisect_left(self.cumulated, math.ceil(level * self.whole))
        else:
            place = int(np.searchsorted(self.cumulated, float(level) - _TIE))
        place = min(place, len(self.cumulated) - 1)
        return Fraction(self.first + place if self.sums is None else self.sums[place], self.scale)

    def below(self, place: int) -> float:
        """P(sum < observed) + P(sum = observed) / 2, the observed sum at ``place``."""
        under = self.cumulated[place - 1] if place else 0
        if isinstance(self.whole, int):
            return float(Fraction(under + self.cumulated[place], 2 * self.whole))
        return float((under + self.cumulated[place]) / 2)


def polynomial_power(coefficients: Sequence[int], power: int) -> list[int]:
    """Coefficients of a polynomial raised to a power, in integers; the first coefficient is not 0.

    Q = P^n obeys k p_0 q_k = sum_i (i (n + 1) - k) p_i q_(k-i), which divides without remainder.

    >>> polynomial_power([1, 2, 1], 2)
    [1, 4, 6, 4, 1]
    """
    first, rest = coefficients[0], [(i, c) for i, c in enumerate(coefficients) if i and c]
    result = [first**power]
    for k in range(1, power * (len(coefficients) - 1) + 1):
        total = sum((i * (power + 1) - k) * c * result[k - i] for i, c in rest if i <= k)
        result.append(total // (k * first))
    return result


def _convolved(shares: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """The n-fold convolution of a distribution on 0, 1, ..., by its characteristic function."""
    points = n * (len(shares) - 1) + 1
    padded = fast_length(points)
    mass = np.fft.irfft(np.fft.rfft(shares, padded) ** n, padded)[:points]
    return np.asarray(np.cumsum(np.maximum(mass, 0.0)))


def _distribution(counts: NDArray[np.int64], low: int, n: int, scale: int) -> tuple[_Sums, str]:
    """Distribution of the resampled sum of values low, low + 1, ... with these counts."""
    cells, terms = n * (len(counts) - 1) + 1, int(np.count_nonzero(counts))
    if cells * terms * n * max(1, n.bit_length()) <= _BITS // 8:
        weights = polynomial_power(counts.tolist(), n)
        return _Sums(n * low, list(accumulate(weights)), n**n, scale), "all resamples counted"
    return _Sums(n * low, _convolved(counts / n, n), 1.0, scale), "distribution of the resampled mean by Fourier inversion"


def _drawn(numerators: NDArray[Any], n: int, scale: int, seed: int, draws: int | None) -> tuple[_Sums, str]:
    # exact integers are kept apart from the doubles that are summed: the ends are written as doubles read back
    values, random = numerators.astype(np.float64), np.random.default_rng(seed)
    wanted = draws or max(_FEWEST, min(_RESAMPLES, _DRAWS // n))
    rows = max(1, _CHUNK // n)
    sums = np.concatenate([
        values[random.integers(0, n, size=(min(rows, wanted - start), n))].sum(axis=1) for start in range(0, wanted, rows)
    ])
    distinct, count = np.unique(np.append(np.rint(sums), float(values.sum())), return_counts=True)
    whole = [int(value) for value in distinct]
    return _Sums(0, np.cumsum(count / (wanted + 1)), 1.0, scale, whole), f"{wanted:,} resamples drawn with seed {seed}"


def _acceleration(deviations: NDArray[Any]) -> float:
    """sum(d^3) / (6 sum(d^2)^(3/2)) of the deviations from the mean: the leave-one-out means are linear in them."""
    squares, cubes = int((deviations**2).sum()), int((deviations**3).sum())
    size = math.isqrt(squares) or 1
    # scaled first: the cubes of long integers do not fit a double
    return 0.0 if squares == 0 else float(Fraction(cubes, size**3)) / (6 * float(Fraction(squares, size**2)) ** 1.5)


def adjusted_levels(tails: tuple[float, float], bias: float, acceleration: float) -> tuple[float, float] | None:
    """Phi(z0 + (z0 + z) / (1 - a (z0 + z))) for both tails, or None where a denominator is not above 0."""
    moved = [bias + _NORMAL.inv_cdf(tail) for tail in tails]
    shrunk = [1 - acceleration * step for step in moved]
    if min(shrunk) <= 0:
        return None
    low, high = (_NORMAL.cdf(bias + step / by) for step, by in zip(moved, shrunk, strict=True))
    return low, high


def mean_bootstrap(
    values: Lattice | Iterable[Score], confidence: Level = CONFIDENCE, *, seed: int = 0, draws: int | None = None,
) -> MeanBootstrap:
    """Percentile and BCa intervals of the mean.

    Raises RoundError for values that are no finite numbers (``non_finite_score``) or none at all (``no_values``), GridError
    for a confidence outside 0 to 1. Source: Efron 1987, JASA 82:171-185.
    """
    sample, level = values if isinstance(values, Lattice) else lattice_of(values), level_of(confidence)
    mean, low = sample.mean, int(sample.numerators.min())
    steps = sample.numerators - low
    common = math.gcd(*np.unique(steps).tolist())
    if common == 0:
        return _flat(sample, level, mean)
    # values are low + common * step: the shift comes back in at the end
    steps = steps // common
    width, scale = int(steps.max()), sample.n
    if sample.n * width < _CELLS:
        counts = np.bincount(steps.astype(np.int64), minlength=width + 1)
        found, how = _distribution(counts, 0, sample.n, scale)
    else:
        found, how = _drawn(steps, sample.n, scale, seed, draws)
    return _intervals(sample, level, found, how, Fraction(low, sample.denominator), Fraction(common, sample.denominator), int(steps.sum()), seed)


def _intervals(
    sample: Lattice, level: Fraction, found: _Sums, how: str, origin: Fraction, unit: Fraction, observed: int, seed: int,
) -> MeanBootstrap:
    def end(tail: Fraction) -> Fraction:
        return origin + unit * found.quantile(tail)

    place = observed if found.sums is None else found.sums.index(min(found.sums, key=lambda value: abs(value - observed)))
    used = None if found.sums is None else seed
    tails = (1 - level) / 2, (1 + level) / 2
    bias, acceleration = _NORMAL.inv_cdf(found.below(place)), _acceleration(sample.deviations())
    levels = adjusted_levels((float(tails[0]), float(tails[1])), bias, acceleration)
    percentile = Interval(end(tails[0]), end(tails[1]), level, f"{PERCENTILE}, {how}", None, used)
    if levels is None:
        bca = no_interval(level, f"{BCA}, {how}", TOO_SKEWED)
    else:
        bca = Interval(end(Fraction(levels[0])), end(Fraction(levels[1])), level, f"{BCA}, {how}", None, used)
    return MeanBootstrap(sample.n, sample.mean, how, used, bias, acceleration, levels, percentile, bca)


def _flat(sample: Lattice, level: Fraction, mean: Fraction) -> MeanBootstrap:
    tails = float((1 - level) / 2), float((1 + level) / 2)
    ends = [Interval(mean, mean, level, name) for name in (PERCENTILE, BCA)]
    return MeanBootstrap(sample.n, mean, "every resample is the sample", None, 0.0, 0.0, tails, ends[0], ends[1], ZERO_WIDTH)


def flip_differences(table: FlipTable) -> Lattice:
    """Candidate minus baseline item by item: 1 for a fix, -1 for a regression, else 0."""
    counts = [table.both_pass + table.both_fail, table.fixes, table.regressions]
    return Lattice(np.repeat(np.array([0, 1, -1], dtype=np.int64), counts), 1)


def flip_bootstrap(table: FlipTable, confidence: Level = CONFIDENCE) -> MeanBootstrap:
    """The bootstrap of the net gain, exact. To show beside Tango's interval, not instead of it."""
    return mean_bootstrap(flip_differences(table), confidence)
