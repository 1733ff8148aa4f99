"""``countersign verify``: check a decision and compute it again, offline, with one's own registry."""
from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from core.cli import output
from core.cli.acting import remember_ledger
from core.cli.options import DEFAULT_WORKSPACE, JsonOption, WorkspaceOption
from core.errors import DigestMismatch, GridError, LedgerFormatError, Where
from core.grid import load_grid
from core.persons.registry import Registry
from core.rounds.folder import ROUND_FILE, Round
from core.rounds.workspace import Workspace
from core.signing.export import read_export
from core.signing.grids import AcceptedGrids
from core.signing.heads import check_remembered
from core.signing.ledger import Ledger, LedgerView
from core.signing.verify import Verification, verify_export

_ELSE: Final = "; otherwise that of the workspace."


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify_command)


def verify_command(
    export: Annotated[Path, typer.Argument(metavar="EXPORT", help="An export: a zip file or a folder.")],
    registry: Annotated[Path | None, typer.Option("--registry", help=f"Your registry{_ELSE}")] = None,
    source: Annotated[str | None, typer.Option("--round", metavar="DIR", help=f"The round's folder{_ELSE}")] = None,
    ledger: Annotated[Path | None, typer.Option("--ledger", help=f"The ledger file, or its folder{_ELSE}")] = None,
    grids: Annotated[Path | None, typer.Option("--grids", help=f"The accepted grids, grids.json{_ELSE}")] = None,
    grid: Annotated[Path | None, typer.Option("--grid", help="The grid itself, unless it is the default or in grids/ beside grids.json.")] = None,
    signature_only: Annotated[
        bool, typer.Option("--signature-only", help="Check signatures alone, without round and ledger. Never exits 0."),
    ] = False,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """Verify a decision. Exit 0: an approval that stands, verified and recomputed. 3: a rejection, an open round, or the
    signature alone. 4 to 7: what is wrong, the first that applies."""
    place = Workspace(workspace)
    given = read_export(export)
    persons = Registry.load(place.registry_file if registry is None else registry)
    if signature_only:
        _finish(verify_export(given, persons, None, None, signature_only=True), as_json=as_json)
        return
    accepted = _grids(place, grids)
    rules = None if grid is None else load_grid(grid)
    opened = _round(place, source, given.decision_statement.predicate["round_digest"])
    view = _ledger(place.ledger_file if ledger is None else ledger)
    check_remembered(view)
    result = verify_export(given, persons, opened, view, accepted, grid=rules)
    remember_ledger(view, None)
    _finish(result, as_json=as_json)


def _grids(place: Workspace, grids: Path | None) -> AcceptedGrids | None:
    if grids is None:
        return AcceptedGrids.of(place) if place.rounds_dir.is_dir() else None
    if not grids.is_file():
        raise GridError("grids_unreadable", expected="a list of accepted grids", got="no such file", remedy="check the path", where=Where(grids.name))
    return AcceptedGrids.load(grids, grids.parent / "grids")


def _round(place: Workspace, source: str | None, digest: str) -> Round | DigestMismatch:
    """The round; one whose folder name or file does not fit its digest is reported in its turn, after the persons."""
    try:
        if source is None:
            return Workspace.open(place.root).round(digest)
        if (Path(source) / ROUND_FILE).is_file() or Path(source).is_dir():
            return Round.open(Path(source))
        return Workspace.open(place.root).round(source)
    except DigestMismatch as problem:
        return problem


def _ledger(path: Path) -> LedgerView:
    file = path / "receipts.jsonl" if path.is_dir() else path
    if not file.is_file():
        raise LedgerFormatError("ledger_unreadable", expected="a ledger file", got="no such file", remedy="check the path", where=Where(file.name))
    return Ledger(file).read()


def _finish(result: Verification, *, as_json: bool) -> None:
    if as_json:
        output.document(result.as_dict())
    else:
        for text in result.lines()[:-1]:
            output.line(text)
        output.line(result.outcome, "strong")
    if result.exit_code:
        raise typer.Exit(result.exit_code)
