"""Charts of a judge that scores: what is drawn where, and the sentences that say the same."""
from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from core.gates.judge_evidence import GradedEvidence
from core.gates.judge_parts import Part
from core.settings import SETTINGS
from core.statistics.agreement import Confusion
from core.statistics.reliability import reliability
from core.statistics.threshold_sweep import GateBounds, threshold_sweep
from dashboard import judge_charts
from dashboard.palette import palette

BOUNDS = GateBounds(Fraction(3, 4), Fraction(1, 20), Fraction(17, 20))
LIGHT = palette("light")


def evidence(scores: list[float], passed: list[bool], approvals: Confusion = Confusion(1, 1, 1, 1)) -> GradedEvidence:
    return GradedEvidence(0, approvals, threshold_sweep(scores, passed, BOUNDS), Part(reliability(scores, passed)))


# three fail at .1 .2 .3, three pass at .8 .85 .9: .8 parts them
PARTED = evidence([0.1, 0.2, 0.3, 0.8, 0.85, 0.9], [False, False, False, True, True, True])


def trace(figure: Any, name: str) -> Any:
    (found,) = [one for one in figure.data if one.name == name]
    return found


def test_the_roc_runs_through_every_threshold() -> None:
    figure = judge_charts.roc(PARTED, BOUNDS, LIGHT)
    line = trace(figure, "thresholds")
    assert list(line.x) == pytest.approx([0, 0, 0, 0, 1 / 3, 2 / 3, 1]) and list(line.y) == pytest.approx([0, 1 / 3, 2 / 3, 1, 1, 1, 1])
    own = trace(figure, "its own verdicts")
    assert (own.x[0], own.y[0]) == (0.5, 0.5)
    assert [shape.x0 for shape in figure.layout.shapes] == [0.05] and figure.layout.annotations[0].text == "cap 5 %"
    assert judge_charts.roc_sentence(PARTED, BOUNDS) == (
        "Area 1 (0.5 is chance). The judge's own verdicts: 50 % of passing answers approved at 50 % of failed ones. "
        "Under the cap at most 3 of 3, 100 % of passing answers could be approved."
    )


def test_precision_and_recall_leave_out_the_threshold_that_approves_nothing() -> None:
    figure = judge_charts.precision_recall(PARTED, LIGHT)
    line = trace(figure, "thresholds")
    # recall 1/3, 2/3, 1, then failing answers join: 3/4, 3/5, 3/6
    assert list(line.x) == pytest.approx([1 / 3, 2 / 3, 1, 1, 1, 1]) and list(line.y) == pytest.approx([1, 1, 1, 3 / 4, 3 / 5, 1 / 2])
    assert figure.layout.annotations[0].text == "prevalence 50 %"
    assert judge_charts.precision_recall_sentence(PARTED).startswith("Average precision 1; approving everything gives 50 %.")


def test_kappa_by_threshold_marks_where_the_gate_is_open() -> None:
    figure = judge_charts.by_threshold(PARTED, BOUNDS, LIGHT)
    kappa = trace(figure, "kappa")
    assert list(kappa.x) == [0.9, 0.85, 0.8, 0.3, 0.2, 0.1]
    # at .9: tp 1, fn 2, tn 3: 2*3 / (1*3 + 3*5) = 1/3; .85: 12/18; .8: 1; .3: 2/3, .2: 1/3; all approved: 0
    assert list(kappa.y) == pytest.approx([1 / 3, 2 / 3, 1, 2 / 3, 1 / 3, 0])
    assert trace(figure, "false-positive rate").line.dash == "dash"
    bands = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    assert [(band.x0, band.x1) for band in bands] == [(0.8, 0.8)]
    assert judge_charts.by_threshold_sentence(PARTED) == (
        "Kappa is largest, 1, from 0.8 up, with 0 of 3, 0 % of failed answers approved. The gate would be open at 1 of 6 thresholds (0.8)."
    )


def test_neighbouring_open_thresholds_are_one_band() -> None:
    scores = [0.1] * 40 + [0.7, 0.8, 0.9] + [0.95] * 37
    found = evidence(scores, [False] * 40 + [True] * 40)
    bands = [shape for shape in judge_charts.by_threshold(found, BOUNDS, LIGHT).layout.shapes if shape.type == "rect"]
    assert [(band.x0, band.x1) for band in bands] == [(0.7, 0.95)]
    assert "open at 4 of 5 thresholds (0.7 to 0.95)" in judge_charts.by_threshold_sentence(found)


def test_reliability_points_are_bins() -> None:
    figure = judge_charts.reliability_diagram(reliability([0.1, 0.15, 0.9, 0.95], [False, True, True, True], 10), LIGHT)
    points = trace(figure, "bins")
    # .1 lies in the first right-closed bin, .15 in the second, .9 in the ninth, .95 in the tenth
    assert list(points.x) == [0.1, 0.15, 0.9, 0.95] and list(points.y) == [0, 1, 1, 1]
    assert "scores above 0, to 0.1" in points.customdata[0] and "<b>0</b> of 1 pass: 0 %" in points.customdata[0]


def test_one_class_draws_no_roc_and_says_why() -> None:
    found = evidence([0.2, 0.4], [True, True], Confusion(1, 0, 1, 0))
    figure = judge_charts.roc(found, BOUNDS, LIGHT)
    assert list(trace(figure, "thresholds").x) == [] and not [one for one in figure.data if one.name == "its own verdicts"]
    assert judge_charts.roc_sentence(found, BOUNDS).startswith("Area undefined: the verifier says the same about every case")
    kappa = trace(judge_charts.by_threshold(found, BOUNDS, LIGHT), "kappa")
    # approving one of two passing answers: one class on one side only, kappa 0; approving both: undefined, a gap
    assert list(kappa.y) == [0, None]


def test_many_thresholds_are_thinned_to_what_a_line_can_show() -> None:
    most = SETTINGS["judges"]["chart_points"]
    rows = evidence([i / 5000 for i in range(5000)], [i % 2 == 0 for i in range(5000)]).sweep.rows
    thin = judge_charts.thinned(rows)
    assert len(thin) == most and thin[0] is rows[0] and thin[-1] is rows[-1]
    assert judge_charts.thinned(rows[:most]) == list(rows[:most])


@pytest.mark.parametrize("kind", ["light", "dark"])
def test_texts_in_figures_are_made_of_figures_and_constants(kind: str) -> None:
    colours = palette(kind)
    for figure in (judge_charts.roc(PARTED, BOUNDS, colours), judge_charts.by_threshold(PARTED, BOUNDS, colours),
                   judge_charts.precision_recall(PARTED, colours)):
        assert "n = 6" in figure.layout.title.text and figure.layout.font.color == colours.text
        assert figure.layout.xaxis.title.text and figure.layout.yaxis.title.text
