"""Style markers of answers, counted: stock phrases, hedging, apologies, flattery, refusals, and answers that were cut off.

A marker says how an answer sounds, not whether it is right. Where the reward goes with one of them, training teaches the
marker. Texts are matched column by column (Arrow, RE2) and only counts are kept, so a million pairs need no more memory
than a batch of them. What a judgement of the counts needs is in ``core.statistics.marker_reward``.
"""
from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.pairs.columns import Flags, flags, integers
from core.pairs.graded import assistant_text
from core.pairs.phrases import TRUNCATION, Marker, PhraseTable, normal_phrase
from core.pairs.tally import counted

_FOREIGN_LETTER: Final = r"[^\P{L}\p{Latin}]"
_LETTER: Final = r"\pL"
_WORD_RUN: Final = re.compile(r"\S+")


def spoken(texts: Any, messages: Any) -> Any:
    """What the assistant wrote in each row: the text, or the contents of the assistant's turns where the row is a conversation."""
    chat = flags(pc.is_valid(messages))
    if not chat.any():
        return texts
    said = [assistant_text(json.loads(side)) for side in messages.filter(pa.array(chat)).to_pylist()]
    return pc.replace_with_mask(texts, pa.array(chat), pa.array(said, type=pa.string()))


def covered(texts: Any, table: PhraseTable) -> Flags:
    """Rows whose language the table can be about: most letters are Latin, and a text of some length has an English function word."""
    known = flags(pc.string_is_ascii(texts))
    other = ~known
    if other.any():
        known[other] = _mostly_latin(texts.filter(pa.array(other)))
    silent = known & ~flags(pc.match_substring_regex(texts, pattern=table.common_word))
    known[silent] = [len(_WORD_RUN.findall(text)) < table.least_words for text in texts.filter(pa.array(silent)).to_pylist()]
    return known


def _mostly_latin(texts: Any) -> Flags:
    """Texts without a letter of another script than Latin, or with fewer of them than Latin ones."""
    mixed = flags(pc.match_substring_regex(texts, pattern=_FOREIGN_LETTER))
    column = texts.filter(pa.array(mixed))
    letters, foreign = (integers(pc.count_substring_regex(column, pattern=pattern)) for pattern in (_LETTER, _FOREIGN_LETTER))
    found = ~mixed
    found[mixed] = letters > foreign + foreign
    return found


def phrases_in(texts: Any, marker: Marker) -> tuple[Flags, Counter[str]]:
    """Which rows have one of the marker's phrases, and the first phrase of each such row, counted."""
    mask = flags(pc.match_substring_regex(texts, pattern=marker.hint))
    if not mask.any():
        return mask, Counter()
    found = pc.struct_field(pc.extract_regex(texts.filter(pa.array(mask)), pattern=marker.pattern), "phrase")
    mask[mask] = flags(pc.is_valid(found))
    counts: Counter[str] = Counter()
    for phrase, count in counted(found).items():
        counts[normal_phrase(phrase, marker)] += count
    return mask, counts


def cut_off(texts: Any, reasons: Any, table: PhraseTable) -> Flags:
    """Rows that stopped at a length limit: what the generator says where it says something (``reasons``: finish reasons or null), and
    otherwise a long text that ends in the middle of a sentence."""
    long = flags(pc.greater_equal(pc.utf8_length(texts), table.least_characters))
    last = pc.utf8_slice_codeunits(pc.utf8_rtrim_whitespace(texts), start=-1)
    looks_cut = long & flags(pc.match_substring_regex(last, pattern=table.open_end))
    stated = flags(pc.is_valid(reasons))
    return np.where(stated, flags(pc.is_in(reasons, value_set=pa.array(sorted(table.cut_reasons)))), looks_cut)


@dataclass
class PairCounts:
    """Pairs by which side has a marker; ``chosen_phrases``: the first phrase of each side that has one."""

    both: int = 0
    chosen_only: int = 0
    rejected_only: int = 0
    neither: int = 0
    chosen_phrases: Counter[str] = field(default_factory=Counter)
    rejected_phrases: Counter[str] = field(default_factory=Counter)

    @property
    def judged(self) -> int:
        return self.both + self.chosen_only + self.rejected_only + self.neither

    def add(self, chosen: Flags, rejected: Flags) -> None:
        both = int((chosen & rejected).sum())
        one, other = int(chosen.sum()) - both, int(rejected.sum()) - both
        self.both, self.chosen_only, self.rejected_only = self.both + both, self.chosen_only + one, self.rejected_only + other
        self.neither += len(chosen) - both - one - other


@dataclass
class PairStyle:
    """Counts over the pairs of a round, grown by one batch of TEXT rows at a time."""

    table: PhraseTable
    pairs: int = 0
    not_covered: int = 0
    markers: dict[str, PairCounts] = field(default_factory=dict)
    differences: list[npt.NDArray[np.int64]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.markers = {name: PairCounts() for name in self.table.names}

    def add(self, rows: pa.RecordBatch) -> None:
        """Count the ``chosen`` and ``rejected`` texts (and messages) of some rows. Phrases are counted in pairs whose sides are both in
        the table's language; being cut off, in all."""
        sides = [spoken(rows[name], rows[f"{name}_messages"]) for name in ("chosen", "rejected")]
        self.pairs += rows.num_rows
        lengths = [integers(pc.utf8_length(side)) for side in sides]
        self.differences.append(lengths[0] - lengths[1])
        nothing = pa.nulls(rows.num_rows, pa.string())
        self.markers[TRUNCATION].add(*(cut_off(side, nothing, self.table) for side in sides))
        known = covered(sides[0], self.table) & covered(sides[1], self.table)
        self.not_covered += int((~known).sum())
        chosen, rejected = sides if known.all() else [side.filter(pa.array(known)) for side in sides]
        for marker in self.table.markers:
            counts = self.markers[marker.name]
            (one, its_phrases), (other, other_phrases) = phrases_in(chosen, marker), phrases_in(rejected, marker)
            counts.add(one, other)
            counts.chosen_phrases += its_phrases
            counts.rejected_phrases += other_phrases


@dataclass
class ReplyStyle:
    """Marks of single replies with their rewards and tasks: a few bytes a reply, no text."""

    table: PhraseTable
    rewards: list[Fraction | None] = field(default_factory=list)
    tasks: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    stated: int = 0
    """Replies whose generator says why it stopped."""
    known: list[Flags] = field(default_factory=list)
    marks: dict[str, list[Flags]] = field(default_factory=dict)
    phrases: dict[str, Counter[str]] = field(default_factory=dict)
    _codes: dict[object, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.marks = {name: [] for name in self.table.names}
        self.phrases = {name: Counter() for name in self.table.names}

    def add(
        self, texts: Sequence[str], tasks: Sequence[object], rewards: Sequence[Fraction | None], finish_reasons: Sequence[str | None],
    ) -> None:
        """Count some replies: what the assistant wrote, the task (any label), the reward or None, the finish reason or None."""
        column, reasons = pa.array(texts, type=pa.string()), pa.array(finish_reasons, type=pa.string())
        self.rewards += rewards
        self.tasks += [self._codes.setdefault(task, len(self._codes)) for task in tasks]
        self.lengths += map(len, texts)
        self.stated += len(reasons) - reasons.null_count
        known = covered(column, self.table)
        self.known.append(known)
        self.marks[TRUNCATION].append(cut_off(column, reasons, self.table))
        for marker in self.table.markers:
            mask = np.zeros(len(column), dtype=np.bool_)
            mask[known], phrases = phrases_in(column.filter(pa.array(known)), marker)
            self.marks[marker.name].append(mask)
            self.phrases[marker.name] += phrases

    @property
    def replies(self) -> int:
        return len(self.tasks)

    def marked(self, name: str) -> Flags:
        """Which replies have the marker."""
        return np.concatenate(self.marks[name]) if self.marks[name] else np.zeros(0, dtype=np.bool_)

    def judged(self, name: str) -> Flags:
        """Which replies the marker can be judged on: those in the table's language; for being cut off, all."""
        if name == TRUNCATION:
            return np.ones(self.replies, dtype=np.bool_)
        return np.concatenate(self.known) if self.known else np.zeros(0, dtype=np.bool_)

    @property
    def spread(self) -> dict[str, object]:
        """Lengths over all replies, and tasks with several replies of very different lengths (longest more than ``wide_spread`` times
        the shortest)."""
        groups: dict[int, list[int]] = {}
        for task, length in zip(self.tasks, self.lengths, strict=True):
            groups.setdefault(task, []).append(length)
        several = [lengths for lengths in groups.values() if len(lengths) > 1]
        ordered = sorted(self.lengths)
        middle = [ordered[(len(ordered) - 1) >> 1], ordered[len(ordered) >> 1]] if ordered else None
        return {
            "replies": len(ordered), "middle": middle, "longest": ordered[-1] if ordered else None, "cut_off": int(self.marked(TRUNCATION).sum()),
            "tasks_with_several": len(several), "wide_spread": float(self.table.wide_spread),
            "tasks_with_wide_spread": sum(max(lengths) > self.table.wide_spread * min(lengths) for lengths in several),
        }
