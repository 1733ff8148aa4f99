"""The duplicate step: best pair of a group survives, whatever the order; and the parallel form gives the same set."""
from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from core.grid import DEDUP_KEYS
from core.pairs.dedup import ranking, resolve
from core.pairs.settle import CANDIDATES

PROMPT, SKELETON, JOINT = DEDUP_KEYS


def candidates(*rows: tuple[str, int, str, str, str]) -> pa.Table:
    """Rows (pair_id, loss steps, prompt key, skeleton key, joint key)."""
    return pa.Table.from_pylist([
        {
            "pair_id": pair_id, "loss_quanta": loss if loss < 2**63 else None, "loss_quanta_text": None if loss < 2**63 else str(loss),
            PROMPT: prompt, SKELETON: skeleton, JOINT: joint,
        }
        for pair_id, loss, prompt, skeleton, joint in rows
    ], schema=CANDIDATES)


def outcome(table: pa.Table, enforced: tuple[str, ...] = DEDUP_KEYS) -> tuple[list[str], dict[str, dict[str, str]]]:
    """(admitted ids in rank order, duplicate id -> key -> id of the admitted holder)."""
    ids, found = table["pair_id"].to_pylist(), resolve(table, enforced)
    duplicates: dict[str, dict[str, str]] = {}
    for key, holders in found.holder.items():
        for row, holder in enumerate(holders.tolist()):
            if holder >= 0:
                duplicates.setdefault(ids[row], {})[key] = ids[holder]
    return [ids[row] for row in found.admitted], duplicates


def test_the_lowest_loss_of_a_group_survives_and_ties_go_to_the_smaller_id() -> None:
    table = candidates(("b", 5, "p1", "s1", "j1"), ("a", 5, "p1", "s2", "j2"), ("c", 4, "p2", "s2", "j3"), ("d", 9, "p3", "s3", "j4"))
    # c (4) is first and claims p2, s2, j3; a (5, before b) shares s2 with it; b shares p1 with a only, and a claims nothing
    assert outcome(table) == (["c", "b", "d"], {"a": {SKELETON: "c"}})


def test_each_key_that_matches_is_recorded_with_its_own_holder() -> None:
    table = candidates(("x", 1, "p1", "s1", "j1"), ("y", 2, "p2", "s2", "j2"), ("z", 3, "p1", "s2", "j3"), ("w", 4, "p1", "s1", "j1"))
    assert outcome(table) == (["x", "y"], {"z": {PROMPT: "x", SKELETON: "y"}, "w": dict.fromkeys(DEDUP_KEYS, "x")})


def test_a_key_that_is_not_enforced_neither_rejects_nor_is_recorded() -> None:
    table = candidates(("x", 1, "p1", "s1", "j1"), ("y", 2, "p1", "s2", "j2"), ("z", 3, "p2", "s1", "j3"))
    assert outcome(table, (SKELETON, JOINT)) == (["x", "y"], {"z": {SKELETON: "x"}})
    assert outcome(table, (PROMPT,)) == (["x", "z"], {"y": {PROMPT: "x"}})


def test_ids_are_ranked_by_their_bytes_and_losses_as_integers_of_any_size() -> None:
    # UTF-8 order is code point order: U+FF21 before U+1F600, though its UTF-16 begins higher; "Z" before "a"; "10" before "9"
    ids = ["10", "9", "Z", "a", "\u00e9", "\uff21", "\U0001f600"]
    rows = [(name, 7, name, name, name) for name in ids]
    wide = [("w2", 10**30, "w2", "w2", "w2"), ("w1", 10**30, "w1", "w1", "w1"), ("w3", 9 * 10**29, "w3", "w3", "w3"), ("v", 2**63 - 1, "v", "v", "v")]
    rows += wide
    random.Random(3).shuffle(rows)
    table = candidates(*rows)
    assert [table["pair_id"][row].as_py() for row in ranking(table)] == [*ids, "v", "w3", "w1", "w2"]


def test_no_candidates() -> None:
    assert outcome(CANDIDATES.empty_table()) == ([], {})


def plain_walk(rows: list[dict[str, Any]]) -> list[str]:
    """The rule as it is written: walk the ranking, admit unless a key is claimed."""
    claimed: set[tuple[str, str]] = set()
    admitted = []
    for row in sorted(rows, key=lambda row: (row["loss_quanta"], row["pair_id"].encode())):
        keys = {(key, row[key]) for key in DEDUP_KEYS}
        if not keys & claimed:
            claimed |= keys
            admitted.append(row["pair_id"])
    return admitted


def in_rounds(rows: list[dict[str, Any]]) -> set[str]:
    """The parallel form: admit what ranks first in all of its groups, reject its neighbours, repeat."""
    left, admitted = list(rows), set()
    while left:
        def rank(row: dict[str, Any]) -> tuple[int, bytes]:
            return row["loss_quanta"], row["pair_id"].encode()

        best = {(key, row[key]): row for key in DEDUP_KEYS for row in sorted(left, key=rank, reverse=True)}
        first = [row for row in left if all(best[key, row[key]] is row for key in DEDUP_KEYS)]
        taken = {(key, row[key]) for row in first for key in DEDUP_KEYS}
        admitted |= {row["pair_id"] for row in first}
        left = [row for row in left if not any((key, row[key]) in taken for key in DEDUP_KEYS)]
    return admitted


ROW = st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 5), st.integers(0, 8))


@settings(max_examples=120)
@given(st.lists(ROW, max_size=14), st.randoms(use_true_random=False))
def test_three_ways_to_the_same_set_in_any_order(found: list[tuple[int, int, int, int]], order: random.Random) -> None:
    rows = [(f"id{place}", loss, f"p{p}", f"s{s}", f"j{j}") for place, (loss, p, s, j) in enumerate(found)]
    table = candidates(*rows)
    admitted, duplicates = outcome(table)
    assert admitted == plain_walk(table.to_pylist())
    assert set(admitted) == in_rounds(table.to_pylist())
    assert set(duplicates) == {row[0] for row in rows} - set(admitted)
    order.shuffle(rows)
    assert outcome(candidates(*rows)) == (admitted, duplicates)
