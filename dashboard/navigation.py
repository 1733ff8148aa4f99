"""The pages in the order of the work, and how one leads to another.

Everything that defines a view is in the URL: the round, the open judge, case, reason, page of a list. ``VIEW_KEYS`` names
all of it; anything else in a URL (``?reviewer_id=...``) is ignored. Who you are is never in the URL.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import streamlit as st

from dashboard import leakage_params

PAGES_FOLDER: Final = Path(__file__).resolve().parent.parent / "pages"
ROUND_KEY: Final = "round"
VIEW_KEYS: Final = tuple(dict.fromkeys((
    ROUND_KEY, "judge", "cell", "case", "cases_page", "item", "flips", "flips_page", "reason", "pair", "pairs_page", "state", "origin", "search",
    "order", "margin", "length_ratio", "drift", "loss", "entry", "entries_page", "against", "evidence", "slice",
    *leakage_params.NAMES,
)))
"""Names of the query parameters that a page may read."""
WIDGET_KEYS: Final = ("entries_page",)
"""Those of them that a widget holds (``bind="query-params"``): Streamlit lets nobody else write these to the URL. The others
are read with :func:`view`, so that the URL alone says what is shown, also after the browser's back button."""


@dataclass(frozen=True, slots=True)
class PageInfo:
    """A page of the navigation. ``key`` names it in code and links; ``path`` is its URL path."""

    key: str
    title: str
    icon: str
    path: str
    file: str


PAGES: Final = (
    PageInfo("rounds", "Rounds", ":material/layers:", "", "rounds.py"),
    PageInfo("overview", "Overview", ":material/fact_check:", "overview", "overview.py"),
    PageInfo("judges", "Judges", ":material/balance:", "judges", "judges.py"),
    PageInfo("curation", "Curation", ":material/filter_alt:", "curation", "curation.py"),
    PageInfo("rejected", "Rejected pairs", ":material/block:", "rejected", "rejected.py"),
    PageInfo("leakage", "Leaks and style", ":material/policy:", "leakage", "leakage.py"),
    PageInfo("sample", "Sample", ":material/visibility_off:", "sample", "sample.py"),
    PageInfo("holdout", "Holdout", ":material/lock:", "holdout", "holdout.py"),
    PageInfo("sign_off", "Sign-off", ":material/draw:", "sign-off", "sign_off.py"),
    PageInfo("ledger", "Ledger", ":material/receipt_long:", "ledger", "ledger.py"),
)
BY_KEY: Final[Mapping[str, PageInfo]] = {page.key: page for page in PAGES}
EVIDENCE: Final = tuple(page.key for page in PAGES if page.key not in ("rounds", "sign_off", "ledger"))
"""Keys of the pages that a reviewer reads before signing."""


def address(page: str, view: Mapping[str, str]) -> str:
    """The relative address of a view, for links that open in another tab. Raises KeyError for what is not in the closed lists."""
    query = urlencode({_known(name): value for name, value in view.items()})
    return f"{BY_KEY[page].path}?{query}"


def _known(name: str) -> str:
    if name not in VIEW_KEYS:
        raise KeyError(name)
    return name


def page_file(page: str) -> Path:
    """The script of a page."""
    return PAGES_FOLDER / BY_KEY[page].file


def available() -> list[PageInfo]:
    """The pages whose scripts are installed."""
    return [page for page in PAGES if page_file(page.key).is_file()]


def build() -> list[st.Page]:
    """The pages for ``st.navigation``; the first is the start page."""
    return [
        st.Page(page_file(page.key), title=page.title, icon=page.icon, url_path=page.path or None, default=not page.path)
        for page in available()
    ]


def view(name: str) -> str | None:
    """A part of the present view that no widget holds, from the URL."""
    return st.query_params.get(_known(name)) or None


def choice(name: str, options: Sequence[str]) -> str:
    """A part of the present view that is one of ``options``; the first where the URL names none of them."""
    named = view(name)
    return named if named in options else options[0]


def page_number(name: str, pages: int) -> int:
    """The page of a list that is open, from 1; within ``pages``."""
    named = view(name) or ""
    return min(max(int(named), 1), pages) if named.isascii() and named.isdigit() and len(named) <= len(str(pages)) else 1


def set_view(**parts: str | None) -> None:
    """Callback: change parts of the present view that no widget holds; None closes one."""
    for name, value in parts.items():
        if value is not None:
            st.query_params[_known(name)] = value
        elif _known(name) in st.query_params:
            del st.query_params[name]


def open_view(page: str, view: Mapping[str, str]) -> None:
    """Go to another page or view, keeping this session (so: who you are). For callbacks and scripts; does not return.

    What a link does not name is left behind, except the round.
    """
    kept = {ROUND_KEY: st.query_params[ROUND_KEY]} if ROUND_KEY in st.query_params else {}
    wanted = {**kept, **{_known(name): str(value) for name, value in view.items()}}
    for name in WIDGET_KEYS:
        # a widget takes its value from here, and writes it to the URL itself
        if name in wanted:
            st.session_state[name] = wanted.pop(name)
        elif name in st.session_state:
            del st.session_state[name]
    st.switch_page(page_file(page), query_params=wanted)
