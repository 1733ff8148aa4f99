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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import rfc8785

from core.errors import CountersignError, RoundError, Where
from core.settings import SETTINGS
from core.written_numbers import WrittenNumber

_LIMITS = SETTINGS["json"]
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_UTF8_MARK = b"\xef\xbb\xbf"
_MARK = _UTF8_MARK.decode("utf-8")

ErrorMaker = Callable[..., CountersignError]


@dataclass(frozen=True, slots=True)
class _Fault:
    """Stands where a refused token stood, so that one walk afterwards can name its place."""

    code: str
    expected: str
    got: str
    remedy: str


_SURROGATE = _Fault("lone_surrogate", "valid Unicode text", "a lone surrogate", "write the character as UTF-8")
_MARKED = _Fault("byte_order_mark", "UTF-8 without a byte-order mark", "a byte-order mark at the start", "save the file without it")
_TOO_DEEP = _Fault("nested_too_deeply", f"at most {_LIMITS['max_depth']} levels", "more", "flatten the document")


@dataclass(slots=True)
class _Tokens:
    """The hooks of one reading. A refused token is replaced by its fault, and ``refused`` remembers that there is one."""

    integers_only: bool
    refused: bool = False

    def _fault(self, code: str, expected: str, got: str, remedy: str) -> _Fault:
        self.refused = True
        return _Fault(code, expected, got, remedy)

    def constant(self, token: str) -> _Fault:
        return self._fault("non_finite_number", "a finite number", token, "write a finite number, or null where it is unknown")

    def real(self, token: str) -> float | _Fault:
        if self.integers_only:
            return self._fault(
                "ambiguous_number", "an integer or a string", token,
                "write the number as an integer, or as a string, before locking: 1.0, 1e0 and 1 hash differently elsewhere",
            )
        value = WrittenNumber.of(token)
        if math.isfinite(value):
            return value
        return self._fault("number_out_of_range", "a number that fits a double", token, "write a number below 1.8e308 in size")

    def integer(self, token: str) -> int | _Fault:
        # int() on a token of millions of digits is slow and Python refuses it: the length tells enough
        if len(token) <= len(str(-_LIMITS["max_safe_integer"])) and abs(int(token)) <= _LIMITS["max_safe_integer"]:
            return int(token)
        shown = token if len(token) <= SETTINGS["text"]["label_characters"] else f"an integer of {len(token)} digits"
        return self._fault("integer_out_of_range", "an integer of at most 2^53-1 in size", shown, "write it as a string: a double cannot hold it")

    def object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    result[key] = self._fault("duplicate_json_key", "each key once in an object", f"the key {key!r} twice", "remove one of the two")
                seen.add(key)
        return result


def _first_fault(value: Any, path: str, depth: int) -> tuple[str, _Fault] | None:
    """The place and fault of the first thing refused inside a document; None when all is well."""
    if isinstance(value, _Fault):
        return path, value
    if isinstance(value, str):
        return (path, _SURROGATE) if _lone_surrogate(value) else None
    if not isinstance(value, (dict, list)):
        return None
    if depth > _LIMITS["max_depth"]:
        return path, _TOO_DEEP
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(key, str) and _lone_surrogate(key):
            return path, _SURROGATE
        found = _first_fault(item, _joined(path, key), depth + 1)
        if found is not None:
            return found
    return None


def _joined(path: str, key: str | int) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def _lone_surrogate(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _needs_a_walk(text: str, *, decoded: bool) -> bool:
    """Whether a document could hold a lone surrogate or be nested too deeply: most lines of a table can do neither.
    Text ``decoded`` from UTF-8 has surrogates only where an escape spells them."""
    return "\\u" in text or not (decoded or text.isascii()) or text.count("[") + text.count("{") > _LIMITS["max_depth"]


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
    if text.startswith(_MARK):
        refuse(_MARKED)
    tokens = _Tokens(integers_only)
    try:
        value = json.loads(
            text, object_pairs_hook=tokens.object, parse_constant=tokens.constant, parse_int=tokens.integer, parse_float=tokens.real,
        )
    except RecursionError:
        refuse(_TOO_DEEP)
    except json.JSONDecodeError as problem:
        # a line of a table knows its line already; a document names line and column inside itself
        line = "" if place.line is not None else f"line {problem.lineno}, "
        # some of Python's messages end in "at" themselves
        inner = f"{problem.msg.removesuffix(' at')} at {line}column {problem.colno}"
        refuse(_Fault("not_json", "one complete JSON document", inner, "check that the file is whole and is JSON"))
    found = _first_fault(value, "", 1) if tokens.refused or _needs_a_walk(text, decoded=text is not data) else None
    if found is not None:
        refuse(found[1], found[0] or None)
    return value


def canonical_bytes(value: Any) -> bytes:
    """RFC 8785 bytes of a JSON value (dict, list, str, int, float, bool, None).

    Raises CountersignError ``no_canonical_form`` for what has none: NaN, infinity, an integer beyond 2^53-1, a lone
    surrogate, another type. A document from :func:`parse_json` always has one.
    """
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as problem:
        raise CountersignError(
            "no_canonical_form", expected="a JSON value with finite numbers, integers up to 2^53-1 and valid Unicode", got=str(problem),
            remedy="report this: a value of the engine's own making cannot be written",
        ) from problem


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
