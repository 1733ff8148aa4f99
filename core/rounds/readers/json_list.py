"""One JSON list of objects. Each element is parsed strictly by itself, so that one bad row does not hide the others.

The "line" of a row is its position in the list, counted from 1.
"""
from __future__ import annotations

import json
from codecs import BOM_UTF16_LE
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from core.canonical import decode_utf8, parse_json
from core.errors import RoundError, Where
from core.rounds.columns import CellFault, Column, TypedBatch
from core.rounds.note import Note
from core.rounds.readers.packed import read_whole
from core.rounds.typing_rows import RawRow, type_rows

_SPACE: Final = " \t\r\n"
# tells where an element ends without making anything of its numbers: they are read strictly afterwards
_SCANNER: Final = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)


def typed(path: Path, file: str, columns: Sequence[Column], notes: list[Note]) -> Iterator[TypedBatch]:
    """Typed batches of a table that is one JSON list."""
    return type_rows(file, columns, raw_rows(read_text(path, file), file))


def items(path: Path, file: str, notes: list[Note]) -> list[RawRow]:
    """The holdout items of a JSON list; numbers must be integers."""
    return list(raw_rows(read_text(path, file), file, integers_only=True))


def read_bytes(path: Path, file: str) -> bytes:
    """A whole document, refused beyond the size limit before it is read."""
    return read_whole(path, file)


def read_text(path: Path, file: str) -> str:
    """A whole document as text."""
    data = read_bytes(path, file)
    if b"\x00" in data[:len(BOM_UTF16_LE)]:
        # no JSON text has a zero byte, and one of UTF-16 or UTF-32 without a mark begins with one, or has one second
        raise RoundError("utf16", expected="UTF-8 text", got="UTF-16 or UTF-32", remedy="save the file as UTF-8", where=Where(file))
    return decode_utf8(data, where=Where(file))


def raw_rows(text: str, file: str, *, integers_only: bool = False) -> Iterator[RawRow]:
    """Each element of the list as a row; an element that is refused by the strict reader carries its fault."""
    position = _skip(text, 0)
    if not text.startswith("[", position):
        _refuse(file, text, position, "a JSON list of objects")
    position = _skip(text, position + 1)
    number = 0
    while not text.startswith("]", position):
        if number:
            if text.startswith("{", position):
                _refuse(file, text, position, "a comma or the end of the list", "name the file .jsonl if each of its lines is one object")
            if not text.startswith(",", position):
                _refuse(file, text, position, "a comma or the end of the list")
            position = _skip(text, position + 1)
        number += 1
        end = _element_end(text, position, file)
        raw = text[position:end]
        yield RawRow(number, _parsed(raw, Where(file, number), integers_only=integers_only), raw)
        position = _skip(text, end)
    position = _skip(text, position + 1)
    if position < len(text):
        _refuse(file, text, position, "the end of the file after the list")


def _element_end(text: str, position: int, file: str) -> int:
    try:
        return _SCANNER.raw_decode(text, position)[1]
    except json.JSONDecodeError as problem:
        _refuse(file, text, problem.pos, f"a complete JSON list ({problem.msg.removesuffix(' at')})")
    except RecursionError:
        _refuse(file, text, position, "a document that is less deeply nested")


def _parsed(raw: str, where: Where, *, integers_only: bool) -> Any:
    try:
        return parse_json(raw, where=where, integers_only=integers_only)
    except RoundError as error:
        field = error.where.field if error.where is not None and error.where.field else ""
        return CellFault(field, error.code, error.expected, error.got)


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in _SPACE:
        position += 1
    return position


def _refuse(file: str, text: str, position: int, expected: str, remedy: str = "check that the file is whole and is JSON") -> NoReturn:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    got = "the end of the file" if position >= len(text) else f"{text[position]!r} at column {column}"
    raise RoundError("not_json", expected=expected, got=got, remedy=remedy, where=Where(file, line))
