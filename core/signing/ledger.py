"""The ledger: every registration, proposal and decision, one canonical envelope a line, in the order they were accepted.

Rules, in the order they are applied:

1.  One lock file guards everything; it is never the ledger itself. Reading, deciding and appending happen under it, so
    of two racers the second sees the first's line and is refused with a reason.
2.  Lines are split at the byte ``\\n`` alone. Bytes after the last one are a torn line: a write that was never
    acknowledged. They are reported, count for nothing, and are cut by the next append.
3.  Each statement carries the origin, size and root of the ledger it was written against; that must be a prefix of the
    lines before it. So whoever edits, removes or reorders a line breaks every later statement's claim.
4.  ``head.json`` names the last acknowledged size and root. A ledger shorter than that, or other than that, was tampered
    with. A ledger that is one line longer was killed between two writes: its line is whole, and counts.
5.  An append is one write with O_APPEND, then fsync, then the head file by temporary file, fsync and rename. Only then is
    it acknowledged.

What may be appended is decided by the ``admit`` function handed to :meth:`Ledger.append` (``admission.py``). Local POSIX
file systems only: on a network share neither flock nor rename gives these guarantees.
"""
from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final, NoReturn

from core.canonical import canonical_bytes, parse_canonical
from core.errors import LedgerError, LedgerFormatError, ReceiptError, Where
from core.files import append_line, locked, replace_file
from core.settings import SETTINGS
from core.signing import schema
from core.signing.dsse import Envelope, parse_envelope
from core.signing.merkle import roots
from core.signing.statement import PAYLOAD_TYPE, Statement, parse_statement

NEW_LINE: Final = b"\n"
_read_cached: Final = lru_cache(maxsize=int(SETTINGS["signing"]["cached_lines"]))(lambda line: read_receipt(line))
"""A line's bytes say all there is to know about it, so each is read once a process."""
_HEAD_SCHEMA: Final = schema.record({"origin": schema.text(), "size": schema.integer, "root": schema.digest})


@dataclass(frozen=True, slots=True)
class Head:
    """A ledger as seen at some moment: its name, how many lines, and the Merkle root over them (hex)."""

    origin: str
    size: int
    root: str

    def as_dict(self) -> dict[str, Any]:
        return {"origin": self.origin, "size": self.size, "root": self.root}

    @classmethod
    def from_document(cls, document: Any) -> Head:
        """Raises ReceiptError for another shape."""
        _HEAD_SCHEMA(document, "")
        return cls(**document)


@dataclass(frozen=True)
class LedgerEntry:
    """One line. ``index`` counts from 0; ``statement`` is what its envelope signs."""

    index: int
    envelope: Envelope
    statement: Statement

    @property
    def line(self) -> bytes:
        return self.envelope.encoded

    @property
    def digest(self) -> str:
        """SHA-256 of the envelope."""
        return self.envelope.digest

    @property
    def kind(self) -> str:
        return self.statement.kind


def read_receipt(data: bytes, *, where: Where | None = None) -> tuple[Envelope, Statement]:
    """An envelope and the statement in it, both strictly. Raises ReceiptError."""
    envelope = parse_envelope(data, where=where)
    if envelope.payload_type != PAYLOAD_TYPE:
        schema.refuse("payloadType", PAYLOAD_TYPE, envelope.payload_type)
    return envelope, parse_statement(envelope.payload, where=where)


def _entry(index: int, line: bytes, file: str) -> LedgerEntry:
    try:
        return LedgerEntry(index, *_read_cached(line))
    except ReceiptError as problem:
        field = problem.where.field if problem.where is not None else None
        raise LedgerFormatError(
            "broken_line", expected=problem.expected, got=f"{problem.got} ({problem.code})",
            remedy="restore the ledger from a copy; a line is never edited", where=Where(file, index + 1, field),
        ) from problem


def _broken(code: str, expected: str, got: str, remedy: str) -> NoReturn:
    raise LedgerError(code, expected=expected, got=got, remedy=remedy)


def _bytes(file: Path) -> bytes | None:
    """A file's bytes, or None where there is none. Raises LedgerFormatError for one that cannot be read."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise LedgerFormatError(
            "ledger_unreadable", expected="a file that can be read", got=problem.strerror or "an error", remedy="check the path and who may read it",
            where=Where(file.name),
        ) from problem


@dataclass(frozen=True)
class LedgerView:
    """The ledger at one moment. ``torn``: how many bytes stand after the last line feed."""

    origin: str | None
    entries: tuple[LedgerEntry, ...]
    torn: int = 0

    @classmethod
    def from_bytes(cls, data: bytes, *, file: str = "receipts.jsonl", origin: str | None = None) -> LedgerView:
        """Read a ledger file and check its chain (rules 2 and 3). ``origin``: from ``head.json``; else what the first
        statement says. Raises LedgerFormatError naming the line, LedgerError ``chain_broken``."""
        *lines, tail = data.split(NEW_LINE)
        entries = tuple(_entry(index, line, file) for index, line in enumerate(lines))
        if origin is None and entries:
            origin = str(entries[0].statement.predicate["ledger"]["origin"])
        view = cls(origin, entries, len(tail))
        for entry in entries:
            seen = Head.from_document(entry.statement.predicate["ledger"])
            if seen.size > entry.index or not view.extends(seen):
                _broken("chain_broken", f"entry {entry.index} to stand on the lines it was written against (size {seen.size}, root {seen.root})",
                        "other lines before it", "restore the ledger from a copy: a line was edited, removed, added or moved")
        return view

    @property
    def size(self) -> int:
        return len(self.entries)

    @cached_property
    def _roots(self) -> list[str]:
        return roots(entry.line for entry in self.entries)

    @property
    def root(self) -> str:
        return self._roots[self.size]

    @property
    def head(self) -> Head:
        """Head of the lines at hand. A ledger without lines gets a new name each time, and keeps that of its first statement."""
        origin = f"countersign/{secrets.token_hex(SETTINGS['signing']['nonce_bytes'])}" if self.origin is None else self.origin
        return Head(origin, self.size, self.root)

    def extends(self, seen: Head) -> bool:
        """Whether a head seen earlier is a prefix of these lines."""
        return self.origin in (None, seen.origin) and seen.size <= self.size and self._roots[seen.size] == seen.root

    def check_against(self, seen: Head, source: str) -> None:
        """Compare with a head remembered from elsewhere (``source`` names it). Raises LedgerError:
        ``another_ledger``, ``ledger_truncated``, ``ledger_rewritten``."""
        remedy = "restore the ledger from a copy; find out who changed it"
        if seen.origin != self.origin:
            _broken("another_ledger", f"the ledger {seen.origin} that {source} names", str(self.origin), "name the right ledger")
        if seen.size > self.size:
            _broken("ledger_truncated", f"at least the {seen.size} lines that {source} names", f"{self.size} lines", remedy)
        if not self.extends(seen):
            _broken("ledger_rewritten", f"the lines under root {seen.root} that {source} names", f"other lines up to {seen.size}", remedy)

    def find(self, digest: str) -> LedgerEntry | None:
        """The entry whose envelope has this SHA-256, or None."""
        return next((entry for entry in self.entries if entry.digest == digest), None)

    def with_payload(self, payload_digest: str) -> LedgerEntry | None:
        """The entry that signs this payload, or None."""
        return next((entry for entry in self.entries if entry.statement.digest == payload_digest), None)


class Ledger:
    """The ledger file of a workspace, with its lock and head beside it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.head_file = file.with_name("head.json")
        self._lock_file = file.with_name("ledger.lock")

    def exists(self) -> bool:
        return self.file.exists() or self.head_file.exists()

    def read(self) -> LedgerView:
        """The ledger now: chain and head checked. Raises LedgerError, LedgerFormatError. An absent ledger is empty."""
        with locked(self._lock_file, shared=True):
            return self._view()

    def append(self, envelope: Envelope, admit: Callable[[LedgerView], None]) -> LedgerEntry:
        """Append under the lock if ``admit`` returns; what it raises refuses. Returns the acknowledged entry.

        Raises what ``admit`` raises, ReceiptError for an envelope that is no receipt, LedgerError ``ledger_unwritable``."""
        receipt = read_receipt(envelope.encoded)
        with self._exclusive():
            view = self._view()
            admit(view)
            entry = LedgerEntry(view.size, *receipt)
            grown = LedgerView(str(entry.statement.predicate["ledger"]["origin"]), (*view.entries, entry))
            try:
                append_line(self.file, entry.line + NEW_LINE, torn=view.torn)
                self._write_head(grown)
            except OSError as problem:
                raise LedgerError(
                    "ledger_unwritable", expected="a ledger that can be written", got=problem.strerror or str(problem),
                    remedy="check disk and permissions, then see with countersign ledger list whether the line is there",
                ) from problem
            return entry

    def _exclusive(self) -> AbstractContextManager[None]:
        self.file.parent.mkdir(mode=SETTINGS["storage"]["directory_mode"], parents=True, exist_ok=True)
        return locked(self._lock_file)

    def _view(self) -> LedgerView:
        head = self._read_head()  # before the lines: whoever reads without a lock then never sees a head ahead of them
        view = LedgerView.from_bytes(_bytes(self.file) or b"", file=self.file.name, origin=None if head is None else head.origin)
        if head is not None:
            view.check_against(head, self.head_file.name)
        return view

    def _read_head(self) -> Head | None:
        data, where = _bytes(self.head_file), Where(self.head_file.name)
        if data is None:
            return None
        try:
            return Head.from_document(parse_canonical(data, where=where, error=ReceiptError))
        except ReceiptError as problem:
            raise LedgerFormatError(
                "broken_head", expected=problem.expected, got=problem.got, remedy="restore the head file from a copy", where=where,
            ) from problem

    def _write_head(self, view: LedgerView) -> None:
        replace_file(self.head_file, canonical_bytes(view.head.as_dict()))
