"""IFEval result files: the published ones and their counts, ids by rule, and rows that contradict themselves."""
from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from support_eval_logs import fault, jsonl, read, verdicts

from core.rounds.readers.ifeval import FORMAT, recognise

PUBLISHED = Path(__file__).parents[2] / "data" / "sources" / "ifeval"
RESULTS = {size: PUBLISHED / f"eval_results_strict.Qwen__Qwen2.5-{size}-Instruct-GPTQ-Int4.jsonl.gz" for size in ("3B", "7B")}


def result(prompt: str = "Write.", verdict: Any = True, each: Any = (True, True), **more: Any) -> dict[str, Any]:
    return {
        "follow_all_instructions": verdict, "follow_instruction_list": list(each) if isinstance(each, tuple) else each,
        "instruction_id_list": ["punctuation:no_comma"] * 2, "prompt": prompt, "response": "Done",
    } | more


def test_the_published_files_give_the_published_counts() -> None:
    """data/SOURCES.md, prompt-level strict: 310 of 541 (3B), 395 of 541 (7B), gained 112, lost 27."""
    base, candidate = (dict(verdicts(FORMAT, RESULTS[size], id="sha256:prompt")) for size in ("3B", "7B"))
    assert (len(base), sum(map(bool, base.values())), sum(map(bool, candidate.values()))) == (541, 310, 395)
    assert base.keys() == candidate.keys()
    assert sum(candidate[name] is True and base[name] is False for name in base) == 112
    assert sum(candidate[name] is False and base[name] is True for name in base) == 27


def test_the_id_is_what_the_proposer_declares(tmp_path: Path) -> None:
    path = jsonl(tmp_path, [result("é\u0301 Schreib.", key="007"), result("b", key=7)])
    rows, notes = read(FORMAT, path, id="sha256:prompt")
    assert rows[0]["id"] == hashlib.sha256("é\u0301 Schreib.".encode()).hexdigest()
    assert notes == []
    rows, notes = read(FORMAT, path, id="key")
    assert ([row["id"] for row in rows], notes) == (["007", "7"], ["numbered_ids"])
    assert fault(FORMAT, path, id="name") == ("missing_field", "line 1, field name")
    assert FORMAT.options["id"].required


def test_the_same_prompt_twice_is_refused(tmp_path: Path) -> None:
    assert fault(FORMAT, jsonl(tmp_path, [result("a"), result("a")]), id="sha256:prompt") == ("duplicate_outcome", "line 2, field sha256:prompt")


def test_a_reply_that_is_null_is_a_failure_with_its_verdict(tmp_path: Path) -> None:
    """data/SOURCES.md: o1-preview has null responses, scored as failures."""
    rows, _ = read(FORMAT, jsonl(tmp_path, [result(verdict=False, each=(True, False), response=None)]), id="sha256:prompt")
    assert (rows[0]["passed"], rows[0]["response"]) == (False, None)


@pytest.mark.parametrize(("row", "code", "field"), [
    (result(verdict=1), "wrong_type", "follow_all_instructions"), (result(verdict="true"), "wrong_type", "follow_all_instructions"),
    (result(verdict=None), "wrong_type", "follow_all_instructions"), (result(verdict=False), "verdict_conflict", "follow_instruction_list"),
    (result(each=(True, False)), "verdict_conflict", "follow_instruction_list"), (result(each=(1, 1)), "verdict_conflict", "follow_instruction_list"),
    (result(each="yes"), "verdict_conflict", "follow_instruction_list"), (result(prompt=None), "wrong_type", "sha256:prompt"),
])
def test_rows_that_are_no_results_are_refused(tmp_path: Path, row: dict[str, Any], code: str, field: str) -> None:
    assert fault(FORMAT, jsonl(tmp_path, [row]), id="sha256:prompt") == (code, f"line 1, field {field}")


def test_recognised_by_its_keys(tmp_path: Path) -> None:
    assert recognise([result()], tmp_path / "eval_results_strict.jsonl")
    assert recognise([{name: value for name, value in result().items() if name != "follow_instruction_list"}], tmp_path / "x.jsonl") is None
    assert recognise([], tmp_path / "x.jsonl") is None


@pytest.mark.parametrize(("each", "asked"), [((), []), ((), ["a"]), ((True,), ["a", "b"]), ((True, True), ["a"]), ((True,), "a"), ((True,), None)])
def test_a_verdict_without_a_flag_for_each_instruction_is_refused(tmp_path: Path, each: tuple[bool, ...], asked: Any) -> None:
    """All of no instructions is true: a row without instructions would pass for nothing."""
    path = jsonl(tmp_path, [result("a", True, each, instruction_id_list=asked)])
    assert fault(FORMAT, path, id="sha256:prompt") == ("verdict_conflict", "line 1, field follow_instruction_list")


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    assert fault(FORMAT, jsonl(tmp_path, []), id="sha256:prompt") == ("no_rows", "samples_demo.jsonl")


def test_under_another_id_the_prompt_is_kept_as_a_digest(tmp_path: Path) -> None:
    path = jsonl(tmp_path, [result("Write.", key="k")])
    assert read(FORMAT, path, id="key")[0][0]["prompt_hash"] == hashlib.sha256(b"Write.").hexdigest()
    assert "prompt_hash" not in read(FORMAT, path, id="sha256:prompt")[0][0]
