"""Pair rows that cannot be typed: quarantined with file, line, field and what came, while the rest of the table goes on."""
from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from support_rounds import (
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
    without,
    write_parquet,
)

from core.errors import RoundError
from core.rounds.folder import Round
from core.rounds.ingest import IngestReport

GOOD = pair(pair_id="good")


def only_fault(source: Round) -> tuple[int, str, str]:
    rows = source.table("quarantine").to_pylist()
    assert len(rows) == source.quarantined_count == 1
    assert rows[0]["part"] == "pairs"
    return rows[0]["line"], rows[0]["field"], rows[0]["code"]


FAULTS: list[tuple[str, dict[str, Any], str, str]] = [
    # name, the broken row, field, code
    ("text for a number", pair(policy_logp_chosen="n/a"), "policy_logp_chosen", "wrong_type"),
    ("case 4: infinity as text", pair(policy_logp_chosen="-Infinity"), "policy_logp_chosen", "wrong_type"),
    ("flag for a number", pair(ref_logp_chosen=True), "ref_logp_chosen", "wrong_type"),
    ("case 13: a number as id", pair(pair_id=1), "pair_id", "wrong_type"),
    ("empty id", pair(pair_id=""), "pair_id", "wrong_type"),
    ("null id", pair(pair_id=None), "pair_id", "missing_field"),
    ("empty judge id", pair(judge_id=""), "judge_id", "wrong_type"),
    ("number as judge id", pair(judge_id=7), "judge_id", "wrong_type"),
    ("id beyond the limit", pair(pair_id="x" * 257), "pair_id", "id_too_long"),
    ("other origin", pair(origin="human"), "origin", "unknown_value"),
    ("no origin", without(pair(), "origin"), "origin", "missing_field"),
    ("no prompt", without(pair(), "prompt"), "prompt", "missing_field"),
    ("null chosen", pair(chosen=None), "chosen", "missing_field"),
    ("number for a text", pair(rejected=3), "rejected", "wrong_type"),
    ("no token count", without(pair(), "chosen_token_count"), "chosen_token_count", "missing_field"),
    ("null token count", pair(rejected_token_count=None), "rejected_token_count", "missing_field"),
    ("token count 2.5", pair(chosen_token_count=2.5), "chosen_token_count", "bad_token_count"),
    ("token count 10.0", pair(chosen_token_count=10.0), "chosen_token_count", "bad_token_count"),
    ("token count true", pair(chosen_token_count=True), "chosen_token_count", "bad_token_count"),
    ("token count as text", pair(chosen_token_count="20"), "chosen_token_count", "bad_token_count"),
    ("no verdict key", without(pair(), "chosen_verified_pass"), "chosen_verified_pass", "missing_field"),
    ("no tombstone key", without(pair(), "rejected_tombstone_fail"), "rejected_tombstone_fail", "missing_field"),
    ("1 for true", pair(chosen_verified_pass=1), "chosen_verified_pass", "wrong_type"),
    ("text for true", pair(rejected_tombstone_fail="true"), "rejected_tombstone_fail", "wrong_type"),
    ("text for a score", pair(chosen_score="high"), "chosen_score", "wrong_type"),
    ("number for a task id", pair(task_id=12), "task_id", "wrong_type"),
]


@pytest.mark.parametrize("form", ["jsonl", "json"])
@pytest.mark.parametrize(("row", "field", "code"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_a_row_that_cannot_be_typed(tmp_path: Path, form: str, row: dict[str, Any], field: str, code: str) -> None:
    source, report = pairs_round(tmp_path, [GOOD, row, pair(pair_id="last")], form)
    assert only_fault(source) == (2, field, code)
    assert source.narrow(["pair_id"])["pair_id"].to_pylist() == ["good", "last"]
    assert (report.counts["pairs"], report.quarantined) == (2, 1)
    kept = source.table("quarantine").to_pylist()[0]
    assert kept["file"] == f"pairs.{form}"
    assert json.loads(kept["raw"]) == row


@pytest.mark.parametrize(("row", "field", "code"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_parquet_rows_are_judged_like_json_rows(tmp_path: Path, row: dict[str, Any], field: str, code: str) -> None:
    """The broken row is a table of its own, so that its columns have the Arrow types of its values."""
    source, _ = pairs_round(tmp_path, [row], "parquet")
    assert only_fault(source) == (1, field, code)
    assert source.pair_count == 0


def test_one_entry_for_a_row_with_several_faults_first_column_first(tmp_path: Path) -> None:
    broken = pair(origin="human", chosen=3, chosen_token_count=1.5)
    for form in WRITERS:
        source, _ = pairs_round(tmp_path / form, [broken], form)
        assert only_fault(source) == (1, "origin", "unknown_value")


@pytest.mark.parametrize(("line", "field", "code"), [
    ('{"pair_id": "p", "policy_logp_chosen": NaN}', "policy_logp_chosen", "non_finite_number"),
    ('{"pair_id": "p", "policy_logp_chosen": -Infinity}', "policy_logp_chosen", "non_finite_number"),
    ('{"pair_id": "p", "policy_logp_chosen": 1e999}', "policy_logp_chosen", "number_out_of_range"),
    ('{"pair_id": "p", "policy_logp_chosen": -9007199254740993}', "policy_logp_chosen", "integer_out_of_range"),
    ('{"pair_id": 9007199254740993}', "pair_id", "integer_out_of_range"),
    ('{"pair_id": "p", "pair_id": "q"}', "pair_id", "duplicate_json_key"),
    (r'{"pair_id": "\ud800"}', "pair_id", "lone_surrogate"),
    ('{"pair_id": "p",}', "", "not_json"),
    ("{'pair_id': 'p'}", "", "not_json"),
    ("[1, 2]", "", "wrong_type"),
    ("7", "", "wrong_type"),
    ("null", "", "wrong_type"),
])
def test_json_that_is_refused_quarantines_its_line(tmp_path: Path, line: str, field: str, code: str) -> None:
    folder = folder_of(tmp_path / "input", {})
    (folder / "pairs.jsonl").write_text(f"{json.dumps(GOOD)}\n{line}\n{json.dumps(pair(pair_id='last'))}\n", "utf-8")
    source, _ = ingested(tmp_path, folder)
    assert only_fault(source) == (2, field, code)
    assert source.table("quarantine")["raw"].to_pylist() == [line]
    assert source.pair_count == 2


def test_one_bad_element_of_a_json_list_does_not_hide_the_others(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "input", {})
    (folder / "pairs.json").write_text(f'[{json.dumps(GOOD)},\n {{"pair_id": "p", "x": NaN}}, {json.dumps(pair(pair_id="last"))}]', "utf-8")
    source, _ = ingested(tmp_path, folder)
    assert only_fault(source) == (2, "x", "non_finite_number")
    assert source.narrow(["pair_id", "line"]).to_pylist() == [{"pair_id": "good", "line": 1}, {"pair_id": "last", "line": 3}]


def test_bytes_that_are_no_utf8(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "input", {})
    (folder / "pairs.jsonl").write_bytes(json.dumps(GOOD).encode() + b'\n{"pair_id": "\xff"}\n' + json.dumps(pair()).encode())
    source, _ = ingested(tmp_path, folder)
    assert only_fault(source) == (2, "", "invalid_utf8")


def test_invalid_utf8_inside_parquet(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "input", {})
    rows = pa.Table.from_pylist([GOOD, pair(pair_id="last")])
    # the offsets of "ok" and "xx" over other bytes: Arrow does not look at them
    column = pa.Array.from_buffers(pa.string(), 2, [*pa.array(["ok", "xx"]).buffers()[:2], pa.py_buffer(b"ok\xff\xfe")])
    pq.write_table(rows.set_column(rows.schema.get_field_index("chosen"), "chosen", column), folder / "pairs.parquet")
    source, _ = ingested(tmp_path, folder)
    assert only_fault(source) == (2, "chosen", "invalid_utf8")
    assert source.pair_count == 1


@pytest.mark.parametrize("form", WRITERS)
def test_case_4_a_missing_log_prob_is_typed(tmp_path: Path, form: str) -> None:
    """Absent or null: kept as null, for the gate to reject as missing_logp; never quarantined, never a number."""
    rows = [pair(pair_id="null", policy_logp_chosen=None), without(pair(pair_id="absent"), "policy_logp_chosen"), GOOD]
    source, report = pairs_round(tmp_path, rows, form)
    assert report.quarantined == 0
    assert source.narrow(["policy_logp_chosen"])["policy_logp_chosen"].to_pylist() == [None, None, -20.0]


def test_case_4_nan_and_infinity_out_of_parquet_are_typed(tmp_path: Path) -> None:
    rows = [
        pair(pair_id="nan", policy_logp_chosen=math.nan), pair(pair_id="inf", policy_logp_rejected=-math.inf, ref_logp_rejected=-math.inf),
        pair(pair_id="large", policy_logp_chosen=1e308, ref_logp_chosen=-1e308), pair(pair_id="positive", policy_logp_chosen=3.2),
    ]
    source, report = pairs_round(tmp_path, rows, "parquet")
    assert report.quarantined == 0
    stored = source.narrow().to_pylist()
    assert math.isnan(stored[0]["policy_logp_chosen"])
    assert (stored[1]["policy_logp_rejected"], stored[1]["ref_logp_rejected"]) == (-math.inf, -math.inf)
    assert (stored[2]["policy_logp_chosen"], stored[2]["ref_logp_chosen"], stored[3]["policy_logp_chosen"]) == (1e308, -1e308, 3.2)


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64(), pa.uint16(), pa.uint64()])
def test_every_arrow_integer_is_a_token_count(tmp_path: Path, kind: pa.DataType) -> None:
    table = pa.Table.from_pylist([GOOD, pair(pair_id="b", chosen_token_count=0)])
    index = table.schema.get_field_index("chosen_token_count")
    folder = folder_of(tmp_path / "input", {})
    pq.write_table(table.set_column(index, "chosen_token_count", table["chosen_token_count"].cast(kind)), folder / "pairs.parquet")
    source, report = ingested(tmp_path, folder)
    assert report.quarantined == 0
    assert source.narrow(["chosen_token_count"])["chosen_token_count"].to_pylist() == [20, 0]


@pytest.mark.parametrize(("name", "kind", "value"), [
    ("policy_logp_chosen", pa.int64(), -(2**53)), ("chosen_token_count", pa.int64(), 2**53), ("chosen_token_count", pa.uint64(), 2**64 - 1),
])
def test_arrow_integers_beyond_a_double_are_quarantined(tmp_path: Path, name: str, kind: pa.DataType, value: int) -> None:
    table = pa.Table.from_pylist([without(GOOD, name), without(pair(pair_id="b"), name)])
    folder = folder_of(tmp_path / "input", {})
    pq.write_table(table.append_column(name, pa.array([1, value], kind)), folder / "pairs.parquet")
    source, _ = ingested(tmp_path, folder)
    assert only_fault(source) == (2, name, "integer_out_of_range")


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32()])
@pytest.mark.parametrize("name", ["ref_logp_rejected", "chosen_score"])
def test_float_columns_are_refused_by_name(tmp_path: Path, kind: pa.DataType, name: str) -> None:
    """-0.1 as a float32 is -0.10000000149 and falls below its bound."""
    table = pa.Table.from_pylist([without(GOOD, name)]).append_column(name, pa.array([-0.5], pa.float32()).cast(kind))
    folder = folder_of(tmp_path / "input", {})
    pq.write_table(table, folder / "pairs.parquet")
    with pytest.raises(RoundError) as caught:
        ingested(tmp_path, folder)
    assert (caught.value.code, str(caught.value.where), caught.value.exit_code) == ("float_column", f"pairs.parquet, field {name}", 4)
    assert "DOUBLE" in caught.value.remedy
    assert nothing_written(tmp_path)


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_every_arrow_text_is_text(tmp_path: Path, kind: pa.DataType) -> None:
    table = pa.Table.from_pylist([GOOD, pair(pair_id="", origin="verified")])
    for name in ("pair_id", "origin", "prompt"):
        table = table.set_column(table.schema.get_field_index(name), name, pc.cast(table[name], kind))
    folder = folder_of(tmp_path / "input", {})
    pq.write_table(table, folder / "pairs.parquet")
    source, _ = ingested(tmp_path, folder)
    assert only_fault(source) == (2, "pair_id", "wrong_type")
    assert source.narrow(["pair_id", "origin"]).to_pylist() == [{"pair_id": "good", "origin": "verified"}]


def test_unknown_columns_are_kept_as_canonical_json(tmp_path: Path) -> None:
    row = pair(zeta=[1, {"b": None, "a": 1e-7}], alpha="é")
    source, report = pairs_round(tmp_path, [row, GOOD])
    assert source.narrow(["extra"])["extra"].to_pylist() == ['{"alpha":"é","zeta":[1,{"a":1e-7,"b":null}]}', None]
    assert [note.code for note in report.notes if "'alpha', 'zeta'" in note.text] == ["extra_columns"]


def test_unknown_parquet_columns_are_kept_and_nan_among_them_quarantines(tmp_path: Path) -> None:
    source, _ = pairs_round(tmp_path, [pair(pair_id="a", weight=0.5, tags=["x"]), pair(pair_id="b", weight=math.nan, tags=[])], "parquet")
    assert source.narrow(["extra"])["extra"].to_pylist() == ['{"tags":["x"],"weight":0.5}']
    assert only_fault(source) == (2, "weight", "non_finite_number")


def test_unknown_columns_that_json_cannot_say_are_refused_by_name(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([GOOD]).append_column("when", pa.array([0], pa.timestamp("us")))
    folder = folder_of(tmp_path / "input", {})
    pq.write_table(table, folder / "pairs.parquet")
    with pytest.raises(RoundError) as caught:
        ingested(tmp_path, folder)
    assert (caught.value.code, str(caught.value.where)) == ("unkeepable_column", "pairs.parquet, field when")


@pytest.mark.parametrize("form", WRITERS)
def test_a_row_said_twice_counts_once(tmp_path: Path, form: str) -> None:
    """Equal in all typed values, wherever it stands: the first stays, the repeats are quarantined. Rows that share an id and differ stay."""
    rows = [pair(pair_id="a"), pair(pair_id="b"), pair(pair_id="a"), pair(pair_id="b", chosen_token_count=21), pair(pair_id="a")]
    source, report = pairs_round(tmp_path, rows, form)
    assert source.narrow(["ordinal", "pair_id", "line"]).to_pylist() == [
        {"ordinal": 0, "pair_id": "a", "line": 1}, {"ordinal": 1, "pair_id": "b", "line": 2}, {"ordinal": 2, "pair_id": "b", "line": 4},
    ]
    assert [text["ordinal"].to_pylist() for _, text in source.pair_batches()] == [[0, 1, 2]]
    kept = source.table("quarantine").to_pylist()
    assert [(row["line"], row["field"], row["code"]) for row in kept] == [(3, "", "repeated_row"), (5, "", "repeated_row")]
    assert kept[0]["expected"] == f"a row that differs from pairs.{form}, line 1"
    assert report.counts["pairs"] + report.quarantined == 5


def test_an_integer_and_a_double_of_one_value_are_one_row(tmp_path: Path) -> None:
    rows = [pair(policy_logp_chosen=-4, note="x"), pair(policy_logp_chosen=-4.0, note="y"), pair(ref_logp_chosen=0.0), pair(ref_logp_chosen=-0.0)]
    source, _ = pairs_round(tmp_path, rows)
    assert source.table("quarantine")["code"].to_pylist() == ["repeated_row", "repeated_row"]
    assert source.narrow(["line"])["line"].to_pylist() == [1, 3]


def test_a_row_said_twice_in_a_bundle(tmp_path: Path) -> None:
    document = bundle()
    document["verified_candidates"].append(dict(document["verified_candidates"][0]))
    source, report = ingested(tmp_path, bundle_file(tmp_path, document))
    assert (report.counts["pairs"], report.quarantined) == (5, 1)
    row = source.table("quarantine").to_pylist()[0]
    assert (row["file"], row["line"], row["code"]) == ("round-07.json", 5, "repeated_row")


def test_rows_in_are_rows_kept_and_quarantined(tmp_path: Path) -> None:
    rows = [pair(pair_id=f"p-{number}") for number in range(20)]
    rows[3]["origin"], rows[11]["chosen_token_count"] = "x", 1.0
    rows += [rows[0], rows[5]]
    _, report = pairs_round(tmp_path, rows)
    assert (report.counts["pairs"], report.quarantined) == (18, 4)  # 22 rows in: 2 untyped, 2 repeats


def test_batches_and_row_groups_do_not_show(tmp_path: Path) -> None:
    """More rows than a batch (8192) and a row group of texts (2048): all there, in order, aligned."""
    rows = [pair(pair_id=f"p-{number:05d}", chosen=f"answer {number}") for number in range(9000)]
    rows[8500]["origin"] = "x"
    folder = folder_of(tmp_path / "input", {})
    write_parquet(folder, "pairs", rows)
    source, report = ingested(tmp_path, folder)
    assert (report.counts["pairs"], report.quarantined) == (8999, 1)
    assert only_fault(source) == (8501, "origin", "unknown_value")
    seen = [(name, text) for narrow, texts in source.pair_batches(1000)
            for name, text in zip(narrow["pair_id"].to_pylist(), texts["chosen"].to_pylist(), strict=True)]
    assert seen == [(row["pair_id"], row["chosen"]) for row in rows if row["origin"] == "verified"]
    metadata = pq.read_metadata(source.path / "text.parquet")
    assert [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)] == [2048, 2048, 2048, 2048, 807]


def test_the_worked_example_has_no_quarantine(tmp_path: Path) -> None:
    source, report = ingested(tmp_path, WORKED_EXAMPLE)
    assert source.table("quarantine").num_rows == report.quarantined == 0
    assert isinstance(report, IngestReport)


def test_a_table_without_rows_is_a_supplied_part(tmp_path: Path) -> None:
    for form in ("jsonl", "json"):
        source, report = pairs_round(tmp_path / form, [], form)
        assert source.has("pairs")
        assert (source.pair_count, report.counts) == (0, {"pairs": 0})
    assert ROUND["round_id"] == source.manifest.round_id
