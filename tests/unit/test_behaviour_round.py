"""The part ``behaviours`` of a round: how it is read, what it leaves alone, and what is said of baseline and candidate."""
from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support_rounds import NOW, ROUND, folder_of, ingested
from support_strength import FIRST_GRID

from core.cli.main import run
from core.errors import RoundError
from core.gates.behaviour_round import NOT_SUPPLIED, BehaviourReport, behaviour_report
from core.gates.behaviours import ClaimState
from core.grid import default_grid
from core.rounds.folder import Round
from core.rounds.form import check_form
from core.rounds.ingest import ingest
from core.rounds.inspection import extra_columns
from core.rounds.manifest import ADDITIONS, RoundManifest, schema_version_of
from core.rounds.notes import round_notes
from core.rounds.workspace import Workspace
from core.statistics.verdict import Standing

DATA = Path(__file__).parents[2] / "data"
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
    """Version 1 has none of them; ratings came with 2, sources with 3, behaviours with 4, rollouts with 5, a training cut-off with 6,
    remarks of readers with 7."""
    assert ADDITIONS == ("ratings", "sources", "behaviours", "rollouts", "training_cutoff", "reading_notes")
    found = [schema_version_of(has) for has in (
        (), ("pairs", "holdout"), ("ratings",), ("sources",), ("ratings", "sources"), ("behaviours",), ("ratings", "behaviours", "sources"),
        ("rollouts",), ("training_cutoff",), ("behaviours", "training_cutoff"), ("sources", "reading_notes"),
    )]
    assert found == [1, 1, 2, 3, 3, 4, 4, 5, 6, 6, 7]
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


# what is said of it


def report(source: Round, **options: Any) -> BehaviourReport:
    found = behaviour_report(source, default_grid(), **options)
    assert found.value is not None
    return found.value


def test_baseline_and_candidate_are_compared_and_all_are_corrected(tmp_path: Path) -> None:
    """Three behaviours: 9 gained and 1 lost, 2 * 11/1024 = 11/512; 0 and 7, 2/128 = 1/64; 6 and 0, 2/64 = 1/32. Holm over the three,
    smallest first: 3/64, then 2 * 11/512 = 11/256 but no less than 3/64, then 1/32 but no less than 3/64: all 3/64."""
    source = measured(tmp_path, outcomes(9, 1, 90) + outcomes(0, 7, 20, "tone") + outcomes(6, 0, 20, "code"))
    found = report(source).comparison
    assert (found.served, found.candidate) == ("v1", "v2")
    rows = {row.claim.behaviour: row for row in found.rows}
    alone = {name: row.p.fraction for name, row in rows.items() if row.p}
    assert alone == {"maths": Fraction(11, 512), "tone": Fraction(1, 64), "code": Fraction(1, 32)}
    assert {row.adjusted for row in found.rows} == {Fraction(3, 64)} and {row.role for row in found.rows} == {"guarded"}
    assert {name: row.standing for name, row in rows.items()} == {
        "maths": Standing.BETTER, "tone": Standing.WORSE, "code": Standing.BETTER,
    }
    assert found.sentence == "v2 against v1 on 3 behaviours: shown better on 2, shown worse on 1; proven on 0" and found.regressed == ("tone",)
    assert all(row.sentence == row.claim.sentence for row in found.rows)


def test_what_the_correction_takes_away_is_a_gap_and_is_said(tmp_path: Path) -> None:
    """1/32 alone reaches .05; with one that says nothing (p = 1) beside it Holm makes it 1/16 = .0625."""
    source = measured(tmp_path, outcomes(6, 0, 20) + outcomes(0, 0, 20, "tone"))
    found = report(source).comparison
    (row,) = [row for row in found.rows if row.claim.behaviour == "maths"]
    assert row.claim.state is ClaimState.BEATS and (row.adjusted, row.standing) == (Fraction(1, 16), Standing.NOT_SHOWN)
    assert row.sentence.startswith("unproven: maths: v2 beats v1 by 23.1 points; n = 26; ")
    assert row.sentence.endswith("; graded by a program; corrected for the other behaviours (Holm) p = .0625: not shown")
    # named beforehand it is tested as it is, and the rest is explored
    named = report(source, primary="maths").comparison
    assert [(row.role, row.standing) for row in named.rows] == [("primary", Standing.BETTER), ("explored", Standing.NOT_SHOWN)]
    assert named.sentence.startswith("unproven: maths: v2 beats v1")


def test_the_rounds_own_records_measure_the_judge_and_its_rows_the_rest(tmp_path: Path) -> None:
    """14 of 20 usable records agree (.7, under the grid's .85); 2 items were found in the data of v2, none of v1's; it gave the reward."""
    records = [
        {"judge_id": "j", "case_id": f"c{n}", "rubric_approved": n < 14, "verifier_passed": None if n == 20 else True} for n in range(21)
    ]
    rows = outcomes(9, 1, 90, judge_id="j", contaminated=False)
    for row in rows:
        if row["version"] == "v2":
            row |= {"gave_reward": True, "contaminated": row["item_id"] in ("i000", "i001")}
    (row,) = report(measured(tmp_path, rows, {"judge_records": records})).comparison.rows
    assert [gap.code for gap in row.claim.gaps] == ["judge_agreement_low", "reward_was_the_judge", "contamination", "no_noise_band"]
    assert "the judge is right in 14 of 20, 70 % (85 % asked)" in row.sentence and "2 test items found in the training data of v2" in row.sentence
    # without records nobody has measured it
    (row,) = report(measured(tmp_path / "bare", rows)).comparison.rows
    assert row.claim.gaps[0].code == "judge_unmeasured" and not row.proven


def test_items_that_nobody_looked_for_leave_contamination_unknown_until_one_is_found(tmp_path: Path) -> None:
    def codes(place: str, marks: tuple[bool | None, bool | None]) -> list[str]:
        rows = outcomes(10, 0, 0, contaminated=False)
        for row, mark in zip([row for row in rows if row["version"] == "v2"], marks, strict=False):
            row["contaminated"] = mark
        (found,) = report(measured(tmp_path / place, rows)).comparison.rows
        return [gap.code for gap in found.claim.gaps if gap.code.startswith("contamination")]

    assert codes("all", (False, False)) == [] and codes("some", (None, False)) == ["contamination_unknown"]
    assert codes("found", (None, True)) == ["contamination"]


def test_a_claim_without_gaps_is_proven(tmp_path: Path) -> None:
    """Two runs that differ once give a band; nothing was found, a program graded, and the gain is large."""
    rows = outcomes(30, 0, 10, run=0, contaminated=False) + outcomes(30, 0, 10, run=1, contaminated=False)
    rows[30 * 2 + 1]["passed"] = False
    found = report(measured(tmp_path, rows)).comparison
    assert found.rows[0].proven and found.sentence == "v2 against v1 on 1 behaviour: shown better on 1; proven on 1"


def test_a_candidate_that_nobody_measured_has_no_figures(tmp_path: Path) -> None:
    source = measured(tmp_path, [outcome(0, "v1", True), outcome(0, "v0", False)])
    found = report(source).comparison
    assert [row.claim.state for row in found.rows] == [ClaimState.NOT_MEASURED]
    assert found.sentence == "v2 against v1 on 1 behaviour: not compared on 1; proven on 0"
    assert found.rows[0].sentence == "maths: v2 was not measured; nothing to compare"
    # any two versions of the round may be asked for
    assert report(source, served="v0", candidate="v1").comparison.rows[0].claim.gain == 1
    for option, value, code in (("served", "v9", "unknown_version"), ("primary", "math", "unknown_behaviour")):
        with pytest.raises(RoundError) as caught:
            report(source, **{option: value})
        assert caught.value.code == code


def test_nothing_is_said_without_the_part_or_without_levels(tmp_path: Path) -> None:
    plain, _ = ingested(tmp_path / "plain", folder_of(tmp_path / "plain" / "input", {"sanity": [{"id": "s", "passed": True}]}))
    assert behaviour_report(plain, default_grid()).reason == NOT_SUPPLIED
    found = behaviour_report(measured(tmp_path, outcomes(9, 1, 90)), FIRST_GRID)
    assert found.value is None and "evidence_confidence" in str(found.reason)


# command line, and real data


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    workspace = Workspace.open(tmp_path_factory.mktemp("real") / "workspace", create=True)
    for name in ("smollm2-rpo", "worked-example"):
        ingest(DATA / "rounds" / name, workspace, now=NOW)
    return workspace


def call(place: Workspace, capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(["behaviours", *arguments, "--workspace", str(place.root)]) == code
    return capsys.readouterr().out


def test_the_command_reads_a_round(real: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    """45 of 120 answers of ref end by themselves, 95 of rpo-60: counted in the source file. None is proven: one run, nobody looked."""
    document = json.loads(call(real, capsys, "smollm2-rpo", "--json"))
    assert document["comparison"]["sentence"] == "rpo-60 against ref on 8 behaviours: shown better on 1, not shown on 7; proven on 0"
    points = document["history"]["ends its answer"]
    assert [(point["version"], point["estimate"]["rate"]["numerator"], point["items"]) for point in points] == [
        ("ref", 45, 120), ("rpo-20", 101, 120), ("rpo-40", 95, 120), ("rpo-60", 95, 120), ("dpo-only-60", 111, 120),
    ]
    rows = {row["claim"]["behaviour"]: row for row in document["comparison"]["rows"]}
    (gap,) = [gap for gap in rows["convinces itself"]["claim"]["gaps"] if gap["code"] == "judge_agreement_low"]
    assert gap["text"] == "the judge is right in 180 of 360, 50 % (85 % asked)"
    said = call(real, capsys, "smollm2-rpo")
    assert said.startswith("rpo-60 against ref on 8 behaviours") and "never around them" in said
    assert "rpo-60 trails ref by 1.7 points; n = 120; exact p = .7744 does not reach .05" in said
    other = json.loads(call(real, capsys, "smollm2-rpo", "--served", "rpo-60", "--candidate", "dpo-only-60", "--json"))
    assert (other["comparison"]["served"], other["comparison"]["candidate"]) == ("rpo-60", "dpo-only-60")


def test_the_command_says_what_is_missing(real: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(real, capsys, "worked-example") == f"No behaviours: {NOT_SUPPLIED}.\n"
    assert json.loads(call(real, capsys, "worked-example", "--json"))["undefined"] == NOT_SUPPLIED
    about = tmp_path / "about.json"
    about.write_text("{}")
    call(real, capsys, "smollm2-rpo", "--about", str(about), code=2)
    file = tmp_path / "behaviours.jsonl"
    file.write_text(json.dumps(outcome(0, "v1", True)) + "\n")
    call(real, capsys, str(file), code=2)
    call(real, capsys, "no-such-round", code=4)
