"""The style report: what each side of the pairs sounds like, and whether the reward goes with it.

For pairs: how many have a marker on the chosen side only, on the rejected side only, on both, on neither; an exact McNemar
test of the first two, which is what training on these pairs would teach. For rollouts: which replies have the marker, and
whether the reward goes with it inside tasks. A marker is *flagged* where its correlation with the reward is at least as far
from 0, either way, as the grid's ``style_correlation``, and *shown* where the test's p-value, corrected over the markers
(Holm), reaches alpha. A marker that cannot be judged is listed with the reason. A report; it decides nothing.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any, Final

import numpy as np
import pyarrow as pa

from core.grid import Grid
from core.pairs.columns import Flags
from core.pairs.graded import GradedReply, assistant_text, turns_of
from core.pairs.pairing import Group, group_of
from core.pairs.pairing_report import LengthFigures
from core.pairs.phrases import PhraseTable, phrase_table
from core.pairs.style import PairCounts, PairStyle, ReplyStyle
from core.rounds.folder import Round
from core.settings import SETTINGS
from core.statistics.inputs import ALPHA
from core.statistics.marker_reward import Correlation, exchange_test, marker_correlation, pair_correlation
from core.statistics.multiple import holm
from core.statistics.probability import Probability, counted
from core.statistics.result import as_json
from core.statistics.sign_test import sign_test

REPORT_VERSION: Final = 1
_TOP: Final[int] = SETTINGS["style"]["top_phrases"]
_BATCH: Final[int] = SETTINGS["style"]["batch_replies"]
ALL_HAVE_IT, NONE_HAS_IT = "all_have_it", "none_has_it"
NOT_JUDGED: Final = {
    "nothing_to_judge": "there is nothing to judge",
    "language_not_covered": "no text is in the language of the phrase table",
    "no_reward": "no reply has a reward",
    ALL_HAVE_IT: "every text has it",
    NONE_HAS_IT: "no text has it",
    "too_few": "too few texts have it, or too few lack it",
    "constant_reward": "all rewards are equal",
}
"""Why a marker cannot be judged."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class MarkerFinding:
    """One marker. ``counts``: texts or pairs, by name; ``p``: the test, ``adjusted``: Holm over the judged markers; ``lean``: 1 where the
    reward (or the chosen side) has more of it, -1 where less, 0 where neither, None where the correlation is undefined; ``not_judged``: a key of
    ``NOT_JUDGED``, or None."""

    name: str
    title: str
    counts: Mapping[str, int]
    phrases: Mapping[str, Sequence[tuple[str, int]]]
    correlation: Correlation
    p: Probability | None
    not_judged: str | None
    lean: int | None
    flagged: bool
    adjusted: Probability | None = None

    @property
    def shown(self) -> bool:
        """Whether the leaning is more than chance explains."""
        return self.adjusted is not None and self.adjusted.at_most(ALPHA)

    def as_dict(self) -> dict[str, Any]:
        return {
            "marker": self.name, "title": self.title, "counts": dict(self.counts),
            "phrases": {side: [list(item) for item in items] for side, items in self.phrases.items()},
            "correlation": as_json(self.correlation), "p": as_json(self.p), "adjusted_p": as_json(self.adjusted), "lean": self.lean,
            "flagged": self.flagged, "shown": self.shown, "not_judged": self.not_judged,
        }


@dataclass(frozen=True, slots=True)
class StyleReport:
    """A finished report. ``subject``: ``pairs`` or ``rollouts``; ``method``: the test by name; ``bound``: the grid's ``style_correlation``,
    None where it is off; ``length``: figures of reply lengths."""

    subject: str
    scope: Mapping[str, Any]
    method: str
    bound: Fraction | None
    table: PhraseTable
    findings: tuple[MarkerFinding, ...]
    length: Mapping[str, Any]

    @property
    def flagged(self) -> list[MarkerFinding]:
        return [finding for finding in self.findings if finding.flagged]

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON: what ``countersign style --json`` prints."""
        return {
            "report": "style", "version": REPORT_VERSION, "of": self.subject, "scope": dict(self.scope), "phrase_table": self.table.as_dict(),
            "style_correlation": as_json(self.bound), "alpha": as_json(ALPHA), "test": self.method, "correction": "Holm, over the markers judged",
            "markers": [finding.as_dict() for finding in self.findings],
            "not_judged": [
                {"marker": finding.name, "reason": finding.not_judged, "text": NOT_JUDGED[finding.not_judged]}
                for finding in self.findings if finding.not_judged is not None
            ],
            "length": dict(self.length),
        }


def pair_style(
    source: Round, grid: Grid, *, only: Flags | None = None, table: PhraseTable | None = None, progress: Progress | None = None,
) -> StyleReport:
    """The report over a round's pairs, read in batches. ``only``: a mask by ordinal, for the admitted pairs alone."""
    style, read = PairStyle(table or phrase_table()), 0
    for _, text in source.pair_batches():
        wanted = None if only is None else pa.array(only[read:read + text.num_rows])
        read += text.num_rows
        style.add(text if wanted is None else text.filter(wanted))
        if progress is not None:
            progress(read, source.pair_count)
    return report_of_pairs(style, grid, {"round_digest": source.digest, "admitted_only": only is not None})


def report_of_pairs(style: PairStyle, grid: Grid, scope: Mapping[str, Any]) -> StyleReport:
    """The report over counted pairs."""
    bound = grid.optional_fraction("style_correlation")
    findings = [_pair_finding(name, counts, style, bound) for name, counts in style.markers.items()]
    differences = np.concatenate(style.differences).tolist() if style.differences else []
    return StyleReport(
        "pairs", {**scope, "pairs": style.pairs, "not_covered": style.not_covered}, "exact McNemar", bound, style.table, _corrected(findings),
        LengthFigures.of(differences).as_dict(),
    )


def _pair_finding(name: str, counts: PairCounts, style: PairStyle, bound: Fraction | None) -> MarkerFinding:
    found = pair_correlation(
        both=counts.both, chosen_only=counts.chosen_only, rejected_only=counts.rejected_only, neither=counts.neither,
    )
    why = "nothing_to_judge" if not style.pairs else _why_not(found, counts.judged, style.table)
    shown = {"both": counts.both, "chosen_only": counts.chosen_only, "rejected_only": counts.rejected_only, "neither": counts.neither}
    return MarkerFinding(
        name, style.table.title(name), shown, {"chosen": _top(counts.chosen_phrases), "rejected": _top(counts.rejected_phrases)}, found,
        None if why else sign_test(counts.chosen_only, counts.rejected_only).p, why, found.sign, _flagged(found, why, bound),
    )


def reply_style(
    replies: Iterable[GradedReply], grid: Grid, *, policy: str | None = None, table: PhraseTable | None = None, progress: Progress | None = None,
) -> StyleReport:
    """The report over graded rollouts; ``policy``: those of this policy only. A rollout without a reply is left out and counted."""
    style, left_out = ReplyStyle(table or phrase_table()), Counter[str]()
    for batch in _batches(_with_reply(replies, policy, left_out)):
        style.add(
            [_said(reply) for reply in batch], list[Group](map(group_of, batch)), [reply.reward for reply in batch],
            [reply.finish_reason for reply in batch],
        )
        if progress is not None:
            progress(style.replies, style.replies)
    return report_of_replies(style, grid, {"policy": policy, "left_out": dict(sorted(left_out.items()))})


def _with_reply(replies: Iterable[GradedReply], policy: str | None, left_out: Counter[str]) -> Iterator[GradedReply]:
    for reply in replies:
        reason = "other_policy" if policy is not None and reply.policy != policy else "missing_response" if reply.response is None else None
        if reason is None:
            yield reply
        else:
            left_out[reason] += 1


def _batches(replies: Iterator[GradedReply]) -> Iterator[list[GradedReply]]:
    while batch := list(islice(replies, _BATCH)):
        yield batch


def _said(reply: GradedReply) -> str:
    turns = turns_of(reply)
    return reply.response or "" if turns is None else assistant_text(turns)


def report_of_replies(style: ReplyStyle, grid: Grid, scope: Mapping[str, Any]) -> StyleReport:
    """The report over counted replies."""
    bound = grid.optional_fraction("style_correlation")
    findings = [_reply_finding(name, style, bound) for name in style.table.names]
    known = style.judged(next(iter(style.phrases)))
    rewarded = sum(reward is not None for reward in style.rewards)
    return StyleReport(
        "rollouts", {
            **scope, "replies": style.replies, "tasks": len(set(style.tasks)), "rewarded": rewarded, "not_covered": int((~known).sum()),
            "finish_reason_stated": style.stated,
        }, "exact, rewards exchanged inside tasks", bound, style.table, _corrected(findings), style.spread,
    )


def _reply_finding(name: str, style: ReplyStyle, bound: Fraction | None) -> MarkerFinding:
    judged, marked = style.judged(name), style.marked(name)
    places = [place for place in np.flatnonzero(judged).tolist() if style.rewards[place] is not None]
    marks = marked[places] if places else np.zeros(0, dtype=np.bool_)
    rewards = [reward for place in places if (reward := style.rewards[place]) is not None]
    tasks = [style.tasks[place] for place in places]
    found = marker_correlation(marks, rewards, tasks)
    why = _why_not(found, int(judged.sum()), style.table)
    if not style.replies or (judged.any() and not places):
        why = "no_reward" if style.replies else "nothing_to_judge"
    return MarkerFinding(
        name, style.table.title(name), {"marked": int((marked & judged).sum()), "judged": int(judged.sum()), "rewarded": len(places)},
        {"all": _top(style.phrases[name])}, found, None if why else exchange_test(marks, rewards, tasks), why, found.sign,
        _flagged(found, why, bound),
    )


def _why_not(found: Correlation, judged: int, table: PhraseTable) -> str | None:
    """Why a marker cannot be judged; None where it can."""
    if not judged:
        return "language_not_covered"
    if not 0 < found.marked < found.n:
        return ALL_HAVE_IT if found.marked else NONE_HAS_IT
    if min(found.marked, found.n - found.marked) < table.least_each:
        return "too_few"
    return None if found.undefined is None else "constant_reward"


def _flagged(found: Correlation, why: str | None, bound: Fraction | None) -> bool:
    return why is None and bound is not None and found.at_least(bound)


def _corrected(findings: Sequence[MarkerFinding]) -> tuple[MarkerFinding, ...]:
    """Holm over the markers that were judged."""
    judged = [finding for finding in findings if finding.p is not None]
    adjusted = dict(zip((finding.name for finding in judged), holm([finding.p.fraction for finding in judged if finding.p is not None]), strict=True))
    return tuple(
        replace(finding, adjusted=_as_made(finding.p, adjusted[finding.name])) if finding.p is not None else finding for finding in findings
    )


def _as_made(p: Probability, adjusted: Fraction) -> Probability:
    """The corrected value, exact only where the p-value was."""
    return counted(adjusted) if p.exact is not None else Probability(float(adjusted), None, p.method)


def _top(phrases: Counter[str]) -> list[tuple[str, int]]:
    return sorted(phrases.items(), key=lambda item: (-item[1], item[0]))[:_TOP]
