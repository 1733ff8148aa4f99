"""Pairs with a rating of each side: UltraFeedback-binarized, and Argilla's and distilabel's ratings.

A pair whose ratings are equal, missing, or the wrong way round says nothing, or the opposite of its sides. Such rows are quarantined by
name, unless the option ``ties``, ``unscored`` or ``reversed`` says to keep them; then a note counts them.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from core.rounds.columns import CellFault
from core.rounds.readers.format import Option
from core.rounds.readers.preference import preference_format
from core.rounds.readers.row_parts import Counts, Row, all_have, is_messages, none_has
from core.rounds.readers.verdicts import decimal
from core.rounds.strict import described

_KEEP: Final = ("keep",)
_OPTIONS: Final = {
    "ties": Option("keep pairs whose two ratings are equal", _KEEP),
    "unscored": Option("keep pairs that lack a rating", _KEEP),
    "reversed": Option("keep pairs whose rejected side is rated higher", _KEEP),
}
_BINARIZED: Final = ("score_chosen", "score_rejected")
_RATINGS: Final = (("chosen_rating", "rejected_rating"), ("chosen-rating", "rejected-rating"))
_PROMPTS: Final = ("prompt", "instruction", "input", "question")


def _settled(option: str, code: str, words: str, field: str, got: Any, options: Mapping[str, str], counts: Counts) -> None:
    """Quarantine the row of a rating that decides nothing, or count it where the proposer declared to keep such."""
    if option not in options:
        raise CellFault(field, code, f"a rating of each side, the chosen one higher; or declare {option}=keep", described(got))
    counts[code, f"pairs {words}; kept, as declared"] += 1


def _check_ratings(chosen: Any, rejected: Any, fields: tuple[str, str], options: Mapping[str, str], counts: Counts) -> None:
    for value, field in zip((chosen, rejected), fields, strict=True):
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise CellFault(field, "wrong_type", "a number, or null", described(value))
        if isinstance(value, float) and not math.isfinite(value):
            raise CellFault(field, "non_finite_number", "a finite number, or null", str(value))
    if chosen is None or rejected is None:
        lacking = fields[0] if chosen is None else fields[1]
        _settled("unscored", "missing_score", "lack a rating", lacking, None, options, counts)
        return
    better, worse = (decimal(value, field) for value, field in zip((chosen, rejected), fields, strict=True))
    if better == worse:
        _settled("ties", "tied_score", "have equal ratings", fields[1], rejected, options, counts)
    elif better < worse:
        _settled("reversed", "reversed_score", "rate the rejected side higher", fields[1], rejected, options, counts)


def _with_scores(row: Row, fields: tuple[str, str], options: Mapping[str, str], counts: Counts) -> Row:
    """The row with its two ratings as ``chosen_score`` and ``rejected_score``."""
    chosen, rejected = (row.pop(field, None) for field in fields)
    _check_ratings(chosen, rejected, fields, options, counts)
    for name, value in (("chosen_score", chosen), ("rejected_score", rejected)):
        if name in row:
            raise CellFault(name, "said_twice", f"{name} once", "two")
        row[name] = value
    return row


def _binarized(row: Row, options: Mapping[str, str], counts: Counts) -> Row:
    if "messages" in row and row["messages"] == row.get("chosen"):
        # the data set says the chosen conversation twice; what is equal needs no second copy
        del row["messages"]
        counts["messages_repeat_chosen", "rows repeat their chosen side under messages, which is not kept twice"] += 1
    return _with_scores(row, _BINARIZED, options, counts)


def _rated(row: Row, options: Mapping[str, str], counts: Counts) -> Row:
    fields = next((pair for pair in _RATINGS if pair[0] in row or pair[1] in row), _RATINGS[0])
    if "prompt" not in row:
        key = next((name for name in _PROMPTS if name in row), None)
        if key is not None:
            row["prompt"] = row.pop(key)
    return _with_scores(row, fields, options, counts)


def _is_binarized(rows: Sequence[Any], path: Path) -> str | None:
    if not all_have(rows, "prompt", "chosen", "rejected", *_BINARIZED):
        return None
    return "every row looked at has prompt, chosen and rejected with score_chosen and score_rejected"


def _is_rated(rows: Sequence[Any], path: Path) -> str | None:
    for pair in _RATINGS:
        if all_have(rows, "chosen", "rejected", *pair) and none_has(rows, *_BINARIZED) and _sides_can_be_told(rows):
            return f"every row looked at has chosen and rejected with {' and '.join(pair)}"
    return None


def _sides_can_be_told(rows: Sequence[Any]) -> bool:
    """Whether each row has one key that can be its prompt, or message lists that hold it."""
    named = [[name for name in _PROMPTS if name in row] for row in rows]
    return all(len(found) == 1 or (not found and is_messages(row["chosen"])) for found, row in zip(named, rows, strict=True))


FORMATS: Final = (
    preference_format("ultrafeedback", "UltraFeedback-binarized: both sides as messages, with their scores", _binarized, _is_binarized, _OPTIONS,
                      doubles=_BINARIZED),
    preference_format("argilla", "Argilla and distilabel pairs with a rating of each side", _rated, _is_rated, _OPTIONS,
                      doubles=[name for pair in _RATINGS for name in pair]),
)
