"""What a proposer has to declare is told at once, each refusal names the option that mends it, and a log-prob may lie inside a column."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support_formats import column, extras, folder, read, refused
from support_rounds import NOW, nothing_written, workspace_at

from core.errors import RoundError
from core.rounds.ingest import ingest
from core.rounds.strict import nearest

ROW = {"prompt": "Say hi.", "chosen": "Hi.", "rejected": "No."}


def test_all_that_the_first_row_lacks_is_told_at_once(tmp_path: Path) -> None:
    error = refused(tmp_path, "a.jsonl", [ROW | {"ref_chosen_logps": -1.0}], "trl", ids="", origin="")
    assert error.code == "missing_ids"
    assert error.remedy == (
        "declare column.pair_id=NAME, or ids=line to number them by line; and origin=verified or origin=synthetic (with judge=ID); "
        "and logps=sums if each is the sum over the completion's tokens"
    )


def test_all_options_that_a_format_needs_are_told_at_once(tmp_path: Path) -> None:
    rows = [{"key": 1, "ok": True}]
    error = refused(tmp_path / "a", "a.jsonl", rows, "mapped-outcomes", ids="", origin="")
    assert (error.code, error.remedy) == (
        "missing_option", "declare --option arm=baseline|candidate --option column.id=VALUE --option column.passed=VALUE")
    error = refused(tmp_path / "b", "a.jsonl", rows, "mapped-outcomes", ids="", origin="", arm="baseline", column__id="key", column__passed="ok")
    assert (error.code, error.remedy) == ("integer_id", "declare --option integer_ids=text, or write the ids as text; nothing was written")
    twice = [{"key": "k", "ok": True}] * 2
    error = refused(tmp_path / "c", "a.jsonl", twice, "mapped-sanity", ids="", origin="", column__id="key", column__passed="ok")
    assert error.code == "duplicate_row" and error.remedy.startswith("declare --option where=PLACE=TEXT")


def test_formats_that_both_fit_are_named_as_they_are_declared(tmp_path: Path) -> None:
    error = refused(tmp_path, "a.jsonl", [ROW | {"system": "Be brief."}])
    assert (error.code, error.remedy) == ("ambiguous_format", "name the one that it is: --format trl or --format axolotl:chatml.prompt_pairs")


def test_a_name_in_other_case_is_the_nearest() -> None:
    assert (nearest("TRL", ["trl", "distilabel"]), nearest("OpenAI", ["argilla", "openai"])) == ("trl", "openai")


def test_a_csv_without_a_name_for_a_column_says_which(tmp_path: Path) -> None:
    error = refused(tmp_path, "a.csv", b",prompt,chosen,rejected\n0,a,b,c\n", "csv", column__prompt="prompt")
    assert (error.code, error.got) == ("missing_header", "no name for column 1 of 4") and "index=False" in error.remedy


@pytest.mark.parametrize(("name", "data"), [("a.jsonl", b""), ("a.jsonl", b"\n\n"), ("a.json", b"[]"), ("a.csv", b"prompt,chosen,rejected\n")])
def test_a_file_without_rows_is_no_round(tmp_path: Path, name: str, data: bytes) -> None:
    options = {f"column__{side}": side for side in ROW} if name == "a.csv" else {}
    assert refused(tmp_path, name, data, "csv" if options else "trl", **options).code == "no_rows"


def test_a_declared_file_without_rows_beside_one_with_rows_is_refused(tmp_path: Path) -> None:
    options = {"ids": "line", "origin": "verified"}
    declared = {"pairs": [{"file": name, "format": "trl", "options": options} for name in ("a.jsonl", "b.jsonl")]}
    with pytest.raises(RoundError) as caught:
        ingest(folder(tmp_path / "r", declared, {"a.jsonl": [ROW], "b.jsonl": b""}), workspace_at(tmp_path), now=NOW)
    assert (caught.value.code, caught.value.where and caught.value.where.file) == ("no_rows", "b.jsonl")
    assert nothing_written(tmp_path)


# places inside a column


def logged(chosen: float, rejected: float) -> dict[str, Any]:
    return {"policies": {"rpo-60": {"logp_chosen": chosen, "logp_rejected": rejected}}}


INSIDE = {"column__policy_logp_chosen": "policies.rpo-60.logp_chosen", "column__policy_logp_rejected": "policies.rpo-60.logp_rejected"}


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.parquet"])
def test_log_probs_inside_a_column_are_mapped_and_stay_where_they_were(tmp_path: Path, name: str) -> None:
    rows = [ROW | logged(-20.5, -30.25), ROW | {"prompt": "Say no."} | logged(-1.5, -2.0)]
    source, report = read(tmp_path, name, rows, "trl", logps="sums", **INSIDE)
    assert report.counts == {"pairs": 2}
    assert (column(source, "policy_logp_chosen"), column(source, "policy_logp_rejected")) == ([-20.5, -1.5], [-30.25, -2.0])
    assert extras(source) == [logged(-20.5, -30.25), logged(-1.5, -2.0)]


def test_a_place_without_a_value_is_a_missing_log_prob_and_one_that_no_row_has_is_refused(tmp_path: Path) -> None:
    source, _ = read(tmp_path / "a", "a.jsonl", [ROW | logged(-1.0, -2.0), ROW | {"prompt": "x", "policies": {}}], "trl", logps="sums", **INSIDE)
    assert column(source, "policy_logp_chosen") == [-1.0, None]
    other = {"column__policy_logp_chosen": "policies.rpo-6.logp_chosen"}
    error = refused(tmp_path / "b", "a.jsonl", [ROW | logged(-1.0, -2.0)], "trl", logps="sums", **other)
    assert error.code == "no_such_column"


def test_log_probs_inside_a_column_are_declared_like_any_other(tmp_path: Path) -> None:
    assert refused(tmp_path / "a", "a.jsonl", [ROW | logged(-1.0, -2.0)], "trl", **INSIDE).code == "undeclared_logps"
    kind = pa.struct([("rpo", pa.struct([("logp_chosen", pa.float32())]))])
    table = pa.table({name: [text] for name, text in ROW.items()} | {"policies": pa.array([{"rpo": {"logp_chosen": -1.5}}], kind)})
    error = refused(tmp_path / "b", "a.parquet", table, "trl", logps="sums", column__policy_logp_chosen="policies.rpo.logp_chosen")
    assert error.code == "float_column"


@pytest.mark.parametrize("theirs", ["policy_mean_chosen_logps", "logs.avg_logp", "average"])
def test_an_average_is_not_mapped_to_a_sum(tmp_path: Path, theirs: str) -> None:
    """Under our name nobody would see that it is one: -0.07 a token would be taken for the sum of 240."""
    row = ROW | {"policy_mean_chosen_logps": -0.5, "logs": {"avg_logp": -0.5}, "average": -0.5}
    assert refused(tmp_path, "a.jsonl", [row], "trl", logps="sums", column__policy_logp_chosen=theirs).code == "averaged_logps"
