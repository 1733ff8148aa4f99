"""Rated pairs: UltraFeedback-binarized and Argilla's ratings; ties, missing and reversed ratings are named and counted."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support_formats import assistant, codes, column, extras, note, quarantine, read, reasons, refused, texts, user


def binarized(chosen: Any, rejected: Any, **more: Any) -> dict[str, Any]:
    """A row as the data set has it: both sides are conversations, and ``messages`` repeats the chosen one."""
    talk = [user("Say hi."), assistant("Hi.")]
    return {
        "prompt": "Say hi.", "prompt_id": "ab12", "chosen": talk, "rejected": [user("Say hi."), assistant("No.")], "messages": talk,
        "score_chosen": chosen, "score_rejected": rejected,
    } | more


@pytest.mark.parametrize("name", ["train_prefs.parquet", "train_prefs.jsonl.zst"])
def test_ultrafeedback_rows(tmp_path: Path, name: str) -> None:
    source, report = read(tmp_path, name, [binarized(8.5, 6.0)])
    assert texts(source) == [{"prompt": [user("Say hi.")], "chosen": [assistant("Hi.")], "rejected": [assistant("No.")]}]
    assert (column(source, "chosen_score"), column(source, "rejected_score")) == ([8.5], [6.0])
    assert extras(source) == [{"prompt_id": "ab12"}]
    assert note(report, "messages_repeat_chosen") == f"{name}: 1 rows repeat their chosen side under messages, which is not kept twice"
    assert "ultrafeedback" in note(report, "foreign_format")


def test_messages_that_say_something_else_are_kept_where_they_were_not_shown(tmp_path: Path) -> None:
    rows = [binarized(2.0, 1.0, messages=[user("Other?")])]
    assert refused(tmp_path / "a", "a.jsonl", rows).code == "unread_text"
    source, _ = read(tmp_path / "b", "a.jsonl", rows, unread="messages")
    assert extras(source) == [{"prompt_id": "ab12", "messages": [user("Other?")]}]


def test_a_declared_id_column_is_used(tmp_path: Path) -> None:
    source, _ = read(tmp_path, "a.jsonl", [binarized(2.0, 1.0)], ids="", column__pair_id="prompt_id")
    assert (column(source, "pair_id"), extras(source)) == (["ab12"], [None])


ROWS = [binarized(8.0, 6.0), binarized(7.0, 7.0), binarized(None, 1.0), binarized(5.0, 5.5), binarized(3.0, 3.0)]


def test_ratings_that_decide_nothing_are_quarantined_and_counted(tmp_path: Path) -> None:
    source, report = read(tmp_path, "a.jsonl", ROWS)
    assert quarantine(source) == [
        ("a.jsonl", 2, "score_rejected", "tied_score"), ("a.jsonl", 3, "score_chosen", "missing_score"),
        ("a.jsonl", 4, "score_rejected", "reversed_score"), ("a.jsonl", 5, "score_rejected", "tied_score"),
    ]
    assert (report.counts["pairs"], report.quarantined) == (1, 4)
    assert reasons(report) == {"tied_score": 2, "missing_score": 1, "reversed_score": 1}
    assert not set(reasons(report)) & set(codes(report))


def test_ratings_that_decide_nothing_may_be_kept_and_are_counted_all_the_same(tmp_path: Path) -> None:
    source, report = read(tmp_path, "a.jsonl", ROWS, ties="keep", unscored="keep", reversed="keep")
    assert report.quarantined == 0
    assert column(source, "chosen_score") == [8.0, 7.0, None, 5.0, 3.0]
    assert note(report, "tied_score") == "a.jsonl: 2 pairs have equal ratings; kept, as declared"
    assert {"missing_score", "reversed_score"} <= set(codes(report))


def test_a_rating_that_is_no_number_is_quarantined(tmp_path: Path) -> None:
    source, _ = read(tmp_path, "a.jsonl", [binarized("8", 6), binarized(True, 0)])
    assert [row[2:] for row in quarantine(source)] == [("score_chosen", "wrong_type"), ("score_chosen", "wrong_type")]


def test_a_rating_that_is_not_finite_is_quarantined(tmp_path: Path) -> None:
    rows = [binarized(score, 1.0) for score in (2.0, float("nan"), float("inf"))]
    source, _ = read(tmp_path, "a.parquet", rows, ties="keep", unscored="keep")
    assert [row[1:] for row in quarantine(source)] == [(2, "score_chosen", "non_finite_number"), (3, "score_chosen", "non_finite_number")]


@pytest.mark.parametrize("name", ["score_chosen", "score_rejected"])
def test_ratings_as_float32_are_refused(tmp_path: Path, name: str) -> None:
    table = pa.Table.from_pylist([binarized(2.0, 1.0)])
    place = table.schema.get_field_index(name)
    error = refused(tmp_path, "a.parquet", table.set_column(place, name, table[name].cast(pa.float32())))
    assert (error.code, error.where and error.where.field) == ("float_column", name)


@pytest.mark.parametrize("key", ["prompt", "instruction", "input", "question"])
@pytest.mark.parametrize("mark", ["_", "-"])
def test_argilla_rows_under_each_spelling(tmp_path: Path, key: str, mark: str) -> None:
    row = {key: "Say hi.", "chosen": "Hi.", "rejected": "No.", f"chosen{mark}rating": 5, f"rejected{mark}rating": 2, f"chosen{mark}model": "m"}
    source, report = read(tmp_path, "a.jsonl", [row])
    assert texts(source) == [{"prompt": "Say hi.", "chosen": "Hi.", "rejected": "No."}]
    assert (column(source, "chosen_score"), column(source, "rejected_score"), extras(source)) == ([5.0], [2.0], [{f"chosen{mark}model": "m"}])
    assert "was read as argilla" in note(report, "foreign_format")


def test_argilla_conversations_hold_their_prompt(tmp_path: Path) -> None:
    talk = {"chosen": [user("Say hi."), assistant("Hi.")], "rejected": [user("Say hi."), assistant("No.")]}
    source, _ = read(tmp_path, "a.jsonl", [talk | {"chosen_rating": 4.5, "rejected_rating": 4.5}], ties="keep")
    assert texts(source)[0]["prompt"] == [user("Say hi.")]
