"""TRL: rows with an explicit prompt, as conversations or as plain text; and OpenRLHF, whose rows are close to them.

TRL reads a ``tools`` column as a list of JSON schemas or as its JSON text, and tool calls inside the messages in the wire form.
``ref_chosen_logps`` and ``ref_rejected_logps`` are sums over the completion's tokens, which is what a round holds.
"""
from __future__ import annotations

from typing import Final

from core.export.pairs import TEMPLATE, TOOLS, ExportPair, Message
from core.export.shape import EXTRAS, Row, Shape, sides, single
from core.export.tool_calls import WireForm
from core.export.turns import Unfit

_ROLES: Final = ("prompt", "chosen", "rejected")


def wired(pair: ExportPair) -> tuple[list[Message], list[Message], list[Message]]:
    """The three sides as messages, bare tool calls in the wire form; both answers continue the prompt's numbering. Unfit for a message
    that says nothing."""
    prompt, chosen, rejected = sides(pair)
    if any(message.get("content") is None and not message.get("tool_calls") for message in (*prompt, *chosen, *rejected)):
        # a template fails there, or writes the word None
        raise Unfit("a message has neither text nor a call")
    form = WireForm()
    head = form.messages(prompt)
    return head, form.copy().messages(chosen), form.copy().messages(rejected)


def _conversational(pair: ExportPair) -> Row:
    return {**dict(zip(_ROLES, wired(pair), strict=True)), **pair.rendered}


def _plain(pair: ExportPair) -> Row:
    if pair.has_messages:
        raise Unfit("it has messages, and text is made of them by a model's own chat template")
    return {"prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected}


def _whole_sides(pair: ExportPair) -> Row:
    prompt, chosen, rejected = wired(pair)
    return {"chosen": [*prompt, single(chosen, "chosen")], "rejected": [*prompt, single(rejected, "rejected")]}


def _with_prompt(pair: ExportPair) -> Row:
    return dict(zip(_ROLES, wired(pair), strict=True))


SHAPES: Final = (
    Shape("trl", "TRL", "conversations with an explicit prompt", _conversational, (*_ROLES, TOOLS, TEMPLATE), EXTRAS,
          renders=(TOOLS, TEMPLATE), fill={TEMPLATE: {}}),
    Shape("trl-plain", "TRL", "plain text with an explicit prompt", _plain, _ROLES, EXTRAS, instead="trl",
          notes=("TRL puts the end-of-sequence token behind each answer that does not end with it.",)),
    Shape("openrlhf", "OpenRLHF", "both sides as whole conversations, the reader's default", _whole_sides, _ROLES[1:], instead="openrlhf-prompt",
          notes=("Read with `--data.apply_chat_template` and without `--data.prompt_key`: the last message of a side is its answer. "
                 "Older versions have these options without their group (`--apply_chat_template`).",)),
    Shape("openrlhf-prompt", "OpenRLHF", "prompt and answers apart", _with_prompt, _ROLES, instead="trl",
          notes=("Read with `--data.apply_chat_template --data.prompt_key prompt`; older versions have these options without their group.",)),
)
