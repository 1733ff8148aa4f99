"""The reward of a rollout: an exact rational inside the declared range, or why there is none.

What is written is a number, or the result that a grader returned: an object with ``reward`` (or ``score``; ``rating`` where a scale
is declared) and whatever else it said. A
boolean is no reward unless its column was declared as the reward; true is then 1. Text is never a number. Ratings go by ``scale``: a rating r
from LOW to HIGH is the reward (r - LOW) / (HIGH - LOW), exact, so that the pass mark of the grid means the same for every grader.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from core.errors import RoundError, Where
from core.rounds.columns import CellFault
from core.rounds.readers.format import Declared
from core.rounds.readers.rollout_columns import RANGE
from core.rounds.readers.verdicts import decimal
from core.rounds.strict import described

_RESULT: Final = ("reward", "score")
_RATING: Final = "rating"
# few digits: a bound of a hundred million of them is no range, and the figures made of rewards stay far inside a double
_BOUND: Final = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15})?(?:[eE][+-]?\d{1,2})?")
Found = tuple[Fraction | None, str | None]
"""A reward, or None with a key of ``core.rounds.rollout_faults.REASONS``."""


@dataclass
class RewardRule:
    """How the rewards of one file are read. ``coerced``: booleans that became a reward; ``returned``: results of a grader that were objects."""

    named: bool
    least: Fraction
    most: Fraction
    rated: bool
    coerced: int = 0
    returned: int = 0
    _booleans: bool | None = None

    @classmethod
    def of(cls, declared: Declared) -> RewardRule:
        """The rule that was declared. Raises RoundError ``bad_option``, or ``said_twice`` where a range stands beside a scale."""
        options = declared.options
        rated = "scale" in options
        if rated and "range" in options:
            raise RoundError(
                "said_twice", expected="a range of rewards, or a scale of ratings", got="both", remedy="leave range out: a scale says both ends",
                where=Where(declared.file, field="scale"),
            )
        name = "scale" if rated else "range"
        least, most = _ends(declared, name, options.get(name, RANGE))
        return cls("reward" in options, least, most, rated)

    def found(self, value: Any, field: str) -> Found:
        """The reward that a cell holds. Raises CellFault ``number_too_long``, and ``ambiguous_result`` for an object that says it twice."""
        inner = self._returned(value, field) if isinstance(value, Mapping) else value
        if inner is None:
            return None, "missing_reward"
        as_boolean = self.named and self._first_form(inner)
        if isinstance(inner, bool):
            if not as_boolean:
                return None, "boolean_reward"
            self.coerced += 1
            return Fraction(int(inner)), None
        if as_boolean or not isinstance(inner, (int, float)):
            return None, "invalid_reward"
        number = decimal(inner, field)
        if not self.least <= number <= self.most:
            return None, "reward_out_of_range"
        return ((number - self.least) / (self.most - self.least) if self.rated else number), None

    def _returned(self, result: Mapping[str, Any], field: str) -> Any:
        keys = [name for name in (*_RESULT, *((_RATING,) if self.rated else ())) if name in result]
        if len(keys) > 1:
            raise CellFault(f"{field}.{keys[0]}", "ambiguous_result", "one of them", " and ".join(keys))
        self.returned += bool(keys)
        return result[keys[0]] if keys else None

    def _first_form(self, value: Any) -> bool:
        """Whether the declared reward column holds booleans: its first value decides for the file."""
        if self._booleans is None:
            self._booleans = isinstance(value, bool)
        return self._booleans


def _ends(declared: Declared, name: str, text: str) -> tuple[Fraction, Fraction]:
    low, dots, high = text.partition("..")
    if not (dots and _BOUND.fullmatch(low.strip()) and _BOUND.fullmatch(high.strip()) and Fraction(low) < Fraction(high)):
        raise RoundError(
            "bad_option", expected="two numbers, as 0..1 or -1..1", got=described(text), remedy="correct the option",
            where=Where(declared.file, field=name),
        )
    return Fraction(low), Fraction(high)
