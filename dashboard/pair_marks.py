"""Marks on pairs: seen, disputed. They belong to a person and a round, name a pair by its id, and decide nothing.

The buttons act on the pair that stood on the screen when they were drawn, and say which one it is.
"""
from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import streamlit as st

from core.errors import CountersignError
from core.sampling.marks import Kind, Marked, Marks
from core.settings import SETTINGS
from dashboard import blocks, components, pair_loaders, words
from dashboard.blocks import Span, badge, link, mono, muted, text
from dashboard.frame import View

_ERROR: Final = "marks_error"
_NAMED: Final[int] = SETTINGS["display"]["named_ids"]


def marks_of(view: View, person: str | None) -> Marks | None:
    """The marks of a person on the round that is shown; None where nobody said who sits here."""
    return None if person is None else Marks(view.workspace, view.round.digest, person)


def read(marks: Marks | None) -> Marked:
    """What is marked now; none, and the error on the page, where the file cannot be read."""
    if marks is None:
        return Marked()
    try:
        return marks.read()
    except CountersignError as error:
        components.error_notice("marks", error)
        return Marked()


def put(marks: Marks, kind: Kind, pair_id: str) -> None:
    """Callback: mark exactly this pair."""
    try:
        marks.put(kind, pair_id, datetime.now(UTC))
    except CountersignError as error:
        st.session_state[_ERROR] = error


def buttons(marks: Marks | None, marked: Marked, pair_id: str) -> None:
    """Dispute and seen, by key too. Disabled until somebody says who sits here."""
    nobody = marks is None
    if pair_id in marked.disputed:
        st.button("Withdraw", key="undispute_pair", shortcut="d", icon=":material/undo:", on_click=put,
                  args=(marks, "undisputed", pair_id))
    else:
        st.button("Dispute", key="dispute_pair", shortcut="d", icon=":material/flag:", disabled=nobody, on_click=put,
                  args=(marks, "disputed", pair_id))
    st.button("Seen", key="see_pair", shortcut="s", icon=":material/check:", disabled=nobody or pair_id in marked.seen, on_click=put,
              args=(marks, "seen", pair_id))


def state(marks: Marks | None, marked: Marked, pair_id: str) -> None:
    """Below the buttons: what is marked about the open pair, and how much in all; why the buttons are disabled."""
    error: CountersignError | None = st.session_state.pop(_ERROR, None)
    if error is not None:
        components.error_notice("mark", error)
    if marks is None:
        said = "Say who you are in the side bar to mark pairs as seen or to dispute them."
        components.sheet("marks", blocks.paragraph(muted(said, blocks.SMALL)))
        return
    groups: list[list[Span]] = []
    if pair_id in marked.disputed:
        groups.append([badge("disputed", "bad", "warning"), text(" you are disputing "), mono(pair_id)])
    if pair_id in marked.seen:
        groups.append([badge("seen", "ok", "check"), muted(" by you", blocks.SMALL)])
    said = f"In this round you marked {words.plural(len(marked.seen), 'pair')} as seen and dispute {words.count(len(marked.disputed))}."
    groups.append([muted(said, blocks.SMALL)])
    components.sheet("marks", blocks.line(*groups))


def disputed_spans(view: View, marked: Marked) -> list[Span]:
    """The disputed pairs, each a way to it, the first ones by name."""
    spans: list[Span] = []
    for pair_id in marked.disputed[:_NAMED]:
        found = pair_loaders.pair(view, pair_id)
        name = link(pair_id, "rejected", pair=pair_id, state=found[0]["state"]) if found else mono(pair_id)
        spans += [*([text(", ")] if spans else []), name, *([muted(f" ({found[0]['state']})")] if found else [])]
    left = len(marked.disputed) - _NAMED
    return [*spans, *([muted(f" and {words.count(left)} more")] if left > 0 else [])]
