"""Calibration, curation, promotion and the receipt, one row at a time.

A round is a dict: ``form`` (bundle, tables), ``parts`` (set), ``judge_records``, ``pairs``, ``holdout``, ``outcomes``,
``sanity`` (lists of dicts), ``lock`` (as written), ``proposers``, ``receipt_judges`` (pair or None), ``judges`` (ids
that the round describes). A grid is a dict from key to value as the grid file writes it.
"""
from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from fractions import Fraction

from reference.numbers import loss_quanta, receipt_number, written
from reference.texts import flattened, is_blank, keys_of, s1, shared_turns, stripped

LOGPS = ("policy_logp_chosen", "ref_logp_chosen", "policy_logp_rejected", "ref_logp_rejected")
COUNTS = ("chosen_token_count", "rejected_token_count")
FLAGS = ("chosen_verified_pass", "rejected_tombstone_fail")
SIDES = ("prompt", "chosen", "rejected")
LARGEST = 2**53 - 1


class BadInputError(Exception):
    """The round cannot be decided. ``codes``: every fault that applies; an engine names one of them."""

    def __init__(self, *codes: str) -> None:
        super().__init__(", ".join(codes))
        self.codes = set(codes)


# calibration


def calibrate(records: list[dict], grid: dict) -> dict:
    """One judge: its rows of judge_records."""
    seen: dict[tuple, dict] = {}
    for row in records:
        key = (row["case_id"], row.get("order_swapped") or False)
        if key in seen and _full(seen[key]) != _full(row):
            raise BadInputError("conflicting_case")
        seen[key] = row
    tp = fp = fn = tn = 0
    missing = []
    for (case_id, swapped), row in seen.items():
        if swapped:
            continue
        approved, passed = row["rubric_approved"], row["verifier_passed"]
        if approved is None or passed is None:
            missing.append(case_id)
        elif approved and passed:
            tp += 1
        elif approved:
            fp += 1
        elif passed:
            fn += 1
        else:
            tn += 1
    return judge_figures(tp, fp, fn, tn, sorted(missing), grid)


def judge_figures(tp: int, fp: int, fn: int, tn: int, missing: list[str], grid: dict) -> dict:
    """Kappa, agreement and false-positive rate of a table of counts (None = undefined), and what keeps the gate closed."""
    chance = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    n = tp + fp + fn + tn
    kappa = Fraction(2 * (tp * tn - fp * fn), chance) if chance else None
    agreement = Fraction(tp + tn, n) if n else None
    fpr = Fraction(fp, fp + tn) if fp + tn else None
    failing = []
    if kappa is None or kappa < Fraction(grid["min_cohens_kappa"]):
        failing.append("cohens_kappa")
    if agreement is None or agreement < Fraction(grid["min_exact_agreement"]):
        failing.append("exact_agreement")
    if fpr is None or fpr > Fraction(grid["max_false_positive_rate"]):
        failing.append("false_positive_rate")
    if missing:
        failing.append("missing_verdict")
    return {
        "tp": tp, "fp": fp, "fn": fn, "tn": tn, "kappa": kappa, "agreement": agreement, "fpr": fpr,
        "missing": missing, "failing": failing, "open": not failing,
    }


def _full(row: dict) -> str:
    """All values of a row, in a form that tells whether two rows say the same: null is absent, 4 is 4.0 where a double
    belongs, NaN is NaN, and the sign of a zero says nothing."""
    values = {name: float(value) + 0.0 if name in LOGPS else value for name, value in row.items() if value is not None}
    return repr(sorted(({"order_swapped": False} | values).items()))


# pairs: what can be typed, what is legal


def is_typed(row: dict) -> bool:
    """Whether a row of the pairs table can be read at all; a row that cannot is quarantined."""
    def text(name: str) -> bool:
        return isinstance(row.get(name), str) and row[name] != ""

    def number(name: str) -> bool:
        value = row.get(name)
        if value is None:
            return True
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        # NaN and infinity come out of Parquet only, as doubles: typed, and illegal. In JSON they are no number at all
        return isinstance(value, float) or abs(value) <= LARGEST

    def count(name: str) -> bool:
        value = row.get(name)
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST

    def side(name: str) -> bool:
        return isinstance(row.get(name), (str, list))

    return (
        text("pair_id") and row.get("origin") in ("verified", "synthetic") and all(side(name) for name in SIDES)
        and all(number(name) for name in (*LOGPS, "chosen_score", "rejected_score")) and all(count(name) for name in COUNTS)
        and all(name in row and (row[name] is None or isinstance(row[name], bool)) for name in FLAGS)
        and all(row.get(name) is None or (isinstance(row[name], str) and row[name] != "") for name in ("judge_id", "task_id", "source"))
    )


def texts_of(row: dict) -> dict:
    """The three texts, for each whether it counts as empty, and the answers with outer white space off."""
    if not isinstance(row["prompt"], list):
        texts = {name: row[name] for name in SIDES}
        empty = {name: is_blank(texts[name]) or (name != "prompt" and s1(texts[name]) == "") for name in SIDES}
        return {"texts": texts, "empty": empty, "trimmed": [stripped(row["chosen"]), stripped(row["rejected"])]}
    shared = shared_turns(row["chosen"], row["rejected"])
    moved = row["chosen"][:shared]
    repeated = shared > 0 and row["prompt"][-shared:] == moved
    lists = {
        "prompt": row["prompt"] if repeated else row["prompt"] + moved,
        "chosen": row["chosen"][shared:], "rejected": row["rejected"][shared:],
    }
    empty = {}
    for name, messages in lists.items():
        content = "\n".join(message["content"] or "" for message in messages)
        said = not is_blank(content) and (name == "prompt" or s1(content) != "")
        empty[name] = not said and not any("tool_calls" in message for message in messages)
    trimmed = [[message | {"content": stripped(message["content"] or "")} for message in lists[name]] for name in ("chosen", "rejected")]
    return {"texts": {name: flattened(messages) for name, messages in lists.items()}, "empty": empty, "trimmed": trimmed}


def invalid_codes(row: dict, said: dict, shared_id: bool) -> list[str]:
    """Every sub-code of invalid_record that applies, in the order that decides the first."""
    codes = []
    logps = [row.get(name) for name in LOGPS]
    given = [value for value in logps if value is not None]
    if shared_id:
        codes.append("duplicate_pair_id")
    if len(given) < 4:
        codes.append("missing_logp")
    if any(not math.isfinite(value) for value in given):
        codes.append("non_finite_logp")
    if any(value > 0 for value in given if math.isfinite(value)):
        codes.append("positive_logp")
    if any(row[name] < 1 for name in COUNTS):
        codes.append("bad_token_count")
    if said["empty"]["prompt"]:
        codes.append("empty_prompt")
    if said["empty"]["chosen"] or said["empty"]["rejected"]:
        codes.append("empty_completion")
    if len(given) == 4 and all(math.isfinite(value) for value in given):
        dw, dl = float(logps[0]) - float(logps[1]), float(logps[2]) - float(logps[3])
        if not all(math.isfinite(value) for value in (dw, dl, dw - dl)):
            codes.append("overflow")
    if said["texts"]["chosen"] == said["texts"]["rejected"]:
        codes.append("identical")
    elif said["trimmed"][0] == said["trimmed"][1]:
        codes.append("identical_after_trim")
    return codes


def is_unverified(row: dict) -> bool:
    flags = [row[name] for name in FLAGS]
    if row["origin"] == "verified":
        return any(flag is not True for flag in flags)
    return any(flag is False for flag in flags)


def figures(row: dict, grid: dict) -> dict:
    """Margin, drift, ratio and loss of a valid pair."""
    pc, rc, pr, rr = (written(row[name]) for name in LOGPS)
    nc, nr = (row[name] for name in COUNTS)
    margin = Fraction(grid["dpo_beta"]) * ((pc - rc) - (pr - rr))
    nll = Fraction(grid["rpo_nll_alpha"]) * -pc / nc
    return {
        "margin": margin, "drift": (pc - rc) / nc, "ratio": max(Fraction(nc, nr), Fraction(nr, nc)),
        "quanta": loss_quanta(margin, nll, Fraction(grid["loss_quantum"])),
    }


def curate(rows: list[dict], gates: dict[str, dict], grid: dict) -> dict:
    """Where every row of the pairs table ends. ``gates``: judge id -> calibration."""
    typed = [row for row in rows if is_typed(row)]
    kept: list[dict] = []
    for row in typed:
        if not any(_full(row) == _full(other) for other in kept):
            kept.append(row)
    scored = [_score(row, sum(other["pair_id"] == row["pair_id"] for other in kept) > 1, gates, grid) for row in kept]
    _resolve([item for item in scored if item["state"] == "candidate"], grid)
    states = [item["state"] for item in scored]
    return {
        "rows": scored,
        "in": len(rows), "quarantined": len(rows) - len(kept),
        **{state: states.count(state) for state in ("admitted", "rejected", "held")},
        "valid_synthetic": [item for item in scored if item["row"]["origin"] == "synthetic" and not item["codes"]],
        "admitted_rows": sorted((item for item in scored if item["state"] == "admitted"), key=_rank),
    }


def _score(row: dict, shared_id: bool, gates: dict[str, dict], grid: dict) -> dict:
    said = texts_of(row)
    codes = invalid_codes(row, said, shared_id)
    reasons = ["invalid_record"] if codes else []
    if is_unverified(row):
        reasons.append("unverified")
    item = {"row": row, "texts": said["texts"], "codes": codes, "reasons": reasons, "duplicates": {}, "failing": []}
    if not codes:
        item |= figures(row, grid)
        if item["margin"] <= Fraction(grid["min_dpo_margin"]):
            reasons.append("non_positive_margin")
        if item["ratio"] > Fraction(grid["max_length_ratio"]):
            reasons.append("length_bias")
        if item["drift"] < Fraction(grid["min_chosen_logp_drift_per_token"]):
            reasons.append("logp_collapse")
        if row["origin"] == "synthetic":
            gate = gates.get(row.get("judge_id"))
            item["failing"] = ["no_judge"] if row.get("judge_id") is None else ["unknown_judge"] if gate is None else gate["failing"]
    item["state"] = "rejected" if codes else "held" if item["failing"] else "rejected" if reasons else "candidate"
    return item


def _rank(item: dict) -> tuple[int, bytes]:
    return item["quanta"], item["row"]["pair_id"].encode("utf-8")


def _resolve(candidates: list[dict], grid: dict) -> None:
    """Walk the candidates from the best; a claimed key rejects."""
    claimed: dict[tuple[str, str], str] = {}
    for item in sorted(candidates, key=_rank):
        keys = keys_of(*(item["texts"][name] for name in SIDES))
        item["keys"] = keys
        item["duplicates"] = {
            name: claimed[name, keys[name]] for name in grid["enforced_dedup_keys"] if (name, keys[name]) in claimed
        }
        if item["duplicates"]:
            item["state"] = "rejected"
            item["reasons"].append("duplicate")
        else:
            item["state"] = "admitted"
            claimed |= dict.fromkeys(keys.items(), item["row"]["pair_id"])


# promotion


def holdout_digest(items: list[dict]) -> str:
    """SHA-256 of the canonical JSON of the list in its order (strings and integers only; keys below U+10000)."""
    return hashlib.sha256(json.dumps(items, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")).hexdigest()


def lock_holds(items: list[dict], lock: str) -> bool:
    text = lock[len("sha256:"):] if lock.startswith("sha256:") else lock
    return text.lower() == holdout_digest(items)


def outcome_faults(items: list[dict], outcomes: list[dict]) -> set[str]:
    ids = {item["id"] for item in items}
    faults = set()
    places = [(row["id"], row["arm"], row.get("run") or 0) for row in outcomes]
    if any(row["id"] not in ids for row in outcomes):
        faults.add("unknown_item")
    if len(set(places)) != len(places):
        faults.add("duplicate_outcome")
    answered = {row["id"] for row in outcomes if row["arm"] == "baseline"}
    if ids - answered or any(row["passed"] is None for row in outcomes):
        faults.add("missing_outcome")
    return faults


def reduce_runs(runs: list[bool], reducer: str, arm: str) -> bool:
    passed = sum(1 for run in runs if run)
    failed = len(runs) - passed
    if reducer == "all":
        return failed == 0
    if reducer == "any":
        return passed > 0
    return arm == "baseline" if passed == failed else passed > failed


def pair_up(items: list[dict], outcomes: list[dict], reducer: str) -> dict:
    """Regressions, fixes and absent candidate outcomes over the holdout."""
    regressions, fixes, absent = [], [], []
    for item in items:
        runs = {arm: [row["passed"] for row in outcomes if row["id"] == item["id"] and row["arm"] == arm] for arm in ("baseline", "candidate")}
        before = reduce_runs(runs["baseline"], reducer, "baseline")
        after = bool(runs["candidate"]) and reduce_runs(runs["candidate"], reducer, "candidate")
        if not runs["candidate"]:
            absent.append(item["id"])
        if before and not after:
            regressions.append(item["id"])
        if after and not before:
            fixes.append(item["id"])
    return {"n": len(items), "regressions": regressions, "fixes": fixes, "absent": absent}


def person(text: str) -> str:
    """Who an id means: case, width, outer space and a plus-tag make no second person."""
    text = unicodedata.normalize("NFKC", text.strip()).casefold()
    local, at, domain = text.partition("@")
    return local.split("+")[0] + at + domain.removesuffix(".")


# the verdict


def assess(source: dict, grid: dict) -> dict:
    """Every check but the reviewer. Raises BadInputError where nothing is decided."""
    items = [item["id"] for item in source["holdout"]]
    if "holdout" in source["parts"] and (not items or len(set(items)) != len(items)):
        raise BadInputError("empty_holdout" if not items else "duplicate_item")
    named = source["receipt_judges"]
    ids = {row["judge_id"] for row in source["judge_records"]} | set(source["judges"]) | set(named or ())
    judges = {name: calibrate([row for row in source["judge_records"] if row["judge_id"] == name], grid) for name in ids}
    parts = source["parts"]
    found = {"judges": judges, "curation": None, "outcomes": None, "lock": None, "checks": {}, "codes": set(), "faults": set()}
    if "pairs" in parts:
        found["curation"] = curate(source["pairs"], judges, grid)
    if parts != {"judge_records", "pairs", "holdout", "outcomes", "sanity"}:
        found["codes"].add("incomplete_round")
    _promotion(source, grid, found)
    if named is None:
        found["codes"].add("receipt_judges_missing")
    elif any(judges[name][figure] is None for name in named for figure in ("kappa", "fpr")):
        found["codes"].add("undefined_statistic")
    if "sanity" in parts and not source["sanity"]:
        found["codes"].add("undefined_statistic")
    found["receipt"] = None if found["codes"] or found["faults"] else _receipt(source, grid, found)
    return found


def _promotion(source: dict, grid: dict, found: dict) -> None:
    """Fill in ``checks``: True holds, False fails, None is undefined (and does not hold)."""
    checks, parts = found["checks"], source["parts"]
    if found["curation"] is not None:
        checks["no_collapsed_pair"] = found["curation"]["admitted"] > 0
        if grid["max_collapsed_share"] is not None:
            judged = [item for item in found["curation"]["rows"] if not item["codes"] and item["state"] != "held" and not is_unverified(item["row"])]
            collapsed = [item for item in judged if "logp_collapse" in item["reasons"]]
            share = Fraction(len(collapsed), len(judged)) if judged else None
            checks["collapsed_share"] = None if share is None else share <= Fraction(grid["max_collapsed_share"])
    if "sanity" in parts and source["sanity"]:
        passed = sum(1 for row in source["sanity"] if row["passed"])
        found["retention"] = Fraction(passed, len(source["sanity"]))
        checks["sanity_retention"] = found["retention"] >= Fraction(grid["min_sanity_retention"])
    if "holdout" not in parts:
        return
    found["lock"] = checks["holdout_lock"] = lock_holds(source["holdout"], source["lock"])
    if "outcomes" not in parts:
        return
    faults = outcome_faults(source["holdout"], source["outcomes"])
    if faults and found["lock"]:
        raise BadInputError(*faults)
    if faults:
        found["faults"] = faults
        return
    outcomes = found["outcomes"] = pair_up(source["holdout"], source["outcomes"], grid["outcome_run_reducer"])
    gain = Fraction(len(outcomes["fixes"]) - len(outcomes["regressions"]), outcomes["n"])
    lost = Fraction(len(outcomes["regressions"]), outcomes["n"])
    found |= {"gain": gain, "lost": lost}
    checks["regressions"] = lost <= Fraction(grid["max_regression_rate"])
    checks["outcomes_complete"] = not outcomes["absent"]
    if grid["min_net_holdout_gain"] is not None:
        checks["net_gain"] = gain >= Fraction(grid["min_net_holdout_gain"])


def _receipt(source: dict, grid: dict, found: dict) -> dict:
    calibrated, uncalibrated = (found["judges"][name] for name in source["receipt_judges"])
    curation, decimals = found["curation"], grid["receipt_decimals"]
    admitted = curation["admitted_rows"]
    own = [
        item for item in curation["valid_synthetic"]
        if source["form"] == "bundle" or item["row"].get("judge_id") == source["receipt_judges"][1]
    ]
    primary = [item["reasons"][0] for item in curation["rows"] if item["state"] == "rejected"]
    margin = sum((item["margin"] for item in admitted), Fraction(0)) / max(len(admitted), 1)
    loss = Fraction(sum(item["quanta"] for item in admitted), max(len(admitted), 1)) * Fraction(grid["loss_quantum"])
    return {
        "calibrated_judge_kappa": receipt_number(calibrated["kappa"], decimals),
        "calibrated_judge_fpr": receipt_number(calibrated["fpr"], decimals),
        "calibrated_judge_passed": calibrated["open"],
        "uncalibrated_judge_kappa": receipt_number(uncalibrated["kappa"], decimals),
        "uncalibrated_synthetic_admitted": len(own) if uncalibrated["open"] else 0,
        "admitted_pair_ids": [item["row"]["pair_id"] for item in admitted],
        "admitted_pair_count": len(admitted),
        "rejected_length_bias_count": primary.count("length_bias"),
        "rejected_logp_collapse_count": primary.count("logp_collapse"),
        "rejected_duplicate_count": primary.count("duplicate"),
        "mean_dpo_margin": receipt_number(margin, decimals),
        "mean_rpo_loss": receipt_number(loss, decimals),
        "holdout_lock_valid": found["lock"],
        "net_holdout_gain": receipt_number(found["gain"], decimals),
        "regression_rate": receipt_number(found["lost"], decimals),
        "sanity_retention_rate": receipt_number(found["retention"], decimals),
    }


def decide(source: dict, found: dict, reviewer: str) -> dict:
    """The receipt, or ``{"verdict": "REFUSE", "codes": {...}, "one_of": {...}}``: codes that a refusal record must
    name, and faults of which it names one. The literal gate is taken to hold."""
    checks = found["checks"] | {"distinct_reviewer": person(reviewer) not in {person(name) for name in source["proposers"]}}
    if found["receipt"] is None:
        failing = {name for name, holds in checks.items() if holds is False}
        return {"verdict": "REFUSE", "codes": found["codes"] | failing, "one_of": found["faults"]}
    return found["receipt"] | {"promote_round": all(checks.values())}


def from_bundle(bundle: dict) -> dict:
    """The round that a one-file bundle states."""
    records = [
        {"judge_id": judge, **row} for judge in ("calibrated", "uncalibrated") for row in bundle[f"{judge}_judge_records"]
    ]
    pairs = [
        {**{name: row[field] for name, field in (("chosen", "chosen_verified"), ("rejected", "rejected_tombstone"))},
         **{name: value for name, value in row.items() if name not in ("chosen_verified", "rejected_tombstone")},
         "origin": origin, "judge_id": judge}
        for origin, judge, rows in (("verified", None, "verified_candidates"), ("synthetic", "calibrated", "synthetic_pairs"))
        for row in bundle[rows]
    ]
    outcomes = [
        {"id": item, "arm": arm, "run": 0, "passed": passed}
        for arm in ("baseline", "candidate") for item, passed in bundle[f"{arm}_outcomes"].items()
    ]
    return {
        "form": "bundle", "parts": {"judge_records", "pairs", "holdout", "outcomes", "sanity"}, "judge_records": records, "pairs": pairs,
        "holdout": bundle["holdout_suite"], "outcomes": outcomes,
        "sanity": [{"id": name, "passed": passed} for name, passed in bundle["sanity_outcomes"].items()],
        "lock": bundle["preregistered_holdout_sha256"], "proposers": [bundle["proposer_id"]],
        "receipt_judges": ("calibrated", "uncalibrated"), "judges": (),
    }
