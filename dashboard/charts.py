"""The histograms as pure functions from rows to figures: no Streamlit, no query, no decision.

The same encoding on every chart, light and dark: admitted pairs are plain bars standing on the axis, rejected pairs are
hatched bars stacked on them, held pairs a line of their own. The bound is a dashed line with the count on each
side, drawn only where the grid has one. Bars beyond the drawn range stand apart, on a band, with their own tick.

All text in a figure is made here from numbers and constants; nothing from a round's texts or names goes into one.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import plotly.graph_objects as go

from core.rounds.query_bins import BinPlan, BinRange
from core.settings import SETTINGS
from core.statistics.ratio import percent_text
from dashboard import words
from dashboard.chart_words import MEASURE_WORDS, Sides, bin_text, bound_sign, number, ratio_text, sides_of
from dashboard.palette import Palette

_C: Final = SETTINGS["charts"]
CLEAR: Final = "rgba(0,0,0,0)"
BARE: Final = go.layout.Template()
"""An empty template: the figure says all of its looks itself, and Plotly's own, several kilobytes, does not travel."""
CONFIG: Final = {"displayModeBar": False, "doubleClick": False, "scrollZoom": False, "showTips": False}
"""Plotly's options: no tool bar (its share button would upload), no zoom."""

Bars = Sequence[Mapping[str, Any]]
Part = dict[str, Any]
"""A part of a figure as plain data: a figure is put together from these and checked by Plotly once, at the end."""


def histogram(bars: Bars, plan: BinPlan, colours: Palette, chosen: BinRange | None = None) -> go.Figure:
    """One figure of the pairs, in bins. ``bars``: rows of one measure (``chart_words.bars_of``); ``chosen``: the committed
    range, outside which bars are pale."""
    sides, counts = sides_of(bars, plan), _counts(bars)
    traces = [_bar_trace(state, counts[state], plan, colours, chosen, sides.total) for state in ("admitted", "rejected")]
    traces += _held_traces(counts["held"], plan, colours) if counts["held"] else []
    layout = _layout(plan, sides, colours) | _axes(plan, counts, colours)
    layout["shapes"] = [*_tail_bands(plan, colours), *_bound_lines(plan, colours), *_frame(plan, chosen, colours)]
    layout["annotations"] = _bound_notes(plan, sides, colours)
    return go.Figure(data=traces, layout=layout)


def _counts(bars: Bars) -> dict[str, dict[int, int]]:
    """state -> bin -> pairs, over both sides of the bound."""
    found: dict[str, dict[int, int]] = {"admitted": {}, "rejected": {}, "held": {}}
    for row in bars:
        state = found[row["state"]]
        state[row["bin"]] = state.get(row["bin"], 0) + row["pairs"]
    return found


def _shift(plan: BinPlan, index: int) -> float:
    """Bars beyond the drawn range stand a gap apart."""
    gap = float(plan.step * _C["tail_gap"])
    return -gap if index < plan.first else gap if index > plan.last else 0.0


def _centre(plan: BinPlan, index: int) -> float:
    return plan.edge(index) + float((plan.edge(index + 1) - plan.edge(index)) * _C["centre"]) + _shift(plan, index)


def _end(plan: BinPlan, index: int | None, offset: int) -> float:
    """Where a chosen range is drawn to: its edge, or the far side of the tail's bar for an open end."""
    if index is not None:
        return plan.edge(index + offset)
    beyond = plan.above if offset else plan.below
    if beyond not in plan.tails:
        return plan.edge(plan.above if offset else plan.first)
    return plan.edge(beyond + offset) + _shift(plan, beyond)


def _bar_trace(state: str, counts: Mapping[int, int], plan: BinPlan, colours: Palette, chosen: BinRange | None, total: int) -> Part:
    indexes = sorted(counts)
    marker: dict[str, Any] = {
        "color": colours.admitted if state == "admitted" else colours.rejected, "line": {"width": 0},
        "opacity": [1 if _is_in(index, chosen) else _C["left_out_opacity"] for index in indexes],
    }
    if state == "rejected":
        marker["pattern"] = {
            "shape": "/", "size": _C["hatch_size"], "solidity": _C["hatch_solidity"], "fillmode": "overlay", "fgcolor": colours.background,
        }
    return {
        "type": "bar", "name": state, "x": [_centre(plan, index) for index in indexes], "y": [counts[index] for index in indexes], "marker": marker,
        "width": [(plan.edge(index + 1) - plan.edge(index)) * (1 - _C["bar_gap"]) for index in indexes],
        "customdata": [_hover(state, plan, index, counts[index], total) for index in indexes], "hovertemplate": "%{customdata}<extra></extra>",
    }


def _hover(state: str, plan: BinPlan, index: int, pairs: int, total: int) -> str:
    share = percent_text(Fraction(pairs, total))
    return f"{bin_text(plan, index)} {MEASURE_WORDS[plan.measure.name].unit}<br><b>{words.count(pairs)}</b> {state}: {share} of {words.count(total)}"


def _is_in(index: int, chosen: BinRange | None) -> bool:
    if chosen is None:
        return True
    return (chosen.first is None or index >= chosen.first) and (chosen.last is None or index <= chosen.last)


def _held_traces(counts: Mapping[int, int], plan: BinPlan, colours: Palette) -> list[Part]:
    """Held pairs as an outline on a halo: they are neither admitted nor rejected, so they are not stacked."""
    runs = [list(range(plan.first, plan.above)), *([index] for index in plan.tails)]
    x: list[float | None] = []
    y: list[int | None] = []
    for run in runs:
        for index in run:
            x += [plan.edge(index) + _shift(plan, index), plan.edge(index + 1) + _shift(plan, index)]
            y += [counts.get(index, 0), counts.get(index, 0)]
        x, y = [*x, None], [*y, None]
    halo, line = ({"color": colour, "width": width} for colour, width in zip((colours.background, colours.text), _C["held_widths"], strict=True))
    return [
        {"type": "scatter", "name": name, "x": x, "y": y, "mode": "lines", "line": style, "hoverinfo": "skip", "connectgaps": False}
        for name, style in (("held, halo", halo), ("held", line))
    ]


def _layout(plan: BinPlan, sides: Sides, colours: Palette) -> Part:
    left, right, top, bottom = _C["margins"]
    return {
        "template": BARE, "height": _C["height"], "margin": {"l": left, "r": right, "t": top, "b": bottom}, "barmode": "stack",
        "paper_bgcolor": CLEAR, "plot_bgcolor": CLEAR, "font": {"family": colours.font, "size": _C["font_size"], "color": colours.text},
        "title": chart_title(f"<b>{MEASURE_WORDS[plan.measure.name].title}</b>  {words.plural(sides.total, 'pair')}"),
        "showlegend": False, "dragmode": "select", "selectdirection": "h", "hovermode": "closest", "hoverlabel": {"font": {"family": colours.font}},
        "newselection": {"line": {"color": colours.accent, "width": 1}}, "activeselection": {"fillcolor": colours.accent},
    }


def chart_title(text: str) -> Part:
    """A title at the upper left corner of the figure."""
    return {
        "text": text, "font": {"size": _C["title_font_size"]}, "x": 0, "xref": "container", "xanchor": "left", "y": 1, "yref": "container",
        "yanchor": "top", "pad": {"t": _C["standoff"], "l": _C["standoff"]},
    }


def _axes(plan: BinPlan, counts: Mapping[str, Mapping[int, int]], colours: Palette) -> Part:
    drawn = [plan.below, *range(plan.first, plan.above), plan.above]
    stacked = [counts["admitted"].get(index, 0) + counts["rejected"].get(index, 0) for index in drawn]
    highest = max([1, *stacked, *counts["held"].values()])
    positions, labels = _ticks(plan)
    small = {"size": _C["small_font_size"], "color": colours.muted}
    figures = {"size": _C["small_font_size"]}
    return {
        "xaxis": {
            "title": {"text": MEASURE_WORDS[plan.measure.name].axis, "font": small, "standoff": _C["standoff"]}, "tickvals": positions,
            "ticktext": labels, "range": [_end(plan, None, 0), _end(plan, None, 1)], "showgrid": False, "zeroline": False, "fixedrange": True,
            "ticks": "outside", "tickcolor": colours.line, "tickfont": figures, "linecolor": colours.line, "tickangle": 0,
        },
        "yaxis": {
            "title": {"text": "pairs", "font": small}, "range": [0, highest * _C["headroom"]], "dtick": _count_step(highest), "tickformat": ",d",
            "gridcolor": colours.line, "zeroline": False, "fixedrange": True, "tickfont": figures,
        },
    }


def _ticks(plan: BinPlan) -> tuple[list[float], list[str]]:
    """Round values inside the drawn range, and one tick for each tail beyond it: ``< −2``."""
    low, high = plan.edge(plan.first), plan.edge(plan.above)
    mirrored = plan.measure.closed == "mirrored"
    step = math.ceil((high - low) / _C["ratio_ticks"]) if mirrored and high - low > 1 else nice_step((high - low) / _C["ticks"])
    inner = [index * step for index in range(math.ceil(low / step), math.floor(high / step) + 1)]
    write = ratio_text if mirrored else number
    ends = {plan.below: f"< {write(low)}", plan.above: f"> {write(high)}"}
    # a tick near the end of the range would run into that of the tail
    clear = (high - low) * _C["tick_clearance"]
    least, most = (low + clear if plan.below in plan.tails else low), (high - clear if plan.above in plan.tails else high)
    inner = [value for value in inner if least <= value <= most]
    return [*inner, *(_centre(plan, index) for index in plan.tails)], [*(write(value) for value in inner), *(ends[index] for index in plan.tails)]


def nice_step(raw: float) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is at least ``raw``."""
    base = _C["step_base"]
    power = float(base) ** math.floor(math.log(raw, base))
    return float(next((factor * power for factor in _C["tick_steps"] if factor * power >= raw), base * power))


def _count_step(highest: int) -> int:
    return max(1, math.ceil(nice_step(highest / _C["count_ticks"])))


def _band(low: float, high: float, **style: Any) -> Part:
    return {"type": "rect", "x0": low, "x1": high, "y0": 0, "y1": 1, "yref": "paper", **style}


def _tail_bands(plan: BinPlan, colours: Palette) -> list[Part]:
    """A band behind the bars beyond the drawn range, so that a tail is not read as one more bin."""
    ends = [(plan.edge(index) + _shift(plan, index), plan.edge(index + 1) + _shift(plan, index)) for index in plan.tails]
    return [_band(low, high, fillcolor=colours.band, line={"width": 0}, layer="below") for low, high in ends]


def _bound_lines(plan: BinPlan, colours: Palette) -> list[Part]:
    style = {"color": colours.text, "width": 1, "dash": "dot"}
    return [{"type": "line", "x0": line, "x1": line, "y0": 0, "y1": 1, "yref": "paper", "line": style} for line in plan.lines()]


def _frame(plan: BinPlan, chosen: BinRange | None, colours: Palette) -> list[Part]:
    """An outline around the chosen range."""
    if chosen is None:
        return []
    return [_band(_end(plan, chosen.first, 0), _end(plan, chosen.last, 1), fillcolor=CLEAR, line={"color": colours.accent, "width": 1})]


def _bound_notes(plan: BinPlan, sides: Sides, colours: Palette) -> list[Part]:
    """What stands above the bound: the count on each side of it, and the rule."""
    style = {"size": _C["small_font_size"], "color": colours.text}
    return [
        {"x": x, "y": 1, "yref": "paper", "xanchor": anchor, "yanchor": "bottom", "text": text, "showarrow": False, "font": style}
        for x, text, anchor in _placed_notes(plan, sides)
    ]


def _placed_notes(plan: BinPlan, sides: Sides) -> list[tuple[float, str, str]]:
    """(place, text, anchor) of each note above the bound."""
    lines = plan.lines()
    if not lines:
        return []
    if plan.measure.closed == "mirrored":
        return _notes_of_two(plan, sides, lines) if len(lines) > 1 else _one_of_two(plan, sides, lines[0])
    return _at_the_line(plan, lines[0], f"{words.count(sides.low)} fail", f"<b>{bound_sign(plan)}</b>: {words.count(sides.inside)} hold")


def _at_the_line(plan: BinPlan, line: float, left: str, right: str) -> list[tuple[float, str, str]]:
    """A note on each side of a line; one note, kept inside the chart, where a side has no room for its own."""
    low, high = _end(plan, None, 0), _end(plan, None, 1)
    place = (line - low) / (high - low)
    if _room(left) <= place <= 1 - _room(right):
        return [(line, f"{left} ", "right"), (line, f" {right}", "left")]
    at_left = place < _C["centre"]
    # away from its line the rule says what it is
    said = f"{left} · {right}".replace("<b>", "<b>bound ")
    return [(low if at_left else high, said, "left" if at_left else "right")]


def _room(note: str) -> float:
    """The share of the chart that a note takes where the chart is narrow: the rule with its count, or a count alone."""
    least, most = sorted(_C["note_room"])
    return float(most if "<b>" in note else least)


def _notes_of_two(plan: BinPlan, sides: Sides, lines: Sequence[float]) -> list[tuple[float, str, str]]:
    """The notes of a bound with two lines: three of them, or one where the band between the lines is too narrow for its own."""
    low, high = _end(plan, None, 0), _end(plan, None, 1)
    below, above = (f"{words.count(count)} fail" for count in (sides.low, sides.high))
    rule = f"<b>{bound_sign(plan)}</b>: {words.count(sides.inside)}"
    if (lines[-1] - lines[0]) / (high - low) >= _C["band_room"]:
        return [(lines[0], f"{below} ", "right"), (0.0, rule, "center"), (lines[-1], f" {above}", "left")]
    return [((low + high) * _C["centre"], f"{below} · {rule} · {above}", "center")]


def _one_of_two(plan: BinPlan, sides: Sides, line: float) -> list[tuple[float, str, str]]:
    """The notes where one side of a mirrored bound is drawn and the other lies beyond the chart: what holds lies between the two. Pairs that fail
    on the side that is not drawn are in the tail there, and counted with what they stand beside."""
    upper = line > 0
    unseen, seen = (sides.low, sides.high) if upper else (sides.high, sides.low)
    said = [f"<b>{bound_sign(plan)}</b>: {words.count(sides.inside)}", *([f"{words.count(unseen)} fail"] if unseen else [])]
    held, failed = " · ".join(reversed(said) if upper else said), f"{words.count(seen)} fail"
    return _at_the_line(plan, line, *((held, failed) if upper else (failed, held)))
