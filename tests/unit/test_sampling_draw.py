"""The draw: the same everywhere from the same seed, by the method as it is described, and random over seeds."""
from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
from collections import Counter

import pytest
from support_signing import sha

from core.sampling.draw import Population, drawn, shown_first

IDS = tuple(f"pair-{number}" for number in range(40))
ROUND, ADMITTED = sha("round"), sha("admitted")
ONE = Population(ROUND, ADMITTED, IDS)


def described(use: str, seed: str, pair_id: str) -> bytes:
    """SHA-256 of a pair as draw.py describes it, with another JSON writer (plain ASCII: the bytes are those of RFC 8785)."""
    base = hashlib.sha256(json.dumps(["countersign-sample-1", use, seed, ROUND, ADMITTED], separators=(",", ":")).encode()).digest()
    return hashlib.sha256(base + pair_id.encode("utf-8")).digest()


@pytest.mark.parametrize("seed", ["00", "ff" * 16, "0123456789abcdef"])
def test_order_and_sides_follow_the_description(seed: str) -> None:
    assert drawn(ONE, seed, 12) == tuple(sorted(IDS, key=lambda pair_id: described("order", seed, pair_id))[:12])
    for pair_id in IDS:
        assert shown_first(ONE, seed, pair_id) == ("chosen" if described("side", seed, pair_id)[0] % 2 == 0 else "rejected")


def test_the_draw_knows_no_order_of_input_and_a_longer_one_begins_like_a_shorter() -> None:
    shuffled = list(IDS)
    random.Random(5).shuffle(shuffled)
    other = Population(ROUND, sha("same pairs, other digest, so nothing is cached"), tuple(shuffled))
    same = Population(ROUND, other.admitted_sha256, IDS)
    first = drawn(other, "aa", 20)
    drawn.cache_clear()
    assert drawn(same, "aa", 20) == first
    assert drawn(ONE, "aa", 40)[:7] == drawn(ONE, "aa", 7) and set(drawn(ONE, "aa", 40)) == set(IDS)


@pytest.mark.parametrize("changed", [
    Population(sha("another round"), ADMITTED, IDS), Population(ROUND, sha("another list"), IDS),
])
def test_another_round_list_or_seed_is_another_draw(changed: Population) -> None:
    assert drawn(changed, "aa", 40) != drawn(ONE, "aa", 40) != drawn(ONE, "ab", 40)
    assert any(shown_first(changed, "aa", pair_id) != shown_first(ONE, "aa", pair_id) for pair_id in IDS)


def test_another_process_with_another_hash_seed_draws_the_same() -> None:
    code = (
        "from core.sampling.draw import Population, drawn, shown_first\n"
        f"p = Population({ROUND!r}, {ADMITTED!r}, {IDS!r})\n"
        "print(drawn(p, 'aa', 9), [shown_first(p, 'aa', i) for i in p.pair_ids])"
    )
    here = f"{drawn(ONE, 'aa', 9)} {[shown_first(ONE, 'aa', pair_id) for pair_id in IDS]}"
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7"})
    assert there.stdout.strip() == here


def test_over_many_seeds_every_pair_is_drawn_alike_and_each_side_comes_first_alike() -> None:
    # 2,000 seeds, 10 of 40 drawn: each pair 500 times on average, sd sqrt(2000 * .25 * .75) = 19.4; six of those are 116.
    # Sides: 1,000 times on average, sd sqrt(2000 / 4) = 22.4; six of those are 134. Side and place must not go together either
    seeds = [f"{number:032x}" for number in range(2000)]
    times: Counter[str] = Counter()
    chosen_first: Counter[str] = Counter()
    together = 0
    for seed in seeds:
        order = drawn(ONE, seed, 10)
        times.update(order)
        chosen_first.update(pair_id for pair_id in IDS if shown_first(ONE, seed, pair_id) == "chosen")
        together += shown_first(ONE, seed, order[0]) == "chosen"
    assert all(abs(times[pair_id] - 500) < 116 for pair_id in IDS)
    assert all(abs(chosen_first[pair_id] - 1000) < 134 for pair_id in IDS)
    assert abs(together - 1000) < 134


def test_ids_of_any_script_can_be_drawn() -> None:
    odd = Population(ROUND, ADMITTED[::-1], ("é", "日本", "a\nb", "\u202e", "p/../x"))
    assert sorted(drawn(odd, "aa", 5)) == sorted(odd.pair_ids)
    assert {shown_first(odd, "aa", pair_id) for pair_id in odd.pair_ids} <= {"chosen", "rejected"}
