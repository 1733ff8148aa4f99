"""Holdout: is it the list that was registered, what did the candidate win and lose on it, and what does that prove?"""
from __future__ import annotations

import streamlit as st

from dashboard import behaviour_view, blocks, components, frame, holdout_compare, holdout_desk, holdout_strength, holdout_view, words

view = frame.open_round("holdout")
holdout = view.document["holdout"]

components.headline("holdout", holdout_view.headline_words(view.document))
if holdout is None:
    components.state_notice(
        "holdout", "incomplete", "The proposer supplied no holdout.",
        "A round without one cannot be promoted: ask for the registered list and both arms' outcomes.",
    )
else:
    report = holdout_desk.report(view)
    if report is not None:
        components.sheet("standing", holdout_strength.verdict_block(report, locked=holdout["lock"]["holds"]))
    left, right = st.columns([1, 1], gap="medium")
    with left:
        components.section("lock", "Lock", *holdout_desk.lock(view))
    with right:
        if report is None:
            components.state_notice("outcomes", "incomplete", *holdout_desk.no_outcomes(view))
        else:
            reducer = view.grid.name_of("outcome_run_reducer")
            components.section("gain", "Both arms", *holdout_view.gain_blocks(holdout["outcomes"], reducer, report.gain_interval_words))
    if report is not None:
        holdout_desk.strength(view, report)
        holdout_desk.flips(view)
        holdout_desk.parts(report)
        holdout_compare.comparison(view)
    if view.round.has("outcomes"):
        holdout_desk.exposure(view)
behaviour_view.section(view)
sanity = view.document["sanity"]
if sanity is None:
    components.section("canaries", "Canaries", blocks.paragraph("The proposer supplied none: nothing shows that the candidate forgot nothing."))
else:
    components.section("canaries", f"Canaries: {words.fraction(sanity['retention'])} kept", holdout_view.canaries_table(holdout_desk.canaries(view)))
st.space("medium")
