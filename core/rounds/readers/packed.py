"""Files as streams of bytes, unpacked where their name ends in ``.gz`` or ``.zst``, with a limit on what they may unpack to.

A few kilobytes can unpack to terabytes. What a file unpacks to is counted while it is read, and refused beyond
``max_ratio`` times its size on the disk (``free_bytes`` are always allowed) and beyond ``max_bytes`` (settings, ``packed``).
"""
from __future__ import annotations

import gzip
import io
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa

from core.errors import RoundError, Where
from core.rounds.readers.contents import CODECS, CSV, HEAD_BYTES, LINES, name_parts, refuse_other_content
from core.settings import SETTINGS

_LIMITS: Final = SETTINGS["packed"]
_CHUNK: Final[int] = SETTINGS["storage"]["read_bytes"]
_STREAMED: Final = (LINES, CSV)


class Reading:
    """How far files were read: bytes as they lie on the disk, so that packed files count by what they are, and each file once, also one that is
    opened again while it is read."""

    def __init__(self) -> None:
        self._open: dict[IO[bytes], Path] = {}
        self._done: dict[Path, int] = {}

    def opened(self, path: Path, handle: IO[bytes]) -> None:
        self._open[handle] = path

    def closed(self, handle: IO[bytes]) -> None:
        path = self._open.pop(handle)
        # rows that nobody asks for any more are given up by the collector, which may close the file before their generator
        if not handle.closed:
            self._done[path] = max(self._done.get(path, 0), handle.tell())

    @property
    def position(self) -> int:
        """Bytes read so far."""
        seen = dict(self._done)
        for handle, path in self._open.items():
            seen[path] = max(seen.get(path, 0), 0 if handle.closed else handle.tell())
        return sum(seen.values())


_WATCHED: Final[ContextVar[Reading | None]] = ContextVar("watched", default=None)


@contextmanager
def watched() -> Iterator[Reading]:
    """How far the files that are opened inside the block were read. Only what shows progress asks; nothing is decided by it."""
    reading = Reading()
    token = _WATCHED.set(reading)
    try:
        yield reading
    finally:
        _WATCHED.reset(token)


def stream_bytes(path: Path) -> int | None:
    """The size of a file that is read from its beginning to its end, line by line; None for one that is read whole or by its footer."""
    return path.stat().st_size if name_parts(path.name).suffix in _STREAMED else None


def unpacked_limit(packed_bytes: int) -> int:
    """How many bytes a packed file of this size may unpack to."""
    return int(min(_LIMITS["max_bytes"], max(_LIMITS["free_bytes"], packed_bytes * _LIMITS["max_ratio"])))


class _Unpacked(io.RawIOBase):
    """The bytes of a packed file, counted; faults of the packing become RoundError."""

    def __init__(self, inner: Any, file: str, codec: str, limit: int) -> None:
        self._inner, self._file, self._codec, self._limit = inner, file, codec, limit
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._inner.read(len(buffer))
        except (EOFError, OSError, zlib.error, pa.ArrowException) as problem:
            raise RoundError(
                "broken_packing", expected=f"a whole {CODECS[self._codec]} file", got=f"one that cannot be unpacked ({problem})",
                remedy="hand over the whole file; nothing of it was loaded", where=Where(self._file),
            ) from problem
        self._read += len(data)
        if self._read > self._limit:
            raise too_much(self._file, self._limit)
        buffer[:len(data)] = data
        return len(data)


def too_much(file: str, limit: int) -> RoundError:
    """The error for a file that unpacks to more than it may."""
    return RoundError(
        "unpacks_to_too_much", expected=f"at most {limit} bytes when unpacked, for a file of this size", got="more",
        remedy="unpack it yourself and look at it; hand it over unpacked, or in parts", where=Where(file),
    )


@contextmanager
def opened(path: Path, file: str) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked where its name says so. ``file`` is shown in errors. Raises RoundError: ``broken_packing``,
    ``unpacks_to_too_much``, ``other_content``, ``not_a_file``."""
    (_, suffix, codec), reading = name_parts(path.name), _WATCHED.get()
    refuse_no_file(path, file)
    with path.open("rb") as handle:
        if reading is not None:
            reading.opened(path, handle)
        try:
            if codec:
                _check_packed(handle, file, codec)
            with _unpacked(handle, path, file, codec) if codec else nullcontext(handle) as stream:
                # the first bytes of other forms are unpacked here too: their readers could only say that they are no such file
                refuse_other_content(stream.peek(HEAD_BYTES), file, suffix)
                yield stream
        finally:
            if reading is not None:
                reading.closed(handle)


def refuse_no_file(path: Path, file: str) -> None:
    """Refuse a pipe or a device: a file is read more than once (to tell its format, to check it, to take its rows), and what a pipe gave
    once is gone. Raises RoundError ``not_a_file``; a path where nothing is is told by who opens it."""
    if path.exists() and not path.is_file():
        raise RoundError(
            "not_a_file", expected="a file", got="a folder" if path.is_dir() else "a pipe or a device, which can be read once only",
            remedy="write it to a file first, and name that", where=Where(file),
        )


def _check_packed(handle: io.BufferedReader, file: str, codec: str) -> None:
    head = handle.peek(HEAD_BYTES)
    if not head:
        raise RoundError(
            "broken_packing", expected=f"a whole {CODECS[codec]} file", got="an empty file, which not even nothing is packed in",
            remedy="hand over the whole file; nothing of it was loaded", where=Where(file),
        )
    refuse_other_content(head, file, codec)


def _unpacked(handle: IO[bytes], path: Path, file: str, codec: str) -> io.BufferedReader:
    inner = gzip.GzipFile(fileobj=handle) if codec == ".gz" else pa.CompressedInputStream(pa.PythonFile(handle, mode="r"), CODECS[codec])
    return io.BufferedReader(_Unpacked(inner, file, codec, unpacked_limit(path.stat().st_size)), _CHUNK)


@contextmanager
def seekable(path: Path, file: str) -> Iterator[Path | IO[bytes]]:
    """The same for readers that jump about (Parquet, Arrow): the path, or a temporary unpacked copy."""
    if not name_parts(path.name).codec:
        with opened(path, file):
            yield path
        return
    with tempfile.TemporaryFile() as copy:
        with opened(path, file) as stream:
            while data := stream.read(_CHUNK):
                copy.write(data)
        copy.seek(0)
        yield copy


def read_whole(path: Path, file: str) -> bytes:
    """A whole document, refused beyond the size limit of one JSON document before it fills the memory."""
    limit: int = SETTINGS["json"]["max_bytes"]
    size = path.stat().st_size
    with opened(path, file) as stream:
        data = b"" if size > limit else stream.read(limit + 1)
        if size > limit or len(data) > limit:
            raise RoundError(
                "too_large", expected=f"at most {limit} bytes in one JSON document", got=f"{max(size, len(data))} bytes",
                remedy="use JSONL or Parquet tables", where=Where(file),
            )
    return data
