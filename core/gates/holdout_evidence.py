"""Everything that the Holdout page and ``countersign holdout`` say about the outcomes of one round.

The comparison, its verdict and its figures are those of ``strength_holdout``, which a statement signs; this adds what is shown and
not signed: slices, repeated runs, the bootstrap, and for each check how many items it is from flipping. It decides nothing.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, cast

from core.gates.figures import significant
from core.gates.holdout_rows import holdout_rows
from core.gates.holdout_slices import RunsLine, SliceLine, runs_lines, slice_lines
from core.gates.robustness import Robustness, robustness
from core.gates.strength_holdout import HoldoutEvidence, holdout_evidence, holdout_members
from core.gates.strength_rules import NO_CONFIDENCE, Levels
from core.grid import Grid
from core.rounds.folder import Round
from core.statistics.arms import Reducer
from core.statistics.comparison import PairedComparison
from core.statistics.mean_bootstrap import MeanBootstrap
from core.statistics.probability import counted, level_text
from core.statistics.ratio import fraction_text, percent_text
from core.statistics.result import NO_WIDTH, Interval, as_json
from core.statistics.verdict import points_text

NO_OUTCOMES: Final = "the outcomes do not fit the holdout"
NO_SPREAD: Final = "undefined: the spread of the gain is not estimable"
ITEMS_DRAWN: Final = "not given: it would draw single items, and these come in clusters"
BOOTSTRAP_NOTE: Final = "shown beside the others: at few flips it leaves 0 out too often, so no verdict rests on it"


@dataclass(frozen=True, slots=True)
class HoldoutReport:
    """``stated``: the members that a statement signs. ``levels`` is None where the grid sets none; slices are empty then.

    ``flips``: every check of the round and of its judges' gates with its distance from flipping; ``proofs``: what the evidence
    behind a check can prove, one line each, by check and judge.
    """

    evidence: HoldoutEvidence
    stated: Mapping[str, Any]
    levels: Levels | None
    cap: Fraction
    slices: tuple[SliceLine, ...]
    runs: tuple[RunsLine, ...]
    flips: tuple[Robustness, ...]
    proofs: Mapping[tuple[str, str | None], str]

    def proof(self, flip: Robustness) -> str:
        """What can be proven about a check; empty where nothing is stated."""
        return self.proofs.get((flip.check, flip.judge_id), "")

    @property
    def compared(self) -> PairedComparison | None:
        """The whole comparison; None where the grid sets no levels."""
        return self.evidence.comparison

    @property
    def bootstrap(self) -> MeanBootstrap | None:
        """The paired bootstrap of the gain, where single items may be drawn, and not where all items say the same: every resample is
        then the sample, and an interval without width claims a certainty that no sample gives (known case 25)."""
        return self.compared.bootstrap if self.compared is not None and self.no_bootstrap is None else None

    def as_dict(self) -> dict[str, Any]:
        """JSON members."""
        compared = self.compared
        return {
            "evidence": dict(self.stated), "smallest_graded_gain": None if compared is None else significant(compared.smallest_graded),
            "clustered": None if compared is None else compared.clustered.as_dict(), "band": None if compared is None else compared.band.as_dict(),
            "bootstrap": None if self.bootstrap is None else self.bootstrap.as_dict(), "no_bootstrap": self.no_bootstrap,
            "slices": as_json(self.slices), "runs": as_json(self.runs),
            "checks": [{**flip.as_dict(), "evidence": self.proof(flip)} for flip in self.flips],
        }

    @property
    def no_bootstrap(self) -> str | None:
        """Why there is no bootstrap; None where there is one."""
        if self.compared is None:
            return NO_CONFIDENCE
        if self.evidence.dependent is not None:
            return ITEMS_DRAWN
        return None if self.compared.bootstrap.warning is None else NO_WIDTH

    @property
    def smallest_words(self) -> str:
        """The smallest gain that so many items can show, beside the regression cap."""
        return f"{self._smallest()}; the cap on regressions is {percent_text(self.cap)}"

    def _smallest(self) -> str:
        compared, levels = self.compared, self.levels
        if compared is None or levels is None:
            return f"undefined: {NO_CONFIDENCE}"
        at = f"with {percent_text(levels.power)} power"
        if compared.view == "graded":
            graded = compared.smallest_graded
            return NO_SPREAD if graded is None else f"{points_text(graded)} points {at}, at the spread seen"
        smallest = compared.smallest
        if smallest.value is None:
            return f"undefined {at}: {smallest.undefined}"
        return f"{points_text(smallest.value)} points {at}, where {percent_text(smallest.discordant_share)} of the items flip"

    @property
    def wanted_words(self) -> str:
        """How many items the grid's wanted effect needs."""
        wanted, levels = self.stated["wanted"], self.levels
        if levels is None or wanted["items"] is None:
            return f"undefined: {wanted['undefined']}"
        missing = wanted["items"] - self.evidence.table.n
        more = f"{missing:,} more than these" if missing > 0 else "these are enough"
        reduced = "" if self.compared is None or self.compared.view == "flips" else ", one outcome an item"
        return f"{wanted['items']:,} ({more}) to show {points_text(levels.effect)} points with {percent_text(levels.power)} power{reduced}"

    @property
    def reach_words(self) -> str | None:
        """The honest line where so few items can show nothing at all; None where they can."""
        compared, levels = self.compared, self.levels
        if compared is None or levels is None:
            return None
        evidence = compared.verdict.evidence
        if evidence.smallest.at_most(levels.alpha):
            return None
        many = f"{evidence.units:,} {'item' if evidence.units == evidence.n else 'cluster'}{'' if evidence.units == 1 else 's'}"
        return f"no result on {many} can reach p < {level_text(levels.alpha)}"

    @property
    def tested_words(self) -> list[tuple[str, str]]:
        """Name and words of each test and interval of the gain, those that the verdict rests on first."""
        test, compared = self.evidence.test, self.compared
        flips = [("Exact McNemar", test.exact.text()), ("Mid-p", test.mid_p.text())]
        if compared is None:
            return flips
        flips += [("Tango", interval_words(compared.tango)), ("Newcombe", interval_words(compared.newcombe))]
        if compared.view == "flips":
            return flips
        signs = compared.sign_flip
        drawn = "" if signs.seed is None else f" ({signs.p.method})"
        graded = [("Sign-flip", f"{signs.p.text()}{drawn}"), ("Pass rates", interval_words(compared.clustered.interval))]
        return [*graded, *((name, f"{said}, one outcome an item") for name, said in flips)]

    @property
    def gain_interval_words(self) -> str:
        """The interval that stands beside the net gain, with its method."""
        compared = self.compared
        if compared is None:
            return f"interval undefined: {NO_CONFIDENCE}"
        if compared.view == "graded":
            interval, name = compared.clustered.interval, f"of pass rates over runs, {points_text(compared.graded_gain, sign=True)} points"
        else:
            interval, name = compared.newcombe, "Newcombe"
        return f"{percent_text(interval.confidence)} interval {interval_words(interval)} ({name})"

    @property
    def bootstrap_words(self) -> str:
        """The bootstrap's interval and how it was made, or why there is none."""
        found = self.bootstrap
        if found is None:
            return str(self.no_bootstrap)
        return f"{interval_words(found.percentile)} (percentile, {found.method})"

    @property
    def regression_words(self) -> tuple[str, str]:
        """Regressions over both denominators, each named."""
        table = self.evidence.table
        return (
            f"{fraction_text(table.regression_rate, against=self.cap)} over all items: this rate decides",
            f"{fraction_text(table.regressions_over_baseline_passes)} over the items that the baseline passes",
        )

    @property
    def band_words(self) -> str:
        """The difference that re-runs alone explain."""
        compared = self.compared
        if compared is None:
            return f"undefined: {NO_CONFIDENCE}"
        band = compared.band
        if band.band is None:
            return str(band.undefined)
        degrees = f"t, {band.degrees_of_freedom:,} {'degree' if band.degrees_of_freedom == 1 else 'degrees'} of freedom"
        return f"{points_text(band.band)} points: re-runs alone explain a difference up to that ({degrees})"

    @property
    def error_words(self) -> str:
        """Standard error of the gain, robust to clusters, and what ignoring them would give."""
        compared = self.compared
        if compared is None:
            return f"undefined: {NO_CONFIDENCE}"
        found = compared.clustered
        if not found.clustered_se_small_sample:
            return f"undefined: {found.undefined or found.interval.undefined}"
        many = f"{found.clusters:,} {'items' if found.clusters == found.n else 'clusters'}"
        robust = f"{points_text(found.clustered_se_small_sample)} points over {many}"
        if found.clusters == found.n or found.se_ignoring_clusters is None:
            return robust
        return f"{robust} ({points_text(found.se_ignoring_clusters)} if clusters were ignored)"


def interval_words(interval: Interval) -> str:
    """``+2.3 to +15.4 points``, with signs so that 0 is seen to lie inside; or why there is none."""
    if interval.lower is None or interval.upper is None:
        return f"undefined: {interval.undefined}"
    return f"{points_text(interval.lower, sign=True)} to {points_text(interval.upper, sign=True)} points"


def p_words(p: Fraction, levels: Levels) -> str:
    """A p-value in a column that says p: ``.0135`` or ``< .0001``, never the digits of alpha for another value."""
    return counted(p).text(levels.alpha).removeprefix("p ").removeprefix("= ")


def holdout_report(source: Round, assessment: Mapping[str, Any], grid: Grid) -> HoldoutReport | None:
    """The report of a round under the grid that its assessment document was made under; None where there are no outcomes that fit
    the holdout (:func:`why_no_report` says why)."""
    outcomes = (assessment["holdout"] or {}).get("outcomes")
    if outcomes is None:
        return None
    levels = Levels.of(grid)
    evidence = holdout_evidence(source, outcomes, grid, levels)
    rows, reducer = holdout_rows(source), cast("Reducer", grid.name_of("outcome_run_reducer"))
    graded = evidence.comparison is not None and evidence.comparison.view == "graded"
    return HoldoutReport(
        evidence, holdout_members(evidence, outcomes, grid, levels), levels, grid.fraction("max_regression_rate"),
        () if levels is None else slice_lines(rows, reducer, levels, graded=graded), runs_lines(rows), robustness(assessment, grid),
        _proofs(assessment["strength"]),
    )


def _proofs(strength: Mapping[str, Any]) -> dict[tuple[str, str | None], str]:
    found: dict[tuple[str, str | None], str] = {(check["name"], None): check["text"] for check in strength["checks"]}
    return found | {(check["name"], judge["judge_id"]): check["text"] for judge in strength["judges"] for check in judge["checks"]}


def why_no_report(source: Round) -> str:
    """Why a round has nothing to compare."""
    missing = [part for part in ("holdout", "outcomes") if not source.has(part)]
    return f"not supplied: {', '.join(missing)}" if missing else NO_OUTCOMES
