"""Every figure that the demo rounds must show, recomputed from ``data/sources`` in plain Python.

Nothing of the engine is used here (support_demo): expected values are those of the project's issue and of
``data/SOURCES.md`` (upstream's published tables), and the arithmetic is exact rationals on the numbers as they are written.
"""
from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import cache

import pytest
from support_demo import (
    DATA,
    Counts,
    Row,
    confusion_of,
    curate,
    drift_of,
    kappa_of,
    margin_of,
    pair_tasks,
    rating_pairs,
    raw,
    reason_of,
    rollouts,
    rounded,
    rows_of,
    synthetic_pairs,
)

# ---------------------------------------------------------------- sources

def test_sources_have_the_digests_that_the_page_states() -> None:
    stated = dict(re.findall(r"^\| `([^`]+\.gz)` \| .* \| `([0-9a-f]{64})` \| `[0-9a-f]{64}` \|$", (DATA / "SOURCES.md").read_text("utf-8"), re.M))
    unpacked = dict(re.findall(r"^\| `([^`]+\.gz)` \| .* \| `[0-9a-f]{64}` \| `([0-9a-f]{64})` \|$", (DATA / "SOURCES.md").read_text("utf-8"), re.M))
    files = {path.relative_to(DATA / "sources").as_posix(): path for path in (DATA / "sources").rglob("*.gz")}
    assert set(stated) == set(files)
    for name, path in files.items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == stated[name], name
        assert hashlib.sha256(raw(name)).hexdigest() == unpacked[name], name


# ---------------------------------------------------------------- smollm2: pairs

# from the issue: admitted, identical, margin, length, collapse, duplicate of the 550 rating pairs
RATING = {
    "rpo-60": {"admitted": 376, "identical": 6, "margin": 67, "length": 81, "collapse": 19, "duplicate": 1},
    "dpo-only-60": {"admitted": 12, "identical": 6, "margin": 52, "length": 82, "collapse": 398},
}


@pytest.mark.parametrize("policy", RATING)
def test_rating_pairs(policy: str) -> None:
    pairs = rating_pairs(policy)
    assert len(pairs) == 550
    assert Counter(curate(pairs).values()) == RATING[policy]


@pytest.mark.parametrize(("policy", "margin", "drift"), [("rpo-60", "0.56", "0.27"), ("dpo-only-60", "2.53", "-2.64")])
def test_margins_several_times_larger_and_chosen_collapsed(policy: str, margin: str, drift: str) -> None:
    valid = [pair for pair in rating_pairs(policy) if reason_of(pair) != "identical"]
    assert len(valid) == 544
    assert rounded(sum(map(margin_of, valid), Fraction(0)) / 544, 2) == Decimal(margin)
    assert rounded(sum(map(drift_of, valid), Fraction(0)) / 544, 2) == Decimal(drift)


@pytest.mark.parametrize(("policy", "by_check"), [("rpo-60", 6), ("dpo-only-60", 2)])
def test_synthetic_pairs_come_from_twenty_tasks(policy: str, by_check: int) -> None:
    assert Counter(pair["judge"] for pair in synthetic_pairs(policy)) == {"self-judge": 20, "loose-check": by_check}


# in = admitted + rejected + held; the open judge of the first round lets its 6 pairs into curation, in the second all are held
WHOLE = {"rpo-60": (576, 377, 179, 20, {"loose-check"}), "dpo-only-60": (572, 12, 538, 22, set())}


@pytest.mark.parametrize("policy", WHOLE)
def test_every_pair_ends_in_one_place(policy: str) -> None:
    total, admitted, rejected, held, open_judges = WHOLE[policy]
    pairs = rating_pairs(policy) + synthetic_pairs(policy)
    curated = [pair for pair in pairs if pair["judge"] is None or pair["judge"] in open_judges]
    count = Counter(curate(curated).values())
    assert (len(pairs), count["admitted"], sum(count.values()) - count["admitted"], len(pairs) - len(curated)) == (total, admitted, rejected, held)
    assert total == admitted + rejected + held


# ---------------------------------------------------------------- smollm2: judges, holdout, canaries

# policy, judge, (tp, fp, fn, tn), kappa to four places; from the issue. 20 + 133 + 47 + 160 = 360
JUDGES = [
    ("rpo-60", "self-judge", (20, 133, 47, 160), "-0.1040"), ("dpo-only-60", "self-judge", (16, 189, 24, 131), "-0.0680"),
    ("rpo-60", "loose-check", (67, 11, 0, 282), "0.9051"), ("dpo-only-60", "loose-check", (40, 22, 0, 298), "0.7506"),
]


@pytest.mark.parametrize(("policy", "judge", "counts", "kappa"), JUDGES)
def test_judges_on_the_other_sixty_tasks(policy: str, judge: str, counts: Counts, kappa: str) -> None:
    rows = [row for row in rollouts(policy) if row["task_id"] not in pair_tasks()]
    assert (len(rows), len({row["task_id"] for row in rows})) == (360, 60)
    cells = [(row["loose"] if judge == "loose-check" else row["self_judge_p_yes"] >= Fraction(1, 2), row["strict"]) for row in rows]
    assert confusion_of(cells) == counts
    assert rounded(kappa_of(counts), 4) == Decimal(kappa)


def test_the_loose_check_is_closed_by_false_positives_alone() -> None:
    tp, fp, fn, tn = 40, 22, 0, 298
    assert kappa_of((tp, fp, fn, tn)) >= Fraction(3, 4)
    assert rounded(Fraction(tp + tn, 360), 4) == Decimal("0.9389")
    assert Fraction(fp, fp + tn) == Fraction(22, 320) > Fraction(1, 20)      # 6.875 %, printed as 6.9 %
    assert Fraction(11, 293) <= Fraction(1, 20)                              # the sibling's: 3.75 %


@pytest.mark.parametrize(("policy", "gained", "lost", "kept"), [("rpo-60", 5, 7, 5), ("dpo-only-60", 3, 13, 0)])
def test_holdout_and_canaries(policy: str, gained: int, lost: int, kept: int) -> None:
    strict = {(row["model"], row["key"]): row["strict"] for row in rows_of("smollm2/holdout.jsonl.gz")}
    flips = Counter((strict["ref", key], strict[policy, key]) for model, key in strict if model == "ref")
    assert (sum(flips.values()), flips[False, True], flips[True, False]) == (120, gained, lost)
    assert Fraction(lost, 120) > Fraction(1, 20)
    sanity = {(row["model"], row["id"]): row["passed"] for row in rows_of("smollm2/sanity.jsonl.gz")}
    canaries = [item for model, item in sanity if model == "ref" and sanity["ref", item]]
    assert (len(canaries), sum(sanity[policy, item] for item in canaries)) == (8, kept)


# ---------------------------------------------------------------- judges

# evaluator, strategy, missing verdicts, kappa over the others (first order)
LLMBAR = [
    ("GPT-4", "Metrics_Reference", 0, "0.7234"), ("GPT-4", "Vanilla", 0, "0.6565"), ("GPT-4", "Vanilla_NoRules", 0, "0.5226"),
    ("PaLM2", "Vanilla", 4, "0.3739"), ("Falcon", "Vanilla", 0, "0.1203"), ("ChatGPT", "Vanilla_NoRules", 0, "-0.2062"),
]


def _llmbar(evaluator: str, strategy: str) -> list[tuple[Row, Row]]:
    pairs = {(row["subset"], row["idx"]): row for row in rows_of("llmbar/pairs.jsonl.gz")}
    return [
        (row, pairs[row["subset"], row["idx"]]) for row in rows_of("llmbar/verdicts.jsonl.gz")
        if row["evaluator"] == evaluator and row["strategy"] == strategy
    ]


@pytest.mark.parametrize(("evaluator", "strategy", "missing", "kappa"), LLMBAR)
def test_llmbar_judges(evaluator: str, strategy: str, missing: int, kappa: str) -> None:
    rows = _llmbar(evaluator, strategy)
    usable = [(verdict["winner"] == "1", pair["label"] == 1) for verdict, pair in rows if verdict["winner"] is not None]
    assert (len(rows), len(usable)) == (419, 419 - missing)
    counts = confusion_of(usable)
    assert rounded(kappa_of(counts), 4) == Decimal(kappa)
    if (evaluator, strategy) == ("GPT-4", "Metrics_Reference"):
        assert (counts[1], counts[1] + counts[3]) == (37, 213)


def test_llmbar_published_accuracy() -> None:
    # paper and upstream statistics: mean of the two orders, in percent, one decimal
    published = {"Natural": "96.0", "Neighbor": "85.4", "GPTInst": "89.7", "GPTOut": "72.3", "Manual": "83.7"}
    for subset, accuracy in published.items():
        rows = [(verdict, str(pair["label"])) for verdict, pair in _llmbar("GPT-4", "Metrics_Reference") if verdict["subset"] == subset]
        right = sum((verdict["winner"] == label) + (verdict["winner_swapped"] == label) for verdict, label in rows)
        assert rounded(Fraction(100 * right, 2 * len(rows)), 1) == Decimal(accuracy), subset


def _pandalm() -> tuple[list[int], list[str], list[int]]:
    test, gpt, own = (json.loads(raw(f"pandalm/{name}.json.gz")) for name in ("testset-v1", "gpt-3.5-turbo-testset-v1", "pandalm-7b-testset-v1"))
    assert [row["idx"] for row in test] == [row["idx"] for row in gpt] == [row["idx"] for row in own]
    majority = [Counter(row[f"annotator{n}"] for n in (1, 2, 3)).most_common(1)[0] for row in test]
    assert all(votes >= 2 for _, votes in majority)      # no three-way splits
    return [label for label, _ in majority], [row["gpt_result"] for row in gpt], [row["pandalm_result"] for row in own]


def test_pandalm_published_figures() -> None:
    majority, gpt, own = _pandalm()
    assert Counter(majority) == {0: 105, 1: 422, 2: 472}
    three_way = {"1": 1, "2": 2, "Tie": 0, "garbage": 0}
    assert rounded(Fraction(sum(three_way[said] == label for said, label in zip(gpt, majority, strict=True)), 999), 4) == Decimal("0.7107")
    assert rounded(Fraction(sum(said == label for said, label in zip(own, majority, strict=True)), 999), 4) == Decimal("0.6677")


def test_pandalm_as_approval_of_response_1() -> None:
    majority, gpt, own = _pandalm()
    by_gpt = confusion_of([(said == "1", label == 1) for said, label in zip(gpt, majority, strict=True)])
    by_own = confusion_of([(said == 1, label == 1) for said, label in zip(own, majority, strict=True)])
    for counts, kappa, agreement, false_positives in ((by_gpt, "0.5581", "0.7818", 128), (by_own, "0.4705", "0.7407", 135)):
        assert rounded(kappa_of(counts), 4) == Decimal(kappa)
        assert rounded(Fraction(counts[0] + counts[3], 999), 4) == Decimal(agreement)
        assert (counts[1], counts[1] + counts[3]) == (false_positives, 577)


def test_mr_gsm8k() -> None:
    rows = rows_of("mr_gsm8k/gpt4_vs_human_grading.jsonl.gz")
    assert (len(rows), len({row["uuid"] for row in rows}), len({(row["graded_model"], row["uuid"]) for row in rows})) == (851, 590, 851)
    counts = confusion_of([("Correct" in row["gpt4_final_decision"], row["human_verdict"] == "correct") for row in rows])
    assert counts == (317, 129, 48, 357)
    assert rounded(kappa_of(counts), 4) == Decimal("0.5868")
    assert counts[1] + counts[3] == 486
    # published: human-approved of 1,573 problems, in percent
    approved = Counter(row["graded_model"] for row in rows if row["human_verdict"] == "correct")
    for graded, percent in (("Claude", "11.76"), ("GPT3_5", "4.64"), ("llama2_70b", "6.29")):
        assert rounded(Fraction(100 * approved[graded], 1573), 2) == Decimal(percent)


# ---------------------------------------------------------------- ifeval

QWEN = ("Qwen__Qwen2.5-3B-Instruct-GPTQ-Int4", "Qwen__Qwen2.5-7B-Instruct-GPTQ-Int4")
GPT = ("gpt-4o-mini-2024-07-18", "gpt-4o-2024-08-06")


@cache
def _strict() -> dict[str, dict[int, bool]]:
    table: dict[str, dict[int, bool]] = {}
    for row in rows_of("ifeval/outcomes_en.jsonl.gz"):
        table.setdefault(row["model"], {})[row["key"]] = row["strict"]
    return table


@pytest.mark.parametrize(("models", "canaries", "items", "gained", "lost"), [(QWEN, 40, 501, 109, 27), (GPT, 37, 504, 40, 20)])
def test_ifeval_split_and_flips(models: tuple[str, str], canaries: int, items: int, gained: int, lost: int) -> None:
    table = _strict()
    assert len(table) == 17
    others = [table[model] for model in table if model not in models]
    kept = [key for key in table[models[0]] if all(outcome[key] for outcome in others)]
    assert (len(kept), sum(table[models[1]][key] for key in kept)) == (canaries, canaries)
    flips = Counter((table[models[0]][key], table[models[1]][key]) for key in table[models[0]] if key not in kept)
    assert (sum(flips.values()), flips[False, True], flips[True, False]) == (items, gained, lost)


def test_ifeval_regressions_against_the_cap() -> None:
    assert Fraction(27, 501) > Fraction(1, 20)               # 5.39 %: refused
    assert Fraction(20, 504) <= Fraction(1, 20)              # 3.97 %: holds
    assert rounded(Fraction(2000, 504), 2) == Decimal("3.97")
    assert rounded(Fraction(100 * (109 - 27), 501), 0) == 16       # points gained


def test_ifeval_published_accuracy() -> None:
    # upstream's leaderboard: instruction-level strict, in percent
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for row in rows_of("ifeval/outcomes_en.jsonl.gz"):
        right[row["model"]] += sum(row["strict_list"])
        total[row["model"]] += len(row["strict_list"])
    for model, percent in ((GPT[1], "88.6"), (GPT[0], "86.0"), (QWEN[1], "80.6"), (QWEN[0], "67.9")):
        assert rounded(Fraction(100 * right[model], total[model]), 1) == Decimal(percent)
