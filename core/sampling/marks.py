"""What one person marked among the pairs of one round: those they have seen, and those whose place they dispute.

``marks/<round digest>/<SHA-256 of the person's id>.jsonl``: append-only, one RFC 8785 object a line, written and flushed under
a lock file beside it, as the judgements of a sample are (``journal.py``). A mark names its pair by id, never by a position in
a list; the last line about a pair counts. Marks decide nothing: the gates place pairs. What is
disputed when a decision is prepared is signed with it (``disputes.py``), and the reviewer says why in the comment.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from core.canonical import canonical_bytes, parse_canonical, sha256_hex
from core.errors import SamplingError, Where
from core.files import append_line, locked
from core.persons.identity import canonical_id
from core.persons.times import z_time
from core.rounds.manifest import is_digest
from core.rounds.workspace import Workspace
from core.settings import SETTINGS

Kind = Literal["seen", "disputed", "undisputed"]
KINDS: Final[tuple[Kind, ...]] = ("seen", "disputed", "undisputed")
FOLDER: Final = "marks"
_NEW_LINE: Final = b"\n"
_MEMBERS: Final = frozenset({"at", "kind", "pair_id"})


@dataclass(frozen=True, slots=True)
class Marked:
    """Pair ids by mark, in the order in which they were marked. A dispute that was taken back is none."""

    seen: tuple[str, ...] = ()
    disputed: tuple[str, ...] = ()


class Marks:
    """One person's marks on one round. Raises IdentityError for an id outside the grammar, SamplingError for a digest that is none."""

    def __init__(self, workspace: Workspace, round_digest: str, person: str) -> None:
        if not is_digest(round_digest):
            raise SamplingError("unknown_round", expected="a round digest", got=repr(round_digest), remedy="see countersign round list")
        self.person = canonical_id(person)
        # digests only: no text that somebody typed becomes part of a path
        self.file = workspace.root / FOLDER / round_digest / f"{sha256_hex(self.person.encode())}.jsonl"
        self._lock = self.file.with_suffix(".lock")

    def read(self) -> Marked:
        """The marks as they stand. Raises SamplingError naming the line."""
        with locked(self._lock, shared=True):
            return self._read()[0]

    def put(self, kind: Kind, pair_id: str, at: datetime) -> Marked:
        """Record one mark and return what then stands; a mark that stands already adds no line. Raises SamplingError."""
        try:
            self.file.parent.mkdir(mode=SETTINGS["storage"]["directory_mode"], parents=True, exist_ok=True)
            with locked(self._lock):
                before, torn = self._read()
                after = _after(before, kind, pair_id)
                if after != before:
                    line = canonical_bytes({"at": z_time(at), "kind": kind, "pair_id": pair_id}) + _NEW_LINE
                    append_line(self.file, line, torn=torn)
                return after
        except OSError as problem:
            raise SamplingError(
                "marks_unwritable", expected="a file of marks that can be written", got=problem.strerror or str(problem),
                remedy="check disk and permissions, then mark the pair again", where=Where(self.file.name),
            ) from problem

    def _read(self) -> tuple[Marked, int]:
        """The marks, and how many bytes of a cut last line follow them."""
        *lines, tail = (self.file.read_bytes() if self.file.is_file() else b"").split(_NEW_LINE)
        marked = Marked()
        for number, line in enumerate(lines, 1):
            where = Where(self.file.name, number)
            marked = _taken(marked, parse_canonical(line, where=where, error=SamplingError), where)
        return marked, len(tail)


def _after(marked: Marked, kind: Kind, pair_id: str) -> Marked:
    if kind == "seen":
        return marked if pair_id in marked.seen else Marked((*marked.seen, pair_id), marked.disputed)
    if kind == "disputed":
        return marked if pair_id in marked.disputed else Marked(marked.seen, (*marked.disputed, pair_id))
    return Marked(marked.seen, tuple(one for one in marked.disputed if one != pair_id))


def _taken(marked: Marked, record: Any, where: Where) -> Marked:
    known = isinstance(record, Mapping) and set(record) == _MEMBERS and record["kind"] in KINDS and isinstance(record["pair_id"], str)
    if not known:
        raise SamplingError(
            "broken_line", expected="a mark that this engine wrote", got="another form", where=where,
            remedy="restore the file of marks from a copy; a line is never edited",
        )
    return _after(marked, record["kind"], record["pair_id"])
