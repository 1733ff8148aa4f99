"""What one person did with samples of one round: an append-only file of one RFC 8785 object a line, in the workspace.

``sampling/<round digest>/<SHA-256 of the person's id>.jsonl``. A line is written at once and flushed before it counts,
under a lock file beside it. Bytes after the last line feed are a write that was never acknowledged: they count for
nothing and are cut by the next append. A label names its pair by id, never by a position; the last line about a pair
counts. Lines:

- ``start``: a sample was drawn: plan, seed, grid, list of admitted pairs;
- ``label``: a judgement of one pair, and which answer was shown first;
- ``withdraw``: the label of that pair was taken back, to judge it again;
- ``end``: the person ended the sample of that seed, and saw the result.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn

from core.canonical import canonical_bytes, parse_canonical, sha256_hex
from core.errors import SamplingError, Where
from core.files import append_line, locked
from core.persons.identity import canonical_id
from core.rounds.manifest import is_digest
from core.rounds.workspace import Workspace
from core.sampling.draw import DRAW, Side
from core.sampling.plan import METHODS, SamplePlan
from core.settings import SETTINGS

Choice = Literal["first", "second", "tie", "both_bad", "skip"]
CHOICES: Final[tuple[Choice, ...]] = ("first", "second", "tie", "both_bad", "skip")
Verdict = Literal["chosen", "rejected", "both_bad", "tie", "skip"]
FOLDER: Final = "sampling"
_NEW_LINE: Final = b"\n"
_REMEDY: Final = "restore the file of labels from a copy; a line is never edited"


@dataclass(frozen=True, slots=True)
class Label:
    """One judgement. ``choice``: the side that was preferred, as shown; ``first``: which answer stood first; ``seed``: of the
    sample that it was made in."""

    pair_id: str
    choice: Choice
    first: Side
    seed: str

    @property
    def verdict(self) -> Verdict:
        """What was preferred, whichever side it stood on."""
        if self.choice == "first":
            return self.first
        if self.choice == "second":
            return "rejected" if self.first == "chosen" else "chosen"
        return self.choice

    @property
    def is_defect(self) -> bool:
        """The human prefers the rejected answer, or finds both bad."""
        return self.verdict in ("rejected", "both_bad")


@dataclass(frozen=True, slots=True)
class Start:
    """A sample as it was drawn, before anything was seen."""

    plan: SamplePlan
    seed: str
    admitted_sha256: str
    grid_digest: str


@dataclass(frozen=True, slots=True)
class Records:
    """What the file says. ``labels``: those that count, by pair id; ``withdrawn``: the seed of each label that was taken back;
    ``ended``: seed of each ended sample -> the labels at that moment; ``torn``: bytes of a cut last line."""

    starts: tuple[Start, ...]
    labels: Mapping[str, Label]
    withdrawn: tuple[str, ...]
    ended: Mapping[str, Mapping[str, Label]]
    torn: int

    def start(self, admitted_sha256: str, grid_digest: str) -> Start | None:
        """The sample drawn from that list of admitted pairs under that grid, or None."""
        return next((one for one in self.starts if (one.admitted_sha256, one.grid_digest) == (admitted_sha256, grid_digest)), None)


class Journal:
    """One person's file about one round. Raises IdentityError for an id outside the grammar, SamplingError for a digest that is none."""

    def __init__(self, workspace: Workspace, round_digest: str, person: str) -> None:
        if not is_digest(round_digest):
            raise SamplingError("unknown_round", expected="a round digest", got=repr(round_digest), remedy="see countersign round list")
        self.person = canonical_id(person)
        self._round = round_digest
        # digests only: no text that somebody typed becomes part of a path
        self.file = workspace.root / FOLDER / round_digest / f"{sha256_hex(self.person.encode())}.jsonl"
        self._lock = self.file.with_suffix(".lock")

    def read(self) -> Records:
        """What the file says now. Raises SamplingError naming the line."""
        with locked(self._lock, shared=True):
            return self._records()

    @contextmanager
    def writing(self) -> Iterator[tuple[Records, Callable[[Mapping[str, Any]], Records]]]:
        """Records as they are under the lock, and the function that appends one more and returns what the file then says."""
        try:
            self.file.parent.mkdir(mode=SETTINGS["storage"]["directory_mode"], parents=True, exist_ok=True)
            with locked(self._lock):
                yield self._records(), self._append
        except OSError as problem:
            raise SamplingError(
                "labels_unwritable", expected="a file of labels that can be written", got=problem.strerror or str(problem),
                remedy="check disk and permissions, then judge the pair again", where=Where(self.file.name),
            ) from problem

    def _append(self, record: Mapping[str, Any]) -> Records:
        append_line(self.file, canonical_bytes(dict(record)) + _NEW_LINE, torn=self._records().torn)
        return self._records()

    def _records(self) -> Records:
        *lines, tail = (self.file.read_bytes() if self.file.is_file() else b"").split(_NEW_LINE)
        reader = _Reader(self._round, self.person, self.file.name)
        for number, line in enumerate(lines, 1):
            reader.take(number, line)
        return Records(tuple(reader.starts), reader.labels, tuple(reader.withdrawn), reader.ended, len(tail))


class _Reader:
    """Reads the lines of one file in order."""

    def __init__(self, round_digest: str, person: str, file: str) -> None:
        self._round, self._person, self._file = round_digest, person, file
        self.starts: list[Start] = []
        self.labels: dict[str, Label] = {}
        self.withdrawn: list[str] = []
        self.ended: dict[str, dict[str, Label]] = {}

    def take(self, number: int, line: bytes) -> None:
        where = Where(self._file, number)
        record = parse_canonical(line, where=where, error=SamplingError)
        try:
            self._take(record)
        except (KeyError, TypeError, ValueError) as problem:
            _refuse("broken_line", "a line that this engine wrote", f"another form ({type(problem).__name__}: {problem})", where)

    def _take(self, record: Mapping[str, Any]) -> None:
        match record["kind"]:
            case "start":
                self.starts.append(self._start(record))
            case "label":
                if record["choice"] not in CHOICES or record["first"] not in ("chosen", "rejected"):
                    raise ValueError(record["choice"])
                self.labels[record["pair_id"]] = Label(record["pair_id"], record["choice"], record["first"], record["seed"])
            case "withdraw":
                self.withdrawn.append(self.labels.pop(record["pair_id"]).seed)
            case "end":
                self.ended[record["seed"]] = dict(self.labels)
            case other:
                raise ValueError(other)

    def _start(self, record: Mapping[str, Any]) -> Start:
        if record["schema_version"] != 1 or record["draw"] != DRAW or record["method"] not in METHODS:
            raise ValueError("a version that this engine does not know")
        if (record["round_digest"], record["person"]) != (self._round, self._person):
            raise ValueError("labels of another person or round")
        return Start(SamplePlan.from_document(record), record["seed"], record["admitted_sha256"], record["grid_digest"])


def start_record(start: Start, round_digest: str, person: str, at: str) -> dict[str, Any]:
    """The line that begins a sample."""
    return {
        "kind": "start", "schema_version": 1, "draw": DRAW, "round_digest": round_digest, "person": person, "seed": start.seed,
        "admitted_sha256": start.admitted_sha256, "grid_digest": start.grid_digest, "at": at, **start.plan.as_dict(),
    }


def label_record(label: Label, at: str) -> dict[str, Any]:
    """The line of one judgement."""
    return {"kind": "label", "pair_id": label.pair_id, "choice": label.choice, "first": label.first, "seed": label.seed, "at": at}


def _refuse(code: str, expected: str, got: str, where: Where) -> NoReturn:
    raise SamplingError(code, expected=expected, got=got, remedy=_REMEDY, where=where)
