"""How many items from flipping: the distance of every check of an assessment, counted in cases, items or pairs.

Reads the assessment document, so that a page, the command line and a statement say the same. Rate checks move by
counts; kappa by the cells of its table; a fact (a lock, a clean source tree) or a measured value has no such count
and says so.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from core.grid import Grid
from core.statistics.agreement import Confusion
from core.statistics.flipping import FlipDistance, kappa_flip_distance, rate_flip_distance
from core.statistics.ratio import Ratio
from core.statistics.result import Result

A_FACT: Final = "a fact: no count of items stands behind it"
A_MEASURE: Final = "a measured value: it moves by nats, not by items"
NOT_BOUND: Final = "the grid sets no bound"
WAITS: Final = "waits for a reviewer"


@dataclass(frozen=True, slots=True)
class Robustness(Result):
    """One check, of one judge where ``judge_id`` is not None, and its distance from flipping."""

    check: str
    judge_id: str | None
    state: str
    decides: bool
    distance: FlipDistance

    def as_dict(self) -> dict[str, object]:
        """JSON members, with the sentence."""
        return {**Result.as_dict(self), "text": self.distance.text}


def robustness(document: Mapping[str, Any], grid: Grid) -> tuple[Robustness, ...]:
    """Every check of an assessment document, those of the round first, then each judge's gate.

    ``grid``: the grid that the assessment was made under (its exact bounds are not in the document).
    """
    return (*_round_checks(document, grid), *_judge_checks(document, grid))


def _round_checks(document: Mapping[str, Any], grid: Grid) -> Iterator[Robustness]:
    for check in document["checks"]:
        yield Robustness(check["name"], None, check["state"], check["decides"], _round_distance(check, document, grid))


def _round_distance(check: Mapping[str, Any], document: Mapping[str, Any], grid: Grid) -> FlipDistance:
    holdout = document["holdout"] or {}
    outcomes: Mapping[str, Any] = holdout.get("outcomes") or {}
    # what the candidate can still lose and win is what the baseline passed and failed
    lost = outcomes.get("both_pass", 0) + outcomes.get("regressions", 0)
    won = outcomes.get("both_fail", 0) + outcomes.get("fixes", 0)
    match check["name"]:
        case "regressions":
            return _rate(check, grid, "item", 0, lost)
        case "net_gain":
            return _rate(check, grid, "item", -lost, won)
        case "sanity_retention":
            return _rate(check, grid, "canary", 0, None)
        case "collapsed_share":
            return _rate(check, grid, "pair", 0, None)
        case "outcomes_complete":
            absent = len(outcomes.get("absent_candidate", ()))
            return FlipDistance(absent or 1, not absent, "item")
        case "no_collapsed_pair":
            return _no_count(check, A_MEASURE)
        case _:
            return _no_count(check, WAITS if check["state"] == "open" else A_FACT)


def _no_count(check: Mapping[str, Any], reason: str) -> FlipDistance:
    return FlipDistance(None, check["state"] == "holds", "item", (), reason)


def _ratio(observed: Mapping[str, Any]) -> Ratio:
    return Ratio(int(observed["numerator"]), int(observed["denominator"]), observed["undefined"])


def _rate(check: Mapping[str, Any], grid: Grid, unit: str, least: int, most: int | None) -> FlipDistance:
    key = check["bound"]["key"]
    if key is None:
        return _no_count(check, NOT_BOUND)
    direction = cast(Literal["max", "min"], grid.keys[key].direction)
    return rate_flip_distance(_ratio(check["observed"]), grid.fraction(key), direction, unit=unit, least=least, most=most)


def _judge_checks(document: Mapping[str, Any], grid: Grid) -> Iterator[Robustness]:
    for judge_id, judge in document["judges"].items():
        table = Confusion(tp=judge["tp"], fp=judge["fp"], fn=judge["fn"], tn=judge["tn"])
        for check in judge["gate"]["checks"]:
            yield Robustness(check["name"], judge_id, check["state"], check["decides"], _judge_distance(check, judge, table, grid))


def _judge_distance(check: Mapping[str, Any], judge: Mapping[str, Any], table: Confusion, grid: Grid) -> FlipDistance:
    match check["name"]:
        case "cohens_kappa":
            return kappa_flip_distance(table, grid.fraction(check["bound"]["key"]))
        case "exact_agreement" | "false_positive_rate":
            return _rate(check, grid, "case", 0, None)
        case "missing_verdict":
            return FlipDistance(len(judge["missing"]), False, "case")
        case _:
            return _no_count(check, A_FACT)
