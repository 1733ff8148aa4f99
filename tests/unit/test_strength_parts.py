"""What version 3 of the strength object keeps besides: judges by slice and part by part, the holdout by slice, runs, behaviours.
Real rounds; the words are those of ``countersign judges`` and ``countersign holdout``, figures are counted here again."""
from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support_rounds import NOW, folder_of, ingested
from support_strength import ABOUT, FIRST_GRID, judge_rows, run_rows

from core.canonical import canonical_bytes
from core.cli.main import run
from core.gates.assessment import load_or_assess
from core.gates.strength import as_version_2
from core.gates.strength_words import strength_sentences
from core.grid import default_grid
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace
from core.signing.evidence_schema import STRENGTH_2, STRENGTH_3
from core.statistics.agreement import Confusion
from core.statistics.chance_corrected import paradox_sentence, paradox_sentence_2

ROUNDS = Path(__file__).parents[2] / "data" / "rounds"


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    workspace = Workspace.open(tmp_path_factory.mktemp("real") / "workspace", create=True)
    for name in ("smollm2-rpo", "judges", "worked-example"):
        ingest(ROUNDS / name, workspace, now=NOW)
    return workspace


def strength(place: Workspace, name: str, grid: Any = None) -> dict[str, Any]:
    rules = grid or default_grid()
    found = dict(load_or_assess(place, place.round(name), rules).strength)
    STRENGTH_3(json.loads(canonical_bytes(found)), "strength")         # what is written is what is read
    return found


def parts(judge: dict[str, Any]) -> dict[str, str]:
    return {part["part"]: part["text"] for part in judge["evidence"]}


def judge_of(found: dict[str, Any], judge_id: str) -> dict[str, Any]:
    return next(judge for judge in found["judges"] if judge["judge_id"] == judge_id)


def test_each_judge_by_slice_adds_up_to_the_judge(real: Workspace) -> None:
    found = strength(real, "smollm2-rpo")
    records = pq.read_table(ROUNDS / "smollm2-rpo" / "judge_records.parquet").to_pylist()
    judge = judge_of(found, "loose-check")
    assert sum(line["n"] for line in judge["slices"]) == judge["n"] == 360 and judge["slices_left_out"] == 0
    for line in judge["slices"]:
        own = [row for row in records if row["judge_id"] == "loose-check" and row["slice"] == line["name"]]
        failed = [row for row in own if not row["verifier_passed"]]
        agreed = Fraction(sum(row["rubric_approved"] == row["verifier_passed"] for row in own), len(own))
        assert (line["n"], Fraction(line["agreement"]["numerator"], line["agreement"]["denominator"])) == (len(own), agreed)
        rate = line["false_positive_rate"]
        assert (rate["denominator"], rate["value"] is None) == (len(failed), not failed)
        if failed:
            assert Fraction(rate["numerator"], rate["denominator"]) == Fraction(sum(row["rubric_approved"] for row in failed), len(failed))


def test_the_parts_are_the_words_of_the_command(real: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    """Every sentence of a part stands in what ``countersign judges --judge`` prints; a part without data says what it needs."""
    found = strength(real, "judges")
    for judge_id in ("llmbar-gpt-4-vanilla", "pandalm-7b"):
        assert run(["judges", "judges", "--judge", judge_id, "--workspace", str(real.root)]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        said = parts(judge_of(found, judge_id))
        assert set(said) == {
            "position_bias", "length_bias", "self_preference", "scores", "corrected_pass_rate", "other_judges", "raters",
        }
        for name, text in said.items():
            assert text in printed, (judge_id, name, text)
    # LLMBar has both orders: 419 cases of that file; PandaLM's three annotators are raters
    assert "The same answer in both orders" in parts(judge_of(found, "llmbar-gpt-4-vanilla"))["position_bias"]
    assert "3 raters of 999 cases" in parts(judge_of(found, "pandalm-7b"))["raters"]


def test_what_is_not_supplied_says_what_it_needs(real: Workspace) -> None:
    said = parts(strength(real, "worked-example")["judges"][0])
    assert said["position_bias"] == "Not supplied: needs the same cases in both orders (rows with order_swapped true)."
    assert said["scores"].startswith("Not supplied: needs rubric_score")


def test_the_holdout_by_slice_is_counted_and_corrected(real: Workspace) -> None:
    holdout = strength(real, "smollm2-rpo")["holdout"]
    assert (sum(line["n"] for line in holdout["slices"]), sum(line["fixes"] for line in holdout["slices"])) == (120, holdout["flips"]["fixes"])
    assert sum(line["regressions"] for line in holdout["slices"]) == holdout["flips"]["regressions"]
    assert all(line["holm"] >= line["benjamini_hochberg"] >= line["p"]["value"] for line in holdout["slices"])
    assert holdout["no_slices"] is None and holdout["pass_at_k"] == []
    # eight families of checks, and several at once
    said = "Slices of the holdout, corrected for how many there are (Holm): 9, nothing shown on any."
    assert said in strength_sentences(strength(real, "smollm2-rpo"))
    assert strength(real, "worked-example")["holdout"]["no_slices"] == "no outcome names a slice"


def test_runs_of_an_item_give_pass_at_k(tmp_path: Path) -> None:
    """Two items of two different runs: item 0 passes in one of two, item 1 in both. pass@1 = (1/2 + 1)/2, pass@2 = 1, pass^2 = 1/2."""
    outcomes = [((True, False), (True, False)), ((True, True), (True, True))]
    source = folder_of(tmp_path / "input", {
        "judge_records": judge_rows("j", tp=3, tn=3), "holdout": [{"id": f"i{place}", "prompt": f"What is {place}?"} for place in range(2)],
        "outcomes": run_rows(outcomes), "sanity": [{"id": "s", "passed": True}],
    }, about=ABOUT)
    round_, _ = ingested(tmp_path, source)
    lines = strength(Workspace(round_.path.parents[1]), round_.digest)["holdout"]["pass_at_k"]
    assert [line["k"] for line in lines] == [1, 2]
    assert lines[0]["candidate"] == {"at_least_one": 0.75, "all": 0.75, "undefined": None}
    assert lines[1]["candidate"] == {"at_least_one": 1.0, "all": 0.5, "undefined": None}


def test_behaviours_are_in_it_and_in_its_words(real: Workspace) -> None:
    found = strength(real, "smollm2-rpo")
    behaviours = found["behaviours"]
    assert (behaviours["served"], behaviours["candidate"], len(behaviours["rows"])) == ("ref", "rpo-60", 8)
    row = next(row for row in behaviours["rows"] if row["behaviour"] == "ends its answer")
    # 95 - 45 of 120
    assert (row["gain"], row["standing"], row["proven"]) == (0.416666667, "shown better", False)
    assert [gap["code"] for gap in row["gaps"]] == ["contamination_unknown", "no_noise_band"]
    assert "Behaviours: rpo-60 against ref on 8 behaviours: shown better on 1, not shown on 7; proven on 0." in strength_sentences(found)
    assert strength(real, "judges")["no_behaviours"].startswith("not supplied: needs the part behaviours")


def test_a_grid_of_schema_1_keeps_what_needs_no_confidence(real: Workspace) -> None:
    found = strength(real, "smollm2-rpo", FIRST_GRID)
    assert judge_of(found, "loose-check")["evidence"] == [] and len(judge_of(found, "loose-check")["slices"]) == 9
    assert found["holdout"]["no_slices"] == "the grid sets no evidence_confidence" and found["behaviours"] is None
    assert "evidence_confidence" in found["no_behaviours"]


def test_version_2_is_what_it_was(real: Workspace) -> None:
    computed = load_or_assess(real, real.round("smollm2-rpo"), default_grid())
    STRENGTH_2(json.loads(canonical_bytes(as_version_2(computed.strength, computed.document))), "strength")


def test_a_hardly_different_kappa_is_not_called_only_or_lifted() -> None:
    """50/9/6/35: agreement .85, chance (59 * 56 + 41 * 44)/10^4 = .5108, kappa (.85 - .5108)/.4892 = .6934, PABAK .7: .0066 apart;
    AC1 289/409 = .7066.
    80/10/5/5: kappa .318, PABAK .7."""
    near = Confusion(50, 9, 6, 35)
    assert paradox_sentence(near) == (
        "Kappa 0.693 at agreement 85 % lies within 0.02 of what balanced classes would give (PABAK 0.7, AC1 0.707): hardly a paradox here."
    )
    assert "is only 0.693" in paradox_sentence_2(near)
    far = Confusion(80, 10, 5, 5)
    assert paradox_sentence(far) == paradox_sentence_2(far) and "is only 0.318" in paradox_sentence(far)
