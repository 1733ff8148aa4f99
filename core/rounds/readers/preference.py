"""What all formats of preference pairs share: ids, origin, flags, log-probs and mapped columns, each only as declared.

A format brings a ``shape``: how a row's own keys become ``prompt``, ``chosen`` and ``rejected``. Everything else a row has is kept: under
our name where it has one, otherwise in ``extra`` (tools, ratings' models, margins), so that an export can give it back.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NoReturn

from core.errors import RoundError, Where
from core.rounds.columns import PAIR_COLUMNS, CellFault, Column, Kind
from core.rounds.note import Note, warning
from core.rounds.readers import log_probs, visible
from core.rounds.readers.columnar import narrow_floats, narrow_members
from core.rounds.readers.containers import first_values, raw_rows
from core.rounds.readers.contents import name_parts
from core.rounds.readers.foreign_ids import IdRule
from core.rounds.readers.format import COLUMN, Declared, Format, Option
from core.rounds.readers.places import INSIDE, has_place, placed
from core.rounds.readers.row_parts import Counts, Row, all_have
from core.rounds.strict import described, nearest
from core.rounds.typing_rows import RawRow
from core.schemas import FLAGS
from core.settings import SETTINGS

Shape = Callable[[Row, Mapping[str, str], Counts], Row]
"""(a row, the options, counts) -> the row with prompt, chosen and rejected under our names. It may change the row it gets, and counts what
the reader of the report should know. Raises CellFault."""

Recognise = Callable[[Sequence[Any], Path], str | None]

_DIGITS: Final[int] = SETTINGS["formats"]["id_digits"]
_COLUMNS: Final[Mapping[str, Column]] = {column.name: column for column in PAIR_COLUMNS}
_BUNDLE_FLAGS: Final = {"chosen_verified": FLAGS[0], "rejected_tombstone": FLAGS[-1]}
"""How a bundle spells the flags: in other files these are columns like any other."""
_BOOLEANS: Final[Mapping[str, Mapping[Any, bool]]] = {"0/1": {0: False, 1: True, "0": False, "1": True}, "true/false": {"false": False, "true": True}}
OPTIONS: Final[Mapping[str, Option]] = {
    "ids": Option("how pairs get their ids where the file has none: FILE-000001 by the row's line", ("line",)),
    "integer_ids": Option("ids that are integers become their decimal text", ("text",)),
    "origin": Option("where all pairs come from, where the file does not say", ("verified", "synthetic")),
    "judge": Option("the judge that approved all pairs of synthetic origin"),
    "flags": Option("both verifier flags are true by the data set's own labels; the round must say verification: dataset_label", ("dataset_label",)),
    "booleans": Option("read verifier flags that are written so as true and false", tuple(_BOOLEANS)),
    "logps": log_probs.OPTION,
    "column.NAME": Option("the file's column for one of ours, such as column.pair_id=prompt_id, or a place inside one, such as logs.n_chosen"),
    **visible.OPTIONS,
    "struct_nulls": Option("nulls inside Arrow structs are absent keys, in tool arguments and parameters too", ("absent",)),
}


def preference_format(
    name: str, title: str, shape: Shape, recognise: Recognise, options: Mapping[str, Option] | None = None, *, doubles: Sequence[str] = (),
    own_system_wins: bool = False, warned: Sequence[str] = (),
) -> Format:
    """A format of preference pairs with the shared options and its own. ``doubles``: keys that its shape takes for number columns of ours.
    ``own_system_wins``: the trainer documents that a system turn stands before a system column. ``warned``: codes that its shape counts
    and that are warnings."""
    def rows(declared: Declared) -> Iterator[RawRow]:
        return _rows(declared, _Common(declared, name, own_system_wins, warned), shape, doubles)

    return Format(name, "pairs", title, rows, recognise, {**(options or {}), **OPTIONS})


def _rows(declared: Declared, common: _Common, shape: Shape, doubles: Sequence[str]) -> Iterator[RawRow]:
    _check_mapping(declared)
    _check_floats(declared, doubles)
    struct_nulls = declared.options.get("struct_nulls") == "absent"
    for row in raw_rows(declared.path, declared.file, declared.notes, struct_nulls=struct_nulls, non_finite=True):
        value = row.value
        if isinstance(value, dict):
            try:
                value = common.completed(shape(common.mapped(value), declared.options, common.counts), row.line)
            except CellFault as fault:
                value = fault
        yield RawRow(row.line, value, row.raw)
    declared.notes.extend(common.notes())


def _mapping(declared: Declared) -> dict[str, str]:
    """Our column -> the file's, as declared."""
    return {name.removeprefix(COLUMN): value for name, value in declared.options.items() if name.startswith(COLUMN)}


def _check_mapping(declared: Declared) -> None:
    """Refuse a mapping to a column that pairs do not have, or from one that no row has."""
    mapped, first = _mapping(declared), first_values(declared.path, declared.file)
    for ours, theirs in mapped.items():
        if ours not in _COLUMNS:
            _refuse(declared.file, f"{COLUMN}{ours}", "unknown_column", f"one of {', '.join(_COLUMNS)}", repr(ours), "map one of our columns")
        _check_average(declared, ours, theirs)
        if all_have(first) and not any(has_place(row, theirs) for row in first):
            known = list(dict.fromkeys(name for row in first for name in row))
            near = nearest(theirs, known)
            _refuse(declared.file, f"{COLUMN}{ours}", "no_such_column", f"one of {', '.join(known)}", repr(theirs),
                    f"did you mean {near!r}?" if near else "name a column of the file")


def _check_average(declared: Declared, ours: str, theirs: str) -> None:
    """Refuse a mapping that takes a column named as an average for a sum: under our name nobody would see it any more."""
    if log_probs.spelling(ours) is not None and log_probs.is_average(theirs):
        _refuse(declared.file, f"{COLUMN}{ours}", "averaged_logps", "a sum over the completion's tokens", f"{theirs!r}, an average by its name",
                "map sums; averages are read under their own names, where logps=averages_times_tokens is declared")


def _check_floats(declared: Declared, doubles: Sequence[str]) -> None:
    """Refuse FLOAT and HALF columns where a double belongs."""
    mapped = _mapping(declared)
    wanted = {*doubles, *(name for name, column in _COLUMNS.items() if column.kind is Kind.DOUBLE)}
    inside = {place: own for own, place in mapped.items() if INSIDE in place}
    members = narrow_members(declared.path, declared.file) if inside else set()
    narrow = [*narrow_floats(declared.path, declared.file), *(place for place in inside if place.rpartition(INSIDE)[-1] in members)]
    for name in narrow:
        ours = next((own for own, theirs in mapped.items() if theirs == name), name)
        if ours in wanted or log_probs.spelling(name) is not None:
            _refuse(declared.file, name, "float_column", "a DOUBLE column", "FLOAT or HALF",
                    "write DOUBLE: a float32 is another number than the one that was measured")


def _refuse(file: str, field: str, code: str, expected: str, got: str, remedy: str) -> NoReturn:
    raise RoundError(code, expected=expected, got=got, remedy=remedy, where=Where(file, field=field))


class _Common:
    """What a row gets besides its shape, by the options of one file."""

    def __init__(self, declared: Declared, format_name: str, own_system_wins: bool, warned: Sequence[str]) -> None:
        self._file, self._options, self._own_system_wins = declared.file, declared.options, own_system_wins
        self._warned = frozenset(warned)
        self._unread = visible.unread_names(declared.options, Where(declared.file))
        self._before = {declared.options[name] for name in (visible.SYSTEM, visible.HISTORY) if name in declared.options}
        self._unseen = set(self._before)
        self._stem = name_parts(declared.file).stem
        self._mapping = _mapping(declared)
        self._ids = IdRule(self._mapping.get("pair_id", "pair_id"), format_name) if "integer_ids" in declared.options else None
        self._first = True
        self._like_ours: dict[str, str] = {}
        self.counts: Counts = Counter()

    def mapped(self, row: Row) -> Row:
        """The row with the columns that the proposer mapped under our names."""
        changed = dict(row)
        self._unseen -= row.keys()
        for ours, theirs in self._mapping.items():
            if not has_place(row, theirs):
                continue
            if ours != theirs and ours in row:
                raise CellFault(theirs, "said_twice", f"one column for {ours}", "two")
            changed.pop(theirs, None)  # gone already where two of our columns come from it; what is inside another column stays there
        changed |= {ours: placed(row, theirs) for ours, theirs in self._mapping.items() if has_place(row, theirs)}
        return changed

    def completed(self, row: Row, line: int) -> Row:
        """The row with its id, origin, flags and log-probs as declared."""
        if self._first:
            self._check_first(row)
            self._first = False
        row = self._with_context(row, Where(self._file, line))
        log_probs.check_declared(row, self._options.get("logps"), Where(self._file, line))
        row = log_probs.renamed(row, self._options.get("logps"))
        self._add_id(row, line)
        self._add(row, "origin", self._options.get("origin"))
        self._add(row, "judge_id", self._options.get("judge"))
        self._like_ours |= {name: ours for name in row if (ours := _like_ours(name)) is not None and ours not in row}
        for name in FLAGS:
            self._add(row, name, True if "flags" in self._options else None)
            self._coerce(row, name)
        return row

    def _with_context(self, row: Row, where: Where) -> Row:
        """The row with what was declared to stand before its prompt; nothing else that a model may have seen is left beside it unsaid."""
        row, overridden = visible.prepended(row, self._options, own_system_wins=self._own_system_wins)
        if overridden:
            self.counts["system_overridden", "pairs have a system turn that says something else than the declared column; the turn stands"] += 1
        for name in visible.check_read(row, self._unread | self._before, where):
            if name in self._unread:
                self.counts["unread_text", f"pairs hold text under {name!r} that is not in their prompt, as declared"] += 1
        return row

    def _check_first(self, row: Row) -> None:
        """What no row could repair is told at the first one that has its shape, all of it at once."""
        lacking = []
        if "pair_id" not in row and "ids" not in self._options:
            lacking.append(("missing_ids", "pair_id", "an id for each pair", "column.pair_id=NAME, or ids=line to number them by line"))
        if "origin" not in row and "origin" not in self._options:
            lacking.append(("missing_origin", "origin", "where the pairs come from", "origin=verified or origin=synthetic (with judge=ID)"))
        if not lacking:
            return
        if "logps" not in self._options and (named := log_probs.undeclared(row)):
            lacking.append(("undeclared_logps", named, f"what {named} holds", log_probs.DECLARE))
        code, field, _, _ = lacking[0]
        expected = "; ".join(words for _, _, words, _ in lacking)
        remedies = "; and ".join(option for *_, option in lacking)
        _refuse(self._file, field, code, expected, "nothing", f"declare {remedies}")

    def _add(self, row: Row, name: str, value: Any) -> None:
        if value is None:
            return
        if name in row:
            raise CellFault(name, "said_twice", f"{name} in the row or declared for the file", "both")
        row[name] = value

    def _add_id(self, row: Row, line: int) -> None:
        if "ids" in self._options:
            self._add(row, "pair_id", f"{self._stem}-{line:0{_DIGITS}d}")
        elif self._ids is not None and "pair_id" in row:
            row["pair_id"] = self._ids.text(row["pair_id"])

    def _coerce(self, row: Row, name: str) -> None:
        written = self._options.get("booleans")
        if written is None or row.get(name) is None or isinstance(row[name], bool):
            return
        values = _BOOLEANS[written]
        value = row[name]
        if not isinstance(value, (int, str)) or value not in values:
            raise CellFault(name, "wrong_type", f"a flag written as {written}", described(value))
        row[name] = values[value]
        self.counts["coerced_flags", f"verifier flags were read as true or false ({written}), as declared"] += 1

    def notes(self) -> list[Note]:
        """What was counted, and what was made of the ids, once all rows are read."""
        found = [] if self._ids is None else self._ids.notes(self._file)
        found += [
            warning("column_like_ours", f"{self._file}: the column {name!r} was not read as {ours}; declare {COLUMN}{ours}={name} if it is that one")
            for name, ours in sorted(self._like_ours.items())
        ]
        if not self._first:
            found += [warning("column_never_seen", f"{self._file}: no row has the declared column {name!r}") for name in sorted(self._unseen)]
        return [*found, *(
            (warning if code in self._warned else Note)(code, f"{self._file}: {count} {text}") for (code, text), count in self.counts.items()
        )]


@lru_cache
def _like_ours(name: str) -> str | None:
    """The column of ours that a name stands for but for case, spaces and hyphens, or as a bundle spells it; None where it is none, or is ours."""
    plain = "_".join(name.strip().lower().replace("-", " ").split())
    ours = _BUNDLE_FLAGS.get(plain, plain)
    return ours if ours in _COLUMNS and name not in _COLUMNS else None
