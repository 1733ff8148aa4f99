"""The versioned phrase table behind the style report: loaded, checked, and turned into patterns.

The table is data (``phrases_1.json``): what counts as a stock phrase is an opinion that changes, so a report names the version and
the SHA-256 of the table it was made with, and a published table is never edited.
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from core.canonical import canonical_digest, parse_json

TRUNCATION: Final = "truncation"
PHRASE_TABLE_PATH: Final = Path(__file__).parent / "phrases_1.json"
APOSTROPHES: Final = "'\u2019\u2018\u201b\u2032\u02bc\uff07\u00b4`"
_HYPHENS: Final = r"\-\x{2010}\x{2011}"
_LETTER: Final = r"\pL\pM\pN"
_SPACE: Final = r"[\s\pZ]+"
# RE2 has no look-around, so the character before and behind a phrase is part of the match. A quotation mark, a Markdown underscore or a
# hyphen may stand there; one that joins two letters may not ("can" is not in "can't", "can_do" or "can-do"). Two hyphens are a dash.
_JOINING: Final = f"{APOSTROPHES}_{_HYPHENS}"
_APART: Final = f"[^{_LETTER}{_JOINING}]"
_DASH: Final = f"[{_HYPHENS}]{{2,}}"
_BEFORE: Final = f"(?:(?:^|{_APART})[{_JOINING}]*|{_DASH}[{_JOINING}]*)"
_BEHIND: Final = f"(?:[{_JOINING}]*(?:$|{_APART})|[{_JOINING}]*{_DASH})"


@dataclass(frozen=True, slots=True)
class Marker:
    """One kind of phrase. ``hint`` (RE2) finds every text that may have one of them, fast; ``pattern`` decides, and its group
    ``phrase`` is the one that comes first."""

    name: str
    title: str
    phrases: tuple[str, ...]
    hint: str
    pattern: str


@dataclass(frozen=True, slots=True)
class PhraseTable:
    """A loaded table. ``open_end`` (RE2): the last character of a text that looks cut off; ``common_word`` and ``words`` tell its language."""

    version: int
    language: str
    digest: str
    markers: tuple[Marker, ...]
    truncation_title: str
    cut_reasons: frozenset[str]
    least_characters: int
    open_end: str
    least_words: int
    common_word: str
    least_each: int
    wide_spread: Fraction

    @property
    def names(self) -> tuple[str, ...]:
        """The markers in the order of a report."""
        return (*(marker.name for marker in self.markers), TRUNCATION)

    def title(self, name: str) -> str:
        return next((marker.title for marker in self.markers if marker.name == name), self.truncation_title)

    def as_dict(self) -> dict[str, object]:
        return {"version": self.version, "language": self.language, "sha256": self.digest}


def phrase_pattern(phrases: Sequence[str]) -> str:
    """An RE2 pattern that finds any of the phrases as whole words, whatever the case, white space and kind of apostrophe: not inside a
    word, a name with underscores or a hyphenated compound. Where two begin at one place the longer one is found."""
    longest_first = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    words = "|".join(_written(phrase) for phrase in longest_first if phrase[-1].isalnum())
    signs = [_written(phrase) for phrase in longest_first if not phrase[-1].isalnum()]
    # the classes of letters are large: written once each, not once a phrase, a pattern is built thirty times as fast
    return rf"(?i){_BEFORE}(?P<phrase>{'|'.join([*signs, f'(?:{words}){_BEHIND}'])})"


def phrase_hint(phrases: Sequence[str]) -> str:
    """The same without the ends of words: RE2 reads a text with it a hundred times as fast."""
    return rf"(?i)(?:{'|'.join(map(_written, phrases))})"


def _written(phrase: str) -> str:
    return _SPACE.join(re.escape(word).replace("'", f"[{APOSTROPHES}]") for word in phrase.split(" "))


def normal_phrase(found: str, marker: Marker) -> str:
    """A matched phrase as the table writes it: the character behind it dropped."""
    text = " ".join(re.sub(f"[{APOSTROPHES}]", "'", found).lower().split())
    return max((phrase for phrase in marker.phrases if text.startswith(phrase)), key=len, default=text)


def load_phrases(path: Path = PHRASE_TABLE_PATH) -> PhraseTable:
    """A table from its file."""
    document: dict[str, Any] = parse_json(path.read_bytes())
    cut, cover = document["truncation"], document["coverage"]
    markers = tuple(
        Marker(name, entry["title"], tuple(entry["phrases"]), phrase_hint(entry["phrases"]), phrase_pattern(entry["phrases"]))
        for name, entry in document["markers"].items()
    )
    return PhraseTable(
        document["version"], document["language"], canonical_digest(document), markers, cut["title"], frozenset(cut["cut"]), cut["least_characters"],
        rf"[{_LETTER}_{re.escape(cut['open_marks'])}]", cover["least_words"], rf"(?i)\b(?:{'|'.join(cover['words'])})\b",
        document["least_each"], Fraction(document["wide_spread"]),
    )


@lru_cache(maxsize=1)
def phrase_table() -> PhraseTable:
    """The newest table that ships with the engine."""
    return load_phrases()
