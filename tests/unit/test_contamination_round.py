"""Contamination of a stored round: chats, ids on the sides, what is kept, and the command line."""
from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support_rounds import NOW, ROUND, folder_of, pair, workspace_at, write_json, write_jsonl

from core.canonical import canonical_bytes, sha256_hex
from core.cli.main import run
from core.errors import GridError, RoundError
from core.gates import contamination as report_module
from core.gates.contamination import ContaminationReport, contamination_of
from core.grid import default_grid, shipped_grids
from core.pairs.chat_texts import field_texts
from core.pairs.contamination import locked_texts
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.rounds.locked_file import read_items
from core.rounds.messages import flattened
from core.rounds.workspace import Workspace
from core.schemas import FINDINGS

ASK = "Please cancel order A1002 and refund the card that was used for it today"
OTHER = "Write a haiku about the sea in winter with a red boat"
HOLDOUT = [
    {"id": "1", "prompt": ASK, "answer": "The refund was sent to the card that was used for the order today"},
    {"id": "2", "prompt": "Compute the residual lookup distances for product quantization tables", "task_id": "T2"},
    {"id": "3", "prompt": OTHER},
]


def stored(place: Path, rows: list[dict[str, Any]], holdout: list[dict[str, Any]] | None = None) -> tuple[Workspace, Round]:
    items = HOLDOUT if holdout is None else holdout
    about = ROUND | {"holdout_lock": {"sha256": sha256_hex(canonical_bytes(items))}}
    source = folder_of(place / "input", {"pairs": rows}, about=about)
    write_json(source, "holdout", items)
    workspace = workspace_at(place)
    return workspace, workspace.round(ingest(source, workspace, now=NOW).digest)


def chat(*turns: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"role": role, "content": content} for role, content in turns]


SYSTEM = "You are a support agent for a small shop and must follow the written policy at all times without exception."


def rows() -> list[dict[str, Any]]:
    return [
        pair(pair_id="clean"),
        pair(pair_id="exact", prompt=f"{ASK.upper()}!"),
        pair(pair_id="chat", prompt=chat(("system", SYSTEM), ("user", ASK)), chosen=chat(("assistant", "Yes")), rejected=chat(("assistant", "No"))),
        pair(pair_id="answer", chosen=f"Sure. {HOLDOUT[0]['answer']}. Anything else?"),
        pair(pair_id="task", scenario_id="T2"),
        pair(pair_id="side", chosen_row={"meta": {"task_id": "T2"}}),
    ]


def listed(report: ContaminationReport) -> dict[tuple[str, str], dict[str, Any]]:
    return {(one["pair_id"], one["field"]): one for one in report.document["findings"]["listed"]}


def test_every_place_where_a_holdout_can_hide_in_a_round(tmp_path: Path) -> None:
    workspace, source = stored(tmp_path, rows())
    report = contamination_of(workspace, source, default_grid())
    found, document = listed(report), report.document
    assert {key: one["rules"] for key, one in found.items()} == {
        ("exact", "prompt"): ["exact", "training_coverage", "holdout_coverage"],
        ("chat", "prompt"): ["exact", "training_coverage", "holdout_coverage"],      # the user turn alone, not hidden by the system turn
        ("answer", "chosen"): ["training_coverage", "holdout_coverage"],             # 14 of 17 words, and 14 of the 14 of the locked answer
        ("task", "scenario_id"): ["same_task"], ("side", "chosen_row.meta.task_id"): ["same_task"],
    }
    assert (found["answer", "chosen"]["covered"], found["answer", "chosen"]["words"]) == (14, 17)
    assert document["by_rule"] == {"same_task": 2, "exact": 2, "training_coverage": 1, "holdout_coverage": 0}
    assert document["by_field"] == {"chosen": 1, "prompt": 2, "same_task": 2}
    assert document["pairs"] == {"looked_at": 6, "contaminated": 5, "quarantined": 0, "texts": 20}
    # five plain pairs of three texts, and in the chat two turns, both together, and one turn on each side: 15 + 5
    # item 2 has no text in the pairs and is hit by its task id twice; item 3 is in no pair
    assert document["items"] == [{"item": 0, "id": "1", "hits": {"prompt": 2, "answer": 1}}, {"item": 1, "id": "2", "hits": {"same_task": 2}}]
    assert (document["contaminated_items"], document["over"], document["against"]["lock_holds"]) == (2, True, True)


def test_the_marks_stand_in_the_stored_texts(tmp_path: Path) -> None:
    workspace, source = stored(tmp_path, rows())
    found = listed(contamination_of(workspace, source, default_grid()))
    texts = {
        pair_id: row for narrow, text in source.pair_batches() for pair_id, row in zip(narrow["pair_id"].to_pylist(), text.to_pylist(), strict=True)
    }
    for (pair_id, field), marked in ((("chat", "prompt"), ASK), (("answer", "chosen"), HOLDOUT[0]["answer"]), (("exact", "prompt"), ASK.upper())):
        (span,) = found[pair_id, field]["spans"]
        assert texts[pair_id][field][slice(*span)] == marked
        assert found[pair_id, field]["locked_spans"] == [[0, len(marked)]]


def test_every_finding_is_in_the_file_and_the_strongest_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # two findings listed, one pair a batch
    monkeypatch.setattr(report_module, "_SETTINGS", {**report_module._SETTINGS, "listed": 2, "batch_characters": 1})
    workspace, source = stored(tmp_path, rows())
    report = contamination_of(workspace, source, default_grid())
    table = pq.read_table(report.findings_path)
    assert table.schema.equals(FINDINGS)
    assert table["pair_id"].to_pylist() == ["exact", "chat", "answer", "task", "side"]
    assert table["words"].to_pylist() == [14, 14, 17, None, None]
    assert [one["pair_id"] for one in report.document["findings"]["listed"]] == ["side", "task"]
    assert report.document["findings"]["all"] == 5


def test_the_order_of_the_rows_changes_nothing_that_is_said(tmp_path: Path) -> None:
    documents = []
    for place, order in (("a", rows()), ("b", rows()[::-1])):
        workspace, source = stored(tmp_path / place, order)
        document = dict(contamination_of(workspace, source, default_grid()).document)
        for one in document["findings"]["listed"]:
            del one["ordinal"]
        documents.append({key: value for key, value in document.items() if key != "round_digest"})
    assert documents[0] == documents[1]


def test_a_report_is_computed_once_and_another_question_is_another_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, source = stored(tmp_path, rows())
    first = contamination_of(workspace, source, default_grid())
    assert first.folder.parent == workspace.root / "leakage" / source.digest
    other = contamination_of(workspace, source, default_grid(), left_out=["answer"])
    assert other.folder != first.folder and other.document["contaminated_items"] == 2
    assert "the members answer of the locked items, left out as asked" in {one["why"] for one in other.document["skipped"]}
    monkeypatch.setattr(report_module, "check_round", None)
    assert contamination_of(workspace, source, default_grid()).document == first.document


def test_the_grid_says_how_many_items_may_be_contaminated(tmp_path: Path) -> None:
    document = json.loads(default_grid().canonical)
    document["keys"]["max_contaminated_items"]["value"] = 2
    workspace, _ = stored(tmp_path, rows())
    write_json(tmp_path, "grid", document)
    assert run(["contamination", "round-07", "--workspace", str(workspace.root), "--json"]) == 3
    assert run(["contamination", "round-07", "--workspace", str(workspace.root), "--grid", str(tmp_path / "grid.json"), "--json"]) == 0


def test_a_grid_of_an_earlier_schema_names_the_key_that_it_lacks(tmp_path: Path) -> None:
    workspace, source = stored(tmp_path, rows())
    (earlier,) = (grid for grid in shipped_grids().values() if grid.schema_version == 1)
    with pytest.raises(GridError, match="contamination_ngram_words"):
        contamination_of(workspace, source, earlier)


def test_without_a_holdout_or_pairs_there_is_nothing_to_clear(tmp_path: Path) -> None:
    workspace = workspace_at(tmp_path / "x")
    bare = workspace.round(ingest(folder_of(tmp_path / "x" / "input", {"pairs": [pair()]}), workspace, now=NOW).digest)
    with pytest.raises(RoundError, match="part_not_supplied"):
        contamination_of(workspace, bare, default_grid())
    sanity = workspace.round(ingest(folder_of(tmp_path / "y", {"sanity": [{"id": "s", "passed": True}]}), workspace, now=NOW).digest)
    with pytest.raises(RoundError, match="part_not_supplied"):
        contamination_of(workspace, sanity, default_grid())


def test_the_command_says_what_is_shared_and_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workspace, _ = stored(tmp_path, rows())
    assert run(["contamination", "round-07", "--workspace", str(workspace.root)]) == 3
    printed = capsys.readouterr().out
    assert printed.startswith("Contaminated: 2 of 3 items are in 5 of 6 pairs; 0 may be.\n")
    start = len("system\n") + len(SYSTEM) + len("\n") + len("user\n")
    assert f"chat prompt, characters {start}-{start + len(ASK)} = item 1 prompt, characters 0-{len(ASK)}: {ASK}" in printed
    assert "side chosen_row.meta.task_id = item 2 task_id: T2" in printed
    assert "side    chosen_row.meta.task_id  same task" in printed
    assert "14/17" in printed


def test_other_items_than_the_rounds_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workspace, _ = stored(tmp_path, rows())
    items = write_jsonl(tmp_path, "eval", [{"question": "Unrelated words only, here and there"}, {"question": "set retries", "gold": "7"}])
    assert run(["contamination", "round-07", "--workspace", str(workspace.root), "--against", str(items), "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert found["against"]["name"] == "eval.jsonl" and found["against"]["lock_holds"] is None
    # pairs 1, 4, 5 and 6 of the rows keep the base pair's prompt, "Set retries."
    assert found["items"] == [{"item": 1, "id": "row 2", "hits": {"question": 4}}]
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"question": "x"}\n[1]\n', "utf-8")
    assert run(["contamination", "round-07", "--workspace", str(workspace.root), "--against", str(broken), "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["line"] == 2
    assert run(["contamination", "round-07", "--workspace", str(workspace.root), "--against", str(tmp_path / "none.jsonl")]) == 4


def test_ids_that_cannot_be_judged_and_items_that_are_not_looked_for_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Item 17 is a bare number: found where a pair declares it, not judged deep in other data. 5 and "5" may be one id: no pass."""
    workspace, _ = stored(tmp_path, [
        pair(pair_id="a", prompt="p1", task_id="17"), pair(pair_id="b", prompt="p2", meta={"task_id": "18"}),
        pair(pair_id="c", prompt="p3", task_id="5"),
    ])
    items: list[dict[str, Any]] = [
        {"id": "17", "question": "x y"}, {"id": "18", "question": "y z"}, {"id": 5, "question": "z x"}, {"question": "q r"}, {"id": "h6", "n": 0.5},
    ]
    against = write_jsonl(tmp_path, "eval", items)
    command = ["contamination", "round-07", "--workspace", str(workspace.root), "--against", str(against)]
    assert run([*command, "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert found["items"] == [{"item": 0, "id": "17", "hits": {"same_task": 1}}]
    assert (found["contaminated_items"], found["undecided_items"], found["over"]) == (1, 1, True)
    assert found["task_ids"] == {"items": 4, "items_by_bare_number": 3, "pairs": 3, "not_judged": {"items": 2, "all": 2, "listed": [
        {"item": 1, "id": "18", "why": "bare_number", "rows": 1, "row": "b", "field": "meta.task_id", "task_id": "18"},
        {"item": 2, "id": "5", "why": "other_form", "rows": 1, "row": "c", "field": "task_id", "task_id": "5"},
    ]}}
    assert found["not_looked_for"] == [
        {"rule": "same_task", "why": "it has no task id and no id", "items": 1, "listed": [{"item": 3, "id": "row 4"}]},
        {"rule": "exact", "why": "it has no text to look for", "items": 1, "listed": [{"item": 4, "id": "h6"}]},
    ]
    assert run(command) == 3
    printed = capsys.readouterr().out
    assert "0 may be. 1 more may be in them: its id stands there in another form." in printed
    for line in (
        "Not judged, same task: item 18, as '18' at meta.task_id of b; rows: 1.", "Not judged, same task: item 5, as '5' at task_id of c; rows: 1.",
        "Not looked for by a task id: row 4: it has no task id and no id.", "Not looked for by a text: h6: it has no text to look for.",
    ):
        assert line in printed
    # said to be another numbering: nothing is found, and that is said
    assert run([*command, "--leave-out", "id", "--json"]) == 0
    left = json.loads(capsys.readouterr().out)
    assert (left["contaminated_items"], left["undecided_items"]) == (0, 0)
    assert [(one["rule"], one["items"]) for one in left["not_looked_for"]] == [("same_task", 1), ("same_task", 4), ("exact", 1)]


def test_items_that_say_nothing_clear_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workspace, _ = stored(tmp_path, [pair()])
    command = ["contamination", "round-07", "--workspace", str(workspace.root)]
    bare = write_jsonl(tmp_path, "bare", [{"id": True, "score": 1}, {"id": None, "text": " "}])
    assert run([*command, "--against", str(bare)]) == 4
    assert "[nothing_to_look_for]" in capsys.readouterr().err
    # a slip in the name of what is left out would leave nothing out
    assert run([*command, "--leave-out", "promt"]) == 4
    assert "[unknown_member] field --leave-out" in (error := capsys.readouterr().err) and "answer, id, prompt, task_id" in error


def test_a_form_of_an_id_alone_does_not_pass(tmp_path: Path) -> None:
    workspace, _ = stored(tmp_path, [pair(prompt="p1", task_id="H3")], [{"id": "h3", "prompt": OTHER}])
    assert run(["contamination", "round-07", "--workspace", str(workspace.root)]) == 3


def test_an_id_that_stands_on_two_items_is_refused_by_name(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path, "eval", [{"id": "h1", "q": "a"}, {"id": 1, "q": "b"}, {"id": "1", "q": "c"}, {"id": "h1", "q": "d"}])
    with pytest.raises(RoundError) as refused:
        read_items(path)
    assert (refused.value.code, refused.value.got, str(refused.value.where)) == (
        "duplicate_holdout_id", '"h1" in item 1 and item 4', "eval.jsonl, line 4, field id",
    )
    assert len(read_items(path, ["id"]).items) == 4


def test_a_table_of_items_may_hold_what_json_cannot_say(tmp_path: Path) -> None:
    """NaN, a date, bytes and an integer beyond 2^53 beside the texts, which are all that is looked at."""
    table = pa.table({
        "id": pa.array([2**63 - 1, 2], pa.int64()), "q": ["请取消订单", "b"], "score": pa.array([float("nan"), 1.5]),
        "day": pa.array([0, 1], pa.date32()), "raw": [b"x", b"y"],
    })
    pq.write_table(table, tmp_path / "eval.parquet")
    items = read_items(tmp_path / "eval.parquet").items
    assert [text.text for text in locked_texts(items)] == ["请取消订单", "b"] and [item["id"] for item in items] == [9223372036854775807, 2]


@pytest.mark.parametrize("form", ["jsonl", "jsonl.gz", "json", "parquet", "csv"])
def test_evaluation_files_as_other_people_write_them(tmp_path: Path, form: str) -> None:
    """Scores with a point, lists and nested objects do not matter: only the texts are looked at."""
    rows = [{"question": ASK, "score": 0.5, "choices": ["a", "b"], "meta": {"source": "x", "weight": 1.25}}, {"question": "b", "score": 1e-3}]
    path = tmp_path / f"eval.{form}"
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif form == "csv":
        path.write_text(f"question,score\n{ASK},0.5\nb,1e-3\n", "utf-8")
    elif form == "json":
        path.write_text(json.dumps(rows), "utf-8")
    else:
        text = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
        path.write_bytes(gzip.compress(text) if form.endswith("gz") else text)
    found = read_items(path)
    assert [item["question"] for item in found.items] == [ASK, "b"] and (found.name, found.sha256) == (path.name, sha256_hex(path.read_bytes()))
    texts = [text.text for text in locked_texts(found.items)]
    # every cell of a CSV is text
    assert texts == ([ASK, "0.5", "b", "1e-3"] if form == "csv" else [ASK, "a", "b", "x", "b"])


def test_evaluation_files_that_are_none(tmp_path: Path) -> None:
    for name, text, code in (("a.jsonl", "", "empty_holdout"), ("a.json", "[1]", "wrong_type"), ("a.txt", "x", "unknown_form"),
                             ("a.jsonl", '{"q": "x"}\n{"q": "x", "q": "y"}\n', "duplicate_json_key"), ("a.parquet", "x", "not_parquet")):
        path = tmp_path / name
        path.write_text(text, "utf-8")
        with pytest.raises(RoundError, match=code):
            read_items(path)


def test_a_chat_is_looked_at_turn_by_turn_and_as_a_whole() -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"x": 1}]}
    turns = [*chat(("system", "Be kind."), ("user", ""), ("user", "Be kind.")), call]
    text = flattened(turns)
    found = field_texts("prompt", text, json.dumps(turns))
    assert [(one.text, text[one.start:one.start + len(one.text)]) for one in found] == [("Be kind.", "Be kind.")] * 2 + [(text, text)]
    assert found[0].start == 7 and found[1].start > found[0].start
    alone = chat(("user", ASK))
    assert [one.text for one in field_texts("prompt", flattened(alone), json.dumps(alone))] == [ASK]
    assert [one.text for one in field_texts("chosen", ASK, None)] == [ASK]


def test_the_benchmark_finds_what_it_planted() -> None:
    """400 texts of one template against 30: rows 0 and 200 are copies, rows 100 and 300 hold a locked text, nothing else is a hit."""
    root = Path(__file__).parents[2]
    command = [sys.executable, str(root / "benchmarks" / "contamination_speed.py"), "--rows", "400", "--locked", "30", "--chunks", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(root)})
    assert done.stdout.startswith("400 x 30 texts") and ", 4 rows contaminated" in done.stdout
