"""Position, length and self-preference bias against the oracle, scipy and hand counts."""
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

from core.errors import RoundError
from core.statistics.agreement import NO_FAILURES, Confusion
from core.statistics.judge_bias import (
    NO_LONGER_RIGHT,
    NO_LONGER_WRONG,
    NO_SIDES,
    NO_USABLE,
    LengthCounts,
    length_bias,
    length_counts,
    position_bias,
    self_preference,
)
from core.statistics.rate_difference import rate_difference
from core.statistics.rate_intervals import wilson_interval
from core.statistics.ratio import Ratio
from core.statistics.sign_test import sign_test

ORACLE = json.loads((Path(__file__).parents[1] / "fixtures/oracles/judge_bias.json").read_text("utf-8"))


def refusal(call: Any) -> str:
    with pytest.raises(RoundError) as refused:
        call()
    return refused.value.code


def close(interval: Any, wanted: list[float]) -> bool:
    return all(math.isclose(end, value, rel_tol=0, abs_tol=1e-10) for end, value in zip((interval.lower, interval.upper), wanted, strict=True))


@pytest.mark.parametrize("case", ORACLE["position_cases"], ids=lambda case: case["id"])
def test_every_position_case_of_the_oracle(case: dict) -> None:
    verdicts, expected = case["inputs"]["verdicts"], case["expected"]
    as_shown, swapped = [pair[0] for pair in verdicts], [pair[1] for pair in verdicts]
    if "error" in expected:
        assert refusal(lambda: position_bias(as_shown, swapped)) == expected["error"]
        return
    got = position_bias(as_shown, swapped)
    counts = {name: getattr(got, name) for name in ("n", "unusable", "consistent", "follows_first_slot", "follows_second_slot")}
    assert counts == {name: expected[name] for name in counts}
    assert got.half_ties == 0
    shares = {"position_consistency": got.consistency, "net_first_slot_bias": got.net_first_slot_bias, "first_slot_share": got.first_slot_share}
    assert {name: share.value for name, share in shares.items()} == {name: Fraction(expected[name]) for name in shares}
    assert got.test.p.exact == Fraction(expected["exact_p"]["exact"])


@pytest.mark.parametrize("case", ORACLE["length_cases"], ids=lambda case: case["id"])
def test_every_length_case_of_the_oracle(case: dict) -> None:
    (inputs,), expected = case["inputs"].values(), case["expected"]
    names = ("longer wrong, picked longer", "longer wrong, picked shorter", "longer right, picked longer", "longer right, picked shorter")
    got = length_bias(LengthCounts(*(inputs[name] for name in names)))
    if expected["length_bias"] is None:
        assert expected["reason"] == "no_case_where_longer_is_wrong"
        assert (got.gap.value, got.gap.undefined, got.gap.interval.lower) == (None, NO_LONGER_WRONG, None)
        return
    assert got.gap.value == Fraction(expected["length_bias"])
    assert (got.gap.first.value, got.gap.second.value) == (Fraction(expected["wrongly_picks_longer"]), Fraction(expected["wrongly_picks_shorter"]))
    assert close(got.gap.interval, expected["newcombe_95"])


@pytest.mark.parametrize("case", ORACLE["self_preference_cases"], ids=lambda case: case["id"])
def test_every_self_preference_case_of_the_oracle(case: dict) -> None:
    got, expected = self_preference(Confusion(**case["inputs"]["own"]), Confusion(**case["inputs"]["other"])), case["expected"]
    if expected["fpr_gap"] is None:
        assert expected["reason"] == "no_verifier_failures_in_own"
        assert (got.fpr_gap.value, got.fpr_gap.undefined) == (None, f"{NO_FAILURES} among the judge's own outputs")
        assert got.tpr_gap.value == 0                                 # 5 of 5 against 5 of 5: this one is defined
        return
    assert (got.fpr_gap.first.value, got.fpr_gap.second.value) == (Fraction(expected["fpr_own"]), Fraction(expected["fpr_other"]))
    assert (got.fpr_gap.value, got.tpr_gap.value) == (Fraction(expected["fpr_gap"]), Fraction(expected["tpr_gap"]))
    assert close(got.fpr_gap.interval, expected["fpr_gap_newcombe_95"]) and close(got.tpr_gap.interval, expected["tpr_gap_newcombe_95"])


def test_ties_are_a_verdict_and_half_ties_follow_no_slot() -> None:
    # tie twice: consistent. tie then 1, 2 then tie: the side changed with the order, but no slot was followed.
    got = position_bias(["tie", "tie", "2", "1", "1", None], ["tie", 1, "tie", "1", "2", "1"])
    assert (got.n, got.unusable, got.consistent, got.half_ties, got.follows_first_slot, got.follows_second_slot) == (6, 1, 2, 2, 1, 0)
    assert got.n == got.unusable + got.consistent + got.half_ties + got.follows_first_slot + got.follows_second_slot
    assert got.consistency.value == Fraction(2, 5) and got.net_first_slot_bias.value == Fraction(1, 5)
    # sides named, and whether that answer stood first: tie,1 no; 2,tie no; 1,1 yes and no; 1,2 yes and yes
    assert got.first_slot_share.value == Fraction(3, 6)


def test_position_without_usable_or_without_sided_verdicts() -> None:
    nothing = position_bias([None, 1], [1, None])
    assert (nothing.unusable, nothing.consistency.undefined, nothing.first_slot_share.undefined) == (2, NO_USABLE, NO_USABLE)
    assert nothing.test.p.exact == 1
    ties = position_bias(["tie"], ["tie"])
    assert ties.consistency.value == 1 and ties.first_slot_share.undefined == NO_SIDES


@pytest.mark.parametrize("choice", ["A", 3, True, 0.5, ""])
def test_an_unknown_choice_is_refused(choice: Any) -> None:
    assert refusal(lambda: position_bias([choice], [1])) == "unknown_choice"
    assert refusal(lambda: position_bias([1], [1, 2])) == "lengths_differ"


def test_length_counts_from_cases() -> None:
    rows = [
        *[("1", 2, (30, 10))] * 4, (2, 1, (10, 30)),          # picks the longer answer, which is wrong: 5
        *[(2, 2, (30, 10))] * 2, *[(1, 1, (10, 30))] * 1,     # picks the shorter one, the longer is wrong: 3
        *[(2, 2, (10, 30))] * 2,                              # picks the longer one, which is right: 2
        (2, 1, (30, 10)),                                     # picks the shorter one, the longer is right: 1
        (1, 1, (20, 20)), ("tie", 1, (30, 10)), (None, 1, (30, 10)), (1, 0, (30, 10)),
    ]
    picked, right, lengths = map(list, zip(*rows, strict=True))
    assert length_counts(picked, right, lengths) == LengthCounts(5, 3, 2, 1, left_out=4)
    assert length_bias(LengthCounts(2, 3, 0, 0)).gap.undefined == NO_LONGER_RIGHT


def test_liking_longer_answers_because_they_are_better_is_no_bias() -> None:
    # picks the longer one in 90 of 100 cases, and errs as often either way: 1 of 10 where it is wrong, 9 of 90 where it is right
    assert length_bias(LengthCounts(1, 9, 81, 9)).gap.value == 0


@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_newcombe_against_wilson_ends(first: int, second: int, data: st.DataObject) -> None:
    """d -/+ sqrt of the squared distances of each rate to its Wilson end: the definition, with the engine's own Wilson."""
    k, m = data.draw(st.integers(0, first)), data.draw(st.integers(0, second))
    got, one, two = rate_difference(Ratio(k, first), Ratio(m, second)), wilson_interval(k, first), wilson_interval(m, second)
    p, q = k / first, m / second
    lower, upper = p - q - math.hypot(p - one.lower, two.upper - q), p - q + math.hypot(one.upper - p, q - two.lower)
    assert close(got.interval, [lower, upper]) and got.value == Fraction(k, first) - Fraction(m, second)
    assert got.interval.lower < got.interval.upper


@given(st.integers(0, 60), st.integers(0, 60))
def test_sign_test_against_scipy(first: int, second: int) -> None:
    got = sign_test(first, second)
    wanted = binomtest(first, first + second).pvalue if first + second else 1.0
    assert math.isclose(got.p.value, wanted, rel_tol=1e-12) and got.p.exact is not None


def test_sign_test_of_case_25_and_of_very_many_changes() -> None:
    # 9 gained 1 lost: 2 (1 + 10) / 1024; 2 and 0: 1/2; 5 and 0: 2/32; 6 and 0: 2/64; 12 and 4: 2 (1 + 16 + 120 + 560 + 1820) / 65536
    wanted = {(9, 1): Fraction(22, 1024), (2, 0): Fraction(1, 2), (5, 0): Fraction(2, 32), (6, 0): Fraction(2, 64), (12, 4): Fraction(5034, 65536),
              (1, 0): Fraction(1), (0, 0): Fraction(1)}
    assert {counts: sign_test(*counts).p.exact for counts in wanted} == wanted
    assert [sign_test(n, 0).can_show() for n in (0, 5, 6)] == [False, False, True]
    assert sign_test(6, 0).shown() and not sign_test(5, 0).shown()
    many = sign_test(10_200, 9_801)                                   # 20,001 changes: in doubles, and it says so
    assert many.p.exact is None and math.isclose(many.p.value, binomtest(10_200, 20_001).pvalue, rel_tol=1e-9)
    assert refusal(lambda: sign_test(-1, 2)) == "invalid_count"
