"""The frame of every page that shows a round, and how a page uses it.

A page is a thin script::

    from dashboard import components, frame
    from dashboard.blocks import strong

    view = frame.open_round("judges")            # draws picker and status line; ends the script where there is nothing to show
    components.headline("judges", "No judge of this round may feed synthetic pairs", lead=[strong("loose-check"), " approves ..."])
    components.section("matrix", "Rubric against verifier", ...)

``open_round`` returns a :class:`View`: the opened round, its assessment (``view.document`` is assessment.json), the grid,
``view.queries()`` (DuckDB over the round's files) and who sits there. A ``CountersignError`` may be raised anywhere in a
page: ``app.py`` shows it. What defines the view is in the URL: read it with ``navigation.view`` or ``navigation.choice``,
change it with ``navigation.set_view``. Text goes through ``components`` only; a link to another page or view is
``blocks.link(label, page, judge=..., reason=...)``.
The Rounds and Ledger pages, which show the workspace and no round, call :func:`open_workspace`.

The round is in the URL (``?round=`` and the start of its digest), and stays when the page changes.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from core.errors import CountersignError, WorkspaceError
from core.gates.assessment import Assessment
from core.gates.receipt import PROMOTE_AWAITING
from core.grid import Grid
from core.rounds.folder import Round
from core.rounds.manifest import RoundManifest
from core.rounds.queries import RoundQueries
from core.rounds.workspace import Workspace
from core.settings import SETTINGS
from core.signing.status import RoundStatus
from dashboard import blocks, components, loaders, navigation, session, words
from dashboard.blocks import Span, badge, icon, muted, strong, text
from dashboard.standing import Standing, standing

_PICKER: Final = "round_picker"
_WITHIN_A_ROUND: Final = (
    "judge", "cell", "case", "cases_page", "evidence", "slice", "item", "flips", "flips_page", "pair", "pairs_page", "entry",
    "rule", "place", "at", "findings_page", "cluster", "clusters_page", "beside", "made", "made_page",
)
"""Parts of a view that mean something in one round only; they go when another is chosen."""


@dataclass(frozen=True)
class View:
    """What a page shows: one round under one grid, assessed by the engine that runs."""

    workspace: Workspace
    round: Round
    computed: Assessment
    grid: Grid
    person: str | None
    desk: loaders.Desk
    status: RoundStatus | None

    @property
    def document(self) -> Mapping[str, Any]:
        """The assessment, as stored in assessment.json."""
        return self.computed.document

    @property
    def manifest(self) -> RoundManifest:
        """What the round says about itself."""
        return self.round.manifest

    @property
    def standing(self) -> Standing:
        """Where the round stands for whoever sits here: proposed, awaiting you, approved, ..."""
        stale = loaders.why_stale(self.desk, self.status, self.manifest)
        return standing(self.manifest, self.document, self.status, self.person, self.desk.registry, stale)

    def queries(self) -> RoundQueries:
        """DuckDB over the files of this round and assessment."""
        return loaders.queries(self.round, self.computed)


def open_workspace() -> Workspace:
    """The workspace, for pages that show no single round. Ends the script, with what to do, where there is none."""
    try:
        return session.workspace()
    except WorkspaceError:
        empty_workspace()
        st.stop()


def empty_workspace() -> None:
    """The empty state: three steps to the first round, and the demo."""
    components.headline("empty", "No round yet", lead=["This workspace holds no round. Three steps lead to the first one:"])
    components.sheet(
        "steps",
        blocks.bullets(
            ["Bring a round in: upload a bundle on this page, or run ", blocks.mono("countersign ingest ROUND"), " in a terminal."],
            ["Propose it: ", blocks.mono("countersign propose ROUND"), " signs it under the proposer's key."],
            ["Review it: open it here, read the evidence, and sign under another person's key."],
        ),
        blocks.notice("note", "off", ["To look around first, run ", blocks.mono("countersign demo"), ": it brings six rounds and two demo persons."]),
    )


def open_round(page: str, *, bare: bool = False) -> View:
    """Draw the frame of ``page`` (a key of the navigation) and return what it shows; ends the script where that is nothing.

    ``bare``: without picker and status line, for whoever judges blind: nothing of the engine's opinion reaches the browser.
    """
    workspace = open_workspace()
    manifests = workspace.rounds()
    if not manifests:
        empty_workspace()
        st.stop()
    chosen = _chosen_round(workspace, manifests)
    session.remember_round(chosen.digest)
    session.mark_opened(chosen.digest, page)
    if st.query_params.get(navigation.ROUND_KEY) != words.short_digest(chosen.digest):
        st.query_params[navigation.ROUND_KEY] = words.short_digest(chosen.digest)
    desk = loaders.desk(workspace)
    status = loaders.status_of_round(desk, chosen.digest)
    grid = loaders.grid_of(desk, status)
    slot = None if bare else _bar(manifests, chosen.digest, desk)
    if desk.fault is not None:
        components.error_notice("ledger", desk.fault)
    if not loaders.is_quick(chosen) and not loaders.is_assessed(workspace, chosen.digest, grid):
        _too_large(chosen)
    view = View(workspace, chosen, _assessed(workspace, chosen, grid), grid, session.person(), desk, status)
    if slot is None:
        return view
    with slot:
        components.sheet("status", blocks.line(*status_groups(view)), width="content")
    if chosen.manifest.label:
        components.sheet("label", blocks.paragraph(badge(chosen.manifest.label, "off", "note")))
    return view


def _assessed(workspace: Workspace, source: Round, grid: Grid) -> Assessment:
    said = st.empty()
    if not loaders.is_assessed(workspace, source.digest, grid):
        pairs = f" of {words.plural(source.pair_count, 'pair')}" if source.pair_count else ""
        with said.container():
            components.sheet("assessing", blocks.paragraph(blocks.muted(f"Computing the checks{pairs}. This is done once; the result is kept.")))
    try:
        with st.skeleton():
            found = loaders.assessment(workspace, source, grid)
        said.empty()
        return found
    except CountersignError as error:
        said.empty()
        components.headline("broken", "This round cannot be assessed")
        components.error_notice("assess", error)
        st.stop()


def _too_large(source: Round) -> None:
    components.headline("large", "This round has not been assessed yet")
    components.state_notice(
        "large", "very_large", f"It has {words.count(source.pair_count)} pairs: too many to assess while a page waits.",
        ["Run ", blocks.mono(f"countersign decide {words.short_digest(source.digest)}"), " in a terminal, then open this page again."],
    )
    st.stop()


def _chosen_round(workspace: Workspace, manifests: Sequence[RoundManifest]) -> Round:
    """The round of the URL, else the one open last in this session, else the newest."""
    named = st.query_params.get(navigation.ROUND_KEY)
    try:
        if named:
            return workspace.round(named)
    except CountersignError as error:
        components.headline("unknown", "This address names no round that can be opened")
        components.error_notice("unknown", error)
        components.sheet("unknown-next", blocks.paragraph("Next: ", blocks.link("choose a round", "rounds", round=""), "."))
        st.stop()
    known = {manifest.digest for manifest in manifests}
    last = session.remembered_round()
    return workspace.round(last if last in known else manifests[0].digest)


def round_label(manifest: RoundManifest, status: RoundStatus | None) -> str:
    """A round in the picker: id, state, date, proposer, and its label where it has one."""
    state = "state unknown" if status is None else status.state.value
    said = [manifest.round_id, state, words.day(manifest.created_at), ", ".join(manifest.proposers), *([manifest.label] if manifest.label else [])]
    return components.selectable(" · ".join(said))


def go_to_round(digest: str) -> None:
    """Callback: show another round on the same page; what is open within a round is closed."""
    for name in _WITHIN_A_ROUND:
        if name in navigation.WIDGET_KEYS:
            st.session_state.pop(name, None)
        elif name in st.query_params:
            del st.query_params[name]
    st.query_params[navigation.ROUND_KEY] = words.short_digest(digest)


def _bar(manifests: Sequence[RoundManifest], digest: str, desk: loaders.Desk) -> Any:
    """Picker, previous and next; returns the place of the status line."""
    labels = {manifest.digest: round_label(manifest, loaders.status_of_round(desk, manifest.digest)) for manifest in manifests}
    order = list(labels)
    here = order.index(digest)
    older, newer = order[here + 1:], order[:here]
    st.session_state[_PICKER] = digest
    with st.container(key="frame", horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.button("Previous round", key="older", icon=":material/chevron_left:", disabled=not older, on_click=go_to_round, args=tuple(older[:1]))
        st.selectbox(
            "Round", order, key=_PICKER, format_func=lambda one: labels.get(one, ""), label_visibility="collapsed",
            width=SETTINGS["dashboard"]["picker_width"], on_change=_picked,
        )
        st.button("Next round", key="newer", icon=":material/chevron_right:", disabled=not newer, on_click=go_to_round, args=tuple(newer[-1:]))
        return st.container(key="status", width="content")


def _picked() -> None:
    go_to_round(st.session_state[_PICKER])


def verdict_badge(document: Mapping[str, Any]) -> Span:
    """The engine's verdict: word, icon, colour."""
    if document["verdict"] == PROMOTE_AWAITING:
        return badge("Promote", "ok", "check")
    return badge("Refuse", "bad", "refuse")


def count_groups(document: Mapping[str, Any]) -> list[list[Span]]:
    """The four counts that every page, the command line and the receipt share."""
    if "pairs" in document["missing_parts"]:
        return [[muted("no pairs supplied")]]
    table = document["reason_table"]
    return [[strong(words.count(table[name])), text(f" {name}")] for name in ("admitted", "rejected", "held", "quarantined")]


def lock_group(document: Mapping[str, Any]) -> list[Span]:
    """The holdout lock in two words."""
    holdout = document["holdout"]
    if holdout is None:
        return [icon("unlock"), muted("no holdout")]
    return [icon("lock"), muted("lock holds")] if holdout["lock"]["holds"] else [icon("unlock"), text("lock fails", "bad")]


def status_groups(view: View) -> list[list[Span]]:
    """The slim line below the picker: verdict, counts, lock, grid, who you are."""
    grid = view.grid
    return [
        [verdict_badge(view.document)], *count_groups(view.document), lock_group(view.document),
        [icon("grid"), muted(f"grid {grid.name} v{grid.version}" if grid.name != "default" else f"grid v{grid.version}")],
        [icon("person"), muted(view.person or session.NOT_IDENTIFIED)],
    ]

