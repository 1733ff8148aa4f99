"""Outcomes of one arm with several runs, kept nested: item, then run. Runs never become extra items.

Arrays in, counts out: 10,000 items with four runs take milliseconds.
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.errors import RoundError
from core.statistics.inputs import equal_lengths
from core.statistics.lattice import Lattice, lattice_of_counts
from core.statistics.paired import FlipTable

Reducer = Literal["majority", "all", "any"]


@dataclass(frozen=True, slots=True, eq=False)
class ArmRuns:
    """One row an outcome: ``item`` from 0 to ``items`` - 1, ``run`` (any integers), ``passed``.

    Raises RoundError: ``lengths_differ``, ``unknown_item``, ``duplicate_outcome`` (two outcomes of one item and run).
    """

    items: int
    item: NDArray[np.int64]
    run: NDArray[np.int64]
    passed: NDArray[np.bool_]

    def __post_init__(self) -> None:
        rows = equal_lengths(item=len(self.item), run=len(self.run), passed=len(self.passed))
        if rows and (int(self.item.min()) < 0 or int(self.item.max()) >= self.items):
            raise RoundError("unknown_item", expected=f"items 0 to {self.items - 1}", got="another", remedy="number the items of the holdout")
        numbers, place = np.unique(self.run, return_inverse=True)
        if len(np.unique(self.item * len(numbers) + place)) < rows:
            raise RoundError("duplicate_outcome", expected="one outcome for each item and run", got="two of one", remedy="number the runs")

    @property
    def passes(self) -> NDArray[np.int64]:
        """Passed runs of each item."""
        return np.bincount(self.item[self.passed], minlength=self.items)

    @property
    def runs(self) -> NDArray[np.int64]:
        """Runs of each item; 0 where the arm lacks it."""
        return np.bincount(self.item, minlength=self.items)

    @property
    def absent(self) -> NDArray[np.int64]:
        """Items without any outcome of this arm."""
        return np.flatnonzero(self.runs == 0)

    def rates(self) -> Lattice:
        """Pass rate of each item over its runs; an absent item counts as failed."""
        return lattice_of_counts(self.passes, np.maximum(self.runs, 1))

    def reduced(self, reducer: Reducer, *, tie: bool) -> NDArray[Any]:
        """One outcome an item. ``tie``: what an even split is under ``majority``; an absent item counts as failed."""
        passes, runs = self.passes, self.runs
        if reducer == "all":
            return np.asarray((passes == runs) & (runs > 0))
        if reducer == "any":
            return np.asarray(passes > 0)
        failed = runs - passes
        return np.asarray((passes > failed) | ((passes == failed) & (runs > 0) & tie))

    def without_copies(self) -> ArmRuns:
        """The arm with a set of runs that only repeats itself counted once.

        Running everything again with a fixed seed gives the same outcomes and no information. Where each distinct run (its
        outcomes over all items) appears the same multiple of times, that multiple is taken out.
        """
        numbers, place = np.unique(self.run, return_inverse=True)
        if len(numbers) < 2 or not len(self.item):
            return self
        # one row a run: 0 not answered, 1 failed, 2 passed
        outcomes = np.zeros((len(numbers), self.items), dtype=np.int8)
        outcomes[place, self.item] = 1 + self.passed
        kinds = [row.tobytes() for row in outcomes]
        copies, seen = Counter(kinds), Counter[bytes]()
        times = math.gcd(*copies.values())
        if times == 1:
            return self
        kept = np.zeros(len(numbers), dtype=np.bool_)
        for row, kind in enumerate(kinds):
            kept[row] = seen[kind] < copies[kind] // times
            seen[kind] += 1
        rows = kept[place]
        return ArmRuns(self.items, self.item[rows], self.run[rows], self.passed[rows])

    def run_means(self) -> list[Fraction] | None:
        """Pass rate of each run over all items, in order of the run numbers; None unless every run covers every item."""
        numbers, place = np.unique(self.run, return_inverse=True)
        if (np.bincount(place, minlength=len(numbers)) != self.items).any():
            return None
        passed = np.bincount(place[self.passed], minlength=len(numbers))
        return [Fraction(int(count), self.items) for count in passed]


def arm_of(outcomes: Sequence[Sequence[bool]]) -> ArmRuns:
    """An arm from a list of runs for each item.

    >>> arm_of([[True, False], [True]]).passes.tolist()
    [1, 1]
    """
    item = np.repeat(np.arange(len(outcomes)), [len(runs) for runs in outcomes])
    run = np.concatenate([np.arange(len(runs)) for runs in outcomes]) if outcomes else np.zeros(0, dtype=np.int64)
    passed = np.array([outcome for runs in outcomes for outcome in runs], dtype=np.bool_)
    return ArmRuns(len(outcomes), item.astype(np.int64), run.astype(np.int64), passed)


def flip_table(before: NDArray[Any], after: NDArray[Any]) -> FlipTable:
    """The 2x2 table of two boolean arrays over the same items. Raises RoundError (``lengths_differ``, ``empty_holdout``)."""
    n = equal_lengths(baseline=len(before), candidate=len(after))
    both, first, second = int((before & after).sum()), int(before.sum()), int(after.sum())
    return FlipTable(both_pass=both, regressions=first - both, fixes=second - both, both_fail=n - first - second + both)
