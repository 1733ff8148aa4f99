"""OpenAI's preference fine-tuning rows: ``input`` with the conversation, ``preferred_output`` and ``non_preferred_output``.

``input`` is an object with ``messages`` and maybe ``tools`` and ``parallel_tool_calls``; some programs write the bare list of messages.
``tools`` is kept under that name, what else ``input`` holds under ``input``. Roles are those of the API; ``function``, which the API
deprecates, is none of them.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from core.rounds.columns import CellFault
from core.rounds.readers.chat_turns import OWN_ROLES, with_roles
from core.rounds.readers.preference import preference_format
from core.rounds.readers.row_parts import Counts, Row, all_have, messages_of, put, taken
from core.rounds.strict import described

_SIDES: Final = ("preferred_output", "non_preferred_output")


def _shape(row: Row, options: Mapping[str, str], counts: Counts) -> Row:
    given = taken(row, "input")
    if isinstance(given, list):
        given = {"messages": given}
    if not isinstance(given, dict):
        raise CellFault("input", "wrong_type", "an object with messages, or a list of messages", described(given))
    rest = dict(given)
    prompt = with_roles(_at("input", rest, "messages"), OWN_ROLES, "input.messages")
    tools = {"tools": rest.pop("tools")} if "tools" in rest else {}
    chosen, rejected = (with_roles(messages_of(row, side), OWN_ROLES, side) for side in _SIDES)
    return put(row, prompt=prompt, chosen=chosen, rejected=rejected, **tools) | ({"input": rest} if rest else {})


def _at(place: str, row: Row, key: str) -> list[Row]:
    try:
        return messages_of(row, key)
    except CellFault as fault:
        raise CellFault(f"{place}.{fault.field}", fault.code, fault.expected, fault.got) from None


def _recognise(rows: Sequence[Any], path: Path) -> str | None:
    return f"every row looked at has input, {' and '.join(_SIDES)}" if all_have(rows, "input", *_SIDES) else None


FORMATS: Final = (preference_format("openai", "OpenAI preference fine-tuning rows", _shape, _recognise),)
