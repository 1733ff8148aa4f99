"""OpenAI preference fine-tuning: ``input`` with the messages (and tools), and one assistant message on each side. Arguments of tool
calls are JSON text there. The service reads exactly these members, so nothing may be added."""
from __future__ import annotations

import json
from typing import Any, Final

from core.export.pairs import TOOLS, ExportPair, Message
from core.export.shape import Row, Shape, single
from core.export.tool_calls import with_text_arguments
from core.export.trl import wired
from core.export.turns import Unfit
from core.rounds.messages import ROLES


def _row(pair: ExportPair) -> Row:
    prompt, chosen, rejected = wired(pair)
    strange = sorted({message["role"] for message in (*prompt, *chosen, *rejected)} - set(ROLES))
    if strange:
        raise Unfit(f"a message is a {strange[0]}'s")
    given: Row = {"messages": with_text_arguments(prompt)}
    if pair.tools is not None:
        given["tools"] = _schemas(pair.tools)
    if pair.parallel_tool_calls is not None:
        given["parallel_tool_calls"] = pair.parallel_tool_calls
    return {"input": given, "preferred_output": _output(chosen, "chosen"), "non_preferred_output": _output(rejected, "rejected")}


def _schemas(tools: Any) -> Any:
    if not isinstance(tools, str):
        return tools
    try:
        return json.loads(tools)
    except ValueError:
        raise Unfit("its tools are text that is no JSON") from None


def _output(messages: list[Message], side: str) -> list[Message]:
    message = single(messages, side)
    if message["role"] != "assistant":
        raise Unfit(f"its {side} answer is not an assistant's")
    return with_text_arguments([message])


SHAPES: Final = (
    Shape("openai", "OpenAI", "preference fine-tuning rows", _row, ("input", "preferred_output", "non_preferred_output"), extras=(), renders=(TOOLS,),
          notes=("Where an answer has several messages, `--turns divergence` makes one of it.",)),
)
