"""The part ``rollouts`` of a round, read back: the rollouts as the reader of rollouts gave them, one by one."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from core.rounds.folder import Round
from core.rounds.readers.rollouts import Rollout
from core.rounds.rollout_faults import PART

_COLUMNS: Final[Mapping[str, str]] = {
    **{name: name for name in (
        "line", "task_id", "task_number", "prompt", "prompt_messages", "response", "response_messages", "reward", "fault", "policy", "policy_logp",
        "ref_logp", "token_count", "finish_reason", "grader", "source",
    )}, "run": "rollout",
}
"""Field of a Rollout -> column of the part."""


def stored_rollouts(source: Round) -> Iterator[Rollout]:
    """The rollouts in their order, nothing where the part was not supplied. Memory: one batch. ``extra`` is left out."""
    for batch in source.batches(PART, tuple(_COLUMNS.values())):
        for cells in zip(*(batch[name].to_pylist() for name in _COLUMNS.values()), strict=True):
            row: dict[str, Any] = dict(zip(_COLUMNS, cells, strict=True))
            yield Rollout(**row | {"reward": None if row["reward"] is None else Fraction(repr(row["reward"]))})
