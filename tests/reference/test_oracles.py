"""The reference itself against the oracle files, before it is used as one."""
from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from reference.numbers import half_even, loss_quanta, receipt_number, written
from reference.rules import (
    LOGPS,
    assess,
    decide,
    figures,
    from_bundle,
    holdout_digest,
    invalid_codes,
    judge_figures,
    lock_holds,
    pair_up,
    reduce_runs,
    texts_of,
)
from reference.texts import _digest, is_blank, keys_of, p1, s1, t1

FIXTURES = Path(__file__).parents[1] / "fixtures"


def _oracle(name: str) -> dict:
    return json.loads((FIXTURES / "oracles" / f"{name}.json").read_text("utf-8"))


DEDUP = _oracle("structural_dedup")


@pytest.mark.parametrize("pair", DEDUP["pairs"], ids=lambda pair: pair["id"])
def test_normal_forms(pair: dict) -> None:
    for side in ("a", "b"):
        text = pair["inputs"][side]
        expected = {form: pair["expected"][form][side] for form in ("prompt", "skeleton", "template_report")}
        assert {"prompt": p1(text), "skeleton": s1(text), "template_report": t1(text)} == expected


def test_keys_of_the_worked_example() -> None:
    bundle = json.loads((FIXTURES / "worked_example" / "bundle.json").read_text("utf-8"))
    rows = {row["pair_id"]: row for row in bundle["verified_candidates"] + bundle["synthetic_pairs"]}
    for expected in DEDUP["worked_example_keys"]:
        row = rows[expected["pair_id"]]
        got = keys_of(row["prompt"], row["chosen_verified"], row["rejected_tombstone"])
        assert got == {name: expected[name] for name in got}


def test_framing_keeps_fields_apart() -> None:
    for case in DEDUP["framing"]:
        assert _digest(*case["fields"]) == case["sha256"]


def test_blank_texts() -> None:
    for case in DEDUP["error_cases"]:
        if case["expected"].get("error") == "empty_text":
            assert is_blank(case["inputs"]["text"])
    assert not is_blank("???")
    assert s1("```\n```") == ""


GRID_FILE = FIXTURES.parents[1] / "core" / "grid" / "default_grid_spec.json"
GRID = {name: entry["value"] for name, entry in json.loads(GRID_FILE.read_text("utf-8"))["keys"].items()}
BUNDLE = json.loads((FIXTURES / "worked_example" / "bundle.json").read_text("utf-8"))
RECEIPT = json.loads((FIXTURES / "worked_example" / "receipt.json").read_text("utf-8"))


def test_worked_example() -> None:
    source = from_bundle(BUNDLE)
    assert decide(source, assess(source, GRID), BUNDLE["reviewer_id"]) == RECEIPT


def test_worked_example_reviewed_by_its_proposer() -> None:
    source = from_bundle(BUNDLE)
    for reviewer in ("Worker-Curator-01 ", "worker-curator-01+review"):
        assert decide(source, assess(source, GRID), reviewer) == RECEIPT | {"promote_round": False}


@pytest.mark.parametrize("case", _oracle("judge_agreement")["cases"], ids=lambda case: case["id"])
def test_judge_agreement(case: dict) -> None:
    got = judge_figures(*(case["inputs"][cell] for cell in ("tp", "fp", "fn", "tn")), [], GRID)
    for name, figure in (("cohens_kappa", "kappa"), ("exact_agreement", "agreement"), ("false_positive_approval_rate", "fpr")):
        exact = case["expected"][name].get("exact")
        assert got[figure] == (None if exact is None else Fraction(exact)), name
    gate = case["expected"]["gate"]
    assert ("cohens_kappa" not in got["failing"], "false_positive_rate" not in got["failing"]) == (gate["kappa_ge_3_4"], gate["fpr_le_1_20"])


def _pair(inputs: dict) -> dict:
    row = {name: float(inputs[name]) if "logp" in name else inputs[name] for name in inputs}
    return {"pair_id": "p", "origin": "verified", **row, "chosen_verified_pass": True, "rejected_tombstone_fail": True}


@pytest.mark.parametrize("case", _oracle("pair_losses")["cases"], ids=lambda case: case["id"])
def test_pair_losses(case: dict) -> None:
    got = figures(_pair(case["inputs"]), GRID)
    expected = case["expected"]
    assert float(got["margin"]) == pytest.approx(expected["dpo_margin"], rel=1e-12, abs=1e-12)
    assert float(got["drift"]) == pytest.approx(expected["chosen_drift_per_token"], rel=1e-12, abs=1e-12)
    decimals = case.get("decimal", {}).get("rpo_loss")
    if decimals is not None:
        assert got["quanta"] == half_even(Fraction(decimals) * 10**9)
    else:
        assert abs(got["quanta"] - Fraction(expected["rpo_loss"]) * 10**9) <= 1 + abs(Fraction(expected["rpo_loss"])) / 1000


@pytest.mark.parametrize("case", _oracle("pair_losses")["softplus_traps"], ids=lambda case: str(case["margin"]))
def test_softplus_in_quanta(case: dict) -> None:
    # in quanta of 1e-30, so that the small ones are seen too
    expected = half_even(Fraction(case["decimal"]) * 10**30)
    assert loss_quanta(Fraction(case["margin"]), Fraction(0), Fraction(1, 10**30)) == pytest.approx(expected, abs=10**10)


def test_a_loss_just_above_a_tie_rounds_up() -> None:
    # 2.5 quanta exactly, plus ln(1 + e^-m) > 0 however large m is: never a tie, so 3 and not the even 2
    quantum = Fraction(1, 10**9)
    for margin in (200, 10**6, 10**8, 10**300):
        assert loss_quanta(Fraction(margin), 5 * quantum / 2, quantum) == 3
    assert loss_quanta(Fraction(200), Fraction(5, 2) * quantum - Fraction(1, 10**60), quantum) == 2


def test_pair_gates() -> None:
    oracle = _oracle("pair_gates")
    base = {"policy_logp_chosen": "-1", "ref_logp_chosen": "-1", "policy_logp_rejected": "-1", "ref_logp_rejected": "-1"}
    for case in oracle["length_ratio_cases"]:
        row = _pair({**base, **{name: case["inputs"][name] for name in ("chosen_token_count", "rejected_token_count")}})
        if "error" in case["expected"]:
            said = texts_of({"prompt": "p", "chosen": "c", "rejected": "r"})
            assert invalid_codes(row, said, False) == [case["expected"]["error"]]
            continue
        ratio = figures(row, GRID)["ratio"]
        assert ratio == Fraction(case["expected"]["length_ratio"])
        assert (ratio <= Fraction(case["inputs"]["max_length_ratio"])) is case["expected"]["within_bound"]
    for case in oracle["drift_cases"]:
        given = {name: value for name, value in case["inputs"].items() if name != "min_drift"}
        inputs = {**base, "rejected_token_count": 1, **given}
        drift = figures(_pair(inputs), GRID)["drift"]
        assert drift == Fraction(case["expected"]["drift_per_token"])
        assert (drift < Fraction(case["inputs"]["min_drift"])) is case["expected"]["collapsed"]
    traps = oracle["float_traps"]
    for pc, rc, count, bound, _ in traps["drift_equal_to_bound"]["rows"]:
        given = {"policy_logp_chosen": pc, "ref_logp_chosen": rc, "chosen_token_count": count, "rejected_token_count": 1}
        assert figures(_pair(base | given), GRID)["drift"] == Fraction(bound)
    for row in traps["zero_margin"]["rows"]:
        logps = dict(zip(LOGPS, row, strict=False))
        assert figures(_pair({**logps, "chosen_token_count": 1, "rejected_token_count": 1}), GRID)["margin"] == 0


def test_promotion_rates() -> None:
    oracle = _oracle("promotion_rates")
    for case in oracle["cases"]:
        inputs = case["inputs"]
        if "counts" in inputs:
            cells = {"both_pass": (True, True), "regressions": (True, False), "fixes": (False, True), "both_fail": (False, False)}
            arms = [cells[cell] for cell, count in inputs["counts"].items() for _ in range(count)]
        else:
            arms = [(inputs["baseline"][item], inputs["candidate"][item]) for item in inputs["baseline"]]
        items = [{"id": f"h{number}"} for number in range(len(arms))]
        outcomes = [
            {"id": item["id"], "arm": arm, "passed": passed}
            for item, pair in zip(items, arms, strict=True) for arm, passed in zip(("baseline", "candidate"), pair, strict=True)
        ]
        got = pair_up(items, outcomes, "majority")
        assert (len(got["regressions"]), len(got["fixes"])) == (case["expected"]["regressions"], case["expected"]["fixes"])
        assert Fraction(len(got["fixes"]) - len(got["regressions"]), got["n"]) == Fraction(case["expected"]["net_holdout_gain"])


def test_holdout_digests() -> None:
    oracle = _oracle("holdout_digest")
    for case in oracle["cases"]:
        if case["id"] != "non_ascii_escaped":
            assert holdout_digest(case["inputs"]["suite"]) == case["expected"]["sha256"], case["id"]
    suite = oracle["worked_example"]["suite"]
    for case in oracle["error_cases"]:
        if "preregistered" in case["inputs"]:
            assert lock_holds(suite, case["inputs"]["preregistered"]) is case["expected"]["holdout_lock_valid"]


def test_rounding_at_the_receipt() -> None:
    for case in _oracle("summation_rounding")["rounding_cases"]:
        value = Fraction(case["rational"]) if "rational" in case else written(float(case["double"]))
        assert repr(receipt_number(value, 6)) == case["expected"]


def test_written_decimals_of_doubles() -> None:
    for case in _oracle("exact_thresholds")["double_to_decimal"]:
        if case["decimal_value"] != "see repr":
            assert written(float(case["double_written_as"])) == Fraction(case["decimal_value"])


@pytest.mark.parametrize(("reducer", "arm", "runs", "passes"), [
    ("majority", "candidate", [True, False], False), ("majority", "baseline", [True, False], True),
    ("majority", "candidate", [True, True, False], True), ("all", "baseline", [True, False], False),
    ("any", "candidate", [True, False], True),
])
def test_runs_of_an_arm(reducer: str, arm: str, runs: list[bool], passes: bool) -> None:
    # the grid's outcome_run_reducer: a tie is a fail for the candidate and a pass for the baseline
    assert reduce_runs(runs, reducer, arm) is passes
