"""Margin, length ratio, drift and loss of the valid rows of a batch: which reasons apply, and the columns that show them."""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from core.pairs import objective
from core.pairs.columns import Flags, doubles, integers, scattered
from core.pairs.objective import Doubles, Integers, Quanta
from core.pairs.rules import CurationRules

FIGURE_REASONS: Final = ("non_positive_margin", "length_bias", "logp_collapse")
_SIDES: Final = ("rejected", "equal", "chosen")


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of each valid pair: log-probabilities in nats, counts in tokens."""

    policy_chosen: Doubles
    ref_chosen: Doubles
    policy_rejected: Doubles
    ref_rejected: Doubles
    chosen_tokens: Integers
    rejected_tokens: Integers

    @classmethod
    def of(cls, narrow: pa.RecordBatch, rows: npt.NDArray[np.int64]) -> Measured:
        wanted = pa.array(rows)

        def logps(name: str) -> Doubles:
            return doubles(narrow[name].take(wanted))

        def counts(name: str) -> Integers:
            return integers(narrow[name].take(wanted))

        return cls(
            logps("policy_logp_chosen"), logps("ref_logp_chosen"), logps("policy_logp_rejected"), logps("ref_logp_rejected"),
            counts("chosen_token_count"), counts("rejected_token_count"),
        )

    @property
    def chosen(self) -> tuple[Doubles, Doubles]:
        return self.policy_chosen, self.ref_chosen

    @property
    def rejected(self) -> tuple[Doubles, Doubles]:
        return self.policy_rejected, self.ref_rejected

    def margin_at(self, row: int, beta: Fraction) -> Fraction:
        return objective.exact_margin(
            (self.policy_chosen[row], self.ref_chosen[row]), (self.policy_rejected[row], self.ref_rejected[row]), beta,
        )

    def ratio_at(self, row: int) -> Fraction:
        return objective.exact_ratio(self.chosen_tokens[row], self.rejected_tokens[row])

    def drift_at(self, row: int) -> Fraction:
        return objective.exact_drift(self.policy_chosen[row], self.ref_chosen[row], self.chosen_tokens[row])

    def nll_at(self, row: int) -> Fraction:
        return objective.exact_nll(self.policy_chosen[row], self.chosen_tokens[row])


@dataclass(frozen=True, slots=True)
class Figures:
    """``fails``: one mask a reason of FIGURE_REASONS; ``columns``: figures by SCORED name, null in rows that are not valid."""

    fails: list[Flags]
    columns: dict[str, Any]


def figures_of(narrow: pa.RecordBatch, rows: npt.NDArray[np.int64], rules: CurationRules) -> Figures:
    """Figures of the valid rows of a batch. ``rows``: their positions, ascending."""
    measured, length = Measured.of(narrow, rows), narrow.num_rows
    estimate = objective.margins(measured.chosen, measured.rejected, rules.beta)
    margin_side, margin = objective.compare(estimate, rules.min_margin, lambda row: measured.margin_at(row, rules.beta))
    estimated_ratio = objective.ratios(measured.chosen_tokens, measured.rejected_tokens)
    ratio_side, ratio = objective.compare(estimated_ratio, rules.max_length_ratio, measured.ratio_at)
    estimated_drift = objective.drifts(measured.policy_chosen, measured.ref_chosen, measured.chosen_tokens)
    drift_side, drift = objective.compare(estimated_drift, rules.min_drift, measured.drift_at)
    nll = 0 - measured.policy_chosen / measured.chosen_tokens
    quanta = objective.loss_quanta(
        estimate, nll, rules.alpha, rules.loss_quantum, lambda row: (measured.margin_at(row, rules.beta), rules.alpha * measured.nll_at(row)),
    )
    columns = {
        "margin": _finite(margin), "drift": _finite(drift), "length_ratio": _finite(ratio), "longer_side": _longer(measured),
        "rpo_loss": _finite(objective.loss_values(quanta, rules.loss_quantum)), "nll_per_token": _finite(nll),
        "loss_quanta": pa.array(quanta.steps, mask=quanta.steps < 0), "loss_quanta_text": _digits(quanta),
    }
    return Figures(
        [_spread(rows, failing, length) for failing in (margin_side <= 0, ratio_side > 0, drift_side < 0)],
        {name: scattered(rows, column, length) for name, column in columns.items()},
    )


def _spread(rows: npt.NDArray[np.int64], failing: Flags, length: int) -> Flags:
    mask = np.zeros(length, dtype=np.bool_)
    mask[rows] = failing
    return mask


def _finite(values: Doubles) -> pa.Array:
    """A column for display: a figure that no double can hold is null, never infinite."""
    return pa.array(values, mask=~np.isfinite(values))


def _longer(measured: Measured) -> Any:
    return pa.array(_SIDES, pa.string()).take(pa.array(np.sign(measured.chosen_tokens - measured.rejected_tokens) + 1))


def _digits(quanta: Quanta) -> Any:
    wide = sorted(quanta.wide)
    return scattered(np.array(wide, dtype=np.int64), pa.array([str(quanta.wide[row]) for row in wide], pa.string()), len(quanta.steps))
