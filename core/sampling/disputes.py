"""What a decision statement says about the pairs that its reviewer marked: those they dispute, by id, and how many they had seen."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from core.canonical import canonical_digest
from core.gates.assessment import Assessment
from core.rounds.folder import Round
from core.rounds.workspace import Workspace
from core.sampling.marks import Marks
from core.settings import SETTINGS


def disputes_coverage(workspace: Workspace, source: Round, assessment: Assessment, person: str) -> dict[str, Any] | None:
    """What ``person`` disputes among the pairs of a round, as JSON, in the order in which they were marked; None where the round
    has no pair that could be marked.

    ``pairs``: up to a limit, each with the state in which this assessment has it (null where it has no such pair);
    ``left_out``: how many more there are; ``sha256``: of all of them (``disputes_sha256``); ``seen``: how many pairs carry that
    mark. Raises SamplingError for marks that cannot be read, IdentityError for an id outside the grammar.
    """
    table, limit = assessment.reason_table, SETTINGS["sampling"]["statement_ids"]
    if table["in"] == table["quarantined"]:
        return None
    marked = Marks(workspace, source.digest, person).read()
    states = _states(assessment.scored_path, marked.disputed)
    pairs = [{"pair_id": pair_id, "state": states.get(pair_id)} for pair_id in marked.disputed]
    return {
        "count": len(pairs), "pairs": pairs[:limit], "left_out": max(0, len(pairs) - limit), "sha256": disputes_sha256(pairs),
        "seen": len(marked.seen),
    }


def disputes_sha256(pairs: list[dict[str, Any]]) -> str:
    """SHA-256 of the RFC 8785 list of [pair id, state] of the disputed pairs, in their order."""
    return canonical_digest([[pair["pair_id"], pair["state"]] for pair in pairs])


def _states(scored: Path, pair_ids: tuple[str, ...]) -> dict[str, str]:
    """State by pair id. Rows that share an id are all invalid records, so they are in one state."""
    if not pair_ids or not scored.is_file():
        return {}
    table = pq.read_table(scored, columns=["pair_id", "state"], filters=pc.field("pair_id").isin(list(pair_ids)))
    return {row["pair_id"]: row["state"] for row in table.to_pylist()}
