"""Behaviours over versions, on the Holdout page: baseline against candidate with every gap named, and each behaviour over the versions."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import streamlit as st

from core.errors import CountersignError
from core.gates.behaviour_round import CLOSING, BehaviourReport, behaviour_report
from core.gates.behaviour_versions import BehaviourRow, HistoryPoint
from core.gates.behaviours import ClaimState
from core.gates.judge_parts import Part
from core.grid import Grid
from core.rounds.folder import Round
from core.settings import SETTINGS
from core.statistics.probability import Probability, counted
from core.statistics.ratio import fraction_text, percent_text
from core.statistics.result import Interval
from core.statistics.verdict import points_text
from core.text import sentence
from dashboard import blocks, components, words
from dashboard.blocks import Block, Span, badge, muted, strong, text
from dashboard.frame import View
from dashboard.holdout_strength import standing_badge

TITLE: Final = "Behaviours over versions"
_ROLES: Final = (
    "No behaviour was named beforehand, so each is corrected for the others (Holm). The claim that was fixed beforehand is the gain on the holdout."
)


@st.cache_resource(max_entries=SETTINGS["dashboard"]["open_databases"], show_spinner=False)
def _report(digest: str, grid_digest: str, code: str, _source: Round, _grid: Grid) -> Part[BehaviourReport]:
    return behaviour_report(_source, _grid)


def section(view: View) -> None:
    """The section of a round that was supplied with behaviours; nothing for one that was not."""
    if not view.round.has("behaviours"):
        return
    try:
        found = _report(view.round.digest, view.grid.digest, view.computed.code_digest, view.round, view.grid)
    except CountersignError as error:
        components.section("behaviours", TITLE)
        components.error_notice("behaviours", error)
        return
    if found.value is None:
        components.section("behaviours", TITLE, blocks.paragraph(muted(sentence(str(found.reason)))))
        return
    components.section("behaviours", TITLE, *report_blocks(found.value))
    with st.expander("Each behaviour over the versions", icon=":material/timeline:"):
        components.sheet("behaviour-history", *history_blocks(found.value))


def report_blocks(report: BehaviourReport) -> list[Block]:
    """Baseline against candidate: the count, each behaviour with its sentence, and what none of it does."""
    compared = report.comparison
    figures = ("Gain, points", "p", "Holm")
    columns = [
        blocks.column("Behaviour", head=True), *(blocks.column(name, align="right") for name in figures), blocks.column("Corrected"),
        blocks.column("Re-run band"), blocks.column("Graded by"), blocks.column("Contaminated"),
    ]
    label = f"Behaviours of {compared.served} and {compared.candidate}"
    table = blocks.table("behaviours", columns, [_row(report, row) for row in compared.rows], label=label, tall=True)
    return [blocks.paragraph(strong(f"{compared.sentence}.")), table, blocks.paragraph(muted(_ROLES, blocks.SMALL)), blocks.paragraph(text(CLOSING))]


def _row(report: BehaviourReport, row: BehaviourRow) -> dict[str, object]:
    claim = row.claim
    gain, compared = claim.gain, claim.comparison
    mark = standing_badge(row.standing) if compared is not None else badge(claim.state.value, "off", "question")
    return blocks.row(
        blocks.cell(text(claim.behaviour, "keep")), blocks.cell(text("") if gain is None else text(points_text(gain, sign=True), "nowrap")),
        blocks.cell(_p(row.p)), blocks.cell(_p(None if row.adjusted is None else counted(row.adjusted))), blocks.cell(mark),
        blocks.cell(_band(row)), blocks.cell(_graders(report, row)), blocks.cell(_contaminated(report, row)), detail=[text(f"{row.sentence}.")],
    )


def _p(p: Probability | None) -> Span:
    return muted("not tested") if p is None else text(p.text().removeprefix("p ").removeprefix("= "), "nowrap")


def _band(row: BehaviourRow) -> Span:
    """The difference that re-runs alone explain; where nobody knows it, the sentence of the row says why."""
    compared = row.claim.comparison
    if compared is None:
        return muted("none")
    band = compared.band
    return muted("not measured") if band.band is None else text(f"{points_text(band.band)} points")


def _points(report: BehaviourReport, row: BehaviourRow) -> Iterable[HistoryPoint]:
    versions = (report.comparison.served, report.comparison.candidate)
    return [point for point in report.history.get(row.claim.behaviour, ()) if point.version in versions]


def _graders(report: BehaviourReport, row: BehaviourRow) -> Span:
    """Who graded, with the measured agreement; both where the two versions were graded by different ones."""
    found = dict.fromkeys(point.graded_by.removeprefix("graded by ") for point in _points(report, row))
    return text("; ".join(found)) if found else muted("not measured")


def _contaminated(report: BehaviourReport, row: BehaviourRow) -> Span:
    """Test items found in the training data of either version."""
    found = {point.version: point.contamination for point in _points(report, row)}
    if not found or all(count is None for count in found.values()):
        return muted("nobody looked")
    return text(", ".join(f"{version}: {'not looked for' if count is None else words.count(count)}" for version, count in found.items()))


def history_blocks(report: BehaviourReport) -> list[Block]:
    """One line a behaviour, version and test: what passed, with its interval, and the change from the version before."""
    columns = [
        blocks.column("Behaviour", head=True), blocks.column("Version"), blocks.column("Test"), blocks.column("Passed"), blocks.column("Interval"),
        blocks.column("Contaminated", align="right"), blocks.column("Against the version before"),
    ]
    rows = [_point(name, point) for name, points in report.history.items() for point in points]
    order = ", ".join(report.versions)
    note = f"Versions in the order in which the round names them: {order}. Figures of different tests, items or graders are never subtracted."
    table = blocks.table("behaviour-history", columns, rows, label="Behaviours over the versions", tall=True)
    return [table, blocks.paragraph(muted(note, blocks.SMALL))]


def _point(name: str, point: HistoryPoint) -> dict[str, object]:
    found = muted("not looked for") if point.contamination is None else text(words.count(point.contamination))
    return blocks.row(
        blocks.cell(text(name, "keep")), blocks.cell(text(point.version, "keep")), blocks.cell(text(point.test_version)),
        blocks.cell(text(fraction_text(point.estimate.rate))), blocks.cell(_interval(point.estimate.wilson)), blocks.cell(found),
        blocks.cell(*change_spans(point)),
    )


def _interval(interval: Interval) -> Span:
    if interval.lower is None or interval.upper is None:
        return muted(str(interval.undefined))
    return text(f"{percent_text(interval.lower)} to {percent_text(interval.upper)}", "nowrap")


def change_spans(point: HistoryPoint) -> list[Span]:
    """The change from the version before under the same test and grader, in a few words."""
    change = point.change
    if change is None:
        return [muted("the first that was measured")]
    if change.comparison is None:
        refused = change.state is ClaimState.NOT_COMPARABLE
        return [muted(f"not comparable: {change.mismatches[0].text}" if refused else change.state.value)]
    return [text(f"{points_text(change.comparison.graded_gain, sign=True)} points "), standing_badge(change.comparison.verdict.standing)]
