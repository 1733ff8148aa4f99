"""States that every report of the leakage page can be in: too large to compute while a page waits, a grid without its keys."""
from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from core.errors import CountersignError
from core.grid import default_grid
from dashboard import components, words
from dashboard.blocks import mono
from dashboard.frame import View


def command_of(view: View, name: str, options: str = "") -> str:
    """The command line that computes the same report."""
    return f"countersign {name} {words.short_digest(view.round.digest)}{options}"


def old_grid(key: str, view: View, lacking: Sequence[str], command: str) -> None:
    """The grid that the round is assessed under does not say how to look."""
    grid = view.grid
    components.state_notice(
        key, "undefined",
        f"Not looked for: grid {grid.name} version {grid.version} is of schema {grid.schema_version} and lacks {', '.join(lacking)}.",
        [f"A grid of schema {default_grid().schema_version} has them. To look under one without changing the proposal, run ",
         mono(f"{command} --grid FILE"), " in a terminal."],
    )


def too_large(key: str, view: View, command: str) -> None:
    """Nothing is stored, and the round is large: the terminal, or a wait that somebody asks for with the button below."""
    components.state_notice(
        key, "very_large", f"Not computed yet: {words.count(view.round.pair_count)} pairs are too many to read while a page waits.",
        ["Run ", mono(command), " in a terminal and open this page again, or start it here and wait."],
    )


def computed(key: str, compute: Callable[[], object]) -> None:
    """Compute a report that was asked for, then draw the page with it."""
    try:
        compute()
    except CountersignError as error:
        components.error_notice(key, error)
        return
    st.rerun()
