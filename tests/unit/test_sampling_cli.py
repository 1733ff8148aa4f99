"""``countersign sample``: what it prints before, during and after, and that it tells nobody how an open sample stands."""
from __future__ import annotations

import json
from pathlib import Path

import pytest
from support_sampling import ANA, BEN, NOW, SEED, Room, good_rows, judged, persons_room, room
from support_signing import Actor, registry_bytes

from core.cli.main import run

COUNTED = ("defect rate is", "kappa", "prefers the rejected answer")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Room:
    return room(tmp_path_factory.mktemp("sampling"), 30)


@pytest.fixture
def r(made: Room, tmp_path: Path) -> Room:
    return persons_room(made, tmp_path)


def call(r: Room, capsys: pytest.CaptureFixture[str], *arguments: str, person: str = ANA, code: int = 0) -> str:
    assert run(["sample", r.source.digest[:12], "--person", person, "--workspace", str(r.workspace.root), *arguments]) == code
    return capsys.readouterr().out


def test_before_the_draw_it_prints_both_plans(r: Room, capsys: pytest.CaptureFixture[str]) -> None:
    text = call(r, capsys)
    assert "rule out a defect rate above 5 % with 95 % confidence" in text and "fixed" in text and "25, 30" in text
    assert "No sample was drawn yet" in text
    document = json.loads(call(r, capsys, "--json"))
    # sizes by hand in test_sampling_review and tests/app/test_sample.py
    assert [plan["sizes"] for plan in document["plans"]] == [[23], [25, 30]]
    assert document["progress"] is None and document["result"] is None and document["why_no_plan"] is None


def test_an_open_or_complete_sample_tells_no_result(r: Room, capsys: pytest.CaptureFixture[str]) -> None:
    r.review().start(r.grid, "fixed", NOW, SEED)
    for verdicts, said in ((["rejected"] * 3, "3 of at most 23 pairs judged"), (["chosen"] * 20, "Complete")):
        judged(r.review(), verdicts)
        text = call(r, capsys, "--show")
        assert said in text and SEED in text and not [word for word in COUNTED if word in text]
        document = json.loads(call(r, capsys, "--json"))
        assert document["result"] is None and "defects" not in json.dumps(document["progress"])


def test_an_ended_sample_prints_its_result_and_disagreements(r: Room, capsys: pytest.CaptureFixture[str]) -> None:
    r.review().start(r.grid, "fixed", NOW, SEED)
    sample = judged(r.review(), ["chosen"] * 22 + ["rejected"])
    r.review().end(NOW)
    text = call(r, capsys)
    assert "1 defect in 23 of 30: the defect rate is at most 10 % with 95 % confidence" in text and "it is not ruled out" in text
    assert sample.order[22] not in text and "--show lists the pairs" in text
    assert sample.order[22] in call(r, capsys, "--show")
    document = json.loads(call(r, capsys, "--json"))
    assert document["result"]["defects"] == 1 and document["result"]["bound"]["numerator"] == 3
    # an alias is the same person
    assert json.loads(call(r, capsys, "--json", person="ana"))["result"] == document["result"]
    assert json.loads(call(r, capsys, "--json", person=BEN))["result"] is None


def test_nobody_unknown_has_a_sample(r: Room, capsys: pytest.CaptureFixture[str]) -> None:
    call(r, capsys, person="eva@example.org", code=5)
    assert json.loads(call(r, capsys, "--json", person="Ana Ärger", code=5))["error"] == "id_grammar"


def test_a_round_without_admitted_pairs_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    none = room(tmp_path, 0, rows=[row | {"rejected": row["chosen"]} for row in good_rows(2)])
    none.workspace.registry_file.write_bytes(registry_bytes(Actor(ANA)))
    assert "No sample: no pair was admitted" in call(none, capsys)
    document = json.loads(call(none, capsys, "--json"))
    assert document["plans"] == [] and "no pair was admitted" in document["why_no_plan"]
