"""``countersign export``: the admitted pairs of an approved round as a dataset that a trainer loads."""
from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from core.cli import output
from core.cli.acting import seen_ledger
from core.cli.options import DEFAULT_WORKSPACE, JsonOption, RoundArgument, WorkspaceOption
from core.errors import ExportError
from core.export.beside import UNKNOWN_LICENSE, Wanted
from core.export.dataset import Dataset, check_place, export_dataset
from core.export.provenance import Provenance, signed_provenance, unsigned_provenance
from core.export.shape import EXTRAS
from core.export.shapes import SHAPES
from core.export.turns import AS_REVIEWED, SPLITS
from core.grid import load_grid
from core.rounds.workspace import Workspace
from core.settings import SETTINGS
from core.signing.ledger import Ledger
from core.text import count_of

_LICENSE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")
_TITLE: Final[int] = SETTINGS["text"]["label_characters"]
_DEFAULT: Final = next(iter(SHAPES))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(export_command)


def export_command(
    selector: RoundArgument,
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Folder to make; it must not exist yet.")],
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help=f"The trainer's shape: {', '.join(SHAPES)}.")] = _DEFAULT,
    parquet: Annotated[bool, typer.Option("--parquet", help="Write Parquet beside JSON Lines, and let readers take it first.")] = False,
    turns: Annotated[str, typer.Option("--turns", metavar="TURNS", help=f"Where the prompt ends: {', '.join(SPLITS)}.")] = AS_REVIEWED,
    extras: Annotated[list[str] | None, typer.Option("--with", metavar="COLUMN", help=f"Add columns: {', '.join(EXTRAS)}; may be repeated.")] = None,
    license_id: Annotated[str, typer.Option("--license", metavar="ID", help="License of the texts, such as cc-by-4.0.")] = UNKNOWN_LICENSE,
    language: Annotated[list[str] | None, typer.Option("--language", metavar="CODE", help="A language of the texts; may be repeated.")] = None,
    title: Annotated[str | None, typer.Option("--title", help="Title of the dataset card.")] = None,
    unsigned: Annotated[bool, typer.Option("--unsigned", help="Export what the engine admits, approved or not; the card says so.")] = False,
    grid: Annotated[Path | None, typer.Option("--grid", help="With --unsigned: a grid file; otherwise that of the proposal, or the default.")] = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """Write the admitted pairs of an approved round as a dataset folder with card, Croissant, recipe and checksums. The approval is
    verified and the decision computed again first. Exit 3: there is none."""
    wanted = Wanted(
        SHAPES[_one_of(form, tuple(SHAPES), "--format")], parquet, _one_of(turns, tuple(SPLITS), "--turns"),
        tuple(_one_of(name, EXTRAS, "--with") for name in extras or ()), _matching(license_id, _LICENSE, "--license"),
        tuple(_matching(code, _LANGUAGE, "--language") for code in language or ()), _title(title),
    )
    if grid is not None and not unsigned:
        raise typer.BadParameter("--grid goes with --unsigned: a signed export has the grid that was signed")
    place = Workspace.open(workspace)
    # before the minutes that verifying takes; the exporter looks again
    check_place(to)
    _check_outside(place, to)
    with output.progress(quiet=as_json) as progress:
        provenance = _provenance(place, selector, grid, unsigned, progress)
        dataset = export_dataset(provenance, wanted, to, lambda done, total: progress("writing", done, total))
    output.document(dataset.as_dict()) if as_json else _print(dataset)


def _provenance(place: Workspace, selector: str, grid: Path | None, unsigned: bool, progress: Callable[[str, int, int | None], None]) -> Provenance:
    source = place.round(selector)
    if unsigned:
        rules = None if grid is None else load_grid(grid)
        return unsigned_provenance(place, source, rules, lambda done, total: progress("pairs", done, total))
    seen_ledger(Ledger(place.ledger_file))
    return signed_provenance(place, source, datetime.now(UTC))


def _check_outside(place: Workspace, to: Path) -> None:
    """Not among the workspace's own files: a folder beside the rounds would be listed as a broken one, one beside receipts as theirs."""
    kept = (place.rounds_dir, place.assessments_dir, place.ledger_file.parent, place.grids_dir, place.keys_dir, place.prepared_dir, place.tmp_dir)
    parent = to.absolute().parent.resolve()
    for folder in kept:
        if parent.is_relative_to(folder.resolve()):
            raise ExportError("place_is_kept", expected=f"a folder outside {folder.name}, which the workspace keeps its own files in", got=str(to),
                              remedy="choose another place")


def _one_of(value: str, choices: tuple[str, ...], option: str) -> str:
    if value not in choices:
        raise typer.BadParameter(f"{option} {value!r}: choose one of {', '.join(choices)}")
    return value


def _matching(value: str, form: re.Pattern[str], option: str) -> str:
    if form.fullmatch(value) is None:
        raise typer.BadParameter(f"{option} {value!r} is no identifier: letters, digits and - . + alone")
    return value


def _title(title: str | None) -> str | None:
    if title is not None and not (title.strip() and len(title) <= _TITLE):
        raise typer.BadParameter(f"--title: 1 to {_TITLE} characters")
    return title


def _print(dataset: Dataset) -> None:
    facts, provenance = dataset.facts, dataset.facts.provenance
    decision = provenance.decision
    output.line(f"{count_of(facts.rows, 'pair')} for {facts.wanted.shape.trainer} ({facts.wanted.shape.name})", "strong")
    output.facts([
        ("folder", str(dataset.folder)), ("round", f"{provenance.source.manifest.round_id} {provenance.source.digest}"),
        ("receipt", "none: unsigned" if decision is None else decision["receipt_sha256"]),
        ("approved by", ", ".join(item.reviewer for item in provenance.approvals) or "nobody"),
        ("files", ", ".join(dataset.files)),
    ])
    for note in facts.notes():
        output.line(f"note: {note}")
    if not provenance.signed:
        output.line("Unsigned: no person approved these pairs, and the card says so.", "held")
