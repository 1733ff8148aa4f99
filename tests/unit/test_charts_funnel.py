"""The funnel adds up, step by step and in its sentence."""
from __future__ import annotations

import json

from core.rounds.queries import StateCounts
from core.schemas import REASONS
from dashboard.funnel_chart import Step, funnel, funnel_sentence, funnel_steps
from dashboard.palette import palette

COUNTS = StateCounts(admitted=12, rejected=538, held=22, quarantined=3)
ROWS = [{"reason": reason, "primary_pairs": pairs} for reason, pairs in zip(REASONS, (6, 0, 52, 82, 398, 0), strict=True)]


def test_each_step_takes_its_rows_off_and_the_last_is_what_is_left() -> None:
    steps = funnel_steps(COUNTS, ROWS)
    # 575 - 3 - 22 - 6 - 0 - 52 - 82 - 398 - 0 = 12
    assert [step.left for step in steps] == [575, 572, 550, 544, 544, 492, 410, 12, 12, 12]
    assert steps[0] == Step("In", "in", 575, 575) and steps[-1] == Step("Admitted", "admitted", 12, 12)
    assert steps[-2].left == steps[-1].rows


def test_the_figure_places_each_bar_where_its_rows_leave() -> None:
    drawn = json.loads(funnel(funnel_steps(COUNTS, ROWS), palette("light")).to_json())
    (bars,) = drawn["data"]
    ends = dict(zip(bars["y"], zip(bars["base"], bars["x"], strict=True), strict=True))
    assert ends["Held"] == (550, 22) and ends["Chosen log-prob collapsed"] == (12, 398) and ends["Admitted"] == (0, 12)
    notes = {note["y"]: note["text"] for note in drawn["layout"]["annotations"]}
    assert notes["Length bias"] == "−82 → 410" and notes["Unverified"] == "0" and notes["In"] == "<b>575</b>"


def test_the_sentence_names_every_term() -> None:
    assert funnel_sentence(COUNTS, ROWS) == (
        "575 in = 12 admitted + 538 rejected + 22 held + 3 quarantined. Rejected by first reason: invalid record 6 + unverified 0 + "
        "margin not positive 52 + length bias 82 + chosen log-prob collapsed 398 + duplicate 0 = 538."
    )
