"""Judges: may each judge's synthetic pairs be used? One card a judge, closed gates first; every cell opens its cases."""
from __future__ import annotations

from core.gates.judge_words import NO_JUDGES
from core.settings import SETTINGS
from dashboard import components, frame, judge_card, navigation, overview_view, theme_watch

view = frame.open_round("judges")
judges = overview_view.by_state(view.document)

components.headline("judges", judge_card.headline_words(view.document), lead=judge_card.evidence(view.document) if judges else None)
if not judges:
    components.state_notice(
        "judges", "incomplete", NO_JUDGES,
        "Without them no synthetic pair can be used, and no receipt can be written: ask the proposer for the calibration records.",
    )
many = len(judges) > SETTINGS["dashboard"]["cards_at_once"]
if many:
    # a dozen cards cannot be read at once: the table is the index, and one card is open
    named = navigation.view("judge")
    judges = [pair for pair in judges if pair[0] == named] or judges[:1]
    components.section("index", "All judges", overview_view.judges_table(view.document, judges[0][0]))
for judge_id, judge in judges:
    judge_card.draw(view, judge_id, judge, alone=many or len(judges) == 1)
theme_watch.watch()
