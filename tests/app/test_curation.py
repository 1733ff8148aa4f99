"""The Curation page on real rounds: every number as published, every claim computed, every state with a next step."""
from __future__ import annotations

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from support_pages import workspace_of
from support_rounds import NOW, folder_of, pair, workspace_at
from support_sheets import follow, links, open_page, said, sheets, table

from core.rounds.ingest import ingest
from dashboard.server import WORKSPACE_VARIABLE


@pytest.fixture(scope="module", autouse=True)
def workspace(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("curation")
    made = workspace_of(folder, "smollm2-dpo-only", "smollm2-rpo", "judges", "worked-example", "invalid", "no-rows", "cut")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(WORKSPACE_VARIABLE, str(made.root))
        yield made


def charts(at: AppTest) -> dict[str, dict]:
    """Figures by title, without the count."""
    figures = [json.loads(node.proto.spec) for node in at.get("plotly_chart")]
    return {figure["layout"]["title"]["text"].split("</b>")[0].removeprefix("<b>"): figure for figure in figures}


def total(figure: dict) -> int:
    bars = sum(sum(trace["y"]) for trace in figure["data"] if trace["type"] == "bar")
    return int(bars)


def test_the_headline_and_the_trap_are_the_published_figures() -> None:
    at = open_page("curation.py", round="smollm2-dpo-only")
    assert not at.exception
    text = said(at, "headline-curation")
    assert "12 of 572 pairs would train the next generation" in text
    assert "398 pairs" in text and "2.62" in text and "−2.64" in text and "less" in text
    assert links(at, "headline-curation") == {"See them": ("rejected", {"state": "rejected", "reason": "logp_collapse"})}


def test_the_sibling_round_has_its_own_figures() -> None:
    text = said(open_page("curation.py", round="smollm2-rpo"), "headline-curation")
    # 377 of 576; 19 pairs collapsed
    assert "377 of 576 pairs would train the next generation" in text and "19 pairs" in text


def test_the_funnel_adds_up() -> None:
    at = open_page("curation.py", round="smollm2-dpo-only")
    assert said(at, "said-funnel") == (
        "572 in = 12 admitted + 538 rejected + 22 held + 0 quarantined. Rejected by first reason: invalid record 6 + unverified 0 + "
        "margin not positive 52 + length bias 82 + chosen log-prob collapsed 398 + duplicate 0 = 538."
    )


def test_four_charts_with_titles_counts_and_a_sentence_each() -> None:
    at = open_page("curation.py", round="smollm2-dpo-only")
    drawn = charts(at)
    assert set(drawn) == {"From in to admitted", "Chosen drift", "DPO margin", "Length ratio", "RPO loss"}
    # 572 pairs less 6 invalid = 566, of which 22 held: a line, not bars
    for name in ("Chosen drift", "DPO margin", "Length ratio", "RPO loss"):
        assert "566 pairs" in drawn[name]["layout"]["title"]["text"] and total(drawn[name]) == 566 - 22
    assert "524 below the bound −0.1 nats per token" in said(at, "said-drift")
    assert "6 invalid records have no figures" in said(at, "section-charts")


def test_the_table_sets_admitted_against_rejected_and_held() -> None:
    rows = {row[0]: row for row in table(open_page("curation.py", round="smollm2-dpo-only"), "section-means")}
    # published: the 12 admitted pairs have the highest mean margin, 4.10
    assert rows["DPO margin nats"][1] == "4.10" and "above 0" in rows["DPO margin nats"][-1]


def test_a_range_in_the_url_narrows_the_others_and_leads_to_its_pairs() -> None:
    at = open_page("curation.py", round="smollm2-dpo-only", drift=":-0.1")
    drawn = charts(at)
    assert "566 pairs" in drawn["Chosen drift"]["layout"]["title"]["text"] and "524 pairs" in drawn["DPO margin"]["layout"]["title"]["text"]
    assert "Chosen drift up to −0.1" in said(at, "chips") and "524 pairs in this view" in said(at, "chips")
    # all 524 below the bound are rejected: held pairs of this round did not collapse
    listed = follow(at, "see 524 rejected", "chips")
    assert "1 to 100 of 524" in said(listed, "place") and "Chosen drift up to −0.1" in said(listed, "chips")


def test_two_ranges_count_the_pairs_that_are_in_both() -> None:
    at = open_page("curation.py", round="smollm2-dpo-only", drift=":-0.1", margin=":0")
    said_here = said(at, "chips")
    number = int(said_here.split(" pairs in this view")[0].split()[-1])
    states = {state: int(label.split()[1]) for label in links(at, "chips") if label.startswith("see ") for state in [label.split()[2]]}
    assert sum(states.values()) == number
    assert f"of {states['rejected']}" in said(follow(at, f"see {states['rejected']} rejected", "chips"), "place")


def test_each_chip_takes_its_own_range_off() -> None:
    at = open_page("curation.py", round="smollm2-dpo-only", drift=":-0.1", margin="0:")
    found = links(at, "chips")
    assert found["Chosen drift up to −0.1"] == ("curation", {"margin": "0:"})
    assert found["DPO margin from 0"] == ("curation", {"drift": ":-0.1"})
    assert found["clear all"] == ("curation", {})


def test_a_judge_in_the_url_narrows_the_charts_to_its_pairs() -> None:
    at = open_page("curation.py", round="smollm2-dpo-only", judge="self-judge")
    assert "20 pairs" in charts(at)["DPO margin"]["layout"]["title"]["text"]
    assert "pairs of judge self-judge" in said(at, "chips")


@pytest.mark.parametrize("nonsense", [{"margin": "a:b"}, {"drift": "nan:"}, {"loss": "9:1"}, {"length_ratio": "-3:"}])
def test_a_range_that_means_nothing_is_left_out_and_the_page_says_so(nonsense: dict[str, str]) -> None:
    at = open_page("curation.py", round="smollm2-dpo-only", **nonsense)
    assert not at.exception and "chips" not in sheets(at)
    ((name, value),) = nonsense.items()
    assert f"{name}={value}" in said(at, "ignored")


def test_a_range_can_be_typed_instead_of_dragged() -> None:
    at = open_page("curation.py", round="smollm2-dpo-only")
    assert "ignored" not in sheets(at)
    at.number_input(key="range_to").set_value(-0.1)
    at.button[-1].click().run()
    assert at.query_params["drift"] == ":-0.1" and "Chosen drift up to −0.1" in said(at, "chips")


def test_a_round_without_pairs_says_so_and_what_to_do() -> None:
    at = open_page("curation.py", round="judges")
    assert "This round has no pairs" in said(at, "headline-curation") and "ask the proposer" in said(at, "state-curation")
    assert not at.get("plotly_chart")


def test_pairs_without_figures_are_counted_and_not_drawn() -> None:
    at = open_page("curation.py", round="invalid", judge="nobody")
    assert not at.exception and "0 of 2 pairs would train" in said(at, "headline-curation")
    assert "No pair has figures that could be drawn" in said(at, "state-charts") and set(charts(at)) == {"From in to admitted"}
    assert links(at, "state-charts") == {"what is wrong with them": ("rejected", {"reason": "invalid_record"})}


def test_an_empty_part_says_that_no_pair_came_in() -> None:
    at = open_page("curation.py", round="no-rows")
    assert not at.exception and "No pair came in" in said(at, "headline-curation") and "supplied and is empty" in said(at, "state-curation")


def test_one_pair_reads_as_one() -> None:
    text = said(open_page("curation.py", round="worked-example"), "headline-curation")
    assert "2 of 5 pairs" in text and "1 pair" in text and "looks good by margin" in text and "1.8" in text and "−0.94" in text


def committed(event: dict) -> AppTest:
    """Run the brush's callback in a page of its own, and look at the URL."""
    def script() -> None:
        import streamlit as st

        from core.rounds.query_bins import MEASURES, BinPlan
        from dashboard.curation_charts import commit_brush

        commit_brush(BinPlan(MEASURES[0], 0.0, 0.5, -8, 7, 10, 0.0, -9.0, 9.0), st.session_state["event"])

    at = AppTest.from_function(script)
    at.session_state["event"] = event
    return at.run()


@pytest.mark.parametrize(
    ("event", "params"),
    [
        ({"selection": {"box": [{"x": [0.4, 2.1]}]}}, {"margin": "0.5:2"}), ({"selection": {"box": [{"x": [2.1, 0.4]}]}}, {"margin": "0.5:2"}),
        ({"selection": {"box": [{"x": [2.1, 7.0]}]}}, {"margin": "2:"}), ({"selection": {"box": []}}, {}), ({"selection": {}}, {}), ({}, {}),
    ],
)
def test_a_brush_is_committed_to_the_url_in_whole_bins(event: dict, params: dict[str, str]) -> None:
    at = committed(event)
    assert not at.exception
    assert dict(at.query_params) == params


def test_nothing_of_the_page_depends_on_where_the_workspace_is(workspace) -> None:
    at = open_page("curation.py", round="smollm2-dpo-only")
    assert str(Path(workspace.root)) not in said(at)


def test_charts_are_drawn_again_when_the_browser_changes_its_colours() -> None:
    at = open_page("curation.py", round="smollm2-dpo-only")
    (watch,) = (node for node in at.get("bidi_component") if node.proto.component_name == "countersign_theme_watch")
    # a browser whose colours differ from this asks for another run (the comparison itself is in theme_watch.js)
    assert json.loads(watch.proto.json) == {"drawn_for": "light"}


def test_a_declared_cut_off_says_which_pairs_it_makes_equal() -> None:
    """Of three admitted pairs two share exactly the 12 characters that are kept; the third differs at once. Each side of all three but
    "The lock is " (12) and "No reason." (10) is longer."""
    at = open_page("curation.py", round="cut")
    text = said(at, "section-cutoff")
    assert "Training keeps the first 12 characters of each answer: that makes chosen and rejected equal in 2 of 3 admitted pairs (2 exact)" in text
    assert "Of the admitted pairs it cuts 3 chosen answers and 1 rejected answer." in text
    assert "they are kept, and would train nothing. Next: a longer cut-off, or have them left out." in text
    assert "2 of them are equal once training cuts them, and would train nothing." in said(at, "headline-curation")
    # pair, how it is known, characters that both answers begin with
    assert table(at, "cutoff-pairs") == [["late", "exact", "12"], ["ends", "exact", "12"]]
    assert links(at, "cutoff-pairs")["ends"] == ("rejected", {"state": "admitted", "pair": "ends"})
    assert "cutoff-rest" not in sheets(at)


def test_a_cut_off_that_the_prompt_fills_says_what_it_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both answers have 8 characters and 4 tokens, so a token for two characters. The prompts of 20, 8 and 2 characters take 10, 4 and 1 of the
    six tokens: nothing, 2 and 5 are left. With 2 tokens left the first four characters are kept, which are the same; with 5 nothing is cut."""
    rows = [
        pair(pair_id=name, prompt=prompt, chosen=f"{same}aaaa", rejected=f"{same}bbbb", chosen_token_count=4, rejected_token_count=4)
        for name, prompt, same in (("full", "p" * 20, "same"), ("some", "q" * 8, "1.2."), ("short", "r" * 2, "# - "))
    ]
    about = {"schema_version": 1, "round_id": "seq", "proposers": ["p"], "training_cutoff": {"length": 6, "counts": "sequence_tokens"}}
    workspace = workspace_at(tmp_path)
    ingest(folder_of(tmp_path / "seq", {"pairs": rows}, about=about), workspace, now=NOW)
    monkeypatch.setenv(WORKSPACE_VARIABLE, str(workspace.root))
    at = open_page("curation.py", round="seq")
    assert not at.exception
    assert table(at, "cutoff-pairs") == [
        ["full", "estimated", "4", "about 2", "10.0", "nothing"], ["some", "estimated", "4", "about 2", "4.0", "2.0"],
    ]
    assert "A round does not hold the prompt's token count" in said(at, "cutoff-rest")


def test_a_round_without_a_declaration_says_nothing_of_a_cut_off() -> None:
    assert "section-cutoff" not in sheets(open_page("curation.py", round="worked-example"))
