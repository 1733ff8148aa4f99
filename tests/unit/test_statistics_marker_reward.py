"""The correlation of a marker with the reward: against numpy, statsmodels, and every exchange tried."""
from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr
from statsmodels.stats.contingency_tables import StratifiedTable

from core.errors import RoundError
from core.statistics import marker_reward
from core.statistics.marker_reward import exchange_test, marker_correlation, pair_correlation

HALVES = st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1), Fraction(7, 10)])
REPLIES = st.lists(st.tuples(st.booleans(), HALVES, st.integers(0, 2)), min_size=1, max_size=6)
BINARY = (Fraction(0), Fraction(1))


@given(st.lists(st.tuples(st.booleans(), HALVES), min_size=2, max_size=30))
def test_the_value_is_pearson_s(rows: list[tuple[bool, Fraction]]) -> None:
    marks, rewards = [mark for mark, _ in rows], [reward for _, reward in rows]
    found = marker_correlation(marks, rewards, list(range(len(rows))))
    if len(set(marks)) == 1 or len(set(rewards)) == 1:
        assert found.value is None and found.undefined and found.interval.lower is None and not found.at_least(Fraction(0))
        return
    assert found.value is not None and found.squared is not None
    assert math.isclose(found.value, pearsonr(marks, [float(reward) for reward in rewards]).statistic, abs_tol=1e-12)
    assert math.isclose(math.sqrt(found.squared), abs(found.value), abs_tol=1e-12)
    assert found.at_least(Fraction(0))
    if found.interval.lower is not None and found.interval.upper is not None:
        assert found.interval.lower < found.value < found.interval.upper


def test_a_bound_is_met_exactly() -> None:
    # 10 marked of 20, 13 passes: 8 marked and 5 others pass would give phi = (8*5 - 2*5) / sqrt(10*10*13*7) = 30/95.39; with 13 of 20
    # and 6.5 a side no round number; 8 and 2 of 10 each: phi = (8*8 - 2*2) / (10*10) = 3/5 exactly
    marks = [True] * 10 + [False] * 10
    rewards = [Fraction(1)] * 8 + [Fraction(0)] * 2 + [Fraction(1)] * 2 + [Fraction(0)] * 8
    found = marker_correlation(marks, rewards, list(range(20)))
    assert found.squared == Fraction(9, 25) and found.at_least(Fraction(3, 5)) and not found.at_least(Fraction(6001, 10000))


def test_an_interval_by_hand() -> None:
    # each reply its own task; 4 marked and rewarded, 2 marked and not, 2 rewarded and not marked, 4 neither: n 12, phi = (16 - 4)/36 = 1/3.
    # u, v = +-1 (both shares one half): influence u v - r (u^2 + v^2)/2 = +-1 - 1/3 = 2/3 for 8 replies, -4/3 for 4; squares 32/9 + 64/9 = 32/3;
    # variance 12/11 * (32/3) / 144 = 8/99; on z divided by (1 - 1/9)^2 = 64/81: 8/99 * 81/64 = 9/88; 1/(n-3) = 1/9 is larger
    marks = [True] * 6 + [False] * 6
    rewards = [Fraction(value) for value in (1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0)]
    found = marker_correlation(marks, rewards, list(range(12)))
    reach = 2.2009851600916384 / 3          # t, 97.5 %, 11 degrees of freedom; standard error 1/3
    assert found.squared == Fraction(1, 9) and found.clusters == 12
    assert float(found.interval.lower or 0) == pytest.approx(math.tanh(math.atanh(1 / 3) - reach), abs=1e-12)
    assert float(found.interval.upper or 0) == pytest.approx(math.tanh(math.atanh(1 / 3) + reach), abs=1e-12)
    # the same replies in 4 tasks of 3 that each hold equal ones: sums of influence 2 (three rewarded and marked), ...
    tasks = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    # influences in order: 2/3 x4, -4/3 x2, -4/3 x2, 2/3 x4; by task: 2, 2/3 - 8/3 = -2, -8/3 + 2/3 = -2, 2; squares 16;
    # variance 4/3 * 16/144 = 4/27; on z 4/27 * 81/64 = 3/16, more than 1/9
    grouped = marker_correlation(marks, rewards, tasks)
    wide = 3.182446305284263 * math.sqrt(3 / 16)       # t with 3 degrees of freedom
    assert grouped.squared == found.squared and grouped.clusters == 4
    assert float(grouped.interval.upper or 0) == pytest.approx(math.tanh(math.atanh(1 / 3) + wide), abs=1e-12)


def test_saying_everything_again_does_not_make_it_surer() -> None:
    marks, rewards, tasks = [True, False, True, False, False], [Fraction(1), Fraction(0), Fraction(0), Fraction(0), Fraction(1)], [0, 1, 2, 3, 4]
    many = marker_correlation(marks * 50, rewards * 50, tasks * 50)
    more = marker_correlation(marks * 100, rewards * 100, tasks * 100)
    assert many.squared == more.squared and many.interval.method == more.interval.method
    assert many.interval.lower == pytest.approx(more.interval.lower, rel=1e-9) and many.interval.upper == pytest.approx(more.interval.upper, rel=1e-9)


def test_one_task_counts_its_replies_and_a_perfect_one_has_no_interval() -> None:
    marks, rewards = [True, True, False, False], [Fraction(1), Fraction(1), Fraction(0), Fraction(0)]
    found = marker_correlation(marks, rewards, [7, 7, 7, 7])
    assert (found.value, found.clusters, found.interval.lower) == (1.0, 4, None)
    assert marker_correlation(marks[1:], rewards[1:], [0, 1, 2]).interval.undefined is not None


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5), st.integers(0, 5))
def test_pairs_are_sides_with_rewards_1_and_0(both: int, one: int, other: int, neither: int) -> None:
    kinds = [(True, True)] * both + [(True, False)] * one + [(False, True)] * other + [(False, False)] * neither
    found = pair_correlation(both=both, chosen_only=one, rejected_only=other, neither=neither)
    marks, rewards = [side for kind in kinds for side in kind], [Fraction(1), Fraction(0)] * len(kinds)
    expected = marker_correlation(marks, rewards, [place for place in range(len(kinds)) for _ in range(2)])
    if len(kinds) > 1:
        assert (found.n, found.marked, found.squared, found.sign, found.clusters) == (
            expected.n, expected.marked, expected.squared, expected.sign, expected.clusters,
        )
        assert found.interval.lower == pytest.approx(expected.interval.lower, abs=1e-12)


def every_exchange(rows: list[tuple[bool, Fraction, int]]) -> Fraction:
    """All orders of the rewards inside each task, and how many are as far from the mean of them all."""
    tasks = sorted({task for _, _, task in rows})
    sums = []
    for orders in product(*(permutations([reward for _, reward, task in rows if task == wanted]) for wanted in tasks)):
        given = [list(order) for order in orders]
        sums.append(sum((given[tasks.index(task)].pop(0) if mark else given[tasks.index(task)].pop(0) * 0 for mark, _, task in rows), Fraction(0)))
    mean = sum(sums, Fraction(0)) / len(sums)
    seen = sum((reward for mark, reward, _ in rows if mark), Fraction(0))
    return Fraction(sum(abs(value - mean) >= abs(seen - mean) for value in sums), len(sums))


@given(REPLIES)
def test_as_every_exchange_tried(rows: list[tuple[bool, Fraction, int]]) -> None:
    found = exchange_test([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])
    assert found.exact == every_exchange(rows)


def test_what_differs_between_tasks_only_is_no_evidence() -> None:
    # every reply of the tasks that pass has the marker, none of the others: r = 1 over all, and inside tasks nothing to exchange
    marks, rewards, tasks = [True] * 3 + [False] * 3, [Fraction(1)] * 3 + [Fraction(0)] * 3, [0, 0, 0, 1, 1, 1]
    assert marker_correlation(marks, rewards, tasks).value == 1.0 and exchange_test(marks, rewards, tasks).exact == 1


def test_many_replies_are_cochran_mantel_haenszel(monkeypatch: pytest.MonkeyPatch) -> None:
    # 60 tasks of 8 replies from a fixed linear congruence; statsmodels' test without continuity correction is the normal form
    state, rows = 1, []
    for task in range(60):
        for _ in range(8):
            state = (1103515245 * state + 12345) % 2**31
            mark = state >> 16 & 3 == 0
            state = (1103515245 * state + 12345) % 2**31
            rows.append((mark, Fraction(int((state >> 16 & 7) < 3 + 2 * mark)), task))
    counts = Counter(rows)
    tables = [
        np.array([[counts[mark, reward, task] for reward in BINARY[::-1]] for mark in (True, False)]) for task in range(60)
    ]
    columns = [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]
    exact = exchange_test(*columns)
    monkeypatch.setattr(marker_reward, "_REPLIES", 10)
    normal = exchange_test(*columns)
    expected = float(StratifiedTable(tables).test_null_odds(correction=False).pvalue)
    assert normal.exact is None and normal.value == pytest.approx(expected, rel=1e-9)
    assert exact.exact is not None and exact.value == pytest.approx(normal.value, rel=0.1)


def test_too_many_different_sums_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(place % 2 == 0, Fraction(1, place + 2), 0) for place in range(16)]
    columns = [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]
    assert exchange_test(*columns).exact is not None
    monkeypatch.setattr(marker_reward, "_CELLS", 500)
    assert exchange_test(*columns).exact is None


def test_columns_of_different_lengths_are_refused() -> None:
    for call in (marker_correlation, exchange_test):
        with pytest.raises(RoundError) as refused:
            call([True], [Fraction(1), Fraction(0)], [0])
        assert refused.value.code == "lengths_differ"
