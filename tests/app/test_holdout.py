"""The Holdout page: the lock first, then both arms, the flips with regressions first, the canaries."""
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from support_desk import Desk
from support_pages import HOSTILE
from support_rounds import bundle as worked_example
from support_rounds import folder_of, round_of, tables_of
from support_sheets import links, open_page, said, sheets, table
from support_signing import NOW, append, registration, rules_of

from core.rounds.ingest import ingest, ingest_bundle_bytes

LOCK = "eff4e98fe25144431a21abdee67fd8a4fd7f9573d3192cad8c779957fb95d709"


def holdout(name: str, **params: str) -> AppTest:
    at = open_page("holdout.py", round=name, **params)
    assert not at.exception
    return at


def add(desk: Desk, name: str, change: Callable[[dict[str, Any]], None]) -> None:
    """The worked example with a change, as another round."""
    document = worked_example()
    change(document)
    ingest_bundle_bytes(json.dumps(document, ensure_ascii=False).encode(), "bundle.json", desk.workspace, round_id=name, now=NOW)


def test_the_finding_is_the_net_gain_with_its_fraction(pages: Desk) -> None:
    assert said(holdout("ifeval-qwen"), "headline-holdout") == "The candidate gains 82 of 501, 16.37 % net: 27 lost, 109 fixed"
    assert said(holdout("smollm2-dpo-only"), "headline-holdout") == "The candidate loses 10 of 120, 8.33 % net: 13 lost, 3 fixed"


def test_the_lock_comes_first_with_registration_and_witness(pages: Desk) -> None:
    at = holdout("worked-example")
    text = said(at, "section-lock")
    assert "lock holds" in text and "stated by the proposer only" in text and "not stated" in text
    digests = [span["full"] for block in sheets(at)["section-lock"] for row in block.get("rows", []) for span in row[1] if span["k"] == "digest"]
    assert digests == [LOCK, LOCK]


def test_both_rates_name_their_denominator(pages: Desk) -> None:
    text = said(holdout("ifeval-qwen"), "section-gain")
    # 246 + 27 = 273 items that the baseline passes
    assert "27 of 501, 5.39 % over all items: this rate decides" in text and "27 of 273, 9.89 % over the items that the baseline passes" in text
    assert "+82 of 501, +16.37 %" in text and "one run of each item in both arms" in text


def test_the_two_by_two_adds_up_and_its_flips_are_links(pages: Desk) -> None:
    at = holdout("ifeval-qwen")
    rows = table(at, "section-gain")
    assert [cell.split()[0] for row in rows for cell in row[1:]] == ["246", "27", "109", "119"]
    assert 246 + 27 + 109 + 119 == 501
    found = links(at, "section-gain")
    assert found["lost"] == ("holdout", {"flips": "lost"}) and found["fixed"] == ("holdout", {"flips": "fixed"})


def test_flips_regressions_first_and_narrowed_by_the_url(pages: Desk) -> None:
    at = holdout("smollm2-dpo-only")
    assert said(at, "section-flips") == "16 items flipped: 13 lost, 3 fixed"
    assert [row[0] for row in table(at, "flip-list")] == ["lost"] * 13 + ["fixed"] * 3
    assert [row[0] for row in table(holdout("smollm2-dpo-only", flips="fixed"), "flip-list")] == ["fixed"] * 3
    assert len(table(holdout("smollm2-dpo-only", flips="nonsense"), "flip-list")) == 16


def test_the_choice_of_flips_goes_to_the_url(pages: Desk) -> None:
    at = holdout("smollm2-dpo-only")
    at = at.button_group(key="flips_choice").set_value("lost").run()
    assert at.query_params["flips"] == "lost" and len(table(at, "flip-list")) == 13


def test_a_long_list_is_paged(pages: Desk) -> None:
    # 136 flips: 100 + 36
    assert len(table(holdout("ifeval-qwen"), "flip-list")) == 100
    at = holdout("ifeval-qwen", flips_page="2")
    assert len(table(at, "flip-list")) == 36
    assert links(at, "flip-list")[table(at, "flip-list")[0][1]][1]["flips_page"] == "2"


def test_an_item_opens_with_its_locked_prompt_and_both_answers(pages: Desk) -> None:
    at = holdout("ifeval-qwen")
    rows = table(at, "flip-list")
    second = rows[1][1]
    text = said(holdout("ifeval-qwen", item=second), "flip-item")
    assert text.startswith(f"{second} lost") and "Prompt, as locked" in text
    assert "Baseline passed" in text and "Candidate failed" in text
    assert said(at, "flip-item").startswith(rows[0][1])


def test_lost_canaries_come_first(pages: Desk) -> None:
    at = holdout("smollm2-rpo")
    assert said(at, "section-canaries").startswith("Canaries: 5 of 8, 62.5 % kept")
    assert [row[1] for row in table(at, "section-canaries")] == ["lost"] * 3 + ["passed"] * 5


def test_a_round_without_a_holdout_says_who_has_to_bring_it(pages: Desk) -> None:
    at = holdout("judges")
    assert said(at, "headline-holdout") == "This round has no holdout"
    assert "ask for the registered list" in said(at, "state-holdout")
    assert "The proposer supplied none" in said(at, "section-canaries")


@pytest.mark.parametrize(("change", "expected"), [
    (lambda d: d["holdout_suite"].reverse(), "same items, other order"),
    (lambda d: d["holdout_suite"][1].update(prompt=f"{d['holdout_suite'][1]['prompt']} "), "h-02, field prompt: differs by trailing white space"),
])
def test_a_swapped_holdout_says_what_differs(own: Desk, change: Callable[[dict[str, Any]], None], expected: str) -> None:
    # the registered list is that of the worked example, which is in the workspace
    add(own, "swapped", change)
    at = holdout("swapped")
    assert said(at, "headline-holdout") == "The holdout is not the one that was registered"
    text = said(at, "section-lock")
    assert "lock fails" in text and "this is not the list that was registered" in text and expected in text
    assert "lock fails" in said(at, "status")


def test_what_differs_cannot_be_told_without_the_registered_list(empty: Desk) -> None:
    add(empty, "alone", lambda d: d["holdout_suite"].reverse())
    text = said(holdout("alone"), "section-lock")
    assert "the list that was registered is not in this workspace" in text and "Next:" in text


@pytest.mark.parametrize(("lock", "words"), [("", "no digest was registered"), ("abc", "no SHA-256 digest")])
def test_an_empty_or_malformed_lock_fails_in_words(empty: Desk, lock: str, words: str) -> None:
    add(empty, "unlocked", lambda d: d.update(preregistered_holdout_sha256=lock))
    text = said(holdout("unlocked"), "section-lock")
    assert "lock fails" in text and words in text


def test_a_registration_in_the_ledger_before_the_proposal_is_a_witness(empty: Desk) -> None:
    add(empty, "witnessed", lambda d: None)
    statement = registration(empty.ledger.read(), empty.registry, empty.curator.id, "holdout", holdout_sha256=LOCK)
    append(empty.ledger, statement, empty.curator, rules_of(empty.registry))
    assert "witnessed: ledger entry 0, not proposed yet" in said(holdout("witnessed"), "section-lock")
    empty.propose(empty.workspace.round("witnessed"))
    assert "witnessed: ledger entry 0, before this proposal" in said(holdout("witnessed"), "section-lock")


def test_an_absent_candidate_outcome_counts_as_a_failure_and_says_so(empty: Desk) -> None:
    add(empty, "absent", lambda d: d["candidate_outcomes"].pop("h-01"))
    at = holdout("absent")
    assert "1 item without a candidate outcome: counted as failures, and the round is refused" in said(at, "section-gain")
    # the baseline passes h-01, so it is a regression
    assert [row[:2] for row in table(at, "flip-list")] == [["lost", "h-01"], ["fixed", "h-03"]]
    assert "no candidate outcome: counted as a failure" in said(holdout("absent", item="h-01"), "flip-item")


def test_bad_outcomes_under_a_wrong_lock_do_not_hide_it(own: Desk) -> None:
    def change(document: dict[str, Any]) -> None:
        document["holdout_suite"].reverse()
        document["candidate_outcomes"]["stranger"] = True

    add(own, "both", change)
    at = holdout("both")
    assert "lock fails" in said(at, "section-lock")
    assert "do not fit the holdout" in said(at, "state-outcomes") and "stranger" in said(at, "state-outcomes")


def test_several_runs_are_reduced_and_said_so(empty: Desk) -> None:
    document = worked_example()
    parts = tables_of(document)
    # three runs of each item in the candidate's arm; h-01 passes 1 of 3, so the majority fails it
    candidate = [row for row in parts["outcomes"] if row["arm"] == "candidate"]
    parts["outcomes"] = [row | {"run": 0} for row in parts["outcomes"] if row["arm"] == "baseline"] + [
        row | {"run": run, "passed": row["passed"] if row["id"] != "h-01" else run == 0} for row in candidate for run in range(3)
    ]
    source = folder_of(empty.workspace.root.parent / "runs", parts, about=round_of(document))
    ingest(source, empty.workspace, now=NOW)
    at = holdout("round-07", item="h-01")
    assert "baseline 1; candidate 3 runs an item, reduced to one outcome by majority (grid)" in said(at, "section-gain")
    row = next(row for row in table(at, "flip-list") if row[1] == "h-01")
    assert row[0] == "lost" and row[-1] == "1 of 1 → 1 of 3"
    assert "Candidate, run 0 passed" in said(at, "flip-item") and "Candidate, run 2 failed" in said(at, "flip-item")


# what it proves


def test_the_verdict_stands_below_the_finding(pages: Desk) -> None:
    at = holdout("worked-example")
    assert said(at, "standing") == "not shown unproven: candidate beats baseline by 20.0 points; n = 5 (no result on 5 items can reach p < .05)"
    assert said(holdout("ifeval-4o"), "standing").startswith("shown better candidate beats baseline by 4.0 points; n = 504, exact p = .0135")
    # 3 gained, 13 lost: 2 (1 + 16 + 120 + 560) / 2^16 = .0213
    assert said(holdout("smollm2-dpo-only"), "standing").startswith("shown worse candidate trails baseline by 8.3 points; n = 120, exact p = .0213")


def test_few_items_get_the_honest_line_and_undefined_stays_undefined(pages: Desk) -> None:
    at = holdout("worked-example")
    text = said(at, "section-reach")
    assert "No result on 5 items can reach p < .05." in text and "undefined with 80 % power: not even a gain of every flip" in text
    assert "the cap on regressions is 5 %" in text
    assert "not measured: needs at least two runs of one arm" in said(at, "section-tests")
    assert "can reach" not in said(holdout("ifeval-4o"), "section-reach")


def test_each_check_of_the_page_says_how_far_from_flipping_it_is(pages: Desk) -> None:
    rows = {row[0]: row[1:] for row in table(holdout("worked-example"), "section-distances")}
    assert set(rows) == {"Holdout lock", "Sanity retention", "Regressions", "Outcomes complete", "Net holdout gain"}
    # 0 errors prove a 5 % cap at 95 % from 59 items on: 1 - .05^(1/59) = .0495
    assert rows["Regressions"] == ["holds", "1 item from failing", "meets, not proven: needs 54 more items"]
    assert rows["Holdout lock"][1] == "a fact: no count of items stands behind it"


def test_slices_are_corrected(pages: Desk) -> None:
    at = holdout("ifeval-4o")
    rows = {row[0]: row[1:] for row in table(at, "section-slices")}
    # 10 gained, 1 lost: 2 (1 + 11) / 2^11 = .0117; times ten slices
    assert rows["keywords"] == ["53", "10", "1", "+17.0", ".0117", ".1172", ".1172", "not shown"]
    # no result on 4 items can reach .05
    few = {row[0]: row[-1] for row in table(holdout("smollm2-dpo-only"), "section-slices")}
    assert few["punctuation"] == "too few items" and few["combination"] == "not shown"
    assert "No outcome names a slice" in said(holdout("worked-example"), "section-slices")


def test_earlier_looks_at_the_same_items_are_named(own: Desk) -> None:
    for name in ("smollm2-rpo", "smollm2-dpo-only"):
        own.assess(own.workspace.round(name))
    texts = [said(holdout(name), "section-looks") for name in ("smollm2-rpo", "smollm2-dpo-only")]
    assert any("Earlier looks: " in text and "120 of 120" in text for text in texts)
    assert all("Error budget" in text and "Ladder" in text for text in texts)


def test_a_broken_record_of_looks_is_an_error_and_the_rest_stays(own: Desk) -> None:
    holdout("worked-example")
    (own.workspace.root / "exposure.jsonl").write_bytes(b"not a look\n")
    at = holdout("worked-example")
    assert "Earlier looks: unknown" in said(at, "section-looks") and "a look that was recorded by this program" in said(at, "error-looks")
    assert "1 item from failing" in said(at, "section-distances")


def test_a_lock_that_fails_takes_the_colour_from_the_verdict(own: Desk) -> None:
    add(own, "swapped", lambda d: d["holdout_suite"].reverse())
    at = holdout("swapped")
    assert "On items that were not registered: unproven" in said(at, "standing")
    assert [span["c"] for block in sheets(at)["standing"] for span in block["spans"] if span["k"] == "badge"] == [["off"]]


def test_repeated_runs_get_pass_at_k_and_a_band(empty: Desk) -> None:
    document = worked_example()
    parts = tables_of(document)
    # two runs of each arm; the second run of the candidate loses h-01
    parts["outcomes"] = [
        row | {"run": run, "passed": row["passed"] and not (run and row["arm"] == "candidate" and row["id"] == "h-01")}
        for row in parts["outcomes"] for run in range(2)
    ]
    source = folder_of(empty.workspace.root.parent / "runs", parts, about=round_of(document))
    ingest(source, empty.workspace, now=NOW)
    at = holdout("round-07")
    # baseline 3 of 5 in both runs; candidate 4 of 5, and 3 of 5: mean 7/10, at least one of two 4/5, both 3/5
    assert table(at, "section-runs") == [["1", "60 %", "70 %", "60 %", "70 %"], ["2", "undefined: 5 of 5 tasks have fewer than 2 samples", "80 %",
                                         "undefined: 5 of 5 tasks have fewer than 2 samples", "60 %"]]
    assert "Sign-flip" in said(at, "section-tests") and "explain a difference up to that" in said(at, "section-tests")


# against another round


def test_another_round_on_the_same_items_is_compared(pages: Desk) -> None:
    other = pages.workspace.round("smollm2-dpo-only").digest[:12]
    at = holdout("smollm2-rpo", against=other)
    assert "the candidate of smollm2-rpo beats the candidate of smollm2-dpo-only by 6.7 points" in said(at, "against")
    assert "both rounds have the same baseline outcomes" in said(at, "against")
    assert at.selectbox(key="against_choice").value == other


def test_another_round_on_other_items_is_not_comparable(pages: Desk) -> None:
    at = holdout("ifeval-4o")
    at = at.selectbox(key="against_choice").set_value(pages.workspace.round("ifeval-qwen").digest[:12]).run()
    assert not at.exception and at.query_params["against"] == pages.workspace.round("ifeval-qwen").digest[:12]
    assert "Not comparable: different sets of items: 501 and 504, 3 of them in one only." in said(at, "state-against")
    assert "was added" in said(at, "against-differences")
    assert "against" not in sheets(at)


def test_an_address_that_names_no_other_round_compares_nothing(pages: Desk) -> None:
    at = holdout("ifeval-4o", against="nonsense")
    assert at.selectbox(key="against_choice").value == "" and "against" not in sheets(at)


# behaviours over versions


def test_behaviours_are_shown_where_they_were_supplied(pages: Desk) -> None:
    """Counted in the source file: 45 and 95 of 120 answers end by themselves, 8 and 6 of 10 trivial questions are answered."""
    at = holdout("smollm2-rpo")
    text = said(at, "section-behaviours")
    assert "rpo-60 against ref on 8 behaviours: shown better on 1, not shown on 7; proven on 0." in text
    rows = {row[0]: row for row in table(at, "section-behaviours")}
    # behaviour, gain, p, Holm, standing, re-run band, graded by, contaminated
    assert rows["ends its answer"][1:5] == ["+41.7", "< .0001", "< .0001", "shown better"]
    assert rows["answers trivial questions"][1:5] == ["−20.0", ".625", "1", "not shown"]
    assert rows["convinces itself"][6] == "judge self-judge, right in 180 of 360, 50 %" and rows["ends its answer"][6] == "a program"
    assert {row[7] for row in rows.values()} == {"nobody looked"} and {row[5] for row in rows.values()} == {"not measured"}
    # each gap is named in the sentence under its row
    assert "unproven: convinces itself: rpo-60 trails ref by 3.3 points; n = 120; exact p = .5716 does not reach .05" in text
    assert "the judge is right in 180 of 360, 50 % (85 % asked); nobody looked for the test in the training data of rpo-60" in text
    assert "promotion of a version goes through a round's gates and a second person's signature, never around them." in text
    assert "No behaviour was named beforehand, so each is corrected for the others (Holm)." in text


def test_each_behaviour_is_shown_over_the_versions(pages: Desk) -> None:
    at = holdout("smollm2-rpo")
    rows = [row for row in table(at, "behaviour-history") if row[0] == "answers trivial questions"]
    assert [(row[1], row[3]) for row in rows] == [
        ("ref", "8 of 10, 80 %"), ("rpo-20", "9 of 10, 90 %"), ("rpo-40", "6 of 10, 60 %"), ("rpo-60", "6 of 10, 60 %"),
        ("dpo-only-60", "0 of 10, 0 %"),
    ]
    assert rows[0][6] == "the first that was measured" and rows[4][6] == "−60.0 points shown worse"
    assert "in the order in which the round names them: ref, rpo-20, rpo-40, rpo-60, dpo-only-60" in said(at, "behaviour-history")


def test_rounds_without_behaviours_have_no_such_section(pages: Desk) -> None:
    assert not [key for key in sheets(holdout("ifeval-qwen")) if "behaviour" in key]


def test_behaviours_by_different_tests_are_not_comparable_and_unknown_versions_not_measured(own: Desk, tmp_path: Path) -> None:
    def row(version: str, test: str, passed: bool, item: int) -> dict[str, Any]:
        more = {"item_id": f"i{item}", "passed": passed, "contaminated": version == "v2"}
        return {"behaviour": HOSTILE, "version": version, "test_version": test, **more}

    rows = [row("v1", "t1", True, item) for item in range(9)] + [row("v2", "t2", True, item) for item in range(9)]
    about = {"schema_version": 1, "round_id": "two-tests", "proposers": ["worker-curator-01"]}
    for name, candidate in (("two-tests", "v2"), ("nobody", "v3")):
        models = {"baseline": {"name": "v1", "digest": None}, "candidate": {"name": candidate, "digest": None}}
        ingest(folder_of(tmp_path / name, {"behaviours": rows}, about={**about, **models, "round_id": name}), own.workspace, now=NOW)
    at = holdout("two-tests")
    (found,) = table(at, "section-behaviours")
    assert found[1:5] == ["", "not tested", "not tested", "not comparable"] and found[7] == "v1: 0, v2: 9"
    assert "not comparable: different test versions" in said(at, "section-behaviours")
    assert table(at, "behaviour-history")[1][6].startswith("not comparable: ")
    (found,) = table(holdout("nobody"), "section-behaviours")
    assert found[4] == "not measured"
