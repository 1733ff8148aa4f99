"""Rows of an Arrow batch that cannot be typed: one fault a row, the first that was found, with the row as it came."""
from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from core.rounds.arrow_json import json_value
from core.rounds.columns import CellFault, Column, RowFault
from core.rounds.strict import described
from core.rounds.typing_rows import raw_text

Mask = npt.NDArray[np.bool_]


class Faults:
    """The first fault of each row of a batch, in column order."""

    def __init__(self, batch: pa.RecordBatch, first_line: int) -> None:
        self._batch, self._first_line = batch, first_line
        self.bad: Mask = np.zeros(batch.num_rows, dtype=np.bool_)
        self._found: dict[int, CellFault] = {}

    @property
    def any(self) -> bool:
        return bool(self._found)

    def mark(self, mask: Mask, column: Column, code: str, expected: str | None = None) -> None:
        """Mark rows whose value in ``column`` is at fault, unless an earlier column was."""
        for row in np.flatnonzero(mask & ~self.bad):
            got = described(_python_value(self._batch, column.name, int(row)))
            self._add(int(row), CellFault(column.name, code, expected or column.expected, got))

    def mark_missing(self, mask: Mask, column: Column, got: str) -> None:
        for row in np.flatnonzero(mask & ~self.bad):
            self._add(int(row), CellFault(column.name, "missing_field", column.expected, got))

    def add(self, row: int, fault: CellFault) -> None:
        if not self.bad[row]:
            self._add(row, fault)

    def _add(self, row: int, fault: CellFault) -> None:
        self.bad[row] = True
        self._found[row] = fault

    def rows(self) -> tuple[RowFault, ...]:
        return tuple(
            RowFault(self._first_line + row, fault.field, fault.code, fault.expected, fault.got, _raw_row(self._batch, row))
            for row, fault in sorted(self._found.items())
        )


def _python_value(batch: pa.RecordBatch, name: str, row: int) -> Any:
    try:
        return json_value(batch.column(name)[row].as_py())
    except UnicodeDecodeError:
        return "text that is not UTF-8"
    except CellFault:
        return str(batch.column(name)[row].as_py())


def _raw_row(batch: pa.RecordBatch, row: int) -> str:
    values = {name: _python_value(batch, name, row) for name in batch.schema.names}
    return raw_text(json.dumps(values, ensure_ascii=False, default=str))
