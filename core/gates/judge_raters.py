"""How far the raters of a judge's cases agree among each other: the ceiling of what a judge can agree with.

Ratings are labels that people gave the cases (part ``ratings`` of a round). They feed no gate.
"""
from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from core.errors import RoundError
from core.gates.judge_cases import JudgeCases
from core.gates.judge_parts import Part
from core.rounds.folder import Round
from core.statistics.inputs import exact_score
from core.statistics.multi_rater import Metric, MultiRaterAgreement, fleiss_kappa, krippendorff_alpha
from core.statistics.result import Result


@dataclass(frozen=True, slots=True)
class RatersEvidence(Result):
    """Raters of the ``cases`` of a judge that have a rating. ``labels``: label -> how often it was given.

    ``alpha`` (nominal) uses every case with two ratings, ``ordinal`` does where all labels are numbers, ``fleiss`` uses the
    cases that all ``raters`` rated.
    """

    cases: int
    raters: int
    labels: Mapping[str, int]
    alpha: Part[MultiRaterAgreement]
    ordinal: Part[MultiRaterAgreement]
    fleiss: Part[MultiRaterAgreement]


def raters_agreement(source: Round, cases: JudgeCases) -> Part[RatersEvidence]:
    """Agreement of the raters on the cases of a judge, or of one slice of them."""
    if not source.has("ratings"):
        return Part(None, "not supplied: needs the part ratings (case_id, rater_id, label)")
    table = source.table("ratings", ("case_id", "rater_id", "label"))
    table = table.filter(pc.is_in(table["case_id"], cases.given["case_id"].combine_chunks()))
    if not table.num_rows:
        return Part(None, "not supplied: no rating is of a case of this judge")
    by_case: dict[str, list[str]] = {}
    labels: dict[str, int] = {}
    for case, label in zip(table["case_id"].to_pylist(), table["label"].to_pylist(), strict=True):
        by_case.setdefault(case, []).append(label)
        labels[label] = labels.get(label, 0) + 1
    ratings, raters = list(by_case.values()), len(pc.unique(table["rater_id"]))
    alpha, ordinal = _alpha(ratings, "nominal"), _ordinal(ratings, labels)
    return Part(RatersEvidence(len(by_case), raters, dict(sorted(labels.items())), alpha, ordinal, _fleiss(ratings, raters, sorted(labels))))


def _alpha(ratings: Sequence[Sequence[Hashable]], metric: Metric) -> Part[MultiRaterAgreement]:
    """Alpha needs to know which labels a case was given, not who gave them: rows of the most ratings that any case has."""
    most = max(map(len, ratings))
    rows = [[labels[place] if place < len(labels) else None for labels in ratings] for place in range(most)]
    try:
        return Part(krippendorff_alpha(rows, metric))
    except RoundError as fault:
        return Part(None, f"undefined: needs {fault.expected}")


def _ordinal(ratings: Sequence[Sequence[str]], labels: Mapping[str, int]) -> Part[MultiRaterAgreement]:
    try:
        # as numbers, so that 10 follows 9, and "7" and "7.0" are one grade
        grades = {label: exact_score(label) for label in labels}
    except RoundError:
        return Part(None, "not defined: the labels are no numbers")
    return _alpha([[grades[label] for label in case] for case in ratings], "ordinal")


def _fleiss(ratings: Sequence[Sequence[str]], raters: int, labels: Sequence[str]) -> Part[MultiRaterAgreement]:
    complete = [case for case in ratings if len(case) == raters]
    if raters == 1 or not complete:
        return Part(None, "undefined: needs two raters" if raters == 1 else "undefined: no case has a rating of every rater")
    return Part(fleiss_kappa([[case.count(label) for label in labels] for case in complete]))
