"""The style report as blocks: a table of markers, what could not be judged, phrases, lengths. Pure."""
from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from core.gates.style_report import NOT_JUDGED
from core.settings import SETTINGS
from core.statistics.ratio import decimal_text
from core.text import capital, sentence
from dashboard import blocks, words
from dashboard.blocks import Block, Span, mono, muted, strong, text

_COUNTS: Final = (("chosen_only", "Chosen only"), ("rejected_only", "Rejected only"), ("both", "Both"), ("neither", "Neither"))
_DECIMALS: Final[int] = SETTINGS["reports"]["length_decimals"]
NOTHING_JUDGED: Final = "No marker could be judged, so nothing is known about what the style of these pairs would teach."
Report = Mapping[str, Any]


def teaching_block(report: Report) -> Block:
    """What stands out, and what training on these pairs would teach."""
    read, *said = report["sentences"]
    if all(marker["not_judged"] is not None for marker in report["markers"]):
        said = [NOTHING_JUDGED]
    # the finding first, then what was read
    return blocks.bullets(*([strong(line)] for line in reversed(said)), [muted(read)])


def markers_table(report: Report) -> Block:
    """Pairs by which side has a marker; its correlation with being the chosen side; what it comes to in a line below."""
    columns = [
        blocks.column("Marker", head=True), *(blocks.column(title, align="right") for _, title in _COUNTS),
        blocks.column("Correlation with being chosen"), blocks.column("McNemar, Holm"),
    ]
    return blocks.table("markers", columns, [_marker_row(marker) for marker in report["markers"]], label="Markers of style by side")


def _marker_row(marker: Mapping[str, Any]) -> dict[str, Any]:
    name, counts = blocks.cell(_title(marker)), [blocks.cell(words.count(marker["counts"][key])) for key, _ in _COUNTS]
    if marker["not_judged"] is not None:
        return blocks.row(name, *counts, blocks.cell(muted("not judged"), across=True), tone="quiet")
    loud = marker["flagged"] or marker["shown"]
    return blocks.row(
        name, *counts, blocks.cell(marker["said"]["correlation"]), blocks.cell(marker["said"]["p"]),
        tone="bad" if marker["flagged"] else "off" if loud else None, detail=[text(sentence(marker["said"]["says"]))] if loud else (),
    )


def _title(marker: Mapping[str, Any]) -> str:
    return capital(str(marker["title"]))


def not_judged_block(report: Report) -> Block | None:
    """Markers that could not be judged, each with the reason; None where each one was."""
    reasons: dict[str, list[str]] = {}
    for marker in report["markers"]:
        if marker["not_judged"] is not None:
            reasons.setdefault(marker["not_judged"], []).append(marker["title"])
    if not reasons:
        return None
    return blocks.paragraph(muted("Not judged: "), text("; ".join(f"{', '.join(titles)} ({NOT_JUDGED[why]})" for why, titles in reasons.items())))


def method_block(report: Report) -> Block:
    """How it was judged, in one line."""
    bound = report["style_correlation"]
    flagged = "nothing is flagged: this grid has no style_correlation" if bound is None else (
        f"flagged from a correlation of {decimal_text(Fraction(bound['exact']))} either way (style_correlation)"
    )
    table = report["phrase_table"]
    return blocks.paragraph(muted(
        f"An exact McNemar test of chosen only against rejected only, corrected over the markers judged (Holm), shown at "
        f"{decimal_text(Fraction(report['alpha']['exact']))}; {flagged}. Phrases are those of table {table['version']} ({table['language']}); "
        "what an answer sounds like is no verdict on it.", blocks.SMALL,
    ))


def phrases_table(report: Report) -> Block | None:
    """The phrases found first in an answer, most frequent first; None where there is none."""
    found = [marker for marker in report["markers"] if any(marker["phrases"].values())]
    if not found:
        return None
    columns = [blocks.column("Found first in an answer", head=True), blocks.column("On the chosen side"), blocks.column("On the rejected side")]
    rows = [blocks.row(blocks.cell(_title(one)), *(blocks.cell(*_phrases(one["phrases"][side])) for side in ("chosen", "rejected"))) for one in found]
    return blocks.table("phrases", columns, rows, label="Phrases of each marker")


def _phrases(items: list[list[Any]]) -> list[Span]:
    return [
        span for place, (phrase, count) in enumerate(items)
        for span in (*([muted("  ·  ")] if place else []), mono(phrase), muted(f" {words.count(count)}"))
    ] or [muted("none")]


def length_block(report: Report) -> Block:
    """How long the chosen answers are beside the rejected ones."""
    found, pairs = report["length"], report["scope"]["pairs"]
    longer, shorter = found["chosen_longer"], found["rejected_longer"]
    return blocks.facts([
        ("Chosen is longer", [strong(f"{words.count(longer)} of {words.count(pairs)}"), muted(f"  {words.share(longer, pairs)}")]),
        ("Rejected is longer", [text(f"{words.count(shorter)} of {words.count(pairs)}"), muted(f"  {words.share(shorter, pairs)}")]),
        ("As long", [text(f"{words.count(pairs - longer - shorter)} of {words.count(pairs)}")]),
        ("Median difference", [text(_signed(found["median"])), muted(f"  {found['unit']}, chosen less rejected")]),
        ("Mean difference", [text(_signed(found["mean"])), muted(f"  {found['unit']}")]),
    ])


def _signed(value: Mapping[str, Any] | None) -> str:
    if value is None:
        return "not defined"
    exact = Fraction(value["exact"])
    return f"{'+' if exact > 0 else ''}{decimal_text(exact, _DECIMALS)}"
