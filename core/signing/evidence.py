"""Files that a decision's statement names by digest: the receipt (or refusal record) and the list of admitted pairs.

They are kept beside the ledger, each under its SHA-256, so that a decision can be exported long after the assessment
that it was made from is gone.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.canonical import canonical_digest, sha256_hex
from core.errors import DigestMismatch, Where
from core.files import write_new
from core.settings import SETTINGS
from core.signing.statement import ADMITTED_SUBJECT, RECEIPT_SUBJECT, REFUSAL_SUBJECT, Statement

Evidence = Mapping[str, bytes]
"""``receipt.json`` or ``refusal.json``, and ``admitted_pairs.json``: name -> bytes."""


def named_evidence(statement: Statement) -> dict[str, str]:
    """Name and SHA-256 of each file that a decision stands on."""
    predicate: Mapping[str, Any] = statement.predicate
    if predicate["refusal"] is not None:
        first = {REFUSAL_SUBJECT: canonical_digest(predicate["refusal"])}
    else:
        first = {RECEIPT_SUBJECT: predicate["receipt_sha256"]}
    return {**first, ADMITTED_SUBJECT: predicate["admitted_pairs_sha256"]}


def check_evidence(statement: Statement, evidence: Evidence) -> None:
    """Each file is the one that the statement names. Raises DigestMismatch ``file_changed``."""
    for name, digest in named_evidence(statement).items():
        found = sha256_hex(evidence[name])
        if found != digest:
            raise DigestMismatch(
                "file_changed", expected=f"SHA-256 {digest}, as signed", got=found, remedy="get the file again from its source", where=Where(name),
            )


@dataclass(frozen=True, slots=True)
class EvidenceStore:
    """The folder ``evidence/`` beside a ledger file."""

    folder: Path

    @classmethod
    def beside(cls, ledger_file: Path) -> EvidenceStore:
        return cls(ledger_file.parent / "evidence")

    def put(self, evidence: Evidence) -> None:
        """Keep files, durably, before the line that names them is appended."""
        self.folder.mkdir(mode=SETTINGS["storage"]["directory_mode"], parents=True, exist_ok=True)
        for data in evidence.values():
            path = self.folder / sha256_hex(data)
            # a crash may have left a shorter file: the digest tells
            if path.is_file() and sha256_hex(path.read_bytes()) == path.name:
                continue
            path.unlink(missing_ok=True)
            write_new(path, data)

    def get(self, statement: Statement) -> Evidence:
        """The files that a decision names. Raises DigestMismatch when one is missing or was changed."""
        evidence = {}
        for name, digest in named_evidence(statement).items():
            path = self.folder / digest
            if not path.is_file():
                raise DigestMismatch("file_missing", expected=f"a file of SHA-256 {digest}", got="none", remedy="restore it", where=Where(name))
            evidence[name] = path.read_bytes()
        check_evidence(statement, evidence)
        return evidence
