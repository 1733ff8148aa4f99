"""Places in a row, as a proposer declares them: ``doc.key`` for a value; for an id also ``sha256:question`` (the SHA-256 of a text) and
``model+task_id`` (several values, joined by a slash).
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from core.canonical import sha256_hex
from core.rounds.columns import CellFault
from core.rounds.note import Note
from core.rounds.readers.foreign_ids import IdRule
from core.rounds.strict import described

DIGEST: Final = "sha256:"
_AND, _JOINED, INSIDE = "+", "/", "."
_MISSING: Final = object()


def placed(row: Mapping[str, Any], place: str) -> Any:
    """The value at a place such as ``doc.key`` (or under a key that is spelled so). Raises CellFault ``missing_field`` where there is no
    such key; null is a value."""
    if place in row:
        return row[place]
    value: Any = row
    for name in place.split(INSIDE):
        value = value.get(name, _MISSING) if isinstance(value, Mapping) else _MISSING
        if value is _MISSING:
            raise CellFault(place, "missing_field", "the field that was declared", "nothing")
    return value


def has_place(row: Mapping[str, Any], place: str) -> bool:
    """Whether a row has a value at a place."""
    try:
        placed(row, place)
    except CellFault:
        return False
    return True


def top(place: str) -> str:
    """The column that a place begins with."""
    return place.partition(INSIDE)[0]


class IdPlace:
    """Where the rows of one file name their items. ``format_name``: the format whose rule makes text of an integer; ``integers``: whether
    an id may be one."""

    def __init__(self, place: str, format_name: str, *, integers: bool = True) -> None:
        self.place, self._integers = place, integers
        self._rule = IdRule(place, format_name)
        self._hashed = place.startswith(DIGEST)
        self.places = tuple(place.removeprefix(DIGEST).split(_AND)) if self._hashed or _AND in place else (place,)

    def identifier(self, row: Mapping[str, Any]) -> str:
        """The id of a row. Raises CellFault."""
        if self.place in row:
            return self._one(row[self.place])
        values = [placed(row, place) for place in self.places]
        if self._hashed:
            return sha256_hex(self._text(values).encode("utf-8"))
        return self._one(values[0]) if len(values) == 1 else self._joined(values)

    def notes(self, file: str) -> list[Note]:
        """What was made of the ids, once all rows are read."""
        return self._rule.notes(file)

    def _one(self, value: Any) -> str:
        if type(value) is int and not self._integers:
            raise CellFault(self.place, "integer_id", "text; integer_ids=text declares that integers become their decimal text", described(value))
        return self._rule.text(value)

    def _text(self, values: list[Any]) -> str:
        if len(values) != 1 or not isinstance(values[0], str):
            raise CellFault(self.place, "wrong_type", "one text", described(values[0] if len(values) == 1 else values))
        return str(values[0])

    def _joined(self, values: list[Any]) -> str:
        if not all((isinstance(value, str) and value and _JOINED not in value) or type(value) is int for value in values):
            raise CellFault(self.place, "wrong_type", f"texts without {_JOINED}, or integers", described(values))
        return self._rule.text(_JOINED.join(map(str, values)))
