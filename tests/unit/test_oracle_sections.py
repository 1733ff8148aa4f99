"""The sections of the oracle files that no other test walks through: rates at thresholds, counts of both arms, error cases,
the collision of the worked example, exact means. Error codes of an oracle name the cause; where such a row ends is decided
by the engine's rules, so that here stands what the engine does about each.
"""
from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support_pairs import oracle, worked_example
from support_rounds import NOW, bundle, bundle_file, folder_of, ingested, nothing_written, workspace_at

from core.errors import CountersignError
from core.gates.calibration import RubricJudgeCalibrationGate
from core.gates.checks import rate_check
from core.gates.holdout import PairedOutcomes, pair_outcomes
from core.gates.promotion import PreRegisteredFlywheelPromoter, Sanity, net_gain, outcomes_document, regression_rate
from core.grid import DEDUP_KEYS, Grid, default_grid, grid_from_document, parse_decimal
from core.pairs.keys import pair_keys
from core.pairs.objective import exact_sum
from core.rounds.ingest import ingest
from core.schemas import JUDGE_RECORDS, OUTCOMES
from core.statistics.ratio import Ratio, counted_ratio

THRESHOLDS, RATES, DIGESTS, JUDGES = (oracle(name) for name in ("exact_thresholds", "promotion_rates", "holdout_digest", "judge_agreement"))


def grid_with(**values: Any) -> Grid:
    document = json.loads(default_grid().canonical)
    for key, value in values.items():
        document["keys"][key]["value"] = value
    return grid_from_document(document)


def holds(ratio: Ratio, operator: str, threshold: str) -> bool:
    key = {">=": "min_exact_agreement", "<=": "max_regression_rate"}[operator]
    return rate_check("x", ratio, grid_with(**{key: threshold}), key, page="p", detail="d", unit="u", remedy="{limit}{n}{now}").state == "holds"


def test_every_oracle_file_is_read_by_a_test() -> None:
    """A fixture that nobody opens proves nothing."""
    tests = Path(__file__).parents[1]
    written = "".join(path.read_text("utf-8") for path in tests.rglob("*.py"))
    files = sorted(path.stem for path in (tests / "fixtures" / "oracles").glob("*.json"))
    assert files and [name for name in files if f'"{name}"' not in written and f"{name}.json" not in written] == []


# thresholds


@pytest.mark.parametrize("row", THRESHOLDS["thresholds"], ids=lambda row: row["threshold"])
def test_a_threshold_is_the_rational_that_was_written_and_not_its_double(row: dict[str, Any]) -> None:
    exact = parse_decimal(row["threshold"])
    assert exact == Fraction(row["exact"])
    double = Fraction(float(row["threshold"]))
    assert row["double_is"] == ("equal" if double == exact else "above" if double > exact else "below")
    if 0 <= exact <= 1:
        rate = Ratio(exact.numerator, exact.denominator)
        assert holds(rate, ">=", row["threshold"]) and holds(rate, "<=", row["threshold"])


@pytest.mark.parametrize("case", THRESHOLDS["comparison_cases"], ids=lambda case: case["id"])
def test_a_rate_of_counts_against_a_threshold(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    ratio = counted_ratio(inputs["numerator"], inputs["denominator"], undefined="nothing was counted")
    assert holds(ratio, inputs["operator"], inputs["threshold"]) is case["expected"]["passes"]


@pytest.mark.parametrize("row", THRESHOLDS["rate_difference_flips"]["rows"], ids=lambda row: "-".join(map(str, row[:4])))
def test_a_gain_is_one_difference_of_counts(row: list[Any]) -> None:
    fixes, lost, n, threshold, expected, _ = row
    outcomes = PairedOutcomes(n, 0, tuple(f"l{i}" for i in range(lost)), tuple(f"f{i}" for i in range(fixes)), n - fixes - lost, ())
    check = PreRegisteredFlywheelPromoter(grid_with(min_net_holdout_gain=threshold)).net_gain(outcomes)
    assert (check.state == "holds") is expected


# the holdout and its outcomes


@pytest.mark.parametrize("case", [case for case in RATES["cases"] if "counts" in case["inputs"]], ids=lambda case: case["id"])
def test_rates_from_counts_of_both_arms(case: dict[str, Any]) -> None:
    cells = {"both_pass": (True, True), "regressions": (True, False), "fixes": (False, True), "both_fail": (False, False)}
    arms = [cells[name] for name, count in case["inputs"]["counts"].items() for _ in range(count)]
    rows = [
        {"id": f"h{number}", "arm": arm, "run": 0, "passed": passed}
        for number, both in enumerate(arms) for arm, passed in zip(("baseline", "candidate"), both, strict=True)
    ]
    paired = pair_outcomes([f"h{number}" for number in range(len(arms))], pa.Table.from_pylist(rows, schema=OUTCOMES), "majority")
    expected = case["expected"]
    assert (paired.both_pass, len(paired.regressions), len(paired.fixes), paired.both_fail) == tuple(
        expected[name] for name in ("both_pass", "regressions", "fixes", "both_fail"))
    assert net_gain(paired).value == Fraction(expected["net_holdout_gain"]) and regression_rate(paired).value == Fraction(expected["regression_rate"])
    over_passes: Any = outcomes_document(paired)["regressions_over_baseline_passes"]
    stated = expected["regressions_over_baseline_passes"]
    assert (over_passes["undefined"] is not None) is (stated is None)
    assert stated is None or Fraction(over_passes["numerator"], over_passes["denominator"]) == Fraction(stated)
    sanity = case["inputs"]["sanity"]
    retention = Sanity(len(sanity), tuple(name for name, passed in sanity.items() if not passed)).retention
    assert retention.value == Fraction(expected["sanity_retention_rate"])


def change_of(case: str) -> tuple[dict[str, Any], str | None]:
    """What an edge case does to the worked example, and the code of the refusal (None: it is decided, and refused)."""
    outcomes = bundle()["candidate_outcomes"]
    return {
        "empty_suite": ({"holdout_suite": []}, "empty_holdout"), "empty_sanity": ({"sanity_outcomes": {}}, None),
        "candidate_missing_item": ({"candidate_outcomes": {name: outcomes[name] for name in list(outcomes)[1:]}}, None),
        "unknown_item": ({"candidate_outcomes": outcomes | {"h-99": True}}, "unknown_item"),
        "null_outcome": ({"candidate_outcomes": outcomes | {"h-01": None}}, "missing_outcome"),
    }[case]


@pytest.mark.parametrize("case", RATES["edge_cases"], ids=lambda case: case["id"])
def test_edge_cases_of_promotion(tmp_path: Path, case: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> None:
    from core.cli.main import run

    changes, code = change_of(case["id"])
    found = run(["decide", str(bundle_file(tmp_path, bundle() | changes)), "--json"])
    document = json.loads(capfd.readouterr().out)
    assert ("error" in case["expected"]) is (code is not None)
    assert (found, document.get("error")) == ((3, None) if code is None else (4, code))


@pytest.mark.parametrize("case", [case for case in DIGESTS["error_cases"] if "preregistered" not in case["inputs"]], ids=lambda case: case["id"])
def test_holdouts_that_two_readers_could_take_differently(tmp_path: Path, case: dict[str, Any]) -> None:
    folder = folder_of(tmp_path / "input", {}, about={
        "schema_version": 1, "round_id": "r", "proposers": ["ana"], "holdout_lock": {"sha256": "0" * 64},
    })
    inputs = case["inputs"]
    (folder / "holdout.json").write_text(inputs.get("raw") or json.dumps(inputs["suite"]), "utf-8")
    with pytest.raises(CountersignError) as caught:
        ingest(folder, workspace_at(tmp_path), now=NOW)
    assert (caught.value.code, caught.value.exit_code) == (case["expected"]["error"], 4) and nothing_written(tmp_path)


# judges


def test_error_cases_of_judges(tmp_path: Path) -> None:
    cases = {case["id"]: case for case in JUDGES["error_cases"]}
    gate = RubricJudgeCalibrationGate(default_grid())
    assert cases["empty"]["inputs"]["records"] == []
    empty = gate.evaluate("j", JUDGE_RECORDS.empty_table())
    assert not empty.open and {check.state for check in empty.checks} == {"undefined"}
    # a count cannot be negative here: counts are made of rows
    for name, code in (("non_boolean_verdict", "wrong_type"), ("duplicate_case_id", "conflicting_case")):
        records = [row | {"judge_id": "j"} for row in cases[name]["inputs"]["records"]]
        with pytest.raises(CountersignError) as caught:
            ingest(folder_of(tmp_path / name, {"judge_records": records}), workspace_at(tmp_path), now=NOW)
        assert (caught.value.code, caught.value.exit_code) == (code, 4)
    records = [row | {"judge_id": "j"} for row in cases["missing_verdict"]["inputs"]["records"]]
    source, _ = ingested(tmp_path / "m", folder_of(tmp_path / "missing", {"judge_records": records}))
    judge = gate.evaluate("j", source.table("judge_records"))
    assert judge.missing == ("x",) and "missing_verdict" in judge.failing and not judge.open


# pairs


def test_the_collision_of_the_worked_example() -> None:
    said = oracle("structural_dedup")["worked_example_collision"]
    rows = {row["pair_id"]: pair_keys(row["prompt"], row["chosen"], row["rejected"]) for row in worked_example()}
    same = [rows[said["a"]][key] == rows[said["b"]][key] for key in DEDUP_KEYS]
    assert same == [said["prompt"], said["skeleton"], said["joint"]]


MARGINS = [case for case in oracle("pair_aggregates")["margin_cases"] if case["expected"].get("mean_margin")]


@pytest.mark.parametrize("case", MARGINS, ids=lambda case: case["id"])
def test_a_mean_of_margins_is_exact(case: dict[str, Any]) -> None:
    margins = np.array([float(text) for text in case["inputs"]["margins"]])
    assert exact_sum(margins) / len(margins) == Fraction(case["expected"]["mean_margin"])
