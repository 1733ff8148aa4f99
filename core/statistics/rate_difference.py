"""Difference of two independent rates, with Newcombe's interval."""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from core.statistics.inputs import CONFIDENCE, Level, level_of, trials_of
from core.statistics.ratio import Ratio
from core.statistics.result import Interval, Result, no_interval

NEWCOMBE = "Newcombe (two independent rates)"


@dataclass(frozen=True, slots=True)
class RateDifference(Result):
    """``first - second``, exact; undefined with the reason of the rate that has no value."""

    first: Ratio
    second: Ratio
    value: Fraction | None
    interval: Interval
    undefined: str | None = None


def rate_difference(first: Ratio, second: Ratio, confidence: Level = CONFIDENCE) -> RateDifference:
    """Difference of two rates counted on different cases, with Newcombe's square-and-add interval of their Wilson ends.

    Keeps a width where a rate is 0 or 1. Raises GridError for a confidence outside 0 to 1.
    Source: Newcombe 1998, Stat. Med. 17:873-890 (method 10).
    """
    level, undefined = level_of(confidence), first.undefined or second.undefined
    if first.value is None or second.value is None:
        return RateDifference(first, second, None, no_interval(level, NEWCOMBE, str(undefined)), undefined)
    for rate in (first, second):
        trials_of(rate.numerator, rate.denominator)
    # late: statsmodels takes more than a second to import, which --help does not need
    from statsmodels.stats.proportion import confint_proportions_2indep

    lower, upper = confint_proportions_2indep(
        first.numerator, first.denominator, second.numerator, second.denominator, method="newcomb", compare="diff", alpha=float(1 - level),
    )
    ends = max(-1.0, float(lower)), min(1.0, float(upper))
    return RateDifference(first, second, first.value - second.value, Interval(*ends, level, NEWCOMBE))
