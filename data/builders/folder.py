"""An input folder: ``round.json``, the Parquet tables of a round with the columns of docs/architecture.md, ``holdout.json``.

Tables are written in one row group with dictionary encoding, so that a text that repeats for each judge is stored once.
"""
from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from core.canonical import canonical_bytes, canonical_digest

PROPOSER = "worker-curator-01"
Row = dict[str, Any]

_TEXT, _BOOL, _INT, _DOUBLE = pa.string(), pa.bool_(), pa.int64(), pa.float64()
COLUMNS: dict[str, dict[str, pa.DataType]] = {
    "pairs": {
        "pair_id": _TEXT, "origin": _TEXT, "judge_id": _TEXT, "prompt": _TEXT, "chosen": _TEXT, "rejected": _TEXT,
        "policy_logp_chosen": _DOUBLE, "ref_logp_chosen": _DOUBLE, "policy_logp_rejected": _DOUBLE, "ref_logp_rejected": _DOUBLE,
        "chosen_token_count": _INT, "rejected_token_count": _INT, "chosen_verified_pass": _BOOL, "rejected_tombstone_fail": _BOOL,
        "chosen_score": _DOUBLE, "rejected_score": _DOUBLE, "task_id": _TEXT, "source": _TEXT,
    },
    "judge_records": {
        "judge_id": _TEXT, "case_id": _TEXT, "rubric_approved": _BOOL, "verifier_passed": _BOOL, "rubric_score": _DOUBLE, "slice": _TEXT,
        "order_swapped": _BOOL, "choice": _TEXT, "length_first": _INT, "length_second": _INT,
        "prompt": _TEXT, "response": _TEXT, "response_b": _TEXT, "rationale": _TEXT,
    },
    "outcomes": {"id": _TEXT, "arm": _TEXT, "passed": _BOOL, "slice": _TEXT, "response": _TEXT},
    "sanity": {"id": _TEXT, "passed": _BOOL, "prompt": _TEXT, "response": _TEXT},
    "ratings": {"case_id": _TEXT, "rater_id": _TEXT, "label": _TEXT},
    "behaviours": {
        "behaviour": _TEXT, "version": _TEXT, "test_version": _TEXT, "item_id": _TEXT, "passed": _BOOL, "judge_id": _TEXT, "gave_reward": _BOOL,
    },
}
_DICTIONARY_BYTES = 1 << 24
_COMPRESSION_LEVEL = 19


@dataclass
class DemoRound:
    """One round as its proposer would hand it over: ``document`` is ``round.json``, ``tables`` part -> rows, ``holdout`` the locked list."""

    document: Row
    tables: dict[str, list[Row]] = field(default_factory=dict)
    holdout: list[Row] | None = None

    @property
    def round_id(self) -> str:
        return str(self.document["round_id"])


def model(name: str) -> Row:
    """A model by name. None of the demo models has a digest that its publisher states, so the digest is null: not stated."""
    return {"name": name, "digest": None}


def judge(name: str, version: str | None, rubric: str | None) -> Row:
    """One judge; ``rubric`` says in our words what it was asked, and its digest is over that text in UTF-8."""
    digest = None if rubric is None else hashlib.sha256(rubric.encode()).hexdigest()
    return {"name": name, "version": version, "rubric": rubric, "rubric_sha256": digest}


def lock(holdout: list[Row], registered_at: str) -> Row:
    """The pre-registration of a holdout list: SHA-256 over its RFC 8785 bytes, who states it, and when."""
    return {"sha256": canonical_digest(holdout), "registered_at": registered_at, "registered_by": PROPOSER}


def table(part: str, rows: list[Row]) -> pa.Table:
    """Rows as an Arrow table of the part's columns; an absent key is null, and a key that is no column is an error."""
    columns = COLUMNS[part]
    unknown = {key for row in rows for key in row} - set(columns)
    if unknown:
        raise KeyError(f"{part}: {sorted(unknown)} are no columns of this part")
    return pa.table({name: pa.array([row.get(name) for row in rows], kind) for name, kind in columns.items()})


def document_bytes(document: Row) -> bytes:
    """``round.json`` as it is stored: indented, for reading in a review."""
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def write(demo: DemoRound, root: Path) -> None:
    """Write the input folder ``root / round_id``, replacing what is there."""
    folder = root / demo.round_id
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.iterdir():
        stale.unlink()
    (folder / "round.json").write_bytes(document_bytes(demo.document))
    if demo.holdout is not None:
        (folder / "holdout.json").write_bytes(canonical_bytes(demo.holdout))
    for part, rows in demo.tables.items():
        pq.write_table(
            table(part, rows), folder / f"{part}.parquet", compression="zstd", compression_level=_COMPRESSION_LEVEL,
            row_group_size=max(1, len(rows)), dictionary_pagesize_limit=_DICTIONARY_BYTES, write_statistics=False, store_schema=False,
        )


def differences(demo: DemoRound, root: Path) -> list[str]:
    """What the stored folder says differently from ``demo``; Parquet files are compared by content, not by bytes."""
    folder = root / demo.round_id
    expected: dict[str, bytes] = {"round.json": document_bytes(demo.document)}
    if demo.holdout is not None:
        expected["holdout.json"] = canonical_bytes(demo.holdout)
    names = {*expected, *(f"{part}.parquet" for part in demo.tables)}
    stored = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    found = [f"{demo.round_id}/{name}: {'missing' if name in names else 'not built'}" for name in sorted(names ^ stored)]
    found += [f"{demo.round_id}/{name}: other bytes" for name in sorted(expected.keys() & stored) if (folder / name).read_bytes() != expected[name]]
    for part, rows in demo.tables.items():
        name = f"{part}.parquet"
        if name in stored and not pq.read_table(folder / name).equals(table(part, rows)):
            found.append(f"{demo.round_id}/{name}: other content")
    return found
