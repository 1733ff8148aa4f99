"""The grid: the only home of numbers that steer a decision.

A grid is one JSON document. Each key has ``value``, ``unit``, ``direction`` (min, max, none), ``bounds`` (the legal
range, inclusive, or the legal names), ``rationale`` and ``source``. Decimal values are strings, so that they become
exact rationals and never pass through a float. A loaded grid is frozen; its digest is SHA-256 over its RFC 8785 bytes.
A published grid is never edited: a change is a new version with author and reason.
"""
from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NoReturn

from core.canonical import canonical_bytes, parse_json, sha256_hex
from core.errors import GridError, Where

DEFAULT_GRID_PATH: Final = Path(__file__).parent / "default_grid_spec.json"
DEDUP_KEYS: Final = ("prompt_normalized_sha256", "chosen_structural_skeleton_sha256", "joint_transition_pair_sha256")
"""The structural keys that this code computes, in the order pages show them."""

_ENTRY_FIELDS: Final = ("value", "unit", "direction", "bounds", "rationale", "source")
_TOP_FIELDS: Final = ("grid_schema_version", "name", "version", "author", "reason", "keys")
_DIRECTIONS: Final = ("min", "max", "none")
_DECIMAL: Final = (
    "dpo_beta", "rpo_nll_alpha", "max_length_ratio", "min_chosen_logp_drift_per_token", "min_dpo_margin", "min_cohens_kappa",
    "min_exact_agreement", "max_false_positive_rate", "min_sanity_retention", "max_regression_rate", "loss_quantum",
)
_OPTIONAL_DECIMAL: Final = ("min_net_holdout_gain", "max_collapsed_share")
_INTEGER: Final = ("structural_dedup_keys", "receipt_decimals")
_NAME: Final = ("outcome_run_reducer",)
_NAMES: Final = ("enforced_dedup_keys",)
KEYS: Final = (*_DECIMAL, *_OPTIONAL_DECIMAL, *_INTEGER, *_NAME, *_NAMES)
"""All keys of grid schema version 1. Exactly these must be present."""


def parse_decimal(text: str) -> Fraction:
    """A decimal string as the exact rational it writes. Raises ValueError for anything that is not a finite decimal."""
    try:
        value = Decimal(text)
    except InvalidOperation as problem:
        raise ValueError(text) from problem
    if not value.is_finite() or text != text.strip() or "_" in text:
        raise ValueError(text)
    return Fraction(value)


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
            _refuse("grid_key_off", key, "a value", "null (the key is off)", "ask optional_fraction for keys that may be off")
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


def _refuse(code: str, field: str, expected: str, got: str, remedy: str, file: str | None = None) -> NoReturn:
    raise GridError(code, expected=expected, got=got, remedy=remedy, where=Where(file=file, field=field))


def _check_fields(document: Any, wanted: tuple[str, ...], what: str, file: str | None, kind: str) -> None:
    if not isinstance(document, dict):
        _refuse("wrong_type", what, "an object", type(document).__name__, "write it as in core/grid/grid.schema.json", file)
    for key in document:
        if key not in wanted:
            near = difflib.get_close_matches(key, wanted, n=1)
            hint = f"did you mean {near[0]}" if near else f"known are {', '.join(wanted)}"
            _refuse(f"unknown_grid_{kind}", f"{what}.{key}" if what else key, f"a known {kind}", repr(key), hint, file)
    for key in wanted:
        if key not in document:
            _refuse(f"missing_grid_{kind}", f"{what}.{key}" if what else key, f"the {kind} {key}", "nothing", "add it; no default is ever assumed", file)


def _decimal(key: str, value: Any, field: str, file: str | None) -> Fraction:
    if not isinstance(value, str):
        _refuse("wrong_type", f"{key}.{field}", "a decimal as a string, such as \"0.75\"", repr(value), "put the number in quotes", file)
    try:
        return parse_decimal(value)
    except ValueError:
        _refuse("wrong_type", f"{key}.{field}", "a finite decimal as a string", repr(value), "write digits, such as \"0.75\"", file)


def _check_range(key: str, entry: dict[str, Any], file: str | None) -> None:
    value, bounds = entry["value"], entry["bounds"]
    if key in _NAME or key in _NAMES:
        chosen = [value] if key in _NAME else value
        if not isinstance(chosen, list) or not all(isinstance(item, str) for item in chosen) or len(set(chosen)) != len(chosen) or not chosen:
            _refuse("wrong_type", f"{key}.value", "one name" if key in _NAME else "a list of different names", repr(value), "choose from the bounds", file)
        legal = DEDUP_KEYS if key in _NAMES else ("majority", "all", "any")
        for item in chosen:
            if item not in bounds or item not in legal:
                _refuse("value_out_of_bounds", f"{key}.value", f"one of {', '.join(legal)}", repr(item), "choose a name the code knows", file)
        return
    if not isinstance(bounds, list) or len(bounds) != len(("low", "high")):
        _refuse("wrong_type", f"{key}.bounds", "two bounds, low and high", repr(bounds), "write [low, high]", file)
    if key in _INTEGER:
        for item in (value, *bounds):
            if isinstance(item, bool) or not isinstance(item, int):
                _refuse("wrong_type", key, "an integer", repr(item), "write digits without quotes or point", file)
        low, number, high = bounds[0], value, bounds[1]
    else:
        if value is None:
            if key not in _OPTIONAL_DECIMAL:
                _refuse("wrong_type", f"{key}.value", "a decimal as a string", "null", "only optional keys may be null (off)", file)
            return
        low, number, high = (_decimal(key, item, field, file) for item, field in ((bounds[0], "bounds"), (value, "value"), (bounds[1], "bounds")))
    if not low <= number <= high:
        _refuse("value_out_of_bounds", f"{key}.value", f"a value from {bounds[0]} to {bounds[1]}", str(value), "choose a value inside the bounds", file)


def _check_relations(keys: dict[str, Any], file: str | None) -> None:
    # bounds are part of the document, so a grid could widen them: these hold whatever its bounds say
    for key in ("rpo_nll_alpha", "dpo_beta", "loss_quantum"):
        if parse_decimal(keys[key]["value"]) <= 0:
            _refuse("value_out_of_bounds", f"{key}.value", "a value above 0", keys[key]["value"], "choose a positive value", file)
    if parse_decimal(keys["max_length_ratio"]["value"]) < 1:
        _refuse("value_out_of_bounds", "max_length_ratio.value", "a ratio of at least 1", keys["max_length_ratio"]["value"], "max(nc/nr, nr/nc) is never below 1", file)
    if keys["structural_dedup_keys"]["value"] != len(DEDUP_KEYS):
        _refuse("dedup_key_count", "structural_dedup_keys.value", f"{len(DEDUP_KEYS)}, the number this code computes", str(keys["structural_dedup_keys"]["value"]), "use a grid and an engine of the same version", file)


def grid_from_document(document: Any, *, file: str | None = None) -> Grid:
    """Validate a grid document and freeze it. Raises GridError naming the key."""
    _check_fields(document, _TOP_FIELDS, "", file, "field")
    if document["grid_schema_version"] != 1 or isinstance(document["grid_schema_version"], bool):
        _refuse("unknown_grid_schema", "grid_schema_version", "1", repr(document["grid_schema_version"]), "use an engine that knows this schema", file)
    for field in ("name", "author", "reason"):
        if not isinstance(document[field], str) or not document[field].strip():
            _refuse("wrong_type", field, "text", repr(document[field]), "write who made this version, and why", file)
    if isinstance(document["version"], bool) or not isinstance(document["version"], int) or document["version"] < 1:
        _refuse("wrong_type", "version", "an integer from 1", repr(document["version"]), "number the version", file)
    _check_fields(document["keys"], KEYS, "keys", file, "key")
    entries: dict[str, GridKey] = {}
    for key in KEYS:
        entry = document["keys"][key]
        _check_fields(entry, _ENTRY_FIELDS, f"keys.{key}", file, "field")
        if entry["direction"] not in _DIRECTIONS:
            _refuse("wrong_type", f"{key}.direction", "min, max or none", repr(entry["direction"]), "choose one", file)
        _check_range(key, entry, file)
        value = tuple(entry["value"]) if isinstance(entry["value"], list) else entry["value"]
        entries[key] = GridKey(key, value, entry["unit"], entry["direction"], tuple(entry["bounds"]), entry["rationale"], entry["source"])
    _check_relations(document["keys"], file)
    canonical = canonical_bytes(document)
    return Grid(
        document["name"], document["version"], document["author"], document["reason"], document["grid_schema_version"],
        MappingProxyType(entries), sha256_hex(canonical), canonical,
    )


def load_grid(path: Path) -> Grid:
    """Read and validate a grid file. Raises GridError."""
    try:
        data = path.read_bytes()
    except OSError as problem:
        _refuse("grid_unreadable", "", "a readable grid file", problem.strerror or "no such file", "check the path", path.name)
    return grid_from_document(parse_json(data, where=Where(path.name), error=GridError), file=path.name)


@lru_cache(maxsize=1)
def default_grid() -> Grid:
    """The grid that ships with the engine; accepted in every workspace from the start."""
    return load_grid(DEFAULT_GRID_PATH)
