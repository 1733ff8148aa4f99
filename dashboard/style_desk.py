"""The moving parts of the style section: whose pairs are read, and whether the report is there."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import streamlit as st

from core.errors import CountersignError
from dashboard import blocks, components, leakage_loaders, navigation, pair_loaders, report_states, style_view
from dashboard.frame import View

_OF: Final = "style_of"
_OPTIONS: Final = ("Admitted pairs", "All pairs")


def section(view: View) -> None:
    """Whose pairs, what stands out, markers, phrases, lengths; or the state that the report is in."""
    components.section("style", "Style: what each side sounds like")
    admitted = _admitted(view)
    try:
        report = leakage_loaders.style(view, admitted=admitted, now=leakage_loaders.is_quick(view))
    except CountersignError as error:
        components.error_notice("style", error)
        return
    if report is None:
        # unlike the other commands this one does not look the proposal's grid up
        options = " --admitted" if admitted else ""
        report_states.too_large("style", view, report_states.command_of(view, "style", options))
        if st.button("Read the style now", key="compute_style", icon=":material/search:"):
            report_states.computed("style", lambda: leakage_loaders.style(view, admitted=admitted, now=True))
        return
    _report(report)


def _admitted(view: View) -> bool:
    """Whether the admitted pairs alone are read: they are what would be trained on."""
    if not pair_loaders.counts(view).admitted:
        components.sheet("style-all", blocks.paragraph(blocks.muted("No pair is admitted, so nothing would be taught. This is about all pairs.")))
        return False
    admitted = navigation.choice("of", ("admitted", "all")) == "admitted"
    st.session_state[_OF] = _OPTIONS[not admitted]
    st.segmented_control(
        "Pairs", ["Admitted pairs", "All pairs"], key=_OF, required=True, label_visibility="collapsed", on_change=_chosen,
    )
    return admitted


def _chosen() -> None:
    navigation.set_view(of="all" if st.session_state[_OF] == _OPTIONS[1] else None)


def _report(report: Mapping[str, Any]) -> None:
    parts = [
        style_view.teaching_block(report), style_view.markers_table(report), style_view.not_judged_block(report), style_view.method_block(report),
        style_view.phrases_table(report),
    ]
    components.sheet("markers", *[part for part in parts if part is not None])
    components.section("lengths", "Lengths", style_view.length_block(report))
