"""What the shapes of several formats do with a row: take a text or messages out of it, put the sides into it, look at the first rows.

A key that is taken is gone from the row, so that what is left over is kept in ``extra``, and a text stands in one place only.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.rounds.columns import CellFault
from core.rounds.strict import described

Row = dict[str, Any]
Counts = Counter[tuple[str, str]]
"""(code, text) -> how many rows it is true of: becomes a note at the end of the file."""


def taken(row: Row, key: str) -> Any:
    """The value of a key, taken out of the row. Raises CellFault where it is absent."""
    if key not in row:
        raise CellFault(key, "missing_field", "this key", "nothing")
    return row.pop(key)


def text_of(row: Row, key: str) -> str:
    """A text, taken out of the row. Raises CellFault."""
    value = taken(row, key)
    if not isinstance(value, str):
        raise CellFault(key, "wrong_type", "text", described(value))
    return value


def optional_text(row: Row, key: str) -> str:
    """A text, taken out of the row; "" where it is absent or null, as trainers read it. Raises CellFault."""
    value = row.pop(key, None)
    if value is not None and not isinstance(value, str):
        raise CellFault(key, "wrong_type", "text, or null", described(value))
    return value or ""


def messages_of(row: Row, key: str) -> list[Row]:
    """A list of chat messages, taken out of the row. Raises CellFault."""
    value = taken(row, key)
    if not is_messages(value):
        raise CellFault(key, "wrong_type", "a list of messages with role and content", described(value))
    return list(value)


def put(row: Row, **sides: Any) -> Row:
    """The row with its sides. A key of theirs that is still in the row would be lost, so it is a fault."""
    for name in sides:
        if name in row:
            raise CellFault(name, "said_twice", f"{name} once", "two")
    return row | sides


def is_message(value: Any) -> bool:
    """Whether a value looks like one chat message."""
    return isinstance(value, dict) and isinstance(value.get("role"), str) and ("content" in value or "tool_calls" in value)


def is_messages(value: Any) -> bool:
    """Whether a value is a list of chat messages, not empty."""
    return isinstance(value, list) and bool(value) and all(map(is_message, value))


def message(role: str, content: Any) -> Row:
    """A chat message."""
    return {"role": role, "content": content}


def all_have(rows: Sequence[Any], *keys: str) -> bool:
    """Whether there are rows and all of them are objects with these keys."""
    return bool(rows) and all(isinstance(row, dict) and all(key in row for key in keys) for row in rows)


def none_has(rows: Sequence[Any], *keys: str) -> bool:
    """Whether no row has any of these keys."""
    return not any(isinstance(row, dict) and key in row for row in rows for key in keys)


def all_text(rows: Sequence[Any], *keys: str) -> bool:
    """Whether all rows have text under all of these keys."""
    return all_have(rows, *keys) and all(isinstance(row[key], str) for row in rows for key in keys)


def never(rows: Sequence[Any], path: Path) -> str | None:
    """The recogniser of formats whose rows look like another's: they have to be named."""
    return None
