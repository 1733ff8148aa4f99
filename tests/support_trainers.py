"""How each trainer's own reader understands a row, written again from those readers, so that a shape is checked by somebody else.

Every function takes one row and gives (prompt, chosen, rejected, tools) as messages, the way TRL would have them.
"""
from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

Messages = list[dict[str, Any]]
Read = tuple[Messages, Messages, Messages, Any]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def trl(row: Mapping[str, Any]) -> Read:
    # data_utils.is_conversational: a list of messages, or text
    if isinstance(row["prompt"], str):
        return [user(row["prompt"])], [assistant(row["chosen"])], [assistant(row["rejected"])], None
    tools = row.get("tools")
    return row["prompt"], row["chosen"], row["rejected"], json.loads(tools) if isinstance(tools, str) else tools


def openrlhf(row: Mapping[str, Any]) -> Read:
    # reward_dataset.preprocess_data without prompt_key, is_dpo: everything but the last message of the chosen side is the prompt
    prompt = row["chosen"][:-1]
    assert row["rejected"][:-1] == prompt
    return prompt, row["chosen"][-1:], row["rejected"][-1:], None


def llamafactory_alpaca(row: Mapping[str, Any]) -> Read:
    # converter.AlpacaDatasetConverter with history and system columns
    system = [{"role": "system", "content": row["system"]}] if row["system"] else []
    past = [message for asked, said in row["history"] for message in (user(asked), assistant(said))]
    query = "\n".join(part for part in (row["instruction"], row["input"]) if part)
    return [*system, *past, user(query)], [assistant(row["chosen"])], [assistant(row["rejected"])], None


def llamafactory_sharegpt(row: Mapping[str, Any]) -> Read:
    # converter.SharegptDatasetConverter, ranking: odd turns ask, even turns answer, a dict on each side
    roles = {"human": "user", "gpt": "assistant", "observation": "tool", "system": "system"}

    def message(turn: Mapping[str, Any]) -> dict[str, Any]:
        if turn["from"] != "function_call":
            return {"role": roles[turn["from"]], "content": turn["value"]}
        calls = json.loads(turn["value"])  # FunctionFormatter: one call or a list of them, each with name and arguments
        calls = calls if isinstance(calls, list) else [calls]
        return {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": call} for call in calls]}

    turns = row["conversations"]
    talk = turns[1:] if turns[0]["from"] == "system" else turns
    assert len(talk) % 2 == 1
    assert all(turn["from"] in (("human", "observation"), ("gpt", "function_call"))[place % 2] for place, turn in enumerate(talk))
    assert row["chosen"]["from"] in ("gpt", "function_call") and row["rejected"]["from"] in ("gpt", "function_call")
    return [message(turn) for turn in turns], [message(row["chosen"])], [message(row["rejected"])], json.loads(row["tools"]) if row["tools"] else None


def swift_turns(messages: Messages) -> Messages:
    told: Messages = []
    for message in messages:
        if message["role"] == "tool_call":
            call = {"type": "function", "function": json.loads(message["content"])}
            if told and told[-1].get("tool_calls"):
                told[-1]["tool_calls"].append(call)
            else:
                told.append({"role": "assistant", "content": None, "tool_calls": [call]})
        else:
            told.append({"role": "tool" if message["role"] == "tool_response" else message["role"], "content": message["content"]})
    return told


def swift(row: Mapping[str, Any]) -> Read:
    chosen = swift_turns(row["messages"])
    tools = row.get("tools")
    return chosen[:-1], chosen[-1:], [assistant(row["rejected_response"])], json.loads(tools) if tools else None


def swift_messages(row: Mapping[str, Any]) -> Read:
    chosen, rejected = swift_turns(row["messages"]), swift_turns(row["rejected_messages"])
    shared = next((place for place, (one, other) in enumerate(zip(chosen, rejected, strict=False)) if one != other), len(chosen))
    tools = row.get("tools")
    assert tools == row.get("rejected_tools")
    return chosen[:shared], chosen[shared:], rejected[shared:], json.loads(tools) if tools else None


def axolotl_template(row: Mapping[str, Any]) -> Read:
    return row["messages"], [row["chosen"]], [row["rejected"]], None


def axolotl_chatml(asked: str, one: str = "chosen", other: str = "rejected") -> Callable[[Mapping[str, Any]], Read]:
    def read(row: Mapping[str, Any]) -> Read:
        system = [{"role": "system", "content": row["system"]}] if row["system"] else []
        return [*system, user(row[asked])], [assistant(row[one])], [assistant(row[other])], None

    return read


def axolotl_ultra(row: Mapping[str, Any]) -> Read:
    # chatml.ultra: the prompt column, and the second message of each side
    system = [{"role": "system", "content": row["system"]}] if row["system"] else []
    return [*system, user(row["prompt"])], [assistant(row["chosen"][1]["content"])], [assistant(row["rejected"][1]["content"])], None


def openai(row: Mapping[str, Any]) -> Read:
    assert set(row["input"]) <= {"messages", "tools", "parallel_tool_calls"}
    (chosen,), (rejected,) = row["preferred_output"], row["non_preferred_output"]
    return row["input"]["messages"], [chosen], [rejected], row["input"].get("tools")


READERS: dict[str, Callable[[Mapping[str, Any]], Read]] = {
    "trl": trl, "trl-plain": trl, "openrlhf": openrlhf, "openrlhf-prompt": trl, "llamafactory-alpaca": llamafactory_alpaca,
    "llamafactory-sharegpt": llamafactory_sharegpt, "ms-swift": swift, "ms-swift-messages": swift_messages,
    "axolotl-chat-template-default": axolotl_template, "axolotl-chat-template-argilla-chat": openrlhf,
    "axolotl-chatml-intel": axolotl_chatml("question"), "axolotl-chatml-icr": axolotl_chatml("input"),
    "axolotl-chatml-argilla": axolotl_chatml("instruction", "chosen_response", "rejected_response"),
    "axolotl-chatml-prompt-pairs": axolotl_chatml("prompt"), "axolotl-chatml-ultra": axolotl_ultra, "openai": openai,
}
"""One for each ``--format``."""


def meaning(read: Read) -> Any:
    """What a row says, whatever the spelling of its calls: role, text and (name, arguments) of each message, and the tools."""

    def message(given: Mapping[str, Any]) -> Any:
        calls = [call.get("function", call) for call in given.get("tool_calls") or ()]
        return given["role"], given.get("content"), [(call["name"], call["arguments"]) for call in calls]

    *parts, tools = read
    return [[message(item) for item in part] for part in parts], tools


def with_parsed_arguments(told: Any) -> Any:
    """The same with arguments that are JSON text parsed: OpenAI's API knows nothing but text there."""
    parts, tools = told

    def parsed(value: Any) -> Any:
        return json.loads(value) if isinstance(value, str) else value

    return [[(role, text, [(name, parsed(value)) for name, value in calls]) for role, text, calls in part] for part in parts], tools
