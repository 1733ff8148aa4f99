"""What is told about a round without stopping it: look-alike ids, mixed scripts, extra columns, models, judges."""
from __future__ import annotations

import hashlib
import unicodedata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support_rounds import PAIR, ROUND, WORKED_EXAMPLE, bundle, bundle_file, folder_of, ingested, pair, pairs_round, tables_of, without

from core.rounds.inspection import answer_templates, extra_columns, mixed_script_prompts, same_texts
from core.rounds.near_ids import look_alikes
from core.rounds.note import named
from core.rounds.notes import round_notes


def codes(notes: Any) -> list[str]:
    return [note.code for note in notes]


@pytest.mark.parametrize(("ids", "groups"), [
    (["a", "a "], [("a", "a ")]),
    (["é", unicodedata.normalize("NFD", "é")], [("e\u0301", "é")]),
    (["h 1", "h1", "h\u00a01", "h2"], [("h 1", "h1", "h\u00a01")]),
    (["x\u200b", "x"], [("x", "x\u200b")]),
    (["007", "7"], []),
    (["A", "a"], []),
    (["a ", "b ", "c"], []),
    (["a", "a"], []),
    ([], []),
])
def test_case_13_ids_that_look_the_same(ids: list[str], groups: list[tuple[str, ...]]) -> None:
    assert look_alikes(pa.chunked_array([ids], pa.string())) == groups


def test_look_alike_ids_of_each_part_are_warned_about(tmp_path: Path) -> None:
    document = bundle()
    document["verified_candidates"][1]["pair_id"] = "pair-rpo-clean-1 "
    document["calibrated_judge_records"][1]["case_id"] = "c-0\u00ad1"
    document["sanity_outcomes"]["s-01 "] = True
    _, report = ingested(tmp_path, bundle_file(tmp_path, document))
    found = [note for note in report.notes if note.code == "look_alike_ids"]
    assert [(note.severity, note.text.partition(":")[0]) for note in found] == [
        ("warning", "pairs"), ("warning", "judge_records"), ("warning", "sanity"),
    ]
    assert "'pair-rpo-clean-1', 'pair-rpo-clean-1 '" in found[0].text


def test_the_worked_example_gives_no_notes(tmp_path: Path) -> None:
    source, report = ingested(tmp_path, WORKED_EXAMPLE)
    assert report.notes == ()
    assert round_notes(source) == []


def test_answers_of_one_template_are_reported_largest_cluster_first(tmp_path: Path) -> None:
    # t1 masks numbers: three answers read "the answer is <num>", two "call <id> first", one stands alone
    answers = {"p-1": "The answer is 42.", "p-2": "The answer is 7", "p-3": "the  answer is 43.", "p-4": "Call read_state first.",
               "p-5": "Call write_state first.", "p-6": "Nothing of the kind."}
    source, _ = pairs_round(tmp_path, [pair(pair_id=name, chosen=answer, prompt=name) for name, answer in answers.items()])
    seen: list[tuple[int, int]] = []
    clusters = answer_templates(source, lambda done, total: seen.append((done, total)))
    assert [cluster.pair_ids for cluster in clusters] == [("p-1", "p-2", "p-3"), ("p-4", "p-5")]
    assert clusters[0].template == "the answer is <num>" and seen[-1] == (6, 6)


def test_prompts_with_mixed_scripts_are_found(tmp_path: Path) -> None:
    source, _ = pairs_round(tmp_path, [pair(), pair(pair_id="p-2", prompt="\u0421afe menu"), pair(pair_id="p-3", prompt="Café")])
    found = mixed_script_prompts(source)
    assert (found.count, found.examples) == (1, (("p-2", ("\u0421afe",)),))


def test_texts_that_are_there_twice_are_counted_whatever_else_is_wrong(tmp_path: Path) -> None:
    turn = [{"role": "assistant", "content": "Yes."}]
    rows = [
        pair(pair_id="a", rejected=PAIR["chosen"]), pair(pair_id="b", chosen="No. ", policy_logp_chosen=None), pair(pair_id="c", prompt="Other."),
        pair(pair_id="d", prompt="Other.", chosen=turn, rejected=[turn[0] | {"content": " Yes."}]),
        pair(pair_id="e", prompt=[{"role": "user", "content": "Other."}]),
    ]
    source, _ = pairs_round(tmp_path, rows)
    # a: exactly; b ("No. " and "No.") and d: once trimmed. b repeats a's prompt, d repeats c's; the same words as a message are another prompt
    seen: list[tuple[int, int]] = []
    same = same_texts(source, lambda done, total: seen.append((done, total)))
    assert (same.exact, same.trimmed, same.identical, same.identical_ids) == (1, 2, 3, ("a", "b", "d"))
    assert (same.repeated, same.repeated_ids) == (2, ("b", "d")) and seen == [(5, 5)]


def test_extra_columns_by_part(tmp_path: Path) -> None:
    parts = {"pairs": [pair(b=1), pair(pair_id="q", a=None)], "sanity": [{"id": "s", "passed": True, "tool": "x"}], "outcomes": []}
    source, report = ingested(tmp_path, folder_of(tmp_path / "input", parts))
    assert extra_columns(source) == {"pairs": ["a", "b"], "sanity": ["tool"]}
    assert codes(report.notes).count("extra_columns") == 2


def test_models_behind_the_log_probs(tmp_path: Path) -> None:
    about = ROUND | {
        "baseline": {"name": "base", "digest": "1" * 64}, "candidate": {"name": "new", "digest": "2" * 64},
        "policy": {"name": "new", "digest": "2" * 64}, "reference": {"name": "older", "digest": "3" * 64},
    }
    _, report = ingested(tmp_path / "a", folder_of(tmp_path / "a" / "i", {"pairs": [pair()]}, about=about))
    assert codes(report.notes) == ["incomplete_round", "reference_is_not_baseline"]
    unstated = about | {"reference": {"name": "older"}, "policy": {"name": "x", "digest": "4" * 64}}
    _, report = ingested(tmp_path / "b", folder_of(tmp_path / "b" / "i", {"pairs": [pair()]}, about=unstated))
    assert codes(report.notes) == ["incomplete_round", "policy_is_not_candidate"]


def test_judges_and_rubrics(tmp_path: Path) -> None:
    rubric = "Approve only what the verifier passes."
    about = ROUND | {
        "receipt_judges": {"calibrated": "calibrated", "uncalibrated": "absent"},
        "judges": {
            "calibrated": {"rubric": rubric, "rubric_sha256": hashlib.sha256(rubric.encode()).hexdigest()},
            "other": {"rubric": rubric, "rubric_sha256": "0" * 64},
        },
    }
    parts = {"judge_records": tables_of(bundle())["judge_records"]}
    _, report = ingested(tmp_path, folder_of(tmp_path / "input", parts, about=about))
    assert codes(report.notes) == ["incomplete_round", "rubric_digest_differs", "judge_without_records"]
    assert ("'other'" in report.notes[1].text, "'absent'" in report.notes[2].text) == (True, True)


def test_quarantine_missing_columns_and_labels(tmp_path: Path) -> None:
    rows = [without(pair(), "ref_logp_chosen") | {"ref_chosen_logps": -1.0}, pair(pair_id=1)]
    _, report = ingested(tmp_path, folder_of(tmp_path / "input", {"pairs": rows}, about=ROUND | {"verification": "dataset_label"}))
    assert codes(report.notes) == ["extra_columns", "incomplete_round", "quarantined_rows", "dataset_label", "missing_column"]
    assert "ref_logp_chosen" in report.notes[-1].text


def test_long_lists_name_their_first() -> None:
    assert named(["a", "b"]) == "'a', 'b'"
    assert named(map(str, range(8))) == "'0', '1', '2', '3', '4' and 3 more"
