"""Writing small files so that a crash leaves the old state or the new one, never half of either. Local POSIX file systems."""
from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from core.settings import SETTINGS

_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_file(path: Path) -> bool:
    """Whether there is a plain file; False as well for a name that no file can have (too long, for one)."""
    try:
        return path.is_file()
    except OSError:
        return False


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Give a write of the block that found no room this path, where the system did not say which one it was."""
    try:
        yield
    except OSError as problem:
        if problem.filename is None and problem.errno in _NO_ROOM:
            problem.filename = str(path)
        raise


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view):]
    os.fsync(descriptor)


def write_new(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Write a file that must not exist yet. ``mode``: exact permissions whatever the umask. Raises FileExistsError, OSError."""
    wanted = SETTINGS["storage"]["file_mode"] if mode is None else mode
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, wanted)
    try:
        with naming(path):
            os.fchmod(descriptor, wanted)
            _write_all(descriptor, data)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    sync_folder(path.parent)


def replace_file(path: Path, data: bytes) -> None:
    """Put ``data`` in the place of a file in one step: temporary file beside it, fsync, rename, fsync of the folder."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with naming(path):
            os.fchmod(descriptor, SETTINGS["storage"]["shared_file_mode"])
            _write_all(descriptor, data)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    sync_folder(path.parent)


def append_line(path: Path, line: bytes, *, torn: int = 0) -> None:
    """Append one whole line (its line feed included) in one write, then fsync. ``torn``: bytes of a cut line at the end of the
    file, which go first. A short write is taken back. Raises OSError; the caller holds the lock."""
    new = not path.exists()
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, SETTINGS["storage"]["shared_file_mode"])
    try:
        whole = os.fstat(descriptor).st_size - torn
        if torn:
            os.ftruncate(descriptor, whole)
        if os.write(descriptor, line) != len(line):
            os.ftruncate(descriptor, whole)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if new:
        sync_folder(path.parent)


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a lock on ``path`` (a file of its own, never the one it guards). The kernel drops it when the process dies.

    ``shared``: for readers. Without a lock file, or where it cannot be opened (a read-only copy), nobody writes: no lock."""
    flags = os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags | (os.O_RDONLY if shared else os.O_RDWR | os.O_CREAT), SETTINGS["storage"]["shared_file_mode"])
    except (FileNotFoundError, PermissionError):
        if not shared:
            raise
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
