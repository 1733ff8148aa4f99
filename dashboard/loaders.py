"""What the pages ask for, cached by digest: a round, a grid and the code never change under one digest.

Loaders call core functions and nothing else. ``st.cache_data`` copies on every hit, so only documents and single pages of
rows are kept in it; the open DuckDB of a round is shared (it gives each query a cursor of its own).
"""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import streamlit as st

from core.errors import CountersignError
from core.gates.assessment import ASSESSMENT_FILE, Assessment, load_or_assess
from core.grid import Grid, default_grid
from core.literals import code_digest
from core.rounds.folder import Round
from core.rounds.manifest import RoundManifest
from core.rounds.queries import RoundQueries
from core.rounds.workspace import BrokenRound, Workspace
from core.settings import SETTINGS

_LIMITS: Final = SETTINGS["dashboard"]


@dataclass(frozen=True)
class Entry:
    """A round as the list and the picker show it. ``document``: its assessment, or None where it has not been computed yet."""

    manifest: RoundManifest
    document: dict[str, Any] | None

    @property
    def digest(self) -> str:
        return self.manifest.digest


def is_assessed(workspace: Workspace, digest: str, grid: Grid) -> bool:
    """Whether the engine that runs has assessed this round under this grid."""
    return (workspace.assessments_dir / digest / f"{grid.digest}-{code_digest()}" / ASSESSMENT_FILE).is_file()


def is_quick(source: Round) -> bool:
    """Whether a page may assess this round itself; a larger one is left to the command line."""
    return source.pair_count <= _LIMITS["assess_at_once_pairs"]


def assessment(workspace: Workspace, source: Round, grid: Grid) -> Assessment:
    """The assessment of (round, grid, running code), computed now where there is none yet."""
    document, folder = _assessed(str(workspace.root), source.digest, grid.digest, code_digest(), _source=source, _grid=grid)
    return Assessment(document, Path(folder))


@st.cache_data(max_entries=_LIMITS["cached_documents"], show_spinner=False)
def _assessed(root: str, digest: str, grid_digest: str, code: str, _source: Round, _grid: Grid) -> tuple[dict[str, Any], str]:
    computed = load_or_assess(Workspace(Path(root)), _source, _grid)
    return dict(computed.document), str(computed.folder)


def entries(workspace: Workspace, grid: Grid) -> tuple[list[Entry], list[BrokenRound]]:
    """Every round of the workspace, newest first, with the assessment where there is one; and the folders that cannot be opened."""
    manifests, broken = workspace.listing()
    listed = []
    for manifest in manifests:
        try:
            source = Round(workspace.round_path(manifest.digest), manifest, manifest.digest)
            wanted = is_quick(source) or is_assessed(workspace, manifest.digest, grid)
            listed.append(Entry(manifest, dict(assessment(workspace, source, grid).document) if wanted else None))
        except CountersignError as error:
            broken.append(BrokenRound(manifest.digest, error))
    return listed, broken


def deciding_grid() -> Grid:
    """The grid that a round is assessed under: the shipped default, accepted in every workspace from the start."""
    return default_grid()


@st.cache_resource(max_entries=_LIMITS["open_databases"], show_spinner=False)
def _queries(round_folder: str, assessment_folder: str) -> RoundQueries:
    return RoundQueries.of_folders(Path(round_folder), Path(assessment_folder))


def queries(source: Round, computed: Assessment) -> RoundQueries:
    """DuckDB over the round's and the assessment's files. Safe to share: each query has a cursor of its own."""
    return _queries(str(source.path), str(computed.folder))


@st.cache_data(max_entries=_LIMITS["cached_pages"], show_spinner=False)
def _judge_cases(digest: str, judge_id: str, cell: str, page: int, _queries: RoundQueries) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = _queries.judge_cases(judge_id, cell, page=page).to_pylist()
    return rows


def judge_cases(source: Round, computed: Assessment, judge_id: str, cell: str, page: int) -> list[dict[str, Any]]:
    """One page of a judge's cases in one cell of its table."""
    return _judge_cases(source.digest, judge_id, cell, page, queries(source, computed))


@st.cache_data(max_entries=_LIMITS["cached_pages"], show_spinner=False)
def _outcomes(digest: str, ids: tuple[str, ...], _queries: RoundQueries) -> pa.Table:
    return _queries.outcome_items(list(ids))


def outcome_items(source: Round, computed: Assessment, ids: tuple[str, ...]) -> list[dict[str, Any]]:
    """Passes and runs of some holdout items in both arms, in the order given."""
    rows: list[dict[str, Any]] = _outcomes(source.digest, ids, queries(source, computed)).to_pylist()
    return rows


@st.cache_data(max_entries=_LIMITS["open_databases"], show_spinner=False)
def _holdout(digest: str, _source: Round) -> dict[str, dict[str, Any]]:
    return {str(item["id"]): item for item in _source.holdout_items()}


def holdout_items(source: Round) -> dict[str, dict[str, Any]]:
    """Holdout items by id."""
    return _holdout(source.digest, source)
