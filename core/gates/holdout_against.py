"""The candidates of two rounds on the same holdout: compared item by item, or *not comparable* with what differs.

Only where items, prompts, everything else that was locked, and graded shares are the same is anything subtracted. The order of
the two lists does not matter: items are paired by id, after their contents were found equal.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, cast

import numpy as np

from core.canonical import canonical_bytes, sha256_hex
from core.errors import RoundError, Where
from core.gates.holdout import holdout_differences
from core.gates.holdout_evidence import why_no_report
from core.gates.holdout_rows import HoldoutRows, holdout_rows
from core.gates.strength_rules import NO_CONFIDENCE, Levels
from core.grid import Grid
from core.rounds.folder import Round
from core.settings import SETTINGS
from core.statistics.arms import ArmRuns, Reducer, flip_table
from core.statistics.comparison import PairedComparison, compare_arms
from core.statistics.paired import FlipTable, paired_test
from core.statistics.ratio import Ratio
from core.statistics.result import Result
from core.statistics.splits import Measured, Mismatch, mismatches, not_comparable
from core.statistics.verdict import claim_text

_NAMED: Final[int] = SETTINGS["display"]["named_ids"]
_SHOWN: Final[int] = SETTINGS["display"]["digest_characters"]
Document = Mapping[str, Any]
Items = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class CandidateComparison(Result):
    """This round's candidate against the other's. ``names``: the other one's, then this one's. ``mismatches`` is empty where they
    are comparable; ``differences``: what differs item by item, the first few. ``comparison`` is None where they are not, or
    where the grid sets no levels. ``baselines``: whether both rounds start from the same outcomes.
    """

    names: tuple[str, str]
    mismatches: tuple[Mismatch, ...]
    differences: tuple[str, ...]
    table: FlipTable | None
    comparison: PairedComparison | None
    baselines: str | None
    sentence: str

    @property
    def comparable(self) -> bool:
        return not self.mismatches


def compare_candidates(source: Round, document: Document, other: Round, other_document: Document, grid: Grid) -> CandidateComparison:
    """Compare under ``grid``; the documents are the rounds' assessments, which say whether outcomes fit the holdout.

    Raises RoundError (``same_round``) for a round against itself.
    """
    if source.digest == other.digest:
        raise RoundError("same_round", expected="another round of the workspace", got="the same one", remedy="name the round to compare with",
                         where=Where(field="--against"))
    names = _names(other, source)
    sides = ((other, other_document, names[0]), (source, document, names[1]))
    lacking = [Mismatch("no_outcomes", f"{name}: {why_no_report(one)}") for one, found, name in sides if not _fit(found)]
    if lacking:
        return _refused(names, lacking, [])
    found, differences = _mismatches(other, source, names)
    first, second = holdout_rows(other), holdout_rows(source)
    found += [_ungraded(name, rows) for name, rows in zip(names, (first, second), strict=True) if len(rows.candidate.absent)]
    return _refused(names, found, differences) if found else _compared(names, first, second, grid)


def _names(other: Round, source: Round) -> tuple[str, str]:
    """Candidates by the ids of their rounds; with the start of the digest where two rounds share one."""
    ids = other.manifest.round_id, source.manifest.round_id
    first, second = ids if ids[0] != ids[1] else (f"{ids[0]} ({one.digest[:_SHOWN]})" for one in (other, source))
    return f"the candidate of {first}", f"the candidate of {second}"


def _fit(document: Document) -> bool:
    return (document["holdout"] or {}).get("outcomes") is not None


def _refused(names: tuple[str, str], found: Sequence[Mismatch], differences: Sequence[str]) -> CandidateComparison:
    return CandidateComparison(names, tuple(found), tuple(differences), None, None, None, not_comparable(found))


def _mismatches(other: Round, source: Round, names: tuple[str, str]) -> tuple[list[Mismatch], list[str]]:
    first, second = ({str(item["id"]): item for item in one.holdout_items()} for one in (other, source))
    shared = first.keys() & second.keys()
    found = mismatches(_measured(other, first, shared), _measured(source, second, shared), names=names)
    changed = {"different_prompts": _changed(first, second, shared, _prompt), "different_splits": _changed(first, second, shared, _rest)}
    words = {
        "different_items": f"different sets of items: {len(first):,} and {len(second):,}, {len(first.keys() ^ second.keys()):,} of them in one only",
        "different_prompts": f"different prompts: {changed['different_prompts']:,} of {len(shared):,} shared items ask something else",
        "different_splits": f"different splits: {changed['different_splits']:,} of {len(shared):,} shared items were locked with other fields",
    }
    said = [replace(mismatch, text=words.get(mismatch.code, mismatch.text)) for mismatch in found]
    lines = holdout_differences(list(first.values()), list(second.values())) if said else []
    more = [f"and {len(lines) - _NAMED:,} more"] if len(lines) > _NAMED else []
    return said, [*lines[:_NAMED], *more]


def _measured(source: Round, items: Items, shared: Iterable[str]) -> Measured:
    """What the figure was measured on; prompts and other fields of the shared items, so that each difference is named once."""
    names = sorted(shared)
    answered = len(holdout_rows(source).candidate.runs.nonzero()[0])
    return Measured(
        _digest([_rest(items[name]) for name in names]), _digest(sorted(items)), _digest([_prompt(items[name]) for name in names]),
        Ratio(answered, len(items)),
    )


def _digest(value: Any) -> str:
    return sha256_hex(canonical_bytes(value))


def _prompt(item: Mapping[str, Any]) -> Any:
    return item.get("prompt")


def _rest(item: Mapping[str, Any]) -> Any:
    return {key: value for key, value in item.items() if key not in ("id", "prompt")}


def _changed(first: Items, second: Items, shared: Iterable[str], part: Any) -> int:
    return sum(canonical_bytes(part(first[name])) != canonical_bytes(part(second[name])) for name in shared)


def _ungraded(name: str, rows: HoldoutRows) -> Mismatch:
    absent = rows.candidate.absent
    return Mismatch("missing_outcomes", f"{name} has no outcome on {len(absent):,} of {len(rows.ids):,} items")


def _compared(names: tuple[str, str], first: HoldoutRows, second: HoldoutRows, grid: Grid) -> CandidateComparison:
    levels, reducer = Levels.of(grid), cast("Reducer", grid.name_of("outcome_run_reducer"))
    before, after = _aligned(first.candidate, first.ids, second.ids), second.candidate
    table = flip_table(before.without_copies().reduced(reducer, tie=True), after.without_copies().reduced(reducer, tie=False))
    baselines = _baselines(_aligned(first.baseline, first.ids, second.ids), second.baseline, reducer)
    if levels is None:
        gain, test = Fraction(table.fixes - table.regressions, table.n), paired_test(table)
        flips = f"{table.fixes:,} gained, {table.regressions:,} lost, exact {test.exact.text()}"
        sentence = f"{claim_text(gain, *reversed(names))}: {flips}; no verdict: {NO_CONFIDENCE}"
        return CandidateComparison(names, (), (), table, None, baselines, sentence)
    compared = compare_arms(
        before, after, reducer=reducer, alpha=levels.alpha, confidence=levels.confidence, power=levels.power, clusters=second.clusters,
        names=names, gaps=(*first.gaps, *second.gaps),
    )
    return CandidateComparison(names, (), (), table, compared, baselines, compared.verdict.sentence)


def _aligned(arm: ArmRuns, ids: Sequence[str], order: Sequence[str]) -> ArmRuns:
    """The same outcomes with the items numbered as ``order`` has them."""
    place = {name: number for number, name in enumerate(order)}
    numbers = np.array([place[name] for name in ids], dtype=np.int64)
    return ArmRuns(arm.items, numbers[arm.item], arm.run, arm.passed)


def _baselines(first: ArmRuns, second: ArmRuns, reducer: Reducer) -> str:
    differing = int((first.reduced(reducer, tie=True) != second.reduced(reducer, tie=True)).sum())
    if not differing:
        return "both rounds have the same baseline outcomes"
    return f"the baselines of the two rounds differ on {differing:,} of {first.items:,} items"
