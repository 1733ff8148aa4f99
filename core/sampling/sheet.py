"""A sample judged outside the dashboard: the blind sheet of its pairs, and the labels that come back.

A sheet is JSON lines in the drawn order: ``pair_id``, ``prompt``, ``first``, ``second`` (the two answers on the sides that the
seed gives them, as the page shows them) and ``label``, which is null until somebody writes one of the choices there. Nothing
else about a pair is in it: no origin, no figure, no verdict, no word on which answer is the chosen one. Labels come back as
rows with ``pair_id`` and ``label``; a null label is a pair that is not judged yet. Other columns are passed over, so that the
filled-in sheet itself can be handed in.
"""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from core.canonical import canonical_bytes
from core.errors import SamplingError, Where
from core.rounds.columns import Column, Kind
from core.rounds.folder import Round
from core.rounds.readers.loose import typed_file
from core.sampling.journal import CHOICES
from core.sampling.review import Given, Sample

COLUMNS: Final = (Column("pair_id", Kind.ID, required=True, nullable=False), Column("label", Kind.CHOICE, required=True, choices=CHOICES))
_REST: Final = {"chosen": "rejected", "rejected": "chosen"}


def blind_sheet(source: Round, sample: Sample) -> bytes:
    """The pairs of ``sample`` that are not judged yet, one JSON object a line. Raises SamplingError where none is left."""
    left = () if sample.next_pair is None else sample.order[len(sample.labels):]
    if not left:
        raise SamplingError("sample_ended", expected="a sample with pairs left to judge", got="one that is complete or ended",
                            remedy="look at the result")
    texts = _texts(source, set(left))
    return b"".join(canonical_bytes(_row(sample, pair_id, texts)) + b"\n" for pair_id in left)


def _row(sample: Sample, pair_id: str, texts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    if pair_id not in texts:
        raise SamplingError("pair_without_text", expected="the texts of every drawn pair", got=f"none of {pair_id!r}",
                            remedy="run countersign round check")
    first = sample.first(pair_id)
    found = texts[pair_id]
    return {"pair_id": pair_id, "prompt": found["prompt"] or "", "first": found[first] or "", "second": found[_REST[first]] or "", "label": None}


def _texts(source: Round, wanted: set[str]) -> dict[str, dict[str, Any]]:
    """Texts by pair id. The pairs are streamed: a round may be larger than memory."""
    found: dict[str, dict[str, Any]] = {}
    for narrow, text in source.pair_batches():
        for place, pair_id in enumerate(narrow.column("pair_id").to_pylist()):
            if pair_id in wanted:
                found[pair_id] = text.slice(place, 1).to_pylist()[0]
    return found


def read_labels(path: Path) -> tuple[Given, ...]:
    """The labels of a file (.jsonl, .json, .parquet), in its order; rows without one are left out.

    Raises RoundError for a form that is none of the three and for a row that cannot be read, SamplingError
    ``duplicate_label`` for a pair that stands there twice."""
    given: dict[str, Given] = {}
    for pair_id, choice, where in _rows(path):
        if pair_id in given:
            raise SamplingError("duplicate_label", expected="each pair once", got=f"{pair_id!r} again (first in {given[pair_id].where})",
                                remedy="remove one of the two", where=where)
        if choice is not None:
            given[pair_id] = Given(pair_id, choice, where)
    return tuple(given.values())


def _rows(path: Path) -> Iterator[tuple[str, Any, Where]]:
    for batch in typed_file(path, COLUMNS):
        names = batch.rows.column("pair_id").to_pylist(), batch.rows.column("label").to_pylist(), batch.lines.to_pylist()
        for pair_id, choice, line in zip(*names, strict=True):
            yield pair_id, choice, Where(path.name, line)
