"""Pass rate corrected for the judge's errors: hand arithmetic, an identity, exact coverage, and where it is undefined."""
from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm
from statsmodels.stats.proportion import proportion_confint

from core.errors import GridError
from core.statistics.agreement import NO_FAILURES, NO_PASSES, NO_RECORDS, Confusion
from core.statistics.prevalence_correction import ASSUMPTION, NO_BETTER_THAN_CHANCE, TOO_NEAR_CHANCE, corrected_pass_rate
from core.statistics.ratio import Ratio

GOOD = Confusion(tp=90, fp=20, fn=10, tn=80)
tables = st.builds(Confusion, *[st.integers(0, 60)] * 4)


def test_by_hand() -> None:
    # recall .9, specificity .8, approved .6: (.6 + .8 - 1) / (.9 + .8 - 1) = .4 / .7
    got = corrected_pass_rate(Ratio(60, 100), GOOD)
    assert (got.value, got.raw.value, got.clipped, got.undefined, got.assumption) == (Fraction(4, 7), Fraction(4, 7), False, None, ASSUMPTION)
    assert got.interval.lower < 4 / 7 < got.interval.upper
    document = json.loads(json.dumps(got.as_dict(), allow_nan=False))
    assert document["apparent"]["numerator"] == 60 and document["value"] == {"exact": "4/7", "value": 4 / 7}


def test_interval_step_by_step() -> None:
    # 60 of 100 answers approved; recall 90 of 100, specificity 80 of 100, moved to 91 and 81 of 102
    z2 = norm.ppf(0.975) ** 2
    approved = (60 + z2 / 2) / (100 + z2)
    rate = (102 * approved + 81 - 102) / (91 + 81 - 102)
    var_recall, var_specificity = 91 * 11 / 102**3, 81 * 21 / 102**3
    centre = rate + 2 * z2 * (rate * var_recall - (1 - rate) * var_specificity)
    variance = (approved * (1 - approved) / (100 + z2) + rate**2 * var_recall + (1 - rate) ** 2 * var_specificity) / (70 / 102) ** 2
    interval = corrected_pass_rate(Ratio(60, 100), GOOD).interval
    assert math.isclose(interval.lower, centre - math.sqrt(z2 * variance), rel_tol=1e-12)
    assert math.isclose(interval.upper, centre + math.sqrt(z2 * variance), rel_tol=1e-12)


@given(tables)
def test_on_its_own_calibration_cases_it_gives_back_what_passed(table: Confusion) -> None:
    # approved = (tp + fp)/n; then (approved + sp - 1)/(se + sp - 1) = (tp + fn)/n
    got = corrected_pass_rate(Ratio(table.tp + table.fp, table.n, None if table.n else NO_RECORDS), table)
    if got.undefined is None:
        assert got.raw.value == Fraction(table.tp + table.fn, table.n) and not got.clipped


@given(st.integers(0, 80), tables)
def test_value_and_ends_stay_rates(approved: int, table: Confusion) -> None:
    got = corrected_pass_rate(Ratio(approved, 80), table)
    assert (got.value is None) == (got.undefined is not None)
    if got.value is not None:
        assert 0 <= got.value <= 1 and got.clipped == (got.raw.value != got.value)
        if got.interval.undefined is None:
            assert 0 <= got.interval.lower <= got.interval.upper <= 1


def test_outside_the_scale_it_is_clipped_and_says_so() -> None:
    # fewer approvals than the judge's false ones alone: (.1 + .8 - 1) / .7 = -1/7
    low = corrected_pass_rate(Ratio(10, 100), GOOD)
    assert (low.raw.value, low.value, low.clipped, low.interval.lower) == (Fraction(-1, 7), 0, True, 0)
    # more than its true ones: (.95 - .2) / .7 = 15/14
    high = corrected_pass_rate(Ratio(95, 100), GOOD)
    assert (high.raw.value, high.value, high.clipped, high.interval.upper) == (Fraction(15, 14), 1, True, 1)


@pytest.mark.parametrize(("apparent", "table", "reason"), [
    (Ratio(0, 0, "no answers"), GOOD, "no answers"), (Ratio(6, 10), Confusion(0, 2, 0, 8), NO_PASSES),
    (Ratio(6, 10), Confusion(8, 0, 2, 0), NO_FAILURES),
    (Ratio(6, 10), Confusion(0, 0, 0, 0), NO_RECORDS),
    (Ratio(6, 10), Confusion(5, 5, 5, 5), NO_BETTER_THAN_CHANCE),      # recall + specificity = 1: approvals say nothing
    (Ratio(6, 10), Confusion(2, 8, 8, 2), NO_BETTER_THAN_CHANCE),      # .4 < 1: the formula would turn approvals round
    (Ratio(6, 10), Confusion(8, 8, 0, 0), NO_BETTER_THAN_CHANCE),      # approves everything
])
def test_undefined_cases_keep_their_reason_and_have_no_interval(apparent: Ratio, table: Confusion, reason: str) -> None:
    got = corrected_pass_rate(apparent, table)
    assert (got.value, got.undefined, got.interval.lower, got.interval.upper, got.interval.undefined) == (None, reason, None, None, reason)
    assert json.loads(json.dumps(got.as_dict(), allow_nan=False))["value"] is None


def test_too_few_calibration_cases_near_chance_have_no_interval() -> None:
    # recall 1/1, specificity 1/100: sum 1.01; with pseudo-counts 2/3 + 2/102 = .686 < 1
    got = corrected_pass_rate(Ratio(60, 100), Confusion(tp=1, fp=99, fn=0, tn=1))
    assert got.value is not None and got.interval.undefined == TOO_NEAR_CHANCE


def test_a_perfect_judge_known_for_sure_leaves_the_agresti_coull_interval() -> None:
    sure = Confusion(10**9, 0, 0, 10**9)
    for approved in (0, 3, 60, 100):
        got = corrected_pass_rate(Ratio(approved, 100), sure)
        wanted = proportion_confint(approved, 100, alpha=0.05, method="agresti_coull")
        assert got.value == Fraction(approved, 100)
        assert math.isclose(got.interval.lower, wanted[0], abs_tol=1e-6) and math.isclose(got.interval.upper, wanted[1], abs_tol=1e-6)


def test_a_perfect_judge_on_few_cases_is_not_taken_for_sure() -> None:
    few, many = (corrected_pass_rate(Ratio(60, 100), Confusion(n, 0, 0, n)).interval for n in (5, 500))
    plain = proportion_confint(60, 100, method="wilson")
    assert few.upper - few.lower > many.upper - many.lower > 0.9 * (plain[1] - plain[0])


@pytest.mark.parametrize(("rate", "recall", "specificity"), [(0.4, 0.9, 0.8), (0.1, 0.9, 0.95), (0.8, 0.75, 0.7)])
def test_exact_coverage(rate: float, recall: float, specificity: float) -> None:
    """Probability that the 95 % interval holds the true rate, summed over all outcomes of 60 answers and 25 + 25 calibration cases."""
    answers, cases = 60, 25
    approvals = rate * recall + (1 - rate) * (1 - specificity)
    covered = 0.0
    hits, rejections = binom.pmf(range(cases + 1), cases, recall), binom.pmf(range(cases + 1), cases, specificity)
    said = binom.pmf(range(answers + 1), answers, approvals)
    for tp in range(cases + 1):
        for tn in range(cases + 1):
            if hits[tp] * rejections[tn] < 1e-5:
                continue
            table = Confusion(tp, cases - tn, cases - tp, tn)
            for k in range(answers + 1):
                if said[k] > 1e-5:
                    interval = corrected_pass_rate(Ratio(k, answers), table).interval
                    if interval.lower is not None and interval.lower <= rate <= interval.upper:
                        covered += hits[tp] * rejections[tn] * said[k]
    assert 0.94 <= covered <= 0.995


def test_confidence_is_checked() -> None:
    with pytest.raises(GridError):
        corrected_pass_rate(Ratio(60, 100), GOOD, "1.5")
