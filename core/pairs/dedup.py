"""Duplicates of a whole round: the one step of curation that sees all pairs at once.

Pairs that pass every other reason are ranked by quantised loss, ties by ``pair_id`` in UTF-8 byte order. Walking that
order, a pair is admitted unless one of its enforced keys is already claimed; only admitted pairs claim keys. So the best
pair of a duplicate group survives, and the order of the input does not matter.

Only rows that share an enforced key with another candidate are walked; all others are admitted by what the rule says.

The seam for a parallel engine: join candidates that share an enforced key; the admitted pairs are the lexicographically
first maximal independent set of that graph under the ranking. It can be computed in rounds (admit every pair that ranks
first in all of its key groups, reject its neighbours, remove both, repeat), and the result is the same set, because a pair
that ranks first in all of its groups is admitted by the walk too, whatever happens elsewhere. Keys, losses and ids are all
that such an engine has to exchange; ``tests/unit/test_pairs_dedup.py`` compares the two.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.pairs.columns import present

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Resolution:
    """``admitted``: candidate rows in rank order. ``holder[key][row]``: the admitted row that holds this key of a
    duplicate row, or -1; a row is a duplicate exactly when some key of it has a holder."""

    admitted: Rows
    holder: Mapping[str, Rows]


def resolve(candidates: pa.Table, enforced: Sequence[str]) -> Resolution:
    """Decide which candidates are duplicates.

    ``candidates``: columns ``pair_id`` (all different), ``loss_quanta``, ``loss_quanta_text`` and the enforced keys, of
    every pair of the round that passes reasons 1 to 5 and is not held, in any order. ``enforced``: names of key columns.
    """
    order = ranking(candidates)
    codes = {key: np.asarray(candidates[key].combine_chunks().dictionary_encode().indices, dtype=np.int64) for key in enforced}
    shared = np.zeros(len(candidates), dtype=np.bool_)
    for column in codes.values():
        shared |= (np.bincount(column) > 1)[column]
    holder = {key: np.full(len(candidates), -1, dtype=np.int64) for key in enforced}
    duplicate = _walk(order[shared[order]], codes, holder)
    return Resolution(order[~duplicate[order]], holder)


def ranking(candidates: pa.Table) -> Rows:
    """Candidate rows from best to worst: quantised loss ascending, then ``pair_id`` in byte order."""
    quanta, ids = candidates["loss_quanta"], candidates["pair_id"]
    # a loss beyond 64 bits is null here; it is above every other one, and Python compares its integer exactly
    order = np.asarray(pc.sort_indices(pa.table({"loss": quanta, "id": ids}), sort_keys=[("loss", "ascending"), ("id", "ascending")]), dtype=np.int64)
    narrow = int(present(quanta).sum())
    texts = candidates["loss_quanta_text"]
    wide = sorted(order[narrow:].tolist(), key=lambda row: (int(texts[row].as_py()), ids[row].as_py().encode()))
    return np.concatenate((order[:narrow], np.array(wide, dtype=np.int64)))


def _walk(rows: Rows, codes: Mapping[str, Rows], holder: Mapping[str, Rows]) -> npt.NDArray[np.bool_]:
    """Greedy admission of ``rows`` in their order; fills ``holder`` and returns the mask of duplicates."""
    claims: list[tuple[list[int], dict[int, int], Rows]] = [(codes[key][rows].tolist(), {}, holder[key]) for key in codes]
    size = len(next(iter(codes.values()))) if codes else 0
    duplicate = np.zeros(size, dtype=np.bool_)
    for place, row in enumerate(rows.tolist()):
        found = [claimed.get(keys[place], -1) for keys, claimed, _ in claims]
        if max(found) >= 0:
            duplicate[row] = True
            for (_, _, held), holding in zip(claims, found, strict=True):
                held[row] = holding
        else:
            for keys, claimed, _ in claims:
                claimed[keys[place]] = row
    return duplicate


