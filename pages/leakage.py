"""Leaks and style: do the pairs repeat the locked holdout or each other, are they made of the rollouts, and what else would they teach?"""
from __future__ import annotations

import streamlit as st

from dashboard import blocks, components, contamination_desk, contamination_view, duplicates_desk, frame, pair_loaders, rollouts_desk, style_desk

view = frame.open_round("leakage")
if not view.round.has("pairs"):
    components.headline("leakage", "This round has no pairs")
    components.state_notice(
        "leakage", "incomplete", "The proposer supplied no candidate pairs, so there is nothing that could leak.",
        "Judges and Holdout show what was supplied; ask the proposer for the pairs.",
    )
    rollouts_desk.section(view)
    st.stop()
if not view.round.pair_count:
    components.headline("leakage", "No pair came in")
    quarantined = pair_loaders.counts(view).quarantined
    components.state_notice(
        "leakage", "empty", "Every row that was supplied is quarantined." if quarantined else "The part was supplied and is empty.",
        "Ask the proposer whether that was meant.",
    )
    rollouts_desk.section(view)
    st.stop()
found = contamination_desk.gather(view)
components.headline("leakage", contamination_desk.headline_words(view, found), lead=[blocks.muted(contamination_view.REPORT_ONLY)])
contamination_desk.section(view, found)
rollouts_desk.section(view)
duplicates_desk.section(view)
style_desk.section(view)
st.space("medium")
