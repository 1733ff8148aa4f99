"""Rounds whose judges and outcomes are only counts, for tests of what evidence can prove."""
from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support_rounds import NOW, ROUND, folder_of

from core.gates.assessment import Assessment, load_or_assess
from core.grid import Grid, default_grid, grid_from_document, shipped_grids
from core.grid.grid import DEFAULT_GRID_PATH
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace

FIRST_GRID = next(grid for grid in shipped_grids().values() if grid.schema_version == 1)
ABOUT = ROUND | {"holdout_lock": {"sha256": "0" * 64}}
CELLS = {"tp": (True, True), "fp": (True, False), "fn": (False, True), "tn": (False, False)}
FLIPS = {"both_pass": (True, True), "regressions": (True, False), "fixes": (False, True), "both_fail": (False, False)}


def grid_with(**values: Any) -> Grid:
    """The default grid with other values, as a new version."""
    document = json.loads(DEFAULT_GRID_PATH.read_text("utf-8"))
    document |= {"name": "test", "version": 2}
    for key, value in values.items():
        document["keys"][key]["value"] = value
    return grid_from_document(document)


def judge_rows(judge_id: str, **cells: int) -> list[dict[str, Any]]:
    """One record a case: (approved, passed) of each cell, as often as counted."""
    outcomes = [CELLS[cell] for cell, count in cells.items() for _ in range(count)]
    return [
        {"judge_id": judge_id, "case_id": f"c{place}", "rubric_approved": approved, "verifier_passed": passed}
        for place, (approved, passed) in enumerate(outcomes)
    ]


def flip_rows(**counts: int) -> list[dict[str, Any]]:
    """One outcome an item and arm, of each kind as often as counted."""
    items = [FLIPS[kind] for kind, count in counts.items() for _ in range(count)]
    return [
        {"id": f"i{place}", "arm": arm, "passed": passed}
        for place, both in enumerate(items) for arm, passed in zip(("baseline", "candidate"), both, strict=True)
    ]


def run_rows(outcomes: Sequence[tuple[Sequence[bool], Sequence[bool]]], clusters: Sequence[str | None] | None = None) -> list[dict[str, Any]]:
    """Outcomes of several runs: for each item those of the baseline, then those of the candidate."""
    rows = []
    for place, arms in enumerate(outcomes):
        label = {} if clusters is None or clusters[place] is None else {"cluster": clusters[place]}
        for arm, runs in zip(("baseline", "candidate"), arms, strict=True):
            rows += [{"id": f"i{place}", "arm": arm, "run": run, "passed": passed} | label for run, passed in enumerate(runs)]
    return rows


class Bench:
    """A workspace to assess rounds in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = Workspace.open(folder / "workspace", create=True)
        self._made = 0

    def round(self, parts: Mapping[str, list[Any]], *, about: dict[str, Any] | None = None, shuffled: int | None = None) -> Round:
        """Ingest tables; ``outcomes`` alone get a holdout of their items. ``shuffled``: rows in the order of that seed."""
        tables = dict(parts)
        if "outcomes" in tables and "holdout" not in tables:
            ids = list(dict.fromkeys(row["id"] for row in tables["outcomes"]))
            tables["holdout"] = [{"id": name, "prompt": f"Question {name}?"} for name in ids]
        if shuffled is not None:
            picker = random.Random(shuffled)
            tables = {part: rows if part == "holdout" else picker.sample(rows, len(rows)) for part, rows in tables.items()}
        self._made += 1
        source = folder_of(self.folder / f"tables-{self._made}", tables, about=about or ABOUT)
        return self.workspace.round(ingest(source, self.workspace, now=NOW).digest)

    def assess(self, parts: Mapping[str, list[Any]], grid: Grid | None = None, **more: Any) -> Assessment:
        return load_or_assess(self.workspace, self.round(parts, **more), grid or default_grid())

    def strength(self, parts: Mapping[str, list[Any]], grid: Grid | None = None, **more: Any) -> dict[str, Any]:
        return dict(self.assess(parts, grid, **more).strength)


def check(strength: Mapping[str, Any], name: str, judge: str | None = None) -> dict[str, Any]:
    """One check of the object."""
    holder = strength if judge is None else next(one for one in strength["judges"] if one["judge_id"] == judge)
    found: dict[str, Any] = next(one for one in holder["checks"] if one["name"] == name)
    return found
