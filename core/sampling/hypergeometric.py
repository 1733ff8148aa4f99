"""Defects among N pairs, seen through n of them drawn without replacement: exact, in integers, nothing rounded.

X, the defects in the sample when D of the N are defective, is hypergeometric: P(X = i) = C(D, i) C(N-D, n-i) / C(N, n).
It is the size of the overlap of two subsets, so the sample and the defects may change places; the smaller of the two is
taken as the sample, which keeps the integers short.

A number of defects is *ruled out* when a population with that many would give a sample this good with probability at most
alpha = 1 - confidence. The bound that is proved is the largest number that is not ruled out: the exact one-sided bound of
Clopper and Pearson, for a finite population (Katz 1953, JASA 48:256-261; Wright 1991, Exact Confidence Bounds when
Sampling from Small Finite Universes, Springer Lecture Notes in Statistics 66).
"""
from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb, floor

from core.statistics.inputs import counts_of, trials_of


def tail(k: int, n: int, defective: int, population: int) -> tuple[int, int]:
    """P(X <= k) as (numerator, denominator), not reduced: X defects in ``n`` of ``population`` pairs, ``defective`` of them bad.

    Each term follows from the one before by a division without remainder:
    T(i+1) = T(i) (D-i) (n-i) / ((i+1) (N-D-n+i+1)).

    >>> tail(0, 5, 1, 10)       # the one bad pair is among the five that were not drawn: 5/10
    (5, 10)
    """
    draws, marked = min(n, defective), max(n, defective)
    first = max(0, draws - (population - marked))
    if k < first:
        return 0, 1
    total = term = comb(marked, first) * comb(population - marked, draws - first)
    for i in range(first, min(k, draws)):
        term = term * (marked - i) * (draws - i) // ((i + 1) * (population - marked - draws + i + 1))
        total += term
    return total, comb(population, draws)


def is_ruled_out(k: int, n: int, defective: int, population: int, alpha: Fraction) -> bool:
    """Whether ``k`` defects in ``n`` pairs rule out that ``defective`` of the ``population`` are bad: P(X <= k) <= alpha."""
    numerator, denominator = tail(k, n, defective, population)
    return numerator * alpha.denominator <= alpha.numerator * denominator


def largest_kept(low: int, high: int, kept: Callable[[int], bool]) -> int:
    """The largest whole number from ``low`` to ``high`` that is kept, where ``low`` is and whatever follows a lost one is lost.

    Steps double from ``low``, so that nothing much larger than the answer is ever tried: large defect counts make large integers.
    """
    step = 1
    while low + step <= high and kept(low + step):
        low, step = low + step, 2 * step
    lost = min(low + step, high + 1)
    while lost - low > 1:
        middle = (low + lost) // 2
        low, lost = (middle, lost) if kept(middle) else (low, middle)
    return low


def defects_bound(k: int, n: int, population: int, alpha: Fraction) -> int:
    """The largest number of defects in the whole population that ``k`` defects in ``n`` pairs do not rule out.

    Without a sample it is the population; with the whole population in the sample it is ``k``, and certain.
    Raises RoundError ``invalid_count`` unless 0 <= k <= n <= population.

    >>> defects_bound(0, 59, 377, Fraction(1, 20))
    17
    """
    trials_of(k, n)
    trials_of(n, population)
    return largest_kept(k, population - n + k, lambda defective: not is_ruled_out(k, n, defective, population, alpha))


def tolerable_defects(population: int, rate: Fraction) -> int:
    """The most defects that a population may have at a defect rate of at most ``rate``: floor(rate N)."""
    return floor(rate * population)


def sample_size(population: int, rate: Fraction, alpha: Fraction) -> int:
    """The smallest n at which a sample without a defect rules out a defect rate above ``rate``.

    Decided at the smallest number of defects that is too many, D = floor(rate N) + 1, since more of them are ruled out
    sooner. Never more than N - D + 1: a sample that large cannot miss all D. 0 where no number of defects is too many.

    >>> [sample_size(n, Fraction(1, 20), Fraction(1, 20)) for n in (0, 10, 100, 377)]
    [0, 10, 39, 54]
    """
    counts_of(population=population)
    too_many = tolerable_defects(population, rate) + 1
    if population == 0 or too_many > population:
        return 0
    return 1 + largest_kept(0, population - too_many, lambda n: not is_ruled_out(0, n, too_many, population, alpha))
