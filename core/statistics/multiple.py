"""Adjusted p-values over several behaviours or slices, in exact arithmetic.

One primary target is tested unadjusted; the set that must not regress is adjusted on its own (Holm); Benjamini-Hochberg
is for exploration. An adjusted value at or under alpha means rejected; the order is that of the input.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final, Literal

from core.errors import RoundError, Where
from core.statistics.inputs import Score, exact_score

Adjustment = Literal["holm", "benjamini_hochberg", "benjamini_yekutieli"]
ADJUSTMENTS: Final[tuple[Adjustment, ...]] = ("holm", "benjamini_hochberg", "benjamini_yekutieli")


def _exact_p(value: Score) -> Fraction:
    try:
        p = exact_score(value, name="p")
    except RoundError:
        p = Fraction(-1)
    if not 0 <= p <= 1:
        raise RoundError(
            "p_out_of_range", expected="a p-value from 0 to 1", got=str(value), remedy="leave out comparisons without one", where=Where(field="p"),
        )
    return p


def holm(p_values: Iterable[Score]) -> list[Fraction]:
    """Holm's step-down: the i-th smallest of m times (m - i), never below the one before. Controls any false rejection.

    Raises RoundError (``p_out_of_range``). Source: Holm 1979, Scand. J. Stat. 6:65-70.

    >>> holm(["0.01", "0.04"])
    [Fraction(1, 50), Fraction(1, 25)]
    """
    p = [_exact_p(value) for value in p_values]
    adjusted, highest = [Fraction(0)] * len(p), Fraction(0)
    for step, place in enumerate(_ascending(p)):
        highest = max(highest, min(Fraction(1), (len(p) - step) * p[place]))
        adjusted[place] = highest
    return adjusted


def benjamini_hochberg(p_values: Iterable[Score]) -> list[Fraction]:
    """Benjamini and Hochberg's step-up: the i-th smallest times m / i, never above the one after. Controls the share of
    false rejections among independent (or positively dependent) tests. Raises RoundError (``p_out_of_range``).
    Source: Benjamini & Hochberg 1995, JRSS B 57:289-300.
    """
    return _step_up(list(p_values), Fraction(1))


def benjamini_yekutieli(p_values: Iterable[Score]) -> list[Fraction]:
    """The step-up for any dependence: Benjamini-Hochberg times 1 + 1/2 + ... + 1/m. Raises RoundError (``p_out_of_range``).
    Source: Benjamini & Yekutieli 2001, Ann. Stat. 29:1165-1188.
    """
    values = list(p_values)
    return _step_up(values, sum((Fraction(1, i + 1) for i in range(len(values))), Fraction(0)))


def _ascending(p: Sequence[Fraction]) -> list[int]:
    return sorted(range(len(p)), key=p.__getitem__)


def _step_up(p_values: Sequence[Score], factor: Fraction) -> list[Fraction]:
    p = [_exact_p(value) for value in p_values]
    adjusted, lowest = [Fraction(1)] * len(p), Fraction(1)
    for step, place in reversed(list(enumerate(_ascending(p)))):
        lowest = min(lowest, p[place] * factor * len(p) / (step + 1))
        adjusted[place] = lowest
    return adjusted


def adjusted_p_values(p_values: Iterable[Score], adjustment: Adjustment) -> list[Fraction]:
    """By the name of the method."""
    return {"holm": holm, "benjamini_hochberg": benjamini_hochberg, "benjamini_yekutieli": benjamini_yekutieli}[adjustment](p_values)
