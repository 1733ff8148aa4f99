"""Standard errors of a mean when values share a cluster: rollouts of one task, items about one text, repeated runs.

Values of one cluster are not independent, so only the clusters are counted as independent. Running everything again
adds values and no clusters, and must not make anything look more certain.
"""
from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.statistics.inputs import CONFIDENCE, Level, Score, equal_lengths, level_of
from core.statistics.lattice import Lattice, lattice_of
from core.statistics.result import Interval, Result, no_interval

CLUSTERED_T: Final = "cluster-robust, t"
NEEDS_TWO_CLUSTERS: Final = "one cluster: its spread cannot be told from chance, two are needed"
NO_SPREAD: Final = "not estimable: the clusters do not differ, so the standard error of these values is 0"


def student_quantile(confidence: Level, degrees_of_freedom: int) -> float:
    """t with that much of Student's distribution between -t and t: 4.303 for 95 % and 2 degrees of freedom."""
    from scipy.special import stdtrit  # late: a third of a second that --help does not need

    return float(stdtrit(degrees_of_freedom, float((1 + level_of(confidence)) / 2)))


@dataclass(frozen=True, slots=True)
class ClusteredMean(Result):
    """A mean with standard errors that respect clusters.

    ``clustered_se``^2 = (1/n^2) sum over clusters of (sum of deviations)^2; ``clustered_se_small_sample`` multiplies the
    variance by G/(G - 1) and goes with t at G - 1 degrees of freedom, which makes ``interval``.
    ``se_ignoring_clusters`` is what the values would give if each were independent; ``design_effect`` is the ratio of the
    two variances (below 1 where values of a cluster go against each other, which is legal), None where that is 0.
    """

    n: int
    clusters: int
    mean: Fraction
    se_ignoring_clusters: float | None
    clustered_se: float | None
    clustered_se_small_sample: float | None
    degrees_of_freedom: int | None
    design_effect: float | None
    interval: Interval
    undefined: str | None = None


def cluster_sums(deviations: NDArray[Any], codes: NDArray[np.int64], clusters: int) -> list[int]:
    """Sums of integers by cluster, exact."""
    sums = np.zeros(clusters, dtype=object)
    np.add.at(sums, codes, deviations)
    return [int(value) for value in sums]


def clustered_mean(
    values: Lattice | Iterable[Score], clusters: Sequence[Hashable] | NDArray[Any], confidence: Level = CONFIDENCE,
) -> ClusteredMean:
    """The mean of values with one cluster label each.

    Raises RoundError (``lengths_differ``, ``no_values``, ``non_finite_score``) and GridError (``confidence_out_of_range``).
    Sources: Liang & Zeger 1986, Biometrika 73:13-22; Miller 2024, arXiv:2411.00640; for few clusters Cameron & Miller
    2015, J. Hum. Resour. 50:317-372.

    >>> clustered_mean([1, 1, 0, 0, 1, 1], ["a", "a", "b", "b", "c", "c"]).clusters
    3
    """
    sample, level = values if isinstance(values, Lattice) else lattice_of(values), level_of(confidence)
    n = equal_lengths(values=sample.n, clusters=len(clusters))
    mean, codes, groups = sample.mean, *cluster_codes(clusters)
    if groups == 1:
        nothing = no_interval(level, CLUSTERED_T, NEEDS_TWO_CLUSTERS)
        return ClusteredMean(n, 1, mean, None, None, None, None, None, nothing, NEEDS_TWO_CLUSTERS)
    deviations, unit = sample.deviations(), n * sample.denominator
    single = Fraction(int((deviations**2).sum()), unit**2 * n * (n - 1))
    shared = Fraction(sum(total**2 for total in cluster_sums(deviations, codes, groups)), unit**2 * n**2)
    robust = shared * Fraction(groups, groups - 1)
    return ClusteredMean(
        n, groups, mean, math.sqrt(single), math.sqrt(shared), math.sqrt(robust), groups - 1,
        None if single == 0 else float(shared / single), _interval(mean, robust, groups - 1, level),
    )


def cluster_codes(clusters: Sequence[Hashable] | NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Clusters as 0, 1, ... in order of appearance, and how many there are."""
    known: dict[Hashable, int] = {}
    labels = clusters.tolist() if isinstance(clusters, np.ndarray) else clusters
    codes = np.array([known.setdefault(label, len(known)) for label in labels], dtype=np.int64)
    return codes, len(known)


def _interval(mean: Fraction, variance: Fraction, degrees_of_freedom: int, level: Fraction) -> Interval:
    if variance == 0:
        return no_interval(level, CLUSTERED_T, NO_SPREAD)
    reach = student_quantile(level, degrees_of_freedom) * math.sqrt(variance)
    return Interval(float(mean) - reach, float(mean) + reach, level, f"{CLUSTERED_T} with {degrees_of_freedom} degrees of freedom")
