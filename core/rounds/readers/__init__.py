"""Table formats, one small module each, and the one registry of them by file suffix.

A new format is a module with ``typed`` (typed batches of a table) and ``items`` (rows of a holdout), and a line here.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.rounds.columns import Column, TypedBatch
from core.rounds.notes import Note
from core.rounds.readers import json_list, jsonl, parquet
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
    ".parquet": TableReader(parquet.typed, parquet.items),
}
