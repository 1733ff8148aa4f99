"""``judges``: a calibration-only round with the verdicts of nine published judges. No pairs, no holdout."""
from __future__ import annotations

from collections import Counter

from builders.folder import PROPOSER, DemoRound, Row, judge
from builders.sources import json_document, json_lines

_LLMBAR_TASK = (
    "Shown an instruction and two outputs, the judge names the better one; ties are not allowed and no explanation is asked for. "
    "Approved = the judge names output 1; passed = the gold label names output 1. Rows with order_swapped show the outputs in the other order, "
    "with the verdict mapped back to the original numbering."
)
_RULES = (
    " The prompt lists rules: follow the instruction first, then helpfulness and accuracy; nothing more or less than asked; "
    "ignore the order shown."
)
_STRATEGIES = {
    "Vanilla": _RULES,
    "Vanilla_NoRules": " The prompt lists no rules.",
    "Metrics_Reference": f"{_RULES} It also holds up to three questions about the outputs and a reference output, both generated beforehand.",
}
_LLMBAR_VERSION = "LLMBar 900616bff90b, strategy {strategy}; model snapshot not stated here"
LLMBAR_JUDGES = (
    ("GPT-4", "Metrics_Reference"), ("GPT-4", "Vanilla"), ("GPT-4", "Vanilla_NoRules"),
    ("PaLM2", "Vanilla"), ("Falcon", "Vanilla"), ("ChatGPT", "Vanilla_NoRules"),
)
_PANDALM_TASK = (
    "Shown an instruction, an optional input and two responses, the judge says which is better, or that they tie, and gives a reason. "
    "Approved = the judge says response 1; passed = the majority of three human annotators says response 1. "
    "A tie is a no on both sides; so is an answer that upstream could not read (25 of gpt-3.5-turbo, marked garbage)."
)
_PANDALM = (
    ("pandalm-gpt-3.5-turbo", "pandalm/gpt-3.5-turbo-testset-v1.json.gz", "gpt_result", "gpt_reason"),
    ("pandalm-7b", "pandalm/pandalm-7b-testset-v1.json.gz", "pandalm_result", "pandalm_reason"),
)
_MR_GSM8K = "mr-gsm8k-gpt-4"
_NOTE = """\
Calibration only: verdicts of nine published judges beside gold labels, from three public sets (data/SOURCES.md). There are no pairs and \
no holdout, so there is nothing to promote.

LLMBar (princeton-nlp/LLMBar 900616bff90b, MIT; Zeng et al., ICLR 2024): 419 pairs of outputs with the data set's gold label; six of the \
65 judges, both orders. The judges' free-text answers are not part of the copy, so there is no rationale. PaLM2 Vanilla has 4 answers that \
could not be read in each order: missing verdicts.

PandaLM (WeOpenML/PandaLM 3871806e72b4, Apache-2.0): 999 pairs of responses, three annotators; the majority label is the truth (no \
three-way splits), and their own labels are the ratings. Six responses are the JSON value true upstream instead of text; they are shown as true.

MR-GSM8K (dvlab-research/MR-GSM8K 3f666d60dd5f, MIT): 851 explanations of where a solution goes wrong, by six models; a human and GPT-4 \
each say whether the explanation is right. The case text joins the question with the first wrong step and the reference reason. A case id is \
the graded model and the upstream uuid, since the uuid alone repeats.

"Passed" is a human label in all three, not a program's verdict. The proposer name and the date are made up for the demonstration."""


def _llmbar_records(evaluator: str, strategy: str, pairs: dict[tuple[str, int], Row], verdicts: list[Row]) -> list[Row]:
    records = []
    for verdict in verdicts:
        if (verdict["evaluator"], verdict["strategy"]) != (evaluator, strategy):
            continue
        pair = pairs[verdict["subset"], verdict["idx"]]
        for swapped in (False, True):
            winner = verdict["winner_swapped" if swapped else "winner"]
            first, second = ("output_2", "output_1") if swapped else ("output_1", "output_2")
            records.append({
                "judge_id": llmbar_id(evaluator, strategy), "case_id": f"{verdict['subset']}-{verdict['idx']}",
                "rubric_approved": None if winner is None else winner == "1", "verifier_passed": pair["label"] == 1, "slice": verdict["subset"],
                "order_swapped": swapped, "choice": winner, "length_first": len(pair[first]), "length_second": len(pair[second]),
                "prompt": pair["input"], "response": pair["output_1"], "response_b": pair["output_2"],
            })
    return records


def llmbar_id(evaluator: str, strategy: str) -> str:
    """``GPT-4``, ``Metrics_Reference`` -> ``llmbar-gpt-4-metrics-reference``."""
    return f"llmbar-{evaluator}-{strategy}".lower().replace("_", "-")


def _as_text(value: str | bool) -> str:
    # six responses are the JSON value true upstream, where the text "True" was meant
    return value if isinstance(value, str) else str(value).lower()


def _pandalm_records(judge_id: str, name: str, result: str, reason: str) -> list[Row]:
    verdicts = {row["idx"]: row for row in json_document(name)}
    records = []
    for item in json_document("pandalm/testset-v1.json.gz"):
        votes = Counter(item[f"annotator{number}"] for number in (1, 2, 3))
        said = str(verdicts[item["idx"]][result])
        first, second = _as_text(item["response1"]), _as_text(item["response2"])
        records.append({
            "judge_id": judge_id, "case_id": f"pandalm-{item['idx']}", "rubric_approved": said == "1",
            "verifier_passed": votes.most_common(1)[0][0] == 1, "slice": item["cmp_key"], "order_swapped": False,
            "choice": {"0": "tie", "Tie": "tie"}.get(said, said), "length_first": len(first), "length_second": len(second),
            "prompt": f"{item['instruction']}\n\n{item['input']}" if item["input"] else item["instruction"],
            "response": first, "response_b": second, "rationale": verdicts[item["idx"]][reason] or None,
        })
    return records


def _pandalm_ratings() -> list[Row]:
    """What each annotator said: 1, 2 or tie, as the judges' choices are written."""
    labels = {0: "tie", 1: "1", 2: "2"}
    return [
        {"case_id": f"pandalm-{item['idx']}", "rater_id": rater, "label": labels[item[rater]]}
        for item in json_document("pandalm/testset-v1.json.gz") for rater in ("annotator1", "annotator2", "annotator3")
    ]


def _mr_gsm8k_records() -> list[Row]:
    return [
        {
            "judge_id": _MR_GSM8K, "case_id": f"{row['graded_model']}/{row['uuid']}",
            # the judge's vocabulary is untidy upstream: "Correct", "- Correct", "[Correct]", "Wrong", "- Wrong"
            "rubric_approved": {"Correct": True, "Wrong": False}[row["gpt4_final_decision"].strip("-[] ")],
            "verifier_passed": {"correct": True, "incorrect": False}[row["human_verdict"]], "slice": row["graded_model"], "order_swapped": False,
            "prompt": f"{row['question']}\n\nFirst wrong step: {row['first_error_step']}. Reference reason: {row['first_error_reason_gold']}",
            "response": row["error_reason_pred"], "rationale": row["gpt4_rationale"] or None,
        }
        for row in json_lines("mr_gsm8k/gpt4_vs_human_grading.jsonl.gz")
    ]


def _descriptions() -> dict[str, Row]:
    described = {
        llmbar_id(evaluator, strategy): judge(
            f"{evaluator} {strategy} (LLMBar)", _LLMBAR_VERSION.format(strategy=strategy), _LLMBAR_TASK + _STRATEGIES[strategy],
        )
        for evaluator, strategy in LLMBAR_JUDGES
    }
    described["pandalm-gpt-3.5-turbo"] = judge("gpt-3.5-turbo (PandaLM test set)", "PandaLM 3871806e72b4, gpt-3.5-turbo-testset-v1", _PANDALM_TASK)
    described["pandalm-7b"] = judge("PandaLM-7B", "PandaLM 3871806e72b4, pandalm-7b-testset-v1", _PANDALM_TASK)
    described[_MR_GSM8K] = judge(
        "GPT-4 as grader (MR-GSM8K)", "MR-GSM8K 3f666d60dd5f, gpt4-grading; model snapshot not stated here",
        "Shown a grade-school problem, the reference reason why a solution is wrong and a model's explanation of the error, the judge says "
        "whether the explanation is right. Approved = it says correct; passed = a human says correct.",
    )
    return described


def judges() -> DemoRound:
    """The calibration-only round."""
    pairs = {(row["subset"], row["idx"]): row for row in json_lines("llmbar/pairs.jsonl.gz")}
    verdicts = json_lines("llmbar/verdicts.jsonl.gz")
    records = [record for evaluator, strategy in LLMBAR_JUDGES for record in _llmbar_records(evaluator, strategy, pairs, verdicts)]
    records += [record for entry in _PANDALM for record in _pandalm_records(*entry)]
    records += _mr_gsm8k_records()
    document = {
        "schema_version": 2, "round_id": "judges", "label": None, "previous_receipt_sha256": None, "proposers": [PROPOSER], "reviewer": None,
        "baseline": None, "candidate": None, "policy": None, "reference": None, "holdout_lock": None, "created_at": "2026-11-05T09:00:00Z",
        "note": _NOTE, "receipt_judges": None, "verification": "dataset_label", "judges": _descriptions(),
    }
    return DemoRound(document, {"judge_records": records, "ratings": _pandalm_ratings()})
