"""Clusters of near-duplicate texts: connected by pairs whose shingle sets have at least the grid's Jaccard similarity, exactly.

MinHash (``minhash.py``) only says which texts are worth comparing. Among these, two texts can reach a similarity of t only if they
share one of their rarest shingles: the first |A| - ceil(t * |A|) + 1 in the order of frequency (prefix filter, Chaudhuri, Ganti
and Kaushik 2006). In texts made from a template those are the words in its slots, so a template alone brings nobody together.
Every pair left is compared on the shingles themselves, as numbers that stand for exactly one run of words.
"""
from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Final

import numpy as np
import numpy.typing as npt

from core.pairs.grams import NONE, Ints, Narrow, at_least, named_runs, ranges
from core.settings import SETTINGS

_SETTINGS: Final = SETTINGS["near_duplicates"]
_MOST: Final[int] = _SETTINGS["compared_most"]
_FIRST: Final[int] = _SETTINGS["compared_first"]
_AT_ONCE: Final[int] = _SETTINGS["texts_at_once"]
_WORDS_MOST: Final[int] = _SETTINGS["words_most"]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Clusters:
    """``root[t]``: the cluster of text t, as the number of its first text; ``compared``: pairs of sets that were compared;
    ``cut``: how often a text was not compared with some of another cluster because too many texts share one of its rare shingles."""

    root: Ints
    compared: int
    cut: int

    def members(self) -> list[Ints]:
        """The clusters of two or more texts, each ascending, in the order of their first texts."""
        order = np.argsort(self.root, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(self.root[order])) + 1) if len(order) else []
        return sorted((part for part in parts if len(part) > 1), key=lambda part: int(part[0]))


class TextSets:
    """The shingle sets of texts, fed one by one, kept as numbers; texts of the same words in the same order are kept once."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._words: dict[str, int] = {}
        self._lists: dict[bytes, int] = {}
        self._which, self._first = array("i"), array("i")
        self._ids, self._lengths = array("i"), array("i")
        self.left_out = 0
        """Texts that were not taken because ``near_duplicates.words_most`` words (settings) are held; each is a cluster of its own."""

    def add(self, listed: Sequence[str]) -> None:
        """The words of one more text."""
        digest = hashlib.sha256(" ".join(listed).encode()).digest()
        which = self._lists.get(digest, NONE)
        if which < 0 and len(self._ids) + len(listed) >= _WORDS_MOST:
            self.left_out += 1
        elif which < 0:
            which = self._lists[digest] = len(self._first)
            self._first.append(len(self._which))
            known = self._words
            self._ids.extend(known.setdefault(word, len(known)) for word in listed)
            self._ids.append(NONE)
            self._lengths.append(len(listed))
        self._which.append(which)

    def clusters(self, share: Fraction, progress: Progress | None = None) -> Clusters:
        """The clusters under a similarity. ``progress``: called with how many groups of texts were compared, of how many. Memory: about
        50 bytes a word."""
        sets = _Sets.of(np.array(self._ids, dtype=np.int32), np.array(self._lengths, dtype=np.int64), len(self._words), self._n)
        first = sets.first_equal()
        joined = _Joined(first)
        groups, last = sets.groups(share, np.flatnonzero(first == np.arange(len(first)))), 0
        for group, done, total in groups:
            joined.compare(group, sets, share)
            if progress is not None and done - last >= _AT_ONCE:
                progress(done, total)
                last = done
        which = np.array(self._which, dtype=np.int64)
        roots, taken = np.arange(len(which)), which >= 0
        roots[taken] = np.array(self._first, dtype=np.int64)[joined.roots()[which[taken]]]
        return Clusters(roots, joined.compared, joined.cut)


@dataclass(frozen=True)
class _Sets:
    """Each text's different shingles, ascending: ``ids[starts[t]:starts[t + 1]]``."""

    ids: Narrow
    starts: Ints

    @classmethod
    def of(cls, ids: Narrow, lengths: Ints, words: int, n: int) -> _Sets:
        """The sets of texts that lie one behind another in ``ids``, each with one NONE behind it."""
        starts = np.concatenate(([0], np.cumsum(lengths + 1)))
        names, size = named_runs(ids, words, n)
        # a text shorter than a shingle is one shingle: a number of its own for each different one
        whole: dict[bytes, int] = {}
        for row in np.flatnonzero(lengths < n).tolist():
            start = starts[row]
            names[start] = size + whole.setdefault(ids[start:start + lengths[row]].tobytes(), len(whole))
        width, parts, sizes = size + len(whole) + 1, list[Narrow](), list[Ints]()
        for first in range(0, len(lengths), _AT_ONCE):
            ends = starts[first:first + _AT_ONCE + 1]
            here = names[ends[0]:ends[-1]]
            rows = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
            once = np.unique((rows * width + here)[here >= 0])
            parts.append((once % width).astype(np.int32))
            sizes.append(np.bincount(once // width, minlength=len(ends) - 1))
        counts = np.concatenate([[0], *sizes]).astype(np.int64)
        return cls(np.concatenate([np.zeros(0, dtype=np.int32), *parts]), np.cumsum(counts))

    def of_text(self, text: int) -> Narrow:
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

    def groups(self, share: Fraction, texts: Ints) -> Iterator[tuple[list[int], int, int]]:
        """Texts that have one of their rarest shingles in common, two or more in a group, the smaller sets first; with how many
        places of rare shingles are done, of how many."""
        used = self.ids[ranges(self.starts[texts], np.diff(self.starts)[texts])]
        spread = np.asarray(np.bincount(used), dtype=np.int64)
        del used
        kept = [self._rare(share, texts[first:first + _AT_ONCE], spread) for first in range(0, len(texts), _AT_ONCE)]
        rows, ids = (np.concatenate([part[side] for part in kept]) if kept else np.zeros(0, dtype=np.int64) for side in (0, 1))
        sizes = np.diff(self.starts)
        order = np.lexsort((rows, sizes[rows], ids))
        ids, rows = ids[order], rows[order]
        ends = np.flatnonzero(np.diff(ids)) + 1
        for first, last in zip(np.concatenate(([0], ends)).tolist(), [*ends.tolist(), len(rows)], strict=True):
            if last - first > 1:
                yield rows[first:last].tolist(), last, len(rows)

    def _rare(self, share: Fraction, texts: Ints, spread: Ints) -> tuple[Narrow, Narrow]:
        """(text, shingle) of the rarest shingles of some texts: without one of these in common, two texts do not reach the share."""
        sizes = np.diff(self.starts)[texts]
        rows, ids = np.repeat(np.arange(len(texts)), sizes), self.ids[ranges(self.starts[texts], sizes)]
        order = np.lexsort((ids, spread[ids], rows))
        place = np.arange(len(ids)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        # ceil(t * size), the sizes that occur one by one: a share may be written with many digits
        known, which = np.unique(sizes, return_inverse=True)
        needed = np.array([ceil(share * size) for size in known.tolist()], dtype=np.int64)[which]
        kept = order[place < np.repeat(sizes - needed + 1, sizes)]
        return texts[rows[kept]].astype(np.int32), ids[kept]


class _Joined:
    """Which texts are one cluster so far."""

    def __init__(self, first: Ints) -> None:
        self.root: list[int] = first.tolist()
        self.compared = self.cut = 0

    def find(self, text: int) -> int:
        root = self.root
        while (above := root[text]) != text:
            root[text] = root[above]
            text = above
        return text

    def roots(self) -> Ints:
        return np.array([self.find(text) for text in range(len(self.root))], dtype=np.int64)

    def compare(self, group: list[int], sets: _Sets, share: Fraction) -> None:
        """Compare each text of a group with those before it that are not in its cluster yet, the nearest in size first."""
        members: dict[int, list[int]] = {}
        for text in group:
            others, cut, more = self._others(self.find(text), members)
            # a few first: where one of them joins a large cluster, the rest of it needs no comparison
            for part in (others[:_FIRST], others[_FIRST:]):
                own = self.find(text)
                left = np.array([other for other in part if self.find(other) != own], dtype=np.int64)
                self.compared += len(left)
                for other in left[sets.alike(text, left, share)].tolist() if len(left) else ():
                    self._join(text, other, members)
            self.cut += more or any(self.find(root) != self.find(text) for root in cut)
            members.setdefault(self.find(text), []).append(text)

    def _others(self, own: int, members: dict[int, list[int]]) -> tuple[list[int], list[int], bool]:
        """The last texts of other clusters, as many as are compared; clusters of which some texts are not among them, and whether
        there are clusters of which none is."""
        found, cut = list[int](), list[int]()
        for root in reversed(members):
            if root == own:
                continue
            room = _MOST - len(found)
            if not room:
                return found, cut, True
            found += members[root][:-room - 1:-1]
            if len(members[root]) > room:
                cut.append(root)
        return found, cut, False

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
