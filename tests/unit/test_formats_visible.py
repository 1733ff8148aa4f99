"""Columns with text for a model: into the prompt where declared, kept where declared as not shown, otherwise the file is refused.

One rule for every format of pairs (decision 013). Where a trainer documents such a column: LLaMA-Factory data/README.md (``system``, ``history``:
"default: None", so a column of that name is shown only where dataset_info.json names it; ``system_tag``: "can override system column"), TRL's
"Dataset formats" (no ``system`` column at all), axolotl's DPO strategies (``system`` is read).
"""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_formats import assistant, codes, extras, note, quarantine, read, refused, texts, user

from core.rounds.readers.formats import FORMATS
from core.rounds.readers.visible import OPTIONS, VISIBLE

TALK = [user("Say hi."), assistant("Hi.")]
OTHER = [user("Say hi."), assistant("No.")]
ROWS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "trl": ({"prompt": "Say hi.", "chosen": "Hi.", "rejected": "No."}, {}),
    "openrlhf": ({"chosen": TALK, "rejected": OTHER}, {}),
    "ultrafeedback": ({"prompt": "Say hi.", "chosen": TALK, "rejected": OTHER, "score_chosen": 2.0, "score_rejected": 1.0}, {}),
    "argilla": ({"instruction": "Say hi.", "chosen": "Hi.", "rejected": "No.", "chosen_rating": 2, "rejected_rating": 1}, {}),
    "distilabel": ({"instruction": "Say hi.", "generations": ["Hi.", "No."], "ratings": [2, 1]}, {"pair": "best_worst"}),
    "argilla-records": (
        {"fields": {"prompt": "Say hi.", "a": "Hi.", "b": "No."}, "responses": {"best": [{"value": ["a", "b"], "user_id": "u"}]}},
        {"pair": "best_worst", "prompt": "prompt", "ranking": "best", "status": "submitted"},
    ),
    "llamafactory-alpaca": ({"instruction": "Say hi.", "input": "", "chosen": "Hi.", "rejected": "No."}, {}),
    "llamafactory-sharegpt": (
        {"conversations": [{"from": "human", "value": "Say hi."}], "chosen": {"from": "gpt", "value": "Hi."},
         "rejected": {"from": "gpt", "value": "No."}},
        {},
    ),
    "ms-swift": ({"messages": TALK, "rejected_response": "No."}, {}),
    "axolotl:chat_template.default": ({"messages": [user("Say hi.")], "chosen": "Hi.", "rejected": "No."}, {}),
    "axolotl:chatml.intel": ({"question": "Say hi.", "chosen": "Hi.", "rejected": "No."}, {}),
    "axolotl:chatml.icr": ({"input": "Say hi.", "chosen": "Hi.", "rejected": "No."}, {}),
    "axolotl:chatml.prompt_pairs": ({"prompt": "Say hi.", "chosen": "Hi.", "rejected": "No."}, {}),
    "axolotl:chatml.argilla": ({"instruction": "Say hi.", "chosen_response": "Hi.", "rejected_response": "No."}, {}),
    "axolotl:chatml.argilla_chat": ({"chosen": TALK, "rejected": OTHER}, {}),
    "axolotl:chatml.ultra": ({"chosen": TALK, "rejected": OTHER}, {}),
    "openai": ({"input": {"messages": [user("Say hi.")]}, "preferred_output": [assistant("Hi.")], "non_preferred_output": [assistant("No.")]}, {}),
    "csv": ({"q": "Say hi.", "a": "Hi.", "b": "No."}, {"column__prompt": "q", "column__chosen": "a", "column__rejected": "b"}),
}
"""Format -> a row of it without any other column, and the options that it needs."""
READS_SYSTEM = {name for name in ROWS if name.startswith("axolotl:chatml.")}
"""Formats whose documentation reads a ``system`` column by itself."""
AS_MESSAGES = {"prompt": [user("Say hi.")], "chosen": [assistant("Hi.")], "rejected": [assistant("No.")]}
BRIEF = {"role": "system", "content": "Be brief."}


def rows_in(name: str, row: dict[str, Any]) -> tuple[str, Any]:
    """The file of one row, and its name: CSV for csv, JSON lines otherwise."""
    if name != "csv":
        return "a.jsonl", [row]
    return "a.csv", f"{','.join(row)}\n{','.join(map(str, row.values()))}\n".encode()


def test_every_format_of_pairs_is_tried_here_and_takes_the_options() -> None:
    pairs = {name for name, item in FORMATS.items() if item.part == "pairs"}
    assert pairs - {"ultrafeedback-raw"} == set(ROWS)  # the raw one has its own file of tests
    assert all(set(OPTIONS) <= set(FORMATS[name].options) for name in pairs)


@pytest.mark.parametrize("column", ["history", "images", "System_Prompt", "query", "system"])
@pytest.mark.parametrize("name", ROWS)
def test_text_for_a_model_that_a_format_does_not_read_refuses_the_file(tmp_path: Path, name: str, column: str) -> None:
    row, options = ROWS[name]
    if (column == "system" and name in READS_SYSTEM) or (column == "System_Prompt" and name == "distilabel"):
        column = column.capitalize() if column == "system" else "SYSTEM"
    file, rows = rows_in(name, row | {column: "Be brief."})
    error = refused(tmp_path, file, rows, name, **options)
    assert (error.code, error.where and error.where.field) == ("unread_text", column)
    assert f"unread={column}" in error.remedy
    put = {"history": "history=history", "images": "", "System_Prompt": "system=System_Prompt", "query": "", "system": "system=system"}.get(column)
    assert (put or "unread=") in error.remedy


@pytest.mark.parametrize("name", ROWS)
def test_a_declared_system_column_comes_before_the_prompt_in_every_format(tmp_path: Path, name: str) -> None:
    row, options = ROWS[name]
    file, rows = rows_in(name, row | {"told": "Be brief."})
    source, report = read(tmp_path, file, rows, name, system="told", **options)
    assert texts(source) == [AS_MESSAGES | {"prompt": [BRIEF, user("Say hi.")]}]
    assert "system=told" in note(report, "foreign_format")  # what was put there stands in the round
    assert all("told" not in (kept or {}) for kept in extras(source))


@pytest.mark.parametrize("name", [name for name in ROWS if name != "csv"])
def test_declared_earlier_turns_come_before_the_prompt_in_every_format(tmp_path: Path, name: str) -> None:
    row, options = ROWS[name]
    source, _ = read(tmp_path, "a.jsonl", [row | {"history": [["a", "b"]], "told": "Be brief."}], name, system="told", history="history", **options)
    assert texts(source) == [AS_MESSAGES | {"prompt": [BRIEF, user("a"), assistant("b"), user("Say hi.")]}]


@pytest.mark.parametrize("name", ROWS)
def test_text_that_was_not_shown_is_declared_and_counted(tmp_path: Path, name: str) -> None:
    row, options = ROWS[name]
    file, rows = rows_in(name, row | {"History": "x", "images": "b.png"})
    source, report = read(tmp_path, file, rows, name, unread="History, images", **options)
    kept = extras(source)[0]
    assert (kept["History"], kept["images"]) == ("x", "b.png")
    assert [item.text for item in report.notes if item.code == "unread_text"] == [
        f"{file}: 1 pairs hold text under {column!r} that is not in their prompt, as declared" for column in ("History", "images")
    ]


ALPACA = ROWS["llamafactory-alpaca"][0]


@pytest.mark.parametrize("nothing", [
    {"system": "", "history": []}, {"system": None, "history": None}, {"system": " \n", "history": [[]]}, {"history": [["", ""]], "images": [None]},
])
def test_a_column_that_says_nothing_loses_nothing(tmp_path: Path, nothing: dict[str, Any]) -> None:
    source, report = read(tmp_path, "a.jsonl", [ALPACA | nothing])
    assert [row["prompt"] for row in texts(source)] == ["Say hi."] and "unread_text" not in codes(report)


def test_the_first_row_that_says_something_is_named_however_late_it_comes(tmp_path: Path) -> None:
    rows = [ALPACA | {"history": []}] * 40 + [ALPACA | {"history": [["a", "b"]], "system": "S"}]
    error = refused(tmp_path, "a.jsonl", rows)
    assert error.where is not None and (error.where.line, error.where.field) == (41, "history")
    assert error.remedy == ("declare history=history and system=system to put it before the prompt; or unread=history,system where the trained "
                            "model is not shown it (it stays with the pair, in extra)")


def test_the_options_that_are_named_are_enough(tmp_path: Path) -> None:
    """Nobody has to try again: all columns of the row are named, each with what can be said of it."""
    row = ALPACA | {"images": ["a.png"], "system": "S", "history": [["a", "b"]]}
    error = refused(tmp_path / "a", "a.jsonl", [row])
    assert error.remedy.startswith("declare system=system and history=history to put it before the prompt, with unread=images; or unread=images,s")
    source, _ = read(tmp_path / "b", "a.jsonl", [row], system="system", history="history", unread="images")
    assert [turn["content"] for turn in texts(source)[0]["prompt"]] == ["S", "a", "b", "Say hi."] and extras(source) == [{"images": ["a.png"]}]


@pytest.mark.parametrize("same", [
    {"messages": TALK}, {"messages": [user("Say hi.")]}, {"system": "Be brief."}, {"question": "Say hi."},
])
def test_what_the_pair_says_already_is_not_asked_about(tmp_path: Path, same: dict[str, Any]) -> None:
    row = {"prompt": [BRIEF, user("Say hi.")], "chosen": [assistant("Hi.")], "rejected": [assistant("No.")]}
    if "messages" in same:
        row = {"prompt": [user("Say hi.")], "chosen": [assistant("Hi.")], "rejected": [assistant("No.")]}
    assert "unread_text" not in codes(read(tmp_path, "a.jsonl", [row | same], "trl")[1])


def test_a_conversation_with_another_system_turn_is_not_given_two(tmp_path: Path) -> None:
    talk = {"chosen": [BRIEF, *TALK], "rejected": [BRIEF, *OTHER]}
    rows = [talk | {"system": "Be brief."}, talk | {"system": ""}, talk | {"system": "Be long."}]
    source, _ = read(tmp_path, "a.jsonl", rows, "trl", system="system")
    assert [row["prompt"] for row in texts(source)] == [[BRIEF, user("Say hi.")]] * 2
    assert quarantine(source) == [("a.jsonl", 3, "system", "said_twice")]


def test_llama_factory_lets_the_system_turn_win_and_a_note_says_so(tmp_path: Path) -> None:
    row = ROWS["llamafactory-sharegpt"][0]
    rows = [row | {"conversations": [{"from": "system", "value": "Be brief."}, *row["conversations"]], "system": "Be long."}]
    source, report = read(tmp_path, "a.jsonl", rows, system="system")
    assert [found["prompt"] for found in texts(source)] == [[BRIEF, user("Say hi.")]]
    assert extras(source) == [{"system": "Be long."}] and note(report, "system_overridden").startswith("a.jsonl: 1 pairs")


def test_earlier_turns_come_after_a_system_turn_of_the_conversation(tmp_path: Path) -> None:
    row = {"prompt": [BRIEF, user("Say hi.")], "chosen": "Hi.", "rejected": "No.", "history": [["a", "b"]]}
    source, _ = read(tmp_path, "a.jsonl", [row], "trl", history="history")
    assert texts(source) == [AS_MESSAGES | {"prompt": [BRIEF, user("a"), assistant("b"), user("Say hi.")]}]


@pytest.mark.parametrize("pairs", ["a", [["a"]], [["a", 1]], [{"a": "b"}], {"a": "b"}])
def test_earlier_turns_are_pairs_of_texts(tmp_path: Path, pairs: Any) -> None:
    source, _ = read(tmp_path, "a.jsonl", [ALPACA, ALPACA | {"history": pairs}], history="history")
    assert quarantine(source) == [("a.jsonl", 2, "history", "wrong_type")]


def test_members_of_records_are_columns_too(tmp_path: Path) -> None:
    row, options = ROWS["argilla-records"]
    error = refused(tmp_path, "a.jsonl", [row | {"fields": row["fields"] | {"system": "S"}}], **options)
    assert (error.code, error.where and error.where.field) == ("unread_text", "system")


def test_a_declared_column_that_never_came_is_named(tmp_path: Path) -> None:
    """The column may come late or not at all: no row is lost by it, and a misspelled name is seen."""
    _, report = read(tmp_path, "a.jsonl", [ALPACA], system="sytem")
    assert note(report, "column_never_seen") == "a.jsonl: no row has the declared column 'sytem'"


def test_only_columns_with_text_for_a_model_are_declared_unread(tmp_path: Path) -> None:
    error = refused(tmp_path, "a.jsonl", [ALPACA], unread="system,topic")
    assert (error.code, error.got) == ("unknown_value", '"topic"')
    assert {"system", "history", "input", "images"} <= VISIBLE
