"""How ``v2/`` was made, once: ``python tests/receipts/make_v2.py`` (it refuses where the folder exists).

Decisions of predicate version 2, which hold the strength of their evidence and what their signers saw besides the round: an
approval after an earlier look at the same holdout and after a blind sample, a rejection, a rejected refusal record of a round
with several runs in clusters, and an approval under the first grid, which sets no confidence. The private keys were thrown
away. Later engines must verify these files as they are: they are never regenerated.
"""
from __future__ import annotations

import json
import shutil
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from support_desk import Desk, bundle, desk  # noqa: E402
from support_rounds import folder_of  # noqa: E402
from support_signing import NOW  # noqa: E402
from support_strength import ABOUT, FIRST_GRID, judge_rows, run_rows  # noqa: E402

from core.canonical import canonical_bytes  # noqa: E402
from core.gates.exposure_file import EXPOSURE_FILE  # noqa: E402
from core.grid import Grid, default_grid  # noqa: E402
from core.rounds.folder import Round  # noqa: E402
from core.rounds.ingest import ingest  # noqa: E402
from core.sampling import Population, Review  # noqa: E402
from core.signing.evidence import EvidenceStore  # noqa: E402
from core.signing.export import make_export  # noqa: E402
from core.signing.grids import accept_grid  # noqa: E402
from core.signing.ledger import LedgerEntry  # noqa: E402
from core.signing.propose import lock_holdout  # noqa: E402
from core.signing.signoff import Choice, prepare, sign_and_append  # noqa: E402


def several_runs(made: Desk, folder: Path) -> Round:
    """Judges of many cases and of few, and outcomes of three runs in clusters; no pairs, so a refusal record."""
    outcomes = [tuple(tuple((place * step + run) % 7 < most for run in range(3)) for step, most in ((3, 3), (3, 5))) for place in range(40)]
    source = folder_of(folder / "several-runs", {
        "judge_records": [*judge_rows("many", tp=180, fp=6, fn=9, tn=140), *judge_rows("few", tp=9, fp=1, fn=1, tn=4), *judge_rows("one", tp=6)],
        "holdout": [{"id": f"i{place}", "prompt": f"What is {place} and {place}?"} for place in range(40)],
        "outcomes": run_rows(outcomes, [f"text-{place // 2}" if place < 30 else None for place in range(40)]),
        "sanity": [{"id": f"s{place}", "passed": place > 0} for place in range(12)],
    }, about=ABOUT | {"round_id": "several-runs"})
    return made.workspace.round(ingest(source, made.workspace, now=NOW).digest)


def judged_blind(made: Desk, source: Round) -> None:
    """The reviewer judges every admitted pair, always the one shown first."""
    computed = made.assess(source)
    review = Review(made.workspace, Population.of(computed), computed.grid_digest, made.verifier.id)
    review.start(default_grid(), "fixed", NOW, "2f" * 16)
    while (sample := review.sample()) is not None and sample.next_pair is not None:
        review.judge(sample.next_pair, "first", NOW)


def main(target: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        made, folder = desk(Path(place)), Path(place)
        for grid in (default_grid(), FIRST_GRID):
            accept_grid(made.workspace, grid, "eva@example.org", made.registry, now=NOW)
        lock_holdout(made.workspace, canonical_bytes(json.loads(bundle())["holdout_suite"]), made.eva.id, made.eva, made.registry, NOW)
        made.assess(made.round("earlier", candidate_outcomes={f"h-0{number}": number != 2 for number in range(1, 6)}))
        approved = made.round("approved")
        judged_blind(made, approved)
        decisions: list[tuple[Round, Grid, Choice, str]] = [
            (approved, default_grid(), "approve", "both admitted pairs read"),
            (made.round("rejected"), default_grid(), "reject", "five items prove nothing \u2013 n\u00e9e \U0001f9ea"),
            (several_runs(made, folder), default_grid(), "reject", ""),
            (made.round("first-grid"), FIRST_GRID, "approve", "under the grid of the first schema"),
        ]
        target.mkdir()
        for number, (source, grid, choice, comment) in enumerate(decisions):
            entry = decided(made, source, grid, choice, comment, number)
            export = make_export(made.ledger.read(), entry, EvidenceStore.beside(made.ledger.file))
            (target / f"{source.manifest.round_id}.zip").write_bytes(export.zip_bytes())
        keep(made, target, [source for source, *_ in decisions])


def decided(made: Desk, source: Round, grid: Grid, choice: Choice, comment: str, number: int) -> LedgerEntry:
    now, registry = NOW + timedelta(minutes=number), made.registry
    made.propose(source, grid=grid, now=now)
    prepared = prepare(made.workspace, source, made.assess(source, grid), made.verifier.id, choice, comment, registry, now)
    return sign_and_append(made.workspace, prepared.digest, made.verifier, registry, now).entry


def keep(made: Desk, target: Path, sources: list[Round]) -> None:
    root = made.workspace.root
    for name in ("reviewers.toml", "grids.json", EXPOSURE_FILE):
        shutil.copyfile(root / name, target / name)
    (target / "ledger").mkdir()
    for name in ("receipts.jsonl", "head.json"):
        shutil.copyfile(made.ledger.file.parent / name, target / "ledger" / name)
    for source in sources:
        shutil.copytree(source.path, target / "rounds" / source.digest)
    shutil.copytree(made.workspace.grids_dir, target / "grids")


if __name__ == "__main__":
    if (HERE / "v2").exists():
        sys.exit("tests/receipts/v2 exists: old receipts are never regenerated")
    main(HERE / "v2")
