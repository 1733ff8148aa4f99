"""Checks as a table: failing first, figures aligned on their decimal point, a bar for the distance, a way to the evidence.

Works on checks as the assessment stores them (``core/gates/checks.py``); the texts are the core's own, so a page, a
terminal and a statement say the same. Pure.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from dashboard import blocks, navigation, words
from dashboard.blocks import Block, Span, badge, muted, text
from dashboard.strength_view import strength_spans

_NUMBER: Final = re.compile(r"(−?[\d,]+)(?:\.(\d+))?(?: (%|[a-z/]+))?")
_FIGURE_SPACE, _POINT_SPACE = "\u2007", "\u2008"

Check = Mapping[str, Any]


def in_order(checks: Iterable[Check]) -> list[Check]:
    """Failing checks first, then undefined, warnings, open, holding, noted; within a state as the engine gave them."""
    return sorted(checks, key=lambda check: words.STATE_ORDER.index(check["state"]))


def state_badge(check: Check) -> Span:
    """The state of a check: word, tone, icon."""
    word, tone, icon_name = words.CHECK_STATES[check["state"]]
    return badge(word, tone, icon_name)


def split_figure(observed: str) -> tuple[str, tuple[str, str, str] | None]:
    """What was counted, and the figure after it in three parts: before the point, after it, unit.

    ``13 of 120, 10.83 %`` -> ``("13 of 120", ("10", "83", "%"))``; ``−0.0686 nats/token`` -> ``("", ("−0", "0686", "nats/token"))``;
    anything else is words: ``("no registration", None)``.
    """
    counted, comma, last = observed.rpartition(", ")
    found = _NUMBER.fullmatch(last if comma else observed)
    if found is None:
        return observed, None
    whole, decimals, unit = found.groups(default="")
    return counted, (whole, decimals, unit)


def aligned(figures: Sequence[tuple[str, str, str] | None]) -> list[list[Span]]:
    """Figures padded so that, set flush right, those of one unit line up on their decimal point; between units nothing lines up."""
    longest: dict[str, int] = {}
    for figure in figures:
        if figure is not None:
            longest[figure[-1]] = max(longest.get(figure[-1], 0), len(figure[1]))
    return [[] if figure is None else _padded(*figure, longest[figure[-1]]) for figure in figures]


def _padded(whole: str, decimals: str, unit: str, longest: int) -> list[Span]:
    point = "." if decimals else _POINT_SPACE if longest else ""
    number = text(f"{whole}{point}{decimals}{_FIGURE_SPACE * (longest - len(decimals))}", "nowrap")
    return [number, text(f" {unit}", blocks.MUTED)] if unit else [number]


def distance_spans(check: Check) -> list[Span]:
    """The bar and its words; nothing where a check has no distance."""
    distance = check["distance"]
    if distance is None:
        return []
    return [blocks.distance_bar(bar_share(check), inside=distance["inside"], label=distance["text"]), {"k": "break"}, text(distance["text"])]


def bar_share(check: Check) -> float:
    """Length of the distance bar, 0 to 1: the distance as a share of the bound, cut off at one bound away.

    A distance too large for a JSON number (None) is far away: the whole length."""
    distance, bound = check["distance"]["value"], check["bound"]["value"]
    if distance is None:
        return 1
    scale = max(abs(bound or 0), abs(distance))
    return abs(distance) / scale if scale else 0


def evidence_link(check: Check) -> list[Span]:
    """The way to the page that shows why."""
    page = navigation.BY_KEY.get(check["page"])
    return [] if page is None or page.key == "overview" else [blocks.link(page.title, page.key)]


def checks_table(identity: str, checks: Iterable[Check], strengths: Mapping[str, Mapping[str, Any]], *, label: str) -> Block:
    """The table of checks. ``strengths``: what the counts behind each can prove, by its name."""
    ordered = in_order(checks)
    split = [split_figure(check["observed"]["text"]) for check in ordered]
    figures = aligned([figure for _, figure in split])
    columns = [
        blocks.column("Check", head=True), blocks.column("State"), blocks.column("Counted", align="right"),
        blocks.column("Observed", align="right"), blocks.column("Bound"), blocks.column("Distance"), blocks.column("Strength"),
        blocks.column("Shown on"),
    ]
    rows = [
        _row(check, counted, figure, strength_spans(strengths.get(check["name"])))
        for check, (counted, _), figure in zip(ordered, split, figures, strict=True)
    ]
    return blocks.table(identity, columns, rows, label=label)


def _row(check: Check, counted: str, figure: list[Span], strength: list[Span]) -> dict[str, Any]:
    tone = {"fails": "bad", "undefined": "off"}.get(check["state"])
    detail = [muted(check["detail"], blocks.SMALL)] if tone or check["state"] == "warning" else []
    said = text(counted, "keep")
    observed = [blocks.cell(said, tone="id"), blocks.cell(*figure, tone="nowrap")] if figure else [blocks.cell(said, across=True)]
    return blocks.row(
        blocks.cell(text(words.check_title(check["name"]), "keep")), blocks.cell(state_badge(check)), *observed,
        blocks.cell(muted(check["bound"]["text"])), blocks.cell(*distance_spans(check)), blocks.cell(*strength),
        blocks.cell(*evidence_link(check)), tone=tone, detail=detail,
    )


def remedies(checks: Iterable[Check]) -> list[str]:
    """What would have to be true, one sentence for each check that fails or is undefined."""
    return [check["remedy"] for check in in_order(checks) if check["decides"] and check["remedy"] and check["state"] in ("fails", "undefined")]
