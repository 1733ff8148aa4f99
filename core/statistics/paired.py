"""Two models on the same items: the table of flips, its rates, and the exact tests of the paired difference.

Both arms answered the same items, so only items where they differ say anything: *fixes* (the baseline fails, the
candidate passes) and *regressions* (the reverse). Everything here is counted in integers.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from core.errors import RoundError
from core.settings import SETTINGS
from core.statistics.inputs import Level, counts_of, level_of
from core.statistics.probability import DOUBLES, Probability, counted
from core.statistics.ratio import Ratio, counted_ratio
from core.statistics.result import Result
from core.statistics.sign_test import sign_test

Test = Literal["exact", "mid_p"]
TESTS: Final[tuple[Test, ...]] = ("exact", "mid_p")
BASELINE_PASSED_NOTHING: Final = "the baseline passed nothing"
_EXACT_FLIPS: int = SETTINGS["statistics"]["exact_trials"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipTable(Result):
    """Items by the outcome of both arms; integers >= 0, at least one item.

    Raises RoundError: ``invalid_count``, or ``empty_holdout`` without items.
    """

    both_pass: int
    regressions: int
    fixes: int
    both_fail: int

    def __post_init__(self) -> None:
        counts_of(both_pass=self.both_pass, regressions=self.regressions, fixes=self.fixes, both_fail=self.both_fail)
        if not self.n:
            raise RoundError("empty_holdout", expected="at least one item", got="none", remedy="compare the two arms on the items they share")

    @property
    def n(self) -> int:
        return self.both_pass + self.regressions + self.fixes + self.both_fail

    @property
    def flips(self) -> int:
        """Items whose outcome differs, either way."""
        return self.fixes + self.regressions

    @property
    def baseline(self) -> Ratio:
        """Pass rate of the baseline."""
        return Ratio(self.both_pass + self.regressions, self.n)

    @property
    def candidate(self) -> Ratio:
        """Pass rate of the candidate."""
        return Ratio(self.both_pass + self.fixes, self.n)

    @property
    def net_gain(self) -> Ratio:
        """(fixes - regressions) / n: the difference of the two rates, never of two rounded ones."""
        return Ratio(self.fixes - self.regressions, self.n)

    @property
    def fix_rate(self) -> Ratio:
        return Ratio(self.fixes, self.n)

    @property
    def regression_rate(self) -> Ratio:
        """Regressions over all items, so that net gain = fix rate - regression rate."""
        return Ratio(self.regressions, self.n)

    @property
    def regressions_over_baseline_passes(self) -> Ratio:
        """The other denominator, shown beside it. Undefined when the baseline passed nothing."""
        return counted_ratio(self.regressions, self.both_pass + self.regressions, undefined=BASELINE_PASSED_NOTHING)


def _probability_of(table: FlipTable) -> Fraction | float:
    """Of this split of the flips when both directions are equally likely; a double above 20,000 flips."""
    if table.flips <= _EXACT_FLIPS:
        return Fraction(math.comb(table.flips, table.fixes), 2**table.flips)
    ways = math.lgamma(table.flips + 1) - math.lgamma(table.fixes + 1) - math.lgamma(table.regressions + 1)
    return math.exp(ways - table.flips * math.log(2))


@dataclass(frozen=True, slots=True)
class PairedTest(Result):
    """Tests of "both arms are equally good" on one table of flips.

    ``exact``: two-sided exact McNemar, which is the sign test on the flips; 1 without flips. ``mid_p``: the same less the
    probability of the observed table (1 less half of it when fixes and regressions are equal). ``better``: one-sided,
    the candidate is better. ``statistic`` and ``asymptotic``: chi-squared without correction, for comparison with other
    tools only; None and p = 1 without flips.
    """

    table: FlipTable
    exact: Probability
    mid_p: Probability
    better: Probability
    statistic: Fraction | None
    asymptotic: Probability

    def of(self, test: Test) -> Probability:
        """The p-value of the named test."""
        return self.exact if test == "exact" else self.mid_p


def paired_test(table: FlipTable) -> PairedTest:
    """Exact McNemar, mid-p, one-sided and asymptotic p-values.

    Above 20,000 flips (``statistics.exact_trials`` of the settings) the sums are taken in doubles, and say so.
    Sources: McNemar 1947, Psychometrika 12:153-157; Fagerland, Lydersen & Laake 2013, BMC Med. Res. Methodol. 13:91.

    >>> paired_test(FlipTable(both_pass=69, regressions=1, fixes=9, both_fail=21)).exact.exact
    Fraction(11, 512)
    """
    statistic = Fraction((table.fixes - table.regressions) ** 2, table.flips) if table.flips else None
    asymptotic = Probability(1.0 if statistic is None else math.erfc(math.sqrt(float(statistic) / 2)), None, DOUBLES)
    exact, observed = sign_test(table.fixes, table.regressions).p, _probability_of(table)
    whole: Fraction | float = exact.value if exact.exact is None else exact.exact
    if not table.flips:
        return PairedTest(table, exact, exact, exact, statistic, asymptotic)
    # P(X <= the lesser count): half the two-sided p, which stops at 1 when both counts are equal
    lesser = (1 + observed) / 2 if table.fixes == table.regressions else whole / 2
    mid = 1 - observed / 2 if table.fixes == table.regressions else whole - observed
    better = lesser if table.fixes >= table.regressions else 1 - lesser + observed
    return PairedTest(table, exact, _as_found(mid), _as_found(better), statistic, asymptotic)


def _as_found(value: Fraction | float) -> Probability:
    return counted(value) if isinstance(value, Fraction) else Probability(value, None, DOUBLES)


def smallest_p(items: int, test: Test = "exact") -> Fraction:
    """The smallest p-value that any result on that many items can have: all of them flip the same way.

    2 / 2^n for the exact test, half of it for mid-p. Raises RoundError ``invalid_count``.

    >>> smallest_p(5), smallest_p(6)
    (Fraction(1, 16), Fraction(1, 32))
    """
    smallest = sign_test(items, 0).smallest.fraction
    return Fraction(1, 2**items) if test == "mid_p" and items else smallest


def items_to_reach(alpha: Level, test: Test = "exact") -> int:
    """The fewest items on which some result can reach ``alpha``.

    >>> items_to_reach("0.05")
    6
    """
    level = level_of(alpha, name="alpha")
    items = 0
    while smallest_p(items, test) > level:
        items += 1
    return items
