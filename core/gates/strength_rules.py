"""How strong the evidence behind one check is: five words, what they rest on, and how they are written.

*proven*: a true value on the wrong side of the bound would hardly give such counts (one-sided error: one minus the grid's
``evidence_confidence``); *meets, not proven*: the check holds and that cannot be said; *fails*; *proven to fail*: a true value
on the right side would hardly give such counts; *not applicable*: nothing is estimated. Undefined stays undefined: no word,
and the reason. The pinned rule decides; none of this does.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final

from core.gates.figures import interval_members, rounded_interval
from core.gates.robustness import Robustness
from core.grid import Grid
from core.statistics.kappa_intervals import NOT_ESTIMABLE, KappaEstimate
from core.statistics.provable import Light, RateProof, tail_is_at_most
from core.statistics.rate_intervals import lower_bound, rate_estimate, upper_bound
from core.statistics.ratio import percent_text
from core.statistics.result import Interval
from core.text import sentence

LEVEL_KEYS: Final = ("evidence_confidence", "wanted_power", "wanted_effect")
NO_CONFIDENCE: Final = "the grid sets no evidence_confidence"


class Status(StrEnum):
    """What the evidence says about a check."""

    PROVEN = "proven"
    MEETS = "meets, not proven"
    FAILS = "fails"
    PROVEN_TO_FAIL = "proven to fail"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Levels:
    """What the grid asks of evidence. ``alpha`` = 1 - confidence."""

    confidence: Fraction
    power: Fraction
    effect: Fraction

    @property
    def alpha(self) -> Fraction:
        return 1 - self.confidence

    @classmethod
    def of(cls, grid: Grid) -> Levels | None:
        """The grid's levels; None for a grid of schema 1, which has none of the keys."""
        return None if keys_off(grid) else cls(*(grid.fraction(key) for key in LEVEL_KEYS))


def keys_off(grid: Grid) -> list[str]:
    """Keys that say what evidence can prove, and that this grid does not set."""
    return [key for key in LEVEL_KEYS if key not in grid]


@dataclass(frozen=True, slots=True)
class CheckStrength:
    """One check. ``status`` None with the reason in ``undefined``; ``text`` is one short line, ``detail`` one sentence.

    ``interval``: two-sided at the grid's confidence; ``limit``: the one-sided bound that these cases do prove (of a failing rate,
    from the side of the failure); ``needed`` cases would prove the bound with the errors seen, ``more`` of them are missing;
    ``flip``: how many items from flipping.
    """

    name: str
    status: Status | None
    text: str
    detail: str
    n: int | None = None
    interval: Interval | None = None
    limit: Interval | None = None
    needed: int | None = None
    more: int | None = None
    undefined: str | None = None
    flip: Robustness | None = None

    def as_dict(self) -> dict[str, Any]:
        """JSON members."""
        distance = None if self.flip is None else self.flip.distance
        return {
            "name": self.name, "status": None if self.status is None else self.status.value, "text": self.text, "detail": self.detail, "n": self.n,
            "interval": None if self.interval is None else interval_members(self.interval),
            "limit": None if self.limit is None else interval_members(self.limit), "needed": self.needed, "more": self.more,
            "undefined": self.undefined, "flip": None if distance is None else {"items": distance.items, "text": distance.text},
        }


def not_applicable(name: str, reason: str) -> CheckStrength:
    """A check behind which nothing is estimated."""
    return CheckStrength(name, Status.NOT_APPLICABLE, Status.NOT_APPLICABLE.value, sentence(reason))


def without_levels(check: Mapping[str, Any]) -> CheckStrength:
    """What can be said of an estimated check when the grid sets no confidence: that it fails, or nothing."""
    observed = check["observed"]
    undefined = observed.get("undefined")
    if undefined is None and check["state"] == "fails":
        text = f"{Status.FAILS}; nothing more can be said: {NO_CONFIDENCE}"
        return CheckStrength(check["name"], Status.FAILS, text, f"It fails; {NO_CONFIDENCE}, so nothing is proven.", observed.get("denominator"))
    reason = undefined or NO_CONFIDENCE
    return CheckStrength(check["name"], None, f"undefined: {reason}", f"Undefined: {reason}.", observed.get("denominator"), undefined=reason)


def rate_strength(name: str, proof: RateProof, confidence: Fraction, *, dependent: str | None = None) -> CheckStrength:
    """A counted rate against its bound. ``dependent``: why the cases are not independent, in words; then nothing is proven."""
    stated = replace(proof, limit=rounded_interval(proof.limit))
    estimate = rate_estimate(proof.rate, confidence).clopper_pearson
    if stated.light is Light.UNDEFINED:
        reason = str(proof.rate.undefined)
        return CheckStrength(name, None, f"undefined: {reason}", stated.detail, proof.rate.denominator, estimate, stated.limit,
                             stated.needed, undefined=reason)
    if stated.light is Light.FAILS:
        stated = replace(stated, limit=_beyond(proof))
    status, text, detail = _rate_words(stated)
    if dependent is not None:
        status = {Status.PROVEN: Status.MEETS, Status.PROVEN_TO_FAIL: Status.FAILS}.get(status, status)
        text, detail = f"{status}: {dependent}", f"{detail} That counts each item as independent, but {dependent}."
        stated = replace(stated, needed=None, more=None)
    return CheckStrength(name, status, text, detail, proof.rate.denominator, estimate, stated.limit, stated.needed, stated.more)


def _beyond(proof: RateProof) -> Interval:
    """The one-sided bound of a rate that fails, from the side of the failure."""
    bound = lower_bound if proof.direction == "max" else upper_bound
    return rounded_interval(bound(proof.rate.numerator, proof.rate.denominator, 1 - proof.alpha))


def _rate_words(proof: RateProof) -> tuple[Status, str, str]:
    capped = proof.direction == "max"
    if proof.light is Light.MEETS:
        return Status.MEETS, proof.text, proof.detail
    if proof.light is Light.PROVES:
        return Status.PROVEN, f"{Status.PROVEN}: {_side(proof, above=not capped)}", proof.detail
    beyond = _side(proof, above=capped)
    detail = (
        f"{proof.rate.numerator:,} of {proof.rate.denominator:,} proves {beyond} (one-sided, {percent_text(1 - proof.alpha)} confidence); "
        f"the bound is {percent_text(proof.bound)}."
    )
    if _proven_to_fail(proof):
        return Status.PROVEN_TO_FAIL, f"{Status.PROVEN_TO_FAIL}: {beyond}", detail
    return Status.FAILS, f"{Status.FAILS}; only {beyond} is proven", detail


def _side(proof: RateProof, *, above: bool) -> str:
    """``at least 40.49 %``: what the one-sided bound says."""
    end = proof.limit.lower if above else proof.limit.upper
    assert end is not None
    return f"at {'least' if above else 'most'} {percent_text(exact_end(end), against=proof.bound)}"


def exact_end(end: Fraction | float) -> Fraction:
    """A rounded end as the decimal that it is written as: so that one of .85 reaches a bound of .85."""
    return end if isinstance(end, Fraction) else Fraction(repr(end))


def _proven_to_fail(proof: RateProof) -> bool:
    """P(at least so many errors; n, cap) <= alpha, decided in rationals."""
    n = proof.rate.denominator
    errors, cap = (proof.rate.numerator, proof.bound) if proof.direction == "max" else (n - proof.rate.numerator, 1 - proof.bound)
    return cap == 0 or tail_is_at_most(n - errors, n, 1 - cap, proof.alpha)


def kappa_strength(name: str, estimate: KappaEstimate, bound: Fraction) -> CheckStrength:
    """Kappa against its floor. It rests on the interval shown, which is approximate, and says so."""
    shown = replace(estimate, interval=rounded_interval(estimate.interval), agreement=_rounded_agreement(estimate))
    value, interval = estimate.kappa.value, shown.interval
    if value is None:
        reason = str(estimate.kappa.undefined)
        return CheckStrength(name, None, f"undefined: {reason}", f"Kappa is undefined: {reason}.", estimate.n, interval, undefined=reason)
    status = _kappa_status(value, bound, interval)
    if interval.undefined is not None:
        said = "not estimable" if interval.undefined == NOT_ESTIMABLE else interval.undefined
        return CheckStrength(name, status, f"{status}: interval {said}", f"The interval is {shown.text}.", estimate.n, interval)
    detail = f"The interval is {interval.text} ({interval.method}), at {percent_text(interval.confidence)} confidence."
    return CheckStrength(name, status, f"{status}: {interval.text}", detail, estimate.n, interval)


def _rounded_agreement(estimate: KappaEstimate) -> Any:
    return replace(estimate.agreement, clopper_pearson=rounded_interval(estimate.agreement.clopper_pearson))


def _kappa_status(value: Fraction, bound: Fraction, interval: Interval) -> Status:
    if value >= bound:
        return Status.PROVEN if interval.lower is not None and exact_end(interval.lower) >= bound else Status.MEETS
    return Status.PROVEN_TO_FAIL if interval.upper is not None and exact_end(interval.upper) < bound else Status.FAILS
