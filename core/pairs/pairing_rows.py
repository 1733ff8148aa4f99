"""Pairs as rows of a round's ``pairs`` part: the rollouts are read a second time, and only texts that end in a pair are kept."""
from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from core.errors import RoundError
from core.pairs.graded import Candidate, GradedReply, content_digest, prompt_turns, reply_turns
from core.pairs.pairing import Pairing, TaskPair
from core.settings import SETTINGS

_SHOWN: Final[int] = SETTINGS["display"]["digest_characters"]
_ID_CHARACTERS: Final[int] = SETTINGS["text"]["id_characters"]
ORIGIN: Final = "verified"
"""A program graded both sides."""
Row = dict[str, Any]


def pair_id(pair: TaskPair) -> str:
    """``task/chosen/rejected``, each part percent-encoded; a digest of it where that is longer than an id may be. A task known by
    its prompt only has a part of the prompt's digest in its place."""
    kind, name = pair.group
    task = quote(name, safe="") if kind == "task" else f"prompt.{hashlib.sha256(name.encode()).hexdigest()[:_SHOWN]}"
    full = "/".join((task, quote(pair.chosen_id, safe=""), quote(pair.rejected_id, safe="")))
    return full if len(full) <= _ID_CHARACTERS else hashlib.sha256(full.encode()).hexdigest()


def pair_rows(pairing: Pairing, replies: Iterable[GradedReply]) -> Iterator[Row]:
    """The rows, in the order of the pairs. ``replies``: the same rollouts in the same order as were paired.

    Raises RoundError ``rollouts_changed`` where they are not, ``duplicate_pair_id`` where two pairs come out with one id.
    """
    wanted = {side.place for pair in pairing.pairs for side in (pair.chosen, pair.rejected)}
    kept = {place: reply for place, reply in enumerate(replies) if place in wanted}
    seen: set[str] = set()
    for pair in pairing.pairs:
        row = _row(pair, _same(pair.chosen, kept), _same(pair.rejected, kept))
        if row["pair_id"] in seen:
            raise RoundError("duplicate_pair_id", expected="one pair an id", got=row["pair_id"], remedy="give each rollout of a task its own number")
        seen.add(row["pair_id"])
        yield row


def _same(side: Candidate, kept: Mapping[int, GradedReply]) -> GradedReply:
    """The rollout that was paired, read again."""
    reply = kept.get(side.place)
    if reply is None or content_digest(reply) != side.exact:
        raise RoundError(
            "rollouts_changed", expected="the rollouts that were paired", got="others, when their texts were read",
            remedy="run it again on files at rest",
        )
    return reply


def _row(pair: TaskPair, chosen: GradedReply, rejected: GradedReply) -> Row:
    row: Row = {"pair_id": pair_id(pair), "origin": ORIGIN, **_texts(chosen, rejected)}
    row |= {"chosen_verified_pass": True, "rejected_tombstone_fail": True}
    if pair.scored:
        row |= {"chosen_score": float(pair.chosen.reward), "rejected_score": float(pair.rejected.reward)}
    if chosen.task_id is not None:
        row["task_id"] = chosen.task_id
    for side, reply in (("chosen", chosen), ("rejected", rejected)):
        if reply.token_count is not None:
            row[f"{side}_token_count"] = reply.token_count
        if pair.same_policy is not False:
            sums = {f"policy_logp_{side}": reply.policy_logp, f"ref_logp_{side}": reply.ref_logp}
            row |= {name: value for name, value in sums.items() if value is not None}
    if pair.same_policy:
        row["source"] = chosen.policy
    return row


def _texts(chosen: GradedReply, rejected: GradedReply) -> Row:
    """Prompt and sides: texts where all of them are, else messages on both sides."""
    plain = chosen.response_messages is None and rejected.response_messages is None
    row: Row = {}
    if chosen.prompt_messages is not None or (chosen.prompt is not None and not plain):
        row["prompt"] = prompt_turns(chosen)
    elif chosen.prompt is not None:
        row["prompt"] = chosen.prompt
    if plain:
        return row | {"chosen": chosen.response, "rejected": rejected.response}
    return row | {"chosen": reply_turns(chosen), "rejected": reply_turns(rejected)}
