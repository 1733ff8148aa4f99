"""Is a graded judge's score the probability that the verifier passes? Reliability bins, ECE, MCE, Brier and its parts.

Scores are read as the shortest decimals that write them and binned as rationals: ``floor(score * bins)`` in doubles puts
0.57 of 100 bins one bin too low. Only scores from 0 to 1 can be probabilities; others are refused, never rescaled.
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from core.errors import GridError, RoundError, Where
from core.settings import SETTINGS
from core.statistics.inputs import Score, equal_lengths, exact_score
from core.statistics.result import Result

_BINS: int = SETTINGS["statistics"]["reliability_bins"]


@dataclass(frozen=True, slots=True)
class ScoreGroup:
    """All cases of one distinct score: how many, and how many the verifier passed."""

    score: Fraction
    count: int
    passed: int


def score_groups(scores: Sequence[Score], passed: Sequence[bool]) -> tuple[ScoreGroup, ...]:
    """Cases by distinct score, ascending. ``passed``: the verifier's verdict, bool (or 0 and 1), same length.

    Raises RoundError: ``empty_calibration_set``, ``lengths_differ``, ``non_finite_score``, ``missing_verdict``.
    """
    if not equal_lengths(scores=len(scores), passed=len(passed)):
        raise RoundError(
            "empty_calibration_set", expected="at least one case with a score", got="none", remedy="supply rubric_score in judge_records",
        )
    verdicts = _verdicts(passed)
    exact = {score: exact_score(score) for score in dict.fromkeys(scores)}
    # "0.50", 0.5 and "0.5" are one score
    levels = sorted(set(exact.values()), key=_ordered)
    place = {level: i for i, level in enumerate(levels)}
    index = np.fromiter((place[exact[score]] for score in scores), dtype=np.int64, count=len(scores))
    counts = np.bincount(index, minlength=len(levels)).tolist()
    passes = np.bincount(index[verdicts], minlength=len(levels)).tolist()
    return tuple(ScoreGroup(*row) for row in zip(levels, counts, passes, strict=True))


def _ordered(level: Fraction) -> tuple[float, Fraction]:
    """A key that orders like the rational and mostly compares doubles: the nearest double never turns an order round."""
    try:
        return float(level), level
    except OverflowError:
        return (math.inf if level > 0 else -math.inf), level


def _verdicts(passed: Sequence[bool]) -> NDArray[np.bool_]:
    given = np.asarray(passed)
    # a missing verdict makes the array one of objects or doubles, where it would read as False or True
    if given.dtype.kind not in "biu" or not np.isin(given, (0, 1)).all():
        raise RoundError(
            "missing_verdict", expected="true or false for every case", got="a missing or other value", where=Where(field="verifier_passed"),
            remedy="leave out cases without a verdict, and say how many",
        )
    return given.astype(np.bool_)


def exact_sum(terms: Iterable[Fraction]) -> Fraction:
    """Sum of rationals, added in pairs: the numbers stay short, where adding to a running total would not."""
    level = list(terms)
    while len(level) > 1:
        level = [sum(level[i:i + 2], Fraction(0)) for i in range(0, len(level), 2)]
    return level[0] if level else Fraction(0)


@dataclass(frozen=True, slots=True)
class ReliabilityBin(Result):
    """Bin ``index`` holds scores above index/bins and up to (index+1)/bins; bin 0 holds score 0 too."""

    index: int
    count: int
    passed: int
    mean_score: Fraction
    pass_rate: Fraction

    @property
    def gap(self) -> Fraction:
        """How far the mean score lies from the pass rate."""
        return abs(self.mean_score - self.pass_rate)


@dataclass(frozen=True, slots=True)
class Reliability(Result):
    """Calibration of scores as probabilities, exact.

    ``ece`` and ``mce``: mean (by count) and largest gap over non-empty bins. ``brier``: mean squared error, equal to
    ``reliability - resolution + uncertainty`` over the distinct scores.
    """

    n: int
    passed: int
    bins: int
    rows: tuple[ReliabilityBin, ...]
    ece: Fraction
    mce: Fraction
    brier: Fraction
    reliability: Fraction
    resolution: Fraction
    uncertainty: Fraction


def bin_of(score: Fraction, bins: int) -> int:
    """Index of the right-closed bin: max(0, ceil(score * bins) - 1).

    >>> bin_of(Fraction("0.57"), 100), bin_of(Fraction(0), 100)
    (56, 0)
    """
    return max(0, -(-score.numerator * bins // score.denominator) - 1)


def reliability(scores: Sequence[Score], passed: Sequence[bool], bins: int = _BINS) -> Reliability:
    """Reliability of scores from 0 to 1 in right-closed bins of equal width.

    Raises RoundError as :func:`score_groups` and ``score_out_of_range``; GridError ``bins_out_of_range`` (bins < 1).
    Sources: Brier 1950, Mon. Weather Rev. 78:1-3; Murphy 1973, J. Appl. Meteorol. 12:595-600; Guo et al. 2017, arXiv:1706.04599.
    """
    if bins < 1:
        raise GridError("bins_out_of_range", expected="at least 1 bin", got=str(bins), remedy="ask for more bins", where=Where(field="bins"))
    groups = score_groups(scores, passed)
    for group in (groups[0], groups[-1]):
        if not 0 <= group.score <= 1:
            raise RoundError(
                "score_out_of_range", expected="scores from 0 to 1", got=str(group.score), where=Where(field="score"),
                remedy="reliability needs probabilities; for a rubric scale read the threshold sweep",
            )
    rows = _rows(groups, bins)
    n, passes = len(scores), sum(group.passed for group in groups)
    base, (brier, calibration, spread) = Fraction(passes, n), _squares(groups)
    return Reliability(
        n, passes, bins, rows, exact_sum(row.count * row.gap for row in rows) / n, max(row.gap for row in rows), brier / n, calibration / n,
        spread / n - base**2, base * (1 - base),
    )


def _squares(groups: Sequence[ScoreGroup]) -> tuple[Fraction, Fraction, Fraction]:
    """Sums over the groups (score s, c cases, p passed) of p (1 - s)^2 + (c - p) s^2, of c (s - p/c)^2 and of p^2 / c.

    In integers over one denominator, and the last two by group size: thousands of rationals with seventeen digits each
    would be slow to add.
    """
    whole = math.lcm(*(group.score.denominator for group in groups))
    errors, gaps, shares = 0, Counter[int](), Counter[int]()
    for group in groups:
        score = group.score.numerator * (whole // group.score.denominator)
        errors += group.passed * (whole - score) ** 2 + (group.count - group.passed) * score**2
        gaps[group.count] += (group.count * score - group.passed * whole) ** 2
        shares[group.count] += group.passed**2
    calibration = sum((Fraction(total, count) for count, total in gaps.items()), Fraction(0))
    return Fraction(errors, whole**2), calibration / whole**2, sum((Fraction(total, count) for count, total in shares.items()), Fraction(0))


def _rows(groups: Iterable[ScoreGroup], bins: int) -> tuple[ReliabilityBin, ...]:
    held: dict[int, list[ScoreGroup]] = {}
    for group in groups:
        held.setdefault(bin_of(group.score, bins), []).append(group)
    rows = []
    for index, inside in sorted(held.items()):
        count, passed = sum(group.count for group in inside), sum(group.passed for group in inside)
        whole = math.lcm(*(group.score.denominator for group in inside))
        total = sum(group.count * group.score.numerator * (whole // group.score.denominator) for group in inside)
        rows.append(ReliabilityBin(index, count, passed, Fraction(total, whole * count), Fraction(passed, count)))
    return tuple(rows)
