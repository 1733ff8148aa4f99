"""How many items would have to come out otherwise for a check to change its verdict.

A rate moves by one count an item. Kappa moves by cells, and whether it reaches a bound is linear in them. The verifier's
verdicts stand; what moves is what was judged: the candidate's outcome, the judge's approval.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from core.statistics.agreement import Confusion, cohen_kappa
from core.statistics.ratio import Ratio
from core.statistics.result import Result

CANNOT_FLIP: Final = "no outcome of these items flips it"


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

    An answer that passes moves between tp and fn, one that fails between fp and tn, so with the verifier's counts P and F
    kappa >= b is linear in tp and fp: 2 (tp F - fp P) - b ((tp + fp)(F - P) + P (P + F)) >= 0. Each kind of move shifts that by a
    constant, so the larger one is used first. An undefined kappa does not hold.
    """
    kappa = cohen_kappa(table)
    holds = kappa.value is not None and kappa.value >= bound
    passed, failed = table.tp + table.fn, table.fp + table.tn
    if not passed or not failed:
        return _one_class(table, bound, holds)
    scale, wide = 2 * bound.denominator, bound.numerator * (failed - passed)
    surplus = scale * (table.tp * failed - table.fp * passed) - wide * (table.tp + table.fp) - bound.numerator * passed * (passed + failed)
    up = not holds                                          # to hold, the sum has to rise to 0; to fail, to fall below it
    steps = [_step(table, "tp", "fn", scale * failed - wide, up=up), _step(table, "fp", "tn", -scale * passed - wide, up=up)]
    wanted, moves = -surplus if up else surplus + 1, []
    for source, target, each, room in sorted(steps, key=lambda step: -step[2]):
        count = min(room, -(-wanted // each)) if each and wanted > 0 else 0
        wanted -= count * each
        moves += [(source, target, count)] if count else []
    if wanted > 0:
        return FlipDistance(None, holds, "case", (), CANNOT_FLIP)
    return FlipDistance(sum(count for _, _, count in moves), holds, "case", tuple(moves))


def _step(table: Confusion, approved: str, rejected: str, weight: int, *, up: bool) -> tuple[str, str, int, int]:
    """The move between two cells that shifts the sum the wanted way: from, to, by how much each, how many there are."""
    source, target = (rejected, approved) if (weight > 0) is up else (approved, rejected)
    return source, target, abs(weight), int(getattr(table, source))


def _one_class(table: Confusion, bound: Fraction, holds: bool) -> FlipDistance:
    """Where the verifier knows one class, kappa is 0 as long as the judge contradicts it once, and undefined otherwise."""
    wrong, right = ("fp", "tn") if table.fp + table.tn else ("fn", "tp")
    if bound > 0 or not table.n:
        return FlipDistance(None, holds, "case", (), CANNOT_FLIP)
    contradictions = int(getattr(table, wrong))
    if holds:
        return FlipDistance(contradictions, holds, "case", ((wrong, right, contradictions),))
    return FlipDistance(1, holds, "case", ((right, wrong, 1),))
