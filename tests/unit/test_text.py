"""Untrusted text made visible: nothing hidden reaches a terminal, a log or a page unmarked."""
from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import shortened, visible, visible_line


@pytest.mark.parametrize(("text", "shown"), [
    ("plain text", "plain text"),
    ("caf\u00e9 \u8fd4\u6b3e \U0001f512", "caf\u00e9 \u8fd4\u6b3e \U0001f512"),
    ("two\nlines\tand a tab", "two\nlines\tand a tab"),
    ("\x1b[31mred\x1b[0m", "\u241b[31mred\u241b[0m"),
    ("bell\x07", "bell\u2407"),
    ("\x00", "\u2400"),
    ("carriage\rreturn", "carriage\u240dreturn"),
    ("\x7f", "\u27e6U+007F\u27e7"),
    ("\x9b31m", "\u27e6U+009B\u27e731m"),
    ("abc\u202etxt.exe", "abc\u27e6U+202E\u27e7txt.exe"),
    ("\u2066isolate\u2069", "\u27e6U+2066\u27e7isolate\u27e6U+2069\u27e7"),
    ("zero\u200bwidth\ufeff", "zero\u27e6U+200B\u27e7width\u27e6U+FEFF\u27e7"),
    ("line\u2028separator", "line\u27e6U+2028\u27e7separator"),
    ("private \ue000", "private \u27e6U+E000\u27e7"),
    ("tag \U000e0041", "tag \u27e6U+E0041\u27e7"),
    ("lone \ud800", "lone \u27e6U+D800\u27e7"),
])
def test_hidden_characters_become_marks(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_on_one_line_the_line_feed_becomes_a_mark_too() -> None:
    assert visible_line("two\nlines\t") == "two\u240alines\u2409"


@given(st.text(st.characters()))
def test_nothing_hidden_is_left(text: str) -> None:
    hidden = {"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"}
    assert not [character for character in visible_line(text) if unicodedata.category(character) in hidden]
    assert {character for character in visible(text) if unicodedata.category(character) in hidden} <= {"\n", "\t"}


@given(st.text("abc\u00e9\u8fd4 ."))
def test_text_without_hidden_characters_stays_as_it_is(text: str) -> None:
    assert visible_line(text) == text


def test_shortened_says_how_much_is_left_out() -> None:
    # 10 characters, 4 shown: 6 more
    assert shortened("abcdefghij", 4) == "abcd\u2026 (6 more characters)"
    assert shortened("abcd", 4) == "abcd"
