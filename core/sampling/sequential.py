"""A sample that may stop early, with its error counted exactly.

Pairs are judged in the drawn order. Look k (k = 0, 1, ...) comes after n_k pairs and accepts when at most k of them are
bad; the sample also ends, not accepted, as soon as more are bad than the last look allows. One look is the sample of fixed
size. The sizes are such that, where the defect rate is too high, *any* look accepts with probability at most
alpha = 1 - confidence: each look may spend half of what is left of alpha, the last one all of it.

Everything is counted: of all orders in which D bad pairs can lie among N, how many are accepted where. Whoever has fewer
bad pairs in the same places is accepted no later, so the smallest number of defects that is too many is the worst case,
and outcomes are ordered: accepted at look 0, 1, ..., then not accepted, the later the last tolerated defect was passed the
better. The bound that an outcome proves is the largest D under which an outcome as good or better has a probability above
alpha (stage-wise ordering: Siegmund 1978, Biometrika 65:341-349; curtailed samples: Girshick, Mosteller and Savage 1946,
Annals of Mathematical Statistics 17:13-23).
"""
from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb, perm

from core.sampling.hypergeometric import largest_kept, tail, tolerable_defects

Sizes = tuple[int, ...]
"""n_0 < n_1 < ...: how many pairs are judged at each look; look k accepts with at most k defects."""


def pattern_probability(m: int, bad: int, defective: int, population: int) -> Fraction:
    """The probability that in a random order of the population ``bad`` named places of the first ``m`` hold defects, and the
    others of them none: C(N-m, D-bad) / C(N, D), or the same as D (D-1)... (N-D)(N-D-1)... / (N (N-1)...), whichever is shorter."""
    if defective < bad or defective - bad > population - m:
        return Fraction(0)
    if defective <= m:
        return Fraction(comb(population - m, defective - bad), comb(population, defective))
    return Fraction(perm(defective, bad) * perm(population - defective, m - bad), perm(population, m))


def arrangements(sizes: Sequence[int]) -> list[int]:
    """For each look k, in how many ways k bad pairs can lie among the first n_k so that this look is the first that accepts:
    C(n_k, k) less those that an earlier look accepts, sum over j < k of a_j C(n_k - n_j, k - j).

    >>> arrangements((5, 8))    # one bad pair in the first 8, and not after the first 5: 5 places
    [1, 5]
    """
    found: list[int] = []
    for k, size in enumerate(sizes):
        found.append(comb(size, k) - sum(found[j] * comb(size - sizes[j], k - j) for j in range(k)))
    return found


def acceptance_probability(sizes: Sequence[int], defective: int, population: int) -> Fraction:
    """The probability that one of these looks accepts a population with that many defects."""
    ways = arrangements(sizes)
    return sum(
        (ways[k] * pattern_probability(size, k, defective, population) for k, size in enumerate(sizes)), Fraction(0),
    )


def as_good_probability(sizes: Sequence[int], m: int, x: int, defective: int, population: int) -> Fraction:
    """The probability that a look accepts, or that at most ``x`` of the first ``m`` pairs are bad.

    P(X_m <= x), and for each look j up to m what it accepts with more than x bad pairs by m:
    a_j P(pattern at j) P(more than x - j of the next m - n_j are bad)."""
    total = Fraction(*tail(x, m, defective, population))
    for j, (size, ways) in enumerate(zip(sizes, arrangements(sizes), strict=True)):
        share = pattern_probability(size, j, defective, population) if size <= m else Fraction(0)
        if share:
            total += ways * share * (1 - Fraction(*tail(x - j, m - size, defective - j, population - size)))
    return total


def sequential_sizes(population: int, rate: Fraction, alpha: Fraction, most: int) -> Sizes:
    """The sizes of a sample that tolerates up to ``most`` defects; fewer where the population tolerates fewer.

    Empty where no number of defects is too many. One look gives the size of the fixed sample.

    >>> sequential_sizes(377, Fraction(1, 20), Fraction(1, 20), 3)
    (65, 99, 132, 154)
    """
    too_many = tolerable_defects(population, rate) + 1
    if population == 0 or too_many > population:
        return ()
    sizes: Sizes = ()
    spent, last = Fraction(0), min(most, too_many - 1)
    for k in range(last + 1):
        before = sizes[-1] if sizes else 0
        budget = alpha if k == last else spent + (alpha - spent) / 2
        size = _next_size(sizes, before, budget - spent, too_many, population)
        sizes = (*sizes, size)
        spent += arrangements(sizes)[k] * pattern_probability(size, k, too_many, population)
    return sizes


def _next_size(sizes: Sizes, before: int, budget: Fraction, too_many: int, population: int) -> int:
    """The smallest size after ``before`` at which the next look accepts ``too_many`` defects with at most ``budget``."""
    k = len(sizes)
    # the bad pairs of look k lie where look k - 1 did not accept them, whatever the size of look k
    ways = arrangements((*sizes, before))[k]

    def kept(size: int) -> bool:
        return ways * pattern_probability(size, k, too_many, population) > budget

    # after this size a population with so many defects has more than k of them in the sample for certain
    return largest_kept(before, population - too_many + k, kept) + 1


def accepted_bound(sizes: Sequence[int], look: int, population: int, alpha: Fraction) -> int:
    """The largest number of defects that acceptance at that look does not rule out."""
    return largest_kept(
        look, population - sizes[look] + look,
        lambda defective: acceptance_probability(sizes[: look + 1], defective, population) > alpha,
    )


def passed_bound(sizes: Sequence[int], m: int, population: int, alpha: Fraction) -> int:
    """The largest number of defects not ruled out by a sample that ended with one defect too many at pair ``m``: one with at
    most the tolerated number among the first m - 1, or an accepted one, would have been as good."""
    tolerated = len(sizes) - 1
    found = largest_kept(
        tolerated, population - m + tolerated + 1,
        lambda defective: as_good_probability(sizes, m - 1, tolerated, defective, population) > alpha,
    )
    return max(found, tolerated + 1)
