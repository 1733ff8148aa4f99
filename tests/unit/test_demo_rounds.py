"""The committed demo rounds through the real ingest and engine, against the figures of the issue and, pair by pair, against plain Python."""
from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support_demo import DATA, curate, rating_pairs, synthetic_pairs

from core.canonical import canonical_bytes
from core.gates.assessment import Assessment, assess
from core.gates.receipt import PROMOTE_AWAITING, REFUSE, decide
from core.grid import default_grid
from core.literals import LiteralGateResult
from core.rounds.folder import Round
from core.rounds.ingest import IngestReport, ingest
from core.rounds.workspace import Workspace

NAMES = ("worked-example", "judges", "smollm2-rpo", "smollm2-dpo-only", "ifeval-qwen", "ifeval-4o")
REVIEWER = "worker-verifier-02"
NOW = datetime(2026, 12, 1, tzinfo=UTC)
RECEIPT = DATA.parent / "tests" / "fixtures" / "worked_example" / "receipt.json"
CLEAN = LiteralGateResult("0" * 64, 1, ())      # the rounds are judged here, not the source tree


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, IngestReport]]:
    workspace = Workspace.open(tmp_path_factory.mktemp("demo") / "workspace", create=True)
    yield {name: ingest(DATA / "rounds" / name, workspace, now=NOW) for name in NAMES}


@pytest.fixture(scope="module")
def assessed(ingested: dict[str, IngestReport], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Assessment]:
    found = {}
    for name, report in ingested.items():
        found[name] = assess(Round.open(report.path), default_grid(), tmp_path_factory.mktemp(name), literal_gate=CLEAN, code="0" * 64)
    return found


def _check(assessment: Assessment, name: str) -> dict[str, Any]:
    return next(dict(check) for check in assessment.checks if check["name"] == name)


def _failing(assessment: Assessment) -> set[str]:
    return {check["name"] for check in assessment.checks if check["decides"] and check["state"] in ("fails", "undefined")}


def _fraction(check: dict[str, Any]) -> tuple[int, int]:
    return check["observed"]["numerator"], check["observed"]["denominator"]


@pytest.mark.parametrize("name", NAMES)
def test_ingest_quarantines_nothing(ingested: dict[str, IngestReport], name: str) -> None:
    assert ingested[name].quarantined == 0
    assert ingested[name].round_id == name
    assert not [note for note in ingested[name].notes if note.severity == "warning"]


def test_what_the_engine_says(assessed: dict[str, Assessment]) -> None:
    assert {name: assessed[name].verdict for name in NAMES} == {
        "worked-example": PROMOTE_AWAITING, "judges": REFUSE, "smollm2-rpo": REFUSE, "smollm2-dpo-only": REFUSE, "ifeval-qwen": REFUSE,
        "ifeval-4o": PROMOTE_AWAITING,
    }
    assert _failing(assessed["smollm2-rpo"]) == _failing(assessed["smollm2-dpo-only"]) == {"sanity_retention", "regressions"}
    assert _failing(assessed["ifeval-qwen"]) == {"regressions"}


def test_worked_example_receipt_is_the_one_of_the_specification(assessed: dict[str, Assessment]) -> None:
    assert decide(assessed["worked-example"], REVIEWER).receipt_bytes == canonical_bytes(json.loads(RECEIPT.read_bytes()))


def test_its_bundle_gives_the_same_receipt(tmp_path: Path) -> None:
    workspace = Workspace.open(tmp_path / "workspace", create=True)
    report = ingest(DATA / "bundles" / "worked-example.json", workspace, created_at="2026-11-02T09:00:00Z", now=NOW)
    (tmp_path / "assessment").mkdir()
    found = assess(Round.open(report.path), default_grid(), tmp_path / "assessment", literal_gate=CLEAN, code="0" * 64)
    assert decide(found, REVIEWER).receipt_bytes == canonical_bytes(json.loads(RECEIPT.read_bytes()))


# the sums: in, admitted, rejected, held, quarantined
SUMS = {
    "smollm2-rpo": (576, 377, 179, 20, 0), "smollm2-dpo-only": (572, 12, 538, 22, 0),
    "ifeval-qwen": (576, 377, 179, 20, 0), "ifeval-4o": (576, 377, 179, 20, 0),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums(assessed: dict[str, Assessment], name: str) -> None:
    table = assessed[name].reason_table
    assert tuple(table[key] for key in ("in", "admitted", "rejected", "held", "quarantined")) == SUMS[name]


# admitted, and primary reasons of the 550 rating pairs; "identical" is a sub-code of invalid_record
RATING = {
    "smollm2-rpo": {"admitted": 376, "invalid_record": 6, "non_positive_margin": 67, "length_bias": 81, "logp_collapse": 19, "duplicate": 1},
    "smollm2-dpo-only": {"admitted": 12, "invalid_record": 6, "non_positive_margin": 52, "length_bias": 82, "logp_collapse": 398},
}


@pytest.mark.parametrize("name", RATING)
def test_rating_pairs(assessed: dict[str, Assessment], name: str) -> None:
    rows = [row for row in pq.read_table(assessed[name].scored_path).to_pylist() if row["origin"] == "verified"]
    assert len(rows) == 550
    assert Counter(row["primary_reason"] or row["state"] for row in rows) == RATING[name]
    invalid = [row for row in rows if row["primary_reason"] == "invalid_record"]
    assert all(set(row["sub_codes"]) <= {"identical", "identical_after_trim"} for row in invalid)


PLAIN = {"invalid_record": "identical", "non_positive_margin": "margin", "length_bias": "length", "logp_collapse": "collapse"}


@pytest.mark.parametrize(("name", "policy", "open_judges"), [("smollm2-rpo", "rpo-60", {"loose-check"}), ("smollm2-dpo-only", "dpo-only-60", set())])
def test_every_pair_ends_where_plain_python_puts_it(assessed: dict[str, Assessment], name: str, policy: str, open_judges: set[str]) -> None:
    pairs = rating_pairs(policy) + synthetic_pairs(policy)
    expected = curate([pair for pair in pairs if pair["judge"] is None or pair["judge"] in open_judges])
    expected |= {pair["id"]: "held" for pair in pairs if pair["id"] not in expected}
    rows = pq.read_table(assessed[name].scored_path).to_pylist()
    found = {row["pair_id"]: PLAIN.get(row["primary_reason"], row["primary_reason"]) or row["state"] for row in rows}
    assert found == expected


def test_the_duplicate_says_which_pair_and_which_key(assessed: dict[str, Assessment]) -> None:
    rows = [row for row in pq.read_table(assessed["smollm2-rpo"].scored_path).to_pylist() if row["primary_reason"] == "duplicate"]
    # found by hand: two "Provide a synonym for 'beautiful'" prompts; rasbt-0750 has the better loss
    assert [(row["pair_id"], row["duplicate_of_prompt"], row["duplicate_of_skeleton"], row["duplicate_of_joint"]) for row in rows] == [
        ("rasbt-1090", "rasbt-0750", None, None),
    ]


# round, judge, tp, fp, fn, tn, open, failing
JUDGES = [
    ("smollm2-rpo", "loose-check", (67, 11, 0, 282), []),
    ("smollm2-rpo", "self-judge", (20, 133, 47, 160), ["cohens_kappa", "exact_agreement", "false_positive_rate"]),
    ("smollm2-dpo-only", "loose-check", (40, 22, 0, 298), ["false_positive_rate"]),
    ("smollm2-dpo-only", "self-judge", (16, 189, 24, 131), ["cohens_kappa", "exact_agreement", "false_positive_rate"]),
    ("judges", "mr-gsm8k-gpt-4", (317, 129, 48, 357), ["cohens_kappa", "exact_agreement", "false_positive_rate"]),
]


@pytest.mark.parametrize(("name", "judge", "counts", "failing"), JUDGES)
def test_judge_gates(assessed: dict[str, Assessment], name: str, judge: str, counts: tuple[int, ...], failing: list[str]) -> None:
    found = assessed[name].judges[judge]
    assert tuple(found[key] for key in ("tp", "fp", "fn", "tn")) == counts
    assert found["gate"]["failing"] == failing
    assert found["gate"]["open"] is (not failing)


# judge, n used, records, kappa to four places, false-positive approvals
CALIBRATION = [
    ("llmbar-gpt-4-metrics-reference", 419, 419, 0.7234, (37, 213)), ("llmbar-gpt-4-vanilla", 419, 419, 0.6565, None),
    ("llmbar-gpt-4-vanilla-norules", 419, 419, 0.5226, None), ("llmbar-palm2-vanilla", 415, 419, 0.3739, None),
    ("llmbar-falcon-vanilla", 419, 419, 0.1203, None), ("llmbar-chatgpt-vanilla-norules", 419, 419, -0.2062, None),
    ("pandalm-gpt-3.5-turbo", 999, 999, 0.5581, (128, 577)), ("pandalm-7b", 999, 999, 0.4705, (135, 577)),
    ("mr-gsm8k-gpt-4", 851, 851, 0.5868, (129, 486)),
]


def test_calibration_round(assessed: dict[str, Assessment]) -> None:
    judges = assessed["judges"].judges
    assert set(judges) == {judge for judge, *_ in CALIBRATION}
    for judge, used, records, kappa, approvals in CALIBRATION:
        found = judges[judge]
        assert (found["n"], found["n_records"], round(found["kappa"]["value"], 4)) == (used, records, kappa), judge
        assert found["gate"]["open"] is False
        if approvals is not None:
            assert (found["fpr"]["numerator"], found["fpr"]["denominator"]) == approvals
    assert round(judges["pandalm-gpt-3.5-turbo"]["agreement"]["value"], 4) == 0.7818
    assert len(judges["llmbar-palm2-vanilla"]["missing"]) == 4
    assert "missing_verdict" in judges["llmbar-palm2-vanilla"]["gate"]["failing"]
    assert judges["llmbar-falcon-vanilla"]["swapped_records"] == 419


def test_calibration_round_is_incomplete(assessed: dict[str, Assessment]) -> None:
    refusal = decide(assessed["judges"], REVIEWER).refusal
    assert refusal is not None
    assert [reason["code"] for reason in refusal["reasons"]] == ["incomplete_round", "receipt_judges_missing"]


# round, canaries kept of all, regressions of all, net gain of all
HOLDOUT = [
    ("smollm2-rpo", (5, 8), (7, 120), (-2, 120)), ("smollm2-dpo-only", (0, 8), (13, 120), (-10, 120)),
    ("ifeval-qwen", (40, 40), (27, 501), (82, 501)), ("ifeval-4o", (37, 37), (20, 504), (20, 504)),
]


@pytest.mark.parametrize(("name", "canaries", "regressions", "gain"), HOLDOUT)
def test_holdout_and_canaries(
    assessed: dict[str, Assessment], name: str, canaries: tuple[int, int], regressions: tuple[int, int], gain: tuple[int, int],
) -> None:
    found = assessed[name]
    assert _check(found, "holdout_lock")["state"] == "holds"
    assert _fraction(_check(found, "sanity_retention")) == canaries
    assert _fraction(_check(found, "regressions")) == regressions
    assert _fraction(_check(found, "net_gain")) == gain


def test_the_trap(assessed: dict[str, Assessment]) -> None:
    # margins several times larger, chosen log-probs collapsed: means over the 544 valid rating pairs
    means = {}
    for name in ("smollm2-rpo", "smollm2-dpo-only"):
        rows = pq.read_table(assessed[name].scored_path).to_pylist()
        valid = [row for row in rows if row["origin"] == "verified" and row["primary_reason"] != "invalid_record"]
        assert len(valid) == 544
        means[name] = [round(sum(row[key] for row in valid) / 544, 2) for key in ("margin", "drift")]
    assert means == {"smollm2-rpo": [0.56, 0.27], "smollm2-dpo-only": [2.53, -2.64]}


def test_the_round_to_sign_has_a_receipt_that_promotes(assessed: dict[str, Assessment]) -> None:
    decision = decide(assessed["ifeval-4o"], REVIEWER)
    assert decision.promote is True
    assert decision.receipt is not None
    assert len(decision.receipt["admitted_pair_ids"]) == decision.receipt["admitted_pair_count"] == 377


def test_composite_rounds_say_so(ingested: dict[str, IngestReport]) -> None:
    for name in NAMES:
        manifest = Round.open(ingested[name].path).manifest
        composite = name.startswith("ifeval-")
        assert (manifest.label == "composite, for demonstration") is composite
        assert manifest.note is not None
        assert ("composite, for demonstration" in manifest.note.lower()) is composite
        assert "data/SOURCES.md" in manifest.note
        assert manifest.verification == ("program" if name == "worked-example" else "dataset_label")
        assert manifest.proposers == ("worker-curator-01",)
