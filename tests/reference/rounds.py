"""Random rounds for the comparison: small, and full of what goes wrong.

Ties of the loss, shared keys, figures exactly on their bounds, missing and impossible values, repeated and shared ids,
judges without records, undefined statistics, several runs of an arm, absent outcomes, locks that do not hold.
"""
from __future__ import annotations

import hashlib
import json
import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from reference.rules import COUNTS, FLAGS, LOGPS, SIDES, holdout_digest

GRID_DOCUMENT = json.loads((Path(__file__).parents[2] / "core" / "grid" / "default_grid_spec.json").read_text("utf-8"))
KEYS = ["prompt_normalized_sha256", "chosen_structural_skeleton_sha256", "joint_transition_pair_sha256"]
OTHER_VALUES = {
    "dpo_beta": ["0.5", "0.03"], "rpo_nll_alpha": ["0.25", "2"], "max_length_ratio": ["1", "2.5"],
    "min_chosen_logp_drift_per_token": ["0", "-0.05", "-2"], "min_dpo_margin": ["0.1", "-1"], "min_cohens_kappa": ["0.5", "0", "1"],
    "min_exact_agreement": ["0.5", "1"], "max_false_positive_rate": ["0.25", "0", "1"], "min_sanity_retention": ["0.75", "0.5"],
    "max_regression_rate": ["0.25", "0.2", "0"], "min_net_holdout_gain": ["0", "0.2", "-0.5"], "max_collapsed_share": ["0.25", "0", "1"],
    "outcome_run_reducer": ["all", "any"], "receipt_decimals": [3, 9], "loss_quantum": ["0.001"],
    "enforced_dedup_keys": [KEYS[1:], KEYS[:1], KEYS[2:]],
}

PROMPTS = [
    "Set retries to 3.", "set  RETRIES to 3", "Set retries to 30.", "Set retries to -3.", "Write a lock", "\u200bWrite a lock!",
    "Name the capital of Chile", "Add 2 and 3.", "Add 2 and 4.", "Sort the list", "Reverse the list", "Sort the list?", "Count the words",
]
ANSWERS = [
    "Use a lock.", "use  a lock", "**Use** a `lock`", "- Use\n- a lock", "Use a lock. ", "Use a mutex.", "x = a*b", "x = ab",
    "Done at 2026-11-29T15:30Z", "Done at 2025-01-02 03:04", "2\u00b2 = 4", "22 = 4",
    "Santiago", "SANTIAGO.", "Caf\u00e9", "Cafe\u0301", "I do not know.",
]
EMPTY_TEXTS = ["", " ", "\u200b\n", "```\n```", "~~~"]
TOOL_CALL = [{"type": "function", "function": {"name": "lock", "arguments": {"key": None, "wait": True}}}]
IDS = ["p1", "p2", "P1", "007", "7", "p\u00e9", "p z", "\U0001f512", "p10"]


def grids() -> st.SearchStrategy[dict]:
    """A grid document: the default one with up to three other values."""
    def changed(changes: list[tuple[str, Any]]) -> dict:
        document = deepcopy(GRID_DOCUMENT)
        for key, value in changes:
            document["keys"][key]["value"] = value
        return document

    choices = st.sampled_from([(key, value) for key, values in OTHER_VALUES.items() for value in values])
    return st.lists(choices, max_size=3, unique_by=lambda change: change[0]).map(changed)


def values_of(document: dict) -> dict:
    """The grid as the reference reads it: key to value."""
    return {name: entry["value"] for name, entry in document["keys"].items()}


# judges

VERDICTS = st.sampled_from([(True, True)] * 8 + [(False, False)] * 8 + [(True, False), (False, True)])


@st.composite
def judge_records(draw: st.DrawFn, judge_id: str) -> list[dict]:
    # mostly a judge that has seen both classes; now and then too few records for any figure
    known = [(True, True), (False, False)] if draw(st.integers(0, 7)) else []
    verdicts = known + draw(st.lists(VERDICTS, max_size=22))
    records = [
        {"judge_id": judge_id, "case_id": f"c{number}", "rubric_approved": approved, "verifier_passed": passed}
        for number, (approved, passed) in enumerate(verdicts)
    ]
    oddity = draw(st.sampled_from([""] * 12 + ["missing", "swapped", "swapped", "repeat", "conflict", "one class", "bound", "bound"]))
    if oddity == "bound":
        # kappa exactly 3/4 (tp 9, fp 0, fn 1, tn 2 of the known cases), or a false-positive rate of exactly 1/20
        cells = draw(st.sampled_from([(9, 0, 1, 2), (4, 0, 1, 3), (20, 1, 0, 19), (5, 1, 1, 11)]))
        flags = [(True, True)] * cells[0] + [(True, False)] * cells[1] + [(False, True)] * cells[2] + [(False, False)] * cells[3]
        return [
            {"judge_id": judge_id, "case_id": f"b{number}", "rubric_approved": approved, "verifier_passed": passed}
            for number, (approved, passed) in enumerate(flags)
        ]
    if oddity == "one class":
        return [record | {"rubric_approved": True, "verifier_passed": True} for record in records]
    if not records or not oddity:
        return records
    row = draw(st.sampled_from(records))
    if oddity == "missing":
        row[draw(st.sampled_from(["rubric_approved", "verifier_passed"]))] = None
    elif oddity == "swapped":
        records.append(row | {"order_swapped": True, "rubric_approved": not row["rubric_approved"]})
    elif oddity == "repeat":
        records.append(dict(row))
    else:
        records.append(row | {"verifier_passed": not row["verifier_passed"]})
    return records


# pairs

TENTHS = st.integers(-60, 0).map(lambda tenths: tenths / 10)
HUNDREDTHS = st.integers(-900, 0).map(lambda hundredths: hundredths / 100)


@st.composite
def message_sides(draw: st.DrawFn) -> dict:
    """The three sides as message lists; some repeat the user turn at the head of both answers."""
    turn = {"role": "user", "content": draw(st.sampled_from(PROMPTS))}
    shared = draw(st.sampled_from([[], [turn], [turn, {"role": "assistant", "content": "ok"}]]))
    answers = [
        draw(st.sampled_from([
            [{"role": "assistant", "content": draw(st.sampled_from(ANSWERS))}],
            [{"role": "assistant", "content": None, "tool_calls": TOOL_CALL}],
            [{"role": "assistant", "content": draw(st.sampled_from(EMPTY_TEXTS))}],
        ])) for _ in range(2)
    ]
    return {"prompt": [turn], "chosen": shared + answers[0], "rejected": shared + answers[1]}


@st.composite
def pair(draw: st.DrawFn, number: int, origin: str, judges: list[str | None]) -> dict:
    if draw(st.integers(0, 9)) == 0:
        sides = draw(message_sides())
    else:
        texts = [draw(st.sampled_from(pool)) for pool in (PROMPTS, ANSWERS, ANSWERS)]
        sides = dict(zip(SIDES, texts, strict=True))
        if draw(st.integers(0, 14)) == 0:
            sides[draw(st.sampled_from(SIDES))] = draw(st.sampled_from(EMPTY_TEXTS))
    step = draw(st.sampled_from([TENTHS, HUNDREDTHS]))
    logps = [draw(step) for _ in LOGPS]
    kind = draw(st.integers(0, 9))
    if kind < 6:
        # mostly a pair that should pass: chosen up a little, rejected down
        logps = [logps[1] / 2, logps[1], logps[3] - 5, logps[3]]
    elif kind < 8:
        # a good margin, bought by a chosen answer that became less likely
        logps = [logps[1] - 3, logps[1], logps[3] - 20, logps[3]]
    counts = [draw(st.integers(6, 11)) for _ in COUNTS]
    flags: list[bool | None] = [True, True] if origin == "verified" else [draw(st.sampled_from([None, True])) for _ in FLAGS]
    row = {
        "pair_id": draw(st.sampled_from(IDS)) if draw(st.integers(0, 4)) == 0 else f"pair-{number}", "origin": origin, **sides,
        **dict(zip(LOGPS, logps, strict=True)), **dict(zip(COUNTS, counts, strict=True)), **dict(zip(FLAGS, flags, strict=True)),
    }
    if origin == "synthetic":
        row["judge_id"] = draw(st.sampled_from(judges))
    return draw(spoilt(row))


@st.composite
def spoilt(draw: st.DrawFn, row: dict) -> dict:
    """The row, now and then with something on its bound or illegal (but typed)."""
    kinds = ["ratio", "drift", "zero margin", "no logp", "null logp", "positive", "tokens", "flag", "null flag", "huge", "same", "trim"]
    oddity = draw(st.sampled_from([""] * 14 + kinds))
    if oddity == "ratio":
        row |= dict(zip(COUNTS, draw(st.sampled_from([(18, 10), (10, 18), (181, 100), (9, 5), (8, 1)])), strict=True))
    elif oddity == "drift":
        # rows of the oracle: exactly on -0.1 or -0.05 a token, below it in doubles
        pc, rc, count = draw(st.sampled_from([(-1.1, -0.6, 5), (-1.8, -1.4, 4), (-0.8, -0.6, 4), (-2.2, -1.2, 10), (-1.11, -0.6, 5)]))
        row |= {"policy_logp_chosen": pc, "ref_logp_chosen": rc, "chosen_token_count": count}
    elif oddity == "zero margin":
        zero = st.sampled_from([(-4.1, -4.2, -5.2, -5.3), (-4.1, -4.2, -5.4, -5.5), (-1.0, -1.0, -1.0, -1.0)])
        row |= dict(zip(LOGPS, draw(zero), strict=True))
    elif oddity == "no logp":
        del row[draw(st.sampled_from(LOGPS))]
    elif oddity == "null logp":
        row[draw(st.sampled_from(LOGPS))] = None
    elif oddity == "positive":
        row[draw(st.sampled_from(LOGPS))] = 3.2
    elif oddity == "tokens":
        row[draw(st.sampled_from(COUNTS))] = draw(st.sampled_from([0, -3]))
    elif oddity == "flag":
        row[draw(st.sampled_from(FLAGS))] = False
    elif oddity == "null flag":
        row[draw(st.sampled_from(FLAGS))] = None
    elif oddity == "same":
        row["rejected"] = row["chosen"]
    elif oddity == "trim" and isinstance(row["chosen"], str):
        row["rejected"] = f" {row['chosen']}\n"
    elif oddity == "huge":
        row |= draw(st.sampled_from([
            {"policy_logp_rejected": -80000.0}, {"policy_logp_rejected": -1e308, "ref_logp_rejected": -1.0}, {"policy_logp_chosen": -1e300},
            {"ref_logp_chosen": -1.7e308, "policy_logp_chosen": 0.0, "policy_logp_rejected": -1.7e308, "ref_logp_rejected": 0.0},
        ]))
    return row


UNTYPED = st.sampled_from([
    {"chosen_token_count": 2.5}, {"chosen_token_count": 10.0}, {"rejected_token_count": True}, {"pair_id": 7}, {"pair_id": ""},
    {"origin": "other"}, {"policy_logp_chosen": "n/a"}, {"policy_logp_chosen": True}, {"ref_logp_rejected": 2**60}, {"prompt": 5},
    {"chosen_verified_pass": 1}, {"chosen": None}, {"chosen_token_count": "10"},
])


@st.composite
def pairs(draw: st.DrawFn, *, form: str, judges: list[str | None]) -> list[dict]:
    count = draw(st.integers(0, 12))
    rows = [draw(pair(number, draw(st.sampled_from(["verified", "verified", "synthetic"])), judges)) for number in range(count)]
    for row in list(rows):
        if draw(st.integers(0, 11)) == 0:
            rows.append(deepcopy(row))
        elif draw(st.integers(0, 7)) == 0 and isinstance(row["prompt"], str):
            # the same figures, so the same loss, under another id: the id decides the rank
            rows.append(deepcopy(row) | {"pair_id": draw(st.sampled_from(IDS)), "prompt": draw(st.sampled_from(PROMPTS))})
        elif form == "json" and draw(st.integers(0, 11)) == 0:
            rows.append(deepcopy(row) | draw(UNTYPED))
        elif form == "json" and draw(st.integers(0, 19)) == 0:
            lacking = deepcopy(row)
            del lacking[draw(st.sampled_from([*FLAGS, *COUNTS, "pair_id", "origin"]))]
            rows.append(lacking)
    if form == "parquet":
        rows = [row for row in rows if isinstance(row["prompt"], str)]
        for row in rows:
            if draw(st.integers(0, 4)) == 0:
                row[draw(st.sampled_from(LOGPS))] = draw(st.sampled_from([math.nan, math.inf, -math.inf]))
    return rows


# holdout, outcomes, canaries


@st.composite
def outcomes(draw: st.DrawFn, items: list[dict], *, bundle: bool) -> list[dict]:
    rows = []
    for item in items:
        runs = 1 if bundle else draw(st.sampled_from([1, 1, 2, 3]))
        for arm in ("baseline", "candidate"):
            passes = [draw(st.sampled_from([arm == "candidate", True, True, True, False])) for _ in range(runs)]
            rows += [
                {"id": item["id"], "arm": arm, **({"run": run} if runs > 1 else {}), "passed": passed} for run, passed in enumerate(passes)
            ]
    fault = draw(st.sampled_from([""] * 12 + ["unknown", "no baseline", "null", "absent", "absent", "twice"]))
    if fault == "unknown":
        rows.append({"id": "no such item", "arm": "candidate", "passed": True})
    elif fault == "no baseline":
        rows = [row for row in rows if row["arm"] != "baseline" or row["id"] != items[0]["id"]]
    elif fault == "null":
        draw(st.sampled_from(rows))["passed"] = None
    elif fault == "absent":
        rows = [row for row in rows if row["arm"] != "candidate" or row["id"] != items[-1]["id"]]
    elif fault == "twice" and not bundle:
        rows.append(dict(rows[0]))
    return rows


def lock_of(items: list[dict]) -> st.SearchStrategy[str]:
    digest = holdout_digest(items)
    return st.sampled_from([digest] * 6 + [digest.upper(), f"sha256:{digest}", "", digest[:16], hashlib.sha256(b"other").hexdigest()])


@st.composite
def rounds(draw: st.DrawFn) -> dict:
    """A round in the reference's form, and in ``files`` how to write it: one bundle, JSON lines, JSON lists or Parquet."""
    files = draw(st.sampled_from(["bundle", "bundle", "jsonl", "jsonl", "json", "parquet"]))
    bundle, form = files == "bundle", "json" if files == "jsonl" else files
    names = ["calibrated", "uncalibrated"] if bundle else draw(st.sampled_from([["loose", "self"], ["loose", "self", "third"], ["self"], []]))
    described = [] if bundle else draw(st.sampled_from([[], [], ["silent"]]))
    held_by: list[str | None] = ["calibrated"] if bundle else [*names, *names, *described, "nobody", None]
    records = [record for name in names for record in draw(judge_records(name))]
    texts = draw(st.lists(st.sampled_from([*PROMPTS, "Nomme la capitale du P\u00e9rou."]), min_size=1, max_size=5))
    items = [{"id": f"h{number}", "prompt": text} | ({"weight": number} if number == 2 else {}) for number, text in enumerate(texts)]
    named = st.sampled_from([("loose", "self"), ("self", "loose"), ("loose", "self"), ("loose", "silent"), None])
    receipt_judges = ("calibrated", "uncalibrated") if bundle else draw(named)
    canaries = draw(st.lists(st.sampled_from([True] * 9 + [False]), max_size=4))
    sanity = [{"id": f"s{number}", "passed": passed} for number, passed in enumerate(canaries)]
    parts = {"judge_records", "pairs", "holdout", "outcomes", "sanity"}
    if not bundle and draw(st.integers(0, 5)) == 0:
        parts -= set(draw(st.sets(st.sampled_from(sorted(parts)), min_size=1, max_size=3)))
    drawn = {
        "judge_records": records, "pairs": draw(pairs(form=form, judges=held_by)), "holdout": items,
        "outcomes": draw(outcomes(items, bundle=bundle)), "sanity": sanity,
    }
    return {
        "form": "bundle" if bundle else "tables", "files": files, "parts": parts,
        **{name: rows if name in parts else [] for name, rows in drawn.items()},
        "lock": draw(lock_of(items)), "proposers": ["worker-curator-01"] if bundle else ["worker-curator-01", "ana@example.org"],
        "receipt_judges": receipt_judges, "judges": described,
    }


# the same round as files

TEXT, FLAG, WHOLE, DOUBLE = pa.string(), pa.bool_(), pa.int64(), pa.float64()
COLUMNS = {
    "judge_records": pa.schema([
        ("judge_id", TEXT), ("case_id", TEXT), ("rubric_approved", FLAG), ("verifier_passed", FLAG), ("order_swapped", FLAG),
    ]),
    "pairs": pa.schema([
        ("pair_id", TEXT), ("origin", TEXT), ("judge_id", TEXT), *((name, TEXT) for name in SIDES), *((name, DOUBLE) for name in LOGPS),
        *((name, WHOLE) for name in COUNTS), *((name, FLAG) for name in FLAGS),
    ]),
    "outcomes": pa.schema([("id", TEXT), ("arm", TEXT), ("run", WHOLE), ("passed", FLAG)]),
    "sanity": pa.schema([("id", TEXT), ("passed", FLAG)]),
}

OWN_NAMES = {"chosen": "chosen_verified", "rejected": "rejected_tombstone"}


def bundle_of(source: dict) -> dict:
    """The one-file bundle that states a round."""
    def rows_of(origin: str) -> list[dict]:
        return [
            {OWN_NAMES.get(name, name): value for name, value in row.items() if name not in ("origin", "judge_id")}
            for row in source["pairs"] if row["origin"] == origin
        ]

    def records_of(judge: str) -> list[dict]:
        own = [record for record in source["judge_records"] if record["judge_id"] == judge]
        return [{name: value for name, value in record.items() if name != "judge_id"} for record in own]

    return {
        **{f"{judge}_judge_records": records_of(judge) for judge in ("calibrated", "uncalibrated")},
        "verified_candidates": rows_of("verified"), "synthetic_pairs": rows_of("synthetic"),
        "holdout_suite": source["holdout"], "preregistered_holdout_sha256": source["lock"],
        **{f"{arm}_outcomes": {row["id"]: row["passed"] for row in source["outcomes"] if row["arm"] == arm} for arm in ("baseline", "candidate")},
        "sanity_outcomes": {row["id"]: row["passed"] for row in source["sanity"]}, "proposer_id": source["proposers"][0],
    }


def write_round(source: dict, folder: Path) -> Path:
    """Write a round as its proposer would, and return what to ingest."""
    if source["form"] == "bundle":
        path = folder / "random-round.json"
        path.write_text(json.dumps(bundle_of(source), ensure_ascii=False), "utf-8")
        return path
    path = folder / "random-round"
    path.mkdir()
    named = source["receipt_judges"]
    about = {
        "schema_version": 1, "round_id": "random-round", "proposers": source["proposers"], "holdout_lock": {"sha256": source["lock"]},
        "receipt_judges": None if named is None else dict(zip(("calibrated", "uncalibrated"), named, strict=True)),
        "judges": {name: {} for name in source["judges"]},
    }
    (path / "round.json").write_text(json.dumps(about), "utf-8")
    for part in source["parts"]:
        if part == "holdout":
            (path / "holdout.json").write_text(json.dumps(source["holdout"], ensure_ascii=False), "utf-8")
        elif source["files"] == "parquet":
            pq.write_table(pa.Table.from_pylist(source[part], COLUMNS[part]), path / f"{part}.parquet")
        elif source["files"] == "json":
            (path / f"{part}.json").write_text(json.dumps(source[part], ensure_ascii=False), "utf-8")
        else:
            lines = [json.dumps(row, ensure_ascii=False) for row in source[part]]
            (path / f"{part}.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def shuffled(source: dict, order: Any) -> dict:
    """The same round with the rows of every list but the holdout in another order. ``order``: a random.Random."""
    result = deepcopy(source)
    for part in ("judge_records", "pairs", "outcomes", "sanity"):
        order.shuffle(result[part])
    return result
