"""The assessment computed again from the round by this very process: what may be signed, and what a program may act on.

A stored assessment saves the pages from computing the same figures at each click. Whoever may write the workspace may write
it too, with any digest beside it, so nothing that grants something rests on it: preparing, signing and appending a decision,
``decide --fresh`` and ``decide --require-approved`` all come here, and go on only where the stored document is the computed
one byte for byte and the files beside it have the digests that it names (docs/decisions/017).
"""
from __future__ import annotations

from pathlib import Path
from typing import Any

from core.canonical import canonical_bytes, parse_canonical
from core.errors import CountersignError, DigestMismatch, Where
from core.gates import computed_here
from core.gates.assessment import ASSESSMENT_FILE, Assessment, Progress, assess, assessment_folder
from core.gates.exposure_file import record_look
from core.grid import Grid
from core.literals import code_digest
from core.rounds.folder import Round
from core.rounds.workspace import Workspace


def confirmed_assessment(workspace: Workspace, source: Round, grid: Grid, progress: Progress | None = None) -> Assessment:
    """The assessment of (round, grid, running code) as this process computes it, stored where there is none yet.

    Takes as long as the engine does, once a process for each round and grid; the round's files are hashed at every call. Raises
    DigestMismatch where the round's files changed, and ``assessment_changed`` where the stored assessment is another one.
    """
    source.verify_files()
    final = assessment_folder(workspace, source.digest, grid)
    key = (source.digest, grid.digest, code_digest())
    computed = computed_here.recall(key)
    if computed is None or not (final / ASSESSMENT_FILE).is_file():
        with workspace.temporary("assess-") as scratch:
            computed = canonical_bytes(dict(assess(source, grid, scratch, progress=progress).document))
            computed_here.remember(key, computed)
            # where one is stored, that one stays: it is compared below
            workspace.publish(scratch, final)
    _compare(final, computed)
    document = parse_canonical(computed, where=Where(ASSESSMENT_FILE))
    found = Assessment(document, final)
    found.verify_files()
    record_look(workspace, source, grid, document)
    return found


def _compare(folder: Path, computed: bytes) -> None:
    stored = (folder / ASSESSMENT_FILE).read_bytes()
    if stored == computed:
        return
    raise DigestMismatch(
        "assessment_changed", expected="the stored assessment to be what the engine computes from the round", got=_what_differs(stored, computed),
        remedy=f"find out who wrote it, then remove the folder {folder.parent.name}/{folder.name} of assessments/: it is computed again, "
               "and what was read on a page has to be read again",
        where=Where(ASSESSMENT_FILE),
    )


def _what_differs(stored: bytes, computed: bytes) -> str:
    wanted: dict[str, Any] = parse_canonical(computed)
    try:
        document = parse_canonical(stored)
    except CountersignError:
        return "bytes that are no assessment"
    if not isinstance(document, dict):
        return "another document"
    # names of this engine only: what somebody wrote into the file is not repeated
    names = [name for name in wanted if name not in document or canonical_bytes(document[name]) != canonical_bytes(wanted[name])]
    return f"another {', '.join(names)}" if names else "more members than that"
