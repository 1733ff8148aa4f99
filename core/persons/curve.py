"""Which Ed25519 public keys are weak (RFC 8032, curve edwards25519).

A public key encodes a point P. Two kinds of encodings let a signature verify that nobody with a private key made, and
libraries accept both: points of small order (8P is the identity, so one signature fits any message for some of them)
and encodings that are not the canonical one of their point (one key under two names). Both are refused at enrolment
and again when verifying.

This is a formula module: the prime, the curve constant and the cofactor are the definition of the curve. Not constant
time, which is right for public keys only.
"""
from __future__ import annotations

from typing import Final, Literal

_P: Final = 2**255 - 19
_D: Final = -121665 * pow(121666, -1, _P) % _P
_SQRT_MINUS_1: Final = pow(2, (_P - 1) // 4, _P)
_KEY_BYTES: Final = 32
_COFACTOR_DOUBLINGS: Final = 3

Weakness = Literal["wrong_length", "non_canonical", "not_on_curve", "small_order"]
Point = tuple[int, int, int]
"""Projective (X, Y, Z) with x = X/Z, y = Y/Z."""


def _square_root(value: int) -> int | None:
    """A root of ``value`` mod p, where p = 5 (mod 8): the candidate value^((p+3)/8), times sqrt(-1) if it is off by sign."""
    root = pow(value, (_P + 3) // 8, _P)
    for candidate in (root, root * _SQRT_MINUS_1 % _P):
        if candidate * candidate % _P == value:
            return candidate
    return None


def decode_point(encoding: bytes) -> Point | Weakness:
    """The point of a canonical 32-byte encoding (y little-endian, top bit = parity of x), or why there is none."""
    if len(encoding) != _KEY_BYTES:
        return "wrong_length"
    number = int.from_bytes(encoding, "little")
    sign, y = number >> 255, number & (1 << 255) - 1
    if y >= _P:
        return "non_canonical"
    x_squared = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P  # d is no square, so the denominator is never 0
    x = _square_root(x_squared)
    if x is None:
        return "not_on_curve"
    if x == 0 and sign == 1:
        return "non_canonical"
    return (x if x & 1 == sign else _P - x, y, 1)


def double(point: Point) -> Point:
    """2P on -x^2 + y^2 = 1 + d x^2 y^2, projective (dbl-2008-bbjlp with a = -1)."""
    x, y, z = point
    b, c, d = (x + y) ** 2, x * x, y * y
    e = -c
    f = e + d
    j = f - 2 * z * z
    return ((b - c - d) * j % _P, f * (e - d) % _P, f * j % _P)


def weakness(encoding: bytes) -> Weakness | None:
    """None for a key that may be enrolled, else what is wrong with it. Small order means 8P = identity (0, 1)."""
    point = decode_point(encoding)
    if isinstance(point, str):
        return point
    for _ in range(_COFACTOR_DOUBLINGS):
        point = double(point)
    x, y, z = point
    return "small_order" if x == 0 and y == z else None
