"""The columns of a rollout file: how they may be spelled, the options that name them, and the values they hold."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from core.canonical import canonical_bytes
from core.rounds.columns import CellFault
from core.rounds.messages import Message, checked_messages, flattened
from core.rounds.readers.contents import name_parts
from core.rounds.readers.format import Declared, Option
from core.rounds.strict import described

NAME: Final = "rollouts"
SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "task": ("task_id", "scenario_id"), "run": ("rollout", "rollout_index", "trial"), "prompt": ("prompt", "question"), "messages": ("messages",),
    "response": ("response", "final_text", "completion", "final_assistant_message"), "reward": ("reward",),
    "policy": ("model", "model_version", "policy"), "policy_logp": ("policy_logp",), "ref_logp": ("ref_logp", "reference_logp"),
    "token_count": ("token_count",), "finish_reason": ("finish_reason",), "status": ("judge_status",), "grader": ("grader", "judge_id"),
    "source": ("source",),
}
"""Column names that are recognised where an option does not name the column."""
RANGE: Final = "0..1"
_MEANINGS: Final[Mapping[str, str]] = {
    "task": "column of the task id; declare task=prompt where the prompt itself is the task",
    "run": "column that numbers the rollouts of a task",
    "prompt": "column of the prompt, text or messages",
    "messages": "column of the whole conversation",
    "response": "column of the reply, text or messages",
    "reward": "column of the reward; a column of booleans only when it is named here",
    "policy": "column that names the policy",
    "policy_logp": "column of the policy's log-prob of the reply",
    "ref_logp": "column of the reference's log-prob of the reply",
    "token_count": "column of the tokens that the log-probs are over",
    "finish_reason": "column that says why generation stopped",
    "status": "column of the grader's status; a row with anything but ok there has no reward",
    "grader": "column that names the grader",
    "source": "column that says where the row comes from",
}
OPTIONS: Final[Mapping[str, Option]] = {
    **{name: Option(meaning) for name, meaning in _MEANINGS.items()},
    "range": Option(f"least and most reward, {RANGE} unless declared"),
    "scale": Option("least and most rating of the grader, as 1..5: a rating becomes a reward from 0 to 1; instead of range"),
    "cells": Option("cells of a CSV in number and flag columns are written as in JSON, and an empty one is null", ("json",)),
    "logps": Option("whether log-probs are sums over the tokens (as here, unless declared) or means", ("sum", "mean")),
}
CELLS: Final = ("run", "reward", "policy_logp", "ref_logp", "token_count")
"""Fields whose cells are not text; in a CSV they are read so where ``cells=json`` declares it."""
CELLS_REMEDY: Final = "declare --option cells=json where the cells of number columns are written as in JSON: in a CSV every cell is text otherwise"
_ASSISTANT: Final = "assistant"


@dataclass(frozen=True, slots=True)
class Said:
    """One side of a conversation: its text, and its messages as RFC 8785 text where it came as messages."""

    text: str | None = None
    messages: str | None = None


def has_text_cells(declared: Declared) -> bool:
    """Whether every cell of the file is text: a CSV, of which nothing else was declared."""
    return name_parts(declared.path.name).suffix == ".csv" and "cells" not in declared.options


def conversation(cells: Mapping[str, Any], names: Mapping[str, str]) -> tuple[Said, Said]:
    """Prompt and reply of a row. Without a prompt column, the messages before the first assistant turn are the prompt; a reply
    given as text stays the reply, with the turns of the conversation beside it."""
    prompt, response = _said(cells, names, "prompt"), _said(cells, names, "response")
    if cells.get("messages") is None:
        return prompt, response
    turns = checked_messages(_listed(cells["messages"], names["messages"]), names["messages"])
    first = next((place for place, turn in enumerate(turns) if turn["role"] == _ASSISTANT), len(turns))
    if prompt.text is None and first:
        prompt = _of_turns(turns[:first])
    if response.messages is None and turns[first:]:
        of_turns = _of_turns(turns[first:])
        response = of_turns if response.text is None else Said(response.text, of_turns.messages)
    return prompt, response


def _listed(value: Any, column: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise CellFault(column, "wrong_type", "a list of messages", described(value))
    return value


def _said(cells: Mapping[str, Any], names: Mapping[str, str], field: str) -> Said:
    value = cells.get(field)
    if value is None:
        return Said()
    if isinstance(value, str):
        return Said(value)
    return _of_turns(checked_messages(_listed(value, names[field]), names[field]))


def _of_turns(turns: list[Message]) -> Said:
    return Said(flattened(turns), canonical_bytes(turns).decode("utf-8"))


def whole(cells: Mapping[str, Any], names: Mapping[str, str], field: str) -> int | None:
    """An integer of 0 or more, or None. Raises CellFault."""
    value = cells.get(field)
    if value is None:
        return None
    if type(value) is not int or value < 0:
        raise CellFault(names[field], "wrong_type", "an integer of 0 or more, or null", described(value))
    return value


def text_or_none(cells: Mapping[str, Any], names: Mapping[str, str], field: str) -> str | None:
    """A text, or None. Raises CellFault."""
    value = cells.get(field)
    if value is not None and not isinstance(value, str):
        raise CellFault(names[field], "wrong_type", "text, or null", described(value))
    return value
