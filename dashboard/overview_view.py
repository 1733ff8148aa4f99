"""What the Overview says, from an assessment: the sentence of evidence, what would have to be true, the judges, the facts. Pure."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from core.gates.receipt import PROMOTE_AWAITING
from core.grid import Grid
from core.rounds.manifest import Model, RoundManifest
from core.rounds.note import Note
from core.rounds.queries import Trap
from core.settings import SETTINGS
from core.signing.ledger import LedgerEntry
from dashboard import blocks, check_table, words
from dashboard.blocks import Block, Span, badge, muted, strong, text
from dashboard.standing import Standing, earlier_rejections
from dashboard.words import PAGE_STATES

Document = Mapping[str, Any]
_DECIMALS: int = SETTINGS["dashboard"]["trap_decimals"]
_SAID_ELSEWHERE: Final = frozenset(("foreign_format", "training_cutoff", "dataset_label", "incomplete_round"))
"""Remarks that the facts and the verdict of this page say already."""


def evidence(document: Document, manifest: RoundManifest) -> list[Span]:
    """One sentence below the verdict: what the candidate may or may not do, and the figures that say so."""
    candidate, baseline = strong(manifest.candidate.name), strong(manifest.baseline.name)
    if document["verdict"] == PROMOTE_AWAITING:
        admitted = document["reason_table"]["admitted"]
        return [text("Approved by another person, "), strong(words.plural(admitted, "pair")), text(" may train the next generation and "),
                candidate, text(" replaces "), baseline, text("; neither alone.")]
    failing = [check for check in check_table.in_order(document["checks"]) if check["decides"] and check["state"] in ("fails", "undefined")]
    if not failing:
        reasons = [item["detail"] for item in (document["refusal"] or {}).get("reasons", [])]
        return [text(f"No receipt can be written: {'; '.join(reasons)}.")]
    said = "; ".join(f"{words.in_sentence(check['name'])}: {check['observed']['text']} ({check['bound']['text']})" for check in failing)
    return [candidate, text(" would not replace "), baseline, text(f", and no pair trains: {said}.")]


def standing_block(one: Standing, earlier: Sequence[LedgerEntry], round_id: str) -> Block:
    """Where the round stands and the next step; and who rejected the same thing before."""
    icon, tone = PAGE_STATES[one.kind]
    return blocks.notice(icon, tone, [strong(one.sentence)], list(one.next_step), *earlier_rejections(earlier, round_id))


def trap_sentence(trap: Trap) -> list[Span]:
    """The trap, where the figures show it: pairs that look good by margin while their chosen answer became less likely."""
    if not trap.pairs or trap.mean_margin is None or trap.mean_drift is None:
        return []
    return [
        strong(words.plural(trap.pairs, "rejected pair")), text(f" {'looks' if trap.pairs == 1 else 'look'} good by margin (mean "),
        strong(words.decimal(trap.mean_margin, _DECIMALS)),
        text(f" nats), but {'its' if trap.pairs == 1 else 'their'} chosen answer became less likely (mean drift "),
        strong(words.decimal(trap.mean_drift, _DECIMALS)), text(" nats per token). "),
        blocks.link("See it" if trap.pairs == 1 else "See them", "curation"),
    ]


def conditions(document: Document) -> list[list[Span]]:
    """What would have to be true: of the checks that refuse the round, then of the judges whose pairs are held."""
    lines = [[text(line)] for line in check_table.remedies(document["checks"])]
    lines += [[text(f"The round is complete: {', '.join(words.PART_TITLES[part] for part in document['missing_parts'])} supplied as well.")]] \
        if document["missing_parts"] else []
    lines += [[text(f"A required number is defined: {item['detail']}.")] for item in (document["refusal"] or {}).get("reasons", ())
              if item["code"] == "undefined_statistic"]
    for judge_id, judge in document["judges"].items():
        needed = check_table.remedies(judge["gate"]["checks"])
        if needed:
            lines.append([strong(judge_id), text(f": {' '.join(needed)} Until then {held_words((judge['synthetic'] or {}).get('held', 0))}.")])
    return lines


def held_words(held: int) -> str:
    """What a closed gate holds."""
    return f"its {words.plural(held, 'synthetic pair')} stay{'s' if held == 1 else ''} held" if held else "it may feed no synthetic pair"


def gate_badge(judge: Mapping[str, Any]) -> Span:
    """Open or closed; a gate that a statistic leaves undefined is closed and says so."""
    if judge["gate"]["open"]:
        return badge("gate open", "ok", "check")
    undefined = any(check["state"] == "undefined" for check in judge["gate"]["checks"])
    return badge("gate closed, undefined", "off", "question") if undefined else badge("gate closed", "bad", "refuse")


def judges_table(document: Document, opened: str | None = None) -> Block:
    """One row a judge: gate, what keeps it closed, kappa, false-positive approvals, where its synthetic pairs are.
    ``opened``: the judge whose card is shown below."""
    columns = [
        blocks.column("Judge", head=True, sort=True), blocks.column("Gate", sort=True), blocks.column("Kept closed by"),
        blocks.column("Kappa", align="right", sort=True, down=True), blocks.column("Agreement", align="right", sort=True, down=True),
        blocks.column("False-positive approvals", align="right", sort=True, down=True), blocks.column("Cases", align="right", sort=True, down=True),
        blocks.column("Synthetic pairs"),
    ]
    rows = [_judge_row(judge_id, judge, judge_id == opened) for judge_id, judge in by_state(document)]
    return blocks.table("judges", columns, rows, label="Judges and their gates")


def by_state(document: Document) -> list[tuple[str, Mapping[str, Any]]]:
    """Judges, closed gates first, then by id."""
    return sorted(document["judges"].items(), key=lambda pair: (pair[1]["gate"]["open"], pair[0]))


def _judge_row(judge_id: str, judge: Mapping[str, Any], opened: bool) -> dict[str, Any]:
    failing = ", ".join(words.SHORT_TITLES[name] for name in judge["gate"]["failing"])
    return blocks.row(
        blocks.id_cell(blocks.link(judge_id, "judges", judge=judge_id)) | {"sort": judge_id},
        blocks.cell(gate_badge(judge), sort=str(judge["gate"]["open"])),
        blocks.cell(text(failing)), blocks.cell(text(words.exact(judge["kappa"])), sort=judge["kappa"]["value"]),
        blocks.cell(text(words.fraction(judge["agreement"]), "keep"), sort=judge["agreement"]["value"]),
        blocks.cell(text(words.fraction(judge["fpr"]), "keep"), sort=judge["fpr"]["value"]), blocks.cell(text(cases_words(judge)), sort=judge["n"]),
        blocks.cell(*synthetic_spans(judge_id, judge), tone="keep"), tone=None if judge["gate"]["open"] else "bad", chosen=opened,
    )


def cases_words(judge: Mapping[str, Any]) -> str:
    """``419``, or ``415 of 419`` where verdicts are missing."""
    return words.count(judge["n"]) if judge["n"] == judge["n_records"] else f"{words.count(judge['n'])} of {words.count(judge['n_records'])}"


def synthetic_spans(judge_id: str, judge: Mapping[str, Any]) -> list[Span]:
    """The synthetic pairs that hang on this judge: passed on to curation or held, with a way to them."""
    counts = judge["synthetic"]
    if not counts or not counts["total"]:
        return [muted("none")]
    if counts["held"]:
        see = blocks.link("see them", "rejected", state="held", judge=judge_id)
        return [badge(f"{words.count(counts['held'])} held", "off", "pause"), text("  "), see]
    return [badge(f"{words.count(counts['passed_on'])} passed on", "ok", "check"), text(" "),
            blocks.link("see them", "curation", judge=judge_id)]


def model_spans(model: Model | None) -> list[Span]:
    """A model by name, and the start of its digest; *not stated* where the round says nothing."""
    if model is None:
        return [muted("not stated")]
    return [strong(model.name), text(" "), *([blocks.digest(model.digest, "the model's digest")] if model.digest else [muted("digest not stated")])]


def remarks(notes: Iterable[Note]) -> list[list[Span]]:
    """What ingest remarked about the files, warnings first; without what this page says elsewhere."""
    left = [note for note in notes if note.code not in _SAID_ELSEWHERE]
    ordered = sorted(left, key=lambda note: note.severity != "warning")
    return [
        [*([badge("warning", "off", "warning"), text(" ")] if note.severity == "warning" else []), text(note.text)] for note in ordered
    ]


def foreign_files(manifest: RoundManifest) -> list[list[Span]]:
    """How each foreign file was read: its part, then file, format, why, and what was declared about it."""
    return [
        [strong(f"{part.replace('_', ' ').capitalize()}: "), text(item.sentence())] for part, found in manifest.sources.items() for item in found
    ]


def facts_rows(
    document: Document, manifest: RoundManifest, grid: Grid, *, flagged: bool = True, witness: Sequence[Span | str] = (),
) -> list[tuple[str, list[Span | str]]]:
    """What the verdict stands on: round, models, lock, grid, engine. ``flagged``: a pair says what a verifier found; ``witness``: who
    witnessed the registration of the holdout."""
    lock = manifest.holdout_lock
    labels = manifest.verification == "dataset_label"
    verified = "flags are the data set's own labels, no program checked them" if labels else "a program checked the flags"
    verified = verified if flagged else "no pair says what a verifier found"
    registered = "no registration" if lock is None else words.registered(lock.registered_at, lock.registered_by)
    gate = document["literal_gate"]
    return [
        ("Round", [strong(manifest.round_id), text(" "), blocks.digest(document["round_digest"], "the round digest")]),
        ("Proposed by", [text(", ".join(manifest.proposers)), muted(f", {words.short_time(manifest.created_at)}")]),
        ("Candidate", model_spans(manifest.candidate)), ("Baseline", model_spans(manifest.baseline)),
        ("Holdout registered", [text(registered), *([text("; "), *witness] if witness else [])]),
        ("Verification", [text(verified)]),
        *([] if manifest.cutoff is None else [("Training cut-off", [text(manifest.cutoff.words())])]),
        ("Grid", [text(f"{grid.name}, version {grid.version} "), blocks.digest(grid.digest, "the grid digest")]),
        ("Engine", [text(f"{document['engine_version']}, code "), blocks.digest(document["code_digest"], "the code digest")]),
        ("Literal gate", [text(f"{words.plural(len(gate['violations']), 'violation')} in {words.count(gate['files'])} files")]),
    ]
