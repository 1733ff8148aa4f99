"""Inspect logs: real ones, hand-written ones, epochs, values that are no verdict, and what a log may not do."""
from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support_eval_logs import BASELINE, CANDIDATE, eval_log, fault, header, json_log, read, sample, verdicts

from core.errors import RoundError, Where
from core.rounds.readers.inspect_json import parse_log
from core.rounds.readers.inspect_log import FORMAT, recognise

WRITERS = {"eval": eval_log, "json": json_log}
# tests/fixtures/eval_logs/SOURCES.md: the answers of the mock model by epoch, then by id; yes is right
BASELINE_RUNS = [False, True, True, False, True, True, False, False]
CANDIDATE_RUNS = [True, True, True, False, True, True, False, True]


@pytest.mark.parametrize(("log", "passed"), [(BASELINE, BASELINE_RUNS), (CANDIDATE, CANDIDATE_RUNS)])
def test_a_log_that_inspect_wrote(log: Path, passed: list[bool]) -> None:
    rows, notes = read(FORMAT, log, scorer="match")
    assert [(row["id"], row["run"]) for row in rows] == [(name, epoch) for epoch in (1, 2) for name in ("1", "2", "3", "4")]
    assert [row["passed"] for row in rows] == passed
    assert [row["response"] for row in rows] == ["yes" if right else "no" for right in passed]
    assert notes == ["log_of", "numbered_ids", "texts_as_verdicts"]
    assert recognise([], log)


@pytest.mark.parametrize(("reducer", "arm", "passed"), [
    # baseline by id: 1 no, yes; 2 yes, yes; 3 yes, no; 4 no, no. A tie passes for the baseline and fails for the candidate
    ("majority", "baseline", [True, True, True, False]), ("majority", "candidate", [False, True, False, False]),
    ("all", "baseline", [False, True, False, False]), ("any", "candidate", [True, True, True, False]),
])
def test_epochs_are_reduced_by_the_reducer_that_is_named(reducer: str, arm: str, passed: list[bool]) -> None:
    rows, notes = read(FORMAT, BASELINE, scorer="match", reducer=reducer, arm=arm)
    assert [row["passed"] for row in rows] == passed
    assert [row["id"] for row in rows] == ["1", "2", "3", "4"]
    assert all("run" not in row and "response" not in row for row in rows)
    assert "epochs_reduced" in notes


def test_the_scorer_is_declared_where_there_are_several() -> None:
    assert fault(FORMAT, BASELINE) == ("missing_option", "line 1, field scores")
    assert fault(FORMAT, BASELINE, scorer="mach") == ("missing_field", "line 1, field scores.mach")


def test_every_kind_of_value_of_the_second_scorer() -> None:
    """P, N, 0.5 and {"a": 1, "b": 0} for the ids 1 to 4, and NaN for id 1 in epoch 2: none is a verdict by itself."""
    rows, _ = read(FORMAT, BASELINE, scorer="graded")
    assert [getattr(row, "code", None) or row["passed"] for row in rows] == ["undeclared_verdict"] * 4 + [None] + ["undeclared_verdict"] * 3
    assert rows[0].got == '"P"'
    rows, notes = read(FORMAT, BASELINE, scorer="graded", value="a", **{"pass": "P,1"})
    assert {"no_verdict", "no_score"} <= set(notes)
    assert [row["passed"] for row in rows] == [True, False, False, True, None, False, False, True]
    assert fault(FORMAT, BASELINE, scorer="graded", value="c", **{"pass": "P,N,0.5"}) == ("missing_field", "line 4, field scores.graded.value.c")


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize(("value", "rule", "passed"), [
    ("C", None, True), ("I", None, False), (1, None, True), (0.0, None, False), (True, None, True), (float("nan"), None, None),
    ("P", "C,P", True), ("N", "C,P", False), ("P", "C", False), (0.75, ">=0.5", True), ("yes", "yes", True),
])
def test_values(tmp_path: Path, form: str, value: Any, rule: str | None, passed: bool | None) -> None:
    options = {} if rule is None else {"pass": rule}
    assert verdicts(FORMAT, WRITERS[form](tmp_path, [sample("a", value=value)]), **options) == [("a", passed)]


@pytest.mark.parametrize(("value", "rule"), [
    ("P", None), ("N", None), (0.5, None), ("yes", None), ("no", "C"), ([1, 1], None), ({"a": 1}, None), ("P", ">=0.5"),
])
def test_values_without_a_rule_are_refused(tmp_path: Path, value: Any, rule: str | None) -> None:
    options = {} if rule is None else {"pass": rule}
    assert fault(FORMAT, json_log(tmp_path, [sample("a", value=value)]), **options) == ("undeclared_verdict", "line 1, field scores.match.value")


@pytest.mark.parametrize("form", WRITERS)
def test_a_sample_is_an_id_and_an_epoch(tmp_path: Path, form: str) -> None:
    rows, _ = read(FORMAT, WRITERS[form](tmp_path, [sample(1), sample(2), sample(1, 2), sample(2, 2, "I")]))
    assert [(row["id"], row["run"], row["passed"]) for row in rows] == [("1", 1, True), ("2", 1, True), ("1", 2, True), ("2", 2, False)]
    assert fault(FORMAT, json_log(tmp_path, [sample(1), sample(1)])) == ("duplicate_outcome", "line 2, field id")
    assert fault(FORMAT, json_log(tmp_path, [sample(1), sample("1", 2)])) == ("id_in_two_forms", "line 2, field id")
    for epoch in (None, "1", 1.0, True):
        assert fault(FORMAT, json_log(tmp_path, [sample(1, epoch)])) == ("wrong_type", "line 1, field epoch")
    for identifier in (None, "", 1.5, True):
        assert fault(FORMAT, json_log(tmp_path, [sample(identifier)]))[1] == "line 1, field id"


def test_samples_without_a_verdict_keep_their_row_and_are_named(tmp_path: Path) -> None:
    path = json_log(tmp_path, [
        sample("ok"), sample("failed", error={"message": "boom"}, scores={}), sample("void", invalidation={"author": "a", "reason": "leak"}),
        sample("bare", scores=None), sample("edited", scores={"match": {"value": "C", "history": [{"value": "I"}, {"value": "C"}]}}),
        sample("cut", limit={"type": "token", "limit": 10}),
    ], invalidated=True)
    rows, notes = read(FORMAT, path)
    assert [(row["id"], row["passed"]) for row in rows] == [
        ("ok", True), ("failed", None), ("void", None), ("bare", None), ("edited", True), ("cut", True),
    ]
    assert (rows[5]["limit"], "limit" in rows[0]) == ("token", False)
    assert notes == [
        "log_of", "sample_count_not_stated", "texts_as_verdicts", "no_verdict", "sample_error", "invalidated_sample", "edited_score", "no_score",
        "sample_limits",
    ]
    assert [row["passed"] for row in read(FORMAT, path, reducer="any")[0]] == [True, None, None, None, True, True]


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize(("change", "code"), [
    ({"status": "error"}, "log_not_finished"), ({"status": "cancelled"}, "log_not_finished"), ({"status": "started"}, "log_not_finished"),
    ({"version": 1}, "unknown_log_version"), ({"version": 3}, "unknown_log_version"), ({"results": []}, "wrong_type"),
])
def test_a_log_that_is_not_a_finished_one_is_refused(tmp_path: Path, form: str, change: dict[str, Any], code: str) -> None:
    assert fault(FORMAT, WRITERS[form](tmp_path, [sample(1)], **change))[0] == code


def test_a_log_says_how_many_samples_it_should_hold(tmp_path: Path) -> None:
    for stated in (-1, True, "1"):
        path = json_log(tmp_path, [sample(1)], results={"total_samples": stated})
        assert fault(FORMAT, path) == ("sample_count", "log.json, field results.total_samples")
    assert fault(FORMAT, json_log(tmp_path, [sample(1)], eval=[])) == ("not_an_inspect_log", "log.json")
    for stated in (0, 2):
        path = json_log(tmp_path, [sample(1)], results={"total_samples": stated})
        assert fault(FORMAT, path) == ("sample_count", "log.json, field samples")
    assert read(FORMAT, json_log(tmp_path, [sample(1)], results={"total_samples": 1}))[1] == ["log_of", "numbered_ids", "texts_as_verdicts"]
    assert fault(FORMAT, json_log(tmp_path, [sample(1)], invalidated=True)) == ("invalidated_log", "log.json")
    assert fault(FORMAT, json_log(tmp_path, []))[0] == "no_rows"
    assert fault(FORMAT, eval_log(tmp_path, []))[0] == "no_rows"


def test_runs_of_one_item_may_not_disagree_on_its_slice(tmp_path: Path) -> None:
    path = json_log(tmp_path, [sample(1), sample(1, 2, metadata={"topic": "b"})])
    assert [row["slice"] for row in read(FORMAT, path, slice="metadata.topic")[0]] == ["a", "b"]
    assert fault(FORMAT, path, slice="metadata.topic", reducer="all") == ("runs_differ", "line 2, field slice")


@pytest.mark.parametrize("text", [
    '{"scores": {"match": {"value": NaN}}}', '{"scores": {"match": {"value": {"a": NaN}, "history": [{"value": NaN}]}}}',
    '{"events": [{"event": "score", "score": {"value": NaN}}]}', '{"samples": [{"scores": {"m": {"value": [NaN]}}}]}',
    '{"results": {"scores": [{"metrics": {"stderr": {"value": NaN}}}]}}', '{"reductions": [{"samples": [{"value": NaN}]}]}',
])
def test_nan_is_read_where_a_score_stands(text: str) -> None:
    assert parse_log(text.encode(), Where("log.json")) == json.loads(text.replace("NaN", "null"))


@pytest.mark.parametrize(("text", "place"), [
    ('{"id": NaN}', "id"), ('{"metadata": {"x": NaN}}', "metadata.x"), ('{"metadata": {"scores": {"m": {"value": NaN}}}}', "metadata.scores.m.value"),
    ('{"scores": {"m": {"answer": NaN}}}', "scores.m.answer"), ('{"scores": {"m": {"value": {"a": [NaN]}}}}', "scores.m.value.a.0"),
    ("[NaN]", "0"),
])
def test_nan_anywhere_else_is_refused_by_its_place(text: str, place: str) -> None:
    with pytest.raises(RoundError) as caught:
        parse_log(text.encode(), Where("log.json"))
    assert (caught.value.code, str(caught.value.where)) == ("non_finite_number", f"log.json, field {place}")


def test_nan_inside_a_text_is_text() -> None:
    text = r'{"input": "NaN, \"NaN\" and not-scored", "scores": {"m": {"value": NaN, "explanation": "\\NaN\\"}}}'
    assert parse_log(text.encode(), Where("log.json")) == {
        "input": 'NaN, "NaN" and not-scored', "scores": {"m": {"value": None, "explanation": "\\NaN\\"}},
    }


@pytest.mark.parametrize(("text", "code"), [
    ('{"a": Infinity}', "non_finite_number"), ('{"scores": {"m": {"value": -Infinity}}}', "non_finite_number"),
    ('{"a": 1, "a": 2}', "duplicate_json_key"),
    ('{"a": 18446744073709551616}', "integer_out_of_range"), ('{"a": "NaN', "not_json"), ('{"a": NaN', "not_json"), ('{"a": xNaN}', "not_json"),
    ("\ufeff{}", "byte_order_mark"),
])
def test_the_rest_is_as_strict_as_everywhere(text: str, code: str) -> None:
    with pytest.raises(RoundError) as caught:
        parse_log(text.encode(), Where("log.json"))
    assert caught.value.code == code


def test_a_broken_sample_is_named_by_its_member(tmp_path: Path) -> None:
    path = eval_log(tmp_path, [sample(1), '{"id": 2, "epoch": 1, "epoch": 2}'])
    assert fault(FORMAT, path) == ("duplicate_json_key", "log.eval/samples/raw-1_epoch_1.json, field epoch")


def test_a_large_sample_is_a_folder_of_members(tmp_path: Path) -> None:
    """Inspect's chunked shape: samples/{id}_epoch_{epoch}/sample.json, beside it messages, events and attachments in pieces."""
    path = eval_log(tmp_path, [sample("a/b")])
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("samples/big_epoch_1/sample.json", json.dumps(sample("big", value="I")))
        for name in ("metadata.json", "skeleton.json", "messages/0.json", "events/0.json", "events/stats.json", "attachments/0.json"):
            archive.writestr(f"samples/big_epoch_1/{name}", "[]")
    assert verdicts(FORMAT, path) == [("a/b", True), ("big", False)]


def test_a_completion_that_was_put_elsewhere_is_looked_up(tmp_path: Path) -> None:
    output = {"model": "m", "choices": [], "completion": "attachment://abc"}
    path = json_log(tmp_path, [sample(1, output=output, attachments={"abc": "long answer"}), sample(2, output=output, attachments={})])
    assert [row["response"] for row in read(FORMAT, path)[0]] == ["long answer", None]


def test_recognised_by_its_beginning_or_its_name(tmp_path: Path) -> None:
    log = json_log(tmp_path, [sample(1, value=float("nan"))])
    assert recognise([], log)
    assert recognise([header()], log)
    other = tmp_path / "other.json"
    other.write_text('[{"version": 2, "status": "success", "eval": {}}]', "utf-8")
    assert recognise([], other) is None
    assert recognise([], tmp_path / "x.jsonl") is None
