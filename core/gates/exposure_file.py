"""The record of looks: ``exposure.jsonl`` of a workspace, one canonical line for each (round, grid) that was decided on a
holdout, refused or not, in the order in which they were decided.

It is only ever appended to, under a lock of its own, with one write and an fsync; deciding again adds nothing. Lines are split
at the byte ``\\n`` alone; bytes after the last one are a write that was never finished: they count for nothing and are cut by
the next append. Local POSIX file systems only, as for the ledger.
"""
from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from core.canonical import canonical_bytes, parse_canonical
from core.errors import CountersignError, LedgerError, LedgerFormatError, Where
from core.files import append_line, locked
from core.gates.exposure import Look, look_at
from core.grid import Grid
from core.rounds.folder import Round
from core.rounds.manifest import is_digest
from core.rounds.workspace import Workspace
from core.statistics.paired import FlipTable

EXPOSURE_FILE: Final = "exposure.jsonl"
_LOCK_FILE: Final = "exposure.lock"
_NEW_LINE: Final = b"\n"
_TEXTS: Final = ("round_id", "verdict")
_COUNTS: Final = ("both_pass", "regressions", "fixes", "both_fail")
_FIELDS: Final = frozenset({"exposure_version", "round_digest", "grid_digest", "items", "flips", *_TEXTS})


@dataclass(frozen=True, slots=True)
class LookRecord:
    """One line. ``flips``: what was seen on the items; None where the outcomes did not fit the holdout."""

    look: Look
    round_id: str
    verdict: str
    flips: FlipTable | None

    @property
    def line(self) -> bytes:
        """The line's bytes, with its line feed."""
        flips = None if self.flips is None else {name: getattr(self.flips, name) for name in _COUNTS}
        return canonical_bytes({
            "exposure_version": 1, "round_digest": self.look.round_digest, "grid_digest": self.look.grid_digest, "round_id": self.round_id,
            "verdict": self.verdict, "items": list(self.look.items), "flips": flips,
        }) + _NEW_LINE

    @property
    def key(self) -> tuple[str, str]:
        """What is recorded once: the round, and the grid that it was decided under."""
        return self.look.round_digest, self.look.grid_digest


@dataclass(frozen=True)
class LookBook:
    """The record at one moment. ``digests``: SHA-256 of the file's first 0, 1, ... lines, so that an earlier state can be told
    as a prefix; ``torn``: bytes after the last line feed."""

    records: tuple[LookRecord, ...]
    digests: tuple[str, ...]
    torn: int = 0

    @property
    def size(self) -> int:
        return len(self.records)

    @property
    def digest(self) -> str:
        """SHA-256 of the file as it stands, without a torn line."""
        return self.digests[-1]

    def extends(self, lines: int, digest: str) -> bool:
        """Whether a state seen earlier (so many lines, this digest) is how this record begins."""
        return lines <= self.size and self.digests[lines] == digest

    def place_of(self, round_digest: str) -> int | None:
        """Where a round was first decided, counted from 0; None where it was not."""
        return next((place for place, record in enumerate(self.records) if record.look.round_digest == round_digest), None)


def read_looks(workspace: Workspace) -> LookBook:
    """The record now. A file that is not there is empty. Raises LedgerFormatError ``broken_line`` naming the line, LedgerError
    ``exposure_unreadable``."""
    try:
        with locked(workspace.root / _LOCK_FILE, shared=True):
            return _read(workspace.root / EXPOSURE_FILE)
    except OSError as problem:
        raise LedgerError(
            "exposure_unreadable", expected="a record of looks that can be read", got=problem.strerror or "an error",
            remedy="check permissions, or restore the record from a copy", where=Where(EXPOSURE_FILE),
        ) from problem


def record_look(workspace: Workspace, source: Round, grid: Grid, document: Mapping[str, Any]) -> bool:
    """Record that a round was decided on its holdout; True when this call added the line.

    ``document``: the round's assessment under the grid. A round without outcomes shows nothing about the items and is no
    look. Raises LedgerFormatError for a broken record, LedgerError ``exposure_unwritable``.
    """
    if not (source.has("holdout") and source.has("outcomes")):
        return False
    file = workspace.root / EXPOSURE_FILE
    record = _record_of(source, grid, document)
    # most calls find their line there already, and readers need no right to write
    if _recorded(read_looks(workspace), record):
        return False
    try:
        with locked(workspace.root / _LOCK_FILE):
            book = _read(file)
            if _recorded(book, record):
                return False
            append_line(file, record.line, torn=book.torn)
            return True
    except OSError as problem:
        raise LedgerError(
            "exposure_unwritable", expected="a record of looks that can be written", got=problem.strerror or "an error",
            remedy="check disk and permissions: what is seen of a holdout is recorded before it is shown", where=Where(EXPOSURE_FILE),
        ) from problem


def _recorded(book: LookBook, record: LookRecord) -> bool:
    return any(other.key == record.key for other in book.records)


def _record_of(source: Round, grid: Grid, document: Mapping[str, Any]) -> LookRecord:
    outcomes = (document["holdout"] or {}).get("outcomes")
    flips = None if outcomes is None else FlipTable(**{name: outcomes[name] for name in _COUNTS})
    look = look_at(source.holdout_items(), round_digest=source.digest, grid_digest=grid.digest)
    return LookRecord(look, source.manifest.round_id, str(document["verdict"]), flips)


def _read(file: Path) -> LookBook:
    *lines, tail = (file.read_bytes() if file.exists() else b"").split(_NEW_LINE)
    running = hashlib.sha256()
    records, digests = [], [running.hexdigest()]
    for number, line in enumerate(lines, start=1):
        records.append(_parsed(line, number))
        running.update(line + _NEW_LINE)
        digests.append(running.hexdigest())
    return LookBook(tuple(records), tuple(digests), len(tail))


def _parsed(line: bytes, number: int) -> LookRecord:
    where = Where(EXPOSURE_FILE, number)
    try:
        document = parse_canonical(line, where=where)
        known = isinstance(document, dict) and document.keys() == _FIELDS and document["exposure_version"] == 1
        if known and _well_typed(document):
            flips = document["flips"]
            look = Look(document["round_digest"], document["grid_digest"], tuple(document["items"]))
            return LookRecord(look, document["round_id"], document["verdict"], None if flips is None else FlipTable(**flips))
        got = "another document"
    except CountersignError as problem:
        got = f"{problem.got} ({problem.code})"
    raise LedgerFormatError(
        "broken_line", expected="a look that was recorded by this program", got=got,
        remedy="restore the record of looks from a copy; a line is never edited", where=where,
    )


def _well_typed(document: Mapping[str, Any]) -> bool:
    items, flips = document["items"], document["flips"]
    return (
        isinstance(items, list) and all(map(_is_digest, [document["round_digest"], document["grid_digest"], *items]))
        and all(isinstance(document[name], str) for name in _TEXTS)
        and (flips is None or (isinstance(flips, dict) and flips.keys() == set(_COUNTS)))
    )


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and is_digest(value)
