"""Build the demo rounds of ``data/rounds`` from the published files of ``data/sources``.

    python data/build_demo.py            write data/rounds and data/bundles
    python data/build_demo.py --check    rebuild in memory, compare with what is there, write nothing (exit 1 on a difference)

Each folder of ``data/rounds`` is one round as its proposer would hand it to ``countersign ingest``.
"""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from builders import ifeval, judges, smollm2, worked_example
from builders.folder import DemoRound, differences, write

DATA = Path(__file__).resolve().parent
ROUNDS, BUNDLE = DATA / "rounds", DATA / "bundles" / worked_example.BUNDLE


def _check(demos: list[DemoRound]) -> list[str]:
    found = [line for demo in demos for line in differences(demo, ROUNDS)]
    known = {demo.round_id for demo in demos}
    found += [f"{path.name}: not built by this command" for path in sorted(ROUNDS.iterdir()) if path.name not in known]
    if not BUNDLE.is_file() or BUNDLE.read_bytes() != worked_example.bundle_bytes():
        found.append(f"{BUNDLE.name}: missing or other bytes")
    return found


def main() -> int:
    """Build or check; the exit status is 0 when all is well, 1 when ``--check`` finds a difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    demos = [worked_example.worked_example(), judges.judges(), smollm2.rpo(), smollm2.dpo_only(), ifeval.qwen(), ifeval.gpt_4o()]
    if check:
        found = _check(demos)
        print("\n".join(found) if found else f"data/rounds is what data/sources gives: {len(demos)} rounds")
        return 1 if found else 0
    for demo in demos:
        write(demo, ROUNDS)
    BUNDLE.parent.mkdir(exist_ok=True)
    BUNDLE.write_bytes(worked_example.bundle_bytes())
    print(f"wrote {len(demos)} rounds to {ROUNDS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
