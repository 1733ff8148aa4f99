"""What a paired comparison shows, as a word and as a sentence that names every gap.

The pinned rules decide about a round; this says what the evidence behind them is worth. *Shown* needs the test to reach
alpha and the interval to lie on one side of 0, and, where re-runs were measured, a difference outside their band.
Anything less leaves a claim *unproven*, with each reason.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

from core.settings import SETTINGS
from core.statistics.inputs import Level, level_of
from core.statistics.noise import NoiseBand
from core.statistics.paired import FlipTable, Test, paired_test, smallest_p
from core.statistics.paired_intervals import excludes_zero, tango_interval
from core.statistics.probability import Probability, level_text
from core.statistics.ratio import MINUS, percent_text, rounded_decimal
from core.statistics.result import Interval, Result
from core.text import count_of

_PERCENT: Final[int] = SETTINGS["display"]["percent_base"]
_POINT_DECIMALS: Final[int] = SETTINGS["statistics"]["point_decimals"]
TEST_NAMES: Final[dict[Test, str]] = {"exact": "exact", "mid_p": "mid-p"}
SIGN_FLIP: Final = "sign-flip"


class Standing(StrEnum):
    """The three verdict words, shown beside the pinned gate's."""

    BETTER = "shown better"
    WORSE = "shown worse"
    NOT_SHOWN = "not shown"


@dataclass(frozen=True, slots=True)
class Gap(Result):
    """One reason why a claim is unproven."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Evidence(Result):
    """What a verdict rests on: the gain of ``n`` items in ``units`` independent clusters, a p-value with the name of its test
    and the smallest one that so many units can reach, and an interval. ``detail``: the flips in words, where there are any.
    """

    gain: Fraction
    n: int
    units: int
    p: Probability
    smallest: Probability
    test: str
    interval: Interval
    detail: str


@dataclass(frozen=True, slots=True)
class Verdict(Result):
    """``standing`` is what the numbers alone show; ``gaps`` is everything that keeps the claim from being proven, also
    what numbers cannot see (an unmeasured judge, say). ``sentence`` says all of it. ``moved``: the difference that was
    held against the re-run band.
    """

    standing: Standing
    claim: str
    evidence: Evidence
    alpha: Fraction
    band: NoiseBand | None
    moved: Fraction
    gaps: tuple[Gap, ...]
    sentence: str

    @property
    def proven(self) -> bool:
        """Whether a difference is shown and nothing speaks against the claim."""
        return self.standing is not Standing.NOT_SHOWN and not self.gaps


def points_text(value: Fraction | float, *, sign: bool = False) -> str:
    """A rate difference in points, ``20.0``: more decimals where one would read as 0.0, and ``+`` when asked for."""
    exact, digits = Fraction(value) * _PERCENT, _POINT_DECIMALS
    while exact and not rounded_decimal(exact, digits):
        digits += 1
    text = format(rounded_decimal(exact, digits), "f").replace("-", MINUS)
    return f"+{text}" if sign and exact > 0 else text


def interval_text(interval: Interval) -> str:
    """``95 % interval 2.3 to 15.4 points``, or why there is none."""
    if interval.lower is None or interval.upper is None:
        return f"no interval: {interval.undefined}"
    return f"{percent_text(interval.confidence)} interval {points_text(interval.lower)} to {points_text(interval.upper)} points"


def claim_text(gain: Fraction, candidate: str, baseline: str) -> str:
    """What the point estimate says, with names."""
    if not gain:
        return f"{candidate} and {baseline} pass equally often"
    return f"{candidate} {'beats' if gain > 0 else 'trails'} {baseline} by {points_text(abs(gain))} points"


def inside_band(moved: Fraction, band: NoiseBand | None) -> bool:
    """Whether re-runs alone explain a difference; never where their band was not measured."""
    return band is not None and band.band is not None and abs(moved) <= Fraction(band.band)


def standing_of(evidence: Evidence, alpha: Fraction, band: NoiseBand | None = None, moved: Fraction | None = None) -> Standing:
    """The verdict word."""
    shift = evidence.gain if moved is None else moved
    if not evidence.gain or not evidence.p.at_most(alpha) or not excludes_zero(evidence.interval) or inside_band(shift, band):
        return Standing.NOT_SHOWN
    return Standing.BETTER if evidence.gain > 0 else Standing.WORSE


def flip_evidence(table: FlipTable, confidence: Level, test: Test) -> Evidence:
    """Evidence of one outcome an item: McNemar's test and Tango's interval."""
    detail = f"{table.fixes:,} gained, {table.regressions:,} lost" if table.flips else "no item flipped"
    smallest = Probability(float(smallest_p(table.n, test)), smallest_p(table.n, test))
    return Evidence(
        Fraction(table.fixes - table.regressions, table.n), table.n, table.n, paired_test(table).of(test), smallest, TEST_NAMES[test],
        tango_interval(table, confidence), detail,
    )


def _size(evidence: Evidence) -> str:
    clusters = "" if evidence.units == evidence.n else f" in {count_of(evidence.units, 'cluster')}"
    return f"n = {evidence.n:,}{clusters}"


def evidence_gaps(evidence: Evidence, alpha: Fraction, band: NoiseBand | None, moved: Fraction) -> list[Gap]:
    """What the numbers leave open. Too few items comes first and stands for the p-value and interval that follow from it."""
    gaps = []
    if evidence.smallest.fraction > alpha:
        units = count_of(evidence.units, "item" if evidence.units == evidence.n else "cluster")
        gaps.append(Gap("too_few_items", f"{_size(evidence)} (no result on {units} can reach p < {level_text(alpha)})"))
    else:
        if not evidence.p.at_most(alpha):
            gaps.append(Gap("not_significant", f"{evidence.test} {evidence.p.text(alpha)} does not reach {level_text(alpha)}"))
        if evidence.interval.undefined is not None:
            gaps.append(Gap("no_interval", interval_text(evidence.interval)))
        elif not excludes_zero(evidence.interval):
            gaps.append(Gap("interval_includes_zero", f"{interval_text(evidence.interval)} includes 0"))
    if moved and band is not None and band.band is not None and inside_band(moved, band):
        gaps.append(Gap("inside_noise_band", f"{points_text(moved, sign=True)} points lie inside the re-run band of {points_text(band.band)} points"))
    return gaps


def verdict_of(
    evidence: Evidence, *, alpha: Level, names: tuple[str, str] = ("baseline", "candidate"), band: NoiseBand | None = None,
    moved: Fraction | None = None, gaps: Sequence[Gap] = (),
) -> Verdict:
    """The verdict on evidence.

    ``names``: baseline and candidate as they are to be called. ``band``: the re-run band where runs were repeated, ``moved``
    the difference of run averages to hold against it (the gain unless given). ``gaps``: further reasons why the claim is
    unproven. Raises GridError for an alpha outside 0 to 1.
    """
    level, shift = level_of(alpha, name="alpha"), evidence.gain if moved is None else moved
    found = [*evidence_gaps(evidence, level, band, shift), *gaps]
    claim = claim_text(evidence.gain, names[1], names[0])
    return Verdict(standing_of(evidence, level, band, shift), claim, evidence, level, band, shift, tuple(found), _sentence(claim, evidence, found))


def paired_verdict(
    table: FlipTable, *, alpha: Level, confidence: Level, test: Test = "exact", names: tuple[str, str] = ("baseline", "candidate"),
    band: NoiseBand | None = None, gaps: Sequence[Gap] = (),
) -> Verdict:
    """Verdict on one table of flips. Arguments and errors as in :func:`verdict_of`.

    >>> paired_verdict(FlipTable(both_pass=3, regressions=0, fixes=1, both_fail=1), alpha="0.05", confidence="0.95").sentence
    'unproven: candidate beats baseline by 20.0 points; n = 5 (no result on 5 items can reach p < .05)'
    """
    return verdict_of(flip_evidence(table, confidence, test), alpha=alpha, names=names, band=band, gaps=gaps)


def _sentence(claim: str, evidence: Evidence, gaps: Sequence[Gap]) -> str:
    words = [gap.text for gap in gaps]
    if not gaps:
        return f"{claim}; {_size(evidence)}, {evidence.test} {evidence.p.text()}, {interval_text(evidence.interval)}"
    if not evidence.gain:
        return f"{claim}: {evidence.detail}; {_size(evidence)}, {interval_text(evidence.interval)}"
    if gaps[0].code != "too_few_items":
        words.insert(0, _size(evidence))
    return f"unproven: {claim}; {'; '.join(words)}"
