"""Rows of a file that each hold several rows of ours: one record with the answers of several people, one pair judged in both orders."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from core.rounds.columns import CellFault
from core.rounds.note import Note
from core.rounds.readers.containers import raw_rows
from core.rounds.readers.format import Declared
from core.rounds.strict import described
from core.rounds.typing_rows import RawRow

Row = dict[str, Any]


def spread(declared: Declared, of_row: Callable[[Row], list[Row]], notes: Callable[[], Iterable[Note]]) -> Iterator[RawRow]:
    """The rows that ``of_row`` makes of each row of a file, all with the line they came from; a CellFault that it raises takes their place.
    ``notes`` says what was made of the file, where no row had a fault: a fault says more."""
    whole = True
    for row in raw_rows(declared.path, declared.file, declared.notes):
        try:
            if isinstance(row.value, CellFault):
                raise row.value
            if not isinstance(row.value, dict):
                raise CellFault("", "wrong_type", "one JSON object", described(row.value))
            made: list[Any] = list(of_row(row.value))
        except CellFault as fault:
            made, whole = [fault], False
        for value in made:
            yield RawRow(row.line, value, row.raw)
    if whole:
        declared.notes.extend(notes())
