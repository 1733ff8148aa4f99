"""``pairing`` of round.json: how the proposer says that the pairs were made of the rollouts, beyond what the grid says.

``policy``: only the rollouts of this policy were paired. ``holdout_graders``: graders (or sources) that score the holdout, so that a reward of
theirs is one of the holdout. Both may be left out, not both at once. Stored only where it was declared, and only beside the part
``rollouts``; it decides nothing (decision 020).
"""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from core.errors import RoundError, Where
from core.rounds.strict import Reader
from core.settings import SETTINGS

KEY: Final = "pairing"
PART: Final = "rollouts"
_KEYS: Final = ("policy", "holdout_graders")
_NAME: Final[int] = SETTINGS["text"]["id_characters"]


@dataclass(frozen=True, slots=True)
class DeclaredPairing:
    """What was declared. ``holdout_graders`` in the order in which they were named."""

    policy: str | None = None
    holdout_graders: tuple[str, ...] = ()

    def words(self) -> str:
        """The declaration in a few words."""
        graders = ", ".join(self.holdout_graders)
        return "; ".join([
            f"of the policy {self.policy}" if self.policy is not None else "of every policy",
            f"the holdout is scored by {graders}" if graders else "no grader of the holdout named",
        ])

    def document(self) -> dict[str, Any]:
        return {"policy": self.policy, "holdout_graders": list(self.holdout_graders)}


def read_pairing(round_json: Reader, *, stored: bool) -> DeclaredPairing | None:
    """``pairing`` of a round.json, or None where it has none. Raises RoundError naming the place."""
    if not round_json.has(KEY) and not (stored and KEY in round_json.value):
        return None
    source = round_json.object(KEY)
    source.keys(_KEYS, _KEYS if stored else ())
    graders = source.texts("holdout_graders") if stored or source.has("holdout_graders") else ()
    for position, name in enumerate(graders):
        if len(name) > _NAME or name in graders[:position]:
            source.refuse(
                f"holdout_graders[{position}]", "unknown_value", f"each grader once, in at most {_NAME} characters", repr(name[:_NAME]),
                "correct the list",
            )
    found = DeclaredPairing(source.optional_text("policy", limit=_NAME), graders)
    if found == DeclaredPairing():
        round_json.refuse(KEY, "empty_list", "a policy, holdout graders, or no such key", "neither", f"leave {KEY} out")
    return found


def check_stated(found: DeclaredPairing | None, parts: Collection[str], file: str) -> None:
    """Refuse a declaration about rollouts that the round does not have."""
    if found is not None and PART not in parts:
        raise RoundError(
            "part_not_supplied", expected=f"the part {PART}, which {KEY} speaks of", got="a round without it",
            remedy=f"supply the rollouts that the pairs were made of, or leave {KEY} out", where=Where(file, field=KEY),
        )
