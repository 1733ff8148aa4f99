"""Errors of the machine, for whoever runs this: no room, no permission, too many open files. One table, for the command line and the pages.

Nothing here is the fault of the program, and nothing of what was handed in is wrong: the same command succeeds on a machine that lets it.
"""
from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from core.errors import Where, WorkspaceError
from core.text import visible_line


class Trouble(NamedTuple):
    """What an error number of the system means here: a stable ``code``, what was expected, and what to do."""

    code: str
    expected: str
    remedy: str


_OTHER: Final = "--workspace, the output's path, TMPDIR"
_ROOM: Final = f"make room there, or use another place ({_OTHER}: TMPDIR is for what is only passing through)"
_RIGHTS: Final = f"check the permissions of that path and of the folders above it, or name a place of your own ({_OTHER})"
_LOCKED: Final = Trouble("not_permitted", "a path that this user may use", _RIGHTS)
_FILES: Final = Trouble("too_many_open_files", "a machine that lets one more file be opened", "close other programs, or raise the limit (ulimit -n)")
TROUBLES: Final[Mapping[int, Trouble]] = {
    errno.ENOSPC: Trouble("no_space", "room on the disk", _ROOM),
    errno.EDQUOT: Trouble("over_quota", "room in this user's share of the disk", _ROOM),
    errno.EFBIG: Trouble("file_too_large", "a file of this size to be allowed", "raise the limit (ulimit -f), or use a place for larger files"),
    errno.EROFS: Trouble("read_only", "a file system that can be written to", f"name a place that can be ({_OTHER})"),
    errno.EACCES: _LOCKED, errno.EPERM: _LOCKED, errno.EMFILE: _FILES, errno.ENFILE: _FILES,
    errno.EIO: Trouble("disk_error", "a disk that answers", "check the disk and its cable or network, then run this again"),
}
"""By error number of the system."""
_NO_TEMPORARY: Final = re.compile(r"No usable temporary directory found")
_TEMPORARY: Final = Trouble("no_temporary_folder", "a folder for passing files", "make room in one of these, or set TMPDIR to another one")


def machine_error(problem: OSError) -> WorkspaceError | None:
    """What to tell whoever runs this, or None where the machine is not to blame. The file's name is made visible: it may come from a round.

    >>> machine_error(OSError(errno.ENOSPC, "No space left on device", "out.jsonl")).code
    'no_space'
    """
    trouble = _TEMPORARY if _NO_TEMPORARY.search(str(problem.strerror)) else TROUBLES.get(problem.errno or 0)
    if trouble is None:
        return None
    names = [visible_line(os.fsdecode(name)) for name in (problem.filename, problem.filename2) if isinstance(name, (str, bytes, os.PathLike))]
    # the system's own words: a library puts where it met the error into its message
    said = str(problem.strerror) if trouble is _TEMPORARY else os.strerror(problem.errno or 0)
    return WorkspaceError(
        trouble.code, expected=trouble.expected, got=said[:1].lower() + said[1:], remedy=trouble.remedy,
        where=Where(" and ".join(names)) if names else None,
    )
