"""Overview and Holdout: what a reviewer has to know of the pairs and no check reads."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from support_leakage import HOLDOUT, clean_rows, leaky_workspace, stored
from support_pages import cut_rows
from support_rollouts import compared_round, row
from support_rounds import NOW, ROUND, folder_of, pair, workspace_at
from support_sheets import follow, links, open_page, said, sheets, table

from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace
from dashboard import leakage_loaders
from dashboard.server import WORKSPACE_VARIABLE

KEY = "section-unchecked"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    place = tmp_path_factory.mktemp("unchecked")
    workspace = leaky_workspace(place)
    compared_round(place)
    good: dict[str, list[Any]] = {
        "pairs": [pair(pair_id="t/0/1", task_id="t", prompt="About t?", chosen="yes", rejected="no")],
        "rollouts": [row("t", 0, "yes", 1), row("t", 1, "no", 0)],
    }
    ingest(folder_of(place / "equal", good, about=ROUND | {"round_id": "equal"}), workspace, now=NOW)
    for length in (12, 100):
        cut = {"round_id": f"cut-{length}", "training_cutoff": {"length": length, "counts": "completion_characters"}}
        ingest(folder_of(place / f"cut-{length}", {"pairs": cut_rows()}, about=ROUND | cut), workspace, now=NOW)
    return workspace


@pytest.fixture(autouse=True)
def rounds(made: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKSPACE_VARIABLE, str(made.root))


def page(name: str, file: str = "overview.py") -> AppTest:
    at = open_page(file, round=name)
    assert not at.exception
    return at


def facts(name: str) -> dict[str, str]:
    """Value by label, as the Overview has them."""
    (block,) = [block for block in sheets(page(name))[KEY] if block["k"] == "facts"]
    return {label[0]["t"]: " ".join(" ".join(span["t"] for span in value).split()) for label, value in block["rows"]}


def test_leaks_of_admitted_pairs_are_marked_and_lead_to_the_page() -> None:
    """Of seven pairs all but one repeat the holdout: asked, answer and chat are admitted, held is held, within and task rejected."""
    found = facts("leaky")
    assert found["Holdout in the pairs"] == "look 6 of 7 pairs repeat the locked holdout: 3 admitted, 1 held, 2 rejected. See these pairs"
    assert found["Pairs from rollouts"].startswith("This round carries no rollouts")
    assert found["Training cut-off"].startswith("None is declared")
    assert len(table(follow(page("leaky"), "See these pairs", KEY), "findings")) == 6


def test_what_is_in_order_is_said_too() -> None:
    assert facts("clean")["Holdout in the pairs"].startswith("clean None of 2 pairs repeats the locked holdout.")
    assert facts("no-holdout")["Holdout in the pairs"] == "This round has no holdout that its pairs could repeat."
    assert facts("equal")["Pairs from rollouts"] == "equal The only pair is what the rule makes of 2 rollouts. See which"
    assert facts("cut-100")["Training cut-off"].startswith("none equal Training keeps the first 100 characters of each answer: no admitted pair")


def test_pairs_that_differ_from_the_rollouts_and_rewards_of_the_holdout_are_marked() -> None:
    found = facts("compared")["Pairs from rollouts"]
    assert found.startswith("look 4 of 11 pairs are what the rule makes of the rollouts")
    assert "2 admitted pairs have a reward of the holdout." in found


def test_pairs_that_the_cut_off_makes_equal_are_marked() -> None:
    found = facts("cut-12")["Training cut-off"]
    assert found.startswith("look Training keeps the first 12 characters of each answer: that makes chosen and rejected equal in 2 of 3")
    assert links(page("cut-12"), KEY)["See the cut-off"][0] == "curation"


def test_a_round_without_pairs_has_no_such_section() -> None:
    assert KEY not in sheets(page("no-pairs")) and KEY not in sheets(page("no-rows"))


def test_a_large_round_is_not_looked_through_while_the_overview_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = workspace_at(tmp_path)
    stored(workspace, tmp_path, "large", clean_rows(), HOLDOUT)
    monkeypatch.setenv(WORKSPACE_VARIABLE, str(workspace.root))
    monkeypatch.setattr(leakage_loaders, "is_quick", lambda view: False)
    assert facts("large")["Holdout in the pairs"] == "not known Nobody has looked for the holdout in these pairs yet. Look for it"


def test_the_holdout_page_says_beside_the_lock_whether_the_pairs_repeat_it(made: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It computes nothing itself: where no other page has looked, it says so."""
    page("leaky")
    text = said(page("leaky", "holdout.py"), "section-lock")
    assert "In the pairs look 6 of 7 pairs repeat the locked holdout: 3 admitted, 1 held, 2 rejected." in text.replace("  ", " ")
    workspace = workspace_at(tmp_path)
    stored(workspace, tmp_path, "fresh", clean_rows(), HOLDOUT)
    monkeypatch.setenv(WORKSPACE_VARIABLE, str(workspace.root))
    assert "Nobody has looked for the holdout in these pairs yet." in said(page("fresh", "holdout.py"), "section-lock")
    assert not (workspace.root / "leakage").exists()


def test_curation_gives_the_answer_once_somebody_has_looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = compared_round(tmp_path)
    monkeypatch.setenv(WORKSPACE_VARIABLE, str(source.path.parents[1]))
    asked = "Are the pairs what the rule makes of them?"
    assert asked in said(page("compared", "curation.py"), "rollouts-pointer")
    page("compared", "leakage.py")
    text = said(page("compared", "curation.py"), "rollouts-pointer")
    assert asked not in text and "4 of 11 pairs are what the rule makes of the rollouts" in text
