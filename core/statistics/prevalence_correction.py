"""A pass rate as the judge reports it, corrected for the judge's own errors (Rogan & Gladen).

The judge approved a share of many answers that no verifier saw; on calibration cases its recall (se) and specificity (sp)
are known. Then the share that truly passes is (approved + sp - 1) / (se + sp - 1), provided that the judge errs on these
answers as it does on the calibration cases. That assumption is the reader's to judge, and it is said in the result.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from core.statistics.agreement import Confusion, recall, specificity
from core.statistics.inputs import CONFIDENCE, Level, level_of
from core.statistics.rate_intervals import normal_quantile
from core.statistics.ratio import Ratio
from core.statistics.result import Figure, Interval, Result, no_interval

LANG_REICZIGEL = "Lang & Reiczigel"
NO_BETTER_THAN_CHANCE = "the judge is no better than chance: recall + specificity is at most 1"
TOO_NEAR_CHANCE = "the judge is too near chance for an interval on so few calibration cases"
ASSUMPTION = "assumes that the judge errs on these answers as often as on the calibration cases"


@dataclass(frozen=True, slots=True)
class CorrectedRate(Result):
    """``value``: the corrected rate, kept within 0 to 1; ``raw`` is what the formula gives (``clipped`` if outside).

    ``apparent``: approvals over answers judged. ``interval`` reflects all three samples.
    """

    apparent: Ratio
    recall: Ratio
    specificity: Ratio
    raw: Figure
    value: Fraction | None
    clipped: bool
    interval: Interval
    assumption: str = ASSUMPTION

    @property
    def undefined(self) -> str | None:
        return self.raw.undefined


def corrected_pass_rate(apparent: Ratio, calibration: Confusion, confidence: Level = CONFIDENCE) -> CorrectedRate:
    """The pass rate behind ``apparent`` (approvals over answers) given a judge calibrated on other cases.

    Undefined without answers, without calibration cases of either class, and where recall + specificity <= 1: then
    approvals say nothing about passing, and the formula would turn them round. Raises GridError for a confidence outside
    0 to 1. Sources: Rogan & Gladen 1978, Am. J. Epidemiol. 107:71-76; interval: Lang & Reiczigel 2014, Prev. Vet. Med.
    113:13-22, used for judges by Lee et al. 2025, arXiv:2511.21140.

    >>> corrected_pass_rate(Ratio(60, 100), Confusion(tp=90, fp=20, fn=10, tn=80)).value     # (.6 + .8 - 1) / (.9 + .8 - 1)
    Fraction(4, 7)
    """
    level, se, sp = level_of(confidence), recall(calibration), specificity(calibration)
    raw = _raw(apparent, se, sp)
    if raw.value is None:
        return CorrectedRate(apparent, se, sp, raw, None, False, no_interval(level, LANG_REICZIGEL, str(raw.undefined)))
    value = min(Fraction(1), max(Fraction(0), raw.value))
    return CorrectedRate(apparent, se, sp, raw, value, value != raw.value, _interval(apparent, se, sp, level))


def _raw(apparent: Ratio, se: Ratio, sp: Ratio) -> Figure:
    undefined = apparent.undefined or se.undefined or sp.undefined
    if apparent.value is None or se.value is None or sp.value is None:
        return Figure(None, undefined)
    youden = se.value + sp.value - 1
    if youden <= 0:
        return Figure(None, NO_BETTER_THAN_CHANCE)
    return Figure((apparent.value + sp.value - 1) / youden)


def _interval(apparent: Ratio, se: Ratio, sp: Ratio, level: Fraction) -> Interval:
    """Delta-method interval around counts moved towards 1/2: z^2/2 of z^2 added answers, 1 of 2 added calibration cases.

    Keeps a width at recall 1 and specificity 1. d shifts the centre by 2 z^2 (r var_se - (1 - r) var_sp).
    """
    z2 = normal_quantile(level) ** 2
    share, answers = (apparent.numerator + z2 / 2) / (apparent.denominator + z2), apparent.denominator + z2
    sensitive, specific = ((rate.numerator + 1) / (rate.denominator + 2) for rate in (se, sp))
    youden = sensitive + specific - 1
    if youden <= 0:
        return no_interval(level, LANG_REICZIGEL, TOO_NEAR_CHANCE)
    rate = (share + specific - 1) / youden
    var_se, var_sp = sensitive * (1 - sensitive) / (se.denominator + 2), specific * (1 - specific) / (sp.denominator + 2)
    error = math.sqrt(share * (1 - share) / answers + rate**2 * var_se + (1 - rate) ** 2 * var_sp) / youden
    centre, reach = rate + 2 * z2 * (rate * var_se - (1 - rate) * var_sp), math.sqrt(z2) * error
    return Interval(min(1.0, max(0.0, centre - reach)), max(0.0, min(1.0, centre + reach)), level, LANG_REICZIGEL)
