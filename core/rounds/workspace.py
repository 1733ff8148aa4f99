"""The workspace: one folder that holds rounds, assessments, the ledger and the registry (docs/architecture.md).

Rounds are published whole: written to ``tmp/``, flushed, made read-only, then renamed to their digest. A reader sees a
complete round or none; a process killed in between leaves something in ``tmp/`` only.
"""
from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.errors import CountersignError, RoundError, Where, WorkspaceError
from core.files import naming
from core.rounds.folder import Round
from core.rounds.manifest import RoundManifest, is_digest
from core.settings import SETTINGS

_STORAGE: Final = SETTINGS["storage"]
_SHOWN: Final[int] = SETTINGS["display"]["digest_characters"]
_LOCK: Final = ".lock"
_LISTED: Final[int] = SETTINGS["display"]["page_rows"]


@dataclass(frozen=True, slots=True)
class BrokenRound:
    """A folder in ``rounds/`` that cannot be opened, and why."""

    name: str
    error: CountersignError


@dataclass(frozen=True, slots=True)
class Workspace:
    """The paths of a workspace, and the rounds in it."""

    root: Path

    @classmethod
    def open(cls, root: Path, *, create: bool = False) -> Workspace:
        """The workspace at ``root``. ``create`` makes what is missing; without it a folder that is no workspace raises WorkspaceError."""
        workspace = cls(root)
        if create:
            for folder in (workspace.rounds_dir, workspace.assessments_dir, workspace.ledger_file.parent, workspace.grids_dir,
                           workspace.prepared_dir, workspace.tmp_dir):
                folder.mkdir(mode=_STORAGE["directory_mode"], parents=True, exist_ok=True)
            workspace.keys_dir.mkdir(mode=_STORAGE["private_directory_mode"], exist_ok=True)
        elif not workspace.rounds_dir.is_dir():
            raise WorkspaceError(
                "no_workspace", expected="a workspace folder", got=f"{str(root)!r}, which has no rounds/ in it",
                remedy="ingest a round first (countersign ingest), or name another folder with --workspace",
            )
        return workspace

    @property
    def rounds_dir(self) -> Path:
        return self.root / "rounds"

    @property
    def assessments_dir(self) -> Path:
        return self.root / "assessments"

    @property
    def ledger_file(self) -> Path:
        return self.root / "ledger" / "receipts.jsonl"

    @property
    def registry_file(self) -> Path:
        return self.root / "reviewers.toml"

    @property
    def grids_file(self) -> Path:
        return self.root / "grids.json"

    @property
    def grids_dir(self) -> Path:
        return self.root / "grids"

    @property
    def keys_dir(self) -> Path:
        return self.root / "keys"

    @property
    def prepared_dir(self) -> Path:
        return self.root / "prepared"

    @property
    def tmp_dir(self) -> Path:
        return self.root / "tmp"

    def rounds(self) -> list[RoundManifest]:
        """Manifests of the rounds that can be opened, newest first (``created_at``, then digest)."""
        return self.listing()[0]

    def listing(self) -> tuple[list[RoundManifest], list[BrokenRound]]:
        """Every folder of ``rounds/``: the manifests, newest first, and those that cannot be opened."""
        manifests, broken = [], []
        for path in sorted(self.rounds_dir.iterdir()):
            try:
                manifests.append(Round.open(path, digest=path.name).manifest)
            except CountersignError as error:
                broken.append(BrokenRound(path.name, error))
        manifests.sort(key=lambda manifest: (manifest.created, manifest.digest), reverse=True)
        return manifests, broken

    def round_path(self, digest: str) -> Path:
        """Where the round with this digest is, or would be."""
        if not is_digest(digest):
            raise RoundError("unknown_round", expected="a round digest", got=repr(digest), remedy="see countersign round list")
        return self.rounds_dir / digest

    def round(self, selector: str) -> Round:
        """The round with this digest, unique prefix of a digest, or unique round_id.

        Raises RoundError: ``unknown_round``, or ``ambiguous_round`` naming the candidates; DigestMismatch where it was changed.
        """
        if is_digest(selector) and (self.rounds_dir / selector).is_dir():
            return Round.open(self.rounds_dir / selector, digest=selector)
        names = [path.name for path in sorted(self.rounds_dir.iterdir())]
        prefixed = {name for name in names if selector and name.startswith(selector)}
        titled = {manifest.digest: manifest.created_at for manifest in self.rounds() if manifest.round_id == selector}
        found = sorted(prefixed | set(titled))
        if not found:
            raise RoundError(
                "unknown_round", expected="the digest, a prefix of it, or the id of a round in this workspace", got=repr(selector),
                remedy="see countersign round list", where=Where(str(self.root)),
            )
        if len(found) > 1:
            shown = ", ".join(f"{name[:_SHOWN]}{f' of {titled[name]}' if name in titled else ''}" for name in found[:_LISTED])
            raise RoundError(
                "ambiguous_round", expected="one round", got=f"{len(found)} that match {selector!r}: {shown}", remedy="name one by its digest",
            )
        return Round.open(self.rounds_dir / found[0], digest=found[0])

    @contextmanager
    def temporary(self, prefix: str = "work-") -> Iterator[Path]:
        """A fresh folder in ``tmp/``, on the same file system as the final place; gone at the end unless it was published.

        A lock beside it is held for as long as it is in use, so that the next call can tell a folder that a killed
        process left behind, and removes it.
        """
        self.tmp_dir.mkdir(mode=_STORAGE["directory_mode"], parents=True, exist_ok=True)
        _sweep(self.tmp_dir)
        handle, lock = tempfile.mkstemp(prefix=prefix, suffix=_LOCK, dir=self.tmp_dir)
        folder = Path(lock.removesuffix(_LOCK))
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            folder.mkdir(mode=_STORAGE["private_directory_mode"])
            with naming(self.root):
                yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            Path(lock).unlink(missing_ok=True)
            os.close(handle)

    def publish(self, tmp: Path, final: Path) -> bool:
        """Move a finished folder to its final place: flush, make read-only, rename. The content must follow from the name
        (a digest), so when ``final`` is there already, ``tmp`` is dropped. True when this call put it there."""
        try:
            for path in tmp.iterdir():
                path.chmod(_STORAGE["file_mode"])
                _flush(path)
            tmp.chmod(_STORAGE["directory_mode"])
            _flush(tmp)
            final.parent.mkdir(mode=_STORAGE["directory_mode"], parents=True, exist_ok=True)
            return _renamed(tmp, final)
        finally:
            shutil.rmtree(tmp, ignore_errors=True)


def _renamed(tmp: Path, final: Path) -> bool:
    try:
        tmp.rename(final)
    except OSError:
        # rename refuses a folder that is not empty: somebody else was first, and wrote the same
        if final.is_dir() and any(final.iterdir()):
            return False
        raise
    _flush(final.parent)
    return True


def _sweep(tmp: Path) -> None:
    """Remove what killed processes left: folders whose lock nobody holds."""
    for lock in tmp.glob(f"*{_LOCK}"):
        try:
            handle = os.open(lock, os.O_RDWR)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(tmp / lock.name.removesuffix(_LOCK), ignore_errors=True)
            lock.unlink(missing_ok=True)
        except BlockingIOError:
            continue
        finally:
            os.close(handle)


def _flush(path: Path) -> None:
    """Ask the system to put a file or a folder on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
