"""How many items from flipping: rates by counting, kappa by trying every table, and every check of a real assessment."""
from __future__ import annotations

import json
from datetime import UTC, datetime
from fractions import Fraction
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.gates.assessment import assess
from core.gates.calibration import RubricJudgeCalibrationGate
from core.gates.robustness import A_FACT, A_MEASURE, NOT_BOUND, WAITS, robustness
from core.grid import default_grid
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace
from core.schemas import JUDGE_RECORDS
from core.statistics.agreement import Confusion, cohen_kappa
from core.statistics.flipping import CANNOT_FLIP, kappa_flip_distance, rate_flip_distance
from core.statistics.ratio import Ratio

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("counts", "bound", "direction", "text"), [
    ((0, 5), "0.05", "max", "1 item from failing"),         # one regression of five is 20 %
    ((1, 20), "0.05", "max", "1 item from failing"),        # exactly on the bound, which holds
    ((13, 120), "0.05", "max", "7 items from holding"),     # at most 6 of 120
    ((0, 120), "0.05", "max", "7 items from failing"),      # 7 of 120 is 5.83 %
    ((4, 4), "1", "min", "1 item from failing"),
    ((3, 4), "1", "min", "1 item from holding"),
    ((19, 20), "0.95", "min", "1 item from failing"),
    ((0, 4), "0", "min", CANNOT_FLIP),                      # nothing lies below a floor of 0
    ((4, 4), "1", "max", CANNOT_FLIP),
    ((2, 10), "0", "max", "2 items from holding"),
])
def test_rates_move_by_one_count_an_item(counts: tuple[int, int], bound: str, direction: str, text: str) -> None:
    assert rate_flip_distance(Ratio(*counts), Fraction(bound), direction).text == text
    assert rate_flip_distance(Ratio(2, 4), Fraction(1), "min", unit="canary").text == "2 canaries from holding"


def test_what_the_items_allow_limits_the_distance() -> None:
    # a baseline that passes 1 of 120 cannot lose 7: nothing flips the check
    assert rate_flip_distance(Ratio(0, 120), Fraction(1, 20), "max", most=1).items is None
    # net gain 0 of 5 against a floor of 0 with one baseline pass to lose
    assert rate_flip_distance(Ratio(0, 5), Fraction(0), "min", least=-1).items == 1
    undefined = rate_flip_distance(Ratio(0, 0, "no canaries"), Fraction(1), "min")
    assert undefined.items is None and undefined.text == "undefined: no canaries"


@settings(max_examples=400)
@given(st.tuples(*[st.integers(0, 6)] * 4), st.sampled_from(["0.75", "0", "0.4", "-0.2", "1"]))
def test_kappa_by_trying_every_table_of_the_same_verifier(cells: tuple[int, int, int, int], bound: str) -> None:
    table, limit = Confusion(*cells), Fraction(bound)

    def holds(one: Confusion) -> bool:
        kappa = cohen_kappa(one).value
        return kappa is not None and kappa >= limit

    distances = [
        abs(tp - table.tp) + abs(fp - table.fp)
        for tp, fp in product(range(table.tp + table.fn + 1), range(table.fp + table.tn + 1))
        if holds(Confusion(tp, fp, table.tp + table.fn - tp, table.fp + table.tn - fp)) is not holds(table)
    ]
    found = kappa_flip_distance(table, limit)
    assert (found.items, found.holds) == (min(distances, default=None), holds(table))
    if found.items is not None:
        assert sum(count for _, _, count in found.moves) == found.items


def test_the_worked_example_s_judge_is_one_case_from_failing() -> None:
    # kappa of (4, 0, 1, 3) is exactly 3/4; (4, 1, 1, 2) has 2 * 7 / (5 * 3 + 5 * 3) = 7/15
    found = kappa_flip_distance(Confusion(tp=4, fp=0, fn=1, tn=3), Fraction(3, 4))
    assert found.text == "1 case from failing" and found.moves == (("tn", "fp", 1),)


def test_a_million_cases_are_as_quick_as_eight() -> None:
    """Ten times (4, 0, 1, 3) and so on up: the bound is reached exactly, so one case flips it whatever the size."""
    for size in (10, 1000, 1_000_000):
        table = Confusion(tp=4 * size, fp=0, fn=size, tn=3 * size)
        found = kappa_flip_distance(table, Fraction(3, 4))
        assert (found.items, found.holds) == (1, True)
    # more answers pass than fail, so approving a failed one costs most: that many flip it, and one fewer does not
    found = kappa_flip_distance(Confusion(500000, 20000, 10000, 400000), Fraction(3, 4))
    assert found.items is not None and found.holds
    for items, holds in ((found.items, False), (found.items - 1, True)):
        kappa = cohen_kappa(Confusion(500000, 20000 + items, 10000, 400000 - items)).value
        assert kappa is not None and (kappa >= Fraction(3, 4)) is holds


def test_every_check_of_the_worked_example(tmp_path: Path) -> None:
    workspace = Workspace.open(tmp_path / "ws", create=True)
    report = ingest(ROOT / "tests/fixtures/worked_example/bundle.json", workspace, now=datetime(2026, 1, 1, tzinfo=UTC))
    source = Round.open(workspace.rounds_dir / report.digest)
    (tmp_path / "out").mkdir()
    document = assess(source, default_grid(), tmp_path / "out").document
    found = {(one.check, one.judge_id): one.distance for one in robustness(document, default_grid())}
    assert {(check["name"], None) for check in document["checks"]} <= set(found)
    # 0 regressions of 5, cap 5 %: one loss refuses; 4 canaries of 4, all needed
    assert found["regressions", None].text == "1 item from failing"
    assert found["sanity_retention", None].text == "1 canary from failing"
    assert found["outcomes_complete", None].text == "1 item from failing"
    assert found["cohens_kappa", "calibrated"].text == "1 case from failing"
    # agreement 7/8 = .875 against .85: 6/8 fails; FPR 0 of 3: one approval is 33 %
    assert found["exact_agreement", "calibrated"].text == "1 case from failing"
    assert found["false_positive_rate", "calibrated"].text == "1 case from failing"
    # (1, 3, 1, 1): agreement 2/6, 6 * .85 = 5.1, so all 6 are needed: four more
    assert found["exact_agreement", "uncalibrated"].text == "4 cases from holding"
    assert found["holdout_lock", None].reason == A_FACT and found["literal_gate", None].reason == A_FACT
    assert found["no_collapsed_pair", None].reason == A_MEASURE and found["net_gain", None].reason == NOT_BOUND
    assert found["distinct_reviewer", None].reason == WAITS
    json.dumps([one.as_dict() for one in robustness(document, default_grid())])


def test_a_judge_with_missing_verdicts_needs_all_of_them() -> None:
    rows = [
        {
            "judge_id": "j", "case_id": f"c{k}", "order_swapped": False,
            "rubric_approved": k % 2 == 0 if k > 0 else None, "verifier_passed": k % 2 == 0 if k > 1 else None,
        }
        for k in range(12)
    ]
    judge = RubricJudgeCalibrationGate(default_grid()).evaluate("j", pa.Table.from_pylist(rows, schema=JUDGE_RECORDS))
    assert judge.missing == ("c0", "c1")
    document = {"checks": [], "holdout": None, "judges": {"j": judge.as_dict()}}
    found = {one.check: one.distance.text for one in robustness(document, default_grid())}
    # ten agreeing cases, five of each: 8 of 10 is under .85, and kappa falls to .8 and then .6
    assert found == {
        "cohens_kappa": "2 cases from failing", "exact_agreement": "2 cases from failing", "false_positive_rate": "1 case from failing",
        "missing_verdict": "2 cases from holding",
    }
