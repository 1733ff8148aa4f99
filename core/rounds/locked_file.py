"""A file of evaluation items to look for in the training data: any objects, not only a holdout that a round locked."""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.canonical import file_digest
from core.errors import RoundError, Where
from core.rounds.columns import CellFault
from core.rounds.notes import Note
from core.rounds.readers import READERS
from core.rounds.strict import described


def read_items(path: Path) -> tuple[list[Mapping[str, Any]], str]:
    """The objects of a ``.jsonl``, ``.json`` (a list) or ``.parquet`` file, and the SHA-256 of the file. Numbers must be integers.

    Raises RoundError naming the line: a row that is no object, or a file without rows.
    """
    reader = READERS.get(path.suffix)
    if reader is None or not path.is_file():
        raise RoundError(
            "unknown_form", expected=f"a file ending in {', '.join(READERS)}", got=path.name if path.is_file() else "no such file",
            remedy="name a file of evaluation items", where=Where(path.name),
        )
    notes: list[Note] = []
    rows = reader.items(path, path.name, notes)
    for row in rows:
        if isinstance(row.value, CellFault):
            fault = row.value
            raise RoundError(fault.code, expected=fault.expected, got=fault.got, remedy="correct this row",
                             where=Where(path.name, row.line, fault.field or None))
        if not isinstance(row.value, dict):
            raise RoundError("wrong_type", expected="one JSON object", got=described(row.value), remedy="correct this row",
                             where=Where(path.name, row.line))
    if not rows:
        raise RoundError("empty_holdout", expected="at least one item", got="none", remedy="name a file of evaluation items", where=Where(path.name))
    return [row.value for row in rows], file_digest(path)
