"""Margins, drifts, ratios and losses against the oracles; exact sums; and doubles against the exact forms."""
from __future__ import annotations

import math
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support_pairs import oracle

from core.errors import RoundError
from core.pairs import objective
from core.pairs.objective import Bounded, exact_loss_quanta, exact_sum, round_half_even, softplus

LOSSES, GATES, ROUNDING, THRESHOLDS = (oracle(name) for name in ("pair_losses", "pair_gates", "summation_rounding", "exact_thresholds"))
BETA, ALPHA = (Fraction(LOSSES["parameters"][name]) for name in ("beta", "nll_alpha"))
NANO = Fraction(1, 10**9)


def doubles(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def measured(inputs: dict) -> tuple[tuple[float, float], tuple[float, float], int, int]:
    chosen = float(inputs["policy_logp_chosen"]), float(inputs["ref_logp_chosen"])
    rejected = float(inputs["policy_logp_rejected"]), float(inputs["ref_logp_rejected"])
    return chosen, rejected, inputs["chosen_token_count"], inputs["rejected_token_count"]


@pytest.mark.parametrize("case", LOSSES["cases"], ids=lambda case: case["id"])
def test_exact_quantities_of_the_oracle(case: dict) -> None:
    chosen, rejected, tokens, _ = measured(case["inputs"])
    expected = case["expected"]
    margin, nll = objective.exact_margin(chosen, rejected, BETA), objective.exact_nll(chosen[0], tokens)
    # the oracle's doubles are the nearest ones to the exact values
    assert float(margin) == expected["dpo_margin"]
    assert float(objective.exact_drift(*chosen, tokens)) == pytest.approx(expected["chosen_drift_per_token"], rel=1e-15)
    assert float(nll) == pytest.approx(expected["nll_per_token"], rel=1e-15)
    # 25 printed digits are enough to see which nano-nat is nearest
    assert exact_loss_quanta(margin, ALPHA * nll, NANO) == round(Fraction(case["decimal"]["rpo_loss"]) / NANO)
    assert exact_loss_quanta(margin, Fraction(0), NANO) == round(Fraction(case["decimal"]["dpo_loss"]) / NANO)


@pytest.mark.parametrize("case", LOSSES["cases"], ids=lambda case: case["id"])
def test_doubles_of_the_oracle_lie_within_their_bounds(case: dict) -> None:
    chosen, rejected, tokens, other_tokens = measured(case["inputs"])
    pairs = [(doubles(a), doubles(b)) for a, b in (chosen, rejected)]
    margin = objective.margins(pairs[0], pairs[1], BETA)
    drift = objective.drifts(*pairs[0], np.array([tokens]))
    assert abs(objective.exact(margin.value[0]) - objective.exact_margin(chosen, rejected, BETA)) <= margin.error[0]
    assert abs(objective.exact(drift.value[0]) - objective.exact_drift(*chosen, tokens)) <= drift.error[0]
    assert softplus(-margin.value)[0] == pytest.approx(case["expected"]["dpo_loss"], rel=1e-12, abs=1e-300)
    assert objective.ratios(np.array([tokens]), np.array([other_tokens])).value[0] == max(tokens, other_tokens) / min(tokens, other_tokens)


@pytest.mark.parametrize("row", LOSSES["softplus_traps"], ids=lambda row: str(row["margin"]))
def test_softplus_neither_overflows_nor_vanishes(row: dict) -> None:
    assert softplus(doubles(-row["margin"]))[0] == pytest.approx(row["correct_softplus_of_minus_margin"], rel=1e-12, abs=1e-323)


@pytest.mark.parametrize("row", ROUNDING["softplus_decimal"], ids=lambda row: row["margin"])
def test_quantised_softplus(row: dict) -> None:
    exact = Fraction(row["softplus_of_minus_margin_40_digits"])
    for quantum in (NANO, Fraction(1, 10**12), Fraction("0.001")):
        assert exact_loss_quanta(Fraction(row["margin"]), Fraction(0), quantum) == round(exact / quantum)


def test_fixed_point_sum_of_losses() -> None:
    case, quantum = ROUNDING["fixed_point"][0], Fraction(1, 10**30)
    total = sum(exact_loss_quanta(Fraction(margin), Fraction(0), quantum) for margin in case["margins"])
    assert str(total) == case["sum_of_losses_in_units_of_1e-30"]


def test_worked_example_means() -> None:
    expected = LOSSES["worked_example_means"]
    cases = {case["id"]: measured(case["inputs"]) for case in LOSSES["cases"]}
    rows = [cases[name] for name in expected["admitted_in_order"]]
    margins = [objective.exact_margin(row[0], row[1], BETA) for row in rows]
    losses = [exact_loss_quanta(margin, objective.exact_nll(row[0][0], row[2]), NANO) for margin, row in zip(margins, rows, strict=True)]
    assert sum(margins) / 2 == Fraction(expected["mean_dpo_margin"]["exact"])
    # 0.7325744432 + 0.7554138489 in nano-nats, over 2
    assert losses == [732574443, 755413849]
    assert round_half_even(sum(losses) * NANO / 2, 6) == float(expected["mean_rpo_loss"]["rounded_6"])


def ratio_side(chosen: int, rejected: int, bound: str) -> tuple[int, float]:
    estimate = objective.ratios(np.array([chosen]), np.array([rejected]))
    side, value = objective.compare(estimate, Fraction(bound), lambda _: objective.exact_ratio(chosen, rejected))
    return int(side[0]), float(value[0])


@pytest.mark.parametrize("case", [case for case in GATES["length_ratio_cases"] if "error" not in case["expected"]], ids=str)
def test_length_ratio_gate(case: dict) -> None:
    # counts below 1 are refused before any ratio: test_pairs_kernel
    chosen, rejected, bound = (case["inputs"][name] for name in ("chosen_token_count", "rejected_token_count", "max_length_ratio"))
    assert objective.exact_ratio(chosen, rejected) == Fraction(case["expected"]["length_ratio"])
    side, value = ratio_side(chosen, rejected, bound)
    assert (side <= 0) is case["expected"]["within_bound"]
    assert value == pytest.approx(case["expected"]["value"], rel=1e-15)


@pytest.mark.parametrize("row", GATES["float_traps"]["bound_times_count"]["rows"], ids=str)
def test_a_ratio_on_its_bound_is_kept(row: list) -> None:
    longer, shorter, bound, _ = row
    assert ratio_side(longer, shorter, bound)[0] == 0


def drift_side(policy: float, reference: float, tokens: int, bound: str) -> int:
    estimate = objective.drifts(doubles(policy), doubles(reference), np.array([tokens]))
    return int(objective.compare(estimate, Fraction(bound), lambda _: objective.exact_drift(policy, reference, tokens))[0][0])


@pytest.mark.parametrize("case", GATES["drift_cases"], ids=lambda case: case["expected"]["drift_per_token"])
def test_drift_gate(case: dict) -> None:
    inputs, expected = case["inputs"], case["expected"]
    policy, reference, tokens = float(inputs["policy_logp_chosen"]), float(inputs["ref_logp_chosen"]), inputs["chosen_token_count"]
    assert objective.exact_drift(policy, reference, tokens) == Fraction(expected["drift_per_token"])
    assert (drift_side(policy, reference, tokens, inputs["min_drift"]) < 0) is expected["collapsed"]


@pytest.mark.parametrize("row", GATES["float_traps"]["drift_equal_to_bound"]["rows"], ids=str)
def test_a_drift_on_its_bound_is_not_collapsed(row: list) -> None:
    assert drift_side(float(row[0]), float(row[1]), row[2], row[3]) == 0


def test_drifts_exactly_on_the_bound_that_doubles_call_collapsed() -> None:
    # all (policy, reference, tokens) with one decimal whose drift is exactly -1/10: pc - rc = -n/10
    wrong = 0
    for tokens in range(1, 30):
        for tenths in range(1, 60):
            reference, policy = -tenths / 10, -(tenths + tokens) / 10
            wrong += (policy - reference) / tokens < -0.1
            assert drift_side(policy, reference, tokens, "-0.1") == 0
    assert wrong > 100


@pytest.mark.parametrize("row", GATES["float_traps"]["zero_margin"]["rows"], ids=str)
def test_a_margin_of_exactly_zero_is_zero(row: list) -> None:
    chosen, rejected = (float(row[0]), float(row[1])), (float(row[2]), float(row[3]))
    estimate = objective.margins((doubles(chosen[0]), doubles(chosen[1])), (doubles(rejected[0]), doubles(rejected[1])), BETA)
    side, value = objective.compare(estimate, Fraction(0), lambda _: objective.exact_margin(chosen, rejected, BETA))
    assert estimate.value[0] > 0, "the row shows a double that is wrong"
    assert (side[0], value[0]) == (0, 0.0)


@pytest.mark.parametrize("row", THRESHOLDS["double_to_decimal"], ids=lambda row: row["double_written_as"])
def test_a_double_stands_for_its_shortest_decimal(row: dict) -> None:
    # the two extreme doubles are given by their shortest decimal only
    written = row["shortest_repr"] if row["decimal_value"] == "see repr" else row["decimal_value"]
    assert objective.exact(float(row["double_written_as"])) == Fraction(written)


SHORT = st.integers(-4000, 0).map(lambda value: value / 8) | st.decimals(-900, 0, places=2).map(float)
LOGPS = st.floats(-1e6, 0) | SHORT | st.floats(max_value=0, allow_infinity=False)
SCALES = st.sampled_from(["0.1", "0.3", "7", "100"])
WEIGHTS = st.sampled_from(["1.0", "0.2", "1000"])


@settings(max_examples=500)
@given(st.tuples(LOGPS, LOGPS, LOGPS, LOGPS), st.integers(1, 10**7), SCALES, WEIGHTS)
@example((-1e308, 0.0, -1e308, 0.0), 1, "0.1", "1.0")
@example((-5e-324, 0.0, -0.0, -5e-324), 3, "0.1", "1.0")
@example((0.0, -8e4, 0.0, 0.0), 1, "0.1", "1.0")
def test_doubles_with_bounds_give_what_exact_arithmetic_gives(logps: tuple, tokens: int, beta_text: str, alpha_text: str) -> None:
    beta, alpha = Fraction(beta_text), Fraction(alpha_text)
    chosen, rejected = logps[:2], logps[2:]
    columns = [doubles(value) for value in logps]
    margin = objective.exact_margin(chosen, rejected, beta)
    estimate = objective.margins((columns[0], columns[1]), (columns[2], columns[3]), beta)
    if math.isfinite(estimate.value[0]) and math.isfinite(estimate.error[0]):
        assert abs(Fraction(estimate.value[0]) - margin) <= Fraction(estimate.error[0])
    nll = objective.exact_nll(chosen[0], tokens)
    quanta = objective.loss_quanta(estimate, -columns[0] / tokens, alpha, NANO, lambda _: (margin, alpha * nll))
    expected = exact_loss_quanta(margin, alpha * nll, NANO)
    assert (quanta.wide[0] if quanta.wide else quanta.steps[0]) == expected
    assert (0 in quanta.wide) == (expected > 2**63 - 1)
    for bound in (Fraction(0), margin):
        assert objective.compare(estimate, bound, lambda _: margin)[0][0] == (margin > bound) - (margin < bound)


def test_losses_near_a_tie_are_recomputed() -> None:
    # margin 8000: softplus is e^-8000, so a per-token NLL of k + 1/2 nano-nats is just above its tie and rounds up
    for steps in (0, 1, 2, 3):
        assert exact_loss_quanta(Fraction(8000), (steps + Fraction(1, 2)) * NANO, NANO) == steps + 1
    asked = []

    def at(row: int) -> tuple[Fraction, Fraction]:
        asked.append(row)
        return Fraction(8000), Fraction(5, 10**10)

    quanta = objective.loss_quanta(Bounded(doubles(8000.0, 8000.0), doubles(1e-12, 1e-12)), doubles(5e-10, 1.2e-9), Fraction(1), NANO, at)
    assert (quanta.steps.tolist(), asked) == ([1, 1], [0])


def test_a_loss_beyond_64_bits_stays_an_integer() -> None:
    margin = Bounded(doubles(-1e300), doubles(1e290))
    quanta = objective.loss_quanta(margin, doubles(0.0), Fraction(1), NANO, lambda _: (Fraction(-10**300), Fraction(0)))
    assert (quanta.steps.tolist(), quanta.wide) == ([-1], {0: 10**309})
    # where it is shown it is 1e300 nats again
    assert objective.loss_values(quanta, NANO).tolist() == [1e300]


@pytest.mark.parametrize("case", [*ROUNDING["sum_cases"], *ROUNDING["edge_cases"]], ids=lambda case: case.get("id", str(case["inputs"]["values"])))
def test_sums_of_the_oracle(case: dict) -> None:
    values = doubles(*(float(value) for value in case["inputs"]["values"]))
    if "error" in case["expected"]:
        with pytest.raises(RoundError) as caught:
            exact_sum(values)
        assert caught.value.code == case["expected"]["error"]
        return
    total = sum((Fraction(repr(value)) for value in values.tolist()), Fraction(0))
    assert exact_sum(values) == total
    # the oracle sums binary values and rounds once; at these values the decimals round to the same double
    assert float(total) == float(case["expected"]["sum"])


@settings(max_examples=200)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.floats(-500, 0) | st.decimals(-500, 0, places=3).map(float), max_size=20))
def test_a_sum_is_exact_and_has_no_order(values: list[float]) -> None:
    expected = sum((Fraction(Decimal(repr(value))) for value in values), Fraction(0))
    assert exact_sum(doubles(*values)) == expected
    random.Random(1).shuffle(values)
    assert exact_sum(doubles(*values)) == expected


@pytest.mark.parametrize("row", ROUNDING["rounding_cases"], ids=lambda row: row.get("double") or row["rational"])
def test_receipt_rounding(row: dict) -> None:
    value = objective.exact(float(row["double"])) if "double" in row else Fraction(row["rational"])
    rounded = round_half_even(value, 6)
    assert rounded == float(row["expected"])
    assert math.copysign(1, rounded) == (1 if rounded == 0 else math.copysign(1, value))


def test_a_figure_that_no_double_holds_is_refused_by_name() -> None:
    with pytest.raises(RoundError) as caught:
        round_half_even(Fraction(10) ** 400, 6)
    assert caught.value.code == "figure_out_of_range"
    assert objective.nearest_double(-Fraction(10) ** 400) == -math.inf
