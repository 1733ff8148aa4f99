"""What of an Arrow batch passes through Python row by row: sides that are lists of messages, and the columns that no part knows."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from core.canonical import canonical_bytes
from core.rounds.arrow_faults import Faults
from core.rounds.arrow_json import json_value, without_json_text
from core.rounds.columns import SIDES, CellFault
from core.rounds.messages import Side, read_sides

Kinds = Mapping[str, pa.DataType]
"""Column -> its type as the file's schema says it."""


def message_sides(batch: pa.RecordBatch, kinds: Kinds, faults: Faults) -> dict[str, pa.Array]:
    """The three sides row by row, where at least one of them is a list of messages."""
    columns = {name: batch.column(name) for name in SIDES if name in batch.schema.names}
    cells: dict[str, list[str | None]] = {key: [] for name in SIDES for key in (name, f"{name}_messages")}
    for row in range(batch.num_rows):
        try:
            given = {name: _side_value(array, kinds[name], name, row) for name, array in columns.items()}
            sides: Sequence[Side | None] = read_sides(given)
        except CellFault as fault:
            faults.add(row, fault)
            sides = [None for _ in SIDES]
        for name, side in zip(SIDES, sides, strict=True):
            cells[name].append(None if side is None else side.text)
            cells[f"{name}_messages"].append(None if side is None else side.messages)
    return {name: pa.array(values, pa.string()) for name, values in cells.items()}


def _side_value(array: pa.Array, kind: pa.DataType, name: str, row: int) -> Any:
    try:
        value = array[row].as_py()
    except UnicodeDecodeError:
        raise CellFault(name, "invalid_utf8", "UTF-8 text", "text that is not UTF-8") from None
    value = without_json_text(_message(value), kind, name)
    return json_value(value, name) if isinstance(value, list) else value


def _message(value: Any, *, keep: str = "content") -> Any:
    """A message out of a struct: a null cannot be told from an absent key there and is left out, but for ``content``."""
    if isinstance(value, dict):
        return {name: _message(item) for name, item in value.items() if item is not None or name == keep}
    return [_message(item) for item in value] if isinstance(value, list) else value


def extra_objects(batch: pa.RecordBatch, names: list[str], kinds: Kinds, faults: Faults) -> pa.Array:
    """One RFC 8785 object of the unknown columns a row, or nulls where there are none."""
    if not names:
        return pa.nulls(batch.num_rows, pa.string())
    objects: list[str | None] = []
    for row in range(batch.num_rows):
        try:
            objects.append(canonical_bytes({name: _extra_value(batch.column(name), kinds[name], name, row) for name in names}).decode("utf-8"))
        except CellFault as fault:
            faults.add(row, fault)
            objects.append(None)
    return pa.array(objects, pa.string())


def _extra_value(array: pa.Array, kind: pa.DataType, name: str, row: int) -> Any:
    try:
        return json_value(without_json_text(array[row].as_py(), kind, name), name)
    except UnicodeDecodeError:
        raise CellFault(name, "invalid_utf8", "UTF-8 text", "text that is not UTF-8") from None
