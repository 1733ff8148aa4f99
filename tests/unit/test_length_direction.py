"""Pairs whose chosen reply is too often the longer one, or the shorter: the exact sign test at the grid's level, on every surface."""
from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support_rollouts import compared_round
from support_strength import FIRST_GRID, grid_with

from core.cli.main import run
from core.gates import rollout_words
from core.gates.length_direction import NO_DIFFERENCE, NO_LEVEL, LengthDirection
from core.gates.rollout_report import rollouts_of
from core.grid import default_grid
from core.pairs.pairing_report import LengthFigures
from core.rounds.workspace import Workspace


def direction(longer: int, shorter: int, equal: int = 0, grid: Any = None) -> LengthDirection:
    figures = LengthFigures.of([3] * longer + [-2] * shorter + [0] * equal)
    return LengthDirection.of(figures, grid or default_grid())


@pytest.mark.parametrize(("longer", "shorter", "p", "leans"), [
    (8, 1, Fraction(20, 512), True),        # 2 (1 + 9) / 2^9
    (7, 2, Fraction(92, 512), False),       # 2 (1 + 9 + 36) / 2^9; the peer warns here, at 7 of 9
    (6, 2, Fraction(74, 256), False),       # 2 (1 + 8 + 28) / 2^8: three quarters of eight, the peer's bound, is what a coin does
    (6, 0, Fraction(2, 64), True),
    (5, 0, Fraction(2, 32), False),         # five can never reach .05
    (0, 6, Fraction(2, 64), True),
    (1, 8, Fraction(20, 512), True),
    (60, 40, None, False),                  # p = .0569
    (61, 39, None, True),                   # p = .0352: less than two thirds of a hundred is no coin
])
def test_it_warns_where_a_coin_would_hardly_do_it(longer: int, shorter: int, p: Fraction | None, leans: bool) -> None:
    found = direction(longer, shorter, 3)
    assert (found.test.n, found.equal, found.leans) == (longer + shorter, 3, leans)
    assert p is None or found.test.p.exact == p
    assert (found.warning is not None) is leans


def test_the_warning_names_share_n_and_p() -> None:
    code, text = direction(8, 1, 1).warning or ("", "")
    assert code == "length_direction" and text.startswith(
        "in 8 of the 9 pairs whose replies differ in length the chosen one is the longer (88.89 %, exact sign test p = .0391, at most .05; "
        "1 of equal length left out): a trainer learns to write longer replies as well."
    )
    assert "the chosen one is the shorter (100 %" in str(direction(0, 6).warning)


def test_the_level_is_the_grids() -> None:
    # .0391 is at most 1 - .95, not at most 1 - .99
    strict = grid_with(evidence_confidence="0.99")
    assert direction(8, 1, grid=strict).leans is False and direction(8, 1, grid=strict).alpha == Fraction(1, 100)
    # p of exactly the level reaches it: 2/64 = 1 - .96875
    assert direction(6, 0, grid=grid_with(evidence_confidence="0.96875")).leans is True


def test_without_a_level_nothing_is_concluded() -> None:
    found = direction(8, 1, grid=FIRST_GRID)
    assert (found.leans, found.warning, found.undefined) == (None, None, NO_LEVEL)
    assert found.as_dict()["p"]["exact"] == "5/128" and found.as_dict()["leans"] is None and NO_LEVEL in found.words


def test_without_a_difference_there_is_no_test() -> None:
    found = direction(0, 0, 4)
    assert (found.leans, found.warning, found.undefined, found.as_dict()["p"]) == (None, None, NO_DIFFERENCE, None)
    assert found.words == f"undefined: {NO_DIFFERENCE}"


def rollouts_at(place: Path, tasks: int) -> Path:
    """One pass of six characters and one fail of two, a task."""
    rows = [
        {"task_id": f"t{task}", "rollout": run_, "prompt": f"Question {task}?", "response": text, "reward": reward, "token_count": 1}
        for task in range(tasks) for run_, (text, reward) in enumerate((("longer", 1), ("no", 0)))
    ]
    path = place / "rollouts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.mark.parametrize(("tasks", "warned"), [(5, False), (6, True)])
def test_pairs_says_it_in_text_and_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str], tasks: int, warned: bool) -> None:
    source, out, report = rollouts_at(tmp_path, tasks), tmp_path / "pairs.jsonl", tmp_path / "report.json"
    assert run(["pairs", str(source), "--out", str(out), "--report", str(report)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert ("warning [length_direction]" in printed) is warned and f"{tasks} against 0, sign test p = " in printed
    document = json.loads(report.read_text("utf-8"))
    assert [one["code"] for one in document["warnings"]] == ["length_direction"] * warned
    assert document["length"]["direction"] == {
        "test": "exact two-sided sign test, chosen longer against rejected longer", "n": tasks, "equal": 0, "alpha": ".05", "undefined": None,
        "p": {"value": 2 / 2**tasks, "exact": f"1/{2 ** (tasks - 1)}", "method": "counted exactly"}, "leans": warned,
        # 2/64 = .03125: half to even
        "words": f"{tasks} against 0, sign test p = {'.0312' if warned else '.0625'}, 0 of equal length",
    }


def test_the_report_of_a_round_says_it_too(tmp_path: Path) -> None:
    """Eight chosen replies are longer, one is shorter and one as long (test_rollout_report): p = 20/512."""
    source = compared_round(tmp_path)
    document = rollouts_of(Workspace(source.path.parents[1]), source, default_grid()).document
    assert document["length"]["direction"]["p"]["exact"] == "5/128" and "length_direction" in {one["code"] for one in document["warnings"]}
    assert dict(rollout_words.figures(document))["longer either way"] == "8 against 1, sign test p = .0391, 1 of equal length"
