"""JSON text of Arrow's arrow.json type: the value that it spells, read as strictly as a line of JSON (cases 17 and 21)."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support_formats import assistant, column, extras, quarantine, read, texts, user
from support_rounds import folder_of, ingested, pair, pairs_round

from core.errors import RoundError
from core.rounds.locked_file import read_items
from core.rounds.readers.columnar import opened_table

CALL = assistant(None, tool_calls=[{"type": "function", "function": {"name": "f", "arguments": {"x": 1}}}])
OTHER = assistant(None, tool_calls=[{"type": "function", "function": {"name": "f", "arguments": {"y": [True, None]}}}])
TEXT = assistant(None, tool_calls=[{"type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}])
NO = [assistant("No.")]
FORMS = ["a.parquet", "a.arrow", "a.parquet.zst", "a.arrow.gz"]


def json_texts(values: list[Any], kind: pa.DataType | None = None) -> pa.Array:
    """JSON values (or JSON text, where they are bytes) as an arrow.json array; None is a null."""
    spelled = [None if value is None else value.decode() if isinstance(value, bytes) else json.dumps(value) for value in values]
    return pa.ExtensionArray.from_storage(pa.json_(kind or pa.string()), pa.array(spelled, kind or pa.string()))


def lists_of(values: list[list[Any]]) -> pa.Array:
    """Lists whose items are JSON text, as this project and datasets write messages."""
    offsets = [sum(map(len, values[:place])) for place in range(len(values) + 1)]
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), json_texts([item for value in values for item in value]))


def trl_table(chosen: list[list[Any]], **more: pa.Array) -> pa.Table:
    rows = len(chosen)
    return pa.table({"prompt": lists_of([[user("Well?")]] * rows), "chosen": lists_of(chosen), "rejected": lists_of([NO] * rows), **more})


@pytest.mark.parametrize("name", FORMS)
def test_case_17_out_of_json_text(tmp_path: Path, name: str) -> None:
    """No call gains a member of another, true and null stay, text stays text, null content stays null."""
    source, report = read(tmp_path, name, trl_table([[CALL], [OTHER], [TEXT]]), "trl")
    assert report.quarantined == 0
    assert texts(source) == [{"prompt": [user("Well?")], "chosen": [turn], "rejected": NO} for turn in (CALL, OTHER, TEXT)]
    assert "struct_nulls" not in [note.code for note in report.notes]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_whole_columns_may_be_json_text(tmp_path: Path, kind: pa.DataType) -> None:
    told = {"input": [{"messages": [user("Well?")], "tools": [{"name": "f", "parameters": {"default": None}}]}],
            "preferred_output": [[CALL]], "non_preferred_output": [NO]}
    table = pa.table({name: json_texts(values, kind) for name, values in told.items()})
    source, _ = read(tmp_path, "a.arrow", table)
    assert texts(source) == [{"prompt": [user("Well?")], "chosen": [CALL], "rejected": NO}]
    assert extras(source) == [{"tools": [{"name": "f", "parameters": {"default": None}}]}]


def test_json_text_inside_a_struct_keeps_its_nulls(tmp_path: Path) -> None:
    """A null member of a struct is an absent key; a null inside JSON text was written by somebody."""
    turns = pa.StructArray.from_arrays(
        [pa.array(["assistant", "assistant"]), pa.array([None, None], pa.string()), json_texts([CALL["tool_calls"], OTHER["tool_calls"]])],
        names=["role", "content", "tool_calls"],
    )
    table = pa.table({
        "prompt": lists_of([[user("Well?")]] * 2), "chosen": pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), turns),
        "rejected": lists_of([NO] * 2),
    })
    source, _ = read(tmp_path, "a.parquet", table, "trl")
    assert [row["chosen"] for row in texts(source)] == [[CALL], [OTHER]]


@pytest.mark.parametrize(("text", "field", "code"), [
    (b'{"role": "assistant", "content": "Yes.", "content": "No."}', "chosen[0].content", "duplicate_json_key"),
    (b'{"role": "assistant", "content": "x", "n": [NaN]}', "chosen[0].n[0]", "non_finite_number"),
    (b'{"role": "assistant", "content": "x", "n": 9007199254740993}', "chosen[0].n", "integer_out_of_range"),
    (b'{"role": "assistant", "content": "x"', "chosen[0]", "not_json"),
    (b'"Yes."', "chosen[0]", "wrong_type"),
])
@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_json_text_is_read_strictly(tmp_path: Path, name: str, text: bytes, field: str, code: str) -> None:
    source, _ = read(tmp_path, name, trl_table([[assistant("Yes.")], [text]]), "trl")
    assert quarantine(source) == [(name, 2, field, code)]
    assert [row["chosen"] for row in texts(source)] == [[assistant("Yes.")]]


def test_text_that_looks_like_json_stays_text(tmp_path: Path) -> None:
    """A column of text is text; a JSON text that spells text is that text."""
    source, _ = read(tmp_path, "a.parquet", pa.table({"prompt": ['{"a": 1}'], "chosen": ["[1]"], "rejected": json_texts(['{"a": 1}'])}), "trl")
    assert texts(source) == [{"prompt": '{"a": 1}', "chosen": "[1]", "rejected": '{"a": 1}'}]


def test_mapped_columns_come_out_of_json_text(tmp_path: Path) -> None:
    table = trl_table([[CALL]], name=json_texts(["p-1"]), chosen_token_count=json_texts([3]))
    source, _ = read(tmp_path, "a.parquet", table, "trl", ids="", column__pair_id="name")
    assert (column(source, "pair_id"), column(source, "chosen_token_count")) == (["p-1"], [3])


# tables of our own


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_our_own_tables_may_have_json_text(tmp_path: Path, form: str) -> None:
    rows = [pair(pair_id=name, prompt=[user("Well?")], chosen=[turn], rejected=NO, note={"a": None}) for name, turn in
            (("a", CALL), ("b", OTHER), ("c", TEXT))]
    from_json, _ = pairs_round(tmp_path / "json", rows)
    told = ("prompt", "chosen", "rejected", "note")
    plain = pa.Table.from_pylist([{name: value for name, value in row.items() if name not in told} for row in rows])
    sides = {name: lists_of([row[name] for row in rows]) for name in ("prompt", "chosen", "rejected")}
    table = pa.table({**{name: plain[name] for name in plain.column_names}, **sides, "note": json_texts([row["note"] for row in rows])})
    folder = folder_of(tmp_path / "input", {})
    _write(table, folder / f"pairs.{form}")
    source, report = ingested(tmp_path / "table", folder)
    assert report.quarantined == 0
    assert (texts(source), extras(source)) == (texts(from_json), extras(from_json))
    assert extras(source)[0] == {"note": {"a": None}}


def test_an_id_of_our_own_tables_is_text(tmp_path: Path) -> None:
    """The stored text of a JSON column would be the id in quotes."""
    row = {name: [value] for name, value in pair().items() if name != "pair_id"}
    folder = folder_of(tmp_path / "input", {})
    _write(pa.table({"pair_id": json_texts(["p-1"]), **row}), folder / "pairs.parquet")
    source, _ = ingested(tmp_path, folder)
    assert [(name, line, field) for name, line, field, _ in quarantine(source)] == [("pairs.parquet", 1, "pair_id")]


def test_a_holdout_is_locked_as_text(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "input", {})
    (folder / "holdout.json").unlink(missing_ok=True)
    _write(pa.table({"id": ["h-1"], "prompt": json_texts([{"a": 1}])}), folder / "holdout.parquet")
    with pytest.raises(RoundError) as caught:
        ingested(tmp_path, folder)
    assert caught.value.code == "unkeepable_column"


def test_items_to_look_for_may_be_json_text(tmp_path: Path) -> None:
    _write(pa.table({"id": ["h-1"], "item": json_texts([{"question": "Well?"}])}), tmp_path / "items.parquet")
    assert read_items(tmp_path / "items.parquet").items == [{"id": "h-1", "item": {"question": "Well?"}}]


# what is small until it is taken apart


@pytest.mark.parametrize("items", [None, 2])
def test_json_text_that_every_row_names_does_not_fill_the_memory(tmp_path: Path, items: int | None) -> None:
    """100 rows that name one text of 800,000 bytes (or two of it): no batch is more than 64 MiB when taken apart. (Arrow files cannot
    say a dictionary of JSON text.)"""
    rows = 100
    array: Any = json_texts(["x" * 799_998] * rows * (items or 1))
    if items is not None:
        array = pa.ListArray.from_arrays(pa.array(range(0, rows * items + 1, items), pa.int32()), array)
    _write(pa.table({"chosen": array}), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 820_000
    with opened_table(tmp_path / "a.parquet", "a.parquet") as table:
        sizes = [batch.num_rows for batch in table.batches]
    assert sum(sizes) == rows and max(sizes) <= 64 * 2**20 // (800_000 * (items or 1))


def _write(table: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path, compression="zstd", dictionary_pagesize_limit=2**30)
        return
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
