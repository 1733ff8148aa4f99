"""axolotl: rows for ``rl: dpo`` under each of its dataset types. All of them read role and text of a message alone, so a pair with
tool calls or tools is refused: they would be lost in silence."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from core.export.llamafactory import told_system
from core.export.pairs import ExportPair, Message
from core.export.shape import Row, Shape, plain_text, sides, single
from core.export.turns import Unfit

_ROLES: Final = ("system", "user", "assistant")


def _texts(pair: ExportPair) -> tuple[list[Message], Message, Message]:
    prompt, chosen, rejected = sides(pair)
    answers = single(chosen, "chosen"), single(rejected, "rejected")
    for message in (*prompt, *answers):
        plain_text(message, "conversation")
        if message["role"] not in _ROLES:
            raise Unfit(f"a message is a {message['role']}'s")
    if any(answer["role"] != "assistant" for answer in answers):
        raise Unfit("an answer is not an assistant's")
    return prompt, *answers


def _chat_template(pair: ExportPair) -> Row:
    prompt, chosen, rejected = _texts(pair)
    return {"messages": prompt, "chosen": chosen, "rejected": rejected}


def _argilla_chat(pair: ExportPair) -> Row:
    prompt, chosen, rejected = _texts(pair)
    return {"chosen": [*prompt, chosen], "rejected": [*prompt, rejected]}


def _chatml(pair: ExportPair, names: tuple[str, str, str]) -> Row:
    prompt, chosen, rejected = _texts(pair)
    system, turns = told_system(prompt)
    if [turn["role"] for turn in turns] != ["user"]:
        raise Unfit("its prompt is more than one user turn")
    asked, one, other = names
    return {"system": system, asked: turns[0]["content"], one: chosen["content"], other: rejected["content"]}


def _ultra(pair: ExportPair) -> Row:
    row = _chatml(pair, ("prompt", "chosen", "rejected"))
    question = {"role": "user", "content": row["prompt"]}
    return row | {side: [question, {"role": "assistant", "content": row[side]}] for side in ("chosen", "rejected")}


def _shape(kind: str, title: str, row: Callable[[ExportPair], Row], columns: tuple[str, ...]) -> Shape:
    name = f"axolotl-{kind.replace('.', '-').replace('_', '-')}"
    last = name == "axolotl-chat-template-default"
    return Shape(name, "axolotl", title, row, columns, instead="trl" if last else "axolotl-chat-template-default",
                 notes=(f"Read with `rl: dpo` and the dataset type `{kind}`.",))


def _columns(*names: str) -> tuple[Callable[[ExportPair], Row], tuple[str, ...]]:
    asked, one, other = names
    return partial(_chatml, names=(asked, one, other)), ("system", *names)


SHAPES: Final = (
    _shape("chat_template.default", "prompt messages and one message a side", _chat_template, ("messages", "chosen", "rejected")),
    _shape("chat_template.argilla_chat", "both sides as whole conversations", _argilla_chat, ("chosen", "rejected")),
    _shape("chatml.intel", "system, question and two answers", *_columns("question", "chosen", "rejected")),
    _shape("chatml.icr", "system, input and two answers", *_columns("input", "chosen", "rejected")),
    _shape("chatml.argilla", "system, instruction and two answers", *_columns("instruction", "chosen_response", "rejected_response")),
    _shape("chatml.prompt_pairs", "system, prompt and two answers", *_columns("prompt", "chosen", "rejected")),
    _shape("chatml.ultra", "UltraFeedback's rows", _ultra, ("system", "prompt", "chosen", "rejected")),
)
