"""countersign ingest with a foreign file: options, exit codes, the list of formats, and the round that comes of it."""
from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support_cli import Runner
from support_formats import PUBLISHED, written
from support_rounds import WORKED_EXAMPLE, bundle, folder_of, round_of, tables_of

from core.cli import output
from core.cli.main import run
from core.rounds.readers.formats import FORMATS

ROW = {"prompt": "Say hi.", "chosen": "Hi.", "rejected": "No."}
TALK = [{"role": "user", "content": "Well?"}, {"role": "assistant", "content": "Yes."}]
OTHER = [{"role": "user", "content": "Well?"}, {"role": "assistant", "content": "No."}]
DECLARED = ("--option", "ids=line", "--option", "origin=verified")



@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    return Runner(tmp_path / "workspace", capsys, monkeypatch)


FILES: list[tuple[str, str, Any]] = [
    ("trl", "a.jsonl", [ROW]), ("trl", "chat.parquet", [{"chosen": TALK, "rejected": OTHER}]),
    ("openrlhf", "o.jsonl.zst", [{"chosen": TALK, "rejected": OTHER}]),
    ("ultrafeedback", "train_prefs.parquet", [{"prompt": "Well?", "prompt_id": "x", "chosen": TALK, "rejected": OTHER, "score_chosen": 2.0,
                                               "score_rejected": 1.0}]),
    ("argilla", "r.jsonl", [ROW | {"chosen_rating": 5, "rejected_rating": 1}]),
    ("distilabel", "f.parquet", [{"instruction": "Well?", "generations": ["Yes.", "No."], "ratings": [5, 1]}]),
    ("ultrafeedback-raw", "w.jsonl", [{"instruction": "Well?", "completions": [
        {"response": "Yes.", "overall_score": 8.0}, {"response": "No.", "overall_score": 2.5},
    ]}]),
    ("argilla-records", "e.json", [{
        "id": "r-1", "fields": {"q": "Well?", "a": "Yes.", "b": "No."}, "responses": {"best": [{"value": ["a", "b"], "user_id": "u"}]},
    }]),
    ("llamafactory-alpaca", "l.json.gz", [{"instruction": "Well?", "input": "", "chosen": "Yes.", "rejected": "No."}]),
    ("llamafactory-sharegpt", "s.json", [{"conversations": [{"from": "human", "value": "Well?"}], "chosen": {"from": "gpt", "value": "Yes."},
                                          "rejected": {"from": "gpt", "value": "No."}}]),
    ("ms-swift", "m.jsonl", [{"messages": TALK, "rejected_response": "No."}]),
    ("axolotl:chatml.intel", "x.arrow", [{"system": "", "question": "Well?", "chosen": "Yes.", "rejected": "No."}]),
    ("axolotl:chatml.icr", "i.jsonl", [{"input": "Well?", "chosen": "Yes.", "rejected": "No."}]),
    ("axolotl:chatml.prompt_pairs", "p.jsonl", [ROW]), ("axolotl:chatml.ultra", "u.jsonl", [{"chosen": TALK, "rejected": OTHER}]),
    ("axolotl:chatml.argilla", "g.jsonl", [{"instruction": "Well?", "chosen_response": "Yes.", "rejected_response": "No."}]),
    ("axolotl:chatml.argilla_chat", "h.jsonl", [{"chosen": TALK, "rejected": OTHER}]),
    ("axolotl:chat_template.default", "t.jsonl", [{"messages": TALK[:1], "chosen": "Yes.", "rejected": "No."}]),
    ("openai", "d.jsonl", [{"input": {"messages": TALK[:1]}, "preferred_output": TALK[1:], "non_preferred_output": OTHER[1:]}]),
]
NEEDED = {
    "distilabel": {"pair": "best_worst"}, "ultrafeedback-raw": {"pair": "best_worst", "score": "overall_score"},
    "argilla-records": {"pair": "best_worst", "prompt": "q", "ranking": "best", "status": "submitted"},
}
"""What some formats have to have declared besides."""


@pytest.mark.parametrize(("name", "file", "rows"), FILES)
def test_a_file_of_every_pair_format_becomes_a_round(cli: Runner, tmp_path: Path, name: str, file: str, rows: list[Any]) -> None:
    path = written(tmp_path, file, rows)
    needed = NEEDED.get(name, {})
    own = [part for key, value in needed.items() for part in ("--option", f"{key}={value}")]
    code, report = cli.document("ingest", path, "--format", name, "--proposer", "worker-curator-01", *DECLARED, *own)
    assert (code, report["counts"], report["quarantined"]) == (0, {"pairs": 1}, 0)
    code, shown = cli.document("round", "show", report["round_digest"])
    (source,) = shown["manifest"]["sources"]["pairs"]
    assert source == {"file": file, "format": name, "options": {"ids": "line", "origin": "verified"} | needed, "why": "declared by the proposer"}
    assert cli("round", "check", report["round_digest"])[0] == 0


def test_every_pair_format_has_a_file_here_but_csv() -> None:
    assert {name for name, item in FORMATS.items() if item.part == "pairs"} == {name for name, _, _ in FILES} | {"csv"}


def test_csv_from_the_command_line(cli: Runner, tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", b"id,q,good,bad\n007,Well?,Yes.,No.\n")
    mapped = [part for ours, theirs in (("pair_id", "id"), ("prompt", "q"), ("chosen", "good"), ("rejected", "bad"))
              for part in ("--option", f"column.{ours}={theirs}")]
    code, report = cli.document("ingest", path, "--format", "csv", "--proposer", "worker-curator-01", *mapped, "--option", "origin=verified")
    assert (code, report["counts"]) == (0, {"pairs": 1})


def test_the_decision_of_such_a_round_is_an_honest_refusal(cli: Runner) -> None:
    path = PUBLISHED / "infifpo_record_with_logps.json"
    arguments = ("ingest", path, "--format", "auto", "--proposer", "worker-curator-01", *DECLARED, "--option", "logps=sums", "--round-id", "r")
    code, out, _ = cli(*arguments)
    assert code == 0
    assert "pairs: infifpo_record_with_logps.json was read as trl: every row looked at has chosen and rejected as messages" in out
    code, refusal = cli.document("decide", "r")
    assert code == 3
    assert "incomplete_round" in json.dumps(refusal)


@pytest.mark.parametrize(("arguments", "code", "words"), [
    (("--format", "auto"), 2, "--proposer"), (("--proposer", "ana"), 2, "--format"), (("--option", "ids=line"), 2, "--format"),
    (("--format", "auto", "--proposer", "ana", "--option", "ids"), 2, "KEY=VALUE"),
    (("--format", "auto", "--proposer", "ana", "--option", "=line"), 2, "KEY=VALUE"),
    (("--format", "auto", "--proposer", "ana", "--option", "ids=line", "--option", "ids=line"), 2, "twice"),
    (("--format", "no", "--proposer", "ana"), 4, "unknown_format"), (("--format", "trl", "--proposer", "a b"), 4, "--proposer"),
    (("--format", "trl", "--proposer", "ana"), 4, "missing_ids"),
    (("--format", "trl", "--proposer", "ana", "--option", "id=line"), 4, "unknown_option"),
    (("--format", "openai", "--proposer", "ana", *DECLARED, "--option", "flags=yes"), 4, "unknown_value"),
])
def test_what_is_said_wrong(cli: Runner, tmp_path: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    found, out, err = cli("ingest", written(tmp_path, "a.jsonl", [ROW]), *arguments)
    assert (found, out) == (code, "") and words in err


def test_an_option_may_hold_an_equals_sign(cli: Runner, tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", [ROW | {"a=b": "p-1"}])
    arguments = ("--format", "trl", "--proposer", "ana", "--option", "column.pair_id=a=b", "--option", "origin=verified")
    assert cli("ingest", path, *arguments)[0] == 0


def test_the_formats_are_listed_with_their_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ingest", "--formats"]) == 0
    out = capsys.readouterr().out
    for name, item in FORMATS.items():
        assert any(line.startswith(f"{name}  ({item.part})") for line in out.splitlines()), name
        assert all(f"  {option} " in out for option in item.options), name
    assert "where the file does not say: verified or synthetic" in out


def test_several_proposers(cli: Runner, tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", [ROW])
    _, report = cli.document("ingest", path, "--format", "auto", "--proposer", "ana", "--proposer", "ben", *DECLARED)
    assert cli.document("round", "show", report["round_digest"])[1]["manifest"]["proposers"] == ["ana", "ben"]


def test_a_progress_bar_is_drawn_on_a_terminal(cli: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(output, "Console", lambda **options: Console(**options | {"file": screen, "force_terminal": True}))
    path = written(tmp_path, "a.parquet", [ROW] * 9000)
    assert cli("ingest", path, "--format", "auto", "--proposer", "ana", *DECLARED)[0] == 0
    assert "pairs" in screen.getvalue() and "9000/9000" in screen.getvalue()


def test_a_round_of_foreign_files_goes_all_the_way_to_a_verified_receipt(cli: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worked example with its pairs as TRL rows: log-probs in TRL's spelling, texts as messages. The receipt is the known one."""
    monkeypatch.setenv("COUNTERSIGN_PASSPHRASE", "correct horse battery staple")
    parts = tables_of(bundle())
    spelled = {"policy_logp_chosen": "policy_chosen_logps", "policy_logp_rejected": "policy_rejected_logps",
               "ref_logp_chosen": "ref_chosen_logps", "ref_logp_rejected": "reference_rejected_logps"}
    pairs = [{spelled.get(name, name): value for name, value in row.items()} for row in parts.pop("pairs")]
    sources = {"pairs": [{"file": "train.parquet", "format": "trl", "options": {"logps": "sums"}}]}
    place = folder_of(tmp_path / "in", parts, about=round_of(bundle()) | {"sources": sources}, form="json")
    written(place, "train.parquet", pairs)
    keys = cli.workspace / "keys"
    for name in ("worker-curator-01", "worker-verifier-02"):
        assert cli("keygen", "--id", name)[0] == 0
    enrolled = (("worker-curator-01", "worker-verifier-02", "proposer"), ("worker-verifier-02", "worker-curator-01", "reviewer"))
    for name, by, role in enrolled:
        assert cli("enrol", keys / f"{name}.enrol.json", "--by", by, "--role", role)[0] == 0
    assert cli("ingest", place)[0] == 0
    assert cli("propose", "round-07", "--key", keys / "worker-curator-01")[0] == 0
    code, out, err = cli("sign", "--round", "round-07", "--approve", "--comment", "Read.", "--key", keys / "worker-verifier-02", "--yes")
    assert code == 0, out + err
    assert cli("ledger", "export", "1", "--out", tmp_path / "decision.zip")[0] == 0
    code, out, err = cli("verify", tmp_path / "decision.zip")
    assert code == 0 and out.rstrip().endswith("APPROVED"), out + err
    receipt = json.loads((WORKED_EXAMPLE.parent / "receipt.json").read_text("utf-8"))
    code, out, _ = cli("decide", "round-07", "--reviewer", "worker-verifier-02", "--canonical")
    assert (code, json.loads(out)) == (0, receipt)
