"""How long do the statistics of a large comparison take?

10,000 items, four runs an arm, with every test and interval that a page shows, and single parts of it at one and four runs.
Prints seconds (the best of three) and the machine's cores; ``--limit`` makes a slower comparison an error.

    python benchmarks/statistics_speed.py [--items 10000] [--limit 1.0]
"""
from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable

import numpy as np

from core.statistics.arms import ArmRuns, flip_table
from core.statistics.clustered import clustered_mean
from core.statistics.comparison import compare_arms
from core.statistics.mean_bootstrap import mean_bootstrap
from core.statistics.paired import paired_test
from core.statistics.paired_intervals import newcombe_interval, tango_interval
from core.statistics.pass_at_k import suite_pass_at_k
from core.statistics.sign_flip import sign_flip_test
from core.statistics.slices import flip_tables, slice_table


def arm(rates: np.ndarray, runs: int, random: np.random.Generator) -> ArmRuns:
    n = len(rates)
    item = np.repeat(np.arange(n), runs)
    return ArmRuns(n, item, np.tile(np.arange(runs), n), random.random(n * runs) < rates[item])


def best_of_three(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--limit", type=float, default=None, help="seconds that the whole comparison may take")
    options = parser.parse_args()
    n, random = options.items, np.random.default_rng(1)
    rates = random.random(n)
    better = np.clip(rates + 0.01, 0, 1)
    four, one = (tuple(arm(p, runs, random) for p in (rates, better)) for runs in (4, 1))
    names = [f"slice-{k % 40:02d}" for k in range(n)]
    levels = {"alpha": "0.05", "confidence": "0.95"}
    differences = four[1].rates().minus(four[0].rates())
    outcomes = [pair.reduced("majority", tie=True) for pair in one]
    table = flip_table(*outcomes)
    scores, sampled = random.normal(0.01, 1, size=n), list(zip(four[0].runs.tolist(), four[0].passes.tolist(), strict=True))
    parts: list[tuple[str, Callable[[], object]]] = [
        ("whole comparison, four runs an arm", lambda: compare_arms(*four, reducer="majority", power="0.8", **levels)),
        ("whole comparison, one run an arm", lambda: compare_arms(*one, reducer="majority", power="0.8", **levels)),
        (f"exact McNemar, mid-p ({table.flips:,} flips)", lambda: paired_test(table)),
        ("Newcombe and Tango", lambda: (newcombe_interval(table), tango_interval(table))),
        ("sign flips of pass rates, exact", lambda: sign_flip_test(differences)),
        ("sign flips of real scores, drawn", lambda: sign_flip_test(scores)),
        ("bootstrap of pass rates, exact", lambda: mean_bootstrap(differences)),
        ("bootstrap of real scores, drawn", lambda: mean_bootstrap(scores)),
        ("cluster-robust mean, 500 clusters", lambda: clustered_mean(differences, np.arange(n) % 500)),
        ("40 slices with three adjustments", lambda: slice_table(flip_tables(*outcomes, names), **levels)),
        ("pass@k and pass^k, k = 1 to 4", lambda: [suite_pass_at_k(sampled, k) for k in (1, 2, 3, 4)]),
    ]
    print(f"{n:,} items, {os.cpu_count()} cores")
    parts[0][1]()       # imports of scipy are not the statistics' time
    seconds = {name: best_of_three(work) for name, work in parts}
    for name, took in seconds.items():
        print(f"{took:8.3f} s  {name}")
    return 1 if options.limit is not None and seconds[parts[0][0]] > options.limit else 0


if __name__ == "__main__":
    sys.exit(main())
