"""What is known of each judge: kappa and its interval, how low the counts prove the false-positive rate to be, and the figures
that belong beside kappa."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from core.gates.figures import interval_members, no_interval_members, ratio_members, rounded_interval, significant
from core.gates.robustness import Robustness
from core.gates.strength_rules import NO_CONFIDENCE, CheckStrength, Levels, kappa_strength, not_applicable, rate_strength, without_levels
from core.grid import Grid
from core.statistics.agreement import Confusion, cohen_kappa, prevalence
from core.statistics.chance_corrected import chance_corrected
from core.statistics.judge_evidence import JudgeEvidence, judge_evidence
from core.statistics.kappa_intervals import WALD
from core.statistics.threshold_sweep import GateBounds

MISSING_VERDICTS: Final = "a fact: these cases have no verdict, and nothing is estimated from them"


def judge_members(judge_id: str, judge: Mapping[str, Any], grid: Grid, levels: Levels | None, flips: Iterable[Robustness]) -> dict[str, Any]:
    """One judge. ``judge``: its part of the assessment; ``flips``: the distances of its checks from flipping."""
    table = judge_table(judge)
    evidence = _evidence(table, grid, levels)
    distances = {flip.check: flip for flip in flips}
    checks = [_check(check, evidence, levels, grid) for check in judge["gate"]["checks"]]
    chance = chance_corrected(table)
    return {
        "judge_id": judge_id, "n": table.n, "kappa": ratio_members(cohen_kappa(table)), "kappa_interval": _kappa_interval(evidence),
        "prevalence": ratio_members(prevalence(table)), "prevalence_index": ratio_members(chance.prevalence_index),
        "bias_index": ratio_members(chance.bias_index), "kappa_max": ratio_members(chance.kappa_max), "pabak": ratio_members(chance.pabak),
        "ac1": ratio_members(chance.ac1), "mcc": {"value": significant(chance.mcc.value), "undefined": chance.mcc.undefined},
        "paradox": chance.paradox, "checks": [replace(check, flip=distances[check.name]).as_dict() for check in checks],
    }


def judge_table(judge: Mapping[str, Any]) -> Confusion:
    """The counts of a judge of an assessment."""
    return Confusion(tp=judge["tp"], fp=judge["fp"], fn=judge["fn"], tn=judge["tn"])


def _evidence(table: Confusion, grid: Grid, levels: Levels | None) -> JudgeEvidence | None:
    if levels is None:
        return None
    bounds = GateBounds(grid.fraction("min_cohens_kappa"), grid.fraction("max_false_positive_rate"), grid.fraction("min_exact_agreement"))
    return judge_evidence(table, bounds, confidence=levels.confidence, alpha=levels.alpha)


def _kappa_interval(evidence: JudgeEvidence | None) -> dict[str, object]:
    return no_interval_members(WALD, NO_CONFIDENCE) if evidence is None else interval_members(rounded_interval(evidence.kappa.interval))


def _check(check: Mapping[str, Any], evidence: JudgeEvidence | None, levels: Levels | None, grid: Grid) -> CheckStrength:
    name = check["name"]
    if name == "missing_verdict":
        return not_applicable(name, MISSING_VERDICTS)
    if evidence is None or levels is None:
        return without_levels(check)
    if name == "cohens_kappa":
        return kappa_strength(name, evidence.kappa, grid.fraction("min_cohens_kappa"))
    proof = evidence.agreement_light if name == "exact_agreement" else evidence.fpr_light
    assert proof is not None  # every bound was asked for
    return rate_strength(name, proof, levels.confidence)
