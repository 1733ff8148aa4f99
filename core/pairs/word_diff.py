"""Which words of two answers differ: for display only, nothing is decided by it.

A text is cut into words and single signs, each with the white space behind it, so that the pieces joined again are the
text, byte for byte, and a second space between two words is a difference too.
"""
from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby, takewhile
from typing import Final

from core.settings import SETTINGS

SAME, ADDED, REMOVED = "same", "added", "removed"
_TOKEN: Final = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")

Piece = tuple[str, str]
"""(kind, text): ``same`` in both answers, ``added`` in the chosen one only, ``removed`` in the rejected one only."""


@dataclass(frozen=True, slots=True)
class WordDiff:
    """The two answers in pieces. ``compared`` is False where they were too long, and all pieces are ``same``."""

    chosen: tuple[Piece, ...]
    rejected: tuple[Piece, ...]
    compared: bool

    @property
    def chosen_only(self) -> int:
        """Pieces that only the chosen answer has."""
        return sum(kind == ADDED for kind, _ in self.chosen)

    @property
    def rejected_only(self) -> int:
        """Pieces that only the rejected answer has."""
        return sum(kind == REMOVED for kind, _ in self.rejected)


def word_differences(chosen: str, rejected: str) -> WordDiff:
    """Mark the words that only one of two answers has. Longest common runs first (Ratcliff and Obershelp, ``difflib``)."""
    left, right = _TOKEN.findall(chosen), _TOKEN.findall(rejected)
    head = _shared(left, right)
    tail = _shared(left[head:][::-1], right[head:][::-1])
    one, other = left[head:len(left) - tail], right[head:len(right) - tail]
    if max(len(one), len(other)) > SETTINGS["display"]["compared_words"]:
        return WordDiff(_pieces([(SAME, chosen)]), _pieces([(SAME, rejected)]), compared=False)
    marks = [(SAME, token) for token in left[:head]], [(SAME, token) for token in right[:head]]
    for kind, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        marks[0].extend((SAME if kind == "equal" else ADDED, token) for token in one[a:b])
        marks[1].extend((SAME if kind == "equal" else REMOVED, token) for token in other[c:d])
    marks[0].extend((SAME, token) for token in left[len(left) - tail:])
    marks[1].extend((SAME, token) for token in right[len(right) - tail:])
    return WordDiff(_pieces(marks[0]), _pieces(marks[1]), compared=True)


def _shared(one: list[str], other: list[str]) -> int:
    """How many tokens two lists begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def differ_in_white_space_only(chosen: str, rejected: str) -> bool:
    """True when two different texts have the same words in the same order."""
    return chosen != rejected and chosen.split() == rejected.split()


def _pieces(marks: Iterable[Piece]) -> tuple[Piece, ...]:
    """Neighbours of one kind joined; nothing for an empty text."""
    joined = ((kind, "".join(text for _, text in run)) for kind, run in groupby(marks, key=lambda mark: mark[0]))
    return tuple(piece for piece in joined if piece[1])
