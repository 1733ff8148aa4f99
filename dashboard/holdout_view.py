"""What the Holdout page says: the lock, who witnessed it, the paired outcomes, the flips and the canaries. Pure."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from core.rounds.manifest import HoldoutLock
from core.settings import SETTINGS
from dashboard import blocks, words
from dashboard.blocks import Block, Span, badge, mono, muted, strong, text

Document = Mapping[str, Any]
_LONG: Final[int] = SETTINGS["reports"]["excerpt_characters"]
LOCK_PROBLEMS = {
    "missing_preregistration": "no digest was registered: an empty lock never holds",
    "malformed_digest": "what was registered is no SHA-256 digest",
    "digest_mismatch": "this is not the list that was registered",
}


def headline_words(document: Document) -> str:
    """The finding: the lock where it fails, else the net gain."""
    holdout = document["holdout"]
    if holdout is None:
        return "This round has no holdout"
    if not holdout["lock"]["holds"]:
        return "The holdout is not the one that was registered"
    outcomes = holdout["outcomes"]
    if outcomes is None:
        return "The lock holds; no outcomes were supplied"
    net = outcomes["net_gain"]
    change = net["numerator"]
    if not change:
        return f"No net change over {words.plural(outcomes['n'], 'item')}: {lost_and_fixed(outcomes)}"
    verb = "gains" if change > 0 else "loses"
    return f"The candidate {verb} {words.fraction({**net, 'numerator': abs(change)})} net: {lost_and_fixed(outcomes)}"


def lost_and_fixed(outcomes: Mapping[str, Any]) -> str:
    """``27 lost, 109 fixed``."""
    return f"{words.count(outcomes['regressions'])} lost, {words.count(outcomes['fixes'])} fixed"


def lock_block(
    lock: Mapping[str, Any], registered: HoldoutLock | None, witness: Sequence[Span | str], differences: Sequence[str] | None,
    leaks: Sequence[Span] = (),
) -> list[Block]:
    """Lock state first, then what differs where it does not hold. ``leaks``: whether the pairs repeat it."""
    holds = lock["holds"]
    state = badge("lock holds", "ok", "lock") if holds else badge("lock fails", "bad", "unlock")
    rows: list[tuple[str, Sequence[Span | str]]] = [("State", [state] if holds else [state, text(f"  {LOCK_PROBLEMS[lock['problem']]}")])]
    rows.append(("Registered", [blocks.digest(lock["registered"], "the registered digest")] if lock["registered"] else [muted("nothing")]))
    rows.append(("Computed", [blocks.digest(lock["computed"], "the computed digest"), muted("  SHA-256 over the canonical bytes, in order")]))
    if registered is not None:
        rows.append(("Stated", [_registration(registered)]))
    rows.append(("Witness", list(witness)))
    if leaks:
        rows.append(("In the pairs", leaks))
    content: list[Block] = [blocks.facts(rows)]
    if not holds:
        content.append(_differences(differences))
    return content


def _registration(registered: HoldoutLock) -> Span:
    """When and by whom, as the round states it."""
    if not registered.registered_at and not registered.registered_by:
        return muted("not stated when or by whom it was registered")
    return text(f"registered {words.registered(registered.registered_at, registered.registered_by)}")


def _differences(differences: Sequence[str] | None) -> Block:
    if differences is None:
        return blocks.notice("question", "off", [
            "What differs cannot be told: the list that was registered is not in this workspace. ",
            "Next: ask the proposer for it, or ingest the round that holds it.",
        ])
    named = SETTINGS["display"]["named_ids"]
    more = [[muted(f"and {words.count(len(differences) - named)} more")]] if len(differences) > named else []
    return blocks.bullets(*([line] for line in differences[:named]), *more)


def gain_blocks(outcomes: Mapping[str, Any], reducer: str, interval: str) -> list[Block]:
    """Net gain and regressions as fractions, each with the name of its denominator; the 2x2 of both arms. ``interval``: what is said
    of the net gain's interval."""
    rows: list[tuple[str, Sequence[Span | str]]] = [
        ("Net gain", [strong(signed_fraction(outcomes["net_gain"])), muted("  fixed minus lost, over all items")]),
        ("", [muted(interval)]),
        ("Regressions", [strong(words.fraction(outcomes["regression_rate"])), muted("  over all items: this rate decides")]),
        ("", [text(words.fraction(outcomes["regressions_over_baseline_passes"])), muted("  over the items that the baseline passes")]),
    ]
    rows.append(("Runs", [text(runs_words(outcomes["runs"], reducer))]))
    if outcomes["absent_candidate"]:
        absent = words.plural(len(outcomes["absent_candidate"]), "item")
        rows.append(("Absent", [badge(absent, "bad", "cross"), text("  without a candidate outcome: counted as failures, and the round is refused")]))
    return [blocks.facts(rows), paired_table(outcomes)]


def signed_fraction(document: Mapping[str, Any]) -> str:
    """A net change as a fraction with its sign."""
    said = words.fraction({**document, "numerator": abs(document["numerator"])})
    sign = "+" if document["numerator"] > 0 else words.MINUS if document["numerator"] < 0 else ""
    counted, comma, rate = said.partition(", ")
    return f"{sign}{counted}{comma}{sign if comma else ''}{rate}"


def runs_words(runs: Mapping[str, Mapping[str, int]], reducer: str) -> str:
    """How often each item was run, and how runs become one outcome."""
    most = max((span["most"] for span in runs.values()), default=0)
    if most <= 1:
        return "one run of each item in both arms"
    said = "; ".join(f"{arm} {_span(span)}" for arm, span in runs.items())
    return f"{said} runs an item, reduced to one outcome by {reducer} (grid); never pooled as further items"


def _span(span: Mapping[str, int]) -> str:
    return words.count(span["most"]) if span["fewest"] == span["most"] else f"{words.count(span['fewest'])} to {words.count(span['most'])}"


def paired_table(outcomes: Mapping[str, Any]) -> Block:
    """The 2x2 of both arms; the two cells that changed lead to their items."""
    n = outcomes["n"]
    columns = [blocks.column(""), blocks.column("Candidate passes", align="right"), blocks.column("Candidate fails", align="right")]

    def cell(name: str, word: str, flips: str | None = None) -> dict[str, Any]:
        said = [strong(words.count(outcomes[name])), muted(f"  {words.share(outcomes[name], n)}"), {"k": "break"}]
        return blocks.cell(*said, blocks.link(word, "holdout", flips=flips) if flips and outcomes[name] else muted(word, blocks.SMALL))

    rows = [
        blocks.row(blocks.cell(text("Baseline passes")), cell("both_pass", "kept"), cell("regressions", "lost", "lost")),
        blocks.row(blocks.cell(text("Baseline fails")), cell("fixes", "fixed", "fixed"), cell("both_fail", "still failing")),
    ]
    return blocks.table("paired", columns, rows, label=f"Both arms over {n} items", fit=True)


def flip_ids(outcomes: Mapping[str, Any], shown: str) -> list[tuple[str, str]]:
    """(kind, item id) of the flips to list, regressions first."""
    lost = [("lost", item) for item in outcomes["regression_ids"]]
    fixed = [("fixed", item) for item in outcomes["fix_ids"]]
    return {"lost": lost, "fixed": fixed}.get(shown, lost + fixed)


def flips_table(rows: Sequence[tuple[str, Mapping[str, Any]]], prompts: Mapping[str, Mapping[str, Any]], opened: str | None,
                view: Mapping[str, str]) -> Block:
    """The flips of one page: what happened, item, start of its prompt, runs. ``view``: what a link to an item keeps."""
    several = any(max(row["baseline_runs"], row["candidate_runs"]) > 1 for _, row in rows)
    columns = [blocks.column("Flip"), blocks.column("Item", head=True, sort=True), blocks.column("Prompt"),
               *([blocks.column("Runs passed")] if several else [])]
    return blocks.table("flips", columns, [
        blocks.row(
            blocks.cell(flip_badge(kind)), blocks.cell(blocks.link(row["id"], "holdout", item=row["id"], **view), sort=row["id"]),
            blocks.cell(muted(f"{row['slice']} · " if row["slice"] else "", blocks.SMALL), muted(preview(prompts.get(row["id"], {})), blocks.SMALL)),
            *([blocks.cell(text(f"{_runs(row, 'baseline')} →"), {"k": "break"}, text(_runs(row, "candidate")))] if several else []),
            chosen=row["id"] == opened,
        ) for kind, row in rows
    ], label="Items that flipped, regressions first", tall=True)


def flip_badge(kind: str) -> Span:
    """Lost or fixed: word, icon, colour."""
    return badge("lost", "bad", "cross") if kind == "lost" else badge("fixed", "ok", "check")


def _runs(row: Mapping[str, Any], arm: str) -> str:
    return f"{row[f'{arm}_passes']} of {row[f'{arm}_runs']}"


def preview(item: Mapping[str, Any], limit: int = SETTINGS["dashboard"]["preview_characters"]) -> str:
    """The start of an item's prompt."""
    prompt = item.get("prompt")
    return blocks.shortened_prose(prompt, limit) if isinstance(prompt, str) else "no prompt in the locked item"


def item_blocks(item: Mapping[str, Any], outcomes: Sequence[Mapping[str, Any]], kind: str | None) -> list[Block]:
    """A holdout item to read: its prompt as locked, then every answer of both arms."""
    title = [text(str(item.get("id", ""))), text("  "), *([flip_badge(kind)] if kind else [])]
    content: list[Block] = [blocks.heading(*title, level="h3")]
    prompt = item.get("prompt")
    if isinstance(prompt, str):
        content += [blocks.paragraph(muted(f"Prompt, as locked, {words.plural(len(prompt), 'character')}", blocks.SMALL)), blocks.model_text(prompt)]
    others = [(name, [mono(str(value))]) for name, value in item.items() if name not in ("id", "prompt")]
    if others:
        content.append(blocks.facts(others))
    for outcome in outcomes:
        content += _answer(outcome, several=len({one["arm"] for one in outcomes}) < len(outcomes))
    if not any(outcome["arm"] == "candidate" for outcome in outcomes):
        content.append(blocks.paragraph(badge("absent", "bad", "cross"), text("  no candidate outcome: counted as a failure")))
    return content


def _answer(outcome: Mapping[str, Any], *, several: bool) -> list[Block]:
    passed = badge("passed", "ok", "check") if outcome["passed"] else badge("failed", "bad", "cross")
    run = f", run {outcome['run']}" if several else ""
    response = outcome["response"]
    said = "response not supplied" if response is None else words.plural(len(response), "character")
    head = blocks.paragraph(strong(f"{str(outcome['arm']).capitalize()}{run}"), text("  "), passed, muted(f"  {said}", blocks.SMALL))
    return [head] if response is None else [head, blocks.model_text(response)]


def canaries_table(rows: Sequence[Mapping[str, Any]]) -> Block:
    """The canaries, lost ones first."""
    columns = [blocks.column("Canary", head=True, sort=True), blocks.column("State", sort=True), blocks.column("Prompt")]
    return blocks.table("canaries", columns, [
        blocks.row(
            blocks.cell(text(row["id"]), sort=row["id"]),
            blocks.cell(badge("passed", "ok", "check") if row["passed"] else badge("lost", "bad", "cross"), sort=str(row["passed"])),
            blocks.cell(muted(preview(row, _LONG) if row["prompt"] is not None else "not supplied", blocks.SMALL)),
            tone=None if row["passed"] else "bad",
        ) for row in rows
    ], label="Canaries", tall=True)
