"""The holdout slice by slice, corrected for how many slices were looked at; and what repeated runs of an item add.

A slice is tested as the whole is: McNemar and Tango where an item has one outcome in each arm, signs of pass rates by cluster
and a cluster-robust interval where items were run several times or share a cluster.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from core.gates.holdout_rows import HoldoutRows
from core.gates.strength_rules import Levels
from core.statistics.arms import ArmRuns, Reducer
from core.statistics.clustered import cluster_codes, cluster_sums, clustered_mean
from core.statistics.lattice import Lattice
from core.statistics.multiple import adjusted_p_values
from core.statistics.paired import FlipTable, smallest_p
from core.statistics.pass_at_k import PassRate, suite_pass_at_k
from core.statistics.probability import Probability, counted
from core.statistics.result import Result
from core.statistics.sign_flip import sign_flip_test
from core.statistics.slices import flip_tables
from core.statistics.verdict import SIGN_FLIP, Evidence, Standing, flip_evidence, standing_of


@dataclass(frozen=True, slots=True)
class SliceLine(Result):
    """One slice; ``name`` is None for items without one. ``evidence``: gain, p-value and interval of the slice alone.

    ``holm`` and ``benjamini_hochberg``: the p-value adjusted over all slices. ``standing`` rests on Holm's. ``can_reach``: whether any
    result on so few items could reach alpha, before adjustment.
    """

    name: str | None
    table: FlipTable
    evidence: Evidence
    holm: Fraction
    benjamini_hochberg: Fraction
    can_reach: bool
    standing: Standing


def slice_lines(rows: HoldoutRows, reducer: Reducer, levels: Levels, *, graded: bool) -> tuple[SliceLine, ...]:
    """Every slice in name order, items without one last; empty where no row names a slice. ``graded``: the view of the whole."""
    if rows.slices is None:
        return ()
    first, second = rows.baseline.without_copies(), rows.candidate.without_copies()
    tables = flip_tables(first.reduced(reducer, tie=True), second.reduced(reducer, tie=False), rows.slices)
    if graded:
        differences = second.rates().minus(first.rates())
        found = [_graded(rows, name, differences, levels) for name in tables]
    else:
        found = [flip_evidence(table, levels.confidence, "exact") for table in tables.values()]
    raw = [evidence.p.fraction for evidence in found]
    adjusted = zip(adjusted_p_values(raw, "holm"), adjusted_p_values(raw, "benjamini_hochberg"), strict=True)
    return tuple(
        SliceLine(name, table, evidence, holm, bh, evidence.smallest.at_most(levels.alpha), _standing(evidence, holm, levels))
        for (name, table), evidence, (holm, bh) in zip(tables.items(), found, adjusted, strict=True)
    )


def _standing(evidence: Evidence, adjusted: Fraction, levels: Levels) -> Standing:
    return standing_of(replace(evidence, p=Probability(float(adjusted), adjusted)), levels.alpha)


def _graded(rows: HoldoutRows, name: str | None, differences: Lattice, levels: Levels) -> Evidence:
    """Pass rates over runs, by cluster, of the items of one slice."""
    assert rows.slices is not None
    places = np.array([place for place, label in enumerate(rows.slices) if label == name], dtype=np.int64)
    own = Lattice(differences.numerators[places], differences.denominator)
    labels = places if rows.clusters is None else [rows.clusters[place] for place in places]
    codes, groups = cluster_codes(labels)
    flips = sign_flip_test(Lattice(np.array(cluster_sums(own.numerators, codes, groups), dtype=object), own.denominator))
    interval = clustered_mean(own, codes, levels.confidence).interval
    return Evidence(own.mean, own.n, groups, flips.p, counted(smallest_p(groups)), SIGN_FLIP, interval, f"{flips.nonzero:,} of {groups:,} differ")


@dataclass(frozen=True, slots=True)
class RunsLine(Result):
    """pass@k and pass^k of both arms for one k, over their different runs."""

    k: int
    baseline: PassRate
    candidate: PassRate


def runs_lines(rows: HoldoutRows) -> tuple[RunsLine, ...]:
    """k = 1, 2, 4, ... up to the most runs of an item in either arm; empty where every item was run once. A k that some item was
    not run often enough for is undefined in that arm, and says so."""
    arms = [arm.without_copies() for arm in (rows.baseline, rows.candidate)]
    most = max(int(arm.runs.max()) for arm in arms)
    if most <= 1:
        return ()
    first, second = (_counts(arm) for arm in arms)
    return tuple(RunsLine(k, suite_pass_at_k(first, k), suite_pass_at_k(second, k)) for k in _doubling(most))


def _counts(arm: ArmRuns) -> Sequence[tuple[int, int]]:
    return list(zip(arm.runs.tolist(), arm.passes.tolist(), strict=True))


def _doubling(most: int) -> Iterable[int]:
    k, found = 1, []
    while k < most:
        found.append(k)
        k += k
    return [*found, most]
