"""Writing the Parquet files of a round: row groups of a fixed size, whatever the size of the batches that come in."""
from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.rounds.columns import RowFault, TypedBatch
from core.rounds.folder import PAIRS_FILE, TEXT_FILE
from core.rounds.manifest import QUARANTINE_FILE
from core.schemas import PAIRS, QUARANTINE, ROLLOUTS, TEXT
from core.settings import SETTINGS

_STORAGE: Final = SETTINGS["storage"]
_REPEATING: Final = (
    "origin", "judge_id", "arm", "slice", "cluster", "choice", "source", "file", "part", "code", "field", "expected", "policy", "grader", "fault",
    "finish_reason",
)
"""Columns that repeat few values: written with a dictionary. Ids and texts do not repeat, and a dictionary of them is waste."""


class RowGroupWriter:
    """Writes batches of one schema as row groups of exactly ``group_rows`` rows. The last one may be smaller, and so is a
    group whose rows pass ``batch_bytes`` together, so that memory stays bounded whatever the length of the texts."""

    def __init__(self, path: Path, schema: pa.Schema, group_rows: int) -> None:
        self._schema, self._group_rows = schema, group_rows
        self._writer = pq.ParquetWriter(
            path, schema, compression=_STORAGE["parquet_compression"], compression_level=_STORAGE["parquet_compression_level"],
            use_dictionary=[name for name in schema.names if name in _REPEATING],
            write_statistics=[field.name for field in schema if field.type != pa.string()],
        )
        self._clear()
        self.rows = 0

    def _clear(self) -> None:
        self._held: list[pa.RecordBatch] = []
        self._held_rows = self._held_bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows; full row groups go to the file."""
        self._held.append(batch)
        self._held_rows += batch.num_rows
        self._held_bytes += batch.nbytes
        self.rows += batch.num_rows
        large = self._held_bytes >= _STORAGE["batch_bytes"]
        if self._held_rows < self._group_rows and not large:
            return
        table = pa.Table.from_batches(self._held, schema=self._schema)
        whole = self._held_rows if large else self._held_rows - self._held_rows % self._group_rows
        self._writer.write_table(table.slice(0, whole), row_group_size=self._group_rows)
        self._clear()
        # copied, so that a small rest does not keep a large batch in memory
        rest = table.slice(whole).combine_chunks()
        self._held, self._held_rows, self._held_bytes = rest.to_batches(), rest.num_rows, rest.nbytes

    def close(self) -> None:
        """Write the rest and the footer."""
        if self._held_rows:
            self._writer.write_table(pa.Table.from_batches(self._held, schema=self._schema), row_group_size=self._group_rows)
        self._clear()
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close() if kind is None else self._writer.close()


def write_table(path: Path, table: pa.Table) -> int:
    """Write a small part whole; its rows are returned."""
    with RowGroupWriter(path, table.schema, _STORAGE["narrow_row_group"]) as writer:
        for batch in table.to_batches():
            writer.write(batch)
    return int(table.num_rows)


class RolloutsWriter:
    """Writes rollouts.parquet as its rows come, each with its ``ordinal``."""

    def __init__(self, path: Path) -> None:
        self._writer = RowGroupWriter(path, ROLLOUTS, _STORAGE["text_row_group"])

    @property
    def rows(self) -> int:
        return self._writer.rows

    def write(self, batch: TypedBatch) -> None:
        """Add the rows of a batch; ordinals go on from the last one."""
        count = batch.rows.num_rows
        made = {"ordinal": _ordinals(self.rows, count), "file": pa.repeat(batch.file, count), "line": batch.lines}
        self._writer.write(_batch(ROLLOUTS, batch.rows, made))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._writer.__exit__(kind, error, trace)


class PairsWriter:
    """Writes pairs.parquet and text.parquet side by side: same rows, same order, one ``ordinal``."""

    def __init__(self, folder: Path) -> None:
        self._narrow = RowGroupWriter(folder / PAIRS_FILE, PAIRS, _STORAGE["narrow_row_group"])
        self._text = RowGroupWriter(folder / TEXT_FILE, TEXT, _STORAGE["text_row_group"])

    @property
    def rows(self) -> int:
        return self._narrow.rows

    def write(self, batch: TypedBatch) -> None:
        """Add the typed rows of a batch; ordinals go on from the last one."""
        rows = batch.rows
        made = {
            "ordinal": _ordinals(self.rows, rows.num_rows), "file": pa.repeat(batch.file, rows.num_rows), "line": batch.lines,
        }
        self._narrow.write(_batch(PAIRS, rows, made))
        self._text.write(_batch(TEXT, rows, made))

    def write_aligned(self, narrow: pa.RecordBatch, text: pa.RecordBatch) -> None:
        """Add rows that were written before, with new ordinals."""
        made = {"ordinal": _ordinals(self.rows, narrow.num_rows)}
        self._narrow.write(_batch(PAIRS, narrow, made))
        self._text.write(_batch(TEXT, text, made))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._narrow.__exit__(kind, error, trace)
        self._text.__exit__(kind, error, trace)


def _ordinals(start: int, rows: int) -> pa.Array:
    return pa.array(np.arange(start, start + rows))


def _batch(schema: pa.Schema, rows: pa.RecordBatch, made: dict[str, pa.Array]) -> pa.RecordBatch:
    return pa.record_batch([made[name] if name in made else rows.column(name) for name in schema.names], schema=schema)


class QuarantineWriter:
    """Writes quarantine.parquet: one row for each input row of the pairs that could not be typed."""

    def __init__(self, folder: Path) -> None:
        self._writer = RowGroupWriter(folder / QUARANTINE_FILE, QUARANTINE, _STORAGE["text_row_group"])

    @property
    def rows(self) -> int:
        return self._writer.rows

    def write(self, part: str, file: str, faults: tuple[RowFault, ...]) -> None:
        """Add the faults of a batch."""
        if faults:
            rows = [
                {
                    "part": part, "file": file, "line": fault.line, "field": fault.field, "code": fault.code, "expected": fault.expected,
                    "raw": fault.raw,
                }
                for fault in faults
            ]
            self._writer.write(pa.RecordBatch.from_pylist(rows, schema=QUARANTINE))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._writer.__exit__(kind, error, trace)
