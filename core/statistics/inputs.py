"""What a statistic accepts, checked before anything is computed.

Counts are integers >= 0, confidence levels lie strictly between 0 and 1, scores are finite. Data that is none of this
refuses with a RoundError; a level or a number of bins that nobody may ask for refuses with a GridError. NaN, infinity
and missing values never reach a formula.
"""
from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Final

from core.errors import GridError, RoundError, Where
from core.settings import SETTINGS

CONFIDENCE: Final = Fraction(SETTINGS["statistics"]["confidence"])
"""Two-sided confidence of every interval that is shown. It decides nothing."""
ALPHA: Final = Fraction(SETTINGS["statistics"]["alpha"])
"""One-sided error of "proves": how often a judge (or model) exactly at the bound would look as good as this one."""

Level = Fraction | Decimal | str
Score = Fraction | Decimal | float | int | str


def counts_of(**counts: int) -> None:
    """Refuse counts that are not integers >= 0 (a bool is no count). Raises RoundError ``invalid_count`` naming the first."""
    for name, count in counts.items():
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise RoundError(
                "invalid_count", expected="an integer of at least 0", got=repr(count), remedy="count again from the records", where=Where(field=name),
            )


def trials_of(successes: int, n: int) -> None:
    """Refuse successes that are not 0 <= successes <= n. Raises RoundError ``invalid_count``."""
    counts_of(successes=successes, n=n)
    if successes > n:
        raise RoundError(
            "invalid_count", expected=f"at most {n} successes in {n} trials", got=str(successes), remedy="count again from the records",
            where=Where(field="successes"),
        )


def level_of(level: Level, *, name: str = "confidence") -> Fraction:
    """A confidence or error level as the exact rational it writes. Raises GridError ``confidence_out_of_range`` outside (0, 1)."""
    try:
        value = Fraction(level)
    except (ValueError, OverflowError, ZeroDivisionError):
        value = Fraction(0)
    if not 0 < value < 1:
        raise GridError(
            "confidence_out_of_range", expected="a level above 0 and below 1", got=str(level), remedy="state a level such as 95 % as a decimal",
            where=Where(field=name),
        )
    return value


def exact_score(score: Score, *, name: str = "score") -> Fraction:
    """A score as the shortest decimal that writes it, exact. Raises RoundError ``non_finite_score`` for NaN and infinity."""
    if isinstance(score, Fraction) or (isinstance(score, int) and not isinstance(score, bool)):
        return Fraction(score)
    try:
        value = None if isinstance(score, bool) else _as_written(score)
    except (ValueError, TypeError, ArithmeticError):
        value = None
    if value is None:
        raise RoundError(
            "non_finite_score", expected="a finite decimal number", got=repr(score), remedy="leave out cases without a score, and say how many",
            where=Where(field=name),
        )
    return value


def _as_written(score: Decimal | float | str) -> Fraction | None:
    if isinstance(score, float):
        return Fraction(repr(float(score))) if math.isfinite(score) else None
    written = Decimal(score)
    # an exponent beyond that of a double ("1e999999999") would fill the memory as a rational
    small = written.is_finite() and sys.float_info.min_10_exp <= written.adjusted() <= sys.float_info.max_10_exp
    return Fraction(written) if small else None


def equal_lengths(**columns: int) -> int:
    """The common length of columns that go together. Raises RoundError ``lengths_differ``."""
    if len(set(columns.values())) != 1:
        raise RoundError(
            "lengths_differ", expected="columns of one length", got=", ".join(f"{name} {length}" for name, length in columns.items()),
            remedy="join the columns by case first",
        )
    return next(iter(columns.values()))


def booleans_of(verdicts: Iterable[object], *, name: str) -> None:
    """Refuse verdicts other than True, False and None (no verdict). Raises RoundError ``non_boolean_verdict`` naming the first."""
    for verdict in verdicts:
        if verdict is not None and not isinstance(verdict, bool):
            raise RoundError(
                "non_boolean_verdict", expected="true, false, or null for no verdict", got=repr(verdict), where=Where(field=name),
                remedy="turn scores into verdicts with a threshold that is written down",
            )
