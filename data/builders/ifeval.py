"""``ifeval-qwen`` and ``ifeval-4o``: real holdout outcomes of two model pairs, pairs and judges borrowed from ``smollm2-rpo``."""
from __future__ import annotations

from collections import defaultdict
from functools import lru_cache

from builders import smollm2
from builders.folder import PROPOSER, DemoRound, Row, lock, model
from builders.sources import json_lines

_PROMPTS, _OUTCOMES = "ifeval/prompts_en.jsonl.gz", "ifeval/outcomes_en.jsonl.gz"
_RESPONSES = "ifeval/eval_results_strict.{model}.jsonl.gz"
LABEL = "composite, for demonstration"
_QWEN = ("Qwen__Qwen2.5-3B-Instruct-GPTQ-Int4", "Qwen__Qwen2.5-7B-Instruct-GPTQ-Int4")
_GPT = ("gpt-4o-mini-2024-07-18", "gpt-4o-2024-08-06")
_NOTE = """\
COMPOSITE, FOR DEMONSTRATION: the parts of this round belong to different models.

Canaries and holdout are real: outcomes of {baseline} (baseline) and {candidate} (candidate) on the 541 English IFEval prompts, \
strict check at prompt level, as published in lightblue-tech/M-IFEval 0bc3143a919e (Apache-2.0; prompts Google, CC BY 4.0; data/SOURCES.md). \
Canaries: the {canaries} prompts that all the other 15 models published there pass. Holdout: the other {items}, in file order. {responses}

Pairs and judges are borrowed unchanged from the round smollm2-rpo, where the policy is SmolLM2 rpo-60 and the reference is ref: \
public data has no log-probs for the models named above. Nothing about their training can be learnt from this round.

The proposer name and the dates are made up for the demonstration."""


@lru_cache(maxsize=1)
def _strict() -> dict[str, dict[int, bool]]:
    outcomes: dict[str, dict[int, bool]] = defaultdict(dict)
    for row in json_lines(_OUTCOMES):
        outcomes[row["model"]][row["key"]] = row["strict"]
    return outcomes


def _responses(name: str) -> dict[str, str | None]:
    """Prompt -> response, for the two models whose responses are at hand; their verdicts must be those of the outcomes file."""
    rows = json_lines(_RESPONSES.format(model=name))
    keys = {row["prompt"]: row["key"] for row in json_lines(_PROMPTS)}
    if any(row["follow_all_instructions"] is not _strict()[name][keys[row["prompt"]]] for row in rows):
        raise AssertionError(f"{name}: the responses file and the outcomes file disagree on a verdict")
    return {row["prompt"]: row["response"] for row in rows}


def _outcomes(name: str, arm: str, items: list[Row], responses: dict[str, str | None]) -> list[Row]:
    return [
        {
            "id": str(row["key"]), "arm": arm, "passed": _strict()[name][row["key"]], "slice": smollm2.family(row["instruction_id_list"]),
            "response": responses.get(row["prompt"]),
        }
        for row in items
    ]


def _round(round_id: str, models: tuple[str, str], names: tuple[str, str], created_at: str, registered_at: str) -> DemoRound:
    others = [outcomes for name, outcomes in _strict().items() if name not in models]
    prompts = json_lines(_PROMPTS)
    canaries = [row for row in prompts if all(outcomes[row["key"]] for outcomes in others)]
    items = [row for row in prompts if row not in canaries]
    texts = [_responses(name) if models == _QWEN else {} for name in models]
    holdout: list[Row] = [{"id": str(row["key"]), "prompt": row["prompt"]} for row in items]
    note = _NOTE.format(
        baseline=names[0], candidate=names[1], canaries=len(canaries), items=len(items),
        responses="Responses are upstream's." if models == _QWEN else "Responses of these two models are not part of the copy.",
    )
    document = {
        "schema_version": 1, "round_id": round_id, "label": LABEL, "previous_receipt_sha256": None, "proposers": [PROPOSER], "reviewer": None,
        "baseline": model(names[0]), "candidate": model(names[1]), "policy": model("rpo-60"), "reference": model("ref"),
        "holdout_lock": lock(holdout, registered_at), "created_at": created_at, "note": note,
        "receipt_judges": {"calibrated": smollm2.LOOSE_CHECK, "uncalibrated": smollm2.SELF_JUDGE},
        "verification": "dataset_label", "judges": smollm2.JUDGES,
    }
    sanity = [
        {"id": str(row["key"]), "passed": _strict()[models[1]][row["key"]], "prompt": row["prompt"], "response": texts[1].get(row["prompt"])}
        for row in canaries
    ]
    outcomes = _outcomes(models[0], "baseline", items, texts[0]) + _outcomes(models[1], "candidate", items, texts[1])
    tables = {"judge_records": smollm2.judge_records("rpo-60"), "pairs": smollm2.pairs("rpo-60"), "outcomes": outcomes, "sanity": sanity}
    return DemoRound(document, tables, holdout)


def qwen() -> DemoRound:
    """``ifeval-qwen``: gains 16 points, and loses too many items it had."""
    names = ("Qwen2.5-3B-Instruct-GPTQ-Int4", "Qwen2.5-7B-Instruct-GPTQ-Int4")
    return _round("ifeval-qwen", _QWEN, names, "2026-11-16T09:00:00Z", "2026-11-12T08:00:00Z")


def gpt_4o() -> DemoRound:
    """``ifeval-4o``: the round to sign in the demo."""
    return _round("ifeval-4o", _GPT, _GPT, "2026-11-17T09:00:00Z", "2026-11-12T08:05:00Z")
