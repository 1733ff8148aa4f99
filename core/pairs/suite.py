"""The locked texts of a holdout, indexed so that many training texts are held against them at once.

For a training text T and a locked text H, ``covered`` counts the words of T that lie in a run of n words which H has too, and
``locked_covered`` the words of H in a run that T has too. Either share at or above the bound is a hit, and so are equal word
lists. Which pairs (T, H) are counted at all is decided by two conditions that a hit cannot escape, so none is lost:

- T reaches its share against H only if it reaches it against all locked texts together;
- H reaches its share only with one of its *key* runs. The others are its most common runs, as many as stay below the share
  together: in texts made from a template, the template's runs. A template alone then costs nothing.

Training texts that show the same runs at the same places are counted once.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from core.pairs.grams import Flags, GramNumbers, Ints, Stream, at_least, covered, ranges
from core.pairs.words import wordless_key, words
from core.settings import SETTINGS

_CELLS: Final[int] = SETTINGS["contamination"]["table_cells"]
_AT_ONCE: Final[int] = SETTINGS["contamination"]["cells_at_once"]


@dataclass(frozen=True, slots=True)
class LockedText:
    """One text of a holdout item. ``item``: position in the list; ``field``: where in the item it stands; ``asks``: it is what
    the item asks, not an answer or anything else that was locked with it."""

    item: int
    item_id: str
    field: str
    text: str
    asks: bool = True


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A training text that hits locked texts: for each of ``entries`` (ascending) the covered words of both sides, and whether
    the word lists are equal."""

    words: int
    entries: Ints
    covered: Ints
    locked_covered: Ints
    exact: Flags


@dataclass(frozen=True)
class Postings:
    """For each run, the entries that have it: ``entries[starts[g]:starts[g + 1]]``."""

    starts: Ints
    entries: Ints
    all_entries: int

    @classmethod
    def of(cls, grams: Ints, rows: Ints, size: int, entries: int) -> Postings:
        """From the (run, entry) of each place, which may repeat."""
        once = np.unique(grams * entries + rows)
        return cls(np.searchsorted(once, np.arange(size + 1) * entries), once % max(1, entries), entries)

    @cached_property
    def _keys(self) -> Ints:
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts)) * self.all_entries + self.entries

    @cached_property
    def _table(self) -> Flags | None:
        """A row for each run, a column for each entry; None where that would be too large, then ``_keys`` is searched."""
        size = len(self.starts) - 1
        if size * self.all_entries > _CELLS:
            return None
        table = np.zeros(size * self.all_entries, dtype=np.bool_)
        table[self._keys] = True
        return table.reshape(size, self.all_entries)

    def has(self, grams: Ints, entries: Ints) -> Flags:
        """Which of the entries (columns, ascending) have which of the runs (rows)."""
        if self._table is not None:
            # whole rows are copied fast, single cells are fewer
            few = len(entries) * len(entries) < self.all_entries
            return self._table[grams[:, None], entries[None, :]] if few else self._table[grams][:, entries]
        keys = grams[:, None] * self.all_entries + entries[None, :]
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.asarray(self._keys[at] == keys)


class Suite:
    """The index. An *entry* is a different word list (for a text without words, its normal form); ``owners`` are its texts."""

    def __init__(self, texts: Sequence[LockedText], n: int, share: Fraction) -> None:
        self.n, self.share = n, share
        self.owners: list[list[LockedText]] = []
        lists: list[list[str]] = []
        known: dict[tuple[object, ...], int] = {}
        self.blank = 0
        for text in texts:
            found = words(text.text)
            sign = None if found else wordless_key(text.text)
            if not found and sign is None:
                self.blank += 1
                continue
            entry = known.setdefault((sign, *found), len(lists))
            if entry == len(lists):
                lists.append(found)
                self.owners.append([])
            self.owners[entry].append(text)
        self._wordless = {key[0]: entry for key, entry in known.items() if key[0] is not None}
        self.numbers = GramNumbers(lists, n)
        self.lengths = self.numbers.stream.lengths
        self._exact = {_part(self.numbers.stream.ids, self.numbers.stream, entry).tobytes(): entry for entry, listed in enumerate(lists) if listed}
        self._index()

    def _index(self) -> None:
        stream, grams = self.numbers.stream, self.numbers.grams
        rows = stream.rows()
        places = np.flatnonzero(grams >= 0)
        self._posted = Postings.of(grams[places], rows[places], self.numbers.size, len(self.owners))
        places = _key_places(stream, grams, np.diff(self._posted.starts), self.n, self.share)
        self._keys = Postings.of(grams[places], rows[places], self.numbers.size, len(self.owners))
        self._is_key = np.diff(self._keys.starts) > 0

    def match(self, texts: Sequence[str]) -> Iterator[tuple[int, TextMatch]]:
        """(position, match) of the texts that hit, in no fixed order. Cost: one pass over the words, then one count for each
        different pattern of shared runs that the two conditions leave."""
        lists = [words(text) for text in texts]
        stream = self.numbers.numbered(lists)
        exact = self._exact_entries(texts, lists, stream)
        grams = self.numbers.grams_of(stream)
        patterns: dict[bytes, list[tuple[int, bool]]] = {}
        for row, union_reaches in self._candidates(stream, grams):
            patterns.setdefault(_part(grams, stream, row).tobytes(), []).append((row, union_reaches))
        for rows in patterns.values():
            first, union_reaches = rows[0]
            match = self._counted(_part(grams, stream, first), union_reaches)
            for row, _ in rows:
                entry = exact.pop(row, None)
                if entry is not None:
                    yield row, self._with_exact(len(lists[row]), entry, match)
                elif match is not None:
                    yield row, match
        for row, entry in exact.items():
            yield row, self._with_exact(len(lists[row]), entry, None)

    def _candidates(self, stream: Stream, grams: Ints) -> Iterator[tuple[int, bool]]:
        """Rows that may hit, and whether all locked texts together reach the share of the row."""
        shared = grams >= 0
        union = at_least(stream.counted(covered(shared, self.n)), stream.lengths, self.share)
        keyed = np.zeros(len(grams), dtype=np.bool_)
        keyed[shared] = self._is_key[grams[shared]]
        rows = np.flatnonzero(union | (stream.counted(keyed) > 0))
        yield from zip(rows.tolist(), union[rows].tolist(), strict=True)

    def _exact_entries(self, texts: Sequence[str], lists: Sequence[list[str]], stream: Stream) -> dict[int, int]:
        known = np.flatnonzero((stream.counted(stream.ids >= 0) == stream.lengths) & (stream.lengths > 0))
        found = {row: self._exact.get(_part(stream.ids, stream, row).tobytes()) for row in known.tolist()}
        if self._wordless:
            found |= {row: self._wordless.get(wordless_key(texts[row])) for row, listed in enumerate(lists) if not listed}
        return {row: entry for row, entry in found.items() if entry is not None}

    def _counted(self, pattern: Ints, union_reaches: bool) -> TextMatch | None:
        """The entries that a text with these runs hits."""
        grams = np.unique(pattern[pattern >= 0])
        wanted = self._having(self._keys, grams)
        if union_reaches:
            entries = np.flatnonzero(self._having(self._posted, grams))
            counted = self._covered_of(pattern, entries)
            hits = at_least(counted, len(pattern), self.share)
            kept = wanted[entries] | hits
            entries, counted, hits = entries[kept], counted[kept], hits[kept]
        else:
            entries = np.flatnonzero(wanted)
            counted = self._covered_of(pattern, entries)
            hits = at_least(counted, len(pattern), self.share)
        locked = self._covered_in(entries, grams)
        hits |= at_least(locked, self.lengths[entries], self.share)
        if not hits.any():
            return None
        return TextMatch(len(pattern), entries[hits], counted[hits], locked[hits], np.zeros(int(hits.sum()), dtype=np.bool_))

    def _having(self, postings: Postings, grams: Ints) -> Flags:
        """Which entries the postings have for some runs."""
        marked = np.zeros(len(self.owners), dtype=np.bool_)
        first = postings.starts[grams]
        marked[postings.entries[ranges(first, postings.starts[grams + 1] - first)]] = True
        return marked

    def _covered_of(self, pattern: Ints, entries: Ints) -> Ints:
        """How many words of a text lie in runs that each entry has."""
        at_once = max(1, _AT_ONCE // max(1, len(pattern)))
        parts = [self._covered_of_some(pattern, entries[first:first + at_once]) for first in range(0, len(entries), at_once)]
        return np.concatenate([np.array([], dtype=np.int64), *parts])

    def _covered_of_some(self, pattern: Ints, entries: Ints) -> Ints:
        has = np.zeros((len(pattern), len(entries)), dtype=np.bool_)
        places = np.flatnonzero(pattern >= 0)
        has[places] = self._posted.has(pattern[places], entries)
        return np.asarray(covered(has, self.n).sum(axis=0), dtype=np.int64)

    def _covered_in(self, entries: Ints, grams: Ints) -> Ints:
        """How many words of each entry lie in some of these runs."""
        stream, lengths = self.numbers.stream, self.lengths[entries]
        own = self.numbers.grams[ranges(stream.starts[entries], lengths + 1)]
        # one place more than there are runs: NONE marks the last, which no run has
        wanted = np.zeros(self.numbers.size + 1, dtype=np.bool_)
        wanted[grams] = True
        ends = np.cumsum(lengths + 1)
        return Stream(own, ends - lengths - 1, lengths).counted(covered(wanted[own], self.n))

    def _with_exact(self, length: int, entry: int, match: TextMatch | None) -> TextMatch:
        """A match with an entry whose word list is that of the text; a text shorter than a run covers nothing."""
        whole = length if length >= self.n else 0
        rest = np.array([], dtype=np.int64) if match is None else np.flatnonzero(match.entries != entry)
        one = np.array([entry]), np.array([whole]), np.array([whole]), np.array([True])
        others = (rest,) * len(one) if match is None else (match.entries[rest], match.covered[rest], match.locked_covered[rest], match.exact[rest])
        joined = [np.concatenate(pair) for pair in zip(others, one, strict=True)]
        order = np.argsort(joined[0])
        entries, counted, locked, exact = (column[order] for column in joined)
        return TextMatch(length, entries, counted, locked, exact.astype(np.bool_))


def _part(values: Ints, stream: Stream, row: int) -> Ints:
    """The values at the words of one text."""
    return values[stream.starts[row]:stream.starts[row] + stream.lengths[row]]


def _key_places(stream: Stream, grams: Ints, spread: Ints, n: int, share: Fraction) -> Ints:
    """The places of each text's key runs: all but its most common ones, as many of these as together stay below the share.

    ``spread``: in how many texts a run occurs. The number is found by bisection, for all texts at once.
    """
    places = np.flatnonzero(grams >= 0)
    rows = stream.rows()[places]
    order = np.lexsort((grams[places], -spread[grams[places]], rows))
    places, rows = places[order], rows[order]
    new = np.ones(len(places), dtype=np.bool_)
    new[1:] = (grams[places][1:] != grams[places][:-1]) | (rows[1:] != rows[:-1])
    distinct = np.bincount(rows[new], minlength=len(stream.lengths))
    rank = np.cumsum(new) - 1 - (np.cumsum(distinct) - distinct)[rows]
    low, high = np.zeros_like(distinct), distinct.copy()
    while (low < high).any():
        middle = high - ((high - low) >> 1)
        chosen = np.zeros(len(grams), dtype=np.bool_)
        chosen[places[rank < middle[rows]]] = True
        below = ~at_least(stream.counted(covered(chosen, n)), stream.lengths, share)
        low, high = np.where(below, middle, low), np.where(below, high, middle - 1)
    return places[rank >= low[rows]]

