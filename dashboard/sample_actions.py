"""The callbacks of the Sample page, and what a session remembers while somebody judges.

Each callback gets what it acts on in its arguments, as it was when the button was drawn: a click on a pair that has a
label already changes nothing. A pair that has only just been drawn takes no judgement: the second half of a double click,
or a key that repeats, arrives there and was meant for the pair before.
"""
from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import streamlit as st

from core.errors import CountersignError
from core.grid import Grid
from core.sampling import Choice, Method, Review, Sample
from core.settings import SETTINGS
from dashboard import navigation, session, words

METHOD: Final = "sample_method"
"""Key of the widget that chooses the plan."""
METHODS: Final[dict[str, Method]] = {"One size": "fixed", "Step by step": "sequential"}
_JUDGING, _SHOWN, _ERROR = "sample_judging", "sample_shown", "sample_error"
_LEAST: Final[float] = SETTINGS["sampling"]["least_seconds"]


def clock() -> float:
    """Seconds that only grow."""
    return time.monotonic()


def is_judging(digest: str | None = None) -> bool:
    """Whether this session is in the middle of judging the round of the address (or of this digest) as the person who sits here."""
    kept = st.session_state.get(_JUDGING)
    named = st.query_params.get(navigation.ROUND_KEY) if digest is None else words.short_digest(digest)
    return kept is not None and kept == (named, session.person())


def leave() -> None:
    """Callback: stop judging for now; everything is stored."""
    st.session_state.pop(_JUDGING, None)


def take_error() -> CountersignError | None:
    """What the last callback could not do, once."""
    found: CountersignError | None = st.session_state.pop(_ERROR, None)
    return found


def mark_shown(pair_id: str) -> None:
    """Remember when this pair came on the screen."""
    if st.session_state.get(_SHOWN, ("", 0))[0] != pair_id:
        st.session_state[_SHOWN] = (pair_id, clock())


def _too_soon(pair_id: str) -> bool:
    shown, since = st.session_state.get(_SHOWN, ("", 0))
    return shown == pair_id and clock() - since < _LEAST


def _try(act: Callable[[], Sample], digest: str) -> None:
    """Do it; go on judging where pairs are left, else stop; keep an error for the page."""
    try:
        sample = act()
    except CountersignError as error:
        st.session_state[_ERROR] = error
        return
    if sample.next_pair is None:
        leave()
    else:
        st.session_state[_JUDGING] = (words.short_digest(digest), session.person())


def begin(review: Review, grid: Grid, digest: str) -> None:
    """Callback: draw a sample by the chosen plan, or go on with the one that was drawn."""
    method = METHODS[st.session_state.get(METHOD) or next(iter(METHODS))]
    _try(lambda: review.start(grid, method, datetime.now(UTC)), digest)


def judge(review: Review, digest: str, pair_id: str, choice: Choice) -> None:
    """Callback: record a judgement of exactly this pair."""
    if not _too_soon(pair_id):
        _try(lambda: review.judge(pair_id, choice, datetime.now(UTC)), digest)


def take_back(review: Review, digest: str, pair_id: str, shown: str) -> None:
    """Callback: take back the label of the pair judged last, while ``shown`` is on the screen."""
    if not _too_soon(shown):
        _try(lambda: review.take_back(pair_id, datetime.now(UTC)), digest)


def end(review: Review, digest: str) -> None:
    """Callback: end the sample; from here on its result is shown."""
    _try(lambda: review.end(datetime.now(UTC)), digest)
