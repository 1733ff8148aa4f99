"""The texts of a stored pair one by one: a chat is looked at message by message, and as a whole.

A role name between two messages is no part of what anybody wrote, and a system prompt in front of an ask must not hide it.
"""
from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from core.pairs.contamination import FIELDS, CheckedPair, PairText
from core.pairs.task_ids import task_ids


def field_texts(field: str, text: str, messages: str | None) -> list[PairText]:
    """The texts of one side. ``text``: as stored, flattened where it was a chat; ``messages``: the chat as JSON, or None.

    Each content of a chat stands in the flattened text behind its role and a line feed; the whole follows where it says more.
    """
    if messages is None:
        return [PairText(field, text)]
    turns: list[dict[str, Any]] = json.loads(messages)
    found, place = [], 0
    for turn in turns:
        content = turn.get("content") or ""
        place = text.find(f"{turn['role']}\n{content}\n", place)
        if place < 0:
            return [PairText(field, text)]
        start = place + len(turn["role"]) + 1
        if content:
            found.append(PairText(field, content, start))
        place = start + len(content) + 1
    alone = len(turns) == 1 and not turns[0].get("tool_calls")
    return found if alone else [*found, PairText(field, text)]


def checked_pairs(narrow: pa.RecordBatch, text: pa.RecordBatch) -> Iterator[CheckedPair]:
    """The pairs of aligned batches with their texts and task ids."""
    sides = [list(zip(text[field].to_pylist(), text[f"{field}_messages"].to_pylist(), strict=True)) for field in FIELDS]
    columns = (narrow[name].to_pylist() for name in ("ordinal", "pair_id", "task_id", "extra"))
    for row, (ordinal, pair_id, task, extra) in enumerate(zip(*columns, strict=True)):
        texts = [one for field, side in zip(FIELDS, sides, strict=True) for one in field_texts(field, *side[row])]
        tasks = [] if task is None or task == "" else [("task_id", task)]
        yield CheckedPair(ordinal, pair_id, texts, [*tasks, *(() if extra is None else task_ids(json.loads(extra)))])
