"""``countersign sample``: a person's sample of admitted pairs: its plan, judging it outside the dashboard, and what it shows."""
from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from core.cli import output
from core.cli.acting import check_free, write_file
from core.cli.options import DEFAULT_WORKSPACE, JsonOption, RoundArgument, WorkspaceOption
from core.errors import IdentityError, SamplingError
from core.gates.assessment import Assessment, load_or_assess
from core.grid import Grid, parse_decimal
from core.persons.identity import canonical_id
from core.persons.registry import Registry
from core.rounds.folder import Round
from core.rounds.workspace import Workspace
from core.sampling import (
    METHODS,
    Population,
    Review,
    Sample,
    SamplePlan,
    SampleResult,
    Taken,
    blind_sheet,
    plan_sample,
    read_labels,
    result_of,
    why_no_plan,
)
from core.signing.round_grid import grid_of_round
from core.statistics.ratio import decimal_text, percent_text

_VERDICTS = {
    "chosen": "prefers the chosen answer", "rejected": "prefers the rejected answer", "both_bad": "both bad", "tie": "tie", "skip": "skipped",
}


class Plan(StrEnum):
    """The plans of a sample, as the command line names them."""

    FIXED = "fixed"
    SEQUENTIAL = "sequential"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sample")(sample_command)


def sample_command(
    selector: RoundArgument,
    person: Annotated[str, typer.Option("--person", metavar="ID", help="Whose sample: the id of an enrolled person.")],
    show: Annotated[bool, typer.Option("--show", help="List every pair that this person and the engine disagree on.")] = False,
    draw: Annotated[Plan | None, typer.Option("--draw", help="Draw the sample by this plan, unless one was drawn.")] = None,
    labels: Annotated[
        Path | None, typer.Option("--labels", metavar="FILE", help="Record judgements made outside: rows of pair_id and label.", exists=True,
                                  dir_okay=False),
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option("--sheet", metavar="FILE", help="Write the pairs that are left, blind, to a new .jsonl file.", dir_okay=False),
    ] = None,
    end: Annotated[bool, typer.Option("--end", help="End the sample and show its result; nothing can be judged afterwards.")] = False,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """A person's sample of the admitted pairs: its plan, how far it is, and its result. Pairs are judged on the Sample page, or outside
    with --sheet and --labels."""
    check_free(sheet)
    place = Workspace.open(workspace)
    source = place.round(selector)
    who = _enrolled(Registry.load(place.registry_file), person)
    grid = grid_of_round(place, source)
    with output.progress(quiet=as_json) as progress:
        assessment = load_or_assess(place, source, grid, lambda done, total: progress("pairs", done, total))
    population = Population.of(assessment)
    review = Review(place, population, grid.digest, who)
    taken = _act(review, grid, draw, labels, end=end)
    sample = review.sample()
    if sheet is not None:
        write_file(sheet, blind_sheet(source, _drawn(sample)))
    if as_json:
        output.document(_document(source, assessment, grid, population, review, sample) | {"labels": _taken(taken)})
    else:
        if taken is not None:
            output.line(_taken_words(taken), "strong")
        _print(source, grid, population, review, sample, None if sample is None else result_of(assessment, sample), show=show)


def _act(review: Review, grid: Grid, draw: Plan | None, labels: Path | None, *, end: bool) -> Taken | None:
    """Draw, record, end: what the options ask for, in this order. The file is read before anything is written."""
    given, now = None if labels is None else read_labels(labels), datetime.now(UTC)
    if draw is not None:
        review.start(grid, draw.value, now)
    taken = None if given is None else review.judge_all(given, now)
    if end:
        review.end(now)
    return taken


def _drawn(sample: Sample | None) -> Sample:
    if sample is None:
        raise SamplingError("no_sample_yet", expected="a sample that was drawn", got="none", remedy="draw it with --draw fixed or --draw sequential")
    return sample


def _taken(taken: Taken | None) -> dict[str, int] | None:
    return None if taken is None else {"recorded": taken.recorded, "kept": taken.kept, "not_asked": taken.not_asked}


def _taken_words(taken: Taken) -> str:
    kept = f"; {taken.kept:,} had a label already, which stands" if taken.kept else ""
    late = f"; {taken.not_asked:,} not asked for: the sample was complete before" if taken.not_asked else ""
    return f"{taken.recorded:,} label{'' if taken.recorded == 1 else 's'} recorded{kept}{late}."


def _enrolled(registry: Registry, person: str) -> str:
    found = registry.find(person)
    if found is None:
        raise IdentityError("unknown_person", expected="an enrolled person", got=f"{canonical_id(person)}, whom the registry does not name",
                            remedy="enrol the person: countersign keygen, then enrol")
    return found.id


def _plans(grid: Grid, population: Population) -> list[SamplePlan]:
    """The plans that a person may choose from; none where there is nothing to sample."""
    return [] if why_no_plan(grid, population.size) is not None else [plan_sample(grid, population.size, method) for method in METHODS]


def _shows(sample: Sample | None) -> bool:
    """Whether the result may be seen: whoever is still judging is not told how it stands."""
    return sample is not None and sample.ended


def _document(
    source: Round, assessment: Assessment, grid: Grid, population: Population, review: Review, sample: Sample | None,
) -> dict[str, Any]:
    return {
        "round_id": source.manifest.round_id, "round_digest": source.digest, "grid_digest": grid.digest, "person": review.person,
        "admitted": population.size, "why_no_plan": why_no_plan(grid, population.size),
        "plans": [plan.as_dict() for plan in _plans(grid, population)],
        "progress": None if sample is None else {
            "seed": sample.start.seed, "method": sample.plan.method, "sizes": list(sample.plan.sizes), "shown": len(sample.labels),
            "complete": sample.is_complete, "ended": sample.ended,
        },
        "result": result_of(assessment, sample).as_dict() if sample is not None and _shows(sample) else None,
    }


def _print(
    source: Round, grid: Grid, population: Population, review: Review, sample: Sample | None, result: SampleResult | None, *, show: bool,
) -> None:
    reason = why_no_plan(grid, population.size)
    if reason is not None:
        output.line(f"No sample: {reason}.", "held")
        return
    plan = plan_sample(grid, population.size) if sample is None else sample.plan
    asked = f"rule out a defect rate above {percent_text(parse_decimal(plan.rate))} with {percent_text(parse_decimal(plan.confidence))} confidence"
    output.facts([
        ("round", f"{source.manifest.round_id} {source.digest}"), ("person", review.person), ("admitted pairs", population.size), ("aim", asked),
    ])
    if sample is None or result is None:
        output.table(("plan", "pairs", "in words"), [(each.method, _sizes(each), _words(each)) for each in _plans(grid, population)])
        output.line("No sample was drawn yet. It is drawn and judged on the Sample page (countersign serve), or with --draw and --sheet.", "strong")
        return
    output.facts([("plan", f"{plan.method}, {_sizes(plan)} pairs"), ("seed", sample.start.seed), ("samples drawn", sample.seeds)])
    if not _shows(sample):
        left = "Complete" if sample.is_complete else f"{len(sample.labels)} of at most {plan.largest} pairs judged"
        output.line(f"{left}. The result is shown once {review.person} has ended the sample, on the Sample page or with --end.", "strong")
        return
    _print_result(result, show=show)


def _sizes(plan: SamplePlan) -> str:
    return ", ".join(map(str, plan.sizes))


def _words(plan: SamplePlan) -> str:
    if plan.method == "fixed":
        return "all are judged; it proves the rate when none is bad"
    later = "".join(f", {size} with at most {look}" for look, size in enumerate(plan.sizes) if look)
    return f"ends after {plan.sizes[0]} when none is bad{later}; not proven at defect {len(plan.sizes)}"


def _print_result(result: SampleResult, *, show: bool) -> None:
    output.line(result.words, "strong")
    output.line(result.target_words, "pass" if result.is_met else "refuse")
    output.table(("human", "pairs"), [(_VERDICTS[verdict], count) for verdict, count in result.counts.items()], right=("pairs",))
    kappa = result.kappa
    said = f"undefined: {kappa.undefined}" if kappa.value is None else f"{decimal_text(kappa.value)} over {result.sides.n} pairs"
    output.facts([("human against verifier", f"kappa {said}"), ("labels", result.labels_sha256)])
    if show:
        rows = [(label.pair_id, _VERDICTS[label.verdict]) for label in result.disagreements]
        output.table(("pair", "human"), rows, title="Disagreements")
    elif result.defects:
        output.line("--show lists the pairs that human and engine disagree on.")
