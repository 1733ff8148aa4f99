"""Records as Argilla 1 and 2 hand them out, in their four spellings, for the tests of the readers.

The spellings are those of argilla-io/argilla: Argilla 2 nested, ``Record.to_dict`` (argilla/src/argilla/records/_resource.py: answers without a
status); flat, ``GenericIO._record_to_dict`` (records/_io/_generic.py); Argilla 1 records, ``FeedbackRecord`` (argilla-v1/.../feedback/schemas);
its data sets, ``_huggingface_format`` (argilla-v1/.../integrations/huggingface/dataset.py).
"""
from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

ANN, BOB, CAT = "11111111-aaaa", "22222222-bbbb", "33333333-cccc"
FIELDS = {"prompt": "Say hi.", "response_1": "Hi.", "response_2": "No."}
Given = dict[str, list[tuple[str | None, Any, str | None]]]
"""Question -> (user, value, status) of each answer."""
Hints = dict[str, tuple[Any, float | None, str | None]]
"""Question -> (value, score, agent)."""


def nested2(given: Given, hints: Hints | None = None, fields: Any = None, name: str = "r-1") -> dict[str, Any]:
    return {
        "id": name, "fields": fields or FIELDS, "metadata": {"topic": "hello"}, "vectors": {}, "_server_id": None,
        "suggestions": {key: {"value": value, "score": score, "agent": agent} for key, (value, score, agent) in (hints or {}).items()},
        "responses": {key: [{"value": value, "user_id": who} for who, value, _ in found] for key, found in given.items()},
    }


def flat2(given: Given, hints: Hints | None = None, fields: Any = None, name: str = "r-1") -> dict[str, Any]:
    row = {"id": name, "status": "pending", "_server_id": None, **(fields or FIELDS), "topic": "hello"}
    for key, found in given.items():
        row |= {f"{key}.responses": [value for _, value, _ in found], f"{key}.responses.users": [who for who, _, _ in found],
                f"{key}.responses.status": [status for _, _, status in found]}
    for key, (value, score, agent) in (hints or {}).items():
        row |= {f"{key}.suggestion": value, f"{key}.suggestion.score": score, f"{key}.suggestion.agent": agent}
    return row


def nested1(given: Given, hints: Hints | None = None, fields: Any = None, name: str = "r-1") -> dict[str, Any]:
    by_user: dict[Any, dict[str, Any]] = {}
    for key, found in given.items():
        for who, value, status in found:
            by_user.setdefault((who, status), {"user_id": who, "values": {}, "status": status})["values"][key] = {"value": value}
    return {
        "fields": fields or FIELDS, "metadata": {"topic": "hello"}, "vectors": {}, "external_id": name, "responses": list(by_user.values()),
        "suggestions": [{"question_name": key, "value": value, "score": score, "type": "model", "agent": agent}
                        for key, (value, score, agent) in (hints or {}).items()],
    }


def flat1(given: Given, hints: Hints | None = None, fields: Any = None, name: str = "r-1") -> dict[str, Any]:
    row = {**(fields or FIELDS), "external_id": name, "metadata": json.dumps({"topic": "hello"})}
    for key in {**given, **(hints or {})}:
        value, score, agent = (hints or {}).get(key, (None, None, None))
        row |= {
            key: [{"user_id": who, "value": said, "status": status} for who, said, status in given.get(key, [])],
            f"{key}-suggestion": value, f"{key}-suggestion-metadata": {"type": None if agent is None else "model", "score": score, "agent": agent},
        }
    return row


SPELLINGS: list[Callable[..., dict[str, Any]]] = [nested2, flat2, nested1, flat1]


def options(spelling: Any, chosen: dict[str, str]) -> dict[str, str]:
    """The nested export of Argilla 2 has no status, so it has to be declared."""
    return chosen | ({"status": "submitted"} if spelling is nested2 else {})


def storable(name: str, row: dict[str, Any]) -> dict[str, Any]:
    """Parquet has no struct without members."""
    return {key: value for key, value in row.items() if value != {} or not name.endswith(".parquet")}
