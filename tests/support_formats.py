"""Foreign files for the tests of the readers: written here in plain Python, read by the code under test."""
from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support_rounds import NOW, ROUND, STATED, nothing_written, workspace_at

from core.errors import RoundError
from core.rounds.folder import Round
from core.rounds.ingest import IngestReport, ingest
from core.rounds.readers.single import ForeignFile

PUBLISHED = Path(__file__).parent / "fixtures" / "formats"
DECLARED = {"ids": "line", "origin": "verified"}
"""What most foreign files have to have declared about them."""


def written(place: Path, name: str, rows: Any) -> Path:
    """A file of rows in the form that its name asks for: .jsonl, .json, .parquet or .arrow, packed or not. Bytes are written as they are."""
    place.mkdir(parents=True, exist_ok=True)
    path = place / name
    inner = name.removesuffix(".gz").removesuffix(".zst")
    data = rows if isinstance(rows, bytes) else _bytes(inner, rows)
    if name.endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    elif name.endswith(".zst"):
        data = bytes(pa.Codec("zstd").compress(data))
    path.write_bytes(data)
    return path


def _bytes(name: str, rows: list[Any]) -> bytes:
    if name.endswith(".jsonl"):
        return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()
    if name.endswith(".json"):
        return json.dumps(rows, ensure_ascii=False).encode()
    sink = pa.BufferOutputStream()
    names = [] if isinstance(rows, pa.Table) else list(dict.fromkeys(key for row in rows for key in row))
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist([{key: row.get(key) for key in names} for row in rows])
    if name.endswith(".parquet"):
        pq.write_table(table, sink)
    else:
        with (pa.ipc.new_stream if name.endswith(".arrows") else pa.ipc.new_file)(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue().to_pybytes()


def read(place: Path, name: str, rows: Any, format_name: str = "auto", **options: str) -> tuple[Round, IngestReport]:
    """A round of one foreign file. ``options`` come on top of DECLARED; a dot in an option's name is written ``__``; "" takes one away."""
    path = written(place / "input", name, rows)
    workspace = workspace_at(place)
    foreign = ForeignFile(format_name, ("worker-curator-01",), stated(options))
    # a round whose only row is quarantined is what many tests look at
    report = ingest(path, workspace, now=NOW, created_at=STATED, foreign=foreign, keep_unusable=True)
    return workspace.round(report.digest), report


def stated(options: dict[str, str]) -> dict[str, str]:
    """DECLARED with the options of a test."""
    changed = DECLARED | {name.replace("__", "."): value for name, value in options.items()}
    return {name: value for name, value in changed.items() if value}


def refused(place: Path, name: str, rows: Any, format_name: str = "auto", **options: str) -> RoundError:
    """The error of a foreign file that must be refused, after checking that it left nothing behind."""
    with pytest.raises(RoundError) as caught:
        read(place, name, rows, format_name, **options)
    assert caught.value.exit_code == 4
    assert nothing_written(place)
    return caught.value


def folder(place: Path, sources: dict[str, list[dict[str, Any]]], files: dict[str, Any], **about: Any) -> Path:
    """A round folder with declared sources."""
    place.mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        written(place, name, rows)
    (place / "round.json").write_text(json.dumps(ROUND | {"sources": sources} | about), "utf-8")
    return place


def texts(source: Round) -> list[dict[str, Any]]:
    """prompt, chosen and rejected of every pair: the messages where there are any, else the text."""
    def side(row: dict[str, Any], name: str) -> Any:
        return row[name] if row[f"{name}_messages"] is None else json.loads(row[f"{name}_messages"])

    return [{name: side(row, name) for name in ("prompt", "chosen", "rejected")} for _, batch in source.pair_batches() for row in batch.to_pylist()]


def column(source: Round, name: str) -> list[Any]:
    return list(source.narrow([name])[name].to_pylist())


def extras(source: Round) -> list[Any]:
    """What is kept beside our columns, as JSON values."""
    return [None if text is None else json.loads(text) for text in column(source, "extra")]


def quarantine(source: Round) -> list[tuple[str, int, str, str]]:
    """(file, line, field, code) of every quarantined row."""
    return [(row["file"], row["line"], row["field"], row["code"]) for row in source.table("quarantine").to_pylist()]


def codes(report: IngestReport) -> list[str]:
    return [note.code for note in report.notes]


def note(report: IngestReport, code: str) -> str:
    """The text of the one note with this code."""
    (found,) = [item.text for item in report.notes if item.code == code]
    return found


def reasons(report: IngestReport) -> dict[str, int]:
    """Why rows were quarantined -> how many."""
    return {reason.code: reason.rows for reason in report.reasons}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str | None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text} | more
