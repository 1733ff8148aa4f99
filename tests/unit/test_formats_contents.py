"""A file that is something else than its name says is told what it is, a pipe is refused, and no refusal is followed by a fault."""
from __future__ import annotations

import gc
import gzip
import json
import os
from pathlib import Path
from typing import IO

import pyarrow as pa
import pytest
from support_formats import DECLARED, read, refused, written
from support_rounds import NOW, STATED, nothing_written, workspace_at

from core.errors import RoundError
from core.rounds.ingest import ingest
from core.rounds.readers.packed import Reading
from core.rounds.readers.single import ForeignFile

ROW = {"prompt": "Say hi.", "chosen": "Hi.", "rejected": "No."}
LINE = b'{"prompt": "Say hi.", "chosen": "Hi.", "rejected": "No."}\n'
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
PAGE = b"<!DOCTYPE html>\n<html><head><title>train.parquet</title></head></html>\n"


@pytest.mark.parametrize(("name", "data", "got", "remedy"), [
    ("a.parquet", POINTER, "a Git LFS pointer", "fetch the file itself (git lfs pull)"),
    ("a.jsonl", POINTER, "a Git LFS pointer", "fetch the file itself (git lfs pull)"),
    ("a.jsonl.gz", POINTER, "a Git LFS pointer", "fetch the file itself (git lfs pull)"),
    ("a.jsonl", PAGE, "a web page", "download the file itself"), ("a.parquet", PAGE, "a web page", "download the file itself"),
    ("a.arrow", PAGE.lower(), "a web page", "download the file itself"),
    ("a.jsonl.gz", LINE, "JSON text", "name it a.jsonl"), ("a.jsonl.zst", LINE, "JSON text", "name it a.jsonl"),
    ("a.json.gz", b"[" + LINE + b"]", "JSON text", "name it a.json"),
    ("a.parquet", LINE, "JSON text", "name it a.jsonl"), ("a.feather", b"[" + LINE + b"]", "JSON text", "name it a.json"),
    ("a.jsonl.gz", bytes(pa.Codec("zstd").compress(LINE)), "a zstd file", "name it a.jsonl.zst"),
    ("a.jsonl.zst", gzip.compress(LINE, mtime=0), "a gzip file", "name it a.jsonl.gz"),
])
def test_what_a_file_is_is_told_where_its_name_says_something_else(tmp_path: Path, name: str, data: bytes, got: str, remedy: str) -> None:
    for format_name in ("auto", "trl"):
        place = tmp_path / format_name.replace("auto", "a")
        place.mkdir()
        (place / name).write_bytes(data)
        with pytest.raises(RoundError) as caught:
            ingest(place / name, workspace_at(place), now=NOW, foreign=ForeignFile(format_name, ("ana",), DECLARED))
        assert (caught.value.code, caught.value.exit_code) == ("other_content", 4)
        assert caught.value.got.startswith(got) and caught.value.remedy.startswith(remedy)
        assert nothing_written(place)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.feather", "a.jsonl.gz", "a.parquet.zst"])
def test_a_file_that_is_what_its_name_says_goes_in(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, name, [ROW])[1].counts == {"pairs": 1}


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst", "a.parquet.gz"])
def test_a_packed_file_of_no_bytes_is_not_one_without_rows(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"")
    with pytest.raises(RoundError) as caught:
        ingest(path, workspace_at(tmp_path), now=NOW, foreign=ForeignFile("trl", ("ana",), DECLARED))
    assert caught.value.code == "broken_packing" and "an empty file" in caught.value.got


@pytest.mark.parametrize("foreign", [ForeignFile("auto", ("ana",), DECLARED), ForeignFile("trl", ("ana",), DECLARED), None])
def test_a_pipe_is_refused_before_it_is_waited_for(tmp_path: Path, foreign: ForeignFile | None) -> None:
    """A pipe can be read once, a file is read to tell its format and again for its rows: the first rows would be lost."""
    path = tmp_path / "a.json"
    os.mkfifo(path)
    with pytest.raises(RoundError) as caught:
        ingest(path, workspace_at(tmp_path), now=NOW, created_at=STATED, foreign=foreign)
    assert (caught.value.code, caught.value.got.partition(",")[0]) == ("not_a_file", "a pipe or a device")


class _Closed:
    """A file that the collector closed before the generator that reads it."""

    closed = True

    def tell(self) -> int:
        raise ValueError("I/O operation on closed file")


def test_the_progress_of_a_reading_that_was_given_up_is_no_fault() -> None:
    reading, handle = Reading(), _Closed()
    stream: IO[bytes] = handle  # type: ignore[assignment]
    reading.opened(Path("a.jsonl"), stream)
    assert reading.position == 0
    reading.closed(stream)
    assert reading.position == 0


def test_a_refusal_in_the_middle_of_a_file_leaves_no_fault_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row refuses the whole while its file is open; what the collector then closes must not raise again."""
    rows = [{"key": 1000 + number, "ok": True} for number in range(5000)]
    error = refused(tmp_path, "o.jsonl.gz", rows, "mapped-outcomes", ids="", origin="", arm="baseline", column__id="key", column__passed="ok")
    assert error.code == "integer_id"
    del error
    gc.collect()
    assert capsys.readouterr().err == ""


def test_text_that_only_begins_like_something_else_is_text(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", b"PAR1,chosen,rejected\nx,y,z\n")
    report = ingest(path, workspace_at(tmp_path), now=NOW, foreign=ForeignFile("csv", ("ana",), DECLARED | {
        "column.prompt": "PAR1", "column.chosen": "chosen", "column.rejected": "rejected"}))
    assert report.counts == {"pairs": 1}


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-16", "utf-32"])
@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.jsonl.gz"])
def test_text_of_another_encoding_is_told_by_name(tmp_path: Path, name: str, encoding: str) -> None:
    text = LINE.decode() if "jsonl" in name else f"[{LINE.decode().strip()}]"
    data = text.encode(encoding)
    assert refused(tmp_path, name, data, "trl").code == "utf16"


@pytest.mark.parametrize(("name", "same"), [
    ("a.ndjson", "a.jsonl"), ("a.JSONL", "a.jsonl"), ("b.jsonl.GZ", "b.jsonl.gz"), ("v1.2.ndjson.gz", "v1.2.jsonl.gz"), ("a.Parquet", "a.parquet"),
    ("a.txt", None), ("a.tar.gz", None), ("jsonl", None), ("a.jsonl.xz", None),
])
def test_another_spelling_of_a_suffix_is_told_with_the_one_that_is_read(tmp_path: Path, name: str, same: str | None) -> None:
    error = refused(tmp_path, name, LINE)
    assert (error.code, error.remedy) == ("unknown_form", "write it as one of these" if same is None else f"name it {same}")


def test_a_document_over_several_lines_under_the_name_of_json_lines(tmp_path: Path) -> None:
    error = refused(tmp_path, "a.jsonl", json.dumps(ROW, indent=1).encode())
    assert error.code == "not_json" and "a document that goes over several lines is a .json file" in error.expected


def test_a_name_that_is_no_round_id_says_how_to_give_one(tmp_path: Path) -> None:
    error = refused(tmp_path, "a\u202eb.jsonl", [ROW], "trl")
    assert (error.code, error.remedy) == ("bad_round_id", "give the round an id of its own (--round-id ID)")


def test_a_struct_of_arguments_says_how_it_can_be_declared(tmp_path: Path) -> None:
    call = {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"x": 1}}}]}
    rows = [{"prompt": "Go.", "chosen": [call], "rejected": [call | {"content": "no"}]}]
    error = refused(tmp_path / "a", "a.parquet", rows, "trl")
    assert error.code == "struct_arguments" and "struct_nulls=absent" in error.remedy
    assert read(tmp_path / "b", "a.parquet", rows, "trl", struct_nulls="absent")[1].counts == {"pairs": 1}
