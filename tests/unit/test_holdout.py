"""The holdout lock, what differs, and paired outcomes: oracle holdout_digest, promotion_rates, cases 13 and 23."""
from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

from core.canonical import canonical_bytes, sha256_hex
from core.errors import RoundError
from core.gates.holdout import check_lock, holdout_differences, pair_outcomes
from core.gates.promotion import PreRegisteredFlywheelPromoter, Sanity, distinct_reviewer, net_gain, regression_rate
from core.grid import Grid, default_grid, grid_from_document
from core.grid.grid import DEFAULT_GRID_PATH
from core.schemas import OUTCOMES

ORACLES = Path(__file__).parents[1] / "fixtures/oracles"
DIGESTS = json.loads((ORACLES / "holdout_digest.json").read_text("utf-8"))
RATES = json.loads((ORACLES / "promotion_rates.json").read_text("utf-8"))
SUITE = [{"id": "h1", "prompt": "Add 2 and 3."}, {"id": "h2", "prompt": "Name the capital of Chile."}]


def grid_with(**values: str) -> Grid:
    """The default grid with other values, as a new version."""
    document = json.loads(DEFAULT_GRID_PATH.read_text("utf-8"))
    document |= {"name": "test", "version": 2}
    for key, value in values.items():
        document["keys"][key]["value"] = value
    return grid_from_document(document)


def outcome_rows(baseline: dict, candidate: dict, run: int = 0) -> list[dict]:
    return [{"id": item, "arm": arm, "run": run, "passed": passed} for arm, arms in (("baseline", baseline), ("candidate", candidate))
            for item, passed in arms.items()]


def outcomes(rows: list[dict]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=OUTCOMES)


@pytest.mark.parametrize("case", [case for case in DIGESTS["cases"] if case["id"] != "non_ascii_escaped"], ids=lambda case: case["id"])
def test_digest_of_the_oracle(case: dict) -> None:
    canonical = canonical_bytes(case["inputs"]["suite"])
    assert sha256_hex(canonical) == case["expected"]["sha256"]
    assert canonical.decode("utf-8") == case["expected"]["canonical_json"]


@pytest.mark.parametrize("case", [case for case in DIGESTS["error_cases"] if "preregistered" in case["inputs"]], ids=lambda case: case["id"])
def test_a_lock_in_other_spellings_and_malformed_ones(case: dict) -> None:
    lock = check_lock(canonical_bytes(DIGESTS["worked_example"]["suite"]), case["inputs"]["preregistered"])
    assert lock.holds is case["expected"]["holdout_lock_valid"]
    assert lock.problem == case["expected"].get("reason")


def test_the_escaped_convention_is_a_mismatch_not_a_silent_pass() -> None:
    suite = [{"id": "h1", "prompt": "Add 2 and 3."}, {"id": "h2", "prompt": "Nomme la capitale du Pérou."}]
    escaped = "3a686d1e9fc55507894bafdf37f2daf2b6bb326c4c255b537122b0ec9fa194dd"
    assert check_lock(canonical_bytes(suite), escaped).problem == "digest_mismatch"


@pytest.mark.parametrize(("changed", "line"), [
    (SUITE[::-1], "same items, other order"),
    ([*SUITE, {"id": "h3", "prompt": "x"}], "item h3 was added"),
    (SUITE[:1], "item h2 was removed"),
    ([SUITE[0], SUITE[1] | {"prompt": "Name the capital of Chile. "}], "item h2, field prompt: differs by trailing white space"),
    ([SUITE[0], SUITE[1] | {"prompt": "Name  the capital of Chile."}], "item h2, field prompt: differs by white space"),
    ([SUITE[0], SUITE[1] | {"prompt": "Name the capital of Peru."}], "item h2, field prompt: another text"),
    (SUITE, "nothing: the two lists are the same"),
])
def test_what_differs_is_named(changed: list[dict], line: str) -> None:
    assert holdout_differences(SUITE, changed) == [line]


def test_unicode_form_is_named() -> None:
    composed, decomposed = [{"id": "h", "prompt": "P\u00e9rou"}], [{"id": "h", "prompt": "Pe\u0301rou"}]
    assert holdout_differences(composed, decomposed) == ["item h, field prompt: differs by Unicode form (composed against decomposed)"]


@pytest.mark.parametrize("case", [case for case in RATES["cases"] if "baseline" in case["inputs"]], ids=lambda case: case["id"])
def test_rates_of_the_oracle(case: dict) -> None:
    before, after = case["inputs"]["baseline"], case["inputs"]["candidate"]
    paired = pair_outcomes(list(before), outcomes(outcome_rows(before, after)), "majority")
    expected = case["expected"]
    assert (paired.both_pass, len(paired.regressions), len(paired.fixes), paired.both_fail) == tuple(
        expected[name] for name in ("both_pass", "regressions", "fixes", "both_fail"))
    assert net_gain(paired).value == Fraction(expected["net_holdout_gain"])
    assert regression_rate(paired).value == Fraction(expected["regression_rate"])


@pytest.mark.parametrize("case", [case for case in RATES["threshold_cases"] if "regressions" in case["inputs"]], ids=str)
def test_regression_cap_on_and_around_its_bound(case: dict) -> None:
    lost, n = case["inputs"]["regressions"], case["inputs"]["items"]
    before = {f"i{k}": True for k in range(n)}
    after = {f"i{k}": k >= lost for k in range(n)}
    paired = pair_outcomes(list(before), outcomes(outcome_rows(before, after)), "majority")
    promoter = PreRegisteredFlywheelPromoter(grid_with(max_regression_rate=case["inputs"]["max_regression_rate"]))
    assert (promoter.regressions(paired).state == "holds") is case["expected"]["passes"]


@pytest.mark.parametrize("case", [case for case in RATES["threshold_cases"] if "retained" in case["inputs"]], ids=str)
def test_sanity_floor_on_and_around_its_bound(case: dict) -> None:
    n, lost = case["inputs"]["sanity_items"], case["inputs"]["sanity_items"] - case["inputs"]["retained"]
    promoter = PreRegisteredFlywheelPromoter(grid_with(min_sanity_retention=case["inputs"]["min_sanity_retention"]))
    check = promoter.sanity_retention(Sanity(n, tuple(f"s{k}" for k in range(lost))))
    assert (check.state == "holds") is case["expected"]["passes"]


def test_optional_bounds_decide_once_the_grid_sets_them() -> None:
    # 1 fixed, 2 lost of 10: net gain -1/10; without a bound a warning, with a floor of 0 it fails: ceil(0 * 10) = 0, 1 short
    before = {f"i{k}": k < 5 for k in range(10)}
    after = before | {"i0": False, "i1": False, "i9": True}
    paired = pair_outcomes(list(before), outcomes(outcome_rows(before, after)), "majority")
    off = PreRegisteredFlywheelPromoter(default_grid())
    assert (off.net_gain(paired).state, off.net_gain(paired).decides) == ("warning", False)
    assert off.net_gain(paired).observed == "−1 of 10, −10 %"
    on = PreRegisteredFlywheelPromoter(grid_with(min_net_holdout_gain="0", max_collapsed_share="0.5"))
    assert on.net_gain(paired).blocks and on.net_gain(paired).distance.text == "1 short (items)"
    assert (off.collapsed_share(3, 5).state, off.collapsed_share(0, 5).state) == ("warning", "noted")
    assert on.collapsed_share(3, 5).state == "fails" and on.collapsed_share(1, 2).state == "holds"
    assert on.collapsed_share(0, 0).state == "undefined"


def test_an_absent_candidate_outcome_counts_as_a_failure_and_is_a_finding() -> None:
    paired = pair_outcomes(["a", "b", "c"], outcomes(outcome_rows({"a": True, "b": True, "c": False}, {"a": True})), "majority")
    assert paired.absent == ("b", "c") and paired.regressions == ("b",) and paired.both_fail == 1
    check = PreRegisteredFlywheelPromoter(default_grid()).outcomes_complete(paired)
    assert check.state == "fails" and check.observed == "1 of 3 items in both arms"


@pytest.mark.parametrize(("rows", "code"), [
    (outcome_rows({"a": True}, {"a": True, "zz": True}), "unknown_item"),
    ([*outcome_rows({"a": True}, {"a": True}), {"id": "a", "arm": "candidate", "run": 0, "passed": False}], "duplicate_outcome"),
    (outcome_rows({"a": None}, {"a": True}), "missing_outcome"),
    (outcome_rows({"a": True}, {"a": None}), "missing_outcome"),
    (outcome_rows({}, {"a": True}), "missing_outcome"),
])
def test_outcomes_that_decide_nothing(rows: list[dict], code: str) -> None:
    with pytest.raises(RoundError) as caught:
        pair_outcomes(["a"], outcomes(rows), "majority")
    assert caught.value.code == code and caught.value.exit_code == 4


def test_several_runs_stay_nested_and_a_tie_never_helps_the_candidate() -> None:
    # item a: baseline 1 of 2, candidate 1 of 2: baseline tie = pass, candidate tie = fail: a regression, not two items
    rows = [{"id": "a", "arm": arm, "run": run, "passed": passed} for arm in ("baseline", "candidate") for run, passed in ((0, True), (1, False))]
    paired = pair_outcomes(["a"], outcomes(rows), "majority")
    assert paired.n == 1 and paired.regressions == ("a",) and paired.runs == {"baseline": (2, 2), "candidate": (2, 2)}
    assert pair_outcomes(["a"], outcomes(rows), "any").both_pass == 1
    assert pair_outcomes(["a"], outcomes(rows), "all").both_fail == 1


def test_no_canaries_is_undefined_and_blocks() -> None:
    check = PreRegisteredFlywheelPromoter(default_grid()).sanity_retention(Sanity(0, ()))
    assert check.state == "undefined" and check.blocks and check.observed == "undefined: the round has no canaries"
    lost = PreRegisteredFlywheelPromoter(default_grid()).sanity_retention(Sanity(8, ("s-01", "s-02", "s-03")))
    assert lost.state == "fails" and lost.observed == "5 of 8, 62.5 %"
    assert lost.remedy == "At least 8 of 8 canaries pass (now 5)."


@pytest.mark.parametrize("reviewer", [
    "worker-curator-01", " Worker-Curator-01 ", "ｗorker-curator-01", "worker-curator-01+second", "WORKER-CURATOR-01",
])
def test_self_review_in_disguise_is_the_same_person(reviewer: str) -> None:
    assert distinct_reviewer(["worker-curator-01"], reviewer).state == "fails"


def test_another_person_with_a_similar_name_may_review() -> None:
    assert distinct_reviewer(["worker-curator-01"], "worker-curator-011").state == "holds"
    assert distinct_reviewer(["worker-curator-01"], None).state == "open"


def test_no_admitted_pair_fails_and_a_drift_on_the_bound_holds() -> None:
    promoter = PreRegisteredFlywheelPromoter(default_grid())
    assert promoter.no_collapsed_pair(0, None).state == "fails"
    assert promoter.no_collapsed_pair(3, Fraction(-1, 10)).state == "holds"
    assert promoter.no_collapsed_pair(3, Fraction(-1000001, 10_000_000)).state == "fails"
