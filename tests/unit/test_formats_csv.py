"""Plain CSV: every column mapped by the proposer, every cell text unless a coercion is declared."""
from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from support_formats import column, extras, note, quarantine, read, refused, texts

MAPPED = {
    "column__pair_id": "id", "column__prompt": "question", "column__chosen": "good", "column__rejected": "bad", "ids": "",
}
HEADER = ["id", "question", "good", "bad"]


def table(*rows: list[str], more: list[str] | None = None) -> bytes:
    out = io.StringIO()
    csv.writer(out).writerows([[*HEADER, *(more or [])], *rows])
    return out.getvalue().encode()


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.csv.zst"])
def test_mapped_columns_and_their_texts(tmp_path: Path, name: str) -> None:
    rows = [["007", "2024-01-05", "Yes,\nindeed", "No"], ["1e3", "true", " a ", ""]]
    source, report = read(tmp_path, name, table(*rows), **MAPPED)
    assert column(source, "pair_id") == ["007", "1e3"]
    assert texts(source) == [
        {"prompt": "2024-01-05", "chosen": "Yes,\nindeed", "rejected": "No"}, {"prompt": "true", "chosen": " a ", "rejected": ""},
    ]
    assert column(source, "line") == [2, 4]
    assert "was read as csv: the file is CSV; its columns have to be mapped" in note(report, "foreign_format")


NUMBERS = ["pc", "rc", "nc", "ok"]
ALL = MAPPED | {
    "column__policy_logp_chosen": "pc", "column__ref_logp_chosen": "rc", "column__chosen_token_count": "nc", "column__chosen_verified_pass": "ok",
    "logps": "sums",
}


def test_numbers_flags_and_nulls_only_where_declared(tmp_path: Path) -> None:
    row = ["p", "q", "g", "b", "-4.2", "", "10", "1"]
    data = table(row, more=NUMBERS)
    source, _ = read(tmp_path / "text", "a.csv", data, **ALL)
    assert quarantine(source) == [("a.csv", 2, "policy_logp_chosen", "wrong_type")]
    source, report = read(tmp_path / "read", "a.csv", data, numbers="json", empty="null", booleans="0/1", **ALL)
    assert (column(source, "policy_logp_chosen"), column(source, "ref_logp_chosen")) == ([-4.2], [None])
    assert (column(source, "chosen_token_count"), column(source, "chosen_verified_pass")) == ([10], [True])
    assert source.manifest.sources["pairs"][0].options["numbers"] == "json"
    assert "coerced_flags" in [item.code for item in report.notes]


@pytest.mark.parametrize(("cell", "code"), [
    ("", "wrong_type"), ("n/a", "wrong_type"), ("NaN", "wrong_type"), ("1,5", "wrong_type"), (" -4.2", "wrong_type"), ("true", "wrong_type"),
    ("-04.2", "not_json"), ("1e999", "number_out_of_range"), ("+1", "not_json"), (".5", "not_json"), ("9007199254740993", "integer_out_of_range"),
])
def test_a_cell_that_is_no_json_number_quarantines_its_row(tmp_path: Path, cell: str, code: str) -> None:
    good = ["p", "q", "g", "b", "-4.2", "-4", "10", "true"]
    data = table(good, [*good[:4], cell, *good[5:]], more=NUMBERS)
    source, _ = read(tmp_path, "a.csv", data, numbers="json", booleans="true/false", **ALL)
    assert quarantine(source) == [("a.csv", 3, "policy_logp_chosen", code)]


def test_a_token_count_with_a_point_is_no_integer(tmp_path: Path) -> None:
    data = table(["p", "q", "g", "b", "-4.2", "-4", "10.0", "true"], more=NUMBERS)
    source, _ = read(tmp_path, "a.csv", data, numbers="json", booleans="true/false", **ALL)
    assert quarantine(source) == [("a.csv", 2, "chosen_token_count", "bad_token_count")]


def test_columns_that_are_not_mapped_are_kept(tmp_path: Path) -> None:
    source, _ = read(tmp_path, "a.csv", table(["p", "q", "g", "b", "x"], more=["note"]), **MAPPED)
    assert extras(source) == [{"note": "x"}]


@pytest.mark.parametrize(("options", "code"), [
    ({"column__rejected": "worse"}, "no_such_column"), ({"column__pair": "id"}, "unknown_column"), ({"origin": ""}, "missing_origin"),
])
def test_a_mapping_that_does_not_fit_is_refused(tmp_path: Path, options: dict[str, Any], code: str) -> None:
    assert refused(tmp_path, "a.csv", table(["p", "q", "g", "b"]), **{**MAPPED, **options}).code == code


def test_a_column_under_our_name_has_to_be_mapped_too(tmp_path: Path) -> None:
    data = b"pair_id,prompt,chosen,rejected\np,q,g,b\n"
    names = ("pair_id", "prompt", "chosen", "rejected")
    assert refused(tmp_path / "auto", "a.csv", data, ids="").code == "unmapped_column"
    error = refused(tmp_path / "a", "a.csv", data, "csv", ids="")
    assert (error.code, error.where and error.where.field) == ("unmapped_column", "chosen")
    source, _ = read(tmp_path / "b", "a.csv", data, "csv", ids="", **{f"column__{name}": name for name in names})
    assert (column(source, "pair_id"), texts(source)) == (["p"], [{"prompt": "q", "chosen": "g", "rejected": "b"}])


def test_a_missing_side_quarantines_its_row(tmp_path: Path) -> None:
    mapped = {name: value for name, value in MAPPED.items() if name != "column__rejected"}
    source, report = read(tmp_path, "a.csv", table(["p", "q", "g", "b"]), **mapped)
    assert quarantine(source) == [("a.csv", 2, "rejected", "missing_field")]
    assert (report.counts["pairs"], report.quarantined) == (0, 1)
