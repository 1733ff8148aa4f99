"""A view of pairs in the URL: read strictly, written canonically, never an error."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.rounds.query_bins import MEASURES, BinPlan, BinRange, plan_bins
from dashboard.pair_params import PairView, brushed, pair_view, range_param, ranges_of, without

PLANS = plan_bins(
    {f"{part}_{measure.name}": value for measure in MEASURES for part, value in
     {"n": 9, "low": -2.0 if measure.name != "loss" else 0.5, "high": 6.0 if measure.name != "ratio" else 2.0, "min": -50.0, "max": 50.0}.items()},
    {"margin": 0.0, "ratio": 1.8, "drift": -0.1, "loss": None},
)
"""Margin: edges every 0.2 around 0; drift: every 0.25 around -0.1; ratio: 1.8 and 1 : 1.8 are edges."""


def test_a_whole_view_survives_the_url() -> None:
    shown = PairView(
        state="held", reason="length_bias", any_reason=True, origin="synthetic", judge="self-judge", search="50 % off?", order="loss-high", page=3,
        pair="p/1 &x", ranges=(BinRange("margin", 0, 9), BinRange("drift", None, -1)),
    )
    params = shown.params(PLANS)
    assert params["reason"] == "any-length_bias" and params["margin"] == "0:2" and params["drift"] == ":-0.1" and params["pairs_page"] == "3"
    assert pair_view(params, PLANS) == shown


def test_defaults_are_left_out() -> None:
    assert PairView().params(PLANS) == {}
    assert pair_view({}, PLANS) == PairView() and PairView().sort == "drift" and PairView(state="admitted").sort == "rank"


@pytest.mark.parametrize(
    "params",
    [
        {"state": "signed"}, {"reason": "looks_bad"}, {"reason": "any-"}, {"origin": "elsewhere"}, {"order": "rank; drop"}, {"pairs_page": "-1"},
        {"pairs_page": "1e9"}, {"pairs_page": "³"}, {"pairs_page": "9" * 5000}, {"margin": "nan:1"}, {"margin": "1"}, {"margin": "inf:"},
        {"margin": "a:b"}, {"margin": "3:1"}, {"length_ratio": "0:1"}, {"length_ratio": "-1:"}, {"drift": "1:2:3"}, {"search": "   "},
        {"reviewer_id": "somebody"},
    ],
)
def test_what_means_nothing_is_as_if_it_were_not_there(params: dict[str, str]) -> None:
    assert pair_view(params, PLANS) == PairView()


@given(st.dictionaries(st.sampled_from(["state", "reason", "pairs_page", "margin", "length_ratio", "drift", "loss", "order"]), st.text(max_size=12)))
def test_no_url_is_an_error_and_reading_twice_changes_nothing(params: dict[str, str]) -> None:
    shown = pair_view(params, PLANS)
    assert pair_view(shown.params(PLANS), PLANS) == shown


@pytest.mark.parametrize("name", sorted(PLANS))
def test_every_range_comes_back_as_the_same_bins(name: str) -> None:
    plan: BinPlan = PLANS[name]
    key = "length_ratio" if name == "ratio" else name
    middle = plan.first + 2
    for first in (None, plan.first, middle, plan.last):
        for last in (None, plan.first, middle, plan.last):
            chosen = BinRange(name, first, last)
            if (first is None and last is None) or (first is not None and last is not None and last < first):
                continue
            assert ranges_of({key: range_param(chosen, plan)}, PLANS) == (chosen,)


def test_changing_a_filter_goes_back_to_the_first_page_with_nothing_open() -> None:
    shown = PairView(reason="duplicate", page=4, pair="p-17")
    assert shown.but(reason="length_bias") == PairView(reason="length_bias")
    assert shown.but(page=4, pair="p-18") == PairView(reason="duplicate", page=4, pair="p-18")


def test_a_brush_snaps_to_edges_and_takes_the_tail_when_it_reaches_it() -> None:
    margin = PLANS["margin"]
    assert brushed(margin, (0.93, 2.11)) == BinRange("margin", 5, 10)
    assert brushed(margin, (2.11, 0.93)) == BinRange("margin", 5, 10)
    low, high = margin.edge(margin.first), margin.edge(margin.above)
    assert brushed(margin, (low - margin.step, 1.0)) == BinRange("margin", None, 4)
    assert brushed(margin, (4.0, high + margin.step)) == BinRange("margin", 20, None)
    # just over the edge of the drawn range is not the tail; a brush over everything, or thinner than half a bar, is none
    assert brushed(margin, (low - margin.step / 4, 1.0)) == BinRange("margin", margin.first, 4)
    assert brushed(margin, (low - 9, high + 9)) is None and brushed(margin, (1.01, 1.02)) is None


def test_a_range_can_be_taken_off() -> None:
    ranges = (BinRange("margin", 0, 1), BinRange("loss", None, 3))
    assert without(ranges, "margin") == (BinRange("loss", None, 3),)
