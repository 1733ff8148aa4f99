"""TRL's rows (explicit and implicit prompt, text and chat, tools) and OpenRLHF's. Cases 3 and 17."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support_formats import assistant, column, extras, note, quarantine, read, refused, texts, user

TEXT = [{"prompt": "Say hi.", "chosen": "Hi.", "rejected": "No."}]
CHAT = [{"chosen": [user("Say hi."), assistant("Hi.")], "rejected": [user("Say hi."), assistant("No.")]}]
FORMS = ["a.jsonl", "a.json", "a.parquet", "a.arrow", "a.jsonl.gz", "a.json.zst", "a.parquet.gz", "a.arrow.zst"]


@pytest.mark.parametrize("name", FORMS)
def test_explicit_text(tmp_path: Path, name: str) -> None:
    source, report = read(tmp_path, name, TEXT)
    assert texts(source) == TEXT
    assert (column(source, "pair_id"), column(source, "origin"), column(source, "extra")) == (["a-000001"], ["verified"], [None])
    assert (report.counts, report.quarantined) == ({"pairs": 1}, 0)
    assert note(report, "foreign_format") == (
        f"pairs: {name} was read as trl: every row looked at has prompt, chosen and rejected, the answers as text; "
        "declared: ids=line, origin=verified"
    )


@pytest.mark.parametrize("name", FORMS)
def test_an_implicit_prompt_is_the_shared_turns(tmp_path: Path, name: str) -> None:
    source, _ = read(tmp_path, name, CHAT)
    assert texts(source) == [{"prompt": [user("Say hi.")], "chosen": [assistant("Hi.")], "rejected": [assistant("No.")]}]


def test_case_3_the_last_shared_user_turn_ends_the_prompt(tmp_path: Path) -> None:
    shared = [user("One?"), assistant("1."), user("Two?"), assistant("The sky is blue")]
    # both sides of the second row go on with the same assistant turn after the last shared user turn: it stays in the answers
    left, right = ([user("Q"), assistant("same"), user(side), assistant("a")] for side in ("left", "right"))
    rows = [
        {"chosen": [*shared, user("Why?"), assistant("a")], "rejected": [*shared, user("Why?"), assistant("b")]}, {"chosen": left, "rejected": right},
    ]
    source, _ = read(tmp_path, "a.jsonl", rows)
    first, second = texts(source)
    assert first["prompt"] == [*shared, user("Why?")] and first["chosen"] == [assistant("a")]
    assert second == {"prompt": [user("Q")], "chosen": left[1:], "rejected": right[1:]}


@pytest.mark.parametrize("row", [
    {"chosen": "The sky is blue", "rejected": "The skin is blue"}, {"chosen": "Paris ", "rejected": "Paris"}, {"chosen": "", "rejected": "x"},
])
def test_case_3_text_without_a_prompt_is_never_split(tmp_path: Path, row: dict[str, str]) -> None:
    source, report = read(tmp_path, "a.jsonl", [row, TEXT[0]], "trl")
    assert quarantine(source) == [("a.jsonl", 1, "prompt", "missing_prompt")]
    assert (report.counts, report.quarantined, texts(source)) == ({"pairs": 1}, 1, TEXT)
    expected = source.table("quarantine")["expected"].to_pylist()[0]
    assert "a prompt of its own" in expected and "never split" in expected
    assert refused(tmp_path / "auto", "a.jsonl", [row]).code == "unrecognised_format"


HUMAN, REPLY = "\n\nHuman: Is it blue?", "\n\nAssistant:"


@pytest.mark.parametrize("name", ["trl", "openrlhf"])
def test_case_3_text_is_split_at_a_declared_boundary_only(tmp_path: Path, name: str) -> None:
    head = f"{HUMAN}{REPLY} Why?{HUMAN}{REPLY}"
    rows = [
        {"chosen": f"{head} The sky is.", "rejected": f"{head} The skin is."}, {"chosen": f"{head}", "rejected": f"{head} No."},
        {"chosen": f"{head} a", "rejected": f"{HUMAN}{REPLY} b"},               # another beginning
        {"chosen": f"{head} a{REPLY} more", "rejected": f"{head} b"},          # one answer holds the boundary itself
        {"chosen": "no boundary", "rejected": "none"}, {"chosen": f"{head} a", "rejected": None},
    ]
    source, _ = read(tmp_path, "a.jsonl", rows, name, boundary=REPLY)
    assert texts(source) == [
        {"prompt": head, "chosen": " The sky is.", "rejected": " The skin is."}, {"prompt": head, "chosen": "", "rejected": " No."},
    ]
    assert [row[1:] for row in quarantine(source)] == [
        *((line, "prompt", "boundary_not_shared") for line in (3, 4, 5)), (6, "rejected", "wrong_type"),
    ]


def call(arguments: Any) -> dict[str, Any]:
    return assistant(None, tool_calls=[{"type": "function", "function": {"name": "f", "arguments": arguments}}])


TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "integer", "default": None}}}}}]


def test_case_17_tool_calls_and_tools_come_back_as_they_were(tmp_path: Path) -> None:
    """Arguments: an object, null and true inside a list, a string; null content; nothing gains a key."""
    arguments = [{"x": 1}, {"y": [True, None]}, '{"x": 1}']
    rows = [
        {"prompt": [user("Go.")], "chosen": [call(item)], "rejected": [assistant("No.")], "tools": TOOLS, "chat_template_kwargs": {"think": False}}
        for item in arguments
    ]
    source, report = read(tmp_path, "a.jsonl", rows)
    assert [row["chosen"][0] for row in texts(source)] == [call(item) for item in arguments]
    assert extras(source) == [{"tools": TOOLS, "chat_template_kwargs": {"think": False}}] * len(rows)
    assert "and tools" in note(report, "foreign_format") and report.quarantined == 0
    flattened = [row for _, batch in source.pair_batches() for row in batch["chosen"].to_pylist()]
    assert len(set(flattened)) == 3  # an object and the string that spells it stay apart


def test_case_17_arguments_as_a_struct_are_refused_unless_their_nulls_are_declared_absent(tmp_path: Path) -> None:
    rows = [{"prompt": [user("Go.")], "chosen": [call({"x": 1})], "rejected": [assistant("No.")]},
            {"prompt": [user("Go.")], "chosen": [call({"y": True})], "rejected": [assistant("No.")]}]
    error = refused(tmp_path / "a", "a.parquet", rows)
    assert (error.code, str(error.where)) == ("struct_arguments", "a.parquet, field chosen")
    source, report = read(tmp_path / "b", "a.parquet", rows, struct_nulls="absent")
    assert [row["chosen"] for row in texts(source)] == [[call({"x": 1})], [call({"y": True})]]
    assert "null members of structs" in note(report, "struct_nulls")
    assert source.manifest.sources["pairs"][0].options["struct_nulls"] == "absent"


def test_case_17_arguments_as_json_text_pass_out_of_parquet(tmp_path: Path) -> None:
    rows = [{"prompt": [user("Go.")], "chosen": [call('{"x":1}')], "rejected": [assistant("No.")], "tools": '[{"type": "function"}]'}]
    source, _ = read(tmp_path, "a.parquet", rows)
    assert texts(source)[0]["chosen"] == [call('{"x":1}')]
    assert extras(source) == [{"tools": '[{"type": "function"}]'}]


def test_parameters_of_a_tool_as_a_struct_are_refused(tmp_path: Path) -> None:
    rows = [{"prompt": "p", "chosen": "c", "rejected": "r", "tools": TOOLS}]
    table = pa.Table.from_pylist(rows)
    error = refused(tmp_path, "a.arrow", table)
    assert (error.code, error.where and error.where.field) == ("struct_parameters", "tools")


def test_ids_flags_and_counts_of_the_file_are_used(tmp_path: Path) -> None:
    rows = [TEXT[0] | {"pair_id": "007", "origin": "synthetic", "judge_id": "j", "chosen_token_count": 3, "rejected_token_count": 4,
                       "chosen_verified_pass": True, "rejected_tombstone_fail": None, "task_id": "t", "margin": 0.5}]
    source, _ = read(tmp_path, "a.jsonl", rows, ids="", origin="")
    row = source.narrow().to_pylist()[0]
    assert (row["pair_id"], row["origin"], row["judge_id"], row["chosen_token_count"], row["rejected_token_count"]) == ("007", "synthetic", "j", 3, 4)
    assert (row["chosen_verified_pass"], row["rejected_tombstone_fail"], row["task_id"]) == (True, None, "t")
    assert extras(source) == [{"margin": 0.5}]


def test_openrlhf_rows_by_their_keys(tmp_path: Path) -> None:
    rows = [{"context": "Say hi.", "good": "Hi.", "bad": "No."}]
    source, _ = read(tmp_path / "a", "a.jsonl", rows, "openrlhf", prompt_key="context", chosen_key="good", rejected_key="bad")
    assert texts(source) == TEXT
    source, _ = read(tmp_path / "b", "a.jsonl", CHAT, "openrlhf")  # no prompt_key: the prompt is inside both sides
    assert texts(source)[0]["prompt"] == [user("Say hi.")]
    source, _ = read(tmp_path / "c", "a.jsonl", [TEXT[0] | {"context": "?"}], "openrlhf", prompt_key="context")
    assert quarantine(source) == [("a.jsonl", 1, "prompt", "said_twice")]


def test_openrlhf_text_without_a_prompt_key_is_not_split(tmp_path: Path) -> None:
    source, _ = read(tmp_path, "a.jsonl", [{"chosen": "Human: hi Assistant: a", "rejected": "Human: hi Assistant: b"}], "openrlhf")
    assert quarantine(source) == [("a.jsonl", 1, "prompt", "missing_prompt")]
