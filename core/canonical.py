"""Strict JSON in, RFC 8785 bytes out, SHA-256 over bytes.

``parse_json`` refuses what two readers could understand differently: a duplicate key, NaN or Infinity, a number that
does not fit a double, an integer beyond 2^53-1, a lone surrogate, a byte-order mark, UTF-16, deep nesting, oversize.
``canonical_bytes`` is RFC 8785 (JSON Canonicalization Scheme) through the ``rfc8785`` library. ``json.dumps`` with
sorted keys is *not* the same bytes (floats, -0.0, keys outside the BMP) and is used for nothing that is hashed.
"""
from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import rfc8785

from core.errors import CountersignError, RoundError, Where
from core.settings import SETTINGS

_LIMITS = SETTINGS["json"]
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_UTF8_MARK = b"\xef\xbb\xbf"

ErrorMaker = Callable[..., CountersignError]


@dataclass(frozen=True, slots=True)
class _Fault:
    """Stands where a refused token stood, so that one walk afterwards can name its place."""

    code: str
    expected: str
    got: str
    remedy: str


def _constant(token: str) -> _Fault:
    return _Fault("non_finite_number", "a finite number", token, "write a finite number, or null where it is unknown")


def _float(token: str) -> float | _Fault:
    value = float(token)
    if math.isfinite(value):
        return value
    return _Fault("number_out_of_range", "a number that fits a double", token, "write a number below 1.8e308 in size")


def _ambiguous(token: str) -> _Fault:
    return _Fault(
        "ambiguous_number", "an integer or a string", token,
        "write the number as an integer, or as a string, before locking: 1.0, 1e0 and 1 hash differently elsewhere",
    )


def _integer(token: str) -> int | _Fault:
    # int() on a token of millions of digits is slow and Python refuses it: the length tells enough
    if len(token) <= len(str(_LIMITS["max_safe_integer"])) + 1 and abs(int(token)) <= _LIMITS["max_safe_integer"]:
        return int(token)
    shown = token if len(token) <= SETTINGS["display"]["digest_characters"] * len("ab") else f"an integer of {len(token)} digits"
    return _Fault("integer_out_of_range", "an integer of at most 2^53-1 in size", shown, "write it as a string: a double cannot hold it")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            result[key] = _Fault("duplicate_json_key", "each key once in an object", f"the key {key!r} twice", "remove one of the two")
        else:
            result[key] = value
    return result


def _walk(value: Any, path: str, depth: int) -> Iterator[tuple[str, _Fault]]:
    if isinstance(value, _Fault):
        yield path, value
    elif isinstance(value, str):
        if _lone_surrogate(value):
            yield path, _Fault("lone_surrogate", "valid Unicode text", "a lone surrogate", "write the character as UTF-8")
    elif isinstance(value, (dict, list)):
        if depth > _LIMITS["max_depth"]:
            yield path, _Fault("nested_too_deeply", f"at most {_LIMITS['max_depth']} levels", "more", "flatten the document")
            return
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            if isinstance(key, str) and _lone_surrogate(key):
                yield path, _Fault("lone_surrogate", "valid Unicode in keys", "a lone surrogate", "write the key as UTF-8")
                continue
            yield from _walk(item, f"{path}.{key}" if path and isinstance(key, str) else str(key) if isinstance(key, str) else f"{path}[{key}]", depth + 1)


def _lone_surrogate(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def decode_utf8(data: bytes, *, where: Where | None = None, error: ErrorMaker = RoundError) -> str:
    """Bytes as UTF-8 text; a byte-order mark, UTF-16 and invalid UTF-8 are refused by name."""
    def refuse(code: str, expected: str, got: str, remedy: str) -> NoReturn:
        raise error(code, expected=expected, got=got, remedy=remedy, where=where)

    if data.startswith(_UTF16_MARKS):
        refuse("utf16", "UTF-8 text", "UTF-16 (its byte-order mark)", "save the file as UTF-8 without a byte-order mark")
    if data.startswith(_UTF8_MARK):
        refuse("byte_order_mark", "UTF-8 without a byte-order mark", "a byte-order mark at the start", "save the file without it")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        refuse("invalid_utf8", "UTF-8 text", f"an invalid byte at offset {problem.start}", "save the file as UTF-8")


def parse_json(
    data: bytes | str, *, where: Where | None = None, error: ErrorMaker = RoundError,
    max_bytes: int | None = None, integers_only: bool = False,
) -> Any:
    """The strict reader. ``data``: one JSON document; ``where``: the place named in errors (its ``field`` is replaced
    by the path inside the document, e.g. ``verified_candidates[2].ref_logp_chosen``); ``error``: the class to raise;
    ``integers_only``: refuse numbers written with a point or an exponent (holdout lists). Raises ``error``."""
    place = where or Where()

    def refuse(fault: _Fault, field: str | None = None) -> NoReturn:
        raise error(
            fault.code, expected=fault.expected, got=fault.got, remedy=fault.remedy,
            where=Where(place.file, place.line, field or place.field),
        )

    limit = _LIMITS["max_bytes"] if max_bytes is None else max_bytes
    if len(data) > limit:
        refuse(_Fault("too_large", f"at most {limit} bytes", f"{len(data)} bytes", "split the file, or use tables instead of one document"))
    text = decode_utf8(data, where=where, error=error) if isinstance(data, bytes) else data
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer,
            parse_float=_ambiguous if integers_only else _float,
        )
    except RecursionError:
        refuse(_Fault("nested_too_deeply", f"at most {_LIMITS['max_depth']} levels", "more", "flatten the document"))
    except json.JSONDecodeError as problem:
        # a line of a table knows its line already; a document names line and column inside itself
        inner = f"{problem.msg} at column {problem.colno}" if place.line is not None else f"{problem.msg} at line {problem.lineno}, column {problem.colno}"
        refuse(_Fault("not_json", "one complete JSON document", inner, "check that the file is whole and is JSON"))
    for path, fault in _walk(value, "", 0):
        refuse(fault, path or None)
    return value


def canonical_bytes(value: Any) -> bytes:
    """RFC 8785 bytes of a JSON value (dict, list, str, int, float, bool, None)."""
    return rfc8785.dumps(value)


def sha256_hex(data: bytes) -> str:
    """SHA-256 of bytes, as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def canonical_digest(value: Any) -> str:
    """SHA-256 over the RFC 8785 bytes of a JSON value."""
    return sha256_hex(canonical_bytes(value))


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, streamed."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def parse_canonical(data: bytes, *, where: Where | None = None, error: ErrorMaker = RoundError) -> Any:
    """Like :func:`parse_json`, and the bytes must be the RFC 8785 form of what they say."""
    value = parse_json(data, where=where, error=error)
    if canonical_bytes(value) != data:
        raise error(
            "not_canonical", expected="RFC 8785 canonical JSON", got="the same value in other bytes",
            remedy="hand over the file as it was written, untouched", where=where,
        )
    return value
