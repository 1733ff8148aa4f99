"""Words that mix scripts, such as a Cyrillic letter in a Latin word: flagged for the reader, never merged and never a reason."""
from __future__ import annotations

import re
import unicodedata
from typing import Final

_WORD: Final = re.compile(r"\w+")
_ALIKE: Final = frozenset({"LATIN", "CYRILLIC", "GREEK"})
"""Scripts whose letters are taken for one another."""


def mixed_script_words(text: str) -> list[str]:
    """Words with letters of more than one of Latin, Cyrillic and Greek, each once, in order of appearance."""
    if text.isascii():
        return []
    words = (word for word in _WORD.findall(text) if not word.isascii() and len(_scripts(word)) > 1)
    return list(dict.fromkeys(words))


def _scripts(word: str) -> frozenset[str]:
    names = (unicodedata.name(letter, "").partition(" ")[0] for letter in word if letter.isalpha())
    return _ALIKE.intersection(names)
