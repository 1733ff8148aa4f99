"""How many items would have to come out otherwise for a check to change its verdict.

A rate moves by one count an item. Kappa has no such step: its cells move, so the nearest table on the other side of the
bound is searched for. The verifier's verdicts stand; what moves is what was judged: the candidate's outcome, the judge's
approval.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from core.settings import SETTINGS
from core.statistics.agreement import Confusion, cohen_kappa
from core.statistics.ratio import Ratio
from core.statistics.result import Result

CANNOT_FLIP: Final = "no outcome of these items flips it"
TOO_FAR: Final = "more items than are searched"
_MOST_ITEMS: int = SETTINGS["statistics"]["flip_search_items"]


@dataclass(frozen=True, slots=True)
class FlipDistance(Result):
    """``items``: the fewest that have to come out otherwise; None with a reason where none suffice.

    ``holds``: whether the check holds now. ``unit``: what is counted. ``moves``: for kappa, one way of doing it, cell to cell.
    """

    items: int | None
    holds: bool
    unit: str
    moves: tuple[tuple[str, str, int], ...] = ()
    reason: str | None = None

    @property
    def text(self) -> str:
        """``1 item from failing``, ``12 cases from holding``."""
        if self.items is None:
            return str(self.reason)
        many = f"{self.unit[:-1]}ies" if self.unit.endswith("y") else f"{self.unit}s"
        return f"{self.items:,} {self.unit if self.items == 1 else many} from {'failing' if self.holds else 'holding'}"


def rate_flip_distance(
    ratio: Ratio, bound: Fraction, direction: Literal["max", "min"], *, unit: str = "item", least: int = 0, most: int | None = None,
) -> FlipDistance:
    """Counts between a rate and the other side of an inclusive bound.

    ``least`` and ``most``: the smallest and largest numerator that the items allow (0 and the denominator unless given).

    >>> rate_flip_distance(Ratio(0, 5), Fraction(1, 20), "max").text
    '1 item from failing'
    """
    if ratio.value is None:
        return FlipDistance(None, False, unit, (), f"undefined: {ratio.undefined}")
    limit, now, top = bound * ratio.denominator, ratio.numerator, ratio.denominator if most is None else most
    if direction == "max":
        allowed = math.floor(limit)
        holds, target, reachable = now <= allowed, allowed + 1 if now <= allowed else allowed, (least, top)
    else:
        needed = math.ceil(limit)
        holds, target, reachable = now >= needed, needed - 1 if now >= needed else needed, (least, top)
    if not reachable[0] <= target <= reachable[1]:
        return FlipDistance(None, holds, unit, (), CANNOT_FLIP)
    return FlipDistance(abs(target - now), holds, unit)


def kappa_flip_distance(table: Confusion, bound: Fraction) -> FlipDistance:
    """The fewest verdicts of the judge that would have to differ for kappa to cross an inclusive lower bound.

    An answer that passes moves between tp and fn, one that fails between fp and tn. An undefined kappa does not hold.
    Searched ring by ring around the table, so the first hit is the nearest.
    """
    kappa = cohen_kappa(table)
    holds = kappa.value is not None and kappa.value >= bound
    passed, failed = table.tp + table.fn, table.fp + table.tn
    for changed in range(1, min(passed + failed, _MOST_ITEMS) + 1):
        steps = np.arange(-changed, changed + 1)
        rest = changed - np.abs(steps)
        approved_passed = np.concatenate([table.tp + steps, table.tp + steps])
        approved_failed = np.concatenate([table.fp + rest, table.fp - rest])
        legal = (approved_passed >= 0) & (approved_passed <= passed) & (approved_failed >= 0) & (approved_failed <= failed)
        crossed = _holds(approved_passed[legal], approved_failed[legal], passed, failed, bound) != holds
        if crossed.any():
            place = int(np.flatnonzero(crossed)[0])
            return FlipDistance(changed, holds, "case", _moves(table, int(approved_passed[legal][place]), int(approved_failed[legal][place])))
    return FlipDistance(None, holds, "case", (), CANNOT_FLIP if passed + failed <= _MOST_ITEMS else TOO_FAR)


def _holds(tp: np.ndarray, fp: np.ndarray, passed: int, failed: int, bound: Fraction) -> np.ndarray:
    """Whether kappa >= bound, in integers."""
    tp, fp = tp.astype(object), fp.astype(object)
    fn, tn = passed - tp, failed - fp
    over, under = 2 * (tp * tn - fp * fn), (tp + fp) * failed + passed * (fn + tn)
    return np.asarray((under > 0) & (over * bound.denominator >= bound.numerator * under), dtype=np.bool_)


def _moves(table: Confusion, tp: int, fp: int) -> tuple[tuple[str, str, int], ...]:
    found = []
    for now, then, approved, rejected in ((table.tp, tp, "tp", "fn"), (table.fp, fp, "fp", "tn")):
        if now != then:
            found.append((approved, rejected, now - then) if then < now else (rejected, approved, then - now))
    return tuple(found)
