"""The Judges page: one card a judge, closed gates with their failing check first, cells that open their cases."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from support_desk import Desk
from support_rounds import folder_of
from support_sheets import links, open_page, said, sheets, table
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
    assert list(rows) == ["False-positive approvals", "Cohen's kappa", "Exact agreement", "False discoveries", "Prevalence of passes"]
    assert rows["False-positive approvals"] == ["fails", "22 of 320", "6.88 %", "at most 5 % 6 too many (approvals of failures)"]
    assert rows["Cohen's kappa"] == ["holds", "", "0.7506", "at least 0.75 0.0006 inside the bound"]
    assert rows["Exact agreement"][:3] == ["holds", "338 of 360", "93.89 %"]
    assert rows["False discoveries"][1:3] == ["22 of 62", "35.48 %"] and rows["Prevalence of passes"][1:3] == ["40 of 360", "11.11 %"]


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
