"""Which pairs are drawn, in which order, and which answer is shown first: from a seed, the same on every machine.

Method ``sha256-rank-1``. Let ``base(use)`` be the SHA-256 of the RFC 8785 bytes of the list
``["countersign-sample-1", use, seed, round digest, SHA-256 of the list of admitted pairs]``. Pairs are ordered by
SHA-256(base("order") followed by the UTF-8 bytes of the pair id), smallest first, and the first n are the sample. The
chosen answer of a pair is shown first when the first byte of SHA-256(base("side") followed by the pair id) is even. No
random number generator of a language or a machine takes part, so anybody can draw the sample again.
"""
from __future__ import annotations

import hashlib
import heapq
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

from core.canonical import canonical_bytes, sha256_hex
from core.gates.assessment import Assessment
from core.settings import SETTINGS

DRAW: Final = "sha256-rank-1"
"""Name of the method; it stands in what is written down, so that another one cannot be mistaken for it."""
_TAG: Final = "countersign-sample-1"
Side = Literal["chosen", "rejected"]


@dataclass(frozen=True)
class Population:
    """The admitted pairs of one assessment. ``admitted_sha256``: of the list that a decision names, so two populations with the
    same digests are the same."""

    round_digest: str
    admitted_sha256: str
    pair_ids: tuple[str, ...] = field(compare=False, repr=False)

    @classmethod
    def of(cls, assessment: Assessment) -> Population:
        """The admitted pairs of an assessment."""
        return cls(assessment.round_digest, sha256_hex(assessment.admitted_pairs_bytes()), tuple(assessment.admitted_pair_ids()))

    @property
    def size(self) -> int:
        """How many pairs were admitted."""
        return len(self.pair_ids)


def _base(use: str, seed: str, population: Population) -> bytes:
    return hashlib.sha256(canonical_bytes([_TAG, use, seed, population.round_digest, population.admitted_sha256])).digest()


@lru_cache(maxsize=int(SETTINGS["sampling"]["cached_draws"]))
def drawn(population: Population, seed: str, size: int) -> tuple[str, ...]:
    """Ids of the first ``size`` pairs of the random order of this seed."""
    base = _base("order", seed, population)
    return tuple(heapq.nsmallest(size, population.pair_ids, key=lambda pair_id: hashlib.sha256(base + pair_id.encode()).digest()))


def shown_first(population: Population, seed: str, pair_id: str) -> Side:
    """Which answer of the pair is shown first under this seed."""
    first_byte = hashlib.sha256(_base("side", seed, population) + pair_id.encode()).digest()[0]
    return "rejected" if first_byte & 1 else "chosen"
