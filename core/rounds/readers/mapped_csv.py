"""CSV, every cell of it text: each of our columns is mapped to one of the file's by the proposer (``column.prompt=question``).

Texts are taken as they are. Cells of number and flag columns are read as JSON numbers and as ``true`` or ``false`` only where ``numbers`` and
``booleans`` declare it, and an empty cell is a null only where ``empty`` does. Columns that are not mapped are kept in ``extra``.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from core.errors import RoundError, Where
from core.rounds.columns import PAIR_COLUMNS, CellFault, Kind
from core.rounds.readers.containers import first_values
from core.rounds.readers.contents import name_parts
from core.rounds.readers.csv_rows import json_cell
from core.rounds.readers.format import COLUMN, Declared, Option
from core.rounds.readers.preference import preference_format
from core.rounds.readers.row_parts import Counts, Row
from core.rounds.strict import described
from core.rounds.typing_rows import RawRow

_NUMBERS: Final = {column.name for column in PAIR_COLUMNS if column.kind in (Kind.DOUBLE, Kind.INTEGER)}
_OURS: Final = frozenset(column.name for column in PAIR_COLUMNS)


def _shape(row: Row, options: Mapping[str, str], counts: Counts) -> Row:
    for name in sorted(_OURS & row.keys()):
        if row[name] == "" and "empty" in options:
            row[name] = None
        elif name in _NUMBERS and "numbers" in options:
            row[name] = json_number(name, row[name])
    return row


def _rows(declared: Declared) -> Iterator[RawRow]:
    """The rows of a CSV file whose columns under our names are mapped as well: nothing is taken for ours by its name alone."""
    for name in sorted({name for row in first_values(declared.path, declared.file) for name in row} & _OURS):
        if f"{COLUMN}{name}" not in declared.options and name not in declared.options.values():
            raise RoundError(
                "unmapped_column", expected=f"a mapping of the column {name}", got="none", where=Where(declared.file, field=name),
                remedy=f"declare {COLUMN}{name}={name} if it is that column, or rename it in the file",
            )
    return _CSV.rows(declared)


def json_number(name: str, cell: str) -> int | float:
    """The number that a cell of text is, written as in JSON. Raises CellFault."""
    value = json_cell(name, cell)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise CellFault(name, "wrong_type", "a number, written as in JSON", described(cell))
    return value


def _recognise(rows: Sequence[Any], path: Path) -> str | None:
    return "the file is CSV; its columns have to be mapped" if name_parts(path.name).suffix == ".csv" else None


_CSV: Final = preference_format("csv", "CSV by an explicit mapping of its columns", _shape, _recognise, {
    "numbers": Option("cells of number columns are numbers, written as in JSON", ("json",)),
    "empty": Option("an empty cell of a mapped column is a null", ("null",)),
})
FORMATS: Final = (replace(_CSV, rows=_rows),)
