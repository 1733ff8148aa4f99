"""Pairs from graded rollouts: grouping, order, same replies, flags, the holdout, and the rows that are written."""
from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support_rollouts import Reply, reconciled

from core.errors import GridError, RoundError
from core.grid import default_grid, shipped_grids
from core.pairs.held_out import HeldOut
from core.pairs.pairing import Pairing, PairingRules, pair_rollouts
from core.pairs.pairing_report import PairingReport, middle_values
from core.pairs.pairing_rows import pair_rows

ONE = PairingRules(Fraction(1), Fraction(1), 1)


def reply(reward: int | str, text: str, task: str | None = "t", run: int | None = None, **more: Any) -> Reply:
    return Reply(response=text, reward=Fraction(reward), task_id=task, run=run, **{"token_count": len(text), **more})


def shown(pairing: Pairing, replies: list[Reply]) -> list[tuple[Any, Any, Any]]:
    return [(row["pair_id"], row["chosen"], row["rejected"]) for row in pair_rows(pairing, replies)]


def test_the_rules_come_from_the_grid() -> None:
    rules = PairingRules.from_grid(default_grid())
    assert (rules.pass_reward, rules.min_margin, rules.most, rules.length_matched) == (1, 1, 1, True)


def test_a_grid_of_an_earlier_schema_has_no_pairing() -> None:
    earlier = next(grid for grid in shipped_grids().values() if grid.schema_version == 1)
    with pytest.raises(GridError) as refused:
        PairingRules.from_grid(earlier)
    assert refused.value.code == "grid_key_off"


@pytest.mark.parametrize("most", [0, -1])
def test_at_least_one_pair_a_task(most: int) -> None:
    with pytest.raises(GridError) as refused:
        PairingRules(Fraction(1), Fraction(1), most)
    assert refused.value.code == "no_pairs_per_task"


ROWS = st.tuples(st.sampled_from("ab"), st.sampled_from(["0", "1/2", "1"]), st.text("xy ", min_size=1, max_size=4), st.integers(0, 9))


@given(st.lists(ROWS, max_size=14), st.integers(1, 3), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(drawn: list[tuple[str, str, str, int]], most: int, chance: random.Random) -> None:
    replies = [reply(reward, text, task, run) for task, reward, text, run in drawn]
    shuffled = chance.sample(replies, len(replies))
    rules = PairingRules(Fraction(1), Fraction(1, 2), most)
    first, second = pair_rollouts(replies, rules), pair_rollouts(shuffled, rules)
    assert shown(first, replies) == shown(second, shuffled)
    assert first.unused == second.unused and reconciled(first) and reconciled(second)
    assert PairingReport.of(first).as_dict() == PairingReport.of(second).as_dict()


def test_a_task_of_thousands_of_replies_is_paired_at_once() -> None:
    # 3,000 x 3,000 combinations of few rewards; the comparison of rewards is exact and done once for each two different ones
    class Counted(Fraction):
        compared = 0

        def __sub__(self, other: Any) -> Fraction:
            Counted.compared += 1
            return Fraction(self) - other

    replies = [reply(0, f"{place:06d}", run=place) for place in range(3000)]
    replies += [replace(reply(1, f"{place:07d}", run=place + 3000), reward=Counted(1)) for place in range(3000)]
    pairing = pair_rollouts(replies, ONE)
    assert len(pairing.pairs) == 1 and pairing.unused == {"unmatched": 5998} and Counted.compared < 10


def test_every_row_has_one_place() -> None:
    replies = [
        reply(1, "good one"), reply(0, "bad two"), reply(0, "a much longer bad reply"), reply(1, "all pass", "p"), reply(0, "all fail", "f"),
        reply("1/2", "near", "m"), reply(1, "top", "m"), reply(1, "same ", "s"), reply(0, "same", "s"), reply(1, " \n", "e"),
        replace(reply(1, "x"), reward=None, fault="boolean_reward"), reply(1, "y", policy="other"),
    ]
    pairing = pair_rollouts(replies, ONE)
    assert pairing.unused == {
        "unmatched": 2, "task_all_pass": 1, "task_all_fail": 1, "below_margin": 2, "identical_reply": 2, "empty_response": 1, "boolean_reward": 1,
    }
    assert pairing.rows == 12 and reconciled(pairing) and pairing.ruled_out == {"identical": 0, "identical_after_trim": 1}
    # tasks t, p, f, m and s; t and s have a pass and a fail a whole reward apart
    assert (pairing.tasks_seen, pairing.tasks_with_contrast) == (5, 2)
    only = pair_rollouts(replies, ONE, policy="other")
    assert only.unused == {"other_policy": 11, "task_all_pass": 1} and reconciled(only)


def test_a_task_id_stands_before_the_wording() -> None:
    replies = [
        reply(1, "a", "t", prompt="One"), reply(0, "b", "t", prompt="Two"),
        reply(1, "c", None, prompt=" ONE  x"), reply(0, "d", None, prompt="one X"),
    ]
    pairing = pair_rollouts(replies, ONE)
    assert pairing.grouped_by == {"task": 2, "prompt": 2}
    assert [pair.group for pair in pairing.pairs] == [("prompt", "one x"), ("task", "t")]
    assert [code for code, _ in PairingReport.of(pairing).warnings] == ["prompts_differ", "grouped_by_prompt"]


def test_the_same_reply_by_its_tool_calls() -> None:
    # one final text; the pass looked the order up first: these are two replies, with two first turns
    def trajectory(*tools: str) -> str:
        calls = [{"role": "assistant", "content": None, "tool_calls": [{"name": name}]} for name in tools]
        return json.dumps([*calls, {"role": "assistant", "content": "done"}])

    replies = [reply(1, "done", response_messages=trajectory("look", "pay")), reply(0, "done", response_messages=trajectory("pay"))]
    (pair,) = pair_rollouts(replies, ONE).pairs
    assert pair.first_turn_differs and pair.length_difference == 0
    same_start = [reply(1, "done", response_messages=trajectory("look", "pay")), reply(0, "done", response_messages=trajectory("look"))]
    found = pair_rollouts(same_start, ONE)
    report = PairingReport.of(found)
    assert not found.pairs[0].first_turn_differs and report.trainer_pairs == 0 and [code for code, _ in report.warnings] == ["first_turn_identical"]


@pytest.mark.parametrize("held_out", [
    lambda: HeldOut.of_items([{"id": "t", "prompt": "Another"}], 8, Fraction(4, 5)),
    lambda: HeldOut.of_items([{"id": "h1", "prompt": "what is IT"}], 8, Fraction(4, 5)),
    lambda: HeldOut(graders=["gold"]), lambda: HeldOut(graders=["eval"]),
], ids=["task", "prompt", "grader", "source"])
def test_a_reward_of_the_holdout_is_flagged(held_out: Callable[[], HeldOut]) -> None:
    replies = [
        reply(1, "yes", prompt="What is  it?", grader="gold", source="eval"), reply(0, "no", prompt="Other", grader="mine"),
        reply(1, "ja", "u"), reply(0, "nee", "u"),
    ]
    report = PairingReport.of(pair_rollouts(replies, ONE, held_out=held_out()))
    assert report.eval_sourced == report.mixed_grader_pairs == 1 and "eval_sourced" in [code for code, _ in report.warnings]
    assert PairingReport.of(pair_rollouts(replies, ONE)).eval_sourced == 0


def test_medians_have_both_middle_values() -> None:
    assert middle_values([5, -1, 3]) == (3, 3) and middle_values([4, -88, -1, 9]) == (-1, 4) and middle_values([]) is None
    replies = [reply(1, "a" * 4, "p"), reply(0, "b", "p"), reply(1, "c", "q"), reply(0, "d" * 3, "q")]
    length = PairingReport.of(pair_rollouts(replies, ONE)).length
    # differences 3 and -2: median and mean 1/2, total 5
    assert (length.median, length.mean, length.total, length.chosen_longer_share) == (Fraction(1, 2), Fraction(1, 2), 5, Fraction(1, 2))


def test_a_row_of_plain_texts() -> None:
    replies = [
        reply(1, "yes", "a/b", 3, policy="m", policy_logp=-2.5, ref_logp=-3.0, token_count=4, prompt="Q"),
        reply(0, "no", "a/b", 0, policy="m", policy_logp=-1.0, ref_logp=-1.5, token_count=2, prompt="Q"),
    ]
    assert list(pair_rows(pair_rollouts(replies, ONE), replies)) == [{
        "pair_id": "a%2Fb/m.3/m.0", "origin": "verified", "prompt": "Q", "chosen": "yes", "rejected": "no", "task_id": "a/b", "source": "m",
        "chosen_score": 1.0, "rejected_score": 0.0, "chosen_verified_pass": True, "rejected_tombstone_fail": True,
        "policy_logp_chosen": -2.5, "ref_logp_chosen": -3.0, "policy_logp_rejected": -1.0, "ref_logp_rejected": -1.5,
        "chosen_token_count": 4, "rejected_token_count": 2,
    }]


def test_log_probs_of_two_policies_are_not_put_together() -> None:
    replies = [reply(1, "yes", policy="m", policy_logp=-2.5, token_count=4), reply(0, "no", policy="n", policy_logp=-1.0, token_count=2)]
    pairing = pair_rollouts(replies, ONE)
    (row,) = pair_rows(pairing, replies)
    assert not any("logp" in name for name in row) and "source" not in row and row["chosen_token_count"] == 4
    assert [code for code, _ in PairingReport.of(pairing).warnings] == ["mixed_policy"]


def test_rewards_of_two_graders_are_flagged() -> None:
    replies = [reply(1, "yes", grader="a"), reply(0, "no", grader="b"), reply(1, "ja", "u", grader="a"), reply(0, "nee", "u", grader="a")]
    pairing = pair_rollouts(replies, ONE)
    report = PairingReport.of(pairing)
    assert report.mixed_grader_pairs == 1 and pairing.graders == {"a": 3, "b": 1} and [code for code, _ in report.warnings] == ["mixed_grader"]


def test_a_conversation_stays_messages_on_both_sides() -> None:
    turns = [{"role": "assistant", "content": None, "tool_calls": [{"name": "look"}]}, {"role": "tool", "content": "found"}]
    replies = [reply(1, "It is here.", response_messages=json.dumps(turns), prompt="Where?"), reply(0, "No idea.", prompt="Where?")]
    (row,) = pair_rows(pair_rollouts(replies, ONE), replies)
    assert row["prompt"] == [{"role": "user", "content": "Where?"}] and row["rejected"] == [{"role": "assistant", "content": "No idea."}]
    assert row["chosen"] == [*turns, {"role": "assistant", "content": "It is here."}]


def test_ids_of_rollouts_without_numbers_follow_their_content() -> None:
    replies = [reply(1, "yes"), reply(1, "yes"), reply(0, "no"), reply(0, "not"), reply(0, "no")]
    rules = PairingRules(Fraction(1), Fraction(1), 5)
    ids = [row["pair_id"] for row in pair_rows(pair_rollouts(replies, rules), replies)]
    assert len(set(ids)) == 2 and ids == [row["pair_id"] for row in pair_rows(pair_rollouts(replies[::-1], rules), replies[::-1])]
    assert ids[1].split("/")[1] == f"{ids[0].split('/')[1]}.2"


def test_a_long_task_id_gives_a_short_pair_id() -> None:
    replies = [reply(1, "yes", "é" * 200), reply(0, "no", "é" * 200)]
    (row,) = pair_rows(pair_rollouts(replies, ONE), replies)
    assert len(row["pair_id"]) == 64 and row["task_id"] == "é" * 200


def test_other_rollouts_in_the_second_reading_are_refused() -> None:
    replies = [reply(1, "yes"), reply(0, "no")]
    with pytest.raises(RoundError) as refused:
        list(pair_rows(pair_rollouts(replies, ONE), replies[:1]))
    assert refused.value.code == "rollouts_changed"
    with pytest.raises(RoundError) as refused:
        list(pair_rows(pair_rollouts(replies, ONE), replies[::-1]))
    assert refused.value.code == "rollouts_changed"


def test_what_a_round_needs_and_the_rollouts_lack_is_said() -> None:
    bare = [replace(one, token_count=None) for one in (reply(1, "yes"), reply(0, "no"))]
    report = PairingReport.of(pair_rollouts(bare, ONE))
    assert (report.without_token_counts, report.without_log_probs) == (1, 1) and [code for code, _ in report.warnings] == ["without_token_counts"]
    unasked = [replace(one, prompt=None) for one in bare]
    pairing = pair_rollouts(unasked, ONE)
    assert [code for code, _ in PairingReport.of(pairing).warnings] == ["without_prompt", "without_token_counts"]
    assert "prompt" not in next(pair_rows(pairing, unasked))
