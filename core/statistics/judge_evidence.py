"""Everything about one judge (or one slice of its cases) against the verifier: figures, intervals, and what they prove."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from core.statistics import agreement
from core.statistics.agreement import Confusion
from core.statistics.chance_corrected import ChanceCorrected, chance_corrected
from core.statistics.inputs import ALPHA, CONFIDENCE, Level
from core.statistics.kappa_intervals import KappaEstimate, KappaProof, kappa_estimate, kappa_proof
from core.statistics.provable import RateProof, rate_proof
from core.statistics.rate_intervals import RateEstimate, rate_estimate
from core.statistics.ratio import Ratio
from core.statistics.result import Result
from core.statistics.threshold_sweep import GateBounds

RATES: Final[Mapping[str, Callable[[Confusion], Ratio]]] = MappingProxyType({
    "exact_agreement": agreement.exact_agreement,
    "false_positive_rate": agreement.false_positive_rate,
    "false_discovery_rate": agreement.false_discovery_rate,
    "false_negative_rate": agreement.false_negative_rate,
    "precision": agreement.precision,
    "recall": agreement.recall,
    "specificity": agreement.specificity,
    "negative_predictive_value": agreement.negative_predictive_value,
    "prevalence": agreement.prevalence,
    "false_positives_over_all": agreement.false_positives_over_all,
})
"""Rates of counted cases, which have intervals. F1 and balanced accuracy are shown without: they are no such rates."""


@dataclass(frozen=True, slots=True)
class JudgeEvidence(Result):
    """One table: ``rates`` by name with both intervals, and a light for each bound that was asked for (else None)."""

    table: Confusion
    kappa: KappaEstimate
    chance: ChanceCorrected
    rates: Mapping[str, RateEstimate]
    f1: Ratio
    balanced_accuracy: Ratio
    kappa_light: KappaProof | None
    agreement_light: RateProof | None
    fpr_light: RateProof | None


def judge_evidence(
    table: Confusion, bounds: GateBounds | None = None, *, confidence: Level = CONFIDENCE, alpha: Level = ALPHA, seed: int | None = None,
) -> JudgeEvidence:
    """All calibration figures of one 2x2 table.

    ``bounds``: the gate's, as exact rationals of the grid. ``confidence`` is that of the two-sided intervals, ``alpha``
    the one-sided error of the rate lights, ``seed`` for a sampled bootstrap above n = 200. Undefined figures carry their
    reason. Raises GridError for a level outside 0 to 1.
    """
    kappa = kappa_estimate(table, confidence, seed=seed)
    rates = {name: rate_estimate(rate(table), confidence) for name, rate in RATES.items()}
    lights: tuple[KappaProof | None, RateProof | None, RateProof | None] = (None, None, None)
    if bounds is not None:
        floor, agreed = bounds.min_agreement, rates["exact_agreement"].rate
        lights = (
            kappa_proof(kappa, bounds.min_kappa),
            None if floor is None else rate_proof(agreed, floor, direction="min", unit="agreeing cases", alpha=alpha),
            rate_proof(rates["false_positive_rate"].rate, bounds.max_fpr, direction="max", unit="failed cases", alpha=alpha),
        )
    return JudgeEvidence(
        table, kappa, chance_corrected(table), MappingProxyType(rates), agreement.f1_score(table), agreement.balanced_accuracy(table), *lights,
    )
