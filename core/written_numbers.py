"""JSON numbers with more digits than a double gives back.

A double keeps 15 to 17 decimal digits. ``0.12345678901234567890123`` is read as 0.12345678901234568, and what decides on the number that was
written (a reward, a grade, a bound) must not be told that one. So a number whose shortest double says something else carries its text.
"""
from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Final

from core.settings import SETTINGS

MOST_CHARACTERS: Final[int] = SETTINGS["json"]["number_characters"]
_MOST_EXPONENT: Final[int] = SETTINGS["json"]["number_exponent"]


class WrittenNumber(float):
    """A double, and the JSON number that it is not exactly. It is a float everywhere else: JSON, Arrow and NumPy write the double."""

    __slots__ = ("text",)

    text: str

    @classmethod
    def of(cls, text: str) -> float:
        """A JSON number with a point or an exponent: a plain float where its shortest text says the same number.

        >>> type(WrittenNumber.of("0.70")).__name__, WrittenNumber.of("0.12345678901234567890").text
        ('float', '0.12345678901234567890')
        """
        value = float(text)
        if repr(value) == text or _said_by(value, text):
            return value
        written = cls(value)
        written.text = text
        return written


def _said_by(value: float, text: str) -> bool:
    try:
        return Decimal(text) == Decimal(repr(value))
    except InvalidOperation:
        # an exponent of twenty digits
        return False


def written_decimal(value: int | float) -> Fraction | None:
    """The decimal that a finite JSON number was written as, exact: 0.7 is 7/10. None where it is so long or so small that it is not kept.

    >>> written_decimal(WrittenNumber.of("0.50000000000000000001")) > written_decimal(0.5)
    True
    """
    if not isinstance(value, WrittenNumber):
        return Fraction(value) if isinstance(value, int) else Fraction(repr(float(value)))
    if len(value.text) > MOST_CHARACTERS:
        return None
    try:
        number = Decimal(value.text)
    except InvalidOperation:
        return None
    return Fraction(number) if abs(number.adjusted()) <= _MOST_EXPONENT else None
