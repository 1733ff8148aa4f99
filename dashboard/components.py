"""The only ways by which text reaches the screen.

Markdown sinks of Streamlit fetch remote images, so text that is not written in this source never goes into one: not a
model's text, not a name, not a file name, not an error. It goes through :func:`sheet` (blocks of ``dashboard/blocks.py``,
drawn with ``textContent``) or :func:`code` (``st.code`` without a language).
``tests/unit/test_dashboard_sinks.py`` refuses every other sink with an argument that is not a literal, here too.

A page begins with :func:`headline`, the finding in one line; :func:`section` and :func:`state_notice` follow.
"""
from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import streamlit as st

from core.errors import CountersignError
from core.text import visible, visible_line
from dashboard import blocks, navigation, words
from dashboard.blocks import Block, Span

STATIC: Final = Path(__file__).with_name("static")
_SHEET: Final = st.components.v2.component(
    # each sheet brings its script along; the style sheet comes once, with the page (app.py)
    "countersign_sheet", js=(STATIC / "sheet.js").read_text("utf-8"), isolate_styles=False,
)

_LABEL: Final = re.compile(r"[A-Za-z0-9 ,.%·*\n\u2212]+")
"""What a label that is put together may hold: no bracket, colon, backtick, angle, dollar, so no image, link or directive."""

def sheet(key: str, *content: Block, width: str = "stretch") -> None:
    """Draw blocks one below the other. ``key``: unique on the page and stable between reruns; links in it work."""
    _SHEET(key=f"sheet-{key}", data={"blocks": list(content)}, width=width, on_go_change=lambda: _follow(f"sheet-{key}"))


def _follow(key: str) -> None:
    target: Any = st.session_state[key].get("go")
    if not isinstance(target, dict) or target.get("page") not in navigation.BY_KEY:
        return
    view = target.get("params") or {}
    navigation.open_view(target["page"], {name: str(view[name]) for name in view if name in navigation.VIEW_KEYS})


def headline(key: str, *spans: Span | str, lead: list[Span | str] | None = None) -> None:
    """The finding of the page in one line, and one sentence of evidence below it. Any text is safe here."""
    content = [blocks.heading(*spans, level="h1")]
    if lead:
        content.append(blocks.paragraph(*lead))
    sheet(f"headline-{key}", *content)


def section(key: str, title: str, *content: Block) -> None:
    """A heading of the second rank, and blocks below it."""
    sheet(f"section-{key}", blocks.heading(title), *content)


def state_notice(key: str, state: str, sentence: str | list[Span | str], next_step: str | list[Span | str], *, urgent: bool = False) -> None:
    """A state that a page can be in (a key of ``words.PAGE_STATES``): one sentence and one next step."""
    icon, tone = words.PAGE_STATES[state]
    said = [blocks.strong(sentence)] if isinstance(sentence, str) else sentence
    step = [next_step] if isinstance(next_step, str) else next_step
    sheet(f"state-{key}", blocks.notice(icon, tone, said, step, urgent=urgent))


def error_notice(key: str, error: CountersignError) -> None:
    """An error somebody can act on: the place, what was expected, what came, what to do. Reads as in a log or a terminal."""
    place = [blocks.text(f"{error.where}: ")] if error.where is not None and str(error.where) else []
    sheet(
        f"error-{key}",
        blocks.notice(
            "broken", "bad", [*place, blocks.strong(f"expected {error.expected}"), f"; got {error.got}."],
            [f"To do ({error.who}): {error.remedy}. ", blocks.mono(error.code, blocks.MUTED)], urgent=True,
        ),
    )


def _label(text: str) -> str:
    """The audited way into a Markdown label: figures and words of a closed set, none of the characters that could fetch or link."""
    if not _LABEL.fullmatch(text):
        raise ValueError(text)
    return text


def cell_button(
    key: str, cell: str, count: int, of: int, *, marked: bool, chosen: bool, on_click: Callable[..., None], args: tuple[str, ...],
) -> None:
    """A cell of a judge's table as a button: count, share, what the cell means. ``marked``: this cell keeps the gate closed."""
    meaning = ["**above the cap**" if marked else words.CELL_MEANINGS[cell], *(["open below"] if chosen else [])]
    said = f"**{words.count(count)}** · {words.share(count, of)}  \n{words.CELL_TITLES[cell]}  \n{' · '.join(meaning)}"
    st.button(
        _label(said), key=key, type="primary" if marked else "secondary", width="stretch", wrap=True, disabled=not count,
        on_click=on_click, args=args,
    )


def pager(name: str, pages: int) -> int:
    """The page of a list that is open, and the way to the others where there are any. ``name``: its key in the URL."""
    key = f"pager_{name}"
    st.session_state[key] = navigation.page_number(name, pages)
    if pages > 1:
        st.pagination(pages, key=key, on_change=_turn, args=(name, key))
    return int(st.session_state[key])


def _turn(name: str, key: str) -> None:
    page = int(st.session_state[key])
    navigation.set_view(**{name: str(page) if page > 1 else None})


def code(value: str, *, wrap: bool = True, height: int | None = None) -> None:
    """Any text in monospace, with a button that copies it as shown."""
    st.code(visible(value), language=None, wrap_lines=wrap, height=height or "content")


def selectable(value: str) -> str:
    """A text fit for a plain-text option (``st.selectbox``): one line, hidden characters visible."""
    return visible_line(value)
