"""What two texts share, one training text against one locked text: the counts of a hit, and where to mark both texts.

``Suite`` finds the hits among many texts; this says what one of them is, from the definition.
"""
from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from core.pairs.words import Span, word_spans, wordless_key, words


@dataclass(frozen=True, slots=True)
class Overlap:
    """``covered`` of ``words`` words of the training text lie in shared runs, ``locked_covered`` of ``locked_words`` of the locked
    text. ``spans``, ``locked_spans``: the shared stretches in the original texts (characters). ``exact``: the words are equal."""

    words: int
    covered: int
    locked_words: int
    locked_covered: int
    exact: bool
    spans: tuple[Span, ...]
    locked_spans: tuple[Span, ...]


def overlap(training: str, locked: str, n: int) -> Overlap:
    """The overlap of two texts in runs of n words. Equal texts are marked whole, also where they are shorter than a run."""
    one, other = words(training), words(locked)
    exact = one == other if one or other else _same_signs(training, locked)
    shared = _runs(one, n) & _runs(other, n)
    marks, locked_marks = (_covered(listed, shared, n) for listed in (one, other))
    spans = _stretches(training, [True] * len(one) if exact else marks)
    locked_spans = _stretches(locked, [True] * len(other) if exact else locked_marks)
    if exact and not one:
        spans, locked_spans = ((0, len(training)),), ((0, len(locked)),)
    return Overlap(len(one), sum(marks), len(other), sum(locked_marks), exact, spans, locked_spans)


def _same_signs(one: str, other: str) -> bool:
    key = wordless_key(one)
    return key is not None and key == wordless_key(other)


def _runs(listed: list[str], n: int) -> set[tuple[str, ...]]:
    return {tuple(listed[first:first + n]) for first in range(len(listed) - n + 1)}


def _covered(listed: list[str], shared: set[tuple[str, ...]], n: int) -> list[bool]:
    marks = [False] * len(listed)
    for first in range(len(listed) - n + 1):
        if tuple(listed[first:first + n]) in shared:
            marks[first:first + n] = [True] * n
    return marks


def _stretches(text: str, marks: list[bool]) -> tuple[Span, ...]:
    """Runs of marked words, from the beginning of the first to the end of the last."""
    if not any(marks):
        return ()
    spans = word_spans(text)
    found = []
    for marked, run in groupby(zip(marks, spans, strict=True), key=lambda pair: pair[0]):
        if marked:
            inside = [span for _, span in run]
            found.append((inside[0][0], inside[-1][1]))
    return tuple(found)
