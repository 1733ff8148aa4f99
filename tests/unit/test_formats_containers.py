"""What foreign rows come in: JSON lines, a JSON list, Parquet, Arrow, CSV, packed or not; strict, and safe against hostile files."""
from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support_formats import codes, column, quarantine, read, refused, texts, written
from support_rounds import NOW, ROUND, folder_of, pair, workspace_at

from core.errors import RoundError
from core.rounds.columns import CellFault
from core.rounds.ingest import ingest
from core.rounds.note import Note
from core.rounds.readers import columnar, packed
from core.rounds.readers.containers import SUFFIXES, raw_rows
from core.rounds.readers.contents import name_parts
from core.rounds.readers.expansion import expanded_bytes
from core.rounds.readers.ipc_sizes import unpacked_total
from core.rounds.readers.packed import unpacked_limit

ROW = {"prompt": "Say hi.", "chosen": "Hi.", "rejected": "No."}
PACKED = ["", ".gz", ".zst"]


def values(path: Path, **options: bool) -> list[Any]:
    return [row.value for row in raw_rows(path, path.name, [], **options)]


@pytest.mark.parametrize("codec", PACKED)
@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet", ".arrow", ".feather"])
def test_rows_are_the_same_in_every_form(tmp_path: Path, suffix: str, codec: str) -> None:
    rows = [{"id": "007", "n": 2**53 - 1, "f": -0.1, "b": True, "none": None, "list": ["a", "é\u2028"]} for _ in range(3)]
    assert values(written(tmp_path, f"a{suffix}{codec}", rows)) == rows


def test_an_arrow_stream_is_read_under_the_same_name(tmp_path: Path) -> None:
    path = written(tmp_path, "a.arrows", [ROW]).rename(tmp_path / "a.arrow")
    assert values(path) == [ROW]


@pytest.mark.parametrize("codec", PACKED)
def test_the_lines_of_rows_are_counted_from_one(tmp_path: Path, codec: str) -> None:
    rows = [ROW, ROW | {"chosen": 7}, ROW]
    for name in ("a.jsonl", "a.json"):
        source, _ = read(tmp_path / f"{name}{codec}", f"{name}{codec}", rows, "trl")
        assert (column(source, "line"), quarantine(source)) == ([1, 3], [(f"{name}{codec}", 2, "chosen", "wrong_type")])
    # one Arrow column has one type: a number in it cannot be written, so the fault is a null there
    source, _ = read(tmp_path / f"p{codec}", f"a.parquet{codec}", [ROW, ROW | {"chosen": None}, ROW], "trl")
    assert (column(source, "line"), quarantine(source)) == ([1, 3], [(f"a.parquet{codec}", 2, "chosen", "missing_field")])


@pytest.mark.parametrize(("name", "parts"), [
    ("a.jsonl", ("a", ".jsonl", "")), ("a.jsonl.gz", ("a", ".jsonl", ".gz")), ("train.v2.json.zst", ("train.v2", ".json", ".zst")),
    ("a.gz", ("a", "", ".gz")), ("a", ("a", "", "")), ("a.JSONL", ("a", ".JSONL", "")), ("a.jsonl.gz.gz", ("a.jsonl", ".gz", ".gz")),
])
def test_names_are_taken_apart(name: str, parts: tuple[str, str, str]) -> None:
    assert name_parts(name) == parts


@pytest.mark.parametrize("name", ["a.txt", "a", "a.gz", "a.jsonl.gz.gz", "a.xlsx", "a.jsonl.bz2", "a.pkl"])
def test_another_form_is_refused_with_the_ones_that_are_read(tmp_path: Path, name: str) -> None:
    error = refused(tmp_path, name, b"{}", "trl")
    assert error.code == "unknown_form" and all(suffix in error.expected for suffix in SUFFIXES)


# JSON: what is refused, what is quarantined, what is dropped and noted (cases 19 and 21)


def lines(*texts_of: str) -> bytes:
    return "".join(f"{text}\n" for text in texts_of).encode()


GOOD = json.dumps(ROW)


@pytest.mark.parametrize(("bad", "field", "code"), [
    ('{"prompt": "p", "prompt": "q", "chosen": "c", "rejected": "r"}', "prompt", "duplicate_json_key"),
    ('{"prompt": "p", "chosen": "c", "rejected": "r", "score": NaN}', "score", "non_finite_number"),
    ('{"prompt": "p", "chosen": "c", "rejected": "r", "score": -Infinity}', "score", "non_finite_number"),
    ('{"prompt": "p", "chosen": "c", "rejected": "r", "score": 1e999}', "score", "number_out_of_range"),
    ('{"prompt": "p", "chosen": "c", "rejected": "r", "id": 18446744073709551616}', "id", "integer_out_of_range"),
    ('{"prompt": "\\ud800", "chosen": "c", "rejected": "r"}', "prompt", "lone_surrogate"),
    ('{"prompt": "p", "chosen": "c", "rejected": "r", "x": ' + "[" * 80 + "]" * 80 + "}", "x" + "[0]" * 63, "nested_too_deeply"),
    ('{"prompt": "p", "chosen": "c", "rejected": "r"', "", "not_json"),
    ("", "", "blank_line"),
    ("7", "", "wrong_type"),
    ('["prompt"]', "", "wrong_type"),
    ('{"prompt": ["p"], "chosen": "c", "rejected": "r"}', "prompt[0]", "wrong_type"),
    ('{"prompt": {"role": "user"}, "chosen": "c", "rejected": "r"}', "prompt", "wrong_type"),
])
@pytest.mark.parametrize("codec", PACKED)
def test_a_bad_row_far_down_is_quarantined_by_line_and_field(tmp_path: Path, bad: str, field: str, code: str, codec: str) -> None:
    data = lines(*[GOOD] * 40, bad, GOOD)
    source, report = read(tmp_path, f"a.jsonl{codec}", data, "trl")
    assert quarantine(source) == [(f"a.jsonl{codec}", 41, field, code)]
    assert (report.counts["pairs"], report.quarantined) == (41, 1)


@pytest.mark.parametrize("codec", PACKED)
def test_case_19_a_mark_carriage_returns_and_a_last_blank_line_are_fine(tmp_path: Path, codec: str) -> None:
    data = b"\xef\xbb\xbf" + b"\r\n".join([GOOD.encode()] * 3) + b"\r\n\r\n"
    source, report = read(tmp_path, f"a.jsonl{codec}", data)
    assert texts(source) == [ROW] * 3
    assert "byte_order_mark" in codes(report)


@pytest.mark.parametrize(("name", "data", "code"), [
    ("a.jsonl", GOOD.encode("utf-16"), "utf16"), ("a.json", f"[{GOOD}]".encode("utf-16"), "utf16"),
    ("a.json", b"\xef\xbb\xbf" + f"[{GOOD}]".encode(), "byte_order_mark"),
    ("a.jsonl", lines(GOOD, GOOD)[:-10], "cut_last_line"), ("a.json", f"[{GOOD}, {GOOD}"[:-9].encode(), "not_json"),
    ("a.jsonl", f"[{GOOD}]".encode(), "json_list_in_jsonl"), ("a.json", lines(GOOD, GOOD), "not_json"),
    ("a.json", b"7", "not_json"), ("a.json", b"", "not_json"), ("a.json", b"[" * 200_000, "not_json"),
    ("a.parquet", b"PAR1 no", "not_parquet"), ("a.arrow", b"ARROW1 no", "not_arrow"), ("a.arrow", b"", "not_arrow"),
    ("a.feather", b"FEA1xxxxFEA1", "not_arrow"),
])
@pytest.mark.parametrize("codec", PACKED)
def test_a_broken_file_is_refused_whole(tmp_path: Path, name: str, data: bytes, code: str, codec: str) -> None:
    error = refused(tmp_path, f"{name}{codec}", data, "trl")
    assert (error.code, error.where and error.where.file) == (code, f"{name}{codec}")


def test_one_object_is_one_row_and_noted(tmp_path: Path) -> None:
    source, report = read(tmp_path, "a.json", json.dumps(ROW, indent=2).encode())
    assert (texts(source), column(source, "line")) == ([ROW], [1])
    assert "one_object" in codes(report)
    source, report = read(tmp_path / "bad", "a.json", b'{"prompt": "p", "chosen": "c", "rejected": "r", "prompt": "q"}', "trl")
    assert quarantine(source) == [("a.json", 1, "prompt", "duplicate_json_key")]


def test_case_21_ids_and_texts_stay_text(tmp_path: Path) -> None:
    ids = ["007", "7", "550E8400-E29B-41D4-A716-446655440000", "2024-01-05", "1e3", "true"]
    rows = [ROW | {"pair_id": name, "prompt": name} for name in ids]
    for name in ("a.jsonl", "a.parquet", "a.arrow.zst"):
        source, _ = read(tmp_path / name, name, rows, ids="")
        assert (column(source, "pair_id"), [row["prompt"] for row in texts(source)]) == (ids, ids)


# packing


def test_a_packed_file_that_is_cut_or_spoiled_is_refused(tmp_path: Path) -> None:
    rows = [ROW | {"prompt": hashlib.sha256(bytes([number % 256])).hexdigest() * 9} for number in range(2000)]
    for codec in (".gz", ".zst"):
        whole = written(tmp_path, f"a.jsonl{codec}", rows).read_bytes()
        cases = {"cut": whole[:-5], "half": whole[: len(whole) // 2], "other": lines(GOOD), "more": whole + b"rest"}
        if codec == ".gz":  # a zstd frame has a checksum only where its writer asked for one
            cases["spoiled"] = whole[:-6] + bytes([whole[-6] ^ 0xFF]) + whole[-5:]
        for kind, data in cases.items():
            place = tmp_path / f"{codec}-{kind}"
            path = written(place, "plain", data).rename(place / f"a.jsonl{codec}")
            with pytest.raises(RoundError) as caught:
                list(raw_rows(path, path.name, []))
            # text under the name of a packed file is told what it is
            assert caught.value.code == ("other_content" if kind == "other" else "broken_packing"), (codec, kind)


def test_several_packed_members_are_one_file(tmp_path: Path) -> None:
    data = gzip.compress(lines(GOOD)) + gzip.compress(lines(GOOD))
    (tmp_path / "a.jsonl.gz").write_bytes(data)
    assert len(values(tmp_path / "a.jsonl.gz")) == 2
    zst = bytes(pa.Codec("zstd").compress(lines(GOOD)))
    (tmp_path / "a.jsonl.zst").write_bytes(zst + zst)
    assert len(values(tmp_path / "a.jsonl.zst")) == 2


def test_the_limit_follows_the_size_of_the_packed_file() -> None:
    # settings, packed: 2^28 bytes always, 200 times its size, never above 2^40
    assert unpacked_limit(0) == unpacked_limit(1_000_000) == 268_435_456
    assert unpacked_limit(2_000_000) == 400_000_000
    assert unpacked_limit(10**9) == 200 * 10**9
    assert unpacked_limit(10**10) == 2**40


@pytest.mark.parametrize("codec", [".gz", ".zst"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.parquet", "a.arrow"])
def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, codec: str) -> None:
    """A megabyte of line feeds, spaces or zeros out of some kilobytes, with the limit set to 100,000 bytes."""
    monkeypatch.setattr(packed, "unpacked_limit", lambda size: 100_000)
    filler = {"a.jsonl": b"\n", "a.csv": b"a\n", "a.json": b" "}.get(name, b"\x00")
    path = written(tmp_path, f"{name}{codec}", filler * 1_000_000)
    with pytest.raises(RoundError) as caught:
        list(raw_rows(path, path.name, []))
    assert caught.value.code == "unpacks_to_too_much"


@pytest.mark.parametrize("codec", [None, "zstd", "lz4"])
@pytest.mark.parametrize("writer", [pa.ipc.new_file, pa.ipc.new_stream])
def test_arrow_buffers_are_measured_before_they_are_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: str | None, writer: Any) -> None:
    """1,000 texts of 1,000 bytes unpack to 1,000,000 bytes and 1,001 offsets of 4, and a dictionary of three texts with 1,000 indices."""
    table = pa.table({"a": ["x" * 1000] * 1000, "d": pa.array(["q", "r", "s", "q"] * 250).dictionary_encode()})
    with writer(str(tmp_path / "a.arrow"), table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as sink:
        sink.write_table(table)
    source = pa.OSFile(str(tmp_path / "a.arrow"))
    source.seek(8 if writer is pa.ipc.new_file else 0)
    exact = 1_000_000 + 1001 * 4 + 1000 * 4 + 3 + 4 * 4
    total, ended = unpacked_total(source, 2**40)
    assert ended and exact <= total <= exact + 8 * 64  # buffers are padded to 8 or 64 bytes
    assert (tmp_path / "a.arrow").stat().st_size < (2_000_000 if codec is None else 20_000)
    assert len(values(tmp_path / "a.arrow")) == 1000
    monkeypatch.setattr(columnar, "unpacked_limit", lambda size: exact - 10_000)
    with pytest.raises(RoundError) as caught:
        values(tmp_path / "a.arrow")
    assert caught.value.code == "unpacks_to_too_much"


def test_a_parquet_footer_that_promises_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "a.parquet", [ROW | {"chosen": "x" * 200_000}])
    monkeypatch.setattr(columnar, "unpacked_limit", lambda size: 100_000)
    with pytest.raises(RoundError) as caught:
        values(path)
    assert caught.value.code == "unpacks_to_too_much"


def repeating(place: Path, name: str, value: str, rows: int, items: int | None = None) -> Path:
    """A table in which every row, or every item of every row, is the same long text, said once."""
    texts_of = pa.DictionaryArray.from_arrays(pa.array([0] * rows * (items or 1), pa.int32()), pa.array([value]))
    array = texts_of if items is None else pa.ListArray.from_arrays(pa.array(range(0, rows * items + 1, items), pa.int32()), texts_of)
    table = pa.table({"prompt": array})
    place.mkdir(parents=True, exist_ok=True)
    if name.endswith(".parquet"):
        pq.write_table(table, place / name, compression="zstd", store_schema=False, dictionary_pagesize_limit=2**30)
    else:
        with pa.ipc.new_file(str(place / name), table.schema) as writer:
            writer.write_table(table)
    return place / name


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
@pytest.mark.parametrize("items", [None, 4])
def test_a_text_that_every_row_names_does_not_fill_the_memory(tmp_path: Path, name: str, items: int | None) -> None:
    """300 rows of 800,000 bytes (or of four such): the batches are cut so that none is more than 64 MiB when taken apart."""
    path = repeating(tmp_path, name, "x" * 800_000, 300, items)
    assert path.stat().st_size < 820_000
    with columnar.opened_table(path, name) as table:
        sizes = [batch.num_rows for batch in table.batches]
    most = 64 * 2**20 // (800_000 * (items or 1))
    assert sum(sizes) == 300 and max(sizes) <= most


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_a_row_that_no_batch_can_hold_is_refused(tmp_path: Path, name: str) -> None:
    """One row that names a text of 1,000,000 bytes 300 times: 300 MB, more than one row may be (settings, packed.row_bytes)."""
    with pytest.raises(RoundError) as caught:
        values(repeating(tmp_path, name, "x" * 1_000_000, 2, 300))
    assert (caught.value.code, caught.value.got) == ("too_large", "more")


def test_text_views_are_measured_and_lists_that_share_items_refused(tmp_path: Path) -> None:
    views = pa.array(["a long text that is not kept inside the view", None, "b"], pa.string_view())
    assert expanded_bytes(views) == 45
    assert expanded_bytes(views.slice(2)) == 1
    shared = pa.array([["a"], ["b", "c"]], pa.list_view(pa.string()))
    error = refused(tmp_path, "a.arrow", pa.table({"prompt": shared}), "trl")
    assert (error.code, error.where and error.where.field) == ("unkeepable_column", "prompt")


@pytest.mark.parametrize(("array", "size"), [
    (pa.array(["ab", "é", None]), 4), (pa.array([1, 2, 3], pa.int64()), 24),
    (pa.array(["ab", "ab", None, "c"]).dictionary_encode(), 5),
    (pa.array([{"a": "xy", "b": 1}, {"a": None, "b": 2}]), 2 + 16),
    (pa.array([["ab", "c"], [], ["ab"]], pa.list_(pa.string())), 3 * 4 + 5),
])
def test_expanded_sizes(array: pa.Array, size: int) -> None:
    """Bytes of the values with every repetition counted: texts by their bytes, numbers by their width, four bytes a list."""
    assert expanded_bytes(array) == size


# Arrow


def test_a_null_member_of_a_struct_is_an_absent_key_and_noted(tmp_path: Path) -> None:
    rows = [{"m": {"role": "user", "content": None, "name": "Ana"}}, {"m": {"role": "user", "content": "hi", "name": None}}, {"m": None}]
    path = written(tmp_path, "a.parquet", rows)
    notes: list[Note] = []
    assert [row.value for row in raw_rows(path, "a.parquet", notes)] == [
        {"m": {"role": "user", "content": None, "name": "Ana"}}, {"m": {"role": "user", "content": "hi"}}, {"m": None},
    ]
    assert [item.code for item in notes] == ["struct_nulls"]


def test_structs_without_nulls_are_not_noted(tmp_path: Path) -> None:
    notes: list[Note] = []
    list(raw_rows(written(tmp_path, "a.arrow", [{"m": {"role": "user", "content": None}}]), "a.arrow", notes))
    assert notes == []


@pytest.mark.parametrize(("array", "code"), [
    (pa.array([b"x"]), "unkeepable_column"), (pa.array([1], pa.timestamp("s")), "unkeepable_column"),
    (pa.array([1], pa.decimal128(5, 2)), "unkeepable_column"),
    (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "unkeepable_column"),
    (pa.array([{"arguments": {"x": 1}}]), "struct_arguments"), (pa.array([[{"parameters": {"x": 1}}]]), "struct_parameters"),
])
@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_columns_that_json_cannot_say_exactly_are_refused(tmp_path: Path, array: pa.Array, code: str, name: str) -> None:
    table = pa.table({"prompt": ["p"], "chosen": ["c"], "rejected": ["r"], "extra": array})
    error = refused(tmp_path, name, table, "trl")
    assert (error.code, error.where and error.where.field) == (code, "extra")


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_a_value_that_json_has_not_quarantines_its_row(tmp_path: Path, name: str) -> None:
    table = pa.Table.from_pylist([ROW | {"x": 1.5, "n": 1}, ROW | {"x": float("nan"), "n": 1}, ROW | {"x": 1.0, "n": 2**60}])
    source, report = read(tmp_path, name, table)
    assert quarantine(source) == [(name, 2, "x", "non_finite_number"), (name, 3, "n", "integer_out_of_range")]
    assert report.counts["pairs"] == 1
    rows = list(raw_rows(tmp_path / "input" / name, name, []))
    assert [row.value.code for row in rows if isinstance(row.value, CellFault)] == ["non_finite_number", "integer_out_of_range"]


def test_a_column_twice_is_refused(tmp_path: Path) -> None:
    table = pa.table([pa.array(["p"])] * 2, names=["prompt", "prompt"])
    assert refused(tmp_path, "a.arrow", table, "trl").code == "duplicate_column"


def test_text_that_is_not_utf8_quarantines_its_row_in_parquet(tmp_path: Path) -> None:
    broken = pa.Array.from_buffers(pa.string(), 2, [None, pa.array([0, 4, 6], pa.int32()).buffers()[1], pa.py_buffer(b"good\xff\xfe")])
    table = pa.table({"prompt": broken, "chosen": ["c", "c"], "rejected": ["r", "r"]})
    sink = io.BytesIO()
    pq.write_table(table, sink)
    source, _ = read(tmp_path / "p", "a.parquet", sink.getvalue(), "trl")
    assert quarantine(source) == [("a.parquet", 2, "", "invalid_utf8")]
    # what an Arrow file says is used without copying, so it is checked whole and refused whole
    assert refused(tmp_path / "a", "a.arrow", table, "trl").code == "not_arrow"


def test_an_arrow_file_whose_offsets_lie_is_refused(tmp_path: Path) -> None:
    lying = pa.Array.from_buffers(pa.string(), 2, [None, pa.array([0, 4000, 6], pa.int32()).buffers()[1], pa.py_buffer(b"good to")])
    assert refused(tmp_path, "a.arrow", pa.table({"prompt": lying, "chosen": ["c"] * 2, "rejected": ["r"] * 2}), "trl").code == "not_arrow"


def test_a_large_arrow_batch_is_cut(tmp_path: Path) -> None:
    """One batch of 20,000 rows in the file: read in slices of at most 8,192 rows (settings, storage.batch_rows)."""
    path = written(tmp_path, "a.arrow", pa.table({"n": list(range(20_000))}))
    with columnar.opened_table(path, "a.arrow") as table:
        assert [batch.num_rows for batch in table.batches] == [8192, 8192, 3616]


# CSV


def csv_bytes(*rows: list[str], **options: Any) -> bytes:
    out = io.StringIO()
    csv.writer(out, **options).writerows(rows)
    return out.getvalue().encode()


@pytest.mark.parametrize("codec", PACKED)
def test_csv_cells_are_text_with_the_line_that_each_row_begins_on(tmp_path: Path, codec: str) -> None:
    data = csv_bytes(["id", "text"], ["007", 'a "quoted"\nline, é'], ["", "None"], ["1e3", " padded "])
    path = written(tmp_path, f"a.csv{codec}", data)
    rows = list(raw_rows(path, path.name, []))
    assert [tuple(row.value.values()) for row in rows] == [("007", 'a "quoted"\nline, é'), ("", "None"), ("1e3", " padded ")]
    assert [row.line for row in rows] == [2, 4, 5]


def test_csv_rows_with_other_cells_than_the_header_are_at_fault(tmp_path: Path) -> None:
    rows = list(raw_rows(written(tmp_path, "a.csv", b"a,b\r\n1,2\r\n\r\n3\r\n4,5,6\r\n"), "a.csv", []))
    assert rows[0].value == {"a": "1", "b": "2"}
    assert [(row.line, row.value.code) for row in rows[1:] if isinstance(row.value, CellFault)] == [(4, "wrong_cells"), (5, "wrong_cells")]


@pytest.mark.parametrize(("data", "code"), [
    (b"", "missing_header"), (b"a,,c\n", "missing_header"), (b"a,b,a\n", "duplicate_column"), ("a,b\n".encode("utf-16"), "utf16"),
    (b'a\n"never closed', "not_csv"), (b'a\n"x"y\n', "not_csv"), (b"a\n\xff\n", "invalid_utf8"),
])
def test_csv_that_is_none_is_refused(tmp_path: Path, data: bytes, code: str) -> None:
    with pytest.raises(RoundError) as caught:
        values(written(tmp_path, "a.csv", data))
    assert caught.value.code == code


def test_a_long_csv_cell_passes(tmp_path: Path) -> None:
    """The csv module alone refuses more than 131,072 characters."""
    assert values(written(tmp_path, "a.csv", csv_bytes(["a"], ["x" * 200_000]))) == [{"a": "x" * 200_000}]


# our own tables


@pytest.mark.parametrize("name", ["pairs.jsonl.gz", "pairs.json.zst", "pairs.parquet.gz", "pairs.arrow", "pairs.feather.zst"])
def test_our_own_tables_may_be_packed_or_arrow(tmp_path: Path, name: str) -> None:
    place = folder_of(tmp_path / "input", {}, about=ROUND)
    written(place, name, [pair(), pair(pair_id="p-2")])
    report = ingest(place, workspace_at(tmp_path), now=NOW)
    assert report.counts == {"pairs": 2}
    source = workspace_at(tmp_path).round(report.digest)
    assert column(source, "pair_id") == ["p-1", "p-2"] and column(source, "chosen_token_count") == [20, 20]


def test_our_own_tables_are_no_csv(tmp_path: Path) -> None:
    place = folder_of(tmp_path / "input", {}, about=ROUND)
    written(place, "pairs.csv.gz", b"pair_id\n")
    with pytest.raises(RoundError) as caught:
        ingest(place, workspace_at(tmp_path), now=NOW)
    assert caught.value.code == "unknown_form"
