"""What pair curation reads of the grid, frozen: exact rationals for decisions and the names of the enforced keys."""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from core.grid import Grid


@dataclass(frozen=True, slots=True)
class CurationRules:
    """The grid's numbers for pairs. ``min_margin`` is strict, the other bounds are inclusive; units as in the grid."""

    beta: Fraction
    alpha: Fraction
    min_margin: Fraction
    max_length_ratio: Fraction
    min_drift: Fraction
    loss_quantum: Fraction
    enforced_keys: tuple[str, ...]

    @classmethod
    def from_grid(cls, grid: Grid) -> CurationRules:
        return cls(
            beta=grid.fraction("dpo_beta"), alpha=grid.fraction("rpo_nll_alpha"), min_margin=grid.fraction("min_dpo_margin"),
            max_length_ratio=grid.fraction("max_length_ratio"), min_drift=grid.fraction("min_chosen_logp_drift_per_token"),
            loss_quantum=grid.fraction("loss_quantum"), enforced_keys=grid.names("enforced_dedup_keys"),
        )
