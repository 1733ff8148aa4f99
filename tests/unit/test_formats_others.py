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


def called(*arguments: Any) -> dict[str, Any]:
    """An assistant's message with one call of f for each."""
    return assistant(None, tool_calls=[{"type": "function", "function": {"name": "f", "arguments": given}} for given in arguments])


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def test_swift_tool_turns_are_calls_and_results(tmp_path: Path) -> None:
    """Its own reader's names: tool_call and function_call for a call, tool, tool_response and observation for a result; calls in a row
    are one turn with several calls, and one behind a text belongs to it."""
    row = {
        "messages": [user("a"), said("tool_call", '{"name": "f", "arguments": {"x": [true, null]}}'), said("tool_response", "5"), assistant("b"),
                     said("human", "c"), said("function-call", '{"name": "f", "arguments": "{\\"x\\": 1}"}'),
                     said("tool_call", '{"name": "f", "parameters": {}}'), said("observation", "6"), said("tool", "7"), said("gpt", "Let me see."),
                     said("tool_call", {"name": "f", "arguments": {}}), said("tool_response", "8"), assistant("Yes.")],
        "rejected_response": [assistant("No.")], "tools": "[]",
    }
    source, report = read(tmp_path, "a.jsonl", [row])
    results = [said("tool", text) for text in "678"]
    assert texts(source) == [{
        "prompt": [user("a"), called({"x": [True, None]}), said("tool", "5"), assistant("b"), user("c")],
        "chosen": [called('{"x": 1}', {}), *results[:2], called({}) | {"content": "Let me see."}, results[2], assistant("Yes.")],
        "rejected": [assistant("No.")],
    }]
    assert report.quarantined == 0 and "was read as ms-swift" in note(report, "foreign_format")


BEHIND = [user("Well?"), said("tool_call", '{"name": "f", "arguments": {}}'), said("tool_response", "5"), assistant("Yes.")]


def test_swift_a_rejected_text_behind_several_messages_needs_a_declaration(tmp_path: Path) -> None:
    """Releases before 4 put it behind the tool's result, release 4 in the place of all that follows the user's turn."""
    row = SWIFT | {"messages": BEHIND}
    source, _ = read(tmp_path / "none", "a.jsonl", [SWIFT, row])
    assert quarantine(source) == [("a.jsonl", 2, "rejected_response", "ambiguous_rejected")]
    source, _ = read(tmp_path / "turn", "a.jsonl", [row], replaces="turn")
    assert texts(source) == [PAIR | {"chosen": [called({}), said("tool", "5"), assistant("Yes.")]}]
    source, _ = read(tmp_path / "message", "a.jsonl", [row], replaces="message")
    assert texts(source) == [PAIR | {"prompt": [user("Well?"), called({}), said("tool", "5")]}]


def test_swift_a_list_of_one_text_is_that_text(tmp_path: Path) -> None:
    source, _ = read(tmp_path, "a.jsonl", [SWIFT | {"rejected_response": ["No."]}])
    assert texts(source) == [PAIR]


def test_swift_tools_of_both_sides_are_said_once(tmp_path: Path) -> None:
    whole = {"messages": SWIFT["messages"], "rejected_messages": [user("Well?"), assistant("No.")]}
    source, _ = read(tmp_path, "a.jsonl", [whole | {"tools": "[1]", "rejected_tools": "[1]"}, whole | {"tools": "[1]", "rejected_tools": "[2]"}])
    assert (texts(source), extras(source)) == ([PAIR], [{"tools": "[1]"}])
    assert quarantine(source) == [("a.jsonl", 2, "rejected_tools", "said_twice")]


@pytest.mark.parametrize(("change", "field", "code"), [
    ({"rejected_response": None}, "rejected_response", "missing_field"),
    ({"rejected_messages": [user("Well?"), assistant("No.")]}, "rejected_response", "said_twice"),
    ({"rejected_response": ["No.", "Never."]}, "rejected_response", "several_rejected"),
    ({"rejected_response": []}, "rejected_response", "wrong_type"),
    ({"rejected_response": ["No.", 5]}, "rejected_response", "wrong_type"),
    ({"rejected_response": [user("No.")]}, "rejected_response", "turn_order"),
    ({"rejected_response": [said("critic", "No.")]}, "rejected_response[0].role", "unknown_role"),
    ({"rejected_response": None, "rejected_messages": "No."}, "rejected_messages", "wrong_type"),
    ({"rejected_response": None, "rejected_messages": [user("Well?"), said("critic", "No.")]}, "rejected_messages[1].role", "unknown_role"),
    ({"messages": [user("Well?")]}, "messages", "turn_order"),
    ({"messages": [user("Well?"), assistant("Yes."), said("tool_response", "5")], "rejected_response": [assistant("No.")]}, "messages", "turn_order"),
    ({"messages": "Well?"}, "messages", "wrong_type"),
    ({"messages": []}, "messages", "wrong_type"),
    ({"messages": [said("critic", "Well?"), assistant("Yes.")]}, "messages[0].role", "unknown_role"),
    ({"messages": [user("Well?"), said("tool_call", "f(x)")]}, "messages[1].content", "not_json"),
    ({"messages": [user("Well?"), said("tool_call", '{"name": "f"}')]}, "messages[1].content", "wrong_type"),
    ({"messages": [user("Well?"), said("tool_call", '[{"name": "f", "arguments": {}}]')]}, "messages[1].content", "wrong_type"),
    ({"messages": [user("Well?"), said("tool_call", '{"name": "f", "arguments": {"a": 1, "a": 2}}')]}, "messages[1].content", "not_json"),
    ({"messages": [user("Well?"), said("tool_response", {"a": 1}), user("And?"), assistant("Yes.")]}, "messages[1].content", "wrong_type"),
    ({"rejected_videos": ["b.mp4"]}, "rejected_videos", "unread_media"),
    ({"prompt": "another"}, "prompt", "said_twice"),
])
def test_swift_rows_that_cannot_be_mapped(tmp_path: Path, change: dict[str, Any], field: str, code: str) -> None:
    source, _ = read(tmp_path, "a.jsonl", [SWIFT, SWIFT | change], "ms-swift")
    assert quarantine(source) == [("a.jsonl", 2, field, code)]


def test_swift_calls_of_one_turn_agree_on_what_else_they_say(tmp_path: Path) -> None:
    weighed = [said("tool_call", '{"name": "f", "arguments": {}}', loss=loss) for loss in (True, True, False)]
    rows = [SWIFT | {"messages": [user("Well?"), *turns], "rejected_response": [assistant("No.")]} for turns in (weighed[:2], weighed[1:])]
    source, _ = read(tmp_path, "a.jsonl", rows)
    assert [row["chosen"] for row in texts(source)] == [[called({}, {}) | {"loss": True}]]
    assert quarantine(source) == [("a.jsonl", 2, "messages[2].loss", "said_twice")]


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


def test_axolotl_roles_are_those_that_are_declared(tmp_path: Path) -> None:
    """axolotl stops at a role that its roles do not name; a tool's message is one of its own."""
    asked = [said("human", "Well?"), assistant("One moment."), said("tool", "5")]
    talk = {"messages": asked, "chosen": said("gpt", "Yes."), "rejected": "No."}
    rows = [talk | {"messages": "Well?"}, talk, talk | {"messages": "Well?", "rejected": said("critic", "No.")}]
    source, _ = read(tmp_path / "none", "a.jsonl", rows, "axolotl:chat_template.default", roles__assistant="gpt")
    assert texts(source) == [PAIR]
    assert quarantine(source) == [("a.jsonl", 2, "messages[0].role", "unknown_role"), ("a.jsonl", 3, "rejected[0].role", "unknown_role")]
    source, _ = read(tmp_path / "both", "a.jsonl", [talk], "axolotl:chat_template.default", roles__user="human,user", roles__assistant="gpt")
    assert texts(source) == [PAIR | {"prompt": [user("Well?"), *asked[1:]]}]


@pytest.mark.parametrize("name", ["axolotl:chatml.argilla_chat", "axolotl:chatml.ultra", "openrlhf"])
def test_trainers_that_take_the_last_message_have_the_rest_as_the_prompt(tmp_path: Path, name: str) -> None:
    talk = [user("Go on: one, "), assistant("two,")]
    rows = [{"chosen": [*talk, assistant(" three")], "rejected": [*talk, assistant(" five")]},
            {"chosen": [user("a"), assistant("b"), user("c"), assistant("d")], "rejected": [user("a"), assistant("e")]}]
    source, _ = read(tmp_path, "a.jsonl", rows, name)
    assert texts(source) == [
        {"prompt": talk, "chosen": [assistant(" three")], "rejected": [assistant(" five")]},
        {"prompt": [user("a")], "chosen": rows[1]["chosen"][1:], "rejected": [assistant("e")]},
    ]


@pytest.mark.parametrize("name", ["axolotl:chatml.argilla_chat", "axolotl:chatml.ultra"])
def test_axolotl_chat_types_know_their_roles(tmp_path: Path, name: str) -> None:
    rows = [{"chosen": [said(role, "Well?"), assistant("Yes.")], "rejected": [said(role, "Well?"), assistant("No.")]} for role in ("user", "human")]
    source, _ = read(tmp_path / "none", "a.jsonl", rows, name)
    assert (texts(source), quarantine(source)) == ([PAIR], [("a.jsonl", 2, "chosen[0].role", "unknown_role")])
    source, _ = read(tmp_path / "declared", "a.jsonl", rows[1:], name, roles__user="human")
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
    ({"input": {"messages": [said("human", "Well?")]}}, "input.messages[0].role", "unknown_role"),
    ({"preferred_output": [said("critic", "Yes.")]}, "preferred_output[0].role", "unknown_role"),
    ({"input": {"messages": [user("Well?"), said("function", "5", name="f")]}}, "input.messages[1].role", "unknown_role"),
    ({"preferred_output": [said("assistant", None, function_call={"name": "f", "arguments": "{}"})]}, "chosen[0].function_call", "unread_call"),
])
def test_openai_rows_that_cannot_be_mapped(tmp_path: Path, change: dict[str, Any], field: str, code: str) -> None:
    source, _ = read(tmp_path, "a.jsonl", [openai(), openai(**change)])
    assert quarantine(source) == [("a.jsonl", 2, field, code)]
