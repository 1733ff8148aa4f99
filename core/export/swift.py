"""ms-swift: ``messages`` with the chosen answer, beside ``rejected_response`` (a text) or ``rejected_messages`` (a whole conversation).

Tool calls are messages of role ``tool_call`` whose content is the call as JSON, and a tool's message is a ``tool_response``.
"""
from __future__ import annotations

from typing import Final

from core.export.pairs import TOOLS, ExportPair, Message
from core.export.shape import Row, Shape, plain_text, sides, single
from core.export.tool_calls import check_order, function_of, json_text
from core.export.turns import Unfit

_ROLES: Final = ("system", "user", "assistant", "tool")
_KNOWN: Final = frozenset({"role", "content", "tool_calls", "tool_call_id", "name"})


def _tools(pair: ExportPair) -> Row:
    if pair.tools is None:
        return {}
    return {"tools": pair.tools if isinstance(pair.tools, str) else json_text(pair.tools)}


def _response(pair: ExportPair) -> Row:
    prompt, chosen, rejected = _asked(pair)
    text = plain_text(single(rejected, "rejected"), "rejected answer")
    plain_text(single(chosen, "chosen"), "chosen answer")
    return {"messages": _said([*prompt, *chosen]), "rejected_response": text, **_tools(pair)}


def _messages(pair: ExportPair) -> Row:
    prompt, chosen, rejected = _asked(pair)
    tools = _tools(pair)
    row: Row = {"messages": _said([*prompt, *chosen]), "rejected_messages": _said([*prompt, *rejected]), **tools}
    return {**row, "rejected_tools": tools["tools"]} if tools else row


def _asked(pair: ExportPair) -> tuple[list[Message], list[Message], list[Message]]:
    """The sides of a pair whose prompt ends where ms-swift takes it to end, or Unfit."""
    prompt, chosen, rejected = sides(pair)
    if not prompt or prompt[-1]["role"] != "user":
        raise Unfit("its prompt does not end with a user's message, and all that follows the last one is the answer there")
    if any(answer[-1]["role"] != "assistant" for answer in (chosen, rejected) if answer):
        raise Unfit("an answer does not end with an assistant's message")
    return prompt, chosen, rejected


def _said(messages: list[Message]) -> list[Message]:
    check_order(messages)
    for place, message in enumerate(messages):
        if message["role"] not in _ROLES or (message["role"] == "system" and place):
            raise Unfit(f"a message is a {message['role']}'s" + (" behind the first" if place and message["role"] in _ROLES else ""))
        if place and message["role"] == messages[place - 1]["role"] != "tool":
            raise Unfit(f"two {message['role']}'s messages follow each other, which are one there")
    return [turn for message in messages for turn in _turns(message)]


def _turns(message: Message) -> list[Message]:
    if set(message) - _KNOWN:
        raise Unfit(f"a message has {', '.join(sorted(set(message) - _KNOWN))}")
    content, calls = message.get("content"), message.get("tool_calls")
    if not calls:
        if not isinstance(content, str):
            raise Unfit("a message has neither text nor a call")
        return [{"role": "tool_response" if message["role"] == "tool" else message["role"], "content": content}]
    if content:
        raise Unfit("a message has text beside its tool call")
    return [{"role": "tool_call", "content": json_text(function_of(call))} for call in calls]


SHAPES: Final = (
    Shape("ms-swift", "ms-swift", "messages, and the rejected answer as text", _response, ("messages", "rejected_response", "tools"),
          instead="ms-swift-messages", renders=(TOOLS,)),
    Shape("ms-swift-messages", "ms-swift", "messages, and the rejected conversation", _messages,
          ("messages", "rejected_messages", "tools", "rejected_tools"), instead="trl", renders=(TOOLS,), notes=("Needs ms-swift 3.8 or later.",)),
)
