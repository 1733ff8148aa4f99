"""A sample judged outside the dashboard: the sheet tells nothing but the pairs, and labels are held to the rules of the page."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support_sampling import ANA, BEN, NOW, SEED, Room, good_rows, judged, persons_room, room, side_of

from core.cli.main import run
from core.errors import CountersignError
from core.sampling import Given, blind_sheet, read_labels

ROWS = {row["pair_id"]: row for row in good_rows(30)}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Room:
    return room(tmp_path_factory.mktemp("sampling"), 30)


@pytest.fixture
def r(made: Room, tmp_path: Path) -> Room:
    return persons_room(made, tmp_path)


def call(r: Room, capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0, person: str = ANA) -> str:
    assert run(["sample", r.source.digest[:12], "--person", person, "--workspace", str(r.workspace.root), *arguments]) == code
    out = capsys.readouterr()
    return out.out if code == 0 else out.out + out.err


def written(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def refusal(code: str, act: Any) -> CountersignError:
    with pytest.raises(CountersignError) as caught:
        act()
    assert caught.value.code == code
    return caught.value


# the sheet


def test_the_sheet_holds_the_pairs_in_the_drawn_order_and_nothing_of_the_engine(r: Room) -> None:
    sample = r.review().start(r.grid, "fixed", NOW, SEED)
    rows = [json.loads(line) for line in blind_sheet(r.source, sample).decode().splitlines()]
    assert [row["pair_id"] for row in rows] == list(sample.order) and len(rows) == 23
    firsts = set()
    for row in rows:
        # exactly these members: no origin, score, margin, rank or verdict, and no word on which answer is the chosen one
        assert row.keys() == {"pair_id", "prompt", "first", "second", "label"} and row["label"] is None
        pair, first = ROWS[row["pair_id"]], sample.first(row["pair_id"])
        assert (row["prompt"], row["first"]) == (pair["prompt"], pair[first])
        assert {row["first"], row["second"]} == {pair["chosen"], pair["rejected"]}
        firsts.add(first)
    assert firsts == {"chosen", "rejected"} and SEED not in json.dumps(rows)


def test_the_sheet_holds_only_what_is_left(r: Room) -> None:
    r.review().start(r.grid, "fixed", NOW, SEED)
    sample = judged(r.review(), ["chosen"] * 20)
    assert [json.loads(line)["pair_id"] for line in blind_sheet(r.source, sample).splitlines()] == list(sample.order[20:])
    refusal("sample_ended", lambda: blind_sheet(r.source, judged(r.review(), ["tie"] * 3)))


# labels


def test_labels_from_a_file_are_what_the_page_would_have_stored(r: Room, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet = tmp_path / "sheet.jsonl"
    text = call(r, capsys, "--draw", "fixed", "--sheet", str(sheet))
    assert "0 of at most 23 pairs judged" in text and "defect rate is" not in text
    sample = r.review().sample()
    assert sample is not None
    rows = [json.loads(line) for line in sheet.read_text().splitlines()]
    verdicts = ["chosen"] * 20 + ["rejected", "both_bad", "skip"]
    # somebody who prefers the chosen answer reads its text, not its side
    for row, verdict in zip(rows, verdicts, strict=True):
        pair = ROWS[row["pair_id"]]
        row["label"] = verdict if verdict not in ("chosen", "rejected") else "first" if row["first"] == pair[verdict] else "second"
    # the order of the lines does not matter: labels go by pair
    text = call(r, capsys, "--labels", str(written(tmp_path / "labels.jsonl", rows[::-1])))
    assert "23 labels recorded." in text and "Complete" in text and "defect rate is" not in text
    text = call(r, capsys, "--end")
    assert "2 defects and 1 skipped in 23 of 30" in text
    # the same judgements made one by one by another person, under the same seed: the same result, byte for byte
    r.review(BEN).start(r.grid, "fixed", NOW, sample.start.seed)
    judged(r.review(BEN), verdicts)
    r.review(BEN).end(NOW)
    documents = [json.loads(call(r, capsys, "--json", person=person)) for person in (ANA, BEN)]
    assert documents[0]["labels"] is None
    results = [document["result"] for document in documents]
    assert results[0] | {"person": BEN} == results[1]


def test_a_file_may_come_in_parts_and_twice(r: Room, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = r.review().start(r.grid, "fixed", NOW, SEED)
    half = written(tmp_path / "half.jsonl", [{"pair_id": one, "label": "tie" if place < 10 else None} for place, one in enumerate(sample.order)])
    assert json.loads(call(r, capsys, "--labels", str(half), "--json"))["labels"] == {"recorded": 10, "kept": 0, "not_asked": 0}
    # a label that differs from the one on record changes nothing
    rows = [{"pair_id": one, "label": "both_bad"} for one in sample.order]
    text = call(r, capsys, "--labels", str(written(tmp_path / "all.jsonl", rows)))
    assert "13 labels recorded; 10 had a label already, which stands." in text
    labels = r.review().sample().labels  # type: ignore[union-attr]
    assert [label.choice for label in labels] == ["tie"] * 10 + ["both_bad"] * 13


def test_a_step_by_step_sample_takes_no_more_than_its_rule_asks_for(r: Room) -> None:
    """25 pairs without a defect end it at the first look (sizes 25, 30): the other 5 labels are not recorded."""
    sample = r.review().start(r.grid, "sequential", NOW, SEED)
    taken = r.review().judge_all([Given(one, "tie") for one in sample.order], NOW)
    assert (taken.recorded, taken.kept, taken.not_asked) == (25, 0, 5) and taken.sample.stop.standing == "met"


def test_a_pair_that_is_passed_over_refuses_the_whole_file(r: Room, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = r.review().start(r.grid, "fixed", NOW, SEED)
    rows = [{"pair_id": one, "label": "first"} for place, one in enumerate(sample.order) if place != 4]
    file = written(tmp_path / "labels.jsonl", rows)
    text = call(r, capsys, "--labels", str(file), code=4)
    assert sample.order[4] in text and "labels.jsonl, line 5" in text and "skip" in text
    assert r.review().sample().labels == ()  # type: ignore[union-attr]


@pytest.mark.parametrize(("row", "code"), [
    ({"pair_id": "p999", "label": "tie"}, "not_in_sample"), ({"pair_id": "0", "label": "chosen"}, "unknown_value"),
    ({"pair_id": "0", "label": 1}, "wrong_type"), ({"pair_id": 7, "label": "tie"}, "wrong_type"), ({"label": "tie"}, "missing_field"),
    ({"pair_id": "0"}, "missing_field"), ({"pair_id": "first", "label": None}, "duplicate_label"), ([1], "wrong_type"),
])
def test_a_bad_line_is_named_and_nothing_is_recorded(r: Room, tmp_path: Path, row: Any, code: str) -> None:
    sample = r.review().start(r.grid, "fixed", NOW, SEED)
    if isinstance(row, dict) and row.get("pair_id") == "first":
        row = row | {"pair_id": sample.order[0]}
    file = written(tmp_path / "labels.jsonl", [{"pair_id": sample.order[0], "label": "tie"}, row])
    error = refusal(code, lambda: r.review().judge_all(read_labels(file), NOW))
    assert error.where is not None and (error.where.file, error.where.line) == ("labels.jsonl", 2) and error.exit_code == 4
    assert r.review().sample().labels == ()  # type: ignore[union-attr]


def test_nothing_is_judged_before_the_draw_or_after_the_end(r: Room, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path / "labels.jsonl", [{"pair_id": "p000", "label": "tie"}])
    assert "no_sample_yet" in call(r, capsys, "--labels", str(file), "--json", code=4)
    assert "no_sample_yet" in call(r, capsys, "--sheet", str(tmp_path / "s.jsonl"), "--json", code=4) and not (tmp_path / "s.jsonl").exists()
    sample = r.review().start(r.grid, "fixed", NOW, SEED)
    r.review().end(NOW)
    written(file, [{"pair_id": sample.order[0], "label": "tie"}])
    assert "sample_ended" in call(r, capsys, "--labels", str(file), "--json", code=4)
    assert "unknown_form" in call(r, capsys, "--labels", str(written(tmp_path / "labels.txt", [])), "--json", code=4)


def test_a_sample_belongs_to_its_person(r: Room, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An alias is the same person; a colleague's sample is another, and so are its seed and its sheet."""
    for person in (ANA, "ana", BEN):
        call(r, capsys, "--draw", "fixed", person=person)
    ana, ben = r.review().sample(), r.review(BEN).sample()
    assert ana is not None and ben is not None and ana.seeds == 1 and ana.start.seed != ben.start.seed
    call(r, capsys, "--draw", "fixed", person="eva@example.org", code=5)
    taken = r.review(BEN).judge_all([Given(ben.order[0], "tie")], NOW)
    assert taken.recorded == 1 and r.review().sample().labels == ()  # type: ignore[union-attr]


def test_json_and_parquet_are_read_too(r: Room, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sample = r.review().start(r.grid, "fixed", NOW, SEED)
    rows = [{"pair_id": one, "label": side_of(sample, "tie")} for one in sample.order[:2]]
    (tmp_path / "labels.json").write_text(json.dumps(rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "labels.parquet")
    found = [[(one.pair_id, one.choice) for one in read_labels(tmp_path / name)] for name in ("labels.json", "labels.parquet")]
    assert found[0] == found[1] == [(one, "tie") for one in sample.order[:2]]
