"""``countersign contamination``: whether a round's pairs hold what its holdout asks."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from core.cli import output
from core.cli.options import DEFAULT_WORKSPACE, GridOption, JsonOption, RoundArgument, WorkspaceOption, grid_for
from core.cli.output import Cell
from core.errors import EXIT
from core.gates.contamination import Against, ContaminationReport, contamination_of
from core.pairs.contamination import EXACT, HOLDOUT, SAME_TASK, TRAINING
from core.pairs.locked_tasks import UNJUDGED
from core.rounds.locked_file import read_items
from core.rounds.workspace import Workspace
from core.settings import SETTINGS
from core.text import count_of, first_of

_SHOWN: Final[int] = SETTINGS["contamination"]["shown"]
_NAMED: Final[int] = SETTINGS["display"]["named_ids"]
RULE_WORDS: Final = {
    SAME_TASK: "same task", EXACT: "equal words", TRAINING: "training text is made of it", HOLDOUT: "holds all or most of it",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("contamination")(contamination_command)


def contamination_command(
    selector: RoundArgument,
    against: Annotated[Path | None, typer.Option("--against", metavar="FILE", help="Evaluation items instead of the round's own holdout.")] = None,
    left_out: Annotated[list[str] | None, typer.Option("--leave-out", metavar="MEMBER", help="A member of the items that is not looked at.")] = None,
    grid: GridOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """Look for the locked holdout in a round's pairs. Exit 3: more items are contaminated than the grid lets pass."""
    place = Workspace.open(workspace)
    source = place.round(selector)
    held = None
    if against is not None:
        found = read_items(against, left_out or ())
        held = Against(found.name, found.sha256, found.items)
    with output.progress(quiet=as_json) as progress:
        report = contamination_of(
            place, source, grid_for(place, source, grid), against=held, left_out=left_out or (),
            progress=lambda done, total: progress("pairs", done, total),
        )
    if as_json:
        output.document(dict(report.document))
    else:
        _print(report)
    if report.over:
        raise typer.Exit(EXIT["refused"])


def _texts_of(texts: int, of: int, noun: str) -> str:
    return f"{count_of(texts, 'text')} of {count_of(of, noun)}"


def _print(report: ContaminationReport) -> None:
    found = report.document
    pairs, rules, held = found["pairs"], found["rules"], found["against"]
    if not pairs["looked_at"]:
        output.line("Nothing was looked at: the round has no pair that could be read.", "held")
    else:
        items = found["contaminated_items"]
        output.line(
            f"{'Contaminated' if items else 'Not contaminated'}: {items:,} of {count_of(held['items'], 'item')} {'is' if items == 1 else 'are'} in "
            f"{pairs['contaminated']:,} of {count_of(pairs['looked_at'], 'pair')}; {rules['max_contaminated_items']:,} may be.{_undecided(found)}",
            "refuse" if report.over else "pass",
        )
    output.facts([
        ("against", f"{held['name']}, SHA-256 {held['sha256']}"),
        ("rules", f"the same task, equal words, or {rules['coverage']} of the words of either in shared runs of {rules['ngram_words']} words"),
        ("looked at", f"{_texts_of(pairs['texts'], pairs['looked_at'], 'pair')}; {_texts_of(held['texts'], held['items'], 'item')}"),
        *((f"pairs by {RULE_WORDS[rule]}", f"{count:,}") for rule, count in found["by_rule"].items() if count),
    ])
    if held["lock_holds"] is False:
        output.line("Warning: this holdout is not the one that was registered.", "refuse")
    if pairs["quarantined"]:
        output.line(f"Not looked at: {pairs['quarantined']:,} quarantined rows.")
    for skipped in found["skipped"]:
        output.line(f"Not applied, {RULE_WORDS[skipped['rule']]}: {skipped['why']}.")
    print_gaps(found["task_ids"]["not_judged"], found["not_looked_for"])
    listed = found["findings"]["listed"][:_SHOWN]
    if listed:
        _print_findings(listed, found["findings"]["all"])


def _undecided(found: Mapping[str, Any]) -> str:
    count = found["undecided_items"]
    if not count:
        return ""
    return f" {count:,} more may be in them: {'its id stands' if count == 1 else 'their ids stand'} there in another form."


def print_gaps(unjudged: Mapping[str, Any], not_looked_for: Sequence[Mapping[str, Any]]) -> None:
    """Items that could not be judged, each with a pair that may have it, and items that were not looked for, with the reason."""
    for why, said in UNJUDGED.items():
        listed = [one for one in unjudged["listed"] if one["why"] == why]
        for one in listed[:_SHOWN]:
            seen = f"as {one['task_id']!r} at {one['field']} of {one['row']}; rows: {one['rows']:,}"
            output.line(f"Not judged, same task: item {one['id']}, {seen}.", "held")
        if listed:
            more = f" ({len(listed) - _SHOWN:,} more are in the report of --json.)" if len(listed) > _SHOWN else ""
            output.line(f"Why: {said}. If it is another numbering, say so with --leave-out id; else write the id as it stands there.{more}")
    for one in not_looked_for:
        names = first_of([item["id"] for item in one["listed"]], _NAMED, total=one["items"])
        by = "by a task id" if one["rule"] == SAME_TASK else "by a text"
        output.line(f"Not looked for {by}: {names}: {one['why']}.")


def _print_findings(listed: list[Mapping[str, Any]], every: int) -> None:
    right = ("training words", "locked words")
    columns = ("pair", "field", "rule", *right, "item", "its text")
    output.table(columns, [_row(one) for one in listed], right=right, title=f"The {len(listed):,} strongest of {every:,} findings")
    for one in listed:
        mine = f"{one['pair_id']} {one['field']}{_place(one['spans'])}"
        theirs = f"item {one['item_id']} {one['item_field']}{_place(one['locked_spans'])}"
        output.line(f"{mine} = {theirs}: {one['excerpt']}")


def _place(spans: list[list[int]]) -> str:
    """Where the shared stretches stand; nothing for a task id."""
    if not spans:
        return ""
    return f", characters {first_of([f'{first}-{end}' for first, end in spans], _NAMED)}"


def _row(one: Mapping[str, Any]) -> tuple[Cell, ...]:
    return (
        one["pair_id"], one["field"], _rule(one["rules"]), _share(one["covered"], one["words"]),
        _share(one["locked_covered"], one["locked_words"]), one["item_id"], one["item_field"],
    )


def _rule(rules: list[str]) -> str:
    """The strongest rule; where it is a coverage, the other one is said too."""
    return ", ".join(RULE_WORDS[rule] for rule in (rules[:1] if rules[0] in (SAME_TASK, EXACT) else rules))


def _share(covered: int | None, words: int | None) -> str:
    return "-" if words is None else f"{covered}/{words}"
