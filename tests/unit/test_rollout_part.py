"""The part ``rollouts`` of a round: how it is declared and read, what is kept, and that rounds without it stay as they were."""
from __future__ import annotations

import gzip
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support_rollouts import row
from support_rounds import ROUND, folder_of, ingested, pair, write_jsonl

from core.cli.main import run
from core.errors import RoundError
from core.rounds.columns import TypedBatch
from core.rounds.folder import Round
from core.rounds.form import check_form
from core.rounds.ingest import IngestReport
from core.rounds.inspection import extra_columns
from core.rounds.manifest import RoundManifest
from core.rounds.notes import round_notes
from core.rounds.readers import rollout_batches
from core.rounds.readers.format import Declared
from core.rounds.readers.rollouts import read_rollouts
from core.rounds.rollout_faults import fault_counts, rollout_count
from core.rounds.stored_rollouts import stored_rollouts

ROOT = Path(__file__).parents[2]
SMOLLM2 = ROOT / "data/sources/smollm2/rollouts.jsonl.gz"
ROWS = [
    row("t", 0, "yes", 0.7, judge_id="gold", mood="good"), row("t", 1, "no", 0, judge_id="gold"), row("u", 0, "ja", True, judge_id="gold"),
    row("u", 1, "nein", None), row("u", 2, None, 1), row("u", 3, "ach", 1, judge_status="timeout"), row("u", 4, "so", 1.5), row("u", 5, "na", "1"),
]


def declared(place: Path, rows: list[Any], options: dict[str, str] | None = None, **about: Any) -> tuple[Round, IngestReport]:
    """A round whose rollouts are one declared file."""
    sources = {"rollouts": [{"file": "graded.jsonl", "format": "rollouts", "options": options or {}}]}
    folder = folder_of(place / "input", {}, about=ROUND | {"sources": sources} | about)
    write_jsonl(folder, "graded", rows)
    return ingested(place, folder)


def test_a_declared_file_is_kept_whole_with_its_faults(tmp_path: Path) -> None:
    source, report = declared(tmp_path, ROWS)
    assert report.counts == {"rollouts": 8} and rollout_count(source) == 8
    table = source.table("rollouts").to_pylist()
    assert [one["ordinal"] for one in table] == list(range(8)) and [one["line"] for one in table] == list(range(1, 9))
    assert [(one["reward"], one["fault"]) for one in table] == [
        (0.7, None), (0.0, None), (None, "boolean_reward"), (None, "missing_reward"), (1.0, "missing_response"), (None, "grader_failed"),
        (None, "reward_out_of_range"), (None, "invalid_reward"),
    ]
    assert {name: table[0][name] for name in ("task_id", "rollout", "prompt", "response", "grader", "token_count", "file", "extra")} == {
        "task_id": "t", "rollout": 0, "prompt": "About t?", "response": "yes", "grader": "gold", "token_count": 3, "file": "graded.jsonl",
        "extra": '{"mood":"good"}',
    }
    # one of each fault, six in all
    assert fault_counts(source) == dict.fromkeys(
        ("boolean_reward", "grader_failed", "invalid_reward", "missing_response", "missing_reward", "reward_out_of_range"), 1,
    )
    assert extra_columns(source) == {"rollouts": ["mood"]}
    # 5 for rollouts, 7 for the remark that mood is a column of its own
    assert source.manifest.document()["schema_version"] == 7 and source.manifest.sources["rollouts"][0].why == "declared by the proposer"
    source.verify_files()
    check_form(source)
    said = [note.text for note in round_notes(source) if note.code == "missing_reward"]
    assert said == ["rollouts: 1 of 8 cannot be used: no reward"] == [note.text for note in report.notes if note.code == "missing_reward"]


def test_the_plain_table_gives_the_same_rows_and_may_be_parquet(tmp_path: Path) -> None:
    usable = [one for one in ROWS if one["response"] and type(one["reward"]) in (int, float)]
    rows = [declared(tmp_path / "declared", usable)[0].table("rollouts").drop_columns(["file"])]
    for form in ("jsonl", "json", "parquet"):
        source, _ = ingested(tmp_path / form, folder_of(tmp_path / form / "input", {"rollouts": usable}, form=form))
        assert "sources" not in source.manifest.document() and source.manifest.document()["schema_version"] == 5
        rows.append(source.table("rollouts").drop_columns(["file"]))
    # in Parquet every row has every column, so the last table has a null mood and judge_status where there was none
    assert rows[0].equals(rows[1]) and rows[0].equals(rows[2])
    assert rows[0].drop_columns(["extra"]).equals(rows[3].drop_columns(["extra"]))


def test_the_stored_rollouts_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    path.write_bytes(gzip.decompress(SMOLLM2.read_bytes()))
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    source, report = declared(tmp_path / "round", rows, {"reward": "strict"}, pairing={"policy": "rpo-60"})
    wanted = [replace(one, extra=None) for one in read_rollouts(Declared(path, path.name, {"reward": "strict"}))]
    assert list(stored_rollouts(source)) == wanted and len(wanted) == 960
    assert [note.code for note in report.notes if note.code == "boolean_reward"] == ["boolean_reward"]
    assert fault_counts(source) == {}


def test_rewards_and_messages_come_back_exactly(tmp_path: Path) -> None:
    talk = [{"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function"}]}, {"role": "tool", "content": "4"}]
    rows = [
        row("t", 0, "4", 0.1, messages=[{"role": "user", "content": "2+2"}, *talk]), row("t", 1, talk, 0.30000000000000004),
        row("t", 2, "x", 1e-300), row("t", 3, "y", 1),
    ]
    source, _ = declared(tmp_path, rows)
    found = list(stored_rollouts(source))
    assert [one.reward for one in found] == [Fraction(1, 10), Fraction("0.30000000000000004"), Fraction("1e-300"), Fraction(1)]
    assert json.loads(found[1].response_messages or "") == talk == json.loads(found[0].response_messages or "") and found[0].response == "4"


def test_what_cannot_be_read_refuses_the_ingest(tmp_path: Path) -> None:
    for at, (rows, options, code) in enumerate([
        ([row("t", 0, "a", 1), row("t", -1, "b", 0)], {}, "wrong_type"), ([row("t", 0, "a", 1, number=[2])], {"task": "number"}, "wrong_type"),
        ([row("t", 0, "a", 1)], {"reward": "score"}, "missing_field"), ([row("t", 0, "a", 1)], {"rewards": "x"}, "unknown_option"),
        ([row("t", 0, "a", 1)], {"range": "1..0"}, "bad_option"), ([{"response": "a", "reward": 1}], {}, "missing_field"),
    ]):
        with pytest.raises(RoundError) as caught:
            declared(tmp_path / str(at), rows, options)
        assert caught.value.code == code and not any((tmp_path / str(at) / "workspace" / "rounds").glob("*"))


def test_the_declaration_of_the_pairing_is_stored_and_checked(tmp_path: Path) -> None:
    stated = {"policy": "p", "holdout_graders": ["gold", "eval-set"]}
    source, _ = declared(tmp_path / "a", [row("t", 0, "a", 1, model="q", source="eval-set")], pairing=stated)
    assert source.manifest.document()["pairing"] == stated
    assert RoundManifest.from_document(source.manifest.document()) == source.manifest
    said = {note.code: note.text for note in round_notes(source)}
    assert "'p'" in said["policy_without_rollouts"]
    assert "'gold'" in said["grader_without_rollouts"] and "eval-set" not in said["grader_without_rollouts"]
    half, _ = declared(tmp_path / "b", [row("t", 0, "a", 1)], pairing={"holdout_graders": ["gold"]})
    assert half.manifest.document()["pairing"] == {"policy": None, "holdout_graders": ["gold"]}
    for at, (wrong, code) in enumerate([
        ({}, "empty_list"), ({"policy": ""}, "empty_text"), ({"graders": []}, "unknown_key"), ({"holdout_graders": ["a", "a"]}, "unknown_value"),
        ({"holdout_graders": "gold"}, "wrong_type"), ("p", "wrong_type"),
    ]):
        with pytest.raises(RoundError) as caught:
            declared(tmp_path / f"c{at}", [row("t", 0, "a", 1)], pairing=wrong)
        assert caught.value.code == code
    with pytest.raises(RoundError) as caught:
        ingested(tmp_path / "d", folder_of(tmp_path / "d" / "input", {"pairs": [pair()]}, about=ROUND | {"pairing": stated}))
    assert (caught.value.code, str(caught.value.where)) == ("part_not_supplied", "round.json, field pairing")


def test_a_column_that_nobody_declared_is_asked_for(tmp_path: Path) -> None:
    rows = [{"task_id": "t", "prompt": "About t?", "response": reply, "strict": reply == "yes"} for reply in ("yes", "no")]
    said = {note.code: note.text for note in round_notes(declared(tmp_path, rows)[0])}
    assert said["missing_reward"].endswith("2 of 2 cannot be used: no reward; declare its column in sources, as an option of the file")


def test_a_round_without_rollouts_keeps_its_document(tmp_path: Path) -> None:
    source, _ = ingested(tmp_path, folder_of(tmp_path / "input", {"pairs": [pair()]}))
    document = source.manifest.document()
    assert document["schema_version"] == 1 and "pairing" not in document and "sources" not in document
    assert list(stored_rollouts(source)) == [] and rollout_count(source) == 0


def test_a_folder_put_together_by_hand_is_refused(tmp_path: Path) -> None:
    source, _ = declared(tmp_path, ROWS)
    file = source.path / "rollouts.parquet"
    table = pq.read_table(file)
    for name, values in (("ordinal", [0] * 8), ("fault", ["unheard"] * 8), ("fault", [None] * 8)):
        place = table.schema.get_field_index(name)
        file.unlink()
        pq.write_table(table.set_column(place, table.schema.field(name), pa.array(values, table.schema.field(name).type)), file)
        with pytest.raises(RoundError) as caught:
            check_form(source)
        assert caught.value.code == "not_as_ingested"


def test_batches_are_bounded_by_rows_and_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_jsonl(tmp_path, "graded", [row("t", at, "x" * 100, 1) for at in range(10)])

    def sizes() -> list[int]:
        batches: list[TypedBatch] = list(rollout_batches.rollout_batches(Declared(path, path.name, {})))
        return [batch.rows.num_rows for batch in batches]

    assert sizes() == [10]
    monkeypatch.setattr(rollout_batches, "_STORAGE", {"batch_rows": 4, "batch_bytes": 10_000})
    assert sizes() == [4, 4, 2]
    # 108 characters a row: the third passes 300
    monkeypatch.setattr(rollout_batches, "_STORAGE", {"batch_rows": 4, "batch_bytes": 300})
    assert sizes() == [3, 3, 3, 1]


def test_the_command_line_ingests_and_shows_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, place = write_jsonl(tmp_path, "graded", ROWS), str(tmp_path / "w")
    assert run(["ingest", str(path), "--format", "auto", "--proposer", "a@x", "--workspace", place]) == 0
    assert run(["round", "show", "graded", "--workspace", place]) == 0
    said = capsys.readouterr().out
    assert "each row has one reply, its reward, and a task or a prompt" in said
    assert [line.split() for line in said.splitlines() if line.startswith("rollouts")] == [["rollouts", "8"]] * 2
