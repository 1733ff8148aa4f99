"""Normal forms behind the duplicate keys: ``p1`` (prompt), ``s1`` (skeleton of an answer), ``t1`` (template, report only).

A form throws away what does not change the meaning (case, spacing, markdown, quote and dash variants) and keeps what does:
word order, negation, signs, identifiers and numbers. The rules are written out in ``plain_p1`` and ``plain_s1``, one line
a rule; they are the reference. ``p1`` and ``s1`` give the same strings faster, by leaving out a rule whose trigger is not
in the text (``tests/unit/test_pairs_normal_forms.py`` compares them). Text itself is never changed.

All forms mean the tables of Unicode 14.0 on every Python. The sets of characters are data (``unicode14.json``), and a code
point that 14.0 does not assign passes through every step untouched; for assigned ones, NFKC and case folding are stable by
Unicode's own policy. So a newer Python gives the same keys.
"""
from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from core.errors import RoundError

_TABLES: Final[dict[str, Any]] = json.loads((Path(__file__).parent / "unicode14.json").read_text("utf-8"))
_LAST_BMP: Final = 0xFFFF


def _ranges(*names: str) -> list[tuple[int, int]]:
    return [(first, last) for name in names for first, last in _TABLES[name]]


def _members(ranges: Sequence[tuple[int, int]]) -> str:
    """The inside of a regular-expression class."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


SPACES: Final = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
"""Unicode White_Space and U+001C to U+001F: what the forms call white space (what ``str.split`` splits at)."""
FRACTION_SLASH: Final = "\u2044"
END_MARKS: Final = " .!?\u3002"
OUTER_MARKS: Final = "\"'()[]{},;:!?."

_IGNORABLE: Final = re.compile(f"[{_members(_ranges('ignorable'))}]+")
_SUPERSCRIPT: Final = re.compile(f"[{_members(_ranges('superscript'))}]+")
_SUBSCRIPT: Final = re.compile(f"[{_members(_ranges('subscript'))}]+")
_FRACTION: Final = re.compile(f"[{_members(_ranges('fraction'))}]")
_UNASSIGNED: Final = re.compile(f"([{_members(_ranges('unassigned'))}]+)")
# One class inside the BMP is a table look-up; beyond it a class is walked range by range. So one search finds what a table
# may name (all of the other planes included), and the tables are asked about those few different characters only.
_NAMED: Final = re.compile(
    f"[{_members([pair for pair in _ranges('ignorable', 'superscript', 'subscript', 'fraction', 'unassigned') if pair[1] <= _LAST_BMP])}"
    "\\U00010000-\\U0010ffff]"
)

_SPACE_RUN: Final = re.compile(f"[{SPACES}]+")
_NEWLINES: Final = re.compile("\r\n|[\r\x85\u2028\u2029\x0b\x0c]")
_OTHER_NEWLINES: Final = "\r\x85\u2028\u2029\x0b\x0c"
_MARKER: Final = re.compile(r"(?:>|#{1,6}(?=[ \t]|\Z)|[-*+\u2022](?=[ \t])|[0-9]{1,3}[.)](?=[ \t]))[ \t]*")
# the same, for all lines of a text at once: a fence line, or every marker at its head (a mark before the end of the line is
# no marker, and spaces at the end do not count)
_LINE_HEAD: Final = re.compile(
    r"\n[ \t]*(?:(?:```|~~~)[^\n]*|(?:(?:>|#{1,6}(?=[ \t\n]|\Z)|(?:[-*+\u2022]|[0-9]{1,3}[.)])(?=[ \t]+[^ \t\n]))[ \t]*)+)"
)
# begins with the star itself, so that the search skips to it: what stands before it is looked at behind it
_EMPHASIS: Final = re.compile(
    rf"""\*(?:(?<=[{SPACES}(\["']\*)|(?<=\A\*))(\*{{0,2}})(?![*{SPACES}])([^*\n]*[^*{SPACES}])\*\1(?=[{SPACES}.,;:!?)\]"']|\Z)"""
)
_LINK: Final = re.compile(rf"\[([^\[\]\n]*)\]\(([^(){SPACES}]*)\)")
_QUOTE_VARIANTS: Final = {
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
}
_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_HEX: Final = r"[0-9a-f]{32,}"
_TIME: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[t ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?(?:\.[0-9]+)?(?:z|[+-][0-9]{2}:?[0-9]{2})?"
_MASKED: Final = re.compile(rf"(?<![0-9a-z_])(?:(?P<uuid>{_UUID})|(?P<hex>{_HEX})|(?P<time>{_TIME}))(?![0-9a-z_])")
_DATE_HINT: Final = re.compile("-[0-9]{2}[t ][0-9]{2}:[0-9]{2}")
_SHORTEST_HEX: Final = 32
_FENCES: Final = ("```", "~~~")

_QUOTED: Final = re.compile('"[^"]+"')
_NUMBER: Final = re.compile(r"[+-]?\d+(?:[.,:/]\d+)*%?")


def require_text(value: object) -> str:
    """``value`` as text that has a normal form. RoundError ``not_text``, ``invalid_unicode`` (a lone surrogate) or ``empty_text``."""
    if not isinstance(value, str):
        raise RoundError("not_text", expected="text", got=type(value).__name__, remedy="write it as a string")
    if any(unicodedata.category(character) == "Cs" for character in value):
        raise RoundError("invalid_unicode", expected="valid Unicode text", got="a lone surrogate", remedy="write the character as UTF-8")
    if is_blank(value):
        raise RoundError(
            "empty_text", expected="text with content", got="nothing but white space and format characters",
            remedy="leave the row out, or give its text",
        )
    return value


def is_assigned(character: str) -> bool:
    """Whether Unicode 14.0 assigns the code point."""
    return _UNASSIGNED.match(character) is None


def is_blank(text: str) -> bool:
    """Whether nothing is left after deleting format characters and white space."""
    return not text or not (text if text.isascii() else _IGNORABLE.sub("", text)).strip(SPACES)


def _assigned(step: Callable[[str], str], text: str) -> str:
    """``step`` on each run of characters that Unicode 14.0 assigns; the runs between them stay as they are."""
    return "".join(part if index & 1 else step(part) for index, part in enumerate(_UNASSIGNED.split(text)))


def _nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _folded(text: str) -> str:
    return _nfkc(text.casefold())


def _safe_nfkc(text: str) -> str:
    """NFKC that keeps 2\u2075 apart from 25, x\u2082 from x2 and 1\u00bd from 11/2."""
    marked = _FRACTION.sub(r" \g<0>", _SUBSCRIPT.sub(r"_\g<0>", _SUPERSCRIPT.sub(r"^\g<0>", text)))
    return _assigned(_nfkc, marked).replace(FRACTION_SLASH, "/")


def _end_trim(text: str) -> str:
    collapsed = _SPACE_RUN.sub(" ", text).strip(" ")
    return collapsed.rstrip(END_MARKS) or collapsed


def _stripped_line(line: str) -> str:
    """A line without its leading markers; nothing of a fence line."""
    line = line.strip(" \t")
    if line.startswith(_FENCES):
        return ""
    start = 0
    while marker := _MARKER.match(line, start):
        start = marker.end()
    return line[start:]


def _mask(text: str) -> str:
    """UUIDs, long hex strings and ISO times as ``<uuid>``, ``<hex>``, ``<time>``; one pass from left to right."""
    return _MASKED.sub(lambda found: f"<{found.lastgroup}>", text)


def plain_p1(prompt: str) -> str:
    """The definition of ``p1``, rule by rule (the reference; slow)."""
    text = _IGNORABLE.sub("", prompt)
    text = _safe_nfkc(text)
    text = _assigned(_folded, text)
    return _end_trim(text)


def plain_s1(answer: str) -> str:
    """The definition of ``s1``, rule by rule (the reference; slow)."""
    text = _IGNORABLE.sub("", answer)
    text = _safe_nfkc(text)
    text = _NEWLINES.sub("\n", text)
    text = "\n".join(map(_stripped_line, text.split("\n")))
    text = text.replace("`", "")
    text = _EMPHASIS.sub(r"\2", text)
    text = _LINK.sub(r"\1 \2", text)
    text = "".join(_QUOTE_VARIANTS.get(character, character) for character in text)
    text = _assigned(_folded, text)
    text = _mask(text)
    return _end_trim(text)


def _runs(step: Callable[[str], str], text: str, named: str) -> str:
    """``_assigned``, given the characters of ``text`` that a table may name."""
    return _assigned(step, text) if named and _UNASSIGNED.search(named) else step(text)


def _compatible(text: str, named: str) -> str:
    """The first two rules of both forms: format characters deleted, then safe NFKC."""
    if named and _IGNORABLE.search(named):
        text = _IGNORABLE.sub("", text)
    for table, mark in ((_SUPERSCRIPT, r"^\g<0>"), (_SUBSCRIPT, r"_\g<0>"), (_FRACTION, r" \g<0>")):
        if named and table.search(named):
            text = table.sub(mark, text)
    return _runs(_nfkc, text, named).replace(FRACTION_SLASH, "/")


def _words(text: str, named: str) -> list[str]:
    # str.split knows the white space of the running Python; a character of a later Unicode must pass untouched
    if named and _UNASSIGNED.search(named):
        return [word for word in _SPACE_RUN.split(text) if word]
    return text.split()


def _trimmed(words: list[str]) -> str:
    collapsed = " ".join(words)
    return collapsed.rstrip(END_MARKS) or collapsed


def _named(text: str) -> str:
    return "" if text.isascii() else "".join(set(_NAMED.findall(text)))


def p1(prompt: str) -> str:
    """Normal form of a prompt: case, spacing, compatibility variants and end punctuation do not count.

    ``prompt``: any text without lone surrogates. Returns the form; "" only for a blank prompt.

    >>> p1("Set  retries\\tto 3.") == p1("set retries to 3")
    True
    """
    if prompt.isascii():
        return _trimmed(prompt.lower().split())
    named = _named(prompt)
    return _trimmed(_words(_runs(_folded, _compatible(prompt, named), named), named))


def _without_line_marks(text: str) -> str:
    if any(map(text.__contains__, _OTHER_NEWLINES)):
        text = _NEWLINES.sub("\n", text)
    return _LINE_HEAD.sub("\n", "\n" + text)[1:]


def _without_variants(text: str) -> str:
    for variant, standard in _QUOTE_VARIANTS.items():
        if variant in text:
            text = text.replace(variant, standard)
    return text


def _without_markdown(text: str) -> str:
    text = _without_line_marks(text).replace("`", "")
    if "*" in text:
        text = _EMPHASIS.sub(r"\2", text)
    return _LINK.sub(r"\1 \2", text) if "](" in text else text


def s1(answer: str) -> str:
    """Structural skeleton of an answer: ``p1`` without markdown, with quote and dash variants merged, and with UUIDs,
    long hex strings and ISO times masked. Numbers, signs, negations, identifiers and word order stay.

    ``answer``: any text without lone surrogates. Returns the skeleton; "" where nothing but marks was there (a lone fence).

    >>> s1("**Set** retries to `3`.") == s1("set retries to 3")
    True
    >>> s1("Set retries to 3.") == s1("Set retries to -3.")
    False
    """
    named = _named(answer)
    if answer.isascii():
        text = _without_markdown(answer).lower()
    else:
        text = _runs(_folded, _without_variants(_without_markdown(_compatible(answer, named))), named)
    if _DATE_HINT.search(text):
        text = _mask(text)
    words = _words(text, named)
    # without a time, what is masked is a word, or a part of a word, of at least 32 characters
    if max(map(len, words), default=0) >= _SHORTEST_HEX:
        words = [_mask(word) if len(word) >= _SHORTEST_HEX else word for word in words]
    return _trimmed(words)


def _template_token(token: str) -> str:
    core = token.strip(OUTER_MARKS)
    if not core:
        return token
    start = token.index(core)
    if _NUMBER.fullmatch(core):
        core = "<num>"
    elif "_" in core or (any(map(str.isalpha, core)) and any(map(str.isdecimal, core))):
        core = "<id>"
    return token[:start] + core + token[start + len(token.strip(OUTER_MARKS)):]


def t1(answer: str) -> str:
    """Template of an answer: ``s1`` with numbers, quoted text and identifiers masked. For reports only: it merges
    "The answer is 42." with "The answer is 43.", so nothing is rejected by it.

    >>> t1("The answer is 42.")
    'the answer is <num>'
    """
    return " ".join(map(_template_token, _QUOTED.sub("<str>", s1(answer)).split(" ")))
