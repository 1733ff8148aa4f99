"""A table of behaviours over model versions as people have it (JSON list, JSON lines, Parquet), and what is known of who graded.

Typed as strictly as the tables of a round: one bad row refuses the file, with its line and field. The document about it names
judges and contamination; what it leaves out is unknown, and unknown is a gap of every claim that rests on it.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa

from core.canonical import parse_json
from core.errors import GridError, RoundError, Where
from core.gates.behaviour_versions import HistoryPoint, VersionComparison, behaviour_history, compare_versions, measurements_of
from core.gates.behaviours import ClaimPolicy, Grader, Measurement
from core.gates.strength_rules import LEVEL_KEYS, Levels
from core.grid import Grid
from core.rounds.columns import BEHAVIOUR_COLUMNS
from core.rounds.readers import json_list
from core.rounds.readers.loose import typed_file
from core.rounds.strict import Reader, document_reader, nearest
from core.statistics.arms import Reducer
from core.statistics.ratio import Ratio

_ABOUT: Final = ("judges", "contamination")
_JUDGE: Final = ("agreed", "cases", "gave_reward")
_REDUCERS: Final[Mapping[str, Reducer]] = {"majority": "majority", "all": "all", "any": "any"}


@dataclass(frozen=True, slots=True)
class About:
    """``graders``: judge id -> what is known; ``contamination``: (behaviour, version) -> test items found in the training data."""

    graders: Mapping[str, Grader] = field(default_factory=dict)
    contamination: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BehaviourTable:
    """The measurements of a file; ``versions`` and ``behaviours`` in the order in which the file names them."""

    measurements: tuple[Measurement, ...]
    versions: tuple[str, ...]
    behaviours: tuple[str, ...]


def read_behaviours(path: Path, about: About) -> BehaviourTable:
    """Read a table. Raises RoundError for a form that is none of the three, a row that cannot be typed, or no row at all."""
    batches = [batch.rows for batch in typed_file(path, BEHAVIOUR_COLUMNS) if batch.rows.num_rows]
    if not batches:
        raise RoundError("no_behaviours", expected="at least one outcome", got="none", remedy="write one row an item and run", where=Where(path.name))
    table = pa.Table.from_batches(batches)
    found = measurements_of(table, graders=about.graders, contamination=about.contamination)
    versions, behaviours = (tuple(dict.fromkeys(table[name].to_pylist())) for name in ("version", "behaviour"))
    return BehaviourTable(found, versions, behaviours)


def read_about(path: Path) -> About:
    """Read the document about a table: ``{"judges": {ID: {"agreed": n, "cases": n, "gave_reward": bool}}, "contamination":
    {BEHAVIOUR: {VERSION: items}}}``. Raises RoundError for anything else."""
    document = document_reader(parse_json(json_list.read_bytes(path, path.name), where=Where(path.name)), path.name)
    document.keys(_ABOUT, ())
    judges = document.object("judges") if document.has("judges") else None
    found = document.object("contamination") if document.has("contamination") else None
    graders = {} if judges is None else {name: _grader(name, judges.object(name)) for name in judges.value}
    contamination = {} if found is None else {
        (behaviour, version): _count(found.object(behaviour), version) for behaviour in found.value for version in found.object(behaviour).value
    }
    return About(graders, contamination)


def _grader(name: str, judge: Reader) -> Grader:
    judge.keys(_JUDGE, ())
    agreement = None
    if judge.has("agreed") or judge.has("cases"):
        agreed, cases = _count(judge, "agreed"), _count(judge, "cases")
        if not cases or agreed > cases:
            judge.refuse("agreed", "not_a_share", f"from 0 to {cases:,} of at least one case", f"{agreed:,} of {cases:,}", "correct the counts")
        agreement = Ratio(agreed, cases)
    reward = judge.value.get("gave_reward")
    if reward is not None and not isinstance(reward, bool):
        judge.refuse("gave_reward", "wrong_type", "true or false", repr(reward), "correct the value")
    return Grader("model", name, agreement, bool(reward))


def _count(reader: Reader, key: str) -> int:
    value = reader.integer(key)
    if value < 0:
        reader.refuse(key, "invalid_count", "an integer of at least 0", str(value), "correct the count")
    return value


def claim_policy(grid: Grid) -> ClaimPolicy:
    """What a grid asks of a claim; a grading judge is held to ``min_exact_agreement``. Raises GridError for a grid of schema 1."""
    levels = Levels.of(grid)
    if levels is None:
        raise GridError(
            "missing_key", expected=f"the keys {', '.join(LEVEL_KEYS)}", got="a grid of an earlier schema", remedy="use a grid that sets them",
            where=Where(field=LEVEL_KEYS[0]),
        )
    return ClaimPolicy(
        levels.alpha, levels.confidence, levels.power, grid.fraction("min_exact_agreement"), None, _REDUCERS[grid.name_of("outcome_run_reducer")],
    )


def compare(
    table: BehaviourTable, served: str, candidate: str, *, primary: str | None, guarded: tuple[str, ...], policy: ClaimPolicy,
) -> tuple[VersionComparison, dict[str, tuple[HistoryPoint, ...]]]:
    """Two versions on every behaviour, and each behaviour over the versions of the file.

    ``primary`` may be None where the file has one behaviour. Raises RoundError (``unknown_version``, ``unknown_behaviour``,
    ``no_primary``).
    """
    for option, name in (("--served", served), ("--candidate", candidate)):
        known_name(option, name, table.versions, "version")
    for option, name in (*((("--primary", primary),) if primary is not None else ()), *(("--guard", name) for name in guarded)):
        known_name(option, name, table.behaviours, "behaviour")
    if primary is None and len(table.behaviours) > 1:
        raise RoundError("no_primary", expected=f"one of {', '.join(table.behaviours)}", got="nothing", where=Where(field="--primary"),
                         remedy="say beforehand which behaviour the claim is about: it alone is tested without a correction")
    chosen = table.behaviours[0] if primary is None else primary
    compared = compare_versions(table.measurements, served, candidate, primary=chosen, guarded=guarded, policy=policy)
    return compared, {name: behaviour_history(table.measurements, name, table.versions, policy) for name in table.behaviours}


def known_name(option: str, name: str, names: tuple[str, ...], what: str) -> None:
    """Return for a name that is there. Raises RoundError ``unknown_<what>`` naming the option."""
    if name not in names:
        near = nearest(name, names)
        raise RoundError(f"unknown_{what}", expected=f"a {what} that was measured: {', '.join(names)}", got=repr(name),
                         remedy=f"did you mean {near}?" if near else "name one of these", where=Where(field=option))
