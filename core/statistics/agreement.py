"""Agreement of a rubric judge with a deterministic verifier, as exact ratios.

tp: judge approved, verifier passed; fp: approved, failed; fn: not approved, passed; tn: not approved, failed.
"""
from __future__ import annotations

from dataclasses import dataclass

from core.statistics.inputs import counts_of
from core.statistics.ratio import Ratio, counted_ratio

NO_RECORDS = "no calibration records"
ONE_CLASS = "one class: judge and verifier say the same single thing about every case"
NO_FAILURES = "the verifier failed nothing"
NO_APPROVALS = "the judge approved nothing"
NO_PASSES = "the verifier passed nothing"
NO_REJECTIONS = "the judge rejected nothing"
NO_POSITIVES = "nothing was approved and nothing passed"
ONE_VERIFIER_CLASS = "the verifier says the same about every case"


@dataclass(frozen=True, slots=True)
class Confusion:
    """A 2x2 table of counts, all integers >= 0. Raises RoundError (``invalid_count``) for anything else."""

    tp: int
    fp: int
    fn: int
    tn: int

    def __post_init__(self) -> None:
        counts_of(tp=self.tp, fp=self.fp, fn=self.fn, tn=self.tn)

    @property
    def n(self) -> int:
        return self.tp + self.fp + self.fn + self.tn

    @property
    def cells(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Rows: judge approved, rejected; columns: verifier passed, failed."""
        return (self.tp, self.fp), (self.fn, self.tn)


def cohen_kappa(table: Confusion) -> Ratio:
    """Cohen's kappa of two raters over two classes, exact.

    kappa = (po - pe) / (1 - pe) = 2 (tp tn - fp fn) / ((tp+fp)(fp+tn) + (tp+fn)(fn+tn)), with po the observed and pe
    the chance agreement of the margins. 1 is full agreement, 0 what the margins alone would give, negative worse.
    Undefined when all cases lie in one agreeing cell (pe = 1). One class on one side only gives 0.

    Source: Cohen 1960, Educational and Psychological Measurement 20:37-46.

    >>> cohen_kappa(Confusion(tp=4, fp=0, fn=1, tn=3)).value
    Fraction(3, 4)
    """
    numerator = 2 * (table.tp * table.tn - table.fp * table.fn)
    denominator = (table.tp + table.fp) * (table.fp + table.tn) + (table.tp + table.fn) * (table.fn + table.tn)
    return counted_ratio(numerator, denominator, undefined=ONE_CLASS if table.n else NO_RECORDS)


def exact_agreement(table: Confusion) -> Ratio:
    """Share of cases where judge and verifier say the same: (tp + tn) / n. Undefined without records."""
    return counted_ratio(table.tp + table.tn, table.n, undefined=NO_RECORDS)


def false_positive_rate(table: Confusion) -> Ratio:
    """False-positive approvals over verifier failures: fp / (fp + tn). Undefined when the verifier failed nothing."""
    return counted_ratio(table.fp, table.fp + table.tn, undefined=NO_FAILURES if table.n else NO_RECORDS)


def false_discovery_rate(table: Confusion) -> Ratio:
    """False-positive approvals over approvals: fp / (tp + fp). Undefined when the judge approved nothing."""
    return counted_ratio(table.fp, table.tp + table.fp, undefined=NO_APPROVALS if table.n else NO_RECORDS)


def prevalence(table: Confusion) -> Ratio:
    """Share of cases that the verifier passes: (tp + fn) / n. Undefined without records."""
    return counted_ratio(table.tp + table.fn, table.n, undefined=NO_RECORDS)


def false_negative_rate(table: Confusion) -> Ratio:
    """Rejections of answers that pass: fn / (tp + fn). Undefined when the verifier passed nothing."""
    return counted_ratio(table.fn, table.tp + table.fn, undefined=NO_PASSES if table.n else NO_RECORDS)


def recall(table: Confusion) -> Ratio:
    """Approvals of answers that pass (sensitivity): tp / (tp + fn). Undefined when the verifier passed nothing."""
    return counted_ratio(table.tp, table.tp + table.fn, undefined=NO_PASSES if table.n else NO_RECORDS)


def specificity(table: Confusion) -> Ratio:
    """Rejections of answers that fail: tn / (fp + tn). Undefined when the verifier failed nothing."""
    return counted_ratio(table.tn, table.fp + table.tn, undefined=NO_FAILURES if table.n else NO_RECORDS)


def precision(table: Confusion) -> Ratio:
    """Approvals that pass: tp / (tp + fp). Undefined when the judge approved nothing."""
    return counted_ratio(table.tp, table.tp + table.fp, undefined=NO_APPROVALS if table.n else NO_RECORDS)


def negative_predictive_value(table: Confusion) -> Ratio:
    """Rejections that fail: tn / (fn + tn). Undefined when the judge rejected nothing."""
    return counted_ratio(table.tn, table.fn + table.tn, undefined=NO_REJECTIONS if table.n else NO_RECORDS)


def f1_score(table: Confusion) -> Ratio:
    """Harmonic mean of precision and recall: 2 tp / (2 tp + fp + fn). Undefined when nothing was approved and nothing passed."""
    return counted_ratio(2 * table.tp, 2 * table.tp + table.fp + table.fn, undefined=NO_POSITIVES if table.n else NO_RECORDS)


def balanced_accuracy(table: Confusion) -> Ratio:
    """Mean of recall and specificity. Undefined when the verifier knows one class only."""
    passed, failed = table.tp + table.fn, table.fp + table.tn
    return counted_ratio(
        table.tp * failed + table.tn * passed, 2 * passed * failed, undefined=ONE_VERIFIER_CLASS if table.n else NO_RECORDS,
    )


def false_positives_over_all(table: Confusion) -> Ratio:
    """False-positive approvals over all cases: fp / n. Small wherever failures are rare, so never a substitute for fp / (fp + tn)."""
    return counted_ratio(table.fp, table.n, undefined=NO_RECORDS)
