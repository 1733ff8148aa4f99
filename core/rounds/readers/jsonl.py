"""JSON lines: one object a line, UTF-8, read line by line.

One leading byte-order mark is dropped and noted, CRLF and blank last lines are fine. UTF-16, a JSON list under this
name and a last line that is cut are refused: no row of such a file is loaded.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

from core.canonical import parse_json
from core.errors import RoundError, Where
from core.rounds.columns import CellFault, Column, TypedBatch
from core.rounds.note import Note
from core.rounds.readers.packed import opened
from core.rounds.typing_rows import RawRow, type_rows
from core.settings import SETTINGS

_LIMIT: Final[int] = SETTINGS["json"]["max_bytes"]
_MARK: Final = b"\xef\xbb\xbf"
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_ONE_LINE: Final = "a whole JSON object on each line (a document that goes over several lines is a .json file)"
_OPENING, _CLOSING, _QUOTE, _ESCAPE = "{[", "}]", '"', "\\"


def typed(path: Path, file: str, columns: Sequence[Column], notes: list[Note]) -> Iterator[TypedBatch]:
    """Typed batches of a table in JSON lines."""
    return type_rows(file, columns, raw_rows(path, file, notes))


def items(path: Path, file: str, notes: list[Note]) -> list[RawRow]:
    """The holdout items of a file, one a line; numbers must be integers."""
    return list(raw_rows(path, file, notes, integers_only=True))


def raw_rows(path: Path, file: str, notes: list[Note], *, integers_only: bool = False) -> Iterator[RawRow]:
    """Each line as a row; a line that is no JSON carries its fault instead of a value."""
    with opened(path, file) as handle:
        for line, data, last in _lines(handle, file, notes):
            text = data.decode("utf-8", "replace")
            yield RawRow(line, _parsed(data, text, Where(file, line), integers_only=integers_only, last=last), text)


def _parsed(data: bytes, text: str, where: Where, *, integers_only: bool, last: bool) -> Any:
    if not data.strip():
        return CellFault("", "blank_line", "one JSON object", "a blank line before the end of the file")
    try:
        return parse_json(data, where=where, integers_only=integers_only)
    except RoundError as error:
        if last and error.code in ("not_json", "invalid_utf8") and is_cut(text):
            raise RoundError(
                "cut_last_line", expected="a complete JSON object on the last line", got="a line that stops short", where=where,
                remedy="hand over the whole file; nothing of it was loaded",
            ) from error
        field = error.where.field if error.where is not None and error.where.field else ""
        expected = _ONE_LINE if error.code == "not_json" and is_cut(text) else error.expected
        return CellFault(field, error.code, expected, error.got)


def _lines(handle: IO[bytes], file: str, notes: list[Note]) -> Iterator[tuple[int, bytes, bool]]:
    """(line number, bytes without line end, whether it is the last that is not blank); blank lines at the end are left out."""
    held: tuple[int, bytes] | None = None
    blank: list[int] = []
    number = 0
    while data := handle.readline(_LIMIT + 1):
        number += 1
        _skip_rest(handle, data)
        if number == 1:
            data = _head(data, file, notes)
        if not data.strip():
            blank.append(number)
            continue
        if held is None:
            _reject_list(data, file, number)
        else:
            yield (*held, False)
        yield from ((line, b"", False) for line in blank)
        blank.clear()
        held = number, data.rstrip(b"\r\n")
    if held is not None:
        yield (*held, True)


def _skip_rest(handle: IO[bytes], data: bytes) -> None:
    """Pass over what is left of a line that is longer than any row may be: it stays one line, refused as too large."""
    while len(data) > _LIMIT and not data.endswith(b"\n"):
        data = handle.readline(_LIMIT + 1)


def _head(data: bytes, file: str, notes: list[Note]) -> bytes:
    if data.startswith(_UTF16) or b"\x00" in data[:len(_MARK)]:
        raise RoundError("utf16", expected="UTF-8 text", got="UTF-16 or UTF-32", remedy="save the file as UTF-8", where=Where(file))
    if data.startswith(_MARK):
        notes.append(Note("byte_order_mark", f"{file} begins with a byte-order mark, which was dropped"))
        return data.removeprefix(_MARK)
    return data


def _reject_list(data: bytes, file: str, line: int) -> None:
    if data.lstrip().startswith(b"["):
        raise RoundError(
            "json_list_in_jsonl", expected="one JSON object a line", got="a JSON list", remedy="name the file .json", where=Where(file, line),
        )


def is_cut(text: str) -> bool:
    """Whether a JSON text stops inside an object, a list or a string."""
    depth, quoted, escaped = 0, False, False
    for character in text:
        if quoted:
            if escaped:
                escaped = False
            elif character == _ESCAPE:
                escaped = True
            else:
                quoted = character != _QUOTE
        elif character == _QUOTE:
            quoted = True
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
    return quoted or depth > 0
