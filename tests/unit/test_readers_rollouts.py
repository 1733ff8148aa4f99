"""Rollouts with graded rewards: columns, exact rewards, reasons, and the published files."""
from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from core.errors import RoundError
from core.rounds.readers.format import Declared
from core.rounds.readers.rollouts import REASONS, Rollout, read_rollouts, rollouts_of
from core.rounds.typing_rows import RawRow

ROOT = Path(__file__).parents[2]
SMOLLM2 = ROOT / "data" / "sources" / "smollm2" / "rollouts.jsonl.gz"
TAU = ROOT / "tests" / "fixtures" / "published" / "tau_airline_outcomes.jsonl.gz"


def read(*rows: Any, **options: Any) -> tuple[list[Rollout], list[str]]:
    """The rollouts of rows, and the codes of the notes."""
    declared = Declared(Path("rollouts.jsonl"), "rollouts.jsonl", options)
    found = list(rollouts_of((RawRow(line, row, json.dumps(row)) for line, row in enumerate(rows, start=1)), declared))
    return found, [note.code for note in declared.notes]


def row(**more: Any) -> dict[str, Any]:
    return {"task_id": "t", "prompt": "ask", "response": "reply", "reward": 1} | more


def refused(*rows: Any, **options: Any) -> RoundError:
    with pytest.raises(RoundError) as caught:
        read(*rows, **options)
    return caught.value


def test_a_reward_is_the_decimal_that_was_written() -> None:
    found, _ = read(row(reward=0.7), row(reward=0.2), row(reward=1), row(reward=1e-07))
    assert [one.reward for one in found] == [Fraction(7, 10), Fraction(1, 5), Fraction(1), Fraction(1, 10**7)]
    # 0.7 - 0.2 is below 0.5 in binary floating point, and exactly 1/2 here
    assert found[0].reward is not None and found[1].reward is not None and found[0].reward - found[1].reward == Fraction(1, 2)


@pytest.mark.parametrize(("change", "reason"), [
    ({"reward": None}, "missing_reward"), ({"reward": True}, "boolean_reward"), ({"reward": "1"}, "invalid_reward"),
    ({"reward": [1]}, "invalid_reward"), ({"reward": -1}, "reward_out_of_range"), ({"reward": 1.0000001}, "reward_out_of_range"),
    ({"judge_status": "error"}, "grader_failed"), ({"response": None}, "missing_response"),
])
def test_a_rollout_that_cannot_be_used_stays_and_says_why(change: dict[str, Any], reason: str) -> None:
    found, notes = read(row(), row(**change))
    assert [(one.reward, one.fault) for one in found] == [(Fraction(1), None), (Fraction(1) if reason == "missing_response" else None, reason)]
    assert notes == [reason]
    assert reason in REASONS


def test_the_range_is_declared() -> None:
    found, _ = read(row(reward=-1), row(reward=2.5), range="-1..2.5")
    assert [one.reward for one in found] == [Fraction(-1), Fraction(5, 2)]
    assert read(row(reward=40), range=" -1e2 .. 0.5e2")[0][0].reward == 40
    # a bound of a hundred million digits took minutes to write out, and margins beyond a double ended as a fault of the program
    for text in ("1", "1..1", "a..b", "2..1", "0..1/0", "..", "0..1e99999999", "-1e308..1e308", "0..inf", "0..nan", "0.." + "9" * 400):
        assert refused(row(), range=text).code == "bad_option"


def test_ratings_become_rewards_from_0_to_1_only_by_a_declared_scale() -> None:
    found, notes = read(row(reward=1), row(reward=4), row(reward=10), row(reward=10.5), row(reward={"rating": 7}), scale="1..10")
    # (4 - 1) / 9 and (7 - 1) / 9
    assert [one.reward for one in found] == [Fraction(0), Fraction(1, 3), Fraction(1), None, Fraction(2, 3)]
    assert notes == ["returned_reward", "rated_reward", "reward_out_of_range"]
    assert [one.fault for one in read(row(reward=3))[0]] == ["reward_out_of_range"]
    assert refused(row(), scale="1..10", range="0..1").code == "said_twice"
    assert refused(row(), scale="5..1").code == "bad_option"


def test_what_a_grader_returned_as_an_object_has_one_reward() -> None:
    found, notes = read(row(reward={"reward": 0.7, "reason": "r"}), row(reward={"score": 1}), row(reward={"why": 1}), row(reward={"rating": 1}))
    assert [(one.reward, one.fault) for one in found] == [
        (Fraction(7, 10), None), (Fraction(1), None), (None, "missing_reward"), (None, "missing_reward"),
    ]
    assert notes == ["returned_reward", "missing_reward"]
    error = refused(row(reward={"reward": 1, "score": 0}))
    assert (error.code, error.where and error.where.field) == ("ambiguous_result", "reward.reward")
    flags, _ = read(row(reward={"reward": True}), row(reward={"reward": False}), reward="reward")
    assert [one.reward for one in flags] == [1, 0]


def test_a_boolean_column_is_a_reward_only_where_declared_and_then_alone() -> None:
    found, notes = read(row(strict=True), row(strict=False), reward="strict")
    assert [one.reward for one in found] == [Fraction(1), Fraction(0)]
    assert notes == ["boolean_reward"]
    mixed, _ = read(row(strict=True), row(strict=1), reward="strict")
    assert [one.fault for one in mixed] == [None, "invalid_reward"]
    numbers, _ = read(row(mark=1), row(mark=True), reward="mark")
    assert [one.fault for one in numbers] == [None, "boolean_reward"]


def test_two_spellings_of_one_thing_are_refused_until_one_is_declared() -> None:
    both = row(final_text="other")
    error = refused(both)
    assert (error.code, error.where.line if error.where else None) == ("ambiguous_column", 1)
    assert "response=response" in error.got
    found, _ = read(both, response="final_text")
    assert (found[0].response, found[0].extra) == ("other", {"response": "reply"})


def test_a_task_number_becomes_text_and_never_meets_the_same_text() -> None:
    found, notes = read(row(task_id=7), row(task_id=8))
    assert ([one.task_id for one in found], notes) == (["7", "8"], ["numbered_ids"])
    error = refused(row(task_id=1), row(task_id="1"))
    assert (error.code, error.where.line if error.where else None, error.where.field if error.where else None) == ("id_in_two_forms", 2, "task_id")
    for value in (True, 1.0, "", ["t"]):
        assert refused(row(task_id=value)).code == "wrong_type"


def test_leading_zeros_and_case_of_ids_stay() -> None:
    ids = ["007", "7", "550E8400-E29B-41D4-A716-446655440000", "2024-01-05"]
    found, notes = read(*(row(task_id=name) for name in ids))
    assert ([one.task_id for one in found], notes) == (ids, [])


def test_without_a_task_column_the_prompt_is_left_to_group_by() -> None:
    found, _ = read({"prompt": "ask", "final_text": "a", "reward": 1})
    assert (found[0].task_id, found[0].prompt) == (None, "ask")
    declared, _ = read({"prompt": "ask", "final_text": "a", "reward": 1}, task="prompt")
    # the prompt stays the prompt: without one an ingest would quarantine the pairs
    assert (declared[0].task_id, declared[0].prompt) == ("ask", "ask")
    assert refused({"final_text": "a", "reward": 1}).code == "missing_field"


def test_a_conversation_is_split_before_the_first_reply() -> None:
    turns = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"},
             {"role": "user", "content": "again"}, {"role": "assistant", "content": "b"}]
    found, _ = read({"task_id": "t", "messages": turns, "reward": 0})
    assert (found[0].prompt, found[0].response) == ("system\ns\nuser\nq\n", "assistant\na\nuser\nagain\nassistant\nb\n")
    assert (json.loads(found[0].prompt_messages or ""), json.loads(found[0].response_messages or "")) == (turns[:2], turns[2:])
    with_text, _ = read({"prompt": "q", "messages": turns[2:], "final_text": "b", "reward": 0})
    assert (with_text[0].prompt, with_text[0].response) == ("q", "b")
    assert json.loads(with_text[0].response_messages or "") == turns[2:]


def test_means_of_log_probs_are_multiplied_only_where_declared() -> None:
    one = row(policy_logp=-0.5, ref_logp=-0.25, token_count=8)
    found, notes = read(one)
    assert ((found[0].policy_logp, found[0].ref_logp), notes) == ((-0.5, -0.25), [])
    sums, notes = read(one, logps="mean")
    assert ((sums[0].policy_logp, sums[0].ref_logp), notes) == ((-4.0, -2.0), ["mean_logps"])
    assert refused(row(policy_logp=-0.5), logps="mean").code == "missing_field"
    assert refused(row(policy_logp="-0.5")).code == "wrong_type"


@pytest.mark.parametrize("options", [{"rewards": "reward"}, {"logps": "average"}, {"reward": 1}, {"task": ""}])
def test_options_are_checked(options: dict[str, Any]) -> None:
    assert refused(row(), **options).code in ("unknown_option", "bad_option")


def test_a_row_that_cannot_be_read_refuses_the_file(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    path.write_text(json.dumps(row()) + '\n{"task_id": "t", "prompt": "q", "response": "r", "reward": NaN}\n' + json.dumps(row()) + "\n", "utf-8")
    with pytest.raises(RoundError) as caught:
        list(read_rollouts(Declared(path, "rollouts.jsonl", {})))
    assert (caught.value.code, str(caught.value.where)) == ("non_finite_number", "rollouts.jsonl, line 2, field reward")
    assert refused([]).code == "wrong_type"
    assert refused(row(reward=1), {"task_id": "t", "prompt": "q", "response": "r", "mark": 1}, reward="mark").code == "missing_field"


def test_smollm2_rollouts_give_the_published_counts() -> None:
    """data/SOURCES.md, smollm2: 960 rows; 77 of 480 (rpo-60) and 46 of 480 (dpo-only-60) pass; 20 of 80 tasks of each have both; 62
    and 138 are cut at the length limit."""
    found = list(read_rollouts(Declared(SMOLLM2, SMOLLM2.name, {"reward": "strict"})))
    assert Counter((one.policy, one.reward) for one in found) == {
        ("rpo-60", 1): 77, ("rpo-60", 0): 403, ("dpo-only-60", 1): 46, ("dpo-only-60", 0): 434,
    }
    assert Counter(one.policy for one in found if one.finish_reason == "length") == {"rpo-60": 62, "dpo-only-60": 138}
    rewards: dict[tuple[str | None, str | None], set[Fraction | None]] = {}
    for one in found:
        rewards.setdefault((one.policy, one.task_id), set()).add(one.reward)
    assert Counter(policy for (policy, _), values in rewards.items() if len(values) > 1) == {"rpo-60": 20, "dpo-only-60": 20}
    assert all(one.policy_logp is not None and one.ref_logp is not None and one.token_count for one in found)


def test_tau_bench_rollouts_give_the_published_counts() -> None:
    """data/SOURCES.md of the airline file: 200 rows, 50 tasks of 4 trials, 116 with reward 0. The reduced copy has no replies."""
    found = list(read_rollouts(Declared(TAU, TAU.name, {})))
    assert Counter((one.reward, one.fault) for one in found) == {(0, "missing_response"): 116, (1, "missing_response"): 84}
    assert len({one.task_id for one in found}) == 50
    assert Counter(one.run for one in found) == {0: 50, 1: 50, 2: 50, 3: 50}
