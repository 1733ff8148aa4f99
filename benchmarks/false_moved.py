"""How often does a comparison say that something moved when nothing did?

Both arms pass each item with the same probability, so every "shown better" or "shown worse" is a false alarm. With one run an
arm all results are enumerated: the rate is exact. With four runs an item the comparison is simulated, seeded. At most
5 % plus sampling error is allowed at every number of items; and comparing three identical runs must give the verdict
of one.

    python benchmarks/false_moved.py [--experiments 1000] [--seed 1]
"""
from __future__ import annotations

import argparse
import math
import sys
import time

import numpy as np

from core.statistics.arms import ArmRuns
from core.statistics.comparison import PairedComparison, compare_arms
from core.statistics.paired import FlipTable
from core.statistics.verdict import Standing, paired_verdict

ITEMS = (3, 5, 8, 20, 50)
RATES: tuple[float | None, ...] = (0.5, 0.9, None)      # None: a rate of its own for each item, uniform
ALPHA, RUNS = 0.05, 4


def exact_rate(n: int, rate: float | None) -> float:
    """One run an arm: the probability of all tables of flips whose verdict is not "not shown"."""
    flip = rate * (1 - rate) if rate is not None else 1 / 6       # mean of p (1 - p) over a uniform p
    total = 0.0
    for fixes in range(n + 1):
        for regressions in range(n - fixes + 1):
            same = n - fixes - regressions
            table = FlipTable(both_pass=same, regressions=regressions, fixes=fixes, both_fail=0)
            if paired_verdict(table, alpha="0.05", confidence="0.95").standing is not Standing.NOT_SHOWN:
                ways = math.factorial(n) // (math.factorial(fixes) * math.factorial(regressions) * math.factorial(same))
                total += ways * flip ** (fixes + regressions) * (1 - 2 * flip) ** same
    return total


def arm(rates: np.ndarray, runs: int, random: np.random.Generator) -> ArmRuns:
    n = len(rates)
    item = np.repeat(np.arange(n), runs)
    return ArmRuns(n, item, np.tile(np.arange(runs), n), random.random(n * runs) < rates[item])


def tripled(one: ArmRuns) -> ArmRuns:
    """The same runs three times, under new run numbers."""
    step = int(one.run.max()) + 1
    return ArmRuns(one.items, np.tile(one.item, 3), np.concatenate([one.run + k * step for k in range(3)]), np.tile(one.passed, 3))


def compare(before: ArmRuns, after: ArmRuns) -> PairedComparison:
    return compare_arms(before, after, reducer="majority", alpha="0.05", confidence="0.95", power="0.8")


def simulated(n: int, rate: float | None, experiments: int, random: np.random.Generator) -> tuple[float, int]:
    """Share of false alarms with four runs an item, and how many verdicts three identical runs changed (of 40 looked at)."""
    alarms = changed = 0
    for number in range(experiments):
        rates = random.random(n) if rate is None else np.full(n, rate)
        before, after = arm(rates, RUNS, random), arm(rates, RUNS, random)
        found = compare(before, after)
        alarms += found.verdict.standing is not Standing.NOT_SHOWN
        if number < 40:
            again = compare(tripled(before), tripled(after))
            changed += again.verdict != found.verdict or again.band != found.band
    return alarms / experiments, changed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    limit = ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / options.experiments)
    print(f"allowed: {ALPHA:.1%} where enumerated, {limit:.1%} simulated ({options.experiments:,} experiments, 3 standard errors)")
    print(f"{'items':>5} {'pass rate':>10} {'one run, exact':>15} {'four runs':>10} {'three identical runs change':>28}")
    failed, started = False, time.perf_counter()
    for n in ITEMS:
        for rate in RATES:
            single = exact_rate(n, rate)
            share, changed = simulated(n, rate, options.experiments, np.random.default_rng([options.seed, n, int(100 * (rate or 0))]))
            bad = single > ALPHA or share > limit or changed > 0
            failed |= bad
            print(f"{n:>5} {'uniform' if rate is None else rate:>10} {single:>15.2%} {share:>10.2%} {changed:>28}{'  FAILS' if bad else ''}")
    print(f"{time.perf_counter() - started:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
