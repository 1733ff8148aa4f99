"""Strict JSON: every refusal with its place; RFC 8785 bytes; digests."""
from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.canonical import (
    canonical_bytes,
    canonical_digest,
    decode_utf8,
    file_digest,
    parse_canonical,
    parse_json,
    sha256_hex,
)
from core.errors import CountersignError, GridError, RoundError, Where
from core.settings import SETTINGS

ORACLES = Path(__file__).parents[1] / "fixtures" / "oracles"
DEPTH = SETTINGS["json"]["max_depth"]


def refused(data: bytes | str, **options: Any) -> RoundError:
    with pytest.raises(RoundError) as caught:
        parse_json(data, **options)
    assert caught.value.exit_code == 4
    return caught.value


@pytest.mark.parametrize(("data", "code", "field"), [
    (b'{"a": {"b": [1, NaN]}}', "non_finite_number", "a.b[1]"),
    (b'{"a": Infinity}', "non_finite_number", "a"),
    (b"[-Infinity]", "non_finite_number", "[0]"),
    (b"NaN", "non_finite_number", None),
    (b'{"rows": [{"x": 1}, {"x": 1e999}]}', "number_out_of_range", "rows[1].x"),
    (b'{"x": -1e400}', "number_out_of_range", "x"),
    (b'{"x": 9007199254740992}', "integer_out_of_range", "x"),
    (b'{"x": -9007199254740993}', "integer_out_of_range", "x"),
    (b'{"x": 18446744073709551616}', "integer_out_of_range", "x"),
    (b'{"a": 1, "b": {"c": 1, "c": 1}}', "duplicate_json_key", "b.c"),
    (b'{"a": 1, "\\u0061": 2}', "duplicate_json_key", "a"),
    (b'{"a": {"x": NaN}, "a": 1}', "duplicate_json_key", "a"),
    (b'{"a": ["ok", "\\ud83d"]}', "lone_surrogate", "a[1]"),
    (b'{"a": {"\\udc00": 1}}', "lone_surrogate", "a"),
    (b'["\\ud83d\\u0020\\ude00"]', "lone_surrogate", "[0]"),
])
def test_a_refused_token_is_named_with_its_place(data: bytes, code: str, field: str | None) -> None:
    error = refused(data, where=Where("round.json"))
    assert error.code == code
    assert error.where == Where("round.json", None, field)
    assert field is None or f"field {field}" in str(error)


@pytest.mark.parametrize(("data", "code"), [
    (b"", "not_json"), (b" ", "not_json"),
    (b'{"a": 1', "not_json"), (b'{"a": 1}x', "not_json"), (b"{'a': 1}", "not_json"), (b'{"a": 1,}', "not_json"),
    (b'{"a": 01}', "not_json"), (b'{"a": .5}', "not_json"), (b'{"a": True}', "not_json"), (b'"a\nb"', "not_json"),
    (b"\xef\xbb\xbf{}", "byte_order_mark"), (b"\xff\xfe{\x00}\x00", "utf16"), (b"\xfe\xff\x00{\x00}", "utf16"), (b'{"a": "\xe9"}', "invalid_utf8"),
    (b'"\xed\xa0\x80"', "invalid_utf8"),
])
def test_a_document_that_is_none_is_refused(data: bytes, code: str) -> None:
    assert refused(data).code == code


def test_a_byte_order_mark_in_text_is_refused_too() -> None:
    assert refused("\ufeff{}").code == "byte_order_mark"
    assert refused('{"a": "\ud83d"}').code == "lone_surrogate"


def test_where_json_breaks_off_is_said() -> None:
    # a document: line and column inside it; a line of a table knows its line, so the column only
    assert "line 2, column 7" in refused(b'{"a": 1,\n "b": }').got
    # two of Python's messages end in "at" themselves
    for data in (b'{"a": "b', b'["\x01"]'):
        assert " at line 1, column" in refused(data).got and "at at" not in refused(data).got
    error = refused(b'{"b": }', where=Where("pairs.jsonl", 17))
    assert "column 7" in error.got and "line" not in error.got and error.where == Where("pairs.jsonl", 17)


def test_depth_is_limited_and_the_limit_itself_is_legal() -> None:
    legal = "[" * DEPTH + "]" * DEPTH
    assert json.dumps(parse_json(legal)) == legal
    assert refused("[" * (DEPTH + 1) + "]" * (DEPTH + 1)).code == "nested_too_deeply"
    assert refused(b"[" * 200_000).code == "nested_too_deeply"
    assert refused('{"a":' * (DEPTH + 1) + "1" + "}" * (DEPTH + 1)).code == "nested_too_deeply"
    wide = "[" + ",".join(["[]"] * (DEPTH * 3)) + "]"
    assert len(parse_json(wide)) == DEPTH * 3


def test_size_is_limited() -> None:
    assert refused(b"[1,2,3]", max_bytes=6).code == "too_large"
    assert parse_json(b"[1,2,3]", max_bytes=7) == [1, 2, 3]


def test_a_long_integer_is_refused_without_being_computed_or_printed_in_full() -> None:
    error = refused(b"[" + b"9" * 100_000 + b"]")
    assert error.code == "integer_out_of_range" and "100000 digits" in error.got and len(str(error)) < 400


def test_integers_only_refuses_what_hashes_differently_elsewhere() -> None:
    for number in (b"1.0", b"1e0", b"1E5", b"-0.5"):
        error = refused(b'[{"id": "h1", "weight": ' + number + b"}]", integers_only=True)
        assert (error.code, error.where) == ("ambiguous_number", Where(field="[0].weight"))
    assert parse_json(b'[{"weight": 3}]', integers_only=True) == [{"weight": 3}]


def test_legal_values_come_through_exactly() -> None:
    data = b'{"i": 9007199254740991, "n": -9007199254740991, "f": 0.1, "t": true, "z": null, "s": "\\ud83d\\ude00 \xc3\xa9", "e": [], "o": {}}'
    assert parse_json(data) == {
        "i": 2**53 - 1, "n": -(2**53 - 1), "f": 0.1, "t": True, "z": None, "s": "\U0001f600 \u00e9", "e": [], "o": {},
    }


def test_the_class_of_the_error_is_the_callers() -> None:
    with pytest.raises(GridError) as caught:
        parse_json(b"{", error=GridError)
    assert caught.value.code == "not_json"
    with pytest.raises(GridError):
        decode_utf8(b"\xff\xfe", error=GridError)


# a whole double of 2^53 or more is written as an integer by RFC 8785, which the strict reader refuses on purpose
DOUBLES = st.floats(allow_nan=False, allow_infinity=False).filter(lambda value: abs(value) < 2**53 or abs(value) >= 1e21)


@given(st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | DOUBLES | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12,
))
def test_whatever_is_legal_survives_the_canonical_form(value: Any) -> None:
    data = canonical_bytes(value)
    # -0.0 is written 0; everything else comes back as it was, and the form of the form is the form
    assert parse_json(data) == value
    assert canonical_bytes(parse_json(data)) == data
    assert parse_canonical(data) == parse_json(data)


@pytest.mark.parametrize(("value", "expected"), [
    # RFC 8785: numbers as ECMAScript writes them (3.2.2.3), keys by UTF-16 code units (3.2.3), no escape but the needed ones (3.2.2.2)
    ({"b": 1, "a": [1.0, 1e-7, 1e21, -0.0, 0.1, 100000.0, 5e-324]}, b'{"a":[1,1e-7,1e+21,0,0.1,100000,5e-324],"b":1}'),
    ({"\ufb33": 1, "\U0001f600": 2, "\u20ac": 3, "\r": 4}, '{"\\r":4,"\u20ac":3,"\U0001f600":2,"\ufb33":1}'.encode()),
    ('"\\\b\f\n\r\t\x0f/\u2028\u00e9', '"\\"\\\\\\b\\f\\n\\r\\t\\u000f/\u2028\u00e9"'.encode()),
])
def test_canonical_form(value: Any, expected: bytes) -> None:
    assert canonical_bytes(value) == expected
    assert canonical_digest(value) == hashlib.sha256(expected).hexdigest()


@pytest.mark.parametrize("case", json.loads((ORACLES / "holdout_digest.json").read_text("utf-8"))["cases"], ids=lambda case: case["id"])
def test_holdout_lists_hash_as_the_oracle_says(case: dict) -> None:
    if case["id"] == "non_ascii_escaped":
        # the other convention, with \u00e9 for é: it must not be what we compute
        assert canonical_digest(case["inputs"]["suite"]) != case["expected"]["sha256"]
    else:
        assert canonical_digest(case["inputs"]["suite"]) == case["expected"]["sha256"]


@pytest.mark.parametrize("data", [b'{"a": 1}', b'{"b":1,"a":1}', b'{"a":1.0}', b'{"a":"\\u00e9"}', b'{"a":1}\n', b'{"a":1e0}'])
def test_signed_bytes_must_be_canonical(data: bytes) -> None:
    with pytest.raises(RoundError) as caught:
        parse_canonical(data)
    assert caught.value.code == "not_canonical"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, "\ud800", {"a": object()}, b"bytes"])
def test_what_has_no_canonical_form_is_an_error_of_ours(value: Any) -> None:
    with pytest.raises(CountersignError) as caught:
        canonical_bytes(value)
    assert caught.value.code == "no_canonical_form"


def test_digests(tmp_path: Path) -> None:
    # FIPS 180-4, the one-block example "abc"
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    (tmp_path / "abc").write_bytes(b"abc")
    assert sha256_hex(b"abc") == file_digest(tmp_path / "abc") == abc
