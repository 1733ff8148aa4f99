"""The Merkle tree over the ledger's lines (RFC 6962, 2.1).

leaf = SHA-256(0x00 || line), node = SHA-256(0x01 || left || right); a tree of n leaves splits at the largest power of
two below n. One root commits to every line and their order, and a root over the first k lines proves that nothing
before line k changed. Inclusion proofs use the same tree.
"""
from __future__ import annotations

import hashlib
from collections.abc import Iterable


def leaf_hash(line: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + line).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


class Frontier:
    """A tree that grows by one leaf at a time and knows its root after each: the perfect subtrees, largest first."""

    def __init__(self) -> None:
        self._subtrees: list[bytes] = []
        self._size = 0

    def add(self, line: bytes) -> None:
        """Append a line. As many pairs of equal subtrees merge as the old size has trailing one bits."""
        subtree, size = leaf_hash(line), self._size
        while size & 1:
            subtree = node_hash(self._subtrees.pop(), subtree)
            size >>= 1
        self._subtrees.append(subtree)
        self._size += 1

    def root(self) -> bytes:
        """Root of the lines so far; SHA-256 of nothing for none."""
        if not self._subtrees:
            return hashlib.sha256(b"").digest()
        root = self._subtrees[-1]
        for subtree in reversed(self._subtrees[:-1]):
            root = node_hash(subtree, root)
        return root


def roots(lines: Iterable[bytes]) -> list[str]:
    """Hex roots of the trees over the first 0, 1, 2, ... lines."""
    frontier = Frontier()
    result = [frontier.root().hex()]
    for line in lines:
        frontier.add(line)
        result.append(frontier.root().hex())
    return result
