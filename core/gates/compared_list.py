"""The pairs that a report on rollouts lists, as a reader goes through them: those with a reward of the holdout first, then admitted ones.

What became of a pair is the assessment's; both follow the pair's ordinal. Figures are held as arrays; the ids of a page are read when asked for.
"""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from core.gates.finding_list import STATES, states_of
from core.pairs.given_pairs import KINDS, LACKING, SAME
from core.pairs.grams import Flags, Ints
from core.schemas import COMPARED
from core.settings import SETTINGS

HELD_OUT: Final = "held_out"
FILTERS: Final = (HELD_OUT, *(kind for kind in KINDS if kind != SAME))
"""What a list may be narrowed to: pairs with a reward of the holdout, or one kind."""
PAGE_ROWS: Final[int] = SETTINGS["display"]["page_rows"]
_KINDS: Final = tuple(KINDS)


class ComparedList:
    """The rows of one compared.parquet beside what became of their pairs."""

    def __init__(self, compared: Path, scored: Path) -> None:
        """``compared``: COMPARED of core/schemas.py; ``scored``: the assessment's pairs."""
        self._file = compared
        narrow = pq.read_table(compared, columns=["ordinal", "kind", "held_out"])
        self._kinds: Ints = np.array([_KINDS.index(kind) for kind in narrow["kind"].to_pylist()], dtype=np.int64)
        self._held: Flags = np.array(narrow["held_out"].to_pylist(), dtype=np.bool_)
        here: Flags = self._kinds != _KINDS.index(LACKING)
        # a pair that the round lacks is in no state; it comes last
        self._states: Ints = np.full(len(self._kinds), len(STATES), dtype=np.int64)
        if here.any():
            self._states[here] = states_of(scored, narrow["ordinal"].combine_chunks().filter(here).to_numpy())
        self._order: Ints = np.lexsort((np.arange(len(self._kinds)), self._kinds, self._states, ~(self._held & here)))

    @property
    def total(self) -> int:
        return len(self._kinds)

    @property
    def held_out(self) -> Mapping[str, int]:
        """Pairs of the round with a reward of the holdout, by state."""
        return {state: int((self._held & (self._states == code)).sum()) for code, state in enumerate(STATES)}

    @property
    def admitted_that_differ(self) -> int:
        """Admitted pairs that are not what the rule makes of the rollouts."""
        return int(((self._states == STATES.index("admitted")) & (self._kinds != _KINDS.index(SAME))).sum())

    def page(self, chosen: str | None, page: int) -> tuple[list[dict[str, Any]], int]:
        """One page of the list, and how many rows it has in all: rows of COMPARED with the pair's ``state``, None where the round lacks it."""
        wanted = self._order[self._mask(chosen)[self._order]]
        shown = wanted[(page - 1) * PAGE_ROWS:page * PAGE_ROWS]
        if not len(shown):
            return [], len(wanted)
        rows: list[dict[str, Any]] = ds.dataset(self._file, schema=COMPARED).take(shown).to_pylist()
        states = [*STATES, None]
        return [row | {"state": states[self._states[at]]} for at, row in zip(shown.tolist(), rows, strict=True)], len(wanted)

    def _mask(self, chosen: str | None) -> Flags:
        if chosen is None:
            return np.ones(self.total, dtype=np.bool_)
        return self._held & (self._states < len(STATES)) if chosen == HELD_OUT else self._kinds == _KINDS.index(chosen)
