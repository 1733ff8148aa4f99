"""Sentences of the engine's rules that one changed comparison would break unnoticed: each test fails for one such change."""
from __future__ import annotations

import copy
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support_pairs import batches_of
from support_pairs import pair as scored_pair
from support_rounds import bundle, bundle_file, folder_of, ingested, pair, round_of, tables_of

from core.gates.assessment import Assessment, assess
from core.gates.checks import value_check
from core.gates.holdout import pair_outcomes
from core.gates.promotion import PreRegisteredFlywheelPromoter
from core.gates.receipt import PROMOTE_AWAITING, REFUSE, decide
from core.grid import Grid, default_grid, grid_from_document
from core.literals import LiteralGateResult, Violation
from core.pairs.kernel import score_batch
from core.pairs.rules import CurationRules
from core.pairs.tally import Tally
from core.rounds.folder import Round
from core.schemas import OUTCOMES
from core.statistics.ratio import Ratio

RULES = CurationRules.from_grid(default_grid())
CLEAN = LiteralGateResult("0" * 64, 1, ())
REVIEWER = "worker-verifier-02"


def grid_with(**values: Any) -> Grid:
    document = json.loads(default_grid().canonical)
    for key, value in values.items():
        document["keys"][key]["value"] = value
    return grid_from_document(document)


def assessed(place: Path, source: Round, grid: Grid | None = None, gate: LiteralGateResult = CLEAN) -> Assessment:
    folder = place / "assessment"
    folder.mkdir()
    return assess(source, grid or default_grid(), folder, literal_gate=gate, code="0" * 64)


def of_bundle(place: Path, document: dict[str, Any], **options: Any) -> Assessment:
    return assessed(place, ingested(place, bundle_file(place / "input", document))[0], **options)


def check_of(assessment: Assessment, name: str) -> dict[str, Any]:
    return dict(next(check for check in assessment.checks if check["name"] == name))


# bounds


@pytest.mark.parametrize(("value", "state"), [(Fraction(1, 20), "holds"), (Fraction(1, 20) + Fraction(1, 10**30), "fails"), (Fraction(0), "holds")])
def test_a_value_on_an_upper_bound_holds(value: Fraction, state: str) -> None:
    ratio = Ratio(value.numerator, value.denominator)
    assert value_check("x", ratio, default_grid(), "max_regression_rate", page="p", detail="d", remedy="{bound}{now}").state == state


@pytest.mark.parametrize(("fixes", "lost", "state"), [(0, 0, "warning"), (1, 1, "warning"), (2, 1, "noted"), (1, 2, "warning")])
def test_no_gain_is_a_warning_as_a_loss_is(fixes: int, lost: int, state: str) -> None:
    """net gain = (fixes - lost) / n; a gain of zero or less is a warning while the grid sets no bound."""
    pairs = [(False, True)] * fixes + [(True, False)] * lost + [(True, True)] * 4
    rows = [
        {"id": f"h{number}", "arm": arm, "run": 0, "passed": passed}
        for number, both in enumerate(pairs) for arm, passed in zip(("baseline", "candidate"), both, strict=True)
    ]
    outcomes = pair_outcomes([f"h{number}" for number in range(len(pairs))], pa.Table.from_pylist(rows, schema=OUTCOMES), "majority")
    check = PreRegisteredFlywheelPromoter(default_grid()).net_gain(outcomes)
    assert (check.state, check.decides) == (state, False)


@pytest.mark.parametrize(("arm", "runs"), [("baseline", [True, None]), ("candidate", [None, True]), ("candidate", [True, True, None])])
def test_one_null_among_the_runs_of_an_item_decides_nothing(arm: str, runs: list[bool | None]) -> None:
    """A null outcome is bad input, whatever the other runs of the item say; it is not left out of the majority."""
    rows = [{"id": "a", "arm": arm, "run": number, "passed": passed} for number, passed in enumerate(runs)]
    rows.append({"id": "a", "arm": "candidate" if arm == "baseline" else "baseline", "run": 0, "passed": True})
    with pytest.raises(Exception, match="missing_outcome") as caught:
        pair_outcomes(["a"], pa.Table.from_pylist(rows, schema=OUTCOMES), "majority")
    assert getattr(caught.value, "exit_code", None) == 4


# the literal gate


VIOLATION = Violation("core/x.py", 3, 1, "0.05", "<module>", "a number")


@pytest.mark.parametrize(
    ("gate", "state"), [(CLEAN, "holds"), (LiteralGateResult("0" * 64, 9, (VIOLATION,)), "fails"), (LiteralGateResult("0" * 64, 0, ()), "fails")],
)
def test_a_violation_or_nothing_scanned_refuses_the_round(tmp_path: Path, gate: LiteralGateResult, state: str) -> None:
    assessment = of_bundle(tmp_path, bundle(), gate=gate)
    assert check_of(assessment, "literal_gate")["state"] == state
    assert (assessment.verdict == PROMOTE_AWAITING) is decide(assessment, REVIEWER).promote is (state == "holds")


# undefined figures that decide


def all_invalid() -> dict[str, Any]:
    """The worked example with every answer emptied: no pair is left to be judged."""
    document = bundle()
    for row in (*document["verified_candidates"], *document["synthetic_pairs"]):
        row["chosen_verified"] = " "
    return document


def test_a_share_of_nothing_is_undefined_and_refuses_where_the_grid_bounds_it(tmp_path: Path) -> None:
    assessment = of_bundle(tmp_path, all_invalid(), grid=grid_with(max_collapsed_share="0.5"))
    assert check_of(assessment, "collapsed_share")["state"] == "undefined" and assessment.verdict == REFUSE
    assert not decide(assessment, REVIEWER).promote


def test_a_refusal_record_names_the_undefined_share_as_well(tmp_path: Path) -> None:
    """Every code that applies: the empty canary set and the share over no pair are two sentences under one code."""
    assessment = of_bundle(tmp_path, all_invalid() | {"sanity_outcomes": {}}, grid=grid_with(max_collapsed_share="0.5"))
    reasons = {item["code"]: item["detail"] for item in assessment.document["refusal"]["reasons"]}
    assert list(reasons) == ["no_collapsed_pair", "undefined_statistic"]
    sanity, share = "sanity retention is undefined: the round has no canaries", "collapsed share is undefined: no pair was judged"
    assert reasons["undefined_statistic"] == f"{sanity}; {share}"


def test_a_rate_over_no_failure_is_undefined_although_kappa_is_a_number(tmp_path: Path) -> None:
    """The verifier passed all ten and the judge approved nine: kappa is 0, the false-positive rate is 0 of 0. No receipt."""
    records = [{"case_id": f"c{number}", "rubric_approved": number > 0, "verifier_passed": True} for number in range(10)]
    for role in ("calibrated", "uncalibrated"):
        place = tmp_path / role
        place.mkdir()
        assessment = of_bundle(place, bundle() | {f"{role}_judge_records": records})
        judge = assessment.judges[role]
        assert (judge["kappa"]["value"], judge["fpr"]["value"], judge["gate"]["open"]) == (0, None, False)
        assert [item["code"] for item in assessment.document["refusal"]["reasons"]] == ["undefined_statistic"]
        assert f"false-positive rate of the {role} judge" in assessment.document["refusal"]["reasons"][0]["detail"]


def test_the_collapsed_share_is_over_pairs_neither_invalid_unverified_nor_held() -> None:
    """Six pairs: admitted, collapsed, collapsed and unverified, unverified, held and collapsed, invalid. Judged: the first two."""
    fallen = {"policy_logp_chosen": -40.0, "policy_logp_rejected": -90.0}
    rows = [
        scored_pair("a"), scored_pair("b", **fallen), scored_pair("c", chosen_verified_pass=False, **fallen),
        scored_pair("d", chosen_verified_pass=None), scored_pair("e", origin="synthetic", judge_id="closed", **fallen), scored_pair("f", prompt=""),
    ]
    tally = Tally(RULES)
    tally.add(score_batch(*batches_of(rows), RULES, {"closed": (False, "cohens_kappa")}))
    assert (tally.collapsed, tally.judged) == (1, 2)


# the two counts of the uncalibrated judge


PERFECT = [{"case_id": f"u{number}", "rubric_approved": number < 5, "verifier_passed": number < 5} for number in range(10)]
HOPELESS = [{"case_id": f"u{number}", "rubric_approved": number < 5, "verifier_passed": number >= 5} for number in range(10)]


def synthetic(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return copy.deepcopy(document["synthetic_pairs"][0]) | changes


def admitted_by_the_uncalibrated(assessment: Assessment) -> int:
    receipt = decide(assessment, REVIEWER).receipt
    assert receipt is not None
    return int(receipt["uncalibrated_synthetic_admitted"])


def test_in_a_bundle_the_uncalibrated_gate_is_applied_to_all_valid_synthetic_pairs(tmp_path: Path) -> None:
    """Counted after invalid_record and before every other reason, whatever the calibrated judge says: here its gate is closed
    and holds all of them. Fine, too long, unverified: three; the empty one is invalid."""
    document = bundle()
    document |= {"calibrated_judge_records": HOPELESS, "uncalibrated_judge_records": PERFECT, "synthetic_pairs": [
        synthetic(document), synthetic(document, pair_id="long", chosen_token_count=500),
        synthetic(document, pair_id="failed", chosen_verified_pass=False), synthetic(document, pair_id="empty", chosen_verified=""),
    ]}
    assessment = of_bundle(tmp_path, document)
    assert assessment.reason_table["held"] == 3
    assert admitted_by_the_uncalibrated(assessment) == 3


def test_in_a_bundle_pairs_that_other_reasons_reject_are_counted(tmp_path: Path) -> None:
    """Both gates open: one of two synthetic pairs is too long, and still let through by the judge."""
    document = bundle()
    document |= {"uncalibrated_judge_records": PERFECT,
                 "synthetic_pairs": [synthetic(document), synthetic(document, pair_id="long", chosen_token_count=500)]}
    assert admitted_by_the_uncalibrated(of_bundle(tmp_path, document)) == 2


@pytest.mark.parametrize(("records", "expected"), [(PERFECT, 3), (HOPELESS, 0)])
def test_in_tables_the_uncalibrated_judges_own_valid_pairs_are_counted(tmp_path: Path, records: list[dict[str, Any]], expected: int) -> None:
    """Its own: fine, too long, unverified, and an invalid one; the pair of the other judge is not its own."""
    document = bundle() | {"uncalibrated_judge_records": records}
    parts = tables_of(document)
    own = {"origin": "synthetic", "judge_id": "uncalibrated", "chosen_verified_pass": None, "rejected_tombstone_fail": None}
    parts["pairs"] += [
        pair(pair_id="u1", prompt="One", **own), pair(pair_id="u2", prompt="Two", chosen="Long", **own | {"chosen_token_count": 500}),
        pair(pair_id="u3", prompt="Three", chosen="Other", **own | {"chosen_verified_pass": False}), pair(pair_id="u4", prompt="", **own),
    ]
    source, _ = ingested(tmp_path, folder_of(tmp_path / "input", parts, about=round_of(document)))
    assert admitted_by_the_uncalibrated(assessed(tmp_path, source)) == expected


# exact figures


def test_the_exact_route_of_the_loss_weighs_the_nll_too() -> None:
    """A loss too large for the doubles' route: margin 0.1 * (2 - 80002) = -8000; softplus(8000) = 8000 + 0; alpha * 20/20 = 1/5."""
    rules = replace(RULES, alpha=Fraction(1, 5), loss_quantum=Fraction(1, 10**12))
    row = scored_pair("a", policy_logp_rejected=0.0, ref_logp_rejected=-80002.0)
    assert score_batch(*batches_of([row]), rules, {}).to_pylist()[0]["loss_quanta"] == 80002 * 10**11


def test_the_lowest_drift_is_that_of_all_batches_and_of_the_first_id() -> None:
    """Drifts 2/20, 1/20, 1/20 and 3/20 in three batches: 1/20, by the smaller id, whichever batch comes first."""
    def rows(*chosen: tuple[str, float]) -> pa.RecordBatch:
        return score_batch(*batches_of([scored_pair(name, policy_logp_chosen=-22.0 + gain) for name, gain in chosen]), RULES, {})

    batches = [rows(("d", 2.0)), rows(("c", 1.0)), rows(("b", 1.0), ("a", 3.0))]
    for order in (batches, batches[::-1]):
        tally = Tally(RULES)
        for batch in order:
            tally.add(batch)
        assert tally.lowest is not None
        assert (tally.lowest.value, tally.lowest.pair_id) == (Fraction(1, 20), "b")
