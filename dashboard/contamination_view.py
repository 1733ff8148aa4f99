"""The contamination report as blocks: what was looked for and found, the list of findings, both texts of one. Pure."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from core.gates.finding_evidence import Evidence
from core.gates.finding_list import PLACES, STATES, FindingFilter
from core.pairs.contamination import EXACT, HOLDOUT, RULES, SAME_TASK, TRAINING
from core.pairs.locked_tasks import UNJUDGED
from core.pairs.words import Span as Stretch
from core.settings import SETTINGS
from core.text import capital
from dashboard import blocks, words
from dashboard.blocks import Block, Span, badge, mono, muted, strong, text
from dashboard.leakage_params import FINDINGS, of_others
from dashboard.pair_words import STATE_BADGES

PAGE: Final = "leakage"
REPORT_ONLY: Final = "These are reports: under this grid no check reads them, and no pair is rejected for what they find."
RULE_TITLES: Final[Mapping[str, str]] = {
    SAME_TASK: "Same task id", EXACT: "Equal words", TRAINING: "Made of the locked text", HOLDOUT: "Holds the locked text",
}
PLACE_TITLES: Final[Mapping[str, str]] = {"prompt": "Prompt", "chosen": "Chosen", "rejected": "Rejected", SAME_TASK: "Task id"}
_SHOWN: Final[int] = SETTINGS["contamination"]["shown"]
_NAMED: Final[int] = SETTINGS["display"]["named_ids"]


@dataclass(frozen=True, slots=True)
class Shown:
    """What the URL asks of the list: a filter, a page, the open finding (pair id, and the field it stands in)."""

    state: str | None = None
    rule: str | None = None
    place: str | None = None
    page: int = 1
    pair: str | None = None
    at: str | None = None
    others: tuple[tuple[str, str], ...] = ()
    """What the other sections of the page show: it stays when something is opened here."""

    @property
    def filter(self) -> FindingFilter:
        return FindingFilter(self.state, self.rule, self.place)

    def but(self, **changes: Any) -> Shown:
        """Another view of the list: on its first page, nothing open, unless named."""
        return replace(self, **({"page": 1, "pair": None, "at": None} | changes))

    def params(self) -> dict[str, str]:
        """As query parameters; what is at its default is left out."""
        named = {
            "state": self.state, "rule": self.rule, "place": self.place, "pair": self.pair, "at": self.at,
            "findings_page": str(self.page) if self.page > 1 else None,
        }
        return {**dict(self.others), **{name: value for name, value in named.items() if value}}


def shown_of(params: Mapping[str, str], page: int) -> Shown:
    """A view of the list from query parameters; what means nothing there is left out."""
    def one_of(name: str, known: Sequence[str]) -> str | None:
        return params[name] if params.get(name) in known else None

    opened = (params.get(name) or None for name in ("pair", "at"))
    return Shown(one_of("state", STATES), one_of("rule", RULES), one_of("place", PLACES), page, *opened, others=of_others(FINDINGS, params))


def headline_words(document: Mapping[str, Any], pairs: Mapping[str, int]) -> str:
    """The finding in one line, pairs that would be trained on first. ``pairs``: contaminated pairs by state."""
    found, every = document["pairs"]["contaminated"], document["pairs"]["looked_at"]
    if not found:
        return f"None of {words.plural(every, 'pair')} repeats the locked holdout"
    verb = "repeats" if found == 1 else "repeat"
    return f"{words.count(found)} of {words.plural(every, 'pair')} {verb} the locked holdout: {state_words(pairs)}"


def state_words(pairs: Mapping[str, int]) -> str:
    """``1 admitted, 20 held, 5 rejected``; that none is admitted is said."""
    said = [f"{words.count(pairs[state])} {state}" for state in STATES if pairs[state]]
    return ", ".join(said if pairs[STATES[0]] else ["none admitted", *said])


def verdict_block(document: Mapping[str, Any]) -> Block:
    """How many locked items are in the pairs, beside what the grid lets pass."""
    found, every, most = document["contaminated_items"], document["against"]["items"], document["rules"]["max_contaminated_items"]
    items = f"{words.count(found)} of {words.plural(every, 'locked item')}"
    if document["undecided_items"]:
        return _undecided_block(document, items)
    if not found:
        return blocks.notice("check", "ok", [strong(f"No locked item is in the pairs: 0 of {words.count(every)}"), text(", under the rules below.")])
    verb = "is" if found == 1 else "are"
    allowed = f"The grid lets {words.count(most)} pass (max_contaminated_items); "
    exits = [mono("countersign contamination"), text(" exits with 3, and nothing else stops.")] if document["over"] else [text("that is within it.")]
    several = " One pair may repeat several of them." if found > document["pairs"]["contaminated"] else ""
    return blocks.notice(
        "warning", "bad" if document["over"] else "off", [strong(f"{items} {verb} in the pairs."), text(f"{several} {allowed}"), *exits],
        ["A score on an item that was trained on measures memory. Next: have the pairs below taken out, or the items left out of the comparison."],
    )


def _undecided_block(document: Mapping[str, Any], items: str) -> Block:
    """The verdict where ids of locked items stand in the pairs in another form: nobody can say that these items are not in them."""
    undecided, verb = document["undecided_items"], "is" if document["contaminated_items"] == 1 else "are"
    more = "1 more may be: its id stands" if undecided == 1 else f"{words.count(undecided)} more may be: their ids stand"
    over = [mono("countersign contamination"), text(" exits with 3.")] if document["over"] else []
    return blocks.notice(
        "warning", "bad" if document["over"] else "off", [strong(f"{items} {verb} in the pairs; {more} there in another form."), text(" "), *over],
        ["Next: write the ids in one form, or say with ", mono("--leave-out id"), " that they are another numbering."],
    )


def gap_blocks(document: Mapping[str, Any]) -> list[Block]:
    """The locked items that could not be judged by an id, and those that were not looked for at all, each with the reason."""
    unjudged, found = document["task_ids"]["not_judged"], []
    if unjudged["listed"]:
        columns = [blocks.column("Not judged", head=True), blocks.column("Seen as"), blocks.column("At"), blocks.column("In the pair"),
                   blocks.column("Pairs", align="right")]
        rows = [
            blocks.row(
                blocks.cell(mono(one["id"])), blocks.cell(mono(repr(one["task_id"]))), blocks.cell(mono(one["field"])), blocks.cell(mono(one["row"])),
                blocks.cell(words.count(one["rows"])), detail=[muted(f"{capital(UNJUDGED[one['why']])}.", blocks.SMALL)],
            ) for one in unjudged["listed"][:_SHOWN]
        ]
        found.append(blocks.table("unjudged", columns, rows, label="Locked items that could not be judged by their ids"))
        if unjudged["all"] > _SHOWN:
            found.append(blocks.paragraph(muted(f"{words.count(unjudged['all'] - _SHOWN)} more are not shown.")))
    lines = [_not_looked_for(one) for one in document["not_looked_for"]]
    return [*found, blocks.bullets(*lines)] if lines else found


def _not_looked_for(one: Mapping[str, Any]) -> list[Span]:
    by = "by a task id" if one["rule"] == SAME_TASK else "by a text"
    names = [part for item in one["listed"][:_NAMED] for part in (mono(item["id"]), text(" "))]
    more = f"and {words.count(one['items'] - _NAMED)} more" if one["items"] > _NAMED else ""
    return [strong(f"{words.plural(one['items'], 'item')} not looked for {by}"), text(": "), *names, text(f"{more}: {one['why']}.")]


def facts_block(document: Mapping[str, Any], grid_words: str) -> Block:
    """What was held against what, and under which rules."""
    pairs, against, rules = document["pairs"], document["against"], document["rules"]
    lock = {True: muted("the registered one"), False: text("not the one that was registered", "bad"), None: muted("no lock was supplied")}
    looked = f"{words.plural(pairs['texts'], 'text')} of {words.plural(pairs['looked_at'], 'pair')}"
    left = pairs["quarantined"]
    return blocks.facts([
        ("Holdout", [text(f"{words.plural(against['texts'], 'text')} of {words.plural(against['items'], 'item')}  "),
                     blocks.digest(against["sha256"], "the holdout digest"), text("  "), lock[against["lock_holds"]]]),
        ("Looked at", [text(looked), *([muted(f"; not looked at: {words.plural(left, 'quarantined row')}")] if left else [])]),
        ("Grid", [text(f"runs of {rules['ngram_words']} words, {rules['coverage']} of either text  "), muted(grid_words)]),
    ])


def meaning(rule: str, rules: Mapping[str, Any]) -> str:
    """What a rule looks for."""
    share = f"at least {rules['coverage']} of the words lie in runs of {rules['ngram_words']} shared words"
    return {
        SAME_TASK: "the pair carries the task id of a locked item",
        EXACT: "the two texts have the same words in the same order; letter case and punctuation do not count",
        TRAINING: f"of the pair's text, {share}", HOLDOUT: f"of the locked text, {share}",
    }[rule]


def rules_table(document: Mapping[str, Any], counts: Mapping[str, Mapping[str, int]], shown: Shown) -> Block:
    """Findings by rule and place, each count a way to its list; whether each rule could be applied, and why not."""
    columns = [
        blocks.column("Strongest rule", head=True), *(blocks.column(PLACE_TITLES[place], align="right") for place in PLACES),
        blocks.column("Applied"),
    ]
    rows = []
    for rule in RULES:
        why = [one["why"] for one in document["skipped"] if one["rule"] == rule]
        cells = [_count(counts[rule][place], shown, shown.but(state=None, rule=rule, place=place)) for place in PLACES]
        said = ". ".join(capital(one) for one in (meaning(rule, document["rules"]), *why))
        detail = [muted(f"{said}.", blocks.SMALL)]
        never = rule == SAME_TASK and not (document["task_ids"]["items"] and document["task_ids"]["pairs"])
        rows.append(blocks.row(blocks.cell(RULE_TITLES[rule]), *cells, blocks.cell(_applied(bool(why), never=never)), detail=detail))
    return blocks.table("rules", columns, rows, label="Findings by rule and place")


def _count(number: int, shown: Shown, leads_to: Shown) -> dict[str, Any]:
    if not number:
        return blocks.cell(muted("0"))
    if shown.filter == leads_to.filter:
        return blocks.cell(strong(words.count(number)))
    return blocks.cell(blocks.link(words.count(number), PAGE, **leads_to.params()))


def _applied(gaps: bool, *, never: bool) -> Span:
    if never:
        return badge("no", "off", "question")
    return badge("in part", "off", "note") if gaps else badge("yes", "ok", "check")


def filter_line(shown: Shown, pairs: Mapping[str, int], total: int) -> Block:
    """Which findings are listed, and the ways to others."""
    said = [words.count(total), *filter(None, [RULE_TITLES.get(shown.rule or ""), PLACE_TITLES.get(shown.place or "")])]
    groups = [[strong(f"{said[0]} listed" if len(said) == 1 else f"{said[0]} listed: {', '.join(said[1:]).lower()}")]]
    if shown.filter != FindingFilter():
        groups.append([blocks.link("all findings", PAGE, **shown.but(state=None, rule=None, place=None).params())])
    for state in STATES:
        label = f"{state} pairs {words.count(pairs[state])}"
        if shown.state == state:
            groups.append([strong(label)])
        elif pairs[state]:
            groups.append([blocks.link(label, PAGE, **shown.but(state=state).params())])
    return blocks.line(*groups)


def findings_table(rows: Sequence[Mapping[str, Any]], shown: Shown, opened: tuple[str, str] | None) -> Block:
    """One page of findings; the counts are words in shared runs, of all words of the text."""
    columns = [
        blocks.column("Pair", head=True), blocks.column("State"), blocks.column("In"), blocks.column("Rule"),
        blocks.column("Pair's words", align="right"), blocks.column("Locked words", align="right"), blocks.column("Locked item"),
    ]
    body = []
    for row in rows:
        here = (row["pair_id"], row["field"])
        leads = replace(shown, pair=row["pair_id"], at=row["field"])
        name = strong(row["pair_id"], blocks.MONO) if here == opened else blocks.link(row["pair_id"], PAGE, **leads.params())
        body.append(blocks.row(
            blocks.id_cell(name), blocks.cell(state_badge(row["state"])), blocks.cell(PLACE_TITLES[row["place"]]),
            blocks.cell(RULE_TITLES[row["rule"]]),
            blocks.cell(_of(row["covered"], row["words"])), blocks.cell(_of(row["locked_covered"], row["locked_words"])),
            blocks.id_cell(mono(row["item_id"])), tone="chosen" if here == opened else None,
        ))
    return blocks.table("findings", columns, body, label="Findings, those of admitted pairs first")


def state_badge(state: str) -> Span:
    """What became of a pair; an admitted one is what a reader should notice here."""
    tone, icon = STATE_BADGES[state]
    return badge(state, tone, icon)


def _of(part: int | None, whole: int | None) -> Span:
    return muted("no text") if part is None or whole is None else text(f"{words.count(part)} of {words.count(whole)}")


def finding_head(finding: Mapping[str, Any]) -> list[Block]:
    """Which finding it is: pair, state, rules, item, and how much is shared."""
    pair = blocks.link("open the pair", "rejected", state=finding["state"], pair=finding["pair_id"])
    also = [RULE_TITLES[rule].lower() for rule in finding["rules"][1:]] if finding["rule"] == TRAINING else []
    lines = [[muted("rule "), strong(RULE_TITLES[finding["rule"]].lower()), *([muted(f"; also {', '.join(also)}")] if also else [])],
             [muted("locked item "), mono(finding["item_id"])], [pair]]
    others = (finding["locked_texts"] or 1) - 1
    if others:
        lines.append([muted(f"it hits {words.plural(others, 'other locked text')} too")])
    return [blocks.heading(mono(finding["pair_id"]), text("  "), state_badge(finding["state"]), level="h3"), blocks.line(*lines)]


def evidence_columns(finding: Mapping[str, Any], found: Evidence) -> tuple[list[Block], list[Block]]:
    """The pair's text and the locked text, shared stretches marked."""
    mine, theirs = (_of(finding[part], finding[whole])["t"] for part, whole in (("covered", "words"), ("locked_covered", "locked_words")))
    if finding["rule"] == SAME_TASK:
        said = (f"task id at {finding['field']}", f"the item's {found.locked_field or 'text'}, by its task id")
    else:
        said = (f"{mine} words in shared runs", f"{theirs} words in shared runs")
    return (
        _column(f"Pair: {found.field}", found.text, found.spans, said[0]),
        _column(f"Locked: {found.locked_field}", found.locked, found.locked_spans, said[1]),
    )


def _column(title: str, value: str, spans: Sequence[Stretch], said: str) -> list[Block]:
    """A text with its caption. A stretch that lies below the fold is shown above the text as well."""
    head = [blocks.paragraph(strong(title), muted(f"  {said} · {words.plural(len(value), 'character')}", blocks.SMALL))]
    if spans and spans[0][0] >= SETTINGS["display"]["fold_characters"]:
        first, end = spans[0]
        head.append(blocks.paragraph(muted(f"The first shared stretch begins at character {words.count(first)}, below the fold:", blocks.SMALL)))
        head.append(blocks.marked_text([("shared", value[first:end])]))
    return [*head, blocks.marked_text(pieces(value, spans)) if value else blocks.paragraph(muted("empty"))]


def pieces(value: str, spans: Sequence[Stretch]) -> Iterator[tuple[str, str]]:
    """A text cut at the ends of its shared stretches."""
    place = 0
    for first, end in spans:
        if first > place:
            yield "same", value[place:first]
        yield "shared", value[first:end]
        place = end
    if place < len(value):
        yield "same", value[place:]
