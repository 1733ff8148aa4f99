"""What stands beside kappa: how far prevalence and bias move it, and the statistics that correct for chance otherwise.

The gate reads kappa. PABAK, AC1 and MCC are shown beside it and never take its place because they look better.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from core.settings import SETTINGS
from core.statistics.agreement import NO_RECORDS, ONE_CLASS, Confusion, cohen_kappa, exact_agreement
from core.statistics.ratio import Ratio, counted_ratio, decimal_text, percent_text
from core.statistics.result import Result

EMPTY_MARGIN = "judge or verifier says the same about every case"
_DECIMALS: int = SETTINGS["statistics"]["decimals"]
_HARDLY: Fraction = Fraction(SETTINGS["statistics"]["paradox_gap"])
"""Kappa and PABAK this close are not called different in words."""


def expected_agreement(table: Confusion) -> Ratio:
    """Agreement that the margins alone would give: ((tp+fp)(tp+fn) + (fn+tn)(fp+tn)) / n^2. Undefined without records."""
    return counted_ratio(_margin_products(table), table.n * table.n, undefined=NO_RECORDS)


def _margin_products(table: Confusion) -> int:
    return (table.tp + table.fp) * (table.tp + table.fn) + (table.fn + table.tn) * (table.fp + table.tn)


def kappa_max(table: Confusion) -> Ratio:
    """The largest kappa that these margins allow: agreement at most min(tp+fp, tp+fn) + min(fn+tn, fp+tn) cases.

    Undefined when chance agreement is 1.
    """
    most = min(table.tp + table.fp, table.tp + table.fn) + min(table.fn + table.tn, table.fp + table.tn)
    chance = _margin_products(table)
    return counted_ratio(most * table.n - chance, table.n * table.n - chance, undefined=ONE_CLASS if table.n else NO_RECORDS)


def pabak(table: Confusion) -> Ratio:
    """Prevalence- and bias-adjusted kappa, 2 po - 1: kappa if both classes were equally common on both sides.

    Undefined without records. Source: Byrt, Bishop & Carlin 1993, J. Clin. Epidemiol. 46:423-429.

    >>> pabak(Confusion(tp=4, fp=0, fn=1, tn=3)).value
    Fraction(3, 4)
    """
    return counted_ratio(2 * (table.tp + table.tn) - table.n, table.n, undefined=NO_RECORDS)


def gwet_ac1(table: Confusion) -> Ratio:
    """Gwet's AC1, (po - e) / (1 - e) with e = 2 q (1 - q) and q = (2 tp + fp + fn) / 2n, the mean share of "pass".

    Defined wherever there are records, since e is at most 1/2. Source: Gwet 2008, Br. J. Math. Stat. Psychol. 61:29-48.

    >>> gwet_ac1(Confusion(tp=4, fp=0, fn=1, tn=3)).value
    Fraction(49, 65)
    """
    verdicts, passes = 2 * table.n, 2 * table.tp + table.fp + table.fn
    chance = 2 * passes * (verdicts - passes)                       # e times verdicts^2
    return counted_ratio(2 * (table.tp + table.tn) * verdicts - chance, verdicts**2 - chance, undefined=NO_RECORDS)


def prevalence_index(table: Confusion) -> Ratio:
    """(tp - tn) / n: how unequal the classes are, from -1 (all fail) to 1 (all pass). Undefined without records."""
    return counted_ratio(table.tp - table.tn, table.n, undefined=NO_RECORDS)


def bias_index(table: Confusion) -> Ratio:
    """(fp - fn) / n: how much more the judge approves than the verifier passes, from -1 to 1. Undefined without records."""
    return counted_ratio(table.fp - table.fn, table.n, undefined=NO_RECORDS)


@dataclass(frozen=True, slots=True)
class RootRatio(Result):
    """``numerator / sqrt(radicand)``; ``undefined`` says why there is no value (radicand 0)."""

    numerator: int
    radicand: int
    undefined: str | None = None

    @property
    def value(self) -> float | None:
        """The nearest double or its neighbour, or None where it is undefined."""
        if self.undefined is not None:
            return None
        # squared as a rational first: the product of four margins may be beyond 2^53
        return math.copysign(math.sqrt(Fraction(self.numerator**2, self.radicand)), self.numerator)

    def as_dict(self) -> dict[str, object]:
        """JSON members, with the value."""
        return {**Result.as_dict(self), "value": self.value}


def matthews_correlation(table: Confusion) -> RootRatio:
    """Matthews' correlation: (tp tn - fp fn) / sqrt((tp+fp)(tp+fn)(fn+tn)(fp+tn)), from -1 to 1.

    Undefined when a margin is 0 (some libraries say 0 there). Source: Matthews 1975, BBA 405:442-451.

    >>> matthews_correlation(Confusion(tp=1, fp=3, fn=1, tn=1)).value
    -0.25
    """
    margins = (table.tp + table.fp) * (table.tp + table.fn) * (table.fn + table.tn) * (table.fp + table.tn)
    undefined = None if margins else EMPTY_MARGIN if table.n else NO_RECORDS
    return RootRatio(table.tp * table.tn - table.fp * table.fn, margins, undefined)


@dataclass(frozen=True, slots=True)
class ChanceCorrected(Result):
    """Kappa and what belongs beside it, of one table. ``paradox`` is one sentence."""

    table: Confusion
    kappa: Ratio
    kappa_max: Ratio
    agreement: Ratio
    expected_agreement: Ratio
    prevalence_index: Ratio
    bias_index: Ratio
    pabak: Ratio
    ac1: Ratio
    mcc: RootRatio
    paradox: str


def chance_corrected(table: Confusion) -> ChanceCorrected:
    """All chance-corrected figures of one judge against the verifier."""
    return ChanceCorrected(
        table, cohen_kappa(table), kappa_max(table), exact_agreement(table), expected_agreement(table), prevalence_index(table), bias_index(table),
        pabak(table), gwet_ac1(table), matthews_correlation(table), paradox_sentence(table),
    )


def paradox_sentence(table: Confusion) -> str:
    """Why kappa and agreement differ here, as one sentence; where they hardly do, that.

    It rests on kappa = (PABAK - PI^2 + BI^2) / (1 - PI^2 + BI^2) (Byrt 1993), exact: prevalence pulls kappa below PABAK,
    bias lifts it. Source of the paradox: Feinstein & Cicchetti 1990, J. Clin. Epidemiol. 43:543-549.
    """
    kappa, agreement, adjusted, ac1 = cohen_kappa(table).value, exact_agreement(table).value, pabak(table).value, gwet_ac1(table).value
    if kappa is None or agreement is None or adjusted is None or ac1 is None or _text(kappa) == _text(adjusted):
        return paradox_sentence_2(table)
    if abs(kappa - adjusted) <= _HARDLY:
        return (
            f"Kappa {_text(kappa)} at agreement {percent_text(agreement)} lies within {_text(_HARDLY)} of what balanced classes would give "
            f"(PABAK {_text(adjusted)}, AC1 {_text(ac1)}): hardly a paradox here."
        )
    return paradox_sentence_2(table)


def paradox_sentence_2(table: Confusion) -> str:
    """The same as decisions of version 2 say it: with *only* and *lifted* for the smallest difference too. Kept, since their
    strength is computed again."""
    kappa, agreement, adjusted, ac1 = cohen_kappa(table).value, exact_agreement(table).value, pabak(table).value, gwet_ac1(table).value
    if agreement is None or adjusted is None or ac1 is None:
        return f"Nothing can be said: {NO_RECORDS}."
    beside = f"PABAK {_text(adjusted)}, AC1 {_text(ac1)}"
    if kappa is None:
        return f"Kappa is undefined although agreement is {percent_text(agreement)}: {ONE_CLASS} ({beside}); the gate stays closed."
    if _text(kappa) == _text(adjusted):
        return f"Kappa {_text(kappa)} at agreement {percent_text(agreement)} is what balanced classes would give ({beside}): no paradox here."
    passes, n = table.tp + table.fn, table.n
    if kappa < adjusted:
        return (
            f"Kappa is only {_text(kappa)} at agreement {percent_text(agreement)} because {passes:,} of {n:,} cases pass "
            f"(prevalence index {_text(Fraction(table.tp - table.tn, n))}), so chance alone would agree on "
            f"{percent_text(Fraction(_margin_products(table), n * n))}; balanced classes would give {beside}, and the gate still reads kappa."
        )
    return (
        f"Kappa {_text(kappa)} at agreement {percent_text(agreement)} is lifted by unequal margins: the judge approves {table.tp + table.fp:,} "
        f"of {n:,}, the verifier passes {passes:,} (bias index {_text(Fraction(table.fp - table.fn, n))}); without that it would be near {beside}."
    )


def _text(value: Fraction) -> str:
    return decimal_text(value, _DECIMALS)
