"""Graded replies as tests write them."""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from core.pairs.pairing import Pairing


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


def reconciled(pairing: Pairing) -> bool:
    """Whether every row is in one pair, or under one reason."""
    used = [side.place for pair in pairing.pairs for side in (pair.chosen, pair.rejected)]
    return len(set(used)) == len(used) and len(used) + sum(pairing.unused.values()) == pairing.rows


def row(task: str | None, run: int | None, response: str | None, reward: Any, **more: Any) -> dict[str, Any]:
    """A row of a rollouts file: a reply to a task whose prompt is ``About TASK?``."""
    named = {} if task is None else {"task_id": task}
    return named | {"rollout": run, "prompt": f"About {task}?", "response": response, "reward": reward, "token_count": 3} | more
