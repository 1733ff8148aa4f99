"""The moving parts of the section about rollouts: whether the report is there, and which pairs are listed."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import streamlit as st

from core.errors import CountersignError
from core.gates import rollout_words
from core.gates.compared_list import PAGE_ROWS, ComparedList
from core.gates.rollout_report import KEYS, RolloutReport
from core.rounds.rollout_faults import PART, rollout_count
from dashboard import blocks, components, leakage_loaders, report_states, rollouts_view, words
from dashboard.blocks import mono
from dashboard.contamination_desk import list_box, side_by_side
from dashboard.frame import View

_HEADLINES: Final[Mapping[str, str]] = {
    "old_grid": "This round's grid does not say how to pair its rollouts", "large": "Nobody has paired this round's rollouts yet",
    "error": "The report on this round's rollouts cannot be read",
}
_TO_SECTION: Final = blocks.link("See leaks and style", "leakage")


@dataclass(frozen=True, slots=True)
class Found:
    """The report, or why there is none: ``absent``, ``old_grid``, ``large`` or ``error``."""

    report: RolloutReport | None
    why: str = ""
    error: CountersignError | None = None


def gather(view: View) -> Found:
    """The report on the open round's rollouts, computed now where it is not stored and they are few."""
    if not view.round.has(PART):
        return Found(None, "absent")
    if leakage_loaders.lacking(view.grid, KEYS):
        return Found(None, "old_grid")
    try:
        return Found(leakage_loaders.rollouts(view, now=leakage_loaders.few_rollouts(view)), "large")
    except CountersignError as error:
        return Found(None, "error", error)


def missing_words(found: Found) -> str:
    """Why there is no report, as a sentence without its full stop."""
    return _HEADLINES[found.why]


def sign_off_lines(view: View) -> list[tuple[str, blocks.Block]]:
    """What a reviewer should know of the rollouts before deciding: admitted pairs with a reward of the holdout, admitted pairs that the rule does not
    make, or that nobody has looked. No check reads it."""
    found = gather(view)
    if found.report is None:
        missing = _HEADLINES.get(found.why)
        return [] if missing is None else [("rollouts", blocks.notice("stale", "off", [blocks.strong(f"{missing}.")], [_TO_SECTION]))]
    listed = leakage_loaders.compared(view, found.report)
    return rollouts_view.sign_off_blocks(listed.held_out["admitted"], listed.admitted_that_differ, _TO_SECTION)


def pointer(view: View) -> None:
    """Where the pairs come from, on a page that shows what became of them; nothing where the round carries no rollouts."""
    if view.round.has(PART):
        known = None if leakage_loaders.lacking(view.grid, KEYS) else leakage_loaders.rollouts(view, now=False)
        answer = [blocks.link("Are the pairs what the rule makes of them?", "leakage")] if known is None else [
            blocks.text(f"{rollout_words.headline(known.document)}. "), _TO_SECTION]
        components.sheet("rollouts-pointer", blocks.paragraph(
            blocks.muted(f"This round carries the {words.plural(rollout_count(view.round), 'rollout')} of its pairs. "), *answer,
        ))


def section(view: View) -> None:
    """Where the rollouts went, the rule's pairs and the round's beside them; one quiet line where the round carries no rollouts."""
    found = gather(view)
    if found.why == "absent":
        components.sheet("no-rollouts", blocks.paragraph(blocks.muted(rollouts_view.NO_ROLLOUTS)))
        return
    components.section("rollouts", "Pairs from rollouts: are they what the rule makes?")
    if found.report is None:
        _no_report(view, found)
    else:
        _report(view, found.report)


def _no_report(view: View, found: Found) -> None:
    command = report_states.command_of(view, "rollouts")
    if found.error is not None:
        components.error_notice("rollouts", found.error)
    elif found.why == "old_grid":
        report_states.old_grid("rollouts", view, leakage_loaders.lacking(view.grid, KEYS), command)
    else:
        components.state_notice(
            "rollouts", "very_large", f"Not computed yet: {words.count(rollout_count(view.round))} rollouts are too many to pair while a page waits.",
            ["Run ", mono(command), " in a terminal and open this page again, or start it here and wait."],
        )
        if st.button("Pair the rollouts now", key="compute_rollouts", icon=":material/search:"):
            report_states.computed("rollouts", lambda: leakage_loaders.rollouts(view, now=True))


def _report(view: View, report: RolloutReport) -> None:
    document, listed = report.document, leakage_loaders.compared(view, report)
    shown = rollouts_view.listed_of(st.query_params.to_dict(), 1)
    first = [rollouts_view.held_out_block(document, listed.held_out, shown), rollouts_view.verdict_block(document),
             rollouts_view.facts_block(document, f"grid {view.grid.name} v{view.grid.version}"), rollouts_view.comparison_table(document, shown)]
    components.sheet("rollouts-found", *[block for block in first if block is not None])
    if listed.total:
        _listed(listed, shown)
    components.sheet("rollouts-made", blocks.heading("What the rule makes of the rollouts", level="h3"))
    side_by_side("rollouts", [rollouts_view.where_table(document)], [rollouts_view.figures_block(document)])
    warned = rollouts_view.warnings_block(document)
    if warned is not None:
        components.sheet("rollouts-warned", blocks.heading("What the rule's pairs bring along", level="h3"), warned)


def _listed(listed: ComparedList, shown: rollouts_view.Listed) -> None:
    _, total = listed.page(shown.chosen, 1)
    components.sheet("compared-filter", rollouts_view.filter_line(shown, total))
    page = components.pager("made_page", max(-(-total // PAGE_ROWS), 1))
    rows, _ = listed.page(shown.chosen, page)
    if not rows:
        components.state_notice("compared", "empty", "No pair matches.", ["Choose all that differ above."])
        return
    with list_box(len(rows), "compared_list"):
        components.sheet("compared", rollouts_view.list_table(rows))
