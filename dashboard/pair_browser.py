"""The browser of pairs: what there is on the left, one page of the list, the open pair on the right.

It serves rejected, admitted and held pairs, and the rows that ingest quarantined. The URL alone says what is shown, and
what is open is a pair id: when a filter takes that pair out of view, the selection is dropped and the page says so.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import streamlit as st

from core.rounds.queries import PAGE_ROWS, SORTS
from core.sampling.marks import Marked
from core.settings import SETTINGS
from dashboard import blocks, components, cutoff_view, navigation, pair_list, pair_loaders, pair_marks, pair_panel, words
from dashboard.frame import View
from dashboard.pair_params import QUARANTINED, PairView
from dashboard.pair_words import ORDER_TITLES

_DESK: Final = SETTINGS["dashboard"]
_ANY: Final = "any"
_ORIGINS: Final = ("any", "verified", "synthetic")
_WIDGETS: Final = {"order": "pair_order", "origin": "pair_origin", "judge": "pair_judge", "search": "pair_search"}
"""Part of the view -> key of its widget. The URL is the source: a widget is set from it on each run and writes back to it."""


def browse(view: View, shown: PairView) -> None:
    """The whole browser below the headline."""
    if shown.state == QUARANTINED:
        _quarantine(view, shown)
        return
    rows, shown = _page(view, shown)
    with st.container(key="pair_browser"):
        rail, middle, right = st.columns(_DESK["browser_columns"], gap="medium")
    with rail:
        _rail(view, shown)
    opened, dropped = open_pair(view, shown, rows)
    marks = pair_marks.marks_of(view, view.person)
    marked = pair_marks.read(marks)
    with middle:
        _list(view, shown, rows, opened, marked)
    with right:
        if dropped:
            components.sheet("dropped", blocks.notice("note", "off", [
                blocks.mono(str(shown.pair)), " is not in this view, so it is not open any more.",
                *([" The first pair of the page is shown."] if opened else []),
            ]))
        if opened is not None:
            with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="pair_steps"):
                _steps(view, shown, rows, opened)
                pair_marks.buttons(marks, marked, opened)
            pair_marks.state(marks, marked, opened)
            _pair(view, opened)


def _page(view: View, shown: PairView) -> tuple[pair_loaders.Rows, PairView]:
    """The page of the list; the last one where the URL names a page beyond it."""
    rows = pair_loaders.pair_page(view, shown.filter(), sort=shown.sort, page=shown.page)
    if rows or shown.page == 1:
        return rows, shown
    first = pair_loaders.pair_page(view, shown.filter(), sort=shown.sort, page=1)
    shown = replace(shown, page=pages_of(first[0]["total"]) if first else 1)
    return pair_loaders.pair_page(view, shown.filter(), sort=shown.sort, page=shown.page), shown


def pages_of(total: int) -> int:
    """How many pages a list has; at least one."""
    return max(1, -(-total // PAGE_ROWS))


def open_pair(view: View, shown: PairView, rows: pair_loaders.Rows) -> tuple[str | None, bool]:
    """The pair to show, and whether the one that was asked for is not in this view."""
    first = rows[0]["pair_id"] if rows else None
    if shown.pair is None:
        return first, False
    if any(row["pair_id"] == shown.pair for row in rows):
        return shown.pair, False
    there = pair_loaders.pair_page(view, replace(shown.filter(), pair_id=shown.pair), sort=shown.sort, page=1)
    return (shown.pair, False) if there else (first, True)


def _rail(view: View, shown: PairView) -> None:
    plans = pair_loaders.plans(view)
    if shown.state == "rejected":
        narrowed = shown.ranges or shown.origin or shown.judge or shown.search
        note = [blocks.paragraph(blocks.muted("Counts of the whole round; the list beside is narrower.", blocks.SMALL))] if narrowed else []
        components.sheet("reasons", pair_list.reasons_table(shown, pair_loaders.reasons(view), plans), *note)
    elif shown.state == "held":
        components.sheet("held", pair_list.held_table(pair_loaders.held(view), shown, plans))
    judges = pair_loaders.judges(view, shown.state)
    st.session_state[_WIDGETS["order"]] = shown.sort
    st.selectbox("Order", list(SORTS), key=_WIDGETS["order"], format_func=ORDER_TITLES.__getitem__, on_change=_changed, args=("order",))
    if judges:
        st.session_state[_WIDGETS["origin"]] = shown.origin or _ANY
        st.segmented_control("Origin", _ORIGINS, key=_WIDGETS["origin"], required=True, on_change=_changed, args=("origin",))
        st.session_state[_WIDGETS["judge"]] = shown.judge if shown.judge in judges else _ANY
        st.selectbox("Judge", [_ANY, *judges], key=_WIDGETS["judge"], format_func=components.selectable, on_change=_changed, args=("judge",))
    _search(shown)
    parts = pair_list.parts_blocks(pair_list.reason_parts(view.document["curation"])) if shown.state == "rejected" else []
    if parts:
        components.sheet("reason-parts", *parts)


def _search(shown: PairView) -> None:
    st.session_state[_WIDGETS["search"]] = shown.search or ""
    st.text_input(
        "Search", key=_WIDGETS["search"], type="search", placeholder="id, prompt or answers", max_chars=SETTINGS["text"]["id_characters"],
        on_change=_changed, args=("search",),
    )


def _changed(name: str) -> None:
    """Callback: put a filter into the URL. Another filter means another list, so its page and its open pair go."""
    value = st.session_state[_WIDGETS[name]]
    navigation.set_view(**{name: None if value in (None, "", _ANY) else str(value)}, pairs_page=None, pair=None)


def _list(view: View, shown: PairView, rows: pair_loaders.Rows, opened: str | None, marked: Marked) -> None:
    plans = pair_loaders.plans(view)
    chips = pair_list.filter_chips(shown, plans)
    if chips:
        components.sheet("chips", blocks.line(*chips))
    if not rows:
        narrowed = bool(chips) or shown.reason is not None
        components.state_notice(
            "none", "empty", "No pair matches." if narrowed else f"No pair is {shown.state}.",
            ["Take a filter off, or ", blocks.link("show all", "rejected", state=shown.state), "."] if narrowed else "Choose another list above.",
        )
        return
    components.sheet("place", pair_list.page_line(shown, len(rows), rows[0]["total"], plans))
    with st.container(height=_DESK["browser_height"], border=False, key="pair_list"):
        components.sheet("pairs", pair_list.pairs_table(rows, shown, opened, plans, marked))


def _steps(view: View, shown: PairView, rows: pair_loaders.Rows, opened: str) -> None:
    """Previous and next, by key too; across pages."""
    previous, following = neighbours(view, shown, rows, opened)
    _step("Previous", "k", previous)
    _step("Next", "j", following)


def _step(label: str, key: str, target: tuple[str, int] | None) -> None:
    change = {} if target is None else {"pair": target[0], "pairs_page": str(target[1]) if target[1] != 1 else None}
    if label == "Previous":
        st.button("Previous", key="previous_pair", shortcut="k", icon=":material/arrow_upward:", disabled=target is None,
                  on_click=navigation.set_view, kwargs=change)
    else:
        st.button("Next", key="next_pair", shortcut="j", icon=":material/arrow_downward:", disabled=target is None,
                  on_click=navigation.set_view, kwargs=change)


def neighbours(view: View, shown: PairView, rows: pair_loaders.Rows, opened: str) -> tuple[tuple[str, int] | None, tuple[str, int] | None]:
    """(pair id, page) before and after the open pair in this list, or None at its ends."""
    ids = list(dict.fromkeys(row["pair_id"] for row in rows))
    if opened not in ids:
        return None, (ids[0], shown.page) if ids else None
    here = ids.index(opened)
    before = (ids[here - 1], shown.page) if here else _edge(view, shown, shown.page - 1, -1)
    after = (ids[here + 1], shown.page) if here + 1 < len(ids) else _edge(view, shown, shown.page + 1, 0)
    return before, after


def _edge(view: View, shown: PairView, page: int, position: int) -> tuple[str, int] | None:
    rows = pair_loaders.pair_page(view, shown.filter(), sort=shown.sort, page=page) if page > 0 else []
    return (rows[position]["pair_id"], page) if rows else None


def _pair(view: View, pair_id: str) -> None:
    found = pair_loaders.pair(view, pair_id)
    limit = SETTINGS["display"]["named_ids"]
    if len(found) > 1:
        components.sheet("shared", blocks.notice("warning", "off", [
            f"{words.count(found[0]['shared_by'])} rows of the input share this id; each is invalid.",
            *([f" The first {words.count(limit)} are shown."] if len(found) > limit else []),
        ]))
    for pair in found[:limit]:
        _one(view, pair)


def _one(view: View, pair: dict[str, Any]) -> None:
    key = f"pair-{pair['ordinal']}"
    components.sheet(
        key, *pair_panel.head(pair, view.manifest.verification), *pair_panel.reasons_blocks(pair), pair_panel.figures_table(pair, view.grid),
        *pair_panel.collision_blocks(pair),
    )
    _texts(view, pair, key)
    for position, (other, _) in enumerate(pair_panel.collisions(pair)):
        with st.expander("Show the admitted pair that holds the key", icon=":material/content_copy:"):
            for match in pair_loaders.pair(view, other)[:1]:
                shown = [*pair_panel.head(match, view.manifest.verification), pair_panel.figures_table(match, view.grid)]
                components.sheet(f"{key}-other-{position}", *shown)
                _texts(view, match, f"{key}-other-{position}")
    keys = pair_panel.keys_blocks(pair)
    if keys:
        with st.expander("Structural keys", icon=":material/key:"):
            components.sheet(f"{key}-keys", *keys)


def _texts(view: View, pair: dict[str, Any], key: str) -> None:
    texts = pair_loaders.texts(view, pair["ordinal"])
    if texts is None:
        components.state_notice(f"{key}-texts", "broken", "The texts of this pair are not in the round folder.", "Run countersign round check.")
        return
    above, chosen, rejected = pair_panel.text_columns(pair, texts)
    components.sheet(f"{key}-prompt", *cutoff_view.pair_blocks(view.manifest.cutoff, pair, texts), *above)
    both = st.grid(SETTINGS["charts"]["columns"], min_column_width=_DESK["text_column_width"], gap="small")
    with both.cell():
        components.sheet(f"{key}-chosen", *chosen)
    with both.cell():
        components.sheet(f"{key}-rejected", *rejected)


def _quarantine(view: View, shown: PairView) -> None:
    total = pair_loaders.counts(view).quarantined
    if not total:
        components.state_notice("quarantine", "done", "No row was quarantined: every row that came in could be typed.", "Choose another list above.")
        return
    _search(shown)
    rows = pair_loaders.quarantined(view, search=shown.search, page=shown.page)
    if not rows:
        components.state_notice("quarantine", "empty", "No quarantined row matches.", "Search for something else, or clear the search.")
        return
    components.sheet(
        "quarantine", pair_list.page_line(shown, len(rows), rows[0]["total"], {}, noun="in order of place"), pair_list.quarantine_table(rows),
    )
