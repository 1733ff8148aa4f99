"""``worked-example``: the specification's one-file bundle, as an input folder.

A bundle has no place for a note, so the demo loads the same round as tables; the receipt is the same to the byte
(tests/unit/test_demo_rounds.py). The bundle itself is kept beside it, for ``python -m iterative_rpo_flywheel --bundle``.
"""
from __future__ import annotations

import json
from typing import Any

from builders.folder import DemoRound, Row, judge, model
from builders.sources import raw_bytes

BUNDLE = "worked-example.json"
_NOTE = """\
The worked example of the specification (data/SOURCES.md): an invented round, small enough to be checked by hand, and one whose receipt is \
known to the byte. Four verified pairs and one synthetic pair: one fine, one whose chosen log-prob collapsed, one too long, one duplicate. \
Its one-file form is data/bundles/worked-example.json.

Models, judges and log-probs are not those of any real system. The bundle says neither when the holdout was registered nor by whom."""
_JUDGES = {"calibrated": "calibrated_judge_records", "uncalibrated": "uncalibrated_judge_records"}
_OWN_NAMES = {"chosen_verified": "chosen", "rejected_tombstone": "rejected"}


def bundle_bytes() -> bytes:
    """The bundle as it is stored and read."""
    return raw_bytes("worked_example/bundle.json.gz")


def _pair(row: Row, given: Row) -> Row:
    return {_OWN_NAMES.get(name, name): value for name, value in row.items()} | given


def _outcomes(bundle: Row) -> list[Row]:
    return [
        {"id": item, "arm": arm, "passed": passed}
        for arm in ("baseline", "candidate") for item, passed in bundle[f"{arm}_outcomes"].items()
    ]


def worked_example() -> DemoRound:
    """The round that promotes under the default grid."""
    bundle: dict[str, Any] = json.loads(bundle_bytes())
    document = {
        "schema_version": 1, "round_id": "worked-example", "label": None, "previous_receipt_sha256": None, "proposers": [bundle["proposer_id"]],
        "reviewer": bundle["reviewer_id"], "baseline": model("baseline"), "candidate": model("candidate"), "policy": None, "reference": None,
        "holdout_lock": {"sha256": bundle["preregistered_holdout_sha256"], "registered_at": None, "registered_by": None},
        "created_at": "2026-11-02T09:00:00Z", "note": _NOTE, "receipt_judges": {name: name for name in _JUDGES}, "verification": "program",
        "judges": {name: judge(f"{name} judge of the worked example", None, None) for name in _JUDGES},
    }
    tables = {
        "judge_records": [row | {"judge_id": name} for name, key in _JUDGES.items() for row in bundle[key]],
        "pairs": [_pair(row, {"origin": "verified"}) for row in bundle["verified_candidates"]]
        + [_pair(row, {"origin": "synthetic", "judge_id": "calibrated"}) for row in bundle["synthetic_pairs"]],
        "outcomes": _outcomes(bundle),
        "sanity": [{"id": item, "passed": passed} for item, passed in bundle["sanity_outcomes"].items()],
    }
    return DemoRound(document, tables, bundle["holdout_suite"])
