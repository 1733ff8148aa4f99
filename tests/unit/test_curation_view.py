"""What the Curation page claims is computed: each claim appears only where its figures say so."""
from __future__ import annotations

from core.rounds.queries import StateCounts, Trap
from core.rounds.query_bins import MEASURES, BinPlan, BinRange
from dashboard import blocks
from dashboard.curation_view import chips, headline_words, legend, see_pairs, trap_spans

PLAN = {"margin": BinPlan(MEASURES[0], 0.0, 0.5, -8, 7, 10, 0.0, -9.0, 9.0)}


def words(spans: list) -> str:
    return " ".join(blocks.plain([blocks.paragraph(*spans)]).split())


def test_the_trap_names_its_figures() -> None:
    text = words(trap_spans(Trap(398, 2.6155, -2.637, 398, 398), 0.0))
    assert text.startswith("398 pairs look good by margin (mean 2.62 ), but their chosen answer became less likely than under the reference")
    assert "(mean drift −2.64 nats per token)" in text
    assert "moved away from both answers in each of them" in text and "See them" in text


def test_no_trap_is_claimed_where_the_figures_do_not_show_it() -> None:
    assert trap_spans(Trap(0, None, None, 0, 0), 0.0) == []
    # margins that do not look good under this grid
    assert trap_spans(Trap(3, 0.4, -1.0, 3, 3), 0.5) == []
    # a grid that asks for a positive drift: some chosen answers became more likely all the same
    assert trap_spans(Trap(3, 2.0, 0.1, 1, 1), 0.0) == []


def test_where_not_all_rejected_answers_fell_the_count_is_given() -> None:
    assert "In 2 of them the policy moved away from both answers" in words(trap_spans(Trap(3, 2.0, -1.0, 3, 2), 0.0))


def test_one_pair_reads_as_one() -> None:
    assert words(trap_spans(Trap(1, 1.8, -0.9444, 1, 1), 0.0)).startswith("1 pair looks good by margin ( 1.8 ), but its chosen answer became less")


def test_headlines() -> None:
    assert headline_words(StateCounts(12, 538, 22, 0)) == "12 of 572 pairs would train the next generation"
    assert headline_words(StateCounts(0, 3, 0, 1)) == "0 of 4 pairs would train the next generation"
    assert headline_words(StateCounts(5, 0, 0, 0)) == "All 5 pairs would train the next generation"
    assert headline_words(StateCounts(1, 0, 0, 0)) == "The only pair would train the next generation"


def test_the_legend_counts_what_is_drawn_and_names_what_is_not() -> None:
    text = words([span for group in legend({"admitted": 12, "rejected": 532, "held": 22}, 6) for span in group])
    assert "admitted 12" in text and "rejected 532" in text and "held 22" in text and "6 invalid records have no figures" in text
    assert "held" not in words([span for group in legend({"admitted": 1}, 0) for span in group])


def test_a_chip_takes_one_thing_off_and_keeps_the_rest() -> None:
    groups = chips([BinRange("margin", 0, 3)], "self-judge", PLAN)
    assert [group[0]["params"] for group in groups] == [{"judge": "self-judge"}, {"margin": "0:2"}, {}]
    assert chips([], None, PLAN) == []


def test_the_way_to_the_pairs_carries_ranges_and_judge() -> None:
    spans = see_pairs({"admitted": 3, "held": 2}, [BinRange("margin", None, -1)], None, PLAN)
    assert words(spans) == "5 pairs in this view : see 3 admitted , see 2 held"
    assert [span["params"] for span in spans if span["k"] == "link"] == [{"state": "admitted", "margin": ":0"}, {"state": "held", "margin": ":0"}]
    assert words(see_pairs({}, [BinRange("margin", None, -1)], None, PLAN)) == "0 pairs in this view ."
