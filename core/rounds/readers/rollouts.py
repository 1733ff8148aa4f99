"""Rollouts with graded rewards: several replies of a policy to each task, each with what a grader gave it.

Pairs are built from rollouts (``core.pairs``); a round may have them as an optional part. Which column is which is declared by option or
recognised by one of the spellings in ``SPELLINGS``; two spellings of one thing in a row are refused until one is declared.

A reward is a JSON number inside the declared range, held as the exact decimal that was written, with all its digits: 0.7 is 7/10, so that
margins are exact (in a table a DOUBLE is the shortest decimal that reads back as it). A boolean is no reward unless its column was declared
as the reward (``reward=strict``), and a note then says that true became 1. What a grader returned as an object, and
ratings on a declared scale: ``rollout_rewards``. A row without a usable reward or reply is kept and says why, so that counts reconcile.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NoReturn

from core.errors import RoundError, Where
from core.rounds.columns import CellFault
from core.rounds.note import Note, warning
from core.rounds.readers.containers import raw_rows
from core.rounds.readers.csv_rows import json_cell
from core.rounds.readers.foreign_ids import IdRule
from core.rounds.readers.format import Declared
from core.rounds.readers.rollout_columns import (
    CELLS,
    CELLS_REMEDY,
    NAME,
    OPTIONS,
    SPELLINGS,
    conversation,
    has_text_cells,
    text_or_none,
    whole,
)
from core.rounds.readers.rollout_rewards import RewardRule
from core.rounds.rollout_faults import REASONS
from core.rounds.strict import described, unknown_remedy
from core.rounds.typing_rows import RawRow
from core.text import count_of

_STATUS_OK: Final = "ok"


@dataclass(frozen=True, slots=True)
class Rollout:
    """One graded reply.

    ``line`` counts from 1. ``task_id`` is None where the row has no task column (pairs are then grouped by prompt). ``run`` numbers the
    replies to a task where the file does. ``prompt`` and ``response`` are texts, with the RFC 8785 text of their messages where they came as
    messages. ``reward`` is the exact decimal, or None where there is none to rely on. ``fault`` is None for a rollout that can be used,
    otherwise a key of ``REASONS``. Log-probs are sums in nats over ``token_count`` tokens. ``extra`` holds the columns that were not
    used, as they came.
    """

    line: int
    task_id: str | None
    run: int | None
    prompt: str | None
    prompt_messages: str | None
    response: str | None
    response_messages: str | None
    reward: Fraction | None
    fault: str | None
    policy: str | None = None
    policy_logp: float | None = None
    ref_logp: float | None = None
    token_count: int | None = None
    finish_reason: str | None = None
    grader: str | None = None
    source: str | None = None
    extra: Mapping[str, Any] | None = None
    task_number: bool = False
    """Whether the file has the task's id as an integer."""


def read_rollouts(declared: Declared) -> Iterator[Rollout]:
    """The rollouts of a file, one by one. Raises RoundError naming file, line and field for a row that cannot be read at all."""
    return rollouts_of(raw_rows(declared.path, declared.file, declared.notes), declared)


def rollouts_of(rows: Iterable[RawRow], declared: Declared) -> Iterator[Rollout]:
    """The rollouts of rows from anywhere; ``declared.notes`` is complete once the last row was taken."""
    reader = _RolloutReader(declared)
    for row in rows:
        yield reader.rollout(row)
    reader.finish()


def _refuse(declared: Declared, line: int | None, fault: CellFault, remedy: str = "correct this row, or leave it out of the file") -> NoReturn:
    raise RoundError(fault.code, expected=fault.expected, got=fault.got, remedy=remedy, where=Where(declared.file, line, fault.field or None))


def _check_options(declared: Declared) -> None:
    for name, value in declared.options.items():
        if name not in OPTIONS:
            _refuse(declared, None, CellFault(name, "unknown_option", f"one of {', '.join(OPTIONS)}", repr(name)), unknown_remedy(name, OPTIONS))
        choices = OPTIONS[name].choices
        if not isinstance(value, str) or not value or (choices and value not in choices):
            expected = " or ".join(choices) if choices else OPTIONS[name].meaning
            _refuse(declared, None, CellFault(name, "bad_option", expected, described(value)), "correct the option")


class _RolloutReader:
    """Turns the rows of one file into rollouts."""

    def __init__(self, declared: Declared) -> None:
        self._declared, self._options = declared, declared.options
        _check_options(declared)
        self._rewards = RewardRule.of(declared)
        self._ids = IdRule(self._options.get("task", "task_id"), NAME)
        self._columns: dict[tuple[str, ...], dict[str, str]] = {}
        self._multiplied = 0
        self._faults: Counter[str] = Counter()

    def rollout(self, row: RawRow) -> Rollout:
        """One row as a rollout."""
        try:
            if isinstance(row.value, CellFault):
                raise row.value
            if not isinstance(row.value, dict):
                raise CellFault("", "wrong_type", "one JSON object", described(row.value))
            return self._read(row.line, row.value)
        except CellFault as fault:
            if fault.code == "wrong_type" and has_text_cells(self._declared):
                _refuse(self._declared, row.line, fault, CELLS_REMEDY)
            _refuse(self._declared, row.line, fault)

    def finish(self) -> None:
        """Say what was made of the rows."""
        notes, file = self._declared.notes, self._declared.file
        notes += self._ids.notes(file)
        rewards = self._rewards
        said = (
            ("boolean_reward", rewards.coerced, f"{self._options.get('reward')} was declared as the reward; true became 1 and false 0 in "
             f"{count_of(rewards.coerced, 'row')}"),
            ("returned_reward", rewards.returned, f"{count_of(rewards.returned, 'reward')} stood inside what the grader returned"),
            ("rated_reward", rewards.rated, f"rewards are ratings on the declared scale {self._options.get('scale')}, made 0 to 1"),
            ("mean_logps", self._multiplied, "log-probs were declared as means and multiplied by token_count in "
             f"{count_of(self._multiplied, 'row')}"),
        )
        notes += [Note(code, f"{file}: {text}") for code, happened, text in said if happened]
        for code, count in sorted(self._faults.items()):
            notes.append(warning(code, f"{file}: {count_of(count, 'rollout')} cannot be used: {REASONS[code]}"))

    def _read(self, line: int, row: dict[str, Any]) -> Rollout:
        names = self._names(row)
        cells = {field: self._cell(field, column, row[column]) for field, column in names.items()}
        prompt, response = conversation(cells, names)
        reward, fault = self._reward(cells, names)
        if response.text is None:
            fault = fault or "missing_response"
        if fault is not None:
            self._faults[fault] += 1
        task = cells.get("task")
        if task is None and prompt.text is None:
            raise CellFault(
                names.get("task", "task_id"), "missing_field", f"a task id or a prompt ({', '.join((*SPELLINGS['task'], *SPELLINGS['prompt']))})",
                f"neither; the row has {', '.join(map(repr, row)) or 'no column'}; declare task=COLUMN or prompt=COLUMN",
            )
        tokens = whole(cells, names, "token_count")
        return Rollout(
            line, None if task is None else self._task(task, names), whole(cells, names, "run"), prompt.text, prompt.messages, response.text,
            response.messages, reward, fault, text_or_none(cells, names, "policy"), self._logp(cells, names, "policy_logp", tokens),
            self._logp(cells, names, "ref_logp", tokens), tokens, text_or_none(cells, names, "finish_reason"),
            text_or_none(cells, names, "grader"), text_or_none(cells, names, "source"),
            {column: value for column, value in row.items() if column not in names.values()}, type(task) is int,
        )

    def _cell(self, field: str, column: str, value: Any) -> Any:
        if "cells" not in self._options or not isinstance(value, str):
            return value
        return None if not value else json_cell(column, value) if field in CELLS else value

    def _task(self, value: Any, names: Mapping[str, str]) -> str:
        if self._options.get("task") is not None and names["task"] == names.get("prompt") and isinstance(value, str) and value:
            return value
        return self._ids.text(value)

    def _names(self, row: dict[str, Any]) -> dict[str, str]:
        """Field -> column, for the columns that a row has."""
        keys = tuple(row)
        found = self._columns.get(keys)
        if found is None:
            found = self._columns[keys] = {field: column for field in SPELLINGS if (column := self._name(field, row)) is not None}
        return found

    def _name(self, field: str, row: dict[str, Any]) -> str | None:
        stated: str | None = self._options.get(field)
        if stated is not None:
            if stated not in row and field in ("task", "prompt", "response", "reward", "messages"):
                raise CellFault(stated, "missing_field", f"the column declared as the {field}",
                                f"none of this name; the row has {', '.join(map(repr, row)) or 'no column'}")
            return stated if stated in row else None
        # a task that is declared to be the prompt leaves the prompt where it is
        taken = {column for name, column in self._options.items() if (name, field) != ("task", "prompt")}
        present = [name for name in SPELLINGS[field] if name in row and name not in taken]
        if len(present) > 1:
            raise CellFault(present[0], "ambiguous_column", f"one column of the {field}", f"{' and '.join(present)}; declare {field}={present[0]}")
        return present[0] if present else None

    def _reward(self, cells: Mapping[str, Any], names: Mapping[str, str]) -> tuple[Fraction | None, str | None]:
        """The exact reward, or None and why not."""
        value, status = cells.get("reward"), cells.get("status")
        if status is not None and status != _STATUS_OK:
            return None, "grader_failed"
        return (None, "missing_reward") if value is None else self._rewards.found(value, names["reward"])

    def _logp(self, cells: Mapping[str, Any], names: Mapping[str, str], field: str, tokens: int | None) -> float | None:
        value = cells.get(field)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise CellFault(names[field], "wrong_type", "a number, or null", described(value))
        if self._options.get("logps") != "mean":
            return float(value)
        if tokens is None:
            raise CellFault(names.get("token_count", "token_count"), "missing_field", "the token count, to make sums of declared means", "nothing")
        self._multiplied += 1
        return float(value) * tokens
