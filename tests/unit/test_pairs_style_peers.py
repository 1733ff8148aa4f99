"""Style markers and reply lengths beside another package's (tests/fixtures/peers): the same where it is right, right where it is not."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support_rollouts import Reply, exact_number

from core.gates.style_report import MarkerFinding, StyleReport, reply_style
from core.grid import default_grid

PEER = json.loads((Path(__file__).parents[1] / "fixtures/peers/whileai_style_length.json").read_text("utf-8"))
CASES = {case["name"]: case for case in PEER["style"]}
NAMES = {"no_boilerplate": "boilerplate", "no_hedging": "hedging", "no_apology": "apology", "no_sycophancy": "sycophancy", "answered": "refusal"}


def report_of(case: dict[str, Any]) -> StyleReport:
    return reply_style([
        Reply(row["prompt"], row["final_text"], exact_number(row.get("reward")), finish_reason=row.get("finish_reason")) for row in case["rows"]
    ], default_grid())


def findings(name: str) -> dict[str, MarkerFinding]:
    return {finding.name: finding for finding in report_of(CASES[name]).findings}


def test_the_grid_flags_where_the_peer_does() -> None:
    assert report_of(CASES["basic"]).bound == exact_number(PEER["threshold"])


@pytest.mark.parametrize("name", [name for name in CASES if "PEER-BUG" not in name])
def test_the_same_as_the_peer_where_it_is_right(name: str) -> None:
    ours = findings(name)
    for theirs, expected in CASES[name]["markers"].items():
        found = ours[NAMES[theirs]]
        judged, marked = found.counts["judged"], found.counts["marked"]
        value = found.correlation.value
        assert {
            "clean": (judged - marked) / judged if judged else None, "hits": marked, "top_phrases": [list(item) for item in found.phrases["all"]],
            "reward_corr": None if value is None else round(value, 3), "flagged": found.flagged,
            "degenerate": found.not_judged in ("all_have_it", "none_has_it"),
        } == expected
    assert sum(found.flagged for found in ours.values()) == CASES[name]["n_warnings"]


# Where the peer is wrong. Each name says what is right.


def test_a_curly_apostrophe_is_an_apostrophe() -> None:
    # "I’m sorry", as every phone writes it, is an apology; the peer finds none
    found = findings("PEER-BUG curly apostrophe missed")["apology"]
    assert found.counts["marked"] == 1 and found.phrases["all"] == [("i'm sorry", 1)]
    # one reply with it and one without say nothing about the reward
    assert found.not_judged == "too_few" and not found.flagged


def test_one_hit_in_four_replies_flags_nothing() -> None:
    # phi = (1*2 - 1*0) / sqrt(1*3*2*2) = 1/sqrt(3) = .577 is above the bound, but one reply made it, whatever its reward had been
    found = findings("PEER-BUG n=4 single hit flagged")["hedging"]
    assert found.counts["marked"] == 1 and round(found.correlation.value or 0, 3) == 0.577
    assert found.not_judged == "too_few" and not found.flagged and found.p is None


def test_a_punished_marker_is_flagged_too() -> None:
    # both hedged replies fail and both others pass: r = -1; the peer looks at positive correlations only
    found = findings("PEER-BUG negative correlation never flagged")["hedging"]
    assert (found.correlation.squared, found.correlation.sign, found.lean, found.flagged) == (1, -1, -1, True)
    # of the 6 ways to give two passes to four replies, 2 are as far from even: p = 1/3, so it is flagged and not shown
    assert found.p is not None and found.p.exact == exact_number(1) / 3 and not found.shown


def test_a_phrase_inside_a_word_is_no_phrase() -> None:
    # "independentit depends" holds the letters of "it depends" and not the words
    found = findings("PEER-BUG substring hits inside words")["hedging"]
    assert found.counts["marked"] == 0 and found.not_judged == "none_has_it"


def test_every_case_of_the_peer_is_checked_here() -> None:
    assert len([name for name in CASES if "PEER-BUG" in name]) == 4 and len(CASES) == 6


@pytest.mark.parametrize("case", PEER["length"], ids=lambda case: case["name"])
def test_lengths_and_cut_off_replies_as_the_peer_counts_them(case: dict[str, Any]) -> None:
    length, expected = report_of(case).length, case["out"]
    assert (length["replies"], length["cut_off"], length["tasks_with_several"], length["tasks_with_wide_spread"], length["wide_spread"]) == (
        expected["n"], expected["n_truncated"], expected["n_groups_multi"], expected["n_groups_wide_spread"], expected["max_spread"],
    )
    if case["rows"]:
        assert (sum(length["middle"]) / 2, length["longest"]) == (expected["median_chars"], expected["max_chars"])
    else:
        # of no replies there is no median and no longest; the peer writes 0, ours says that there is none
        assert (length["middle"], length["longest"]) == (None, None)


def test_which_replies_are_cut_off() -> None:
    # long without an end; ended; said to be cut; ended. One by one, as each case of the peer lists them
    case = PEER["length"][0]
    assert [report_of({"rows": [row]}).length["cut_off"] == 1 for row in case["rows"]] == case["truncated"]
