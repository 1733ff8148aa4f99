"""Findings beside what became of their pairs, the evidence of each found again from the texts, and the kept style report."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support_leakage import ANSWER, ASK, HOLDOUT, LONG, SYSTEM, TASK, leaky_rows, stored
from support_rounds import pair, workspace_at

from core.cli.main import run
from core.errors import RoundError
from core.gates import finding_list, style_kept
from core.gates.assessment import Assessment, load_or_assess
from core.gates.contamination import contamination_of, stored_contamination
from core.gates.finding_evidence import Evidence, evidence_of
from core.gates.finding_list import FindingFilter, FindingList
from core.gates.style_kept import admitted_only, stored_style, style_document, style_of
from core.gates.style_report import pair_style
from core.grid import default_grid
from core.rounds.folder import Round
from core.rounds.workspace import Workspace

GRID = default_grid()


@pytest.fixture
def leaky(tmp_path: Path) -> tuple[Workspace, Round, Assessment]:
    workspace = workspace_at(tmp_path)
    source = stored(workspace, tmp_path, "leaky", leaky_rows(), HOLDOUT)
    return workspace, source, load_or_assess(workspace, source, GRID)


def findings(leaky: tuple[Workspace, Round, Assessment]) -> FindingList:
    workspace, source, assessment = leaky
    return FindingList(contamination_of(workspace, source, GRID).findings_path, assessment.scored_path)


def ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row["pair_id"] for row in rows]


def test_admitted_pairs_come_first_then_the_strongest(leaky: tuple[Workspace, Round, Assessment]) -> None:
    found = findings(leaky)
    rows, total = found.page(FindingFilter(), 1)
    # admitted: two exact prompts in the order of the input, then a chosen answer made of the locked one (14 of 17 words); one held;
    # rejected: the task id before the embedded ask
    assert ids(rows) == ["asked", "chat", "answer", "held", "task", "within"] and total == 6
    assert [row["state"] for row in rows] == ["admitted"] * 3 + ["held"] + ["rejected"] * 2
    assert [row["rule"] for row in rows] == ["exact", "exact", "training_coverage", "exact", "same_task", "holdout_coverage"]
    assert [row["place"] for row in rows] == ["prompt", "prompt", "chosen", "prompt", "same_task", "prompt"]
    assert found.pairs == {"admitted": 3, "held": 1, "rejected": 2}
    assert found.table == {
        "same_task": {"prompt": 0, "chosen": 0, "rejected": 0, "same_task": 1}, "exact": {"prompt": 3, "chosen": 0, "rejected": 0, "same_task": 0},
        "training_coverage": {"prompt": 0, "chosen": 1, "rejected": 0, "same_task": 0},
        "holdout_coverage": {"prompt": 1, "chosen": 0, "rejected": 0, "same_task": 0},
    }


@pytest.mark.parametrize(("chosen", "expected"), [
    (FindingFilter(state="admitted"), ["asked", "chat", "answer"]), (FindingFilter(rule="exact"), ["asked", "chat", "held"]),
    (FindingFilter(place="same_task"), ["task"]), (FindingFilter(state="rejected", rule="exact"), []),
    (FindingFilter(place="prompt", state="rejected"), ["within"]),
])
def test_a_list_can_be_narrowed(leaky: tuple[Workspace, Round, Assessment], chosen: FindingFilter, expected: list[str]) -> None:
    rows, total = findings(leaky).page(chosen, 1)
    assert (ids(rows), total) == (expected, len(expected))


def test_pages_follow_each_other(leaky: tuple[Workspace, Round, Assessment], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding_list, "PAGE_ROWS", 4)
    found = findings(leaky)
    assert [(ids(rows), total) for rows, total in (found.page(FindingFilter(), page) for page in (1, 2, 3))] == [
        (["asked", "chat", "answer", "held"], 6), (["task", "within"], 6), ([], 6),
    ]


def test_a_finding_is_found_by_pair_and_field_also_where_an_id_is_shared(tmp_path: Path) -> None:
    workspace = workspace_at(tmp_path)
    rows = [pair(pair_id="twin", prompt=ASK), pair(pair_id="twin", prompt=f"{ASK}!"), pair(pair_id="other", prompt=ASK, chosen="Done; gone.")]
    source = stored(workspace, tmp_path, "twins", rows, HOLDOUT)
    found = findings((workspace, source, load_or_assess(workspace, source, GRID)))
    assert [(row["ordinal"], row["state"]) for row in found.of_pair("twin", "prompt")] == [(0, "rejected"), (1, "rejected")]
    assert [row["state"] for row in found.of_pair("other", "prompt")] == ["admitted"]
    assert found.of_pair("twin", "chosen") == found.of_pair("nobody", "prompt") == []


def test_a_clean_round_has_an_empty_list(tmp_path: Path) -> None:
    workspace = workspace_at(tmp_path)
    source = stored(workspace, tmp_path, "clean", [pair()], HOLDOUT)
    found = findings((workspace, source, load_or_assess(workspace, source, GRID)))
    assert found.total == 0 and found.page(FindingFilter(), 1) == ([], 0) and set(found.pairs.values()) == {0}
    assert found.of_pair("p-1", "prompt") == []


def evidence(leaky: tuple[Workspace, Round, Assessment], pair_id: str, field: str) -> Evidence:
    _, source, _ = leaky
    (row,) = findings(leaky).of_pair(pair_id, field)
    texts = next(text for _, text in source.pair_batches()).to_pylist()[row["ordinal"]]
    return evidence_of(row, texts, source.holdout_items(), GRID)


def marked(text: str, spans: Any) -> list[str]:
    return [text[first:end] for first, end in spans]


@pytest.mark.parametrize(("pair_id", "field", "training", "locked", "place"), [
    ("asked", "prompt", ASK.upper(), ASK, "prompt"), ("answer", "chosen", ANSWER, ANSWER, "answer"), ("chat", "prompt", ASK, ASK, "prompt"),
    ("within", "prompt", ASK, ASK, "prompt"),
])
def test_the_shared_words_are_marked_in_both_texts(
    leaky: tuple[Workspace, Round, Assessment], pair_id: str, field: str, training: str, locked: str, place: str,
) -> None:
    found = evidence(leaky, pair_id, field)
    assert marked(found.text, found.spans) == [training] and marked(found.locked, found.locked_spans) == [locked]
    assert (found.field, found.locked_field) == (field, place)
    assert {"asked": f"{ASK.upper()}!", "within": LONG.format(ASK)}.get(pair_id, found.text) == found.text
    if pair_id == "chat":
        assert found.text.startswith(f"system\n{SYSTEM}\nuser\n{ASK}")


def test_a_task_id_shows_the_items_question_unmarked(leaky: tuple[Workspace, Round, Assessment]) -> None:
    assert evidence(leaky, "task", "scenario_id") == Evidence("prompt", "Distances?", "prompt", TASK)


def test_a_stored_report_is_found_and_none_is_computed(leaky: tuple[Workspace, Round, Assessment]) -> None:
    workspace, source, _ = leaky
    assert stored_contamination(workspace, source, GRID) is None
    made = contamination_of(workspace, source, GRID)
    assert stored_contamination(workspace, source, GRID) == made
    contamination_of(workspace, source, GRID, left_out=["answer"])
    assert stored_contamination(workspace, source, GRID) == made


@pytest.mark.parametrize(("rows", "items"), [([pair()], None), (None, HOLDOUT)])
def test_without_pairs_or_holdout_no_report_can_be_stored(
    tmp_path: Path, rows: list[dict[str, Any]] | None, items: list[dict[str, Any]] | None,
) -> None:
    workspace = workspace_at(tmp_path)
    source = stored(workspace, tmp_path, "bare", rows, items)
    with pytest.raises(RoundError, match="part_not_supplied"):
        stored_contamination(workspace, source, GRID)


# style


def polite_rows() -> list[dict[str, Any]]:
    """Seven pairs. The chosen side of five begins with a stock phrase; two of the five lose likelihood and are rejected."""
    return [
        pair(pair_id=f"p{place}", prompt=f"Question {word}?", chosen=f"{'I hope this helps. ' if place < 5 else ''}{word} {'x ' * place}- {place}",
             rejected="No.", policy_logp_chosen=-40.0 if place < 2 else -20.0)
        for place, word in enumerate(("one", "two", "three", "four", "five", "six", "seven"))
    ]


def test_the_style_of_all_pairs_and_of_the_admitted_ones_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = workspace_at(tmp_path)
    source = stored(workspace, tmp_path, "polite", polite_rows())
    assessment = load_or_assess(workspace, source, GRID)
    mask = admitted_only(source, assessment)
    assert stored_style(workspace, source, GRID, admitted=True) is None
    every, some = (style_of(workspace, source, assessment, GRID, admitted=only) for only in (False, True))
    phrases = {name: next(one for one in found["markers"] if one["marker"] == "boilerplate") for name, found in (("all", every), ("some", some))}
    assert phrases["all"]["counts"] == {"both": 0, "chosen_only": 5, "rejected_only": 0, "neither": 2}
    # rejected: the first two; what is left depends on nothing but the mask
    assert mask.any() and not mask[:2].any() and some["scope"]["pairs"] == mask.sum() < 7
    assert phrases["some"]["counts"]["chosen_only"] == mask[:5].sum() and phrases["some"]["counts"]["neither"] == mask[5:].sum()
    assert phrases["all"]["said"].keys() == {"correlation", "p", "says"} and every["sentences"][0].startswith("7 pairs; phrase table")
    monkeypatch.setattr(style_kept, "pair_style", None)
    assert stored_style(workspace, source, GRID, admitted=True) == some == style_of(workspace, source, assessment, GRID, admitted=True)


@pytest.mark.parametrize("options", [[], ["--admitted"]])
def test_the_command_keeps_the_report_that_the_page_shows(tmp_path: Path, options: list[str]) -> None:
    workspace = workspace_at(tmp_path)
    source = stored(workspace, tmp_path, "polite", polite_rows())
    admitted = bool(options)
    assert run(["style", "polite", "--workspace", str(workspace.root), *options]) == 0
    kept = stored_style(workspace, source, GRID, admitted=admitted)
    assert kept is not None and stored_style(workspace, source, GRID, admitted=not admitted) is None
    only = admitted_only(source, load_or_assess(workspace, source, GRID)) if admitted else None
    assert kept == style_document(pair_style(source, GRID, only=only)) | {"grid_digest": GRID.digest}
