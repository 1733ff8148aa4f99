"""Has a judge changed between two rounds? The same judge's verdicts on the same cases, paired.

Two approval rates of different case sets cannot tell a changed judge from changed cases, so only shared cases count. Key
the cases by content (case id and a digest of the text), or a reworded case passes for a changed judge.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.settings import SETTINGS
from core.statistics.agreement import Confusion
from core.statistics.inputs import ALPHA, CONFIDENCE, Level, booleans_of, level_of
from core.statistics.kappa_intervals import KappaEstimate, kappa_estimate
from core.statistics.probability import level_text
from core.statistics.ratio import Ratio, counted_ratio, decimal_text
from core.statistics.result import Result
from core.statistics.sign_test import SignTest, sign_test

Verdicts = Mapping[str, bool | None]
_DECIMALS: int = SETTINGS["statistics"]["decimals"]
NO_SHARED = "the two rounds share no case with a verdict in both"


@dataclass(frozen=True, slots=True)
class DriftAgainstVerifier(Result):
    """Flips judged by the verifier: ``corrected`` turned right, ``spoiled`` turned wrong.

    ``relabelled``: shared cases whose verifier verdict is missing or differs between the rounds; they count nowhere here.
    """

    n: int
    right_before: Ratio
    right_after: Ratio
    corrected: tuple[str, ...]
    spoiled: tuple[str, ...]
    relabelled: tuple[str, ...]
    test: SignTest


@dataclass(frozen=True, slots=True)
class JudgeDrift(Result):
    """One judge in an earlier and a later round.

    ``table`` counts shared cases: tp approved in both, fp approved later only, fn approved earlier only, tn in neither.
    ``test`` is McNemar's exact test on the flips; ``kappa`` the agreement of the judge with itself.
    """

    n: int
    table: Confusion
    unchanged: Ratio
    approved_before: Ratio
    approved_after: Ratio
    to_approved: tuple[str, ...]
    to_rejected: tuple[str, ...]
    no_verdict: tuple[str, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    test: SignTest
    kappa: KappaEstimate
    verifier: DriftAgainstVerifier | None
    undefined: str | None

    def verdict(self, alpha: Level = ALPHA) -> str:
        """One sentence: what flipped, and whether that is more than a fair coin would do."""
        if self.undefined is not None:
            return f"Not comparable: {self.undefined}."
        level, flips = level_of(alpha, name="alpha"), self.test.n
        kappa = f"kappa with itself {decimal_text(self.kappa.kappa.value, _DECIMALS)}" if self.kappa.kappa.value is not None else "kappa undefined"
        counts = (
            f"{flips:,} of {self.n:,} shared verdicts flipped ({kappa}), {self.test.first:,} to approved and {self.test.second:,} to rejected"
        )
        if not flips:
            return f"None of {self.n:,} shared verdicts flipped."
        if not self.test.can_show(level):
            return f"{counts}: no result on so few flips can reach p = {level_text(level)}."
        said = "more than chance explains" if self.test.shown(level) else "no lean to one side shown"
        return f"{counts}: {said} (exact {self.test.p.text(level)})."


def judge_drift(
    before: Verdicts, after: Verdicts, *, passed_before: Verdicts | None = None, passed_after: Verdicts | None = None, confidence: Level = CONFIDENCE,
) -> JudgeDrift:
    """Compare a judge's verdicts by case. None = no usable verdict; such cases are named and count nowhere.

    With the verifier's verdicts of both rounds, flips are also sorted into corrected and spoiled. Undefined (not
    comparable) without a shared case; nothing is computed from cases that are not shared. Raises RoundError
    ``non_boolean_verdict``.
    """
    for verdicts in (before, after):
        booleans_of(verdicts.values(), name="rubric_approved")
    shared = sorted(before.keys() & after.keys())
    lost = tuple(case for case in shared if before[case] is None or after[case] is None)
    used = [case for case in shared if before[case] is not None and after[case] is not None]
    to_approved, to_rejected = _flips(before, after, used)
    both = sum(bool(before[case] and after[case]) for case in used)
    table = Confusion(both, len(to_approved), len(to_rejected), len(used) - both - len(to_approved) - len(to_rejected))
    against = None if passed_before is None or passed_after is None else _against_verifier(before, after, passed_before, passed_after, used)
    return JudgeDrift(
        table.n, table, _share(table.tp + table.tn, table.n), _share(table.tp + table.fn, table.n), _share(table.tp + table.fp, table.n),
        to_approved, to_rejected, lost, tuple(sorted(before.keys() - after.keys())), tuple(sorted(after.keys() - before.keys())),
        sign_test(len(to_approved), len(to_rejected)), kappa_estimate(table, confidence), against, None if used else NO_SHARED,
    )


def _share(count: int, n: int) -> Ratio:
    return counted_ratio(count, n, undefined=NO_SHARED)


def _flips(before: Verdicts, after: Verdicts, cases: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Cases that became true, and cases that became false."""
    became_true = tuple(case for case in cases if after[case] and not before[case])
    return became_true, tuple(case for case in cases if before[case] and not after[case])


def _against_verifier(before: Verdicts, after: Verdicts, passed_before: Verdicts, passed_after: Verdicts, used: list[str]) -> DriftAgainstVerifier:
    labelled = [case for case in used if passed_before.get(case) is not None and passed_before.get(case) == passed_after.get(case)]
    kept = set(labelled)
    right_before = {case: before[case] == passed_before[case] for case in labelled}
    right_after = {case: after[case] == passed_after[case] for case in labelled}
    corrected, spoiled = _flips(right_before, right_after, labelled)
    return DriftAgainstVerifier(
        len(labelled), _share(sum(right_before.values()), len(labelled)), _share(sum(right_after.values()), len(labelled)), corrected, spoiled,
        tuple(case for case in used if case not in kept), sign_test(len(corrected), len(spoiled)),
    )
