"""Pairs for tests of scoring and curation: rows as dicts, turned into the Arrow batches that a round gives."""
from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from core.schemas import PAIRS, TEXT

FIXTURES = Path(__file__).parent / "fixtures"
# pieces that rules of the normal forms begin, end or break at
MARKS = [
    "*", "**", "***", "`", "```py", "~~~", "#", "####### ", "> ", ">", "- ", "+ ", "\u2022 ", "1. ", "23) ", "1234. ", "[", "](", ")", "(", "]",
    "\n", "\n\n", "\r\n", "\r", "\x0b", "\x85", "\u2028", " ", "  ", "\t", "\xa0", "\u3000", "\x1c", "\x01", "\x7f", "\u200b", "\ufe0f",
    ".", "?!", "\u3002", ":", "'", '"', "\\", "\u201c", "\u2019", "\u2013", "_", "a", "B", "Word", "x1", "3", "-3",
    "\u00b2\u2075", "\u2082", "\u00bd", "\u00df", "\u03a3", "\uff21", "e\u0301", "\u0378", "\U0001f600",
    "3F2504E0-4f89-11d3-9a0c-0305e82c3301", "0" * 31, "deadbeef" * 4, "2026-11-29", "T15:30", " 15:30", ":00", ".125", "Z", "+05:30",
]
TEXTS = st.lists(st.sampled_from(MARKS), max_size=16).map("".join) | st.text(alphabet="*`[]()#>-+_~ \n\t\r'\"aB1.:", max_size=30)
"""Texts that are mostly such pieces."""


def oracle(name: str) -> dict[str, Any]:
    """One oracle file."""
    return json.loads((FIXTURES / "oracles" / f"{name}.json").read_text("utf-8"))


def pair(pair_id: str = "p1", **changed: Any) -> dict[str, Any]:
    """The base pair of the problem cases: margin 0.1 * (2 - (-6)) = 0.8, drift 2 / 20 = 0.1, ratio 1."""
    return {
        "pair_id": pair_id, "origin": "verified", "judge_id": None, "prompt": f"Ask {pair_id}", "chosen": f"Use a lock {pair_id}",
        "rejected": f"Write at once {pair_id}", "policy_logp_chosen": -20.0, "ref_logp_chosen": -22.0, "policy_logp_rejected": -30.0,
        "ref_logp_rejected": -24.0, "chosen_token_count": 20, "rejected_token_count": 20, "chosen_verified_pass": True,
        "rejected_tombstone_fail": True,
    } | changed


def batches_of(rows: Sequence[dict[str, Any]], start: int = 0) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """(PAIRS, TEXT) of some rows; ordinals count from ``start``."""
    numbered = [{"file": "pairs.jsonl", "line": start + place + 1} | row | {"ordinal": start + place} for place, row in enumerate(rows)]
    made = [
        pa.RecordBatch.from_pylist([{name: row.get(name) for name in schema.names} for row in numbered], schema=schema)
        for schema in (PAIRS, TEXT)
    ]
    return made[0], made[1]


@dataclass(frozen=True)
class Pairs:
    """A source of pairs that cuts its rows into batches of ``size``, whatever is asked for."""

    rows: Sequence[dict[str, Any]]
    size: int = 1000

    def narrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        table = pa.Table.from_batches([batches_of(self.rows)[0]])
        return table if columns is None else table.select(list(columns))

    def pair_batches(self, rows: int | None = None) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
        for start in range(0, len(self.rows), self.size):
            yield batches_of(self.rows[start: start + self.size], start)


def worked_example() -> list[dict[str, Any]]:
    """The pairs of the worked example's bundle, in the columns of a round."""
    bundle = json.loads((FIXTURES / "worked_example/bundle.json").read_text("utf-8"))
    rows = []
    for part, origin, judge in (("verified_candidates", "verified", None), ("synthetic_pairs", "synthetic", "calibrated")):
        for row in bundle[part]:
            renamed = {"chosen_verified": "chosen", "rejected_tombstone": "rejected"}
            rows.append({renamed.get(name, name): value for name, value in row.items()} | {"origin": origin, "judge_id": judge})
    return rows
