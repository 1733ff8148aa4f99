"""Sign-off: what is said of a round's rollouts before anybody decides."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from support_desk import BUNDLE
from support_rounds import folder_of, round_of, tables_of, write_json
from support_sheets import sheets
from support_sign_off import make_desk, read, room_of
from support_signing import NOW

from core.rounds.ingest import ingest
from dashboard import leakage_loaders


def opened(place: Path, monkeypatch: pytest.MonkeyPatch, rollouts: list[dict[str, Any]] | None, graders: list[str] | None = None) -> AppTest:
    """The worked example with rollouts beside it, proposed, on the sign-off page; two of its pairs are admitted."""
    desk = make_desk(place / "desk")
    document = json.loads(BUNDLE.read_bytes())
    tables, about = tables_of(document), round_of(document) | ({"pairing": {"holdout_graders": graders}} if graders else {})
    holdout = tables.pop("holdout")
    folder = folder_of(place / "input", tables | ({} if rollouts is None else {"rollouts": rollouts}), about=about)
    write_json(folder, "holdout", holdout)
    source = desk.workspace.round(ingest(folder, desk.workspace, now=NOW).digest)
    desk.propose(source)
    assert desk.assess(source).document["reason_table"]["admitted"] == 2
    return room_of(desk, place, monkeypatch).open(source)


def rollouts_of_pairs(*ids: str, grader: str = "unit-tests") -> list[dict[str, Any]]:
    """A pass and a fail for each named pair of the worked example: its two answers to its prompt."""
    pairs = {row["pair_id"]: row for row in tables_of(json.loads(BUNDLE.read_bytes()))["pairs"]}
    return [
        {"task_id": name, "rollout": at, "prompt": pairs[name]["prompt"], "response": pairs[name][side], "reward": 1 - at, "token_count": 5,
         "judge_id": grader}
        for name in ids for at, side in enumerate(("chosen", "rejected"))
    ]


def test_admitted_pairs_with_a_reward_of_the_holdout_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = opened(tmp_path, monkeypatch, rollouts_of_pairs("pair-rpo-clean-1", grader="gold"), ["gold"])
    said = read(at, "warning-eval-sourced")
    assert "1 admitted pair has a reward of the holdout." in said and "no check of this grid stops that" in said and "See leaks and style" in said
    # the other admitted pair has no rollout at all
    assert "1 admitted pair is not what the pairing rule makes of the rollouts." in read(at, "warning-rollouts")


def test_nothing_is_said_of_a_round_without_rollouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = opened(tmp_path, monkeypatch, None)
    assert not {"warning-rollouts", "warning-eval-sourced"} & set(sheets(at))


def test_that_nobody_has_looked_is_said_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leakage_loaders, "_ROLLOUTS_AT_ONCE", 0)
    at = opened(tmp_path, monkeypatch, rollouts_of_pairs("pair-rpo-clean-1"))
    assert "Nobody has paired this round's rollouts yet." in read(at, "warning-rollouts")
