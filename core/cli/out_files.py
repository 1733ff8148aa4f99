"""Files that a command writes for its user: whole or not at all, and never over another file unless told to."""
from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from core.errors import RoundError, Where
from core.files import naming, sync_folder
from core.machine import machine_error
from core.settings import SETTINGS


def refuse_existing(path: Path, *, force: bool) -> None:
    """Say that a file is there before any work is done. Raises RoundError ``file_exists``, ``not_a_file`` for what --force cannot replace."""
    if path.exists() and not path.is_file():
        # a rename would put a file in the place of a device such as /dev/null, for every program of the machine
        got = "a folder" if path.is_dir() else "a device, a pipe or a socket"
        raise RoundError("not_a_file", expected="the name of a file", got=got, remedy="name a file in a folder", where=Where(str(path)))
    if not force and path.exists():
        raise _exists(path)


@contextmanager
def written(path: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """A file to write to; it gets its name when the block ends well, and nothing is left otherwise.

    Raises RoundError ``file_exists`` unless ``force``, ``cannot_write`` where there is no such folder; WorkspaceError where the machine does
    not let it be written (``core.machine``).
    """
    refuse_existing(path, force=force)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as problem:
        raise machine_error(problem) or RoundError(
            "cannot_write", expected="a folder that can be written to", got=problem.strerror or "none", remedy="name a file in an existing folder",
            where=Where(str(path)),
        ) from problem
    temporary = Path(name)
    try:
        with naming(path), os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), SETTINGS["storage"]["shared_file_mode"])
            yield file
            file.flush()
            os.fsync(file.fileno())
        _named(temporary, path, force=force)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def _named(temporary: Path, path: Path, *, force: bool) -> None:
    if force:
        temporary.replace(path)
        return
    try:
        # unlike a rename, a link never takes the place of a file that came in the meantime
        path.hardlink_to(temporary)
    except FileExistsError as problem:
        raise _exists(path) from problem


def _exists(path: Path) -> RoundError:
    return RoundError(
        "file_exists", expected="a file that is not there yet", got="one that is", remedy="name another, or say --force to replace it",
        where=Where(str(path)),
    )
