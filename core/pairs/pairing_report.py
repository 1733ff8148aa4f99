"""What a reviewer reads about pairs made from rollouts: where every row went, what the pairs teach about length, and warnings."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median_high, median_low
from typing import Any, Final

from core.pairs.pairing import REASONS, Pairing
from core.text import count_of

REPORT_VERSION: Final = 1
LENGTH_UNIT: Final = "characters that the assistant wrote"


def exact_and_near(value: Fraction | None) -> dict[str, object] | None:
    """A rational as JSON: exact, and the nearest double."""
    return None if value is None else {"exact": f"{value.numerator}/{value.denominator}", "value": float(value)}


def middle_values(values: Sequence[int]) -> tuple[int, int] | None:
    """The two values in the middle of a sorted list (the same one twice where the count is odd); None of nothing."""
    return (median_low(values), median_high(values)) if values else None


def mean_of(values: Sequence[int] | Sequence[Fraction]) -> Fraction | None:
    """The exact mean; None of nothing."""
    return Fraction(sum(values)) / len(values) if values else None


@dataclass(frozen=True, slots=True)
class LengthFigures:
    """Differences of reply lengths, chosen less rejected. ``middle``: the two middle values, whose mean is the median."""

    pairs: int
    middle: tuple[int, int] | None
    median: Fraction | None
    mean: Fraction | None
    total: int
    chosen_longer: int
    rejected_longer: int

    @classmethod
    def of(cls, differences: Sequence[int]) -> LengthFigures:
        middle = middle_values(differences)
        return cls(
            len(differences), middle, mean_of(middle) if middle else None, mean_of(differences), sum(map(abs, differences)),
            sum(value > 0 for value in differences), sum(value < 0 for value in differences),
        )

    @property
    def chosen_longer_share(self) -> Fraction | None:
        return Fraction(self.chosen_longer, self.pairs) if self.pairs else None

    def as_dict(self) -> dict[str, object]:
        return {
            "unit": LENGTH_UNIT, "median": exact_and_near(self.median), "middle": None if self.middle is None else list(self.middle),
            "mean": exact_and_near(self.mean), "total_absolute": self.total, "chosen_longer": self.chosen_longer,
            "rejected_longer": self.rejected_longer, "chosen_longer_share": exact_and_near(self.chosen_longer_share),
        }


@dataclass(frozen=True, slots=True)
class PairingReport:
    """Figures of one pairing. Counts of pairs unless they say otherwise; ``trainer_pairs`` = pairs whose first turns differ, which is
    what a trainer that cuts replies after one turn still learns from."""

    pairing: Pairing
    length: LengthFigures
    mean_margin: Fraction | None
    partial_score_pairs: int
    first_turn_identical: int
    same_policy_pairs: int
    mixed_policy_pairs: int
    mixed_grader_pairs: int
    prompts_differ: int
    eval_sourced: int
    without_prompt: int
    without_token_counts: int
    without_log_probs: int
    without_scores: int

    @classmethod
    def of(cls, pairing: Pairing) -> PairingReport:
        pairs = pairing.pairs
        return cls(
            pairing, LengthFigures.of([pair.length_difference for pair in pairs]), mean_of([pair.margin for pair in pairs]),
            partial_score_pairs=sum(pair.partial_score for pair in pairs),
            first_turn_identical=sum(not pair.first_turn_differs for pair in pairs),
            same_policy_pairs=sum(pair.same_policy is True for pair in pairs), mixed_policy_pairs=sum(pair.same_policy is False for pair in pairs),
            mixed_grader_pairs=sum(pair.mixed_graders for pair in pairs), prompts_differ=sum(pair.prompts_differ for pair in pairs),
            eval_sourced=sum(pair.held_out for pair in pairs), without_prompt=sum(not pair.chosen.prompted for pair in pairs),
            without_token_counts=sum(not pair.counted for pair in pairs), without_log_probs=sum(not pair.measured for pair in pairs),
            without_scores=sum(not pair.scored for pair in pairs),
        )

    @property
    def trainer_pairs(self) -> int:
        return len(self.pairing.pairs) - self.first_turn_identical

    @property
    def why_none(self) -> str:
        """Why no pair was made, in one sentence; for a report without pairs."""
        pairing, rules = self.pairing, self.pairing.rules
        tasks = count_of(pairing.tasks_seen, "task")
        if pairing.tasks_with_contrast:
            return f"in {tasks} every passing and failing rollout that are far enough apart in reward are the same reply"
        if pairing.unused["below_margin"]:
            return f"in {tasks} no passing and failing rollout are {_short(rules.min_margin)} or more apart in reward (min_reward_margin)"
        seen = " to ".join(dict.fromkeys(_short(value) for value in (pairing.least_reward, pairing.most_reward) if value is not None))
        return (
            f"none of {tasks} has both a rollout that passes and one that fails; a rollout passes from {_short(rules.pass_reward)} on "
            f"(pair_pass_reward), and the rewards are {seen}"
        )

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """(code, sentence) of what a reviewer should know before training on these pairs."""
        pairs = len(self.pairing.pairs)
        found = [
            ("eval_sourced", self.eval_sourced, "a rollout whose task or grade belongs to the holdout: training on such pairs makes the held-out "
             "scorer the reward, and the holdout measures nothing any more. Leave such rollouts out"),
            ("mixed_policy", self.mixed_policy_pairs, "sides written by two policies: their log-probs make no one margin, so those are left "
             "out, and the style of a policy may be what is learnt. Pair one policy at a time (--policy)"),
            ("mixed_grader", self.mixed_grader_pairs, "sides graded by two graders, whose rewards may be on two scales. Pair the rollouts of "
             "one grader at a time"),
            ("first_turn_identical", self.first_turn_identical, "the same first turn on both sides: a trainer that keeps one turn learns "
             "nothing from such pairs. Check how yours cuts conversations"),
            ("prompts_differ", self.prompts_differ, "sides that answer different wordings of their task (case and white space apart); the "
             "chosen side's prompt is written"),
        ]
        lines = [(code, f"{_of(count, pairs)} {text}.") for code, count, text in found if count]
        for code, count, what in (
            ("without_prompt", self.without_prompt, "prompt"), ("without_token_counts", self.without_token_counts, "token counts"),
        ):
            if count:
                lines.append((code, f"{_of(count, pairs)} no {what}: an ingest quarantines such rows. Give each rollout its {what}."))
        if self.without_scores:
            lines.append((
                "without_scores", f"{_of(self.without_scores, pairs)} a reward of more digits than a double holds: the pairing went by the "
                "rewards as they were written, and such a row carries no score, since it would be another number.",
            ))
        repeated, fallback = self.pairing.repeated_runs, self.pairing.grouped_by["prompt"]
        if repeated:
            lines.append((
                "repeated_rollouts", f"{count_of(repeated, 'rollout')} with the number of another one of the task and policy: each was taken for a "
                "rollout of its own. Hand each over once, under its own number.",
            ))
        if fallback:
            lines.append((
                "grouped_by_prompt", f"{count_of(fallback, 'rollout')} without a task, grouped by the prompt without regard to case and white space: "
                "two tasks of one wording would be one. Give each rollout its task id.",
            ))
        return lines

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON."""
        pairing, rules = self.pairing, self.pairing.rules
        return {
            "report": "pairs_from_rollouts", "version": REPORT_VERSION,
            "rules": {
                "pair_pass_reward": exact_and_near(rules.pass_reward), "min_reward_margin": exact_and_near(rules.min_margin),
                "max_pairs_per_task": rules.most, "length_matched": rules.length_matched,
            },
            "rows": pairing.rows, "rows_in_pairs": pairing.rows - sum(pairing.unused.values()), "rows_unused": dict(sorted(pairing.unused.items())),
            "grouped_by": dict(sorted(pairing.grouped_by.items())),
            "least_reward": exact_and_near(pairing.least_reward), "most_reward": exact_and_near(pairing.most_reward),
            "repeated_rollouts": pairing.repeated_runs, "tasks_seen": pairing.tasks_seen, "tasks_with_contrast": pairing.tasks_with_contrast,
            "same_reply_combinations": {name: count for name, count in sorted(pairing.ruled_out.items()) if count},
            "pairs": len(pairing.pairs), "mean_margin": exact_and_near(self.mean_margin), "partial_score_pairs": self.partial_score_pairs,
            "first_turn_identical": self.first_turn_identical, "trainer_pairs": self.trainer_pairs, "same_policy_pairs": self.same_policy_pairs,
            "mixed_policy_pairs": self.mixed_policy_pairs,
            "mixed_grader_pairs": self.mixed_grader_pairs, "graders": dict(sorted(pairing.graders.items())),
            "prompts_differ": self.prompts_differ, "eval_sourced": self.eval_sourced,
            "without_prompt": self.without_prompt, "without_token_counts": self.without_token_counts, "without_log_probs": self.without_log_probs,
            "without_scores": self.without_scores,
            "length": self.length.as_dict(), "warnings": [{"code": code, "text": text} for code, text in self.warnings],
        }


def _of(count: int, pairs: int) -> str:
    return f"{count:,} of {count_of(pairs, 'pair')} {'has' if count == 1 else 'have'}"


def _short(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else str(float(value))


def reason_text(code: str, faults: Mapping[str, str]) -> str:
    """What a reason means, of this module's or the reader's."""
    return REASONS.get(code) or faults.get(code, code)
