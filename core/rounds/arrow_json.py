"""Arrow values as JSON values, and the Arrow types that have none.

A column that no part knows is kept as JSON in ``extra``; a type that JSON cannot say exactly (time, bytes, decimal,
map) is refused by name rather than turned into something near it. JSON text of Arrow's ``arrow.json`` type is the value that it
spells, wherever in a column it stands, and is read as strictly as a line of JSON: a duplicate key, NaN or an integer beyond 2^53-1 is a
fault of its row.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from core.canonical import parse_json
from core.errors import RoundError, Where
from core.rounds.columns import MAX_SAFE_INTEGER, CellFault
from core.rounds.strict import described

_STRUCTURES: Final = ("arguments",)
_WORDS: Final = {"arguments": "tool-call arguments", "parameters": "the parameters of a tool"}


def refuse_unkeepable(field: pa.Field, file: str, *, structures: Sequence[str] = _STRUCTURES) -> None:
    """Refuse a column whose values JSON cannot say exactly, and a struct under one of the names ``structures``, such as tool-call
    arguments: its nulls are invented."""
    problem = _problem(field.type, field.name, structures)
    if problem is not None:
        code, got, remedy = problem
        raise RoundError(
            code, expected="text, numbers, flags, or lists and structs of them", got=got, remedy=remedy, where=Where(file, field=field.name),
        )


def _problem(kind: pa.DataType, name: str, structures: Sequence[str]) -> tuple[str, str, str] | None:
    types = pa.types
    if types.is_dictionary(kind):
        return _problem(kind.value_type, name, structures)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _problem(kind.value_type, name, structures)
    if types.is_struct(kind):
        if name in structures:
            return (
                f"struct_{name}", f"{_WORDS[name]} as a struct, which takes its nulls from other rows",
                f"write {name} as a JSON string, or hand the table over as JSONL; "
                "in a foreign file of pairs struct_nulls=absent declares such nulls to be absent keys",
            )
        return next((found for child in kind if (found := _problem(child.type, child.name, structures)) is not None), None)
    if is_json(kind):
        return None
    plain = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    if plain or types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind):
        return None
    return "unkeepable_column", f"the type {kind}", "write the column as text, or leave it out"


def json_value(value: Any, place: str = "") -> Any:
    """A Python value out of Arrow as a JSON value. Raises CellFault where JSON has none (NaN, infinity, beyond 2^53-1)."""
    if isinstance(value, float) and not math.isfinite(value):
        raise CellFault(place, "non_finite_number", "a finite number", str(value))
    if isinstance(value, int) and abs(value) > MAX_SAFE_INTEGER:
        raise CellFault(place, "integer_out_of_range", "an integer of at most 2^53-1 in size", described(value))
    if isinstance(value, dict):
        return {name: json_value(item, f"{place}.{name}") for name, item in value.items()}
    if isinstance(value, list):
        return [json_value(item, f"{place}[{position}]") for position, item in enumerate(value)]
    return value


def is_json(kind: pa.DataType) -> bool:
    """Whether an Arrow type is JSON text (``arrow.json``, as ``datasets``, DuckDB and this project's own exports write it)."""
    return isinstance(_plain(kind), pa.JsonType)


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def holds_json(kind: pa.DataType) -> bool:
    """Whether an Arrow type is JSON text, or has some inside its lists and structs."""
    kind = _plain(kind)
    if is_json(kind):
        return True
    return any(holds_json(kind.field(number).type) for number in range(kind.num_fields)) if pa.types.is_nested(kind) else False


def without_json_text(value: Any, kind: pa.DataType, place: str) -> Any:
    """A Python value out of Arrow with each JSON text replaced by the value that it spells. Raises CellFault with the place inside it."""
    if value is None or not holds_json(kind):
        return value
    kind = _plain(kind)
    if is_json(kind):
        return _spelled(value, place)
    if isinstance(value, list):
        return [without_json_text(item, kind.value_type, f"{place}[{position}]") for position, item in enumerate(value)]
    children = {child.name: child.type for child in kind}
    return {name: without_json_text(item, children[name], f"{place}.{name}") for name, item in value.items()}


def _spelled(text: str, place: str) -> Any:
    try:
        return parse_json(text)
    except RoundError as error:
        inner = error.where.field if error.where is not None and error.where.field else ""
        joined = f"{place}{inner if inner.startswith('[') or not inner else f'.{inner}'}"
        raise CellFault(joined, error.code, error.expected, error.got) from None
