"""``datasets`` and mlcroissant read every export, and every row comes back as it was written."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import datasets
import mlcroissant
import pytest
import yaml
from support_desk import Desk
from support_export import CASE_17, CASE_21, CHAT, approved_round, call, rows_of, say, signed_export, unsigned_export
from support_rounds import pair

from core.export.columns import JSON, ListOf, Record, arrow_type, feature
from core.export.dataset import Dataset
from core.export.shapes import SHAPES
from core.rounds.folder import Round

TOOL_SHAPES = ("trl", "ms-swift-messages")
"""Shapes that say every pair of ROWS."""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Round]:
    return approved_round(tmp_path_factory.mktemp("plain"), CASE_21)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Round]:
    return approved_round(tmp_path_factory.mktemp("everything"), [*CHAT, *CASE_17, *CASE_21])


def loaded(done: Dataset, place: Path) -> list[dict[str, Any]]:
    """What ``load_dataset`` makes of the folder, by its card alone."""
    rows = datasets.load_dataset(str(done.folder), split="train", cache_dir=str(place / "cache"))
    front = yaml.safe_load((done.folder / "README.md").read_text("utf-8").split("---\n", 2)[1])
    assert rows.num_rows == front["dataset_info"]["splits"][0]["num_examples"] == done.facts.rows
    return list(rows)


def told(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with ``tools`` that are text parsed: beside lists in one column, ``datasets`` takes the text for the JSON that it is."""
    return [{**row, "tools": json.loads(row["tools"])} if isinstance(row.get("tools"), str) and row["tools"] else row for row in rows]


@pytest.mark.parametrize("parquet", [False, True], ids=["jsonl", "parquet"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_loads_by_its_card_and_loses_nothing(plain: tuple[Desk, Round], tmp_path: Path, shape: str, parquet: bool) -> None:
    done = signed_export(*plain, tmp_path / "d", shape, parquet=parquet)
    assert loaded(done, tmp_path) == rows_of(done)


@pytest.mark.parametrize("parquet", [False, True], ids=["jsonl", "parquet"])
@pytest.mark.parametrize("shape", TOOL_SHAPES)
def test_tool_calls_come_back_with_their_own_arguments(everything: tuple[Desk, Round], tmp_path: Path, shape: str, parquet: bool) -> None:
    done = signed_export(*everything, tmp_path / "d", shape, parquet=parquet)
    assert told(loaded(done, tmp_path)) == told(rows_of(done))


@pytest.mark.parametrize("parquet", [False, True], ids=["jsonl", "parquet"])
def test_case_17_no_call_gains_a_member(everything: tuple[Desk, Round], tmp_path: Path, parquet: bool) -> None:
    done = signed_export(*everything, tmp_path / "d", parquet=parquet, extras=("pair-ids",))
    chosen = {row["pair_id"]: row["chosen"] for row in loaded(done, tmp_path)}
    arguments = [chosen[f"tool-{number}"][0]["tool_calls"][0]["function"]["arguments"] for number in (1, 2, 3)]
    assert arguments == [{"x": 1}, {"y": [True, None]}, '{"x": 1}']
    assert [chosen[row["pair_id"]] for row in CASE_17] == [row["chosen"] for row in CASE_17]


def test_tools_given_as_text_stay_text_in_parquet_and_the_card_says_where_they_do_not(everything: tuple[Desk, Round], tmp_path: Path) -> None:
    exact = signed_export(*everything, tmp_path / "p", parquet=True)
    assert loaded(exact, tmp_path / "one") == rows_of(exact) and any(isinstance(row["tools"], str) for row in rows_of(exact))
    lines = signed_export(*everything, tmp_path / "l")
    (note,) = [note for note in lines.facts.notes() if "a text that is JSON itself" in note]
    assert note.startswith("`tools` holds") and not any(isinstance(row["tools"], str) for row in loaded(lines, tmp_path / "two"))


def test_json_lines_load_without_the_card_too(everything: tuple[Desk, Round], tmp_path: Path) -> None:
    done = signed_export(*everything, tmp_path / "d")
    rows = datasets.load_dataset("json", data_files=str(done.folder / "train.jsonl"), split="train", cache_dir=str(tmp_path / "cache"))
    assert told(list(rows)) == told(rows_of(done))


def test_an_unsigned_export_loads_like_any_other(everything: tuple[Desk, Round], tmp_path: Path) -> None:
    done = unsigned_export(*everything, tmp_path / "d", parquet=True)
    assert told(loaded(done, tmp_path)) == told(rows_of(done))
    front = yaml.safe_load((done.folder / "README.md").read_text("utf-8").split("---\n", 2)[1])
    assert front["countersign"]["signed"] is False and "unsigned" in front["tags"]


def test_case_21_texts_that_look_like_times_are_exact_in_parquet(tmp_path: Path) -> None:
    rows = [pair(pair_id="t", prompt="2024-01-05", chosen="2024-01-06T10:00:00Z", rejected="007")]
    made = approved_round(tmp_path, rows, alone=True)
    exact = signed_export(*made, tmp_path / "p", "trl-plain", parquet=True)
    assert loaded(exact, tmp_path / "one") == [{"prompt": "2024-01-05", "chosen": "2024-01-06T10:00:00Z", "rejected": "007"}]
    # a fault of datasets that the card warns about: when this fails, it is mended, and the warning can go
    lines = signed_export(*made, tmp_path / "l", "trl-plain")
    assert any("read as times" in note for note in lines.facts.notes())
    assert loaded(lines, tmp_path / "two") == [{"prompt": "2024-01-05 00:00:00", "chosen": "2024-01-06 10:00:00", "rejected": "007"}]


def test_case_21_a_time_at_the_end_of_a_long_file_is_warned_about(tmp_path: Path) -> None:
    # datasets guesses types in pieces of 10 MiB: the last line is a piece of its own, and nothing in it but a time
    rows = [pair(pair_id="a", prompt="p" * (6 << 20), chosen="c" * (5 << 20), rejected="Too short."),
            pair(pair_id="b", prompt="2024-01-05", chosen="On Friday.", rejected="2024-01-06 was a Saturday.")]
    made = approved_round(tmp_path, rows, alone=True)
    lines = signed_export(*made, tmp_path / "l", "trl-plain")
    (note,) = [note for note in lines.facts.notes() if "read as times" in note]
    assert "`prompt`" in note and "`chosen`" not in note
    assert [row["prompt"] for row in loaded(lines, tmp_path / "one")][1] == "2024-01-05 00:00:00"
    exact = signed_export(*made, tmp_path / "p", "trl-plain", parquet=True)
    assert loaded(exact, tmp_path / "two") == rows_of(exact)


def test_case_21_texts_that_look_like_numbers_are_exact_where_types_are_stated(tmp_path: Path) -> None:
    rows = [pair(pair_id="007", prompt="007", chosen="1.50", rejected="2 or so"), pair(pair_id="008", prompt="1e3", chosen="no", rejected="3")]
    made = approved_round(tmp_path, rows, alone=True)
    exact = signed_export(*made, tmp_path / "p", "trl-plain", parquet=True, extras=("pair-ids",))
    assert [record["pairs/prompt"] for record in records(exact)[1]] == [b"007", b"1e3"]
    lines = signed_export(*made, tmp_path / "l", "trl-plain", extras=("pair-ids",))
    assert loaded(lines, tmp_path / "one") == rows_of(lines)
    # a fault of pandas and of mlcroissant on it, which card and Croissant warn about: when this fails, the warning can go
    (note,) = [note for note in lines.facts.notes() if "reads as a number" in note]
    document, found = records(lines)
    assert "`pair_id`, `prompt`" in note and "pair_id, prompt reads as a number" in document.metadata.record_sets[0].description
    assert [(record["pairs/prompt"], record["pairs/pair_id"]) for record in found] == [(b"7.0", b"7"), (b"1000.0", b"8")]


def test_numbers_inside_json_columns(tmp_path: Path) -> None:
    # as the card says: 15 digits out of Parquet, 10 decimals out of JSON Lines; with a JSON parser all of them
    value = 0.12345678901234566
    answer = [say("assistant", None, tool_calls=[call({"x": value})])]
    made = approved_round(tmp_path, [pair(pair_id="n", chosen=answer, rejected=[say("assistant", "no")])], alone=True)
    done = signed_export(*made, tmp_path / "p", parquet=True)
    assert rows_of(done)[0]["chosen"] == answer and any("15 digits" in note for note in done.facts.notes())

    def number(rows: list[dict[str, Any]]) -> float:
        found: float = rows[0]["chosen"][0]["tool_calls"][0]["function"]["arguments"]["x"]
        return found

    assert number(loaded(done, tmp_path / "one")) == pytest.approx(value, rel=1e-15)
    assert number(loaded(signed_export(*made, tmp_path / "l"), tmp_path / "two")) == pytest.approx(value, abs=1e-10)


@pytest.mark.parametrize("parquet", [False, True], ids=["jsonl", "parquet"])
def test_numbers_beyond_64_bits_do_not_stop_the_reader(tmp_path: Path, parquet: bool) -> None:
    # as digits alone, which is how RFC 8785 writes 1e20, they would: "Value is too big!"
    answer = [say("assistant", None, tool_calls=[call({"x": 1e20, "y": -1e19, "n": 9007199254740991})])]
    made = approved_round(tmp_path, [pair(pair_id="n", chosen=answer, rejected=[say("assistant", "no")])], alone=True)
    assert loaded(signed_export(*made, tmp_path / "d", parquet=parquet), tmp_path)[0]["chosen"] == answer


@pytest.mark.parametrize("parquet", [False, True], ids=["jsonl", "parquet"])
@pytest.mark.parametrize("shape", ["trl", "ms-swift-messages"])
def test_sizes_of_the_card_are_those_that_datasets_measures(
    plain: tuple[Desk, Round], everything: tuple[Desk, Round], tmp_path: Path, shape: str, parquet: bool,
) -> None:
    for place, made in ((tmp_path / "plain", plain), (tmp_path / "all", everything)):
        done = signed_export(*made, place.with_suffix(".d"), shape, parquet=parquet)
        front = yaml.safe_load((done.folder / "README.md").read_text("utf-8").split("---\n", 2)[1])["dataset_info"]
        measured = datasets.load_dataset(str(done.folder), split="train", cache_dir=str(place)).info
        assert measured.splits is not None and front["download_size"] == done.facts.main_file.size
        (split,) = front["splits"]
        if parquet or made is plain:
            assert split["num_bytes"] == front["dataset_size"] == measured.splits["train"].num_bytes
        else:  # datasets writes the JSON text of such columns itself, without our spaces
            assert split["num_bytes"] == pytest.approx(measured.splits["train"].num_bytes, rel=0.1)


@pytest.mark.parametrize("kind", [
    "text", "real", "integer", "flag", JSON, ListOf("text"), ListOf(JSON), ListOf(ListOf("text")), Record(("a", "b")),
    ListOf(Record(("content", "role"))),
], ids=str)
def test_types_of_the_card_are_those_that_datasets_writes(kind: Any) -> None:
    features = datasets.Features._from_yaml_list([feature("c", kind)])
    assert features.arrow_schema.field("c").type == arrow_type(kind)
    assert features._to_yaml_list() == [feature("c", kind)]


def records(done: Dataset) -> tuple[Any, list[Any]]:
    document = mlcroissant.Dataset(jsonld=str(done.folder / "croissant.json"))
    return document, list(document.records("pairs"))


@pytest.mark.parametrize("parquet", [False, True], ids=["jsonl", "parquet"])
@pytest.mark.parametrize("shape", SHAPES)
def test_croissant_is_valid_for_every_shape(plain: tuple[Desk, Round], tmp_path: Path, shape: str, parquet: bool) -> None:
    done = signed_export(*plain, tmp_path / "d", shape, parquet=parquet)
    document, found = records(done)
    assert document.metadata.issues.errors == set() and len(found) == done.facts.rows
    assert [getattr(item, "value", item) for item in document.metadata.conforms_to] == ["http://mlcommons.org/croissant/1.1"]


def test_croissant_hands_out_the_texts(everything: tuple[Desk, Round], tmp_path: Path) -> None:
    done = signed_export(*everything, tmp_path / "d", parquet=True)
    _, found = records(done)
    for record, row in zip(found, rows_of(done), strict=True):
        told = [{"role": turn["pairs/prompt/role"].decode(), "content": turn["pairs/prompt/content"].decode()} for turn in record["pairs/prompt"]]
        assert told == [{"role": turn["role"], "content": turn["content"]} for turn in row["prompt"]]
        assert [json.loads(message) for message in record["pairs/chosen"]] == row["chosen"]


def test_croissant_of_json_lines_with_calls_is_valid_and_readable(everything: tuple[Desk, Round], tmp_path: Path) -> None:
    document, found = records(signed_export(*everything, tmp_path / "d"))
    assert document.metadata.issues.errors == set() and len(found) == 9


HOSTILE = "x\n---\nlicense: mit\n# \"' {a: b} \u0085 \U0001f600 \\"


def test_the_front_matter_is_yaml_whatever_the_names(tmp_path: Path) -> None:
    made = approved_round(tmp_path, [], about={"label": "'\"{}: - #", "candidate": {"name": HOSTILE, "digest": None}})
    done = signed_export(*made, tmp_path / "d", title=HOSTILE)
    front = yaml.safe_load((done.folder / "README.md").read_text("utf-8").split("---\n", 2)[1])
    assert front["license"] == "unknown" and front["pretty_name"].startswith("x␊---␊license: mit") and "\U0001f600" in front["pretty_name"]
    manifest = yaml.safe_load((done.folder / "regression-rate.prml.yaml").read_text("utf-8"))
    assert manifest["metric"] == "regression_rate" and manifest["threshold"] == 0.05
