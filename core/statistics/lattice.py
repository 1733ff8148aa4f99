"""Scores as integers over one denominator, so that sums, ties and comparisons are exact.

Pass rates of a few runs, and scores written with a few decimals, all lie on a fine grid: ``numerators / denominator``.
On it a sum is a sum of integers, two equal sums are equal, and the distribution of a resampled or sign-flipped sum can
be counted instead of drawn.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import RoundError
from core.statistics.inputs import Score, exact_score

_SAFE = 2**62
"""Sums of absolute numerators below this stay in 64-bit integers; beyond it Python's integers are used."""


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """``numerators[i] / denominator``; int64 where every sum of them fits, else Python integers in an object array."""

    numerators: NDArray[Any]
    denominator: int

    @property
    def n(self) -> int:
        return len(self.numerators)

    @property
    def total(self) -> int:
        """Sum of the numerators."""
        return int(self.numerators.sum()) if self.n else 0

    @property
    def mean(self) -> Fraction:
        """The mean, exact. Raises RoundError ``no_values`` without values."""
        if not self.n:
            raise RoundError("no_values", expected="at least one value", got="none", remedy="leave the figure out where nothing was measured")
        return Fraction(self.total, self.n * self.denominator)

    def deviations(self) -> NDArray[Any]:
        """n x_i - S as Python integers: each value's deviation from the mean, times n and the denominator."""
        return self.n * self.numerators.astype(object) - self.total

    def minus(self, other: Lattice) -> Lattice:
        """Differences, value by value."""
        whole = math.lcm(self.denominator, other.denominator)
        return _stored(_scaled(self, whole) - _scaled(other, whole), whole)


def _scaled(values: Lattice, denominator: int) -> NDArray[Any]:
    return values.numerators.astype(object) * (denominator // values.denominator)


def _stored(numerators: NDArray[Any], denominator: int) -> Lattice:
    """Reduced, and in int64 where that is safe."""
    if _fits(numerators):
        numerators = numerators.astype(np.int64)
    common = math.gcd(denominator, *np.unique(numerators).tolist())
    reduced = numerators // common
    return Lattice(reduced.astype(np.int64 if _fits(reduced) else object), denominator // common)


def _fits(numerators: NDArray[Any]) -> bool:
    """Whether any sum of these integers, with signs, fits 64 bits with room to spare."""
    return not len(numerators) or (abs(int(numerators.min())) + abs(int(numerators.max()))) * len(numerators) < _SAFE


def fast_length(points: int) -> int:
    """The power of two at or above a number of points: Fourier transforms of that length are quick."""
    return 1 << (points - 1).bit_length()


def lattice_of(values: Iterable[Score | bool]) -> Lattice:
    """Values as written: integers, booleans (1 and 0), rationals, decimals as text, doubles as their shortest decimal.

    Raises RoundError (``non_finite_score``) for NaN and infinity.

    >>> lattice_of(["0.25", "-0.5"]).denominator
    4
    """
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "bi":
            return _stored(values.astype(np.int64).astype(object), 1)
        distinct, place = np.unique(values, return_inverse=True)
        exact = [exact_score(value) for value in distinct.tolist()]
        return _from_fractions([exact[i] for i in place.tolist()])
    known: dict[tuple[type, object], Fraction] = {}
    fractions = []
    for given in values:
        value = given.item() if isinstance(given, np.generic) else given
        key = (type(value), value)
        if key not in known:
            known[key] = Fraction(int(value)) if isinstance(value, bool) else exact_score(value)
        fractions.append(known[key])
    return _from_fractions(fractions)


def _from_fractions(fractions: Sequence[Fraction]) -> Lattice:
    whole = math.lcm(*{value.denominator for value in fractions})
    numerators = np.array([value.numerator * (whole // value.denominator) for value in fractions], dtype=object)
    return _stored(numerators, whole)


def lattice_of_counts(passes: NDArray[np.int64], runs: NDArray[np.int64]) -> Lattice:
    """The rates passes / runs of many items. Raises RoundError (``invalid_count``) unless 0 <= passes <= runs and runs >= 1."""
    if bool(((passes < 0) | (passes > runs) | (runs < 1)).any()):
        raise RoundError("invalid_count", expected="0 <= passes <= runs and at least one run", got="other counts", remedy="count the runs again")
    whole = math.lcm(*np.unique(runs).tolist())
    return _stored(passes.astype(object) * (whole // runs.astype(object)), whole)
