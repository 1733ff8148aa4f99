"""Several raters: Fleiss' kappa and Krippendorff's alpha against the oracle, statsmodels and the definition; tables of k classes."""
from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, precision_recall_fscore_support
from statsmodels.stats.inter_rater import fleiss_kappa as reference_fleiss

from core.errors import RoundError
from core.statistics.agreement import Confusion, cohen_kappa
from core.statistics.class_table import NEVER_CHOSEN, ClassTable, class_agreement, class_kappa, class_table, macro_scores
from core.statistics.multi_rater import NO_VARIATION, ONE_CATEGORY, category_counts, fleiss_kappa, krippendorff_alpha

ORACLE = json.loads((Path(__file__).parents[1] / "fixtures/oracles/multi_rater_agreement.json").read_text("utf-8"))
ratings = st.integers(1, 4).flatmap(lambda raters: st.lists(st.lists(st.sampled_from([0, 1, 3, None]), min_size=6, max_size=6),
                                                            min_size=raters + 1, max_size=raters + 1))


def refusal(call: Any) -> str:
    with pytest.raises(RoundError) as refused:
        call()
    return refused.value.code


@pytest.mark.parametrize("case", ORACLE["fleiss_cases"], ids=lambda case: case["id"])
def test_every_fleiss_case_of_the_oracle(case: dict) -> None:
    counts, expected = case["inputs"]["counts"], case["expected"]
    if "error" in expected:
        assert refusal(lambda: fleiss_kappa(counts)) == expected["error"]
        return
    got, wanted = fleiss_kappa(counts), expected["fleiss_kappa"]
    assert (got.items, got.ratings, got.raters, got.left_out) == (len(counts), sum(map(sum, counts)), sum(counts[0]), 0)
    if wanted["value"] is None:
        assert (got.value.value, got.value.undefined) == (None, ONE_CATEGORY)
    else:
        assert got.value.value == Fraction(wanted["exact"])


@pytest.mark.parametrize("case", ORACLE["krippendorff_cases"], ids=lambda case: case["id"])
def test_every_krippendorff_case_of_the_oracle(case: dict) -> None:
    table, expected = case["inputs"]["raters_by_units"], case["expected"]
    if "error" in expected:
        assert refusal(lambda: krippendorff_alpha(table)) == expected["error"]
        return
    for metric, wanted in expected.items():
        got = krippendorff_alpha(table, metric)
        if wanted["value"] is None:
            assert (got.value.value, got.value.undefined) == (None, NO_VARIATION)
        else:
            assert got.value.value == Fraction(wanted["exact"]), metric


@given(st.integers(2, 5).flatmap(lambda raters: st.lists(st.integers(0, raters).map(lambda yes: [yes, raters - yes]), min_size=1, max_size=12)))
def test_fleiss_against_statsmodels(counts: list[list[int]]) -> None:
    got = fleiss_kappa(counts).value.value
    if got is not None:
        assert math.isclose(got, reference_fleiss(np.array(counts)), abs_tol=1e-12)


@given(ratings, st.sampled_from(["nominal", "interval", "ratio"]))
def test_alpha_against_its_definition_over_pairs(table: list[list[int | None]], metric: Any) -> None:
    """1 - Do/De: mean distance within units (each unit weighted by its ratings over ratings - 1) against that of all pairs."""
    units = [[rating for rating in unit if rating is not None] for unit in zip(*table, strict=True)]
    units = [unit for unit in units if len(unit) > 1]
    pooled = [rating for unit in units for rating in unit]
    assume(len(set(pooled)) > 1)

    def distance(one: int, other: int) -> Fraction:
        if metric == "nominal":
            return Fraction(one != other)
        return Fraction((one - other) ** 2, 1 if metric == "interval" or one == other else (one + other) ** 2)

    within = sum((sum((distance(*pair) for pair in itertools.permutations(unit, 2)), Fraction(0)) / (len(unit) - 1) for unit in units), Fraction(0))
    among = sum((distance(*pair) for pair in itertools.permutations(pooled, 2)), Fraction(0)) / (len(pooled) - 1)
    got = krippendorff_alpha(table, metric)
    assert got.value.value == 1 - within / among
    assert (got.items, got.ratings, got.left_out) == (len(units), len(pooled), len(table[0]) - len(units))


def test_alpha_takes_text_labels_and_refuses_them_where_numbers_are_needed() -> None:
    # two raters, two units, they agree on one: o = diag(2) in "A", one A-B pair each way; alpha = 1 - 3 * 2 / (2 * 3 * 1) = 0
    assert krippendorff_alpha([["A", "A"], ["A", "B"]]).value.value == 0
    assert refusal(lambda: krippendorff_alpha([["A", "A"], ["A", "B"]], "interval")) == "non_finite_score"
    assert refusal(lambda: krippendorff_alpha([[1, -1], [1, 1]], "ratio")) == "negative_ratio_score"
    assert refusal(lambda: krippendorff_alpha([[1, 0], [1]])) == "lengths_differ"
    assert refusal(lambda: krippendorff_alpha([])) == "no_pairable_unit"
    assert refusal(lambda: fleiss_kappa([])) == "empty_calibration_set"


def test_labels_are_counted_by_unit() -> None:
    labels, table = category_counts([[2, None, 10], [10, 2, None]])
    assert labels == (2, 10) and table.tolist() == [[1, 1], [1, 0], [0, 1]]


def test_ten_thousand_units_are_counted_at_once() -> None:
    # unit i: raters say i % 3, i % 3 and (i + 1) % 3: of six ordered pairs two agree; every label is given 10,000 times
    table = [[i % 3 for i in range(9_999)], [i % 3 for i in range(9_999)], [(i + 1) % 3 for i in range(9_999)]]
    # Do = 4/6 of the pairs; De = (n^2 - 3 (n/3)^2) / (n (n - 1)) = (2/3) n / (n - 1), n = 29,997: alpha = 1 - (n - 1)/n
    assert krippendorff_alpha(table).value.value == Fraction(1, 29_997)


# ---------------------------------------------------------------- k classes

labels = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=40)


@given(labels)
def test_classes_against_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    said, truth = [one for one, _ in pairs], [other for _, other in pairs]
    table = class_table(said, truth, "abc")
    assert class_agreement(table).value == Fraction(sum(one == other for one, other in pairs), len(pairs))
    kappa = class_kappa(table).value
    assert (kappa is None) == (len(set(said + truth)) == 1)
    if kappa is not None:
        assert math.isclose(kappa, cohen_kappa_score(said, truth), abs_tol=1e-12)
    macro = macro_scores(table)
    if set(said) == set(truth) == set("abc"):
        wanted = precision_recall_fscore_support(truth, said, average="macro")
        for got, value in ((macro.precision, wanted[0]), (macro.recall, wanted[1]), (macro.f1, wanted[2])):
            assert math.isclose(got.value, value, abs_tol=1e-12)
    else:
        assert None in (macro.precision.value, macro.recall.value)


@given(st.builds(Confusion, *[st.integers(0, 30)] * 4))
def test_two_classes_are_the_two_by_two_table(table: Confusion) -> None:
    assert class_kappa(ClassTable(("pass", "fail"), table.cells)).value == cohen_kappa(table).value


def test_a_label_that_the_judge_never_chose_leaves_macro_precision_undefined() -> None:
    macro = macro_scores(class_table("aab", "abc"))
    assert (macro.precision.value, macro.precision.undefined) == (None, f"c: {NEVER_CHOSEN}")
    # recall of a, b, c: 1/1, 0/1, 0/1
    assert macro.recall.value == Fraction(1, 3) and macro.precision.text == f"undefined: c: {NEVER_CHOSEN}"


def test_labels_are_refused_by_name() -> None:
    assert refusal(lambda: class_table(["a", None], ["a", "b"])) == "missing_label"
    assert refusal(lambda: class_table(["a", "x"], ["a", "b"], "ab")) == "unknown_label"
    assert refusal(lambda: class_table("a", "ab")) == "lengths_differ"
    assert refusal(lambda: ClassTable(("a", "b"), ((1, -1), (0, 2)))) == "invalid_count"
    assert Counter(class_table("ba", "ab").labels) == Counter("ab")
