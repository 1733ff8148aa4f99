"""Who speaks in the messages of pairs: roles that are none of a chat's usual ones are told, with the place of the first.

A round keeps any role, since chat templates define their own. But a template that does not know one fails, or leaves the turn out without
a word, and ``human`` in the place of ``user`` is a mistake.
"""
from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.errors import Where
from core.rounds.columns import SIDES, TypedBatch
from core.rounds.messages import ROLES
from core.rounds.note import Note, warning
from core.rounds.source import PlaceOf
from core.rounds.strict import described
from core.settings import SETTINGS
from core.text import count_of

_NAMED: Final[int] = SETTINGS["display"]["named_ids"]
_ROLE: Final = '"role":"'
_KNOWN_ROLE: Final = f"{_ROLE}(?:{'|'.join(ROLES)})\""


@dataclass
class _Seen:
    """A role: its pairs, and where it was said first."""

    first: Where
    pairs: int = 0


class RoleWatch:
    """Looks at typed pairs as they come. ``place``: where a row of a part stands, as the source knows it."""

    def __init__(self, place: PlaceOf) -> None:
        self._place = place
        self._seen: dict[str, _Seen] = {}
        self._more = 0

    def look(self, batch: TypedBatch) -> None:
        """Look at one batch of pairs."""
        columns = {side: batch.rows.column(f"{side}_messages") for side in SIDES}
        doubtful = np.zeros(batch.rows.num_rows, dtype=np.bool_)
        for column in columns.values():
            doubtful |= _may_have_others(column)
        for row in map(int, np.flatnonzero(doubtful)):
            found: dict[str, str] = {}
            for side, column in columns.items():
                for role, field in _others(side, column[row].as_py()):
                    found.setdefault(role, field)
            for role, field in found.items():
                self._count(batch, row, role, field)

    def _count(self, batch: TypedBatch, row: int, role: str, field: str) -> None:
        if role not in self._seen:
            if len(self._seen) >= _NAMED:
                self._more += 1
                return
            where = self._place("pairs", batch.rows.column("origin")[row].as_py() or "", batch.file, batch.lines[row].as_py())
            self._seen[role] = _Seen(replace(where, field=field if where.field is None else f"{where.field}.{field}"))
        self._seen[role].pairs += 1

    def notes(self) -> list[Note]:
        """One warning for each unusual role, the first few of them."""
        usual = f"usual are {', '.join(ROLES)}; a chat template that does not know it fails, or leaves the turn out"
        told = [
            warning("unknown_role", f"messages of the role {described(role)} in {count_of(seen.pairs, 'pair')}, first at {seen.first}: {usual}")
            for role, seen in self._seen.items()
        ]
        return told if not self._more else [*told, warning("unknown_role", f"messages of more such roles: {count_of(self._more, 'pair')}")]


def _may_have_others(column: pa.Array) -> Any:
    """Rows whose messages may have another role; an argument of a tool call may be called role too."""
    # in RFC 8785 text a quotation mark inside a string is escaped, so this spelling is a member and nothing that anybody said
    more = pc.greater(pc.count_substring(column, _ROLE), pc.count_substring_regex(column, _KNOWN_ROLE))
    return pc.fill_null(more, False).to_numpy(zero_copy_only=False)


def _others(side: str, messages: str | None) -> Iterator[tuple[str, str]]:
    for position, message in enumerate([] if messages is None else json.loads(messages)):
        if message["role"] not in ROLES:
            yield message["role"], f"{side}[{position}].role"
