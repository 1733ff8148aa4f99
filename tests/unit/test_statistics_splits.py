"""Rates of one split, and refusing to subtract across splits: oracle binomial_standard_errors."""
from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from core.errors import RoundError
from core.statistics.ratio import Ratio, rounded_decimal
from core.statistics.splits import Measured, SplitRate, complement, mismatches, not_comparable, totals_difference

ORACLE = json.loads((Path(__file__).parents[1] / "fixtures/oracles/binomial_standard_errors.json").read_text("utf-8"))
SPLITS = {case["id"]: case for case in ORACLE["split_cases"]}


def rounded(value: float | Fraction, decimals: int) -> str:
    return format(rounded_decimal(Fraction(value), decimals), "f")


@pytest.mark.parametrize("case", ORACLE["cases"], ids=lambda case: case["id"])
def test_standard_errors_of_the_oracle(case: dict) -> None:
    found, expected = SplitRate(case["id"], **case["inputs"]), case["expected"]
    assert found.rate.value == Fraction(expected["rate"]) and rounded(found.rate.value, 4) == expected["rate_4dp"]
    assert found.standard_error == pytest.approx(expected["binomial_se"], abs=1e-12)
    assert rounded(found.standard_error, 5) == expected["se_5dp"] == case.get("printed_se", expected["se_5dp"])
    assert found.standard_error != pytest.approx(expected["se_with_n_minus_1"], abs=1e-6)


def test_largest_error_at_128_rows() -> None:
    assert max(SplitRate("s", k, 128).standard_error or 0 for k in range(129)) == pytest.approx(ORACLE["largest_se_at_128"], abs=1e-12)
    assert SplitRate("s", 0, 0).standard_error is None and SplitRate("s", 0, 0).rate.undefined == "no items"


@pytest.mark.parametrize("name", ["proxy_vs_final", "subset_vs_superset"])
def test_across_splits_nothing_is_subtracted(name: str) -> None:
    case = SPLITS[name]
    found = totals_difference(SplitRate(**case["inputs"]["a"]), SplitRate(**case["inputs"]["b"]))
    assert found.difference is None and found.reason == case["expected"]["reason"]
    assert found.unpaired_se is None and found.largest_paired_se is None


def test_a_derived_complement_is_allowed() -> None:
    case = SPLITS["subset_vs_superset"]
    rest = complement(SplitRate(**case["inputs"]["a"]), SplitRate(**case["inputs"]["b"]), "rest")
    expected = case["expected"]["derived_complement"]
    assert (rest.passes, rest.n, rounded(rest.rate.value or 0, 4)) == (expected["passes"], expected["n"], expected["rate_4dp"])
    parts = SPLITS["consistency_of_parts"]
    for whole, heldout, proxy in zip(*parts["inputs"].values(), parts["expected"]["proxy"], strict=True):
        found = complement(SplitRate("full", whole, 413), SplitRate("heldout", heldout, 285), "proxy")
        assert (found.passes, found.n) == (proxy, parts["expected"]["proxy_n"])
    with pytest.raises(RoundError) as fault:
        complement(SplitRate("a", 3, 10), SplitRate("b", 4, 5), "rest")
    assert fault.value.code == "not_a_part"
    with pytest.raises(RoundError):
        SplitRate("a", 3, 2)


def test_totals_of_one_split_bound_the_paired_error_they_do_not_give_it() -> None:
    case = SPLITS["same_split_no_item_outcomes"]
    found, expected = totals_difference(SplitRate(**case["inputs"]["a"]), SplitRate(**case["inputs"]["b"])), case["expected"]
    assert found.difference == Fraction(expected["difference"]) and found.reason == expected["reason"]
    assert found.unpaired_se == pytest.approx(expected["unpaired_se"], abs=1e-12)
    assert found.largest_paired_se == pytest.approx(expected["largest_possible_paired_se"], abs=1e-12)
    assert found.smallest_paired_se == pytest.approx(expected["smallest_possible_paired_se"], abs=1e-12)


def test_the_bounds_by_trying_every_overlap() -> None:
    for n, first, second in product((1, 6, 9), range(7), range(7)):
        if max(first, second) > n:
            continue
        errors = []
        for both in range(max(0, first + second - n), min(first, second) + 1):
            flips, shift = first + second - 2 * both, first - second
            errors.append(math.sqrt(Fraction(flips * n - shift**2, n**3)))
        found = totals_difference(SplitRate("s", first, n), SplitRate("s", second, n))
        assert (found.smallest_paired_se, found.largest_paired_se) == pytest.approx((min(errors), max(errors)))


def test_what_may_not_be_compared_is_named_item_by_item() -> None:
    one = Measured("a" * 8, "items-1", "prompts-1", Ratio(10, 10), "t1")
    assert mismatches(one, one) == ()
    other = Measured("b" * 8, "items-2", None, Ratio(9, 10), "t2")
    found = mismatches(one, other, names=("v0", "v1"))
    assert [reason.code for reason in found] == [
        "different_splits", "different_items", "different_prompts", "different_test_version", "different_graded_share",
    ]
    assert not_comparable(found[:1]) == "not comparable: different splits: aaaaaaaa for v0, bbbbbbbb for v1"
    assert found[2].text == "different prompts: prompts-1 for v0, not stated for v1"
    assert found[4].text == "different shares graded: 10 of 10, 100 % for v0, 9 of 10, 90 % for v1"
    # the same share of other counts is no mismatch: 5 of 10 and 10 of 20
    assert mismatches(Measured(None, None, None, Ratio(5, 10)), Measured(None, None, None, Ratio(10, 20))) == ()
