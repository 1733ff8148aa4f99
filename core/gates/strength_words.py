"""A strength object in plain sentences, for whoever is about to decide. Reads the object alone, so signed ones too."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from core.gates.strength_rules import Status
from core.grid import parse_decimal
from core.statistics.ratio import percent_text
from core.statistics.verdict import Standing, points_text
from core.text import sentence

_COUNTED: Final[Mapping[Status, str]] = {
    Status.PROVEN: "proven", Status.MEETS: "met without proof", Status.FAILS: "failed", Status.PROVEN_TO_FAIL: "proven to fail",
}
_UNDEFINED: Final = "undefined"
_SHOWN: Final = (Standing.WORSE, Standing.BETTER)
_SOUND: Final = (Status.PROVEN, Status.MEETS, Status.NOT_APPLICABLE)


def texts_of(strength: Mapping[str, Any], judge_id: str | None = None) -> dict[str, Mapping[str, Any]]:
    """The checks of the round, or of one judge, by name; empty for an object without them (version 1 of a statement)."""
    holder: Mapping[str, Any] = strength
    if judge_id is not None:
        holder = next((judge for judge in strength.get("judges", ()) if judge["judge_id"] == judge_id), {})
    return {check["name"]: check for check in holder.get("checks", ())}


def strength_sentences(strength: Mapping[str, Any], *, with_checks: bool = True) -> list[str]:
    """What the evidence can prove, one sentence a line; nothing for an object without content. ``with_checks``: each check of the
    round too."""
    return [
        *_summary(strength), *(_round(strength) if with_checks else ()), *_judges(strength), *holdout_sentences(strength),
        *_behaviours(strength),
    ]


def _checks(strength: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from strength.get("checks", ())
    for judge in strength.get("judges", ()):
        yield from judge["checks"]


def _summary(strength: Mapping[str, Any]) -> Iterator[str]:
    if strength.get("keys_off"):
        yield f"The grid sets no {', '.join(strength['keys_off'])}: what needs them is undefined."
        return
    counts = Counter(check["status"] or _UNDEFINED for check in _checks(strength))
    estimated = counts.total() - counts[Status.NOT_APPLICABLE]
    if estimated:
        words = [f"{counts[status]:,} {word}" for status, word in (*_COUNTED.items(), (_UNDEFINED, _UNDEFINED)) if counts[status]]
        yield f"Checks that rest on counts: {estimated:,}, of which {', '.join(words)}."


def _round(strength: Mapping[str, Any]) -> Iterator[str]:
    for check in strength.get("checks", ()):
        if check["status"] != Status.NOT_APPLICABLE:
            yield sentence(f"{_title(check)}: {check['text']}")


def _judges(strength: Mapping[str, Any]) -> Iterator[str]:
    """Judges none of whose checks fails: theirs are the pairs that may train."""
    for judge in strength.get("judges", ()):
        if not strength["keys_off"] and all(check["status"] in _SOUND for check in judge["checks"]):
            said = "; ".join(f"{_title(check)} {check['text']}" for check in judge["checks"] if check["status"] != Status.NOT_APPLICABLE)
            yield f"Judge {judge['judge_id']}: {said}."


def _title(check: Mapping[str, Any]) -> str:
    return str(check["name"]).replace("_", " ").replace("cohens", "Cohen's")


def holdout_sentences(strength: Mapping[str, Any]) -> Iterator[str]:
    """The verdict on the holdout's outcomes, and what so many items can show."""
    holdout = strength.get("holdout")
    if holdout is None:
        if strength.get("no_holdout"):
            yield f"Holdout: {strength['no_holdout']}."
        return
    yield sentence(holdout["sentence"])
    smallest, cap = holdout["smallest_gain"], f"the regression cap is {percent_text(parse_decimal(holdout['regression_cap']))}"
    at = "" if strength["keys_off"] else f" with {percent_text(parse_decimal(holdout['wanted']['power']))} power"
    if smallest["value"] is not None:
        yield f"Smallest gain that {holdout['n']:,} items could show{at}: {points_text(Fraction(repr(smallest['value'])))} points; {cap}."
    elif not strength["keys_off"]:
        yield f"Smallest gain that {holdout['n']:,} items could show{at}: none ({smallest['undefined']}); {cap}."
    yield from _wanted(holdout["wanted"])
    yield from _slices(holdout)


def _slices(holdout: Mapping[str, Any]) -> Iterator[str]:
    """What is shown of the slices after the correction; nothing for version 2, which has none."""
    slices = holdout.get("slices", ())
    if not slices:
        return
    named = [(line["standing"], "no slice" if line["name"] is None else line["name"]) for line in slices]
    shown = [
        f"{word} on {', '.join(name for standing, name in named if standing == word)}" for word in _SHOWN if any(word == one for one, _ in named)
    ]
    more = f" ({holdout['slices_left_out']:,} more are not in the statement)" if holdout["slices_left_out"] else ""
    yield f"Slices of the holdout, corrected for how many there are (Holm): {len(slices):,}{more}, {'; '.join(shown) or 'nothing shown on any'}."


def _behaviours(strength: Mapping[str, Any]) -> Iterator[str]:
    """The behaviours together, then each that is proven or shown worse; nothing where none was supplied."""
    found = strength.get("behaviours")
    if found is None:
        return
    yield f"Behaviours: {found['sentence']}."
    for row in found["rows"]:
        if row["proven"] or row["standing"] == Standing.WORSE:
            yield sentence(row["sentence"])


def _wanted(wanted: Mapping[str, Any]) -> Iterator[str]:
    if wanted["items"] is not None:
        effect, power = points_text(parse_decimal(wanted["effect"])), percent_text(parse_decimal(wanted["power"]))
        yield f"To show a gain of {effect} points with {power} power takes about {wanted['items']:,} items at this share of flips."
