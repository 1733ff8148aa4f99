"""Which columns a table may have, and what each may hold: one description for every input format.

A column is *required* when its key (or Parquet column) must be there, and *nullable* when null is a legal value. A
log-prob may be absent or null: such a pair is typed, and invalid later (``missing_logp``).
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

import pyarrow as pa

from core.schemas import FLAGS
from core.settings import SETTINGS

MAX_SAFE_INTEGER: Final[int] = SETTINGS["json"]["max_safe_integer"]
ID_CHARACTERS: Final[int] = SETTINGS["text"]["id_characters"]


class Kind(StrEnum):
    """What a column holds."""

    ID = "id"            # text, not empty
    TEXT = "text"
    CHOICE = "choice"    # one of a closed set of texts
    DOUBLE = "double"    # a JSON number, or an Arrow DOUBLE or integer
    INTEGER = "integer"  # a JSON integer without point or exponent, or an Arrow integer
    FLAG = "flag"        # true or false
    SIDE = "side"        # text, or a list of chat messages


ARROW_TYPES: Final[dict[Kind, pa.DataType]] = {
    Kind.ID: pa.string(), Kind.TEXT: pa.string(), Kind.CHOICE: pa.string(), Kind.DOUBLE: pa.float64(), Kind.INTEGER: pa.int64(),
    Kind.FLAG: pa.bool_(), Kind.SIDE: pa.string(),
}
_EXPECTED: Final[dict[Kind, str]] = {
    Kind.ID: "text that is not empty", Kind.TEXT: "text", Kind.DOUBLE: "a number", Kind.INTEGER: "an integer, written without point or exponent",
    Kind.FLAG: "true or false", Kind.SIDE: "text, or a list of messages",
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of an input table. ``default`` stands where the value is absent or null; ``code`` names a wrong type."""

    name: str
    kind: Kind
    required: bool = False
    nullable: bool = True
    choices: tuple[str, ...] = ()
    default: Any = None
    code: str = "wrong_type"

    @property
    def expected(self) -> str:
        """What the column may hold, in words."""
        words = f"one of {', '.join(self.choices)}" if self.choices else _EXPECTED[self.kind]
        return f"{words}, or null" if self.nullable and self.required else words


def _required(kind: Kind, *names: str, **more: Any) -> list[Column]:
    return [Column(name, kind, required=True, nullable=False, **more) for name in names]


def _optional(kind: Kind, *names: str) -> list[Column]:
    return [Column(name, kind) for name in names]


def _verdicts(*names: str) -> list[Column]:
    return [Column(name, Kind.FLAG, required=True) for name in names]


LOGPS: Final = ("policy_logp_chosen", "ref_logp_chosen", "policy_logp_rejected", "ref_logp_rejected")
SIDES: Final = ("prompt", "chosen", "rejected")

PAIR_COLUMNS: Final[tuple[Column, ...]] = (
    *_required(Kind.ID, "pair_id"), *_required(Kind.CHOICE, "origin", choices=("verified", "synthetic")), *_optional(Kind.ID, "judge_id"),
    *_required(Kind.SIDE, *SIDES), *_optional(Kind.DOUBLE, *LOGPS),
    *_required(Kind.INTEGER, "chosen_token_count", "rejected_token_count", code="bad_token_count"),
    *_verdicts(*FLAGS),
    *_optional(Kind.DOUBLE, "chosen_score", "rejected_score"), *_optional(Kind.TEXT, "task_id", "source"),
)
JUDGE_COLUMNS: Final[tuple[Column, ...]] = (
    *_required(Kind.ID, "judge_id", "case_id"), *_verdicts("rubric_approved", "verifier_passed"), *_optional(Kind.DOUBLE, "rubric_score"),
    *_optional(Kind.TEXT, "slice"), Column("order_swapped", Kind.FLAG, default=False), *_optional(Kind.TEXT, "choice"),
    *_optional(Kind.INTEGER, "length_first", "length_second"), *_optional(Kind.FLAG, "own_output"),
    *_optional(Kind.TEXT, "prompt", "response", "response_b", "rationale"),
)
OUTCOME_COLUMNS: Final[tuple[Column, ...]] = (
    *_required(Kind.ID, "id"), *_required(Kind.CHOICE, "arm", choices=("baseline", "candidate")), Column("run", Kind.INTEGER, default=0),
    *_verdicts("passed"), *_optional(Kind.TEXT, "slice", "cluster", "response"),
)
SANITY_COLUMNS: Final[tuple[Column, ...]] = (
    *_required(Kind.ID, "id"), *_required(Kind.FLAG, "passed"), *_optional(Kind.TEXT, "prompt", "response"),
)
RATING_COLUMNS: Final[tuple[Column, ...]] = tuple(_required(Kind.ID, "case_id", "rater_id", "label"))
BEHAVIOUR_COLUMNS: Final[tuple[Column, ...]] = (
    *_required(Kind.ID, "behaviour", "version", "test_version", "item_id"), Column("run", Kind.INTEGER, default=0), *_verdicts("passed"),
    *_optional(Kind.ID, "judge_id"), *_optional(Kind.FLAG, "contaminated", "gave_reward"),
)
ROLLOUT_COLUMNS: Final[tuple[Column, ...]] = (
    *_optional(Kind.ID, "task_id"), *_optional(Kind.INTEGER, "rollout"), *_optional(Kind.TEXT, "prompt", "response"),
    *_optional(Kind.DOUBLE, "reward"), *_optional(Kind.TEXT, "policy"), *_optional(Kind.DOUBLE, "policy_logp", "ref_logp"),
    *_optional(Kind.INTEGER, "token_count"), *_optional(Kind.TEXT, "finish_reason", "grader", "source"),
)
"""What a row of rollouts is made of. They are typed by their own reader, which knows other spellings and says why a reward is none."""
PART_COLUMNS: Final[dict[str, tuple[Column, ...]]] = {
    "judge_records": JUDGE_COLUMNS, "pairs": PAIR_COLUMNS, "outcomes": OUTCOME_COLUMNS, "sanity": SANITY_COLUMNS, "ratings": RATING_COLUMNS,
    "behaviours": BEHAVIOUR_COLUMNS, "rollouts": ROLLOUT_COLUMNS,
}

_MAY_LACK: Final = ("chosen_token_count", "rejected_token_count", *FLAGS)
FOREIGN_COLUMNS: Final[dict[str, tuple[Column, ...]]] = PART_COLUMNS | {
    "pairs": tuple(replace(column, required=False, nullable=True) if column.name in _MAY_LACK else column for column in PAIR_COLUMNS),
}
"""The columns for rows out of foreign formats, which know neither token counts nor verifier flags: what they lack is null, so that
the pair is typed and the gates say what is missing (``bad_token_count``, ``unverified``), as they do for a log-prob."""


class CellFault(Exception):
    """Why a value of a row cannot be typed; ``field`` is "" when the whole row is broken."""

    def __init__(self, field: str, code: str, expected: str, got: str) -> None:
        super().__init__(code)
        self.field, self.code, self.expected, self.got = field, code, expected, got


def stored_fields(columns: Sequence[Column]) -> list[pa.Field]:
    """The Arrow fields that a typed batch of these columns has: a side becomes text plus its messages; then ``extra``."""
    fields = [pa.field(column.name, ARROW_TYPES[column.kind]) for column in columns]
    fields += [pa.field(f"{column.name}_messages", pa.string()) for column in columns if column.kind is Kind.SIDE]
    return [*fields, pa.field("extra", pa.string())]


@dataclass(frozen=True, slots=True)
class RowFault:
    """Why a row cannot be typed. ``line`` counts from 1; ``field`` is "" when the whole row is broken; ``raw`` is the row as it came."""

    line: int
    field: str
    code: str
    expected: str
    got: str
    raw: str


@dataclass(frozen=True, slots=True)
class TypedBatch:
    """Rows that could be typed, with the line each came from, and those that could not. ``extra_names``: unknown columns kept."""

    file: str
    rows: pa.RecordBatch
    lines: pa.Array
    faults: tuple[RowFault, ...] = ()
    extra_names: frozenset[str] = frozenset()

    @property
    def read(self) -> int:
        """Input rows that this batch accounts for."""
        return int(self.rows.num_rows) + len(self.faults)


def names_of(columns: Iterable[Column]) -> list[str]:
    """The names of columns, in order."""
    return [column.name for column in columns]
