"""What the pairing rule makes of a round's rollouts, and whether the round's pairs are that: a report, computed once and kept.

The rollouts of the part ``rollouts`` are paired as ``countersign pairs`` pairs a file: by the same engine, under the round's grid, for the policy
that the round declares. What belongs to the holdout is the round's own: its items, by the rules of contamination, and the graders that it
declares. It decides nothing, and no signed statement speaks of it (decision 020).
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import RoundError, Where
from core.gates.contamination import items_not_looked_for, unjudged_items
from core.gates.kept_report import KeptReport, ReportPlace
from core.gates.length_direction import pairing_document
from core.grid import Grid
from core.literals import code_digest
from core.pairs.given_pairs import CHANGED, KINDS, LACKING, NOT_MADE, SAME, Compared, GivenPair, GivenText, has_earlier_reply, tallied
from core.pairs.graded import ReplyTexts
from core.pairs.held_out import HeldOut
from core.pairs.pairing import Pairing, PairingRules, pair_rollouts
from core.pairs.pairing_report import PairingReport
from core.pairs.pairing_rows import pair_id
from core.pairs.rollout_match import compare
from core.rounds.declared_pairing import DeclaredPairing
from core.rounds.folder import Round
from core.rounds.rollout_faults import PART, rollout_count
from core.rounds.stored_rollouts import stored_rollouts
from core.rounds.workspace import Workspace
from core.schemas import COMPARED
from core.settings import SETTINGS

REPORT_FILE: Final = "rollouts.json"
COMPARED_FILE: Final = "compared.parquet"
KEYS: Final = ("pair_pass_reward", "min_reward_margin", "max_pairs_per_task", "contamination_ngram_words", "contamination_coverage")
"""The keys of the grid that the report is made under."""
_SETTINGS: Final = SETTINGS["rollouts"]
_NOT_USABLE: Final = "no rollout can be used for a pair"
Progress = Callable[[int, int], None]
Row = TypeVar("Row")
Reply = TypeVar("Reply", bound=ReplyTexts)


class RolloutReport(KeptReport):
    """``document`` is what rollouts.json holds; ``compared_path`` has every pair that differs, and every one with a reward of the holdout."""

    @property
    def compared_path(self) -> Path:
        return self.folder / COMPARED_FILE


def rollouts_of(workspace: Workspace, source: Round, grid: Grid, *, progress: Progress | None = None) -> RolloutReport:
    """The stored report of (round, grid, running code), computed now where there is none yet. Raises RoundError ``part_not_supplied`` where the
    round has no rollouts, GridError ``grid_key_off`` for a grid of an earlier schema."""
    place = _place(workspace, source, grid)
    return RolloutReport(place.kept(lambda scratch: report_on(source, grid, scratch, progress=progress)), place.folder)


def stored_rollout_report(workspace: Workspace, source: Round, grid: Grid) -> RolloutReport | None:
    """The report where it is stored already, else None; computes nothing. Raises RoundError where the round has no rollouts."""
    place = _place(workspace, source, grid)
    document = place.stored()
    return None if document is None else RolloutReport(document, place.folder)


def _place(workspace: Workspace, source: Round, grid: Grid) -> ReportPlace:
    if not source.has(PART):
        raise RoundError(
            "part_not_supplied", expected="a round with the rollouts that its pairs were made of", got="none", where=Where(f"{PART}.parquet"),
            remedy="supply the part rollouts and ingest again; countersign pairs reads a file of rollouts by itself",
        )
    return ReportPlace.of(workspace, source, grid, "rollouts", REPORT_FILE)


def held_out_of(source: Round, grid: Grid) -> HeldOut:
    """What belongs to the round's holdout: its items by the rules of contamination, and the graders that the round declares."""
    *_, n, share = KEYS
    return HeldOut.of_items(source.holdout_items(), grid.integer(n), grid.fraction(share), graders=_declared(source).holdout_graders)


def holdout_in(held_out: HeldOut) -> dict[str, Any] | None:
    """What of the holdout is in the rollouts, once they were marked, what was not looked for and why; None where there are no items."""
    check = held_out.check
    if check is None or not check.items:
        return None
    return {
        "items": check.items, "rollouts_held_out": dict(held_out.rollouts),
        "items_in_rollouts": [{"item": item, "id": check.names[item], "hits": hits} for item, hits in check.items_hit()],
        "not_judged": unjudged_items(check, check.tasks.unjudged()), "not_looked_for": items_not_looked_for(check),
        "skipped": [{"rule": rule, "why": why} for rule, why in check.skipped()],
    }


def _declared(source: Round) -> DeclaredPairing:
    return source.manifest.pairing or DeclaredPairing()


def report_on(source: Round, grid: Grid, destination: Path, *, progress: Progress | None = None) -> dict[str, Any]:
    """Pair the round's rollouts, compare its pairs, write compared.parquet to ``destination``, and return the report. Memory: a few hundred bytes
    a rollout and a pair, and one batch of texts."""
    steps = _Steps(progress, rollout_count(source) * (1 + source.has("pairs")) + source.pair_count)
    policy, rules, held_out = _declared(source).policy, PairingRules.from_grid(grid), held_out_of(source, grid)
    shape = _Shape()
    pairing = pair_rollouts(shape.seen(steps.counted(stored_rollouts(source))), rules, policy=policy, held_out=held_out)
    held = holdout_in(held_out)
    compared: list[Compared] | None = None
    if source.has("pairs"):
        given = list(steps.counted(given_pairs(source, whole_conversations=not shape.earlier_replies)))
        compared = compare(given, pairing, lambda: steps.counted(stored_rollouts(source)), policy=policy, held_out=held_out)
    rows = [_row(one) for one in compared or () if one.kind != SAME or one.held_out]
    with pq.ParquetWriter(destination / COMPARED_FILE, COMPARED, compression=SETTINGS["storage"]["parquet_compression"]) as writer:
        writer.write_table(pa.Table.from_pylist(rows, schema=COMPARED))
    return _document(source, grid, pairing, compared, rows) | {"holdout": held}


class _Steps:
    """Rows read so far, told to whoever waits once in a while."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def counted(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows as they are, counted."""
        for row in rows:
            self._done += 1
            if self._progress is not None and (self._done % _SETTINGS["progress_rows"] == 0 or self._done == self._total):
                self._progress(self._done, self._total)
            yield row


class _Shape:
    """Whether any rollout that passed has a turn of the assistant in its prompt."""

    def __init__(self) -> None:
        self.earlier_replies = False

    def seen(self, rows: Iterable[Reply]) -> Iterator[Reply]:
        """The rollouts as they are."""
        for row in rows:
            self.earlier_replies = self.earlier_replies or has_earlier_reply(row)
            yield row


def given_pairs(source: Round, *, whole_conversations: bool) -> Iterator[GivenPair]:
    """The round's pairs as digests, in their order. ``whole_conversations``: no rollout has a turn of the assistant in its prompt, so that such
    turns of a pair's prompt count with its replies, as they do in the rollouts."""
    for narrow, text in source.pair_batches():
        cells = [narrow[name].to_pylist() for name in ("ordinal", "pair_id", "task_id")]
        texts = [
            text[name].to_pylist() for side in ("prompt", "chosen", "rejected") for name in (side, f"{side}_messages")
        ]
        for ordinal, name, task, prompt, turns, chosen, chosen_turns, rejected, rejected_turns in zip(*cells, *texts, strict=True):
            sides = GivenText(prompt, turns, chosen, chosen_turns), GivenText(prompt, turns, rejected, rejected_turns)
            one, other = (side.from_first_reply() for side in sides) if whole_conversations else sides
            yield GivenPair.of(ordinal, name, task, one, other)


def _row(one: Compared) -> dict[str, Any]:
    made = None if one.made is None else pair_id(one.made)
    task = one.made.group[1] if one.made is not None else None if one.given is None else one.given.task_id
    return {
        "ordinal": None if one.given is None else one.given.ordinal, "pair_id": made if one.given is None else one.given.pair_id, "made_id": made,
        "task": task, "kind": one.kind, "why": one.why, "detail": one.detail, "fields": list(one.fields), "held_out": one.held_out,
    }


def _document(source: Round, grid: Grid, pairing: Pairing, compared: list[Compared] | None, rows: list[dict[str, Any]]) -> dict[str, Any]:
    stated, found = _declared(source), PairingReport.of(pairing)
    return {
        **pairing_document(found, grid), "why_no_pairs": None if pairing.pairs else found.why_none if pairing.usable else _NOT_USABLE,
        "schema_version": _SETTINGS["report_version"], "code_digest": code_digest(),
        "round_id": source.manifest.round_id, "round_digest": source.digest, "grid_digest": grid.digest,
        "policy": stated.policy, "holdout_graders": list(stated.holdout_graders),
        "comparison": None if compared is None else _comparison(source, compared), "listed": rows[:_SETTINGS["listed"]],
    }


def _comparison(source: Round, compared: list[Compared]) -> dict[str, Any]:
    """Counts: ``pairs`` = same + changed + swapped + not_made; the rule's pairs = same + changed + swapped + lacking."""
    counts = tallied(compared)
    kinds = {kind: counts["kind"][kind] for kind in KINDS}
    return {
        "pairs": sum(kinds.values()) - kinds[LACKING], "quarantined": source.quarantined_count, **kinds,
        "same_under_another_id": counts["other_id"][SAME], "changed_fields": dict(sorted(counts[CHANGED].items())),
        "not_made_why": dict(sorted(counts[NOT_MADE].items())), "lacking_why": dict(sorted(counts[LACKING].items())),
        "eval_sourced": sum(counts["held_out"].values()) - counts["held_out"][LACKING],
    }
