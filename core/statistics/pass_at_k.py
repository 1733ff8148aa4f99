"""pass@k (at least one of k samples passes) and pass^k (all of them do), unbiased.

Both are counted over all ways to take k of the n samples at hand: 1 - C(n-c, k)/C(n, k) and C(c, k)/C(n, k). The plug-in
1 - (1 - c/n)^k is biased low and used nowhere. With fewer than k samples a task has no estimate, and then neither
has the suite: leaving such tasks out would choose the tasks by how they were run.
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from core.errors import RoundError, Where
from core.statistics.inputs import trials_of
from core.statistics.result import Result

NO_SAMPLES: Final = "no samples"
NO_TASKS: Final = "no tasks"


@dataclass(frozen=True, slots=True)
class PassRate(Result):
    """An estimate over ``tasks`` tasks for ``k`` samples; ``value`` is None with a reason where there is none.

    ``standard_error``: of the mean over tasks (ddof 1), the tasks being what is independent; None for a single task.
    """

    k: int
    tasks: int
    at_least_one: Fraction | None
    all_of_them: Fraction | None
    standard_error_at_least_one: float | None
    standard_error_all: float | None
    undefined: str | None = None


def _checked(samples: int, passes: int, k: int) -> str | None:
    trials_of(passes, samples)
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise RoundError("invalid_k", expected="an integer of at least 1", got=repr(k), remedy="ask for at least one sample", where=Where(field="k"))
    if samples == 0:
        return NO_SAMPLES
    return f"{k} of {samples} samples cannot be taken" if k > samples else None


def _estimates(samples: int, passes: int, k: int) -> tuple[Fraction, Fraction]:
    ways = math.comb(samples, k)
    return 1 - Fraction(math.comb(samples - passes, k), ways), Fraction(math.comb(passes, k), ways)


def pass_at_k(samples: int, passes: int, k: int) -> PassRate:
    """Both estimates for one task. Raises RoundError (``invalid_count``, ``invalid_k``); undefined for k above the samples.

    Sources: Chen et al. 2021, arXiv:2107.03374 (pass@k); Yao et al. 2024, arXiv:2406.12045 (pass^k).

    >>> pass_at_k(4, 2, 2).at_least_one
    Fraction(5, 6)
    """
    missing = _checked(samples, passes, k)
    if missing is not None:
        return PassRate(k, 1, None, None, None, None, missing)
    return PassRate(k, 1, *_estimates(samples, passes, k), None, None)


def suite_pass_at_k(counts: Iterable[tuple[int, int]], k: int) -> PassRate:
    """Means over tasks; ``counts``: (samples, passes) of each task. Repeating every run changes n and c of a task, never
    the number of tasks. Raises as :func:`pass_at_k`; undefined as soon as one task has fewer than k samples.
    """
    kinds = Counter(counts)
    tasks = sum(kinds.values())
    problems = {kind: reason for kind in kinds if (reason := _checked(*kind, k)) is not None}
    if problems or not tasks:
        short = sum(kinds[kind] for kind in problems)
        return PassRate(k, tasks, None, None, None, None, f"{short} of {tasks} tasks have fewer than {k} samples" if problems else NO_TASKS)
    weighted = [(*_estimates(*kind, k), count) for kind, count in kinds.items()]
    any_of, any_error = _mean([(first, count) for first, _, count in weighted], tasks)
    every, every_error = _mean([(second, count) for _, second, count in weighted], tasks)
    return PassRate(k, tasks, any_of, every, any_error, every_error)


def _mean(weighted: Sequence[tuple[Fraction, int]], n: int) -> tuple[Fraction, float | None]:
    mean = sum((value * count for value, count in weighted), Fraction(0)) / n
    if n == 1:
        return mean, None
    squares = sum((count * (value - mean) ** 2 for value, count in weighted), Fraction(0))
    return mean, math.sqrt(squares / (n * (n - 1)))
