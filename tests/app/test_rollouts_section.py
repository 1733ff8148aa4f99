"""Leaks and style: the section about pairs from rollouts, in every state that it can be in."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from support_pages import HOSTILE
from support_rollouts import PROMPTS, YES, compared_round, row
from support_rounds import NOW, ROUND, folder_of, pair, workspace_at
from support_sheets import follow, links, open_page, said, sheets, table

from core.gates.rollout_report import rollouts_of
from core.grid import default_grid
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace
from core.text import visible
from dashboard import leakage_loaders, rollouts_view
from dashboard.server import WORKSPACE_VARIABLE

GOOD = [row("t", 0, "yes", 1), row("t", 1, "no", 0)]
MADE = pair(pair_id="t/0/1", task_id="t", prompt="About t?", chosen="yes", rejected="no")


def stored(place: Path, name: str, parts: dict[str, list[Any]]) -> None:
    ingest(folder_of(place / name, parts, about=ROUND | {"round_id": name}), workspace_at(place), now=NOW)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    place = tmp_path_factory.mktemp("rollouts")
    compared_round(place)
    stored(place, "equal", {"pairs": [MADE], "rollouts": GOOD})
    stored(place, "bare", {"pairs": [MADE]})
    stored(place, "no-pairs", {"rollouts": GOOD})
    stored(place, "no-rows", {"rollouts": GOOD, "pairs": []})
    stored(place, "hostile", {
        "pairs": [pair(pair_id="h", task_id=HOSTILE, prompt="About t?", chosen="yes", rejected="no")],
        "rollouts": [row(HOSTILE, 0, "yes", 1, judge_id=HOSTILE), row(HOSTILE, 1, HOSTILE, 0, judge_id=HOSTILE)],
    })
    return workspace_at(place)


@pytest.fixture(autouse=True)
def rounds(made: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv(WORKSPACE_VARIABLE, str(made.root))
    return made


def page(name: str, **params: str) -> AppTest:
    at = open_page("leakage.py", round=name, **params)
    assert not at.exception
    return at


def test_rewards_of_the_holdout_come_first_and_open_their_pairs() -> None:
    """h (graded by gold) and i (an item of the holdout) are admitted, as all of this round's pairs are."""
    at = page("compared")
    text = said(at, "rollouts-found")
    assert text.index("2 of 11 pairs of this round have a rollout") < text.index("4 of 11 pairs are what the rule makes of the rollouts")
    assert "belongs to the holdout: 2 admitted." in text and "graders or sources gold" in text
    assert [one[:2] for one in table(follow(at, "See these pairs", "rollouts-found"), "compared")] == [["h/0/1", "admitted"], ["i/0/1", "admitted"]]


def test_the_tables_reconcile() -> None:
    at = page("compared")
    where = {cells[0]: int(cells[1]) for cells in table(at, "rollouts-left")}
    assert where.pop("In all") == 25 == sum(where.values()) and where["In a pair"] == 20
    found = [block for block in sheets(at)["rollouts-found"] if block["k"] == "table"]
    assert len(found) == 1
    assert [cells[:2] for cells in table(at, "rollouts-found")] == [
        ["Made by the rule", "4"], ["Changed after pairing", "2"], ["Sides exchanged", "1"], ["Not made by the rule", "4"],
        ["Lacking in the round", "3"],
    ]
    facts = said(at, "rollouts-right").split("\n")[0]
    for figure in ("Tasks seen 12", "Tasks with contrast 10", "Chosen is longer 8 of 10, 80 %",
                   "Median difference 2 characters, chosen less rejected", "no pair whose sides both name one",
                   "Mean difference 0.6 characters", "First turns differ 10 of 10", "gold (2), unit-tests (22)"):
        assert figure in facts.replace("  ", " ")


def test_a_count_opens_its_list_and_a_pair_its_texts() -> None:
    at = page("compared")
    assert [cells[0] for cells in table(at, "compared")][:3] == ["h/0/1", "i/0/1", "c/0/1"] and len(table(at, "compared")) == 12
    lacking = page("compared", made="lacking")
    assert [cells[:2] for cells in table(lacking, "compared")] == [[f"{task}/0/1", "not in the round"] for task in "fgj"]
    assert said(lacking, "compared-filter").startswith("3 pairs: lacking in the round")
    assert links(at, "compared")["own"] == ("rejected", {"state": "admitted", "pair": "own"})
    assert len(table(follow(lacking, "all that differ", "compared-filter"), "compared")) == 12
    # what means nothing is all of them
    assert len(table(page("compared", made="same"), "compared")) == 12


def test_equal_pairs_are_said_to_be_equal_and_nothing_is_listed() -> None:
    at = page("equal")
    assert "The only pair is what the rule makes of 2 rollouts." in said(at, "rollouts-found")
    assert "compared" not in sheets(at) and "no locked item; no grader declared" in said(at, "rollouts-found")


def test_curation_leads_here_where_there_are_rollouts() -> None:
    at = open_page("curation.py", round="compared")
    assert "carries the 25 rollouts of its pairs" in said(at, "rollouts-pointer") and links(at, "rollouts-pointer")
    assert "rollouts-pointer" not in sheets(open_page("curation.py", round="bare"))


def test_a_round_without_rollouts_says_so_in_one_quiet_line() -> None:
    at = page("bare")
    assert said(at, "no-rollouts") == rollouts_view.NO_ROLLOUTS and "section-rollouts" not in sheets(at)


@pytest.mark.parametrize(("name", "words"), [
    ("no-pairs", "The rule makes 1 pair of 2 rollouts; the round has no pairs to compare."),
    ("no-rows", "The round has no pair, and the rule makes 1 pair of 2 rollouts."),
])
def test_rollouts_without_pairs_are_still_reported(name: str, words: str) -> None:
    assert words in said(page(name), "rollouts-found")


def test_hostile_names_are_shown_as_text() -> None:
    at = page("hostile")
    assert visible(HOSTILE).split("\n")[0][:20] in said(at, "rollouts-right")
    assert all(node.proto.component_name == "countersign_sheet" for node in at.get("bidi_component"))


def test_many_rollouts_wait_for_somebody_to_ask(rounds: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(rounds.root.parent, "many", {"pairs": [MADE], "rollouts": [*GOOD, row("t", 2, "nope", 0)]})
    monkeypatch.setattr(leakage_loaders, "_ROLLOUTS_AT_ONCE", 2)
    at = page("many")
    assert "3 rollouts are too many to pair while a page waits" in said(at, "state-rollouts") and "rollouts-found" not in sheets(at)
    at.button(key="compute_rollouts").click().run()
    assert not at.exception and "The only pair is what the rule makes of 3 rollouts" in said(at, "rollouts-found")
    # it was kept: nobody has to ask again
    assert "rollouts-found" in sheets(page("many"))


def test_the_page_shows_the_report_of_the_command_line(rounds: Workspace) -> None:
    document = rollouts_of(rounds, rounds.round("compared"), default_grid()).document
    assert document["rows"] == 25 and f"{document['comparison']['same']} of 11 pairs" in said(page("compared"), "rollouts-found")
    assert set(YES) == set(PROMPTS)
