"""Which grids may decide in a workspace: ``grids.json``, and the grids themselves under ``grids/<digest>.json``.

A grid decides once somebody accepted it who is not among the proposers of the round at hand: nobody sets the bar for
their own round. The grid that ships with the engine is accepted from the start.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from core.canonical import canonical_bytes, parse_json
from core.errors import DigestMismatch, GridError, GridNotAccepted, IdentityError, ReceiptError, Where
from core.files import locked, replace_file, write_new
from core.grid import Grid, load_grid, shipped_grids
from core.persons.authority import authorised_person
from core.persons.registry import Registry, same_person
from core.rounds.workspace import Workspace
from core.settings import SETTINGS
from core.signing import schema
from core.signing.keys import slug
from core.signing.ledger import Ledger

_SCHEMA: Final = schema.record({
    "grids_version": schema.constant(1),
    "accepted": schema.listed(schema.record({
        "digest": schema.digest, "author": schema.text(), "reason": schema.text(), "accepted_by": schema.listed(schema.text(), empty=False),
    })),
})


@dataclass(frozen=True, slots=True)
class AcceptedGrid:
    """An accepted grid: its digest, who wrote this version and why, and who accepted it."""

    digest: str
    author: str
    reason: str
    accepted_by: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return {"digest": self.digest, "author": self.author, "reason": self.reason, "accepted_by": list(self.accepted_by)}


@dataclass(frozen=True)
class AcceptedGrids:
    """The accepted grids by digest. ``folder``: where the grids themselves are, or None."""

    entries: Mapping[str, AcceptedGrid]
    folder: Path | None = None

    @classmethod
    def load(cls, file: Path, folder: Path | None = None) -> AcceptedGrids:
        """Read ``grids.json``; a file that is not there accepts the default grid alone. Raises GridError."""
        where = Where(file.name)
        try:
            data = file.read_bytes()
        except FileNotFoundError:
            return cls({}, folder)
        except OSError as problem:
            raise GridError(
                "grids_unreadable", expected="a file that can be read", got=problem.strerror or "an error",
                remedy="check the path and who may read it", where=where,
            ) from problem
        document = parse_json(data, where=where, error=GridError)
        try:
            _SCHEMA(document, "")
        except ReceiptError as problem:
            field = problem.where.field if problem.where is not None else None
            raise GridError(
                problem.code, expected=problem.expected, got=problem.got, remedy="write it with countersign grid accept",
                where=Where(file.name, field=field),
            ) from problem
        entries = [AcceptedGrid(item["digest"], item["author"], item["reason"], tuple(item["accepted_by"])) for item in document["accepted"]]
        if len({entry.digest for entry in entries}) != len(entries):
            raise GridError("grid_listed_twice", expected="each grid once", got="one twice", remedy="merge the two entries", where=where)
        return cls({entry.digest: entry for entry in entries}, folder)

    @classmethod
    def of(cls, workspace: Workspace) -> AcceptedGrids:
        """The grids of a workspace."""
        return cls.load(workspace.grids_file, workspace.grids_dir)

    def check(self, digest: str, proposers: Iterable[str], registry: Registry) -> None:
        """Return when this grid may decide a round of these proposers. Raises GridNotAccepted ``grid_not_accepted``."""
        if digest in shipped_grids():
            return
        entry = self.entries.get(digest)
        if entry is None:
            raise GridNotAccepted(
                "grid_not_accepted", expected="a grid that this workspace accepted", got=f"grid {digest}",
                remedy="let somebody other than the proposer accept it: countersign grid accept FILE",
            )
        names = list(proposers)
        if not any(_independent(acceptor, names, registry) for acceptor in entry.accepted_by):
            raise GridNotAccepted(
                "grid_not_accepted", expected="a grid accepted by an enrolled person who does not propose the round",
                got=f"grid {digest}, accepted by {', '.join(entry.accepted_by)} alone",
                remedy="let somebody else accept it: countersign grid accept FILE",
            )

    def grid(self, digest: str) -> Grid:
        """The grid itself. Raises DigestMismatch when it is not at hand or was changed."""
        if digest in shipped_grids():
            return shipped_grids()[digest]
        path = None if self.folder is None else self.folder / f"{digest}.json"
        if path is None or not path.is_file():
            raise DigestMismatch("grid_missing", expected=f"grid {digest}", got="no file of that grid", remedy="hand it over with --grid FILE")
        grid = load_grid(path)
        if grid.digest != digest:
            raise DigestMismatch("grid_changed", expected=f"grid {digest}", got=grid.digest, remedy="restore the file", where=Where(path.name))
        return grid


def _independent(acceptor: str, proposers: Iterable[str], registry: Registry) -> bool:
    try:
        return registry.find(acceptor) is not None and not any(same_person(acceptor, proposer, registry) for proposer in proposers)
    except IdentityError:
        return False


def required_approvals(grid: Grid) -> int:
    """How many distinct persons must approve before a round closes: the grid's key of that name, 1 where its schema has none."""
    return grid.integer("required_approvals") if "required_approvals" in grid.keys else 1


def accept_grid(workspace: Workspace, grid: Grid, accepted_by: str, registry: Registry, *, now: datetime) -> AcceptedGrid:
    """Accept a grid in a workspace, or add an acceptor. Raises IdentityError, GridError ``grid_version_exists``."""
    person = authorised_person(registry, accepted_by, None, at=now, index=Ledger(workspace.ledger_file).read().size)
    workspace.grids_dir.mkdir(mode=SETTINGS["storage"]["directory_mode"], parents=True, exist_ok=True)
    with locked(workspace.root / "grids.lock"):
        accepted = AcceptedGrids.of(workspace)
        _check_version(accepted, grid)
        entry = accepted.entries.get(grid.digest, AcceptedGrid(grid.digest, grid.author, grid.reason, ()))
        if person.id not in entry.accepted_by:
            entry = replace(entry, accepted_by=(*entry.accepted_by, person.id))
        file = workspace.grids_dir / f"{grid.digest}.json"
        if not file.exists():
            write_new(file, grid.canonical)
        entries = {**accepted.entries, grid.digest: entry}
        replace_file(workspace.grids_file, canonical_bytes({"grids_version": 1, "accepted": [item.as_dict() for item in entries.values()]}))
    return entry


def _check_version(accepted: AcceptedGrids, grid: Grid) -> None:
    """A published grid is never edited: one name and version is one digest."""
    for other in (*shipped_grids().values(), *(accepted.grid(digest) for digest in accepted.entries)):
        if (slug(other.name), other.version) == (slug(grid.name), grid.version) and other.digest != grid.digest:
            raise GridError(
                "grid_version_exists", expected=f"a new version number, since {grid.name} version {grid.version} is published with other content",
                got=f"version {grid.version} again", remedy="raise the version, and say who changed it and why", where=Where(field="version"),
            )
