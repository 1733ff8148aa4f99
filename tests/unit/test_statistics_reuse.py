"""What repeated use of a holdout costs: oracle holdout_reuse, second routes, and looks told by content."""
from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from core.errors import GridError, RoundError
from core.gates.exposure import Look, exposure_before, item_digest, look_at
from core.statistics.ratio import Ratio
from core.statistics.reuse import Noise, exposure, ladder, parameter_free_ladder, thresholdout, transcript_bound, winners_curse
from core.statistics.spending import SPENDINGS, alpha_budget, flip_e_value, merged_e_value, spent_alpha

ORACLE = json.loads((Path(__file__).parents[1] / "fixtures/oracles/holdout_reuse.json").read_text("utf-8"))
FIXED, PARAMETER_FREE = ORACLE["ladder_cases"]


def label(case: dict) -> str:
    return "-".join(str(value) for value in case["inputs"].values())


# the Ladder and Thresholdout


def test_ladder_with_a_fixed_step() -> None:
    found = ladder(FIXED["inputs"]["losses"], FIXED["inputs"]["step"])
    assert [[one.released, one.accepted] for one in found] == [[Fraction(loss), accepted] for loss, accepted in FIXED["expected"]["rows"]]


def test_ladder_without_a_parameter() -> None:
    found = parameter_free_ladder(PARAMETER_FREE["inputs"]["loss_vectors"])
    for one, (loss, accepted, step) in zip(found, PARAMETER_FREE["expected"]["rows"], strict=True):
        assert (one.released, one.accepted) == (Fraction(loss), accepted)
        assert one.step is None if step is None else one.step == pytest.approx(step, abs=1e-9)


def test_ladder_rounds_half_up_and_needs_more_than_the_step() -> None:
    # .25 is half way between .2 and .3 for a step of .1: up; .2 beats .3 by exactly the step: not released
    found = ladder(["0.25", "0.2", "0.19"], "0.1")
    assert [(one.released, one.accepted) for one in found] == [(Fraction(3, 10), True), (Fraction(3, 10), False), (Fraction(1, 5), True)]
    for step in ("0", "-0.1"):
        with pytest.raises(GridError) as fault:
            ladder(["0.5"], step)
        assert fault.value.code == "step_not_positive"
    with pytest.raises(RoundError):
        parameter_free_ladder([[1]])
    with pytest.raises(RoundError):
        parameter_free_ladder([[1, 0], [1, 0, 0]])


def test_thresholdout_trace() -> None:
    (case,) = ORACLE["thresholdout_cases"]
    given = case["inputs"]
    found = thresholdout(
        given["train_then_holdout_means"], [Noise(*map(Fraction, draws)) for draws in given["noise_eta_xi_gamma"]],
        threshold=given["threshold"], budget=given["budget"], first_noise=given["first_threshold_noise"],
    )
    expected = [(None if answer == "budget_exhausted" else Fraction(answer), left) for answer, left in case["expected"]["rows"]]
    assert [(one.value, one.budget_left) for one in found] == expected
    assert [one.from_holdout for one in found] == [False, True, False, True, False]


# cost of looking


@pytest.mark.parametrize("case", ORACLE["winners_curse"], ids=label)
def test_winners_curse_of_the_oracle(case: dict) -> None:
    given = case["inputs"]
    found = winners_curse(given["items"], given["true_rate"], given["candidates"])
    assert found == pytest.approx(case["expected"]["expected_best_minus_true"], abs=1e-9)


def test_winners_curse_by_listing_every_outcome() -> None:
    # two candidates on two items at .5: the best of two Bin(2, 1/2), over the 16 equally likely outcomes
    best = [max(a + b, c + d) for a, b, c, d in product((0, 1), repeat=4)]
    assert winners_curse(2, "0.5", 2) == pytest.approx(sum(best) / 16 / 2 - 0.5)
    with pytest.raises(RoundError):
        winners_curse(0, "0.5", 1)


@pytest.mark.parametrize("case", ORACLE["description_length_bound"], ids=label)
def test_transcript_bound_of_the_oracle(case: dict) -> None:
    given = case["inputs"]
    bits = None if given["bits_released_per_round"] == "log2(n+1)" else given["bits_released_per_round"]
    found = transcript_bound(given["items"], given["rounds"], given["delta"], bits)
    assert found.bound == pytest.approx(case["expected"]["bound"], abs=1e-9) and found.informative is case["expected"]["informative"]


@pytest.mark.parametrize("case", ORACLE["ledger_cases"], ids=lambda case: case["id"])
def test_exposure_of_the_oracle(case: dict) -> None:
    found = exposure((tuple(look) for look in case["history"]), case["candidate_suite"])
    assert found.full == case["expected"]["prior_uses_full_overlap"]
    assert found.largest_overlap.value == Fraction(case["expected"]["largest_overlap"])


def test_exposure_of_a_grown_suite_counts_looks_item_by_item() -> None:
    found = exposure([["a", "b"], ["b", "x"], ["y"]], ["a", "b", "c", "c"])
    assert (found.items, found.looks, found.full, found.most_used, found.fresh) == (3, 2, 0, 2, 1)
    assert found.largest_overlap == Ratio(2, 3)
    assert exposure([["a"]], []).largest_overlap.value is None


SUITE = [{"id": "h1", "prompt": "Add 2 and 3."}, {"id": "h2", "prompt": "Name the capital of Chile."}, {"id": "h3", "prompt": "Spell cat."}]


def test_a_rename_a_shuffle_a_dropped_item_and_a_retouched_prompt_are_reuse() -> None:
    first = look_at(SUITE, round_digest="r1", grid_digest="g")
    renamed = [{"id": f"new-{item['id']}", "prompt": item["prompt"]} for item in reversed(SUITE)]
    retouched = [{"id": "a", "prompt": "  name the capital of  CHILE "}, {"id": "b", "prompt": "ADD 2 AND 3"}]
    for suite in (renamed, SUITE[:2], retouched):
        found = exposure_before([first], look_at(suite, round_digest="r2", grid_digest="g"))
        assert (found.looks, found.full) == (1, 1)
    fresh = look_at([{"id": "h1", "prompt": "Add 2 and 30."}], round_digest="r2", grid_digest="g")
    assert exposure_before([first], fresh).looks == 0


def test_refused_rounds_count_and_deciding_one_round_again_does_not() -> None:
    looks = [Look("r1", "g1", ("a", "b")), Look("r1", "g2", ("a", "b")), Look("r2", "g1", ("a", "b"))]
    assert exposure_before(looks, Look("r3", "g1", ("a", "b"))).looks == 2
    assert exposure_before(looks, Look("r2", "g9", ("a", "b"))).looks == 1


def test_items_without_a_prompt_are_told_by_everything_but_their_id() -> None:
    assert item_digest({"id": "1", "question": "x"}) == item_digest({"id": "2", "question": "x"}) != item_digest({"id": "1", "question": "y"})
    assert item_digest({"id": "1", "prompt": " "}) != item_digest({"id": "1", "prompt": "  "})


# spending


@pytest.mark.parametrize("case", ORACLE["alpha_spending"], ids=label)
def test_spending_of_the_oracle(case: dict) -> None:
    alpha, planned, expected = case["inputs"]["alpha"], case["inputs"]["planned_rounds"], case["expected"]
    if planned == "unbounded":
        for look, value in enumerate(expected["per_round_6_over_pi2_k2"], 1):
            assert alpha_budget("open_ended", alpha, look).now == pytest.approx(value, abs=1e-9)
        return
    for rule, name in (("obrien_fleming", "obrien_fleming_type_cumulative"), ("pocock", "pocock_type_cumulative")):
        spent = [alpha_budget(rule, alpha, look, planned).spent for look in range(1, planned + 1)]
        assert spent == pytest.approx(expected[name], abs=1e-9)
    assert all(alpha_budget("bonferroni", alpha, look, planned).now == expected["bonferroni_per_round"] for look in range(1, planned + 1))


def test_a_budget_adds_up_and_ends() -> None:
    for rule in SPENDINGS:
        planned = None if rule == "open_ended" else 7
        steps = [alpha_budget(rule, "0.05", look, planned) for look in range(1, 8)]
        assert sum(step.now for step in steps) == pytest.approx(steps[-1].spent, abs=1e-12)
        assert all(step.left == pytest.approx(0.05 - step.spent) and not step.exhausted for step in steps)
    after = alpha_budget("pocock", "0.05", 8, 7)
    assert after.exhausted and after.now == 0 and after.left == 0
    # 6/pi^2 sum 1/k^2 stays below alpha for ever
    assert spent_alpha("open_ended", "0.05", 2000) < 0.05 and not alpha_budget("open_ended", "0.05", 2000).exhausted
    assert alpha_budget("bonferroni", "0.05", 8, 7).now == 0
    with pytest.raises(RoundError):
        alpha_budget("pocock", "0.05", 1)
    with pytest.raises(RoundError):
        alpha_budget("pocock", "0.05", 0, 3)


# e-values


@pytest.mark.parametrize("case", ORACLE["e_value_cases"], ids=label)
def test_e_values_of_the_oracle(case: dict) -> None:
    found, expected = flip_e_value(**case["inputs"]), case["expected"]
    assert found.two_sided == Fraction(expected["two_sided_uniform_mixture"]["exact"])
    assert found.better == Fraction(expected["one_sided_upper_half_mixture"]["exact"])
    assert found.rejects("0.05") is expected["reaches_20"]


def test_e_values_are_fair_bets_and_their_mean_is_one() -> None:
    """A martingale: the mean over the next flip is the value now; over all 2^6 orders the mean is 1."""
    for fixes, regressions in product(range(6), repeat=2):
        now = flip_e_value(fixes, regressions)
        up, down = flip_e_value(fixes + 1, regressions), flip_e_value(fixes, regressions + 1)
        assert (up.two_sided + down.two_sided) / 2 == now.two_sided and (up.better + down.better) / 2 == now.better
    assert sum(math.comb(6, k) * flip_e_value(k, 6 - k).two_sided for k in range(7)) == 64


def test_e_values_of_rounds_on_reused_items_are_averaged_never_multiplied() -> None:
    (case,) = ORACLE["e_value_merging"]
    assert merged_e_value(case["inputs"]["e_values"], fresh_items=True) == Fraction(case["expected"]["product_fresh_items_only"])
    assert merged_e_value(case["inputs"]["e_values"], fresh_items=False) == Fraction(case["expected"]["mean_any_dependence"])
    for values, code in (([], "no_values"), (["-1"], "negative_e_value")):
        with pytest.raises(RoundError) as fault:
            merged_e_value(values, fresh_items=True)
        assert fault.value.code == code
    assert flip_e_value(60, 30).as_dict()["two_sided"]["exact"] is not None and flip_e_value(400, 300).as_dict()["better"]["exact"] is None
