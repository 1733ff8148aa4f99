"""The record of looks at holdouts: one line a (round, grid), whatever is renamed, however many processes write."""
from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest
from support_desk import Desk, bundle, desk

from core.errors import CountersignError, LedgerError, LedgerFormatError
from core.gates.assessment import load_or_assess
from core.gates.exposure_file import EXPOSURE_FILE, read_looks, record_look
from core.gates.exposure_report import exposure_of
from core.grid import default_grid, grid_from_document, shipped_grids
from core.rounds.folder import Round
from core.rounds.workspace import Workspace

FIRST_GRID = next(grid for grid in shipped_grids().values() if grid.schema_version == 1)


@pytest.fixture
def d(tmp_path: Path) -> Desk:
    return desk(tmp_path)


def lines(d: Desk) -> list[Any]:
    return [json.loads(line) for line in (d.workspace.root / EXPOSURE_FILE).read_bytes().splitlines()]


def suite(change: Any = lambda items: items) -> dict[str, Any]:
    """The worked example's holdout, changed, its outcomes under the changed ids, and its new digest."""
    document = json.loads(bundle())
    items = change(document["holdout_suite"])
    known = {item["prompt"].casefold().split()[0]: item["id"] for item in document["holdout_suite"]}
    digest = hashlib.sha256(json.dumps(items, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()
    arms = {}
    for name in ("baseline_outcomes", "candidate_outcomes"):
        arms[name] = {item["id"]: document[name][known.get(item["prompt"].casefold().split()[0], "h-01")] for item in items}
    return {"holdout_suite": items, "preregistered_holdout_sha256": digest, **arms}


def test_prompts_of_the_worked_example_begin_differently() -> None:
    """``suite`` tells them apart by their first word."""
    words = [item["prompt"].casefold().split()[0] for item in json.loads(bundle())["holdout_suite"]]
    assert len(set(words)) == len(words) == 5


def test_a_decision_writes_one_line_and_deciding_again_none(d: Desk) -> None:
    source = d.round()
    assert not (d.workspace.root / EXPOSURE_FILE).exists()
    for _ in range(3):
        d.assess(source)
    (line,) = lines(d)
    assert sorted(line) == ["exposure_version", "flips", "grid_digest", "items", "round_digest", "round_id", "verdict"]
    assert (line["round_digest"], line["grid_digest"]) == (source.digest, default_grid().digest)
    assert len(line["items"]) == 5 and line["items"] == sorted(line["items"])
    # the worked example: 3 of 5 before, 4 of 5 after, one fix and no regression
    assert line["flips"] == {"both_pass": 3, "regressions": 0, "fixes": 1, "both_fail": 1}


def test_another_engine_or_a_lost_assessment_adds_no_look(d: Desk) -> None:
    source = d.round()
    assessed = d.assess(source)
    for path in assessed.folder.iterdir():
        path.unlink()
    assessed.folder.rmdir()
    d.assess(source)
    assert len(lines(d)) == 1


def test_an_assessment_from_before_the_record_is_recorded_when_it_is_used(d: Desk) -> None:
    source = d.round()
    d.assess(source)
    (d.workspace.root / EXPOSURE_FILE).unlink()
    d.assess(source)
    assert len(lines(d)) == 1


def test_a_refused_round_is_a_look_too(d: Desk) -> None:
    refused = d.round("refused", sanity_outcomes={})
    assert d.assess(refused).verdict == "REFUSE"
    assert lines(d)[0]["verdict"] == "REFUSE"
    assert exposure_of(d.workspace, d.round(), default_grid()).look == 2


def test_outcomes_that_fit_another_holdout_are_a_look_without_figures(d: Desk) -> None:
    """The lock does not hold and an id is unknown: refused, and the items were seen all the same."""
    swapped = d.round("swapped", preregistered_holdout_sha256="0" * 64, candidate_outcomes={"nobody": True})
    d.assess(swapped)
    assert lines(d)[0]["flips"] is None and len(lines(d)[0]["items"]) == 5
    report = exposure_of(d.workspace, swapped, default_grid())
    assert report.ladder.undefined == "its outcomes do not fit its holdout" and report.best_by_luck is None


def test_another_grid_adds_a_line_and_no_look(d: Desk) -> None:
    source = d.round()
    d.assess(source)
    d.assess(source, FIRST_GRID)
    assert [line["grid_digest"] for line in lines(d)] == [default_grid().digest, FIRST_GRID.digest]
    assert exposure_of(d.workspace, source, default_grid()).look == 1
    assert exposure_of(d.workspace, d.round("later"), default_grid()).look == 2


@pytest.mark.parametrize(
    ("change", "shared"),
    [
        (lambda items: [item | {"id": f"renamed-{item['id']}"} for item in items], 5),
        (lambda items: items[::-1], 5),
        (lambda items: items[1:], 4),
        (lambda items: [item | {"prompt": f"  {item['prompt'].upper()} "} for item in items], 5),
        (lambda items: [*items[:4], {"id": "h-05", "prompt": "Write a haiku about rain."}], 4),
    ],
    ids=["renamed", "shuffled", "one dropped", "case and spaces", "one replaced"],
)
def test_reuse_is_told_by_content(d: Desk, change: Any, shared: int) -> None:
    first = d.round()
    d.assess(first)
    second = d.round("second", **suite(change))
    d.assess(second)
    assert second.digest != first.digest
    report = exposure_of(d.workspace, second, default_grid())
    assert report.look == 2 and report.seen is not None and report.seen.looks == 1
    assert [(look.round_id, look.shared) for look in report.earlier] == [("worked-example", shared)]
    assert report.seen.fresh == report.items - shared
    # shared items over the size of the later suite: a dropped item does not make the rest fresh
    assert report.seen.largest_overlap.numerator == shared and report.seen.largest_overlap.denominator == report.items
    # seen from the first round, the second came later
    assert (exposure_of(d.workspace, first, default_grid()).look, exposure_of(d.workspace, first, default_grid()).later) == (1, 1)


def test_other_items_are_no_reuse(d: Desk) -> None:
    d.assess(d.round())
    fresh = d.round("fresh", **suite(lambda items: [item | {"prompt": f"Instead: {item['prompt']}"} for item in items]))
    d.assess(fresh)
    report = exposure_of(d.workspace, fresh, default_grid())
    assert (report.look, report.earlier) == (1, ())
    assert report.sentences[0] == "None of the 5 holdout items was looked at before in this workspace."


def test_a_round_without_outcomes_is_no_look(d: Desk, tmp_path: Path) -> None:
    class NoOutcomes:
        def __init__(self, source: Round) -> None:
            self.source = source

        def has(self, part: str) -> bool:
            return part != "outcomes" and self.source.has(part)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.source, name)

    silent: Any = NoOutcomes(d.round())
    assert record_look(d.workspace, silent, default_grid(), {"holdout": None, "verdict": "REFUSE"}) is False
    assert not (d.workspace.root / EXPOSURE_FILE).exists()
    report = exposure_of(d.workspace, silent, default_grid())
    assert report.sentences == ("Holdout exposure: no outcomes on a holdout.",)
    assert report.as_dict()["largest_overlap"] is None and report.as_dict()["undefined"] == "no outcomes on a holdout"


def test_the_error_budget_is_spent_by_looks(d: Desk) -> None:
    """.05 over 20 planned looks: .0025 each."""
    for number in range(3):
        d.assess(d.round(f"r{number}"))
    report = exposure_of(d.workspace, d.round("r2"), default_grid())
    assert report.look == 3 and report.budget is not None
    assert (report.budget.now, report.budget.spent) == (0.0025, 0.0075)
    assert report.sentences[1] == "Error budget: this look may use 0.0025; with it 0.0075 of 0.05 is spent (look 3 of 20 planned)."


def test_a_budget_that_is_gone(d: Desk) -> None:
    document = json.loads(default_grid().canonical)
    document["keys"]["planned_looks"]["value"] = 1
    document |= {"version": 99, "reason": "one look only"}
    once = grid_from_document(document)
    for number in range(2):
        d.assess(d.round(f"r{number}"), once)
    report = exposure_of(d.workspace, d.round("r1"), once)
    assert report.budget is not None and report.budget.exhausted
    assert report.sentences[1] == "Error budget: all of 0.05 was spent by look 1; nothing is left for this one."


def test_a_grid_without_the_keys_says_which_it_lacks(d: Desk) -> None:
    source = d.round()
    d.assess(source, FIRST_GRID)
    report = exposure_of(d.workspace, source, FIRST_GRID)
    assert report.budget is None and report.no_budget == "the grid sets no look_alpha"
    assert report.ladder.undefined == "the grid sets no ladder_step"
    assert (report.whole_scores, report.verdict_only) == (None, None)
    assert "Error budget: the grid sets no look_alpha." in report.sentences


def outcomes(passing: int) -> dict[str, Any]:
    return {"candidate_outcomes": {f"h-0{number}": number <= passing for number in range(1, 6)}}


def test_the_ladder_releases_only_what_beats_the_best(d: Desk) -> None:
    """Pass rates 3/5, 4/5, 4/5: the second beats the first by more than a point, the third beats nothing."""
    ids = {item["id"] for item in json.loads(bundle())["holdout_suite"]}
    assert ids == {f"h-0{number}" for number in range(1, 6)}
    rounds = [d.round(f"r{passing}{place}", **outcomes(passing)) for place, passing in enumerate((3, 4, 4))]
    for source in rounds:
        d.assess(source)
    first, second, third = (exposure_of(d.workspace, source, default_grid()).ladder for source in rounds)
    assert first.sentence == "Ladder: 60 % is the first result on exactly these items."
    assert second.accepted is True and second.sentence == "Ladder: an improvement (80 % against 60 % released before, step 1 %)."
    assert third.accepted is False and third.sentence == "Ladder: no improvement that counts (80 % against 80 % released before, step 1 %)."


def test_the_ladder_never_compares_different_items(d: Desk) -> None:
    d.assess(d.round(**outcomes(5)))
    fewer = d.round("fewer", **suite(lambda items: items[1:]))
    d.assess(fewer)
    assert exposure_of(d.workspace, fewer, default_grid()).ladder.board is None


def test_what_the_best_of_several_gains_by_luck(d: Desk) -> None:
    """Five items at a rate of 3/5, the best of two: sum over x of P(max > x) = 5 - sum F(x)^2, over 5, less 3/5."""
    for number in range(2):
        d.assess(d.round(f"r{number}"))
    report = exposure_of(d.workspace, d.round("r1"), default_grid())
    mass = [0.01024, 0.0768, 0.2304, 0.3456, 0.2592, 0.07776]              # C(5, x) .6^x .4^(5-x)
    below = [sum(mass[:x + 1]) for x in range(5)]
    assert report.best_by_luck == pytest.approx(sum(1 - share**2 for share in below) / 5 - 0.6, abs=1e-12)


def test_a_broken_line_is_named_and_nothing_is_decided(d: Desk) -> None:
    d.assess(d.round())
    file = d.workspace.root / EXPOSURE_FILE
    whole = file.read_bytes()
    good = json.loads(whole)
    for broken in (b"{}\n", b"\n", whole.replace(b'"exposure_version":1', b'"exposure_version":2'), whole[:-1] + b" \n",
                   whole.replace(b'"fixes":1', b'"fixes":-1'), whole.replace(b'"fixes":1', b'"fixes":true'),
                   whole.replace(good["items"][0].encode(), b"x"), whole.replace(b'"round_id":"worked-example"', b'"round_id":7'),
                   whole.replace(b'"items":[', b'"items":"","itemz":[')):
        file.write_bytes(broken + whole)
        with pytest.raises(LedgerFormatError) as caught:
            d.assess(d.round())
        assert (caught.value.code, caught.value.exit_code) == ("broken_line", 4)
        assert caught.value.where is not None and (caught.value.where.file, caught.value.where.line) == (EXPOSURE_FILE, 1)
    file.write_bytes(whole)
    assert read_looks(d.workspace).size == 1


def test_a_torn_line_counts_for_nothing_and_is_cut(d: Desk) -> None:
    """A crash in the middle of a write, at every length of the torn part."""
    d.assess(d.round())
    file = d.workspace.root / EXPOSURE_FILE
    whole = file.read_bytes()
    second = d.round("second")
    for cut in range(1, len(whole), 97):
        file.write_bytes(whole + whole[:cut])
        book = read_looks(d.workspace)
        assert (book.size, book.torn, book.digest) == (1, cut, hashlib.sha256(whole).hexdigest())
        d.assess(second)
        assert file.read_bytes().startswith(whole) and len(lines(d)) == 2
        file.write_bytes(whole)


def test_earlier_states_are_prefixes(d: Desk) -> None:
    states = []
    for number in range(3):
        d.assess(d.round(f"r{number}"))
        book = read_looks(d.workspace)
        states.append((book.size, book.digest))
    book = read_looks(d.workspace)
    assert all(book.extends(*state) for state in states) and book.extends(0, hashlib.sha256(b"").hexdigest())
    assert not book.extends(2, states[0][1]) and not book.extends(4, states[2][1])


def test_a_record_that_cannot_be_read_decides_nothing(d: Desk) -> None:
    source = d.round()
    (d.workspace.root / EXPOSURE_FILE).mkdir()
    with pytest.raises(LedgerError) as caught:
        d.assess(source)
    assert caught.value.code == "exposure_unreadable"


def test_a_full_disk_shows_nothing(d: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    source, real = d.round(), os.write
    d.assess(d.round("first"))
    before = (d.workspace.root / EXPOSURE_FILE).read_bytes()
    document = d.assess(d.round("other")).document
    (d.workspace.root / EXPOSURE_FILE).write_bytes(before)
    monkeypatch.setattr("core.files.os.write", lambda descriptor, data: real(descriptor, data[:-5]))
    with pytest.raises(CountersignError) as caught:
        record_look(d.workspace, source, default_grid(), document)
    monkeypatch.undo()
    assert caught.value.code == "exposure_unwritable"
    assert (d.workspace.root / EXPOSURE_FILE).read_bytes() == before


def _decide(root: str, digests: list[str], barrier: Any) -> None:
    workspace = Workspace.open(Path(root))
    barrier.wait()
    for digest in digests:
        load_or_assess(workspace, workspace.round(digest), default_grid())


def test_many_processes_write_each_line_once(d: Desk) -> None:
    digests = [d.round(f"r{number}").digest for number in range(6)]
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    orders = (digests, digests[::-1], digests[3:] + digests[:3])
    workers = [context.Process(target=_decide, args=(str(d.workspace.root), order, barrier)) for order in orders]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert sorted(line["round_digest"] for line in lines(d)) == sorted(digests)
    assert read_looks(d.workspace).torn == 0
