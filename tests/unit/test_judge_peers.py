"""A judge beside the other judges of its round, and beside itself in earlier rounds: the same cases only, told by their texts."""
from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support_judges import cells, judged, record

from core.gates import judge_words as words
from core.gates.judge_cases import content_verdicts
from core.gates.judge_parts import EvidenceRules
from core.gates.judge_peers import earlier_rounds, judge_history, judges_together
from core.grid import default_grid
from core.settings import SETTINGS

RULES = EvidenceRules.of(default_grid())
ALPHA = Fraction(1, 20)


def verdicts(judge: str, said: str, texts: str = "", **more: Any) -> list[dict[str, Any]]:
    """One record a character: + approved, - not, ? no verdict, space not judged. ``texts``: a letter a case, space = none."""
    meant = {"+": True, "-": False, "?": None}
    return [
        record(f"c{number}", meant[sign], True, judge, **({"prompt": texts[number]} if texts.ljust(len(said))[number] != " " else {}), **more)
        for number, sign in enumerate(said) if sign != " "
    ]


# judges of one round


def test_judges_of_a_round_as_raters(tmp_path: Path) -> None:
    # three raters over five cases with gaps, the doctest of krippendorff_alpha: coincidences by hand give 21/32
    _, source = judged(tmp_path, [*verdicts("a", "+-+?+"), *verdicts("b", "+-?-+"), *verdicts("c", "?++-+"), *cells(1, 0, 0, 1, judge="far")])
    found = judges_together(content_verdicts(source), "a", RULES).value
    assert found is not None and found.raters == ("a", "b", "c") and found.cases == 5
    assert (found.alpha.value.value, found.alpha.items, found.alpha.ratings, found.alpha.left_out) == (Fraction(21, 32), 5, 12, 0)
    # c1 (- - +) and c4 (+ + +) have all three: P = (1/3 + 1) / 2, Pe = (4/6)^2 + (2/6)^2 = 5/9; (2/3 - 5/9) / (4/9) = 1/4
    assert found.fleiss.value is not None and (found.fleiss.value.items, found.fleiss.value.value.value) == (2, Fraction(1, 4))
    assert [(pair.judge_id, pair.kappa.n) for pair in found.pairs] == [("b", 3), ("c", 3)]
    # a against b on c0, c1, c4: agree everywhere, 2 approved and 1 not
    assert found.pairs[0].kappa.kappa.value == 1 and found.pairs[0].kappa.interval.undefined is not None
    # a against c on c1 (- +), c2 (+ +), c4 (+ +): all others of one side, so kappa 0
    assert found.pairs[1].kappa.kappa.value == 0
    assert words.together_sentences(found)[0].startswith("3 judges on these cases: Krippendorff's alpha, nominal 0.656 over 5 cases, 12 verdicts; ")


def test_kappa_of_two_judges_by_hand(tmp_path: Path) -> None:
    # both approve 4, a alone 1, b alone 0, neither 3: the table of the worked example, kappa 3/4
    _, source = judged(tmp_path, [*verdicts("a", "++++" "+" "---"), *verdicts("b", "++++" "-" "---")])
    found = judges_together(content_verdicts(source), "a", RULES).value
    assert found is not None and found.pairs[0].kappa.kappa.value == Fraction(3, 4) and found.pairs[0].reworded == 0
    # 8 items, 2 raters: P = 7/8; shares 9/16 and 7/16, Pe = 130/256; (224 - 130) / (256 - 130) = 94/126
    assert found.fleiss.value is not None and found.fleiss.value.value.value == Fraction(94, 126)


def test_cases_of_one_id_with_other_texts_are_not_the_same_case(tmp_path: Path) -> None:
    _, source = judged(tmp_path, [*verdicts("a", "++--", "wxyz"), *verdicts("b", "++++", "wxZ ")])
    found = judges_together(content_verdicts(source), "a", RULES).value
    # w and x agree, y is another text under b, z has no text there and is compared by its id
    assert found is not None and (found.pairs[0].kappa.n, found.pairs[0].reworded) == (3, 1)


def test_a_judge_alone_on_its_cases_has_no_raters(tmp_path: Path) -> None:
    _, source = judged(tmp_path, [*verdicts("a", "+-"), *verdicts("b", "??"), *cells(1, 0, 0, 1, judge="far")])
    found = judges_together(content_verdicts(source), "a", RULES)
    assert found.value is None and found.reason == "not supplied: needs another judge with verdicts on the same cases"
    assert judges_together(content_verdicts(source), "nobody", RULES).value is None
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False)) == {"value": None, "reason": found.reason}


# rounds of one workspace


def two_rounds(place: Path, before: list[dict[str, Any]], after: list[dict[str, Any]], **about: Any) -> Any:
    """The history of judge "one" in the later of two rounds."""
    judged(place, before, "before", created_at="2026-01-01T00:00:00Z", **about.get("first", {}))
    workspace, later = judged(place, after, "after", created_at="2026-01-02T00:00:00Z", **about.get("second", {}))
    return judge_history(workspace, later, "one", RULES)


def test_flips_on_the_same_texts(tmp_path: Path) -> None:
    (found,) = two_rounds(tmp_path, verdicts("one", "+" * 8 + "--", "abcdefghij"), verdicts("one", "--------" "++", "abcdefghij")).rounds
    assert found.round_id == "before" and found.by_text and found.reworded == ()
    assert (found.drift.test.first, found.drift.test.second, found.drift.n) == (2, 8, 10)
    # 2 of 10 fair coins at most, both tails: 2 (1 + 10 + 45) / 1024
    assert found.drift.test.p.exact == Fraction(112, 1024)
    said = words.history_sentences(found, ALPHA)
    assert said[0].startswith("10 of 10 shared verdicts flipped (kappa with itself −0.47") and said[0].endswith("(exact p = .1094).")
    # the verifier passes all: the approvals that went are wrong now
    assert said[1] == "By the verifier, 2 turned right and 8 wrong: no lean to one side shown (exact p = .1094)."


def test_a_reworded_case_is_no_drift(tmp_path: Path) -> None:
    (found,) = two_rounds(tmp_path, verdicts("one", "++--", "abcd"), verdicts("one", "+--+", "aBCd")).rounds
    # b and c have other texts now; of a and d, d flipped
    assert found.reworded == ("c1", "c2") and found.drift.n == 2 and found.drift.to_approved == ("c3",)
    assert "2 cases with the same id and other texts, left out: c1, c2." in words.history_sentences(found, ALPHA)
    (all_new,) = two_rounds(tmp_path / "new", verdicts("one", "++", "ab"), verdicts("one", "--", "AB")).rounds
    assert all_new.drift.undefined is not None and words.history_sentences(all_new, ALPHA)[0].startswith("Not comparable: ")


def test_cases_without_texts_are_compared_by_id_and_that_is_said(tmp_path: Path) -> None:
    (found,) = two_rounds(tmp_path, verdicts("one", "++--"), verdicts("one", "++-+", "abcd")).rounds
    assert not found.by_text and found.drift.n == 4
    assert any(line.startswith("Compared by case id alone") for line in words.history_sentences(found, ALPHA))


@pytest.mark.parametrize(("first", "second", "sentence"), [
    ({"version": "1"}, {"version": "1"}, "Described as the same version with the same rubric."),
    ({"version": "1"}, {"version": "2"}, "Its description changed: version 1 became 2."),
    ({"rubric": "Be strict."}, {"rubric": "Be kind."}, "Its description changed: the rubric changed."),
    (None, {"version": "2"}, "Whether it is the same version is not stated in both rounds."),
])
def test_what_the_rounds_say_about_the_judge(tmp_path: Path, first: dict[str, str] | None, second: dict[str, str], sentence: str) -> None:
    described = [{} if judge is None else {"judges": {"one": judge}} for judge in (first, second)]
    (found,) = two_rounds(tmp_path, verdicts("one", "+-"), verdicts("one", "+-"), first=described[0], second=described[1]).rounds
    assert words.history_sentences(found, ALPHA)[-1] == sentence
    assert words.history_sentences(found, ALPHA)[0] == "None of 2 shared verdicts flipped."


def test_only_earlier_rounds_with_this_judge_count(tmp_path: Path) -> None:
    judged(tmp_path, verdicts("other", "+-"), "another-judge", created_at="2026-01-01T00:00:00Z")
    judged(tmp_path, verdicts("one", "+-"), "later", created_at="2026-01-03T00:00:00Z")
    workspace, source = judged(tmp_path, verdicts("one", "+-"), "now", created_at="2026-01-02T00:00:00Z")
    history = judge_history(workspace, source, "one", RULES)
    assert history.rounds == () and words.history_end(history) == ["No earlier round of this workspace has records of this judge."]


@pytest.mark.parametrize("damage", ["changed", "gone"])
def test_an_earlier_round_whose_records_changed_is_named_and_not_compared(tmp_path: Path, damage: str) -> None:
    _, earlier = judged(tmp_path, verdicts("one", "+-"), "before", created_at="2026-01-01T00:00:00Z")
    workspace, source = judged(tmp_path, verdicts("one", "+-"), "after", created_at="2026-01-02T00:00:00Z")
    file = earlier.path / "judge_records.parquet"
    data = file.read_bytes()
    file.unlink()
    if damage == "changed":
        file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    history = judge_history(workspace, source, "one", RULES)
    assert history.rounds == () and history.broken == ("before",)
    assert words.history_end(history)[-1] == "Not compared, since their judge records changed after ingest: before."


def test_older_rounds_beyond_the_limit_are_counted(tmp_path: Path) -> None:
    most = SETTINGS["display"]["trend_rounds"]
    for number in range(most + 2):
        workspace, source = judged(tmp_path, verdicts("one", "+-"), f"r{number:02}", created_at=f"2026-01-{number + 1:02}T00:00:00Z")
    manifests, unread = earlier_rounds(workspace, source)
    assert [manifest.round_id for manifest in manifests] == [f"r{number:02}" for number in range(most, 0, -1)] and unread == 1
    history = judge_history(workspace, source, "one", RULES)
    assert len(history.rounds) == most and words.history_end(history) == ["1 older round with judge records not looked at."]
