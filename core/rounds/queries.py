"""What the pages ask about a round, answered by DuckDB from the round's Parquet files and nothing else.

``RoundQueries`` owns one locked-down in-memory database (``query_database``). Each method runs one named SQL file under
bound parameters and returns an Arrow table, or a small frozen record. Safe for many threads at once: every query has a
cursor of its own. Nothing signed comes from here: float means are for display, counts and sides of a bound come from
the reasons that the engine stored.
"""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import pyarrow as pa

from core.rounds.query_bins import BinPlan, BinRange, bin_parameters, plan_bins
from core.rounds.query_database import LockedDatabase
from core.schemas import JUDGE_RECORDS, OUTCOMES, QUARANTINE, REASONS, SANITY, SCORED, TEXT
from core.settings import SETTINGS

PAGE_ROWS: Final[int] = SETTINGS["display"]["page_rows"]
CELLS: Final = ("tp", "fp", "fn", "tn", "missing")
"""Cells of a judge's confusion table; ``missing`` = no usable verdict on one side."""
SORTS: Final = {
    "drift": ("drift", 1), "drift-high": ("drift", -1), "margin": ("margin", 1), "margin-high": ("margin", -1),
    "ratio": ("ratio", 1), "ratio-high": ("ratio", -1), "loss": ("loss", 1), "loss-high": ("loss", -1),
    "rank": ("rank", 1), "input": ("input", 1), "id": ("id", 1),
}
"""Orders of a list of pairs: figure and direction (1 lowest first). Ties, and pairs without the figure, go by pair id."""


@dataclass(frozen=True, slots=True)
class StateCounts:
    """Where every input row ended: the four add up to what came in."""

    admitted: int
    rejected: int
    held: int
    quarantined: int

    @property
    def total(self) -> int:
        """Input rows."""
        return self.admitted + self.rejected + self.held + self.quarantined


@dataclass(frozen=True, slots=True)
class Trap:
    """Rejected pairs that pass on margin and length while their chosen answer became less likely.

    Means are for display: nats for ``mean_margin``, nats per token for ``mean_drift``; None without pairs.
    """

    pairs: int
    mean_margin: float | None
    mean_drift: float | None
    chosen_fell: int
    both_fell: int


@dataclass(frozen=True, slots=True)
class PairFilter:
    """Which pairs a list shows; None = all. ``any_reason``: ``reason`` may also be a further reason, not the primary one.

    ``search`` looks in pair id, prompt and both answers, letter case ignored, as plain text. ``pair_id``: this pair alone,
    where it matches the rest.
    """

    state: str | None = None
    reason: str | None = None
    any_reason: bool = False
    origin: str | None = None
    judge_id: str | None = None
    search: str | None = None
    ranges: tuple[BinRange, ...] = ()
    pair_id: str | None = None


class RoundQueries:
    """Answers about one round and one assessment of it. A path that is None stands for a part that is not there.

    Parameters: ``scored_path`` from the assessment's folder, the others from the round's folder. Raises RoundError when a
    file is missing, unreadable, or lacks a column.
    """

    def __init__(
        self, *, scored_path: Path | None = None, text_path: Path | None = None, quarantine_path: Path | None = None,
        judge_records_path: Path | None = None, outcomes_path: Path | None = None, sanity_path: Path | None = None,
    ) -> None:
        self._database = LockedDatabase({
            "scored": (scored_path, SCORED), "texts": (text_path, TEXT), "quarantine": (quarantine_path, QUARANTINE),
            "judge_records": (judge_records_path, JUDGE_RECORDS), "outcomes": (outcomes_path, OUTCOMES), "sanity": (sanity_path, SANITY),
        })

    @classmethod
    def of_folders(cls, round_folder: Path, assessment_folder: Path | None) -> Self:
        """Queries over a round folder and, where there is one, an assessment's folder; parts that are absent are empty."""
        def part(folder: Path | None, name: str) -> Path | None:
            path = None if folder is None else folder / name
            return path if path is not None and path.exists() else None

        return cls(
            scored_path=part(assessment_folder, "scored.parquet"), text_path=part(round_folder, "text.parquet"),
            quarantine_path=part(round_folder, "quarantine.parquet"), judge_records_path=part(round_folder, "judge_records.parquet"),
            outcomes_path=part(round_folder, "outcomes.parquet"), sanity_path=part(round_folder, "sanity.parquet"),
        )

    def close(self) -> None:
        """Close the database. Safe to call twice."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _row(self, name: str, **parameters: Any) -> dict[str, Any]:
        row: dict[str, Any] = self._database.table(name, **parameters).to_pylist()[0]
        return row

    # pairs in numbers

    def state_counts(self) -> StateCounts:
        """How many rows were admitted, rejected, held and quarantined."""
        return StateCounts(**self._row("state_counts"))

    def reason_counts(self) -> pa.Table:
        """reason, primary_pairs (sums to the rejected total), all_pairs, held_pairs; one row each of REASONS, in order."""
        return self._database.table("reason_counts", reasons=list(REASONS))

    def invalid_counts(self) -> pa.Table:
        """sub_code, pairs: what is wrong with the invalid records."""
        return self._database.table("invalid_counts")

    def held_counts(self) -> pa.Table:
        """judge_id, held_check, pairs: whose pairs are held, and by which failing check."""
        return self._database.table("held_counts")

    def facets(self, state: str | None = None) -> pa.Table:
        """origin, judge_id, pairs: what a list of that state can be narrowed to."""
        return self._database.table("facets", state=state)

    def group_means(self) -> pa.Table:
        """Means by state over valid pairs, for display: see ``sql/group_means.sql``."""
        return self._database.table("group_means")

    def trap(self) -> Trap:
        """The pairs that look good by margin while their chosen answer became less likely."""
        return Trap(**self._row("trap"))

    def nearest(self) -> dict[str, float | None]:
        """The figure nearest to each bound on either side: ``margin_inside``, ``margin_outside``, ratio and drift alike."""
        return self._row("nearest")

    # charts

    def bin_plans(self, bounds: dict[str, float | None]) -> dict[str, BinPlan]:
        """Bins of each chart, from the round's own quantiles and the grid's bounds. A measure no pair has is left out."""
        self._database.prepare("figures")
        tail = SETTINGS["charts"]["tail"]
        return plan_bins(self._row("figure_spread", low=tail, high=1 - tail), bounds)

    def histograms(self, plans: dict[str, BinPlan], ranges: tuple[BinRange, ...] = (), *, judge_id: str | None = None) -> pa.Table:
        """measure, state, bin, side, pairs: the four charts in one pass, each narrowed by the ranges of the other three.

        ``judge_id``: only the synthetic pairs of that judge.
        """
        self._database.prepare("figures")
        return self._database.table("histograms", judge_id=judge_id, **bin_parameters(plans, ranges))

    # lists and single pairs

    def pair_page(self, chosen: PairFilter, plans: dict[str, BinPlan], *, sort: str = "input", page: int = 1) -> pa.Table:
        """Page ``page`` (from 1) of the pairs that match; column ``total`` = how many match. See ``sql/pair_page.sql``."""
        figure, sign = SORTS[sort]
        return self._database.table(
            "pair_page", state=chosen.state, reason=chosen.reason, any_reason=chosen.any_reason, origin=chosen.origin,
            judge_id=chosen.judge_id, search=chosen.search, pair_id=chosen.pair_id, sort=figure, sign=sign,
            **_page(page), **bin_parameters(plans, chosen.ranges),
        )

    def pair(self, pair_id: str) -> list[dict[str, Any]]:
        """The scored rows that carry ``pair_id``, in input order, each with ``shared_by``; more than one only where the id
        is shared (all of them invalid); none when the round has no such pair."""
        rows: list[dict[str, Any]] = self._database.table("pair", pair_id=pair_id, limit=PAGE_ROWS).to_pylist()
        return rows

    def pair_text(self, ordinal: int) -> dict[str, Any] | None:
        """The texts of the pair at that input position, or None."""
        rows = self._database.table("pair_text", ordinal=ordinal).to_pylist()
        return rows[0] if rows else None

    def quarantined(self, *, search: str | None = None, page: int = 1) -> pa.Table:
        """One page of the input rows that could not be typed, with ``total``."""
        return self._database.table("quarantine_page", search=search, **_page(page))

    # judges and holdout

    def judge_cells(self) -> pa.Table:
        """judge_id, cell, cases for every judge of the round."""
        return self._database.table("judge_cells")

    def judge_cases(self, judge_id: str, cell: str | None = None, *, page: int = 1) -> pa.Table:
        """One page of a judge's cases in a cell of its confusion table (None = all), with ``total``."""
        return self._database.table("judge_cases", judge_id=judge_id, cell=cell, **_page(page))

    def judge_case(self, judge_id: str, case_id: str) -> list[dict[str, Any]]:
        """One case with its texts: the row in given order first, then the swapped one where there is one."""
        rows: list[dict[str, Any]] = self._database.table("judge_case", judge_id=judge_id, case_id=case_id).to_pylist()
        return rows

    def outcome_items(self, ids: list[str]) -> pa.Table:
        """Passes and runs of those holdout items in both arms, in the order given."""
        return self._database.table("outcome_items", ids=ids)

    def outcome_item(self, item_id: str) -> list[dict[str, Any]]:
        """Every outcome of one holdout item, by arm and run."""
        rows: list[dict[str, Any]] = self._database.table("outcome_item", id=item_id).to_pylist()
        return rows

    def canaries(self, *, page: int = 1) -> pa.Table:
        """One page of the canaries, failed ones first, with ``total``."""
        return self._database.table("canaries", **_page(page))


def _page(page: int) -> dict[str, int]:
    return {"limit": PAGE_ROWS, "offset": (max(page, 1) - 1) * PAGE_ROWS}
