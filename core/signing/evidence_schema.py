"""Exact schemas of the two sub-objects of a decision of versions 2 and 3: ``strength`` and ``coverage``.

``strength`` is computed again by a verifier; ``coverage`` is what the signer saw of other rounds, of their own sampling and
of the pairs that they dispute, and is never computed again. Both are read strictly before any word of them is shown.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from core.gates.strength_rules import Status
from core.sampling.disputes import disputes_sha256
from core.schemas import STATES
from core.settings import SETTINGS
from core.signing import schema
from core.statistics.verdict import Standing

_DIGITS: Final = re.compile(r"-?(0|[1-9][0-9]*)")


def whole(value: Any, path: str) -> None:
    """A whole number, negative too; one beyond 2^53-1 is written in digits, as text."""
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return
    if isinstance(value, bool) or not isinstance(value, int):
        schema.refuse(path, "a whole number", value)


_TEXT: Final = schema.text()
_SAYING: Final = schema.text(empty=True)
_REASON: Final = schema.nullable(_TEXT)
_NUMBER: Final = schema.nullable(schema.number)
_COUNT: Final = schema.nullable(schema.integer)
_NULL: Final = schema.constant(None)
_PAGES: Final = schema.listed(schema.text(limit=SETTINGS["text"]["id_characters"]))
_FIGURE: Final = schema.record({"value": _NUMBER, "undefined": _REASON})
_RATIO: Final = schema.record({"numerator": whole, "denominator": whole, "value": _NUMBER, "undefined": _REASON})
_INTERVAL: Final = schema.record({"lower": _NUMBER, "upper": _NUMBER, "confidence": _NUMBER, "method": _TEXT, "undefined": _REASON})
_PROBABILITY: Final = schema.record({"value": schema.number, "exact": _REASON, "method": _TEXT})

_CHECKS: Final = schema.listed(schema.record({
    "name": _TEXT, "status": schema.nullable(schema.constant(*(status.value for status in Status))), "text": _TEXT, "detail": _TEXT, "n": _COUNT,
    "interval": schema.nullable(_INTERVAL), "limit": schema.nullable(_INTERVAL), "needed": _COUNT, "more": _COUNT, "undefined": _REASON,
    "flip": schema.nullable(schema.record({"items": _COUNT, "text": _TEXT})),
}))
_JUDGE_2: Final[Mapping[str, schema.Check]] = {
    "judge_id": _TEXT, "n": schema.integer, "kappa": _RATIO, "kappa_interval": _INTERVAL, "kappa_max": _RATIO, "prevalence": _RATIO,
    "prevalence_index": _RATIO, "bias_index": _RATIO, "pabak": _RATIO, "ac1": _RATIO, "mcc": _FIGURE, "paradox": _TEXT, "checks": _CHECKS,
}
_SLICES: Final = schema.listed(schema.record({
    "name": schema.nullable(_SAYING), "n": schema.integer, "kappa": _RATIO, "agreement": _RATIO, "false_positive_rate": _RATIO,
}))
_JUDGE_3: Final[Mapping[str, schema.Check]] = {
    **_JUDGE_2, "slices": _SLICES, "slices_left_out": schema.integer, "evidence": schema.listed(schema.record({"part": _TEXT, "text": _TEXT})),
}
_GAPS: Final = schema.listed(schema.record({"code": _TEXT, "text": _TEXT}))
_RUNS: Final = schema.listed(schema.integer, empty=False)
_HOLDOUT_2: Final[Mapping[str, schema.Check]] = {
    "n": schema.integer, "runs": schema.record({"baseline": _RUNS, "candidate": _RUNS}), "clusters": schema.integer,
    "view": schema.nullable(schema.constant("flips", "graded")), "split": _COUNT,
    "flips": schema.record(dict.fromkeys(("both_pass", "regressions", "fixes", "both_fail"), schema.integer)), "net_gain": _RATIO,
    "exact": _PROBABILITY, "mid_p": _PROBABILITY, "smallest_p": _PROBABILITY, "newcombe": _INTERVAL, "tango": _INTERVAL,
    "tested": schema.nullable(schema.record({
        "test": _TEXT, "units": schema.integer, "gain": schema.number, "p": _PROBABILITY, "interval": _INTERVAL,
    })),
    "band": schema.nullable(_FIGURE), "regression_cap": _TEXT, "smallest_gain": _FIGURE,
    "wanted": schema.record({"effect": _TEXT, "power": _TEXT, "items": _COUNT, "undefined": _REASON}),
    "standing": schema.nullable(schema.constant(*(standing.value for standing in Standing))),
    "gaps": _GAPS, "sentence": _TEXT,
}
_STANDING: Final = schema.constant(*(standing.value for standing in Standing))
_PASSES: Final = schema.record({"at_least_one": _NUMBER, "all": _NUMBER, "undefined": _REASON})
_HOLDOUT_3: Final[Mapping[str, schema.Check]] = {
    **_HOLDOUT_2, "slices": schema.listed(schema.record({
        "name": schema.nullable(_SAYING), "n": schema.integer, "fixes": schema.integer, "regressions": schema.integer, "gain": schema.number,
        "test": _TEXT, "p": _PROBABILITY, "holm": schema.number, "benjamini_hochberg": schema.number, "can_reach": schema.boolean,
        "standing": _STANDING,
    })), "slices_left_out": schema.integer, "no_slices": _REASON,
    "pass_at_k": schema.listed(schema.record({"k": schema.integer, "baseline": _PASSES, "candidate": _PASSES})),
}
_BEHAVIOURS: Final = schema.record({
    "served": _TEXT, "candidate": _TEXT, "sentence": _TEXT, "left_out": schema.integer, "rows": schema.listed(schema.record({
        "behaviour": _TEXT, "role": schema.constant("primary", "guarded", "explored"), "state": _TEXT, "gain": _NUMBER,
        "p": schema.nullable(_PROBABILITY), "corrected": _NUMBER, "standing": _STANDING, "proven": schema.boolean, "gaps": _GAPS, "sentence": _TEXT,
    })),
})


def _strength(version: int, judge: Mapping[str, schema.Check], holdout: Mapping[str, schema.Check], **more: schema.Check) -> schema.Check:
    return schema.record({
        "version": schema.constant(version), "significant_digits": schema.integer, "keys_off": schema.listed(_TEXT), "confidence": _REASON,
        "checks": _CHECKS, "judges": schema.listed(schema.record(judge)), "holdout": schema.nullable(schema.record(holdout)),
        "no_holdout": _REASON, **more,
    })


STRENGTH_2: Final = _strength(SETTINGS["signing"]["earlier_strength_version"], _JUDGE_2, _HOLDOUT_2)
STRENGTH_3: Final = _strength(
    SETTINGS["signing"]["strength_version"], _JUDGE_3, _HOLDOUT_3, behaviours=schema.nullable(_BEHAVIOURS), no_behaviours=_REASON,
)

_EXPOSURE: Final = schema.record({
    "items": schema.integer, "look": schema.integer, "decided": schema.boolean, "later": schema.integer, "looks": schema.integer,
    "full": schema.integer, "fresh": schema.integer, "most_used": schema.integer, "largest_overlap": _NUMBER,
    "earlier": schema.listed(schema.record({"round_id": _TEXT, "round_digest": schema.digest, "verdict": _TEXT, "shared": schema.integer})),
    "budget": schema.nullable(schema.record({
        "rule": _TEXT, "alpha": schema.number, "planned": schema.integer, "look": schema.integer, "spent": schema.number, "now": schema.number,
        "left": schema.number, "exhausted": schema.boolean,
    })),
    "no_budget": _REASON, "best_by_luck": _NUMBER, "no_luck": _REASON, "whole_scores": _NUMBER, "verdict_only": _NUMBER,
    "ladder": schema.record({
        "accepted": schema.nullable(schema.boolean), "board": _NUMBER, "rate": _NUMBER, "step": _NUMBER, "undefined": _REASON,
    }),
    "record": schema.record({"lines": schema.integer, "sha256": schema.digest}), "undefined": _REASON,
    "sentences": schema.listed(_TEXT, empty=False),
})
_SAMPLING: Final = schema.record({
    "version": schema.constant(SETTINGS["sampling"]["coverage_version"]), "verification": _TEXT,
    "state": schema.constant("not_started", "open", "ended_early", "complete"), "person": _TEXT,
    "method": schema.nullable(schema.constant("fixed", "sequential")), "population": schema.integer, "max_defect_rate": _REASON,
    "confidence": _REASON, "sizes": schema.listed(schema.integer), "seed": schema.nullable(schema.hexadecimal), "seeds_drawn": schema.integer,
    "admitted_sha256": schema.digest, "grid_digest": schema.digest,
    **dict.fromkeys(("shown", "judged", "unjudged", "taken_back", "defects"), schema.integer),
    "counts": schema.record(dict.fromkeys(("chosen", "rejected", "both_bad", "tie", "skip"), schema.integer)), "bound": schema.nullable(_RATIO),
    "target_met": schema.boolean, "kappa": schema.nullable(_RATIO),
    "sides": schema.nullable(schema.record(dict.fromkeys(("both_first", "human_first", "verifier_first", "both_second"), schema.integer))),
    "disagreements": schema.record({"count": schema.integer, "pair_ids": schema.listed(_SAYING), "left_out": schema.integer}),
    "labels_sha256": schema.nullable(schema.digest),
})
_DRIFT: Final = schema.listed(schema.record({
    "judge_id": _TEXT, "round_id": _TEXT, "round_digest": schema.digest, "sentences": schema.listed(_TEXT, empty=False),
}))
_DISPUTED: Final = schema.record({
    "count": schema.integer, "pairs": schema.listed(schema.record({"pair_id": _SAYING, "state": schema.nullable(schema.constant(*STATES))})),
    "left_out": schema.integer, "sha256": schema.digest, "seen": schema.integer,
})


def disputes(value: Any, path: str) -> None:
    """Disputed pairs that agree with each other: each once, no more than a statement names, with their count and their digest."""
    _DISPUTED(value, path)
    pairs, limit = value["pairs"], SETTINGS["sampling"]["statement_ids"]
    if len(pairs) > limit:
        schema.refuse(f"{path}.pairs", f"at most {limit} pairs", len(pairs), code="too_long")
    if len({pair["pair_id"] for pair in pairs}) != len(pairs):
        schema.refuse(f"{path}.pairs", "each pair once", len(pairs), code="inconsistent_statement")
    if value["count"] != len(pairs) + value["left_out"]:
        schema.refuse(f"{path}.count", "the pairs named and those left out", value["count"], code="counts_do_not_add_up")
    if not value["left_out"] and value["sha256"] != disputes_sha256(pairs):
        schema.refuse(f"{path}.sha256", "the digest of the pairs named", value["sha256"], code="inconsistent_statement")


COVERAGE_2: Final = schema.record({
    "version": schema.constant(SETTINGS["signing"]["earlier_coverage_version"]), "exposure": _EXPOSURE, "sampling": schema.nullable(_SAMPLING),
    "opened": _NULL,
})
COVERAGE_3: Final = schema.record({
    "version": schema.constant(SETTINGS["signing"]["coverage_version"]), "exposure": _EXPOSURE, "sampling": schema.nullable(_SAMPLING),
    "opened": schema.nullable(schema.record({"pages": _PAGES, "not_opened": _PAGES})), "drift": _DRIFT,
    "disputes": schema.nullable(disputes),
})
