"""Outcomes, judge records and canaries out of rows of any shape, by an explicit mapping: ``column.id=key``, ``column.passed=strict``.

``where=model=ref`` reads the rows of one model out of a file of several. Columns that are not mapped are left out, and a note names
them. No file tells which of its columns is a verdict, so such a format is never chosen by detection.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from core.errors import RoundError, Where
from core.rounds.columns import PART_COLUMNS, CellFault, Kind
from core.rounds.note import Note
from core.rounds.readers.containers import raw_rows
from core.rounds.readers.format import COLUMN, Declared, Format, Option
from core.rounds.readers.mapped_csv import json_number
from core.rounds.readers.outcome_rows import OPTIONS, mapped
from core.rounds.readers.places import IdPlace, placed, top
from core.rounds.readers.verdicts import PASS_OPTIONS, VerdictRule
from core.rounds.strict import described, unknown_remedy
from core.rounds.typing_rows import RawRow

_IS: Final = "="
_INTEGERS: Final = "integer_ids"
_NUMBERS: Final = "numbers"
_NUMERIC: Final = (Kind.DOUBLE, Kind.INTEGER)
_PASS: Final = ("pass", "fail")
_APPROVE: Final = ("approve", "reject")
_WHERE: Final = Option("the rows to read, as model=ref: those whose value at a place is that text")
_FAMILY: Final = Option("where a row holds one of our columns, such as column.id=key; an id may be sha256:PLACE or PLACE+PLACE")


_NEEDED: Final = "where a row holds {name}"


@dataclass(frozen=True, slots=True)
class _Target:
    """A part that rows can be mapped to.

    ``needed``: columns that must be mapped. ``rules``: verdict columns, with the options of their rule. ``constant``: a column that may be
    declared for the whole file, and the option that declares it. ``once``: the columns that name a row.
    """

    part: str
    title: str
    needed: tuple[str, ...]
    once: tuple[str, ...]
    rules: Mapping[str, tuple[str, str]]
    options: Mapping[str, Option]
    constant: tuple[str, str] | None = None

    @property
    def name(self) -> str:
        """The name of the format."""
        return f"mapped-{self.part.replace('_', '-')}"


_TARGETS: Final = (
    _Target(
        "outcomes", "outcomes by an explicit mapping of columns", ("id", "passed"), ("id", "arm", "run"), {"passed": _PASS},
        {"arm": OPTIONS["arm"], **PASS_OPTIONS}, ("arm", "arm"),
    ),
    _Target(
        "judge_records", "judge records by an explicit mapping of columns", ("case_id", "rubric_approved", "verifier_passed"),
        ("judge_id", "case_id", "order_swapped"), {"rubric_approved": _APPROVE, "verifier_passed": _PASS},
        {
            "judge": Option("the judge of all records, where no column names it"), **PASS_OPTIONS,
            "approve": Option("the values that approve, as 1 or yes, or a bound, as >=0.5"), "reject": Option("texts that reject"),
        },
        ("judge_id", "judge"),
    ),
    _Target("sanity", "canaries by an explicit mapping of columns", ("id", "passed"), ("id",), {"passed": _PASS}, PASS_OPTIONS),
)


class _Mapping:
    """Reads the rows of one file by its declared mapping."""

    def __init__(self, declared: Declared, target: _Target) -> None:
        self._declared, self._target, options = declared, target, declared.options
        self._columns = {column.name: column for column in PART_COLUMNS[target.part]}
        self._places: dict[str, str] = {name.removeprefix(COLUMN): place for name, place in options.items() if name.startswith(COLUMN)}
        column, option = target.constant or ("", "")
        self._constants = {column: options[option]} if option in options else {}
        self._check(column)
        self._rules = {name: VerdictRule(declared, self._places[name], names=names) for name, names in target.rules.items()}
        self._ids = {
            name: IdPlace(place, target.name, integers=_INTEGERS in options)
            for name, place in self._places.items() if self._columns[name].kind is Kind.ID
        }
        self._where, _, self._wanted = options.get("where", "").partition(_IS)
        places = [*self._places.values(), self._where, *(place for found in self._ids.values() for place in found.places)]
        self._used = {*places, *map(top, places)}
        self._seen: set[tuple[Any, ...]] = set()
        self._left_out: set[str] = set()
        self._read = self._others = 0

    def row(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """One row under our columns, or None where it is not asked for. Raises CellFault."""
        if self._where and _shown(placed(row, self._where)) != self._wanted:
            self._others += 1
            return None
        self._read += 1
        self._left_out |= row.keys() - self._used
        cells = self._constants | {name: self._cell(name, row) for name in self._places}
        # a value that is a list or an object is no legal one, and is refused when it is typed
        key = tuple(repr(value) if isinstance(value := cells.get(name), (list, dict)) else value for name in self._target.once)
        if key in self._seen:
            told = ", ".join(described(value) for value in key if value is not None)
            expected = "each row once; where=PLACE=TEXT reads a part of a file"
            raise CellFault(self._places[self._target.needed[0]], "duplicate_row", expected, f"{told} twice")
        self._seen.add(key)
        return cells

    def finish(self) -> None:
        """Check the file as a whole and add its notes."""
        notes, file, where = self._declared.notes, self._declared.file, self._declared.options.get("where", "")
        if not self._read:
            got = f"none where {where}, and {self._others} others" if self._others else "none"
            raise RoundError("no_rows", expected="at least one row", got=got, remedy="correct where, or hand over the whole file", where=Where(file))
        for rule in self._rules.values():
            notes += rule.notes()
        for found in self._ids.values():
            notes += found.notes(file)
        if self._others:
            notes.append(Note("rows_left_out", f"{file}: {self._others} rows are not where {where} and were left out"))
        if self._left_out:
            notes.append(Note("columns_left_out", f"{file}: columns not mapped and left out: {', '.join(sorted(self._left_out))}"))

    def _cell(self, name: str, row: dict[str, Any]) -> Any:
        if name in self._ids:
            return self._ids[name].identifier(row)
        value = placed(row, self._places[name])
        if _NUMBERS in self._declared.options and isinstance(value, str) and (name in self._rules or self._columns[name].kind in _NUMERIC):
            value = json_number(self._places[name], value)
        return self._rules[name].verdict(value) if name in self._rules else value

    def _check(self, constant: str) -> None:
        for name in self._places:
            if name not in self._columns:
                self._refuse("unknown_column", name, f"one of {', '.join(self._columns)}", repr(name), unknown_remedy(name, self._columns))
            if name in self._constants:
                self._refuse("said_twice", name, f"{name} in a column or declared for the file", "both", "keep one of the two")
        needed = [*self._target.needed, *([constant] if constant and not self._constants else [])]
        for name in needed:
            if name not in self._places:
                self._refuse("missing_option", name, f"a mapping of {name}", "nothing", f"declare {COLUMN}{name}=PLACE")
        where = self._declared.options.get("where", _IS.join("ab"))
        if not all(where.partition(_IS)):
            self._refuse("bad_option", "where", "PLACE=TEXT", repr(where), "correct the option where")

    def _refuse(self, code: str, name: str, expected: str, got: str, remedy: str) -> NoReturn:
        raise RoundError(code, expected=expected, got=got, remedy=remedy, where=Where(self._declared.file, field=f"{COLUMN}{name}"))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else described(value)


def _format(target: _Target) -> Format:
    def rows(declared: Declared) -> Iterator[RawRow]:
        mapping = _Mapping(declared, target)
        return mapped(raw_rows(declared.path, declared.file, declared.notes), mapping.row, mapping.finish)

    needed = {f"{COLUMN}{name}": Option(_NEEDED.format(name=name), required=True) for name in target.needed}
    return Format(target.name, target.part, target.title, rows, _never, {
        **target.options, **needed, "column.NAME": _FAMILY, "where": _WHERE,
        _NUMBERS: Option("texts of verdict and number columns, as the cells of CSV, are numbers written as in JSON", ("json",)),
        _INTEGERS: Option("ids that are integers become their decimal text", ("text",)),
    })


def _never(first_rows: Sequence[Any], path: Path) -> str | None:
    return None


FORMATS: Final = tuple(map(_format, _TARGETS))
