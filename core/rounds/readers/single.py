"""One foreign file as a round with that one part: the same declaration as in a folder's round.json, made from the command line.

Such a round is incomplete, and its decision says so (a refusal record). It shows what the file holds, and how the pairs fare.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import RoundError, Where
from core.rounds.columns import PART_COLUMNS
from core.rounds.manifest import LATEST_SCHEMA_VERSION, RoundManifest, checked_round_id
from core.rounds.note import Note
from core.rounds.readers.contents import name_parts
from core.rounds.readers.formats import AUTO, detect, format_named
from core.rounds.readers.sources import DATASET_LABEL, FLAGS, known_total, resolved, stream_total, tables_of
from core.rounds.readers.tables import place_of_row
from core.rounds.source import RoundSource, check_person


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """What is declared about a single file. ``format``: a name, or ``auto``; ``proposers``: ids of who proposes the round."""

    format: str
    proposers: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)


def _id_of(file: str) -> str:
    """A round id of the name of its file. Raises RoundError."""
    try:
        return checked_round_id(name_parts(file).stem, Where(file))
    except RoundError as error:
        raise RoundError(error.code, expected=error.expected, got=error.got, remedy="give the round an id of its own (--round-id ID)",
                         where=error.where) from error


def read_file(path: Path, file: str, declared: ForeignFile, *, round_id: str | None, created_at: str) -> RoundSource:
    """The file as a round source. ``file`` is its name, to be shown; the round takes its id from it where none is given. Raises RoundError."""
    chosen = detect(path, file)[0] if declared.format == AUTO else format_named(declared.format, Where(field="--format"))
    if chosen.part not in PART_COLUMNS:
        raise RoundError(
            "part_needs_a_folder", expected="a format of a part that can stand alone", got=f"{chosen.name}, which holds {chosen.part}",
            remedy="put the file into a folder, and declare it in sources of a round.json", where=Where(file),
        )
    for proposer in declared.proposers:
        check_person(proposer, Where(field="--proposer"))
    manifest = RoundManifest.from_proposer({
        "schema_version": LATEST_SCHEMA_VERSION, "round_id": round_id or _id_of(file),
        "proposers": list(declared.proposers), "created_at": created_at,
        "verification": DATASET_LABEL if declared.options.get(FLAGS) == DATASET_LABEL else "program",
        "sources": {chosen.part: [{"file": file, "format": declared.format, "options": dict(declared.options)}]},
    }, created_at=created_at, file=file)
    notes: list[Note] = []
    manifest, opened = resolved(manifest, lambda _: path, notes)
    rows = {part: known_total(found) for part, found in opened.items()}
    sizes = {part: stream_total(found) for part, found in opened.items()}
    return RoundSource(manifest, tables_of(opened), None, place_of_row, rows, sizes, notes)
