"""What refuses an ingest whole: exit code 4, the place named, and nothing written."""
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support_rounds import (
    NOW,
    ROUND,
    WORKED_EXAMPLE,
    WRITERS,
    bundle,
    bundle_file,
    folder_of,
    ingested,
    nothing_written,
    pair,
    pairs_round,
    round_of,
    tables_of,
    without,
    workspace_at,
)

from core.errors import RoundError
from core.rounds.ingest import ingest_bundle_bytes, load_bundle

Edit = Callable[[dict[str, Any]], None]


def refused(place: Path, source: Path, **options: Any) -> RoundError:
    """The error of an ingest that must be refused, after checking that it left nothing behind."""
    with pytest.raises(RoundError) as caught:
        ingested(place, source, **options)
    assert caught.value.exit_code == 4
    assert nothing_written(place)
    return caught.value


def put(*path: Any, value: Any) -> Edit:
    """Set the value at a path of a document."""
    def edit(document: dict[str, Any]) -> None:
        target: Any = document
        for step in path[:-1]:
            target = target[step]
        target[path[-1]] = value
    return edit


def drop(*path: Any) -> Edit:
    """Remove the value at a path of a document."""
    def edit(document: dict[str, Any]) -> None:
        target: Any = document
        for step in path[:-1]:
            target = target[step]
        del target[path[-1]]
    return edit


VERIFIED, SYNTHETIC = "verified_candidates", "synthetic_pairs"
BUNDLES: list[tuple[Edit, str, str]] = [
    # wrong types, each with its place
    (put(VERIFIED, 2, "ref_logp_chosen", value="n/a"), "verified_candidates[2].ref_logp_chosen", "wrong_type"),
    (put(VERIFIED, 0, "pair_id", value=7), "verified_candidates[0].pair_id", "wrong_type"),
    (put(VERIFIED, 0, "pair_id", value=""), "verified_candidates[0].pair_id", "wrong_type"),
    (put(VERIFIED, 1, "chosen_token_count", value=9.0), "verified_candidates[1].chosen_token_count", "bad_token_count"),
    (put(VERIFIED, 1, "chosen_token_count", value=True), "verified_candidates[1].chosen_token_count", "bad_token_count"),
    (put(VERIFIED, 3, "chosen_verified", value=5), "verified_candidates[3].chosen_verified", "wrong_type"),
    (put(VERIFIED, 3, "rejected_tombstone", value=None), "verified_candidates[3].rejected_tombstone", "missing_field"),
    (put(SYNTHETIC, 0, "chosen_verified_pass", value="yes"), "synthetic_pairs[0].chosen_verified_pass", "wrong_type"),
    (put(VERIFIED, 0, value=[1]), "verified_candidates[0]", "wrong_type"),
    (put(VERIFIED, value={}), "verified_candidates", "wrong_type"),
    (put("calibrated_judge_records", 3, "rubric_approved", value=0.7), "calibrated_judge_records[3].rubric_approved", "wrong_type"),
    (put("uncalibrated_judge_records", 0, "case_id", value=3), "uncalibrated_judge_records[0].case_id", "wrong_type"),
    (put("holdout_suite", 1, "id", value=18446744073709551616), "holdout_suite[1].id", "integer_out_of_range"),
    (put("holdout_suite", 1, "id", value=1), "holdout_suite[1].id", "wrong_type"),
    (put("holdout_suite", 1, "prompt", value=None), "holdout_suite[1].prompt", "missing_field"),
    (put("holdout_suite", 1, "weight", value=1.5), "holdout_suite[1].weight", "ambiguous_number"),
    (put("holdout_suite", 1, "deep", value={"list": [1, 2.0]}), "holdout_suite[1].deep.list[1]", "ambiguous_number"),
    (put("holdout_suite", 4, "id", value="h-01"), "holdout_suite[4].id", "duplicate_holdout_id"),
    (put("holdout_suite", value=[]), "holdout_suite", "empty_holdout"),
    (put("baseline_outcomes", "h-02", value="true"), "baseline_outcomes.h-02", "wrong_type"),
    (put("candidate_outcomes", "h-02", value=1), "candidate_outcomes.h-02", "wrong_type"),
    (put("sanity_outcomes", "s-02", value=None), "sanity_outcomes.s-02", "wrong_type"),
    (put("preregistered_holdout_sha256", value=None), "preregistered_holdout_sha256", "wrong_type"),
    (put("preregistered_holdout_sha256", value=3), "preregistered_holdout_sha256", "wrong_type"),
    (put("proposer_id", value=["worker-curator-01"]), "proposer_id", "wrong_type"),
    (put("proposer_id", value=""), "proposer_id", "empty_text"),
    (put("proposer_id", value="Ana Lima <ana@example.org>"), "proposer_id", "id_grammar"),
    (put("reviewer_id", value=None), "reviewer_id", "wrong_type"),
    (put("reviewer_id", value="w\u043erker-verifier-02"), "reviewer_id", "id_grammar"),  # a Cyrillic o
    # missing fields
    (drop("proposer_id"), "proposer_id", "missing_field"),
    (drop("sanity_outcomes"), "sanity_outcomes", "missing_field"),
    (drop("preregistered_holdout_sha256"), "preregistered_holdout_sha256", "missing_field"),
    (drop(VERIFIED, 2, "prompt"), "verified_candidates[2].prompt", "missing_field"),
    (drop(VERIFIED, 2, "rejected_token_count"), "verified_candidates[2].rejected_token_count", "missing_field"),
    (drop("calibrated_judge_records", 0, "verifier_passed"), "calibrated_judge_records[0].verifier_passed", "missing_field"),
    # unknown keys
    (put("holdout", value=[]), "holdout", "unknown_key"),
    (put(VERIFIED, 0, "ref_logps_chosen", value=-1.0), "verified_candidates[0].ref_logps_chosen", "unknown_key"),
    (put(VERIFIED, 0, "chosen", value="x"), "verified_candidates[0].chosen", "unknown_key"),
    (put(VERIFIED, 0, "origin", value="verified"), "verified_candidates[0].origin", "unknown_key"),
    (put(SYNTHETIC, 0, "judge_id", value="calibrated"), "synthetic_pairs[0].judge_id", "unknown_key"),
    (put("calibrated_judge_records", 0, "judge_id", value="calibrated"), "calibrated_judge_records[0].judge_id", "unknown_key"),
]


@pytest.mark.parametrize(("edit", "place", "code"), BUNDLES, ids=[f"{code}-{place}" for _, place, code in BUNDLES])
def test_a_bundle_is_refused_whole(tmp_path: Path, edit: Edit, place: str, code: str) -> None:
    document = bundle()
    edit(document)
    error = refused(tmp_path, bundle_file(tmp_path, document))
    assert error.code == code
    assert error.where is not None
    assert (error.where.file, error.where.field) == ("round-07.json", place)


def test_the_message_names_place_expected_and_got(tmp_path: Path) -> None:
    document = bundle()
    document[VERIFIED][2]["ref_logp_chosen"] = "n/a"
    text = str(refused(tmp_path, bundle_file(tmp_path, document)))
    assert 'field verified_candidates[2].ref_logp_chosen: expected a number; got "n/a"' in text


def test_the_nearest_known_key_is_suggested(tmp_path: Path) -> None:
    document = bundle()
    document[VERIFIED][0]["ref_logps_chosen"] = document[VERIFIED][0].pop("ref_logp_chosen")
    assert "ref_logp_chosen" in refused(tmp_path, bundle_file(tmp_path, document)).remedy


TEXT = WORKED_EXAMPLE.read_text("utf-8")
BROKEN: list[tuple[str, bytes, str, str | None]] = [
    ("NaN", TEXT.replace("-4.2,", "NaN,").encode(), "non_finite_number", "verified_candidates[0].policy_logp_chosen"),
    ("Infinity", TEXT.replace("-4.2,", "-Infinity,").encode(), "non_finite_number", "verified_candidates[0].policy_logp_chosen"),
    ("1e999", TEXT.replace("-4.2,", "-1e999,").encode(), "number_out_of_range", "verified_candidates[0].policy_logp_chosen"),
    ("large", TEXT.replace("-4.2,", "-9007199254740993,").encode(), "integer_out_of_range", "verified_candidates[0].policy_logp_chosen"),
    ("twice", TEXT.replace('"h-02": true', '"h-01": true', 1).encode(), "duplicate_json_key", "baseline_outcomes.h-01"),
    ("surrogate", TEXT.replace("Overwrite", r"\ud800", 1).encode(), "lone_surrogate", "verified_candidates[0].rejected_tombstone"),
    ("cut", TEXT[:-200].encode(), "not_json", None),
    ("BOM", b"\xef\xbb\xbf" + TEXT.encode(), "byte_order_mark", None),
    ("UTF-16", TEXT.encode("utf-16"), "utf16", None),
    ("not UTF-8", TEXT.encode().replace(b"Overwrite", b"\xff", 1), "invalid_utf8", None),
    ("a list", b"[]", "wrong_type", None),
    ("empty", b"", "not_json", None),
    ("two documents", TEXT.encode() * 2, "not_json", None),
]


@pytest.mark.parametrize(("data", "code", "field"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_a_bundle_that_is_no_clean_json(tmp_path: Path, data: bytes, code: str, field: str | None) -> None:
    path = tmp_path / "round-07.json"
    path.write_bytes(data)
    error = refused(tmp_path, path)
    assert error.where is not None
    assert (error.code, error.where.file, error.where.field) == (code, "round-07.json", field)


def test_a_bundle_without_a_reviewer_is_accepted(tmp_path: Path) -> None:
    source, _ = ingested(tmp_path, bundle_file(tmp_path, without(bundle(), "reviewer_id")))
    assert source.manifest.reviewer is None


def test_a_bundle_row_may_have_the_optional_columns(tmp_path: Path) -> None:
    document = bundle()
    document[VERIFIED][0] |= {"task_id": "t", "source": "s", "chosen_score": 1, "rejected_score": 0.5}
    document["calibrated_judge_records"][0] |= {"slice": "easy", "rationale": "because", "order_swapped": False, "rubric_score": 4}
    source, _ = ingested(tmp_path, bundle_file(tmp_path, document))
    row = source.narrow().to_pylist()[0]
    assert (row["task_id"], row["source"], row["chosen_score"], row["rejected_score"]) == ("t", "s", 1.0, 0.5)
    record = source.table("judge_records").to_pylist()[0]
    assert (record["slice"], record["rationale"], record["order_swapped"], record["rubric_score"]) == ("easy", "because", False, 4.0)


def test_an_uploaded_name_never_becomes_a_path(tmp_path: Path) -> None:
    data = WORKED_EXAMPLE.read_bytes()
    for label, round_id in (("../../etc/round.json", "round"), ("C:\\up\\other.json", "other"), ("x" * 300, "x" * 256)):
        report = ingest_bundle_bytes(data, label, workspace_at(tmp_path), now=NOW)
        assert report.round_id == round_id
        assert report.path.parent == tmp_path / "workspace" / "rounds"
    assert not [path for path in tmp_path.rglob("*") if "etc" in path.name]
    with pytest.raises(RoundError) as caught:
        ingest_bundle_bytes(data, "evil\u202e.json", workspace_at(tmp_path), now=NOW)
    assert caught.value.code == "bad_round_id"


def test_a_bundle_in_memory_leaves_nothing(tmp_path: Path) -> None:
    with load_bundle(WORKED_EXAMPLE.read_bytes(), "bundle.json", now=NOW) as source:
        assert source.pair_count == 5
        assert source.path.is_dir()
    assert not source.path.exists()


# tables: every part but the pairs

def parts_with(part: str, *rows: Any) -> dict[str, list[Any]]:
    parts = tables_of(bundle())
    return parts | {part: [*parts[part], *rows]}


RECORD = {"judge_id": "calibrated", "case_id": "c-99", "rubric_approved": True, "verifier_passed": None}
ROWS: list[tuple[str, Any, str, str]] = [
    ("judge_records", without(RECORD, "verifier_passed"), "verifier_passed", "missing_field"),
    ("judge_records", RECORD | {"rubric_approved": 1}, "rubric_approved", "wrong_type"),
    ("judge_records", RECORD | {"case_id": 9}, "case_id", "wrong_type"),
    ("judge_records", RECORD | {"judge_id": ""}, "judge_id", "wrong_type"),
    ("judge_records", RECORD | {"length_first": 3.0}, "length_first", "wrong_type"),
    ("outcomes", {"id": "h-01", "arm": "control", "passed": True}, "arm", "unknown_value"),
    ("outcomes", {"id": "h-01", "arm": "baseline"}, "passed", "missing_field"),
    ("outcomes", {"id": 1, "arm": "baseline", "passed": True}, "id", "wrong_type"),
    ("outcomes", {"id": "h-01", "arm": "baseline", "run": 1.0, "passed": True}, "run", "wrong_type"),
    ("outcomes", {"id": "h-01", "arm": "baseline", "passed": "yes"}, "passed", "wrong_type"),
    ("sanity", {"id": "s-09", "passed": None}, "passed", "missing_field"),
    ("sanity", {"id": "s-09", "passed": 1}, "passed", "wrong_type"),
    ("holdout", {"id": "h-01", "prompt": "again"}, "id", "duplicate_holdout_id"),
    ("holdout", {"id": "h-09"}, "prompt", "missing_field"),
    ("holdout", {"id": "", "prompt": "x"}, "id", "wrong_type"),
    ("holdout", {"id": "h-09", "prompt": "x", "weight": 1.0}, "weight", "ambiguous_number"),
]


@pytest.mark.parametrize("form", ["jsonl", "json"])
@pytest.mark.parametrize(("part", "row", "field", "code"), ROWS, ids=[f"{row[0]}-{row[3]}-{row[2]}" for row in ROWS])
def test_one_bad_row_of_another_part_refuses_the_ingest(tmp_path: Path, form: str, part: str, row: Any, field: str, code: str) -> None:
    parts = parts_with(part, row)
    error = refused(tmp_path, folder_of(tmp_path / "input", parts, about=round_of(bundle()), form=form))
    assert error.where is not None
    assert (error.code, error.where.file, error.where.line, error.where.field) == (code, f"{part}.{form}", len(parts[part]), field)


@pytest.mark.parametrize(("part", "rows", "field", "code"), [
    ("sanity", [{"id": "s", "passed": None}], "passed", "missing_field"),
    ("outcomes", [{"id": 1, "arm": "baseline", "passed": True}], "id", "wrong_type"),
    ("judge_records", [without(RECORD, "rubric_approved")], "rubric_approved", "missing_field"),
    ("holdout", [{"id": "h", "prompt": "x", "weight": 1.5}], "weight", "ambiguous_number"),
    ("holdout", [{"id": "h", "prompt": "x", "size": 2**60}], "size", "integer_out_of_range"),
])
def test_other_parts_in_parquet(tmp_path: Path, part: str, rows: list[Any], field: str, code: str) -> None:
    error = refused(tmp_path, folder_of(tmp_path / "input", {part: rows}, about=round_of(bundle()), form="parquet"))
    assert error.where is not None
    assert (error.code, error.where.file, error.where.field) == (code, f"{part}.parquet", field)


def test_case_13_a_canary_twice_is_refused_not_last_wins(tmp_path: Path) -> None:
    error = refused(tmp_path, folder_of(tmp_path / "input", {"sanity": [{"id": "s", "passed": True}, {"id": "s", "passed": False}]}))
    assert (error.code, str(error.where)) == ("duplicate_sanity_id", "sanity.jsonl, line 2")


@pytest.mark.parametrize("form", WRITERS)
def test_a_record_said_twice_counts_once_and_is_reported(tmp_path: Path, form: str) -> None:
    rows = [RECORD, RECORD | {"order_swapped": True}, RECORD | {"order_swapped": False}, RECORD]
    source, report = ingested(tmp_path, folder_of(tmp_path / "input", {"judge_records": rows}, form=form))
    # absent means false, so rows 1, 3 and 4 are one record; the swapped order is another
    assert source.table("judge_records")["order_swapped"].to_pylist() == [False, True]
    note = next(note for note in report.notes if note.code == "repeated_record")
    assert f"judge_records.{form}, line 3, judge_records.{form}, line 4" in note.text
    assert report.counts["judge_records"] == 2


@pytest.mark.parametrize("change", [{"rubric_approved": False}, {"verifier_passed": True}, {"slice": "hard"}, {"remark": "kept in extra"}])
def test_records_that_conflict_are_refused_with_both_lines(tmp_path: Path, change: dict[str, Any]) -> None:
    error = refused(tmp_path, folder_of(tmp_path / "input", {"judge_records": [RECORD, RECORD | {"case_id": "c-1"}, RECORD | change]}))
    assert error.code == "conflicting_case"
    assert "judge_records.jsonl, line 1 and judge_records.jsonl, line 3" in error.got


def test_records_that_conflict_in_a_bundle(tmp_path: Path) -> None:
    document = bundle()
    document["calibrated_judge_records"][4]["case_id"] = "c-01"  # c-01 is approved and passed, this one neither
    error = refused(tmp_path, bundle_file(tmp_path, document))
    assert error.code == "conflicting_case"
    assert "calibrated_judge_records[0]" in error.got
    assert error.where is not None
    assert error.where.field == "calibrated_judge_records[4]"


def test_one_case_of_two_judges_is_no_repeat(tmp_path: Path) -> None:
    document = bundle()
    document["uncalibrated_judge_records"][0]["case_id"] = "c-01"
    source, _ = ingested(tmp_path, bundle_file(tmp_path, document))
    assert source.table("judge_records").num_rows == 14


# folders and files

@pytest.mark.parametrize(("name", "code", "remedy"), [
    ("pairs.csv", "unknown_form", "pairs.jsonl"), ("pair.jsonl", "unknown_part", "pairs.jsonl"), ("checkpoints.jsonl", "unknown_part", "take it out"),
    (".DS_Store", "unknown_part", "take it out"), ("text.parquet", "unknown_part", "take it out"), ("round.jsonl", "unknown_part", "take it out"),
])
def test_unknown_files_are_refused_by_name(tmp_path: Path, name: str, code: str, remedy: str) -> None:
    folder = folder_of(tmp_path / "input", {"pairs": [pair()]})
    (folder / name).write_text("", "utf-8")
    error = refused(tmp_path, folder)
    assert (error.code, error.got) == (code, repr(name))
    assert remedy in error.remedy


def test_a_part_in_two_files_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "input", {"pairs": [pair()]})
    (folder / "pairs.json").write_text("[]", "utf-8")
    error = refused(tmp_path, folder)
    assert (error.code, error.got) == ("part_given_twice", "pairs.json and pairs.jsonl")


def test_a_folder_for_a_part_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "input", {})
    (folder / "pairs.parquet").mkdir()
    assert refused(tmp_path, folder).code == "unknown_form"


@pytest.mark.parametrize("path", ["nowhere.json", "nowhere"])
def test_a_source_that_is_not_there(tmp_path: Path, path: str) -> None:
    assert refused(tmp_path, tmp_path / path).code in ("cannot_read", "unknown_form")


def test_a_table_alone_is_no_source(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(pair()), "utf-8")
    error = refused(tmp_path, path)
    assert (error.code, "folder" in error.remedy) == ("unknown_form", True)


def test_a_folder_without_round_json(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "input", {"pairs": [pair()]})
    (folder / "round.json").unlink()
    assert refused(tmp_path, folder).code == "missing_manifest"


def test_files_that_are_no_parquet(tmp_path: Path) -> None:
    for name, data in (("empty", b""), ("text", b"PAR1 not really PAR1"), ("cut", None)):
        folder = folder_of(tmp_path / name / "input", {})
        pq.write_table(pa.Table.from_pylist([pair()] * 50), folder / "pairs.parquet")
        whole = (folder / "pairs.parquet").read_bytes()
        (folder / "pairs.parquet").write_bytes(whole[:-20] if data is None else data)
        error = refused(tmp_path / name, folder)
        assert (error.code, str(error.where)) == ("not_parquet", "pairs.parquet")


def test_pages_that_are_damaged_inside_parquet(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "input", {})
    pq.write_table(pa.Table.from_pylist([pair(pair_id=f"p{number}") for number in range(500)]), folder / "pairs.parquet", compression="zstd")
    whole = bytearray((folder / "pairs.parquet").read_bytes())
    whole[4:400] = bytes(396)
    (folder / "pairs.parquet").write_bytes(bytes(whole))
    assert refused(tmp_path, folder).code == "not_parquet"


def test_a_column_twice_is_refused(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([pair()])
    folder = folder_of(tmp_path / "input", {})
    pq.write_table(table.append_column("pair_id", pa.array(["other"])), folder / "pairs.parquet")
    assert refused(tmp_path, folder).code == "duplicate_column"


# JSON lines (case 19)

LINES = [json.dumps(pair(pair_id=name, prompt="é")) for name in "abc"]


def lines_file(place: Path, data: bytes) -> Path:
    folder = folder_of(place / "input", {})
    (folder / "pairs.jsonl").write_bytes(data)
    return folder


def test_case_19_bom_crlf_and_blank_last_lines_are_fine(tmp_path: Path) -> None:
    plain, _ = ingested(tmp_path / "a", lines_file(tmp_path / "a", "\n".join(LINES).encode()))
    dressed, report = ingested(tmp_path / "b", lines_file(tmp_path / "b", b"\xef\xbb\xbf" + ("\r\n".join(LINES) + "\r\n\r\n \n").encode()))
    assert dressed.narrow().equals(plain.narrow())
    assert [text.to_pylist() for _, text in dressed.pair_batches()] == [text.to_pylist() for _, text in plain.pair_batches()]
    assert report.quarantined == 0
    assert "byte_order_mark" in [note.code for note in report.notes]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_case_19_utf16_is_refused_by_name(tmp_path: Path, encoding: str) -> None:
    error = refused(tmp_path, lines_file(tmp_path, "\n".join(LINES).encode(encoding)))
    assert (error.code, "UTF-16" in error.got) == ("utf16", True)


def test_case_19_a_json_list_named_jsonl(tmp_path: Path) -> None:
    error = refused(tmp_path, lines_file(tmp_path, f"[{','.join(LINES)}]".encode()))
    assert (error.code, error.remedy) == ("json_list_in_jsonl", "name the file .json")


@pytest.mark.parametrize("cut", [1, 30, 100, 200])
@pytest.mark.parametrize("end", ["", "\n"])
def test_case_19_a_last_line_that_is_cut_refuses_the_file(tmp_path: Path, cut: int, end: str) -> None:
    error = refused(tmp_path, lines_file(tmp_path, ("\n".join(LINES)[:-cut] + end).encode()))
    assert (error.code, str(error.where)) == ("cut_last_line", "pairs.jsonl, line 3")


def test_a_last_line_cut_inside_a_character(tmp_path: Path) -> None:
    data = "\n".join(LINES).encode() + '\n{"pair_id": "é'.encode()[:-1]
    assert refused(tmp_path, lines_file(tmp_path, data)).code == "cut_last_line"


def test_a_blank_line_between_rows_is_quarantined(tmp_path: Path) -> None:
    source, _ = ingested(tmp_path, lines_file(tmp_path, f"{LINES[0]}\n\n{LINES[1]}\n".encode()))
    assert [(row["line"], row["code"]) for row in source.table("quarantine").to_pylist()] == [(2, "blank_line")]
    assert source.narrow(["line"])["line"].to_pylist() == [1, 3]


def test_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    """U+2028 and U+0085 are text, not line ends."""
    source, report = pairs_round(tmp_path, [pair(prompt="a\u2028b\x85c")])
    assert report.quarantined == 0
    assert [text["prompt"].to_pylist() for _, text in source.pair_batches()] == [["a\u2028b\x85c"]]


@pytest.mark.parametrize(("text", "line"), [("", 1), ("{}", 1), ("[{}", 1), ('[{},\n{"a": 1}', 2), ("[{} {}]", 1), ("[{}]\n[]", 2), ("[{},]", 1)])
def test_a_broken_json_list_is_refused(tmp_path: Path, text: str, line: int) -> None:
    folder = folder_of(tmp_path / "input", {})
    (folder / "pairs.json").write_text(text, "utf-8")
    error = refused(tmp_path, folder)
    assert error.where is not None
    assert (error.code, error.where.file, error.where.line) == ("not_json", "pairs.json", line)


# round.json

@pytest.mark.parametrize(("change", "field", "code"), [
    ({"schema_version": 99}, "schema_version", "unknown_schema_version"),
    ({"schema_version": True}, "schema_version", "wrong_type"),
    ({"round_id": 7}, "round_id", "wrong_type"),
    ({"round_id": "a\u200bb"}, "round_id", "bad_round_id"),
    ({"round_id": " a"}, "round_id", "bad_round_id"),
    ({"proposers": []}, "proposers", "empty_list"),
    ({"proposers": "worker-curator-01"}, "proposers", "wrong_type"),
    ({"proposers": ["ok", "not an id"]}, "proposers[1]", "id_grammar"),
    ({"reviewer": "not an id"}, "reviewer", "id_grammar"),
    ({"files": {}}, "files", "unknown_key"),
    ({"form": "tables"}, "form", "unknown_key"),
    ({"parts": []}, "parts", "unknown_key"),
    ({"proposer": "x"}, "proposer", "unknown_key"),
    ({"baseline": {"name": "m", "digest": "abc"}}, "baseline.digest", "malformed_digest"),
    ({"candidate": {"digest": None}}, "candidate.name", "missing_field"),
    ({"candidate": {"name": "m", "sha": "x"}}, "candidate.sha", "unknown_key"),
    ({"holdout_lock": {"sha256": None}}, "holdout_lock.sha256", "wrong_type"),
    ({"holdout_lock": "eff4"}, "holdout_lock", "wrong_type"),
    ({"created_at": "yesterday"}, "created_at", "bad_time"),
    ({"created_at": "2026-01-05T12:00:00+01:00"}, "created_at", "bad_time"),
    ({"created_at": "2026-02-30T12:00:00Z"}, "created_at", "bad_time"),
    ({"verification": "hope"}, "verification", "unknown_value"),
    ({"receipt_judges": {"calibrated": "a"}}, "receipt_judges.uncalibrated", "missing_field"),
    ({"judges": {"a": {"model": "x"}}}, "judges.a.model", "unknown_key"),
    ({"judges": {"a": {"rubric_sha256": "x"}}}, "judges.a.rubric_sha256", "malformed_digest"),
    ({"previous_receipt_sha256": "x"}, "previous_receipt_sha256", "malformed_digest"),
    ({"label": "x" * 81}, "label", "text_too_long"),
])
def test_round_json_is_read_strictly(tmp_path: Path, change: dict[str, Any], field: str, code: str) -> None:
    error = refused(tmp_path, folder_of(tmp_path / "input", {"pairs": [pair()]}, about=ROUND | change))
    assert error.where is not None
    assert (error.code, error.where.file, error.where.field) == (code, "round.json", field)


@pytest.mark.parametrize("key", ["schema_version", "round_id", "proposers"])
def test_round_json_must_say_three_things(tmp_path: Path, key: str) -> None:
    error = refused(tmp_path, folder_of(tmp_path / "input", {}, about=without(ROUND, key)))
    assert error.where is not None
    assert (error.code, error.where.field) == ("missing_field", key)


def test_a_key_twice_in_round_json(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "input", {})
    (folder / "round.json").write_text('{"schema_version": 1, "round_id": "a", "round_id": "b", "proposers": ["p"]}', "utf-8")
    assert refused(tmp_path, folder).code == "duplicate_json_key"


def test_a_holdout_needs_a_lock(tmp_path: Path) -> None:
    error = refused(tmp_path, folder_of(tmp_path / "input", {"holdout": bundle()["holdout_suite"]}))
    assert (error.code, str(error.where)) == ("missing_lock", "round.json, field holdout_lock")


def test_everything_stated_is_kept(tmp_path: Path) -> None:
    about = ROUND | {
        "label": "composite, for demonstration", "note": "made by hand", "previous_receipt_sha256": "0" * 64, "reviewer": "Ana@Example.org",
        "baseline": {"name": "ref", "digest": "1" * 64}, "candidate": {"name": "rpo-60", "digest": None}, "policy": {"name": "rpo-60"},
        "reference": {"name": "ref", "digest": "2" * 64}, "created_at": "2025-12-31T23:59:59.25Z", "verification": "dataset_label",
        "holdout_lock": {"sha256": "", "registered_at": "2025-12-01", "registered_by": "ana@example.org"},
        "receipt_judges": {"calibrated": "loose", "uncalibrated": "self"}, "judges": {"loose": {"name": "Loose check", "version": "2"}},
    }
    source, report = ingested(tmp_path, folder_of(tmp_path / "input", {"pairs": [pair()]}, about=about))
    stored = source.manifest.document()
    files = stored.pop("files")
    assert set(files) == {"pairs.parquet", "text.parquet", "quarantine.parquet"}
    assert stored == about | {
        "form": "tables", "parts": ["pairs"], "policy": {"name": "rpo-60", "digest": None},
        "judges": {"loose": {"name": "Loose check", "version": "2", "rubric": None, "rubric_sha256": None}},
    }
    assert "reference_is_not_baseline" in [note.code for note in report.notes]


def test_options_stand_before_what_the_input_says(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "input", {"pairs": [pair()]}, about=ROUND | {"created_at": "2020-01-01T00:00:00Z"})
    source, _ = ingested(tmp_path, folder, round_id="other", created_at="2021-01-01T00:00:00Z")
    assert (source.manifest.round_id, source.manifest.created_at) == ("other", "2021-01-01T00:00:00Z")
    assert refused(tmp_path / "x", folder, created_at="today").code == "bad_time"
    assert refused(tmp_path / "x", folder, round_id="").code == "bad_round_id"
