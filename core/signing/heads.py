"""The heads of ledgers that this user saw last, kept outside the workspace: whoever can rewrite a workspace cannot make
its earlier state unseen. One small file a ledger under the user's state folder (``XDG_STATE_HOME``)."""
from __future__ import annotations

import os
from pathlib import Path

from core.canonical import canonical_bytes, parse_canonical, sha256_hex
from core.errors import ReceiptError
from core.files import replace_file
from core.settings import SETTINGS
from core.signing.ledger import Head, LedgerView


def state_folder() -> Path:
    """``$XDG_STATE_HOME/countersign/heads``, by default under ``~/.local/state``."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "countersign" / "heads"


def _file(of: str) -> Path:
    return state_folder() / f"{sha256_hex(of.encode())}.json"


def _read(of: str) -> Head | None:
    """A head remembered under a ledger's name or place; a file that cannot be read counts as none."""
    try:
        return Head.from_document(parse_canonical(_file(of).read_bytes(), error=ReceiptError))
    except (OSError, ReceiptError):
        return None


def check_remembered(view: LedgerView) -> None:
    """Compare with the head of this ledger seen last. Raises LedgerError ``ledger_truncated`` or ``ledger_rewritten``."""
    seen = None if view.origin is None else _read(view.origin)
    if seen is not None:
        view.check_against(seen, "your last visit")


def check_place(view: LedgerView, ledger_file: Path) -> None:
    """Compare with the ledger that was at this place last: an emptied or exchanged one has another name.
    Raises LedgerError ``another_ledger`` and the like."""
    seen = _read(str(ledger_file.resolve()))
    if seen is not None:
        view.check_against(seen, "your last visit to this place")


def remember(view: LedgerView, ledger_file: Path | None = None, *, replace: bool = False) -> bool:
    """Keep this head under the ledger's name, and under its place where ``ledger_file`` is given. What is remembered of a
    place gives way to another ledger only with ``replace``. False where the state folder cannot be written."""
    if view.origin is None:
        return True
    names = [view.origin]
    if ledger_file is not None:
        place = str(ledger_file.resolve())
        seen = _read(place)
        names += [place] if replace or seen is None or seen.origin == view.origin else []
    try:
        state_folder().mkdir(mode=SETTINGS["storage"]["directory_mode"], parents=True, exist_ok=True)
        for name in names:
            replace_file(_file(name), canonical_bytes(view.head.as_dict()))
    except OSError:
        return False
    return True
