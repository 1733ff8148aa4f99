"""Cases of a judge's confusion table, outcomes of holdout items, canaries."""
from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.rounds.queries import CELLS, RoundQueries
from core.schemas import JUDGE_RECORDS, OUTCOMES, SANITY


def record(case: str, approved: bool | None, passed: bool | None, *, swapped: bool = False, judge: str = "j") -> dict[str, object]:
    return {"judge_id": judge, "case_id": case, "order_swapped": swapped, "rubric_approved": approved, "verifier_passed": passed,
            "prompt": f"prompt of {case}", "rationale": f"because {case}"}


RECORDS = [
    record("c4", True, True), record("c1", True, True), record("c2", True, False), record("c3", False, True), record("c5", False, False),
    record("c6", None, True), record("c7", False, None),
    record("c1", False, True, swapped=True),  # never in the table
    record("c5", False, False),               # an identical repeat counts once
    record("c1", True, False, judge="other"),
]
OUTCOME_ROWS = [
    {"id": "h1", "arm": "baseline", "run": 0, "passed": True, "slice": "math"}, {"id": "h1", "arm": "candidate", "run": 0, "passed": False},
    {"id": "h2", "arm": "candidate", "run": 1, "passed": True, "response": "second"},
    {"id": "h2", "arm": "candidate", "run": 0, "passed": False, "response": "first"}, {"id": "h2", "arm": "baseline", "run": 0, "passed": False},
    {"id": "h3", "arm": "baseline", "run": 0, "passed": True},
]


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory):
    folder: Path = tmp_path_factory.mktemp("round")
    for name, rows, schema in (
        ("judge_records", RECORDS, JUDGE_RECORDS), ("outcomes", OUTCOME_ROWS, OUTCOMES),
        ("sanity", [{"id": "s2", "passed": True}, {"id": "s3", "passed": False}, {"id": "s1", "passed": True}], SANITY),
    ):
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / f"{name}.parquet")
    with RoundQueries.of_folders(folder, None) as answers:
        yield answers


@pytest.mark.parametrize(("cell", "cases"), [("tp", ["c1", "c4"]), ("fp", ["c2"]), ("fn", ["c3"]), ("tn", ["c5"]), ("missing", ["c6", "c7"])])
def test_cases_of_a_cell(queries: RoundQueries, cell: str, cases: list[str]) -> None:
    page = queries.judge_cases("j", cell)
    assert page["case_id"].to_pylist() == cases
    assert set(page["total"].to_pylist()) == {len(cases)}


def test_cells_add_up_to_the_cases(queries: RoundQueries) -> None:
    counts = {row["cell"]: row["cases"] for row in queries.judge_cells().to_pylist() if row["judge_id"] == "j"}
    assert counts == {"tp": 2, "fp": 1, "fn": 1, "tn": 1, "missing": 2} and set(counts) == set(CELLS)
    assert queries.judge_cases("j").num_rows == sum(counts.values()) == 7
    assert queries.judge_cases("nobody").num_rows == 0


def test_a_case_opens_with_its_texts_in_both_orders(queries: RoundQueries) -> None:
    rows = queries.judge_case("j", "c1")
    assert [(row["order_swapped"], row["rubric_approved"]) for row in rows] == [(False, True), (True, False)]
    assert rows[0]["rationale"] == "because c1"


def test_outcomes_of_items_in_the_order_asked(queries: RoundQueries) -> None:
    rows = queries.outcome_items(["h3", "h1", "h2", "h9"]).to_pylist()
    figures = [(r["id"], r["baseline_passes"], r["baseline_runs"], r["candidate_passes"], r["candidate_runs"]) for r in rows]
    # h3 has no candidate outcome, h9 none at all
    assert figures == [("h3", 1, 1, 0, 0), ("h1", 1, 1, 0, 1), ("h2", 0, 1, 1, 2), ("h9", 0, 0, 0, 0)]
    assert rows[1]["slice"] == "math"
    assert [row["response"] for row in queries.outcome_item("h2") if row["arm"] == "candidate"] == ["first", "second"]


def test_failed_canaries_come_first(queries: RoundQueries) -> None:
    assert queries.canaries()["id"].to_pylist() == ["s3", "s1", "s2"]
