"""The four linked charts of the Curation page: brushing one narrows the others; the range lives in the URL."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import plotly.graph_objects as go
import pyarrow as pa
import streamlit as st

from core.rounds.query_bins import BinPlan, BinRange
from core.settings import SETTINGS
from dashboard import blocks, chart_words, charts, components, curation_view, navigation, pair_loaders, theme_watch
from dashboard.frame import View
from dashboard.pair_params import RANGE_KEYS, brushed, range_param, ranges_of

_ORDER: Final = ("drift", "margin", "ratio", "loss")


def plain(key: str, figure: go.Figure, sentence: str) -> None:
    """A chart without brushing, and its sentence below."""
    st.plotly_chart(figure, key=f"chart-{key}", theme=None, config=charts.CONFIG)
    components.sheet(f"said-{key}", blocks.paragraph(blocks.muted(sentence, blocks.SMALL)))


@st.fragment
def linked(view: View) -> None:
    """Legend, what narrows the view, the four charts, and the way to the pairs. A fragment: a brush draws this part again and
    leaves the rest of the page as it is."""
    plans = pair_loaders.plans(view)
    if not plans:
        components.state_notice(
            "charts", "undefined", "No pair has figures that could be drawn: every one is an invalid record.",
            ["See ", blocks.link("what is wrong with them", "rejected", reason="invalid_record"), "."],
        )
        return
    ranges = ranges_of(st.query_params.to_dict(), plans)
    judge = navigation.view("judge")
    rows = pair_loaders.histograms(view, ranges, judge)
    invalid = next(row["primary_pairs"] for row in pair_loaders.reasons(view) if row["reason"] == "invalid_record")
    drawn = {row["state"]: row["pairs"] for row in pair_loaders.means(view)}
    chips = curation_view.chips(ranges, judge, plans)
    components.section("charts", "Four figures of each pair", blocks.line(*curation_view.legend(drawn, invalid)))
    if chips:
        chosen = in_every_range(rows, plans, ranges)
        components.sheet("chips", blocks.line(*chips), blocks.paragraph(*curation_view.see_pairs(chosen, ranges, judge, plans)))
    ignored = unread_ranges(st.query_params.to_dict(), plans)
    if ignored:
        components.sheet("ignored", blocks.notice("warning", "off", [
            "These ranges of the address mean nothing here and are left out: ", *[blocks.mono(f"{name}={value} ") for name, value in ignored.items()],
        ]))
    _by_numbers(plans)
    side_by_side = st.grid(SETTINGS["charts"]["columns"], min_column_width=SETTINGS["charts"]["column_width"], gap="small", border=True)
    for name in _ORDER:
        if name in plans:
            with side_by_side.cell():
                _chart(rows, plans[name], {item.measure: item for item in ranges})


def _by_numbers(plans: Mapping[str, BinPlan]) -> None:
    """The same as a brush, for those who do not drag: a figure, from, to."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        components.sheet("hint", blocks.paragraph(blocks.muted("Drag over a chart to narrow the other three, or", blocks.SMALL)), width="content")
        with st.popover("set a range by numbers", icon=":material/tune:"), st.form("range_form", border=False):
            st.selectbox("Figure", [name for name in _ORDER if name in plans], key="range_figure", format_func=_figure_title)
            st.number_input("From (empty: no lower end)", value=None, key="range_from", step=None, format="%g")
            st.number_input("To (empty: no upper end)", value=None, key="range_to", step=None, format="%g")
            st.form_submit_button("Narrow", on_click=_commit_numbers)


def _figure_title(name: str) -> str:
    said = chart_words.MEASURE_WORDS[name]
    return f"{said.title}, {said.unit}"


def _commit_numbers() -> None:
    """Callback: put the typed range into the URL; the page says so where it means nothing."""
    low, high = st.session_state["range_from"], st.session_state["range_to"]
    written = ":".join("" if end is None else repr(float(end)) for end in (low, high))
    navigation.set_view(**{RANGE_KEYS[st.session_state["range_figure"]]: written if written != ":" else None})


def unread_ranges(params: Mapping[str, str], plans: Mapping[str, BinPlan]) -> dict[str, str]:
    """Ranges of the URL that mean nothing in this round."""
    read = {item.measure for item in ranges_of(params, plans)}
    return {key: params[key] for name, key in RANGE_KEYS.items() if params.get(key) and name not in read}


def _chart(rows: pa.Table, plan: BinPlan, ranges: Mapping[str, BinRange]) -> None:
    name = plan.measure.name
    chosen = ranges.get(name)
    bars = chart_words.bars_of(rows, name)
    # the range is part of the key: the drawn brush goes when the range does, and no stale one is sent again
    key = f"brush-{name}-{range_param(chosen, plan) if chosen else 'none'}"
    st.plotly_chart(
        charts.histogram(bars, plan, theme_watch.colours(), chosen), key=key, theme=None, config=charts.CONFIG, selection_mode="box",
        on_select=lambda: commit_brush(plan, st.session_state[key]),
    )
    components.sheet(f"said-{name}", blocks.paragraph(blocks.muted(chart_words.chart_sentence(bars, plan), blocks.SMALL)))


def commit_brush(plan: BinPlan, event: Mapping[str, Any]) -> None:
    """Callback: put the brushed range into the URL. An empty brush changes nothing; a range goes by its chip."""
    boxes = event.get("selection", {}).get("box", [])
    if not boxes or not boxes[0].get("x"):
        return
    ends = boxes[0]["x"]
    chosen = brushed(plan, (float(min(ends)), float(max(ends))))
    if chosen is not None:
        navigation.set_view(**{RANGE_KEYS[plan.measure.name]: range_param(chosen, plan)})


def in_every_range(rows: pa.Table, plans: Mapping[str, BinPlan], ranges: tuple[BinRange, ...]) -> dict[str, int]:
    """Pairs by state that lie in all chosen ranges: one chart, which the others have narrowed already, cut to its own range."""
    name = ranges[0].measure if ranges else next(iter(plans))
    own = ranges[0] if ranges else None
    found: dict[str, int] = {}
    for row in rows.to_pylist():
        if row["measure"] != name or (own is not None and not _inside(row["bin"], own)):
            continue
        found[row["state"]] = found.get(row["state"], 0) + row["pairs"]
    return found


def _inside(index: int | None, chosen: BinRange) -> bool:
    if index is None:
        return False
    return (chosen.first is None or index >= chosen.first) and (chosen.last is None or index <= chosen.last)
