"""The sign-flip test of graded differences, one a task: how often would random signs give a sum this far from 0?

Under the null hypothesis the two arms could be swapped task by task, so each difference is as likely with the other
sign. On a lattice the distribution of the sum is counted: exactly in integers where that is small, in doubles by
inverting its characteristic function where it is not, and only for scores on no usable grid by random signs.
"""
from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.settings import SETTINGS
from core.statistics.inputs import Score
from core.statistics.lattice import Lattice, fast_length, lattice_of
from core.statistics.probability import Probability, counted
from core.statistics.result import Result

_CELLS: int = SETTINGS["statistics"]["lattice_cells"]
_BITS: int = SETTINGS["statistics"]["counted_bits"]
_RESAMPLES: int = SETTINGS["statistics"]["resamples"]
_ENUMERATED_TASKS = 20
_RESOLVED = 1e-12
"""A p-value by Fourier inversion is never given below this: its error in doubles is of that order."""
_TIE = 1e-9
"""Random sums in doubles this near the observed one (relative to the largest possible) count as ties."""
_CHUNK = 2**20
_SIGNS, _FEWEST = 2 * 10**7, 1000
"""Random signs drawn in all, unless the caller says otherwise; and no fewer patterns than this."""


RANDOM_SIGNS: Final = "random sign patterns"
"""Part of how a p-value says that signs were drawn."""


@dataclass(frozen=True, slots=True)
class SignFlipTest(Result):
    """``n`` tasks, ``nonzero`` of them with a difference, their exact ``mean``, and the two-sided p-value.

    ``method`` says how the distribution was made; ``seed`` is None unless signs were drawn. The smallest p-value that
    any pattern of signs can give is 2 / 2^nonzero.
    """

    n: int
    nonzero: int
    mean: Fraction
    p: Probability
    seed: int | None = None


def sign_flip_test(differences: Lattice | Iterable[Score], *, seed: int = 0, draws: int | None = None) -> SignFlipTest:
    """Two-sided sign-flip test of per-task mean differences; ties with the observed sum count, in exact arithmetic.

    Raises RoundError for values that are no finite numbers (``non_finite_score``), or none at all (``no_values``).
    ``seed`` and ``draws`` are used only where neither counting nor inversion is possible.

    >>> sign_flip_test(["0.25"] * 5).p.exact
    Fraction(1, 16)
    """
    values = differences if isinstance(differences, Lattice) else lattice_of(differences)
    mean = values.mean
    sizes = np.abs(values.numerators[values.numerators != 0])
    if not len(sizes) or not values.total:
        return SignFlipTest(values.n, len(sizes), mean, counted(Fraction(1)))
    common = math.gcd(*np.unique(sizes).tolist())
    sizes, observed = sizes // common, abs(values.total) // common
    span, flipped = int(sizes.sum()), len(sizes)
    if span * (flipped + 1) <= _CELLS and span * (flipped + 1) * flipped <= _BITS:
        p, used = counted(_share_counted(sizes, span, observed)), None
    elif flipped <= _ENUMERATED_TASKS:
        p, used = counted(_share_enumerated(sizes, observed)), None
    elif span < _CELLS and span * len(np.unique(sizes)) < _BITS:
        share = min(max(_share_inverted(sizes, span, observed), _RESOLVED), 1.0)
        p, used = Probability(share, None, "distribution of the sum by Fourier inversion, to 1e-12"), None
    else:
        patterns = draws or max(_FEWEST, min(_RESAMPLES, _SIGNS // flipped))
        drawn = _share_drawn(sizes, observed, seed, patterns)
        p, used = Probability(float(drawn), drawn, f"{patterns:,} {RANDOM_SIGNS}, seed {seed}"), seed
    return SignFlipTest(values.n, flipped, mean, p, used)


def _share_counted(sizes: NDArray[Any], span: int, observed: int) -> Fraction:
    """Subsets by their sum K, as one long integer with a field for each sum; |2K - span| >= observed in both tails."""
    flipped = len(sizes)
    width = -(-(flipped + 1) // 8)
    sums = 1
    for size in sizes.tolist():
        sums += sums << (8 * width * size)
    upper = (sums >> (8 * width * ((span + observed) // 2))).to_bytes(width * (span + 1), "little")
    tail = sum(int.from_bytes(upper[i:i + width], "little") for i in range(0, len(upper), width))
    return Fraction(2 * tail, 2**flipped)


def _share_enumerated(sizes: NDArray[Any], observed: int) -> Fraction:
    """All 2^n signed sums, doubled up task by task."""
    sums = np.zeros(1, dtype=sizes.dtype)
    for size in sizes.tolist():
        sums = np.concatenate([sums + size, sums - size])
    return Fraction(int((np.abs(sums) >= observed).sum()), 2 ** len(sizes))


def _share_inverted(sizes: NDArray[Any], span: int, observed: int) -> float:
    """The characteristic function of the sum is the product of cos(size t): taken at enough points, its inverse
    transform is the distribution itself."""
    points = fast_length(2 * span + 1)
    angle = 2 * np.pi / points * np.arange(points)
    wave = np.ones(points)
    for size, count in zip(*np.unique(sizes, return_counts=True), strict=True):
        wave *= np.cos(float(size) * angle) ** int(count)
    mass = np.fft.ifft(wave).real
    # place s holds P(sum = s), place points - s holds P(sum = -s)
    return float(mass[observed:points - observed + 1].sum()) if observed else 1.0


def _share_drawn(sizes: NDArray[Any], observed: int, seed: int, draws: int) -> Fraction:
    random, scale = np.random.default_rng(seed), sizes.astype(np.float64)
    total, width = float(scale.sum()), -(-len(scale) // 8)
    least = float(observed) - _TIE * total
    rows = max(1, _CHUNK // len(scale))
    reached = 0
    for start in range(0, draws, rows):
        block = min(rows, draws - start)
        plus = np.unpackbits(np.frombuffer(random.bytes(block * width), dtype=np.uint8).reshape(block, width), axis=1)[:, :len(scale)]
        reached += int((np.abs(2 * (plus.astype(np.float64) @ scale) - total) >= least).sum())
    return Fraction(reached + 1, draws + 1)
