"""``countersign judges``: what the evidence about each judge of a round is worth. It decides nothing and never refuses."""
from __future__ import annotations

from typing import Annotated, Any

import pyarrow.compute as pc
import typer

from core.cli import output
from core.cli.options import DEFAULT_WORKSPACE, GridOption, JsonOption, RoundArgument, WorkspaceOption, grid_for
from core.cli.output import Cell, Styled
from core.gates import judge_words as words
from core.gates.calibration import JudgeCalibration, RubricJudgeCalibrationGate
from core.gates.judge_cases import cases_of, content_verdicts, judge_figures
from core.gates.judge_evidence import CasesEvidence, GradedEvidence, JudgeReport, judge_ids, judge_report, known_judge, strength
from core.gates.judge_parts import EvidenceRules, Part
from core.gates.judge_peers import JudgeHistory, JudgesTogether, PeerAgreement, judge_history, judges_together
from core.gates.judge_raters import RatersEvidence, raters_agreement
from core.grid import Grid
from core.rounds.folder import Round
from core.rounds.workspace import Workspace
from core.settings import SETTINGS
from core.statistics.judge_evidence import JudgeEvidence
from core.statistics.provable import Light
from core.statistics.ratio import fraction_text, percent_text
from core.text import sentence

_STYLES = {Light.PROVES: "pass", Light.MEETS: "held", Light.FAILS: "refuse", Light.UNDEFINED: "refuse"}
_THRESHOLDS: int = SETTINGS["display"]["named_ids"]
_RATES = {
    "exact_agreement": "exact agreement", "false_positive_rate": "false-positive approvals", "false_discovery_rate": "false discoveries",
    "false_negative_rate": "passing answers rejected", "recall": "passing answers approved", "specificity": "failed answers rejected",
    "precision": "approved that pass", "negative_predictive_value": "rejected that fail", "prevalence": "prevalence of passes",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("judges")(judges_command)


def judges_command(
    selector: RoundArgument,
    judge: Annotated[str | None, typer.Option("--judge", help="This judge alone, with everything about it.")] = None,
    grid: GridOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    as_json: JsonOption = False,
) -> None:
    """What the evidence about each judge can prove: intervals, slices, thresholds, biases, other judges, earlier rounds."""
    place = Workspace.open(workspace)
    source = place.round(selector)
    rules = grid_for(place, source, grid)
    records = judge_figures(source)
    names = judge_ids(source, records) if judge is None else (known_judge(source, records, judge),)
    if as_json:
        output.document({
            "round_id": source.manifest.round_id, "round_digest": source.digest, "grid_digest": rules.digest,
            "judges": {name: _document(place, source, rules, name) for name in names},
        })
    elif judge is None:
        _print_all(source, rules, names)
    else:
        _print_one(place, source, rules, judge)


def _gate(source: Round, grid: Grid, judge_id: str) -> JudgeCalibration:
    records = source.table("judge_records")
    return RubricJudgeCalibrationGate(grid).evaluate(judge_id, records.filter(pc.equal(records["judge_id"], judge_id)))


def _around(place: Workspace, source: Round, grid: Grid, judge_id: str) -> tuple[Part[JudgesTogether], JudgeHistory]:
    rules = EvidenceRules.of(grid)
    return judges_together(content_verdicts(source), judge_id, rules), judge_history(place, source, judge_id, rules)


def _raters(source: Round, judge_id: str) -> Part[RatersEvidence]:
    return raters_agreement(source, cases_of(judge_figures(source), judge_id))


def _document(place: Workspace, source: Round, grid: Grid, judge_id: str) -> dict[str, Any]:
    together, history = _around(place, source, grid, judge_id)
    gate = _gate(source, grid, judge_id)
    return {
        **judge_report(source, grid, judge_id).as_dict(), "gate": gate.as_dict()["gate"], "missing": list(gate.missing),
        "together": together.as_dict(), "raters": _raters(source, judge_id).as_dict(), "history": history.as_dict(),
    }


def _print_all(source: Round, grid: Grid, names: tuple[str, ...]) -> None:
    if not names:
        output.line(words.NO_JUDGES)
        return
    records, rules = judge_figures(source), EvidenceRules.of(grid)
    rows = [
        (name, _gate_cell(_gate(source, grid, name)), *_summary(strength(source, cases_of(records, name), rules))) for name in names
    ]
    output.table(
        ("judge", "gate", "cases", "kappa", "interval", "false-positive approvals", "these cases prove", "strength"), rows,
        title=f"Judges of {source.manifest.round_id}", right=("cases", "kappa"),
    )
    output.line("Strength is that of the false-positive bound. One judge with everything: --judge ID")


def _summary(figures: JudgeEvidence) -> tuple[Cell, ...]:
    return (
        figures.table.n, words.figure(figures.kappa.kappa), figures.kappa.interval.text,
        fraction_text(figures.rates["false_positive_rate"].rate), *_strength(figures),
    )


def _gate_cell(gate: JudgeCalibration) -> Styled:
    return Styled("open", "pass") if gate.open else Styled(f"closed: {', '.join(gate.failing)}", "refuse")


def _strength(figures: JudgeEvidence) -> tuple[Cell, Cell]:
    """What these cases prove about the false-positive rate, and whether that is the bound."""
    light = figures.fpr_light
    return ("", "") if light is None else (words.proven(light), Styled(light.text, _STYLES[light.light]))


def _print_one(place: Workspace, source: Round, grid: Grid, judge_id: str) -> None:
    report, gate = judge_report(source, grid, judge_id), _gate(source, grid, judge_id)
    together, history = _around(place, source, grid, judge_id)
    output.line(f"{judge_id}: gate {_gate_cell(gate).text}", "pass" if gate.open else "refuse")
    output.facts([
        ("round", f"{source.manifest.round_id} {source.digest}"), ("grid", f"{grid.name} version {grid.version} {grid.digest}"),
        ("cases", words.cases_words(report.whole)), ("in swapped order", f"{report.swapped:,}"),
        ("confidence", f"{percent_text(report.confidence)} of intervals, level {percent_text(report.alpha)} of tests and proofs"),
    ])
    _print_figures(report.whole)
    _print_slices(report.slices)
    _print_section("Thresholds", words.said(report.whole.graded, words.graded_sentences))
    if report.whole.graded.value is not None:
        _print_scores(report.whole.graded.value)
    for title, sentences in (
        ("Position bias", words.said(report.whole.position, lambda found: words.position_sentences(found, report.alpha))),
        ("Length bias", words.said(report.whole.length, lambda found: [words.length_sentence(found)])),
        ("Self-preference", words.said(report.whole.own, words.self_sentences)),
        ("Pass rate corrected for judge error", words.said(report.whole.pass_rate, lambda found: [words.pass_rate_sentence(found)])),
    ):
        _print_section(title, sentences)
    _print_pass_rates(report.slices)
    _print_section("Other judges on these cases", words.said(together, words.together_sentences))
    if together.value is not None:
        output.table(("judge", "both judged", "kappa with this one", "interval"), map(_peer, together.value.pairs), right=("both judged",))
    _print_section("Raters of these cases", words.said(_raters(source, judge_id), words.rater_sentences))
    _print_section("Earlier rounds", _history(history, report))


def _print_scores(found: GradedEvidence) -> None:
    """The thresholds with the highest kappa, and how far the score is from a probability."""
    usable = [row for row in found.sweep.rows if row.threshold is not None and row.kappa.value is not None]
    ranked = sorted(usable, key=lambda row: row.kappa.value or 0, reverse=True)
    rows = [
        (words.decimal(row.threshold), words.figure(row.kappa), fraction_text(row.agreement), fraction_text(row.fpr),
         fraction_text(row.recall), fraction_text(row.precision)) for row in ranked[:_THRESHOLDS]
    ]
    names = ("threshold", "kappa", "agreement", "false-positive approvals", "recall", "precision")
    output.table(names, rows, title=f"Highest kappa of {len(found.sweep.rows):,} thresholds (--json lists all)", right=("threshold", "kappa"))
    for line in words.said(found.reliability, lambda one: [words.reliability_sentence(one)]):
        output.line(line)


def _print_section(title: str, sentences: list[str]) -> None:
    output.line()
    output.line(title, "strong")
    for line in sentences:
        output.line(line)


def _peer(pair: PeerAgreement) -> tuple[Cell, ...]:
    return pair.judge_id, pair.kappa.n, words.figure(pair.kappa.kappa), words.kappa_interval(pair.kappa)


def _print_figures(cases: CasesEvidence) -> None:
    figures = cases.figures
    output.line()
    output.table(("check", "strength"), [(name, text) for name, text in words.lights(figures)], title="What these cases prove")
    for light in (figures.agreement_light, figures.fpr_light):
        if light is not None:
            output.line(light.detail)
    output.line()
    output.table(("figure", "value"), words.chance_rows(figures), title="Beside kappa")
    output.line(figures.chance.paradox)
    output.line()
    rows = [
        (name, fraction_text(rate.rate), words.percent_interval(rate.wilson), words.percent_interval(rate.clopper_pearson))
        for name, rate in ((_RATES[key], figures.rates[key]) for key in _RATES)
    ]
    output.table(("rate", "observed", "Wilson", "Clopper-Pearson"), rows, title="Rates")


def _print_slices(slices: tuple[CasesEvidence, ...]) -> None:
    output.line()
    rows = [
        (part.name or words.NO_SLICE, words.cases_words(part), *_summary(part.figures)[1:]) for part in slices
    ]
    if rows:
        names = ("slice", "cases", "kappa", "interval", "false-positive approvals", "these cases prove", "strength")
        output.table(names, rows, title="Slices", right=("kappa",))
        output.line(words.SLICES_NOTE)
    else:
        output.line("Slices", "strong")
        output.line(sentence(words.NO_SLICES))


def _print_pass_rates(slices: tuple[CasesEvidence, ...]) -> None:
    rows = [(part.name or words.NO_SLICE, *words.pass_rate_cells(part.pass_rate)) for part in slices]
    if rows:
        output.table(("slice", "approved", "corrected by errors elsewhere", "interval", "verifier passes", "that is"), rows)


def _history(history: JudgeHistory, report: JudgeReport) -> list[str]:
    said = [f"{one.round_id}: {' '.join(words.history_sentences(one, report.alpha))}" for one in history.rounds]
    return said + words.history_end(history)
