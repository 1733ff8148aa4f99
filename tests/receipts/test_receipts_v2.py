"""Decisions of predicate version 2 stay verifiable: ``v2/`` was written once (``make_v2.py``) and every later engine must verify
it, the strength of its evidence included."""
from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from support_receipts import Frozen

from core.errors import CountersignError
from core.gates.exposure_file import LookBook, read_looks
from core.rounds.workspace import Workspace
from core.signing.export import read_export
from core.signing.words import evidence_sentences, sentences

V2 = Path(__file__).parent / "v2"
FROZEN = Frozen(V2)
NAMES = ("approved", "rejected", "several-runs", "first-grid")


@pytest.mark.parametrize(
    ("name", "outcome", "code"),
    [("approved", "APPROVED", 0), ("rejected", "REJECTED", 3), ("several-runs", "REJECTED", 3), ("first-grid", "APPROVED", 0)],
)
def test_version_2_verifies_and_recomputes_its_strength(name: str, outcome: str, code: int) -> None:
    result = FROZEN.verified(name)
    assert (result.outcome, result.exit_code) == (outcome, code)
    assert "the strength of evidence are byte for byte" in dict(result.checks)["recomputed"]
    assert FROZEN.decision(name).predicate_type == "urn:countersign:decision:v2"


def test_what_version_2_says() -> None:
    """Read from the frozen bytes, so that a later reader cannot quietly change what they mean."""
    said = "\n".join(evidence_sentences(FROZEN.decision("approved").predicate))
    for line in (
        "Checks that rest on counts: 9, of which 6 met without proof, 3 proven to fail.",
        "Regressions: meets, not proven: needs 54 more items.", "false positive rate meets, not proven: needs 56 more failed cases.",
        "Unproven: candidate beats baseline by 20.0 points; n = 5 (no result on 5 items can reach p < .05).",
        "To show a gain of 5.0 points with 80 % power takes about 626 items at this share of flips.",
        "1 earlier round looked at these holdout items (at up to 5 of the 5 at once; none is fresh): this is look 2.",
        "Error budget: this look may use 0.0025; with it 0.005 of 0.05 is spent (look 2 of 20 planned).",
        "The gain's exact p = 1 is not within the 0.0025 that this look may use.", "The reviewer judged 2 of the 2 admitted pairs blind",
    ):
        assert line in said, line
    assert all(line in sentences(FROZEN.decision("approved")) for line in said.splitlines())


def test_the_figures_of_several_runs() -> None:
    """Three runs an item, 40 items in 15 clusters of two and 10 of their own."""
    strength = FROZEN.decision("several-runs").predicate["strength"]
    holdout = strength["holdout"]
    assert (holdout["n"], holdout["clusters"], holdout["view"], holdout["runs"]) == (40, 25, "graded", {"baseline": [3, 3], "candidate": [3, 3]})
    few, many, one = strength["judges"]
    assert [judge["judge_id"] for judge in strength["judges"]] == ["few", "many", "one"]
    # kappa of (180, 6, 9, 140): 2 (180 * 140 - 6 * 9) / (186 * 146 + 189 * 149)
    assert (many["kappa"]["numerator"], many["kappa"]["denominator"]) == (2 * (180 * 140 - 6 * 9), 186 * 146 + 189 * 149)
    assert one["kappa"]["value"] is None and one["mcc"]["value"] is None
    assert "resamples enumerated" in few["kappa_interval"]["method"]


def test_a_grid_without_a_confidence_says_so() -> None:
    strength = FROZEN.decision("first-grid").predicate["strength"]
    assert strength["keys_off"] == ["evidence_confidence", "wanted_power", "wanted_effect"] and strength["confidence"] is None
    assert strength["holdout"]["exact"]["exact"] == "1/1" and strength["holdout"]["standing"] is None


def test_the_record_of_looks_begins_as_each_signer_saw_it(tmp_path: Path) -> None:
    (tmp_path / "rounds").mkdir()
    (tmp_path / "exposure.jsonl").write_bytes((V2 / "exposure.jsonl").read_bytes())
    book: LookBook = read_looks(Workspace.open(tmp_path))
    assert book.digest == hashlib.sha256((V2 / "exposure.jsonl").read_bytes()).hexdigest()
    for name in NAMES:
        seen = FROZEN.decision(name).predicate["coverage"]["exposure"]["record"]
        assert book.extends(seen["lines"], seen["sha256"])


def test_a_changed_byte_in_any_frozen_export_is_noticed(tmp_path: Path) -> None:
    registry = FROZEN.registry
    person = registry.find("worker-verifier-02")
    assert person is not None
    for name in NAMES:
        data = bytearray((V2 / f"{name}.zip").read_bytes())
        for place in range(7, len(data), 2111):
            changed = bytearray(data)
            changed[place] ^= 4
            (tmp_path / "x.zip").write_bytes(changed)
            with pytest.raises(CountersignError):
                read_export(tmp_path / "x.zip").decision.verify(person.keys[0].public)
        (tmp_path / "x.zip").write_bytes(data)
        read_export(tmp_path / "x.zip").decision.verify(person.keys[0].public)
