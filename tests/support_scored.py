"""Small scored rounds written by hand: rows of SCORED and TEXT as the engine would store them, with every figure given."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from core.schemas import SCORED, TEXT

_FIGURES = {
    "margin": 0.5, "drift": 0.1, "length_ratio": 1.0, "longer_side": None, "rpo_loss": 1.0, "nll_per_token": 0.5,
    "policy_logp_chosen": -20.0, "ref_logp_chosen": -22.0, "policy_logp_rejected": -30.0, "ref_logp_rejected": -27.0,
    "chosen_token_count": 20, "rejected_token_count": 20, "chosen_verified_pass": True, "rejected_tombstone_fail": True,
}


def scored_rows(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """SCORED rows. Each mapping names what matters; ``reasons`` makes a rejected row, whose primary reason is the first."""
    filled = []
    for ordinal, given in enumerate(rows):
        row: dict[str, Any] = dict.fromkeys(SCORED.names) | _FIGURES
        reasons = list(given.get("reasons", []))
        row |= {"ordinal": ordinal, "pair_id": f"p{ordinal}", "origin": "verified", "state": "rejected" if reasons else "admitted"}
        row |= dict(given)
        row["reasons"] = reasons
        row["primary_reason"] = reasons[0] if reasons and row["state"] == "rejected" else None
        row["sub_codes"] = [row["sub_code"]] if row["sub_code"] else []
        filled.append(row)
    return pa.Table.from_pylist(filled, schema=SCORED)


def write_scored(folder: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """``scored.parquet`` in ``folder``."""
    path = folder / "scored.parquet"
    pq.write_table(scored_rows(rows), path)
    return path


def write_texts(folder: Path, texts: Iterable[tuple[str, str, str]]) -> Path:
    """``text.parquet`` in ``folder``: (prompt, chosen, rejected) in input order."""
    rows = [{"ordinal": n, "prompt": p, "chosen": c, "rejected": r} for n, (p, c, r) in enumerate(texts)]
    path = folder / "text.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=TEXT), path, row_group_size=2)
    return path
