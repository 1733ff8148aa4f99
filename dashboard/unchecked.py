"""What a reviewer has to know of the pairs and no check reads: the holdout in them, whether the rollouts give them, what training cuts off.

The Overview draws it below the checks, and last of all: where a report is not stored yet it is computed for a small round, and the rest of the page
is there meanwhile.
"""
from __future__ import annotations

from typing import Any

from core.gates import rollout_words
from core.gates.cutoff import finding
from core.rounds.rollout_faults import PART
from dashboard import blocks, components, contamination_desk, leakage_loaders, rollouts_desk, words
from dashboard.blocks import Span, badge, muted, text
from dashboard.frame import View

TITLE = "What no check reads"


def draw(view: View) -> None:
    """The section; nothing where the round has no pair that could train."""
    if not (view.round.has("pairs") and view.round.pair_count):
        return
    components.section("unchecked", TITLE, blocks.facts([
        ("Holdout in the pairs", holdout_spans(view)), ("Pairs from rollouts", _rollouts(view)),
        ("Training cut-off", _cutoff(view.document.get("cutoff"))),
    ]))


def holdout_spans(view: View, *, at_once: bool = True) -> list[Span]:
    """Whether the pairs repeat the locked holdout. ``at_once``: a small round may be looked through now."""
    found = contamination_desk.gather(view, at_once=at_once)
    said = text(f"{contamination_desk.headline_words(view, found)}. ")
    if found.report is None:
        return [muted(said["t"])] if found.why == "no_holdout" else [_open(), text(" "), said, blocks.link("Look for it", "leakage")]
    if not found.report.document["pairs"]["contaminated"]:
        return [badge("clean", "ok", "check"), text(" "), said, blocks.link("How it was looked for", "leakage")]
    admitted = leakage_loaders.findings(view, found.report).pairs["admitted"]
    return [_wrong() if admitted else badge("note", "off", "note"), text(" "), said, blocks.link("See these pairs", "leakage")]


def _rollouts(view: View) -> list[Span]:
    if not view.round.has(PART):
        return [muted("This round carries no rollouts: what its pairs were made of cannot be checked here.")]
    found = rollouts_desk.gather(view)
    if found.report is None:
        return [_open(), text(f" {rollouts_desk.missing_words(found)}. "), blocks.link("Look at them", "leakage")]
    document, listed = found.report.document, leakage_loaders.compared(view, found.report)
    held = listed.held_out["admitted"]
    said = [text(f"{rollout_words.headline(document)}. ")]
    if held:
        said.append(text(f"{words.plural(held, 'admitted pair')} {'has' if held == 1 else 'have'} a reward of the holdout. ", blocks.STRONG))
    equal = not (held or listed.admitted_that_differ)
    return [badge("equal", "ok", "check") if equal else _wrong(), text(" "), *said, blocks.link("See which", "leakage")]


def _cutoff(cut: dict[str, Any] | None) -> list[Span]:
    if cut is None:
        return [muted("None is declared: whether training cuts answers off cannot be told here.")]
    said = text(f"{finding(cut)}. ")
    return [_wrong() if cut["equal"]["total"] else badge("none equal", "ok", "check"), text(" "), said, blocks.link("See the cut-off", "curation")]


def _wrong() -> Span:
    return badge("look", "bad", "warning")


def _open() -> Span:
    return badge("not known", "off", "question")
