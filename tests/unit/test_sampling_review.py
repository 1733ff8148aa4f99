"""Drawing and judging a sample: what is stored, that it survives, and everything that must not be possible."""
from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from support_sampling import ANA, BEN, NOW, SEED, Room, changed_grid, copied, judged, room, side_of
from support_signing import sha

from core.canonical import canonical_bytes, sha256_hex
from core.errors import CountersignError, IdentityError
from core.sampling import Population, Review
from core.sampling.draw import drawn, shown_first
from core.sampling.journal import Journal


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Room:
    return room(tmp_path_factory.mktemp("sampling"), 30)


@pytest.fixture
def r(made: Room, tmp_path: Path) -> Room:
    return copied(made, tmp_path)


@pytest.fixture
def started(r: Room) -> Review:
    review = r.review()
    review.start(r.grid, "fixed", NOW, SEED)
    return review


def file_of(r: Room, person: str = ANA) -> Path:
    return r.workspace.root / "sampling" / r.source.digest / f"{sha256_hex(person.encode())}.jsonl"


def lines(r: Room, person: str = ANA) -> list[dict]:
    return [json.loads(line) for line in file_of(r, person).read_bytes().splitlines()]


def code_of(act) -> str:
    with pytest.raises(CountersignError) as caught:
        act()
    assert caught.value.remedy and caught.value.exit_code in (4, 5)
    return caught.value.code


def test_a_start_writes_seed_plan_and_digests_before_anything_is_seen(r: Room, started: Review) -> None:
    # 30 pairs at 5 %: two are too many; (30-n)(29-n)/870 <= 43.5/870: 7*6 = 42 at n = 23, 8*7 = 56 at n = 22
    (line,) = lines(r)
    assert line == {
        "kind": "start", "schema_version": 1, "draw": "sha256-rank-1", "round_digest": r.source.digest, "person": ANA, "seed": SEED,
        "admitted_sha256": sha256_hex(r.assessment.admitted_pairs_bytes()), "grid_digest": r.grid.digest, "at": "2026-03-01T12:00:00Z",
        "method": "fixed", "population": 30, "max_defect_rate": "0.05", "confidence": "0.95", "sizes": [23],
    }
    sample = started.sample()
    assert sample is not None and sample.order == drawn(r.population, SEED, 23) and sample.next_pair == sample.order[0]


def test_a_fresh_seed_is_drawn_each_time_and_kept(r: Room) -> None:
    seeds = {r.review(person).start(r.grid, "fixed", NOW).start.seed for person in (ANA, BEN, "eva@example.org")}
    assert len(seeds) == 3 and all(len(seed) == 32 and int(seed, 16) >= 0 for seed in seeds)
    assert r.review().sample().start.seed in seeds


def test_a_second_start_returns_the_first_so_nobody_shops_for_seeds(r: Room, started: Review) -> None:
    before = file_of(r).read_bytes()
    again = r.review().start(r.grid, "sequential", NOW)
    assert again.start.seed == SEED and again.plan.method == "fixed" and again.seeds == 1
    assert file_of(r).read_bytes() == before


def test_labels_are_stored_by_pair_id_and_survive_a_restart(r: Room, started: Review) -> None:
    judged(started, ["chosen", "rejected", "tie", "both_bad", "skip"])
    sample = r.review().sample()
    assert sample is not None and [label.verdict for label in sample.labels] == ["chosen", "rejected", "tie", "both_bad", "skip"]
    assert [label.pair_id for label in sample.labels] == list(sample.order[:5]) and sample.next_pair == sample.order[5]
    stored = lines(r)[1:]
    assert [line["pair_id"] for line in stored] == list(sample.order[:5])
    assert all(set(line) == {"kind", "pair_id", "choice", "first", "seed", "at"} for line in stored)
    assert [line["first"] for line in stored] == [shown_first(r.population, SEED, pair_id) for pair_id in sample.order[:5]]
    assert all(canonical_bytes(line) + b"\n" == raw for line, raw in zip(lines(r), file_of(r).read_bytes().splitlines(keepends=True), strict=True))


def test_the_bound_counts_skips_as_defects_and_ties_not(started: Review) -> None:
    sample = judged(started, ["chosen", "rejected", "tie", "both_bad", "skip"])
    assert sample.defects == (False, True, False, True, True)


def test_a_double_click_labels_once(r: Room, started: Review) -> None:
    sample = started.sample()
    pair_id = sample.order[0]
    started.judge(pair_id, "first", NOW)
    again = r.review().judge(pair_id, "second", NOW)
    assert len(again.labels) == 1 and again.labels[0].choice == "first" and len(lines(r)) == 2


def test_two_windows_at_once_label_each_pair_once(r: Room, started: Review) -> None:
    faults: list[CountersignError] = []

    def click(choice) -> None:
        for pair_id in started.sample().order[:10]:
            try:
                r.review().judge(pair_id, choice, NOW)
            except CountersignError as fault:      # the other window is ahead
                faults.append(fault)

    threads = [threading.Thread(target=click, args=(choice,)) for choice in ("first", "second", "tie")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ids = [line["pair_id"] for line in lines(r) if line["kind"] == "label"]
    assert len(ids) == len(set(ids)) and ids == list(started.sample().order[: len(ids)]) and len(ids) >= 10
    assert {fault.code for fault in faults} <= {"not_next"}


def test_a_torn_last_line_counts_for_nothing_and_goes_with_the_next_label(r: Room, started: Review) -> None:
    judged(started, ["chosen", "tie"])
    whole = file_of(r).read_bytes()
    file_of(r).write_bytes(whole + b'{"at":"2026-03-01T12:00:00Z","choice":"fir')
    sample = r.review().sample()
    assert len(sample.labels) == 2
    judged(r.review(), ["rejected"])
    data = file_of(r).read_bytes()
    assert data.startswith(whole) and data.endswith(b"\n") and len(r.review().sample().labels) == 3
    # torn in the middle of the very first line
    file_of(r).write_bytes(whole[:40])
    assert r.review().sample() is None
    r.review().start(r.grid, "fixed", NOW, "bb")
    assert [line["kind"] for line in lines(r)] == ["start"]


def test_a_persons_labels_are_theirs_alone(r: Room, started: Review) -> None:
    judged(started, ["rejected"] * 3)
    assert r.review(BEN).sample() is None
    other = r.review(BEN).start(r.grid, "fixed", NOW, "cc")
    assert other.labels == () and other.order != started.sample().order
    judged(r.review(BEN), ["chosen"])
    assert len(r.review().sample().labels) == 3 and len(r.review(BEN).sample().labels) == 1
    # one person under another way of writing the same id
    assert len(r.review(" Ana@Example.org.").sample().labels) == 3


@pytest.mark.parametrize("person", ["../../etc/passwd", "ana/../ben", "", "ana\u200b@example.org", "Ana Ärger", None, 7, "a" * 400])
def test_no_text_becomes_a_path(r: Room, person: object) -> None:
    with pytest.raises(IdentityError):
        r.review(person)  # type: ignore[arg-type]
    assert not (r.workspace.root / "sampling").exists()


@pytest.mark.parametrize("digest", ["../..", "", "ABC", "x" * 64])
def test_a_round_that_is_no_digest_is_refused(r: Room, digest: str) -> None:
    assert code_of(lambda: Journal(r.workspace, digest, ANA)) == "unknown_round"


def test_pairs_are_judged_in_the_drawn_order_only(r: Room, started: Review) -> None:
    order = started.sample().order
    outside = next(pair_id for pair_id in r.population.pair_ids if pair_id not in order)
    for pair_id in (order[1], outside, "no such pair"):
        assert code_of(lambda pair_id=pair_id: started.judge(pair_id, "first", NOW)) == "not_next"
    assert code_of(lambda: started.judge(order[0], "better", NOW)) == "unknown_choice"  # type: ignore[arg-type]
    assert len(lines(r)) == 1


def test_before_the_start_there_is_nothing_to_judge(r: Room) -> None:
    review = r.review()
    assert review.sample() is None
    assert code_of(lambda: review.judge("p001", "first", NOW)) == "no_sample_yet"
    assert code_of(lambda: review.take_back("p001", NOW)) == "no_sample_yet" and code_of(lambda: review.end(NOW)) == "no_sample_yet"


def test_the_last_label_can_be_taken_back_and_is_counted(r: Room, started: Review) -> None:
    order = started.sample().order
    judged(started, ["chosen", "rejected"])
    assert len(started.take_back(order[0], NOW).labels) == 2             # not the last: nothing happens
    back = started.take_back(order[1], NOW)
    assert back.next_pair == order[1] and back.withdrawn == 1
    judged(started, ["chosen"])
    sample = r.review().sample()
    assert [label.verdict for label in sample.labels] == ["chosen", "chosen"] and sample.withdrawn == 1
    assert [line["kind"] for line in lines(r)] == ["start", "label", "label", "withdraw", "label"]


def test_after_the_end_nothing_changes(r: Room, started: Review) -> None:
    sample = judged(started, ["chosen"] * 22)
    assert not sample.is_complete
    sample = judged(started, ["rejected"])
    assert sample.is_complete and sample.next_pair is None and sample.can_take_back and not sample.ended
    outside = next(pair_id for pair_id in r.population.pair_ids if pair_id not in sample.order)
    assert code_of(lambda: started.judge(outside, "first", NOW)) == "sample_ended"
    ended = started.end(NOW)
    assert ended.ended and not ended.can_take_back
    before = file_of(r).read_bytes()
    assert code_of(lambda: started.take_back(sample.order[-1], NOW)) == "sample_ended"
    assert started.end(NOW).ended and file_of(r).read_bytes() == before


def test_ending_early_leaves_the_rest_unjudged(started: Review) -> None:
    judged(started, ["chosen"] * 4)
    ended = started.end(NOW)
    assert ended.ended and not ended.is_complete and ended.next_pair is None
    assert code_of(lambda: started.judge(ended.order[4], "first", NOW)) == "sample_ended"


def test_a_sequential_sample_ends_at_its_look_or_at_one_defect_too_many(r: Room) -> None:
    # 30 pairs: at most one bad is tolerable, so looks at 0 and 1. Look 0 may spend 1/40 of P = (30-n)(29-n)/870: 21.75: 5*4 = 20 at n = 25
    ana = r.review().start(r.grid, "sequential", NOW, SEED)
    assert ana.plan.sizes[0] == 25 and len(ana.plan.sizes) == 2
    done = judged(r.review(), ["chosen"] * 25)
    assert done.is_complete and done.stop.look == 0 and done.next_pair is None
    r.review(BEN).start(r.grid, "sequential", NOW, "dd")
    over = judged(r.review(BEN), ["chosen", "both_bad", "skip"])
    assert over.is_complete and over.stop.standing == "not_met" and over.stop.judged == 3


def test_another_grid_draws_anew_and_keeps_what_was_judged(r: Room, started: Review) -> None:
    judged(started, ["chosen", "rejected"])
    kept = set(started.sample().order[:2])
    stricter = r.assessed(changed_grid("strict", sample_max_defect_rate="0.01", sample_confidence="0.99"))
    assert stricter.population == r.population
    review = stricter.review()
    assert review.sample() is None and review.seeds() == 1
    # at 1 % of 30 none is tolerable, and at 99 % one left out would be 1/30: all 30 are drawn, so the two that were judged come up again
    sample = review.start(stricter.grid, "fixed", NOW, "ee")
    assert sample.plan.sizes == (30,) and sample.seeds == 2
    while sample.next_pair is not None:
        assert sample.next_pair not in kept
        sample = review.judge(sample.next_pair, side_of(sample, "chosen"), NOW)
    assert len(sample.labels) == 30 and sum(sample.defects) == 1
    assert len(lines(r)) == 1 + 2 + 1 + 28
    # and the first sample has the labels of the second: they are about the pairs
    assert len(r.review().sample().labels) == 23 and r.review().sample().is_complete


def test_what_was_ended_early_stays_so_when_a_later_sample_judges_more(r: Room, started: Review) -> None:
    judged(started, ["chosen"] * 3)
    started.end(NOW)
    strict = r.assessed(changed_grid("strict", sample_max_defect_rate="0.01", sample_confidence="0.99"))
    strict.review().start(strict.grid, "fixed", NOW, "ee")
    judged(strict.review(), ["chosen"] * 20)
    assert len(r.review().sample().labels) == 3


def begins_with_two(r: Room, seed: str, judged_before: tuple[str, ...]) -> bool:
    return [pair_id in judged_before for pair_id in drawn(r.population, seed, 3)] == [True, True, False]


def test_only_own_labels_are_taken_back_through_a_second_sample(r: Room, started: Review) -> None:
    sample = judged(started, ["chosen"] * 23)
    started.end(NOW)
    strict = r.assessed(changed_grid("strict", sample_max_defect_rate="0.01", sample_confidence="0.99"))
    review = strict.review()
    # with this seed the new order begins with two pairs that the first sample has judged, and then one that it has not
    again = review.start(strict.grid, "fixed", NOW, next(seed for seed in map(str, range(100)) if begins_with_two(r, seed, sample.order)))
    assert len(again.labels) == 2 and not again.can_take_back
    assert review.take_back(again.labels[-1].pair_id, NOW).labels == again.labels
    assert [label.verdict for label in r.review().sample().labels] == ["chosen"] * 23


def test_the_grid_must_be_the_one_of_the_assessment(r: Room) -> None:
    assert code_of(lambda: r.review().start(changed_grid("other", sample_confidence="0.9"), "fixed", NOW)) == "another_grid"


@pytest.mark.parametrize("line", [
    b"{}", b"[]", b"not json", b'{"kind":"label"}', b'{"kind":"other"}', b'{"kind": "end","seed":"aa"}', b'{"kind":"withdraw","pair_id":"p001"}',
    b'{"choice":"better","first":"chosen","kind":"label","pair_id":"p","seed":"s"}',
    b'{"choice":"first","first":"left","kind":"label","pair_id":"p","seed":"s"}', b'{"choice":"first","first":"chosen","kind":"label","pair_id":"p"}',
])
def test_a_broken_line_is_named_and_nothing_is_guessed(r: Room, started: Review, line: bytes) -> None:
    judged(started, ["chosen"])
    file_of(r).write_bytes(file_of(r).read_bytes() + line + b"\n")
    with pytest.raises(CountersignError) as caught:
        r.review().sample()
    assert caught.value.where is not None and caught.value.where.line == 3 and caught.value.exit_code == 4
    assert code_of(lambda: r.review().judge(r.population.pair_ids[0], "first", NOW)) == caught.value.code


def test_a_file_of_somebody_else_in_this_place_is_refused(r: Room, started: Review) -> None:
    r.review(BEN).start(r.grid, "fixed", NOW, "cc")
    file_of(r).write_bytes(file_of(r, BEN).read_bytes())
    assert code_of(r.review().sample) == "broken_line"


def test_without_admitted_pairs_or_keys_there_is_no_sample(r: Room) -> None:
    nobody = Population(r.source.digest, sha("none"), ())
    review = Review(r.workspace, nobody, r.grid.digest, ANA)
    assert code_of(lambda: review.start(r.grid, "fixed", NOW)) == "no_sample"
    assert not file_of(r).exists()
