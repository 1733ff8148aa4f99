"""Normal forms, keys and losses of the engine against the reference, on random and on nasty input."""
from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.pairs.keys import pair_keys
from core.pairs.normal_forms import is_blank, p1, s1, t1
from core.pairs.objective import exact_loss_quanta
from reference import texts as reference
from reference.numbers import loss_quanta

PIECES = [
    "*", "**", "***", "`", "```", "~~~", "#", "> ", "- ", "+ ", "\u2022 ", "1. ", "123) ", "1234. ", "[", "](", ")", "(", "]",
    "\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029", " ", "  ", "\t", "\xa0", "\u3000", "\u1680",
    "\u200b", "\ufeff", "\u034f", "\ufe0f", "\u00ad", ".", "!", "?", "\u3002", ",", ":", "'", '"', "\u201c", "\u00bb", "\u2019", "\u2013", "\u2212",
    "_", "a", "B", "word", "snake_case", "x1", "3", "-3", "1,000.5%", "\u00b2", "\u00b2\u2075", "\u2082", "\u00bd", "\u2044", "\u00df", "\u03a3",
    "\u0130", "I\u0307", "\uff21", "\ufb01", "e\u0301", "\u0378", "\U0001e4d0", "\u1e9e", "\u212b", "\u1100\u1161", "\u0660",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "a" * 31, "0" * 32, "deadbeef" * 5, "2026-11-29", "T15:30", " 15:30", ":00", ".125", "Z", "+05:30",
    "-0530", "<uuid>", "http://x.example/a",
]
NASTY = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
TEXTS = NASTY | st.text(st.characters(exclude_categories=("Cs",)), max_size=20) | st.text(alphabet="*`[]()#>-_ \n\t'\"aB1.", max_size=24)


@settings(max_examples=1500)
@given(TEXTS)
@example("**a** *b* ***c*** ****d****")
@example("[](x) [a]() [a](b c)")
@example("2026-11-29 15:30:00.5+05:30x 2026-11-29T15:30+0530")
def test_normal_forms_agree(text: str) -> None:
    assert (p1(text), s1(text), t1(text)) == (reference.p1(text), reference.s1(text), reference.t1(text))
    assert is_blank(text) == reference.is_blank(text)


@settings(max_examples=300)
@given(TEXTS, TEXTS, TEXTS)
def test_keys_agree(prompt: str, chosen: str, rejected: str) -> None:
    assert pair_keys("p" + prompt, "c" + chosen, "r" + rejected) == reference.keys_of("p" + prompt, "c" + chosen, "r" + rejected)


DECIMALS = st.decimals(min_value=-10**4, max_value=10**4, places=9).map(Fraction)


@settings(max_examples=300)
@given(DECIMALS, st.decimals(min_value=0, max_value=100, places=10).map(Fraction), st.sampled_from(["1e-9", "1e-3", "1e-12"]))
def test_losses_agree_to_the_quantum(margin: Fraction, nll: Fraction, quantum: str) -> None:
    assert exact_loss_quanta(margin, nll, Fraction(quantum)) == loss_quanta(margin, nll, Fraction(quantum))


@pytest.mark.parametrize("margin", [50, 115, 200, 8000, 10**6, 10**300, -200, -8000, -10**300])
@pytest.mark.parametrize("twice", [1, 3, 5])
def test_losses_agree_on_a_tie_of_the_rational_part(margin: int, twice: int) -> None:
    # the rational part is k + 1/2 quanta; the logarithm on top of it is positive, so the loss rounds up
    quantum = Fraction(1, 10**9)
    nll = quantum * twice / 2
    expected = loss_quanta(Fraction(margin), nll, quantum)
    # below a quantum of half the next tie the logarithm only tips the tie: ln(1 + e^-50) is 1.9e-22
    assert expected == max(-margin, 0) * 10**9 + (twice + 1) // 2
    assert exact_loss_quanta(Fraction(margin), nll, quantum) == expected
