"""The moving parts of the Holdout page: what the workspace knows about the lock, the list of flips, the open item."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import streamlit as st

from core.errors import CountersignError
from core.gates.exposure_report import exposure_of
from core.gates.holdout import differences_from_locked
from core.gates.holdout_evidence import HoldoutReport, holdout_report
from core.grid import Grid
from core.rounds.folder import Round
from core.settings import SETTINGS
from core.signing.status import lock_words
from dashboard import blocks, components, holdout_strength, holdout_view, loaders, navigation, unchecked, words
from dashboard.blocks import Block, Span
from dashboard.frame import View

_CHOICE: Final = "flips_choice"
_UNFIT: Final = ("unknown_item", "duplicate_outcome", "missing_outcome")
"""Reasons of a refusal that stand for outcomes which do not fit the holdout."""


@st.cache_resource(max_entries=SETTINGS["dashboard"]["open_databases"], show_spinner=False)
def _report(folder: str, _source: Round, _document: Mapping[str, Any], _grid: Grid) -> HoldoutReport | None:
    return holdout_report(_source, _document, _grid)


def report(view: View) -> HoldoutReport | None:
    """What the outcomes can prove; kept for (round, grid, code), which the assessment's folder names."""
    return _report(str(view.computed.folder), view.round, view.document, view.grid)


def strength(view: View, found: HoldoutReport) -> None:
    """Tests and what so many items can show, side by side; checks, slices, repeated runs."""
    left, right = st.columns([1, 1], gap="medium")
    with left:
        components.section("tests", "Is the gain more than chance?", *holdout_strength.tests_blocks(found))
    with right:
        components.section("reach", "What this many items can show", *holdout_strength.reach_blocks(found))
    names = [check["name"] for check in view.document["checks"] if check["page"] == "holdout"]
    components.section("distances", "How far each check is from flipping", holdout_strength.checks_table(found, names))


def parts(found: HoldoutReport) -> None:
    """The outcomes slice by slice, and the runs of an item where there are several."""
    components.section("slices", "Slices", *holdout_strength.slices_blocks(found))
    if found.runs:
        components.section("runs", "Several runs of an item", *holdout_strength.runs_blocks(found.runs))


def exposure(view: View) -> None:
    """How often these items were looked at, as the workspace's record stands now."""
    try:
        found = exposure_of(view.workspace, view.round, view.grid)
    except CountersignError as error:
        components.section("looks", "Earlier looks: unknown")
        components.error_notice("looks", error)
        return
    components.section("looks", holdout_strength.exposure_title(found), *holdout_strength.exposure_blocks(found))


def lock(view: View) -> list[Block]:
    """The lock's block, with its witness and what differs."""
    stored = view.document["holdout"]["lock"]
    differences = None if stored["holds"] else differences_from_locked(view.workspace, view.round, stored["registered"])
    leaks = unchecked.holdout_spans(view, at_once=False) if view.round.has("pairs") and view.round.pair_count else []
    return holdout_view.lock_block(stored, view.manifest.holdout_lock, witness(view), differences, leaks)


def witness(view: View) -> Sequence[Span | str]:
    """Who witnessed the registration: a ledger entry before this proposal, or nobody but the proposer."""
    if view.desk.ledger is None:
        return [blocks.muted("unknown: the ledger cannot be read")]
    proposal = None if view.status is None else view.status.proposal
    index = None if proposal is None else proposal.index
    return [blocks.text(lock_words(view.desk.signed or view.desk.ledger, view.round.holdout_digest, index))]


def no_outcomes(view: View) -> tuple[str, str]:
    """Why there is no paired table, and the next step."""
    reasons = [item for item in (view.document["refusal"] or {}).get("reasons", ()) if item["code"] in _UNFIT]
    if reasons:
        return f"The outcomes do not fit the holdout: {reasons[0]['detail']}.", "Neither the lock nor the outcomes can be trusted: ask the proposer."
    return "No outcomes were supplied.", "Ask the proposer for both arms' outcomes on these items."


def flips(view: View) -> None:
    """The flips, regressions first, a page at a time; one is open beside them."""
    outcomes = view.document["holdout"]["outcomes"]
    changed = outcomes["regressions"] + outcomes["fixes"]
    components.section("flips", f"{words.plural(changed, 'item')} flipped: {holdout_view.lost_and_fixed(outcomes)}")
    if not changed:
        components.sheet("no-flips", blocks.paragraph(blocks.muted("Both arms give the same outcome on every item.")))
        return
    shown = navigation.choice("flips", ("all", "lost", "fixed"))
    st.session_state[_CHOICE] = shown
    st.segmented_control(
        "Show", ["all", "lost", "fixed"], required=True, key=_CHOICE, label_visibility="collapsed", on_change=_show_flips,
    )
    listed = holdout_view.flip_ids(outcomes, shown)
    kinds = {item: kind for kind, item in _page_of(listed)}
    opened = navigation.view("item") if navigation.view("item") in kinds else next(iter(kinds), None)
    left, right = st.columns(SETTINGS["dashboard"]["narrow_wide"], gap="medium")
    with left:
        rows = [(kinds[row["id"]], row) for row in loaders.outcome_items(view.round, view.computed, tuple(kinds))]
        components.sheet("flip-list", holdout_view.flips_table(rows, loaders.holdout_items(view.round), opened, _kept()))
    with right:
        if opened is not None:
            item = loaders.holdout_items(view.round).get(opened, {"id": opened})
            components.sheet("flip-item", *holdout_view.item_blocks(item, view.queries().outcome_item(opened), kinds[opened]))


def _kept() -> dict[str, str]:
    return {name: value for name in ("flips", "flips_page", "against") if (value := navigation.view(name)) is not None}


def _show_flips() -> None:
    shown = st.session_state[_CHOICE]
    navigation.set_view(flips=None if shown in (None, "all") else shown, flips_page=None, item=None)


def _page_of(listed: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The flips of the page that is open, with the way to the others below."""
    size = SETTINGS["display"]["page_rows"]
    page = components.pager("flips_page", max(-(-len(listed) // size), 1))
    return listed[(page - 1) * size: page * size]


def canaries(view: View) -> list[dict[str, Any]]:
    """The canaries, lost ones first."""
    rows: list[dict[str, Any]] = view.queries().canaries().to_pylist()
    return rows
