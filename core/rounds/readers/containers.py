"""The rows of a foreign file, whatever holds them: JSON lines, a JSON list, Parquet, Arrow or CSV, packed with gz or zst or not.

Memory is bounded by one batch of rows (a JSON document is held whole, up to ``json.max_bytes``). A row that cannot be read carries a
CellFault instead of a value. Nothing is typed here.
"""
from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

import pyarrow as pa

from core.errors import RoundError, Where
from core.rounds.arrow_json import json_value, refuse_unkeepable, without_json_text
from core.rounds.columns import CellFault
from core.rounds.note import Note
from core.rounds.readers import columnar, csv_rows, json_list, jsonl
from core.rounds.readers.contents import CODECS, name_parts
from core.rounds.typing_rows import RawRow
from core.settings import SETTINGS

_OPENING: Final = "{"
_CONTENT: Final = "content"
_STRUCTURES: Final = ("arguments", "parameters")
"""Members whose keys mean something by being there: tool-call arguments, and the parameters of a tool definition."""


def _json_rows(path: Path, file: str, notes: list[Note]) -> Iterator[RawRow]:
    """The elements of a JSON list; a document that is one object is one row, and noted."""
    text = json_list.read_text(path, file)
    if not text.lstrip().startswith(_OPENING):
        yield from json_list.raw_rows(text, file)
        return
    notes.append(Note("one_object", f"{file} is one JSON object, not a list; it was read as one row"))
    # as an element of a list, so that it is parsed as strictly as any other row
    yield from json_list.raw_rows(f"[{text}]", file)


_TEXT_FORMS: Final[Mapping[str, Callable[[Path, str, list[Note]], Iterator[RawRow]]]] = {
    ".jsonl": jsonl.raw_rows, ".json": _json_rows, ".csv": csv_rows.raw_rows,
}
SUFFIXES: Final = (*_TEXT_FORMS, *columnar.SUFFIXES)
"""Forms that foreign rows may come in; each may be packed as ``.gz`` or ``.zst``."""


def raw_rows(path: Path, file: str, notes: list[Note], *, struct_nulls: bool = False, non_finite: bool = False) -> Iterator[RawRow]:
    """The rows of ``path``, read by its suffix; ``file`` is shown in errors, ``notes`` receives remarks.

    Values are JSON values. A null member of an Arrow struct cannot be told from an absent key: it is left out (but for the
    ``content`` of a message) and noted. Where keys matter (``arguments``, ``parameters``) a struct is refused, unless
    ``struct_nulls`` says that the proposer declared such nulls to be absent keys. With ``non_finite`` NaN and infinity in a DOUBLE column
    of a table are handed on as they are (a log-prob of a pair is typed then, and invalid); they are a fault of the row otherwise.
    Raises RoundError for the file as a whole.
    """
    suffix = name_parts(path.name).suffix
    if suffix in _TEXT_FORMS:
        return _TEXT_FORMS[suffix](path, file, notes)
    if suffix in columnar.SUFFIXES:
        return _table_rows(path, file, notes, struct_nulls, non_finite)
    unknown_form(file)


_ALSO: Final = {".ndjson": ".jsonl", ".jl": ".jsonl", ".jsonlines": ".jsonl", ".parq": ".parquet", ".pq": ".parquet", ".zstd": ".zst", ".gzip": ".gz"}
"""Other names of the same."""


def unknown_form(file: str) -> NoReturn:
    """Refuse a file whose name says no form that is read here, with the name that says it where only the suffix is spelled another way."""
    stem, *suffixes = file.split(".")
    known = {*SUFFIXES, *CODECS}
    read_as = [spelled if (spelled := _ALSO.get(f".{part.lower()}", f".{part.lower()}")) in known else f".{part}" for part in suffixes]
    name = f"{stem}{''.join(read_as)}"
    same = name if name != file and name_parts(name).suffix in SUFFIXES else None
    raise RoundError(
        "unknown_form", expected=f"a file ending in {', '.join(SUFFIXES)}, or in one of these and {' or '.join(CODECS)}", got=repr(file),
        remedy="write it as one of these" if same is None else f"name it {same}", where=Where(file),
    )


def first_values(path: Path, file: str, notes: list[Note] | None = None) -> list[Any]:
    """The values of the first rows that can be read, for recognising a format; none where the file has no rows of these forms. ``notes``
    receives remarks on the file."""
    if name_parts(path.name).suffix not in SUFFIXES:
        return []
    values: list[Any] = []
    rows = raw_rows(path, file, [] if notes is None else notes, struct_nulls=True, non_finite=True)
    try:
        for row in rows:
            if not isinstance(row.value, CellFault):
                values.append(row.value)
            if len(values) >= SETTINGS["formats"]["detect_rows"]:
                break
    except RoundError:
        # a broken file is named when it is read; what came before the break may still tell its format
        return values
    return values


def refuse_unreadable(path: Path, file: str) -> None:
    """Return where a file has a row that can be read, or none at all. Otherwise raise what is wrong: the file's own error, or that of its
    first row. For a file whose format cannot be told, because then nobody reads it again."""
    if name_parts(path.name).suffix not in SUFFIXES:
        return
    for row in raw_rows(path, file, [], struct_nulls=True, non_finite=True):
        if isinstance(row.value, CellFault):
            raise RoundError(
                row.value.code, expected=row.value.expected, got=row.value.got, remedy="correct this row; nothing was written",
                where=Where(file, row.line, row.value.field or None),
            )
        return


def _table_rows(path: Path, file: str, notes: list[Note], struct_nulls: bool, non_finite: bool) -> Iterator[RawRow]:
    with columnar.opened_table(path, file) as table:
        _check_columns(table.schema, file, struct_nulls)
        line, dropped, kinds = 0, False, {field.name: field.type for field in table.schema}
        for batch in table.batches:
            for row in _python_rows(batch):
                line += 1
                value, fewer = _row_value(row, kinds, non_finite)
                dropped = dropped or fewer
                yield RawRow(line, value, json.dumps(row, ensure_ascii=False, default=str))
        if dropped:
            text = f"{file}: null members of structs are read as absent keys, because Arrow cannot tell the two apart"
            notes.append(Note("struct_nulls", text))


def _check_columns(schema: pa.Schema, file: str, struct_nulls: bool) -> None:
    for name in schema.names:
        if schema.names.count(name) > 1:
            raise RoundError(
                "duplicate_column", expected="each column once", got=f"{name!r} twice", remedy="write it once", where=Where(file, field=name),
            )
    for field in schema:
        refuse_unkeepable(field, file, structures=() if struct_nulls else _STRUCTURES)


def _python_rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any] | CellFault]:
    try:
        yield from batch.to_pylist()
    except UnicodeDecodeError:
        # one text that is not UTF-8 spoils the whole batch: then row by row
        for number in range(batch.num_rows):
            try:
                yield batch.slice(number, 1).to_pylist()[0]
            except UnicodeDecodeError:
                yield CellFault("", "invalid_utf8", "UTF-8 text", "text that is not UTF-8")


def _row_value(row: dict[str, Any] | CellFault, kinds: Mapping[str, pa.DataType], non_finite: bool) -> tuple[Any, bool]:
    """A row as JSON values, and whether a null member of a struct was left out."""
    if isinstance(row, CellFault):
        return row, False
    found = _Dropping()

    def value_of(name: str, value: Any) -> Any:
        if non_finite and isinstance(value, float):
            return value
        # nulls of structs go first: those inside JSON text were written by somebody
        return json_value(without_json_text(found.without_nulls(value), kinds[name], name), name)

    try:
        return {name: value_of(name, value) for name, value in row.items()}, found.dropped
    except CellFault as fault:
        return fault, found.dropped


class _Dropping:
    """Leaves null members of structs out, and remembers that it did."""

    def __init__(self) -> None:
        self.dropped = False

    def without_nulls(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.without_nulls(item) for item in value]
        if not isinstance(value, dict):
            return value
        kept = {name: self.without_nulls(item) for name, item in value.items() if item is not None or name == _CONTENT}
        self.dropped = self.dropped or len(kept) < len(value)
        return kept
