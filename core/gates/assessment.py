"""The assessment: every check but the reviewer, a pure function of (round, grid, code), computed once and kept.

What is supplied is computed and shown in full, also where a part is missing, a number is undefined or the lock does not
hold: the verdict is then a refusal record that names every reason. Stored beside the round under the three digests.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from core.canonical import canonical_bytes, file_digest, parse_canonical, sha256_hex
from core.errors import DigestMismatch, RoundError, Where
from core.gates import computed_here
from core.gates.calibration import JudgeCalibration, RubricJudgeCalibrationGate, gates_for_pairs
from core.gates.checks import Check
from core.gates.curation import ADMITTED_FILE, SCORED_FILE, Curation, IterativeRpoPairCurator
from core.gates.cutoff import cutoff_notes
from core.gates.exposure_file import record_look
from core.gates.holdout import Lock, PairedOutcomes, check_lock, pair_outcomes
from core.gates.promotion import (
    PreRegisteredFlywheelPromoter,
    Sanity,
    distinct_reviewer,
    net_gain,
    outcomes_document,
    regression_rate,
    sanity_of,
)
from core.gates.receipt import PROMOTE_AWAITING, REFUSE, receipt_number, refusal_record
from core.gates.strength import strength_of
from core.grid import Grid
from core.literals import LiteralGateResult, Violation, code_digest, run_literal_gate
from core.rounds.folder import Round
from core.rounds.form import check_form
from core.rounds.workspace import Workspace
from core.schemas import PARTS, REASONS
from core.settings import SETTINGS
from core.version import ENGINE_VERSION

ASSESSMENT_FILE: Final = "assessment.json"
DIGEST_FILE: Final = "assessment.sha256"
"""The SHA-256 of assessment.json, as sha256sum writes it: an edit by accident shows when it is loaded."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Assessment:
    """A computed assessment. ``document`` is what assessment.json holds; ``folder`` has the scored pairs beside it."""

    document: Mapping[str, Any]
    folder: Path

    @property
    def verdict(self) -> str:
        return str(self.document["verdict"])

    @property
    def round_digest(self) -> str:
        return str(self.document["round_digest"])

    @property
    def grid_digest(self) -> str:
        return str(self.document["grid_digest"])

    @property
    def code_digest(self) -> str:
        return str(self.document["code_digest"])

    @property
    def holdout_digest(self) -> str | None:
        holdout = self.document["holdout"]
        return None if holdout is None else str(holdout["lock"]["computed"])

    @property
    def proposers(self) -> list[str]:
        return list(self.document["proposers"])

    @property
    def checks(self) -> list[Mapping[str, Any]]:
        return list(self.document["checks"])

    @property
    def judges(self) -> Mapping[str, Any]:
        judges: Mapping[str, Any] = self.document["judges"]
        return judges

    @property
    def literal_gate(self) -> Mapping[str, Any]:
        gate: Mapping[str, Any] = self.document["literal_gate"]
        return gate

    @property
    def strength(self) -> Mapping[str, Any]:
        """What the evidence behind the checks can prove (``core/gates/strength.py``)."""
        strength: Mapping[str, Any] = self.document["strength"]
        return strength

    @property
    def reason_table(self) -> Mapping[str, Any]:
        """Where the pairs went: in = admitted + rejected + held + quarantined, and rejected by primary reason."""
        table: Mapping[str, Any] = self.document["reason_table"]
        return table

    @property
    def scored_path(self) -> Path:
        return self.folder / SCORED_FILE

    def admitted_pairs_bytes(self) -> bytes:
        """RFC 8785 list of the admitted pairs in rank order; an empty list where the round has no pairs."""
        path = self.folder / ADMITTED_FILE
        return path.read_bytes() if path.is_file() else canonical_bytes([])

    def verify_files(self) -> None:
        """The files beside assessment.json are those that it names. Raises DigestMismatch ``assessment_changed``."""
        for name, digest in self.document["files"].items():
            path = self.folder / name
            found = file_digest(path) if path.is_file() else None
            if found != digest:
                raise DigestMismatch(
                    "assessment_changed", expected=f"SHA-256 {digest}", got=found or "no such file",
                    remedy=f"remove the folder {self.folder.name} of assessments/: it is computed again", where=Where(name),
                )

    @cached_property
    def _admitted_ids(self) -> list[str]:
        return [row["pair_id"] for row in parse_canonical(self.admitted_pairs_bytes(), where=Where(ADMITTED_FILE))]

    def admitted_pair_ids(self) -> list[str]:
        """Ids of the admitted pairs in rank order."""
        return list(self._admitted_ids)


@dataclass
class _Findings:
    """What one run of the engine found, before it is written down."""

    judges: dict[str, JudgeCalibration] = field(default_factory=dict)
    curation: Curation | None = None
    lock: Lock | None = None
    outcomes: PairedOutcomes | None = None
    sanity: Sanity | None = None
    checks: list[Check] = field(default_factory=list)
    reasons: list[tuple[str, str]] = field(default_factory=list)


def assess(
    source: Round, grid: Grid, destination: Path, *, literal_gate: LiteralGateResult | None = None, code: str | None = None,
    progress: Progress | None = None,
) -> Assessment:
    """Run the engine over a round and write assessment.json (its digest beside it), scored.parquet and admitted_pairs.json to ``destination``.

    ``destination``: an existing empty folder. ``literal_gate`` and ``code`` default to those of the running engine;
    recomputation passes the ones a statement names. Raises RoundError for a folder that no ingest wrote, and for outcomes that decide nothing
    (``unknown_item``, ``duplicate_outcome``, ``missing_outcome``) while the lock holds.
    """
    check_form(source)
    gate = run_literal_gate() if literal_gate is None else literal_gate
    found = _Findings()
    missing = [part for part in PARTS if not source.has(part)]
    if missing:
        found.reasons.append(("incomplete_round", f"not supplied: {', '.join(missing)}"))
    _judge(source, grid, found)
    _curate(source, grid, found, destination, progress)
    _hold_out(source, grid, found)
    promoter = PreRegisteredFlywheelPromoter(grid)
    found.checks.append(promoter.literal_gate(gate.files, len(gate.violations)))
    receipt = _receipt_numbers(source, grid, found)
    document = _document(source, grid, found, gate, code_digest() if code is None else code, missing, receipt)
    document["strength"] = strength_of(source, document, grid)
    for name in (SCORED_FILE, ADMITTED_FILE):
        path = destination / name
        document["files"][name] = file_digest(path) if path.is_file() else None
    data = canonical_bytes(document)
    (destination / ASSESSMENT_FILE).write_bytes(data)
    (destination / DIGEST_FILE).write_bytes(_digest_line(data))
    return Assessment(document, destination)


def _judge(source: Round, grid: Grid, found: _Findings) -> None:
    named = source.manifest.receipt_judges
    expected = {*source.manifest.judges, *((named.calibrated, named.uncalibrated) if named else ())}
    records = source.table("judge_records") if source.has("judge_records") else None
    found.judges = RubricJudgeCalibrationGate(grid).evaluate_all(records, expected)


def _curate(source: Round, grid: Grid, found: _Findings, destination: Path, progress: Progress | None) -> None:
    if not source.has("pairs"):
        return
    curation = IterativeRpoPairCurator(grid).curate(
        source, quarantined=source.quarantined_count, gates=gates_for_pairs(found.judges), destination=destination, progress=progress,
        cutoff=source.manifest.cutoff,
    )
    found.curation = curation
    promoter = PreRegisteredFlywheelPromoter(grid)
    found.checks.append(promoter.no_collapsed_pair(curation.admitted, curation.lowest_admitted_drift))
    found.checks.append(promoter.collapsed_share(curation.collapsed, curation.judged))


def _hold_out(source: Round, grid: Grid, found: _Findings) -> None:
    promoter = PreRegisteredFlywheelPromoter(grid)
    if source.has("sanity"):
        found.sanity = sanity_of(source.table("sanity"))
        found.checks.append(promoter.sanity_retention(found.sanity))
    if not source.has("holdout"):
        return
    lock = source.manifest.holdout_lock
    found.lock = check_lock(source.holdout_bytes(), "" if lock is None else lock.sha256)
    found.checks.append(promoter.holdout_lock(found.lock))
    if not source.has("outcomes"):
        return
    ids = [str(item["id"]) for item in source.holdout_items()]
    try:
        found.outcomes = pair_outcomes(ids, source.table("outcomes"), grid.name_of("outcome_run_reducer"))
    except RoundError as fault:
        if found.lock.holds:
            raise
        # bad ids must not hide a swapped holdout: the record names both
        found.reasons.append((fault.code, f"{fault.got}, where {fault.expected} was expected"))
        return
    found.checks += [promoter.regressions(found.outcomes), promoter.net_gain(found.outcomes), promoter.outcomes_complete(found.outcomes)]


def _receipt_numbers(source: Round, grid: Grid, found: _Findings) -> dict[str, Any] | None:
    """The receipt but for the list of ids and ``promote_round``; None where a required number is missing or undefined."""
    named = source.manifest.receipt_judges
    if named is None:
        found.reasons.append(("receipt_judges_missing", "the round names no judge pair for the receipt"))
    else:
        for role, judge_id in (("calibrated", named.calibrated), ("uncalibrated", named.uncalibrated)):
            judge = found.judges[judge_id]
            found.reasons += [
                ("undefined_statistic", f"{name} of the {role} judge {judge_id} is undefined: {ratio.undefined}")
                for name, ratio in (("kappa", judge.kappa), ("false-positive rate", judge.fpr)) if ratio.undefined is not None
            ]
    if found.sanity is not None and found.sanity.retention.undefined is not None:
        found.reasons.append(("undefined_statistic", f"sanity retention is undefined: {found.sanity.retention.undefined}"))
    complete = found.curation is not None and found.lock is not None and found.outcomes is not None and found.sanity is not None
    if found.reasons or named is None or not complete:
        return None
    try:
        return _numbers(source, grid, found, found.judges[named.calibrated], found.judges[named.uncalibrated])
    except RoundError as fault:
        # a receipt that states such a figure could be signed and never verified: every other figure stays visible
        found.reasons.append((fault.code, f"a mean over the admitted pairs: {fault.got} than {fault.expected}"))
        return None


def _numbers(source: Round, grid: Grid, found: _Findings, calibrated: JudgeCalibration, uncalibrated: JudgeCalibration) -> dict[str, Any]:
    curation, lock, outcomes, sanity = found.curation, found.lock, found.outcomes, found.sanity
    assert curation is not None and lock is not None and outcomes is not None and sanity is not None
    assert calibrated.kappa.value is not None and calibrated.fpr.value is not None and uncalibrated.kappa.value is not None
    retention = sanity.retention.value
    gain, lost = net_gain(outcomes).value, regression_rate(outcomes).value
    assert retention is not None and gain is not None and lost is not None
    decimals = grid.integer("receipt_decimals")
    means = {"mean_dpo_margin": curation.mean_margin, "mean_rpo_loss": curation.mean_loss}
    return {
        "calibrated_judge_kappa": receipt_number(calibrated.kappa.value, decimals),
        "calibrated_judge_fpr": receipt_number(calibrated.fpr.value, decimals),
        "calibrated_judge_passed": calibrated.open,
        "uncalibrated_judge_kappa": receipt_number(uncalibrated.kappa.value, decimals),
        "uncalibrated_synthetic_admitted": _uncalibrated_synthetic(source, curation, uncalibrated),
        "admitted_pair_count": curation.admitted,
        **{f"rejected_{reason}_count": curation.primary_reasons[reason] for reason in ("length_bias", "logp_collapse", "duplicate")},
        **{name: 0.0 if value is None else receipt_number(value, decimals) for name, value in means.items()},
        "holdout_lock_valid": lock.holds,
        "net_holdout_gain": receipt_number(gain, decimals),
        "regression_rate": receipt_number(lost, decimals),
        "sanity_retention_rate": receipt_number(retention, decimals),
    }


def _uncalibrated_synthetic(source: Round, curation: Curation, uncalibrated: JudgeCalibration) -> int:
    """Valid synthetic pairs that the uncalibrated judge's gate lets through, before the other reasons of curation.

    In a bundle all synthetic pairs belong to the calibrated judge, and the uncalibrated gate is applied to the same
    list as a counterfactual; in tables the judge has pairs of its own.
    """
    if not uncalibrated.open:
        return 0
    if source.manifest.form == "bundle":
        return sum(counts.valid for counts in curation.synthetic.values())
    counts = curation.synthetic.get(uncalibrated.judge_id)
    return counts.valid if counts is not None else 0


def _document(
    source: Round, grid: Grid, found: _Findings, gate: LiteralGateResult, code: str, missing: list[str], receipt: dict[str, Any] | None,
) -> dict[str, Any]:
    manifest = source.manifest
    checks = [*_ordered(found.checks), distinct_reviewer(manifest.proposers, None)]
    blocked = [check for check in checks if check.blocks]
    refusal = None
    if receipt is None:
        refusal = refusal_record([*found.reasons, *(_reason(check) for check in blocked)])
    verdict = REFUSE if refusal is not None or blocked else PROMOTE_AWAITING
    report = None if found.curation is None else found.curation.cutoff
    cutoff = None if report is None else report.as_dict()
    return ({} if cutoff is None else {"cutoff": cutoff}) | {
        "schema_version": SETTINGS["storage"]["assessment_version"], "engine_version": ENGINE_VERSION, "code_digest": code,
        "round_id": manifest.round_id, "round_digest": source.digest, "proposers": list(manifest.proposers), "reviewer": manifest.reviewer,
        "grid_digest": grid.digest, "grid_name": grid.name, "grid_version": grid.version,
        "verdict": verdict, "parts": list(manifest.parts), "missing_parts": missing,
        "checks": [check.as_dict() for check in checks],
        "judges": {judge_id: _judge_document(judge, found.curation) for judge_id, judge in found.judges.items()},
        "curation": None if found.curation is None else found.curation.as_dict(),
        "reason_table": _reason_table(found.curation),
        "holdout": _holdout_document(found),
        "sanity": None if found.sanity is None else found.sanity.as_dict(),
        "receipt": receipt, "refusal": refusal, "literal_gate": gate.as_dict(), "notes": [*_notes(source), *cutoff_notes(cutoff)], "files": {},
    }


def _reason(check: Check) -> tuple[str, str]:
    """Why a check blocks, as a refusal record says it."""
    if check.state == "undefined" and check.ratio is not None:
        return "undefined_statistic", f"{check.name.replace('_', ' ')} is undefined: {check.ratio.undefined}"
    return check.name, check.observed


_ORDER: Final = (
    "holdout_lock", "sanity_retention", "regressions", "no_collapsed_pair", "outcomes_complete", "literal_gate", "collapsed_share", "net_gain",
)


def _ordered(checks: list[Check]) -> list[Check]:
    return sorted(checks, key=lambda check: _ORDER.index(check.name))


def _judge_document(judge: JudgeCalibration, curation: Curation | None) -> dict[str, object]:
    counts = None if curation is None else curation.synthetic.get(judge.judge_id)
    return judge.as_dict() | {"synthetic": None if counts is None else counts.as_dict()}


def _reason_table(curation: Curation | None) -> dict[str, Any]:
    if curation is None:
        return {"in": 0, "admitted": 0, "rejected": 0, "held": 0, "quarantined": 0, "reasons": dict.fromkeys(REASONS, 0)}
    return {**curation.counts, "reasons": dict(curation.primary_reasons)}


def _holdout_document(found: _Findings) -> dict[str, Any] | None:
    if found.lock is None:
        return None
    return {"lock": found.lock.as_dict(), "outcomes": None if found.outcomes is None else outcomes_document(found.outcomes)}


def _notes(source: Round) -> list[dict[str, str]]:
    manifest = source.manifest
    notes = []
    for role, used, stated in (("policy", manifest.policy, manifest.candidate), ("reference", manifest.reference, manifest.baseline)):
        if used is not None and used.digest and stated.digest and used.digest != stated.digest:
            code = "reference_is_not_baseline" if role == "reference" else "policy_is_not_candidate"
            notes.append({"code": code, "text": f"the {role} behind the log-probs, {used.name}, is not {stated.name}"})
    return notes


def assessment_folder(workspace: Workspace, round_digest: str, grid: Grid) -> Path:
    """Where the assessment of a round under a grid by the running code is stored, whether there is one yet or not."""
    return workspace.assessments_dir / round_digest / f"{grid.digest}-{code_digest()}"


def load_or_assess(workspace: Workspace, source: Round, grid: Grid, progress: Progress | None = None) -> Assessment:
    """The stored assessment of (round, grid, running code), computed now where there is none yet. That its holdout was looked at
    is recorded before anything is returned (``exposure.jsonl``), once for each round and grid.

    For showing: a digest beside the document tells an edit by accident, and no more. What grants something takes
    ``core.gates.confirmed``. Raises DigestMismatch ``assessment_changed``.
    """
    final = assessment_folder(workspace, source.digest, grid)
    if (final / ASSESSMENT_FILE).is_file():
        found = _stored(final)
    else:
        with workspace.temporary("assess-") as scratch:
            document = assess(source, grid, scratch, progress=progress).document
            computed_here.remember((source.digest, grid.digest, code_digest()), canonical_bytes(dict(document)))
            workspace.publish(scratch, final)
        found = _stored(final)
    record_look(workspace, source, grid, found.document)
    return found


def _stored(folder: Path) -> Assessment:
    """A stored assessment whose document has the digest beside it."""
    data = (folder / ASSESSMENT_FILE).read_bytes()
    stated = (folder / DIGEST_FILE).read_bytes() if (folder / DIGEST_FILE).is_file() else b""
    if stated != _digest_line(data):
        raise DigestMismatch(
            "assessment_changed", expected=f"the digest that {DIGEST_FILE} states", got=sha256_hex(data),
            remedy=f"remove the folder {folder.parent.name}/{folder.name} of assessments/: it is computed again", where=Where(ASSESSMENT_FILE),
        )
    return Assessment(parse_canonical(data, where=Where(ASSESSMENT_FILE)), folder)


def _digest_line(data: bytes) -> bytes:
    return f"{sha256_hex(data)}  {ASSESSMENT_FILE}\n".encode()


def recompute(
    source: Round, grid: Grid, literal_gate: Mapping[str, Any], code: str, destination: Path, progress: Progress | None = None,
) -> Assessment:
    """Assess a round again for a verifier: the literal-gate result and the code digest are those of the statement, since
    the verifier's own engine may be another version; everything else is computed from the round under the grid.

    ``literal_gate``: the member of that name in the statement. ``destination``: an existing empty folder.
    """
    stated = LiteralGateResult(
        str(literal_gate["policy_digest"]), int(literal_gate["files"]), tuple(Violation(**item) for item in literal_gate["violations"]),
    )
    return assess(source, grid, destination, literal_gate=stated, code=code, progress=progress)


def headline(document: Mapping[str, Any]) -> str:
    """The verdict in one sentence: ``Refuse: 2 of 6 checks fail; 2 warnings; reviewer open``."""
    checks = [check for check in document["checks"] if check["decides"] and check["state"] != "open"]
    failing = sum(check["state"] in ("fails", "undefined") for check in checks)
    warnings = sum(check["state"] == "warning" for check in document["checks"])
    tail = f"; {warnings} warning{'s' if warnings > 1 else ''}" if warnings else ""
    if document["verdict"] == PROMOTE_AWAITING:
        return f"Promote, awaiting reviewer: all {len(checks)} checks hold{tail}"
    if document["missing_parts"]:
        return f"Refuse: the round lacks {', '.join(part.replace('_', ' ') for part in document['missing_parts'])}{tail}"
    if not failing:
        return f"Refuse: a required number is undefined{tail}; reviewer open"
    return f"Refuse: {failing} of {len(checks)} checks {'fails' if failing == 1 else 'fail'}{tail}; reviewer open"
