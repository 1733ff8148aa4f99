"""Graded judges: bins, Brier and its parts, threshold sweep, AUC, against the oracle and scikit-learn."""
from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score, roc_curve

from core.errors import CountersignError
from core.statistics.agreement import NO_FAILURES, ONE_VERIFIER_CLASS
from core.statistics.reliability import bin_of, exact_sum, reliability, score_groups
from core.statistics.threshold_sweep import OPTIMISTIC, GateBounds, ThresholdSweep, threshold_sweep

ORACLE = json.loads((Path(__file__).parents[1] / "fixtures/oracles/graded_calibration.json").read_text("utf-8"))
BOUNDS = GateBounds(min_kappa=Fraction(3, 4), max_fpr=Fraction(1, 20))
graded = st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=60)


def refusal(call: Any) -> str:
    with pytest.raises(CountersignError) as refused:
        call()
    return refused.value.code


@pytest.mark.parametrize("case", ORACLE["calibration_cases"], ids=lambda case: case["id"])
def test_every_calibration_case_of_the_oracle(case: dict) -> None:
    scores, passed, bins = (case["inputs"][name] for name in ("scores", "verifier_passed", "bins"))
    expected = case["expected"]
    if "error" in expected:
        assert refusal(lambda: reliability(scores, passed, bins)) == expected["error"]
        return
    got = reliability(scores, passed, bins)
    assert (got.n, got.passed, got.bins) == (len(scores), sum(passed), bins)
    for name in ("ece", "mce", "brier"):
        assert getattr(got, name) == Fraction(expected[name]["exact"]), name
    for name in ("reliability", "resolution", "uncertainty"):
        assert getattr(got, name) == Fraction(expected["murphy"][name]), name
    assert got.brier == got.reliability - got.resolution + got.uncertainty
    rows = [[row.index, row.count, row.mean_score, row.pass_rate] for row in got.rows]
    assert rows == [[index, count, Fraction(mean), Fraction(rate)] for index, count, mean, rate in expected["bins"]["rows"]]


@pytest.mark.parametrize("case", ORACLE["sweep_cases"], ids=lambda case: case["id"])
def test_every_sweep_case_of_the_oracle(case: dict) -> None:
    inputs, expected = case["inputs"], case["expected"]
    bounds = GateBounds(Fraction(inputs["min_kappa"]), Fraction(inputs["max_fpr"])) if "min_kappa" in inputs else None
    if "error" in expected:
        assert refusal(lambda: threshold_sweep(inputs["scores"], inputs["verifier_passed"], bounds)) == expected["error"]
        return
    got = threshold_sweep(inputs["scores"], inputs["verifier_passed"], bounds)
    if expected["auc"]["value"] is None:
        assert (got.auc.value, got.auc.undefined, got.average_precision.undefined) == (None, ONE_VERIFIER_CLASS, ONE_VERIFIER_CLASS)
        return
    assert got.auc.value == Fraction(expected["auc"]["exact"])
    assert got.average_precision.value == Fraction(expected["average_precision"]["exact"])
    rows = [
        [row.threshold, row.table.tp, row.table.fp, row.table.fn, row.table.tn, row.kappa.value, row.gate_open] for row in got.rows
    ]
    assert rows == [[None if at is None else Fraction(at), *counts, Fraction(kappa), opened] for at, *counts, kappa, opened in expected["rows"]]
    chosen = expected["chosen_threshold"]
    assert got.chosen == (None if chosen is None else Fraction(chosen)) and got.note == OPTIMISTIC


def test_bins_are_right_closed_where_doubles_slip() -> None:
    # .57 * 100 = 56.99999999999999 and .29 * 100 = 28.999999999999996 in doubles, .07 * 100 = 7.000000000000001:
    # the edges 57, 29 and 7 belong to bins 56, 28 and 6, and ceil(7.000000000000001) - 1 would be 7
    assert 0.57 * 100 < 57 and 0.07 * 100 > 7
    assert [bin_of(Fraction(score), 100) for score in ("0.57", "0.29", "0.07", "0", "1", "0.005")] == [56, 28, 6, 0, 99, 0]


def test_a_double_counts_as_the_decimal_that_writes_it() -> None:
    assert reliability([0.1, 0.2, 0.3], [False, True, True], 10) == reliability(["0.1", "0.20", Fraction(3, 10)], [False, True, True], 10)
    assert [group.count for group in score_groups(["0.5", 0.5, "0.50"], [True, False, True])] == [3]


@pytest.mark.parametrize(("scores", "passed", "code"), [
    ([float("nan"), 0.5], [True, False], "non_finite_score"), ([float("inf"), 0.5], [True, False], "non_finite_score"),
    ([None, 0.5], [True, False], "non_finite_score"), ([True, 0.5], [True, False], "non_finite_score"),
    (["high", 0.5], [True, False], "non_finite_score"), (["1e999999999", 0.5], [True, False], "non_finite_score"),
    ([0.4, 0.5], [True, None], "missing_verdict"), ([0.4, 0.5], [1.0, 0.5], "missing_verdict"), ([0.4, 0.5], [2, 0], "missing_verdict"),
    ([0.4], [True, False], "lengths_differ"), ([-0.1, 0.5], [True, False], "score_out_of_range"), ([], [], "empty_calibration_set"),
])
def test_what_is_no_score_or_no_verdict_never_reaches_a_statistic(scores: list, passed: list, code: str) -> None:
    assert refusal(lambda: reliability(scores, passed)) == code


@given(graded)
def test_sweep_against_scikit_learn(cases: list[tuple[int, bool]]) -> None:
    scores, passed = [score for score, _ in cases], [verdict for _, verdict in cases]
    assume(0 < sum(passed) < len(passed))
    got = threshold_sweep(scores, passed, BOUNDS)
    assert math.isclose(got.auc.value, roc_auc_score(passed, scores), abs_tol=1e-12)
    assert math.isclose(got.average_precision.value, average_precision_score(passed, scores), abs_tol=1e-12)
    fpr, tpr, _ = roc_curve(passed, scores, drop_intermediate=False)
    assert [(row.fpr.value, row.recall.value) for row in got.rows] == [
        (Fraction(x).limit_denominator(1000), Fraction(y).limit_denominator(1000)) for x, y in zip(fpr, tpr, strict=True)
    ]
    _check_choice(got)


def _check_choice(sweep: ThresholdSweep) -> None:
    for row in sweep.rows:
        kappa, fpr = row.kappa.value, row.fpr.value
        assert row.gate_open is (kappa is not None and fpr is not None and kappa >= Fraction(3, 4) and fpr <= Fraction(1, 20))
    opened = [row for row in sweep.rows if row.threshold is not None and row.gate_open]
    most = max((row.table.tp for row in opened), default=None)
    assert sweep.chosen == max((row.threshold for row in opened if row.table.tp == most), default=None)


@given(graded)
def test_brier_against_scikit_learn_and_its_own_parts(cases: list[tuple[int, bool]]) -> None:
    scores, passed = [Fraction(score, 20) for score, _ in cases], [verdict for _, verdict in cases]
    got = reliability(scores, passed, 7)
    assert got.brier == got.reliability - got.resolution + got.uncertainty
    assert math.isclose(got.brier, brier_score_loss(passed, [float(score) for score in scores], pos_label=True), abs_tol=1e-12)
    assert sum(row.count for row in got.rows) == got.n and got.ece <= got.mce <= 1


def test_case_order_does_not_matter() -> None:
    rows = [(round(random.Random(seed).random(), 3), seed % 3 == 0) for seed in range(200)]
    shuffled = random.Random(5).sample(rows, len(rows))
    for figure in (reliability, threshold_sweep):
        assert figure(*map(list, zip(*rows, strict=True))) == figure(*map(list, zip(*shuffled, strict=True)))


def test_ten_thousand_distinct_scores_stay_exact() -> None:
    # case i of 10,000 has score i / 10,000 and passes when i is odd: of the 5,000^2 pairs the passing case is above in
    # sum over odd i of (i + 1)/2 = 1 + 2 + ... + 5,000 = 12,502,500
    scores, passed = [i / 10_000 for i in range(10_000)], [i % 2 == 1 for i in range(10_000)]
    sweep = threshold_sweep(scores, passed)
    assert (len(sweep.rows), sweep.auc.value) == (10_001, Fraction(12_502_500, 25_000_000))
    # from above: the k-th passing case stands at place 2k - 1
    wanted = math.fsum(k / (2 * k - 1) for k in range(1, 5_001)) / 5_000
    assert math.isclose(sweep.average_precision.value, wanted, rel_tol=1e-13)
    document = json.loads(json.dumps(sweep.as_dict(), allow_nan=False))
    assert document["average_precision"]["value"]["exact"] is None     # thousands of digits that nobody could read
    # right-closed: bin 0 holds scores 0 to .1, the last one .9001 to .9999; half of all cases pass
    got = reliability(scores, passed, 10)
    assert [row.count for row in got.rows] == [1001, *[1000] * 8, 999] and got.uncertainty == Fraction(1, 4)


def test_gate_is_undecided_without_bounds_and_closed_where_undefined() -> None:
    assert {row.gate_open for row in threshold_sweep([1, 2], [True, False]).rows} == {None}
    all_pass = threshold_sweep([1, 2], [True, True], BOUNDS)
    assert {row.gate_open for row in all_pass.rows} == {False} and all_pass.rows[1].fpr.undefined == NO_FAILURES


@given(st.lists(st.fractions(max_denominator=50), max_size=40))
def test_sum_in_pairs(terms: list[Fraction]) -> None:
    assert exact_sum(terms) == sum(terms, Fraction(0))


def test_scores_are_ordered_exactly_where_their_doubles_are_the_same_or_too_large() -> None:
    """1 + 1e-17 and 1 are one double, 9e308 and 8e308 are beyond any: as decimals they are in order all the same."""
    written = ["9e308", "1.00000000000000001", "1", "8e308", "-9e308"]
    groups = score_groups(written, [True, False, True, False, True])
    assert [group.score for group in groups] == sorted(Fraction(text) for text in written)
    assert [group.passed for group in groups] == [1, 1, 0, 0, 1]
