"""Keys of whole columns against the definitions, one text at a time."""
from __future__ import annotations

import hashlib

import pyarrow as pa
import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support_pairs import MARKS, TEXTS

from core.pairs.keys import PROMPT_FORM, SKELETON_FORM, NormalForm, escaped_forms, hex_digests, key_columns, pair_keys, quoted, quoted_column
from core.pairs.normal_forms import plain_p1, plain_s1

WORDS = ["word", "Two", "3.5", "it's", '"so"', "a\\b", " ", "  ", "\n", "\n\n", "\t", "\r\n", ".", "!", "?", "-", "a-b", "- x", "10:30"]
PROSE = st.lists(st.sampled_from(WORDS), max_size=12)
COLUMN = st.lists(PROSE.map("".join) | PROSE.map(" ".join) | TEXTS, min_size=1, max_size=12)


def escaped(text: str) -> str:
    return quoted(text)[1:-1]


@settings(max_examples=500)
@given(COLUMN)
@example([""])
@example(["", ""])
@example(["", " ", ".", " . ", "a ", " b", "", "...", "a .", "\n", "x"])
@example(["0123456789abcdef0123456789abcdef", "A-" * 40, "2026-11-29 10:30", "1. x", "+ y", "a](b"])
@example(["\u00e9 e", "e\u0301", "\x01", "\x7f a", "\\", '"', '\\"'])
def test_a_column_of_forms_is_the_form_of_each_text(texts: list[str]) -> None:
    column = pa.array(texts, pa.string())
    assert escaped_forms(column, PROMPT_FORM).to_pylist() == [escaped(plain_p1(text)) for text in texts]
    assert escaped_forms(column, SKELETON_FORM).to_pylist() == [escaped(plain_s1(text)) for text in texts]


@pytest.mark.parametrize(("form", "definition"), [(PROMPT_FORM, plain_p1), (SKELETON_FORM, plain_s1)])
@settings(max_examples=300)
@given(st.lists(st.sampled_from(MARKS) | st.sampled_from(["word", " ", "\n"]), max_size=16).map("".join))
def test_a_text_that_counts_as_plain_needs_no_rule(form: NormalForm, definition: object, text: str) -> None:
    # with the slow route taken away, whatever is wrongly called plain would show
    blind = NormalForm(lambda slow: "slow route", form.not_plain)
    got = escaped_forms(pa.array([text]), blind).to_pylist()[0]
    assert got in ("slow route", escaped(definition(text)))  # type: ignore[operator]


def test_plain_prose_takes_the_fast_route() -> None:
    blind = NormalForm(lambda slow: "slow route", SKELETON_FORM.not_plain)
    text = 'It\'s "fine".\n\nSet x_1 to -3.5 (or 10:30); see a/b - not c:\\d. [1] costs 5% #2?'
    assert escaped_forms(pa.array([text]), blind).to_pylist() == [escaped(plain_s1(text))]


@settings(max_examples=200)
@given(st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=12), min_size=1, max_size=8), st.integers(0, 7))
def test_slices_of_columns(texts: list[str], start: int) -> None:
    whole = pa.array(texts, pa.string())
    part = whole.slice(min(start, len(texts) - 1))
    assert escaped_forms(part, SKELETON_FORM).to_pylist() == [escaped(plain_s1(text)) for text in part.to_pylist()]
    assert hex_digests(part).to_pylist() == [hashlib.sha256(text.encode()).hexdigest() for text in part.to_pylist()]


@settings(max_examples=200)
@given(st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=12), min_size=1, max_size=8))
@example(["\x00\x08\x09\x0a\x0c\x0d\x1f\x7f\u2028\U0001f600\"\\/"])
def test_quoting_is_that_of_rfc_8785(texts: list[str]) -> None:
    assert quoted_column(pa.array(texts, pa.string())).to_pylist() == [rfc8785.dumps(text).decode() for text in texts]


@settings(max_examples=100)
@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS).map(lambda texts: tuple("x" + text for text in texts)), min_size=1, max_size=6))
def test_key_columns_are_the_keys_of_each_pair(rows: list[tuple[str, str, str]]) -> None:
    columns = key_columns(*(pa.array(column, pa.string()) for column in zip(*rows, strict=True)))
    got = [dict(zip(columns, values, strict=True)) for values in zip(*(column.to_pylist() for column in columns.values()), strict=True)]
    assert got == [pair_keys(*row) for row in rows]
