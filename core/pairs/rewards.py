"""What a grader returned, as a reward from 0 to 1, or why it is none.

A reward is exact: an integer, a ``Fraction``, a ``Decimal``, or a double taken as the shortest decimal that reads back as it
(0.7 is 7/10), so that 0.7 - 0.2 is 1/2 and not a little less. Text is never a number. A grader's own verdict may be true
or false; a *stored* reward that is a boolean is left to the reader of rollouts, which asks for a declaration first.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from core.errors import GridError
from core.written_numbers import written_decimal

OK, INVALID, MISSING = "ok", "invalid_result", "missing_reward"
_REWARD_KEYS: Final = ("reward", "score")
_RATING: Final = "rating"
_REASON: Final = "reason"
Scale = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Graded:
    """``reward`` from 0 to 1 with ``status`` ok, or None with the status that says why; ``meta``: what else the grader said."""

    reward: Fraction | None
    status: str
    reason: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)


def exact_number(value: object) -> Fraction | None:
    """A number as the rational it writes; None for what is no finite number (booleans and text included).

    >>> exact_number(0.7) - exact_number(0.2)
    Fraction(1, 2)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, Fraction)):
        return None
    if isinstance(value, (float, Decimal)) and not math.isfinite(value):
        return None
    return written_decimal(value) if isinstance(value, float) else Fraction(value)


def graded(raw: object) -> Graded:
    """The result of a grader: a number from 0 to 1, a verdict (true is 1, false is 0), or an object with ``reward`` (or
    ``score``), ``reason`` and whatever else."""
    if not isinstance(raw, Mapping):
        return _verdict(raw, "returned_type", "", {})
    key = next((name for name in _REWARD_KEYS if name in raw), None)
    if key is None:
        return Graded(None, MISSING, _reason(raw), {"returned_keys": sorted(map(str, raw))})
    return _verdict(raw[key], "reward_type", _reason(raw), _others(raw, key))


def graded_on_scale(raw: object, low: Fraction, high: Fraction) -> Graded:
    """The result of a grader that rates from ``low`` to ``high``: (rating - low) / (high - low), exact.

    ``raw``: a number, or an object with ``rating`` and ``reason``. Raises GridError ``empty_scale`` where low >= high.
    """
    if low >= high:
        raise GridError("empty_scale", expected="a scale whose low end is below its high end", got=f"{low} to {high}", remedy="state both ends")
    scale = {"scale": [float(low), float(high)]}
    inner = raw[_RATING] if isinstance(raw, Mapping) and _RATING in raw else raw
    reason, others = (_reason(raw), _others(raw, _RATING)) if isinstance(raw, Mapping) else ("", {})
    rating = exact_number(inner)
    if rating is None:
        return Graded(None, INVALID, reason, {"returned_type": type(inner).__name__, **scale, **others})
    if not low <= rating <= high:
        return Graded(None, INVALID, reason, {"rating_out_of_scale": float(rating), **scale, **others})
    return Graded((rating - low) / (high - low), OK, reason, {_RATING: float(rating), **scale, **others})


def _verdict(value: object, type_key: str, reason: str, meta: dict[str, Any]) -> Graded:
    reward = Fraction(int(value)) if isinstance(value, bool) else exact_number(value)
    if reward is None:
        return Graded(None, INVALID, reason, {type_key: type(value).__name__, **meta})
    if not 0 <= reward <= 1:
        return Graded(None, INVALID, reason, {"reward_out_of_range": float(reward), **meta})
    return Graded(reward, OK, reason, meta)


def _reason(raw: Mapping[Any, Any]) -> str:
    value = raw.get(_REASON)
    return value if isinstance(value, str) else ""


def _others(raw: Mapping[Any, Any], key: str) -> dict[str, Any]:
    return {str(name): value for name, value in raw.items() if name not in (key, _REASON)}
