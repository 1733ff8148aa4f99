"""The funnel as a waterfall that adds up: in, quarantined, held, rejected by first reason, admitted. Pure."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import plotly.graph_objects as go

from core.rounds.queries import StateCounts
from core.settings import SETTINGS
from core.statistics.ratio import MINUS, percent_text
from dashboard import words
from dashboard.charts import BARE, CLEAR, chart_title
from dashboard.palette import Palette

_C: Final = SETTINGS["charts"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step: ``rows`` leave here as ``state`` and ``left`` go on; for the first and last step ``rows`` are those that are there."""

    label: str
    state: str
    rows: int
    left: int


def funnel_steps(counts: StateCounts, reasons: Sequence[Mapping[str, Any]]) -> list[Step]:
    """The steps in the order in which a row's place is decided, except that held pairs stand before the reasons.

    ``reasons``: rows of ``reason_counts.sql``. Reasons that reject nothing stay: that they reject nothing is a finding.
    """
    left = counts.total
    steps = [Step("In", "in", counts.total, left)]
    removed = [("Quarantined", "quarantined", counts.quarantined), ("Held", "held", counts.held)]
    removed += [(words.REASON_TITLES[row["reason"]], "rejected", row["primary_pairs"]) for row in reasons]
    for label, state, rows in removed:
        left -= rows
        steps.append(Step(label, state, rows, left))
    return [*steps, Step("Admitted", "admitted", counts.admitted, counts.admitted)]


def funnel_sentence(counts: StateCounts, reasons: Sequence[Mapping[str, Any]]) -> str:
    """The funnel as a sum in words, each term named."""
    terms = " + ".join(f"{words.REASON_TITLES[row['reason']].lower()} {words.count(row['primary_pairs'])}" for row in reasons)
    return (
        f"{words.count(counts.total)} in = {words.count(counts.admitted)} admitted + {words.count(counts.rejected)} rejected + "
        f"{words.count(counts.held)} held + {words.count(counts.quarantined)} quarantined. "
        f"Rejected by first reason: {terms} = {words.count(counts.rejected)}."
    )


def funnel(steps: Sequence[Step], colours: Palette) -> go.Figure:
    """A horizontal waterfall: each bar is what leaves at that step, placed where it leaves."""
    left, right, top, bottom = _C["funnel_margins"]
    total = steps[0].rows
    layout = {
        "template": BARE, "height": _C["row_height"] * len(steps) + top + bottom, "margin": {"l": left, "r": right, "t": top, "b": bottom},
        "paper_bgcolor": CLEAR, "plot_bgcolor": CLEAR, "font": {"family": colours.font, "size": _C["font_size"], "color": colours.text},
        "showlegend": False, "title": chart_title(f"<b>From in to admitted</b>  {words.plural(total, 'row')}"),
        "hoverlabel": {"font": {"family": colours.font}}, "annotations": [_note(step, colours) for step in steps],
        "xaxis": {"range": [0, max(total, 1)], "showgrid": False, "showticklabels": False, "zeroline": False, "fixedrange": True},
        "yaxis": {"autorange": "reversed", "fixedrange": True, "ticks": "", "tickfont": {"size": _C["font_size"]}},
    }
    return go.Figure(data=[_bars(steps, colours)], layout=layout)


def _bars(steps: Sequence[Step], colours: Palette) -> dict[str, Any]:
    hues = {"in": colours.line, "quarantined": colours.held, "held": colours.held, "rejected": colours.rejected, "admitted": colours.admitted}
    pattern = {
        "shape": ["/" if step.state == "rejected" else "" for step in steps], "size": _C["hatch_size"], "solidity": _C["hatch_solidity"],
        "fillmode": "overlay", "fgcolor": colours.background,
    }
    return {
        "type": "bar", "orientation": "h", "y": [step.label for step in steps], "x": [step.rows for step in steps],
        "base": [step.left if _leaves(step) else 0 for step in steps], "width": [1 - _C["left_out_opacity"] for _ in steps],
        "marker": {"color": [hues[step.state] for step in steps], "line": {"width": 0}, "pattern": pattern},
        "customdata": [_hover(step, steps[0].rows) for step in steps], "hovertemplate": "%{customdata}<extra></extra>",
    }


def _note(step: Step, colours: Palette) -> dict[str, Any]:
    colour = colours.text if step.rows else colours.muted
    return {
        "x": 1, "xref": "paper", "xanchor": "left", "xshift": _C["standoff"], "y": step.label, "text": _count_text(step), "showarrow": False,
        "align": "left", "font": {"size": _C["font_size"], "color": colour},
    }


def _leaves(step: Step) -> bool:
    return step.state not in ("in", "admitted")


def _count_text(step: Step) -> str:
    if not _leaves(step):
        return f"<b>{words.count(step.rows)}</b>"
    return f"{MINUS}{words.count(step.rows)} → {words.count(step.left)}" if step.rows else "0"


def _hover(step: Step, total: int) -> str:
    share = percent_text(Fraction(step.rows, total)) if total else "0 %"
    return f"{step.label}<br><b>{words.count(step.rows)}</b> of {words.count(total)}: {share}"
