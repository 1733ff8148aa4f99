"""What a finding stands on, from the texts themselves: the pair's field and the locked text, with the shared stretches of both.

A report keeps the stretches of its strongest findings only; for any other they are found again here, in the same way.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.grid import Grid
from core.pairs.chat_texts import field_texts
from core.pairs.contamination import FIELDS, PROMPT_FIELD, SAME_TASK, PairText, locked_texts
from core.pairs.overlap import overlap
from core.pairs.suite import LockedText
from core.pairs.words import Span


@dataclass(frozen=True, slots=True)
class Evidence:
    """``text``: the whole field of the pair as stored; ``locked``: the locked text; the spans count characters of each. Without spans
    where the finding is a task id, or where no message of the field has the finding's counts any more."""

    field: str
    text: str
    locked_field: str
    locked: str
    spans: Sequence[Span] = ()
    locked_spans: Sequence[Span] = ()


def evidence_of(finding: Mapping[str, Any], texts: Mapping[str, Any], items: Sequence[Mapping[str, Any]], grid: Grid) -> Evidence:
    """The evidence of a row of FINDINGS. ``texts``: a row of TEXT; ``items``: the holdout."""
    field = finding["field"] if finding["field"] in FIELDS else PROMPT_FIELD
    text, locked = texts[field] or "", _locked(finding, items)
    if finding["rule"] == SAME_TASK:
        return Evidence(field, text, locked.field, locked.text)
    n = grid.integer("contamination_ngram_words")
    for part in field_texts(field, text, texts[f"{field}_messages"]):
        spans = _same_counts(finding, part, locked, n)
        if spans is not None:
            return Evidence(field, text, locked.field, locked.text, *spans)
    return Evidence(field, text, locked.field, locked.text)


def _locked(finding: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> LockedText:
    """The locked text that was hit; for a task id the item's question, or its first text."""
    listed = locked_texts(items[finding["item"]:finding["item"] + 1])
    named = next((one for one in listed if one.field == finding["item_field"]), None)
    asked = next((one for one in listed if one.asks), None)
    return named or asked or (listed[0] if listed else LockedText(0, finding["item_id"], finding["item_field"], ""))


def _same_counts(finding: Mapping[str, Any], part: PairText, locked: LockedText, n: int) -> tuple[list[Span], Sequence[Span]] | None:
    """The stretches of one message, in the whole field, where it is the one that was found."""
    found = overlap(part.text, locked.text, n)
    same = (found.words, found.locked_words) == (finding["words"], finding["locked_words"]) and found.exact == ("exact" in finding["rules"])
    counted = (found.covered, found.locked_covered) == (finding["covered"], finding["locked_covered"])
    if not same or not (counted or found.exact):
        return None
    return [(first + part.start, end + part.start) for first, end in found.spans], found.locked_spans
