"""Which passes go with which fails: the pairs whose lengths differ least in all.

Given a cost matrix (rows and columns in rank order) and the cells that may be used, the pairs chosen are, in this order:

1. as many as possible, up to ``most``, each row and each column at most once;
2. among those, with the least total cost;
3. among those, the first in rank order: row 0 has the smallest column it can have (a column stands before "none"), then row 1, ...

Rule 3 makes the answer a function of the matrix alone, whatever the solver prefers among equal totals. It needs no
second cost: an assignment is optimal exactly when all its cells are *tight* (their cost equals the sum of their row's and
column's dual values), so the search for the first one walks tight cells only, in integers.
"""
from __future__ import annotations

import numpy as np
import numpy.typing as npt

from core.pairs.columns import Flags

Costs = npt.NDArray[np.int64]
Cells = list[tuple[int, int]]


def least_cost_pairs(costs: Costs, allowed: Flags, most: int) -> Cells:
    """(row, column) of the chosen cells, in row order.

    ``costs``: integers >= 0, shape rows x columns, totals below 2^53; ``allowed``: same shape; ``most``: at least 1.
    Source of the solver: Crouse 2016, IEEE TAES 52:1679-1696 (``scipy.optimize.linear_sum_assignment``).
    """
    if not allowed.any():
        return []
    if most == 1:
        return [_cheapest(costs, allowed)]
    count = min(most, _largest_matching(allowed))
    square, legal = _padded(costs, allowed, count)
    partner = _assigned(square, legal)
    first = _first_in_order(_tight(square, legal, partner), partner, len(costs))
    return [(row, int(column)) for row, column in enumerate(first[:len(costs)]) if column < costs.shape[1]]


def _cheapest(costs: Costs, allowed: Flags) -> tuple[int, int]:
    """The cheapest allowed cell; of several the first in row-major order, as ``argmin`` has it."""
    flat = int(np.where(allowed, costs, np.iinfo(np.int64).max).argmin())
    return flat // costs.shape[1], flat % costs.shape[1]


def _largest_matching(allowed: Flags) -> int:
    from scipy.sparse import csr_array  # late: a third of a second that --help does not need
    from scipy.sparse.csgraph import maximum_bipartite_matching

    return int((maximum_bipartite_matching(csr_array(allowed), perm_type="column") >= 0).sum())


def _padded(costs: Costs, allowed: Flags, count: int) -> tuple[Costs, Flags]:
    """A square matrix whose perfect assignments are the assignments of ``count`` cells: every row but ``count`` takes one of
    the columns added at the right, every column but ``count`` one of the rows added below, at no cost."""
    rows, columns = costs.shape
    side = rows + columns - count
    square, legal = np.zeros((side, side), dtype=np.int64), np.ones((side, side), dtype=np.bool_)
    square[:rows, :columns], legal[:rows, :columns] = costs, allowed
    legal[rows:, columns:] = False
    return square, legal


def _assigned(square: Costs, legal: Flags) -> Costs:
    """The column of each row in some optimal perfect assignment."""
    from scipy.optimize import linear_sum_assignment

    _, columns = linear_sum_assignment(np.where(legal, square.astype(np.float64), np.inf))
    return np.asarray(columns, dtype=np.int64)


def _tight(square: Costs, legal: Flags, partner: Costs) -> Flags:
    """Cells that some optimal assignment may use.

    Column duals v with v[j] <= v[partner[i]] + square[i, j] - square[i, partner[i]] are shortest paths; they exist because
    ``partner`` is optimal (no cycle is negative). A cell is tight where equality holds.
    """
    rows = np.arange(len(square))
    far = int(square.max()) * len(square) * len(square) + 1
    steps = np.where(legal, square - square[rows, partner][:, None], far)
    duals = np.zeros(len(square), dtype=np.int64)
    while True:
        reached = (duals[partner][:, None] + steps).min(axis=0)
        if (reached >= duals).all():
            break
        duals = np.minimum(duals, reached)
    return np.asarray(legal & (duals[partner][:, None] + steps == duals[None, :]))


def _first_in_order(tight: Flags, partner: Costs, real_rows: int) -> Costs:
    """The perfect assignment of tight cells that gives row 0 its smallest column, then row 1, and so on."""
    of_row, of_column = partner.tolist(), np.argsort(partner).tolist()
    unsettled = np.ones(len(tight), dtype=np.bool_)
    for row in range(real_rows):
        unvisited = unsettled.copy()
        for column in np.flatnonzero(tight[row]).tolist():
            if column == of_row[row] or (unvisited[column] and _moved(row, column, tight, of_row, of_column, unvisited)):
                break
        # a row that is settled keeps its column: no later path may pass through it
        unsettled[of_row[row]] = False
    return np.array(of_row, dtype=np.int64)


def _moved(row: int, column: int, tight: Flags, of_row: list[int], of_column: list[int], unvisited: Flags) -> bool:
    """Give ``row`` that column if its holder can be moved along tight cells to the column that ``row`` leaves free. A column that was
    visited in vain leads there from nowhere, so it is not visited again for this row."""
    free, came_from = of_row[row], {column: (row, -1)}
    unvisited[column] = False
    queue = [column]
    for reached in queue:
        holder = of_column[reached]
        others = np.flatnonzero(tight[holder] & unvisited)
        unvisited[others] = False
        queue += others.tolist()
        came_from.update(dict.fromkeys(others.tolist(), (holder, reached)))
        if free in came_from:
            _rewire(free, came_from, of_row, of_column)
            return True
    return False


def _rewire(last: int, came_from: dict[int, tuple[int, int]], of_row: list[int], of_column: list[int]) -> None:
    column = last
    while column >= 0:
        holder, before = came_from[column]
        of_row[holder], of_column[column] = column, holder
        column = before
