"""A file of evaluation items to look for in the training data: any objects, not only a holdout that a round locked.

Only texts and ids of it are used, so numbers may be written as they like; whatever is no row of objects is refused by its line.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from core.canonical import file_digest
from core.errors import RoundError, Where
from core.rounds.arrow_json import json_value
from core.rounds.columns import CellFault
from core.rounds.readers import READERS, columnar, json_list, jsonl
from core.rounds.readers.packed import CODECS, name_parts
from core.rounds.strict import described
from core.rounds.typing_rows import RawRow


def read_items(path: Path) -> tuple[list[Mapping[str, Any]], str]:
    """The objects of a ``.jsonl``, ``.json`` (a list), Parquet or Arrow file, packed or not, and the SHA-256 of the file.

    Raises RoundError naming the line: a row that is no object, or a file without rows.
    """
    suffix = name_parts(path.name).suffix
    if suffix not in READERS or not path.is_file():
        raise RoundError(
            "unknown_form", expected=f"a file ending in {', '.join(READERS)}, packed ({', '.join(CODECS)}) or not",
            got=path.name if path.is_file() else "no such file", remedy="name a file of evaluation items", where=Where(path.name),
        )
    items: list[Mapping[str, Any]] = []
    for row in _rows(path, suffix):
        fault = row.value
        if isinstance(fault, CellFault):
            raise RoundError(fault.code, expected=fault.expected, got=fault.got, remedy="correct this row",
                             where=Where(path.name, row.line, fault.field or None))
        if not isinstance(row.value, dict):
            raise RoundError("wrong_type", expected="one JSON object", got=described(row.value), remedy="correct this row",
                             where=Where(path.name, row.line))
        items.append(row.value)
    if not items:
        raise RoundError("empty_holdout", expected="at least one item", got="none", remedy="name a file of evaluation items", where=Where(path.name))
    return items, file_digest(path)


def _rows(path: Path, suffix: str) -> Iterator[RawRow]:
    if suffix == ".jsonl":
        yield from jsonl.raw_rows(path, path.name, [])
    elif suffix == ".json":
        yield from json_list.raw_rows(json_list.read_text(path, path.name), path.name)
    else:
        yield from _table_rows(path)


def _table_rows(path: Path) -> Iterator[RawRow]:
    with columnar.opened_table(path, path.name) as table:
        line = 0
        for batch in table.batches:
            try:
                rows = batch.to_pylist()
            except UnicodeDecodeError as problem:
                raise RoundError("invalid_utf8", expected="UTF-8 text", got="other bytes", remedy="write the file again",
                                 where=Where(path.name)) from problem
            for row in rows:
                line += 1
                yield RawRow(line, _value(row), "")


def _value(row: dict[str, object]) -> object:
    try:
        return json_value(row)
    except CellFault as fault:
        return fault
