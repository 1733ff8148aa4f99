"""A judge beside others: the judges of its round on the same cases, and itself in earlier rounds.

Cases are the same when their id is, and their texts are as far as both sides hold any: a reworded case under an old id would
pass for a changed judge. Cases that fail this are counted and named, and compared with nothing.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.canonical import file_digest
from core.errors import DigestMismatch, RoundError, Where
from core.gates.judge_cases import ContentVerdict, Verdicts, content_verdicts
from core.gates.judge_parts import EvidenceRules, Part
from core.rounds.folder import Round
from core.rounds.manifest import Judge, RoundManifest
from core.rounds.workspace import Workspace
from core.settings import SETTINGS
from core.statistics.agreement import Confusion
from core.statistics.drift import JudgeDrift, judge_drift
from core.statistics.kappa_intervals import KappaEstimate, kappa_estimate
from core.statistics.multi_rater import MultiRaterAgreement, fleiss_kappa, krippendorff_alpha
from core.statistics.result import Result

_ROUNDS: int = SETTINGS["display"]["trend_rounds"]
_RECORDS = "judge_records.parquet"


@dataclass(frozen=True, slots=True)
class PeerAgreement(Result):
    """This judge against another one on the ``kappa.n`` cases where both have a verdict; ``reworded``: cases of one id whose
    texts differ."""

    judge_id: str
    reworded: int
    kappa: KappaEstimate


@dataclass(frozen=True, slots=True)
class JudgesTogether(Result):
    """The judges that saw cases of this one, as raters; the verifier is none of them. ``raters`` begins with this judge.

    ``alpha`` uses every case that two of them judged, ``fleiss`` the cases that all of them did.
    """

    raters: tuple[str, ...]
    cases: int
    alpha: MultiRaterAgreement
    fleiss: Part[MultiRaterAgreement]
    pairs: tuple[PeerAgreement, ...]


def judges_together(verdicts: Mapping[str, Verdicts], judge_id: str, rules: EvidenceRules) -> Part[JudgesTogether]:
    """Agreement of the judges of one round on the cases of ``judge_id``. ``verdicts``: ``content_verdicts`` of the round."""
    own = verdicts.get(judge_id, {})
    others = sorted(name for name, theirs in verdicts.items() if name != judge_id and not own.keys().isdisjoint(theirs))
    columns = {name: [_same(verdicts[name].get(case), record) for case, record in own.items()] for name in (judge_id, *others)}
    raters = [name for name in others if any(None not in pair for pair in zip(columns[judge_id], columns[name], strict=True))]
    if not raters:
        return Part(None, "not supplied: needs another judge with verdicts on the same cases")
    names = (judge_id, *raters)
    rows = [columns[name] for name in names]
    pairs = tuple(PeerAgreement(name, _reworded(own, verdicts[name]), _kappa(columns[judge_id], columns[name], rules)) for name in raters)
    return Part(JudgesTogether(names, len(own), krippendorff_alpha(rows), _fleiss(rows), pairs))


def _same(theirs: ContentVerdict | None, own: ContentVerdict) -> bool | None:
    """The verdict on this very case, or None."""
    return theirs.approved if theirs is not None and theirs.same_case(own) else None


def _reworded(own: Verdicts, theirs: Verdicts) -> int:
    return sum(not theirs[case].same_case(record) for case, record in own.items() if case in theirs)


def _kappa(one: Sequence[bool | None], other: Sequence[bool | None], rules: EvidenceRules) -> KappaEstimate:
    pairs = [pair for pair in zip(one, other, strict=True) if None not in pair]
    table = Confusion(pairs.count((True, True)), pairs.count((True, False)), pairs.count((False, True)), pairs.count((False, False)))
    return kappa_estimate(table, rules.confidence)


def _fleiss(rows: Sequence[Sequence[bool | None]]) -> Part[MultiRaterAgreement]:
    complete = [unit for unit in zip(*rows, strict=True) if None not in unit]
    try:
        return Part(fleiss_kappa([[unit.count(True), unit.count(False)] for unit in complete]))
    except RoundError:
        return Part(None, "undefined: no case has a verdict of every one of these judges")


@dataclass(frozen=True, slots=True)
class EarlierRound(Result):
    """One judge in an earlier round and in this one.

    ``changes``: what its two descriptions differ in, or None where a round says nothing about it; ``reworded``: cases whose
    texts differ, left out; ``by_text``: whether any case could be compared by its texts, not by its id alone.
    """

    round_id: str
    round_digest: str
    created_at: str
    changes: tuple[str, ...] | None
    reworded: tuple[str, ...]
    by_text: bool
    drift: JudgeDrift


@dataclass(frozen=True, slots=True)
class JudgeHistory(Result):
    """A judge over the rounds of a workspace, the latest earlier one first; ``broken``: ids of earlier rounds whose judge
    records are not those that were ingested; ``unread``: still older rounds with judge records, not looked at."""

    rounds: tuple[EarlierRound, ...]
    broken: tuple[str, ...]
    unread: int


def earlier_rounds(workspace: Workspace, source: Round) -> tuple[list[RoundManifest], int]:
    """The latest earlier rounds that have judge records, newest first, and how many older ones were left out."""
    mine = source.manifest.created, source.digest
    earlier = [
        manifest for manifest in workspace.rounds() if (manifest.created, manifest.digest) < mine and "judge_records" in manifest.parts
    ]
    return earlier[:_ROUNDS], max(len(earlier) - _ROUNDS, 0)


def judge_history(workspace: Workspace, source: Round, judge_id: str, rules: EvidenceRules) -> JudgeHistory:
    """What became of the judge's verdicts on cases that earlier rounds hold too."""
    manifests, unread = earlier_rounds(workspace, source)
    after = content_verdicts(source, [judge_id]).get(judge_id, {})
    found, broken = [], []
    for manifest in manifests:
        try:
            before = _verdicts_before(Round(workspace.round_path(manifest.digest), manifest, manifest.digest), judge_id)
        except DigestMismatch:
            broken.append(manifest.round_id)
            continue
        if before is not None:
            found.append(_earlier(manifest, source.manifest, judge_id, before, after, rules))
    return JudgeHistory(tuple(found), tuple(broken), unread)


def _verdicts_before(other: Round, judge_id: str) -> Verdicts | None:
    """What an earlier round holds of the judge. DigestMismatch where its records changed since: nobody assessed them again."""
    file = other.path / _RECORDS
    if not file.is_file() or file_digest(file) != other.manifest.files[_RECORDS].sha256:
        raise DigestMismatch(
            "file_changed", expected="the judge records that were ingested", got="others", remedy="run countersign round check on that round",
            where=Where(_RECORDS),
        )
    return content_verdicts(other, [judge_id]).get(judge_id)


def _earlier(
    before_of: RoundManifest, after_of: RoundManifest, judge_id: str, before: Verdicts, after: Verdicts, rules: EvidenceRules,
) -> EarlierRound:
    reworded = {case for case, record in after.items() if case in before and not before[case].same_case(record)}
    first, second = ({case: record for case, record in side.items() if case not in reworded} for side in (before, after))
    by_text = any(record.content is not None and after[case].content is not None for case, record in before.items() if case in after)
    drift = judge_drift(
        _approved(first), _approved(second), passed_before=_passed(first), passed_after=_passed(second), confidence=rules.confidence,
    )
    changes = description_changes(before_of.judges.get(judge_id), after_of.judges.get(judge_id))
    return EarlierRound(before_of.round_id, before_of.digest, before_of.created_at, changes, tuple(sorted(reworded)), by_text, drift)


def _approved(verdicts: Verdicts) -> dict[str, bool | None]:
    return {case: record.approved for case, record in verdicts.items()}


def _passed(verdicts: Verdicts) -> dict[str, bool | None]:
    return {case: record.passed for case, record in verdicts.items()}


def description_changes(before: Judge | None, after: Judge | None) -> tuple[str, ...] | None:
    """What two descriptions of a judge differ in, each as words; None where one of them is missing."""
    if before is None or after is None:
        return None
    said = [
        f"{name} {first or 'not stated'} became {second or 'not stated'}"
        for name, first, second in (("name", before.name, after.name), ("version", before.version, after.version)) if first != second
    ]
    return (*said, *(["the rubric changed"] if (before.rubric, before.rubric_sha256) != (after.rubric, after.rubric_sha256) else []))
