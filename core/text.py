"""Untrusted text made visible: what a terminal, a log or a page may print.

Control characters, bidirectional overrides and zero-width characters could hide or reorder what a reviewer reads, so
they are shown as marks (``␛``, ``⟦U+202E⟧``). The text itself is never changed on disk: this is for display only.
"""
from __future__ import annotations

import unicodedata
from typing import Final

_HIDDEN: Final = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"})
_CONTROL_PICTURES: Final = ord("␀")
_LAST_C0: Final = ord("\x1f")


def visible_character(character: str, *, keep: str = "\n\t") -> str:
    """One character as it may be shown: itself, a control picture, or ``⟦U+XXXX⟧``."""
    if character in keep or unicodedata.category(character) not in _HIDDEN:
        return character
    if ord(character) <= _LAST_C0:
        return chr(_CONTROL_PICTURES + ord(character))
    return f"⟦U+{ord(character):04X}⟧"


def visible(text: str, *, keep: str = "\n\t") -> str:
    """Text with every hidden character shown as a mark; characters of ``keep`` stay as they are."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(visible_character(character, keep=keep) for character in text)


def visible_line(text: str) -> str:
    """Like :func:`visible`, but on one line: line feeds and tabs become marks too."""
    return visible(text, keep="")


def shortened(text: str, limit: int) -> str:
    """The first ``limit`` characters, and how many more there are."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"
