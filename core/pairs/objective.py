"""The quantities of a preference pair, exactly, and in doubles with a bound on their error.

With summed log-probabilities pc, rc (policy and reference on the chosen answer), pr, rr (on the rejected one), in nats, and
token counts nc, nr::

    margin       m = beta * ((pc - rc) - (pr - rr))                       nats; what trainers log as rewards/margins
    loss         L = softplus(-m) + alpha * (-pc / nc)                    nats; DPO + per-token NLL of the chosen answer
    drift        d = (pc - rc) / nc                                       nats per token
    length ratio r = max(nc / nr, nr / nc)

A measured double stands for its shortest decimal (``Fraction(repr(x))``): the number that was written. Double subtraction
flips equality at a bound, so a comparison is made in doubles only where the value is farther from the bound than its error
bound, and in rationals otherwise. The loss is transcendental; it is quantised once, to the nearest integer of the grid's
``loss_quantum``, and from there on it is an integer.

Error bounds. Let u = 2^-53. A double x and its shortest decimal differ by at most u|x| (half a unit in the last place), and
each operation adds a relative u. Counting them gives 2u(|pc|+|rc|) for pc - rc, 3.1uS for (pc - rc) - (pr - rr) with
S = |pc|+|rc|+|pr|+|rr|, and 5.3uS*beta for m; the constants below are rounded up, and ``TINY`` covers subnormal results.

Sources: Rafailov et al. 2023, arXiv:2305.18290 (margin, loss); Pang et al. 2024, arXiv:2404.19733 (NLL term).
"""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.errors import RoundError

Doubles: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]

UNIT: Final = 2.0**-53
TINY: Final = 2.0**-1060
LINEAR_UNITS: Final = 8.0
"""Units of error of a margin, drift or ratio, over the sum of the sizes that went in (5.3 by count)."""
SOFTPLUS_UNITS: Final = 64.0
"""Units of error of exp and log1p over 1 + |m|: maths libraries promise 4 units in the last place each (12 by count)."""
LARGEST_STEP: Final = 2.0**51
"""Above it a double has no room for the half that a tie needs."""
LARGEST_INT64: Final = 2**63 - 1
FIRST_DIGITS: Final = 40
DECIMAL_EXPONENT: Final = 20
DECIMAL_DIGITS: Final = 76
DECIMAL_SCALE: Final = 40
WIDE: Final = Context(prec=1200)
"""Holds every digit of a sum of doubles: from 10^308 down to the 17th digit of 5e-324."""


def exact(value: float) -> Fraction:
    """A measured double as the rational its shortest decimal writes: ``exact(0.1) == Fraction(1, 10)``."""
    return Fraction(repr(float(value)))


def nearest_double(value: Fraction) -> float:
    """The double nearest to a rational; infinite where none is near."""
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def round_half_even(value: Fraction, decimals: int) -> float:
    """``value`` rounded once to ``decimals`` places, half to even, as a receipt states it; never -0.0 (57/128 is .445312).

    Raises RoundError ``figure_out_of_range`` where no double can hold the figure.
    """
    scale = int(10**decimals)
    try:
        return round(value * scale) / scale
    except OverflowError as problem:
        raise RoundError(
            "figure_out_of_range", expected="a figure that fits a double", got="a figure above 1.8e308",
            remedy="check the log-probabilities of the admitted pairs",
        ) from problem


def exact_margin(chosen: tuple[float, float], rejected: tuple[float, float], beta: Fraction) -> Fraction:
    """m = beta * ((pc - rc) - (pr - rr)); ``chosen`` = (pc, rc), ``rejected`` = (pr, rr)."""
    return beta * ((exact(chosen[0]) - exact(chosen[1])) - (exact(rejected[0]) - exact(rejected[1])))


def exact_drift(policy: float, reference: float, tokens: int) -> Fraction:
    """d = (pc - rc) / nc, nats per chosen token."""
    return (exact(policy) - exact(reference)) / int(tokens)


def exact_nll(policy: float, tokens: int) -> Fraction:
    """-pc / nc, nats per chosen token."""
    return -exact(policy) / int(tokens)


def exact_ratio(chosen_tokens: int, rejected_tokens: int) -> Fraction:
    """r = max(nc / nr, nr / nc), at least 1."""
    low, high = sorted((int(chosen_tokens), int(rejected_tokens)))
    return Fraction(high, low)


def softplus(x: Doubles) -> Doubles:
    """log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)): no overflow, and no zero where the answer is small."""
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


@dataclass(frozen=True, slots=True)
class Bounded:
    """Doubles and a bound on how far each may lie from the exact value."""

    value: Doubles
    error: Doubles


def margins(chosen: tuple[Doubles, Doubles], rejected: tuple[Doubles, Doubles], beta: Fraction) -> Bounded:
    """Margins of many pairs; arguments as in :func:`exact_margin`."""
    scale = nearest_double(beta)
    with np.errstate(over="ignore", invalid="ignore"):
        value = scale * ((chosen[0] - chosen[1]) - (rejected[0] - rejected[1]))
        size = np.abs(chosen[0]) + np.abs(chosen[1]) + np.abs(rejected[0]) + np.abs(rejected[1])
        return Bounded(value, LINEAR_UNITS * UNIT * scale * size + TINY)


def drifts(policy: Doubles, reference: Doubles, tokens: Integers) -> Bounded:
    """Chosen drift per token of many pairs."""
    with np.errstate(over="ignore", invalid="ignore"):
        value = (policy - reference) / tokens
        return Bounded(value, LINEAR_UNITS * UNIT * (np.abs(policy) + np.abs(reference)) / tokens + TINY)


def ratios(chosen_tokens: Integers, rejected_tokens: Integers) -> Bounded:
    """Length ratios of many pairs."""
    value = np.maximum(chosen_tokens, rejected_tokens) / np.minimum(chosen_tokens, rejected_tokens)
    return Bounded(value, LINEAR_UNITS * UNIT * value)


def compare(measured: Bounded, bound: Fraction, exact_at: Callable[[int], Fraction]) -> tuple[npt.NDArray[np.int8], Doubles]:
    """Where each value lies against ``bound``: -1 below, 0 equal, 1 above; and the values, corrected near the bound.

    ``exact_at(i)`` gives the exact i-th value; it is asked only where the double cannot tell.
    """
    threshold = nearest_double(bound)
    with np.errstate(invalid="ignore"):
        distance = measured.value - threshold
        far = np.abs(distance) > measured.error + LINEAR_UNITS * UNIT * abs(threshold)
        side = np.sign(distance)
    # NaN and infinity minus infinity compare as not far, so they are decided exactly; the cast needs finite numbers
    side = np.where(far, side, 0.0).astype(np.int8)
    value = measured.value.copy()
    for index in np.flatnonzero(~far).tolist():
        precise = exact_at(index)
        side[index] = (precise > bound) - (precise < bound)
        value[index] = nearest_double(precise)
    return side, value


@dataclass(frozen=True, slots=True)
class Quanta:
    """Quantised losses: ``steps`` where they fit 64 bits, else ``wide[index]`` (and -1 in ``steps``)."""

    steps: Integers
    wide: dict[int, int]


def exact_loss_quanta(margin: Fraction, nll: Fraction, quantum: Fraction) -> int:
    """The integer nearest to (softplus(-margin) + nll) / quantum, half to even; ``nll`` = alpha * (-pc / nc).

    softplus(-m) = max(-m, 0) + log1p(exp(-|m|)), a rational plus a number that is irrational for every rational m
    (Lindemann-Weierstrass), so the loss is never exactly on a tie: narrowing open bounds around it ends.
    """
    rational = max(-margin, Fraction(0)) + nll
    half, digits = Fraction(1, 2), FIRST_DIGITS
    while True:
        low, high = _log1p_exp(abs(margin), digits)
        # the loss lies strictly between the bounds: a tie at the lower one goes up, a tie at the upper one down
        down = math.floor((rational + low) / quantum + half)
        if down == math.ceil((rational + high) / quantum - half):
            return down
        digits *= 2


def _log1p_exp(size: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Open bounds around log1p(exp(-size)), size >= 0, at most 2 * 10^-digits apart."""
    step = Fraction(1, 10**digits)
    if size > 3 * digits:
        # exp(-3 d) = 10^(-1.3 d), and 0 < log1p(x) < x
        return Fraction(0), step
    with localcontext(Context(prec=digits + 10)):
        power = (-Decimal(size.numerator) / Decimal(size.denominator)).exp()
        value = Fraction((power + 1).ln())
    return value - step, value + step


def loss_quanta(
    margin: Bounded, nll: Doubles, alpha: Fraction, quantum: Fraction, exact_at: Callable[[int], tuple[Fraction, Fraction]],
) -> Quanta:
    """Quantised losses of many pairs.

    ``margin``: uncorrected margins; ``nll``: -pc / nc in doubles; ``exact_at(i)``: exact margin and exact alpha * nll,
    asked only where the double lies so near a tie that it cannot tell. Returns the same integers as
    :func:`exact_loss_quanta` for every pair.
    """
    weight, scale = nearest_double(alpha), nearest_double(1 / quantum)
    with np.errstate(over="ignore", invalid="ignore"):
        loss = softplus(-margin.value) + weight * nll
        units = SOFTPLUS_UNITS * (1.0 + np.abs(margin.value)) + LINEAR_UNITS * (weight * nll + np.abs(loss))
        steps = loss * scale
        error = (margin.error + units * UNIT) * scale
        whole = np.floor(steps)
        sure = (np.abs(steps - whole - 0.5) > error) & (steps < LARGEST_STEP)
    result = np.where(sure, np.rint(steps), -1.0).astype(np.int64)
    wide: dict[int, int] = {}
    for index in np.flatnonzero(~sure).tolist():
        precise = exact_loss_quanta(*exact_at(index), quantum)
        if precise <= LARGEST_INT64:
            result[index] = precise
        else:
            wide[index] = precise
    return Quanta(result, wide)


def loss_values(quanta: Quanta, quantum: Fraction) -> Doubles:
    """Quantised losses as doubles, for display: the same on every machine, unlike the logarithm they came from."""
    value = np.asarray(quanta.steps / nearest_double(1 / quantum), dtype=np.float64)
    for index, steps in quanta.wide.items():
        value[index] = nearest_double(steps * quantum)
    return value


def exact_sum(values: Doubles) -> Fraction:
    """The exact sum of the shortest decimals of finite doubles, whatever their order; 0 for none.

    Doubles of everyday size are summed as 256-bit decimals by Arrow, the others one by one in wide decimals.
    Raises RoundError ``non_finite_value``.
    """
    if not np.isfinite(values).all():
        raise RoundError("non_finite_value", expected="finite numbers", got="NaN or infinity", remedy="leave such rows out before summing")
    size = np.abs(values)
    everyday = (size == 0) | ((size > 10.0**-DECIMAL_EXPONENT) & (size < 10.0**DECIMAL_EXPONENT))
    written = pc.cast(pa.array(values[everyday]), pa.string())
    total = pc.sum(pc.cast(written, pa.decimal256(DECIMAL_DIGITS, DECIMAL_SCALE))).as_py()
    with localcontext(WIDE):
        others = sum((Decimal(repr(value)) for value in values[~everyday].tolist()), Decimal(0))
    return Fraction(total or 0) + Fraction(others)
