"""``countersign similar``: clusters of near-duplicate texts inside a round."""
from __future__ import annotations

from typing import Annotated, Final

import typer

from core.cli import output
from core.cli.options import DEFAULT_WORKSPACE, GridOption, JsonOption, RoundArgument, WorkspaceOption, grid_for
from core.gates.near_duplicates import NearDuplicateReport, near_duplicates_of
from core.rounds.workspace import Workspace
from core.settings import SETTINGS
from core.text import count_of

_SHOWN: Final[int] = SETTINGS["near_duplicates"]["shown"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("similar")(similar_command)


def similar_command(
    selector: RoundArgument,
    field: Annotated[str, typer.Option("--field", metavar="FIELD", help="What is compared: prompt, chosen or rejected.")] = "prompt",
    grid: GridOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """Clusters of near-duplicate texts inside a round. A report: nothing is rejected for it, and the exit code does not depend on it."""
    place = Workspace.open(workspace)
    source = place.round(selector)
    with output.progress(quiet=as_json) as progress:
        report = near_duplicates_of(place, source, grid_for(place, source, grid), field, progress=progress)
    if as_json:
        output.document(dict(report.document))
    else:
        _print(report)


def _print(report: NearDuplicateReport) -> None:
    found = report.document
    texts, rules, method = found["texts"], found["rules"], found["method"]
    output.line(
        f"{texts['in_clusters']:,} of {count_of(texts['compared'], found['field'] + ' text')} "
        f"{'is a near-duplicate' if texts['in_clusters'] == 1 else 'are near-duplicates'}, in {count_of(found['clusters'], 'cluster')}; "
        f"the largest has {found['largest']:,}.", "strong",
    )
    output.facts([
        ("rule", f"Jaccard similarity of {rules['shingle_words']}-word shingles of at least {rules['jaccard']}, compared exactly"),
        ("candidates", f"MinHash, {method['permutations']} permutations in {method['bands']} bands; two texts at the bound are missed with "
                       f"probability {method['chance_to_miss_at_the_bound']}"),
    ])
    if texts["without_words"]:
        output.line(f"Not compared: {count_of(texts['without_words'], 'text')} without words.")
    if texts["left_out"]:
        output.line(f"Not compared: {count_of(texts['left_out'], 'text')} beyond what is held in memory at once.", "held")
    if found["cut"]:
        output.line(f"Cut short {found['cut']:,} times, where many texts share a rare shingle: clusters may be larger than shown.", "held")
    listed = found["listed"][:_SHOWN]
    if not listed:
        return
    columns = ("texts", "different", "similarity", "pairs")
    rows = [(one["size"], one["different_texts"], one["jaccard"], ", ".join(one["pair_ids"])) for one in listed]
    output.table(columns, rows, right=columns[:-1], title=f"The {len(listed):,} largest of {count_of(found['clusters'], 'cluster')}")
    for one in listed:
        first, second = one["example"]
        if first["text"] == second["text"]:
            output.line(f"{first['pair_id']} and {second['pair_id']}: {first['text']}")
            continue
        for example in (first, second):
            output.line(f"{example['pair_id']}: {example['text']}")
