"""Cluster-robust errors, variance parts, the re-run band, pass@k: oracles clustered_errors and pass_at_k, statsmodels, the peer."""
from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from core.errors import GridError, RoundError
from core.statistics.clustered import CLUSTERED_T, NEEDS_TWO_CLUSTERS, NO_SPREAD, clustered_mean, student_quantile
from core.statistics.noise import (
    DETERMINISTIC,
    NEEDS_TWO_ROLLOUTS,
    NEEDS_TWO_RUNS,
    NEEDS_TWO_TASKS,
    noise_band,
    variance_parts,
)
from core.statistics.pass_at_k import NO_SAMPLES, NO_TASKS, pass_at_k, suite_pass_at_k

FIXTURES = Path(__file__).parents[1] / "fixtures"
CLUSTERS = json.loads((FIXTURES / "oracles/clustered_errors.json").read_text("utf-8"))
PASS = json.loads((FIXTURES / "oracles/pass_at_k.json").read_text("utf-8"))
PEER = json.loads((FIXTURES / "peers/whileai_stats.json").read_text("utf-8"))


# clusters


@pytest.mark.parametrize("case", CLUSTERS["cases"], ids=lambda case: case["id"])
def test_clustered_errors_of_the_oracle(case: dict) -> None:
    expected, found = case["expected"], clustered_mean(case["inputs"]["values"], case["inputs"]["clusters"])
    if expected["clustered_se"] is None:
        assert found.clustered_se is None and found.undefined == NEEDS_TWO_CLUSTERS and found.interval.undefined == NEEDS_TWO_CLUSTERS
        return
    assert found.mean == Fraction(expected["mean"])
    assert (found.clusters, found.degrees_of_freedom) == (expected["clusters"], expected["degrees_of_freedom"])
    for name in ("se_ignoring_clusters", "clustered_se", "clustered_se_small_sample", "design_effect"):
        assert getattr(found, name) == pytest.approx(expected[name], abs=1e-9), name


def test_paired_clustered_interval_of_the_oracle() -> None:
    case = CLUSTERS["paired_clustered_case"]
    found, expected = clustered_mean(case["inputs"]["task_differences"], case["inputs"]["clusters"]), case["expected"]
    assert found.mean == Fraction(expected["mean"])
    assert found.clustered_se_small_sample == pytest.approx(expected["clustered_se_small_sample"], abs=1e-9)
    assert student_quantile("0.95", 3) == pytest.approx(expected["t_quantile_df3"], abs=1e-9)
    assert (found.interval.lower, found.interval.upper) == pytest.approx(expected["ci95"], abs=1e-9)
    assert found.interval.method == f"{CLUSTERED_T} with 3 degrees of freedom"


@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 4)), min_size=3, max_size=40).filter(lambda rows: len({g for _, g in rows}) > 1))
def test_robust_errors_are_those_of_statsmodels(rows: list[tuple[int, int]]) -> None:
    values, groups = np.array([v for v, _ in rows], dtype=float), np.array([g for _, g in rows])
    found = clustered_mean([v for v, _ in rows], [g for _, g in rows])
    for corrected, ours in ((False, found.clustered_se), (True, found.clustered_se_small_sample)):
        fit = sm.OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": corrected})
        # statsmodels also multiplies by (n - 1) / (n - k), which is 1 with one coefficient
        assert ours == pytest.approx(float(fit.bse[0]), abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), min_size=4, max_size=20).filter(lambda rows: len({g for _, g in rows}) > 1))
def test_repeating_every_run_changes_no_robust_error(rows: list[tuple[int, int]]) -> None:
    once = clustered_mean([v for v, _ in rows], [g for _, g in rows])
    thrice = clustered_mean([v for v, _ in rows * 3], [g for _, g in rows * 3])
    assert thrice.mean == once.mean and thrice.degrees_of_freedom == once.degrees_of_freedom
    assert thrice.clustered_se_small_sample == pytest.approx(once.clustered_se_small_sample, abs=1e-15)
    if once.se_ignoring_clusters:
        # what ignoring the clusters would claim: about sqrt(3) times as certain
        assert thrice.se_ignoring_clusters < once.se_ignoring_clusters


def test_no_spread_is_not_estimable_rather_than_certain() -> None:
    found = clustered_mean(["0.25"] * 6, list("abcdef"))
    assert found.clustered_se == 0 and found.design_effect is None
    assert found.interval.lower is None and found.interval.undefined == NO_SPREAD


def test_clustered_refusals() -> None:
    with pytest.raises(RoundError) as fault:
        clustered_mean([1, 0], ["a"])
    assert fault.value.code == "lengths_differ"
    with pytest.raises(GridError):
        student_quantile("0", 3)


# noise


@pytest.mark.parametrize("case", CLUSTERS["noise_floor_cases"], ids=lambda case: case["id"])
def test_noise_band_of_the_oracle(case: dict) -> None:
    expected, means = case["expected"], case["inputs"]["run_means"]
    one, three = (noise_band([means], runs, runs) for runs in (1, 3))
    if expected["run_sd_ddof1"] is None:
        assert one.run_sd is None and one.band is None and one.undefined == NEEDS_TWO_RUNS
        return
    assert one.run_sd == pytest.approx(expected["run_sd_ddof1"], abs=1e-9)
    assert one.quantile == pytest.approx(expected["t_quantile"], abs=1e-9)
    assert one.reach == pytest.approx(expected["band_one_run_each_side"], abs=1e-9)
    assert three.reach == pytest.approx(expected["band_three_runs_each_side"], abs=1e-9)
    if case["id"] == "identical":
        # a reach of 0 is no band: the oracle asks for "not measured"
        assert one.band is None and one.undefined == DETERMINISTIC
    else:
        assert one.band == one.reach and one.undefined is None


WITH_T = [entry for entry in PEER["noise_band"] if entry["df"] is not None]


@pytest.mark.parametrize("entry", WITH_T, ids=lambda entry: f"df{entry['df']}-{entry['n_a']}")
def test_noise_band_agrees_with_the_peer_where_it_uses_t(entry: dict) -> None:
    # runs with exactly this deviation: m - s, m, m + s have sd s and 2 degrees of freedom; two such arms have 4
    sd = Fraction(entry["run_std"]).limit_denominator(1000)
    runs = [Fraction(1, 2) - sd, Fraction(1, 2), Fraction(1, 2) + sd]
    found = noise_band([runs] * (entry["df"] // 2), entry["n_a"], entry["n_b"])
    assert found.degrees_of_freedom == entry["df"]
    # the peer's table of t has three decimals: 4.303 for 4.30265
    assert found.band == pytest.approx(entry["band"], rel=2e-4)


def test_the_deviation_is_pooled_within_arms_so_that_a_gap_between_arms_is_no_noise() -> None:
    # arms .5, .6 and .9, 1.0: within-arm squares 2 * .05^2 each, 2 degrees of freedom: sd = sqrt(.01 / 2) = .0707
    found = noise_band([["0.5", "0.6"], ["0.9", "1.0"]], 2, 2)
    assert found.run_sd == pytest.approx(0.005**0.5) and found.degrees_of_freedom == 2 and found.runs == (2, 2)
    # t(.975, 2) = 4.3027, sqrt(1/2 + 1/2) = 1
    assert found.band == pytest.approx(4.302652729749464 * 0.005**0.5)


def test_noise_refusals() -> None:
    for runs in (0, -1):
        with pytest.raises(RoundError):
            noise_band([["0.5", "0.6"]], runs, 1)
    assert noise_band([[], []], 1, 1).undefined == NEEDS_TWO_RUNS


def test_variance_parts_of_the_oracle() -> None:
    (case,) = CLUSTERS["variance_components"]
    counts, k, expected = case["inputs"]["task_pass_counts"], case["inputs"]["rollouts_per_task"], case["expected"]
    found = variance_parts(counts, [k] * len(counts))
    assert found.mean == Fraction(expected["mean"]) and found.of_task_means == Fraction(expected["variance_of_task_means"])
    assert found.within == Fraction(expected["mean_within_task_variance_ddof1"]) and found.between == Fraction(expected["between_task_variance"])
    assert found.standard_error == pytest.approx(expected["se_of_mean"], abs=1e-9) and not found.clipped


def test_variance_parts_that_cannot_be_told_apart_say_so() -> None:
    # every task 1 of 2: no variance of means, within 1/2, between 0 - 1/4 < 0: reported as 0
    clipped = variance_parts([1, 1, 1], [2, 2, 2])
    assert (clipped.between, clipped.clipped, clipped.within) == (0, True, Fraction(1, 2))
    single = variance_parts([1, 0], [1, 1])
    assert single.within is None and single.undefined == NEEDS_TWO_ROLLOUTS and single.standard_error == pytest.approx(0.5)
    assert variance_parts([1], [4]).undefined == NEEDS_TWO_TASKS
    for passes, rollouts in (([], []), ([2], [1]), ([0], [0])):
        with pytest.raises(RoundError):
            variance_parts(passes, rollouts)


# pass@k


@pytest.mark.parametrize("case", PASS["cases"], ids=lambda case: "-".join(map(str, case["inputs"].values())))
def test_pass_at_k_of_the_oracle(case: dict) -> None:
    given_, expected = case["inputs"], case["expected"]
    found = pass_at_k(given_["samples"], given_["passes"], given_["k"])
    assert found.at_least_one == Fraction(expected["pass_at_k"]["exact"])
    assert float(found.at_least_one) == pytest.approx(expected["pass_at_k"]["value"], abs=1e-12)
    assert float(found.all_of_them) == pytest.approx(expected["pass_hat_k"]["value"], abs=1e-12)
    if given_["k"] > 1 and 0 < given_["passes"] < given_["samples"]:
        assert float(found.at_least_one) > expected["biased_plug_in"] - 1e-12


@pytest.mark.parametrize("case", PASS["edge_cases"], ids=lambda case: str(case["expected"]))
def test_pass_at_k_edges(case: dict) -> None:
    given_, expected = case["inputs"], case["expected"]
    if "error" in expected:
        with pytest.raises(RoundError) as fault:
            pass_at_k(given_["samples"], given_["passes"], given_["k"])
        assert fault.value.code == expected["error"]
        return
    found = pass_at_k(given_["samples"], given_["passes"], given_["k"])
    assert found.at_least_one is None and found.all_of_them is None
    assert found.undefined == (NO_SAMPLES if expected["reason"] == "no_samples" else "4 of 3 samples cannot be taken")


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.integers(1, 8))
def test_pass_at_k_by_looking_at_every_subset(outcomes: list[bool], k: int) -> None:
    found = pass_at_k(len(outcomes), sum(outcomes), k)
    subsets = list(combinations(outcomes, k))
    if not subsets:
        assert found.at_least_one is None
        return
    assert found.at_least_one == Fraction(sum(any(taken) for taken in subsets), len(subsets))
    assert found.all_of_them == Fraction(sum(all(taken) for taken in subsets), len(subsets))


def test_a_suite_agrees_with_the_peer_and_repeating_runs_adds_no_task() -> None:
    four = PEER["pass_at"]
    found = suite_pass_at_k([(4, passes) for passes in four["counts_of_4"].values()], 4)
    assert (float(found.at_least_one), float(found.all_of_them)) == (four["out"]["pass_at_k"], four["out"]["pass_pow_k"])
    six = four["n6k4"]
    found = suite_pass_at_k([(6, passes) for passes in six["counts_of_6"].values()], 4)
    assert float(found.at_least_one) == pytest.approx(six["out"]["pass_at_k"], abs=1e-12)
    assert float(found.all_of_them) == pytest.approx(six["out"]["pass_pow_k"], abs=1e-12) and found.tasks == 3
    # two of six pass: 1 - C(4,4)/C(6,4) = 14/15; four of six: 1 (no way to take four failures); none: 0
    at = [Fraction(14, 15), Fraction(1), Fraction(0)]
    mean = sum(at) / 3
    assert found.standard_error_at_least_one == pytest.approx(float(sum((x - mean) ** 2 for x in at) / 6) ** 0.5)


def test_one_task_with_too_few_samples_leaves_the_suite_undefined() -> None:
    found = suite_pass_at_k([(4, 2), (3, 3), (4, 0)], 4)
    assert found.at_least_one is None and found.undefined == "1 of 3 tasks have fewer than 4 samples"
    assert suite_pass_at_k([], 1).undefined == NO_TASKS
    assert suite_pass_at_k([(2, 1)], 1).standard_error_all is None
    with pytest.raises(RoundError):
        pass_at_k(3, 1, True)
