"""distilabel's rows before they are pairs: the declared rule, ties, missing ratings and texts, and what stays in extra.

The rows have the columns that distilabel documents: ``GroupColumns`` (generations, generation_models), ``UltraFeedback`` (ratings, null where the
judge's answer could not be read; rationales) and ``FormatTextGenerationDPO`` (system_prompt; the best and the worst by rating, the first of
equal ones), in argilla-io/distilabel, src/distilabel/steps/formatting/dpo.py, steps/tasks/ultrafeedback.py and steps/columns/group.py;
version 0.x (input, rating): src/distilabel/tasks/preference/base.py.
"""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support_formats import assistant, codes, column, extras, note, quarantine, read, reasons, refused, texts, user, written

from core.rounds.readers.containers import first_values
from core.rounds.readers.formats import FORMATS, detect

MODELS = ["m/a", "m/b", "m/c"]


def row(*ratings: Any, **more: Any) -> dict[str, Any]:
    """One instruction with a generation for each rating: R0, R1, ..."""
    count = len(ratings)
    return {
        "instruction": "Say hi.", "generations": [f"R{number}" for number in range(count)], "generation_models": MODELS[:count],
        "ratings": list(ratings), "rationales": ["because"] * count, "model_name": "judge/x",
    } | more


def side(source: Any) -> list[tuple[Any, Any]]:
    return [(found["chosen"], found["rejected"]) for found in texts(source)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.parquet", "a.arrow.zst"])
def test_the_best_against_the_worst(tmp_path: Path, name: str) -> None:
    source, report = read(tmp_path, name, [row(3, 5, 1), row(2, 4)], pair="best_worst")
    assert texts(source) == [{"prompt": "Say hi.", "chosen": "R1", "rejected": "R2"}, {"prompt": "Say hi.", "chosen": "R1", "rejected": "R0"}]
    assert (column(source, "chosen_score"), column(source, "rejected_score")) == ([5.0, 4.0], [1.0, 2.0])
    kept = extras(source)[0]
    assert kept == {
        "generations": ["R0", "R1", "R2"], "generation_models": MODELS, "ratings": [3, 5, 1], "rationales": ["because"] * 3, "model_name": "judge/x",
        "chosen_index": 1, "rejected_index": 2, "chosen_model": "m/b", "rejected_model": "m/c",
    }
    assert "was read as distilabel" in note(report, "foreign_format")
    assert (report.counts["pairs"], report.quarantined) == (2, 0)


def test_no_pair_without_a_declared_rule(tmp_path: Path) -> None:
    error = refused(tmp_path, "a.jsonl", [row(3, 5)])
    assert (error.code, error.where and error.where.field) == ("missing_option", "option pair of distilabel")
    assert refused(tmp_path, "a.jsonl", [row(3, 5)], pair="best_random").code == "unknown_value"


@pytest.mark.parametrize(("spelled", "old"), [
    ({"prompt": "Say hi."}, "instruction"), ({"input": "Say hi."}, "instruction"), ({"responses": ["R0", "R1"]}, "generations"),
    ({"rating": [1, 2]}, "ratings"), ({"models": MODELS[:2]}, "generation_models"), ({"generation_model": MODELS[:2]}, "generation_models"),
])
def test_other_spellings(tmp_path: Path, spelled: dict[str, Any], old: str) -> None:
    changed = row(1, 2) | spelled
    del changed[old]
    source, _ = read(tmp_path, "a.jsonl", [changed], pair="best_worst")
    assert texts(source) == [{"prompt": "Say hi.", "chosen": "R1", "rejected": "R0"}]
    assert extras(source)[0]["chosen_model"] == "m/b"


def test_two_spellings_are_quarantined_until_one_is_declared(tmp_path: Path) -> None:
    rows = [row(1, 2, responses=["S0", "S1"])]
    source, _ = read(tmp_path / "auto", "a.jsonl", rows, pair="best_worst")
    assert quarantine(source) == [("a.jsonl", 1, "generations", "ambiguous_column")]
    source, _ = read(tmp_path / "told", "a.jsonl", rows, pair="best_worst", generations="responses")
    assert side(source) == [("S1", "S0")]
    assert extras(source)[0]["generations"] == ["R0", "R1"]


def test_a_rating_of_another_name_is_declared(tmp_path: Path) -> None:
    rows = [row(1, 2, ratings_honesty=[9, 3])]
    source, _ = read(tmp_path, "a.jsonl", rows, "distilabel", pair="best_worst", ratings="ratings_honesty")
    assert side(source) == [("R0", "R1")]


def test_a_system_prompt_and_a_conversation_become_messages(tmp_path: Path) -> None:
    talk = [user("Hello."), assistant("Yes?"), user("Say hi.")]
    chat = row(1, 2, messages=talk)
    del chat["instruction"]
    source, _ = read(tmp_path, "a.jsonl", [row(1, 2, system_prompt="Be kind."), chat, row(1, 2, system_prompt=None)], pair="best_worst")
    sides = {"chosen": [assistant("R1")], "rejected": [assistant("R0")]}
    assert texts(source) == [
        {"prompt": [{"role": "system", "content": "Be kind."}, user("Say hi.")]} | sides, {"prompt": talk} | sides,
        {"prompt": "Say hi.", "chosen": "R1", "rejected": "R0"},
    ]
    assert all("messages" not in kept and "system_prompt" not in kept for kept in extras(source))


TIES = [row(5, 5, 1), row(5, 1, 1), row(3, 3), row(5, 5.0, 5), row(5, 3, 1)]


def test_ties_at_an_end_are_quarantined_and_counted(tmp_path: Path) -> None:
    source, report = read(tmp_path, "a.jsonl", TIES, pair="best_worst")
    assert quarantine(source) == [("a.jsonl", line, "ratings", "tied_score") for line in (1, 2, 3, 4)]
    assert (side(source), report.quarantined) == ([("R0", "R2")], 4)
    assert reasons(report) == {"tied_score": 4}


def test_the_first_of_equal_ends_may_be_declared_but_equal_ratings_never_make_a_pair(tmp_path: Path) -> None:
    """As distilabel's max and min take the first; where all are equal these would pair a generation with itself."""
    source, _ = read(tmp_path, "a.jsonl", TIES, pair="best_worst", ties="first")
    assert side(source) == [("R0", "R2"), ("R0", "R1"), ("R0", "R2")]
    assert quarantine(source) == [("a.jsonl", line, "ratings", "tied_score") for line in (3, 4)]


MISSING = [row(None, 5, 1), row(None, 5), row(None, None), row(1, 5, generations=[None, "R1"]), row(1, 5, 3, generations=["R0", None, "R2"])]


def test_missing_ratings_and_generations_are_quarantined_and_counted(tmp_path: Path) -> None:
    source, report = read(tmp_path, "a.jsonl", MISSING, pair="best_worst")
    assert quarantine(source) == [
        ("a.jsonl", 1, "ratings", "missing_score"), ("a.jsonl", 2, "ratings", "missing_score"), ("a.jsonl", 3, "ratings", "missing_score"),
        ("a.jsonl", 4, "generations", "missing_reply"), ("a.jsonl", 5, "generations", "missing_reply"),
    ]
    assert reasons(report) == {"missing_score": 3, "missing_reply": 2}


def test_incomplete_replies_may_be_left_out_where_two_are_left(tmp_path: Path) -> None:
    source, report = read(tmp_path, "a.jsonl", MISSING, pair="best_worst", unscored="leave_out")
    assert side(source) == [("R1", "R2"), ("R2", "R0")]
    assert [found[1] for found in quarantine(source)] == [2, 3, 4]
    assert "2 rows have replies that lack a grade or a text" in note(report, "replies_left_out")


@pytest.mark.parametrize(("changed", "field", "code"), [
    ({"ratings": [1, 2, 3]}, "ratings", "lengths_differ"), ({"ratings": ["1", "2"]}, "ratings", "wrong_type"),
    ({"ratings": [True, False]}, "ratings", "wrong_type"), ({"ratings": None}, "ratings", "wrong_type"), ({"ratings": []}, "ratings", "wrong_type"),
    ({"ratings": {"a": 1}}, "ratings", "wrong_type"), ({"generations": "R0"}, "generations", "wrong_type"),
    ({"generations": ["R0", 7]}, "generations", "wrong_type"), ({"generations": ["R0", ["R1"]]}, "generations", "wrong_type"),
    ({"instruction": 7}, "prompt", "wrong_type"), ({"instruction": []}, "prompt", "wrong_type"),
    ({"system_prompt": 7}, "system_prompt", "wrong_type"),
    ({"chosen": "x"}, "chosen", "said_twice"), ({"chosen_score": 1}, "chosen_score", "said_twice"),
    ({"chosen_index": 1}, "chosen_index", "said_twice"),
])
def test_hostile_rows_are_quarantined_by_name(tmp_path: Path, changed: dict[str, Any], field: str, code: str) -> None:
    source, report = read(tmp_path, "a.jsonl", [row(1, 2) | changed, row(1, 2)], "distilabel", pair="best_worst")
    assert quarantine(source) == [("a.jsonl", 1, field, code)]
    assert report.counts["pairs"] + report.quarantined == 2


@pytest.mark.parametrize("key", ["instruction", "generations", "ratings"])
def test_a_row_without_one_of_them_is_quarantined(tmp_path: Path, key: str) -> None:
    changed = row(1, 2)
    del changed[key]
    source, _ = read(tmp_path, "a.jsonl", [changed, row(1, 2)], "distilabel", pair="best_worst")
    assert quarantine(source) == [("a.jsonl", 1, key, "missing_field")]


def test_ratings_are_compared_as_decimals_and_infinity_is_none(tmp_path: Path) -> None:
    rows = [row(0.1, 0.30000000000000004, 0.3), row(1.0, float("inf")), row(1.0, float("nan"))]
    source, _ = read(tmp_path, "a.parquet", rows, pair="best_worst")
    assert side(source) == [("R1", "R0")]
    assert [found[1:] for found in quarantine(source)] == [(2, "ratings[1]", "non_finite_number"), (3, "ratings[1]", "non_finite_number")]


@pytest.mark.parametrize("digits", [20, 400, 5000])
def test_integers_of_any_length_make_no_crash(tmp_path: Path, digits: int) -> None:
    rows = b'{"instruction": "q", "generations": ["a", "b"], "ratings": [1, ' + b"9" * digits + b"]}\n"
    source, report = read(tmp_path, "a.jsonl", rows, "distilabel", pair="best_worst")
    assert (report.counts["pairs"], [found[3] for found in quarantine(source)]) == (0, ["integer_out_of_range"])


def test_ratings_as_float32_are_refused(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([row(4.1, 2.0)])
    place = table.schema.get_field_index("ratings")
    error = refused(tmp_path, "a.parquet", table.set_column(place, "ratings", table["ratings"].cast(pa.list_(pa.float32()))), pair="best_worst")
    assert (error.code, error.where and error.where.field) == ("float_column", "ratings")


def test_models_that_cannot_be_told_stay_a_list(tmp_path: Path) -> None:
    """GroupColumns' own example ends with two generations and one model."""
    source, report = read(tmp_path, "a.jsonl", [row(1, 2, generation_models=["my_model"])], pair="best_worst")
    assert "chosen_model" not in extras(source)[0] and extras(source)[0]["generation_models"] == ["my_model"]
    assert "another number of models" in note(report, "models_not_told")


@pytest.mark.parametrize("rows", [
    [row(1, 2) | {"chosen": "a", "rejected": "b"}], [row(1, 2), {"instruction": "a"}], [row("1", "2")], [row(1, 2, generations="a")], [7],
])
def test_other_rows_are_not_taken_for_distilabel(tmp_path: Path, rows: list[Any]) -> None:
    path = written(tmp_path, "a.jsonl", rows)
    assert FORMATS["distilabel"].recognise(first_values(path, "a.jsonl"), path) is None


def test_an_id_column_is_mapped_and_codes_are_unique(tmp_path: Path) -> None:
    source, report = read(tmp_path, "a.jsonl", [row(1, 2, prompt_id="p-1")], ids="", column__pair_id="prompt_id", pair="best_worst")
    assert column(source, "pair_id") == ["p-1"]
    assert "tied_score" not in codes(report)
    path = written(tmp_path, "b.jsonl", [row(1, 2)])
    assert detect(path, "b.jsonl")[0].name == "distilabel"
