"""From scored batches to settled ones: what the duplicate step decided is written into the rows.

Scored batches wait in a temporary file while the whole round is ranked; only keys, losses and ids of the candidates stay in
memory. Then they are read back once, in order, and given their final state, rank, reasons and the pairs they duplicate.
"""
from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.grid import DEDUP_KEYS
from core.pairs.columns import Flags, flags, replaced
from core.pairs.dedup import Resolution, Rows
from core.schemas import DUPLICATE_COLUMNS, SCORED

CANDIDATES: Final = pa.schema([SCORED.field(name) for name in ("pair_id", "loss_quanta", "loss_quanta_text", *DEDUP_KEYS)])
"""What the duplicate step has to see of a candidate."""
_DUPLICATE: Final = "duplicate"


class ScoredSpill:
    """A temporary file of scored batches, without a name where the system allows it; gone when the block ends."""

    def __init__(self, folder: Path | None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed by __exit__)
        self._writer = pa.ipc.new_stream(self._file, SCORED)

    def write(self, batch: pa.RecordBatch) -> None:
        """Add a batch."""
        self._writer.write_batch(batch)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The batches in the order in which they came; nothing can be added afterwards."""
        self._writer.close()
        self._file.seek(0)
        with pa.ipc.open_stream(self._file) as reader:
            yield from reader

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()


def candidates_of(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The candidates of a scored batch, in the columns of CANDIDATES."""
    return batch.select(CANDIDATES.names).filter(pc.equal(batch["state"], "admitted"))


def settled(batches: Iterator[pa.RecordBatch], candidates: pa.Table, resolution: Resolution, rows: int) -> Iterator[pa.RecordBatch]:
    """The final rows, in batches of exactly ``rows`` (the last one may be smaller).

    ``candidates``: what ``candidates_of`` gave for all batches, in their order; ``resolution``: the outcome for them.
    """
    rank = np.full(len(candidates), -1, dtype=np.int64)
    rank[resolution.admitted] = np.arange(len(resolution.admitted))
    ids, start = candidates["pair_id"].combine_chunks(), 0
    for table in _regrouped(batches, rows):
        batch = _combined(table)
        places = np.flatnonzero(flags(pc.equal(batch["state"], "admitted")))
        end = start + len(places)
        held = {key: holder[start:end] for key, holder in resolution.holder.items()}
        yield _settled_batch(batch, places, rank[start:end], held, ids)
        start = end


def _regrouped(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    waiting = SCORED.empty_table()
    for batch in batches:
        waiting = pa.concat_tables([waiting, pa.Table.from_batches([batch])])
        while len(waiting) >= rows:
            yield waiting.slice(0, rows)
            waiting = waiting.slice(rows)
    if len(waiting):
        yield waiting


def _combined(table: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.concat_arrays(column.chunks) for column in table.columns], schema=table.schema)


def _settled_batch(batch: pa.RecordBatch, places: Rows, rank: Rows, holder: Mapping[str, Rows], ids: Any) -> pa.RecordBatch:
    duplicate = np.zeros(batch.num_rows, dtype=np.bool_)
    duplicate[places[rank < 0]] = True
    ranks = np.full(batch.num_rows, -1, dtype=np.int64)
    ranks[places] = rank
    changed = {
        "rank": pa.array(ranks, mask=ranks < 0),
        "state": pc.if_else(pa.array(duplicate), "rejected", batch["state"]),
        "primary_reason": pc.if_else(pa.array(duplicate), _DUPLICATE, batch["primary_reason"]),
        "reasons": _with_duplicate(batch["reasons"], duplicate),
    }
    for key, column in DUPLICATE_COLUMNS.items():
        if key in holder:
            changed[column] = _holders(batch[column], places, holder[key], ids)
    return pa.RecordBatch.from_arrays([changed.get(name, batch[name]) for name in SCORED.names], schema=SCORED)


def _with_duplicate(reasons: Any, duplicate: Flags) -> Any:
    """A duplicate passes all other reasons, so its list is empty before and has one entry after."""
    known = pa.concat_arrays([reasons, pa.array([[_DUPLICATE]], reasons.type)])
    return known.take(pa.array(np.where(duplicate, len(reasons), np.arange(len(reasons)))))


def _holders(column: Any, places: Rows, holder: Rows, ids: Any) -> Any:
    mask = np.zeros(len(column), dtype=np.bool_)
    mask[places[holder >= 0]] = True
    return replaced(column, mask, ids.take(pa.array(holder[holder >= 0])))
