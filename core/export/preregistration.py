"""The pinned rules about the holdout as PRML manifests (``*.prml.yaml``): one claim a file, with the digest of the holdout.

PRML writes down metric, comparator and threshold before a test runs. The grid does the same for a whole round; these files say its
holdout rules in that form, so that a tool which knows PRML can read them. They are derived from the grid and change nothing.
"""
from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from core.canonical import sha256_hex
from core.export.provenance import Provenance
from core.export.safe_text import one_line, yaml_lines
from core.grid import Grid
from core.rounds.folder import Round
from core.rounds.manifest import utc_moment, utc_text
from core.settings import SETTINGS

_VERSION: Final = "prml/0.1"
_UUID: Final = SETTINGS["export"]["uuid_hex"]
_RULES: Final = (
    ("regression-rate", "regression_rate", "<=", "max_regression_rate"),
    ("sanity-retention", "sanity_retention_rate", ">=", "min_sanity_retention"),
    ("net-holdout-gain", "net_holdout_gain", ">=", "min_net_holdout_gain"),
)
"""(file, metric: a field of the receipt, comparator, grid key); a key that is off makes no claim."""


def manifests(provenance: Provenance) -> dict[str, str]:
    """File name -> PRML text for each holdout rule that the grid sets; none where the round has no holdout."""
    source, grid = provenance.source, provenance.grid
    if source.holdout_digest is None:
        return {}
    return {
        f"{name}.prml.yaml": "\n".join(yaml_lines(_manifest(source, grid, metric, comparator, key))) + "\n"
        for name, metric, comparator, key in _RULES if key in grid
    }


def _manifest(source: Round, grid: Grid, metric: str, comparator: str, key: str) -> Mapping[str, Any]:
    lock = source.manifest.holdout_lock
    stated = None if lock is None or lock.registered_at is None else utc_moment(lock.registered_at)
    moment = stated or source.manifest.created
    return {
        "version": _VERSION, "claim_id": _claim_id(moment, f"{grid.digest} {source.holdout_digest} {key}"), "created_at": utc_text(moment),
        "metric": metric, "comparator": comparator, "threshold": float(grid.fraction(key)),
        "dataset": {"id": _text(f"holdout of {source.manifest.round_id}"), "hash": source.holdout_digest}, "seed": 0,
        "producer": {"id": _text(source.manifest.proposers[0])},
    }


def _text(text: str) -> str:
    return unicodedata.normalize("NFC", one_line(text))


def _claim_id(moment: datetime, about: str) -> str:
    """A UUID of version 7, the one that PRML asks for: the moment in milliseconds, then digits that follow from what the claim is about."""
    milliseconds = (moment - datetime.fromtimestamp(0, UTC)) // timedelta(milliseconds=1)
    time, digest = f"{milliseconds:012x}", sha256_hex(about.encode())
    high, middle, low = _UUID
    return f"{time[:high]}-{time[high:]}-7{digest[:middle]}-a{digest[middle:middle + middle]}-{digest[-low:]}"
