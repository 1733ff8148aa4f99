"""Makes an input folder for ``countersign ingest``: a round of many pairs, the same bytes for the same arguments.

Texts are drawn word by word (prompt about 300 characters, answers about 800), in chunks, so memory stays small whatever
the number of pairs. The mixture is meant to look like a real round: 85 % plain prose, the rest markdown, non-ASCII words,
numbers and masked tokens; a few exact and structural duplicates, illegal rows, collapsed log-probs, length bias,
margins of zero or less, synthetic pairs of one calibrated and one uncalibrated judge, and rows that cannot be typed.

    python benchmarks/make_round.py FOLDER --pairs 1000000
"""
from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SEED = 20260731
CHUNK = 20_000
WORDS = (
    "a able about above account across act add after again against age agree air all allow almost along already also although always among "
    "amount an analysis and another answer any apply area argue around as ask assume at attack attempt away back bad balance base basis be "
    "because become before begin behind believe benefit best better between beyond big bit block body both bound box branch break bring build "
    "but buy by call can cannot capture care carry case catch cause cell center chain chance change check choice choose claim class clean clear "
    "close code collect column come common compare complete compute concern condition confirm connect consider constant contain content continue "
    "control convert copy correct cost could count couple course cover create current cut daily data date day deal decide deep default define "
    "degree delay deliver depend describe design detail develop device differ direct discover discuss distance divide do document door double "
    "down draw drive drop during each early easy edge effect either else empty end enough enter entire equal error estimate even event every "
    "evidence exact example except expect explain express extend face fact factor fail fall false far fast feature feed feel few field file fill "
    "final find first fit fix flow follow for force form forward found frame free from front full function further future gain gate general get "
    "give go good great ground group grow guess guide half hand handle happen hard have head hear heavy help hence here high hold home hope hour "
    "how however human idea identify if image impact improve in include increase index indicate input inside instead interest into issue it item "
    "join judge just keep key kind know label large last late later law layer lead learn least leave left length less let level library light "
    "like limit line link list little local lock long look lose lot low machine main make manage many map margin mark match matter may mean "
    "measure meet member memory message method middle might mind minute miss model moment month more most move much must name near necessary need "
    "network never new next no node none normal not note nothing notice now number object observe obtain occur of off offer often old on once one "
    "only open operate option or order other our out output over own page pair part pass past path pattern pay peak people per perform perhaps "
    "period person phase pick piece place plan point policy position possible power practice prefer prepare present press prevent previous price "
    "print private problem process produce profit program project promise proof property protect prove provide public pull purpose push put "
    "quality question quick quite raise random range rank rate rather reach read ready real reason receive record reduce refer reflect refuse "
    "region regular reject relate release remain remember remove repeat replace report request require reserve reset resolve resource respond rest "
    "result return reveal review right ring rise risk role room root round row rule run safe same sample save say scale scan schedule score search "
    "second section see seek seem select send sense separate sequence series serve service set several shape share shift short should show side "
    "sign signal similar simple since single sit size skill slow small so solve some soon sort source space special speed split stable stage stand "
    "start state station stay step still stop store story straight stream strong structure study such suggest suit sum supply support suppose sure "
    "surface system table take talk target task teach team tell tend term test text than that the their them then theory there these they thing "
    "think this those though through throughout throw time to today together too tool top total touch toward track trade train transfer travel "
    "treat tree trial true trust try turn two type under understand unit until up update upon use usual value vary version very view visit voice "
    "wait walk want warm watch water way we week weight well what when where whether which while who whole why wide will wish with within without "
    "wonder word work world worry would write wrong year yes yet you young zero"
).split()
MARKDOWN = [
    "**important**", "*note*", "`value`", "`x = a*b`", "\n\n- item", "\n- step", "\n1. first", "\n2. then", "\n\n## Summary\n", "\n> quoted",
    "[docs](https://docs.example/a)", "\n```python\nfor row in rows:\n    total += row * 2\n```\n", "**Result:**", "\n* point", "***both***",
]
NON_ASCII = [
    "café", "naïve", "Größe", "über", "“quoted”", "it’s", "—", "façade", "año", "数据处理", "返款已处理。", "Привет", "σίσυφος", "→", "…", "piñata", "Zürich",
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
    columns: dict[str, object] = dict(log_probs(rng, tokens, rejected_tokens, flags))
    broken = np.flatnonzero(flags["invalid"])
    policy = [None if value != value else value for value in columns["policy_logp_chosen"].tolist()]  # type: ignore[attr-defined]
    for place, row in enumerate(broken.tolist()):
        match place % 4:
            case 0: policy[row] = None
            case 1: policy[row] = 1.5
            case 2: rejected[row] = chosen[row] + " "
            case _: rejected[row] = "```\n```"
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
        # 10 items lost of 500 keep the regression bound
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
        "holdout_lock": {"sha256": __import__("hashlib").sha256(canonical).hexdigest(), "registered_at": None, "registered_by": None},
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
