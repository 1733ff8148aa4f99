"""Rates and chance-corrected agreement of a 2x2 table: every figure of the oracle, the sentence on the paradox, cases 9 and 11."""
from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import matthews_corrcoef

from core.errors import RoundError
from core.statistics import agreement
from core.statistics import chance_corrected as chance
from core.statistics.agreement import Confusion, cohen_kappa, exact_agreement
from core.statistics.judge_evidence import judge_evidence
from core.statistics.threshold_sweep import GateBounds

ORACLE = json.loads((Path(__file__).parents[1] / "fixtures/oracles/judge_agreement.json").read_text("utf-8"))
FIGURES: dict[str, Callable[[Confusion], Any]] = {
    "exact_agreement": agreement.exact_agreement, "expected_agreement": chance.expected_agreement, "cohens_kappa": agreement.cohen_kappa,
    "kappa_max_given_margins": chance.kappa_max, "pabak": chance.pabak, "gwet_ac1": chance.gwet_ac1, "mcc": chance.matthews_correlation,
    "prevalence_index": chance.prevalence_index, "bias_index": chance.bias_index, "false_positive_approval_rate": agreement.false_positive_rate,
    "false_discovery_rate": agreement.false_discovery_rate, "precision": agreement.precision, "recall": agreement.recall,
    "specificity": agreement.specificity, "negative_predictive_value": agreement.negative_predictive_value,
    "false_negative_rate": agreement.false_negative_rate, "f1": agreement.f1_score, "balanced_accuracy": agreement.balanced_accuracy,
    "false_positives_over_all": agreement.false_positives_over_all,
}
# the oracle's reason codes in the engine's words
REASONS = {
    "undefined_one_class": agreement.ONE_CLASS, "empty_margin": chance.EMPTY_MARGIN, "no_verifier_failures": agreement.NO_FAILURES,
    "no_rejections": agreement.NO_REJECTIONS, "one_verifier_class": agreement.ONE_VERIFIER_CLASS, "no_approvals": agreement.NO_APPROVALS,
    "no_verifier_passes": agreement.NO_PASSES, "no_positives": agreement.NO_POSITIVES,
}
BOUNDS = GateBounds(min_kappa=Fraction(3, 4), max_fpr=Fraction(1, 20))
tables = st.builds(Confusion, *[st.integers(0, 60)] * 4)


@pytest.mark.parametrize("case", ORACLE["cases"], ids=lambda case: case["id"])
def test_every_figure_of_the_oracle(case: dict) -> None:
    table, expected = Confusion(**case["inputs"]), dict(case["expected"])
    assert table.n == expected.pop("n")
    gate = expected.pop("gate")
    assert set(expected) == set(FIGURES)
    for name, wanted in expected.items():
        got = FIGURES[name](table)
        if wanted["value"] is None:
            assert (got.value, got.undefined) == (None, REASONS[wanted["reason"]]), name
        elif "exact" in wanted:
            assert got.value == Fraction(wanted["exact"]), name
        else:
            assert math.isclose(got.value, wanted["value"], rel_tol=0, abs_tol=1e-12), name
    kappa, fpr = agreement.cohen_kappa(table).value, agreement.false_positive_rate(table).value
    assert gate == {"kappa_ge_3_4": kappa is not None and kappa >= BOUNDS.min_kappa, "fpr_le_1_20": fpr is not None and fpr <= BOUNDS.max_fpr}


def test_no_records_leaves_every_figure_undefined_and_says_so() -> None:
    nothing = Confusion(0, 0, 0, 0)
    for name, figure in FIGURES.items():
        assert (figure(nothing).value, figure(nothing).undefined) == (None, agreement.NO_RECORDS), name
    assert chance.paradox_sentence(nothing) == "Nothing can be said: no calibration records."


@pytest.mark.parametrize("counts", [(-1, 0, 0, 3), (1.0, 0, 0, 3), (True, 0, 0, 3), (None, 0, 0, 3)])
def test_what_is_no_count_is_refused_by_name(counts: tuple[Any, ...]) -> None:
    with pytest.raises(RoundError) as refused:
        Confusion(*counts)
    assert refused.value.code == "invalid_count" and refused.value.where is not None and refused.value.where.field == "tp"


@given(tables)
def test_kappa_lies_between_what_prevalence_and_bias_make_of_pabak(table: Confusion) -> None:
    # Byrt, Bishop & Carlin 1993: kappa = (PABAK - PI^2 + BI^2) / (1 - PI^2 + BI^2)
    kappa = cohen_kappa(table).value
    if kappa is None:
        return
    adjusted, prevalence, bias = (figure(table).value for figure in (chance.pabak, chance.prevalence_index, chance.bias_index))
    assert kappa * (1 - prevalence**2 + bias**2) == adjusted - prevalence**2 + bias**2
    largest = chance.kappa_max(table).value
    assert largest is not None and -1 <= kappa <= largest <= 1


@given(tables)
def test_mcc_against_scikit_learn(table: Confusion) -> None:
    got = chance.matthews_correlation(table).value
    if got is not None:
        truth = [1] * table.tp + [0] * table.fp + [1] * table.fn + [0] * table.tn
        said = [1] * (table.tp + table.fp) + [0] * (table.fn + table.tn)
        assert math.isclose(got, matthews_corrcoef(truth, said), abs_tol=1e-12)


# Feinstein & Cicchetti's two tables have the same agreement, 85 of 100. B: (80+10)(80+5) + (5+5)(10+5) = 7650 + 150 = 7800 of 10,000
@pytest.mark.parametrize(("table", "parts"), [
    ((80, 10, 5, 5), ["Kappa is only 0.318 at agreement 85 %", "85 of 100 cases pass", "prevalence index 0.75", "78 %", "PABAK 0.7, AC1 0.808",
                      "the gate still reads kappa"]),
    ((40, 9, 6, 45), ["Kappa 0.7 at agreement 85 %", "PABAK 0.7, AC1 0.701", "no paradox"]),
    # the judge approves 4 of 6, the verifier passes 2: PABAK = 2 * 2/6 - 1 = -1/3, kappa -1/5
    ((1, 3, 1, 1), ["Kappa −0.2", "unequal margins", "approves 4 of 6", "passes 2", "bias index 0.333", "PABAK −0.333"]),
    ((7, 0, 0, 0), ["Kappa is undefined although agreement is 100 %", "one class", "the gate stays closed"]),
])
def test_one_sentence_on_the_paradox(table: tuple[int, ...], parts: list[str]) -> None:
    sentence = chance.chance_corrected(Confusion(*table)).paradox
    assert sentence.endswith(".") and sentence.count(". ") == 0
    for part in parts:
        assert part in sentence


# case 9 of the specification: (a) all approved and passed, (b) all refused and failed, (c) nothing, (d) one case
@pytest.mark.parametrize(("counts", "kappa", "fpr"), [
    ((20, 0, 0, 0), agreement.ONE_CLASS, agreement.NO_FAILURES), ((0, 0, 0, 20), agreement.ONE_CLASS, None),
    ((0, 0, 0, 0), agreement.NO_RECORDS, agreement.NO_RECORDS), ((1, 0, 0, 0), agreement.ONE_CLASS, agreement.NO_FAILURES),
])
def test_case_9_one_class_stays_undefined_in_every_object_and_in_json(counts: tuple[int, ...], kappa: str, fpr: str | None) -> None:
    evidence = judge_evidence(Confusion(*counts), BOUNDS)
    assert not BOUNDS.open_for(evidence.table)
    assert evidence.kappa_light is not None and evidence.fpr_light is not None
    assert evidence.kappa_light.text == f"undefined: {kappa}"
    assert evidence.fpr_light.rate.undefined == fpr
    document = json.loads(json.dumps(evidence.as_dict(), allow_nan=False))
    assert document["kappa"]["kappa"]["value"] is None and document["kappa"]["kappa"]["undefined"] == kappa
    for interval in (document["kappa"]["wald"], document["kappa"]["interval"]):
        assert (interval["lower"], interval["upper"], interval["undefined"]) == (None, None, kappa)
    assert document["kappa"]["bootstrap"]["undefined"] == kappa and document["chance"]["mcc"]["value"] is None
    if fpr is not None:
        assert document["rates"]["false_positive_rate"]["wilson"] == {
            "lower": None, "upper": None, "confidence": 0.95, "method": "Wilson score", "undefined": fpr, "seed": None,
        }


# case 11: 2(9*2 - 0)/(9*2 + 10*3) = 36/48; 2(5*11 - 1)/(6*12 + 6*12) = 108/144; 2(40*19 - 1)/(41*20 + 41*20) = 1518/1640, and 1 of 20 failures
@pytest.mark.parametrize(("counts", "kappa", "fpr", "opens"), [
    ((9, 0, 1, 2), Fraction(3, 4), Fraction(0), True), ((5, 1, 1, 11), Fraction(3, 4), Fraction(1, 12), False),
    ((40, 1, 1, 19), Fraction(1518, 1640), Fraction(1, 20), True),
])
def test_case_11_bounds_are_met_exactly(counts: tuple[int, ...], kappa: Fraction, fpr: Fraction, opens: bool) -> None:
    table = Confusion(*counts)
    assert (cohen_kappa(table).value, agreement.false_positive_rate(table).value) == (kappa, fpr)
    assert BOUNDS.open_for(table) is opens


def test_agreement_bound_is_asked_only_where_it_is_set() -> None:
    table = Confusion(4, 0, 1, 3)                                     # 7 of 8 agree
    assert exact_agreement(table).value == Fraction(7, 8)
    assert GateBounds(Fraction(3, 4), Fraction(1, 20), Fraction(7, 8)).open_for(table)
    assert not GateBounds(Fraction(3, 4), Fraction(1, 20), Fraction(8, 9)).open_for(table)
    assert BOUNDS.open_for(table)
