"""Runs of n words in a set of texts, numbered exactly: no hash stands for a run, so no collision can look like a match.

Words get numbers from a dictionary. Runs get theirs by doubling (Karp, Miller and Rosenberg 1972): a run of 2w words is the
pair of the numbers of its halves, looked up in the sorted table of the pairs that occur, and n words are the pair of the two
runs of the largest power of two that cover them. A word or run that the set does not have gets ``NONE``, and so does every run
that contains it. All of it works on arrays: texts lie one behind another, with one ``NONE`` behind each.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from core.settings import SETTINGS

Ints: TypeAlias = npt.NDArray[np.int64]
Narrow: TypeAlias = npt.NDArray[np.int32]
Flags: TypeAlias = npt.NDArray[np.bool_]

NONE: Final = -1
_PARTS: Final[int] = SETTINGS["near_duplicates"]["parts"]


@dataclass(frozen=True, slots=True)
class Stream:
    """Texts as word numbers. ``starts[t]`` and ``lengths[t]``: where text t begins in ``ids``, and how many words it has."""

    ids: Ints
    starts: Ints
    lengths: Ints

    def counted(self, marked: Flags) -> Ints:
        """How many positions of each text are marked."""
        before = np.concatenate(([0], np.cumsum(marked)))
        return np.asarray(before[self.starts + self.lengths] - before[self.starts], dtype=np.int64)

    def rows(self) -> Ints:
        """The text that each position belongs to."""
        return np.repeat(np.arange(len(self.starts)), self.lengths + 1)


def stream_of(numbered: Sequence[Sequence[int]]) -> Stream:
    """Texts, given as the numbers of their words, one behind another."""
    lengths = np.fromiter(map(len, numbered), dtype=np.int64, count=len(numbered))
    ends = np.cumsum(lengths + 1)
    ids = np.fromiter(chain.from_iterable(chain(text, (NONE,)) for text in numbered), dtype=np.int64, count=int(ends[-1]) if len(ends) else 0)
    return Stream(ids, ends - lengths - 1, lengths)


def at_least(part: Ints, whole: Ints | int, share: Fraction) -> Flags:
    """Whether part / whole is at or above the share, exactly; a part of nothing reaches no share. Counts fit 32 bits; a share written with
    many digits does not, and is compared in Python's integers."""
    parts, wholes = np.asarray(part), np.asarray(whole)
    if max(share.numerator, share.denominator) > np.iinfo(np.int32).max:
        parts, wholes = parts.astype(object), wholes.astype(object)
    return np.asarray((parts * share.denominator >= wholes * share.numerator) & (parts > 0), dtype=np.bool_)


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """The numbers of several ranges, one behind another: [5, 9] with lengths [2, 1] gives 5, 6, 9."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.arange(total) + np.repeat(starts - (ends - lengths), lengths), dtype=np.int64)


def covered(begins: Flags, n: int) -> Flags:
    """Positions (first axis) that lie in a run of n words which begins at a marked position."""
    found, width = begins.copy(), 1
    while width < n:
        step = min(width, n - width)
        found[step:] |= found[:-step].copy()
        width += step
    return found


class GramNumbers:
    """Numbers for the words and the runs of n words of a set of texts."""

    def __init__(self, texts: Sequence[Sequence[str]], n: int) -> None:
        self.n = n
        self._words: dict[str, int] = {}
        for word in chain.from_iterable(texts):
            self._words.setdefault(word, len(self._words))
        self._tables: list[tuple[int, int, Ints]] = []
        self.stream = self.numbered(texts)
        names, size = self.stream.ids, len(self._words)
        for step in _steps(n):
            keys, places = _pairs(names, step, size)
            table = np.unique(keys)
            self._tables.append((step, size, table))
            names, size = _looked_up(table, keys, places, len(names)), len(table)
        self.grams, self.size = names, size
        """The number of the run that begins at each position of ``stream``, and how many different runs there are."""

    def numbered(self, texts: Sequence[Sequence[str]]) -> Stream:
        """Other texts as numbers of this set's words."""
        known = self._words
        return stream_of([[known.get(word, NONE) for word in text] for text in texts])

    def grams_of(self, stream: Stream) -> Ints:
        """The number of the run that begins at each position of another stream."""
        names = stream.ids
        for step, size, table in self._tables:
            keys, places = _pairs(names, step, size)
            names = _looked_up(table, keys, places, len(names))
        return names


def named_runs(ids: Narrow, size: int, n: int) -> tuple[Narrow, int]:
    """The number of the run of n words that begins at each position of the ids of a stream with ``size`` different words, and how many
    there are. Memory: 13 bytes a word and those that a part of the runs takes to be sorted."""
    names = ids
    for step in _steps(n):
        names, size = _numbered_pairs(names, step, size)
    return names, size


def _numbered_pairs(names: Narrow, step: int, size: int) -> tuple[Narrow, int]:
    keys = names[:-step].astype(np.int64)
    # -1 stands for every pair with a NONE in it
    keys *= size
    keys += names[step:]
    keys[(names[:-step] < 0) | (names[step:] < 0)] = NONE
    parts = (keys % _PARTS).astype(np.int8)
    found, many = np.full(len(names), NONE, dtype=np.int32), 0
    for part in range(_PARTS):
        places = np.flatnonzero((parts == part) & (keys >= 0)).astype(np.int32)
        table, at = np.unique(keys[places], return_inverse=True)
        found[places] = at + many
        many += len(table)
    return found, many


def _steps(n: int) -> list[int]:
    """How far apart the two halves of each doubling begin; the last one may overlap."""
    steps, width = [], 1
    while width + width <= n:
        steps.append(width)
        width += width
    return steps if width == n else [*steps, n - width]


def _pairs(names: Ints, step: int, size: int) -> tuple[Ints, Ints]:
    """Both numbers of each pair as one, and where the pairs begin. At most ``size`` squared, so it fits where ``size`` fits 31 bits."""
    first, second = names[:-step], names[step:]
    places = np.flatnonzero((first >= 0) & (second >= 0))
    return first[places] * size + second[places], places


def _looked_up(table: Ints, keys: Ints, places: Ints, length: int) -> Ints:
    found = np.full(length, NONE, dtype=np.int64)
    if len(table):
        at: Any = np.searchsorted(table, keys)
        at[at == len(table)] = 0
        same = table[at] == keys
        found[places[same]] = at[same]
    return found
