"""round.json: what a round says about itself, and the digests of its files.

The round's digest is the SHA-256 of the RFC 8785 bytes of this document, so everything that a decision rests on hangs
on it. Two documents are read here: the stored one (every key present) and the proposer's, which has the same keys but
``form``, ``parts`` and ``files``, and may leave out all but ``schema_version``, ``round_id`` and ``proposers``. ``sources`` stands in
either only where foreign files were declared (``core.rounds.declared``), and ``training_cutoff`` where a cut-off was, so that every
other round keeps its digest.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from core.canonical import canonical_digest
from core.errors import RoundError, Where
from core.pairs.cutoff import CutOff
from core.rounds.declared import Sources, read_sources
from core.rounds.declared_pairing import KEY as _PAIRING
from core.rounds.declared_pairing import DeclaredPairing, check_stated, read_pairing
from core.rounds.note import Note
from core.rounds.reading_notes import KEY as _NOTES
from core.rounds.reading_notes import read_notes
from core.rounds.strict import Reader, document_reader
from core.rounds.training_cutoff import KEY as _CUTOFF
from core.rounds.training_cutoff import read_cutoff
from core.schemas import ALL_PARTS
from core.settings import SETTINGS
from core.text import visible_line

SCHEMA_VERSION: Final = 1
ADDITIONS: Final = ("ratings", "sources", "behaviours", "rollouts", "training_cutoff", "reading_notes")
"""What a round may have beyond version 1, in the order in which it came: optional parts, ``sources`` (declared foreign files),
``training_cutoff``, and ``reading_notes`` (what the readers of foreign files remarked). Each raised the version by one; a round is stored under the
lowest version that knows all that it has."""
LATEST_SCHEMA_VERSION: Final = SCHEMA_VERSION + len(ADDITIONS)
FORMS: Final = ("bundle", "tables")
VERIFICATIONS: Final = ("program", "dataset_label")
QUARANTINE_FILE: Final = "quarantine.parquet"
PART_FILES: Final[Mapping[str, tuple[str, ...]]] = {
    "judge_records": ("judge_records.parquet",),
    "pairs": ("pairs.parquet", "text.parquet"),
    "holdout": ("holdout.json",),
    "outcomes": ("outcomes.parquet",),
    "sanity": ("sanity.parquet",),
    "ratings": ("ratings.parquet",),
    "behaviours": ("behaviours.parquet",),
    "rollouts": ("rollouts.parquet",),
}
"""Files of each part of a round folder; ``quarantine.parquet`` is always there."""

_TEXT: Final = SETTINGS["text"]
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_UTC: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?Z")
_PROPOSER_KEYS: Final = (
    "schema_version", "round_id", "label", "previous_receipt_sha256", "proposers", "reviewer", "baseline", "candidate", "policy",
    "reference", "holdout_lock", "created_at", "note", "receipt_judges", "verification", "judges",
)
_SOURCES: Final = "sources"
_STORED_KEYS: Final = (*_PROPOSER_KEYS, "form", "parts", "files")
_PROPOSER_REQUIRED: Final = ("schema_version", "round_id", "proposers")


def schema_version_of(has: Iterable[str]) -> int:
    """The version of a round's round.json: the lowest that knows all that it has. ``has``: its parts, and the other additions."""
    has = set(has)
    return SCHEMA_VERSION + max((place for place, name in enumerate(ADDITIONS, start=1) if name in has), default=0)


def is_digest(text: str) -> bool:
    """Whether ``text`` is 64 lower-case hex digits."""
    return _DIGEST.fullmatch(text) is not None


def utc_text(moment: datetime) -> str:
    """A moment as stored: UTC to the second, ``2026-01-05T12:00:00Z``. ``moment`` must know its time zone."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def utc_moment(text: str) -> datetime | None:
    """The moment that ``text`` (``2026-01-05T12:00:00Z``) names, or None when it is written otherwise."""
    if not _UTC.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Model:
    """A model by name; ``digest`` is the SHA-256 of its bytes, or None where it is not stated."""

    name: str
    digest: str | None = None

    @classmethod
    def read(cls, source: Reader) -> Model:
        source.keys(("name", "digest"), ("name",))
        return cls(source.text("name", limit=_TEXT["id_characters"]), _digest(source, "digest"))

    def document(self) -> dict[str, Any]:
        return {"name": self.name, "digest": self.digest}


@dataclass(frozen=True, slots=True)
class HoldoutLock:
    """The holdout digest registered beforehand. ``sha256`` is kept as written: an empty or malformed one fails its check."""

    sha256: str
    registered_at: str | None = None
    registered_by: str | None = None

    @classmethod
    def read(cls, source: Reader) -> HoldoutLock:
        source.keys(("sha256", "registered_at", "registered_by"), ("sha256",))
        return cls(
            source.text("sha256", empty=True),
            source.optional_text("registered_at", limit=_TEXT["id_characters"]),
            source.optional_text("registered_by", limit=_TEXT["id_characters"]),
        )

    def document(self) -> dict[str, Any]:
        return {"sha256": self.sha256, "registered_at": self.registered_at, "registered_by": self.registered_by}


@dataclass(frozen=True, slots=True)
class ReceiptJudges:
    """The two judges that the receipt has room for."""

    calibrated: str
    uncalibrated: str

    @classmethod
    def read(cls, source: Reader) -> ReceiptJudges:
        names = ("calibrated", "uncalibrated")
        source.keys(names, names)
        return cls(*(source.text(name, limit=_TEXT["id_characters"]) for name in names))

    def document(self) -> dict[str, Any]:
        return {"calibrated": self.calibrated, "uncalibrated": self.uncalibrated}


@dataclass(frozen=True, slots=True)
class Judge:
    """What is stated about a judge; None where it is not."""

    name: str | None = None
    version: str | None = None
    rubric: str | None = None
    rubric_sha256: str | None = None

    @classmethod
    def read(cls, source: Reader) -> Judge:
        source.keys(("name", "version", "rubric", "rubric_sha256"), ())
        limit = _TEXT["id_characters"]
        return cls(
            source.optional_text("name", limit=limit), source.optional_text("version", limit=limit),
            source.optional_text("rubric"), _digest(source, "rubric_sha256"),
        )

    def document(self) -> dict[str, Any]:
        return {"name": self.name, "version": self.version, "rubric": self.rubric, "rubric_sha256": self.rubric_sha256}


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of the round: SHA-256 of its bytes, and its rows (items of the holdout list)."""

    sha256: str
    rows: int

    @classmethod
    def read(cls, source: Reader) -> FileEntry:
        source.keys(("sha256", "rows"), ("sha256", "rows"))
        digest = _digest(source, "sha256")
        rows = source.integer("rows")
        if digest is None or rows < 0:
            source.refuse("", "wrong_type", "a digest and a count", "something else", "ingest the round again")
        return cls(digest, rows)

    def document(self) -> dict[str, Any]:
        return {"sha256": self.sha256, "rows": self.rows}


@dataclass(frozen=True)
class RoundManifest:
    """round.json, read and checked. Ids of persons stand as they were written."""

    round_id: str
    form: str
    proposers: tuple[str, ...]
    created_at: str
    label: str | None = None
    previous_receipt_sha256: str | None = None
    reviewer: str | None = None
    baseline: Model = Model("baseline")
    candidate: Model = Model("candidate")
    policy: Model | None = None
    reference: Model | None = None
    holdout_lock: HoldoutLock | None = None
    note: str | None = None
    parts: tuple[str, ...] = ()
    receipt_judges: ReceiptJudges | None = None
    verification: str = "program"
    judges: Mapping[str, Judge] = field(default_factory=dict)
    files: Mapping[str, FileEntry] = field(default_factory=dict)
    sources: Sources = field(default_factory=dict)
    pairing: DeclaredPairing | None = None
    cutoff: CutOff | None = None
    reading_notes: tuple[Note, ...] = ()

    @property
    def digest(self) -> str:
        """The round's digest: SHA-256 of the RFC 8785 bytes of :meth:`document`."""
        return canonical_digest(self.document())

    @property
    def created(self) -> datetime:
        """``created_at`` as a moment."""
        return datetime.fromisoformat(self.created_at)

    def document(self) -> dict[str, Any]:
        """The JSON object of round.json, every key present; what came later only where the round has it."""
        declared: dict[str, Any] = {}
        declared |= {_SOURCES: {part: [source.document() for source in found] for part, found in self.sources.items()}} if self.sources else {}
        declared |= {} if self.pairing is None else {_PAIRING: self.pairing.document()}
        declared |= {} if self.cutoff is None else {_CUTOFF: self.cutoff.document()}
        declared |= {_NOTES: [note.document() for note in self.reading_notes]} if self.reading_notes else {}
        return declared | {
            "schema_version": schema_version_of((*self.parts, *declared)), "round_id": self.round_id, "form": self.form, "label": self.label,
            "previous_receipt_sha256": self.previous_receipt_sha256, "proposers": list(self.proposers), "reviewer": self.reviewer,
            "baseline": self.baseline.document(), "candidate": self.candidate.document(),
            "policy": _or_null(self.policy), "reference": _or_null(self.reference), "holdout_lock": _or_null(self.holdout_lock),
            "created_at": self.created_at, "note": self.note, "parts": list(self.parts),
            "receipt_judges": _or_null(self.receipt_judges), "verification": self.verification,
            "judges": {name: judge.document() for name, judge in self.judges.items()},
            "files": {name: entry.document() for name, entry in self.files.items()},
        }

    @classmethod
    def from_document(cls, document: object, *, file: str = "round.json") -> RoundManifest:
        """The manifest of a stored round; raises RoundError naming the key that is unknown, missing or of a wrong type."""
        source = document_reader(document, file)
        source.keys((*_STORED_KEYS, _SOURCES, _PAIRING, _CUTOFF, _NOTES), _STORED_KEYS)
        parts = source.texts("parts")
        if list(parts) != [part for part in ALL_PARTS if part in parts]:
            source.refuse("parts", "unknown_value", f"some of {', '.join(ALL_PARTS)}, in this order", ", ".join(parts), "ingest the round again")
        sources, cutoff, notes = read_sources(source, stored=True), read_cutoff(source, stored=True), read_notes(source)
        version = schema_version_of((*parts, *source.value))
        if source.integer("schema_version") != version:
            source.refuse(
                "schema_version", "unknown_schema_version", f"{version}, for a round with these parts", f"{source.value['schema_version']}",
                "ingest the round again",
            )
        stray = [part for part in sources if part not in parts]
        if stray:
            source.refuse(f"{_SOURCES}.{stray[0]}", "unknown_value", "a part of this round", stray[0], "ingest the round again")
        if notes and not sources:
            source.refuse(_NOTES, "unknown_value", f"remarks about {_SOURCES}, which this round does not have", "remarks", "ingest the round again")
        pairing = read_pairing(source, stored=True)
        check_stated(pairing, parts, file)
        entries = source.object("files")
        expected = {QUARANTINE_FILE, *(name for part in parts for name in PART_FILES[part])}
        entries.keys(expected, sorted(expected))
        files = {name: FileEntry.read(entries.object(name)) for name in entries.value}
        return cls(
            **_stated(source), form=source.choice("form", FORMS), parts=parts, files=files, sources=sources, pairing=pairing, cutoff=cutoff,
            reading_notes=notes,
        )

    @classmethod
    def from_proposer(cls, document: object, *, created_at: str, file: str = "round.json") -> RoundManifest:
        """The manifest that a proposer's round.json asks for, without parts and files. ``created_at`` stands where the
        document states none. Raises RoundError like :meth:`from_document`."""
        source = document_reader(document, file)
        source.keys((*_PROPOSER_KEYS, _SOURCES, _PAIRING, _CUTOFF), _PROPOSER_REQUIRED)
        if not source.has("created_at"):
            source = Reader({**source.value, "created_at": created_at}, source.place, source.file)
        return cls(
            **_stated(source), form="tables", sources=read_sources(source, stored=False), pairing=read_pairing(source, stored=False),
            cutoff=read_cutoff(source, stored=False),
        )


def _stated(source: Reader) -> dict[str, Any]:
    if not SCHEMA_VERSION <= source.integer("schema_version") <= LATEST_SCHEMA_VERSION:
        source.refuse(
            "schema_version", "unknown_schema_version", f"{SCHEMA_VERSION} to {LATEST_SCHEMA_VERSION}", f"{source.value['schema_version']}",
            "use the version of this program that wrote it",
        )
    judges = source.object("judges") if source.has("judges") else Reader({}, "judges", source.file)
    return {
        "round_id": checked_round_id(source.text("round_id"), Where(source.file, field="round_id")),
        "label": source.optional_text("label", limit=_TEXT["label_characters"]),
        "previous_receipt_sha256": _digest(source, "previous_receipt_sha256"),
        "proposers": _proposers(source),
        "reviewer": source.optional_text("reviewer", limit=_TEXT["id_characters"]),
        "baseline": Model.read(source.object("baseline")) if source.has("baseline") else Model("baseline"),
        "candidate": Model.read(source.object("candidate")) if source.has("candidate") else Model("candidate"),
        "policy": Model.read(source.object("policy")) if source.has("policy") else None,
        "reference": Model.read(source.object("reference")) if source.has("reference") else None,
        "holdout_lock": HoldoutLock.read(source.object("holdout_lock")) if source.has("holdout_lock") else None,
        "created_at": checked_created_at(source.text("created_at"), Where(source.file, field="created_at")),
        "note": source.optional_text("note", limit=_TEXT["note_characters"]),
        "receipt_judges": ReceiptJudges.read(source.object("receipt_judges")) if source.has("receipt_judges") else None,
        "verification": source.choice("verification", VERIFICATIONS) if source.has("verification") else VERIFICATIONS[0],
        "judges": {_judge_id(judges, name): Judge.read(judges.object(name)) for name in judges.value},
    }


def checked_round_id(text: str, where: Where) -> str:
    """A round id: not empty, within the length limit, no hidden characters and no white space at its ends."""
    if not text or len(text) > _TEXT["id_characters"] or text != text.strip() or visible_line(text) != text:
        raise RoundError(
            "bad_round_id", expected=f"1 to {_TEXT['id_characters']} visible characters without white space at the ends",
            got=repr(text[:_TEXT["label_characters"]]), remedy="choose another id, for example round-07", where=where,
        )
    return text


def checked_created_at(text: str, where: Where) -> str:
    """A moment in UTC, kept as written."""
    if utc_moment(text) is None:
        raise RoundError(
            "bad_time", expected="a time in UTC such as 2026-01-05T12:00:00Z", got=repr(text[:_TEXT["label_characters"]]),
            remedy="write the time in UTC with a Z at its end", where=where,
        )
    return text


def _proposers(source: Reader) -> tuple[str, ...]:
    proposers = source.texts("proposers")
    if not proposers:
        source.refuse("proposers", "empty_list", "at least one proposer", "[]", "name who proposes the round")
    return proposers


def _judge_id(judges: Reader, name: str) -> str:
    if not name or len(name) > _TEXT["id_characters"]:
        judges.refuse(name, "empty_text", f"a judge id of 1 to {_TEXT['id_characters']} characters", f"{len(name)}", "name the judge")
    return name


def _digest(source: Reader, key: str) -> str | None:
    value = source.optional_text(key)
    if value is not None and not is_digest(value):
        source.refuse(
            key, "malformed_digest", "64 lower-case hex digits (SHA-256), or null", repr(value[:_TEXT["label_characters"]]),
            "write the digest in this form, or null where it is not known",
        )
    return value


def _or_null(value: Model | HoldoutLock | ReceiptJudges | None) -> dict[str, Any] | None:
    return None if value is None else value.document()
