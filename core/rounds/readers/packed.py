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
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import pyarrow as pa

from core.errors import RoundError, Where
from core.settings import SETTINGS

_LIMITS: Final = SETTINGS["packed"]
_CHUNK: Final[int] = SETTINGS["storage"]["read_bytes"]
CODECS: Final = {".gz": "gzip", ".zst": "zstd"}
"""Suffix -> what it is packed with."""


class FileName(NamedTuple):
    """A file's name taken apart: ``train.jsonl.gz`` is ``train``, ``.jsonl`` and ``.gz``; ``codec`` is "" where it is not packed."""

    stem: str
    suffix: str
    codec: str


def name_parts(name: str) -> FileName:
    """The stem, the suffix that says the form, and the suffix that says how it is packed."""
    codec = Path(name).suffix
    inner = name.removesuffix(codec) if codec in CODECS else name
    path = Path(inner)
    return FileName(path.stem, path.suffix, codec if codec in CODECS else "")


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
    ``unpacks_to_too_much``."""
    codec = name_parts(path.name).codec
    with path.open("rb") as handle:
        if not codec:
            yield handle
            return
        inner = gzip.GzipFile(fileobj=handle) if codec == ".gz" else pa.CompressedInputStream(pa.PythonFile(handle, mode="r"), CODECS[codec])
        with io.BufferedReader(_Unpacked(inner, file, codec, unpacked_limit(path.stat().st_size)), _CHUNK) as stream:
            yield stream


@contextmanager
def seekable(path: Path, file: str) -> Iterator[Path | IO[bytes]]:
    """The same for readers that jump about (Parquet, Arrow): the path, or a temporary unpacked copy."""
    if not name_parts(path.name).codec:
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
