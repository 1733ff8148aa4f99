"""Ids of foreign files: text stays as it is, and a format that numbers its items says so by its own rule.

Evaluation tools number their items (``doc_id`` 0, 1, ...). Such an integer becomes its decimal text, and a note says it.
An id that comes as an integer in one row and as text in another is refused: ``1`` and ``"1"`` may be two items or one.
"""
from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from core.rounds.columns import ID_CHARACTERS, CellFault
from core.rounds.near_ids import look_alikes
from core.rounds.note import Note, named, warning
from core.rounds.strict import described
from core.settings import SETTINGS

_NAMED: Final[int] = SETTINGS["display"]["named_ids"]
_EXPECTED: Final = "text that is not empty, or an integer"


class IdRule:
    """The ids of one file. ``field``: the column they come from; ``format_name``: the format whose rule it is."""

    def __init__(self, field: str, format_name: str) -> None:
        self._field, self._format = field, format_name
        self._forms: dict[str, type] = {}
        self._numbered = 0

    def text(self, value: Any) -> str:
        """The id as text. Raises CellFault for what is no id, and for one that has come in both forms."""
        form: type
        if type(value) is int:
            identifier, form = str(value), int
        elif isinstance(value, str) and value:
            identifier, form = value, str
        else:
            raise CellFault(self._field, "missing_field" if value is None else "wrong_type", _EXPECTED, described(value))
        if len(identifier) > ID_CHARACTERS:
            raise CellFault(self._field, "id_too_long", f"at most {ID_CHARACTERS} characters", f"{len(identifier)}")
        if self._forms.setdefault(identifier, form) is not form:
            got = f'both {identifier} and "{identifier}"'
            raise CellFault(self._field, "id_in_two_forms", "an id as an integer or as text, the same in every row", got)
        self._numbered += form is int
        return identifier

    def notes(self, file: str) -> list[Note]:
        """What was made of the ids, once all rows are read."""
        return [*self._numbered_note(file), *self._look_alikes(file)]

    def _look_alikes(self, file: str) -> list[Note]:
        groups = look_alikes(pa.chunked_array([list(self._forms)], pa.string()))
        if not groups:
            return []
        shown = "; ".join(named(group) for group in groups[:_NAMED])
        text = f"{file}: {self._field} has {len(groups)} groups of ids that differ only by white space, hidden characters or Unicode form"
        return [warning("look_alike_ids", f"{text}; each is an id of its own here: {shown}")]

    def _numbered_note(self, file: str) -> list[Note]:
        if not self._numbered:
            return []
        text = f"{file}: {self._field} is an integer in {self._numbered} rows and became its decimal text, by the rule of {self._format}"
        return [Note("numbered_ids", text)]
