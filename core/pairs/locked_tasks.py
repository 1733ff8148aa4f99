"""The task ids of a holdout, and what the task ids of a pair say about them: the same task, nothing, or what cannot be judged.

An item is known by every task id in it, and by its own ``id``. An own id that is a bare number ("17", 17) stands for the item only where
a pair *declares* a task id, as a member of the row or of a side: rows are numbered from 1 in every file, and a number deep
in a row's other data says nothing. What is found there is listed as not judged, and so is an id that is equal but for its form
(7 and "7", case, white space, Unicode form): one id or two, nobody can tell from here. An item that cannot be looked for by an id is named.
"""
from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from core.pairs.suite import LockedText
from core.pairs.task_ids import TaskId, is_declared, task_ids

ID: Final = "id"
BARE_NUMBER, OTHER_FORM = "bare_number", "other_form"
UNJUDGED: Final[Mapping[str, str]] = {
    BARE_NUMBER: "the item is known by a bare number, which stands deep in other data there, where rows of any file are numbered",
    OTHER_FORM: "the id there is the item's but for its form (a number or text, case, white space, Unicode form): one id or two",
}
"""Why an id could not be judged."""
_HIDDEN: Final = "Cf"
Declared = tuple[str, TaskId]


@dataclass(frozen=True, slots=True)
class Unjudged:
    """An item that pairs may have. ``why``: a key of ``UNJUDGED``; the pair, place and id are those of one of ``pairs``, the first by id."""

    item: int
    why: str
    pairs: int
    pair_id: str
    field: str
    task: TaskId


@dataclass(frozen=True, slots=True)
class TaskHits:
    """What a pair's ids say: for each id of a locked task its place and the items (the first is the finding), and items that are unsure."""

    found: Sequence[tuple[str, Sequence[LockedText]]]
    unsure: Mapping[tuple[int, str], Declared]


_NOTHING: Final = TaskHits((), {})


def item_name(item: Mapping[str, Any], position: int) -> str:
    """What an item is called: its own id, or its row."""
    own = _own(item)
    return f"row {position + 1}" if own is None else str(own)


def is_bare_number(task: TaskId) -> bool:
    """Whether an id is a number and nothing else."""
    return isinstance(task, int) or task.strip().isdecimal()


def form_of(task: TaskId) -> str:
    """What ids have in common that a reader would take for one: the digits of a number, and text without regard to case, white
    space, hidden characters and Unicode form."""
    text = unicodedata.normalize("NFKC", str(task)).casefold()
    return "".join(one for one in "".join(text.split()) if unicodedata.category(one) != _HIDDEN)


class LockedTasks:
    """The ids of a list of items, ready for the ids of pairs."""

    def __init__(self, items: Sequence[Mapping[str, Any]], left_out: Collection[str] = ()) -> None:
        self.known: dict[TaskId, list[LockedText]] = {}
        """Id -> the items that have it, wherever a pair has it."""
        self.numbers: dict[TaskId, list[LockedText]] = {}
        """The same for own ids that are bare numbers."""
        self.not_looked_for: dict[str, list[int]] = {}
        """Why -> positions of the items that no id stands for."""
        self._forms: dict[str, set[TaskId]] = {}
        self._unsure: Counter[tuple[int, str]] = Counter()
        self._first: dict[tuple[int, str], tuple[str, str, TaskId]] = {}
        for position, item in enumerate(items):
            self._add(position, item, {key: value for key, value in item.items() if key not in left_out})
        for task in (*self.known, *self.numbers):
            self._forms.setdefault(form_of(task), set()).add(task)

    def _add(self, position: int, item: Mapping[str, Any], looked_at: Mapping[str, Any]) -> None:
        name, stated = item_name(item, position), list(task_ids(looked_at))
        own = _own(looked_at)
        for place, task in stated:
            self._list(self.known, task, LockedText(position, name, place, str(task)))
        if own is not None and not (stated and is_bare_number(own)):
            self._list(self.numbers if is_bare_number(own) else self.known, own, LockedText(position, name, ID, str(own)))
        elif not stated:
            self.not_looked_for.setdefault(_why_none(item, looked_at), []).append(position)

    @staticmethod
    def _list(ids: dict[TaskId, list[LockedText]], task: TaskId, one: LockedText) -> None:
        listed = ids.setdefault(task, [])
        if not listed or listed[-1].item != one.item:
            listed.append(one)

    def __bool__(self) -> bool:
        return bool(self.known or self.numbers)

    def items_with_id(self) -> int:
        """How many items an id stands for."""
        return len({one.item for ids in (self.known, self.numbers) for listed in ids.values() for one in listed})

    def items_by_number(self) -> int:
        """How many items only a bare number stands for."""
        return len({one.item for listed in self.numbers.values() for one in listed})

    def hits(self, pair_id: str, tasks: Sequence[Declared]) -> TaskHits:
        """What the ids of one pair say; what cannot be judged is counted."""
        if not tasks:
            return _NOTHING
        found = [(place, listed) for place, task in tasks if (listed := self._items(place, task))]
        hit = {one.item for _, listed in found for one in listed}
        unsure: dict[tuple[int, str], Declared] = {}
        for place, task in tasks:
            for item, why in self._look_alikes(place, task):
                if item not in hit:
                    unsure.setdefault((item, why), (place, task))
        for key, (place, task) in unsure.items():
            seen = pair_id, place, task
            self._unsure[key] += 1
            self._first[key] = min(seen, self._first.get(key, seen), key=_order)
        return TaskHits(found, unsure)

    def _items(self, place: str, task: TaskId) -> list[LockedText]:
        # 7 and True are one key of a dict; a boolean is no task id, so none comes here
        return [*self.known.get(task, ()), *(self.numbers.get(task, ()) if is_declared(place) else ())]

    def _look_alikes(self, place: str, task: TaskId) -> Iterator[tuple[int, str]]:
        if not is_declared(place):
            yield from ((one.item, BARE_NUMBER) for one in self.numbers.get(task, ()))
        for other in self._forms.get(form_of(task), ()):
            if other != task:
                yield from ((one.item, OTHER_FORM) for one in self._items(place, other))

    def unjudged(self) -> list[Unjudged]:
        """The items that pairs may have, in their order."""
        return [Unjudged(item, why, pairs, *self._first[item, why]) for (item, why), pairs in sorted(self._unsure.items())]


def _own(item: Mapping[str, Any]) -> TaskId | None:
    """The item's own id where it is one: text that says something, or an integer."""
    own = item.get(ID)
    if type(own) is int:
        return own
    return own if isinstance(own, str) and own.strip() else None


def _order(seen: tuple[str, str, TaskId]) -> tuple[str, str, str]:
    pair_id, place, task = seen
    return pair_id, place, str(task)


def _why_none(item: Mapping[str, Any], looked_at: Mapping[str, Any]) -> str:
    if _own(item) != _own(looked_at) or next(task_ids(item), None) is not None:
        return "its ids are left out as asked"
    own = item.get(ID)
    if own is None or isinstance(own, str):
        return "it has no task id and no id"
    return "it has no task id, and its id is neither text nor an integer"
