"""What the pages ask for, cached by digest: a round, a grid and the code never change under one digest.

Loaders call core functions and nothing else. ``st.cache_data`` copies on every hit, so only documents and single pages of
rows are kept in it; the open DuckDB of a round is shared (it gives each query a cursor of its own).
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import streamlit as st

from core.errors import CountersignError
from core.gates.assessment import ASSESSMENT_FILE, Assessment, assessment_folder, load_or_assess
from core.grid import Grid, default_grid
from core.literals import code_digest
from core.persons.registry import Registry
from core.rounds.folder import Round
from core.rounds.manifest import RoundManifest
from core.rounds.note import Note
from core.rounds.notes import round_notes
from core.rounds.queries import RoundQueries
from core.rounds.workspace import BrokenRound, Workspace
from core.settings import SETTINGS
from core.signing.admission import entry_faults
from core.signing.grids import AcceptedGrids, required_approvals
from core.signing.ledger import Ledger, LedgerEntry, LedgerView
from core.signing.status import RoundStatus, earlier_decisions, round_identity, round_status

_LIMITS: Final = SETTINGS["dashboard"]


@dataclass(frozen=True)
class Entry:
    """A round as the list and the picker show it. ``document``: its assessment, or None where it has not been computed yet;
    ``status``: what the ledger says, or None where it cannot be read; ``earlier``: decisions on the same thing before; ``left_out``: lines
    about it that count for nothing."""

    manifest: RoundManifest
    grid: Grid
    document: dict[str, Any] | None
    status: RoundStatus | None
    earlier: tuple[LedgerEntry, ...] = ()
    stale: str | None = None
    left_out: tuple[LedgerEntry, ...] = ()

    @property
    def digest(self) -> str:
        return self.manifest.digest


@dataclass(frozen=True)
class Desk:
    """What a workspace says besides its rounds, read once a run: registry, accepted grids, ledger.

    ``ledger`` is None, and ``fault`` says why, where the ledger cannot be read: pages then show the rounds without a state.
    ``signed`` holds those of its entries that hold under the registry; states come from it, and without a registry it is empty.
    ``faults``: why each of the others does not hold, by index; without a registry nobody can tell, and it is empty.
    """

    registry: Registry | None
    grids: AcceptedGrids
    ledger: LedgerView | None
    signed: LedgerView | None
    fault: CountersignError | None
    faults: Mapping[int, CountersignError] = field(default_factory=dict)

    def left_out(self, round_digest: str | None = None) -> tuple[LedgerEntry, ...]:
        """Lines of the ledger that count for nothing, of one round or of all, in ledger order."""
        entries = () if self.ledger is None else self.ledger.entries
        return tuple(one for one in entries if one.index in self.faults and round_digest in (None, one.statement.round_digest))


def desk(workspace: Workspace) -> Desk:
    """Read registry, grids and ledger as they are now."""
    registry = Registry.load(workspace.registry_file) if workspace.registry_file.is_file() else None
    grids = AcceptedGrids.of(workspace)
    try:
        ledger, faults = _ledger(workspace, registry)
    except CountersignError as fault:
        return Desk(registry, grids, None, None, fault)
    held = () if registry is None else tuple(entry for entry in ledger.entries if entry.index not in faults)
    return Desk(registry, grids, ledger, LedgerView(ledger.origin, held), None, faults)


def _ledger(workspace: Workspace, registry: Registry | None) -> tuple[LedgerView, Mapping[int, CountersignError]]:
    """The ledger, and what is wrong with entries of it."""
    ledger = Ledger(workspace.ledger_file)
    if not ledger.exists():
        return LedgerView(None, ()), {}
    stamp = tuple((path.stat().st_size, path.stat().st_mtime_ns) if path.is_file() else None for path in (ledger.file, ledger.head_file))
    view = _read_ledger(str(workspace.ledger_file), stamp)
    return view, {} if registry is None else _faults(str(workspace.ledger_file), stamp, registry.digest, view, registry)


@st.cache_resource(max_entries=_LIMITS["open_databases"], show_spinner=False)
def _read_ledger(file: str, stamp: object) -> LedgerView:
    return Ledger(Path(file)).read()


@st.cache_resource(max_entries=_LIMITS["open_databases"], show_spinner=False)
def _faults(file: str, stamp: object, registry_digest: str, _view: LedgerView, _registry: Registry) -> Mapping[int, CountersignError]:
    return entry_faults(_view, _registry)


def round_remarks(source: Round) -> list[Note]:
    """What there is to remark about a round's files, warnings and notes."""
    return _remarks(source.digest, code_digest(), source)


@st.cache_data(max_entries=_LIMITS["open_databases"], show_spinner=False)
def _remarks(digest: str, code: str, _source: Round) -> list[Note]:
    return round_notes(_source)


def status_of_round(at: Desk, digest: str) -> RoundStatus | None:
    """What the ledger says about a round, under the approvals that its grid asks for; None where the ledger cannot be read."""
    if at.signed is None:
        return None
    status = round_status(at.signed, digest, registry=at.registry)
    if status.proposal is None:
        return status
    return round_status(at.signed, digest, required_approvals(grid_of(at, status)), at.registry)


def grid_of(at: Desk, status: RoundStatus | None) -> Grid:
    """The grid that a round is assessed under: the one its proposal names, else the shipped default. DigestMismatch when it is not at hand."""
    if status is None or status.proposal is None:
        return default_grid()
    return at.grids.grid(status.proposal.statement.predicate["grid_digest"])


def why_stale(at: Desk, status: RoundStatus | None, manifest: RoundManifest) -> str | None:
    """Why what was signed no longer fits what the engine computes now, or None."""
    if status is None or status.proposal is None:
        return None
    if status.closing is None:
        if at.registry is None:
            return None
        try:
            at.grids.check(status.proposal.statement.predicate["grid_digest"], manifest.proposers, at.registry)
        except CountersignError:
            return "The grid of this proposal is no longer accepted in this workspace."
        return None
    if status.closing.statement.predicate["code_digest"] != code_digest():
        return "It was decided by another version of the engine than the one that computed this page."
    return None


def is_assessed(workspace: Workspace, digest: str, grid: Grid) -> bool:
    """Whether the engine that runs has assessed this round under this grid."""
    return (assessment_folder(workspace, digest, grid) / ASSESSMENT_FILE).is_file()


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


def entry(workspace: Workspace, at: Desk, manifest: RoundManifest) -> Entry:
    """One round for the list. Large rounds that nobody assessed yet are left to the command line."""
    source = Round(workspace.round_path(manifest.digest), manifest, manifest.digest)
    status = status_of_round(at, manifest.digest)
    grid = grid_of(at, status)
    known = is_quick(source) or is_assessed(workspace, manifest.digest, grid)
    earlier = earlier_decisions(at.signed, round_identity(source)) if at.signed is not None else ()
    document = dict(assessment(workspace, source, grid).document) if known else None
    return Entry(manifest, grid, document, status, earlier, why_stale(at, status, manifest), at.left_out(manifest.digest))


def entries(workspace: Workspace, at: Desk) -> tuple[list[Entry], list[BrokenRound]]:
    """Every round of the workspace, newest first; and those that cannot be opened or assessed, each with its error."""
    manifests, broken = workspace.listing()
    listed = []
    for manifest in manifests:
        try:
            listed.append(entry(workspace, at, manifest))
        except CountersignError as error:
            broken.append(BrokenRound(manifest.digest, error))
    return listed, broken


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
