"""Pairs that somebody hands in, as digests, and what can become of them beside the pairs that the rule makes of rollouts.

Texts are compared as messages, exactly: a reply given as text is one assistant turn, a prompt given as text one user turn. Where a dialogue's
prompt ends is a matter of the file: ``GivenText.from_first_reply`` splits a pair as rollouts are that come as whole conversations. Nothing here
holds a text for long.
"""
from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from core.canonical import canonical_bytes
from core.pairs.graded import ASSISTANT, ReplyTexts, Turn, content_digest, folded_digest, prompt_turns, reply_turns
from core.pairs.pairing import TaskPair
from core.pairs.pairing_rows import pair_id

SAME, CHANGED, SWAPPED, NOT_MADE, LACKING = "same", "changed", "swapped", "not_made", "lacking"
KINDS: Final[Mapping[str, str]] = {
    SAME: "the rule makes it too", CHANGED: "a text or the task was changed after pairing",
    SWAPPED: "chosen and rejected were exchanged after pairing",
    NOT_MADE: "the rule does not make it of these rollouts", LACKING: "the rule makes it and the round lacks it",
}
WHY: Final[Mapping[str, str]] = {
    "given_twice": "the round has the same pair once more",
    "no_reply": "neither reply is a rollout of its task", "no_chosen": "the chosen reply is no rollout of its task",
    "no_rejected": "the rejected reply is no rollout of its task", "other_task": "a side is a rollout of another task",
    "unusable": "a side's rollout cannot be used", "graded_the_other_way": "the chosen rollout fails and the rejected one passes",
    "no_contrast": "both rollouts pass, or both fail", "below_margin": "the rewards are not far enough apart",
    "identical_reply": "both sides are the same reply", "not_taken": "it could be paired, but the rule takes other pairs of its task",
    "without_prompt": "its rollouts have no prompt: an ingest quarantines such a row",
    "without_token_counts": "its rollouts have no token counts: an ingest quarantines such a row",
    "task_paired_otherwise": "the round pairs this task in another way", "absent": "the round leaves it out",
}
"""Why a pair is not made, or lacking."""


@dataclass(frozen=True, slots=True)
class GivenText:
    """One side of a pair that was handed in: the texts that pairing reads of a reply."""

    prompt: str | None
    prompt_messages: str | None
    response: str | None
    response_messages: str | None

    def from_first_reply(self) -> GivenText:
        """The same conversation with its prompt ending before the first turn of the assistant; itself where its prompt has no such turn."""
        turns = prompt_turns(self)
        first = _first_reply(turns)
        if first is None:
            return self
        reply = canonical_bytes([*turns[first:], *reply_turns(self)]).decode()
        asked = canonical_bytes(turns[:first]).decode() if first else None
        return replace(self, prompt=None, prompt_messages=asked, response=None, response_messages=reply)


def has_earlier_reply(reply: ReplyTexts) -> bool:
    """Whether the prompt of a rollout holds a turn of the assistant: then its file says itself where the prompt ends."""
    return f'"{ASSISTANT}"' in (reply.prompt_messages or "") and _first_reply(prompt_turns(reply)) is not None


def _first_reply(turns: list[Turn]) -> int | None:
    return next((place for place, turn in enumerate(turns) if turn["role"] == ASSISTANT), None)


@dataclass(frozen=True, slots=True)
class GivenPair:
    """A pair that was handed in, as digests: of both replies, of the prompt, and of the prompt but for case and white space."""

    ordinal: int
    pair_id: str
    task_id: str | None
    chosen: bytes
    rejected: bytes
    prompt: bytes
    folded: bytes

    @classmethod
    def of(cls, ordinal: int, pair_id: str, task_id: str | None, chosen: GivenText, rejected: GivenText) -> GivenPair:
        digests = content_digest(chosen), content_digest(rejected), prompt_digest(chosen), folded_digest(chosen)
        return cls(ordinal, pair_id, task_id or None, *digests)


def prompt_digest(reply: ReplyTexts) -> bytes:
    """SHA-256 of the prompt as messages."""
    return hashlib.sha256(canonical_bytes(prompt_turns(reply))).digest()


@dataclass(frozen=True, slots=True)
class Compared:
    """What became of one pair. ``given`` is None where the round lacks it, ``made`` where the rule does not make it. ``fields``: what was changed
    (``prompt``, ``chosen``, ``rejected``, ``task``); ``why`` is a key of ``WHY`` or ""; ``detail``: why a rollout cannot be used; ``held_out``:
    a reward of the holdout is in it."""

    kind: str
    given: GivenPair | None
    made: TaskPair | None
    why: str = ""
    detail: str = ""
    fields: tuple[str, ...] = ()
    held_out: bool = False

    @property
    def other_id(self) -> bool:
        """Whether the round has the rule's pair under an id of its own."""
        return self.given is not None and self.made is not None and self.given.pair_id != pair_id(self.made)


def tallied(compared: Iterable[Compared]) -> dict[str, Counter[str]]:
    """Pairs by kind (``kind``), not made and lacking ones by reason, changed ones by field, and how many are the same under another id."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("kind", NOT_MADE, LACKING, CHANGED, "held_out", "other_id")}
    for one in compared:
        counts["kind"][one.kind] += 1
        counts["held_out"][one.kind] += one.held_out
        counts["other_id"][one.kind] += one.other_id
        if one.kind in (NOT_MADE, LACKING):
            counts[one.kind][one.why] += 1
        counts[CHANGED].update(one.fields)
    return counts
