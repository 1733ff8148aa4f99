"""Every case that was recorded from whileai 0.131 is met by a test of ours: the table says where, and what no other module reads is tested here.

``tests/fixtures/peers/SOURCES.md`` says what the records are. Entries marked PEER-BUG are answers that ours must not give.
"""
from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support_strength import Bench, run_rows

from core.errors import ExportError, GridError, RoundError
from core.export.pairs import admitted_ranks
from core.gates.assessment import load_or_assess
from core.gates.holdout_evidence import holdout_report
from core.grid import default_grid
from core.pairs.contamination import CheckedPair, ContaminationCheck, PairText
from core.statistics.arms import ArmRuns, arm_of
from core.statistics.clustered import student_quantile
from core.statistics.comparison import PairedComparison, band_of, compare_arms
from core.statistics.noise import DETERMINISTIC, NEEDS_TWO_RUNS, noise_band
from core.statistics.pass_at_k import suite_pass_at_k
from core.statistics.power import false_alarm_rate, holdout_size, sampled_holdout_size, smallest_sampled_gain
from core.statistics.rate_intervals import normal_quantile, wilson_interval
from core.statistics.verdict import Standing

HERE = Path(__file__).parent
PEERS = HERE.parent / "fixtures/peers"
RECORDS = {path.name.removeprefix("whileai_").removesuffix(".json"): json.loads(path.read_text("utf-8")) for path in PEERS.glob("whileai_*.json")}
STATS, DELTA, WHOLE = RECORDS["stats"], RECORDS["delta_report"], RECORDS["dpo_pairs_end_to_end"]
LEVELS = {"alpha": "0.05", "confidence": "0.95"}
PLAN = {"alpha": "0.05", "power": "0.8"}
Runs = list[list[bool]]

ABOUT_THE_RECORD = {"peer", "rule", "note", "bootstrap_recipe", "phrase_tables", "threshold"}
"""Members that describe the records; the threshold of style is a bound of ours too (test_pairs_style_peers)."""
MET: dict[str, dict[str, tuple[int, str]]] = {
    "build_preference_pairs": {"cases": (20, "test_pairs_pairing_peers")},
    "decontaminate": {"cases": (15, "test_contamination")},
    "delta_report": {
        "cases": (7, "test_peer_records"), "before_counts_of_4": (8, "test_statistics_comparison"),
        "after_counts_of_4": (8, "test_statistics_comparison"),
    },
    "dpo_pairs_end_to_end": {
        "train": (5, "test_pairs_pairing_peers"), "training_rows": (32, "test_pairs_pairing_peers"), "floor": (4, "test_peer_records"),
        "decon": (6, "test_peer_records"), "export": (6, "test_peer_records"), "delta": (7, "test_peer_records"),
        "scores_points": (2, "test_peer_records"), "verdict": (1, "test_peer_records"), "task_counts_before_of_12": (8, "test_peer_records"),
        "task_counts_after_of_12": (8, "test_peer_records"),
    },
    "export_preference": {"pairs": (5, "test_export_turns"), "outputs": (2, "test_export_turns"), "empty": (1, "test_peer_records")},
    "judge_contract": {"cases": (15, "test_pairs_pairing_peers"), "scaled_1_5": (5, "test_pairs_pairing_peers")},
    "stats": {
        "bootstrap_ci": (5, "test_statistics_graded"), "wilson": (5, "test_peer_records"), "t_quantile_two_sided_95": (8, "test_peer_records"),
        "noise_band": (4, "test_statistics_clusters"), "eval_variance": (3, "test_peer_records"), "eval_variance_single": (12, "test_peer_records"),
        "holdout_size": (4, "test_peer_records"), "holdout_size_task_std": (3, "test_statistics_power"),
        "holdout_size_before_after": (4, "test_peer_records"), "holdout_size_saturated": (4, "test_peer_records"),
        "detectable_effect": (5, "test_peer_records"), "pass_at": (3, "test_statistics_clusters"), "compare_runs": (4, "test_peer_records"),
        "small_n_contradiction (PEER-BUG)": (5, "test_statistics_graded"),
        "false_moved_rate_under_null (measured, n_boot=300)": (6, "test_peer_records"), "rerun_inflation (PEER-BUG)": (4, "test_peer_records"),
    },
    "style_length": {
        "style": (6, "test_pairs_style_peers"), "length": (2, "test_pairs_style_peers"), "reply_length": (4, "test_pairs_pairing_peers"),
    },
    "verdict": {"cases": (10, "test_statistics_behaviours")},
}
"""Record, member: how many cases it has, and the module that meets them."""


# Every case is met


@pytest.mark.parametrize("record", sorted(RECORDS))
def test_the_table_names_every_member_and_counts_its_cases(record: str) -> None:
    members = {name: value for name, value in RECORDS[record].items() if name not in ABOUT_THE_RECORD}
    assert {name: 1 if isinstance(value, str) else len(value) for name, value in members.items()} == {name: n for name, (n, _) in MET[record].items()}


@pytest.mark.parametrize(("record", "member"), [(record, member) for record, members in MET.items() for member in members])
def test_the_module_named_reads_that_member_of_that_record(record: str, member: str) -> None:
    text = (HERE / f"{MET[record][member][1]}.py").read_text("utf-8")
    table = text.find("MET: dict"), text.find('"""Record, member')
    text = text[:table[0]] + text[table[1]:] if table[0] >= 0 else text
    assert f'["{member}"]' in text and (f"whileai_{record}.json" in text or f'RECORDS["{record}"]' in text)


def test_every_peer_bug_is_counted() -> None:
    """Eight of pairing, five of contamination, four of style, and two of statistics. The modules of the first three assert their own."""
    marked = {record: json.dumps(content).count("PEER-BUG") for record, content in RECORDS.items()}
    assert {record: n for record, n in marked.items() if n} == {"build_preference_pairs": 8, "decontaminate": 5, "style_length": 4, "stats": 2}


# Re-runs (PEER-BUG)


def of_counts(counts: dict[str, int], k: int = 4) -> Runs:
    return [[run < passed for run in range(k)] for passed in counts.values()]


def again(arm: Runs, times: int) -> Runs:
    """The same runs ``times`` over, under numbers of their own."""
    return [runs * times for runs in arm]


def compared(before: Runs, after: Runs, **more: Any) -> PairedComparison:
    return compare_arms(arm_of(before), arm_of(after), reducer="majority", power="0.8", **LEVELS, **more)


def suite(arm: ArmRuns, k: int) -> Any:
    return suite_pass_at_k(list(zip(arm.runs.tolist(), arm.passes.tolist(), strict=True)), k)


def test_three_identical_copies_of_a_run_are_the_evidence_of_one() -> None:
    """PEER-BUG: a run handed in three times makes 12 samples a task out of 4, and the peer's pass^4 rises from .125 to .196 (C(3c, 4) of
    C(12, 4) ways instead of C(c, 4) of C(4, 4)) although nothing new was seen. Ours takes the copies out before it counts anything."""
    inflated, counts = STATS["rerun_inflation (PEER-BUG)"], STATS["pass_at"]["counts_of_4"]
    plain = arm_of(of_counts(counts))
    copies = arm_of(again(of_counts(counts), 3))
    assert (copies.items, set(copies.runs.tolist())) == (8, {12})
    # one task in eight passes all four times: 1/8; of the copies as they stand it would be the peer's figure
    assert suite(plain, 4).all_of_them == Fraction(1, 8) == Fraction(inflated["pass_pow_4 one run"])
    assert float(suite(copies, 4).all_of_them) == pytest.approx(inflated["pass_pow_4 three identical runs"], abs=1e-12)
    # value, number of tasks and both standard errors of every k
    for k in (1, 2, 4):
        assert suite(copies.without_copies(), k) == suite(plain, k)
    assert suite(copies.without_copies(), 8).undefined == "8 of 8 tasks have fewer than 8 samples"


def test_three_identical_copies_change_no_figure_of_a_round(tmp_path: Path) -> None:
    """PEER-BUG: from 391 tasks to 131 that a holdout "needs", since the peer divides the spread by three times as many rollouts. Here the
    whole report of a round (items, flips, p, intervals, standard errors, smallest gains, items wanted, pass@k and pass^k) is the same."""
    inflated = STATS["rerun_inflation (PEER-BUG)"]
    assert inflated["three identical runs n_tasks"] < inflated["one run n_tasks"]
    bench, grid, found = Bench(tmp_path), default_grid(), []
    before, after = (of_counts(STATS["compare_runs"][arm]) for arm in ("before", "after"))
    for times in (1, 3):
        source = bench.round({"outcomes": run_rows(list(zip(again(before, times), again(after, times), strict=True)))})
        report = holdout_report(source, load_or_assess(bench.workspace, source, grid).document, grid)
        assert report is not None
        found.append(report.as_dict())
    assert found[0]["runs"] and found[0]["clustered"] and found[0]["smallest_graded_gain"] and found[0]["evidence"]["wanted"]
    # what was handed in is said as it came; nothing is computed from it
    assert [one["evidence"].pop("runs") for one in found] == [{"baseline": [n, n], "candidate": [n, n]} for n in (4, 12)]
    assert found[0] == found[1]


def test_copies_change_no_power_and_no_band() -> None:
    before, after = (of_counts(STATS["compare_runs"][arm]) for arm in ("before", "after"))
    once, thrice = compared(before, after), compared(again(before, 3), again(after, 3))
    assert once == thrice
    # against a copy of one arm alone as well, and a copy is no re-run: the band stays what one set of runs measures
    assert compared(again(before, 3), after) == once
    assert band_of(arm_of(again(before, 3)), arm_of(again(after, 3)), "0.95") == band_of(arm_of(before), arm_of(after), "0.95")


# The report on two arms (delta_report.json)


BEFORE, AFTER = of_counts(DELTA["before_counts_of_4"]), of_counts(DELTA["after_counts_of_4"])
CASES = {case["name"]: case for case in DELTA["cases"]}


def not_shown(found: PairedComparison, gain: Fraction, code: str) -> bool:
    return found.verdict.standing is Standing.NOT_SHOWN and found.graded_gain == gain and code in {gap.code for gap in found.verdict.gaps}


def disjoint() -> None:
    """Sixteen items, of which each arm ran its own eight: the peer averages them unpaired, ours asks for the missing outcomes."""
    halves = [(BEFORE, []), ([[]] * 8 + AFTER, [])]
    arms = [arm_of(runs + [[]] * (16 - len(runs))) for runs, _ in halves]
    with pytest.raises(RoundError) as fault:
        compare_arms(*arms, reducer="majority", power="0.8", **LEVELS)
    assert fault.value.code == "missing_outcome"


def floor_swallows() -> None:
    """A band of three runs a side with deviation .2: t(.975, 2) .2 sqrt(1/1 + 1/1) = 4.3027 x .2828 = 1.217."""
    band = noise_band([["0.3", "0.5", "0.7"]], 1, 1)
    assert band.band == pytest.approx(CASES["given floor swallows it"]["out"]["noise_band"], rel=2e-4)
    assert not_shown(compared(BEFORE, AFTER, band=band), Fraction(3, 16), "inside_noise_band")


def target_missing() -> None:
    """No run of the candidate in what is asked for: a candidate's missing answer is a failed one, never a gain."""
    found = compare_arms(arm_of(BEFORE), arm_of([[]] * 8), reducer="majority", power="0.8", **LEVELS)
    assert found.graded_gain == -Fraction(1, 2) and CASES["target missing"]["out"]["target_delta"] is None


def moved(before: Runs, after: Runs, times: int = 1) -> Callable[[str], None]:
    def check(name: str) -> None:
        out = CASES[name]["pass_at_1"]
        found = compared(again(before, times), again(after, times))
        assert not_shown(found, Fraction(out["delta"]), "not_significant" if out["delta"] else "no_difference") or not out["delta"]
        assert found.verdict.standing is Standing.NOT_SHOWN and float(found.graded_gain) == out["delta"]
        # five tasks of eight moved, all alike: p = 2/32, which the peer's 2,000 random patterns give as .06397; it says "better" all the same
        assert found.sign_flip.p.exact == (Fraction(1, 16) if out["delta"] else 1)
        assert out["p_value"] == pytest.approx(float(found.sign_flip.p.exact), abs=0.003)
    return check


SITUATIONS: dict[str, Callable[[str], None]] = {
    "one run each": moved(BEFORE, AFTER), "three identical runs each": moved(BEFORE, AFTER, 3), "no change": moved(BEFORE, BEFORE, 3),
    "worse": moved(AFTER, BEFORE, 3), "given floor swallows it": lambda name: floor_swallows(), "disjoint tasks": lambda name: disjoint(),
    "target missing": lambda name: target_missing(),
}


@pytest.mark.parametrize("name", [case["name"] for case in DELTA["cases"]])
def test_every_situation_of_the_report_on_two_arms(name: str) -> None:
    SITUATIONS[name](name)


# Figures of stats.json where both must agree


@pytest.mark.parametrize("entry", STATS["wilson"], ids=lambda entry: f"{entry['x']}-{entry['n']}")
def test_wilson_intervals(entry: dict[str, Any]) -> None:
    found = wilson_interval(entry["x"], entry["n"])
    if entry["ci"] is None:
        assert (found.lower, found.upper) == (None, None) and found.undefined is not None
    else:
        # the peer takes 1.96 for 1.959964
        assert (float(found.lower), float(found.upper)) == pytest.approx(entry["ci"], abs=1e-5)


def test_quantiles_of_students_t() -> None:
    for degrees, quantile in STATS["t_quantile_two_sided_95"].items():
        # a table of three decimals, and an approximation beyond it
        assert student_quantile("0.95", int(degrees)) == pytest.approx(quantile, abs=1e-3)


@pytest.mark.parametrize("entry", [entry for entry in STATS["noise_band"] if entry["df"] is None], ids=lambda entry: str(entry["n_a"]))
def test_a_band_always_knows_from_how_many_runs_it_comes(entry: dict[str, Any]) -> None:
    """Without degrees of freedom the peer takes 1.96, as if a deviation of a few runs were known exactly. Ours is never that narrow."""
    step = Fraction(entry["run_std"]).limit_denominator(1000)
    found = noise_band([[Fraction(1, 2) - step, Fraction(1, 2), Fraction(1, 2) + step]], entry["n_a"], entry["n_b"])
    normal = normal_quantile(Fraction(19, 20)) * entry["run_std"] * math.sqrt(1 / entry["n_a"] + 1 / entry["n_b"])
    assert normal == pytest.approx(entry["band"], rel=1e-4)
    assert found.band == pytest.approx(normal * 4.302653 / 1.959964, rel=1e-5)


def test_the_spread_of_three_runs() -> None:
    """Means .5, .6875, .5: deviation .1083, band t(.975, 2) .1083 sqrt(2) = .6588. The runs without an id are no runs to the peer; with fewer
    than two there is no band in either."""
    recorded = STATS["eval_variance"]
    means = [Fraction(sum(run.values()), recorded["k"] * len(run)) for run in recorded["runs"]]
    found = noise_band([means], 1, 1)
    assert [float(mean) for mean in means] == list(recorded["out"]["means"].values())
    # a table of three decimals again: 4.303 for 4.30265
    assert round(found.run_sd, 4) == recorded["out"]["run_std"] and found.band == pytest.approx(recorded["out"]["noise_band"], rel=2e-4)
    assert found.degrees_of_freedom == recorded["out"]["noise_band_df"]
    assert STATS["eval_variance_single"]["noise_band"] is None and noise_band([means[:1]], 1, 1).undefined == NEEDS_TWO_RUNS


@pytest.mark.parametrize("entry", STATS["holdout_size"], ids=lambda entry: f"{entry['effect']}-{entry['base']}-{entry['k']}")
def test_sizes_from_a_base_rate(entry: dict[str, Any]) -> None:
    """p (1 - p) within a task on either side of the gain (a rate stops at 1), no difference between tasks."""
    base, gain = Fraction(str(entry["base"])), Fraction(str(entry["effect"]))
    after = min(base + gain, Fraction(1))
    within = base * (1 - base), after * (1 - after)
    found = sampled_holdout_size(gain, between=0, within=within, samples=(entry["k"], entry["k"]), **PLAN)
    assert found.n == entry["out"]["n_tasks"]
    assert math.sqrt(sum(within) / entry["k"]) == pytest.approx(entry["out"]["task_std"], abs=5e-5)


def test_a_size_from_the_spread_of_two_arms() -> None:
    """Differences .25 .25 .25 0 0 .5 .25 0: squares of their deviations from 3/16 are 7/32, so the variance is 1/32, its root .1768."""
    recorded = STATS["holdout_size_before_after"]
    pairs = zip(recorded["before"].values(), recorded["after"].values(), strict=True)
    moves = [Fraction(after - before, recorded["k"]) for before, after in pairs]
    mean = sum(moves) / 8
    spread = sum((move - mean) ** 2 for move in moves) / 7
    assert spread == Fraction(1, 32) and round(math.sqrt(spread), 4) == recorded["out"]["task_std"]
    found = sampled_holdout_size(str(recorded["out"]["effect"]), between=spread, within=(0, 0), samples=(1, 1), **PLAN)
    assert found.n == recorded["out"]["n_tasks"]


def test_where_everything_passes_no_size_shows_a_gain() -> None:
    """The peer answers with 367 tasks of an assumed base rate (its own case of .6). Of a baseline that passes everything nothing can be
    gained: no item flips, and a gain of the wanted size is refused."""
    recorded = STATS["holdout_size_saturated"]
    assert recorded["base"] == 1 and recorded["n_tasks"] == STATS["holdout_size"][0]["out"]["n_tasks"]
    with pytest.raises(GridError) as fault:
        holdout_size("0.05", "0", **PLAN)
    assert fault.value.code == "difference_exceeds_discordant_share"


@pytest.mark.parametrize("entry", STATS["detectable_effect"], ids=lambda entry: str(entry["n"]))
def test_smallest_gains(entry: dict[str, Any]) -> None:
    """The gain at which base .6 of four rollouts a task (the peer's defaults) shows just itself. A single task cannot: even a rise to 1, which
    has no spread of its own, would have to be larger than .4."""
    gain = Fraction(2, 5) if entry["v"] is None else Fraction(str(entry["v"]))
    after = Fraction(3, 5) + gain
    found = smallest_sampled_gain(entry["n"], between=0, within=(Fraction(6, 25), after * (1 - after)), samples=(4, 4), **PLAN)
    assert found > gain if entry["v"] is None else found == pytest.approx(entry["v"], abs=1e-4)


def test_two_runs_compared() -> None:
    recorded = STATS["compare_runs"]
    found = compared(of_counts(recorded["before"]), of_counts(recorded["after"]))
    assert float(found.graded_gain) == recorded["out"]["delta"] and found.sign_flip.p.exact == Fraction(1, 16)
    # "b_better" at p = .06: the peer's interval leaves 0 out and its test does not reach .05
    assert recorded["out"]["verdict"] == "b_better" and found.verdict.standing is Standing.NOT_SHOWN


def test_under_the_null_ours_moves_no_oftener_than_it_says() -> None:
    measured_rates = STATS["false_moved_rate_under_null (measured, n_boot=300)"]
    for name, theirs in measured_rates.items():
        n = int(name.removeprefix("n=").split(",")[0])
        assert false_alarm_rate(n, Fraction(1, 4), alpha="0.05") <= 0.05 <= theirs


# The peer's own data from end to end


TWELVE = WHOLE["task_counts_before_of_12"], WHOLE["task_counts_after_of_12"]
RUN_BEFORE, RUN_AFTER = ({task: count // 3 for task, count in counts.items()} for counts in TWELVE)
"""Three identical runs of four: passes of one run."""


def test_three_equal_runs_are_no_floor() -> None:
    """Each run is at 14/32. The peer's floor is then 0, which every difference clears; ours is not measured."""
    (mean,) = {Fraction(value) for value in WHOLE["floor"]["means"].values()}
    assert WHOLE["floor"]["noise_band"] == 0 and mean == Fraction(sum(RUN_BEFORE.values()), 32)
    assert noise_band([[mean] * WHOLE["floor"]["n_runs"]], 3, 3).undefined == DETERMINISTIC
    assert all(count % 3 == 0 for counts in TWELVE for count in counts.values())


def test_the_gain_of_the_peer_s_own_data() -> None:
    """All eight tasks rise: p = 2/2^8 whether the runs are counted once or three times; 14/32 to 25/32 is 34.375 points."""
    delta, points = WHOLE["delta"], WHOLE["scores_points"]
    for times in (1, 3):
        found = compared(again(of_counts(RUN_BEFORE), times), again(of_counts(RUN_AFTER), times))
        assert (float(found.graded_gain), found.n) == (delta["target_delta"], delta["n_paired_tasks"])
        assert found.sign_flip.p.exact == Fraction(1, 128) and found.verdict.evidence.n == 8
        assert 100 * float(found.graded_gain) == points["v1"]["refunds"]["score"] - points["v0"]["refunds"]["score"]
        # the peer's "unproven" comes from 8 being under 50; ours says the same where a policy asks for 50 (test_statistics_behaviours)
        assert WHOLE["verdict"].startswith("unproven: refunds: v1 beats v0 by 34.4") and found.verdict.claim.endswith("by 34.4 points")
        # and it names what else there is: the runs of an arm differ by more than the arms do
        assert found.verdict.standing is Standing.NOT_SHOWN


def test_no_training_row_is_in_the_peer_s_evaluation() -> None:
    locked = [{"prompt": task} for task in WHOLE["task_counts_before_of_12"]]
    check = ContaminationCheck(locked, 8, Fraction(4, 5))
    pairs = [
        CheckedPair(place, f"p{place}", [PairText("prompt", row["prompt"]), PairText("chosen", row["final_text"])], [])
        for place, row in enumerate(WHOLE["training_rows"])
    ]
    assert len(check.check(pairs)) == WHOLE["decon"]["n_contaminated"] == 0 and len(check.texts) == WHOLE["decon"]["n_eval_texts"]
    # neither side has task ids, and both packages say that this rule was not applied
    assert "same_task" in WHOLE["decon"]["rules_skipped"] and "same_task" in {rule for rule, _ in check.skipped()}


def test_what_was_exported_is_what_was_paired() -> None:
    export, report = WHOLE["export"], WHOLE["train"]["report"]
    # 4 of 7 pairs of the peer's have the longer reply chosen; ours are matched closer (test_pairs_pairing_peers), so the share is its own
    assert (export["pairs"], export["mean_margin"]) == (report["pairs"], report["mean_margin"]) == (7, 1.0)
    assert round(4 / 7, 3) == export["chosen_longer_frac"]


def test_nothing_to_export_is_refused() -> None:
    assert RECORDS["export_preference"]["empty"].startswith("ValueError: no_preference_pairs")
    with pytest.raises(ExportError) as fault:
        admitted_ranks(b"[]")
    assert fault.value.code == "no_pairs"
