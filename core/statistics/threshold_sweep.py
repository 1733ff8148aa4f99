"""What a graded judge would do at every threshold: approve where score >= threshold.

One row a distinct score, and one that approves nothing; cases with one score move together. Gates are decided on exact
rationals. A threshold picked on the cases that then open the gate is optimistic: choose on one split, gate on another.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from core.statistics.agreement import ONE_VERIFIER_CLASS, Confusion, cohen_kappa, exact_agreement, false_positive_rate, precision, recall
from core.statistics.inputs import Score
from core.statistics.ratio import Ratio
from core.statistics.reliability import ScoreGroup, exact_sum, score_groups
from core.statistics.result import Figure, Result

OPTIMISTIC = "chosen on these very cases, so it looks better than it is: choose on one split, gate on another"


@dataclass(frozen=True, slots=True)
class GateBounds:
    """The inclusive bounds of the calibration gate, as exact rationals. ``min_agreement`` None: not asked."""

    min_kappa: Fraction
    max_fpr: Fraction
    min_agreement: Fraction | None = None

    def open_for(self, table: Confusion) -> bool:
        """Whether every bound holds; an undefined figure holds no bound."""
        return self.holds(cohen_kappa(table), false_positive_rate(table), exact_agreement(table))

    def holds(self, kappa: Ratio, fpr: Ratio, agreement: Ratio) -> bool:
        """The same for figures that are there already."""
        if kappa.undefined is not None or fpr.undefined is not None or agreement.undefined is not None:
            return False
        floors = _over(kappa, self.min_kappa) >= 0 and (self.min_agreement is None or _over(agreement, self.min_agreement) >= 0)
        return floors and _over(fpr, self.max_fpr) <= 0


def _over(ratio: Ratio, bound: Fraction) -> int:
    """Sign of ratio - bound, times positive denominators: no fraction is reduced, since a sweep asks this for every row."""
    return ratio.numerator * bound.denominator - bound.numerator * ratio.denominator


@dataclass(frozen=True, slots=True)
class SweepRow(Result):
    """The judge at one threshold (None: it approves nothing). ``recall`` and ``fpr`` are the ROC point, ``precision`` the PR one."""

    threshold: Fraction | None
    table: Confusion
    kappa: Ratio
    agreement: Ratio
    recall: Ratio
    fpr: Ratio
    precision: Ratio
    gate_open: bool | None


@dataclass(frozen=True, slots=True)
class ThresholdSweep(Result):
    """Rows from the strictest threshold down.

    ``auc``: probability that a passing case scores above a failing one, ties counted half. ``average_precision``: sum of
    precision times the recall gained. ``chosen``: among open rows most true positives, then the highest threshold.
    """

    n: int
    passed: int
    failed: int
    rows: tuple[SweepRow, ...]
    auc: Ratio
    average_precision: Figure
    chosen: Fraction | None
    note: str


def threshold_sweep(scores: Sequence[Score], passed: Sequence[bool], bounds: GateBounds | None = None) -> ThresholdSweep:
    """Sweep all thresholds; ``bounds`` adds whether the gate would be open.

    Scores may lie on any scale. Raises RoundError: ``empty_calibration_set``, ``lengths_differ``, ``non_finite_score``.
    Source of the AUC: Hanley & McNeil 1982, Radiology 143:29-36.

    >>> threshold_sweep([1, 2, 3, 4], [False, False, True, True], GateBounds(Fraction(3, 4), Fraction(1, 20))).chosen
    Fraction(3, 1)
    """
    groups = score_groups(scores, passed)[::-1]
    passes, n = sum(group.passed for group in groups), len(scores)
    rows, tp, fp = [_row(None, Confusion(0, 0, passes, n - passes), bounds)], 0, 0
    for group in groups:
        tp, fp = tp + group.passed, fp + group.count - group.passed
        rows.append(_row(group.score, Confusion(tp, fp, passes - tp, n - passes - fp), bounds))
    opened = [row for row in rows if row.gate_open and row.threshold is not None]
    chosen = max(opened, key=lambda row: (row.table.tp, row.threshold), default=None)
    return ThresholdSweep(
        n, passes, n - passes, tuple(rows), _auc(groups, passes, n - passes), _average_precision(rows, passes, n - passes),
        None if chosen is None else chosen.threshold, OPTIMISTIC,
    )


def _row(threshold: Fraction | None, table: Confusion, bounds: GateBounds | None) -> SweepRow:
    kappa, agreement, fpr = cohen_kappa(table), exact_agreement(table), false_positive_rate(table)
    opened = None if bounds is None else bounds.holds(kappa, fpr, agreement)
    return SweepRow(threshold, table, kappa, agreement, recall(table), fpr, precision(table), opened)


def _auc(groups: Sequence[ScoreGroup], passes: int, fails: int) -> Ratio:
    """Mann-Whitney count over pairs, doubled so that a tie of one half is an integer. ``groups``: highest score first."""
    doubled, above = 0, 0
    for group in groups:
        failed = group.count - group.passed
        doubled += failed * (2 * above + group.passed)
        above += group.passed
    return Ratio(doubled, 2 * passes * fails, None if passes and fails else ONE_VERIFIER_CLASS)


def _average_precision(rows: Sequence[SweepRow], passes: int, fails: int) -> Figure:
    if not passes or not fails:
        return Figure(None, ONE_VERIFIER_CLASS)
    gained = (
        Fraction((row.table.tp - before.table.tp) * row.table.tp, row.table.tp + row.table.fp)
        for before, row in pairwise(rows) if row.table.tp > before.table.tp
    )
    return Figure(exact_sum(gained) / passes)
