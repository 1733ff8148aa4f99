"""Standard errors and intervals of kappa: the oracle, statsmodels, plain enumeration, and what is not estimable."""
from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from core.errors import GridError
from core.statistics.agreement import ONE_CLASS, Confusion, cohen_kappa
from core.statistics.class_table import ClassTable, class_kappa
from core.statistics.kappa_bootstrap import kappa_bootstrap
from core.statistics.kappa_intervals import NOT_ESTIMABLE, kappa_estimate, kappa_proof
from core.statistics.mean_bootstrap import adjusted_levels
from core.statistics.provable import Light

ORACLE = json.loads((Path(__file__).parents[1] / "fixtures/oracles/kappa_intervals.json").read_text("utf-8"))
CASES = {case["id"]: case for case in ORACLE["cases"]}
tables = st.builds(Confusion, *[st.integers(0, 12)] * 4)


def close(got: object, wanted: float) -> bool:
    return isinstance(got, (float, Fraction)) and math.isclose(float(got), wanted, rel_tol=0, abs_tol=1e-10)


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_variances_and_wald_interval_of_the_oracle(case: dict) -> None:
    got, expected = kappa_estimate(Confusion(**case["inputs"])), case["expected"]
    assert got.kappa.value == Fraction(expected["kappa"])
    assert (got.variance, got.null_variance) == (Fraction(expected["asymptotic_variance"]), Fraction(expected["null_variance"]))
    assert close(got.standard_error, expected["asymptotic_se"]) and close(got.null_standard_error, expected["null_se"])
    if "asymptotic_note" in expected:            # "zero width: not a valid interval; show 'not estimable'"
        assert (got.wald.lower, got.wald.upper, got.wald.undefined) == (None, None, NOT_ESTIMABLE)
    else:
        assert close(got.wald.lower, expected["wald_95_clipped"][0]) and close(got.wald.upper, expected["wald_95_clipped"][1])


@pytest.mark.parametrize("case", [case for case in CASES.values() if "ideal_bootstrap" in case["expected"]], ids=lambda case: case["id"])
def test_enumerated_bootstrap_of_the_oracle(case: dict) -> None:
    got, expected = kappa_bootstrap(Confusion(**case["inputs"])), case["expected"]["ideal_bootstrap"]
    assert (got.resamples, got.distinct, got.seed, got.undefined) == (expected["distinct_tables"], expected["distinct_kappas"], None, None)
    assert [got.percentile.lower, got.percentile.upper] == [Fraction(end) for end in expected["percentile_95_exact"]]
    assert [got.bca.lower, got.bca.upper] == [Fraction(end) for end in expected["bca_95_exact"]]
    for value, wanted in ((got.undefined_mass, "undefined_mass"), (got.deviation, "sd"), (got.bias, "z0"), (got.acceleration, "acceleration")):
        assert close(value, expected[wanted]), wanted
    assert got.levels is not None and all(map(close, got.levels, expected["adjusted_levels"]))
    assert got.method == f"all {expected['distinct_tables']:,} resamples enumerated"


def test_one_class_of_the_oracle_has_no_interval_of_any_kind() -> None:
    (case,) = ORACLE["edge_cases"]
    got = kappa_estimate(Confusion(**case["inputs"]))
    assert got.kappa.value is None and got.standard_error is None and got.bootstrap is not None
    reasons = {got.wald.undefined, got.interval.undefined, got.bootstrap.undefined, got.bootstrap.bca.undefined, got.bootstrap.percentile.undefined}
    assert reasons == {ONE_CLASS} and got.text == ONE_CLASS


@given(st.integers(2, 4).flatmap(lambda k: st.lists(st.lists(st.integers(0, 30), min_size=k, max_size=k), min_size=k, max_size=k)))
def test_variances_of_k_classes_against_statsmodels(cells: list[list[int]]) -> None:
    table = ClassTable(tuple(range(len(cells))), tuple(map(tuple, cells)))
    if class_kappa(table).value is None:
        return
    got, wanted = kappa_estimate(table), cohens_kappa(np.array(cells))
    assert close(got.kappa.value, wanted.kappa)
    # close to 0 the square root magnifies rounding of the reference
    assert math.isclose(float(got.variance or 0), max(0.0, wanted.var_kappa), abs_tol=1e-9)
    assert math.isclose(float(got.null_variance or 0), wanted.var_kappa0, rel_tol=1e-9, abs_tol=1e-12)


@given(st.builds(Confusion, *[st.integers(0, 3)] * 4))
@settings(max_examples=25)
def test_bootstrap_against_every_ordered_resample(table: Confusion) -> None:
    """n^n ordered resamples, each equally likely, for n up to 5."""
    if not 1 <= table.n <= 5 or cohen_kappa(table).value is None:
        return
    cases = [cell for cell in ("tp", "fp", "fn", "tn") for _ in range(getattr(table, cell))]
    weights: Counter[Fraction | None] = Counter()
    for drawn in itertools.product(cases, repeat=table.n):
        counts = Counter(drawn)
        weights[cohen_kappa(Confusion(*(counts[cell] for cell in ("tp", "fp", "fn", "tn")))).value] += 1
    lost = weights.pop(None, 0)
    total, got = sum(weights.values()), kappa_bootstrap(table)
    assert got.undefined_mass is not None and math.isclose(got.undefined_mass, lost / (total + lost), abs_tol=1e-12)
    reached, cumulated = [], 0
    for kappa in sorted(weights):
        cumulated += weights[kappa]
        reached.append((Fraction(cumulated, total), kappa))
    ends = [next(kappa for level, kappa in reached if level >= tail) for tail in (Fraction(1, 40), Fraction(39, 40))]
    assert [got.percentile.lower, got.percentile.upper] == ends


@given(tables)
@settings(max_examples=40)
def test_intervals_hold_kappa_and_never_lack_width(table: Confusion) -> None:
    got = kappa_estimate(table)
    if got.kappa.value is None or got.interval.undefined:
        assert got.kappa.value is None or got.variance == 0
        return
    assert -1 <= got.interval.lower < got.interval.upper <= 1
    assert got.wald.lower <= got.kappa.value <= got.wald.upper


def test_perfect_agreement_is_not_certainty() -> None:
    # exact two-sided interval of 10 of 10: lower end .025^(1/10) = .6915
    got = kappa_estimate(Confusion(5, 0, 0, 5))
    assert got.interval.undefined == NOT_ESTIMABLE and got.bootstrap is not None
    assert got.text == f"{NOT_ESTIMABLE}; 10 agreements in 10 cases put the agreement rate at 69.15 % to 100 % (95 % confidence)"
    assert kappa_proof(got, Fraction(3, 4)).light is Light.MEETS
    # the judge is always wrong in one direction: kappa 0, no variance either
    assert kappa_estimate(Confusion(0, 5, 0, 0)).interval.undefined == NOT_ESTIMABLE


def test_above_two_hundred_cases_the_asymptotic_interval_stands_unless_a_seed_is_named() -> None:
    table = Confusion(400, 20, 30, 350)
    plain = kappa_estimate(table)
    assert plain.interval == plain.wald and plain.bootstrap is not None
    assert plain.bootstrap.undefined == "800 cases are too many to enumerate (at most 200)"
    drawn, again = kappa_bootstrap(table, seed=7), kappa_bootstrap(table, seed=7)
    assert drawn == again and drawn.seed == drawn.bca.seed == 7 and drawn.method == "20,000 resamples drawn with seed 7"
    assert kappa_bootstrap(table, seed=8).deviation != drawn.deviation
    # the delta method's standard error is .01717 (oracle); a bootstrap of 20,000 lies within a few percent of it
    assert drawn.deviation is not None and math.isclose(drawn.deviation, 0.017174827948232312, rel_tol=0.03)
    for interval in (drawn.bca, drawn.percentile):
        assert math.isclose(interval.lower, plain.wald.lower, abs_tol=0.005) and math.isclose(interval.upper, plain.wald.upper, abs_tol=0.005)
    assert kappa_estimate(table, seed=7).interval == plain.wald       # what is shown needs no random numbers
    assert kappa_bootstrap(Confusion(9, 1, 2, 8), seed=7).seed is None


def test_enumeration_reaches_two_hundred() -> None:
    # C(203, 3) = 203 * 202 * 201 / 6 = 1,373,701 tables
    got = kappa_bootstrap(Confusion(80, 20, 30, 70))
    assert got.resamples == 1_373_701 and got.undefined is None
    assert kappa_bootstrap(Confusion(80, 20, 30, 71)).undefined is not None


def test_a_correction_that_runs_the_wrong_way_gives_no_interval() -> None:
    assert adjusted_levels((0.025, 0.975), 0.0, 0.6) is None               # 1 - .6 * 1.96 < 0
    assert adjusted_levels((0.025, 0.975), 0.0, 0.0) == pytest.approx((0.025, 0.975))


def test_lights_of_kappa() -> None:
    floor = Fraction(3, 4)
    worked = kappa_proof(kappa_estimate(Confusion(4, 0, 1, 3)), floor)
    assert worked.text == "meets, not proven: 0 to 1 (bootstrap BCa, all 45 resamples enumerated)"
    assert kappa_proof(kappa_estimate(Confusion(1, 3, 1, 1)), floor).light is Light.FAILS
    assert kappa_proof(kappa_estimate(Confusion(400, 20, 30, 350)), floor).light is Light.PROVES       # .8408 and up
    assert kappa_proof(kappa_estimate(Confusion(7, 0, 0, 0)), floor).text == f"undefined: {ONE_CLASS}"


@pytest.mark.parametrize("confidence", ["0", "1", "NaN", "-0.5", "1/0"])
def test_a_level_that_nobody_may_ask_for(confidence: str) -> None:
    with pytest.raises(GridError) as refused:
        kappa_estimate(Confusion(4, 0, 1, 3), confidence)
    assert refused.value.code == "confidence_out_of_range"
