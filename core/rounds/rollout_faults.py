"""Why a graded rollout cannot be used for a pair. The reader of rollouts finds these, and the part ``rollouts`` of a round keeps them."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow.compute as pc

from core.rounds.folder import Round

REASONS: Final[Mapping[str, str]] = {
    "missing_reward": "no reward", "boolean_reward": "a boolean where a number belongs, and its column was not declared as the reward",
    "invalid_reward": "a reward that is no number", "reward_out_of_range": "a reward outside the declared range",
    "grader_failed": "the grader's own status is not ok", "missing_response": "no reply",
}
UNDECLARED: Final = ("missing_reward", "boolean_reward", "missing_response")
"""Faults that every row has where the column goes by a name that nobody declared."""
PART: Final = "rollouts"


def rollout_count(source: Round) -> int:
    """Rows of the part; 0 where it was not supplied."""
    entry = source.manifest.files.get(f"{PART}.parquet")
    return 0 if entry is None else entry.rows


def fault_counts(source: Round) -> dict[str, int]:
    """The rollouts of a round that cannot be used, by fault."""
    counted = pc.value_counts(source.table(PART, ("fault",))["fault"].drop_null()).to_pylist()
    return {one["values"]: one["counts"] for one in sorted(counted, key=lambda one: str(one["values"]))}
