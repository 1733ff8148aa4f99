"""Where a pair's prompt ends and its answers begin.

``as-reviewed``        the split that the round was curated and reviewed with: the prompt up to the last shared user turn
``divergence``         the prompt is everything that both sides share, and each answer is the one assistant turn in which they part;
                       later turns are cut. For trainers that compare single turns.
``first-assistant``    the prompt is everything before the first assistant turn, the answers are all the rest

Any split but the first makes other completions than those whose log-probabilities the round states.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from core.canonical import canonical_bytes
from core.export.pairs import Content, ExportPair, Message

AS_REVIEWED: Final = "as-reviewed"
_ASSISTANT: Final = "assistant"


class Unfit(Exception):
    """A pair that a shape or a split cannot say. Its text is the reason, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class Split:
    """A pair with its prompt and answers as wanted. ``cut``: whether later turns were left out."""

    pair: ExportPair
    cut: bool = False


def as_messages(content: Content, role: str) -> list[Message]:
    """Messages as they are; a text as the one message of ``role`` that it is the content of."""
    return [{"role": role, "content": content}] if isinstance(content, str) else content


def conversation(pair: ExportPair) -> ExportPair:
    """The pair with every side as messages: a text prompt is a user turn, a text answer an assistant turn."""
    return replace(
        pair, prompt=as_messages(pair.prompt, "user"), chosen=as_messages(pair.chosen, _ASSISTANT),
        rejected=as_messages(pair.rejected, _ASSISTANT),
    )


def whole(pair: ExportPair) -> tuple[list[Message], list[Message]]:
    """Both sides as whole conversations, prompt included."""
    both = conversation(pair)
    assert isinstance(both.prompt, list) and isinstance(both.chosen, list) and isinstance(both.rejected, list)
    return [*both.prompt, *both.chosen], [*both.prompt, *both.rejected]


def _as_reviewed(pair: ExportPair) -> Split:
    return Split(pair)


def _at_divergence(pair: ExportPair) -> Split:
    if not pair.has_messages:
        return Split(pair)
    chosen, rejected = whole(pair)
    shared = _shared(chosen, rejected)
    ends = [side[shared] if shared < len(side) else None for side in (chosen, rejected)]
    one, other = ends
    if one is None or other is None or one["role"] != _ASSISTANT or other["role"] != _ASSISTANT:
        raise Unfit("its sides do not part in an assistant turn of each")
    cut = len(chosen) > shared + 1 or len(rejected) > shared + 1
    return Split(replace(pair, prompt=chosen[:shared], chosen=[one], rejected=[other]), cut)


def _at_first_assistant(pair: ExportPair) -> Split:
    if not pair.has_messages:
        return Split(pair)
    chosen, rejected = whole(pair)
    start = next((place for place, message in enumerate(chosen) if message["role"] == _ASSISTANT), len(chosen))
    if start == len(chosen) or start >= len(rejected) or _shared(chosen, rejected) < start or rejected[start]["role"] != _ASSISTANT:
        raise Unfit("its sides differ before the first assistant turn")
    return Split(replace(pair, prompt=chosen[:start], chosen=chosen[start:], rejected=rejected[start:]))


def _shared(chosen: list[Message], rejected: list[Message]) -> int:
    """How many messages both begin with."""
    count = 0
    for one, other in zip(chosen, rejected, strict=False):
        if canonical_bytes(one) != canonical_bytes(other):
            break
        count += 1
    return count


SPLITS: Final[Mapping[str, Callable[[ExportPair], Split]]] = {
    AS_REVIEWED: _as_reviewed, "divergence": _at_divergence, "first-assistant": _at_first_assistant,
}
"""What ``--turns`` may say."""
