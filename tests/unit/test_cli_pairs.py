"""``countersign pairs`` on real rollouts and on small ones: what is written, what is said, and that a round of it ingests."""
from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

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
    assert lines[0].startswith("1 pairs written to ") and [line.split()[-1] for line in lines[2:5]] == ["2", "1", "3"]
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
    assert "warning [eval_sourced] 1 of 1 pairs" in capsys.readouterr().out
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
    (["small.jsonl", "--out", "p.jsonl", "--holdout", "h.txt"], 2),
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
