"""Intervals of one rate against the oracle and scipy; what n cases prove, decided in rationals."""
from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from core.errors import CountersignError
from core.statistics.provable import Light, cases_needed, rate_proof, tail_is_at_most
from core.statistics.rate_intervals import (
    NO_TRIALS,
    clopper_pearson_interval,
    lower_bound,
    rate_estimate,
    upper_bound,
    wilson_interval,
)
from core.statistics.ratio import Ratio

ORACLE = json.loads((Path(__file__).parents[1] / "fixtures/oracles/rate_intervals.json").read_text("utf-8"))
CAP, ALPHA = Fraction(1, 20), Fraction(1, 20)


def close(got: Any, wanted: float) -> bool:
    return math.isclose(float(got), wanted, rel_tol=0, abs_tol=1e-10)


@pytest.mark.parametrize("case", ORACLE["cases"], ids=lambda case: case["id"])
def test_every_interval_of_the_oracle(case: dict) -> None:
    k, n, confidence = (case["inputs"][name] for name in ("successes", "n", "confidence"))
    expected = case["expected"]
    wilson, exact = wilson_interval(k, n, confidence), clopper_pearson_interval(k, n, confidence)
    for got, wanted in ((wilson, expected["wilson"]), (exact, expected["clopper_pearson_two_sided"])):
        assert close(got.lower, wanted[0]) and close(got.upper, wanted[1]), got.method
        # no 2.8e-17 at nothing, no 0.9999999999999999 at everything
        assert (got.lower == 0) is (k == 0) and (got.upper == 1) is (k == n)
        assert got.confidence == Fraction(confidence) and got.seed is None
    assert close(lower_bound(k, n, confidence).lower, expected["clopper_pearson_one_sided_lower"])
    assert close(upper_bound(k, n, confidence).upper, expected["clopper_pearson_one_sided_upper"])


@pytest.mark.parametrize("case", ORACLE["edge_cases"], ids=lambda case: case["id"])
@pytest.mark.parametrize("interval", [wilson_interval, clopper_pearson_interval, upper_bound, lower_bound])
def test_edge_cases_of_the_oracle(case: dict, interval: Any) -> None:
    inputs = case["inputs"]["successes"], case["inputs"]["n"], case["inputs"]["confidence"]
    if "error" in case["expected"]:
        with pytest.raises(CountersignError) as refused:
            interval(*inputs)
        assert refused.value.code == case["expected"]["error"]
    else:
        got = interval(*inputs)
        assert (got.lower, got.upper, got.undefined, got.text) == (None, None, NO_TRIALS, NO_TRIALS)


def test_published_anchor() -> None:
    (anchor,) = ORACLE["published_anchor"]
    k, n = anchor["successes"], anchor["n"]
    for interval, printed in ((wilson_interval(k, n), anchor["wilson_4dp"]), (clopper_pearson_interval(k, n), anchor["clopper_pearson_4dp"])):
        assert [round(float(end), 4) for end in (interval.lower, interval.upper)] == printed


@pytest.mark.parametrize("row", ORACLE["rule_of_three"], ids=lambda row: str(row["n"]))
def test_the_rule_of_three_is_a_little_wide(row: dict) -> None:
    exact = upper_bound(0, row["n"]).upper
    assert close(exact, row["exact_upper_95"])
    assert exact < 3 / row["n"] == row["rule_of_three"]


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from(["0.5", "0.9", "0.95", "0.99"]))
def test_intervals_against_scipy(counts: tuple[int, int], confidence: str) -> None:
    k, n = counts
    reference = binomtest(k, n)
    for got, method in ((wilson_interval(k, n, confidence), "wilson"), (clopper_pearson_interval(k, n, confidence), "exact")):
        wanted = reference.proportion_ci(float(confidence), method)
        assert close(got.lower, wanted.low) and close(got.upper, wanted.high)
        assert 0 <= got.lower <= k / n <= got.upper <= 1


def test_an_undefined_rate_has_no_interval_and_keeps_its_reason() -> None:
    estimate = rate_estimate(Ratio(0, 0, "the verifier failed nothing"))
    assert estimate.value is None and estimate.wilson.undefined == estimate.clopper_pearson.undefined == "the verifier failed nothing"
    measured = rate_estimate(Ratio(13, 16))
    assert (measured.value, measured.n) == (Fraction(13, 16), 16) and measured.wilson.percent == "56.99 % to 93.41 %"


# ---------------------------------------------------------------- what n proves

@pytest.mark.parametrize("table", ORACLE["minimum_n"], ids=lambda table: f"{table['bound']}-{table['alpha_one_sided']}")
def test_cases_needed_of_the_oracle(table: dict) -> None:
    for errors, needed in table["min_verifier_failures_for_k_false_positives"].items():
        assert cases_needed(int(errors), Fraction(table["bound"]), table["alpha_one_sided"]) == needed


def test_the_decision_is_made_in_rationals() -> None:
    # one trial at rate 19/20: P(X <= 0) = 1/20 exactly, which is at most .05; in doubles 1 - .95 = .05000000000000004
    assert 1 - 0.95 > 0.05
    assert tail_is_at_most(0, 1, Fraction(19, 20), ALPHA)
    # 58 failures: .95^58 = .05104 is above .05, 59: .0485 is not
    assert not tail_is_at_most(0, 58, CAP, ALPHA) and tail_is_at_most(0, 59, CAP, ALPHA)


@given(st.integers(0, 12), st.integers(1, 300), st.fractions(Fraction(1, 100), Fraction(9, 10), max_denominator=100))
def test_tail_against_plain_sum(errors: int, n: int, rate: Fraction) -> None:
    tail = sum(math.comb(n, i) * rate**i * (1 - rate) ** (n - i) for i in range(min(errors, n) + 1))
    assert tail_is_at_most(min(errors, n), n, rate, ALPHA) is (tail <= ALPHA)


@pytest.mark.parametrize("errors", [0, 3, 1200])
def test_fast_routes_of_large_n_agree_with_the_rational_one(errors: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from core.statistics import provable

    rate = Fraction(errors + 1, 20_000)
    exact = [provable._tail_exact(errors, n, rate, ALPHA) for n in range(20_001, 200_000, 19_999)]
    assert [provable._tail_decimal(errors, n, rate, ALPHA) for n in range(20_001, 200_000, 19_999)] == exact
    assert [tail_is_at_most(errors, n, rate, ALPHA) for n in range(20_001, 200_000, 19_999)] == exact
    assert len(set(exact)) == 2                                       # the range crosses the bound
    # exactly on alpha neither fast route may answer: one trial at rate 19/20
    assert provable._tail_doubles(0, 1, Fraction(19, 20), ALPHA) is None and provable._tail_decimal(0, 1, Fraction(19, 20), ALPHA) is None


def test_bounds_that_nothing_or_everything_proves() -> None:
    assert cases_needed(0, Fraction(0)) is None and cases_needed(7, Fraction(1)) == 7
    assert cases_needed(0, Fraction(1, 10**6)) == 2_995_731           # ceil(ln .05 / ln(1 - 1e-6)), 2995730.8
    assert cases_needed(0, Fraction(1, 10**9)) is None                # beyond ten million
    for bad, code in ((Fraction(-1, 20), "bound_out_of_range"), (Fraction(21, 20), "bound_out_of_range")):
        with pytest.raises(CountersignError) as refused:
            cases_needed(0, bad)
        assert refused.value.code == code
    with pytest.raises(CountersignError) as refused:
        cases_needed(0, CAP, "1")
    assert refused.value.code == "confidence_out_of_range"


# (errors, failures) -> light and how many more; needed from the oracle: 59, 93, 124 for 0, 1, 2 errors
@pytest.mark.parametrize(("counts", "light", "more"), [
    ((0, 3), Light.MEETS, 56), ((0, 58), Light.MEETS, 1), ((0, 59), Light.PROVES, None), ((1, 59), Light.MEETS, 34), ((1, 93), Light.PROVES, None),
    ((1, 20), Light.MEETS, 73), ((2, 40), Light.MEETS, 84), ((3, 4), Light.FAILS, None), ((1, 19), Light.FAILS, None),
])
def test_three_lights_for_the_false_positive_rate(counts: tuple[int, int], light: Light, more: int | None) -> None:
    proof = rate_proof(Ratio(*counts), CAP, direction="max", unit="failed cases")
    assert (proof.light, proof.more) == (light, more)
    words = {Light.PROVES: "proves", Light.FAILS: "fails", Light.MEETS: f"meets, not proven: needs {more} more failed cases"}
    assert proof.text == words[light]


def test_worked_example_judge() -> None:
    # 0 of 3: 1 - .05^(1/3) = .63160
    proof = rate_proof(Ratio(0, 3), CAP, direction="max", unit="failed cases")
    assert proof.text == "meets, not proven: needs 56 more failed cases"
    assert proof.detail == (
        "0 of 3 proves at most 63.16 % (one-sided, 95 % confidence); the bound is 5 %. 56 more failed cases without another error would prove it."
    )
    document = proof.as_dict()
    assert (document["light"], document["needed"], document["more"], document["text"]) == ("meets, not proven", 59, 56, proof.text)
    # 0 regressions of 5: 1 - .05^(1/5) = .4507
    assert rate_proof(Ratio(0, 5), CAP, direction="max", unit="items").limit.text == "0 to 0.451"


def test_a_limit_just_under_the_bound_never_reads_like_it() -> None:
    # 1 of 93: .04999397..., which two decimals of a percentage would print as 5 %
    proof = rate_proof(Ratio(1, 93), CAP, direction="max", unit="failed cases")
    assert proof.light is Light.PROVES and "at most 4.999 %" in proof.detail


def test_a_floor_is_a_cap_on_the_other_outcome() -> None:
    # agreement of at least .85 with 7 of 8: one error against a cap of .15. P(X <= 1; n) = .85^n + n .15 .85^(n-1): .0546 at 29, .0480 at 30
    assert [float(Fraction(17, 20) ** n + n * Fraction(3, 20) * Fraction(17, 20) ** (n - 1)) > 0.05 for n in (29, 30)] == [True, False]
    proof = rate_proof(Ratio(7, 8), Fraction(17, 20), direction="min", unit="agreeing cases")
    assert (proof.light, proof.needed, proof.more) == (Light.MEETS, 30, 22)
    assert rate_proof(Ratio(29, 30), Fraction(17, 20), direction="min", unit="agreeing cases").light is Light.PROVES
    assert rate_proof(Ratio(16, 19), Fraction(17, 20), direction="min", unit="agreeing cases").light is Light.FAILS
    assert proof.detail.startswith("7 of 8 proves at least 52.93 %")  # Clopper-Pearson, one-sided: binomtest(7, 8, alternative greater)
    assert close(proof.limit.lower, binomtest(7, 8, alternative="greater").proportion_ci(0.95).low)


def test_undefined_rate_and_bounds_of_nothing() -> None:
    proof = rate_proof(Ratio(0, 0, "the verifier failed nothing"), CAP, direction="max", unit="failed cases")
    assert (proof.light, proof.text, proof.limit.undefined) == (Light.UNDEFINED, "undefined: the verifier failed nothing", NO_TRIALS)
    assert proof.detail == "The rate is undefined: the verifier failed nothing."
    never = rate_proof(Ratio(0, 50), Fraction(0), direction="max", unit="failed cases")
    assert (never.light, never.text) == (Light.MEETS, "meets, not proven: no number of failed cases can")
    far = rate_proof(Ratio(0, 50), Fraction(1, 10**9), direction="max", unit="failed cases")
    assert far.text == "meets, not proven: needs more than 10,000,000 failed cases"
    assert rate_proof(Ratio(50, 50), Fraction(1), direction="max", unit="failed cases").light is Light.PROVES
    # 10^15 cases: 1 false approval in 1,001 is far under 5 %
    assert rate_proof(Ratio(10**12, 1001 * 10**12), CAP, direction="max", unit="failed cases").light is Light.PROVES


@given(st.integers(1, 250).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_proves_means_that_the_one_sided_bound_holds(counts: tuple[int, int]) -> None:
    proof = rate_proof(Ratio(*counts), CAP, direction="max", unit="failed cases")
    assert (proof.light is Light.PROVES) is (binomtest(*counts, alternative="less").proportion_ci(0.95).high <= 0.05)
    if proof.more is not None:
        grown = Ratio(counts[0], counts[1] + proof.more)
        assert rate_proof(grown, CAP, direction="max", unit="failed cases").light is Light.PROVES
