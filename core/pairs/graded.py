"""Graded replies, as pairing reads them: what a row must have, how long a reply is, and when two replies are the same.

Pairing keeps no text: each row becomes a small :class:`Candidate` with digests, and the texts of the rows that end in a pair
are read again when the pairs are written.
"""
from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Protocol

from core.canonical import canonical_bytes
from core.pairs.normal_forms import SPACES, is_blank

ASSISTANT: Final = "assistant"
_USER: Final = "user"
_PLAIN: Final = {"role", "content"}
Turn = dict[str, Any]


class ReplyTexts(Protocol):
    """The texts of one reply and of its prompt, with the RFC 8785 text of their messages where they came as messages."""

    @property
    def prompt(self) -> str | None: ...
    @property
    def prompt_messages(self) -> str | None: ...
    @property
    def response(self) -> str | None: ...
    @property
    def response_messages(self) -> str | None: ...


class GradedReply(ReplyTexts, Protocol):
    """One reply with its reward: what ``core.rounds.readers.rollouts`` yields, and anything of the same shape.

    ``reward`` is exact, or None and then ``fault`` says why. Log-probs are sums in nats over ``token_count`` tokens. ``run`` numbers
    the replies of a policy to a task. ``task_number``: the task's id was an integer, and its decimal text is the id here.
    """

    @property
    def line(self) -> int: ...
    @property
    def task_id(self) -> str | None: ...
    @property
    def task_number(self) -> bool: ...
    @property
    def run(self) -> int | None: ...
    @property
    def reward(self) -> Fraction | None: ...
    @property
    def fault(self) -> str | None: ...
    @property
    def policy(self) -> str | None: ...
    @property
    def policy_logp(self) -> float | None: ...
    @property
    def ref_logp(self) -> float | None: ...
    @property
    def token_count(self) -> int | None: ...
    @property
    def finish_reason(self) -> str | None: ...
    @property
    def grader(self) -> str | None: ...
    @property
    def source(self) -> str | None: ...


def folded_prompt(prompt: str) -> str:
    """The declared fallback where a row names no task: the prompt without regard to case and white space."""
    return " ".join(prompt.casefold().split())


def turns_of(reply: ReplyTexts) -> list[Turn] | None:
    """The reply as messages, or None where it is plain text. A final text that is not the last assistant turn is one more turn."""
    if reply.response_messages is None:
        return None
    turns: list[Turn] = json.loads(reply.response_messages)
    if _final_text(reply, turns) is not None:
        turns.append({"role": ASSISTANT, "content": reply.response})
    return turns


def _final_text(reply: ReplyTexts, turns: list[Turn]) -> str | None:
    """The text of the reply where it says something that its messages do not."""
    if not reply.response or reply.response == _flattened(turns):
        return None
    said = [turn.get("content") or "" for turn in turns if turn["role"] == ASSISTANT]
    return None if said and said[-1] == reply.response else reply.response


def _flattened(turns: list[Turn]) -> str:
    """The text of a message list as rounds store it (engine rules, section 3)."""
    return "".join(
        f"{turn['role']}\n{turn.get('content') or ''}\n{'' if turn.get('tool_calls') is None else canonical_bytes(turn['tool_calls']).decode()}"
        for turn in turns
    )


def assistant_text(turns: Iterable[Turn]) -> str:
    """What the assistant wrote, without tool calls and without what others said in between."""
    return "\n".join(turn.get("content") or "" for turn in turns if turn["role"] == ASSISTANT)


def reply_length(reply: ReplyTexts) -> int:
    """Characters that the assistant wrote: the contents of its turns, and the final text where it is not the last of them.
    Tool calls, and the turns of users and tools, do not count."""
    turns = turns_of(reply)
    if turns is None:
        return len(reply.response or "")
    return sum(len(turn.get("content") or "") for turn in turns if turn["role"] == ASSISTANT)


def prompt_turns(reply: ReplyTexts) -> list[Turn]:
    """The prompt as messages."""
    if reply.prompt_messages is not None:
        turns: list[Turn] = json.loads(reply.prompt_messages)
        return turns
    return [{"role": _USER, "content": reply.prompt or ""}]


def reply_turns(reply: ReplyTexts) -> list[Turn]:
    """The reply as messages, a plain text as one assistant turn."""
    return turns_of(reply) or [{"role": ASSISTANT, "content": reply.response or ""}]


def content_digest(reply: ReplyTexts) -> bytes:
    """SHA-256 of the reply as messages: what tells that a second reading saw the same rollout."""
    return _digest(reply_turns(reply))


def folded_digest(reply: ReplyTexts) -> bytes:
    """SHA-256 of the prompt as messages, without regard to case and white space."""
    return _digest([turn | {"content": folded_prompt(turn.get("content") or "")} for turn in prompt_turns(reply)])


def _digest(turns: list[Turn]) -> bytes:
    """SHA-256 of messages. Lone turns of plain text are most of what there is, and are hashed without being written as JSON; their
    bytes begin with a role, those of JSON with a bracket."""
    if len(turns) == 1 and turns[0].keys() == _PLAIN and isinstance(turns[0]["content"], str) and turns[0]["role"] in (ASSISTANT, _USER):
        return hashlib.sha256(f"{turns[0]['role']}\n{turns[0]['content']}".encode()).digest()
    return hashlib.sha256(canonical_bytes(turns)).digest()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A usable rollout without its texts. ``place``: its position in the input, from 0. ``exact``, ``trimmed``, ``first_turn`` and
    ``prompt`` are digests: equal means the same reply, the same but for outer white space, the same first turn, the same prompt but for case and
    white space."""

    place: int
    reward: Fraction
    length: int
    exact: bytes
    trimmed: bytes
    first_turn: bytes
    prompt: bytes
    policy: str | None
    grader: str | None
    run: int | None
    held_out: bool
    prompted: bool
    """Whether its row has a prompt."""
    counted: bool
    """Whether it has a token count."""
    measured: bool
    """Whether it has both log-prob sums."""

    @property
    def order(self) -> tuple[Fraction, str, int, bytes, bytes, int]:
        """Rank order: highest reward first, then policy, run and content; never the position, unless all else is equal."""
        return -self.reward, self.policy or "", -1 if self.run is None else self.run, self.exact, self.prompt, self.place


def is_empty(reply: ReplyTexts) -> bool:
    """Whether the reply says nothing and calls no tool."""
    turns = turns_of(reply)
    if turns is None:
        return is_blank(reply.response or "")
    return not any(turn.get("tool_calls") for turn in turns) and is_blank(assistant_text(turns))


def candidate_of(reply: GradedReply, reward: Fraction, place: int, *, held_out: bool) -> Candidate:
    """A usable reply without its texts."""
    turns = reply_turns(reply)
    stripped = [turn | {"content": (turn.get("content") or "").strip(SPACES)} for turn in turns]
    first = next((turn for turn in turns if turn["role"] == ASSISTANT), turns[0])
    return Candidate(
        place=place, reward=reward, length=reply_length(reply), exact=_digest(turns), trimmed=_digest(stripped), first_turn=_digest([first]),
        prompt=folded_digest(reply), policy=reply.policy, grader=reply.grader, run=reply.run, held_out=held_out,
        prompted=reply.prompt is not None or reply.prompt_messages is not None, counted=reply.token_count is not None,
        measured=reply.policy_logp is not None and reply.ref_logp is not None,
    )
