"""Sizes, smallest gains, exact power, adjusted p-values: oracles power and multiple_comparisons, scipy, statsmodels, the peer."""
from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, multinomial
from statsmodels.stats.multitest import multipletests

from core.errors import GridError, RoundError
from core.statistics.multiple import ADJUSTMENTS, adjusted_p_values, benjamini_hochberg, benjamini_yekutieli, holm
from core.statistics.paired import TESTS, FlipTable, paired_test
from core.statistics.power import (
    NO_FLIPS,
    TOO_SMALL,
    critical_flips,
    exact_power,
    false_alarm_rate,
    holdout_size,
    sampled_holdout_size,
    smallest_gain,
    smallest_sampled_gain,
)

FIXTURES = Path(__file__).parents[1] / "fixtures"
POWER = json.loads((FIXTURES / "oracles/power.json").read_text("utf-8"))
PAIRED = json.loads((FIXTURES / "oracles/paired_tests.json").read_text("utf-8"))
MULTIPLE = json.loads((FIXTURES / "oracles/multiple_comparisons.json").read_text("utf-8"))
PEER = json.loads((FIXTURES / "peers/whileai_stats.json").read_text("utf-8"))
LEVELS = {"alpha": "0.05", "power": "0.8"}
P_VALUES = st.lists(st.integers(0, 1000).map(lambda k: Fraction(k, 1000)), min_size=1, max_size=12)


def label(case: dict) -> str:
    return "-".join(str(value) for value in case["inputs"].values())


@pytest.mark.parametrize("case", POWER["paired_sample_size"], ids=label)
def test_paired_sizes_of_the_oracle(case: dict) -> None:
    given_ = case["inputs"]
    found = holdout_size(given_["difference"], given_["discordant_share"], alpha=given_["alpha"], power=given_["power"])
    assert found.n == case["expected"]["n"] and found.n_real == pytest.approx(case["expected"]["n_real"], abs=1e-9)


@pytest.mark.parametrize("case", POWER["sampled_evaluations"], ids=label)
def test_sampled_sizes_of_the_oracle(case: dict) -> None:
    given_ = case["inputs"]
    design = {
        "between": Fraction(given_["omega2"]), "within": (Fraction(given_["sigma2_a"]), Fraction(given_["sigma2_b"])),
        "samples": (given_["samples_a"], given_["samples_b"]), "alpha": given_["alpha"], "power": given_["power"],
    }
    found = sampled_holdout_size(given_["difference"], **design)
    assert found.n == case["expected"]["n"] and found.n_real == pytest.approx(case["expected"]["n_real"], abs=1e-9)
    assert smallest_sampled_gain(1000, **design) == pytest.approx(case["expected"]["mde_at_n_1000"], abs=1e-9)


def test_a_size_from_a_known_spread_agrees_with_the_peer() -> None:
    entry = PEER["holdout_size_task_std"]
    found = sampled_holdout_size(str(entry["effect"]), between=Fraction(38, 100) ** 2, within=(0, 0), samples=(1, 1), **LEVELS)
    assert found.n == entry["n_tasks"]


@pytest.mark.parametrize("case", POWER["exact_power"], ids=label)
@pytest.mark.parametrize(("test", "name"), [("exact", "exact_mcnemar_power"), ("mid_p", "mid_p_power")])
def test_exact_power_of_the_oracle(case: dict, test: str, name: str) -> None:
    given_ = case["inputs"]
    found = exact_power(given_["n"], given_["fix_probability"], given_["regression_probability"], alpha=given_["alpha"], test=test)
    assert found == pytest.approx(case["expected"][name], abs=1e-9)


@pytest.mark.parametrize("case", PAIRED["false_alarm_rates"]["rows"], ids=label)
def test_false_alarm_rates_of_the_oracle(case: dict) -> None:
    given_, expected = case["inputs"], case["expected"]
    for test, name in (("exact", "mcnemar_exact"), ("mid_p", "mid_p")):
        assert false_alarm_rate(given_["n"], given_["fix_probability"], alpha=given_["nominal"], test=test) == pytest.approx(expected[name], abs=1e-9)


@pytest.mark.parametrize("n", [3, 5, 8, 20, 50])
def test_under_the_null_the_exact_test_moves_at_most_one_time_in_twenty(n: int) -> None:
    """Enumerated over every share of flips up to one item in two each way; the peer's rates were 15.7, 14, 8.3, 9 and 5 %."""
    assert max(false_alarm_rate(n, Fraction(k, 40), alpha="0.05") for k in range(21)) <= 0.05


@pytest.mark.parametrize("case", POWER["edge_cases"], ids=label)
def test_impossible_plans_are_refused(case: dict) -> None:
    with pytest.raises(GridError) as fault:
        holdout_size(case["inputs"]["difference"], case["inputs"]["discordant_share"], **LEVELS)
    assert fault.value.code == case["expected"]["error"]


def test_levels_and_shares_outside_their_range_are_refused() -> None:
    for bad in ({"alpha": "0", "power": "0.8"}, {"alpha": "0.05", "power": "1"}):
        with pytest.raises(GridError):
            holdout_size("0.1", "0.2", **bad)
    for share in ("-0.1", "1.1"):
        with pytest.raises(GridError):
            exact_power(10, share, "0", alpha="0.05")
    with pytest.raises(GridError):
        exact_power(10, "0.6", "0.6", alpha="0.05")
    with pytest.raises(RoundError):
        smallest_gain(0, "0.1", **LEVELS)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("alpha", ["0.05", "1/16", "0.2"])
def test_critical_flips_are_where_the_test_itself_changes_sides(test: str, alpha: str) -> None:
    level = Fraction(alpha)
    for m, limit in enumerate(critical_flips(24, level, test)):
        reaching = [
            t for t in range((m + 1) // 2)
            if m and paired_test(FlipTable(both_pass=0, regressions=t, fixes=m - t, both_fail=0)).of(test).at_most(level)
        ]
        assert limit == max(reaching, default=-1), m


def test_power_by_adding_up_every_table_of_nine_items() -> None:
    chances = multinomial(9, [0.35, 0.1, 0.55])
    total = 0.0
    for fixes in range(10):
        for regressions in range(10 - fixes):
            p = paired_test(FlipTable(both_pass=9 - fixes - regressions, regressions=regressions, fixes=fixes, both_fail=0)).exact
            if fixes > regressions and p.at_most(Fraction(1, 20)):
                total += chances.pmf([fixes, regressions, 9 - fixes - regressions])
    assert exact_power(9, "0.35", "0.1", alpha="0.05") == pytest.approx(total, abs=1e-12)


def test_the_smallest_gain_is_the_one_whose_power_is_the_wanted_one() -> None:
    found = smallest_gain(200, "0.2", **LEVELS)
    d = found.exact
    assert d is not None and found.value == d
    assert exact_power(200, (0.2 + d) / 2, (0.2 - d) / 2, alpha="0.05") == pytest.approx(0.8, abs=1e-9)
    # the approximation is the inverse of the size formula
    assert found.approximate is not None
    assert holdout_size(found.approximate, "0.2", **LEVELS).n_real == pytest.approx(200, abs=1e-6)
    # the exact test is conservative: it needs a little more
    assert found.approximate < d < found.approximate * 1.15


def test_what_no_gain_can_show_is_undefined() -> None:
    five = smallest_gain(5, "0.4", **LEVELS)
    assert five.value is None and five.undefined == TOO_SMALL and five.smallest_p.exact == Fraction(1, 16)
    assert smallest_gain(100, "0", **LEVELS).undefined == NO_FLIPS
    # 2,000 items are enumerated, more are approximated
    large = smallest_gain(10_000, "0.1", **LEVELS)
    assert large.exact is None and large.value == large.approximate
    assert large.value == pytest.approx((1.959964 + 0.841621) * math.sqrt(0.1 / 10_000), rel=2e-3)
    assert json.loads(json.dumps(large.as_dict()))["smallest_p"]["exact"] is None


# several comparisons


@pytest.mark.parametrize("case", MULTIPLE["cases"], ids=lambda case: case["id"])
def test_adjusted_p_values_of_the_oracle(case: dict) -> None:
    p_values, expected = case["inputs"]["p_values"], case["expected"]
    for name in ADJUSTMENTS:
        if "error" in expected:
            with pytest.raises(RoundError) as fault:
                adjusted_p_values(p_values, name)
            assert fault.value.code == expected["error"]
        elif name in expected:
            assert adjusted_p_values(p_values, name) == [Fraction(value) for value in expected[name]]
    if "rejected_holm_at_0.05" in expected:
        assert [p <= Fraction(1, 20) for p in holm(p_values)] == expected["rejected_holm_at_0.05"]
        assert [p <= Fraction(1, 20) for p in benjamini_hochberg(p_values)] == expected["rejected_bh_at_0.05"]


@settings(max_examples=8)     # statsmodels takes a tenth of a second for one list
@given(P_VALUES)
def test_adjusted_p_values_are_those_of_statsmodels_and_scipy(p_values: list[Fraction]) -> None:
    doubles = [float(p) for p in p_values]
    for name, method in zip(ADJUSTMENTS, ("holm", "fdr_bh", "fdr_by"), strict=True):
        assert [float(p) for p in adjusted_p_values(p_values, name)] == pytest.approx(list(multipletests(doubles, method=method)[1]), abs=1e-12)
    assert [float(p) for p in benjamini_yekutieli(p_values)] == pytest.approx(list(false_discovery_control(doubles, method="by")), abs=1e-12)
