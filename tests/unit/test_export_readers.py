"""What is exported comes in again: each shape through this project's own reader of that format, written by somebody else."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support_desk import Desk
from support_export import CASE_17, CASE_21, CHAT, approved_round, rows_of, signed_export
from support_trainers import meaning, swift_turns, with_parsed_arguments

from core.export.pairs import ExportPair, admitted_pairs, admitted_ranks
from core.export.shapes import SHAPES
from core.export.turns import conversation
from core.rounds.folder import Round
from core.rounds.messages import Side, read_sides
from core.rounds.readers.format import Declared
from core.rounds.readers.formats import FORMATS

READ_AS = {
    "trl": "trl", "trl-plain": "trl", "openrlhf": "openrlhf", "openrlhf-prompt": "openrlhf", "llamafactory-alpaca": "llamafactory-alpaca",
    "llamafactory-sharegpt": "llamafactory-sharegpt", "ms-swift": "ms-swift", "ms-swift-messages": "ms-swift",
    "axolotl-chat-template-default": "axolotl:chat_template.default", "axolotl-chat-template-argilla-chat": "axolotl:chatml.argilla_chat",
    "axolotl-chatml-intel": "axolotl:chatml.intel", "axolotl-chatml-icr": "axolotl:chatml.icr", "axolotl-chatml-argilla": "axolotl:chatml.argilla",
    "axolotl-chatml-prompt-pairs": "axolotl:chatml.prompt_pairs", "axolotl-chatml-ultra": "axolotl:chatml.ultra", "openai": "openai",
}
OPTIONS = {"llamafactory-alpaca": {"system": "system", "history": "history"}}
DECLARED = {"ids": "line", "origin": "verified", "flags": "dataset_label"}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Round]:
    return approved_round(tmp_path_factory.mktemp("plain"), CASE_21)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Round]:
    return approved_round(tmp_path_factory.mktemp("everything"), [*CHAT, *CASE_17, *CASE_21])


FORMS = [False, True]
"""Whether the data file is Parquet."""


def read_again(folder: Path, shape: str, parquet: bool = False) -> list[Any]:
    """What each row of the exported file says to the reader, as messages and tools."""
    form = FORMATS[READ_AS[shape]]
    file = "train.parquet" if parquet else "train.jsonl"
    declared = Declared(folder / file, file, {**DECLARED, **OPTIONS.get(shape, {})})
    told = []
    for row in form.rows(declared):
        assert isinstance(row.value, dict), row.value
        roles = ("user", "assistant", "assistant")
        prompt, chosen, rejected = (as_messages(side, role) for side, role in zip(read_sides(row.value), roles, strict=True))
        if shape == "ms-swift-messages":
            # that reader keeps tool_call and tool_response as the roles that they are
            prompt, chosen, rejected = map(swift_turns, (prompt, chosen, rejected))
        tools = row.value.get("tools") or None
        told.append(meaning((prompt, chosen, rejected, json.loads(tools) if isinstance(tools, str) else tools)))
    return told


def as_messages(side: Side, role: str) -> list[dict[str, Any]]:
    return [{"role": role, "content": side.text}] if side.messages is None else json.loads(side.messages)


def meant(source: Round, admitted: bytes) -> list[Any]:
    """What the admitted pairs of the round say, in their order."""
    def one(pair: ExportPair) -> Any:
        both = conversation(pair)
        return meaning((both.prompt, both.chosen, both.rejected, json.loads(pair.tools) if isinstance(pair.tools, str) else pair.tools))

    return [one(pair) for pair in sorted(admitted_pairs(source, admitted_ranks(admitted)), key=lambda pair: pair.rank)]


def test_every_shape_has_a_reader_here() -> None:
    assert set(READ_AS) == set(SHAPES) and set(READ_AS.values()) <= set(FORMATS)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_exported_comes_in_again(plain: tuple[Desk, Round], tmp_path: Path, shape: str) -> None:
    done = signed_export(*plain, tmp_path / "d", shape)
    assert read_again(done.folder, shape) == meant(plain[1], done.facts.provenance.admitted)


@pytest.mark.parametrize("shape", ["trl", "ms-swift-messages"])
def test_tool_calls_come_in_again(everything: tuple[Desk, Round], tmp_path: Path, shape: str) -> None:
    done = signed_export(*everything, tmp_path / "d", shape)
    assert len(rows_of(done)) == 9
    assert read_again(done.folder, shape) == meant(everything[1], done.facts.provenance.admitted)


def test_single_turns_for_openai_come_in_again(everything: tuple[Desk, Round], tmp_path: Path) -> None:
    # of tool-1 only the call is left (--turns divergence); the others are as they were, arguments as text
    done = signed_export(*everything, tmp_path / "d", "openai", turns="divergence")
    again, before = read_again(done.folder, "openai"), meant(everything[1], done.facts.provenance.admitted)
    changed = [place for place, (one, other) in enumerate(zip(again, before, strict=True))
               if with_parsed_arguments(one) != with_parsed_arguments(other)]
    assert len(changed) == 1 and before[changed[0]][0][1][0][2] == [("add", {"x": 1})]
