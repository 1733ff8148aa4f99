"""The pairs of least total cost, against trying every choice."""
from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.pairs.assignment import Cells, least_cost_pairs

Matrix = list[list[tuple[int, bool]]]


def matrices(most: int = 4) -> st.SearchStrategy[Matrix]:
    """Small costs, so that equal totals are common; a cell in four may not be used."""
    cell = st.tuples(st.integers(0, 4), st.integers(0, 3).map(bool))
    sides = st.tuples(st.integers(1, most), st.integers(1, most))
    return sides.flatmap(lambda side: st.lists(st.lists(cell, min_size=side[1], max_size=side[1]), min_size=side[0], max_size=side[0]))


def best_by_trying(matrix: Matrix, most: int) -> Cells:
    """Every choice of cells, ordered by the rules as they are written: more pairs, then less cost, then the rows' columns in order."""
    rows, columns = range(len(matrix)), range(len(matrix[0]))
    choices: list[Cells] = [[]]
    for count in range(1, min(most, len(rows), len(columns)) + 1):
        for chosen in combinations(rows, count):
            choices += [list(zip(chosen, taken, strict=True)) for taken in permutations(columns, count)]

    def order(cells: Cells) -> tuple[int, int, list[int]]:
        taken = dict(cells)
        return -len(cells), sum(matrix[i][j][0] for i, j in cells), [taken.get(row, len(columns)) for row in rows]

    return min((cells for cells in choices if all(matrix[i][j][1] for i, j in cells)), key=order)


@given(matrices(), st.integers(1, 5))
def test_as_trying_every_choice(matrix: Matrix, most: int) -> None:
    costs = np.array([[cell[0] for cell in row] for row in matrix], dtype=np.int64)
    allowed = np.array([[cell[1] for cell in row] for row in matrix], dtype=np.bool_)
    assert least_cost_pairs(costs, allowed, most) == best_by_trying(matrix, most)


def test_a_whole_task_of_equal_lengths_goes_in_rank_order() -> None:
    costs, allowed = np.zeros((40, 40), dtype=np.int64), np.ones((40, 40), dtype=np.bool_)
    assert least_cost_pairs(costs, allowed, 40) == [(place, place) for place in range(40)]
    assert least_cost_pairs(costs, allowed, 3) == [(0, 0), (1, 1), (2, 2)]


def test_few_pairs_of_many_replies_are_the_first_in_order() -> None:
    # 300 replies of each kind, 12 lengths apart by 1,000 of which 8 are on both sides: the 20 pairs cost nothing, and the first 20 rows whose
    # length the other side has take its replies in order, a length at a time
    passed, failed = np.arange(300) % 12 * 1000, (np.arange(300) % 12 + 4) * 1000
    costs = np.abs(passed[:, None] - failed[None, :])
    expected = []
    used: set[int] = set()
    for row in range(300):
        column = next((place for place in range(300) if failed[place] == passed[row] and place not in used), None)
        if column is not None and len(expected) < 20:
            used.add(column)
            expected.append((row, column))
    assert least_cost_pairs(costs, np.ones((300, 300), dtype=np.bool_), 20) == expected


@pytest.mark.parametrize("most", [1, 2])
def test_long_replies_stay_exact(most: int) -> None:
    # differences of ten million characters that differ by one: 2^53 is far away
    costs = np.array([[10_000_001, 10_000_000], [10_000_000, 10_000_000]], dtype=np.int64)
    assert least_cost_pairs(costs, np.ones((2, 2), dtype=np.bool_), most) == ([(0, 1)] if most == 1 else [(0, 1), (1, 0)])


def test_nothing_that_may_be_used() -> None:
    assert least_cost_pairs(np.zeros((2, 3), dtype=np.int64), np.zeros((2, 3), dtype=np.bool_), 2) == []
