"""The evidence about a judge as sentences: the same on the page and in the terminal. Figures come with their counts."""
from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final, TypeVar

from core.gates.judge_biases import APPROVALS, LengthEvidence, PositionEvidence, SelfEvidence, Unreadable
from core.gates.judge_evidence import CasesEvidence, GradedEvidence, PassRate
from core.gates.judge_parts import Part
from core.gates.judge_peers import EarlierRound, JudgeHistory, JudgesTogether
from core.gates.judge_raters import RatersEvidence
from core.settings import SETTINGS
from core.statistics.judge_evidence import JudgeEvidence
from core.statistics.kappa_intervals import NOT_ESTIMABLE, KappaEstimate
from core.statistics.multi_rater import MultiRaterAgreement
from core.statistics.prevalence_correction import CorrectedRate
from core.statistics.probability import level_text
from core.statistics.provable import RateProof
from core.statistics.rate_difference import RateDifference
from core.statistics.ratio import Ratio, decimal_text, fraction_text, percent_text
from core.statistics.reliability import Reliability
from core.statistics.result import Interval
from core.statistics.sign_test import SignTest
from core.statistics.verdict import interval_text, points_text
from core.text import count_of, first_of, sentence, shortened

Found = TypeVar("Found")
_DECIMALS: Final[int] = SETTINGS["statistics"]["decimals"]
_NAMED: Final[int] = SETTINGS["display"]["named_ids"]
_SHOWN: Final[int] = SETTINGS["text"]["label_characters"]
NO_SLICE: Final = "no slice named"
NO_JUDGES: Final = "No calibration records: the proposer supplied no judge records."
NO_SLICES: Final = "not supplied: needs slice in the judge records"
SLICES_NOTE: Final = "Slices are for looking: they feed no gate, and among many some look bad by chance."
CORRECTED_NOTE: Final = (
    "A share of approvals is no pass rate: the judge's errors shift it. Corrected for them (Rogan & Gladen), it assumes that the judge errs on "
    "these answers as on the cases where its errors were counted."
)
READ_FROM_APPROVALS: Final = "Read from the approvals, since no choice is supplied: an approval is a verdict for answer 1."


def short_method(interval: Interval) -> str:
    """How an interval was made, in a word or two: ``asymptotic``, ``bootstrap BCa``."""
    return interval.method.partition(",")[0].partition(" (")[0]


def decimal(value: Fraction | float | None, reason: str | None = None) -> str:
    """A figure to the decimals of statistics, or ``undefined: ...``."""
    return f"undefined: {reason}" if value is None else decimal_text(Fraction(value), _DECIMALS)


def figure(ratio: Ratio) -> str:
    """An exact figure that is no share of cases (kappa, PABAK) as a decimal, or why there is none."""
    return decimal(ratio.value, ratio.undefined)


def percent_interval(interval: Interval) -> str:
    """``0 % to 56.15 %``, or ``none: ...``."""
    return interval.percent if interval.undefined is None else f"none: {interval.undefined}"


def said(part: Part[Found], sentences: Callable[[Found], list[str]]) -> list[str]:
    """The sentences of a part, or why there are none."""
    return [sentence(str(part.reason))] if part.value is None else sentences(part.value)


def cases_words(cases: CasesEvidence) -> str:
    """``415 of 419``: usable of all, where a verdict is missing."""
    usable = cases.figures.table.n
    return f"{usable:,}" if usable == cases.records else f"{usable:,} of {cases.records:,}"


def proven(light: RateProof) -> str:
    """What so many cases prove about a rate: ``at most 63.16 %``."""
    end = light.limit.upper if light.direction == "max" else light.limit.lower
    if end is None:
        return f"nothing: {light.rate.undefined}"
    return f"{'at most' if light.direction == 'max' else 'at least'} {percent_text(Fraction(end), against=light.bound)}"


def chance_rows(evidence: JudgeEvidence) -> list[tuple[str, str]]:
    """Kappa with its intervals, and what stands beside it."""
    chance, kappa = evidence.chance, evidence.kappa
    exact = "" if kappa.kappa.value is None else f", exactly {kappa.kappa.value}"
    return [
        ("Cohen's kappa", f"{figure(chance.kappa)}{exact}"), ("interval", kappa_interval(kappa)),
        ("asymptotic interval", kappa.wald.text if kappa.wald.undefined is None else f"none: {kappa.wald.undefined}"),
        ("bootstrap intervals", bootstrap_words(kappa)), ("largest kappa for these margins", figure(chance.kappa_max)),
        ("agreement", fraction_text(chance.agreement)), ("agreement by chance", figure(chance.expected_agreement)),
        ("prevalence index", figure(chance.prevalence_index)), ("bias index", figure(chance.bias_index)), ("PABAK", figure(chance.pabak)),
        ("Gwet's AC1", figure(chance.ac1)), ("Matthews' correlation", decimal(chance.mcc.value, chance.mcc.undefined)),
    ]


def kappa_interval(kappa: KappaEstimate) -> str:
    """The interval of kappa to show with how it was made, or why it is not estimable and what can be said instead."""
    if kappa.interval.undefined == NOT_ESTIMABLE:
        return kappa.text
    if kappa.interval.undefined is not None:
        return f"none: {kappa.interval.undefined}"
    return f"{kappa.interval.text} ({kappa.interval.method})"


def bootstrap_words(kappa: KappaEstimate) -> str:
    """Both bootstrap intervals and how the resamples were made, or why there is none."""
    found = kappa.bootstrap
    if found is None or found.undefined is not None:
        return f"none: {'only for two classes' if found is None else found.undefined}"
    lost = "" if not found.undefined_mass else f"; {percent_text(Fraction(found.undefined_mass), against=Fraction(0))} of resamples have no kappa"
    return f"BCa {found.bca.text}, percentile {found.percentile.text} ({found.method}{lost})"


def lights(evidence: JudgeEvidence) -> list[tuple[str, str]]:
    """(check, what these cases say about its bound), in the gate's order."""
    named = (
        ("cohens_kappa", evidence.kappa_light), ("exact_agreement", evidence.agreement_light), ("false_positive_rate", evidence.fpr_light),
    )
    return [(name, light.text) for name, light in named if light is not None]


def sign_words(test: SignTest, alpha: Fraction) -> str:
    """What an exact test of changes to two sides shows."""
    if not test.n:
        return "no change to either side"
    if not test.can_show(alpha):
        return f"no result on {count_of(test.n, 'change')} can reach p = {level_text(alpha)}"
    said = "more than chance explains" if test.shown(alpha) else "no lean to one side shown"
    return f"{said} (exact {test.p.text(alpha)})"


def gap_words(gap: RateDifference) -> str:
    """``gap +20.0 points (95 % interval −2.0 to 42.9 points), so none is shown``."""
    if gap.value is None:
        return f"gap undefined: {gap.undefined}"
    lower, upper = gap.interval.lower, gap.interval.upper
    shown = lower is not None and upper is not None and (lower > 0 or upper < 0)
    return f"gap {points_text(gap.value, sign=True)} points ({interval_text(gap.interval)}), {'so there is one' if shown else 'so none is shown'}"


def position_sentences(evidence: PositionEvidence, alpha: Fraction) -> list[str]:
    """Position bias, what both orders say, and what was left out."""
    bias, orders = evidence.bias, evidence.orders
    if bias.consistency.value is None or bias.net_first_slot_bias.value is None:
        said = [f"Undefined: {bias.consistency.undefined}."]
    else:
        half = f", {bias.half_ties:,} tie in one order only" if bias.half_ties else ""
        said = [
            f"The same answer in both orders: {fraction_text(bias.consistency)}; {bias.follows_first_slot:,} follow the first place, "
            f"{bias.follows_second_slot:,} the second{half}.",
            f"Net towards the first place {points_text(bias.net_first_slot_bias.value, sign=True)} points: {sign_words(bias.test, alpha)}.",
        ]
    if orders.n:
        said.append(
            f"Right in the given order {fraction_text(orders.correct_as_shown)}, swapped {fraction_text(orders.correct_swapped)}, in both "
            f"{fraction_text(orders.correct_both)}; kappa of the two orders {figure(orders.kappa)}.",
        )
    left = [f"{count_of(bias.unusable, 'pair')} without a verdict in both orders"] if bias.unusable else []
    left += [f"{count_of(evidence.one_order, 'record')} in one order only"] if evidence.one_order else []
    said += [f"Left out: {' and '.join(left)}{unreadable_words(evidence.unreadable)}."] if left else []
    return [*said, *([READ_FROM_APPROVALS] if evidence.read_from == APPROVALS else [])]


def unreadable_words(unreadable: Unreadable) -> str:
    """Which choices are none of 1, 2 and tie; "" where all can be read."""
    shown = ", ".join(repr(shortened(choice, _SHOWN)) for choice in unreadable.examples)
    return f"; {count_of(unreadable.count, 'choice')} not readable ({shown})" if unreadable.count else ""


def length_sentence(evidence: LengthEvidence) -> str:
    """Length bias as two error rates, their gap, and what was left out."""
    gap, counts = evidence.bias.gap, evidence.bias.counts
    left = counts.left_out + evidence.without_lengths
    lost = unreadable_words(evidence.unreadable)
    said = f" Left out: {count_of(left, 'case')} with a tie, no choice, or lengths that are equal or missing{lost}." if left else ""
    return (
        f"Picks the longer answer where it is wrong: {fraction_text(gap.first)}; the shorter where that is wrong: {fraction_text(gap.second)}; "
        f"{gap_words(gap)}.{said}"
    )


def self_sentences(evidence: SelfEvidence) -> list[str]:
    """Self-preference: false-positive and true approvals on own and on others' outputs."""
    false, true = evidence.preference.fpr_gap, evidence.preference.tpr_gap
    said = [
        f"False-positive approvals on its own outputs {fraction_text(false.first)}, on others' {fraction_text(false.second)}; {gap_words(false)}.",
        f"Approvals of passing outputs: its own {fraction_text(true.first)}, others' {fraction_text(true.second)}; {gap_words(true)}.",
    ]
    return [*said, *([f"Left out: {count_of(evidence.unlabelled, 'case')} that do not say whose output it is."] if evidence.unlabelled else [])]


def graded_sentences(evidence: GradedEvidence) -> list[str]:
    """What thresholds on the score would do, and how good the score is as an order."""
    sweep = evidence.sweep
    opened = sum(bool(row.gate_open) for row in sweep.rows)
    said = [
        f"{count_of(sweep.n, 'case')} with a score ({sweep.passed:,} pass, {sweep.failed:,} fail): AUC {figure(sweep.auc)}, "
        f"average precision {sweep.average_precision.text}.",
        f"The gate would be open at {opened:,} of {count_of(len(sweep.rows), 'threshold')}"
        + (f"; most passing answers at {decimal(sweep.chosen)} and above, {sweep.note}." if sweep.chosen is not None else "."),
    ]
    return [*said, *([f"Left out: {count_of(evidence.without_score, 'case')} without a score."] if evidence.without_score else [])]


def reliability_sentence(found: Reliability) -> str:
    """How far the score is from being a probability."""
    return (
        f"As a probability that the verifier passes, in {found.bins} bins: off by {decimal(found.ece)} on average (ECE), "
        f"{decimal(found.mce)} at worst (MCE); Brier {decimal(found.brier)} = reliability {decimal(found.reliability)} − "
        f"resolution {decimal(found.resolution)} + uncertainty {decimal(found.uncertainty)}."
    )


def pass_rate_sentence(evidence: PassRate) -> str:
    """What the judge reports, what that comes to once its errors are taken out, and what the verifier says."""
    found = evidence.corrected
    said = f"The judge approves {fraction_text(found.apparent)}; "
    if found.value is None:
        said += f"corrected: undefined, {found.undefined}."
    else:
        clipped = ", cut off at the end of the range" if found.clipped else ""
        said += (
            f"corrected for its errors on {count_of(evidence.calibrated_on, 'other case')}: {percent_text(found.value)}{clipped} "
            f"({percent_text(found.interval.confidence)} interval {corrected_interval(found)})."
        )
    if evidence.known is not None:
        said += f" The verifier passes {fraction_text(evidence.known)}{_HOLDS[evidence.holds]}."
    return said


def pass_rate_cells(part: Part[PassRate]) -> tuple[str, str, str, str, str]:
    """One slice as a row: approved, corrected, interval, what the verifier passes, and on which side of the interval that lies."""
    if part.value is None:
        return str(part.reason), "", "", "", ""
    found, known = part.value.corrected, part.value.known
    corrected = f"undefined: {found.undefined}" if found.value is None else percent_text(found.value)
    interval = "" if found.value is None else corrected_interval(found)
    passes = "" if known is None else fraction_text(known)
    return fraction_text(found.apparent), corrected, interval, passes, {True: "inside", False: "outside", None: ""}[part.value.holds]


def corrected_interval(found: CorrectedRate) -> str:
    """The interval of a corrected rate; one that lies wholly beyond 0 % or 100 % holds no rate at all."""
    empty = found.interval.undefined is None and found.interval.lower == found.interval.upper
    return "empty: no rate from 0 % to 100 % fits those errors" if empty else percent_interval(found.interval)


_HOLDS: Final = {True: ", inside", False: ", outside: here it errs otherwise than elsewhere", None: ""}


def raters_words(found: MultiRaterAgreement) -> str:
    """``Krippendorff's alpha, nominal 0.412 over 419 cases, 2,510 verdicts``."""
    return f"{found.method} {found.value.text} over {count_of(found.items, 'case')}, {count_of(found.ratings, 'verdict')}"


def together_sentences(evidence: JudgesTogether) -> list[str]:
    """Agreement of all judges on the same cases, as raters."""
    fleiss = _agreement("Fleiss' kappa", evidence.fleiss)
    return [f"{count_of(len(evidence.raters), 'judge')} on these cases: {raters_words(evidence.alpha)}; {fleiss}."]


def rater_sentences(evidence: RatersEvidence) -> list[str]:
    """Agreement of the people who labelled these cases: how much a judge can agree with them at best."""
    shown = [f"{shortened(label, _SHOWN)!r} {count_of(count, 'time')}" for label, count in evidence.labels.items()]
    more = f" and {len(shown) - _NAMED:,} more labels" if len(shown) > _NAMED else ""
    figures = [_agreement("Krippendorff's alpha, nominal", evidence.alpha), _agreement("Fleiss' kappa", evidence.fleiss)]
    figures += [] if evidence.ordinal.value is None else [_agreement("Krippendorff's alpha, ordinal", evidence.ordinal)]
    return [
        f"{count_of(evidence.raters, 'rater')} of {count_of(evidence.cases, 'case')}: {'; '.join(figures)}.",
        f"Labels: {', '.join(shown[:_NAMED])}{more}.",
    ]


def _agreement(name: str, found: Part[MultiRaterAgreement]) -> str:
    return f"{name} {found.reason}" if found.value is None else raters_words(found.value)


def history_sentences(evidence: EarlierRound, alpha: Fraction) -> list[str]:
    """What changed since an earlier round: verdicts, rights and wrongs, cases that are others by now, the judge's description."""
    drift = evidence.drift
    said = [drift.verdict(alpha)]
    if drift.verifier is not None and drift.test.n:
        said.append(
            f"By the verifier, {len(drift.verifier.corrected):,} turned right and {len(drift.verifier.spoiled):,} wrong: "
            f"{sign_words(drift.verifier.test, alpha)}.",
        )
    if evidence.reworded:
        named = first_of(evidence.reworded, _NAMED)
        said.append(f"{count_of(len(evidence.reworded), 'case')} with the same id and other texts, left out: {named}.")
    if drift.n and not evidence.by_text:
        said.append("Compared by case id alone: a round without texts cannot show whether the cases are the same.")
    return [*said, changes_sentence(evidence.changes)]


def history_end(history: JudgeHistory) -> list[str]:
    """What to say where there is no earlier round, where one changed, or where older ones were left out."""
    said = [] if history.rounds else ["No earlier round of this workspace has records of this judge."]
    said += [f"Not compared, since their judge records changed after ingest: {', '.join(history.broken)}."] if history.broken else []
    return said + ([f"{count_of(history.unread, 'older round')} with judge records not looked at."] if history.unread else [])


def changes_sentence(changes: tuple[str, ...] | None) -> str:
    """Whether the judge is described as the same one."""
    if changes is None:
        return "Whether it is the same version is not stated in both rounds."
    return f"Its description changed: {'; '.join(changes)}." if changes else "Described as the same version with the same rubric."
