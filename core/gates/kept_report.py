"""Reports on a round that decide nothing, computed once and kept beside it: ``leakage/<round digest>/<report>-<digest of what was asked>/``."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.canonical import canonical_bytes, canonical_digest, parse_canonical
from core.errors import RoundError, Where
from core.grid import Grid
from core.literals import code_digest
from core.rounds.folder import Round
from core.rounds.workspace import Workspace


@dataclass(frozen=True)
class KeptReport:
    """``document`` is what the report's JSON file holds; ``folder`` has that file, and whatever was written beside it."""

    document: Mapping[str, Any]
    folder: Path


@dataclass(frozen=True)
class ReportPlace:
    """Where the answer to one question about a round belongs: ``file`` is its JSON document in ``folder``."""

    workspace: Workspace
    folder: Path
    file: str

    @classmethod
    def of(cls, workspace: Workspace, source: Round, grid: Grid, name: str, file: str, **asked: Any) -> ReportPlace:
        """The place of the report ``name`` under this grid and the running code. ``asked``: what else the answer hangs on."""
        question = {"grid": grid.digest, "code": code_digest(), **asked}
        return cls(workspace, workspace.root / "leakage" / source.digest / f"{name}-{canonical_digest(question)}", file)

    def stored(self) -> Mapping[str, Any] | None:
        """The document where it is stored already, else None; computes nothing."""
        path = self.folder / self.file
        return self._read(path.read_bytes()) if path.is_file() else None

    def kept(self, compute: Callable[[Path], Mapping[str, Any]]) -> Mapping[str, Any]:
        """The stored document; where there is none yet ``compute`` makes it, and may write more files into the folder that it gets."""
        found = self.stored()
        if found is not None:
            return found
        with self.workspace.temporary("leakage-") as scratch:
            data = canonical_bytes(compute(scratch))
            (scratch / self.file).write_bytes(data)
            self.workspace.publish(scratch, self.folder)
        return self._read(data)

    def _read(self, data: bytes) -> Mapping[str, Any]:
        document: Mapping[str, Any] = parse_canonical(data, where=Where(self.file))
        return document


def check_pairs(source: Round) -> None:
    """Raise RoundError ``part_not_supplied`` for a round without pairs."""
    if not source.has("pairs"):
        raise RoundError("part_not_supplied", expected="a round with pairs", got="none", remedy="supply the part and ingest again",
                         where=Where("pairs.parquet"))
