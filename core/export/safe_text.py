"""Untrusted text in a dataset card: a name of a model, a round or a person must not become markup, or a key of the front matter.

In the front matter a text is a JSON string, which is YAML as well; in the body it is a code span, in which neither Markdown nor
HTML means anything. Hidden characters are shown as marks first (``core.text.visible_line``), so a text is one line.
"""
from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from core.settings import SETTINGS
from core.text import shortened, visible_line

_LIMIT: Final[int] = SETTINGS["text"]["id_characters"]
_TICKS: Final = re.compile(r"`+")
_INDENT: Final = "  "


def one_line(text: str) -> str:
    """A text on one line, hidden characters as marks, cut to the length of an id."""
    return shortened(visible_line(text), _LIMIT)


def code(text: str) -> str:
    """A text as a Markdown code span, whatever it holds: the fence is longer than any run of back-ticks inside."""
    shown = one_line(text)
    fence = "`" * (max((len(run) for run in _TICKS.findall(shown)), default=0) + 1)
    pad = " " if not shown or shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def yaml_lines(value: Any, depth: int = 0) -> Iterator[str]:
    """A JSON value as YAML in block style, every string quoted, so that nothing in it can end its line or start a key."""
    lead = _INDENT * depth
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _entry(f"{lead}{key}:", item, depth)
    else:
        for item in value:
            if isinstance(item, Mapping):
                first, *rest = yaml_lines(item, depth + 1)
                yield f"{lead}- {first.lstrip()}"
                yield from rest
            else:
                yield f"{lead}- {scalar(item)}"


def _entry(head: str, item: Any, depth: int) -> Iterator[str]:
    if isinstance(item, Mapping) or (isinstance(item, Sequence) and not isinstance(item, str)):
        if not item:
            yield f"{head} {'{}' if isinstance(item, Mapping) else '[]'}"
            return
        yield head
        yield from yaml_lines(item, depth + 1)
    else:
        yield f"{head} {scalar(item)}"


def scalar(value: str | float | bool | None) -> str:
    """A scalar of the front matter: JSON's own spelling, which YAML reads as the same value; but for an exponent, which YAML 1.1 wants a
    point before, or 1e-05 is a text."""
    if isinstance(value, str):
        return json.dumps(one_line(value), ensure_ascii=False)
    return decimals(value) if isinstance(value, float) else json.dumps(value)


def decimals(value: float) -> str:
    """A finite number without an exponent, and with a point: the same number to every reader."""
    digits = format(Decimal(repr(value)), "f")
    return digits if "." in digits else f"{digits}.0"
