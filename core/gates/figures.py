"""Doubles as a signed object states them: to a fixed number of significant digits, so that the last bits of a mathematics
library make no difference."""
from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Final

from core.settings import SETTINGS

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
