"""The clusters of a near-duplicate report beside what became of their pairs, a page at a time."""
from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from core.gates.finding_list import STATES, states_of
from core.gates.near_duplicates import compared_text
from core.grid import Grid
from core.pairs.grams import Ints
from core.pairs.minhash import jaccard
from core.schemas import CLUSTERS
from core.settings import SETTINGS

PAGE_ROWS: Final[int] = SETTINGS["near_duplicates"]["listed"]
"""Clusters on a page: as many as the report lists with examples, so that the first page has them all."""
_MEMBERS: Final[int] = SETTINGS["display"]["page_rows"]


class ClusterList:
    """The clusters of one report, the largest first, as the report numbers them."""

    def __init__(self, clusters: Path, scored: Path) -> None:
        """``clusters``: CLUSTERS of core/schemas.py; ``scored``: the assessment's pairs."""
        self._file = clusters
        table = pq.read_table(clusters, columns=["ordinal", "cluster"])
        numbers = table["cluster"].to_numpy()
        self.total = int(numbers.max(initial=-1)) + 1
        self._places: Ints = np.argsort(numbers, kind="stable")
        self._ends: Ints = np.cumsum(np.bincount(numbers, minlength=self.total))
        self._states = states_of(scored, table["ordinal"].to_numpy())
        cells = np.bincount(numbers * len(STATES) + self._states, minlength=self.total * len(STATES))
        self._counts: Ints = cells.reshape(self.total, len(STATES))

    @cached_property
    def pairs(self) -> Mapping[str, int]:
        """Pairs in clusters, by state."""
        return dict(zip(STATES, self._counts.sum(axis=0).tolist(), strict=True))

    @cached_property
    def trained_together(self) -> int:
        """Clusters with two or more admitted pairs: the same thing would be trained on several times."""
        return int((self._counts[:, 0] > 1).sum())

    def page(self, page: int) -> list[dict[str, int]]:
        """``cluster``, ``size``, and a count for each state."""
        first = (page - 1) * PAGE_ROWS
        rows = self._counts[first:first + PAGE_ROWS].tolist()
        return [{"cluster": first + at, "size": sum(row)} | dict(zip(STATES, row, strict=True)) for at, row in enumerate(rows)]

    def size(self, cluster: int) -> int:
        """How many texts a cluster has."""
        return int(self._counts[cluster].sum())

    def members(self, cluster: int) -> list[dict[str, Any]]:
        """Rows of CLUSTERS with the pair's ``state``, in the report's order; a page of them where there are more. None outside the list."""
        if not 0 <= cluster < self.total:
            return []
        end = int(self._ends[cluster])
        places = self._places[end - self.size(cluster):end][:_MEMBERS]
        rows: list[dict[str, Any]] = ds.dataset(self._file, schema=CLUSTERS).take(places).to_pylist()
        return [row | {"state": STATES[self._states[place]]} for place, row in zip(places.tolist(), rows, strict=True)]


def similarity(one: Mapping[str, Any], other: Mapping[str, Any], field: str, grid: Grid) -> Fraction:
    """How alike two texts are, as the report compares them: rows of TEXT, their ``field``. RoundError ``empty_text`` without words."""
    left, right = (compared_text(texts[field] or "", texts[f"{field}_messages"]) for texts in (one, other))
    return jaccard(left, right, grid.integer("near_duplicate_shingle_words"))
