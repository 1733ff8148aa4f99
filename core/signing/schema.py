"""A small exact-schema checker: exact keys, exact types, nothing coerced. What was signed is read with this before any
sentence of it is believed, so that wrong types inside a validly signed payload are an error and never a crash.

A check is a function of (value, path). It returns when the value fits and raises ReceiptError naming the path if not.
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from core.errors import ReceiptError, Where
from core.persons.times import parse_z_time
from core.settings import SETTINGS
from core.text import shortened, visible_line

Check = Callable[[Any, str], None]

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_HEX: Final = re.compile(r"(?:[0-9a-f]{2})+")
_SHOWN: Final = SETTINGS["text"]["label_characters"]


def refuse(path: str, expected: str, value: Any, *, code: str = "wrong_type") -> NoReturn:
    """Raise ReceiptError for the value at ``path``."""
    got = "null" if value is None else f"{type(value).__name__} {shortened(visible_line(repr(value)), _SHOWN)}"
    raise ReceiptError(code, expected=expected, got=got, remedy="get the receipt again from its source, untouched", where=Where(field=path or None))


def text(*, limit: int | None = None, empty: bool = False) -> Check:
    """Text, of at most ``limit`` characters."""
    def check(value: Any, path: str) -> None:
        if not isinstance(value, str) or not (value or empty):
            refuse(path, "text", value)
        if limit is not None and len(value) > limit:
            refuse(path, f"at most {limit} characters", len(value), code="too_long")
    return check


def anything(value: Any, path: str) -> None:
    """Whatever stands there: something else vouches for it."""


def integer(value: Any, path: str) -> None:
    """A whole number from 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        refuse(path, "a whole number from 0", value)


def number(value: Any, path: str) -> None:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        refuse(path, "a number", value)


def boolean(value: Any, path: str) -> None:
    """true or false."""
    if not isinstance(value, bool):
        refuse(path, "true or false", value)


def digest(value: Any, path: str) -> None:
    """A SHA-256 as 64 lower-case hex digits."""
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        refuse(path, "64 lower-case hex digits", value)


def hexadecimal(value: Any, path: str) -> None:
    """Bytes as lower-case hex digits."""
    if not isinstance(value, str) or not _HEX.fullmatch(value):
        refuse(path, "bytes as lower-case hex digits", value)


def z_time(value: Any, path: str) -> None:
    """A UTC time to the second, with Z."""
    if not isinstance(value, str) or parse_z_time(value) is None:
        refuse(path, "a time such as 2026-01-31T09:30:00Z", value)


def constant(*allowed: Any) -> Check:
    """One of these values, of the same type."""
    def check(value: Any, path: str) -> None:
        if not any(type(value) is type(item) and value == item for item in allowed):
            refuse(path, " or ".join(repr(item) for item in allowed), value)
    return check


def nullable(inner: Check) -> Check:
    """null, or what ``inner`` takes."""
    def check(value: Any, path: str) -> None:
        if value is not None:
            inner(value, path)
    return check


def listed(inner: Check, *, empty: bool = True) -> Check:
    """A list of what ``inner`` takes."""
    def check(value: Any, path: str) -> None:
        if not isinstance(value, list) or not (value or empty):
            refuse(path, "a list" if empty else "a list that is not empty", value)
        for position, item in enumerate(value):
            inner(item, f"{path}[{position}]")
    return check


def record(fields: Mapping[str, Check]) -> Check:
    """An object with exactly these members."""
    def check(value: Any, path: str) -> None:
        if not isinstance(value, dict):
            refuse(path, "an object", value)
        for name in sorted(fields.keys() ^ value.keys()):
            problem = f"no member {visible_line(name)}" if name in value else f"the member {name}"
            refuse(f"{path}.{visible_line(name)}" if path else visible_line(name), problem, value.get(name), code="wrong_fields")
        for name, inner in fields.items():
            inner(value[name], f"{path}.{name}" if path else name)
    return check
