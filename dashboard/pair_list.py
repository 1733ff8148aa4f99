"""Lists of pairs as blocks: the reasons with counts that sum, the states, one page of pairs, the way through the pages. Pure.

A row is opened by a link that carries its pair id, so what is open is never a position in a list.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from core.rounds.queries import PAGE_ROWS, StateCounts
from core.rounds.query_bins import BinPlan
from core.sampling.marks import Marked
from core.settings import SETTINGS
from dashboard import blocks, words
from dashboard.blocks import Block, Span, mono, muted, strong, text
from dashboard.chart_words import fixed, range_text
from dashboard.pair_params import QUARANTINED, PairView, without
from dashboard.pair_words import INVALID_TITLES, KEY_TITLES, ORDER_TITLES, SHORT_REASONS, STATE_TITLES

_DECIMALS: Final[int] = SETTINGS["dashboard"]["list_decimals"]
_UNMARKED: Final = Marked()
Plans = Mapping[str, BinPlan]
Rows = Sequence[Mapping[str, Any]]


def states_line(shown: PairView, counts: StateCounts) -> Block:
    """The four lists, each with its count; the open one in strong type."""
    groups = []
    for state, title in STATE_TITLES.items():
        number = words.count(getattr(counts, state))
        groups.append([strong(f"{title} {number}")] if state == shown.state else [blocks.link(f"{title} {number}", "rejected", state=state)])
    return blocks.line(*groups)


Parts = Mapping[str, Sequence[tuple[str, int]]]
"""Reason -> what its pairs (by first reason) are made up of: title and pairs, which add up to the reason."""


def reason_parts(curation: Mapping[str, Any] | None) -> Parts:
    """Invalid records by their first sub-code, duplicates by the keys that they share with an admitted pair."""
    if curation is None:
        return {}
    return {
        "invalid_record": [(INVALID_TITLES[code], pairs) for code, pairs in curation["sub_codes"].items() if pairs],
        "duplicate": [
            (f"same {' and '.join(KEY_TITLES[key] for key in item['keys'])}", item["pairs"]) for item in curation["duplicate_keys"] if item["pairs"]
        ],
    }


def parts_blocks(parts: Parts) -> list[Block]:
    """What the counts by first reason are made up of, where a reason has parts."""
    rows = [
        blocks.row(blocks.cell(text(title), muted(f"  {words.REASON_TITLES[reason].lower()}", blocks.SMALL)), blocks.cell(words.count(pairs)))
        for reason, found in parts.items() for title, pairs in found
    ]
    columns = [blocks.column("Of these"), blocks.column("Pairs", align="right")]
    return [blocks.table("reason-parts", columns, rows, label="Rejected pairs by sub-code and by shared key")] if rows else []


def reasons_table(shown: PairView, reasons: Rows, plans: Plans) -> Block:
    """Rejected pairs by reason: by first reason (sums to the total) and at all. Each number opens its list."""
    total = sum(row["primary_pairs"] for row in reasons)
    every = shown.but(reason=None, any_reason=False)
    rows = [_reason_row("All reasons", every, total, None, None, shown, plans)]
    for row in reasons:
        first = shown.but(reason=row["reason"], any_reason=False)
        anywhere = shown.but(reason=row["reason"], any_reason=True)
        rows.append(_reason_row(words.REASON_TITLES[row["reason"]], first, row["primary_pairs"], anywhere, row["all_pairs"], shown, plans))
    columns = [blocks.column("Reason"), blocks.column("First", align="right"), blocks.column("At all", align="right")]
    return blocks.table("reasons", columns, rows, label="Rejected pairs by reason")


def _reason_row(
    title: str, first: PairView, pairs: int, anywhere: PairView | None, all_pairs: int | None, shown: PairView, plans: Plans,
) -> dict[str, Any]:
    is_open = (shown.reason, shown.any_reason) == (first.reason, False)
    is_wide = anywhere is not None and (shown.reason, shown.any_reason) == (anywhere.reason, True)
    name: Span = blocks.link(title, "rejected", **first.params(plans)) if pairs or all_pairs else muted(title)
    name = strong(title) if is_open or is_wide else name
    wide = blocks.cell() if anywhere is None else blocks.cell(_number(all_pairs or 0, anywhere, is_wide, plans))
    return blocks.row(blocks.cell(name), blocks.cell(_number(pairs, first, is_open, plans)), wide, chosen=is_open or is_wide)


def _number(pairs: int, view: PairView, is_open: bool, plans: Plans) -> Span:
    if is_open:
        return strong(words.count(pairs))
    return blocks.link(words.count(pairs), "rejected", **view.params(plans)) if pairs else muted("0")


def sum_words(reasons: Rows) -> str:
    """The counts as a sum whose terms have names."""
    total = sum(row["primary_pairs"] for row in reasons)
    terms = " + ".join(f"{words.count(row['primary_pairs'])} {words.REASON_TITLES[row['reason']].lower()}" for row in reasons)
    return f"By first reason: {terms} = {words.count(total)}."


def held_table(held: Rows, shown: PairView, plans: Plans) -> Block:
    """Held pairs by judge and the check that keeps its gate closed."""
    columns = [blocks.column("Judge"), blocks.column("Closed by"), blocks.column("Pairs", align="right")]
    rows = []
    for row in held:
        judge = row["judge_id"]
        name: Span = muted("none named") if judge is None else blocks.link(judge, "rejected", **shown.but(judge=judge).params(plans))
        rows.append(blocks.row(blocks.cell(name), blocks.cell(words.check_title(row["held_check"])), blocks.cell(words.count(row["pairs"])),
                               chosen=judge is not None and judge == shown.judge))
    return blocks.table("held", columns, rows, label="Held pairs by judge")


def filter_chips(shown: PairView, plans: Plans) -> list[list[Span]]:
    """What narrows the list besides reason and state, each with a way to take it off."""
    groups = [
        [blocks.link(range_text(plans[item.measure], item), "rejected", icon_name="cross", title="Take this range off",
                     **shown.but(ranges=without(shown.ranges, item.measure)).params(plans))]
        for item in shown.ranges
    ]
    for name, said in (("origin", f"origin {shown.origin}"), ("judge", f"judge {shown.judge}"), ("search", f"search “{shown.search}”")):
        if getattr(shown, name) is not None:
            groups.append([blocks.link(said, "rejected", icon_name="cross", title="Take this filter off", **shown.but(**{name: None}).params(plans))])
    return groups


_COLUMNS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "rejected": (("Drift", "drift"), ("Margin", "margin"), ("Ratio", "length_ratio")),
    "admitted": (("Rank", "rank"), ("Loss", "rpo_loss"), ("Drift", "drift"), ("Margin", "margin")),
    "held": (("Drift", "drift"), ("Margin", "margin"), ("Ratio", "length_ratio")),
}


def pairs_table(rows: Rows, shown: PairView, open_pair: str | None, plans: Plans, marked: Marked = _UNMARKED) -> Block:
    """One page of pairs. Figures are left out where no pair has any; further reasons, where no pair has one. ``marked``: by the
    person who sits here."""
    figures = _COLUMNS[shown.state] if any(row["drift"] is not None for row in rows) else ()
    wrong = any(row["sub_code"] for row in rows) and not figures
    also = shown.state == "rejected" and any(len(row["reasons"]) > 1 for row in rows)
    columns = [blocks.column("Pair", width=SETTINGS["dashboard"]["id_width"]), *(blocks.column(title, align="right") for title, _ in figures)]
    columns += [blocks.column("What is wrong")] if wrong else []
    columns += [blocks.column("Also")] if also else []
    body = []
    for row in rows:
        is_open = row["pair_id"] == open_pair
        name = strong(row["pair_id"], blocks.MONO) if is_open else blocks.link(row["pair_id"], "rejected", **_opened(shown, row["pair_id"], plans))
        cells = [blocks.cell(name, *_mark_spans(marked, row["pair_id"])), *(blocks.cell(_figure(row, column)) for _, column in figures)]
        if wrong:
            cells.append(blocks.cell(muted(INVALID_TITLES.get(row["sub_code"], ""), blocks.SMALL)))
        if also:
            cells.append(blocks.cell(muted(", ".join(SHORT_REASONS[reason] for reason in row["reasons"][1:]), blocks.SMALL)))
        body.append(blocks.row(*cells, chosen=is_open))
    return blocks.table("pairs", columns, body, label="Pairs of this page")


def _mark_spans(marked: Marked, pair_id: str) -> list[Span]:
    """Below an id: how this person marked it."""
    said = [word for word, ids in (("disputed", marked.disputed), ("seen", marked.seen)) if pair_id in ids]
    return [{"k": "break"}, muted(", ".join(said), blocks.SMALL)] if said else []


def _opened(shown: PairView, pair_id: str, plans: Plans) -> dict[str, str]:
    return shown.but(page=shown.page, pair=pair_id).params(plans)


def _figure(row: Mapping[str, Any], column: str) -> Span:
    value = row[column]
    if value is None:
        return muted("none")
    return text(words.count(value + 1) if column == "rank" else fixed(value, _DECIMALS))


def page_line(shown: PairView, rows_here: int, total: int, plans: Plans, *, noun: str = "") -> Block:
    """Where this page lies in the whole, in which order, and the way to the pages beside it."""
    pages = max(1, -(-total // PAGE_ROWS))
    start = (shown.page - 1) * PAGE_ROWS
    said = [text(f"{words.count(start + 1)} to {words.count(start + rows_here)} of {words.count(total)}")]
    said += [muted(f", {noun or ORDER_TITLES[shown.sort]}")]
    groups = [said]
    for label, page in (("previous page", shown.page - 1), ("next page", shown.page + 1)):
        if 1 <= page <= pages:
            groups.append([blocks.link(label, "rejected", **shown.but(page=page).params(plans))])
    return blocks.line(*groups)


def quarantine_table(rows: Rows) -> Block:
    """Input rows that could not be typed: place, field, what was expected, the row as it came."""
    columns = [
        blocks.column("Place", head=True), blocks.column("Field"), blocks.column("What is wrong"), blocks.column("The row as it came"),
    ]
    limit = SETTINGS["text"]["label_characters"]
    body = [
        blocks.row(
            blocks.cell(text(f"{row['file']}, line {words.count(row['line'])}")), blocks.cell(text(row["field"] or "whole row")),
            blocks.cell(mono(row["code"]), muted(f"  expected {row['expected']}")),
            blocks.cell(mono(row["raw"][:limit] + ("…" if len(row["raw"]) > limit else ""))),
        )
        for row in rows
    ]
    return blocks.table(QUARANTINED, columns, body, label="Quarantined rows")
