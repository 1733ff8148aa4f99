"""A dataset folder: the data in a trainer's shape, and beside it what says where it comes from and how to train on it.

==========================  ==============================================================================================
``train.jsonl``             the rows, one a line, in the signed order; ``train.parquet`` too where wanted
``README.md``               the dataset card (Hugging Face), with the digests of receipt, round, grid and list of pairs
``croissant.json``          the same for programs, Croissant 1.1
``training-recipe.json``    beta and alpha in each trainer's spelling; ``training-recipe.md`` in words
``*.prml.yaml``             the grid's holdout rules as preregistrations
``dataset_info.json``       LLaMA-Factory only
``evidence/``               the signed decision and what it stands on, as ``countersign verify`` reads it; not in an unsigned export
``sha256sums``              SHA-256 of every other file
==========================  ==============================================================================================

The folder is written beside its place under another name and renamed when it is whole. Nothing is ever overwritten. The same
decision and the same options give the same bytes.
"""
from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from core.canonical import file_digest
from core.errors import ExportError, Where
from core.export.beside import LINES_FILE, PARQUET_FILE, DataFile, Facts, Wanted
from core.export.card import card
from core.export.columns import NULL, Observed
from core.export.croissant import croissant
from core.export.lookalikes import Lookalikes
from core.export.pairs import ExportPair, admitted_pairs, admitted_ranks
from core.export.preregistration import manifests
from core.export.provenance import Provenance
from core.export.recipe import recipe, recipe_text
from core.export.shape import IDS, REFERENCE_LOGPS, SCORES, Row, row_of
from core.export.tables import RankedLines, line_of, memory_of, write_lines, write_parquet
from core.export.turns import AS_REVIEWED, SPLITS, Unfit
from core.files import sync_folder
from core.settings import SETTINGS
from core.signing.keys import slug

SUMS_FILE, CARD_FILE, EVIDENCE_FOLDER = "sha256sums", "README.md", "evidence"
_STORAGE: Final = SETTINGS["storage"]
_INDENT: Final[int] = SETTINGS["export"]["indent"]

Progress = Callable[[int, int], None]
"""Called with (pairs written, pairs in all)."""


@dataclass(frozen=True)
class Dataset:
    """A dataset as it was written. ``files`` are names relative to ``folder``."""

    folder: Path
    facts: Facts
    files: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        facts, provenance = self.facts, self.facts.provenance
        return {
            "folder": str(self.folder), "format": facts.wanted.shape.name, "turns": facts.wanted.turns, "rows": facts.rows,
            "signed": provenance.signed, "round_digest": provenance.source.digest, "grid_digest": provenance.grid.digest,
            "receipt_sha256": None if provenance.decision is None else provenance.decision["receipt_sha256"],
            "admitted_pairs_sha256": provenance.admitted_sha256, "approved_by": [item.reviewer for item in provenance.approvals],
            "turns_cut": facts.cut, "files": list(self.files), "notes": facts.notes(),
        }


def export_dataset(provenance: Provenance, wanted: Wanted, folder: Path, progress: Progress | None = None) -> Dataset:
    """Write the dataset to ``folder``, which must not exist; its parent must.

    Raises ExportError: ``name_taken``, ``no_pairs``, ``pair_does_not_fit`` (naming the first pair that the shape cannot say),
    ``column_not_possible``, ``cannot_write``; DigestMismatch where the round is not what was signed, or changed meanwhile."""
    _check_wanted(wanted)
    ranks = admitted_ranks(provenance.admitted)
    with _appearing(folder) as place:
        observed, cut = _write_rows(provenance, wanted, ranks, place, progress)
        memory, seen = _write_columns(provenance, wanted, observed, place)
        names = [LINES_FILE, *([PARQUET_FILE] if wanted.parquet else [])]
        files = tuple(DataFile(name, (place / name).stat().st_size, file_digest(place / name)) for name in names)
        facts = Facts(provenance, wanted, observed, files, cut, memory, seen)
        _write_beside(place, facts)
        written = _sums(place)
        provenance.source.verify_files()  # what was read is still what was verified
    return Dataset(folder, facts, written)


def _check_wanted(wanted: Wanted) -> None:
    for extra in wanted.extras:
        if extra not in wanted.shape.extras:
            _refuse_column(f"columns that {wanted.shape.trainer} lets pass in {wanted.shape.name}", extra)
    if REFERENCE_LOGPS in wanted.extras and wanted.turns != AS_REVIEWED:
        _refuse_column(f"the turns that the log-probabilities belong to ({AS_REVIEWED})", f"{REFERENCE_LOGPS} with {wanted.turns}")


def _refuse_column(expected: str, got: str) -> None:
    raise ExportError("column_not_possible", expected=expected, got=got, remedy="leave the column out")


def check_place(folder: Path) -> None:
    """A dataset may be written here. Raises ExportError ``name_taken``, ``no_parent``."""
    if os.path.lexists(folder):
        raise ExportError("name_taken", expected="a folder that does not exist yet", got=str(folder),
                          remedy="choose another one: nothing is overwritten")
    if not folder.parent.is_dir():
        raise ExportError("no_parent", expected="a folder in one that exists", got=str(folder), remedy=f"make {folder.parent} first")


@contextmanager
def _appearing(folder: Path) -> Iterator[Path]:
    """A folder of another name beside ``folder``, renamed to it when the block is through, removed when it is not."""
    check_place(folder)
    place: Path | None = None
    try:
        place = Path(tempfile.mkdtemp(prefix=".export-", dir=folder.parent))
        yield place
        place.chmod(_STORAGE["directory_mode"])
        _flush(place)
        place.rename(folder)
        sync_folder(folder.parent)
    except OSError as problem:
        raise ExportError("cannot_write", expected="a place with room that can be written", got=problem.strerror or str(problem),
                          remedy="choose another place, or make room", where=Where(str(folder))) from problem
    finally:
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)


def _flush(place: Path) -> None:
    """Put every file on the disk before the folder gets its name."""
    for path in sorted(place.rglob("*")):
        if path.is_dir():
            sync_folder(path)
            continue
        path.chmod(_STORAGE["shared_file_mode"])
        with path.open("rb") as handle:
            os.fsync(handle.fileno())
    sync_folder(place)


def _write_rows(
    provenance: Provenance, wanted: Wanted, ranks: Mapping[str, int], place: Path, progress: Progress | None,
) -> tuple[Observed, int]:
    observed, ranked, cut, unfit, done = Observed(), RankedLines(place, len(ranks)), 0, list[tuple[int, str, str]](), 0
    try:
        for pair in admitted_pairs(provenance.source, ranks):
            done += 1
            try:
                split = SPLITS[wanted.turns](pair)
                row = row_of(wanted.shape, split.pair) | _extra_columns(pair, wanted.extras)
            except Unfit as reason:
                unfit.append((pair.rank, pair.pair_id, str(reason)))
                continue
            cut += split.cut
            observed.add(row)
            ranked.add(pair.rank, line_of(row))
            if progress is not None:
                progress(done, len(ranks))
        if unfit:
            _refuse_pairs(unfit, len(ranks), wanted)
        if SCORES in wanted.extras and observed.kinds["score_chosen"] == observed.kinds["score_rejected"] == NULL:
            _refuse_column("pairs with scores", f"{SCORES}, which no pair of this round has")
        if observed.absent:
            observed.fill(wanted.shape.fill)
        columns = {name: wanted.shape.fill.get(name) for name in observed.ordered(wanted.shape.columns)}
        write_lines(place / LINES_FILE, ranked, columns if observed.absent else None)
    finally:
        ranked.close()
    return observed, cut


def _write_columns(provenance: Provenance, wanted: Wanted, observed: Observed, place: Path) -> tuple[int, Lookalikes]:
    """The Parquet file, where one is wanted; returns how much memory the rows take, and which texts readers may mistake."""
    kinds, seen = observed.ordered(wanted.shape.columns), Lookalikes()
    if wanted.parquet:
        return write_parquet(place / PARQUET_FILE, place / LINES_FILE, kinds, provenance.standing, seen), seen
    return memory_of(place / LINES_FILE, kinds, seen), seen


def _extra_columns(pair: ExportPair, extras: tuple[str, ...]) -> Row:
    figures, row = pair.figures or {}, Row()
    if IDS in extras:
        row["pair_id"] = pair.pair_id
    if SCORES in extras:
        row |= {"score_chosen": figures["chosen_score"], "score_rejected": figures["rejected_score"]}
    if REFERENCE_LOGPS in extras:
        row |= {"ref_chosen_logps": figures["ref_logp_chosen"], "ref_rejected_logps": figures["ref_logp_rejected"]}
    return row


def _refuse_pairs(unfit: list[tuple[int, str, str]], total: int, wanted: Wanted) -> None:
    _, name, reason = min(unfit)
    instead = "" if wanted.shape.instead is None else f"--format {wanted.shape.instead} may say it"
    raise ExportError(
        "pair_does_not_fit", expected=f"pairs that {wanted.shape.name} with --turns {wanted.turns} can say",
        got=f"{len(unfit)} of {total} that it cannot, the first of them {name!r}: {reason}",
        remedy=instead or "choose another format, or other turns",
    )


def _write_beside(place: Path, facts: Facts) -> None:
    """Everything but the data and the sums."""
    provenance, shape = facts.provenance, facts.wanted.shape
    document = recipe(provenance, facts.main_file.name, shape.name)
    texts = {
        CARD_FILE: card(facts), "croissant.json": _json(croissant(facts)), "training-recipe.json": _json(document),
        "training-recipe.md": recipe_text(document), **manifests(provenance),
    }
    if shape.beside is not None:
        name = slug(provenance.source.manifest.round_id) + ("" if provenance.signed else "-unsigned")
        texts |= {file: _json(value) for file, value in shape.beside(name, LINES_FILE).items()}
    for name, text in texts.items():
        (place / name).write_bytes(text.encode())
    if provenance.bundle is not None:
        (place / EVIDENCE_FOLDER).mkdir(mode=_STORAGE["directory_mode"])
        for name, data in provenance.bundle.files().items():
            (place / EVIDENCE_FOLDER / name).write_bytes(data)


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, indent=_INDENT, allow_nan=False) + "\n"


def _sums(place: Path) -> tuple[str, ...]:
    """Write ``sha256sums`` over every file; returns all names."""
    names = sorted(path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file())
    lines = "".join(f"{file_digest(place / name)}  {name}\n" for name in names)
    (place / SUMS_FILE).write_bytes(lines.encode())
    return (*names, SUMS_FILE)
