"""A sample that may stop early: its error and its bounds against every order of a small population, and by a second count."""
from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from math import comb

import pytest

from core.sampling.plan import SamplePlan
from core.sampling.sequential import (
    acceptance_probability,
    accepted_bound,
    arrangements,
    as_good_probability,
    passed_bound,
    pattern_probability,
    sequential_sizes,
)

TWENTIETH, FIFTH, THIRD = Fraction(1, 20), Fraction(1, 5), Fraction(1, 3)


def orders(population: int, defective: int) -> Iterator[tuple[bool, ...]]:
    """Every order in which that many bad pairs can lie."""
    for places in itertools.combinations(range(population), defective):
        yield tuple(place in places for place in range(population))


def plan(population: int, rate: str, confidence: str, sizes: tuple[int, ...], method: str = "sequential") -> SamplePlan:
    return SamplePlan(method, population, rate, confidence, sizes)  # type: ignore[arg-type]


def first_look(sizes: tuple[int, ...], order: tuple[bool, ...]) -> int | None:
    """Which look accepts, straight from the rule."""
    return next((k for k, size in enumerate(sizes) if sum(order[:size]) <= k), None)


def test_patterns_by_hand() -> None:
    # 2 bad of 5. First place bad, second good: 2/5 * 3/4 = 3/10, which is C(3,1)/C(5,2)
    assert pattern_probability(2, 1, 2, 5) == Fraction(3, 10)
    # three named bad places cannot hold two; with 4 bad of 5, two named places cannot both be good
    assert pattern_probability(3, 3, 2, 5) == 0 and pattern_probability(2, 0, 4, 5) == 0


@pytest.mark.parametrize("population", [1, 4, 7])
def test_patterns_by_listing_every_order(population: int) -> None:
    for defective, m in itertools.product(range(population + 1), repeat=2):
        every = list(orders(population, defective))
        for bad in range(m + 1):
            named = tuple(place < bad for place in range(m))
            assert pattern_probability(m, bad, defective, population) == Fraction(sum(order[:m] == named for order in every), len(every))


def test_arrangements_by_hand() -> None:
    # sizes 3, 5, 6. One bad in 5, not accepted at 3: it lies in the first 3: 3 ways. Two bad in 6, neither accepted before: the
    # first in 1..3, the second in 4..5 or both in 1..3: 3*2 + 3 = 9
    assert arrangements((3, 5, 6)) == [1, 3, 9]


@pytest.mark.parametrize("sizes", [(2,), (2, 4), (1, 3, 4), (3, 5, 6), (2, 3, 5, 7)])
def test_acceptance_by_listing_every_order(sizes: tuple[int, ...]) -> None:
    for population in range(sizes[-1], 9):
        for defective in range(population + 1):
            every = list(orders(population, defective))
            accepted = sum(first_look(sizes, order) is not None for order in every)
            assert acceptance_probability(sizes, defective, population) == Fraction(accepted, len(every))
            for m, x in itertools.product(range(sizes[-1] + 1), range(len(sizes) - 1, len(sizes) + 2)):
                good = sum(sum(order[:m]) <= x or first_look(tuple(size for size in sizes if size <= m), order) is not None for order in every)
                # looks after m accept only with at most len(sizes) - 1 <= x bad pairs by m, so they are among these
                assert as_good_probability(sizes, m, x, defective, population) == Fraction(good, len(every))


@pytest.mark.parametrize("rate", [Fraction(1, 10), FIFTH, THIRD, Fraction(3, 5)])
@pytest.mark.parametrize("alpha", [TWENTIETH, FIFTH, Fraction(1, 2)])
def test_the_error_is_what_the_grid_allows_for_every_population_with_too_many(rate: Fraction, alpha: Fraction) -> None:
    for population in range(1, 10):
        sizes = sequential_sizes(population, rate, alpha, 3)
        assert sizes == tuple(sorted(set(sizes))) and sizes[-1] <= population
        too_many = int(rate * population) + 1
        for defective in range(too_many, population + 1):
            every = list(orders(population, defective))
            assert Fraction(sum(first_look(sizes, order) is not None for order in every), len(every)) <= alpha


@pytest.mark.parametrize("method", ["fixed", "sequential"])
@pytest.mark.parametrize(("rate", "confidence"), [("0.2", "0.95"), ("0.34", "0.8"), ("0.5", "0.6"), ("0.15", "0.5")])
def test_the_bound_covers_the_truth_as_often_as_it_says_whatever_the_order(method: str, rate: str, confidence: str) -> None:
    for population in range(1, 10):
        sizes = sequential_sizes(population, Fraction(rate), 1 - Fraction(confidence), 0 if method == "fixed" else 3)
        made = plan(population, rate, confidence, sizes, method)
        bounds: dict[tuple[bool, ...], int] = {}
        for defective in range(population + 1):
            covered = total = 0
            for order in orders(population, defective):
                seen = order[: made.stop(order).judged]
                bounds.setdefault(seen, made.bound(seen))
                assert bounds[seen] >= sum(seen)
                covered += bounds[seen] >= defective
                total += 1
            assert Fraction(covered, total) >= Fraction(confidence)


@pytest.mark.parametrize("method", ["fixed", "sequential"])
def test_stopping_before_the_rule_does_can_only_weaken_the_bound(method: str) -> None:
    population, rate, confidence = 8, "0.3", "0.8"
    sizes = sequential_sizes(population, Fraction(rate), 1 - Fraction(confidence), 0 if method == "fixed" else 2)
    made = plan(population, rate, confidence, sizes, method)
    for defective in range(population + 1):
        for order in orders(population, defective):
            seen = order[: made.stop(order).judged]
            whole = made.bound(seen)
            assert all(made.bound(seen[:length]) >= whole for length in range(len(seen)))


def test_acceptance_proves_the_rate_and_one_look_is_the_fixed_sample() -> None:
    for population in (20, 100, 377):
        tolerable = population // 20
        sizes = sequential_sizes(population, TWENTIETH, TWENTIETH, 3)
        assert all(accepted_bound(sizes, look, population, TWENTIETH) <= tolerable for look in range(len(sizes)))
    # by hand for N = 20 (test_sampling_hypergeometric): 16
    assert sequential_sizes(20, TWENTIETH, TWENTIETH, 0) == (16,)
    assert sequential_sizes(10, TWENTIETH, TWENTIETH, 3) == (10,)      # one bad pair is too many, so no look may tolerate one
    assert sequential_sizes(0, TWENTIETH, TWENTIETH, 3) == () and sequential_sizes(5, Fraction(1), TWENTIETH, 3) == ()


def counted_acceptance(sizes: tuple[int, ...], defective: int, population: int) -> list[Fraction]:
    """Acceptance at each look by walking pair by pair: P(next is bad) = bad left / pairs left. Independent of the closed form."""
    @cache
    def walk(position: int, bad: int, look: int) -> Fraction:
        """The probability that ``look`` is the first to accept, from here."""
        if position in sizes:
            k = sizes.index(position)
            if bad <= k:
                return Fraction(k == look)
            if k == len(sizes) - 1:
                return Fraction(0)
        left = population - position
        hit = Fraction(defective - bad, left)
        worse = walk(position + 1, bad + 1, look) if hit and bad < len(sizes) else Fraction(0)
        return hit * worse + (1 - hit) * walk(position + 1, bad, look)

    return [walk(0, 0, look) for look in range(len(sizes))]


@pytest.mark.parametrize("population", [40, 100])
def test_sizes_spend_half_of_what_is_left_at_each_look(population: int) -> None:
    sizes = sequential_sizes(population, TWENTIETH, TWENTIETH, 2)
    too_many = population // 20 + 1
    spent = counted_acceptance(sizes, too_many, population)
    assert sum(spent) == acceptance_probability(sizes, too_many, population) <= TWENTIETH
    budget = Fraction(0)
    for look, used in enumerate(spent):
        left = TWENTIETH - sum(spent[:look])
        budget = left if look == len(sizes) - 1 else left / 2
        assert used <= budget
        shorter = (*sizes[:look], sizes[look] - 1)
        # one pair fewer would spend more than the look may (or is no look of its own)
        assert shorter[-1] == (sizes[look - 1] if look else 0) or counted_acceptance(shorter, too_many, population)[look] > budget


def test_a_curtailed_sample_of_one_look_by_hand() -> None:
    # N = 10, one look at 5 pairs. The first bad pair at place 3: as good or better is "none in the first 2": D = 5: C(5,2)/C(10,2) = 10/45,
    # D = 7: 3/45 = 1/15, D = 8: 1/45. So at 1/20 seven are not ruled out, at 1/10 six are not (6/45), seven are
    assert passed_bound((5,), 3, 10, TWENTIETH) == 7
    assert passed_bound((5,), 3, 10, Fraction(1, 10)) == 6
    # at place 5: none in the first 4: D = 3: C(7,4)/C(10,4) = 35/210 = 1/6, D = 4: 15/210 = 1/14, D = 5: 5/210 = 1/42
    assert passed_bound((5,), 5, 10, TWENTIETH) == 4
    assert comb(7, 4) == 35 and comb(6, 4) == 15 and comb(5, 4) == 5


def test_a_plan_stops_where_its_rule_says() -> None:
    two = plan(40, "0.05", "0.95", (3, 5))
    good, bad = False, True
    assert two.stop([]).standing == "open" and two.stop([good, good]).standing == "open"
    assert two.stop([good] * 3).look == 0 and two.stop([good] * 3).standing == "met"
    one_late = two.stop([good, bad, good, good, good, good])
    assert (one_late.standing, one_late.judged, one_late.defects, one_late.look) == ("met", 5, 1, 1)
    passed = two.stop([good, bad, good, bad, good])
    assert (passed.standing, passed.judged, passed.defects, passed.look) == ("not_met", 4, 2, None)
    # the fixed sample judges all of its pairs, whatever it finds
    fixed = plan(40, "0.05", "0.95", (4,), "fixed")
    assert fixed.stop([bad, good, good]).standing == "open"
    assert fixed.stop([bad, good, good, good]).standing == "not_met" and fixed.stop([good] * 4).standing == "met"
