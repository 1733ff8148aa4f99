"""The part ``behaviours`` of a round: how it is read, what it leaves alone, and what is said of baseline and candidate."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_rounds import ROUND, folder_of, ingested

from core.errors import RoundError
from core.rounds.folder import Round
from core.rounds.form import check_form
from core.rounds.inspection import extra_columns
from core.rounds.manifest import ADDITIONS, RoundManifest, schema_version_of
from core.rounds.notes import round_notes
from core.rounds.workspace import Workspace

MODELS = {"baseline": {"name": "v1", "digest": None}, "candidate": {"name": "v2", "digest": None}}


def outcome(item: int, version: str, passed: bool | None, behaviour: str = "maths", **more: Any) -> dict[str, Any]:
    return {"behaviour": behaviour, "version": version, "test_version": "t1", "item_id": f"i{item:03}", "passed": passed} | more


def outcomes(gained: int, lost: int, kept: int, behaviour: str = "maths", **more: Any) -> list[dict[str, Any]]:
    """Outcomes of v1 and v2: so many items gained, lost, and passed by both."""
    both = [(False, True)] * gained + [(True, False)] * lost + [(True, True)] * kept
    return [
        outcome(place, version, passed, behaviour, **more) for place, arms in enumerate(both)
        for version, passed in zip(("v1", "v2"), arms, strict=True)
    ]


def measured(place: Path, rows: list[Any], parts: dict[str, list[Any]] | None = None, **about: Any) -> Round:
    folder = folder_of(place / "input", {**(parts or {}), "behaviours": rows}, about={**ROUND, **MODELS, **about})
    return ingested(place, folder)[0]


# the part


def test_each_addition_raises_the_version_only_of_rounds_that_have_it(tmp_path: Path) -> None:
    """Version 1 has none of them; ratings came with 2, sources with 3, behaviours with 4."""
    assert ADDITIONS == ("ratings", "sources", "behaviours")
    found = [schema_version_of(parts, sources=sources) for parts, sources in (
        ((), False), (("ratings",), False), ((), True), (("ratings",), True), (("behaviours",), False), (("ratings", "behaviours"), True),
    )]
    assert found == [1, 2, 3, 3, 4, 4]
    source = measured(tmp_path, outcomes(1, 0, 1))
    assert source.manifest.document()["schema_version"] == 4 and source.manifest.parts == ("behaviours",)
    Workspace(source.path.parents[1]).round(source.digest).verify_files()
    check_form(source)
    for version in (1, 2, 3, 5):
        with pytest.raises(RoundError) as caught:
            RoundManifest.from_document(source.manifest.document() | {"schema_version": version})
        assert caught.value.code == "unknown_schema_version"
    # what a proposer states makes no difference to what is stored
    assert measured(tmp_path / "stated", outcomes(1, 0, 1), schema_version=4).digest == source.digest


def test_the_columns_are_kept_as_they_came(tmp_path: Path) -> None:
    rows = [outcome(0, "v1", None, run=2, judge_id="j", contaminated=False, gave_reward=True), outcome(1, "v1", True) | {"mood": "good"}]
    source = measured(tmp_path, rows)
    assert source.table("behaviours").drop_columns(["extra"]).to_pylist() == [
        {"behaviour": "maths", "version": "v1", "test_version": "t1", "item_id": "i000", "run": 2, "passed": None, "judge_id": "j",
         "contaminated": False, "gave_reward": True},
        {"behaviour": "maths", "version": "v1", "test_version": "t1", "item_id": "i001", "run": 0, "passed": True, "judge_id": None,
         "contaminated": None, "gave_reward": None},
    ]
    assert extra_columns(source) == {"behaviours": ["mood"]}


@pytest.mark.parametrize(("rows", "code"), [
    ([{"behaviour": "maths", "version": "v1", "item_id": "i", "passed": True}], "missing_field"),
    ([outcome(0, "v1", True) | {"passed": 1}], "wrong_type"), ([outcome(0, "v1", True) | {"version": ""}], "wrong_type"),
    ([outcome(0, "v1", True, contaminated="no")], "wrong_type"), ([outcome(0, "v1", True), outcome(0, "v1", False)], "conflicting_outcome"),
    ([outcome(0, "v1", True, contaminated=True), outcome(0, "v1", True)], "conflicting_outcome"),
])
def test_a_bad_row_refuses_the_ingest(tmp_path: Path, rows: list[Any], code: str) -> None:
    with pytest.raises(RoundError) as caught:
        measured(tmp_path, rows)
    assert caught.value.code == code and str(caught.value.where).startswith("behaviours.jsonl")


def test_a_repeat_counts_once_and_runs_and_graders_tell_rows_apart(tmp_path: Path) -> None:
    rows = [outcome(0, "v1", True), outcome(0, "v1", True), outcome(0, "v1", False, run=1), outcome(0, "v1", False, judge_id="j")]
    source, report = ingested(tmp_path, folder_of(tmp_path / "input", {"behaviours": rows}, about={**ROUND, **MODELS}))
    assert source.table("behaviours").num_rows == 3 and [note.code for note in report.notes if "repeat" in note.code] == ["repeated_behaviour"]


def test_versions_and_graders_that_the_round_does_not_know_are_warned_of(tmp_path: Path) -> None:
    record = {"judge_id": "j", "case_id": "c", "rubric_approved": True, "verifier_passed": True}
    rows = [outcome(0, "v1", True, judge_id="j"), outcome(0, "v3", True, judge_id="k")]
    said = {note.code: note.text for note in round_notes(measured(tmp_path, rows, {"judge_records": [record]}))}
    assert "'v2'" in said["version_not_measured"] and "'v1'" not in said["version_not_measured"]
    assert "'k'" in said["grader_without_records"] and "'j'" not in said["grader_without_records"]


def test_a_folder_with_one_outcome_twice_is_not_as_ingested(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = measured(tmp_path, outcomes(1, 0, 0))
    file = source.path / "behaviours.parquet"
    table = pq.read_table(file)
    file.unlink()
    pq.write_table(pa.concat_tables([table.slice(0, 1), table.slice(0, 1)]), file)
    with pytest.raises(RoundError) as caught:
        check_form(source)
    assert caught.value.code == "not_as_ingested"
