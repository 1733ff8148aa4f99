"""A judge across two rounds: which shared verdicts flipped, exact test, agreement with itself, and what is not comparable."""
from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import RoundError
from core.statistics.agreement import Confusion, cohen_kappa
from core.statistics.drift import NO_SHARED, judge_drift
from core.statistics.ratio import Ratio

verdicts = st.dictionaries(st.sampled_from([f"c{i}" for i in range(12)]), st.sampled_from([True, False, None]))


def sides(both: int, later: int, earlier: int, neither: int) -> tuple[dict[str, bool | None], dict[str, bool | None]]:
    before = [True] * both + [False] * later + [True] * earlier + [False] * neither
    after = [True] * both + [True] * later + [False] * earlier + [False] * neither
    return ({f"c{i:03d}": value for i, value in enumerate(column)} for column in (before, after))  # type: ignore[return-value]


def test_flips_test_and_agreement_by_hand() -> None:
    # 120 shared cases: 40 approved in both, 9 later only, 1 earlier only, 70 in neither
    drift = judge_drift(*sides(40, 9, 1, 70))
    assert (drift.n, drift.table) == (120, Confusion(40, 9, 1, 70))
    assert (drift.unchanged, drift.approved_before, drift.approved_after) == (Ratio(110, 120), Ratio(41, 120), Ratio(49, 120))
    assert drift.to_approved == tuple(f"c{i:03d}" for i in range(40, 49)) and drift.to_rejected == ("c049",)
    assert drift.test.p.exact == Fraction(22, 1024)                   # 2 (1 + 10) / 2^10
    # kappa: 2 (40*70 - 9) / (49*79 + 41*71) = 5582 / 6782
    assert drift.kappa.kappa.value == Fraction(5582, 6782) and drift.kappa.interval.undefined is None
    assert drift.verdict() == (
        "10 of 120 shared verdicts flipped (kappa with itself 0.823), 9 to approved and 1 to rejected: more than chance explains (exact p = .0215)."
    )


def test_words_for_few_flips_and_for_none() -> None:
    five = judge_drift(*sides(40, 5, 0, 70))
    assert five.test.p.exact == Fraction(2, 32)
    assert five.verdict().endswith("5 to approved and 0 to rejected: no result on so few flips can reach p = .05.")
    assert judge_drift(*sides(40, 6, 4, 70)).verdict().endswith("no lean to one side shown (exact p = .7539).")   # 2 (1+10+45+120+210)/1024
    assert judge_drift(*sides(40, 0, 0, 70)).verdict() == "None of 110 shared verdicts flipped."
    one_class = judge_drift(*sides(40, 0, 0, 0))
    assert one_class.kappa.kappa.value is None and one_class.verdict() == "None of 40 shared verdicts flipped."


def test_only_shared_cases_with_a_verdict_count_and_the_rest_is_named() -> None:
    before = {"a": True, "b": None, "c": False, "only-before": True, "d": True}
    after = {"a": True, "b": True, "c": True, "d": None, "only-after": False}
    drift = judge_drift(before, after)
    assert (drift.n, drift.to_approved, drift.to_rejected) == (2, ("c",), ())
    assert (drift.no_verdict, drift.only_before, drift.only_after) == (("b", "d"), ("only-before",), ("only-after",))


def test_different_cases_are_not_comparable() -> None:
    drift = judge_drift({"a": True}, {"b": True})
    assert drift.undefined == NO_SHARED and drift.verdict() == f"Not comparable: {NO_SHARED}."
    assert {drift.unchanged.value, drift.approved_before.value, drift.kappa.kappa.value} == {None}
    assert json.loads(json.dumps(drift.as_dict(), allow_nan=False))["undefined"] == NO_SHARED
    assert judge_drift({"a": None}, {"a": True}).undefined == NO_SHARED


def test_flips_against_the_verifier() -> None:
    before, after = {"a": True, "b": False, "c": True, "d": True, "e": False}, {"a": False, "b": True, "c": True, "d": False, "e": True}
    passed = {"a": False, "b": True, "c": True, "d": True, "e": True}
    # e has another verifier verdict in the later round: it says nothing about the judge
    drift = judge_drift(before, after, passed_before=passed, passed_after={**passed, "e": False})
    assert drift.verifier is not None and drift.n == 5
    assert (drift.verifier.corrected, drift.verifier.spoiled, drift.verifier.relabelled) == (("a", "b"), ("d",), ("e",))
    # a, b wrong before; d wrong after
    assert (drift.verifier.n, drift.verifier.right_before.value, drift.verifier.right_after.value) == (4, Fraction(2, 4), Fraction(3, 4))
    assert drift.verifier.test.p.exact == 1                           # 2 against 1: 2 (1 + 3) / 8
    assert judge_drift(before, after).verifier is None


@given(verdicts, verdicts)
def test_every_case_is_counted_once(before: dict[str, bool | None], after: dict[str, bool | None]) -> None:
    drift = judge_drift(before, after)
    assert drift.n + len(drift.no_verdict) + len(drift.only_before) + len(drift.only_after) == len(before.keys() | after.keys())
    assert drift.table.fp == len(drift.to_approved) and drift.table.fn == len(drift.to_rejected) and drift.table.n == drift.n
    assert drift.kappa.kappa == cohen_kappa(drift.table)
    back = judge_drift(after, before)
    assert (back.to_approved, back.to_rejected, back.test.p, back.kappa.kappa.value) == (
        drift.to_rejected, drift.to_approved, drift.test.p, drift.kappa.kappa.value,
    )


def test_a_score_is_no_verdict() -> None:
    with pytest.raises(RoundError) as refused:
        judge_drift({"a": 0.7}, {"a": True})  # type: ignore[dict-item]
    assert refused.value.code == "non_boolean_verdict"
