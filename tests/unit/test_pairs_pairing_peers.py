"""Pairs from rollouts beside another package's (tests/fixtures/peers): the same where it is right, right where it is not."""
from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support_rollouts import Reply, exact_number, reconciled

from core.errors import GridError
from core.pairs.graded import reply_length
from core.pairs.pairing import Pairing, PairingRules, pair_rollouts
from core.pairs.pairing_report import PairingReport
from core.rounds.readers.format import Declared
from core.rounds.readers.rollouts import rollouts_of
from core.rounds.typing_rows import RawRow

PEERS = Path(__file__).parents[1] / "fixtures/peers"
CASES = {case["name"]: case for case in json.loads((PEERS / "whileai_build_preference_pairs.json").read_text("utf-8"))["cases"]}
END_TO_END = json.loads((PEERS / "whileai_dpo_pairs_end_to_end.json").read_text("utf-8"))
CONTRACT = json.loads((PEERS / "whileai_judge_contract.json").read_text("utf-8"))
LENGTHS = json.loads((PEERS / "whileai_style_length.json").read_text("utf-8"))["reply_length"]
AGREED = sorted(name for name in CASES if "PEER-BUG" not in name and "raises" not in CASES[name])


def reply_of(row: dict[str, Any], position: int) -> Reply:
    """A row of the peer as a graded reply; the same checks of the reward that the reader of rollout files makes."""
    reward, fault, raw = exact_number(row["reward"]), None, row["reward"]
    if row.get("judge_status", "ok") != "ok":
        fault = "grader_failed"
    elif reward is None:
        fault = "boolean_reward" if isinstance(raw, bool) else "invalid_reward"
    elif not 0 <= reward <= 1:
        fault = "reward_out_of_range"
    return Reply(
        row["prompt"], row["final_text"], None if fault else reward, fault, row.get("scenario_id"), row.get("model_version"), position,
        response_messages=row.get("messages"),
    )


def paired(name: str, pass_reward: str = "1") -> Pairing:
    case = CASES[name]
    arguments = case["kwargs"]
    margin, most = Fraction(str(arguments.get("min_margin", 1))), arguments.get("max_pairs_per_prompt", 1)
    rules = PairingRules(Fraction(pass_reward), margin, most, arguments.get("length_match", True))
    return pair_rollouts([reply_of(row, position) for position, row in enumerate(case["rows"])], rules)


def places(pairing: Pairing) -> list[tuple[int, int, int]]:
    return [(pair.chosen.place, pair.rejected.place, pair.length_difference) for pair in pairing.pairs]


@pytest.mark.parametrize("name", AGREED)
def test_the_same_as_the_peer_where_it_is_right(name: str) -> None:
    case, pairing = CASES[name], paired(name)
    report = PairingReport.of(pairing)
    assert [
        {
            "chosen_idx": pair.chosen.place, "rejected_idx": pair.rejected.place, "chosen_score": float(pair.chosen.reward),
            "rejected_score": float(pair.rejected.reward), "margin": float(pair.margin), "length_delta": pair.length_difference,
            "same_policy": pair.same_policy, "first_turn_differs": pair.first_turn_differs,
        } for pair in pairing.pairs
    ] == case["pairs"]
    length = report.length
    assert {
        "pairs": len(pairing.pairs), "prompts_seen": pairing.tasks_seen, "prompts_with_contrast": pairing.tasks_with_contrast,
        "min_margin": float(pairing.rules.min_margin), "mean_margin": None if report.mean_margin is None else float(report.mean_margin),
        "partial_score_pairs": report.partial_score_pairs, "first_turn_identical": report.first_turn_identical, "trainer_pairs": report.trainer_pairs,
        "same_policy_pairs": report.same_policy_pairs, "mixed_policy_pairs": report.mixed_policy_pairs, "eval_sourced": report.eval_sourced,
        # the peer's median of an even count is the upper of the two middle values; ours is their mean, with both beside it
        "length": {
            "median_delta": None if length.middle is None else length.middle[1], "chosen_longer": length.chosen_longer,
            "chosen_longer_frac": None if length.chosen_longer_share is None else round(float(length.chosen_longer_share), 3),
        },
    } == case["report"]
    ours_alone = {"grouped_by_prompt", "without_token_counts"}
    assert len([code for code, _ in report.warnings if code not in ours_alone]) == case["n_warnings"]
    assert reconciled(pairing)


def test_no_margin_is_refused_as_by_the_peer() -> None:
    assert CASES["min_margin zero"]["raises"] == "ValueError"
    with pytest.raises(GridError) as refused:
        paired("min_margin zero")
    assert refused.value.code == "no_margin" and refused.value.where is not None and refused.value.where.field == "min_reward_margin"


# Where the peer is wrong. Each name begins with what it does.


def test_greedy_matching_takes_the_first_chosen() -> None:
    # lengths 100 and 10 pass, 10 and 9 fail: the peer fixes the first pass (100) and then looks for the nearest fail, 90 away;
    # 10 against 10 differs by nothing
    name = "PEER-BUG greedy length match ignores better chosen"
    assert places(paired(name)) == [(1, 2, 0)] and CASES[name]["pairs"][0]["length_delta"] == 90


def test_greedy_pairs_are_not_minimal() -> None:
    # 10, 11 against 11, 8: the peer takes 10-11 and 11-8 (1 + 3 = 4); 10-8 and 11-11 (2 + 0 = 2) is the least
    name = "PEER-BUG greedy pairs not minimal"
    assert sorted(places(paired(name))) == [(0, 3, 2), (1, 2, 0)]
    assert sum(abs(pair["length_delta"]) for pair in CASES[name]["pairs"]) == 4


def test_margins_in_floats_lose_a_pair() -> None:
    # 0.7 - 0.2 is 0.49999999999999994 in doubles; as written it is exactly the bound of 0.5, which is inclusive
    name = "PEER-BUG float margin"
    pairing = paired(name, pass_reward="0.7")
    assert places(pairing) == [(0, 1, 0)] and pairing.pairs[0].margin == Fraction(1, 2) and not CASES[name]["pairs"]


def test_two_worlds_of_one_wording_are_two_tasks() -> None:
    # the same text in scenario s1 and s2 asks for different things: a pass in one says nothing against a fail in the other
    pairing = paired("PEER-BUG same text different worlds paired")
    assert not pairing.pairs and pairing.tasks_seen == 2 and pairing.unused == {"task_all_pass": 1, "task_all_fail": 1}


def test_two_wordings_of_one_task_are_one_task() -> None:
    # both rollouts are of scenario s1; the peer groups by prompt text and loses the pair
    pairing = paired("PEER-BUG same task two phrasings not paired")
    assert places(pairing) == [(0, 1, 0)] and pairing.tasks_seen == 1
    assert [code for code, _ in PairingReport.of(pairing).warnings] == ["prompts_differ", "without_token_counts"]


def test_boolean_rewards_are_counted() -> None:
    # the peer answers "no prompts seen" and says nothing; true is no number, and the report names both rows
    pairing = paired("PEER-BUG boolean rewards silently dropped")
    assert pairing.unused == {"boolean_reward": 2} and reconciled(pairing)


def test_rewards_out_of_range_are_counted() -> None:
    # a reward of -1 vanishes in the peer's report, so its pass looks like a task without contrast for no reason
    pairing = paired("PEER-BUG out of range rewards silently dropped")
    assert pairing.unused == {"reward_out_of_range": 1, "task_all_pass": 1} and reconciled(pairing)


def test_a_reply_is_no_better_than_itself() -> None:
    # one text passed once and failed once: that is noise of the grader, and a DPO pair without contrast (its log-ratios cancel)
    pairing = paired("PEER-BUG identical replies paired (judge noise)")
    assert not pairing.pairs and pairing.unused == {"identical_reply": 2} and pairing.ruled_out["identical"] == 1
    assert pairing.tasks_with_contrast == 1


def test_every_case_of_the_peer_is_checked_here() -> None:
    wrong = {name for name in CASES if "PEER-BUG" in name}
    assert len(wrong) == 8 and set(AGREED) | wrong | {"min_margin zero"} == set(CASES)


# The peer's own data, end to end


def rollouts() -> list[Reply]:
    replies = []
    for position, row in enumerate(END_TO_END["training_rows"]):
        calls = [{"role": "assistant", "content": None, "tool_calls": [{"name": name}]} for name in row["tools"]]
        replies.append(Reply(
            row["prompt"], row["final_text"], Fraction(row["reward"]), None, None, "v0", row["rollout_index"], line=position + 1,
            response_messages=json.dumps([*calls, {"role": "assistant", "content": row["final_text"]}]),
        ))
    return replies


def test_total_length_difference_is_24_where_the_peer_has_99() -> None:
    pairing = pair_rollouts(rollouts(), PairingRules(Fraction(1), Fraction(1), 1))
    report, peer = PairingReport.of(pairing), END_TO_END["train"]
    assert (len(pairing.pairs), pairing.tasks_seen, pairing.tasks_with_contrast) == (7, 8, 7)
    assert (pairing.rows, report.same_policy_pairs, report.trainer_pairs) == (peer["rows"], peer["report"]["same_policy_pairs"], 7)
    assert sum(map(abs, peer["per_pair_length_delta_matched"])) == 99
    assert report.length.total == 24 and reconciled(pairing)
    # "Please refund A1004" has a pass without the closing phrases, as long as its fails (0 where the peer has 75); the 7, 8 and 9 have no
    # nearer partner: their tasks' only pass says "Looked up ...; no refund issued." and no fail does
    assert sorted(abs(pair.length_difference) for pair in pairing.pairs) == [0, 0, 0, 0, 7, 8, 9]


def test_without_length_matching_it_is_the_peer_s_order() -> None:
    pairing = pair_rollouts(rollouts(), PairingRules(Fraction(1), Fraction(1), 1, length_matched=False))
    length, expected = PairingReport.of(pairing).length, END_TO_END["train"]["unmatched_length"]
    assert (length.median, length.chosen_longer, length.pairs) == (expected["median_delta"], expected["chosen_longer"], 7)


def greedy_total(lengths: list[tuple[int, bool]], most: int) -> tuple[int, int]:
    """The peer's way, written again: each pass in its order takes the nearest fail that is left. Pairs, and their total difference."""
    failed = [length for length, passes in lengths if not passes]
    total = pairs = 0
    for passed in [length for length, passes in lengths if passes][:most]:
        if failed:
            nearest = min(failed, key=lambda length: abs(length - passed))
            failed.remove(nearest)
            total, pairs = total + abs(nearest - passed), pairs + 1
    return pairs, total


@given(st.lists(st.tuples(st.integers(1, 30), st.booleans()), max_size=10), st.integers(1, 4))
def test_never_above_the_peer_s_way_on_any_task(lengths: list[tuple[int, bool]], most: int) -> None:
    # texts of one length differ, so that no two replies are the same
    replies = [Reply(response=chr(97 + place) * length, reward=Fraction(passes), run=place) for place, (length, passes) in enumerate(lengths)]
    pairing = pair_rollouts(replies, PairingRules(Fraction(1), Fraction(1), most))
    pairs, total = greedy_total(lengths, most)
    assert len(pairing.pairs) == pairs and PairingReport.of(pairing).length.total <= total


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].get("pairs") and CASES[name]["kwargs"].get("length_match", True)])
def test_the_total_is_never_above_the_peer_s(name: str) -> None:
    ours = paired(name, pass_reward="0.7" if "float" in name else "1")
    if len(ours.pairs) == len(CASES[name]["pairs"]):
        assert sum(abs(pair.length_difference) for pair in ours.pairs) <= sum(abs(pair["length_delta"]) for pair in CASES[name]["pairs"])
    else:
        assert "different worlds" in name or "identical replies" in name


# Lengths and the grader's contract


@pytest.mark.parametrize("case", LENGTHS, ids=lambda case: str(case["len"]))
def test_length_of_a_reply_as_the_peer_counts_it(case: dict[str, Any]) -> None:
    messages = case["row"].get("messages")
    reply = Reply(response=case["row"]["final_text"], response_messages=None if messages is None else json.dumps(messages))
    assert reply_length(reply) == case["len"]


def reward_of(raw: Any, **options: str) -> tuple[float | None, str]:
    """What the reader of rollouts makes of a grader's result in a reward column: the reward, and the peer's name of what is wrong."""
    declared = Declared(Path("graded.jsonl"), "graded.jsonl", options, [])
    (found,) = rollouts_of([RawRow(1, {"task_id": "t", "response": "r", "reward": raw}, "")], declared)
    status = {None: "ok", "missing_reward": "missing_reward"}.get(found.fault, "invalid_result")
    return None if found.reward is None else float(found.reward), status


def inner(raw: Any) -> Any:
    return next((raw[key] for key in ("reward", "score") if key in raw), None) if isinstance(raw, dict) else raw


@pytest.mark.parametrize("case", CONTRACT["cases"], ids=lambda case: json.dumps(case["raw"]))
def test_what_a_grader_returned_is_read_as_the_peer_reads_it(case: dict[str, Any]) -> None:
    """Two words differ. A boolean is a verdict only where its column was declared as the reward. And a stored null is no reward, where the
    peer, which calls the grader itself, knows that null is what the call returned."""
    verdict = isinstance(inner(case["raw"]), bool)
    expected = case["out"]["reward"], "missing_reward" if case["raw"] is None else case["out"]["judge_status"]
    assert reward_of(case["raw"], **({"reward": "reward"} if verdict else {})) == expected
    if verdict:
        assert reward_of(case["raw"]) == (None, "invalid_result")


@pytest.mark.parametrize("case", CONTRACT["scaled_1_5"], ids=lambda case: json.dumps(case["raw"]))
def test_ratings_on_a_scale_are_read_as_the_peer_reads_them(case: dict[str, Any]) -> None:
    assert reward_of(case["raw"], scale="1..5") == (case["out"]["reward"], case["out"]["judge_status"])
