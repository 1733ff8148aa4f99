"""Preference pairs from graded rollouts: a pass against a fail of the same task, matched in length.

1. Rollouts are grouped by **task id**. Where a row names no task, it is grouped by its prompt without regard to case and white
   space; that is the declared fallback, and the report says for how many rows it was used.
2. A rollout *passes* with a reward of at least ``pass_reward`` and fails below it; a pair needs a difference of at least ``min_margin``.
   Both are compared as exact rationals.
3. Inside a task the pairs are those of ``core.pairs.assignment``: as many as possible up to ``most``, then the least total difference of
   reply lengths (characters that the assistant wrote), then rank order. Each rollout is used at most once, and never against an
   identical reply: that is a grader that disagrees with itself, not a preference.

Every row ends in exactly one place: in a pair, or under one reason. Nothing depends on the order of the input.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from core.errors import GridError, Where
from core.grid import Grid
from core.pairs.assignment import Costs, least_cost_pairs
from core.pairs.columns import Flags
from core.pairs.graded import Candidate, GradedReply, candidate_of, folded_prompt, is_empty
from core.pairs.held_out import HeldOut
from core.settings import SETTINGS

REASONS: Final = {
    "other_policy": "a rollout of another policy than the one asked for",
    "empty_response": "a reply that says nothing and calls no tool",
    "task_all_pass": "every rollout of its task passes", "task_all_fail": "every rollout of its task fails",
    "below_margin": "no rollout of its task is far enough from it in reward",
    "identical_reply": "every rollout it could be paired with is the same reply",
    "unmatched": "it could be paired, but other pairs of its task were taken",
}
"""Why a rollout is in no pair, besides the faults that the reader of rollouts names."""
Group = tuple[Literal["task", "prompt"], str]
Progress = Callable[[str, int, int | None], None]
Value = TypeVar("Value")
_SHOWN: Final[int] = SETTINGS["display"]["digest_characters"]


@dataclass(frozen=True, slots=True)
class PairingRules:
    """The grid's numbers for pairing, exact. ``length_matched`` False leaves lengths alone: pairs in rank order."""

    pass_reward: Fraction
    min_margin: Fraction
    most: int
    length_matched: bool = True

    def __post_init__(self) -> None:
        if self.min_margin <= 0:
            raise GridError(
                "no_margin", expected="a margin above 0", got=str(self.min_margin), remedy="set a margin that tells a better reply from an equal one",
                where=Where(field="min_reward_margin"),
            )
        if self.most < 1:
            raise GridError("no_pairs_per_task", expected="at least 1", got=str(self.most), remedy="allow one pair a task or more",
                            where=Where(field="max_pairs_per_task"))

    @classmethod
    def from_grid(cls, grid: Grid) -> PairingRules:
        """Raises GridError ``grid_key_off`` for a grid of an earlier schema."""
        return cls(grid.fraction("pair_pass_reward"), grid.fraction("min_reward_margin"), grid.integer("max_pairs_per_task"))


@dataclass(frozen=True, slots=True)
class TaskPair:
    """One pair. ``margin``: exact difference of rewards; ``length_difference``: chosen less rejected, characters; ``same_policy``: None where a
    side names no policy."""

    group: Group
    chosen: Candidate
    rejected: Candidate
    chosen_id: str
    rejected_id: str

    @property
    def margin(self) -> Fraction:
        return self.chosen.reward - self.rejected.reward

    @property
    def length_difference(self) -> int:
        return self.chosen.length - self.rejected.length

    @property
    def same_policy(self) -> bool | None:
        if self.chosen.policy is None or self.rejected.policy is None:
            return None
        return self.chosen.policy == self.rejected.policy

    @property
    def mixed_graders(self) -> bool:
        """Whether two graders gave the two rewards."""
        return self.chosen.grader != self.rejected.grader

    @property
    def first_turn_differs(self) -> bool:
        return self.chosen.first_turn != self.rejected.first_turn

    @property
    def prompts_differ(self) -> bool:
        return self.chosen.prompt != self.rejected.prompt

    @property
    def partial_score(self) -> bool:
        """Whether a side has a reward other than 0 and 1."""
        return not {self.chosen.reward, self.rejected.reward} <= {0, 1}

    @property
    def scored(self) -> bool:
        """Whether doubles say both rewards exactly, as the scores of a row have to."""
        return all(Fraction(repr(float(side.reward))) == side.reward for side in (self.chosen, self.rejected))

    @property
    def held_out(self) -> bool:
        return self.chosen.held_out or self.rejected.held_out

    @property
    def counted(self) -> bool:
        """Whether both sides have token counts, which a round needs."""
        return self.chosen.counted and self.rejected.counted

    @property
    def measured(self) -> bool:
        """Whether the row will carry all four log-prob sums."""
        return self.chosen.measured and self.rejected.measured and self.same_policy is not False


@dataclass
class Pairing:
    """Pairs and counts. ``rows`` = rollouts in a pair + ``unused``; ``ruled_out``: pass-fail combinations that were the same reply."""

    rules: PairingRules
    pairs: list[TaskPair] = field(default_factory=list)
    rows: int = 0
    unused: Counter[str] = field(default_factory=Counter)
    grouped_by: Counter[str] = field(default_factory=Counter)
    graders: Counter[str] = field(default_factory=Counter)
    """Usable rollouts by the grader that they name."""
    least_reward: Fraction | None = None
    most_reward: Fraction | None = None
    """The least and the most reward of a usable rollout."""
    repeated_runs: int = 0
    """Usable rollouts whose number stands on another one of their task and policy, too."""
    tasks_seen: int = 0
    tasks_with_contrast: int = 0
    ruled_out: Counter[str] = field(default_factory=Counter)

    @property
    def usable(self) -> int:
        """Rollouts that a pair could be made of."""
        return sum(self.grouped_by.values())


def pair_rollouts(
    replies: Iterable[GradedReply], rules: PairingRules, *, policy: str | None = None, held_out: HeldOut | None = None,
    progress: Progress | None = None,
) -> Pairing:
    """The pairs of a set of rollouts, and where every row went.

    ``policy``: only rollouts of this policy. ``held_out``: what the holdout is made of; a pair with such a rollout is made and flagged,
    so that a reviewer sees it. Pairs come in the order of their task.
    """
    found = Pairing(rules)
    groups: dict[Group, list[Candidate]] = {}
    for place, (reply, held) in enumerate((held_out or HeldOut()).marked(replies)):
        found.rows += 1
        reason = unusable(reply, policy)
        if reason is not None or reply.reward is None:
            found.unused[reason or "missing_reward"] += 1
            continue
        group = group_of(reply)
        found.grouped_by[group[0]] += 1
        if reply.grader is not None:
            found.graders[reply.grader] += 1
        found.least_reward = reply.reward if found.least_reward is None else min(found.least_reward, reply.reward)
        found.most_reward = reply.reward if found.most_reward is None else max(found.most_reward, reply.reward)
        groups.setdefault(group, []).append(candidate_of(reply, reply.reward, place, held_out=held))
        if progress is not None:
            progress("rollouts", found.rows, None)
    found.tasks_seen = len(groups)
    for group in sorted(groups):
        _pair_task(group, sorted(groups[group], key=lambda candidate: candidate.order), found)
    return found


def group_of(reply: GradedReply) -> Group:
    """The task of a rollout, or the fallback."""
    return ("task", reply.task_id) if reply.task_id is not None else ("prompt", folded_prompt(reply.prompt or ""))


def unusable(reply: GradedReply, policy: str | None) -> str | None:
    """Why a rollout is no candidate for a pair; None where it is one. ``policy``: the one that is asked for."""
    if policy is not None and reply.policy != policy:
        return "other_policy"
    if reply.fault is not None:
        return reply.fault
    return "empty_response" if is_empty(reply) else None


def _pair_task(group: Group, ranked: list[Candidate], found: Pairing) -> None:
    """Pair one task's rollouts, which are in rank order."""
    rules = found.rules
    found.repeated_runs += sum(count for name, count in Counter(map(_run_name, ranked)).items() if name is not None and count > 1)
    passed = [candidate for candidate in ranked if candidate.reward >= rules.pass_reward]
    failed = [candidate for candidate in ranked if candidate.reward < rules.pass_reward]
    if not passed or not failed:
        found.unused["task_all_pass" if passed else "task_all_fail"] += len(ranked)
        return
    apart = _apart(passed, failed, rules.min_margin)
    same = _alike([one.trimmed for one in passed], [other.trimmed for other in failed])
    found.tasks_with_contrast += bool(apart.any())
    # equal replies are also equal after trimming
    exactly = int(_alike([one.exact for one in passed], [other.exact for other in failed]).sum())
    found.ruled_out.update({"identical": exactly, "identical_after_trim": int(same.sum()) - exactly})
    cells = least_cost_pairs(_costs(passed, failed, rules), apart & ~same, rules.most)
    ids = _ids(ranked)
    found.pairs += [TaskPair(group, passed[i], failed[j], ids[passed[i].place], ids[failed[j].place]) for i, j in cells]
    _count_unused(apart, same, {i for i, _ in cells}, found.unused)
    _count_unused(apart.T, same.T, {j for _, j in cells}, found.unused)


def _apart(passed: list[Candidate], failed: list[Candidate], margin: Fraction) -> Flags:
    """Which combinations differ enough in reward. A task has few different rewards and may have many replies: each two of them are
    compared once, exactly."""
    sides = [[candidate.reward for candidate in side] for side in (passed, failed)]
    (high, rows), (low, columns) = map(_numbered, sides)
    enough: Flags = np.array([[one - other >= margin for other in low] for one in high], dtype=np.bool_)
    return np.asarray(enough[np.ix_(rows, columns)])


def _alike(one: list[bytes], other: list[bytes]) -> Flags:
    """Which combinations have the same digest."""
    _, numbers = _numbered([*one, *other])
    return np.equal.outer(numbers[:len(one)], numbers[len(one):])


def _numbered(values: list[Value]) -> tuple[list[Value], npt.NDArray[np.int32]]:
    """The different values in order of appearance, and which of them each value is."""
    known: dict[Value, int] = {}
    numbers = [known.setdefault(value, len(known)) for value in values]
    return list(known), np.array(numbers, dtype=np.int32)


def _costs(passed: list[Candidate], failed: list[Candidate], rules: PairingRules) -> Costs:
    if not rules.length_matched:
        return np.zeros((len(passed), len(failed)), dtype=np.int64)
    lengths = [np.array([candidate.length for candidate in side], dtype=np.int64) for side in (passed, failed)]
    return np.asarray(np.abs(lengths[0][:, None] - lengths[1][None, :]))


def _count_unused(apart: Flags, same: Flags, used: set[int], unused: Counter[str]) -> None:
    far, free = (np.asarray(mask.any(axis=1), dtype=np.bool_).tolist() for mask in (apart, apart & ~same))
    for row in range(len(apart)):
        if row not in used:
            unused["below_margin" if not far[row] else "unmatched" if free[row] else "identical_reply"] += 1


def _ids(ranked: list[Candidate]) -> dict[int, str]:
    """An id for each rollout of a task, by place: ``policy.run`` where that names it alone, with a part of its content's digest
    where it does not, and numbered in rank order where even that is shared."""
    plain = Counter(map(_run_name, ranked))
    seen: Counter[str] = Counter()
    ids = {}
    for candidate in ranked:
        name = _run_name(candidate)
        if name is None or plain[name] > 1:
            name = ".".join(part for part in (name or candidate.policy, candidate.exact.hex()[:_SHOWN]) if part)
            seen[name] += 1
            name = name if seen[name] == 1 else f"{name}.{seen[name]}"
        ids[candidate.place] = name
    return ids


def _run_name(candidate: Candidate) -> str | None:
    return None if candidate.run is None else f"{candidate.policy}.{candidate.run}" if candidate.policy is not None else str(candidate.run)
