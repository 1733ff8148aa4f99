"""The style report over a round, a file of pairs and rollouts: counts by hand, the admitted pairs alone, batches, and the command."""
from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support_rollouts import Reply
from support_rounds import ROUND, pair

from core.cli.main import run
from core.gates.style_report import MarkerFinding, StyleReport, pair_style, reply_style, report_of_pairs
from core.gates.style_words import says, sentences
from core.grid import Grid, default_grid, shipped_grids
from core.pairs.phrases import phrase_table
from core.pairs.style import PairStyle
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace

SMOLLM2 = Path(__file__).parents[2] / "data/sources/smollm2/rollouts.jsonl.gz"
FORMATS = Path(__file__).parents[1] / "fixtures/formats"
GRID = default_grid()
SORRY = "I’m sorry, no."
TURNS = [{"role": "assistant", "content": "I can look."}, {"role": "user", "content": "I'm sorry?"}, {"role": "assistant", "content": "Found."}]


def of_texts(*pairs: tuple[str, str], grid: Grid = GRID) -> StyleReport:
    style, nothing = PairStyle(phrase_table()), pa.nulls(len(pairs), pa.string())
    columns = [pa.array([one[side] for one in pairs], type=pa.string()) for side in (0, 1)]
    style.add(pa.RecordBatch.from_arrays([*columns, nothing, nothing], names=["chosen", "rejected", "chosen_messages", "rejected_messages"]))
    return report_of_pairs(style, grid, {})


def named(report: StyleReport, name: str) -> MarkerFinding:
    return next(finding for finding in report.findings if finding.name == name)


def test_pairs_by_which_side_has_a_marker() -> None:
    # 6 pairs apologise on the rejected side alone, 1 on both, 1 on neither
    report = of_texts(*[("Yes.", SORRY)] * 6, ("My apologies.", "I apologize."), ("a", "b"))
    found = named(report, "apology")
    assert found.counts == {"both": 1, "chosen_only": 0, "rejected_only": 6, "neither": 1}
    assert found.phrases == {"chosen": [("my apologies", 1)], "rejected": [("i'm sorry", 6), ("i apologize", 1)]}
    # exact McNemar: 2 / 2^6 = 1/32, one marker judged, so Holm leaves it; .03125 is at most .05
    assert found.p is not None and found.adjusted is not None and found.p.exact == found.adjusted.exact == Fraction(1, 32) and found.shown
    # phi over 16 sides: marked 8, 1 of them chosen: (16*1 - 8*8)^2 / (8*8*8*8) = 48^2/64^2 = 9/16; below 0, and .75 is above the grid's .3
    assert (found.correlation.squared, found.lean, found.flagged) == (Fraction(9, 16), -1, True)
    assert "Apologies: FLAGGED: the rejected sides have more of it, shown (p = .0312). Training on these pairs would teach answers without it." in (
        sentences(report)
    )
    for other in ("boilerplate", "hedging", "sycophancy", "refusal", "truncation"):
        assert says(named(report, other), "pairs") == "not judged: no text has it" and named(report, other).not_judged == "none_has_it"


def test_holm_counts_the_markers_that_were_judged() -> None:
    # apology 6 to 0: 1/32; hedging 2 to 1: p = 1. The smallest of two counts twice: 1/16, not shown any more
    report = of_texts(*[("Yes.", SORRY)] * 6, *[("Perhaps.", "No.")] * 2, ("No.", "Perhaps."), ("a", "b"))
    apology, hedging = named(report, "apology"), named(report, "hedging")
    assert apology.adjusted is not None and hedging.adjusted is not None
    assert (apology.adjusted.exact, hedging.adjusted.exact, apology.shown) == (Fraction(1, 16), 1, False) and apology.flagged
    said = next(line for line in sentences(report) if line.startswith("Apologies: FLAGGED"))
    assert "not shown to be more than chance" in said and said.split(". ")[-1].startswith("Training on these pairs may teach")


def test_what_cannot_be_judged_is_named() -> None:
    assert {finding.not_judged for finding in of_texts().findings} == {"nothing_to_judge"}
    listed = of_texts(*[("Yes.", SORRY)] * 6, ("a", "b")).as_dict()["not_judged"]
    assert [item["marker"] for item in listed] == ["boilerplate", "hedging", "sycophancy", "refusal", "truncation"]
    assert {item["text"] for item in listed} == {"no text has it"}
    assert named(of_texts(*[(SORRY, SORRY)] * 3), "apology").not_judged == "all_have_it"
    foreign = of_texts(("Прости меня", "Да"), ("Нет", "x"))
    assert (foreign.scope["not_covered"], named(foreign, "apology").not_judged, named(foreign, "truncation").not_judged) == (
        2, "language_not_covered", "none_has_it",
    )
    assert "2 are not in the language of the table; only being cut off was looked for there." in sentences(foreign)
    assert named(of_texts((SORRY, "No."), ("a", "b")), "apology").not_judged == "too_few"
    equal = reply_style([Reply(response=text, reward=Fraction(1)) for text in (SORRY, SORRY, "a", "b")], GRID)
    bare = reply_style([Reply(response=text) for text in (SORRY, SORRY, "a", "b")], GRID)
    assert (named(equal, "apology").not_judged, named(bare, "apology").not_judged) == ("constant_reward", "no_reward")
    assert named(bare, "apology").counts == {"marked": 2, "judged": 4, "rewarded": 0}


def test_an_earlier_grid_flags_nothing() -> None:
    earlier = next(grid for grid in shipped_grids().values() if grid.schema_version == 1)
    report = of_texts(*[("Yes.", SORRY)] * 6, ("a", "b"), grid=earlier)
    assert report.bound is None and not report.flagged and named(report, "apology").shown


def test_rollouts_without_a_reply_are_left_out_and_counted() -> None:
    replies = [Reply(response=None, fault="missing_response"), Reply(response="a", policy="p"), Reply(response="b", policy="q")]
    assert reply_style(replies, GRID).scope["left_out"] == {"missing_response": 1}
    assert reply_style(replies, GRID, policy="p").scope["left_out"] == {"other_policy": 2}


@pytest.mark.parametrize(("policy", "cut"), [("rpo-60", 62), ("dpo-only-60", 138)])
def test_cut_off_rollouts_of_a_real_model(tmp_path: Path, capsys: pytest.CaptureFixture[str], policy: str, cut: int) -> None:
    # data/SOURCES.md: 62 and 138 of 480 are cut at the length limit; every row has a finish reason
    path = tmp_path / "rollouts.jsonl"
    path.write_bytes(gzip.decompress(SMOLLM2.read_bytes()))
    assert run(["style", str(path), "--option", "reward=strict", "--policy", policy, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    (truncation,) = [marker for marker in report["markers"] if marker["marker"] == "truncation"]
    assert truncation["counts"] == {"marked": cut, "judged": 480, "rewarded": 480}
    assert (report["scope"]["replies"], report["scope"]["tasks"], report["scope"]["finish_reason_stated"]) == (480, 80, 480)


@pytest.fixture
def source(tmp_path: Path) -> Round:
    """Five pairs: two whose rejected side apologises, one conversation, one plain, and one that curation rejects (no margin)."""
    rows: list[dict[str, Any]] = [
        pair(pair_id="p-1", prompt="One", chosen="Set it to 3.", rejected=SORRY),
        pair(pair_id="p-2", prompt="Two", chosen="Use a lock.", rejected=SORRY),
        pair(pair_id="p-3", prompt=[{"role": "user", "content": "Three"}], chosen=TURNS, rejected=[{"role": "assistant", "content": "No."}]),
        pair(pair_id="p-4", prompt="Four", chosen="Close the file.", rejected="Leave it."),
        pair(pair_id="p-5", prompt="Five", chosen="Perhaps later.", rejected="Never.", policy_logp_chosen=-22.0, policy_logp_rejected=-20.0),
    ]
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "round.json").write_text(json.dumps(ROUND), "utf-8")
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return Round.open(ingest(folder, Workspace.open(tmp_path / "w", create=True), now=datetime(2026, 1, 5, tzinfo=UTC)).path)


def test_a_round_is_read_in_batches(source: Round, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pair_style(source, GRID)
    assert named(whole, "apology").counts == {"both": 0, "chosen_only": 0, "rejected_only": 2, "neither": 3}
    assert whole.scope == {"round_digest": source.digest, "admitted_only": False, "pairs": 5, "not_covered": 0}
    # lengths of what the assistant wrote: 12-14, 11-14, "I can look.", "Found." joined 18-3, 15-9, 14-6
    assert whole.length["middle"] == [6, 6] and whole.length["total_absolute"] == 2 + 3 + 15 + 6 + 8
    batches = Round.pair_batches
    seen: list[tuple[int, int]] = []
    monkeypatch.setattr(Round, "pair_batches", lambda self, rows=None: batches(self, 2))
    assert pair_style(source, GRID, progress=lambda done, total: seen.append((done, total))).as_dict() == whole.as_dict()
    assert seen == [(2, 5), (4, 5), (5, 5)]
    only = pair_style(source, GRID, only=np.array([False, True, False, False, True]))
    assert only.scope["pairs"] == 2 and named(only, "apology").counts["rejected_only"] == 1 and named(only, "hedging").counts["chosen_only"] == 1


def test_the_command_reads_a_round_its_admitted_pairs_and_a_file(source: Round, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def document(*arguments: str) -> dict[str, Any]:
        assert run(["style", *arguments, "--workspace", str(tmp_path / "w"), "--json"]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    whole, admitted = document(source.digest), document(ROUND["round_id"], "--admitted")
    assert (whole["scope"]["pairs"], admitted["scope"]["pairs"], admitted["scope"]["admitted_only"]) == (5, 4, True)
    assert whole["phrase_table"]["version"] == 1 and len(whole["phrase_table"]["sha256"]) == 64 and whole["grid_digest"] == GRID.digest
    filed = document(str(tmp_path / "tables/pairs.jsonl"))
    assert filed["markers"] == whole["markers"] and filed["scope"]["file"] == "pairs.jsonl" and filed["scope"]["rows_that_cannot_be_typed"] == 0
    assert run(["style", source.digest, "--workspace", str(tmp_path / "w")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("5 pairs; phrase table 1 (en). Test: exact McNemar, Holm over the markers judged.")
    row = next(line.split() for line in lines if line.startswith("apologies"))
    assert row[1:5] == ["0", "2", "0", "3"]


@pytest.mark.parametrize("name", ["rasbt_instruction-data-with-preference.json.gz", "llamafactory_dpo_en_demo.json.gz"])
def test_published_preferences_against_another_search(capsys: pytest.CaptureFixture[str], name: str) -> None:
    # counted again with Python's own regular expressions, which have look-around, over the texts as published
    assert run(["style", str(FORMATS / name), "--format", "auto", "--json"]) == 0
    report, rows = json.loads(capsys.readouterr().out), json.loads(gzip.decompress((FORMATS / name).read_bytes()))
    sides = [[row[side] if isinstance(row[side], str) else row[side]["value"] for side in ("chosen", "rejected")] for row in rows]
    assert report["scope"]["pairs"] == len(rows) and report["scope"]["rows_that_cannot_be_typed"] == 0
    for marker, found in zip(phrase_table().markers, report["markers"], strict=False):
        phrases = "|".join(re.escape(phrase).replace("'", "['’]").replace("\\ ", r"\s+") for phrase in marker.phrases)
        pattern = re.compile(rf"(?i)(?<!\w)(?<!\w['’])(?:{phrases})(?:(?<!\w)|(?!['’]?\w))")
        said = Counter(tuple(bool(pattern.search(text)) for text in pair) for pair in sides)
        counts = found["counts"]
        assert (counts["both"], counts["chosen_only"], counts["rejected_only"]) == (said[True, True], said[True, False], said[False, True])
        assert sum(counts.values()) == len(rows) - report["scope"]["not_covered"]


def test_polite_rewrites_teach_politeness(capsys: pytest.CaptureFixture[str]) -> None:
    # the chosen answers of this set are polite rewrites by a model, the rejected ones impolite. The phrase that stands in no rejected
    # answer is the one that a policy trained on it uses afterwards: 343 of 477 replies of dpo-only-60 in data/sources/smollm2
    assert run(["style", str(FORMATS / "rasbt_instruction-data-with-preference.json.gz"), "--format", "auto"]) == 0
    shown = capsys.readouterr().out
    assert "Stock phrases: the chosen sides have more of it, shown (p < .0001). Training on these pairs would teach it." in shown
    assert "i'd be happy to (56)" in shown


def test_a_packed_file_of_pairs(source: Round, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = tmp_path / "pairs.jsonl.gz"
    packed.write_bytes(gzip.compress((tmp_path / "tables/pairs.jsonl").read_bytes()))
    assert run(["style", str(packed), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scope"]["pairs"] == 5


@pytest.mark.parametrize(("arguments", "code"), [
    (["nothing"], 4), (["rows.jsonl"], 4), (["two.jsonl", "--option", "x"], 2), (["two.jsonl", "--format", "tlr"], 4),
    (["two.jsonl", "--format", "lm-eval"], 2), (["rows.jsonl", "--format", "auto"], 4), (["two.jsonl"], 4), (["none.jsonl"], 4),
    (["sides.jsonl"], 4), (["half.jsonl"], 4), (["whole.jsonl", "--policy", "nobody"], 4),
    # options that would change nothing
    (["whole.jsonl", "--admitted"], 2), (["sides.jsonl", "--policy", "x"], 2), (["round-07", "--policy", "x"], 2),
    (["round-07", "--format", "auto"], 2), (["round-07", "--option", "a=b"], 2),
])
def test_what_cannot_be_read(tmp_path: Path, source: Round, arguments: list[str], code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text('{"text": "no columns of ours"}\n', "utf-8")
    Path("two.jsonl").write_text("", "utf-8")
    Path("sides.jsonl").write_text('{"chosen": 1, "rejected": null}\n', "utf-8")
    Path("half.jsonl").write_text('{"prompt": "q", "chosen": "a"}\n', "utf-8")
    Path("whole.jsonl").write_text('{"prompt": "q", "response": "a", "reward": 1}\n', "utf-8")
    assert run(["style", *arguments, "--workspace", str(tmp_path / "w")]) == code


def test_a_report_that_could_judge_nothing_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"task_id": "t", "response": "I\'d be happy to help."}\n{"task_id": "t", "response": "no"}\n', "utf-8")
    assert run(["style", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "No marker could be judged, so nothing is known about what the style would teach."
    # one of two replies has the phrase: that is not what is lacking
    (row,) = (line for line in lines if line.startswith("stock phrases  ") and "not judged" in line)
    assert "every reply has the marker" not in row and "no reply has a reward" in row
    sides = tmp_path / "p.jsonl"
    sides.write_text('{"prompt": "q", "chosen": "a", "rejected": "b"}\n{"prompt": "q", "chosen": 1, "rejected": "b"}\n', "utf-8")
    assert run(["style", str(sides)]) == 0
    assert "Left out: 1 row that cannot be read as a pair." in capsys.readouterr().out


@pytest.mark.parametrize(("texts", "why", "undefined"), [
    ([(SORRY, SORRY)] * 3, "all_have_it", "every reply has the marker"), ([("a", "b")] * 3, "none_has_it", "no reply has the marker"),
    ([], "nothing_to_judge", "there are no replies"),
])
def test_an_undefined_correlation_is_null_and_says_which_of_the_two_it_is(texts: list[tuple[str, str]], why: str, undefined: str) -> None:
    """0 would be "no leaning", which is a finding; nothing was found out here."""
    (marker,) = (marker for marker in of_texts(*texts).as_dict()["markers"] if marker["marker"] == "apology")
    assert (marker["not_judged"], marker["lean"], marker["flagged"], marker["shown"]) == (why, None, False, False)
    found = marker["correlation"]
    assert (found["value"], found["squared"], found["sign"], found["undefined"]) == (None, None, None, undefined)


def test_equal_rewards_have_no_sign_either_and_a_correlation_of_zero_has() -> None:
    equal = reply_style([Reply(response=text, reward=Fraction(1)) for text in (SORRY, SORRY, "a", "b")], GRID)
    even = reply_style([Reply(response=text, reward=Fraction(number)) for text, number in ((SORRY, 1), (SORRY, 0), ("a", 1), ("b", 0))], GRID)
    found = [named(report, "apology").as_dict() for report in (equal, even)]
    assert [(one["lean"], one["correlation"]["sign"], one["correlation"]["value"]) for one in found] == [(None, None, None), (0, 0, 0.0)]
