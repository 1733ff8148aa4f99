"""Parquet tables, read in batches whose size follows the size of the rows, so that memory stays bounded.

The "line" of a row is its number in the file, counted from 1.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import RoundError, Where
from core.rounds.arrow_json import json_value, refuse_unkeepable
from core.rounds.columns import CellFault, Column, TypedBatch
from core.rounds.folder import bounded_rows
from core.rounds.notes import Note
from core.rounds.typing_arrow import is_list, type_batches
from core.rounds.typing_rows import RawRow
from core.settings import SETTINGS


def typed(path: Path, file: str, columns: Sequence[Column], notes: list[Note]) -> Iterator[TypedBatch]:
    """Typed batches of a Parquet table."""
    with _opened(path, file) as source:
        yield from type_batches(file, columns, source.schema_arrow, _batches(source, file))


def items(path: Path, file: str, notes: list[Note]) -> list[RawRow]:
    """The holdout items of a Parquet file, one a row: every column is a key, a null is null. Numbers must be integers."""
    with _opened(path, file) as source:
        for field in source.schema_arrow:
            _check_item_column(field, file)
        try:
            rows = [row for batch in _batches(source, file) for row in batch.to_pylist()]
        except UnicodeDecodeError as problem:
            raise RoundError("invalid_utf8", expected="UTF-8 text", got="other bytes", remedy="write the file again", where=Where(file)) from problem
    return [RawRow(line, _item(row), "") for line, row in enumerate(rows, start=1)]


def _item(row: dict[str, object]) -> object:
    try:
        return json_value(row)
    except CellFault as fault:
        return CellFault(fault.field.removeprefix("."), fault.code, fault.expected, fault.got)


def _check_item_column(field: pa.Field, file: str) -> None:
    refuse_unkeepable(field, file)
    kind = field.type
    while is_list(kind):
        kind = kind.value_type
    if pa.types.is_floating(kind) or pa.types.is_struct(kind):
        raise RoundError(
            "ambiguous_number" if pa.types.is_floating(kind) else "unkeepable_column", expected="text, integers or flags in a holdout",
            got=f"the type {field.type}", remedy="hand the holdout over as holdout.json, exactly as it was locked",
            where=Where(file, field=field.name),
        )


def _not_parquet(file: str) -> RoundError:
    return RoundError(
        "not_parquet", expected="a complete Parquet file", got="a file that cannot be read as Parquet", remedy="check that the file is whole",
        where=Where(file),
    )


def _opened(path: Path, file: str) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, pre_buffer=False)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as problem:
        raise _not_parquet(file) from problem


def _batches(source: pq.ParquetFile, file: str) -> Iterator[pa.RecordBatch]:
    batches = source.iter_batches(batch_size=bounded_rows(source.metadata, SETTINGS["storage"]["batch_rows"]))
    while True:
        try:
            batch = next(batches, None)
        except (pa.ArrowException, OSError) as problem:
            raise _not_parquet(file) from problem
        if batch is None:
            return
        yield batch
