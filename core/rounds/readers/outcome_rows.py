"""What the formats of evaluation tools share: one arm a file, one row an item and run, and nothing said twice."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from core.canonical import canonical_digest, sha256_hex
from core.rounds.columns import CellFault
from core.rounds.note import named, warning
from core.rounds.readers.format import Declared, Option
from core.rounds.readers.places import IdPlace, placed
from core.rounds.readers.verdicts import PASS_OPTIONS, VerdictRule
from core.rounds.strict import described
from core.rounds.typing_rows import RawRow

PART: Final = "outcomes"
OPTIONS: Final[Mapping[str, Option]] = {
    "arm": Option("the arm whose outcomes the file holds", ("baseline", "candidate"), required=True),
    **PASS_OPTIONS,
    "prefix": Option("a text before each id, as gsm8k/, where the files of several tasks number their items alike"),
    "slice": Option("where a row names its slice, as doc.subject"),
    "cluster": Option("where a row names the cluster it belongs to"),
}
"""Options that every format of outcomes has."""


def mapped(
    rows: Iterable[RawRow], of_row: Callable[[dict[str, Any]], dict[str, Any] | None], finish: Callable[[], None],
) -> Iterator[RawRow]:
    """Rows through ``of_row``: a CellFault that it raises takes the row's place, and a row for which it returns None is left out. ``finish``
    checks the file as a whole, where no row had a fault: a fault of a row says more."""
    whole = True
    for row in rows:
        value: Any
        try:
            if isinstance(row.value, CellFault):
                raise row.value
            if not isinstance(row.value, dict):
                raise CellFault("", "wrong_type", "one JSON object", described(row.value))
            value = of_row(row.value)
        except CellFault as fault:
            value, whole = fault, False
        if value is not None:
            yield RawRow(row.line, value, row.raw)
    if whole:
        finish()


def digest_of(name: str, asked: Any) -> dict[str, str]:
    """What an item was asked (or its answer), as a digest that is kept with its outcome, so that arms that were asked otherwise are seen: the
    SHA-256 of a text, or of the RFC 8785 bytes of a list. Nothing where there is neither."""
    if isinstance(asked, str):
        return {name: sha256_hex(asked.encode("utf-8"))}
    return {name: canonical_digest(asked)} if isinstance(asked, list) else {}


class Outcomes:
    """Makes the outcomes of one file, and says afterwards what was made of it. ``unit``: what the tool calls a row, in the plural."""

    def __init__(self, declared: Declared, ids: IdPlace, rule: VerdictRule, unit: str = "outcomes") -> None:
        self._declared, self._ids, self._rule, self._unit = declared, ids, rule, unit
        self._prefix: str = declared.options.get("prefix", "")
        self._seen: set[tuple[str, int | None]] = set()
        self._without: list[str] = []

    def outcome(
        self, row: Mapping[str, Any], value: Any, *, run: int | None = None, response: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """One row of the part outcomes. ``value`` is what the scorer wrote, None where there is no verdict. Raises CellFault."""
        name = f"{self._prefix}{self._ids.identifier(row)}"
        if (name, run) in self._seen:
            which = "" if run is None else f" in run {run}"
            raise CellFault(self._ids.place, "duplicate_outcome", "one outcome for each item and run", f"{described(name)} twice{which}")
        self._seen.add((name, run))
        passed = self._rule.verdict(value)
        if passed is None:
            self._without.append(name)
        cells: dict[str, Any] = {"id": name, "arm": self._declared.options["arm"], "passed": passed, "response": response}
        if run is not None:
            cells["run"] = run
        cells |= {column: placed(row, self._declared.options[column]) for column in ("slice", "cluster") if column in self._declared.options}
        return cells | {key: item for key, item in (extra or {}).items() if item is not None}

    def finish(self) -> None:
        """Add the notes of the file."""
        notes, file = self._declared.notes, self._declared.file
        notes += [*self._ids.notes(file), *self._rule.notes()]
        if self._without:
            notes.append(warning("no_verdict", f"{file}: {len(self._without)} {self._unit} have no verdict and stay empty: {named(self._without)}"))
