"""UltraFeedback as OpenBMB published it: the declared score, N/A, ties, missing replies, and the known fault of overall_score.

Shape of a row: OpenBMB/UltraFeedback README.md ("Dataset Format"; ratings are text, ``"Rating": "2"``), with ``critique``, ``overall_score`` and
``fine-grained_score`` as the published data set has them. The fault and the bounds of its repair: the same README, "Update", and issue 8.
Grades are by hand: completion A 3, 3, 3, N/A and so on.
"""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support_formats import assistant, codes, column, extras, note, quarantine, read, reasons, refused, texts, user, written

from core.rounds.readers.formats import FORMATS, detect

ASPECTS = ("instruction_following", "honesty", "truthfulness", "helpfulness")
BEST_WORST = {"pair": "best_worst"}


def completion(response: Any, ratings: tuple[Any, ...] = ("3", "3", "3", "3"), overall: Any = 7.0, fine: Any = 3.0, **more: Any) -> dict[str, Any]:
    return {
        "model": f"model of {response}", "principle": "helpfulness", "custom_system_prompt": "", "response": response, "critique": "Fine.",
        "annotations": {aspect: {"Rating": rating, "Rationale": "Because."} for aspect, rating in zip(ASPECTS, ratings, strict=True)},
        "overall_score": overall, "fine-grained_score": fine,
    } | more


def row(*completions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "source": "sharegpt", "instruction": "Say hi.", "models": [item["model"] for item in completions], "correct_answers": ["None"],
        "incorrect_answers": ["None"], "completions": list(completions),
    } | more


A = completion("A", ("2", "3", "3", "3"), 6.0, 2.75)
B = completion("B", ("5", "5", "5", "4"), 8.5, 4.75)
C = completion("C", ("1", "N/A", "1", "2"), 7.0, 1.25)
# ratings_mean: A 11/4, B 19/4, C none (one aspect is N/A); fine-grained: B first, C last; overall: B first, A last


@pytest.mark.parametrize("name", ["a.jsonl", "a.json.gz", "a.parquet", "a.arrow"])
def test_the_format_is_told_by_its_rows(tmp_path: Path, name: str) -> None:
    found, why = detect(written(tmp_path, name, [row(A, B)] * 3), name)
    assert (found.name, why.startswith("every row looked at has an instruction, and completions")) == ("ultrafeedback-raw", True)


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
@pytest.mark.parametrize(("score", "chosen", "rejected", "grades"), [
    ("overall_score", "B", "A", (8.5, 6.0)), ("fine-grained_score", "B", "C", (4.75, 1.25)), ("instruction_following", "B", "C", (5.0, 1.0)),
    ("helpfulness", "B", "C", (4.0, 2.0)),
])
def test_the_declared_score_decides_best_against_worst(
    tmp_path: Path, name: str, score: str, chosen: str, rejected: str, grades: tuple[float, float],
) -> None:
    source, report = read(tmp_path, name, [row(A, B, C)], score=score, **BEST_WORST)
    assert texts(source) == [{"prompt": "Say hi.", "chosen": chosen, "rejected": rejected}]
    assert (column(source, "chosen_score"), column(source, "rejected_score")) == ([grades[0]], [grades[1]])
    assert column(source, "source") == ["sharegpt"]
    kept = extras(source)[0]
    assert (kept["chosen_model"], kept["rejected_model"]) == (f"model of {chosen}", f"model of {rejected}")
    assert (kept["chosen_index"], kept["rejected_index"]) == ("ABC".index(chosen), "ABC".index(rejected))
    assert [item["response"] for item in kept["completions"]] == ["A", "B", "C"] and kept["models"] == row(A, B, C)["models"]
    assert f"score={score}" in note(report, "foreign_format")


def test_score_and_pairing_have_no_default(tmp_path: Path) -> None:
    assert refused(tmp_path / "a", "a.jsonl", [row(A, B)], **BEST_WORST).code == "missing_option"
    assert refused(tmp_path / "b", "a.jsonl", [row(A, B)], score="overall_score").code == "missing_option"
    error = refused(tmp_path / "c", "a.jsonl", [row(A, B)], score="overall_score", pair="best_random")
    assert error.code == "unknown_value" and "not the same twice" in error.remedy


def test_a_rating_that_is_not_applicable_is_missing_and_counted(tmp_path: Path) -> None:
    """Honesty of C is N/A: no grade; the mean over the aspects needs all four."""
    for score, code in (("honesty", "missing_score"), ("ratings_mean", "missing_score")):
        source, report = read(tmp_path / score, "a.jsonl", [row(A, B, C)], score=score, **BEST_WORST)
        assert quarantine(source) == [("a.jsonl", 1, f"completions[2].{score}", code)]
        assert note(report, "not_rated") == "a.jsonl: 1 grades are N/A and count as missing"
        assert reasons(report) == {code: 1}
    source, report = read(tmp_path / "left", "a.jsonl", [row(A, B, C)], score="ratings_mean", unscored="leave_out", **BEST_WORST)
    assert texts(source) == [{"prompt": "Say hi.", "chosen": "B", "rejected": "A"}]
    assert (column(source, "chosen_score"), column(source, "rejected_score")) == ([4.75], [2.75])  # 19/4 and 11/4
    assert "replies_left_out" in codes(report)


@pytest.mark.parametrize(("made", "field", "code"), [
    ((A, A), "overall_score", "tied_score"),
    ((A, B, B), "overall_score", "tied_score"),
    ((A, completion("D", overall=None)), "completions[1].overall_score", "missing_score"),
    ((A, {key: value for key, value in B.items() if key != "overall_score"}), "completions[1].overall_score", "missing_score"),
    ((B,), "overall_score", "tied_score"),
    ((A, completion(None)), "completions[1].response", "missing_reply"),
    ((A, completion(7)), "completions[1].response", "wrong_type"),
    ((A, completion("D", overall="high")), "completions[1].overall_score", "wrong_type"),
    ((A, completion("D", overall=True)), "completions[1].overall_score", "wrong_type"),
    ((A, completion("D", overall="1e999")), "completions[1].overall_score", "number_out_of_range"),
])
def test_rows_that_make_no_pair_are_named(tmp_path: Path, made: tuple[dict[str, Any], ...], field: str, code: str) -> None:
    source, _ = read(tmp_path, "a.jsonl", [row(A, B), row(*made)], "ultrafeedback-raw", score="overall_score", **BEST_WORST)
    assert quarantine(source) == [("a.jsonl", 2, field, code)]


@pytest.mark.parametrize(("annotations", "field", "code"), [
    ({}, "completions[1].honesty", "missing_score"), ({"honesty": {}}, "completions[1].honesty", "missing_score"),
    ({"honesty": "5"}, "completions[1].annotations", "wrong_type"), ([{"Rating": "5"}], "completions[1].annotations", "wrong_type"),
    ({"honesty": {"Rating": "five"}}, "completions[1].annotations.honesty.Rating", "wrong_type"),
])
def test_annotations_that_cannot_be_read_are_named(tmp_path: Path, annotations: Any, field: str, code: str) -> None:
    source, _ = read(tmp_path, "a.jsonl", [row(A, B | {"annotations": annotations})], "ultrafeedback-raw", score="honesty", **BEST_WORST)
    assert quarantine(source) == [("a.jsonl", 1, field, code)]


TEN = completion("D", ("1", "1", "1", "1"), 10, 1.0)


@pytest.mark.parametrize(("fine", "doubtful"), [(1.0, True), (4.0, True), (4.25, False), (None, False), (5, False)])
def test_a_ten_beside_low_ratings_is_warned_of_and_changed_by_nobody(tmp_path: Path, fine: Any, doubtful: bool) -> None:
    """Issue 8: completions that the critic rated 1 got 10. The repair let a 10 stand above a fine-grained score of 4 alone."""
    source, report = read(tmp_path, "a.jsonl", [row(A, TEN | {"fine-grained_score": fine})], score="overall_score", **BEST_WORST)
    assert (texts(source)[0]["chosen"], column(source, "chosen_score")) == ("D", [10.0])
    found = [item for item in report.notes if item.code == "doubtful_overall_score"]
    assert [item.severity for item in found] == (["warning"] if doubtful else [])
    assert all("issue 8" in item.text and "a.jsonl: 1 pairs" in item.text for item in found)


def test_another_score_does_not_ask_about_the_ten(tmp_path: Path) -> None:
    source, report = read(tmp_path, "a.jsonl", [row(A, TEN)], score="fine-grained_score", **BEST_WORST)
    assert texts(source)[0]["chosen"] == "A" and "doubtful_overall_score" not in codes(report)


def test_the_system_text_of_a_completion_is_text_for_a_model(tmp_path: Path) -> None:
    """Each completion was written under a system text of its own; a pair has one prompt, so that nobody decides it silently."""
    rows = [row(A | {"custom_system_prompt": "Be truthful."}, B)]
    error = refused(tmp_path / "a", "a.jsonl", rows, score="overall_score", **BEST_WORST)
    assert (error.code, error.where and error.where.field) == ("unread_text", "custom_system_prompt")
    _, report = read(tmp_path / "b", "a.jsonl", rows, score="overall_score", unread="custom_system_prompt", **BEST_WORST)
    assert note(report, "unread_text").startswith("a.jsonl: 1 pairs hold text under 'custom_system_prompt'")


def test_columns_beside_the_completions_follow_the_rule_of_every_format(tmp_path: Path) -> None:
    rows = [row(A, B, system="Be brief.", history=[["a", "b"]])]
    assert refused(tmp_path / "a", "a.jsonl", rows, score="overall_score", **BEST_WORST).code == "unread_text"
    source, _ = read(tmp_path / "b", "a.jsonl", rows, score="overall_score", system="system", history="history", **BEST_WORST)
    assert texts(source) == [{
        "prompt": [{"role": "system", "content": "Be brief."}, user("a"), assistant("b"), user("Say hi.")],
        "chosen": [assistant("B")], "rejected": [assistant("A")],
    }]


@pytest.mark.parametrize("change", [{"completions": None}, {"completions": []}, {"completions": ["a"]}, {"completions": {"a": 1}}])
def test_completions_that_are_none_are_named(tmp_path: Path, change: dict[str, Any]) -> None:
    source, _ = read(tmp_path, "a.jsonl", [row(A, B) | change], "ultrafeedback-raw", score="overall_score", **BEST_WORST)
    assert quarantine(source) == [("a.jsonl", 1, "completions", "wrong_type")]


def test_a_float32_score_is_refused(tmp_path: Path) -> None:
    item = pa.struct([("response", pa.string()), ("overall_score", pa.float32())])
    made = [{"response": "a", "overall_score": 4.5}, {"response": "b", "overall_score": 1}]
    table = pa.table({"instruction": ["i"], "completions": pa.array([made], pa.list_(item))})
    error = refused(tmp_path, "a.parquet", table, score="overall_score", **BEST_WORST)
    assert (error.code, error.where and error.where.field) == ("float_column", "overall_score")


def test_the_formats_options_are_those_of_graded_replies() -> None:
    assert {"score", "pair", "ties", "unscored", "unread"} <= set(FORMATS["ultrafeedback-raw"].options)
