"""RubricJudgeCalibrationGate against the oracle, hand arithmetic, and the known problem cases 9 and 11."""
from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

from core.gates.calibration import RubricJudgeCalibrationGate, gate_synthetic_pairs
from core.grid import default_grid
from core.schemas import JUDGE_RECORDS
from core.statistics import agreement
from core.statistics.agreement import Confusion

ORACLE = json.loads((Path(__file__).parents[1] / "fixtures/oracles/judge_agreement.json").read_text("utf-8"))


def records(*groups: tuple[int, bool | None, bool | None], swapped: bool = False, judge: str = "j") -> pa.Table:
    """Rows (count, approved, passed), each with its own case id."""
    rows = []
    for count, approved, passed in groups:
        rows += [
            {"judge_id": judge, "case_id": f"c{len(rows) + i:05d}", "order_swapped": swapped, "rubric_approved": approved, "verifier_passed": passed}
            for i in range(count)
        ]
    return pa.Table.from_pylist(rows, schema=JUDGE_RECORDS)


def table_of(tp: int, fp: int, fn: int, tn: int) -> pa.Table:
    return records((tp, True, True), (fp, True, False), (fn, False, True), (tn, False, False))


def gate() -> RubricJudgeCalibrationGate:
    return RubricJudgeCalibrationGate(default_grid())


@pytest.mark.parametrize("case", ORACLE["cases"], ids=lambda case: case["id"])
def test_every_ratio_of_the_oracle_is_exact(case: dict) -> None:
    table = Confusion(**case["inputs"])
    for name, function in (
        ("cohens_kappa", agreement.cohen_kappa), ("exact_agreement", agreement.exact_agreement),
        ("false_positive_approval_rate", agreement.false_positive_rate), ("false_discovery_rate", agreement.false_discovery_rate),
    ):
        expected, got = case["expected"][name], function(table)
        if expected["value"] is None:
            assert got.value is None and got.undefined, name
        else:
            assert got.value == Fraction(expected["exact"]), name


@pytest.mark.parametrize("row", ORACLE["float_flips_at_three_quarters"]["rows"], ids=lambda row: "-".join(map(str, row[:4])))
def test_kappa_of_exactly_three_quarters_passes_however_floats_sum_it(row: list) -> None:
    judge = gate().evaluate("j", table_of(*row[:4]))
    assert judge.kappa.value == Fraction(3, 4)
    assert judge.checks[0].state == "holds"
    assert judge.checks[0].distance is not None and judge.checks[0].distance.text == "exactly on the bound, which holds"


def test_worked_example_judges() -> None:
    # calibrated: kappa 2(4*3 - 0*1)/((4+0)(0+3)+(4+1)(1+3)) = 24/32 = 3/4; agreement 7/8 >= .85; FPR 0/3
    calibrated = gate().evaluate("calibrated", table_of(4, 0, 1, 3))
    assert (calibrated.kappa.value, calibrated.agreement.value, calibrated.fpr.value) == (Fraction(3, 4), Fraction(7, 8), 0)
    assert calibrated.open and calibrated.failing == ()
    # uncalibrated: kappa 2(1*1 - 3*1)/((1+3)(3+1)+(1+1)(1+1)) = -4/20 = -1/5
    uncalibrated = gate().evaluate("uncalibrated", table_of(1, 3, 1, 1))
    assert uncalibrated.kappa.value == Fraction(-1, 5)
    assert uncalibrated.failing == ("cohens_kappa", "exact_agreement", "false_positive_rate")
    assert uncalibrated.checks[0].observed == "−0.2"


def test_one_false_approval_of_twenty_failures_is_on_the_bound_and_passes_one_of_nineteen_does_not() -> None:
    # FPR 1/20 = .05 is inside an inclusive bound of .05; 1/19 = .0526 is not: floor(.05 * 19) = 0 are allowed, so 1 too many
    assert gate().evaluate("j", table_of(40, 1, 1, 19)).checks[2].state == "holds"
    outside = gate().evaluate("j", table_of(40, 1, 1, 18)).checks[2]
    assert outside.state == "fails" and outside.distance is not None
    assert outside.distance.text == "1 too many (approvals of failures)"
    assert outside.remedy == "The judge approves at most 0 of 19 failed answers (now 1)."


@pytest.mark.parametrize(("counts", "undefined"), [
    ((20, 0, 0, 0), {"cohens_kappa", "false_positive_rate"}),   # all approved, all passed: nothing failed either
    ((0, 0, 0, 20), {"cohens_kappa"}),                          # all refused, all failed: FPR is 0 of 20
    ((0, 0, 0, 0), {"cohens_kappa", "exact_agreement", "false_positive_rate"}),
    ((1, 0, 0, 0), {"cohens_kappa", "false_positive_rate"}),
])
def test_one_class_is_undefined_and_closes_the_gate(counts: tuple[int, ...], undefined: set[str]) -> None:
    judge = gate().evaluate("j", table_of(*counts))
    assert {check.name for check in judge.checks if check.state == "undefined"} == undefined
    assert not judge.open
    document = judge.as_dict()
    assert document["kappa"]["value"] is None and document["kappa"]["undefined"]


def test_a_missing_verdict_closes_an_otherwise_perfect_gate_and_is_named() -> None:
    # 18 agreeing passes, 10 agreeing failures, and 2 cases that lack one verdict each
    rows = records((18, True, True), (10, False, False), (1, True, None), (1, None, False))
    judge = gate().evaluate("j", rows)
    assert (judge.confusion.n, judge.records) == (28, 30)
    assert judge.confusion == Confusion(tp=18, fp=0, fn=0, tn=10)
    assert judge.missing == ("c00028", "c00029")
    assert judge.failing == ("missing_verdict",)
    assert judge.kappa.value == 1


def test_swapped_rows_never_feed_the_gate() -> None:
    both = pa.concat_tables([table_of(10, 0, 0, 10), records((20, True, False), swapped=True)])
    judge = gate().evaluate("j", both)
    assert judge.swapped == 20 and judge.confusion == Confusion(10, 0, 0, 10) and judge.open


def test_a_synthetic_pair_without_a_calibrated_judge_is_held() -> None:
    judges = gate().evaluate_all(table_of(10, 0, 0, 10), expected=["named-only"])
    assert sorted(judges) == ["j", "named-only"]
    assert gate_synthetic_pairs("j", judges) == (True, None)
    assert gate_synthetic_pairs("named-only", judges) == (False, "cohens_kappa")
    assert gate_synthetic_pairs("stranger", judges) == (False, "unknown_judge")
    assert gate_synthetic_pairs(None, judges) == (False, "no_judge")


def test_a_value_just_under_its_bound_never_reads_like_the_bound() -> None:
    # kappa of (74999, 12500, 12500, 74999+...) style tables lie within 1e-5 of 3/4: the text shows the difference
    table = Confusion(tp=700_000, fp=100_000, fn=100_000, tn=699_990)
    kappa = agreement.cohen_kappa(table).value
    assert kappa is not None and kappa < Fraction(3, 4) and abs(kappa - Fraction(3, 4)) < Fraction(1, 10_000)
    check = gate().evaluate("j", pa.table(_many(table))).checks[0]
    assert check.state == "fails" and check.observed != "0.75"


def _many(table: Confusion) -> pa.Table:
    import numpy as np

    approved = np.repeat([True, True, False, False], [table.tp, table.fp, table.fn, table.tn])
    passed = np.repeat([True, False, True, False], [table.tp, table.fp, table.fn, table.tn])
    n = table.n
    columns = {name: pa.nulls(n, JUDGE_RECORDS.field(name).type) for name in JUDGE_RECORDS.names}
    columns |= {
        "judge_id": pa.array(["j"]).take(pa.array(np.zeros(n, dtype="int64"))), "case_id": pa.array(np.arange(n)).cast(pa.string()),
        "order_swapped": pa.array(np.zeros(n, dtype=bool)), "rubric_approved": pa.array(approved), "verifier_passed": pa.array(passed),
    }
    return pa.table(columns)
