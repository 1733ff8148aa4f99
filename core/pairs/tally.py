"""Counts and exact sums over settled rows: what a round's curation came to. The order of the rows does not matter."""
from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.pairs import objective
from core.pairs.columns import Flags, doubles, flags, integers, present
from core.pairs.objective import Doubles
from core.pairs.rules import CurationRules
from core.schemas import DUPLICATE_COLUMNS

ORIGINS: Final = ("verified", "synthetic")
_FIGURES: Final = ("margin", "drift", "rpo_loss")
_LOW_WORD: Final = np.iinfo(np.uint32).bits


def carries(reasons: Any, reason: str) -> Flags:
    """Rows of a list column that hold ``reason``."""
    mask = np.zeros(len(reasons), dtype=np.bool_)
    mask[np.asarray(pc.list_parent_indices(reasons).filter(pc.equal(reasons.flatten(), reason)))] = True
    return mask


def counted(column: Any) -> Counter[str]:
    """How often each value stands in a column, nulls left out."""
    found = pc.value_counts(column.drop_null())
    return Counter(dict(zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True)))


def integer_sum(values: Any) -> int:
    """The exact sum of a 64-bit integer column of any length, nulls left out."""
    known = integers(values.drop_null())
    high, low = known >> _LOW_WORD, known & np.iinfo(np.uint32).max
    return (int(high.sum()) << _LOW_WORD) + int(low.sum())


def mean(parts: list[Doubles]) -> float | None:
    """Mean for display, the same in any order: one correctly rounded sum and one division; None for no values, or where
    a figure was too large for a double."""
    values = np.concatenate(parts) if parts else np.zeros(0)
    if not len(values) or not np.isfinite(values).all():
        return None
    try:
        return math.fsum(values.tolist()) / len(values)
    except OverflowError:
        return objective.nearest_double(objective.exact_sum(values) / len(values))


@dataclass
class Group:
    """Figures of one group of rows, kept until their mean is asked for."""

    margin: list[Doubles] = field(default_factory=list)
    drift: list[Doubles] = field(default_factory=list)
    rpo_loss: list[Doubles] = field(default_factory=list)

    def add(self, rows: pa.RecordBatch, wanted: Flags) -> None:
        for name in _FIGURES:
            getattr(self, name).append(doubles(rows[name])[wanted])

    @property
    def pairs(self) -> int:
        return sum(map(len, self.margin))


@dataclass(frozen=True, slots=True)
class LowestDrift:
    """The lowest exact drift of the admitted pairs, and the pair that has it (of several, the first id in byte order)."""

    value: Fraction
    pair_id: str


@dataclass
class Tally:
    """Grows by one batch of settled rows at a time."""

    rules: CurationRules
    states: Counter[str] = field(default_factory=Counter)
    primary: Counter[str] = field(default_factory=Counter)
    rejected_reasons: Counter[str] = field(default_factory=Counter)
    held_reasons: Counter[str] = field(default_factory=Counter)
    sub_code: Counter[str] = field(default_factory=Counter)
    sub_codes: Counter[str] = field(default_factory=Counter)
    duplicate_keys: Counter[tuple[str, ...]] = field(default_factory=Counter)
    """Rejected duplicates by the keys that an admitted pair holds before them: each pair under one combination."""
    held_by: Counter[tuple[str | None, str]] = field(default_factory=Counter)
    synthetic: Counter[tuple[str | None, str]] = field(default_factory=Counter)
    """(judge_id, ``invalid`` | ``held`` | ``passed_on``) -> synthetic pairs."""
    judged: int = 0
    collapsed: int = 0
    valid: dict[str, Group] = field(default_factory=lambda: {name: Group() for name in ORIGINS})
    trapped: Group = field(default_factory=Group)
    trapped_positive: int = 0
    loss_steps: int = 0
    log_ratio_sum: Fraction = field(default_factory=Fraction)
    lowest: LowestDrift | None = None

    def add(self, rows: pa.RecordBatch) -> None:
        """Count one batch."""
        masks = {state: flags(pc.equal(rows["state"], state)) for state in ("admitted", "rejected", "held")}
        invalid = present(rows["sub_code"])
        self._count(rows, masks, invalid)
        self._synthetic(rows, masks["held"], invalid)
        settled = ~invalid & ~masks["held"] & ~carries(rows["reasons"], "unverified")
        self.judged += int(settled.sum())
        self.collapsed += int((settled & carries(rows["reasons"], "logp_collapse")).sum())
        for origin, group in self.valid.items():
            group.add(rows, ~invalid & flags(pc.equal(rows["origin"], origin)))
        trapped = flags(pc.equal(rows["primary_reason"], "logp_collapse"))
        self.trapped.add(rows, trapped)
        self.trapped_positive += int((trapped & ~carries(rows["reasons"], "non_positive_margin")).sum())
        self._admitted(rows.filter(pa.array(masks["admitted"])))

    def _count(self, rows: pa.RecordBatch, masks: dict[str, Flags], invalid: Flags) -> None:
        self.states += counted(rows["state"])
        self.primary += counted(rows["primary_reason"])
        self.sub_code += counted(rows["sub_code"])
        self.sub_codes += counted(rows["sub_codes"].flatten())
        self.rejected_reasons += counted(rows["reasons"].filter(pa.array(masks["rejected"])).flatten())
        self.held_reasons += counted(rows["reasons"].filter(pa.array(masks["held"])).flatten())
        self.held_by += _pair_counts(rows["judge_id"], rows["held_check"], masks["held"])
        self.duplicate_keys += _combinations(rows.filter(pc.equal(rows["primary_reason"], "duplicate")))

    def _synthetic(self, rows: pa.RecordBatch, held: Flags, invalid: Flags) -> None:
        wanted = flags(pc.equal(rows["origin"], "synthetic"))
        outcome = pc.if_else(pa.array(invalid), "invalid", pc.if_else(pa.array(held), "held", "passed_on"))
        self.synthetic += _pair_counts(rows["judge_id"], outcome, wanted)

    def _admitted(self, rows: pa.RecordBatch) -> None:
        if not rows.num_rows:
            return
        self.loss_steps += integer_sum(rows["loss_quanta"]) + sum(map(int, rows["loss_quanta_text"].drop_null().to_pylist()))
        total = {name: objective.exact_sum(doubles(rows[name])) for name in rows.schema.names if "_logp_" in name}
        self.log_ratio_sum += (total["policy_logp_chosen"] - total["ref_logp_chosen"]) - (total["policy_logp_rejected"] - total["ref_logp_rejected"])
        lowest = _lowest_drift(rows)
        if self.lowest is None or _drift_order(lowest) < _drift_order(self.lowest):
            self.lowest = lowest

    @property
    def mean_margin(self) -> Fraction | None:
        """beta * (sum of log-ratio differences) / admitted pairs, exact; None where none is admitted."""
        return self.rules.beta * self.log_ratio_sum / self.states["admitted"] if self.states["admitted"] else None

    @property
    def mean_loss(self) -> Fraction | None:
        """Sum of the quantised losses over admitted pairs, exact; None where none is admitted."""
        return self.rules.loss_quantum * self.loss_steps / self.states["admitted"] if self.states["admitted"] else None


def _pair_counts(first: Any, second: Any, wanted: Flags) -> Counter[tuple[str | None, str]]:
    rows = pa.table({"first": first, "second": second}).filter(pa.array(wanted))
    groups = rows.group_by(["first", "second"], use_threads=False).aggregate([([], "count_all")]).to_pylist()
    return Counter({(group["first"], group["second"]): group["count_all"] for group in groups})


def _combinations(rows: pa.RecordBatch) -> Counter[tuple[str, ...]]:
    held = np.column_stack([present(rows[column]) for column in DUPLICATE_COLUMNS.values()])
    kinds, counts = np.unique(held, axis=0, return_counts=True)
    keys = list(DUPLICATE_COLUMNS)
    return Counter({tuple(key for key, has in zip(keys, kind, strict=True) if has): int(count) for kind, count in zip(kinds, counts, strict=True)})


def _drift_order(drift: LowestDrift) -> tuple[Fraction, bytes]:
    return drift.value, drift.pair_id.encode()


def _lowest_drift(rows: pa.RecordBatch) -> LowestDrift:
    """Exact only for the rows that doubles cannot tell from the lowest one."""
    policy, reference, tokens = doubles(rows["policy_logp_chosen"]), doubles(rows["ref_logp_chosen"]), integers(rows["chosen_token_count"])
    measured = objective.drifts(policy, reference, tokens)
    near = np.flatnonzero(measured.value - measured.error <= np.min(measured.value + measured.error))
    exact: dict[tuple[float, float, int], Fraction] = {}
    found = []
    for row in near.tolist():
        key = (float(policy[row]), float(reference[row]), int(tokens[row]))
        if key not in exact:
            exact[key] = objective.exact_drift(*key)
        found.append(LowestDrift(exact[key], rows["pair_id"][row].as_py()))
    return min(found, key=_drift_order)
