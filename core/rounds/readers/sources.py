"""Foreign files as a proposer declared them: found in their folder, their formats resolved, their rows typed like any others.

``resolved`` turns a manifest's declaration into what will be read, and a manifest that says so. A part may come out of several files;
it is typed by ``FOREIGN_COLUMNS``, which let a pair lack its token counts and flags (the gates then name what is missing).
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from core.errors import RoundError, Where
from core.rounds.columns import FOREIGN_COLUMNS, RowFault, TypedBatch
from core.rounds.declared import Source
from core.rounds.folder import HOLDOUT_FILE, ROUND_FILE
from core.rounds.manifest import RoundManifest
from core.rounds.note import Note
from core.rounds.readers.columnar import known_rows
from core.rounds.readers.format import Declared, Format
from core.rounds.readers.formats import AUTO, checked_options, detect, format_named
from core.rounds.readers.packed import stream_bytes
from core.rounds.source import ambiguous_number, holdout_items, refuse_link, without_faults
from core.rounds.strict import nearest
from core.rounds.typing_rows import type_rows

DATASET_LABEL: Final = "dataset_label"
FLAGS: Final = "flags"
"""The option of pair formats that takes the verifier flags from the data set's own labels."""
DECLARED: Final = "declared by the proposer"


@dataclass(frozen=True, slots=True)
class Opened:
    """One foreign file that is ready to be read."""

    format: Format
    declared: Declared

    def batches(self) -> Iterator[TypedBatch]:
        """Its typed rows; outside the pairs a row that cannot be typed refuses the whole."""
        file, part = self.declared.file, self.format.part
        if self.format.batches is not None:
            return self.format.batches(self.declared)
        batches = type_rows(file, FOREIGN_COLUMNS[part], self.format.rows(self.declared))
        return batches if part == "pairs" else without_faults(batches, partial(_fault_place, file))


def _fault_place(file: str, fault: RowFault) -> Where:
    return Where(file, fault.line, fault.field or None)


def resolved(manifest: RoundManifest, path_of: Callable[[Source], Path], notes: list[Note]) -> tuple[RoundManifest, dict[str, list[Opened]]]:
    """A manifest whose sources name the formats that are read and why, and the files of each part. Raises RoundError."""
    sources: dict[str, tuple[Source, ...]] = {}
    opened: dict[str, list[Opened]] = {}
    for part, declared in manifest.sources.items():
        found = [_resolved(source, part, path_of(source), notes) for source in declared]
        sources[part], opened[part] = tuple(source for source, _ in found), [item for _, item in found]
    manifest = replace(manifest, sources=sources)
    _check_labels(manifest)
    return manifest, opened


def _resolved(source: Source, part: str, path: Path, notes: list[Note]) -> tuple[Source, Opened]:
    chosen, why = detect(path, source.file, part=part) if source.format == AUTO else (format_named(source.format, Where(ROUND_FILE)), DECLARED)
    if chosen.part != part:
        raise RoundError(
            "wrong_part", expected=f"a format of the part {part}", got=f"{chosen.name}, which holds {chosen.part}",
            remedy=f"declare it under {chosen.part}", where=Where(source.file),
        )
    options = checked_options(chosen, source.options, Where(source.file))
    return Source(source.file, chosen.name, options, why), Opened(chosen, Declared(path, source.file, options, notes))


def _check_labels(manifest: RoundManifest) -> None:
    """Flags out of a data set's labels are no program's verdict, and the round has to say so."""
    labelled = [source.file for found in manifest.sources.values() for source in found if source.options.get(FLAGS) == DATASET_LABEL]
    if labelled and manifest.verification != DATASET_LABEL:
        raise RoundError(
            "verification_differs", expected=f"verification: {DATASET_LABEL}, because {FLAGS}={DATASET_LABEL} is declared for {labelled[0]!r}",
            got=manifest.verification, remedy=f"state verification {DATASET_LABEL}, or leave the option out", where=Where(ROUND_FILE),
        )


def file_in(folder: Path, source: Source) -> Path:
    """The declared file of a folder: a plain file in it, no link to somewhere else. Raises RoundError."""
    path = folder / source.file
    if source.file == ROUND_FILE:
        raise RoundError("wrong_file", expected="a file of rows", got=ROUND_FILE, remedy="name the file that holds the part", where=Where(ROUND_FILE))
    refuse_link(path)
    if not path.is_file():
        near = nearest(source.file, [entry.name for entry in folder.iterdir() if entry.is_file() and entry.name != ROUND_FILE])
        raise RoundError(
            "no_such_file", expected="a file beside round.json", got="none of that name", where=Where(source.file),
            remedy=f"did you mean {near!r}?" if near else "put the file beside round.json",
        )
    with path.open("rb"):
        return path


def rows_of(opened: Sequence[Opened]) -> Iterator[TypedBatch]:
    """The typed rows of a part, file after file. Raises RoundError ``no_rows`` for a file without any: nobody declares one on
    purpose. A format whose rows become several of ours, or none, says itself what it found."""
    for item in opened:
        read = 0
        for batch in item.batches():
            read += batch.read
            yield batch
        if not read and not item.format.spreads:
            raise RoundError(
                "no_rows", expected="at least one row", got="none", remedy="hand over the file that holds the rows, or take this one out",
                where=Where(item.declared.file),
            )


def known_total(opened: Sequence[Opened]) -> int | None:
    """How many rows the files of a part have together, or None where only reading tells."""
    counts = [None if item.format.spreads else known_rows(item.declared.path) for item in opened]
    return None if None in counts else sum(count for count in counts if count is not None)


def stream_total(opened: Sequence[Opened]) -> int | None:
    """How many bytes the files of a part have together, or None where one of them is not read as a stream."""
    sizes = [stream_bytes(item.declared.path) for item in opened]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def holdout_of(opened: Sequence[Opened]) -> list[dict[str, Any]]:
    """The holdout items that foreign files carry. Raises RoundError: what cannot be hashed the same everywhere is refused."""
    if len(opened) > 1:
        raise RoundError(
            "part_given_twice", expected="one file for the holdout", got=f"{len(opened)}", where=Where(HOLDOUT_FILE),
            remedy="put the items into one file, in the order that was locked",
        )
    (item,) = opened
    file = item.declared.file
    rows = list(item.format.rows(item.declared))
    for row in rows:
        ambiguous = ambiguous_number(row.value, "")
        if ambiguous is not None:
            raise RoundError(
                "ambiguous_number", expected="an integer or a string", got="a number written with a point or an exponent",
                remedy="write the number as an integer, or as a string, before locking", where=Where(file, row.line, ambiguous),
            )
    return holdout_items(rows, lambda line: (Where(file, line), ""))


def tables_of(opened: Mapping[str, list[Opened]]) -> dict[str, Callable[[], Iterator[TypedBatch]]]:
    """Part -> its typed rows, for every part but the holdout."""
    return {part: partial(rows_of, found) for part, found in opened.items() if part != "holdout"}
