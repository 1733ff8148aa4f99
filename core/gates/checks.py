"""One check: what was observed, the grid's bound, the distance between them, and what would have to be true.

The page, the command line, the assessment and the statement read this one object. Comparisons are made between exact
rationals; a statistic that is undefined never holds.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from core.grid import Grid
from core.statistics.ratio import Ratio, decimal_text, fraction_text, json_double, percent_text

State = Literal["holds", "fails", "undefined", "warning", "noted", "open"]
"""holds, fails, undefined: of checks that decide. warning, noted: shown, the grid sets no bound. open: waits for a reviewer."""

BLOCKING: tuple[State, ...] = ("fails", "undefined")


@dataclass(frozen=True, slots=True)
class Distance:
    """How far the observed value lies from the bound. ``value`` is never negative; ``inside`` says on which side."""

    value: Fraction
    inside: bool
    text: str

    def as_dict(self) -> dict[str, object]:
        return {"value": json_double(self.value), "inside": self.inside, "text": self.text}


@dataclass(frozen=True, slots=True)
class Check:
    """``observed`` and ``bound`` are written out for a reader; ``ratio`` and ``bound_value`` are the exact figures."""

    name: str
    state: State
    observed: str
    bound: str
    page: str
    detail: str
    ratio: Ratio | None = None
    bound_value: Fraction | None = None
    grid_key: str | None = None
    distance: Distance | None = None
    remedy: str | None = None
    decides: bool = True

    @property
    def blocks(self) -> bool:
        """True when this check alone keeps the gate closed."""
        return self.decides and self.state in BLOCKING

    def as_dict(self) -> dict[str, object]:
        """JSON members, as stored in the assessment."""
        observed: dict[str, object] = {"text": self.observed}
        if self.ratio is not None:
            observed |= self.ratio.as_dict()
        return {
            "name": self.name, "state": self.state, "decides": self.decides, "observed": observed,
            "bound": {"text": self.bound, "value": json_double(self.bound_value), "key": self.grid_key},
            "distance": None if self.distance is None else self.distance.as_dict(),
            "detail": self.detail, "page": self.page, "remedy": self.remedy,
        }


def _count_distance(ratio: Ratio, bound: Fraction, direction: str) -> tuple[int, bool]:
    """How many counts lie between the observed numerator and the last one that the bound allows."""
    limit = bound * ratio.denominator
    if direction == "max":
        allowed = math.floor(limit)
        return abs(allowed - ratio.numerator), ratio.numerator <= allowed
    needed = math.ceil(limit)
    return abs(ratio.numerator - needed), ratio.numerator >= needed


def rate_check(name: str, ratio: Ratio, grid: Grid, key: str, *, page: str, detail: str, unit: str, remedy: str) -> Check:
    """A rate of counts against an inclusive bound of the grid, direction ``min`` or ``max``.

    ``unit`` names what is counted ("canaries"); ``remedy`` is a sentence with the places ``{limit}``, ``{n}`` and
    ``{now}`` (the counts that would hold, the denominator, the count observed).
    """
    bound, direction = grid.fraction(key), grid.keys[key].direction
    bound_text = f"{'at most' if direction == 'max' else 'at least'} {percent_text(bound)}"
    if ratio.value is None:
        return Check(name, "undefined", fraction_text(ratio), bound_text, page, detail, ratio, bound, key,
                     remedy=f"The rate has to be defined: {ratio.undefined}.")
    count, inside = _count_distance(ratio, bound, direction)
    limit = math.floor(bound * ratio.denominator) if direction == "max" else math.ceil(bound * ratio.denominator)
    words = {
        ("max", True): f"room for {count:,} more" if count else "room for no more", ("max", False): f"{count:,} too many",
        ("min", True): f"{count:,} to spare" if count else "none to spare", ("min", False): f"{count:,} short",
    }[direction, inside]
    distance = Distance(abs(ratio.value - bound), inside, f"{words} ({unit})")
    return Check(
        name, "holds" if inside else "fails", fraction_text(ratio, against=bound), bound_text, page, detail, ratio, bound, key, distance,
        None if inside else remedy.format(limit=f"{limit:,}", n=f"{ratio.denominator:,}", now=f"{ratio.numerator:,}"),
    )


def value_check(name: str, ratio: Ratio, grid: Grid, key: str, *, page: str, detail: str, unit: str = "", remedy: str) -> Check:
    """An exact value (kappa, nats per token, ...) against an inclusive bound of the grid, direction ``min`` or ``max``."""
    bound, direction = grid.fraction(key), grid.keys[key].direction
    suffix = f" {unit}" if unit else ""
    bound_text = f"{'at most' if direction == 'max' else 'at least'} {decimal_text(bound)}{suffix}"
    if ratio.value is None:
        return Check(name, "undefined", f"undefined: {ratio.undefined}", bound_text, page, detail, ratio, bound, key,
                     remedy=f"The value has to be defined: {ratio.undefined}.")
    inside = ratio.value <= bound if direction == "max" else ratio.value >= bound
    away = abs(ratio.value - bound)
    side = "inside" if inside else "outside"
    words = f"{decimal_text(away, against=Fraction(0))} {side} the bound" if away else "exactly on the bound, which holds"
    return Check(
        name, "holds" if inside else "fails", f"{decimal_text(ratio.value, against=bound)}{suffix}", bound_text, page, detail, ratio, bound, key,
        Distance(away, inside, words), None if inside else remedy.format(bound=bound_text, now=decimal_text(ratio.value, against=bound)),
    )


def fact_check(name: str, holds: bool, *, observed: str, bound: str, page: str, detail: str, remedy: str) -> Check:
    """A fact that either holds or does not: a lock, completeness, a clean source tree."""
    return Check(name, "holds" if holds else "fails", observed, bound, page, detail, remedy=None if holds else remedy)
