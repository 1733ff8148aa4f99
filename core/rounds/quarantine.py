"""Why the rows of a round are quarantined: how many by each reason, and where the first of each stands.

Counted twice from two sources that must agree: while ingest writes the rows (``Reasons``), and afterwards from what is stored (``stored_reasons``).
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from core.errors import RoundError, Where
from core.rounds.columns import RowFault
from core.rounds.folder import Round
from core.settings import SETTINGS

_NAMED: Final[int] = SETTINGS["display"]["named_ids"]
_PLACE: Final = ("file", "line", "field", "code", "expected")


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason: its code, how many rows have it, and the first of them. ``got`` is known only while a file is read."""

    code: str
    rows: int
    first: Where
    expected: str
    got: str | None = None

    def document(self) -> dict[str, Any]:
        """The reason as JSON members."""
        where = self.first
        return {"code": self.code, "rows": self.rows, "file": where.file, "line": where.line, "field": where.field, "expected": self.expected}

    def sentence(self) -> str:
        """The reason in words: ``2 wrong_type, the first at pairs.jsonl, line 3, field pair_id``."""
        return f"{self.rows} {self.code}, the first at {self.first}"


class Reasons:
    """Counts faults by their code, in the order in which they come."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._first: dict[str, tuple[Where, str, str | None]] = {}

    def add(self, file: str, faults: Iterable[RowFault]) -> None:
        """Count the faults of a file."""
        for fault in faults:
            self.count(fault.code, Where(file, fault.line, fault.field or None), fault.expected, fault.got)

    def count(self, code: str, where: Where, expected: str, got: str | None = None) -> None:
        """Count one row."""
        self._rows[code] = self._rows.get(code, 0) + 1
        self._first.setdefault(code, (where, expected, got))

    def found(self) -> tuple[Reason, ...]:
        """The reasons, most rows first."""
        every = [Reason(code, rows, *self._first[code]) for code, rows in self._rows.items()]
        return tuple(sorted(every, key=lambda reason: (-reason.rows, reason.code)))


def stored_reasons(source: Round) -> tuple[Reason, ...]:
    """The reasons of the rows in quarantine.parquet."""
    reasons = Reasons()
    for batch in source.table("quarantine", _PLACE).to_batches():
        for file, line, field, code, expected in zip(*(batch.column(name).to_pylist() for name in _PLACE), strict=True):
            reasons.count(code, Where(file, line, field or None), expected)
    return reasons.found()


def in_words(reasons: Sequence[Reason]) -> str:
    """The reasons that most rows have, and how many more there are."""
    more = f"; and {len(reasons) - _NAMED} more reasons" if len(reasons) > _NAMED else ""
    return "; ".join(reason.sentence() for reason in reasons[:_NAMED]) + more


def none_usable(reasons: Sequence[Reason]) -> RoundError:
    """The error for pairs of which no row could be typed: such a file is not what it claims to be."""
    rows, first = sum(reason.rows for reason in reasons), reasons[0]
    there = f"expected {first.expected}" + ("" if first.got is None else f", got {first.got}")
    return RoundError(
        "no_usable_row", expected="at least one pair row that can be typed", got=f"none of {rows}: {in_words(reasons)}", where=first.first,
        remedy=f"correct the rows (in the first: {there}); nothing was written; --keep-unusable stores such a round, to list every row of it",
    )
