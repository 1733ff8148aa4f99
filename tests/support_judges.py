"""Rounds of judge records for the tests of judge evidence."""
from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from support_rounds import NOW, folder_of

from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace

ABOUT = {"schema_version": 1, "round_id": "calibration", "proposers": ["worker-curator-01"]}
CELLS = {"tp": (True, True), "fp": (True, False), "fn": (False, True), "tn": (False, False)}


def record(case: str, approved: bool | None, passed: bool | None, judge: str = "one", **more: Any) -> dict[str, Any]:
    """One judge record."""
    return {"judge_id": judge, "case_id": case, "rubric_approved": approved, "verifier_passed": passed, **more}


def cells(tp: int, fp: int, fn: int, tn: int, *, judge: str = "one", prefix: str = "case", **more: Any) -> list[dict[str, Any]]:
    """Records that fill a table, in this order."""
    verdicts = [CELLS[name] for name, count in (("tp", tp), ("fp", fp), ("fn", fn), ("tn", tn)) for _ in range(count)]
    return [record(f"{prefix}-{number:03}", approved, passed, judge, **more) for number, (approved, passed) in enumerate(verdicts)]


def judged(place: Path, records: Iterable[dict[str, Any]], name: str = "calibration", form: str = "jsonl", **about: Any) -> tuple[Workspace, Round]:
    """A workspace below ``place``, and a round of these judge records in it."""
    workspace = Workspace.open(place / "workspace", create=True)
    source = folder_of(place / name, {"judge_records": list(records)}, about={**ABOUT, "round_id": name, **about}, form=form)
    return workspace, workspace.round(ingest(source, workspace, now=NOW).digest)
