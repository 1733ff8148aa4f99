"""A judge's records as the evidence reads them: figures without texts, split by slice, and cases told apart by their content."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from core.canonical import canonical_digest
from core.gates.calibration import confusion_of
from core.rounds.folder import Round
from core.statistics.agreement import Confusion

FIGURE_COLUMNS: Final = (
    "judge_id", "case_id", "order_swapped", "rubric_approved", "verifier_passed", "rubric_score", "slice", "choice", "length_first",
    "length_second", "own_output",
)
_TEXT_COLUMNS: Final = ("prompt", "response", "response_b")
"""What the judge was shown: the content of a case. The rationale is the judge's own and no part of it."""


@dataclass(frozen=True)
class JudgeCases:
    """The records of one judge, or of one slice of them. ``given``: rows in the given order, which feed the gate;
    ``swapped``: rows with the two answers swapped; ``name``: the slice, None for all cases or for those that name none."""

    judge_id: str
    given: pa.Table
    swapped: pa.Table
    name: str | None = None

    @cached_property
    def usable(self) -> pa.Table:
        """Rows in the given order with both verdicts."""
        return self.given.filter(pc.and_(pc.is_valid(self.given["rubric_approved"]), pc.is_valid(self.given["verifier_passed"])))

    @cached_property
    def table(self) -> Confusion:
        """Judge against verifier over the usable rows."""
        return confusion_of(self.usable)

    @property
    def missing(self) -> int:
        """Rows in the given order without a usable verdict on one side."""
        return int(self.given.num_rows - self.usable.num_rows)


def judge_figures(source: Round) -> pa.Table:
    """The judge records of a round without their texts."""
    return source.table("judge_records", FIGURE_COLUMNS)


def cases_of(records: pa.Table, judge_id: str) -> JudgeCases:
    """The cases of one judge. ``records``: rows of :func:`judge_figures`; a judge without any has empty tables."""
    own = records.filter(pc.equal(records["judge_id"], judge_id))
    return JudgeCases(judge_id, own.filter(pc.invert(own["order_swapped"])), own.filter(own["order_swapped"]))


def slices_of(cases: JudgeCases) -> tuple[JudgeCases, ...]:
    """The cases by slice, in name order, those without a name last; none where no case names a slice.

    A row in swapped order belongs to the slice of its case in the given order.
    """
    names = sorted(name for name in pc.unique(cases.given["slice"]).to_pylist() if name is not None)
    if not names:
        return ()
    found = [_slice(cases, pc.fill_null(pc.equal(cases.given["slice"], name), False), name) for name in names]
    unnamed = _slice(cases, pc.is_null(cases.given["slice"]), None)
    return (*found, *([unnamed] if unnamed.given.num_rows else []))


def _slice(cases: JudgeCases, mask: pa.ChunkedArray, name: str | None) -> JudgeCases:
    given = cases.given.filter(mask)
    swapped = cases.swapped.filter(pc.is_in(cases.swapped["case_id"], given["case_id"].combine_chunks()))
    return JudgeCases(cases.judge_id, given, swapped, name)


@dataclass(frozen=True, slots=True)
class ContentVerdict:
    """What judge and verifier say about a case, and the digest of its texts (None where the round holds none)."""

    approved: bool | None
    passed: bool | None
    content: str | None

    def same_case(self, other: ContentVerdict) -> bool:
        """Whether two records of one case id show the same texts, as far as both hold any."""
        return self.content is None or other.content is None or self.content == other.content


Verdicts = dict[str, ContentVerdict]
"""Case id -> verdicts, rows in the given order."""


def content_verdicts(source: Round, judge_ids: Iterable[str] | None = None) -> dict[str, Verdicts]:
    """Verdicts by judge and case id. ``judge_ids``: these alone, None = every judge of the round."""
    records = source.table("judge_records", ("judge_id", "case_id", "order_swapped", "rubric_approved", "verifier_passed", *_TEXT_COLUMNS))
    records = records.filter(pc.invert(records["order_swapped"]))
    if judge_ids is not None:
        records = records.filter(pc.is_in(records["judge_id"], pa.array(sorted(judge_ids), pa.string())))
    columns = [records[name].to_pylist() for name in ("judge_id", "case_id", "rubric_approved", "verifier_passed", *_TEXT_COLUMNS)]
    found: dict[str, Verdicts] = {}
    for judge_id, case_id, approved, passed, *texts in zip(*columns, strict=True):
        found.setdefault(judge_id, {})[case_id] = ContentVerdict(approved, passed, _content(texts))
    return found


def _content(texts: list[str | None]) -> str | None:
    return None if all(text is None for text in texts) else canonical_digest(texts)
