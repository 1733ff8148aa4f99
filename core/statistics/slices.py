"""The paired comparison slice by slice, with p-values adjusted for how many slices were looked at."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.statistics.arms import flip_table
from core.statistics.inputs import Level, equal_lengths, level_of
from core.statistics.multiple import ADJUSTMENTS, Adjustment, adjusted_p_values
from core.statistics.paired import FlipTable, Test, paired_test
from core.statistics.probability import Probability
from core.statistics.result import Interval, Result
from core.statistics.verdict import Standing, flip_evidence, standing_of


@dataclass(frozen=True, slots=True)
class SliceRow(Result):
    """One slice. ``adjusted``: the p-value under each adjustment over all slices; ``standing`` uses the one chosen.

    ``can_reach``: whether any result on so few items could reach alpha, before adjustment. ``name`` is None for items
    that belong to no slice.
    """

    name: str | None
    table: FlipTable
    p: Probability
    interval: Interval
    adjusted: Mapping[Adjustment, Fraction]
    can_reach: bool
    standing: Standing


@dataclass(frozen=True, slots=True)
class SliceTable(Result):
    """Slices in name order (items without one last). The tables add up to the whole comparison."""

    rows: tuple[SliceRow, ...]
    alpha: Fraction
    test: Test
    adjustment: Adjustment


def flip_tables(before: NDArray[Any], after: NDArray[Any], slices: Sequence[str | None]) -> dict[str | None, FlipTable]:
    """A table of flips for each slice; ``before``, ``after``: boolean outcomes of the same items."""
    equal_lengths(baseline=len(before), candidate=len(after), slices=len(slices))
    places: dict[str | None, list[int]] = {}
    for place, name in enumerate(slices):
        places.setdefault(name, []).append(place)
    named = sorted((name for name in places if name is not None), key=str)
    ordered: list[str | None] = [*named, *([None] if None in places else [])]
    return {name: flip_table(before[np.array(places[name])], after[np.array(places[name])]) for name in ordered}


def slice_table(
    tables: Mapping[str | None, FlipTable], *, alpha: Level, confidence: Level, test: Test = "exact", adjustment: Adjustment = "holm",
) -> SliceTable:
    """Every slice with its interval, raw and adjusted p-values and verdict word. Raises GridError for levels outside 0 to 1."""
    level = level_of(alpha, name="alpha")
    p_values = [paired_test(table).of(test) for table in tables.values()]
    adjusted = {name: adjusted_p_values([p.fraction for p in p_values], name) for name in ADJUSTMENTS}
    rows = []
    for place, (name, table) in enumerate(tables.items()):
        own: dict[Adjustment, Fraction] = {method: values[place] for method, values in adjusted.items()}
        evidence = flip_evidence(table, confidence, test)
        standing = standing_of(replace(evidence, p=Probability(float(own[adjustment]), own[adjustment])), level)
        rows.append(SliceRow(name, table, evidence.p, evidence.interval, own, evidence.smallest.at_most(level), standing))
    return SliceTable(tuple(rows), level, test, adjustment)
