"""Errors, sorted by who must act.

Every error carries a stable ``code``, what was expected, what came, what to do, and where (file, line, field).
It reads the same in a log, a terminal and the dashboard, because all three print ``str(error)``.

===================  ===============================  =========
class                who must act                     exit code
===================  ===============================  =========
RoundError           whoever supplied the round       4
GridError            whoever owns the policy grid     4
ReceiptError         whoever handed over the receipt  4
RegistryError        whoever keeps the registry       4
SamplingError        the reviewer who samples         4
ExportError          whoever exports                  4
IdentityError        the person who acts, or enrols   5
SignatureError       the signer                       5
LedgerError          whoever keeps the ledger         5
WorkspaceError       whoever runs this                2
NotApproved          whoever exports                  3
DigestMismatch       whoever stored or moved files    6
RecomputationError   whoever computed the decision    7
===================  ===============================  =========
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from core.settings import SETTINGS
from core.text import shortened

_SHOWN: int = SETTINGS["text"]["raw_characters"]
"""A key or value of a million characters is named by its beginning."""
EXIT: dict[str, int] = dict(SETTINGS["exit_codes"])
"""Exit codes of the command line by name: done, fault, usage, refused, bad_input, not_authorised, files_differ, recomputed_differently."""


@dataclass(frozen=True, slots=True)
class Where:
    """The place an error is about. ``file`` is shown, never opened; ``line`` counts from 1."""

    file: str | None = None
    line: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        parts = []
        if self.file is not None:
            parts.append(self.file)
        if self.line is not None:
            parts.append(f"line {self.line}")
        if self.field is not None:
            parts.append(f"field {shortened(self.field, _SHOWN)}")
        return ", ".join(parts)


class CountersignError(Exception):
    """An error somebody can act on.

    Parameters: ``code`` (stable, snake_case), ``expected``, ``got`` and ``remedy`` (whole phrases, no final stop),
    ``where`` (optional place). ``got`` may quote untrusted text: printers pass it through ``core.text.visible``.
    """

    who: ClassVar[str] = "whoever runs this"
    exit_name: ClassVar[str] = "fault"

    def __init__(self, code: str, *, expected: str, got: str, remedy: str, where: Where | None = None) -> None:
        self.code, self.expected, self.got, self.remedy, self.where = code, expected, shortened(got, _SHOWN), shortened(remedy, _SHOWN), where
        super().__init__(code)

    @property
    def exit_code(self) -> int:
        return EXIT[self.exit_name]

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where is not None and str(self.where) else ""
        return f"[{self.code}] {place}expected {self.expected}; got {self.got}. To do ({self.who}): {self.remedy}."

    def as_dict(self) -> dict[str, object]:
        """The error as JSON members: what ``--json`` prints."""
        where = self.where or Where()
        return {
            "error": self.code, "who": self.who, "expected": self.expected, "got": self.got, "remedy": self.remedy,
            "file": where.file, "line": where.line, "field": None if where.field is None else shortened(where.field, _SHOWN),
            "exit_code": self.exit_code,
        }


class RoundError(CountersignError):
    """A file, row or id of a round cannot be read as what it claims to be."""

    who, exit_name = "supplier of the round", "bad_input"


class GridError(CountersignError):
    """A grid cannot be loaded: unknown or missing key, value out of bounds, unusable number."""

    who, exit_name = "owner of the grid", "bad_input"


class GridNotAccepted(GridError):
    """The grid is sound, but this workspace has not accepted it for deciding."""

    exit_name = "not_authorised"


class EngineRefusal(CountersignError):
    """The engine refuses the round, so it cannot be approved."""

    who, exit_name = "proposer of the round", "refused"


class ReceiptError(CountersignError):
    """A receipt, statement or envelope is not what it claims to be."""

    who, exit_name = "holder of the receipt", "bad_input"


class RegistryError(CountersignError):
    """The registry of persons cannot be loaded."""

    who, exit_name = "keeper of the registry", "bad_input"


class SamplingError(CountersignError):
    """A sample cannot be drawn, judged or read as asked."""

    who, exit_name = "reviewer who samples", "bad_input"


class ExportError(CountersignError):
    """The pairs cannot be written as asked: a shape cannot say one of them, a name is taken, an option does not fit."""

    who, exit_name = "person who exports", "bad_input"


class NotApproved(CountersignError):
    """No approval stands behind what was asked for."""

    who, exit_name = "person who exports", "refused"


class IdentityError(CountersignError):
    """A person may not do this: unknown, expired, wrong role, own round, id outside the grammar."""

    who, exit_name = "person who signs", "not_authorised"


class SignatureError(CountersignError):
    """A signature or key is refused."""

    who, exit_name = "person who signs", "not_authorised"


class LedgerError(CountersignError):
    """The ledger refuses an append, or is not the chain it claims to be."""

    who, exit_name = "keeper of the ledger", "not_authorised"


class LedgerFormatError(LedgerError):
    """The ledger file itself cannot be read as a ledger."""

    exit_name = "bad_input"


class WorkspaceError(CountersignError):
    """The folder named is no workspace."""

    exit_name = "usage"


class DigestMismatch(CountersignError):
    """Files differ from the manifest, or from the digests in a statement."""

    who, exit_name = "keeper of the files", "files_differ"


class RecomputationError(CountersignError):
    """Recomputing the decision gave another result than the receipt."""

    who, exit_name = "issuer of the receipt", "recomputed_differently"
