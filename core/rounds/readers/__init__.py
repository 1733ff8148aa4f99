"""Table formats, one small module each, and the one registry of them by file suffix.

A new format is a module with ``typed`` (typed batches of a table) and ``items`` (rows of a holdout), and a line here.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.rounds.columns import Column, TypedBatch
from core.rounds.note import Note
from core.rounds.readers import columnar, json_list, jsonl
from core.rounds.readers.contents import name_parts
from core.rounds.typing_rows import RawRow

Typed = Callable[[Path, str, Sequence[Column], list[Note]], Iterator[TypedBatch]]
Items = Callable[[Path, str, list[Note]], list[RawRow]]


@dataclass(frozen=True, slots=True)
class TableReader:
    """How one format is read: ``typed(path, file, columns, notes)`` and ``items(path, file, notes)``."""

    typed: Typed
    items: Items


READERS: Final[Mapping[str, TableReader]] = {
    ".jsonl": TableReader(jsonl.typed, jsonl.items),
    ".json": TableReader(json_list.typed, json_list.items),
    **dict.fromkeys(columnar.SUFFIXES, TableReader(columnar.typed, columnar.items)),
}
"""By suffix; each may be packed (``pairs.jsonl.gz``), see :func:`reader_of`."""


def reader_of(name: str) -> TableReader | None:
    """The reader of a file with this name, or None."""
    return READERS.get(name_parts(name).suffix)
