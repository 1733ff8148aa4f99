"""A table that stands by itself, outside a round's folder: labels of a sample, behaviours of versions."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from core.errors import RoundError, Where
from core.rounds.columns import Column, RowFault, TypedBatch
from core.rounds.readers import READERS, reader_of
from core.rounds.source import without_faults


def typed_file(path: Path, columns: Sequence[Column]) -> Iterator[TypedBatch]:
    """Typed batches of a file with these columns, in every form that a part of a round may have. Raises RoundError for another form, and
    for the first row that cannot be typed."""
    reader = reader_of(path.name)
    if reader is None:
        raise RoundError("unknown_form", expected=f"a file ending in {', '.join(READERS)}, packed or not", got=repr(path.suffix),
                         remedy="write it as one of these", where=Where(path.name))

    def place(fault: RowFault) -> Where:
        return Where(path.name, fault.line, fault.field or None)

    return without_faults(reader.typed(path, path.name, columns, []), place)
