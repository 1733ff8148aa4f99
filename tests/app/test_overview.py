"""The Overview: one sentence, every check with observed value, bound and distance, what would have to be true."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest
from support_desk import Desk
from support_rounds import bundle as worked_example
from support_sheets import links, open_page, said, sheets, table
from support_signing import NOW

from core.grid import default_grid
from core.rounds.ingest import ingest, ingest_bundle_bytes
from core.rounds.readers.single import ForeignFile


def overview(name: str) -> AppTest:
    at = open_page("overview.py", round=name)
    assert not at.exception
    return at


def ingest_document(desk: Desk, name: str, document: dict[str, Any]) -> None:
    ingest_bundle_bytes(json.dumps(document).encode(), "bundle.json", desk.workspace, round_id=name, now=NOW)


def checks(at: AppTest) -> dict[str, list[str]]:
    """Rows of the table of checks by title, without the title."""
    return {row[0]: row[1:] for row in table(at, "section-checks")}


def test_a_refusal_in_one_sentence_with_its_evidence(pages: Desk) -> None:
    text = said(overview("smollm2-dpo-only"), "headline-overview")
    assert text.startswith("Refuse: 2 of 6 checks fail; 2 warnings; reviewer open")
    assert "dpo-only-60 would not replace ref , and no pair trains" in text
    assert "sanity retention: 0 of 8, 0 % (at least 100 %)" in text and "regressions: 13 of 120, 10.83 % (at most 5 %)" in text


def test_a_promotion_says_what_an_approval_would_do(pages: Desk) -> None:
    text = said(overview("ifeval-4o"), "headline-overview")
    assert text.startswith("Promote, awaiting reviewer: all 6 checks hold")
    assert "377 pairs may train the next generation" in text and "neither alone" in text


def test_every_check_failing_first_with_observed_bound_distance_and_a_way_to_the_evidence(pages: Desk) -> None:
    at = overview("smollm2-dpo-only")
    rows = table(at, "section-checks")
    assert [row[1] for row in rows] == ["fails", "fails", "warning", "warning", "open", "holds", "holds", "holds", "holds"]
    by_title = checks(at)
    # 13 of 120 against a bound of 6: 7 too many; 8 canaries, all needed
    regressions = by_title["Regressions"]
    assert regressions[:5] == ["fails", "13 of 120", "10.83 %", "at most 5 %", "7 too many (items lost) 7 too many (items lost)"]
    assert regressions[-1] == "Holdout"
    assert by_title["Sanity retention"][:4] == ["fails", "0 of 8", "0 %", "at least 100 %"]
    assert by_title["Distinct reviewer"][0] == "open" and by_title["Distinct reviewer"][-1] == "Sign-off"
    assert by_title["Collapsed share"][:2] == ["warning", "524 of 544"]
    assert links(at, "section-checks")["Holdout"] == ("holdout", {})


def test_each_check_says_what_its_counts_can_prove(pages: Desk) -> None:
    """One-sided exact bounds at 95 %: 13 of 120 is at least 6.53 %, 20 of 504 at most 5.71 % (577 items would do), 0 of 5 proves little."""
    strengths = {title: row[-2] for title, row in checks(overview("smollm2-dpo-only")).items()}
    assert strengths["Regressions"] == "proven to fail at least 6.53 %" and strengths["Holdout lock"] == "nothing estimated"
    strengths = {title: row[-2] for title, row in checks(overview("ifeval-4o")).items()}
    assert strengths["Regressions"] == "meets, not proven needs 73 more items"
    assert strengths["Net holdout gain"].startswith("proven exact p = .0135")
    strengths = {title: row[-2] for title, row in checks(overview("worked-example")).items()}
    assert strengths["Net holdout gain"] == "meets, not proven no result on 5 items can reach p < .05"
    assert strengths["Sanity retention"] == "meets, not proven no number of canaries can"


def test_what_the_evidence_can_prove_is_said_in_sentences(pages: Desk) -> None:
    text = said(overview("worked-example"), "section-strength")
    assert "false positive rate meets, not proven: needs 56 more failed cases" in text
    assert "Unproven: candidate beats baseline by 20.0 points; n = 5 (no result on 5 items can reach p < .05)." in text
    assert "Regressions" not in text                                        # the table says it
    assert "Holdout: not supplied: holdout, outcomes." in said(overview("judges"), "section-strength")


def test_an_undefined_figure_proves_nothing(empty: Desk) -> None:
    document = worked_example() | {"sanity_outcomes": {}}
    ingest_document(empty, "no-canaries", document)
    assert checks(overview("no-canaries"))["Sanity retention"][-2] == "undefined the round has no canaries"


def test_figures_line_up_on_their_decimal_point(pages: Desk) -> None:
    # longest fraction of each unit: 10.83 % and −0.0686 nats/token; the others of that unit are padded with figure spaces
    block = next(block for block in sheets(overview("smollm2-dpo-only"))["section-checks"] if block["k"] == "table")
    figures = [[span["t"] for span in cell["spans"]] for row in block["rows"] for cell in row["cells"] if cell["c"] == ["nowrap"]]
    ends = {(unit, len(figure) - figure.index(next(mark for mark in ".\u2008" if mark in figure))) for figure, unit in figures}
    assert ends == {(" %", 3), (" nats/token", 5)}


def test_the_distance_bar_grows_with_the_distance(pages: Desk) -> None:
    block = next(block for block in sheets(overview("smollm2-dpo-only"))["section-checks"] if block["k"] == "table")
    bars = {row["cells"][0]["spans"][0]["t"]: span for row in block["rows"] for cell in row["cells"] for span in cell["spans"] if span["k"] == "bar"}
    # drift −0.0686 is 0.0314 inside a bound of −0.1: a little under a third of the bound
    assert 0.3 < bars["No collapsed pair admitted"]["share"] < 0.32 and bars["No collapsed pair admitted"]["inside"]
    # regressions: 10.83 % is more than one bound away from 5 %: full length, outside
    assert bars["Regressions"]["share"] == 1 and not bars["Regressions"]["inside"]


def test_a_refusal_says_what_would_have_to_be_true(pages: Desk) -> None:
    text = said(overview("smollm2-dpo-only"), "section-conditions")
    assert "At least 8 of 8 canaries pass (now 0)." in text and "At most 6 of 120 items are lost (now 13)." in text
    # 16 of 320 is the last count at 5 %
    assert "loose-check : The judge approves at most 16 of 320 failed answers (now 22). Until then its 2 synthetic pairs stay held." in text
    assert "self-judge" in text and "its 20 synthetic pairs stay held" in text


def test_the_trap_is_named_when_the_figures_show_it(pages: Desk) -> None:
    text = said(overview("smollm2-dpo-only"), "trap")
    assert "398 rejected pairs look good by margin (mean 2.62 nats), but their chosen answer became less likely" in text
    assert "(mean drift −2.64 nats per token)" in text
    # the worked example has one such pair, pair-collapse-trap: margin 0.1 * (-8.5 + 26.5) = 1.8, drift -8.5 / 9
    assert "1 rejected pair looks good by margin (mean 1.8 nats), but its chosen answer" in said(overview("worked-example"), "trap")
    assert "trap" not in sheets(overview("judges"))


def test_an_incomplete_round_names_the_parts_and_shows_what_is_there(pages: Desk) -> None:
    at = overview("judges")
    assert said(at, "headline-overview").startswith("Refuse: the round lacks pairs, holdout, outcomes, sanity")
    assert "The round is complete: pairs, holdout, outcomes, canaries supplied as well." in said(at, "section-conditions")
    assert len(table(at, "section-judges")) == 9


def test_an_undefined_number_refuses_in_words(empty: Desk) -> None:
    document = worked_example()
    document["calibrated_judge_records"] = [{"case_id": f"c{n}", "rubric_approved": True, "verifier_passed": True} for n in range(20)]
    ingest_document(empty, "one-class", document)
    at = overview("one-class")
    text = said(at, "headline-overview")
    assert text.startswith("Refuse: ") and "undefined" in text
    assert "nan" not in said(at).lower().split() and "gate closed, undefined" in said(at, "section-judges")
    assert "A required number is defined: kappa of the calibrated judge" in said(at, "section-conditions")


def test_it_says_where_the_round_stands_and_the_next_step(pages: Desk) -> None:
    not_proposed = overview("judges")
    assert "Not proposed yet: worker-curator-01 has to sign it first." in said(not_proposed, "standing")
    assert "countersign propose" in said(not_proposed, "standing")
    assert "Approved by worker-verifier-02." in said(overview("worked-example"), "standing")
    assert links(overview("worked-example"), "standing") == {"ledger": ("ledger", {})}
    at = overview("ifeval-4o")
    assert "Say who you are" in said(at, "standing")
    at.selectbox(key="you_are").set_value("eva@example.org").run()
    assert "Awaiting you." in said(at, "standing") and links(at, "standing")["Sign-off"] == ("sign_off", {})
    at.selectbox(key="you_are").set_value("worker-curator-01").run()
    assert "nobody approves their own round" in said(at, "standing")


def test_what_was_rejected_before_is_said(pages: Desk) -> None:
    assert "rejected before by ben@example.org : Seven items lost, and three canaries. "\
        "(as smollm2-rpo, which has the same candidate or pairs; ledger entry 5 )" in said(overview("ifeval-4o"), "standing")


def test_the_proposers_note_and_what_the_verdict_stands_on(pages: Desk) -> None:
    at = overview("smollm2-dpo-only")
    assert "SmolLM2-135M-Instruct" in said(at, "section-note")
    facts = said(at, "section-facts")
    assert "no program checked them" in facts and f"default, version {default_grid().version}" in facts and "digest not stated" in facts
    rows = next(block for block in sheets(at)["section-facts"] if block["k"] == "facts")["rows"]
    copied = [span["full"] for row in rows for span in row[1] if span["k"] == "digest"]
    assert pages.workspace.round("smollm2-dpo-only").digest in copied
    assert "The proposer left no note." in said(overview("worked-example"), "section-note")


def test_judges_gates_with_a_way_to_each(pages: Desk) -> None:
    at = overview("smollm2-rpo")
    rows = {row[0]: row[1:] for row in table(at, "section-judges")}
    # tp 67, fp 11, fn 0, tn 282: agreement 349 of 360, false-positive approvals 11 of 293 = 3.75 %
    assert rows["loose-check"][:5] == ["gate open", "", "0.9051", "349 of 360, 96.94 %", "11 of 293, 3.75 %"]
    assert "6 passed on" in rows["loose-check"][6] and "20 held" in rows["self-judge"][6]
    assert links(at, "section-judges")["loose-check"] == ("judges", {"judge": "loose-check"})


def test_what_was_remarked_about_the_files_is_shown_warnings_first(empty: Desk, tmp_path: Path) -> None:
    """A judge's equal grades were kept by declaration: the proposer read it at ingest, the reviewer reads it here."""
    rows = [{"prompt": f"Say {number}.", "chosen": "yes", "rejected": "no", "chosen_rating": 4, "rejected_rating": 4} for number in range(3)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    foreign = ForeignFile("argilla", ("worker-curator-01",), {"ids": "line", "origin": "verified", "ties": "keep"})
    ingest(tmp_path / "a.jsonl", empty.workspace, now=NOW, round_id="foreign", foreign=foreign)
    text = said(overview("foreign"), "section-files")
    assert text.index("warning") < text.index("a.jsonl: ") and "no pair has policy_logp_chosen" in text
    assert "a.jsonl was read as argilla" not in text and "no pair has a verifier's flag on either side" in text
    facts = said(overview("foreign"), "section-facts")
    assert "no pair says what a verifier found" in facts and "a program checked" not in facts


def test_a_round_with_nothing_to_remark_has_no_such_section(pages: Desk) -> None:
    assert "section-files" not in sheets(overview("worked-example"))
