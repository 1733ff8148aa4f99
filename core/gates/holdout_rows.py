"""The outcomes of a round as arrays: both arms numbered by the holdout's items, with the cluster and the slice of each item."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from core.rounds.folder import Round
from core.statistics.arms import ArmRuns
from core.statistics.verdict import Gap

ARMS: Final = ("baseline", "candidate")


@dataclass(frozen=True, slots=True, eq=False)
class HoldoutRows:
    """``ids``: the items in holdout order, which the arms number. ``clusters``: a label for each item, one without any being its
    own; None where no row names a cluster. ``slices`` likewise, None for an item without one. ``gaps``: labels that contradict
    each other, in words.
    """

    ids: tuple[str, ...]
    baseline: ArmRuns
    candidate: ArmRuns
    clusters: tuple[tuple[str, str], ...] | None
    slices: tuple[str | None, ...] | None
    gaps: tuple[Gap, ...]


def holdout_rows(source: Round) -> HoldoutRows:
    """Read them. The round must have a holdout, and outcomes that fit it (the assessment says so)."""
    ids = tuple(str(item["id"]) for item in source.holdout_items())
    rows = source.table("outcomes", ["id", "arm", "run", "passed", "cluster", "slice"])
    baseline, candidate = (arm_runs(rows.filter(pc.equal(rows["arm"], arm)), ids) for arm in ARMS)
    clusters, gaps = item_clusters(rows, ids)
    slices, _ = item_labels(rows, "slice", ids)
    return HoldoutRows(ids, baseline, candidate, clusters, slices, gaps)


def arm_runs(rows: pa.Table, ids: Sequence[str]) -> ArmRuns:
    """One arm's rows, numbered by ``ids``."""
    place = pc.index_in(rows["id"], value_set=pa.array(ids, pa.string()))
    return ArmRuns(len(ids), place.to_numpy().astype("int64"), rows["run"].to_numpy(), rows["passed"].to_numpy(zero_copy_only=False).astype("bool"))


def item_labels(rows: pa.Table, column: str, ids: Sequence[str]) -> tuple[tuple[str | None, ...] | None, int]:
    """The label of each item in a column, the first in code-point order where rows differ, and of how many items they do; None
    where no row has one."""
    labelled = rows.filter(pc.is_valid(rows[column]))
    if not labelled.num_rows:
        return None, 0
    spans = labelled.group_by("id").aggregate([(column, "min"), (column, "max")])
    names, lowest, highest = (spans[name].to_pylist() for name in ("id", f"{column}_min", f"{column}_max"))
    found = dict(zip(names, lowest, strict=True))
    return tuple(found.get(item) for item in ids), sum(low != high for low, high in zip(lowest, highest, strict=True))


def item_clusters(rows: pa.Table, ids: Sequence[str]) -> tuple[tuple[tuple[str, str], ...] | None, tuple[Gap, ...]]:
    """A cluster for each item, one without any being its own; None where no row names any."""
    labels, differing = item_labels(rows, "cluster", ids)
    if labels is None:
        return None, ()
    text = f"rows of {differing:,} {'item' if differing == 1 else 'items'} name different clusters"
    gaps = (Gap("clusters_disagree", text),) if differing else ()
    return tuple(("item", item) if label is None else ("cluster", label) for item, label in zip(ids, labels, strict=True)), gaps
