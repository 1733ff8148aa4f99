"""What a sample shows: the bound it proves, human against verifier, and the pairs where they disagree."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any, Final

import pyarrow.compute as pc
import pyarrow.parquet as pq

from core.canonical import canonical_digest
from core.grid import parse_decimal
from core.sampling.journal import Label, Verdict
from core.sampling.review import Sample
from core.schemas import FLAGS
from core.settings import SETTINGS
from core.statistics.agreement import Confusion, cohen_kappa
from core.statistics.ratio import Ratio, decimal_text, percent_text

VERDICTS: Final[tuple[Verdict, ...]] = ("chosen", "rejected", "both_bad", "tie", "skip")
NO_FLAGS: Final = "no judged pair has the verifier's verdict on both answers"
NO_SIDES: Final = "the human preferred neither answer of any pair that the verifier has a verdict on"
ONE_SIDE: Final = "human and verifier name the same side of every pair, so chance alone would agree as well"

Flags = Mapping[str, bool]
"""Pair id -> whether the verifier passed the chosen and failed the rejected answer; pairs without both verdicts are not in it."""


def verifier_flags(scored: Path, pair_ids: tuple[str, ...]) -> Flags:
    """The verifier's verdicts on some pairs, from an assessment's scored pairs; none where that file is not there."""
    if not pair_ids or not scored.is_file():
        return {}
    table = pq.read_table(scored, columns=["pair_id", *FLAGS], filters=pc.field("pair_id").isin(list(pair_ids)))
    rows = table.to_pylist()
    return {row["pair_id"]: all(row[name] for name in FLAGS) for row in rows if all(row[name] is not None for name in FLAGS)}


@dataclass(frozen=True)
class SampleResult:
    """A sample, read. ``flags``: the verifier's verdicts on the judged pairs."""

    sample: Sample
    flags: Flags

    @property
    def counts(self) -> dict[Verdict, int]:
        """Pairs by the human's verdict, in the order of VERDICTS."""
        found = [label.verdict for label in self.sample.labels]
        return {verdict: found.count(verdict) for verdict in VERDICTS}

    @property
    def defects(self) -> int:
        """Pairs of which the human prefers the rejected answer, or finds both bad."""
        return len(self.disagreements)

    @property
    def judged(self) -> int:
        """Pairs with an answer: everything but skips."""
        return len(self.sample.labels) - self.counts["skip"]

    @property
    def unjudged(self) -> int:
        """Pairs that the plan asks for and that were not shown; none once its rule has ended the sample."""
        return 0 if self.sample.is_complete else self.sample.plan.largest - len(self.sample.labels)

    @cached_property
    def bound(self) -> Ratio:
        """The largest defect rate among the admitted pairs that is not ruled out; skips and unjudged pairs taken as defects."""
        return Ratio(self.sample.plan.bound(self.sample.defects), self.sample.plan.population)

    @property
    def is_met(self) -> bool:
        """Whether a defect rate above the grid's largest is ruled out."""
        return self.bound.numerator <= self.sample.plan.tolerable

    @property
    def is_exceeded(self) -> bool:
        """The defects that were found are by themselves more than the grid's rate allows."""
        return self.defects > self.sample.plan.tolerable

    @property
    def is_certain(self) -> bool:
        """Every admitted pair has an answer: the rate is counted, not estimated."""
        return self.judged == self.sample.plan.population

    @property
    def disagreements(self) -> tuple[Label, ...]:
        """The defects, in the drawn order."""
        return tuple(label for label in self.sample.labels if label.is_defect)

    @cached_property
    def sides(self) -> Confusion:
        """Human against verifier over the sides as shown (rows: human prefers the first, the second; columns: the verifier).

        By side, since the verifier prefers the chosen answer of every admitted pair: by answer it would be one class."""
        cells = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
        for label in self.sample.labels:
            if label.choice in ("first", "second") and self.flags.get(label.pair_id):
                cells[label.choice == "first", label.first == "chosen"] += 1
        return Confusion(cells[True, True], cells[True, False], cells[False, True], cells[False, False])

    @property
    def kappa(self) -> Ratio:
        """Cohen's kappa of human and verifier over ``sides``; undefined with its reason."""
        kappa = cohen_kappa(self.sides)
        if kappa.undefined is None:
            return kappa
        if self.sides.n:
            return Ratio(kappa.numerator, kappa.denominator, ONE_SIDE)
        known = any(self.flags.get(label.pair_id) for label in self.sample.labels)
        return Ratio(kappa.numerator, kappa.denominator, NO_SIDES if known else NO_FLAGS)

    @property
    def words(self) -> str:
        """The result in one line: ``0 defects in 59 of 377: the defect rate is at most 4.51 % with 95 % confidence``."""
        plan, skips = self.sample.plan, self.counts["skip"]
        found = f"{self.defects:,} defect{'' if self.defects == 1 else 's'}"
        if self.is_certain:
            return f"{found} in all {plan.population:,} pairs: the defect rate is {_rounded_up(self.bound)}"
        skipped = f" and {skips:,} skipped" if skips else ""
        missing = f", {self.unjudged:,} of the sample not judged" if self.unjudged else ""
        rate = f"the defect rate is at most {_rounded_up(self.bound)} with {percent_text(parse_decimal(plan.confidence))} confidence"
        return f"{found}{skipped} in {len(self.sample.labels):,} of {plan.population:,}{missing}: {rate}"

    @property
    def target_words(self) -> str:
        """Whether that is what the grid asks for."""
        asked = f"The grid asks to rule out a defect rate above {percent_text(parse_decimal(self.sample.plan.rate))}"
        if self.is_exceeded:
            return f"{asked}: with {self.defects:,} of {self.sample.plan.population:,} it is above for certain."
        return f"{asked}: it is {'ruled out' if self.is_met else 'not ruled out'}."

    @property
    def labels_sha256(self) -> str:
        """SHA-256 of the RFC 8785 list of [pair id, choice, side shown first] of the judged pairs, in the drawn order."""
        return canonical_digest([[label.pair_id, label.choice, label.first] for label in self.sample.labels])

    def as_dict(self) -> dict[str, Any]:
        """JSON members. ``disagreements``: up to a limit by id, with their count and how many are left out."""
        sample, limit = self.sample, SETTINGS["sampling"]["statement_ids"]
        state = "complete" if sample.is_complete else "ended_early" if sample.ended else "open"
        return {
            "state": state, "person": sample.person, **sample.plan.as_dict(), "seed": sample.start.seed, "seeds_drawn": sample.seeds,
            "admitted_sha256": sample.start.admitted_sha256, "grid_digest": sample.start.grid_digest,
            "shown": len(sample.labels), "judged": self.judged, "unjudged": self.unjudged, "taken_back": sample.withdrawn,
            "counts": dict(self.counts), "defects": self.defects, "bound": self.bound.as_dict(), "target_met": self.is_met,
            "kappa": self.kappa.as_dict(),
            "sides": {"both_first": self.sides.tp, "human_first": self.sides.fp, "verifier_first": self.sides.fn, "both_second": self.sides.tn},
            "disagreements": {
                "count": self.defects, "pair_ids": [label.pair_id for label in self.disagreements[:limit]],
                "left_out": max(0, self.defects - limit),
            },
            "labels_sha256": self.labels_sha256,
        }


def _rounded_up(rate: Ratio) -> str:
    """A bound as a percentage, never below itself: rounded up to the decimals of the display."""
    assert rate.value is not None
    unit = Fraction(Decimal(1).scaleb(-SETTINGS["display"]["percent_decimals"]))
    percent = ceil(rate.value * SETTINGS["display"]["percent_base"] / unit) * unit
    return f"{decimal_text(percent, SETTINGS['display']['percent_decimals'])} %"
