"""Clusters of near-duplicate texts: connected by pairs whose shingle sets have at least the grid's Jaccard similarity, exactly.

MinHash (``minhash.py``) only says which texts are worth comparing. Among these, two texts can reach a similarity of t only if they
share one of their rarest shingles: the first |A| - ceil(t * |A|) + 1 in the order of frequency (prefix filter, Chaudhuri, Ganti
and Kaushik 2006). In texts made from a template those are the words in its slots, so a template alone brings nobody together.
Every pair left is compared on the shingles themselves, as numbers that stand for exactly one run of words.
"""
from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Final

import numpy as np
import numpy.typing as npt

from core.pairs.grams import NONE, Ints, Stream, at_least, named_runs, ranges
from core.settings import SETTINGS

_MOST: Final[int] = SETTINGS["near_duplicates"]["compared_most"]


@dataclass(frozen=True, slots=True)
class Clusters:
    """``root[t]``: the cluster of text t, as the number of its first text; ``compared``: pairs of sets that were compared;
    ``cut``: how often a text was left without further comparisons because too many others share one of its rare shingles."""

    root: Ints
    compared: int
    cut: int

    def members(self) -> list[Ints]:
        """The clusters of two or more texts, each ascending, in the order of their first texts."""
        order = np.argsort(self.root, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(self.root[order])) + 1) if len(order) else []
        return sorted((part for part in parts if len(part) > 1), key=lambda part: int(part[0]))


class TextSets:
    """The shingle sets of texts, fed one by one, kept as numbers."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._words: dict[str, int] = {}
        self._ids, self._lengths = array("q"), array("q")

    def add(self, listed: Sequence[str]) -> None:
        """The words of one more text."""
        known = self._words
        self._ids.extend(known.setdefault(word, len(known)) for word in listed)
        self._ids.append(NONE)
        self._lengths.append(len(listed))

    def clusters(self, share: Fraction) -> Clusters:
        """The clusters under a similarity. Memory: a few numbers for each word."""
        sets = _Sets.of(self._stream(), len(self._words), self._n)
        first = sets.first_equal()
        joined = _Joined(len(first))
        joined.root[:] = first
        for group in sets.groups(share, np.flatnonzero(first == np.arange(len(first)))):
            joined.compare(group, sets, share)
        return Clusters(joined.roots(), joined.compared, joined.cut)

    def _stream(self) -> Stream:
        lengths = np.array(self._lengths, dtype=np.int64)
        return Stream(np.array(self._ids, dtype=np.int64), np.cumsum(lengths + 1) - lengths - 1, lengths)


@dataclass(frozen=True)
class _Sets:
    """Each text's different shingles, ascending: ``ids[starts[t]:starts[t + 1]]``."""

    ids: Ints
    starts: Ints

    @classmethod
    def of(cls, stream: Stream, words: int, n: int) -> _Sets:
        names, size = named_runs(stream, words, n)
        # a text shorter than a shingle is one shingle: a number of its own for each different one
        whole: dict[bytes, int] = {}
        for row in np.flatnonzero(stream.lengths < n).tolist():
            start = stream.starts[row]
            names[start] = size + whole.setdefault(stream.ids[start:start + stream.lengths[row]].tobytes(), len(whole))
        places = np.flatnonzero(names >= 0)
        width = size + len(whole) + 1
        once = np.unique(stream.rows()[places] * width + names[places])
        return cls(once % width, np.searchsorted(once, np.arange(len(stream.starts) + 1) * width))

    def of_text(self, text: int) -> Ints:
        return self.ids[self.starts[text]:self.starts[text + 1]]

    def alike(self, text: int, others: Ints, share: Fraction) -> npt.NDArray[np.bool_]:
        """Which others have at least this Jaccard similarity with a text, exactly."""
        own, sizes = self.of_text(text), self.starts[others + 1] - self.starts[others]
        self._own[own] = True
        marked = np.concatenate(([0], np.cumsum(self._own[self.ids[ranges(self.starts[others], sizes)]])))
        self._own[own] = False
        ends = np.cumsum(sizes)
        shared = marked[ends] - marked[ends - sizes]
        return at_least(shared, len(own) + sizes - shared, share)

    @cached_property
    def _own(self) -> npt.NDArray[np.bool_]:
        """Room to mark the shingles of one text."""
        return np.zeros(int(self.ids.max(initial=0)) + 1, dtype=np.bool_)

    def first_equal(self) -> Ints:
        """For each text the first one with the same set."""
        seen: dict[int, list[int]] = {}
        found = np.arange(len(self.starts) - 1)
        for text in range(len(found)):
            own = self.of_text(text)
            # equal hashes are not yet equal sets
            others = seen.setdefault(hash(own.tobytes()), [])
            equal = next((other for other in others if np.array_equal(self.of_text(other), own)), None)
            if equal is None:
                others.append(text)
            else:
                found[text] = equal
        return found

    def groups(self, share: Fraction, texts: Ints) -> Iterator[list[int]]:
        """Texts that have one of their rarest shingles in common, two or more in a group, the smaller sets first."""
        sizes = np.diff(self.starts)[texts]
        rows, ids = np.repeat(np.arange(len(texts)), sizes), self.ids[ranges(self.starts[texts], sizes)]
        spread = np.bincount(ids) if len(ids) else ids
        order = np.lexsort((ids, spread[ids], rows))
        place = np.arange(len(ids)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        # ceil(t * size), the sizes that occur one by one: a share may be written with many digits
        known, which = np.unique(sizes, return_inverse=True)
        needed = np.array([ceil(share * size) for size in known.tolist()], dtype=np.int64)[which]
        kept = order[place < np.repeat(sizes - needed + 1, sizes)]
        ids, rows = ids[kept], rows[kept]
        order = np.lexsort((rows, sizes[rows], ids))
        ids, rows = ids[order], rows[order]
        for group in np.split(rows, np.flatnonzero(np.diff(ids)) + 1):
            if len(group) > 1:
                yield texts[group].tolist()


class _Joined:
    """Which texts are one cluster so far."""

    def __init__(self, texts: int) -> None:
        self.root: Ints = np.arange(texts)
        self.compared = self.cut = 0

    def find(self, text: int) -> int:
        path = []
        while (above := int(self.root[text])) != text:
            path.append(text)
            text = above
        self.root[path] = text
        return text

    def roots(self) -> Ints:
        return np.array([self.find(text) for text in range(len(self.root))], dtype=np.int64)

    def compare(self, group: list[int], sets: _Sets, share: Fraction) -> None:
        """Compare each text of a group with those before it that are not in its cluster yet, the nearest in size first."""
        members: dict[int, list[int]] = {}
        for text in group:
            others = self._others(self.find(text), members)
            self.compared += len(others)
            for other in others[sets.alike(text, others, share)].tolist() if len(others) else ():
                self._join(text, other, members)
            members.setdefault(self.find(text), []).append(text)

    def _others(self, own: int, members: dict[int, list[int]]) -> Ints:
        """The last texts of other clusters, as many as are compared."""
        found: list[int] = []
        for root in reversed(members):
            if root != own:
                found += members[root][-_MOST:]
            if len(found) >= _MOST:
                self.cut += len(found) > _MOST or root != next(iter(members))
                break
        return np.array(found[:_MOST], dtype=np.int64)

    def _join(self, text: int, other: int, members: dict[int, list[int]]) -> None:
        one, two = self.find(text), self.find(other)
        if one == two:
            return
        low, high = min(one, two), max(one, two)
        self.root[high] = low
        # the shorter list moves: a cluster that grows by one at a time must not be copied each time
        shorter, longer = sorted((members.pop(high, []), members.pop(low, [])), key=len)
        longer += shorter
        members[low] = longer
