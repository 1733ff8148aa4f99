"""Does a reward go with a marker? A correlation with an interval, and an exact test inside tasks.

``r`` is Pearson's correlation of a yes-no marker with the reward: the point-biserial correlation, and phi where the reward
is 0 or 1. Above 0 the marker is rewarded, below 0 it is punished. Replies to one task are not independent, so the interval
counts tasks, and the test exchanges rewards inside tasks only: what differs between tasks explains nothing there.
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from core.settings import SETTINGS
from core.statistics.clustered import student_quantile
from core.statistics.inputs import CONFIDENCE, Level, counts_of, equal_lengths, level_of
from core.statistics.probability import DOUBLES, Probability, counted
from core.statistics.result import Interval, Result, no_interval

FISHER: Final = "Fisher's z, the larger of the cluster-robust and the exchangeable standard error, t"
NO_REPLIES: Final = "there are no replies"
ALL_HAVE_IT: Final = "every reply has the marker"
NONE_HAS_IT: Final = "no reply has the marker"
CONSTANT_REWARD: Final = "all rewards are equal"
PERFECT: Final = "not estimable: the marker and the reward go together without exception"
TOO_FEW: Final = "not estimable from fewer than four replies"
_CELLS: Final[int] = SETTINGS["style"]["exact_cells"]
_REPLIES: Final[int] = SETTINGS["style"]["exact_replies"]
Doubles = npt.NDArray[np.float64]
Distribution = dict[Fraction, int]


@dataclass(frozen=True, slots=True)
class Correlation(Result):
    """``squared`` is exact, ``sign`` is -1, 0 or 1, ``value`` the double for display; all three are None where r is undefined, and
    ``undefined`` says why. ``clusters``: what the interval counts as independent."""

    n: int
    marked: int
    value: float | None
    squared: Fraction | None
    sign: int | None
    clusters: int
    interval: Interval
    undefined: str | None = None

    def at_least(self, bound: Fraction) -> bool:
        """Whether r is at least that far from 0, compared exactly; False where it is undefined."""
        return self.squared is not None and self.squared >= bound * bound


@dataclass(frozen=True, slots=True)
class _Moments:
    """Exact sums over n replies: how many are marked, the rewards, their squares, and the rewards of the marked."""

    n: int
    marked: int
    total: Fraction
    squares: Fraction
    shared: Fraction

    @property
    def spread_x(self) -> int:
        return self.marked * (self.n - self.marked)

    @property
    def spread_y(self) -> Fraction:
        return self.n * self.squares - self.total * self.total

    @property
    def covariance(self) -> Fraction:
        return self.n * self.shared - self.marked * self.total

    @property
    def undefined(self) -> str | None:
        if not self.spread_x:
            return NO_REPLIES if not self.n else ALL_HAVE_IT if self.marked else NONE_HAS_IT
        return None if self.spread_y else CONSTANT_REWARD

    @property
    def squared(self) -> Fraction:
        return self.covariance * self.covariance / (self.spread_x * self.spread_y)

    @property
    def sign(self) -> int:
        return (self.covariance > 0) - (self.covariance < 0)

    def influence(self, x: Doubles, y: Doubles) -> Doubles:
        """What each reply moves r by, times n: u v - r (u^2 + v^2) / 2 of the standardised marker u and reward v."""
        u = (x - self.marked / self.n) * (self.n / math.sqrt(self.spread_x))
        v = (y - float(self.total / self.n)) * (self.n / math.sqrt(self.spread_y))
        return np.asarray(u * v - self.sign * math.sqrt(self.squared) * (u * u + v * v) / 2)


def marker_correlation(
    marks: Sequence[bool] | npt.NDArray[np.bool_], rewards: Sequence[Fraction], clusters: Sequence[int], confidence: Level = CONFIDENCE,
) -> Correlation:
    """r over replies with a mark, a reward, and the code (0, 1, ...) of the task that they answer.

    r^2 = (n S_xy - S_x S_y)^2 / ((n S_xx - S_x^2) (n S_yy - S_y^2)), exact. Interval: on Fisher's z, with t at G - 1 degrees of freedom and
    the larger of two standard errors. One is cluster-robust: the influence of each reply on r, summed by task (by reply
    where there is one task only), gives the variance G/(G - 1) sum(s_g^2) / n^2 of r, taken to z by 1 / (1 - r^2). The other
    is 1 / sqrt(n - 3): whatever the marker and the reward look like, exchanging rewards gives r the variance 1 / (n - 1), and
    a marker of a handful of replies shows the first one far too little of it. No interval where r is +-1. Raises RoundError
    ``lengths_differ``. Sources: Fisher 1921, Metron 1:3-32 (z); Pitman 1937, J. R. Stat. Soc. Suppl. 4:225-232 (exchange);
    Devlin, Gnanadesikan & Kettenring 1975, Biometrika 62:531-545 (influence); Liang & Zeger 1986, Biometrika 73:13-22 (clusters).

    >>> marker_correlation([True, True, False, False], [Fraction(1), Fraction(0), Fraction(0), Fraction(0)], [0, 1, 2, 3]).squared
    Fraction(1, 3)
    """
    equal_lengths(marks=len(marks), rewards=len(rewards), clusters=len(clusters))
    x = np.asarray(marks, dtype=np.float64)
    moments, level = _moments(x, rewards), level_of(confidence)
    _, codes = np.unique(np.asarray(clusters, dtype=np.int64), return_inverse=True)
    groups = int(codes.max()) + 1 if len(codes) else 0
    if groups == 1:
        codes, groups = np.arange(len(codes)), len(codes)
    if moments.undefined is not None:
        return _nothing(moments, groups, level)
    influence = moments.influence(x, np.array([float(reward) for reward in rewards]))
    return _estimate(moments, groups, math.fsum(np.bincount(codes, weights=influence) ** 2), level)


def pair_correlation(*, both: int, chosen_only: int, rejected_only: int, neither: int, confidence: Level = CONFIDENCE) -> Correlation:
    """phi over the two sides of each pair, the chosen one with reward 1 and the rejected one with 0; each pair is a cluster.

    As :func:`marker_correlation`, from counts. Raises RoundError ``invalid_count``.
    """
    counts_of(both=both, chosen_only=chosen_only, rejected_only=rejected_only, neither=neither)
    pairs, level = both + chosen_only + rejected_only + neither, level_of(confidence)
    marked = both + both + chosen_only + rejected_only
    moments = _Moments(pairs + pairs, marked, Fraction(pairs), Fraction(pairs), Fraction(both + chosen_only))
    if moments.undefined is not None:
        return _nothing(moments, pairs, level)
    kinds = np.array([[1, 1], [1, 0], [0, 1], [0, 0]], dtype=np.float64)
    sums = moments.influence(kinds, np.array([[1, 0]], dtype=np.float64)).sum(axis=1)
    return _estimate(moments, pairs, math.fsum(sums**2 * [both, chosen_only, rejected_only, neither]), level)


def _moments(x: Doubles, rewards: Sequence[Fraction]) -> _Moments:
    marked = total = squares = shared = Fraction(0)
    for (mark, reward), count in Counter(zip(x.tolist(), rewards, strict=True)).items():
        total, squares = total + count * reward, squares + count * reward * reward
        if mark:
            marked, shared = marked + count, shared + count * reward
    return _Moments(len(x), int(marked), total, squares, shared)


def _nothing(moments: _Moments, groups: int, level: Fraction) -> Correlation:
    why = str(moments.undefined)
    return Correlation(moments.n, moments.marked, None, None, None, groups, no_interval(level, FISHER, why), why)


def _estimate(moments: _Moments, groups: int, squares: float, level: Fraction) -> Correlation:
    r = moments.sign * math.sqrt(moments.squared)
    interval = _interval(r, moments, groups, squares / moments.n**2, level)
    return Correlation(moments.n, moments.marked, r, moments.squared, moments.sign, groups, interval)


def _interval(r: float, moments: _Moments, groups: int, variance: float, level: Fraction) -> Interval:
    if moments.squared == 1:
        return no_interval(level, FISHER, PERFECT)
    if moments.n < 4 or groups < 2:
        return no_interval(level, FISHER, TOO_FEW)
    robust = math.sqrt(variance * groups / (groups - 1)) / (1 - float(moments.squared))
    reach = student_quantile(level, groups - 1) * max(robust, 1 / math.sqrt(moments.n - 3))
    return Interval(math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach), level, f"{FISHER} with {groups - 1} degrees of freedom")


def exchange_test(marks: Sequence[bool] | npt.NDArray[np.bool_], rewards: Sequence[Fraction], tasks: Sequence[int]) -> Probability:
    """Two-sided p of the sum of the marked replies' rewards when, inside each task, rewards are exchanged at random.

    With rewards 0 and 1 and one task this is Fisher's exact test by distance from the mean; with many tasks, the exact
    Cochran-Mantel-Haenszel test. Counted exactly up to ``style.exact_replies`` replies and ``style.exact_cells`` different sums
    (settings), else normal with the exact conditional mean and variance, and then the p-value says "computed in doubles".
    Raises RoundError ``lengths_differ``. Source: Cochran 1954, Biometrics 10:417-451; Mantel 1963, JASA 58:690-700.

    >>> exchange_test([True, True, False, False], [Fraction(1), Fraction(1), Fraction(0), Fraction(0)], [0] * 4).exact
    Fraction(1, 3)
    """
    equal_lengths(marks=len(marks), rewards=len(rewards), tasks=len(tasks))
    strata: dict[int, tuple[int, list[Fraction]]] = {}
    seen = Fraction(0)
    for mark, reward, task in zip(marks, rewards, tasks, strict=True):
        held, values = strata.get(task, (0, []))
        values.append(reward)
        strata[task] = held + bool(mark), values
        seen += reward if mark else 0
    mean = sum((Fraction(held, len(values)) * sum(values) for held, values in strata.values()), Fraction(0))
    distribution = _exact(list(strata.values())) if len(rewards) <= _REPLIES else None
    if distribution is not None:
        far = sum(ways for value, ways in distribution.items() if abs(value - mean) >= abs(seen - mean))
        return counted(Fraction(far, sum(distribution.values())))
    variance = float(sum(map(_variance, strata.values()), Fraction(0)))
    return Probability(1.0 if variance == 0 else math.erfc(abs(float(seen - mean)) / math.sqrt(2 * variance)), None, DOUBLES)


def _variance(stratum: tuple[int, list[Fraction]]) -> Fraction:
    """Of the sum of ``held`` of the values, drawn without replacement: h (m - h) / (m (m - 1)) times the sum of squares."""
    held, values = stratum
    size = len(values)
    if size == 1:
        return Fraction(0)
    mean = sum(values, Fraction(0)) / size
    return Fraction(held * (size - held), size * (size - 1)) * sum(((value - mean) ** 2 for value in values), Fraction(0))


def _exact(strata: list[tuple[int, list[Fraction]]]) -> Distribution | None:
    """Sum -> how many of the equally likely exchanges give it; None where there are too many different sums."""
    whole: Distribution = {Fraction(0): 1}
    for held, values in strata:
        part = _subset_sums(held, values)
        if part is None or len(part) * len(whole) > _CELLS:
            return None
        joined: Counter[Fraction] = Counter()
        for one, ways in whole.items():
            for other, more in part.items():
                joined[one + other] += ways * more
        whole = dict(joined)
    return whole


def _subset_sums(held: int, values: list[Fraction]) -> Distribution | None:
    """Sum -> how many subsets of ``held`` values have it."""
    by_size: list[Counter[Fraction]] = [Counter({Fraction(0): 1}), *(Counter() for _ in range(held))]
    for value, copies in Counter(values).items():
        for size in range(held, 0, -1):
            for taken in range(1, min(copies, size) + 1):
                for total, ways in by_size[size - taken].items():
                    by_size[size][total + taken * value] += ways * math.comb(copies, taken)
        if sum(map(len, by_size)) > _CELLS:
            return None
    return dict(by_size[held])
