"""JSON as Inspect writes it: strict, but for the literal ``NaN`` that stands for a score that was not given.

A NaN in a place of a score (or of a metric over scores) is read as null; anywhere else it is refused like any other.
"""
from __future__ import annotations

import re
from typing import Any, Final

from core.canonical import decode_utf8, parse_json
from core.errors import RoundError, Where

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|\bNaN\b', re.DOTALL)
"""A whole string, so that nothing inside one is taken for a literal, or NaN."""
_NAN: Final = "NaN"
_VALUE: Final = r"(?:history/\d+/)?value(?:/[^/]+)?"
_OF_SAMPLE: Final = rf"scores/[^/]+/{_VALUE}|events/\d+/(?:score|edit)/{_VALUE}"
_PLACES: Final = re.compile(
    rf"(?:samples/\d+/)?(?:{_OF_SAMPLE})|(?:results/)?scores/\d+/metrics/[^/]+/value|reductions/\d+/samples/\d+/value(?:/[^/]+)?",
)
_SLASH, _ESCAPED = "/", "~1"


def parse_log(data: bytes, where: Where) -> Any:
    """One JSON document of a log. Raises RoundError as the strict reader does."""
    text = decode_utf8(data, where=where)
    if _NAN not in text:
        return parse_json(text, where=where)
    marker = _unused(text)
    marked = _TOKEN.sub(lambda found: f'"{marker}"' if found[0] == _NAN else found[0], text)
    return _without(parse_json(marked, where=where), marker, "", where)


def _unused(text: str) -> str:
    """A text that does not occur in ``text``."""
    marker = "not-scored"
    while marker in text:
        marker += "-"
    return marker


def _without(value: Any, marker: str, place: str, where: Where) -> Any:
    """The document with its markers read as null, in place, where that is allowed."""
    if value == marker:
        if _PLACES.fullmatch(place) is None:
            raise RoundError(
                "non_finite_number", expected="a finite number (NaN stands for a score that was not given, and only in a score)", got=_NAN,
                remedy="write a finite number, or null where it is unknown", where=Where(where.file, where.line, place.replace(_SLASH, ".")),
            )
        return None
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        value[key] = _without(item, marker, _joined(place, str(key)), where)
    return value


def _joined(place: str, key: str) -> str:
    key = key.replace(_SLASH, _ESCAPED)
    return f"{place}{_SLASH}{key}" if place else key
