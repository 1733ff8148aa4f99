"""The demo rounds' figures in plain Python, straight from ``data/sources``: nothing of the engine, nothing of ``data/builders``.

Log-probs are read as exact rationals, as they are written. Used by test_demo_figures (against the figures that the issue and
upstream state) and by test_demo_rounds (pair by pair against the engine).
"""
from __future__ import annotations

import gzip
import itertools
import json
import math
import re
import unicodedata
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "data"
Row = dict[str, Any]
Counts = tuple[int, int, int, int]


@cache
def raw(name: str) -> bytes:
    return gzip.decompress((DATA / "sources" / name).read_bytes())


@cache
def rows_of(name: str) -> list[Row]:
    # numbers as they are written: log-probs become exact rationals, never doubles
    return [json.loads(line, parse_float=Fraction) for line in raw(name).split(b"\n") if line]


def rounded(value: Fraction, places: int) -> Decimal:
    return round(Decimal(value.numerator) / Decimal(value.denominator), places)


def kappa_of(counts: Counts) -> Fraction:
    """Cohen's kappa from observed and chance agreement: (po - pe) / (1 - pe)."""
    tp, fp, fn, tn = counts
    n = sum(counts)
    observed = Fraction(tp + tn, n)
    chance = Fraction((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn), n * n)
    return (observed - chance) / (1 - chance)


def confusion_of(cells: list[tuple[bool, bool]]) -> Counts:
    """(tp, fp, fn, tn) of (approved, passed)."""
    count = Counter(cells)
    return count[True, True], count[True, False], count[False, True], count[False, False]


@cache
def pair_tasks() -> tuple[str, ...]:
    tasks = sorted({row["task_id"] for row in rows_of("smollm2/rollouts.jsonl.gz")})
    assert len(tasks) == 80
    return tuple(tasks[place] for place in range(80) if (place + 1) % 4 == 0)


def rollouts(policy: str) -> list[Row]:
    return [row for row in rows_of("smollm2/rollouts.jsonl.gz") if row["model"] == policy]


def _side(name: str, text: str, policy: Fraction, ref: Fraction, tokens: int) -> Row:
    return {name: text, f"policy_{name}": policy, f"ref_{name}": ref, f"n_{name}": tokens}


def rating_pairs(policy: str) -> list[Row]:
    pairs = []
    for row in rows_of("smollm2/dpo_pairs_logps.jsonl.gz"):
        pair = {"id": row["pair_id"], "prompt": row["prompt"], "judge": None}
        for name in ("chosen", "rejected"):
            pair |= _side(name, row[name], row["policies"][policy][f"logp_{name}"], row[f"ref_logp_{name}"], row[f"{name}_token_count"])
        pairs.append(pair)
    return pairs


def _from_rollouts(judge: str, chosen: Row, rejected: Row) -> Row:
    pair = {"id": f"{judge}-{chosen['task_id']}", "prompt": chosen["prompt"], "judge": judge}
    for name, row in (("chosen", chosen), ("rejected", rejected)):
        pair |= _side(name, row["response"], row["policy_logp"], row["ref_logp"], row["token_count"])
    return pair


def synthetic_pairs(policy: str) -> list[Row]:
    pairs = []
    for task in pair_tasks():
        group = [row for row in rollouts(policy) if row["task_id"] == task]
        assert [row["rollout"] for row in group] == [0, 1, 2, 3, 4, 5]
        best = max(group, key=lambda row: row["self_judge_p_yes"])
        worst = min(group, key=lambda row: row["self_judge_p_yes"])
        pairs.append(_from_rollouts("self-judge", best, worst))
        passed = next((row for row in group if row["loose"]), None)
        failed = next((row for row in group if not row["loose"]), None)
        if passed is not None and failed is not None:
            pairs.append(_from_rollouts("loose-check", passed, failed))
    return pairs


def margin_of(pair: Row) -> Fraction:
    return Fraction(1, 10) * ((pair["policy_chosen"] - pair["ref_chosen"]) - (pair["policy_rejected"] - pair["ref_rejected"]))


def drift_of(pair: Row) -> Fraction:
    return Fraction(pair["policy_chosen"] - pair["ref_chosen"]) / pair["n_chosen"]


def _loss(pair: Row) -> float:
    """softplus(-margin) + NLL per token of the chosen side. Doubles will do: no two losses here are closer than 1e-7 (asserted)."""
    return math.log1p(math.exp(-float(margin_of(pair)))) - float(pair["policy_chosen"]) / pair["n_chosen"]


def _form(text: str, *, skeleton: bool) -> str:
    """A small form of the prompt and skeleton keys: case, white space, end punctuation; for skeletons also list markers, stars, backticks."""
    text = unicodedata.normalize("NFKC", text)
    if skeleton:
        text = re.sub(r"^[ \t]*(?:(?:[-*+>]|#{1,6}|\d{1,3}[.)])[ \t]+)*", "", text, flags=re.M)
        text = re.sub(r"\*+([^*\n]*[^*\s])\*+", r"\1", text).replace("`", "")
    return " ".join(text.casefold().split()).rstrip(" .!?")


def reason_of(pair: Row) -> str | None:
    """The primary reason of a pair by its own figures, or None: thresholds of the default grid, written out."""
    longer, shorter = max(pair["n_chosen"], pair["n_rejected"]), min(pair["n_chosen"], pair["n_rejected"])
    if pair["chosen"].strip() == pair["rejected"].strip():
        return "identical"
    if margin_of(pair) <= 0:
        return "margin"
    if Fraction(longer, shorter) > Fraction(18, 10):
        return "length"
    if drift_of(pair) < Fraction(-1, 10):
        return "collapse"
    return None


def curate(pairs: list[Row]) -> dict[str, str]:
    """Pair id -> reason or ``admitted``; the best loss of a duplicate group survives."""
    outcome = {pair["id"]: reason_of(pair) for pair in pairs}
    ranked = sorted((_loss(pair), pair["id"], pair) for pair in pairs if outcome[pair["id"]] is None)
    losses = [loss for loss, _, _ in ranked]
    assert all(later - earlier > 1e-7 for earlier, later in itertools.pairwise(losses))
    claimed: set[tuple[str, str]] = set()
    for _, pair_id, pair in ranked:
        # the joint key needs no walk: it holds prompt and skeleton, so it never matches where those two do not
        keys = {("prompt", _form(pair["prompt"], skeleton=False)), ("skeleton", _form(pair["chosen"], skeleton=True))}
        outcome[pair_id] = "duplicate" if keys & claimed else "admitted"
        if not keys & claimed:
            claimed |= keys
    return {pair_id: reason or "admitted" for pair_id, reason in outcome.items()}
