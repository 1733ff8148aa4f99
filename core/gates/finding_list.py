"""The findings of a contamination report as a reader goes through them: those of admitted pairs first, then the strongest.

A report keeps every finding in a file. What became of a pair is the assessment's; both follow the pair's ordinal. Figures are
held as arrays (a few bytes a finding); the texts of a page of findings are read when it is asked for.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from core.pairs.contamination import FIELDS, RULES, SAME_TASK
from core.pairs.grams import Flags, Ints
from core.schemas import FINDINGS
from core.settings import SETTINGS

STATES: Final = ("admitted", "held", "rejected")
"""What became of a pair, in the order of the list: admitted pairs would be trained on."""
PLACES: Final = (*FIELDS, SAME_TASK)
"""Where a finding stands: in a text of the pair, or in a task id beside it."""
PAGE_ROWS: Final[int] = SETTINGS["display"]["page_rows"]


@dataclass(frozen=True, slots=True)
class FindingFilter:
    """Which findings a list shows: those of a state, a rule (the strongest that holds), a place."""

    state: str | None = None
    rule: str | None = None
    place: str | None = None


class FindingList:
    """The findings of one report beside what became of their pairs."""

    def __init__(self, findings: Path, scored: Path) -> None:
        """``findings``: FINDINGS of core/schemas.py; ``scored``: the assessment's pairs."""
        self._file = findings
        narrow = pq.read_table(
            findings, columns=["ordinal", "rule", "field", "words", "covered", "locked_words", "locked_covered"], read_dictionary=["rule", "field"],
        )
        self._ordinals: Ints = narrow["ordinal"].to_numpy()
        self._rules = _codes(narrow["rule"], RULES)
        self._places = np.where(self._rules == RULES.index(SAME_TASK), PLACES.index(SAME_TASK), _codes(narrow["field"], PLACES))
        self._states = states_of(scored, self._ordinals)
        shares = [_share(narrow[part], narrow[whole]) for part, whole in (("covered", "words"), ("locked_covered", "locked_words"))]
        # for order only: the rules were decided exactly
        self._order: Ints = np.lexsort((self._ordinals, -np.maximum(*shares), self._rules, self._states))

    @property
    def total(self) -> int:
        return len(self._ordinals)

    @cached_property
    def pairs(self) -> Mapping[str, int]:
        """Contaminated pairs by state."""
        return {state: len(np.unique(self._ordinals[self._states == code])) for code, state in enumerate(STATES)}

    @cached_property
    def table(self) -> Mapping[str, Mapping[str, int]]:
        """Findings by rule and place."""
        counts = np.bincount(self._rules * len(PLACES) + self._places, minlength=len(RULES) * len(PLACES)).reshape(len(RULES), len(PLACES))
        return {rule: dict(zip(PLACES, row, strict=True)) for rule, row in zip(RULES, counts.tolist(), strict=True)}

    def page(self, chosen: FindingFilter, page: int) -> tuple[list[dict[str, Any]], int]:
        """One page of the list, and how many findings it has in all: rows of FINDINGS with the pair's ``state`` and the ``place``."""
        wanted = self._order[self._mask(chosen)[self._order]]
        shown = wanted[(page - 1) * PAGE_ROWS:page * PAGE_ROWS]
        return self._rows(shown), len(wanted)

    def of_pair(self, pair_id: str, field: str) -> list[dict[str, Any]]:
        """The findings in one field of the pairs with an id; several where rows share the id."""
        wanted = (ds.field("pair_id") == pair_id) & (ds.field("field") == field)
        rows: list[dict[str, Any]] = ds.dataset(self._file, schema=FINDINGS).to_table(filter=wanted).to_pylist()[:SETTINGS["display"]["named_ids"]]
        return [self._with_state(row, int(np.flatnonzero(self._ordinals == row["ordinal"])[0])) for row in rows]

    def _mask(self, chosen: FindingFilter) -> Flags:
        mask: Flags = np.ones(self.total, dtype=np.bool_)
        for codes, names, name in ((self._states, STATES, chosen.state), (self._rules, RULES, chosen.rule), (self._places, PLACES, chosen.place)):
            if name is not None:
                mask &= codes == names.index(name)
        return mask

    def _rows(self, places: Ints) -> list[dict[str, Any]]:
        if not len(places):
            return []
        rows: list[dict[str, Any]] = ds.dataset(self._file, schema=FINDINGS).take(places).to_pylist()
        return [self._with_state(row, at) for at, row in zip(places.tolist(), rows, strict=True)]

    def _with_state(self, row: dict[str, Any], at: int) -> dict[str, Any]:
        place = SAME_TASK if row["rule"] == SAME_TASK else row["field"]
        return row | {"state": STATES[self._states[at]], "place": place}


def _codes(column: pa.ChunkedArray, names: tuple[str, ...]) -> Ints:
    """The place of each value in ``names``; the last place for a value that is none of them."""
    found = column.combine_chunks()
    listed = found.dictionary.to_pylist()
    known: Ints = np.array([names.index(one) if one in names else len(names) - 1 for one in listed], dtype=np.int64)
    return known[found.indices.to_numpy()] if listed else np.zeros(0, dtype=np.int64)


def states_of(scored: Path, ordinals: Ints) -> Ints:
    """What became of some pairs, as places in ``STATES``. ``scored``: the assessment's pairs."""
    table = pq.read_table(scored, columns=["ordinal", "state"], read_dictionary=["state"])
    by_ordinal: Ints = np.zeros(int(max(table["ordinal"].to_numpy().max(initial=0), ordinals.max(initial=0))) + 1, dtype=np.int64)
    by_ordinal[table["ordinal"].to_numpy()] = _codes(table["state"], STATES)
    return by_ordinal[ordinals]


def _share(part: pa.ChunkedArray, whole: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """Doubles; 0 where there is no text."""
    top, below = (column.fill_null(0).to_numpy() for column in (part, whole))
    found: npt.NDArray[np.float64] = np.divide(top, below, out=np.zeros(len(top)), where=below > 0)
    return found
