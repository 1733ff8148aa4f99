"""``countersign judges``: the figures of the demo rounds, undefined ones in words and as null, who is not there."""
from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from sklearn.metrics import cohen_kappa_score
from support_judges import cells, judged, record
from support_rounds import NOW, WORKED_EXAMPLE

from core.cli.main import run
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("demo") / "workspace"
    workspace = Workspace.open(root, create=True)
    for name in ("judges", "smollm2-dpo-only"):
        ingest(ROOT / "data" / "rounds" / name, workspace, now=NOW)
    ingest(WORKED_EXAMPLE, workspace, round_id="worked-example", now=NOW)
    return root


def said(capsys: pytest.CaptureFixture[str], root: Path, *arguments: str) -> str:
    assert run(["judges", *arguments, "--workspace", str(root)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def document(capsys: pytest.CaptureFixture[str], root: Path, *arguments: str) -> dict[str, Any]:
    return json.loads(said(capsys, root, *arguments, "--json"))


def test_the_table_has_a_row_a_judge(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, demo, "judges").splitlines()
    rows = {line.split()[0]: " ".join(line.split()) for line in lines[2:-1]}
    assert len(rows) == 9
    # published: kappa .7234, 37 of 213; .3739 over 415; .5868, 129 of 486
    assert "419 0.723 0.658 to 0.789 37 of 213, 17.37 % at most 22.21 % fails" in rows["llmbar-gpt-4-metrics-reference"]
    assert "missing_verdict 415 0.374" in rows["llmbar-palm2-vanilla"] and "851 0.587" in rows["mr-gsm8k-gpt-4"]
    worked = said(capsys, demo, "worked-example")
    assert "0 of 3, 0 %" in worked and "at most 63.16 %" in worked and "meets, not proven: needs 56 more failed cases" in worked


def test_one_judge_with_everything(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, demo, "judges", "--judge", "llmbar-gpt-4-metrics-reference")
    for words in (
        "llmbar-gpt-4-metrics-reference: gate closed: cohens_kappa, false_positive_rate",
        "37 of 213 proves at most 22.21 % (one-sided, 95 % confidence); the bound is 5 %.",
        "The same answer in both orders: 384 of 419, 91.65 %", "Picks the longer answer where it is wrong: ",
        "6 judges on these cases: Krippendorff's alpha, nominal", "No earlier round of this workspace has records of this judge.",
        "Not supplied: needs rubric_score", "Not supplied: needs own_output",
    ):
        assert words in text
    assert "nan" not in text.lower().split()


def test_scores_and_slices_of_a_judge(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, demo, "smollm2-dpo-only", "--judge", "self-judge")
    assert "360 cases with a score (40 pass, 320 fail): AUC 0.344" in text and "The gate would be open at 0 of 361 thresholds." in text
    assert "undefined: the judge is no better than chance: recall + specificity is at most 1" in text
    assert "Slices are for looking: they feed no gate" in text
    # the highest kappa over all thresholds and the calibration error, counted here once more
    rows = [row for row in pq.read_table(ROOT / "data" / "rounds" / "smollm2-dpo-only" / "judge_records.parquet").to_pylist()
            if row["judge_id"] == "self-judge"]
    passed = [row["verifier_passed"] for row in rows]
    best = max(
        (cohen_kappa_score(passed, [row["rubric_score"] >= at for row in rows]) for at in sorted({row["rubric_score"] for row in rows})[1:]),
    )
    (line,) = [lines[place + 2] for lines in [text.splitlines()] for place in range(len(lines)) if lines[place].startswith("Highest kappa of 361")]
    assert float(line.split()[1].replace("\u2212", "-")) == pytest.approx(best, abs=5e-4)
    bins = [[row for row in rows if max(math.ceil(row["rubric_score"] * 10) - 1, 0) == place] for place in range(10)]
    error = sum(abs(sum(row["rubric_score"] - row["verifier_passed"] for row in one)) for one in bins) / len(rows)
    assert f"in 10 bins: off by {error:.3f} on average (ECE)" in text


def test_the_document_has_every_part(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, demo, "worked-example")
    assert set(found["judges"]) == {"calibrated", "uncalibrated"}
    judge = found["judges"]["calibrated"]
    assert judge["gate"]["open"] is True and judge["whole"]["figures"]["kappa"]["kappa"]["value"] == 0.75
    assert judge["whole"]["figures"]["fpr_light"]["more"] == 56 and judge["whole"]["figures"]["fpr_light"]["needed"] == 59
    assert judge["whole"]["graded"] == {"value": None, "reason": "not supplied: needs rubric_score beside a verdict of the verifier"}
    assert judge["history"] == {"rounds": [], "broken": [], "unread": 0} and judge["slices"] == []
    assert document(capsys, demo, "judges", "--judge", "pandalm-7b")["judges"].keys() == {"pandalm-7b"}


def test_undefined_figures_are_null_with_their_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workspace, _ = judged(tmp_path, [*cells(20, 0, 0, 0), record("lost", None, True)])
    figures = document(capsys, workspace.root, "calibration")["judges"]["one"]
    assert figures["missing"] == ["lost"]
    kappa = figures["whole"]["figures"]["kappa"]
    assert kappa["kappa"]["value"] is None and kappa["kappa"]["undefined"].startswith("one class") and kappa["interval"]["lower"] is None
    text = said(capsys, workspace.root, "calibration")
    assert "undefined: one class" in text and "undefined: the verifier failed nothing" in text


def test_a_judge_that_is_not_there_is_refused(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["judges", "judges", "--judge", "nobody", "--workspace", str(demo)]) == 4
    assert "[unknown_judge]" in capsys.readouterr().err


def test_a_round_without_judges_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # known case 9 (c): no figure of a judge and no zero in its place, but the words
    workspace, _ = judged(tmp_path, [])
    assert said(capsys, workspace.root, "calibration") == "No calibration records: the proposer supplied no judge records.\n"
    assert run(["decide", "calibration", "--workspace", str(workspace.root)]) == 3
    decided = capsys.readouterr().out
    assert "No calibration records: the proposer supplied no judge records.\n" in decided and "kappa" not in decided


def test_a_perfect_judge_gets_no_interval_without_width(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # 12 agreed passes and 8 agreed failures: every resample that has a kappa has 1, and 1 to 1 would claim certainty (known case 25)
    workspace, _ = judged(tmp_path, cells(12, 0, 0, 8))
    figures = document(capsys, workspace.root, "calibration")["judges"]["one"]["whole"]["figures"]
    kappa = figures["kappa"]
    assert kappa["kappa"]["value"] == 1
    for shown in (kappa["interval"], kappa["wald"], kappa["bootstrap"]["bca"], kappa["bootstrap"]["percentile"]):
        assert shown["lower"] is None and shown["upper"] is None and shown["undefined"]
    text = said(capsys, workspace.root, "calibration", "--judge", "one")
    assert "1 to 1" not in text and "an interval without width would claim a certainty" in " ".join(text.split())


def test_another_grid_gives_other_bounds(demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = json.loads((ROOT / "core" / "grid" / "default_grid_spec.json").read_text("utf-8")) | {"name": "other"}
    written["keys"]["max_false_positive_rate"]["value"] = "0.5"
    written["keys"]["evidence_confidence"]["value"] = "0.875"
    (tmp_path / "grid.json").write_text(json.dumps(written), "utf-8")
    found = document(capsys, demo, "worked-example", "--judge", "calibrated", "--grid", str(tmp_path / "grid.json"))
    # no approval of 3 failures: .5^3 = 1/8 = the level, which is reached
    assert found["judges"]["calibrated"]["whole"]["figures"]["fpr_light"]["light"] == "proves"


def test_hostile_ids_reach_the_terminal_visibly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workspace, _ = judged(tmp_path, cells(4, 0, 1, 3, judge="\x1b[31mred\u202e", slice="\x1b[2J"))
    for arguments in (("calibration",), ("calibration", "--judge", "\x1b[31mred\u202e")):
        text = said(capsys, workspace.root, *arguments)
        assert "\x1b" not in text and "\u202e" not in text and "red" in text
