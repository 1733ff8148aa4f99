"""What the Sample page says before and after the judging, as blocks. Pure functions."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from core.grid import parse_decimal
from core.sampling import Label, Sample, SamplePlan, SampleResult
from core.statistics.ratio import decimal_text, percent_text
from dashboard import blocks, words
from dashboard.blocks import Block, Span, muted, strong, text

VERDICT_TITLES: Final[Mapping[str, str]] = {
    "chosen": "Prefers the chosen answer", "rejected": "Prefers the rejected answer", "both_bad": "Both bad", "tie": "Tie", "skip": "Skipped",
}
_MEANS: Final[Mapping[str, str]] = {
    "chosen": "agrees", "rejected": "a defect", "both_bad": "a defect", "tie": "no defect", "skip": "counted as a defect",
}
DEFECT: Final = (
    "A defect is a pair of which you prefer the rejected answer, or find both bad. A tie is none. A pair that you skip, or leave unjudged at the "
    "end, counts as a defect for the bound: leaving pairs out can only weaken it."
)


def aim_words(plan: SamplePlan) -> str:
    """``a defect rate above 5 % with 95 % confidence``."""
    return f"a defect rate above {percent_text(parse_decimal(plan.rate))} with {percent_text(parse_decimal(plan.confidence))} confidence"


def intro_lead(plan: SamplePlan) -> list[Span | str]:
    """What a sample can prove, in one sentence."""
    most = words.plural(plan.tolerable, "defect")
    return [f"{words.plural(plan.largest, 'pair')} without a defect rule out {aim_words(plan)}: at most {most} in {words.count(plan.population)}."]


def how_blocks() -> list[Block]:
    """How the judging goes."""
    return [blocks.bullets(
        ["Pairs come one at a time, drawn at random; the two answers stand in random order. Nothing says what the engine thinks of them."],
        [DEFECT],
        ["Each judgement is stored at once, under your name and the pair's id. You can stop and go on later."],
        ["The result is shown at the end, and goes with its seed into the decision that you sign."],
    )]


def plan_words(plan: SamplePlan) -> str:
    """What the chosen plan asks for."""
    if plan.method == "fixed":
        return f"All {words.plural(plan.largest, 'pair')} are judged. The rate is proven when none is a defect."
    later = "".join(f", after {words.count(size)} when at most {look} is" for look, size in enumerate(plan.sizes) if look == 1)
    later += "".join(f", after {words.count(size)} when at most {look} are" for look, size in enumerate(plan.sizes) if look > 1)
    return (
        f"Ends after {words.plural(plan.sizes[0], 'pair')} when none is a defect{later}; not proven as soon as {words.count(len(plan.sizes))} are. "
        f"Proven wrongly with probability at most {percent_text(plan.alpha)} over all steps together, counted exactly."
    )


def progress_words(sample: Sample) -> str:
    """``12 of 54 pairs judged``."""
    most = "at most " if sample.plan.method == "sequential" and len(sample.plan.sizes) > 1 else ""
    return f"{words.count(len(sample.labels))} of {most}{words.plural(sample.plan.largest, 'pair')} judged"


def place_words(sample: Sample) -> str:
    """``pair 13 of 54``."""
    most = "at most " if sample.plan.method == "sequential" and len(sample.plan.sizes) > 1 else ""
    return f"pair {words.count(len(sample.labels) + 1)} of {most}{words.count(sample.plan.largest)}"


def mark(result: SampleResult) -> Span:
    """Whether the grid's aim is reached: word, icon, colour."""
    if result.is_met:
        return blocks.badge("proven", "ok", "check")
    return blocks.badge("too many", "bad", "cross") if result.is_exceeded else blocks.badge("not proven", "off", "question")


def counts_table(result: SampleResult) -> Block:
    """How the pairs were judged, and what each judgement means."""
    rows = [
        blocks.row(
            blocks.cell(VERDICT_TITLES[verdict]), blocks.cell(words.count(count)), blocks.cell(muted(_MEANS[verdict])),
            tone="bad" if verdict in ("rejected", "both_bad") and count else None,
        )
        for verdict, count in result.counts.items()
    ]
    if result.unjudged:
        rows.append(blocks.row(blocks.cell("Not judged"), blocks.cell(words.count(result.unjudged)), blocks.cell(muted("counted as a defect"))))
    columns = [blocks.column("Your judgement", head=True), blocks.column("Pairs", align="right"), blocks.column("Means")]
    return blocks.table("sample-counts", columns, rows, label="Judgements of the sample", fit=True)


def drawn_facts(result: SampleResult) -> Block:
    """How the sample was drawn: what somebody needs to draw it again."""
    sample, plan = result.sample, result.sample.plan
    sizes = ", ".join(map(words.count, plan.sizes))
    of = f", {sizes} of {words.plural(plan.population, 'admitted pair')}"
    drawn = f" {words.plural(sample.seeds, 'sample')} drawn from this round by this person"
    return blocks.facts([
        ("Judged by", [text(sample.person)]),
        ("Plan", [text("one size" if plan.method == "fixed" else "step by step"), muted(of)]),
        ("Seed", [blocks.digest(sample.start.seed, "the seed"), muted(drawn)]),
        ("Admitted pairs", [blocks.digest(sample.start.admitted_sha256, "the digest of the list of admitted pairs")]),
        ("Labels", [blocks.digest(result.labels_sha256, "the digest of the labels"), muted(f" {words.count(sample.withdrawn)} taken back")]),
    ])


def agreement_blocks(result: SampleResult, who: str) -> list[Block]:
    """Human against verifier: kappa over the sides as shown, or why there is none. ``who``: what the round's verdicts come from."""
    kappa, sides = result.kappa, result.sides
    if kappa.value is None:
        return [blocks.paragraph(strong("Kappa is undefined: "), text(f"{str(kappa.undefined).replace('the verifier', who)}."))]
    agreed = sides.tp + sides.tn
    return [
        blocks.paragraph(
            text("Kappa "), strong(decimal_text(kappa.value)), text(f" over {words.plural(sides.n, 'pair')}: you and {who} name the same side of "),
            text(f"{words.count(agreed)} of {words.count(sides.n)}, {words.share(agreed, sides.n)}."),
        ),
        blocks.paragraph(muted(
            f"By side as shown, since {who} prefers the chosen answer of every admitted pair. Ties, pairs that are both bad, skips, and pairs "
            "without both verdicts are not in it.", blocks.SMALL,
        )),
    ]


def disagreements_table(labels: Sequence[Label]) -> Block:
    """Pairs that human and engine disagree on, each a way to the pair."""
    rows = [
        blocks.row(
            blocks.cell(blocks.link(label.pair_id, "rejected", state="admitted", pair=label.pair_id)), blocks.cell(VERDICT_TITLES[label.verdict]),
        )
        for label in labels
    ]
    columns = [blocks.column("Pair", head=True), blocks.column("Your judgement")]
    return blocks.table("disagreements", columns, rows, label="Pairs that you and the engine disagree on", fit=True)
