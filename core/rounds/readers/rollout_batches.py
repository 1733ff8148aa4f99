"""Graded rollouts as a part of a round: typed batches, streamed, with the rollouts that cannot be used and why.

The plain table (``rollouts.jsonl``) is read like a file that was declared without options. A row that cannot be read at all refuses the
ingest; one whose reward or reply cannot be used is kept with its fault (``core.rounds.readers.rollouts``), so that counts reconcile.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from sys import float_info
from typing import Any, Final

import pyarrow as pa

from core.errors import RoundError, Where
from core.rounds.columns import CellFault, TypedBatch
from core.rounds.note import Note
from core.rounds.readers.containers import raw_rows
from core.rounds.readers.format import Declared, Format
from core.rounds.readers.rollout_columns import NAME, OPTIONS, SPELLINGS
from core.rounds.readers.rollouts import Rollout, rollouts_of
from core.rounds.rollout_faults import PART, REASONS
from core.rounds.typing_rows import RawRow, kept_extra
from core.schemas import ROLLOUTS
from core.settings import SETTINGS

_MADE: Final = ("ordinal", "file", "line")
"""Columns that the writer adds."""
_SCHEMA: Final = pa.schema([field for field in ROLLOUTS if field.name not in _MADE])
_TEXTS: Final = ("prompt", "prompt_messages", "response", "response_messages", "extra")
_STORAGE: Final = SETTINGS["storage"]
_REPLIES: Final = (*SPELLINGS["response"], *SPELLINGS["messages"])
_TASKS: Final = (*SPELLINGS["task"], *SPELLINGS["prompt"], *SPELLINGS["messages"])
_SIDES: Final = ("chosen", "rejected")


def rollout_batches(declared: Declared) -> Iterator[TypedBatch]:
    """The rollouts of a file as batches of bounded size; at least one. Raises RoundError naming file, line and field."""
    notes: list[Note] = []
    batch = _Batch(declared.file)
    for rollout in rollouts_of(raw_rows(declared.path, declared.file, notes), Declared(declared.path, declared.file, declared.options, notes)):
        batch.add(rollout)
        if batch.full:
            yield batch.taken()
    yield batch.taken()
    # the faults are in the part, and are noted from there
    declared.notes.extend(note for note in notes if note.severity != "warning" or note.code not in REASONS)


class _Batch:
    """Rows on their way into a batch."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._clear()

    def _clear(self) -> None:
        self._cells: dict[str, list[Any]] = {name: [] for name in _SCHEMA.names}
        self._lines: list[int] = []
        self._extra_names: set[str] = set()
        self._size = 0

    @property
    def full(self) -> bool:
        return bool(len(self._lines) >= _STORAGE["batch_rows"] or self._size >= _STORAGE["batch_bytes"])

    def add(self, rollout: Rollout) -> None:
        """One rollout."""
        cells = cells_of(rollout, self._file)
        for name, value in cells.items():
            self._cells[name].append(value)
        self._lines.append(rollout.line)
        self._extra_names.update(rollout.extra or ())
        self._size += sum(len(cells[name] or "") for name in _TEXTS)

    def taken(self) -> TypedBatch:
        """The rows since the last call."""
        arrays = [pa.array(self._cells[field.name], field.type) for field in _SCHEMA]
        found = TypedBatch(
            self._file, pa.record_batch(arrays, schema=_SCHEMA), pa.array(self._lines, pa.int64()), extra_names=frozenset(self._extra_names),
        )
        self._clear()
        return found


def cells_of(rollout: Rollout, file: str) -> dict[str, Any]:
    """A rollout as the part holds it. A reward is a double whose shortest decimal is the exact reward."""
    where = Where(file, rollout.line)
    reward = None if rollout.reward is None else float(rollout.reward)
    if reward is not None and Fraction(repr(reward)) != rollout.reward:
        raise RoundError(
            "reward_not_exact", expected="a reward that a double gives back as it was written", where=where,
            got=f"{rollout.reward}, of which a double keeps {reward!r}",
            remedy=f"round the rewards of this file to {float_info.dig} digits: a round keeps doubles, and countersign pairs reads the file as it is",
        )
    try:
        extra = kept_extra(dict(rollout.extra)) if rollout.extra else None
    except CellFault as fault:
        raise RoundError(
            fault.code, expected=fault.expected, got=fault.got, remedy="correct this row; nothing was written",
            where=Where(file, rollout.line, fault.field or None),
        ) from fault
    return {
        "task_id": rollout.task_id, "task_number": rollout.task_number, "rollout": rollout.run, "prompt": rollout.prompt,
        "prompt_messages": rollout.prompt_messages, "response": rollout.response, "response_messages": rollout.response_messages,
        "reward": reward, "fault": rollout.fault, "policy": rollout.policy, "policy_logp": rollout.policy_logp, "ref_logp": rollout.ref_logp,
        "token_count": rollout.token_count, "finish_reason": rollout.finish_reason, "grader": rollout.grader, "source": rollout.source,
        "extra": extra,
    }


def _as_they_came(declared: Declared) -> Iterator[RawRow]:
    return raw_rows(declared.path, declared.file, declared.notes)


def _recognised(values: Sequence[Any], path: Path) -> str | None:
    """Why the rows are graded rollouts: a reply, a reward, a task or a prompt, and no two sides."""
    fits = values and all(
        isinstance(row, dict) and "reward" in row and any(name in row for name in _REPLIES) and any(name in row for name in _TASKS)
        and not any(name in row for name in _SIDES) for row in values
    )
    return "each row has one reply, its reward, and a task or a prompt" if fits else None


FORMAT: Final = Format(
    NAME, PART, "graded rollouts: replies of a policy to tasks, each with its reward", _as_they_came, _recognised, OPTIONS, batches=rollout_batches,
)
