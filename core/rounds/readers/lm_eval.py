"""lm-evaluation-harness: ``samples_{task}_{date}.jsonl``, one row a document and filter.

A file may hold the same documents under several filters, whose verdicts differ: one is chosen and the others are left out and
counted, never mixed. ``doc_id`` counts the documents of a task from 0; a field of the document itself (``id=doc.key``) is the better id where there
is one, because it does not change when documents are added. Structure: lm_eval/evaluator.py of EleutherAI/lm-evaluation-harness.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NoReturn

from core.errors import RoundError, Where
from core.rounds.columns import CellFault
from core.rounds.note import Note
from core.rounds.readers.containers import raw_rows
from core.rounds.readers.format import Declared, Format, Option
from core.rounds.readers.outcome_rows import OPTIONS, PART, Outcomes, mapped
from core.rounds.readers.places import IdPlace
from core.rounds.readers.verdicts import VerdictRule, check_direction
from core.rounds.strict import described, nearest
from core.rounds.typing_rows import RawRow
from core.settings import SETTINGS
from core.text import shortened

NAME: Final = "lm-eval"
_SHOWN: Final[int] = SETTINGS["text"]["label_characters"]
_LISTED: Final[int] = SETTINGS["display"]["page_rows"]
_DOC_ID: Final = "doc_id"
_NO_FILTER: Final = "none"
_BOOKKEEPING: Final = frozenset((
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash", "target_hash", "length_info",
))
"""Keys of a row that are no metric."""
_KEPT: Final = ("doc_hash", "prompt_hash", "target_hash")
"""What tells whether both arms were asked the same (core.rounds.outcome_documents)."""


class _Samples:
    """Reads the rows of one file: which metric, which filter, and what was left out."""

    def __init__(self, declared: Declared) -> None:
        self._declared, options = declared, declared.options
        self._metric: str | None = options.get("metric")
        self._filter: str | None = options.get("filter")
        self._chosen = self._filter is not None
        self._id_field = options.get("id", _DOC_ID)
        self._filters: Counter[str] = Counter()
        self._documents: set[Any] = set()
        self._outcomes: Outcomes | None = None

    def outcome(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """One row as an outcome, or None where it belongs to another filter."""
        if not self._wanted(row):
            return None
        if self._outcomes is None:
            self._metric = self._metric or _only_metric(row)
            check_direction(self._metric, self._declared)
            rule = VerdictRule(self._declared, self._metric)
            self._outcomes = Outcomes(self._declared, IdPlace(self._id_field, NAME), rule)
        metric = self._metric or ""
        if metric not in row:
            near = nearest(metric, _metrics(row))
            got = f"the metrics {', '.join(_metrics(row)) or 'none'}" + (f"; did you mean {near!r}?" if near else "")
            raise CellFault(metric, "missing_field", "the metric that was declared", got)
        self._check_document(row)
        kept = {name: row.get(name) for name in _KEPT}
        return self._outcomes.outcome(row, row[metric], response=_response(row), extra=kept)

    def finish(self) -> None:
        """Check the file as a whole and add its notes."""
        if not self._filters[self._filter or ""]:
            self._no_rows()
        if self._outcomes is not None:
            self._outcomes.finish()
        if others := sum(self._filters.values()) - self._filters[self._filter or ""]:
            names = ", ".join(sorted(name for name in self._filters if name != self._filter))
            self._declared.notes.append(Note("other_filters", f"{self._declared.file}: {others} rows of other filters left out ({names})"))

    def _wanted(self, row: dict[str, Any]) -> bool:
        found = row.get("filter", _NO_FILTER)
        if not isinstance(found, str):
            raise CellFault("filter", "wrong_type", "text", described(found))
        self._filters[found] += 1
        if self._filter is None:
            self._filter = found
        if found != self._filter and not self._chosen:
            raise CellFault("filter", "several_filters", "one filter, declared (--option filter=NAME)", self._all_filters)
        return found == self._filter

    @cached_property
    def _all_filters(self) -> str:
        """The filters of the whole file with their rows, in words. The file is read again: only a refusal asks."""
        rows = (row.value for row in raw_rows(self._declared.path, self._declared.file, []))
        found = Counter(str(row.get("filter", _NO_FILTER)) for row in rows if isinstance(row, dict))
        return f"{len(found)} filters: {', '.join(f'{shortened(name, _SHOWN)} ({count} rows)' for name, count in sorted(found.items())[:_LISTED])}"

    def _check_document(self, row: dict[str, Any]) -> None:
        """Refuse a document that comes twice under one filter, whatever its declared id."""
        document = row.get(_DOC_ID)
        if self._id_field != _DOC_ID and isinstance(document, (int, str)):
            if document in self._documents:
                raise CellFault(_DOC_ID, "duplicate_outcome", "each document once under a filter", f"{described(document)} twice")
            self._documents.add(document)

    def _no_rows(self) -> NoReturn:
        names = ", ".join(sorted(self._filters))
        raise RoundError(
            "no_rows", expected=f"rows of the filter {self._filter!r}" if self._chosen else "at least one row",
            got=f"rows of the filters {names}" if names else "none", where=Where(self._declared.file, field="filter"),
            remedy="declare a filter that the file has (--option filter=NAME)" if names else "hand over the whole file",
        )


def _metrics(row: dict[str, Any]) -> list[str]:
    """The metrics of a row: as it lists them, or every key that is nothing else."""
    listed = row.get("metrics")
    if isinstance(listed, list) and all(isinstance(name, str) for name in listed):
        return listed
    return [name for name in row if name not in _BOOKKEEPING]


def _only_metric(row: dict[str, Any]) -> str:
    names = _metrics(row)
    if len(names) != 1:
        raise CellFault("metric", "missing_option", "one metric, declared (--option metric=NAME)", f"the metrics {', '.join(names) or 'none'}")
    return names[0]


def _response(row: dict[str, Any]) -> str | None:
    """What the model wrote, where a document was asked once and answered in text (not by log-likelihoods)."""
    value = row.get("resps")
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, str) else None


def rows(declared: Declared) -> Iterator[RawRow]:
    """The outcomes of a samples file. Raises RoundError where the chosen filter has no rows."""
    samples = _Samples(declared)
    return mapped(raw_rows(declared.path, declared.file, declared.notes), samples.outcome, samples.finish)


def recognise(first_rows: Sequence[Any], path: Path) -> str | None:
    """Rows with a document, its number and the filtered replies are lm-eval's."""
    keys = ("doc_id", "doc", "filtered_resps")
    if first_rows and all(isinstance(row, dict) and all(key in row for key in keys) for row in first_rows):
        return f"its rows have the keys {', '.join(keys)}"
    return None


FORMAT: Final = Format(
    NAME, PART, "lm-evaluation-harness: samples_*.jsonl", rows, recognise,
    {
        **OPTIONS, "metric": Option("the metric that decides; may be left out where rows have one"),
        "filter": Option("the filter whose rows are read; may be left out where the file has one"),
        "id": Option("where a row names its item, as doc.key or sha256:doc.question; doc_id unless declared"),
    },
)
