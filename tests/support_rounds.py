"""Inputs for the tests of ingest: the worked example as a bundle and as tables, and pairs to edit.

The tables are made from the bundle here, in plain Python, without the code under test.
"""
from __future__ import annotations

import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from core.rounds.folder import Round
from core.rounds.ingest import IngestReport, ingest
from core.rounds.workspace import Workspace

WORKED_EXAMPLE = Path(__file__).parent / "fixtures" / "worked_example" / "bundle.json"
ORACLES = Path(__file__).parent / "fixtures" / "oracles"
NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
STATED = "2026-01-05T12:00:00Z"

PAIR: dict[str, Any] = {
    "pair_id": "p-1", "origin": "verified", "prompt": "Set retries.", "chosen": "Set retries to 3.", "rejected": "No.",
    "policy_logp_chosen": -20.0, "ref_logp_chosen": -22.0, "policy_logp_rejected": -30.0, "ref_logp_rejected": -24.0,
    "chosen_token_count": 20, "rejected_token_count": 20, "chosen_verified_pass": True, "rejected_tombstone_fail": True,
}
ROUND: dict[str, Any] = {"schema_version": 1, "round_id": "round-07", "proposers": ["worker-curator-01"]}


def bundle() -> dict[str, Any]:
    """The worked example, to be edited."""
    document: dict[str, Any] = json.loads(WORKED_EXAMPLE.read_text("utf-8"))
    return document


def pair(**changes: Any) -> dict[str, Any]:
    """A legal pair with some values changed."""
    return copy.deepcopy(PAIR) | changes


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    """A row without some of its keys."""
    return {name: value for name, value in row.items() if name not in names}


def tables_of(document: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each part of a bundle under the column names of the tables."""
    names = {"chosen_verified": "chosen", "rejected_tombstone": "rejected"}

    def pairs(rows: list[dict[str, Any]], **more: Any) -> list[dict[str, Any]]:
        return [{names.get(name, name): value for name, value in row.items()} | more for row in rows]

    return {
        "judge_records": [
            row | {"judge_id": judge} for judge in ("calibrated", "uncalibrated") for row in document[f"{judge}_judge_records"]
        ],
        "pairs": [
            *pairs(document["verified_candidates"], origin="verified"),
            *pairs(document["synthetic_pairs"], origin="synthetic", judge_id="calibrated"),
        ],
        "holdout": document["holdout_suite"],
        "outcomes": [
            {"id": name, "arm": arm, "passed": passed}
            for arm in ("baseline", "candidate") for name, passed in document[f"{arm}_outcomes"].items()
        ],
        "sanity": [{"id": name, "passed": passed} for name, passed in document["sanity_outcomes"].items()],
    }


def round_of(document: dict[str, Any]) -> dict[str, Any]:
    """The proposer's round.json that says what a bundle says."""
    return ROUND | {
        "proposers": [document["proposer_id"]], "reviewer": document["reviewer_id"],
        "holdout_lock": {"sha256": document["preregistered_holdout_sha256"]},
        "receipt_judges": {"calibrated": "calibrated", "uncalibrated": "uncalibrated"},
    }


def write_jsonl(folder: Path, part: str, rows: list[Any]) -> Path:
    path = folder / f"{part}.jsonl"
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")
    return path


def write_json(folder: Path, part: str, rows: list[Any]) -> Path:
    path = folder / f"{part}.json"
    path.write_text(json.dumps(rows, ensure_ascii=False, indent=1), "utf-8")
    return path


def write_parquet(folder: Path, part: str, rows: list[Any], schema: pa.Schema | None = None) -> Path:
    path = folder / f"{part}.parquet"
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows], schema=schema)
    pq.write_table(table, path)
    return path


WRITERS: dict[str, Callable[[Path, str, list[Any]], Path]] = {"jsonl": write_jsonl, "json": write_json, "parquet": write_parquet}


def folder_of(place: Path, parts: dict[str, list[Any]], *, about: dict[str, Any] | None = None, form: str = "jsonl") -> Path:
    """A folder of tables in one format, with its round.json."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "round.json").write_text(json.dumps(ROUND if about is None else about), "utf-8")
    for part, rows in parts.items():
        WRITERS[form](place, part, rows)
    return place


def bundle_file(place: Path, document: Any, name: str = "round-07.json") -> Path:
    """A bundle on disk."""
    place.mkdir(parents=True, exist_ok=True)
    path = place / name
    path.write_text(json.dumps(document, ensure_ascii=False), "utf-8")
    return path


def workspace_at(place: Path) -> Workspace:
    return Workspace.open(place / "workspace", create=True)


def ingested(place: Path, source: Path, **options: Any) -> tuple[Round, IngestReport]:
    """Ingest into a workspace beside the input, and open the round; also one whose pairs are all quarantined."""
    workspace = workspace_at(place)
    report = ingest(source, workspace, now=NOW, **{"keep_unusable": True} | options)
    return workspace.round(report.digest), report


def pairs_round(place: Path, rows: list[Any], form: str = "jsonl") -> tuple[Round, IngestReport]:
    """A round of pairs only."""
    return ingested(place, folder_of(place / "input", {"pairs": rows}, form=form))


def nothing_written(place: Path) -> bool:
    """Whether the workspace beside the input holds no round and no rest of one."""
    return not any((place / "workspace" / name).exists() and any((place / "workspace" / name).iterdir()) for name in ("rounds", "tmp"))
