"""The holdout: its lock, what differs where the lock does not hold, and the paired outcomes of both arms.

The digest is SHA-256 over the RFC 8785 bytes of the holdout list in its given order. A lock is 64 hex digits in either
case, with or without ``sha256:`` before them. An empty or malformed lock does not hold; it is never "nothing to check".
"""
from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from core.canonical import canonical_bytes, sha256_hex
from core.errors import RoundError, Where
from core.rounds.folder import Round
from core.rounds.workspace import Workspace
from core.settings import SETTINGS

_HEX: Final = re.compile(r"[0-9a-f]+")
_PREFIX: Final = "sha256:"

MISSING_LOCK, MALFORMED_LOCK, LOCK_MISMATCH = "missing_preregistration", "malformed_digest", "digest_mismatch"


@dataclass(frozen=True, slots=True)
class Lock:
    """The registered digest against the computed one. ``problem`` is None when the lock holds."""

    registered: str
    computed: str
    problem: str | None

    @property
    def holds(self) -> bool:
        return self.problem is None

    def as_dict(self) -> dict[str, object]:
        return {"registered": self.registered, "computed": self.computed, "holds": self.holds, "problem": self.problem}


def normalised_lock(registered: str) -> str | None:
    """The 64 lower-case hex digits of a lock as written, or None when it is empty or malformed."""
    text = registered.removeprefix(_PREFIX).lower()
    return text if len(text) == SETTINGS["signing"]["sha256_hex_characters"] and _HEX.fullmatch(text) else None


def check_lock(holdout_bytes: bytes, registered: str) -> Lock:
    """Compare the holdout's RFC 8785 bytes with the registered digest."""
    computed, wanted = sha256_hex(holdout_bytes), normalised_lock(registered)
    if not registered.strip():
        return Lock(registered, computed, MISSING_LOCK)
    if wanted is None:
        return Lock(registered, computed, MALFORMED_LOCK)
    return Lock(registered, computed, None if wanted == computed else LOCK_MISMATCH)


def holdout_differences(locked: Sequence[Mapping[str, Any]], present: Sequence[Mapping[str, Any]]) -> list[str]:
    """What differs between the locked suite and the one at hand, in words, one line a finding."""
    was, now = {str(item.get("id")): item for item in locked}, {str(item.get("id")): item for item in present}
    lines = [f"item {name} was removed" for name in was if name not in now]
    lines += [f"item {name} was added" for name in now if name not in was]
    for name in was:
        if name in now and canonical_bytes(was[name]) != canonical_bytes(now[name]):
            lines += _item_differences(name, was[name], now[name])
    if not lines and list(was) != list(now):
        lines.append("same items, other order")
    return lines or ["nothing: the two lists are the same"]


def differences_from_locked(workspace: Workspace, source: Round, registered: str) -> list[str] | None:
    """What differs from the locked list, in words, where a round of the workspace holds that list; None where none does."""
    wanted = normalised_lock(registered)
    for manifest in workspace.rounds() if wanted is not None else ():
        other = Round(workspace.round_path(manifest.digest), manifest, manifest.digest)
        if other.holdout_digest == wanted:
            return holdout_differences(other.holdout_items(), source.holdout_items())
    return None


def _item_differences(name: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    lines = []
    for key in sorted({*was, *now}):
        if was.get(key) == now.get(key) and (key in was) == (key in now):
            continue
        lines.append(f"item {name}, field {key}: {_text_difference(was.get(key), now.get(key))}")
    return lines


def _text_difference(was: object, now: object) -> str:
    if not isinstance(was, str) or not isinstance(now, str):
        return "another value"
    if was.rstrip() == now.rstrip():
        return "differs by trailing white space"
    if "".join(was.split()) == "".join(now.split()):
        return "differs by white space"
    if unicodedata.normalize("NFC", was) == unicodedata.normalize("NFC", now):
        return "differs by Unicode form (composed against decomposed)"
    return "another text"


@dataclass(frozen=True, slots=True)
class PairedOutcomes:
    """Outcomes of both arms over the holdout items, several runs of an item reduced to one outcome.

    A candidate item that no run answered counts as a failure and is listed in ``absent``: an integrity finding.
    """

    n: int
    both_pass: int
    regressions: tuple[str, ...]
    fixes: tuple[str, ...]
    both_fail: int
    absent: tuple[str, ...]
    runs: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Per arm the smallest and largest number of runs of one item."""


def _fault(code: str, expected: str, got: str, remedy: str) -> RoundError:
    return RoundError(code, expected=expected, got=got, remedy=remedy, where=Where(file="outcomes"))


def _grouped(outcomes: pa.Table, ids: set[str]) -> dict[str, dict[str, dict[int, bool | None]]]:
    arms: dict[str, dict[str, dict[int, bool | None]]] = {"baseline": {}, "candidate": {}}
    columns = zip(*(outcomes[name].to_pylist() for name in ("id", "arm", "run", "passed")), strict=True)
    for item, arm, run, passed in columns:
        if item not in ids:
            raise _fault("unknown_item", "ids of the holdout only", f"an outcome of {item!r}", "remove it, or register the holdout that has it")
        runs = arms[arm].setdefault(item, {})
        if run in runs:
            raise _fault("duplicate_outcome", "one outcome for each item, arm and run", f"two of {item!r}, {arm}, run {run}", "number the runs")
        runs[run] = passed
    return arms


def _reduced(runs: Sequence[bool], reducer: str, *, tie: bool) -> bool:
    if reducer == "all":
        return all(runs)
    if reducer == "any":
        return any(runs)
    passed = sum(runs)
    failed = len(runs) - passed
    return tie if passed == failed else passed > failed


def pair_outcomes(item_ids: Sequence[str], outcomes: pa.Table, reducer: str) -> PairedOutcomes:
    """Pair the two arms over the holdout. ``reducer``: the grid's ``outcome_run_reducer``.

    Raises RoundError: ``unknown_item``, ``duplicate_outcome``, ``missing_outcome`` (a baseline item without an outcome,
    or a null anywhere). Under ``majority`` a tie is a pass for the baseline and a fail for the candidate.
    """
    arms = _grouped(outcomes, set(item_ids))
    verdicts: dict[str, dict[str, bool]] = {"baseline": {}, "candidate": {}}
    for arm, items in arms.items():
        for item, runs in items.items():
            known = [passed for passed in runs.values() if passed is not None]
            if len(known) != len(runs):
                raise _fault("missing_outcome", "true or false", f"null for {item!r}, {arm}", "run the check again, or leave the row out")
            verdicts[arm][item] = _reduced(known, reducer, tie=arm == "baseline")
    lacking = [item for item in item_ids if item not in verdicts["baseline"]]
    if lacking:
        first = f"none of {lacking[0]!r} ({len(lacking)} in all)"
        raise _fault("missing_outcome", "a baseline outcome of every item", first, "run the baseline on it")
    return _paired(item_ids, verdicts, {arm: _run_span(items) for arm, items in arms.items()})


def _run_span(items: Mapping[str, Mapping[int, object]]) -> tuple[int, int]:
    counts = [len(runs) for runs in items.values()] or [0]
    return min(counts), max(counts)


def _paired(item_ids: Sequence[str], verdicts: dict[str, dict[str, bool]], runs: dict[str, tuple[int, int]]) -> PairedOutcomes:
    before, after = verdicts["baseline"], verdicts["candidate"]
    regressions = tuple(item for item in item_ids if before[item] and not after.get(item, False))
    fixes = tuple(item for item in item_ids if not before[item] and after.get(item, False))
    both_pass = sum(before[item] and after.get(item, False) for item in item_ids)
    return PairedOutcomes(
        len(item_ids), both_pass, regressions, fixes, len(item_ids) - both_pass - len(regressions) - len(fixes),
        tuple(item for item in item_ids if item not in after), runs,
    )
