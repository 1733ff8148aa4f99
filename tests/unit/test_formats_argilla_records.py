"""Argilla's records in their four spellings: who decides, what counts, ties, users that differ, and the ratings of several users.

The spellings are those of argilla-io/argilla: Argilla 2 nested, ``Record.to_dict`` (argilla/src/argilla/records/_resource.py: answers without a
status); flat, ``GenericIO._record_to_dict`` (records/_io/_generic.py; its own test has ``"q1.responses.status": ["submitted", None]``); Argilla 1
records, ``FeedbackRecord`` (argilla-v1/.../feedback/schemas/records.py, responses.py, suggestions.py); its data sets, ``_huggingface_format``
(argilla-v1/.../integrations/huggingface/dataset.py; ``Sequence`` stores an object of lists). Question and field names: argilla/
mistral-vs-llama-rating (response_1 rated by rating_1) and the ranking template (response1, response2, preference).
"""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support_argilla import ANN, BOB, CAT, FIELDS, SPELLINGS, Given, Hints, flat1, flat2, nested1, nested2, options, storable
from support_formats import assistant, codes, column, extras, folder, note, quarantine, read, reasons, refused, texts, user, written
from support_rounds import ingested, nothing_written

from core.errors import RoundError
from core.rounds.readers.format import Declared
from core.rounds.readers.formats import FORMATS, detect

RATED = {"prompt": "prompt", "pair": "best_worst", "rating__response_1": "rating_1", "rating__response_2": "rating_2"}
RANKED = {"prompt": "prompt", "pair": "best_worst", "ranking": "preference"}


def rated(*users: tuple[str | None, int | None, int | None], status: str = "submitted") -> Given:
    return {
        question: [(who, values[place], status) for who, *values in users if values[place] is not None]
        for place, question in enumerate(("rating_1", "rating_2"))
    }


def ranked(*users: tuple[str, Any]) -> Given:
    return {"preference": [(who, value, "submitted") for who, value in users]}


def order(*names: str, ranks: tuple[int | None, ...] = (1, 2, 3)) -> list[dict[str, Any]]:
    return [{"value": name, "rank": rank} for name, rank in zip(names, ranks, strict=False)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json.gz", "a.parquet"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_ratings_of_each_reply_make_a_pair_in_every_spelling(tmp_path: Path, spelling: Any, name: str) -> None:
    rows = [storable(name, spelling(given, name=record)) for given, record in ((rated((ANN, 2, 5)), "r-1"), (rated((BOB, 4, 1)), "r-2"))]
    source, report = read(tmp_path, name, rows, **options(spelling, RATED))
    assert texts(source) == [
        {"prompt": "Say hi.", "chosen": "No.", "rejected": "Hi."}, {"prompt": "Say hi.", "chosen": "Hi.", "rejected": "No."},
    ]
    assert (column(source, "chosen_score"), column(source, "rejected_score")) == ([5.0, 4.0], [2.0, 1.0])
    kept = extras(source)[0]
    assert (kept["chosen_field"], kept["rejected_field"]) == ("response_2", "response_1")
    assert "prompt" not in kept and "response_1" not in kept and "fields" not in kept
    assert "was read as argilla-records" in note(report, "foreign_format")
    assert (report.counts["pairs"], report.quarantined) == (2, 0)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_everything_else_of_a_record_is_kept(tmp_path: Path, spelling: Any) -> None:
    given = rated((ANN, 2, 5))
    source, _ = read(tmp_path, "a.jsonl", [spelling(given, {"rating_1": (3, 0.5, "m")}, FIELDS | {"context": "c"})], **options(spelling, RATED))
    whole = spelling(given, {"rating_1": (3, 0.5, "m")}, FIELDS | {"context": "c"})
    for name in ("prompt", "response_1", "response_2"):
        whole.get("fields", whole).pop(name)
    assert extras(source) == [whole | {"chosen_field": "response_2", "rejected_field": "response_1"}]


@pytest.mark.parametrize(("spelling", "value"), [
    (nested1, order("response_2", "response_1")), (flat1, order("response_2", "response_1")),
    (flat1, {"rank": [2, 1], "value": ["response_1", "response_2"]}), (nested2, ["response_2", "response_1"]), (flat2, ["response_2", "response_1"]),
])
@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_a_ranking_makes_a_pair_in_every_spelling(tmp_path: Path, spelling: Any, value: Any, name: str) -> None:
    row = spelling(ranked((ANN, value)), {"preference": (None, None, None)} if spelling is flat1 else None)
    source, report = read(tmp_path, name, [storable(name, row)], **options(spelling, RANKED))
    assert texts(source) == [{"prompt": "Say hi.", "chosen": "No.", "rejected": "Hi."}]
    assert column(source, "chosen_score") == [None]  # a rank is no score
    assert ("ranks_by_order" in codes(report)) == (spelling in (nested2, flat2))


def test_a_data_set_of_old_stores_its_answers_as_an_object_of_lists(tmp_path: Path) -> None:
    row = flat1(ranked((ANN, order("response_2", "response_1"))))
    row["preference"] = {"user_id": [ANN], "value": [{"rank": [1, 2], "value": ["response_2", "response_1"]}], "status": ["submitted"]}
    source, _ = read(tmp_path, "a.jsonl", [row], **RANKED)
    assert texts(source)[0]["chosen"] == "No."


def test_ranked_values_that_are_no_fields_are_mapped(tmp_path: Path) -> None:
    given = ranked((ANN, order("second", "first")))
    mapped = RANKED | {"reply__first": "response_1", "reply__second": "response_2"}
    source, _ = read(tmp_path / "a", "a.jsonl", [nested1(given)], **mapped)
    assert texts(source)[0]["chosen"] == "No."
    source, _ = read(tmp_path / "b", "a.jsonl", [nested1(given), nested1(ranked((ANN, order("third", "first"))))], **mapped)
    assert quarantine(source) == [("a.jsonl", 2, "preference", "unknown_value")]
    source, _ = read(tmp_path / "c", "a.jsonl", [nested1(given)], **RANKED)
    assert quarantine(source) == [("a.jsonl", 1, "first", "missing_reply")]


THREE = {"prompt": "p", "a": "A", "b": "B", "c": "C"}


def test_three_replies_give_the_best_against_the_worst_and_keep_the_third(tmp_path: Path) -> None:
    source, _ = read(tmp_path, "a.jsonl", [nested1(ranked((ANN, order("c", "a", "b"))), fields=THREE)], **RANKED)
    assert texts(source) == [{"prompt": "p", "chosen": "C", "rejected": "B"}]
    assert extras(source)[0]["fields"] == {"a": "A"}


@pytest.mark.parametrize("spelling", [flat2, nested1, flat1])
@pytest.mark.parametrize("status", ["draft", "discarded", "pending"])
def test_only_submitted_answers_count(tmp_path: Path, spelling: Any, status: str) -> None:
    mixed = {question: [*found, *rated((BOB, 5, 1), status=status)[question]] for question, found in rated((ANN, 2, 5)).items()}
    source, report = read(tmp_path, "a.jsonl", [spelling(mixed), spelling(rated((ANN, 2, 5), status=status))], **RATED)
    assert [row["chosen"] for row in texts(source)] == ["No."]
    assert quarantine(source) == [("a.jsonl", 2, "rating_1", "missing_score")]
    assert [(reason.rows, reason.got) for reason in report.reasons] == [(1, "no submitted answer")]
    assert [item.text for item in report.notes if item.code == "answers_left_out"] == [
        f"a.jsonl: 2 answers to {question} are {status} and do not count" for question in ("rating_1", "rating_2")
    ]


def test_answers_without_a_status_are_quarantined_until_it_is_declared(tmp_path: Path) -> None:
    source, _ = read(tmp_path / "a", "a.jsonl", [nested2(rated((ANN, 2, 5)))], **RATED)
    assert quarantine(source) == [("a.jsonl", 1, "rating_1", "missing_status")]
    rows = [flat2({"rating_1": [(ANN, 2, None)], "rating_2": [(ANN, 5, None)]}), flat2(rated((ANN, 2, 5), status="draft"))]
    source, _ = read(tmp_path / "b", "a.jsonl", rows, status="submitted", **RATED)
    # a status that is there stays what it is
    assert (len(texts(source)), quarantine(source)) == (1, [("a.jsonl", 2, "rating_1", "missing_score")])


USERS = [
    rated((ANN, 2, 5), (BOB, 1, 4)),                 # both prefer the second
    rated((ANN, 2, 5), (BOB, 5, 1)),                 # they differ; means 7/2 and 3: the first
    rated((ANN, 2, 5), (BOB, 5, 1), (CAT, 3, 4)),    # two of three prefer the second; means 10/3 and 10/3
    rated((ANN, 2, 5), (BOB, 3, 3)),                 # one sees a tie; means 5/2 and 4
    rated((ANN, 3, 3), (BOB, 4, 4)),                 # all see a tie
    rated((ANN, 2, 5), (BOB, 2, 5)),                 # the same ratings twice
]


def test_users_who_differ_quarantine_the_row_by_name(tmp_path: Path) -> None:
    source, report = read(tmp_path, "a.jsonl", [nested1(given) for given in USERS], **RATED)
    assert quarantine(source) == [
        ("a.jsonl", 2, "rating_1", "raters_disagree"), ("a.jsonl", 3, "rating_1", "raters_disagree"), ("a.jsonl", 4, "rating_1", "raters_disagree"),
        ("a.jsonl", 5, "rating_1", "tied_score"),
    ]
    assert [row["chosen"] for row in texts(source)] == ["No.", "No."]
    assert column(source, "chosen_score") == [None, 5.0]  # users who agree on the pair and not on its ratings have no one rating
    assert reasons(report) == {"raters_disagree": 3, "tied_score": 1}


def test_the_mean_of_the_users_is_exact(tmp_path: Path) -> None:
    source, _ = read(tmp_path, "a.jsonl", [nested1(given) for given in USERS], reducer="mean", **RATED)
    assert [row["chosen"] for row in texts(source)] == ["No.", "Hi.", "No.", "No."]
    assert column(source, "chosen_score") == [4.5, 3.5, 4.0, 5.0]
    assert column(source, "rejected_score") == [1.5, 3.0, 2.5, 2.0]
    assert [found[1:] for found in quarantine(source)] == [(3, "rating_1", "tied_score"), (5, "rating_1", "tied_score")]


def test_the_pair_that_more_than_half_chose(tmp_path: Path) -> None:
    source, report = read(tmp_path, "a.jsonl", [nested1(given) for given in USERS], reducer="majority", **RATED)
    assert [row["chosen"] for row in texts(source)] == ["No.", "No.", "No."]
    # one of two is no more than half, a tie is no vote for either side
    assert [found[1:] for found in quarantine(source)] == [
        (2, "rating_1", "raters_disagree"), (4, "rating_1", "raters_disagree"), (5, "rating_1", "tied_score"),
    ]
    assert "1 rows have users who differ" in note(report, "raters_reduced")


def test_rankings_of_several_users(tmp_path: Path) -> None:
    one, other = order("a", "b", "c"), order("c", "b", "a")
    rows = [nested1(ranked((ANN, one), (BOB, one)), fields=THREE), nested1(ranked((ANN, one), (BOB, other)), fields=THREE),
            nested1(ranked((ANN, one), (BOB, order("b", "a", "c"))), fields=THREE)]
    source, _ = read(tmp_path / "a", "a.jsonl", rows, **RANKED)
    assert [found[1] for found in quarantine(source)] == [2, 3]
    source, _ = read(tmp_path / "b", "a.jsonl", rows, reducer="mean", **RANKED)
    # mean ranks: a 1, b 2, c 3; then all 2; then a 3/2, b 3/2, c 3: two share the best
    assert texts(source) == [{"prompt": "p", "chosen": "A", "rejected": "C"}]
    assert [found[1:] for found in quarantine(source)] == [(2, "preference", "tied_score"), (3, "preference", "tied_score")]
    source, _ = read(tmp_path / "c", "a.jsonl", rows, reducer="mean", ties="first", **RANKED)
    assert [row["chosen"] for row in texts(source)] == ["A", "A"]


def test_ranks_that_are_equal_or_missing(tmp_path: Path) -> None:
    rows = [nested1(ranked((ANN, order("a", "b", "c", ranks=ranks))), fields=THREE) for ranks in ((1, 1, 2), (1, 1, 1), (1, None, 2))]
    source, _ = read(tmp_path / "a", "a.jsonl", rows, **RANKED)
    assert [found[1:] for found in quarantine(source)] == [
        (1, "preference", "tied_score"), (2, "preference", "tied_score"), (3, "preference", "missing_score"),
    ]
    source, report = read(tmp_path / "b", "a.jsonl", rows, ties="first", unscored="leave_out", **RANKED)
    assert [(row["chosen"], row["rejected"]) for row in texts(source)] == [("A", "C"), ("A", "C")]
    assert note(report, "replies_left_out").startswith("a.jsonl: 1 rows have replies")


def test_a_user_who_rated_one_reply_only_is_named(tmp_path: Path) -> None:
    source, _ = read(tmp_path, "a.jsonl", [nested1(rated((ANN, 2, None))), nested1(rated((ANN, 2, 5), (BOB, None, 1)))], **RATED)
    assert quarantine(source) == [("a.jsonl", 1, "rating_2", "missing_score"), ("a.jsonl", 2, "rating_1", "missing_score")]


def test_replies_that_users_left_out_are_counted_once_a_row_and_averaged_over_who_rated_them(tmp_path: Path) -> None:
    """a: 1 by Ann; b: 3 by Ann and 5 by Bob, mean 4; c: 2 by Bob. The best is b, the worst a."""
    given: Given = {"a?": [(ANN, 1, "submitted")], "b?": [(ANN, 3, "submitted"), (BOB, 5, "submitted")], "c?": [(BOB, 2, "submitted")]}
    chosen = {"prompt": "prompt", "pair": "best_worst", "reducer": "mean"} | {f"rating__{name}": f"{name}?" for name in "abc"}
    source, report = read(tmp_path, "a.jsonl", [nested1(given, fields=THREE)], unscored="leave_out", **chosen)
    assert texts(source) == [{"prompt": "p", "chosen": "B", "rejected": "A"}]
    assert (column(source, "chosen_score"), column(source, "rejected_score")) == ([4.0], [1.0])
    assert note(report, "replies_left_out").startswith("a.jsonl: 1 rows have replies")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_suggestions_decide_only_where_that_is_declared(tmp_path: Path, spelling: Any) -> None:
    hints: Hints = {"rating_1": (1, 0.9, "m"), "rating_2": (3, None, "m")}
    rows = [spelling(rated(), hints), spelling(rated((ANN, 5, 2)), hints)]
    source, _ = read(tmp_path / "a", "a.jsonl", rows, **options(spelling, RATED))
    assert [row["chosen"] for row in texts(source)] == ["Hi."]
    assert quarantine(source) == [("a.jsonl", 1, "rating_1", "missing_score")]
    source, _ = read(tmp_path / "b", "a.jsonl", rows, answers="suggestions", **RATED)
    assert [row["chosen"] for row in texts(source)] == ["No.", "No."]
    assert column(source, "chosen_score") == [3.0, 3.0]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_suggestions_of_several_agents_are_one_set(tmp_path: Path, spelling: Any) -> None:
    row = spelling({}, {"rating_1": (1, None, "m"), "rating_2": (3, None, "n")})
    source, _ = read(tmp_path, "a.jsonl", [row], answers="suggestions", **RATED)
    assert texts(source)[0]["chosen"] == "No."


@pytest.mark.parametrize(("suggestions", "code"), [
    ([{"question_name": "rating_1", "value": 1}] * 2, "said_twice"), ({"rating_1": 5}, "wrong_type"), ("x", "wrong_type"), ([5], "wrong_type"),
    ({"rating_1": {"value": [1], "agent": ["m"]}}, "wrong_type"), ({}, "missing_score"), (None, "missing_score"),
])
def test_hostile_suggestions_are_quarantined(tmp_path: Path, suggestions: Any, code: str) -> None:
    source, _ = read(tmp_path, "a.jsonl", [change(suggestions=suggestions)], answers="suggestions", **RATED)
    assert [found[3] for found in quarantine(source)] == [code]


@pytest.mark.parametrize("chosen", [
    {"rating__response_1": "rating_1", "rating__response_2": "rating_1"},
    {"ranking": "preference", "reply__first": "response_1", "reply__second": "response_1"},
])
def test_one_field_or_question_for_two_replies_is_refused(tmp_path: Path, chosen: dict[str, str]) -> None:
    assert refused(tmp_path, "a.jsonl", [nested1(rated((ANN, 5, 2)))], prompt="prompt", pair="best_worst", **chosen).code == "said_twice"


def test_a_conversation_as_prompt(tmp_path: Path) -> None:
    talk = [user("Say hi.")]
    source, _ = read(tmp_path, "a.jsonl", [nested2(rated((ANN, 5, 2)), fields=FIELDS | {"prompt": talk})], status="submitted", **RATED)
    assert texts(source) == [{"prompt": talk, "chosen": [assistant("Hi.")], "rejected": [assistant("No.")]}]


@pytest.mark.parametrize(("name", "spelling"), [("id", nested2), ("external_id", nested1)])
def test_the_id_of_a_record_is_mapped(tmp_path: Path, name: str, spelling: Any) -> None:
    source, _ = read(tmp_path, "a.jsonl", [spelling(rated((ANN, 5, 2)))], ids="", column__pair_id=name, **options(spelling, RATED))
    assert column(source, "pair_id") == ["r-1"]


@pytest.mark.parametrize("chosen", [
    {}, {"rating__response_1": "rating_1"}, {"ranking": "preference", "rating__response_1": "rating_1", "rating__response_2": "rating_2"},
])
def test_one_ranking_or_a_rating_of_each_reply_has_to_be_named(tmp_path: Path, chosen: dict[str, str]) -> None:
    assert refused(tmp_path, "a.jsonl", [nested1(rated((ANN, 5, 2)))], prompt="prompt", pair="best_worst", **chosen).code == "missing_option"


@pytest.mark.parametrize("lacking", ["prompt", "pair"])
def test_prompt_and_rule_have_to_be_declared(tmp_path: Path, lacking: str) -> None:
    error = refused(tmp_path, "a.jsonl", [nested1(rated((ANN, 5, 2)))], **{name: value for name, value in RATED.items() if name != lacking})
    assert (error.code, error.where and error.where.field) == ("missing_option", f"option {lacking} of argilla-records")


def change(**changes: Any) -> dict[str, Any]:
    return nested1(rated((ANN, 5, 2))) | changes


def said(value: Any = None, **changes: Any) -> list[Any]:
    return [{"user_id": ANN, "values": {"rating_1": {"value": value}, "rating_2": {"value": 1}}, "status": "submitted"} | changes]


@pytest.mark.parametrize(("row", "field", "code"), [
    (change(responses="x"), "responses", "wrong_type"), (change(responses=[7]), "responses", "wrong_type"),
    (change(responses=said(values=[1])), "responses", "wrong_type"), (change(responses=said(values={"rating_1": 5})), "responses", "wrong_type"),
    (change(responses=said("5")), "rating_1", "wrong_type"), (change(responses=said(True)), "rating_1", "wrong_type"),
    (change(responses=said([5])), "rating_1", "wrong_type"), (change(responses=said(None)), "rating_1", "missing_score"),
    (change(responses=said(5, status="approved")), "rating_1", "unknown_value"),
    (change(responses=said(5, status=None)), "rating_1", "missing_status"),
    (change(responses=said(5, status=["submitted"])), "rating_1", "unknown_value"), (change(responses=said(5) + said(4)), "rating_1", "said_twice"),
    (change(responses=said(5, user_id=7)), "rating_1", "said_twice"),
    (change(responses=said(5, user_id=None) + said(4)), "rating_1", "missing_field"),
    (change(fields={"prompt": "p", "response_1": "a"}), "response_2", "missing_reply"),
    (change(fields={"prompt": "p", "response_1": "a", "response_2": 7}), "response_2", "wrong_type"),
    (change(fields={"response_1": "a", "response_2": "b"}), "prompt", "missing_field"),
    (change(fields={"prompt": None, "response_1": "a", "response_2": "b"}), "prompt", "wrong_type"),
    (change(fields=None), "rating_1", "missing_field"), (change(chosen="x"), "chosen", "said_twice"),
    (change(chosen_field="x"), "chosen_field", "said_twice"),
])
def test_hostile_records_are_quarantined_by_name(tmp_path: Path, row: dict[str, Any], field: str, code: str) -> None:
    source, report = read(tmp_path, "a.jsonl", [row, nested1(rated((ANN, 5, 2)))], "argilla-records", **RATED)
    assert quarantine(source) == [("a.jsonl", 1, field, code)]
    assert report.counts["pairs"] + report.quarantined == 2


@pytest.mark.parametrize(("value", "code"), [
    (None, "missing_score"), ([], "wrong_type"), ("a", "wrong_type"), (5, "wrong_type"), ([1, 2], "wrong_type"), (["a", "a"], "wrong_type"),
    ([{"rank": 1}], "wrong_type"), ([{"value": "a", "rank": "1"}], "wrong_type"), ({"value": ["a", "b"], "rank": [1]}, "wrong_type"),
    ({"value": "a"}, "wrong_type"), (["a"], "tied_score"),
])
def test_hostile_rankings_are_quarantined_by_name(tmp_path: Path, value: Any, code: str) -> None:
    source, _ = read(tmp_path, "a.jsonl", [nested1(ranked((ANN, value)), fields=THREE)], **RANKED)
    assert quarantine(source) == [("a.jsonl", 1, "preference", code)]


@pytest.mark.parametrize(("column_name", "value"), [
    ("rating_1.responses.users", [ANN, BOB]), ("rating_1.responses.status", ["submitted", "draft"]), ("rating_1.responses.users", "x"),
])
def test_flat_lists_of_other_lengths_are_quarantined(tmp_path: Path, column_name: str, value: Any) -> None:
    source, _ = read(tmp_path, "a.jsonl", [flat2(rated((ANN, 5, 2))) | {column_name: value}], **RATED)
    assert quarantine(source) == [("a.jsonl", 1, "rating_1.responses", "lengths_differ")]


def test_a_question_that_no_record_has_is_named(tmp_path: Path) -> None:
    source, _ = read(tmp_path, "a.jsonl", [flat2(rated((ANN, 5, 2)))], **(RATED | {"rating__response_2": "rating_two"}))
    assert quarantine(source) == [("a.jsonl", 1, "rating_two", "missing_field")]


@pytest.mark.parametrize("spelling", [nested1, nested2])
def test_a_misspelled_question_of_nested_records_is_warned_of(tmp_path: Path, spelling: Any) -> None:
    """There an unanswered question and one that does not exist look the same."""
    rows = [spelling(ranked((ANN, ["response_1", "response_2"])), {"topic": ("a", None, "m")}), spelling({})]
    _, report = read(tmp_path / "a", "a.jsonl", rows, **options(spelling, RANKED | {"ranking": "preferences"}))
    text = note(report, "unseen_question")
    assert text == "a.jsonl: the first records name no question 'preferences', only preference, topic; did you mean 'preference'?"
    _, report = read(tmp_path / "b", "a.jsonl", rows, **options(spelling, RANKED))
    assert "unseen_question" not in codes(report)
    _, report = read(tmp_path / "c", "a.jsonl", [spelling({})], **options(spelling, RANKED))
    assert "unseen_question" not in codes(report)


@pytest.mark.parametrize("rows", [[{"fields": FIELDS}], [{"fields": "x", "responses": []}], [nested1(rated((ANN, 5, 2))), {"text": "a"}], [7]])
def test_other_rows_are_not_taken_for_records(tmp_path: Path, rows: list[Any]) -> None:
    assert refused(tmp_path, "a.jsonl", rows, **RATED).code == "unrecognised_format"


# the ratings of a round


def ratings(place: Path, rows: list[Any], name: str = "a.jsonl", **chosen: str) -> tuple[list[tuple[str, str, str]], list[str]]:
    """The ratings in a stored round that has nothing else, and the codes of the notes."""
    sources = {"ratings": [{"file": name, "format": "argilla-ratings", "options": chosen}]}
    source, report = ingested(place, folder(place / "input", sources, {name: rows}))
    found = source.table("ratings").to_pylist()
    return [(row["case_id"], row["rater_id"], row["label"]) for row in found], codes(report)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_answers_become_the_ratings_of_a_round(tmp_path: Path, spelling: Any) -> None:
    labels: Given = {"verdict": [(ANN, "pass", "submitted"), (BOB, "fail", "submitted")]}
    rows = [spelling(labels), spelling({"verdict": [(ANN, "fail", "submitted")]}, name="r-2"), spelling({"verdict": []}, name="r-3")]
    case = "id" if spelling in (nested2, flat2) else "external_id"
    found, said = ratings(tmp_path, rows, **options(spelling, {"question": "verdict", "case": case}))
    assert found == [("r-1", ANN, "pass"), ("r-1", BOB, "fail"), ("r-2", ANN, "fail")]
    assert {"ratings_made", "no_answer"} <= set(said) and "numbered_labels" not in said


def test_drafts_are_no_ratings_and_integers_become_text(tmp_path: Path) -> None:
    rows = [nested1({"verdict": [(ANN, 5, "submitted"), (BOB, 1, "draft")]})]
    found, said = ratings(tmp_path / "a", rows, question="verdict", case="external_id")
    assert found == [("r-1", ANN, "5")] and "unseen_question" not in said
    assert "unseen_question" in ratings(tmp_path / "b", rows, question="verdicts", case="external_id")[1]
    assert {"answers_left_out", "numbered_labels"} <= set(said)


@pytest.mark.parametrize(("given", "chosen", "code"), [
    ([(ANN, ["a"], "submitted")], {}, "wrong_type"), ([(ANN, 1.5, "submitted")], {}, "wrong_type"), ([(ANN, True, "submitted")], {}, "wrong_type"),
    ([(None, "a", "submitted")], {}, "missing_field"), ([(ANN, "", "submitted")], {}, "wrong_type"), ([(ANN, "a", None)], {}, "missing_status"),
    ([(ANN, "a", "submitted")], {"case": "id"}, "missing_field"), ([(ANN, "a", "submitted")], {"case": "fields"}, "wrong_type"),
])
def test_answers_that_are_no_ratings_refuse_the_file(tmp_path: Path, given: Any, chosen: dict[str, str], code: str) -> None:
    with pytest.raises(RoundError) as caught:
        ratings(tmp_path, [nested1({"verdict": given})], **({"question": "verdict", "case": "external_id"} | chosen))
    assert caught.value.code == code and nothing_written(tmp_path)


def test_ratings_are_never_told_from_pairs_by_their_rows(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", [nested1(rated((ANN, 5, 2)))])
    assert detect(path, "a.jsonl")[0].name == "argilla-records"
    assert FORMATS["argilla-ratings"].recognise([nested1(rated((ANN, 5, 2)))], path) is None


def test_the_reader_streams(tmp_path: Path) -> None:
    """The first rating is handed over before the second line is read: what follows may be broken."""
    path = written(tmp_path, "a.jsonl", json.dumps(nested1({"v": [(ANN, "a", "submitted")]})).encode() + b"\n{")
    rows = FORMATS["argilla-ratings"].rows(Declared(path, "a.jsonl", {"question": "v", "case": "external_id"}))
    assert next(rows).value == {"case_id": "r-1", "rater_id": ANN, "label": "a"}
