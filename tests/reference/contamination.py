"""The contamination and near-duplicate rules a second time, in plain Python from their definition: sets of runs, no arrays, no index.

Words are cut by walking over the characters of the normal form with their Unicode names and categories.
"""
from __future__ import annotations

import unicodedata
from fractions import Fraction

from reference.texts import is_assigned, p1

SINGLE_NAMES = (
    "CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "IDEOGRAPHIC ITERATION MARK", "IDEOGRAPHIC CLOSING MARK", "IDEOGRAPHIC NUMBER ZERO",
    "HANGZHOU NUMERAL", "VERTICAL KANA REPEAT", "VERTICAL IDEOGRAPHIC", "HENTAIGANA", "HIRAGANA", "KATAKANA", "THAI",
)


def plain_words(text: str) -> list[str]:
    found: list[str] = []
    inside = False
    for character in p1(text):
        if not is_assigned(character) or not (character.isalnum() or unicodedata.category(character)[0] == "M"):
            inside = False
        elif unicodedata.name(character, "").startswith(SINGLE_NAMES):
            found.append(character)
            inside = False
        elif inside:
            found[-1] += character
        else:
            found.append(character)
            inside = True
    return found


def runs(words: list[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[i:i + n]) for i in range(len(words) - n + 1)]


def covered_words(words: list[str], other: list[str], n: int) -> int:
    shared = set(runs(words, n)) & set(runs(other, n))
    return len({start + k for start, run in enumerate(runs(words, n)) if run in shared for k in range(n)})


def contaminated(training: str, locked: str, n: int, share: Fraction) -> tuple[int, int, int, int, bool, bool] | None:
    """(words, covered, locked words, locked covered, exact, hit), or None where one of the texts has no words."""
    one, other = plain_words(training), plain_words(locked)
    if not one or not other:
        return None
    a, b = covered_words(one, other, n), covered_words(other, one, n)
    hit = one == other or (a > 0 and Fraction(a, len(one)) >= share) or (b > 0 and Fraction(b, len(other)) >= share)
    return len(one), a, len(other), b, one == other, hit


def shingles(text: str, n: int) -> set[tuple[str, ...]]:
    words = plain_words(text)
    return set(runs(words, n)) or {tuple(words)}


def jaccard(one: str, other: str, n: int) -> Fraction:
    a, b = shingles(one, n), shingles(other, n)
    return Fraction(len(a & b), len(a | b))
