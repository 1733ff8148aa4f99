"""Small logs of evaluation tools, written by hand from their documented structure, and reading them."""
from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import RoundError
from core.rounds.columns import CellFault
from core.rounds.readers.format import Declared, Format

LOGS = Path(__file__).parent / "fixtures" / "eval_logs"
BASELINE, CANDIDATE = LOGS / "inspect_baseline.eval", LOGS / "inspect_candidate.json.gz"


def read(chosen: Format, path: Path, **options: Any) -> tuple[list[Any], list[str]]:
    """The values of the rows of a file, each a dict or a CellFault, and the codes of the notes."""
    declared = Declared(path, path.name, {"arm": "baseline"} | options)
    return [row.value for row in chosen.rows(declared)], [note.code for note in declared.notes]


def verdicts(chosen: Format, path: Path, **options: Any) -> list[tuple[str, bool | None]]:
    """(id, passed) of each row; a row that could not be mapped fails the test."""
    return [(value["id"], value["passed"]) for value in read(chosen, path, **options)[0]]


def fault(chosen: Format, path: Path, **options: Any) -> tuple[str, str]:
    """(code, place) of the first fault of a file: of the whole file, or of a row, whose place is its number and field."""
    declared = Declared(path, path.name, {"arm": "baseline"} | options)
    try:
        for row in chosen.rows(declared):
            if isinstance(row.value, CellFault):
                return row.value.code, f"line {row.line}, field {row.value.field}"
    except RoundError as error:
        return error.code, str(error.where)
    raise AssertionError("the file was read without a fault")


def jsonl(place: Path, rows: list[Any], name: str = "samples_demo.jsonl") -> Path:
    """Rows as JSON lines; a row given as text is written as it is."""
    path = place / name
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")
    return path


def lm_row(number: int, **more: Any) -> dict[str, Any]:
    """A row of lm-eval's samples file of a generation task with one metric."""
    return {
        "doc_id": number, "doc": {"key": f"item-{number}", "question": f"Question {number}?"}, "target": "18",
        "arguments": {"gen_args_0": {"arg_0": f"Question {number}?", "arg_1": {"until": ["\n"]}}}, "resps": [["The answer is 18."]],
        "filtered_resps": ["18"], "filter": "strict-match", "metrics": ["exact_match"], "doc_hash": "0" * 64, "prompt_hash": "1" * 64,
        "target_hash": "2" * 64, "exact_match": 1.0,
    } | more


def sample(identifier: Any, epoch: int = 1, value: Any = "C", **more: Any) -> dict[str, Any]:
    """A sample of an Inspect log with one scorer."""
    return {
        "id": identifier, "epoch": epoch, "input": "Question?", "target": "yes", "messages": [],
        "output": {"model": "m", "choices": [], "completion": "yes"}, "scores": {"match": {"value": value, "answer": "yes", "history": []}},
        "metadata": {"topic": "a"},
    } | more


def header(**more: Any) -> dict[str, Any]:
    """An Inspect log without its samples."""
    return {
        "version": 2, "status": "success", "eval": {"task": "demo", "model": "m", "dataset": {}, "config": {}}, "plan": {}, "stats": {},
        "invalidated": False,
    } | more


def json_log(place: Path, samples: list[Any], name: str = "log.json", **more: Any) -> Path:
    """An Inspect log as one JSON document; NaN is written as Python does, as the literal."""
    path = place / name
    path.write_text(json.dumps(header(**more) | {"samples": samples}), "utf-8")
    return path


def eval_log(place: Path, samples: list[Any], name: str = "log.eval", **more: Any) -> Path:
    """An Inspect log as a zip file."""
    path = place / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": header()["eval"], "plan": {}}))
        for number, one in enumerate(samples):
            name_in_zip = f"samples/{one['id']}_epoch_{one['epoch']}.json" if isinstance(one, dict) else f"samples/raw-{number}_epoch_1.json"
            archive.writestr(name_in_zip, one if isinstance(one, str) else json.dumps(one))
        archive.writestr("header.json", json.dumps(header(**more)))
    return path


def details_row(number: int, value: float | None = 1.0, **more: Any) -> dict[str, Any]:
    """A row of lighteval's details; its log-probs have an infinity, as details of multiple choice may."""
    return {
        "doc": {
            "query": f"Question {number}?", "choices": ["18"], "gold_index": 0, "id": str(number), "task_name": "demo|0",
            "specific": {"key": f"item-{number}"},
        },
        "metric": {"extractive_match": value},
        "model_response": {"text": ["18"], "logprobs": [float("-inf")], "input_tokens": [1, 2], "output_tokens": [[3]]},
    } | more


def details(place: Path, rows: list[dict[str, Any]], name: str = "details_demo.parquet") -> Path:
    path = place / name
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path
