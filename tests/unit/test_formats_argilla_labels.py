"""A question of Argilla whose answer names the better of two replies: every label declared, ties, users who differ, drafts, suggestions.

Such questions as people make them: label questions ("response-1 better", "tie"), and rating questions whose numbers stand for the replies
(argilla-io/argilla, docs/_source/guides/llms/conceptual_guides/rm.md: "1: first response is more accurate, 2: second response"; data sets on the
hub with the fields ``chosen`` and ``rejected`` and an integer question ``win``). The wording of a label decides nothing.
"""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_argilla import ANN, BOB, CAT, SPELLINGS, Given, flat1, flat2, nested1, nested2, options, storable
from support_formats import codes, column, extras, note, quarantine, read, reasons, refused, texts

FIRST, SECOND, SAME, UNSURE = "response-1 better", "response-2 better", "tie", "cannot say"
LABELLED = {
    "prompt": "prompt", "pair": "best_worst", "label": "preference", f"choice__{FIRST}": "response_1", f"choice__{SECOND}": "response_2",
    f"neither__{SAME}": "tie", f"neither__{UNSURE}": "no_answer",
}
ONE = {"prompt": "Say hi.", "chosen": "Hi.", "rejected": "No."}
TWO = {"prompt": "Say hi.", "chosen": "No.", "rejected": "Hi."}


def said(*users: tuple[str | None, Any], status: str = "submitted") -> Given:
    return {"preference": [(who, value, status) for who, value in users]}


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_label_makes_a_pair_in_every_spelling(tmp_path: Path, spelling: Any, name: str) -> None:
    rows = [storable(name, spelling(said((ANN, FIRST)))), storable(name, spelling(said((BOB, SECOND), (ANN, SECOND)), name="r-2"))]
    source, report = read(tmp_path, name, rows, **options(spelling, LABELLED))
    assert texts(source) == [ONE, TWO]
    assert column(source, "chosen_score") == [None, None]  # which of two is better is no score
    assert (extras(source)[1]["chosen_field"], extras(source)[1]["rejected_field"]) == ("response_2", "response_1")
    assert f"choice.{FIRST}=response_1" in note(report, "foreign_format")


def test_the_wording_of_a_label_decides_nothing(tmp_path: Path) -> None:
    turned = LABELLED | {f"choice__{FIRST}": "response_2", f"choice__{SECOND}": "response_1"}
    source, _ = read(tmp_path, "a.jsonl", [nested1(said((ANN, FIRST)))], **turned)
    assert texts(source) == [TWO]


def test_several_labels_may_choose_one_reply(tmp_path: Path) -> None:
    source, _ = read(tmp_path, "a.jsonl", [nested1(said((ANN, FIRST), (BOB, "response-1 much better")))],
                     **LABELLED | {"choice__response-1 much better": "response_1"})
    assert texts(source) == [ONE]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_numbers_may_stand_for_the_replies(tmp_path: Path, spelling: Any) -> None:
    numbered = {"prompt": "prompt", "pair": "best_worst", "label": "win", "choice__1": "chosen", "choice__2": "rejected"}
    fields = {"prompt": "Say hi.", "chosen": "Hi.", "rejected": "No."}
    rows = [spelling({"win": [(ANN, value, "submitted")]}, fields=fields) for value in (1, 2)]
    source, _ = read(tmp_path, "a.jsonl", rows, "argilla-records", **options(spelling, numbered))
    assert texts(source) == [ONE, TWO]  # the field that is called chosen is not the one that was chosen


@pytest.mark.parametrize(("users", "code"), [
    (((ANN, SAME),), "tied_score"),
    (((ANN, SAME), (BOB, SAME)), "tied_score"),
    (((ANN, FIRST), (BOB, SECOND)), "raters_disagree"),
    (((ANN, FIRST), (BOB, SAME)), "raters_disagree"),
    (((ANN, UNSURE),), "missing_score"),
    ((), "missing_score"),
    (((ANN, "Response-1 better"),), "unknown_value"),  # another spelling is another label
    (((ANN, ["response-1 better"]),), "wrong_type"), (((ANN, True),), "wrong_type"), (((ANN, 1.0),), "wrong_type"),
    (((ANN, None),), "missing_score"), (((ANN, FIRST), (ANN, FIRST)), "said_twice"),
])
@pytest.mark.parametrize("spelling", [nested2, flat2, nested1, flat1])
def test_rows_that_choose_nothing_are_named(tmp_path: Path, spelling: Any, users: tuple[tuple[str, Any], ...], code: str) -> None:
    if spelling is nested1 and code == "said_twice":
        users = users[:1]  # a record of Argilla 1 holds one answer of a user to a question: nothing is said twice
        source, _ = read(tmp_path, "a.jsonl", [spelling(said(*users))], **LABELLED)
        assert texts(source) == [ONE]
        return
    rows = [spelling(said((ANN, FIRST))), spelling(said(*users))]
    source, _ = read(tmp_path, "a.jsonl", rows, **options(spelling, LABELLED))
    assert [(line, found) for _, line, _, found in quarantine(source)] == [(2, code)] and texts(source) == [ONE]


def test_users_who_differ_become_one_only_by_a_declared_rule(tmp_path: Path) -> None:
    rows = [nested1(said((ANN, FIRST), (BOB, SECOND), (CAT, FIRST))), nested1(said((ANN, FIRST), (BOB, SAME))),
            nested1(said((ANN, FIRST), (BOB, SECOND)))]
    source, report = read(tmp_path / "a", "a.jsonl", rows, reducer="majority", **LABELLED)
    # two of three; one of two is no majority
    assert texts(source) == [ONE]
    assert [row[1:] for row in quarantine(source)] == [(2, "preference", "raters_disagree"), (3, "preference", "raters_disagree")]
    assert reasons(report) == {"raters_disagree": 2}
    source, _ = read(tmp_path / "b", "a.jsonl", rows, reducer="mean", **LABELLED)
    # shares of the first reply: 2/3, (1 + 1/2)/2 = 3/4, 1/2
    assert texts(source) == [ONE, ONE] and [row[1:] for row in quarantine(source)] == [(3, "preference", "tied_score")]
    assert column(source, "chosen_score") == [None, None]


@pytest.mark.parametrize("status", ["draft", "discarded", "pending"])
@pytest.mark.parametrize("spelling", [flat2, nested1, flat1])
def test_answers_that_were_not_submitted_are_counted_and_do_not_choose(tmp_path: Path, spelling: Any, status: str) -> None:
    given = {"preference": [(ANN, FIRST, "submitted"), (BOB, SECOND, status), (CAT, None, status)]}
    source, report = read(tmp_path, "a.jsonl", [spelling(given)], **LABELLED)
    assert texts(source) == [ONE]
    assert note(report, "answers_left_out") == f"a.jsonl: 2 answers to preference are {status} and do not count"


def test_labels_that_are_no_answer_are_counted(tmp_path: Path) -> None:
    source, report = read(tmp_path, "a.jsonl", [nested1(said((ANN, FIRST), (BOB, UNSURE)))], **LABELLED)
    assert texts(source) == [ONE]
    assert note(report, "no_choice") == 'a.jsonl: 1 answers to preference are "cannot say", declared to be no answer, and do not count'


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_suggested_label_chooses_where_that_is_declared(tmp_path: Path, spelling: Any) -> None:
    row = spelling(said((ANN, FIRST)), {"preference": (SECOND, 0.8, "judge-model")})
    source, report = read(tmp_path, "a.jsonl", [row], answers="suggestions", **options(spelling, LABELLED))
    assert texts(source) == [TWO] and "answers=suggestions" in note(report, "foreign_format")


@pytest.mark.parametrize("change", [
    {f"choice__{SECOND}": ""}, {f"choice__{FIRST}": "", f"choice__{SECOND}": ""}, {f"choice__{SECOND}": "response_1"},
    {"choice__other": "response_3"}, {"label": ""}, {"ranking": "preference"}, {"label": "", "ranking": "preference"},
    {"rating__response_1": "rating_1", "rating__response_2": "rating_2"},
])
def test_a_label_question_has_labels_for_two_replies_and_stands_alone(tmp_path: Path, change: dict[str, str]) -> None:
    assert refused(tmp_path, "a.jsonl", [nested1(said((ANN, FIRST)))], **LABELLED | change).code == "missing_option"


def test_a_label_says_one_thing(tmp_path: Path) -> None:
    error = refused(tmp_path, "a.jsonl", [nested1(said((ANN, FIRST)))], **LABELLED | {f"neither__{FIRST}": "tie"})
    assert error.code == "said_twice"
    error = refused(tmp_path / "b", "a.jsonl", [nested1(said((ANN, FIRST)))], **LABELLED | {f"neither__{SAME}": "draw"})
    assert error.code == "unknown_value"


def test_a_field_that_no_record_has_quarantines_its_rows(tmp_path: Path) -> None:
    source, _ = read(tmp_path, "a.jsonl", [nested1(said((ANN, FIRST)))], **LABELLED | {f"choice__{SECOND}": "response_9"})
    assert quarantine(source) == [("a.jsonl", 1, "response_9", "missing_reply")]


def test_a_misspelled_question_is_warned_of(tmp_path: Path) -> None:
    _, report = read(tmp_path, "a.jsonl", [nested1(said((ANN, FIRST)))], **LABELLED | {"label": "preferences"})
    assert "unseen_question" in codes(report)
