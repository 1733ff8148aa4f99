"""TRL's preference rows (and OpenRLHF's, which look the same): ``prompt``, ``chosen``, ``rejected``, each text or a list of messages.

The prompt may be left out where both sides are messages that begin with the same user turns (TRL's implicit prompt, OpenRLHF without
``prompt_key``): whole turns up to the last shared user turn are the prompt. Texts without a prompt are refused, or split at a text that the
proposer declared as ``boundary``; never at whatever both sides happen to begin with. OpenRLHF takes the last message of a side for its
answer, so where all before it is the same on both sides, that is the prompt.
``tools`` (schemas or a JSON string) and ``chat_template_kwargs`` are kept as they are.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from core.rounds.columns import CellFault
from core.rounds.readers.chat_turns import answer_apart
from core.rounds.readers.format import Option
from core.rounds.readers.preference import preference_format
from core.rounds.readers.row_parts import Counts, Row, all_have, all_text, is_messages, never, none_has
from core.rounds.strict import described

_OTHERS: Final = (
    "score_chosen", "score_rejected", "chosen_rating", "rejected_rating", "chosen-rating", "rejected-rating", "instruction", "question",
    "conversations", "input",
)
"""Keys that other formats are told by."""
_KEYS: Final = ("prompt_key", "chosen_key", "rejected_key")


def _shape(row: Row, options: Mapping[str, str], counts: Counts) -> Row:
    if row.get("prompt") is not None or not isinstance(row.get("chosen"), str):
        return row
    if "boundary" in options:
        return _split(row, options["boundary"])
    raise CellFault(
        "prompt", "missing_prompt", "a prompt of its own, or boundary=TEXT that ends it: text is never split at what both answers begin with",
        "null" if "prompt" in row else "nothing",
    )


def _split(row: Row, boundary: str) -> Row:
    """Text rows split at a declared text: its last place in both sides, which has to be one place after one beginning."""
    chosen, rejected = row["chosen"], row.get("rejected")
    if not isinstance(rejected, str):
        raise CellFault("rejected", "wrong_type", "text", described(rejected))
    ends = [side.rfind(boundary) + len(boundary) if boundary in side else 0 for side in (chosen, rejected)]
    end = ends[0]
    if not end or ends[1] != end or chosen[:end] != rejected[:end]:
        expected = "both sides the same up to the last place of the declared boundary"
        raise CellFault("prompt", "boundary_not_shared", expected, "sides that differ before it")
    return row | {"prompt": chosen[:end], "chosen": chosen[end:], "rejected": rejected[end:]}


def _recognise(rows: Sequence[Any], path: Path) -> str | None:
    if not all_have(rows, "chosen", "rejected") or not none_has(rows, *_OTHERS):
        return None
    with_prompt = all_have(rows, "prompt")
    if all(is_messages(row["chosen"]) and is_messages(row["rejected"]) for row in rows):
        prompt = "with a prompt of their own" if with_prompt else "whose shared turns are the prompt"
        tools = " and tools" if all_have(rows, "tools") else ""
        return f"every row looked at has chosen and rejected as messages, {prompt}{tools}"
    if with_prompt and all_text(rows, "chosen", "rejected"):
        return "every row looked at has prompt, chosen and rejected, the answers as text"
    return None


def _openrlhf_shape(row: Row, options: Mapping[str, str], counts: Counts) -> Row:
    for option in _KEYS:
        key = options.get(option)
        ours = option.removesuffix("_key")
        if key is None or key == ours:
            continue
        if ours in row:
            raise CellFault(ours, "said_twice", f"{key} alone, as {option} says", "both")
        if key in row:
            row[ours] = row.pop(key)
    return _shape(answer_apart(row), options, counts)


_BOUNDARY: Final = {"boundary": Option("the text that ends the prompt where both sides begin with it, as in two whole transcripts")}
TRL: Final = preference_format("trl", "TRL preference rows: explicit or implicit prompt, text or chat, with tools", _shape, _recognise, _BOUNDARY)
OPENRLHF: Final = preference_format(
    "openrlhf", "OpenRLHF preference rows, by their keys", _openrlhf_shape, never,
    _BOUNDARY | {
        "prompt_key": Option("OpenRLHF's --data.prompt_key; left out, the prompt is inside both sides"),
        "chosen_key": Option("OpenRLHF's --data.chosen_key, chosen where left out"),
        "rejected_key": Option("OpenRLHF's --data.rejected_key, rejected where left out"),
    },
)
FORMATS: Final = (TRL, OPENRLHF)
