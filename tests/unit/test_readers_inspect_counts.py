"""An Inspect log holds every sample that it speaks of, each item in each epoch; and reducers make a verdict of verdicts or are refused."""
from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support_eval_logs import BASELINE, eval_log, fault, header, json_log, read, sample

from core.errors import RoundError
from core.rounds.columns import CellFault
from core.rounds.readers.format import Declared
from core.rounds.readers.inspect_log import FORMAT


def about(**more: Any) -> dict[str, Any]:
    return header()["eval"] | more


def told(path: Path, **options: Any) -> dict[str, str]:
    """The notes of a file, by their codes."""
    declared = Declared(path, path.name, {"arm": "baseline"} | options)
    assert not any(isinstance(row.value, CellFault) for row in FORMAT.rows(declared))
    return {note.code: note.text for note in declared.notes}


def test_a_log_from_which_a_sample_was_taken_is_refused(tmp_path: Path) -> None:
    """The real log holds 4 items in 2 epochs; without the failed first sample of item 1 it would read better than it is."""
    path = tmp_path / "less.eval"
    with zipfile.ZipFile(path, "w") as target:
        for number in (1, 2, 3, 4):
            for epoch in (1, 2):
                if (number, epoch) != (1, 1):
                    target.writestr(f"samples/{number}_epoch_{epoch}.json", json.dumps(sample(number, epoch)))
        facts = {"results": {"total_samples": 8}, "eval": about(config={"epochs": 2}, dataset={"samples": 4})}
        target.writestr("header.json", json.dumps(header(**facts)))
    with pytest.raises(RoundError) as caught:
        read(FORMAT, path)
    assert (caught.value.code, str(caught.value.where)) == ("incomplete_epochs", "less.eval, field epoch")
    assert (caught.value.expected, caught.value.got) == (
        "each item in each epoch from 1 to 2", "1 of 4 items with other epochs: '1 (epoch 2)'",
    )


@pytest.mark.parametrize(("facts", "code"), [
    # two items, the second without its second epoch; nothing but the samples themselves shows it
    ({}, "incomplete_epochs"),
    ({"eval": about(config={"epochs": 2})}, "incomplete_epochs"),
    # an epoch far beyond those that were to be: nothing is counted up to it
    ({"eval": about(config={"epochs": 10**15})}, "incomplete_epochs"),
    # an epoch beyond those that were to be
    ({"eval": about(config={"epochs": 1})}, "incomplete_epochs"),
])
def test_items_without_all_epochs_are_refused(tmp_path: Path, facts: dict[str, Any], code: str) -> None:
    path = json_log(tmp_path, [sample("a"), sample("b"), sample("a", 2)], **facts)
    assert fault(FORMAT, path)[0] == code
    assert fault(FORMAT, path, reducer="any")[0] == code


@pytest.mark.parametrize("dataset", [{"samples": 3}, {"samples": 3, "sample_ids": ["a", "b", "c"]}, {"sample_ids": ["a", "b", "c"]}])
@pytest.mark.parametrize("results", [None, {}])
def test_a_log_with_fewer_items_than_its_dataset_is_refused(tmp_path: Path, dataset: dict[str, Any], results: Any) -> None:
    samples = [sample("a"), sample("b"), sample("a", 2), sample("b", 2)]
    path = json_log(tmp_path, samples, eval=about(dataset=dataset, config={"epochs": 2}), results=results)
    with pytest.raises(RoundError) as caught:
        read(FORMAT, path)
    # 3 items in 2 epochs are 6 samples
    assert (caught.value.code, caught.value.expected, caught.value.got) == ("sample_count", "6 samples, as the log states", "4")


def test_an_evaluation_that_was_limited_is_named(tmp_path: Path) -> None:
    facts = {"eval": about(dataset={"samples": 3}, config={"limit": 2}), "results": {"total_samples": 2}}
    notes = told(json_log(tmp_path, [sample("a"), sample("b")], **facts))
    assert notes["limited_log"] == "log.json: the evaluation was limited (limit=2): 2 of the 3 items of its dataset"
    unstated = told(json_log(tmp_path, [sample("a"), sample("b")], **facts | {"results": None}))
    assert "sample_count_not_stated" in unstated


def test_a_log_that_says_that_it_stopped_early_is_read_and_warned_of(tmp_path: Path) -> None:
    facts = {"eval": about(config={"epochs": 2}), "results": {"total_samples": 4, "early_stopping": {"manager": "m"}}}
    assert "1 items are not in each of its 2 epochs" in told(json_log(tmp_path, [sample("a"), sample("b"), sample("a", 2)], **facts))["stopped_early"]


def test_samples_items_and_epochs_are_called_by_their_names() -> None:
    notes = told(BASELINE, scorer="match")
    assert notes["log_of"] == 'inspect_baseline.eval: task "demo", model "mockllm/model": 8 samples = 4 items in 2 epochs'
    assert told(BASELINE, scorer="match", reducer="all")["epochs_reduced"] == (
        "inspect_baseline.eval: 8 samples became 4 outcomes, one an item, by all over its 2 epochs; responses were left out"
    )


def test_what_has_no_verdict_is_a_sample_until_it_is_reduced(tmp_path: Path) -> None:
    path = json_log(tmp_path, [sample("a"), sample("b"), sample("a", 2, float("nan")), sample("b", 2)])
    assert told(path)["no_verdict"] == "log.json: 1 samples (an item in an epoch) have no verdict and stay empty: 'a'"
    assert told(path, reducer="any")["epochs_reduced"].endswith("; 1 outcomes have no verdict, because an epoch has none")


@pytest.mark.parametrize(("reducer", "passed"), [
    # epochs of a: C C I, of b: I I C, of c: C C C, of d: I I I
    ("mode", [True, False, True, False]), ("max", [True, True, True, False]), ("any", [True, True, True, False]),
    ("at_least_1", [True, True, True, False]), ("at_least_2", [True, False, True, False]), ("at_least_3", [False, False, True, False]),
    ("all", [False, False, True, False]), ("majority", [True, False, True, False]),
])
@pytest.mark.parametrize("arm", ["baseline", "candidate"])
def test_reducers_that_make_a_verdict_of_verdicts(tmp_path: Path, reducer: str, passed: list[bool], arm: str) -> None:
    values = {"a": "CCI", "b": "IIC", "c": "CCC", "d": "III"}
    samples = [sample(name, epoch, value[epoch - 1]) for epoch in (1, 2, 3) for name, value in values.items()]
    rows, _ = read(FORMAT, eval_log(tmp_path, samples), reducer=reducer, arm=arm)
    assert [(row["id"], row["passed"]) for row in rows] == list(zip("abcd", passed, strict=True))


@pytest.mark.parametrize(("reducer", "words"), [
    ("mean", "a number of verdicts"), ("median", "a number of verdicts"), ("pass_at_2", "a number of verdicts"), ("at_least_0", ""),
    ("at_least_", ""), ("at_least_x", ""), ("first", ""), ("ALL", ""),
])
def test_other_reducers_are_refused(tmp_path: Path, reducer: str, words: str) -> None:
    with pytest.raises(RoundError) as caught:
        read(FORMAT, json_log(tmp_path, [sample("a")]), reducer=reducer)
    assert (caught.value.code, str(caught.value.where)) == ("bad_option", "log.json, field option reducer")
    assert words in caught.value.got


@pytest.mark.parametrize("epoch", [0, -1, 10**15])
def test_an_epoch_is_counted_from_one(tmp_path: Path, epoch: int) -> None:
    assert fault(FORMAT, json_log(tmp_path, [sample("a", epoch)])) == ("incomplete_epochs", "log.json, field epoch")


def test_more_epochs_than_there_are_cannot_pass(tmp_path: Path) -> None:
    assert fault(FORMAT, json_log(tmp_path, [sample("a"), sample("a", 2)]), reducer="at_least_3") == ("bad_option", "log.json, field option reducer")


def test_a_tie_has_no_mode(tmp_path: Path) -> None:
    path = json_log(tmp_path, [sample("a"), sample("a", 2, "I")])
    assert fault(FORMAT, path, reducer="mode") == ("tied_runs", "line 1, field reducer")
    # a missing verdict leaves the item without one before there is a tie
    assert read(FORMAT, json_log(tmp_path, [sample("a"), sample("a", 2, None)]), reducer="mode")[0][0]["passed"] is None


def test_the_input_is_hashed_without_what_changes_from_run_to_run(tmp_path: Path) -> None:
    def hashes(**more: Any) -> tuple[str, str]:
        (row,), _ = read(FORMAT, json_log(tmp_path, [sample("a", **more)]))
        return row["prompt_hash"], row["target_hash"]

    asked = [{"id": "m1", "role": "user", "content": "Question?"}]
    again = [{"id": "m2", "role": "user", "content": "Question?", "source": "input"}]
    assert hashes(input=asked) == hashes(input=again) != hashes(input=[asked[0] | {"content": "Another?"}])
    assert hashes() != hashes(target="no")
    assert hashes(target=["yes"]) != hashes(target=["yes", "yea"])
