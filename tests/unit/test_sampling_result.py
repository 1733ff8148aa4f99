"""What a sample shows: bound, kappa, disagreements, in words and as the object that a decision carries."""
from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from support_rounds import pair
from support_sampling import ANA, BEN, NOW, SEED, Room, changed_grid, copied, good_rows, judged, room, side_of

from core.canonical import canonical_bytes, canonical_digest, parse_canonical, sha256_hex
from core.gates.assessment import load_or_assess
from core.grid import load_grid
from core.grid.document import EARLIER_GRID_PATHS
from core.sampling import COVERAGE_VERSION, Choice, Population, Review, SampleResult, plan_sample, result_of, sampling_coverage, why_no_plan
from core.sampling.plan import NO_KEYS, NO_PAIRS, NOTHING_TO_PROVE
from core.sampling.result import NO_FLAGS, NO_SIDES, ONE_SIDE


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Room:
    return room(tmp_path_factory.mktemp("sampling"), 30)


@pytest.fixture
def r(made: Room, tmp_path: Path) -> Room:
    return copied(made, tmp_path)


def result(r: Room, verdicts: list[str], *, method: str = "fixed", end: bool = False, person: str = ANA) -> SampleResult:
    r.review(person).start(r.grid, method, NOW, SEED)  # type: ignore[arg-type]
    sample = judged(r.review(person), verdicts)
    return result_of(r.assessment, r.review(person).end(NOW) if end else sample)


def by_side(review: Review, choices: list[Choice]) -> None:
    """Judge by the side as shown, whatever stands there."""
    for choice in choices:
        sample = review.sample()
        assert sample is not None and sample.next_pair is not None
        review.judge(sample.next_pair, choice, NOW)


# the bound in words: 30 pairs at 5 % and 95 %: one is tolerable, 23 are drawn


def test_no_defect_proves_the_rate(r: Room) -> None:
    found = result(r, ["chosen"] * 22 + ["tie"])
    # none in 23 of 30: two are ruled out (42/870 <= 1/20), one is not (7/30): 1/30 = 3.33.. %, written rounded up
    assert found.bound.value == Fraction(1, 30) and found.is_met
    assert found.words == "0 defects in 23 of 30: the defect rate is at most 3.34 % with 95 % confidence"
    assert found.target_words == "The grid asks to rule out a defect rate above 5 %: it is ruled out."
    assert found.counts == {"chosen": 22, "rejected": 0, "both_bad": 0, "tie": 1, "skip": 0} and found.judged == 23 and found.unjudged == 0


def test_one_defect_or_one_skip_does_not(r: Room) -> None:
    # at most one in 23 of 30. D = 4: P = [C(26,23) + 4 C(26,22)] / C(30,23) = (2600 + 4*14950)/2035800 = .0307; D = 3: P(none) = 7*6*5/
    # (30*29*28) = 35/4060, P(one) = 3 * 23*7*6/(30*29*28)... = 2898/24360; sum (210 + 2898)/24360 = .1276: three are not ruled out
    assert Fraction(2600 + 4 * 14950, 2035800) < Fraction(1, 20) < Fraction(210 + 2898, 24360)
    found = result(r, ["chosen"] * 22 + ["rejected"])
    assert found.bound.value == Fraction(3, 30) and not found.is_met
    assert found.words == "1 defect in 23 of 30: the defect rate is at most 10 % with 95 % confidence"
    assert found.target_words == "The grid asks to rule out a defect rate above 5 %: it is not ruled out."
    skipped = result(r, ["skip"] + ["chosen"] * 22, person=BEN)
    assert skipped.bound == found.bound and (skipped.defects, skipped.judged) == (0, 22)
    assert skipped.words == "0 defects and 1 skipped in 23 of 30: the defect rate is at most 10 % with 95 % confidence"


def test_what_was_not_judged_counts_as_a_defect(r: Room) -> None:
    found = result(r, ["chosen"] * 20, end=True)
    # three unjudged pairs of the 23 as three defects, and 7 never drawn
    worst = result(r, ["chosen"] * 20 + ["both_bad"] * 3, person=BEN)
    assert found.bound == worst.bound and found.unjudged == 3 and found.defects == 0
    assert found.words.startswith("0 defects in 20 of 30, 3 of the sample not judged: the defect rate is at most ")
    assert found.as_dict()["state"] == "ended_early" and worst.as_dict()["state"] == "complete"


def test_a_population_that_is_judged_whole_is_certain(tmp_path: Path) -> None:
    small = room(tmp_path, 5)
    found = result(small, ["chosen"] * 4 + ["rejected"])
    assert found.is_certain and found.bound.value == Fraction(1, 5)
    assert found.words == "1 defect in all 5 pairs: the defect rate is 20 %"
    assert result(small, ["tie"] * 5, person=BEN).words == "0 defects in all 5 pairs: the defect rate is 0 %"


def test_a_sequential_sample_reads_its_bound_from_the_look_it_ended_at(r: Room) -> None:
    # look 0 at 25 of 30: one that is not ruled out: P(none) = 5/30 > 1/20; two: 5*4/870 = .023 <= 1/20
    found = result(r, ["chosen"] * 25, method="sequential")
    assert found.bound.value == Fraction(1, 30) and found.is_met and found.unjudged == 0
    over = result(r, ["rejected", "rejected"], method="sequential", person=BEN)
    # the second defect at pair 2: one or none in the first pair is certain, so nothing but the good pairs seen is ruled out, and none was
    assert over.bound.value == 1 and over.unjudged == 0 and over.as_dict()["state"] == "complete"


# human against verifier


def test_kappa_by_hand(r: Room) -> None:
    review = r.review()
    sample = review.start(r.grid, "fixed", NOW, SEED)
    # agree on the first six pairs, disagree on the next two, then a tie, both bad, a skip: the table holds eight
    first = [sample.first(pair_id) for pair_id in sample.order[:8]]
    found = result(r, ["chosen"] * 6 + ["rejected"] * 2 + ["tie", "both_bad", "skip"])
    both_first = first[:6].count("chosen")
    human_first = first[6:].count("rejected")       # human prefers the rejected one, which stands first; the verifier's stands second
    table = found.sides
    assert (table.tp, table.tn) == (both_first, 6 - both_first) and (table.fp, table.fn) == (human_first, 2 - human_first)
    observed = Fraction(6, 8)
    human, verifier = Fraction(table.tp + table.fp, 8), Fraction(table.tp + table.fn, 8)
    chance = human * verifier + (1 - human) * (1 - verifier)
    assert found.kappa.value == (observed - chance) / (1 - chance)
    assert [label.verdict for label in found.disagreements] == ["rejected", "rejected", "both_bad"] and found.defects == 3


def test_full_agreement_is_one_and_one_who_always_says_first_is_at_chance(r: Room) -> None:
    assert result(r, ["chosen"] * 23).kappa.value == 1
    review = r.review(BEN)
    review.start(r.grid, "fixed", NOW, SEED)
    by_side(review, ["first"] * 23)
    sample = review.sample()
    assert sample is not None
    always = result_of(r.assessment, sample)
    # one rater with one class: kappa 0 exactly, unless the shuffle happened to put the same side first each time
    assert 0 < always.sides.tp < 23 and always.kappa.value == 0


def test_kappa_that_is_undefined_says_why(r: Room) -> None:
    only_ties = result(r, ["tie"] * 3)
    assert only_ties.kappa.value is None and only_ties.kappa.undefined == NO_SIDES
    review = r.review(BEN)
    review.start(r.grid, "fixed", NOW, SEED)
    by_side(review, ["first"])
    one = review.sample()
    assert one is not None
    if one.labels[0].first == "chosen":
        assert result_of(r.assessment, one).kappa.undefined == ONE_SIDE
    else:
        assert result_of(r.assessment, one).kappa.value == 0
    document = only_ties.as_dict()["kappa"]
    assert document["value"] is None and document["undefined"] == NO_SIDES


def test_pairs_without_the_verifiers_verdict_are_not_in_the_table(tmp_path: Path) -> None:
    # synthetic pairs are held where no judge is calibrated, so the verdicts are taken away from the read flags instead
    small = room(tmp_path, 6)
    sample = small.review().start(small.grid, "fixed", NOW, SEED)
    sample = judged(small.review(), ["chosen"] * 6)
    without = SampleResult(sample, {})
    assert without.kappa.undefined == NO_FLAGS and without.sides.n == 0
    assert without.bound == result_of(small.assessment, sample).bound
    some = SampleResult(sample, {sample.order[0]: True, sample.order[1]: True})
    assert some.sides.n == 2


# plans


def test_why_there_is_no_plan() -> None:
    old, grid = load_grid(EARLIER_GRID_PATHS[-1]), changed_grid("any", sample_max_defect_rate="1")
    assert why_no_plan(old, 100) == NO_KEYS and why_no_plan(grid, 0) == NO_PAIRS and why_no_plan(grid, 100) == NOTHING_TO_PROVE
    default = changed_grid("same")
    assert why_no_plan(default, 1) is None and plan_sample(default, 1).sizes == (1,)


def test_the_plan_reads_the_grid_and_nothing_else() -> None:
    # 377 pairs at 5 %: 19 are too many: product of (358-i)/(377-i) first drops to .05 at 54 (test_sampling_hypergeometric)
    assert plan_sample(changed_grid("same"), 377).sizes == (54,)
    assert plan_sample(changed_grid("loose", sample_max_defect_rate="0.2"), 377).sizes[0] < 20
    assert plan_sample(changed_grid("sure", sample_confidence="0.99"), 377).sizes[0] > 54
    assert plan_sample(changed_grid("same"), 377, "sequential").sizes == (65, 99, 132, 154)


# the object of the statement


def test_the_coverage_before_during_and_after_has_the_same_members(r: Room) -> None:
    states = []
    for act in (lambda: None, lambda: r.review().start(r.grid, "fixed", NOW, SEED), lambda: judged(r.review(), ["chosen"] * 22 + ["rejected"]),
                lambda: r.review().end(NOW)):
        act()
        found = sampling_coverage(r.workspace, r.source, r.assessment, ANA)
        states.append(found)
        assert found["version"] == COVERAGE_VERSION and found["person"] == ANA and found["population"] == 30
        assert parse_canonical(canonical_bytes(found)) == json.loads(json.dumps(found))
    assert [found["state"] for found in states] == ["not_started", "open", "complete", "complete"]
    assert len({tuple(sorted(found)) for found in states}) == 1
    # nothing judged yet: 23 unjudged pairs are 23 defects, so nothing is ruled out
    assert states[1]["unjudged"] == 23 and states[1]["bound"]["numerator"] == 30 and not states[1]["target_met"]
    final = states[3]
    assert final | {"kappa": None, "sides": None} == {
        "version": COVERAGE_VERSION, "verification": "program", "state": "complete", "person": ANA, "method": "fixed", "population": 30,
        "max_defect_rate": "0.05", "confidence": "0.95", "sizes": [23], "seed": SEED, "seeds_drawn": 1,
        "admitted_sha256": sha256_hex(r.assessment.admitted_pairs_bytes()), "grid_digest": r.grid.digest, "shown": 23, "judged": 23, "unjudged": 0,
        "taken_back": 0, "counts": {"chosen": 22, "rejected": 1, "both_bad": 0, "tie": 0, "skip": 0}, "defects": 1,
        "bound": {"numerator": 3, "denominator": 30, "value": 0.1, "undefined": None}, "target_met": False, "kappa": None, "sides": None,
        "disagreements": {"count": 1, "pair_ids": [r.review().sample().order[22]], "left_out": 0}, "labels_sha256": final["labels_sha256"],
    }


def test_the_labels_digest_can_be_made_again(r: Room) -> None:
    result(r, ["chosen", "both_bad"])
    sample = r.review().sample()
    assert sample is not None
    listed = [[label.pair_id, label.choice, label.first] for label in sample.labels]
    assert sampling_coverage(r.workspace, r.source, r.assessment, ANA)["labels_sha256"] == canonical_digest(listed)


def test_many_disagreements_are_counted_and_named_up_to_a_limit(tmp_path: Path) -> None:
    many = room(tmp_path, 130)
    grid = changed_grid("strict", sample_max_defect_rate="0.0001", sample_confidence="0.9999")
    strict = many.assessed(grid)
    strict.review().start(grid, "fixed", NOW, SEED)
    sample = judged(strict.review(), ["both_bad"] * 130)
    named = sampling_coverage(strict.workspace, strict.source, strict.assessment, ANA)["disagreements"]
    assert named == {"count": 130, "pair_ids": list(sample.order[:100]), "left_out": 30}


def test_the_coverage_of_another_person_or_grid_is_their_own(r: Room) -> None:
    result(r, ["chosen"] * 2)
    assert sampling_coverage(r.workspace, r.source, r.assessment, BEN)["state"] == "not_started"
    strict = r.assessed(changed_grid("strict", sample_max_defect_rate="0.01"))
    other = sampling_coverage(strict.workspace, strict.source, strict.assessment, ANA)
    # nothing under this grid, and it says that a seed was drawn already
    assert other["state"] == "not_started" and other["seeds_drawn"] == 1 and other["grid_digest"] == strict.grid.digest


def test_a_round_without_pairs_has_a_coverage_too(tmp_path: Path) -> None:
    none = room(tmp_path, 0, rows=[pair(chosen="Yes.", rejected="Yes.")])
    found = sampling_coverage(none.workspace, none.source, none.assessment, ANA)
    assert (found["state"], found["population"], found["shown"]) == ("not_started", 0, 0)


def test_the_sample_is_of_admitted_pairs_only(tmp_path: Path) -> None:
    rows = [*good_rows(12), pair(pair_id="bad", prompt="Else.", chosen="Same.", rejected="Same."),
            pair(pair_id="drift", prompt="Other.", chosen="Far away.", rejected="None at all.", policy_logp_chosen=-60.0, policy_logp_rejected=-90.0)]
    mixed = room(tmp_path, 0, rows=rows)
    assert set(mixed.population.pair_ids) == {row["pair_id"] for row in good_rows(12)}
    sample = mixed.review().start(mixed.grid, "fixed", NOW, SEED)
    assert sample.order and set(sample.order) <= set(mixed.population.pair_ids)


def test_an_assessment_read_again_has_its_sample(r: Room) -> None:
    result(r, ["chosen"] * 2)
    again = load_or_assess(r.workspace, r.source, r.grid)
    review = Review(r.workspace, Population.of(again), again.grid_digest, ANA)
    sample = review.sample()
    assert sample is not None and len(sample.labels) == 2
    assert side_of(sample, "chosen") in ("first", "second")


def test_more_defects_than_the_rate_allows_are_above_it_for_certain(r: Room) -> None:
    # 5 % of 30 is one; two were found
    found = result(r, ["both_bad", "rejected"], end=True)
    assert found.is_exceeded and not found.is_met
    assert found.target_words == "The grid asks to rule out a defect rate above 5 %: with 2 of 30 it is above for certain."
