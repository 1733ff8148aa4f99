"""All behaviours of two versions side by side, and one behaviour over many versions.

One primary behaviour is tested as it is. The behaviours that must not regress are adjusted among themselves (Holm), the
rest among themselves for exploration (Benjamini-Hochberg): looking at twenty figures finds one that moved by luck.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from core.errors import RoundError, Where
from core.gates.behaviours import BehaviourClaim, ClaimPolicy, ClaimState, Grader, Measurement, claim
from core.statistics.arms import ArmRuns
from core.statistics.multiple import benjamini_hochberg, holm
from core.statistics.noise import NoiseBand
from core.statistics.probability import Probability, counted
from core.statistics.rate_intervals import RateEstimate, rate_estimate
from core.statistics.result import Result
from core.statistics.verdict import Standing, points_text, standing_of

Role = Literal["primary", "guarded", "explored"]
BY_PROGRAM = Grader("program")
_UNPROVEN: Final = "unproven: "
_COLUMNS: Final = ("behaviour", "version", "test_version", "judge_id", "item_id", "run", "passed", "contaminated", "gave_reward")
_Key = tuple[str, str, str, str | None]


class _Outcome(NamedTuple):
    item: str
    run: int
    passed: bool | None
    contaminated: bool | None
    gave_reward: bool


def measurements_of(
    rows: pa.Table, *, graders: Mapping[str, Grader], contamination: Mapping[tuple[str, str], int] | None = None,
) -> tuple[Measurement, ...]:
    """Measurements from BEHAVIOURS rows, in order of behaviour, version, test and judge.

    ``graders``: what is known of each judge; one that is not named there is a model whose agreement nobody measured.
    ``contamination``: (behaviour, version) -> test items found in the training data; where absent, what the rows say in
    ``contaminated``, if they do. ``gave_reward`` of a row adds to what is known of its grader. Raises RoundError
    ``duplicate_outcome`` for two outcomes of one item and run.
    """
    groups: dict[_Key, list[_Outcome]] = {}
    for *key, item, run, passed, contaminated, reward in zip(*(_values(rows, name) for name in _COLUMNS), strict=True):
        behaviour, version, test, judge = key
        groups.setdefault((behaviour, version, test, judge), []).append(_Outcome(item, run, passed, contaminated, bool(reward)))
    found = contamination or {}
    ordered = sorted(groups, key=lambda key: (*key[:-1], key[-1] or ""))
    return tuple(_measurement(key, groups[key], graders, found.get((key[0], key[1]))) for key in ordered)


def _values(rows: pa.Table, name: str) -> list[Any]:
    return rows[name].to_pylist() if name in rows.column_names else [None] * rows.num_rows


def _measurement(key: _Key, outcomes: Sequence[_Outcome], graders: Mapping[str, Grader], contamination: int | None) -> Measurement:
    behaviour, version, test, judge = key
    items = tuple(sorted({one.item for one in outcomes}))
    place = {item: i for i, item in enumerate(items)}
    graded = [(place[one.item], one.run, one.passed) for one in outcomes if one.passed is not None]
    item, run, passed = zip(*graded, strict=True) if graded else ((), (), ())
    runs = ArmRuns(len(items), np.array(item, dtype=np.int64), np.array(run, dtype=np.int64), np.array(passed, dtype=np.bool_))
    grader = BY_PROGRAM if judge is None else graders.get(judge, Grader("model", judge))
    if any(one.gave_reward for one in outcomes):
        grader = replace(grader, gave_reward=True)
    known = _contamination(outcomes) if contamination is None else contamination
    return Measurement(behaviour, version, test, grader, items, runs, len(outcomes), contamination=known)


def _contamination(outcomes: Sequence[_Outcome]) -> int | None:
    """Items found in the training data; None where none was found and some were not looked for."""
    found = len({one.item for one in outcomes if one.contaminated})
    return None if not found and any(one.contaminated is None for one in outcomes) else found


@dataclass(frozen=True, slots=True)
class BehaviourRow(Result):
    """One behaviour of a comparison. ``adjusted``: its p-value among the others of its role (None for the primary and where
    there is no test); ``standing`` is the verdict word under it.
    """

    role: Role
    claim: BehaviourClaim
    p: Probability | None
    adjusted: Fraction | None
    standing: Standing

    @property
    def proven(self) -> bool:
        """Whether the claim has no gap and stands after the correction too."""
        return self.claim.proven and self.standing is not Standing.NOT_SHOWN

    @property
    def sentence(self) -> str:
        """The claim; where the correction takes away what the behaviour alone would show, that is a gap as well."""
        said, alone = self.claim.sentence, self.claim.state in (ClaimState.BEATS, ClaimState.TRAILS)
        if self.adjusted is None or not alone or self.standing is not Standing.NOT_SHOWN:
            return said
        correction = "Holm" if self.role == "guarded" else "Benjamini-Hochberg"
        prefix = "" if said.startswith(_UNPROVEN) else _UNPROVEN
        return f"{prefix}{said}; corrected for the other behaviours ({correction}) {counted(self.adjusted).text()}: not shown"


@dataclass(frozen=True, slots=True)
class VersionComparison(Result):
    """A served version and a candidate over all behaviours. ``fell``: behaviours other than the primary whose figure went
    down, shown or not; ``regressed``: guarded ones that are shown worse. ``sentence`` says the primary claim and what fell; without a
    primary it counts what is shown.
    """

    served: str
    candidate: str | None
    rows: tuple[BehaviourRow, ...]
    fell: tuple[str, ...]
    regressed: tuple[str, ...]
    sentence: str


def compare_versions(
    measurements: Sequence[Measurement], served: str, candidate: str | None, *, primary: str | None, guarded: Sequence[str], policy: ClaimPolicy,
    bands: Mapping[str, NoiseBand] | None = None, repeated_on: Mapping[str, Sequence[str]] | None = None,
) -> VersionComparison:
    """Compare two versions on every behaviour that either was measured on, and on those named.

    ``primary``: what was named beforehand, None where nothing was. ``bands``: re-run bands measured elsewhere, by behaviour;
    ``repeated_on``: other tests that showed the same. Raises RoundError ``ambiguous_measurement`` where a version has several
    measurements of a behaviour and none fits the other's.
    """
    names = {one.behaviour for one in measurements if one.version in (served, candidate)} | {*guarded, *(() if primary is None else (primary,))}
    claims = {}
    for name in sorted(names, key=lambda name: (name != primary, name not in guarded, name)):
        before, after = _pair_of([one for one in measurements if one.behaviour == name], served, candidate)
        band, repeated = (bands or {}).get(name), (repeated_on or {}).get(name, ())
        claims[name] = claim(name, served, candidate, before=before, after=after, policy=policy, band=band, repeated_on=repeated)
    roles: dict[str, Role] = {name: "primary" if name == primary else "guarded" if name in guarded else "explored" for name in claims}
    rows = tuple(_row(roles[name], one, adjusted, policy) for name, one, adjusted in _adjusted(claims, roles))
    fell = tuple(row.claim.behaviour for row in rows if row.role != "primary" and (row.claim.gain or 0) < 0)
    regressed = tuple(row.claim.behaviour for row in rows if row.role == "guarded" and row.standing is Standing.WORSE)
    said = _counts(rows, served, candidate) if primary is None else _sentence(rows, fell)
    return VersionComparison(served, candidate, rows, fell, regressed, said)


def _pair_of(found: Sequence[Measurement], served: str, candidate: str | None) -> tuple[Measurement | None, Measurement | None]:
    """The measurements to compare: by the same test and grader where both have one, else the only one of each."""
    before, after = ([one for one in found if one.version == version] for version in (served, candidate))
    keys = {(one.test_version, one.grader.judge_id): one for one in before}
    fitting = [(keys[key], one) for one in after if (key := (one.test_version, one.grader.judge_id)) in keys]
    if len(fitting) == 1:
        return fitting[0]
    if len(before) > 1 or len(after) > 1:
        raise RoundError(
            "ambiguous_measurement", expected="one pair of measurements by the same test and grader", got=f"{len(fitting)} of {found[0].behaviour}",
            remedy="name the test that counts, or give the others names of their own", where=Where(field="test_version"),
        )
    return (before[0] if before else None), (after[0] if after else None)


def _adjusted(claims: Mapping[str, BehaviourClaim], roles: Mapping[str, Role]) -> list[tuple[str, BehaviourClaim, Fraction | None]]:
    adjusted: dict[str, Fraction] = {}
    for role, method in (("guarded", holm), ("explored", benjamini_hochberg)):
        tested = {
            name: one.comparison.verdict.evidence.p.fraction for name, one in claims.items() if roles[name] == role and one.comparison is not None
        }
        adjusted |= dict(zip(tested, method(tested.values()), strict=True))
    return [(name, one, adjusted.get(name)) for name, one in claims.items()]


def _row(role: Role, one: BehaviourClaim, adjusted: Fraction | None, policy: ClaimPolicy) -> BehaviourRow:
    if one.comparison is None:
        return BehaviourRow(role, one, None, None, Standing.NOT_SHOWN)
    verdict = one.comparison.verdict
    if adjusted is None:
        return BehaviourRow(role, one, verdict.evidence.p, None, verdict.standing)
    held = replace(verdict.evidence, p=Probability(float(adjusted), adjusted))
    return BehaviourRow(role, one, verdict.evidence.p, adjusted, standing_of(held, policy.alpha, verdict.band, verdict.moved))


def _counts(rows: Sequence[BehaviourRow], served: str, candidate: str | None) -> str:
    """What is shown of all behaviours together, and how much of it is proven."""
    compared = [row for row in rows if row.claim.comparison is not None]
    said = [f"{word} on {count:,}" for word in Standing if (count := sum(row.standing is word for row in compared))]
    if len(compared) < len(rows):
        said.append(f"not compared on {len(rows) - len(compared):,}")
    many = f"{len(rows):,} behaviour{'' if len(rows) == 1 else 's'}"
    return f"{candidate or 'no version'} against {served} on {many}: {', '.join(said)}; proven on {sum(row.proven for row in rows):,}"


def _sentence(rows: Sequence[BehaviourRow], fell: Sequence[str]) -> str:
    by_name = {row.claim.behaviour: row for row in rows}
    if not fell:
        return rows[0].claim.sentence
    parts = []
    for name in fell:
        row = by_name[name]
        assert row.claim.gain is not None
        parts.append(f"{name} ({points_text(row.claim.gain)} points, {row.standing.value})")
    return f"{rows[0].claim.sentence}; {len(fell)} other behaviour{'' if len(fell) == 1 else 's'} fell: {', '.join(parts)}"


@dataclass(frozen=True, slots=True)
class HistoryPoint(Result):
    """One version in the history of a behaviour. ``change``: against the version before it under the same test and grader,
    refused where they differ; None for the first.
    """

    version: str
    test_version: str
    graded_by: str
    estimate: RateEstimate
    items: int
    contamination: int | None
    change: BehaviourClaim | None


def behaviour_history(
    measurements: Sequence[Measurement], behaviour: str, versions: Sequence[str], policy: ClaimPolicy, *, band: NoiseBand | None = None,
) -> tuple[HistoryPoint, ...]:
    """A behaviour over ``versions`` in the order given; a version may have several points, one a test and grader.
    ``band``: a re-run band measured elsewhere.

    The interval of a point is that of its graded outcomes where each item has one, and stays undefined where runs are nested:
    repeated runs of an item are no further items.
    """
    points: list[HistoryPoint] = []
    earlier: Measurement | None = None
    for version in versions:
        for one in (found for found in measurements if found.behaviour == behaviour and found.version == version):
            change = None
            if earlier is not None and earlier.version != version:
                change = claim(behaviour, earlier.version, version, before=earlier, after=one, policy=policy, band=band)
            points.append(HistoryPoint(version, one.test_version, one.grader.text, _estimate(one, policy), len(one.items), one.contamination, change))
            earlier = one
    return tuple(points)


def _estimate(one: Measurement, policy: ClaimPolicy) -> RateEstimate:
    nested = one.runs is not None and bool((one.runs.runs > 1).any())
    found = rate_estimate(one.rate, policy.confidence)
    if not nested:
        return found
    reason = "several runs an item: the outcomes are not independent"
    return replace(found, **{
        name: replace(getattr(found, name), lower=None, upper=None, undefined=reason) for name in ("wilson", "clopper_pearson")
    })
