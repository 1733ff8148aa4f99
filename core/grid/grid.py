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
from core.grid.document import DEFAULT_GRID_PATH, EARLIER_GRID_PATHS, KEYS, DocumentCheck, parse_decimal


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
    """A frozen, validated grid. Read values through :meth:`fraction`, :meth:`integer`, :meth:`name_of`, :meth:`names`.

    A key of a later schema version than the grid's is off: ``in`` tells, and the readers refuse it by name.
    """

    name: str
    version: int
    author: str
    reason: str
    schema_version: int
    keys: Mapping[str, GridKey]
    digest: str
    canonical: bytes

    def __contains__(self, key: object) -> bool:
        """Whether the key is set: known to the grid's schema version, and not null."""
        return key in self.keys and self.keys[str(key)].value is not None

    def _value(self, key: str) -> Any:
        if key not in self:
            raise GridError(
                "grid_key_off", expected="a value", got="none (the key is off in this grid)", remedy="use a grid that sets this key",
                where=Where(field=key),
            )
        return self.keys[key].value

    def fraction(self, key: str) -> Fraction:
        """A decimal value as an exact rational. GridError ``grid_key_off`` when the key is off."""
        return parse_decimal(self._value(key))

    def optional_fraction(self, key: str) -> Fraction | None:
        """A decimal value as an exact rational, or None when the key is off."""
        return self.fraction(key) if key in self else None

    def text(self, key: str) -> str:
        """The value as it is written in the grid, for display."""
        if key not in self:
            return "off"
        value = self.keys[key].value
        return ", ".join(value) if isinstance(value, tuple) else str(value)

    def integer(self, key: str) -> int:
        """An integer value. GridError when the key is off."""
        return int(self._value(key))

    def name_of(self, key: str) -> str:
        """A named choice. GridError when the key is off."""
        return str(self._value(key))

    def names(self, key: str) -> tuple[str, ...]:
        """A list of names. GridError when the key is off."""
        return tuple(self._value(key))

    def differences(self, other: Grid) -> list[tuple[str, str, str]]:
        """(key, value here, value in ``other``) for each key whose value differs, in key order; "off" where it is off."""
        return [(key, self.text(key), other.text(key)) for key in KEYS if self._written(key) != other._written(key)]

    def _written(self, key: str) -> Any:
        return self.keys[key].value if key in self else None


def grid_from_document(document: Any, *, file: str | None = None) -> Grid:
    """Validate a grid document and freeze it. Raises GridError naming the key."""
    DocumentCheck(file).document(document)
    entries = {key: _entry(key, document["keys"][key]) for key in KEYS if key in document["keys"]}
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
    """The newest grid that ships with the engine; accepted in every workspace from the start."""
    return load_grid(DEFAULT_GRID_PATH)


@lru_cache(maxsize=1)
def shipped_grids() -> Mapping[str, Grid]:
    """Every grid that ships with the engine, by digest: the default grid, and the default grids of earlier releases."""
    grids = (default_grid(), *(load_grid(path) for path in EARLIER_GRID_PATHS))
    return MappingProxyType({grid.digest: grid for grid in grids})
