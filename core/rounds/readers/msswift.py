"""ms-swift's preference rows: ``messages`` end with the chosen answer; ``rejected_response`` or ``rejected_messages`` hold the other one.

Roles are those of ms-swift's own reader, its other names for them included. A ``tool_call`` turn holds JSON with name and arguments and
becomes a tool call of the assistant; such turns in a row are one turn with several calls, and one behind the assistant's text belongs to
it, as ms-swift's templates join them. A ``tool_response`` is a tool's message.

``rejected_response`` is a text or a list of messages (3.12 or later) in the place of all that follows the last user turn. Where more than
one message follows it, releases differ for a text: before 3.8 it stands for the last message alone, later for what follows the last
tool's message, in release 4 for all of it. Such a row is quarantined unless ``replaces`` says which. Several rejected texts are no pair:
ms-swift's preference training takes none of them. ``rejected_messages`` are a whole conversation. ``margin``, ``tools`` and the rest
are kept.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from core.canonical import canonical_bytes
from core.rounds.columns import CellFault
from core.rounds.readers.chat_turns import calling, functions_of, role_of
from core.rounds.readers.format import Option
from core.rounds.readers.preference import preference_format
from core.rounds.readers.row_parts import Counts, Row, all_have, is_messages, message, messages_of, none_has, put
from core.rounds.strict import described

_REJECTED: Final = ("rejected_response", "rejected_messages")
_REPLACES: Final = ("message", "turn")
_CALL: Final = "tool_call"
_NAMES: Final = {
    "system": ("system",), "user": ("user", "human"), "assistant": ("assistant", "gpt", "bot"), _CALL: (_CALL, "function_call", "function-call"),
    "tool": ("tool", "tool_response", "function_response", "function-response", "observation", "observations"),
}
_ROLES: Final = {name: role for role, names in _NAMES.items() for name in names}
_ARGUMENTS: Final = ("arguments", "parameters")
_MEDIA: Final = tuple(f"rejected_{name}" for name in ("videos", "audios", "objects"))


def _shape(row: Row, options: Mapping[str, str], counts: Counts) -> Row:
    messages = messages_of(row, "messages")
    given = [key for key in _REJECTED if row.get(key) is not None]
    if len(given) != 1:
        raise CellFault(_REJECTED[0], "missing_field" if not given else "said_twice", f"one of {' and '.join(_REJECTED)}", f"{len(given)} of them")
    value = row.pop(given[0])
    row = _same_tools({name: item for name, item in row.items() if name not in _REJECTED})
    if given[0] == "rejected_messages":
        if not is_messages(value):
            raise CellFault("rejected_messages", "wrong_type", "a list of messages with role and content", described(value))
        return put(row, chosen=_turns(messages, "messages"), rejected=_turns(value, "rejected_messages"))
    rejected = _rejected(value)
    start = _answer_start(messages)
    if isinstance(value, str):
        start = _replaced(messages, start, options.get("replaces"))
    chosen = _answer(_turns(messages[start:], "messages", start), "messages")
    return put(row, prompt=_turns(messages[:start], "messages"), chosen=chosen, rejected=rejected)


def _same_tools(row: Row) -> Row:
    """The row without a second list of tools that says what the first does, and with no media for the rejected side alone."""
    for name in _MEDIA:
        if row.get(name):
            raise CellFault(name, "unread_media", "text alone, where the sides differ", described(row[name]))
    if "rejected_tools" in row and canonical_bytes(row["rejected_tools"]) == canonical_bytes(row.get("tools")):
        return {name: value for name, value in row.items() if name != "rejected_tools"}
    if row.get("rejected_tools") is not None:
        raise CellFault("rejected_tools", "said_twice", "the tools of the chosen side", "others")
    return row


def _answer_start(messages: list[Row]) -> int:
    """Where what follows the last user turn begins; behind the system turn where there is none."""
    roles = [role_of(item, _ROLES, f"messages[{position}]") for position, item in enumerate(messages)]
    return 1 + max((position for position, role in enumerate(roles) if role == "user" or (role == "system" and not position)), default=-1)


def _replaced(messages: list[Row], start: int, replaces: str | None) -> int:
    """Where the answer begins that a rejected text stands for."""
    behind = len(messages) - start
    if behind <= 1 or replaces == _REPLACES[1]:
        return start
    if replaces is None:
        raise CellFault(
            "rejected_response", "ambiguous_rejected",
            "one message behind the last user turn, or replaces=turn or replaces=message declared: releases of ms-swift differ",
            f"{behind} messages",
        )
    return len(messages) - 1


def _rejected(value: Any) -> list[Row]:
    """The rejected answer: a text, the one text of a list, or messages none of which is a user's."""
    texts = value if isinstance(value, list) and value and all(isinstance(item, str) for item in value) else [value]
    if len(texts) > 1:
        raise CellFault("rejected_response", "several_rejected", "one rejected answer: one row for each pair", f"{len(texts)} texts")
    if isinstance(texts[0], str):
        return [message("assistant", texts[0])]
    if not is_messages(value):
        raise CellFault("rejected_response", "wrong_type", "text, or a list of messages", described(value))
    return _answer(_turns(value, "rejected_response"), "rejected_response")


def _answer(turns: list[Row], place: str) -> list[Row]:
    roles = [turn["role"] for turn in turns]
    if not turns or roles[-1] != "assistant" or "user" in roles:
        raise CellFault(place, "turn_order", "messages that end with an answer", described(roles[-1]) if roles else "no answer")
    return turns


def _turns(messages: Sequence[Row], place: str, start: int = 0) -> list[Row]:
    """ms-swift's messages as ours. ``start``: the number of the first, for errors."""
    told: list[Row] = []
    for position, item in enumerate(messages, start=start):
        here = f"{place}[{position}]"
        role = role_of(item, _ROLES, here)
        if role == _CALL:
            _call(told, item, here)
            continue
        if not isinstance(item.get("content"), str) and not item.get("tool_calls"):
            raise CellFault(f"{here}.content", "wrong_type", "text", described(item.get("content")))
        told.append({**item, "role": role})
    return told


def _call(told: list[Row], item: Row, place: str) -> None:
    """Add a ``tool_call`` turn to the assistant's turn before it, or as a turn of its own."""
    made = calling(functions_of(item.get("content"), f"{place}.content", several=False, names=_ARGUMENTS))
    rest = {name: value for name, value in item.items() if name not in ("role", "content")}
    last = told[-1] if told and told[-1]["role"] == "assistant" else None
    if last is None:
        told.append(made | rest)
        return
    for name, value in rest.items():
        if name not in last or last[name] != value:
            raise CellFault(f"{place}.{name}", "said_twice", f"{name} as the turn before it has it: both are one turn", described(value))
    told[-1] = {**last, "tool_calls": [*(last.get("tool_calls") or ()), *made["tool_calls"]]}


def _recognise(rows: Sequence[Any], path: Path) -> str | None:
    if not all_have(rows, "messages") or not none_has(rows, "chosen", "rejected"):
        return None
    if all(is_messages(row["messages"]) and any(key in row for key in _REJECTED) for row in rows):
        return f"every row looked at has messages and one of {' and '.join(_REJECTED)}"
    return None


_OPTIONS: Final = {
    "replaces": Option("what a rejected text stands for where several messages follow the last user turn: the last, or all", _REPLACES),
}
FORMATS: Final = (preference_format("ms-swift", "ms-swift preference rows", _shape, _recognise, _OPTIONS),)
