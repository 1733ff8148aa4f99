"""Contamination of a round: every pair held against the locked holdout, or against another file of items; computed once and kept.

It reads texts and ids, no outcome: it is no look at the holdout. What it finds decides nothing in the engine; the command line
turns it into an exit code for whoever runs it in front of a training job.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from core.gates.kept_report import KeptReport, ReportPlace, check_pairs
from core.gates.pair_texts import checked_pairs
from core.grid import Grid
from core.literals import code_digest
from core.pairs.contamination import RULES, SAME_TASK, CheckedPair, ContaminationCheck, Finding
from core.pairs.locked_tasks import OTHER_FORM, Unjudged
from core.pairs.overlap import Overlap, overlap
from core.rounds.folder import Round
from core.rounds.workspace import Workspace
from core.schemas import FINDINGS
from core.settings import SETTINGS
from core.text import shortened
from core.version import ENGINE_VERSION

REPORT_FILE: Final = "contamination.json"
FINDINGS_FILE: Final = "findings.parquet"
_SETTINGS: Final = SETTINGS["contamination"]
KEYS: Final = ("contamination_ngram_words", "contamination_coverage", "max_contaminated_items")
"""The keys of the grid that the report is made under."""
_NGRAM, _SHARE, _MOST = KEYS
_OWN: Final = "the round's locked holdout"

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Against:
    """What a round is held against. ``name`` is shown; ``sha256``: of the holdout's RFC 8785 bytes, or of the file."""

    name: str
    sha256: str
    items: Sequence[Mapping[str, Any]]
    lock_holds: bool | None = None

    @classmethod
    def holdout_of(cls, source: Round) -> Against:
        """The round's own holdout. Raises RoundError ``part_not_supplied`` where it has none."""
        source.holdout_bytes()
        digest, lock = str(source.holdout_digest), source.manifest.holdout_lock
        return cls(_OWN, digest, source.holdout_items(), None if lock is None else lock.sha256 == digest)


class ContaminationReport(KeptReport):
    """``document`` is what contamination.json holds; ``findings_path`` has every finding (FINDINGS of core/schemas.py)."""

    @property
    def findings_path(self) -> Path:
        return self.folder / FINDINGS_FILE

    @property
    def over(self) -> bool:
        """Whether more items are contaminated, or may be (``undecided_items``), than the grid lets pass."""
        return bool(self.document["over"])


def contamination_of(
    workspace: Workspace, source: Round, grid: Grid, *, against: Against | None = None, left_out: Collection[str] = (),
    progress: Progress | None = None,
) -> ContaminationReport:
    """The stored report of (round, grid, running code, items), computed now where there is none yet.

    ``left_out``: members of the items that are not looked at. Raises RoundError where the round has no pairs or no holdout,
    GridError ``grid_key_off`` for a grid of an earlier schema.
    """
    check_pairs(source)
    held, asked = Against.holdout_of(source) if against is None else against, sorted(set(left_out))
    place = _place(workspace, source, grid, held.name, held.sha256, asked)
    document = place.kept(lambda scratch: check_round(source, grid, held, scratch, left_out=asked, progress=progress))
    return ContaminationReport(document, place.folder)


def stored_contamination(workspace: Workspace, source: Round, grid: Grid) -> ContaminationReport | None:
    """The report of a round against its own holdout where it is stored already, else None; computes nothing. Raises RoundError
    where the round has no pairs or no holdout."""
    check_pairs(source)
    source.holdout_bytes()
    place = _place(workspace, source, grid, _OWN, str(source.holdout_digest), ())
    document = place.stored()
    return None if document is None else ContaminationReport(document, place.folder)


def _place(workspace: Workspace, source: Round, grid: Grid, name: str, sha256: str, left_out: Sequence[str]) -> ReportPlace:
    return ReportPlace.of(workspace, source, grid, "contamination", REPORT_FILE, against=sha256, name_of=name, left_out=list(left_out))


def check_round(
    source: Round, grid: Grid, against: Against, destination: Path, *, left_out: Sequence[str] = (), progress: Progress | None = None,
) -> dict[str, Any]:
    """Look at every pair, write findings.parquet to ``destination``, and return the report. Memory: the index of the items, one batch of
    texts, and the strongest findings."""
    check = ContaminationCheck(against.items, grid.integer(_NGRAM), grid.fraction(_SHARE), left_out=left_out)
    check.refuse_nothing()
    tally = _Tally()
    with pq.ParquetWriter(destination / FINDINGS_FILE, FINDINGS, compression=SETTINGS["storage"]["parquet_compression"]) as writer:
        for pairs in _slices(source):
            found = check.check(pairs)
            tally.add(found)
            if found:
                writer.write_batch(_rows(found))
            if progress is not None:
                progress(check.pairs, source.pair_count)
    return _document(source, grid, against, check, tally)


def _slices(source: Round) -> Iterator[list[CheckedPair]]:
    """The pairs, cut so that few texts are held as words at a time."""
    held, size = [], 0
    for narrow, text in source.pair_batches():
        for pair in checked_pairs(narrow, text):
            held.append(pair)
            size += sum(len(one.text) for one in pair.texts)
            if size >= _SETTINGS["batch_characters"]:
                yield held
                held, size = [], 0
    if held:
        yield held


def _rows(findings: Sequence[Finding]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([
        {
            "ordinal": one.ordinal, "pair_id": one.pair_id, "field": one.field, "rule": one.rule, "rules": list(one.rules), "item": one.locked.item,
            "item_id": one.locked.item_id, "item_field": one.locked.field, **_counts(one),
        } for one in findings
    ], schema=FINDINGS)


def _counts(one: Finding) -> dict[str, int | None]:
    names = ("words", "covered", "locked_words", "locked_covered", "locked_texts")
    return {name: None if one.text is None else int(getattr(one, name)) for name in names}


class _Tally:
    """What the findings add up to. A pair counts once, under its strongest rule."""

    def __init__(self) -> None:
        self.pairs = self.findings = 0
        self.rules, self.fields = dict.fromkeys(RULES, 0), dict[str, int]()
        self._strongest: list[Finding] = []

    def add(self, findings: Sequence[Finding]) -> None:
        self.findings += len(findings)
        pairs: dict[int, list[Finding]] = {}
        for finding in findings:
            pairs.setdefault(finding.ordinal, []).append(finding)
            field = SAME_TASK if finding.rule == SAME_TASK else finding.field
            self.fields[field] = self.fields.get(field, 0) + 1
        self.pairs += len(pairs)
        for listed in pairs.values():
            self.rules[min((one.rule for one in listed), key=RULES.index)] += 1
        self._strongest += findings
        if len(self._strongest) > _SETTINGS["listed"]:
            self._strongest = self.strongest()

    def strongest(self) -> list[Finding]:
        return sorted(self._strongest, key=lambda finding: finding.strength)[:_SETTINGS["listed"]]


def _document(source: Round, grid: Grid, against: Against, check: ContaminationCheck, tally: _Tally) -> dict[str, Any]:
    items, most = check.items_hit(), grid.integer(_MOST)
    unsure = check.tasks.unjudged()
    undecided = {one.item for one in unsure if one.why == OTHER_FORM} - {item for item, _ in items}
    return {
        "schema_version": _SETTINGS["report_version"], "engine_version": ENGINE_VERSION, "code_digest": code_digest(),
        "round_id": source.manifest.round_id, "round_digest": source.digest, "grid_digest": grid.digest,
        "against": {
            "name": against.name, "sha256": against.sha256, "items": check.items, "texts": len(check.texts), "lock_holds": against.lock_holds,
        },
        "rules": {"ngram_words": grid.integer(_NGRAM), "coverage": grid.text(_SHARE), "max_contaminated_items": most},
        "pairs": {"looked_at": check.pairs, "contaminated": tally.pairs, "quarantined": source.quarantined_count, "texts": check.texts_seen},
        "by_rule": tally.rules, "by_field": dict(sorted(tally.fields.items())),
        "contaminated_items": len(items), "undecided_items": len(undecided), "over": len(items) + len(undecided) > most,
        "items": [{"item": item, "id": check.names[item], "hits": hits} for item, hits in items],
        "task_ids": {
            "items": check.tasks.items_with_id(), "items_by_bare_number": check.tasks.items_by_number(), "pairs": check.pairs_with_task,
            "not_judged": unjudged_items(check, unsure),
        },
        "not_looked_for": items_not_looked_for(check),
        "skipped": [{"rule": rule, "why": why} for rule, why in check.skipped()],
        "findings": {"all": tally.findings, "listed": [_listed(one, check.suite.n) for one in tally.strongest()]},
    }


def unjudged_items(check: ContaminationCheck, unsure: Sequence[Unjudged]) -> dict[str, Any]:
    """The items that rows may have: how many, and the first of them with the place and id of one of the ``rows`` that cannot be judged."""
    return {"items": len({one.item for one in unsure}), "all": len(unsure), "listed": [
        {
            "item": one.item, "id": check.names[one.item], "why": one.why, "rows": one.pairs, "row": one.pair_id, "field": one.field,
            "task_id": one.task,
        } for one in unsure[:_SETTINGS["listed"]]
    ]}


def items_not_looked_for(check: ContaminationCheck) -> list[dict[str, Any]]:
    """What was not looked for at all, by rule and reason, with the first of the items."""
    return [
        {"rule": rule, "why": why, "items": len(positions),
         "listed": [{"item": item, "id": check.names[item]} for item in positions[:_SETTINGS["listed"]]]}
        for rule, why, positions in check.not_looked_for()
    ]


def _listed(finding: Finding, n: int) -> dict[str, Any]:
    """A finding with its evidence: where the shared stretches stand in the field's text and in the locked text."""
    evidence = None if finding.text is None else overlap(finding.text.text, finding.locked.text, n)
    start = 0 if finding.text is None else finding.text.start
    return {
        "ordinal": finding.ordinal, "pair_id": finding.pair_id, "field": finding.field, "rules": list(finding.rules),
        "item": finding.locked.item, "item_id": finding.locked.item_id, "item_field": finding.locked.field, **_counts(finding),
        "spans": _moved(evidence, start), "locked_spans": [] if evidence is None else [list(span) for span in evidence.locked_spans],
        "excerpt": _excerpt(finding, evidence),
    }


def _moved(evidence: Overlap | None, start: int) -> list[list[int]]:
    return [] if evidence is None else [[first + start, end + start] for first, end in evidence.spans]


def _excerpt(finding: Finding, evidence: Overlap | None) -> str:
    """The longest shared stretch of the training text, or the task id."""
    if finding.text is None or evidence is None or not evidence.spans:
        return shortened(finding.locked.text, _SETTINGS["excerpt_characters"])
    first, end = max(evidence.spans, key=lambda span: span[1] - span[0])
    return shortened(finding.text.text[first:end], _SETTINGS["excerpt_characters"])
