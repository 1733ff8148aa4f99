"""Strength of evidence: what each check's counts prove, against the oracles, scipy and arithmetic by hand."""
from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest
from support_desk import desk
from support_rounds import NOW
from support_strength import FIRST_GRID, Bench, check, flip_rows, grid_with, judge_rows, run_rows

from core.canonical import canonical_bytes, parse_json
from core.gates.assessment import load_or_assess, recompute
from core.gates.figures import rounded_probability, significant
from core.gates.strength import strength_of
from core.gates.strength_rules import kappa_strength
from core.grid import default_grid
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace
from core.statistics.agreement import Confusion
from core.statistics.kappa_intervals import kappa_estimate
from core.statistics.probability import Probability
from core.statistics.result import Interval

ROOT = Path(__file__).parents[2]
ORACLES = ROOT / "tests" / "fixtures" / "oracles"
PAIRED = json.loads((ORACLES / "paired_tests.json").read_text("utf-8"))
RATES = json.loads((ORACLES / "rate_intervals.json").read_text("utf-8"))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    d = desk(tmp_path_factory.mktemp("worked"))
    return dict(d.assess(d.round()).strength)


@pytest.fixture(scope="module")
def ifeval(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    workspace = Workspace.open(tmp_path_factory.mktemp("ifeval") / "workspace", create=True)
    source = workspace.round(ingest(ROOT / "data" / "rounds" / "ifeval-4o", workspace, now=NOW).digest)
    return dict(load_or_assess(workspace, source, default_grid()).strength)


def close(value: float | None, expected: float) -> bool:
    """Equal to the stated nine digits."""
    return value == pytest.approx(expected, rel=1e-8, abs=1e-12)


# the worked example


def test_the_worked_examples_judge_meets_its_bound_and_proves_nothing(worked: dict[str, Any]) -> None:
    """0 of 3: the one-sided upper bound is 1 - .05 ** (1/3) = .632, and the rule needs 59 failed cases, so 56 more."""
    rate = check(worked, "false_positive_rate", "calibrated")
    assert (rate["status"], rate["text"]) == ("meets, not proven", "meets, not proven: needs 56 more failed cases")
    assert (rate["n"], rate["needed"], rate["more"]) == (3, 59, 56)
    assert close(rate["limit"]["upper"], 1 - 0.05 ** (1 / 3)) and rate["limit"]["lower"] == 0.0 and rate["limit"]["confidence"] == 0.95
    # two-sided: 1 - .025 ** (1/3)
    assert close(rate["interval"]["upper"], 1 - 0.025 ** (1 / 3)) and rate["interval"]["method"] == "Clopper-Pearson"
    assert rate["detail"].startswith("0 of 3 proves at most 63.16 % (one-sided, 95 % confidence); the bound is 5 %.")
    assert rate["flip"] == {"items": 1, "text": "1 case from failing"}


def test_the_worked_examples_kappa(worked: dict[str, Any]) -> None:
    judge = worked["judges"][0]
    assert judge["judge_id"] == "calibrated" and judge["kappa"] == {"numerator": 24, "denominator": 32, "value": 0.75, "undefined": None}
    # tp 4, fn 1, tn 3: PABAK 2 * 7/8 - 1; AC1 49/65; MCC 12 / sqrt(4 * 5 * 4 * 3); prevalence 5/8, index 1/8, bias -1/8
    assert judge["pabak"]["value"] == 0.75 and close(judge["ac1"]["value"], 49 / 65) and close(judge["mcc"]["value"], 12 / math.sqrt(240))
    assert judge["prevalence"]["value"] == 0.625 and judge["prevalence_index"]["value"] == 0.125 and judge["bias_index"]["value"] == -0.125
    kappa = check(worked, "cohens_kappa", "calibrated")
    assert kappa["status"] == "meets, not proven" and kappa["flip"]["items"] == 1
    # the oracle's exact BCa interval of (4, 0, 1, 3) reaches from 0 to 1
    oracle = next(case for case in json.loads((ORACLES / "kappa_intervals.json").read_text())["cases"] if case["id"] == "worked_example_calibrated")
    assert oracle["inputs"] == {"tp": 4, "fp": 0, "fn": 1, "tn": 3}
    assert [kappa["interval"][end] for end in ("lower", "upper")] == [0.0, 1.0]


def test_the_other_judge_is_proven_to_fail(worked: dict[str, Any]) -> None:
    """3 of 4 failed answers approved: P(X >= 3; 4, .05) = 4 * .05^3 * .95 + .05^4 = .00048; its one-sided lower bound is .2486."""
    rate = check(worked, "false_positive_rate", "uncalibrated")
    assert rate["status"] == "proven to fail"
    assert close(rate["limit"]["lower"], binomtest(3, 4, alternative="greater").proportion_ci(0.95, "exact").low)
    assert rate["text"] == "proven to fail: at least 24.86 %" and (rate["more"], rate["flip"]["items"]) == (None, 3)


def test_five_items_can_show_nothing(worked: dict[str, Any]) -> None:
    gain = check(worked, "net_gain")
    assert gain["text"] == "meets, not proven: no result on 5 items can reach p < .05"
    holdout = worked["holdout"]
    assert holdout["sentence"] == "unproven: candidate beats baseline by 20.0 points; n = 5 (no result on 5 items can reach p < .05)"
    assert (holdout["exact"], holdout["mid_p"]["exact"], holdout["smallest_p"]["exact"]) == (
        {"value": 1.0, "exact": "1/1", "method": "counted exactly"}, "1/2", "1/16")
    assert holdout["standing"] == "not shown" and [gap["code"] for gap in holdout["gaps"]] == ["too_few_items"]
    assert holdout["smallest_gain"] == {"value": None, "undefined": "not even a gain of every flip could be shown on this many items"}
    # one flip in five and a gain of .05: the oracle's 626 items at a share of .2
    assert holdout["wanted"] == {"effect": "0.05", "power": "0.8", "items": 626, "undefined": None}


def test_no_regression_of_five_proves_little(worked: dict[str, Any]) -> None:
    lost = check(worked, "regressions")
    assert lost["text"] == "meets, not proven: needs 54 more items" and close(lost["limit"]["upper"], 1 - 0.05 ** (1 / 5))
    assert lost["flip"] == {"items": 1, "text": "1 item from failing"}


def test_facts_are_not_estimated(worked: dict[str, Any]) -> None:
    for name in ("holdout_lock", "no_collapsed_pair", "outcomes_complete", "literal_gate", "collapsed_share", "distinct_reviewer"):
        fact = check(worked, name)
        assert (fact["status"], fact["text"], fact["interval"], fact["n"]) == ("not applicable", "not applicable", None, None)
        assert fact["detail"].endswith(".")


def test_a_bound_of_all_cannot_be_proven(worked: dict[str, Any]) -> None:
    """Four canaries of four: at least .05 ** (1/4) = .4729, and no number of them proves 1."""
    kept = check(worked, "sanity_retention")
    assert kept["text"] == "meets, not proven: no number of canaries can" and close(kept["limit"]["lower"], 0.05 ** (1 / 4))
    assert (kept["needed"], kept["more"]) == (None, None)


# IFEval


def test_ifeval_gains_and_its_regressions_are_not_proven_few(ifeval: dict[str, Any]) -> None:
    """40 gained, 20 lost of 504."""
    holdout = ifeval["holdout"]
    assert holdout["flips"] == {"both_pass": 378, "regressions": 20, "fixes": 40, "both_fail": 66}
    assert close(holdout["exact"]["value"], binomtest(40, 60).pvalue) and round(holdout["exact"]["value"], 4) == 0.0135
    # mid-p: less the probability of 40 of 60 itself
    assert close(holdout["mid_p"]["value"], binomtest(40, 60).pvalue - math.comb(60, 20) / 2**60)
    assert holdout["standing"] == "shown better" and check(ifeval, "net_gain")["status"] == "proven"
    lost = check(ifeval, "regressions")
    assert close(lost["limit"]["upper"], binomtest(20, 504, alternative="less").proportion_ci(0.95, "exact").high)
    assert lost["status"] == "meets, not proven" and lost["n"] == 504 and lost["limit"]["upper"] > 0.05
    # 577 is the first n at which 20 errors are this rare under the cap
    assert lost["needed"] == 577 and lost["more"] == 73
    assert binomtest(20, 577, 0.05, alternative="less").pvalue <= 0.05 < binomtest(20, 576, 0.05, alternative="less").pvalue
    assert lost["flip"] == {"items": 6, "text": "6 items from failing"}       # 25 of 504 hold, 26 do not


# oracles


@pytest.mark.parametrize("case", PAIRED["cases"], ids=lambda case: case["id"])
def test_paired_figures_of_the_oracle(bench: Bench, case: dict[str, Any]) -> None:
    strength = bench.strength({"outcomes": flip_rows(**case["inputs"])})
    holdout, expected = strength["holdout"], case["expected"]
    assert close(holdout["exact"]["value"], expected["mcnemar_exact_two_sided"]["value"])
    assert close(holdout["mid_p"]["value"], expected["mcnemar_mid_p"]["value"])
    for name, key in (("newcombe", "newcombe_95"), ("tango", "tango_score_95")):
        assert [holdout[name][end] for end in ("lower", "upper")] == pytest.approx(expected[key], abs=1e-8), name


@pytest.mark.parametrize(("errors", "needed"), [(int(k), n) for k, n in RATES["minimum_n"][0]["min_verifier_failures_for_k_false_positives"].items()])
def test_a_judge_proves_its_bound_at_the_oracles_n(bench: Bench, errors: int, needed: int) -> None:
    for n, status in ((needed, "proven"), (needed - 1, "meets, not proven")):
        if errors * 20 > n:     # more than 5 %: it does not even meet the bound
            continue
        rate = check(bench.strength({"judge_records": judge_rows("j", tp=5, fp=errors, tn=n - errors)}), "false_positive_rate", "j")
        assert (rate["status"], rate["needed"], rate["more"]) == (status, needed, None if status == "proven" else 1)
        assert rate["text"].startswith("proven: at most 4.9" if status == "proven" else "meets, not proven: needs 1 more failed cases")


# the five words


@pytest.mark.parametrize(
    ("regressions", "n", "status"),
    [
        (0, 59, "proven"), (0, 58, "meets, not proven"), (1, 20, "meets, not proven"),
        # P(X >= 2; 20, .05) = .264 and P(X >= 4; 20, .05) = .0159
        (2, 20, "fails"), (3, 20, "fails"), (4, 20, "proven to fail"),
    ],
)
def test_words_of_a_rate(bench: Bench, regressions: int, n: int, status: str) -> None:
    lost = check(bench.strength({"outcomes": flip_rows(regressions=regressions, both_pass=n - regressions)}), "regressions")
    assert lost["status"] == status
    above = binomtest(regressions, n, 0.05, alternative="greater").pvalue if regressions else 1.0
    assert (status == "proven to fail") is bool(above <= 0.05)


@pytest.mark.parametrize(
    ("cells", "status", "text"),
    [
        # agreement 850/900, kappa 8/9, SE 2 sqrt(850 * 50 / 900^3) = .01527
        ({"tp": 425, "fp": 25, "fn": 25, "tn": 425}, "proven", "proven: 0.859 to 0.919"),
        ({"tp": 10, "tn": 10}, "meets, not proven", "meets, not proven: interval not estimable"),
        ({"tp": 250, "fp": 200, "fn": 200, "tn": 250}, "proven to fail", None),
        ({"tp": 360, "fp": 60, "fn": 60, "tn": 360}, "fails", None),          # kappa 5/7 = .714, SE .0241, upper end .762
    ],
)
def test_words_of_kappa(bench: Bench, cells: dict[str, int], status: str, text: str | None) -> None:
    kappa = check(bench.strength({"judge_records": judge_rows("j", **cells)}), "cohens_kappa", "j")
    assert kappa["status"] == status
    if text is not None:
        assert kappa["text"] == text
    if kappa["interval"]["lower"] is not None:
        # balanced margins: kappa = 2 po - 1 with SE 2 sqrt(po (1 - po) / n)
        n = sum(cells.values())
        agreement = (cells["tp"] + cells["tn"]) / n
        reach = 1.959963984540054 * 2 * math.sqrt(agreement * (1 - agreement) / n)
        assert kappa["interval"]["lower"] == pytest.approx(2 * agreement - 1 - reach, abs=1e-8)
        assert kappa["interval"]["upper"] == pytest.approx(2 * agreement - 1 + reach, abs=1e-8)
    else:
        assert "20 agreements in 20 cases put the agreement rate at 83.16 % to 100 %" in kappa["detail"]     # .025 ** (1/20) = .8316


def test_an_end_of_exactly_the_bound_reaches_it() -> None:
    """The double .85 lies a little under 17/20; what is stated is the decimal."""
    interval = Interval(0.85, 0.95, Fraction(19, 20), "by hand")
    for lower, status in ((0.85, "proven"), (0.849999999, "meets, not proven")):
        estimate = replace(kappa_estimate(Confusion(tp=95, fp=5, fn=5, tn=95)), interval=replace(interval, lower=lower))
        assert kappa_strength("cohens_kappa", estimate, Fraction(17, 20)).status == status


def test_undefined_stays_undefined(bench: Bench) -> None:
    strength = bench.strength({"judge_records": [*judge_rows("one-class", tp=20), *judge_rows("no-failures", tp=5, fn=5)]})
    for judge, name, reason in [
        ("one-class", "cohens_kappa", "one class: judge and verifier say the same single thing about every case"),
        ("one-class", "false_positive_rate", "the verifier failed nothing"), ("no-failures", "false_positive_rate", "the verifier failed nothing"),
    ]:
        found = check(strength, name, judge)
        assert (found["status"], found["undefined"], found["interval"]["lower"], found["interval"]["upper"]) == (None, reason, None, None)
        assert found["text"] == f"undefined: {reason}"
    one = next(judge for judge in strength["judges"] if judge["judge_id"] == "one-class")
    assert one["kappa"] == {"numerator": 0, "denominator": 0, "value": None, "undefined": check(strength, "cohens_kappa", "one-class")["undefined"]}
    assert one["mcc"] == {"value": None, "undefined": "judge or verifier says the same about every case"}
    assert "the gate stays closed" in one["paradox"]
    assert (strength["holdout"], strength["no_holdout"]) == (None, "not supplied: holdout, outcomes")


def test_missing_verdicts_are_a_fact(bench: Bench) -> None:
    rows = judge_rows("j", tp=5, tn=5)
    rows[0]["verifier_passed"] = None
    missing = check(bench.strength({"judge_records": rows}), "missing_verdict", "j")
    assert (missing["status"], missing["flip"]) == ("not applicable", {"items": 1, "text": "1 case from holding"})


def test_no_canaries_is_undefined(bench: Bench) -> None:
    d = desk(bench.folder / "desk")
    kept = check(d.assess(d.round(sanity_outcomes={})).strength, "sanity_retention")
    assert (kept["status"], kept["undefined"], kept["n"]) == (None, "the round has no canaries", 0)


# the gain against a floor of the grid


@pytest.mark.parametrize(
    ("bound", "counts", "status"),
    [
        ("0.01", {"fixes": 60, "regressions": 0, "both_fail": 440}, "proven"),            # .12, interval .094 to .152
        ("0.1", {"fixes": 60, "regressions": 0, "both_fail": 440}, "meets, not proven"),
        ("0.2", {"fixes": 60, "regressions": 0, "both_fail": 440}, "proven to fail"),
        ("0.13", {"fixes": 60, "regressions": 0, "both_fail": 440}, "fails"),
        ("-0.1", {"fixes": 0, "regressions": 1, "both_fail": 499}, "proven"),             # -.002, interval -.011 to .006
        ("-0.001", {"fixes": 0, "regressions": 60, "both_fail": 440}, "proven to fail"),
        ("0", {"fixes": 3, "regressions": 1, "both_fail": 6}, "meets, not proven"),
        ("0", {"fixes": 1, "regressions": 3, "both_fail": 6}, "fails"),
    ],
)
def test_words_of_a_gain(bench: Bench, bound: str, counts: dict[str, int], status: str) -> None:
    gain = check(bench.strength({"outcomes": flip_rows(**counts)}, grid_with(min_net_holdout_gain=bound)), "net_gain")
    assert gain["status"] == status
    assert gain["detail"].endswith(f"Held against the bound of {bound.replace('-', '−')}.")


def test_a_gain_that_no_bound_asks_for_is_held_against_nothing_gained(bench: Bench) -> None:
    for counts, status in [({"fixes": 12, "both_fail": 8}, "proven"), ({"fixes": 5, "both_fail": 15}, "meets, not proven"),
                           ({"both_pass": 20}, "fails"), ({"regressions": 12, "both_pass": 8}, "proven to fail")]:
        gain = check(bench.strength({"outcomes": flip_rows(**counts)}), "net_gain")
        assert gain["status"] == status and gain["detail"].endswith("Held against 0 (the grid sets no bound).")


# runs and clusters


def test_repeated_runs_are_not_more_items(bench: Bench) -> None:
    """Each run done three times over says nothing new: same test, same words."""
    rows = flip_rows(fixes=7, regressions=1, both_pass=12)
    thrice = [row | {"run": run} for row in rows for run in range(3)]
    once, again = (bench.strength({"outcomes": part})["holdout"] for part in (rows, thrice))
    assert again["runs"] == {"baseline": [3, 3], "candidate": [3, 3]}
    for name in ("n", "exact", "mid_p", "newcombe", "tango", "tested", "standing", "sentence", "clusters", "view"):
        assert again[name] == once[name], name


def test_runs_that_differ_are_graded(bench: Bench) -> None:
    """Six items that pass in one run of two, then in both: six differences of one half, and 2 / 2^6 of all sign patterns are as far out."""
    rows = run_rows([((True, False), (True, True))] * 6)
    holdout = bench.strength({"outcomes": rows})["holdout"]
    assert holdout["view"] == "graded" and holdout["tested"]["p"]["exact"] == "1/32" and holdout["tested"]["gain"] == 0.5
    # the gate counts an even split as a pass of the baseline: no item flips there
    assert holdout["flips"]["fixes"] == 0 and holdout["split"] == 6


def test_items_of_a_cluster_are_not_independent(bench: Bench) -> None:
    rows = run_rows([((True,), (True,))] * 120, [f"text {place // 10}" for place in range(120)])
    strength = bench.strength({"outcomes": rows})
    lost = check(strength, "regressions")
    assert strength["holdout"]["clusters"] == 12
    assert lost["status"] == "meets, not proven" and lost["text"] == "meets, not proven: the 120 items come in 12 clusters"
    assert (lost["needed"], lost["more"]) == (None, None)
    # without clusters 0 of 120 would prove the bound
    assert check(bench.strength({"outcomes": run_rows([((True,), (True,))] * 120)}), "regressions")["status"] == "proven"


def test_an_item_without_a_cluster_is_its_own(bench: Bench) -> None:
    rows = run_rows([((True,), (False,))] * 4, ["a", "a", None, None])
    assert bench.strength({"outcomes": rows})["holdout"]["clusters"] == 3


def test_rows_that_name_different_clusters_are_named(bench: Bench) -> None:
    rows = run_rows([((False,), (True,))] * 12, [f"c{place}" for place in range(12)])
    rows[1]["cluster"] = "another"
    holdout = bench.strength({"outcomes": rows})["holdout"]
    assert {"code": "clusters_disagree", "text": "rows of 1 item name different clusters"} in holdout["gaps"]
    assert holdout["sentence"].startswith("unproven: ")


def test_an_absent_candidate_outcome_counts_as_lost(bench: Bench) -> None:
    rows = [row for row in flip_rows(both_pass=10) if (row["id"], row["arm"]) != ("i3", "candidate")]
    strength = bench.strength({"outcomes": rows})
    assert strength["holdout"]["flips"]["regressions"] == 1
    assert check(strength, "outcomes_complete")["flip"] == {"items": 1, "text": "1 item from holding"}


def test_outcomes_that_do_not_fit_show_nothing(bench: Bench) -> None:
    rows = [*flip_rows(both_pass=3), {"id": "nobody", "arm": "candidate", "passed": True}]
    holdout = [{"id": f"i{place}", "prompt": f"Question i{place}?"} for place in range(3)]
    strength = bench.strength({"outcomes": rows, "holdout": holdout})
    assert (strength["holdout"], strength["no_holdout"]) == (None, "the outcomes do not fit the holdout")


# a grid of schema 1


def test_a_grid_without_a_confidence_keeps_what_needs_none(bench: Bench) -> None:
    parts = {"judge_records": judge_rows("j", tp=4, fn=1, tn=3), "outcomes": flip_rows(both_pass=3, fixes=1, both_fail=1)}
    strength = bench.strength(parts, FIRST_GRID)
    assert strength["keys_off"] == ["evidence_confidence", "wanted_power", "wanted_effect"] and strength["confidence"] is None
    rate = check(strength, "false_positive_rate", "j")
    assert (rate["status"], rate["undefined"], rate["interval"], rate["n"]) == (None, "the grid sets no evidence_confidence", None, 3)
    assert rate["flip"]["items"] == 1 and strength["judges"][0]["pabak"]["value"] == 0.75
    holdout = strength["holdout"]
    assert (holdout["exact"]["exact"], holdout["smallest_p"]["exact"], holdout["standing"], holdout["tested"]) == ("1/1", "1/16", None, None)
    assert holdout["newcombe"]["undefined"] == holdout["wanted"]["undefined"] == "the grid sets no evidence_confidence"
    assert holdout["sentence"].endswith("1 gained, 0 lost, exact p = 1; no verdict: the grid sets no evidence_confidence")
    failing = check(bench.strength({"judge_records": judge_rows("j", tp=1, fp=9)}, FIRST_GRID), "false_positive_rate", "j")
    assert failing["status"] == "fails"


# the same bytes everywhere


def test_the_order_of_rows_changes_no_byte(bench: Bench) -> None:
    runs = [((place % 3 > 0, place % 2 > 0), (place % 5 > 0, True)) for place in range(60)]
    parts = {
        "judge_records": [*judge_rows("b", tp=40, fp=3, fn=2, tn=30), *judge_rows("a", tp=9, fp=1, fn=1, tn=9)],
        "outcomes": run_rows(runs, [f"t{place % 20}" for place in range(60)]),
        "sanity": [{"id": f"s{place}", "passed": place > 0} for place in range(9)],
    }
    assessments = [bench.assess(parts), bench.assess(parts, shuffled=1), bench.assess(parts, shuffled=2)]
    assert len({assessed.round_digest for assessed in assessments}) == 3
    assert len({canonical_bytes(dict(assessed.strength)) for assessed in assessments}) == 1
    assert [judge["judge_id"] for judge in assessments[0].strength["judges"]] == ["a", "b"]


def test_it_is_a_function_of_round_grid_and_code(bench: Bench) -> None:
    source = bench.round({"judge_records": judge_rows("j", tp=40, fp=3, fn=2, tn=30), "outcomes": flip_rows(fixes=9, regressions=1, both_pass=20)})
    assessed = load_or_assess(bench.workspace, source, default_grid())
    again = bench.folder / "again"
    again.mkdir()
    gate = dict(assessed.literal_gate) | {"files": 1}
    other = recompute(source, default_grid(), gate, "0" * 64, again)
    assert canonical_bytes(dict(other.strength)) == canonical_bytes(dict(assessed.strength))
    without = {name: value for name, value in assessed.document.items() if name != "strength"}
    assert canonical_bytes(strength_of(source, without, default_grid())) == canonical_bytes(dict(assessed.strength))


def test_numbers_have_nine_significant_digits(worked: dict[str, Any], ifeval: dict[str, Any]) -> None:
    def doubles(value: Any) -> list[float]:
        if isinstance(value, dict):
            return [found for item in value.values() for found in doubles(item)]
        if isinstance(value, list):
            return [found for item in value for found in doubles(item)]
        return [value] if isinstance(value, float) else []

    found = [*doubles(worked), *doubles(ifeval)]
    assert len(found) > 100 and all(number == float(f"{number:.8e}") for number in found)
    for strength in (worked, ifeval):
        assert parse_json(canonical_bytes(strength)) == strength


def test_rounding_is_half_to_even_and_knows_no_minus_nought() -> None:
    assert significant(0.1234567885) == 0.123456788 and significant(0.1234567895) == 0.12345679      # ties of the decimal text
    assert str(significant(-0.0)) == "0.0" and significant(None) is None and significant(1e-300) == 1e-300


def test_a_p_value_made_by_doubles_is_rounded_up_and_never_nothing() -> None:
    for made, stated in ((3.2e-12, 1e-9), (0.0, 1e-9), (0.0123456781, 0.012345679), (0.5, 0.5), (1.0, 1.0)):
        assert rounded_probability(Probability(made, None)).value == stated
    counted_one = Probability(1e-30, Fraction(1, 10**30))
    assert rounded_probability(counted_one) is counted_one


def test_many_graded_items_need_no_random_number(bench: Bench) -> None:
    """3,000 items of which one run of two passes, in turn the first and the second; every third passes both times in the
    candidate: 1,000 differences of one half, all one way. Runs as wholes agree, so the re-run band is narrow."""
    one = [(place % 2 == 0, place % 2 == 1) for place in range(3000)]
    rows = run_rows([(runs, runs if place % 3 else (True, True)) for place, runs in enumerate(one)])
    holdout = bench.strength({"outcomes": rows})["holdout"]
    assert holdout["view"] == "graded" and holdout["tested"]["gain"] == pytest.approx(1 / 6, abs=1e-9)
    assert "random sign" not in holdout["tested"]["p"]["method"] and holdout["standing"] == "shown better"


def test_the_decision_is_not_touched(bench: Bench) -> None:
    """A grid that asks for more confidence changes words, never a state or the verdict."""
    parts = {"judge_records": judge_rows("j", tp=40, fp=3, fn=2, tn=30), "outcomes": flip_rows(fixes=9, regressions=1, both_pass=20)}
    strict, lax = (bench.assess(parts, grid_with(evidence_confidence=value)) for value in ("0.9999", "0.5"))
    assert strict.strength != lax.strength and strict.verdict == lax.verdict
    assert [one["state"] for one in strict.checks] == [one["state"] for one in lax.checks]
