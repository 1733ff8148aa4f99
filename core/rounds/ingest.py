"""Ingest: files in, an immutable round out, or an error and nothing written.

Rules (spec: engine rules 6). A pair row that cannot be typed is quarantined with file, line and field, and the rest goes on;
a bad row anywhere else refuses the ingest, and so does anything in a one-file bundle that cannot be typed. Nothing is
inferred, coerced or dropped. What is typed but not legal (a missing log-prob, NaN out of Parquet, an outcome of an
item that the holdout lacks) is kept for the gates, which decide.
"""
from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Final

import pyarrow as pa

from core.canonical import canonical_bytes, file_digest
from core.errors import RoundError, Where
from core.pairs.cutoff import CutOff
from core.rounds.columns import TypedBatch
from core.rounds.declared_pairing import check_stated
from core.rounds.folder import HOLDOUT_FILE, PAIRS_FILE, ROUND_FILE, TABLE_SCHEMAS, TEXT_FILE, Round
from core.rounds.manifest import QUARANTINE_FILE, FileEntry, RoundManifest, checked_created_at, checked_round_id, utc_text
from core.rounds.note import Note, named
from core.rounds.notes import round_notes
from core.rounds.quarantine import Reason, Reasons, none_usable
from core.rounds.readers import json_list
from core.rounds.readers.bundle import read_bundle
from core.rounds.readers.packed import Reading, refuse_no_file, watched
from core.rounds.readers.single import ForeignFile, read_file
from core.rounds.readers.tables import read_folder
from core.rounds.reading_notes import storable
from core.rounds.repeats import drop_repeated_pairs, merged_behaviours, merged_ratings, merged_records
from core.rounds.roles import RoleWatch
from core.rounds.source import RoundSource, holdout_bytes
from core.rounds.training_cutoff import declared_twice
from core.rounds.workspace import Workspace
from core.rounds.writers import PairsWriter, QuarantineWriter, RolloutsWriter, write_table
from core.schemas import ALL_PARTS
from core.settings import SETTINGS

Progress = Callable[[str, int, int | None], None]
"""Called with (part, rows read, rows in all or None where that is not known before the end); where lines are read whose number nobody
knows, with ("PART, bytes", bytes read, bytes in all)."""

_BUNDLE_SUFFIX: Final = ".json"
_STAGED: Final = "staged"


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did. ``counts``: rows of each supplied part as stored (items, for the holdout); ``quarantined``: pair rows
    that could not be typed, and why (``reasons``); ``already_present``: the same round was in the workspace before."""

    round_id: str
    digest: str
    path: Path
    counts: dict[str, int]
    quarantined: int
    notes: tuple[Note, ...]
    already_present: bool
    reasons: tuple[Reason, ...] = ()

    def document(self) -> dict[str, Any]:
        """The report as JSON members."""
        return {
            "round_id": self.round_id, "round_digest": self.digest, "path": str(self.path), "counts": self.counts,
            "quarantined": self.quarantined, "quarantine_reasons": [reason.document() for reason in self.reasons],
            "notes": [note.document() for note in self.notes], "already_present": self.already_present,
        }


def ingest(
    source: Path, workspace: Workspace, *, round_id: str | None = None, created_at: str | None = None, now: datetime,
    progress: Progress | None = None, foreign: ForeignFile | None = None, keep_unusable: bool = False, cutoff: CutOff | None = None,
) -> IngestReport:
    """Ingest a one-file bundle (``.json``), a folder of tables, or, where ``foreign`` says what it is, one file of a foreign format.

    ``round_id`` and ``created_at`` stand before what the input says; a file without ``round_id`` takes its stem, and
    ``now`` (with its time zone) is the time where none is stated. Pairs of which no row can be typed are refused (``no_usable_row``), unless
    ``keep_unusable`` asks for a round that holds their quarantine. ``cutoff``: the training cut-off, where the input declares none.
    Raises RoundError; nothing is then in ``rounds/``.
    """
    _check_options(round_id, created_at)
    try:
        if foreign is not None:
            _check_file(source)
            found = read_file(source, _label(source.name), foreign, round_id=round_id, created_at=created_at or utc_text(now))
        elif source.is_dir():
            found = read_folder(source, round_id=round_id, created_at=created_at, now=utc_text(now))
        else:
            found = _bundle_source(_bundle_bytes(source), source.name, round_id, created_at, now)
    except OSError as problem:
        raise RoundError(
            "cannot_read", expected="a bundle or a folder of tables that can be read", got=problem.strerror or "an unreadable file",
            remedy="check the path and its permissions", where=Where(str(problem.filename or source)),
        ) from problem
    return _write_round(_with_cutoff(found, cutoff), workspace, progress, keep_unusable=keep_unusable)


def _with_cutoff(source: RoundSource, cutoff: CutOff | None) -> RoundSource:
    stated = source.manifest.cutoff
    if cutoff is None or cutoff == stated:
        return source
    if stated is not None:
        raise declared_twice(stated, cutoff)
    return replace(source, manifest=replace(source.manifest, cutoff=cutoff))


def ingest_bundle_bytes(
    data: bytes, file_label: str, workspace: Workspace, *, round_id: str | None = None, created_at: str | None = None, now: datetime,
    progress: Progress | None = None,
) -> IngestReport:
    """Ingest a bundle from memory, as an upload gives it. ``file_label`` is shown in errors and gives the round id where
    none is named; it never becomes a path. Raises RoundError; nothing is then in ``rounds/``."""
    _check_options(round_id, created_at)
    return _write_round(_bundle_source(data, file_label, round_id, created_at, now), workspace, progress)


def _bundle_source(data: bytes, file_label: str, round_id: str | None, created_at: str | None, now: datetime) -> RoundSource:
    label = _label(file_label)
    name = round_id or checked_round_id(label.removesuffix(_BUNDLE_SUFFIX), Where(label))
    return read_bundle(data, label, round_id=name, created_at=created_at or utc_text(now))


def _check_file(source: Path) -> None:
    """That there is one file to read: its rows are read later, as a stream."""
    if source.is_dir():
        raise RoundError(
            "is_a_folder", expected="one file, where a format is named", got="a folder", where=Where(_label(source.name)),
            remedy="declare the files of a folder in sources of its round.json",
        )
    refuse_no_file(source, _label(source.name))
    with source.open("rb"):
        return


def _bundle_bytes(source: Path) -> bytes:
    label = _label(source.name)
    if source.suffix != _BUNDLE_SUFFIX:
        raise RoundError(
            "unknown_form", expected="a one-file bundle (.json), or a folder of tables with a round.json", got=repr(label),
            remedy="put tables into a folder, one file a part, or name the format of this file (--format)", where=Where(label),
        )
    return json_list.read_bytes(source, label)


@contextmanager
def load_bundle(
    data: bytes, file_label: str, *, round_id: str | None = None, created_at: str | None = None, now: datetime,
) -> Iterator[Round]:
    """A bundle as an opened round in a workspace that is gone afterwards: for the one-file command. Raises RoundError."""
    with tempfile.TemporaryDirectory(prefix="countersign-") as folder:
        workspace = Workspace.open(Path(folder), create=True)
        yield Round.open(ingest_bundle_bytes(data, file_label, workspace, round_id=round_id, created_at=created_at, now=now).path)


def _check_options(round_id: str | None, created_at: str | None) -> None:
    if round_id is not None:
        checked_round_id(round_id, Where(field="--round-id"))
    if created_at is not None:
        checked_created_at(created_at, Where(field="--created-at"))


def _label(name: str) -> str:
    """The last part of a file name, as text that can be shown and stored; it is never opened."""
    last = PureWindowsPath(PurePosixPath(name).name).name.encode("utf-8", "replace").decode("utf-8")
    return last[:SETTINGS["text"]["id_characters"]] or "bundle.json"


def _write_round(source: RoundSource, workspace: Workspace, progress: Progress | None, *, keep_unusable: bool = False) -> IngestReport:
    check_stated(source.manifest.pairing, source.parts, ROUND_FILE)
    with workspace.temporary("ingest-") as folder:
        work = _Work(source, folder, progress or (lambda part, done, total: None))
        rows = work.write_parts()
        reasons = work.reasons.found()
        if reasons and not rows[PAIRS_FILE] and not keep_unusable:
            raise none_usable(reasons)
        parts: tuple[str, ...] = tuple(part for part in ALL_PARTS if part in source.parts)
        files = {name: FileEntry(file_digest(folder / name), count) for name, count in rows.items()}
        remarked = storable(source.notes) if source.manifest.sources else ()
        manifest = replace(source.manifest, parts=parts, files=files, reading_notes=remarked)
        (folder / ROUND_FILE).write_bytes(canonical_bytes(manifest.document()))
        final = workspace.round_path(manifest.digest)
        published = workspace.publish(folder, final)
    opened = Round.open(final, digest=manifest.digest)
    notes = (*(() if remarked else source.notes), *_same_content(workspace, manifest), *round_notes(opened))
    counts = {part: rows[_counted_file(part)] for part in parts}
    return IngestReport(manifest.round_id, manifest.digest, final, counts, rows[QUARANTINE_FILE], notes, not published, reasons)


def _counted_file(part: str) -> str:
    return {"holdout": HOLDOUT_FILE}.get(part, f"{part}.parquet")


def _same_content(workspace: Workspace, manifest: RoundManifest) -> list[Note]:
    """The rounds that differ from this one in nothing but the time: probably the same files ingested again."""
    twins = [
        other.digest[:SETTINGS["display"]["digest_characters"]] for other in workspace.rounds()
        if other.created_at != manifest.created_at and replace(other, created_at=manifest.created_at) == manifest
    ]
    text = f"the same content is there already under another created_at ({', '.join(twins)}); --created-at makes a repeat the same round"
    return [Note("same_content", text, "warning")] if twins else []


class _Work:
    """Writes the parts of one source to a folder and counts rows by file."""

    def __init__(self, source: RoundSource, folder: Path, progress: Progress) -> None:
        self._source, self._folder, self._progress = source, folder, progress
        self._reading = Reading()
        self.reasons = Reasons()

    def write_parts(self) -> dict[str, int]:
        """All files of the round but round.json, with their rows."""
        rows: dict[str, int] = {}
        with QuarantineWriter(self._folder) as quarantine, watched() as self._reading:
            for part in self._source.tables:
                if part == "pairs":
                    rows |= self._pairs(quarantine)
                else:
                    rows[f"{part}.parquet"] = self._rollouts(part) if part == "rollouts" else self._small(part)
            rows[QUARANTINE_FILE] = quarantine.rows
        if self._source.holdout is not None:
            (self._folder / HOLDOUT_FILE).write_bytes(holdout_bytes(self._source.holdout))
            rows[HOLDOUT_FILE] = len(self._source.holdout)
        return rows

    def _batches(self, part: str) -> Iterator[TypedBatch]:
        read, extra = 0, set[str]()
        rows, size, start = self._source.rows.get(part), self._source.bytes.get(part), self._reading.position
        for batch in self._source.tables[part]():
            read += batch.read
            extra |= batch.extra_names
            if rows is None and size:
                self._progress(f"{part}, bytes", min(self._reading.position - start, size), size)
            else:
                self._progress(part, read, rows)
            yield batch
        if extra:
            self._source.notes.append(Note("extra_columns", f"{part}: columns kept in extra and used by no gate: {named(sorted(extra))}"))

    def _pairs(self, quarantine: QuarantineWriter) -> dict[str, int]:
        staged = self._folder / _STAGED
        staged.mkdir()
        roles = RoleWatch(self._source.place)
        with PairsWriter(staged) as writer:
            for batch in self._batches("pairs"):
                writer.write(batch)
                roles.look(batch)
                quarantine.write("pairs", batch.file, batch.faults)
                self.reasons.add(batch.file, batch.faults)
            rows = writer.rows
        self._source.notes += roles.notes()
        dropped = drop_repeated_pairs(staged, self._folder)
        if dropped is None:
            for name in (PAIRS_FILE, TEXT_FILE):
                (staged / name).rename(self._folder / name)
        else:
            repeats, rows = dropped
            for file, fault in repeats:
                quarantine.write("pairs", file, (fault,))
                self.reasons.add(file, (fault,))
            for name in (PAIRS_FILE, TEXT_FILE):
                (staged / name).unlink()
        staged.rmdir()
        return {PAIRS_FILE: rows, TEXT_FILE: rows}

    def _rollouts(self, part: str) -> int:
        with RolloutsWriter(self._folder / f"{part}.parquet") as writer:
            for batch in self._batches(part):
                writer.write(batch)
        return writer.rows

    def _small(self, part: str) -> int:
        batches = list(self._batches(part))
        schema = TABLE_SCHEMAS[part]
        table = pa.Table.from_batches([batch.rows for batch in batches]).select(schema.names).cast(schema)
        # a part may come out of several files, so a row is placed by its number, not by its line
        places = [(batch.file, line) for batch in batches for line in batch.lines.to_pylist()]
        numbers = pa.array(range(len(places)), pa.int64())

        def place(key: str, number: int) -> Where:
            return self._source.place(part, key, *places[number])

        note: Note | None = None
        if part == "judge_records":
            table, note = merged_records(table, numbers, place)
        elif part == "ratings":
            table, note = merged_ratings(table, numbers, lambda number: place("", number))
        elif part == "behaviours":
            table, note = merged_behaviours(table, numbers, lambda number: place("", number))
        elif part == "sanity":
            _reject_repeated_canaries(table["id"], lambda number: place("", number))
        self._source.notes += [] if note is None else [note]
        return write_table(self._folder / f"{part}.parquet", table)


def _reject_repeated_canaries(ids: pa.ChunkedArray, place: Callable[[int], Where]) -> None:
    first: dict[str, int] = {}
    for number, name in enumerate(ids.to_pylist()):
        if name in first:
            raise RoundError(
                "duplicate_sanity_id", expected="each canary once", got=f"{name!r} at {place(first[name])} and at {place(number)}",
                remedy="keep one outcome of each canary", where=place(number),
            )
        first[name] = number
