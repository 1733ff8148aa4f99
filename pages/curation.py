"""Curation: which pairs would train the next generation? The funnel, four linked histograms, admitted against rejected."""
from __future__ import annotations

import streamlit as st

from core.settings import SETTINGS
from dashboard import (
    blocks,
    components,
    curation_charts,
    curation_view,
    cutoff_desk,
    cutoff_view,
    frame,
    funnel_chart,
    pair_loaders,
    rollouts_desk,
    theme_watch,
)

view = frame.open_round("curation")
counts = pair_loaders.counts(view)
if not view.round.has("pairs"):
    components.headline("curation", "This round has no pairs")
    components.state_notice(
        "curation", "incomplete", "The proposer supplied no candidate pairs, so there is nothing to curate.",
        "Judges and Holdout show what was supplied; ask the proposer for the pairs.",
    )
    st.stop()
if not counts.total:
    components.headline("curation", "No pair came in")
    components.state_notice("curation", "empty", "The part was supplied and is empty.", "Ask the proposer whether that was meant.")
    st.stop()

trap = curation_view.trap_spans(pair_loaders.trap(view), float(view.grid.fraction("min_dpo_margin")))
lead = [*cutoff_view.lead_spans(view.document.get("cutoff")), *trap]
components.headline("curation", curation_view.headline_words(counts), lead=lead or None)
rollouts_desk.pointer(view)

reasons = pair_loaders.reasons(view)
side_by_side = st.grid(SETTINGS["charts"]["columns"], min_column_width=SETTINGS["charts"]["wide_column_width"], gap="medium")
with side_by_side.cell():
    steps = funnel_chart.funnel_steps(counts, reasons)
    curation_charts.plain("funnel", funnel_chart.funnel(steps, theme_watch.colours()), funnel_chart.funnel_sentence(counts, reasons))
with side_by_side.cell():
    components.section(
        "means", "On average", curation_view.means_table(pair_loaders.means(view), pair_loaders.nearest(view), pair_loaders.plans(view)),
        blocks.paragraph(blocks.muted("Means over pairs with figures, for reading only: the receipt's means are exact.", blocks.SMALL)),
    )

cutoff_desk.section(view)
curation_charts.linked(view)
theme_watch.watch()
