"""Rules that make verdicts of numbers: compared as the decimals that were written, never as binary fractions."""
from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import RoundError
from core.rounds.columns import CellFault
from core.rounds.readers.format import Declared
from core.rounds.readers.verdicts import VerdictRule, decimal

DECIMALS = st.decimals(min_value=-10, max_value=10, places=3, allow_nan=False).map(lambda value: value + 0)


def rule(text: str | None, fail: str | None = None) -> VerdictRule:
    options = {name: value for name, value in (("pass", text), ("fail", fail)) if value is not None}
    return VerdictRule(Declared(Path("x"), "x", options), "score")


@given(DECIMALS, DECIMALS)
def test_bounds_compare_decimals(value: Decimal, bound: Decimal) -> None:
    """Python's Decimal compares exactly; the rule gets the double that JSON reads from the same text."""
    written = float(str(value))
    assert rule(f">={bound}").verdict(written) is (value >= bound)
    assert rule(f">{bound}").verdict(written) is (value > bound)
    assert rule(f"<={bound}").verdict(written) is (value <= bound)
    assert rule(f"<{bound}").verdict(written) is (value < bound)
    assert rule(f"{bound}").verdict(written) is (value == bound)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_decimal_is_the_shortest_that_reads_back(value: float) -> None:
    assert float(decimal(value)) == value
    assert decimal(value) == Fraction(Decimal(repr(value)))


@given(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)))
def test_without_a_rule_only_one_and_zero_are_verdicts(value: float) -> None:
    if value in (0, 1):
        assert rule(None).verdict(value) is (value == 1)
    else:
        with pytest.raises(CellFault):
            rule(None).verdict(value)


@pytest.mark.parametrize("text", [">0,5", "=>0.5", ">=", ">=0.5,1", "==1", "<", "1,>2"])
def test_a_bound_that_is_misspelled_is_refused(text: str) -> None:
    """Read as a list of texts it would let every number fail unseen."""
    with pytest.raises(RoundError) as caught:
        rule(text)
    assert caught.value.code == "bad_option"


def test_a_bound_may_have_a_space_and_a_list_of_texts_says_nothing_of_numbers() -> None:
    assert rule(">= 0.5").verdict(0.5) is True
    with pytest.raises(CellFault):
        rule("~1").verdict(0.7)


def test_a_text_may_not_pass_and_fail() -> None:
    with pytest.raises(RoundError):
        rule("a,b", "b")
    with pytest.raises(RoundError):
        rule(None, "b")
