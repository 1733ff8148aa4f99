"""Members of a zip file, read into memory one at a time: nothing is unpacked to the disk, and a name is never a path.

What a member unpacks to is counted while it is read; all members together may unpack to no more than any packed file of that
size (``packed`` in the settings). Zstandard members (method 93), which Python's zipfile cannot read, are unpacked here.
"""
from __future__ import annotations

import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, NoReturn

import pyarrow as pa

from core.errors import RoundError, Where
from core.rounds.readers.packed import too_much, unpacked_limit
from core.settings import SETTINGS

_FORMAT: Final = SETTINGS["archive"]
MAX_MEMBERS: Final[int] = _FORMAT["max_members"]
MAX_DIRECTORY_BYTES: Final[int] = _FORMAT["max_directory_bytes"]
MAX_MEMBER_BYTES: Final[int] = SETTINGS["json"]["max_bytes"]
_CHUNK: Final[int] = SETTINGS["storage"]["read_bytes"]
_ENCRYPTED: Final = 1
_ZSTANDARD: Final[int] = _FORMAT["zstandard_method"]
_LOCAL: Final = struct.Struct("<4s22xHH")
"""A member's local header: its signature, then the lengths of its name and of its extra field."""
_LOCAL_SIGNATURE: Final = b"PK\x03\x04"
_END: Final = struct.Struct("<4s8xI")
"""The end record of a zip file: its signature, then the size of the directory (all ones: see the 64-bit record)."""
_END_SIGNATURE: Final = b"PK\x05\x06"
_END64: Final = struct.Struct("<4s36xQ")
_END64_SIGNATURE: Final = b"PK\x06\x06"
_BROKEN: Final = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError, pa.ArrowException, struct.error)


class Archive:
    """An opened zip file. ``names``: its members in the order of its directory."""

    def __init__(self, path: Path, handle: IO[bytes], file: str) -> None:
        self._handle, self._file = handle, file
        self._left = self._limit = unpacked_limit(path.stat().st_size)
        self._check_directory(path.stat().st_size)
        try:
            self._zip = zipfile.ZipFile(handle)
        except _BROKEN as problem:
            self._refuse_broken(problem)
        members = self._zip.infolist()
        if len(members) > MAX_MEMBERS:
            self._refuse("too_many_members", f"at most {MAX_MEMBERS} members", f"{len(members)}", "split the log")
        twice = [name for name, count in Counter(member.filename for member in members).items() if count > 1]
        if twice:
            self._refuse("duplicate_member", "each member once", f"{twice[0]!r} twice", "hand over the log as it was written")
        self._members = {member.filename: member for member in members}
        self.names = tuple(self._members)

    def read(self, name: str) -> bytes:
        """The bytes of a member. Raises RoundError: ``broken_archive``, ``encrypted_member``, ``too_large``, ``unpacks_to_too_much``."""
        member = self._members[name]
        if member.flag_bits & _ENCRYPTED:
            self._refuse("encrypted_member", "members without a password", f"{name!r} is encrypted", "hand over the log unencrypted")
        try:
            with self._stream(member) as stream:
                data = self._taken(stream, name)
        except _BROKEN as problem:
            self._refuse_broken(problem, name)
        if zlib.crc32(data) != member.CRC:
            self._refuse("broken_archive", "members whose checksum is right", f"{name!r} has another", "hand over the whole file")
        return data

    def _taken(self, stream: IO[bytes] | pa.CompressedInputStream, name: str) -> bytes:
        parts: list[bytes] = []
        size = 0
        while data := stream.read(_CHUNK):
            size += len(data)
            self._left -= len(data)
            if size > MAX_MEMBER_BYTES:
                self._refuse("too_large", f"at most {MAX_MEMBER_BYTES} bytes in one member", f"more in {name!r}", "split the log")
            if self._left < 0:
                raise too_much(self._file, self._limit)
            parts.append(data)
        return b"".join(parts)

    def _stream(self, member: zipfile.ZipInfo) -> IO[bytes] | pa.CompressedInputStream:
        if member.compress_type != _ZSTANDARD:
            return self._zip.open(member)
        self._handle.seek(member.header_offset)
        signature, name_length, extra_length = _LOCAL.unpack(self._handle.read(_LOCAL.size))
        if signature != _LOCAL_SIGNATURE:
            raise zipfile.BadZipFile("no local header where the directory says")
        self._handle.seek(name_length + extra_length, 1)
        packed = self._handle.read(min(member.compress_size, SETTINGS["json"]["max_bytes"]))
        return pa.CompressedInputStream(pa.BufferReader(packed), "zstd")

    def _check_directory(self, size: int) -> None:
        """Refuse a directory that would fill the memory before any member is read: zipfile reads it whole."""
        start = max(0, size - _FORMAT["tail_bytes"])
        self._handle.seek(start)
        tail = self._handle.read()
        place = tail.rfind(_END_SIGNATURE)
        if place < 0 or len(tail) - place < _END.size:
            self._refuse("not_zip", "a whole zip file", "a file without the end of one", "check that the file is whole")
        stated = int(_END.unpack_from(tail, place)[1])
        place64 = tail.rfind(_END64_SIGNATURE)
        if 0 <= place64 <= len(tail) - _END64.size:
            stated = max(stated if stated < _FORMAT["no_size"] else 0, int(_END64.unpack_from(tail, place64)[1]))
        if min(stated, size) > MAX_DIRECTORY_BYTES:
            self._refuse("too_many_members", f"a directory of at most {MAX_DIRECTORY_BYTES} bytes", f"{stated}", "split the log")
        self._handle.seek(0)

    def _refuse(self, code: str, expected: str, got: str, remedy: str) -> NoReturn:
        raise RoundError(code, expected=expected, got=got, remedy=remedy, where=Where(self._file))

    def _refuse_broken(self, problem: Exception, name: str | None = None) -> NoReturn:
        place = f"{name!r} cannot be read" if name is not None else "a file that cannot be read as one"
        raise RoundError(
            "broken_archive", expected="a whole zip file", got=f"{place} ({problem})", remedy="check that the file is whole", where=Where(self._file),
        ) from problem


@contextmanager
def opened_archive(path: Path, file: str) -> Iterator[Archive]:
    """A zip file; ``file`` is shown in errors. Raises RoundError: ``not_zip``, ``broken_archive``, ``too_many_members``, ``duplicate_member``."""
    with path.open("rb") as handle:
        yield Archive(path, handle, file)
