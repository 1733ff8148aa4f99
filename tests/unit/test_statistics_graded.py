"""Graded differences: exact lattices, the sign-flip test, the bootstrap that is counted instead of drawn."""
from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap, permutation_test

from core.errors import GridError, RoundError
from core.statistics import mean_bootstrap as counted_bootstrap
from core.statistics import sign_flip
from core.statistics.lattice import lattice_of, lattice_of_counts
from core.statistics.mean_bootstrap import ZERO_WIDTH, flip_bootstrap, mean_bootstrap, polynomial_power
from core.statistics.paired import FlipTable, paired_test
from core.statistics.sign_flip import sign_flip_test

FIXTURES = Path(__file__).parents[1] / "fixtures"
ORACLE = json.loads((FIXTURES / "oracles/paired_tests.json").read_text("utf-8"))
PEER = json.loads((FIXTURES / "peers/whileai_stats.json").read_text("utf-8"))
QUARTERS = st.lists(st.integers(-4, 4), min_size=1, max_size=9)


# lattices


def test_values_are_taken_as_written() -> None:
    # as doubles .1 + .2 - .3 is 5.6e-17; as written it is 0
    assert lattice_of([0.1, 0.2, -0.3]).mean == 0
    mixed = lattice_of([True, Fraction(1, 3), "0.25", 0])
    assert mixed.denominator == 12 and mixed.numerators.tolist() == [12, 4, 3, 0] and mixed.mean == Fraction(19, 48)
    assert lattice_of(np.array([0.5, 0.25, 0.5])).mean == Fraction(5, 12)
    assert lattice_of([np.int64(1), np.float64(0.1), np.bool_(True)]).mean == Fraction(7, 10)
    assert lattice_of(np.array([True, False])).mean == Fraction(1, 2)


def test_long_values_leave_64_bit_integers_and_stay_exact() -> None:
    values = [1e300, -1e300, 1e-300]
    assert lattice_of(values).mean == Fraction(1, 3 * 10**300)
    assert lattice_of([2**61, 2**61, 2**61]).total == 3 * 2**61


def test_differences_and_counts() -> None:
    before = lattice_of_counts(np.array([1, 0, 3]), np.array([4, 2, 3]))
    after = lattice_of_counts(np.array([2, 2, 0]), np.array([4, 2, 3]))
    # 2/4 - 1/4, 2/2 - 0/2, 0/3 - 3/3
    assert after.minus(before).mean == Fraction(1, 4) / 3
    assert after.minus(before).numerators.tolist() == [1, 4, -4]


@pytest.mark.parametrize(("values", "code"), [
    ([float("nan")], "non_finite_score"), (["1e999999999"], "non_finite_score"), ([None], "non_finite_score"), ([], "no_values"),
])
def test_what_is_no_number_is_refused(values: list, code: str) -> None:
    with pytest.raises(RoundError) as fault:
        sign_flip_test(values)
    assert fault.value.code == code
    with pytest.raises(RoundError):
        lattice_of_counts(np.array([2]), np.array([1]))


# sign flips


@pytest.mark.parametrize("case", ORACLE["sign_flip_cases"], ids=lambda case: case["id"])
def test_sign_flip_of_the_oracle(case: dict) -> None:
    found = sign_flip_test(case["inputs"]["task_differences"])
    assert found.mean == Fraction(case["expected"]["mean"])
    assert found.p.exact == Fraction(case["expected"]["sign_flip_exact_two_sided"]["exact"])
    assert found.seed is None


@given(QUARTERS)
def test_every_route_counts_what_all_sign_patterns_say(quarters: list[int]) -> None:
    observed = abs(sum(quarters))
    reached = sum(abs(sum(s * q for s, q in zip(signs, quarters, strict=True))) >= observed for signs in product((1, -1), repeat=len(quarters)))
    expected = Fraction(reached, 2 ** len(quarters))
    assert sign_flip_test([Fraction(q, 4) for q in quarters]).p.exact == expected
    sizes = np.array([abs(q) for q in quarters if q])
    if len(sizes) and observed:
        assert sign_flip._share_enumerated(sizes, observed) == expected
        assert sign_flip._share_counted(sizes, int(sizes.sum()), observed) == expected
        assert sign_flip._share_inverted(sizes, int(sizes.sum()), observed) == pytest.approx(float(expected), abs=1e-12)


def test_with_one_outcome_a_task_it_is_the_exact_mcnemar_test() -> None:
    differences = [1] * 9 + [-1] + [0] * 90
    flips = FlipTable(both_pass=69, regressions=1, fixes=9, both_fail=21)
    assert sign_flip_test(differences).p.exact == paired_test(flips).exact.exact == Fraction(11, 512)


def test_scores_without_a_grid_are_enumerated_or_drawn_with_a_stated_seed() -> None:
    scores = np.random.default_rng(5).normal(0.4, 1, size=12)
    few = sign_flip_test(scores)
    independent = permutation_test((scores, np.zeros(12)), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", vectorized=True)
    assert few.p.value == pytest.approx(independent.pvalue, abs=1e-9) and few.seed is None
    many = np.random.default_rng(6).normal(0.2, 1, size=60)
    drawn = sign_flip_test(many, seed=7, draws=4000)
    assert drawn.seed == 7 and drawn.p.method == "4,000 random sign patterns, seed 7"
    assert drawn.p.exact is not None and drawn.p.exact.denominator in {d for d in range(1, 4002) if 4001 % d == 0}
    # the sum is nearly normal: p about 2 (1 - Phi(|S| / sqrt(sum d^2))), four standard errors of 4,000 draws is .03
    z = abs(many.sum()) / math.sqrt((many**2).sum())
    assert drawn.p.value == pytest.approx(math.erfc(z / math.sqrt(2)), abs=0.03)
    assert sign_flip_test(many, seed=7, draws=4000) == drawn and sign_flip_test(many, seed=8, draws=4000).p != drawn.p


def test_ten_thousand_graded_tasks_are_inverted_not_drawn() -> None:
    quarters = np.random.default_rng(3).integers(-4, 5, size=10_000)
    found = sign_flip_test(quarters)
    assert found.seed is None and "inversion" in found.p.method
    z = abs(int(quarters.sum())) / math.sqrt(int((quarters**2).sum()))
    assert found.p.value == pytest.approx(math.erfc(z / math.sqrt(2)), abs=0.01)
    # every task the same way: far below what doubles resolve, and said so instead of 0
    assert sign_flip_test(np.full(10_000, 3)).p.value <= 1e-12


@pytest.mark.parametrize("entry", PEER["small_n_contradiction (PEER-BUG)"], ids=lambda entry: str(entry["n_tasks"]))
def test_a_few_tasks_that_all_move_alike_are_what_their_number_can_show(entry: dict) -> None:
    """Every task from 1/4 to 2/4: p is 2 / 2^n, so three to five tasks show nothing, whatever an interval without width says."""
    found = sign_flip_test(["0.25"] * entry["n_tasks"])
    assert found.p.exact == Fraction(2, 2 ** entry["n_tasks"])
    assert found.p.at_most(Fraction(1, 20)) is (entry["n_tasks"] >= 6)


# the bootstrap


@pytest.mark.parametrize("case", ORACLE["cases"], ids=lambda case: case["id"])
def test_bootstrap_of_the_oracle(case: dict) -> None:
    expected, found = case["expected"]["ideal_bootstrap_95"], flip_bootstrap(FlipTable(**case["inputs"]))
    assert [found.percentile.lower, found.percentile.upper] == [Fraction(end) for end in expected["percentile"]]
    assert [found.bca.lower, found.bca.upper] == [Fraction(end) for end in expected["bca"]]
    assert found.bias == pytest.approx(expected["z0"], abs=1e-9) and found.acceleration == pytest.approx(expected["acceleration"], abs=1e-9)
    assert found.levels == pytest.approx(expected["adjusted_levels"], abs=1e-9)
    assert (found.warning == ZERO_WIDTH) is ("warning" in expected)
    assert found.seed is None


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=5))
def test_percentiles_are_those_of_all_resamples(values: list[int]) -> None:
    n = len(values)
    sums = Counter(sum(draw) for draw in product(values, repeat=n))
    running, ends = 0, {}
    for total in sorted(sums):
        running += sums[total]
        for level in (Fraction(1, 40), Fraction(39, 40)):
            if Fraction(running, n**n) >= level and level not in ends:
                ends[level] = Fraction(total, n)
    found = mean_bootstrap(values)
    assert (found.percentile.lower, found.percentile.upper) == (ends[Fraction(1, 40)], ends[Fraction(39, 40)])


def test_powers_of_polynomials_by_plain_multiplication() -> None:
    for coefficients in ([1, 1], [3, 0, 2], [2, 5, 0, 1]):
        plain = [1]
        for power in range(6):
            assert polynomial_power(coefficients, power) == plain
            product_ = [0] * (len(plain) + len(coefficients) - 1)
            for i, a in enumerate(plain):
                for j, b in enumerate(coefficients):
                    product_[i + j] += a * b
            plain = product_


def test_inversion_gives_the_counted_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(2).integers(-4, 5, size=80)
    exact = mean_bootstrap(values)
    monkeypatch.setattr(counted_bootstrap, "_BITS", 0)
    inverted = mean_bootstrap(values)
    assert "counted" in exact.method and "inversion" in inverted.method
    assert (inverted.percentile.lower, inverted.percentile.upper) == (exact.percentile.lower, exact.percentile.upper)
    assert (inverted.bca.lower, inverted.bca.upper) == (exact.bca.lower, exact.bca.upper)


def test_scores_without_a_grid_are_drawn_and_agree_with_scipy() -> None:
    scores = np.random.default_rng(9).normal(0.3, 1, size=400)
    found = mean_bootstrap(scores, seed=11, draws=20_000)
    assert found.seed == 11 and found.method == "20,000 resamples drawn with seed 11"
    other = bootstrap((scores,), np.mean, n_resamples=20_000, method="BCa", rng=1).confidence_interval
    # the mean's standard error is .05; quantiles of 20,000 draws are good to a few hundredths of it
    assert (float(found.bca.lower), float(found.bca.upper)) == pytest.approx((other.low, other.high), abs=0.004)
    assert mean_bootstrap(scores, seed=11, draws=20_000) == found


def test_a_confidence_outside_zero_to_one_is_refused() -> None:
    with pytest.raises(GridError):
        mean_bootstrap([0, 1], "1")


def test_ordinary_bootstraps_of_the_peer_that_drew_at_random_lie_on_attained_values_beside_ours() -> None:
    for entry in PEER["bootstrap_ci"]:
        if entry["ci"] is None or len(set(entry["values"])) == 1:
            continue
        ours = mean_bootstrap(entry["values"]).percentile
        # 2,000 draws: at most the neighbouring attained value (steps of .25/6 and .5/3, .1/4)
        assert (float(ours.lower), float(ours.upper)) == pytest.approx(entry["ci"], abs=0.06)
