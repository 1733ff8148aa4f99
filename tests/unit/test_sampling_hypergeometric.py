"""Defects of a finite population seen through a sample: by hand, by listing every sample, against scipy and published sizes."""
from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from core.errors import CountersignError
from core.sampling.hypergeometric import defects_bound, is_ruled_out, largest_kept, sample_size, tail, tolerable_defects

TWENTIETH = Fraction(1, 20)


def exact_tail(k: int, n: int, defective: int, population: int) -> Fraction:
    return Fraction(*tail(k, n, defective, population))


def test_tails_by_hand() -> None:
    # N = 10, n = 5. D = 1: the bad one is among the 5 left out: 5/10. D = 2: C(8,5)/C(10,5) = 56/252 = 2/9. D = 3: 21/252 = 1/12.
    assert exact_tail(0, 5, 1, 10) == Fraction(1, 2)
    assert exact_tail(0, 5, 2, 10) == Fraction(2, 9)
    assert exact_tail(0, 5, 3, 10) == Fraction(1, 12)
    # D = 2, at most one: 1 - P(both) = 1 - C(2,2) C(8,3)/252 = 1 - 56/252
    assert exact_tail(1, 5, 2, 10) == Fraction(7, 9)
    # D = 6: five that are drawn cannot all be good, only 4 are: P(X <= 0) = 0, P(X <= 1) = 6 C(4,4)/252 = 1/42
    assert exact_tail(0, 5, 6, 10) == 0
    assert exact_tail(1, 5, 6, 10) == Fraction(1, 42)


@pytest.mark.parametrize("population", range(1, 9))
def test_tails_by_listing_every_sample(population: int) -> None:
    for n, defective in itertools.product(range(population + 1), repeat=2):
        seen = [sum(place < defective for place in drawn) for drawn in itertools.combinations(range(population), n)]
        for k in range(-1, n + 1):
            assert exact_tail(k, n, defective, population) == Fraction(sum(x <= k for x in seen), len(seen))


@given(st.data())
def test_tails_against_scipy(data: st.DataObject) -> None:
    population = data.draw(st.integers(1, 2000))
    n, defective = data.draw(st.integers(0, population)), data.draw(st.integers(0, population))
    k = data.draw(st.integers(0, max(n, 1)))
    assert float(exact_tail(k, n, defective, population)) == pytest.approx(hypergeom.cdf(k, population, defective, n), abs=1e-9)


def test_bounds_by_hand() -> None:
    # N = 10, n = 5, none bad (tails above): at alpha = 1/4 two are ruled out (2/9), one is not (1/2); at 1/5 three are (1/12), two are not
    assert defects_bound(0, 5, 10, Fraction(1, 4)) == 1
    assert defects_bound(0, 5, 10, Fraction(1, 5)) == 2
    # equality rules out: P = 2/9 for two
    assert defects_bound(0, 5, 10, Fraction(2, 9)) == 1 and is_ruled_out(0, 5, 2, 10, Fraction(2, 9))
    # one bad in five, at 1/20: D = 5: (1 + 5*5)/252... C(5,0)C(5,5) + C(5,1)C(5,4) = 26 of 252 = .103; D = 6: 6 of 252 = .024
    assert defects_bound(1, 5, 10, TWENTIETH) == 5


@pytest.mark.parametrize("population", [1, 2, 7, 30])
def test_the_whole_population_is_certainty_and_no_sample_proves_nothing(population: int) -> None:
    for k in range(population + 1):
        assert defects_bound(k, population, population, TWENTIETH) == k
    assert defects_bound(0, 0, population, TWENTIETH) == population


@pytest.mark.parametrize(("k", "n", "population"), [(0, 59, 377), (1, 59, 377), (0, 54, 377), (3, 40, 120), (0, 1, 2), (5, 5, 9)])
def test_the_bound_is_the_largest_that_is_not_ruled_out(k: int, n: int, population: int) -> None:
    # each number of defects on its own, from binomial coefficients as the formula writes them
    def probability(defective: int) -> Fraction:
        terms = (comb(defective, i) * comb(population - defective, n - i) for i in range(k + 1))
        return Fraction(sum(terms), comb(population, n))

    kept = [defective for defective in range(population + 1) if k <= defective <= population - n + k and probability(defective) > TWENTIETH]
    assert defects_bound(k, n, population, TWENTIETH) == max(kept)


@pytest.mark.parametrize("population", range(1, 11))
@pytest.mark.parametrize("alpha", [Fraction(1, 20), Fraction(1, 5), Fraction(1, 2)])
def test_the_bound_covers_the_truth_as_often_as_it_says(population: int, alpha: Fraction) -> None:
    for n, defective in itertools.product(range(population + 1), repeat=2):
        covered = sum(
            comb(defective, x) * comb(population - defective, n - x) for x in range(n + 1)
            if x <= defective and n - x <= population - defective and defects_bound(x, n, population, alpha) >= defective
        )
        assert Fraction(covered, comb(population, n)) >= 1 - alpha


# sizes


def test_sizes_by_hand() -> None:
    # N = 10, rate 5 %: one bad pair is too many (floor .5 = 0). Missing it has (10 - n)/10 <= 1/20 only at n = 10.
    assert sample_size(10, TWENTIETH, TWENTIETH) == 10
    # N = 20: two are too many. (20-n)(19-n)/380 <= 1/20 = 19/380: at n = 16 12/380, at n = 15 20/380
    assert sample_size(20, TWENTIETH, TWENTIETH) == 16
    # N = 40: three. (40-n)(39-n)(38-n)/59280 <= 2964/59280: 15*14*13 = 2730 at n = 25, 16*15*14 = 3360 at n = 24
    assert sample_size(40, TWENTIETH, TWENTIETH) == 25


def test_small_and_degenerate_populations() -> None:
    assert sample_size(0, TWENTIETH, TWENTIETH) == 0
    assert sample_size(1, TWENTIETH, TWENTIETH) == 1
    # any rate is tolerated: nothing is too many
    assert sample_size(10, Fraction(1), TWENTIETH) == 0
    # half may be bad: of two, two are too many, and one good pair rules that out
    assert sample_size(2, Fraction(1, 2), TWENTIETH) == 1
    assert [tolerable_defects(population, TWENTIETH) for population in (0, 19, 20, 377, 400)] == [0, 0, 1, 18, 20]


@given(st.integers(1, 600), st.fractions(Fraction(1, 1000), Fraction(9, 10), max_denominator=1000), st.sampled_from([TWENTIETH, Fraction(1, 100)]))
def test_the_size_is_the_smallest_that_proves_the_rate(population: int, rate: Fraction, alpha: Fraction) -> None:
    n = sample_size(population, rate, alpha)
    if n:
        assert Fraction(defects_bound(0, n, population, alpha), population) <= rate
        assert Fraction(defects_bound(0, n - 1, population, alpha), population) > rate


def test_published_sizes_for_detecting_one_of_d() -> None:
    # RSurveillance 0.2.1, manual of n.hypergeo, printed output for 95 %: N = 100, 200, 500, 1000, 10000 with 1 % affected, and N = 80
    # with d = 2, 5, 10. It uses the approximation n = (1 - .05^(1/d)) (N - (d-1)/2), rounded up, which lies at most 2 above the exact size
    printed = {
        (100, 1): 95, (200, 2): 156, (500, 5): 226, (1000, 10): 259, (10000, 100): 296, (80, 2): 63, (80, 5): 37, (80, 10): 21,
    }
    for (population, affected), size in printed.items():
        exact = sample_size(population, Fraction(affected - 1, population), TWENTIETH)
        assert size - 2 <= exact <= size
    # for a large population 59 = ceil(ln .05 / ln .95), the rule that auditors and the judges' page use
    assert sample_size(10**6, TWENTIETH, TWENTIETH) == 59


def test_large_populations_stay_exact() -> None:
    # one in ten thousand of a million: 101 are too many. P(none drawn) from logarithms: (1 - n/N)^101 = .05 near n = 29226
    n = sample_size(10**6, Fraction(1, 10000), TWENTIETH)
    assert abs(n - 29226) < 40
    assert is_ruled_out(0, n, 101, 10**6, TWENTIETH) and not is_ruled_out(0, n - 1, 101, 10**6, TWENTIETH)


@given(st.integers(0, 50), st.integers(0, 60), st.integers(0, 60))
def test_the_search_finds_the_last_one_kept(low: int, span: int, last: int) -> None:
    high, edge = low + span, low + last
    assert largest_kept(low, high, lambda value: value <= edge) == min(high, edge)


@pytest.mark.parametrize(("k", "n", "population"), [(-1, 5, 10), (6, 5, 10), (0, 11, 10), (True, 5, 10), (0, 5, "10")])
def test_counts_that_are_none_are_refused(k: object, n: object, population: object) -> None:
    with pytest.raises((CountersignError, TypeError)) as caught:
        defects_bound(k, n, population, TWENTIETH)  # type: ignore[arg-type]
    assert getattr(caught.value, "code", "invalid_count") == "invalid_count"
