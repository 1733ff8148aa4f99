"""Arrow schemas of a round's parts, and of what the engine stores beside it. The only home of column names and types.

A round folder holds text apart from numbers: ``pairs.parquet`` is narrow (a million rows fit in memory),
``text.parquet`` has small row groups, so that one page of texts is read without the rest.
"""
from __future__ import annotations

from typing import Final

import pyarrow as pa

_TEXT, _BOOL, _INT, _DOUBLE = pa.string(), pa.bool_(), pa.int64(), pa.float64()


def _schema(required: dict[str, pa.DataType], optional: dict[str, pa.DataType]) -> pa.Schema:
    fields = [pa.field(name, kind, nullable=False) for name, kind in required.items()]
    return pa.schema(fields + [pa.field(name, kind) for name, kind in optional.items()])


PAIRS: Final = _schema(
    {"ordinal": _INT, "pair_id": _TEXT, "origin": _TEXT},
    {
        "judge_id": _TEXT, "policy_logp_chosen": _DOUBLE, "ref_logp_chosen": _DOUBLE, "policy_logp_rejected": _DOUBLE,
        "ref_logp_rejected": _DOUBLE, "chosen_token_count": _INT, "rejected_token_count": _INT, "chosen_verified_pass": _BOOL,
        "rejected_tombstone_fail": _BOOL, "chosen_score": _DOUBLE, "rejected_score": _DOUBLE, "task_id": _TEXT, "source": _TEXT,
        "file": _TEXT, "line": _INT, "extra": _TEXT,
    },
)
"""Narrow part of the pairs: everything but text. ``ordinal`` = position among the typed rows in input order, from 0
without gaps; ``file``/``line`` = where the row came from (line of a JSONL file; else its position in the list or table,
from 1); ``extra`` = RFC 8785 object of unknown columns, or null."""

TEXT: Final = _schema(
    {"ordinal": _INT, "prompt": _TEXT, "chosen": _TEXT, "rejected": _TEXT},
    {"prompt_messages": _TEXT, "chosen_messages": _TEXT, "rejected_messages": _TEXT},
)
"""Texts of the pairs, byte-exact, same rows and order as PAIRS. ``*_messages`` = the RFC 8785 bytes of a message list
where the side was given as one; then ``prompt``/``chosen``/``rejected`` hold its flattened text (spec: engine rules 3)."""

JUDGE_RECORDS: Final = _schema(
    {"judge_id": _TEXT, "case_id": _TEXT, "order_swapped": _BOOL},
    {
        "rubric_approved": _BOOL, "verifier_passed": _BOOL, "rubric_score": _DOUBLE, "slice": _TEXT, "choice": _TEXT,
        "length_first": _INT, "length_second": _INT, "own_output": _BOOL, "prompt": _TEXT, "response": _TEXT, "response_b": _TEXT,
        "rationale": _TEXT, "extra": _TEXT,
    },
)
OUTCOMES: Final = _schema(
    {"id": _TEXT, "arm": _TEXT, "run": _INT},
    {"passed": _BOOL, "slice": _TEXT, "cluster": _TEXT, "response": _TEXT, "extra": _TEXT},
)
SANITY: Final = _schema({"id": _TEXT, "passed": _BOOL}, {"prompt": _TEXT, "response": _TEXT, "extra": _TEXT})
BEHAVIOURS: Final = _schema(
    {"behaviour": _TEXT, "version": _TEXT, "test_version": _TEXT, "item_id": _TEXT, "run": _INT},
    {"passed": _BOOL, "judge_id": _TEXT, "contaminated": _BOOL, "gave_reward": _BOOL, "extra": _TEXT},
)
"""Outcomes of named behaviours over model versions. ``passed`` is null where nothing was graded, ``judge_id`` where a program graded.
``contaminated``: the item was found in the training data of that version (null: nobody looked); ``gave_reward``: the grader's scores
were also the training reward of that version (null: not stated). They feed no gate."""
QUARANTINE: Final = _schema(
    {"part": _TEXT, "file": _TEXT, "line": _INT, "field": _TEXT, "code": _TEXT, "expected": _TEXT, "raw": _TEXT}, {},
)
"""A row that ingest could not type. ``line`` counts from 1 (Parquet and JSON lists: the row number); ``raw`` is the row as it came,
shortened; ``field`` is "" when the whole row is broken."""

RATINGS: Final = _schema({"case_id": _TEXT, "rater_id": _TEXT, "label": _TEXT}, {"extra": _TEXT})
"""What several raters say about the cases that the judges are calibrated on, a person's label a row. They feed no gate."""

ROLLOUTS: Final = _schema(
    {"ordinal": _INT},
    {
        "task_id": _TEXT, "task_number": _BOOL, "rollout": _INT, "prompt": _TEXT, "prompt_messages": _TEXT, "response": _TEXT,
        "response_messages": _TEXT,
        "reward": _DOUBLE, "fault": _TEXT, "policy": _TEXT, "policy_logp": _DOUBLE, "ref_logp": _DOUBLE, "token_count": _INT,
        "finish_reason": _TEXT, "grader": _TEXT, "source": _TEXT, "file": _TEXT, "line": _INT, "extra": _TEXT,
    },
)
"""Graded replies that pairs were made of, in the order in which they came. ``task_number``: the file has the task's id as an integer.
``reward`` is the double whose shortest decimal was written, null where there is none; ``fault``
says why a rollout cannot be used, null where it can. They feed no gate."""

FLAGS: Final = ("chosen_verified_pass", "rejected_tombstone_fail")
"""What a pair says that a verifier found: the chosen answer passes, the rejected one fails."""
PARTS: Final = ("judge_records", "pairs", "holdout", "outcomes", "sanity")
"""Parts without which there is no receipt. ``pairs`` becomes two files (pairs, text); ``holdout`` is JSON; the rest are Parquet."""
OPTIONAL_PARTS: Final = ("ratings", "behaviours", "rollouts")
"""Parts that may be supplied besides; a round that has one has a later ``schema_version``, so that every other keeps its digest."""
ALL_PARTS: Final = (*PARTS, *OPTIONAL_PARTS)

SCORED: Final = _schema(
    {"ordinal": _INT, "pair_id": _TEXT, "origin": _TEXT, "state": _TEXT},
    {
        "judge_id": _TEXT,
        "primary_reason": _TEXT,        # of REASONS, for rejected rows
        "reasons": pa.list_(_TEXT),     # every reason that applies, in the order of REASONS; for held rows too
        "sub_code": _TEXT,              # invalid_record only: first of INVALID_CODES that applies
        "sub_codes": pa.list_(_TEXT),   # all of them
        "held_check": _TEXT,            # held rows: the failing check of their judge's gate
        "margin": _DOUBLE, "drift": _DOUBLE, "length_ratio": _DOUBLE, "longer_side": _TEXT, "rpo_loss": _DOUBLE, "nll_per_token": _DOUBLE,
        "loss_quanta": _INT,            # loss in grid quanta; null when it does not fit 64 bits, then:
        "loss_quanta_text": _TEXT,      # its decimal digits
        "rank": _INT,                   # admitted rows: 0 = best (quantised loss, then pair_id)
        "prompt_normalized_sha256": _TEXT, "chosen_structural_skeleton_sha256": _TEXT, "joint_transition_pair_sha256": _TEXT,
        "duplicate_of_prompt": _TEXT,   # pair_id of the admitted pair that holds this key
        "duplicate_of_skeleton": _TEXT, "duplicate_of_joint": _TEXT,
        "policy_logp_chosen": _DOUBLE, "ref_logp_chosen": _DOUBLE, "policy_logp_rejected": _DOUBLE, "ref_logp_rejected": _DOUBLE,
        "chosen_token_count": _INT, "rejected_token_count": _INT, "chosen_verified_pass": _BOOL, "rejected_tombstone_fail": _BOOL,
        "task_id": _TEXT, "source": _TEXT, "file": _TEXT, "line": _INT,
    },
)
"""One row a pair that reached curation (everything but quarantine), in ordinal order: the assessment's pairs.parquet.
The key digests are filled only for rows that pass reasons 1 to 5 and are not held."""

STATES: Final = ("admitted", "rejected", "held")
REASONS: Final = ("invalid_record", "unverified", "non_positive_margin", "length_bias", "logp_collapse", "duplicate")
"""Rejection reasons in the order that decides the primary one."""
INVALID_CODES: Final = (
    "duplicate_pair_id", "missing_logp", "non_finite_logp", "positive_logp", "bad_token_count", "empty_prompt", "empty_completion",
    "overflow", "identical", "identical_after_trim",
)
DUPLICATE_COLUMNS: Final = {
    "prompt_normalized_sha256": "duplicate_of_prompt",
    "chosen_structural_skeleton_sha256": "duplicate_of_skeleton",
    "joint_transition_pair_sha256": "duplicate_of_joint",
}

FINDINGS: Final = _schema(
    {"ordinal": _INT, "pair_id": _TEXT, "field": _TEXT, "rule": _TEXT, "rules": pa.list_(_TEXT), "item": _INT, "item_id": _TEXT, "item_field": _TEXT},
    {"words": _INT, "covered": _INT, "locked_words": _INT, "locked_covered": _INT, "locked_texts": _INT},
)
"""Contamination: the strongest hit of each field of a pair (``prompt``, ``chosen``, ``rejected``, or the place of a task id). ``rule`` is the
first of ``rules``; ``item`` counts from 0; the counts are words, ``locked_texts`` how many locked texts the field hits."""

CLUSTERS: Final = _schema({"ordinal": _INT, "pair_id": _TEXT, "cluster": _INT}, {})
"""Near-duplicates: the texts that are in a cluster of two or more. ``cluster`` counts from 0, the largest first."""

COMPARED: Final = _schema(
    {"pair_id": _TEXT, "kind": _TEXT, "why": _TEXT, "detail": _TEXT, "held_out": _BOOL},
    {"ordinal": _INT, "made_id": _TEXT, "task": _TEXT, "fields": pa.list_(_TEXT)},
)
"""Pairs of a round that are not what the pairing rule makes of its rollouts, the rule's pairs that it lacks (no ``ordinal``; ``pair_id`` is the
rule's), and pairs with a reward of the holdout. ``kind``, ``why`` and ``fields`` as in core/pairs/given_pairs.py; ``made_id`` is the id that the
rule gives."""
