"""lighteval details: the metric of a struct, ids of the documents, and layouts that are not read."""
from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from support_eval_logs import LOGS, details, details_row, fault, jsonl, read, verdicts

from core.rounds.readers.lighteval import FORMAT, recognise


def test_details_in_lightevals_own_layout() -> None:
    """tests/fixtures/eval_logs/SOURCES.md: 18, 17 and nothing where 18 is right."""
    path = LOGS / "details_demo.parquet"
    for metric in ("extractive_match", "em"):
        rows, _ = read(FORMAT, path, metric=metric, id="doc.specific.key")
        assert [(row["id"], row["passed"], row["response"]) for row in rows] == [
            ("item-0", True, "18"), ("item-1", False, "17"), ("item-2", False, ""),
        ]
    assert [name for name, _ in verdicts(FORMAT, path, metric="em")] == ["0", "1", "2"]
    assert fault(FORMAT, path) == ("missing_option", "line 1, field metric")
    assert recognise([], path)


def test_rows_become_outcomes(tmp_path: Path) -> None:
    """The log-probs hold an infinity, which no JSON value can be: they are not read."""
    path = details(tmp_path, [details_row(0), details_row(1, 0.0), details_row(2, None)])
    rows, notes = read(FORMAT, path, arm="candidate")
    assert rows == [
        {"id": str(number), "arm": "candidate", "passed": passed, "response": "18",
         "prompt_hash": hashlib.sha256(f"Question {number}?".encode()).hexdigest()} for number, passed in enumerate([True, False, None])
    ]
    assert notes == ["numbers_as_verdicts", "no_verdict"]
    assert recognise([], path)


def test_the_metric_is_declared_where_there_are_several(tmp_path: Path) -> None:
    path = details(tmp_path, [details_row(0, metric={"acc": 0.0, "acc_norm": 1.0}), details_row(1, metric={"acc": 0.0, "acc_norm": 0.5})])
    assert fault(FORMAT, path) == ("missing_option", "line 1, field metric")
    assert fault(FORMAT, path, metric="ac") == ("missing_field", "line 1, field metric.ac")
    assert verdicts(FORMAT, path, metric="acc") == [("0", False), ("1", False)]
    assert fault(FORMAT, path, metric="acc_norm") == ("undeclared_verdict", "line 2, field metric.acc_norm")
    assert verdicts(FORMAT, path, metric="acc_norm", **{"pass": ">=0.5"}) == [("0", True), ("1", True)]


def test_ids_and_slices_come_from_declared_places(tmp_path: Path) -> None:
    path = details(tmp_path, [details_row(0), details_row(1)])
    rows, _ = read(FORMAT, path, id="doc.specific.key", slice="doc.task_name")
    assert [(row["id"], row["slice"]) for row in rows] == [("item-0", "demo|0"), ("item-1", "demo|0")]
    assert fault(FORMAT, path, id="doc.specific.name") == ("missing_field", "line 1, field doc.specific.name")


def test_documents_without_an_id_or_with_one_twice_are_refused(tmp_path: Path) -> None:
    unnamed = details_row(0)
    unnamed["doc"]["id"] = ""
    assert fault(FORMAT, details(tmp_path, [unnamed])) == ("wrong_type", "line 1, field doc.id")
    assert fault(FORMAT, details(tmp_path, [details_row(0), details_row(0)])) == ("duplicate_outcome", "line 2, field doc.id")


def test_a_value_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    assert fault(FORMAT, details(tmp_path, [details_row(0), details_row(1, float("nan"))])) == (
        "non_finite_number", "line 2, field metric.extractive_match",
    )


def test_several_generations_are_no_one_response(tmp_path: Path) -> None:
    path = details(tmp_path, [details_row(0, model_response={"text": ["a", "b"]})])
    assert read(FORMAT, path)[0][0]["response"] is None


def test_details_of_older_releases_are_refused_by_name(tmp_path: Path) -> None:
    """They hold each column as the text of a Python literal."""
    path = tmp_path / "details_old.parquet"
    pq.write_table(pa.table({"doc": ["{'query': 'q'}"], "metric": ["{'acc': 1.0}"], "model_response": ["{'text': ['a']}"]}), path)
    assert fault(FORMAT, path)[0] == "not_lighteval_details"
    pq.write_table(pa.table({"example": ["q"], "metrics": ["{'acc': 1.0}"]}), path)
    assert fault(FORMAT, path)[0] == "not_lighteval_details"
    assert recognise([], path) is None


def test_broken_and_other_files(tmp_path: Path) -> None:
    path = details(tmp_path, [details_row(0)])
    path.write_bytes(path.read_bytes()[:-20])
    assert fault(FORMAT, path)[0] == "not_parquet"
    assert recognise([], path) is None
    assert fault(FORMAT, jsonl(tmp_path, [details_row(0)]))[0] == "not_parquet"
    empty = tmp_path / "details_empty.parquet"
    pq.write_table(pa.Table.from_pylist([details_row(0)]).slice(0, 0), empty)
    assert fault(FORMAT, empty)[0] == "no_rows"


def test_a_metric_of_which_less_is_better_needs_a_rule(tmp_path: Path) -> None:
    path = details(tmp_path, [details_row(0) | {"metric": {"wer": 1.0}}])
    assert fault(FORMAT, path) == ("undeclared_direction", "details_demo.parquet, field wer")
    assert verdicts(FORMAT, path, **{"pass": "<0.1"}) == [("0", False)]
