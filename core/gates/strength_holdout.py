"""What the holdout's outcomes show: tests and intervals of the paired difference, and what so many items could show at all.

Several runs of an item stay inside the item, items of one cluster inside the cluster (``core/statistics/comparison.py``).
Nothing is drawn at random: a distribution that would have to be is left undefined, with that reason.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, cast

from core.gates.figures import (
    interval_members,
    no_interval_members,
    probability_members,
    ratio_members,
    rounded_interval,
    rounded_verdict,
    significant,
)
from core.gates.holdout_rows import ARMS, holdout_rows
from core.gates.strength_rules import NO_CONFIDENCE, Levels
from core.grid import Grid
from core.rounds.folder import Round
from core.statistics.arms import Reducer
from core.statistics.comparison import PairedComparison, compare_arms
from core.statistics.paired import FlipTable, PairedTest, paired_test, smallest_p
from core.statistics.paired_intervals import NEWCOMBE, TANGO
from core.statistics.power import NO_FLIPS, holdout_size
from core.statistics.probability import counted
from core.statistics.ratio import percent_text
from core.statistics.verdict import Verdict, claim_text, points_text

WOULD_BE_DRAWN: Final = "the distribution of these pass rates would have to be drawn at random"
_COUNTS: Final = ("both_pass", "regressions", "fixes", "both_fail")


@dataclass(frozen=True, slots=True)
class HoldoutEvidence:
    """Both arms compared. ``comparison`` is None where the grid sets no levels; ``verdict`` then too, and where a distribution
    would have to be drawn. ``clusters``: independent groups of items, as many as items where none share one."""

    table: FlipTable
    test: PairedTest
    clusters: int
    comparison: PairedComparison | None
    verdict: Verdict | None

    @property
    def dependent(self) -> str | None:
        """Why the items are not independent, or None."""
        return None if self.clusters == self.table.n else f"the {self.table.n:,} items come in {self.clusters:,} clusters"

    @property
    def no_verdict(self) -> str:
        """Why there is no verdict."""
        return NO_CONFIDENCE if self.comparison is None else WOULD_BE_DRAWN

    @property
    def sentence(self) -> str:
        """The verdict, or what the flips are and why there is none."""
        if self.verdict is not None:
            return self.verdict.sentence
        flips = f"{self.table.fixes:,} gained, {self.table.regressions:,} lost, exact {self.test.exact.text()}"
        return f"{claim_text(_gain(self.table), *reversed(ARMS))}: {flips}; no verdict: {self.no_verdict}"


def _gain(table: FlipTable) -> Fraction:
    return Fraction(table.fixes - table.regressions, table.n)


def holdout_evidence(source: Round, outcomes: Mapping[str, Any], grid: Grid, levels: Levels | None) -> HoldoutEvidence:
    """Compare the arms. ``outcomes``: the member of that name in the assessment, so they fit the holdout."""
    table = FlipTable(**{name: outcomes[name] for name in _COUNTS})
    rows = holdout_rows(source)
    clusters, gaps = rows.clusters, rows.gaps
    count = table.n if clusters is None else len(set(clusters))
    if levels is None:
        return HoldoutEvidence(table, paired_test(table), count, None, None)
    compared = compare_arms(
        rows.baseline, rows.candidate, reducer=cast("Reducer", grid.name_of("outcome_run_reducer")), alpha=levels.alpha, confidence=levels.confidence,
        power=levels.power, clusters=clusters, gaps=gaps,
    )
    drawn = compared.view == "graded" and compared.sign_flip.seed is not None
    return HoldoutEvidence(table, compared.test, count, compared, None if drawn else rounded_verdict(compared, levels.alpha, gaps))


def holdout_members(evidence: HoldoutEvidence, outcomes: Mapping[str, Any], grid: Grid, levels: Levels | None) -> dict[str, Any]:
    """The holdout as ``strength.holdout`` states it."""
    table, compared, verdict = evidence.table, evidence.comparison, evidence.verdict
    intervals = {"newcombe": NEWCOMBE, "tango": TANGO}
    return {
        "n": table.n, "runs": {arm: [span["fewest"], span["most"]] for arm, span in sorted(outcomes["runs"].items())}, "clusters": evidence.clusters,
        "view": None if compared is None else compared.view, "split": None if compared is None else compared.split,
        "flips": {name: getattr(table, name) for name in _COUNTS}, "net_gain": ratio_members(table.net_gain),
        "exact": probability_members(evidence.test.exact), "mid_p": probability_members(evidence.test.mid_p),
        "smallest_p": probability_members(counted(smallest_p(table.n))),
        **{
            name: no_interval_members(method, NO_CONFIDENCE) if compared is None else interval_members(rounded_interval(getattr(compared, name)))
            for name, method in intervals.items()
        },
        "tested": None if verdict is None else {
            "test": verdict.evidence.test, "units": verdict.evidence.units, "gain": significant(verdict.evidence.gain),
            "p": probability_members(verdict.evidence.p), "interval": interval_members(verdict.evidence.interval),
        },
        "band": None if compared is None else {"value": significant(compared.band.band), "undefined": compared.band.undefined},
        "regression_cap": grid.text("max_regression_rate"), "smallest_gain": _smallest(compared), "wanted": _wanted(table, grid, levels),
        "standing": None if verdict is None else verdict.standing.value,
        "gaps": [] if verdict is None else [{"code": gap.code, "text": gap.text} for gap in verdict.gaps], "sentence": evidence.sentence,
    }


def _smallest(compared: PairedComparison | None) -> dict[str, Any]:
    if compared is None:
        return {"value": None, "undefined": NO_CONFIDENCE}
    return {"value": significant(compared.smallest.value), "undefined": compared.smallest.undefined}


def _wanted(table: FlipTable, grid: Grid, levels: Levels | None) -> dict[str, Any]:
    """How many items the grid's wanted effect would need, at the share of flips seen here."""
    stated = {"effect": grid.text("wanted_effect"), "power": grid.text("wanted_power")}
    if levels is None:
        return {**stated, "items": None, "undefined": NO_CONFIDENCE}
    share = Fraction(table.flips, table.n)
    if levels.effect > share:
        few = f"only {percent_text(share)} of the items flip here, and a gain of {points_text(levels.effect)} points needs more flips than that"
        return {**stated, "items": None, "undefined": few if table.flips else NO_FLIPS}
    return {**stated, "items": holdout_size(levels.effect, share, alpha=levels.alpha, power=levels.power).n, "undefined": None}
