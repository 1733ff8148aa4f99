"""``worked-example``: the specification's one-file bundle, byte for byte."""
from __future__ import annotations

from builders.sources import raw_bytes

FILE = "worked-example.json"
_CREATED_AT = "2026-11-02T09:00:00Z"


def bundle_bytes() -> bytes:
    """The bundle as it is stored and read: ``countersign ingest`` and ``python -m iterative_rpo_flywheel`` take it as it is."""
    return raw_bytes("worked_example/bundle.json.gz")


def index_entry() -> dict[str, str]:
    """A bundle does not say when its round was made, so the index does."""
    return {"round_id": "worked-example", "source": FILE, "created_at": _CREATED_AT}
