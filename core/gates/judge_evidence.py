"""What the evidence about a judge is worth, for all of its cases and for each slice. It decides nothing: the gate is calibration's.

Rules:

- Figures come from rows in the given order with both verdicts; swapped rows serve the position figures alone.
- A part that needs a column which the round lacks has no value and says what it needs (:class:`Part`); nothing is guessed.
- Confidence and level are the grid's (``evidence_confidence``), those of the settings where the grid sets none.
- The bootstrap above the enumerated sizes is seeded from the round, the judge and the slice, and the seed is stated.
"""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa
import pyarrow.compute as pc

from core.canonical import canonical_digest
from core.errors import RoundError
from core.gates.calibration import confusion_of
from core.gates.judge_biases import LengthEvidence, PositionEvidence, SelfEvidence, length, own_outputs, position
from core.gates.judge_cases import JudgeCases, cases_of, judge_figures, slices_of
from core.gates.judge_parts import EvidenceRules, Part
from core.grid import Grid
from core.rounds.folder import Round
from core.settings import SETTINGS
from core.statistics.agreement import Confusion, prevalence
from core.statistics.judge_evidence import JudgeEvidence, judge_evidence
from core.statistics.prevalence_correction import CorrectedRate, corrected_pass_rate
from core.statistics.ratio import Ratio, fraction_text
from core.statistics.reliability import Reliability, reliability
from core.statistics.result import Result
from core.statistics.threshold_sweep import ThresholdSweep, threshold_sweep

_LARGEST_SEED: int = SETTINGS["json"]["max_safe_integer"]
_NAMED: int = SETTINGS["display"]["named_ids"]


@dataclass(frozen=True, slots=True)
class GradedEvidence(Result):
    """A judge that scores, over the ``sweep.n`` cases with a score and a verifier verdict.

    ``without_score``: cases that have the verdict and no finite score. ``approvals``: the judge's own verdicts on the scored
    cases, so where it stands among the thresholds.
    """

    without_score: int
    approvals: Confusion
    sweep: ThresholdSweep
    reliability: Part[Reliability]


@dataclass(frozen=True, slots=True)
class PassRate(Result):
    """A pass rate that the judge reports, corrected for its errors on other cases (Rogan & Gladen).

    ``known``: the verifier's rate on the same answers where there is one, and ``holds``: whether it lies in the interval;
    so a slice shows whether the judge errs there as elsewhere.
    """

    corrected: CorrectedRate
    calibrated_on: int
    known: Ratio | None
    holds: bool | None


@dataclass(frozen=True, slots=True)
class CasesEvidence(Result):
    """All evidence of one judge over all its cases (``name`` None), or over one slice.

    ``records``: rows in the given order; ``missing``: those without a usable verdict; ``own``: self-preference.
    """

    name: str | None
    records: int
    missing: int
    figures: JudgeEvidence
    graded: Part[GradedEvidence]
    position: Part[PositionEvidence]
    length: Part[LengthEvidence]
    own: Part[SelfEvidence]
    pass_rate: Part[PassRate]


@dataclass(frozen=True, slots=True)
class JudgeReport(Result):
    """One judge of one round under one grid. ``slices`` is empty where no case names a slice."""

    judge_id: str
    round_digest: str
    grid_digest: str
    confidence: Fraction
    alpha: Fraction
    swapped: int
    whole: CasesEvidence
    slices: tuple[CasesEvidence, ...]


def seed_for(source: Round, cases: JudgeCases) -> int:
    """The seed of a bootstrap that draws: the same wherever this round is looked at."""
    digest = bytes.fromhex(canonical_digest([source.digest, cases.judge_id, cases.name]))
    return int.from_bytes(digest) % _LARGEST_SEED


def strength(source: Round, cases: JudgeCases, rules: EvidenceRules) -> JudgeEvidence:
    """Kappa and every rate with their intervals, and what these cases prove about the gate's bounds."""
    return judge_evidence(cases.table, rules.bounds, confidence=rules.confidence, alpha=rules.alpha, seed=seed_for(source, cases))


def graded(cases: JudgeCases, rules: EvidenceRules) -> Part[GradedEvidence]:
    """Threshold sweep and reliability of ``rubric_score``."""
    labelled = cases.given.filter(pc.is_valid(cases.given["verifier_passed"]))
    scored = labelled.filter(pc.fill_null(pc.is_finite(labelled["rubric_score"]), False))
    if not scored.num_rows:
        return Part(None, "not supplied: needs rubric_score beside a verdict of the verifier")
    scores, passed = scored["rubric_score"].to_pylist(), scored["verifier_passed"].to_pylist()
    probabilities: Part[Reliability]
    try:
        probabilities = Part(reliability(scores, passed))
    except RoundError as fault:
        # only a score outside 0 to 1 is left to refuse here
        probabilities = Part(None, f"undefined: expected {fault.expected}, got {fault.got}; {fault.remedy}")
    approvals = confusion_of(scored.filter(pc.is_valid(scored["rubric_approved"])))
    return Part(GradedEvidence(
        labelled.num_rows - scored.num_rows, approvals, threshold_sweep(scores, passed, rules.bounds), probabilities,
    ))


def pass_rate(cases: JudgeCases, rules: EvidenceRules, whole: JudgeCases | None = None) -> Part[PassRate]:
    """The corrected pass rate: of a slice by the judge's errors in the other slices (``whole`` given), else of the cases that
    only the judge saw, by its errors on all others."""
    if whole is not None:
        return _pass_rate_of_slice(cases, whole, rules)
    unseen = cases.given.filter(pc.and_(pc.is_null(cases.given["verifier_passed"]), pc.is_valid(cases.given["rubric_approved"])))
    if not unseen.num_rows:
        known = f"; on those here it passes {fraction_text(prevalence(cases.table))}" if cases.table.n else ""
        return Part(None, f"not needed: the judge alone saw no case, the verifier has a verdict on each{known}")
    approved = Ratio(_true(unseen["rubric_approved"]), unseen.num_rows)
    return Part(PassRate(corrected_pass_rate(approved, cases.table, rules.confidence), cases.table.n, None, None))


def _pass_rate_of_slice(cases: JudgeCases, whole: JudgeCases, rules: EvidenceRules) -> Part[PassRate]:
    inside, every = cases.table, whole.table
    outside = Confusion(every.tp - inside.tp, every.fp - inside.fp, every.fn - inside.fn, every.tn - inside.tn)
    if not inside.n or not outside.n:
        return Part(None, "not supplied: needs cases with both verdicts in this slice and in another")
    found, known = corrected_pass_rate(Ratio(inside.tp + inside.fp, inside.n), outside, rules.confidence), prevalence(inside)
    lower, upper, rate = found.interval.lower, found.interval.upper, known.value
    holds = None if lower is None or upper is None or rate is None else lower <= rate <= upper
    return Part(PassRate(found, outside.n, known, holds))


def _true(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)


def cases_evidence(source: Round, cases: JudgeCases, rules: EvidenceRules, whole: JudgeCases | None = None) -> CasesEvidence:
    """All parts over all cases of a judge, or over one slice of ``whole``."""
    return CasesEvidence(
        cases.name, cases.given.num_rows, cases.missing, strength(source, cases, rules), graded(cases, rules), position(cases),
        length(cases, rules), own_outputs(cases, rules), pass_rate(cases, rules, whole),
    )


def judge_report(source: Round, grid: Grid, judge_id: str) -> JudgeReport:
    """The whole evidence of one judge of a round. A judge without records has undefined figures; RoundError ``unknown_judge``
    for one that the round neither names nor has records of."""
    records = judge_figures(source)
    rules, cases = EvidenceRules.of(grid), cases_of(records, known_judge(source, records, judge_id))
    return JudgeReport(
        judge_id, source.digest, grid.digest, rules.confidence, rules.alpha, cases.swapped.num_rows, cases_evidence(source, cases, rules),
        tuple(cases_evidence(source, part, rules, cases) for part in slices_of(cases)),
    )


def judge_ids(source: Round, records: pa.Table) -> tuple[str, ...]:
    """The judges of a round, in id order: those with records and those that it names. ``records``: :func:`judge_figures`."""
    named = source.manifest.receipt_judges
    expected = {*source.manifest.judges, *((named.calibrated, named.uncalibrated) if named else ())}
    return tuple(sorted({*pc.unique(records["judge_id"]).to_pylist(), *expected}))


def known_judge(source: Round, records: pa.Table, judge_id: str) -> str:
    """``judge_id``, when it is a judge of the round. RoundError ``unknown_judge`` otherwise."""
    known = judge_ids(source, records)
    if judge_id not in known:
        raise RoundError(
            "unknown_judge", expected=f"a judge of round {source.manifest.round_id}", got=repr(judge_id),
            remedy=f"name one of {', '.join(known[:_NAMED])}" if known else "name another round: this one has no judge",
        )
    return judge_id
