"""How many admitted pairs a reviewer judges, when the judging ends, and what its outcome proves about all of them.

A *defect* is a pair of which the human prefers the rejected answer, or finds both bad. What nobody answered (a pair
skipped, or not judged at the end) counts as a defect for the bound, so that leaving pairs out can only weaken it; a tie
is no defect. Sizes come from the grid's ``sample_max_defect_rate`` and ``sample_confidence`` and from nowhere else.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

from core.errors import SamplingError
from core.grid import Grid, parse_decimal
from core.sampling.hypergeometric import defects_bound, sample_size, tolerable_defects
from core.sampling.sequential import Sizes, accepted_bound, passed_bound, sequential_sizes
from core.settings import SETTINGS

Method = Literal["fixed", "sequential"]
METHODS: Final[tuple[Method, ...]] = ("fixed", "sequential")
"""``fixed``: one size, all of it judged; ``sequential``: looks at growing sizes, ends at the first that accepts."""
RATE_KEY, CONFIDENCE_KEY = "sample_max_defect_rate", "sample_confidence"
Standing = Literal["open", "met", "not_met"]

NO_PAIRS: Final = "no pair was admitted, so there is nothing to sample"
NO_KEYS: Final = "the grid says nothing about samples: it is of an earlier schema"
NOTHING_TO_PROVE: Final = "the grid tolerates any defect rate, so there is nothing to prove"


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a sample stands: ``judged`` pairs counted, ``defects`` among them, and whether the rule has ended it."""

    standing: Standing
    judged: int
    defects: int
    look: int | None = None


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """What was fixed before the first pair was seen. ``rate`` and ``confidence``: as the grid writes them."""

    method: Method
    population: int
    rate: str
    confidence: str
    sizes: Sizes

    @property
    def alpha(self) -> Fraction:
        """The error of the bound: 1 - confidence, exact."""
        return 1 - parse_decimal(self.confidence)

    @property
    def largest(self) -> int:
        """How many pairs are judged at most."""
        return self.sizes[-1]

    @property
    def tolerable(self) -> int:
        """The most defects in the population that the grid's rate allows."""
        return tolerable_defects(self.population, parse_decimal(self.rate))

    def stop(self, defects: Sequence[bool]) -> Stop:
        """Where the sample stands after these pairs, in drawn order (True: a defect, or a skip)."""
        bad = 0
        for position, defect in enumerate(defects[: self.largest], 1):
            bad += defect
            if position in self.sizes and bad <= self.sizes.index(position):
                return Stop("met", position, bad, self.sizes.index(position))
            if self.method == "sequential" and bad >= len(self.sizes):
                return Stop("not_met", position, bad)
        judged = min(len(defects), self.largest)
        return Stop("not_met" if judged == self.largest else "open", judged, bad)

    def bound(self, defects: Sequence[bool]) -> int:
        """The largest number of defects in the population that the outcome does not rule out, at the grid's confidence.

        Pairs that are missing are taken as defects, which is the worst they can be: so the bound holds whenever, and for
        whatever reason, somebody stops.
        """
        padded = [*defects, *[True] * (self.largest - len(defects))]
        if self.method == "fixed":
            return defects_bound(sum(padded[: self.largest]), self.largest, self.population, self.alpha)
        reached = self.stop(padded)
        if reached.look is not None:
            return accepted_bound(self.sizes, reached.look, self.population, self.alpha)
        return passed_bound(self.sizes, reached.judged, self.population, self.alpha)

    def as_dict(self) -> dict[str, Any]:
        """JSON members."""
        return {
            "method": self.method, "population": self.population, "max_defect_rate": self.rate, "confidence": self.confidence,
            "sizes": list(self.sizes),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> SamplePlan:
        """A plan as it was written down."""
        return cls(
            document["method"], document["population"], document["max_defect_rate"], document["confidence"], tuple(document["sizes"]),
        )


def why_no_plan(grid: Grid, population: int) -> str | None:
    """Why there is nothing to sample, or None where there is."""
    if RATE_KEY not in grid or CONFIDENCE_KEY not in grid:
        return NO_KEYS
    if population == 0:
        return NO_PAIRS
    if tolerable_defects(population, grid.fraction(RATE_KEY)) >= population:
        return NOTHING_TO_PROVE
    return None


def plan_sample(grid: Grid, population: int, method: Method = "fixed") -> SamplePlan:
    """The plan for that many admitted pairs under a grid. Raises SamplingError ``no_sample`` where there is nothing to sample."""
    reason = why_no_plan(grid, population)
    if reason is not None:
        raise SamplingError("no_sample", expected="admitted pairs, and a grid with the sample keys", got=reason,
                            remedy="propose the round under a grid that sets them, or review it without a sample")
    rate, alpha = grid.fraction(RATE_KEY), 1 - grid.fraction(CONFIDENCE_KEY)
    if method == "fixed":
        sizes: Sizes = (sample_size(population, rate, alpha),)
    else:
        sizes = sequential_sizes(population, rate, alpha, SETTINGS["sampling"]["most_defects"])
    return SamplePlan(method, population, grid.text(RATE_KEY), grid.text(CONFIDENCE_KEY), sizes)
