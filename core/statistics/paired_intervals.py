"""Intervals of the paired difference of two pass rates: Newcombe's and Tango's.

Both keep a width when nothing flipped, when everything flipped and with one item, where a Wald or bootstrap interval
has none. Square roots and the four operations are all they use, so their ends are the same on every machine but for
the last bit of the normal quantile.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from core.statistics.inputs import CONFIDENCE, Level, level_of
from core.statistics.paired import FlipTable
from core.statistics.rate_intervals import normal_quantile, wilson_interval
from core.statistics.result import Interval

NEWCOMBE: Final = "Newcombe, paired (method 10)"
TANGO: Final = "Tango score"
_HALVINGS: Final = 200
"""More than enough for a bisection to arrive at neighbouring doubles."""


def _correlation(table: FlipTable) -> float:
    """phi of the two outcomes; its numerator reduced by n/2, not below 0, when positive; 0 where a margin is empty."""
    base_pass, base_fail = table.both_pass + table.regressions, table.fixes + table.both_fail
    cand_pass, cand_fail = table.both_pass + table.fixes, table.regressions + table.both_fail
    margins = base_pass * base_fail * cand_pass * cand_fail
    cross = table.both_pass * table.both_fail - table.fixes * table.regressions
    if margins == 0:
        return 0.0
    reduced = max(cross - table.n / 2, 0.0) if cross > 0 else float(cross)
    return reduced / math.sqrt(margins)


def newcombe_interval(table: FlipTable, confidence: Level = CONFIDENCE) -> Interval:
    """Newcombe's interval of candidate rate minus baseline rate.

    Wilson limits l, u of both rates p joined by the correlation phi of the outcomes: with a = p1 - l1 and b = u2 - p2 the
    lower end is (p1 - p2) - sqrt(a^2 - 2 phi a b + b^2), the upper one the same with the other sides. phi's numerator is
    reduced by n/2 when positive. Raises GridError for a confidence outside 0 to 1.
    Source: Newcombe 1998, Stat. Med. 17:2635-2650, method 10.
    """
    level, n, phi = level_of(confidence), table.n, _correlation(table)
    candidate, baseline = table.candidate, table.baseline
    first, second = wilson_interval(candidate.numerator, n, level), wilson_interval(baseline.numerator, n, level)
    assert first.lower is not None and first.upper is not None and second.lower is not None and second.upper is not None
    p1, p2, gain = candidate.numerator / n, baseline.numerator / n, (table.fixes - table.regressions) / n

    def reach(mine: float, theirs: float) -> float:
        return math.sqrt(max(mine * mine - 2 * phi * mine * theirs + theirs * theirs, 0.0))

    lower = gain - reach(p1 - float(first.lower), float(second.upper) - p2)
    upper = gain + reach(float(first.upper) - p1, p2 - float(second.lower))
    return Interval(max(-1.0, lower), min(1.0, upper), level, NEWCOMBE)


def _score(table: FlipTable, difference: float) -> float:
    """Tango's z at a supposed difference: (b - c - n d) / sqrt(n (2 q + d (1 - d))), q the likeliest regression share there."""
    n, b, c = table.n, table.fixes, table.regressions
    linear = -b - c + (2 * n - b + c) * difference
    constant = -c * difference * (1 - difference)
    share = (math.sqrt(max(linear * linear - 8 * n * constant, 0.0)) - linear) / (4 * n)
    variance = n * (2 * share + difference * (1 - difference))
    distance = b - c - n * difference
    if variance <= 0:
        return math.copysign(math.inf, distance) if distance else 0.0
    return distance / math.sqrt(variance)


def _crossing(inside: Callable[[float], bool], near: float, far: float) -> float:
    """Where ``inside`` ends between ``near``, which is, and ``far``; ``far`` itself when that is inside as well."""
    if inside(far):
        return far
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        if middle in (near, far):
            break
        near, far = (middle, far) if inside(middle) else (near, middle)
    return (near + far) / 2


def tango_interval(table: FlipTable, confidence: Level = CONFIDENCE) -> Interval:
    """Tango's score interval of candidate rate minus baseline rate: the differences that a score test does not reject.

    Raises GridError for a confidence outside 0 to 1. Source: Tango 1998, Stat. Med. 17:891-908.

    >>> tango_interval(FlipTable(both_pass=3, regressions=0, fixes=1, both_fail=1)).text
    '−0.321 to 0.624'
    """
    level = level_of(confidence)
    z, gain = normal_quantile(level), (table.fixes - table.regressions) / table.n
    lower = _crossing(lambda d: _score(table, d) <= z, gain, -1.0)
    upper = _crossing(lambda d: _score(table, d) >= -z, gain, 1.0)
    return Interval(lower, upper, level, TANGO)


def excludes_zero(interval: Interval) -> bool:
    """Whether an interval lies on one side of 0. An undefined one excludes nothing."""
    return interval.lower is not None and interval.upper is not None and (interval.lower > 0 or interval.upper < 0)
