"""An error budget over repeated looks at one holdout, and evidence that may be watched as it grows.

Alpha spending divides a fixed error among planned looks. An e-value may be looked at after every fresh item and rejects at
1/alpha. On items used again the e-values of rounds depend on each other: their mean is an e-value, their product is not.
"""
from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from core.errors import RoundError
from core.statistics.inputs import Level, Score, counts_of, exact_score, level_of
from core.statistics.rate_intervals import normal_quantile
from core.statistics.result import Result

Spending = Literal["bonferroni", "obrien_fleming", "pocock", "open_ended"]
SPENDINGS: Final[tuple[Spending, ...]] = ("bonferroni", "obrien_fleming", "pocock", "open_ended")


@dataclass(frozen=True, slots=True)
class AlphaBudget(Result):
    """Error spent up to and including look ``look`` of ``planned`` (None: open-ended), what this look may use, what is left.

    ``spent``, ``now`` and ``left`` are shares of one error probability; after the last planned look nothing is left, and
    ``exhausted`` says so.
    """

    rule: Spending
    alpha: Fraction
    planned: int | None
    look: int
    spent: float
    now: float
    left: float
    exhausted: bool


def spent_alpha(rule: Spending, alpha: Level, look: int, planned: int | None = None) -> float:
    """Cumulated alpha after look ``look``; t = look / planned, at most 1.

    ``bonferroni`` alpha t; ``obrien_fleming`` 2 - 2 Phi(z_(1-alpha/2) / sqrt(t)); ``pocock`` alpha ln(1 + (e - 1) t);
    ``open_ended`` the sum of 6 alpha / (pi^2 k^2), for when nobody knows how many looks there will be. Raises
    RoundError (``invalid_count``), GridError (``confidence_out_of_range``). Source: Lan & DeMets 1983, Biometrika 70:659-663.
    """
    counts_of(look=look)
    level = level_of(alpha, name="alpha")
    if rule == "open_ended":
        return sum(float(level) * 6 / (math.pi**2 * k**2) for k in range(1, look + 1))
    counts_of(planned=(planned or 0) - 1)
    share = min(Fraction(look, planned or 1), Fraction(1))
    if share in (0, 1):
        return float(level * share)
    if rule == "bonferroni":
        return float(level * share)
    if rule == "pocock":
        return float(level) * math.log1p((math.e - 1) * float(share))
    # 2 - 2 Phi(x) = erfc(x / sqrt 2)
    return math.erfc(normal_quantile(1 - level) / math.sqrt(2 * share))


def alpha_budget(rule: Spending, alpha: Level, look: int, planned: int | None = None) -> AlphaBudget:
    """The budget at look ``look`` (from 1). Arguments and errors as :func:`spent_alpha`.

    >>> alpha_budget("bonferroni", "0.05", 3, 10).now
    0.005
    """
    counts_of(look=look - 1)
    level, spent = level_of(alpha, name="alpha"), spent_alpha(rule, alpha, look, planned)
    now = float(level / planned) if rule == "bonferroni" and planned and look <= planned else spent - spent_alpha(rule, alpha, look - 1, planned)
    over = planned is not None and rule != "open_ended" and look > planned
    return AlphaBudget(rule, level, planned, look, spent, now, float(level) - spent, over)


@dataclass(frozen=True, slots=True)
class FlipEValue(Result):
    """E-values of "fixes and regressions are equally likely" after ``fixes`` and ``regressions``, exact.

    ``two_sided``: b! c! 2^m / (m + 1)!, the uniform mixture; ``better``: the mixture over p above one half, for "the candidate
    is better". Valid at any time for fresh items that arrive one after another.
    """

    fixes: int
    regressions: int
    two_sided: Fraction
    better: Fraction

    def rejects(self, alpha: Level) -> bool:
        """Whether the two-sided e-value has reached 1 / alpha."""
        return self.two_sided * level_of(alpha, name="alpha") >= 1


def flip_e_value(fixes: int, regressions: int) -> FlipEValue:
    """E-values of the flips. Raises RoundError (``invalid_count``).

    One-sided: the two-sided one times 2 P(Beta(b + 1, c + 1) > 1/2), and that probability is P(Bin(m + 1, 1/2) <= b).
    Source: Ramdas et al. 2023, Stat. Sci. 38:576-601, arXiv:2210.01948.

    >>> flip_e_value(5, 0).better
    Fraction(21, 2)
    """
    counts_of(fixes=fixes, regressions=regressions)
    flips = fixes + regressions
    two_sided = Fraction(2**flips, (flips + 1) * math.comb(flips, fixes))
    below = term = 1
    for i in range(fixes):
        term = term * (flips + 1 - i) // (i + 1)
        below += term
    return FlipEValue(fixes, regressions, two_sided, two_sided * Fraction(2 * below, 2 ** (flips + 1)))


def merged_e_value(e_values: Iterable[Score], *, fresh_items: bool) -> Fraction:
    """One e-value of several rounds: the product where every round had fresh items, else the mean, which any dependence
    allows. Raises RoundError (``no_values``, ``negative_e_value``). Source: Vovk & Wang 2021, Ann. Stat. 49:1736-1754.

    >>> merged_e_value(["4", "0.5", "10"], fresh_items=False)
    Fraction(29, 6)
    """
    values = [exact_score(value, name="e_value") for value in e_values]
    if not values:
        raise RoundError("no_values", expected="at least one e-value", got="none", remedy="merge only rounds that were run")
    if min(values) < 0:
        raise RoundError("negative_e_value", expected="e-values of at least 0", got=str(min(values)), remedy="compute them from the flips")
    return math.prod(values, start=Fraction(1)) if fresh_items else sum(values, Fraction(0)) / len(values)
