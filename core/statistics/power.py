"""How many holdout items a wanted gain needs, and what gain a given holdout can show at all.

``discordant_share`` s is the share of items that flip either way, ``gain`` d the net gain (fixes minus regressions, both
as shares); d can never exceed s. Every figure is before the fact: it says what a test could show, not what it showed.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final, NoReturn

import numpy as np

from core.errors import GridError, Where
from core.statistics.inputs import Level, Score, counts_of, exact_score, level_of
from core.statistics.paired import Test, smallest_p
from core.statistics.probability import Probability, counted
from core.statistics.rate_intervals import normal_quantile
from core.statistics.result import Result

NO_FLIPS: Final = "no item flips, so no gain can show"
TOO_SMALL: Final = "not even a gain of every flip could be shown on this many items"
_HALVINGS: Final = 60
_ENUMERATED_ITEMS: Final = 2000
"""Beyond this both routes agree to a few hundredths of the gain, and counting takes long."""


def _refuse(code: str, expected: str, got: str, field: str) -> NoReturn:
    raise GridError(code, expected=expected, got=got, remedy="plan for a gain that such a holdout can have", where=Where(field=field))


def _gain_of(gain: Score, share: Fraction) -> Fraction:
    value = exact_score(gain, name="gain")
    if not 0 < value <= 1:
        _refuse("difference_out_of_range", "a gain above 0 and at most 1", str(gain), "gain")
    if value > share:
        _refuse("difference_exceeds_discordant_share", f"at most the share of items that flip, {share}", str(gain), "gain")
    return value


def _share_of(discordant_share: Score) -> Fraction:
    value = exact_score(discordant_share, name="discordant_share")
    if not 0 <= value <= 1:
        _refuse("share_out_of_range", "a share from 0 to 1", str(discordant_share), "discordant_share")
    return value


def _quantiles(alpha: Level, power: Level) -> tuple[float, float]:
    """z of the two-sided error alpha, and z of the power."""
    return normal_quantile(1 - level_of(alpha, name="alpha")), NormalDist().inv_cdf(float(level_of(power, name="power")))


@dataclass(frozen=True, slots=True)
class HoldoutSize(Result):
    """Items needed: ``n`` is ``n_real`` rounded up."""

    gain: Fraction
    alpha: Fraction
    power: Fraction
    n_real: float
    n: int
    method: str


def holdout_size(gain: Score, discordant_share: Score, *, alpha: Level, power: Level) -> HoldoutSize:
    """Items at which a true net gain is shown with the wanted power, by the paired normal approximation.

    n = (z_(1-alpha/2) sqrt(s) + z_power sqrt(s - d^2))^2 / d^2. Raises GridError: ``difference_out_of_range``,
    ``difference_exceeds_discordant_share``, ``share_out_of_range``, ``confidence_out_of_range``.
    Sources: Miettinen 1968, Biometrics 24:339-352; Connett, Smith & McHugh 1987, Stat. Med. 6:581-588.

    >>> holdout_size("0.05", "0.2", alpha="0.05", power="0.8").n
    626
    """
    share = _share_of(discordant_share)
    difference = _gain_of(gain, share)
    z_alpha, z_power = _quantiles(alpha, power)
    root = z_alpha * math.sqrt(share) + z_power * math.sqrt(share - difference**2)
    real = root * root / float(difference**2)
    return HoldoutSize(difference, level_of(alpha), level_of(power), real, math.ceil(real), "paired proportions, normal approximation")


def sampled_holdout_size(
    gain: Score, *, between: Score, within: tuple[Score, Score], samples: tuple[int, int], alpha: Level, power: Level,
) -> HoldoutSize:
    """Tasks needed when each is answered several times and graded by its pass rate.

    n = (z_(1-alpha/2) + z_power)^2 (w + a/K_a + b/K_b) / d^2, with ``between`` w the variance over tasks of the difference of
    their true means, ``within`` (a, b) the mean variance inside a task and ``samples`` (K_a, K_b) the rollouts of each arm.
    Raises GridError as :func:`holdout_size`. Source: Miller 2024, arXiv:2411.00640.
    """
    difference = _gain_of(gain, Fraction(1))
    z_alpha, z_power = _quantiles(alpha, power)
    real = (z_alpha + z_power) ** 2 * float(_sampled_variance(between, within, samples) / difference**2)
    return HoldoutSize(difference, level_of(alpha), level_of(power), real, math.ceil(real), "graded tasks, normal approximation")


def _sampled_variance(between: Score, within: tuple[Score, Score], samples: tuple[int, int]) -> Fraction:
    counts_of(samples_baseline=samples[0] - 1, samples_candidate=samples[1] - 1)
    parts = [exact_score(value, name="within") / count for value, count in zip(within, samples, strict=True)]
    variance = exact_score(between, name="between") + sum(parts, Fraction(0))
    if variance < 0 or min(parts) < 0:
        _refuse("share_out_of_range", "variances of at least 0", str(variance), "between")
    return variance


def smallest_sampled_gain(
    n: int, *, between: Score, within: tuple[Score, Score], samples: tuple[int, int], alpha: Level, power: Level,
) -> float:
    """The net gain of graded tasks that n of them show with the wanted power: the inverse of :func:`sampled_holdout_size`."""
    counts_of(n=n - 1)
    z_alpha, z_power = _quantiles(alpha, power)
    return (z_alpha + z_power) * math.sqrt(_sampled_variance(between, within, samples) / n)


def smallest_graded_gain(standard_error: float | None, *, alpha: Level, power: Level) -> float | None:
    """(z_(1-alpha/2) + z_power) standard errors: the true gain that would be shown with the wanted power at this spread.
    None where the spread was not estimable (no standard error, or one of 0).
    """
    return sum(_quantiles(alpha, power)) * standard_error if standard_error else None


@dataclass(frozen=True, slots=True)
class SmallestGain(Result):
    """The smallest true net gain that n items show with the wanted power, given the share of flips.

    ``exact``: for the test named, by enumeration, up to 2,000 items; ``approximate``: by the paired normal approximation.
    ``value`` is the exact one where it was enumerated, else the approximate one; None with a reason where no gain of that
    share of flips can be shown.
    """

    n: int
    discordant_share: Fraction
    alpha: Fraction
    power: Fraction
    test: Test
    smallest_p: Probability
    approximate: float | None
    exact: float | None
    value: float | None
    undefined: str | None = None


def smallest_gain(n: int, discordant_share: Score, *, alpha: Level, power: Level, test: Test = "exact") -> SmallestGain:
    """What a holdout of n items can show when that share of them flips. Raises as :func:`holdout_size`."""
    counts_of(n=n - 1)
    share, level, wanted = _share_of(discordant_share), level_of(alpha, name="alpha"), level_of(power, name="power")
    floor = counted(smallest_p(n, test))
    if share == 0:
        return SmallestGain(n, share, level, wanted, test, floor, None, None, None, NO_FLIPS)
    approximate = _approximate_gain(n, float(share), *_quantiles(level, wanted))
    exact = _exact_gain(n, share, level, wanted, test) if n <= _ENUMERATED_ITEMS else None
    value = exact if n <= _ENUMERATED_ITEMS else approximate
    return SmallestGain(n, share, level, wanted, test, floor, approximate, exact, value, None if value is not None else TOO_SMALL)


def _approximate_gain(n: int, s: float, z_alpha: float, z_power: float) -> float | None:
    """n d^2 = (z_a sqrt(s) + z_p sqrt(s - d^2))^2 solved for d; None where that exceeds s."""
    inner = s * (n + z_power**2 - z_alpha**2)
    if inner < 0:
        return None
    gain = (math.sqrt(n * s) * z_alpha + z_power * math.sqrt(inner)) / (n + z_power**2)
    return gain if gain <= s else None


def _exact_gain(n: int, share: Fraction, alpha: Fraction, power: Fraction, test: Test) -> float | None:
    """By bisection: the power grows with the gain at a fixed share of flips."""
    limits = critical_flips(n, alpha, test)
    s, wanted = float(share), float(power)
    if _power(n, s, 1.0, limits) < wanted:
        return None
    low, high = 0.0, s
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _power(n, s, (1 + middle / s) / 2, limits) >= wanted else (middle, high)
    return high


def critical_flips(n: int, alpha: Level, test: Test = "exact") -> list[int]:
    """For m = 0 .. n flips the largest number of them in the lesser direction that still reaches ``alpha``; -1 where none does.

    Counted in integers: with S(m, t) the sum of C(m, i) over i <= t, the exact test reaches alpha when 2 S <= alpha 2^m, and
    mid-p when 2 S - C(m, t) does. S(m+1, t) = 2 S(m, t) - C(m, t), and t grows by at most 1 with m.

    >>> critical_flips(6, "0.05")
    [-1, -1, -1, -1, -1, -1, 0]
    """
    level, limits = level_of(alpha, name="alpha"), []
    place, below, term = 0, 1, 1      # the first count not yet known to reach alpha, S(m, place) and C(m, place), at m = 0
    for m in range(n + 1):
        while 2 * place < m and _reaches(below, term, m, level, test):
            place += 1
            term = term * (m - place + 1) // place
            below += term
        limits.append(place - 1)
        below, term = 2 * below - term, term * (m + 1) // (m + 1 - place)
    return limits


def _reaches(below: int, term: int, m: int, alpha: Fraction, test: Test) -> bool:
    weight = 2 * below - (term if test == "mid_p" else 0)
    return weight * alpha.denominator <= alpha.numerator << m


def _power(n: int, share: float, fix_share: float, limits: list[int]) -> float:
    """Sum over m of P(m flips) P(at least m - t of them are fixes)."""
    from scipy.special import bdtr, gammaln, xlog1py, xlogy  # late: a third of a second that --help does not need

    m = np.arange(n + 1)
    weight = np.exp(gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1) + xlogy(m, share) + xlog1py(n - m, -share))
    most = np.array(limits)
    # at most t regressions among m flips, each a regression with probability 1 - fix_share
    reached = np.where(most >= 0, bdtr(np.maximum(most, 0), m, 1 - fix_share), 0.0)
    return float(weight @ reached)


def exact_power(n: int, fixes: Score, regressions: Score, *, alpha: Level, test: Test = "exact") -> float:
    """Probability that the two-sided test reaches ``alpha`` in favour of the candidate, by enumeration.

    ``fixes`` and ``regressions``: the true shares of items that flip each way. Raises GridError (``share_out_of_range``).

    >>> exact_power(5, "0.3", "0.1", alpha="0.05")
    0.0
    """
    counts_of(n=n)
    gained, lost = _share_of(fixes), _share_of(regressions)
    share = _share_of(gained + lost)
    if share == 0:
        return 0.0
    return _power(n, float(share), float(gained / share), critical_flips(n, alpha, test))


def false_alarm_rate(n: int, flip_share: Score, *, alpha: Level, test: Test = "exact") -> float:
    """How often the two-sided test reaches ``alpha`` when as many items truly flip each way (``flip_share`` each)."""
    return 2 * exact_power(n, flip_share, flip_share, alpha=alpha, test=test)
