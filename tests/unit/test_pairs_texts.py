"""Empty and identical texts: problem case 1, format characters, fences, and message lists (case 17)."""
from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support_pairs import TEXTS

from core.pairs.normal_forms import SPACES, is_blank, plain_s1
from core.pairs.texts import blank_prompts, empty_answers, identical_answers


def column(*texts: str | None) -> pa.Array:
    return pa.array(texts, pa.string())


def messages(*turns: dict) -> str:
    return json.dumps(list(turns))


@settings(max_examples=500)
@given(st.lists(TEXTS, min_size=1, max_size=8))
def test_empty_is_what_the_definitions_say(texts: list[str]) -> None:
    none = pa.nulls(len(texts), pa.string())
    assert blank_prompts(column(*texts), none).tolist() == list(map(is_blank, texts))
    assert empty_answers(column(*texts), none).tolist() == [not plain_s1(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "empty"),
    [("", True), (" \n\t", True), ("\u200b\ufeff\ufe0f", True), ("```python\nx = 1", False), ("```\n```", True), ("~~~ py", True), ("> ", True),
     ("#", True), ("`", True), ("[]()", True), ("...", False), ("-", False), (">\r```abc", True), ("1", False), ("\u8fd4", False)],
)
def test_an_answer_whose_skeleton_is_empty_is_empty(text: str, empty: bool) -> None:
    assert empty_answers(column(text), column(None)).tolist() == [empty]


@pytest.mark.parametrize(
    ("turns", "empty"),
    [
        ([], True), ([{"role": "assistant", "content": None}], True),
        ([{"role": "assistant", "content": " \n"}, {"role": "assistant", "content": ""}], True),
        ([{"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}], False),
        ([{"role": "assistant", "content": None, "tool_calls": []}], True), ([{"role": "assistant", "content": "```\n```"}], True),
        ([{"role": "assistant", "content": "x"}], False),
    ],
)
def test_messages_are_empty_by_their_contents_not_by_their_roles(turns: list[dict], empty: bool) -> None:
    flattened = "".join(f"{turn['role']}\n{turn.get('content') or ''}\n" for turn in turns)
    assert empty_answers(column(flattened), column(messages(*turns))).tolist() == [empty]


def test_a_prompt_of_empty_messages_is_blank() -> None:
    turns = [messages({"role": "user", "content": "\u200b "}), messages({"role": "user", "content": "```"})]
    assert blank_prompts(column("user\n\u200b \n", "user\n```\n"), column(*turns)).tolist() == [True, False]


def test_case_1_identical_exactly_and_after_trimming() -> None:
    chosen = column("Use a lock.", "Use a lock.", "\u3000Use a lock.\x1c", "Use a lock.", "use a lock.", "")
    rejected = column("Use a lock.", "Use a lock. ", "Use a lock.", "Use  a lock.", "Use a lock.", " ")
    none = pa.nulls(6, pa.string())
    exact, trimmed = identical_answers(chosen, rejected, none, none)
    assert exact.tolist() == [True, False, False, False, False, False]
    assert trimmed.tolist() == [False, True, True, False, False, True]


@settings(max_examples=200)
@given(st.text(alphabet="ab" + SPACES, max_size=8), st.text(alphabet="ab" + SPACES, max_size=8))
def test_outer_white_space_is_what_str_strip_strips(chosen: str, rejected: str) -> None:
    exact, trimmed = identical_answers(column(chosen), column(rejected), column(None), column(None))
    assert exact.tolist() == [chosen == rejected]
    assert trimmed.tolist() == [chosen != rejected and chosen.strip() == rejected.strip()]


def test_messages_are_trimmed_content_by_content() -> None:
    one = messages({"role": "assistant", "content": " Use a lock."})
    other = messages({"role": "assistant", "content": "Use a lock.\n"})
    call = messages({"role": "assistant", "content": "Use a lock.", "tool_calls": [{"function": {"name": "f"}}]})
    chosen = column("assistant\n Use a lock.\n", "assistant\n Use a lock.\n")
    rejected = column("assistant\nUse a lock.\n\n", "assistant\nUse a lock.\n[]")
    exact, trimmed = identical_answers(chosen, rejected, column(one, one), column(other, call))
    assert exact.tolist() == [False, False]
    assert trimmed.tolist() == [True, False]
