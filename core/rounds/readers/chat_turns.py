"""Chat turns as trainers write them: roles by a format's own names, and tool calls that are JSON text in a turn of their own.

A role that a format does not document is a fault of its row: its trainer fails there, or leaves the turn out, and nobody but the
supplier knows who spoke.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from core.canonical import canonical_bytes, parse_json
from core.errors import RoundError
from core.rounds.columns import CellFault
from core.rounds.messages import ROLES
from core.rounds.readers.row_parts import Row
from core.rounds.strict import described

OWN_ROLES: Final[Mapping[str, str]] = {role: role for role in ROLES}
"""The roles of a chat, each for itself."""


def with_roles(messages: Sequence[Row], roles: Mapping[str, str], place: str) -> list[Row]:
    """Messages with our role for the one they were written with. ``roles``: the format's -> ours. Raises CellFault ``unknown_role``."""
    return [{**message, "role": role_of(message, roles, f"{place}[{position}]")} for position, message in enumerate(messages)]


def role_of(message: Row, roles: Mapping[str, str], place: str) -> str:
    """Our role for that of one message. Raises CellFault ``unknown_role``."""
    role = message["role"]
    if role not in roles:
        raise CellFault(f"{place}.role", "unknown_role", f"one of {', '.join(roles)}", described(role))
    return roles[role]


def functions_of(content: Any, place: str, *, several: bool, names: Sequence[str] = ("arguments",)) -> list[Row]:
    """The calls of a turn that calls tools: JSON with name and arguments (an object or text, which stays what it is), or, with
    ``several``, a list of such. ``names``: where the arguments may stand, the first that is there. Raises CellFault."""
    value = content
    if isinstance(content, str):
        try:
            value = parse_json(content)
        except RoundError as error:
            raise CellFault(place, "not_json", "JSON with name and arguments", error.got) from None
    calls = value if several and isinstance(value, list) else [value]
    made = [_function(call, names) for call in calls]
    if not made or None in made:
        raise CellFault(place, "wrong_type", f"a call with name and arguments{', or a list of them' if several else ''}", described(value))
    return [function for function in made if function is not None]


def _function(call: Any, names: Sequence[str]) -> Row | None:
    """A call with its arguments under that name, or None for what is no call."""
    found = [name for name in names if isinstance(call, dict) and name in call]
    if not found or not isinstance(call.get("name"), str):
        return None
    return {("arguments" if name == found[0] else name): value for name, value in call.items()}


def calling(functions: Sequence[Row]) -> Row:
    """An assistant's message that calls tools and says nothing."""
    return {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": function} for function in functions]}


def answer_apart(row: Row) -> Row:
    """A row without a prompt whose sides are the same conversation but for their last message: the prompt is that conversation, as
    trainers read it that take the last message of each side for its answer. Any other row is as it was."""
    chosen, rejected = row.get("chosen"), row.get("rejected")
    if row.get("prompt") is not None or not (isinstance(chosen, list) and isinstance(rejected, list) and chosen and rejected):
        return row
    earlier = chosen[:-1]
    if not earlier or canonical_bytes(earlier) != canonical_bytes(rejected[:-1]):
        return row
    return row | {"prompt": earlier, "chosen": chosen[-1:], "rejected": rejected[-1:]}
