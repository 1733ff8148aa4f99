"""``countersign holdout``: what the outcomes on a round's holdout can prove, and two candidates on the same holdout."""
from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from core.cli import output
from core.cli.options import DEFAULT_WORKSPACE, JsonOption, RoundArgument, WorkspaceOption
from core.cli.output import Cell, Styled
from core.errors import EXIT
from core.gates.assessment import Assessment, load_or_assess
from core.gates.exposure_report import exposure_of
from core.gates.holdout_against import CandidateComparison, compare_candidates
from core.gates.holdout_evidence import BOOTSTRAP_NOTE, HoldoutReport, holdout_report, interval_words, p_words, why_no_report
from core.gates.holdout_slices import RunsLine, SliceLine
from core.gates.strength_rules import Levels
from core.grid import Grid
from core.rounds.folder import Round
from core.rounds.workspace import Workspace
from core.signing.round_grid import grid_of_round
from core.statistics.pass_at_k import PassRate
from core.statistics.ratio import percent_text
from core.statistics.verdict import Standing, points_text

_STYLES: Final = {Standing.BETTER: "pass", Standing.WORSE: "refuse", Standing.NOT_SHOWN: "held"}
_RIGHT: Final = ("items", "gained", "lost", "gain", "p", "Holm", "BH")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("holdout")(holdout_command)


def holdout_command(
    selector: RoundArgument,
    against: Annotated[str | None, typer.Option("--against", metavar="OTHER", help="Another round: compare the two candidates instead.")] = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """What the outcomes on a round's holdout can prove; it decides nothing. With --against, exit 3: the two are not comparable."""
    place = Workspace.open(workspace)
    source = place.round(selector)
    grid = grid_of_round(place, source)
    if against is not None:
        _against(place, source, place.round(against), grid, as_json=as_json)
        return
    report = holdout_report(source, _assessed(place, source, grid, quiet=as_json).document, grid)
    exposure = exposure_of(place, source, grid)
    if as_json:
        found: dict[str, Any] = {"undefined": why_no_report(source)} if report is None else {"undefined": None, **report.as_dict()}
        output.document({"round_digest": source.digest, "grid_digest": grid.digest, **found, "exposure": exposure.as_dict()})
        return
    if report is None:
        output.line(f"No holdout evidence: {why_no_report(source)}.", "held")
        return
    _print(report)
    for sentence in exposure.sentences:
        output.line(sentence)


def _assessed(place: Workspace, source: Round, grid: Grid, *, quiet: bool) -> Assessment:
    with output.progress(quiet=quiet) as progress:
        return load_or_assess(place, source, grid, lambda done, total: progress("pairs", done, total))


def _against(place: Workspace, source: Round, other: Round, grid: Grid, *, as_json: bool) -> None:
    # assessing both records both looks
    mine, theirs = (_assessed(place, one, grid, quiet=as_json).document for one in (source, other))
    found = compare_candidates(source, mine, other, theirs, grid)
    if as_json:
        output.document({
            "round_digest": source.digest, "other_digest": other.digest, "grid_digest": grid.digest, "comparable": found.comparable,
            **found.as_dict(),
        })
    else:
        _print_against(found)
    if not found.comparable:
        raise typer.Exit(EXIT["refused"])


def _print_against(found: CandidateComparison) -> None:
    compared = found.comparison
    output.line(found.sentence, "refuse" if not found.comparable else None if compared is None else _STYLES[compared.verdict.standing])
    for line in found.differences:
        output.line(f"- {line}")
    if compared is not None and found.baselines is not None:
        output.facts([
            ("Exact McNemar", compared.test.exact.text()), ("Mid-p", compared.test.mid_p.text()), ("Newcombe", interval_words(compared.newcombe)),
            ("Tango", interval_words(compared.tango)), ("baselines", found.baselines),
        ])


def _print(report: HoldoutReport) -> None:
    evidence = report.evidence
    output.line(evidence.sentence, "strong")
    output.facts(_facts(report))
    if report.levels is not None and report.slices:
        rows = [_slice_row(line, report.levels) for line in report.slices]
        output.table(("slice", "items", "gained", "lost", "gain", "p", "Holm", "BH", "corrected"), rows, title="Slices", right=_RIGHT)
    if report.runs:
        rows_of_runs = [_runs_row(line) for line in report.runs]
        columns = ("k", "baseline pass@k", "candidate pass@k", "baseline pass^k", "candidate pass^k")
        output.table(columns, rows_of_runs, title="Several runs an item", right=columns)
    checks = [(flip.check, flip.judge_id or "", flip.state, flip.distance.text, report.proof(flip)) for flip in report.flips]
    output.table(("check", "judge", "state", "how far from flipping", "evidence"), checks, title="Checks")


def _facts(report: HoldoutReport) -> list[tuple[str, Cell]]:
    verdict = report.evidence.verdict
    standing: Cell = report.evidence.no_verdict if verdict is None else Styled(verdict.standing.value, _STYLES[verdict.standing])
    decides, other = report.regression_words
    facts: list[tuple[str, Cell]] = [("standing", standing), ("regressions", decides), ("", other)]
    facts += report.tested_words
    facts += [
        ("bootstrap", report.bootstrap_words), *([("", BOOTSTRAP_NOTE)] if report.bootstrap else []),
        ("standard error", report.error_words), ("re-run band", report.band_words),
        ("smallest gain", report.smallest_words), ("wanted", report.wanted_words),
    ]
    return [*facts, *([("note", report.reach_words)] if report.reach_words else [])]


def _slice_row(line: SliceLine, levels: Levels) -> tuple[Cell, ...]:
    table, evidence = line.table, line.evidence
    word: Cell = Styled(line.standing.value, _STYLES[line.standing]) if line.can_reach else "too few items"
    return (
        "no slice" if line.name is None else line.name, table.n, table.fixes, table.regressions, points_text(evidence.gain, sign=True),
        *(p_words(p, levels) for p in (evidence.p.fraction, line.holm, line.benjamini_hochberg)), word,
    )


def _runs_row(line: RunsLine) -> tuple[Cell, ...]:
    def said(rate: PassRate, *, every: bool) -> str:
        value = rate.all_of_them if every else rate.at_least_one
        return f"undefined: {rate.undefined}" if value is None else percent_text(value)

    return (line.k, *(said(rate, every=every) for every in (False, True) for rate in (line.baseline, line.candidate)))
