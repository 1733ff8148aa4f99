"""Weak Ed25519 keys: the whole torsion group, by an affine second implementation of the curve."""
from __future__ import annotations

import itertools
import secrets

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from core.persons.curve import weakness

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493     # order of the base point, RFC 8032
D = -121665 * pow(121666, P - 2, P) % P


def add(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """The affine addition law of RFC 8032, by division."""
    (x1, y1), (x2, y2) = a, b
    t = D * x1 * x2 * y1 * y2 % P
    return (x1 * y2 + x2 * y1) * pow(1 + t, P - 2, P) % P, (y1 * y2 + x1 * x2) * pow(1 - t, P - 2, P) % P


def times(k: int, point: tuple[int, int]) -> tuple[int, int]:
    result = (0, 1)
    while k:
        if k & 1:
            result = add(result, point)
        point, k = add(point, point), k >> 1
    return result


def lift(y: int) -> tuple[int, int] | None:
    """A point with this y by Euler's criterion, or None."""
    u = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    root = pow(u, (P + 3) // 8, P)
    if root * root % P != u:
        root = root * pow(2, (P - 1) // 4, P) % P
    return (root, y) if root * root % P == u else None


def encode(x_parity: int, y: int) -> bytes:
    return (y | x_parity << 255).to_bytes(32, "little")


def torsion() -> set[tuple[int, int]]:
    """All points of order dividing 8: L times any point lies in it, and a generator of order 8 is soon met."""
    for y in itertools.count(2):
        point = lift(y)
        if point is None:
            continue
        candidate = times(L, point)
        if times(4, candidate) != (0, 1):
            return {times(k, candidate) for k in range(8)}
    raise AssertionError


TORSION = torsion()
ENCODINGS = {encode(x & 1, y) for x, y in TORSION}
# other encodings of the same points: y + p where it fits 255 bits, and the sign bit on x = 0
ALTERNATIVE = {encode(sign, y + P) for _, y in TORSION if y + P < 2**255 for sign in (0, 1)} | {encode(1, y) for x, y in TORSION if x == 0}


def test_there_are_eight_torsion_points() -> None:
    assert len(TORSION) == len(ENCODINGS) == 8
    assert {(0, 1), (0, P - 1)} <= TORSION           # orders 1 and 2


@pytest.mark.parametrize("encoding", sorted(ENCODINGS), ids=lambda e: e.hex()[:8])
def test_every_torsion_point_is_weak(encoding: bytes) -> None:
    assert weakness(encoding) == "small_order"


@pytest.mark.parametrize("encoding", sorted(ALTERNATIVE), ids=lambda e: e.hex()[:8] + e.hex()[-2:])
def test_other_encodings_of_torsion_points_are_refused(encoding: bytes) -> None:
    assert weakness(encoding) == "non_canonical"


def test_every_encoding_of_a_number_from_p_up_is_refused() -> None:
    for y in range(P, 2**255):                        # 19 of them
        for sign in (0, 1):
            assert weakness(encode(sign, y)) == "non_canonical"


def test_wrong_length_and_points_off_the_curve() -> None:
    assert weakness(b"") == weakness(b"\x01" * 31) == weakness(b"\x01" * 33) == "wrong_length"
    off = next(y for y in range(2, 50) if lift(y) is None)
    assert weakness(encode(0, off)) == "not_on_curve"


def test_honest_keys_pass() -> None:
    for _ in range(20):
        assert weakness(Ed25519PrivateKey.generate().public_key().public_bytes_raw()) is None


def test_why_it_matters_a_small_order_key_verifies_a_message_nobody_signed() -> None:
    # the library accepts: A = identity, R = identity, S = 0 satisfies S*B = R + h*A for every message
    identity = encode(0, 1)
    forged = identity + bytes(32)
    Ed25519PublicKey.from_public_bytes(identity).verify(forged, secrets.token_bytes(20))
    assert weakness(identity) == "small_order"
    with pytest.raises(InvalidSignature):
        Ed25519PrivateKey.generate().public_key().verify(forged, b"x")
