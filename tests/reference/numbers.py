"""Exact numbers: doubles as the decimals they are written as, rounding, and the loss in quanta."""
from __future__ import annotations

import decimal
from fractions import Fraction

VAST = 10**4
"""Beyond this the logarithm of 1 + exp(-size) is below 1e-4342: written out it would have thousands of zeros."""


def written(value: float) -> Fraction:
    """The shortest decimal of a double, exactly."""
    return Fraction(repr(float(value)))


def half_even(value: Fraction) -> int:
    """The nearest integer; a tie goes to the even one."""
    below = value.numerator // value.denominator
    rest = value - below
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1):
        return below + 1
    return below


def receipt_number(value: Fraction, decimals: int) -> float:
    """Rounded once, half to even; never negative zero."""
    return half_even(value * 10**decimals) / 10**decimals


def _tail(size: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Bounds of ln(1 + exp(-size)), size >= 0, about ``digits`` digits apart from each other."""
    if size > VAST:
        return Fraction(0), Fraction(1, 10**4000)
    with decimal.localcontext() as context:
        context.prec, context.Emin, context.Emax = digits + 20, decimal.MIN_EMIN, decimal.MAX_EMAX
        exponent = (decimal.Decimal(-size.numerator) / decimal.Decimal(size.denominator)).exp()
        if exponent < decimal.Decimal(10) ** -digits:
            # ln(1+x) lies between x - x*x and x, and adding x to 1 would lose it at this precision
            middle, slack = Fraction(exponent), Fraction(exponent) ** 2 + Fraction(exponent) / 10**digits
        else:
            middle, slack = Fraction((1 + exponent).ln()), Fraction(1, 10**digits)
    return max(middle - slack, Fraction(0)), middle + slack


def loss_quanta(margin: Fraction, weighted_nll: Fraction, quantum: Fraction) -> int:
    """softplus(-margin) + weighted_nll, as the nearest whole number of quanta.

    softplus(-m) = max(-m, 0) + ln(1 + exp(-|m|)); the logarithm is irrational for every rational m, so a tie never
    occurs and more digits always decide.
    """
    base = max(-margin, Fraction(0)) + weighted_nll
    digits = 40
    while True:
        low, high = (half_even((base + bound) / quantum) for bound in _tail(abs(margin), digits))
        if low == high:
            return low
        if abs(margin) > VAST:
            # the base stands on a tie (doubles have no gap to one below 1e-1000), and the tail is positive: just above
            return high
        digits *= 2
