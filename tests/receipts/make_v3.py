"""How ``v3/`` was made, once: ``python tests/receipts/make_v3.py`` (it refuses where the folder exists).

Decisions of predicate version 3, which keep the rest of what the pages show: an approval after a blind sample, with the pages that its
reviewer had opened, the pairs that they dispute and an earlier round of the same judge; a rejected refusal record of a round with scores,
both orders, lengths, ratings, slices, several runs and behaviours; a rejection under the first grid. The private keys were thrown away.
Later engines must verify these files as they are: they are never regenerated.
"""
from __future__ import annotations

import sys
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from make_v2 import judged_blind, keep  # noqa: E402
from support_desk import Desk, bundle, desk  # noqa: E402
from support_rounds import folder_of  # noqa: E402
from support_signing import NOW  # noqa: E402
from support_strength import ABOUT, FIRST_GRID  # noqa: E402

from core.grid import Grid, default_grid  # noqa: E402
from core.rounds.folder import Round  # noqa: E402
from core.rounds.ingest import ingest, ingest_bundle_bytes  # noqa: E402
from core.sampling.marks import Kind, Marks  # noqa: E402
from core.signing.coverage import Opened  # noqa: E402
from core.signing.evidence import EvidenceStore  # noqa: E402
from core.signing.export import make_export  # noqa: E402
from core.signing.grids import accept_grid  # noqa: E402
from core.signing.signoff import Choice, prepare, sign_and_append  # noqa: E402

OPENED = Opened(("Overview", "Judges", "Sample"), ("Curation", "Rejected pairs", "Holdout"))

MARKED: list[tuple[Kind, str]] = [
    ("seen", "pair-collapse-trap"), ("disputed", "pair-collapse-trap"), ("seen", "pair-rpo-clean-1"), ("disputed", "pair-length-bias"),
    ("disputed", "pair-rpo-clean-1"), ("undisputed", "pair-length-bias"),
]


def records() -> list[dict[str, Any]]:
    """A judge that scores and picks, in both orders; 40 cases in two slices."""
    rows = []
    for place in range(40):
        right = place % 5 != 0
        passed = place % 2 == 0
        given = {
            "judge_id": "picker", "case_id": f"c{place:02}", "rubric_approved": passed is right, "verifier_passed": passed,
            "rubric_score": (place % 10) / 10, "slice": "maths" if place < 15 else "tone", "choice": "1" if passed is right else "2",
            "length_first": 10 + place, "length_second": 60 - place,
        }
        rows.append(given)
        if place < 30:
            rows.append(given | {"order_swapped": True, "choice": "1" if place % 3 else "2", "rubric_approved": bool(place % 3)})
    return rows


def everything(made: Desk, folder: Path) -> Round:
    """A round with every part that evidence may rest on, and no pairs."""
    outcomes = [
        {"id": f"i{place}", "arm": arm, "run": run, "passed": (place * step + run) % 7 < most, "slice": "even" if place % 2 == 0 else "odd"}
        for place in range(24) for arm, step, most in (("baseline", 3, 3), ("candidate", 3, 5)) for run in range(3)
    ]
    behaviours = [
        {"behaviour": name, "version": version, "test_version": "t1", "item_id": f"b{place}", "passed": place % 9 < most, "judge_id": judge,
         "contaminated": place == 3}
        for name, judge in (("tone", "picker"), ("maths", None)) for version, most in (("baseline", 4), ("candidate", 8)) for place in range(27)
    ]
    source = folder_of(folder / "everything", {
        "judge_records": records(), "holdout": [{"id": f"i{place}", "prompt": f"What is {place} and {place}?"} for place in range(24)],
        "outcomes": outcomes, "sanity": [{"id": f"s{place}", "passed": place > 0} for place in range(12)],
        "ratings": [
            {"case_id": f"c{place:02}", "rater_id": rater, "label": str(place % most)} for place in range(20) for rater, most in (("a", 2), ("b", 3))
        ],
        "behaviours": behaviours,
    }, about=ABOUT | {"round_id": "everything"})
    return made.workspace.round(ingest(source, made.workspace, now=NOW).digest)


def main(target: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        made, folder = desk(Path(place)), Path(place)
        for grid in (default_grid(), FIRST_GRID):
            accept_grid(made.workspace, grid, "eva@example.org", made.registry, now=NOW)
        before = ingest_bundle_bytes(bundle(), "bundle.json", made.workspace, round_id="earlier", created_at="2026-01-01T00:00:00Z", now=NOW)
        made.assess(made.workspace.round(before.digest))
        approved, other, first = made.round("approved"), everything(made, folder), made.round("first-grid")
        judged_blind(made, approved)
        for kind, pair_id in MARKED:
            Marks(made.workspace, approved.digest, made.verifier.id).put(kind, pair_id, NOW)
        target.mkdir()
        decisions: list[tuple[Round, Grid, Choice, Opened | None]] = [
            (approved, default_grid(), "approve", OPENED), (other, default_grid(), "reject", None), (first, FIRST_GRID, "reject", None),
        ]
        for number, (source, grid, choice, opened) in enumerate(decisions):
            now = NOW + timedelta(minutes=number)
            made.propose(source, grid=grid, now=now)
            computed = made.assess(source, grid)
            prepared = prepare(made.workspace, source, computed, made.verifier.id, choice, "read", made.registry, now, opened=opened)
            entry = sign_and_append(made.workspace, prepared.digest, made.verifier, made.registry, now).entry
            export = make_export(made.ledger.read(), entry, EvidenceStore.beside(made.ledger.file))
            (target / f"{source.manifest.round_id}.zip").write_bytes(export.zip_bytes())
        keep(made, target, [approved, other, first])


if __name__ == "__main__":
    if (HERE / "v3").exists():
        sys.exit("tests/receipts/v3 exists: old receipts are never regenerated")
    main(HERE / "v3")
