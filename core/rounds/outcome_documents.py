"""Whether both arms were asked the same: lm-eval writes a hash of each document, which is kept with the outcome."""
from __future__ import annotations

import json
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_KEY: Final = "doc_hash"


def differing_documents(outcomes: pa.Table) -> list[str]:
    """Ids whose ``doc_hash`` is not the same in all their outcomes, in the order of ids; outcomes without one say nothing."""
    hashed = outcomes.filter(pc.match_substring(outcomes["extra"], f'"{_KEY}"'))
    found: dict[str, set[str]] = {}
    for name, extra in zip(hashed["id"].to_pylist(), hashed["extra"].to_pylist(), strict=True):
        value = json.loads(extra).get(_KEY)
        if isinstance(value, str):
            found.setdefault(name, set()).add(value)
    return sorted(name for name, values in found.items() if len(values) > 1)
