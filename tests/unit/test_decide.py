"""From a bundle or tables to the receipt: the worked example to the byte, and every way a round ends without one."""
from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rfc8785

import iterative_rpo_flywheel
from core.cli.main import run
from core.errors import RoundError
from core.gates.assessment import Assessment, assess, headline, load_or_assess
from core.gates.receipt import PROMOTE_AWAITING, RECEIPT_FIELDS, REFUSE, decide, receipt_number, refusal_record
from core.grid import default_grid
from core.literals import LiteralGateResult
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace

EXAMPLE = Path(__file__).parents[1] / "fixtures/worked_example"
BUNDLE = json.loads((EXAMPLE / "bundle.json").read_text("utf-8"))
RECEIPT_BYTES = rfc8785.dumps(json.loads((EXAMPLE / "receipt.json").read_text("utf-8")))
NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
CLEAN = LiteralGateResult("0" * 64, 1, ())


def edited(change: Callable[[dict], Any]) -> dict:
    bundle = copy.deepcopy(BUNDLE)
    change(bundle)
    return bundle


def opened(tmp_path: Path, bundle: dict) -> Round:
    file = tmp_path / "bundle.json"
    file.write_text(json.dumps(bundle), "utf-8")
    workspace = Workspace.open(tmp_path / "ws", create=True)
    return Round.open(ingest(file, workspace, now=NOW).path)


def assessed(tmp_path: Path, source: Round | dict) -> Assessment:
    source = opened(tmp_path, source) if isinstance(source, dict) else source
    folder = tmp_path / "assessment"
    folder.mkdir()
    return assess(source, default_grid(), folder, literal_gate=CLEAN, code="0" * 64)


def codes(assessment: Assessment) -> list[str]:
    refusal = assessment.document["refusal"]
    return [] if refusal is None else [item["code"] for item in refusal["reasons"]]


def test_the_worked_example_gives_its_receipt_to_the_byte(tmp_path: Path) -> None:
    assessment = assessed(tmp_path, BUNDLE)
    decision = decide(assessment, BUNDLE["reviewer_id"])
    assert assessment.verdict == PROMOTE_AWAITING
    assert decision.receipt_bytes == RECEIPT_BYTES
    jsonschema.validate(json.loads(decision.receipt_bytes), json.loads((EXAMPLE / "receipt.schema.json").read_text("utf-8")))
    assert tuple(decision.receipt or ()) == RECEIPT_FIELDS
    assert headline(assessment.document) == "Promote, awaiting reviewer: all 6 checks hold; 1 warning"


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_rows_changes_nothing(tmp_path: Path, seed: int) -> None:
    def shuffle(bundle: dict) -> None:
        dice = random.Random(seed)
        for name in ("calibrated_judge_records", "uncalibrated_judge_records", "verified_candidates", "synthetic_pairs"):
            dice.shuffle(bundle[name])
        for name in ("baseline_outcomes", "candidate_outcomes", "sanity_outcomes"):
            items = list(bundle[name].items())
            dice.shuffle(items)
            bundle[name] = dict(items)

    assert decide(assessed(tmp_path, edited(shuffle)), "worker-verifier-02").receipt_bytes == RECEIPT_BYTES


def tables() -> dict[str, list[dict]]:
    """The worked example as tables, written out by hand from the bundle's fields."""
    names = {"chosen_verified": "chosen", "rejected_tombstone": "rejected"}
    pairs = [
        {names.get(key, key): value for key, value in pair.items()} | extra
        for origin, extra in (("verified_candidates", {"origin": "verified"}), ("synthetic_pairs", {"origin": "synthetic", "judge_id": "rubric-a"}))
        for pair in BUNDLE[origin]
    ]
    records = [record | {"judge_id": judge} for judge, key in (("rubric-a", "calibrated_judge_records"), ("rubric-b", "uncalibrated_judge_records"))
               for record in BUNDLE[key]]
    outcomes = [{"id": item, "arm": arm, "passed": passed} for arm in ("baseline", "candidate") for item, passed in BUNDLE[f"{arm}_outcomes"].items()]
    sanity = [{"id": item, "passed": passed} for item, passed in BUNDLE["sanity_outcomes"].items()]
    return {"pairs": pairs, "judge_records": records, "outcomes": outcomes, "sanity": sanity}


def write_folder(folder: Path, form: str) -> Path:
    folder.mkdir()
    for name, rows in tables().items():
        if form == "parquet":
            # from_pylist takes its columns from the first row alone
            columns = dict.fromkeys(key for row in rows for key in row)
            pq.write_table(pa.table({key: [row.get(key) for row in rows] for key in columns}), folder / f"{name}.parquet")
        elif form == "json":
            (folder / f"{name}.json").write_text(json.dumps(rows), "utf-8")
        else:
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (folder / "holdout.json").write_text(json.dumps(BUNDLE["holdout_suite"]), "utf-8")
    (folder / "round.json").write_text(json.dumps({
        "schema_version": 1, "round_id": "worked-example", "proposers": [BUNDLE["proposer_id"]], "created_at": "2026-11-01T00:00:00Z",
        "holdout_lock": {"sha256": BUNDLE["preregistered_holdout_sha256"]},
        "receipt_judges": {"calibrated": "rubric-a", "uncalibrated": "rubric-b"},
    }), "utf-8")
    return folder


@pytest.mark.parametrize("form", ["jsonl", "json", "parquet"])
def test_the_same_receipt_through_tables(tmp_path: Path, form: str) -> None:
    report = ingest(write_folder(tmp_path / "input", form), Workspace.open(tmp_path / "ws", create=True), now=NOW)
    assert decide(assessed(tmp_path, Round.open(report.path)), "worker-verifier-02").receipt_bytes == RECEIPT_BYTES


def test_self_review_gives_a_receipt_that_does_not_promote(tmp_path: Path) -> None:
    decision = decide(assessed(tmp_path, BUNDLE), " Worker-Curator-01+b ")
    assert decision.receipt is not None and decision.receipt["promote_round"] is False and not decision.promote
    assert {key: value for key, value in decision.receipt.items() if key != "promote_round"} == {
        key: value for key, value in json.loads(RECEIPT_BYTES).items() if key != "promote_round"}


def test_an_id_outside_the_grammar_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(RoundError) as caught:
        decide(assessed(tmp_path, BUNDLE), "Ana <ana@example.org>")
    assert caught.value.exit_code == 4


def test_a_closed_gate_holds_pairs_and_never_refuses_by_itself(tmp_path: Path) -> None:
    # one false approval more: FPR 1/4 > .05 closes the calibrated gate; its synthetic pair is held, the round still promotes
    assessment = assessed(tmp_path, edited(lambda b: b["calibrated_judge_records"].append(
        {"case_id": "c-09", "rubric_approved": True, "verifier_passed": False})))
    decision = decide(assessment, "worker-verifier-02")
    assert decision.receipt is not None and decision.promote
    assert decision.receipt["admitted_pair_ids"] == ["pair-rpo-clean-1"] and decision.receipt["calibrated_judge_passed"] is False
    assert assessment.reason_table["held"] == 1
    # tp 4, fp 1, fn 1, tn 3: kappa 2(12 - 1)/((5)(4) + (5)(4)) = 22/40 = .55
    assert decision.receipt["calibrated_judge_kappa"] == 0.55


def test_uncalibrated_synthetic_counts_the_counterfactual_of_a_bundle(tmp_path: Path) -> None:
    # both judges perfect: the uncalibrated gate would let the one synthetic pair through
    perfect = [{"case_id": f"u{i}", "rubric_approved": i < 5, "verifier_passed": i < 5} for i in range(10)]
    decision = decide(assessed(tmp_path, edited(lambda b: b.update(uncalibrated_judge_records=perfect))), "worker-verifier-02")
    assert decision.receipt is not None and decision.receipt["uncalibrated_synthetic_admitted"] == 1


@pytest.mark.parametrize(("change", "expected"), [
    (lambda b: b.update(calibrated_judge_records=[]), "undefined_statistic"),
    (lambda b: b.update(uncalibrated_judge_records=[{"case_id": "a", "rubric_approved": True, "verifier_passed": True}]), "undefined_statistic"),
    (lambda b: b.update(sanity_outcomes={}), "undefined_statistic"),
])
def test_an_undefined_number_gives_a_refusal_record_never_a_number(tmp_path: Path, change: Callable[[dict], Any], expected: str) -> None:
    assessment = assessed(tmp_path, edited(change))
    assert assessment.verdict == REFUSE and assessment.document["receipt"] is None
    assert expected in codes(assessment)
    decision = decide(assessment, "worker-verifier-02")
    assert decision.receipt is None and decision.refusal is not None
    assert set(decision.refusal) == {"schema_version", "verdict", "reasons"} and decision.refusal["verdict"] == "REFUSE"


def test_a_refusal_names_self_review_as_well(tmp_path: Path) -> None:
    decision = decide(assessed(tmp_path, edited(lambda b: b.update(sanity_outcomes={}))), "worker-curator-01")
    assert [item["code"] for item in decision.refusal["reasons"]] == ["distinct_reviewer", "undefined_statistic"]


def test_a_swapped_holdout_refuses_with_a_receipt(tmp_path: Path) -> None:
    assessment = assessed(tmp_path, edited(lambda b: b["holdout_suite"].reverse()))
    decision = decide(assessment, "worker-verifier-02")
    assert decision.receipt is not None and decision.receipt["holdout_lock_valid"] is False and not decision.promote


@pytest.mark.parametrize("lock", ["", "eff4e98f", "0" * 64])
def test_bad_ids_cannot_hide_a_swapped_holdout(tmp_path: Path, lock: str) -> None:
    def change(bundle: dict) -> None:
        bundle["candidate_outcomes"]["h-99"] = True
        bundle["preregistered_holdout_sha256"] = lock

    assessment = assessed(tmp_path, edited(change))
    assert codes(assessment) == ["holdout_lock", "unknown_item"]


def test_bad_ids_under_a_lock_that_holds_decide_nothing(tmp_path: Path) -> None:
    with pytest.raises(RoundError) as caught:
        assessed(tmp_path, edited(lambda b: b["candidate_outcomes"].update({"h-99": True})))
    assert caught.value.code == "unknown_item" and caught.value.exit_code == 4


def test_an_absent_candidate_outcome_refuses_with_every_figure_visible(tmp_path: Path) -> None:
    # h-02: the baseline passes it, the candidate has no outcome: 1 regression of 5
    assessment = assessed(tmp_path, edited(lambda b: b["candidate_outcomes"].pop("h-02")))
    states = {check["name"]: check["state"] for check in assessment.checks}
    assert states["outcomes_complete"] == "fails" and states["regressions"] == "fails"
    decision = decide(assessment, "worker-verifier-02")
    assert decision.receipt is not None and decision.receipt["regression_rate"] == 0.2 and not decision.promote


def test_nothing_admitted_gives_zero_means_and_refuses(tmp_path: Path) -> None:
    def change(bundle: dict) -> None:
        bundle["synthetic_pairs"] = []
        bundle["verified_candidates"] = [bundle["verified_candidates"][1]]  # the collapsed one

    decision = decide(assessed(tmp_path, edited(change)), "worker-verifier-02")
    assert decision.receipt is not None and not decision.promote
    assert (decision.receipt["mean_dpo_margin"], decision.receipt["mean_rpo_loss"], decision.receipt["admitted_pair_ids"]) == (0.0, 0.0, [])


def test_a_calibration_only_round_is_incomplete_and_its_judges_are_computed_in_full(tmp_path: Path) -> None:
    folder = tmp_path / "input"
    folder.mkdir()
    (folder / "judge_records.json").write_text(json.dumps(tables()["judge_records"]), "utf-8")
    (folder / "round.json").write_text(json.dumps({"schema_version": 1, "round_id": "judges", "proposers": ["worker-curator-01"]}), "utf-8")
    report = ingest(folder, Workspace.open(tmp_path / "ws", create=True), now=NOW)
    assessment = assessed(tmp_path, Round.open(report.path))
    assert codes(assessment) == ["incomplete_round", "receipt_judges_missing"]
    assert assessment.judges["rubric-a"]["kappa"]["value"] == 0.75 and assessment.judges["rubric-a"]["gate"]["open"]
    assert assessment.admitted_pair_ids() == []
    assert headline(assessment.document) == "Refuse: the round lacks pairs, holdout, outcomes, sanity"


def test_a_stored_assessment_is_read_again_not_computed_again(tmp_path: Path) -> None:
    source = opened(tmp_path, BUNDLE)
    workspace = Workspace.open(tmp_path / "ws")
    first = load_or_assess(workspace, source, default_grid())
    written = (first.folder / "assessment.json").stat().st_mtime_ns
    second = load_or_assess(workspace, source, default_grid())
    assert second.folder == first.folder and second.document == first.document
    assert (second.folder / "assessment.json").stat().st_mtime_ns == written
    assert (first.folder / "scored.parquet").stat().st_mode & 0o222 == 0


def test_refusal_records_hold_each_code_once_in_order() -> None:
    record = refusal_record([("b", "one"), ("a", "x"), ("b", "two"), ("b", "one")])
    assert record == {"schema_version": 1, "verdict": "REFUSE", "reasons": [{"code": "a", "detail": "x"}, {"code": "b", "detail": "one; two"}]}


def test_a_figure_that_no_receipt_can_carry_is_refused() -> None:
    from fractions import Fraction

    for figure in (Fraction(10**400), Fraction(2**53), Fraction(-(2**53))):
        with pytest.raises(RoundError) as caught:
            receipt_number(figure, 6)
        assert caught.value.code == "figure_out_of_range"
    assert receipt_number(Fraction(2**53 - 1), 6) == 2.0**53 - 1


def test_a_figure_beyond_the_integers_of_json_refuses_and_the_assessment_stays_readable(tmp_path: Path) -> None:
    # margin .1 * ((-4.8 + 5.1) - (-1e18 + 6.1)) is about 1e17: RFC 8785 would write it as an integer beyond 2^53-1
    source = opened(tmp_path, edited(lambda b: b["synthetic_pairs"][0].update(policy_logp_rejected=-1e18)))
    workspace = Workspace.open(tmp_path / "ws")
    load_or_assess(workspace, source, default_grid())
    again = load_or_assess(workspace, source, default_grid())
    assert "figure_out_of_range" in codes(again) and again.verdict == REFUSE
    assert again.document["curation"]["mean_margin"]["value"] is None and again.document["curation"]["mean_margin"]["numerator"]


# the command line


def bundle_file(tmp_path: Path, bundle: dict) -> Path:
    file = tmp_path / "example.json"
    file.write_text(json.dumps(bundle), "utf-8")
    return file


def test_the_one_file_command_prints_the_receipt(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert iterative_rpo_flywheel.main(["--bundle", str(EXAMPLE / "bundle.json")]) == 0
    assert capfdbinary.readouterr().out == RECEIPT_BYTES + b"\n"


@pytest.mark.parametrize(("change", "code"), [
    (lambda b: b.update(reviewer_id="worker-curator-01"), 3),
    (lambda b: b.update(reviewer_id=" WORKER-curator-01 "), 3),
    (lambda b: b.update(preregistered_holdout_sha256=""), 3),
    (lambda b: b.update(sanity_outcomes={}), 3),
    (lambda b: b.pop("reviewer_id"), 4),
    (lambda b: b.update(reviewer_id="Ana <ana@example.org>"), 4),
    (lambda b: b.update(preregistered_holdout_sha256=None), 4),
    (lambda b: b.update(holdout_suite=[]), 4),
    (lambda b: b["holdout_suite"].append(b["holdout_suite"][0]), 4),
    (lambda b: b["verified_candidates"][2].update(ref_logp_chosen="n/a"), 4),
    (lambda b: b["candidate_outcomes"].update({"h-01": None}), 4),
])
def test_exit_codes_of_the_one_file_command(tmp_path: Path, capfd: pytest.CaptureFixture[str], change: Callable[[dict], Any], code: int) -> None:
    assert iterative_rpo_flywheel.main(["--bundle", str(bundle_file(tmp_path, edited(change)))]) == code
    printed = capfd.readouterr()
    assert (printed.out == "") is (code == 4) and (printed.err == "") is (code == 3)


def test_decide_prints_json_for_machines_and_says_not_approved_for_people(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = str(EXAMPLE / "bundle.json")
    assert run(["decide", file, "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert rfc8785.dumps(document["receipt"]) == RECEIPT_BYTES and document["approved"] is False
    assert run(["decide", file]) == 0
    assert "Not approved yet" in capfd.readouterr().out
    assert run(["decide", file, "--require-approved"]) == 3


def test_a_reviewer_other_than_the_named_one_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["decide", str(EXAMPLE / "bundle.json"), "--reviewer", "somebody-else"]) == 4
    assert "reviewer_is_named" in capfd.readouterr().err
    assert run(["decide", str(EXAMPLE / "bundle.json"), "--reviewer", "Worker-Verifier-02"]) == 0


def test_a_round_without_a_reviewer_has_a_verdict_but_no_settled_receipt(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = str(bundle_file(tmp_path, edited(lambda b: b.pop("reviewer_id"))))
    assert run(["decide", file, "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert document["receipt"] is None and document["promote"] is None and document["verdict"] == PROMOTE_AWAITING
    assert run(["decide", file, "--canonical"]) == 4
    assert run(["decide", file, "--canonical", "--reviewer", "worker-verifier-02"]) == 0
    assert capfd.readouterr().out.encode() == RECEIPT_BYTES + b"\n"
