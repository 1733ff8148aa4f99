"""The histograms: what a figure says and draws, from rows written by hand."""
from __future__ import annotations

import json
import math

import pyarrow as pa
import pytest

from core.rounds.query_bins import MEASURES, BinPlan, BinRange, plan_bins
from dashboard.chart_words import Sides, bars_of, bin_text, bound_sign, chart_sentence, fixed, number, range_text, ratio_text, sides_of
from dashboard.charts import CONFIG, histogram, nice_step
from dashboard.palette import palette

MEASURE = {measure.name: measure for measure in MEASURES}
DRIFT = BinPlan(MEASURE["drift"], -0.1, 0.5, -4, 2, 100, -0.1, -9.0, 1.0)
"""Edges -2.1, -1.6, -1.1, -0.6, -0.1, 0.4, 0.9, 1.4; one pair or more below, none above."""
MARGIN = BinPlan(MEASURE["margin"], 0.0, 1.0, -2, 3, 100, 0.0, -1.5, 3.5)
LOSS = BinPlan(MEASURE["loss"], 0.0, 1.0, 0, 3, 100, None, 0.2, 9.0)
_NOTHING = {f"{part}_{name}": None if part != "n" else 0 for name in MEASURE for part in ("n", "low", "high", "min", "max")}
RATIO = plan_bins(
    _NOTHING | {"n_ratio": 9, "low_ratio": -2.0, "high_ratio": 2.0, "min_ratio": -2.0, "max_ratio": 2.0},
    {name: 1.8 if name == "ratio" else None for name in MEASURE},
)["ratio"]

BARS = [
    {"measure": "drift", "state": "rejected", "bin": -5, "side": 1, "pairs": 2},
    {"measure": "drift", "state": "rejected", "bin": -2, "side": 1, "pairs": 30},
    {"measure": "drift", "state": "held", "bin": -2, "side": 1, "pairs": 4},
    {"measure": "drift", "state": "rejected", "bin": 0, "side": 0, "pairs": 5},
    {"measure": "drift", "state": "admitted", "bin": 0, "side": 0, "pairs": 7},
    {"measure": "drift", "state": "admitted", "bin": 1, "side": 0, "pairs": 3},
]
LIGHT, DARK = palette("light"), palette("dark")


def figure(bars=BARS, plan=DRIFT, colours=LIGHT, chosen=None) -> dict:
    return json.loads(histogram(bars, plan, colours, chosen).to_json())


def notes(drawn: dict) -> list[str]:
    return [note["text"] for note in drawn["layout"]["annotations"]]


def trace(drawn: dict, name: str) -> dict:
    return next(item for item in drawn["data"] if item["name"] == name)


def test_the_title_says_what_is_counted_and_n_and_axes_have_units() -> None:
    drawn = figure()
    # 2 + 30 + 4 + 5 + 7 + 3 = 51
    assert drawn["layout"]["title"]["text"] == "<b>Chosen drift</b>  51 pairs"
    assert drawn["layout"]["xaxis"]["title"]["text"].endswith("nats per token")
    assert drawn["layout"]["yaxis"]["title"]["text"] == "pairs"


def test_the_bound_is_a_labelled_line_with_the_count_on_each_side() -> None:
    drawn = figure()
    lines = [shape for shape in drawn["layout"]["shapes"] if shape["type"] == "line"]
    assert [(line["x0"], line["x1"]) for line in lines] == [(-0.1, -0.1)]
    # fail 2 + 30 + 4 = 36, hold 5 + 7 + 3 = 15
    assert " ".join(notes(drawn)) == "36 fail · <b>bound ≥ −0.1</b>: 15 hold"


def test_a_bound_at_the_edge_has_one_note_that_stays_inside() -> None:
    plan = BinPlan(MEASURE["drift"], -0.1, 0.5, -20, 0, 100, -0.1, -9.0, 0.2)
    (note,) = figure(plan=plan)["layout"]["annotations"]
    assert note["text"] == "36 fail · <b>bound ≥ −0.1</b>: 15 hold" and note["xanchor"] == "right" and note["x"] == plan.edge(1)


def test_loss_has_no_bound_and_no_line() -> None:
    drawn = figure([{"measure": "loss", "state": "admitted", "bin": 1, "side": 0, "pairs": 3}], LOSS)
    assert not [shape for shape in drawn["layout"]["shapes"] if shape["type"] == "line"] and "annotations" not in drawn["layout"]


def test_both_bounds_of_the_length_ratio_are_drawn_with_three_counts() -> None:
    edge = RATIO.edge_at(math.log2(1.8))
    bars = [
        {"measure": "ratio", "state": "rejected", "bin": edge, "side": 1, "pairs": 5},
        {"measure": "ratio", "state": "admitted", "bin": 0, "side": 0, "pairs": 9},
        {"measure": "ratio", "state": "rejected", "bin": -edge, "side": -1, "pairs": 4},
    ]
    drawn = figure(bars, RATIO)
    lines = [shape["x0"] for shape in drawn["layout"]["shapes"] if shape["type"] == "line"]
    assert lines == [-math.log2(1.8), math.log2(1.8)]
    assert [text.strip() for text in notes(drawn)] == ["4 fail", "<b>≤ 1.8</b>: 9", "5 fail"]
    assert drawn["layout"]["xaxis"]["ticktext"] == ["1 : 4", "1 : 2", "1 : 1", "2 : 1", "4 : 1"]


def test_the_rule_stands_at_its_line_where_there_is_room_for_it() -> None:
    """From -0.6 to 0.7 the line at -0.1 lies at 5/13 of the span: in a narrow chart there is room for a count at its left and for the rule at its
    right. In DRIFT it lies at four sevenths, and the rule would run out of the chart."""
    drawn = figure(plan=BinPlan(MEASURE["drift"], -0.1, 0.1, -5, 7, 100, -0.1, -0.6, 0.7))
    assert [text.strip() for text in notes(drawn)] == ["36 fail", "<b>≥ −0.1</b>: 15 hold"]
    assert {note["x"] for note in drawn["layout"]["annotations"]} == {-0.1}


def ratio(low: float, high: float) -> BinPlan:
    ends = {"low_ratio": low, "high_ratio": high, "min_ratio": low, "max_ratio": high}
    return plan_bins(_NOTHING | {"n_ratio": 9} | ends, {name: 1.8 if name == "ratio" else None for name in MEASURE})["ratio"]


def test_a_band_too_narrow_for_its_note_and_ticks_too_many() -> None:
    """From 1 : 128 to 128 : 1 is 14 doublings, of which the band takes 2 log2 1.8 = 1.7."""
    drawn = figure([{"measure": "ratio", "state": "admitted", "bin": 0, "side": 0, "pairs": 9}], ratio(-7, 7))
    (note,) = drawn["layout"]["annotations"]
    assert note["text"] == "0 fail · <b>≤ 1.8</b>: 9 · 0 fail" and note["xanchor"] == "center" and note["x"] == pytest.approx(0)
    assert len(drawn["layout"]["xaxis"]["ticktext"]) <= 9 and "1 : 1" in drawn["layout"]["xaxis"]["ticktext"]
    assert drawn["layout"]["xaxis"]["tickangle"] == 0


@pytest.mark.parametrize(("low", "high", "sides", "expected"), [
    (0.6, 0.9, (0, 9, 4), ["<b>≤ 1.8</b>: 9", "4 fail"]), (-0.9, -0.6, (4, 9, 0), ["4 fail", "<b>≤ 1.8</b>: 9"]),
    (0.6, 0.9, (2, 9, 4), ["2 fail · <b>≤ 1.8</b>: 9", "4 fail"]), (0.5, 1.5, (0, 9, 4), ["<b>bound ≤ 1.8</b>: 9 · 4 fail"]),
])
def test_the_rule_is_written_where_one_of_two_bounds_is_drawn(low: float, high: float, sides: tuple[int, int, int], expected: list[str]) -> None:
    """log2 1.8 = 0.848: the chart reaches beyond one of the two lines only."""
    bars = [
        {"measure": "ratio", "state": "rejected", "bin": 0, "side": side, "pairs": pairs} for side, pairs in zip((-1, 0, 1), sides, strict=True)
        if pairs
    ]
    drawn = figure(bars, ratio(low, high))
    assert len([shape for shape in drawn["layout"]["shapes"] if shape["type"] == "line"]) == 1
    assert [text.strip() for text in notes(drawn)] == expected


def test_states_differ_by_pattern_and_place_and_not_by_hue_alone() -> None:
    drawn = figure()
    admitted, rejected = trace(drawn, "admitted"), trace(drawn, "rejected")
    assert "pattern" not in admitted["marker"] and rejected["marker"]["pattern"]["shape"] == "/"
    # stacked in this order, so admitted pairs stand on the axis
    assert drawn["layout"]["barmode"] == "stack" and [item["name"] for item in drawn["data"][:2]] == ["admitted", "rejected"]
    assert trace(drawn, "held")["mode"] == "lines"


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_hues_are_those_of_the_theme_on_every_chart(colours) -> None:
    for plan in (DRIFT, MARGIN, LOSS, RATIO):
        drawn = figure([row | {"bin": 0} for row in BARS], plan, colours)
        assert trace(drawn, "admitted")["marker"]["color"] == colours.admitted and trace(drawn, "rejected")["marker"]["color"] == colours.rejected


def test_light_and_dark_hues_are_the_two_of_the_theme_file() -> None:
    assert (LIGHT.admitted, LIGHT.rejected) == ("#0B6BB0", "#C2500A") and (DARK.admitted, DARK.rejected) == ("#5CB3F0", "#F08A4B")
    assert palette(None) == LIGHT


def test_tails_stand_apart_on_a_band_with_a_tick_of_their_own() -> None:
    drawn = figure()
    rejected = trace(drawn, "rejected")
    below = min(rejected["x"])
    assert below < DRIFT.edge(DRIFT.below) + DRIFT.step / 2 < DRIFT.edge(DRIFT.first)
    assert "< −2.1" in drawn["layout"]["xaxis"]["ticktext"] and not any(text.startswith(">") for text in drawn["layout"]["xaxis"]["ticktext"])
    (band,) = [shape for shape in drawn["layout"]["shapes"] if shape["type"] == "rect"]
    assert band["x0"] < below < band["x1"] < DRIFT.edge(DRIFT.first)


def test_hover_shows_bin_count_and_share() -> None:
    rejected = trace(figure(), "rejected")
    # 30 of 51 = 58.82 %
    assert rejected["customdata"][1] == "from −1.1, below −0.6 nats per token<br><b>30</b> rejected: 58.82 % of 51"


def test_a_chosen_range_is_framed_and_what_is_outside_is_pale() -> None:
    drawn = figure(chosen=BinRange("drift", -2, 0))
    opacity = dict(zip(trace(drawn, "rejected")["x"], trace(drawn, "rejected")["marker"]["opacity"], strict=True))
    assert [value == 1 for _, value in sorted(opacity.items())] == [False, True, True]
    frame = drawn["layout"]["shapes"][-1]
    assert (frame["x0"], frame["x1"]) == (DRIFT.edge(-2), DRIFT.edge(1))


def test_an_open_range_takes_the_tail_into_its_frame() -> None:
    drawn = figure(chosen=BinRange("drift", None, -1))
    assert drawn["layout"]["shapes"][-1]["x0"] < DRIFT.edge(DRIFT.below) and drawn["layout"]["shapes"][-1]["x1"] == -0.1


def test_an_empty_view_still_draws_axes_and_bound() -> None:
    drawn = figure([])
    assert drawn["layout"]["title"]["text"].endswith("0 pairs") and "0 fail" in notes(drawn)[0]
    assert chart_sentence([], DRIFT) == "Chosen drift: no pair in this view."


def test_the_tool_bar_with_its_upload_is_off() -> None:
    assert CONFIG["displayModeBar"] is False


@pytest.mark.parametrize("plan", [DRIFT, MARGIN, LOSS, RATIO])
def test_no_template_travels_with_a_figure(plan: BinPlan) -> None:
    template = figure([row | {"bin": 0} for row in BARS], plan)["layout"].get("template", {})
    assert "layout" not in template and len(json.dumps(template)) < 100  # Plotly's own has 7 kB


def test_the_sentence_says_what_the_chart_shows() -> None:
    assert chart_sentence(BARS, DRIFT) == (
        "Chosen drift of 51 pairs: 36 below the bound −0.1 nats per token, 15 at or above it; fullest bar 34 (from −1.1, below −0.6); "
        "beyond the drawn range: 2 (below −2.1)."
    )


def test_the_sentence_of_the_ratio_names_both_directions() -> None:
    bars = [
        {"measure": "ratio", "state": "rejected", "bin": 9, "side": 1, "pairs": 5},
        {"measure": "ratio", "state": "held", "bin": -9, "side": -1, "pairs": 4},
        {"measure": "ratio", "state": "admitted", "bin": 0, "side": 0, "pairs": 9},
    ]
    said = "9 within the bound 1.8 on either side, 5 with a longer chosen answer outside it, 4 with a longer rejected one"
    assert said in chart_sentence(bars, RATIO)


def test_sides_are_counted_from_the_engines_side_and_not_from_the_bin() -> None:
    assert sides_of(BARS, DRIFT) == Sides(low=36, inside=15, high=0)
    # a row on the far side by its bin, but inside by the engine's exact finding, is inside
    assert sides_of([{"bin": -3, "side": 0, "pairs": 1, "state": "admitted"}], DRIFT) == Sides(0, 1, 0)


def test_rows_without_the_figure_are_not_drawn() -> None:
    rows = pa.Table.from_pylist([BARS[0] | {"bin": None}, BARS[1], BARS[1] | {"measure": "loss"}])
    assert bars_of(rows, "drift") == [BARS[1]]


@pytest.mark.parametrize(
    ("plan", "index", "text"),
    [
        (DRIFT, 0, "from −0.1, below 0.4"), (DRIFT, -5, "below −2.1"), (DRIFT, 3, "1.4 or above"),
        (MARGIN, 0, "above 0, to 1"), (MARGIN, -3, "−2 or below"), (MARGIN, 4, "above 4"),
    ],
)
def test_bins_say_which_end_belongs_to_them(plan: BinPlan, index: int, text: str) -> None:
    assert bin_text(plan, index) == text


def test_ranges_and_bounds_in_words() -> None:
    assert range_text(MARGIN, BinRange("margin", 0, 1)) == "DPO margin 0 to 2"
    assert range_text(MARGIN, BinRange("margin", None, -1)) == "DPO margin up to 0"
    assert range_text(DRIFT, BinRange("drift", 0, None)) == "Chosen drift from −0.1"
    assert [bound_sign(plan) for plan in (MARGIN, DRIFT, RATIO, LOSS)] == ["> 0", "≥ −0.1", "≤ 1.8", ""]


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (-0.0, "0"), (-0.1, "−0.1"), (1.0000001, "1"), (0.30000000000000004, "0.3"), (-2.25, "−2.25")],
)
def test_numbers_have_a_true_minus_sign_and_no_noise(value: float, text: str) -> None:
    assert number(value) == text


def test_ratios_are_written_with_the_longer_side() -> None:
    assert [ratio_text(math.log2(value)) for value in (1.8, 1 / 1.8, 1.0, 4.0)] == ["1.8 : 1", "1 : 1.8", "1 : 1", "4 : 1"]


@pytest.mark.parametrize(("value", "text"), [(-2.7043, "−2.70"), (16.0, "16.00"), (0.125, "0.12"), (-0.001, "0.00"), (None, "none")])
def test_column_figures_keep_their_decimals(value: float | None, text: str) -> None:
    assert fixed(value, 2) == text


@pytest.mark.parametrize(("raw", "step"), [(0.3, 0.5), (1.0, 1.0), (1.1, 2.0), (2.2, 2.5), (7.0, 10.0), (0.02, 0.02), (51.0, 100.0)])
def test_steps_between_ticks_are_round(raw: float, step: float) -> None:
    assert math.isclose(nice_step(raw), step)
