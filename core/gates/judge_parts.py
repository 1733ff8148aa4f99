"""What every part of the evidence about a judge shares: a value or the reason why there is none, and the grid's rules."""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from core.grid import Grid
from core.statistics.inputs import ALPHA, CONFIDENCE
from core.statistics.result import Result
from core.statistics.threshold_sweep import GateBounds

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Part(Result, Generic[Found]):
    """A part of the evidence: ``value``, or None with ``reason``: what would have to be supplied, or why it is not defined."""

    value: Found | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class EvidenceRules:
    """What the grid says about evidence: the gate's bounds, the confidence of intervals, the level of tests and proofs."""

    bounds: GateBounds
    confidence: Fraction
    alpha: Fraction

    @classmethod
    def of(cls, grid: Grid) -> EvidenceRules:
        """The rules of a grid; one of schema 1 says nothing about confidence."""
        bounds = GateBounds(
            grid.fraction("min_cohens_kappa"), grid.fraction("max_false_positive_rate"), grid.fraction("min_exact_agreement"),
        )
        confidence = grid.optional_fraction("evidence_confidence")
        return cls(bounds, CONFIDENCE, ALPHA) if confidence is None else cls(bounds, confidence, 1 - confidence)
