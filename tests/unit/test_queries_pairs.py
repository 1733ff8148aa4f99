"""Counts, means and lists of pairs, on a round of ten rows whose every figure is written here."""
from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support_scored import write_scored, write_texts

from core.rounds.queries import PAGE_ROWS, SORTS, PairFilter, RoundQueries, StateCounts, Trap
from core.rounds.query_bins import BinRange
from core.schemas import QUARANTINE, REASONS

BOUNDS = {"margin": 0.0, "ratio": 1.8, "drift": -0.1, "loss": None}

ROWS = [
    {"pair_id": "a1", "rank": 1, "margin": 1.0, "drift": 0.2, "rpo_loss": 0.9},
    {"pair_id": "a0", "rank": 0, "margin": 2.0, "drift": 0.0, "rpo_loss": 0.7},
    {"pair_id": "same", "reasons": ["invalid_record"], "sub_code": "identical", "margin": 9.0, "drift": -9.0},
    {"pair_id": "m", "reasons": ["non_positive_margin", "length_bias"], "margin": -0.5, "length_ratio": 2.0,
     "longer_side": "rejected", "chosen_token_count": 10, "rejected_token_count": 20},
    {"pair_id": "l", "reasons": ["length_bias"], "length_ratio": 4.0, "longer_side": "chosen",
     "chosen_token_count": 40, "rejected_token_count": 10, "margin": 0.25},
    # the trap: margins of 3 and 4, drifts of -1 and -2
    {"pair_id": "t1", "reasons": ["logp_collapse"], "margin": 3.0, "drift": -1.0, "rpo_loss": 2.0,
     "policy_logp_chosen": -42.0, "ref_logp_chosen": -22.0, "policy_logp_rejected": -77.0, "ref_logp_rejected": -27.0},
    {"pair_id": "t2", "reasons": ["logp_collapse"], "margin": 4.0, "drift": -2.0, "rpo_loss": 2.5,
     "policy_logp_chosen": -62.0, "ref_logp_chosen": -22.0, "policy_logp_rejected": -107.0, "ref_logp_rejected": -27.0},
    {"pair_id": "d", "reasons": ["duplicate"], "duplicate_of_prompt": "a0", "margin": 1.5},
    {"pair_id": "h1", "state": "held", "origin": "synthetic", "judge_id": "self-judge", "held_check": "cohens_kappa",
     "reasons": ["logp_collapse"], "drift": -0.5},
    {"pair_id": "h2", "state": "held", "origin": "synthetic", "judge_id": None, "held_check": "no_judge", "reasons": []},
]
TEXTS = [(f"Prompt {n}", f"Answer {n}", f"Reply {n}") for n in range(len(ROWS))]
TEXTS[1] = ("Größe 100 %", "x_y", "ÜBER")


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("round")
    quarantine = pa.Table.from_pylist(
        [
            {"part": "pairs", "file": "pairs.jsonl", "line": 12, "field": "", "code": "broken_json", "expected": "JSON", "raw": "{"},
            {"part": "pairs", "file": "pairs.jsonl", "line": 3, "field": "pair_id", "code": "wrong_type", "expected": "text", "raw": "7"},
        ],
        schema=QUARANTINE,
    )
    pq.write_table(quarantine, folder / "quarantine.parquet")
    with RoundQueries(
        scored_path=write_scored(folder, ROWS), text_path=write_texts(folder, TEXTS), quarantine_path=folder / "quarantine.parquet",
    ) as answers:
        yield answers


@pytest.fixture(scope="module")
def plans(queries: RoundQueries):
    return queries.bin_plans(BOUNDS)


def ids(queries: RoundQueries, plans, chosen: PairFilter, sort: str = "input") -> list[str]:
    return queries.pair_page(chosen, plans, sort=sort)["pair_id"].to_pylist()


def test_every_row_ends_in_one_place(queries: RoundQueries) -> None:
    counts = queries.state_counts()
    assert counts == StateCounts(admitted=2, rejected=6, held=2, quarantined=2)
    assert counts.total == 12 == len(ROWS) + 2


def test_primary_reasons_sum_to_the_rejected_total_and_held_pairs_are_counted_apart(queries: RoundQueries) -> None:
    rows = {row["reason"]: row for row in queries.reason_counts().to_pylist()}
    assert tuple(rows) == REASONS
    # 1 + 0 + 1 + 1 + 2 + 1 = 6
    assert [rows[reason]["primary_pairs"] for reason in REASONS] == [1, 0, 1, 1, 2, 1]
    assert sum(row["primary_pairs"] for row in rows.values()) == queries.state_counts().rejected
    # "m" carries length_bias as a further reason: 1 primary, 2 in all; the held pair h1 is not among the rejected
    assert rows["length_bias"]["all_pairs"] == 2
    assert (rows["logp_collapse"]["all_pairs"], rows["logp_collapse"]["held_pairs"]) == (2, 1)


def test_what_is_wrong_with_invalid_records_and_why_pairs_are_held(queries: RoundQueries) -> None:
    assert queries.invalid_counts().to_pylist() == [{"sub_code": "identical", "pairs": 1}]
    assert queries.held_counts().to_pylist() == [
        {"judge_id": "self-judge", "held_check": "cohens_kappa", "pairs": 1}, {"judge_id": None, "held_check": "no_judge", "pairs": 1},
    ]
    assert queries.facets("held").to_pylist() == [
        {"origin": "synthetic", "judge_id": None, "pairs": 1}, {"origin": "synthetic", "judge_id": "self-judge", "pairs": 1},
    ]


def test_the_trap_is_computed_from_its_pairs(queries: RoundQueries) -> None:
    # margins 3 and 4: mean 3.5; drifts -1 and -2: mean -1.5; both answers fell in both pairs
    assert queries.trap() == Trap(pairs=2, mean_margin=3.5, mean_drift=-1.5, chosen_fell=2, both_fell=2)


def test_means_leave_out_invalid_records(queries: RoundQueries) -> None:
    rows = {row["state"]: row for row in queries.group_means().to_pylist()}
    assert rows["admitted"]["pairs"] == 2 and rows["admitted"]["mean_margin"] == 1.5
    # rejected without "same": margins -0.5 + 0.25 + 3 + 4 + 1.5 = 8.25 over 5
    assert rows["rejected"]["pairs"] == 5 and rows["rejected"]["mean_margin"] == 1.65
    # log2 of chosen : rejected: 1:2 -> -1, 4:1 -> 2, three of 1:1 -> 0; mean 1/5
    assert math.isclose(rows["rejected"]["mean_ratio_log2"], 0.2)


def test_nearest_figure_on_each_side_of_a_bound(queries: RoundQueries) -> None:
    near = queries.nearest()
    assert (near["margin_inside"], near["margin_outside"]) == (0.25, -0.5)
    assert (near["ratio_inside"], near["ratio_outside"]) == (1.0, 2.0)
    # inside: the admitted a0 (0.0); outside: the held h1 (-0.5) is nearer than t1 (-1)
    assert (near["drift_inside"], near["drift_outside"]) == (0.0, -0.5)


def test_a_page_is_filtered_by_state_reason_origin_and_judge(queries: RoundQueries, plans) -> None:
    assert ids(queries, plans, PairFilter(state="admitted"), "rank") == ["a0", "a1"]
    assert ids(queries, plans, PairFilter(state="rejected", reason="length_bias")) == ["l"]
    assert ids(queries, plans, PairFilter(state="rejected", reason="length_bias", any_reason=True)) == ["m", "l"]
    assert ids(queries, plans, PairFilter(origin="synthetic")) == ["h1", "h2"]
    assert ids(queries, plans, PairFilter(state="held", judge_id="self-judge")) == ["h1"]


@pytest.mark.parametrize(
    ("needle", "found"),
    [
        ("größe", ["a0"]), ("über", ["a0"]), ("reply 3", ["m"]), ("T1", ["t1"]),
        # a pattern character is itself, so nothing else matches
        ("100 %", ["a0"]), ("x_y", ["a0"]), ("%", ["a0"]), ("' or 1=1 --", []), ("nowhere", []),
    ],
)
def test_search_is_plain_text_in_ids_and_texts(queries: RoundQueries, plans, needle: str, found: list[str]) -> None:
    assert ids(queries, plans, PairFilter(search=needle)) == found


def test_sorting_is_total_and_puts_missing_figures_last(queries: RoundQueries, plans) -> None:
    drifts = ids(queries, plans, PairFilter(), "drift")
    # "same" has no figure that counts; equal drifts (0.1) go by pair id
    assert drifts == ["t2", "t1", "h1", "a0", "d", "h2", "l", "m", "a1", "same"]
    assert ids(queries, plans, PairFilter(), "drift-high") == ["a1", "d", "h2", "l", "m", "a0", "h1", "t1", "t2", "same"]
    assert ids(queries, plans, PairFilter(), "id") == sorted(row["pair_id"] for row in ROWS)
    for sort in SORTS:
        assert sorted(ids(queries, plans, PairFilter(), sort)) == sorted(row["pair_id"] for row in ROWS)


def test_a_range_narrows_the_list_and_leaves_out_pairs_without_the_figure(queries: RoundQueries, plans) -> None:
    plan = plans["drift"]
    below = BinRange("drift", None, -1)  # everything left of the bound, which is the edge of bin 0
    assert plan.edge(0) == -0.1
    assert ids(queries, plans, PairFilter(ranges=(below,)), "drift") == ["t2", "t1", "h1"]
    assert ids(queries, plans, PairFilter(state="rejected", ranges=(below, BinRange("margin", 0, None))), "drift") == ["t2", "t1"]


def test_a_pair_in_full_and_its_texts(queries: RoundQueries) -> None:
    (row,) = queries.pair("d")
    assert (row["duplicate_of_prompt"], row["shared_by"], row["ordinal"]) == ("a0", 1, 7)
    assert queries.pair_text(row["ordinal"])["chosen"] == "Answer 7"
    assert queries.pair("nobody") == [] and queries.pair_text(99) is None


def test_quarantined_rows_are_listed_in_place_order(queries: RoundQueries) -> None:
    rows = queries.quarantined().to_pylist()
    assert [(row["line"], row["total"]) for row in rows] == [(3, 2), (12, 2)]
    assert queries.quarantined(search="broken")["line"].to_pylist() == [12]


def test_rows_that_share_an_id_are_all_returned(tmp_path: Path) -> None:
    rows = [{"pair_id": "twin", "reasons": ["invalid_record"], "sub_code": "duplicate_pair_id"}] * 3 + [{"pair_id": "other"}]
    with RoundQueries(scored_path=write_scored(tmp_path, rows)) as queries:
        found = queries.pair("twin")
    assert [(row["ordinal"], row["shared_by"]) for row in found] == [(0, 3), (1, 3), (2, 3)]


def test_pages_cover_every_pair_once_and_know_the_total(tmp_path: Path) -> None:
    many = [{"pair_id": f"p{n:03d}", "drift": 0.5} for n in range(2 * PAGE_ROWS + 7)]
    with RoundQueries(scored_path=write_scored(tmp_path, many)) as queries:
        plans = queries.bin_plans(BOUNDS)
        pages = [queries.pair_page(PairFilter(), plans, sort="drift", page=page) for page in (1, 2, 3, 4)]
    assert [page.num_rows for page in pages] == [PAGE_ROWS, PAGE_ROWS, 7, 0]
    assert pages[0]["total"][0].as_py() == 2 * PAGE_ROWS + 7
    assert [pair for page in pages for pair in page["pair_id"].to_pylist()] == [row["pair_id"] for row in many]


def test_a_round_without_parts_answers_with_nothing() -> None:
    with RoundQueries() as queries:
        assert queries.state_counts().total == 0
        assert queries.bin_plans(BOUNDS) == {}
        assert queries.histograms({}).num_rows == 0
        assert queries.pair_page(PairFilter(), {}).num_rows == 0
        assert queries.trap() == Trap(0, None, None, 0, 0)
        assert queries.judge_cells().num_rows == queries.canaries().num_rows == 0
