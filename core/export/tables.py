"""The data files: rows sorted into the signed order without holding them all, as JSON Lines, and as Parquet made from those lines."""
from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from core.export.columns import Kind, array_of, arrow_type
from core.export.lookalikes import Lookalikes
from core.settings import SETTINGS

_STORAGE: Final = SETTINGS["storage"]
_NOT_LINES: Final = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}
"""Characters that JSON lets stand and that some readers split lines at."""


def line_of(row: Mapping[str, Any]) -> bytes:
    """A row as one line of JSON, its line feed included: UTF-8, members in their order, nothing but the escapes that are needed."""
    text = json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return f"{text.translate(_NOT_LINES)}\n".encode()


class RankedLines:
    """Lines that arrive in any order and are read in that of their rank: all in one spill file, and in memory no more than where each
    of them is (two integers a line, however long it is)."""

    def __init__(self, folder: Path, total: int) -> None:
        self._path = folder / "rows.spill"
        self._file = self._path.open("x+b")
        self._starts, self._sizes, self._end = array("q", [0]) * total, array("q", [0]) * total, 0

    def add(self, rank: int, line: bytes) -> None:
        """Keep one line under its rank."""
        self._file.write(line)
        self._starts[rank], self._sizes[rank] = self._end, len(line)
        self._end += len(line)

    def lines(self) -> Iterator[bytes]:
        """All lines by rank; the spill is gone afterwards."""
        self._file.flush()
        for start, size in zip(self._starts, self._sizes, strict=True):
            self._file.seek(start)
            yield self._file.read(size)
        self.close()
        self._path.unlink()

    def close(self) -> None:
        """Let go of the file, also when the writing was broken off."""
        self._file.close()


def write_lines(path: Path, ranked: RankedLines, columns: Mapping[str, Any] | None) -> None:
    """Write the lines in their order. ``columns``: the members that every row shall have, and what stands where it lacks one; None: as
    they are."""
    with path.open("xb") as handle:
        for line in ranked.lines():
            if columns is None:
                handle.write(line)
            else:
                row = json.loads(line)
                handle.write(line_of({name: row.get(name, standing) for name, standing in columns.items()}))


def write_parquet(path: Path, lines: Path, kinds: Mapping[str, Kind], about: Mapping[str, Any] | None = None, seen: Lookalikes | None = None) -> int:
    """The rows of a JSON Lines file as Parquet, objects of a JSON kind as JSON text. ``about``: a JSON object that the file carries under
    the key ``countersign``; ``seen`` looks at each row. Returns what ``memory_of`` does."""
    note = None if about is None else {"countersign": json.dumps(about)}
    schema = pa.schema([pa.field(name, arrow_type(kind)) for name, kind in kinds.items()], note)
    options = {"compression": _STORAGE["parquet_compression"], "compression_level": _STORAGE["parquet_compression_level"]}
    size = 0
    with pq.ParquetWriter(path, schema, **options) as writer:
        for table in _tables(lines, kinds, schema, seen):
            writer.write_table(table, row_group_size=table.num_rows)
            size += table.nbytes
    return size


def memory_of(lines: Path, kinds: Mapping[str, Kind], seen: Lookalikes | None = None) -> int:
    """Bytes that the rows take as Arrow arrays: what ``datasets`` calls ``num_bytes``. Not the size of any file."""
    schema = pa.schema([pa.field(name, arrow_type(kind)) for name, kind in kinds.items()])
    return sum(table.nbytes for table in _tables(lines, kinds, schema, seen))


def _tables(lines: Path, kinds: Mapping[str, Kind], schema: pa.Schema, seen: Lookalikes | None) -> Iterator[pa.Table]:
    with lines.open("rb") as handle:
        for rows in _batches(handle, seen):
            arrays = [array_of([row.get(name) for row in rows], kind) for name, kind in kinds.items()]
            yield pa.Table.from_arrays(arrays, schema=schema)


def _batches(handle: IO[bytes], seen: Lookalikes | None) -> Iterator[list[dict[str, Any]]]:
    """Rows in batches of a row group: few where rows are long."""
    rows, size = list[dict[str, Any]](), 0
    for line in handle:
        rows.append(json.loads(line))
        size += len(line)
        if seen is not None:
            seen.add(rows[-1], len(line))
        if len(rows) >= _STORAGE["text_row_group"] or size >= _STORAGE["batch_bytes"]:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows
