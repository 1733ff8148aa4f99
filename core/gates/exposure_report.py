"""What earlier looks at a holdout cost: how often its items were seen, the error budget, and what picking the best adds by luck.

It speaks about other rounds of this workspace, as the record stands now; so it goes into a statement's ``coverage`` as it was
seen and is never computed again. It decides nothing.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from core.gates.exposure import Look, exposure_before, look_at
from core.gates.exposure_file import LookBook, LookRecord, read_looks
from core.gates.figures import significant
from core.grid import Grid
from core.rounds.folder import Round
from core.rounds.workspace import Workspace
from core.settings import SETTINGS
from core.statistics.ratio import decimal_text, percent_text
from core.statistics.reuse import Exposure, ladder, transcript_bound, winners_curse
from core.statistics.spending import AlphaBudget, alpha_budget
from core.statistics.verdict import points_text

NO_OUTCOMES: Final = "no outcomes on a holdout"
NOT_DECIDED: Final = "this round was not decided here yet"
KEY_OFF: Final = "the grid sets no {key}"
UNFIT_OUTCOMES: Final = "its outcomes do not fit its holdout"
_ALL_OR_NOTHING: Final = "the baseline passes {which} of the items"
_NAMED: Final[int] = SETTINGS["display"]["page_rows"]
_SPENDING: Final = "bonferroni"
"""How the budget is spent: the same share a look, which needs no order of the looks to be known beforehand."""


@dataclass(frozen=True, slots=True)
class EarlierLook:
    """An earlier round on some of the same items. ``shared``: how many of this suite's."""

    round_id: str
    round_digest: str
    verdict: str
    shared: int

    def as_dict(self) -> dict[str, object]:
        return {"round_id": self.round_id, "round_digest": self.round_digest, "verdict": self.verdict, "shared": self.shared}


@dataclass(frozen=True, slots=True)
class LadderNote:
    """Whether this round's result counts as better than the best earlier one on exactly these items (Blum & Hardt's Ladder).

    Rates are pass rates of the candidates. ``board``: the best that was released before, in steps; None for the first look.
    """

    accepted: bool | None
    board: Fraction | None
    rate: Fraction | None
    step: Fraction | None
    undefined: str | None = None

    @property
    def sentence(self) -> str:
        """What it says, as one sentence."""
        if self.rate is None or self.step is None:
            return f"Ladder: {self.undefined}."
        if self.board is None:
            return f"Ladder: {percent_text(self.rate)} is the first result on exactly these items."
        beside = f"{percent_text(self.rate)} against {percent_text(self.board)} released before, step {percent_text(self.step)}"
        return f"Ladder: {'an improvement' if self.accepted else 'no improvement that counts'} ({beside})."

    def as_dict(self) -> dict[str, object]:
        return {
            "accepted": self.accepted, "board": significant(self.board), "rate": significant(self.rate), "step": significant(self.step),
            "undefined": self.undefined,
        }


@dataclass(frozen=True, slots=True)
class HoldoutExposure:
    """Looks at the items of one round's holdout. ``look`` is the number of this one (from 1), ``seen`` what came before it,
    ``later`` how many rounds looked at some of the items since. ``lines`` and ``record_sha256`` name the record as it was read.

    ``best_by_luck``: what the best of ``look`` equally good candidates would show over their true rate. ``whole_scores`` and
    ``verdict_only``: how far released results may lie from the truth after so many looks. None where undefined, with a reason.
    """

    items: int
    look: int
    seen: Exposure | None
    earlier: tuple[EarlierLook, ...]
    later: int
    decided: bool
    budget: AlphaBudget | None
    no_budget: str | None
    ladder: LadderNote
    best_by_luck: float | None
    no_luck: str | None
    whole_scores: float | None
    verdict_only: float | None
    lines: int
    record_sha256: str
    undefined: str | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reviewer should know, one sentence a line."""
        if self.seen is None:
            return (f"Holdout exposure: {self.undefined}.",)
        return (self._looks(), *self._spent(), self.ladder.sentence, *self._luck())

    def _looks(self) -> str:
        assert self.seen is not None
        if not self.seen.looks:
            return f"None of the {self.items:,} holdout items was looked at before in this workspace."
        rounds = f"{self.seen.looks:,} earlier round{'' if self.seen.looks == 1 else 's'}"
        most, fresh = self.seen.largest_overlap.numerator, f"{self.seen.fresh:,} were never seen" if self.seen.fresh else "none is fresh"
        return f"{rounds} looked at these holdout items (at up to {most:,} of the {self.items:,} at once; {fresh}): this is look {self.look:,}."

    def _spent(self) -> list[str]:
        budget = self.budget
        if budget is None:
            return [f"Error budget: {self.no_budget}."]
        alpha = decimal_text(budget.alpha)
        if budget.exhausted:
            return [f"Error budget: all of {alpha} was spent by look {budget.planned:,}; nothing is left for this one."]
        spent, now = (decimal_text(Fraction(repr(share))) for share in (budget.spent, budget.now))
        return [f"Error budget: this look may use {now}; with it {spent} of {alpha} is spent (look {budget.look:,} of {budget.planned:,} planned)."]

    def _luck(self) -> list[str]:
        if self.best_by_luck is None or self.look == 1:
            return []
        luck = points_text(self.best_by_luck)
        return [f"By luck alone the best of {self.look:,} equally good candidates would look {luck} points better than it is."]

    def as_dict(self) -> dict[str, Any]:
        """JSON members, as ``coverage.exposure`` of a statement holds them."""
        seen, budget = self.seen, self.budget
        return {
            "items": self.items, "look": self.look, "decided": self.decided, "later": self.later,
            "looks": 0 if seen is None else seen.looks, "full": 0 if seen is None else seen.full, "fresh": self.items if seen is None else seen.fresh,
            "most_used": 0 if seen is None else seen.most_used, "largest_overlap": None if seen is None else significant(seen.largest_overlap.value),
            "earlier": [look.as_dict() for look in self.earlier],
            "budget": None if budget is None else {
                "rule": budget.rule, "alpha": significant(budget.alpha), "planned": budget.planned, "look": budget.look,
                "spent": significant(budget.spent), "now": significant(budget.now), "left": significant(budget.left), "exhausted": budget.exhausted,
            },
            "no_budget": self.no_budget, "ladder": self.ladder.as_dict(), "best_by_luck": significant(self.best_by_luck), "no_luck": self.no_luck,
            "whole_scores": significant(self.whole_scores), "verdict_only": significant(self.verdict_only),
            "record": {"lines": self.lines, "sha256": self.record_sha256}, "undefined": self.undefined, "sentences": list(self.sentences),
        }


def exposure_of(workspace: Workspace, source: Round, grid: Grid) -> HoldoutExposure:
    """Earlier looks at the items of a round's holdout, as the workspace's record stands now. Reading is no look.

    Items are told by content, so a rename, another order or a dropped item is still reuse; refused rounds count. Raises
    LedgerFormatError for a broken record.
    """
    book = read_looks(workspace)
    if not (source.has("holdout") and source.has("outcomes")):
        return _nothing(book)
    look = look_at(source.holdout_items(), round_digest=source.digest, grid_digest=grid.digest)
    place = book.place_of(source.digest)
    end = book.size if place is None else place
    before, own = _first_of_each(book.records[:end]), None if place is None else book.records[place]
    seen = exposure_before([record.look for record in before], look)
    number = seen.looks + 1
    after = [record.look for record in book.records[end:]]
    budget, no_budget = _budget(grid, number)
    best, no_luck = _luck(own, number)
    scores, verdicts = _transcript(grid, len(look.items), number)
    return HoldoutExposure(
        len(look.items), number, seen, _named(before, look), exposure_before(after, look).looks, own is not None, budget, no_budget,
        _ladder(before, own, look, grid), best, no_luck, scores, verdicts, book.size, book.digest,
    )


def _nothing(book: LookBook) -> HoldoutExposure:
    note = LadderNote(None, None, None, None, NO_OUTCOMES)
    return HoldoutExposure(0, 0, None, (), 0, False, None, NO_OUTCOMES, note, None, NO_OUTCOMES, None, None, book.size, book.digest, NO_OUTCOMES)


def _first_of_each(records: Sequence[LookRecord]) -> list[LookRecord]:
    """One record a round, its first: the same round under another grid shows the same outcomes."""
    return list({record.look.round_digest: record for record in reversed(records)}.values())[::-1]


def _named(before: Sequence[LookRecord], look: Look) -> tuple[EarlierLook, ...]:
    """The latest earlier looks that share an item, oldest first."""
    items = frozenset(look.items)
    shared = [EarlierLook(record.round_id, record.look.round_digest, record.verdict, len(items & frozenset(record.look.items))) for record in before]
    return tuple([earlier for earlier in shared if earlier.shared][-_NAMED:])


def _budget(grid: Grid, look: int) -> tuple[AlphaBudget | None, str | None]:
    for key in ("look_alpha", "planned_looks"):
        if key not in grid:
            return None, KEY_OFF.format(key=key)
    return alpha_budget(_SPENDING, grid.fraction("look_alpha"), look, grid.integer("planned_looks")), None


def _luck(own: LookRecord | None, look: int) -> tuple[float | None, str | None]:
    if own is None or own.flips is None:
        return None, NOT_DECIDED if own is None else UNFIT_OUTCOMES
    rate = own.flips.baseline
    if rate.numerator in (0, rate.denominator):
        return None, _ALL_OR_NOTHING.format(which="all" if rate.numerator else "none")
    return winners_curse(rate.denominator, Fraction(rate.numerator, rate.denominator), look), None


def _transcript(grid: Grid, items: int, looks: int) -> tuple[float | None, float | None]:
    if "look_alpha" not in grid:
        return None, None
    delta = grid.fraction("look_alpha")
    return transcript_bound(items, looks, delta).bound, transcript_bound(items, looks, delta, bits=1).bound


def _ladder(before: Sequence[LookRecord], own: LookRecord | None, look: Look, grid: Grid) -> LadderNote:
    if "ladder_step" not in grid:
        return LadderNote(None, None, None, None, KEY_OFF.format(key="ladder_step"))
    if own is None or own.flips is None:
        return LadderNote(None, None, None, None, NOT_DECIDED if own is None else UNFIT_OUTCOMES)
    step, rate = grid.fraction("ladder_step"), _rate(own)
    same = [record for record in before if record.look.items == look.items and record.flips is not None and record.flips.n == own.flips.n]
    steps = ladder([1 - _rate(record) for record in (*same, own)], step)
    if not same:
        return LadderNote(None, None, rate, step)
    return LadderNote(steps[len(same)].accepted, 1 - steps[len(same) - 1].released, rate, step)


def _rate(record: LookRecord) -> Fraction:
    assert record.flips is not None
    return Fraction(record.flips.candidate.numerator, record.flips.candidate.denominator)
