"""The known problem cases that touch the path from files to a verified receipt, each as a whole: one test or more a case.

The numbers are those of the cases (``test_case_N_...``); finer tests of single functions carry the same numbers elsewhere.
Cases of pages alone (29: selection by id; the session's part of 31) are in ``tests/app``.
"""
from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support_desk import desk
from support_rounds import (
    NOW,
    bundle,
    bundle_file,
    folder_of,
    ingested,
    pair,
    pairs_round,
    round_of,
    tables_of,
    without,
    workspace_at,
)

from core.canonical import canonical_bytes, sha256_hex
from core.cli.main import run
from core.errors import CountersignError
from core.gates.assessment import Assessment, load_or_assess
from core.gates.holdout import holdout_differences
from core.gates.receipt import decide
from core.grid import default_grid
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.rounds.queries import PairFilter, RoundQueries
from core.settings import SETTINGS
from core.signing.evidence import EvidenceStore
from core.signing.export import make_export
from core.signing.grids import AcceptedGrids
from core.signing.verify import verify_export

REVIEWER = "worker-verifier-02"
NAN, INF = math.nan, math.inf


def refused(code: str, exit_code: int, act: Callable[[], Any]) -> CountersignError:
    with pytest.raises(CountersignError) as caught:
        act()
    assert (caught.value.code, caught.value.exit_code) == (code, exit_code), str(caught.value)
    return caught.value


def assessed(place: Path, source: Round) -> Assessment:
    return load_or_assess(workspace_at(place), source, default_grid())


def queries(source: Round, assessment: Assessment) -> RoundQueries:
    return RoundQueries.of_folders(source.path, assessment.folder)


def scored(assessment: Assessment) -> dict[str, dict[str, Any]]:
    return {row["pair_id"]: row for row in pq.read_table(assessment.scored_path).to_pylist()}


def whole(place: Path, rows: list[dict[str, Any]], form: str = "jsonl") -> tuple[Round, Assessment]:
    """The worked example with these pairs in place of its own."""
    document = bundle()
    parts = tables_of(document) | {"pairs": rows}
    source, _ = ingested(place, folder_of(place / "input", parts, about=round_of(document), form=form))
    return source, assessed(place, source)


def different(number: int, **changes: Any) -> dict[str, Any]:
    """A pair whose texts are its own, so that no key is shared."""
    return pair(pair_id=f"p-{number}", prompt=f"Ask {number}", chosen=f"Use a lock {number}", rejected=f"Write at once {number}", **changes)


# 1: chosen equals rejected, also only after normalising (with a declared cut-off: test_cutoff_round.py)


def test_case_1_identical_answers_are_invalid_and_a_late_difference_is_kept(tmp_path: Path) -> None:
    head = " ".join(f"token{number}" for number in range(1100))
    rows = [
        different(1) | {"chosen": "Use a lock.", "rejected": "Use a lock."}, different(2) | {"chosen": "Use a lock.", "rejected": "Use a lock. "},
        different(3) | {"chosen": f"{head} yes", "rejected": f"{head} no"},
    ]
    _, assessment = whole(tmp_path, rows)
    found = scored(assessment)
    assert [(found[name]["primary_reason"], found[name]["sub_code"]) for name in ("p-1", "p-2", "p-3")] == [
        ("invalid_record", "identical"), ("invalid_record", "identical_after_trim"), (None, None)]
    assert assessment.reason_table == {
        "in": 3, "admitted": 1, "rejected": 2, "held": 0, "quarantined": 0,
        "reasons": {"invalid_record": 2, "unverified": 0, "non_positive_margin": 0, "length_bias": 0, "logp_collapse": 0, "duplicate": 0},
    }


# 4: NaN and infinite log-probs


ODD = [
    {"policy_logp_chosen": NAN}, {"policy_logp_chosen": -INF}, {"policy_logp_rejected": -INF, "ref_logp_rejected": -INF},
    {"policy_logp_chosen": 1e308, "ref_logp_chosen": -1e308}, {"policy_logp_chosen": 3.2},
]


@pytest.mark.parametrize(("form", "expected"), [("jsonl", (2, 2, 3)), ("parquet", (2, 5, 0))])
def test_case_4_nothing_that_is_no_number_is_admitted_by_either_route(tmp_path: Path, form: str, expected: tuple[int, int, int]) -> None:
    """Two sound pairs (one of margin 8000) and five odd ones: in JSON the three NaN and infinities are quarantined, out of
    Parquet they are typed and invalid; 1e308 and 3.2 are above zero in both. DuckDB counts what Python counts."""
    large = different(8, policy_logp_rejected=-80006.0, ref_logp_rejected=0.0)        # 0.1 * (2 + 80006) = 8000.8
    rows = [different(number, **odd) for number, odd in enumerate(ODD)] + [different(7), large]
    source, assessment = whole(tmp_path, rows, form)
    table = assessment.reason_table
    assert (table["admitted"], table["reasons"]["invalid_record"], table["quarantined"]) == expected
    assert table["in"] == 7 and sorted(assessment.admitted_pair_ids()) == ["p-7", "p-8"]
    with queries(source, assessment) as found:
        states = found.state_counts()
        assert (states.admitted, states.rejected, states.held, states.quarantined) == tuple(
            table[name] for name in ("admitted", "rejected", "held", "quarantined"))
    receipt = decide(assessment, REVIEWER).receipt_bytes
    assert b"NaN" not in receipt and b"Infinity" not in receipt
    figures = json.loads(receipt)
    # margins 0.8 and 8000.8: mean 4000.8
    assert figures["mean_dpo_margin"] == 4000.8 and math.isfinite(figures["mean_rpo_loss"])


# 6: length bias in the other direction


def test_case_6_both_directions_are_bounded_and_the_bound_itself_is_kept(tmp_path: Path) -> None:
    counts = [(80, 10), (10, 80), (18, 10), (181, 100)]
    rows = [different(number, chosen_token_count=nc, rejected_token_count=nr) for number, (nc, nr) in enumerate(counts)]
    _, assessment = whole(tmp_path, rows)
    found = scored(assessment)
    assert [(found[f"p-{number}"]["primary_reason"], found[f"p-{number}"]["longer_side"]) for number in range(4)] == [
        ("length_bias", "chosen"), ("length_bias", "rejected"), (None, "chosen"), ("length_bias", "chosen")]
    assert default_grid().keys["max_length_ratio"].rationale.startswith("Inclusive")


# 9: kappa undefined with one class


def cases(*groups: tuple[int, bool | None, bool | None]) -> list[dict[str, Any]]:
    rows = [(approved, passed) for count, approved, passed in groups for _ in range(count)]
    return [{"case_id": f"c{number}", "rubric_approved": approved, "verifier_passed": passed} for number, (approved, passed) in enumerate(rows)]


@pytest.mark.parametrize(("records", "sentence"), [
    (cases((20, True, True)), "one class"), (cases((20, False, False)), "one class"), ([], "no calibration records"),
    (cases((1, True, True)), "one class"), (cases((18, True, True), (2, True, None)), "one class"),
])
def test_case_9_an_undefined_kappa_is_no_number_and_opens_nothing(tmp_path: Path, records: list[dict[str, Any]], sentence: str) -> None:
    source, _ = ingested(tmp_path, bundle_file(tmp_path / "input", bundle() | {"calibrated_judge_records": records}))
    assessment = assessed(tmp_path, source)
    judge = assessment.judges["calibrated"]
    assert judge["kappa"]["value"] is None and sentence in judge["kappa"]["undefined"] and not judge["gate"]["open"]
    assert judge["synthetic"]["held"] == 1 and judge["synthetic"]["passed_on"] == 0
    decision = decide(assessment, REVIEWER)
    assert decision.receipt is None and decision.refusal is not None and not decision.promote
    assert "undefined_statistic" in [item["code"] for item in decision.refusal["reasons"]]
    if any(row["verifier_passed"] is None for row in records):
        assert judge["missing"] == ["c18", "c19"] and "missing_verdict" in judge["gate"]["failing"]


def test_case_9_figures_beside_a_missing_verdict_say_over_how_many_they_are(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    records = cases((9, True, True), (9, False, False), (2, True, None))
    assert run(["decide", str(bundle_file(tmp_path, bundle() | {"calibrated_judge_records": records}))]) == 0
    assert "closed: missing_verdict (figures over 18 of 20 cases)" in capfd.readouterr().out


# 11: kappa exactly on the bound


@pytest.mark.parametrize(("table", "opens", "words"), [
    ((9, 0, 1, 2), True, "0.75"), ((5, 1, 1, 11), False, "0.75"), ((40, 1, 1, 19), True, None), ((2, 0, 1, 9), True, "0.75"),
])
def test_case_11_every_surface_says_the_same_on_the_bound(
    tmp_path: Path, table: tuple[int, ...], opens: bool, words: str | None, capfd: pytest.CaptureFixture[str],
) -> None:
    """kappa of (9, 0, 1, 2), (5, 1, 1, 11) and (2, 0, 1, 9) is exactly 3/4; the second is closed by FPR 1/12 alone; the third has FPR 1/20."""
    tp, fp, fn, tn = table
    records = cases((tp, True, True), (fp, True, False), (fn, False, True), (tn, False, False))
    d = desk(tmp_path)
    source = d.round(calibrated_judge_records=records)
    d.propose(source)
    judge = d.assess(source).judges["calibrated"]
    assert judge["gate"]["open"] is opens and judge["gate"]["failing"] == ([] if opens else ["false_positive_rate"])
    assert run(["decide", source.digest, "--workspace", str(d.workspace.root)]) == 0
    line = next(line for line in capfd.readouterr().out.splitlines() if line.startswith("calibrated "))
    assert ("open" in line.split()) is opens and (words is None or words in line.split()) and "749999" not in line
    entry = d.sign(d.prepare(source)).entry
    assert entry.statement.predicate["receipt"]["calibrated_judge_passed"] is opens
    if words is not None:
        assert entry.statement.predicate["receipt"]["calibrated_judge_kappa"] == 0.75
    view = d.ledger.read()
    export = make_export(view, entry, EvidenceStore.beside(d.workspace.ledger_file))
    assert verify_export(export, d.registry, source, view, AcceptedGrids.of(d.workspace)).exit_code == 0


def test_case_11_the_worked_examples_minus_a_fifth_is_printed_as_such(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["decide", str(bundle_file(tmp_path, bundle()))]) == 0
    out = capfd.readouterr().out
    assert "−0.2 " in out and "0.2000000" not in out and "0.19999" not in out


# 13: duplicate ids, and 1 against "1"


def test_case_13_ids_are_text_and_no_row_wins_by_being_last(tmp_path: Path) -> None:
    suite = [{"id": "h1", "prompt": "a"}, {"id": "h1", "prompt": "b"}]
    document = bundle() | {"holdout_suite": suite}
    error = refused("duplicate_holdout_id", 4, lambda: ingest(bundle_file(tmp_path / "a", document), workspace_at(tmp_path), now=NOW))
    assert '"h1"' in str(error)
    source, report = pairs_round(tmp_path / "b", [pair(pair_id=1), pair(pair_id="1")])
    assert source.narrow(["pair_id"])["pair_id"].to_pylist() == ["1"] and report.quarantined == 1
    for part, row in (("judge_records", {"judge_id": "j", "case_id": 1, "rubric_approved": True, "verifier_passed": True}),
                      ("sanity", {"id": 1, "passed": True}), ("outcomes", {"id": 1, "arm": "baseline", "passed": True})):
        folder = folder_of(tmp_path / part, {part: [row]})
        assert refused("wrong_type", 4, lambda folder=folder: ingest(folder, workspace_at(tmp_path), now=NOW)).where is not None
    folder = folder_of(tmp_path / "holdout", {"holdout": [{"id": 1, "prompt": "x"}]}, about=round_of(bundle()))
    refused("wrong_type", 4, lambda: ingest(folder, workspace_at(tmp_path), now=NOW))


@pytest.mark.parametrize("ids", [("a", "a "), ("\u00e9", unicodedata.normalize("NFD", "\u00e9"))])
def test_case_13_ids_that_look_alike_stay_apart_with_a_warning(tmp_path: Path, ids: tuple[str, str]) -> None:
    source, report = pairs_round(tmp_path, [pair(pair_id=name) for name in ids])
    assert source.narrow(["pair_id"])["pair_id"].to_pylist() == list(ids)
    assert [note.severity for note in report.notes if note.code == "look_alike_ids"] == ["warning"]


# 15: same but for spaces, case, markdown; numbers, negation and operators stay apart


def test_case_15_one_group_of_three_and_the_rest_stay_apart(tmp_path: Path) -> None:
    answers = ["Set retries to 3.", "set  retries to 3.", "**Set** retries to `3`.", "Set retries to 30.", "Set retries to -3.",
               "Don't set retries to 3.", "x = a*b", "x = ab"]
    # the second of the group has the lowest loss: policy_logp_chosen nearer to zero
    rows = [pair(pair_id=f"p-{number}", prompt=f"Ask {number}", chosen=answer, rejected=f"No {number}",
                 policy_logp_chosen=-10.0 if number == 1 else -20.0) for number, answer in enumerate(answers)]
    expected = {"p-0": ("p-1", "duplicate"), "p-2": ("p-1", "duplicate")}
    for order in (rows, rows[::-1]):
        place = tmp_path / order[0]["pair_id"]
        _, assessment = whole(place, order)
        found = scored(assessment)
        assert {name: (row["duplicate_of_skeleton"], row["primary_reason"]) for name, row in found.items() if row["state"] == "rejected"} == expected
        assert all(row["duplicate_of_prompt"] is None and row["duplicate_of_joint"] is None for row in found.values())
        assert set(assessment.admitted_pair_ids()) == {"p-1", "p-3", "p-4", "p-5", "p-6", "p-7"}


# 17: tool calls as objects and as JSON strings


def test_case_17_tool_calls_keep_their_meaning_and_three_forms_stay_three(tmp_path: Path) -> None:
    arguments: list[Any] = [{"x": 1}, {"y": [True, None]}, '{"x": 1}']

    def side(value: Any, name: str) -> list[dict[str, Any]]:
        return [{"role": "assistant", "content": None, "tool_calls": [{"function": {"name": name, "arguments": value}}]}]

    rows = [different(number) | {"chosen": side(value, "call"), "rejected": side(value, "other")} for number, value in enumerate(arguments)]
    source, assessment = whole(tmp_path, rows)
    assert sorted(assessment.admitted_pair_ids()) == ["p-0", "p-1", "p-2"]
    stored = [json.loads(value) for _, text in source.pair_batches() for value in text["chosen_messages"].to_pylist()]
    assert stored == [row["chosen"] for row in rows]


# 19: byte-order mark, CRLF, blank last line


def test_case_19_the_same_rows_whatever_the_line_ends_are(tmp_path: Path) -> None:
    rows = [json.dumps(pair(pair_id=f"p-{number}")) for number in range(3)]
    forms = {"plain": "\n".join(rows) + "\n", "odd": "\ufeff" + "\r\n".join(rows) + "\r\n\r\n"}
    kept = {}
    for name, text in forms.items():
        folder = folder_of(tmp_path / name, {})
        (folder / "pairs.jsonl").write_bytes(text.encode())
        source, _ = ingested(tmp_path / f"{name}-ws", folder)
        kept[name] = source.narrow().to_pylist(), [batch.to_pylist() for _, batch in source.pair_batches()]
    assert kept["plain"] == kept["odd"] and len(kept["plain"][0]) == 3
    for code, data in [("utf16", forms["plain"].encode("utf-16")), ("json_list_in_jsonl", f"[{','.join(rows)}]".encode()),
                       ("cut_last_line", "\n".join(rows).encode()[:-9])]:
        folder = folder_of(tmp_path / code, {})
        (folder / "pairs.jsonl").write_bytes(data)
        error = refused(code, 4, lambda folder=folder: ingest(folder, workspace_at(tmp_path), now=NOW))
        assert code != "cut_last_line" or (error.where is not None and error.where.line == 3)
    assert not list(workspace_at(tmp_path).rounds_dir.iterdir())


# 21: big integers, leading zeros, UUID and date-like strings


def test_case_21_ids_and_texts_stay_as_written_from_file_to_receipt(tmp_path: Path) -> None:
    ids = ["007", "7", "550E8400-E29B-41D4-A716-446655440000"]
    rows = [different(number) | {"pair_id": name, "prompt": f"2024-01-0{number + 5}"} for number, name in enumerate(ids)]
    source, assessment = whole(tmp_path, [*rows, pair(pair_id=9007199254740993)])
    assert assessment.reason_table["quarantined"] == 1
    with queries(source, assessment) as found:
        page = found.pair_page(PairFilter(state="admitted"), {}).to_pylist()
        assert sorted(row["pair_id"] for row in page) == sorted(ids)
        assert {found.pair_text(found.pair(name)[0]["ordinal"])["prompt"] for name in ids} == {f"2024-01-0{number}" for number in (5, 6, 7)}  # type: ignore[index]
    assert sorted(json.loads(decide(assessment, REVIEWER).receipt_bytes)["admitted_pair_ids"]) == sorted(ids)
    document = bundle()
    document["holdout_suite"][0]["id"] = 18446744073709551616
    refused("integer_out_of_range", 4, lambda: ingest(bundle_file(tmp_path / "x", document), workspace_at(tmp_path), now=NOW))


# 23: what changes the hash of a holdout


A = [{"id": "h1", "prompt": "Add 2 and 3."}, {"id": "h2", "prompt": "Name the capital of Chile."}]


def suite(prompt: str) -> list[dict[str, str]]:
    return [A[0], {"id": "h2", "prompt": prompt}]


PERU = "Nomme la capitale du P\u00e9rou."


@pytest.mark.parametrize(("items", "digest", "words"), [
    (A, "551296812c08", "nothing: the two lists are the same"), (A[::-1], "2320c724e15a", "same items, other order"),
    ([{"prompt": item["prompt"], "id": item["id"]} for item in A], "551296812c08", "nothing: the two lists are the same"),
    (suite("Name the capital of Chile. "), "ef6b3f2cf545", "item h2, field prompt: differs by trailing white space"),
    (suite(PERU), "a25ccdc3c244", "item h2, field prompt: another text"),
    (suite(unicodedata.normalize("NFD", PERU)), "0c8a2db4046c", "item h2, field prompt: another text"),
    ([*A, {"id": "h3", "prompt": "x"}], None, "item h3 was added"), (A[:1], None, "item h2 was removed"),
])
def test_case_23_one_canonical_form_and_what_differs_is_said(items: list[dict[str, str]], digest: str | None, words: str) -> None:
    assert digest is None or sha256_hex(canonical_bytes(items)).startswith(digest)
    assert holdout_differences(A, items) == [words]


@pytest.mark.parametrize(("lock", "holds"), [
    ("{}", True), ("sha256:{}", True), ("UPPER", True), ("", False), (" ", False), ("{}0", False), ("sha512:{}", False), ("0" * 64, False),
])
def test_case_23_a_lock_in_other_spellings_holds_and_an_empty_one_is_a_refusal(tmp_path: Path, lock: str, holds: bool) -> None:
    digest = bundle()["preregistered_holdout_sha256"]
    assert digest.startswith("eff4e98f")
    written = digest.upper() if lock == "UPPER" else lock.format(digest)
    source, _ = ingested(tmp_path, bundle_file(tmp_path / "input", bundle() | {"preregistered_holdout_sha256": written}))
    decision = decide(assessed(tmp_path, source), REVIEWER)
    assert decision.promote is holds and decision.receipt is not None and decision.receipt["holdout_lock_valid"] is holds


def test_case_23_decide_says_what_differs_where_the_locked_list_is_at_hand(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The round as locked is in the workspace; a second one under the same lock has its items in another order, and one edited."""
    workspace = workspace_at(tmp_path)
    ingest(bundle_file(tmp_path, bundle()), workspace, round_id="locked", now=NOW)
    document = bundle()
    document["holdout_suite"][1]["prompt"] += " "
    ingest(bundle_file(tmp_path, document), workspace, round_id="edited", now=NOW)
    reordered = bundle() | {"holdout_suite": bundle()["holdout_suite"][::-1]}
    ingest(bundle_file(tmp_path, reordered), workspace, round_id="reordered", now=NOW)
    name = bundle()["holdout_suite"][1]["id"]
    for selector, words in (("edited", f"item {name}, field prompt: differs by trailing white space"), ("reordered", "same items, other order")):
        assert run(["decide", selector, "--workspace", str(workspace.root)]) == 3
        assert f"Against the locked list: {words}" in capfd.readouterr().out
        assert run(["decide", selector, "--workspace", str(workspace.root), "--json"]) == 3
        assert json.loads(capfd.readouterr().out)["holdout_differences"] == [words]
    assert run(["decide", "locked", "--workspace", str(workspace.root), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["holdout_differences"] is None


def test_case_23_null_or_absent_is_bad_input(tmp_path: Path) -> None:
    for document in (bundle() | {"preregistered_holdout_sha256": None}, without(bundle(), "preregistered_holdout_sha256")):
        assert run(["ingest", str(bundle_file(tmp_path, document)), "--workspace", str(tmp_path / "workspace")]) == 4
    about = round_of(bundle()) | {"holdout_lock": None}
    refused("missing_lock", 4, lambda: ingest(folder_of(tmp_path / "in", tables_of(bundle()), about=about), workspace_at(tmp_path), now=NOW))


# 25: paired counts (the tests of significance come with the statistics)


@pytest.mark.parametrize(("gained", "lost", "both_right", "both_wrong"), [(9, 1, 69, 21), (2, 0, 5, 3), (0, 0, 4, 1), (1, 0, 3, 1), (1, 0, 0, 0)])
def test_case_25_paired_counts_over_named_denominators(tmp_path: Path, gained: int, lost: int, both_right: int, both_wrong: int) -> None:
    groups = [(gained, False, True), (lost, True, False), (both_right, True, True), (both_wrong, False, False)]
    pairs = [both for count, *both in groups for _ in range(count)]
    n = len(pairs)
    items = [{"id": f"h{number}", "prompt": "x"} for number in range(n)]
    document = bundle() | {
        "holdout_suite": items, "preregistered_holdout_sha256": sha256_hex(canonical_bytes(items)),
        "baseline_outcomes": {f"h{number}": before for number, (before, _) in enumerate(pairs)},
        "candidate_outcomes": {f"h{number}": after for number, (_, after) in enumerate(pairs)},
    }
    source, _ = ingested(tmp_path, bundle_file(tmp_path / "input", document))
    found = assessed(tmp_path, source).document["holdout"]["outcomes"]
    assert (found["fixes"], found["regressions"], found["both_pass"], found["both_fail"], found["n"]) == (gained, lost, both_right, both_wrong, n)
    expected = {"net_gain": (gained - lost, n), "regression_rate": (lost, n), "regressions_over_baseline_passes": (lost, both_right + lost)}
    for name, (over, of) in expected.items():
        assert (found[name]["numerator"], found[name]["denominator"]) == (over, of)
        assert found[name]["value"] == (None if of == 0 else float(Fraction(over, of)))


# 27: the store while others write


def test_case_27_pages_read_while_the_command_line_writes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source, assessment = whole(tmp_path, [different(number) for number in range(5)])
    with queries(source, assessment) as open_page:
        before = open_page.pair_page(PairFilter(), {}).to_pylist()
        assert run(["ingest", str(bundle_file(tmp_path / "other", bundle())), "--workspace", str(tmp_path / "workspace")]) == 0
        assert run(["decide", source.digest, "--workspace", str(tmp_path / "workspace")]) == 0
        assert open_page.pair_page(PairFilter(), {}).to_pylist() == before and len(before) == 5
        with queries(source, assessment) as second_page:
            assert second_page.pair_page(PairFilter(), {}).to_pylist() == before


HOLDER = """
import sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from core.rounds.workspace import Workspace
from core.files import locked
workspace = Workspace.open(Path(sys.argv[1]))
with locked(workspace.ledger_file.with_name("ledger.lock")), workspace.temporary("ingest-") as folder:
    (folder / "half").write_bytes(b"x")
    print("held", flush=True)
    time.sleep(600)
"""


def test_case_27_a_killed_process_leaves_no_stuck_lock_and_no_half_round(tmp_path: Path) -> None:
    d = desk(tmp_path)
    source = d.round()
    code = HOLDER.format(root=str(Path(__file__).parents[2]))
    with subprocess.Popen([sys.executable, "-c", code, str(d.workspace.root)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        process.kill()
    assert d.propose(source).index == 0
    assert d.sign(d.prepare(source)).entry.index == 1
    assert not any(path.name.startswith("ingest-") for path in d.workspace.tmp_dir.iterdir())
    assert len(d.workspace.rounds()) == 1


# 31: who somebody is


def test_case_31_an_id_is_only_what_a_registered_key_proves(tmp_path: Path) -> None:
    """The bundle names its reviewer; somebody else's key is refused, and the receipt says how the reviewer was identified."""
    d = desk(tmp_path)
    source = d.round()
    d.propose(source)
    refused("another_reviewer_named", 5, lambda: d.prepare(source, d.ben))
    prepared = d.prepare(source)
    before = d.tree()
    for other in (d.ben, d.eva):
        refused("anothers_key", 5, lambda other=other: d.sign(prepared, other))
    assert d.tree() == before
    signed = d.sign(prepared).entry
    assert signed.statement.predicate["reviewer"] == REVIEWER and signed.statement.predicate["identified_by"] == "registered_key"
    assert signed.envelope.signature.keyid == d.verifier.public.keyid


def test_case_31_the_dashboard_listens_on_this_machine_unless_told_otherwise() -> None:
    assert SETTINGS["server"]["address"] == "localhost"


# the worked example, whatever the form and the order


@pytest.mark.parametrize("form", ["jsonl", "json", "parquet"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_worked_example_gives_its_receipt_in_every_form_with_rows_and_keys_shuffled(tmp_path: Path, form: str, seed: int) -> None:
    """Rows of every list in another order, the holdout excepted, and the keys of every row, the holdout's included."""
    dice = random.Random(seed)

    def mixed(rows: list[dict[str, Any]], part: str) -> list[dict[str, Any]]:
        order = rows if part == "holdout" else dice.sample(rows, len(rows))
        return [{name: row[name] for name in dice.sample(sorted(row), len(row))} for row in order]

    parts = {part: mixed(rows, part) for part, rows in tables_of(bundle()).items()}
    assert {part for part, rows in parts.items() if rows != tables_of(bundle())[part]} >= {"pairs", "judge_records", "outcomes", "sanity"}
    source, _ = ingested(tmp_path, folder_of(tmp_path / "input", parts, about=round_of(bundle()), form=form))
    receipt = json.loads((Path(__file__).parents[1] / "fixtures/worked_example/receipt.json").read_bytes())
    assert decide(assessed(tmp_path, source), REVIEWER).receipt_bytes == canonical_bytes(receipt)


# and what a table of pairs must never do: drop a row in silence


def test_every_input_row_ends_in_exactly_one_place(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """3 admitted, 1 collapsed, 1 of an unknown judge, 2 broken, 1 repeated: 8 in = 3 + 1 + 1 + 3, in table, pages and CLI."""
    rows: list[Any] = [different(number) for number in range(3)]
    rows += [different(3, policy_logp_chosen=-40.0, policy_logp_rejected=-90.0), different(4, origin="synthetic", judge_id="stranger"),
             different(5, chosen_token_count=2.5), "no object", different(0)]
    source, assessment = whole(tmp_path, rows)
    table = assessment.reason_table
    assert {name: table[name] for name in ("in", "admitted", "rejected", "held", "quarantined")} == {
        "in": 8, "admitted": 3, "rejected": 1, "held": 1, "quarantined": 3}
    with queries(source, assessment) as found:
        assert found.state_counts().total == 8
        reasons = found.quarantined().to_pylist()
        assert sorted((row["line"], row["field"], row["code"]) for row in reasons) == [
            (6, "chosen_token_count", "bad_token_count"), (7, "", "wrong_type"), (8, "", "repeated_row")]
    assert run(["decide", source.digest, "--workspace", str(tmp_path / "workspace")]) == 0
    assert "Pairs: 8 in = 3 admitted + 1 rejected + 1 held + 3 quarantined" in capfd.readouterr().out
