"""Figures of one split, and when two figures may be subtracted at all.

A difference is given only for figures of the same items, prompts and split with the same share graded; otherwise it is
*not comparable*, with every reason named, and nothing is subtracted.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from core.errors import RoundError, Where
from core.statistics.inputs import trials_of
from core.statistics.ratio import Ratio, fraction_text
from core.statistics.result import Result

NO_ITEMS: Final = "no items"
DIFFERENT_SPLITS: Final = "different_splits"
PAIRING_NEEDS_ITEMS: Final = "item_outcomes_needed_for_pairing"


@dataclass(frozen=True, slots=True)
class SplitRate(Result):
    """A pass rate of one split, from counts alone. ``split``: the digest of its items."""

    split: str
    passes: int
    n: int

    def __post_init__(self) -> None:
        trials_of(self.passes, self.n)

    @property
    def rate(self) -> Ratio:
        return Ratio(self.passes, self.n, None if self.n else NO_ITEMS)

    @property
    def standard_error(self) -> float | None:
        """sqrt(p (1 - p) / n), divisor n. Neither a spread over seeds nor the standard error of a difference."""
        return math.sqrt(Fraction(self.passes * (self.n - self.passes), self.n**3)) if self.n else None


@dataclass(frozen=True, slots=True)
class TotalsDifference(Result):
    """What two totals say about a difference when the items behind them are not at hand.

    ``difference``: first minus second, None with ``reason`` ``different_splits``. On one split the standard error of the
    paired difference is unknown; it lies between ``smallest_paired_se`` and ``largest_paired_se``, and ``unpaired_se`` is
    what treating the two as independent would give.
    """

    first: SplitRate
    second: SplitRate
    difference: Fraction | None
    reason: str
    unpaired_se: float | None = None
    smallest_paired_se: float | None = None
    largest_paired_se: float | None = None


def totals_difference(first: SplitRate, second: SplitRate) -> TotalsDifference:
    """First minus second, refused across splits. Fewest and most flips that fit both totals bound the paired error.

    >>> totals_difference(SplitRate("a", 66, 128), SplitRate("b", 224, 413)).reason
    'different_splits'
    """
    if first.split != second.split or first.n != second.n or not first.n:
        return TotalsDifference(first, second, None, DIFFERENT_SPLITS)
    n, shift = first.n, first.passes - second.passes
    unpaired = math.sqrt(sum((Fraction(one.passes * (n - one.passes), n**3) for one in (first, second)), Fraction(0)))
    most_flips = min(first.passes + second.passes, 2 * n - first.passes - second.passes)
    smallest, largest = (math.sqrt(Fraction(flips * n - shift * shift, n**3)) for flips in (abs(shift), most_flips))
    return TotalsDifference(first, second, Fraction(shift, n), PAIRING_NEEDS_ITEMS, unpaired, smallest, largest)


def complement(whole: SplitRate, part: SplitRate, split: str) -> SplitRate:
    """The items of a split that a part of it leaves out, by subtracting counts (never rates).

    The caller vouches that ``part`` is a subset of ``whole``. Raises RoundError (``not_a_part``) where the counts forbid it.
    """
    passes, n = whole.passes - part.passes, whole.n - part.n
    if not 0 <= passes <= n:
        raise RoundError(
            "not_a_part", expected=f"at most {whole.passes} passes of {whole.n}", got=f"{part.passes} of {part.n}",
            remedy="subtract only a subset of the same items", where=Where(field="part"),
        )
    return SplitRate(split, passes, n)


@dataclass(frozen=True, slots=True)
class Measured(Result):
    """What one figure was measured on. Digests and names; None where it is not stated (and then nothing can be compared
    by it unless both sides leave it out).

    ``graded``: items that got a verdict, over items asked.
    """

    split: str | None
    items: str | None
    prompts: str | None
    graded: Ratio
    test_version: str | None = None


@dataclass(frozen=True, slots=True)
class Mismatch(Result):
    """One reason why two figures may not be subtracted."""

    code: str
    text: str


def mismatches(first: Measured, second: Measured, *, names: tuple[str, str] = ("baseline", "candidate")) -> tuple[Mismatch, ...]:
    """Every reason why the two may not be compared; empty where they may."""
    one, other = names
    found = [
        Mismatch(code, f"{words}: {_named(a)} for {one}, {_named(b)} for {other}")
        for code, words, a, b in (
            ("different_splits", "different splits", first.split, second.split),
            ("different_items", "different sets of items", first.items, second.items),
            ("different_prompts", "different prompts", first.prompts, second.prompts),
            ("different_test_version", "different test versions", first.test_version, second.test_version),
        ) if a != b
    ]
    if first.graded.value != second.graded.value:
        found.append(Mismatch(
            "different_graded_share", f"different shares graded: {fraction_text(first.graded)} for {one}, {fraction_text(second.graded)} for {other}",
        ))
    return tuple(found)


def _named(value: str | None) -> str:
    return "not stated" if value is None else value


def not_comparable(reasons: Sequence[Mismatch]) -> str:
    """The sentence that stands in place of a difference."""
    return f"not comparable: {'; '.join(reason.text for reason in reasons)}"
