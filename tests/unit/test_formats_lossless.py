"""What goes in comes out: random rows through every text form and packing, random tool calls and extra keys through a whole ingest."""
from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support_formats import assistant, extras, read, texts, user, written

from core.rounds.readers.containers import raw_rows

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
"""Any text that UTF-8 can write: line ends, marks, zeros and all."""
SCALAR = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUE = st.recursive(SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8)
KEY = TEXT.map(lambda name: f"k-{name}")
ROWS = st.lists(st.dictionaries(TEXT, VALUE, max_size=4), min_size=1, max_size=5)


def same(one: Any, other: Any) -> bool:
    """Equal, and of one type: true is not 1. Numbers are equal as doubles: RFC 8785 writes 1.0 as 1, and 2.5e16 with all its digits."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    numbers = (int, float)
    if isinstance(one, numbers) and isinstance(other, numbers) and not isinstance(one, bool) and not isinstance(other, bool):
        return float(one) == float(other)
    return type(one) is type(other) and one == other


@settings(max_examples=40, deadline=None)
@given(ROWS)
def test_rows_of_text_forms(rows: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.json", "a.json.gz"):
            found = [row.value for row in raw_rows(written(Path(folder), name, rows), name, [])]
            assert same(found, rows), name


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(VALUE, TEXT, st.dictionaries(KEY, VALUE, max_size=3)), min_size=1, max_size=4))
def test_tool_calls_texts_and_extra_keys_through_an_ingest(cases: list[tuple[Any, str, dict[str, Any]]]) -> None:
    rows = [
        {"prompt": [user(text)], "chosen": [assistant(None, tool_calls=[{"type": "function", "function": {"name": text, "arguments": arguments}}])],
         "rejected": [assistant(text)], "tools": [arguments], **extra}
        for arguments, text, extra in cases
    ]
    with tempfile.TemporaryDirectory() as folder:
        source, report = read(Path(folder), "a.jsonl.zst", rows, "trl")
        assert report.quarantined == 0
        assert same(texts(source), [{name: row[name] for name in ("prompt", "chosen", "rejected")} for row in rows])
        assert same(extras(source), [{"tools": row["tools"], **extra} for row, (_, _, extra) in zip(rows, cases, strict=True)])


@settings(max_examples=10, deadline=None)
@given(st.lists(st.fixed_dictionaries({"prompt": TEXT, "chosen": TEXT, "rejected": TEXT, "note": TEXT}), min_size=1, max_size=5))
def test_texts_through_tables(rows: list[dict[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.parquet", "a.arrow", "a.parquet.zst"):
            source, report = read(Path(folder) / name, name, rows, "trl")
            assert report.quarantined == 0
            assert texts(source) == [{key: row[key] for key in ("prompt", "chosen", "rejected")} for row in rows]
            assert [extra["note"] for extra in extras(source)] == [row["note"] for row in rows]


def test_a_number_keeps_its_value_through_extra(tmp_path: Path) -> None:
    """Shortest decimals in, the same doubles out."""
    numbers = [0.1, 1e-7, 1e21, 5e-324, 1.7976931348623157e308, -0.0, 123456789.125, 2**53 - 1]
    source, _ = read(tmp_path, "a.jsonl", [{"prompt": "p", "chosen": "c", "rejected": "r", "numbers": numbers}])
    (extra,) = extras(source)
    assert extra["numbers"] == numbers and json.dumps(extra["numbers"][3]) == "5e-324"
