"""Strength of evidence: for every check of an assessment what its counts can prove, and what the holdout can show at all.

A function of (round, grid, code) alone, in one versioned object: the page, the command line and the signed statement read the
same one, and a verifier computes it again and compares it byte for byte. Exact or enumerated methods only; doubles are stated
to nine significant digits, and every sentence is written from the rounded figure. It decides nothing.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, Literal

from core.gates.figures import SIGNIFICANT_DIGITS
from core.gates.holdout_rows import holdout_rows
from core.gates.robustness import robustness
from core.gates.strength_holdout import HoldoutEvidence, holdout_evidence, holdout_members
from core.gates.strength_judges import judge_members, judge_table
from core.gates.strength_parts import HOLDOUT_MORE, JUDGE_MORE, ROUND_MORE, behaviour_members, holdout_more, judges_more
from core.gates.strength_rules import (
    CheckStrength,
    Levels,
    Status,
    exact_end,
    keys_off,
    not_applicable,
    rate_strength,
    without_levels,
)
from core.grid import Grid
from core.rounds.folder import Round
from core.settings import SETTINGS
from core.statistics.chance_corrected import paradox_sentence_2
from core.statistics.probability import level_text
from core.statistics.provable import rate_proof
from core.statistics.ratio import Ratio, decimal_text
from core.statistics.verdict import Standing, Verdict, interval_text
from core.text import sentence

STRENGTH_VERSION: Final[int] = SETTINGS["signing"]["strength_version"]
"""Raised whenever the object's members, its methods or its words change."""
EARLIER_STRENGTH_VERSION: Final[int] = SETTINGS["signing"]["earlier_strength_version"]
NO_BOUND: Final = "the grid sets no bound"
_FACTS: Final[Mapping[str, str]] = {
    "holdout_lock": "a fact: two digests are equal or not", "outcomes_complete": "a fact: every item was counted",
    "literal_gate": "a fact: every file was read", "distinct_reviewer": "it waits for a reviewer",
    "no_collapsed_pair": "it is measured on every admitted pair, none is estimated",
    "collapsed_share": "it is counted over every pair of the round, none is estimated",
}
"""Checks behind which nothing is estimated, and why."""
_RATES: Final[Mapping[str, tuple[Literal["max", "min"], str]]] = {"regressions": ("max", "items"), "sanity_retention": ("min", "canaries")}
"""Rates of counts: direction of the bound, and what one more case is called."""


def strength_of(source: Round, assessment: Mapping[str, Any], grid: Grid) -> dict[str, Any]:
    """The strength of an assessment. ``assessment``: its document (the member ``strength`` is not read); ``grid``: the one it was
    made under. A grid that sets no confidence gets what needs none, and ``keys_off`` names what is missing."""
    levels, outcomes = Levels.of(grid), (assessment["holdout"] or {}).get("outcomes")
    evidence = None if outcomes is None else holdout_evidence(source, outcomes, grid, levels)
    flips = robustness(assessment, grid)
    distances = {flip.check: flip for flip in flips if flip.judge_id is None}
    checks = [_check(check, evidence, grid, levels) for check in assessment["checks"]]
    more = judges_more(source, grid, levels, list(assessment["judges"]))
    return {
        "version": STRENGTH_VERSION, "significant_digits": SIGNIFICANT_DIGITS, "keys_off": keys_off(grid),
        "confidence": None if levels is None else grid.text("evidence_confidence"),
        "checks": [replace(check, flip=distances[check.name]).as_dict() for check in checks],
        "judges": [
            judge_members(judge_id, judge, grid, levels, [flip for flip in flips if flip.judge_id == judge_id]) | more[judge_id]
            for judge_id, judge in sorted(assessment["judges"].items())
        ],
        "holdout": None if evidence is None or outcomes is None else _holdout(source, evidence, outcomes, grid, levels),
        "no_holdout": None if evidence is not None else _why_no_holdout(source), **behaviour_members(source, grid),
    }


def _holdout(source: Round, evidence: HoldoutEvidence, outcomes: Mapping[str, Any], grid: Grid, levels: Levels | None) -> dict[str, Any]:
    found = holdout_members(evidence, outcomes, grid, levels)
    return found | holdout_more(holdout_rows(source), grid, levels, found["view"])


def as_version_2(strength: Mapping[str, Any], assessment: Mapping[str, Any]) -> dict[str, Any]:
    """The same strength as statements of version 2 hold it: without what version 3 added, and in version 2's words. So an engine
    still computes again what an earlier one signed."""
    judges = [
        {name: value for name, value in judge.items() if name not in JUDGE_MORE}
        | {"paradox": paradox_sentence_2(judge_table(assessment["judges"][judge["judge_id"]]))} for judge in strength["judges"]
    ]
    holdout = strength["holdout"]
    held = None if holdout is None else {name: value for name, value in holdout.items() if name not in HOLDOUT_MORE}
    kept = {name: value for name, value in strength.items() if name not in ROUND_MORE}
    return kept | {"version": EARLIER_STRENGTH_VERSION, "judges": judges, "holdout": held}


def _why_no_holdout(source: Round) -> str:
    missing = [part for part in ("holdout", "outcomes") if not source.has(part)]
    return f"not supplied: {', '.join(missing)}" if missing else "the outcomes do not fit the holdout"


def _check(check: Mapping[str, Any], evidence: HoldoutEvidence | None, grid: Grid, levels: Levels | None) -> CheckStrength:
    name = check["name"]
    if name in _FACTS:
        return not_applicable(name, _FACTS[name])
    if name == "net_gain":
        assert evidence is not None  # the check is there only where outcomes are
        return _net_gain(check, evidence, grid, levels)
    if levels is None:
        return without_levels(check)
    direction, unit = _RATES[name]
    observed = check["observed"]
    rate = Ratio(int(observed["numerator"]), int(observed["denominator"]), observed["undefined"])
    proof = rate_proof(rate, grid.fraction(check["bound"]["key"]), direction=direction, unit=unit, alpha=levels.alpha)
    dependent = evidence.dependent if name == "regressions" and evidence is not None else None
    return rate_strength(name, proof, levels.confidence, dependent=dependent)


def _net_gain(check: Mapping[str, Any], evidence: HoldoutEvidence, grid: Grid, levels: Levels | None) -> CheckStrength:
    """The gain against its floor; against 0 where the grid sets none, since a promotion claims that much."""
    name, n = check["name"], evidence.table.n
    bound = grid.optional_fraction("min_net_holdout_gain")
    if levels is None:
        return without_levels(check) if bound is not None else replace(not_applicable(name, NO_BOUND), detail=sentence(evidence.sentence))
    holds = check["state"] == "holds" if bound is not None else evidence.table.fixes > evidence.table.regressions
    against = Fraction(0) if bound is None else bound
    floor = f"the bound of {decimal_text(against)}" if bound is not None else f"0 ({NO_BOUND})"
    detail = f"{sentence(evidence.sentence)} Held against {floor}."
    if evidence.verdict is None:
        status = Status.MEETS if holds else Status.FAILS
        return CheckStrength(name, status, f"{status}: {evidence.no_verdict}", detail, n)
    status = _gain_status(evidence.verdict, against, holds=holds)
    text = f"{status}: {_gain_words(evidence.verdict, status, levels)}"
    return CheckStrength(name, status, text, detail, n, evidence.verdict.evidence.interval)


def _gain_status(verdict: Verdict, against: Fraction, *, holds: bool) -> Status:
    """Test and interval together; a bound off 0 is held against the interval alone where the test does not speak about it."""
    lower, upper = verdict.evidence.interval.lower, verdict.evidence.interval.upper
    if holds:
        beyond = lower is not None and exact_end(lower) >= against
        return Status.PROVEN if beyond and (against < 0 or verdict.standing is Standing.BETTER) else Status.MEETS
    short = upper is not None and exact_end(upper) < against
    return Status.PROVEN_TO_FAIL if short and (against > 0 or verdict.standing is Standing.WORSE) else Status.FAILS


def _gain_words(verdict: Verdict, status: Status, levels: Levels) -> str:
    evidence = verdict.evidence
    if status in (Status.PROVEN, Status.PROVEN_TO_FAIL):
        return f"{evidence.test} {evidence.p.text()}, {interval_text(evidence.interval)}"
    if evidence.smallest.fraction > levels.alpha:
        units = "item" if evidence.units == evidence.n else "cluster"
        return f"no result on {evidence.units:,} {units}{'' if evidence.units == 1 else 's'} can reach p < {level_text(levels.alpha)}"
    return "; ".join(gap.text for gap in verdict.gaps) or interval_text(evidence.interval)
