"""How much a figure moves when nothing changes: the parts of its variance, and the band that re-runs make.

A standard deviation over a few runs is itself uncertain, so the band uses Student's t with the runs' degrees of
freedom; the deviation alone is no band. Runs that agree to the last digit come from a deterministic agent: their band
is *not measured*, it is not 0.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from core.statistics.clustered import student_quantile
from core.statistics.inputs import CONFIDENCE, Level, Score, counts_of, level_of, trials_of
from core.statistics.lattice import lattice_of
from core.statistics.result import Result

NEEDS_TWO_RUNS: Final = "not measured: needs at least two runs of one arm"
DETERMINISTIC: Final = "not measured: the runs agree to the last digit, which a deterministic agent does whatever its noise"
UNEVEN_RUNS: Final = "not measured: the runs did not cover the same items"
NEEDS_TWO_TASKS: Final = "one task has no variance between tasks"
NEEDS_TWO_ROLLOUTS: Final = "one rollout a task has no variance within tasks"


@dataclass(frozen=True, slots=True)
class NoiseBand(Result):
    """Largest difference between two arms that re-runs alone explain at this confidence.

    ``run_sd``: standard deviation over runs (ddof 1), pooled within arms; ``degrees_of_freedom``: runs less arms;
    ``reach`` = t sd sqrt(1/a + 1/b) for a and b runs a side. ``band`` is the same where it was measured, else None with a
    reason in ``undefined``: a reach of 0 is no band.
    """

    runs: tuple[int, ...]
    run_sd: float | None
    degrees_of_freedom: int
    quantile: float | None
    runs_baseline: int
    runs_candidate: int
    reach: float | None
    band: float | None
    confidence: Fraction
    undefined: str | None = None


def no_band(reason: str, confidence: Level = CONFIDENCE, *, runs: Sequence[int] = ()) -> NoiseBand:
    """A band that was not measured, and why."""
    return NoiseBand(tuple(runs), None, 0, None, 0, 0, None, None, level_of(confidence), reason)


def noise_band(
    run_means: Sequence[Iterable[Score]], runs_baseline: int, runs_candidate: int, confidence: Level = CONFIDENCE,
) -> NoiseBand:
    """The band from the mean of each run, a list of runs for each arm (or one list of re-runs of one arm).

    ``runs_baseline`` and ``runs_candidate``: over how many runs each compared figure is averaged. Raises RoundError
    (``non_finite_score``, ``invalid_count``) and GridError (``confidence_out_of_range``).

    >>> round(noise_band([["0.61", "0.63", "0.62"]], 1, 1).band, 6)
    0.060849
    """
    counts_of(runs_baseline=runs_baseline - 1, runs_candidate=runs_candidate - 1)
    level, arms = level_of(confidence), [lattice_of(means) for means in run_means]
    arms = [arm for arm in arms if arm.n]
    runs = tuple(arm.n for arm in arms)
    degrees = sum(runs) - len(arms)
    if degrees == 0:
        return no_band(NEEDS_TWO_RUNS, level, runs=runs)
    squares = sum((Fraction(int((arm.deviations() ** 2).sum()), (arm.n * arm.denominator) ** 2) for arm in arms), Fraction(0))
    quantile = student_quantile(level, degrees)
    if squares == 0:
        return NoiseBand(runs, 0.0, degrees, quantile, runs_baseline, runs_candidate, 0.0, None, level, DETERMINISTIC)
    deviation = math.sqrt(squares / degrees)
    reach = quantile * deviation * math.sqrt(1 / runs_baseline + 1 / runs_candidate)
    return NoiseBand(runs, deviation, degrees, quantile, runs_baseline, runs_candidate, reach, reach, level)


@dataclass(frozen=True, slots=True)
class VarianceParts(Result):
    """Variance of a mean over tasks, split into what differs between tasks and what differs within one.

    ``between`` = ``of_task_means`` less the mean of within / rollouts; a negative one is reported as 0 and ``clipped`` says
    so. ``standard_error`` is that of the mean over tasks. Parts are None with a reason where they cannot be told apart.
    """

    tasks: int
    rollouts: tuple[int, int]
    mean: Fraction
    of_task_means: Fraction | None
    within: Fraction | None
    between: Fraction | None
    clipped: bool
    standard_error: float | None
    undefined: str | None = None


def variance_parts(passes: Sequence[int], rollouts: Sequence[int]) -> VarianceParts:
    """Parts of the variance of pass or fail over tasks with several rollouts each (one task an entry).

    Within: the mean of p (1 - p) k / (k - 1) over tasks. Raises RoundError (``invalid_count``).
    Source: Miller 2024, arXiv:2411.00640.
    """
    for passed, ran in zip(passes, rollouts, strict=True):
        trials_of(passed, ran)
        counts_of(rollouts=ran - 1)
    tasks, span = len(passes), (min(rollouts, default=0), max(rollouts, default=0))
    counts_of(tasks=tasks - 1)
    means = [Fraction(passed, ran) for passed, ran in zip(passes, rollouts, strict=True)]
    mean = sum(means, Fraction(0)) / tasks
    if tasks == 1:
        return VarianceParts(tasks, span, mean, None, None, None, False, None, NEEDS_TWO_TASKS)
    spread = sum(((value - mean) ** 2 for value in means), Fraction(0)) / (tasks - 1)
    error = math.sqrt(spread / tasks)
    if span[0] == 1:
        return VarianceParts(tasks, span, mean, spread, None, None, False, error, NEEDS_TWO_ROLLOUTS)
    inside = [value * (1 - value) * Fraction(ran, ran - 1) for value, ran in zip(means, rollouts, strict=True)]
    within = sum(inside, Fraction(0)) / tasks
    between = spread - sum((value / ran for value, ran in zip(inside, rollouts, strict=True)), Fraction(0)) / tasks
    return VarianceParts(tasks, span, mean, spread, within, max(between, Fraction(0)), between < 0, error)
