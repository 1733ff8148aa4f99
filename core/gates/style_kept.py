"""The style report of a round's pairs, kept beside the round: computed once for (round, grid, running code, which pairs).

The stored document is what ``countersign style --json`` prints of the report, with its sentences and the words of each marker, so
that a page shows what the command line says.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from core.gates.assessment import Assessment
from core.gates.kept_report import ReportPlace
from core.gates.style_report import Progress, StyleReport, pair_style
from core.gates.style_words import correlation_text, p_text, says, sentences
from core.grid import Grid
from core.pairs.columns import Flags, flags
from core.rounds.folder import Round
from core.rounds.workspace import Workspace

STYLE_FILE: Final = "style.json"


def admitted_only(source: Round, assessment: Assessment) -> Flags:
    """Which pairs, by ordinal, the engine admits."""
    mask: Flags = np.zeros(source.pair_count, dtype=np.bool_)
    scored = pq.read_table(assessment.scored_path, columns=["ordinal", "state"])
    mask[scored["ordinal"].to_numpy()] = flags(pc.equal(scored["state"].combine_chunks(), "admitted"))
    return mask


def stored_style(workspace: Workspace, source: Round, grid: Grid, *, admitted: bool) -> Mapping[str, Any] | None:
    """The stored report, or None; computes nothing."""
    return _place(workspace, source, grid, admitted).stored()


def style_of(
    workspace: Workspace, source: Round, assessment: Assessment, grid: Grid, *, admitted: bool, progress: Progress | None = None,
) -> Mapping[str, Any]:
    """The stored report, computed now where there is none yet. ``admitted``: of the admitted pairs alone."""
    kept = stored_style(workspace, source, grid, admitted=admitted)
    if kept is not None:
        return kept
    only = admitted_only(source, assessment) if admitted else None
    return keep_style(workspace, source, grid, pair_style(source, grid, only=only, progress=progress), admitted=admitted)


def keep_style(workspace: Workspace, source: Round, grid: Grid, report: StyleReport, *, admitted: bool) -> Mapping[str, Any]:
    """Store a report of a round's pairs, and return what was stored."""
    return _place(workspace, source, grid, admitted).kept(lambda scratch: style_document(report) | {"grid_digest": grid.digest})


def style_document(report: StyleReport) -> dict[str, Any]:
    """The report as JSON, with its words."""
    document = report.as_dict()
    for finding, marker in zip(report.findings, document["markers"], strict=True):
        marker["said"] = {"correlation": correlation_text(finding), "p": p_text(finding), "says": says(finding, report.subject)}
    return document | {"sentences": sentences(report)}


def _place(workspace: Workspace, source: Round, grid: Grid, admitted: bool) -> ReportPlace:
    return ReportPlace.of(workspace, source, grid, "style", STYLE_FILE, admitted_only=admitted)
