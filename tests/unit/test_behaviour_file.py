"""``countersign behaviours``: typed strictly in three formats, every gap named, nothing subtracted across tests or judges."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support_strength import FIRST_GRID

from core.cli.main import run
from core.errors import GridError, RoundError
from core.gates.behaviour_file import About, claim_policy, read_about, read_behaviours
from core.grid import default_grid

ARGUMENTS = ("--served", "v1", "--candidate", "v2")


def rows_of(behaviour: str, gained: int, lost: int, kept: int, **more: Any) -> list[dict[str, Any]]:
    """Outcomes of v1 and v2: so many items gained, lost, and passed by both."""
    both = [(False, True)] * gained + [(True, False)] * lost + [(True, True)] * kept
    return [
        {"behaviour": behaviour, "version": version, "test_version": "t1", "item_id": f"i{place}", "passed": passed} | more
        for place, arms in enumerate(both) for version, passed in zip(("v1", "v2"), arms, strict=True)
    ]


def written(folder: Path, rows: list[Any], name: str = "behaviours.jsonl") -> Path:
    path = folder / name
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows), "utf-8")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def about_file(folder: Path, document: object) -> Path:
    path = folder / "about.json"
    path.write_text(json.dumps(document), "utf-8")
    return path


def document_of(capsys: pytest.CaptureFixture[str], *arguments: str | Path, code: int = 0) -> dict[str, Any]:
    assert run(["behaviours", *map(str, arguments), "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("name", ["behaviours.jsonl", "behaviours.json", "behaviours.parquet"])
def test_three_formats_say_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    # 9 gained, 1 lost: 2 (1 + 10) / 2^10 = 11/512 = .0215
    document = document_of(capsys, written(tmp_path, rows_of("maths", 9, 1, 90), name), *ARGUMENTS)
    (row,) = document["comparison"]["rows"]
    assert row["role"] == "primary" and row["p"]["exact"] == "11/512" and row["standing"] == "shown better"
    assert [gap["code"] for gap in row["claim"]["gaps"]] == ["contamination_unknown", "no_noise_band"] and not row["claim"]["proven"]
    assert document["comparison"]["sentence"].startswith("unproven: maths: v2 beats v1 by 8.0 points")
    assert [point["version"] for point in document["history"]["maths"]] == ["v1", "v2"]


def test_every_gap_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, rows_of("tone", 3, 0, 2, judge_id="j"))
    about = about_file(tmp_path, {"judges": {"j": {"agreed": 14, "cases": 20, "gave_reward": True}}, "contamination": {"tone": {"v2": 3}}})
    (row,) = document_of(capsys, path, *ARGUMENTS, "--about", about)["comparison"]["rows"]
    # 14 of 20 is .7, under the grid's .85; five items cannot reach .05
    assert [gap["code"] for gap in row["claim"]["gaps"]] == [
        "too_few_items", "judge_agreement_low", "reward_was_the_judge", "contamination", "no_noise_band",
    ]
    (row,) = document_of(capsys, path, *ARGUMENTS)["comparison"]["rows"]
    assert "judge_unmeasured" in [gap["code"] for gap in row["claim"]["gaps"]]


def test_repeated_runs_and_a_clean_record_prove_a_claim(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # 40 items, 30 gained in both runs; one more is gained in the second run only, so that the runs differ and have a band
    rows = rows_of("maths", 30, 0, 10, run=0) + rows_of("maths", 30, 0, 10, run=1)
    rows[30 * 2 + 1]["passed"] = False
    about = about_file(tmp_path, {"contamination": {"maths": {"v1": 0, "v2": 0}}})
    (row,) = document_of(capsys, written(tmp_path, rows), *ARGUMENTS, "--about", about)["comparison"]["rows"]
    # v2: 39/40 and 40/40, variance 2 (1/80)^2 / 1 = 1/3200; both runs of v1 are the same and count once, so t has 1 degree of freedom:
    # 12.7062 sqrt(1/3200) sqrt(1/1 + 1/2) = .2751
    assert row["claim"]["comparison"]["band"]["band"] == pytest.approx(12.7062 * (1 / 3200 * 1.5) ** 0.5, rel=1e-5)
    assert row["claim"]["proven"] and row["claim"]["state"] == "beats" and row["claim"]["gaps"] == []


def test_another_test_or_judge_is_not_comparable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of("maths", 9, 1, 90)
    for row in rows:
        if row["version"] == "v2":
            row |= {"test_version": "t2", "judge_id": "j"}
    (row,) = document_of(capsys, written(tmp_path, rows), *ARGUMENTS)["comparison"]["rows"]
    assert row["claim"]["state"] == "not comparable" and row["claim"]["comparison"] is None and row["p"] is None
    assert [mismatch["code"] for mismatch in row["claim"]["mismatches"]] == ["different_test_version", "different_grader"]


def test_what_is_guarded_is_corrected_and_what_fell_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of("maths", 9, 1, 90) + rows_of("tone", 0, 7, 20) + rows_of("code", 0, 6, 20)
    document = document_of(capsys, written(tmp_path, rows), *ARGUMENTS, "--primary", "maths", "--guard", "tone", "--guard", "code")
    by_name = {row["claim"]["behaviour"]: row for row in document["comparison"]["rows"]}
    # raw 2/2^7 = 1/64 and 2/2^6 = 1/32; Holm: 2/64 = 1/32, and max(1/32, 1/32)
    assert {name: by_name[name]["adjusted"]["exact"] for name in ("tone", "code")} == {"tone": "1/32", "code": "1/32"}
    assert by_name["maths"]["adjusted"] is None
    assert document["comparison"]["regressed"] == ["code", "tone"] and "2 other behaviours fell" in document["comparison"]["sentence"]


def test_the_text_says_that_nothing_is_promoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, rows_of("maths", 9, 1, 90))
    assert run(["behaviours", str(path), *ARGUMENTS]) == 0
    said = capsys.readouterr().out
    assert said.startswith("unproven: maths: v2 beats v1 by 8.0 points; n = 100")
    assert "91 of 100, 91 %" in said and "99 of 100, 99 %" in said and "not looked for" in said
    assert "promotion of a version goes through a round's gates and a second person's signature, never around them." in said


@pytest.mark.parametrize(("change", "code", "line"), [
    ({"passed": 1}, "wrong_type", 2), ({"passed": "true"}, "wrong_type", 2), ({"run": 0.0}, "wrong_type", 2), ({"behaviour": ""}, "wrong_type", 2),
])
def test_a_row_that_cannot_be_typed_refuses_the_file(tmp_path: Path, change: dict[str, Any], code: str, line: int) -> None:
    rows = rows_of("maths", 1, 0, 1)
    rows[1] |= change
    with pytest.raises(RoundError) as caught:
        read_behaviours(written(tmp_path, rows), About())
    assert caught.value.where is not None and (caught.value.where.line, caught.value.where.field) == (line, next(iter(change)))


def test_null_is_not_graded_and_a_missing_key_is_refused(tmp_path: Path) -> None:
    rows = rows_of("maths", 1, 0, 1)
    rows[0]["passed"] = None
    first = read_behaviours(written(tmp_path, rows), About()).measurements[0]
    assert (first.graded.numerator, first.graded.denominator) == (1, 2)
    del rows[0]["passed"]
    with pytest.raises(RoundError):
        read_behaviours(written(tmp_path, rows), About())


def test_two_outcomes_of_one_run_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RoundError) as caught:
        read_behaviours(written(tmp_path, rows_of("maths", 1, 0, 0) * 2), About())
    assert caught.value.code == "duplicate_outcome"


@pytest.mark.parametrize(("rows", "name", "code"), [([], "behaviours.jsonl", "no_behaviours"), ([1], "behaviours.csv", "unknown_form")])
def test_an_empty_file_or_another_form_is_refused(tmp_path: Path, rows: list[Any], name: str, code: str) -> None:
    with pytest.raises(RoundError) as caught:
        read_behaviours(written(tmp_path, rows, name), About())
    assert caught.value.code == code


@pytest.mark.parametrize(("document", "code", "place"), [
    ({"judge": {}}, "unknown_key", "judge"), ({"judges": {"j": {"agreed": 5, "cases": 4}}}, "not_a_share", "judges.j.agreed"),
    ({"judges": {"j": {"agreed": 0, "cases": 0}}}, "not_a_share", "judges.j.agreed"),
    ({"judges": {"j": {"agreed": 1}}}, "missing_field", "judges.j.cases"),
    ({"judges": {"j": {"gave_reward": "no"}}}, "wrong_type", "judges.j.gave_reward"),
    ({"contamination": {"maths": {"v2": -1}}}, "invalid_count", "contamination.maths.v2"),
    ({"contamination": {"maths": 3}}, "wrong_type", "contamination.maths"), ([], "wrong_type", None),
])
def test_the_document_about_it_is_strict(tmp_path: Path, document: object, code: str, place: str | None) -> None:
    with pytest.raises(RoundError) as caught:
        read_about(about_file(tmp_path, document))
    assert caught.value.code == code and caught.value.where is not None and caught.value.where.field == place


@pytest.mark.parametrize(("arguments", "code"), [
    (("--served", "v9", "--candidate", "v2"), "unknown_version"), ((*ARGUMENTS, "--primary", "mathss"), "unknown_behaviour"),
    ((*ARGUMENTS, "--primary", "maths", "--guard", "x"), "unknown_behaviour"), (ARGUMENTS, "no_primary"),
])
def test_names_that_the_file_does_not_have(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: str) -> None:
    path = written(tmp_path, rows_of("maths", 1, 0, 1) + rows_of("tone", 1, 0, 1))
    assert document_of(capsys, path, *arguments, code=4)["error"] == code


def test_levels_come_from_the_grid() -> None:
    policy = claim_policy(default_grid())
    assert (str(policy.alpha), str(policy.power), str(policy.min_agreement), policy.reducer) == ("1/20", "4/5", "17/20", "majority")
    with pytest.raises(GridError):
        claim_policy(FIRST_GRID)
