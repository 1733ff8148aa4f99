"""Contamination: training pairs held against the texts and task ids of a locked holdout.

A text is contaminated by a locked text when their words are equal (``exact``), or when at least the grid's share of the words of
either of the two lies in shared runs of n words: ``training_coverage`` (the training text is made of the locked one) and
``holdout_coverage`` (the locked text is contained in the training text, as an ask embedded in a longer prompt is). A pair is
contaminated as well when it has a locked item's task id (``same_task``, ``core.pairs.locked_tasks``). Short texts can only be equal as a whole.

One thing that is equal is no hit: an answer (chosen, rejected) that equals a locked text of fewer than n words which is not the
item's prompt. "42" and "Yes" answer many questions.
"""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from core.errors import RoundError, Where
from core.pairs.grams import Ints, at_least
from core.pairs.locked_tasks import LockedTasks, item_name
from core.pairs.suite import LockedText, Suite, TextMatch
from core.pairs.task_ids import NAMES, TaskId
from core.settings import SETTINGS

SAME_TASK, EXACT, TRAINING, HOLDOUT = "same_task", "exact", "training_coverage", "holdout_coverage"
RULES: Final = (SAME_TASK, EXACT, TRAINING, HOLDOUT)
"""The rules, strongest first: the first one that holds is a finding's ``rule``."""
PROMPT_FIELD: Final = "prompt"
FIELDS: Final = (PROMPT_FIELD, "chosen", "rejected")
_NOT_TEXTS: Final = frozenset(SETTINGS["contamination"]["not_texts"])
_ASKING: Final = frozenset(SETTINGS["contamination"]["prompt_names"])


@dataclass(frozen=True, slots=True)
class PairText:
    """One text of a pair. ``field``: prompt, chosen or rejected; ``start``: where it begins in that field's text."""

    field: str
    text: str
    start: int = 0


@dataclass(frozen=True, slots=True)
class CheckedPair:
    """A pair as it is looked at: its texts, and the task ids found in it with their places."""

    ordinal: int
    pair_id: str
    texts: Sequence[PairText]
    tasks: Sequence[tuple[str, TaskId]] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """The strongest hit of one field of a pair. ``locked_texts``: how many different locked texts the field hits.

    For ``same_task``, ``field`` is where the id stands, ``locked`` names the item and the id, and the counts are 0.
    """

    ordinal: int
    pair_id: str
    field: str
    rules: tuple[str, ...]
    locked: LockedText
    text: PairText | None = None
    words: int = 0
    covered: int = 0
    locked_words: int = 0
    locked_covered: int = 0
    locked_texts: int = 0

    @property
    def rule(self) -> str:
        return self.rules[0]

    @property
    def strength(self) -> tuple[Any, ...]:
        """Sorts findings: strongest rule, then the larger coverage, then the pair's id."""
        return RULES.index(self.rule), -self.coverage, self.pair_id, self.field

    @property
    def coverage(self) -> float:
        """The larger of the two shares; for order only, the rules are decided exactly."""
        shares = ((self.covered, self.words), (self.locked_covered, self.locked_words))
        return max((part / whole for part, whole in shares if whole), default=0.0)


def locked_texts(items: Sequence[Mapping[str, Any]], left_out: Collection[str] = ()) -> list[LockedText]:
    """Every text of every item, ids and role names aside. ``left_out``: members of an item that are not looked at."""
    return [
        LockedText(position, item_name(item, position), place, text, asks=place.partition(".")[0].partition("[")[0] in _ASKING)
        for position, item in enumerate(items)
        for place, text in _texts({key: value for key, value in item.items() if key not in left_out}, "")
    ]


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in _NOT_TEXTS:
                yield from _texts(inner, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _texts(inner, f"{place}[{position}]")


def refuse_unknown_members(items: Sequence[Mapping[str, Any]], left_out: Collection[str]) -> None:
    """Raise RoundError ``unknown_member`` for a member to leave out that no item has: a slip there would go unseen."""
    members = {member for item in items for member in item}
    for member in left_out:
        if member not in members:
            raise RoundError(
                "unknown_member", expected="a member of the items", got=repr(member), remedy=f"name one of {', '.join(sorted(members))}",
                where=Where(field="--leave-out"),
            )


class ContaminationCheck:
    """A holdout, ready to be held against pairs (or what else is ``called`` so), and what it has counted so far."""

    def __init__(self, items: Sequence[Mapping[str, Any]], n: int, share: Fraction, *, left_out: Collection[str] = (), called: str = "pair") -> None:
        refuse_unknown_members(items, left_out)
        self.called = called
        self.names = [item_name(item, position) for position, item in enumerate(items)]
        self.items, self.left_out = len(items), tuple(left_out)
        self.texts = locked_texts(items, left_out)
        self.suite = Suite(self.texts, n, share)
        self.tasks = LockedTasks(items, left_out)
        self.hits: Ints = np.zeros(len(self.suite.owners), dtype=np.int64)
        """For each entry of the suite, how many fields of pairs hit it."""
        self.task_hits: Ints = np.zeros(self.items, dtype=np.int64)
        """For each item, how many pairs have its task id."""
        self.pairs = self.pairs_with_task = self.texts_seen = self.equal_short_answers = 0
        self._short_answers = np.array(
            [length < n and not any(text.asks for text in owners) for length, owners in zip(self.suite.lengths, self.suite.owners, strict=True)],
            dtype=np.bool_,
        )

    def refuse_nothing(self) -> None:
        """Raise RoundError ``nothing_to_look_for`` where the items have no text and no id: finding nothing of them would clear nothing."""
        if self.items and not (self.tasks or any(one.text.strip() for one in self.texts)):
            raise RoundError(
                "nothing_to_look_for", expected="a text or an id in at least one item", got=f"neither in {self.items:,} items",
                remedy="hand over the items with their texts, and leave fewer members out",
            )

    def check(self, pairs: Sequence[CheckedPair]) -> list[Finding]:
        """The findings of some pairs: at most one for each field, and one for the task, in the order of the pairs."""
        texts = [(pair, text) for pair in pairs for text in pair.texts]
        self.pairs += len(pairs)
        self.pairs_with_task += sum(bool(pair.tasks) for pair in pairs)
        self.texts_seen += len(texts)
        best = {pair.ordinal: [finding] for pair in pairs if (finding := self._same_task(pair)) is not None}
        counted: dict[tuple[int, str], set[int]] = {}
        for row, match in self.suite.match([text.text for _, text in texts]):
            pair, text = texts[row]
            if text.field != PROMPT_FIELD and match.exact.any():
                match = self._without_short_answers(match)
            if len(match.entries):
                best.setdefault(pair.ordinal, []).append(self._strongest(pair, text, match))
                self._count(match.entries, counted.setdefault((pair.ordinal, text.field), set()) if len(pair.texts) > len(FIELDS) else None)
        return [finding for pair in pairs for finding in _one_a_field(best.get(pair.ordinal, []))]

    def _same_task(self, pair: CheckedPair) -> Finding | None:
        """The first id that is a locked item's; every item that an id of the pair stands for is counted, once."""
        found = self.tasks.hits(pair.pair_id, pair.tasks).found
        if not found:
            return None
        self.task_hits[sorted({one.item for _, locked in found for one in locked})] += 1
        place, locked = found[0]
        return Finding(pair.ordinal, pair.pair_id, place, (SAME_TASK,), locked[0])

    def _without_short_answers(self, match: TextMatch) -> TextMatch:
        kept = ~(match.exact & self._short_answers[match.entries])
        self.equal_short_answers += int((~kept).sum())
        return TextMatch(match.words, match.entries[kept], match.covered[kept], match.locked_covered[kept], match.exact[kept])

    def _count(self, entries: Ints, counted: set[int] | None) -> None:
        """Count a hit of each entry, once for each field of a pair: ``counted`` holds those of a field that is a chat."""
        if counted is None:
            self.hits[entries] += 1
            return
        fresh = set(entries.tolist()) - counted
        self.hits[list(fresh)] += 1
        counted |= fresh

    def _strongest(self, pair: CheckedPair, text: PairText, match: TextMatch) -> Finding:
        entries, covered, locked_covered, exact = match.entries, match.covered, match.locked_covered, match.exact
        lengths = self.suite.lengths[entries]
        # doubles of counts below 2^53 keep the order of the fractions, and only the order is used
        share = np.maximum(covered / max(1, match.words), locked_covered / np.maximum(1, lengths))
        at = int(np.lexsort((entries, -share, ~exact))[0])
        rules = (
            (EXACT, bool(exact[at])), (TRAINING, bool(at_least(covered[at], match.words, self.suite.share))),
            (HOLDOUT, bool(at_least(locked_covered[at], lengths[at], self.suite.share))),
        )
        owners = self.suite.owners[entries[at]]
        locked = next((owner for owner in owners if owner.asks), owners[0])
        return Finding(
            pair.ordinal, pair.pair_id, text.field, tuple(name for name, holds in rules if holds), locked, text,
            match.words, int(covered[at]), int(lengths[at]), int(locked_covered[at]), len(entries),
        )

    def items_hit(self) -> list[tuple[int, dict[str, int]]]:
        """(position, {place of a text or id: fields of pairs that hit it}) of every contaminated item."""
        found: dict[int, dict[str, int]] = {}
        for entry in np.flatnonzero(self.hits).tolist():
            for owner in self.suite.owners[entry]:
                found.setdefault(owner.item, {})[owner.field] = int(self.hits[entry])
        for item in np.flatnonzero(self.task_hits).tolist():
            found.setdefault(item, {})[SAME_TASK] = int(self.task_hits[item])
        return sorted(found.items())

    def not_looked_for(self) -> list[tuple[str, str, list[int]]]:
        """(rule, why, positions of the items) of what was not looked for at all: by an id, and by a text."""
        with_text = {one.item for one in self.texts if one.text.strip()}
        blank = [position for position in range(self.items) if position not in with_text]
        found = [(SAME_TASK, why, positions) for why, positions in sorted(self.tasks.not_looked_for.items())]
        return [*found, *([(EXACT, "it has no text to look for", blank)] if blank else [])]

    def skipped(self) -> list[tuple[str, str]]:
        """(rule, why) of what could not be applied to everything: no hit under a rule that never ran clears nothing."""
        short = sum(0 < length < self.suite.n for length in self.suite.lengths.tolist())
        reasons = [
            *self._without_task(),
            (TRAINING, f"{short:,} locked texts of fewer than {self.suite.n} words: they can only be equal as a whole", bool(short)),
            (EXACT, f"{self.equal_short_answers:,} answers that equal a locked text of fewer than {self.suite.n} words which is no prompt: "
                    "equal short answers prove nothing", bool(self.equal_short_answers)),
            (EXACT, f"{self.suite.blank:,} blank locked texts", bool(self.suite.blank)),
            (EXACT, f"the members {', '.join(self.left_out)} of the locked items, left out as asked", bool(self.left_out)),
        ]
        return [(rule, why) for rule, why, holds in reasons if holds]

    def _without_task(self) -> list[tuple[str, str, bool]]:
        """What the rule of the task could not be applied to."""
        row, lacking, numbers = self.called, self.pairs - self.pairs_with_task, self.tasks.items_by_number()
        return [
            (SAME_TASK, f"no {row} has a task id ({', '.join(NAMES)}, on the row or on a side)", 0 < lacking == self.pairs),
            (SAME_TASK, f"{lacking:,} of {self.pairs:,} {row}s have no task id", 0 < lacking < self.pairs),
            (SAME_TASK, "no locked item has a task id or an id", bool(self.items) and not self.tasks),
            (SAME_TASK, f"{numbers:,} locked {'item is' if numbers == 1 else 'items are'} known by a bare number: it is looked for where a {row} "
                        "declares its task, and no deeper",
             bool(numbers)),
        ]


def _one_a_field(findings: list[Finding]) -> Iterator[Finding]:
    """The strongest of each field, in order of appearance."""
    strongest: dict[str, Finding] = {}
    for finding in findings:
        held = strongest.get(finding.field)
        if held is None or finding.strength < held.strength:
            strongest[finding.field] = finding
    yield from strongest.values()
