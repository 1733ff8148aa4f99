"""The data files: rows sorted into the signed order without holding them all, as JSON Lines, and as Parquet made from those lines."""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from core.export.columns import Kind, array_of, arrow_type
from core.settings import SETTINGS

_BUCKET: Final[int] = SETTINGS["export"]["bucket_rows"]
_STORAGE: Final = SETTINGS["storage"]
_NOT_LINES: Final = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}
"""Characters that JSON lets stand and that some readers split lines at."""


def line_of(row: Mapping[str, Any]) -> bytes:
    """A row as one line of JSON, its line feed included: UTF-8, members in their order, nothing but the escapes that are needed."""
    text = json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return f"{text.translate(_NOT_LINES)}\n".encode()


class RankedLines:
    """Lines that arrive in any order and are read in that of their rank: spilled into buckets of neighbouring ranks, each of which
    is sorted in memory."""

    def __init__(self, folder: Path, total: int) -> None:
        self._folder, self._digits = folder, len(str(total))
        self._files: dict[int, IO[bytes]] = {}

    def add(self, rank: int, line: bytes) -> None:
        """Keep one line under its rank."""
        bucket = rank // _BUCKET
        if bucket not in self._files:
            self._files[bucket] = (self._folder / f"{bucket}.spill").open("w+b")
        self._files[bucket].write(f"{rank:0{self._digits}d} ".encode() + line)

    def lines(self) -> Iterator[bytes]:
        """All lines by rank; the spill is gone afterwards."""
        for bucket in sorted(self._files):
            file = self._files[bucket]
            file.seek(0)
            yield from (line.split(b" ", 1)[1] for line in sorted(file))
            file.close()
            Path(file.name).unlink()
        self._files.clear()

    def close(self) -> None:
        """Drop what is left, when the writing was broken off."""
        for file in self._files.values():
            file.close()


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


def write_parquet(path: Path, lines: Path, kinds: Mapping[str, Kind]) -> None:
    """The rows of a JSON Lines file as Parquet, objects of a JSON kind as JSON text."""
    schema = pa.schema([pa.field(name, arrow_type(kind)) for name, kind in kinds.items()])
    options = {"compression": _STORAGE["parquet_compression"], "compression_level": _STORAGE["parquet_compression_level"]}
    with pq.ParquetWriter(path, schema, **options) as writer, lines.open("rb") as handle:
        for rows in _batches(handle):
            arrays = [array_of([row.get(name) for row in rows], kind) for name, kind in kinds.items()]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=len(rows))


def _batches(handle: IO[bytes]) -> Iterator[list[dict[str, Any]]]:
    """Rows in batches of a row group: few where rows are long."""
    rows, size = list[dict[str, Any]](), 0
    for line in handle:
        rows.append(json.loads(line))
        size += len(line)
        if len(rows) >= _STORAGE["text_row_group"] or size >= _STORAGE["batch_bytes"]:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows
