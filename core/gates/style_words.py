"""A style report in sentences: the same words on a page, in a terminal and in a report file."""
from __future__ import annotations

from fractions import Fraction
from typing import Final

from core.gates.style_report import NOT_JUDGED, MarkerFinding, StyleReport
from core.settings import SETTINGS
from core.statistics.ratio import decimal_text
from core.text import count_of

_DECIMALS: Final[int] = SETTINGS["statistics"]["decimals"]
_NOTHING_TO_GO_BY: Final = ("nothing_to_judge", "language_not_covered", "no_reward")
_LEFT_OUT: Final = {"other_policy": "rollouts of other policies", "missing_response": "rollouts without a reply"}


def correlation_text(finding: MarkerFinding) -> str:
    """``+0.31 (+0.12 to +0.48)``, or why there is none."""
    found = finding.correlation
    if finding.not_judged in _NOTHING_TO_GO_BY:
        # what the counts would say of no rewards, or of no texts, is not why
        return NOT_JUDGED[str(finding.not_judged)]
    if found.value is None:
        return str(found.undefined)
    inside = found.interval.text if found.interval.lower is not None else "no interval"
    return f"{'+' if found.value > 0 else ''}{decimal_text(Fraction(found.value), _DECIMALS)} ({inside})"


def p_text(finding: MarkerFinding) -> str:
    """The corrected p-value, or nothing."""
    return "" if finding.adjusted is None else finding.adjusted.text()


def says(finding: MarkerFinding, subject: str) -> str:
    """What a marker comes to, in a few words."""
    if finding.not_judged is not None:
        return f"not judged: {NOT_JUDGED[finding.not_judged]}"
    more, less = ("the chosen sides have more of it", "the rejected sides have more of it") if subject == "pairs" else ("rewarded", "punished")
    if finding.lean is None or (not finding.flagged and not finding.shown):
        return "no leaning that is flagged or shown"
    lean = {1: more, -1: less, 0: "no leaning"}[finding.lean]
    strength = "shown" if finding.shown else "not shown to be more than chance"
    return f"{'FLAGGED: ' if finding.flagged else ''}{lean}, {strength}"


def sentences(report: StyleReport) -> list[str]:
    """The report's first lines: what was read, how it was judged, what stands out."""
    if report.subject == "pairs":
        read = count_of(report.scope["pairs"], "pair")
    else:
        read = (
            f"{count_of(report.scope['replies'], 'reply', 'replies')} to {count_of(report.scope['tasks'], 'task')}, "
            f"{report.scope['rewarded']:,} with a reward"
        )
    table, left = report.table, report.scope["not_covered"]
    lines = [
        f"{read}; phrase table {table.version} ({table.language}). Test: {report.method}, Holm over the markers judged.",
        *([f"{left:,} {'is' if left == 1 else 'are'} not in the language of the table; only being cut off was looked for there."] if left else []),
    ]
    lines += [f"Left out: {count:,} {_LEFT_OUT[code]}." for code, count in report.scope.get("left_out", {}).items()]
    faults = report.scope.get("rows_that_cannot_be_typed", 0)
    lines += [f"Left out: {count_of(faults, 'row')} that cannot be read as a pair."] if faults else []
    if all(finding.not_judged is not None for finding in report.findings):
        return [*lines, "No marker could be judged, so nothing is known about what the style would teach."]
    loud = [finding for finding in report.findings if finding.flagged or finding.shown]
    if not loud:
        return [*lines, "No marker goes with the reward far enough to be flagged, and none is shown to go with it at all."]
    return lines + [
        f"{finding.title.capitalize()}: {says(finding, report.subject)} ({p_text(finding)}). {_teaches(finding, report)}" for finding in loud
    ]


def _teaches(finding: MarkerFinding, report: StyleReport) -> str:
    # what chance explains as well is no promise
    who = f"Training on these pairs {'would' if finding.shown else 'may'}" if report.subject == "pairs" else "Pairs made of these rollouts may"
    return f"{who} teach {'it' if finding.lean == 1 else 'answers without it'}."
