"""Logs of evaluation tools through the whole of ingest: two arms out of two files, into a round whose holdout they answer."""
from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support_eval_logs import BASELINE, CANDIDATE, details, details_row, jsonl, lm_row
from support_rounds import ROUND, ingested, nothing_written

from core.cli.main import run
from core.errors import RoundError
from core.gates.holdout import pair_outcomes
from core.rounds.declared import Source
from core.rounds.folder import Round
from core.rounds.notes import round_notes
from core.rounds.outcome_arms import differing_declarations

IFEVAL = Path(__file__).parents[2] / "data" / "sources" / "ifeval"


def folder(place: Path, items: list[str], files: dict[str, tuple[Path, str, dict[str, str]]]) -> Path:
    """A round folder with a holdout and, for each arm, a file that lies in it: (file, format, options)."""
    place.mkdir(parents=True, exist_ok=True)
    holdout = [{"id": name, "prompt": f"Prompt of {name}"} for name in items]
    data = json.dumps(holdout, separators=(",", ":"), ensure_ascii=False, sort_keys=True).encode()
    (place / "holdout.json").write_bytes(data)
    sources = [
        {"file": path.name, "format": name, "options": {"arm": arm} | options} for arm, (path, name, options) in files.items()
    ]
    about = ROUND | {"schema_version": 3, "holdout_lock": {"sha256": hashlib.sha256(data).hexdigest()}, "sources": {"outcomes": sources}}
    (place / "round.json").write_text(json.dumps(about), "utf-8")
    return place


def arms(source: Round) -> tuple[int, int, int, int]:
    """(baseline passes, candidate passes, gained, lost) over the holdout, by the rule that decides."""
    ids = [item["id"] for item in source.holdout_items()]
    paired = pair_outcomes(ids, source.table("outcomes"), "majority")
    gained, lost = len(paired.fixes), len(paired.regressions)
    return paired.both_pass + lost, paired.both_pass + gained, gained, lost


def codes(report: Any) -> list[str]:
    return [note.code for note in report.notes]


@pytest.mark.parametrize("form", ["lm-eval", "auto"])
def test_two_arms_of_lm_eval(tmp_path: Path, form: str) -> None:
    place = tmp_path / "input"
    place.mkdir()
    files = {}
    for arm, values in (("baseline", [1.0, 0.0, 0.0, 1.0]), ("candidate", [1.0, 1.0, 1.0, 0.0])):
        rows = [lm_row(number, exact_match=value) for number, value in enumerate(values)]
        rows += [row | {"filter": "flexible-extract", "exact_match": 1.0} for row in rows]
        files[arm] = jsonl(place, rows, f"samples_{arm}.jsonl"), form, {"id": "doc.key", "filter": "strict-match"}
    source, report = ingested(tmp_path, folder(place, [f"item-{number}" for number in range(4)], files))
    assert arms(source) == (2, 3, 2, 1)
    assert report.counts == {"holdout": 4, "outcomes": 8}
    assert codes(report).count("other_filters") == 2
    assert "unknown_item" not in codes(report)
    assert [found.format for found in source.manifest.sources["outcomes"]] == ["lm-eval", "lm-eval"]


def test_documents_that_differ_between_the_arms_are_named(tmp_path: Path) -> None:
    place = tmp_path / "input"
    place.mkdir()
    base = jsonl(place, [lm_row(0), lm_row(1)], "base.jsonl")
    candidate = jsonl(place, [lm_row(0), lm_row(1, doc_hash="f" * 64)], "candidate.jsonl")
    source, report = ingested(tmp_path, folder(place, ["0", "1"], {"baseline": (base, "auto", {}), "candidate": (candidate, "auto", {})}))
    assert [note.text for note in report.notes if note.code == "other_document"] == [
        "the arms were asked different documents (doc_hash differs): '1'",
    ]
    assert arms(source) == (2, 2, 0, 0)


@pytest.mark.parametrize("form", ["inspect", "auto"])
def test_two_arms_of_inspect_with_epochs_as_runs(tmp_path: Path, form: str) -> None:
    """tests/fixtures/eval_logs/SOURCES.md. Baseline by id: 1 no, yes; 2 yes, yes; 3 yes, no; 4 no, no. Candidate: 1 yes, yes; 2 yes, yes; 3 yes,
    no; 4 no, yes. By majority a tie passes for the baseline and fails for the candidate: baseline 1, 2, 3; candidate 1, 2."""
    place = tmp_path / "input"
    place.mkdir()
    for log in (BASELINE, CANDIDATE):
        shutil.copy(log, place)
    files = {"baseline": (BASELINE, form, {"scorer": "match"}), "candidate": (CANDIDATE, form, {"scorer": "match"})}
    source, report = ingested(tmp_path, folder(place, ["1", "2", "3", "4"], files))
    assert report.counts["outcomes"] == 16
    assert sorted(set(source.table("outcomes")["run"].to_pylist())) == [1, 2]
    assert arms(source) == (3, 2, 0, 1)


def lm_notes(tmp_path: Path, candidate: dict[str, Any], base: dict[str, str], other: dict[str, str]) -> dict[str, str]:
    """The notes of a round of one item by lm-eval: ``candidate`` changes the candidate's row; then the options of the two arms."""
    place = tmp_path / "input"
    place.mkdir()
    files = {
        "baseline": (jsonl(place, [lm_row(0)], "base.jsonl"), "lm-eval", base),
        "candidate": (jsonl(place, [lm_row(0, **candidate)], "candidate.jsonl"), "lm-eval", other),
    }
    source, _ = ingested(tmp_path, folder(place, ["0"], files))
    return {note.code: note.text for note in round_notes(source)}


@pytest.mark.parametrize(("changed", "code"), [
    ({"prompt_hash": "f" * 64}, "other_prompt"), ({"target_hash": "f" * 64}, "other_target"), ({"doc_hash": "f" * 64}, "other_document"),
    # another document has another prompt and answer: told once
    ({"doc_hash": "f" * 64, "prompt_hash": "e" * 64, "target_hash": "d" * 64}, "other_document"),
])
def test_arms_that_were_not_asked_the_same_are_named(tmp_path: Path, changed: dict[str, str], code: str) -> None:
    notes = lm_notes(tmp_path, changed, {}, {})
    assert [name for name in notes if name.startswith("other_")] == [code]
    assert notes[code].endswith(": '0'")


def test_arms_that_were_asked_the_same_have_no_such_note(tmp_path: Path) -> None:
    notes = lm_notes(tmp_path, {}, {"filter": "strict-match"}, {"filter": "strict-match"})
    assert not {name for name in notes if name.startswith(("other_", "arms_"))}


def test_arms_that_are_read_by_other_rules_are_named(tmp_path: Path) -> None:
    notes = lm_notes(tmp_path, {"filter": "flexible"}, {"filter": "strict-match"}, {"filter": "flexible", "pass": ">=0.5"})
    assert notes["arms_read_differently"] == (
        "what decides a verdict is not declared alike for the two arms: filter: 'strict-match' (baseline) against 'flexible' (candidate); "
        "pass: not declared (baseline) against '>=0.5' (candidate)"
    )


def test_strict_against_loose_results_of_ifeval_are_named_by_their_files() -> None:
    def source(arm: str, file: str, **more: str) -> Source:
        return Source(file, "ifeval", {"arm": arm, "id": "sha256:prompt"} | more)

    strict, loose = source("baseline", "eval_results_strict.3b.jsonl"), source("candidate", "eval_results_loose.7b.jsonl")
    assert differing_declarations([strict, loose]) == ["results: 'strict' (baseline) against 'loose' (candidate)"]
    assert differing_declarations([strict, source("candidate", "eval_results_strict.7b.jsonl.gz", slice="key", prefix="a/")]) == []
    assert differing_declarations([strict]) == []


def test_two_arms_of_inspect_reduced_by_declaration(tmp_path: Path) -> None:
    place = tmp_path / "input"
    place.mkdir()
    for log in (BASELINE, CANDIDATE):
        shutil.copy(log, place)
    declared = {"scorer": "match", "reducer": "any", "slice": "metadata.topic"}
    source, report = ingested(tmp_path, folder(
        place, ["1", "2", "3", "4"], {"baseline": (BASELINE, "inspect", declared), "candidate": (CANDIDATE, "inspect", declared)},
    ))
    assert report.counts["outcomes"] == 8
    # any: baseline 1, 2, 3; candidate all four
    assert arms(source) == (3, 4, 1, 0)
    assert source.table("outcomes")["slice"].to_pylist() == ["odd", "even", "odd", "even"] * 2


def test_two_arms_of_lighteval(tmp_path: Path) -> None:
    place = tmp_path / "input"
    place.mkdir()
    base = details(place, [details_row(0, 0.0), details_row(1, 1.0)], "base.parquet")
    candidate = details(place, [details_row(0, 1.0), details_row(1, 0.0)], "candidate.parquet")
    source, _ = ingested(tmp_path, folder(place, ["0", "1"], {"baseline": (base, "auto", {}), "candidate": (candidate, "auto", {})}))
    assert arms(source) == (1, 1, 1, 1)


def test_the_published_ifeval_results_as_a_round(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """data/SOURCES.md, Qwen2.5-3B to 7B, prompt-level strict: 310, 395, gained 112, lost 27 of 541."""
    place = tmp_path / "input"
    place.mkdir()
    files = {}
    for arm, size in (("baseline", "3B"), ("candidate", "7B")):
        path = place / f"{arm}.jsonl.gz"
        shutil.copy(IFEVAL / f"eval_results_strict.Qwen__Qwen2.5-{size}-Instruct-GPTQ-Int4.jsonl.gz", path)
        files[arm] = path, "auto", {"id": "sha256:prompt"}
    prompts = [json.loads(line)["prompt"] for line in gzip.decompress(files["baseline"][0].read_bytes()).splitlines()]
    folder(place, [hashlib.sha256(prompt.encode()).hexdigest() for prompt in prompts], files)
    assert run(["ingest", str(place), "--workspace", str(tmp_path / "workspace"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["counts"] == {"holdout": 541, "outcomes": 1082}
    assert arms(Round.open(Path(report["path"]))) == (310, 395, 112, 27)


def test_one_log_alone_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "ingest", str(BASELINE), "--format", "auto", "--proposer", "worker-curator-01", "--option", "arm=baseline", "--option", "scorer=match",
        "--workspace", str(tmp_path / "workspace"), "--json",
    ]
    assert run(command) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["round_id"], report["counts"]) == ("inspect_baseline", {"outcomes": 8})


@pytest.mark.parametrize("packed", [False, True])
def test_filters_that_are_not_declared_are_listed_by_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], packed: bool) -> None:
    """The file is read a second time while it is being read."""
    path = jsonl(tmp_path, [lm_row(0), lm_row(0, filter="flexible"), lm_row(1), lm_row(1, filter="third")])
    if packed:
        data, path = path.read_bytes(), tmp_path / "samples.jsonl.gz"
        path.write_bytes(gzip.compress(data))
    place = str(tmp_path / "workspace")
    assert run(["ingest", str(path), "--format", "auto", "--proposer", "ana", "--option", "arm=baseline", "--workspace", place, "--json"]) == 4
    error = json.loads(capsys.readouterr().out)
    assert (error["error"], error["line"], error["field"]) == ("several_filters", 2, "filter")
    assert error["got"] == "3 filters: flexible (1 rows), strict-match (2 rows), third (1 rows)"
    assert error["remedy"] == "declare the option; nothing was written"


def test_a_row_that_cannot_be_mapped_refuses_the_whole(tmp_path: Path) -> None:
    place = tmp_path / "input"
    place.mkdir()
    base = jsonl(place, [lm_row(0), lm_row(1, exact_match=0.5)], "base.jsonl")
    with pytest.raises(RoundError) as caught:
        ingested(tmp_path, folder(place, ["0", "1"], {"baseline": (base, "lm-eval", {})}))
    assert (caught.value.code, str(caught.value.where)) == ("undeclared_verdict", "base.jsonl, line 2, field exact_match")
    assert nothing_written(tmp_path)


def test_an_arm_has_to_be_declared(tmp_path: Path) -> None:
    place = tmp_path / "input"
    place.mkdir()
    base = jsonl(place, [lm_row(0)], "base.jsonl")
    with pytest.raises(RoundError) as caught:
        ingested(tmp_path, folder(place, ["0"], {"both": (base, "lm-eval", {})}))
    assert caught.value.code == "unknown_value"


def test_a_broken_only_row_is_what_is_told(tmp_path: Path) -> None:
    place = tmp_path / "input"
    place.mkdir()
    path = jsonl(place, ['{"doc_id": 0, "doc_id": 1}'], "base.jsonl")
    with pytest.raises(RoundError) as caught:
        ingested(tmp_path, folder(place, ["0"], {"baseline": (path, "lm-eval", {})}))
    assert caught.value.code == "duplicate_json_key"


@pytest.mark.parametrize(("form", "options", "code"), [
    ("lm-eval", {}, "missing_option"), ("mapped-outcomes", {"column.id": "target", "column.passed": "doc"}, "undeclared_verdict"),
    ("ifeval", {"id": "doc_id"}, "missing_field"),
])
def test_the_fault_of_the_only_row_is_what_is_told(tmp_path: Path, form: str, options: dict[str, str], code: str) -> None:
    place = tmp_path / "input"
    place.mkdir()
    path = jsonl(place, [lm_row(0, metrics=["acc", "exact_match"])], "base.jsonl")
    with pytest.raises(RoundError) as caught:
        ingested(tmp_path, folder(place, ["0"], {"baseline": (path, form, options)}))
    assert (caught.value.code, caught.value.where.line if caught.value.where else None) == (code, 1)
