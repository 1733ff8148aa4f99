"""How sure kappa is: exact variances, the asymptotic interval, and which interval to show.

At perfect agreement (or none) the variance is 0 and a Wald interval would have no width. That is not certainty: the
interval is then *not estimable*, and the exact interval of the agreement rate is what can be said.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from core.statistics.agreement import Confusion, cohen_kappa, exact_agreement
from core.statistics.class_table import ClassTable, class_agreement, class_kappa
from core.statistics.inputs import CONFIDENCE, Level, level_of
from core.statistics.kappa_bootstrap import KappaBootstrap, kappa_bootstrap
from core.statistics.provable import Light
from core.statistics.rate_intervals import RateEstimate, normal_quantile, rate_estimate
from core.statistics.ratio import Ratio, percent_text
from core.statistics.result import Interval, Result, no_interval

WALD = "asymptotic (Fleiss, Cohen & Everitt), clipped to -1 and 1"
NOT_ESTIMABLE = "not estimable: the standard error of these counts is 0"
Cells = Sequence[Sequence[int]]


def kappa_variances(cells: Cells) -> tuple[Fraction, Fraction]:
    """Fleiss-Cohen-Everitt variance of kappa, and the one under kappa = 0, exact.

    With p the shares, r and c their margins, k kappa and pe chance agreement:
    var = (sum_i p_ii [1 - (r_i + c_i)(1 - k)]^2 + (1 - k)^2 sum_{i != j} p_ij (c_i + r_j)^2 - [k - pe (1 - k)]^2) / (n (1 - pe)^2),
    var0 = (pe + pe^2 - sum_i r_i c_i (r_i + c_i)) / (n (1 - pe)^2). Needs pe < 1.
    """
    n, size = sum(map(sum, cells)), range(len(cells))
    p = [[Fraction(count, n) for count in row] for row in cells]
    r, c = [sum(row, Fraction(0)) for row in p], [sum(column, Fraction(0)) for column in zip(*p, strict=True)]
    chance = sum((r[i] * c[i] for i in size), Fraction(0))
    kappa = (sum((p[i][i] for i in size), Fraction(0)) - chance) / (1 - chance)
    agreeing = sum((p[i][i] * (1 - (r[i] + c[i]) * (1 - kappa)) ** 2 for i in size), Fraction(0))
    others = sum((p[i][j] * (c[i] + r[j]) ** 2 for i in size for j in size if i != j), Fraction(0))
    scale = n * (1 - chance) ** 2
    null = chance + chance**2 - sum((r[i] * c[i] * (r[i] + c[i]) for i in size), Fraction(0))
    return (agreeing + (1 - kappa) ** 2 * others - (kappa - chance * (1 - kappa)) ** 2) / scale, null / scale


@dataclass(frozen=True, slots=True)
class KappaEstimate(Result):
    """Kappa with everything that says how sure it is.

    ``interval`` is the one to show: BCa where all resamples were enumerated, else the asymptotic one; not estimable where
    the standard error is 0, and then ``agreement`` (with its exact interval) is what can be said. ``null_*`` is for
    testing kappa = 0 only.
    """

    kappa: Ratio
    n: int
    variance: Fraction | None
    standard_error: float | None
    null_variance: Fraction | None
    null_standard_error: float | None
    wald: Interval
    bootstrap: KappaBootstrap | None
    interval: Interval
    agreement: RateEstimate

    @property
    def text(self) -> str:
        """The interval in words; where it is not estimable, what the agreements alone say."""
        exact = self.agreement.clopper_pearson
        if self.interval.undefined != NOT_ESTIMABLE:
            return self.interval.text
        return (
            f"{NOT_ESTIMABLE}; {self.agreement.rate.numerator:,} agreements in {self.n:,} cases put the agreement rate at "
            f"{exact.percent} ({percent_text(exact.confidence)} confidence)"
        )

    def as_dict(self) -> dict[str, object]:
        """JSON members, with the sentence."""
        return {**Result.as_dict(self), "text": self.text}


def kappa_estimate(table: Confusion | ClassTable, confidence: Level = CONFIDENCE, *, seed: int | None = None) -> KappaEstimate:
    """Kappa of two raters with its standard errors and intervals; the bootstrap for 2x2 tables only.

    ``seed`` is for a sampled bootstrap above n = 200 (see :func:`kappa_bootstrap`); the interval shown there stays the
    asymptotic one, which needs none. Raises GridError for a confidence outside 0 to 1.
    Source of the standard error: Fleiss, Cohen & Everitt 1969, Psychol. Bull. 72:323-327.

    >>> kappa_estimate(Confusion(tp=4, fp=0, fn=1, tn=3)).wald.text
    '0.306 to 1'
    """
    level = level_of(confidence)
    if isinstance(table, Confusion):
        bootstrap: KappaBootstrap | None = kappa_bootstrap(table, level, seed=seed).shown
        kappa, agreement = cohen_kappa(table), rate_estimate(exact_agreement(table), level)
    else:
        bootstrap, kappa, agreement = None, class_kappa(table), rate_estimate(class_agreement(table), level)
    if kappa.value is None:
        nothing = no_interval(level, WALD, str(kappa.undefined))
        return KappaEstimate(kappa, table.n, None, None, None, None, nothing, bootstrap, nothing, agreement)
    variance, null = kappa_variances(table.cells)
    wald = _wald(kappa.value, variance, level)
    shown = wald if variance == 0 or bootstrap is None else _enumerated(bootstrap) or wald
    return KappaEstimate(kappa, table.n, variance, math.sqrt(variance), null, math.sqrt(null), wald, bootstrap, shown, agreement)


def _enumerated(bootstrap: KappaBootstrap) -> Interval | None:
    """The BCa interval, where it exists and drew no random numbers."""
    return bootstrap.bca if bootstrap.bca.undefined is None and bootstrap.seed is None else None


def _wald(kappa: Fraction, variance: Fraction, level: Fraction) -> Interval:
    if variance == 0:
        return no_interval(level, WALD, NOT_ESTIMABLE)
    reach = normal_quantile(level) * math.sqrt(variance)
    return Interval(max(-1.0, float(kappa) - reach), min(1.0, float(kappa) + reach), level, WALD)


@dataclass(frozen=True, slots=True)
class KappaProof(Result):
    """Kappa against its inclusive floor: proven where the lower end of the interval shown reaches it.

    Unlike a rate's, this light rests on an approximate interval, and ``text`` names it; it is never "proves" where the
    interval is not estimable.
    """

    kappa: Ratio
    bound: Fraction
    light: Light
    interval: Interval

    @property
    def text(self) -> str:
        """``meets, not proven: 0 to 1 (bootstrap BCa, all 45 resamples enumerated)``."""
        if self.light is Light.UNDEFINED:
            return f"{self.light}: {self.kappa.undefined}"
        return f"{self.light}: {self.interval.text}" + ("" if self.interval.undefined else f" ({self.interval.method})")

    def as_dict(self) -> dict[str, object]:
        """JSON members, with the sentence."""
        return {**Result.as_dict(self), "text": self.text}


def kappa_proof(estimate: KappaEstimate, bound: Fraction) -> KappaProof:
    """Three lights for kappa. It decides nothing; the pinned rule compares kappa itself with the bound."""
    value, lower = estimate.kappa.value, estimate.interval.lower
    if value is None:
        light = Light.UNDEFINED
    elif value < bound:
        light = Light.FAILS
    else:
        light = Light.PROVES if lower is not None and Fraction(lower) >= bound else Light.MEETS
    return KappaProof(estimate.kappa, bound, light, estimate.interval)
