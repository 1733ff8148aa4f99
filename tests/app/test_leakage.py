"""Leaks and style: the holdout in the pairs, near-duplicates, the style of both sides; every state that the reports can be in."""
from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from streamlit.testing.v1 import AppTest
from support_desk import desk as new_desk
from support_leakage import ANSWER, ASK, HOLDOUT, TASK, leaky_rows, leaky_workspace, stored
from support_pages import HOSTILE, ROOT, workspace_of
from support_rounds import pair
from support_sheets import follow, links, open_page, said, sheets, table

from core.errors import RoundError
from core.gates.contamination import contamination_of
from core.grid import default_grid, shipped_grids
from core.rounds.workspace import Workspace
from core.text import visible
from dashboard import leakage_loaders
from dashboard.server import WORKSPACE_VARIABLE

IFEVAL, CLEAN_DEMO = "ifeval-4o", "smollm2-rpo"
REPORT = "These are reports: under this grid no check reads them, and no pair is rejected for what they find."


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    place = tmp_path_factory.mktemp("leakage")
    workspace = leaky_workspace(place)
    many = [pair(pair_id=f"m{at:03}", prompt=f"Count up to {at}, please, and then count down again.", chosen=f"{at} {'!' * at}") for at in range(12)]
    stored(workspace, place, "alike", [*many, *similar_rows()], HOLDOUT)
    stored(workspace, place, "hostile", [pair(pair_id="h", prompt=f"{ASK} {HOSTILE}", chosen=HOSTILE), pair(pair_id="x", prompt=ASK)], HOLDOUT)
    return workspace


@pytest.fixture
def rounds(made: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv(WORKSPACE_VARIABLE, str(made.root))
    return made


def similar_rows() -> list[dict[str, Any]]:
    """Two clusters. ``a`` and ``b`` have 9 words, so 7 shingles of 3, of which the last differs: 6 of 8, under 0.8; ``c`` and ``d`` have 13
    words and 11 shingles, of which the last differs: 10 of 12, at least 0.8; ``e`` is ``c`` word for word."""
    long = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu"
    return [
        pair(pair_id="a", prompt="one two three four five six seven eight nine", chosen="A."),
        pair(pair_id="b", prompt="one two three four five six seven eight ten", chosen="B, b."),
        pair(pair_id="c", prompt=f"{long} nu", chosen="C; c."), pair(pair_id="d", prompt=f"{long} xi", chosen="D: d."),
        pair(pair_id="e", prompt=f"{long} NU!", chosen="E\ne.", policy_logp_chosen=-40.0),
    ]


def page(name: str, **params: str) -> AppTest:
    at = open_page("leakage.py", round=name, **params)
    assert not at.exception
    return at


def marks(at: AppTest, key: str) -> list[str]:
    """The stretches that are marked as shared in a sheet."""
    return [piece["t"] for block in sheets(at)[key] if block["k"] == "text" for piece in block["pieces"] if piece["c"] == "shared"]


def finding(at: AppTest) -> str:
    (key,) = {key.removesuffix("-left") for key in sheets(at) if key.startswith("finding-") and key.endswith("-left")}
    return key


# contamination


def test_the_headline_counts_admitted_pairs_first_and_says_that_nothing_is_rejected(rounds: Workspace) -> None:
    at = page("leaky")
    assert said(at, "headline-leakage").split("\n") == ["6 of 7 pairs repeat the locked holdout: 3 admitted, 1 held, 2 rejected", REPORT]
    text = said(at, "found")
    # the items ask, task and haiku are hit, unused is not
    assert "3 of 4 locked items are in the pairs." in text and "The grid lets 0 pass (max_contaminated_items)" in text
    assert "runs of 8 words, 0.8 of either text" in text and "the registered one" in text and "grid default v3" in text


def test_counts_by_rule_and_field_open_their_lists(rounds: Workspace) -> None:
    at = page("leaky")
    assert [row[:5] for row in table(at, "found")] == [
        ["Same task id", "0", "0", "0", "1"], ["Equal words", "3", "0", "0", "0"], ["Made of the locked text", "0", "1", "0", "0"],
        ["Holds the locked text", "1", "0", "0", "0"],
    ]
    assert links(at, "found")["3"] == ("leakage", {"rule": "exact", "place": "prompt"})
    narrowed = page("leaky", rule="exact", place="prompt")
    assert [row[0] for row in table(narrowed, "findings")] == ["asked", "chat", "held"]
    assert said(narrowed, "filter").startswith("3 listed: equal words, prompt")
    assert [row[0] for row in table(follow(at, "rejected pairs 2", "filter"), "findings")] == ["task", "within"]


def test_the_list_has_the_admitted_pairs_first_with_both_coverages(rounds: Workspace) -> None:
    rows = table(page("leaky"), "findings")
    assert [row[0] for row in rows] == ["asked", "chat", "answer", "held", "task", "within"]
    assert rows[2] == ["answer", "admitted", "Chosen", "Made of the locked text", "14 of 17", "14 of 14", "ask"]
    # LONG has 25 words besides the 14 of ASK
    assert rows[5] == ["within", "rejected", "Prompt", "Holds the locked text", "14 of 39", "14 of 14", "ask"]
    assert rows[4][4:] == ["no text", "no text", "task"]


@pytest.mark.parametrize(("pair_id", "field", "mine", "theirs"), [
    ("asked", "prompt", ASK.upper(), ASK), ("answer", "chosen", ANSWER, ANSWER), ("chat", "prompt", ASK, ASK), ("within", "prompt", ASK, ASK),
])
def test_an_open_finding_marks_the_shared_words_of_both_texts(rounds: Workspace, pair_id: str, field: str, mine: str, theirs: str) -> None:
    at = page("leaky", pair=pair_id, at=field)
    key = finding(at)
    assert marks(at, f"{key}-left") == [mine] and marks(at, f"{key}-right") == [theirs]
    assert said(at, key).startswith(pair_id) and links(at, key)["open the pair"][1]["pair"] == pair_id


def test_a_task_id_opens_both_texts_unmarked(rounds: Workspace) -> None:
    at = follow(page("leaky"), "task", "findings")
    key = finding(at)
    assert "task id at scenario_id" in said(at, f"{key}-left") and TASK in said(at, f"{key}-right")
    assert marks(at, f"{key}-left") == marks(at, f"{key}-right") == []


def test_a_finding_that_is_not_there_is_said_and_the_first_is_open(rounds: Workspace) -> None:
    at = page("leaky", pair="clean", at="prompt")
    assert said(at, "no-finding") == "clean has no such finding. The first of the list is shown."
    assert said(at, finding(at)).startswith("asked")
    nothing = page("leaky", state="rejected", rule="exact")
    assert said(nothing, "state-findings").startswith("No finding matches.")
    assert table(page("leaky", rule="nonsense", place="../x"), "findings")[0][0] == "asked"


def test_a_clean_round_says_so_and_what_was_not_applied(rounds: Workspace) -> None:
    at = page("clean")
    assert said(at, "headline-leakage").startswith("None of 2 pairs repeats the locked holdout")
    text = said(at, "found")
    assert "No locked item is in the pairs: 0 of 4 , under the rules below." in text
    assert "No pair has a task id (task_id, scenario_id, on the row or on a side)." in text
    assert [row[5] for row in table(at, "found")] == ["no", "yes", "yes", "yes"] and "findings" not in sheets(at)


def test_items_that_cannot_be_judged_or_were_not_looked_for_are_listed(rounds: Workspace, tmp_path: Path) -> None:
    items = [{"id": "H1", "prompt": "Nothing of this is there"}, {"id": "17", "prompt": ""}, {"id": "h\u202e3", "prompt": TASK}]
    rows = [pair(pair_id="a", task_id="h1"), pair(pair_id="b", prompt="Other.", chosen="It is.", meta={"task_id": "17"})]
    stored(rounds, tmp_path, "unjudged", rows, items)
    at = page("unjudged")
    assert [row[:5] for row in table(at, "found", "unjudged")] == [["H1", "'h1'", "task_id", "a", "1"], ["17", "'17'", "meta.task_id", "b", "1"]]
    text = said(at, "found")
    assert "0 of 3 locked items are in the pairs; 1 more may be: its id stands there in another form." in text and "exits with 3" in text
    assert "1 item not looked for by a text" in text and "17 : it has no text to look for." in text
    assert "1 locked item is known by a bare number: it is looked for where a pair declares its task, and no deeper." in text
    # the number, the blank text, the texts of fewer than 8 words
    assert [row[5] for row in table(at, "found", "rules")] == ["in part", "in part", "in part", "yes"]


def test_hostile_texts_are_text(rounds: Workspace) -> None:
    at = page("hostile", pair="h", at="prompt")
    (left,) = [block for block in sheets(at)[f"{finding(at)}-left"] if block["k"] == "text"]
    assert "".join(piece["t"] for piece in left["pieces"]) == visible(f"{ASK} {HOSTILE}") and marks(at, f"{finding(at)}-left") == [ASK]
    assert not at.markdown or all("127.0.0.1" not in one.value for one in at.markdown)


# states


def test_without_pairs_without_rows_and_without_a_holdout(rounds: Workspace) -> None:
    assert said(page("no-pairs"), "headline-leakage") == "This round has no pairs"
    empty = page("no-rows")
    assert said(empty, "headline-leakage") == "No pair came in" and "The part was supplied and is empty." in said(empty)
    bare = page("no-holdout")
    assert said(bare, "headline-leakage").startswith("This round has no holdout that its pairs could repeat")
    assert "--against FILE" in said(bare, "state-contamination")
    assert "similar" in sheets(bare) and "markers" in sheets(bare)


def test_a_large_round_waits_for_somebody_to_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = new_desk(tmp_path)
    source = stored(desk.workspace, tmp_path, "leaky", leaky_rows(), HOLDOUT)
    monkeypatch.setenv(WORKSPACE_VARIABLE, str(desk.workspace.root))
    monkeypatch.setattr(leakage_loaders, "_AT_ONCE", 6)
    at = page("leaky")
    assert said(at, "headline-leakage").startswith("Nobody has looked for the holdout in these pairs yet")
    short = source.digest[:12]
    for key, command in (("contamination", "contamination"), ("similar", "similar"), ("style", "style")):
        assert f"Run countersign {command} {short}" in said(at, f"state-{key}") and "7 pairs" in said(at, f"state-{key}")
    assert not (desk.workspace.root / "leakage").exists()
    at = at.button(key="compute_contamination").click().run()
    assert said(at, "headline-leakage").startswith("6 of 7 pairs") and "state-similar" in sheets(at)
    at = at.button(key="compute_similar").click().run()
    at = at.button(key="compute_style").click().run()
    assert "markers" in sheets(at) and "similar" in sheets(at) and not any(key.startswith("state-") for key in sheets(at))


def test_what_the_command_line_stored_is_shown_and_not_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = new_desk(tmp_path)
    source = stored(desk.workspace, tmp_path, "leaky", leaky_rows(), HOLDOUT)
    contamination_of(desk.workspace, source, default_grid())
    monkeypatch.setenv(WORKSPACE_VARIABLE, str(desk.workspace.root))
    monkeypatch.setattr(leakage_loaders, "_AT_ONCE", 0)
    assert said(page("leaky"), "headline-leakage").startswith("6 of 7 pairs repeat the locked holdout: 3 admitted")


def test_a_grid_of_an_earlier_schema_is_named_with_what_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = new_desk(tmp_path)
    source = stored(desk.workspace, tmp_path, "leaky", leaky_rows(), HOLDOUT)
    (earlier,) = (grid for grid in shipped_grids().values() if grid.schema_version == 2)
    desk.propose(source, grid=earlier)
    monkeypatch.setenv(WORKSPACE_VARIABLE, str(desk.workspace.root))
    at = page("leaky")
    assert said(at, "headline-leakage").startswith("This round's grid does not say how to look for the holdout")
    # schema 2 has max_contaminated_items
    assert "is of schema 2 and lacks contamination_ngram_words, contamination_coverage." in said(at, "state-contamination")
    assert "A grid of schema 3 has them." in said(at, "state-contamination") and "--grid FILE" in said(at, "state-contamination")
    assert "lacks near_duplicate_jaccard, near_duplicate_shingle_words." in said(at, "state-similar")
    assert "nothing is flagged: this grid has no style_correlation" in said(at, "markers")


def test_a_report_that_cannot_be_read_is_said_and_the_other_sections_stand(rounds: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RoundError("part_unreadable", expected="a report", got="half of one", remedy="remove the folder")

    monkeypatch.setattr(leakage_loaders, "stored_contamination", broken)
    at = page("leaky")
    assert said(at, "headline-leakage").startswith("The contamination report cannot be read")
    assert "expected a report ; got half of one." in said(at, "error-contamination") and "markers" in sheets(at)


# near-duplicates


def test_clusters_with_what_became_of_their_pairs(rounds: Workspace) -> None:
    at = page("alike")
    # twelve prompts that differ in a number: 10 words, 8 shingles, 3 of which hold the number; 5 of 11 are shared, so no cluster
    assert "3 of 17 prompts are near-duplicates (17.65 %): 2 admitted, 1 rejected." in said(at, "similar")
    assert "1 cluster; the largest has 3. 1 cluster has two or more admitted pairs" in said(at, "similar")
    assert [row[:7] for row in table(at, "clusters")] == [["1", "3", "3", "2", "0", "1", "5/6 0.8333"]]


def test_two_texts_of_a_cluster_side_by_side(rounds: Workspace) -> None:
    at = page("alike", cluster="1")
    assert said(at, "members").split() == ["Cluster", "1:", "c", "admitted", "beside", "d", "admitted", "e", "rejected"]
    assert said(at, "cluster-lead").startswith("Similarity 5/6, 0.8333; letter case, punctuation and system turns do not count. Passages that")
    other = follow(at, "e", "members")
    assert other.query_params["beside"] == ["e"] or other.query_params["beside"] == "e"
    assert said(other, "cluster-lead").startswith("Similarity 1; letter case, punctuation and system turns do not count. Passages that")
    assert table(page("alike", cluster="9"), "clusters") == table(page("alike", cluster="x"), "clusters")


def test_another_field_is_chosen_in_the_url(rounds: Workspace) -> None:
    at = page("alike").button_group(key="similar_field").set_value("Rejected answers").run()
    assert at.query_params["field"] in (["rejected"], "rejected")
    # every rejected answer is "No."
    assert "17 of 17 rejected answers are near-duplicates (100 %)" in said(at, "similar")
    assert "The two texts are the same, character for character." in said(at, "cluster-lead")


def test_what_is_open_in_one_section_stays_when_another_is_used(rounds: Workspace) -> None:
    at = page("leaky", pair="answer", at="chosen", state="admitted", field="rejected", of="all")
    params = links(at, "findings")["chat"][1]
    assert params == {"pair": "chat", "at": "prompt", "state": "admitted", "field": "rejected", "of": "all"}


def test_prompts_are_compared_without_their_system_turns(rounds: Workspace) -> None:
    # the prompt of "asked" and the user turn of "chat" have the same words
    assert "2 of 7 prompts are near-duplicates (28.57 %): 2 admitted." in said(page("leaky"), "similar")
    assert "No prompt is a near-duplicate of another: 2 compared." in said(page("clean"), "similar")


# style


def test_style_of_the_admitted_pairs_and_of_all(rounds: Workspace) -> None:
    at = page("leaky")
    assert "4 pairs; phrase table 1 (en)" in said(at, "markers")
    assert [row[1:5] for row in table(at, "markers")] == [["0", "0", "0", "4"]] * 6
    assert "No marker could be judged, so nothing is known about what the style of these pairs would teach." in said(at, "markers")
    assert said(at, "markers").count("not judged") == 6 and "Not judged: stock phrases, hedging" in said(at, "markers")
    at = at.button_group(key="style_of").set_value("All pairs").run()
    assert "7 pairs; phrase table 1 (en)" in said(at, "markers") and at.query_params["of"] in (["all"], "all")


def test_lengths_add_up(rounds: Workspace) -> None:
    # the rejected answer is "No." (3 characters), "No" (2) for the chat whose chosen answer is "Yes" (3): all four chosen answers are longer
    text = said(page("leaky"), "section-lengths")
    assert "Chosen is longer 4 of 4 100 %" in text and "As long 0 of 4" in text


# real rounds


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    workspace = workspace_of(tmp_path_factory.mktemp("demo"), IFEVAL, CLEAN_DEMO)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(WORKSPACE_VARIABLE, str(workspace.root))
        yield workspace


def test_the_demo_round_holds_prompts_of_its_own_holdout(demo: Workspace) -> None:
    folder = ROOT / "data" / "rounds" / IFEVAL
    locked = {item["prompt"] for item in json.loads((folder / "holdout.json").read_text("utf-8"))}
    rows = pq.read_table(folder / "pairs.parquet", columns=["pair_id", "prompt"]).to_pylist()
    equal = {row["pair_id"] for row in rows if row["prompt"] in locked}
    at = page(IFEVAL)
    assert said(at, "headline-leakage").startswith(f"{len(equal)} of {len(rows)} pairs repeat the locked holdout: 1 admitted, 20 held, 5 rejected")
    listed = table(at, "findings")
    assert {row[0] for row in listed} == equal
    # the task_id of these pairs is the item's number, and the holdout is known by these numbers
    assert Counter(row[3] for row in listed) == {"Equal words": 26, "Same task id": 26}
    assert Counter(row[1] for row in listed if row[3] == "Equal words") == {"admitted": 1, "held": 20, "rejected": 5}
    # an admitted pair's page says the same state
    assert links(at, finding(at))["open the pair"] == ("rejected", {"state": "admitted", "pair": listed[0][0]})


def test_the_demo_teaches_a_stock_phrase(demo: Workspace) -> None:
    rows = pq.read_table(ROOT / "data" / "rounds" / CLEAN_DEMO / "pairs.parquet", columns=["chosen", "rejected"]).to_pylist()
    happy = {side: sum("i'd be happy to" in row[side].lower().replace("\u2019", "'") for row in rows) for side in ("chosen", "rejected")}
    at = page(CLEAN_DEMO, of="all")
    assert said(at, "headline-leakage").startswith("None of 576 pairs repeats the locked holdout")
    assert "Stock phrases: the chosen sides have more of it, shown (p < .0001). Training on these pairs would teach it." in said(at, "markers")
    (phrases,) = [block for block in sheets(at)["markers"] if block.get("id") == "phrases"]
    cells = [[span["t"].strip() for span in cell["spans"]] for cell in phrases["rows"][0]["cells"]]
    assert [cell[:2] for cell in cells[1:]] == [["i'd be happy to", str(happy[side])] for side in ("chosen", "rejected")]
    assert happy["chosen"] > happy["rejected"]
