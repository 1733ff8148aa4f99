"""Build the demo rounds of ``data/rounds`` from the published files of ``data/sources``.

    python data/build_demo.py            write data/rounds
    python data/build_demo.py --check    rebuild in memory, compare with data/rounds, write nothing (exit 1 on a difference)

``data/rounds/index.json`` lists the rounds in the order in which they are loaded, oldest first.
"""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from builders import ifeval, judges, smollm2, worked_example
from builders.folder import DemoRound, differences, document_bytes, write

ROUNDS = Path(__file__).resolve().parent / "rounds"


def _index(demos: list[DemoRound]) -> bytes:
    entries = [worked_example.index_entry()]
    entries += [{"round_id": demo.round_id, "source": demo.round_id, "created_at": demo.document["created_at"]} for demo in demos]
    return document_bytes({"rounds": sorted(entries, key=lambda entry: entry["created_at"])})


def _plain_files(demos: list[DemoRound]) -> dict[str, bytes]:
    return {worked_example.FILE: worked_example.bundle_bytes(), "index.json": _index(demos)}


def _check(demos: list[DemoRound]) -> list[str]:
    found = [line for demo in demos for line in differences(demo, ROUNDS)]
    plain = _plain_files(demos)
    for name, data in plain.items():
        if not (ROUNDS / name).is_file() or (ROUNDS / name).read_bytes() != data:
            found.append(f"{name}: missing or other bytes")
    known = {*plain, *(demo.round_id for demo in demos)}
    return found + [f"{path.name}: not built by this command" for path in sorted(ROUNDS.iterdir()) if path.name not in known]


def main() -> int:
    """Build or check; the exit status is 0 when all is well, 1 when ``--check`` finds a difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with data/rounds instead of writing it")
    check = parser.parse_args().check
    demos = [judges.judges(), smollm2.rpo(), smollm2.dpo_only(), ifeval.qwen(), ifeval.gpt_4o()]
    if check:
        found = _check(demos)
        print("\n".join(found) if found else f"data/rounds is what data/sources gives: {len(demos) + 1} rounds")
        return 1 if found else 0
    ROUNDS.mkdir(exist_ok=True)
    for demo in demos:
        write(demo, ROUNDS)
    for name, data in _plain_files(demos).items():
        (ROUNDS / name).write_bytes(data)
    print(f"wrote {len(demos) + 1} rounds to {ROUNDS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
