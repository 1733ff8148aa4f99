"""What a foreign format is: how a file of it is recognised, and how its rows become rows with our column names.

A format never types anything. It renames, takes apart and puts together, and leaves every value as it came; the columns
(``core.rounds.columns``) then type the result, so that one description of types holds for every input. What a row lacks
stays absent: no flag, log-prob or id is made up, unless the proposer declared how (``Declared.options``).
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from core.rounds.columns import TypedBatch
from core.rounds.note import Note
from core.rounds.typing_rows import RawRow

COLUMN: Final = "column."
"""Begins an option that maps a column: ``column.pair_id=prompt_id``."""


@dataclass(frozen=True, slots=True)
class Declared:
    """One file as the proposer declared it. ``file`` is its name, to be shown; ``options`` are the format's own."""

    path: Path
    file: str
    options: Mapping[str, Any]
    notes: list[Note] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a format: what it means, for help and errors, and its legal values where they are closed."""

    meaning: str
    choices: tuple[str, ...] = ()
    required: bool = False


@dataclass(frozen=True, slots=True)
class Format:
    """One foreign format.

    ``recognise(first_rows, path)`` gets the values of the first rows of a file and its path, and returns one sentence that says why
    the file is of this format, or None. ``rows(declared)`` yields its rows under the column names of ``part``, each with
    the line it came from (a row that cannot be mapped has a ``CellFault`` as value); it raises RoundError where the file as
    a whole is not what the format says. ``spreads``: whether one row of a file may become several of ours, so that the rows of a file do not
    tell how many will be read. ``batches``: where the rows of a part are typed by the format itself.
    """

    name: str
    part: str
    title: str
    rows: Callable[[Declared], Iterator[RawRow]]
    recognise: Callable[[Sequence[Any], Path], str | None]
    options: Mapping[str, Option] = field(default_factory=dict)
    spreads: bool = False
    batches: Callable[[Declared], Iterator[TypedBatch]] | None = None
