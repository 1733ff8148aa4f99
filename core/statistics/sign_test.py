"""The exact two-sided sign test: do changes lean to one side more than a fair coin would?

The same test is McNemar's exact test on the two kinds of flips of paired verdicts.
"""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from core.settings import SETTINGS
from core.statistics.inputs import ALPHA, counts_of
from core.statistics.probability import DOUBLES, Probability, counted
from core.statistics.result import Result

_EXACT_TRIALS: int = SETTINGS["statistics"]["exact_trials"]


@dataclass(frozen=True, slots=True)
class SignTest(Result):
    """``first`` changes one way, ``second`` the other. ``smallest``: the least p that so many changes can reach."""

    first: int
    second: int
    n: int
    p: Probability
    smallest: Probability

    def shown(self, alpha: Fraction = ALPHA) -> bool:
        """Whether the changes lean to one side more than chance explains."""
        return self.p.at_most(alpha)

    def can_show(self, alpha: Fraction = ALPHA) -> bool:
        """Whether any split of so many changes could: five can never reach .05, six can."""
        return self.smallest.at_most(alpha)


def sign_test(first: int, second: int) -> SignTest:
    """Exact two-sided p of a split of m = first + second changes: min(1, 2 P(X <= min(first, second))), X ~ Bin(m, 1/2).

    Without changes p = 1. Above 20,000 changes (``exact_trials`` of the settings) the tail is taken in doubles, and the
    p-value says so. Raises RoundError ``invalid_count``.

    >>> sign_test(5, 1).p.exact         # 2 (1 + 6) / 64
    Fraction(7, 32)
    """
    counts_of(first=first, second=second)
    n, fewer = first + second, min(first, second)
    smallest = counted(min(Fraction(1), Fraction(2, 2**n)))
    if n > _EXACT_TRIALS:
        from scipy.special import betainc  # late: a third of a second that --help does not need

        # P(X <= k) of n fair coins as an incomplete beta function
        tail = float(betainc(n - fewer, fewer + 1, 1 / 2))
        return SignTest(first, second, n, Probability(min(1.0, 2 * tail), None, DOUBLES), smallest)
    total = term = 1
    for i in range(fewer):
        term = term * (n - i) // (i + 1)
        total += term
    return SignTest(first, second, n, counted(min(Fraction(1), Fraction(2 * total, 2**n))), smallest)
