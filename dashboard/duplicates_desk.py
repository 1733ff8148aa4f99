"""The moving parts of the near-duplicates section: which field, which cluster, which two of its texts."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import streamlit as st

from core.errors import CountersignError
from core.gates.cluster_list import PAGE_ROWS, ClusterList, similarity
from core.gates.near_duplicates import KEYS, NearDuplicateReport
from core.pairs.contamination import FIELDS
from dashboard import components, duplicates_view, leakage_loaders, navigation, pair_loaders, report_states, words
from dashboard.contamination_desk import list_box, side_by_side
from dashboard.duplicates_view import Opened
from dashboard.frame import View

_FIELD: Final = "similar_field"
_OPTIONS: Final = ("Prompts", "Chosen answers", "Rejected answers")


def section(view: View) -> None:
    """How much of a field is alike, the clusters, and two texts of the open one; or the state that the report is in."""
    components.section("similar", "Near-duplicates inside the round")
    field = navigation.choice("field", FIELDS)
    if lacking := leakage_loaders.lacking(view.grid, KEYS):
        report_states.old_grid("similar", view, lacking, report_states.command_of(view, "similar"))
        return
    st.session_state[_FIELD] = _OPTIONS[FIELDS.index(field)]
    st.segmented_control(
        "Compared", ["Prompts", "Chosen answers", "Rejected answers"], key=_FIELD, required=True, label_visibility="collapsed", on_change=_chosen,
    )
    try:
        report = leakage_loaders.near_duplicates(view, field, now=leakage_loaders.is_quick(view))
    except CountersignError as error:
        components.error_notice("similar", error)
        return
    if report is None:
        report_states.too_large("similar", view, report_states.command_of(view, "similar", "" if field == FIELDS[0] else f" --field {field}"))
        if st.button("Look for near-duplicates now", key="compute_similar", icon=":material/search:"):
            report_states.computed("similar", lambda: leakage_loaders.near_duplicates(view, field, now=True))
        return
    _report(view, report)


def _chosen() -> None:
    field = FIELDS[_OPTIONS.index(st.session_state[_FIELD])]
    navigation.set_view(field=field if field != FIELDS[0] else None, cluster=None, clusters_page=None, beside=None)


def _report(view: View, report: NearDuplicateReport) -> None:
    document, listed = report.document, leakage_loaders.clusters(view, report)
    components.sheet(
        "similar", duplicates_view.verdict_block(document, listed.pairs, listed.trained_together), duplicates_view.facts_block(document),
    )
    if not listed.total:
        return
    page = components.pager("clusters_page", max(-(-listed.total // PAGE_ROWS), 1))
    opened = duplicates_view.opened_of(st.query_params.to_dict(), page, listed.total)
    rows = listed.page(page)
    if opened.cluster is None:
        opened = replace(opened, cluster=rows[0]["cluster"])
    with list_box(len(rows), "cluster_list"):
        components.sheet("clusters", duplicates_view.clusters_table(rows, document, opened))
    _cluster(view, listed, opened)


def _cluster(view: View, listed: ClusterList, opened: Opened) -> None:
    assert opened.cluster is not None
    members = listed.members(opened.cluster)
    first, *others = members
    other = next((member for member in others if member["pair_id"] == opened.beside), others[0])
    size = listed.size(opened.cluster)
    components.sheet("members", *duplicates_view.members_blocks(members, size, opened, other))
    one, two = (pair_loaders.texts(view, member["ordinal"]) for member in (first, other))
    if one is None or two is None:
        components.state_notice("cluster", "broken", "The texts of this cluster are not in the round folder.", "Run countersign round check.")
        return
    _two_texts(view, first, other, one, two, opened.field)


def _two_texts(
    view: View, first: Mapping[str, Any], other: Mapping[str, Any], one: Mapping[str, Any], two: Mapping[str, Any], field: str,
) -> None:
    lead, left, right = duplicates_view.pair_of_texts(
        first, other, (one[field] or "", two[field] or ""), similarity(one, two, field, view.grid), field,
    )
    components.sheet("cluster-lead", lead)
    side_by_side(f"cluster-{words.count(first['ordinal'])}-{words.count(other['ordinal'])}", left, right)
