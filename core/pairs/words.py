"""The words of a text, as contamination and near-duplicates count them.

The text is brought to its prompt form (``p1``: case, white space, compatibility variants and end punctuation do not count).
A word is then a maximal run of letters, digits and combining marks; every Han, kana and Thai character is a word of its own,
since these scripts write no spaces between words. All other characters separate. Code points that Unicode 14.0 does not
assign separate too, so that a newer Python counts the same words.

``word_spans`` says where each word stands in the original text. Normalising joins, splits and deletes characters, so a word
maps to the pieces of the text that it was made of, and the words of the pieces are compared with those of the whole text.
"""
from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

from core.pairs.normal_forms import is_assigned, is_blank, p1
from core.settings import SETTINGS

Span = tuple[int, int]
"""Where something begins in a text, and where it ends (characters, the end is not part of it)."""

_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")
# Han with its iteration and closing marks, kana with the prolonged sound mark, Thai; assigned in Unicode 14.0 (is_assigned asks)
_SINGLE: Final = re.compile(
    "[\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303b\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e01-\u0e3a\u0e40-\u0e5b"
    "\U0001aff0-\U0001b16f\U00020000-\U0003fffd]"
)
_MARK: Final = "M"
_CONJOINING: Final = ("\u1160", "\u11ff")
"""Hangul vowels and final consonants: a syllable composes with them."""
# a letter on either side keeps p1 from trimming the piece between them
_GUARD: Final = "x"
_KEPT: Final[int] = SETTINGS["contamination"]["kept_forms"]


class _Table(dict[int, str]):
    """What each character becomes before the text is split at spaces; filled with the characters that occur."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = made = _made(character)
        return made


def _made(character: str) -> str:
    counts = (character.isalnum() or unicodedata.category(character).startswith(_MARK)) and is_assigned(character)
    if not counts:
        return " "
    return f" {character} " if _SINGLE.match(character) else character


_TABLE: Final = _Table()
_ASCII_TABLE: Final = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(ord("\x7f") + 1)}


def words(text: str) -> list[str]:
    """The words of a text in their normal form, in order; empty where it has none.

    >>> words("Has A1002 shipped?")
    ['has', 'a1002', 'shipped']
    >>> words("\u53d6\u6d88 OK") == ["\u53d6", "\u6d88", "ok"]
    True
    """
    if text.isascii():
        return text.translate(_ASCII_TABLE).split()
    return _cut(p1(text))


def _cut(normal: str) -> list[str]:
    return normal.translate(_TABLE).split()


def wordless_key(text: str) -> str | None:
    """What a text without words (emoji, signs) is compared by as a whole: its prompt form, or None for a blank text."""
    return None if is_blank(text) else p1(text)


def word_spans(text: str) -> list[Span]:
    """Where each of ``words(text)`` stands in ``text``, in the same order.

    Where the words cannot be followed through normalising one by one, each spans the whole text: a mark that is too wide, but
    never beside the place.
    """
    if text.isascii():
        return [match.span() for match in _ASCII_WORD.finditer(text.lower())]
    found, spans = [], []
    for word, span in _followed(text):
        found.append(word)
        spans.append(span)
    expected = words(text)
    return spans if found == expected else [(0, len(text))] * len(expected)


def _followed(text: str) -> Iterator[tuple[str, Span]]:
    """The words of the pieces of a text, each with the pieces it was made of."""
    letters: list[str] = []
    first = last = 0
    for start, end in _pieces(text):
        for part in _form(text[start:end]):
            separate = part is None or _SINGLE.match(part) is not None
            if letters and (separate or _SINGLE.match(letters[0])):
                yield "".join(letters), (first, last)
                letters = []
            if part is not None:
                first, last = first if letters else start, end
                letters.append(part)
    if letters:
        yield "".join(letters), (first, last)


@lru_cache(maxsize=_KEPT)
def _form(piece: str) -> tuple[str | None, ...]:
    """The characters of words in the normal form of a piece, None for one that separates."""
    return tuple(None if _TABLE[ord(character)] == " " else character for character in p1(f"{_GUARD}{piece}{_GUARD}")[1:-1])


def _pieces(text: str) -> Iterator[Span]:
    """The text cut where normalising cannot reach across: before a character that composes with nothing before it."""
    start, script = 0, ""
    for place, character in enumerate(text):
        joins, now = _kind(character)
        if place and not joins and not (now and now == script):
            yield start, place
            start = place
        if not joins:
            script = now
    if text:
        yield start, len(text)


@cache
def _kind(character: str) -> tuple[bool, str]:
    """Whether a character belongs to what stands before it, and ``super`` or ``sub`` where a run of such has one mark in ``p1``."""
    if is_blank(character) and not character.isspace():
        return True, ""
    normal = p1(f"{_GUARD}{character}{_GUARD}")[1:-1]
    script = {"^": "super", "_": "sub"}.get(normal[:1], "") if not character.isascii() else ""
    head = normal[:1]
    return bool(head) and (unicodedata.category(head).startswith(_MARK) or _CONJOINING[0] <= head <= _CONJOINING[1]), script
