"""What belongs to one browser session: which workspace, who sits there, which round is open.

Who you are is a choice among the persons of the registry, kept in this session only. It is never read from the URL, a
header or a bundle, and it decides nothing: a signature is made with a key, and the key says who signed.
"""
from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import streamlit as st

from core.errors import RegistryError
from core.persons.registry import Registry
from core.rounds.workspace import Workspace
from core.signing.coverage import Opened
from dashboard import blocks, components, navigation
from dashboard.server import WORKSPACE_VARIABLE, is_loopback

NOT_IDENTIFIED: Final = "not identified"
_PERSON, _ROUND, _OPENED = "you_are", "open_round", "opened_pages"


def workspace_root() -> Path:
    """The workspace folder that the server was started with."""
    return Path(os.environ.get(WORKSPACE_VARIABLE, "data/workspace"))


def workspace() -> Workspace:
    """The workspace, as it is now. Raises WorkspaceError where there is none."""
    return Workspace.open(workspace_root())


def on_loopback() -> bool:
    """True when the server listens on this machine only: the condition for signing on a page."""
    return is_loopback(st.get_option("server.address"))


def registry() -> Registry | None:
    """The registry of persons, or None where nobody is enrolled yet. Raises RegistryError for one that does not load."""
    path = workspace_root() / "reviewers.toml"
    return Registry.load(path) if path.is_file() else None


def person() -> str | None:
    """The id of the person who says to sit here, or None. Shown and used for sorting; it authorises nothing."""
    chosen = st.session_state.get(_PERSON)
    return None if chosen in (None, NOT_IDENTIFIED) else str(chosen)


def choose_person(identifier: str | None) -> None:
    """Callback: who sits here, chosen on a page; the side bar follows."""
    st.session_state[_PERSON] = identifier or NOT_IDENTIFIED


def identity_picker() -> None:
    """The choice of who you are, in the side bar."""
    try:
        known = registry()
    except RegistryError as error:
        components.error_notice("registry", error)
        return
    people = [] if known is None else [one.id for one in known.persons if not one.is_agent]
    st.selectbox(
        "You are", [NOT_IDENTIFIED, *people], key=_PERSON, persist_state="session", format_func=components.selectable, disabled=not people,
        help="A choice among the enrolled persons. It decides nothing: the key that signs says who signed.",
    )
    if is_demo():
        warning = "Demo identities: their passphrases are public, so their signatures prove nothing."
        components.sheet("demo", blocks.paragraph(blocks.muted(warning, blocks.SMALL)))


def is_demo() -> bool:
    """True in the workspace that ``countersign demo`` made: its keys and passphrases are public."""
    return (workspace_root() / "demo.json").is_file()


def remembered_round() -> str | None:
    """The digest of the round that was open last in this session."""
    return st.session_state.get(_ROUND)


def remember_round(digest: str) -> None:
    """Keep the open round for the next page."""
    st.session_state[_ROUND] = digest


def mark_opened(digest: str, page: str) -> None:
    """Remember that this page of this round was opened here."""
    st.session_state.setdefault(_OPENED, set()).add((digest, page))


def opened_pages(digest: str) -> list[str]:
    """Keys of the pages of this round that were opened in this session, in the order of the navigation."""
    opened = st.session_state.get(_OPENED, set())
    return [page.key for page in navigation.PAGES if (digest, page.key) in opened]


def opened_evidence(digest: str) -> Opened:
    """The same as a decision says it: pages of evidence by title, opened and not."""
    opened = opened_pages(digest)
    here, left = ([navigation.BY_KEY[page].title for page in navigation.EVIDENCE if (page in opened) is said] for said in (True, False))
    return Opened(tuple(here), tuple(left))
