"""Chat pairs: whole turns, flattened text, and messages kept without a key gained or lost (cases 3 and 17)."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support_rounds import bundle, bundle_file, folder_of, ingested, nothing_written, pair, pairs_round, without

from core.errors import RoundError
from core.rounds.columns import CellFault
from core.rounds.folder import Round
from core.rounds.messages import Side, checked_messages, flattened, read_sides

ASK = {"role": "user", "content": "Why?"}
YES, NO = {"role": "assistant", "content": "Because."}, {"role": "assistant", "content": "No idea."}


def texts(source: Round) -> list[dict[str, Any]]:
    return [row for _, text in source.pair_batches() for row in text.drop_columns(["ordinal"]).to_pylist()]


def call(arguments: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": arguments}}]}


@pytest.mark.parametrize(("messages", "text"), [
    ([], ""),
    ([ASK], "user\nWhy?\n"),
    ([ASK, YES], "user\nWhy?\nassistant\nBecause.\n"),
    # role LF, null content = empty LF, then the RFC 8785 bytes: keys sorted, no spaces
    ([call({"y": [True, None]})], 'assistant\n\n[{"function":{"arguments":{"y":[true,null]},"name":"f"},"type":"function"}]'),
    ([call('{"x": 1}')], 'assistant\n\n[{"function":{"arguments":"{\\"x\\": 1}","name":"f"},"type":"function"}]'),
    ([call({}), {"role": "tool", "name": "f", "content": "é"}], 'assistant\n\n[{"function":{"arguments":{},"name":"f"},"type":"function"}]tool\né\n'),
    ([{"role": "assistant", "tool_calls": []}], "assistant\n\n[]"),
    ([YES | {"tool_calls": None}], "assistant\nBecause.\n"),
])
def test_flattened_text(messages: list[dict[str, Any]], text: str) -> None:
    assert flattened(messages) == text


@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_case_17_tool_calls_keep_their_meaning(tmp_path: Path, form: str) -> None:
    """Call A gains no key of call B, null and true stay, a string stays a string, null content stays null."""
    arguments = [{"x": 1}, {"y": [True, None]}, '{"x": 1}']
    rows = [pair(pair_id=f"p{index}", prompt=[ASK], chosen=[call(given)], rejected=[NO]) for index, given in enumerate(arguments)]
    source, report = pairs_round(tmp_path, rows, form)
    assert report.quarantined == 0
    stored = texts(source)
    assert [json.loads(row["chosen_messages"]) for row in stored] == [[call(given)] for given in arguments]
    assert len({row["chosen"] for row in stored}) == 3  # an object and its JSON string stay apart
    assert all(row["chosen"].startswith("assistant\n\n[") for row in stored)


def test_plain_text_has_no_messages(tmp_path: Path) -> None:
    source, _ = pairs_round(tmp_path, [pair()])
    assert texts(source) == [{
        "prompt": "Set retries.", "chosen": "Set retries to 3.", "rejected": "No.",
        "prompt_messages": None, "chosen_messages": None, "rejected_messages": None,
    }]


def sides(prompt: Any, chosen: Any, rejected: Any) -> tuple[Side, Side, Side]:
    return read_sides({"prompt": prompt, "chosen": chosen, "rejected": rejected})


def test_user_turns_at_the_head_of_both_sides_move_to_the_prompt() -> None:
    prompt, chosen, rejected = read_sides({"chosen": [ASK, YES], "rejected": [ASK, NO]})
    assert (prompt.text, chosen.text, rejected.text) == ("user\nWhy?\n", "assistant\nBecause.\n", "assistant\nNo idea.\n")
    assert json.loads(prompt.messages or "") == [ASK]


def test_turns_move_whole_up_to_the_last_shared_user_turn() -> None:
    system, again = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Again."}
    prompt, chosen, rejected = read_sides({"chosen": [system, ASK, YES, again, YES], "rejected": [system, ASK, YES, again, NO]})
    assert json.loads(prompt.messages or "") == [system, ASK, YES, again]
    assert (chosen.text, rejected.text) == ("assistant\nBecause.\n", "assistant\nNo idea.\n")
    # the shared answer stays with both sides when no user turn follows it
    prompt, chosen, _ = read_sides({"chosen": [ASK, YES, YES], "rejected": [ASK, YES, NO]})
    assert json.loads(prompt.messages or "") == [ASK]
    assert chosen.text == "assistant\nBecause.\nassistant\nBecause.\n"


def test_a_partial_turn_never_moves() -> None:
    one, other = {"role": "user", "content": "The sky is blue"}, {"role": "user", "content": "The skin is blue"}
    prompt, chosen, _ = sides([ASK], [one, YES], [other, NO])
    assert json.loads(prompt.messages or "") == [ASK]
    assert chosen.text.startswith("user\nThe sky is blue\n")


def test_a_prompt_that_ends_with_the_turn_is_not_said_twice() -> None:
    for prompt in ([ASK], [{"role": "system", "content": "s"}, ASK]):
        found, chosen, _ = sides(prompt, [ASK, YES], [ASK, NO])
        assert json.loads(found.messages or "") == prompt
        assert chosen.text == "assistant\nBecause.\n"
    found, _, _ = sides([{"role": "system", "content": "s"}], [ASK, YES], [ASK, NO])
    assert json.loads(found.messages or "") == [{"role": "system", "content": "s"}, ASK]
    found, _, _ = sides("Why?", [ASK, YES], [ASK, NO])  # the prompt as text beside full conversations
    assert json.loads(found.messages or "") == [ASK]


@pytest.mark.parametrize(("row", "field", "code"), [
    ({"prompt": "x", "chosen": [{"role": "user"}], "rejected": []}, "chosen[0].content", "missing_field"),
    ({"prompt": "x", "chosen": [{"content": "y"}], "rejected": []}, "chosen[0].role", "missing_field"),
    ({"prompt": "x", "chosen": [{"role": "", "content": "y"}], "rejected": []}, "chosen[0].role", "wrong_type"),
    ({"prompt": "x", "chosen": [], "rejected": [YES, "no"]}, "rejected[1]", "wrong_type"),
    ({"prompt": [{"role": "user", "content": [{"type": "text"}]}], "chosen": "a", "rejected": "b"}, "prompt[0].content", "wrong_type"),
    ({"prompt": "x", "chosen": [YES | {"tool_calls": {}}], "rejected": []}, "chosen[0].tool_calls", "wrong_type"),
    ({"prompt": "x", "chosen": [YES], "rejected": "No."}, "rejected", "mixed_forms"),
    ({"prompt": "x", "chosen": "Yes.", "rejected": [NO]}, "rejected", "mixed_forms"),
    ({"prompt": "Other.", "chosen": [ASK, YES], "rejected": [ASK, NO]}, "prompt", "prompt_conflict"),
    # case 3: text is never split at a common prefix
    ({"chosen": "The sky is blue", "rejected": "The skin is blue"}, "prompt", "missing_field"),
    ({"chosen": "Paris ", "rejected": "Paris"}, "prompt", "missing_field"),
    ({"chosen": "", "rejected": "x"}, "prompt", "missing_field"),
    ({"chosen": [YES], "rejected": [NO]}, "prompt", "missing_field"),
])
def test_sides_that_cannot_be_typed(tmp_path: Path, row: dict[str, Any], field: str, code: str) -> None:
    with pytest.raises(CellFault) as caught:
        read_sides(row)
    assert (caught.value.field, caught.value.code) == (field, code)
    source, _ = pairs_round(tmp_path, [without(pair(), "prompt") | row])
    assert [(kept["field"], kept["code"]) for kept in source.table("quarantine").to_pylist()] == [(field, code)]


def test_messages_in_parquet_equal_those_in_json(tmp_path: Path) -> None:
    """A struct cannot tell an absent key from null: it reads as absent, but for content. Strings of arguments stay."""
    rows = [
        pair(pair_id="a", prompt=[ASK], chosen=[call('{"x": 1}')], rejected=[NO]),
        pair(pair_id="b", prompt=[ASK], chosen=[YES | {"name": "bot"}], rejected=[NO]),
    ]
    from_json, _ = pairs_round(tmp_path / "a", rows)
    from_parquet, report = pairs_round(tmp_path / "b", rows, "parquet")
    assert report.quarantined == 0
    assert texts(from_parquet) == texts(from_json)


def test_parquet_message_columns_without_prompt(tmp_path: Path) -> None:
    rows = [without(pair(chosen=[ASK, YES], rejected=[ASK, NO]), "prompt")]
    source, _ = pairs_round(tmp_path, rows, "parquet")
    assert texts(source)[0]["prompt"] == "user\nWhy?\n"


def test_parquet_messages_that_cannot_be_typed_are_quarantined(tmp_path: Path) -> None:
    rows = [pair(pair_id="a", chosen=[YES], rejected=[NO]), pair(pair_id="b", chosen=[{"role": None, "content": "x"}], rejected=[NO])]
    source, _ = pairs_round(tmp_path, rows, "parquet")
    assert [(row["line"], row["field"], row["code"]) for row in source.table("quarantine").to_pylist()] == [(2, "chosen[0].role", "missing_field")]
    assert source.narrow(["pair_id"])["pair_id"].to_pylist() == ["a"]


def test_case_17_struct_arguments_are_refused_by_name(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "input", {})
    rows = [pair(pair_id=name, prompt=[ASK], chosen=[call(given)], rejected=[NO]) for name, given in (("a", {"x": 1}), ("b", {"y": [True]}))]
    pq.write_table(pa.Table.from_pylist(rows), folder / "pairs.parquet")
    with pytest.raises(RoundError) as caught:
        ingested(tmp_path, folder)
    assert (caught.value.code, str(caught.value.where)) == ("struct_arguments", "pairs.parquet, field chosen")
    assert nothing_written(tmp_path)


def test_messages_in_a_bundle(tmp_path: Path) -> None:
    document = bundle()
    document["verified_candidates"][0] |= {"chosen_verified": [YES], "rejected_tombstone": [NO]}
    source, _ = ingested(tmp_path / "a", bundle_file(tmp_path / "a", document))
    assert texts(source)[0]["rejected"] == "assistant\nNo idea.\n"
    document["verified_candidates"][0]["rejected_tombstone"] = [{"role": "assistant", "content": 5}]
    with pytest.raises(RoundError) as caught:
        ingested(tmp_path / "b", bundle_file(tmp_path / "b", document))
    assert caught.value.where is not None
    assert caught.value.where.field == "verified_candidates[0].rejected_tombstone[0].content"


@pytest.mark.parametrize("parts", [[{"type": "text", "text": "Why?"}], [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], []])
def test_parts_are_no_text_and_the_fault_says_what_to_write(parts: list[Any]) -> None:
    """One text part means its text, but is not written as it; two are not one text. Neither is joined unasked (decision 019)."""
    with pytest.raises(CellFault) as fault:
        checked_messages([{"role": "user", "content": parts}], "prompt")
    assert (fault.value.code, fault.value.field) == ("wrong_type", "prompt[0].content")
    said = fault.value.expected
    assert said.startswith("text, or null: a list of parts is not one text") and "write that text as its content" in said
