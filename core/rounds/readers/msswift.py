"""ms-swift's preference rows: ``messages`` end with the chosen answer; ``rejected_response`` or ``rejected_messages`` hold the other one.

A ``rejected_response`` that is text stands in the place of the last message; a list of messages in the place of all that follows the last
user turn. ``rejected_messages`` are a whole conversation. ``margin``, ``tools`` and the rest are kept.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from core.rounds.columns import CellFault
from core.rounds.readers.preference import (
    Counts,
    Row,
    all_have,
    is_messages,
    message,
    messages_of,
    none_has,
    preference_format,
    put,
)
from core.rounds.strict import described

_REJECTED: Final = ("rejected_response", "rejected_messages")


def _shape(row: Row, options: Mapping[str, str], counts: Counts) -> Row:
    messages = messages_of(row, "messages")
    given = [key for key in _REJECTED if row.get(key) is not None]
    if len(given) != 1:
        raise CellFault(_REJECTED[0], "missing_field" if not given else "said_twice", f"one of {' and '.join(_REJECTED)}", f"{len(given)} of them")
    value = row.pop(given[0])
    row = {name: item for name, item in row.items() if name not in _REJECTED}
    if given[0] == "rejected_messages":
        return put(row, chosen=messages, rejected=value)
    if isinstance(value, str):
        return put(row, prompt=messages[:-1], chosen=[_answer(messages[-1])], rejected=[message("assistant", value)])
    if not is_messages(value):
        raise CellFault("rejected_response", "wrong_type", "text, or a list of messages", described(value))
    asked = 1 + max((position for position, item in enumerate(messages) if item["role"] == "user"), default=-1)
    return put(row, prompt=messages[:asked], chosen=messages[asked:], rejected=value)


def _answer(last: Row) -> Row:
    if last["role"] != "assistant":
        raise CellFault("messages", "turn_order", "messages that end with the chosen answer", described(last["role"]))
    return last


def _recognise(rows: Sequence[Any], path: Path) -> str | None:
    if not all_have(rows, "messages") or not none_has(rows, "chosen", "rejected"):
        return None
    if all(is_messages(row["messages"]) and any(key in row for key in _REJECTED) for row in rows):
        return f"every row looked at has messages and one of {' and '.join(_REJECTED)}"
    return None


FORMATS: Final = (preference_format("ms-swift", "ms-swift preference rows", _shape, _recognise),)
