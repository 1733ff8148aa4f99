"""Agreement over several classes: two raters (or a judge and a truth) who choose one of k labels, exact.

For k = 2 kappa equals :func:`core.statistics.agreement.cohen_kappa`.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from core.errors import RoundError
from core.statistics.agreement import NO_RECORDS, ONE_CLASS
from core.statistics.inputs import counts_of, equal_lengths
from core.statistics.ratio import Ratio, counted_ratio
from core.statistics.result import Figure, Result

NEVER_CHOSEN, NEVER_TRUE, NEITHER = "the judge never chose it", "it never is the truth", "it never occurs"


@dataclass(frozen=True, slots=True)
class ClassTable(Result):
    """Counts over k labels: ``cells[i][j]`` cases with label i of the first rater and label j of the second."""

    labels: tuple[Hashable, ...]
    cells: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        for row in self.cells:
            counts_of(**{str(label): count for label, count in zip(self.labels, row, strict=True)})

    @property
    def n(self) -> int:
        return sum(map(sum, self.cells))


def class_table(first: Sequence[Hashable], second: Sequence[Hashable], labels: Sequence[Hashable] | None = None) -> ClassTable:
    """Count two label columns of equal length. ``labels`` fixes the order; otherwise by their text.

    Raises RoundError: ``lengths_differ``, ``missing_label`` (None), ``unknown_label`` (not among ``labels``).
    """
    equal_lengths(first=len(first), second=len(second))
    counted = Counter(zip(first, second, strict=True))
    seen = {label for pair in counted for label in pair}
    if None in seen:
        raise RoundError("missing_label", expected="a label for every case", got="none", remedy="leave out cases without a label, and say how many")
    order = tuple(sorted(seen, key=str)) if labels is None else tuple(labels)
    if strangers := seen - set(order):
        raise RoundError(
            "unknown_label", expected=", ".join(map(str, order)), got=", ".join(sorted(map(str, strangers))), remedy="map every label to a known one",
        )
    return ClassTable(order, tuple(tuple(counted[one, other] for other in order) for one in order))


def _margins(table: ClassTable) -> tuple[list[int], list[int]]:
    return [sum(row) for row in table.cells], [sum(column) for column in zip(*table.cells, strict=True)]


def _diagonal(table: ClassTable) -> list[int]:
    return [row[i] for i, row in enumerate(table.cells)]


def class_agreement(table: ClassTable) -> Ratio:
    """Share of cases with the same label (accuracy, where the second rater is the truth). Undefined without records."""
    return counted_ratio(sum(_diagonal(table)), table.n, undefined=NO_RECORDS)


def class_kappa(table: ClassTable) -> Ratio:
    """Cohen's kappa over k classes: (n sum(n_ii) - sum(r_i c_i)) / (n^2 - sum(r_i c_i)) with r and c the margins.

    Undefined when all cases lie in one agreeing cell. Source: Cohen 1960, Educ. Psychol. Meas. 20:37-46.

    >>> class_kappa(class_table("aabbc", "aabcc")).value      # (5*4 - (2*2+2*1+1*2)) / (25 - 8) = 12/17
    Fraction(12, 17)
    """
    rows, columns = _margins(table)
    chance = sum(row * column for row, column in zip(rows, columns, strict=True))
    return counted_ratio(table.n * sum(_diagonal(table)) - chance, table.n**2 - chance, undefined=ONE_CLASS if table.n else NO_RECORDS)


@dataclass(frozen=True, slots=True)
class ClassScore(Result):
    """One label against the truth (second rater)."""

    label: Hashable
    precision: Ratio
    recall: Ratio
    f1: Ratio


def class_scores(table: ClassTable) -> tuple[ClassScore, ...]:
    """Precision, recall and F1 of each label; the second rater is the truth."""
    rows, columns = _margins(table)
    return tuple(
        ClassScore(
            label, counted_ratio(hit, chosen, undefined=NEVER_CHOSEN), counted_ratio(hit, true, undefined=NEVER_TRUE),
            counted_ratio(2 * hit, chosen + true, undefined=NEITHER),
        )
        for label, hit, chosen, true in zip(table.labels, _diagonal(table), rows, columns, strict=True)
    )


@dataclass(frozen=True, slots=True)
class MacroScores(Result):
    """Unweighted means over the labels; undefined when they are for one label (some libraries count that label as 0)."""

    precision: Figure
    recall: Figure
    f1: Figure


def macro_scores(table: ClassTable) -> MacroScores:
    """Mean precision, recall and F1 over the labels, exact."""
    scores = class_scores(table)
    return MacroScores(*(_mean([getattr(score, name) for score in scores], table.labels) for name in ("precision", "recall", "f1")))


def _mean(ratios: Sequence[Ratio], labels: Sequence[Hashable]) -> Figure:
    for ratio, label in zip(ratios, labels, strict=True):
        if ratio.undefined is not None:
            return Figure(None, f"{label}: {ratio.undefined}")
    values = [Fraction(ratio.numerator, ratio.denominator) for ratio in ratios]
    return Figure(sum(values, Fraction(0)) / len(values)) if values else Figure(None, NO_RECORDS)
