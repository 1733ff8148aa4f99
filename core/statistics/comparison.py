"""One baseline against one candidate on the same items: everything that says how much the difference is worth.

Several runs of an item stay inside the item. The gate reduces them to one outcome by the grid's rule, where an even split
is a pass for the baseline and a fail for the candidate: right for a gate, but under it two equal models with four runs
an item look far apart. So evidence about several runs is *graded*: each item's difference of pass rates, tested by
flipping signs, with a cluster-robust interval. Where all runs of every item agree (one run, or a deterministic
agent) both views are the same and McNemar's exact test with Tango's interval is used. Doing every run three times
over changes none of the verdicts.
"""
from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.errors import RoundError
from core.statistics.arms import ArmRuns, Reducer, flip_table
from core.statistics.clustered import ClusteredMean, cluster_codes, cluster_sums, clustered_mean
from core.statistics.inputs import Level, equal_lengths
from core.statistics.lattice import Lattice
from core.statistics.mean_bootstrap import MeanBootstrap, mean_bootstrap
from core.statistics.noise import NEEDS_TWO_RUNS, UNEVEN_RUNS, NoiseBand, no_band, noise_band
from core.statistics.paired import FlipTable, PairedTest, Test, paired_test, smallest_p
from core.statistics.paired_intervals import newcombe_interval, tango_interval
from core.statistics.power import SmallestGain, smallest_gain, smallest_graded_gain
from core.statistics.probability import counted
from core.statistics.result import Interval, Result
from core.statistics.sign_flip import SignFlipTest, sign_flip_test
from core.statistics.verdict import SIGN_FLIP, Evidence, Gap, Verdict, flip_evidence, verdict_of


@dataclass(frozen=True, slots=True)
class PairedComparison(Result):
    """``view`` says what ``verdict`` rests on: ``flips`` (one outcome an item) or ``graded`` (pass rates over runs, or items
    in clusters).

    ``table``, ``test``, ``newcombe`` and ``tango`` are about the outcomes as the gate reduces them; ``split``: items whose
    runs were split evenly in an arm, which the gate counts against the candidate. ``graded_gain``, ``sign_flip`` (by
    cluster), ``clustered`` and ``bootstrap`` are about pass rates over runs. ``smallest``: what this many items can show
    at the share of flips seen; ``smallest_graded``: the same for pass rates, at the spread seen. ``runs``: fewest and most
    different runs of an item, baseline and candidate.
    """

    n: int
    runs: tuple[tuple[int, int], tuple[int, int]]
    reducer: Reducer
    view: Literal["flips", "graded"]
    table: FlipTable
    split: int
    test: PairedTest
    newcombe: Interval
    tango: Interval
    graded_gain: Fraction
    sign_flip: SignFlipTest
    clustered: ClusteredMean
    bootstrap: MeanBootstrap
    band: NoiseBand
    smallest: SmallestGain
    smallest_graded: float | None
    verdict: Verdict


def compare_arms(
    baseline: ArmRuns, candidate: ArmRuns, *, reducer: Reducer, alpha: Level, confidence: Level, power: Level, test: Test = "exact",
    clusters: Sequence[Hashable] | NDArray[Any] | None = None, names: tuple[str, str] = ("baseline", "candidate"),
    band: NoiseBand | None = None, gaps: Sequence[Gap] = (), seed: int = 0,
) -> PairedComparison:
    """Compare two arms item by item.

    ``clusters``: a label for each item where items share a source; each item is its own cluster otherwise. ``band``: a re-run band
    measured elsewhere, in place of the one from these runs. ``gaps``: further reasons why a claim is unproven. An item that
    the candidate lacks counts as failed. Raises RoundError: ``lengths_differ``, ``empty_holdout``, ``missing_outcome`` (the
    baseline lacks an item); GridError for levels.
    """
    n = equal_lengths(baseline=baseline.items, candidate=candidate.items)
    if len(baseline.absent):
        raise RoundError(
            "missing_outcome", expected="a baseline outcome of every item", got=f"none of {len(baseline.absent)}", remedy="run the baseline on them",
        )
    first, second = baseline.without_copies(), candidate.without_copies()
    table = flip_table(first.reduced(reducer, tie=True), second.reduced(reducer, tie=False))
    differences, band = second.rates().minus(first.rates()), band or band_of(first, second, confidence)
    codes, groups = cluster_codes(np.arange(n) if clusters is None else clusters)
    flips = sign_flip_test(Lattice(np.array(cluster_sums(differences.numerators, codes, groups), dtype=object), differences.denominator), seed=seed)
    clustered = clustered_mean(differences, codes, confidence)
    plain = groups == n and not bool((_mixed(first) | _mixed(second)).any())
    evidence = flip_evidence(_plain_table(first, second), confidence, test) if plain else _graded(differences.mean, n, groups, flips, clustered)
    return PairedComparison(
        n, (_span(first), _span(second)), reducer, "flips" if plain else "graded", table, int((_even(first) | _even(second)).sum()),
        paired_test(table), newcombe_interval(table, confidence), tango_interval(table, confidence),
        differences.mean, flips, clustered, mean_bootstrap(differences, confidence, seed=seed), band,
        smallest_gain(n, Fraction(table.flips, n), alpha=alpha, power=power, test=test),
        smallest_graded_gain(clustered.clustered_se_small_sample, alpha=alpha, power=power),
        verdict_of(evidence, alpha=alpha, names=names, band=band, moved=differences.mean, gaps=gaps),
    )


def _graded(gain: Fraction, n: int, units: int, flips: SignFlipTest, clustered: ClusteredMean) -> Evidence:
    detail = f"{flips.nonzero:,} of {units:,} {'items' if units == n else 'clusters'} differ"
    return Evidence(gain, n, units, flips.p, counted(smallest_p(units)), SIGN_FLIP, clustered.interval, detail)


def _even(arm: ArmRuns) -> Any:
    """Items whose runs are split evenly."""
    return (2 * arm.passes == arm.runs) & (arm.runs > 0)


def _mixed(arm: ArmRuns) -> Any:
    """Items of which some runs pass and some fail."""
    return (arm.passes > 0) & (arm.passes < arm.runs)


def _plain_table(first: ArmRuns, second: ArmRuns) -> FlipTable:
    return flip_table(first.reduced("majority", tie=True), second.reduced("majority", tie=False))


def _span(arm: ArmRuns) -> tuple[int, int]:
    return int(arm.runs.min()), int(arm.runs.max())


def band_of(baseline: ArmRuns, candidate: ArmRuns, confidence: Level) -> NoiseBand:
    """The re-run band of two arms from their own different runs; not measured where runs cover different items, or where no arm
    has two of them."""
    means = baseline.without_copies().run_means(), candidate.without_copies().run_means()
    if means[0] is None or means[1] is None:
        return no_band(UNEVEN_RUNS, confidence)
    if not means[0] or not means[1]:
        return no_band(NEEDS_TWO_RUNS, confidence)
    return noise_band([means[0], means[1]], len(means[0]), len(means[1]), confidence)
