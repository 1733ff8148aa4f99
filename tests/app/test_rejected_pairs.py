"""The browser of pairs: counts that sum, one pair in full, a selection that follows its id, and every state."""
from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest
from support_pages import HOSTILE, workspace_of
from support_sheets import follow, links, open_page, said, sheets, table

from core.text import visible
from dashboard.server import WORKSPACE_VARIABLE

DPO = "smollm2-dpo-only"


@pytest.fixture(scope="module", autouse=True)
def workspace(tmp_path_factory: pytest.TempPathFactory):
    made = workspace_of(tmp_path_factory.mktemp("rejected"), DPO, "judges", "worked-example", "awkward", "no-rows", "cut")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(WORKSPACE_VARIABLE, str(made.root))
        yield made


def opened(at: AppTest) -> str:
    """What the panel says about the open pair."""
    return "\n".join(said(at, key) for key in sheets(at) if key.startswith("pair-"))


def pairs(at: AppTest) -> list[str]:
    return [row[0] for row in table(at, "pairs")]


def test_the_counts_sum_and_the_sum_names_its_terms() -> None:
    at = open_page("rejected.py", round=DPO)
    assert not at.exception
    assert said(at, "headline-rejected") == "538 rejected pairs, 398 of them for: chosen log-prob collapsed"
    assert (
        "By first reason: 6 invalid record + 0 unverified + 52 margin not positive + 82 length bias + 398 chosen log-prob collapsed + "
        "0 duplicate = 538."
    ) in said(at, "states")
    rows = table(at, "reasons")
    assert rows[0][:2] == ["All reasons", "538"] and [row[1] for row in rows[1:]] == ["6", "0", "52", "82", "398", "0"]
    # as any reason: 524 pairs collapsed in all, 94 are length biased
    assert [row[2] for row in rows[1:]] == ["6", "0", "52", "94", "524", "0"]


def test_a_reason_lists_its_pairs_and_each_number_opens_its_own_list() -> None:
    at = open_page("rejected.py", round=DPO, reason="logp_collapse")
    assert "1 to 100 of 398 , lowest drift first" in said(at, "place") and len(pairs(at)) == 100
    assert "1 to 94 of 94" in said(follow(open_page("rejected.py", round=DPO), "94", "reasons"), "place")


def test_a_pair_shows_each_figure_against_its_bound_with_the_distance() -> None:
    # published: rasbt-0480, drift -2.7965, margin 0.0370, ratio 16 : 13 = 1.2308, loss 6.0483
    at = open_page("rejected.py", round=DPO, reason="logp_collapse", pair="rasbt-0480")
    (key,) = (key for key in sheets(at) if key.startswith("pair-") and key.count("-") == 1)
    figures = {row[0]: row[1:] for row in table(at, key)}
    assert figures["Chosen drift nats/token"] == ["−2.7965", "≥ −0.1", "2.6965 outside"]
    assert figures["Margin nats"] == ["0.037", "> 0", "0.037 inside"]
    assert figures["Length ratio chosen is longer"] == ["1.2308", "≤ 1.8", "0.5692 inside"]
    assert figures["RPO loss nats"][:2] == ["6.0483", "ranking only"]
    text = opened(at)
    assert "Generate a sentence using the word 'resilient'." in text and "data set's label chosen passes, rejected fails" in text
    assert "16 tokens · log-prob −86.0, reference −41.2" in text and "13 tokens · log-prob −76.9, reference −31.8" in text


def test_word_differences_are_marked_on_both_sides() -> None:
    at = open_page("rejected.py", round=DPO, reason="logp_collapse", pair="rasbt-0480")
    kinds = {}
    for side in ("chosen", "rejected"):
        (key,) = (key for key in sheets(at) if key.startswith("pair-") and key.endswith(f"-{side}"))
        kinds[side] = [(piece["c"], piece["t"]) for block in sheets(at)[key] if block["k"] == "text" for piece in block["pieces"]]
    # "He is remarkably resilient and consistently ..." against "He is very resilient and always ..."
    assert kinds["chosen"][:2] == [("same", "He is "), ("added", "remarkably ")]
    assert kinds["rejected"][:2] == [("same", "He is "), ("removed", "very ")]


def test_all_reasons_of_a_pair_are_named() -> None:
    at = open_page("rejected.py", round=DPO, reason="any-length_bias", order="ratio-high")
    rows = table(at, "pairs")
    assert rows[0][-1] == "ratio, drift" and "Also: length bias, chosen log-prob collapsed" in opened(at)


def test_the_column_for_further_reasons_is_hidden_when_none_has_one() -> None:
    def labels(at: AppTest) -> list[str]:
        return [column["label"] for column in sheets(at)["pairs"][0]["columns"]]

    assert "Also" not in labels(open_page("rejected.py", round=DPO, reason="logp_collapse"))
    assert "Also" in labels(open_page("rejected.py", round=DPO, reason="length_bias"))


def test_next_and_previous_move_by_id_and_across_pages() -> None:
    at = open_page("rejected.py", round=DPO, reason="logp_collapse")
    ids = pairs(at)
    assert at.button(key="previous_pair").disabled
    at.button(key="next_pair").click().run()
    assert at.query_params["pair"] == ids[1] and ids[1] in opened(at)
    at = open_page("rejected.py", round=DPO, reason="logp_collapse", pair=ids[-1])
    at.button(key="next_pair").click().run()
    assert at.query_params["pairs_page"] == "2" and at.query_params["pair"] == pairs(at)[0]
    at.button(key="previous_pair").click().run()
    assert at.query_params["pair"] == ids[-1] and "pairs_page" not in at.query_params


def test_the_open_pair_follows_its_id_when_the_order_changes() -> None:
    at = open_page("rejected.py", round=DPO, reason="logp_collapse")
    third = pairs(at)[2]
    at = follow(at, third, "pairs")
    assert third in opened(at)
    at = open_page("rejected.py", round=DPO, reason="logp_collapse", order="margin-high", pair=third)
    assert pairs(at)[2] != third and third in opened(at)


def test_a_pair_that_left_the_view_is_not_open_any_more() -> None:
    at = open_page("rejected.py", round=DPO, reason="non_positive_margin", pair="rasbt-0480")
    assert "rasbt-0480 is not in this view, so it is not open any more" in said(at, "dropped")
    assert "rasbt-0480" not in opened(at) and pairs(at)[0] in opened(at)


def test_a_filter_closes_the_pair_and_goes_back_to_the_first_page() -> None:
    at = open_page("rejected.py", round=DPO, reason="logp_collapse", pairs_page="2", pair="rasbt-0480")
    at.text_input(key="pair_search").input("resilient").run()
    assert dict(at.query_params) == {"round": at.query_params["round"], "reason": "logp_collapse", "search": "resilient"}
    assert sorted(pairs(at)) == ["rasbt-0308", "rasbt-0480"] and "search “resilient”" in said(at, "chips")


def test_every_control_changes_the_list() -> None:
    at = open_page("rejected.py", round=DPO, state="held")
    first = pairs(at)
    at.selectbox(key="pair_judge").select("loose-check").run()
    assert len(pairs(at)) == 2 and at.query_params["judge"] == "loose-check"
    at.selectbox(key="pair_judge").select("any").run()
    at.selectbox(key="pair_order").select("drift-high").run()
    assert pairs(at) != first and sorted(pairs(at)) == sorted(first)
    at.segmented_control(key="pair_origin").set_value("verified").run()
    assert "No pair matches" in said(at, "state-none")


def test_a_page_beyond_the_end_is_the_last_one() -> None:
    at = open_page("rejected.py", round=DPO, reason="logp_collapse", pairs_page="99")
    assert "301 to 398 of 398" in said(at, "place") and len(pairs(at)) == 98


def test_held_pairs_say_whose_gate_and_which_check() -> None:
    at = open_page("rejected.py", round=DPO, state="held")
    assert said(at, "headline-rejected") == "22 held pairs: 2 judges may not feed synthetic pairs"
    assert table(at, "held") == [["self-judge", "Cohen's kappa", "20"], ["loose-check", "False-positive approvals", "2"]]
    text = opened(at)
    assert "Held because the gate of its judge is closed" in text and "no verdict on chosen, no verdict on rejected" in text
    assert "Apart from that it would be rejected: margin not positive." in text


def test_admitted_pairs_stand_in_their_rank() -> None:
    at = open_page("rejected.py", round=DPO, state="admitted")
    assert said(at, "headline-rejected") == "12 admitted pairs would train the next generation"
    assert [row[1] for row in table(at, "pairs")] == [str(rank) for rank in range(1, 13)]


def test_no_quarantined_row_reads_well() -> None:
    at = open_page("rejected.py", round=DPO, state="quarantined")
    assert said(at, "headline-rejected") == "Every input row could be typed" and "No row was quarantined" in said(at, "state-quarantine")


def test_a_quarantined_row_shows_its_place_and_what_was_expected() -> None:
    at = open_page("rejected.py", round="awkward", state="quarantined")
    ((place, field, wrong, raw),) = table(at, "quarantine")
    assert place == "pairs.jsonl, line 8" and field == "chosen_token_count" and "expected" in wrong and '"pair_id"' in raw
    assert said(at, "headline-rejected") == "1 input row could not be typed"


def test_a_duplicate_names_the_pair_it_collides_with_and_the_key() -> None:
    at = open_page("rejected.py", round="worked-example", reason="duplicate")
    text = opened(at)
    assert "Same skeleton of the chosen answer as the admitted pair pair-rpo-clean-1" in text
    other = follow(at, "open it")
    assert "pair-rpo-clean-1" in opened(other) and "admitted" in opened(other)
    # and it can be read beside it
    assert any("Show the admitted pair" in item.label for item in at.expander)


def test_a_normalised_prompt_is_named_as_the_key_that_fired() -> None:
    at = open_page("rejected.py", round="awkward", reason="duplicate")
    assert "Same normalised prompt as the admitted pair good" in opened(at)


def test_rows_that_share_an_id_are_all_shown() -> None:
    at = open_page("rejected.py", round="awkward", reason="invalid_record", pair="twin")
    assert "2 rows of the input share this id" in said(at, "shared") and {"pair-5", "pair-6"} <= set(sheets(at))
    assert "another row has the same pair id" in opened(at) and "What is wrong" in [c["label"] for c in sheets(at)["pairs"][0]["columns"]]


def test_hostile_text_reaches_the_page_only_through_sheets_with_its_hidden_characters_visible() -> None:
    at = open_page("rejected.py", round="awkward", pair="hostile")
    assert not at.exception
    assert " ".join(visible(HOSTILE).split()) in opened(at) and "\u202e" not in opened(at) and "⟦U+202E⟧" in opened(at)
    for kind in ("markdown", "caption", "header", "subheader", "title", "button", "selectbox", "metric", "warning", "error", "info"):
        assert not any("pixel" in str(node.value) + str(getattr(node, "label", "")) for node in at.get(kind))


def test_answers_that_differ_in_white_space_only_say_so() -> None:
    assert "The two answers differ in white space only." in opened(open_page("rejected.py", round="awkward", pair="space"))


def test_mixed_scripts_are_flagged() -> None:
    assert "Words of the prompt mix scripts and may look like others: p\u0430ypal" in opened(open_page("rejected.py", round="awkward", pair="script"))


def test_an_identical_pair_has_no_figures_and_says_why() -> None:
    at = open_page("rejected.py", round=DPO, reason="invalid_record")
    text = opened(at)
    assert "the two answers are identical" in text and "The two answers are the same, character for character." in text
    assert [row[1] for row in table(at, "pairs")] == ["the two answers are identical"] * 6


def test_a_round_without_pairs_says_so() -> None:
    at = open_page("rejected.py", round="judges")
    assert "This round has no pairs" in said(at, "headline-rejected")


def test_an_empty_part_reads_well_in_every_list() -> None:
    for state in ("rejected", "admitted", "held", "quarantined"):
        at = open_page("rejected.py", round="no-rows", state=state)
        assert not at.exception and "headline-rejected" in sheets(at)
    assert said(open_page("rejected.py", round="no-rows"), "headline-rejected") == "No pair is rejected"


def test_nothing_held_reads_well() -> None:
    at = open_page("rejected.py", round="worked-example", state="held")
    assert said(at, "headline-rejected") == "No pair is held" and "No pair is held." in said(at, "state-none")


def test_links_carry_the_view_and_nothing_else() -> None:
    at = open_page("rejected.py", round=DPO, reason="any-logp_collapse", order="margin", drift=":-3")
    for page, params in links(at, "pairs").values():
        assert page == "rejected" and set(params) == {"reason", "order", "drift", "pair"}


def test_two_visits_with_different_filters_keep_their_own_rows() -> None:
    one, other = open_page("rejected.py", round=DPO, reason="length_bias"), open_page("rejected.py", round=DPO, state="admitted")
    first, second = pairs(one), pairs(other)
    assert pairs(one.run()) == first and pairs(other.run()) == second and not set(first) & set(second)


def test_a_pair_says_that_the_declared_cut_off_makes_it_equal() -> None:
    text = opened(open_page("rejected.py", round="cut", state="admitted", pair="ends"))
    assert "Equal once it is cut. Cut to the first 12 characters of each answer, chosen and rejected are the same (exact)" in text
    assert "Equal once it is cut" not in opened(open_page("rejected.py", round="cut", state="admitted", pair="early"))


def test_what_a_reason_is_made_up_of_adds_up_to_it() -> None:
    """Two rows share the id "twin", and "copy" has the prompt of "good" but for case and spaces."""
    at = open_page("rejected.py", round="awkward")
    assert [row[:2] for row in table(at, "reasons")][1] == ["Invalid record", "2"]
    assert table(at, "reason-parts") == [["another row has the same pair id invalid record", "2"], ["same normalised prompt duplicate", "1"]]
    # 6 published identical pairs
    assert table(open_page("rejected.py", round=DPO), "reason-parts") == [["the two answers are identical invalid record", "6"]]
