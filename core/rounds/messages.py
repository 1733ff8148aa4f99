"""Chat messages: checked, split from their shared prompt at whole turns, and flattened to the text that is compared.

Flattened text (spec: engine rules 3): for each message ``role`` LF ``content`` (null = empty) LF, then the RFC 8785
bytes of ``tool_calls`` where present; arguments given as a string stay a string. The messages themselves are kept as
RFC 8785 bytes, so an export loses nothing and gains no key.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from core.canonical import canonical_bytes
from core.rounds.columns import CellFault
from core.rounds.strict import described

Message = dict[str, Any]
_USER: Final = "user"
ROLES: Final = ("system", "developer", _USER, "assistant", "tool")
"""The roles of a chat as OpenAI's API has them, and as chat templates and trainers read them without being told."""

_PARTS: Final = (
    "text, or null: a list of parts is not one text, and parts are not joined unasked. Where a message has one text part only, write that text as "
    "its content; leave pairs with other parts out"
)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a pair: its text, and the RFC 8785 bytes of its messages where it was given as a list."""

    text: str
    messages: str | None = None


def flattened(messages: list[Message]) -> str:
    """The text of a message list."""
    return "".join(_flattened(message) for message in messages)


def _flattened(message: Message) -> str:
    calls = message.get("tool_calls")
    tail = "" if calls is None else canonical_bytes(calls).decode("utf-8")
    return f"{message['role']}\n{message.get('content') or ''}\n{tail}"


def checked_messages(value: list[Any], field: str) -> list[Message]:
    """A list as chat messages: each has a role, and content or tool calls. Raises CellFault naming the place under ``field``."""
    for position, message in enumerate(value):
        place = f"{field}[{position}]"
        if not isinstance(message, dict):
            raise CellFault(place, "wrong_type", "a message with role and content", described(message))
        role, content, calls = message.get("role"), message.get("content"), message.get("tool_calls")
        if not isinstance(role, str) or not role:
            raise CellFault(f"{place}.role", "wrong_type" if "role" in message else "missing_field", "text that is not empty", described(role))
        if calls is not None and not (isinstance(calls, list) and all(isinstance(call, dict) for call in calls)):
            raise CellFault(f"{place}.tool_calls", "wrong_type", "a list of objects", described(calls))
        if content is not None and not isinstance(content, str):
            raise CellFault(f"{place}.content", "wrong_type", _PARTS if isinstance(content, list) else "text, or null", described(content))
        if message.get("function_call") is not None:
            # no text of the pair would show it: two pairs that differ in nothing else would be one
            raise CellFault(f"{place}.function_call", "unread_call", "calls under tool_calls", described(message["function_call"]))
        if "content" not in message and calls is None:
            raise CellFault(f"{place}.content", "missing_field", "text, or null", "nothing")
    return value


def shared_turns(chosen: list[Message], rejected: list[Message]) -> int:
    """How many messages at the head of both sides belong to the prompt: the equal ones, up to the last user turn among them."""
    shared = 0
    for position, (one, other) in enumerate(zip(chosen, rejected, strict=False), start=1):
        if canonical_bytes(one) != canonical_bytes(other):
            break
        if one["role"] == _USER:
            shared = position
    return shared


def _joined_prompt(prompt: str | list[Message] | None, moved: list[Message]) -> str | list[Message]:
    """The prompt with the turns moved to its end; turns that it ends with already are not said twice."""
    if not moved:
        if prompt is None:
            raise CellFault("prompt", "missing_field", "a prompt, or user turns that both sides begin with", "nothing")
        return prompt
    if prompt is None:
        return moved
    if isinstance(prompt, list):
        tail = prompt[-len(moved):]
        return prompt if canonical_bytes(tail) == canonical_bytes(moved) else [*prompt, *moved]
    if not any(turn["role"] == _USER and turn.get("content") == prompt for turn in moved):
        raise CellFault("prompt", "prompt_conflict", "the user turn that both sides begin with, or no prompt", described(prompt))
    return moved


def _side(value: str | list[Message]) -> Side:
    if isinstance(value, str):
        return Side(value)
    return Side(flattened(value), canonical_bytes(value).decode("utf-8"))


def _given(row: Mapping[str, Any], field: str) -> str | list[Message]:
    value = row.get(field)
    if value is None:
        remedy = "; a prompt is never guessed from a common prefix" if field == "prompt" else ""
        raise CellFault(field, "missing_field", f"text, or a list of messages{remedy}", "null" if field in row else "nothing")
    if isinstance(value, list):
        return checked_messages(value, field)
    if isinstance(value, str):
        return value
    raise CellFault(field, "wrong_type", "text, or a list of messages", described(value))


def read_sides(row: Mapping[str, Any]) -> tuple[Side, Side, Side]:
    """Prompt, chosen and rejected of a row; each is text or a list of messages. Raises CellFault.

    Chosen and rejected have one form. A prompt may be absent only where both are lists that begin with the same user
    turn: text is never split at a common prefix.
    """
    lacking = row.get("prompt") is None and isinstance(row.get("chosen"), list)
    prompt = None if lacking else _given(row, "prompt")
    chosen, rejected = _given(row, "chosen"), _given(row, "rejected")
    if isinstance(chosen, str) and isinstance(rejected, str) and prompt is not None:
        return _side(prompt), _side(chosen), _side(rejected)
    if isinstance(chosen, str) or isinstance(rejected, str):
        raise CellFault("rejected", "mixed_forms", "chosen and rejected both as text, or both as messages", described(row["rejected"]))
    shared = shared_turns(chosen, rejected)
    return _side(_joined_prompt(prompt, chosen[:shared])), _side(chosen[shared:]), _side(rejected[shared:])
