"""PreRegisteredFlywheelPromoter: may the candidate replace the baseline?

Every check is computed and recorded, whatever the others say; all that decide must hold (specification 4):
``holdout_lock``, ``sanity_retention``, ``regressions``, ``no_collapsed_pair``, ``outcomes_complete``, ``literal_gate``,
and at the reviewer's desk ``distinct_reviewer``. ``collapsed_share`` and ``net_gain`` decide only when the grid sets
them; otherwise they are shown, as a warning where the figure is bad.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import pyarrow as pa
import pyarrow.compute as pc

from core.gates.checks import Check, State, fact_check, rate_check, value_check
from core.gates.holdout import LOCK_MISMATCH, MALFORMED_LOCK, Lock, PairedOutcomes
from core.grid import Grid
from core.persons.registry import Registry, self_review
from core.settings import SETTINGS
from core.statistics.ratio import Ratio, counted_ratio, decimal_text, fraction_text

NO_SANITY = "the round has no canaries"
NO_ADMITTED = "no pair is admitted"
NO_VALID_PAIRS = "no pair was judged"


@dataclass(frozen=True, slots=True)
class Sanity:
    """Canaries of the candidate: how many, and which it lost."""

    n: int
    failed: tuple[str, ...]

    @property
    def retention(self) -> Ratio:
        return counted_ratio(self.n - len(self.failed), self.n, undefined=NO_SANITY)

    def as_dict(self) -> dict[str, object]:
        return {"n": self.n, "passed": self.n - len(self.failed), "failed_ids": list(self.failed), "retention": self.retention.as_dict()}


def sanity_of(table: pa.Table) -> Sanity:
    """Count SANITY rows; lost canaries in id order."""
    return Sanity(table.num_rows, tuple(sorted(table.filter(pc.invert(table["passed"]))["id"].to_pylist())))


def net_gain(outcomes: PairedOutcomes) -> Ratio:
    """(fixes - regressions) / items: the change of the pass rate, exact."""
    return Ratio(len(outcomes.fixes) - len(outcomes.regressions), outcomes.n)


def regression_rate(outcomes: PairedOutcomes) -> Ratio:
    """Regressions over all holdout items."""
    return Ratio(len(outcomes.regressions), outcomes.n)


def outcomes_document(outcomes: PairedOutcomes) -> dict[str, object]:
    """JSON members of the paired outcomes, as stored in the assessment."""
    passes = outcomes.both_pass + len(outcomes.regressions)
    return {
        "n": outcomes.n, "both_pass": outcomes.both_pass, "regressions": len(outcomes.regressions), "fixes": len(outcomes.fixes),
        "both_fail": outcomes.both_fail, "net_gain": net_gain(outcomes).as_dict(), "regression_rate": regression_rate(outcomes).as_dict(),
        "regressions_over_baseline_passes": counted_ratio(len(outcomes.regressions), passes, undefined="the baseline passed nothing").as_dict(),
        "regression_ids": list(outcomes.regressions), "fix_ids": list(outcomes.fixes), "absent_candidate": list(outcomes.absent),
        "runs": {arm: {"fewest": span[0], "most": span[1]} for arm, span in outcomes.runs.items()},
    }


class PreRegisteredFlywheelPromoter:
    """The checks that decide about a candidate, under one grid. Each method is pure and returns one check."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid

    def holdout_lock(self, lock: Lock) -> Check:
        """Holds when the digest of the holdout equals the registered one."""
        shown = SETTINGS["display"]["digest_characters"]
        words = {None: lock.computed[:shown], LOCK_MISMATCH: f"{lock.computed[:shown]}, registered {lock.registered[:shown]}"}
        observed = words.get(lock.problem, "malformed registration" if lock.problem == MALFORMED_LOCK else "no registration")
        return fact_check(
            "holdout_lock", lock.holds, observed=observed, bound="the registered digest", page="holdout",
            detail="SHA-256 over the canonical bytes of the holdout list, in its order",
            remedy="The holdout has to be the list that was registered, byte for byte in canonical form.",
        )

    def sanity_retention(self, sanity: Sanity) -> Check:
        """Share of the round's canaries that the candidate still passes."""
        return rate_check(
            "sanity_retention", sanity.retention, self.grid, "min_sanity_retention", page="holdout", unit="canaries",
            detail="canaries that the candidate still passes; which canaries a round has is the proposer's statement",
            remedy="At least {limit} of {n} canaries pass (now {now}).",
        )

    def regressions(self, outcomes: PairedOutcomes) -> Check:
        """Items that the baseline passes and the candidate fails, over all items."""
        return rate_check(
            "regressions", regression_rate(outcomes), self.grid, "max_regression_rate", page="holdout", unit="items lost",
            detail="holdout items that the baseline passes and the candidate fails, over all items",
            remedy="At most {limit} of {n} items are lost (now {now}).",
        )

    def net_gain(self, outcomes: PairedOutcomes) -> Check:
        """Fixes minus regressions over all items."""
        gain, detail = net_gain(outcomes), "items fixed minus items lost, over all items"
        if self.grid.optional_fraction("min_net_holdout_gain") is not None:
            return rate_check("net_gain", gain, self.grid, "min_net_holdout_gain", page="holdout", unit="items", detail=detail,
                              remedy="The net gain is at least {limit} of {n} items (now {now}).")
        state: State = "warning" if gain.numerator <= 0 else "noted"
        return Check("net_gain", state, fraction_text(gain), "no bound in this grid", "holdout", detail, gain, decides=False)

    def no_collapsed_pair(self, admitted: int, lowest_drift: Fraction | None) -> Check:
        """At least one pair is admitted, and the lowest chosen drift over admitted pairs keeps the grid's bound."""
        detail = "lowest chosen drift over admitted pairs; curation holds this already, the receipt stands on it"
        if not admitted or lowest_drift is None:
            bound = f"at least one pair, none below {decimal_text(self.grid.fraction('min_chosen_logp_drift_per_token'))} nats/token"
            return Check("no_collapsed_pair", "fails", NO_ADMITTED, bound, "curation", detail, remedy="At least one pair has to be admitted.")
        return value_check(
            "no_collapsed_pair", Ratio(lowest_drift.numerator, lowest_drift.denominator), self.grid, "min_chosen_logp_drift_per_token",
            page="curation", unit="nats/token", detail=detail, remedy="No admitted pair drifts below the bound: {bound} (now {now}).",
        )

    def collapsed_share(self, collapsed: int, judged: int) -> Check:
        """Pairs whose chosen log-prob collapsed, over pairs neither invalid, unverified nor held."""
        share = counted_ratio(collapsed, judged, undefined=NO_VALID_PAIRS)
        detail = "pairs whose chosen answer became less likely than the bound allows, over pairs neither invalid, unverified nor held"
        if self.grid.optional_fraction("max_collapsed_share") is not None:
            return rate_check("collapsed_share", share, self.grid, "max_collapsed_share", page="curation", unit="pairs", detail=detail,
                              remedy="At most {limit} of {n} pairs are collapsed (now {now}).")
        warns = share.value is None or share.value > 0
        return Check("collapsed_share", "warning" if warns else "noted", fraction_text(share), "no bound in this grid", "curation",
                     detail, share, decides=False)

    @staticmethod
    def outcomes_complete(outcomes: PairedOutcomes) -> Check:
        """No integrity finding: every item has a candidate outcome."""
        absent = outcomes.absent
        named = SETTINGS["display"]["named_ids"]
        shown = f"; absent: {', '.join(absent[:named])}" + (f" and {len(absent) - named} more" if len(absent) > named else "") if absent else ""
        answered = outcomes.n - len(absent)
        return fact_check(
            "outcomes_complete", not absent, observed=f"{answered:,} of {outcomes.n:,} items in both arms", bound="all items", page="holdout",
            detail=f"an absent candidate outcome counts as a failure and refuses the round{shown}",
            remedy=f"Run the candidate on the {len(absent):,} items that have no outcome.",
        )

    @staticmethod
    def literal_gate(files: int, violations: int) -> Check:
        """No hard-coded threshold in the engine that ran; nothing scanned proves nothing."""
        return fact_check(
            "literal_gate", files > 0 and violations == 0, observed=f"{violations:,} in {files:,} files", bound="none", page="overview",
            detail="numbers in the source that could steer a decision outside the grid",
            remedy="Run an engine whose source has no hard-coded number (countersign comes clean; a changed copy may not).",
        )


def distinct_reviewer(proposers: Sequence[str], reviewer: str | None, registry: Registry | None = None) -> Check:
    """No proposer and the reviewer are the same person. ``registry`` adds aliases and owners, where one is at hand."""
    names = ", ".join(proposers)
    detail = "persons are compared, not strings: case, spaces, width, plus-tags and registered aliases make no second person"
    if reviewer is None:
        return Check("distinct_reviewer", "open", f"proposed by {names}", "another person", "sign_off", detail)
    same = self_review(reviewer, proposers, registry) is not None
    return fact_check(
        "distinct_reviewer", not same, observed=f"{reviewer} reviews, {names} proposed", bound="another person", page="sign_off", detail=detail,
        remedy="Another person has to review: nobody approves their own round.",
    )
