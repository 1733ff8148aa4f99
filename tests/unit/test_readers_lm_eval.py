"""Outcomes of lm-evaluation-harness: one filter, one metric, ids by rule, and no verdict by rounding."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_eval_logs import LOGS, fault, jsonl, lm_row, read, verdicts

from core.rounds.readers.lm_eval import FORMAT, recognise


@pytest.mark.parametrize("chosen", ["strict-match", "flexible-extract"])
def test_samples_that_lm_eval_wrote(chosen: str) -> None:
    """tests/fixtures/eval_logs/SOURCES.md: the right answers are lol, 18, lol, and the model answers lol."""
    path = LOGS / "samples_demo.jsonl"
    rows, notes = read(FORMAT, path, filter=chosen, id="doc.key", slice="doc.subject")
    assert [(row["id"], row["passed"], row["slice"], row["response"]) for row in rows] == [
        ("item-0", True, "law", "lol"), ("item-1", False, "art", "lol"), ("item-2", True, "art", "lol"),
    ]
    assert notes == ["numbers_as_verdicts", "other_filters"]
    assert fault(FORMAT, path)[0] == "several_filters"


@pytest.mark.parametrize(("metric", "passed"), [("acc", [True, True, False]), ("acc_norm", [True, False, False])])
def test_multiple_choice_that_lm_eval_wrote(metric: str, passed: list[bool]) -> None:
    path = LOGS / "samples_demo_mc.jsonl"
    rows, _ = read(FORMAT, path, metric=metric)
    assert [(row["id"], row["passed"], row["response"]) for row in rows] == [(str(number), flag, None) for number, flag in enumerate(passed)]
    assert fault(FORMAT, path) == ("missing_option", "line 1, field metric")


def test_rows_become_outcomes_and_the_notes_say_what_was_made_of_them(tmp_path: Path) -> None:
    rows, notes = read(FORMAT, jsonl(tmp_path, [lm_row(0), lm_row(1, exact_match=0.0)]), arm="candidate")
    assert rows == [
        {"id": str(number), "arm": "candidate", "passed": not number, "response": "The answer is 18.", "doc_hash": "0" * 64, "prompt_hash": "1" * 64,
         "target_hash": "2" * 64} for number in (0, 1)
    ]
    assert notes == ["numbered_ids", "numbers_as_verdicts"]


def test_a_declared_field_of_the_document_is_the_id(tmp_path: Path) -> None:
    path = jsonl(tmp_path, [lm_row(0), lm_row(1)])
    assert [name for name, _ in verdicts(FORMAT, path, id="doc.key")] == ["item-0", "item-1"]
    assert fault(FORMAT, path, id="doc.keys") == ("missing_field", "line 1, field doc.keys")
    assert fault(FORMAT, path, id="target") == ("duplicate_outcome", "line 2, field target")
    # case 21: texts that look like numbers, dates or UUIDs stay as they are
    ids = ["007", "7", "2024-01-05", "550E8400-E29B-41D4-A716-446655440000"]
    path = jsonl(tmp_path, [lm_row(number, doc={"key": name}) for number, name in enumerate(ids)])
    assert [name for name, _ in verdicts(FORMAT, path, id="doc.key")] == ids


def test_filters_are_never_mixed(tmp_path: Path) -> None:
    both = [lm_row(0), lm_row(0, filter="flexible-extract", exact_match=0.0), lm_row(1), lm_row(1, filter="flexible-extract", exact_match=0.0)]
    path = jsonl(tmp_path, both)
    assert fault(FORMAT, path) == ("several_filters", "line 2, field filter")
    assert verdicts(FORMAT, path, filter="strict-match") == [("0", True), ("1", True)]
    rows, notes = read(FORMAT, path, filter="flexible-extract")
    assert [row["passed"] for row in rows] == [False, False]
    assert "other_filters" in notes
    assert fault(FORMAT, path, filter="none") == ("no_rows", "samples_demo.jsonl, field filter")


def test_the_filters_of_the_whole_file_are_listed_where_one_has_to_be_declared(tmp_path: Path) -> None:
    """Two documents under three filters, and a row that is no object: the third filter comes after the one at which reading stops."""
    rows: list[Any] = [lm_row(number, filter=name) for number in (0, 1) for name in ("strict-match", "flexible", "none")]
    values, _ = read(FORMAT, jsonl(tmp_path, [*rows, []]))
    assert (values[1].expected, values[1].got) == (
        "one filter, declared (--option filter=NAME)", "3 filters: flexible (2 rows), none (2 rows), strict-match (2 rows)",
    )


@pytest.mark.parametrize("metric", ["ter", "word_perplexity", "Brier_Score", "pct_stereotype"])
def test_a_metric_of_which_less_is_better_needs_a_rule(tmp_path: Path, metric: str) -> None:
    """Read as it stands, the 1 of such a metric would be a pass."""
    path = jsonl(tmp_path, [lm_row(0, metrics=[metric], **{metric: 1.0}), lm_row(1, metrics=[metric], **{metric: 0.0})])
    assert fault(FORMAT, path) == ("undeclared_direction", f"samples_demo.jsonl, field {metric}")
    assert fault(FORMAT, path, metric=metric)[0] == "undeclared_direction"
    assert verdicts(FORMAT, path, **{"pass": "<=0.5"}) == [("0", False), ("1", True)]


def test_a_fraction_says_which_option_declares_what_passes(tmp_path: Path) -> None:
    (value,), _ = read(FORMAT, jsonl(tmp_path, [lm_row(0, exact_match=0.5)]))
    assert "--option 'pass=>=0.5'" in value.expected
    (value,), _ = read(FORMAT, jsonl(tmp_path, [lm_row(0, exact_match=[1])]), **{"pass": ">=0.25"})
    assert value.expected == "a value that the declared rule pass=>=0.25 speaks of"


def test_tasks_that_number_their_documents_alike_are_told_apart_by_a_prefix(tmp_path: Path) -> None:
    path = jsonl(tmp_path, [lm_row(0), lm_row(1)])
    assert [name for name, _ in verdicts(FORMAT, path, prefix="gsm8k/")] == ["gsm8k/0", "gsm8k/1"]
    values, _ = read(FORMAT, jsonl(tmp_path, [lm_row(0), lm_row(0)]), prefix="gsm8k/")
    assert values[1].got == '"gsm8k/0" twice'


def test_a_file_of_an_older_release_has_neither_filter_nor_list_of_metrics(tmp_path: Path) -> None:
    old = {name: value for name, value in lm_row(0).items() if name not in ("filter", "metrics")}
    assert verdicts(FORMAT, jsonl(tmp_path, [old])) == [("0", True)]


def test_the_metric_is_declared_where_there_are_several(tmp_path: Path) -> None:
    row = lm_row(0, metrics=["acc", "acc_norm"], acc=0.0, acc_norm=1.0)
    path = jsonl(tmp_path, [row])
    assert fault(FORMAT, path) == ("missing_option", "line 1, field metric")
    assert verdicts(FORMAT, path, metric="acc_norm") == [("0", True)]
    assert fault(FORMAT, path, metric="acc_nrm") == ("missing_field", "line 1, field acc_nrm")


def test_a_document_said_twice_is_refused_by_name(tmp_path: Path) -> None:
    rows, _ = read(FORMAT, jsonl(tmp_path, [lm_row(7), lm_row(8), lm_row(7)]))
    assert (rows[2].code, rows[2].got) == ("duplicate_outcome", '"7" twice')
    other = lm_row(7, doc={"key": "another"})
    assert fault(FORMAT, jsonl(tmp_path, [lm_row(7), other]), id="doc.key") == ("duplicate_outcome", "line 2, field doc_id")


def test_an_id_in_two_forms_is_refused(tmp_path: Path) -> None:
    assert fault(FORMAT, jsonl(tmp_path, [lm_row(1), lm_row(0, doc_id="1")])) == ("id_in_two_forms", "line 2, field doc_id")
    for identifier in (True, 1.0, None, ""):
        assert fault(FORMAT, jsonl(tmp_path, [lm_row(0, doc_id=identifier)]))[1] == "line 1, field doc_id"


@pytest.mark.parametrize(("value", "rule", "passed"), [
    (True, None, True), (False, None, False), (1, None, True), (0.0, None, False), (None, None, None),
    (0.5, ">=0.5", True), (0.49999, ">=0.5", False), (0.5, ">0.5", False), (0.2, "<=0.2", True), (0.2, "<0.2", False),
    (1.0, "1", True), (0.99, "1", False), (0, "0", True), (1, "0", False), (0.3, "0.3", True), (True, "false", False), (False, "false", True),
    ("yes", "yes", True),
])
def test_a_value_becomes_a_verdict_by_its_type_or_a_declared_rule(tmp_path: Path, value: Any, rule: str | None, passed: bool | None) -> None:
    options = {} if rule is None else {"pass": rule}
    assert verdicts(FORMAT, jsonl(tmp_path, [lm_row(0, exact_match=value)]), **options) == [("0", passed)]


@pytest.mark.parametrize(("value", "rule"), [
    (0.5, None), (2, None), ("1", None), ([True, False], None), ({"a": 1}, None), ("no", "yes"), (1, "yes"), ([1], "1"), (0.9999999999, None),
])
def test_a_value_without_a_rule_is_refused_and_never_rounded(tmp_path: Path, value: Any, rule: str | None) -> None:
    options = {} if rule is None else {"pass": rule}
    path = jsonl(tmp_path, [lm_row(0, exact_match=None), lm_row(1, exact_match=value)])
    assert fault(FORMAT, path, **options) == ("undeclared_verdict", "line 2, field exact_match")


def test_texts_that_fail_are_listed(tmp_path: Path) -> None:
    path = jsonl(tmp_path, [lm_row(0, exact_match="yes"), lm_row(1, exact_match="no")])
    assert verdicts(FORMAT, path, **{"pass": "yes", "fail": "no,maybe"}) == [("0", True), ("1", False)]
    for options in ({"pass": "yes", "fail": "yes"}, {"fail": "no"}):
        assert fault(FORMAT, path, **options)[0] == "bad_option"


def test_slices_come_from_a_declared_place(tmp_path: Path) -> None:
    path = jsonl(tmp_path, [lm_row(0, doc={"subject": "law", "group": None})])
    rows, _ = read(FORMAT, path, slice="doc.subject", cluster="doc.group")
    assert (rows[0]["slice"], rows[0]["cluster"]) == ("law", None)
    assert fault(FORMAT, path, slice="doc.topic") == ("missing_field", "line 1, field doc.topic")


def test_log_likelihoods_are_no_response(tmp_path: Path) -> None:
    choices = lm_row(0, resps=[[["-3.0", "False"]], [["-4.0", "False"]]], filtered_resps=[["-3.0", "False"], ["-4.0", "False"]])
    assert read(FORMAT, jsonl(tmp_path, [choices]))[0][0]["response"] is None


def test_broken_files_are_refused_by_place(tmp_path: Path) -> None:
    cut = jsonl(tmp_path, [lm_row(0)])
    cut.write_text(cut.read_text("utf-8") + '{"doc_id": 1, "doc"', "utf-8")
    assert fault(FORMAT, cut) == ("cut_last_line", "samples_demo.jsonl, line 2")
    nan = jsonl(tmp_path, [lm_row(0), lm_row(1, exact_match=float("nan"))])
    assert fault(FORMAT, nan) == ("non_finite_number", "line 2, field exact_match")
    twice = jsonl(tmp_path, ['{"doc_id": 0, "doc_id": 1, "doc": {}, "filtered_resps": [], "exact_match": 1}'])
    assert fault(FORMAT, twice) == ("duplicate_json_key", "line 1, field doc_id")
    assert fault(FORMAT, jsonl(tmp_path, [])) == ("no_rows", "samples_demo.jsonl, field filter")
    marked = tmp_path / "marked.jsonl"
    marked.write_bytes(b"\xef\xbb\xbf" + jsonl(tmp_path, [lm_row(0), lm_row(1)]).read_bytes().replace(b"\n", b"\r\n") + b"\r\n")
    assert [name for name, _ in verdicts(FORMAT, marked)] == ["0", "1"]


def test_recognised_by_its_keys_only(tmp_path: Path) -> None:
    path = tmp_path / "any.jsonl"
    assert recognise([lm_row(0), lm_row(1)], path)
    assert recognise([lm_row(0), {"doc_id": 1}], path) is None
    assert recognise([], path) is None
