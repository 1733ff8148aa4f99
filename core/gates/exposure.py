"""How often a holdout was looked at, told by what its items contain.

An item is known by the digest of its prompt's normal form (case, width, white space and end marks do not make a new item),
or of everything but its id where it has no prompt text. A look is one round that was decided on the items, promoted or
refused; deciding the same round again shows nothing new.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.canonical import canonical_bytes, sha256_hex
from core.pairs.keys import framed_digest
from core.pairs.normal_forms import is_blank, p1
from core.statistics.result import Result
from core.statistics.reuse import Exposure, exposure


def item_digest(item: Mapping[str, Any]) -> str:
    """The content digest of a holdout item, whatever its id."""
    prompt = item.get("prompt")
    if isinstance(prompt, str) and not is_blank(prompt):
        return framed_digest("p1", p1(prompt))
    return sha256_hex(canonical_bytes({key: value for key, value in item.items() if key != "id"}))


@dataclass(frozen=True, slots=True)
class Look(Result):
    """One decision on a holdout: what a line of the exposure record holds."""

    round_digest: str
    grid_digest: str
    items: tuple[str, ...]


def look_at(items: Iterable[Mapping[str, Any]], *, round_digest: str, grid_digest: str) -> Look:
    """The look that deciding a round takes; digests sorted, so that an order hides nothing and tells nothing."""
    return Look(round_digest, grid_digest, tuple(sorted({item_digest(item) for item in items})))


def exposure_before(looks: Sequence[Look], look: Look) -> Exposure:
    """Earlier looks at the items of this one: other rounds only, each counted once whatever grids it was decided under."""
    others = {earlier.round_digest: earlier.items for earlier in looks if earlier.round_digest != look.round_digest}
    return exposure(others.values(), look.items)
