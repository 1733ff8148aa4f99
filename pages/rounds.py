"""Rounds: what awaits you, then every round of this workspace with its figures, newest first; upload of a bundle."""
from __future__ import annotations

import streamlit as st

from core.errors import WorkspaceError
from core.rounds.workspace import Workspace
from dashboard import components, frame, loaders, round_list, session
from dashboard.standing import standing

try:
    workspace = session.workspace()
    desk = loaders.desk(workspace)
    # a round that was just brought in is assessed here, which may take seconds
    with st.skeleton():
        listed, broken = loaders.entries(workspace, desk)
except WorkspaceError:
    listed, broken = [], []
person = session.person()

if listed:
    rows = [(one, standing(one.manifest, one.document, one.status, person, desk.registry, one.stale)) for one in listed]
    waiting = round_list.waiting_rows(rows, person)
    components.headline("rounds", round_list.headline_words(rows, person), lead=round_list.lead(waiting, person))
    if desk.fault is not None:
        components.error_notice("ledger", desk.fault)
    if waiting:
        components.sheet("waiting", round_list.waiting_block(waiting))
    components.section("all", "All rounds", round_list.rounds_table(rows))
elif not broken:
    frame.empty_workspace()
else:
    components.headline("rounds", "No round of this workspace can be opened")
if broken:
    components.section("broken", "Rounds that cannot be opened", *round_list.broken_block(broken))
round_list.upload(lambda: Workspace.open(session.workspace_root(), create=True))
