"""Files that are almost what they seem: told by name what they are, or refused; never half read, never taken for something near it."""
from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support_formats import assistant, codes, extras, quarantine, read, refused, texts, user, written

from core.errors import RoundError
from core.rounds.readers.containers import raw_rows
from core.rounds.readers.formats import detect

ROW = {"prompt": "Say hi.", "chosen": "Hi.", "rejected": "No."}
TALK, OTHER = [user("q"), assistant("a")], [user("q"), assistant("b")]
ALPACA = {"instruction": "i", "chosen": "a", "rejected": "b"}
MAPPED = {f"column__{name}": name for name in ROW}
LINE = json.dumps(ROW).encode() + b"\n"


def packed_arrow(writer: Any, rows: int = 9, chunk: int = 3) -> bytes:
    sink = io.BytesIO()
    table = pa.table({"a": list(range(rows))})
    with writer(sink, table.schema) as stream:
        stream.write_table(table, max_chunksize=chunk)
    return sink.getvalue()


@pytest.mark.parametrize("writer", [pa.ipc.new_stream, pa.ipc.new_file])
def test_no_beginning_of_an_arrow_file_reads_like_a_shorter_one(tmp_path: Path, writer: Any) -> None:
    """Nine rows in three batches: cut between two batches the rest is a sound stream of three or six rows, and only its end tells."""
    whole, path = packed_arrow(writer), tmp_path / "a.arrow"
    found = {}
    for length in range(1, len(whole) + 1):
        path.write_bytes(whole[:length])
        try:
            found[length] = str(len(list(raw_rows(path, "a.arrow", []))))
        except RoundError as error:
            found[length] = error.code
    assert found.pop(len(whole)) == "9"
    assert set(found.values()) == {"not_arrow", "cut_table"}


@pytest.mark.parametrize("writer", [pa.ipc.new_stream, pa.ipc.new_file])
@pytest.mark.parametrize("codec", ["", ".gz", ".zst"])
def test_arrow_files_and_streams_say_the_same_under_both_names(tmp_path: Path, writer: Any, codec: str) -> None:
    for name in ("a.arrow", "a.feather"):
        path = written(tmp_path, f"{name}{codec}", packed_arrow(writer))
        assert [row.value for row in raw_rows(path, path.name, [])] == [{"a": number} for number in range(9)]


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_lists_of_structs_are_conversations(tmp_path: Path, name: str) -> None:
    source, _ = read(tmp_path, name, [{"chosen": TALK, "rejected": OTHER}] * 2)
    assert texts(source) == [{"prompt": [user("q")], "chosen": [assistant("a")], "rejected": [assistant("b")]}] * 2


ZSTD = bytes(pa.Codec("zstd").compress(LINE * 50))
GZIP = gzip.compress(LINE * 50, mtime=0)


def parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([ROW]), sink)
    return sink.getvalue()


@pytest.mark.parametrize(("name", "data", "remedy"), [
    ("a.jsonl", GZIP, "name it a.jsonl.gz"), ("a.jsonl", ZSTD, "name it a.jsonl.zst"), ("a.json", GZIP, "name it a.json.gz"),
    ("a.csv", ZSTD, "name it a.csv.zst"), ("a.jsonl", parquet(), "name it a.parquet"), ("a.csv", packed_arrow(pa.ipc.new_file), "name it a.arrow"),
    ("a.json", b"PK\x03\x04rest", "unpack it"), ("a.jsonl.gz", gzip.compress(GZIP, mtime=0), "it is packed twice; unpack it once"),
    ("a.jsonl.zst", bytes(pa.Codec("zstd").compress(parquet())), "name it a.parquet"),
])
def test_a_file_that_is_no_text_says_what_it_is(tmp_path: Path, name: str, data: bytes, remedy: str) -> None:
    path = written(tmp_path, "x", data)
    path = path.rename(tmp_path / name)
    with pytest.raises(RoundError) as caught:
        list(raw_rows(path, name, []))
    assert caught.value.code == "other_content" and caught.value.remedy.startswith(remedy)


@pytest.mark.parametrize("data", [ZSTD[:-1], ZSTD[:-9], ZSTD[:len(ZSTD) // 2], ZSTD[:6], GZIP[:-1], GZIP[:-8], GZIP[:len(GZIP) // 2]])
def test_a_packed_file_that_is_cut_loads_nothing(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "input").mkdir()
    name = "a.jsonl.gz" if data.startswith(b"\x1f\x8b") else "a.jsonl.zst"
    path = tmp_path / "input" / name
    path.write_bytes(data)
    with pytest.raises(RoundError) as caught:
        list(raw_rows(path, name, []))
    assert caught.value.code == "broken_packing"


@pytest.mark.parametrize("name", ["a", "a.txt", "a.tsv", "a.ndjson", "A.JSONL", "a.jsonl.bz2"])
def test_a_name_that_says_no_form_is_told_the_forms(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(LINE)
    with pytest.raises(RoundError) as caught:
        detect(path, name)
    assert caught.value.code == "unknown_form" and ".jsonl" in caught.value.expected


# JSON that is another JSON


@pytest.mark.parametrize(("name", "data", "code", "words"), [
    ("a.jsonl", json.dumps([ROW, ROW]).encode(), "json_list_in_jsonl", "name the file .json"),
    ("a.jsonl", json.dumps([ROW, ROW], indent=1).encode(), "json_list_in_jsonl", "name the file .json"),
    ("a.json", LINE * 3, "not_json", "name the file .jsonl"),
    ("a.json", b"[" + LINE + LINE + b"]", "not_json", "name the file .jsonl"),
    ("a.json", json.dumps({"data": [ROW]}).encode(), "unrecognised_format", "hand over the list of rows alone"),
    ("a.json", json.dumps({"prompt": ["a"], "chosen": ["b"], "rejected": ["c"]}).encode(), "unrecognised_format", "the list of rows alone"),
    ("a.json", b"[]", "unrecognised_format", "has rows"), ("a.jsonl", b"", "unrecognised_format", "has rows"),
])
def test_json_in_another_shape_says_what_to_do(tmp_path: Path, name: str, data: bytes, code: str, words: str) -> None:
    error = refused(tmp_path, name, data)
    assert error.code == code and words in error.remedy


# rows that are of no format, or of several


@pytest.mark.parametrize("rows", [[{"comment": "by x"}, *[ROW] * 5], [*[ROW] * 3, ALPACA], [ROW, None, ROW], [*[ROW] * 2, {"text": "a"}]])
def test_odd_rows_among_others_are_pointed_out_and_none_is_guessed(tmp_path: Path, rows: list[Any]) -> None:
    error = refused(tmp_path, "a.jsonl", rows)
    assert error.code == "unrecognised_format" and f"of the first {len(rows)} rows, which fit trl, and one" in error.got
    assert "--format trl" in error.remedy
    source, _ = read(tmp_path / "named", "a.jsonl", rows, "trl")  # and it is true
    odd = next(number for number, row in enumerate(rows, start=1) if row != ROW)
    assert [line for _, line, _, _ in quarantine(source)] == [odd] and len(texts(source)) == len(rows) - 1


def test_halves_of_two_formats_are_shown_as_such(tmp_path: Path) -> None:
    error = refused(tmp_path, "a.jsonl", [ROW, ALPACA])
    assert error.got == "rows that differ: one with the keys chosen, prompt, rejected, another with the keys chosen, instruction, rejected"


def test_rows_of_another_format_far_down_are_quarantined_by_line(tmp_path: Path) -> None:
    source, _ = read(tmp_path, "a.jsonl", [*[ROW] * 30, ALPACA, {"chosen": TALK, "rejected": OTHER}])
    assert quarantine(source) == [("a.jsonl", 31, "prompt", "missing_prompt")] and len(texts(source)) == 31  # the last is a TRL row as well


@pytest.mark.parametrize(("rows", "names"), [
    ([ROW | {"system": "s"}], "trl and axolotl:chatml.prompt_pairs"),
    ([{"messages": TALK, "chosen": TALK, "rejected": OTHER, "rejected_response": "x"}], "trl and axolotl:chat_template.default"),
    ([ROW | {"best.responses": [["a"]], "best.responses.users": ["u"], "best.responses.status": ["submitted"]}], "trl and argilla-records"),
])
def test_rows_that_fit_two_formats_are_refused_with_both(tmp_path: Path, rows: list[Any], names: str) -> None:
    error = refused(tmp_path, "a.jsonl", rows)
    assert (error.code, error.got) == ("ambiguous_format", f"rows that fit {names}")


@pytest.mark.parametrize("columns", [("Prompt", "Chosen", "Rejected"), ("PROMPT", "chosen", "rejected"), (" prompt", "chosen ", "rejected")])
def test_columns_in_capitals_or_with_spaces_are_shown_how_to_be_mapped(tmp_path: Path, columns: tuple[str, ...]) -> None:
    rows = [dict(zip(columns, ROW.values(), strict=True))] * 2
    error = refused(tmp_path / "a", "a.jsonl", rows)
    wanted = [f'--option "column.{ours}={name}"' for ours, name in zip(ROW, columns, strict=True) if ours != name]
    assert error.code == "unrecognised_format" and error.remedy.endswith(f"--format trl {' '.join(wanted)}")
    options = {f"column__{ours}": name for ours, name in zip(ROW, columns, strict=True) if ours != name}
    source, _ = read(tmp_path / "b", "a.jsonl", rows, "trl", **options)  # and it is true
    assert texts(source) == [ROW] * 2


@pytest.mark.parametrize(("name", "ours"), [
    ("Chosen_Verified_Pass", "chosen_verified_pass"), ("chosen-verified-pass", "chosen_verified_pass"), ("chosen_verified", "chosen_verified_pass"),
    ("rejected_tombstone", "rejected_tombstone_fail"), ("Task ID", "task_id"), ("chosen_token_count ", "chosen_token_count"),
])
def test_a_column_that_looks_like_ours_is_not_taken_and_warned_of(tmp_path: Path, name: str, ours: str) -> None:
    source, report = read(tmp_path, "a.jsonl", [ROW | {name: True}])
    assert extras(source) == [{name: True}]
    (found,) = [item for item in report.notes if item.code == "column_like_ours"]
    assert (found.severity, f"declare column.{ours}={name}" in found.text) == ("warning", True)


def test_flags_by_other_names_are_no_flags(tmp_path: Path) -> None:
    source, report = read(tmp_path, "a.jsonl", [ROW | {"verified": True, "is_correct": 1, "pass": "yes"}])
    assert extras(source) == [{"verified": True, "is_correct": 1, "pass": "yes"}] and "column_like_ours" not in codes(report)
    source, report = read(tmp_path / "b", "a.jsonl", [ROW | {"chosen_verified": 1}], column__chosen_verified_pass="chosen_verified", booleans="0/1")
    assert extras(source) == [None] and "column_like_ours" not in codes(report)


# CSV


@pytest.mark.parametrize(("head", "words"), [
    ("prompt;chosen;rejected\nSay hi.;Hi.;No.\n", "semicolons"), ("prompt\tchosen\trejected\na\tb\tc\n", "tabs"),
    ("prompt|chosen|rejected\na|b|c\n", "bars"),
    ("sep=;\nprompt;chosen;rejected\na;b;c\n", "semicolons"), ("\ufeffprompt;chosen;rejected\na;b;c\n", "semicolons"),
])
def test_csv_with_another_separator_says_so(tmp_path: Path, head: str, words: str) -> None:
    error = refused(tmp_path, "a.csv", head.encode(), **MAPPED)
    assert error.code == "other_separator" and words in error.got


@pytest.mark.parametrize(("text", "prompt"), [
    ('prompt,chosen,rejected\n"Say\nhi, ""you"".",Hi.,No.\n', 'Say\nhi, "you".'),
    ('prompt,chosen,rejected\r\n"Say\r\nhi.",Hi.,No.\r\n', "Say\r\nhi."),
    ("\ufeffprompt,chosen,rejected\n  Say hi. ,Hi.,No.\n", "  Say hi. "), ("prompt,chosen,rejected\na;b\tc,Hi.,No.\n", "a;b\tc"),
    ("prompt,chosen,rejected\n2024-01-05,Hi.,No.", "2024-01-05"), ("prompt,chosen,rejected\n007,Hi.,No.\n\n\n", "007"),
])
def test_csv_cells_stay_what_they_are_and_auto_reads_them_by_their_mapping(tmp_path: Path, text: str, prompt: str) -> None:
    """Columns that are called as TRL calls them make no TRL rows of a CSV file: its columns are mapped."""
    source, report = read(tmp_path, "a.csv", text.encode(), **MAPPED)
    assert texts(source) == [ROW | {"prompt": prompt}]
    assert any("was read as csv" in item.text for item in report.notes)
    assert refused(tmp_path / "unmapped", "a.csv", text.encode()).code == "unmapped_column"


@pytest.mark.parametrize(("data", "code"), [
    ("prompt,chosen,rejected\nh\xe9,b,c\n".encode("latin-1"), "invalid_utf8"), ("prompt,chosen,rejected\na,b,c\n".encode("utf-16"), "utf16"),
    (b'prompt,chosen,rejected\n"a,b,c\n', "not_csv"), (b"", "missing_header"), (b"prompt,chosen,prompt\na,b,c\n", "duplicate_column"),
    (b"prompt,,rejected\na,b,c\n", "missing_header"),
])
def test_csv_that_cannot_be_read_is_refused_whole(tmp_path: Path, data: bytes, code: str) -> None:
    assert refused(tmp_path, "a.csv", data, **MAPPED).code == code
