"""Published preference files go in whole; what is counted in them equals what their sources say (tests/fixtures/formats/SOURCES.md)."""
from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from support_formats import DECLARED, PUBLISHED, note, texts
from support_rounds import NOW, STATED, workspace_at

from core.gates.curation import IterativeRpoPairCurator
from core.grid import default_grid
from core.rounds.folder import Round
from core.rounds.ingest import IngestReport, ingest
from core.rounds.inspection import same_texts
from core.rounds.readers.single import ForeignFile


def published(place: Path, name: str) -> tuple[Round, IngestReport]:
    workspace = workspace_at(place)
    foreign = ForeignFile("auto", ("worker-curator-01",), DECLARED | {"flags": "dataset_label"})
    report = ingest(PUBLISHED / name, workspace, now=NOW, created_at=STATED, foreign=foreign)
    return workspace.round(report.digest), report


def identical(source: Round, place: Path) -> int:
    """How many pairs the engine calls identical."""
    place.mkdir()
    IterativeRpoPairCurator(default_grid()).curate(source, quarantined=0, gates={}, destination=place)
    return sum("identical" in row["sub_codes"] for row in pq.read_table(place / "scored.parquet", columns=["sub_codes"]).to_pylist())


def repeated(prompts: list[Any]) -> int:
    return sum(count - 1 for count in Counter(json.dumps(prompt) for prompt in prompts).values())


def test_rasbt(tmp_path: Path) -> None:
    source, report = published(tmp_path, "rasbt_instruction-data-with-preference.json.gz")
    pairs = texts(source)
    assert (report.counts, report.quarantined) == ({"pairs": 1100}, 0)
    assert repeated([pair["prompt"] for pair in pairs]) == 25
    assert identical(source, tmp_path / "scored") == 6
    # the same by the command: decide counts these pairs under their missing log-probs
    same = same_texts(source)
    assert (same.identical, same.repeated, len(same.identical_ids), len(same.repeated_ids)) == (6, 25, 6, 25)
    assert sum(len(pair["chosen"]) > len(pair["rejected"]) for pair in pairs) == 564
    assert pairs[0]["prompt"] == "Evaluate the following phrase by transforming it into the spelling given.\nfreind --> friend"
    assert "was read as llamafactory-alpaca" in note(report, "foreign_format")


def test_llamafactory(tmp_path: Path) -> None:
    source, report = published(tmp_path, "llamafactory_dpo_en_demo.json.gz")
    pairs = texts(source)
    assert (report.counts, report.quarantined) == ({"pairs": 300}, 0)
    assert Counter(len(pair["prompt"]) for pair in pairs) == {1: 114, 2: 80, 3: 1, 5: 57, 7: 46, 9: 1, 13: 1}
    assert sum(pair["prompt"][0]["role"] == "system" for pair in pairs) == 80
    assert repeated([pair["prompt"] for pair in pairs]) == same_texts(source).repeated == 5
    assert identical(source, tmp_path / "scored") == same_texts(source).identical == 0
    assert sum(len(pair["chosen"][0]["content"]) > len(pair["rejected"][0]["content"]) for pair in pairs) == 131
    assert "was read as llamafactory-sharegpt" in note(report, "foreign_format")
