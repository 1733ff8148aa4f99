"""What the Holdout page says about the strength of the outcomes: verdict, tests, slices, runs, distances, earlier looks. Pure."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from core.gates.exposure_report import HoldoutExposure
from core.gates.holdout_evidence import BOOTSTRAP_NOTE, HoldoutReport, p_words
from core.gates.holdout_slices import RunsLine, SliceLine
from core.gates.receipt import PROMOTE_AWAITING
from core.gates.robustness import Robustness
from core.gates.strength_rules import Levels
from core.statistics.pass_at_k import PassRate
from core.statistics.ratio import percent_text
from core.statistics.verdict import Standing, points_text
from core.text import sentence
from dashboard import blocks, words
from dashboard.blocks import Block, Span, badge, muted, strong, text
from dashboard.words import Tone

_STANDINGS: Final[dict[Standing, tuple[Tone, str]]] = {
    Standing.BETTER: ("ok", "check"), Standing.WORSE: ("bad", "cross"), Standing.NOT_SHOWN: ("off", "question"),
}
_TIES: Final = "the gate counts a tie for the baseline and against the candidate."
_NO_SLICES: Final = "No outcome names a slice."


def _verdict(verdict: str) -> Span:
    """The engine's verdict, as in the status line."""
    return badge("Promote", "ok", "check") if verdict == PROMOTE_AWAITING else badge("Refuse", "bad", "refuse")


def standing_badge(standing: Standing) -> Span:
    """Shown better, shown worse, not shown: word, icon, colour."""
    return badge(standing.value, *_STANDINGS[standing])


def verdict_block(report: HoldoutReport, *, locked: bool) -> Block:
    """What the outcomes show, beside the gate that decides: the word, then the sentence with every gap. ``locked``: the lock holds;
    where it does not, nothing that was shown speaks about the registered list."""
    verdict = report.evidence.verdict
    if verdict is None:
        mark = badge("no verdict", "off", "question")
    else:
        mark = standing_badge(verdict.standing) if locked else badge(verdict.standing.value, "off", "question")
    return blocks.paragraph(mark, text("  "), *([] if locked else [strong("On items that were not registered: ")]), text(report.evidence.sentence))


def tests_blocks(report: HoldoutReport) -> list[Block]:
    """Tests and intervals of the net gain."""
    rows: list[tuple[str, Sequence[Span | str]]] = [(name, [strong(said) if place == 0 else text(said)])
                                                    for place, (name, said) in enumerate(report.tested_words)]
    rows.append(("Bootstrap", [text(report.bootstrap_words), *([muted(f"  {BOOTSTRAP_NOTE}", blocks.SMALL)] if report.bootstrap else [])]))
    rows += [("Standard error", [text(report.error_words)]), ("Re-run band", [text(report.band_words)])]
    content = [blocks.facts(rows)]
    split = 0 if report.compared is None else report.compared.split
    if split:
        said = f"{words.plural(split, 'item')} with runs split evenly in an arm: {_TIES}"
        content.append(blocks.paragraph(muted(said, blocks.SMALL)))
    return content


def reach_blocks(report: HoldoutReport) -> list[Block]:
    """What so many items can show at all: smallest gain beside the cap, items needed, the honest line."""
    rows: list[tuple[str, Sequence[Span | str]]] = [
        ("Smallest gain", [text(report.smallest_words)]), ("Items needed", [text(report.wanted_words)]),
    ]
    note = report.reach_words
    honest = [] if note is None else [blocks.notice("warning", "off", [strong(sentence(note))])]
    return [*honest, blocks.facts(rows)]


def checks_table(report: HoldoutReport, names: Iterable[str]) -> Block:
    """The round's checks that rest on these items: how far from flipping, and what is proven."""
    wanted = set(names)
    rows = [flip for flip in report.flips if flip.judge_id is None and flip.check in wanted]
    columns = [blocks.column("Check", head=True), blocks.column("State"), blocks.column("From flipping"), blocks.column("Evidence")]
    return blocks.table("flip-distances", columns, [_check_row(report, flip) for flip in rows], label="How far each check is from flipping")


def _check_row(report: HoldoutReport, flip: Robustness) -> dict[str, object]:
    distance = flip.distance
    said = text(distance.text, "keep") if distance.items is not None else muted(distance.text)
    word, tone, icon = words.CHECK_STATES[flip.state]
    return blocks.row(
        blocks.cell(text(words.check_title(flip.check), "keep")), blocks.cell(badge(word, tone, icon)), blocks.cell(said),
        blocks.cell(muted(report.proof(flip))),
    )


def slices_blocks(report: HoldoutReport) -> list[Block]:
    """Each slice with its p-value as it is and corrected for how many slices there are."""
    if not report.slices or report.levels is None:
        return [blocks.paragraph(muted(_NO_SLICES if report.levels is not None else f"Not tested: {report.evidence.no_verdict}."))]
    levels = report.levels
    figures = ("Items", "Gained", "Lost", "Gain, points", "p", "Holm", "BH")
    right = (blocks.column(name, align="right", sort=True) for name in figures)
    columns = [blocks.column("Slice", head=True, sort=True), *right, blocks.column("Corrected")]
    table = blocks.table("slices", columns, [_slice_row(line, levels) for line in report.slices], label="Slices of the holdout", tall=True)
    many = words.plural(len(report.slices), "slice")
    note = f"Holm and Benjamini-Hochberg (BH) over {many}; the last column rests on Holm and the slice's own interval."
    return [table, blocks.paragraph(muted(note, blocks.SMALL))]


def _slice_row(line: SliceLine, levels: Levels) -> dict[str, object]:
    table, gain = line.table, line.evidence.gain
    ps = (line.evidence.p.fraction, line.holm, line.benjamini_hochberg)
    last = standing_badge(line.standing) if line.can_reach else muted("too few items")
    return blocks.row(
        blocks.cell(text(line.name, "keep") if line.name is not None else muted("no slice"), sort=line.name),
        *(blocks.cell(text(words.count(number)), sort=number) for number in (table.n, table.fixes, table.regressions)),
        blocks.cell(text(points_text(gain, sign=True)), sort=float(gain)),
        *(blocks.cell(text(p_words(p, levels), "nowrap"), sort=float(p)) for p in ps), blocks.cell(last),
    )


def runs_blocks(runs: Sequence[RunsLine]) -> list[Block]:
    """pass@k and pass^k of both arms."""
    columns = [blocks.column("k", align="right"), *(
        blocks.column(f"{arm} {name}", align="right") for name in ("pass@k", "pass^k") for arm in ("Baseline", "Candidate")
    )]
    rows = [blocks.row(blocks.cell(text(words.count(line.k))), *(
        blocks.cell(_estimate(rate, every=every)) for every in (False, True) for rate in (line.baseline, line.candidate)
    )) for line in runs]
    note = "pass@k: at least one of k runs passes; pass^k: all of them do. Unbiased, over the different runs of each item."
    return [blocks.table("runs", columns, rows, label="Several runs of an item", fit=True), blocks.paragraph(muted(note, blocks.SMALL))]


def _estimate(rate: PassRate, *, every: bool) -> Span:
    value = rate.all_of_them if every else rate.at_least_one
    return muted(f"undefined: {rate.undefined}") if value is None else text(percent_text(value), "nowrap")


def exposure_title(exposure: HoldoutExposure) -> str:
    """How often these items were looked at, in a few words."""
    if exposure.seen is None or not exposure.seen.looks:
        return "Earlier looks: none"
    return f"Earlier looks: {words.plural(exposure.seen.looks, 'round')}, this is look {words.count(exposure.look)}"


def exposure_blocks(exposure: HoldoutExposure) -> list[Block]:
    """Looks at the same items by content, the error budget, the Ladder; then the rounds that looked."""
    content: list[Block] = [blocks.bullets(*([sentence] for sentence in exposure.sentences))]
    if exposure.earlier:
        columns = [blocks.column("Earlier round", head=True), blocks.column("Engine's verdict"), blocks.column("Shared items", align="right")]
        content.append(blocks.table("looks", columns, [
            blocks.row(
                blocks.cell(blocks.link(look.round_id, "holdout", round=words.short_digest(look.round_digest))), blocks.cell(_verdict(look.verdict)),
                blocks.cell(text(f"{words.count(look.shared)} of {words.count(exposure.items)}")),
            ) for look in exposure.earlier
        ], label="Earlier looks at these items", fit=True))
    if exposure.later:
        content.append(blocks.paragraph(muted(f"Looked at since by {words.plural(exposure.later, 'later round')}.", blocks.SMALL)))
    return content
