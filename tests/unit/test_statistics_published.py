"""Published figures reproduce from the files in the repository: IFEval (16 of 17), GSM8K, tau-bench pass^k."""
from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from core.statistics.arms import arm_of, flip_table
from core.statistics.comparison import compare_arms
from core.statistics.pass_at_k import suite_pass_at_k
from core.statistics.ratio import percent_text, rounded_decimal
from core.statistics.slices import flip_tables, slice_table
from core.statistics.verdict import Standing, paired_verdict

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "tests/fixtures/published"
LEVELS = {"alpha": "0.05", "confidence": "0.95"}

LEADERBOARD = {
    # README of lightblue-tech/M-IFEval at 0bc3143a919e, column "English"; names of its files
    "gpt-4o-2024-08-06": "88.6", "claude-3-5-sonnet-20240620": "88.1", "claude-3-opus-20240229": "87.3", "gpt-4o-mini-2024-07-18": "86",
    "Qwen__Qwen2.5-32B-Instruct-GPTQ-Int4": "86", "o1-preview-2024-09-12": "85.9", "Qwen__Qwen2.5-14B-Instruct-GPTQ-Int4": "84.2",
    "o1-mini-2024-09-12": "83.9", "Qwen__Qwen2.5-7B-Instruct-GPTQ-Int4": "80.6", "hugging-quants__Meta-Llama-3.1-8B-Instruct-AWQ-INT4": "80.1",
    "claude-3-haiku-20240307": "77.3", "Qwen__Qwen2.5-3B-Instruct-GPTQ-Int4": "67.9", "mistralai__Mistral-7B-Instruct-v0.3": "59",
    "CohereForAI__aya-23-8B": "50.6", "Qwen__Qwen2.5-1.5B-Instruct-GPTQ-Int4": "49.5", "deepseek-ai__deepseek-llm-7b-chat": "48.9",
    "Qwen__Qwen2.5-0.5B-Instruct-GPTQ-Int4": "34.4",
}


def rows_of(path: Path) -> list[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@lru_cache(maxsize=1)
def ifeval() -> dict[str, dict[int, dict]]:
    models: dict[str, dict[int, dict]] = defaultdict(dict)
    for row in rows_of(ROOT / "data/sources/ifeval/outcomes_en.jsonl.gz"):
        models[row["model"]][row["key"]] = row
    return models


def instruction_accuracy(rows: Iterable[dict]) -> Fraction:
    """Followed instructions over instructions, in percent."""
    followed = [outcome for row in rows for outcome in row["strict_list"]]
    return Fraction(100 * sum(followed), len(followed))


def strict(model: str, keys: list[int]) -> np.ndarray:
    return np.array([ifeval()[model][key]["strict"] for key in keys])


def test_ifeval_leaderboard_reproduces_for_16_of_17_and_the_17th_differs() -> None:
    assert set(ifeval()) == set(LEADERBOARD) and {len(rows) for rows in ifeval().values()} == {541}
    differing = {}
    for model, printed in LEADERBOARD.items():
        measured = rounded_decimal(instruction_accuracy(ifeval()[model].values()), 1)
        if measured != rounded_decimal(Fraction(printed), 1):
            differing[model] = (printed, str(rounded_decimal(instruction_accuracy(ifeval()[model].values()), 2)))
    # reported, not hidden: 85.9 is printed, the files say 86.69; failing or dropping its 22 null responses explains nothing
    assert differing == {"o1-preview-2024-09-12": ("85.9", "86.69")}
    rows = list(ifeval()["o1-preview-2024-09-12"].values())
    answered = [row for row in rows if row["response_chars"] is not None]
    assert len(rows) - len(answered) == 22
    assert str(rounded_decimal(instruction_accuracy(answered), 1)) != "85.9"


PAIRS = [
    # baseline, candidate, passes of each, gained, lost, both, neither, exact p to two digits
    ("Qwen__Qwen2.5-3B-Instruct-GPTQ-Int4", "Qwen__Qwen2.5-7B-Instruct-GPTQ-Int4", 310, 395, 112, 27, 283, 119, 1.7e-13),
    ("gpt-4o-mini-2024-07-18", "gpt-4o-2024-08-06", 435, 455, 40, 20, 415, 66, 0.0135),
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0][:9])
def test_ifeval_pairs_on_the_same_541_prompts(pair: tuple) -> None:
    baseline, candidate, before, after, gained, lost, both, neither, p = pair
    keys = sorted(ifeval()[baseline])
    table = flip_table(strict(baseline, keys), strict(candidate, keys))
    assert (table.baseline.numerator, table.candidate.numerator) == (before, after)
    assert (table.fixes, table.regressions, table.both_pass, table.both_fail) == (gained, lost, both, neither)
    found = paired_verdict(table, **LEVELS)
    assert found.standing is Standing.BETTER and float(f"{found.evidence.p.value:.2g}" if p < 0.001 else f"{found.evidence.p.value:.4f}") == p


def test_ifeval_splits_into_canaries_and_holdout() -> None:
    for pair, (canaries, kept, items, gained, lost, share) in zip(PAIRS, [
        (40, 40, 501, 109, 27, "5.39 %"), (37, 37, 504, 40, 20, "3.97 %"),
    ], strict=True):
        others = [model for model in ifeval() if model not in pair[:2]]
        keys = sorted(ifeval()[pair[0]])
        all_pass = {key for key in keys if all(ifeval()[model][key]["strict"] for model in others)}
        assert len(all_pass) == canaries and int(strict(pair[1], sorted(all_pass)).sum()) == kept
        rest = [key for key in keys if key not in all_pass]
        table = flip_table(strict(pair[0], rest), strict(pair[1], rest))
        assert (table.n, table.fixes, table.regressions) == (items, gained, lost)
        assert percent_text(table.regression_rate.value) == share


def test_ifeval_slices_by_kind_of_instruction_add_up() -> None:
    prompts = {row["key"]: row for row in rows_of(ROOT / "data/sources/ifeval/prompts_en.jsonl.gz")}
    keys, pair = sorted(prompts), PAIRS[0]
    # the family of a prompt's first instruction, "en:punctuation:no_comma" -> punctuation
    names = [prompts[key]["instruction_id_list"][0].split(":")[1] for key in keys]
    tables = flip_tables(strict(pair[0], keys), strict(pair[1], keys), names)
    assert sum(table.fixes for table in tables.values()) == 112 and sum(table.n for table in tables.values()) == 541
    rows = slice_table(tables, **LEVELS).rows
    assert all(row.adjusted["holm"] >= row.adjusted["benjamini_hochberg"] >= row.p.fraction for row in rows)
    assert any(row.standing is Standing.BETTER for row in rows)


# GSM8K


@lru_cache(maxsize=1)
def gsm8k() -> list[dict]:
    return rows_of(PUBLISHED / "gsm8k_outcomes.jsonl.gz")


def number(text: str | None) -> Fraction | None:
    """The number an answer writes, "$1,200." as 1200; None where there is none."""
    found = re.fullmatch(r"-?\d+(\.\d+)?", (text or "").replace(",", "").replace("$", "").strip().rstrip("."))
    return None if found is None else Fraction(found[0])


def correct(policy: str) -> np.ndarray:
    return np.array([row[policy]["is_correct"] for row in gsm8k()])


def test_gsm8k_accuracies_and_the_paper_s_sentence() -> None:
    counts = {name: int(correct(name).sum()) for name in ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")}
    assert len(gsm8k()) == 1319
    assert counts == {"6b_finetuning": 286, "6b_verification": 515, "175b_finetuning": 458, "175b_verification": 742}
    assert [percent_text(Fraction(count, 1319)) for count in counts.values()] == ["21.68 %", "39.04 %", "34.72 %", "56.25 %"]
    # "6B verification slightly outperforms a finetuned 175B model"
    found = paired_verdict(flip_table(correct("175b_finetuning"), correct("6b_verification")), **LEVELS)
    assert found.evidence.gain == Fraction(515 - 458, 1319) and found.standing is Standing.BETTER


def test_gsm8k_labels_verify_against_the_answers() -> None:
    disagreeing = [
        (row["question_sha256_16"], policy) for row in gsm8k() for policy in row if isinstance(row[policy], dict)
        if row[policy]["is_correct"] is not (number(row[policy]["answer"]) is not None and number(row[policy]["answer"]) == number(row["answer"]))
    ]
    assert disagreeing == []


@pytest.mark.parametrize(("baseline", "candidate", "gained", "lost", "points"), [
    ("6b_finetuning", "6b_verification", 293, 64, "17.36"), ("175b_finetuning", "175b_verification", 360, 76, "21.53"),
])
def test_gsm8k_flips(baseline: str, candidate: str, gained: int, lost: int, points: str) -> None:
    table = flip_table(correct(baseline), correct(candidate))
    assert (table.fixes, table.regressions) == (gained, lost)
    assert str(rounded_decimal(100 * table.net_gain.value, 2)) == points


# tau-bench


def test_tau_bench_airline_pass_hat_k() -> None:
    tasks: dict[int, list[bool]] = defaultdict(list)
    for row in rows_of(PUBLISHED / "tau_airline_outcomes.jsonl.gz"):
        tasks[row["task_id"]].append(row["reward"] == 1)
    assert len(tasks) == 50 and {len(runs) for runs in tasks.values()} == {4}
    counts = [(len(runs), sum(runs)) for runs in tasks.values()]
    rates = [suite_pass_at_k(counts, k) for k in (1, 2, 3, 4)]
    # README, airline, "TC (gpt-4o)"
    assert [str(rounded_decimal(rate.all_of_them, 3)) for rate in rates] == ["0.420", "0.273", "0.220", "0.200"]
    assert [str(rounded_decimal(rate.at_least_one, 4)) for rate in rates] == ["0.4200", "0.5667", "0.6600", "0.7200"]
    assert suite_pass_at_k(counts, 5).at_least_one is None
    # an arm compared with itself, four nested runs a task: nothing moves
    arm = arm_of(list(tasks.values()))
    found = compare_arms(arm, arm, reducer="majority", power="0.8", **LEVELS)
    assert found.view == "graded" and found.verdict.standing is Standing.NOT_SHOWN and found.graded_gain == 0


@pytest.mark.parametrize("name", ["gsm8k_outcomes.jsonl.gz", "tau_airline_outcomes.jsonl.gz"])
def test_copies_are_those_that_their_provenance_describes(name: str) -> None:
    (line,) = [line for line in (PUBLISHED / "SOURCES.md").read_text("utf-8").splitlines() if line.startswith(f"| `{name}`")]
    stored = (PUBLISHED / name).read_bytes()
    assert re.findall(r"[0-9a-f]{64}", line) == [hashlib.sha256(data).hexdigest() for data in (stored, gzip.decompress(stored))]


def test_the_peer_s_records_are_those_that_their_provenance_describes() -> None:
    lines = (ROOT / "tests/fixtures/peers/SOURCES.md").read_text("utf-8")
    for path in (ROOT / "tests/fixtures/peers").glob("whileai_*.json"):
        assert f"| `{path.name}` | `{hashlib.sha256(path.read_bytes()).hexdigest()}` |" in lines
