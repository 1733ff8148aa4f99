"""axolotl's preference types (``rl: dpo``), each a format of its own: the ``chatml.*`` types and ``chat_template.default``.

A type says which keys hold the question and the two answers. Its markup (``<|im_start|>`` and so on) belongs to training and is not added
here. Rows that have a ``system`` key become messages, with a system turn where it is not empty; other texts stay texts. Roles are user,
assistant, system and tool, or what ``roles.ROLE`` declares for them, as axolotl's ``roles`` does.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from core.rounds.columns import CellFault
from core.rounds.readers.chat_turns import answer_apart, with_roles
from core.rounds.readers.format import Format, Option
from core.rounds.readers.preference import Recognise, Shape, preference_format
from core.rounds.readers.row_parts import (
    Counts,
    Row,
    all_have,
    all_text,
    is_message,
    message,
    messages_of,
    never,
    none_has,
    optional_text,
    put,
    taken,
    text_of,
)
from core.rounds.strict import described

_ROLES: Final = ("user", "assistant", "system", "tool")
_QUESTIONS: Final = ("prompt", "input", "question", "instruction")
"""Where ``chatml.argilla`` looks for the question, in this order."""


def _conversation(row: Row, question: str, chosen: str, rejected: str) -> Row:
    """The row with its texts as they are, or as messages where it has a ``system`` key."""
    if "system" not in row:
        return put(row, prompt=question, chosen=chosen, rejected=rejected)
    system = optional_text(row, "system")
    turns = [*([message("system", system)] if system else []), message("user", question)]
    return put(row, prompt=turns, chosen=[message("assistant", chosen)], rejected=[message("assistant", rejected)])


def _keyed(question: str) -> Shape:
    """The types that differ only in the key of the question."""
    def shape(row: Row, options: Mapping[str, str], counts: Counts) -> Row:
        return _conversation(row, text_of(row, question), text_of(row, "chosen"), text_of(row, "rejected"))

    return shape


def _argilla(row: Row, options: Mapping[str, str], counts: Counts) -> Row:
    question = text_of(row, next((key for key in _QUESTIONS if key in row), _QUESTIONS[-1]))
    sides = [text_of(row, side if side in row else f"{side}_response") for side in ("chosen", "rejected")]
    return _conversation(row, question, *sides)


def _chat(row: Row, options: Mapping[str, str], counts: Counts) -> Row:
    """``chatml.argilla_chat`` and ``chatml.ultra``: conversations, whose last messages are the answers where all before them is the same on
    both sides, and whose shared turns are the prompt otherwise; a ``system`` text that is not empty comes before them."""
    system = optional_text(row, "system")
    head = [message("system", system)] if system else []
    return answer_apart(row | {side: [*head, *with_roles(messages_of(row, side), _roles(options), side)] for side in ("chosen", "rejected")})


def _template(row: Row, options: Mapping[str, str], counts: Counts) -> Row:
    """``chat_template.default``: the conversation so far, and one answer a side: text, a message, or a list that ends with it. The trainer
    takes the last message of a list alone, so what stands before it must be the conversation so far: no turn is left out in silence."""
    names = {name: options.get(f"field_{name}", name) for name in ("messages", "chosen", "rejected")}
    before = taken(row, names["messages"])
    prompt = [message("user", before)] if isinstance(before, str) else messages_of({names["messages"]: before}, names["messages"])
    sides = {side: [_last(taken(row, names[side]), names[side], before)] for side in ("chosen", "rejected")}
    roles = _roles(options)
    return put(row, prompt=with_roles(prompt, roles, names["messages"]), **{side: with_roles(sides[side], roles, names[side]) for side in sides})


def _roles(options: Mapping[str, str]) -> dict[str, str]:
    """axolotl's ``roles``: a role of the file -> the role that it stands for; its own roles need no declaration."""
    return dict(zip(_ROLES, _ROLES, strict=True)) | {name: role for role in _ROLES for name in options.get(f"roles.{role}", role).split(",")}


def _last(value: Any, place: str, before: Any) -> Row:
    if isinstance(value, str):
        return message("assistant", value)
    if isinstance(value, list) and value[:-1] not in ([], before, [message("user", before)]):
        raise CellFault(place, "turns_left_out", "one answer, or the conversation so far and then one answer", described(value))
    answer: Any = value[-1] if isinstance(value, list) and value else value
    if not is_message(answer):
        raise CellFault(place, "wrong_type", "text, a message, or a list that ends with one", described(value))
    return dict(answer)


def _has_question(key: str, *others: str) -> Recognise:
    def recognise(rows: Sequence[Any], path: Path) -> str | None:
        if all_text(rows, key, "chosen", "rejected") and none_has(rows, *others):
            return f"every row looked at has {key}, chosen and rejected as text"
        return None

    return recognise


def _has_responses(rows: Sequence[Any], path: Path) -> str | None:
    if all_text(rows, "chosen_response", "rejected_response") and all(any(key in row for key in _QUESTIONS) for row in rows):
        return "every row looked at has chosen_response and rejected_response"
    return None


def _has_system(rows: Sequence[Any], path: Path) -> str | None:
    if all_text(rows, "prompt", "chosen", "rejected") and all_have(rows, "system") and none_has(rows, "question", "input", "instruction"):
        return "every row looked at has system, prompt, chosen and rejected as text"
    return None


def _has_messages(rows: Sequence[Any], path: Path) -> str | None:
    if all_have(rows, "messages", "chosen", "rejected") and none_has(rows, "score_chosen", "prompt", "chosen_rating", "chosen-rating"):
        return "every row looked at has messages, chosen and rejected"
    return None


_RATINGS: Final = ("chosen_rating", "chosen-rating")
_TYPES: Final[tuple[tuple[str, Shape, Recognise], ...]] = (
    ("chatml.intel", _keyed("question"), _has_question("question", "prompt", "input", "instruction", *_RATINGS)),
    ("chatml.icr", _keyed("input"), _has_question("input", "prompt", "question", "instruction", *_RATINGS)),
    ("chatml.prompt_pairs", _keyed("prompt"), _has_system),
    ("chatml.argilla", _argilla, _has_responses),
)
_ROLE_NAMES: Final = {f"roles.{role}": Option(f"axolotl's roles, {role}: names with commas between them; {role} where left out") for role in _ROLES}
_FIELDS: Final = {
    f"field_{name}": Option(f"axolotl's field_{name}: {name} where left out") for name in ("messages", "chosen", "rejected")
}


def _typed(name: str, shape: Shape, recognise: Recognise, options: Mapping[str, Option] | None = None) -> Format:
    return preference_format(f"axolotl:{name}", f"axolotl preference type {name}", shape, recognise, options)


FORMATS: Final = (
    *(_typed(*item) for item in _TYPES), *(_typed(name, _chat, never, _ROLE_NAMES) for name in ("chatml.argilla_chat", "chatml.ultra")),
    _typed("chat_template.default", _template, _has_messages, _FIELDS | _ROLE_NAMES),
)
