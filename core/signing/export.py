"""The export of a decision: what one hands to somebody else, as one deterministic zip file or as a folder.

``decision.json`` and ``proposal.json`` are the signed envelopes, ``receipt.json`` (or ``refusal.json``) and
``admitted_pairs.json`` the files that the decision names, ``export.json`` the place in the ledger (inclusion proof and
signed checkpoint will join it). The zip has one spelling (order, times, no compression), and a reader accepts no other,
so a byte changed anywhere in it is noticed.
"""
from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from core.canonical import canonical_bytes, parse_canonical
from core.errors import LedgerError, ReceiptError, Where
from core.files import sync_folder, write_new
from core.settings import SETTINGS
from core.signing import schema
from core.signing.dsse import Envelope
from core.signing.evidence import Evidence, EvidenceStore
from core.signing.keys import slug
from core.signing.ledger import Head, LedgerEntry, LedgerView, read_receipt
from core.signing.statement import ADMITTED_SUBJECT, RECEIPT_SUBJECT, REFUSAL_SUBJECT, SIGNED_RECEIPT_FIELDS, Statement

DECISION_FILE, PROPOSAL_FILE, EXPORT_FILE = "decision.json", "proposal.json", "export.json"
_NAMES: Final = (DECISION_FILE, PROPOSAL_FILE, RECEIPT_SUBJECT, REFUSAL_SUBJECT, ADMITTED_SUBJECT, EXPORT_FILE)
_SCHEMA: Final = schema.record({
    "export_version": schema.constant(1), "index": schema.integer,
    "ledger": schema.record({"origin": schema.text(), "size": schema.integer, "root": schema.digest}),
})
_RECEIPT_SCHEMA: Final = schema.record({"admitted_pair_ids": schema.listed(schema.text()), **dict.fromkeys(SIGNED_RECEIPT_FIELDS, schema.anything)})
_ADMITTED_SCHEMA: Final = schema.listed(schema.record({"pair_id": schema.text(), "joint_transition_pair_sha256": schema.digest}))
_BROKEN_ZIP: Final = (zipfile.BadZipFile, OSError, ValueError, RuntimeError, EOFError, KeyError, NotImplementedError, OverflowError)


@dataclass(frozen=True)
class Export:
    """A decision with all it stands on. ``index`` and ``head``: its place in the ledger, and the ledger when it was exported."""

    decision: Envelope
    decision_statement: Statement
    proposal: Envelope
    proposal_statement: Statement
    evidence: Evidence
    index: int
    head: Head

    def files(self) -> dict[str, bytes]:
        """Name -> bytes, in the order of the zip."""
        place = {"export_version": 1, "index": self.index, "ledger": self.head.as_dict()}
        files = {
            DECISION_FILE: self.decision.encoded, PROPOSAL_FILE: self.proposal.encoded, **self.evidence, EXPORT_FILE: canonical_bytes(place),
        }
        return {name: files[name] for name in _NAMES if name in files}

    def zip_bytes(self) -> bytes:
        """The zip file: always the same bytes for the same export."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for name, data in self.files().items():
                archive.writestr(zipfile.ZipInfo(name), data)  # the default time is 1980, the same for all
        return buffer.getvalue()

    @property
    def file_name(self) -> str:
        """A download name made of ``a-z0-9-`` and ``.zip``."""
        predicate = self.decision_statement.predicate
        shown = self.decision.digest[:SETTINGS["display"]["digest_characters"]]
        return f"{slug(predicate['round_id'])}-{predicate['decision']}-{shown}.zip"


def make_export(view: LedgerView, entry: LedgerEntry, store: EvidenceStore) -> Export:
    """The export of a decision in the ledger. Raises LedgerError for another kind of entry, DigestMismatch for lost evidence."""
    if entry.kind != "decision":
        raise LedgerError("not_a_decision", expected="a decision", got=f"entry {entry.index}, a {entry.kind}", remedy="see countersign ledger list")
    proposal = view.find(entry.statement.predicate["proposal_sha256"])
    if proposal is None:
        raise LedgerError("no_proposal", expected="the proposal that the decision names", got="none", remedy="restore the ledger from a copy")
    return Export(entry.envelope, entry.statement, proposal.envelope, proposal.statement, store.get(entry.statement), entry.index, view.head)


def write_folder(export: Export, folder: Path) -> None:
    """Write the export's files into a folder, which is made; a file that is there already raises FileExistsError."""
    folder.mkdir(mode=SETTINGS["storage"]["directory_mode"], parents=True, exist_ok=True)
    for name, data in export.files().items():
        write_new(folder / name, data)
    sync_folder(folder)


def read_export(path: Path) -> Export:
    """An export from a zip file or a folder. Raises ReceiptError naming the file."""
    try:
        if path.is_dir():
            items = sorted(path.iterdir())
            strange = next((item for item in items if not item.is_file()), None)
            if strange is not None:
                _refuse("wrong_files", "files alone", f"{strange.name!r}, which is none", path.name)
            return _from_files({item.name: _bounded(item, 1) for item in items[:len(_NAMES) + 1]})
        return parse_export(_bounded(path, len(_NAMES)))
    except OSError as problem:
        _refuse("export_unreadable", "an export (a zip file or a folder)", problem.strerror or "an error", path.name)


def _bounded(path: Path, files: int) -> bytes:
    """The bytes of a file that may hold ``files`` documents, refused before they are read where it is too large."""
    limit, size = SETTINGS["json"]["max_bytes"] * files, path.stat().st_size
    if size > limit:
        _refuse("too_large", f"at most {limit} bytes", f"{size} bytes", path.name)
    return path.read_bytes()


def parse_export(data: bytes) -> Export:
    """An export from the bytes of its zip file. Raises ReceiptError."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if any(item.compress_type != zipfile.ZIP_STORED for item in entries) or sum(item.file_size for item in entries) > len(data):
                _refuse("not_an_export", "a zip file without compression", "another kind of zip file", None)
            export = _from_files({item.filename: archive.read(item) for item in entries})
    except _BROKEN_ZIP as problem:
        _refuse("not_an_export", "an export: a zip file as countersign writes it", f"a broken file ({type(problem).__name__})", None)
    if export.zip_bytes() != data:
        _refuse("not_canonical", "the zip file's one spelling", "the same files in other bytes", None)
    return export


def _refuse(code: str, expected: str, got: str, file: str | None) -> NoReturn:
    raise ReceiptError(code, expected=expected, got=got, remedy="get the export again from its source, untouched", where=Where(file))


def _from_files(files: Mapping[str, bytes]) -> Export:
    evidence_name = REFUSAL_SUBJECT if REFUSAL_SUBJECT in files else RECEIPT_SUBJECT
    wanted = {DECISION_FILE, PROPOSAL_FILE, evidence_name, ADMITTED_SUBJECT, EXPORT_FILE}
    for name in sorted(wanted ^ set(files)):
        _refuse("wrong_files", ", ".join(sorted(wanted)), f"{'no ' if name in wanted else ''}{name!r}", None)
    decision, proposal = (read_receipt(files[name], where=Where(name)) for name in (DECISION_FILE, PROPOSAL_FILE))
    for name, (_, statement), kind in ((DECISION_FILE, decision, "decision"), (PROPOSAL_FILE, proposal, "proposal")):
        if statement.kind != kind:
            _refuse("wrong_kind", f"a {kind}", f"a {statement.kind}", name)
    if (decision[1].predicate["refusal"] is not None) != (evidence_name == REFUSAL_SUBJECT):
        _refuse("wrong_files", "a receipt or a refusal record, as the decision says", evidence_name, None)
    _check_evidence_form(evidence_name, files[evidence_name], files[ADMITTED_SUBJECT])
    place = parse_canonical(files[EXPORT_FILE], where=Where(EXPORT_FILE), error=ReceiptError)
    _SCHEMA(place, "")
    return Export(
        *decision, *proposal, {name: files[name] for name in (evidence_name, ADMITTED_SUBJECT)}, place["index"], Head.from_document(place["ledger"]),
    )


def _check_evidence_form(name: str, document: bytes, admitted: bytes) -> None:
    """The receipt file has the 17 fields (their values hang on its digest), and the list of pairs is one."""
    value: Any = parse_canonical(document, where=Where(name), error=ReceiptError)
    if name == RECEIPT_SUBJECT:
        _RECEIPT_SCHEMA(value, name)
    _ADMITTED_SCHEMA(parse_canonical(admitted, where=Where(ADMITTED_SUBJECT), error=ReceiptError), ADMITTED_SUBJECT)
