"""A file of evaluation items, a locked suite or any other list: what is looked for in training data, read in one way for every command.

Only texts and ids of it are used, so numbers may be written as they like; whatever is no row of objects is refused by its line. An id
that stands on two items is refused by name, as in a holdout that a round locks: what is said about one would be said about both.
"""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from core.canonical import file_digest
from core.errors import RoundError, Where
from core.rounds.arrow_json import without_json_text
from core.rounds.columns import CellFault
from core.rounds.readers import columnar, csv_rows, json_list, jsonl
from core.rounds.readers.containers import SUFFIXES
from core.rounds.readers.contents import CODECS, name_parts
from core.rounds.strict import described
from core.rounds.typing_rows import RawRow

_ID: Final = "id"


@dataclass(frozen=True, slots=True)
class ItemFile:
    """The items of a file, the name to show, and the SHA-256 of the file as it lies there."""

    name: str
    sha256: str
    items: list[Mapping[str, Any]]


def read_items(path: Path, left_out: Collection[str] = ()) -> ItemFile:
    """The objects of a ``.jsonl``, ``.json`` (a list), ``.csv``, Parquet or Arrow file, packed or not.

    ``left_out``: members that nobody looks at; with ``id`` among them, ids may repeat. Raises RoundError naming the line: a row that is no
    object, an id that was there before, a file without rows.
    """
    suffix = name_parts(path.name).suffix
    _check_file(path, suffix)
    items: list[Mapping[str, Any]] = []
    seen: dict[tuple[type, Any], int] = {}
    try:
        for row in _rows(path, suffix):
            item = _object(row, path.name)
            if _ID not in left_out:
                _once(item.get(_ID), row.line, seen, path.name)
            items.append(item)
        digest = file_digest(path)
    except OSError as problem:
        raise _cannot_read(path, problem.strerror or "an unreadable file") from problem
    if not items:
        raise RoundError("empty_holdout", expected="at least one item", got="none", remedy="name a file of evaluation items", where=Where(path.name))
    return ItemFile(path.name, digest, items)


def _check_file(path: Path, suffix: str) -> None:
    try:
        found = "a folder" if path.is_dir() else "no such file" if not path.exists() else None
    except OSError as problem:
        raise _cannot_read(path, problem.strerror or "an unreadable path") from problem
    if suffix not in SUFFIXES or found is not None:
        raise RoundError(
            "unknown_form", expected=f"a file ending in {', '.join(SUFFIXES)}, packed ({', '.join(CODECS)}) or not", got=found or repr(path.name),
            remedy="name a file of evaluation items", where=Where(path.name),
        )


def _cannot_read(path: Path, got: str) -> RoundError:
    return RoundError("cannot_read", expected="a file of items that can be read", got=got, remedy="check the path and its permissions",
                      where=Where(path.name))


def _object(row: RawRow, file: str) -> Mapping[str, Any]:
    fault = row.value
    if isinstance(fault, CellFault):
        raise RoundError(fault.code, expected=fault.expected, got=fault.got, remedy="correct this row",
                         where=Where(file, row.line, fault.field or None))
    if not isinstance(row.value, dict):
        raise RoundError("wrong_type", expected="one JSON object", got=described(row.value), remedy="correct this row", where=Where(file, row.line))
    return row.value


def _once(own: Any, line: int, seen: dict[tuple[type, Any], int], file: str) -> None:
    """Refuse an id that was there before. The number 1 and the text "1" are two ids."""
    if isinstance(own, bool) or not isinstance(own, (str, int)) or own == "":
        return
    first = seen.setdefault((type(own), own), line)
    if first != line:
        raise RoundError(
            "duplicate_holdout_id", expected="each id once", got=f"{described(own)} in item {first} and item {line}",
            remedy=f"rename or remove one, or leave the ids out with --leave-out {_ID}", where=Where(file, line, _ID),
        )


def _rows(path: Path, suffix: str) -> Iterator[RawRow]:
    if suffix == ".jsonl":
        yield from jsonl.raw_rows(path, path.name, [])
    elif suffix == ".json":
        yield from json_list.raw_rows(json_list.read_text(path, path.name), path.name)
    elif suffix == ".csv":
        yield from csv_rows.raw_rows(path, path.name, [])
    else:
        yield from _table_rows(path)


def _table_rows(path: Path) -> Iterator[RawRow]:
    with columnar.opened_table(path, path.name) as table:
        line, kinds = 0, {field.name: field.type for field in table.schema}
        for batch in table.batches:
            try:
                rows = batch.to_pylist()
            except UnicodeDecodeError as problem:
                raise RoundError("invalid_utf8", expected="UTF-8 text", got="other bytes", remedy="write the file again",
                                 where=Where(path.name)) from problem
            for row in rows:
                line += 1
                # nobody looks at its numbers, so NaN and dates may stay what they are
                yield RawRow(line, _value(row, kinds), "")


def _value(row: dict[str, object], kinds: Mapping[str, pa.DataType]) -> object:
    try:
        return {name: without_json_text(value, kinds[name], name) for name, value in row.items()}
    except CellFault as fault:
        return fault
