"""Rows of JSON objects to typed Arrow batches, and the rows that cannot be typed.

Exact types only: a boolean is no number, ``10.0`` is no integer, a number is no id. Of several faults in a row the
first in column order is named.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa

from core.canonical import canonical_bytes
from core.rounds.columns import ID_CHARACTERS, SIDES, CellFault, Column, Kind, RowFault, TypedBatch, names_of, stored_fields
from core.rounds.messages import read_sides
from core.rounds.strict import described
from core.settings import SETTINGS
from core.text import shortened

_BATCH_ROWS: Final[int] = SETTINGS["storage"]["batch_rows"]
_BATCH_BYTES: Final[int] = SETTINGS["storage"]["batch_bytes"]
_RAW_CHARACTERS: Final[int] = SETTINGS["text"]["raw_characters"]


class RawRow(NamedTuple):
    """A row as a reader hands it over: its line, its JSON value (or why there is none), and its text."""

    line: int
    value: Any
    raw: str


def raw_text(text: str) -> str:
    """A row as it came, cut to the length that quarantine keeps."""
    return shortened(text, _RAW_CHARACTERS)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_ACCEPTS: Final[dict[Kind, Callable[[Any], bool]]] = {
    Kind.ID: lambda value: isinstance(value, str) and bool(value),
    Kind.TEXT: lambda value: isinstance(value, str),
    Kind.CHOICE: lambda value: isinstance(value, str),
    Kind.DOUBLE: _is_number,
    Kind.INTEGER: lambda value: type(value) is int,
    Kind.FLAG: lambda value: isinstance(value, bool),
}


def _cell(column: Column, row: dict[str, Any]) -> Any:
    """The typed value of a column in a row, or raise CellFault."""
    value = row.get(column.name)
    if value is None:
        if column.name not in row:
            if column.required:
                raise CellFault(column.name, "missing_field", column.expected, "nothing")
        elif not column.nullable:
            raise CellFault(column.name, "missing_field", column.expected, "null")
        return column.default
    if not _ACCEPTS[column.kind](value):
        raise CellFault(column.name, column.code, column.expected, described(value))
    if column.kind is Kind.ID and len(value) > ID_CHARACTERS:
        raise CellFault(column.name, "id_too_long", f"at most {ID_CHARACTERS} characters", f"{len(value)}")
    if column.choices and value not in column.choices:
        raise CellFault(column.name, "unknown_value", column.expected, described(value))
    return float(value) if column.kind is Kind.DOUBLE else value


def kept_extra(extra: dict[str, Any]) -> str:
    """The RFC 8785 object of the columns that no part knows. Raises CellFault for a number that JSON has not."""
    for name, value in extra.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise CellFault(name, "non_finite_number", "a finite number", str(value))
    return canonical_bytes(extra).decode("utf-8")


class RowTyper:
    """Collects typed rows of one part and hands them out as batches."""

    def __init__(self, file: str, columns: Sequence[Column]) -> None:
        self._file, self._columns = file, columns
        self._names = frozenset(names_of(columns))
        self._sided = any(column.kind is Kind.SIDE for column in columns)
        self._schema = pa.schema(stored_fields(columns))
        self._clear()

    def _clear(self) -> None:
        self._cells: dict[str, list[Any]] = {name: [] for name in self._schema.names}
        self._lines: list[int] = []
        self._faults: list[RowFault] = []
        self._extra_names: set[str] = set()
        self._bytes = 0

    @property
    def full(self) -> bool:
        """Whether the rows so far should leave as a batch."""
        return len(self._lines) + len(self._faults) >= _BATCH_ROWS or self._bytes >= _BATCH_BYTES

    def add(self, row: RawRow) -> None:
        """Type one row; a row that cannot be typed becomes a fault."""
        self._bytes += len(row.raw)
        try:
            cells = self._typed(row)
        except CellFault as fault:
            self._faults.append(RowFault(row.line, fault.field, fault.code, fault.expected, fault.got, raw_text(row.raw)))
            return
        for name, value in cells.items():
            self._cells[name].append(value)
        self._lines.append(row.line)

    def _typed(self, row: RawRow) -> dict[str, Any]:
        value = row.value
        if isinstance(value, CellFault):
            raise value
        if not isinstance(value, dict):
            raise CellFault("", "wrong_type", "one JSON object", described(value))
        cells: dict[str, Any] = {}
        sides_read = not self._sided
        for column in self._columns:
            if column.kind is not Kind.SIDE:
                cells[column.name] = _cell(column, value)
            elif not sides_read:
                sides_read = True
                for name, side in zip(SIDES, read_sides(value), strict=True):
                    cells[name], cells[f"{name}_messages"] = side.text, side.messages
        extra = {name: item for name, item in value.items() if name not in self._names}
        self._extra_names.update(extra)
        cells["extra"] = kept_extra(extra) if extra else None
        return cells

    def batch(self) -> TypedBatch:
        """The rows since the last call."""
        arrays = [pa.array(self._cells[field.name], field.type) for field in self._schema]
        batch = TypedBatch(
            self._file, pa.record_batch(arrays, schema=self._schema), pa.array(self._lines, pa.int64()), tuple(self._faults),
            frozenset(self._extra_names),
        )
        self._clear()
        return batch


def type_rows(file: str, columns: Sequence[Column], rows: Iterable[RawRow]) -> Iterator[TypedBatch]:
    """Typed batches of a part's rows; at least one batch, so that an empty table is a table."""
    typer = RowTyper(file, columns)
    for row in rows:
        typer.add(row)
        if typer.full:
            yield typer.batch()
    yield typer.batch()
