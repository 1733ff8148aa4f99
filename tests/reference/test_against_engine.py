"""Random rounds: the engine and the reference must say the same about every row, every figure and the verdict."""
from __future__ import annotations

import random
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from core.canonical import canonical_bytes
from core.errors import RoundError
from core.gates.assessment import Assessment, assess
from core.gates.receipt import decide
from core.grid import grid_from_document
from core.literals import LiteralGateResult
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace
from core.schemas import DUPLICATE_COLUMNS
from reference import rules as reference
from reference.rounds import grids, rounds, shuffled, values_of, write_round

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
CLEAN = LiteralGateResult("0" * 64, 1, ())
NAMED_FAULTS = {"conflicting_case", "unknown_item", "duplicate_outcome", "missing_outcome"}
"""Codes that the specification names; other refusals of an ingest may be called what they like."""
REVIEWERS = ("worker-verifier-02", "Worker-Curator-01 ", "worker-curator-01+second")


def run_engine(source: dict, document: dict, folder: Path) -> tuple[Assessment, list[dict]]:
    """Files -> ingest -> assessment; and the scored rows. Raises RoundError."""
    grid = grid_from_document(document)
    workspace = Workspace.open(folder / "workspace", create=True)
    report = ingest(write_round(source, folder), workspace, created_at="2026-01-05T12:00:00Z", now=NOW)
    destination = folder / "assessment"
    destination.mkdir()
    assessment = assess(Round.open(report.path), grid, destination, literal_gate=CLEAN, code="0" * 64)
    path = assessment.scored_path
    return assessment, pq.read_table(path).to_pylist() if path.is_file() else []


def expected_rows(found: dict, grid: dict) -> list[tuple]:
    """What the reference says of each row that reached curation."""
    if found["curation"] is None:
        return []
    rows = []
    for item in found["curation"]["rows"]:
        quanta = item.get("quanta")
        rows.append((
            item["row"]["pair_id"], item["state"], item["reasons"][0] if item["state"] == "rejected" else None, tuple(item["reasons"]),
            tuple(item["codes"]), item["failing"][0] if item["state"] == "held" else None, quanta,
            None if quanta is None else (float(item["margin"]), float(item["drift"]), float(item["ratio"])),
            tuple(sorted(item["duplicates"].items())),
        ))
    return sorted(rows, key=repr)


def engine_rows(rows: list[dict]) -> list[tuple]:
    result = []
    for row in rows:
        quanta = row["loss_quanta"] if row["loss_quanta"] is not None else row["loss_quanta_text"]
        figures = (row["margin"], row["drift"], row["length_ratio"])
        result.append((
            row["pair_id"], row["state"], row["primary_reason"], tuple(row["reasons"] or ()), tuple(row["sub_codes"] or ()), row["held_check"],
            None if quanta is None else int(quanta), None if quanta is None else figures,
            tuple(sorted((key, row[column]) for key, column in DUPLICATE_COLUMNS.items() if row[column] is not None)),
        ))
    return sorted(result, key=repr)


def same_rows(got: list[tuple], expected: list[tuple]) -> None:
    exact = [[row[:7] + row[8:] for row in rows] for rows in (got, expected)]
    assert sorted(exact[0], key=repr) == sorted(exact[1], key=repr)
    # shown doubles need not be the nearest ones, only within a few units of them
    figures = [sorted((row[0], row[6], *(row[7] or ())) for row in rows if row[7] is not None) for rows in (got, expected)]
    for left, right in zip(*figures, strict=True):
        assert left[2:] == pytest.approx(right[2:], rel=1e-12, abs=1e-12), left[0]


def same_judges(assessment: Assessment, found: dict) -> None:
    assert set(assessment.judges) == set(found["judges"])
    for name, judge in found["judges"].items():
        got = assessment.judges[name]
        for cell in ("tp", "fp", "fn", "tn", "missing"):
            assert got[cell] == judge[cell], (name, cell)
        assert (got["gate"]["open"], got["gate"]["failing"]) == (judge["open"], judge["failing"])
        for figure in ("kappa", "agreement", "fpr"):
            value = judge[figure]
            assert got[figure]["value"] == (None if value is None else float(value)), (name, figure)


def same_decision(assessment: Assessment, source: dict, found: dict, reviewer: str) -> None:
    expected, decision = reference.decide(source, found, reviewer), decide(assessment, reviewer)
    if "codes" in expected:
        assert decision.receipt is None and decision.refusal is not None
        codes = [reason["code"] for reason in decision.refusal["reasons"]]
        assert codes == sorted(set(codes))
        assert set(codes) - expected["one_of"] == expected["codes"]
        assert bool(expected["one_of"]) == bool(set(codes) & expected["one_of"])
        assert not decision.promote
    else:
        assert decision.receipt == expected
        assert decision.promote is expected["promote_round"]


def compare(source: dict, document: dict) -> dict[str, Any] | None:
    """Run both and compare. Returns what must not depend on the order of rows, or None where nothing was decided."""
    grid = values_of(document)
    try:
        found = reference.assess(source, grid)
    except reference.BadInputError as fault:
        with tempfile.TemporaryDirectory() as folder, pytest.raises(RoundError) as caught:
            run_engine(source, document, Path(folder))
        assert caught.value.exit_code == 4
        assert caught.value.code in fault.codes or not fault.codes & NAMED_FAULTS, (caught.value, fault)
        return None
    with tempfile.TemporaryDirectory() as folder:
        assessment, scored = run_engine(source, document, Path(folder))
        table = dict(assessment.reason_table)
        if found["curation"] is not None:
            counts = {name: found["curation"][name] for name in ("in", "admitted", "rejected", "held", "quarantined")}
            assert {name: table[name] for name in counts} == counts
            assert table["in"] == table["admitted"] + table["rejected"] + table["held"] + table["quarantined"]
        same_rows(engine_rows(scored), expected_rows(found, grid))
        same_judges(assessment, found)
        for reviewer in REVIEWERS:
            same_decision(assessment, source, found, reviewer)
        ranked = sorted((row for row in scored if row["state"] == "admitted"), key=lambda row: row["rank"])
        assert [row["pair_id"] for row in ranked] == assessment.admitted_pair_ids()
        receipt = decide(assessment, REVIEWERS[0]).receipt_bytes
        return {"receipt": receipt, "admitted": assessment.admitted_pairs_bytes(), "table": canonical_bytes(table)}


@settings(max_examples=120)
@given(rounds(), grids(), st.integers(0, 2**32))
def test_engine_and_reference_agree(source: dict, document: dict, seed: int) -> None:
    note(f"round: {source}")
    first = compare(source, document)
    # the order of rows decides nothing: the same bytes come out
    assert compare(shuffled(source, random.Random(seed)), document) == first
