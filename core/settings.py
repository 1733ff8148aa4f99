"""Constants that steer no decision: storage, protocol and display (``settings.json``).

Numbers that steer a decision live in the grid and nowhere else; what the literal gate allows lives in
``literal_policy.json``. There is no fourth home for a number.
"""
from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType({key: _frozen(item) for key, item in value.items()})
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


SETTINGS: Final[Any] = _frozen(json.loads((Path(__file__).parent / "settings.json").read_text("utf-8")))
"""Read-only nested mapping, e.g. ``SETTINGS["storage"]["text_row_group"]``."""
