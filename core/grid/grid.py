"""The grid: the only home of numbers that steer a decision.

A grid is one JSON document. Each key has ``value``, ``unit``, ``direction`` (min, max, none), ``bounds`` (the legal
range, inclusive, or the legal names), ``rationale`` and ``source``. Decimal values are strings, so that they become
exact rationals and never pass through a float. A loaded grid is frozen; its digest is SHA-256 over its RFC 8785 bytes.
A published grid is never edited: a change is a new version with author and reason.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.canonical import canonical_bytes, parse_json, sha256_hex
from core.errors import GridError, Where
from core.grid.document import DEFAULT_GRID_PATH, KEYS, DocumentCheck, parse_decimal


@dataclass(frozen=True, slots=True)
class GridKey:
    """One entry of a grid, as written; ``value`` is a decimal string, an integer, a name, a tuple of names, or None (off)."""

    name: str
    value: Any
    unit: str
    direction: str
    bounds: tuple[Any, ...]
    rationale: str
    source: str


@dataclass(frozen=True)
class Grid:
    """A frozen, validated grid. Read values through :meth:`fraction`, :meth:`integer`, :meth:`name_of`, :meth:`names`."""

    name: str
    version: int
    author: str
    reason: str
    schema_version: int
    keys: Mapping[str, GridKey]
    digest: str
    canonical: bytes

    def fraction(self, key: str) -> Fraction:
        """A decimal value as an exact rational. GridError when the key is off (null)."""
        value = self.keys[key].value
        if value is None:
            raise GridError(
                "grid_key_off", expected="a value", got="null (the key is off)", remedy="use a grid that sets this key", where=Where(field=key),
            )
        return parse_decimal(value)

    def optional_fraction(self, key: str) -> Fraction | None:
        """A decimal value as an exact rational, or None when the key is off."""
        return None if self.keys[key].value is None else self.fraction(key)

    def text(self, key: str) -> str:
        """The value as it is written in the grid, for display."""
        value = self.keys[key].value
        return "off" if value is None else ", ".join(value) if isinstance(value, tuple) else str(value)

    def integer(self, key: str) -> int:
        """An integer value."""
        return int(self.keys[key].value)

    def name_of(self, key: str) -> str:
        """A named choice."""
        return str(self.keys[key].value)

    def names(self, key: str) -> tuple[str, ...]:
        """A list of names."""
        return tuple(self.keys[key].value)

    def differences(self, other: Grid) -> list[tuple[str, str, str]]:
        """(key, value here, value in ``other``) for each key whose value differs, in key order."""
        return [(key, self.text(key), other.text(key)) for key in KEYS if self.keys[key].value != other.keys[key].value]


def grid_from_document(document: Any, *, file: str | None = None) -> Grid:
    """Validate a grid document and freeze it. Raises GridError naming the key."""
    DocumentCheck(file).document(document)
    entries = {key: _entry(key, document["keys"][key]) for key in KEYS}
    canonical = canonical_bytes(document)
    return Grid(
        document["name"], document["version"], document["author"], document["reason"], document["grid_schema_version"],
        MappingProxyType(entries), sha256_hex(canonical), canonical,
    )


def _entry(key: str, entry: Mapping[str, Any]) -> GridKey:
    value = tuple(entry["value"]) if isinstance(entry["value"], list) else entry["value"]
    return GridKey(key, value, entry["unit"], entry["direction"], tuple(entry["bounds"]), entry["rationale"], entry["source"])


def load_grid(path: Path) -> Grid:
    """Read and validate a grid file. Raises GridError."""
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise GridError(
            "grid_unreadable", expected="a readable grid file", got=problem.strerror or "no such file", remedy="check the path",
            where=Where(path.name),
        ) from problem
    return grid_from_document(parse_json(data, where=Where(path.name), error=GridError), file=path.name)


@lru_cache(maxsize=1)
def default_grid() -> Grid:
    """The grid that ships with the engine; accepted in every workspace from the start."""
    return load_grid(DEFAULT_GRID_PATH)
