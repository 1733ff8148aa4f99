"""Task ids, wherever a row keeps them: a task is a situation, so a reworded text of the same task is the same task.

Looked for under the names of ``settings.json`` (``task_id``, ``scenario_id``), also with a side in front (``chosen_task_id``), on
the row itself and in every object and list inside it, since pairs made from rollouts carry the ids on their sides.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from core.settings import SETTINGS

NAMES: Final = tuple(SETTINGS["contamination"]["task_id_names"])
_SIDES: Final = ("prompt", "chosen", "rejected")
_KEYS: Final = frozenset({*NAMES, *(f"{side}_{name}" for side in _SIDES for name in NAMES)})
_DECLARED: Final = _KEYS | {f"{side}.{name}" for side in _SIDES for name in NAMES}

TaskId = str | int
"""Text or an integer; the integer 7 and the text "7" are two ids."""


def task_ids(value: Any, place: str = "") -> Iterator[tuple[str, TaskId]]:
    """(where, id) of every task id in a row, in its order; empty text and null are no id.

    >>> list(task_ids({"prompt": "ask", "chosen": {"scenario_id": "T1"}, "task_id": ""}))
    [('chosen.scenario_id', 'T1')]
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            where = f"{place}.{key}" if place else str(key)
            if key in _KEYS and isinstance(inner, (str, int)) and not isinstance(inner, bool) and inner != "":
                yield where, inner
            else:
                yield from task_ids(inner, where)
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from task_ids(inner, f"{place}[{position}]")


def is_declared(place: str) -> bool:
    """Whether an id at this place is the pair's own statement: a member of the row, or of one of its sides.

    >>> is_declared("chosen_task_id"), is_declared("chosen.task_id"), is_declared("meta.task_id")
    (True, True, False)
    """
    return place in _DECLARED
