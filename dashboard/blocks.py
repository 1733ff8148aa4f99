"""The vocabulary of a sheet: spans inside a line, blocks one below the other. Pure functions to plain JSON.

``dashboard/static/sheet.js`` draws them, each text through ``textContent``; so any text may be passed here, also a model's.
Hidden characters (control, bidirectional, zero-width) become visible marks on the way. A link names a page of the
navigation and the view it opens (round, judge, case, ...), never an address.

    sheet("facts", heading("Net gain"), paragraph(strong("16 of 501"), text(" items, "), muted("over both arms")))
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from core.settings import SETTINGS
from core.text import visible, visible_line
from dashboard import navigation
from dashboard.words import Tone

Span = dict[str, Any]
Block = dict[str, Any]
STRONG, MUTED, SMALL, MONO = "strong", "muted", "small", "mono"


def text(value: object, *classes: str) -> Span:
    """Plain text, one line. ``classes``: STRONG, MUTED, SMALL, MONO, or a tone."""
    return {"k": "text", "t": visible_line(str(value)), "c": list(classes)}


def strong(value: object, *classes: str) -> Span:
    """Text that the eye should find first."""
    return text(value, STRONG, *classes)


def muted(value: object, *classes: str) -> Span:
    """Text of the second rank: units, intervals, explanations."""
    return text(value, MUTED, *classes)


def mono(value: object, *classes: str) -> Span:
    """An id, in monospace."""
    return text(value, MONO, *classes)


def icon(name: str) -> Span:
    """An icon of sheet.js; decorative, so a word must stand beside it."""
    return {"k": "icon", "icon": name}


def badge(word: str, tone: Tone, icon_name: str) -> Span:
    """A state: word, icon and colour."""
    return {"k": "badge", "t": visible_line(word), "icon": icon_name, "c": [tone]}


def digest(value: str, label: str = "the whole digest") -> Span:
    """The first characters of a digest, and a button that copies all of it."""
    return {"k": "digest", "t": visible_line(value[: SETTINGS["display"]["digest_characters"]]), "full": visible_line(value), "label": label}


def link(label: str, page: str, *, title: str | None = None, icon_name: str | None = None, **view: str) -> Span:
    """A way to another page of this application, or to another view of it. ``view``: names of navigation.VIEW_KEYS."""
    return {
        "k": "link", "t": visible_line(label), "page": page, "params": dict(view), "href": navigation.address(page, view),
        "title": title and visible_line(title), "icon": icon_name, "c": [],
    }


def distance_bar(share: float, *, inside: bool, label: str) -> Span:
    """A bar from the bound (the tick in the middle): to the right inside it, to the left outside. ``share``: length, 0 to 1."""
    return {"k": "bar", "share": share, "inside": inside, "label": visible_line(label)}


def sparkline(points: Sequence[float | None], label: str) -> Span:
    """A small trend, oldest first; ``points`` scaled to 0..1, None where there is no figure."""
    return {"k": "spark", "points": list(points), "label": visible_line(label)}


def heading(*spans: Span | str, level: Literal["h1", "h2", "h3"] = "h2") -> Block:
    """A heading; h1 once a page (see components.headline)."""
    return {"k": "heading", "level": level, "spans": spans_of(spans)}


def paragraph(*spans: Span | str, tone: str | None = None) -> Block:
    """One paragraph."""
    return {"k": "paragraph", "spans": spans_of(spans), "c": [tone] if tone else []}


def bullets(*items: Sequence[Span | str]) -> Block:
    """A list; each item is a sequence of spans."""
    return {"k": "list", "items": [spans_of(item) for item in items]}


def line(*groups: Sequence[Span | str]) -> Block:
    """Groups side by side, each kept whole when the line wraps."""
    return {"k": "line", "groups": [spans_of(group) for group in groups]}


def facts(rows: Iterable[tuple[str, Sequence[Span | str]]]) -> Block:
    """Label and value, one below the other."""
    return {"k": "facts", "rows": [[spans_of([label]), spans_of(value)] for label, value in rows]}


def notice(icon_name: str, tone: Tone, *lines: Sequence[Span | str], urgent: bool = False) -> Block:
    """A box with an icon: what is the matter, then what to do. ``urgent``: read out at once by a screen reader."""
    return {"k": "notice", "icon": icon_name, "c": [tone], "lines": [spans_of(item) for item in lines], "urgent": urgent}


def column(label: str, *, align: str = "left", sort: bool = False, head: bool = False, down: bool = False, width: str | None = None,
           under: Sequence[Span | str] = ()) -> dict[str, Any]:
    """A table column. ``head``: its cells name their row; ``down``: the first click sorts from high to low; ``under``: below the label."""
    return {"label": visible_line(label), "align": align, "sort": sort, "head": head, "down": down, "width": width, "under": spans_of(under)}


def cell(*spans: Span | str, sort: float | str | None = None, tone: str | None = None, across: bool = False) -> dict[str, Any]:
    """A table cell; ``sort``: what the column is sorted by (None goes last); ``across``: it takes the next column's place too."""
    return {"spans": spans_of(spans), "sort": sort, "c": [tone] if tone else [], "across": across}


def id_cell(span: Span, *, tone: str | None = None) -> dict[str, Any]:
    """A cell with an id, as text or as a link: a short one stays on one line, a long one breaks."""
    return cell(span, tone="id" if len(span["t"]) <= SETTINGS["display"]["whole_id_characters"] else tone)


def row(*cells: Mapping[str, Any], tone: str | None = None, chosen: bool = False, detail: Sequence[Span | str] = ()) -> dict[str, Any]:
    """A table row. ``tone``: ``bad`` and ``off`` draw a mark at its edge, ``quiet`` greys it; ``chosen``: it is the open one;
    ``detail``: a line below it over the whole width."""
    return {"cells": list(cells), "c": [*([tone] if tone else []), *(["chosen"] if chosen else [])], "detail": spans_of(detail)}


def table(identity: str, columns: Sequence[Mapping[str, Any]], rows: Iterable[Mapping[str, Any]], *, label: str, fit: bool = False,
          tall: bool = False) -> Block:
    """A table. ``identity``: keeps the chosen sort order; ``label``: its name for a screen reader; ``fit``: as narrow as its content;
    ``tall``: a long list that scrolls in a box, so that what is open stays beside it."""
    return {
        "k": "table", "id": identity, "columns": list(columns), "rows": list(rows), "label": visible_line(label), "c": ["fit"] if fit else [],
        "tall": tall,
    }


def shortened_prose(value: str, limit: int) -> str:
    """The start of a text on one line, white space closed up, with an ellipsis where something follows."""
    line = " ".join(value.split())
    return line if len(line) <= limit else f"{line[:limit].rstrip()}…"


def model_text(value: str) -> Block:
    """A model's or a proposer's text: monospace, wrapped, hidden characters visible, long text folded behind "Show all"."""
    return marked_text([("same", value)])


def prose(value: str) -> Block:
    """A person's text of several lines, as written; long text folded."""
    return _folded([("same", value)], "prose")


def marked_text(pieces: Iterable[tuple[str, str]]) -> Block:
    """Like :func:`model_text`, in pieces ``(kind, text)`` with kind ``same``, ``added`` (underlined), ``removed`` (dashed underline) or ``shared``
    (underlined twice: what two texts have in common)."""
    return _folded(pieces, "pre")


def _folded(pieces: Iterable[tuple[str, str]], style: str) -> Block:
    """A text whose start is shown at once: cut by characters of the text itself, so that no mark is cut in two."""
    left = SETTINGS["display"]["fold_characters"]
    head, rest, more = [], [], 0
    for kind, value in pieces:
        start, end = value[:left], value[left:]
        left -= len(start)
        more += len(end)
        head += [{"c": kind, "t": visible(start)}] if start else []
        rest += [{"c": kind, "t": visible(end)}] if end else []
    return {"k": "text", "c": [style], "pieces": head, "rest": rest, "more": more}


def spans_of(items: Iterable[Span | str]) -> list[Span]:
    """Spans, bare strings among them made into text."""
    return [text(item) if isinstance(item, str) else item for item in items]


def plain(blocks: Iterable[Block]) -> str:
    """All text of some blocks, for tests and for whoever reads without a browser."""
    return "\n".join(filter(None, (_plain(block) for block in blocks)))


def _plain(node: object) -> str:
    if isinstance(node, dict):
        own = [str(node[name]) for name in ("t", "label") if isinstance(node.get(name), str)]
        kept = (value for name, value in node.items() if name not in ("t", "label", "params", "href", "c", "id", "title"))
        return " ".join(filter(None, [*own, *(_plain(value) for value in kept if isinstance(value, (dict, list)))]))
    if isinstance(node, list):
        return " ".join(filter(None, (_plain(item) for item in node)))
    return ""
