"""The build command of the demo rounds: what is committed is what the sources give, and a change in either is noticed."""
from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

DATA = Path(__file__).resolve().parents[2] / "data"
ROUNDS = DATA / "rounds"
FOLDERS = ("judges", "smollm2-rpo", "smollm2-dpo-only", "ifeval-qwen", "ifeval-4o")
WITH_HOLDOUT = {"smollm2-rpo": 120, "smollm2-dpo-only": 120, "ifeval-qwen": 501, "ifeval-4o": 504}


def _build(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, data / "build_demo.py", *arguments], capture_output=True, text=True, check=False)


def test_committed_rounds_are_what_the_sources_give() -> None:
    done = _build(DATA, "--check")
    assert (done.returncode, done.stderr) == (0, "")
    assert "6 rounds" in done.stdout


def test_check_notices_a_change_in_rounds_and_in_sources(tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(DATA, data, ignore=shutil.ignore_patterns("workspace", "__pycache__"))
    sanity = data / "rounds" / "ifeval-4o" / "sanity.parquet"
    table = pq.read_table(sanity)
    flipped = pa.array([not table["passed"][0].as_py(), *table["passed"].to_pylist()[1:]])
    pq.write_table(table.set_column(table.column_names.index("passed"), "passed", flipped), sanity)
    (data / "rounds" / "judges" / "extra.json").write_text("{}")
    done = _build(data, "--check")
    assert done.returncode == 1
    assert done.stdout.splitlines() == ["judges/extra.json: not built", "ifeval-4o/sanity.parquet: other content"]

    source = data / "sources" / "smollm2" / "sanity.jsonl.gz"
    source.write_bytes(gzip.compress(gzip.decompress(source.read_bytes()).replace(b'"passed": false', b'"passed": true', 1), mtime=0))
    done = _build(data, "--check")
    assert done.returncode != 0
    assert "SourceChanged: smollm2/sanity.jsonl.gz" in done.stderr


def test_six_rounds_oldest_first() -> None:
    created = {path.name: json.loads((path / "round.json").read_text("utf-8"))["created_at"] for path in ROUNDS.iterdir()}
    assert sorted(created, key=lambda name: created[name]) == ["worked-example", *FOLDERS]
    assert all(moment.startswith("2026-11-") for moment in created.values())


def test_worked_example_bundle_is_that_of_the_specification() -> None:
    bundle = DATA / "bundles" / "worked-example.json"
    assert bundle.read_bytes() == (DATA.parent / "tests" / "fixtures" / "worked_example" / "bundle.json").read_bytes()


@pytest.mark.parametrize("name", FOLDERS)
def test_tables_have_exact_types(name: str) -> None:
    for path in (ROUNDS / name).glob("*.parquet"):
        for field in pq.read_schema(path):
            assert field.type in (pa.string(), pa.bool_(), pa.int64(), pa.float64()), (path.name, field)
            if field.name in ("id", "pair_id", "case_id", "judge_id", "task_id", "arm"):
                assert field.type == pa.string(), (path.name, field)
            if "logp" in field.name or field.name.endswith("score"):
                assert field.type == pa.float64(), (path.name, field)


@pytest.mark.parametrize(("name", "items"), WITH_HOLDOUT.items())
def test_holdout_lock(name: str, items: int) -> None:
    holdout = json.loads((ROUNDS / name / "holdout.json").read_text("utf-8"))
    document = json.loads((ROUNDS / name / "round.json").read_text("utf-8"))
    # RFC 8785 of a list of objects with ASCII keys and text values is compact JSON with sorted keys, unescaped
    canonical = json.dumps(holdout, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert document["holdout_lock"]["sha256"] == hashlib.sha256(canonical).hexdigest()
    assert document["holdout_lock"]["registered_at"] < document["created_at"]
    assert [sorted(item) for item in holdout] == [["id", "prompt"]] * items
    assert all(isinstance(item["id"], str) for item in holdout)


@pytest.mark.parametrize("name", FOLDERS)
def test_round_document(name: str) -> None:
    document = json.loads((ROUNDS / name / "round.json").read_text("utf-8"))
    assert document["proposers"] == ["worker-curator-01"]
    assert document["label"] == ("composite, for demonstration" if name.startswith("ifeval-") else None)
    assert ("composite, for demonstration" in document["note"].lower()) is name.startswith("ifeval-")
    assert "data/SOURCES.md" in document["note"]
    for described in document["judges"].values():
        assert described["rubric_sha256"] == hashlib.sha256(described["rubric"].encode()).hexdigest()
    records = pq.read_table(ROUNDS / name / "judge_records.parquet")
    assert set(records["judge_id"].to_pylist()) == set(document["judges"])
    # cases open with their texts
    assert records["prompt"].null_count == records["response"].null_count == 0


def test_synthetic_pairs_leave_the_verdict_out_and_their_tasks_calibrate_nobody() -> None:
    for name in ("smollm2-rpo", "smollm2-dpo-only"):
        pairs = pq.read_table(ROUNDS / name / "pairs.parquet").to_pylist()
        synthetic = [pair for pair in pairs if pair["origin"] == "synthetic"]
        assert {(pair["chosen_verified_pass"], pair["rejected_tombstone_fail"]) for pair in synthetic} == {(None, None)}
        assert {pair["pair_id"] for pair in synthetic} == {f"{pair['judge_id']}-{pair['task_id']}" for pair in synthetic}
        assert {(pair["chosen_verified_pass"], pair["rejected_tombstone_fail"]) for pair in pairs if pair["origin"] == "verified"} == {(True, True)}
        cases = pq.read_table(ROUNDS / name / "judge_records.parquet")["case_id"].to_pylist()
        assert len(cases) == 720
        assert not {pair["task_id"] for pair in synthetic} & {case.rpartition("-")[0] for case in cases}


def test_the_ifeval_rounds_borrow_pairs_and_judges_unchanged() -> None:
    for part in ("pairs", "judge_records"):
        borrowed = pq.read_table(ROUNDS / "smollm2-rpo" / f"{part}.parquet")
        for name in ("ifeval-qwen", "ifeval-4o"):
            assert pq.read_table(ROUNDS / name / f"{part}.parquet").equals(borrowed)
