"""score_batch: where a row ends, which reasons it carries, and the problem cases 1, 4 and 6."""
from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from support_pairs import batches_of, oracle, pair

from core.errors import RoundError
from core.grid import DEDUP_KEYS, default_grid
from core.pairs.kernel import score_batch
from core.pairs.keys import pair_keys
from core.pairs.rules import CurationRules
from core.schemas import INVALID_CODES, SCORED

RULES = CurationRules.from_grid(default_grid())
GATES = {"open": (True, None), "closed": (False, "cohens_kappa")}
NAN, INF = math.nan, math.inf


def score(*rows: dict[str, Any], rules: CurationRules = RULES, repeated: list[str] | None = None) -> list[dict[str, Any]]:
    scored = score_batch(*batches_of(rows), rules, GATES, pa.array(repeated or [], pa.string()))
    assert scored.schema == SCORED
    scored.validate(full=True)
    return scored.to_pylist()


def ends(row: dict[str, Any]) -> tuple[str, str | None, list[str]]:
    return row["state"], row["primary_reason"], row["reasons"]


def test_the_base_pair_is_admitted_with_its_figures_and_keys() -> None:
    base = pair()
    row = score(base)[0]
    assert ends(row) == ("admitted", None, [])
    # margin 0.1 * ((-20 + 22) - (-30 + 24)) = 0.8; drift 2 / 20; NLL 20 / 20
    assert row["margin"] == pytest.approx(0.8)
    assert (row["drift"], row["length_ratio"], row["longer_side"], row["nll_per_token"]) == (0.1, 1.0, "equal", 1.0)
    # softplus(-0.8) = log(1 + e^-0.8) = 0.371100666..., + 1
    assert (row["loss_quanta"], row["loss_quanta_text"], row["rpo_loss"]) == (1_371_100_666, None, 1.371100666)
    assert {key: row[key] for key in DEDUP_KEYS} == pair_keys(base["prompt"], base["chosen"], base["rejected"])
    assert (row["rank"], row["duplicate_of_prompt"], row["file"], row["line"]) == (None, None, "pairs.jsonl", 1)


@pytest.mark.parametrize(
    ("changed", "codes"),
    [
        ({"policy_logp_chosen": None}, ["missing_logp"]),
        ({"ref_logp_rejected": None, "ref_logp_chosen": NAN}, ["missing_logp", "non_finite_logp"]),
        ({"policy_logp_chosen": NAN}, ["non_finite_logp"]), ({"policy_logp_chosen": -INF}, ["non_finite_logp"]),
        ({"policy_logp_chosen": INF}, ["non_finite_logp"]),
        ({"policy_logp_rejected": -INF, "ref_logp_rejected": -INF}, ["non_finite_logp"]),
        ({"policy_logp_chosen": 1e308, "ref_logp_chosen": -1e308}, ["positive_logp", "overflow"]),
        ({"policy_logp_chosen": 3.2}, ["positive_logp"]),
        ({"policy_logp_chosen": -1e308, "ref_logp_chosen": 0.0, "policy_logp_rejected": 0.0, "ref_logp_rejected": -1e308}, ["overflow"]),
        ({"chosen_token_count": 0}, ["bad_token_count"]), ({"rejected_token_count": -1}, ["bad_token_count"]),
        ({"chosen_token_count": None}, ["bad_token_count"]),
        ({"prompt": " \u200b"}, ["empty_prompt"]), ({"chosen": ""}, ["empty_completion"]), ({"rejected": "```\n```"}, ["empty_completion"]),
        ({"chosen": "Use a lock.", "rejected": "Use a lock."}, ["identical"]),
        ({"chosen": "Use a lock.", "rejected": "Use a lock. "}, ["identical_after_trim"]),
        ({"pair_id": "twice"}, ["duplicate_pair_id"]),
        ({"chosen": "", "rejected": "", "prompt": "", "policy_logp_chosen": None}, ["missing_logp", "empty_prompt", "empty_completion", "identical"]),
    ],
    ids=str,
)
def test_illegal_rows_say_why(changed: dict[str, Any], codes: list[str]) -> None:
    row = score(pair(**changed), repeated=["twice"])[0]
    assert ends(row) == ("rejected", "invalid_record", ["invalid_record"])
    assert row["sub_codes"] == codes == sorted(codes, key=INVALID_CODES.index)
    assert row["sub_code"] == codes[0]
    assert {row[name] for name in ("margin", "drift", "length_ratio", "rpo_loss", "loss_quanta", *DEDUP_KEYS)} == {None}


# a count of 2.5 or true and an absent field cannot be typed: ingest quarantines such a row (tests/unit/test_rounds_quarantine.py)
TYPED = [case for case in oracle("pair_losses")["error_cases"] if type(case["inputs"].get("chosen_token_count")) is int]


@pytest.mark.parametrize("case", TYPED, ids=lambda case: case["id"])
def test_error_cases_of_the_oracle(case: dict) -> None:
    inputs = {name: float(value) if "_logp_" in name else value for name, value in case["inputs"].items()}
    assert case["expected"]["error"] in score(pair(**inputs))[0]["sub_codes"]


def test_case_4_nothing_that_is_not_a_number_is_admitted_and_large_margins_do_not_overflow() -> None:
    large = pair("large", policy_logp_chosen=-1.0, ref_logp_chosen=-80001.0, ref_logp_rejected=-24.0, policy_logp_rejected=-24.0)
    small = pair("small", policy_logp_chosen=-80001.0, ref_logp_chosen=-1.0, ref_logp_rejected=-24.0, policy_logp_rejected=-24.0)
    rows = score(large, small)
    # beta * 80000 = 8000: softplus(-8000) is 0 to the nano-nat, softplus(8000) is 8000; NLL 1/20 and 80001/20
    assert [row["loss_quanta"] for row in rows] == [50_000_000, 8000 * 10**9 + 80001 * 10**9 // 20]
    assert [row["primary_reason"] for row in rows] == [None, "non_positive_margin"]


def test_case_6_length_bias_has_two_sides_and_an_inclusive_bound() -> None:
    counts = {"eight": (160, 20), "eighth": (20, 160), "bound": (18, 10), "over": (181, 100)}
    rows = score(*(pair(name, chosen_token_count=chosen, rejected_token_count=rejected) for name, (chosen, rejected) in counts.items()))
    assert [(row["primary_reason"], row["longer_side"]) for row in rows] == [
        ("length_bias", "chosen"), ("length_bias", "rejected"), (None, "chosen"), ("length_bias", "chosen"),
    ]
    assert [row["length_ratio"] for row in rows] == [8.0, 8.0, 1.8, 1.81]


VERIFIED = [(True, True, False), (True, None, True), (None, True, True), (None, None, True), (True, False, True), (False, True, True)]
SYNTHETIC = [(True, True, False), (True, None, False), (None, True, False), (None, None, False), (True, False, True), (False, None, True)]


@pytest.mark.parametrize(("origin", "flags"), [("verified", VERIFIED), ("synthetic", SYNTHETIC)])
def test_a_missing_verdict_fails_a_verified_pair_and_not_a_synthetic_one(origin: str, flags: list[tuple]) -> None:
    rows = score(*(
        pair(f"p{place}", origin=origin, judge_id="open", chosen_verified_pass=chosen, rejected_tombstone_fail=rejected)
        for place, (chosen, rejected, _) in enumerate(flags)
    ))
    assert [row["primary_reason"] == "unverified" for row in rows] == [fails for *_, fails in flags]


def test_reasons_stand_in_order_and_all_of_them_are_kept() -> None:
    bad = {"policy_logp_chosen": -40.0, "policy_logp_rejected": -24.0, "chosen_token_count": 40, "chosen_verified_pass": False}
    # margin 0.1 * ((-40 + 22) - 0) = -1.8, ratio 2, drift -18 / 40 = -0.45
    assert ends(score(pair(**bad))[0]) == ("rejected", "unverified", ["unverified", "non_positive_margin", "length_bias", "logp_collapse"])
    # only the verifier's flag is asked of a row whose figures cannot be trusted
    assert ends(score(pair(**bad, prompt=""))[0]) == ("rejected", "invalid_record", ["invalid_record", "unverified"])
    assert ends(score(pair(policy_logp_chosen=-40.0, policy_logp_rejected=-90.0))[0]) == ("rejected", "logp_collapse", ["logp_collapse"])


def test_the_margin_bound_is_strict_and_the_drift_bound_inclusive_in_decimals() -> None:
    # (-4.1 + 4.2) - (-5.2 + 5.3) is 0 in decimals and 8.9e-16 in doubles; (-2.2 + 1.2) / 10 is -0.1 and below it in doubles
    zero = pair("zero", policy_logp_chosen=-4.1, ref_logp_chosen=-4.2, policy_logp_rejected=-5.2, ref_logp_rejected=-5.3)
    bound = pair("bound", policy_logp_chosen=-2.2, ref_logp_chosen=-1.2, chosen_token_count=10, rejected_token_count=10)
    rows = score(zero, bound)
    assert [row["reasons"] for row in rows] == [["non_positive_margin"], []]
    # what is shown near a bound is the double nearest to the exact value
    assert (rows[0]["margin"], rows[1]["drift"]) == (0.0, -0.1)


@pytest.mark.parametrize(
    ("judge", "check"), [("open", None), ("closed", "cohens_kappa"), ("stranger", "unknown_judge"), (None, "no_judge")],
)
def test_a_synthetic_pair_is_held_by_its_judge_and_scored_all_the_same(judge: str | None, check: str | None) -> None:
    rows = score(
        pair("good", origin="synthetic", judge_id=judge), pair("long", origin="synthetic", judge_id=judge, chosen_token_count=90),
        pair("bad", origin="synthetic", judge_id=judge, prompt=""),
    )
    states = ["admitted", "rejected"] if check is None else ["held", "held"]
    assert [(row["state"], row["held_check"]) for row in rows] == [*((state, check) for state in states), ("rejected", None)]
    assert [row["reasons"] for row in rows] == [[], ["length_bias"], ["invalid_record"]]
    assert rows[1]["primary_reason"] == ("length_bias" if check is None else None)
    assert rows[0]["margin"] == pytest.approx(0.8)
    # held pairs take no part in duplicates
    assert (rows[0]["joint_transition_pair_sha256"] is None) is (check is not None)


def test_a_verified_pair_needs_no_judge() -> None:
    assert [row["state"] for row in score(pair("a", judge_id="closed"), pair("b", judge_id=None))] == ["admitted", "admitted"]


def test_bounds_come_from_the_rules() -> None:
    rules = replace(RULES, min_margin=Fraction("0.8"), max_length_ratio=Fraction(1), min_drift=Fraction("0.1"))
    assert ends(score(pair(), rules=rules)[0]) == ("rejected", "non_positive_margin", ["non_positive_margin"])
    assert ends(score(pair(), rules=replace(rules, min_margin=Fraction("0.7999")))[0]) == ("admitted", None, [])
    assert ends(score(pair(), rules=replace(RULES, min_drift=Fraction("0.1000001")))[0]) == ("rejected", "logp_collapse", ["logp_collapse"])


def test_a_loss_that_64_bits_cannot_hold_is_kept_in_digits() -> None:
    # NLL 1e300 / 1: 1e309 nano-nats; margin 0.1 * ((-1e300 + 1e300) - (-1e300)) = 1e299
    huge = dict.fromkeys(("policy_logp_chosen", "ref_logp_chosen", "policy_logp_rejected"), -1e+300)
    row = score(pair(**huge, ref_logp_rejected=0.0, chosen_token_count=1, rejected_token_count=1))[0]
    assert ends(row) == ("admitted", None, [])
    assert (row["loss_quanta"], row["loss_quanta_text"], row["rpo_loss"]) == (None, str(10**309), 1e300)


def test_an_origin_that_no_ingest_writes_is_refused() -> None:
    with pytest.raises(RoundError) as caught:
        score(pair(), pair("odd", origin="other"))
    assert caught.value.code == "unknown_origin"
    assert "odd" in str(caught.value)


def test_an_empty_batch() -> None:
    assert score() == []
