"""What the holdout can prove: worked example and public rounds by hand and by scipy, slices, runs, clusters, two rounds compared."""
from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from scipy.stats import binom, binomtest, false_discovery_control
from statsmodels.stats.multitest import multipletests
from support_rounds import NOW, ROUND, WORKED_EXAMPLE, folder_of
from support_strength import FIRST_GRID, run_rows
from typer.testing import CliRunner

from core.cli.main import build
from core.errors import RoundError
from core.gates.assessment import load_or_assess
from core.gates.holdout_against import CandidateComparison, compare_candidates
from core.gates.holdout_evidence import HoldoutReport, holdout_report, why_no_report
from core.grid import Grid, default_grid
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace
from core.statistics.verdict import Standing

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = ROOT / "data" / "rounds"
NAMES = ("ifeval-4o", "ifeval-qwen", "smollm2-dpo-only", "smollm2-rpo", "judges")


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    workspace = Workspace.open(tmp_path_factory.mktemp("holdouts") / "workspace", create=True)
    for name in NAMES:
        ingest(PUBLIC / name, workspace, now=NOW)
    ingest(WORKED_EXAMPLE, workspace, round_id="worked-example", now=NOW)
    return workspace


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., tuple[Workspace, Round]]:
    """A round made of outcomes alone."""
    workspace = Workspace.open(tmp_path / "workspace", create=True)

    def make(rows: list[dict[str, Any]], name: str = "made", change: Callable[[list[dict[str, Any]]], object] = id) -> tuple[Workspace, Round]:
        items = [{"id": item, "prompt": f"Question {item}?"} for item in dict.fromkeys(row["id"] for row in rows)]
        change(items)
        about = ROUND | {"round_id": name, "holdout_lock": {"sha256": "0" * 64}}
        source = folder_of(tmp_path / name, {"holdout": items, "outcomes": rows}, about=about)
        return workspace, workspace.round(ingest(source, workspace, round_id=name, now=NOW).digest)

    return make


def report_of(workspace: Workspace, source: Round, grid: Grid | None = None) -> HoldoutReport:
    rules = grid or default_grid()
    found = holdout_report(source, load_or_assess(workspace, source, rules).document, rules)
    assert found is not None
    return found


def against(workspace: Workspace, source: Round, other: Round, grid: Grid | None = None) -> CandidateComparison:
    rules = grid or default_grid()
    documents = [load_or_assess(workspace, one, rules).document for one in (source, other)]
    return compare_candidates(source, documents[0], other, documents[1], rules)


def outcomes_of(name: str) -> dict[str, dict[str, bool]]:
    """Outcomes of a public round, read without the code under test: arm -> item -> passed."""
    found: dict[str, dict[str, bool]] = defaultdict(dict)
    for row in pq.read_table(PUBLIC / name / "outcomes.parquet").to_pylist():
        found[row["arm"]][row["id"]] = row["passed"]
    return found


def flips_of(before: dict[str, bool], after: dict[str, bool]) -> tuple[int, int]:
    """(gained, lost)."""
    return sum(after[item] > before[item] for item in before), sum(after[item] < before[item] for item in before)


# the worked example: 1 fix, 0 regressions of 5


def test_the_worked_example_by_hand(room: Workspace) -> None:
    report = report_of(room, room.round("worked-example"))
    assert report.evidence.sentence == "unproven: candidate beats baseline by 20.0 points; n = 5 (no result on 5 items can reach p < .05)"
    said = dict(report.tested_words)
    # exact: min(1, 2 * 1/2) = 1; mid-p: 1 - P(1 of 1) = 1/2
    assert said["Exact McNemar"] == "p = 1" and said["Mid-p"] == "p = .5"
    assert report.evidence.verdict is not None and report.evidence.verdict.standing is Standing.NOT_SHOWN
    assert report.reach_words == "no result on 5 items can reach p < .05"
    # three of the five items passed before
    assert report.regression_words == ("0 of 5, 0 % over all items: this rate decides", "0 of 3, 0 % over the items that the baseline passes")
    # resampling 5 items of which one flips: the mean is Bin(5, 1/5) / 5; P(X = 0) = .32768, P(X <= 2) = .942, P(X <= 3) = .993
    assert report.bootstrap is not None and (report.bootstrap.percentile.lower, report.bootstrap.percentile.upper) == (0, Fraction(3, 5))
    assert [binom.ppf(level, 5, 0.2) for level in (0.025, 0.975)] == [0, 3]
    assert report.bootstrap_words == "0.0 to +60.0 points (percentile, all resamples counted)"


def test_items_needed_and_smallest_gain_stand_beside_the_cap(room: Workspace) -> None:
    report = report_of(room, room.round("worked-example"))
    # (1.959964 sqrt(.2) + .841621 sqrt(.2 - .0025))^2 / .0025 = (.876523 + .374022)^2 / .0025 = 625.55
    assert report.wanted_words == "626 (621 more than these) to show 5.0 points with 80 % power"
    reason = "not even a gain of every flip could be shown on this many items"
    assert report.smallest_words == f"undefined with 80 % power: {reason}; the cap on regressions is 5 %"


def test_each_check_says_how_far_it_is_from_flipping(room: Workspace) -> None:
    report = report_of(room, room.round("worked-example"))
    said = {(flip.check, flip.judge_id): flip.distance.text for flip in report.flips}
    # one more loss is 1 of 5, over the cap; one lost canary is 3 of 4; one more false approval of the judge is 1 of 3
    assert said["regressions", None] == "1 item from failing" and said["sanity_retention", None] == "1 canary from failing"
    assert said["false_positive_rate", "calibrated"] == "1 case from failing"
    assert {check["name"] for check in load_or_assess(room, room.round("worked-example"), default_grid()).document["checks"]} == {
        flip.check for flip in report.flips if flip.judge_id is None
    }
    assert all(report.proof(flip) for flip in report.flips)


# public rounds


@pytest.mark.parametrize(("name", "gained", "lost"), [("ifeval-4o", 40, 20), ("ifeval-qwen", 109, 27), ("smollm2-dpo-only", 3, 13)])
def test_public_rounds_against_scipy(room: Workspace, name: str, gained: int, lost: int) -> None:
    arms = outcomes_of(name)
    assert flips_of(arms["baseline"], arms["candidate"]) == (gained, lost)
    test = report_of(room, room.round(name)).evidence.test
    exact = binomtest(gained, gained + lost).pvalue
    assert test.exact.value == pytest.approx(exact, rel=1e-12)
    assert test.mid_p.value == pytest.approx(exact - binom.pmf(gained, gained + lost, 0.5), rel=1e-9)


def test_a_shown_gain_says_its_figures(room: Workspace) -> None:
    report = report_of(room, room.round("ifeval-4o"))
    assert report.evidence.sentence.startswith("candidate beats baseline by 4.0 points; n = 504, exact p = .0135, 95 % interval ")
    assert report.evidence.verdict is not None and report.evidence.verdict.standing is Standing.BETTER and report.reach_words is None
    # 25 of 504 is 4.96 %, 26 is 5.16 %: six more losses than 20
    assert next(flip.distance.text for flip in report.flips if flip.check == "regressions") == "6 items from failing"
    # 60 of 504 flip: (1.959964 sqrt(.119048) + .841621 sqrt(.116548))^2 / .0025 = (.676256 + .287320)^2 / .0025 = 371.39
    assert report.wanted_words.startswith("372 (these are enough)")


def test_slices_corrected_as_scipy_and_statsmodels_do(room: Workspace) -> None:
    table, arms = pq.read_table(PUBLIC / "ifeval-4o" / "outcomes.parquet").to_pylist(), outcomes_of("ifeval-4o")
    slices = {row["id"]: row["slice"] for row in table}
    names = sorted(set(slices.values()))
    counts = [
        flips_of(*({item: arms[arm][item] for item in slices if slices[item] == name} for arm in ("baseline", "candidate"))) for name in names
    ]
    raw = [binomtest(gained, gained + lost).pvalue if gained + lost else 1.0 for gained, lost in counts]
    lines = report_of(room, room.round("ifeval-4o")).slices
    assert [line.name for line in lines] == names and len(names) == 10
    assert [(line.table.fixes, line.table.regressions) for line in lines] == counts
    assert [float(line.evidence.p.fraction) for line in lines] == pytest.approx(raw, rel=1e-12)
    assert [float(line.holm) for line in lines] == pytest.approx(multipletests(raw, method="holm")[1], rel=1e-12)
    assert [float(line.benjamini_hochberg) for line in lines] == pytest.approx(false_discovery_control(raw), rel=1e-12)
    # raw .0117 of "keywords" would be shown, ten times that is not
    keywords = lines[names.index("keywords")]
    assert keywords.evidence.p.at_most(Fraction(1, 20)) and keywords.standing is Standing.NOT_SHOWN


# clusters, runs


def test_items_in_clusters_are_tested_by_cluster(made: Callable[..., tuple[Workspace, Round]]) -> None:
    # twelve items in three texts, all gained: as single items 2/2^12 = .0005, as clusters 2/2^3 = .25
    report = report_of(*made(run_rows([([False], [True])] * 12, ["a"] * 4 + ["b"] * 4 + ["c"] * 4)))
    said = dict(report.tested_words)
    assert said["Sign-flip"] == "p = .25" and said["Exact McNemar"] == "p = .0005, one outcome an item"
    assert report.evidence.verdict is not None and report.evidence.verdict.standing is Standing.NOT_SHOWN
    assert report.reach_words == "no result on 3 clusters can reach p < .05"
    assert report.bootstrap is None and report.bootstrap_words == "not given: it would draw single items, and these come in clusters"
    assert report.error_words.startswith("undefined: not estimable")


def test_a_clustered_standard_error_by_hand(made: Callable[..., tuple[Workspace, Round]]) -> None:
    # differences 1 1 | 0 0 | 0 0, mean 1/3: sums of deviations 4/3, -2/3, -2/3; CR0 = (16 + 4 + 4) / 9 / 36, times G/(G-1) = 3/2
    rows = run_rows([([False], [True])] * 2 + [([True], [True])] * 4, ["a", "a", "b", "b", "c", "c"])
    report = report_of(*made(rows))
    assert report.compared is not None
    assert report.compared.clustered.clustered_se_small_sample == pytest.approx((24 / 9 / 36 * 1.5) ** 0.5)
    # each item alone: sample variance (2 * 4/9 + 4 * 1/9) / 5 over 6 items
    assert report.compared.clustered.se_ignoring_clusters == pytest.approx((12 / 9 / 5 / 6) ** 0.5)
    assert report.error_words == "33.3 points over 3 clusters (21.1 if clusters were ignored)"


def test_several_runs_stay_inside_their_item(made: Callable[..., tuple[Workspace, Round]]) -> None:
    # six items: the baseline passes 1 of 4 runs, the candidate 3 of 4, in two different patterns
    rows = run_rows([([True, False, False, False], [True, True, True, False]), ([False, True, False, False], [False, True, True, True])] * 3)
    report = report_of(*made(rows))
    # every item gains 1/2: 2/2^6
    assert report.stated["view"] == "graded" and dict(report.tested_words)["Sign-flip"] == "p = .0312"
    by_k = {line.k: line for line in report.runs}
    assert sorted(by_k) == [1, 2, 4]
    # baseline: 1 - C(3,2)/C(4,2) = 1/2, C(1,2) = 0; candidate: 1 - C(1,2)/6 = 1, C(3,2)/C(4,2) = 1/2
    assert (by_k[2].baseline.at_least_one, by_k[2].baseline.all_of_them) == (Fraction(1, 2), 0)
    assert (by_k[2].candidate.at_least_one, by_k[2].candidate.all_of_them) == (1, Fraction(1, 2))


def test_the_same_runs_three_times_change_nothing(made: Callable[..., tuple[Workspace, Round]]) -> None:
    once = [([True, False], [True, True]), ([False, False], [True, False]), ([False, True], [False, False])] * 4
    labels = [{"slice": name} for name in ("odd", "even", "odd")] * 4
    reports = []
    for name, times in (("once", 1), ("thrice", 3)):
        rows = run_rows([(before * times, after * times) for before, after in once])
        for row in rows:
            row |= labels[int(row["id"].removeprefix("i"))]
        reports.append(report_of(*made(rows, name)))
    first, second = reports
    assert first.slices == second.slices and len(first.slices) == 2
    assert first.runs == second.runs and first.band_words == second.band_words and first.tested_words == second.tested_words


def test_a_band_from_runs_uses_t(made: Callable[..., tuple[Workspace, Round]]) -> None:
    # run rates of the baseline 0 and 1/2 of 2 items, of the candidate 1 and 1/2: each arm's variance 1/8, pooled 1/8, 2 degrees of freedom
    report = report_of(*made(run_rows([([False, True], [True, True]), ([False, False], [True, False])])))
    # 4.302653 * sqrt(1/8) * sqrt(1/2 + 1/2) = 1.5212
    assert report.band_words == "152.1 points: re-runs alone explain a difference up to that (t, 2 degrees of freedom)"


def test_a_slice_of_clusters_is_tested_by_cluster(made: Callable[..., tuple[Workspace, Round]]) -> None:
    rows = run_rows([([False], [True])] * 12, ["a"] * 6 + ["b"] * 6)
    for row in rows:
        row["slice"] = "all"
    (line,) = report_of(*made(rows)).slices
    # two clusters: 2/2^2
    assert line.evidence.p.exact == Fraction(1, 2) and line.evidence.units == 2 and not line.can_reach


def test_items_without_a_slice_have_a_line_of_their_own(made: Callable[..., tuple[Workspace, Round]]) -> None:
    rows = run_rows([([False], [True])] * 3)
    for row in rows[:2]:
        row["slice"] = "named"
    lines = report_of(*made(rows)).slices
    assert [(line.name, line.table.n) for line in lines] == [("named", 1), (None, 2)]


# what cannot be said


def test_a_grid_without_levels_gives_no_verdict(room: Workspace) -> None:
    report = report_of(room, room.round("ifeval-4o"), FIRST_GRID)
    assert report.evidence.verdict is None and report.slices == ()
    assert "no verdict: the grid sets no evidence_confidence" in report.evidence.sentence
    for words in (report.smallest_words, report.wanted_words, report.band_words, report.error_words, report.bootstrap_words):
        assert "the grid sets no evidence_confidence" in words
    assert dict(report.tested_words) == {"Exact McNemar": "p = .0135", "Mid-p": "p = .0099"}


def test_without_outcomes_there_is_no_report(room: Workspace) -> None:
    source = room.round("judges")
    assert holdout_report(source, load_or_assess(room, source, default_grid()).document, default_grid()) is None
    assert why_no_report(source) == "not supplied: holdout, outcomes"


# two rounds


def test_two_candidates_on_the_same_items(room: Workspace) -> None:
    before, after = (outcomes_of(name)["candidate"] for name in ("smollm2-dpo-only", "smollm2-rpo"))
    gained, lost = flips_of(before, after)
    found = against(room, room.round("smollm2-rpo"), room.round("smollm2-dpo-only"))
    assert found.comparable and found.table is not None and (found.table.fixes, found.table.regressions) == (gained, lost)
    assert found.comparison is not None and found.comparison.test.exact.value == pytest.approx(binomtest(gained, gained + lost).pvalue)
    assert found.sentence.startswith("unproven: the candidate of smollm2-rpo beats the candidate of smollm2-dpo-only by 6.7 points; n = 120")
    assert found.baselines == "both rounds have the same baseline outcomes"


def test_other_items_are_refused_and_nothing_is_subtracted(room: Workspace) -> None:
    found = against(room, room.round("ifeval-4o"), room.round("ifeval-qwen"))
    assert found.sentence == "not comparable: different sets of items: 501 and 504, 3 of them in one only"
    assert found.table is None and found.comparison is None and found.baselines is None
    assert len(found.differences) == 3 and all(line.endswith("was added") for line in found.differences)


def edited(place: int, key: str, value: str) -> Callable[[list[dict[str, Any]]], None]:
    return lambda items: items[place].update({key: value})


@pytest.mark.parametrize(("change", "code", "text"), [
    (edited(1, "prompt", "Another question?"), "different_prompts", "different prompts: 1 of 3 shared items ask something else"),
    (edited(1, "answer", "42"), "different_splits", "different splits: 1 of 3 shared items were locked with other fields"),
])
def test_prompts_and_locked_fields_have_to_be_the_same(
    made: Callable[..., tuple[Workspace, Round]], change: Callable[[list[dict[str, Any]]], object], code: str, text: str,
) -> None:
    rows = run_rows([([False], [True])] * 3)
    workspace, first = made(rows)
    found = against(workspace, first, made(rows, "other", change)[1])
    assert [mismatch.code for mismatch in found.mismatches] == [code] and found.sentence == f"not comparable: {text}"
    assert len(found.differences) == 1 and found.differences[0].startswith("item i1, field ")


def test_the_order_of_the_list_does_not_matter(made: Callable[..., tuple[Workspace, Round]]) -> None:
    # the candidates differ on i1 alone, whatever the order
    workspace, first = made(run_rows([([False], [True]), ([False], [False]), ([False], [False])]))
    second = made(run_rows([([False], [True]), ([False], [True]), ([False], [False])]), "other", list.reverse)[1]
    found = against(workspace, second, first)
    assert found.table is not None and (found.table.fixes, found.table.regressions, found.table.both_pass) == (1, 0, 1)


def test_an_absent_outcome_makes_rounds_not_comparable(made: Callable[..., tuple[Workspace, Round]]) -> None:
    rows = run_rows([([False], [True])] * 3)
    workspace, first = made(rows)
    found = against(workspace, first, made(rows[:-1], "other")[1])
    assert [mismatch.code for mismatch in found.mismatches] == ["different_graded_share", "missing_outcomes"]
    # as many lack in both rounds: the shares are the same, and still nothing can be paired
    third = made([rows[0], *rows[2:]], "third")[1]
    assert [mismatch.code for mismatch in against(workspace, made(rows[:-1], "fourth")[1], third).mismatches] == ["missing_outcomes"] * 2


def test_a_round_without_outcomes_or_the_same_round(room: Workspace) -> None:
    found = against(room, room.round("ifeval-4o"), room.round("judges"))
    assert found.sentence == "not comparable: the candidate of judges: not supplied: holdout, outcomes"
    with pytest.raises(RoundError) as caught:
        against(room, room.round("ifeval-4o"), room.round("ifeval-4o"))
    assert caught.value.code == "same_round"


def test_two_rounds_under_a_grid_without_levels(room: Workspace) -> None:
    found = against(room, room.round("smollm2-rpo"), room.round("smollm2-dpo-only"), FIRST_GRID)
    assert found.comparison is None and found.sentence.endswith("no verdict: the grid sets no evidence_confidence")


# the command line


def countersign(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(build(), list(arguments))
    return result.exit_code, result.output


def test_the_command_prints_the_verdict_first(room: Workspace) -> None:
    code, said = countersign("holdout", "worked-example", "--workspace", str(room.root))
    assert code == 0 and said.startswith("unproven: candidate beats baseline by 20.0 points; n = 5 (no result on 5 items can reach p < .05)\n")
    assert "1 canary from failing" in said and "Error budget" in said and "0 of 3, 0 % over the items that the baseline passes" in said


def test_the_json_document_is_whole(room: Workspace) -> None:
    code, said = countersign("holdout", "ifeval-qwen", "--json", "--workspace", str(room.root))
    document = json.loads(said)
    assert code == 0 and document["undefined"] is None
    assert document["evidence"]["exact"]["value"] == pytest.approx(binomtest(27, 136).pvalue, rel=1e-8)
    assert len(document["slices"]) == 10 and document["runs"] == [] and document["exposure"]["items"] == 501
    code, said = countersign("holdout", "judges", "--json", "--workspace", str(room.root))
    assert code == 0 and json.loads(said)["undefined"] == "not supplied: holdout, outcomes"


def test_not_comparable_is_an_honest_refusal(room: Workspace) -> None:
    code, said = countersign("holdout", "ifeval-4o", "--against", "ifeval-qwen", "--workspace", str(room.root))
    assert code == 3 and said.startswith("not comparable: different sets of items")
    code, said = countersign("holdout", "smollm2-rpo", "--against", "smollm2-dpo-only", "--json", "--workspace", str(room.root))
    document = json.loads(said)
    assert code == 0 and document["comparable"] is True and document["mismatches"] == []


# known case 25: no interval without width, whatever the flips


def intervals_in(found: Any) -> list[tuple[float | None, float | None]]:
    """The ends of every interval anywhere in a document."""
    if isinstance(found, dict):
        here = [(found["lower"], found["upper"])] if {"lower", "upper", "method"} <= found.keys() else []
        return here + [ends for value in found.values() for ends in intervals_in(value)]
    return [ends for value in found for ends in intervals_in(value)] if isinstance(found, list) else []


@pytest.mark.parametrize(("gained", "lost", "same"), [(1, 0, 0), (0, 1, 0), (0, 0, 1), (6, 0, 0), (0, 7, 0), (0, 0, 8), (20, 0, 0)])
def test_case_25_all_flips_one_way_or_none_give_no_interval_without_width(
    made: Callable[..., tuple[Workspace, Round]], gained: int, lost: int, same: int,
) -> None:
    both = [(False, True)] * gained + [(True, False)] * lost + [(True, True)] * same
    rows = [
        {"id": f"h{place}", "arm": arm, "passed": passed}
        for place, flip in enumerate(both) for arm, passed in zip(("baseline", "candidate"), flip, strict=True)
    ]
    report = report_of(*made(rows))
    ends = [pair for pair in intervals_in(json.loads(json.dumps(report.as_dict()))) if pair != (None, None)]
    assert ends and all(lower is not None and upper is not None and lower < upper for lower, upper in ends)
    assert report.bootstrap is None and report.bootstrap_words == str(report.no_bootstrap)
    assert report.bootstrap_words.startswith("not given: every resample is alike")
