"""Does the judge look at where an answer stands, how long it is, or who wrote it?

Each bias is measured against verifier labels or against the judge's own verdict in the other order, so that quality is
not mistaken for bias: longer answers may well be better ones.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from core.errors import RoundError
from core.statistics.agreement import NO_FAILURES, NO_PASSES, Confusion, false_positive_rate, recall
from core.statistics.inputs import CONFIDENCE, Level, counts_of, equal_lengths
from core.statistics.rate_difference import RateDifference, rate_difference
from core.statistics.ratio import Ratio, counted_ratio
from core.statistics.result import Result
from core.statistics.sign_test import SignTest, sign_test

FIRST, SECOND, TIE = 1, 2, 0
"""A choice: answer 1, answer 2 (original numbering), neither."""
NO_USABLE = "no case has a usable verdict in both orders"
NO_SIDES = "no usable verdict names a side"
NO_LONGER_WRONG, NO_LONGER_RIGHT = "no case where the longer answer is wrong", "no case where the longer answer is right"
_CHOICES: Final = {FIRST: FIRST, SECOND: SECOND, TIE: TIE, str(FIRST): FIRST, str(SECOND): SECOND, "tie": TIE, None: None}


def choice_of(written: int | str | None) -> int | None:
    """A choice as written (1, 2, "1", "2", "tie", None) as FIRST, SECOND, TIE or None. Raises RoundError ``unknown_choice``."""
    if isinstance(written, bool) or written not in _CHOICES:
        raise RoundError("unknown_choice", expected='1, 2, "tie" or nothing', got=repr(written), remedy="map the judge's answers to these first")
    return _CHOICES[written]


@dataclass(frozen=True, slots=True)
class PositionBias(Result):
    """Verdicts on pairs shown in both orders.

    ``n`` = ``unusable`` (an order has no verdict) + ``consistent`` + ``follows_first_slot`` + ``follows_second_slot`` +
    ``half_ties`` (a tie in one order only). ``consistency`` and ``net_first_slot_bias`` are shares of the usable pairs,
    the net bias being (first - second) / usable; ``first_slot_share`` is the share of verdicts naming a side that name
    whatever stood first. ``test``: exact sign test on the two kinds of swap.
    """

    n: int
    unusable: int
    consistent: int
    follows_first_slot: int
    follows_second_slot: int
    half_ties: int
    consistency: Ratio
    net_first_slot_bias: Ratio
    first_slot_share: Ratio
    test: SignTest


def position_bias(as_shown: Sequence[int | str | None], swapped: Sequence[int | str | None]) -> PositionBias:
    """Position bias from the choices in the given order and with the two answers swapped, both in the original numbering.

    A judge that always says "the first" has consistency 0 and share 1; one that errs at random has a net bias near 0.
    Raises RoundError: ``no_swapped_pairs``, ``lengths_differ``, ``unknown_choice``.
    Sources: Zheng et al. 2023, arXiv:2306.05685; Shi et al. 2024, arXiv:2406.07791.
    """
    n = equal_lengths(as_shown=len(as_shown), swapped=len(swapped))
    if n == 0:
        raise RoundError(
            "no_swapped_pairs", expected="cases judged in both orders", got="none", remedy="supply rows with order_swapped true for the same cases",
        )
    pairs = Counter({(choice_of(one), choice_of(other)): 0 for one, other in set(zip(as_shown, swapped, strict=True))})
    for (one, other), count in Counter(zip(as_shown, swapped, strict=True)).items():
        pairs[choice_of(one), choice_of(other)] += count
    unusable = sum(count for pair, count in pairs.items() if None in pair)
    consistent = pairs[FIRST, FIRST] + pairs[SECOND, SECOND] + pairs[TIE, TIE]
    first, second, usable = pairs[FIRST, SECOND], pairs[SECOND, FIRST], n - unusable
    # in the given order answer 1 stands first, in the swapped order answer 2
    usable_pairs = [(pair, count) for pair, count in pairs.items() if None not in pair]
    sides = sum(count * ((one != TIE) + (other != TIE)) for (one, other), count in usable_pairs)
    named_first = sum(count * ((one == FIRST) + (other == SECOND)) for (one, other), count in usable_pairs)
    return PositionBias(
        n, unusable, consistent, first, second, usable - consistent - first - second, counted_ratio(consistent, usable, undefined=NO_USABLE),
        counted_ratio(first - second, usable, undefined=NO_USABLE),
        counted_ratio(named_first, sides, undefined=NO_SIDES if usable else NO_USABLE), sign_test(first, second),
    )


@dataclass(frozen=True, slots=True)
class LengthCounts(Result):
    """Cases by which answer is right and which the judge picked. ``left_out``: equal lengths, ties, no verdict."""

    longer_wrong_picked_longer: int
    longer_wrong_picked_shorter: int
    longer_right_picked_longer: int
    longer_right_picked_shorter: int
    left_out: int = 0

    def __post_init__(self) -> None:
        counts_of(
            longer_wrong_picked_longer=self.longer_wrong_picked_longer, longer_wrong_picked_shorter=self.longer_wrong_picked_shorter,
            longer_right_picked_longer=self.longer_right_picked_longer, longer_right_picked_shorter=self.longer_right_picked_shorter,
            left_out=self.left_out,
        )


def length_counts(
    picked: Sequence[int | str | None], right: Sequence[int], lengths: Sequence[tuple[int, int]],
) -> LengthCounts:
    """Count cases: ``picked`` and ``right`` name an answer (1 or 2), ``lengths`` are those of answers 1 and 2.

    Cases with answers of one length, a tie or no verdict are left out and counted. Raises RoundError ``lengths_differ``,
    ``unknown_choice``.
    """
    equal_lengths(picked=len(picked), right=len(right), lengths=len(lengths))
    found: Counter[tuple[bool, bool] | None] = Counter()
    for said, truth, (one, two) in zip(map(choice_of, picked), map(choice_of, right), lengths, strict=True):
        longer = FIRST if one > two else SECOND
        usable = one != two and said in (FIRST, SECOND) and truth in (FIRST, SECOND)
        found[(truth == longer, said == longer) if usable else None] += 1
    return LengthCounts(found[False, True], found[False, False], found[True, True], found[True, False], found[None])


@dataclass(frozen=True, slots=True)
class LengthBias(Result):
    """``gap`` = P(picks longer | longer is wrong) - P(picks shorter | shorter is wrong): its two rates, value and interval."""

    counts: LengthCounts
    gap: RateDifference


def length_bias(counts: LengthCounts, confidence: Level = CONFIDENCE) -> LengthBias:
    """How much more often the judge errs towards the longer answer than towards the shorter one.

    A plain share of longer answers picked would confuse bias with quality. Undefined when one of the two kinds of case
    is missing. Source: Zheng et al. 2023, arXiv:2306.05685 (verbosity bias).

    >>> length_bias(LengthCounts(6, 14, 27, 3)).gap.value       # 6/20 - 3/30
    Fraction(1, 5)
    """
    towards_longer = counted_ratio(
        counts.longer_wrong_picked_longer, counts.longer_wrong_picked_longer + counts.longer_wrong_picked_shorter, undefined=NO_LONGER_WRONG,
    )
    towards_shorter = counted_ratio(
        counts.longer_right_picked_shorter, counts.longer_right_picked_longer + counts.longer_right_picked_shorter, undefined=NO_LONGER_RIGHT,
    )
    return LengthBias(counts, rate_difference(towards_longer, towards_shorter, confidence))


@dataclass(frozen=True, slots=True)
class SelfPreference(Result):
    """Gaps between the judge's verdicts on its own outputs and on others': false-positive approvals, and true approvals."""

    own: Confusion
    other: Confusion
    fpr_gap: RateDifference
    tpr_gap: RateDifference


def self_preference(own: Confusion, other: Confusion, confidence: Level = CONFIDENCE) -> SelfPreference:
    """FPR(own) - FPR(others), and the same for the true-positive rate, with Newcombe intervals.

    Each gap is undefined on its own where one group lacks the cases it needs.
    Sources: Panickssery et al. 2024, arXiv:2404.13076; Wataoka et al. 2024, arXiv:2410.21819.
    """
    return SelfPreference(
        own, other, _gap(false_positive_rate(own), false_positive_rate(other), NO_FAILURES, confidence),
        _gap(recall(own), recall(other), NO_PASSES, confidence),
    )


def _gap(own: Ratio, other: Ratio, reason: str, confidence: Level) -> RateDifference:
    """The difference, saying whose outputs lack the cases."""
    mine, theirs = (
        rate if rate.undefined is None else Ratio(rate.numerator, rate.denominator, f"{reason} among {whose} outputs")
        for rate, whose in ((own, "the judge's own"), (other, "others'"))
    )
    return rate_difference(mine, theirs, confidence)
