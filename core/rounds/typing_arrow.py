"""Arrow batches to typed batches, column by column, and the rows that cannot be typed.

The same rules as for JSON rows, so that one content gives one round whatever the file format. A DOUBLE column passes
as it is (NaN and infinity are typed, and invalid later); FLOAT and HALF columns are refused by name, because -0.1 as a
float32 is -0.10000000149 and falls below its bound. Only message lists and unknown columns are looked at row by row.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.errors import RoundError, Where
from core.rounds.arrow_faults import Faults, Mask
from core.rounds.arrow_json import is_json, refuse_unkeepable
from core.rounds.arrow_objects import Kinds, extra_objects, message_sides
from core.rounds.columns import ID_CHARACTERS, MAX_SAFE_INTEGER, SIDES, Column, Kind, TypedBatch, names_of, stored_fields

NARROW_FLOATS: Final = (pa.float16(), pa.float32())
"""Types that hold another number than the double that was measured."""


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds text (plain, large, view, or dictionary-encoded)."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_list(kind: pa.DataType) -> bool:
    """Whether an Arrow type is a list of some layout."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def check_schema(schema: pa.Schema, columns: Sequence[Column], file: str) -> None:
    """Refuse what no row could repair: a column twice, FLOAT where a double belongs, a type that ``extra`` cannot keep."""
    for name in schema.names:
        if schema.names.count(name) > 1:
            raise RoundError(
                "duplicate_column", expected="each column once", got=f"{name!r} twice", remedy="write it once", where=Where(file, field=name),
            )
    known = {column.name: column for column in columns}
    for field in schema:
        column = known.get(field.name)
        if column is None:
            refuse_unkeepable(field, file)
        elif column.kind is Kind.DOUBLE and field.type in NARROW_FLOATS:
            raise RoundError(
                "float_column", expected="a DOUBLE column", got=f"{field.type}", where=Where(file, field=field.name),
                remedy="write DOUBLE: a float32 is another number than the one that was measured",
            )
        elif column.kind is Kind.SIDE and _may_hold_messages(field.type):
            refuse_unkeepable(field, file)


def _may_hold_messages(kind: pa.DataType) -> bool:
    return is_list(kind) or is_json(kind)


class ArrowTyper:
    """Types the batches of one Parquet file."""

    def __init__(self, file: str, columns: Sequence[Column], schema: pa.Schema) -> None:
        check_schema(schema, columns, file)
        self._file, self._columns = file, columns
        self._fields = stored_fields(columns)
        known = set(names_of(columns))
        self._extra = [name for name in schema.names if name not in known]
        self._sided = any(column.kind is Kind.SIDE for column in columns)
        self._kinds: dict[str, pa.DataType] = {field.name: field.type for field in schema}
        self._messages = self._sided and any(_may_hold_messages(self._kinds[name]) for name in SIDES if name in self._kinds)

    def type_batch(self, batch: pa.RecordBatch, first_line: int) -> TypedBatch:
        """Type one batch whose first row has number ``first_line``."""
        faults = Faults(batch, first_line)
        kinds = self._kinds
        arrays: dict[str, pa.Array] = {}
        for column in self._columns:
            if column.kind is not Kind.SIDE:
                arrays[column.name] = _typed_column(batch, column, kinds, faults)
            elif self._messages:
                if column.name == SIDES[0]:
                    arrays |= message_sides(batch, kinds, faults)
            else:
                arrays[column.name] = _typed_column(batch, column, kinds, faults)
                arrays[f"{column.name}_messages"] = pa.nulls(batch.num_rows, pa.string())
        arrays["extra"] = extra_objects(batch, self._extra, kinds, faults)
        rows = pa.record_batch([arrays[field.name] for field in self._fields], schema=pa.schema(self._fields))
        lines = pa.array(np.arange(first_line, first_line + batch.num_rows))
        if faults.any:
            keep = pa.array(~faults.bad)
            rows, lines = rows.filter(keep), lines.filter(keep)
        return TypedBatch(self._file, rows, lines, faults.rows(), frozenset(self._extra))


def _mask(array: pa.Array) -> Mask:
    """A boolean Arrow array as a mask; null counts as false."""
    filled = array.fill_null(False) if array.null_count else array
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _typed_column(batch: pa.RecordBatch, column: Column, kinds: Kinds, faults: Faults) -> pa.Array:
    rows = batch.num_rows
    target = stored_type(column)
    if column.name not in batch.schema.names:
        if column.required:
            faults.mark_missing(np.ones(rows, dtype=np.bool_), column, "nothing")
        return _with_default(pa.nulls(rows, target), column)
    array = batch.column(column.name)
    if not column.nullable:
        faults.mark_missing(_mask(array.is_null()), column, "null")
    # the schema tells JSON text from text, and a flag of eight bits from an integer: its batches need not
    typed = None if isinstance(kinds[column.name], pa.BaseExtensionType) else _typed_array(array, column, faults)
    if typed is None:
        faults.mark(_mask(array.is_valid()), column, column.code)
        typed = pa.nulls(rows, target)
    return _with_default(typed, column)


def stored_type(column: Column) -> pa.DataType:
    """The Arrow type that a column is stored with."""
    return stored_fields([column])[0].type


def _with_default(array: pa.Array, column: Column) -> pa.Array:
    return array if column.default is None or not array.null_count else array.fill_null(column.default)


def _typed_array(array: pa.Array, column: Column, faults: Faults) -> pa.Array | None:
    """The array in its stored type with its values checked, or None when its Arrow type is not the column's kind."""
    kind = array.type
    if pa.types.is_null(kind):
        return pa.nulls(len(array), stored_type(column))
    if column.kind is Kind.FLAG:
        return array if pa.types.is_boolean(kind) else None
    if column.kind is Kind.DOUBLE and pa.types.is_float64(kind):
        return array
    if column.kind in (Kind.DOUBLE, Kind.INTEGER):
        return _typed_integers(array, column, faults) if pa.types.is_integer(kind) else None
    return _typed_text(array, column, faults) if is_text(kind) else None


def _typed_integers(array: pa.Array, column: Column, faults: Faults) -> pa.Array:
    limit = pa.scalar(MAX_SAFE_INTEGER, pa.uint64() if array.type == pa.uint64() else pa.int64())
    beyond = pc.greater(array, limit)
    if pa.types.is_signed_integer(array.type):
        beyond = pc.or_(beyond, pc.less(array, pa.scalar(-MAX_SAFE_INTEGER, pa.int64())))
    out = _mask(beyond)
    if out.any():
        faults.mark(out, column, "integer_out_of_range", "an integer of at most 2^53-1 in size")
        array = pc.if_else(pa.array(out), pa.scalar(None, array.type), array)
    return array.cast(stored_type(column))


def _typed_text(array: pa.Array, column: Column, faults: Faults) -> pa.Array:
    text = array.cast(pa.string()) if array.type != pa.string() else array
    text = _valid_text(text, column, faults)
    if column.choices:
        faults.mark(_mask(pc.invert(pc.is_in(text, pa.array(column.choices)))) & _mask(text.is_valid()), column, "unknown_value")
    if column.kind is Kind.ID:
        faults.mark(_mask(pc.equal(pc.binary_length(text), 0)), column, column.code)
        # characters are never more than bytes, so the exact count is needed only beyond the limit
        if pc.greater(pc.max(pc.binary_length(text)), ID_CHARACTERS).as_py():
            faults.mark(_mask(pc.greater(pc.utf8_length(text), ID_CHARACTERS)), column, "id_too_long", f"at most {ID_CHARACTERS} characters")
    return text


def _valid_text(text: pa.Array, column: Column, faults: Faults) -> pa.Array:
    """Text whose bytes are UTF-8; other values are marked and become null (Parquet does not check them)."""
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        raw = text.cast(pa.binary())
        bad = np.array([not _is_utf8(value) for value in raw.to_pylist()], dtype=np.bool_)
        faults.mark(bad, column, "invalid_utf8", "UTF-8 text")
        return pc.if_else(pa.array(bad), pa.scalar(None, pa.binary()), raw).cast(pa.string())
    return text


def _is_utf8(value: bytes | None) -> bool:
    try:
        return value is None or value.decode("utf-8") is not None
    except UnicodeDecodeError:
        return False


def type_batches(file: str, columns: Sequence[Column], schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[TypedBatch]:
    """Typed batches of a Parquet file; at least one, so that an empty table is a table."""
    typer = ArrowTyper(file, columns, schema)
    line = 1
    for batch in batches:
        yield typer.type_batch(batch, line)
        line += batch.num_rows
    if line == 1:
        yield typer.type_batch(pa.RecordBatch.from_pylist([], schema=schema), line)
