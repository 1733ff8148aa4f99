"""The moving parts of the contamination section: which report is there, which findings are listed, which one is open."""
from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from core.errors import CountersignError
from core.gates.contamination import KEYS, ContaminationReport
from core.gates.finding_evidence import evidence_of
from core.gates.finding_list import PAGE_ROWS, FindingList
from core.settings import SETTINGS
from dashboard import blocks, components, contamination_view, leakage_loaders, pair_loaders, report_states
from dashboard.blocks import mono
from dashboard.contamination_view import Shown
from dashboard.frame import View

_HEADLINES: Final[Mapping[str, str]] = {
    "no_holdout": "This round has no holdout that its pairs could repeat", "old_grid": "This round's grid does not say how to look for the holdout",
    "large": "Nobody has looked for the holdout in these pairs yet", "error": "The contamination report cannot be read",
}
_REPORTS: Final = SETTINGS["reports"]


@dataclass(frozen=True, slots=True)
class Found:
    """The report, or why there is none: a key of the headlines, and the error where it is one."""

    report: ContaminationReport | None
    why: str = ""
    error: CountersignError | None = None


def gather(view: View, *, at_once: bool = True) -> Found:
    """The contamination report of the open round, computed now where it is not stored, the round is small and the page may wait (``at_once``)."""
    if not view.round.has("holdout"):
        return Found(None, "no_holdout")
    if leakage_loaders.lacking(view.grid, KEYS):
        return Found(None, "old_grid")
    try:
        return Found(leakage_loaders.contamination(view, now=at_once and leakage_loaders.is_quick(view)), "large")
    except CountersignError as error:
        return Found(None, "error", error)


def headline_words(view: View, found: Found) -> str:
    """The finding of the page in one line."""
    if found.report is None:
        return _HEADLINES[found.why]
    return contamination_view.headline_words(found.report.document, leakage_loaders.findings(view, found.report).pairs)


def section(view: View, found: Found) -> None:
    """Verdict, rules, the list of findings and the open one; or the state that the report is in."""
    components.section("contamination", "Contamination: the locked holdout in the pairs")
    if found.report is None:
        _no_report(view, found)
        return
    document, listed = found.report.document, leakage_loaders.findings(view, found.report)
    shown = contamination_view.shown_of(st.query_params.to_dict(), 1)
    components.sheet(
        "found", contamination_view.verdict_block(document), contamination_view.facts_block(document, f"grid {view.grid.name} v{view.grid.version}"),
        contamination_view.rules_table(document, listed.table, shown), *contamination_view.gap_blocks(document),
    )
    if listed.total:
        _findings(view, listed, shown)


def _no_report(view: View, found: Found) -> None:
    command = report_states.command_of(view, "contamination")
    if found.error is not None:
        components.error_notice("contamination", found.error)
    elif found.why == "no_holdout":
        components.state_notice(
            "contamination", "incomplete", "The proposer supplied no holdout, so there is nothing to look for.",
            ["To look for another set of items, run ", mono(f"{command} --against FILE"), " in a terminal."],
        )
    elif found.why == "old_grid":
        report_states.old_grid("contamination", view, leakage_loaders.lacking(view.grid, KEYS), command)
    else:
        report_states.too_large("contamination", view, command)
        if st.button("Look for the holdout now", key="compute_contamination", icon=":material/search:"):
            report_states.computed("contamination", lambda: leakage_loaders.contamination(view, now=True))


def list_box(rows: int, key: str) -> AbstractContextManager[Any]:
    """A place for a list: one that scrolls where the list is long, so that what is open stays in sight."""
    return st.container(height=_REPORTS["list_height"], border=False, key=key) if rows > _REPORTS["list_rows"] else nullcontext()


def _findings(view: View, listed: FindingList, shown: Shown) -> None:
    _, total = listed.page(shown.filter, 1)
    components.sheet("filter", contamination_view.filter_line(shown, listed.pairs, total))
    page = components.pager("findings_page", max(-(-total // PAGE_ROWS), 1))
    shown = contamination_view.shown_of(st.query_params.to_dict(), page)
    rows, _ = listed.page(shown.filter, page)
    if not rows:
        components.state_notice("findings", "empty", "No finding matches.", ["Choose all findings above."])
        return
    asked = [] if shown.pair is None or shown.at is None else listed.of_pair(shown.pair, shown.at)
    opened = asked or rows[:1]
    with list_box(len(rows), "finding_list"):
        components.sheet("findings", contamination_view.findings_table(rows, shown, (opened[0]["pair_id"], opened[0]["field"])))
    if shown.pair is not None and not asked:
        components.sheet("no-finding", blocks.notice("note", "off", [mono(shown.pair), " has no such finding. The first of the list is shown."]))
    for finding in opened:
        _finding(view, finding)


def _finding(view: View, finding: dict[str, Any]) -> None:
    key = f"finding-{finding['ordinal']}"
    components.sheet(key, *contamination_view.finding_head(finding))
    texts = pair_loaders.texts(view, finding["ordinal"])
    if texts is None:
        components.state_notice(key, "broken", "The texts of this pair are not in the round folder.", "Run countersign round check.")
        return
    columns = contamination_view.evidence_columns(finding, evidence_of(finding, texts, leakage_loaders.items(view), view.grid))
    side_by_side(key, *columns)


def side_by_side(key: str, left: list[blocks.Block], right: list[blocks.Block]) -> None:
    """Two columns of blocks; one below the other where there is no room."""
    both = st.grid(SETTINGS["charts"]["columns"], min_column_width=SETTINGS["dashboard"]["text_column_width"], gap="small")
    for side, column in (("left", left), ("right", right)):
        with both.cell():
            components.sheet(f"{key}-{side}", *column)
