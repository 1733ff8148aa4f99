"""How long does a contamination check of texts made from a template take, and how long does the peer take for the same?

100,000 training texts against 1,000 locked ones, all from one template with slots, so that every text shares long word runs with
every other; a few are copies, and a few hold a locked text inside a longer one. The peer is the package whileai 0.131
(``whileai.simulations.decontaminate``), run by a Python that has it:

    python -m venv peer && peer/bin/pip install whileai==0.131
    python benchmarks/contamination_speed.py --peer-python peer/bin/python

Both get the same rows, a chunk at a time in turn, so that whatever else the machine does falls on both, and both build their index
of the locked texts anew for each chunk. Times are CPU seconds of each process (wall seconds beside them). ``--peer-rows`` lets the
peer see the first rows of each chunk only and scales its time up: it looks at each row by itself, so its time is linear in rows.
Without ``--peer-python`` only our times are printed. ``--limit`` makes a smaller factor an error.
"""
from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

from core.pairs.contamination import CheckedPair, ContaminationCheck, PairText

WORDS = (Path(__file__).parent / "words.txt").read_text("utf-8").split()
TEMPLATE = (
    "You are a support agent of a small shop and follow the written policy at all times. {name} writes about order {order} of the week: "
    "{detail}. Answer in a friendly tone and promise no refund before the parcel is back in the store and was looked at."
)
WORKER = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
from whileai.simulations import decontaminate
for line in sys.stdin:
    rows, against = json.loads(line)
    cpu, wall = time.process_time(), time.perf_counter()
    report = decontaminate(rows, against=against)[1]
    print(json.dumps([time.process_time() - cpu, time.perf_counter() - wall, report["n_contaminated"]]), flush=True)
"""


def texts(count: int, detail: int, draw: random.Random) -> list[str]:
    return [
        TEMPLATE.format(name=draw.choice(WORDS), order=draw.randrange(10**6), detail=" ".join(draw.choices(WORDS, k=detail))) for _ in range(count)
    ]


def rows_of(count: int, locked: list[str], detail: int, draw: random.Random) -> list[dict[str, str]]:
    found = texts(count, detail, draw)
    for place in range(0, count, 200):
        found[place] = draw.choice(locked)
    for place in range(100, count, 200):
        found[place] = f"{' '.join(draw.choices(WORDS, k=60))} {draw.choice(locked)}"
    return [{"prompt": text} for text in found]


def ours(rows: list[dict[str, str]], locked: list[dict[str, str]]) -> tuple[float, float, int]:
    cpu, wall = time.process_time(), time.perf_counter()
    check = ContaminationCheck(locked, 8, Fraction(4, 5))
    pairs = [CheckedPair(place, str(place), (PairText("prompt", row["prompt"]),)) for place, row in enumerate(rows)]
    found = {finding.ordinal for first in range(0, len(pairs), 8192) for finding in check.check(pairs[first:first + 8192])}
    return time.process_time() - cpu, time.perf_counter() - wall, len(found)


class Peer:
    def __init__(self, python: str) -> None:
        self.process = subprocess.Popen([python, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, rows: list[dict[str, str]], locked: list[dict[str, str]]) -> tuple[float, float, int]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([rows, locked]) + "\n")
        self.process.stdin.flush()
        cpu, wall, found = json.loads(self.process.stdout.readline())
        return cpu, wall, found

    def close(self) -> None:
        self.process.communicate()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--locked", type=int, default=1_000)
    parser.add_argument("--chunks", type=int, default=10)
    parser.add_argument("--detail", type=int, default=16, help="words of each text that are no template; with 2 the template alone reaches the share")
    parser.add_argument("--peer-python", help="a Python that has whileai 0.131")
    parser.add_argument("--peer-rows", type=int, default=None, help="rows of each chunk that the peer sees")
    parser.add_argument("--limit", type=float, default=None, help="the smallest factor between the two that is no error")
    options = parser.parse_args()
    draw = random.Random(1)
    locked = [{"prompt": text} for text in texts(options.locked, options.detail, draw)]
    rows = rows_of(options.rows, [row["prompt"] for row in locked], options.detail, draw)
    peer = None if options.peer_python is None else Peer(options.peer_python)
    size = -(-len(rows) // options.chunks)
    mine, theirs, seen = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], 0
    for first in range(0, len(rows), size):
        chunk = rows[first:first + size]
        mine = [one + more for one, more in zip(mine, ours(chunk, locked), strict=True)]
        if peer is not None:
            shown = chunk[:options.peer_rows]
            seen += len(shown)
            theirs = [one + more for one, more in zip(theirs, peer.run(shown, locked), strict=True)]
            print(f"  {first + len(chunk):,} rows: ours {mine[0]:.1f} s CPU, peer {theirs[0]:.1f} s CPU for {seen:,} rows", file=sys.stderr)
    print(f"{len(rows):,} x {len(locked):,} texts of {len(rows[1]['prompt'].split())} words, {os.cpu_count()} cores")
    print(f"ours  {mine[0]:9.1f} s CPU {mine[1]:9.1f} s wall, {mine[2]:,.0f} rows contaminated")
    if peer is None:
        return 0
    peer.close()
    scale = len(rows) / seen
    print(f"peer  {theirs[0] * scale:9.1f} s CPU {theirs[1] * scale:9.1f} s wall, {theirs[2]:,.0f} of {seen:,} rows contaminated")
    factor = theirs[0] * scale / mine[0]
    print(f"factor {factor:.0f}" + ("" if seen == len(rows) else f" (the peer's time is scaled up from {seen:,} rows)"))
    return 1 if options.limit is not None and factor < options.limit else 0


if __name__ == "__main__":
    sys.exit(main())
