"""CSV: one row of column names, then rows of as many cells. Every cell is text; nothing is taken for a number or a null.

UTF-8, comma, double quotes, line feeds inside quotes allowed. A row with more or fewer cells than the header is at fault; a
quote that is never closed, a header that is missing, empty or says a name twice refuse the file.
"""
from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final, NoReturn

from core.canonical import parse_json
from core.errors import RoundError, Where
from core.rounds.columns import CellFault
from core.rounds.note import Note
from core.rounds.readers.packed import opened
from core.rounds.typing_rows import RawRow
from core.settings import SETTINGS
from core.text import shortened

_LIMIT: Final[int] = SETTINGS["json"]["max_bytes"]
_SHOWN: Final[int] = SETTINGS["text"]["raw_characters"]
_JSON_NUMBER: Final = frozenset("0123456789+-.eE")
_JSON_FLAGS: Final = ("true", "false")
_OTHER_MARKS: Final = {";": "semicolons", "\t": "tabs", "|": "bars"}
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def raw_rows(path: Path, file: str, notes: list[Note]) -> Iterator[RawRow]:
    """Each row as an object of texts, with the line that it begins on."""
    csv.field_size_limit(_LIMIT)  # a limit of the csv module itself: 131,072 characters otherwise, fewer than an answer may have
    with opened(path, file) as handle:
        reader = csv.reader(_lines(handle, file, notes), strict=True)
        names = _header(next(_records(reader, file), None), file)
        line = reader.line_num + 1
        for cells in _records(reader, file):
            if cells:
                yield RawRow(line, _row(names, cells), shortened(",".join(cells), _SHOWN) if len(cells) != len(names) else ",".join(cells))
            line = reader.line_num + 1


def _lines(handle: IO[bytes], file: str, notes: list[Note]) -> Iterator[str]:
    number = 0
    while data := handle.readline(_LIMIT + 1):
        number += 1
        if len(data) > _LIMIT:
            _refuse("too_large", f"at most {_LIMIT} bytes a line", "more", "split the file", Where(file, number))
        if number == 1:
            data = _head(data, file, notes)
        try:
            yield data.decode("utf-8")
        except UnicodeDecodeError as problem:
            got = f"an invalid byte at offset {problem.start} of the line"
            _refuse("invalid_utf8", "UTF-8 text", got, "save the file as UTF-8", Where(file, number))


def _head(data: bytes, file: str, notes: list[Note]) -> bytes:
    if data.startswith(_UTF16) or b"\x00" in data:
        _refuse("utf16", "UTF-8 text", "UTF-16 or UTF-32", "save the file as UTF-8", Where(file))
    if data.startswith(codecs.BOM_UTF8):
        notes.append(Note("byte_order_mark", f"{file} begins with a byte-order mark, which was dropped"))
    return data.removeprefix(codecs.BOM_UTF8)


def _records(reader: Iterator[list[str]], file: str) -> Iterator[list[str]]:
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as problem:
            line = getattr(reader, "line_num", None)
            _refuse("not_csv", "CSV with commas and double quotes", str(problem), "check the quotes; nothing was loaded", Where(file, line))
        if cells is None:
            return
        yield cells


def _header(names: list[str] | None, file: str) -> list[str]:
    if not names:
        _refuse("missing_header", "a first row of column names", "none", "write the names", Where(file, 1))
    if not all(names):
        got = f"no name for column {names.index('') + 1} of {len(names)}"
        remedy = "name it, or write the file without it (pandas writes its row numbers so, unless index=False)"
        _refuse("missing_header", "a first row of column names, none of them empty", got, remedy, Where(file, 1))
    if not names[1:]:
        for mark, words in _OTHER_MARKS.items():
            if mark in names[0]:
                _refuse("other_separator", "cells separated by commas", f"one column, {names[0]!r}, as if {words} separated them",
                        "write the file with commas; cells that hold one go into double quotes", Where(file, 1))
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        _refuse("duplicate_column", "each column once", f"{twice[0]!r} twice", "write it once", Where(file, 1, twice[0]))
    return names


def _row(names: list[str], cells: list[str]) -> dict[str, str] | CellFault:
    if len(cells) != len(names):
        return CellFault("", "wrong_cells", f"{len(names)} cells, as the header has", f"{len(cells)}")
    return dict(zip(names, cells, strict=True))


def json_cell(name: str, cell: str) -> Any:
    """A cell that was declared to be written as in JSON: a number, true or false. Raises CellFault; any other text comes back as it is."""
    return cell == "true" if cell in _JSON_FLAGS else number_in(cell, name)


def number_in(text: str, place: str) -> Any:
    """The number that a text is, written as in JSON; the text where it is none. Raises CellFault for one that JSON does not allow (07)."""
    if not text or not set(text) <= _JSON_NUMBER:
        return text
    try:
        return parse_json(text)
    except RoundError as error:
        raise CellFault(place, error.code, error.expected, error.got) from None


def _refuse(code: str, expected: str, got: str, remedy: str, where: Where) -> NoReturn:
    raise RoundError(code, expected=expected, got=got, remedy=remedy, where=where)
