"""Rows that say the same twice.

Pairs: rows equal in all typed values count once, and the repeats are quarantined as ``repeated_row``; rows that share
an id and differ stay, and are invalid later. Only rows whose id occurs more than once are looked at one by one.
"""
from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from core.errors import RoundError, Where
from core.rounds.columns import RowFault
from core.rounds.folder import PAIRS_FILE, TEXT_FILE, aligned_batches, bounded_rows
from core.rounds.note import Note
from core.rounds.typing_rows import raw_text
from core.rounds.writers import PairsWriter
from core.settings import SETTINGS

REPEATED_ROW: Final = "repeated_row"
_PLACE: Final = ("ordinal", "file", "line", "extra")
_ROWS: Final[int] = SETTINGS["storage"]["batch_rows"]
_SHOWN: Final[int] = SETTINGS["display"]["named_ids"]
BEHAVIOUR_KEY: Final = ("behaviour", "version", "test_version", "judge_id", "item_id", "run")
"""What tells one outcome of a behaviour from another; ``judge_id`` is null where a program graded."""
Repeat = tuple[str, RowFault]
"""(file, fault) of a repeated row."""


def repeated_values(column: pa.ChunkedArray) -> pa.Array:
    """The values that occur more than once."""
    counted = column.value_counts()
    return counted.field("values").filter(pc.greater(counted.field("counts"), 1))


def aligned_pairs(folder: Path) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """The staged pairs as aligned (narrow, text) batches."""
    with pq.ParquetFile(folder / PAIRS_FILE, pre_buffer=False) as narrow, \
            pq.ParquetFile(folder / TEXT_FILE, pre_buffer=False) as text:
        rows = bounded_rows(text.metadata, _ROWS)
        yield from aligned_batches(narrow.iter_batches(batch_size=rows), text.iter_batches(batch_size=rows))


def drop_repeated_pairs(staged: Path, folder: Path) -> tuple[list[Repeat], int] | None:
    """Write the pairs of ``staged`` to ``folder`` without the repeats. Returns the repeats and the rows left, or None (nothing
    written) when no row is a repeat."""
    ids = repeated_values(pq.read_table(staged / PAIRS_FILE, columns=["pair_id"])["pair_id"])
    if not len(ids):
        return None
    repeats = _find_repeats(staged, ids)
    if not repeats:
        return None
    dropped = pa.array(sorted(repeats), pa.int64())
    with PairsWriter(folder) as writer:
        for narrow, text in aligned_pairs(staged):
            keep = pc.invert(pc.is_in(narrow["ordinal"], dropped))
            writer.write_aligned(narrow.filter(keep), text.filter(keep))
        rows = writer.rows
    return [repeats[ordinal] for ordinal in sorted(repeats)], rows


def _find_repeats(staged: Path, ids: pa.Array) -> dict[int, Repeat]:
    first: dict[bytes, tuple[str, int]] = {}
    repeats: dict[int, Repeat] = {}
    for narrow, text in aligned_pairs(staged):
        shared = pc.is_in(narrow["pair_id"], ids)
        if not pc.any(shared).as_py():
            continue
        for row, texts in zip(narrow.filter(shared).to_pylist(), text.filter(shared).to_pylist(), strict=True):
            values = _typed_values(row | texts)
            key = hashlib.sha256(repr(values).encode("utf-8")).digest()
            if key in first:
                repeats[row["ordinal"]] = row["file"], _fault(row, values, first[key])
            else:
                first[key] = row["file"], row["line"]
    return repeats


def _typed_values(row: dict[str, Any]) -> dict[str, Any]:
    # adding 0.0 turns -0.0 into 0.0: the two are one number
    return {name: value + 0.0 if isinstance(value, float) else value for name, value in sorted(row.items()) if name not in _PLACE}


def _fault(row: dict[str, Any], values: dict[str, Any], first: tuple[str, int]) -> RowFault:
    file, line = first
    return RowFault(
        row["line"], "", REPEATED_ROW, f"a row that differs from {file}, line {line}", "the same typed values",
        raw_text(json.dumps({name: value for name, value in values.items() if value is not None}, ensure_ascii=False)),
    )


def merged_records(table: pa.Table, lines: pa.Array, place: Callable[[str, int], Where]) -> tuple[pa.Table, Note | None]:
    """Judge records, unique by judge, case and order: identical repeats counted once and noted, conflicting ones refused.

    ``place(judge_id, line)`` says where a record stands. Raises RoundError ``conflicting_case`` naming both places.
    """
    names, judges = ("judge_id", "case_id", "order_swapped"), table["judge_id"].to_pylist()

    def conflict(key: tuple[Any, ...], earlier: int, row: int) -> NoReturn:
        _refuse_conflict(key, place(key[0], lines[earlier].as_py()), place(key[0], lines[row].as_py()))

    kept, repeated = _counted_once(table, names, conflict)
    if not repeated:
        return table, None
    places = ", ".join(str(place(judges[row], lines[row].as_py())) for row in repeated[:_SHOWN])
    return kept, Note("repeated_record", f"{len(repeated)} judge records repeat an earlier one in all columns and count once ({places})")


def merged_ratings(table: pa.Table, lines: pa.Array, place: Callable[[int], Where]) -> tuple[pa.Table, Note | None]:
    """Ratings, unique by case and rater: identical repeats counted once and noted, conflicting ones refused.

    Raises RoundError ``conflicting_rating`` naming both places.
    """
    def conflict(key: tuple[Any, ...], earlier: int, row: int) -> NoReturn:
        first, second = place(lines[earlier].as_py()), place(lines[row].as_py())
        raise RoundError(
            "conflicting_rating", expected="one rating for each case and rater", where=second,
            got=f"two different ones of case {key[0]!r} by rater {key[-1]!r}: {first} and {second}", remedy="decide which one is right",
        )

    kept, repeated = _counted_once(table, ("case_id", "rater_id"), conflict)
    if not repeated:
        return table, None
    places = ", ".join(str(place(lines[row].as_py())) for row in repeated[:_SHOWN])
    return kept, Note("repeated_rating", f"{len(repeated)} ratings repeat an earlier one in all columns and count once ({places})")


def merged_behaviours(table: pa.Table, lines: pa.Array, place: Callable[[int], Where]) -> tuple[pa.Table, Note | None]:
    """Outcomes of behaviours, unique by ``BEHAVIOUR_KEY``: identical repeats counted once and noted, conflicting ones refused.

    Raises RoundError ``conflicting_outcome`` naming both places.
    """
    def conflict(key: tuple[Any, ...], earlier: int, row: int) -> NoReturn:
        behaviour, version, test, _, item, run = key
        first, second = place(lines[earlier].as_py()), place(lines[row].as_py())
        raise RoundError(
            "conflicting_outcome", expected="one outcome of an item and run for each behaviour, version, test and grader", where=second,
            got=f"two different ones of {behaviour!r}, {version!r}, test {test!r}, item {item!r}, run {run}: {first} and {second}",
            remedy="number the runs, or decide which one is right",
        )

    kept, repeated = _counted_once(table, BEHAVIOUR_KEY, conflict)
    if not repeated:
        return table, None
    places = ", ".join(str(place(lines[row].as_py())) for row in repeated[:_SHOWN])
    return kept, Note("repeated_behaviour", f"{len(repeated)} outcomes of behaviours repeat an earlier one and count once ({places})")


def _counted_once(table: pa.Table, names: tuple[str, ...], conflict: Callable[[tuple[Any, ...], int, int], NoReturn]) -> tuple[pa.Table, list[int]]:
    """The rows without those that repeat an earlier one, and where these were; ``conflict`` refuses two of one key that differ."""
    first: dict[tuple[Any, ...], int] = {}
    repeated: list[int] = []
    for row, key in enumerate(zip(*(table[name].to_pylist() for name in names), strict=True)):
        earlier = first.setdefault(key, row)
        if earlier != row:
            if _said(table, earlier) != _said(table, row):
                conflict(key, earlier, row)
            repeated.append(row)
    keep = np.ones(table.num_rows, dtype=np.bool_)
    keep[repeated] = False
    return table.filter(pa.array(keep)), repeated


def _said(table: pa.Table, row: int) -> str:
    """What a record says in all its columns; NaN is the same as NaN, 0.0 as -0.0."""
    values: dict[str, Any] = table.slice(row, 1).to_pylist()[0]
    return repr({name: value + 0.0 if isinstance(value, float) else value for name, value in values.items()})


def _refuse_conflict(key: tuple[Any, ...], first: Where, second: Where) -> NoReturn:
    judge, case, swapped = key
    raise RoundError(
        "conflicting_case", expected="one record for each judge, case and order",
        got=f"two different ones of judge {judge!r}, case {case!r}{', order swapped' if swapped else ''}: {first} and {second}",
        remedy="decide which one is right, or name the cases apart", where=second,
    )
