"""The part ``ratings``: how it is read, what it leaves alone, and what the raters' agreement is."""
from __future__ import annotations

import gzip
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support_demo import DATA
from support_judges import ABOUT, cells
from support_rounds import NOW, ORACLES, folder_of, ingested

from core.cli.main import run
from core.errors import RoundError
from core.gates import judge_words as words
from core.gates.judge_cases import cases_of, judge_figures
from core.gates.judge_parts import Part
from core.gates.judge_raters import RatersEvidence, raters_agreement
from core.rounds.folder import Round
from core.rounds.form import check_form
from core.rounds.ingest import ingest
from core.rounds.inspection import extra_columns
from core.rounds.manifest import RoundManifest
from core.rounds.notes import round_notes
from core.rounds.workspace import Workspace


def json_of(name: str) -> list[dict[str, Any]]:
    return json.loads(gzip.decompress((DATA / "sources" / name).read_bytes()))


def rated(place: Path, ratings: list[Any], records: list[dict[str, Any]] | None = None, **about: Any) -> Round:
    parts = {"judge_records": cells(4, 0, 1, 3) if records is None else records, "ratings": ratings}
    return ingested(place, folder_of(place / "input", parts, about={**ABOUT, **about}))[0]


def rating(case: int, rater: str, label: str) -> dict[str, str]:
    return {"case_id": f"case-{case:03}", "rater_id": rater, "label": label}


def by_rater(*rows: str) -> list[dict[str, str]]:
    """Labels of each rater, a character a case; a space = not rated."""
    return [rating(case, f"r{number}", label) for number, row in enumerate(rows) for case, label in enumerate(row) if label != " "]


def agreement(source: Round) -> Part[RatersEvidence]:
    return raters_agreement(source, cases_of(judge_figures(source), "one"))


# the part


def test_a_round_with_ratings_has_the_next_version_and_others_keep_theirs(tmp_path: Path) -> None:
    plain, _ = ingested(tmp_path / "plain", folder_of(tmp_path / "plain" / "input", {"judge_records": cells(4, 0, 1, 3)}, about=ABOUT))
    source = rated(tmp_path / "rated", by_rater("yy", "yn"))
    assert (plain.manifest.document()["schema_version"], source.manifest.document()["schema_version"]) == (1, 2)
    assert "ratings" not in plain.manifest.parts and source.manifest.parts == ("judge_records", "ratings")
    assert source.table("ratings").num_rows == 4 and plain.table("ratings").num_rows == 0
    # which of the two a proposer states makes no difference to what is stored
    stated = rated(tmp_path / "stated", by_rater("yy", "yn"), schema_version=2)
    assert stated.digest == source.digest
    for round_ in (plain, source):
        Workspace(round_.path.parents[1]).round(round_.digest).verify_files()
        check_form(round_)


@pytest.mark.parametrize(("ratings", "code"), [
    ([{"case_id": "case-000", "rater_id": "a"}], "missing_field"), ([{"case_id": "case-000", "rater_id": "a", "label": 7}], "wrong_type"),
    ([{"case_id": "", "rater_id": "a", "label": "y"}], "wrong_type"), ([rating(0, "a", "y"), rating(0, "a", "n")], "conflicting_rating"),
])
def test_bad_ratings_refuse_the_ingest(tmp_path: Path, ratings: list[Any], code: str) -> None:
    with pytest.raises(RoundError) as caught:
        rated(tmp_path, ratings)
    assert caught.value.code == code and str(caught.value.where).startswith("ratings.jsonl")


def test_a_repeated_rating_counts_once_and_is_noted(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "input", {"judge_records": cells(1, 0, 0, 1), "ratings": [rating(0, "a", "y")] * 2}, about=ABOUT)
    source, report = ingested(tmp_path, folder)
    assert source.table("ratings").num_rows == 1 and report.counts["ratings"] == 1
    assert [note.code for note in report.notes if note.code == "repeated_rating"] == ["repeated_rating"]


def test_ratings_of_cases_that_no_judge_has_are_noted(tmp_path: Path) -> None:
    source = rated(tmp_path, [rating(0, "a", "y"), rating(77, "a", "y")])
    (note,) = [note for note in round_notes(source) if note.code == "rating_without_case"]
    assert "'case-077'" in note.text and "case-000" not in note.text


def test_unknown_columns_of_ratings_are_kept_and_named(tmp_path: Path) -> None:
    assert extra_columns(rated(tmp_path, [rating(0, "a", "y") | {"mood": "good"}])) == {"ratings": ["mood"]}


def test_a_stored_version_that_does_not_fit_the_parts_is_refused(tmp_path: Path) -> None:
    document = rated(tmp_path, by_rater("y", "y")).manifest.document()
    for change in ({"schema_version": 1}, {"schema_version": 3}):
        with pytest.raises(RoundError) as caught:
            RoundManifest.from_document(document | change)
        assert caught.value.code == "unknown_schema_version"


def test_round_show_lists_the_part_where_it_was_supplied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    for name, parts in (("with", {"ratings": by_rater("yy", "yn")}), ("without", {})):
        ingest(folder_of(tmp_path / name, {"judge_records": cells(1, 0, 0, 1), **parts}, about={**ABOUT, "round_id": name}), workspace, now=NOW)
        assert run(["round", "show", name, "--json", "--workspace", str(workspace.root)]) == 0
        assert json.loads(capsys.readouterr().out)["counts"].get("ratings", "not listed") == (4 if parts else "not listed")


# agreement


FLEISS = [
    case for case in json.loads((ORACLES / "multi_rater_agreement.json").read_text("utf-8"))["fleiss_cases"] if "error" not in case["expected"]
]


@pytest.mark.parametrize("case", FLEISS, ids=lambda case: case["id"])
def test_fleiss_of_the_oracle_from_a_rounds_ratings(tmp_path: Path, case: dict[str, Any]) -> None:
    counts = case["inputs"]["counts"]
    ratings = []
    for item, row in enumerate(counts):
        given = [f"L{label}" for label, count in enumerate(row) for _ in range(count)]
        ratings += [rating(item, f"r{place:02}", label) for place, label in enumerate(given)]
    source = rated(tmp_path, ratings, cells(len(counts), 0, 0, 0))
    found = agreement(source).value
    assert found is not None and found.fleiss.value is not None
    expected = case["expected"]["fleiss_kappa"]
    assert (Fraction(expected["exact"]) if "exact" in expected else expected["value"]) == found.fleiss.value.value.value


def test_the_three_annotators_of_pandalm(tmp_path: Path) -> None:
    source = ingested(tmp_path, DATA / "rounds" / "judges")[0]
    found = raters_agreement(source, cases_of(judge_figures(source), "pandalm-7b")).value
    assert found is not None and (found.cases, found.raters) == (999, 3)
    # from the published file, in plain Python: (P - Pe) / (1 - Pe) over labels 0, 1, 2
    published = json_of("pandalm/testset-v1.json.gz")
    counts = [[[row[f"annotator{n}"] for n in (1, 2, 3)].count(label) for label in (0, 1, 2)] for row in published]
    totals = [sum(column) for column in zip(*counts, strict=True)]
    observed = Fraction(sum(count * (count - 1) for row in counts for count in row), 999 * 6)
    chance = sum(Fraction(total, 2997) ** 2 for total in totals)
    assert found.fleiss.value is not None and found.fleiss.value.value.value == (observed - chance) / (1 - chance)
    assert found.labels == {"1": totals[1], "2": totals[2], "tie": totals[0]}
    # among the pairwise kappas that PandaLM prints: .85, .88, .86
    assert Fraction("0.85") < found.fleiss.value.value.value < Fraction("0.88")
    assert raters_agreement(source, cases_of(judge_figures(source), "mr-gsm8k-gpt-4")).reason == "not supplied: no rating is of a case of this judge"


def test_alpha_needs_no_complete_table(tmp_path: Path) -> None:
    # the doctest of krippendorff_alpha: 21/32
    found = agreement(rated(tmp_path, by_rater("101 1", "10 01", " 1101"))).value
    assert found is not None and found.alpha.value is not None
    assert (found.cases, found.raters, found.labels) == (5, 3, {"0": 4, "1": 8})
    assert (found.alpha.value.value.value, found.alpha.value.ratings) == (Fraction(21, 32), 12)


def test_numbers_are_graded_in_their_order(tmp_path: Path) -> None:
    ratings = [rating(case, rater, label) for rater, labels in (("a", ("9", "10", "2", "7")), ("b", ("10", "10.0", "2", "7.0")))
               for case, label in enumerate(labels)]
    found = agreement(rated(tmp_path, ratings)).value
    assert found is not None and found.ordinal.value is not None and found.alpha.value is not None
    # as grades only case 0 differs, by one step: 10 follows 9, and 7.0 is 7
    # totals: 2 x2, 7 x2, 9 x1, 10 x3; step 9 to 10: (1 + 3)/2 = 2, squared 4; Do = 2*4/8 = 1
    # De over ordered pairs of different grades / (8*7): 2-7: 2, 2-9: 3.5, 2-10: 5.5, 7-9: 1.5, 7-10: 3.5, 9-10: 2
    expected = 2 * (4 * 4 + 2 * Fraction(49, 4) + 6 * Fraction(121, 4) + 2 * Fraction(9, 4) + 6 * Fraction(49, 4) + 3 * 4) / Fraction(56)
    assert found.ordinal.value.value.value == 1 - 1 / expected
    # as names 9 and 10, 10 and 10.0, 7 and 7.0 differ
    assert found.alpha.value.value.value is not None and found.alpha.value.value.value < Fraction(1, 2)
    assert any("ordinal" in line for line in words.rater_sentences(found))


def test_what_the_raters_cannot_say_is_said(tmp_path: Path) -> None:
    one = agreement(rated(tmp_path / "one", by_rater("ynyn"))).value
    assert one is not None and one.alpha.value is None and one.fleiss.reason == "undefined: needs two raters"
    same = agreement(rated(tmp_path / "same", by_rater("yyy", "yyy"))).value
    assert same is not None and same.alpha.value is not None and same.alpha.value.value.undefined == "every rating is the same"
    gaps = agreement(rated(tmp_path / "gaps", by_rater("yn ", " ny"))).value
    assert gaps is not None and gaps.fleiss.value is not None and gaps.fleiss.value.items == 1
    none = agreement(rated(tmp_path / "none", by_rater("y ", " y"))).value
    assert none is not None and none.fleiss.reason == "undefined: no case has a rating of every rater"
    assert none.ordinal.reason == "not defined: the labels are no numbers"
    elsewhere = agreement(rated(tmp_path / "elsewhere", [rating(77, "a", "y")]))
    assert elsewhere.value is None and elsewhere.reason == "not supplied: no rating is of a case of this judge"
    for found in (one, same, gaps, none):
        assert "NaN" not in json.dumps(found.as_dict(), allow_nan=False) and words.rater_sentences(found)
