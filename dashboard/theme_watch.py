"""Light or dark: which colours a chart is drawn in, and drawing it again when the browser changes from one to the other."""
from __future__ import annotations

from pathlib import Path
from typing import Final

import streamlit as st

from dashboard.palette import Palette, palette

_WATCH: Final = st.components.v2.component(
    "countersign_theme_watch", js=(Path(__file__).with_name("static") / "theme_watch.js").read_text("utf-8"), isolate_styles=False,
)


def colours() -> Palette:
    """The palette of the theme that this browser shows."""
    return palette(st.context.theme.type)


def watch() -> None:
    """Run the page again when the theme changes while it is open. Draws nothing; once a page, at its end."""
    drawn_for = "dark" if st.context.theme.type == "dark" else "light"
    _WATCH(key="theme_watch", data={"drawn_for": drawn_for}, on_changed_change=lambda: None)
