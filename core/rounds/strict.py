"""Reading JSON objects that people wrote: exact keys, exact types, every fault named by its place.

Nothing is coerced and no default is invented here: a key is there or it is not, a value has its type or it is refused.
"""
from __future__ import annotations

import difflib
import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NoReturn

from core.errors import RoundError, Where
from core.settings import SETTINGS
from core.text import shortened

_SHOWN: int = SETTINGS["text"]["label_characters"]


def described(value: object) -> str:
    """A JSON value as an error shows it: its JSON text, shortened."""
    return shortened(json.dumps(value, ensure_ascii=False, default=str), _SHOWN)


def nearest(name: str, known: Collection[str]) -> str | None:
    """The known name nearest to ``name``, or None when none is near. One that differs in case alone is the nearest."""
    same = next((item for item in known if item.lower() == name.lower()), None)
    if same is not None:
        return same
    found = difflib.get_close_matches(name, list(known), n=1)
    return found[0] if found else None


def unknown_remedy(name: str, known: Collection[str]) -> str:
    """What to do about an unknown name: the nearest known one, or leave it out."""
    near = nearest(name, known)
    return f"did you mean {near!r}? Otherwise leave it out" if near else "leave it out"


def joined(place: str, key: str) -> str:
    """The place of ``key`` inside ``place``: ``verified_candidates[2].ref_logp_chosen``."""
    return f"{place}.{key}" if place else key


@dataclass(frozen=True, slots=True)
class Reader:
    """One JSON object with the place it stands at. Its methods return a value of the asked type or raise RoundError."""

    value: dict[str, Any]
    place: str
    file: str

    def refuse(self, key: str, code: str, expected: str, got: str, remedy: str) -> NoReturn:
        raise RoundError(code, expected=expected, got=got, remedy=remedy, where=Where(self.file, field=joined(self.place, key) or None))

    def _mistyped(self, key: str, expected: str) -> NoReturn:
        if key not in self.value:
            self.refuse(key, "missing_field", expected, "nothing", "add it")
        self.refuse(key, "wrong_type", expected, described(self.value[key]), "correct the value")

    def keys(self, known: Collection[str], required: Collection[str]) -> None:
        """Refuse unknown keys (with the nearest known name) and missing ones."""
        for key in self.value:
            if key not in known:
                self.refuse(key, "unknown_key", "a known key", f"{key!r}", unknown_remedy(key, known))
        for key in required:
            if key not in self.value:
                self.refuse(key, "missing_field", "this key", "nothing", "add it")

    def has(self, key: str) -> bool:
        """Whether the key is there with a value other than null."""
        return self.value.get(key) is not None

    def text(self, key: str, *, limit: int | None = None, empty: bool = False) -> str:
        """A string; not empty unless ``empty``; at most ``limit`` characters."""
        value = self.value.get(key)
        if not isinstance(value, str):
            self._mistyped(key, "text")
        if not value and not empty:
            self.refuse(key, "empty_text", "text that is not empty", '""', "write a value, or leave the key out where it may be")
        if limit is not None and len(value) > limit:
            self.refuse(key, "text_too_long", f"at most {limit} characters", f"{len(value)}", "shorten it")
        return value

    def optional_text(self, key: str, *, limit: int | None = None) -> str | None:
        """A string that is not empty, or None where the key is absent or null."""
        return self.text(key, limit=limit) if self.has(key) else None

    def integer(self, key: str) -> int:
        value = self.value.get(key)
        if type(value) is not int:
            self._mistyped(key, "an integer")
        return value

    def choice(self, key: str, choices: Collection[str]) -> str:
        value = self.text(key)
        if value not in choices:
            self.refuse(key, "unknown_value", f"one of {', '.join(choices)}", described(value), unknown_remedy(value, choices))
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings that are not empty."""
        value = self.value.get(key)
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            self._mistyped(key, "a list of texts that are not empty")
        return tuple(value)

    def object(self, key: str) -> Reader:
        """The object under ``key``, with its place."""
        value = self.value.get(key)
        if not isinstance(value, dict):
            self._mistyped(key, "an object")
        return Reader(value, joined(self.place, key), self.file)


def document_reader(value: object, file: str) -> Reader:
    """A reader over a whole document, which must be an object."""
    if not isinstance(value, dict):
        raise RoundError(
            "wrong_type", expected="one JSON object", got=described(value), remedy="hand over the right file", where=Where(file),
        )
    return Reader(value, "", file)
