"""What belongs to the holdout among rollouts: their task, their prompt, or whoever graded them.

Task ids and prompts are judged by the rules of ``core.pairs.contamination``, so that a rollout that is flagged here is what the
contamination report of a round made from it would find, and what cannot be judged there cannot be judged here.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, Self

from core.pairs.chat_texts import field_texts
from core.pairs.contamination import PROMPT_FIELD, CheckedPair, ContaminationCheck
from core.pairs.graded import GradedReply
from core.pairs.task_ids import NAMES, TaskId
from core.settings import SETTINGS

_BATCH_CHARACTERS: Final[int] = SETTINGS["contamination"]["batch_characters"]
_BATCH_ROWS: Final[int] = SETTINGS["storage"]["batch_rows"]
_DECLARED: Final[str] = NAMES[0]


class HeldOut:
    """``check``: the locked items; ``graders``: names of graders and sources that score the holdout. ``rollouts`` counts those that are
    held out, by what says so (``items``, ``grader``; one may count under both)."""

    def __init__(self, check: ContaminationCheck | None = None, graders: Collection[str] = ()) -> None:
        self.check, self.graders = check, frozenset(graders)
        self.rollouts = {"items": 0, "grader": 0}

    @classmethod
    def of_items(
        cls, items: Sequence[Mapping[str, Any]], n: int, share: Fraction, *, left_out: Collection[str] = (), graders: Collection[str] = (),
    ) -> Self:
        """From the locked items, under the grid's length of runs and share."""
        check = ContaminationCheck(items, n, share, left_out=left_out, called="rollout")
        check.refuse_nothing()
        return cls(check, graders)

    def has(self, reply: GradedReply) -> bool:
        """The same of one reply; for a few of them, as a batch is much faster."""
        return next(held for _, held in self.marked([reply]))

    def marked(self, replies: Iterable[GradedReply]) -> Iterator[tuple[GradedReply, bool]]:
        """The replies in their order, each with whether its task, prompt, grader or source belongs to the holdout."""
        place = 0
        for batch in _batches(replies):
            pairs = [_pair(place + k, one) for k, one in enumerate(batch)]
            hit = set() if self.check is None else {found.ordinal for found in self.check.check(pairs)}
            for one in batch:
                graded = one.grader in self.graders or one.source in self.graders
                self.rollouts["items"] += place in hit
                self.rollouts["grader"] += graded
                yield one, graded or place in hit
                place += 1


def _batches(replies: Iterable[GradedReply]) -> Iterator[list[GradedReply]]:
    held: list[GradedReply] = []
    size = 0
    for reply in replies:
        held.append(reply)
        size += len(reply.prompt or "") + len(reply.response or "")
        if size >= _BATCH_CHARACTERS or len(held) >= _BATCH_ROWS:
            yield held
            held, size = [], 0
    if held:
        yield held


def _pair(place: int, reply: GradedReply) -> CheckedPair:
    texts = [] if reply.prompt is None else field_texts(PROMPT_FIELD, reply.prompt, reply.prompt_messages)
    return CheckedPair(place, f"line {reply.line}", texts, [(_DECLARED, task) for task in _tasks(reply)])


def _tasks(reply: GradedReply) -> list[TaskId]:
    """The task's id: as text, as pairs will have it, and as the number that the file has where its reader made text of it."""
    if reply.task_id is None:
        return []
    return [reply.task_id, int(reply.task_id)] if reply.task_number else [reply.task_id]
