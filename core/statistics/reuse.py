"""What looking at one holdout again and again costs, and mechanisms that limit it.

A use is any evaluation of any candidate on any of the items, promoted or refused. Items are told by what they contain, so
renaming, shuffling or dropping some hides nothing: the caller hands in one digest an item, made of its content.
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from core.errors import GridError, RoundError, Where
from core.statistics.inputs import Level, Score, counts_of, equal_lengths, exact_score, level_of
from core.statistics.ratio import Ratio, counted_ratio
from core.statistics.result import Result

NO_ITEMS: Final = "the suite has no items"
_HALF: Final = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Exposure(Result):
    """How often the items of a suite were looked at before.

    ``looks``: earlier evaluations that share an item; ``full``: those that used every item of this suite;
    ``largest_overlap``: shared items over the size of this suite; ``most_used`` and ``fresh``: looks at the item looked at
    most, and items never looked at.
    """

    items: int
    looks: int
    full: int
    largest_overlap: Ratio
    most_used: int
    fresh: int


def exposure(history: Iterable[Iterable[str]], suite: Iterable[str]) -> Exposure:
    """Earlier looks at a suite. ``history``: the item digests of each earlier evaluation; ``suite``: those of this one.

    >>> exposure([["a", "b", "c"]], ["c", "a"]).full
    1
    """
    items = frozenset(suite)
    shared = [found for look in history if (found := items & frozenset(look))]
    counts = Counter(digest for found in shared for digest in found)
    largest = max((len(found) for found in shared), default=0)
    return Exposure(
        len(items), len(shared), sum(found == items for found in shared), counted_ratio(largest, len(items), undefined=NO_ITEMS),
        max(counts.values(), default=0), len(items) - len(counts),
    )


@dataclass(frozen=True, slots=True)
class LadderStep(Result):
    """What one submission learns: the loss on the board, whether it is its own, and the step it had to beat (None: the first,
    which has nothing to beat).
    """

    released: Fraction
    accepted: bool
    step: Fraction | float | None


def ladder(losses: Iterable[Score], step: Score) -> tuple[LadderStep, ...]:
    """The Ladder with a fixed step: a loss is released only when it beats the last released one by more than the step,
    rounded half up to a multiple of the step. Raises RoundError (``non_finite_score``), GridError (``step_not_positive``).
    Source: Blum & Hardt 2015, arXiv:1502.04585.
    """
    size = exact_score(step, name="step")
    if size <= 0:
        raise GridError("step_not_positive", expected="a step above 0", got=str(step), remedy="state a loss difference", where=Where(field="step"))
    board: Fraction | None = None
    found = []
    for loss in losses:
        value = exact_score(loss, name="loss")
        accepted = board is None or value < board - size
        if accepted:
            board = size * math.floor(value / size + _HALF)
        assert board is not None
        found.append(LadderStep(board, accepted, size))
    return tuple(found)


def parameter_free_ladder(loss_vectors: Iterable[Sequence[Score]]) -> tuple[LadderStep, ...]:
    """The Ladder whose step is the standard error of the loss difference to the last accepted candidate (ddof 1).

    ``loss_vectors``: a loss an item for each candidate, in the order of the looks. The comparison is exact: with D the
    summed improvement, accepted when D > 0 and D^2 (n - 1) > n sum(d^2) - D^2. Raises RoundError (``lengths_differ``,
    ``too_few_items``). Source: Blum & Hardt 2015, arXiv:1502.04585.
    """
    best: list[Fraction] | None = None
    found: list[LadderStep] = []
    for vector in loss_vectors:
        losses = [exact_score(value, name="loss") for value in vector]
        n = len(losses)
        if n < 2:
            raise RoundError("too_few_items", expected="at least two items", got=str(n), remedy="a step needs a spread over items")
        if best is None:
            best = losses
            found.append(LadderStep(sum(losses, Fraction(0)) / n, True, None))
            continue
        equal_lengths(accepted=len(best), candidate=n)
        gains = [old - new for old, new in zip(best, losses, strict=True)]
        total, squares = sum(gains, Fraction(0)), sum((gain**2 for gain in gains), Fraction(0))
        spread = n * squares - total**2
        accepted = total > 0 and total**2 * (n - 1) > spread
        best = losses if accepted else best
        found.append(LadderStep(sum(best, Fraction(0)) / n, accepted, math.sqrt(spread / (n - 1)) / n))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Answer(Result):
    """One answer of Thresholdout: ``value`` None when the budget was gone; ``from_holdout`` where it cost a unit."""

    value: Fraction | None
    from_holdout: bool
    budget_left: int


@dataclass(frozen=True, slots=True)
class Noise(Result):
    """Laplace draws of one query, handed in so that the trace can be replayed: on the holdout gap, on the answer, and on the
    threshold that replaces the one just used.
    """

    gap: Fraction
    answer: Fraction
    threshold: Fraction


def thresholdout(
    means: Sequence[tuple[Score, Score]], noises: Sequence[Noise], *, threshold: Score, budget: int, first_noise: Score,
) -> tuple[Answer, ...]:
    """Answers to (training mean, holdout mean) queries that protect a reused holdout.

    The training mean is the answer unless it differs from the holdout's by more than the noisy threshold; then the answer is
    the holdout mean with noise, and a unit of budget is spent. The noise must come from a recorded seed. Raises
    RoundError (``lengths_differ``, ``invalid_count``). Source: Dwork et al. 2015, Science 349:636-638, arXiv:1506.02629.
    """
    counts_of(budget=budget)
    equal_lengths(queries=len(means), noises=len(noises))
    base = exact_score(threshold, name="threshold")
    limit, found = base + exact_score(first_noise, name="noise"), []
    for (training, holdout), noise in zip(means, noises, strict=True):
        train, held = exact_score(training, name="training"), exact_score(holdout, name="holdout")
        if not budget:
            found.append(Answer(None, False, 0))
        elif abs(held - train) > limit + noise.gap:
            budget -= 1
            limit = base + noise.threshold
            found.append(Answer(held + noise.answer, True, budget))
        else:
            found.append(Answer(train, False, budget))
    return tuple(found)


def winners_curse(items: int, true_rate: Score, candidates: int) -> float:
    """Expected best of k equally good candidates less their true rate: E[max of k Bin(n, p)] / n - p.

    What picking the best of several looks adds to its score by luck alone. Raises RoundError (``invalid_count``) and
    GridError (``confidence_out_of_range``) for a rate outside 0 to 1.
    """
    from scipy.special import bdtr  # late: a third of a second that --help does not need

    counts_of(items=items - 1, candidates=candidates - 1)
    rate = float(level_of(exact_score(true_rate), name="true_rate"))
    # E[max] = sum over x of P(max > x)
    below = bdtr(np.arange(items), items, rate)
    return float((1 - below**candidates).sum()) / items - rate


@dataclass(frozen=True, slots=True)
class TranscriptBound(Result):
    """With probability 1 - delta no released score lies further than ``bound`` from its true rate. At one half or more it
    says nothing (``informative`` False).
    """

    items: int
    rounds: int
    bits: float
    delta: Fraction
    bound: float
    informative: bool


def transcript_bound(items: int, rounds: int, delta: Level, bits: Score | None = None) -> TranscriptBound:
    """sqrt((rounds bits ln 2 + ln(2 / delta)) / (2 items)): a union over everything that could have been released.

    ``bits`` released a round: 1 for pass or fail; log2(items + 1), a whole score, unless given. Raises RoundError
    (``invalid_count``) and GridError. Source: Dwork et al. 2015, arXiv:1506.02629 (description length).

    >>> round(transcript_bound(413, 10, "0.05", bits=1).bound, 3), round(transcript_bound(413, 10, "0.05").bound, 3)
    (0.113, 0.278)
    """
    counts_of(items=items - 1, rounds=rounds)
    level, released = level_of(delta, name="delta"), math.log2(items + 1) if bits is None else float(exact_score(bits, name="bits"))
    bound = math.sqrt((rounds * released * math.log(2) + math.log(2 / level)) / (2 * items))
    return TranscriptBound(items, rounds, released, level, bound, bound < _HALF)
