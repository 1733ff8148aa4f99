"""What is said of a file whose format cannot be told: what its rows look like, and what to do about it. Nothing is chosen here."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from core.errors import RoundError, Where
from core.rounds.columns import SIDES
from core.rounds.note import Note
from core.rounds.readers.containers import SUFFIXES, refuse_unreadable, unknown_form
from core.rounds.readers.contents import name_parts
from core.rounds.readers.format import COLUMN, Format
from core.rounds.readers.row_parts import all_text, none_has
from core.rounds.strict import described

_PROMPTS: Final = ("prompt", "instruction", "input", "question", "messages", "conversations")
_BY_NAME: Final = "name the format yourself; countersign ingest --formats lists them, and none is guessed"
_PROMPTLESS: Final = (
    "give each row an explicit prompt: text is never split at what both answers begin with; where the prompt ends at a mark, name the "
    "format and declare it (--format trl --option boundary=MARK)"
)


def refuse_ambiguous(file: str, fits: Sequence[Format]) -> NoReturn:
    """Refuse a file whose rows fit several formats, naming them."""
    names = [item.name for item in fits]
    _refuse("ambiguous_format", f"rows that fit {' and '.join(names)}", file, f"name the one that it is: --format {' or --format '.join(names)}")


def refuse_unrecognised(path: Path, file: str, values: Sequence[Any], notes: Sequence[Note], formats: Sequence[Format]) -> NoReturn:
    """Refuse a file whose rows fit none of ``formats``: its own fault where it cannot be read, else what its first rows are."""
    if name_parts(path.name).suffix not in SUFFIXES:
        unknown_form(file)
    if not values:
        refuse_unreadable(path, file)
        _refuse("unrecognised_format", "no rows", file, "hand over a file that has rows, or name the format yourself")
    if any(note.code == "one_object" for note in notes):
        _refuse("unrecognised_format", f"one JSON object with the keys {_keys(values[0])}, and no list of rows", file,
                f"hand over the list of rows alone, one object a row; or {_BY_NAME}")
    renamed = _renamed(values, formats, path)
    if renamed is not None:
        _refuse("unrecognised_format", _rows(values), file, renamed)
    _refuse_mixed(file, values, formats, path)
    lacks_prompt = all_text(values, "chosen", "rejected") and none_has(values, *_PROMPTS)
    _refuse("unrecognised_format", _rows(values), file, _PROMPTLESS if lacks_prompt else _BY_NAME)


def _refuse_mixed(file: str, values: Sequence[Any], formats: Sequence[Format], path: Path) -> None:
    """Refuse a file of which most rows fit one format, and some do not; return where that is not so."""
    for item in formats:
        others = [value for value in values if item.recognise([value], path) is None]
        if others and len(others) < len(values) - len(others):
            got = f"{len(values) - len(others)} of the first {len(values)} rows, which fit {item.name}, and one {_of(others[0])}"
            _refuse("unrecognised_format", got, file, f"take the other rows out; or name the format (--format {item.name}), which quarantines "
                                                      "each row that it cannot read, by its line")


def _renamed(values: Sequence[Any], formats: Sequence[Format], path: Path) -> str | None:
    """What to declare where the rows would fit one format if names that differ from ours in case or spaces alone were ours."""
    if not all(isinstance(value, dict) for value in values):
        return None
    theirs = {ours: name for name in values[0] for ours in SIDES if name != ours and name.strip().lower() == ours and ours not in values[0]}
    if not theirs:
        return None
    back = {name: ours for ours, name in theirs.items()}
    rows = [{back.get(name, name): cell for name, cell in value.items()} for value in values]
    fits = [item.name for item in formats if item.recognise(rows, path) is not None]
    if len(fits) != 1:
        return None
    options = " ".join(f"--option {described(f'{COLUMN}{ours}={name}')}" for ours, name in theirs.items())
    return f"rename the columns, or name the format and map them: --format {fits[0]} {options}"


def _rows(values: Sequence[Any]) -> str:
    kinds = list(dict.fromkeys(map(_of, values)))
    return f"rows {kinds[0]}" if len(kinds) == 1 else f"rows that differ: one {kinds[0]}, another {kinds[1]}"


def _of(value: Any) -> str:
    return f"with the keys {_keys(value)}" if isinstance(value, dict) else f"that is no object ({described(value)})"


def _keys(value: dict[str, Any]) -> str:
    return ", ".join(sorted(value)) or "none"


def _refuse(code: str, got: str, file: str, remedy: str) -> NoReturn:
    raise RoundError(code, expected="rows of one known format", got=got, remedy=remedy, where=Where(file))
