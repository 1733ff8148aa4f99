"""One content, four forms: the worked example as a bundle, JSONL, JSON and Parquet gives the same typed round."""
from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from support_rounds import (
    ORACLES,
    STATED,
    WORKED_EXAMPLE,
    WRITERS,
    bundle,
    bundle_file,
    folder_of,
    ingested,
    pair,
    pairs_round,
    round_of,
    tables_of,
)

from core.canonical import sha256_hex
from core.rounds.folder import Round
from core.rounds.source import holdout_bytes

PLACE = ["file", "line"]
"""Columns that say where a row came from, so they differ between forms."""


def typed_content(source: Round) -> dict[str, object]:
    narrow = source.narrow()
    return {
        "pairs": narrow.drop_columns(PLACE).to_pylist(),
        "text": [row for _, text in source.pair_batches() for row in text.to_pylist()],
        "judge_records": source.table("judge_records").to_pylist(),
        "outcomes": sorted(source.table("outcomes").to_pylist(), key=lambda row: (row["arm"], row["id"])),
        "sanity": source.table("sanity").to_pylist(),
        "holdout": source.holdout_bytes(),
    }


@pytest.mark.parametrize("form", WRITERS)
def test_tables_say_what_the_bundle_says(tmp_path: Path, form: str) -> None:
    from_bundle, _ = ingested(tmp_path / "a", WORKED_EXAMPLE)
    folder = folder_of(tmp_path / "b" / "input", tables_of(bundle()), about=round_of(bundle()), form=form)
    from_tables, report = ingested(tmp_path / "b", folder)
    assert typed_content(from_tables) == typed_content(from_bundle)
    assert report.counts == {"judge_records": 14, "pairs": 5, "holdout": 5, "outcomes": 10, "sanity": 4}
    assert report.quarantined == 0
    assert (from_tables.manifest.form, from_bundle.manifest.form) == ("tables", "bundle")


def test_bundle_becomes_the_columns_of_the_tables(tmp_path: Path) -> None:
    source, _ = ingested(tmp_path, WORKED_EXAMPLE)
    rows = source.narrow().to_pylist()
    assert [row["origin"] for row in rows] == ["verified"] * 4 + ["synthetic"]
    assert [row["judge_id"] for row in rows] == [None] * 4 + ["calibrated"]
    assert [row["ordinal"] for row in rows] == [0, 1, 2, 3, 4]
    assert (rows[1]["file"], rows[1]["line"]) == ("bundle.json", 2)
    assert (rows[0]["policy_logp_chosen"], rows[0]["ref_logp_rejected"], rows[0]["chosen_token_count"]) == (-4.2, -6.0, 10)
    manifest = source.manifest
    assert manifest.proposers == ("worker-curator-01",)
    assert manifest.reviewer == "worker-verifier-02"
    assert (manifest.baseline.document(), manifest.candidate.document()) == (
        {"name": "baseline", "digest": None}, {"name": "candidate", "digest": None},
    )
    assert manifest.holdout_lock is not None
    assert (manifest.holdout_lock.registered_at, manifest.holdout_lock.registered_by) == (None, None)
    assert manifest.receipt_judges is not None
    assert manifest.receipt_judges.document() == {"calibrated": "calibrated", "uncalibrated": "uncalibrated"}
    assert manifest.verification == "program"


def test_the_order_of_keys_changes_nothing_that_is_stored(tmp_path: Path) -> None:
    turned = {name: bundle()[name] for name in reversed(bundle())}
    for name in ("baseline_outcomes", "candidate_outcomes", "sanity_outcomes"):
        turned[name] = {item: turned[name][item] for item in reversed(turned[name])}
    one, _ = ingested(tmp_path / "a", bundle_file(tmp_path / "a", bundle()), created_at=STATED)
    other, _ = ingested(tmp_path / "b", bundle_file(tmp_path / "b", turned), created_at=STATED)
    assert one.digest == other.digest


def test_the_same_files_and_time_give_the_same_round(tmp_path: Path) -> None:
    one, _ = ingested(tmp_path / "a", WORKED_EXAMPLE, created_at=STATED)
    other, _ = ingested(tmp_path / "b", WORKED_EXAMPLE, created_at=STATED)
    assert one.digest == other.digest
    assert other.manifest.created_at == STATED


def test_round_id_and_time_have_their_defaults(tmp_path: Path) -> None:
    named, _ = ingested(tmp_path / "a", WORKED_EXAMPLE, round_id="r1")
    stem, _ = ingested(tmp_path / "b", WORKED_EXAMPLE)
    assert (named.manifest.round_id, stem.manifest.round_id) == ("r1", "bundle")
    assert stem.manifest.created_at == "2026-01-05T12:00:00Z"  # the clock that the test hands in


@pytest.mark.parametrize("form", WRITERS)
def test_numbers_arrive_as_written(tmp_path: Path, form: str) -> None:
    """An integer log-prob is a number (2^53-1 the largest one); a double keeps all its digits."""
    rows = [
        pair(pair_id="a", policy_logp_chosen=-4, ref_logp_chosen=-(2**53 - 1)),
        pair(pair_id="b", policy_logp_chosen=-0.1, ref_logp_chosen=-1e-300),
    ]
    if form == "parquet":  # one Arrow column has one type
        rows = [row | {"policy_logp_chosen": float(row["policy_logp_chosen"]), "ref_logp_chosen": float(row["ref_logp_chosen"])} for row in rows]
    source, report = pairs_round(tmp_path, rows, form)
    assert report.quarantined == 0
    assert source.narrow(["policy_logp_chosen"])["policy_logp_chosen"].to_pylist() == [-4.0, -0.1]
    assert source.narrow(["ref_logp_chosen"])["ref_logp_chosen"].to_pylist() == [-9007199254740991.0, -1e-300]


@pytest.mark.parametrize("form", WRITERS)
def test_case_21_ids_and_texts_stay_text(tmp_path: Path, form: str) -> None:
    ids = ["007", "7", "550E8400-E29B-41D4-A716-446655440000", "2024-01-05", "true", "1e3"]
    source, report = pairs_round(tmp_path, [pair(pair_id=name, prompt="2024-01-05", task_id=name) for name in ids], form)
    assert report.quarantined == 0
    assert source.narrow(["pair_id"])["pair_id"].to_pylist() == ids
    assert source.narrow(["task_id"])["task_id"].to_pylist() == ids
    assert {row for _, text in source.pair_batches() for row in text["prompt"].to_pylist()} == {"2024-01-05"}


def test_holdout_digests_of_the_oracle() -> None:
    """Every suite of the oracle gives the digest that two independent serialisers gave; the escaped one is another convention."""
    oracle = json.loads((ORACLES / "holdout_digest.json").read_text("utf-8"))
    worked = oracle["worked_example"]
    assert sha256_hex(holdout_bytes(worked["suite"])) == worked["preregistered_sha256"]
    seen = 0
    for case in oracle["cases"]:
        data = holdout_bytes(case["inputs"]["suite"])
        agrees = sha256_hex(data) == case["expected"]["sha256"]
        assert agrees == (case["id"] != "non_ascii_escaped"), case["id"]
        assert (data.decode("utf-8") == case["expected"]["canonical_json"]) == agrees, case["id"]
        seen += 1
    assert seen == 9


@pytest.mark.parametrize("form", WRITERS)
def test_case_23_the_stored_holdout_is_the_list_that_was_hashed(tmp_path: Path, form: str) -> None:
    suite = [{"prompt": "Add 2 and 3.", "id": "h1"}, {"id": "h2", "prompt": "Name the capital of Chile."}]
    about = round_of(bundle()) | {"holdout_lock": {"sha256": "551296812c0808647a72455e5d6a7c3ae537fed032254e569cb2a9ef20699bda"}}
    source, _ = ingested(tmp_path, folder_of(tmp_path / "input", {"holdout": suite}, about=about, form=form))
    # keys swapped in the first item: RFC 8785 sorts them, so it is the digest of the oracle's two_items
    assert source.holdout_digest == "551296812c0808647a72455e5d6a7c3ae537fed032254e569cb2a9ef20699bda"
    assert sha256_hex(source.holdout_bytes()) == source.holdout_digest
    assert [item["id"] for item in source.holdout_items()] == ["h1", "h2"]


def test_extra_keys_of_a_holdout_item_are_hashed(tmp_path: Path) -> None:
    suite = [{"id": "h1", "prompt": "Add.", "answers": [5, "five"], "meta": {"level": 2, "open": None}}]
    source, _ = ingested(tmp_path, bundle_file(tmp_path, bundle() | {"holdout_suite": suite}))
    assert source.holdout_bytes() == b'[{"answers":[5,"five"],"id":"h1","meta":{"level":2,"open":null},"prompt":"Add."}]'


@pytest.mark.parametrize("lock", ["", "  ", "eff4e98f", "EFF4E98F" * 8, "sha256:" + "0" * 64, "x" * 300])
def test_a_lock_is_kept_as_written(tmp_path: Path, lock: str) -> None:
    """Empty and malformed locks fail their check later; they are no bad input."""
    source, _ = ingested(tmp_path, bundle_file(tmp_path, bundle() | {"preregistered_holdout_sha256": lock}))
    assert source.manifest.holdout_lock is not None
    assert source.manifest.holdout_lock.sha256 == lock


def test_outcomes_that_decide_nothing_are_kept_for_the_gate(tmp_path: Path) -> None:
    """Bad ids must not hide a swapped holdout, so ingest keeps unknown, repeated, null and absent outcomes and warns."""
    rows = [
        {"id": "h-01", "arm": "baseline", "passed": None}, {"id": "h-99", "arm": "baseline", "passed": True},
        {"id": "h-02", "arm": "candidate", "passed": True}, {"id": "h-02", "arm": "candidate", "run": 0, "passed": False},
        {"id": "h-02", "arm": "candidate", "run": 1, "passed": False, "slice": "hard", "note": "kept"},
    ]
    parts = tables_of(bundle()) | {"outcomes": rows}
    source, report = ingested(tmp_path, folder_of(tmp_path / "input", parts, about=round_of(bundle())))
    stored = source.table("outcomes").select(["id", "arm", "run", "passed", "slice", "extra"]).to_pylist()
    assert [tuple(row.values()) for row in stored] == [
        ("h-01", "baseline", 0, None, None, None), ("h-99", "baseline", 0, True, None, None),
        ("h-02", "candidate", 0, True, None, None), ("h-02", "candidate", 0, False, None, None),
        ("h-02", "candidate", 1, False, "hard", '{"note":"kept"}'),
    ]
    codes = [note.code for note in report.notes if note.severity == "warning"]
    assert codes == ["unknown_item", "duplicate_outcome", "missing_outcome", "missing_outcome", "missing_outcome"]


def test_null_outcome_in_a_bundle_is_kept(tmp_path: Path) -> None:
    document = bundle()
    document["candidate_outcomes"]["h-05"] = None
    del document["baseline_outcomes"]["h-04"]
    source, _ = ingested(tmp_path, bundle_file(tmp_path, document))
    stored = {(row["arm"], row["id"]): row["passed"] for row in source.table("outcomes").to_pylist()}
    assert stored["candidate", "h-05"] is None
    assert ("baseline", "h-04") not in stored


def test_shuffled_rows_give_the_same_set(tmp_path: Path) -> None:
    parts = tables_of(bundle())
    random.Random(7).shuffle(parts["pairs"])
    source, _ = ingested(tmp_path / "a", folder_of(tmp_path / "a" / "input", parts, about=round_of(bundle())))
    other, _ = ingested(tmp_path / "b", WORKED_EXAMPLE)

    def rows(opened: Round) -> list[dict[str, object]]:
        table = opened.narrow().drop_columns([*PLACE, "ordinal"])
        return sorted(table.to_pylist(), key=lambda row: str(row["pair_id"]))

    assert rows(source) == rows(other)
