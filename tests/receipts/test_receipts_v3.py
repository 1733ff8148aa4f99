"""Decisions of predicate version 3 stay verifiable: ``v3/`` was written once (``make_v3.py``) and every later engine must verify
it, the strength of its evidence included."""
from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from support_receipts import Frozen

from core.errors import CountersignError
from core.signing.export import read_export
from core.signing.words import evidence_sentences

V3 = Path(__file__).parent / "v3"
FROZEN = Frozen(V3)
NAMES = ("approved", "everything", "first-grid")


def picker() -> dict[str, Any]:
    (found,) = [judge for judge in FROZEN.decision("everything").predicate["strength"]["judges"] if judge["judge_id"] == "picker"]
    return dict(found)


@pytest.mark.parametrize(("name", "outcome", "code"), [("approved", "APPROVED", 0), ("everything", "REJECTED", 3), ("first-grid", "REJECTED", 3)])
def test_version_3_verifies_and_recomputes_its_strength(name: str, outcome: str, code: int) -> None:
    result = FROZEN.verified(name)
    assert (result.outcome, result.exit_code) == (outcome, code)
    assert "the strength of evidence are byte for byte" in dict(result.checks)["recomputed"]
    assert FROZEN.decision(name).predicate_type == "urn:countersign:decision:v3"


def test_what_the_judge_shows_by_slice_and_part_by_part() -> None:
    """40 cases, every fifth wrong: 12 of 15 right in maths (wrong: 0, 5, 10), 20 of 25 in tone. 30 in both orders: the swapped order
    names answer 1 but in every third case, the given one in even cases that are right and odd ones that are wrong."""
    judge = picker()
    assert [(line["name"], line["agreement"]["numerator"], line["n"]) for line in judge["slices"]] == [("maths", 12, 15), ("tone", 20, 25)]
    said = {part["part"]: part["text"] for part in judge["evidence"]}
    first = [(place % 2 == 0) is (place % 5 != 0) for place in range(30)]
    second = [place % 3 != 0 for place in range(30)]
    same = sum(one is other for one, other in zip(first, second, strict=True))
    assert said["position_bias"].startswith(f"The same answer in both orders: {same} of 30, 50 %; ")
    assert said["scores"].startswith("40 cases with a score (20 pass, 20 fail)")
    assert said["raters"].startswith("2 raters of 20 cases") and said["self_preference"].startswith("Not supplied: needs own_output")


def test_the_holdout_by_slice_and_run() -> None:
    holdout = FROZEN.decision("everything").predicate["strength"]["holdout"]
    assert [(line["name"], line["n"]) for line in holdout["slices"]] == [("even", 12), ("odd", 12)]
    # pass@1 is the share of outcomes that pass: counted from the rule that made them
    passes = sum((place * 3 + run) % 7 < 5 for place in range(24) for run in range(3))
    one = holdout["pass_at_k"][0]
    assert one["k"] == 1 and one["candidate"]["at_least_one"] == one["candidate"]["all"] == round(passes / 72, 9)


def test_behaviours_with_every_gap() -> None:
    """4 and 8 of each 9 items pass: 12 of 27 gained, none lost, p = 2/2^12."""
    behaviours = FROZEN.decision("everything").predicate["strength"]["behaviours"]
    rows = {row["behaviour"]: row for row in behaviours["rows"]}
    assert {row["p"]["exact"] for row in rows.values()} == {"1/2048"} and {row["corrected"] for row in rows.values()} == {2 / 2048}
    assert [gap["code"] for gap in rows["tone"]["gaps"]] == ["judge_agreement_low", "contamination", "contamination", "no_noise_band"]
    assert "the judge is right in 32 of 40, 80 % (85 % asked)" in rows["tone"]["sentence"]
    said = evidence_sentences(FROZEN.decision("everything").predicate)
    assert "Behaviours: candidate against baseline on 2 behaviours: shown better on 2; proven on 0." in said


def test_what_the_reviewer_saw_besides() -> None:
    coverage = FROZEN.decision("approved").predicate["coverage"]
    assert coverage["opened"] == {"pages": ["Overview", "Judges", "Sample"], "not_opened": ["Curation", "Rejected pairs", "Holdout"]}
    assert (coverage["sampling"]["judged"], coverage["sampling"]["seed"]) == (2, "2f" * 16)
    assert {(one["judge_id"], one["round_id"]) for one in coverage["drift"]} == {("calibrated", "earlier"), ("uncalibrated", "earlier")}
    said = evidence_sentences(FROZEN.decision("approved").predicate)
    for line in (
        "Before preparing this, the reviewer had opened Overview, Judges, Sample; not opened: Curation, Rejected pairs, Holdout.",
        "Judge calibrated since round earlier: None of 8 shared verdicts flipped.",
    ):
        assert any(one.startswith(line) for one in said), line
    assert FROZEN.decision("everything").predicate["coverage"]["opened"] is None


def test_what_the_reviewer_disputed() -> None:
    """Marked: the trap, which the round rejects, and an admitted pair; a third was taken back. ``everything`` has no pairs."""
    disputes = FROZEN.decision("approved").predicate["coverage"]["disputes"]
    assert disputes["pairs"] == [{"pair_id": "pair-collapse-trap", "state": "rejected"}, {"pair_id": "pair-rpo-clean-1", "state": "admitted"}]
    assert (disputes["count"], disputes["left_out"], disputes["seen"]) == (2, 0, 2)
    said = b'[["pair-collapse-trap","rejected"],["pair-rpo-clean-1","admitted"]]'
    assert disputes["sha256"] == hashlib.sha256(said).hexdigest()
    line = "The reviewer disputes 2 pairs: pair-collapse-trap (rejected), pair-rpo-clean-1 (admitted); 2 pairs marked as seen."
    assert line in evidence_sentences(FROZEN.decision("approved").predicate)
    assert any(note.endswith(line) for note in FROZEN.verified("approved").notes)
    assert FROZEN.decision("everything").predicate["coverage"]["disputes"] is None
    none = FROZEN.decision("first-grid").predicate["coverage"]["disputes"]
    assert (none["count"], none["pairs"]) == (0, [])


def test_a_grid_without_a_confidence_says_so() -> None:
    strength = FROZEN.decision("first-grid").predicate["strength"]
    assert strength["confidence"] is None and strength["judges"][0]["evidence"] == []
    assert strength["holdout"]["no_slices"] == "the grid sets no evidence_confidence"


def test_a_changed_byte_in_any_frozen_export_is_noticed(tmp_path: Path) -> None:
    person = FROZEN.registry.find("worker-verifier-02")
    assert person is not None
    for name in NAMES:
        data = bytearray((V3 / f"{name}.zip").read_bytes())
        for place in range(11, len(data), 2309):
            changed = bytearray(data)
            changed[place] ^= 4
            (tmp_path / "x.zip").write_bytes(changed)
            with pytest.raises(CountersignError):
                read_export(tmp_path / "x.zip").decision.verify(person.keys[0].public)
