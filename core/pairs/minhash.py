"""MinHash of word shingles: which texts of a large set may be near-duplicates, without comparing all with all.

A shingle is n words joined by one space; a shorter text is a single shingle. With h(s) the base hash of a shingle and
(a_i, b_i) the parameters of permutation i,

    h(s) = (first 4 bytes of SHA-256, big endian, top bit cleared) mod p        p = 2^31 - 1
    signature_i = min over shingles of (a_i * h(s) + b_i) mod p

the share of equal places in two signatures estimates the Jaccard similarity J of the shingle sets (Broder 1997). Products stay
below 2^62, so 64-bit integers hold them; a 61-bit modulus would overflow in silence. Two texts become candidates when a band of r places is
equal in b bands: with probability 1 - (1 - J^r)^b (Leskovec, Rajaraman and Ullman, ch. 3).
"""
from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from core.errors import RoundError
from core.pairs.grams import Ints
from core.pairs.words import words
from core.settings import SETTINGS

_SETTINGS: Final = SETTINGS["near_duplicates"]
PRIME: Final[int] = _SETTINGS["prime"]
_AT_ONCE: Final[int] = _SETTINGS["hashes_at_once"]
_BYTES: Final[int] = _SETTINGS["hash_bytes"]
BANDS: Final[int] = _SETTINGS["bands"]
ROWS: Final[int] = _SETTINGS["permutations"] // BANDS


def shingles(listed: Sequence[str], n: int) -> list[str]:
    """The different shingles of a list of words, in order of appearance. RoundError ``empty_text`` where there are no words: two
    empty texts are not alike, they are a fault of whoever made them."""
    if not listed:
        raise RoundError("empty_text", expected="a text with words", got="none", remedy="leave it out of the comparison")
    runs = [" ".join(listed[first:first + n]) for first in range(len(listed) - n + 1)] or [" ".join(listed)]
    return list(dict.fromkeys(runs))


def jaccard(one: str, other: str, n: int) -> Fraction:
    """|A and B| / |A or B| of the shingle sets of two texts, exactly. RoundError ``empty_text`` where one has no words.

    >>> jaccard("check the version then write", "check the version then read", 3)
    Fraction(1, 2)
    """
    left, right = set(shingles(words(one), n)), set(shingles(words(other), n))
    return Fraction(len(left & right), len(left | right))


def base_hash(shingle: str) -> int:
    """h(s): an integer from 0 to p - 1."""
    return (int.from_bytes(hashlib.sha256(shingle.encode("utf-8")).digest()[:_BYTES]) & PRIME) % PRIME


@cache
def permutations() -> Ints:
    """The (a, b) of each permutation, a row each: 1 <= a < p and 0 <= b < p, from the seed of the settings by SHA-256."""
    def drawn(name: str, place: int, below: int) -> int:
        digest = hashlib.sha256(f"{_SETTINGS['seed']} {name} {place}".encode()).digest()
        return int.from_bytes(digest) % below

    return np.array([(1 + drawn("a", place, PRIME - 1), drawn("b", place, PRIME)) for place in range(BANDS * ROWS)], dtype=np.int64)


def signatures(hashes: Ints, starts: Ints, parameters: Ints) -> Ints:
    """The signature of each text, a row each. ``hashes``: base hashes of the texts' shingles, one text behind another, none empty;
    ``starts``: where each text begins; ``parameters``: the (a, b) of each permutation."""
    found = np.empty((len(starts), len(parameters)), dtype=np.int64)
    for place, (a, b) in enumerate(parameters.tolist()):
        found[:, place] = np.minimum.reduceat((hashes * a + b) % PRIME, starts)
    return found


def candidate_probability(similarity: Fraction | float, rows: int = ROWS, bands: int = BANDS) -> float:
    """1 - (1 - J^r)^b: how probable it is that two texts of similarity J share a band."""
    return float(1 - (1 - similarity ** rows) ** bands)


class Suspects:
    """Texts that share a band with another: fed in batches, 8 bytes a band and text are kept."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._bands: list[npt.NDArray[np.uint64]] = []

    def add(self, texts: Iterable[Sequence[str]]) -> None:
        """The word lists of more texts, none empty."""
        hashes, lengths = list[int](), list[int]()
        for listed in texts:
            runs = shingles(listed, self._n)
            hashes += map(base_hash, runs)
            lengths.append(len(runs))
            # few at a time: arrays that fit the processor's cache are several times faster
            if len(hashes) > _AT_ONCE:
                self._sign(hashes, lengths)
                hashes, lengths = [], []
        if lengths:
            self._sign(hashes, lengths)

    def _sign(self, hashes: list[int], lengths: list[int]) -> None:
        sizes = np.array(lengths, dtype=np.int64)
        self._bands.append(_banded(signatures(np.array(hashes, dtype=np.int64), np.cumsum(sizes) - sizes, permutations())))

    def marked(self) -> npt.NDArray[np.bool_]:
        """Whether each text shares a band with another one, in the order in which they were added."""
        if not self._bands:
            return np.zeros(0, dtype=np.bool_)
        keys = np.concatenate(self._bands)
        found = np.zeros(len(keys), dtype=np.bool_)
        for band in range(keys.shape[1]):
            order = np.argsort(keys[:, band], kind="stable")
            same = np.diff(keys[order, band]) == 0
            found[order[1:][same]] = True
            found[order[:-1][same]] = True
        return found


def _banded(found: Ints) -> npt.NDArray[np.uint64]:
    """One key for each band of each signature. Two different bands may get one key; every suspect is compared exactly afterwards."""
    parts: Any = found.astype(np.uint64).reshape(len(found), BANDS, ROWS)
    keys = parts[:, :, 0]
    for row in range(1, ROWS):
        # arithmetic modulo 2^64
        keys = keys * np.uint64(PRIME) + parts[:, :, row]
    return np.asarray(keys, dtype=np.uint64)
