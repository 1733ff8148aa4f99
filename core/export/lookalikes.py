"""Texts of a JSON Lines file that some readers take for something else, so that the card can warn about them.

``datasets`` reads such a file in pieces of 10 MB and guesses types piece by piece: where a piece holds nothing in a column but texts that
read as times, it makes times of them and writes them as text of another form, whatever type the card states. pandas, and mlcroissant
with it, takes a whole column of texts that read as numbers for numbers. Parquet states its types, so nobody guesses.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from core.export.columns import TEXT, Kind, Record, holds_json, kind_of
from core.settings import SETTINGS

_PIECE: Final[int] = SETTINGS["export"]["piece_bytes"]
_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}(?::?\d{2}(?::?\d{2}(?:\.\d+)?)?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?)?")
"""Text that Arrow's JSON reader takes for a time."""


class Lookalikes:
    """Filled row by row, in the order of the file. A *place* is a column, or a member of the objects in one (``messages.content``)."""

    def __init__(self) -> None:
        self._times = set[str]()
        self._piece = dict[str, bool]()
        self._size = 0
        self._numbers = dict[str, bool]()

    def add(self, row: Mapping[str, Any], size: int) -> None:
        """Look at one row, whose line has ``size`` bytes."""
        for name, value in row.items():
            self._look(name, value)
            if isinstance(value, str) and self._numbers.get(name, True):
                self._numbers[name] = _reads_as_number(value)
        self._size += size
        if self._size > _PIECE:  # a piece is so many bytes, and the rest of the line that they end in
            self._times |= self._found()
            self._piece, self._size = {}, 0

    def _look(self, place: str, value: Any) -> None:
        if isinstance(value, str):
            if self._piece.get(place, True):
                self._piece[place] = _TIME.fullmatch(value) is not None
        elif isinstance(value, list):
            for item in value:
                self._look(place, item)
        elif isinstance(value, dict) and isinstance(kind_of(value), Record):
            # only members of a struct are columns; those of other objects are anybody's words
            for name, item in value.items():
                self._look(f"{place}.{name}", item)

    def _found(self) -> set[str]:
        return {name for name, only in self._piece.items() if only}

    def times(self, kinds: Mapping[str, Kind]) -> list[str]:
        """Places where at least one piece holds nothing but texts that read as times; JSON columns, which readers do not guess at, apart."""
        return sorted(name for name in self._times | self._found() if not holds_json(kinds[name.split(".", 1)[0]]))

    def numbers(self, kinds: Mapping[str, Kind]) -> list[str]:
        """Columns of texts that all read as numbers."""
        return sorted(name for name, only in self._numbers.items() if only and kinds[name] == TEXT)


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
