"""``countersign pairs`` on real rollouts and on small ones: what is written, what is said, and that a round of it ingests."""
from __future__ import annotations

import gzip
import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support_rounds import ROUND

from core.cli.main import run
from core.cli.out_files import written
from core.errors import RoundError
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace

ROOT = Path(__file__).parents[2]
SMOLLM2 = ROOT / "data/sources/smollm2/rollouts.jsonl.gz"
SMALL = [
    {"task_id": "t", "rollout": 0, "prompt": "What is it?", "response": "yes", "reward": 1.0, "token_count": 2, "judge_id": "gold"},
    {"task_id": "t", "rollout": 1, "prompt": "What is it?", "response": "no", "reward": 0, "token_count": 1, "judge_id": "gold"},
    {"task_id": "u", "rollout": 0, "prompt": "And this?", "response": "ja", "reward": True, "token_count": 1, "judge_id": "gold"},
]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in SMALL), "utf-8")
    return path


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("real") / "rollouts.jsonl"
    path.write_bytes(gzip.decompress(SMOLLM2.read_bytes()))
    return path


def test_a_packed_file_gives_the_same_pairs(real: Path, tmp_path: Path) -> None:
    for path, out in ((real, "a"), (SMOLLM2, "b")):
        assert run(["pairs", str(path), "--out", str(tmp_path / out), "--option", "reward=strict", "--policy", "rpo-60", "--json"]) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("policy", "passed"), [("rpo-60", 77), ("dpo-only-60", 46)])
def test_each_policy_has_20_tasks_with_both(real: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], policy: str, passed: int) -> None:
    # data/SOURCES.md: 77 and 46 of 480 rollouts pass; 20 of 80 tasks of each policy have both a pass and a fail
    raw = rows_of(real)
    mine = [row for row in raw if row["model"] == policy]
    assert (len(mine), sum(row["strict"] for row in mine)) == (480, passed)
    out = tmp_path / "pairs.jsonl"
    assert run(["pairs", str(real), "--out", str(out), "--option", "reward=strict", "--policy", policy, "--json"]) == 0
    report, rows = json.loads(capsys.readouterr().out), rows_of(out)
    assert (report["tasks_seen"], report["tasks_with_contrast"], report["pairs"], len(rows)) == (80, 20, 20, 20)
    assert report["rows"] == 960 == report["rows_in_pairs"] + sum(report["rows_unused"].values()) and report["rows_unused"]["other_policy"] == 480
    assert report["mixed_policy_pairs"] == report["eval_sourced"] == report["without_log_probs"] == 0
    replies: dict[str, dict[bool, list[str]]] = {}
    for row in mine:
        replies.setdefault(row["task_id"], {True: [], False: []})[row["strict"]].append(row["response"])
    for row in rows:
        # by trying each pass against each fail of the task: no two lengths are nearer than those of the pair
        sides = replies[row["task_id"]]
        assert row["chosen"] in sides[True] and row["rejected"] in sides[False]
        assert abs(len(row["chosen"]) - len(row["rejected"])) == min(abs(len(one) - len(other)) for one in sides[True] for other in sides[False])
    by_reply = {(row["task_id"], row["response"], row["policy_logp"]): row for row in mine}
    for row in rows:
        for side in ("chosen", "rejected"):
            source = by_reply[row["task_id"], row[side], row[f"policy_logp_{side}"]]
            assert (row[f"ref_logp_{side}"], row[f"{side}_token_count"]) == (source["ref_logp"], source["token_count"])


def test_a_round_of_the_pairs_ingests(real: Path, tmp_path: Path) -> None:
    folder = tmp_path / "round"
    folder.mkdir()
    assert run(["pairs", str(real), "--out", str(folder / "pairs.jsonl"), "--option", "reward=strict", "--policy", "rpo-60", "--json"]) == 0
    (folder / "round.json").write_text(json.dumps(ROUND), "utf-8")
    report = ingest(folder, Workspace.open(tmp_path / "w", create=True), now=datetime(2026, 1, 5, tzinfo=UTC))
    assert (report.counts["pairs"], report.quarantined) == (20, 0)
    narrow = Round.open(report.path).narrow()
    assert narrow["policy_logp_chosen"].null_count == narrow["chosen_token_count"].null_count == 0
    assert set(narrow["origin"].to_pylist()) == {"verified"} and set(narrow["chosen_verified_pass"].to_pylist()) == {True}


def test_what_is_said(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "p.jsonl"
    assert run(["pairs", str(small), "--out", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("1 pair written to ") and [line.split()[-1] for line in lines[2:5]] == ["2", "1", "3"]
    assert "a boolean where a number belongs" in lines[3]
    assert "chosen is longer                               1 of 1, 100 %" in lines
    assert (rows_of(out)[0]["pair_id"], rows_of(out)[0]["chosen"]) == ("t/0/1", "yes")


@pytest.mark.parametrize("flags", [["--holdout-grader", "gold"], ["--holdout", "ids.json"], ["--holdout", "prompts.json"]])
def test_a_reward_of_the_holdout_warns(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str],
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ids.json").write_text('[{"id": "t", "prompt": "Something else"}]', "utf-8")
    Path("prompts.json").write_text('[{"id": "h1", "prompt": "what is  IT"}]', "utf-8")
    assert run(["pairs", str(small), "--out", "p.jsonl", "--report", "r.json", *flags]) == 0
    assert "warning [eval_sourced] 1 of 1 pair has" in capsys.readouterr().out
    report = json.loads(Path("r.json").read_text("utf-8"))
    assert report["eval_sourced"] == 1 and report["warnings"][0]["code"] == "eval_sourced"


def test_nothing_is_written_over_another_file(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "p.jsonl"
    out.write_text("mine\n", "utf-8")
    assert run(["pairs", str(small), "--out", str(out)]) == 4 and out.read_text("utf-8") == "mine\n"
    assert "[file_exists]" in capsys.readouterr().err
    assert run(["pairs", str(small), "--out", str(out), "--force"]) == 0 and len(rows_of(out)) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.jsonl", "small.jsonl"]


@pytest.mark.parametrize(("arguments", "code"), [
    (["missing.jsonl", "--out", "p.jsonl"], 4), (["small.jsonl", "--out", "no/p.jsonl"], 4),
    (["small.jsonl", "--out", "p.jsonl", "--option", "reward"], 2),
    (["small.jsonl", "--out", "small.jsonl", "--force"], 2), (["small.jsonl", "--out", "p.jsonl", "--report", "./p.jsonl"], 2),
    (["small.jsonl", "--out", "p.jsonl", "--report", "no/r.json"], 4), (["small.jsonl", "--out", "p.jsonl", "--option", "colour=red"], 4),
    (["small.jsonl", "--out", "p.jsonl", "--holdout", "h.txt"], 4),
    (["small.jsonl", "--out", "p.jsonl", "--holdout", "h.json"], 4), (["small.jsonl", "--out", "p.jsonl", "--grid", "g.json"], 4),
])
def test_what_cannot_be_done_leaves_nothing(small: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int) -> None:
    monkeypatch.chdir(small.parent)
    assert run(["pairs", *arguments]) == code
    assert [path.name for path in small.parent.iterdir()] == ["small.jsonl"]


def test_a_file_that_came_in_the_meantime_stays(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    with pytest.raises(RoundError) as refused, written(path, force=False) as file:
        file.write(b"ours\n")
        path.write_text("theirs\n", "utf-8")
    assert refused.value.code == "file_exists" and path.read_text("utf-8") == "theirs\n"
    assert [found.name for found in tmp_path.iterdir()] == ["p.jsonl"]


def test_a_grid_may_allow_more_pairs_a_task(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads((ROOT / "core/grid/default_grid_spec.json").read_text("utf-8"))
    document |= {"name": "two a task", "reason": "more pairs"}
    document["keys"]["max_pairs_per_task"]["value"] = 2
    grid, rollouts = tmp_path / "grid.json", tmp_path / "four.jsonl"
    grid.write_text(json.dumps(document), "utf-8")
    rows = [{"task_id": "t", "rollout": run, "prompt": "q", "response": "x" * (run + 1), "reward": run % 2, "token_count": 1} for run in range(4)]
    rollouts.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    # rewards 0 1 0 1, lengths 1 2 3 4: 2-1 and 4-3, two in all; one pair alone: 2-1 before 2-3 and 4-3 by rank
    for flags, pairs, total in (([], ["t/1/0"], 1), (["--grid", str(grid)], ["t/1/0", "t/3/2"], 2)):
        out = tmp_path / "p.jsonl"
        assert run(["pairs", str(rollouts), "--out", str(out), "--force", "--json", *flags]) == 0
        report = json.loads(capsys.readouterr().out)
        assert [row["pair_id"] for row in rows_of(out)] == pairs and report["length"]["total_absolute"] == total


def jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


def pass_and_fail(**more: Any) -> list[dict[str, Any]]:
    return [{"task_id": "t", "prompt": "ask", "response": text, "token_count": 1, "reward": reward} | more for text, reward in (("a", 1), ("b", 0))]


def without(*names: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in names} | {"mark": 1.5, "ok": True} for row in pass_and_fail()]


@pytest.mark.parametrize(("rows", "flags", "code", "said"), [
    (without("reward"), [], "no_reward_column", ["columns of numbers: 'mark'", "true and false: 'ok'", "--option reward=COLUMN"]),
    (without("response"), [], "no_response_column", ["columns of text: none", "--option response=COLUMN"]),
    (pass_and_fail(reward=None), [], "no_usable_rollout", ["none of 2: 2 with no reward", "--option reward=COLUMN"]),
    (pass_and_fail(reward=True), [], "no_usable_rollout", ["2 with a boolean where a number belongs", "--option reward=COLUMN"]),
    (pass_and_fail(reward="1"), [], "no_usable_rollout", ["2 with a reward that is no number"]),
    (pass_and_fail(reward=7), [], "no_usable_rollout", ["2 with a reward outside the declared range", "--option range=LEAST..MOST"]),
    (pass_and_fail(response=" "), [], "no_usable_rollout", ["2 with a reply that says nothing"]),
    (pass_and_fail(model="模型"), ["--policy", "other"], "no_such_policy", ["none of 2", "'模型'"]),
    ([], [], "no_rows", ["a file without rows"]),
    ([{"response": "a", "reward": 1, "Aufgabe": "x"}], [], "missing_field", ["'Aufgabe'", "task=COLUMN"]),
])
def test_a_file_of_which_nothing_can_be_paired_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: list[dict[str, Any]], flags: list[str], code: str, said: list[str],
) -> None:
    rollouts = jsonl(tmp_path / "r.jsonl", rows)
    assert run(["pairs", str(rollouts), "--out", str(tmp_path / "p.jsonl"), "--report", str(tmp_path / "x.json"), *flags]) == 4
    error = capsys.readouterr().err
    assert error.startswith(f"[{code}] r.jsonl") and [words for words in said if words not in error] == []
    assert [path.name for path in tmp_path.iterdir()] == ["r.jsonl"]


@pytest.mark.parametrize(("rows", "said"), [
    (pass_and_fail(reward=0.9), "none of 1 task has both a rollout that passes and one that fails; a rollout passes from 1 on (pair_pass_reward), "
                                "and the rewards are 0.9"),
    ([*pass_and_fail(reward=1), *pass_and_fail(reward=0, task_id="u")], "none of 2 tasks has both a rollout that passes and one that fails; a "
                                                                          "rollout passes from 1 on (pair_pass_reward), and the rewards are 0 to 1"),
    ([pass_and_fail()[0], pass_and_fail(reward=0.5)[1]],
     "in 1 task no passing and failing rollout are 1 or more apart in reward (min_reward_margin)"),
    (pass_and_fail(response="a"), "in 1 task every passing and failing rollout that are far enough apart in reward are the same reply"),
])
def test_no_pair_is_an_honest_result_with_a_code_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: list[dict[str, Any]], said: str,
) -> None:
    rollouts, out, report = jsonl(tmp_path / "r.jsonl", rows), tmp_path / "p.jsonl", tmp_path / "x.json"
    command = ["pairs", str(rollouts), "--out", str(out), "--report", str(report)]
    assert run(command) == 3 and not out.exists()
    assert capsys.readouterr().out.startswith(f"No pairs: {said}. Nothing was written to ")
    document = json.loads(report.read_text("utf-8"))
    assert (document["pairs"], document["why_no_pairs"], document["out_sha256"]) == (0, said, None)
    assert document["rows"] == len(rows) == sum(document["rows_unused"].values())


@pytest.mark.parametrize("form", ["jsonl.gz", "parquet", "csv", "json"])
def test_a_holdout_in_every_form_with_columns_of_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    """The same file for both commands. Item 17 by its number, the Chinese prompt by its words, and the third by neither."""

    prompts = {"17": "Другое", "h2": "请取消订单。", "h3": "x"}
    items = [{"id": name, "prompt": prompt, "score": 0.5} for name, prompt in prompts.items()]
    path = tmp_path / f"h.{form}"
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(items), path)
    elif form == "json":
        path.write_text(json.dumps(items), "utf-8")
    elif form == "csv":
        path.write_text("id,prompt,score\n17,Другое,0.5\nh2,请取消订单。,0.5\nh3,x,0.5\n", "utf-8")
    else:
        path.write_bytes(gzip.compress("".join(json.dumps(item) + "\n" for item in items).encode()))
    rows = [*pass_and_fail(task_id=17, prompt="A"), *pass_and_fail(task_id=3, prompt="请取消订单"), *pass_and_fail(task_id=4, prompt="B")]
    rollouts = jsonl(tmp_path / "r.jsonl", rows)
    assert run(["pairs", str(rollouts), "--out", str(tmp_path / "p.jsonl"), "--holdout", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["pairs"], found["eval_sourced"], found["holdout"]["rollouts_held_out"]) == (3, 2, {"items": 4, "grader": 0})
    assert found["holdout"]["items_in_rollouts"] == [
        {"item": 0, "id": "17", "hits": {"same_task": 2}}, {"item": 1, "id": "h2", "hits": {"prompt": 2}},
    ]
    assert "1 locked item is known by a bare number" in " ".join(one["why"] for one in found["holdout"]["skipped"])


def test_what_the_holdout_cannot_be_looked_for_by_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rollouts = jsonl(tmp_path / "r.jsonl", pass_and_fail(task_id="H1"))
    items = jsonl(tmp_path / "h.jsonl", [{"id": "h1", "prompt": "x"}, {"prompt": "y"}])
    command = ["pairs", str(rollouts), "--out", str(tmp_path / "p.jsonl"), "--holdout", str(items)]
    assert run(command) == 0
    printed = capsys.readouterr().out
    assert "Holdout h.jsonl: 0 of 2 items are in 0 rollouts, by task id or prompt." in printed
    assert "Not judged, same task: item h1, as 'H1' at task_id of line 1; rows: 2." in printed
    assert "Not looked for by a task id: row 2: it has no task id and no id." in printed
    # an integer in both files is one id, though the rows of the pairs have its decimal text
    both = jsonl(tmp_path / "i.jsonl", [{"id": 17, "prompt": "x"}])
    numbered = jsonl(tmp_path / "n.jsonl", pass_and_fail(task_id=17))
    assert run(["pairs", str(numbered), "--out", str(tmp_path / "q.jsonl"), "--holdout", str(both), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["eval_sourced"] == 1
    assert run(["pairs", str(numbered), "--out", str(tmp_path / "s.jsonl"), "--holdout", str(both), "--leave-out", "id", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["eval_sourced"] == 0


def test_cells_of_a_csv_are_numbers_where_that_is_declared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.csv"
    path.write_text("task_id,prompt,response,reward,rollout\n007,ask,yes,1.0,0\n007,ask,no,0.0,\n", "utf-8")
    out = tmp_path / "p.jsonl"
    assert run(["pairs", str(path), "--out", str(out)]) == 4
    assert "--option cells=json" in capsys.readouterr().err
    assert run(["pairs", str(path), "--out", str(out), "--option", "cells=json"]) == 0
    (row,) = rows_of(out)
    # an id stays text, leading zeros and all
    assert (row["task_id"], row["chosen"], row["chosen_score"], row["rejected_score"]) == ("007", "yes", 1.0, 0.0)
    flags = tmp_path / "f.csv"
    flags.write_text("task_id,prompt,response,passed\nt,ask,yes,true\nt,ask,no,false\n", "utf-8")
    assert run(["pairs", str(flags), "--out", str(out), "--force", "--option", "cells=json", "--option", "reward=passed"]) == 0


@pytest.mark.parametrize(("arguments", "code", "said"), [
    ([".", "--out", "p.jsonl"], 4, "a folder"), (["-", "--out", "p.jsonl"], 4, "unknown_form"), (["r.jsonl", "--out", ".", "--force"], 4, "a folder"),
    (["r.jsonl", "--out", "h.jsonl", "--force", "--holdout", "h.jsonl"], 2, "files of their own"),
    (["r.jsonl", "--out", "p.jsonl", "--holdout", "."], 4, "a folder"),
    (["r.jsonl", "--out", "p.jsonl", "--holdout", "none.jsonl"], 4, "no such file"),
    (["r.jsonl", "--out", "p.jsonl", "--holdout", "twice.jsonl"], 4, "duplicate_holdout_id"),
])
def test_hostile_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int,
                       said: str) -> None:
    monkeypatch.chdir(tmp_path)
    jsonl(Path("r.jsonl"), pass_and_fail())
    jsonl(Path("h.jsonl"), [{"id": "h", "prompt": "x"}])
    jsonl(Path("twice.jsonl"), [{"id": "h", "prompt": "x"}, {"id": "h", "prompt": "y"}])
    before = sorted(path.name for path in tmp_path.iterdir())
    assert run(["pairs", *arguments]) == code
    assert said in capsys.readouterr().err and sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_device_is_never_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe here: renaming a file over /dev/null would take it from every program of the machine."""
    rollouts, pipe = jsonl(tmp_path / "r.jsonl", pass_and_fail()), tmp_path / "pipe"
    os.mkfifo(pipe)
    assert run(["pairs", str(rollouts), "--out", str(pipe), "--force"]) == 4
    assert "[not_a_file]" in capsys.readouterr().err and pipe.is_fifo()


def test_tasks_that_look_alike_and_rollouts_that_stand_twice_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Case 13: a space and a Unicode form make tasks of their own, with a warning; no row is lost to its twin."""
    names = ["t ", "t", "\u00e9", "e\u0301"]
    rows = [row for name in names for row in pass_and_fail(task_id=name)] + pass_and_fail(task_id="twice", rollout=0) * 2
    rollouts = jsonl(tmp_path / "r.jsonl", rows)
    assert run(["pairs", str(rollouts), "--out", str(tmp_path / "p.jsonl"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["tasks_seen"], found["pairs"], found["rows"], found["repeated_rollouts"]) == (5, 5, 12, 4)
    assert "4 rollouts with the number of another one" in {one["code"]: one["text"] for one in found["warnings"]}["repeated_rollouts"]
    assert "task_id has 2 groups of ids" in {one["code"]: one["text"] for one in found["notes"]}["look_alike_ids"]


def test_one_of_anything_is_said_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One pair of one task, whose fail has no token count; one rollout without a reward; the report on style of the same file."""
    rows = [SMALL[0], {**SMALL[1], "token_count": None}, {**SMALL[2], "reward": None}]
    path = tmp_path / "one.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert run(["pairs", str(path), "--out", str(tmp_path / "out.jsonl")]) == 0
    assert run(["style", str(path)]) == 0
    out = capsys.readouterr().out
    assert "1 pair written to " in out and "1 of 1 pair has no token counts: " in out and "1 rollout cannot be used: no reward" in out
    assert "3 replies to 2 tasks" in out
    assert not re.findall(r"\b1 (?:pairs|tasks|rollouts|replies|rows|texts|items|are|have)\b", out)
