"""Pairs that somebody hands in, held against the pairs that the rule of ``core.pairs.pairing`` makes of the same rollouts.

A pair of either side belongs to at most one of the other. In this order: equal id and equal replies; equal replies of the same task under another
id; the same two replies the other way round; equal id and another text. What is left of the pairs handed in is *not made* by the rule, with
the first reason that explains it; what is left of the rule's is *lacking*. Nothing here holds a text.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice

from core.pairs.given_pairs import CHANGED, LACKING, NOT_MADE, SAME, SWAPPED, Compared, GivenPair, prompt_digest
from core.pairs.graded import Candidate, GradedReply, candidate_of, content_digest
from core.pairs.held_out import HeldOut
from core.pairs.pairing import Group, Pairing, TaskPair, group_of, unusable
from core.pairs.pairing_rows import pair_id

Key = tuple[object, bytes, bytes]


@dataclass(slots=True)
class _Side:
    """A rollout whose reply is a side of a pair that nothing explains yet."""

    group: Group
    candidate: Candidate
    unusable: str | None


@dataclass
class _Again:
    """What a second reading of the rollouts gave: prompts by place, and the rollouts with a wanted reply by task and by prompt."""

    prompts: dict[int, bytes] = field(default_factory=dict)
    replies: set[bytes] = field(default_factory=set)
    _by_task: dict[tuple[bytes, str], list[_Side]] = field(default_factory=dict)
    _by_prompt: dict[tuple[bytes, bytes], list[_Side]] = field(default_factory=dict)

    def add(self, reply: bytes, side: _Side) -> None:
        self.replies.add(reply)
        if side.group[0] == "task":
            self._by_task.setdefault((reply, side.group[1]), []).append(side)
        self._by_prompt.setdefault((reply, side.candidate.prompt), []).append(side)

    def of_task(self, reply: bytes, one: GivenPair) -> list[_Side]:
        """The rollouts with this reply in the pair's task: by task id where both name one, else by prompt."""
        named = [] if one.task_id is None else self._by_task.get((reply, one.task_id), [])
        asked = self._by_prompt.get((reply, one.folded), [])
        return [*named, *(side for side in asked if one.task_id is None or side.group[0] != "task")]


def compare(
    given: Sequence[GivenPair], pairing: Pairing, replies: Callable[[], Iterable[GradedReply]], *, policy: str | None = None,
    held_out: HeldOut | None = None,
) -> list[Compared]:
    """Each pair of the round in its order, then what the round lacks in the order of the rule.

    ``replies``: reads the rollouts that were paired once more; ``policy`` and ``held_out`` as they were paired.
    """
    matched = _Match(given, pairing.pairs)
    again = _read_again(given, matched, pairing, replies(), policy, held_out or HeldOut())
    found = [_compared(one, matched, pairing, again, place) for place, one in enumerate(given)]
    otherwise = _Otherwise.of(one.given for one in found if one.kind != SAME and one.given is not None)
    taken = {place for place, _ in matched.of.values()}
    return [*found, *(_lacking(made, otherwise) for place, made in enumerate(pairing.pairs) if place not in taken)]


class _Match:
    """Which pair of the round is which of the rule's. ``of``: place of a given pair -> (place of the rule's, kind)."""

    def __init__(self, given: Sequence[GivenPair], made: Sequence[TaskPair]) -> None:
        self.of: dict[int, tuple[int, str]] = {}
        self._made, self._taken = made, set[int]()
        self._by_id: dict[str, list[int]] = {}
        self._by_key: dict[Key, list[int]] = {}
        self._start: dict[Key, int] = {}
        for place, pair in enumerate(made):
            self._by_id.setdefault(pair_id(pair), []).append(place)
            for name in _names(pair):
                self._by_key.setdefault((name, pair.chosen.exact, pair.rejected.exact), []).append(place)
        for step in (self._same, self._elsewhere, self._turned, self._by_name):
            for place, one in enumerate(given):
                if place not in self.of:
                    step(place, one)

    def has_twin(self, one: GivenPair) -> bool:
        """Whether the rule makes this pair, for another pair of the round."""
        if one.task_id is not None and (one.task_id, one.chosen, one.rejected) in self._by_key:
            return True
        same = self._by_key.get((one.folded, one.chosen, one.rejected), ())
        return any(one.task_id is None or self._made[made].group[0] != "task" for made in same)

    def _take(self, place: int, made: int, kind: str) -> None:
        self.of[place] = (made, kind)
        self._taken.add(made)

    def _same(self, place: int, one: GivenPair) -> None:
        for made in self._by_id.get(one.pair_id, ()):
            pair = self._made[made]
            if made not in self._taken and (pair.chosen.exact, pair.rejected.exact) == (one.chosen, one.rejected):
                self._take(place, made, SAME)
                return

    def _elsewhere(self, place: int, one: GivenPair) -> None:
        self._first_free(place, self._places(one, one.chosen, one.rejected), SAME)

    def _turned(self, place: int, one: GivenPair) -> None:
        named = (made for made in self._by_id.get(one.pair_id, ()) if (
            self._made[made].chosen.exact, self._made[made].rejected.exact) == (one.rejected, one.chosen))
        self._first_free(place, [*named, *self._places(one, one.rejected, one.chosen)], SWAPPED)

    def _by_name(self, place: int, one: GivenPair) -> None:
        self._first_free(place, self._by_id.get(one.pair_id, ()), CHANGED)

    def _first_free(self, place: int, found: Iterable[int], kind: str) -> None:
        made = next((made for made in found if made not in self._taken), None)
        if made is not None:
            self._take(place, made, kind)

    def _places(self, one: GivenPair, chosen: bytes, rejected: bytes) -> Iterator[int]:
        """The rule's pairs of this task with these replies: by task id, or by prompt where not both name a task."""
        if one.task_id is not None:
            yield from self._left((one.task_id, chosen, rejected))
        for made in self._left((one.folded, chosen, rejected)):
            if one.task_id is None or self._made[made].group[0] != "task":
                yield made

    def _left(self, key: Key) -> Iterator[int]:
        """The places under a key from the first that is not taken on: many pairs may be equal, and each is passed once."""
        places, start = self._by_key.get(key, []), self._start.get(key, 0)
        while start < len(places) and places[start] in self._taken:
            start += 1
        self._start[key] = start
        return islice(places, start, None)


def _names(pair: TaskPair) -> list[object]:
    """What tells the task of a pair: its id where it has one, and its prompt."""
    kind, name = pair.group
    return [*([name] if kind == "task" else []), pair.chosen.prompt]


def _read_again(
    given: Sequence[GivenPair], matched: _Match, pairing: Pairing, replies: Iterable[GradedReply], policy: str | None, held_out: HeldOut,
) -> _Again:
    found = _Again()
    prompts = {pairing.pairs[made].chosen.place for made, _ in matched.of.values()}
    wanted = {side for place, one in enumerate(given) if place not in matched.of for side in (one.chosen, one.rejected)}
    picked: list[tuple[int, bytes]] = []

    def sides() -> Iterator[GradedReply]:
        for place, reply in enumerate(replies):
            if place in prompts:
                found.prompts[place] = prompt_digest(reply)
            if not wanted or (reply.response is None and reply.response_messages is None):
                continue
            digest = content_digest(reply)
            if digest in wanted:
                picked.append((place, digest))
                yield reply

    # a batch is marked at once, so a rollout comes after its place was noted
    for at, (reply, held) in enumerate(held_out.marked(sides())):
        place, digest = picked[at]
        side = candidate_of(reply, reply.reward or Fraction(0), place, held_out=held)
        found.add(digest, _Side(group_of(reply), side, unusable(reply, policy)))
    return found


def _compared(one: GivenPair, matched: _Match, pairing: Pairing, again: _Again, place: int) -> Compared:
    if place not in matched.of:
        return _not_made(one, matched, pairing, again)
    made, kind = matched.of[place]
    pair = pairing.pairs[made]
    fields = tuple(_changed(one, pair, again)) if kind != SWAPPED else ()
    return Compared(CHANGED if kind == SAME and fields else kind, one, pair, fields=fields, held_out=pair.held_out)


def _changed(one: GivenPair, pair: TaskPair, again: _Again) -> Iterator[str]:
    if pair.chosen.prompted and again.prompts.get(pair.chosen.place) != one.prompt:
        yield "prompt"
    if one.chosen != pair.chosen.exact:
        yield "chosen"
    if one.rejected != pair.rejected.exact:
        yield "rejected"
    if pair.group[0] == "task" and one.task_id not in (None, pair.group[1]):
        yield "task"


def _not_made(one: GivenPair, matched: _Match, pairing: Pairing, again: _Again) -> Compared:
    own = [again.of_task(digest, one) for digest in (one.chosen, one.rejected)]
    held = any(side.candidate.held_out for sides in own for side in sides)
    if matched.has_twin(one):
        return Compared(NOT_MADE, one, None, "given_twice", held_out=held)
    why, detail = _why(own, {one.chosen, one.rejected} <= again.replies, pairing)
    return Compared(NOT_MADE, one, None, why, detail, held_out=held)


def _why(own: list[list[_Side]], elsewhere: bool, pairing: Pairing) -> tuple[str, str]:
    """The first reason that explains why the rule does not make a pair. ``own``: rollouts of its task with the chosen and the rejected reply;
    ``elsewhere``: both replies are rollouts of some task."""
    if not all(own):
        if elsewhere:
            return "other_task", ""
        return ("no_reply" if not any(own) else "no_rejected" if own[0] else "no_chosen"), ""
    usable = [[side.candidate for side in sides if side.unusable is None] for sides in own]
    if not all(usable):
        return "unusable", next(str(side.unusable) for sides, left in zip(own, usable, strict=True) if not left for side in sides)
    rules = pairing.rules
    apart = [(one, other) for one in usable[0] for other in usable[1] if one.reward >= rules.pass_reward > other.reward]
    if not apart:
        turned = any(one.reward < rules.pass_reward <= other.reward for one in usable[0] for other in usable[1])
        return ("graded_the_other_way" if turned else "no_contrast"), ""
    apart = [(one, other) for one, other in apart if one.reward - other.reward >= rules.min_margin]
    if not apart:
        return "below_margin", ""
    return ("identical_reply" if all(one.trimmed == other.trimmed for one, other in apart) else "not_taken"), ""


@dataclass(frozen=True, slots=True)
class _Otherwise:
    """The tasks that the round pairs in another way than the rule: by id, and by prompt (``bare``: of pairs that name no task)."""

    tasks: frozenset[str | None]
    prompts: frozenset[bytes]
    bare: frozenset[bytes]

    @classmethod
    def of(cls, differing: Iterable[GivenPair]) -> _Otherwise:
        pairs = list(differing)
        return cls(
            frozenset(one.task_id for one in pairs), frozenset(one.folded for one in pairs),
            frozenset(one.folded for one in pairs if one.task_id is None),
        )

    def has(self, made: TaskPair) -> bool:
        kind, name = made.group
        return name in self.tasks or made.chosen.prompt in self.bare if kind == "task" else made.chosen.prompt in self.prompts


def _lacking(made: TaskPair, otherwise: _Otherwise) -> Compared:
    why = "absent"
    if not made.chosen.prompted:
        why = "without_prompt"
    elif not made.counted:
        why = "without_token_counts"
    elif otherwise.has(made):
        why = "task_paired_otherwise"
    return Compared(LACKING, None, made, why, held_out=made.held_out)
