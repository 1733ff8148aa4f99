"""Strength of evidence on a page: the word with its icon, what it rests on, and the sentences. Reads the strength object. Pure."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from core.gates.strength_rules import Status
from core.gates.strength_words import strength_sentences
from dashboard import blocks, words
from dashboard.blocks import Block, Span, badge, muted, text

_STATES: Final[Mapping[str, tuple[words.Tone, str]]] = {
    Status.PROVEN: ("ok", "check"), Status.MEETS: ("off", "question"), Status.FAILS: ("bad", "cross"), Status.PROVEN_TO_FAIL: ("bad", "cross"),
}
_UNDEFINED: Final = "undefined"
NOTHING: Final = "The evidence was not asked what it can prove: this is an earlier version of the statement."


def strength_spans(check: Mapping[str, Any] | None) -> list[Span]:
    """A check's strength: its word as a badge, then what stands behind it; muted where nothing is estimated."""
    if check is None or check["status"] == Status.NOT_APPLICABLE:
        return [muted("nothing estimated", blocks.SMALL)]
    word = check["status"] or _UNDEFINED
    tone, icon = _STATES.get(word, ("off", "question"))
    rest = check["text"].removeprefix(word).lstrip(":; ")
    return [badge(word, tone, icon), *([text(" "), text(rest, blocks.SMALL)] if rest else [])]


def sentences_block(strength: Mapping[str, Any], *, with_checks: bool = True) -> Block:
    """What the evidence can prove, one sentence an item. ``with_checks``: the round's checks too, where no table says them."""
    said = strength_sentences(strength, with_checks=with_checks)
    return blocks.bullets(*([text(line)] for line in said)) if said else blocks.paragraph(muted(NOTHING))
