"""Verdicts in two orders against gold labels, and what a missing answer counts as.

``excluded``: cases without an answer are left out and counted; what every page of ours does. ``counted_wrong``: a missing
answer is a wrong one. That is a convention of published figures (LLMBar), kept here to reproduce them, and "wrong" means
something else in each of them; every function says what. No gate uses it: there a missing verdict closes the gate.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from core.errors import RoundError
from core.statistics.agreement import NO_RECORDS, Confusion, cohen_kappa
from core.statistics.class_table import class_kappa, class_table
from core.statistics.inputs import booleans_of, equal_lengths
from core.statistics.ratio import Ratio, counted_ratio
from core.statistics.result import Result

MissingAnswer = Literal["excluded", "counted_wrong"]
Answers = Sequence[Hashable | None]
_NO_ANSWER = ("no answer",)
"""A class that no label equals: labels are texts or numbers."""


def confusion_of_answers(approved: Sequence[bool | None], passed: Sequence[bool], missing: MissingAnswer = "excluded") -> tuple[Confusion, int]:
    """The 2x2 table of a judge's answers, and how many were missing.

    ``counted_wrong`` puts a missing one where a wrong one would be: fn (passed) or fp (failed).

    Raises RoundError: ``lengths_differ``, ``missing_verdict`` (no label), ``non_boolean_verdict``.
    """
    equal_lengths(approved=len(approved), passed=len(passed))
    if None in passed:
        raise RoundError("missing_verdict", expected="a label for every case", got="none", remedy="leave out cases without a label, and say how many")
    booleans_of(approved, name="approved")
    booleans_of(passed, name="passed")
    counts = Counter(zip(approved, passed, strict=True))
    wrong = (counts[None, True], counts[None, False]) if missing == "counted_wrong" else (0, 0)
    table = Confusion(counts[True, True], counts[True, False] + wrong[1], counts[False, True] + wrong[0], counts[False, False])
    return table, counts[None, True] + counts[None, False]


def answer_kappa(answers: Answers, labels: Sequence[Hashable], missing: MissingAnswer = "excluded") -> tuple[Ratio, int]:
    """Kappa of a judge's answers against the labels, and how many answers were missing.

    ``counted_wrong``: no answer is a class of its own, which no label ever is. Raises RoundError ``lengths_differ``.
    """
    equal_lengths(answers=len(answers), labels=len(labels))
    lost = sum(answer is None for answer in answers)
    cases = [(answer, label) for answer, label in zip(answers, labels, strict=True) if missing == "counted_wrong" or answer is not None]
    table = class_table([_NO_ANSWER if answer is None else answer for answer, _ in cases], [label for _, label in cases])
    return class_kappa(table), lost


@dataclass(frozen=True, slots=True)
class OrderFigures(Result):
    """A pairwise judge in both orders.

    ``correct_*``: answers equal to the label; ``correct_average``: over both orders together; ``equal``: the same answer
    in both orders; ``kappa``: agreement of the two orders on "names ``positive``", beyond chance. ``missing_*`` answers
    were treated as ``missing`` says.
    """

    n: int
    missing: MissingAnswer
    missing_as_shown: int
    missing_swapped: int
    correct_as_shown: Ratio
    correct_swapped: Ratio
    correct_both: Ratio
    correct_average: Ratio
    equal: Ratio
    kappa: Ratio


def order_figures(
    as_shown: Answers, swapped: Answers, labels: Sequence[Hashable], *, positive: Hashable, missing: MissingAnswer = "excluded",
) -> OrderFigures:
    """Accuracy and order agreement of a judge that picks a side. All answers in the original numbering, None = missing.

    ``excluded`` uses the cases with both answers. ``counted_wrong`` keeps all: a missing answer is not the label, equals
    only another missing answer, and does not name ``positive``. Raises RoundError ``lengths_differ``.
    Source of the figures: Zeng et al. 2024, LLMBar, arXiv:2310.07641.
    """
    equal_lengths(as_shown=len(as_shown), swapped=len(swapped), labels=len(labels))
    cases = list(zip(as_shown, swapped, labels, strict=True))
    lost = sum(one is None for one, _, _ in cases), sum(other is None for _, other, _ in cases)
    if missing == "excluded":
        cases = [case for case in cases if case[0] is not None and case[1] is not None]
    n, first, second = len(cases), sum(one == label for one, _, label in cases), sum(other == label for _, other, label in cases)
    both, equal = sum(one == other == label for one, other, label in cases), sum(one == other for one, other, _ in cases)
    named = Counter((one == positive, other == positive) for one, other, _ in cases)
    table = Confusion(named[True, True], named[True, False], named[False, True], named[False, False])
    return OrderFigures(
        n, missing, *lost, correct_as_shown=_share(first, n), correct_swapped=_share(second, n), correct_both=_share(both, n),
        correct_average=_share(first + second, 2 * n), equal=_share(equal, n), kappa=cohen_kappa(table),
    )


def _share(count: int, n: int) -> Ratio:
    return counted_ratio(count, n, undefined=NO_RECORDS)
