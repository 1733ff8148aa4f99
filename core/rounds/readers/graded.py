"""A pair out of several graded replies to one prompt, by a declared rule; shared by distilabel's rows and Argilla's records.

``pair=best_worst`` takes the reply with the highest grade against the one with the lowest, as distilabel's own formatting steps do. Where two
replies share the highest or the lowest grade that rule does not say which; the row is quarantined unless ``ties=first`` declares
it. Grades are compared as the decimals that were written.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from core.rounds.columns import CellFault
from core.rounds.readers.format import Option
from core.rounds.readers.row_parts import Counts, Row, is_messages, message, put
from core.rounds.readers.verdicts import decimal
from core.rounds.strict import described

FIRST: Final = "first"
LEAVE_OUT: Final = "leave_out"
OPTIONS: Final[Mapping[str, Option]] = {
    "pair": Option("which of several replies become the pair: the highest grade against the lowest", ("best_worst",), required=True),
    "ties": Option("of replies that share the highest or the lowest grade take the first", (FIRST,)),
    "unscored": Option("leave replies out that lack a grade or a text, and pair the others", (LEAVE_OUT,)),
}
Grades = Sequence[Fraction | None]
Ends = tuple[int, int]
"""The indices of the best and the worst reply."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of a row: its text (None where it has none), the field it stands in, and the one its grade stands in."""

    text: Any
    field: str
    graded: str


def grade(value: Any, field: str) -> Fraction | None:
    """A grade as the exact decimal that was written; None for null. Raises CellFault for what is no finite number."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise CellFault(field, "wrong_type", "a number, or null", described(value))
    if not math.isfinite(value):
        raise CellFault(field, "non_finite_number", "a finite number, or null", str(value))
    return decimal(value, field)


def ends(grades: Grades, *, first: bool) -> Ends | None:
    """The replies with the highest and the lowest grade; None where the grades do not tell two replies apart, or several share an end and
    ``first`` does not say to take the first of them. Replies without a grade are passed over."""
    known = [value for value in grades if value is not None]
    if not known or max(known) == min(known):
        return None
    if not first and (known.count(max(known)) > 1 or known.count(min(known)) > 1):
        return None
    return grades.index(max(known)), grades.index(min(known))


def check_complete(grades: Grades, replies: Sequence[Reply], options: Mapping[str, str], counts: Counts) -> list[Fraction | None]:
    """The grades of the replies that can be in a pair: those of replies without a text are taken away.

    A reply that lacks its grade or its text quarantines the row, unless it is declared to be left out and two are left. Raises CellFault.
    """
    for reply in replies:
        if reply.text is not None and not isinstance(reply.text, str):
            raise CellFault(reply.field, "wrong_type", "text, or null", described(reply.text))
    usable = [None if reply.text is None else value for value, reply in zip(grades, replies, strict=True)]
    missing = [reply for value, reply in zip(usable, replies, strict=True) if value is None]
    if not missing:
        return usable
    if "unscored" not in options or len(usable) - len(missing) <= 1:
        reply = missing[0]
        code, what, field = ("missing_reply", "text", reply.field) if reply.text is None else ("missing_score", "grade", reply.graded)
        raise CellFault(field, code, f"a {what} of each reply, or of two at least and unscored={LEAVE_OUT} declared", "null")
    counts["replies_left_out", f"rows have replies that lack a grade or a text; these were left out, as declared (unscored={LEAVE_OUT})"] += 1
    return usable


def undecided(field: str, grades: Grades) -> CellFault:
    """The fault of a row whose grades do not single out a best and a worst reply."""
    shown = ", ".join("none" if value is None else str(float(value)) for value in grades)
    return CellFault(field, "tied_score", f"one highest and one lowest grade; ties={FIRST} takes the first of equal ones, where any differ", shown)


def paired(row: Row, prompt: Any, replies: Sequence[Reply], found: Ends, system: str = "") -> Row:
    """The row with prompt and sides: as messages where the prompt is a conversation or has a system prompt, as text otherwise."""
    best, worst = (replies[index].text for index in found)
    if is_messages(prompt) or system:
        asked = list(prompt) if isinstance(prompt, list) else [message("user", prompt)]
        asked = [message("system", system), *asked] if system else asked
        return put(row, prompt=asked, chosen=[message("assistant", best)], rejected=[message("assistant", worst)])
    if not isinstance(prompt, str):
        raise CellFault("prompt", "wrong_type", "text, or a list of messages with role and content", described(prompt))
    return put(row, prompt=prompt, chosen=best, rejected=worst)
