"""A folder of tables: the proposer's round.json, and one file a part (``pairs.jsonl``, ``holdout.json``, ...).

Every file must be one of these, or one that ``sources`` of the round.json declares; anything else in the folder is refused by name, so
that no part is left out by a typo.
"""
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from core.canonical import parse_json
from core.errors import RoundError, Where
from core.rounds.columns import PART_COLUMNS, RowFault, TypedBatch
from core.rounds.declared import Sources
from core.rounds.folder import ROUND_FILE
from core.rounds.manifest import RoundManifest
from core.rounds.note import Note
from core.rounds.readers import READERS, TableReader, json_list, reader_of
from core.rounds.readers.columnar import known_rows
from core.rounds.readers.contents import name_parts
from core.rounds.readers.format import Declared
from core.rounds.readers.packed import stream_bytes
from core.rounds.readers.rollout_batches import rollout_batches
from core.rounds.readers.sources import file_in, holdout_of, known_total, resolved, stream_total, tables_of
from core.rounds.rollout_faults import PART as ROLLOUTS
from core.rounds.source import RoundSource, check_person, holdout_items, refuse_link, without_faults
from core.rounds.strict import nearest
from core.schemas import ALL_PARTS


def read_folder(folder: Path, *, round_id: str | None, created_at: str | None, now: str) -> RoundSource:
    """A folder of tables as a round source. ``round_id`` and ``created_at`` stand before what its round.json says; ``now``
    stands where neither does. Raises RoundError."""
    notes: list[Note] = []
    manifest = _manifest(folder / ROUND_FILE, round_id, created_at, now)
    for declared in manifest.sources.values():
        for source in declared:
            # first, so that a name that was mistyped is not told as a file that does not belong here
            file_in(folder, source)
    files = _part_files(folder, manifest.sources)
    manifest, foreign = resolved(manifest, partial(file_in, folder), notes)
    holdout = _holdout(folder / files["holdout"], files["holdout"], notes) if "holdout" in files else None
    if "holdout" in foreign:
        holdout = holdout_of(foreign["holdout"])
    if holdout is not None and manifest.holdout_lock is None:
        raise RoundError(
            "missing_lock", expected="the digest that was registered for the holdout", got="nothing",
            remedy="state holdout_lock.sha256; a round with a holdout cannot do without", where=Where(ROUND_FILE, field="holdout_lock"),
        )
    own = {part: partial(_typed, folder / files[part], files[part], part, notes) for part in PART_COLUMNS if part in files}
    tables = own | tables_of(foreign)
    rows = {part: known_rows(folder / files[part]) for part in own} | {part: known_total(found) for part, found in foreign.items()}
    sizes = {part: stream_bytes(folder / files[part]) for part in own} | {part: stream_total(found) for part, found in foreign.items()}
    ordered = {part: tables[part] for part in PART_COLUMNS if part in tables}
    return RoundSource(manifest, ordered, holdout, place_of_row, rows, sizes, notes)


def place_of_row(part: str, key: str, file: str, line: int) -> Where:
    """Where a row of a table stands: its file and line."""
    return Where(file, line)


def _manifest(path: Path, round_id: str | None, created_at: str | None, now: str) -> RoundManifest:
    refuse_link(path)
    if not path.is_file():
        raise RoundError(
            "missing_manifest", expected="a round.json beside the tables", got="none",
            remedy="write round.json with schema_version, round_id and proposers", where=Where(ROUND_FILE),
        )
    document = parse_json(json_list.read_bytes(path, ROUND_FILE), where=Where(ROUND_FILE))
    if isinstance(document, dict):
        document |= {key: value for key, value in (("round_id", round_id), ("created_at", created_at)) if value is not None}
    manifest = RoundManifest.from_proposer(document, created_at=now)
    for position, proposer in enumerate(manifest.proposers):
        check_person(proposer, Where(ROUND_FILE, field=f"proposers[{position}]"))
    if manifest.reviewer is not None:
        check_person(manifest.reviewer, Where(ROUND_FILE, field="reviewer"))
    return manifest


def _part_files(folder: Path, sources: Sources) -> dict[str, str]:
    """Part -> file name, for the files of a folder that are no declared foreign files."""
    found: dict[str, str] = {}
    declared = {source.file for part in sources.values() for source in part}
    for path in sorted(folder.iterdir()):
        if path.name == ROUND_FILE or path.name in declared:
            continue
        refuse_link(path)
        part, reader = name_parts(path.name).stem, reader_of(path.name)
        if part not in ALL_PARTS or reader is None or not path.is_file():
            _refuse_file(path)
        if part in found or part in sources:
            other = found[part] if part in found else f"the declared {sources[part][0].file}"
            raise RoundError(
                "part_given_twice", expected="one file for each part", got=f"{other} and {path.name}", remedy="keep one of the two",
                where=Where(path.name),
            )
        with path.open("rb"):
            # tables are read later, as streams: whether they can be read is known now
            found[part] = path.name
    return found


def _refuse_file(path: Path) -> None:
    name = path.name.encode("utf-8", "replace").decode("utf-8")
    stem = name_parts(path.name).stem
    near = nearest(stem, ALL_PARTS)
    known = stem in ALL_PARTS
    names = " or ".join(f"{near}{suffix}" for suffix in READERS)
    remedy = f"write it as {', '.join(f'{stem}{suffix}' for suffix in READERS)}" if known else (
        f"did you mean {names}? Otherwise take it out of the folder" if near else "take it out of the folder"
    )
    raise RoundError(
        "unknown_form" if known else "unknown_part", expected=f"{ROUND_FILE} and files of the parts {', '.join(ALL_PARTS)}", got=repr(name),
        remedy=remedy, where=Where(name),
    )


def _reader(file: str) -> TableReader:
    reader = reader_of(file)
    if reader is None:
        raise AssertionError("files of other forms were refused before")
    return reader


def _typed(path: Path, file: str, part: str, notes: list[Note]) -> Iterator[TypedBatch]:
    if part == ROLLOUTS:
        return rollout_batches(Declared(path, file, {}, notes))
    batches = _reader(file).typed(path, file, PART_COLUMNS[part], notes)
    if part == "pairs":
        return batches

    def place(fault: RowFault) -> Where:
        return Where(file, fault.line, fault.field or None)

    return without_faults(batches, place)


def _holdout(path: Path, file: str, notes: list[Note]) -> list[dict[str, Any]]:
    def place(line: int) -> tuple[Where, str]:
        return Where(file, line), ""

    return holdout_items(_reader(file).items(path, file, notes), place)
