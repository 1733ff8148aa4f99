"""Notes on a round: what is right but rare, and what is probably a mistake. Only errors stop a round; these are told.

``round_notes`` is computed from the round itself, so that ingest, the command line and the pages say the same.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from core.canonical import sha256_hex
from core.rounds.columns import LOGPS
from core.rounds.folder import Round
from core.rounds.near_ids import look_alikes
from core.rounds.note import Note, named, warning
from core.rounds.outcome_arms import differing_declarations
from core.rounds.outcome_documents import differing_documents
from core.rounds.quarantine import in_words, stored_reasons
from core.rounds.rollout_faults import PART as ROLLOUTS
from core.rounds.rollout_faults import REASONS, UNDECLARED, fault_counts, rollout_count
from core.schemas import FLAGS, PARTS
from core.settings import SETTINGS

UNFLAGGED: Final = "no_verifier_flags"
_NAMED: Final[int] = SETTINGS["display"]["named_ids"]


def round_notes(source: Round) -> list[Note]:
    """What there is to say about a round beyond its figures, in a fixed order."""
    return [
        *source.manifest.reading_notes, *_parts(source), *_sources(source), *_cutoff(source), *_models(source), *_judges(source),
        *_pairs(source), *_outcomes(source), *_behaviours(source), *_rollouts(source), *_ids(source),
    ]


def has_verifier_flags(source: Round) -> bool:
    """Whether any pair says of either side what a verifier found; also where there are no pairs that could."""
    flags = source.narrow(FLAGS) if source.pair_count else None
    return flags is None or any(flags[name].null_count < flags.num_rows for name in FLAGS)


def _parts(source: Round) -> Iterator[Note]:
    missing = [part for part in PARTS if not source.has(part)]
    if missing:
        yield Note("incomplete_round", f"not supplied: {', '.join(missing)}; the decision will be a refusal record that says so")
    if source.quarantined_count:
        count = source.quarantined_count
        rows = "1 pair row could not be typed and is" if count == 1 else f"{count} pair rows could not be typed and are"
        yield warning("quarantined_rows", f"{rows} quarantined: {in_words(stored_reasons(source))}")
    if source.manifest.verification == "dataset_label":
        yield Note("dataset_label", "the verifier flags come from the data set's own labels, not from a program")


def _sources(source: Round) -> Iterator[Note]:
    for part, found in source.manifest.sources.items():
        for item in found:
            yield Note("foreign_format", f"{part}: {item.sentence()}")
    if differing := differing_declarations(source.manifest.sources.get("outcomes", ())):
        yield warning("arms_read_differently", f"what decides a verdict is not declared alike for the two arms: {'; '.join(differing)}")


def _cutoff(source: Round) -> Iterator[Note]:
    cutoff = source.manifest.cutoff
    if cutoff is not None:
        yield Note("training_cutoff", f"declared: training keeps {cutoff.words()}; what that makes equal is a warning of the decision")


def _models(source: Round) -> Iterator[Note]:
    manifest = source.manifest
    for used, stated, code in (
        (manifest.policy, manifest.candidate, "policy_is_not_candidate"), (manifest.reference, manifest.baseline, "reference_is_not_baseline"),
    ):
        if used is not None and used.digest and stated.digest and used.digest != stated.digest:
            yield Note(code, f"the log-probs come from {used.name!r}, whose digest is not that of {stated.name!r}")


def _judges(source: Round) -> Iterator[Note]:
    for name, judge in source.manifest.judges.items():
        if judge.rubric is not None and judge.rubric_sha256 not in (None, sha256_hex(judge.rubric.encode("utf-8"))):
            yield warning("rubric_digest_differs", f"judge {name!r}: rubric_sha256 is not the SHA-256 of the rubric text")
    if not source.has("judge_records"):
        return
    records = source.table("judge_records", ("judge_id", "case_id"))
    rated = source.table("ratings", ("case_id",))["case_id"]
    stray = pc.unique(rated.filter(pc.invert(pc.is_in(rated, records["case_id"].combine_chunks())))).to_pylist()
    if stray:
        yield warning("rating_without_case", f"ratings of cases that no judge record names: {named(sorted(stray))}")
    recorded = set(records["judge_id"].unique().to_pylist())
    asked = source.manifest.receipt_judges
    lacking = [] if asked is None else [name for name in (asked.calibrated, asked.uncalibrated) if name not in recorded]
    if lacking:
        yield warning("judge_without_records", f"receipt_judges names {named(lacking)}, of which there are no records")


def _pairs(source: Round) -> Iterator[Note]:
    if not source.pair_count:
        return
    columns = source.narrow(LOGPS)
    empty = [name for name in LOGPS if columns[name].null_count == columns.num_rows]
    if empty:
        yield warning("missing_column", f"no pair has {', '.join(empty)}: all of them will be invalid (missing_logp)")
    if not has_verifier_flags(source):
        yield warning(UNFLAGGED, "no pair has a verifier's flag on either side: none of them can be admitted (unverified)")


def _outcomes(source: Round) -> Iterator[Note]:
    if not (source.has("outcomes") and source.has("holdout")):
        return
    table, items = source.table("outcomes"), {item["id"] for item in source.holdout_items()}
    ids, arms, runs, passed = (table[name].to_pylist() for name in ("id", "arm", "run", "passed"))
    keys = Counter(zip(ids, arms, runs, strict=True))
    answered = {(name, arm) for name, arm, _ in keys}
    faults = {
        ("unknown_item", "outcomes of ids that the holdout does not have"): set(ids) - items,
        ("duplicate_outcome", "two outcomes of one item, arm and run"): {name for (name, _, _), count in keys.items() if count > 1},
        ("missing_outcome", "outcomes that are null"): {name for name, flag in zip(ids, passed, strict=True) if flag is None},
        ("missing_outcome", "no baseline outcome"): {name for name in items if (name, "baseline") not in answered},
        ("missing_outcome", "no candidate outcome"): {name for name in items if (name, "candidate") not in answered},
    }
    for (code, text), names in faults.items():
        if names:
            yield warning(code, f"{text}: {named(sorted(names))}")
    for code, text, differing in differing_documents(table):
        yield warning(code, f"{text}: {named(differing)}")


def _behaviours(source: Round) -> Iterator[Note]:
    if not source.has("behaviours"):
        return
    table, manifest = source.table("behaviours", ("version", "judge_id")), source.manifest
    versions = set(pc.unique(table["version"]).to_pylist())
    lacking = [model.name for model in (manifest.baseline, manifest.candidate) if model.name not in versions]
    if lacking:
        yield warning("version_not_measured", f"no behaviour was measured for {named(lacking)}, by the name that round.json gives")
    graders = set(pc.unique(table["judge_id"].drop_null()).to_pylist())
    unknown = sorted(graders - set(pc.unique(source.table("judge_records", ("judge_id",))["judge_id"]).to_pylist()))
    if unknown:
        yield warning("grader_without_records", f"behaviours were graded by {named(unknown)}, of which there are no judge records to measure it by")


def _rollouts(source: Round) -> Iterator[Note]:
    if not source.has(ROLLOUTS):
        return
    faults, rows = fault_counts(source), rollout_count(source)
    for fault, count in faults.items():
        declare = "; declare its column in sources, as an option of the file" if count == rows and fault in UNDECLARED else ""
        yield warning(fault, f"rollouts: {count} of {rows} cannot be used: {REASONS.get(fault, fault)}{declare}")
    stated = source.manifest.pairing
    if stated is None:
        return
    table = source.table(ROLLOUTS, ("policy", "grader", "source"))
    seen = {name: set(pc.unique(table[name].drop_null()).to_pylist()) for name in table.column_names}
    if stated.policy is not None and stated.policy not in seen["policy"]:
        yield warning("policy_without_rollouts", f"pairing names the policy {stated.policy!r}, of which there are no rollouts")
    unknown = sorted(set(stated.holdout_graders) - seen["grader"] - seen["source"])
    if unknown:
        yield warning("grader_without_rollouts", f"pairing names the holdout graders {named(unknown)}, which graded no rollout")


def _ids(source: Round) -> Iterator[Note]:
    found = {
        "pairs": source.narrow(["pair_id"])["pair_id"],
        "holdout": pa.chunked_array([[item["id"] for item in source.holdout_items()]], pa.string()),
        "judge_records": source.table("judge_records")["case_id"],
        "sanity": source.table("sanity")["id"],
    }
    for part, ids in found.items():
        groups = look_alikes(ids)
        if groups:
            text = f"{part}: {len(groups)} groups of ids that differ only by white space, hidden characters or Unicode form"
            yield warning("look_alike_ids", f"{text}: {'; '.join(named(group) for group in groups[:_NAMED])}")
