"""Evidence about a judge, from a round's records: intervals, slices, scores, biases, corrected pass rates; what is not supplied."""
from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support_demo import rows_of
from support_judges import cells, judged, record
from support_rounds import NOW, ORACLES

from core.errors import RoundError
from core.gates import judge_words as words
from core.gates.judge_cases import cases_of, judge_figures, slices_of
from core.gates.judge_evidence import JudgeReport, judge_report, seed_for
from core.gates.judge_parts import EvidenceRules
from core.grid import Grid, default_grid, grid_from_document, shipped_grids
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace
from core.statistics.agreement import NO_FAILURES, ONE_CLASS, Confusion
from core.statistics.provable import Light
from core.statistics.ratio import Ratio

ROOT = Path(__file__).parents[2]


def oracle(name: str, group: str, case: str) -> dict[str, Any]:
    (found,) = [one for one in json.loads((ORACLES / f"{name}.json").read_text("utf-8"))[group] if one["id"] == case]
    return found


def report(place: Path, records: list[dict[str, Any]], judge: str = "one", grid: Grid | None = None, **more: Any) -> JudgeReport:
    return judge_report(judged(place, records, **more)[1], grid or default_grid(), judge)


def grid_with_confidence(value: str) -> Grid:
    document = json.loads(default_grid().canonical)
    document["keys"]["evidence_confidence"]["value"] = value
    return grid_from_document(document | {"name": "other", "author": "test", "reason": "test"})


def plain(found: Any) -> str:
    return json.dumps(found.as_dict(), allow_nan=False)


# the worked example


def test_the_worked_example_is_met_and_not_proven(tmp_path: Path) -> None:
    found = report(tmp_path, cells(4, 0, 1, 3)).whole.figures
    known = oracle("kappa_intervals", "cases", "worked_example_calibrated")["expected"]
    assert found.kappa.kappa.value == Fraction(3, 4)
    assert found.kappa.standard_error == pytest.approx(known["asymptotic_se"], abs=1e-10)
    assert (found.kappa.wald.lower, found.kappa.wald.upper) == pytest.approx(tuple(known["wald_95_clipped"]), abs=1e-10)
    assert found.kappa.bootstrap is not None
    assert [str(end) for end in (found.kappa.bootstrap.percentile.lower, found.kappa.bootstrap.percentile.upper)] == ["3/19", "1"]
    assert found.fpr_light is not None and found.agreement_light is not None and found.kappa_light is not None
    # 1 - .05^(1/3) = .6316; 59 failed cases without an error prove 5 %, 3 are there
    assert found.fpr_light.limit.upper == pytest.approx(1 - 0.05 ** (1 / 3), abs=1e-12)
    assert found.fpr_light.text == "meets, not proven: needs 56 more failed cases"
    # one disagreement against a floor of 85 %: P(X <= 1; 30, .15) = .0480, P(X <= 1; 29, .15) = .0549, so 30 - 8 = 22
    assert found.agreement_light.text == "meets, not proven: needs 22 more agreeing cases"
    assert found.kappa_light.light is Light.MEETS
    assert (found.chance.pabak.value, found.chance.ac1.value) == (Fraction(3, 4), Fraction(49, 65))


def test_a_judge_that_proves_its_bounds(tmp_path: Path) -> None:
    # 59 failures, none approved: the first number that proves a cap of 5 %
    found = report(tmp_path, cells(60, 0, 0, 59)).whole.figures
    assert (found.fpr_light.light, found.fpr_light.limit.upper) == (Light.PROVES, pytest.approx(1 - 0.05 ** (1 / 59), abs=1e-12))
    assert report(tmp_path / "less", cells(60, 0, 0, 58)).whole.figures.fpr_light.more == 1
    # perfect agreement: no width would be a lie
    assert found.kappa.wald.undefined == "not estimable: the standard error of these counts is 0"
    assert "119 agreements in 119 cases" in words.kappa_interval(found.kappa)


def test_confidence_comes_from_the_grid(tmp_path: Path) -> None:
    _, source = judged(tmp_path, cells(4, 0, 1, 3))
    other = judge_report(source, grid_with_confidence("0.9"), "one")
    assert (other.confidence, other.alpha) == (Fraction(9, 10), Fraction(1, 10))
    # 1 - .1^(1/3); a cap of 5 % needs 45 failures: .95^45 = .0994 <= .1 < .95^44 = .1047
    assert other.whole.figures.fpr_light.limit.upper == pytest.approx(1 - 0.1 ** (1 / 3), abs=1e-12)
    assert other.whole.figures.fpr_light.more == 45 - 3
    assert {interval.confidence for interval in (other.whole.figures.kappa.wald, other.whole.figures.rates["recall"].wilson)} == {Fraction(9, 10)}
    # a grid of schema 1 sets none: 95 %, as the settings say
    (first,) = [grid for grid in shipped_grids().values() if grid.schema_version == 1]
    assert (EvidenceRules.of(first).confidence, EvidenceRules.of(first).alpha) == (Fraction(19, 20), Fraction(1, 20))


# undefined stays undefined


@pytest.mark.parametrize("table", [(20, 0, 0, 0), (0, 0, 0, 20)])
def test_one_class_leaves_kappa_undefined_everywhere(tmp_path: Path, table: tuple[int, ...]) -> None:
    found = report(tmp_path, cells(*table))
    figures = found.whole.figures
    assert figures.kappa.kappa.undefined == ONE_CLASS and figures.kappa_light.light is Light.UNDEFINED
    assert "Kappa is undefined although agreement is 100 %" in figures.chance.paradox
    assert words.figure(figures.kappa.kappa).startswith("undefined: ") and words.kappa_interval(figures.kappa).startswith("none: ")
    written = json.loads(plain(found))["whole"]["figures"]
    assert written["kappa"]["kappa"]["value"] is None and written["kappa"]["kappa"]["undefined"] == ONE_CLASS
    assert written["chance"]["mcc"]["value"] is None and written["chance"]["mcc"]["undefined"]


def test_a_rate_without_cases_has_a_reason_and_no_interval(tmp_path: Path) -> None:
    figures = report(tmp_path, cells(18, 0, 2, 0)).whole.figures
    rate = figures.rates["false_positive_rate"]
    assert rate.rate.undefined == NO_FAILURES == rate.wilson.undefined == rate.clopper_pearson.undefined
    assert figures.fpr_light.text == f"undefined: {NO_FAILURES}" and words.proven(figures.fpr_light) == f"nothing: {NO_FAILURES}"


def test_a_judge_without_records_has_no_figures_and_an_unknown_one_is_named(tmp_path: Path) -> None:
    _, source = judged(tmp_path, cells(4, 0, 1, 3), judges={"silent": {"version": "1"}})
    found = judge_report(source, default_grid(), "silent")
    assert found.whole.figures.table == Confusion(0, 0, 0, 0) and found.slices == ()
    assert found.whole.figures.kappa.kappa.undefined == "no calibration records"
    assert "NaN" not in plain(found)
    with pytest.raises(RoundError) as caught:
        judge_report(source, default_grid(), "nobody")
    assert caught.value.code == "unknown_judge" and "one, silent" in caught.value.remedy


def test_what_is_not_supplied_says_what_it_needs(tmp_path: Path) -> None:
    whole = report(tmp_path, cells(4, 0, 1, 3)).whole
    for part, needed in (
        (whole.graded, "rubric_score"), (whole.position, "order_swapped"), (whole.length, "length_first"), (whole.own, "own_output"),
    ):
        assert part.value is None and str(part.reason).startswith("not supplied: needs ") and needed in str(part.reason)
        assert part.as_dict() == {"value": None, "reason": part.reason}
    assert whole.pass_rate.reason == (
        "not needed: the judge alone saw no case, the verifier has a verdict on each; on those here it passes 5 of 8, 62.5 %"
    )


def test_cases_without_a_verdict_are_counted_and_feed_nothing(tmp_path: Path) -> None:
    found = report(tmp_path, [*cells(4, 0, 1, 3), record("no-judge", None, True), record("no-verifier", True, None)]).whole
    assert (found.records, found.missing, found.figures.table) == (10, 2, Confusion(4, 0, 1, 3))
    assert words.cases_words(found) == "8 of 10"


# slices


def test_slices_add_up_and_carry_the_same_evidence(tmp_path: Path) -> None:
    records = [
        *cells(3, 1, 0, 2, prefix="a", slice="easy"), *cells(1, 2, 2, 1, prefix="b", slice="hard"), *cells(2, 0, 0, 1, prefix="c"),
        record("a-000", False, True, order_swapped=True), record("c-000", True, True, order_swapped=True),
    ]
    found = report(tmp_path, records)
    assert [part.name for part in found.slices] == ["easy", "hard", None]
    assert [part.figures.table for part in found.slices] == [Confusion(3, 1, 0, 2), Confusion(1, 2, 2, 1), Confusion(2, 0, 0, 1)]
    assert sum(part.figures.table.n for part in found.slices) == found.whole.figures.table.n == 15 and found.swapped == 2
    # a swapped row says nothing about its slice: it goes where its case is
    assert [part.position.value is not None for part in found.slices] == [True, False, True]
    assert found.slices[0].figures.fpr_light.text == "fails" and found.slices[2].figures.fpr_light.more == 58
    assert report(tmp_path / "none", cells(4, 0, 1, 3)).slices == ()


def test_the_order_of_records_changes_nothing(tmp_path: Path) -> None:
    records = [*cells(5, 2, 1, 4, prefix="a", slice="x", rubric_score=0.5), *cells(3, 1, 2, 6, prefix="b", slice="y", rubric_score=0.25)]
    one, other = (report(tmp_path / name, rows) for name, rows in (("one", records), ("other", records[::-1])))
    assert replace(one, round_digest="") == replace(other, round_digest="")


def test_the_seed_is_that_of_round_judge_and_slice_and_is_stated(tmp_path: Path) -> None:
    _, source = judged(tmp_path, [*cells(90, 20, 15, 85, prefix="a", slice="x"), *cells(80, 20, 25, 90, prefix="b", slice="y")])
    found = judge_report(source, default_grid(), "one")
    seeds = [part.figures.kappa.bootstrap.seed for part in (found.whole, *found.slices)]
    whole = cases_of(judge_figures(source), "one")
    assert seeds == [seed_for(source, whole), *(seed_for(source, part) for part in slices_of(whole))]
    assert len(set(seeds)) == 3 and found == judge_report(source, default_grid(), "one")
    assert f"drawn with seed {seeds[0]}" in words.bootstrap_words(found.whole.figures.kappa)
    # what is shown above 200 cases needs no seed
    assert found.whole.figures.kappa.interval.method.startswith("asymptotic")


# scores


def test_thresholds_and_reliability_of_scores(tmp_path: Path) -> None:
    known = oracle("graded_calibration", "calibration_cases", "ten_scores")
    scores, passed = known["inputs"]["scores"], known["inputs"]["verifier_passed"]
    rows = enumerate(zip(map(float, scores), map(bool, passed), strict=True))
    records = [record(f"c{i}", score >= 0.5, value, rubric_score=score) for i, (score, value) in rows]
    found = report(tmp_path, [*records, record("unscored", True, True), record("unlabelled", True, None, rubric_score=0.9)]).whole.graded.value
    assert found is not None and found.reliability.value is not None
    assert (found.sweep.n, found.without_score) == (10, 1)
    exact = [known["expected"][name]["exact"] for name in ("ece", "mce", "brier")]
    assert [str(figure) for figure in (found.reliability.value.ece, found.reliability.value.mce, found.reliability.value.brier)] == exact
    # 6 pass, 4 fail; of 24 pairs the failing .4 beats .3, .6 beats .3 and .5: 21 of 24
    assert found.sweep.auc.value == Fraction(21, 24)
    # approved from .5 up: .5 .7 .8 .9 1 pass, .6 fails; .3 passes below
    assert found.approvals == Confusion(5, 1, 1, 3)
    # precision at each pass from the top: 1, 1, 1, 1, 5/6, 6/8, so (4 + 19/12) / 6 = 67/72
    assert found.sweep.average_precision.value == Fraction(67, 72)
    assert words.graded_sentences(found)[0] == "10 cases with a score (6 pass, 4 fail): AUC 0.875, average precision 0.931."
    assert words.graded_sentences(found)[-1] == "Left out: 1 case without a score."


def test_the_sweep_chooses_under_the_grids_bounds(tmp_path: Path) -> None:
    # .8 parts the classes
    records = [record(f"c{i}", True, score > 0.5, rubric_score=score) for i, score in enumerate((0.1, 0.2, 0.3, 0.8, 0.85, 0.9))]
    found = report(tmp_path, records).whole.graded.value
    assert found is not None and found.sweep.chosen == Fraction(4, 5)
    # at .85 (tp 2, fn 1, tn 3) kappa is 2*2*3 / (2*3 + 3*4) = 2/3 < 3/4, below .8 a failing answer is approved: 1 of 3 > 5 %
    assert [row.threshold for row in found.sweep.rows if row.gate_open] == [Fraction(4, 5)]
    assert "most passing answers at 0.8 and above, chosen on these very cases" in words.graded_sentences(found)[1]


def test_scores_that_are_no_probabilities_keep_their_sweep(tmp_path: Path) -> None:
    records = [record(f"c{i}", True, i > 2, rubric_score=float(i)) for i in range(1, 6)]
    found = report(tmp_path, records).whole.graded.value
    assert found is not None and found.sweep.auc.value == 1
    assert found.reliability.value is None and "scores from 0 to 1" in str(found.reliability.reason)


def test_scores_that_are_no_numbers_are_left_out_and_counted(tmp_path: Path) -> None:
    records = [record("a", True, True, rubric_score=float("nan")), record("b", True, False, rubric_score=float("inf")),
               record("c", True, True, rubric_score=0.5), record("d", False, False, rubric_score=0.25)]
    found = report(tmp_path, records, form="parquet").whole.graded.value
    assert found is not None and (found.sweep.n, found.without_score) == (2, 2)
    assert "NaN" not in plain(found)


# biases


def both_orders(pairs: list[tuple[Any, Any]], **more: Any) -> list[dict[str, Any]]:
    """Cases judged in both orders; each pair holds the choices in the original numbering."""
    approve = {1: True, "1": True, 2: False, "2": False, "tie": False, None: None}
    rows = []
    for number, sides in enumerate(pairs):
        for swapped, said in enumerate(sides):
            written = None if said is None else str(said)
            rows.append(record(f"c{number:02}", approve.get(said, False), True, order_swapped=bool(swapped), choice=written, **more))
    return rows


def test_position_bias_from_choices(tmp_path: Path) -> None:
    known = oracle("judge_bias", "position_cases", "mixed")
    records = [*both_orders([tuple(pair) for pair in known["inputs"]["verdicts"]]), record("once", True, True, choice="1")]
    found = report(tmp_path, records).whole.position.value
    assert found is not None and found.read_from == "choice" and found.one_order == 1
    expected = known["expected"]
    assert (found.bias.consistent, found.bias.follows_first_slot, found.bias.follows_second_slot, found.bias.unusable) == (
        expected["consistent"], expected["follows_first_slot"], expected["follows_second_slot"], expected["unusable"],
    )
    assert str(found.bias.net_first_slot_bias.value) == expected["net_first_slot_bias"] and found.bias.test.p.exact == Fraction(7, 32)
    said = words.position_sentences(found, Fraction(1, 20))
    assert said[0] == "The same answer in both orders: 9 of 15, 60 %; 5 follow the first place, 1 the second."
    assert said[1] == "Net towards the first place +26.7 points: no lean to one side shown (exact p = .2188)."
    assert said[-1] == "Left out: 1 pair without a verdict in both orders and 1 record in one order only."


def test_position_bias_from_approvals_where_no_choice_is_given(tmp_path: Path) -> None:
    # approves answer 1 where it stands first alone (4), second alone (1), in both (2), in neither (1)
    sides = [(True, False)] * 4 + [(False, True)] + [(True, True)] * 2 + [(False, False)]
    records = [
        record(f"c{i}", verdict, True, order_swapped=bool(swapped)) for i, pair in enumerate(sides) for swapped, verdict in enumerate(pair)
    ]
    found = report(tmp_path, records).whole.position.value
    assert found is not None and found.read_from == "rubric_approved"
    assert (found.bias.follows_first_slot, found.bias.follows_second_slot, found.bias.consistent) == (4, 1, 3)
    assert words.position_sentences(found, Fraction(1, 20))[-1] == words.READ_FROM_APPROVALS


def test_choices_that_cannot_be_read_are_left_out_counted_and_quoted(tmp_path: Path) -> None:
    found = report(tmp_path, both_orders([(1, 1), (1, 2), (2, 2), ("garbage", 1), ("A", "B")])).whole.position.value
    assert found is not None and (found.bias.n, found.bias.unusable, found.unreadable.count) == (5, 2, 3)
    assert "3 choices not readable ('A', 'B', 'garbage')" in " ".join(words.position_sentences(found, Fraction(1, 20)))
    none = report(tmp_path / "none", both_orders([("A", "B"), ("B", "B")])).whole.position
    assert none.value is None and none.reason == "not readable: choice has to be 1, 2, tie or nothing; got 'A', 'B'"


def picks(longer_wrong: tuple[int, int], longer_right: tuple[int, int]) -> list[dict[str, Any]]:
    """Cases by which answer is right and whether the judge picked the longer one; answer 1 is the longer in every second case."""
    rows = []
    for wrong, (longer, shorter) in ((True, longer_wrong), (False, longer_right)):
        for number, took_longer in enumerate([True] * longer + [False] * shorter):
            first_longer = bool(number % 2)
            picked_first, first_right = took_longer == first_longer, first_longer != wrong
            rows.append(record(
                f"{wrong}-{number}", picked_first, first_right, choice="1" if picked_first else "2", length_first=20 if first_longer else 10,
                length_second=10 if first_longer else 20,
            ))
    return rows


def test_length_bias_against_the_verifier(tmp_path: Path) -> None:
    known = oracle("judge_bias", "length_cases", "prefers_longer")
    found = report(tmp_path, [
        *picks((6, 14), (27, 3)), record("tie", False, True, choice="tie", length_first=5, length_second=9),
        record("even", True, True, choice="1", length_first=5, length_second=5), record("no-length", True, True, choice="1", length_first=5),
    ]).whole.length.value
    assert found is not None and (found.bias.counts.left_out, found.without_lengths) == (2, 1)
    assert str(found.bias.gap.value) == known["expected"]["length_bias"]
    ends = found.bias.gap.interval.lower, found.bias.gap.interval.upper
    assert ends == pytest.approx(tuple(known["expected"]["newcombe_95"]), abs=1e-10)
    assert words.length_sentence(found) == (
        "Picks the longer answer where it is wrong: 6 of 20, 30 %; the shorter where that is wrong: 3 of 30, 10 %; gap +20.0 points "
        "(95 % interval −2.0 to 42.9 points), so none is shown. Left out: 3 cases with a tie, no choice, or lengths that are equal or missing."
    )


def test_length_bias_with_one_kind_of_case_is_undefined(tmp_path: Path) -> None:
    found = report(tmp_path, picks((0, 0), (5, 1))).whole.length.value
    assert found is not None and found.bias.gap.value is None
    assert "gap undefined: no case where the longer answer is wrong" in words.length_sentence(found)


@pytest.mark.parametrize("case", ["self_vs_other", "no_own_failures"])
def test_self_preference_with_the_oracles_figures(tmp_path: Path, case: str) -> None:
    known = oracle("judge_bias", "self_preference_cases", case)
    own, other = (known["inputs"][whose] for whose in ("own", "other"))
    records = [*cells(**own, prefix="own", own_output=True), *cells(**other, prefix="other", own_output=False), record("unlabelled", True, True)]
    found = report(tmp_path, records).whole.own.value
    assert found is not None and found.unlabelled == 1
    gap, expected = found.preference.fpr_gap, known["expected"]["fpr_gap"]
    assert (None if gap.value is None else str(gap.value)) == expected
    if expected is None:
        assert "gap undefined: the verifier failed nothing among the judge's own outputs" in words.self_sentences(found)[0]
    else:
        assert (gap.interval.lower, gap.interval.upper) == pytest.approx(tuple(known["expected"]["fpr_gap_newcombe_95"]), abs=1e-10)
        assert words.self_sentences(found)[0].endswith("gap +28.6 points (95 % interval 8.3 to 51.7 points), so there is one.")


# corrected pass rates


def test_a_slices_pass_rate_is_corrected_by_the_errors_elsewhere(tmp_path: Path) -> None:
    records = [*cells(90, 20, 10, 80, prefix="a", slice="calibration"), *cells(40, 20, 5, 35, prefix="b", slice="new")]
    _, new = (part.pass_rate.value for part in report(tmp_path, records).slices)
    assert new is not None and new.calibrated_on == 200
    # approved 60 of 100, recall .9 and specificity .8 of the other slice: (.6 + .8 - 1) / (.9 + .8 - 1) = 4/7; the verifier passes 45 %
    assert new.corrected.value == Fraction(4, 7) and new.known == Ratio(45, 100)
    lower, upper = new.corrected.interval.lower, new.corrected.interval.upper
    assert lower is not None and upper is not None and new.holds is (lower <= 0.45 <= upper)
    said = "The judge approves 60 of 100, 60 %; corrected for its errors on 200 other cases: 57.14 % (95 % interval "
    assert words.pass_rate_sentence(new).startswith(said)


def test_cases_that_only_the_judge_saw_are_corrected_by_all_others(tmp_path: Path) -> None:
    unseen = [record(f"u-{i}", i < 60, None) for i in range(100)]
    found = report(tmp_path, [*cells(90, 20, 10, 80), *unseen]).whole.pass_rate.value
    assert found is not None and (found.corrected.value, found.known, found.holds) == (Fraction(4, 7), None, None)
    chance = report(tmp_path / "chance", [*cells(10, 10, 10, 10), *unseen]).whole.pass_rate.value
    # recall + specificity = 1: approvals say nothing about passing
    assert chance is not None and chance.corrected.value is None
    assert "corrected: undefined, the judge is no better than chance" in words.pass_rate_sentence(chance)


def test_a_single_slice_has_nothing_to_be_corrected_by(tmp_path: Path) -> None:
    (only,) = report(tmp_path, cells(4, 0, 1, 3, slice="only")).slices
    assert only.pass_rate.value is None and only.pass_rate.reason == "not supplied: needs cases with both verdicts in this slice and in another"


# published figures, from the demo round


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Round:
    workspace = Workspace.open(tmp_path_factory.mktemp("judges") / "workspace", create=True)
    return workspace.round(ingest(ROOT / "data" / "rounds" / "judges", workspace, now=NOW).digest)


@cache
def upstream(evaluator: str, strategy: str) -> dict[str, dict[str, Any]]:
    rows = rows_of("llmbar/statistics.jsonl.gz")
    return {row["subset"]: row for row in rows if (row["evaluator"], row["strategy"]) == (evaluator, strategy)}


def counted(written: str) -> int:
    return int(written.split(" / ")[0])


def test_published_figures_of_gpt_4_with_metrics_and_reference(published: Round) -> None:
    found = judge_report(published, default_grid(), "llmbar-gpt-4-metrics-reference")
    figures = found.whole.figures
    assert f"{float(figures.kappa.kappa.value):.4f}" == "0.7234" and str(figures.rates["false_positive_rate"].rate.numerator) == "37"
    assert figures.rates["false_positive_rate"].rate.denominator == 213 and figures.fpr_light.light is Light.FAILS
    # LLMBar's own table, all subsets together: right as shown, right swapped, right in both, equal
    rows = upstream("GPT-4", "Metrics_Reference").values()
    names = ("correct_False", "correct_True", "correct_both", "equal")
    shown, swapped, both, equal = (sum(counted(row[name]) for row in rows) for name in names)
    position = found.whole.position.value
    assert position is not None and (shown, swapped, both, equal) == (361, 370, 348, 384)
    orders = position.orders
    assert [ratio.numerator for ratio in (orders.correct_as_shown, orders.correct_swapped, orders.correct_both)] == [shown, swapped, both]
    assert position.bias.consistent == equal
    said = words.position_sentences(position, Fraction(1, 20))
    assert said[0].startswith("The same answer in both orders: 384 of 419, 91.65 %")
    assert said[-1].startswith("Right in the given order 361 of 419, 86.16 %, swapped 370 of 419, 88.31 %, in both 348 of 419, 83.05 %")


def test_published_agreement_of_both_orders_slice_by_slice(published: Round) -> None:
    found = judge_report(published, default_grid(), "llmbar-gpt-4-vanilla")
    published_rows = upstream("GPT-4", "Vanilla")
    assert [part.name for part in found.slices] == sorted(published_rows)
    for part in found.slices:
        row, position = published_rows[str(part.name)], part.position.value
        assert position is not None and position.bias.consistent == counted(row["equal"])
        assert float(position.orders.kappa.value) == pytest.approx(row["kappa_agreement"], abs=1e-12)


def test_missing_answers_of_palm2_are_left_out_and_said(published: Round) -> None:
    found = judge_report(published, default_grid(), "llmbar-palm2-vanilla").whole
    assert words.cases_words(found) == "415 of 419" and f"{float(found.figures.kappa.kappa.value):.4f}" == "0.3739"
    assert found.position.value is not None and found.position.value.bias.unusable == 4


def test_unreadable_answers_of_pandalm_are_named(published: Round) -> None:
    found = judge_report(published, default_grid(), "pandalm-gpt-3.5-turbo").whole
    assert f"{float(found.figures.kappa.kappa.value):.4f}" == "0.5581"
    assert found.length.value is not None and (found.length.value.unreadable.count, found.length.value.unreadable.examples) == (25, ("garbage",))
