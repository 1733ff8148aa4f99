"""Pair curation: which candidate pairs train the next generation.

Three passes over a round: ids (which are used twice), texts and numbers (``score_batch``; the only time that text is read),
and the scored rows (``settled``, ``Tally``) once the duplicate step has ranked all candidates. Every pair ends in exactly one
place: in = admitted + rejected + held + quarantined. Nothing here depends on the order of the rows, on the size of the
batches or on the number of threads: counts are integers, means are exact rationals, and the ranking is a total order.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from core.errors import RoundError
from core.gates.cutoff import CutOffReport
from core.grid import DEDUP_KEYS, Grid
from core.pairs.columns import flags
from core.pairs.cutoff import CutOff
from core.pairs.cutoff_batch import CutCount
from core.pairs.dedup import resolve
from core.pairs.kernel import Gates, score_batch
from core.pairs.keys import quoted_column
from core.pairs.rules import CurationRules
from core.pairs.settle import CANDIDATES, ScoredSpill, candidates_of, settled
from core.pairs.tally import ORIGINS, Group, Tally, mean
from core.rounds.writers import RowGroupWriter
from core.schemas import INVALID_CODES, REASONS, SCORED
from core.settings import SETTINGS
from core.statistics.ratio import json_double, json_integer

SCORED_FILE: Final = "scored.parquet"
ADMITTED_FILE: Final = "admitted_pairs.json"
_JOINT: Final = DEDUP_KEYS[-1]
_STORAGE: Final = SETTINGS["storage"]

Progress = Callable[[int, int], None]
"""Called with (pairs scored, pairs in all)."""


class PairSource(Protocol):
    """Where pairs come from; ``core.rounds.folder.Round`` is one."""

    def narrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Some columns of PAIRS, all rows."""

    def pair_batches(self, rows: int | None = None) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
        """Aligned batches of PAIRS and TEXT, in the order of ``ordinal``."""


@dataclass(frozen=True, slots=True)
class SyntheticCounts:
    """Where the synthetic pairs of one judge went: total = invalid + held + passed_on (to the other reasons)."""

    judge_id: str | None
    invalid: int
    held: int
    passed_on: int

    @property
    def total(self) -> int:
        return self.invalid + self.held + self.passed_on

    @property
    def valid(self) -> int:
        """Pairs that the judge's gate decides about."""
        return self.held + self.passed_on

    def as_dict(self) -> dict[str, object]:
        return {"judge_id": self.judge_id, "total": self.total, "invalid": self.invalid, "held": self.held, "passed_on": self.passed_on}


@dataclass(frozen=True, slots=True)
class HeldCount:
    """Pairs held by one check of one judge's gate; ``judge_id`` is None for pairs that name no judge."""

    judge_id: str | None
    check: str
    pairs: int

    def as_dict(self) -> dict[str, object]:
        return {"judge_id": self.judge_id, "check": self.check, "pairs": self.pairs}


@dataclass(frozen=True, slots=True)
class Means:
    """Means of a group of pairs, for display: ``math.fsum`` over n. None for an empty group."""

    pairs: int
    margin: float | None
    drift: float | None
    rpo_loss: float | None

    @classmethod
    def of(cls, group: Group) -> Means:
        return cls(group.pairs, mean(group.margin), mean(group.drift), mean(group.rpo_loss))

    def as_dict(self) -> dict[str, object]:
        return {"pairs": self.pairs, **{name: json_double(getattr(self, name)) for name in ("margin", "drift", "rpo_loss")}}


@dataclass(frozen=True)
class Curation:
    """What curation found, whole. Counts are pairs; means of admitted pairs are exact, in nats; None where none is admitted.

    ``counts``: in, admitted, rejected, held, quarantined. ``primary_reasons``: rejected pairs by primary reason;
    ``all_reasons``: rejected pairs by every reason that applies; ``held_reasons``: the same for held pairs, apart.
    ``sub_codes``: invalid pairs by their first sub-code; ``all_sub_codes``: by every one. ``collapsed`` of ``judged``:
    pairs that carry ``logp_collapse`` (primary or not) of those neither invalid, unverified nor held. ``valid_means``:
    valid pairs by origin. ``trap``: pairs whose primary reason is ``logp_collapse``; ``trap_positive`` of them have a margin
    above the grid's bound, so a margin alone would have let them through. ``duplicate_keys``: rejected duplicates by the keys that they
    share with an admitted pair, the names of a combination in the order of the grid. ``cutoff``: what a declared training cut-off
    makes of the admitted pairs; None where none is declared.
    """

    counts: Mapping[str, int]
    primary_reasons: Mapping[str, int]
    all_reasons: Mapping[str, int]
    held_reasons: Mapping[str, int]
    sub_codes: Mapping[str, int]
    all_sub_codes: Mapping[str, int]
    held_by: tuple[HeldCount, ...]
    synthetic: Mapping[str | None, SyntheticCounts]
    admitted_ids: pa.Array
    mean_margin: Fraction | None
    mean_loss: Fraction | None
    lowest_admitted_drift: Fraction | None
    lowest_admitted_drift_pair: str | None
    collapsed: int
    judged: int
    valid_means: Mapping[str, Means]
    trap: Means
    trap_positive: int
    duplicate_keys: Mapping[tuple[str, ...], int]
    cutoff: CutOffReport | None = None

    @property
    def admitted(self) -> int:
        return self.counts["admitted"]

    @cached_property
    def admitted_pair_ids(self) -> tuple[str, ...]:
        """Ids of the admitted pairs, best first (quantised loss, then id)."""
        return tuple(self.admitted_ids.to_pylist())

    def as_dict(self) -> dict[str, object]:
        """JSON members; the admitted ids stand in admitted_pairs.json."""
        lowest = None if self.lowest_admitted_drift is None else _rational(self.lowest_admitted_drift) | {"pair_id": self.lowest_admitted_drift_pair}
        return {
            "counts": dict(self.counts), "primary_reasons": dict(self.primary_reasons), "all_reasons": dict(self.all_reasons),
            "held_reasons": dict(self.held_reasons), "sub_codes": dict(self.sub_codes), "all_sub_codes": dict(self.all_sub_codes),
            "held_by": [held.as_dict() for held in self.held_by], "synthetic": [counts.as_dict() for counts in self.synthetic.values()],
            "mean_margin": None if self.mean_margin is None else _rational(self.mean_margin),
            "mean_loss": None if self.mean_loss is None else _rational(self.mean_loss),
            "lowest_admitted_drift": lowest, "collapsed": self.collapsed, "judged": self.judged,
            "valid_means": {name: means.as_dict() for name, means in self.valid_means.items()},
            "trap": self.trap.as_dict() | {"positive_margin": self.trap_positive},
            "duplicate_keys": [{"keys": list(keys), "pairs": pairs} for keys, pairs in self.duplicate_keys.items()],
        }


def _rational(value: Fraction) -> dict[str, object]:
    return {"numerator": json_integer(value.numerator), "denominator": json_integer(value.denominator), "value": json_double(value)}


class IterativeRpoPairCurator:
    """Curates the pairs of a round under one grid (Iterative RPO, arXiv:2404.19733)."""

    def __init__(self, grid: Grid) -> None:
        self.rules = CurationRules.from_grid(grid)

    def curate(
        self, source: PairSource, *, quarantined: int, gates: Gates, destination: Path | None, progress: Progress | None = None,
        cutoff: CutOff | None = None,
    ) -> Curation:
        """Score, rank and settle all pairs.

        Parameters: ``source``, a round; ``quarantined``, how many pair rows its ingest could not type; ``gates``, judge_id ->
        (open, failing check); ``destination``, an existing folder for scored.parquet and admitted_pairs.json, or None;
        ``progress``, called after each batch; ``cutoff``, the round's declared training cut-off. Raises RoundError for rows that
        no ingest writes.
        """
        ids = source.narrow(["pair_id"])["pair_id"]
        repeated = _repeated(ids)
        tally, cuts = Tally(self.rules), None if cutoff is None else CutCount(cutoff)
        with ScoredSpill(destination) as spill:
            found = []
            for scored in self._scored(source, gates, repeated, len(ids), progress, cuts):
                spill.write(scored)
                found.append(candidates_of(scored))
            candidates = pa.Table.from_batches(found, CANDIDATES)
            resolution = resolve(candidates, self.rules.enforced_keys)
            final = settled(spill.batches(), candidates, resolution, _STORAGE["narrow_row_group"])
            _settle(final, tally, destination)
        admitted = candidates.select(["pair_id", _JOINT]).take(pa.array(resolution.admitted))
        if destination is not None:
            _write_admitted(admitted, destination / ADMITTED_FILE)
        report = None if cuts is None else CutOffReport.of(cuts, resolution.admitted)
        return _curation(tally, quarantined, len(ids), admitted["pair_id"].combine_chunks(), report)

    def _scored(
        self, source: PairSource, gates: Gates, repeated: Any, total: int, progress: Progress | None, cuts: CutCount | None,
    ) -> Iterator[pa.RecordBatch]:
        done = 0
        for narrow, text in source.pair_batches(_STORAGE["batch_rows"]):
            for start, stop in _portions(text):
                rows, texts = narrow.slice(start, stop - start), text.slice(start, stop - start)
                scored = score_batch(rows, texts, self.rules, gates, repeated)
                if cuts is not None:
                    # the candidates of the duplicate step, in their order
                    cuts.add(rows, texts, flags(pc.equal(scored["state"], "admitted")))
                yield scored
            done += narrow.num_rows
            if progress is not None:
                progress(done, total)


def _repeated(ids: Any) -> Any:
    """Ids that more than one row has."""
    counts = pc.value_counts(ids)
    return counts.field("values").filter(pc.greater(counts.field("counts"), 1))


def _portions(text: pa.RecordBatch) -> Iterator[tuple[int, int]]:
    """Row ranges of a batch whose texts stay below ``batch_bytes`` (one row may be larger): long answers must not
    multiply into gigabytes, nor reach the two gigabytes that an Arrow string column can hold."""
    pending = [(0, text.num_rows)]
    while pending:
        start, stop = pending.pop()
        if stop - start > 1 and text.slice(start, stop - start).nbytes > _STORAGE["batch_bytes"]:
            middle = start + ((stop - start) >> 1)
            pending += [(middle, stop), (start, middle)]
        elif stop > start:
            yield start, stop


def _settle(final: Iterator[pa.RecordBatch], tally: Tally, destination: Path | None) -> None:
    if destination is None:
        for batch in final:
            tally.add(batch)
        return
    with RowGroupWriter(destination / SCORED_FILE, SCORED, _STORAGE["narrow_row_group"]) as writer:
        for batch in final:
            tally.add(batch)
            writer.write(batch)


def _write_admitted(admitted: pa.Table, path: Path) -> None:
    """RFC 8785 list of {"joint_transition_pair_sha256", "pair_id"} in rank order, a piece at a time."""
    with path.open("wb") as file:
        file.write(b"[")
        for start in range(0, len(admitted), _STORAGE["narrow_row_group"]):
            rows = admitted.slice(start, _STORAGE["narrow_row_group"]).combine_chunks()
            joint, ids = (pa.concat_arrays(rows[name].chunks) for name in (_JOINT, "pair_id"))
            objects = pc.binary_join_element_wise(f'{{"{_JOINT}":"', joint, '","pair_id":', quoted_column(ids), "}", "")
            file.write((b"," if start else b"") + ",".join(objects.to_pylist()).encode())
        file.write(b"]")


def _curation(tally: Tally, quarantined: int, rows: int, admitted_ids: pa.Array, cutoff: CutOffReport | None) -> Curation:
    ends = {name: tally.states[name] for name in ("admitted", "rejected", "held")} | {"quarantined": quarantined}
    if sum(ends.values()) != rows + quarantined or ends["rejected"] != sum(tally.primary.values()):
        raise RoundError(
            "counts_do_not_add_up", expected=f"{rows + quarantined} pairs in all", got=f"{sum(ends.values())} ({ends})",
            remedy="restore the round folder as it was published",
        )
    judges = sorted({judge for judge, _ in tally.synthetic}, key=lambda judge: (judge is None, judge or ""))
    held_by = sorted(tally.held_by.items(), key=lambda item: (item[0][0] is None, item[0][0] or "", item[0][1]))
    return Curation(
        counts={"in": rows + quarantined, **ends},
        primary_reasons={reason: tally.primary[reason] for reason in REASONS},
        all_reasons={reason: tally.rejected_reasons[reason] for reason in REASONS},
        held_reasons={reason: tally.held_reasons[reason] for reason in REASONS},
        sub_codes={code: tally.sub_code[code] for code in INVALID_CODES},
        all_sub_codes={code: tally.sub_codes[code] for code in INVALID_CODES},
        held_by=tuple(HeldCount(judge, check, pairs) for (judge, check), pairs in held_by),
        synthetic={
            judge: SyntheticCounts(judge, *(tally.synthetic[judge, outcome] for outcome in ("invalid", "held", "passed_on"))) for judge in judges
        },
        admitted_ids=admitted_ids, mean_margin=tally.mean_margin, mean_loss=tally.mean_loss,
        lowest_admitted_drift=None if tally.lowest is None else tally.lowest.value,
        lowest_admitted_drift_pair=None if tally.lowest is None else tally.lowest.pair_id,
        collapsed=tally.collapsed, judged=tally.judged,
        valid_means={origin: Means.of(tally.valid[origin]) for origin in ORIGINS},
        trap=Means.of(tally.trapped), trap_positive=tally.trapped_positive,
        duplicate_keys={keys: tally.duplicate_keys[keys] for keys in sorted(tally.duplicate_keys, key=_key_order)}, cutoff=cutoff,
    )


def _key_order(keys: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(DEDUP_KEYS.index(key) for key in keys)
