"""Tables of flips, exact tests and paired intervals: oracles paired_tests and promotion_rates, printed values, known case 25."""
from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar

from core.errors import RoundError
from core.statistics.paired import TESTS, FlipTable, items_to_reach, paired_test, smallest_p
from core.statistics.paired_intervals import excludes_zero, newcombe_interval, tango_interval
from core.statistics.probability import Probability, counted

ORACLES = Path(__file__).parents[1] / "fixtures/oracles"
ORACLE = json.loads((ORACLES / "paired_tests.json").read_text("utf-8"))
RATES = json.loads((ORACLES / "promotion_rates.json").read_text("utf-8"))
CASES = pytest.mark.parametrize("case", ORACLE["cases"], ids=lambda case: case["id"])
SMALL = st.integers(0, 12)


def table(fixes: int, regressions: int, both_pass: int = 0, both_fail: int = 0) -> FlipTable:
    return FlipTable(both_pass=both_pass, regressions=regressions, fixes=fixes, both_fail=both_fail)


@CASES
def test_p_values_of_the_oracle_are_exact(case: dict) -> None:
    expected, found = case["expected"], paired_test(FlipTable(**case["inputs"]))
    assert found.exact.exact == Fraction(expected["mcnemar_exact_two_sided"]["exact"])
    assert found.mid_p.exact == Fraction(expected["mcnemar_mid_p"]["exact"])
    assert found.better.exact == Fraction(expected["sign_test_one_sided_candidate_better"]["exact"])
    statistic = expected["mcnemar_asymptotic"]["statistic"]
    assert found.statistic == (None if statistic is None else Fraction(statistic))
    assert found.asymptotic.value == pytest.approx(expected["mcnemar_asymptotic"]["p"], abs=1e-9)
    assert found.table.net_gain.value == Fraction(expected["net_gain"]) and found.table.n == expected["n"]


@CASES
def test_intervals_of_the_oracle(case: dict) -> None:
    flips = FlipTable(**case["inputs"])
    for interval, name in ((newcombe_interval(flips), "newcombe_95"), (tango_interval(flips), "tango_score_95")):
        assert (interval.lower, interval.upper) == pytest.approx(case["expected"][name], abs=1e-9), name


def test_printed_values_of_the_book_s_package() -> None:
    """Fagerland, Lydersen & Laake 2017, (59, 6, 16, 80): printed to six and four decimals."""
    anchor = ORACLE["published_anchor"]
    printed, flips = anchor["printed"], table(6, 16, 59, 80)
    found = paired_test(flips)
    assert round(found.exact.value, 6) == printed["exact"]
    assert round(found.mid_p.value, 5) == printed["mid_p"]
    assert round(found.asymptotic.value, 6) == printed["asymptotic"]
    assert [round(float(end), 4) for end in (newcombe_interval(flips).lower, newcombe_interval(flips).upper)] == printed["newcombe"]
    assert [round(float(end), 4) for end in (tango_interval(flips).lower, tango_interval(flips).upper)] == printed["tango"]
    # also named there: Newcombe for (1, 0, 0, 1) is +-.5734, Tango for (0, 3, 0, 0) is -.1230 to 1
    assert round(float(newcombe_interval(table(0, 0, 1, 1)).upper), 4) == 0.5734
    assert (round(float(tango_interval(table(3, 0)).lower), 4), tango_interval(table(3, 0)).upper) == (-0.1230, 1.0)


@pytest.mark.parametrize("row", ORACLE["smallest_detectable"]["rows"], ids=lambda row: str(row["one_directional_flips"]))
def test_smallest_p_of_flips_in_one_direction(row: dict) -> None:
    flips = row["one_directional_flips"]
    found = paired_test(table(flips, 0, 1))
    assert found.exact.exact == smallest_p(flips) == Fraction(row["two_sided_exact_p"])
    assert found.mid_p.exact == smallest_p(flips, "mid_p") == Fraction(row["mid_p"])
    assert found.better.exact == Fraction(row["one_sided"])


def test_five_items_can_never_reach_five_percent_and_six_can() -> None:
    assert smallest_p(5) == Fraction(1, 16) > Fraction(1, 20) > smallest_p(6) == Fraction(1, 32)
    assert items_to_reach("0.05") == 6 and items_to_reach("0.05", "mid_p") == 5
    # 2 / 2^n <= .001 needs 2^n >= 2000: n = 11 (2048)
    assert items_to_reach("0.001") == 11


@pytest.mark.parametrize(("flips", "p"), [
    (table(9, 1, 69, 21), Fraction(11, 512)),      # 2 (1 + 10) / 2^10
    (table(2, 0, 5, 3), Fraction(1, 2)), (table(5, 0, 5, 0), Fraction(1, 16)), (table(6, 0, 5, 0), Fraction(1, 32)),
    (table(12, 4, 30, 14), Fraction(2517, 32768)),  # 2 (1 + 16 + 120 + 560 + 1820) / 2^16 = 5034/65536
    (table(1, 0, 3, 1), Fraction(1)), (table(0, 0, 7, 3), Fraction(1)),
])
def test_case_25_paired_data_is_tested_paired(flips: FlipTable, p: Fraction) -> None:
    assert paired_test(flips).exact.exact == p


@pytest.mark.parametrize("flips", [
    table(1, 0), table(0, 1), table(0, 0, 1), table(0, 0, 0, 1), table(6, 0), table(0, 6), table(0, 0, 10, 0), table(0, 0, 5000, 5000),
])
def test_case_25_no_interval_has_zero_width(flips: FlipTable) -> None:
    for interval in (newcombe_interval(flips), tango_interval(flips)):
        assert interval.lower is not None and interval.upper is not None
        assert -1 <= interval.lower < interval.upper <= 1
        assert interval.lower <= Fraction(flips.fixes - flips.regressions, flips.n) <= interval.upper


@given(st.tuples(SMALL, SMALL, SMALL, SMALL).filter(any))
def test_swapping_the_arms_mirrors_everything(cells: tuple[int, int, int, int]) -> None:
    fixes, regressions, both_pass, both_fail = cells
    one, other = table(fixes, regressions, both_pass, both_fail), table(regressions, fixes, both_pass, both_fail)
    a, b = paired_test(one), paired_test(other)
    assert a.exact.exact == b.exact.exact and a.mid_p.exact == b.mid_p.exact
    # P(X >= fixes) + P(X <= fixes) = 1 + P(X = fixes)
    observed = Fraction(math.comb(one.flips, fixes), 2**one.flips)
    assert a.better.fraction + b.better.fraction == 1 + observed
    for interval in (newcombe_interval, tango_interval):
        left, right = interval(one), interval(other)
        assert float(left.lower) == pytest.approx(-float(right.upper), abs=1e-12)
    assert one.net_gain.numerator == one.fix_rate.numerator - one.regression_rate.numerator


@given(st.integers(0, 40), st.integers(0, 40))
def test_exact_p_is_that_of_scipy_and_statsmodels(fixes: int, regressions: int) -> None:
    exact = paired_test(table(fixes, regressions, 1)).exact.value
    if fixes + regressions:
        assert exact == pytest.approx(binomtest(fixes, fixes + regressions).pvalue, abs=1e-12)
        assert exact == pytest.approx(mcnemar([[1, regressions], [fixes, 0]], exact=True).pvalue, abs=1e-12)


def test_mid_p_by_adding_up_all_orders_of_six_flips() -> None:
    """Second route: all 2^6 directions of six flips, each table's probability halved where it is the observed one."""
    for fixes in range(7):
        seen = [sum(order) for order in product((0, 1), repeat=6)]
        as_far = sum(abs(2 * k - 6) >= abs(2 * fixes - 6) for k in seen)
        same = sum(k == fixes for k in seen)
        expected = Fraction(as_far - same, 64) if fixes != 3 else 1 - Fraction(same, 128)
        assert paired_test(table(fixes, 6 - fixes)).mid_p.exact == expected


def test_above_twenty_thousand_flips_doubles_agree_with_the_rational() -> None:
    """10,100 fixes and 9,900 regressions: the largest table that is counted, against the sums in doubles just above it."""
    counted_one, double_one = paired_test(table(10_100, 9_900)), paired_test(table(10_101, 9_900))
    assert counted_one.exact.exact is not None and double_one.exact.exact is None and double_one.exact.method == "computed in doubles"
    # binomtest sums in doubles as well, by another route
    assert double_one.exact.value == pytest.approx(binomtest(9_900, 20_001).pvalue, rel=1e-9)
    assert double_one.mid_p.value == pytest.approx(binomtest(9_900, 20_001).pvalue - math.exp(
        math.lgamma(20_002) - math.lgamma(10_102) - math.lgamma(9_901) - 20_001 * math.log(2)), rel=1e-6)
    assert double_one.better.value == pytest.approx(double_one.exact.value / 2, rel=1e-9)


@pytest.mark.parametrize("case", RATES["cases"], ids=lambda case: case["id"])
def test_rates_of_the_oracle_are_exact(case: dict) -> None:
    expected = case["expected"]
    flips = FlipTable(**{name: expected[name] for name in ("both_pass", "regressions", "fixes", "both_fail")})
    if "counts" in case["inputs"]:
        assert flips == FlipTable(**case["inputs"]["counts"])
    found = {
        "net_holdout_gain": flips.net_gain, "regression_rate": flips.regression_rate, "fix_rate": flips.fix_rate,
        "baseline_pass_rate": flips.baseline, "candidate_pass_rate": flips.candidate,
        "regressions_over_baseline_passes": flips.regressions_over_baseline_passes,
    }
    for name, ratio in found.items():
        assert ratio.value == (None if expected[name] is None else Fraction(expected[name])), name


def test_refusals_name_their_cause() -> None:
    with pytest.raises(RoundError) as empty:
        table(0, 0)
    assert empty.value.code == "empty_holdout"
    for bad in (-1, 1.0, True, None):
        with pytest.raises(RoundError) as fault:
            table(bad, 0, 1)
        assert fault.value.code == "invalid_count"


def test_a_p_value_of_exactly_alpha_reaches_it_and_reads_apart_from_what_does_not() -> None:
    alpha = Fraction(1, 16)
    assert paired_test(table(5, 0)).exact.at_most(alpha)
    assert not counted(alpha + Fraction(1, 10**9)).at_most(alpha)
    assert counted(Fraction(11, 512)).text() == "p = .0215"
    assert counted(Fraction(1, 10**6)).text(Fraction(1, 20)) == "p < .0001"
    assert counted(Fraction(500_001, 10**7)).text(Fraction(1, 20)) == "p = .0500001"
    assert Probability(0.0, None).text() == "p < .0001" and counted(Fraction(1)).text() == "p = 1"


@pytest.mark.parametrize("test", TESTS)
def test_json_carries_short_fractions_and_never_thousands_of_digits(test: str) -> None:
    short, long = (paired_test(table(fixes, 1, 1)).of(test).as_dict() for fixes in (9, 15_000))
    assert short["exact"] is not None and long["exact"] is None
    assert isinstance(json.dumps(paired_test(table(15_000, 1)).as_dict()), str)


def test_an_interval_that_touches_zero_excludes_nothing() -> None:
    assert not excludes_zero(tango_interval(table(2, 0, 5, 3)))
    assert excludes_zero(tango_interval(table(9, 1, 69, 21))) and excludes_zero(tango_interval(table(1, 8, 20, 11)))
