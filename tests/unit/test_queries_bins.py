"""Bins and histograms: figures on a bound fall on the side the rule gives them, and every chart adds up."""
from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support_scored import write_scored

from core.grid import default_grid
from core.rounds.queries import RoundQueries
from core.rounds.query_bins import MEASURES, BinPlan, BinRange, bounds_of, plan_bins, range_between

BOUNDS = {"margin": 0.0, "ratio": 1.8, "drift": -0.1, "loss": None}
MEASURE = {measure.name: measure for measure in MEASURES}


def spread(**given_: tuple[float, float]) -> dict[str, float | int | None]:
    row: dict[str, float | int | None] = {}
    for name in MEASURE:
        low, high = given_.get(name, (None, None))
        row |= {f"n_{name}": 0 if low is None else 10, f"low_{name}": low, f"high_{name}": high, f"min_{name}": low, f"max_{name}": high}
    return row


def test_bounds_are_those_of_the_grid() -> None:
    assert bounds_of(default_grid()) == {"margin": 0.0, "ratio": 1.8, "drift": -0.1, "loss": None}


def test_bins_are_numbered_from_the_bound_with_round_steps() -> None:
    # margins -2 to 6: span 8 over at most 40 bins: step 0.2
    plan = plan_bins(spread(margin=(-2.0, 6.0)), BOUNDS)["margin"]
    assert (plan.anchor, plan.step) == (0.0, 0.2)
    assert plan.edge(plan.first) < -2.0 and math.isclose(plan.edge(plan.last + 1), 6.0)
    assert plan.lines() == [0.0]


def test_both_bounds_of_the_length_ratio_are_edges() -> None:
    plan = plan_bins(spread(ratio=(-3.0, 3.0)), BOUNDS)["ratio"]
    assert plan.lines() == [-math.log2(1.8), math.log2(1.8)]
    parts = round((math.log2(1.8) - plan.anchor) / plan.step)
    assert plan.edge(parts + 1) == math.log2(1.8) and plan.edge(-parts) == -math.log2(1.8)
    # equally long answers stand in the middle of bin 0
    assert math.isclose(plan.edge(0), -plan.step / 2) and math.isclose(plan.edge(1), plan.step / 2)


def test_a_bound_far_from_the_data_is_not_drawn_and_does_not_squeeze_it() -> None:
    plan = plan_bins(spread(drift=(50.0, 52.0)), BOUNDS)["drift"]
    assert plan.lines() == [] and plan.edge(plan.first) > 49


def test_a_single_value_still_has_bins_on_both_sides_of_a_near_bound() -> None:
    plan = plan_bins(spread(drift=(0.3, 0.3)), BOUNDS)["drift"]
    assert plan.first <= -1 and plan.edge(plan.last + 1) > 0.3 and plan.lines() == [-0.1]


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.sampled_from(sorted(MEASURE)))
def test_plans_cover_their_span_in_a_bounded_number_of_bins(one: float, other: float, name: str) -> None:
    low, high = min(one, other), max(one, other)
    plan = plan_bins(spread(**{name: (low, high)}), BOUNDS)[name]
    assert plan.edge(plan.first) <= low + plan.step * 1e-6 and high <= plan.edge(plan.last + 1) + plan.step * 1e-6
    assert plan.last - plan.first + 1 <= 2 * 40 + 4


def bars(queries: RoundQueries, plans: dict[str, BinPlan], ranges: tuple[BinRange, ...] = ()) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = {name: [] for name in MEASURE}
    for row in queries.histograms(plans, ranges).to_pylist():
        found[row["measure"]].append(row)
    return found


def test_figures_on_a_bound_fall_on_the_side_of_the_rule(tmp_path: Path) -> None:
    rows = [
        # margin 0 fails (strict), so it lies left of the line; drift -0.1 and ratios 1.8, 1:1.8 hold (inclusive)
        {"margin": 0.0, "reasons": ["non_positive_margin"], "drift": -0.1, "length_ratio": 18 / 10,
         "chosen_token_count": 18, "rejected_token_count": 10},
        {"margin": 5e-324, "drift": np.nextafter(-0.1, -1), "reasons": ["logp_collapse"], "length_ratio": 18 / 10,
         "chosen_token_count": 10, "rejected_token_count": 18},
        # 181:100 is outside
        {"length_ratio": 181 / 100, "reasons": ["length_bias"], "chosen_token_count": 181, "rejected_token_count": 100},
        {"length_ratio": 181 / 100, "reasons": ["length_bias"], "chosen_token_count": 100, "rejected_token_count": 181},
    ]
    with RoundQueries(scored_path=write_scored(tmp_path, rows)) as queries:
        plans = queries.bin_plans(BOUNDS)
        found = bars(queries, plans)
    margin = Counter((row["bin"] < 0, row["side"]) for row in found["margin"] for _ in range(row["pairs"]))
    assert margin == {(True, 1): 1, (False, 0): 3}
    drift = Counter((row["bin"] < 0, row["side"]) for row in found["drift"] for _ in range(row["pairs"]))
    assert drift == {(True, 1): 1, (False, 0): 3}
    inside = plans["ratio"].edge_at(math.log2(1.8)) - 1
    ratio = {row["bin"]: row["side"] for row in found["ratio"]}
    assert ratio == {inside: 0, -inside: 0, inside + 1: 1, -inside - 1: -1}


def test_sides_come_from_the_engines_reasons_and_each_chart_adds_up(tmp_path: Path) -> None:
    rows = [
        {"margin": 1.0}, {"margin": -1.0, "reasons": ["non_positive_margin"]},
        {"margin": 2.0, "drift": -1.0, "reasons": ["logp_collapse"]}, {"margin": 7.0, "reasons": ["invalid_record"], "sub_code": "identical"},
        {"margin": 3.0, "state": "held", "reasons": ["logp_collapse"], "drift": -3.0},
    ]
    with RoundQueries(scored_path=write_scored(tmp_path, rows)) as queries:
        found = bars(queries, queries.bin_plans(BOUNDS))
    for name in MEASURE:  # four valid rows: the invalid one is in no chart
        assert sum(row["pairs"] for row in found[name]) == 4
    assert sum(row["pairs"] for row in found["drift"] if row["side"] == 1) == 2
    assert {row["state"] for row in found["drift"] if row["side"] == 1} == {"rejected", "held"}


def test_tails_are_counted_in_under_and_overflow_bins(tmp_path: Path) -> None:
    rows = [{"rpo_loss": 1.0 + n / 1000} for n in range(1000)] + [{"rpo_loss": 5000.0}, {"rpo_loss": 9000.0}]
    with RoundQueries(scored_path=write_scored(tmp_path, rows)) as queries:
        plans = queries.bin_plans(BOUNDS)
        found = bars(queries, plans)["loss"]
    assert plans["loss"].edge(plans["loss"].last + 1) < 3
    # quantiles .005 and .995 of 1,002 losses are 1.005 and 1.996, so the two outliers and nothing else lie above 2
    assert [row["pairs"] for row in found if row["bin"] == plans["loss"].above] == [2]
    assert plans["loss"].tails == (plans["loss"].above,) and plans["margin"].tails == ()
    assert sum(row["pairs"] for row in found) == 1002


def test_a_range_narrows_the_other_charts_and_not_its_own(tmp_path: Path) -> None:
    rows = [{"margin": float(n), "drift": 0.1 * n} for n in range(1, 11)]
    with RoundQueries(scored_path=write_scored(tmp_path, rows)) as queries:
        plans = queries.bin_plans(BOUNDS)
        wanted = range_between(plans["margin"], 3.0, 5.0)
        assert wanted is not None
        found = bars(queries, plans, (wanted,))
    assert sum(row["pairs"] for row in found["margin"]) == 10
    # bins are closed on the right: (3, 5] holds the margins 4 and 5
    for name in ("drift", "ratio", "loss"):
        assert sum(row["pairs"] for row in found[name]) == 2


def test_ranges_snap_to_edges_and_open_ends_take_the_tails() -> None:
    plan = plan_bins(spread(margin=(-2.0, 6.0)), BOUNDS)["margin"]
    assert range_between(plan, 0.93, 2.11) == BinRange("margin", 5, 10)  # edges 1.0 and 2.2: bins 5 .. 10
    assert range_between(plan, None, 0.0) == BinRange("margin", None, -1)
    assert range_between(plan, 5.0, None) == BinRange("margin", 25, None)
    assert range_between(plan, None, None) is None and range_between(plan, 3.0, 1.0) is None
    assert range_between(plan, 99.0, None) is None and range_between(plan, 1.01, 1.02) is None


def test_non_finite_and_missing_figures_are_in_no_bin(tmp_path: Path) -> None:
    rows = [{"margin": math.nan}, {"margin": math.inf}, {"margin": None}, {"margin": 1.0}]
    with RoundQueries(scored_path=write_scored(tmp_path, rows)) as queries:
        plans = queries.bin_plans(BOUNDS)
        found = bars(queries, plans)["margin"]
    assert plans["margin"].pairs == 1
    assert [(row["bin"] is None, row["pairs"]) for row in found] == [(False, 1), (True, 3)]


def brute_force(rows: list[dict[str, object]], plans: dict[str, BinPlan], ranges: tuple[BinRange, ...]) -> Counter:
    """The histograms again, row by row in plain Python, with bins found by comparing with edges."""
    chosen = {item.measure: item for item in ranges}
    counts: Counter = Counter()
    for row in rows:
        figures = {"margin": row["margin"], "drift": row["drift"], "loss": row["rpo_loss"],
                   "ratio": math.log2(row["length_ratio"]) * (1 if row["chosen_token_count"] >= row["rejected_token_count"] else -1)}
        found = {}
        for name, plan in plans.items():
            closed_left = plan.measure.closed == "left" or (plan.measure.closed == "mirrored" and figures[name] < 0)
            index = plan.first - 1
            while index <= plan.last and (plan.edge(index + 1) <= figures[name] if closed_left else plan.edge(index + 1) < figures[name]):
                index += 1
            found[name] = index
        inside = {name: (chosen[name].first is None or index >= chosen[name].first) and (chosen[name].last is None or index <= chosen[name].last)
                  if name in chosen else True for name, index in found.items()}
        for name, index in found.items():
            if all(holds for other, holds in inside.items() if other != name):
                counts[name, row["state"], index] += 1
    return counts


@pytest.mark.parametrize("seed", range(4))
def test_histograms_agree_with_a_plain_count(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(400):
        chosen, rejected = (int(value) for value in random.integers(1, 60, 2))
        rows.append({
            # sixteenths are exact in doubles, so a figure may lie on an edge without rounding being in question
            "margin": int(random.integers(-40, 120)) / 16, "drift": int(random.integers(-60, 40)) / 16 + 0.03,
            "rpo_loss": float(random.exponential(2)), "length_ratio": max(chosen / rejected, rejected / chosen),
            "chosen_token_count": chosen, "rejected_token_count": rejected, "state": str(random.choice(["admitted", "held"])),
        })
    bounds = {"margin": 0.0, "ratio": 1.8, "drift": -0.125, "loss": None}
    with RoundQueries(scored_path=write_scored(tmp_path, rows)) as queries:
        plans = queries.bin_plans(bounds)
        ranges = tuple(filter(None, (range_between(plans["margin"], -1.0, 4.0), range_between(plans["ratio"], None, 1.0))))[: seed % 3]
        found = Counter()
        for row in queries.histograms(plans, ranges).to_pylist():
            found[row["measure"], row["state"], row["bin"]] += row["pairs"]
    assert found == brute_force(rows, plans, ranges)
