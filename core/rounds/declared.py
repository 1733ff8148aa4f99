"""What a proposer declares about foreign files: which file holds a part, in what format, with which options.

``sources`` of round.json: part -> list of ``{"file", "format", "options"}``. A stored round keeps them with the format that was read
(never ``auto``) and ``why``, one sentence, so that a reviewer sees every conversion that somebody asked for.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Final

from core.rounds.strict import Reader, described
from core.schemas import ALL_PARTS
from core.settings import SETTINGS

_KEYS: Final = ("file", "format", "options")
_STORED_KEYS: Final = (*_KEYS, "why")
_NAME: Final[int] = SETTINGS["text"]["id_characters"]
_WHY: Final[int] = SETTINGS["text"]["note_characters"]


@dataclass(frozen=True, slots=True)
class Source:
    """One foreign file of a part. ``format``: its name, or ``auto`` before it is resolved; ``why`` is "" until then."""

    file: str
    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    why: str = ""

    def document(self) -> dict[str, Any]:
        return {"file": self.file, "format": self.format, "options": dict(self.options), "why": self.why}

    def sentence(self) -> str:
        """The declaration in one line: file, format, why, and the options as declared."""
        options = ", ".join(f"{name}={value}" for name, value in sorted(self.options.items()))
        return f"{self.file} was read as {self.format}: {self.why}{f'; declared: {options}' if options else ''}"


Sources = Mapping[str, tuple[Source, ...]]
"""Part -> its foreign files, in the order in which they are read."""


def is_plain_name(name: str) -> bool:
    """Whether a file name is a name and nothing else: no folder, no drive, no way up, on any system."""
    return name not in (".", "..") and "\x00" not in name and PurePosixPath(name).name == name == PureWindowsPath(name).name


def read_sources(round_json: Reader, *, stored: bool) -> dict[str, tuple[Source, ...]]:
    """``sources`` of a round.json, {} where there are none. Raises RoundError naming the place."""
    if not round_json.has("sources") and not (stored and "sources" in round_json.value):
        return {}
    parts = round_json.object("sources")
    parts.keys(ALL_PARTS, ())
    if stored and not parts.value:
        round_json.refuse("sources", "empty_list", "at least one source, or no such key", "{}", "ingest the round again")
    return {part: _part(parts, part, stored=stored) for part in ALL_PARTS if part in parts.value}


def _part(parts: Reader, part: str, *, stored: bool) -> tuple[Source, ...]:
    entries = parts.value[part]
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        parts.refuse(part, "wrong_type", 'a list of objects such as {"file": ..., "format": ...}', described(entries), "write a list")
    found = [_source(Reader(entry, f"{parts.place}.{part}[{position}]", parts.file), stored=stored) for position, entry in enumerate(entries)]
    for position, source in enumerate(found):
        if source in found[:position]:
            parts.refuse(f"{part}[{position}]", "source_given_twice", "each file once, or with other options", repr(source.file), "take it out")
    return tuple(found)


def _source(entry: Reader, *, stored: bool) -> Source:
    entry.keys(_STORED_KEYS if stored else _KEYS, _STORED_KEYS if stored else _KEYS[:-1])
    name = entry.text("file", limit=_NAME)
    if not is_plain_name(name):
        entry.refuse("file", "not_a_plain_name", "the name of a file in this folder", repr(name), "name the file alone; put it beside round.json")
    options = entry.object("options") if entry.has("options") or stored else Reader({}, "options", entry.file)
    checked = {key: options.text(key, limit=SETTINGS["formats"]["option_characters"]) for key in options.value}
    return Source(name, entry.text("format", limit=_NAME), checked, entry.text("why", limit=_WHY) if stored else "")
