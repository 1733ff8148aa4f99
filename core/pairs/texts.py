"""Texts that make a pair illegal: an empty prompt or answer, and answers that are the same.

Empty means that nothing is left after deleting format characters and white space; an answer is empty as well when its
skeleton is (a lone code fence). A side given as messages is empty when all its contents are and it calls no tool: the role
names of its flattened text do not count.
"""
from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.pairs.columns import Flags, flags
from core.pairs.normal_forms import SPACES, is_blank, s1

_PRINTS: Final = r"[!-~]"
# a letter on a line that does not begin with a fence character survives every rule of the skeleton
_HAS_BODY: Final = r"(?:^|\n)[ \t]*(?:[A-Za-z]|[!-_a-}][ -~\t]*[A-Za-z])"


def blank_prompts(texts: Any, messages: Any) -> Flags:
    """Rows whose prompt is empty. ``texts``: string column; ``messages``: JSON of a message list, or null."""
    return _empty(texts, messages, _PRINTS, is_blank)


def empty_answers(texts: Any, messages: Any) -> Flags:
    """Rows whose answer is empty, or whose skeleton is."""
    return _empty(texts, messages, _HAS_BODY, lambda text: not s1(text))


def _empty(texts: Any, messages: Any, has_content: str, is_empty: Callable[[str], bool]) -> Flags:
    chat = flags(pc.is_valid(messages))
    doubtful = ~flags(pc.match_substring_regex(texts, pattern=has_content)) & ~chat
    result = np.zeros(len(texts), dtype=np.bool_)
    result[doubtful] = [is_empty(text) for text in texts.filter(pa.array(doubtful)).to_pylist()]
    result[chat] = [_empty_messages(json.loads(side), is_empty) for side in messages.filter(pa.array(chat)).to_pylist()]
    return result


def _empty_messages(turns: list[dict[str, Any]], is_empty: Callable[[str], bool]) -> bool:
    return not any(turn.get("tool_calls") for turn in turns) and is_empty("\n".join(turn.get("content") or "" for turn in turns))


def identical_answers(chosen: Any, rejected: Any, chosen_messages: Any, rejected_messages: Any) -> tuple[Flags, Flags]:
    """Rows whose answers are the same exactly, and rows whose answers are the same only after stripping outer white space.

    In message lists the white space around each content is stripped.
    """
    exact = flags(pc.equal(chosen, rejected))
    trimmed = flags(pc.equal(pc.utf8_trim(chosen, characters=SPACES), pc.utf8_trim(rejected, characters=SPACES)))
    chat = flags(pc.and_(pc.is_valid(chosen_messages), pc.is_valid(rejected_messages)))
    if chat.any():
        sides = (column.filter(pa.array(chat)).to_pylist() for column in (chosen_messages, rejected_messages))
        trimmed[chat] = [_stripped(one) == _stripped(other) for one, other in zip(*sides, strict=True)]
    return exact, trimmed & ~exact


def _stripped(side: str) -> list[dict[str, Any]]:
    return [turn | {"content": (turn.get("content") or "").strip(SPACES)} for turn in json.loads(side)]
