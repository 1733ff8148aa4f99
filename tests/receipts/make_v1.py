"""How ``v1/`` was made, once: ``python tests/receipts/make_v1.py`` (it refuses where the folder exists).

It holds a small ledger (a registration, three proposals, an approval and two rejections, one of them of a refusal record),
the registry, the rounds, the grid, and the exports. The private keys were thrown away. Later engines must verify these
files as they are: they are never regenerated. A new predicate version gets a folder of its own.
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

from support_desk import bundle, desk  # noqa: E402
from support_signing import NOW  # noqa: E402

from core.canonical import canonical_bytes  # noqa: E402
from core.grid import default_grid  # noqa: E402
from core.signing.evidence import EvidenceStore  # noqa: E402
from core.signing.export import make_export  # noqa: E402
from core.signing.grids import accept_grid  # noqa: E402
from core.signing.propose import lock_holdout  # noqa: E402


def main(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = desk(Path(folder))
        accept_grid(made.workspace, default_grid(), "eva@example.org", made.registry, now=NOW)
        lock_holdout(made.workspace, canonical_bytes(json.loads(bundle())["holdout_suite"]), made.eva.id, made.eva, made.registry, NOW)
        exports = {}
        for number, (name, actor, choice, comment, changes) in enumerate([
            ("approved", made.verifier, "approve", "both admitted pairs read", {}),
            ("rejected", made.ben, "reject", "five items prove nothing \u2013 n\u00e9e \U0001f9ea", {"reviewer_id": ...}),
            ("refused", made.verifier, "reject", "", {"sanity_outcomes": {}}),
        ]):
            now = NOW + timedelta(minutes=number)
            source = made.round(name, **changes)
            made.propose(source, now=now)
            exports[name] = made.sign(made.prepare(source, actor, choice, comment, now=now), actor, now=now).entry
        workspace = made.workspace
        target.mkdir()
        for entry_name, entry in exports.items():
            export = make_export(made.ledger.read(), entry, EvidenceStore.beside(workspace.ledger_file))
            (target / f"{entry_name}.zip").write_bytes(export.zip_bytes())
        for name in ("reviewers.toml", "grids.json"):
            shutil.copyfile(workspace.root / name, target / name)
        for name in ("receipts.jsonl", "head.json"):
            (target / "ledger").mkdir(exist_ok=True)
            shutil.copyfile(workspace.ledger_file.parent / name, target / "ledger" / name)
        shutil.copytree(workspace.rounds_dir, target / "rounds")
        shutil.copytree(workspace.grids_dir, target / "grids")
        (target / "verifier.pub").write_text(f"{made.verifier.public.openssh} worker-verifier-02\n")


if __name__ == "__main__":
    if (HERE / "v1").exists():
        sys.exit("tests/receipts/v1 exists: old receipts are never regenerated")
    main(HERE / "v1")
