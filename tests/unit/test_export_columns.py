"""Types of columns, and data files: no object gains a member, no text changes, and rows come in their order."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support_export import CASE_17, call, say

from core.export import tables
from core.export.columns import JSON, ListOf, Observed, Record, arrow_type, feature, joined, kind_of
from core.export.lookalikes import Lookalikes
from core.export.tables import RankedLines, line_of, write_lines, write_parquet

CHAT = ListOf(Record(("content", "role")))


def kinds(*rows: dict[str, Any]) -> dict[str, Any]:
    observed = Observed()
    for row in rows:
        observed.add(row)
    return observed.kinds


@pytest.mark.parametrize(("value", "kind"), [
    ("2024-01-05", "text"), ("007", "text"), (True, "flag"), (1, "integer"), (0.5, "real"), (None, "null"),
    ([], ListOf("null")), (["a"], ListOf("text")), ([["a"]], ListOf(ListOf("text"))), ([True, None], ListOf("flag")), ([1, "a"], ListOf(JSON)),
    (say("user", "a"), Record(("content", "role"))), (say("user", None), Record(("content", "role"))),
    ({}, JSON), ({"x": 1}, JSON), ({"a b": "x"}, JSON),  # a struct's members are named as they stand in the card: plain names only
    ([say("user", "a")], CHAT), ([say("user", "a"), {"role": "user"}], ListOf(JSON)),  # an absent member is not a null one
])
def test_the_kind_of_a_value(value: Any, kind: Any) -> None:
    assert kind_of(value) == kind


@pytest.mark.parametrize(("one", "other", "both"), [
    ("null", "text", "text"), ("text", "null", "text"), ("integer", "real", JSON), ("text", "flag", JSON), ("text", CHAT, JSON),
    (ListOf("null"), CHAT, CHAT), (CHAT, ListOf(JSON), ListOf(JSON)), (Record(("a",)), Record(("b",)), JSON),
])
def test_kinds_are_joined_without_changing_a_value(one: Any, other: Any, both: Any) -> None:
    assert joined(one, other) == joined(other, one) == both


def test_the_types_that_follow() -> None:
    assert arrow_type(CHAT) == pa.list_(pa.struct([pa.field("content", pa.string()), pa.field("role", pa.string())]))
    assert arrow_type(ListOf(JSON)) == pa.list_(pa.json_())
    # as datasets writes them: Features({...})._to_yaml_list(), checked with datasets itself in tests/clients
    assert feature("m", CHAT) == {"name": "m", "list": [{"name": "content", "dtype": "string"}, {"name": "role", "dtype": "string"}]}
    assert feature("m", ListOf(JSON)) == {"name": "m", "list": "json"}
    assert feature("m", JSON) == {"name": "m", "dtype": "json"}
    assert feature("m", ListOf(ListOf("text"))) == {"name": "m", "list": {"list": "string"}}


def seen(*rows: dict[str, Any], size: int = 100) -> tuple[Lookalikes, dict[str, Any]]:
    found = Lookalikes()
    for row in rows:
        found.add(row, size)
    return found, kinds(*rows)


def test_columns_with_nothing_but_times_are_named() -> None:
    first = {"prompt": "2024-01-05", "chosen": "2024-01-05T10:00:00Z", "rejected": "2024-01-05 is a day", "m": [say("user", "2024-01-06 10:30")]}
    found, kinds_of = seen(first)
    assert found.times(kinds_of) == ["chosen", "m.content", "prompt"]
    found, kinds_of = seen(first, {"prompt": "no", "chosen": "2024-01-05", "rejected": "2024-01-05", "m": []})
    assert found.times(kinds_of) == ["chosen", "m.content"]


def test_times_are_looked_for_in_each_piece_that_a_reader_guesses_types_from() -> None:
    # a piece is 10 MiB and the rest of the line that they end in; where they end with a line, the whole next line (file.read, file.readline)
    text, time, mib = {"prompt": "no"}, {"prompt": "2024-01-05"}, 1 << 20
    found = Lookalikes()
    for row, size in ((text, 9 * mib), (time, 2 * mib), (text, 10 * mib)):
        found.add(row, size)
    assert found.times({"prompt": "text"}) == []
    found.add(time, 1)  # 10 MiB exactly are behind us: this line still belongs to them
    assert found.times({"prompt": "text"}) == []
    found.add(time, 1)  # and this one is a piece of its own, until another comes
    assert found.times({"prompt": "text"}) == ["prompt"]
    found.add(text, 10 * mib)
    assert found.times({"prompt": "text"}) == []


def test_columns_with_nothing_but_numbers_are_named() -> None:
    # what pandas.read_json makes numbers of, tried on it: 007 -> 7, 1e3, nan, " 7 "; but no empty text, no 0x10, and nothing inside objects
    rows = [{"a": "007", "b": "1e3", "c": " 7 ", "d": "", "e": "0x10", "m": [say("user", "1")], "f": None},
            {"a": "1", "b": "nan", "c": "8", "d": "1", "e": "1", "m": [say("user", "2")], "f": "1.50"}]
    found, kinds_of = seen(*rows)
    assert found.numbers(kinds_of) == ["a", "b", "c", "f"]
    found, kinds_of = seen(*rows, dict.fromkeys(rows[0], "x"))
    assert found.numbers(kinds_of) == []


def test_only_columns_are_named_never_what_somebody_called_an_argument() -> None:
    talk = [say("user", "2024-01-05"), say("assistant", None, tool_calls=[call({"`<b>`\n---": "2024-01-05"})])]
    found, kinds_of = seen({"m": talk, "n": [say("user", "2024-01-05")], "o": {"`<b>`": "2024-01-05"}})
    # m holds calls, so it is JSON text and nobody guesses at it; o's member is no name of a struct
    assert found.times(kinds_of) == ["n.content"]


def test_a_point_inside_an_object_is_noticed() -> None:
    observed = Observed()
    observed.add({"score": 0.5, "m": [say("assistant", None, tool_calls=[call({"x": 1})])]})
    assert not observed.has_reals
    observed.add({"score": 0.5, "m": [say("assistant", None, tool_calls=[call({"x": [1.5]})])]})
    assert observed.has_reals


# files


def test_a_line_is_one_line_for_every_reader_and_the_same_text() -> None:
    row = {"prompt": "a\u2028b\x85c\u2029d\n", "n": None, "é": "ü\U0001f600", "x": 1e-7}
    line = line_of(row)
    # str.splitlines cuts at all of these; JSON Lines readers written with it must not
    assert line.decode().splitlines() == [line.decode().rstrip("\n")]
    assert json.loads(line) == row
    assert "ü\U0001f600".encode() in line


def ranked(folder: Path, rows: dict[int, dict[str, Any]]) -> RankedLines:
    made = RankedLines(folder, len(rows))
    for rank, row in rows.items():
        made.add(rank, line_of(row))
    return made


def test_rows_come_in_the_order_of_their_rank(tmp_path: Path) -> None:
    order = [(place * 7) % 23 for place in range(23)]  # every rank once, in an order that jumps
    assert sorted(order) == list(range(23)) != order
    lines = ranked(tmp_path, {rank: {"rank": rank} for rank in order})
    write_lines(tmp_path / "out", lines, None)
    assert [json.loads(line)["rank"] for line in (tmp_path / "out").read_bytes().splitlines()] == list(range(23))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_rows_get_the_columns_that_others_have(tmp_path: Path) -> None:
    lines = ranked(tmp_path, {0: {"a": 1}, 1: {"b": [2], "a": 3}})
    write_lines(tmp_path / "out", lines, {"b": None, "a": None})
    assert (tmp_path / "out").read_text() == '{"b":null,"a":1}\n{"b":[2],"a":3}\n'


def parquet_of(folder: Path, rows: list[dict[str, Any]]) -> pa.Table:
    write_lines(folder / "rows", ranked(folder, dict(enumerate(rows))), None)
    write_parquet(folder / "rows.parquet", folder / "rows", kinds(*rows))
    return pq.read_table(folder / "rows.parquet")


def test_case_17_parquet_gives_no_call_the_arguments_of_another(tmp_path: Path) -> None:
    rows = [{"chosen": row["chosen"], "tools": row["tools"]} for row in CASE_17]
    table = parquet_of(tmp_path, rows)
    assert table.schema.field("chosen").type == pa.list_(pa.json_())
    back = [[json.loads(message) for message in messages] for messages in table["chosen"].to_pylist()]
    assert back == [row["chosen"] for row in rows]
    arguments = [messages[0]["tool_calls"][0]["function"]["arguments"] for messages in back]
    assert arguments == [{"x": 1}, {"y": [True, None]}, '{"x": 1}']
    assert [json.loads(value) for value in table["tools"].to_pylist()] == [row["tools"] for row in rows]


def test_plain_chat_is_a_struct_that_every_reader_knows(tmp_path: Path) -> None:
    rows = [{"m": [say("user", "2024-01-05"), say("assistant", None)]}, {"m": []}, {"m": None}, {"m": [say("user", "007")]}]
    table = parquet_of(tmp_path, rows)
    assert table.schema.field("m").type == arrow_type(CHAT)
    assert table["m"].to_pylist() == [row["m"] for row in rows]


def test_lists_of_json_keep_empty_apart_from_absent(tmp_path: Path) -> None:
    rows = [{"m": [{"x": 1}]}, {"m": []}, {"m": None}, {"m": [{"y": None}, {"z": 0.1234567890123456}]}]
    values = parquet_of(tmp_path, rows)["m"].to_pylist()
    assert [value if value is None else [json.loads(item) for item in value] for value in values] == [row["m"] for row in rows]


def test_parquet_is_written_in_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_STORAGE", {**tables._STORAGE, "text_row_group": 4})
    rows = [{"prompt": str(place)} for place in range(10)]
    assert parquet_of(tmp_path, rows)["prompt"].to_pylist() == [str(place) for place in range(10)]
    assert pq.ParquetFile(tmp_path / "rows.parquet").num_row_groups == 3
