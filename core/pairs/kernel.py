"""Scoring of candidate pairs: Arrow in, Arrow out, no state. Everything about a pair but whether it is a duplicate.

A row ends in exactly one place, in this order: invalid -> held -> rejected for another reason -> admitted. Reasons, in the
order that decides the primary one (REASONS of core/schemas.py):

1. ``invalid_record``       typed but not legal; its sub-codes say why
2. ``unverified``           a verifier flag is missing or false; evaluated for every row
3. ``non_positive_margin``  margin <= min_dpo_margin          } evaluated for each valid row, held ones too
4. ``length_bias``          length ratio > max_length_ratio   }
5. ``logp_collapse``        drift < min_chosen_logp_drift     }
6. ``duplicate``            left to core/pairs/dedup.py, which sees the whole round: a row that passes 1 to 5 and is not
   held leaves here as ``admitted`` with its loss and its keys

This function is the seam for a parallel engine: any partition of the rows gives the same rows.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.errors import RoundError, Where
from core.grid import DEDUP_KEYS
from core.pairs.columns import Flags, doubles, first_name, flags, integers, names_of, present, scattered
from core.pairs.figures import figures_of
from core.pairs.keys import key_columns
from core.pairs.rules import CurationRules
from core.pairs.texts import blank_prompts, empty_answers, identical_answers
from core.schemas import FLAGS, INVALID_CODES, REASONS, SCORED, STATES

Gates = Mapping[str, tuple[bool, str | None]]
"""judge_id -> (whether its gate is open, the first failing check)."""

NO_JUDGE: Final = "no_judge"
UNKNOWN_JUDGE: Final = "unknown_judge"
GATE_CLOSED: Final = "gate_closed"
"""Stands where a gate is closed and names no check."""
_VERIFIED: Final = "verified"
_SYNTHETIC: Final = "synthetic"
_LOGPS: Final = ("policy_logp_chosen", "ref_logp_chosen", "policy_logp_rejected", "ref_logp_rejected")
_ROW_REASONS: Final = REASONS[:-1]
_ADMITTED, _REJECTED, _HELD = (STATES.index(state) for state in ("admitted", "rejected", "held"))


def score_batch(
    narrow: pa.RecordBatch, text: pa.RecordBatch, rules: CurationRules, gates: Gates, repeated_ids: Any = None,
) -> pa.RecordBatch:
    """Score one batch of pairs.

    Parameters: ``narrow`` and ``text``, the same rows in the columns of PAIRS and TEXT; ``rules``, the grid's numbers;
    ``gates``, the judges' gates; ``repeated_ids``, a string array of the ids that more than one row of the round has.
    Returns the columns of SCORED (``rank`` and ``duplicate_of_*`` null). Raises RoundError ``unknown_origin``.
    """
    synthetic = _synthetic(narrow)
    codes = _invalid(narrow, text, repeated_ids)
    valid = ~codes.any(axis=1)
    figures = figures_of(narrow, np.flatnonzero(valid), rules)
    reasons = np.column_stack((~valid, _unverified(narrow, synthetic), *figures.fails))
    held_check = _held_check(narrow, synthetic & valid, gates)
    held, rejected = present(held_check), ~valid | reasons.any(axis=1)
    passed = ~held & ~rejected
    columns = {
        **{name: narrow[name] for name in SCORED.names if name in narrow.schema.names},
        "state": pa.array(STATES, pa.string()).take(pa.array(np.where(held, _HELD, np.where(rejected, _REJECTED, _ADMITTED)))),
        "primary_reason": pc.if_else(pa.array(held), None, first_name(reasons, _ROW_REASONS)),
        "reasons": names_of(reasons, _ROW_REASONS),
        "sub_code": first_name(codes, INVALID_CODES), "sub_codes": names_of(codes, INVALID_CODES), "held_check": held_check,
        **figures.columns, **_keys(text, passed),
    }
    rows = narrow.num_rows
    return pa.RecordBatch.from_arrays(
        [columns[field.name].cast(field.type) if field.name in columns else pa.nulls(rows, field.type) for field in SCORED], schema=SCORED,
    )


def _synthetic(narrow: pa.RecordBatch) -> Flags:
    synthetic, verified = flags(pc.equal(narrow["origin"], _SYNTHETIC)), flags(pc.equal(narrow["origin"], _VERIFIED))
    if (synthetic | verified).all():
        return synthetic
    row = int(np.flatnonzero(~(synthetic | verified))[0])
    raise RoundError(
        "unknown_origin", expected=f"{_VERIFIED} or {_SYNTHETIC}", got=repr(narrow["origin"][row].as_py()),
        remedy="ingest the round again", where=Where(field=f"origin of pair {narrow['pair_id'][row].as_py()}"),
    )


def _invalid(narrow: pa.RecordBatch, text: pa.RecordBatch, repeated_ids: Any) -> npt.NDArray[np.bool_]:
    """One column a code of INVALID_CODES."""
    logps = np.column_stack([doubles(narrow[name]) for name in _LOGPS])
    given = np.column_stack([present(narrow[name]) for name in _LOGPS])
    finite = np.isfinite(logps)
    tokens = [integers(narrow[name]) for name in ("chosen_token_count", "rejected_token_count")]
    exact, trimmed = identical_answers(text["chosen"], text["rejected"], text["chosen_messages"], text["rejected_messages"])
    found = {
        "duplicate_pair_id": _repeated(narrow, repeated_ids),
        "missing_logp": ~given.all(axis=1),
        "non_finite_logp": (given & ~finite).any(axis=1),
        "positive_logp": (finite & (np.where(finite, logps, 0) > 0)).any(axis=1),
        "bad_token_count": (tokens[0] < 1) | (tokens[1] < 1),
        "empty_prompt": blank_prompts(text["prompt"], text["prompt_messages"]),
        "empty_completion": empty_answers(text["chosen"], text["chosen_messages"]) | empty_answers(text["rejected"], text["rejected_messages"]),
        "overflow": _overflows(logps) & finite.all(axis=1),
        "identical": exact,
        "identical_after_trim": trimmed,
    }
    return np.column_stack([found[code] for code in INVALID_CODES])


def _repeated(narrow: pa.RecordBatch, repeated_ids: Any) -> Flags:
    if repeated_ids is None or not len(repeated_ids):
        return np.zeros(narrow.num_rows, dtype=np.bool_)
    return flags(pc.is_in(narrow["pair_id"], value_set=repeated_ids))


def _overflows(logps: npt.NDArray[np.float64]) -> Flags:
    policy_chosen, ref_chosen, policy_rejected, ref_rejected = logps.T
    with np.errstate(over="ignore", invalid="ignore"):
        chosen, rejected = policy_chosen - ref_chosen, policy_rejected - ref_rejected
        finite: Flags = np.isfinite(chosen) & np.isfinite(rejected) & np.isfinite(chosen - rejected)
    return ~finite


def _unverified(narrow: pa.RecordBatch, synthetic: Flags) -> Flags:
    columns = [narrow[name] for name in FLAGS]
    not_true = ~flags(columns[0]) | ~flags(columns[1])
    # a synthetic pair may have no verdict: the calibrated judge stands in
    is_false = flags(pc.invert(columns[0])) | flags(pc.invert(columns[1]))
    return np.logical_or(synthetic & is_false, ~synthetic & not_true)


def _held_check(narrow: pa.RecordBatch, judged: Flags, gates: Gates) -> Any:
    """The failing check of the judge, for each row of ``judged``; null where the gate is open or no judge is asked."""
    encoded = narrow["judge_id"].dictionary_encode()
    checks = [_failing(gates, judge_id) for judge_id in encoded.dictionary.to_pylist()]
    found = pa.array([*checks, NO_JUDGE], pa.string()).take(pc.fill_null(encoded.indices, len(checks)))
    return pc.if_else(pa.array(judged), found, None)


def _failing(gates: Gates, judge_id: str) -> str | None:
    is_open, check = gates.get(judge_id, (False, UNKNOWN_JUDGE))
    return None if is_open else check or GATE_CLOSED


def _keys(text: pa.RecordBatch, rows: Flags) -> dict[str, Any]:
    """The structural keys of the rows of a mask; null elsewhere."""
    if not rows.any():
        return {name: pa.nulls(len(rows), pa.string()) for name in DEDUP_KEYS}
    wanted = np.flatnonzero(rows)
    texts = [text[name] if rows.all() else text[name].take(pa.array(wanted)) for name in ("prompt", "chosen", "rejected")]
    return {name: scattered(wanted, column, len(rows)) for name, column in key_columns(*texts).items()}
