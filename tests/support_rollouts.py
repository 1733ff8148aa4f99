"""Graded replies as tests write them."""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from support_rounds import NOW, ROUND, folder_of, pair, workspace_at, write_json

from core.canonical import canonical_bytes, sha256_hex
from core.pairs.pairing import Pairing
from core.rounds.folder import Round
from core.rounds.ingest import ingest


def exact_number(value: object) -> Fraction | None:
    """The rational that a number of a JSON file writes, by Python's own reading of its shortest text; None for anything else."""
    return Fraction(repr(value)) if type(value) in (int, float) else None


@dataclass
class Reply:
    """A graded reply as the tests write it."""

    prompt: str | None = "q"
    response: str | None = ""
    reward: Fraction | None = None
    fault: str | None = None
    task_id: str | None = None
    policy: str | None = None
    run: int | None = None
    line: int = 1
    prompt_messages: str | None = None
    response_messages: str | None = None
    policy_logp: float | None = None
    ref_logp: float | None = None
    token_count: int | None = None
    finish_reason: str | None = None
    grader: str | None = None
    source: str | None = None
    task_number: bool = False


def reconciled(pairing: Pairing) -> bool:
    """Whether every row is in one pair, or under one reason."""
    used = [side.place for pair in pairing.pairs for side in (pair.chosen, pair.rejected)]
    return len(set(used)) == len(used) and len(used) + sum(pairing.unused.values()) == pairing.rows


def row(task: str | None, run: int | None, response: str | None, reward: Any, **more: Any) -> dict[str, Any]:
    """A row of a rollouts file: a reply to a task whose prompt is ``About TASK?``."""
    named = {} if task is None else {"task_id": task}
    return named | {"rollout": run, "prompt": f"About {task}?", "response": response, "reward": reward, "token_count": 3} | more


YES = {
    "a": "A yes.", "b": "Be: y!", "c": "- yes!", "d": "d y, n", "e": "E? yes", "f": "(f) y.", "g": "'g' y.", "h": "h = y.", "i": "i; ye.",
    "j": "j/yes.", "k": "K *y*.", "l": "l\nyes.",
}
"""A passing reply to each task: six characters."""
PROMPTS = {task: f"About {task}?" for task in YES}


def compared_rollouts() -> list[dict[str, Any]]:
    """25 rollouts of 12 tasks: a pass (6 characters) and a fail (4, or 6 and 12 for f, 16 for g) of each but k (two passes) and l (a pass and no
    reward). The rule makes a pair of each of a to j, X/0/1 throughout."""
    rows = [row(task, 0, reply, 1, judge_id="gold" if task == "h" else "unit-tests") for task, reply in YES.items()]
    fails = {task: f"{task} no" for task in YES} | {"f": "f no f", "g": "g no, not at all"}
    rows += [
        row(task, 1, reply, 1 if task == "k" else None if task == "l" else 0, judge_id="gold" if task == "h" else "unit-tests")
        for task, reply in fails.items()
    ]
    return [*rows, row("f", 2, "f no, no, no", 0, judge_id="unit-tests")]


def compared_pairs() -> list[dict[str, Any]]:
    """11 pairs. The rule makes a, b (under another id), h and i too; c, d and e were changed after pairing (the chosen reply, the case of
    the prompt, the two sides exchanged); f, j, k and l it does not make. It makes three that are not here: f/0/1, g/0/1 and j/0/1."""
    def of(task: str, rejected: str | None = None, **changes: Any) -> dict[str, Any]:
        return pair(
            pair_id=f"{task}/0/1", task_id=task, prompt=PROMPTS[task], chosen=YES[task], rejected=rejected or f"{task} no",
        ) | changes

    return [
        of("a"), of("b", pair_id="mine"), of("c", chosen="- yes, really!"), of("d", prompt="ABOUT d?"), of("e", "E? yes", chosen="e no"),
        of("f", "f no, no, no", pair_id="f/0/2"), of("h"), of("i"), of("j", pair_id="own", chosen="j, from elsewhere"), of("k"), of("l"),
    ]


COMPARED_HOLDOUT = [{"id": "i", "prompt": "Something else entirely"}, {"id": "z", "prompt": "And one more"}]


def compared_round(place: Path, name: str = "compared", **about: Any) -> Round:
    """A round of these pairs, beside these rollouts; gold scores its holdout."""
    stated = ROUND | {
        "round_id": name, "pairing": {"holdout_graders": ["gold"]},
        "holdout_lock": {"sha256": sha256_hex(canonical_bytes(COMPARED_HOLDOUT))},
    } | about
    folder = folder_of(place / name, {"pairs": compared_pairs(), "rollouts": compared_rollouts()}, about=stated)
    write_json(folder, "holdout", COMPARED_HOLDOUT)
    workspace = workspace_at(place)
    return workspace.round(ingest(folder, workspace, now=NOW).digest)
