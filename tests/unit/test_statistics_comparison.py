"""Nested runs, the whole paired comparison, verdict sentences and slices."""
from __future__ import annotations

import json
import math
import subprocess
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import GridError, RoundError
from core.gates.holdout import pair_outcomes
from core.schemas import OUTCOMES
from core.statistics.arms import ArmRuns, arm_of, flip_table
from core.statistics.comparison import PairedComparison, compare_arms
from core.statistics.noise import DETERMINISTIC, NEEDS_TWO_RUNS, UNEVEN_RUNS, noise_band
from core.statistics.paired import FlipTable
from core.statistics.result import Interval
from core.statistics.slices import flip_tables, slice_table
from core.statistics.verdict import Gap, Standing, interval_text, paired_verdict, points_text

PEERS = Path(__file__).parents[1] / "fixtures/peers"
DELTA = json.loads((PEERS / "whileai_delta_report.json").read_text("utf-8"))
LEVELS = {"alpha": "0.05", "confidence": "0.95"}
RUNS = st.lists(st.lists(st.booleans(), min_size=1, max_size=4), min_size=1, max_size=8)


def compared(before: list[list[bool]], after: list[list[bool]], **options: object) -> PairedComparison:
    return compare_arms(arm_of(before), arm_of(after), reducer=options.pop("reducer", "majority"), power="0.8", **LEVELS, **options)


def flips(fixes: int, regressions: int, both_pass: int = 0, both_fail: int = 0) -> FlipTable:
    return FlipTable(both_pass=both_pass, regressions=regressions, fixes=fixes, both_fail=both_fail)


def of_counts(counts: dict[str, int], k: int = 4) -> list[list[bool]]:
    return [[run < passed for run in range(k)] for passed in counts.values()]


def test_importing_the_statistics_does_not_pay_for_scipy() -> None:
    """They come with the command line, whose --help would wait a second for it."""
    names = "comparison", "slices", "reuse", "spending", "splits"
    imports = "; ".join(f"import core.statistics.{name}" for name in names)
    code = f"import sys; import core.gates.behaviour_versions; {imports}; print(sorted({{'scipy', 'statsmodels'}} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PEERS.parents[2], check=True)
    assert result.stdout.strip() == "[]"


# arms


@given(RUNS, st.sampled_from(["majority", "all", "any"]))
def test_reduced_outcomes_are_those_of_the_gate(runs: list[list[bool]], reducer: str) -> None:
    ids = [f"i{place}" for place in range(len(runs))]
    rows = [
        {"id": name, "arm": arm, "run": run, "passed": passed}
        for arm in ("baseline", "candidate") for name, outcomes in zip(ids, runs, strict=True) for run, passed in enumerate(outcomes)
    ]
    gate = pair_outcomes(ids, pa.Table.from_pylist(rows, schema=OUTCOMES), reducer)
    arm = arm_of(runs)
    ours = flip_table(arm.reduced(reducer, tie=True), arm.reduced(reducer, tie=False))
    assert (ours.both_pass, ours.regressions, ours.fixes, ours.both_fail) == (gate.both_pass, len(gate.regressions), len(gate.fixes), gate.both_fail)


def test_an_absent_item_counts_as_failed_and_is_listed() -> None:
    arm = ArmRuns(3, np.array([0, 0, 2]), np.array([0, 1, 0]), np.array([True, True, True]))
    assert arm.absent.tolist() == [1]
    for reducer in ("majority", "all", "any"):
        assert arm.reduced(reducer, tie=True).tolist() == [True, False, True]
    assert arm.rates().numerators.tolist() == [1, 0, 1] and arm.run_means() is None


@pytest.mark.parametrize(("item", "run", "code"), [
    ([0, 3], [0, 0], "unknown_item"), ([-1, 0], [0, 0], "unknown_item"), ([1, 1], [7, 7], "duplicate_outcome"),
])
def test_rows_that_name_no_item_or_name_it_twice_are_refused(item: list[int], run: list[int], code: str) -> None:
    with pytest.raises(RoundError) as fault:
        ArmRuns(3, np.array(item), np.array(run), np.array([True, True]))
    assert fault.value.code == code
    with pytest.raises(RoundError):
        ArmRuns(3, np.array([0]), np.array([0, 1]), np.array([True]))


def test_a_set_of_runs_that_repeats_itself_counts_once() -> None:
    # runs a, b, a, b: taken once; a, a, b: nothing repeats as a whole
    a, b = [True, False, True], [True, True, False]
    twice = arm_of([list(outcomes) for outcomes in zip(a, b, a, b, strict=True)]).without_copies()
    assert twice.runs.tolist() == [2, 2, 2] and twice.passes.tolist() == [2, 1, 1]
    uneven = arm_of([list(outcomes) for outcomes in zip(a, a, b, strict=True)]).without_copies()
    assert uneven.runs.tolist() == [3, 3, 3]


def test_run_means_are_exact() -> None:
    assert arm_of([[True, False], [False, False], [True, True]]).run_means() == [Fraction(2, 3), Fraction(1, 3)]
    assert arm_of([[True, False], [True]]).run_means() is None


# comparisons


def test_one_run_an_arm_is_the_paired_test_and_both_views_agree() -> None:
    before, after = [[True]] * 70 + [[False]] * 30, [[True]] * 69 + [[False]] + [[True]] * 9 + [[False]] * 21
    found = compared(before, after)
    assert found.view == "flips" and found.table == flips(9, 1, 69, 21)
    assert found.verdict.evidence.p.exact == found.sign_flip.p.exact == Fraction(11, 512)
    assert found.graded_gain == Fraction(2, 25) and found.verdict.standing is Standing.BETTER and found.verdict.proven
    assert found.verdict.sentence == "candidate beats baseline by 8.0 points; n = 100, exact p = .0215, 95 % interval 2.3 to 15.4 points"
    assert found.band.undefined == NEEDS_TWO_RUNS and found.runs == ((1, 1), (1, 1))
    # unpaired, the same totals say p = .195: sqrt(2 * .74 * .26 / 100) = .062, z = .08 / .062 = 1.29
    assert found.smallest.discordant_share == Fraction(1, 10)


OUTCOMES_OF_AN_ITEM = st.lists(st.booleans(), min_size=1, max_size=3)


@settings(max_examples=40)
@given(st.lists(st.tuples(OUTCOMES_OF_AN_ITEM, OUTCOMES_OF_AN_ITEM), min_size=2, max_size=8), st.integers(2, 4))
def test_running_everything_again_with_the_same_outcomes_changes_nothing(items: list[tuple[list[bool], list[bool]]], times: int) -> None:
    width = {len(runs) for pair in items for runs in pair}
    if len(width) > 1:
        items = [(before[:1], after[:1]) for before, after in items]
    once = compared([before for before, _ in items], [after for _, after in items])
    again = compared([before * times for before, _ in items], [after * times for _, after in items])
    assert again.verdict == once.verdict and again.bootstrap == once.bootstrap and again.clustered == once.clustered
    assert again.sign_flip == once.sign_flip and again.table == once.table and again.band == once.band


def test_even_runs_of_equal_models_do_not_look_apart() -> None:
    """With two runs an item the gate's rule gives every even split to the baseline: 40 of 40 regressions from models that
    pass each item half of the time. The evidence is graded instead, and shows no difference."""
    before, after = [[True, False]] * 40, [[False, True]] * 40
    found = compared(before, after)
    assert found.table.regressions == 40 and found.split == 40 and found.view == "graded"
    assert found.graded_gain == 0 and found.verdict.evidence.p.exact == 1 and found.verdict.standing is Standing.NOT_SHOWN
    assert found.verdict.sentence.startswith("candidate and baseline pass equally often: 0 of 40 items differ; n = 40, no interval: ")


def test_the_peer_s_two_runs_of_four_rollouts() -> None:
    """Differences .25 .25 .25 0 0 .5 .25 0: five positive, none negative: p = 2/32. Not shown, with one run or three equal ones."""
    before, after = of_counts(DELTA["before_counts_of_4"]), of_counts(DELTA["after_counts_of_4"])
    for times in (1, 3):
        found = compared([runs * times for runs in before], [runs * times for runs in after])
        assert found.graded_gain == Fraction(3, 16) and found.sign_flip.p.exact == Fraction(1, 16)
        assert found.verdict.standing is Standing.NOT_SHOWN and found.verdict.gaps[0].code == "not_significant"
        assert found.runs == ((4, 4), (4, 4))
        # squares of the deviations from 3/16 of .25 x4, 0 x3, .5: 4/256 + 27/256 + 25/256 = 56/256; se = sqrt(.21875 / 56) = .0625
        assert found.clustered.clustered_se_small_sample == pytest.approx(0.0625)
        assert found.smallest_graded == pytest.approx((1.959964 + 0.841621) * 0.0625, abs=1e-6)
    back = compared(after, before)
    assert back.graded_gain == -Fraction(3, 16) and back.verdict.standing is Standing.NOT_SHOWN
    same = compared(before, before)
    assert same.graded_gain == 0 and same.verdict.claim == "candidate and baseline pass equally often"


def test_deterministic_runs_have_no_measured_band_and_uneven_ones_neither() -> None:
    assert compared([[True] * 3] * 6, [[False] * 3] * 6).band.undefined == NEEDS_TWO_RUNS
    # different runs with equal means: [T, F] and [F, T] over two items
    assert compared([[True, False], [False, True]], [[True, False], [False, True]]).band.undefined == DETERMINISTIC
    assert compared([[True, False], [True]], [[True], [True]]).band.undefined == UNEVEN_RUNS


def test_a_difference_inside_the_re_run_band_is_not_shown() -> None:
    # two items in five gained in every run: significant at n = 40, but the runs of an arm differ by more than that
    band = noise_band([["0.2", "0.8"]], 1, 1)       # sd .424, t(1) 12.7: far above any difference
    table = flips(16, 0, 10, 14)
    found = paired_verdict(table, band=band, **LEVELS)
    assert found.standing is Standing.NOT_SHOWN and [gap.code for gap in found.gaps] == ["inside_noise_band"]
    assert found.sentence.startswith("unproven: candidate beats baseline by 40.0 points; n = 40; +40.0 points lie inside the re-run band of ")
    assert paired_verdict(table, **LEVELS).standing is Standing.BETTER


def test_items_that_share_a_source_count_as_one() -> None:
    """Eight items of two texts, all gained: item by item p = 2/2^8, but two sources can show nothing."""
    before, after = [[False]] * 8, [[True]] * 8
    assert compared(before, after).verdict.standing is Standing.BETTER
    found = compared(before, after, clusters=["a"] * 4 + ["b"] * 4)
    assert found.view == "graded" and found.verdict.standing is Standing.NOT_SHOWN
    assert found.verdict.sentence == (
        "unproven: candidate beats baseline by 100.0 points; n = 8 in 2 clusters (no result on 2 clusters can reach p < .05)"
    )
    assert found.sign_flip.p.exact == Fraction(1, 2)


def test_a_comparison_without_all_baseline_items_is_refused() -> None:
    with pytest.raises(RoundError) as fault:
        compare_arms(ArmRuns(2, np.array([0]), np.array([0]), np.array([True])), arm_of([[True], [True]]), reducer="majority", power="0.8", **LEVELS)
    assert fault.value.code == "missing_outcome"
    with pytest.raises(RoundError):
        compared([[True]], [[True], [True]])
    with pytest.raises(GridError):
        paired_verdict(flips(1, 0), alpha="1", confidence="0.95")


def test_the_same_objects_become_json() -> None:
    document = json.loads(json.dumps(compared([[True, False, True]] * 6, [[True, True, True]] * 6).as_dict()))
    assert document["view"] == "graded" and document["verdict"]["standing"] in set(Standing)
    assert document["clustered"]["interval"]["lower"] is None and document["clustered"]["interval"]["undefined"]


# verdict sentences


@pytest.mark.parametrize(("table", "standing", "sentence"), [
    (flips(1, 0, 3, 1), Standing.NOT_SHOWN,
     "unproven: candidate beats baseline by 20.0 points; n = 5 (no result on 5 items can reach p < .05)"),
    (flips(0, 1), Standing.NOT_SHOWN, "unproven: candidate trails baseline by 100.0 points; n = 1 (no result on 1 item can reach p < .05)"),
    (flips(2, 0, 5, 3), Standing.NOT_SHOWN,
     "unproven: candidate beats baseline by 20.0 points; n = 10; exact p = .5 does not reach .05; 95 % interval −13.3 to 51.0 points includes 0"),
    # exact p 1/16 does not reach .05, Tango's interval (.0486 to .4687) excludes 0: one gap
    (flips(5, 0, 10, 5), Standing.NOT_SHOWN, "unproven: candidate beats baseline by 25.0 points; n = 20; exact p = .0625 does not reach .05"),
    (flips(1, 8, 20, 11), Standing.WORSE, "candidate trails baseline by 17.5 points; n = 40, exact p = .0391, 95 % interval −32.9 to −3.5 points"),
    (flips(0, 0, 7, 3), Standing.NOT_SHOWN,
     "candidate and baseline pass equally often: no item flipped; n = 10, 95 % interval −27.8 to 27.8 points"),
    (flips(5, 5, 10, 10), Standing.NOT_SHOWN,
     "candidate and baseline pass equally often: 5 gained, 5 lost; n = 30, 95 % interval −21.5 to 21.5 points"),
])
def test_verdict_sentences(table: FlipTable, standing: Standing, sentence: str) -> None:
    found = paired_verdict(table, **LEVELS)
    assert (found.standing, found.sentence) == (standing, sentence)
    assert found.proven is (standing is not Standing.NOT_SHOWN)


def test_further_gaps_leave_a_shown_difference_unproven() -> None:
    found = paired_verdict(flips(9, 1, 69, 21), gaps=[Gap("contamination", "3 test items found in the training data")], names=("v0", "v1"), **LEVELS)
    assert found.standing is Standing.BETTER and not found.proven
    assert found.sentence == "unproven: v1 beats v0 by 8.0 points; n = 100; 3 test items found in the training data"


def test_mid_p_reaches_further_and_says_its_name() -> None:
    # five gained of five: mid-p 1/32 = .03125 reaches .05, the exact test cannot
    found = paired_verdict(flips(5, 0), test="mid_p", **LEVELS)
    assert found.standing is Standing.BETTER
    assert found.sentence.startswith("candidate beats baseline by 100.0 points; n = 5, mid-p p = .0312, 95 % interval ")
    assert paired_verdict(flips(5, 0), **LEVELS).standing is Standing.NOT_SHOWN


def test_points_never_hide_a_difference_behind_a_zero() -> None:
    assert points_text(Fraction(1, 5)) == "20.0" and points_text(Fraction(-7, 40)) == "−17.5" and points_text(0) == "0.0"
    assert points_text(Fraction(1, 10_000)) == "0.01" and points_text(Fraction(1, 5), sign=True) == "+20.0"
    # never a difference of two rounded rates: 4/5 - 3/5 is 1/5, not .20000000000000007
    assert points_text(Fraction(4, 5) - Fraction(3, 5)) == "20.0"
    assert interval_text(Interval(None, None, Fraction(19, 20), "m", "one cluster")) == "no interval: one cluster"


# slices


def test_slices_add_up_and_p_values_are_adjusted_for_their_number() -> None:
    names: list[str | None] = ["b"] * 8 + ["a"] * 8 + [None] * 4
    before = np.array([False] * 8 + [True] * 8 + [True, False, True, False])
    after = np.array([True] * 8 + [True] * 7 + [False] + [True, True, False, False])
    tables = flip_tables(before, after, names)
    assert list(tables) == ["a", "b", None]
    assert tables == {"b": flips(8, 0), "a": flips(0, 1, 7), None: flips(1, 1, 1, 1)}
    whole = flip_table(before, after)
    for cell in ("both_pass", "regressions", "fixes", "both_fail"):
        assert sum(getattr(table, cell) for table in tables.values()) == getattr(whole, cell)
    rows = {row.name: row for row in slice_table(tables, **LEVELS).rows}
    # p of b is 2/2^8 = 1/128; Holm over three: 3/128; Benjamini-Hochberg 3/128; -Yekutieli 3/128 * 11/6
    assert rows["b"].p.exact == Fraction(1, 128)
    assert rows["b"].adjusted == {"holm": Fraction(3, 128), "benjamini_hochberg": Fraction(3, 128), "benjamini_yekutieli": Fraction(11, 256)}
    assert rows["b"].standing is Standing.BETTER and rows["a"].standing is Standing.NOT_SHOWN
    assert rows[None].can_reach is False and rows["a"].can_reach
    json.dumps(slice_table(tables, **LEVELS).as_dict())


def test_looking_at_twenty_slices_finds_nothing_in_luck() -> None:
    # six gained of six has p 1/32 alone, 20/32 beside nineteen others
    tables: dict[str | None, FlipTable] = {f"s{k:02d}": flips(0, 0, 3, 3) for k in range(19)} | {"lucky": flips(6, 0)}
    rows = {row.name: row for row in slice_table(tables, **LEVELS).rows}
    assert rows["lucky"].adjusted["holm"] == Fraction(5, 8) and rows["lucky"].standing is Standing.NOT_SHOWN
    assert slice_table({"lucky": flips(6, 0)}, **LEVELS).rows[0].standing is Standing.BETTER


def test_under_the_null_a_difference_is_seldom_shown() -> None:
    """Exact: seven items, each of the four outcomes equally likely, all 4^7 = 16,384 equally likely results."""
    moved = 0
    for fixes, regressions, both in product(range(8), repeat=3):
        rest = 7 - fixes - regressions - both
        if rest < 0:
            continue
        ways = math.factorial(7) // math.prod(map(math.factorial, (fixes, regressions, both, rest)))
        if paired_verdict(flips(fixes, regressions, both, rest), **LEVELS).standing is not Standing.NOT_SHOWN:
            moved += ways
    # six flips one way and none the other (p = 1/32), with any outcome of the seventh item that is no flip, or seven flips:
    # each direction 7 * 2 + 1 results
    assert moved == 2 * (7 * 2 + 1)
