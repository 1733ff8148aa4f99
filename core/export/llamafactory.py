"""LLaMA-Factory: ``ranking`` rows in the alpaca and the sharegpt form, with the ``dataset_info.json`` that names their columns.

Its reader skips a conversation that does not alternate (``human`` or ``observation``, then ``gpt`` or ``function_call``) with no more
than a warning, so such a pair is refused here. A ``function_call`` holds the call as JSON; it has no room for text beside it.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from core.export.pairs import TOOLS, ExportPair, Message
from core.export.shape import Row, Shape, plain_text, sides, single
from core.export.tool_calls import check_order, function_of, json_text
from core.export.turns import Unfit

_FROM: Final = {"user": "human", "assistant": "gpt", "tool": "observation", "system": "system"}
_ASKING: Final = ("human", "observation")
_LINKS: Final = frozenset({"role", "content", "tool_calls", "tool_call_id", "name"})
"""Members of a message that this form says, or (the last two) that link a tool's message to its call, which order says here."""
_ALPACA_COLUMNS: Final = {
    "prompt": "instruction", "query": "input", "chosen": "chosen", "rejected": "rejected", "system": "system", "history": "history",
}


def _alpaca(pair: ExportPair) -> Row:
    prompt, chosen, rejected = sides(pair)
    system, turns = told_system(prompt)
    texts = [plain_text(turn, "prompt") for turn in turns]
    roles = [turn["role"] for turn in turns]
    if len(turns) % len(_ASKING) == 0 or any(role != ("user", "assistant")[place % len(_ASKING)] for place, role in enumerate(roles)):
        raise Unfit("its prompt does not alternate between user and assistant up to a user turn")
    return {
        "instruction": texts[-1], "input": "", "chosen": _answer(chosen, "chosen"), "rejected": _answer(rejected, "rejected"), "system": system,
        "history": [list(turn) for turn in zip(texts[:-1:len(_ASKING)], texts[1::len(_ASKING)], strict=True)],
    }


def system_of(prompt: list[Message]) -> tuple[str, list[Message]]:
    """The system prompt that a conversation begins with ("" where there is none), and the rest."""
    if prompt and prompt[0]["role"] == "system":
        return plain_text(prompt[0], "prompt"), prompt[1:]
    return "", prompt


def told_system(prompt: list[Message]) -> tuple[str, list[Message]]:
    """The same where "" means that there is none, or Unfit: an empty system prompt is not the model's own."""
    system, turns = system_of(prompt)
    if not system and len(turns) < len(prompt):
        raise Unfit("its system prompt is empty, which is no system prompt there")
    return system, turns


def _answer(messages: list[Message], side: str) -> str:
    message = single(messages, side)
    if message["role"] != "assistant":
        raise Unfit(f"its {side} answer is not an assistant's")
    return plain_text(message, f"{side} answer")


def _sharegpt(pair: ExportPair) -> Row:
    prompt, chosen, rejected = sides(pair)
    system, turns = system_of(prompt)
    check_order(turns)
    said = [_turn(turn) for turn in turns]
    for place, turn in enumerate(said):
        if (turn["from"] in _ASKING) != (place % len(_ASKING) == 0):
            raise Unfit("its prompt does not alternate between asking and answering turns")
    if len(said) % len(_ASKING) == 0:
        raise Unfit("its prompt does not end with a user's or a tool's message")
    row: Row = {
        "conversations": [*({"from": "system", "value": system} for _ in prompt[len(turns):]), *said],
        "chosen": _reply(chosen, "chosen"), "rejected": _reply(rejected, "rejected"),
    }
    return row if pair.tools is None else {**row, "tools": pair.tools if isinstance(pair.tools, str) else json_text(pair.tools)}


def _reply(messages: list[Message], side: str) -> Row:
    turn = _turn(single(messages, side))
    if turn["from"] not in ("gpt", "function_call"):
        raise Unfit(f"its {side} answer is not an assistant's")
    return turn


def _turn(message: Message) -> Row:
    if set(message) - _LINKS:
        raise Unfit(f"a message has {', '.join(sorted(set(message) - _LINKS))}")
    role, content, calls = message["role"], message.get("content"), message.get("tool_calls")
    if role not in _FROM or role == "system":
        raise Unfit(f"a message is a {role}'s")
    if not calls:
        if not isinstance(content, str):
            raise Unfit("a message has neither text nor a call")
        return {"from": _FROM[role], "value": content}
    if content:
        raise Unfit("a message has text beside its tool call")
    functions: Any = [function_of(call) for call in calls]
    return {"from": "function_call", "value": json_text(functions[0] if len(functions) == 1 else functions)}


def _info(file: str, name: str, **more: Any) -> Mapping[str, Any]:
    return {"dataset_info.json": {name: {"file_name": file, "ranking": True, **more}}}


def _alpaca_info(name: str, file: str) -> Mapping[str, Any]:
    return _info(file, name, columns=_ALPACA_COLUMNS)


def _sharegpt_info(name: str, file: str) -> Mapping[str, Any]:
    columns = {"messages": "conversations", "chosen": "chosen", "rejected": "rejected", "tools": "tools"}
    tags = {
        "role_tag": "from", "content_tag": "value", "user_tag": "human", "assistant_tag": "gpt", "observation_tag": "observation",
        "function_tag": "function_call", "system_tag": "system",
    }
    return _info(file, name, formatting="sharegpt", columns=columns, tags=tags)


def _sharegpt_row(pair: ExportPair) -> Row:
    # the reader indexes the tools column of every row once dataset_info.json names it
    return {"tools": "", **_sharegpt(pair)}


SHAPES: Final = (
    Shape("llamafactory-alpaca", "LLaMA-Factory", "alpaca ranking rows", _alpaca, tuple(_ALPACA_COLUMNS.values()),
          instead="llamafactory-sharegpt", beside=_alpaca_info, notes=("Point `dataset_dir` at this folder: dataset_info.json is in it.",)),
    Shape("llamafactory-sharegpt", "LLaMA-Factory", "sharegpt ranking rows", _sharegpt_row, ("conversations", "chosen", "rejected", "tools"),
          instead="trl", beside=_sharegpt_info, renders=(TOOLS,), notes=("Point `dataset_dir` at this folder: dataset_info.json is in it.",)),
)
