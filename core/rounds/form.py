"""Whether a round folder is one that ingest could have written. Digests tell that a file was not changed since; they do not
tell who wrote it. What the gates rely on (every item, canary and record once, as many rows as the manifest says) is checked
here, so that a folder put together by hand is refused and cannot dilute a rate or misstate a count.
"""
from __future__ import annotations

from typing import Final, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.canonical import parse_canonical
from core.errors import RoundError, Where
from core.rounds.folder import HOLDOUT_FILE, PAIRS_FILE, TEXT_FILE, Round
from core.rounds.repeats import BEHAVIOUR_KEY
from core.rounds.rollout_faults import PART as ROLLOUTS
from core.rounds.rollout_faults import REASONS
from core.rounds.source import holdout_items
from core.rounds.typing_rows import RawRow

_COLUMNS: Final = {
    "judge_records": ("judge_id", "case_id", "order_swapped"), "outcomes": ("arm",), "sanity": ("id",), "ratings": ("case_id", "rater_id"),
    "behaviours": BEHAVIOUR_KEY, "quarantine": ("line",),
}
"""The columns of each table that are looked at."""
_ONCE: Final = ("judge_records", "sanity", "ratings", "behaviours")
"""Parts whose rows are unique by those columns. Outcomes said twice are found by the gate, which names the item."""
_ARMS: Final = ("baseline", "candidate")


def check_form(source: Round) -> None:
    """Return when the gates may rely on this round. Raises RoundError ``not_as_ingested``, or what ingest raises for a holdout."""
    for part in _COLUMNS:
        if part == "quarantine" or source.has(part):
            _check_table(source, part)
    if source.has("pairs"):
        _check_pairs(source)
    if source.has("holdout"):
        _check_holdout(source)
    if source.has(ROLLOUTS):
        _check_rollouts(source)


def _refuse(file: str, expected: str, got: str) -> NoReturn:
    raise RoundError(
        "not_as_ingested", expected=expected, got=got, remedy="ingest the proposer's own files again; a round folder is not made by hand",
        where=Where(file),
    )


def _check_table(source: Round, part: str) -> None:
    name, columns = f"{part}.parquet", list(_COLUMNS[part])
    table = source.table(part, columns)
    _check_rows(source, name, table.num_rows)
    if part in _ONCE and table.group_by(columns).aggregate([]).num_rows < table.num_rows:
        _refuse(name, f"each {', '.join(columns)} once", "one twice")
    if part == "outcomes" and not pc.all(pc.is_in(table["arm"], pa.array(_ARMS)), min_count=0).as_py():
        _refuse(name, f"the arms {' and '.join(_ARMS)}", "another one")


def _check_pairs(source: Round) -> None:
    ordinals = source.narrow(["ordinal"])["ordinal"]
    _check_rows(source, PAIRS_FILE, len(ordinals))
    if source.manifest.files[TEXT_FILE].rows != len(ordinals):
        _refuse(TEXT_FILE, f"{len(ordinals)} rows, as many as the pairs", str(source.manifest.files[TEXT_FILE].rows))
    if not np.array_equal(ordinals.to_numpy(), np.arange(len(ordinals))):
        _refuse(PAIRS_FILE, "ordinals that count from 0", "others")


def _check_rollouts(source: Round) -> None:
    """A rollout without a fault has a reward and a reply: pairing relies on both."""
    name, rows = f"{ROLLOUTS}.parquet", 0
    for batch in source.batches(ROLLOUTS, ("ordinal", "fault", "reward", "response")):
        if not np.array_equal(batch["ordinal"].to_numpy(), np.arange(rows, rows + batch.num_rows)):
            _refuse(name, "ordinals that count from 0", "others")
        rows += batch.num_rows
        if not pc.all(pc.is_in(batch["fault"].drop_null(), pa.array(REASONS)), min_count=0).as_py():
            _refuse(name, f"the faults {', '.join(REASONS)}", "another one")
        lacks = pc.and_(pc.is_null(batch["fault"]), pc.or_(pc.is_null(batch["reward"]), pc.is_null(batch["response"])))
        if pc.any(lacks, min_count=0).as_py():
            _refuse(name, "a reward and a reply, or a fault", "neither")
    _check_rows(source, name, rows)


def _check_holdout(source: Round) -> None:
    place = Where(HOLDOUT_FILE)
    items = parse_canonical(source.holdout_bytes(), where=place)
    if not isinstance(items, list):
        _refuse(HOLDOUT_FILE, "a list", type(items).__name__)
    holdout_items((RawRow(line, item, "") for line, item in enumerate(items, start=1)), lambda line: (place, f"[{line - 1}]"))
    _check_rows(source, HOLDOUT_FILE, len(items))


def _check_rows(source: Round, name: str, found: int) -> None:
    stated = source.manifest.files[name].rows
    if stated != found:
        _refuse(name, f"{stated} rows, as round.json says", str(found))
