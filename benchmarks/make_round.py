"""Makes an input folder for ``countersign ingest``: a round of many pairs, the same bytes for the same arguments.

Texts are drawn word by word (prompt about 300 characters, answers about 800), in chunks, so memory stays small whatever
the number of pairs. The mixture is meant to look like a real round: 85 % plain prose, the rest markdown, non-ASCII words,
numbers and masked tokens; a few exact and structural duplicates, illegal rows, collapsed log-probs, length bias,
margins of zero or less, synthetic pairs of one calibrated and one uncalibrated judge, and rows that cannot be typed.

    python benchmarks/make_round.py FOLDER --pairs 1000000
"""
from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SEED = 20260731
CHUNK = 20_000
WORDS = (Path(__file__).parent / "words.txt").read_text("utf-8").split()
MARKDOWN = [
    "**important**", "*note*", "`value`", "`x = a*b`", "\n\n- item", "\n- step", "\n1. first", "\n2. then", "\n\n## Summary\n", "\n> quoted",
    "[docs](https://docs.example/a)", "\n```python\nfor row in rows:\n    total += row * 2\n```\n", "**Result:**", "\n* point", "***both***",
]
NON_ASCII = [
    "café", "naïve", "Größe", "über", "“quoted”", "it’s", "—", "façade", "año", "数据处理", "返款已处理。", "Привет", "σίσυφος", "→", "…",
    "piñata", "Zürich",
] * 8 + ["½", "x²", "😀", "☕️", "ﬁnal"]
NUMERIC = [
    "3.14", "-7", "42%", "1,024", "2026-11-29T15:30:00Z", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "v2.1", "0x1f", "10:30", "state_version",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "A1002", "12/07", "$5.00", "#4",
]
VOCABULARY = [*WORDS, *(word.capitalize() for word in WORDS), *(f"{word}." for word in WORDS), *(f"{word}.\n\n" for word in WORDS)]
SPECIAL = [MARKDOWN, NON_ASCII, NUMERIC]
TOKENS = pa.array([*VOCABULARY, *MARKDOWN, *NON_ASCII, *NUMERIC])
KINDS = (0.85, 0.07, 0.05, 0.03)
"""Shares of prose, markdown, non-ASCII and numeric rows."""
SHARES = {"collapse": 0.10, "length": 0.08, "non_positive": 0.07, "duplicate": 0.02, "invalid": 0.005, "synthetic": 0.10, "unverified": 0.01}
UNTYPED_EVERY = 50_000


def texts(rng: np.random.Generator, kinds: np.ndarray, words: np.ndarray) -> pa.Array:
    """One text a row: ``words[i]`` words in sentences of eight to sixteen, some of them of the row's kind."""
    offsets = np.concatenate([[0], np.cumsum(words)]).astype(np.int32)
    total = int(offsets[-1])
    index = rng.integers(0, len(WORDS), total, dtype=np.int32)
    first = np.zeros(total, dtype=bool)
    first[np.cumsum(rng.integers(8, 17, total // 8 + 1))[:-1].clip(max=total - 1)] = True
    first[offsets[:-1]] = True
    last = np.roll(first, -1)
    paragraph = last & (rng.random(total) < 0.08)
    index += np.where(first, len(WORDS), 0).astype(np.int32) + np.where(last & ~first, 2 * len(WORDS), 0).astype(np.int32)
    index[paragraph & ~first] += len(WORDS)
    kind_of_word = np.repeat(kinds, words)
    start = len(VOCABULARY)
    for kind, special in enumerate(SPECIAL, start=1):
        chosen = (kind_of_word == kind) & (rng.random(total) < 0.07)
        index[chosen] = start + rng.integers(0, len(special), int(chosen.sum()))
        start += len(special)
    return pc.binary_join(pa.ListArray.from_arrays(offsets, TOKENS.take(pa.array(index))), " ")


def log_probs(rng: np.random.Generator, tokens: np.ndarray, rejected_tokens: np.ndarray, flags: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Summed log-probabilities, in nats: the reference first, then what training moved."""
    rows = len(tokens)
    ref_chosen = -tokens * rng.uniform(0.4, 1.2, rows)
    ref_rejected = -rejected_tokens * rng.uniform(0.4, 1.2, rows)
    gain = tokens * rng.uniform(-0.02, 0.15, rows)
    gain = np.where(flags["collapse"], -tokens * rng.uniform(0.11, 0.9, rows), gain)
    loss = np.where(flags["non_positive"], gain + rng.uniform(0.0, 20.0, rows), gain - rng.uniform(0.5, 90.0, rows))
    columns = {
        "policy_logp_chosen": np.minimum(ref_chosen + gain, 0.0), "ref_logp_chosen": ref_chosen,
        "policy_logp_rejected": np.minimum(ref_rejected + loss, 0.0), "ref_logp_rejected": ref_rejected,
    }
    short = rng.random(rows) < 0.2
    return {name: np.where(short, np.round(values, 3), values) for name, values in columns.items()}


def duplicated(rng: np.random.Generator, column: list[str], rows: np.ndarray, shouted: bool) -> None:
    """Give each of ``rows`` the text of an earlier row, as it is or in other case and spacing."""
    for row in rows.tolist():
        text = column[int(rng.integers(0, row))] if row else column[0]
        column[row] = f" {text.upper()} " if shouted else text


def chunk(number: int, rows: int) -> pa.Table:
    """Chunk ``number`` of the pairs, a function of the seed and of its number only."""
    rng = np.random.default_rng([SEED, number])
    flags = {name: rng.random(rows) < share for name, share in SHARES.items()}
    kinds = rng.choice(len(KINDS), rows, p=KINDS)
    chosen_words = rng.integers(87, 172, rows)
    rejected_words = np.where(flags["length"], chosen_words // 3, np.clip(chosen_words + rng.integers(-40, 41, rows), 80, None))
    prompt = texts(rng, np.where(kinds == 1, 0, kinds), rng.integers(34, 63, rows)).to_pylist()
    chosen = texts(rng, kinds, chosen_words).to_pylist()
    rejected = texts(rng, kinds, rejected_words).to_pylist()
    copies = np.flatnonzero(flags["duplicate"])
    duplicated(rng, prompt, copies[::3], shouted=False)
    duplicated(rng, chosen, copies[1::3], shouted=True)
    duplicated(rng, chosen, copies[2::3], shouted=False)
    tokens, rejected_tokens = chosen_words * 4 // 3, rejected_words * 4 // 3
    columns = log_probs(rng, tokens, rejected_tokens, flags)
    broken = np.flatnonzero(flags["invalid"])
    policy = columns["policy_logp_chosen"].tolist()
    for place, row in enumerate(broken.tolist()):
        policy[row] = (None, 1.5, policy[row], policy[row])[place % 4]
        rejected[row] = (rejected[row], rejected[row], chosen[row] + " ", "```\n```")[place % 4]
    identity = number * CHUNK + np.arange(rows)
    for row in np.flatnonzero(identity % UNTYPED_EVERY == UNTYPED_EVERY - 1).tolist():
        prompt[row] = None  # a prompt that is not there: ingest quarantines the row
    synthetic = flags["synthetic"]
    trusted = rng.random(rows) < 0.6
    verdict = [None if made else not doubtful for made, doubtful in zip(synthetic, flags["unverified"], strict=True)]
    return pa.table({
        "pair_id": [f"pair-{value:07d}" for value in rng.permutation(identity).tolist()],
        "origin": np.where(synthetic, "synthetic", "verified").tolist(),
        "judge_id": [("judge-trusted" if good else "judge-doubtful") if made else None for made, good in zip(synthetic, trusted, strict=True)],
        "prompt": pa.array(prompt, pa.string()), "chosen": chosen, "rejected": rejected,
        **columns, "policy_logp_chosen": pa.array(policy, pa.float64()),
        "chosen_token_count": tokens.astype(np.int64), "rejected_token_count": rejected_tokens.astype(np.int64),
        "chosen_verified_pass": pa.array(verdict, pa.bool_()),
        "rejected_tombstone_fail": pa.array([None if made else True for made in synthetic], pa.bool_()),
        "task_id": [f"task-{value % 5000:04d}" for value in identity.tolist()], "source": ["generated"] * rows,
    })


def judge_records() -> pa.Table:
    """One judge whose gate is open (kappa .96), one whose gate is closed (it approves half of the failures)."""
    rows = []
    for judge_id, cases, wrong in (("judge-trusted", 400, 100), ("judge-doubtful", 300, 4)):
        for case in range(cases):
            passed = case % 2 == 0
            fault = case % wrong == 0 if judge_id == "judge-trusted" else case % wrong == 1
            rows.append({"judge_id": judge_id, "case_id": f"case-{case:03d}", "rubric_approved": passed != fault, "verifier_passed": passed})
    return pa.Table.from_pylist(rows)


def small_parts(folder: Path, pairs: int) -> None:
    """Everything but the pairs: judge records, holdout, outcomes, canaries, round.json."""
    items = [{"id": f"item-{number:03d}", "prompt": f"Solve task {number} of the held-out suite"} for number in range(500)]
    baseline = {item["id"]: number % 5 != 0 for number, item in enumerate(items)}
    candidate = {item["id"]: number % 8 != 0 for number, item in enumerate(items)}
    for number, item in enumerate(items):
        # lost: multiples of 48 that are no multiples of 5, 8 of 500, which keeps the regression bound
        candidate[item["id"]] = candidate[item["id"]] or (baseline[item["id"]] and number % 48 != 0)
    pq.write_table(judge_records(), folder / "judge_records.parquet")
    (folder / "holdout.json").write_text(json.dumps(items), "utf-8")
    arms = (("baseline", baseline), ("candidate", candidate))
    pq.write_table(pa.Table.from_pylist([
        {"id": identity, "arm": arm, "run": 0, "passed": passed} for arm, results in arms for identity, passed in results.items()
    ]), folder / "outcomes.parquet")
    pq.write_table(pa.table({"id": [f"canary-{number:02d}" for number in range(20)], "passed": [True] * 20}), folder / "sanity.parquet")
    canonical = json.dumps(items, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    manifest = {
        "schema_version": 1, "round_id": f"benchmark-{pairs}", "label": "generated for benchmarks", "proposers": ["worker-curator-01"],
        "baseline": {"name": "generated-baseline", "digest": None}, "candidate": {"name": "generated-candidate", "digest": None},
        "holdout_lock": {"sha256": hashlib.sha256(canonical).hexdigest(), "registered_at": None, "registered_by": None},
        "created_at": "2026-07-31T00:00:00Z", "note": "Generated by benchmarks/make_round.py; no model was trained.",
        "receipt_judges": {"calibrated": "judge-trusted", "uncalibrated": "judge-doubtful"}, "verification": "program",
    }
    (folder / "round.json").write_text(json.dumps(manifest, indent=1), "utf-8")


def make_round(folder: Path, pairs: int) -> None:
    """Write the whole input folder."""
    folder.mkdir(parents=True, exist_ok=True)
    small_parts(folder, pairs)
    writer = None
    for number, start in enumerate(range(0, pairs, CHUNK)):
        table = chunk(number, min(CHUNK, pairs - start))
        writer = writer or pq.ParquetWriter(folder / "pairs.parquet", table.schema, compression="zstd", compression_level=1)
        writer.write_table(table, row_group_size=CHUNK)
    if writer is not None:
        writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    arguments = parser.parse_args()
    make_round(arguments.folder, arguments.pairs)
    print(f"{arguments.pairs} pairs in {arguments.folder}")


if __name__ == "__main__":
    main()
