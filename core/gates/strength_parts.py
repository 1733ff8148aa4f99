"""The rest of what a reviewer sees on the pages, as a statement keeps it: each judge by slice and part by part, the holdout by
slice, repeated runs, named behaviours.

Figures are exact, or rounded to the signed digits before anything is written from them; nothing that is drawn at random is in
it. A part that has nothing to say gives its reason. Names that come from outside (slices, behaviours, labels) are text only.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, cast

import pyarrow as pa

from core.errors import RoundError
from core.gates import judge_words
from core.gates.behaviour_round import behaviour_comparison
from core.gates.behaviour_versions import BehaviourRow
from core.gates.figures import is_drawn, probability_members, ratio_members, rounded_interval, rounded_probability, significant
from core.gates.holdout_rows import HoldoutRows
from core.gates.holdout_slices import RunsLine, SliceLine, runs_lines, slice_lines
from core.gates.judge_biases import LengthEvidence, SelfEvidence, length, own_outputs, position
from core.gates.judge_cases import JudgeCases, Verdicts, cases_of, content_verdicts, judge_figures, slices_of
from core.gates.judge_evidence import GradedEvidence, PassRate, graded, pass_rate
from core.gates.judge_parts import EvidenceRules
from core.gates.judge_peers import judges_together
from core.gates.judge_raters import raters_agreement
from core.gates.strength_holdout import WOULD_BE_DRAWN
from core.gates.strength_rules import NO_CONFIDENCE, Levels
from core.grid import Grid
from core.rounds.folder import Round
from core.settings import SETTINGS
from core.statistics.agreement import cohen_kappa, exact_agreement, false_positive_rate
from core.statistics.arms import Reducer
from core.statistics.pass_at_k import PassRate as RunsRate
from core.statistics.rate_difference import RateDifference

NO_SLICES: Final = "no outcome names a slice"
_LINES: Final[int] = SETTINGS["signing"]["strength_lines"]
"""Slices and behaviours that a statement names at most; the count of the others is stated."""


JUDGE_MORE: Final = ("slices", "slices_left_out", "evidence")
HOLDOUT_MORE: Final = ("slices", "slices_left_out", "no_slices", "pass_at_k")
ROUND_MORE: Final = ("behaviours", "no_behaviours")
"""Members that version 3 of the strength object added: of a judge, of the holdout, of the whole."""


def judges_more(source: Round, grid: Grid, levels: Levels | None, judge_ids: list[str]) -> dict[str, dict[str, Any]]:
    """For each judge its slices and the parts of its evidence; no parts under a grid that sets no levels."""
    records, rules = judge_figures(source), EvidenceRules.of(grid)
    verdicts = {} if levels is None else content_verdicts(source)
    return {judge_id: _judge(source, records, verdicts, rules, judge_id, said=levels is not None) for judge_id in judge_ids}


def _judge(
    source: Round, records: pa.Table, verdicts: Mapping[str, Verdicts], rules: EvidenceRules, judge_id: str, *, said: bool,
) -> dict[str, Any]:
    cases = cases_of(records, judge_id)
    slices = slices_of(cases)
    return {
        "slices": [_slice(part) for part in slices[:_LINES]], "slices_left_out": max(0, len(slices) - _LINES),
        "evidence": _evidence(source, cases, verdicts, rules) if said else [],
    }


def _slice(part: JudgeCases) -> dict[str, Any]:
    table = part.table
    return {
        "name": part.name, "n": table.n, "kappa": ratio_members(cohen_kappa(table)), "agreement": ratio_members(exact_agreement(table)),
        "false_positive_rate": ratio_members(false_positive_rate(table)),
    }


def _evidence(source: Round, cases: JudgeCases, verdicts: Mapping[str, Verdicts], rules: EvidenceRules) -> list[dict[str, str]]:
    """Each part in the words of the page."""
    parts = {
        "position_bias": judge_words.said(position(cases), lambda found: judge_words.position_sentences(found, rules.alpha)),
        "length_bias": judge_words.said(length(cases, rules), lambda found: [judge_words.length_sentence(_stated_length(found))]),
        "self_preference": judge_words.said(own_outputs(cases, rules), lambda found: judge_words.self_sentences(_stated_self(found))),
        "scores": judge_words.said(graded(cases, rules), _score_words),
        "corrected_pass_rate": judge_words.said(pass_rate(cases, rules), lambda found: [judge_words.pass_rate_sentence(_stated_rate(found))]),
        "other_judges": judge_words.said(judges_together(verdicts, cases.judge_id, rules), judge_words.together_sentences),
        "raters": judge_words.said(raters_agreement(source, cases), judge_words.rater_sentences),
    }
    return [{"part": name, "text": " ".join(sentences)} for name, sentences in parts.items()]


def _score_words(found: GradedEvidence) -> list[str]:
    return [*judge_words.graded_sentences(found), *judge_words.said(found.reliability, lambda one: [judge_words.reliability_sentence(one)])]


def _stated_gap(gap: RateDifference) -> RateDifference:
    return replace(gap, interval=rounded_interval(gap.interval))


def _stated_length(found: LengthEvidence) -> LengthEvidence:
    return replace(found, bias=replace(found.bias, gap=_stated_gap(found.bias.gap)))


def _stated_self(found: SelfEvidence) -> SelfEvidence:
    both = found.preference
    return replace(found, preference=replace(both, fpr_gap=_stated_gap(both.fpr_gap), tpr_gap=_stated_gap(both.tpr_gap)))


def _stated_rate(found: PassRate) -> PassRate:
    return replace(found, corrected=replace(found.corrected, interval=rounded_interval(found.corrected.interval)))


def holdout_more(rows: HoldoutRows, grid: Grid, levels: Levels | None, view: str | None) -> dict[str, Any]:
    """The holdout by slice, corrected for how many there are, and pass@k and pass^k where items were run several times."""
    lines = () if levels is None else slice_lines(rows, cast("Reducer", grid.name_of("outcome_run_reducer")), levels, graded=view == "graded")
    if any(is_drawn(line.evidence.p) for line in lines):
        lines, reason = (), WOULD_BE_DRAWN
    else:
        reason = NO_CONFIDENCE if levels is None else NO_SLICES
    return {
        "slices": [_line(line) for line in lines[:_LINES]], "slices_left_out": max(0, len(lines) - _LINES), "no_slices": None if lines else reason,
        "pass_at_k": [_runs(line) for line in runs_lines(rows)],
    }


def _line(line: SliceLine) -> dict[str, Any]:
    return {
        "name": line.name, "n": line.table.n, "fixes": line.table.fixes, "regressions": line.table.regressions,
        "gain": significant(line.evidence.gain), "test": line.evidence.test, "p": probability_members(rounded_probability(line.evidence.p)),
        "holm": significant(line.holm), "benjamini_hochberg": significant(line.benjamini_hochberg), "can_reach": line.can_reach,
        "standing": line.standing.value,
    }


def _runs(line: RunsLine) -> dict[str, Any]:
    return {"k": line.k, "baseline": _rate(line.baseline), "candidate": _rate(line.candidate)}


def _rate(rate: RunsRate) -> dict[str, Any]:
    return {"at_least_one": significant(rate.at_least_one), "all": significant(rate.all_of_them), "undefined": rate.undefined}


def behaviour_members(source: Round, grid: Grid) -> dict[str, Any]:
    """``behaviours`` and ``no_behaviours``: baseline against candidate on each named behaviour, or why nothing is said."""
    try:
        found = behaviour_comparison(source, grid)
    except RoundError as fault:
        return {"behaviours": None, "no_behaviours": f"not compared: expected {fault.expected}, got {fault.got}"}
    if found.value is None:
        return {"behaviours": None, "no_behaviours": found.reason}
    compared = found.value
    if any(row.p is not None and is_drawn(row.p) for row in compared.rows):
        return {"behaviours": None, "no_behaviours": WOULD_BE_DRAWN}
    return {"no_behaviours": None, "behaviours": {
        "served": compared.served, "candidate": compared.candidate, "sentence": compared.sentence,
        "rows": [_behaviour(row) for row in compared.rows[:_LINES]], "left_out": max(0, len(compared.rows) - _LINES),
    }}


def _behaviour(row: BehaviourRow) -> dict[str, Any]:
    gain: Fraction | None = row.claim.gain
    return {
        "behaviour": row.claim.behaviour, "role": row.role, "state": row.claim.state.value, "gain": significant(gain),
        "p": None if row.p is None else probability_members(rounded_probability(row.p)), "corrected": significant(row.adjusted),
        "standing": row.standing.value, "proven": row.proven, "gaps": [{"code": gap.code, "text": gap.text} for gap in row.claim.gaps],
        "sentence": row.sentence,
    }
