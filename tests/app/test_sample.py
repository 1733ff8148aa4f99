"""The Sample page: a person, a plan, one pair at a time with nothing beside it, and the result at the end."""
from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from support_desk import desk as new_desk
from support_pages import HOSTILE
from support_rounds import WORKED_EXAMPLE, folder_of, pair
from support_sampling import BEN, NOW, SEED, good_rows, judged
from support_sheets import follow, links, open_page, said, sheets, table

from core.gates.assessment import load_or_assess
from core.grid import default_grid, load_grid
from core.grid.document import EARLIER_GRID_PATHS
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace
from core.sampling import Population, Review, sampling_coverage
from core.text import visible
from dashboard import navigation, sample_actions
from dashboard.server import WORKSPACE_VARIABLE

EVA = "eva@example.org"
ROWS = {
    "good": good_rows(30), "none": [pair(chosen="Yes.", rejected="Yes.")],
    "hostile": [pair(pair_id=f"h-{HOSTILE}", prompt=HOSTILE, chosen=f"a {HOSTILE}", rejected=f"b {HOSTILE}")],
}
TOLD = ("p0", "chosen", "rejected", "admitted", "Promote", "Refuse", "margin", "drift", "loss", "kappa", "defect", "verifier", "rank")
"""What must not be on the screen while somebody judges: ids, figures, words of the engine."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sample")
    desk = new_desk(place)
    for name, rows in ROWS.items():
        about = {"schema_version": 1, "round_id": name, "proposers": ["worker-curator-01"]}
        ingest(folder_of(place / name, {"pairs": rows}, about=about), desk.workspace, now=NOW)
    ingest(WORKED_EXAMPLE, desk.workspace, round_id="older-grid", now=NOW)
    desk.propose(desk.workspace.round("older-grid"), grid=load_grid(EARLIER_GRID_PATHS[-1]))
    ingest(Path(__file__).parents[2] / "data" / "rounds" / "judges", desk.workspace, now=NOW)
    load_or_assess(desk.workspace, desk.workspace.round("good"), default_grid())
    return desk.workspace.root


@pytest.fixture(autouse=True)
def root(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = tmp_path / "workspace"
    shutil.copytree(made, copy)
    monkeypatch.setenv(WORKSPACE_VARIABLE, str(copy))
    return copy


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """A clock that goes on by a second at each look; the returned function sets another step."""
    step, now = [1.0], [0.0]

    def tick() -> float:
        now[0] += step[0]
        return now[0]

    monkeypatch.setattr(sample_actions, "clock", tick)
    return lambda seconds: step.__setitem__(0, seconds)


def review_of(root: Path, person: str = BEN, name: str = "good") -> Review:
    workspace = Workspace(root)
    source = workspace.round(name)
    return Review(workspace, Population.of(load_or_assess(workspace, source, default_grid())), default_grid().digest, person)


def visit(person: str | None = BEN, name: str = "good") -> AppTest:
    at = open_page("sample.py", round=name)
    return at if person is None else at.selectbox(key="you_are").set_value(person).run()


def begun(person: str = BEN) -> AppTest:
    at = visit(person)
    return at.button(key="sample_begin").click().run()


def nodes(block: Any) -> Iterator[Any]:
    for child in block.children.values():
        yield child
        if hasattr(child, "children"):
            yield from nodes(child)


def everything(at: AppTest) -> str:
    """All that the page sends to the browser, widgets and keys too; the side bar is the same on every page."""
    # style sheets are the same on every page and name no pair
    drawn = [node for node in nodes(at.main) if node.type != "html"]
    return "\n".join(f"{node.key} {node.proto.json}" if node.type == "bidi_component" else str(node.proto) for node in drawn)


def text_of(at: AppTest, key: str) -> str:
    return "".join(piece["t"] for block in sheets(at)[key] if block["k"] == "text" for piece in block["pieces"])


def click(at: AppTest, choice: str) -> AppTest:
    return at.button(key=f"judge_{choice}").click().run()


# before


def test_the_page_stands_after_the_pairs_and_before_the_holdout() -> None:
    keys = [page.key for page in navigation.available()]
    assert keys.index("rejected") < keys.index("sample") and keys[keys.index("sample") + 1] == "holdout"


def test_it_needs_a_person_and_says_so() -> None:
    at = visit(None)
    assert not at.exception
    assert said(at, "headline-sample").startswith("Judge a sample of the 30 admitted pairs yourself, blind")
    # 23 of 30 at 5 % and 95 %: test_sampling_review; one of 30 is tolerable
    assert "23 pairs without a defect rule out a defect rate above 5 % with 95 % confidence: at most 1 defect in 30." in said(at, "headline-sample")
    assert "nobody is identified here" in said(at, "state-sample") and "nobody is identified" in said(at, "why-not")
    assert at.button(key="sample_begin").disabled


def test_the_plan_is_told_before_it_is_chosen() -> None:
    at = visit()
    assert not at.button(key="sample_begin").disabled and "state-sample" not in sheets(at)
    assert said(at, "plan") == "All 23 pairs are judged. The rate is proven when none is a defect."
    at.segmented_control(key=sample_actions.METHOD).set_value("Step by step").run()
    # two are too many. Look 0 may spend 1/40: (30-n)(29-n)/870 at n = 25 is 20/870. Look 1 has 23.5/870 left: one bad pair among the
    # first 25 and none up to n, 25 (30-n)/435, is at most that at n = 30 only
    assert said(at, "plan").startswith("Ends after 25 pairs when none is a defect, after 30 when at most 1 is; not proven as soon as 2 are.")
    assert "A pair that you skip, or leave unjudged at the end, counts as a defect" in said(at, "section-how")


@pytest.mark.parametrize(("name", "headline", "state"), [
    ("judges", "This round has no pairs", "supplied no candidate pairs"),
    ("none", "No pair was admitted", "A sample is drawn from the admitted pairs"),
    ("older-grid", "This grid says nothing about samples", "No size can be given"),
])
def test_where_there_is_nothing_to_sample_the_page_says_why_and_what_next(name: str, headline: str, state: str) -> None:
    at = visit(name=name)
    assert not at.exception and said(at, "headline-sample") == headline and state in said(at, "state-sample")
    assert "sample_begin" not in [button.key for button in at.button]


def test_a_refused_round_can_be_sampled() -> None:
    at = visit()
    assert "Refuse" in said(at, "status") and not at.button(key="sample_begin").disabled


# judging


def test_nothing_but_the_pair_reaches_the_browser(root: Path) -> None:
    at = begun()
    assert not at.exception
    assert set(sheets(at)) == {"headline-sample", "sample-prompt", "sample-first", "sample-second"}
    shown = everything(at)
    # the texts of these pairs hold none of these words
    assert [word for word in TOLD if word in shown] == []
    sample = review_of(root).sample()
    assert sample is not None and sample.start.seed not in shown and sample.order[0] not in shown
    assert set(at.query_params) == {"round"} and not [node for node in nodes(at.main) if node.type == "selectbox"]
    labels = [button.label for button in at.button if button.key.startswith("judge_")]
    assert labels == ["First", "Second", "Tie", "Both bad", "Skip"]
    assert said(at, "headline-sample") == "Which answer is better? pair 1 of 23"


def test_both_answers_are_shown_word_for_word_on_the_side_of_the_seed(root: Path) -> None:
    at = begun()
    firsts = set()
    for _ in range(8):
        sample = review_of(root).sample()
        assert sample is not None and sample.next_pair is not None
        row = next(row for row in ROWS["good"] if row["pair_id"] == sample.next_pair)
        first = sample.first(sample.next_pair)
        firsts.add(first)
        second = "rejected" if first == "chosen" else "chosen"
        assert (text_of(at, "sample-prompt"), text_of(at, "sample-first"), text_of(at, "sample-second")) == (row["prompt"], row[first], row[second])
        at = click(at, "tie")
    assert firsts == {"chosen", "rejected"}


def test_each_button_stores_its_answer_at_once_and_shows_the_next_pair(root: Path) -> None:
    at = begun()
    choices = ["first", "second", "tie", "both_bad", "skip"]
    for place, choice in enumerate(choices, 2):
        at = click(at, choice)
        assert said(at, "headline-sample").endswith(f"pair {place} of 23")
    sample = review_of(root).sample()
    assert sample is not None and [label.choice for label in sample.labels] == choices
    assert [label.pair_id for label in sample.labels] == list(sample.order[:5])


def test_keys_stand_beside_the_buttons() -> None:
    shown = everything(begun())
    for key in ("1", "2", "3", "4", "s", "u"):
        assert f'shortcut: "{key}"' in shown


def test_a_double_click_labels_once(root: Path, clock: Callable[[float], None]) -> None:
    at = begun()
    clock(0.1)
    # the second half lands on the pair that has just been drawn
    at = click(click(at, "first"), "first")
    sample = review_of(root).sample()
    assert sample is not None and len(sample.labels) == 0      # a tenth of a second after the first pair was drawn, too
    clock(1.0)
    at = click(at, "first")
    clock(0.1)
    at = click(at, "first")
    sample = review_of(root).sample()
    assert sample is not None and len(sample.labels) == 1 and said(at, "headline-sample").endswith("pair 2 of 23")


def test_a_click_on_a_pair_that_has_a_label_changes_nothing(root: Path) -> None:
    one, other = begun(), begun()
    click(one, "first")
    stale = click(other, "second")        # the other window still showed the first pair
    sample = review_of(root).sample()
    assert sample is not None and [label.choice for label in sample.labels] == ["first"]
    assert not stale.exception and said(stale, "headline-sample").endswith("pair 2 of 23")


def test_the_last_answer_can_be_taken_back(root: Path) -> None:
    at = begun()
    assert at.button(key="sample_take_back").disabled
    prompt = text_of(at, "sample-prompt")
    at = click(at, "skip").button(key="sample_take_back").click().run()
    assert text_of(at, "sample-prompt") == prompt and at.button(key="sample_take_back").disabled
    sample = review_of(root).sample()
    assert sample is not None and sample.labels == () and sample.withdrawn == 1


def test_pause_and_a_restart_lose_nothing_and_tell_nothing() -> None:
    at = click(click(begun(), "both_bad"), "skip")
    at = at.button(key="sample_pause").click().run()
    assert said(at, "headline-sample").startswith("2 of 23 pairs judged") and "defect rate is" not in said(at)
    assert "status" in sheets(at)
    fresh = visit()
    assert said(fresh, "headline-sample").startswith("2 of 23 pairs judged")
    fresh = fresh.button(key="sample_begin").click().run()
    assert said(fresh, "headline-sample").endswith("pair 3 of 23") and "status" not in sheets(fresh)


def test_another_person_has_a_sample_of_their_own(root: Path) -> None:
    at = click(begun(), "first")
    at = at.selectbox(key="you_are").set_value(EVA).run()
    assert said(at, "headline-sample").startswith("Judge a sample") and "status" in sheets(at)
    at = at.selectbox(key="you_are").set_value(BEN).run()
    assert len(review_of(root).sample().labels) == 1 and review_of(root, EVA).sample() is None
    assert not at.exception


def test_an_address_without_a_round_does_not_bring_the_frame_back() -> None:
    at = begun()
    del at.query_params["round"]
    at.run()
    assert not at.exception and "status" not in sheets(at) and "sample-first" in sheets(at)


# the end


def complete(root: Path, verdicts: list[str]) -> AppTest:
    review_of(root).start(default_grid(), "fixed", NOW, SEED)
    judged(review_of(root), verdicts)
    return visit()


def test_the_result_comes_only_when_it_is_asked_for_and_then_nothing_changes(root: Path) -> None:
    at = complete(root, ["chosen"] * 22)
    at = click(at.button(key="sample_begin").click().run(), "tie")
    assert said(at, "headline-sample").startswith("The sample is complete: 23 pairs judged") and "status" in sheets(at)
    assert "confidence" not in said(at) and not at.button(key="sample_take_back").disabled
    at = at.button(key="sample_end").click().run()
    assert said(at, "headline-sample") == (
        "0 defects in 23 of 30: the defect rate is at most 3.34 % with 95 % confidence\n"
        "proven The grid asks to rule out a defect rate above 5 %: it is ruled out."
    )
    assert "sample_take_back" not in [button.key for button in at.button]
    assert said(visit(), "headline-sample").startswith("0 defects in 23 of 30")
    assert "None: you found no defect." in said(at, "section-disagreements")


def test_the_result_names_what_was_judged_and_leads_to_the_disagreements(root: Path) -> None:
    at = complete(root, ["chosen"] * 18 + ["rejected", "both_bad", "tie", "skip", "chosen"])
    at = at.button(key="sample_end").click().run()
    assert said(at, "headline-sample").startswith("2 defects and 1 skipped in 23 of 30: ")
    assert "too many" in said(at, "headline-sample")
    assert [row[:2] for row in table(at, "section-counts")] == [
        ["Prefers the chosen answer", "19"], ["Prefers the rejected answer", "1"], ["Both bad", "1"], ["Tie", "1"], ["Skipped", "1"],
    ]
    sample = review_of(root).sample()
    assert table(at, "disagreements") == [[sample.order[18], "Prefers the rejected answer"], [sample.order[19], "Both bad"]]
    assert links(at, "disagreements")[sample.order[19]] == ("rejected", {"state": "admitted", "pair": sample.order[19]})
    opened = follow(at, sample.order[19], "disagreements")
    assert not opened.exception and sample.order[19] in said(opened)
    assert "over 20 pairs: you and the verifier name the same side of 19 of 20, 95 %." in said(at, "section-agreement")
    assert SEED[:12] in said(at, "section-drawn") and "1 sample drawn from this round by this person" in said(at, "section-drawn")


def test_kappa_that_is_undefined_says_why(root: Path) -> None:
    at = complete(root, ["tie"] * 23)
    at = at.button(key="sample_end").click().run()
    assert "Kappa is undefined: the human preferred neither answer" in said(at, "section-agreement")


def test_ending_early_counts_the_rest_as_defects(root: Path) -> None:
    at = complete(root, ["chosen"] * 20)
    assert "3 pairs of the plan would count as defects" in said(at, "early")
    at = at.button(key="sample_end").click().run()
    assert said(at, "headline-sample").startswith("0 defects in 20 of 30, 3 of the sample not judged: ")
    assert table(at, "section-counts")[-1] == ["Not judged", "3", "counted as a defect"]
    workspace = Workspace(root)
    source = workspace.round("good")
    coverage = sampling_coverage(workspace, source, load_or_assess(workspace, source, default_grid()), BEN)
    assert (coverage["state"], coverage["unjudged"]) == ("ended_early", 3)


def test_step_by_step_ends_by_its_rule(root: Path) -> None:
    at = visit()
    at.segmented_control(key=sample_actions.METHOD).set_value("Step by step").run()
    at = at.button(key="sample_begin").click().run()
    assert said(at, "headline-sample").endswith("pair 1 of at most 30")
    at = click(click(at, "skip"), "both_bad")
    assert said(at, "headline-sample").startswith("The sample is complete: 2 pairs judged")
    assert review_of(root).sample().plan.method == "sequential"


def test_a_window_that_was_left_behind_shows_what_another_has_ended(root: Path) -> None:
    at = begun()
    review_of(root).end(NOW)
    at = click(at, "first")
    assert not at.exception and "with no pair left to judge" in said(at, "error-sample")
    assert "not judged" in said(at, "headline-sample") and "status" in sheets(at)


# what must not hurt


def test_hostile_texts_reach_the_page_only_through_sheets() -> None:
    at = visit(name="hostile")
    at = at.button(key="sample_begin").click().run()
    assert not at.exception
    assert visible(HOSTILE) in text_of(at, "sample-prompt") and "\u202e" not in json.dumps(sheets(at), ensure_ascii=False)
    for kind in ("markdown", "caption", "header", "subheader", "title", "button", "metric", "warning", "error", "info"):
        assert not any("pixel" in str(node.value) + str(getattr(node, "label", "")) for node in at.get(kind))
    at = click(at, "both_bad").button(key="sample_end").click().run()
    assert not at.exception and said(at, "headline-sample").startswith("1 defect in all 1 pair")
    assert len(table(at, "disagreements")) == 1


def test_labels_that_cannot_be_read_are_named(root: Path) -> None:
    click(begun(), "first")
    (file,) = (root / "sampling").rglob("*.jsonl")
    file.write_bytes(file.read_bytes().replace(b'"choice":"first"', b'"choice":"best"'))
    at = visit()
    assert said(at, "headline-sample") == "Your labels of this round cannot be read"
    assert "line 2" in said(at, "error-sample") and "restore the file of labels from a copy" in said(at, "error-sample")
