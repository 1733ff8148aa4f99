"""LLaMA-Factory's preference data (``"ranking": true``): the alpaca and the sharegpt form, with the names of ``dataset_info.json``.

alpaca: the prompt is ``prompt``, a line feed, and ``query`` where that is not empty, as LLaMA-Factory joins them. sharegpt: turns under
``conversations`` with tags for their roles; ``function_call`` turns hold JSON with name and arguments and become tool calls. A row that
LLaMA-Factory would skip (an unknown tag, turns out of order) is quarantined.
"""
from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from core.rounds.columns import CellFault
from core.rounds.readers.chat_turns import calling, functions_of
from core.rounds.readers.format import Option
from core.rounds.readers.preference import preference_format
from core.rounds.readers.row_parts import Counts, Row, all_have, all_text, message, none_has, optional_text, put, taken, text_of
from core.rounds.strict import described

_ALPACA: Final = {"prompt": "instruction", "query": "input", "chosen": "chosen", "rejected": "rejected"}
_SHAREGPT: Final = {"messages": "conversations", "chosen": "chosen", "rejected": "rejected"}
_KEYS: Final = {"role_tag": "from", "content_tag": "value"}
_TAGS: Final = {
    "user_tag": ("human", "user"), "assistant_tag": ("gpt", "assistant"), "observation_tag": ("observation", "tool"),
    "function_tag": ("function_call", "function_call"), "system_tag": ("system", "system"),
}
"""Option -> (the tag where none is declared, the role that it stands for)."""
_OTHERS: Final = ("prompt", "conversations", "question", "chosen_rating", "chosen-rating")
_ASKING, _ANSWERING = ("user", "tool"), ("assistant", "function_call")


def _named(options: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str]:
    """LLaMA-Factory's name for a column -> the file's."""
    return {name: options.get(name, default) for name, default in defaults.items()}


def _with_tools(row: Row, options: Mapping[str, str]) -> Row:
    """Tool definitions stand under ``tools``, whatever the file calls them."""
    key = options.get("tools", "tools")
    if row.get(key) == "":  # the column has to be there for LLaMA-Factory; empty, it says nothing
        row = {name: value for name, value in row.items() if name != key}
    if key != "tools" and key in row:
        return put(row, tools=row.pop(key))
    return row


def _alpaca(row: Row, options: Mapping[str, str], counts: Counts) -> Row:
    names = _named(options, _ALPACA)
    said = [text_of(row, names["prompt"]), optional_text(row, names["query"])]
    prompt = "\n".join(filter(None, said))
    sides = text_of(row, names["chosen"]), text_of(row, names["rejected"])
    return put(_with_tools(row, options), prompt=prompt, chosen=sides[0], rejected=sides[1])


class _Turns:
    """Reads turns by the tags that are declared or usual."""

    def __init__(self, options: Mapping[str, str]) -> None:
        keys = _named(options, _KEYS)
        self._role, self._content = keys["role_tag"], keys["content_tag"]
        self._roles = {options.get(option, tag): role for option, (tag, role) in _TAGS.items()}

    def role_and_message(self, turn: Any, place: str) -> tuple[str, Row]:
        """LLaMA-Factory's role of a turn, and the turn as a message."""
        if not isinstance(turn, dict):
            raise CellFault(place, "wrong_type", f"a turn with {self._role} and {self._content}", described(turn))
        tag, content = turn.get(self._role), turn.get(self._content)
        if tag not in self._roles:
            raise CellFault(f"{place}.{self._role}", "unknown_role", f"one of {', '.join(self._roles)}", described(tag))
        if not isinstance(content, str):
            raise CellFault(f"{place}.{self._content}", "wrong_type", "text", described(content))
        rest = {name: value for name, value in turn.items() if name not in (self._role, self._content)}
        role = self._roles[tag]
        made = calling(functions_of(content, f"{place}.{self._content}", several=True)) if role == "function_call" else message(role, content)
        return role, rest | made


def _sharegpt(row: Row, options: Mapping[str, str], counts: Counts) -> Row:
    names, turns = _named(options, _SHAREGPT), _Turns(options)
    conversation = taken(row, names["messages"])
    if not isinstance(conversation, list) or not conversation:
        raise CellFault(names["messages"], "wrong_type", "a list of turns", described(conversation))
    found = [turns.role_and_message(turn, f"{names['messages']}[{position}]") for position, turn in enumerate(conversation)]
    _check_order([role for role, _ in found], names["messages"])
    sides: list[list[Row]] = []
    for name in (names["chosen"], names["rejected"]):
        role, made = turns.role_and_message(taken(row, name), name)
        if role not in _ANSWERING:
            raise CellFault(name, "turn_order", "an answering turn", role)
        sides.append([made])
    return put(_with_tools(row, options), prompt=[made for _, made in found], chosen=sides[0], rejected=sides[1])


def _check_order(roles: list[str], place: str) -> None:
    """After a system turn asking and answering take turns, and asking comes last: LLaMA-Factory skips any other row."""
    talk = roles[1:] if roles[0] == "system" else roles
    for number, (role, wanted) in enumerate(zip(talk, itertools.cycle((_ASKING, _ANSWERING)), strict=False), start=1):
        if role not in wanted:
            raise CellFault(place, "turn_order", f"{' or '.join(wanted)} as turn {number}", role)
    if not talk or talk[-1] not in _ASKING:
        raise CellFault(place, "turn_order", "a conversation that ends with the turn to be answered", talk[-1] if talk else "none")


def _is_alpaca(rows: Sequence[Any], path: Path) -> str | None:
    if all_text(rows, "instruction", "chosen", "rejected") and none_has(rows, *_OTHERS):
        return "every row looked at has instruction, chosen and rejected as text (alpaca columns)"
    return None


def _is_sharegpt(rows: Sequence[Any], path: Path) -> str | None:
    if all_have(rows, "conversations", "chosen", "rejected") and all(
        isinstance(row[side], dict) and set(_KEYS.values()) <= set(row[side]) for row in rows for side in ("chosen", "rejected")
    ):
        return "every row looked at has conversations, and chosen and rejected as turns with from and value"
    return None


def _column(name: str, default: str) -> Option:
    return Option(f"dataset_info's column {name}: {default} where left out")


_SHARED: Final = {"tools": _column("tools", "tools")}
FORMATS: Final = (
    preference_format("llamafactory-alpaca", "LLaMA-Factory ranking data, alpaca form", _alpaca, _is_alpaca, {
        **{name: _column(name, default) for name, default in _ALPACA.items()}, **_SHARED,
    }),
    preference_format("llamafactory-sharegpt", "LLaMA-Factory ranking data, sharegpt form", _sharegpt, _is_sharegpt, {
        **{name: _column(name, default) for name, default in _SHAREGPT.items()}, **_SHARED,
        **{name: Option(f"dataset_info's tag {name}: {default} where left out") for name, default in _KEYS.items()},
        **{name: Option(f"dataset_info's tag {name}: {default} where left out") for name, (default, _) in _TAGS.items()},
    }, own_system_wins=True),
)
