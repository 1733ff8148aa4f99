"""Behaviours over versions: the ten situations a rival's records show (our words), every gap by itself, and what is refused."""
from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from core.errors import RoundError
from core.gates.behaviour_versions import BY_PROGRAM, behaviour_history, compare_versions, measurements_of
from core.gates.behaviours import BehaviourClaim, ClaimPolicy, ClaimState, Grader, Measurement, claim
from core.schemas import BEHAVIOURS
from core.statistics.arms import ArmRuns
from core.statistics.noise import NoiseBand, noise_band
from core.statistics.ratio import Ratio
from core.statistics.splits import SplitRate
from core.statistics.verdict import Standing

PEER = json.loads((Path(__file__).parents[1] / "fixtures/peers/whileai_verdict.json").read_text("utf-8"))["cases"]
POLICY = ClaimPolicy(
    alpha=Fraction(1, 20), confidence=Fraction(19, 20), power=Fraction(4, 5), min_agreement=Fraction(4, 5), min_items=50, reducer="majority",
)
NARROW = noise_band([["0.50", "0.505"]], 4, 4)      # sd .0035, t(1) 12.7, sqrt(1/2): about 3.2 points
WIDE = noise_band([["0.3", "0.4"]], 1, 1)           # about 127 points


def measured(
    passed: Sequence[bool], version: str, *, behaviour: str = "b", test: str = "t1", grader: Grader = BY_PROGRAM, contamination: int | None = 0,
    asked: int | None = None, first: int = 0,
) -> Measurement:
    n = len(passed)
    runs = ArmRuns(n, np.arange(n), np.zeros(n, dtype=np.int64), np.array(passed, dtype=np.bool_))
    items = tuple(f"i{place + first:04d}" for place in range(n))
    return Measurement(behaviour, version, test, grader, items, runs, n if asked is None else asked, contamination=contamination)


def pair(fixes: int, regressions: int, both: int, neither: int, **options: object) -> tuple[Measurement, Measurement]:
    """v0 and v1 over the same items."""
    before = [False] * fixes + [True] * (regressions + both) + [False] * neither
    after = [True] * fixes + [False] * regressions + [True] * both + [False] * neither
    return measured(before, "v0", **options), measured(after, "v1", **options)


def claimed(before: Measurement | None, after: Measurement | None, candidate: str | None = "v1", **options: object) -> BehaviourClaim:
    return claim("b", "v0", candidate, before=before, after=after, policy=options.pop("policy", POLICY), **options)


def codes(found: BehaviourClaim) -> list[str]:
    return [gap.code for gap in found.gaps]


def doubled(one: Measurement, second_run: np.ndarray) -> Measurement:
    """The same measurement with a second run of every item."""
    n = len(one.items)
    runs = ArmRuns(n, np.tile(np.arange(n), 2), np.repeat([0, 1], n), np.append(one.runs.passed, second_run))
    return replace(one, runs=runs, asked=2 * n)


# the ten situations


def situation(index: int) -> BehaviourClaim:
    """A measurement that stands for the peer's case of that number."""
    judge = Grader("model", "j", Ratio(54, 60))                                     # 90 %
    weak = Grader("model", "j", Ratio(14, 20), gave_reward=True)                    # 70 %
    good = Grader("model", "j", Ratio(368, 400))                                    # 92 %
    nothing = None, None
    before, after = pair(4, 1, 40, 15)
    situations = {
        0: lambda: claimed(*nothing, candidate=None),
        1: lambda: claimed(before, None),
        2: lambda: claimed(before, None, candidate="v0"),
        3: lambda: claimed(replace(before, runs=None, items=(), totals=SplitRate("s", 30, 60)), replace(after, totals=SplitRate("s", 33, 60))),
        4: lambda: claimed(*pair(4, 1, 40, 15, grader=judge), band=NARROW),         # +5.0 of 60, exact p 12/32
        5: lambda: claimed(*pair(8, 0, 40, 112), band=WIDE),                        # +5.0 of 160, p 2/2^8
        6: lambda: claimed(*pair(0, 8, 40, 112), band=NARROW),
        7: lambda: claimed(*pair(8, 0, 40, 112, grader=weak, contamination=3), band=NARROW),
        8: lambda: claimed(*pair(7, 0, 1, 0, grader=Grader("model", "j")), band=NARROW),
        9: lambda: claimed(*pair(10, 0, 40, 110, grader=good), band=NARROW, repeated_on=["tone-2"]),
    }
    return situations[index]()


@pytest.mark.parametrize(("index", "state", "proven", "gaps", "said"), [
    (0, ClaimState.NO_CANDIDATE, False, [], "b: v0 is served; no other version was put forward"),
    (1, ClaimState.NOT_MEASURED, False, [], "b: v1 was not measured; nothing to compare"),
    (2, ClaimState.SAME_VERSION, False, [], "b: v0 is served already; there is nothing to compare"),
    (3, ClaimState.NOT_PAIRED, False, ["no_item_outcomes"],
     "b: no result: v1 differs from v0 by +5.0 points; v0 came without item outcomes, so nothing can be paired or tested"),
    (4, ClaimState.NOT_SHOWN, False, ["not_significant", "interval_includes_zero"],
     "unproven: b: v1 beats v0 by 5.0 points; n = 60; exact p = .375 does not reach .05; 95 % interval "),
    (5, ClaimState.NOT_SHOWN, False, ["inside_noise_band"],
     "unproven: b: v1 beats v0 by 5.0 points; n = 160; +5.0 points lie inside the re-run band of 127.1 points; graded by a program"),
    (6, ClaimState.TRAILS, True, [], "b: v1 trails v0 by 5.0 points; n = 160, exact p = .0078, 95 % interval −"),
    (7, ClaimState.BEATS, False, ["judge_agreement_low", "reward_was_the_judge", "contamination", "contamination"],
     "unproven: b: v1 beats v0 by 5.0 points; n = 160; the judge is right in 14 of 20, 70 % (80 % asked); the judge's scores were also the training "
     "reward; 3 test items found in the training data of v1; "),
    (8, ClaimState.BEATS, False, ["fewer_items_than_asked", "judge_unmeasured"],
     "unproven: b: v1 beats v0 by 87.5 points; n = 8; 8 items (50 asked); agreement of the judge was not measured; graded by judge j"),
    (9, ClaimState.BEATS, True, [], "b: v1 beats v0 by 6.2 points; n = 160, exact p = .002, 95 % interval "),
])
def test_the_ten_situations(index: int, state: ClaimState, proven: bool, gaps: list[str], said: str) -> None:
    found = situation(index)
    assert (found.state, found.proven, codes(found)) == (state, proven, gaps)
    assert found.sentence.startswith(said), found.sentence
    # ours, not the peer's words
    assert found.sentence != PEER[index]["text"]
    fields = PEER[index]["fields"]
    assert fields["behavior"] == "b"
    assert ("reward_was_the_judge" in gaps) is bool(fields.get("reward_is_judge")) and ("contamination" in gaps) is bool(fields.get("contamination"))
    assert ("judge_unmeasured" in gaps) is (state is ClaimState.BEATS and "judge_agreement" not in fields and fields.get("graded_by") != "program")


def test_what_is_shown_again_elsewhere_and_who_graded_close_the_sentence() -> None:
    assert situation(9).sentence.endswith("; graded by judge j, right in 368 of 400, 92 %; shown again on tone-2")
    # 10/160 = 6.25 is a tie at one decimal: half to even
    assert situation(9).gain == Fraction(1, 16)


# gaps, one by one


CLEAN = pair(8, 0, 40, 112)


def test_without_gaps_a_claim_is_proven() -> None:
    assert claimed(*CLEAN, band=NARROW).proven


@pytest.mark.parametrize(("change", "code", "text"), [
    ({"contamination": None}, "contamination_unknown", "nobody looked for the test in the training data of v1"),
    ({"contamination": 1}, "contamination", "1 test item found in the training data of v1"),
    ({"grader": Grader("model", "j")}, "judge_unmeasured", "agreement of the judge was not measured"),
    ({"grader": Grader("model", "j", Ratio(0, 0, "no records"))}, "judge_unmeasured", "agreement of the judge was not measured"),
    # 7,999 of 10,000 must not read as the 80 % asked
    ({"grader": Grader("model", "j", Ratio(7999, 10000))}, "judge_agreement_low", "the judge is right in 7,999 of 10,000, 79.99 % (80 % asked)"),
    ({"grader": Grader("model", "j", Ratio(9, 10), gave_reward=True)}, "reward_was_the_judge", "the judge's scores were also the training reward"),
])
def test_each_gap_alone_leaves_it_unproven(change: dict, code: str, text: str) -> None:
    found = claimed(replace(CLEAN[0], **change), replace(CLEAN[1], **change), band=NARROW)
    assert code in codes(found) and text in found.sentence
    assert found.state is ClaimState.BEATS and not found.proven and found.sentence.startswith("unproven: ")


def test_an_agreement_on_its_bound_is_enough() -> None:
    judge = Grader("model", "j", Ratio(4, 5))
    assert claimed(*pair(8, 0, 40, 112, grader=judge), band=NARROW).proven


def test_no_band_is_a_gap_until_runs_are_repeated() -> None:
    found = claimed(*CLEAN)
    assert codes(found) == ["no_noise_band"] and "re-run band not measured: needs at least two runs of one arm" in found.sentence
    # the same runs twice over measure nothing
    assert codes(claimed(*(doubled(one, one.runs.passed) for one in CLEAN))) == ["no_noise_band"]


def test_too_few_items_say_what_no_result_could_do() -> None:
    found = claimed(*pair(1, 0, 3, 1), band=NARROW, policy=replace(POLICY, min_items=None))
    assert found.sentence == "unproven: b: v1 beats v0 by 20.0 points; n = 5 (no result on 5 items can reach p < .05); graded by a program"
    assert codes(claimed(*pair(1, 0, 3, 1), band=NARROW)) == ["too_few_items", "fewer_items_than_asked"]


# what is refused


@pytest.mark.parametrize(("change", "code"), [
    ({"test_version": "t2"}, "different_test_version"),
    ({"split": "abc"}, "different_splits"),
    ({"prompts": "def"}, "different_prompts"),
    ({"asked": 161}, "different_graded_share"),
    ({"items": tuple(f"x{place}" for place in range(160))}, "different_items"),
    ({"grader": Grader("model", "j", Ratio(9, 10))}, "different_grader"),
])
def test_figures_of_different_tests_are_refused_and_never_subtracted(change: dict, code: str) -> None:
    found = claimed(CLEAN[0], replace(CLEAN[1], **change), band=NARROW)
    assert found.state is ClaimState.NOT_COMPARABLE and [reason.code for reason in found.mismatches] == [code]
    assert found.gain is None and found.comparison is None and not found.proven
    assert found.sentence.startswith("b: not comparable: different ") and "points" not in found.sentence


def test_items_are_matched_by_id_not_by_place() -> None:
    before, after = CLEAN
    assert after.runs is not None
    order = np.random.default_rng(4).permutation(160)
    # item k of the shuffled list is item order[k] of the plain one
    places = np.empty(160, dtype=np.int64)
    places[order] = np.arange(160)
    runs = ArmRuns(160, places[after.runs.item], after.runs.run, after.runs.passed)
    shuffled = replace(after, items=tuple(after.items[k] for k in order), runs=runs)
    assert claimed(before, shuffled, band=NARROW).comparison.table == claimed(before, after, band=NARROW).comparison.table


def test_totals_of_other_splits_are_not_even_subtracted() -> None:
    totals = [replace(one, runs=None, items=(), totals=SplitRate(split, 30, 60)) for one, split in zip(CLEAN, ("a", "b"), strict=True)]
    found = claimed(*totals)
    assert found.state is ClaimState.NOT_PAIRED and found.gain is None and "points" not in found.sentence


# tables of outcomes, and several behaviours


def rows(behaviour: str, version: str, outcomes: Sequence[bool | None], *, test: str = "t1", judge: str | None = None, run: int = 0) -> list[dict]:
    common = {"behaviour": behaviour, "version": version, "test_version": test, "run": run, "judge_id": judge}
    return [{**common, "item_id": f"i{place:03d}", "passed": passed} for place, passed in enumerate(outcomes)]


def table(*groups: list[dict]) -> pa.Table:
    return pa.Table.from_pylist([row for group in groups for row in group], schema=BEHAVIOURS)


def test_measurements_come_from_rows_whatever_their_order() -> None:
    plain = [
        *rows("tone", "v0", [True, False, None]),
        *rows("tone", "v1", [True, True, None], judge="j"), *rows("tone", "v1", [True, False, True], judge="j", run=1),
    ]
    known = Grader("model", "j", Ratio(9, 10))
    for ordered in (plain, plain[::-1]):
        first, second = measurements_of(table(ordered), graders={"j": known}, contamination={("tone", "v1"): 2})
        assert (first.version, first.grader, first.contamination) == ("v0", BY_PROGRAM, None)
        assert (first.graded, first.rate) == (Ratio(2, 3), Ratio(1, 2))
        assert (second.grader, second.contamination, second.graded, second.rate) == (known, 2, Ratio(5, 6), Ratio(4, 5))
    (unknown,) = measurements_of(table(rows("tone", "v1", [True], judge="other")), graders={})
    assert unknown.grader == Grader("model", "other")
    with pytest.raises(RoundError) as fault:
        measurements_of(table(rows("tone", "v0", [True]), rows("tone", "v0", [False])), graders={})
    assert fault.value.code == "duplicate_outcome"


def bands(*names: str) -> dict[str, NoiseBand]:
    return dict.fromkeys(names, NARROW)


def test_versions_are_compared_on_every_behaviour_with_roles_of_their_own() -> None:
    up, flat = ([False] * 10 + [True] * 50, [True] * 60), ([True] * 60, [True] * 60)
    down = [True] * 60, [False] * 8 + [True] * 52           # p 2/2^8 = .0078
    slip = [True] * 60, [False] * 2 + [True] * 58           # p 1/2
    names = {"aim": up, "safe": down, "calm": slip, "spare": flat, "other": down}
    versions = "v0", "v1"
    groups = [rows(name, version, outcomes[place]) for name, outcomes in names.items() for place, version in enumerate(versions)]
    clean = {(name, version): 0 for name in names for version in versions}
    found = compare_versions(
        measurements_of(table(*groups), graders={}, contamination=clean), *versions, primary="aim", guarded=["safe", "calm"], policy=POLICY,
        bands=bands(*names),
    )
    assert [(row.claim.behaviour, row.role) for row in found.rows] == [
        ("aim", "primary"), ("calm", "guarded"), ("safe", "guarded"), ("other", "explored"), ("spare", "explored"),
    ]
    by_name = {row.claim.behaviour: row for row in found.rows}
    # Holm over the two guarded p-values 1/2 and 1/128: 1/64 and 1/2; Benjamini-Hochberg over 1/128 and 1: 1/64 and 1
    assert [by_name[name].adjusted for name in names] == [None, Fraction(1, 64), Fraction(1, 2), 1, Fraction(1, 64)]
    assert by_name["aim"].standing is Standing.BETTER and by_name["safe"].standing is Standing.WORSE
    assert found.fell == ("calm", "safe", "other") and found.regressed == ("safe",)
    assert found.sentence.startswith("aim: v1 beats v0 by 16.7 points; n = 60, ")
    assert found.sentence.endswith(
        "3 other behaviours fell: calm (−3.3 points, not shown), safe (−13.3 points, shown worse), other (−13.3 points, shown worse)"
    )
    json.dumps(found.as_dict())


def test_a_guard_that_nobody_measured_is_in_the_table() -> None:
    found = compare_versions((measured([True] * 60, "v0", behaviour="aim"),), "v0", "v1", primary="aim", guarded=["safe"], policy=POLICY)
    assert [row.claim.state for row in found.rows] == [ClaimState.NOT_MEASURED] * 2
    assert found.rows[1].claim.sentence == "safe: v1 and v0 were not measured; nothing to compare"
    assert found.fell == () and found.rows[0].p is None


def test_the_measurements_of_one_test_are_matched_and_several_are_never_guessed_between() -> None:
    first, second = pair(8, 0, 40, 112)
    retest = replace(second, test_version="t2")
    found = compare_versions((first, second, retest), "v0", "v1", primary="b", guarded=[], policy=POLICY, bands=bands("b"))
    assert found.rows[0].claim.state is ClaimState.BEATS
    with pytest.raises(RoundError) as fault:
        compare_versions((replace(first, test_version="t0"), second, retest), "v0", "v1", primary="b", guarded=[], policy=POLICY)
    assert fault.value.code == "ambiguous_measurement"


def test_history_compares_each_version_with_the_one_before_and_refuses_across_tests() -> None:
    first, second = pair(8, 0, 40, 112)
    third = replace(second, version="v2", test_version="t2", contamination=None)
    points = behaviour_history((third, second, first), "b", ["v0", "v1", "v2"], POLICY, band=NARROW)
    assert [point.version for point in points] == ["v0", "v1", "v2"]
    assert points[0].change is None and points[1].change is not None and points[1].change.state is ClaimState.BEATS
    assert points[2].change is not None and points[2].change.state is ClaimState.NOT_COMPARABLE
    assert points[0].estimate.rate == Ratio(40, 160) and points[0].estimate.wilson.lower is not None and points[2].contamination is None
    # two runs of an item are no two items: no interval of a rate over 320 outcomes
    assert first.runs is not None
    (point,) = behaviour_history((doubled(first, ~first.runs.passed),), "b", ["v0"], POLICY)
    assert point.estimate.wilson.lower is None and "several runs" in str(point.estimate.wilson.undefined)
