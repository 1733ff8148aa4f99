"""Doubles as a signed object states them: to a fixed number of significant digits, so that the last bits of a mathematics
library make no difference."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Final

from core.settings import SETTINGS
from core.statistics.comparison import PairedComparison
from core.statistics.probability import Probability, short_exact
from core.statistics.ratio import Ratio, json_integer
from core.statistics.result import Interval
from core.statistics.sign_flip import RANDOM_SIGNS
from core.statistics.verdict import Gap, Verdict, verdict_of

SIGNIFICANT_DIGITS: Final[int] = SETTINGS["statistics"]["signed_digits"]
_CONTEXT: Final = Context(prec=SIGNIFICANT_DIGITS, rounding=ROUND_HALF_EVEN)


def significant(value: Fraction | float | None) -> float | None:
    """A finite figure rounded half to even to the signed digits; never -0; None for None. A rational is rounded from itself.

    >>> significant(Fraction(2, 3)), significant(-0.0)
    (0.666666667, 0.0)
    """
    if value is None:
        return None
    exact = Fraction(value) if isinstance(value, (Fraction, int)) else Fraction(repr(float(value)))
    return float(_CONTEXT.divide(Decimal(exact.numerator), Decimal(exact.denominator)))


def rounded_interval(interval: Interval) -> Interval:
    """The same interval with its ends rounded, so that what is written about it is the same everywhere."""
    return replace(interval, lower=significant(interval.lower), upper=significant(interval.upper))


def interval_members(interval: Interval) -> dict[str, object]:
    """An interval as JSON members; null ends with the reason where it is undefined."""
    return {
        "lower": significant(interval.lower), "upper": significant(interval.upper), "confidence": significant(interval.confidence),
        "method": interval.method, "undefined": interval.undefined,
    }


def no_interval_members(method: str, undefined: str) -> dict[str, object]:
    """An interval that cannot be given because no confidence is set."""
    return {"lower": None, "upper": None, "confidence": None, "method": method, "undefined": undefined}


def ratio_members(ratio: Ratio) -> dict[str, object]:
    """A ratio as JSON members: as counted, with its rounded value or the reason."""
    return {
        "numerator": json_integer(ratio.numerator), "denominator": json_integer(ratio.denominator), "value": significant(ratio.value),
        "undefined": ratio.undefined,
    }


def probability_members(p: Probability) -> dict[str, object]:
    """A p-value as JSON members; the fraction where it is short, and how it was made."""
    return {"value": significant(p.fraction), "exact": None if p.exact is None else short_exact(p.exact), "method": p.method}


def rounded_verdict(
    compared: PairedComparison, alpha: Fraction, gaps: Sequence[Gap], names: tuple[str, str] = ("baseline", "candidate"),
) -> Verdict:
    """The verdict of a comparison over rounded figures, so that its words are the same everywhere."""
    evidence = compared.verdict.evidence
    band = replace(compared.band, band=significant(compared.band.band))
    stated = replace(evidence, p=rounded_probability(evidence.p), interval=rounded_interval(evidence.interval))
    return verdict_of(stated, alpha=alpha, names=names, band=band, moved=compared.verdict.moved, gaps=gaps)


def is_drawn(p: Probability) -> bool:
    """Whether random numbers made a p-value: another version of their generator may give another one."""
    return RANDOM_SIGNS in p.method


def rounded_probability(p: Probability) -> Probability:
    """A p-value that was counted, as it is; one that doubles made, rounded up to that many decimals: its error is absolute (that
    of a Fourier inversion), so the digits of a tiny one mean nothing, and it is never written as 0."""
    if p.exact is not None:
        return p
    quantum = Fraction(Decimal(1).scaleb(-SIGNIFICANT_DIGITS))
    return replace(p, value=float(max(math.ceil(Fraction(repr(p.value)) / quantum), 1) * quantum))
