"""Outcomes, judge records and canaries by an explicit mapping: the published files and their counts, and mappings that do not fit."""
from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support_eval_logs import jsonl

from core.errors import RoundError
from core.rounds.columns import CellFault
from core.rounds.readers.format import Declared
from core.rounds.readers.formats import FORMATS, detect

ROOT = Path(__file__).parents[2]
SOURCES, PUBLISHED = ROOT / "data" / "sources", ROOT / "tests" / "fixtures" / "published"


def read(name: str, path: Path, **options: str) -> tuple[list[Any], list[str]]:
    """The values of the rows, and the codes of the notes. Options are spelled with two underscores for a point."""
    declared = Declared(path, path.name, {key.rstrip("_").replace("__", "."): value for key, value in options.items()})
    return [row.value for row in FORMATS[name].rows(declared)], [note.code for note in declared.notes]


def outcomes(path: Path, arm: str = "baseline", **options: str) -> dict[Any, bool | None]:
    """(id, run) -> verdict."""
    return {(row["id"], row.get("run")): row["passed"] for row in read("mapped-outcomes", path, arm=arm, **options)[0]}


def confusion(path: Path, **options: str) -> tuple[int, int, int, int]:
    """(tp, fp, fn, tn) of a judge: approved against passed."""
    rows, _ = read("mapped-judge-records", path, judge="judge", **options)
    found = Counter((row["rubric_approved"], row["verifier_passed"]) for row in rows)
    return found[True, True], found[True, False], found[False, True], found[False, False]


def flips(base: dict[Any, bool | None], candidate: dict[Any, bool | None]) -> tuple[int, int, int, int]:
    """(baseline passes, candidate passes, gained, lost)."""
    assert base.keys() == candidate.keys()
    return (
        sum(map(bool, base.values())), sum(map(bool, candidate.values())), sum(candidate[key] is True and base[key] is False for key in base),
        sum(candidate[key] is False and base[key] is True for key in base),
    )


@pytest.mark.parametrize(("base", "candidate", "counts"), [
    ("ref", "rpo-20", (21, 15, 3, 9)), ("ref", "rpo-40", (21, 20, 6, 7)), ("ref", "rpo-60", (21, 19, 5, 7)),
    ("rpo-60", "dpo-only-60", (19, 11, 3, 11)), ("ref", "dpo-only-60", (21, 11, 3, 13)),
])
def test_smollm2_holdout(base: str, candidate: str, counts: tuple[int, int, int, int]) -> None:
    """data/SOURCES.md: holdout, strict, of 120."""
    path = SOURCES / "smollm2" / "holdout.jsonl.gz"
    mapping = {"column__id": "key", "column__passed": "strict", "column__response": "response", "integer_ids": "text"}
    arms = [outcomes(path, where=f"model={name}", **mapping) for name in (base, candidate)]
    assert len(arms[0]) == 120
    assert flips(arms[0], arms[1]) == counts


@pytest.mark.parametrize(("base", "candidate", "counts"), [
    ("Qwen__Qwen2.5-3B-Instruct-GPTQ-Int4", "Qwen__Qwen2.5-7B-Instruct-GPTQ-Int4", (310, 395, 112, 27)),
    ("gpt-4o-mini-2024-07-18", "gpt-4o-2024-08-06", (435, 455, 40, 20)),
])
def test_ifeval_outcomes(base: str, candidate: str, counts: tuple[int, int, int, int]) -> None:
    """data/SOURCES.md: prompt-level strict, the same 541 prompts."""
    path = SOURCES / "ifeval" / "outcomes_en.jsonl.gz"
    arms = [outcomes(path, column__id="key", column__passed="strict", integer_ids="text", where=f"model={name}") for name in (base, candidate)]
    assert len(arms[0]) == 541
    assert flips(arms[0], arms[1]) == counts


@pytest.mark.parametrize(("base", "candidate", "counts"), [
    ("6b_finetuning", "6b_verification", (286, 515, 293, 64)), ("175b_finetuning", "175b_verification", (458, 742, 360, 76)),
])
def test_gsm8k_solutions(base: str, candidate: str, counts: tuple[int, int, int, int]) -> None:
    """tests/fixtures/published/SOURCES.md, and the counts that the full file gives: 1,319 questions."""
    path = PUBLISHED / "gsm8k_outcomes.jsonl.gz"
    arms = [outcomes(path, column__id="question_sha256_16", column__passed=f"{name}.is_correct") for name in (base, candidate)]
    assert len(arms[0]) == 1319
    assert flips(arms[0], arms[1]) == counts


def test_tau_bench_trials_are_runs() -> None:
    """50 tasks of 4 trials, 84 of 200 with reward 1."""
    path = PUBLISHED / "tau_airline_outcomes.jsonl.gz"
    found = outcomes(path, column__id="task_id", column__run="trial", column__passed="reward", integer_ids="text")
    assert (len(found), sum(map(bool, found.values()))) == (200, 84)
    assert len({name for name, _ in found}) == 50


@pytest.mark.parametrize(("model", "kept"), [("rpo-20", 7), ("rpo-40", 6), ("rpo-60", 5), ("dpo-only-20", 1), ("dpo-only-40", 1), ("dpo-only-60", 0)])
def test_smollm2_canaries(model: str, kept: int) -> None:
    """data/SOURCES.md: ref passes 8 of 10 (not s-08, s-10); how many of those 8 the others keep."""
    path = SOURCES / "smollm2" / "sanity.jsonl.gz"
    mapping = {"column__id": "id", "column__passed": "passed", "column__prompt": "prompt", "column__response": "response"}
    base, other = ({row["id"]: row["passed"] for row in read("mapped-sanity", path, where=f"model={name}", **mapping)[0]} for name in ("ref", model))
    assert [name for name, passed in base.items() if not passed] == ["s-08", "s-10"]
    assert sum(base[name] and other[name] for name in base) == kept


@pytest.mark.parametrize(("file", "options", "counts"), [
    ("rollouts", {"where": "model=rpo-60", "column__rubric_approved": "loose"}, (77, 12, 0, 391)),
    ("rollouts", {"where": "model=dpo-only-60", "column__rubric_approved": "loose"}, (46, 22, 0, 412)),
    ("rollouts", {"where": "model=rpo-60", "column__rubric_approved": "self_judge_p_yes", "approve": ">=0.5"}, (24, 178, 53, 225)),
    ("rollouts", {"where": "model=dpo-only-60", "column__rubric_approved": "self_judge_p_yes", "approve": ">=0.5"}, (22, 238, 24, 196)),
])
def test_judges_of_smollm2_rollouts(file: str, options: dict[str, str], counts: tuple[int, int, int, int]) -> None:
    """data/SOURCES.md: judge against the strict check."""
    path = SOURCES / "smollm2" / f"{file}.jsonl.gz"
    assert confusion(path, column__case_id="model+task_id+rollout", column__verifier_passed="strict", **options) == counts


@pytest.mark.parametrize(("judge", "more", "counts"), [
    ("loose", {}, (86, 5, 0, 509)), ("self_judge_p_yes", {"approve": ">=0.5"}, (29, 234, 57, 280)),
])
def test_judges_of_smollm2_holdout(judge: str, more: dict[str, str], counts: tuple[int, int, int, int]) -> None:
    path = SOURCES / "smollm2" / "holdout.jsonl.gz"
    assert confusion(path, column__case_id="model+key", column__verifier_passed="strict", column__rubric_approved=judge, **more) == counts


def test_the_lenient_judge_of_ifeval() -> None:
    """data/SOURCES.md: 9,197 pooled, loose as the judge: TP 5,959, FP 419, FN 9, TN 2,810."""
    path = SOURCES / "ifeval" / "outcomes_en.jsonl.gz"
    found = confusion(path, column__case_id="model+key", column__verifier_passed="strict", column__rubric_approved="loose")
    assert found == (5959, 419, 9, 2810)


def test_words_of_a_judge_are_declared() -> None:
    """data/SOURCES.md, MR-GSM8K: 317 both correct, 129 judge only, 48 human only, 357 both wrong; the judge's words are untidy."""
    path = SOURCES / "mr_gsm8k" / "gpt4_vs_human_grading.jsonl.gz"
    mapping = {
        "column__case_id": "graded_model+uuid", "column__verifier_passed": "human_verdict", "column__rubric_approved": "gpt4_final_decision",
        "pass_": "correct", "fail": "incorrect",
    }
    assert confusion(path, approve="Correct,- Correct,[Correct]", reject="Wrong,- Wrong", **mapping) == (317, 129, 48, 357)
    rows, _ = read("mapped-judge-records", path, judge="judge", approve="Correct", reject="Wrong", **mapping)
    faults = [row for row in rows if isinstance(row, CellFault)]
    # 7 "- Correct", 3 "- Wrong", 2 "[Correct]"
    assert (len(faults), {row.code for row in faults}) == (12, {"undeclared_verdict"})


def rows_file(place: Path) -> Path:
    return jsonl(place, [{"key": 7, "a": {"b": True}, "a.c": False, "text": "é", "model": "m", "other": None}], "rows.jsonl")


def test_ids_may_be_digests_or_put_together(tmp_path: Path) -> None:
    path = rows_file(tmp_path)
    for place, name in (("key", "7"), ("sha256:text", hashlib.sha256("é".encode()).hexdigest()), ("model+key", "m/7")):
        rows, notes = read("mapped-outcomes", path, arm="candidate", column__id=place, column__passed="a.b", integer_ids="text")
        assert rows == [{"arm": "candidate", "id": name, "passed": True}]
        assert "columns_left_out" in notes
    rows, _ = read("mapped-outcomes", path, arm="candidate", column__id="model", column__passed="a.c")
    assert rows[0]["passed"] is False
    slashed = jsonl(tmp_path, [{"a": "x/y", "b": "z", "p": True}], "slashed.jsonl")
    for place in ("a+b", "sha256:p", "sha256:a+b"):
        rows, _ = read("mapped-outcomes", slashed, arm="candidate", column__id=place, column__passed="p")
        assert rows[0].code == "wrong_type"


def test_an_integer_is_no_id_unless_declared(tmp_path: Path) -> None:
    """Case 13: never turned into text unseen."""
    rows, _ = read("mapped-outcomes", rows_file(tmp_path), arm="candidate", column__id="key", column__passed="a.b")
    assert (rows[0].code, rows[0].field) == ("integer_id", "key")
    _, notes = read("mapped-outcomes", rows_file(tmp_path), arm="candidate", column__id="key", column__passed="a.b", integer_ids="text")
    assert "numbered_ids" in notes


def test_a_row_twice_is_refused_and_where_is_what_helps(tmp_path: Path) -> None:
    path = jsonl(tmp_path, [{"id": "a", "m": "x", "n": 1, "p": True}, {"id": "a", "m": "y", "n": 2, "p": False}], "rows.jsonl")
    mapping = {"arm": "baseline", "column__id": "id", "column__passed": "p"}
    rows, _ = read("mapped-outcomes", path, **mapping)
    assert (rows[1].code, "where=" in rows[1].expected) == ("duplicate_row", True)
    rows, notes = read("mapped-outcomes", path, where="m=y", **mapping)
    assert ([row["passed"] for row in rows], "rows_left_out" in notes) == ([False], True)
    assert read("mapped-outcomes", path, where="n=1", **mapping)[0][0]["passed"] is True


def test_a_run_that_is_a_list_is_left_to_be_typed(tmp_path: Path) -> None:
    path = jsonl(tmp_path, [{"id": "a", "run": [1], "p": True}, {"id": "a", "run": {"n": 1}, "p": True}], "rows.jsonl")
    rows, _ = read("mapped-outcomes", path, arm="baseline", column__id="id", column__run="run", column__passed="p")
    assert [row["run"] for row in rows] == [[1], {"n": 1}]


def test_cells_of_csv_are_texts_that_a_rule_speaks_of(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,ok\n007,1\n7,0\n", "utf-8")
    rows, _ = read("mapped-outcomes", path, arm="baseline", column__id="id", column__passed="ok", pass_="1", fail="0")
    assert [(row["id"], row["passed"]) for row in rows] == [("007", True), ("7", False)]
    rows, _ = read("mapped-outcomes", path, arm="baseline", column__id="id", column__passed="ok")
    assert rows[0].code == "undeclared_verdict"


@pytest.mark.parametrize(("name", "options", "code"), [
    ("mapped-outcomes", {"column__id": "key"}, "missing_option"), ("mapped-outcomes", {"column__passed": "a.b"}, "missing_option"),
    ("mapped-outcomes", {"column__id": "key", "column__passed": "a.b", "column__score": "a"}, "unknown_column"),
    ("mapped-outcomes", {"column__id": "key", "column__passed": "a.b", "column__arm": "model"}, "said_twice"),
    ("mapped-outcomes", {"column__id": "key", "column__passed": "a.b", "where": "model"}, "bad_option"),
    ("mapped-outcomes", {"column__id": "key", "column__passed": "a.b", "where": "model=other"}, "no_rows"),
    ("mapped-judge-records", {"column__case_id": "key", "column__rubric_approved": "a.b", "column__verifier_passed": "a.b"}, "missing_option"),
])
def test_mappings_that_do_not_fit_are_refused(tmp_path: Path, name: str, options: dict[str, str], code: str) -> None:
    arm = {"arm": "baseline"} if name == "mapped-outcomes" else {}
    with pytest.raises(RoundError) as caught:
        read(name, rows_file(tmp_path), **arm, **options)
    assert caught.value.code == code


def test_a_mapping_is_never_detected(tmp_path: Path) -> None:
    with pytest.raises(RoundError) as caught:
        detect(rows_file(tmp_path), "rows.jsonl", part="outcomes")
    assert caught.value.code == "unrecognised_format"


def test_the_texts_of_csv_are_numbers_only_where_declared(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("id,score,run\n007,0.7,1\n7,0.50,1\n007,1e-1,2\n", "utf-8")
    mapping = {"column__id": "id", "column__passed": "score", "column__run": "run", "pass_": ">=0.5"}
    values, _ = read("mapped-outcomes", path, arm="baseline", **mapping)
    assert [value.code for value in values] == ["undeclared_verdict"] * 3
    # ids stay text: 007 and 7 are two items
    assert outcomes(path, numbers="json", **mapping) == {("007", 1): True, ("7", 1): True, ("007", 2): False}
    for cell in ("", "nan", "0,7", "true", " 1", "0x1"):
        path.write_text(f'id,score,run\n7,"{cell}",1\n', "utf-8")
        (value,), _ = read("mapped-outcomes", path, arm="baseline", numbers="json", **mapping)
        assert (value.code, value.field) == ("wrong_type", "score")
