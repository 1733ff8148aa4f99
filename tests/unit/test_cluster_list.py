"""Clusters beside what became of their pairs, and how alike two of their texts are."""
from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support_leakage import COLLAPSED, chat, stored
from support_rounds import pair, workspace_at

from core.errors import RoundError
from core.gates import cluster_list
from core.gates.assessment import load_or_assess
from core.gates.cluster_list import ClusterList, similarity
from core.gates.near_duplicates import near_duplicates_of, stored_near_duplicates
from core.grid import default_grid
from core.schemas import CLUSTERS

GRID = default_grid()
LONG = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu"


def rows() -> list[dict[str, Any]]:
    """Cluster 1: three texts, two admitted; cluster 2: two texts, one held and one rejected; one text alone."""
    return [
        pair(pair_id="alone", prompt="Name a colour that nobody wears.", chosen="Red."),
        pair(pair_id="c", prompt=f"{LONG} nu", chosen="C; c."), pair(pair_id="d", prompt=f"{LONG} xi", chosen="D: d."),
        pair(pair_id="e", prompt=f"{LONG} NU!", chosen="E\ne.", **COLLAPSED),
        pair(pair_id="s", prompt="Which sea is it?", chosen="The North!", origin="synthetic", judge_id="nobody"),
        pair(pair_id="t", prompt="Which sea is it?", chosen="- The Baltic", **COLLAPSED),
    ]


def made(place: Path, listed: list[dict[str, Any]] | None = None) -> ClusterList:
    workspace = workspace_at(place)
    source = stored(workspace, place, "alike", rows() if listed is None else listed)
    assert stored_near_duplicates(workspace, source, GRID) is None
    report = near_duplicates_of(workspace, source, GRID)
    assert stored_near_duplicates(workspace, source, GRID) == report and stored_near_duplicates(workspace, source, GRID, "chosen") is None
    return ClusterList(report.clusters_path, load_or_assess(workspace, source, GRID).scored_path)


def test_clusters_are_counted_by_what_became_of_their_pairs(tmp_path: Path) -> None:
    found = made(tmp_path)
    assert (found.total, found.trained_together) == (2, 1) and found.pairs == {"admitted": 2, "held": 1, "rejected": 2}
    assert found.page(1) == [
        {"cluster": 0, "size": 3, "admitted": 2, "held": 0, "rejected": 1}, {"cluster": 1, "size": 2, "admitted": 0, "held": 1, "rejected": 1},
    ]
    assert [(one["pair_id"], one["state"]) for one in found.members(0)] == [("c", "admitted"), ("d", "admitted"), ("e", "rejected")]
    assert [(one["pair_id"], one["state"], one["ordinal"]) for one in found.members(1)] == [("s", "held", 4), ("t", "rejected", 5)]
    assert found.members(2) == found.members(-1) == [] and (found.size(0), found.size(1)) == (3, 2)


def test_pages_and_members_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = made(tmp_path)
    monkeypatch.setattr(cluster_list, "PAGE_ROWS", 1)
    monkeypatch.setattr(cluster_list, "_MEMBERS", 2)
    assert [[row["cluster"] for row in found.page(page)] for page in (1, 2, 3)] == [[0], [1], []]
    assert [one["pair_id"] for one in found.members(0)] == ["c", "d"]


def test_the_order_of_the_file_does_not_matter(tmp_path: Path) -> None:
    pq.write_table(pa.table({"ordinal": [4, 1, 3, 0], "pair_id": ["4", "1", "3", "0"], "cluster": [1, 0, 1, 0]}, schema=CLUSTERS), tmp_path / "c")
    pq.write_table(pa.table({"ordinal": range(5), "state": ["rejected", "admitted", "held", "held", "held"]}), tmp_path / "s")
    found = ClusterList(tmp_path / "c", tmp_path / "s")
    assert [[(one["pair_id"], one["state"]) for one in found.members(at)] for at in (0, 1)] == [
        [("1", "admitted"), ("0", "rejected")], [("4", "held"), ("3", "held")],
    ]


def test_a_round_without_near_duplicates_has_no_cluster(tmp_path: Path) -> None:
    found = made(tmp_path, rows()[:1])
    assert (found.total, found.trained_together, found.page(1)) == (0, 0, []) and set(found.pairs.values()) == {0}


def test_similarity_is_that_of_the_texts_without_their_system_turns() -> None:
    def text(value: str, system: str | None = None) -> dict[str, Any]:
        turns = None if system is None else json.dumps(chat(("system", system), ("user", value)))
        return {"prompt": value if system is None else f"system\n{system}\nuser\n{value}\n", "prompt_messages": turns}

    # 13 words, 11 shingles of 3, the last one differs: 10 shared of 12
    assert similarity(text(f"{LONG} nu"), text(f"{LONG} xi"), "prompt", GRID) == Fraction(10, 12)
    assert similarity(text(f"{LONG} nu", "Be kind to everybody."), text(f"{LONG} nu"), "prompt", GRID) == 1
    with pytest.raises(RoundError, match="empty_text"):
        similarity(text("!"), text(LONG), "prompt", GRID)
