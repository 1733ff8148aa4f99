"""A p-value: exact where the distribution was counted, and how it reads beside the level it is held against.

A test decides on the rational where there is one, so that a p-value of exactly the level counts as reaching it however
it was summed.
"""
from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from core.settings import SETTINGS
from core.statistics.ratio import decimal_text
from core.statistics.result import Result, as_json

_EXACT_BITS: int = SETTINGS["statistics"]["exact_bits"]
_DECIMALS: int = SETTINGS["statistics"]["p_decimals"]
COUNTED, DOUBLES, DRAWN = "counted exactly", "computed in doubles", "drawn at random"


def short_exact(value: Fraction) -> str | None:
    """``11/512``, or None where the fraction is too long to be read (its double is given beside it)."""
    longest = max(abs(value.numerator), value.denominator).bit_length()
    return f"{value.numerator}/{value.denominator}" if longest <= _EXACT_BITS else None


@dataclass(frozen=True, slots=True)
class Probability(Result):
    """``value``: the nearest double; ``exact``: the rational, or None where doubles or random numbers made it."""

    value: float
    exact: Fraction | None
    method: str = COUNTED

    def at_most(self, level: Fraction) -> bool:
        """Whether the p-value reaches ``level`` (equality counts)."""
        return (Fraction(self.value) if self.exact is None else self.exact) <= level

    @property
    def fraction(self) -> Fraction:
        """The rational, or the double as one."""
        return Fraction(self.value) if self.exact is None else self.exact

    def text(self, against: Fraction | None = None) -> str:
        """``p = .0215`` or ``p < .0001``; never the digits of ``against`` for a value beside it."""
        smallest = Fraction(Decimal(1).scaleb(-_DECIMALS))
        value = self.fraction
        if value < smallest and (against is None or against > smallest):
            return f"p < {without_zero(decimal_text(smallest, _DECIMALS))}"
        return f"p = {without_zero(decimal_text(value, _DECIMALS, against=against))}"

    def as_dict(self) -> dict[str, object]:
        """JSON members; the fraction only where it is short enough to be read."""
        return {"value": self.value, "exact": None if self.exact is None else short_exact(self.exact), "method": as_json(self.method)}


def counted(value: Fraction) -> Probability:
    """A p-value that was counted in integers."""
    return Probability(float(value), value)


def without_zero(text: str) -> str:
    """``0.05`` as ``.05``: how levels and p-values are written."""
    return text[1:] if text.startswith("0.") else text


def level_text(level: Fraction) -> str:
    """A level as a reader writes it: ``.05``."""
    return without_zero(decimal_text(level, _DECIMALS, against=Fraction(0)))
