"""The texts of one side one by one: a chat is looked at message by message, and as a whole.

A role name between two messages is no part of what anybody wrote, and a system prompt in front of an ask must not hide it.
"""
from __future__ import annotations

import json
from typing import Any

from core.pairs.contamination import PairText


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
