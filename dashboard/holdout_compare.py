"""This round's candidate against another round's: on the same holdout a comparison, otherwise *not comparable* and what differs."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import streamlit as st

from core.gates.assessment import Assessment
from core.gates.holdout_against import CandidateComparison, compare_candidates
from core.gates.holdout_evidence import interval_words
from core.grid import Grid
from core.rounds.folder import Round
from core.settings import SETTINGS
from dashboard import blocks, components, loaders, navigation, words
from dashboard.blocks import Block, badge, muted, strong, text
from dashboard.frame import View, round_label
from dashboard.holdout_strength import standing_badge

_CHOICE: Final = "against_choice"
_NONE: Final = ""


def comparison(view: View) -> None:
    """Choose another round with outcomes, and see the two candidates side by side."""
    labels = {
        words.short_digest(manifest.digest): round_label(manifest, loaders.status_of_round(view.desk, manifest.digest))
        for manifest in view.workspace.rounds() if "outcomes" in manifest.parts and manifest.digest != view.round.digest
    }
    if not labels:
        return
    components.section("against", "Against another round's candidate")
    chosen = navigation.choice("against", (_NONE, *labels))
    st.session_state[_CHOICE] = chosen
    st.selectbox(
        "Other round", [_NONE, *labels], key=_CHOICE, format_func=lambda one: labels.get(one, "Choose a round"), label_visibility="collapsed",
        on_change=_choose,
    )
    if chosen:
        _show(view, view.workspace.round(chosen))


def _choose() -> None:
    navigation.set_view(against=st.session_state[_CHOICE] or None)


def _show(view: View, other: Round) -> None:
    if not loaders.is_quick(other) and not loaders.is_assessed(view.workspace, other.digest, view.grid):
        components.state_notice(
            "against", "very_large", "The other round is too large to be assessed under this grid while a page waits.",
            ["Run ", blocks.mono(f"countersign holdout {words.short_digest(view.round.digest)} --against {words.short_digest(other.digest)}"),
             " in a terminal."],
        )
        return
    theirs = loaders.assessment(view.workspace, other, view.grid)
    found = _compared(str(view.computed.folder), str(theirs.folder), view.round, view.document, other, theirs, view.grid)
    if found.comparable:
        components.sheet("against", *comparison_blocks(found))
        return
    first, *others = [mismatch.text for mismatch in found.mismatches]
    components.state_notice(
        "against", "not_comparable", f"Not comparable: {'; '.join([first, *others])}.",
        "Nothing was subtracted. Next: run both candidates on the same items and prompts.",
    )
    if found.differences:
        lead = blocks.paragraph(muted("From the other round's list to this one:"))
        components.sheet("against-differences", lead, blocks.bullets(*([line] for line in found.differences)))


@st.cache_resource(max_entries=SETTINGS["dashboard"]["open_databases"], show_spinner=False)
def _compared(
    folder: str, other_folder: str, _source: Round, _document: Mapping[str, Any], _other: Round, _theirs: Assessment, _grid: Grid,
) -> CandidateComparison:
    return compare_candidates(_source, _document, _other, _theirs.document, _grid)


def comparison_blocks(found: CandidateComparison) -> list[Block]:
    """The verdict about two candidates that may be compared, and its figures."""
    compared = found.comparison
    mark = badge("no verdict", "off", "question") if compared is None else standing_badge(compared.verdict.standing)
    content = [blocks.paragraph(mark, text("  "), text(found.sentence))]
    if compared is None or found.table is None:
        return content
    flips = f"{words.count(found.table.fixes)} gained, {words.count(found.table.regressions)} lost"
    content.append(blocks.facts([
        ("Flips", [strong(flips), muted(f"  of {words.plural(found.table.n, 'item')}")]), ("Exact McNemar", [text(compared.test.exact.text())]),
        ("Mid-p", [text(compared.test.mid_p.text())]), ("Tango", [text(interval_words(compared.tango))]),
        ("Newcombe", [text(interval_words(compared.newcombe))]), ("Baselines", [text(str(found.baselines))]),
    ]))
    return content
