"""What is exported comes in again: each shape through this project's own reader of that format, written by somebody else."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support_desk import Desk, desk
from support_export import CASE_17, CASE_21, CHAT, TOOLS, approved_round, call, round_with, rows_of, say, signed_export, unsigned_export
from support_rounds import NOW, STATED, pair, workspace_at
from support_trainers import meaning, with_parsed_arguments

from core.errors import ExportError
from core.export.pairs import ExportPair, admitted_pairs, admitted_ranks
from core.export.shapes import SHAPES
from core.export.turns import conversation
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.rounds.messages import Side, read_sides
from core.rounds.readers.format import Declared
from core.rounds.readers.formats import FORMATS
from core.rounds.readers.single import ForeignFile

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


@pytest.mark.parametrize("parquet", FORMS, ids=["jsonl", "parquet"])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_exported_comes_in_again(plain: tuple[Desk, Round], tmp_path: Path, shape: str, parquet: bool) -> None:
    done = signed_export(*plain, tmp_path / "d", shape, parquet=parquet)
    assert read_again(done.folder, shape, parquet) == meant(plain[1], done.facts.provenance.admitted)


@pytest.mark.parametrize("parquet", FORMS, ids=["jsonl", "parquet"])
@pytest.mark.parametrize("shape", ["trl", "ms-swift-messages"])
def test_tool_calls_come_in_again(everything: tuple[Desk, Round], tmp_path: Path, shape: str, parquet: bool) -> None:
    done = signed_export(*everything, tmp_path / "d", shape, parquet=parquet)
    assert len(rows_of(done) if not parquet else read_again(done.folder, shape, True)) == 9
    assert read_again(done.folder, shape, parquet) == meant(everything[1], done.facts.provenance.admitted)


@pytest.mark.parametrize("parquet", FORMS, ids=["jsonl", "parquet"])
def test_single_turns_for_openai_come_in_again(everything: tuple[Desk, Round], tmp_path: Path, parquet: bool) -> None:
    # of tool-1 only the call is left (--turns divergence); the others are as they were, arguments as text
    done = signed_export(*everything, tmp_path / "d", "openai", turns="divergence", parquet=parquet)
    again, before = read_again(done.folder, "openai", parquet), meant(everything[1], done.facts.provenance.admitted)
    changed = [place for place, (one, other) in enumerate(zip(again, before, strict=True))
               if with_parsed_arguments(one) != with_parsed_arguments(other)]
    assert len(changed) == 1 and before[changed[0]][0][1][0][2] == [("add", {"x": 1})]


# every format, with all that it can say of calls, through ingest and out of the stored round

STEP = [say("assistant", None, tool_calls=[call({"y": [True, None]})]), say("tool", "two", name="add", tool_call_id="c1")]
TURNS = [
    pair(pair_id="t-1", prompt=[say("user", "Add one.")], chosen=[say("assistant", None, tool_calls=[call({"x": 1})])],
         rejected=[say("assistant", None, tool_calls=[call('{"x": 1}')])], tools=TOOLS),
    pair(pair_id="t-2", prompt=[say("system", "Be brief."), say("user", "Add flags.")], chosen=[*STEP, say("assistant", "Done.")],
         rejected=[say("assistant", "No.")], tools=TOOLS),
    pair(pair_id="t-3", prompt=[say("user", "Add both."), *STEP, say("user", "And?")], chosen=[say("assistant", "Two.")],
         rejected=[say("assistant", "Three.")]),
    pair(pair_id="t-4", prompt=[say("user", "Add both."), *STEP], chosen=[say("assistant", "2")], rejected=[say("assistant", "3")]),
    pair(pair_id="t-5", prompt=[say("user", "Both at once.")], rejected=[say("assistant", "No.")], chosen=[
        say("assistant", None, tool_calls=[call({"x": 1}), call({"y": []}, number="c2")]), say("tool", "1", tool_call_id="c1"),
        say("tool", "2", tool_call_id="c2"), say("assistant", "Done.")]),
    pair(pair_id="t-6", prompt=[say("user", "Go on: one, "), say("assistant", "two,")], chosen=[say("assistant", " three")],
         rejected=[say("assistant", " five")]),
    pair(pair_id="t-7", prompt=[say("developer", "Be brief."), say("user", "Name a river.")], chosen=[say("assistant", "The Rhône.")],
         rejected=[say("assistant", "A lake, I should think.")]),
    pair(pair_id="t-8", prompt=[say("user", "Name a hill.")], chosen=[say("assistant", "Let me see.", tool_calls=[call({})])],
         rejected=[say("assistant", "Snowdon.")]),
    pair(pair_id="t-9", prompt=[say("user", "Two calls.")], rejected=[say("assistant", "No.")], chosen=[
        say("assistant", None, tool_calls=[call({"x": 1}), call({"y": []}, number="c2")]), say("tool", "2", tool_call_id="c2"),
        say("tool", "1", tool_call_id="c1"), say("assistant", "Done.")]),
    pair(pair_id="t-10", prompt=[say("user", "Hello?"), say("system", "Be brief."), say("user", "Well?")], chosen=[say("assistant", "Yes.")],
         rejected=[say("assistant", "No, and at length.")]),
    *CHAT, *CASE_17, *CASE_21,
]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Desk, Round]]:
    """Each pair in a round of its own, so that one that a format cannot say hides none of the others."""
    place = tmp_path_factory.mktemp("alone")
    made = desk(place)
    return {row["pair_id"]: (made, round_with(made, [row], f"r-{row['pair_id']}", alone=True)) for row in TURNS}


SAID = {
    # t-1 object and text arguments; t-2 a call, its result and an answer; t-3 calls in the prompt; t-4 a prompt that ends with a result;
    # t-5 parallel calls; t-6 a prompt that ends with an answer; t-7 a developer's turn; t-8 text beside a call; t-9 results in another
    # order; t-10 a system turn in the middle
    "trl": {"t-1", "t-2", "t-3", "t-4", "t-5", "t-6", "t-7", "t-8", "t-9", "t-10", "chat-1", "chat-2", "tool-1", "tool-2", "tool-3", "007", "7"},
    "trl-plain": {"007", "7"},
    "openrlhf": {"t-3", "t-4", "t-6", "t-7", "t-8", "t-10", "chat-1", "chat-2", "007", "7"},
    "openrlhf-prompt": {"t-3", "t-4", "t-5", "t-6", "t-7", "t-8", "t-9", "t-10", "chat-1", "chat-2", "007", "7"},
    "llamafactory-alpaca": {"chat-1", "chat-2", "007", "7"},
    "llamafactory-sharegpt": {"t-1", "t-4", "tool-2", "tool-3", "chat-1", "chat-2", "007", "7"},
    "ms-swift": {"t-3", "chat-1", "chat-2", "007", "7"},
    "ms-swift-messages": {"t-1", "t-2", "t-3", "t-5", "tool-1", "tool-2", "tool-3", "chat-1", "chat-2", "007", "7"},
    "axolotl-chat-template-default": {"t-6", "t-10", "chat-1", "chat-2", "007", "7"},
    "axolotl-chat-template-argilla-chat": {"t-6", "t-10", "chat-1", "chat-2", "007", "7"},
    **{f"axolotl-chatml-{kind}": {"chat-1", "007", "7"} for kind in ("intel", "icr", "argilla", "prompt-pairs", "ultra")},
    "openai": {"t-1", "t-3", "t-4", "t-6", "t-7", "t-8", "t-10", "tool-2", "tool-3", "chat-1", "chat-2", "007", "7"},
}


@pytest.mark.parametrize("parquet", FORMS, ids=["jsonl", "parquet"])
@pytest.mark.parametrize("shape", SHAPES)
def test_each_pair_comes_in_again_or_is_refused(alone: dict[str, tuple[Desk, Round]], tmp_path: Path, shape: str, parquet: bool) -> None:
    said = set()
    for name, (made, source) in alone.items():
        try:
            done = unsigned_export(made, source, tmp_path / name, shape, parquet=parquet)
        except ExportError as error:
            assert error.code == "pair_does_not_fit", name
            continue
        said.add(name)
        assert stored_again(done.folder, tmp_path / f"{name}-in", shape, parquet) == told_by(source, shape), name
    assert said == SAID[shape]


def stored_again(folder: Path, place: Path, shape: str, parquet: bool) -> list[Any]:
    """What the exported pairs say after they were ingested as a round of their own."""
    options = {**DECLARED, **OPTIONS.get(shape, {})}
    file = folder / ("train.parquet" if parquet else "train.jsonl")
    report = ingest(file, workspace_at(place), now=NOW, created_at=STATED, foreign=ForeignFile(READ_AS[shape], ("worker-curator-01",), options))
    assert report.quarantined == 0
    return told_by(workspace_at(place).round(report.digest), shape)


def told_by(source: Round, shape: str) -> list[Any]:
    """What the pairs of a round say. OpenAI's API has arguments as text alone, and so are they compared."""
    names = source.narrow(["pair_id"])["pair_id"].to_pylist()
    told = [meaning((both.prompt, both.chosen, both.rejected, json.loads(both.tools) if isinstance(both.tools, str) else both.tools))
            for both in map(conversation, admitted_pairs(source, {name: place for place, name in enumerate(names)}))]
    return list(map(with_parsed_arguments, told)) if shape == "openai" else told
