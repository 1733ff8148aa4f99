"""The RFC 6962 root: the vectors of Certificate Transparency's reference code, and the recursive definition."""
from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from core.signing.merkle import roots

# inputs and roots of the reference test of Certificate Transparency (merkle tree over the first n leaves)
LEAVES = [bytes.fromhex(text) for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",       # SHA-256 of nothing
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def recursive_root(lines: list[bytes]) -> bytes:
    """RFC 6962, 2.1, word for word."""
    n = len(lines)
    if n == 0:
        return hashlib.sha256(b"").digest()
    if n == 1:
        return hashlib.sha256(b"\x00" + lines[0]).digest()
    k = 1
    while k * 2 < n:
        k *= 2
    return hashlib.sha256(b"\x01" + recursive_root(lines[:k]) + recursive_root(lines[k:])).digest()


def test_reference_vectors() -> None:
    assert roots(LEAVES) == ROOTS


@given(st.lists(st.binary(max_size=4), max_size=40))
def test_the_recursive_definition(lines: list[bytes]) -> None:
    assert roots(lines) == [recursive_root(lines[:size]).hex() for size in range(len(lines) + 1)]
