"""Words of a text: the conventions of the oracle, every script, and where each word stands in the original."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.contamination import plain_words
from support_pairs import MARKS

from core.pairs.words import word_spans, words

PIECES = [*MARKS, "请", "取消", "々", "が", "か\u3099", "ー", "ｶﾞ", "ก\u0e34น", "Карта", "रद\u094dद",
          "한국", "한", "ﬁne", "㌔", "\u00ad", "\u0301", "²³", "1½", "\u0345", "ς", "ŉ", "₂₃", "\uff3f"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=20)


@pytest.mark.parametrize(("text", "expected"), [
    ("Has A1002 shipped?", ["has", "a1002", "shipped"]),
    ("don't-stop snake_case x=3.5", ["don", "t", "stop", "snake", "case", "x", "3", "5"]),
    ("请取消订单。", ["请", "取", "消", "订", "单"]),         # Han: five words, the stop is none
    ("寿司スーパー", ["寿", "司", "ス", "ー", "パ", "ー"]),  # Han and kana, the long mark too
    ("ｶﾞ", ["ガ"]),                                                     # half-width KA and voicing mark are one kana
    ("ก\u0e34น", ["ก", "\u0e34", "น"]),                                 # Thai: each character, vowel signs too
    ("Верните деньги", ["верните", "деньги"]),
    ("रद\u094dद कर\u0947\u0902", ["रद\u094dद", "कर\u0947\u0902"]),      # combining marks belong to the word
    ("x²³ and 1½", ["x", "23", "and", "1", "1", "2"]),                    # p1: x^23, 1 1/2
    ("co\u00adop Straße ﬁne", ["coop", "strasse", "fine"]),                   # soft hyphen, sharp s, ligature
    ("🙂 !?", []),
    ("", []),
    ("a\u0378b", ["a", "b"]),                                                       # U+0378 is assigned in no version: it separates
])
def test_words_of_a_text(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(TEXTS)
def test_words_equal_the_plain_reading(text: str) -> None:
    assert words(text) == plain_words(text)


@given(st.text(alphabet=st.characters(max_codepoint=0x7F), max_size=40))
def test_the_short_way_for_ascii_changes_nothing(text: str) -> None:
    assert words(text) == plain_words(text) == words(f"{text} é")[:-1]


@pytest.mark.parametrize(("text", "marked"), [
    ("Has  A1002, shipped?", ["Has", "A1002", "shipped"]),
    ("Straße co\u00adop", ["Straße", "co\u00adop"]),                           # one word, nine normal characters out of six
    ("x²³ 1½", ["x", "²³", "1", "½", "½"]),                # both words of the half stand at its sign
    ("㌔", ["㌔", "㌔"]),                                               # one square sign normalises to two kana
    ("か\u3099游", ["か\u3099", "游"]),                                   # KA and its voicing mark are marked together
    ("한국.", ["한국"]),                              # conjoining Hangul
    ("foo\u200bbar", ["foo\u200bbar"]),
])
def test_spans_point_into_the_original(text: str, marked: list[str]) -> None:
    assert [text[start:end] for start, end in word_spans(text)] == marked


@given(TEXTS)
def test_every_word_has_a_span_in_order_that_contains_what_it_was_made_of(text: str) -> None:
    found, spans = words(text), word_spans(text)
    assert len(found) == len(spans)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)
    for word, (start, end) in zip(found, spans, strict=True):
        assert word in "".join(words(text[start:end])) or (start, end) == (0, len(text))


@given(st.lists(st.sampled_from([piece for piece in PIECES if len(words(piece)) == 1]), min_size=1, max_size=8))
def test_words_between_spaces_are_never_marked_as_a_whole_text(pieces: list[str]) -> None:
    text = "  ".join(pieces)
    if len(words(text)) == len(pieces) > 1:
        assert (0, len(text)) not in word_spans(text)


def test_a_long_text_without_spaces_is_followed_in_linear_time() -> None:
    # a million characters of one word; joining them one by one would copy some 500 GB
    text = "ក" * 10**6
    assert word_spans(text) == [(0, 10**6)] and len(words(text)) == 1


SCRIPTS = [(0x0E00, 0x0E80), (0x1000, 0x1100), (0x2E00, 0x3400), (0x4DB0, 0x4E10), (0x9FE0, 0xA010), (0xF900, 0xFB10), (0x16FE0, 0x16FF2),
           (0x1AFF0, 0x1B170), (0x1F200, 0x1F260), (0x20000, 0x20010), (0x2F800, 0x2FA20), (0x30000, 0x30010), (0x31340, 0x31360)]
"""The blocks with Han, kana and Thai, and what borders on them."""


def test_the_scripts_without_spaces_are_those_of_the_character_names() -> None:
    characters = [chr(code) for first, end in SCRIPTS for code in range(first, end)]
    assert [f"U+{ord(one):04X}" for one in characters if words(f"a{one}b") != plain_words(f"a{one}b")] == []
