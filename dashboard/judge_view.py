"""What the Judges page says about the evidence: tables and sentences from frozen evidence objects. Pure."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from core.gates import judge_words
from core.gates.judge_cases import JudgeCases
from core.gates.judge_evidence import PassRate
from core.gates.judge_parts import Part
from core.gates.judge_peers import EarlierRound, JudgeHistory, JudgesTogether
from core.settings import SETTINGS
from core.statistics.judge_evidence import JudgeEvidence
from core.statistics.kappa_intervals import KappaEstimate
from core.statistics.provable import Light, RateProof
from core.statistics.rate_intervals import RateEstimate
from core.statistics.ratio import fraction_text, percent_text
from core.text import capital
from dashboard import blocks, words
from dashboard.blocks import Block, Span, badge, muted, text
from dashboard.words import Tone

RATES: Final[Mapping[str, tuple[str, str]]] = {
    "exact_agreement": ("Exact agreement", "cases where both say the same"),
    "false_positive_rate": ("False-positive approvals", "failed answers that it approves"),
    "specificity": ("Failed answers rejected", "specificity"), "recall": ("Passing answers approved", "recall, sensitivity"),
    "false_negative_rate": ("Passing answers rejected", "false negatives"), "precision": ("Approved that pass", "precision"),
    "false_discovery_rate": ("False discoveries", "failed answers among the approved"),
    "negative_predictive_value": ("Rejected that fail", "negative predictive value"),
    "prevalence": ("Prevalence of passes", "cases that the verifier passed"),
}
"""Rate -> (title, what is counted), in the order of the table."""
_LIGHTS: Final[Mapping[Light, tuple[Tone, str]]] = {
    Light.PROVES: ("ok", "check"), Light.MEETS: ("off", "warning"), Light.FAILS: ("bad", "cross"), Light.UNDEFINED: ("off", "question"),
}
_CONDITION: Final = "On the condition that none of them is another error."


def light_badge(light: Light) -> Span:
    """What the evidence says about a bound: word, tone, icon."""
    tone, icon = _LIGHTS[light]
    return badge(light.value, tone, icon)


def check_detail(name: str, evidence: JudgeEvidence) -> list[Span]:
    """The line below a figure of the gate: its interval, what so many cases prove, and whether that is the bound."""
    if name == "cohens_kappa":
        kappa = evidence.kappa
        if kappa.kappa.value is None:
            return []
        made = "" if kappa.interval.undefined else f" ({judge_words.short_method(kappa.interval)})"
        spans = [muted(f"{_level(evidence)} interval {kappa.interval.text}{made}", blocks.SMALL)]
        return [*spans, *_strength(evidence.kappa_light and evidence.kappa_light.light, None)]
    light = {"exact_agreement": evidence.agreement_light, "false_positive_rate": evidence.fpr_light}.get(name)
    if light is None or light.rate.value is None:
        return []
    interval = f"{_level(evidence)} interval {evidence.rates[name].wilson.percent};"
    prove = f" {light.rate.denominator:,} cases prove {judge_words.proven(light)}"
    # kept whole, so that no figure is torn from its unit
    return [muted(interval, blocks.SMALL, "nowrap"), text(" "), muted(prove, blocks.SMALL, "nowrap"), *_strength(light.light, light.text)]


def _strength(light: Light | None, said: str | None) -> list[Span]:
    """The light of a figure that holds its bound; one that fails it says so already."""
    if light is None or light in (Light.FAILS, Light.UNDEFINED):
        return []
    tone, icon = _LIGHTS[light]
    return [text("  "), badge(said or light.value, tone, icon)]


def _level(evidence: JudgeEvidence) -> str:
    return percent_text(evidence.kappa.interval.confidence)


def strength_table(identity: str, evidence: JudgeEvidence) -> Block:
    """The three figures of the gate: interval, what so many cases prove, and the light."""
    columns = [
        blocks.column("Figure", head=True), blocks.column("Observed", align="right"), blocks.column("Bound"),
        blocks.column(f"{_level(evidence)} interval"), blocks.column("These cases prove"), blocks.column("Strength"),
    ]
    rows = [_kappa_row(evidence)]
    for name, light in (("exact_agreement", evidence.agreement_light), ("false_positive_rate", evidence.fpr_light)):
        rows += [] if light is None else [_rate_row(name, evidence.rates[name], light)]
    return blocks.table(identity, columns, rows, label="What these cases prove about the bounds")


def _kappa_row(evidence: JudgeEvidence) -> dict[str, Any]:
    light, kappa = evidence.kappa_light, evidence.kappa
    interval = [muted("none" if kappa.kappa.value is None else kappa.interval.text)] if kappa.interval.undefined else [
        text(kappa.interval.text), {"k": "break"}, muted(kappa.interval.method, blocks.SMALL),
    ]
    return blocks.row(
        blocks.cell(text("Cohen's kappa")), blocks.cell(text(judge_words.figure(kappa.kappa))),
        blocks.cell(text("" if light is None else f"at least {judge_words.decimal(light.bound)}")), blocks.cell(*interval),
        blocks.cell(muted("its interval is approximate")), blocks.cell(*([] if light is None else [light_badge(light.light)])),
    )


def _rate_row(name: str, rate: RateEstimate, light: RateProof) -> dict[str, Any]:
    bound = f"{'at most' if light.direction == 'max' else 'at least'} {percent_text(light.bound)}"
    head = [
        blocks.cell(text(RATES[name][0])), blocks.cell(*_stacked(fraction_text(rate.rate, against=light.bound))), blocks.cell(text(bound, "nowrap")),
    ]
    if rate.value is None:
        return blocks.row(*head, blocks.cell(muted("none")), blocks.cell(muted("nothing")), blocks.cell(light_badge(light.light)))
    needs = [] if light.light is not Light.MEETS else [{"k": "break"}, text(light.text.partition(": ")[-1])]
    return blocks.row(
        *head,
        blocks.cell(
            text(rate.wilson.percent), muted(" Wilson", blocks.SMALL), {"k": "break"}, text(rate.clopper_pearson.percent),
            muted(" Clopper-Pearson", blocks.SMALL),
        ),
        blocks.cell(text(judge_words.proven(light)), {"k": "break"}, muted(f"one-sided, {percent_text(1 - light.alpha)}", blocks.SMALL)),
        blocks.cell(light_badge(light.light), *needs),
    )


def _stacked(fraction: str) -> list[Span]:
    """``13 of 120, 10.83 %`` as the rate with its count below, each kept whole; words as they are."""
    counted, comma, rate = fraction.rpartition(", ")
    if not comma or not rate.endswith("%"):
        return [text(fraction)]
    return [text(rate, "nowrap"), {"k": "break"}, muted(counted, blocks.SMALL, "nowrap")]


def condition(evidence: JudgeEvidence) -> list[Block]:
    """On what condition more cases would prove a bound; nothing where none is met without proof."""
    lights = [light for light in (evidence.agreement_light, evidence.fpr_light) if light is not None and light.more is not None]
    return [blocks.paragraph(muted(_CONDITION, blocks.SMALL))] if lights else []


def rates_table(identity: str, evidence: JudgeEvidence) -> Block:
    """Every rate as a fraction with both intervals."""
    columns = [
        blocks.column("Rate", head=True), blocks.column("Counted", align="right"), blocks.column("Observed", align="right"),
        blocks.column(f"Wilson {_level(evidence)}", align="right"), blocks.column(f"Clopper-Pearson {_level(evidence)}", align="right"),
    ]
    return blocks.table(identity, columns, [_rates_row(name, evidence.rates[name]) for name in RATES], label="Rates with their intervals")


def _rates_row(name: str, rate: RateEstimate) -> dict[str, Any]:
    title, meaning = RATES[name]
    head = blocks.cell(text(title), {"k": "break"}, muted(meaning, blocks.SMALL))
    if rate.value is None:
        return blocks.row(head, blocks.cell(text(fraction_text(rate.rate)), across=True), blocks.cell(), blocks.cell())
    counted = f"{rate.rate.numerator:,} of {rate.rate.denominator:,}"
    return blocks.row(
        head, blocks.cell(text(counted, "keep")), blocks.cell(text(percent_text(rate.value), "nowrap")),
        blocks.cell(text(rate.wilson.percent, "keep")), blocks.cell(text(rate.clopper_pearson.percent, "keep")),
    )


def beside_kappa(evidence: JudgeEvidence) -> Block:
    """Kappa exactly, its intervals, and the statistics that stand beside it."""
    return blocks.facts((capital(name), [text(value)]) for name, value in judge_words.chance_rows(evidence))


def paradox(evidence: JudgeEvidence) -> Block:
    """Why kappa and agreement differ here, in one sentence."""
    return blocks.paragraph(muted(evidence.chance.paradox, blocks.SMALL))


def slices_table(identity: str, judge_id: str, parts: Sequence[tuple[JudgeCases, JudgeEvidence]]) -> Block:
    """One row a slice; its name opens it in the other sections."""
    columns = [
        blocks.column("Slice", head=True, sort=True), blocks.column("Cases", align="right", sort=True, down=True),
        blocks.column("Prevalence", align="right", sort=True, down=True), blocks.column("Kappa", align="right", sort=True),
        blocks.column("PABAK, AC1", align="right"), blocks.column("Agreement", align="right", sort=True),
        blocks.column("False-positive approvals", align="right", sort=True, down=True), blocks.column("These cases prove"),
    ]
    return blocks.table(identity, columns, [_slice_row(judge_id, some, evidence) for some, evidence in parts], label="Slices")


def _slice_row(judge_id: str, some: JudgeCases, evidence: JudgeEvidence) -> dict[str, Any]:
    kappa, chance, light = evidence.kappa, evidence.chance, evidence.fpr_light
    name = muted(judge_words.NO_SLICE) if some.name is None else blocks.link(
        some.name, "judges", judge=judge_id, evidence="strength", slice=some.name, title="Everything about this slice",
    )
    cases = words.count(evidence.table.n) + (f" of {words.count(some.given.num_rows)}" if some.missing else "")
    interval = [] if kappa.kappa.value is None else [
        {"k": "break"}, muted("not estimable" if kappa.interval.undefined else kappa.interval.text, blocks.SMALL, "nowrap"),
    ]
    strength = [] if light is None else [{"k": "break"}, muted(light.text, blocks.SMALL)]
    rates = evidence.rates
    return blocks.row(
        _name_cell(some.name, name), blocks.cell(text(cases), sort=evidence.table.n), _rate_cell(rates["prevalence"]),
        blocks.cell(text(judge_words.figure(kappa.kappa)), *interval, sort=_number(kappa.kappa.value)),
        blocks.cell(text(judge_words.figure(chance.pabak)), {"k": "break"}, text(judge_words.figure(chance.ac1))),
        _rate_cell(rates["exact_agreement"]), _rate_cell(rates["false_positive_rate"], interval=True),
        blocks.cell(*([] if light is None or light.rate.value is None else [text(judge_words.proven(light), "nowrap")]), *strength),
    )


def _name_cell(name: str | None, shown: Span) -> dict[str, Any]:
    """The name of a row; a long one may break anywhere, so that it does not push the figures out of sight."""
    loose = name is not None and len(name) > SETTINGS["judges"]["loose_characters"]
    return blocks.cell(shown, sort=name, tone="loose" if loose else None)


def _rate_cell(rate: RateEstimate, *, interval: bool = False) -> dict[str, Any]:
    """The rate, below it what was counted, and below that its interval."""
    if rate.value is None:
        return blocks.cell(muted(fraction_text(rate.rate)))
    ends = [{"k": "break"}, muted(rate.wilson.percent, blocks.SMALL)] if interval else []
    return blocks.cell(*_stacked(fraction_text(rate.rate)), *ends, sort=_number(rate.value))


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def pass_rate_table(identity: str, parts: Sequence[tuple[JudgeCases, Part[PassRate]]]) -> Block:
    """Each slice's pass rate as the judge reports it, corrected by its errors elsewhere, and as the verifier has it."""
    columns = [
        blocks.column("Slice", head=True, sort=True), blocks.column("The judge approves", align="right"), blocks.column("Corrected", align="right"),
        blocks.column("Interval", align="right"), blocks.column("The verifier passes", align="right"), blocks.column("That is"),
    ]
    return blocks.table(identity, columns, [_pass_rate_row(*pair) for pair in parts], label="Pass rates by slice, corrected for the judge's errors")


def _pass_rate_row(some: JudgeCases, part: Part[PassRate]) -> dict[str, Any]:
    approved, corrected, interval, passes, side = judge_words.pass_rate_cells(part)
    # why it is undefined stands below the table, once for all slices
    value = muted("undefined") if corrected.startswith("undefined") else text(corrected, "nowrap")
    return blocks.row(
        _name_cell(some.name, text(some.name or judge_words.NO_SLICE)), blocks.cell(*_stacked(approved)), blocks.cell(value),
        blocks.cell(text(interval)), blocks.cell(*_stacked(passes)), blocks.cell(text(side)),
    )


def undefined_pass_rates(parts: Sequence[tuple[JudgeCases, Part[PassRate]]]) -> list[str]:
    """Why a corrected rate is undefined: one sentence a reason, with the slices that it holds for."""
    reasons: dict[str, list[str]] = {}
    for some, part in parts:
        reason = None if part.value is None else part.value.corrected.undefined
        if reason is not None:
            reasons.setdefault(reason, []).append(some.name or judge_words.NO_SLICE)
    return [
        f"Undefined in {'every slice' if len(names) == len(parts) else ', '.join(names)}: {reason}." for reason, names in reasons.items()
    ]


def sentences(lines: Iterable[str]) -> list[Block]:
    """Each sentence as a paragraph."""
    return [blocks.paragraph(line) for line in lines]


def peers_table(identity: str, evidence: JudgesTogether) -> Block:
    """This judge against each of the others on the same cases."""
    columns = [
        blocks.column("Judge", head=True, sort=True), blocks.column("Both judged", align="right", sort=True, down=True),
        blocks.column("Agree", align="right"), blocks.column("Kappa with this one", align="right", sort=True, down=True),
        blocks.column("Interval"), blocks.column("Other texts", align="right"),
    ]
    rows = [
        blocks.row(
            _name_cell(pair.judge_id, blocks.link(pair.judge_id, "judges", judge=pair.judge_id, evidence="other raters")),
            blocks.cell(text(words.count(pair.kappa.n)), sort=pair.kappa.n), blocks.cell(*_stacked(fraction_text(pair.kappa.agreement.rate))),
            blocks.cell(text(judge_words.figure(pair.kappa.kappa)), sort=_number(pair.kappa.kappa.value)),
            blocks.cell(*_short_interval(pair.kappa)), blocks.cell(text(words.count(pair.reworded))),
        ) for pair in evidence.pairs
    ]
    return blocks.table(identity, columns, rows, label="Other judges on the same cases")


def _short_interval(kappa: KappaEstimate) -> list[Span]:
    if kappa.interval.undefined is not None:
        return [muted(kappa.interval.text, blocks.SMALL)]
    return [text(kappa.interval.text), muted(f" {judge_words.short_method(kappa.interval)}", blocks.SMALL)]


def history_table(identity: str, history: JudgeHistory, alpha: Fraction) -> Block:
    """The judge in each earlier round: what flipped on the cases that both hold."""
    columns = [
        blocks.column("Earlier round", head=True), blocks.column("Shared cases", align="right"), blocks.column("Unchanged", align="right"),
        blocks.column("What changed"),
    ]
    return blocks.table(identity, columns, [_history_row(one, alpha) for one in history.rounds], label="The judge in earlier rounds")


def _history_row(one: EarlierRound, alpha: Fraction) -> dict[str, Any]:
    said: list[Span] = []
    for line in judge_words.history_sentences(one, alpha):
        said += [{"k": "break"}, text(line)] if said else [text(line)]
    shown = blocks.link(one.round_id, "judges", round=words.short_digest(one.round_digest))
    unchanged = _stacked(fraction_text(one.drift.unchanged)) if one.drift.n else [muted("not comparable")]
    return blocks.row(
        blocks.cell(shown, {"k": "break"}, muted(words.day(one.created_at), blocks.SMALL)), blocks.cell(text(words.count(one.drift.n))),
        blocks.cell(*unchanged), blocks.cell(*said),
    )
