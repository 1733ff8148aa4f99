"""What every kind of input is read into before a round is written: a manifest, tables as streams, and the holdout list."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from core.canonical import canonical_bytes
from core.errors import CountersignError, RoundError, Where
from core.persons.identity import canonical_id
from core.rounds.columns import ID_CHARACTERS, CellFault, RowFault, TypedBatch
from core.rounds.manifest import RoundManifest
from core.rounds.note import Note
from core.rounds.strict import described, joined
from core.rounds.typing_rows import RawRow

Item = dict[str, Any]
_REMEDIES: Final = {
    **dict.fromkeys(("missing_option", "several_filters", "undeclared_verdict"), "declare the option"),
    "integer_id": "declare --option integer_ids=text, or write the ids as text",
    "duplicate_row": "declare --option where=PLACE=TEXT if the file holds several of each, or take one of the two out",
}
"""What to do where the fault is one of the declaration, or may be, and not of the row at which it comes to light."""
PlaceOf = Callable[[str, str, str, int], Where]
"""(part, key of the list, file, line) -> where that row stands: the key is the judge id or the origin."""


@dataclass
class RoundSource:
    """One input, read lazily. ``tables`` holds the parts that were supplied; ``holdout`` is None when it was not."""

    manifest: RoundManifest
    tables: Mapping[str, Callable[[], Iterator[TypedBatch]]]
    holdout: list[Item] | None
    place: PlaceOf
    rows: Mapping[str, int | None] = field(default_factory=dict)
    bytes: Mapping[str, int | None] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    @property
    def parts(self) -> set[str]:
        return {*self.tables, *(() if self.holdout is None else ("holdout",))}


def refuse_row(fault: RowFault, where: Where) -> NoReturn:
    """A row that cannot be typed, where one such row refuses the whole."""
    remedy = _REMEDIES.get(fault.code, "correct this row")
    raise RoundError(fault.code, expected=fault.expected, got=fault.got, remedy=f"{remedy}; nothing was written", where=where)


def without_faults(batches: Iterable[TypedBatch], place: Callable[[RowFault], Where]) -> Iterator[TypedBatch]:
    """The batches of a part in which a single bad row refuses the ingest."""
    for batch in batches:
        for fault in batch.faults:
            refuse_row(fault, place(fault))
        yield batch


def refuse_link(path: Path) -> None:
    """Refuse a link: whoever supplies a folder must not choose which other file of this machine becomes part of a round."""
    if path.is_symlink():
        raise RoundError("link", expected="a file in this folder", got="a link", remedy="copy the file here", where=Where(path.name))


def check_person(identifier: str, where: Where) -> None:
    """An id of a person must fit the grammar; here that is bad input (4), as nobody acts yet."""
    try:
        canonical_id(identifier)
    except CountersignError as error:
        raise RoundError(error.code, expected=error.expected, got=error.got, remedy=error.remedy, where=where) from error


def holdout_items(rows: Iterable[RawRow], place: Callable[[int], tuple[Where, str]]) -> list[Item]:
    """The holdout list, checked: objects with a text ``id`` and ``prompt``, ids unique, at least one. ``place(line)`` gives
    where a row stands and the prefix of its fields."""
    items: list[Item] = []
    seen: dict[str, int] = {}
    for row in rows:
        where, prefix = place(row.line)
        _check_item(row, where, prefix)
        identifier = row.value["id"]
        if identifier in seen:
            raise RoundError(
                "duplicate_holdout_id", expected="each id once", got=f"{described(identifier)} in item {seen[identifier]} and item {row.line}",
                remedy="rename or remove one; the list is never shortened here", where=_at(where, joined(prefix, "id")),
            )
        seen[identifier] = row.line
        items.append(row.value)
    if not items:
        where, prefix = place(1)
        raise RoundError(
            "empty_holdout", expected="at least one holdout item", got="an empty list", remedy="hand over the list that was locked",
            where=Where(where.file, field=prefix.partition("[")[0] or None),
        )
    return items


def _at(where: Where, place: str) -> Where:
    return Where(where.file, where.line, place or None)


def _check_item(row: RawRow, where: Where, prefix: str) -> None:
    def refuse(key: str, code: str, expected: str, got: str) -> NoReturn:
        place = _at(where, joined(prefix, key) if key else prefix)
        raise RoundError(code, expected=expected, got=got, remedy="correct this item; nothing was written", where=place)

    if isinstance(row.value, CellFault):
        refuse(row.value.field, row.value.code, row.value.expected, row.value.got)
    if not isinstance(row.value, dict):
        refuse("", "wrong_type", "one JSON object", described(row.value))
    for key in ("id", "prompt"):
        value = row.value.get(key)
        if value is None:
            refuse(key, "missing_field", "text", "null" if key in row.value else "nothing")
        if not isinstance(value, str) or (key == "id" and not 0 < len(value) <= ID_CHARACTERS):
            expected = "text" if key == "prompt" else f"text of 1 to {ID_CHARACTERS} characters"
            refuse(key, "wrong_type", expected, described(value))


def ambiguous_number(value: object, place: str) -> str | None:
    """The place of a number written with a point or an exponent inside ``value``, or None."""
    if isinstance(value, float):
        return place
    if isinstance(value, dict):
        return next((found for key, item in value.items() if (found := ambiguous_number(item, joined(place, key))) is not None), None)
    if isinstance(value, list):
        return next((found for index, item in enumerate(value) if (found := ambiguous_number(item, f"{place}[{index}]")) is not None), None)
    return None


def holdout_bytes(items: list[Item]) -> bytes:
    """RFC 8785 bytes of the holdout list in its given order; their SHA-256 is the holdout digest."""
    return canonical_bytes(items)
