"""One remark about a round or about the reading of a file, and how a list of names is shortened."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from core.settings import SETTINGS
from core.text import first_of

SEVERITIES: Final = ("note", "warning")
_NAMED: Final[int] = SETTINGS["display"]["named_ids"]


@dataclass(frozen=True, slots=True)
class Note:
    """One remark. ``severity``: ``note`` (rare but right) or ``warning`` (probably a mistake, with what to do)."""

    code: str
    text: str
    severity: str = "note"

    def document(self) -> dict[str, str]:
        return {"severity": self.severity, "code": self.code, "text": self.text}


def warning(code: str, text: str) -> Note:
    """A note of severity ``warning``."""
    return Note(code, text, "warning")


def named(items: Iterable[str]) -> str:
    """The first few of a list, and how many more there are."""
    return first_of(list(map(repr, items)), _NAMED)
