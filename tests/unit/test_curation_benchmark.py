"""The benchmark's generated round: the same bytes each time, and a whole way through ingest and assessment."""
from __future__ import annotations

import hashlib
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.gates.assessment import assess
from core.grid import default_grid
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace

ROOT = Path(__file__).parents[2]


def digests(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


def made(folder: Path, pairs: int) -> Path:
    subprocess.run([sys.executable, str(ROOT / "benchmarks/make_round.py"), str(folder), "--pairs", str(pairs)], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("made") / "input", 1500)


def test_the_same_arguments_make_the_same_bytes(source: Path, tmp_path: Path) -> None:
    assert digests(made(tmp_path / "again", 1500)) == digests(source)


def test_a_generated_round_shows_every_state_and_reconciles(source: Path, tmp_path: Path) -> None:
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    report = ingest(source, workspace, now=datetime(2026, 7, 31, tzinfo=UTC))
    destination = tmp_path / "assessment"
    destination.mkdir()
    document = assess(Round.open(report.path), default_grid(), destination).document
    counts = document["curation"]["counts"]
    assert counts["in"] == 1500 == sum(counts[name] for name in ("admitted", "rejected", "held", "quarantined"))
    assert min(document["curation"]["primary_reasons"].values()) > 0
    assert counts["held"] > 0
    # both judges do what the generator says of them: one gate open, one closed
    assert {name: judge["gate"]["open"] for name, judge in document["judges"].items()} == {"judge-trusted": True, "judge-doubtful": False}
    # lost are the multiples of 48 below 500 that are no multiples of 5: 11 - 3 of 500
    assert document["holdout"]["lock"]["holds"] is True
    assert document["missing_parts"] == []
    assert document["receipt"]["regression_rate"] == 0.016


def test_the_bare_pass_hashes_every_text(source: Path, tmp_path: Path) -> None:
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    report = ingest(source, workspace, now=datetime(2026, 7, 31, tzinfo=UTC))
    run = subprocess.run([sys.executable, str(ROOT / "benchmarks/bare_pass.py"), str(report.path)], check=True, capture_output=True, text=True)
    assert run.stdout.startswith("4,500 texts, ")
