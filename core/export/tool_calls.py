"""Tool calls as trainers write them. A call that is in the wire form already is not touched.

The wire form (OpenAI, TRL) is ``{"id", "type": "function", "function": {"name", "arguments"}}``, and a tool's message names the
call that it answers in ``tool_call_id``. A *bare* call, ``{"name", "arguments"}``, gets the wire form, since chat templates and
readers look for it; arguments that are an object stay an object, arguments that are text stay text.
"""
from __future__ import annotations

import json
from typing import Any, Final

from core.export.pairs import Message
from core.export.turns import Unfit

_BARE: Final = ("name", "arguments")
_DIGITS: Final = "04d"


class WireForm:
    """Numbers the bare calls of one conversation, and links the tools' messages to them, in order."""

    def __init__(self, numbered: int = 0, waiting: tuple[str, ...] = ()) -> None:
        self._numbered, self._waiting = numbered, list(waiting)

    def copy(self) -> WireForm:
        """For the second side of a pair, which continues the same prompt."""
        return WireForm(self._numbered, tuple(self._waiting))

    def messages(self, given: list[Message]) -> list[Message]:
        """The messages with every bare call in the wire form."""
        return [self._message(message) for message in given]

    def _message(self, message: Message) -> Message:
        if message["role"] == "tool" and self._waiting and "tool_call_id" not in message:
            return {**message, "tool_call_id": self._waiting.pop(0)}
        calls = message.get("tool_calls")
        if not calls or not any(is_bare(call) for call in calls):
            return message
        return {**message, "tool_calls": [self._call(call) if is_bare(call) else call for call in calls]}

    def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        name = call.get("id", f"call_{self._numbered:{_DIGITS}}")
        self._numbered += 1
        self._waiting.append(name)
        rest = {key: value for key, value in call.items() if key not in (*_BARE, "id", "type")}
        return {"id": name, "type": "function", "function": {key: call[key] for key in _BARE if key in call}, **rest}


def is_bare(call: dict[str, Any]) -> bool:
    """Whether a call names its function itself, instead of under ``function``."""
    return "function" not in call and "name" in call


def function_of(call: dict[str, Any]) -> dict[str, Any]:
    """Name and arguments of a call in either form, for formats that say nothing else of it, or Unfit."""
    inner = call if is_bare(call) else call.get("function")
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
        raise Unfit("a tool call names no function")
    if "arguments" not in inner:
        raise Unfit("a tool call has no arguments")
    more = sorted({*call, *inner} - {*_BARE, "id", "type", "function"})
    if more:
        raise Unfit(f"a tool call has {', '.join(more)}")
    return {key: inner[key] for key in _BARE}


def check_order(messages: list[Message]) -> None:
    """Unfit where a tool's message names another call than the next one that waits for an answer: formats without ids tell by the order
    which call it answers."""
    waiting: list[Any] = []
    for message in messages:
        if message.get("tool_calls"):
            waiting = [call.get("id") for call in message["tool_calls"]]
        elif message["role"] == "tool":
            answered, asked = message.get("tool_call_id"), waiting.pop(0) if waiting else None
            if answered is not None and asked is not None and answered != asked:
                raise Unfit("its tool results are not in the order of its calls")


def with_text_arguments(messages: list[Message]) -> list[Message]:
    """The messages with arguments as JSON text, as OpenAI's API has them; arguments that are text stay as they are."""
    return [
        {**message, "tool_calls": [_text_arguments(call) for call in message["tool_calls"]]} if message.get("tool_calls") else message
        for message in messages
    ]


def _text_arguments(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    if not isinstance(function, dict) or "arguments" not in function or isinstance(function["arguments"], str):
        return call
    return {**call, "function": {**function, "arguments": json_text(function["arguments"])}}


def json_text(value: Any) -> str:
    """A JSON value as text inside another document."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
