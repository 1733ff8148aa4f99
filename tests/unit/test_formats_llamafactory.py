"""LLaMA-Factory's alpaca and sharegpt ranking data, with the column names and tags of dataset_info.json."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_formats import assistant, extras, note, quarantine, read, texts, user

ALPACA = {"instruction": "Add.", "input": "2 and 3", "output": "5", "chosen": "5", "rejected": "6"}


def test_prompt_and_query_are_joined_as_the_trainer_joins_them(tmp_path: Path) -> None:
    rows = [ALPACA, ALPACA | {"input": ""}, ALPACA | {"input": None}, {name: value for name, value in ALPACA.items() if name != "input"}]
    source, report = read(tmp_path, "a.json", rows)
    assert [row["prompt"] for row in texts(source)] == ["Add.\n2 and 3", "Add.", "Add.", "Add."]
    assert texts(source)[0] | {"prompt": ""} == {"prompt": "", "chosen": "5", "rejected": "6"}
    assert extras(source) == [{"output": "5"}] * 4
    assert "llamafactory-alpaca" in note(report, "foreign_format")


def test_columns_of_dataset_info(tmp_path: Path) -> None:
    row = {"q": "Add.", "ctx": "2 and 3", "good": "5", "bad": "6", "sys": "Be brief.", "before": [["Hi", "Hello"]], "fns": "[]"}
    names = {"prompt": "q", "query": "ctx", "chosen": "good", "rejected": "bad", "system": "sys", "history": "before", "tools": "fns"}
    source, _ = read(tmp_path, "a.jsonl", [row], "llamafactory-alpaca", **names)
    assert texts(source) == [{
        "prompt": [{"role": "system", "content": "Be brief."}, user("Hi"), assistant("Hello"), user("Add.\n2 and 3")],
        "chosen": [assistant("5")], "rejected": [assistant("6")],
    }]
    assert extras(source) == [{"tools": "[]"}]


@pytest.mark.parametrize(("change", "field", "code"), [
    ({"instruction": 7}, "instruction", "wrong_type"), ({"input": 7}, "input", "wrong_type"), ({"rejected": None}, "rejected", "wrong_type"),
])
def test_alpaca_rows_that_cannot_be_mapped(tmp_path: Path, change: dict[str, Any], field: str, code: str) -> None:
    source, _ = read(tmp_path, "a.jsonl", [ALPACA, ALPACA | change], "llamafactory-alpaca")
    assert quarantine(source) == [("a.jsonl", 2, field, code)]


def turn(tag: str, text: str) -> dict[str, str]:
    return {"from": tag, "value": text}


def sharegpt(*conversation: dict[str, str], chosen: Any = None, rejected: Any = None, **more: Any) -> dict[str, Any]:
    return {"conversations": list(conversation), "chosen": chosen or turn("gpt", "Yes."), "rejected": rejected or turn("gpt", "No.")} | more


def test_turns_become_messages(tmp_path: Path) -> None:
    rows = [sharegpt(turn("human", "Well?")), sharegpt(turn("system", "S"), turn("human", "a"), turn("gpt", "b"), turn("human", "c"))]
    source, report = read(tmp_path, "a.json", rows)
    first, second = texts(source)
    assert first == {"prompt": [user("Well?")], "chosen": [assistant("Yes.")], "rejected": [assistant("No.")]}
    assert second["prompt"] == [{"role": "system", "content": "S"}, user("a"), assistant("b"), user("c")]
    assert "llamafactory-sharegpt" in note(report, "foreign_format")


def test_function_calls_become_tool_calls_and_tools_are_kept(tmp_path: Path) -> None:
    row = sharegpt(
        turn("human", "2+3?"), turn("function_call", '{"name": "add", "arguments": {"x": [2, 3]}}'), turn("observation", "5"),
        chosen=turn("function_call", '[{"name": "say", "arguments": "{\\"t\\": 5}"}]'), tools='[{"name": "add"}]',
    )
    source, _ = read(tmp_path, "a.json", [row])
    (found,) = texts(source)
    assert found["prompt"] == [
        user("2+3?"), assistant(None, tool_calls=[{"type": "function", "function": {"name": "add", "arguments": {"x": [2, 3]}}}]),
        {"role": "tool", "content": "5"},
    ]
    assert found["chosen"] == [assistant(None, tool_calls=[{"type": "function", "function": {"name": "say", "arguments": '{"t": 5}'}}])]
    assert extras(source) == [{"tools": '[{"name": "add"}]'}]


def test_tags_of_dataset_info(tmp_path: Path) -> None:
    row = {"talk": [{"role": "u", "text": "Well?"}], "chosen": {"role": "a", "text": "Yes."}, "rejected": {"role": "a", "text": "No."}, "sys": "S"}
    options = {"messages": "talk", "role_tag": "role", "content_tag": "text", "user_tag": "u", "assistant_tag": "a", "system": "sys"}
    source, _ = read(tmp_path, "a.jsonl", [row], "llamafactory-sharegpt", **options)
    (found,) = texts(source)
    assert found["prompt"] == [{"role": "system", "content": "S"}, user("Well?")]
    assert (found["chosen"], found["rejected"]) == ([assistant("Yes.")], [assistant("No.")])


def test_an_empty_tools_column_says_nothing(tmp_path: Path) -> None:
    """dataset_info.json names the column, so it stands in every row."""
    source, _ = read(tmp_path, "a.json", [sharegpt(turn("human", "Well?"), tools=""), sharegpt(turn("human", "Well?"), tools="[]")])
    assert extras(source) == [None, {"tools": "[]"}]


@pytest.mark.parametrize(("row", "field", "code"), [
    (sharegpt(turn("user", "Well?")), "conversations[0].from", "unknown_role"),
    (sharegpt(turn("human", "a"), turn("gpt", "b")), "conversations", "turn_order"),  # the trainer skips a row that ends with an answer
    (sharegpt(turn("gpt", "b")), "conversations", "turn_order"),
    (sharegpt(turn("human", "a"), turn("human", "b"), turn("human", "c")), "conversations", "turn_order"),
    (sharegpt(turn("system", "S")), "conversations", "turn_order"),
    (sharegpt(turn("human", "a"), chosen=turn("human", "b")), "chosen", "turn_order"),
    (sharegpt(), "conversations", "wrong_type"),
    (sharegpt(turn("human", "a"), turn("function_call", "add(2)"), turn("observation", "5")), "conversations[1].value", "not_json"),
    (sharegpt(turn("human", "a"), turn("function_call", '{"name": "f"}'), turn("observation", "5")), "conversations[1].value", "wrong_type"),
    (sharegpt(turn("human", "a"), turn("function_call", "[]"), turn("observation", "5")), "conversations[1].value", "wrong_type"),
    (sharegpt(turn("human", "a"), turn("function_call", '{"name": "f", "arguments": {"a":1,"a":2}}'), turn("observation", "5")),
     "conversations[1].value", "not_json"),
])
def test_sharegpt_rows_that_cannot_be_mapped(tmp_path: Path, row: dict[str, Any], field: str, code: str) -> None:
    source, report = read(tmp_path, "a.json", [sharegpt(turn("human", "Well?")), row], "llamafactory-sharegpt")
    assert quarantine(source) == [("a.json", 2, field, code)]
    assert report.counts["pairs"] == 1
