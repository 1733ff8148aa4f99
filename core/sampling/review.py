"""One person's sample of the admitted pairs of one assessment: draw it, judge it pair by pair, end it.

Rules, all held under the lock of the person's file:

1.  One sample for each list of admitted pairs and grid: a second start returns the first, so nobody draws seeds until one
    pleases. How many seeds a person has drawn for a round, under other lists or grids, is part of the result.
2.  Pairs are judged in the drawn order. A label for a pair that has one already changes nothing: a double click labels once.
3.  The last label may be taken back until the person ends the sample. Only then is the result shown, and nothing changes after.
4.  A label belongs to its pair: a later sample of the same round that draws the pair again has its judgement already.
5.  Labels that come in a file are held to the same: they are taken in the drawn order, from the next pair on, and a file that
    leaves out a pair before one that it labels is refused whole, so nobody judges only the pairs that suit.
"""
from __future__ import annotations

import itertools
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn

from core.errors import SamplingError, Where
from core.grid import Grid
from core.persons.times import z_time
from core.rounds.workspace import Workspace
from core.sampling.draw import Population, Side, drawn, shown_first
from core.sampling.journal import CHOICES, Choice, Journal, Label, Records, Start, label_record, start_record
from core.sampling.plan import Method, SamplePlan, Stop, plan_sample
from core.settings import SETTINGS


@dataclass(frozen=True)
class Sample:
    """A sample as it stands. ``order``: the drawn pairs, as many as are judged at most; ``labels``: of the first of them, in that
    order; ``withdrawn``: labels of this sample that were taken back; ``seeds``: samples this person drew from this round."""

    population: Population
    person: str
    start: Start
    order: tuple[str, ...]
    labels: tuple[Label, ...]
    ended: bool
    withdrawn: int
    seeds: int

    @property
    def plan(self) -> SamplePlan:
        return self.start.plan

    @property
    def defects(self) -> tuple[bool, ...]:
        """For each judged pair, whether the bound counts it as a defect; a skipped pair does."""
        return tuple(label.is_defect or label.choice == "skip" for label in self.labels)

    @property
    def stop(self) -> Stop:
        """Where it stands by its own rule."""
        return self.plan.stop(self.defects)

    @property
    def next_pair(self) -> str | None:
        """The pair to judge now, or None where the sample is complete or ended."""
        return None if self.ended or self.stop.standing != "open" else self.order[len(self.labels)]

    @property
    def is_complete(self) -> bool:
        """Every pair that the rule asks for has been judged."""
        return self.stop.standing != "open"

    @property
    def can_take_back(self) -> bool:
        """Whether the last label was made in this sample, and the sample is not ended."""
        return not self.ended and bool(self.labels) and self.labels[-1].seed == self.start.seed

    def first(self, pair_id: str) -> Side:
        """Which answer of the pair is shown first."""
        return shown_first(self.population, self.start.seed, pair_id)


@dataclass(frozen=True, slots=True)
class Given:
    """A label that was made outside: the side preferred, as the sheet showed it, and where it stands."""

    pair_id: str
    choice: Choice
    where: Where | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of given labels: ``recorded`` now; ``kept``, pairs that had a label already, which stands; ``not_asked``, pairs
    after the end of the sample by its own rule."""

    sample: Sample
    recorded: int
    kept: int
    not_asked: int


def _refuse(code: str, expected: str, got: str, remedy: str, where: Where | None = None) -> NoReturn:
    raise SamplingError(code, expected=expected, got=got, remedy=remedy, where=where)


def _fitting(sample: Sample, labels: Mapping[str, Label], given: Sequence[Given]) -> list[Label]:
    """The labels to record: from the next pair on, until the sample is complete or a pair has none. Raises SamplingError."""
    by_pair = {one.pair_id: one for one in given}
    new: list[Label] = []
    defects = list(sample.defects)
    for pair_id in sample.order[len(sample.labels):]:
        if sample.plan.stop(defects).standing != "open":
            return new
        label = labels.get(pair_id)
        if label is None:
            if pair_id not in by_pair:
                break
            label = Label(pair_id, by_pair[pair_id].choice, sample.first(pair_id), sample.start.seed)
            new.append(label)
        defects.append(label.is_defect or label.choice == "skip")
    done = {label.pair_id for label in new} | labels.keys()
    late = [one for one in given if one.pair_id not in done]
    if late and sample.plan.stop(defects).standing == "open":
        missing = sample.order[len(defects)]
        _refuse("label_left_out", f"a label of {missing!r}, which comes before {late[0].pair_id!r} in the drawn order", "none",
                "judge it too, or label it skip; nothing of the file was recorded", late[0].where)
    return new


class Review:
    """What one person can do with a sample of one assessment's admitted pairs under one grid (named by its digest)."""

    def __init__(self, workspace: Workspace, population: Population, grid_digest: str, person: str) -> None:
        self._journal = Journal(workspace, population.round_digest, person)
        self._population, self._grid_digest = population, grid_digest

    @property
    def person(self) -> str:
        """The canonical id of whose sample it is."""
        return self._journal.person

    def sample(self) -> Sample | None:
        """The sample as it stands, or None where none was drawn. Raises SamplingError for a file that cannot be read."""
        return self._sample(self._journal.read())

    def seeds(self) -> int:
        """How many samples this person has drawn from this round, whatever the grid."""
        return len(self._journal.read().starts)

    def start(self, grid: Grid, method: Method, now: datetime, seed: str | None = None) -> Sample:
        """Draw a sample, or return the one that was drawn. ``seed``: hex; fresh when None. Raises SamplingError ``no_sample``."""
        with self._journal.writing() as (records, append):
            there = self._sample(records)
            if there is not None:
                return there
            if grid.digest != self._grid_digest:
                _refuse("another_grid", f"the grid {self._grid_digest} of the assessment", grid.digest, "open the round again")
            start = Start(
                plan_sample(grid, self._population.size, method), seed or secrets.token_hex(SETTINGS["sampling"]["seed_bytes"]),
                self._population.admitted_sha256, grid.digest,
            )
            return self._known(append(start_record(start, self._population.round_digest, self.person, z_time(now))))

    def judge(self, pair_id: str, choice: Choice, now: datetime) -> Sample:
        """Record a judgement of the next pair. One for a pair that has a label changes nothing.

        Raises SamplingError ``not_next`` for any other pair, ``no_sample_yet``, ``sample_ended``, ``unknown_choice``."""
        if choice not in CHOICES:
            _refuse("unknown_choice", f"one of {', '.join(CHOICES)}", repr(choice), "answer with one of them")
        with self._journal.writing() as (records, append):
            sample = self._known(records)
            if pair_id in records.labels:
                return sample
            if sample.next_pair is None:
                _refuse("sample_ended", "a sample that is not complete", "one with no pair left to judge", "look at the result")
            if pair_id != sample.next_pair:
                _refuse("not_next", "the pair that is next in the drawn order", repr(pair_id), "judge the pair that is shown")
            label = Label(pair_id, choice, sample.first(pair_id), sample.start.seed)
            return self._known(append(label_record(label, z_time(now))))

    def judge_all(self, given: Sequence[Given], now: datetime) -> Taken:
        """Record judgements that were made outside, all of them or none.

        Raises SamplingError ``not_in_sample`` for a pair that was not drawn, ``label_left_out`` for a pair passed over,
        ``no_sample_yet``, ``sample_ended``, ``unknown_choice``; ``where`` is that of the label."""
        with self._journal.writing() as (records, append):
            sample = self._known(records)
            if sample.ended:
                _refuse("sample_ended", "a sample that is not ended", "one whose result was shown", "it stands as it is")
            for one in given:
                if one.choice not in CHOICES:
                    _refuse("unknown_choice", f"one of {', '.join(CHOICES)}", repr(one.choice), "answer with one of them", one.where)
                if one.pair_id not in sample.order:
                    _refuse("not_in_sample", "a pair of this person's sample", repr(one.pair_id), "judge the pairs of the sheet", one.where)
            kept = sum(one.pair_id in records.labels for one in given)
            new = _fitting(sample, records.labels, given)
            for label in new:
                records = append(label_record(label, z_time(now)))
            return Taken(self._known(records), len(new), kept, len(given) - kept - len(new))

    def take_back(self, pair_id: str, now: datetime) -> Sample:
        """Take back the label of the pair that was judged last. Naming another pair changes nothing.

        Raises SamplingError ``sample_ended`` after the end, ``no_sample_yet`` before the start."""
        with self._journal.writing() as (records, append):
            sample = self._known(records)
            if sample.ended:
                _refuse("sample_ended", "a sample that is not ended", "one whose result was shown", "it stands as it is")
            if not sample.can_take_back or sample.labels[-1].pair_id != pair_id:
                return sample
            return self._known(append({"kind": "withdraw", "pair_id": pair_id, "at": z_time(now)}))

    def end(self, now: datetime) -> Sample:
        """End the sample; what was not judged counts as a defect. Ending it again changes nothing."""
        with self._journal.writing() as (records, append):
            sample = self._known(records)
            return sample if sample.ended else self._known(append({"kind": "end", "seed": sample.start.seed, "at": z_time(now)}))

    def _known(self, records: Records) -> Sample:
        sample = self._sample(records)
        if sample is None:
            _refuse("no_sample_yet", "a sample that was drawn", "none", "start it first")
        return sample

    def _sample(self, records: Records) -> Sample | None:
        start = records.start(self._population.admitted_sha256, self._grid_digest)
        if start is None:
            return None
        if start.plan.population != self._population.size:
            _refuse("broken_line", f"a sample of {self._population.size} admitted pairs", str(start.plan.population),
                    "restore the file of labels from a copy; a line is never edited")
        order = drawn(self._population, start.seed, start.plan.largest)
        # what was ended stays as it was, also where a later sample judges more of the same pairs
        labels = records.ended.get(start.seed, records.labels)
        judged = [labels[pair_id] for pair_id in itertools.takewhile(labels.__contains__, order)]
        counted = start.plan.stop([label.is_defect or label.choice == "skip" for label in judged]).judged
        return Sample(
            self._population, self.person, start, order, tuple(judged[:counted]), start.seed in records.ended,
            records.withdrawn.count(start.seed), len(records.starts),
        )
