"""Small helpers between Arrow columns and numpy arrays. No copies of text, no Python object for each row."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Flags: TypeAlias = npt.NDArray[np.bool_]


def flags(column: Any) -> Flags:
    """A boolean column as a mask; null counts as false."""
    return np.asarray(pc.fill_null(column, False).to_numpy(zero_copy_only=False), dtype=np.bool_)


def present(column: Any) -> Flags:
    """Where a column is not null."""
    return flags(pc.is_valid(column))


def doubles(column: Any) -> npt.NDArray[np.float64]:
    """A double column; null becomes NaN."""
    return np.asarray(pc.fill_null(column, float("nan")).to_numpy(zero_copy_only=False), dtype=np.float64)


def integers(column: Any) -> npt.NDArray[np.int64]:
    """An integer column; null becomes 0."""
    return np.asarray(pc.fill_null(column, 0).to_numpy(zero_copy_only=False), dtype=np.int64)


def scratch(size: int) -> Flags:
    """An uninitialised mask out of Arrow's memory pool, which keeps its pages: fresh pages for every mask of a text column
    would cost as much as filling it."""
    return np.frombuffer(pa.allocate_buffer(size), dtype=np.bool_)


def scattered(rows: npt.NDArray[np.int64], values: Any, length: int) -> Any:
    """A column of ``length`` rows that has ``values[i]`` in row ``rows[i]`` and null elsewhere."""
    places = np.full(length, -1, dtype=np.int64)
    places[rows] = np.arange(len(rows))
    return values.take(pa.array(places, mask=places < 0))


def replaced(column: Any, rows: Flags, values: Any) -> Any:
    """``column`` with the rows of a mask given new values."""
    return pc.replace_with_mask(column, pa.array(rows), values) if rows.any() else column


def names_of(matrix: npt.NDArray[np.bool_], names: Sequence[str]) -> pa.ListArray:
    """For each row of a boolean matrix, the names of its true columns, in the order of the columns."""
    counts = matrix.sum(axis=1)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(names, pa.string()).take(pa.array(np.nonzero(matrix)[1])))


def first_name(matrix: npt.NDArray[np.bool_], names: Sequence[str]) -> Any:
    """For each row of a boolean matrix, the name of its first true column; null where none is."""
    return pa.array(names, pa.string()).take(pa.array(matrix.argmax(axis=1), mask=~matrix.any(axis=1)))
