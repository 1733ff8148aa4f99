"""The Judges page: one card a judge, closed gates with their failing check first, cells that open their cases."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from streamlit.testing.v1 import AppTest
from support_desk import Desk
from support_rounds import folder_of
from support_sheets import ROOT, links, open_page, said, sheets, table
from support_signing import NOW

from core.rounds.ingest import ingest


def judges(name: str, **params: str) -> AppTest:
    at = open_page("judges.py", round=name, **params)
    assert not at.exception
    return at


def cases(judge: str, tp: int, fp: int, fn: int, tn: int) -> list[dict[str, Any]]:
    """Judge records with these cells, in this order."""
    cells = [(True, True)] * tp + [(True, False)] * fp + [(False, True)] * fn + [(False, False)] * tn
    return [{"judge_id": judge, "case_id": f"case-{n:03}", "rubric_approved": a, "verifier_passed": p} for n, (a, p) in enumerate(cells)]


def calibration(desk: Desk, place: Path, records: list[dict[str, Any]], **about: Any) -> None:
    source = folder_of(place / "calibration", {"judge_records": records}, about={
        "schema_version": 1, "round_id": "calibration", "proposers": ["worker-curator-01"], **about,
    })
    ingest(source, desk.workspace, now=NOW)


def figures(at: AppTest, judge: str) -> dict[str, list[str]]:
    return {row[0]: row[1:] for row in table(at, f"figures-{judge}")}


def test_the_headline_says_how_many_gates_are_open_and_why_the_others_are_not(pages: Desk) -> None:
    text = said(judges("smollm2-dpo-only"), "headline-judges")
    assert text.startswith("No judge of this round may feed synthetic pairs")
    assert "loose-check : false-positive approvals 22 of 320, 6.88 % (at most 5 %)." in text
    assert said(judges("smollm2-rpo"), "headline-judges").startswith("1 of 2 judges may feed synthetic pairs")


def test_a_card_has_gate_figures_fractions_and_the_failing_check_first(pages: Desk) -> None:
    at = judges("smollm2-dpo-only")
    assert "gate closed" in said(at, "judge-loose-check") and "kept closed by false-positive approvals" in said(at, "judge-loose-check")
    assert "calibrated judge" in said(at, "judge-loose-check")
    rows = figures(at, "loose-check")
    # tp 40, fp 22, fn 0, tn 298 of 360: kappa .7506, agreement 338/360 = .9389, FPR 22/320, FDR 22/62, prevalence 40/360
    assert list(rows) == [
        "False-positive approvals", "Cohen's kappa", "Exact agreement", "False discoveries", "Prevalence of passes", "PABAK", "Gwet's AC1",
    ]
    assert rows["False-positive approvals"] == ["fails", "22 of 320", "6.88 %", "at most 5 % 6 too many (approvals of failures)"]
    assert rows["Cohen's kappa"] == ["holds", "", "0.7506", "at least 0.75 0.0006 inside the bound"]
    assert rows["Exact agreement"][:3] == ["holds", "338 of 360", "93.89 %"]
    assert rows["False discoveries"][1:3] == ["22 of 62", "35.48 %"] and rows["Prevalence of passes"][1:3] == ["40 of 360", "11.11 %"]
    # PABAK 2 * 338/360 - 1 = .878; AC1: q = (2*40 + 22) / 720, e = 2 q (1 - q) = .2432, (.9389 - .2432) / .7568 = .919
    assert rows["PABAK"][2] == "0.878" and rows["Gwet's AC1"][2] == "0.919"


def test_cells_are_buttons_with_count_share_and_meaning(pages: Desk) -> None:
    at = judges("smollm2-dpo-only")
    button = at.button(key="cell-loose-check-fp")
    assert button.label == "**22** · 6.11 %  \napproved, verifier failed  \n**above the cap**"
    # fn is 0: nothing to open
    assert at.button(key="cell-loose-check-fn").disabled
    assert at.button(key="cell-loose-check-tp").label.startswith("**40** · 11.11 %")


def test_a_click_on_a_cell_lists_its_cases_and_opens_the_first(pages: Desk) -> None:
    at = judges("smollm2-dpo-only")
    assert "cases-loose-check" not in "".join(sheets(at))
    at = at.button(key="cell-loose-check-fp").click().run()
    assert said(at, "section-cases-loose-check") == "22 cases: approved, verifier failed"
    rows = table(at, "case-list-loose-check")
    assert len(rows) == 22
    text = said(at, "case-loose-check")
    assert f"Case {rows[0][0]}" in text and "Judge approved" in text and "Verifier failed" in text
    assert "Prompt" in text and "Response" in text and "Rationale not supplied" in text
    assert (at.query_params["judge"], at.query_params["cell"]) == ("loose-check", "fp")


def test_a_case_opens_by_its_id_whatever_its_place(pages: Desk) -> None:
    at = judges("smollm2-dpo-only", judge="loose-check", cell="fp", case="1148-3")
    assert "Case 1148-3" in said(at, "case-loose-check")
    target = links(at, "case-list-loose-check")["1148-3"]
    assert target == ("judges", {"judge": "loose-check", "cell": "fp", "case": "1148-3"})


def test_a_long_cell_is_paged_by_a_hundred(pages: Desk) -> None:
    at = judges("smollm2-dpo-only", judge="loose-check", cell="tn", cases_page="3")
    # 298 cases: 100 + 100 + 98
    assert len(table(at, "case-list-loose-check")) == 98
    assert len(table(judges("smollm2-dpo-only", judge="loose-check", cell="tn", cases_page="nonsense"), "case-list-loose-check")) == 100


def test_an_address_that_names_no_cell_or_case_is_no_error(pages: Desk) -> None:
    at = judges("smollm2-dpo-only", judge="nobody", cell="xx", case="'; drop table")
    assert "loose-check" in said(at)
    at = judges("smollm2-dpo-only", judge="loose-check", cell="fp", case="gone")
    assert "No case is open." in said(at, "state-case-loose-check")


def test_a_dozen_judges_have_a_table_and_one_open_card(pages: Desk) -> None:
    at = judges("judges")
    rows = {row[0]: row[1:] for row in table(at, "section-index")}
    assert len(rows) == 9
    # published: GPT-4 Metrics_Reference kappa .7234, 37 of 213; PaLM2 .3739 over 415 of 419; PandaLM gpt-3.5 .5581, .7818; GPT-4 .5868, 129 of 486
    assert rows["llmbar-gpt-4-metrics-reference"][2] == "0.7234" and rows["llmbar-gpt-4-metrics-reference"][4].startswith("37 of 213")
    assert rows["llmbar-chatgpt-vanilla-norules"][2] == "−0.2062"
    assert rows["llmbar-palm2-vanilla"][2] == "0.3739" and rows["llmbar-palm2-vanilla"][5] == "415 of 419"
    assert rows["pandalm-gpt-3.5-turbo"][2] == "0.5581" and "78.18 %" in rows["pandalm-gpt-3.5-turbo"][3]
    assert rows["mr-gsm8k-gpt-4"][2] == "0.5868" and rows["mr-gsm8k-gpt-4"][4].startswith("129 of 486")
    cards = [key for key in sheets(at) if key.startswith("figures-")]
    assert cards == ["figures-llmbar-chatgpt-vanilla-norules"]
    assert [key for key in sheets(judges("judges", judge="pandalm-7b")) if key.startswith("figures-")] == ["figures-pandalm-7b"]


def test_missing_verdicts_are_counted_named_and_close_the_gate(pages: Desk) -> None:
    at = judges("judges", judge="llmbar-palm2-vanilla", cell="missing")
    assert "n = 415 of 419, 4 verdicts missing" in said(at, "cells-llmbar-palm2-vanilla")
    assert figures(at, "llmbar-palm2-vanilla")["Missing verdicts"][:2] == ["fails", "4 of 419"]
    assert len(table(at, "case-list-llmbar-palm2-vanilla")) == 4
    assert "no usable verdict" in said(at, "case-llmbar-palm2-vanilla")


def test_the_rubric_and_its_version_are_there_or_said_to_be_missing(pages: Desk) -> None:
    rubric = said(judges("judges", judge="pandalm-7b"), "rubric-pandalm-7b")
    assert "Version PandaLM" in rubric and "Rubric digest" in rubric and len(rubric) > 300
    worked = said(judges("worked-example"))
    assert "Not supplied: the round says nothing about this judge." in worked


def test_swapped_records_are_said_to_feed_no_gate(pages: Desk) -> None:
    assert "419 records with the two answers swapped" in said(judges("judges", judge="llmbar-gpt-4-vanilla"))


def test_synthetic_pairs_that_hang_on_a_judge_with_a_way_to_them(pages: Desk) -> None:
    closed = judges("smollm2-dpo-only")
    assert "2 held" in said(closed, "synthetic-loose-check")
    assert links(closed, "synthetic-loose-check")["see them"] == ("rejected", {"state": "held", "judge": "loose-check"})
    assert "6 passed on" in said(judges("smollm2-rpo"), "synthetic-loose-check")


@pytest.mark.parametrize(("cells", "words"), [
    ((20, 0, 0, 0), "undefined"), ((0, 0, 0, 20), "undefined"),
])
def test_one_class_leaves_kappa_undefined_and_the_gate_closed(empty: Desk, tmp_path: Path, cells: tuple[int, ...], words: str) -> None:
    calibration(empty, tmp_path, cases("one", *cells))
    at = judges("calibration")
    assert "gate closed, undefined" in said(at, "judge-one")
    row = figures(at, "one")["Cohen's kappa"]
    assert row[0] == words and "nan" not in said(at).lower().split()


def test_a_false_positive_rate_without_failures_is_undefined_in_words(empty: Desk, tmp_path: Path) -> None:
    # 18 approved and passed, 2 refused and passed: nothing failed, so nothing says what the judge does with failures
    calibration(empty, tmp_path, cases("one", 18, 0, 2, 0))
    row = figures(judges("calibration"), "one")["False-positive approvals"]
    assert row[0] == "undefined" and "failed nothing" in " ".join(row)


@pytest.mark.parametrize("cells", [(9, 0, 1, 2), (2, 0, 1, 9)])
def test_kappa_exactly_on_the_bound_holds_and_says_so(empty: Desk, tmp_path: Path, cells: tuple[int, ...]) -> None:
    # 2(9*2 - 0) / (9*2 + 10*3) = 36/48 = 3/4, as floats .7499999999999999
    calibration(empty, tmp_path, cases("edge", *cells))
    at = judges("calibration")
    row = figures(at, "edge")["Cohen's kappa"]
    assert row[0] == "holds" and row[2] == "0.75" and "exactly on the bound, which holds" in row[3]
    assert "gate open" in said(at, "judge-edge")


def test_no_judge_records_is_said_with_a_next_step(empty: Desk, tmp_path: Path) -> None:
    source = folder_of(tmp_path / "bare", {"sanity": [{"id": "s1", "passed": True}]})
    ingest(source, empty.workspace, now=NOW)
    at = judges("round-07")
    assert said(at, "headline-judges") == "No judge is recorded in this round"
    assert "ask the proposer" in said(at, "state-judges")


def test_hostile_judge_ids_and_texts_stay_text(empty: Desk, tmp_path: Path) -> None:
    hostile = "![p](http://127.0.0.1:9/p.png)\u202e<b>:red[x]"
    records = [row | {"prompt": hostile, "response": hostile, "rationale": "\x1b[31mred"} for row in cases(hostile, 5, 2, 1, 5)]
    calibration(empty, tmp_path, records)
    at = judges("calibration", judge=hostile, cell="fp")
    text = said(at)
    assert "\u202e" not in text and "\x1b" not in text and "⟦U+202E⟧<b>:red[x]" in text and "␛[31mred" in text
    assert not any("127.0.0.1" in button.label for button in at.button)


# evidence below the gate table


def evidence(at: AppTest) -> list[str]:
    """The sheets of the open section, of all cards."""
    parts = ("strength-", "beside-", "rates-", "slices-", "thresholds-", "position-", "length-", "own-", "pass-rate-", "peers-", "history-", "said-")
    return [key for key in sheets(at) if key.startswith(parts)]


def test_the_gate_table_says_what_so_many_cases_prove(pages: Desk) -> None:
    text = said(judges("worked-example"), "figures-calibrated")
    # 0 of 3: Wilson to z^2 / (3 + z^2) = .5615; one-sided exact 1 - .05^(1/3) = .6316
    assert "95 % interval 0 % to 56.15 %; 3 cases prove at most 63.16 % meets, not proven: needs 56 more failed cases" in " ".join(text.split())
    assert "95 % interval 0 to 1 (bootstrap BCa)" in text
    assert "no paradox here" in said(judges("worked-example"), "synthetic-calibrated")
    dpo = judges("smollm2-dpo-only")
    assert "because 40 of 360 cases pass" in said(dpo, "synthetic-loose-check")
    # a figure that fails says so in its state; what it proves stands beside it
    assert "320 cases prove at most 9.67 %" in said(dpo, "figures-loose-check") and "needs" not in said(dpo, "figures-loose-check")


def test_no_section_is_open_or_computed_until_it_is_asked_for(pages: Desk) -> None:
    at = judges("smollm2-dpo-only")
    assert evidence(at) == [] and at.segmented_control(key="evidence-loose-check").value is None
    at = at.segmented_control(key="evidence-self-judge").set_value("strength").run()
    assert (at.query_params["judge"], at.query_params["evidence"]) == ("self-judge", "strength")
    assert set(evidence(at)) == {"strength-self-judge", "beside-self-judge", "rates-self-judge"}
    at = at.segmented_control(key="evidence-self-judge").set_value(None).run()
    assert evidence(at) == [] and "evidence" not in at.query_params


def test_another_judges_section_closes_what_was_open(pages: Desk) -> None:
    at = judges("smollm2-dpo-only", judge="self-judge", cell="fp", evidence="strength", slice="keywords")
    at = at.segmented_control(key="evidence-loose-check").set_value("slices").run()
    assert dict(at.query_params) == {"round": at.query_params["round"], "judge": "loose-check", "evidence": "slices"}
    assert evidence(at) == ["slices-loose-check"] and "cases-loose-check" not in "".join(sheets(at))


def test_strength_has_every_rate_with_both_intervals(pages: Desk) -> None:
    at = judges("worked-example", judge="calibrated", evidence="strength")
    proven = {row[0]: row[1:] for row in table(at, "strength-calibrated")}
    assert proven["False-positive approvals"] == [
        "0 % 0 of 3", "at most 5 %", "0 % to 56.15 % Wilson 0 % to 70.76 % Clopper-Pearson", "at most 63.16 % one-sided, 95 %",
        "meets, not proven needs 56 more failed cases",
    ]
    assert proven["Cohen's kappa"][2] == "0 to 1 bootstrap BCa, all 45 resamples enumerated" and proven["Cohen's kappa"][-1] == "meets, not proven"
    rates = {row[0]: row[1:] for row in table(at, "rates-calibrated")}
    # Clopper-Pearson of 0 of 3: 1 - .025^(1/3) = .7076
    assert rates["False-positive approvals failed answers that it approves"] == ["0 of 3", "0 %", "0 % to 56.15 %", "0 % to 70.76 %"]
    assert len(rates) == 9
    beside = said(at, "beside-calibrated")
    for words in ("Cohen's kappa 0.75, exactly 3/4", "Asymptotic interval 0.306 to 1", "percentile 0.158 to 1", "PABAK 0.75", "Gwet's AC1 0.754",
                  "Matthews' correlation 0.775", "0.43 % of resamples have no kappa"):
        assert words in beside


def test_undefined_figures_are_words_in_every_section(empty: Desk, tmp_path: Path) -> None:
    calibration(empty, tmp_path, cases("one", 20, 0, 0, 0))
    for section in ("strength", "slices", "thresholds", "bias", "pass rate", "other raters", "earlier rounds"):
        at = judges("calibration", judge="one", evidence=section)
        assert not {"nan", "inf", "null"} & set(said(at).lower().split())
    strength = said(judges("calibration", judge="one", evidence="strength"))
    assert "undefined: one class" in strength and "undefined: the verifier failed nothing" in strength
    proven = {row[0]: row[1:] for row in table(judges("calibration", judge="one", evidence="strength"), "strength-one")}
    assert proven["False-positive approvals"][2:] == ["none", "nothing", "undefined"] and proven["Cohen's kappa"][2] == "none"


def test_perfect_agreement_has_no_interval_of_width_nought(empty: Desk, tmp_path: Path) -> None:
    calibration(empty, tmp_path, cases("one", 10, 0, 0, 10))
    text = said(judges("calibration", judge="one", evidence="strength"))
    assert "not estimable: the standard error of these counts is 0; 20 agreements in 20 cases put the agreement rate at 83.16 % to 100 %" in text


def test_slices_with_a_way_into_each(pages: Desk) -> None:
    at = judges("judges", judge="llmbar-gpt-4-metrics-reference", evidence="slices")
    rows = {row[0]: row[1:] for row in table(at, "slices-llmbar-gpt-4-metrics-reference")}
    # published: right in the given order 95 of 100, 115 of 134, 80 of 92, 34 of 47, 37 of 46
    agree = {name: row[4] for name, row in rows.items()}
    assert agree == {
        "GPTInst": "86.96 % 80 of 92", "GPTOut": "72.34 % 34 of 47", "Manual": "80.43 % 37 of 46", "Natural": "95 % 95 of 100",
        "Neighbor": "85.82 % 115 of 134",
    }
    target = links(at, "slices-llmbar-gpt-4-metrics-reference")["GPTOut"]
    assert target == ("judges", {"judge": "llmbar-gpt-4-metrics-reference", "evidence": "strength", "slice": "GPTOut"})
    inside = judges("judges", **target[1])
    assert "72.34 % 34 of 47" in said(inside, "strength-llmbar-gpt-4-metrics-reference")
    assert inside.selectbox(key="slice-llmbar-gpt-4-metrics-reference").value == "GPTOut"


def test_a_slice_is_chosen_and_left_again(pages: Desk) -> None:
    at = judges("smollm2-dpo-only", judge="self-judge", evidence="thresholds")
    at = at.selectbox(key="slice-self-judge").set_value("keywords").run()
    assert at.query_params["slice"] == "keywords"
    assert said(at, "thresholds-self-judge").startswith("48 cases with a score (20 pass, 28 fail)")
    at = at.selectbox(key="slice-self-judge").set_value("").run()
    assert "slice" not in at.query_params and said(at, "thresholds-self-judge").startswith("360 cases with a score")
    # a slice that does not exist is all cases
    assert said(judges("smollm2-dpo-only", judge="self-judge", evidence="thresholds", slice="gone"), "thresholds-self-judge").startswith("360 cases")


def _auc(name: str) -> float:
    """Passing answers above failing ones, ties half, pair by pair from the round's file."""
    rows = pq.read_table(ROOT / "data" / "rounds" / name / "judge_records.parquet").to_pylist()
    scored = [(row["rubric_score"], row["verifier_passed"]) for row in rows if row["judge_id"] == "self-judge"]
    pairs = [(high, low) for high, passed in scored if passed for low, failed in scored if not failed]
    return sum((high > low) + (high == low) / 2 for high, low in pairs) / len(pairs)


def test_thresholds_are_charts_with_sentences(pages: Desk) -> None:
    at = judges("smollm2-dpo-only", judge="self-judge", evidence="thresholds")
    assert said(at, "thresholds-self-judge").startswith(f"360 cases with a score (40 pass, 320 fail): AUC {_auc('smollm2-dpo-only'):.3f},")
    assert len(at.get("plotly_chart")) == 4
    assert "No threshold opens the gate." in said(at, "said-threshold-self-judge")
    assert "The judge's own verdicts: 40 % of passing answers approved at 59.06 % of failed ones." in said(at, "said-roc-self-judge")
    assert "approving everything gives 11.11 %" in said(at, "said-pr-self-judge") and "(ECE)" in said(at, "said-reliability-self-judge")
    none = judges("smollm2-dpo-only", judge="loose-check", evidence="thresholds")
    assert said(none, "thresholds-loose-check") == "Not supplied: needs rubric_score beside a verdict of the verifier."
    assert len(none.get("plotly_chart")) == 0


def test_scores_on_a_rubric_scale_have_no_reliability(empty: Desk, tmp_path: Path) -> None:
    records = [row | {"rubric_score": number % 5 + 1} for number, row in enumerate(cases("one", 10, 3, 2, 10))]
    calibration(empty, tmp_path, records)
    at = judges("calibration", judge="one", evidence="thresholds")
    assert len(at.get("plotly_chart")) == 3 and "Reliability undefined: expected scores from 0 to 1" in said(at, "reliability-one")


def test_biases_where_the_data_has_what_they_need(pages: Desk) -> None:
    at = judges("judges", judge="llmbar-gpt-4-metrics-reference", evidence="bias")
    position = said(at, "position-llmbar-gpt-4-metrics-reference")
    # LLMBar's own counts: equal 96 + 127 + 83 + 39 + 39, right swapped 97 + 114 + 85 + 34 + 40
    assert "The same answer in both orders: 384 of 419, 91.65 %" in position and "swapped 370 of 419, 88.31 %" in position
    assert "Picks the longer answer where it is wrong: " in said(at, "length-llmbar-gpt-4-metrics-reference")
    assert "Not supplied: needs own_output" in said(at, "own-llmbar-gpt-4-metrics-reference")
    plain = judges("smollm2-rpo", judge="loose-check", evidence="bias")
    assert "Not supplied: needs the same cases in both orders" in said(plain, "position-loose-check")


def test_pass_rates_corrected_by_slice(pages: Desk) -> None:
    at = judges("judges", judge="llmbar-palm2-vanilla", evidence="pass rate")
    assert "Not needed: the judge alone saw no case" in said(at, "pass-rate-llmbar-palm2-vanilla")
    rows = {row[0]: row[1:] for row in table(at, "pass-rate-llmbar-palm2-vanilla")}
    assert rows["GPTOut"][0] == "76.6 % 36 of 47" and rows["GPTOut"][-2:] == ["46.81 % 22 of 47", "outside"]
    useless = said(judges("smollm2-rpo", judge="self-judge", evidence="pass rate"), "pass-rate-self-judge")
    assert useless.count("undefined") == 9
    assert useless.endswith("Undefined in every slice: the judge is no better than chance: recall + specificity is at most 1.")


def test_other_judges_on_the_same_cases(pages: Desk) -> None:
    at = judges("judges", judge="llmbar-palm2-vanilla", evidence="other raters")
    text = said(at, "peers-llmbar-palm2-vanilla")
    assert text.startswith("Judges on the same cases\n6 judges on these cases: Krippendorff's alpha, nominal")
    assert len(table(at, "peers-llmbar-palm2-vanilla")) == 5
    alone = judges("judges", judge="mr-gsm8k-gpt-4", evidence="other raters")
    assert said(alone, "peers-mr-gsm8k-gpt-4").endswith("Not supplied: needs another judge with verdicts on the same cases.")
    assert said(alone, "raters-mr-gsm8k-gpt-4").endswith("Not supplied: no rating is of a case of this judge.")
    bare = judges("smollm2-rpo", judge="self-judge", evidence="other raters")
    assert said(bare, "raters-self-judge").endswith("Not supplied: needs the part ratings (case_id, rater_id, label).")
    pandalm = said(judges("judges", judge="pandalm-7b", evidence="other raters"), "raters-pandalm-7b")
    # three annotators: .8642 (data/SOURCES.md)
    assert "3 raters of 999 cases: " in pandalm and "Fleiss' kappa 0.864 over 999 cases, 2,997 verdicts" in pandalm


def test_raters_of_the_cases_against_each_other(empty: Desk, tmp_path: Path) -> None:
    # two raters, eight cases, as the worked example's table: kappa of Fleiss 94/126 = .746 (test_judge_peers)
    said_by = {"ana": "yyyyynnn", "ben": "yyyynnnn"}
    ratings = [{"case_id": f"case-{n:03}", "rater_id": who, "label": label} for who, labels in said_by.items() for n, label in enumerate(labels)]
    source = folder_of(tmp_path / "rated", {"judge_records": cases("one", 4, 0, 1, 3), "ratings": ratings}, about={
        "schema_version": 2, "round_id": "rated", "proposers": ["worker-curator-01"],
    })
    ingest(source, empty.workspace, now=NOW)
    text = said(judges("rated", judge="one", evidence="other raters"), "raters-one")
    assert "2 raters of 8 cases: " in text and "Fleiss' kappa 0.746 over 8 cases, 16 verdicts" in text and "Labels: 'n' 7 times, 'y' 9 times." in text


def test_earlier_rounds_of_the_same_judge(pages: Desk) -> None:
    # the same ids with the answers of another policy: other texts, so other cases
    at = judges("smollm2-dpo-only", judge="self-judge", evidence="earlier rounds")
    (row,) = table(at, "history-self-judge")
    assert row[0].startswith("smollm2-rpo") and row[1:3] == ["0", "not comparable"]
    assert "360 cases with the same id and other texts, left out" in row[3]
    composite = table(judges("ifeval-4o", judge="self-judge", evidence="earlier rounds"), "history-self-judge")
    same = next(row for row in composite if row[0].startswith("smollm2-rpo"))
    assert same[1:3] == ["360", "100 % 360 of 360"] and "None of 360 shared verdicts flipped." in same[3]
    first = judges("smollm2-rpo", judge="self-judge", evidence="earlier rounds")
    assert said(first, "history-self-judge") == "No earlier round of this workspace has records of this judge."


def test_an_address_that_names_no_section_opens_none(pages: Desk) -> None:
    assert evidence(judges("judges", judge="pandalm-7b", evidence="<b>")) == []
    # of a dozen judges one card is open: a section without a judge's name is that one's
    assert evidence(judges("judges", evidence="slices")) == ["slices-llmbar-chatgpt-vanilla-norules"]


def test_hostile_slices_stay_text(empty: Desk, tmp_path: Path) -> None:
    hostile = "![p](http://127.0.0.1:9/p.png)\u202e<b>"
    calibration(empty, tmp_path, [row | {"slice": hostile} for row in cases("one", 5, 2, 1, 5)])
    for section in ("slices", "pass rate", "strength"):
        text = said(judges("calibration", judge="one", evidence=section, slice=hostile))
        assert "\u202e" not in text


def test_two_judges_whose_ids_look_alike_have_cards_of_their_own(empty: Desk, tmp_path: Path) -> None:
    calibration(empty, tmp_path, [*cases("a b", 5, 2, 1, 5), *cases("a-b", 5, 2, 1, 5)])
    at = judges("calibration", judge="a b", evidence="strength")
    assert sum(key.startswith("figures-a-b") for key in sheets(at)) == 2
