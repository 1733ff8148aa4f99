"""The report on a round's rollouts: figures counted by hand, every way in which a pair can differ from the rule's, and where it is kept."""
from __future__ import annotations

import json
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support_rollouts import COMPARED_HOLDOUT, compared_pairs, compared_rollouts, compared_round, row
from support_rounds import NOW, ROUND, folder_of, ingested, pair, pairs_round, workspace_at
from support_strength import FIRST_GRID

from core.canonical import canonical_bytes
from core.cli.main import run
from core.errors import CountersignError
from core.gates import rollout_words
from core.gates.rollout_report import RolloutReport, rollouts_of, stored_rollout_report
from core.grid import default_grid
from core.pairs.given_pairs import CHANGED, KINDS, LACKING, NOT_MADE, SAME, SWAPPED, WHY
from core.rounds.folder import Round
from core.rounds.ingest import ingest
from core.rounds.workspace import Workspace

ROOT = Path(__file__).parents[2]
SMOLLM2 = ROOT / "data/sources/smollm2/rollouts.jsonl.gz"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> RolloutReport:
    source = compared_round(tmp_path_factory.mktemp("compared"))
    return rollouts_of(Workspace(source.path.parents[1]), source, default_grid())


def report(place: Path, rollouts: list[Any], pairs: list[Any] | None, **about: Any) -> RolloutReport:
    parts = {"rollouts": rollouts} | ({} if pairs is None else {"pairs": pairs})
    source, _ = ingested(place, folder_of(place / "input", parts, about=ROUND | about))
    return rollouts_of(workspace_at(place), source, default_grid())


def listed(found: RolloutReport) -> dict[str, tuple[str, str]]:
    return {one["pair_id"]: (one["kind"], one["why"]) for one in pq.read_table(found.compared_path).to_pylist()}


def test_the_figures_of_the_rule(found: RolloutReport) -> None:
    """25 rollouts: 20 in the pairs of a to j; f's third is unmatched; both of k and the one usable of l pass; the other of l has no reward."""
    document = found.document
    assert (document["rows"], document["rows_in_pairs"], document["pairs"]) == (25, 20, 10)
    assert document["rows_unused"] == {"missing_reward": 1, "task_all_pass": 3, "unmatched": 1}
    assert rollout_words.where_they_went(document)[0] == ("in a pair", 20)
    assert sum(count for _, count in rollout_words.where_they_went(document)) == 25
    assert (document["tasks_seen"], document["tasks_with_contrast"]) == (12, 10)
    # the passes have 6 characters; the fails 4, but 6 of f (taken rather than the one of 12) and 16 of g: eight times 2, then 0 and -10
    assert (document["length"]["chosen_longer"], document["length"]["rejected_longer"]) == (8, 1)
    assert (document["length"]["median"]["exact"], document["length"]["mean"]["exact"]) == ("2/1", str(Fraction(8 * 2 + 0 - 10, 10)))
    assert (document["trainer_pairs"], document["same_policy_pairs"], document["mixed_policy_pairs"]) == (10, 0, 0)
    # 24 usable rollouts, two of them graded by gold
    assert document["graders"] == {"gold": 2, "unit-tests": 22}


def test_rewards_of_the_holdout_are_known_without_an_option(found: RolloutReport) -> None:
    """The task i is an item of the holdout, and gold, which grades h, scores the holdout."""
    assert found.document["eval_sourced"] == 2 == found.document["comparison"]["eval_sourced"]
    assert [one["pair_id"] for one in found.document["listed"] if one["held_out"]] == ["h/0/1", "i/0/1"]
    assert "2 of 11 pairs of this round have a rollout" in str(rollout_words.eval_words(found.document))
    assert found.document["warnings"][0]["code"] == "eval_sourced"
    assert rollout_words.holdout_words(found.document) == "task ids and prompts of 2 locked items; graders or sources gold"


def test_every_pair_of_the_round_and_of_the_rule_is_accounted_for(found: RolloutReport) -> None:
    compared = found.document["comparison"]
    assert {kind: compared[kind] for kind in KINDS} == {SAME: 4, CHANGED: 2, SWAPPED: 1, NOT_MADE: 4, LACKING: 3}
    assert compared["pairs"] == 11 == sum(compared[kind] for kind in (SAME, CHANGED, SWAPPED, NOT_MADE))
    assert found.document["pairs"] == 10 == sum(compared[kind] for kind in (SAME, CHANGED, SWAPPED, LACKING))
    assert compared["same_under_another_id"] == 1 and compared["changed_fields"] == {"chosen": 1, "prompt": 1}
    assert compared["not_made_why"] == {"no_chosen": 1, "no_contrast": 1, "not_taken": 1, "unusable": 1}
    assert compared["lacking_why"] == {"absent": 1, "task_paired_otherwise": 2}
    assert listed(found) == {
        "c/0/1": (CHANGED, ""), "d/0/1": (CHANGED, ""), "e/0/1": (SWAPPED, ""), "f/0/2": (NOT_MADE, "not_taken"), "h/0/1": (SAME, ""),
        "i/0/1": (SAME, ""), "own": (NOT_MADE, "no_chosen"), "k/0/1": (NOT_MADE, "no_contrast"), "l/0/1": (NOT_MADE, "unusable"),
        "f/0/1": (LACKING, "task_paired_otherwise"), "g/0/1": (LACKING, "absent"), "j/0/1": (LACKING, "task_paired_otherwise"),
    }
    rows = {one["pair_id"]: one for one in pq.read_table(found.compared_path).to_pylist()}
    assert (rows["d/0/1"]["fields"], rows["d/0/1"]["ordinal"], rows["g/0/1"]["ordinal"]) == (["prompt"], 3, None)
    assert "no reward" in rollout_words.reason_of(rows["l/0/1"]) and rollout_words.reason_of(rows["d/0/1"]) == "prompt changed"
    assert rollout_words.headline(found.document) == (
        "4 of 11 pairs are what the rule makes of the rollouts (2 changed after pairing, 1 with its sides exchanged, 4 not made by it); "
        "it makes 3 that the round lacks"
    )


@pytest.mark.parametrize(("pairs", "why"), [
    ([pair(pair_id="x", task_id="t", prompt="About t?", chosen="nothing", rejected="known")], "no_reply"),
    ([pair(pair_id="x", task_id="t", prompt="About t?", chosen="yes", rejected="unknown")], "no_rejected"),
    ([pair(pair_id="x", task_id="t", prompt="About t?", chosen="yes", rejected="other")], "other_task"),
    ([pair(pair_id="x", task_id="t", prompt="About t?", chosen="half", rejected="no")], "no_contrast"),
    ([pair(pair_id="x", task_id="t", prompt="About t?", chosen="half", rejected="yes")], "graded_the_other_way"),
    ([pair(pair_id="x", task_id="t", prompt="About t?", chosen="yes", rejected="half")], "below_margin"),
    ([pair(pair_id="x", task_id="t", prompt="About t?", chosen="yes", rejected="yes ")], "identical_reply"),
    ([pair(pair_id="x", task_id="t", prompt="About t?", chosen="yes", rejected="broken")], "unusable"),
    ([pair(pair_id="x", task_id="t", prompt="About t?", chosen="yes", rejected="a longer no")], "not_taken"),
])
def test_why_the_rule_does_not_make_a_pair(tmp_path: Path, pairs: list[Any], why: str) -> None:
    rollouts = [
        row("t", 0, "yes", 1), row("t", 1, "no.", 0), row("t", 2, "no", 0), row("t", 3, "half", 0.5), row("t", 4, "yes ", 0),
        row("t", 5, "broken", None), row("t", 6, "a longer no", 0), row("u", 0, "other", 0),
    ]
    found = report(tmp_path, rollouts, pairs)
    assert found.document["comparison"]["not_made_why"] == {why: 1} and listed(found)["x"] == (NOT_MADE, why)
    assert why in WHY


def test_a_pair_given_twice_counts_once(tmp_path: Path) -> None:
    rollouts = [row("t", 0, "yes", 1), row("t", 1, "no", 0)]
    one = pair(pair_id="t/0/1", task_id="t", prompt="About t?", chosen="yes", rejected="no")
    compared = report(tmp_path, rollouts, [one, one | {"pair_id": "again"}]).document["comparison"]
    assert (compared[SAME], compared["not_made_why"]) == (1, {"given_twice": 1})


def test_one_wording_of_two_tasks_is_told_apart_by_the_task(tmp_path: Path) -> None:
    """Both tasks have the same prompt and the same replies: only the task id says which pair is which."""
    rollouts = [row(task, at, reply, 1 - at, prompt="Same?") for task in ("t", "u") for at, reply in enumerate(("yes", "no"))]
    given = [pair(pair_id=name, task_id=task, prompt="Same?", chosen="yes", rejected="no") for name, task in (("1", "t"), ("2", "u"), ("3", "v"))]
    found = report(tmp_path / "named", rollouts, given)
    assert (found.document["comparison"][SAME], found.document["comparison"]["not_made_why"]) == (2, {"other_task": 1})
    changed = report(tmp_path / "changed", rollouts, [given[0] | {"pair_id": "t/0/1", "task_id": "u"}])
    assert changed.document["comparison"]["changed_fields"] == {"task": 1}
    # a pair that names no task is one of either
    bare = [{name: value for name, value in one.items() if name != "task_id"} for one in given]
    assert report(tmp_path / "bare", rollouts, bare[:2]).document["comparison"][SAME] == 2


def test_rollouts_without_tasks_and_chats_are_the_same_texts(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "About 2?"}]
    rollouts = [
        {"prompt": "About 1?", "response": "yes", "reward": 1}, {"prompt": "about  1?", "response": "no", "reward": 0},
        {"prompt": talk, "response": [{"role": "assistant", "content": "yes"}], "reward": 1, "task_id": "2"},
        {"prompt": talk, "response": [{"role": "assistant", "content": "no"}], "reward": 0, "task_id": "2"},
    ]
    rollouts = [one | {"token_count": 1} for one in rollouts]
    given = [
        pair(pair_id="x", prompt="About 1?", chosen="yes", rejected="no"),
        pair(pair_id="y", prompt="About 2?", chosen="yes", rejected="no"),
    ]
    compared = report(tmp_path / "same", rollouts, given).document["comparison"]
    assert (compared[SAME], compared["same_under_another_id"], compared[LACKING]) == (2, 2, 0)
    # another reply of the same prompt: the rule's pair is lacking because the round pairs it otherwise, with or without a task id
    other = [one | {"chosen": "maybe"} for one in given]
    assert report(tmp_path / "other", rollouts, other).document["comparison"]["lacking_why"] == {"task_paired_otherwise": 2}
    assert report(tmp_path / "none", rollouts, given[:1]).document["comparison"]["lacking_why"] == {"absent": 1}
    bare = [{name: value for name, value in one.items() if name != "token_count"} for one in rollouts]
    assert report(tmp_path / "bare", bare, given[:1]).document["comparison"]["lacking_why"] == {"without_token_counts": 1}


def test_pairs_that_countersign_makes_of_real_rollouts_are_the_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """data/SOURCES.md: 20 of 80 tasks of each policy have both; the command line and the round use one engine, so nothing differs."""
    folder = tmp_path / "round"
    folder.mkdir()
    (folder / "graded.jsonl.gz").write_bytes(SMOLLM2.read_bytes())
    made, place = ["pairs", str(SMOLLM2), "--option", "reward=strict", "--policy", "rpo-60", "--json"], str(tmp_path / "w")
    assert run([*made, "--out", str(folder / "pairs.jsonl")]) == 0
    stated = json.loads(capsys.readouterr().out)
    sources = {"rollouts": [{"file": "graded.jsonl.gz", "format": "rollouts", "options": {"reward": "strict"}}]}
    (folder / "round.json").write_text(json.dumps(ROUND | {"sources": sources, "pairing": {"policy": "rpo-60"}}), "utf-8")
    assert run(["ingest", str(folder), "--workspace", place]) == 0
    capsys.readouterr()
    assert run(["rollouts", "round-07", "--workspace", place, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    same = [name for name in stated if name in found and name not in ("notes", "version")]
    assert len(same) > 20 and {name: found[name] for name in same} == {name: stated[name] for name in same}
    assert found["comparison"] | {"pairs": 20, SAME: 20} == found["comparison"] and sum(found["comparison"][kind] for kind in KINDS) == 20
    # of every policy the rule makes other pairs: those of the other policy are lacking, or take the place of these
    source = Workspace.open(tmp_path / "w").round("round-07")
    again, _ = ingested(tmp_path / "all", folder_with(folder, tmp_path / "all"))
    assert again.digest != source.digest
    other = rollouts_of(workspace_at(tmp_path / "all"), again, default_grid()).document
    assert other["policy"] is None and other["rows_unused"].get("other_policy") is None
    assert other["comparison"]["pairs"] == 20 == sum(other["comparison"][kind] for kind in (SAME, CHANGED, SWAPPED, NOT_MADE))


def folder_with(source: Path, place: Path) -> Path:
    """The same input without the declared policy."""
    target = place / "input"
    target.mkdir(parents=True)
    for file in source.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    about = json.loads((source / "round.json").read_text("utf-8"))
    (target / "round.json").write_text(json.dumps({name: value for name, value in about.items() if name != "pairing"}), "utf-8")
    return target


def test_the_comparison_does_not_hang_on_the_order_of_the_rollouts(found: RolloutReport, tmp_path: Path) -> None:
    rows = compared_rollouts()
    random.Random(7).shuffle(rows)
    about = {"pairing": {"holdout_graders": ["gold"]}, "holdout_lock": {"sha256": "0" * 64}}
    folder = folder_of(tmp_path / "input", {"rollouts": rows, "pairs": compared_pairs(), "holdout": COMPARED_HOLDOUT}, about=ROUND | about)
    source, _ = ingested(tmp_path, folder)
    other = rollouts_of(workspace_at(tmp_path), source, default_grid()).document
    assert other["comparison"] == found.document["comparison"] and other["listed"] == found.document["listed"]


def test_counts_agree_with_a_count_of_another_kind(found: RolloutReport) -> None:
    """By sets of (task, chosen, rejected) texts, written down from the rows of the test and not read from the round."""
    rewards = {(one["task_id"], one["response"]): one["reward"] for one in compared_rollouts()}
    given = Counter((one["task_id"], one["chosen"], one["rejected"]) for one in compared_pairs() if one["prompt"] == f"About {one['task_id']}?")
    passes = {(task, text) for (task, text), reward in rewards.items() if reward == 1}
    fails = {(task, text) for (task, text), reward in rewards.items() if reward == 0}
    rule = {(task, text, min((other for at, other in fails if at == task), key=lambda reply: abs(len(reply) - len(text))))
            for task, text in passes if any(at == task for at, _ in fails)}
    assert len(rule) == found.document["pairs"] and len(rule & set(given)) == found.document["comparison"][SAME]


def test_it_is_kept_and_read_again(tmp_path: Path) -> None:
    source = compared_round(tmp_path)
    workspace, seen = Workspace(source.path.parents[1]), list[tuple[int, int]]()
    assert stored_rollout_report(workspace, source, default_grid()) is None
    first = rollouts_of(workspace, source, default_grid(), progress=lambda done, total: seen.append((done, total)))
    # 25 rollouts are read twice, 11 pairs once
    assert seen == [(61, 61)]
    again = rollouts_of(workspace, source, default_grid(), progress=lambda done, total: seen.append((done, total)))
    kept = stored_rollout_report(workspace, source, default_grid())
    assert len(seen) == 1 and again.document == first.document and kept is not None and kept.folder == first.folder
    assert (first.folder / "rollouts.json").read_bytes() == canonical_bytes(dict(first.document))


def test_rounds_without_the_one_or_the_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, _ = pairs_round(tmp_path / "a", [pair()])
    with pytest.raises(CountersignError) as caught:
        rollouts_of(workspace_at(tmp_path / "a"), source, default_grid())
    assert caught.value.code == "part_not_supplied"
    assert run(["rollouts", source.digest[:12], "--workspace", str(tmp_path / "a" / "workspace")]) == 4
    found = report(tmp_path / "b", [row("t", 0, "yes", 1), row("t", 1, "no", 0)], None)
    assert found.document["comparison"] is None and found.document["pairs"] == 1
    assert rollout_words.headline(found.document) == "The rule makes 1 pair of 2 rollouts; the round has no pairs to compare"
    assert run(["rollouts", "round-07", "--workspace", str(tmp_path / "b" / "workspace")]) == 0
    assert "The rule makes 1 pair of 2 rollouts" in capsys.readouterr().out
    none = report(tmp_path / "d", [row("t", 0, "yes", None), row("t", 1, "no", None)], [pair()]).document
    assert none["why_no_pairs"] == "no rollout can be used for a pair"
    assert rollout_words.figures(none)[2] == ("pairs made", "none: no rollout can be used for a pair")
    all_pass = report(tmp_path / "e", [row("t", 0, "yes", 1), row("t", 1, "also", 1)], [pair()]).document
    assert str(all_pass["why_no_pairs"]).startswith("none of 1 task has both a rollout that passes and one that fails")
    empty = report(tmp_path / "c", [row("t", 0, "yes", 1)], [])
    assert rollout_words.headline(empty.document) == "The round has no pair, and the rule makes 0 pairs of 1 rollout"


def test_a_grid_of_an_earlier_schema_says_what_it_lacks(tmp_path: Path) -> None:
    source = compared_round(tmp_path)
    with pytest.raises(CountersignError) as caught:
        rollouts_of(Workspace(source.path.parents[1]), source, FIRST_GRID)
    assert caught.value.code == "grid_key_off"


def test_the_command_line_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = compared_round(tmp_path)
    assert run(["rollouts", "compared", "--workspace", str(source.path.parents[1])]) == 0
    said = capsys.readouterr().out
    assert said.startswith("4 of 11 pairs are what the rule makes of the rollouts") and "warning [eval_sourced] 2 of 11 pairs of this round" in said
    assert "it could be paired, but the rule takes other pairs of its task" in said and "Lacking in the round" in said


def test_no_text_of_a_round_with_rollouts_changes_its_verdict(tmp_path: Path) -> None:
    from core.gates.assessment import load_or_assess

    with_part = compared_round(tmp_path / "with")
    folder = folder_of(tmp_path / "without" / "input", {"pairs": compared_pairs()}, about=ROUND | {
        "holdout_lock": with_part.manifest.holdout_lock.document() if with_part.manifest.holdout_lock else None})
    (folder / "holdout.json").write_text(json.dumps(COMPARED_HOLDOUT), "utf-8")
    bare = workspace_at(tmp_path / "without").round(ingest(folder, workspace_at(tmp_path / "without"), now=NOW).digest)
    documents = [load_or_assess(Workspace(one.path.parents[1]), one, default_grid()).document for one in (with_part, bare)]
    assert documents[0]["checks"] == documents[1]["checks"]
    assert documents[0]["curation"] == documents[1]["curation"] and isinstance(with_part, Round)


EARLIER = [{"role": "user", "content": "About a?"}, {"role": "assistant", "content": "Which?"}, {"role": "user", "content": "Any."}]


def dialogue(prompted: bool, last: str, **more: Any) -> dict[str, Any]:
    """A rollout of a task with an earlier turn of the assistant: as one conversation, or with what came before in a prompt of its own."""
    said = [{"role": "assistant", "content": last}]
    given = {"prompt": EARLIER, "response": said} if prompted else {"messages": [*EARLIER, *said]}
    return {"task_id": "a", "token_count": 3} | given | more


@pytest.mark.parametrize("prompted", [False, True], ids=["whole conversations", "prompts of their own"])
def test_an_earlier_turn_of_the_assistant_is_no_difference(tmp_path: Path, prompted: bool) -> None:
    """A pair has what came before in its prompt, as LLaMA-Factory and TRL write it. The reader of rollouts has it in the reply where the file
    holds whole conversations only; both say the same."""
    rollouts = [dialogue(prompted, "Yes.", rollout=0, reward=1), dialogue(prompted, "No.", rollout=1, reward=0)]
    said = {"chosen": [{"role": "assistant", "content": "Yes."}], "rejected": [{"role": "assistant", "content": "No."}]}
    same = pair(pair_id="a/0/1", task_id="a", prompt=EARLIER, **said)
    found = report(tmp_path / "same", rollouts, [same]).document
    assert rollout_words.headline(found) == "The only pair is what the rule makes of 2 rollouts"
    # what the assistant said before is compared as well
    other = [EARLIER[0], {"role": "assistant", "content": "What?"}, EARLIER[2]]
    found = report(tmp_path / "other", rollouts, [same | {"prompt": other}]).document["comparison"]
    assert found[CHANGED] == 1
    assert found["changed_fields"] == ({"prompt": 1} if prompted else {"chosen": 1, "rejected": 1})


def test_a_conversation_that_the_assistant_opens_is_no_difference_either(tmp_path: Path) -> None:
    opened = [{"role": "assistant", "content": "Hello."}, {"role": "user", "content": "About a?"}]
    said = [[{"role": "assistant", "content": text}] for text in ("Yes.", "No.")]
    rollouts = [
        {"task_id": "a", "token_count": 3, "rollout": n, "reward": 1 - n, "messages": [*opened, *said[n]]} for n in (0, 1)
    ]
    found = report(tmp_path, rollouts, [pair(pair_id="a/0/1", task_id="a", prompt=opened, chosen=said[0], rejected=said[1])])
    assert found.document["comparison"][SAME] == 1
