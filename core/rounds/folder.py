"""A round on disk, read-only: one immutable folder, named by its digest inside a workspace.

``round.json`` is read and checked when the round is opened; the other files are read when they are asked for, and
``verify_files`` compares each of them with the manifest's digest.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from core.canonical import file_digest, parse_canonical, parse_json, sha256_hex
from core.errors import DigestMismatch, RoundError, Where
from core.rounds.manifest import QUARANTINE_FILE, RoundManifest, is_digest
from core.schemas import BEHAVIOURS, JUDGE_RECORDS, OUTCOMES, PAIRS, QUARANTINE, RATINGS, ROLLOUTS, SANITY, TEXT
from core.settings import SETTINGS

ROUND_FILE: Final = "round.json"
HOLDOUT_FILE: Final = "holdout.json"
PAIRS_FILE: Final = "pairs.parquet"
TEXT_FILE: Final = "text.parquet"
TABLE_SCHEMAS: Final[dict[str, pa.Schema]] = {
    "judge_records": JUDGE_RECORDS, "outcomes": OUTCOMES, "sanity": SANITY, "ratings": RATINGS, "behaviours": BEHAVIOURS,
    "rollouts": ROLLOUTS, "quarantine": QUARANTINE,
}
"""Parts that are one table each; the pairs are two (PAIRS and TEXT)."""

FileProgress = Callable[[int, int], None]
"""Called with (files done, files in all)."""


@dataclass(frozen=True)
class Round:
    """An opened round. ``digest`` is the SHA-256 of round.json's bytes."""

    path: Path
    manifest: RoundManifest
    digest: str

    @classmethod
    def open(cls, path: Path, *, digest: str | None = None) -> Round:
        """Open a round folder. ``digest``: the one it must have; a folder whose name is a digest must have that one.

        Raises RoundError when there is no readable round.json, DigestMismatch when its digest is another one.
        """
        file = path / ROUND_FILE
        try:
            data = file.read_bytes()
        except OSError as problem:
            raise RoundError(
                "no_round", expected="a round folder with a readable round.json", got=problem.strerror or "an unreadable file",
                remedy="name an ingested round", where=Where(str(path)),
            ) from problem
        found = sha256_hex(data)
        for wanted in (digest, path.name if is_digest(path.name) else None):
            if wanted is not None and wanted != found:
                raise _differs(ROUND_FILE, wanted, found)
        return cls(path, RoundManifest.from_document(parse_canonical(data, where=Where(ROUND_FILE))), found)

    def has(self, part: str) -> bool:
        """Whether the proposer supplied this part (it may be empty)."""
        return part in self.manifest.parts

    def table(self, part: str, columns: Sequence[str] | None = None) -> pa.Table:
        """A part that is one table (TABLE_SCHEMAS) whole, or some of its columns; without rows where it was not supplied."""
        schema = TABLE_SCHEMAS[part]
        name = f"{part}.parquet"
        if name in self.manifest.files:
            return self._read(name, schema, columns)
        return schema.empty_table() if columns is None else schema.empty_table().select(list(columns))

    def narrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """PAIRS of core/schemas.py whole (no texts), or some of its columns."""
        if not self.has("pairs"):
            table = PAIRS.empty_table()
            return table if columns is None else table.select(list(columns))
        return self._read(PAIRS_FILE, PAIRS, columns)

    def batches(self, part: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of a part that is one table, streamed in its order as batches of bounded size; nothing where it was not supplied."""
        name = f"{part}.parquet"
        if name in self.manifest.files:
            with self._parquet(name, TABLE_SCHEMAS[part]) as file:
                size = bounded_rows(file.metadata, SETTINGS["storage"]["batch_rows"])
            yield from self._batches(name, TABLE_SCHEMAS[part], size, columns)

    def pair_batches(self, rows: int | None = None) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
        """The pairs streamed as aligned (PAIRS, TEXT) batches of at most ``rows`` rows, in the order of ``ordinal``. Batches
        are smaller where texts are so long that one would pass ``batch_bytes`` (settings)."""
        if not self.has("pairs"):
            return
        with self._parquet(TEXT_FILE, TEXT) as file:
            size = bounded_rows(file.metadata, SETTINGS["storage"]["batch_rows"] if rows is None else rows)
        yield from aligned_batches(self._batches(PAIRS_FILE, PAIRS, size), self._batches(TEXT_FILE, TEXT, size))

    @property
    def pair_count(self) -> int:
        """Pairs that were typed, so everything but quarantine."""
        entry = self.manifest.files.get(PAIRS_FILE)
        return 0 if entry is None else entry.rows

    @property
    def quarantined_count(self) -> int:
        """Pair rows that ingest could not type: ``in = pair_count + quarantined_count``."""
        return self.manifest.files[QUARANTINE_FILE].rows

    @property
    def holdout_digest(self) -> str | None:
        """SHA-256 over the RFC 8785 bytes of the holdout list, or None where there is no holdout."""
        entry = self.manifest.files.get(HOLDOUT_FILE)
        return None if entry is None else entry.sha256

    def holdout_bytes(self) -> bytes:
        """RFC 8785 bytes of the exact list that was handed in. Raises RoundError where there is none, DigestMismatch where it changed."""
        if not self.has("holdout"):
            raise RoundError(
                "part_not_supplied", expected="a round with a holdout", got="none", remedy="supply the part and ingest again",
                where=Where(HOLDOUT_FILE),
            )
        data = self._bytes(HOLDOUT_FILE)
        wanted, found = self.manifest.files[HOLDOUT_FILE].sha256, sha256_hex(data)
        if wanted != found:
            raise _differs(HOLDOUT_FILE, wanted, found)
        return data

    def holdout_items(self) -> list[dict[str, Any]]:
        """The holdout items in their given order; an empty list where the part was not supplied."""
        if not self.has("holdout"):
            return []
        items: list[dict[str, Any]] = parse_json(self.holdout_bytes(), where=Where(HOLDOUT_FILE))
        return items

    def verify_files(self, progress: FileProgress | None = None) -> None:
        """Compare every file with the manifest. Raises DigestMismatch naming the first that differs, is missing or does not belong."""
        names = sorted(self.manifest.files)
        _reject_strangers(self.path, {ROUND_FILE, *names})
        found = sha256_hex(self._bytes(ROUND_FILE))
        if found != self.digest:
            raise _differs(ROUND_FILE, self.digest, found)
        for done, name in enumerate(names, start=1):
            try:
                found = file_digest(self.path / name)
            except OSError as problem:
                raise _unreadable(name, problem) from problem
            if found != self.manifest.files[name].sha256:
                raise _differs(name, self.manifest.files[name].sha256, found)
            if progress is not None:
                progress(done, len(names))

    def _bytes(self, name: str) -> bytes:
        try:
            return (self.path / name).read_bytes()
        except OSError as problem:
            raise _unreadable(name, problem) from problem

    def _read(self, name: str, schema: pa.Schema, columns: Sequence[str] | None = None) -> pa.Table:
        with self._parquet(name, schema) as file:
            try:
                table = file.read(None if columns is None else list(columns))
            except (pa.ArrowException, OSError) as problem:
                raise _unreadable(name, problem) from problem
        return table

    def _parquet(self, name: str, schema: pa.Schema) -> pq.ParquetFile:
        try:
            file = pq.ParquetFile(self.path / name, pre_buffer=False)
        except (pa.ArrowException, OSError) as problem:
            raise _unreadable(name, problem) from problem
        if not file.schema_arrow.equals(schema):
            file.close()
            raise _unreadable(name, None)
        return file

    def _batches(self, name: str, schema: pa.Schema, rows: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        with self._parquet(name, schema) as file:
            try:
                yield from file.iter_batches(batch_size=rows, columns=None if columns is None else list(columns))
            except (pa.ArrowException, OSError) as problem:
                raise _unreadable(name, problem) from problem


def bounded_rows(metadata: pq.FileMetaData, rows: int) -> int:
    """Rows of a batch: at most ``rows``, fewer where rows are so long that a batch would pass ``batch_bytes``."""
    size = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    if not metadata.num_rows or not size:
        return rows
    return int(max(1, min(rows, SETTINGS["storage"]["batch_bytes"] * metadata.num_rows // size)))


def aligned_batches(left: Iterator[pa.RecordBatch], right: Iterator[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Pair up two streams of the same rows whose batches may be cut at different places."""
    one, other = next(left, None), next(right, None)
    while one is not None and other is not None:
        rows = min(one.num_rows, other.num_rows)
        if rows:
            pair = one.slice(0, rows), other.slice(0, rows)
            if not pair[0]["ordinal"].equals(pair[1]["ordinal"]):
                raise _unreadable(TEXT_FILE, None)
            yield pair
        one = one.slice(rows) if one.num_rows > rows else next(left, None)
        other = other.slice(rows) if other.num_rows > rows else next(right, None)
    if one is not None or other is not None:
        raise _unreadable(TEXT_FILE, None)


def _reject_strangers(path: Path, known: set[str]) -> None:
    for entry in sorted(path.iterdir()):
        if entry.name not in known:
            raise DigestMismatch(
                "unexpected_file", expected="only the files of the manifest", got=repr(entry.name),
                remedy="restore the round folder as it was published", where=Where(entry.name),
            )


def _differs(name: str, wanted: str, found: str) -> DigestMismatch:
    return DigestMismatch(
        "file_changed", expected=f"SHA-256 {wanted}", got=found,
        remedy="restore the file as it was published; a round is never edited, a change is a new round", where=Where(name),
    )


def _unreadable(name: str, problem: Exception | None) -> DigestMismatch:
    missing = isinstance(problem, FileNotFoundError)
    return DigestMismatch(
        "file_missing" if missing else "file_unreadable", expected="the file that the manifest lists",
        got="no such file" if missing else "a file that cannot be read as what it was", remedy="restore the round folder as it was published",
        where=Where(name),
    )
