"""Charts of a judge that scores, as pure functions from the evidence to figures, each with a sentence that says the same.

Kappa, precision and the ROC are blue solid lines; the false-positive rate is orange and dashed, so that no line is told by
its hue alone. Bounds of the grid are dotted and labelled. All text in a figure is made here from figures and constants.
"""
from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import plotly.graph_objects as go

from core.gates.judge_evidence import GradedEvidence
from core.gates.judge_words import decimal, figure
from core.settings import SETTINGS
from core.statistics.agreement import false_positive_rate, precision, recall
from core.statistics.ratio import Ratio, fraction_text, percent_text
from core.statistics.reliability import Reliability, ReliabilityBin
from core.statistics.threshold_sweep import GateBounds, SweepRow, ThresholdSweep
from dashboard import words
from dashboard.charts import BARE, CLEAR, Part, chart_title
from dashboard.palette import Palette

_C: Final = SETTINGS["charts"]
_J: Final = SETTINGS["judges"]
_UNIT: Final = (0.0, 1.0)


def thinned(rows: Sequence[SweepRow]) -> list[SweepRow]:
    """At most ``chart_points`` rows (settings), evenly spread, with both ends: what a line of a few hundred pixels can show."""
    most = _J["chart_points"]
    if len(rows) <= most:
        return list(rows)
    last = len(rows) - 1
    return [rows[index * last // (most - 1)] for index in range(most)]


def roc(evidence: GradedEvidence, bounds: GateBounds, colours: Palette) -> go.Figure:
    """True approvals over false ones at every threshold, the judge's own verdicts, and the grid's cap."""
    sweep = evidence.sweep
    points = [(row.fpr, row.recall, row) for row in thinned(sweep.rows) if row.fpr.value is not None and row.recall.value is not None]
    own = false_positive_rate(evidence.approvals), recall(evidence.approvals)
    data = [
        _line("thresholds", [ratio.value for ratio, _, _ in points], [ratio.value for _, ratio, _ in points], colours.admitted,
              hover=[_hover(row, "passing approved", row.recall) for *_, row in points]),
        *_diagonal(colours), *_own(*own, colours),
    ]
    cap = float(bounds.max_fpr)
    layout = _layout(f"<b>ROC</b>  {_n(sweep)}", "failed answers approved, share", "passing answers approved, share", colours)
    layout["shapes"] = [_bound(colours, x=cap)]
    layout["annotations"] = [_note(f"cap {percent_text(bounds.max_fpr)}", colours, x=cap, y=1, yref="paper", xanchor="left", yanchor="bottom")]
    return go.Figure(data=data, layout=layout)


def precision_recall(evidence: GradedEvidence, colours: Palette) -> go.Figure:
    """Precision over recall at every threshold that approves something; the dotted line is the prevalence of passes."""
    sweep = evidence.sweep
    points = [row for row in thinned(sweep.rows) if row.precision.value is not None and row.recall.value is not None]
    own = recall(evidence.approvals), precision(evidence.approvals)
    data = [
        _line("thresholds", [row.recall.value for row in points], [row.precision.value for row in points], colours.admitted,
              hover=[_hover(row, "approved that pass", row.precision) for row in points]),
        *_own(*own, colours),
    ]
    share = Fraction(sweep.passed, sweep.n)
    layout = _layout(f"<b>Precision and recall</b>  {_n(sweep)}", "passing answers approved, share", "approved that pass, share", colours)
    layout["shapes"] = [_bound(colours, y=float(share))]
    layout["annotations"] = [_note(f"prevalence {percent_text(share)}", colours, x=1, y=float(share), xanchor="right", yanchor="bottom")]
    return go.Figure(data=data, layout=layout)


def by_threshold(evidence: GradedEvidence, bounds: GateBounds, colours: Palette) -> go.Figure:
    """Kappa and the false-positive rate when answers from that score up are approved; thresholds that open the gate are banded."""
    rows = [row for row in thinned(evidence.sweep.rows) if row.threshold is not None]
    x = [row.threshold for row in rows]
    data = [
        _line("kappa", x, [row.kappa.value for row in rows], colours.admitted, hover=[_hover(row, "kappa", row.kappa) for row in rows]),
        _line("false-positive rate", x, [row.fpr.value for row in rows], colours.rejected, dash="dash",
              hover=[_hover(row, "failed answers approved", row.fpr) for row in rows]),
    ]
    layout = _layout(f"<b>Kappa by threshold</b>  {_n(evidence.sweep)}", "approve from this score up", "kappa, false-positive rate", colours)
    low = min([0.0, *(float(row.kappa.value) for row in rows if row.kappa.value is not None)])
    layout["yaxis"] |= {"range": [low * _C["headroom"], _C["headroom"]]}
    layout |= {"showlegend": True, "legend": {"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom"}}
    layout["xaxis"] |= {"range": None}
    layout["shapes"] = [_bound(colours, y=float(bounds.min_kappa)), _bound(colours, y=float(bounds.max_fpr)), *_open_bands(evidence.sweep, colours)]
    # each at the end of the chart where its line is seldom near the bound
    place: Part = {"xref": "paper", "yanchor": "bottom"}
    layout["annotations"] = [
        _note(f"kappa at least {decimal(bounds.min_kappa)}", colours, x=1, xanchor="right", y=float(bounds.min_kappa), **place),
        _note(f"false positives at most {percent_text(bounds.max_fpr)}", colours, x=0, xanchor="left", y=float(bounds.max_fpr), **place),
    ]
    return go.Figure(data=data, layout=layout)


def reliability_diagram(found: Reliability, colours: Palette) -> go.Figure:
    """Share that passes over mean score, one point a bin, larger where more cases lie; on the diagonal a score is a probability."""
    most = max(row.count for row in found.rows)
    sizes = [_J["marker_least"] + _J["marker_span"] * row.count / most for row in found.rows]
    data: list[Part] = [*_diagonal(colours), {
        "type": "scatter", "name": "bins", "x": [float(row.mean_score) for row in found.rows], "y": [float(row.pass_rate) for row in found.rows],
        "mode": "lines+markers", "cliponaxis": False, "line": {"color": colours.line, "width": 1},
        "marker": {"size": sizes, "color": colours.admitted},
        "customdata": [_bin_hover(row, found.bins) for row in found.rows], "hovertemplate": "%{customdata}<extra></extra>",
    }]
    title = f"<b>Reliability</b>  n = {words.count(found.n)}, {words.plural(len(found.rows), 'bin')}"
    return go.Figure(data=data, layout=_layout(title, "mean score of the bin", "passes, share", colours))


def _bin_hover(row: ReliabilityBin, bins: int) -> str:
    ends = f"scores above {decimal(Fraction(row.index, bins))}, to {decimal(Fraction(row.index + 1, bins))}"
    passed = f"<b>{words.count(row.passed)}</b> of {words.count(row.count)} pass: {percent_text(row.pass_rate)}"
    return f"{ends}<br>mean {decimal(row.mean_score)}<br>{passed}"


# sentences


def roc_sentence(evidence: GradedEvidence, bounds: GateBounds) -> str:
    """The ROC in words: the area, where the judge stands, and the most it could approve under the cap."""
    sweep = evidence.sweep
    under = [row for row in sweep.rows if row.fpr.value is not None and row.fpr.value <= bounds.max_fpr and row.recall.value is not None]
    best = max(under, key=lambda row: row.table.tp, default=None)
    said = f"Area {figure(sweep.auc)} (0.5 is chance)."
    if evidence.approvals.n:
        said += (
            f" The judge's own verdicts: {_short(recall(evidence.approvals))} of passing answers approved at "
            f"{_short(false_positive_rate(evidence.approvals))} of failed ones."
        )
    if best is not None:
        said += f" Under the cap at most {fraction_text(best.recall)} of passing answers could be approved."
    return said


def precision_recall_sentence(evidence: GradedEvidence) -> str:
    """Precision and recall in words: their mean, and both ends."""
    sweep, own = evidence.sweep, evidence.approvals
    said = f"Average precision {sweep.average_precision.text}; approving everything gives {percent_text(Fraction(sweep.passed, sweep.n))}."
    return said + (f" The judge's own verdicts: precision {_short(precision(own))}, recall {_short(recall(own))}." if own.n else "")


def by_threshold_sentence(evidence: GradedEvidence) -> str:
    """Kappa by threshold in words: the best one, and where the gate would be open."""
    rows = [row for row in evidence.sweep.rows if row.threshold is not None]
    defined = [row for row in rows if row.kappa.value is not None]
    if not defined:
        return "Kappa is undefined at every threshold."
    best = max(defined, key=lambda row: (row.kappa.value or 0, row.threshold))
    said = f"Kappa is largest, {figure(best.kappa)}, from {decimal(best.threshold)} up, with {fraction_text(best.fpr)} of failed answers approved."
    opened = [row.threshold for row in rows if row.gate_open]
    if not opened:
        return f"{said} No threshold opens the gate."
    between = decimal(opened[0]) if len(opened) == 1 else f"{decimal(opened[-1])} to {decimal(opened[0])}"
    return f"{said} The gate would be open at {words.count(len(opened))} of {words.plural(len(rows), 'threshold')} ({between})."


def _short(ratio: Ratio) -> str:
    return f"undefined ({ratio.undefined})" if ratio.value is None else percent_text(ratio.value)


def _n(sweep: ThresholdSweep) -> str:
    return f"n = {words.count(sweep.n)}"


# parts of a figure


def _numbers(values: Sequence[Fraction | None]) -> list[float | None]:
    return [None if value is None else float(value) for value in values]


def _line(name: str, x: Sequence[Fraction | None], y: Sequence[Fraction | None], colour: str, *, hover: list[str], dash: str = "solid") -> Part:
    return {
        "type": "scatter", "name": name, "x": _numbers(x), "y": _numbers(y), "mode": "lines+markers" if len(x) == 1 else "lines",
        "line": {"color": colour, "width": _J["line_width"], "dash": dash}, "connectgaps": False,
        "customdata": hover, "hovertemplate": "%{customdata}<extra></extra>",
    }


def _hover(row: SweepRow, name: str, ratio: Ratio) -> str:
    at = "approve nothing" if row.threshold is None else f"approve from {decimal(row.threshold)} up"
    value = figure(ratio) if name == "kappa" else fraction_text(ratio)
    gate = {True: "<br>gate open", False: "<br>gate closed", None: ""}[row.gate_open]
    return f"{at}<br>{name} <b>{value}</b>{gate}"


def _diagonal(colours: Palette) -> list[Part]:
    return [{
        "type": "scatter", "name": "chance", "x": list(_UNIT), "y": list(_UNIT), "mode": "lines", "hoverinfo": "skip",
        "line": {"color": colours.muted, "width": 1, "dash": "dot"},
    }]


def _own(x: Ratio, y: Ratio, colours: Palette) -> list[Part]:
    """Where the judge's own verdicts stand."""
    if x.value is None or y.value is None:
        return []
    return [{
        "type": "scatter", "name": "its own verdicts", "x": [float(x.value)], "y": [float(y.value)], "mode": "markers+text", "cliponaxis": False,
        "text": ["its own verdicts"],
        "textposition": f"{'bottom' if y.value > _C['centre'] else 'top'} {'left' if x.value > _C['centre'] else 'right'}",
        "textfont": {"size": _C["small_font_size"], "color": colours.text},
        "marker": {"size": _J["marker_least"], "symbol": "diamond", "color": colours.text},
        "customdata": [f"its own verdicts<br>{fraction_text(x)}<br>{fraction_text(y)}"], "hovertemplate": "%{customdata}<extra></extra>",
    }]


def _bound(colours: Palette, *, x: float | None = None, y: float | None = None) -> Part:
    style = {"type": "line", "line": {"color": colours.text, "width": 1, "dash": "dot"}}
    if x is not None:
        return {**style, "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper"}
    return {**style, "x0": 0, "x1": 1, "xref": "paper", "y0": y, "y1": y}


def _note(text: str, colours: Palette, **place: Any) -> Part:
    return {"text": text, "showarrow": False, "font": {"size": _C["small_font_size"], "color": colours.text}, **place}


def _open_bands(sweep: ThresholdSweep, colours: Palette) -> list[Part]:
    """Runs of neighbouring thresholds that open the gate, as bands."""
    bands: list[Part] = []
    start: SweepRow | None = None
    last: SweepRow | None = None
    for row in [*sweep.rows, None]:
        if row is not None and row.gate_open and row.threshold is not None:
            start, last = start or row, row
        elif start is not None and last is not None:
            bands.append({
                "type": "rect", "x0": float(last.threshold or 0), "x1": float(start.threshold or 0), "y0": 0, "y1": 1, "yref": "paper",
                "fillcolor": colours.band, "line": {"color": colours.accent, "width": 1}, "layer": "below",
            })
            start = last = None
    return bands


def _layout(title: str, x: str, y: str, colours: Palette) -> Part:
    left, right, top, bottom = _J["chart_margins"]
    small = {"size": _C["small_font_size"], "color": colours.muted}
    axis = {
        "zeroline": False, "fixedrange": True, "tickfont": {"size": _C["small_font_size"]}, "range": [-_J["chart_air"], 1 + _J["chart_air"]],
        "gridcolor": colours.line, "linecolor": colours.line,
    }
    return {
        "template": BARE, "height": _J["chart_height"], "margin": {"l": left, "r": right, "t": top, "b": bottom}, "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR, "font": {"family": colours.font, "size": _C["font_size"], "color": colours.text}, "title": chart_title(title),
        "showlegend": False, "hovermode": "closest", "hoverlabel": {"font": {"family": colours.font}}, "dragmode": False,
        "xaxis": {
            **axis, "title": {"text": x, "font": small, "standoff": _C["standoff"]}, "showgrid": False, "ticks": "outside", "tickcolor": colours.line,
        },
        "yaxis": {**axis, "title": {"text": y, "font": small}},
    }
