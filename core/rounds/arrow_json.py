"""Arrow values as JSON values, and the Arrow types that have none.

A column that no part knows is kept as JSON in ``extra``; a type that JSON cannot say exactly (time, bytes, decimal,
map) is refused by name rather than turned into something near it.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

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
                f"write {name} as a JSON string, or hand the table over as JSONL",
            )
        return next((found for child in kind if (found := _problem(child.type, child.name, structures)) is not None), None)
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
