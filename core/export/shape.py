"""What a shape is: one trainer's way to write a preference pair, and what has to lie beside the data for that trainer."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from core.export.pairs import TEMPLATE, TOOLS, ExportPair, Message
from core.export.turns import Unfit, conversation

Row = dict[str, Any]
Beside = Callable[[str, str], Mapping[str, Any]]
"""(a name of ``a-z0-9-`` for the dataset, the data file) -> JSON documents to write beside the data, by file name."""

IDS, SCORES, REFERENCE_LOGPS = "pair-ids", "scores", "reference-logps"
EXTRAS: Final = (IDS, SCORES, REFERENCE_LOGPS)
"""Columns that may be added (``--with``)."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One value of ``--format``. ``row`` makes a pair's row or raises Unfit; ``columns`` is their order; ``extras`` are the added
    columns that the trainer's reader lets pass; ``instead`` is the shape to try for pairs that this one cannot say; ``renders`` are
    those columns about rendering (``RENDERED`` of ``pairs``) that its rows carry; ``fill`` stands in a column where a row has none."""

    name: str
    trainer: str
    title: str
    row: Callable[[ExportPair], Row]
    columns: tuple[str, ...]
    extras: tuple[str, ...] = (IDS, SCORES)
    instead: str | None = None
    beside: Beside | None = None
    renders: tuple[str, ...] = ()
    fill: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def sides(pair: ExportPair) -> tuple[list[Message], list[Message], list[Message]]:
    """Prompt, chosen and rejected, each as messages."""
    both = conversation(pair)
    assert isinstance(both.prompt, list) and isinstance(both.chosen, list) and isinstance(both.rejected, list)
    return both.prompt, both.chosen, both.rejected


def single(messages: list[Message], side: str) -> Message:
    """The one message of an answer, or Unfit."""
    if len(messages) != 1:
        raise Unfit(f"its {side} answer has {len(messages)} messages, where one is wanted")
    return messages[0]


def plain_text(message: Message, what: str) -> str:
    """The text of a message that is nothing but role and text, or Unfit."""
    strange = sorted(set(message) - {"role", "content"})
    if strange:
        raise Unfit(f"a message of its {what} has {', '.join(strange)}")
    content = message.get("content")
    if not isinstance(content, str):
        raise Unfit(f"a message of its {what} has no text")
    return content


def check_rendered(pair: ExportPair, shape: Shape) -> None:
    """Unfit where the pair has something that says how it is rendered and that the trainer would leave out in silence, or where its
    tools are neither a list of schemas nor text."""
    for name, value in pair.rendered.items():
        if name not in shape.renders:
            raise Unfit(f"it has {name}, which this trainer's reader leaves out")
        if name == TOOLS and not (isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, dict) for item in value))):
            raise Unfit("its tools are no list of schemas")
        if name == TEMPLATE and not isinstance(value, dict):
            raise Unfit(f"its {TEMPLATE} are no object")


def row_of(shape: Shape, pair: ExportPair) -> Row:
    """A pair's row in a shape, or Unfit."""
    check_rendered(pair, shape)
    return shape.row(pair)
