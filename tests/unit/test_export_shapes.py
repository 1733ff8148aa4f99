"""Each trainer's shape, read back by that trainer's own rules (support_trainers): a pair says the same afterwards, or is refused."""
from __future__ import annotations

import json
from typing import Any

import pytest
from support_export import CASE_17, CASE_21, CHAT, TOOLS, call, say
from support_trainers import READERS, meaning, with_parsed_arguments

from core.errors import ExportError
from core.export.pairs import ExportPair
from core.export.shape import row_of
from core.export.shapes import SHAPES, shape_named
from core.export.trl import wired
from core.export.turns import SPLITS, Unfit, conversation


def pair_of(row: dict[str, Any]) -> ExportPair:
    return ExportPair(0, row["pair_id"], row["prompt"], row["chosen"], row["rejected"], {"tools": row["tools"]} if "tools" in row else {})


PLAIN = [pair_of(row) for row in CASE_21]
TALKS = [pair_of(row) for row in CHAT]
CALLS = [pair_of(row) for row in CASE_17]
ONE_TURN_CALLS = CALLS[1:]
PAIRS = {"plain": PLAIN, "chat": TALKS, "one call": ONE_TURN_CALLS, "call and answer": CALLS[:1]}

SAYS = {
    "trl": set(PAIRS), "ms-swift-messages": set(PAIRS), "trl-plain": {"plain"}, "openai": {"plain", "chat", "one call"},
    "llamafactory-sharegpt": {"plain", "chat", "one call"},
    **{name: {"plain", "chat"} for name in ("openrlhf", "openrlhf-prompt", "llamafactory-alpaca", "ms-swift", "axolotl-chat-template-default",
                                            "axolotl-chat-template-argilla-chat")},
    # one user turn, with or without a system prompt: the first chat, not the second
    **{f"axolotl-chatml-{kind}": {"plain"} for kind in ("intel", "icr", "argilla", "prompt-pairs", "ultra")},
}
"""Which kinds of pairs each shape can say."""


def expected(pair: ExportPair) -> Any:
    both = conversation(pair)
    tools = json.loads(pair.tools) if isinstance(pair.tools, str) else pair.tools
    return meaning((both.prompt, both.chosen, both.rejected, tools))


def through_json(row: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(row, allow_nan=False))


def test_every_shape_has_a_reader_and_every_reader_a_shape() -> None:
    assert set(SHAPES) == set(READERS) == set(SAYS)


@pytest.mark.parametrize("name", SHAPES)
def test_the_trainers_reader_understands_the_same_pair(name: str) -> None:
    for kind in SAYS[name]:
        for pair in PAIRS[kind]:
            told, meant = meaning(READERS[name](through_json(row_of(SHAPES[name], pair)))), expected(pair)
            if name == "openai":
                # arguments are text on that wire: what they say is the same, whether they are an object or text is not
                told, meant = with_parsed_arguments(told), with_parsed_arguments(meant)
            assert told == meant, (name, pair.pair_id)


@pytest.mark.parametrize("name", SHAPES)
def test_a_pair_that_the_shape_cannot_say_is_refused(name: str) -> None:
    for kind in set(PAIRS) - SAYS[name] - {"chat"}:
        for pair in PAIRS[kind]:
            with pytest.raises(Unfit):
                row_of(SHAPES[name], pair)


@pytest.mark.parametrize("kind", ["intel", "icr", "argilla", "prompt-pairs", "ultra"])
def test_chatml_says_one_user_turn_with_a_system_prompt_and_no_more(kind: str) -> None:
    name = f"axolotl-chatml-{kind}"
    assert meaning(READERS[name](row_of(SHAPES[name], TALKS[0]))) == expected(TALKS[0])
    with pytest.raises(Unfit, match="more than one user turn"):
        row_of(SHAPES[name], TALKS[1])


@pytest.mark.parametrize("name", SHAPES)
def test_rows_have_the_columns_that_the_shape_names(name: str) -> None:
    for pair in PLAIN:
        row = row_of(SHAPES[name], pair)
        assert set(row) <= set(SHAPES[name].columns)


def test_the_shapes_own_spellings() -> None:
    # formats.md, preference rows
    pair = PLAIN[0]
    assert set(row_of(SHAPES["trl"], pair)) == {"prompt", "chosen", "rejected"}
    assert row_of(SHAPES["trl-plain"], pair) == {"prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected}
    assert row_of(SHAPES["openai"], pair) == {
        "input": {"messages": [say("user", "2024-01-05")]}, "preferred_output": [say("assistant", pair.chosen)],
        "non_preferred_output": [say("assistant", pair.rejected)],
    }
    assert row_of(SHAPES["ms-swift"], pair) == {
        "messages": [say("user", "2024-01-05"), say("assistant", pair.chosen)], "rejected_response": pair.rejected,
    }
    assert row_of(SHAPES["llamafactory-sharegpt"], ONE_TURN_CALLS[0]) == {
        "conversations": [{"from": "human", "value": "Add flags."}],
        "chosen": {"from": "function_call", "value": '{"name": "add", "arguments": {"y": [true, null]}}'},
        "rejected": {"from": "gpt", "value": "No flags known."}, "tools": json.dumps(TOOLS),
    }
    row = row_of(SHAPES["ms-swift-messages"], CALLS[0])
    assert row["messages"][1:3] == [
        {"role": "tool_call", "content": '{"name": "add", "arguments": {"x": 1}}'}, {"role": "tool_response", "content": "2"},
    ]
    assert row["tools"] == row["rejected_tools"] == json.dumps(TOOLS)
    assert row_of(SHAPES["axolotl-chatml-argilla"], pair) == {
        "system": "", "instruction": pair.prompt, "chosen_response": pair.chosen, "rejected_response": pair.rejected,
    }


def test_llama_factorys_index_names_the_columns() -> None:
    beside = SHAPES["llamafactory-alpaca"].beside
    assert beside is not None
    assert beside("round-1", "train.jsonl") == {"dataset_info.json": {"round-1": {
        "file_name": "train.jsonl", "ranking": True, "columns": {
            "prompt": "instruction", "query": "input", "chosen": "chosen", "rejected": "rejected", "system": "system", "history": "history"}}}}
    beside = SHAPES["llamafactory-sharegpt"].beside
    assert beside is not None
    index = beside("r", "train.jsonl")["dataset_info.json"]["r"]
    assert (index["formatting"], index["ranking"], index["columns"]["messages"]) == ("sharegpt", True, "conversations")
    assert index["tags"]["function_tag"] == "function_call" and index["tags"]["observation_tag"] == "observation"


def test_case_17_arguments_stay_what_they_are_in_trl_rows() -> None:
    rows = [row_of(SHAPES["trl"], pair) for pair in CALLS]
    arguments = [row["chosen"][0]["tool_calls"][0]["function"]["arguments"] for row in rows]
    assert arguments == [{"x": 1}, {"y": [True, None]}, '{"x": 1}']
    assert all(row["chosen"][0]["content"] is None for row in rows)
    assert [row["chosen"] for row in rows] == [list(pair.chosen) for pair in CALLS]
    assert [row["tools"] for row in rows] == [pair.tools for pair in CALLS]


LOSSES = [
    # (shape, what is in a message, why)
    ("llamafactory-sharegpt", say("assistant", "Let me see.", tool_calls=[call({"x": 1})]), "text beside its tool call"),
    ("llamafactory-sharegpt", say("assistant", "a", reasoning="why"), "reasoning"),
    ("llamafactory-sharegpt", say("assistant", None, tool_calls=[{"id": "c"}]), "names no function"),
    ("ms-swift-messages", say("assistant", "Let me see.", tool_calls=[call({"x": 1})]), "text beside its tool call"),
    ("ms-swift-messages", say("assistant", "a", weight=0), "weight"),
    ("ms-swift-messages", say("assistant", None, tool_calls=[{"id": "c"}]), "names no function"),
    ("ms-swift", say("assistant", None), "no text"),
    ("axolotl-chat-template-default", say("assistant", "a", name="x"), "has name"),
    ("axolotl-chat-template-default", say("user", "a"), "not an assistant's"),
    ("openai", say("user", "a"), "not an assistant's"),
    ("llamafactory-alpaca", say("user", "a"), "not an assistant's"),
    ("llamafactory-sharegpt", say("user", "a"), "not an assistant's"),
    ("axolotl-chat-template-default", say("critic", "a"), "critic"),
    ("llamafactory-sharegpt", say("critic", "a"), "critic"),
    ("ms-swift-messages", say("critic", "a"), "not end with an assistant's"),
    ("openai", say("critic", "a"), "critic"),
    *((name, say(role, None), "neither text nor a call")
      for name in ("openai", "trl", "openrlhf", "openrlhf-prompt") for role in ("assistant", "tool")),
    ("trl", {"role": "assistant", "tool_calls": []}, "neither text nor a call"),
    *((name, say("assistant", None, tool_calls=[{"type": "function", "function": {"name": "add"}}]), "no arguments")
      for name in ("llamafactory-sharegpt", "ms-swift-messages")),
    *((name, say("assistant", None, tool_calls=[{**call({"x": 1}), "index": 3}]), "call has index")
      for name in ("llamafactory-sharegpt", "ms-swift-messages")),
]


@pytest.mark.parametrize(("name", "message", "reason"), LOSSES)
def test_what_a_shape_would_lose_in_silence_is_refused(name: str, message: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unfit, match=reason):
        row_of(SHAPES[name], ExportPair(0, "p", [say("user", "q")], [message], [say("assistant", "no")]))


@pytest.mark.parametrize(("prompt", "chosen", "reason"), [
    ([say("user", "q"), say("assistant", "a")], [say("assistant", "b")], "not end with a user's"),
    ([say("user", "q"), say("assistant", None, tool_calls=[call({})]), say("tool", "1")], [say("assistant", "b")], "not end with a user's"),
    ([say("system", "q")], [say("assistant", "b")], "not end with a user's"),
    ([say("user", "q"), say("critic", "c"), say("user", "d")], [say("assistant", "b")], "a message is a critic's"),
    ([say("developer", "q"), say("user", "d")], [say("assistant", "b")], "a message is a developer's"),
    ([say("user", "q"), say("system", "c"), say("user", "d")], [say("assistant", "b")], "system's behind the first"),
    ([say("user", "q"), say("user", "d")], [say("assistant", "b")], "two user's messages"),
])
@pytest.mark.parametrize("name", ["ms-swift", "ms-swift-messages"])
def test_what_ms_swift_would_read_otherwise_is_refused(name: str, prompt: list[Any], chosen: list[Any], reason: str) -> None:
    """Its answer is all that follows the last user's message, it joins messages of one role, and stops at other roles."""
    with pytest.raises(Unfit, match=reason):
        row_of(SHAPES[name], ExportPair(0, "p", prompt, chosen, [say("assistant", "no")]))


def test_turns_that_ms_swift_would_join_are_refused() -> None:
    steps = [say("assistant", None, tool_calls=[call({}, number=number)]) for number in ("c1", "c2")]
    twice = [*steps, say("tool", "1"), say("assistant", "b")]
    with pytest.raises(Unfit, match="two assistant's messages"):
        row_of(SHAPES["ms-swift-messages"], ExportPair(0, "p", [say("user", "q")], twice, [say("assistant", "no")]))


@pytest.mark.parametrize("name", ["ms-swift-messages", "llamafactory-sharegpt"])
def test_results_in_another_order_than_the_calls_are_refused(name: str) -> None:
    """Those formats have no ids: the order says which call a result answers."""
    both = say("assistant", None, tool_calls=[call({"x": 1}, number="c1"), call({"x": 2}, number="c2")])
    results = [say("tool", "2", tool_call_id="c2"), say("tool", "1", tool_call_id="c1")]
    prompt = [say("user", "q"), both, *results, say("assistant", "a"), say("user", "r")]
    with pytest.raises(Unfit, match="order of its calls"):
        row_of(SHAPES[name], ExportPair(0, "p", prompt, [say("assistant", "b")], [say("assistant", "no")]))


@pytest.mark.parametrize("name", ["llamafactory-alpaca", "axolotl-chatml-intel"])
def test_an_empty_system_prompt_is_not_none(name: str) -> None:
    with pytest.raises(Unfit, match="system prompt is empty"):
        row_of(SHAPES[name], ExportPair(0, "p", [say("system", ""), say("user", "q")], [say("assistant", "a")], [say("assistant", "no")]))


@pytest.mark.parametrize("prompt", [
    [say("user", "a"), say("user", "b")], [say("user", "a"), say("assistant", "b")], [say("assistant", "a"), say("user", "b")],
    [say("user", "a"), say("system", "b"), say("user", "c")],
])
@pytest.mark.parametrize("name", ["llamafactory-alpaca", "llamafactory-sharegpt"])
def test_a_prompt_that_llama_factory_would_skip_is_refused(name: str, prompt: list[Any]) -> None:
    # its reader: "Invalid role tag ... Skipping this abnormal example"
    with pytest.raises(Unfit):
        row_of(SHAPES[name], ExportPair(0, "p", prompt, [say("assistant", "a")], [say("assistant", "b")]))


def test_tools_that_are_no_json_are_refused_where_they_must_be() -> None:
    with pytest.raises(Unfit, match="no JSON"):
        row_of(SHAPES["openai"], ExportPair(0, "p", "q", "a", "b", {"tools": "add(x)"}))


def test_openai_takes_one_turn_of_a_longer_answer_by_another_split() -> None:
    first = CALLS[0]
    with pytest.raises(Unfit, match="3 messages"):
        row_of(SHAPES["openai"], first)
    row = row_of(SHAPES["openai"], SPLITS["divergence"](first).pair)
    assert row["preferred_output"][0]["tool_calls"][0]["function"]["arguments"] == '{"x": 1}'
    assert row["input"]["tools"] == TOOLS


def test_bare_calls_are_wired_in_every_shape_that_has_the_wire_form() -> None:
    pair = ExportPair(0, "p", "q", [say("assistant", None, tool_calls=[{"name": "add", "arguments": {"x": 1}}])], [say("assistant", "no")])
    assert row_of(SHAPES["trl"], pair)["chosen"] == wired(pair)[1] == [say("assistant", None, tool_calls=[call({"x": 1}, "add", "call_0000")])]
    assert row_of(SHAPES["openai"], pair)["preferred_output"][0]["tool_calls"] == [call('{"x": 1}', "add", "call_0000")]


def test_an_unknown_format_is_refused_by_name() -> None:
    with pytest.raises(ExportError) as caught:
        shape_named("TRL")
    assert caught.value.code == "unknown_format" and "llamafactory-alpaca" in caught.value.expected


RENDERS = {"trl": {"tools", "chat_template_kwargs"}, **{name: {"tools"} for name in (
    "llamafactory-sharegpt", "ms-swift", "ms-swift-messages", "openai")}}


@pytest.mark.parametrize("name", SHAPES)
def test_what_says_how_a_pair_is_rendered_is_carried_or_refused(name: str) -> None:
    values = {"tools": TOOLS, "chat_template_kwargs": {"enable_thinking": False}, "images": ["a.png"], "videos": ["a.mp4"], "audios": ["a.wav"]}
    for column, value in values.items():
        pair = ExportPair(0, "p", "q", "a", "b", {column: value})
        if column in RENDERS.get(name, set()):
            assert "enable_thinking" in json.dumps(row_of(SHAPES[name], pair)) or "Adds." in json.dumps(row_of(SHAPES[name], pair))
        else:
            with pytest.raises(Unfit, match=column):
                row_of(SHAPES[name], pair)


@pytest.mark.parametrize(("column", "value"), [("tools", 3), ("tools", ["add"]), ("tools", {"add": 1}), ("chat_template_kwargs", "x")])
def test_what_is_no_such_thing_is_refused(column: str, value: Any) -> None:
    with pytest.raises(Unfit, match=f"its {column}"):
        row_of(SHAPES["trl"], ExportPair(0, "p", "q", "a", "b", {column: value}))
