"""Exact ratios, what is undefined, and how both are written out.

A statistic that steers a decision is a ratio of two integers, kept exact. Where it is undefined it has a reason and no
value: never 0, never 1, never NaN.
"""
from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from core.settings import SETTINGS


def json_integer(value: int) -> int | str:
    """An integer as JSON carries it: a number up to 2^53-1 in size, else its decimal digits as a string."""
    return value if abs(value) <= SETTINGS["json"]["max_safe_integer"] else str(value)


def json_double(value: Fraction | float | None) -> float | None:
    """The nearest double where JSON can carry it, for display. None for None, and beyond 2^53-1 in size: RFC 8785 writes a
    large whole double as an integer token, which a strict reader refuses. Exact figures stand beside it as integers."""
    if value is None or not abs(value) <= SETTINGS["json"]["max_safe_integer"]:
        return None
    return float(value)


MINUS = "\u2212"
"""The minus sign of every figure that a person reads (JSON keeps its own)."""
_PERCENT: int = SETTINGS["display"]["percent_base"]


@dataclass(frozen=True, slots=True)
class Ratio:
    """``numerator / denominator``, exact. ``undefined`` says why there is no value (denominator 0), else None."""

    numerator: int
    denominator: int
    undefined: str | None = None

    @property
    def value(self) -> Fraction | None:
        """The exact value, or None where it is undefined."""
        return None if self.undefined is not None else Fraction(self.numerator, self.denominator)

    def as_dict(self) -> dict[str, object]:
        """JSON members: numerator and denominator as counted (not reduced), the nearest double, the reason."""
        value = self.value
        return {
            "numerator": json_integer(self.numerator), "denominator": json_integer(self.denominator),
            "value": json_double(value), "undefined": self.undefined,
        }


def counted_ratio(numerator: int, denominator: int, *, undefined: str) -> Ratio:
    """A ratio of two counts; undefined with that reason when the denominator is 0."""
    return Ratio(numerator, denominator, undefined if denominator == 0 else None)


def rounded_decimal(value: Fraction, decimals: int) -> Decimal:
    """An exact rational rounded once, half to even, to that many decimals; never -0."""
    whole = round(value * int(Decimal(1).scaleb(decimals)))
    # built from its digits: arithmetic would round again to the context's precision
    return Decimal((whole < 0, tuple(int(digit) for digit in str(abs(whole))), -decimals))


def decimal_text(value: Fraction, decimals: int | None = None, *, against: Fraction | None = None) -> str:
    """A figure as a person reads it. With ``against`` (a bound that differs from the value) as many decimals are
    written as it takes to see the difference: a kappa just under .75 is never shown as ".750, fails"."""
    digits = SETTINGS["display"]["decimals"] if decimals is None else decimals
    if against is not None and against != value:
        while rounded_decimal(value, digits) == rounded_decimal(against, digits):
            digits += 1
    text = format(rounded_decimal(value, digits), "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", MINUS)


def percent_text(value: Fraction, *, against: Fraction | None = None) -> str:
    """A rate as a percentage, with enough decimals to tell it from ``against``."""
    bound = None if against is None else against * _PERCENT
    return f"{decimal_text(value * _PERCENT, SETTINGS['display']['percent_decimals'], against=bound)} %"


def fraction_text(ratio: Ratio, *, against: Fraction | None = None) -> str:
    """``13 of 120, 10.83 %``, or ``undefined: the verifier failed nothing``."""
    if ratio.value is None:
        return f"undefined: {ratio.undefined}"
    count = f"{ratio.numerator:,}".replace("-", MINUS)
    return f"{count} of {ratio.denominator:,}, {percent_text(ratio.value, against=against)}"
