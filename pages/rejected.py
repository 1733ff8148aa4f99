"""Rejected pairs: why is a pair not used? Reasons whose counts sum, the list, one pair in full; admitted, held and quarantined rows too."""
from __future__ import annotations

import streamlit as st

from dashboard import blocks, components, frame, pair_browser, pair_list, pair_loaders, pair_words
from dashboard.pair_params import pair_view

view = frame.open_round("rejected")
if not view.round.has("pairs"):
    components.headline("rejected", "This round has no pairs")
    components.state_notice(
        "rejected", "incomplete", "The proposer supplied no candidate pairs, so none was rejected.",
        "Judges and Holdout show what was supplied; ask the proposer for the pairs.",
    )
    st.stop()
shown = pair_view(st.query_params.to_dict(), pair_loaders.plans(view))
counts = pair_loaders.counts(view)
reasons = pair_loaders.reasons(view)
components.headline("rejected", pair_words.headline_words(shown.state, counts, reasons, pair_loaders.held(view)))
lines = [pair_list.states_line(shown, counts)]
if shown.state == "rejected":
    lines.append(blocks.paragraph(blocks.muted(pair_list.sum_words(reasons), blocks.SMALL)))
components.sheet("states", *lines)
pair_browser.browse(view, shown)
