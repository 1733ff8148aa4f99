"""How the pair browser names things: sub-codes, keys, orders, verifier flags, the headline of each list. Closed sets and counts only."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from core.rounds.queries import StateCounts
from dashboard import words

INVALID_TITLES: Final[Mapping[str, str]] = {
    "duplicate_pair_id": "another row has the same pair id", "missing_logp": "a log-probability is missing",
    "non_finite_logp": "a log-probability is not finite", "positive_logp": "a log-probability is above 0, or beyond any real one",
    "bad_token_count": "a token count is below 1", "empty_prompt": "the prompt is empty", "empty_completion": "an answer is empty",
    "overflow": "a log-ratio overflows", "identical": "the two answers are identical",
    "identical_after_trim": "the two answers are identical but for outer white space",
}
KEY_TITLES: Final[Mapping[str, str]] = {
    "prompt_normalized_sha256": "normalised prompt", "chosen_structural_skeleton_sha256": "skeleton of the chosen answer",
    "joint_transition_pair_sha256": "prompt and both answers together",
}
ORDER_TITLES: Final[Mapping[str, str]] = {
    "drift": "lowest drift first", "drift-high": "highest drift first", "margin": "lowest margin first", "margin-high": "highest margin first",
    "ratio": "most equal lengths first", "ratio-high": "most unequal lengths first", "loss": "lowest loss first", "loss-high": "highest loss first",
    "rank": "rank of admission", "input": "order of the input", "id": "pair id",
}
SHORT_REASONS: Final[Mapping[str, str]] = {
    "invalid_record": "invalid", "unverified": "unverified", "non_positive_margin": "margin", "length_bias": "ratio", "logp_collapse": "drift",
    "duplicate": "duplicate",
}
"""For a narrow column; the pair itself names them in full."""
STATE_TITLES: Final[Mapping[str, str]] = {"rejected": "Rejected", "admitted": "Admitted", "held": "Held", "quarantined": "Quarantined"}
STATE_BADGES: Final[Mapping[str, tuple[words.Tone, str]]] = {"admitted": ("ok", "check"), "rejected": ("bad", "refuse"), "held": ("off", "pause")}
"""State of a pair -> (tone, icon)."""


_PASSES: Final[Mapping[bool | None, str]] = {True: "chosen passes", False: "chosen does not pass", None: "no verdict on chosen"}
_FAILS: Final[Mapping[bool | None, str]] = {True: "rejected fails", False: "rejected does not fail", None: "no verdict on rejected"}


def flag_words(pair: Mapping[str, Any]) -> str:
    """The verifier's two flags in words."""
    return f"{_PASSES[pair['chosen_verified_pass']]}, {_FAILS[pair['rejected_tombstone_fail']]}"


def headline_words(state: str, counts: StateCounts, reasons: Sequence[Mapping[str, Any]], held: Sequence[Mapping[str, Any]]) -> str:
    """The finding about one list of pairs, in one line."""
    number: int = getattr(counts, state)
    if state == "quarantined":
        return f"{words.plural(number, 'input row')} could not be typed" if number else "Every input row could be typed"
    noun = words.plural(number, f"{state} pair")
    if not number:
        return f"No pair is {state}"
    if state == "rejected":
        most = max(row["primary_pairs"] for row in reasons)
        first = [row["reason"] for row in reasons if row["primary_pairs"] == most]
        if len(first) > 1:
            return f"{noun}, for {words.plural(sum(row['primary_pairs'] > 0 for row in reasons), 'different reason')}"
        return f"{noun}, {words.count(most)} of them for: {words.REASON_TITLES[first[0]].lower()}"
    if state == "held":
        return f"{noun}: {words.plural(len({row['judge_id'] for row in held}), 'judge')} may not feed synthetic pairs"
    return f"{noun} would train the next generation"
