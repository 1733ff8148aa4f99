"""Meeting a bound and proving it are two things.

A rate *meets* a cap when the count does. It *proves* the cap when a true rate at the cap would give a result this good
with probability at most alpha: P(X <= errors; n, cap) <= alpha, decided in rationals. That is the one-sided Clopper-Pearson
bound lying at or under the cap, without a double in the decision. A floor (agreement) is a cap on the other outcome.

The light decides nothing; the pinned rule does.
"""
from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, localcontext
from enum import StrEnum
from fractions import Fraction
from typing import Literal

from core.errors import GridError, Where
from core.settings import SETTINGS
from core.statistics.inputs import ALPHA, Level, counts_of, level_of
from core.statistics.rate_intervals import lower_bound, upper_bound
from core.statistics.ratio import Ratio, percent_text
from core.statistics.result import Interval, Result

_EXACT_TRIALS: int = SETTINGS["statistics"]["exact_trials"]
_MOST_TRIALS: int = SETTINGS["statistics"]["most_trials"]
_DIGITS, _GUARD, _DOUBLES_GUARD = 60, Decimal("1e-40"), 1e-6
"""Working digits of long tail sums, and how near alpha a sum may come (relatively) before a slower route decides."""


class Light(StrEnum):
    """What the evidence says about a bound."""

    PROVES = "proves"
    MEETS = "meets, not proven"
    FAILS = "fails"
    UNDEFINED = "undefined"


def _tail_exact(errors: int, n: int, rate: Fraction, alpha: Fraction) -> bool:
    """P(X <= errors; n, rate) <= alpha in integers: the terms over the common denominator q^n."""
    hit, miss, q = rate.numerator, rate.denominator - rate.numerator, rate.denominator
    total = term = miss**n
    for i in range(errors):
        term = term * (n - i) * hit // ((i + 1) * miss)     # divides without remainder: the next term is an integer
        total += term
    return bool(total * alpha.denominator <= alpha.numerator * q**n)


def _tail_decimal(errors: int, n: int, rate: Fraction, alpha: Fraction) -> bool | None:
    """The same with 60 digits, or None when the sum lies too near alpha to tell."""
    with localcontext(Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX)):
        miss = Decimal(rate.denominator - rate.numerator) / rate.denominator
        odds = Decimal(rate.numerator) / (rate.denominator - rate.numerator)
        total = term = miss**n
        for i in range(errors):
            term = term * (n - i) * odds / (i + 1)
            total += term
        level = Decimal(alpha.numerator) / alpha.denominator
        return None if abs(total - level) <= _GUARD * level else bool(total <= level)


def _tail_doubles(errors: int, n: int, rate: Fraction, alpha: Fraction) -> bool | None:
    """The same in doubles, or None within a millionth of alpha."""
    from scipy.special import betainc  # late: a third of a second that --help does not need

    # P(X <= k) is the incomplete beta function at 1 - rate; scipy's binomial tail itself takes n as a C int
    share = float(betainc(n - errors, errors + 1, float(1 - rate))) / float(alpha)
    return None if not abs(share - 1) >= _DOUBLES_GUARD else share < 1


def tail_is_at_most(errors: int, n: int, rate: Fraction, alpha: Fraction) -> bool:
    """Whether P(X <= errors) <= alpha for X of n trials at ``rate`` (0 < rate < 1).

    In rationals up to 20,000 trials (``exact_trials`` of the settings). Above that a fast route decides where it is
    clearly right, first in doubles, then with 60 digits; with more than ten million errors that still cannot be told
    apart from alpha the answer is no.
    """
    if n > _EXACT_TRIALS:
        for route in (_tail_doubles, _tail_decimal):
            decided = route(errors, n, rate, alpha)
            if decided is not None:
                return decided
            if errors > _MOST_TRIALS:
                return False
    return _tail_exact(errors, n, rate, alpha)


def cases_needed(errors: int, cap: Fraction, alpha: Level = ALPHA) -> int | None:
    """The smallest n at which ``errors`` errors prove a rate of at most ``cap``; None where no n up to ten million does
    (``most_trials`` of the settings).

    Raises GridError (``bound_out_of_range``) for a cap outside 0 to 1, RoundError for a count that is none.
    A cap of 0 cannot be proven; a cap of 1 needs no proof.

    >>> [cases_needed(errors, Fraction(1, 20)) for errors in range(6)]
    [59, 93, 124, 153, 181, 208]
    """
    counts_of(errors=errors)
    level = level_of(alpha, name="alpha")
    if not 0 <= cap <= 1:
        raise GridError(
            "bound_out_of_range", expected="a rate from 0 to 1", got=str(cap), remedy="state the bound as a rate", where=Where(field="cap"),
        )
    if cap == 1:
        return errors
    if cap == 0 or errors >= _MOST_TRIALS:
        return None
    below, above = errors, errors + 1       # at n = errors every case is an error, which proves nothing
    while not tail_is_at_most(errors, above, cap, level):
        if above >= _MOST_TRIALS:
            return None
        below, above = above, min(2 * above, _MOST_TRIALS)
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if tail_is_at_most(errors, middle, cap, level) else (middle, above)
    return above


@dataclass(frozen=True, slots=True)
class RateProof(Result):
    """A rate against a bound, and what the evidence can say.

    ``limit``: the one-sided exact bound that these cases do prove. ``needed``: cases at which the errors seen would
    prove the bound; ``more``: how many are missing, given only where the bound is met and not proven, and on the
    condition that none of them is an error.
    """

    rate: Ratio
    bound: Fraction
    direction: Literal["max", "min"]
    alpha: Fraction
    light: Light
    limit: Interval
    needed: int | None
    more: int | None
    unit: str

    @property
    def text(self) -> str:
        """The light in words: ``meets, not proven: needs 56 more failed cases``."""
        if self.light is Light.UNDEFINED:
            return f"{self.light}: {self.rate.undefined}"
        if self.light is Light.MEETS:
            if self.more is not None:
                return f"{self.light}: needs {self.more:,} more {self.unit}"
            # a cap of 0 (or a floor of 1) needs what no sample gives; otherwise the search stopped
            certain = self.bound == (0 if self.direction == "max" else 1)
            return f"{self.light}: no number of {self.unit} can" if certain else f"{self.light}: needs more than {_MOST_TRIALS:,} {self.unit}"
        return str(self.light)

    @property
    def detail(self) -> str:
        """What n proves, and on what condition more cases would prove the bound."""
        end = self.limit.upper if self.direction == "max" else self.limit.lower
        if end is None or self.rate.value is None:
            return f"The rate is undefined: {self.rate.undefined}."
        side = "at most" if self.direction == "max" else "at least"
        shown = percent_text(Fraction(end), against=self.bound)
        more = "" if self.more is None else f" {self.more:,} more {self.unit} without another error would prove it."
        return (
            f"{self.rate.numerator:,} of {self.rate.denominator:,} proves {side} {shown} "
            f"(one-sided, {percent_text(1 - self.alpha)} confidence); the bound is {percent_text(self.bound)}.{more}"
        )

    def as_dict(self) -> dict[str, object]:
        """JSON members, with both sentences."""
        # slots and inheritance: super() without arguments does not work in a dataclass that was rebuilt with slots
        return {**Result.as_dict(self), "text": self.text, "detail": self.detail}


def rate_proof(rate: Ratio, bound: Fraction, *, direction: Literal["max", "min"], unit: str, alpha: Level = ALPHA) -> RateProof:
    """A counted rate against an inclusive cap (``max``) or floor (``min``). ``unit``: what one more case is called.

    >>> rate_proof(Ratio(0, 3), Fraction(1, 20), direction="max", unit="failed cases").text
    'meets, not proven: needs 56 more failed cases'
    """
    level, n = level_of(alpha, name="alpha"), rate.denominator
    capped = direction == "max"
    limit = (upper_bound if capped else lower_bound)(rate.numerator, n, 1 - level)
    errors, cap = (rate.numerator, bound) if capped else (n - rate.numerator, 1 - bound)
    if rate.value is None:
        return RateProof(rate, bound, direction, level, Light.UNDEFINED, limit, cases_needed(0, cap, level), None, unit)
    needed = cases_needed(errors, cap, level)
    if Fraction(errors, n) > cap:
        return RateProof(rate, bound, direction, level, Light.FAILS, limit, needed, None, unit)
    proven = cap == 1 or (cap > 0 and tail_is_at_most(errors, n, cap, level))
    more = None if proven or needed is None else needed - n
    return RateProof(rate, bound, direction, level, Light.PROVES if proven else Light.MEETS, limit, needed, more, unit)
