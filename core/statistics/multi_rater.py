"""Agreement of several raters, exact: Fleiss' kappa (as many ratings for each item) and Krippendorff's alpha (any number)."""
from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core.errors import RoundError
from core.statistics.inputs import Score, equal_lengths, exact_score
from core.statistics.result import Figure, Result

NO_VARIATION = "every rating is the same"
ONE_CATEGORY = "one class: every rating lies in one category"
Metric = Literal["nominal", "ordinal", "interval", "ratio"]
Rating = Hashable | None


@dataclass(frozen=True, slots=True)
class MultiRaterAgreement(Result):
    """``items`` that count, with ``ratings`` among them; ``left_out`` items have fewer than two ratings."""

    value: Figure
    items: int
    ratings: int
    raters: int | None
    left_out: int
    method: str


def _refuse(code: str, expected: str, got: str, remedy: str) -> RoundError:
    return RoundError(code, expected=expected, got=got, remedy=remedy)


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> MultiRaterAgreement:
    """Fleiss' kappa. ``counts``: one row an item, one column a category, entry = raters who chose it.

    kappa = (P - Pe) / (1 - Pe), P the mean share of agreeing pairs within an item, Pe the sum of squared category shares.
    Undefined when all ratings lie in one category. Raises RoundError: ``unequal_rater_count``, ``needs_two_raters``,
    ``empty_calibration_set``. Source: Fleiss 1971, Psychol. Bull. 76:378-382.

    >>> fleiss_kappa([[3, 0], [2, 1], [0, 3], [1, 2], [3, 0], [0, 3]]).value.value
    Fraction(5, 9)
    """
    table = np.asarray(counts, dtype=np.int64)
    if table.size == 0:
        raise _refuse("empty_calibration_set", "at least one rated item", "none", "supply ratings")
    per_item = table.sum(axis=1)
    raters, items = int(per_item[0]), len(table)
    if (per_item != raters).any() or (table < 0).any():
        found = f"{per_item.min()} to {per_item.max()} ratings, or a count below 0"
        raise _refuse("unequal_rater_count", f"{raters} ratings for every item", found, "use Krippendorff's alpha")
    if raters < 2:
        raise _refuse("needs_two_raters", "at least two ratings an item", str(raters), "have the items rated again")
    ratings = items * raters
    agreeing, squares = int((table * (table - 1)).sum()), sum(total**2 for total in table.sum(axis=0).tolist())
    # P = agreeing / (items raters (raters - 1)), Pe = squares / ratings^2
    observed, chance = Fraction(agreeing, ratings * (raters - 1)), Fraction(squares, ratings**2)
    value = Figure(None, ONE_CATEGORY) if chance == 1 else Figure((observed - chance) / (1 - chance))
    return MultiRaterAgreement(value, items, ratings, raters, 0, "Fleiss' kappa")


def category_counts(raters_by_units: Sequence[Sequence[Rating]]) -> tuple[tuple[Hashable, ...], NDArray[np.int64]]:
    """Distinct labels and the table units x labels of how often each was given. None = not rated. One row a rater.

    Raises RoundError ``lengths_differ`` when raters have different numbers of units.
    """
    equal_lengths(**{f"rater {i + 1}": len(row) for i, row in enumerate(raters_by_units)})
    given = {rating for row in raters_by_units for rating in row if rating is not None}
    labels = tuple(sorted(given, key=_order))
    place = {label: i for i, label in enumerate(labels)}
    table = np.zeros((len(raters_by_units[0]), len(labels)), dtype=np.int64)
    for row in raters_by_units:
        rated = [(unit, place[rating]) for unit, rating in enumerate(row) if rating is not None]
        if rated:
            np.add.at(table, tuple(np.array(rated).T), 1)
    return labels, table


def _order(label: Hashable) -> tuple[bool, Fraction, str]:
    """Numbers in their order, then other labels by their text."""
    if isinstance(label, (int, float, Fraction)) and not isinstance(label, bool):
        return False, exact_score(label), ""
    return True, Fraction(0), str(label)


def krippendorff_alpha(raters_by_units: Sequence[Sequence[Rating]], metric: Metric = "nominal") -> MultiRaterAgreement:
    """Krippendorff's alpha, 1 - Do/De: 1 is full agreement, 0 chance, negative worse than chance.

    ``raters_by_units``: one row a rater, one column a unit, None = not rated. Units with fewer than two ratings are left
    out. Labels of the ordinal, interval and ratio metrics are numbers; those of ``ratio`` are >= 0.
    Undefined when every rating is the same. Raises RoundError: ``no_pairable_unit``, ``lengths_differ``,
    ``non_finite_score``, ``negative_ratio_score``. Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability.

    >>> krippendorff_alpha([[1, 0, 1, None, 1], [1, 0, None, 0, 1], [None, 1, 1, 0, 1]]).value.value
    Fraction(21, 32)
    """
    labels, table = category_counts(raters_by_units) if raters_by_units else ((), np.zeros((0, 0), dtype=np.int64))
    per_unit = table.sum(axis=1)
    kept = table[per_unit >= 2]
    if not len(kept):
        raise _refuse("no_pairable_unit", "a unit that two raters judged", "none", "have the same cases rated by several raters")
    coincidences, totals = _coincidences(kept), kept.sum(axis=0).tolist()
    distance = _distances(labels, totals, metric)
    size, n = range(len(labels)), sum(totals)
    observed = sum((coincidences[i][j] * distance[i][j] for i in size for j in size), Fraction(0))
    expected = sum((totals[i] * totals[j] * distance[i][j] for i in size for j in size), Fraction(0))
    value = Figure(None, NO_VARIATION) if expected == 0 else Figure(1 - (n - 1) * observed / expected)
    return MultiRaterAgreement(value, len(kept), n, len(raters_by_units), len(table) - len(kept), f"Krippendorff's alpha, {metric}")


def _coincidences(kept: NDArray[np.int64]) -> list[list[Fraction]]:
    """Ordered pairs of ratings within units, each unit weighted by 1 / (its ratings - 1): sum over units of one size at a time."""
    size = kept.shape[1]
    total = [[Fraction(0)] * size for _ in range(size)]
    per_unit = kept.sum(axis=1)
    for ratings in np.unique(per_unit).tolist():
        group = kept[per_unit == ratings]
        pairs = group.T @ group - np.diag(group.sum(axis=0))
        for i, row in enumerate(pairs.tolist()):
            for j, count in enumerate(row):
                total[i][j] += Fraction(count, ratings - 1)
    return total


def _distances(labels: Sequence[Hashable], totals: Sequence[int], metric: Metric) -> list[list[Fraction]]:
    """Squared distances between labels: 0 or 1 (nominal), rank steps (ordinal), difference (interval), relative (ratio)."""
    size = range(len(labels))
    if metric == "nominal":
        return [[Fraction(i != j) for j in size] for i in size]
    values = [exact_score(_number(label)) for label in labels]
    if metric == "ordinal":
        return [[_rank_step(totals, min(i, j), max(i, j)) ** 2 for j in size] for i in size]
    if metric == "interval":
        return [[(values[i] - values[j]) ** 2 for j in size] for i in size]
    if min(values) < 0:
        raise _refuse("negative_ratio_score", "ratings of at least 0", str(min(values)), "use the interval metric")
    return [[((values[i] - values[j]) / (values[i] + values[j])) ** 2 if i != j else Fraction(0) for j in size] for i in size]


def _number(label: Hashable) -> Score:
    if isinstance(label, (int, float, Fraction, str)):
        return label
    raise _refuse("non_finite_score", "numbers as labels", repr(label), "use the nominal metric")


def _rank_step(totals: Sequence[int], low: int, high: int) -> Fraction:
    """Ratings from one label to another, the two ends counted half."""
    return Fraction(2 * sum(totals[low:high + 1]) - totals[low] - totals[high], 2) if low != high else Fraction(0)
