"""Position, length and self-preference bias of a judge, as far as its records hold what each needs.

A choice is ``1``, ``2`` or ``tie`` in the original numbering, also where the answers were swapped. Anything else names no
side: it is left out, counted and quoted.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import pyarrow.compute as pc

from core.errors import RoundError
from core.gates.calibration import confusion_of
from core.gates.judge_cases import JudgeCases
from core.gates.judge_parts import EvidenceRules, Part
from core.settings import SETTINGS
from core.statistics.judge_bias import (
    FIRST,
    SECOND,
    LengthBias,
    PositionBias,
    SelfPreference,
    choice_of,
    length_bias,
    length_counts,
    position_bias,
    self_preference,
)
from core.statistics.missing_answers import OrderFigures, order_figures
from core.statistics.result import Result
from core.text import shortened

APPROVALS: Final = "rubric_approved"
CHOICES: Final = "choice"
"""Which column the position figures were read from."""
_NAMED: Final[int] = SETTINGS["display"]["named_ids"]
_SHOWN: Final[int] = SETTINGS["text"]["label_characters"]


@dataclass(frozen=True, slots=True)
class Unreadable(Result):
    """Choices that are none of 1, 2 and tie: how many, and the first few different ones."""

    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PositionEvidence(Result):
    """Verdicts in both orders. ``one_order``: records judged in one order only, left out; ``unreadable``: choices outside the
    vocabulary, unusable. ``orders``: how often the judge is right in either order, where the verifier has a verdict."""

    one_order: int
    read_from: str
    unreadable: Unreadable
    bias: PositionBias
    orders: OrderFigures


@dataclass(frozen=True, slots=True)
class LengthEvidence(Result):
    """Length bias of a judge that picks. ``without_lengths``: usable cases that lack a length, left out; ``unreadable``: choices
    outside the vocabulary, counted among those of the bias that were left out."""

    without_lengths: int
    unreadable: Unreadable
    bias: LengthBias


@dataclass(frozen=True, slots=True)
class SelfEvidence(Result):
    """Own outputs against others'. ``unlabelled``: usable cases that do not say whose output it is, left out."""

    unlabelled: int
    preference: SelfPreference


def position(cases: JudgeCases) -> Part[PositionEvidence]:
    """Position bias and what both orders say, from cases that were judged in both.

    Read from ``choice``; where the judge names none, from the approvals: an approval is a verdict for answer 1.
    """
    swapped = {row["case_id"]: row for row in cases.swapped.to_pylist()}
    pairs = [(row, swapped[row["case_id"]]) for row in cases.given.to_pylist() if row["case_id"] in swapped]
    if not pairs:
        return Part(None, "not supplied: needs the same cases in both orders (rows with order_swapped true)")
    read_from = CHOICES if any(row[CHOICES] is not None for pair in pairs for row in pair) else APPROVALS
    said = [[_side(row, read_from) for row in rows] for rows in zip(*pairs, strict=True)]
    unreadable = _unreadable([*said[0], *said[1]])
    if unreadable.count and not any(map(_readable, [*said[0], *said[1]])):
        return Part(None, _not_readable(unreadable))
    bias = position_bias(*([side if _readable(side) else None for side in sides] for sides in said))
    labelled = [(one, other) for one, other in pairs if one["verifier_passed"] is not None]
    orders = order_figures(
        [one["rubric_approved"] for one, _ in labelled], [other["rubric_approved"] for _, other in labelled],
        [one["verifier_passed"] for one, _ in labelled], positive=True,
    )
    one_order = (cases.given.num_rows - len(pairs)) + (cases.swapped.num_rows - len(pairs))
    return Part(PositionEvidence(one_order, read_from, unreadable, bias, orders))


def _side(row: dict[str, Any], read_from: str) -> int | str | None:
    """The answer that a row names, in the original numbering."""
    said: bool | str | None = row[read_from]
    if isinstance(said, bool):
        return FIRST if said else SECOND
    return said


def _readable(said: int | str | None) -> bool:
    """Whether a choice names an answer or a tie."""
    try:
        return choice_of(said) is not None
    except RoundError:
        return False


def _unreadable(said: Iterable[int | str | None]) -> Unreadable:
    lost = [str(choice) for choice in said if choice is not None and not _readable(choice)]
    return Unreadable(len(lost), tuple(sorted(set(lost))[:_NAMED]))


def _not_readable(unreadable: Unreadable) -> str:
    shown = ", ".join(repr(shortened(choice, _SHOWN)) for choice in unreadable.examples)
    return f"not readable: choice has to be 1, 2, tie or nothing; got {shown}"


def length(cases: JudgeCases, rules: EvidenceRules) -> Part[LengthEvidence]:
    """Length bias of a judge that picks one of two answers, against the verifier.

    Where the verifier fails a case, answer 1 is the wrong one to pick; where it passes, answer 2 is.
    """
    rows = cases.usable.filter(pc.and_(pc.is_valid(cases.usable["length_first"]), pc.is_valid(cases.usable["length_second"])))
    picked = rows[CHOICES].to_pylist()
    if all(said is None for said in picked):
        return Part(None, "not supplied: needs choice, length_first and length_second of cases with two answers")
    unreadable = _unreadable(picked)
    if not any(map(_readable, picked)):
        return Part(None, _not_readable(unreadable))
    right = [FIRST if passed else SECOND for passed in rows["verifier_passed"].to_pylist()]
    lengths = list(zip(rows["length_first"].to_pylist(), rows["length_second"].to_pylist(), strict=True))
    counts = length_counts([said if _readable(said) else None for said in picked], right, lengths)
    return Part(LengthEvidence(cases.usable.num_rows - rows.num_rows, unreadable, length_bias(counts, rules.confidence)))


def own_outputs(cases: JudgeCases, rules: EvidenceRules) -> Part[SelfEvidence]:
    """Self-preference: errors on the judge's own outputs against those on others'."""
    told = cases.usable.filter(pc.is_valid(cases.usable["own_output"]))
    own, other = told.filter(told["own_output"]), told.filter(pc.invert(told["own_output"]))
    if not own.num_rows or not other.num_rows:
        return Part(None, "not supplied: needs own_output, with outputs of the judge itself and of other models")
    preference = self_preference(confusion_of(own), confusion_of(other), rules.confidence)
    return Part(SelfEvidence(cases.usable.num_rows - told.num_rows, preference))
