"""How large Arrow data becomes once every value stands for itself, and batches cut so that it stays bounded.

A dictionary, a list or a view may name one value a million times: a Parquet file of 1,350 bytes can hold 3,000 rows of five megabytes.
Such arrays are small until they are taken apart, so they are measured first.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.errors import RoundError, Where
from core.settings import SETTINGS

_BYTES: Final[int] = SETTINGS["storage"]["batch_bytes"]
_VIEW: Final = np.dtype([("length", "<i4"), ("rest", "V12")])
_OFFSET_BYTES: Final = np.dtype(np.int32).itemsize
_ROW_BYTES: Final[int] = SETTINGS["packed"]["row_bytes"]


def expanded_bytes(array: Any) -> int:
    """The bytes of an array's values with every repetition counted."""
    kind = array.type
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return expanded_bytes(array.storage)
    if types.is_dictionary(kind):
        indices = array.indices.drop_null()
        return int(_value_bytes(array.dictionary)[indices.to_numpy()].sum()) if len(indices) else 0
    if types.is_struct(kind):
        return sum(expanded_bytes(child) for child in array.flatten())
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return len(array) * _OFFSET_BYTES + expanded_bytes(array.flatten())
    return int(_value_bytes(array).sum()) if _is_bytes(kind) else int(array.nbytes)


def _is_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
        or types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
    )


def _value_bytes(array: Any) -> Any:
    """The bytes of each value of an array of texts; of anything else an even share of the whole."""
    if isinstance(array.type, pa.BaseExtensionType):
        return _value_bytes(array.storage)
    if not _is_bytes(array.type):
        return np.full(len(array), array.nbytes // max(1, len(array)), dtype=np.int64)
    if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        # pyarrow computes no lengths of views; each view begins with its own
        return np.frombuffer(array.buffers()[1], _VIEW)["length"][array.offset:array.offset + len(array)].astype(np.int64)
    return pc.fill_null(pc.binary_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)


def refuse_shared_layouts(schema: pa.Schema, file: str) -> None:
    """Refuse columns whose layout lets rows share their items, other than dictionaries and text views. Raises RoundError."""
    for field in schema:
        kind = _shared(field.type)
        if kind is not None:
            raise RoundError(
                "unkeepable_column", expected="text, numbers, flags, or lists and structs of them", got=f"the type {kind}",
                remedy="write the column as a plain list", where=Where(file, field=field.name),
            )


def _shared(kind: pa.DataType) -> pa.DataType | None:
    types = pa.types
    if types.is_list_view(kind) or types.is_large_list_view(kind) or types.is_run_end_encoded(kind) or types.is_union(kind):
        return kind
    children = [kind.field(number).type for number in range(kind.num_fields)] if types.is_nested(kind) else []
    return next((found for child in children if (found := _shared(child)) is not None), None)


def longest_value(array: Any) -> int:
    """The bytes of the longest value that a dictionary array may name."""
    return int(_value_bytes(array.dictionary).max(initial=0)) if pa.types.is_dictionary(array.type) else 0


def fitting(batches: Iterator[pa.RecordBatch], file: str) -> Iterator[pa.RecordBatch]:
    """The batches, halved until each stays within ``batch_bytes`` when taken apart. Raises RoundError for a row that never does."""
    for batch in batches:
        yield from _fitting(batch, file)


def _fitting(batch: pa.RecordBatch, file: str) -> Iterator[pa.RecordBatch]:
    size = sum(expanded_bytes(column) for column in batch.columns)
    if size <= _BYTES or batch.num_rows <= 1:
        if size > _ROW_BYTES:
            raise row_too_large(file)
        yield batch
        return
    half = (batch.num_rows + 1) >> 1
    yield from _fitting(batch.slice(0, half), file)
    yield from _fitting(batch.slice(half), file)


def row_too_large(file: str) -> RoundError:
    """The error for a row that no batch can hold."""
    return RoundError(
        "too_large", expected=f"at most {_ROW_BYTES} bytes in one row", got="more", where=Where(file),
        remedy="look at the file: its rows name the same text over and over",
    )
