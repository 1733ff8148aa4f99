"""Several runs of an item to one outcome, where the proposer asks for it by naming a reducer.

Left alone, runs go into the round as they are and the grid's ``outcome_run_reducer`` reduces them. A reducer named here is applied before and
noted. Only reducers under which verdicts make a verdict are taken. The grid's: ``majority`` (a tie is a fail for the candidate and a pass for
the baseline), ``all``, ``any``; of Inspect's: ``max`` (the same as any), ``mode`` (more runs one way than the other; a tie has no mode, and
the first to come is no reason, so it is refused) and ``at_least_K``. A mean, a median and ``pass_at_K`` are numbers between a fail and a pass.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NoReturn

from core.errors import RoundError, Where
from core.rounds.columns import CellFault
from core.rounds.note import Note
from core.rounds.readers.format import Declared
from core.rounds.strict import described
from core.rounds.typing_rows import RawRow

REDUCERS: Final = "majority, mode, all, any, max or at_least_K"
_NAMES: Final = ("majority", "mode", "all", "any", "max")
_AT_LEAST: Final = re.compile(r"at_least_([1-9]\d*)")
_NUMBERS: Final = re.compile(r"mean|median|avg|pass_at_\d+")
_SHARED: Final = ("slice", "cluster")
_KEPT: Final = ("prompt_hash", "target_hash")


def named_reducer(declared: Declared) -> str | None:
    """The reducer that is declared, or None. Raises RoundError ``bad_option`` for one that does not make a verdict of verdicts."""
    reducer: str | None = declared.options.get("reducer")
    if reducer is None or reducer in _NAMES or _AT_LEAST.fullmatch(reducer):
        return reducer
    why = ", which makes a number of verdicts, and not a verdict" if _NUMBERS.fullmatch(reducer) else ""
    _refuse(declared, REDUCERS, f"{described(reducer)}{why}", "name one of these, or none: the epochs then stay runs")


def reduced(rows: Iterable[RawRow], reducer: str, declared: Declared) -> Iterator[RawRow]:
    """One outcome for each id, at the line of its first run, without responses. An item with a run that has no verdict has none."""
    first: dict[str, RawRow] = {}
    verdicts: dict[str, list[bool | None]] = {}
    whole = True
    for row in rows:
        if isinstance(row.value, CellFault):
            whole = False
            yield row
            continue
        name = row.value["id"]
        kept = first.setdefault(name, row)
        verdicts.setdefault(name, []).append(row.value["passed"])
        for column in _SHARED:
            if row.value.get(column) != kept.value.get(column):
                got = f"{described(kept.value.get(column))} and {described(row.value.get(column))}"
                yield RawRow(row.line, CellFault(column, "runs_differ", f"one {column} for all runs of {name!r}", got), row.raw)
        for column in _KEPT:
            if row.value.get(column) != kept.value.get(column):
                kept.value.pop(column, None)
    _check_enough(reducer, verdicts, declared)
    if whole and verdicts:
        _note(reducer, verdicts, declared)
    for name, row in first.items():
        yield RawRow(row.line, _reduced(name, row, verdicts[name], reducer), row.raw)


def _reduced(name: str, row: RawRow, runs: list[bool | None], reducer: str) -> Any:
    arm = row.value["arm"]
    passes, fails = runs.count(True), runs.count(False)
    if reducer == "mode" and passes == fails and None not in runs:
        tie = f"{passes} epochs that pass and {fails} that fail"
        return CellFault("reducer", "tied_runs", f"more epochs of {name!r} one way than the other; majority says what a tie is", tie)
    passed = None if None in runs else _verdict(passes, fails, reducer, baseline=arm == "baseline")
    return {"id": name, "arm": arm, "passed": passed} | {column: row.value[column] for column in (*_SHARED, *_KEPT) if column in row.value}


def _verdict(passes: int, fails: int, reducer: str, *, baseline: bool) -> bool:
    if reducer == "all":
        return fails == 0
    if reducer in ("any", "max"):
        return passes > 0
    at_least = _AT_LEAST.fullmatch(reducer)
    if at_least is not None:
        return passes >= int(at_least[1])
    return passes > fails or (passes == fails and baseline)


def _check_enough(reducer: str, verdicts: dict[str, list[bool | None]], declared: Declared) -> None:
    at_least = _AT_LEAST.fullmatch(reducer)
    fewest = min(map(len, verdicts.values()), default=0)
    if at_least is not None and verdicts and int(at_least[1]) > fewest:
        _refuse(declared, f"at_least_K with K up to the epochs of each item, {fewest}", described(reducer), "declare a smaller K")


def _note(reducer: str, verdicts: dict[str, list[bool | None]], declared: Declared) -> None:
    counts = " or ".join(map(str, sorted({len(found) for found in verdicts.values()})))
    samples, without = sum(map(len, verdicts.values())), sum(None in found for found in verdicts.values())
    text = f"{samples} samples became {len(verdicts)} outcomes, one an item, by {reducer} over its {counts} epochs; responses were left out"
    none = f"; {without} outcomes have no verdict, because an epoch has none" if without else ""
    declared.notes.append(Note("epochs_reduced", f"{declared.file}: {text}{none}"))


def _refuse(declared: Declared, expected: str, got: str, remedy: str) -> NoReturn:
    raise RoundError("bad_option", expected=expected, got=got, remedy=remedy, where=Where(declared.file, field="option reducer"))
