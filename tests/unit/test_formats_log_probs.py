"""Log-prob columns of foreign files: spellings, declared sums, averages refused or multiplied exactly."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support_formats import PUBLISHED, assistant, column, extras, quarantine, read, refused, texts, user

from core.gates.curation import IterativeRpoPairCurator
from core.grid import default_grid
from core.rounds.readers.log_probs import Spelling, spelling

ROW: dict[str, Any] = {"prompt": "Say hi.", "chosen": "Hi.", "rejected": "No."}
OURS = ("policy_logp_chosen", "ref_logp_chosen", "policy_logp_rejected", "ref_logp_rejected")


@pytest.mark.parametrize(("name", "expected"), [
    ("policy_chosen_logps", Spelling("policy_logp_chosen", False)), ("policy_rejected_logps", Spelling("policy_logp_rejected", False)),
    ("ref_chosen_logps", Spelling("ref_logp_chosen", False)), ("reference_rejected_logps", Spelling("ref_logp_rejected", False)),
    ("ref_logp_chosen", Spelling("ref_logp_chosen", False)), ("reference_logp_chosen", Spelling("ref_logp_chosen", False)),
    ("ref_chosen_logp", Spelling("ref_logp_chosen", False)),
    ("ref_mean_chosen_logps", Spelling("ref_logp_chosen", True)), ("policy_avg_rejected_logps", Spelling("policy_logp_rejected", True)),
    ("policy_chosen_logps_mean", Spelling("policy_logp_chosen", True)), ("reference_average_chosen_logps", Spelling("ref_logp_chosen", True)),
    ("logps/chosen", None), ("chosen_logps", None), ("fuse_chosen_logps", None), ("ref_chosen", None), ("Ref_chosen_logps", None),
    ("ref_chosen_logps ", None), ("policy_chosen_logits", None), ("ref_margin_chosen_logps", None),
])
def test_spellings(name: str, expected: Spelling | None) -> None:
    assert spelling(name) == expected


@pytest.mark.parametrize("reference", ["ref", "reference"])
def test_declared_sums_stand_under_our_names(tmp_path: Path, reference: str) -> None:
    row = ROW | {"policy_chosen_logps": -20.5, "policy_rejected_logps": -30, f"{reference}_chosen_logps": -22.25, f"{reference}_rejected_logps": None}
    source, _ = read(tmp_path, "a.jsonl", [row], logps="sums")
    assert [column(source, name) for name in OURS] == [[-20.5], [-22.25], [-30.0], [None]]
    assert extras(source) == [None]


@pytest.mark.parametrize("name", ["ref_chosen_logps", "reference_rejected_logps", "policy_logp_chosen", "ref_mean_chosen_logps"])
def test_log_probs_that_nobody_declared_refuse_the_file(tmp_path: Path, name: str) -> None:
    error = refused(tmp_path, "a.jsonl", [ROW | {name: -1.0}])
    assert (error.code, error.where and error.where.field) == ("undeclared_logps", name)


def test_log_probs_that_come_later_refuse_the_file_too(tmp_path: Path) -> None:
    error = refused(tmp_path / "a", "a.jsonl", [ROW, ROW, ROW | {"policy_logp_chosen": -1.0}])
    assert (error.code, str(error.where)) == ("undeclared_logps", "a.jsonl, line 3, field policy_logp_chosen")
    error = refused(tmp_path / "b", "a.jsonl", [ROW | {"ref_chosen_logps": -1.0}, ROW | {"ref_mean_chosen_logps": -1.0}], logps="sums")
    assert (error.code, error.where and error.where.line) == ("averaged_logps", 2)


def test_averages_are_no_sums(tmp_path: Path) -> None:
    error = refused(tmp_path, "a.jsonl", [ROW | {"ref_mean_chosen_logps": -0.5}], logps="sums")
    assert (error.code, error.where and error.where.field) == ("averaged_logps", "ref_mean_chosen_logps")


def test_an_average_beside_its_sum_is_kept_in_extra(tmp_path: Path) -> None:
    source, _ = read(tmp_path, "a.jsonl", [ROW | {"ref_chosen_logps": -10.0, "ref_mean_chosen_logps": -0.5}], logps="sums")
    assert (column(source, "ref_logp_chosen"), extras(source)) == ([-10.0], [{"ref_mean_chosen_logps": -0.5}])


def test_declared_products_are_exact(tmp_path: Path) -> None:
    """0.1 x 3 is 0.3 in decimals; in doubles 0.1 * 3 is 0.30000000000000004. 0.07 x 100 is 7, not 7.000000000000001."""
    row = ROW | {"policy_mean_chosen_logps": -0.1, "ref_mean_chosen_logps": None, "policy_mean_rejected_logps": -0.07,
                 "chosen_token_count": 3, "rejected_token_count": 100}
    source, _ = read(tmp_path, "a.jsonl", [row], logps="averages_times_tokens")
    assert (-0.1 * 3, -0.07 * 100) == (-0.30000000000000004, -7.000000000000001)
    assert [column(source, name) for name in OURS] == [[-0.3], [None], [-7.0], [None]]


@pytest.mark.parametrize(("change", "field", "code"), [
    ({"chosen_token_count": None}, "chosen_token_count", "bad_token_count"), ({"chosen_token_count": 0}, "chosen_token_count", "bad_token_count"),
    ({"chosen_token_count": 3.0}, "chosen_token_count", "bad_token_count"), ({"chosen_token_count": True}, "chosen_token_count", "bad_token_count"),
    ({"ref_mean_chosen_logps": "-0.1"}, "ref_mean_chosen_logps", "wrong_type"),
    ({"ref_mean_chosen_logps": True}, "ref_mean_chosen_logps", "wrong_type"),
])
def test_a_product_without_its_factors_quarantines_the_row(tmp_path: Path, change: dict[str, Any], field: str, code: str) -> None:
    row = ROW | {"ref_mean_chosen_logps": -0.1, "chosen_token_count": 3}
    source, _ = read(tmp_path, "a.jsonl", [row, row | change], logps="averages_times_tokens")
    assert quarantine(source) == [("a.jsonl", 2, field, code)]


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_case_4_a_log_prob_that_is_no_number_out_of_a_table_is_typed_and_invalid(tmp_path: Path, name: str, value: float) -> None:
    row = ROW | {"policy_chosen_logps": -1.0, "policy_rejected_logps": -2.0, "ref_chosen_logps": value, "ref_rejected_logps": -2.0,
                 "chosen_token_count": 1, "rejected_token_count": 1}
    source, report = read(tmp_path, name, [row], logps="sums", flags="dataset_label")
    assert (report.counts, report.quarantined) == ({"pairs": 1}, 0)
    found = IterativeRpoPairCurator(default_grid()).curate(source, quarantined=0, gates={}, destination=tmp_path)
    assert found.primary_reasons["invalid_record"] == 1
    assert pq.read_table(tmp_path / "scored.parquet")["sub_codes"].to_pylist() == [["non_finite_logp"]]
    averages = {"ref_mean_chosen_logps": value, "chosen_token_count": 3}
    source, _ = read(tmp_path / "mean", name, [ROW | averages], logps="averages_times_tokens")
    assert str(column(source, "ref_logp_chosen")[0]) == str(value)


@pytest.mark.parametrize("row", [
    {"policy_chosen_logps": -20.0}, {"policy_logp_chosen": -20.0}, {"policy_chosen_logps": -20.0, "ref_mean_chosen_logps": -1.0},
])
def test_columns_that_are_named_as_sums_are_no_declared_averages(tmp_path: Path, row: dict[str, Any]) -> None:
    """They would be left out, or taken for sums under our own name: neither is what was declared."""
    error = refused(tmp_path, "a.jsonl", [ROW | {"chosen_token_count": 20} | row], logps="averages_times_tokens")
    assert (error.code, error.where and error.where.field) == ("summed_logps", next(iter(row)))


def test_a_product_beyond_the_doubles_is_a_fault(tmp_path: Path) -> None:
    source, _ = read(tmp_path, "a.jsonl", [ROW | {"ref_mean_chosen_logps": -1e308, "chosen_token_count": 100}], logps="averages_times_tokens")
    assert quarantine(source) == [("a.jsonl", 1, "ref_mean_chosen_logps", "number_out_of_range")]


def test_one_quantity_in_two_spellings_is_a_fault(tmp_path: Path) -> None:
    source, _ = read(tmp_path, "a.jsonl", [ROW | {"ref_chosen_logps": -1.0, "reference_chosen_logps": -1.0}], logps="sums")
    assert [row[2:] for row in quarantine(source)] == [("reference_chosen_logps", "said_twice")]


def test_unused_log_probs_feed_no_gate(tmp_path: Path) -> None:
    row = ROW | {"ref_chosen_logps": -1.0, "policy_logp_chosen": -2.0, "policy_mean_chosen_logps": -0.5}
    source, _ = read(tmp_path, "a.jsonl", [row], logps="unused")
    assert [column(source, name) for name in OURS] == [[None]] * 4
    assert extras(source) == [{"ref_chosen_logps": -1.0, "unused_policy_logp_chosen": -2.0, "policy_mean_chosen_logps": -0.5}]


def test_the_published_record_with_log_probs(tmp_path: Path) -> None:
    """InfiFPO: reference sums and means of one pair; sum / mean is the token count, 241 and 252 (SOURCES)."""
    data = (PUBLISHED / "infifpo_record_with_logps.json").read_bytes()
    source, report = read(tmp_path, "infifpo.json", data, logps="sums")
    assert (report.counts, report.quarantined) == ({"pairs": 1}, 0)
    assert [column(source, name) for name in OURS] == [[None], [-16.809629440307617], [None], [-35.141197204589844]]
    (extra,) = extras(source)
    assert sorted(extra) == [
        "fuse_chosen_logps", "fuse_mean_chosen_logps", "fuse_mean_rejected_logps", "fuse_rejected_logps", "ref_mean_chosen_logps",
        "ref_mean_rejected_logps",
    ]
    assert len(extra["fuse_chosen_logps"]) == 3
    assert (round(-16.809629440307617 / extra["ref_mean_chosen_logps"]), round(-35.141197204589844 / extra["ref_mean_rejected_logps"])) == (241, 252)
    (pair,) = texts(source)
    assert len(pair["prompt"]) == len(pair["chosen"]) == len(pair["rejected"]) == 1
    assert pair["prompt"][0]["role"] == "user" and pair["prompt"][0]["content"].startswith("A batch of barley seeds")


def test_the_published_means_times_declared_counts_are_its_sums(tmp_path: Path) -> None:
    """The means are float32 in the file, so the product is its sum to about 1e-7 of its size."""
    row = {"chosen": [user("a"), assistant("b")], "rejected": [user("a"), assistant("c")], "ref_mean_chosen_logps": -0.06974949687719345,
           "ref_mean_rejected_logps": -0.13944919407367706, "chosen_token_count": 241, "rejected_token_count": 252}
    source, _ = read(tmp_path, "a.jsonl", [row], logps="averages_times_tokens")
    assert column(source, "ref_logp_chosen")[0] == pytest.approx(-16.809629440307617, rel=1e-6)
    assert column(source, "ref_logp_rejected")[0] == pytest.approx(-35.141197204589844, rel=1e-6)
