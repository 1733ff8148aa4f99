"""Several runs of an item to one outcome, where the proposer asks for it by naming a reducer.

Left alone, runs go into the round as they are and the grid's ``outcome_run_reducer`` reduces them. A reducer named here is applied before and
noted. Its rules are the grid's: ``majority`` (a tie is a fail for the candidate and a pass for the baseline), ``all``, ``any``.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from core.rounds.columns import CellFault
from core.rounds.notes import Note
from core.rounds.readers.format import Declared
from core.rounds.strict import described
from core.rounds.typing_rows import RawRow

REDUCERS: Final = ("majority", "all", "any")
_SHARED: Final = ("slice", "cluster")


def reduced(rows: Iterable[RawRow], reducer: str, declared: Declared) -> Iterator[RawRow]:
    """One outcome for each id, at the line of its first run, without responses. An item with a run that has no verdict has none."""
    first: dict[str, RawRow] = {}
    verdicts: dict[str, list[bool | None]] = {}
    for row in rows:
        if isinstance(row.value, CellFault):
            yield row
            continue
        name = row.value["id"]
        kept = first.setdefault(name, row)
        verdicts.setdefault(name, []).append(row.value["passed"])
        for column in _SHARED:
            if row.value.get(column) != kept.value.get(column):
                got = f"{described(kept.value.get(column))} and {described(row.value.get(column))}"
                yield RawRow(row.line, CellFault(column, "runs_differ", f"one {column} for all runs of {name!r}", got), row.raw)
    counts = sorted({len(found) for found in verdicts.values()})
    text = f"{declared.file}: the epochs of each item were reduced by {reducer}, {' or '.join(map(str, counts))} of them; responses were left out"
    declared.notes.append(Note("epochs_reduced", text))
    for name, row in first.items():
        shared: dict[str, Any] = {column: row.value[column] for column in _SHARED if column in row.value}
        passed = _verdict(verdicts[name], reducer, baseline=row.value["arm"] == "baseline")
        yield RawRow(row.line, {"id": name, "arm": row.value["arm"], "passed": passed} | shared, row.raw)


def _verdict(runs: list[bool | None], reducer: str, *, baseline: bool) -> bool | None:
    verdicts = [run for run in runs if run is not None]
    if len(verdicts) < len(runs):
        return None
    if reducer == "all":
        return all(verdicts)
    if reducer == "any":
        return any(verdicts)
    fails = verdicts.count(False)
    passes = len(verdicts) - fails
    return passes > fails or (passes == fails and baseline)
