"""How exact figures are written out: hand arithmetic, and never the bound's own digits for a value beside it."""
from __future__ import annotations

from fractions import Fraction

import pytest

from core.statistics.ratio import Ratio, decimal_text, fraction_text, percent_text, rounded_decimal


@pytest.mark.parametrize(("value", "decimals", "text"), [
    (Fraction(57, 128), 6, "0.445312"),        # .4453125 is a tie: to the even 2
    (Fraction(-1, 5), 6, "-0.200000"),
    (Fraction(-1, 10**9), 6, "0.000000"),      # never -0
    (Fraction(10**40 + 1, 10), 0, "1" + "0" * 39),  # 10^39 + .1: wider than any default precision
])
def test_rounding_is_half_even_once_and_never_negative_zero(value: Fraction, decimals: int, text: str) -> None:
    assert format(rounded_decimal(value, decimals), "f") == text


def test_a_value_beside_its_bound_shows_as_many_decimals_as_it_takes() -> None:
    bound = Fraction(3, 4)
    assert decimal_text(bound, 3, against=bound) == "0.75"
    assert decimal_text(bound - Fraction(1, 10**7), 3, against=bound) == "0.7499999"
    assert percent_text(Fraction(501, 10_000), against=Fraction(1, 20)) == "5.01 %"
    assert percent_text(Fraction(500_001, 10_000_000), against=Fraction(1, 20)) == "5.00001 %"


def test_a_fraction_stands_beside_its_rate_and_undefined_has_words() -> None:
    assert fraction_text(Ratio(1, 16)) == "1 of 16, 6.25 %"
    assert fraction_text(Ratio(13, 120)) == "13 of 120, 10.83 %"    # 10.8333...
    assert fraction_text(Ratio(0, 0, "the verifier failed nothing")) == "undefined: the verifier failed nothing"


def test_minus_signs_and_json_integers() -> None:
    assert decimal_text(Fraction(-264, 100)) == "−2.64"
    assert Ratio(2**53, 3).as_dict()["numerator"] == "9007199254740992" and Ratio(2**53 - 1, 3).as_dict()["numerator"] == 2**53 - 1
