"""The near-duplicate report as blocks: how much is alike, the clusters, two texts of one side by side. Pure."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from core.gates.finding_list import STATES
from core.pairs.contamination import FIELDS
from core.pairs.word_diff import word_differences
from core.settings import SETTINGS
from core.statistics.ratio import decimal_text, rounded_decimal
from dashboard import blocks, words
from dashboard.blocks import Block, Span, mono, muted, strong, text
from dashboard.contamination_view import PAGE, state_badge, state_words
from dashboard.leakage_params import CLUSTERS, of_others

FIELD_WORDS: Final[Mapping[str, str]] = {"prompt": "prompt", "chosen": "chosen answer", "rejected": "rejected answer"}
_EXCERPT: Final[int] = SETTINGS["reports"]["excerpt_characters"]


@dataclass(frozen=True, slots=True)
class Opened:
    """What the URL asks for: the field, a page of clusters, the open cluster, the pair whose text is shown beside the first."""

    field: str = FIELDS[0]
    page: int = 1
    cluster: int | None = None
    beside: str | None = None
    others: tuple[tuple[str, str], ...] = ()

    def params(self) -> dict[str, str]:
        """As query parameters; what is at its default is left out. Clusters count from 1 there, as on the page."""
        named = {
            "field": self.field if self.field != FIELDS[0] else None, "clusters_page": str(self.page) if self.page > 1 else None,
            "cluster": None if self.cluster is None else str(self.cluster + 1), "beside": self.beside,
        }
        return {**dict(self.others), **{name: value for name, value in named.items() if value}}


def opened_of(params: Mapping[str, str], page: int, total: int) -> Opened:
    """A view of the clusters from query parameters; what means nothing there is left out."""
    field, number = params.get("field", ""), params.get("cluster", "")
    known = number.isascii() and number.isdigit() and len(number) <= len(str(total)) and 0 < int(number) <= total
    return Opened(
        field if field in FIELDS else FIELDS[0], page, int(number) - 1 if known else None, params.get("beside") or None,
        of_others(CLUSTERS, params),
    )


def verdict_block(document: Mapping[str, Any], pairs: Mapping[str, int], together: int) -> Block:
    """How many texts are near-duplicates, and whether training would see one thing several times."""
    texts, noun = document["texts"], FIELD_WORDS[document["field"]]
    if not document["clusters"]:
        return blocks.notice("check", "ok", [strong(f"No {noun} is a near-duplicate of another: {words.count(texts['compared'])} compared.")])
    inside, every = texts["in_clusters"], texts["compared"]
    said = f"{words.count(inside)} of {words.plural(every, noun)} are near-duplicates ({words.share(inside, every)}): {state_words(pairs)}."
    sizes = f"{words.plural(document['clusters'], 'cluster')}; the largest has {words.count(document['largest'])}. "
    trained = "No cluster has two admitted pairs, so nothing would be trained on twice for it." if not together else (
        f"{words.plural(together, 'cluster')} {'has' if together == 1 else 'have'} two or more admitted pairs: training sees them several times."
    )
    return blocks.notice("note", "off", [strong(said)], [f"{sizes}{trained}"])


def facts_block(document: Mapping[str, Any]) -> Block:
    """The rule, how candidates are found, what was not compared."""
    rules, method, texts = document["rules"], document["method"], document["texts"]
    left = [
        (texts["without_words"], "text without words", "texts without words"), (texts["quarantined"], "quarantined row", "quarantined rows"),
        (texts["left_out"], "text beyond what is held at once", "texts beyond what is held at once"),
    ]
    missing = ", ".join(words.plural(number, one, many) for number, one, many in left if number)
    rows = [
        ("Rule", [text(f"Jaccard similarity of {rules['shingle_words']}-word shingles of at least {rules['jaccard']}, compared exactly")]),
        ("Candidates", [muted(f"MinHash, {method['permutations']} permutations in {method['bands']} bands; two texts at the bound are missed with "
                              f"probability {method['chance_to_miss_at_the_bound']}")]),
    ]
    if missing:
        rows.append(("Not compared", [text(missing)]))
    if document["cut"]:
        rows.append(("Cut short", [text(f"{words.count(document['cut'])} times, where many texts share a rare shingle: clusters may be larger")]))
    return blocks.facts(rows)


def clusters_table(rows: Sequence[Mapping[str, int]], document: Mapping[str, Any], opened: Opened) -> Block:
    """One page of clusters, the largest first; the report knows the beginnings of the largest only."""
    columns = [
        blocks.column("Cluster", head=True), blocks.column("Texts", align="right"), blocks.column("Different", align="right"),
        *(blocks.column(state.capitalize(), align="right") for state in STATES), blocks.column("Similarity", align="right"), blocks.column("Begins"),
    ]
    return blocks.table("clusters", columns, [_cluster_row(row, document["listed"], opened) for row in rows], label="Clusters, the largest first")


def _cluster_row(row: Mapping[str, int], listed: Sequence[Mapping[str, Any]], opened: Opened) -> dict[str, Any]:
    number, here = f"{row['cluster'] + 1}", row["cluster"] == opened.cluster
    name = strong(number) if here else blocks.link(number, PAGE, **replace(opened, cluster=row["cluster"], beside=None).params())
    known = listed[row["cluster"]] if row["cluster"] < len(listed) else None
    begins = muted("open to read") if known is None else mono(blocks.shortened_prose(known["example"][0]["text"], _EXCERPT))
    alike = [] if known is None else _similarity(Fraction(known["jaccard"]))
    different = muted("") if known is None else text(words.count(known["different_texts"]))
    counts = [text(words.count(row[state])) if row[state] else muted("0") for state in STATES]
    return blocks.row(
        blocks.cell(name), blocks.cell(words.count(row["size"])), blocks.cell(different), *map(blocks.cell, counts), blocks.cell(*alike, tone="id"),
        blocks.cell(begins), tone="chosen" if here else None,
    )


def _similarity(value: Fraction) -> list[Span]:
    """The fraction in the second rank, the decimal in full, so that a column of them is compared at a glance."""
    places = SETTINGS["display"]["decimals"]
    return [*([] if value == 1 else [muted(f"{value.numerator}/{value.denominator}  ", blocks.SMALL)]), text(str(rounded_decimal(value, places)))]


def similarity_words(value: Fraction) -> str:
    """``9/11, 0.8182``: shared shingles of all, and as a decimal."""
    return "1" if value == 1 else f"{value.numerator}/{value.denominator}, {decimal_text(value)}"


def members_blocks(members: Sequence[Mapping[str, Any]], size: int, opened: Opened, shown: Mapping[str, Any]) -> list[Block]:
    """The pairs of the open cluster, each a way to put its text beside the first one's."""
    groups = []
    for member in members[1:]:
        here = member["ordinal"] == shown["ordinal"]
        link = blocks.link(member["pair_id"], PAGE, **replace(opened, beside=member["pair_id"]).params())
        groups.append([strong(member["pair_id"], blocks.MONO) if here else link, text(" "), state_badge(member["state"])])
    more = [[muted(f"and {words.count(size - len(members))} more")]] if size > len(members) else []
    number = words.count((opened.cluster or 0) + 1)
    lead = [strong(f"Cluster {number}: "), mono(members[0]["pair_id"]), text(" "), state_badge(members[0]["state"]), muted(" beside")]
    return [blocks.line(lead, *groups, *more)]


def pair_of_texts(
    first: Mapping[str, Any], other: Mapping[str, Any], texts: tuple[str, str], similarity: Fraction, field: str,
) -> tuple[Block, list[Block], list[Block]]:
    """What the two come to, and both texts with their differences marked. ``first``, ``other``: members of a cluster."""
    one, two = texts
    found = word_differences(one, two)
    if one == two:
        said = "The two texts are the same, character for character."
    elif not found.compared:
        said = "The texts are too long to be compared word by word; nothing is marked."
    else:
        said = "Passages that only one of them has are underlined (left) and dashed (right)."
    alike = f"Similarity {similarity_words(similarity)}; letter case, punctuation and system turns do not count."
    lead = blocks.paragraph(muted(f"{alike} {said}", blocks.SMALL))
    return lead, _side(first, one, found.chosen, field), _side(other, two, found.rejected, field)


def _side(member: Mapping[str, Any], value: str, pieces: Sequence[tuple[str, str]], field: str) -> list[Block]:
    opens = blocks.link("open the pair", "rejected", state=member["state"], pair=member["pair_id"])
    caption = muted(f"  {FIELD_WORDS[field]} · {words.plural(len(value), 'character')}  ", blocks.SMALL)
    shown = blocks.marked_text(pieces) if value else blocks.paragraph(muted("empty"))
    return [blocks.paragraph(mono(member["pair_id"]), text(" "), state_badge(member["state"]), caption, opens), shown]
