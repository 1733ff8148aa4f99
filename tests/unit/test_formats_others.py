"""ms-swift, axolotl's types, OpenAI's preference rows."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_formats import assistant, extras, note, quarantine, read, refused, texts, user

SWIFT = {"messages": [user("Well?"), assistant("Yes.")], "rejected_response": "No.", "margin": 0.5, "tools": "[]"}
PAIR = {"prompt": [user("Well?")], "chosen": [assistant("Yes.")], "rejected": [assistant("No.")]}
PLAIN = {"prompt": "Well?", "chosen": "Yes.", "rejected": "No."}


# ms-swift


def test_swift_rejected_text_stands_for_the_last_message(tmp_path: Path) -> None:
    source, report = read(tmp_path, "a.jsonl", [SWIFT])
    assert texts(source) == [PAIR]
    assert extras(source) == [{"margin": 0.5, "tools": "[]"}]
    assert "was read as ms-swift" in note(report, "foreign_format")


def test_swift_rejected_list_stands_for_all_after_the_last_user_turn(tmp_path: Path) -> None:
    call = assistant(None, tool_calls=[{"type": "function", "function": {"name": "f", "arguments": {}}}])
    row = {"messages": [user("a"), assistant("b"), user("c"), call, {"role": "tool", "content": "5"}, assistant("Yes.")],
           "rejected_response": [call, {"role": "tool", "content": "6"}, assistant("No.")]}
    source, _ = read(tmp_path, "a.jsonl", [row])
    assert texts(source) == [{"prompt": row["messages"][:3], "chosen": row["messages"][3:], "rejected": row["rejected_response"]}]


def test_swift_rejected_messages_are_a_whole_conversation(tmp_path: Path) -> None:
    row = {"messages": [user("Well?"), assistant("Yes.")], "rejected_messages": [user("Well?"), assistant("No.")], "rejected_response": None}
    source, _ = read(tmp_path, "a.jsonl", [row])
    assert (texts(source), extras(source)) == ([PAIR], [None])


@pytest.mark.parametrize(("change", "field", "code"), [
    ({"rejected_response": None}, "rejected_response", "missing_field"),
    ({"rejected_messages": [user("Well?"), assistant("No.")]}, "rejected_response", "said_twice"),
    ({"rejected_response": ["No.", "Never."]}, "rejected_response", "wrong_type"),
    ({"messages": [user("Well?")]}, "messages", "turn_order"),
    ({"messages": "Well?"}, "messages", "wrong_type"),
    ({"messages": []}, "messages", "wrong_type"),
    ({"prompt": "another"}, "prompt", "said_twice"),
])
def test_swift_rows_that_cannot_be_mapped(tmp_path: Path, change: dict[str, Any], field: str, code: str) -> None:
    source, _ = read(tmp_path, "a.jsonl", [SWIFT, SWIFT | change], "ms-swift")
    assert quarantine(source) == [("a.jsonl", 2, field, code)]


# axolotl

TALK = {"chosen": [user("Well?"), assistant("Yes.")], "rejected": [user("Well?"), assistant("No.")]}
TYPES: list[tuple[str, dict[str, Any], Any]] = [
    ("chatml.intel", {"question": "Well?", "chosen": "Yes.", "rejected": "No."}, PLAIN),
    ("chatml.intel", {"question": "Well?", "chosen": "Yes.", "rejected": "No.", "system": ""}, PAIR),
    ("chatml.icr", {"input": "Well?", "chosen": "Yes.", "rejected": "No."}, PLAIN),
    ("chatml.prompt_pairs", PLAIN, PLAIN),
    ("chatml.argilla", {"instruction": "Well?", "chosen_response": "Yes.", "rejected_response": "No."}, PLAIN),
    ("chatml.argilla", {"prompt": "Well?", "chosen": "Yes.", "rejected": "No."}, PLAIN),
    ("chatml.argilla_chat", TALK, PAIR),
    ("chatml.ultra", TALK | {"prompt": "Well?"}, PAIR),
    ("chat_template.default", {"messages": [user("Well?")], "chosen": assistant("Yes."), "rejected": [assistant("No.")]}, PAIR),
    ("chat_template.default", {"messages": "Well?", "chosen": "Yes.", "rejected": "No."}, PAIR),
]


@pytest.mark.parametrize(("name", "row", "expected"), TYPES)
def test_axolotl_types(tmp_path: Path, name: str, row: dict[str, Any], expected: dict[str, Any]) -> None:
    source, report = read(tmp_path, "a.jsonl", [row], f"axolotl:{name}")
    assert (texts(source), extras(source), report.quarantined) == ([expected], [None], 0)


def test_axolotl_system_texts_are_a_turn(tmp_path: Path) -> None:
    row = {"system": "Be brief.", "question": "Well?", "chosen": "Yes.", "rejected": "No."}
    source, _ = read(tmp_path, "a.jsonl", [row])
    assert texts(source) == [PAIR | {"prompt": [{"role": "system", "content": "Be brief."}, user("Well?")]}]


def test_axolotl_chat_types_keep_a_system_text(tmp_path: Path) -> None:
    both = {"chosen": [user("Well?"), assistant("Yes.")], "rejected": [user("Well?"), assistant("No.")]}
    source, _ = read(tmp_path, "a.jsonl", [{"system": "Be brief.", **both}, {"system": "", **both}], "axolotl:chatml.ultra")
    assert texts(source) == [PAIR | {"prompt": [{"role": "system", "content": "Be brief."}, user("Well?")]}, PAIR]


def test_axolotl_chat_template_leaves_no_turn_out_in_silence(tmp_path: Path) -> None:
    """The trainer takes the last message of a side; a side that says more than the conversation and one answer loses something."""
    asked = {"messages": [user("Well?")]}
    whole = {"chosen": [user("Well?"), assistant("Yes.")], "rejected": [user("Well?"), assistant("No.")]}
    more = whole | {"chosen": [user("Well?"), assistant("First."), user("And?"), assistant("Yes.")]}
    other = whole | {"rejected": [user("Another question"), assistant("No.")]}
    source, _ = read(tmp_path, "a.jsonl", [asked | whole, asked | more, asked | other], "axolotl:chat_template.default")
    assert texts(source) == [PAIR]
    assert quarantine(source) == [("a.jsonl", 2, "chosen", "turns_left_out"), ("a.jsonl", 3, "rejected", "turns_left_out")]


def test_axolotl_fields_of_the_chat_template_type(tmp_path: Path) -> None:
    row = {"conversation": [user("Well?")], "good": "Yes.", "bad": {"role": "assistant", "content": "No."}}
    names = {"field_messages": "conversation", "field_chosen": "good", "field_rejected": "bad"}
    source, _ = read(tmp_path, "a.jsonl", [row], "axolotl:chat_template.default", **names)
    assert texts(source) == [PAIR]


@pytest.mark.parametrize(("row", "name"), [
    ({"question": "Well?", "chosen": "Yes.", "rejected": "No."}, "axolotl:chatml.intel"),
    ({"input": "Well?", "chosen": "Yes.", "rejected": "No."}, "axolotl:chatml.icr"),
    ({"instruction": "Well?", "chosen_response": "Yes.", "rejected_response": "No."}, "axolotl:chatml.argilla"),
    ({"messages": [user("Well?")], "chosen": assistant("Yes."), "rejected": assistant("No.")}, "axolotl:chat_template.default"),
])
def test_axolotl_types_that_can_be_told(tmp_path: Path, row: dict[str, Any], name: str) -> None:
    _, report = read(tmp_path, "a.jsonl", [row])
    assert f"was read as {name}" in note(report, "foreign_format")


def test_a_system_column_beside_trl_rows_is_ambiguous(tmp_path: Path) -> None:
    """TRL would leave the system text out, axolotl would put it before the prompt: nobody but the proposer knows."""
    error = refused(tmp_path, "a.jsonl", [PLAIN | {"system": "Be brief."}])
    assert error.code == "ambiguous_format"
    assert "trl and axolotl:chatml.prompt_pairs" in error.got


# OpenAI


def openai(**change: Any) -> dict[str, Any]:
    return {"input": {"messages": [user("Well?")]}, "preferred_output": [assistant("Yes.")], "non_preferred_output": [assistant("No.")]} | change


def test_openai_rows_keep_their_tools(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"x": {"default": None}}}}}]
    rows = [openai(), openai(input=[user("Well?")]), openai(input={"messages": [user("Well?")], "tools": tools, "parallel_tool_calls": True})]
    source, report = read(tmp_path, "a.jsonl", rows)
    assert texts(source) == [PAIR] * 3
    assert extras(source) == [None, None, {"tools": tools, "input": {"parallel_tool_calls": True}}]
    assert "was read as openai" in note(report, "foreign_format")


@pytest.mark.parametrize(("change", "field", "code"), [
    ({"input": "Well?"}, "input", "wrong_type"),
    ({"input": {"tools": []}}, "input.messages", "missing_field"),
    ({"input": []}, "input.messages", "wrong_type"),
    ({"preferred_output": "Yes."}, "preferred_output", "wrong_type"),
    ({"non_preferred_output": [{"content": "No."}]}, "non_preferred_output", "wrong_type"),
])
def test_openai_rows_that_cannot_be_mapped(tmp_path: Path, change: dict[str, Any], field: str, code: str) -> None:
    source, _ = read(tmp_path, "a.jsonl", [openai(), openai(**change)])
    assert quarantine(source) == [("a.jsonl", 2, field, code)]
