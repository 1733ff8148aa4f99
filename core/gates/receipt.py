"""The receipt of 17 fields, or a refusal record in its place.

receipt = f(assessment, reviewer): the assessment knows every check but ``distinct_reviewer``; the reviewer settles it,
and with it ``promote_round``. Rounding happens here and nowhere else: once, half to even, to the grid's decimals.
Where a required number is undefined there is no receipt: a refusal record names every reason that applies.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from core.canonical import canonical_bytes
from core.errors import IdentityError, RoundError, Where
from core.gates.checks import Check
from core.gates.promotion import distinct_reviewer
from core.persons.registry import Registry
from core.statistics.ratio import json_double, rounded_decimal

if TYPE_CHECKING:
    from core.gates.assessment import Assessment

RECEIPT_FIELDS: Final = (
    "calibrated_judge_kappa", "calibrated_judge_fpr", "calibrated_judge_passed", "uncalibrated_judge_kappa",
    "uncalibrated_synthetic_admitted", "admitted_pair_ids", "admitted_pair_count", "rejected_length_bias_count",
    "rejected_logp_collapse_count", "rejected_duplicate_count", "mean_dpo_margin", "mean_rpo_loss", "holdout_lock_valid",
    "net_holdout_gain", "regression_rate", "sanity_retention_rate", "promote_round",
)
"""The fields of a receipt. No field may be added: everything else is in the signed statement around it."""

REFUSE: Final = "REFUSE"
PROMOTE_AWAITING: Final = "PROMOTE, AWAITING REVIEWER"
FIGURE_OUT_OF_RANGE: Final = "figure_out_of_range"


def receipt_number(value: Fraction, decimals: int) -> float:
    """An exact value as the receipt states it: rounded once, half to even, never -0.0.

    Raises RoundError ``figure_out_of_range`` beyond 2^53-1 in size: RFC 8785 would write it as an integer that strict
    readers refuse, so such a receipt could be signed and never verified.
    """
    number = json_double(value)
    if number is None:
        raise RoundError(
            FIGURE_OUT_OF_RANGE, expected="a figure of at most 2^53-1 in size", got="a larger one",
            remedy="check the log-probabilities of the admitted pairs",
        )
    return float(rounded_decimal(value, decimals))


def refusal_record(reasons: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """``{"schema_version", "verdict", "reasons": [{"code", "detail"}]}``: each code once, sorted by code."""
    by_code: dict[str, str] = {}
    for code, detail in reasons:
        by_code[code] = f"{by_code[code]}; {detail}" if code in by_code and detail not in by_code[code] else by_code.get(code, detail)
    return {"schema_version": 1, "verdict": REFUSE, "reasons": [{"code": code, "detail": by_code[code]} for code in sorted(by_code)]}


@dataclass(frozen=True, slots=True)
class Decision:
    """What the engine says once the reviewer is known. Exactly one of ``receipt`` and ``refusal`` is given.

    ``check`` is ``distinct_reviewer``; ``document_bytes`` are the RFC 8785 bytes of whichever of the two it is.
    """

    receipt: Mapping[str, Any] | None
    refusal: Mapping[str, Any] | None
    check: Check
    promote: bool

    @property
    def receipt_bytes(self) -> bytes:
        """RFC 8785 bytes of the receipt, or of the refusal record."""
        return canonical_bytes(dict(self.receipt if self.receipt is not None else self.refusal or {}))


def decide(assessment: Assessment, reviewer_id: str, registry: Registry | None = None) -> Decision:
    """Settle ``distinct_reviewer`` and with it the receipt.

    ``registry`` adds aliases and owners; deciding needs none. An id outside the grammar is bad input here (RoundError);
    proposing and signing refuse it as an identity.
    """
    document = assessment.document
    try:
        check = distinct_reviewer(assessment.proposers, reviewer_id, registry)
    except IdentityError as problem:
        raise RoundError(
            problem.code, expected=problem.expected, got=problem.got, remedy=problem.remedy, where=Where(field="reviewer_id"),
        ) from problem
    if document["refusal"] is not None:
        reasons = [(item["code"], item["detail"]) for item in document["refusal"]["reasons"]]
        if check.blocks:
            reasons.append((check.name, check.observed))
        return Decision(None, refusal_record(reasons), check, False)
    promote = assessment.verdict == PROMOTE_AWAITING and not check.blocks
    fields = dict(document["receipt"]) | {"admitted_pair_ids": assessment.admitted_pair_ids(), "promote_round": promote}
    return Decision({name: fields[name] for name in RECEIPT_FIELDS}, None, check, promote)
