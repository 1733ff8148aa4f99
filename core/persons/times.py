"""Times as they stand in statements and in the registry: UTC, to the second, ``2026-01-31T09:30:00Z``."""
from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

_FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"


def z_time(moment: datetime) -> str:
    """An aware time as text; fractions of a second are cut off."""
    if moment.tzinfo is None:
        raise TypeError("a naive datetime has no place in a statement: pass an aware one")
    return moment.astimezone(UTC).strftime(_FORMAT)


def parse_z_time(text: str) -> datetime | None:
    """The time of exactly this form, or None for any other text."""
    try:
        moment = datetime.strptime(text, _FORMAT).replace(tzinfo=UTC)
    except ValueError:
        return None
    # strptime takes single digits and other digits than 0-9: only one text is a time
    return moment if moment.strftime(_FORMAT) == text else None
