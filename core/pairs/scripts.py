"""Words that mix look-alike scripts: flagged for a reviewer, never merged and never a reason to reject.

"\u0421afe" with a Cyrillic first letter reads like "Cafe" and is another word to every key. A unit such as \u03bcm mixes Greek and
Latin and is legitimate, so the report names words and decides nothing.
"""
from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final

SCRIPTS: Final = ("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC")
"""Alphabets that share letter shapes. Others (Han beside kana) are mixed in ordinary writing."""
_WORD: Final = re.compile(r"[^\W\d_]+")


@cache
def script_of(letter: str) -> str | None:
    """The look-alike script of a letter, after NFKC (full-width Latin is Latin, the micro sign is Greek), or None."""
    name = unicodedata.name(unicodedata.normalize("NFKC", letter)[0], "")
    return next((script for script in SCRIPTS if name.startswith(script)), None)


def mixed_script_words(text: str) -> list[str]:
    """The words of a text that have letters of two or more scripts of SCRIPTS, in order of appearance, each once.

    >>> mixed_script_words("\u0421afe menu, \u041c\u043e\u0441\u043a\u0432\u0430 Moscow") == ["\u0421afe"]
    True
    """
    if text.isascii():
        return []
    words = (word for word in _WORD.findall(text) if not word.isascii() and len(set(map(script_of, word)) - {None}) > 1)
    return list(dict.fromkeys(words))
