"""Result objects: frozen, they echo what went in, and one function writes them as JSON.

A page, the command line and a statement read the same object. A rational becomes ``{"exact": "3/4", "value": 0.75}``
(``exact`` null where it is too long to be read), a :class:`Ratio` its counts, an undefined figure ``null`` with its reason.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Final

from core.settings import SETTINGS
from core.statistics.ratio import Ratio, decimal_text, json_integer, percent_text

_DECIMALS: int = SETTINGS["statistics"]["decimals"]
_EXACT_BITS: int = SETTINGS["statistics"]["exact_bits"]


def as_json(value: object) -> object:
    """A figure, or anything made of figures, as JSON members."""
    if isinstance(value, (Ratio, Result)):
        return value.as_dict()
    if isinstance(value, Fraction):
        longest = max(abs(value.numerator), value.denominator).bit_length()
        return {"exact": f"{value.numerator}/{value.denominator}" if longest <= _EXACT_BITS else None, "value": float(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, int) and not isinstance(value, bool):
        return json_integer(value)
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [as_json(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
    return value


@dataclass(frozen=True, slots=True)
class Result:
    """Base of the result objects."""

    def as_dict(self) -> dict[str, object]:
        """JSON members, one a field."""
        return {field.name: as_json(getattr(self, field.name)) for field in fields(self)}


@dataclass(frozen=True, slots=True)
class Figure(Result):
    """An exact figure that is no ratio of counts (a mean of rates, an alpha): ``value``, or None with the reason."""

    value: Fraction | None
    undefined: str | None = None

    @property
    def text(self) -> str:
        """The value as a person reads it, or ``undefined`` and the reason."""
        return f"undefined: {self.undefined}" if self.value is None else decimal_text(self.value, _DECIMALS)


NO_WIDTH: Final = "not given: every resample is alike, and an interval without width would claim a certainty that no sample gives"
"""Why a resampling interval is not shown (known case 25)."""


@dataclass(frozen=True, slots=True)
class Interval(Result):
    """``lower`` to ``upper`` at ``confidence``, made by ``method``; both ends None with a reason where it is undefined.

    Ends are doubles, or exact rationals where the method attains them (enumerated bootstrap). ``seed`` is None unless
    the method drew random numbers.
    """

    lower: Fraction | float | None
    upper: Fraction | float | None
    confidence: Fraction
    method: str
    undefined: str | None = None
    seed: int | None = None

    def as_dict(self) -> dict[str, object]:
        """JSON members; ends as the nearest doubles."""
        return {
            "lower": None if self.lower is None else float(self.lower), "upper": None if self.upper is None else float(self.upper),
            "confidence": float(self.confidence), "method": self.method, "undefined": self.undefined, "seed": self.seed,
        }

    @property
    def text(self) -> str:
        """``.306 to 1`` as a person reads it, or the reason."""
        if self.lower is None or self.upper is None:
            return str(self.undefined)
        return f"{decimal_text(Fraction(self.lower), _DECIMALS)} to {decimal_text(Fraction(self.upper), _DECIMALS)}"

    @property
    def percent(self) -> str:
        """``4.13 % to 6.04 %``, or the reason."""
        if self.lower is None or self.upper is None:
            return str(self.undefined)
        return f"{percent_text(Fraction(self.lower))} to {percent_text(Fraction(self.upper))}"


def no_interval(confidence: Fraction, method: str, undefined: str) -> Interval:
    """An interval that cannot be given, and why."""
    return Interval(None, None, confidence, method, undefined)
