"""Text for display: untrusted text made visible, and counts and lists in words.

Control characters, bidirectional overrides and zero-width characters could hide or reorder what a reviewer reads, so
they are shown as marks (``␛``, ``⟦U+202E⟧``). The text itself is never changed on disk: this is for display only.
"""
from __future__ import annotations

import unicodedata
from collections.abc import Sequence
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


def count_of(number: int, noun: str, many: str | None = None) -> str:
    """A count with its noun. ``many``: the plural where it is not the noun and an s.

    >>> count_of(1, "case"), count_of(1200, "case"), count_of(2, "task id alone", "task ids alone")
    ('1 case', '1,200 cases', '2 task ids alone')
    """
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def first_of(names: Sequence[str], most: int, *, total: int | None = None) -> str:
    """The first ``most`` names of a list, and how many more there are. ``total``: how many there are where ``names`` holds the first alone.

    >>> first_of(["a", "b", "c"], 2), first_of(["a", "b"], 2), first_of(["a"], 2, total=1201)
    ('a, b and 1 more', 'a, b', 'a and 1,200 more')
    """
    shown = names[:most]
    left = (len(names) if total is None else total) - len(shown)
    return ", ".join(shown) + (f" and {left:,} more" if left else "")


def capital(clause: str) -> str:
    """A clause as the beginning of a sentence: its first letter a capital, the rest as it is."""
    return clause[:1].upper() + clause[1:]


def sentence(clause: str) -> str:
    """A clause as a sentence of its own."""
    return f"{capital(clause)}."
