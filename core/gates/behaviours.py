"""Named behaviours over model versions: what a served version and a candidate were measured to do, and whether a claim that
one beats the other is proven.

A figure belongs to a behaviour, a version of the model, a version of the test and whoever graded it. Two figures are
compared item by item, before any rounding, and only where tests, items, prompts, graders and graded shares are the same;
otherwise they are *not comparable* and nothing is subtracted. A claim lists every gap that leaves it unproven. None of
this promotes a version: that takes a round, its gates and a second person.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from core.gates.figures import rounded_verdict
from core.statistics.arms import ArmRuns, Reducer
from core.statistics.comparison import PairedComparison, band_of, compare_arms
from core.statistics.noise import NoiseBand
from core.statistics.paired import Test
from core.statistics.ratio import Ratio, fraction_text, percent_text
from core.statistics.result import Result
from core.statistics.splits import Measured, Mismatch, SplitRate, TotalsDifference, mismatches, not_comparable, totals_difference
from core.statistics.verdict import Gap, Standing, points_text

PROGRAM: Final = "graded by a program"
NO_ITEM_OUTCOMES: Final = "no item outcomes"
NOT_GRADED: Final = Ratio(0, 0, NO_ITEM_OUTCOMES)


@dataclass(frozen=True, slots=True)
class Grader(Result):
    """Who graded. ``agreement``: of a model with people or a verifier, None where nobody measured it. ``gave_reward``: the
    same grader's scores were the training reward of the version it grades.
    """

    kind: Literal["program", "model"]
    judge_id: str | None = None
    agreement: Ratio | None = None
    gave_reward: bool = False

    @property
    def text(self) -> str:
        """Who graded, and how far that can be trusted."""
        if self.kind == "program":
            return PROGRAM
        name = f"judge {self.judge_id}" if self.judge_id else "a judge"
        if self.agreement is None or self.agreement.value is None:
            return f"graded by {name}"
        return f"graded by {name}, right in {fraction_text(self.agreement)}"


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """One behaviour of one version under one test.

    ``items``: ids of every item asked, in the order that ``runs`` numbers them; ``runs`` holds the outcomes that were graded
    (None where only ``totals`` are known); ``asked``: outcomes asked for, graded or not. ``contamination``: test items found
    in the training data, None where nobody looked. ``prompts`` and ``split``: digests, None where not stated.
    """

    behaviour: str
    version: str
    test_version: str
    grader: Grader
    items: tuple[str, ...] = ()
    runs: ArmRuns | None = None
    asked: int = 0
    totals: SplitRate | None = None
    contamination: int | None = None
    prompts: str | None = None
    split: str | None = None

    @property
    def graded(self) -> Ratio:
        """Graded outcomes over those asked for."""
        if self.runs is None:
            return NOT_GRADED
        return Ratio(len(self.runs.item), self.asked, None if self.asked else "nothing was asked")

    @property
    def rate(self) -> Ratio:
        """Passed over graded outcomes (of the totals where there is nothing else)."""
        if self.runs is None:
            return self.totals.rate if self.totals is not None else Ratio(0, 0, "not measured")
        return Ratio(int(self.runs.passed.sum()), len(self.runs.item), None if len(self.runs.item) else "nothing was graded")


@dataclass(frozen=True, slots=True)
class ClaimPolicy(Result):
    """Everything that a claim is held against; the values come from the grid.

    ``min_items``: fewest items, None for no floor beyond what the test itself needs. ``min_agreement``: lowest agreement of a
    judge that grades.
    """

    alpha: Fraction
    confidence: Fraction
    power: Fraction
    min_agreement: Fraction
    min_items: int | None
    reducer: Reducer
    test: Test = "exact"


class ClaimState(StrEnum):
    """Where a comparison of two versions stands."""

    NO_CANDIDATE = "no candidate"
    NOT_MEASURED = "not measured"
    SAME_VERSION = "same version"
    NOT_COMPARABLE = "not comparable"
    NOT_PAIRED = "not paired"
    NOT_SHOWN = "not shown"
    BEATS = "beats"
    TRAILS = "trails"


@dataclass(frozen=True, slots=True)
class BehaviourClaim(Result):
    """One behaviour, served version against candidate. ``proven``: a difference is shown and no gap is left.

    ``mismatches``: why the two are not comparable. ``totals``: what totals alone say, where no items can be paired.
    ``repeated_on``: other tests on which the same was shown.
    """

    behaviour: str
    served: str
    candidate: str | None
    state: ClaimState
    proven: bool
    gaps: tuple[Gap, ...]
    mismatches: tuple[Mismatch, ...]
    comparison: PairedComparison | None
    totals: TotalsDifference | None
    repeated_on: tuple[str, ...]
    sentence: str

    @property
    def gain(self) -> Fraction | None:
        """Candidate minus served, exact; None where nothing may be subtracted."""
        if self.comparison is not None:
            return self.comparison.graded_gain
        return None if self.totals is None else self.totals.difference


def _without_figures(behaviour: str, served: str, candidate: str | None, state: ClaimState, sentence: str) -> BehaviourClaim:
    return BehaviourClaim(behaviour, served, candidate, state, False, (), (), None, None, (), f"{behaviour}: {sentence}")


def claim(
    behaviour: str, served: str, candidate: str | None, *, before: Measurement | None, after: Measurement | None, policy: ClaimPolicy,
    band: NoiseBand | None = None, repeated_on: Sequence[str] = (), seed: int = 0,
) -> BehaviourClaim:
    """Compare ``candidate`` with the ``served`` version on one behaviour.

    ``before`` and ``after``: their measurements, None where there is none. ``band``: a re-run band measured elsewhere.
    Raises RoundError for outcomes that no comparison can use (see ``compare_arms``).
    """
    absent = [str(name) for name, found in ((candidate, after), (served, before)) if found is None]
    lacking = f"{' and '.join(absent)} {'was' if len(absent) == 1 else 'were'}"
    if candidate is None:
        return _without_figures(behaviour, served, None, ClaimState.NO_CANDIDATE, f"{served} is served; no other version was put forward")
    if candidate == served:
        return _without_figures(behaviour, served, candidate, ClaimState.SAME_VERSION, f"{served} is served already; there is nothing to compare")
    if before is None or after is None:
        return _without_figures(behaviour, served, candidate, ClaimState.NOT_MEASURED, f"{lacking} not measured; nothing to compare")
    different = _mismatches(before, after)
    if different:
        gaps = tuple(_standing_gaps(before, after, policy))
        sentence = f"{behaviour}: {not_comparable(different)}"
        return BehaviourClaim(behaviour, served, candidate, ClaimState.NOT_COMPARABLE, False, gaps, different, None, None, (), sentence)
    if before.runs is None or after.runs is None:
        return _not_paired(behaviour, before, after, policy)
    return _compared(behaviour, before, after, policy, band, tuple(repeated_on), seed)


def _measured(one: Measurement, graded: Ratio) -> Measured:
    return Measured(one.split, None, one.prompts, graded, one.test_version)


def _mismatches(before: Measurement, after: Measurement) -> tuple[Mismatch, ...]:
    """Why two measurements may not be subtracted. Totals against items are no mismatch, but a comparison without pairs."""
    names, paired = (before.version, after.version), before.runs is not None and after.runs is not None
    first, second = (_measured(one, one.graded if paired else NOT_GRADED) for one in (before, after))
    found = list(mismatches(first, second, names=names))
    apart = set(before.items) ^ set(after.items)
    if paired and apart:
        counts = f"{len(before.items):,} for {names[0]}, {len(after.items):,} for {names[1]}, {len(apart):,} in one only"
        found.append(Mismatch("different_items", f"different sets of items: {counts}"))
    if (before.grader.kind, before.grader.judge_id) != (after.grader.kind, after.grader.judge_id):
        found.append(Mismatch("different_grader", f"different graders: {before.grader.text} for {names[0]}, {after.grader.text} for {names[1]}"))
    return tuple(found)


def _standing_gaps(before: Measurement, after: Measurement, policy: ClaimPolicy) -> list[Gap]:
    """Gaps that no p-value shows: the judge, the reward, the training data."""
    grader, gaps = after.grader, []
    if grader.kind == "model":
        if grader.agreement is None or grader.agreement.value is None:
            gaps.append(Gap("judge_unmeasured", "agreement of the judge was not measured"))
        elif grader.agreement.value < policy.min_agreement:
            right = fraction_text(grader.agreement, against=policy.min_agreement)
            gaps.append(Gap("judge_agreement_low", f"the judge is right in {right} ({percent_text(policy.min_agreement)} asked)"))
    if grader.gave_reward:
        who = "judge's scores" if grader.kind == "model" else "program's results"
        gaps.append(Gap("reward_was_the_judge", f"the {who} were also the training reward"))
    if after.contamination is None:
        gaps.append(Gap("contamination_unknown", f"nobody looked for the test in the training data of {after.version}"))
    gaps += [
        Gap("contamination", f"{one.contamination:,} test item{'s' if one.contamination > 1 else ''} found in the training data of {one.version}")
        for one in (after, before) if one.contamination
    ]
    return gaps


def _not_paired(behaviour: str, before: Measurement, after: Measurement, policy: ClaimPolicy) -> BehaviourClaim:
    lacking = " and ".join(one.version for one in (after, before) if one.runs is None)
    unpaired = Gap("no_item_outcomes", f"{lacking} came without item outcomes, so nothing can be paired or tested")
    gaps = (unpaired, *_standing_gaps(before, after, policy))
    totals = None if before.totals is None or after.totals is None else totals_difference(after.totals, before.totals)
    moved = "" if totals is None or totals.difference is None else f" by {points_text(totals.difference, sign=True)} points"
    sentence = f"{behaviour}: no result: {after.version} differs from {before.version}{moved}; {'; '.join(gap.text for gap in gaps)}"
    return BehaviourClaim(behaviour, before.version, after.version, ClaimState.NOT_PAIRED, False, gaps, (), None, totals, (), sentence)


def _aligned(one: Measurement, order: Mapping[str, int]) -> ArmRuns:
    """The runs of a measurement with its items numbered as ``order`` says."""
    assert one.runs is not None
    places = np.array([order[name] for name in one.items], dtype=np.int64)
    return ArmRuns(len(order), places[one.runs.item], one.runs.run, one.runs.passed)


def _compared(
    behaviour: str, before: Measurement, after: Measurement, policy: ClaimPolicy, band: NoiseBand | None, repeated_on: tuple[str, ...], seed: int,
) -> BehaviourClaim:
    order = {name: place for place, name in enumerate(before.items)}
    gaps = _standing_gaps(before, after, policy)
    if policy.min_items is not None and len(order) < policy.min_items:
        gaps.insert(0, Gap("fewer_items_than_asked", f"{len(order):,} items ({policy.min_items:,} asked)"))
    first, second = _aligned(before, order), _aligned(after, order)
    reach = band or band_of(first, second, policy.confidence)
    if reach.band is None:
        gaps.append(Gap("no_noise_band", f"re-run band {reach.undefined}"))
    names = before.version, f"{behaviour}: {after.version}"
    compared = compare_arms(
        first, second, reducer=policy.reducer, alpha=policy.alpha, confidence=policy.confidence, power=policy.power, test=policy.test,
        names=names, band=reach, gaps=gaps, seed=seed,
    )
    # what a statement signs is written from rounded figures, and the page says the same
    verdict = rounded_verdict(compared, policy.alpha, gaps, names)
    state = {Standing.BETTER: ClaimState.BEATS, Standing.WORSE: ClaimState.TRAILS, Standing.NOT_SHOWN: ClaimState.NOT_SHOWN}[verdict.standing]
    again = f"; shown again on {', '.join(repeated_on)}" if repeated_on else ""
    sentence = f"{verdict.sentence}; {after.grader.text}{again}"
    return BehaviourClaim(behaviour, before.version, after.version, state, verdict.proven, verdict.gaps, (), compared, None, repeated_on, sentence)
