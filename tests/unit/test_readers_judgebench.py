"""JudgeBench's judge outputs as judge records: both orders, ties, missing judgments, and rows that have no judge.

Rows as ``run_judge.py`` writes them (ScalerLab/JudgeBench: ``judge_name`` and ``judgments`` beside the benchmark's keys, the second judgment with the
answers exchanged; ``flip_judgment`` in utils/metrics.py turns its decision back; a failed judgment is null; a judge may say A=B). The scores of
ROWS[0] and ROWS[1] are those of the first two pairs in outputs/...judge_name=reward_model,judge_model=internlm_internlm2-7b-reward.jsonl.
"""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_formats import codes, folder, note, written
from support_rounds import ingested, nothing_written

from core.errors import RoundError
from core.rounds.folder import Round
from core.rounds.ingest import IngestReport
from core.rounds.readers.format import Declared
from core.rounds.readers.formats import FORMATS, detect
from core.rounds.readers.sources import Opened, known_total

MODEL = "internlm/internlm2-7b-reward"


def judgment(decision: str | None, scores: list[float] | None = None, **more: Any) -> dict[str, Any]:
    about = {"judge_model": MODEL, "prompt": "", "response": ""} | ({} if scores is None else {"scores": scores})
    return {"judgment": about | more, "decision": decision}


def pair(name: str, label: str, *judgments: Any, **more: Any) -> dict[str, Any]:
    return {
        "pair_id": name, "original_id": 1420, "source": "mmlu-pro-law", "question": "Which?", "response_model": "gpt-4o-2024-05-13",
        "response_A": "FFFFF", "response_B": "AAA", "label": label, "judge_name": "reward_model", "judgments": list(judgments),
    } | more


ROWS = [
    pair("p-1", "A>B", judgment("A>B", [1.8837890625, 1.2587890625]), judgment("B>A", [1.2587890625, 1.8837890625])),
    pair("p-2", "A>B", judgment("B>A", [1.677734375, 2.818359375]), judgment("A>B", [2.818359375, 1.677734375])),
]


def read(place: Path, rows: Any, name: str = "a.jsonl", form: str = "auto", **options: str) -> tuple[Round, IngestReport]:
    stated = {key: value for key, value in ({"judge": "internlm2-7b"} | options).items() if value}
    sources = {"judge_records": [{"file": name, "format": form, "options": stated}]}
    return ingested(place, folder(place / "input", sources, {name: rows}))


def records(source: Round, *names: str) -> list[tuple[Any, ...]]:
    rows = sorted(source.table("judge_records").to_pylist(), key=lambda row: (row["case_id"], row["order_swapped"]))
    return [tuple(row[name] for name in names) for row in rows]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.jsonl.zst", "a.parquet"])
def test_each_judgment_becomes_a_record_in_the_original_numbering(tmp_path: Path, name: str) -> None:
    """p-1: both orders name A, and the label does. p-2: both orders name B (the second says A>B of the exchanged answers)."""
    source, report = read(tmp_path, ROWS, name)
    assert records(source, "case_id", "order_swapped", "choice", "rubric_approved", "verifier_passed") == [
        ("p-1", False, "1", True, True), ("p-1", True, "1", True, True), ("p-2", False, "2", False, True), ("p-2", True, "2", False, True),
    ]
    assert records(source, "judge_id", "slice", "prompt", "response", "response_b", "length_first", "length_second")[:2] == [
        ("internlm2-7b", "mmlu-pro-law", "Which?", "FFFFF", "AAA", 5, 3), ("internlm2-7b", "mmlu-pro-law", "Which?", "FFFFF", "AAA", 3, 5),
    ]
    assert report.counts["judge_records"] == 4
    assert note(report, "judgments_read") == f"{name}: 2 pairs hold 4 judgments; each became a record"
    assert "judgebench" in note(report, "foreign_format")


def test_the_rest_of_a_row_is_kept(tmp_path: Path) -> None:
    rows = list(FORMATS["judgebench"].rows(declared(tmp_path, [pair("p", "B>A", judgment("A>B", [2.0, 1.0], response="Because."))])))
    value = rows[0].value
    assert (value["rationale"], value["original_id"], value["judge_name"], value["response_model"]) == (
        "Because.", 1420, "reward_model", "gpt-4o-2024-05-13",
    )
    assert value["judgment"] == {"judge_model": MODEL, "prompt": "", "scores": [2.0, 1.0]}
    assert (value["rubric_approved"], value["verifier_passed"], value["order_swapped"]) == (True, False, False)


def declared(place: Path, rows: list[Any]) -> Declared:
    return Declared(written(place, "a.jsonl", rows), "a.jsonl", {"judge": "j"})


def test_one_order_alone(tmp_path: Path) -> None:
    """run_judge.py --single_game writes one judgment."""
    source, _ = read(tmp_path, [pair("p", "B>A", judgment("B>A"))])
    assert records(source, "order_swapped", "choice", "rubric_approved", "verifier_passed") == [(False, "2", False, False)]


@pytest.mark.parametrize(("ties", "approved"), [("not_approved", False), ("no_verdict", None)])
def test_what_a_tie_is_has_to_be_declared(tmp_path: Path, ties: str, approved: bool | None) -> None:
    rows = [pair("p", "A>B", judgment("A=B"), judgment("A=B"))]
    error = refused(tmp_path / "a", rows)
    assert (error.code, error.where and error.where.line, error.where and error.where.field) == ("undeclared_verdict", 1, "decision")
    assert "ties=not_approved or no_verdict" in error.expected
    source, report = read(tmp_path / "b", rows, ties=ties)
    assert records(source, "choice", "rubric_approved") == [("tie", approved), ("tie", approved)]
    assert note(report, "tied_judgments").startswith("a.jsonl: 2 judgments are ties")


def test_failed_judgments_stay_without_a_verdict(tmp_path: Path) -> None:
    source, report = read(tmp_path, [pair("p", "A>B", None, judgment("A>B")), pair("q", "A>B", judgment(None), judgment("B>A"))])
    assert records(source, "case_id", "choice", "rubric_approved") == [("p", None, None), ("p", "2", False), ("q", None, None), ("q", "1", True)]
    assert note(report, "no_verdict") == "a.jsonl: 2 judgments are missing; their records stay without a verdict"


def test_other_decisions_are_refused_or_declared(tmp_path: Path) -> None:
    rows = [pair("p", "A>B", judgment("A<B"), judgment("B>A"))]
    assert refused(tmp_path / "a", rows).code == "undeclared_verdict"
    source, report = read(tmp_path / "b", rows, other_decisions="no_verdict")
    assert records(source, "choice", "rubric_approved") == [(None, None), ("1", True)]
    assert "other_decisions" in codes(report)


def refused(place: Path, rows: Any, form: str = "judgebench", **options: str) -> RoundError:
    with pytest.raises(RoundError) as caught:
        read(place, rows, form=form, **options)
    assert nothing_written(place)
    return caught.value


def test_rows_of_the_benchmark_itself_have_no_judge(tmp_path: Path) -> None:
    row = {name: value for name, value in ROWS[0].items() if name not in ("judgments", "judge_name")}
    assert refused(tmp_path / "a", [row], "auto").code == "unrecognised_format"
    error = refused(tmp_path / "b", [row])
    assert (error.code, error.where and error.where.field) == ("missing_field", "judgments")


@pytest.mark.parametrize(("changed", "field", "code"), [
    ({"label": "A=B"}, "label", "unknown_value"), ({"label": None}, "label", "unknown_value"), ({"label": ["A>B"]}, "label", "unknown_value"),
    ({"pair_id": 7}, "pair_id", "wrong_type"), ({"pair_id": ""}, "case_id", "wrong_type"), ({"response_B": None}, "response_B", "wrong_type"),
    ({"judgments": []}, "judgments", "wrong_type"), ({"judgments": [judgment("A>B")] * 3}, "judgments", "wrong_type"),
    ({"judgments": {"decision": "A>B"}}, "judgments", "wrong_type"), ({"judgments": ["A>B"]}, "judgments", "wrong_type"),
    ({"judgments": [judgment("A>B"), judgment("B>A", judge_model="other")]}, "judge_model", "several_judges"),
    ({"judgments": [{"decision": ["A>B"]}]}, "decision", "undeclared_verdict"), ({"verifier_passed": True}, "verifier_passed", "said_twice"),
])
def test_hostile_rows_refuse_the_file_by_name(tmp_path: Path, changed: dict[str, Any], field: str, code: str) -> None:
    error = refused(tmp_path, [ROWS[0], pair("p-9", "A>B", judgment("A>B")) | changed])
    assert (error.where and error.where.line, error.where and error.where.field) == (2, field)
    assert error.code == code


def test_two_judges_in_one_file_are_refused_and_the_judge_is_declared(tmp_path: Path) -> None:
    assert refused(tmp_path / "a", [ROWS[0], ROWS[1] | {"judge_name": "vanilla"}]).code == "several_judges"
    error = refused(tmp_path / "b", ROWS, judge="")
    assert (error.code, error.where and error.where.field) == ("missing_option", "option judge of judgebench")


def test_a_pair_said_twice_with_another_decision_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, [ROWS[0], ROWS[0] | {"judgments": [judgment("B>A")]}]).code == "conflicting_case"


def test_its_rows_are_told(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", ROWS)
    assert detect(path, "a.jsonl") == (FORMATS["judgebench"], "every row looked at has a JudgeBench pair, its label and judgments")


def test_the_rows_of_a_file_do_not_tell_how_many_records_it_holds(tmp_path: Path) -> None:
    """Progress has no total then; two rows would end at 4 of 2."""
    path = written(tmp_path, "a.parquet", ROWS)
    declared = Declared(path, path.name, {"judge": "j"})
    assert known_total([Opened(FORMATS["judgebench"], declared)]) is None
    assert known_total([Opened(FORMATS["trl"], declared)]) == 2
