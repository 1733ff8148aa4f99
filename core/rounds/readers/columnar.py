"""Parquet and Arrow tables, read in batches whose size follows the size of the rows, so that memory stays bounded.

``.arrow`` and ``.feather`` are Arrow IPC, as a file or as a stream. What an Arrow file says is validated in full before it is used
(an offset that lies would be read out of memory). The "line" of a row is its number in the file, counted from 1.
"""
from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import RoundError, Where
from core.rounds.arrow_json import holds_json, json_value, refuse_unkeepable
from core.rounds.columns import CellFault, Column, TypedBatch
from core.rounds.folder import bounded_rows
from core.rounds.note import Note
from core.rounds.readers.contents import name_parts
from core.rounds.readers.expansion import fitting, longest_value, refuse_shared_layouts, row_too_large
from core.rounds.readers.ipc_sizes import unpacked_total
from core.rounds.readers.packed import seekable, too_much, unpacked_limit
from core.rounds.typing_arrow import NARROW_FLOATS, is_list, type_batches
from core.rounds.typing_rows import RawRow
from core.settings import SETTINGS

_PARQUET: Final = ".parquet"
ARROW_SUFFIXES: Final = (".arrow", ".feather")
SUFFIXES: Final = (_PARQUET, *ARROW_SUFFIXES)
_FILE_MAGIC: Final = b"ARROW1\x00\x00"
_END_MAGIC: Final = _FILE_MAGIC.rstrip(b"\x00")
_ROWS: Final[int] = SETTINGS["storage"]["batch_rows"]
_BYTES: Final[int] = SETTINGS["storage"]["batch_bytes"]
_LIMITS: Final = SETTINGS["packed"]


@dataclass(frozen=True, slots=True)
class Batches:
    """An opened table: its schema, its rows as batches, and how many there are in all (None where only the end tells). JSON text is of
    its own type in the schema, and may be plain text in the batches."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    rows: int | None


def typed(path: Path, file: str, columns: Sequence[Column], notes: list[Note]) -> Iterator[TypedBatch]:
    """Typed batches of a Parquet or Arrow table."""
    with opened_table(path, file) as table:
        yield from type_batches(file, columns, table.schema, table.batches)


def items(path: Path, file: str, notes: list[Note]) -> list[RawRow]:
    """The holdout items of a table, one a row: every column is a key, a null is null. Numbers must be integers."""
    with opened_table(path, file) as table:
        for field in table.schema:
            _check_item_column(field, file)
        try:
            rows = [row for batch in table.batches for row in batch.to_pylist()]
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
    if pa.types.is_floating(kind) or pa.types.is_struct(kind) or holds_json(kind):
        raise RoundError(
            "ambiguous_number" if pa.types.is_floating(kind) else "unkeepable_column", expected="text, integers or flags in a holdout",
            got=f"the type {field.type}", remedy="hand the holdout over as holdout.json, exactly as it was locked",
            where=Where(file, field=field.name),
        )


@contextmanager
def opened_table(path: Path, file: str) -> Iterator[Batches]:
    """A Parquet or Arrow file by its name, packed or not. Raises RoundError: ``not_parquet``, ``not_arrow``, and those of
    ``core.rounds.readers.packed``."""
    with ExitStack() as stack:
        source = stack.enter_context(seekable(path, file))
        if name_parts(path.name).suffix == _PARQUET:
            yield _parquet(stack, source, path, file)
        else:
            yield _arrow(stack, source, path, file)


def known_rows(path: Path) -> int | None:
    """The rows of a Parquet file as its footer says, or None where that is not known before the end."""
    if name_parts(path.name)[1:] != (_PARQUET, ""):
        return None
    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, ValueError):
        return None


def narrow_floats(path: Path, file: str) -> list[str]:
    """The columns of a table that are FLOAT or HALF; none where the file is no table of columns with types."""
    if name_parts(path.name).suffix not in SUFFIXES:
        return []
    with opened_table(path, file) as table:
        return [field.name for field in table.schema if field.type in NARROW_FLOATS]


def narrow_lists(path: Path, file: str) -> list[str]:
    """The columns of a table that are lists of FLOAT or HALF; none where the file is no table of columns with types."""
    if name_parts(path.name).suffix not in SUFFIXES:
        return []
    with opened_table(path, file) as table:
        return [field.name for field in table.schema if is_list(field.type) and field.type.value_type in NARROW_FLOATS]


def narrow_members(path: Path, file: str) -> set[str]:
    """The names of struct members, at any depth, that are FLOAT or HALF; none where the file is no table of columns with types."""
    if name_parts(path.name).suffix not in SUFFIXES:
        return set()
    with opened_table(path, file) as table:
        return {name for field in table.schema for name in _narrow(field)}


def _narrow(field: pa.Field) -> Iterator[str]:
    if field.type in NARROW_FLOATS:
        yield field.name
    for number in range(field.type.num_fields if pa.types.is_nested(field.type) else 0):
        yield from _narrow(field.type.field(number))


def _broken(code: str, name: str, file: str) -> RoundError:
    return RoundError(
        code, expected=f"a complete {name} file", got=f"a file that cannot be read as {name}", remedy="check that the file is whole",
        where=Where(file),
    )


def _parquet(stack: ExitStack, source: Path | IO[bytes], path: Path, file: str) -> Batches:
    def broken() -> RoundError:
        return _broken("not_parquet", "Parquet", file)

    try:
        plain = stack.enter_context(pq.ParquetFile(source, pre_buffer=False))
        schema = plain.schema
        # texts inside lists and structs stay dictionaries: how often a row names one of them is known only then; JSON text becomes a
        # dictionary only where it is read as the text that it is stored as
        table = stack.enter_context(_dictionaries(source, _text_paths(schema, nested=True)))
        flat = _text_paths(schema, nested=False)
        probe = stack.enter_context(_dictionaries(source, flat))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as problem:
        raise broken() from problem
    metadata = table.metadata
    limit = unpacked_limit(path.stat().st_size)
    if sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups)) > limit:
        raise too_much(file, limit)
    batches = fitting(_guarded(_row_groups(table, probe, flat, file), broken), file)
    return Batches(plain.schema_arrow, batches, int(metadata.num_rows))


def _dictionaries(source: Path | IO[bytes], paths: list[str]) -> pq.ParquetFile:
    return pq.ParquetFile(source, pre_buffer=False, read_dictionary=paths, arrow_extensions_enabled=False)


def _row_groups(table: pq.ParquetFile, probe: pq.ParquetFile, flat: list[str], file: str) -> Iterator[pa.RecordBatch]:
    """The batches of each row group. One value of a dictionary may stand in every row, so a batch has as few rows as the longest of
    them allow; ``probe`` reads the texts ``flat`` as dictionaries, which tells how long they are."""
    rows = bounded_rows(table.metadata, _ROWS)
    for group in range(table.metadata.num_row_groups):
        first = next(probe.iter_batches(batch_size=1, row_groups=[group], columns=flat), None) if flat else None
        longest = 0 if first is None else sum(map(longest_value, first.columns))
        if longest > _LIMITS["row_bytes"]:
            raise row_too_large(file)
        yield from table.iter_batches(batch_size=max(1, min(rows, _LIMITS["batch_bytes"] // max(1, longest))), row_groups=[group])


def _text_paths(schema: pq.ParquetSchema, *, nested: bool) -> list[str]:
    """The paths of the columns of texts and bytes, those inside lists and structs or the others."""
    columns = [schema.column(number) for number in range(len(schema))]
    return [
        column.path for column in columns
        if column.physical_type == "BYTE_ARRAY" and column.converted_type != "DECIMAL" and (column.path != column.name) == nested
    ]


def _arrow(stack: ExitStack, source: Path | IO[bytes], path: Path, file: str) -> Batches:
    def broken() -> RoundError:
        return _broken("not_arrow", "Arrow IPC", file)

    limit = unpacked_limit(path.stat().st_size)
    try:
        handle = stack.enter_context(pa.OSFile(str(source)) if isinstance(source, Path) else pa.PythonFile(source, mode="r"))
        # a file is a stream between its magic and its footer; the footer is not asked, so that what is measured is what is read
        start = len(_FILE_MAGIC) if handle.read(len(_FILE_MAGIC)) == _FILE_MAGIC else 0
        handle.seek(start)
        unpacked, ended = unpacked_total(handle, limit)
        if start:
            handle.seek(handle.size() - len(_END_MAGIC))
            ended = handle.read() == _END_MAGIC
        handle.seek(start)
        table = stack.enter_context(pa.ipc.open_stream(handle))
    except (pa.ArrowException, OSError, struct.error) as problem:
        raise broken() from problem
    if unpacked > limit:
        raise too_much(file, limit)
    if not ended:
        raise RoundError(
            "cut_table", expected="an Arrow file with its footer, or a stream with its end mark", got="one that stops before it",
            remedy="hand over the whole file, from a writer that was closed; nothing of it was loaded", where=Where(file),
        )
    refuse_shared_layouts(table.schema, file)
    return Batches(table.schema, fitting(_slices(_guarded(iter(table), broken), broken), file), None)


def _guarded(batches: Iterator[pa.RecordBatch], broken: Any) -> Iterator[pa.RecordBatch]:
    while True:
        try:
            batch = next(batches, None)
        except (pa.ArrowException, OSError) as problem:
            raise broken() from problem
        if batch is None:
            return
        yield batch


def _slices(batches: Iterator[pa.RecordBatch], broken: Any) -> Iterator[pa.RecordBatch]:
    """The batches of an Arrow file, validated and cut to the size that others have: a writer may put all rows into one."""
    for batch in batches:
        try:
            batch.validate(full=True)
        except pa.ArrowException as problem:
            raise broken() from problem
        rows = max(1, min(_ROWS, _BYTES * batch.num_rows // max(1, batch.nbytes)))
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)
