"""Where the prompt ends, and tool calls in the wire form: against whileai's exporter, and by hand."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support_export import call, say

from core.export.pairs import ExportPair
from core.export.tool_calls import WireForm, with_text_arguments
from core.export.trl import wired
from core.export.turns import SPLITS, Unfit, whole

PEER = json.loads((Path(__file__).parents[1] / "fixtures" / "peers" / "whileai_export_preference.json").read_text("utf-8"))
SYSTEM = say("system", "SYS")
OUTPUTS = {output["format"]: output for output in PEER["outputs"]}
UNTIED = [row for row in PEER["pairs"] if not row.get("tie")]
"""The peer drops ties; a round has none, since a pair without a preference is not admitted."""


def peer_pair(row: dict[str, Any]) -> ExportPair:
    """A pair of the peer's: its two conversations, the system prompt it was exported with in front. Everything is still an answer;
    the split decides what becomes prompt."""
    return ExportPair(0, row["prompt"], [SYSTEM], row["chosen"]["messages"], row["rejected"]["messages"])


def peer_lines(form: str) -> list[tuple[Any, Any, Any]]:
    return [(line["prompt"], line["chosen"], line["rejected"]) for line in OUTPUTS[form]["lines"]]


def test_the_divergence_split_writes_the_lines_of_the_peers_trl_format() -> None:
    written, cut, unfit = [], 0, 0
    for row in UNTIED:
        try:
            split = SPLITS["divergence"](peer_pair(row))
        except Unfit:
            unfit += 1
            continue
        written.append(wired(split.pair))
        cut += split.cut
    report = OUTPUTS["trl"]["report"]
    assert written == peer_lines("trl")
    assert (len(written), cut, unfit) == (report["pairs"], report["trl_turns_cut"], report["no_completion_dropped"]) == (2, 1, 2)


def test_whole_conversations_with_text_arguments_are_the_peers_openai_format() -> None:
    lines = []
    for row in UNTIED:
        chosen, rejected = whole(peer_pair(row))
        # each side is a conversation of its own there, so each counts its calls from 0
        lines.append((row["prompt"], *(with_text_arguments(WireForm().messages(side)) for side in (chosen, rejected))))
    assert lines == peer_lines("openai")
    assert len(lines) == OUTPUTS["openai"]["report"]["pairs"] == 4


def test_the_peer_marks_none_of_these_cases_as_a_bug() -> None:
    assert "PEER-BUG" not in json.dumps(PEER)


# the split of the peer's older text: prompt = everything before the first assistant turn, answers = the rest

TALK = ExportPair(
    0, "t", [say("system", "S"), say("user", "a"), say("assistant", "b"), say("user", "c")],
    [say("assistant", "d"), say("user", "e"), say("assistant", "f")], [say("assistant", "g")],
)


def test_the_first_assistant_split() -> None:
    split = SPLITS["first-assistant"](TALK)
    assert split.pair.prompt == [say("system", "S"), say("user", "a")]
    assert split.pair.chosen == [say("assistant", "b"), say("user", "c"), say("assistant", "d"), say("user", "e"), say("assistant", "f")]
    assert split.pair.rejected == [say("assistant", "b"), say("user", "c"), say("assistant", "g")]
    assert not split.cut


def test_the_divergence_split_of_a_talk_cuts_what_follows() -> None:
    split = SPLITS["divergence"](TALK)
    assert (split.pair.prompt, split.pair.chosen, split.pair.rejected) == (TALK.prompt, [say("assistant", "d")], [say("assistant", "g")])
    assert split.cut


def test_the_divergence_split_moves_shared_assistant_turns_into_the_prompt() -> None:
    step = say("assistant", None, tool_calls=[call({"x": 1})])
    pair = ExportPair(0, "t", [say("user", "a")], [step, say("tool", "2"), say("assistant", "b")], [step, say("tool", "2"), say("assistant", "c")])
    split = SPLITS["divergence"](pair)
    assert split.pair.prompt == [say("user", "a"), step, say("tool", "2")]
    assert (split.pair.chosen, split.pair.rejected, split.cut) == ([say("assistant", "b")], [say("assistant", "c")], False)


def test_as_reviewed_changes_nothing() -> None:
    assert SPLITS["as-reviewed"](TALK).pair is TALK


@pytest.mark.parametrize("name", SPLITS)
def test_a_pair_of_texts_is_split_already(name: str) -> None:
    # a text is never split at a common prefix (case 3)
    pair = ExportPair(0, "t", "The sky is", "The sky is blue", "The sky is black")
    split = SPLITS[name](pair)
    assert split.pair is pair and not split.cut


@pytest.mark.parametrize(("split", "chosen", "rejected"), [
    ("divergence", [say("assistant", "x")], [say("assistant", "x"), say("user", "more")]),  # one side goes on where the other ends
    ("divergence", [say("assistant", "x"), say("tool", "1")], [say("assistant", "x"), say("tool", "2")]),  # they part in a tool's message
    ("first-assistant", [say("user", "other")], [say("assistant", "x")]),  # no assistant turn at all on one side
    ("first-assistant", [say("user", "y"), say("assistant", "x")], [say("user", "z"), say("assistant", "x")]),  # they part before it
])
def test_a_pair_that_a_split_cannot_say(split: str, chosen: list[Any], rejected: list[Any]) -> None:
    with pytest.raises(Unfit):
        SPLITS[split](ExportPair(0, "t", [say("user", "a")], chosen, rejected))


# the wire form


def bare(name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments, **more}


def test_calls_in_the_wire_form_stay_as_they_are() -> None:
    messages = [say("assistant", None, tool_calls=[call({"x": 1})]), say("tool", "2", tool_call_id="c1")]
    assert WireForm().messages(messages) == messages


def test_bare_calls_are_numbered_and_answered_in_order() -> None:
    calls = [bare("a", {"x": 1}), bare("b", '{"y": 2}')]
    given = [say("assistant", "", tool_calls=calls), say("tool", "1"), say("tool", "2"), say("assistant", "ok")]
    first, one, two, last = WireForm().messages(given)
    assert first["tool_calls"] == [call({"x": 1}, "a", "call_0000"), call('{"y": 2}', "b", "call_0001")]
    assert (one["tool_call_id"], two["tool_call_id"], last) == ("call_0000", "call_0001", say("assistant", "ok"))


def test_a_bare_call_keeps_its_own_id_and_what_else_it_has() -> None:
    (message,) = WireForm().messages([say("assistant", "", tool_calls=[bare("a", {}, id="mine", index=3)])])
    assert message["tool_calls"] == [{**call({}, "a", "mine"), "index": 3}]


def test_both_answers_continue_the_prompts_numbers() -> None:
    pair = ExportPair(0, "t", [say("user", "q"), say("assistant", "", tool_calls=[bare("a", {})]), say("tool", "1"), say("user", "r")],
                      [say("assistant", "", tool_calls=[bare("b", {})])], [say("assistant", "", tool_calls=[bare("c", {})])])
    prompt, chosen, rejected = wired(pair)
    numbers = [message["tool_calls"][0]["id"] for message in (prompt[1], chosen[0], rejected[0])]
    assert numbers == ["call_0000", "call_0001", "call_0001"]


def test_arguments_become_text_only_where_they_are_none() -> None:
    given = [say("assistant", None, tool_calls=[call({"é": [True, None]}), call('{"x":1}')]), say("user", "q")]
    told = with_text_arguments(given)
    assert [item["function"]["arguments"] for item in told[0]["tool_calls"]] == ['{"é": [true, null]}', '{"x":1}']
    assert told[1] is given[1]
    assert given[0]["tool_calls"][0]["function"]["arguments"] == {"é": [True, None]}
