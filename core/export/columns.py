"""What the columns of a dataset turned out to hold, and the types that follow: for Parquet, for the card, for Croissant.

Columnar files make one struct of all objects in a column, so that a tool call gains the other calls' arguments as nulls. Here a
column of objects becomes a struct only where every object has the same members and all of them are text (or null), as plain chat
messages do. Everything else becomes JSON text in Arrow's ``arrow.json`` type, which ``datasets`` (4.7 or later) reads as its
``Json`` feature and hands out as the objects they were; any other reader sees the JSON text. A list stays a list.
"""
from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

NULL, TEXT, FLAG, INTEGER, REAL, JSON = "null", "text", "flag", "integer", "real", "json"


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose items are of one kind."""

    item: Kind


@dataclass(frozen=True, slots=True)
class Record:
    """An object with these members, each of them text or null."""

    names: tuple[str, ...]


Kind = str | ListOf | Record
_SCALARS: Final[Mapping[str, pa.DataType]] = {
    NULL: pa.string(), TEXT: pa.string(), FLAG: pa.bool_(), INTEGER: pa.int64(), REAL: pa.float64(), JSON: pa.json_(),
}
_FEATURES: Final = {NULL: "string", TEXT: "string", FLAG: "bool", INTEGER: "int64", REAL: "float64", JSON: "json"}
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What a member of a struct may be called; an object with another name in it becomes JSON."""


def kind_of(value: Any) -> Kind:
    """The kind of one JSON value."""
    if value is None:
        return NULL
    if isinstance(value, str):
        return TEXT
    if isinstance(value, bool):
        return FLAG
    if isinstance(value, int):
        return INTEGER
    if isinstance(value, float):
        return REAL
    if isinstance(value, list):
        return ListOf(_joined(kind_of(item) for item in value))
    plain = all(_NAME.fullmatch(name) and (item is None or isinstance(item, str)) for name, item in value.items())
    return Record(tuple(sorted(value))) if plain and value else JSON


def _joined(kinds: Iterable[Kind]) -> Kind:
    found: Kind = NULL
    for kind in kinds:
        found = joined(found, kind)
        if found == JSON:
            break
    return found


def joined(one: Kind, other: Kind) -> Kind:
    """The kind that holds values of both without changing any."""
    if one == other or other == NULL:
        return one
    if one == NULL:
        return other
    if isinstance(one, ListOf) and isinstance(other, ListOf):
        return ListOf(joined(one.item, other.item))
    return JSON


@dataclass
class Observed:
    """What the rows of a dataset hold, collected while they are written. ``has_reals``: a number with a point inside an object, which some
    readers shorten; ``absent``: whether a row lacks a column that another has; ``texts``: columns in which some row has a text."""

    kinds: dict[str, Kind] = field(default_factory=dict)
    rows: int = 0
    absent: bool = False
    has_reals: bool = False
    texts: set[str] = field(default_factory=set)

    def add(self, row: Mapping[str, Any]) -> None:
        """Look at one row."""
        if self.rows and row.keys() != self.kinds.keys():
            self.absent = True
        for name, value in row.items():
            kind = kind_of(value)
            if kind == TEXT:
                self.texts.add(name)
            self.kinds[name] = joined(self.kinds.get(name, NULL), kind)
            self.has_reals = self.has_reals or (holds_json(kind) and _holds_real(value))
        self.rows += 1

    def fill(self, standing: Mapping[str, Any]) -> None:
        """Columns that get a value where a row has none hold that one too."""
        for name, value in standing.items():
            if name in self.kinds:
                self.kinds[name] = joined(self.kinds[name], kind_of(value))

    def ordered(self, columns: Iterable[str]) -> dict[str, Kind]:
        """The kinds in the order of ``columns``, then whatever was added."""
        known = [name for name in columns if name in self.kinds]
        return {name: self.kinds[name] for name in [*known, *sorted(set(self.kinds) - set(known))]}


def _holds_real(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_real, value.values()))
    return any(map(_holds_real, value)) if isinstance(value, list) else isinstance(value, float)


def arrow_type(kind: Kind) -> pa.DataType:
    """The Arrow type of a kind."""
    if isinstance(kind, ListOf):
        return pa.list_(arrow_type(kind.item))
    if isinstance(kind, Record):
        return pa.struct([pa.field(name, pa.string()) for name in kind.names])
    return _SCALARS[kind]


def feature(name: str, kind: Kind) -> dict[str, Any]:
    """The entry of a column in a card's ``dataset_info.features``, as ``datasets`` writes it."""
    if isinstance(kind, ListOf):
        inner = kind.item
        if isinstance(inner, Record):
            return {"name": name, "list": [feature(item, TEXT) for item in inner.names]}
        if isinstance(inner, ListOf):
            return {"name": name, "list": {key: value for key, value in feature("", inner).items() if key != "name"}}
        return {"name": name, "list": _FEATURES[inner]}
    if isinstance(kind, Record):
        return {"name": name, "struct": [feature(item, TEXT) for item in kind.names]}
    return {"name": name, "dtype": _FEATURES[kind]}


def array_of(values: list[Any], kind: Kind) -> pa.Array:
    """Values of one column as an Arrow array: objects of a JSON kind become JSON text."""
    if not holds_json(kind):
        return pa.array(values, arrow_type(kind))
    if isinstance(kind, ListOf):
        offsets, items = [0], list[Any]()
        for value in values:
            items += value or []
            offsets.append(len(items))
        absent = [value is None for value in values]
        mask = pa.array(absent) if any(absent) else None
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), array_of(items, kind.item), mask=mask)
    texts = pa.array([None if value is None else json.dumps(value, ensure_ascii=False, allow_nan=False) for value in values], pa.string())
    return pa.ExtensionArray.from_storage(pa.json_(), texts)


def holds_json(kind: Kind) -> bool:
    """Whether a column of this kind holds JSON text."""
    return holds_json(kind.item) if isinstance(kind, ListOf) else kind == JSON
